//! Reading sets, round trips of series, and values of differences.

use super::set::{Judged, ValidationSet};
use super::*;
use crate::error::{InputError, SourceFile};
use crate::run::Run;
use crate::scenario::{Options, Runs, Variant};
use crate::stack::StackKind;
use crate::study::Watcher;
use std::path::PathBuf;
use std::sync::Arc;

const SET: &str = r#"
title = "two"
series = "runs/kernel.json"
cc = "reno,lia"
runs = 2

[[scenario]]
name = "clean"
traffic = "bulk:64KiB"
stacks = "kernel-tcp"
path.a = "rate 10mbit delay 10ms limit 100p"
path.b = "rate 5mbit delay 20ms limit 100p"

[[scenario]]
name = "lossy"
traffic = "burst:10"
runs = 6
path.a = "rate 10mbit delay 10ms loss 2% limit 100p"
"#;

struct Silent;

impl Watcher for Silent {
    fn on_run(&self, _: &Variant, _: &Run) {}
    fn is_stopped(&self) -> bool {
        false
    }
}

fn file(text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { name: "sets/set.toml".into(), text: text.into() })
}

fn set(text: &str) -> ValidationSet {
    ValidationSet::read(&file(text), &Options::default()).unwrap()
}

fn refusal(text: &str) -> String {
    ValidationSet::read(&file(text), &Options::default()).unwrap_err().to_string()
}

/// A series in which every variant of every scenario took these times.
fn series(set: &ValidationSet, values: &[f64]) -> Series {
    let mut series = Series::new(Machine::default());
    let run = |(value, number): (&f64, u64)| RecordedRun {
        number,
        value: Some(*value),
        path_bytes: vec![1, 2],
        ..RecordedRun::default()
    };
    for entry in &set.entries {
        let variant = |emulated: crate::stack::Emulated| RecordedVariant {
            name: emulated.name,
            cc: emulated.variant.congestion.to_string(),
            metric: "completion_time".into(),
            unit: "s".into(),
            runs: values.iter().zip(0..).map(run).collect(),
        };
        let variants = entry.variants().into_iter().map(variant).collect();
        series.replace(Recorded { variants, ..Recorded::new(entry) });
    }
    series
}

#[test]
fn set_read_knows_its_scenarios_and_what_is_common_to_them() {
    let set = set(SET);
    assert_eq!(set.series.to_str(), Some("sets/runs/kernel.json"));
    let [clean, lossy] = set.entries.as_slice() else { panic!("two entries") };
    assert_eq!((clean.judged_by, lossy.judged_by), (Judged::Mean, Judged::Quantiles));
    assert_eq!(clean.stacks, [StackKind::KernelTcp]);
    for random in ["corrupt 1%", "queue red 20p 60p 5%"] {
        // Regression: packets that arrive corrupted or that a queue drops early were no loss.
        let set = self::set(&SET.replace("loss 2%", random));
        assert_eq!(set.entries[1].judged_by, Judged::Quantiles, "{random}");
        assert!(set.entries[1].is_random() && !set.entries[0].is_random(), "{random}");
    }
    let names = |entry: &Entry| -> Vec<String> {
        entry.variants().into_iter().map(|v| format!("{} {}", v.name, v.variant.name)).collect()
    };
    assert_eq!(
        names(clean),
        ["kernel-tcp/a/reno tcp/a/reno", "kernel-tcp/b/reno tcp/b/reno"],
        "a kernel has no coupled control"
    );
    assert_eq!(
        names(lossy),
        ["kernel-tcp/a/reno tcp/a/reno", "kernel-mptcp/default/reno mptcp/linux/reno/kernel"]
    );
}

#[test]
fn set_refused_says_where_and_why() {
    for (text, part) in [
        ("series = 'x'", "has no scenario"),
        ("[[scenario]]\nname = 'a'", "file of recorded runs"),
        ("series = 'x'\nscenario = 3", "not a list of tables"),
        ("series = 'x'\n[[scenario]]\ntraffic = 'bulk:1MiB'", "has no name"),
        ("series = 'x'\nstacks = 'tcp'\n[[scenario]]\nname = 'a'", "unknown stack `tcp`"),
        ("series = 'x'\n[[scenario]]\nname = 'a b'\npath.a = 'wlan'", "`a b` is not a name"),
        ("series = 'x'\n[draw]\ncells = 2", "`[draw]` has no axes"),
        ("series = 'x'\n[[scenario]]\nnaem = 'a'", "unknown key `naem`"),
        (&format!("{SET}judged-by = 'eye'"), "unknown way of judging `eye`"),
        (&SET.replace("lossy", "clean"), "two scenarios have the name `clean`"),
    ] {
        let shown = refusal(text);
        assert!(shown.contains(part) && shown.contains("sets/set.toml"), "{text}: {shown}");
    }
}

#[test]
fn series_written_is_read_back_the_same() {
    let series = series(&set(SET), &[1.25, 0.1 + 0.2]);
    let text = series.to_text();
    assert_eq!(Series::parse("x".into(), text.as_bytes()).unwrap(), series);
}

#[test]
fn series_refused_names_file_and_mend() {
    let text = series(&set(SET), &[1.0]).to_text();
    for (text, part) in [
        ("{}".to_owned(), "missing field `schema`"),
        (text.replace("\"schema\":1", "\"schema\":7"), "version is 7"),
        (text.replace("\"value\":1.0", "\"value\":-1.0"), "negative"),
        (text[..text.len() / 2].to_owned(), "EOF"),
    ] {
        let shown = Series::parse("runs.json".into(), text.as_bytes()).unwrap_err().to_string();
        assert!(shown.contains(part) && shown.contains("runs.json: "), "{shown}");
        assert!(shown.contains("help: "), "{shown}");
    }
}

#[test]
fn scenario_changed_since_the_recording_is_left_out_and_says_what_changed() {
    let recorded = series(&set(SET), &[1.0, 1.0]);
    let changed = set(&SET.replace("delay 20ms", "delay 21ms"));
    let result = validate(&changed, &recorded, &Silent, &|_| ()).unwrap();
    let [left_out] = result.left_out.as_slice() else { panic!("{:?}", result.left_out) };
    assert!(left_out.starts_with("clean: ") && left_out.contains("`path.b` was"), "{left_out}");
    assert!(result.rows.is_empty() && result.apart.len() == 2);
}

#[test]
fn differences_are_ours_over_the_kernels_and_count_when_the_kernel_is_known() {
    let set = set(SET);
    let ours = validate(&set, &series(&set, &[1.0, 1.0]), &Silent, &|_| ()).unwrap();
    let time = ours.rows[0].ours.mean;
    // The kernel took 1.25 times as long, every time.
    let known =
        validate(&set, &series(&set, &[1.25 * time, 1.25 * time]), &Silent, &|_| ()).unwrap();
    let row = &known.rows[0];
    assert!((row.diff + 0.2).abs() < 1e-12 && row.counted, "{row:?}");
    assert!((row.excess - 0.2).abs() < 1e-12, "nothing varies, so all of it is excess: {row:?}");
    // The same mean, but from runs that differ by half.
    let vague = validate(&set, &series(&set, &[0.9 * time, 1.6 * time]), &Silent, &|_| ()).unwrap();
    let row = &vague.rows[0];
    assert!((row.diff + 0.2).abs() < 1e-12 && !row.counted && row.excess == 0.0, "{row:?}");
}

#[test]
fn kernel_of_two_modes_is_held_against_ours_mode_by_mode() {
    let set = set(SET);
    let ours = validate(&set, &series(&set, &[1.0, 1.0]), &Silent, &|_| ()).unwrap();
    let time = ours.rows[0].ours.mean;
    let kernel: Vec<f64> = (0..12).map(|i| if i % 3 == 0 { 3.0 * time } else { time }).collect();
    let result = validate(&set, &series(&set, &kernel), &Silent, &|_| ()).unwrap();
    assert!(!result.rows[0].counted, "a mean between two modes is not known");
    let clean = result.apart.iter().find(|apart| apart.subject.scenario == "clean").unwrap();
    let found = |modes: &[crate::statistics::Mode]| -> Vec<(f64, f64)> {
        modes.iter().map(|mode| (mode.centre / time, (mode.share * 12.0).round())).collect()
    };
    assert_eq!(found(&clean.kernel_modes), [(1.0, 8.0), (3.0, 4.0)]);
    assert_eq!(found(&clean.our_modes), [(1.0, 12.0)]);
    let shown = &document(&result, &Machine::default())["apart"][0]["kernel_modes"];
    assert_eq!(shown[1]["at"], serde_json::json!(3.0 * time));
    assert_eq!(result.rows.len(), 2, "the mean stays in the table");
}

#[test]
fn document_counts_only_what_is_known() {
    let set = set(SET);
    let result = validate(&set, &series(&set, &[0.5, 0.5]), &Silent, &|_| ()).unwrap();
    let document = document(&result, &Machine::default());
    assert_eq!(document["counted"], 2);
    assert_eq!(document["scenarios"][0]["stack"], "kernel-tcp");
    assert_eq!(document["scenarios"][0]["kernel_ci95"], serde_json::json!([0.5, 0.5]));
    let worst = result.rows.iter().map(|row| row.diff.abs()).fold(0.0, f64::max);
    assert_eq!(document["worst"], serde_json::json!(worst));
    assert_eq!(document["apart"][0]["quantiles"][1]["q"], 0.5);
}

#[test]
fn missing_recording_of_a_page_is_not_a_changed_scenario() {
    let set = set(&SET.replace("burst:10", "web:wikipedia"));
    let mut series = series(&set, &[1.0]);
    let lossy = series.scenarios.iter_mut().find(|recorded| recorded.name == "lossy").unwrap();
    lossy.conditions.insert("page".into(), "abc".into());
    let result = validate(&set, &series, &Silent, &|_| {}).unwrap();
    let [left_out] = &result.left_out[..] else { panic!("{:?}", result.left_out) };
    assert!(left_out.starts_with("lossy: the recording of `web:"), "{left_out}");
    assert!(left_out.contains("ANABRANCH_DATA") && !left_out.contains("changed"), "{left_out}");
    let lossy = series.scenarios.iter_mut().find(|recorded| recorded.name == "lossy").unwrap();
    lossy.conditions.insert("seed".into(), "7".into());
    let result = validate(&set, &series, &Silent, &|_| {}).unwrap();
    assert!(result.left_out[0].contains("the scenario changed"), "{:?}", result.left_out);
}

/// 3 x 2 combinations.
const GRID: &str = r#"
series = "runs/kernel.json"
cc = "reno"
path.b = "rate 5mbit delay 20ms limit 100p"

[draw]
cells = 4
seed = 1
least = 1

[[axis]]
name = "delay"
[[axis.value]]
name = "short"
path.a = "rate 10mbit delay 10ms limit 100p"
[[axis.value]]
name = "long"
path.a = "rate 10mbit delay 50ms limit 100p"
[[axis.value]]
name = "lossy"
path.a = "rate 10mbit delay 10ms loss 1% limit 100p"

[[axis]]
name = "traffic"
[[axis.value]]
name = "little"
traffic = "bulk:64KiB"
[[axis.value]]
name = "much"
traffic = "bulk:4MiB"
"#;

fn names(text: &str) -> Vec<String> {
    set(text).entries.into_iter().map(|entry| entry.name).collect()
}

#[test]
fn drawn_set_has_enough_of_each_value_and_depends_on_its_seed() {
    let all = ["short-little", "short-much", "long-little", "long-much"];
    let all = [&all[..], &["lossy-little", "lossy-much"]].concat();
    assert_eq!(names(&GRID.replace("[draw]\ncells = 4\nseed = 1\nleast = 1\n", "")), all);
    let drawn: Vec<Vec<String>> =
        (1..30).map(|seed| names(&GRID.replace("seed = 1", &format!("seed = {seed}")))).collect();
    for names in &drawn {
        assert_eq!(names.len(), 4);
        assert!(names.is_sorted_by_key(|name| all.iter().position(|other| other == name)));
        for value in ["short-", "long-", "lossy-", "-little", "-much"] {
            assert!(names.iter().any(|name| name.contains(value)), "{value}: {names:?}");
        }
    }
    assert!(drawn.iter().any(|names| *names != drawn[0]), "the seed decides");
    let lossy = &set(GRID).entries;
    assert!(lossy.iter().any(|entry| entry.judged_by == Judged::Quantiles));
    assert!(lossy.iter().any(|entry| entry.judged_by == Judged::Mean));
}

#[test]
fn draw_that_cannot_be_made_says_why() {
    for (from, to, what) in [
        ("cells = 4", "cells = 7", "7 cells cannot be drawn from 6 combinations"),
        ("least = 1", "least = 3", "no draw of 4 cells has 3 of each value"),
        ("cells = 4\n", "", "`[draw]` has no number of cells"),
        ("least = 1", "most = 1", "unknown key `most`"),
        ("seed = 1", "seed = -1", "`seed` is not a whole number"),
        ("name = \"long\"", "name = \"short\"", "has the value `short` twice"),
        ("name = \"long\"", "name = \"a b\"", "is not a name"),
        ("name = \"traffic\"\n", "", "an axis has no name"),
        ("name = \"little\"\n", "", "a value of an axis has no name"),
    ] {
        let message = refusal(&GRID.replacen(from, to, 1));
        assert!(message.contains(what), "`{what}` is missing in:\n{message}");
    }
}

/// A folder with the set `GRID` and further files; removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Folder {
        let name = format!("anabranch-{name}-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        for (name, text) in [("grid.toml", GRID)].iter().chain(files) {
            std::fs::write(folder.0.join(name), text).unwrap();
        }
        folder
    }

    fn read(&self, name: &str) -> Result<ValidationSet, InputError> {
        ValidationSet::from_file(self.0.join(name).to_str().unwrap(), None)
    }
}

const SECOND: &str = "series = 'second.json'\ngrid = 'grid.toml'\nruns = 3\n";

#[test]
fn second_draw_has_axes_and_keys_of_the_first_and_none_of_its_cells() {
    for draw in ["", "[draw]\ncells = 2\nseed = 1\n"] {
        let folder = Folder::new("second", &[("second.toml", &format!("{SECOND}{draw}"))]);
        let first = folder.read("grid.toml").unwrap();
        let second = folder.read("second.toml").unwrap();
        assert_eq!((first.entries.len(), second.entries.len()), (4, 2), "of 6");
        for entry in &second.entries {
            assert!(first.entries.iter().all(|other| other.name != entry.name), "{}", entry.name);
            let names: Vec<_> = entry.variants().into_iter().map(|v| v.name).collect();
            assert!(names.iter().all(|name| name.ends_with("/reno")), "{names:?}");
            assert_eq!(entry.scenario.runs, Runs::Fixed(3), "a key of the second file");
        }
        assert!(second.series.ends_with("second.json"));
    }
}

#[test]
fn second_draw_that_cannot_be_made_says_why() {
    let all = GRID.replace("[draw]\ncells = 4\nseed = 1\nleast = 1\n", "");
    let files = [("all.toml", all.as_str()), ("listed.toml", SET), ("second.toml", SECOND)];
    for (text, part) in [
        (SECOND.replace("grid.toml", "all.toml"), "`all.toml` has all combinations already"),
        (SECOND.replace("grid.toml", "listed.toml"), "`listed.toml` has no axes"),
        (SECOND.replace("grid.toml", "second.toml"), "`second.toml` takes its axes from"),
        (SECOND.replace("grid.toml", "no.toml"), "`no.toml` cannot be read"),
        (format!("{SECOND}[draw]\ncells = 3"), "3 cells cannot be drawn from 2 combinations"),
        (format!("{SECOND}[[axis]]\nname = 'a'"), "the axes are those of `grid.toml`"),
    ] {
        let third = [&files[..], &[("third.toml", &text)]].concat();
        let folder = Folder::new("third", &third);
        let shown = folder.read("third.toml").unwrap_err().to_string();
        assert!(shown.contains(part) && shown.contains("third.toml:"), "{text}: {shown}");
    }
}
