//! The same study on terminals of all widths, and cases of long studies.

use super::{Ask, text};
use crate::output::{Screen, width_of};
use lab::results::Records;
use lab::run::Run;
use lab::scenario::{Key, Variant};
use lab::{Captures, Options, Report, Scenario, Watcher};

struct Nobody;

impl Watcher for Nobody {
    fn on_run(&self, _variant: &Variant, _run: &Run) {}
    fn is_stopped(&self) -> bool {
        false
    }
    fn on_captures(&self, _variant: &Variant, _captures: Captures) {}
}

/// Runs a study as `compare` does.
fn study(paths: &[&str], options: &[(&str, &str)]) -> (Scenario, Report) {
    let quiet = Options::default().with(Key::PathNoise, "0");
    let asked = paths.iter().fold(quiet, |all, path| all.with(Key::Path, path));
    let options = options
        .iter()
        .fold(asked, |all, (name, text)| all.with(Key::by_name(name).expect("an option"), text));
    let scenario = options.resolve().unwrap();
    let records: Option<&Records> = None;
    let study = lab::run_study(&scenario, records, &Nobody).unwrap();
    let report = Report::new(&scenario, &study).unwrap();
    (scenario, report)
}

#[track_caller]
fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_path("../snapshots");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

const ASK: Ask<'_> = Ask { pairs: true, why: false, wide: false, seeds: &[] };

/// The text on terminals of these widths, none of whose lines is wider.
fn at_widths(scenario: &Scenario, report: &Report) -> String {
    let mut all = String::new();
    for width in [40, 60, 80, 120, 200] {
        let shown = text(scenario, report, ASK, Screen { width: Some(width), colour: false });
        for line in shown.lines() {
            assert!(width_of(line) <= width, "{width}: {line}");
        }
        all.push_str(&format!("{}\n{shown}\n", "=".repeat(width)));
    }
    all
}

#[test]
fn table_fits_every_width() {
    let paths = [
        "wlan-upstairs=rate 25mbit delay 20ms loss 1% limit 100p",
        "lte=rate 10mbit delay 30ms limit 200p",
    ];
    let options = [
        ("traffic", "video:3s"),
        ("protocols", "tcp,mptcp"),
        ("schedulers", "lrf,redundant"),
        ("path-managers", "fullmesh,default"),
        ("cc", "cubic,lia"),
        ("runs", "3"),
    ];
    let (scenario, report) = study(&paths, &options);
    snapshot("widths", &at_widths(&scenario, &report));
}

#[test]
fn long_names_of_variants_never_break_a_row() {
    let options = [("traffic", "bulk:64KiB"), ("protocols", "tcp,mptcp"), ("runs", "2")];
    let (scenario, mut report) =
        study(&["wlan=rate 25mbit delay 20ms", "lte=rate 10mbit delay 30ms"], &options);
    report.variants[2].variant.name = "mptcp/lrf/cubic/fullmesh/drepas".to_owned();
    report.pairs.truncate(1);
    snapshot("widths-long-names", &at_widths(&scenario, &report));
}

#[test]
fn interrupted_study_says_how_far_it_came() {
    let options = [("traffic", "bulk:64KiB"), ("runs", "3")];
    let (mut scenario, mut report) = study(&["lte=rate 10mbit delay 30ms"], &options);
    report.interrupted = true;
    scenario.runs = lab::scenario::Runs::Fixed(20);
    snapshot("interrupted", &text(&scenario, &report, ASK, Screen { width: None, colour: false }));
}

#[test]
fn colours_mark_the_result_alone() {
    let options = [("traffic", "bulk:64KiB"), ("runs", "2")];
    let paths = ["lte=rate 10mbit delay 30ms", "slow=rate 1mbit delay 90ms"];
    let (scenario, report) = study(&paths, &options);
    let coloured = text(&scenario, &report, ASK, Screen { width: Some(100), colour: true });
    snapshot("colours", &coloured.replace('\u{1b}', "ESC"));
}
