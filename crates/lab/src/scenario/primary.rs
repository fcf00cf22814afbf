//! The path that a variant over several paths begins with: the primary of SCTP, the first subflow
//! of MPTCP (`--primary`).

use super::choice::{Complaint, chosen};
use super::{Key, Options};
use crate::error::InputError;
use crate::path_spec::PathSpec;
use crate::words::nearest_help;
use base::chance::owner_of;
use base::{Chance, Purpose};
use transport::Protocol;

/// The path that a variant over several paths begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Primary {
    /// That of `--first`.
    #[default]
    First,
    /// A random one in each repetition, the same for all variants (000).
    Random,
    /// CMT-SCTP: the verified path with the smallest round trip becomes the primary.
    FastestHandshake,
    /// The path at this place.
    Path(usize),
}

/// Words for those that are no path.
const WORDS: [(&str, Primary); 3] = [
    ("first", Primary::First),
    ("random", Primary::Random),
    ("fastest-handshake", Primary::FastestHandshake),
];

impl Primary {
    /// What is compared.
    pub(super) fn resolve(
        options: &Options,
        paths: &[PathSpec],
        protocols: &[Protocol],
    ) -> Result<Vec<Primary>, InputError> {
        let lists = options.texts(Key::Primary);
        let has_several = |protocol: &Protocol| *protocol != Protocol::Tcp;
        if let Some(given) = lists.first()
            && !protocols.iter().any(has_several)
        {
            let problem = "a single path has no primary: each path is compared alone";
            return Err(given.refuse_whole(problem, "add `mptcp` or `cmt-sctp` to the protocols"));
        }
        let every: Vec<Primary> = (0..paths.len()).map(Primary::Path).collect();
        let is_concurrent = protocols.contains(&Protocol::CmtSctp);
        chosen(lists, vec![Primary::First], &every, |word| {
            let found = Primary::by_name(word, paths)?;
            match found {
                Primary::FastestHandshake if !is_concurrent => Err((
                    format!("`{word}` is for cmt-sctp, which is not compared"),
                    "add `cmt-sctp` to the protocols, or name a path".to_owned(),
                )),
                found => Ok(found),
            }
        })
    }

    fn by_name(word: &str, paths: &[PathSpec]) -> Result<Primary, Complaint> {
        let own = WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let exact = paths.iter().position(|path| path.name == word);
        let is_it = |path: &PathSpec| path.name.eq_ignore_ascii_case(word);
        if let Some(place) = exact.or_else(|| paths.iter().position(is_it)) {
            return match own {
                None => Ok(Primary::Path(place)),
                Some(_) => Err((
                    format!("`{word}` may be the path of that name or the rule `{word}`"),
                    "give the path another name".to_owned(),
                )),
            };
        }
        own.map(|(_, primary)| *primary).ok_or_else(|| {
            let names = paths.iter().map(|path| path.name.as_str());
            let known: Vec<&str> = WORDS.iter().map(|(name, _)| *name).chain(names).collect();
            (format!("unknown primary `{word}`"), nearest_help(word, &known))
        })
    }

    /// Its word.
    pub(super) fn word(self, paths: &[PathSpec]) -> &str {
        if let Primary::Path(place) = self {
            return paths.get(place).map_or("", |path| &path.name);
        }
        WORDS.iter().find(|(_, primary)| *primary == self).map_or("", |(name, _)| name)
    }

    /// Whether a protocol can begin with it.
    pub(super) fn suits(self, protocol: Protocol) -> bool {
        self != Primary::FastestHandshake || protocol == Protocol::CmtSctp
    }

    /// The place of the path, of so `many`, in repetition `run`; `first`: that of `--first`.
    pub(crate) fn place(self, first: usize, many: usize, (seed, run): (u64, u64)) -> usize {
        match self {
            Primary::First | Primary::FastestHandshake => first,
            Primary::Path(place) => place,
            Primary::Random => {
                let chance = Chance::new(seed, run);
                let owner = owner_of("primary");
                chance.below(many as u64, owner, Purpose::PathParameter, 0) as usize
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::tests::{names, refused, resolve};

    #[test]
    fn every_variant_over_several_paths_begins_with_each_path() {
        let all = (Key::Protocols, "tcp,mptcp,sctp,cmt-sctp");
        let found = names(&[all, (Key::Primary, "first,b,fastest-handshake")]);
        let several: Vec<&str> = found.iter().map(String::as_str).skip(2).collect();
        assert_eq!(
            several,
            [
                "mptcp/linux/cubic",
                "mptcp/linux/cubic/primary=b",
                "sctp/a/reno",
                "sctp/b/reno",
                "sctp/multihomed/reno",
                "sctp/multihomed/reno/primary=b",
                "cmt-sctp/send-all/reno",
                "cmt-sctp/send-all/reno/primary=b",
                "cmt-sctp/send-all/reno/primary=fastest-handshake",
            ]
        );
        let scenario = resolve(&[all, (Key::Primary, "B,random")]).unwrap();
        let text = scenario.to_toml();
        assert!(text.contains("primary = \"b,random\""), "{text}");
    }

    #[test]
    fn unknown_primaries_and_single_paths_are_refused() {
        refused(&[(Key::Primary, "c")], &["unknown primary `c`", "first, random"]);
        let alone = [(Key::Protocols, "tcp"), (Key::Primary, "a")];
        refused(&alone, &["a single path has no primary"]);
        let fastest = [(Key::Protocols, "mptcp"), (Key::Primary, "fastest-handshake")];
        refused(&fastest, &["is for cmt-sctp, which is not compared"]);
    }

    #[test]
    fn random_primary_differs_between_repetitions_and_is_each_path_about_as_often() {
        let places = (0..400).map(|run| Primary::Random.place(0, 4, (1, run)));
        let mut counts = [0; 4];
        places.for_each(|place| counts[place] += 1);
        assert!(counts.iter().all(|count| (70..130).contains(count)), "{counts:?}");
        assert_eq!(Primary::Path(2).place(0, 4, (1, 7)), 2);
        assert_eq!(Primary::First.place(3, 4, (1, 7)), 3);
    }
}
