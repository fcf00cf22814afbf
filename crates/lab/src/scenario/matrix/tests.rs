//! Rows, columns and baselines of matrices, and lists that are refused.

use super::*;
use crate::scenario::Runs;

fn plan(said: &[(Key, &str)], pairs: Option<&str>) -> Result<MatrixPlan, InputError> {
    let options = said.iter().fold(Options::default(), |all, (key, text)| all.with(*key, text));
    MatrixPlan::new(&options, pairs.map(|text| Given::argument(OPTION, text)).as_ref())
}

#[track_caller]
fn refused(said: &[(Key, &str)], pairs: Option<&str>, parts: &[&str]) {
    let message = plan(said, pairs).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in:\n{message}");
    }
}

/// Quick to resolve.
const BULK: (Key, &str) = (Key::Traffic, "bulk:64KiB");

#[test]
fn default_is_the_matrix_of_000() {
    let plan = plan(&[], None).unwrap();
    assert_eq!(plan.cells.len(), 5 * 3 * 2);
    let first = &plan.cells[0];
    assert_eq!(first.place.folder, "cells/video/wlan+wlan/mptcp");
    let scenario = first.scenario().unwrap();
    assert_eq!(scenario.runs, Runs::Fixed(MATRIX_RUNS));
    assert_eq!(scenario.baseline, Baseline::Average);
    let names: Vec<&str> = scenario.paths.iter().map(|path| path.name.as_str()).collect();
    assert_eq!(names, ["wlan1", "wlan2"], "two paths, drawn independently");
    let unlike = &plan.cells[4..6];
    for (cell, baseline) in unlike.iter().zip(["tcp/wlan/cubic", "sctp/wlan/reno"]) {
        assert_eq!(cell.place.pair, "wlan+3g");
        let named = Baseline::Named(baseline.to_owned());
        assert_eq!(cell.scenario().unwrap().baseline, named);
    }
}

/// 000 s5.1.1 and s5.3.1: CMT-SCTP delays video over two WLANs and speeds pages up.
#[test]
fn cells_of_the_paper_have_what_it_says() {
    let of = |plan: &MatrixPlan, place: usize| {
        let reported = plan.cells[place].place.reported;
        reported.map(|reported| reported.class)
    };
    let all = plan(&[], None).unwrap();
    assert_eq!(of(&all, 1), Some("degraded"), "video over two WLANs, cmt-sctp");
    assert_eq!(of(&all, 21), Some("significant gain"), "web:amazon over 3g+3g, cmt-sctp");
    let number = all.cells.iter().filter(|cell| cell.place.reported.is_some()).count();
    assert_eq!(number, 17, "every row of the table is a cell of the default matrix");
    let own = plan(&[(Key::Path, "wlan=rate 5mbit"), (Key::Traffic, "video")], Some("wlan+wlan"));
    assert_eq!(of(&own.unwrap(), 1), None, "a path of the user");
}

#[test]
fn unlike_paths_compare_with_the_wlan_of_the_papers_or_the_best() {
    for (pair, expected) in [
        ("3g+wlan", Baseline::Named("tcp/wlan/cubic".into())),
        ("wifi+umts", Baseline::Named("tcp/wlan/cubic".into())),
        ("3g-002+wlan-002", Baseline::Named("tcp/wlan-002/cubic".into())),
        ("wlan+lte", Baseline::Best),
        ("wlan+3g+lte", Baseline::Best),
        ("lte+lte+lte", Baseline::Average),
    ] {
        let plan = plan(&[BULK, (Key::Protocols, "mptcp")], Some(pair)).unwrap();
        assert_eq!(plan.cells[0].scenario().unwrap().baseline, expected, "{pair}");
    }
    let own = [BULK, (Key::Baseline, "best")];
    let plan = plan(&own, Some("3g+3g")).unwrap();
    assert_eq!(plan.cells[0].scenario().unwrap().baseline, Baseline::Best);
}

/// Regression: the cells of `--cc olia` had no baseline and the grade "not known" or "none".
#[test]
fn coupled_congestion_control_alone_is_refused() {
    let of = [BULK, (Key::Protocols, "mptcp"), (Key::Cc, "olia")];
    refused(&of, None, &["which cells compare with", "`--cc cubic,olia`"]);
    let both = [BULK, (Key::Protocols, "mptcp"), (Key::Cc, "cubic,olia")];
    assert!(plan(&both, None).is_ok());
}

#[test]
fn paths_of_the_user_are_columns() {
    let home = (Key::Path, "home=rate 5mbit delay 9ms");
    let lte = (Key::Path, "lte=profile lte limit 50p");
    let all = plan(&[BULK, home, lte], None).unwrap();
    assert_eq!(all.pairs, ["home+lte"], "without --paths all of them");
    let twice = plan(&[BULK, home, lte], Some("home+home, home+wlan")).unwrap();
    assert_eq!(twice.pairs, ["home+home", "home+wlan"]);
    let scenario = twice.cells[0].scenario().unwrap();
    let given: Vec<(&str, &str)> =
        scenario.paths.iter().map(|path| (path.name.as_str(), path.given.as_str())).collect();
    let spec = "rate 5mbit delay 9ms";
    assert_eq!(given, [("home1", spec), ("home2", spec)]);
}

#[test]
fn number_of_runs_is_fixed_or_limited() {
    let runs = |said: &[(Key, &str)]| {
        let plan = plan(&[&[BULK], said].concat(), Some("3g+3g")).unwrap();
        plan.cells[0].scenario().unwrap().runs
    };
    assert_eq!(runs(&[(Key::Runs, "7")]), Runs::Fixed(7));
    assert_eq!(runs(&[(Key::Runs, "auto")]), Runs::Auto { most: MATRIX_RUNS });
    assert_eq!(runs(&[(Key::Runs, "auto"), (Key::RunsMax, "300")]), Runs::Auto { most: 300 });
    assert_eq!(runs(&[(Key::RunsMax, "300")]), Runs::Auto { most: 300 });
}

#[test]
fn single_path_protocols_have_no_column() {
    let all = plan(&[BULK, (Key::Protocols, "tcp,mptcp")], Some("3g+3g")).unwrap();
    assert_eq!(all.protocols, [Protocol::Mptcp]);
    assert_eq!(all.notes, ["tcp without a column: every cell is compared with single paths"]);
    refused(&[BULK, (Key::Protocols, "tcp,sctp")], None, &["none of these uses several paths"]);
    refused(&[BULK, (Key::Protocols, "mtcp")], None, &["unknown protocol `mtcp`", "`mptcp`"]);
}

#[test]
fn wrong_lists_are_refused_with_place_and_mend() {
    refused(&[BULK], Some("wlan"), &["--paths", "`wlan` is one path", "help: write `wlan+wlan`"]);
    refused(&[BULK], Some("wlan+3g,wlam+3g"), &["unknown path `wlam`", "did you mean `wlan`?"]);
    refused(&[BULK], Some(""), &["an empty pair of paths", "`wlan+wlan,3g+3g,wlan+3g`"]);
    refused(&[BULK], Some("wlan+"), &["an empty name of a path"]);
    refused(&[BULK], Some("3g+3g,3g+3g"), &["the pair of paths `3g+3g` is given twice"]);
    refused(&[(Key::Traffic, "")], None, &["--traffic", "an empty row"]);
    refused(&[(Key::Traffic, "video,")], None, &["an empty row", "`video,web:amazon`"]);
    refused(&[(Key::Traffic, "video,vidoe")], None, &["unknown traffic `vidoe`"]);
    refused(&[BULK, (Key::Path, "a=rate 1mbit")], None, &["`a` is the only path"]);
    let nine = ["3g"; 9].join("+");
    let metric = (Key::Metric, "completion_time");
    let rows = (Key::Traffic, "bulk:64KiB,video:1s");
    refused(&[rows, metric], None, &["--metric", "not measured with this traffic: `video:1s`"]);
    refused(&[BULK], Some(&nine), &["--paths: 9 paths in one column", "help: remove"]);
}

#[test]
fn folders_are_safe_and_different() {
    let mut used = BTreeSet::new();
    let mut name = |text: &str| unused(&folder_name(text), &mut used);
    assert_eq!(name("web:../a b.har"), "web-..-a-b.har");
    assert_eq!(name("web:../a-b.har"), "web-..-a-b.har-2");
    assert_eq!(name(&"x".repeat(300)).len(), LONGEST_NAME);
}
