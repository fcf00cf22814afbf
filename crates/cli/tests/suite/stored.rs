//! `report`: the page from stored results, and errors for other folders.

use crate::{Scratch, anabranch, stderr, stdout, succeeds};
use serde_json::Value;
use std::fs;

/// Two paths, three variants, little traffic.
const STUDY: [&str; 14] = [
    "compare",
    "--path",
    "wlan=rate 25mbit delay 20ms loss 1% limit 100p",
    "--path",
    "3g=rate 4mbit delay 70ms limit 3750p",
    "--traffic",
    "bulk:256KiB",
    "--protocols",
    "tcp,mptcp",
    "--runs",
    "4",
    "--quiet",
    "--out",
    "DIR",
];

/// Runs the study with a folder; returns its output.
fn study(out: &str, more: &[&str]) -> String {
    succeeds(&[&STUDY[..13], &[out], more].concat())
}

fn text(folder: &str, file: &str) -> String {
    fs::read_to_string(format!("{folder}/{file}")).expect(file)
}

/// The error message of a report, without the folder's name.
fn refused(folder: &str, more: &[&str]) -> String {
    let output = anabranch(&[&["report", folder], more].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    stderr(&output).replace(folder, "DIR")
}

#[test]
fn page_from_stored_results_is_the_page_of_the_comparison() {
    let scratch = Scratch::new("stored-same");
    let (out, again) = (scratch.path("results"), scratch.path("again.html"));
    let printed = study(&out, &["--pairs"]);
    let output = anabranch(&["report", &out, "--out", &again, "--pairs"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), format!("wrote {again}\n"));
    assert_eq!(stdout(&output), printed, "the same table and the same verdict");
    let page = text(&out, "report.html");
    assert!(fs::read_to_string(&again).expect("the page") == page, "the same page, byte by byte");
    let document = succeeds(&["report", &out, "--json", "--quiet"]);
    assert_eq!(document, text(&out, "result.json"), "every number is the same");
    assert!(text(&out, "report.html") == page, "written over itself");
    for part in ["All pairs", "Quantiles over the repetitions", "Bytes by path"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn folder_on_another_machine_needs_neither_recordings_nor_pages() {
    let scratch = Scratch::new("stored-elsewhere");
    scratch.file("my trace.down", "0\n1\n2\n3\n");
    scratch.file("my trace.up", "0\n2\n4\n");
    scratch.file("table.txt", "0 5.0\n1 6.5\n2 4.0\n");
    scratch.file("page.json", "{\"html_bytes\": 20000, \"object_bytes\": [3000, 40000, 7]}");
    let file = scratch.file(
        "study.toml",
        "title = \"A page\"\ntraffic = \"web:page.json\"\nhttp = \"2\"\nper-host = true\nruns = 3\n\
         [path]\nlte = 'trace \"my trace.down\" delay 30ms limit 200p'\n\
         dsl = 'rate 6mbit delay 9ms uplink trace \"my trace.up\"'\n\
         wifi = 'trace table.txt unit=mbit loss 1% trace-up table.txt unit=mbit'\n",
    );
    let out = scratch.path("results");
    let printed = succeeds(&["compare", &file, "--out", &out, "--quiet"]);
    for name in ["my trace.down", "my trace.up", "table.txt", "page.json", "study.toml"] {
        fs::remove_file(scratch.path(name)).expect("it was there");
    }
    let moved = scratch.path("moved");
    fs::rename(&out, &moved).expect("a folder can be moved");
    let page = text(&moved, "report.html");
    assert_eq!(succeeds(&["report", &moved, "--quiet"]), printed);
    assert!(text(&moved, "report.html") == page, "the same page, byte by byte");
    assert_eq!(succeeds(&["report", &moved, "--json", "--quiet"]), text(&moved, "result.json"));
}

/// Regression: the report took other traffic for that of a file, and refused what only the file
/// allows: datagrams, and outages, starts and flows after the usual end of a run.
#[test]
fn folders_are_shown_where_only_the_file_of_the_traffic_allows_the_options() {
    let scratch = Scratch::new("stored-traffic");
    let turns = scratch.file("turns.csv", "0,down,500\n1,down,500\n900,down,500\n");
    let traffic = format!("table:{turns}:paced");
    let out = scratch.path("results");
    let path = "a=rate 1mbit delay 10ms";
    let options = [
        [path, "--protocols", "tcp,udp"],
        [path, "--start", "700s"],
        [path, "--flow", "f=tcp on a start 890s"],
        ["a=rate 1mbit delay 10ms down @0s..620s", "--seed", "2"],
    ];
    for more in options {
        let study = ["compare", "--traffic", &traffic, "--runs", "4", "--quiet", "--out", &out];
        let printed = succeeds(&[&study[..], &["--path"], &more].concat());
        assert_eq!(succeeds(&["report", &out, "--quiet"]), printed, "{more:?}");
        fs::remove_dir_all(&out).expect("the folder");
    }
}

/// Regression: the report took links of 1 Mbit/s for recordings: intervals did not allow for the
/// slowest part of a recording, and background flows were at other bottlenecks.
#[test]
fn intervals_and_background_flows_of_recorded_paths_are_those_of_the_comparison() {
    let scratch = Scratch::new("stored-recorded");
    let slow = scratch.file("slow.csv", "second,bytes-per-second\n0,900000\n1,0\n2,0\n3,1500000\n");
    let path = format!("a=trace {slow} delay 30ms via core");
    let network = ["compare", "--path", &path, "--path", "b=trace lte-ghent-train", "--link"];
    let study = ["core=rate 3mbit delay 5ms", "--traffic", "bulk:256KiB", "--runs", "4", "--quiet"];
    let [plain, background] = ["plain", "background"].map(|name| scratch.path(name));
    for (out, more) in [(&plain, "--why"), (&background, "--background")] {
        let printed = succeeds(&[&network[..], &study, &["--out", out, more]].concat());
        let page = text(out, "report.html");
        let again = anabranch(&["report", out]);
        assert_eq!(stderr(&again), format!("wrote {out}/report.html\n"));
        assert!(more == "--why" || stdout(&again) == printed, "the same table and verdict");
        assert!(text(out, "report.html") == page, "the same page, byte by byte");
        let document = succeeds(&["report", out, "--json", "--quiet"]);
        assert_eq!(document, text(out, "result.json"), "every number is the same");
    }
    fs::remove_file(format!("{plain}/inputs/slow.csv")).expect("the copy");
    let note = "the recording of `a` is missing or has changed, so intervals do not allow for its \
                slowest part";
    let told = stderr(&anabranch(&["report", &plain]));
    assert_eq!(told, format!("note: {note}\nwrote {plain}/report.html\n"));
    assert!(text(&plain, "report.html").contains(&format!("Note: {note}.")));
}

/// Regression: the page of runs of less than a second had a figure of goodputs per second without
/// any, which the report on the folder left out.
#[test]
fn short_runs_have_no_figure_of_goodputs_per_second() {
    let scratch = Scratch::new("stored-short");
    let out = scratch.path("results");
    let paths = ["compare", "--path", "a=rate 25mbit delay 20ms", "--flow", "f=tcp on a"];
    let more = ["--traffic", "bulk:10kB", "--runs", "2", "--quiet", "--out", &out];
    succeeds(&[&paths[..], &more].concat());
    let page = text(&out, "report.html");
    assert!(!page.contains("Goodput of every connection"));
    succeeds(&["report", &out, "--quiet"]);
    assert!(text(&out, "report.html") == page, "the same page, byte by byte");
}

#[test]
fn runs_of_another_build_are_shown_as_such() {
    let scratch = Scratch::new("stored-build");
    let out = scratch.path("results");
    let printed = study(&out, &[]);
    let mut run: Value = serde_json::from_str(&text(&out, "run.json")).expect("JSON");
    run["build"] = "0123456789abcdef".into();
    run["version"] = "0.0.9".into();
    fs::write(format!("{out}/run.json"), run.to_string()).expect("run.json");
    let output = anabranch(&["report", &out]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), printed));
    let note = "these runs and figures are from another build of anabranch (version 0.0.9, build \
                0123456789ab), whose results may differ";
    assert_eq!(stderr(&output), format!("note: {note}\nwrote {out}/report.html\n"));
    assert!(text(&out, "report.html").contains(&format!("Note: {note}.")));
    run["hash"] = "another".into();
    fs::write(format!("{out}/run.json"), run.to_string()).expect("run.json");
    let told = stderr(&anabranch(&["report", &out]));
    assert!(!text(&out, "report.html").contains("..</p>"), "the verdict ends with a full stop");
    assert!(told.contains("note: the result of that build was different; its verdict: "), "{told}");
}

#[test]
fn interrupted_and_extended_studies_keep_their_numbers() {
    let scratch = Scratch::new("stored-fewer");
    let out = scratch.path("results");
    study(&out, &["--schedulers", "lrf,rr"]);
    // Fewer runs and variants: the table keeps the others' rows, the report leaves them out.
    let fewer = succeeds(&[&STUDY[..10], &["2", "--quiet", "--out", &out]].concat());
    assert_eq!(succeeds(&["report", &out, "--quiet"]), fewer);
    let mut run: Value = serde_json::from_str(&text(&out, "run.json")).expect("JSON");
    run["interrupted"] = true.into();
    fs::write(format!("{out}/run.json"), run.to_string()).expect("run.json");
    let output = anabranch(&["report", &out, "--quiet"]);
    assert_eq!(output.status.code(), Some(130), "as the interrupted comparison");
    assert!(stdout(&output).contains("; 2 runs (interrupted after 2)"), "{}", stdout(&output));
    let auto = scratch.path("auto");
    let few = ["compare", "--path", "wlan", "--path", "3g", "--traffic", "bulk:64KiB"];
    let few = [&few[..], &["--runs", "auto", "--runs-max", "22", "--quiet", "--out", &auto]];
    let printed = succeeds(&few.concat());
    assert!(printed.contains("(--runs-max 22)"), "{printed}");
    assert_eq!(succeeds(&["report", &auto, "--quiet"]), printed);
}

#[test]
fn what_is_no_results_folder_is_refused_with_the_mend() {
    let scratch = Scratch::new("stored-refused");
    let help = "  help: give a folder written by `anabranch compare --out DIR` or `anabranch run \
                --out DIR`\n";
    let folder = scratch.path("none");
    let missing = refused(&folder, &[]);
    assert!(missing.starts_with("error: DIR: the folder cannot be read: "), "{missing}");
    let file = scratch.file("file", "text");
    let of_file = format!("error: DIR: this is a file, not a results folder\n{help}");
    assert_eq!(refused(&file, &[]), of_file);
    fs::create_dir(&folder).expect("a folder");
    let empty = format!("error: DIR: the folder has no `run.json`\n{help}");
    assert_eq!(refused(&folder, &[]), empty);
    fs::write(format!("{folder}/.runs-0123456789ab.partial.jsonl"), "{}\n").expect("a journal");
    assert_eq!(
        refused(&folder, &[]),
        "error: DIR: the study was stopped before its end: there are runs, and no results\n  help: \
         run the command that began it again, with the same `--out`, to resume; stop it with \
         Ctrl-C for a report on the complete repetitions\n"
    );
    for (content, problem) in [
        ("{", "this is not JSON: EOF while parsing an object at line 1 column 1"),
        ("[1]", "this is not the `run.json` of a results folder"),
        ("{\"program\": \"other\"}", "this is not the `run.json` of a results folder"),
        (
            "{\"program\": \"anabranch\", \"schema\": 1}",
            "it does not name `scenario.toml`, so this is not a results folder",
        ),
    ] {
        fs::write(format!("{folder}/run.json"), content).expect("run.json");
        assert_eq!(refused(&folder, &[]), format!("error: DIR/run.json: {problem}\n{help}"));
    }
    let newer = "{\"program\": \"anabranch\", \"schema\": 2}";
    fs::write(format!("{folder}/run.json"), newer).expect("run.json");
    assert_eq!(
        refused(&folder, &[]),
        "error: DIR/run.json: it has version 2, this program reads version 1\n  help: use the \
         program that wrote the folder, or run the study again into a new folder\n"
    );
}

#[test]
fn changed_cut_and_missing_files_are_refused_with_the_mend() {
    let scratch = Scratch::new("stored-changed");
    let out = scratch.path("results");
    study(&out, &[]);
    let help = "  help: run the command that wrote the folder again, with the same `--out`; it \
                reuses the runs saved there\n";
    let changed = "this is not the file that `run.json` names: it was changed, damaged or \
                   truncated, or the program was stopped while it wrote the folder";
    for name in ["scenario.toml", "result.json", "runs.parquet", "series.parquet"] {
        let file = format!("{out}/{name}");
        let content = fs::read(&file).expect(name);
        fs::write(&file, &content[..content.len() / 2]).expect(name);
        assert_eq!(refused(&out, &[]), format!("error: DIR/{name}: {changed}\n{help}"));
        if name == "series.parquet" {
            continue;
        }
        fs::remove_file(&file).expect(name);
        let missing = "the file is missing, although `run.json` names it";
        assert_eq!(refused(&out, &[]), format!("error: DIR/{name}: {missing}\n{help}"));
        fs::write(&file, content).expect(name);
    }
    fs::remove_file(format!("{out}/series.parquet")).expect("series.parquet");
    let told = stderr(&anabranch(&["report", &out]));
    let note = "note: the folder has no `series.parquet`, so there are no figures over time\n";
    assert_eq!(told, format!("{note}wrote {out}/report.html\n"));
    assert!(!text(&out, "report.html").contains("Paths over time"));
}

#[test]
fn page_that_cannot_be_written_is_said() {
    let scratch = Scratch::new("stored-unwritable");
    let (out, file) = (scratch.path("results"), scratch.file("file", ""));
    study(&out, &[]);
    let help = "  help: name a file that can be written to: `--out FILE`\n";
    for place in [out.clone(), format!("{file}/page.html"), "..".to_owned(), String::new()] {
        let output = anabranch(&["report", &out, "--out", &place]);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{place}");
        let told = stderr(&output);
        assert!(told.starts_with(&format!("error: --out: cannot write `{place}`: ")), "{told}");
        assert!(told.ends_with(help), "{told}");
    }
}

#[test]
fn folder_has_no_tables_of_an_earlier_result() {
    let scratch = Scratch::new("stored-earlier");
    let out = scratch.path("results");
    study(&out, &["--csv"]);
    let tables = ["runs.csv", "summary.csv"].map(|name| format!("{out}/{name}"));
    assert!(tables.iter().all(|name| fs::exists(name).is_ok_and(|is| is)));
    let more = [&STUDY[..10], &["6", "--quiet", "--out", &out]].concat();
    succeeds(&more);
    assert!(tables.iter().all(|name| fs::exists(name).is_ok_and(|is| !is)));
}

#[test]
fn folder_without_its_delays_is_shown_without_their_figures() {
    let scratch = Scratch::new("stored-delays");
    let out = scratch.path("results");
    let call = ["compare", "--path", "wlan", "--path", "3g", "--traffic", "video:2s"];
    succeeds(&[&call[..], &["--runs", "3", "--quiet", "--out", &out]].concat());
    let whole = stderr(&anabranch(&["report", &out]));
    assert_eq!(whole, format!("wrote {out}/report.html\n"));
    fs::remove_file(format!("{out}/delays.parquet")).expect("delays.parquet");
    let told = stderr(&anabranch(&["report", &out]));
    let note = "note: the folder has no `delays.parquet`, so there are no figures of delays\n";
    assert_eq!(told, format!("{note}wrote {out}/report.html\n"));
    let again = anabranch(&[&call[..], &["--runs", "3", "--out", &out]].concat());
    assert!(stderr(&again).contains("note: all runs are repeated, because"), "{}", stderr(&again));
    assert!(fs::exists(format!("{out}/delays.parquet")).expect("the folder"), "it is there again");
}

/// The document of a report on several folders, and its messages.
fn combined(folders: &[&str]) -> (Value, String) {
    let output = anabranch(&[&["report"], folders, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    (serde_json::from_str(&stdout(&output)).expect("JSON"), stderr(&output))
}

fn names(document: &Value) -> Vec<&str> {
    let variants = document["variants"].as_array().expect("variants");
    variants.iter().map(|variant| variant["name"].as_str().expect("a name")).collect()
}

#[test]
fn folders_of_one_seed_are_combined_as_if_they_were_one_study() {
    let scratch = Scratch::new("stored-combined");
    let [whole, one, two] = ["whole", "one", "two"].map(|name| scratch.path(name));
    study(&whole, &["--schedulers", "lrf,rr"]);
    study(&one, &["--schedulers", "lrf"]);
    study(&two, &["--schedulers", "rr"]);
    let page = scratch.path("both.html");
    let (document, told) = combined(&[&one, &two, "--out", &page]);
    assert!(
        told.contains("note: 2 variants are left out of two: a folder before it has"),
        "{told}"
    );
    let mut expected: Value = serde_json::from_str(&text(&whole, "result.json")).expect("JSON");
    assert_eq!(names(&document), names(&expected));
    for key in ["variants", "verdict", "baseline", "metric", "paths"] {
        assert_eq!(document[key], expected[key].take(), "{key}: paired as in one study");
    }
    assert_eq!(document["folders"][1]["folder"], two.as_str());
    let html = fs::read_to_string(&page).expect("the page");
    assert!(html.contains("mptcp/rr/cubic") && html.contains("mptcp/lrf/cubic"));
    for folder in [&one, &two] {
        let mut run: Value = serde_json::from_str(&text(folder, "run.json")).expect("JSON");
        run["build"] = "0123456789abcdef".into();
        fs::write(format!("{folder}/run.json"), run.to_string()).expect("run.json");
    }
    let (_, told) = combined(&[&one, &two, "--out", &page]);
    assert_eq!(told.matches("are from another build").count(), 1, "once for all folders: {told}");
}

/// Regression: all variants had the profile of the first folder.
#[test]
fn variants_of_combined_folders_keep_their_profiles() {
    let scratch = Scratch::new("stored-profiles");
    let [new, old] = ["new", "old"].map(|name| scratch.path(name));
    study(&new, &[]);
    study(&old, &["--profile", "linux-3.5"]);
    let (document, _) = combined(&[&new, &old, "--out", &scratch.path("both.html")]);
    let of = |variant: &Value| variant["profile"].as_str().map(str::to_owned);
    let profiles = document["variants"].as_array().expect("variants").iter().map(of);
    let profiles: Vec<String> = profiles.map(|profile| profile.expect("a profile")).collect();
    assert_eq!(names(&document)[2..4], ["mptcp/linux/cubic", "tcp/wlan/cubic (old)"]);
    assert_eq!(profiles, ["linux", "linux", "linux", "linux-3.5", "linux-3.5", "linux-3.5"]);
}

#[test]
fn folders_of_different_seeds_are_combined_without_pairing() {
    let scratch = Scratch::new("stored-seeds");
    let [one, two, figs] = ["one", "two", "figs"].map(|name| scratch.path(name));
    study(&one, &[]);
    study(&two, &["--seed", "2", "--buffers", "1MiB/1MiB"]);
    let (document, told) = combined(&[&one, &two, "--figures", "svg", "--out", &figs]);
    for note in [
        "note: two has seed 2, one has seed 1: their repetitions are independent, so differences",
        "note: two differs from one: buffers = ",
    ] {
        assert!(told.contains(note), "{told}");
    }
    let all = names(&document);
    assert_eq!(all.len(), 6, "{all:?}");
    assert!(all.contains(&"mptcp/linux/cubic (one)") && all.contains(&"mptcp/linux/cubic (two)"));
    let baseline = document["baseline"].as_str().expect("a baseline");
    let of_baseline = &baseline[baseline.len() - 5..];
    let mut paired = 0;
    for variant in document["variants"].as_array().expect("variants") {
        let name = variant["name"].as_str().expect("a name");
        let has_correlation = variant["diff"]["correlation"].is_number();
        assert!(!has_correlation || name.ends_with(of_baseline), "{name}: {}", variant["diff"]);
        paired += usize::from(has_correlation);
    }
    assert!(paired > 0, "those of the baseline's folder");
    let page = scratch.path("page.html");
    combined(&[&one, &two, "--out", &page]);
    let html = fs::read_to_string(&page).expect("the page");
    assert!(html.contains("differences between them are not paired"), "a note on the page");
    assert!(html.contains(", 4 repetitions, seeds 1, 2.</p>"), "seeds of both");
    assert!(html.contains("The scenario of each folder is its <code>scenario.toml</code>."));
    assert!(!html.contains("with the file below as"), "there is no one file");
    assert!(!html.contains(&format!("from {baseline}, repetition by repetition")), "{baseline}");
    combined(&[&one, "--out", &page]);
    let html = fs::read_to_string(&page).expect("the page");
    assert!(html.contains(", repetition by repetition. "), "a study of one seed");
    let boxes = fs::read_to_string(format!("{figs}/metric-boxes.svg")).expect("a figure");
    assert!(boxes.contains("mptcp/linux/cubic (two)"));
}

/// Regression: each variant had the mean of all its repetitions, so that the folder with more of
/// them was compared over other random draws than its difference.
#[test]
fn folders_of_one_seed_are_compared_over_the_repetitions_that_all_have() {
    let scratch = Scratch::new("stored-common");
    let folders = ["long", "short", "both"].map(|name| scratch.path(name));
    let [long, short, both] = &folders;
    for (folder, schedulers, runs) in
        [(long, "rr", "7"), (short, "lrf", "4"), (both, "rr,lrf", "4")]
    {
        let study =
            [&STUDY[..9], &["--runs", runs, "--schedulers", schedulers, "--quiet"]].concat();
        succeeds(&[&study[..], &["--out", folder]].concat());
    }
    let one = succeeds(&["report", both, "--json", "--quiet"]);
    let one: Value = serde_json::from_str(&one).expect("a document");
    let means = |document: &Value| -> Vec<(String, String)> {
        let of = |variant: &Value| (variant["name"].to_string(), variant["mean"].to_string());
        let mut means: Vec<_> =
            document["variants"].as_array().expect("variants").iter().map(of).collect();
        means.sort();
        means
    };
    for order in [[long, short], [short, long]] {
        let page = scratch.path("page.html");
        let (document, told) = combined(&[order[0], order[1], "--out", &page]);
        assert_eq!(means(&document), means(&one));
        let number = |of: &Value| of.as_f64().expect("a number");
        let variants = document["variants"].as_array().expect("variants");
        let baseline = variants.iter().find(|of| of["name"] == document["baseline"]);
        let least = number(&baseline.expect("the baseline")["mean"]);
        for of in variants.iter().filter(|of| of["name"] != document["baseline"]) {
            let off = number(&of["mean"]) - least - number(&of["diff"]["mean"]);
            assert!(off.abs() < 1e-9, "{of}");
        }
        let note =
            "the first 4 of the 7 repetitions of long are compared: another folder with seed";
        assert!(told.contains(note), "{told}");
    }
}

#[test]
fn goals_and_differences_that_matter_are_those_of_all_folders_or_none() {
    let scratch = Scratch::new("stored-criteria");
    let [one, two] = ["one", "two"].map(|name| scratch.path(name));
    study(&one, &["--goal", "completion_time < 300ms", "--matters", "50%"]);
    study(&two, &["--seed", "2"]);
    let page = scratch.path("page.html");
    let results = [[&one, &two], [&two, &one]].map(|order| {
        let (document, told) = combined(&[order[0], order[1], "--out", &page]);
        assert!(told.contains("the folders have different goals: none is judged"), "{told}");
        let matters = "the folders have different smallest differences that matter: 5.0 % is used";
        assert!(told.contains(matters), "{told}");
        let printed = succeeds(&["report", order[0], order[1], "--out", &page, "--quiet"]);
        let seeds = if order[0] == &one { "seeds 1, 2" } else { "seeds 2, 1" };
        assert!(printed.lines().any(|line| line.ends_with(seeds)), "{printed}");
        let text = printed.replace('\n', " ");
        assert!(text.contains(" than wlan (one), the best path alone"), "{printed}");
        (document["goal"].clone(), document["answer"]["class"].clone())
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].0, Value::Null);
}

#[test]
fn folder_without_single_paths_is_judged_by_those_of_another() {
    let scratch = Scratch::new("stored-alone");
    let [one, two, page] = ["one", "two", "page.html"].map(|name| scratch.path(name));
    for (folder, protocol, runs) in [(&one, "tcp", "3"), (&two, "mptcp", "5")] {
        let [before, after] = [&STUDY[..8], &STUDY[11..13]];
        // Of one seed the repetitions that both have would be compared.
        succeeds(&[before, &[protocol, "--runs", runs, "--seed", runs], after, &[folder]].concat());
    }
    let note = "no path is used alone";
    for (folders, is_there) in [(vec![&*two], true), (vec![&two, &one], false)] {
        combined(&[&folders[..], &["--out", &page]].concat());
        let html = fs::read_to_string(&page).expect("the page");
        assert_eq!(html.contains(note), is_there, "{folders:?}");
        let runs = if is_there { ", 5 repetitions," } else { ", 3 to 5 repetitions," };
        assert!(html.contains(runs), "{folders:?}");
    }
}

#[test]
fn folders_of_other_paths_or_traffic_are_not_combined() {
    let scratch = Scratch::new("stored-others");
    let [one, traffic, path, more, single] =
        ["one", "traffic", "path", "more", "single"].map(|name| scratch.path(name));
    let call = |verb: &str, path: &str, traffic: &str, out: &str, more: &[&str]| {
        let call = [verb, "--path", path, "--traffic", traffic, "--out", out, "--quiet"];
        succeeds(&[&call[..], more].concat());
    };
    let a = "a=rate 5mbit delay 10ms";
    call("compare", a, "bulk:16KiB", &one, &["--runs", "4"]);
    call("compare", a, "bulk:32KiB", &traffic, &["--runs", "4"]);
    call("compare", "a=rate 6mbit delay 10ms", "bulk:16KiB", &path, &["--runs", "4"]);
    call("compare", a, "bulk:16KiB", &more, &["--runs", "4", "--path", "b=rate 1mbit"]);
    call("run", a, "bulk:16KiB", &single, &[]);
    for (other, problem) in [
        (&traffic, "its traffic differs from that of `"),
        (&path, "its network differs from that of `"),
        (&more, "its number of paths, links and flows differs from that of `"),
        (&single, "has a single repetition, not a comparison"),
    ] {
        let told = refused(&one, &[other]);
        assert!(told.contains(problem), "{told}");
        assert!(told.contains("help: combine folders with the same paths, traffic"), "{told}");
    }
}
