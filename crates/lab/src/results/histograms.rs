//! Distributions in the table of runs, one column of text each: `20971520:3 22020096:1` counts 3
//! samples from 20,971,520 ns on and one from 22,020,096 ns on. Round trips have those of every
//! path, `wlan=20971520:3,3g=`. Tables without `--packet-metrics` have none of these columns.

use crate::run::{Counted, Histogram, Record, Run};
use crate::scenario::Scenario;

/// The columns, if a record has distributions.
pub(super) fn columns(records: &[&Record]) -> impl Iterator<Item = &'static str> {
    let any = records.iter().any(|record| !record.run.histograms.is_empty());
    Counted::ALL.into_iter().filter(move |_| any).map(column)
}

const fn column(of: Counted) -> &'static str {
    match of {
        Counted::RoundTrip => "rtt_histogram",
        Counted::OutOfOrder => "out_of_order_histogram",
        Counted::ApplicationDelay => "application_delay_histogram",
    }
}

/// The text of a run; `None` for other columns.
pub(super) fn cell(scenario: &Scenario, run: &Run, name: &str) -> Option<String> {
    let of = Counted::ALL.into_iter().find(|of| column(*of) == name)?;
    let text = |path: Option<usize>| {
        let found = run.histograms.iter().find(|known| known.of == of && known.path == path);
        found.map(Histogram::text).unwrap_or_default()
    };
    if !of.is_of_paths() {
        return Some(text(None));
    }
    let of_path = |(index, path): (usize, &crate::path_spec::PathSpec)| {
        format!("{}={}", path.name, text(Some(index)))
    };
    Some(scenario.paths.iter().enumerate().map(of_path).collect::<Vec<_>>().join(","))
}

/// Parses the distributions of a run; the error names the invalid column.
pub(super) fn of(
    scenario: &Scenario,
    text: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Histogram>, String> {
    let mut all = Vec::new();
    for of in Counted::ALL {
        let Some(text) = text(column(of)).filter(|text| !text.is_empty()) else { continue };
        let parsed = if of.is_of_paths() {
            of_paths(scenario, of, &text)
        } else {
            Histogram::parse(of, None, &text).map(|one| vec![one])
        };
        all.extend(parsed.ok_or_else(|| column(of).to_owned())?);
    }
    Ok(all)
}

fn of_paths(scenario: &Scenario, of: Counted, text: &str) -> Option<Vec<Histogram>> {
    let mut rest = text;
    let mut all = Vec::new();
    for (index, path) in scenario.paths.iter().enumerate() {
        rest = rest.strip_prefix(path.name.as_str())?.strip_prefix('=')?;
        let (counts, after) = rest.split_once(',').unwrap_or((rest, ""));
        if !counts.is_empty() {
            all.push(Histogram::parse(of, Some(index), counts)?);
        }
        rest = after;
    }
    rest.is_empty().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options};

    #[test]
    fn distributions_of_paths_are_read_back_and_damaged_ones_are_refused() {
        let paths =
            Options::default().with(Key::Path, "a=rate 5mbit").with(Key::Path, "b=rate 9mbit");
        let scenario = paths.with(Key::Traffic, "bulk:1MiB").resolve().unwrap();
        let read =
            |text: &str| of(&scenario, |name| (name == "rtt_histogram").then(|| text.to_owned()));
        let both = read("a=16:1 32:5,b=0:2").unwrap();
        assert_eq!(both.iter().map(|one| one.path).collect::<Vec<_>>(), [Some(0), Some(1)]);
        assert_eq!(both[0].counts, [(16, 1), (32, 5)]);
        assert_eq!(read("a=,b=0:2").unwrap().len(), 1);
        assert_eq!(read("").unwrap(), []);
        for damaged in ["a=16:1", "b=0:2,a=16:1", "a=16:1,b=0:2,c=1:1", "a=x,b=0:2"] {
            assert_eq!(read(damaged), Err("rtt_histogram".to_owned()), "{damaged}");
        }
    }
}
