//! Short ways (`base::Ways`) change no result: every entry with them and without.

use crate::entries::{Entry, entries};
use crate::{of_all, with_file};
use base::Ways;
use lab::run::Run;
use lab::scenario::{Runs, Variant};
use lab::{Scenario, Watcher, run_study};

/// Repetitions of each entry: all of the entry's twenty would take as long as the list of hashes.
const REPETITIONS: u32 = 3;

/// Runs every repetition by these ways.
struct By(Ways);

impl Watcher for By {
    fn on_run(&self, _: &Variant, _: &Run) {}

    fn ways(&self) -> Ways {
        self.0
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

#[test]
fn short_ways_change_no_result() {
    let entries = entries();
    let chosen: Vec<&Entry> = entries.iter().collect();
    let same = of_all(&chosen, |entry| {
        let mut scenario = with_file(entry, "short-ways", scenario)??;
        scenario.runs = Runs::Fixed(REPETITIONS);
        let hash = |ways| run_study(&scenario, None, &By(ways)).map(|study| study.hash());
        let [short, whole] = [Ways::Short, Ways::Whole].map(hash);
        Ok(short.map_err(|error| error.to_string())? == whole.map_err(|error| error.to_string())?)
    });
    assert_eq!(same.len(), entries.len());
    let changed: Vec<&str> =
        same.iter().filter(|(_, same)| !**same).map(|(name, _)| name.as_str()).collect();
    assert!(changed.is_empty(), "other results with short ways:\n  {}", changed.join("\n  "));
}

fn scenario(file: &str) -> Result<Scenario, String> {
    let options = Scenario::options_from_file(file).map_err(|error| error.to_string())?;
    options.resolve().map_err(|error| error.to_string())
}
