//! `--shard` and `--merge`: parts of the studies for the machines of a cluster.
//!
//! Every N-th study belongs to a part, so that parts of a paper take about equal times. A part
//! needs nothing of the others; the values of all parts together give the result of one run.

use lab::InputError;
use lab::results::ResultFolder;
use std::path::Path;

/// Most parts.
const MOST: usize = 10_000;

/// Part `index` (from 1) of `count`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Reads `2/8`.
    pub(super) fn parse(text: &str) -> Result<Shard, InputError> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(a, b)| a.trim().parse().ok().zip(b.trim().parse().ok()));
        let found = numbers.map(|(index, count)| Shard { index, count });
        let is_valid = |of: &Shard| of.count <= MOST && (1..=of.count).contains(&of.index);
        found.filter(is_valid).ok_or_else(|| {
            let problem = format!("`{text}` is not a part of the studies");
            InputError::at("--shard", problem, "write part and number of parts: `--shard 1/4`")
        })
    }

    /// Whether the study of this number belongs to the part.
    pub(super) const fn has(self, study: usize) -> bool {
        study % self.count == self.index - 1
    }
}

/// A folder of `--merge`.
pub(super) fn existing(name: &str) -> Result<ResultFolder, InputError> {
    if !Path::new(name).is_dir() {
        let help = "name the folders of all parts: `--merge part1,part2`";
        return Err(InputError::at("--merge", format!("`{name}` is not a folder"), help));
    }
    ResultFolder::open_for("--merge", name)
}

/// The message for studies that no part has.
pub(super) fn lacking(labels: &[String]) -> InputError {
    let first = labels.first().map_or("", String::as_str);
    let problem = match labels.len() {
        1 => format!("the parts lack the study {first}"),
        count => format!("the parts lack {count} studies, such as {first}"),
    };
    let help = "run the missing part with the same options and build, and name its folder, too; a \
                file of values that cannot be read counts as missing";
    InputError::at("--merge", problem, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_every_study_once() {
        let parts: Vec<Shard> =
            ["1/3", "2/3", "3/3"].into_iter().map(|text| Shard::parse(text).unwrap()).collect();
        for study in 0..20 {
            assert_eq!(parts.iter().filter(|part| part.has(study)).count(), 1, "{study}");
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/99999"] {
            assert!(Shard::parse(text).is_err(), "{text}");
        }
    }
}
