//! `reproduce`: files, resuming, shards, pages, and claims of the papers themselves.
//!
//! Most tests read the claims of a paper that was never written, whose studies take no time.

use crate::browser::shown;
use crate::{Scratch, anabranch, command, stderr, stdout, succeeds};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/claims");
/// The claims of the sample fail as they should.
const CHECK_FAILED: i32 = 4;

/// The output of a reproduction of the sample.
fn sample(more: &[&str]) -> String {
    let arguments = [&["reproduce", "all", "--claims", SAMPLE, "--quiet"][..], more].concat();
    let output = anabranch(&arguments);
    assert_eq!(output.status.code(), Some(CHECK_FAILED), "{}", stderr(&output));
    stdout(&output)
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The files of a folder by name.
fn files(folder: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read(entry.path()).expect("a file"))
    };
    entries.map(file).collect()
}

#[test]
fn document_has_every_claim_with_its_parts() {
    let all = document(&sample(&["--json"]));
    let claims = all["claims"].as_array().expect("claims");
    let holds: Vec<&Value> = claims.iter().map(|claim| &claim["holds"]).collect();
    assert_eq!(holds, [&Value::Bool(true), &Value::Bool(false), &Value::Bool(true), &Value::Null]);
    for claim in claims {
        for key in ["id", "kind", "paper", "ours", "ci95", "holds", "why", "parts"] {
            assert!(claim.get(key).is_some(), "{key}: {claim}");
        }
    }
    assert_eq!(claims[1]["parts"][1]["kind"], "soft");
    assert_eq!(claims[0]["linux"]["holds"], true);
    assert!(claims[2]["linux"].is_null(), "one experiment has no such column");
    assert_eq!(claims[0]["sensitivity"].as_array().expect("rows").len(), 1);
    let interval = claims[1]["ci95"].as_array().expect("an interval");
    assert!(interval[1].as_f64() < Some(0.0), "the slow path takes more than 20 ms: {interval:?}");
}

#[test]
fn jobs_shards_and_reused_studies_give_the_same_bytes() {
    let scratch = Scratch::new("reproduce-shards");
    let [whole, one, two, merged] = ["whole", "one", "two", "merged"].map(|of| scratch.path(of));
    sample(&["--out", &whole, "--jobs", "1"]);
    for (part, folder) in [("1/2", &one), ("2/2", &two)] {
        let call = ["reproduce", "all", "--claims", SAMPLE, "--quiet", "--jobs", "2"];
        succeeds(&[&call[..], &["--shard", part, "--out", folder]].concat());
    }
    assert!(!files(&one).contains_key("reproduction.json"), "a part has no result");
    sample(&["--merge", &format!("{one},{two}"), "--out", &merged]);
    assert_eq!(files(&whole), files(&merged));
    let before = files(&whole);
    fs::remove_file(format!("{whole}/values-009-paper-equal.json")).expect("a file");
    sample(&["--out", &whole]);
    assert_eq!(files(&whole), before, "the removed study was run again, the others were not");
    let call = ["reproduce", "all", "--claims", SAMPLE, "--merge", &one];
    let output = anabranch(&call);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("the parts lack"), "{}", stderr(&output));
}

#[test]
fn a_stored_study_is_not_run_again() {
    let scratch = Scratch::new("reproduce-stored");
    let out = scratch.path("out");
    sample(&["--out", &out]);
    let name = format!("{out}/values-009-paper-burst-15.json");
    let mut changed = document(&fs::read_to_string(&name).expect("values"));
    // Below 20 ms: the claim that failed holds with these values.
    let slow = changed["variants"].as_array_mut().expect("variants");
    let slow = slow.iter_mut().find(|of| of["variant"] == "tcp/slow/reno").expect("it");
    for value in slow["values"]["own"].as_array_mut().expect("values") {
        *value = Value::from(0.019);
    }
    fs::write(&name, changed.to_string()).expect("written");
    let call = ["reproduce", "009-C2", "--claims", SAMPLE, "--quiet", "--json", "--out", &out];
    assert_eq!(document(&succeeds(&call))["claims"][0]["holds"], true);
}

#[test]
fn page_of_a_paper_is_shown_without_a_network() {
    let scratch = Scratch::new("reproduce-page");
    let out = scratch.path("out");
    sample(&["--out", &out]);
    let page = fs::read_to_string(format!("{out}/009.html")).expect("a page");
    let (table, figure) = (page.find("009-C1"), page.find("figure(\"figure0\""));
    assert!(table.is_some() && table < figure, "the table of claims is first");
    let made_by = format!("anabranch {}, seed 1.</p>", env!("CARGO_PKG_VERSION"));
    assert!(page.contains(&made_by), "the version that made the page, and the seed");
    let csv = fs::read_to_string(format!("{out}/009-fig1.csv")).expect("data");
    let (lrf, lines) = ("burst/30,\"mptcp/lrf/reno\",19,", csv.lines().count());
    assert!(csv.starts_with("experiment,variant,repetition,value\n") && csv.contains(lrf));
    assert_eq!(lines, 1 + 2 * 4 * 20);
    let svg = fs::read_to_string(format!("{out}/009-fig1.svg")).expect("a drawing");
    assert!(svg.contains("message delay (ms)") && svg.contains("mptcp/lrf/reno"), "{svg}");
    assert!(fs::read(format!("{out}/009-fig1.pdf")).expect("a drawing").starts_with(b"%PDF"));
    let _ = shown(&format!("{out}/009.html"), &scratch);
}

/// Regression: soft parts of a hard claim were in the document of `--write` only.
#[test]
fn page_has_the_soft_parts_that_do_not_hold() {
    let scratch = Scratch::new("reproduce-soft");
    let (out, claims) = (scratch.path("out"), scratch.path("claims"));
    fs::create_dir_all(format!("{claims}/009-sample")).expect("a folder");
    for (name, content) in files(&format!("{SAMPLE}/009-sample")) {
        let text = String::from_utf8(content).expect("text").replace("low = 0.99", "low = 1.01");
        fs::write(format!("{claims}/009-sample/{name}"), text).expect("a file");
    }
    let call = ["reproduce", "009-C2", "--claims", &claims, "--quiet", "--out", &out];
    assert_eq!(anabranch(&call).status.code(), Some(CHECK_FAILED));
    let page = fs::read_to_string(format!("{out}/009.html")).expect("a page");
    let part = "<li>009-C2: and BLEST uses the fast path alone (soft): 100.0 %; burst/15: shows";
    assert!(page.contains(part), "{page}");
}

#[test]
fn time_lines_and_outcomes_are_in_the_page_and_in_files() {
    let scratch = Scratch::new("reproduce-drawings");
    let out = scratch.path("out");
    sample(&["--out", &out]);
    let file = |name: &str| fs::read_to_string(format!("{out}/{name}")).expect("a file");
    let lines = file("009-fig5.csv");
    assert!(lines.starts_with("experiment,variant,path,time,value\n"), "{lines}");
    for path in ["fast", "slow"] {
        assert!(lines.contains(&format!("burst/30,\"mptcp/lrf/reno\",{path},")), "{lines}");
    }
    let times: Vec<f64> = lines
        .lines()
        .filter(|line| line.contains(",fast,"))
        .map(|line| line.split(',').nth(3).and_then(|at| at.parse().ok()).expect("a time"))
        .collect();
    assert!(times.len() > 2 && times.is_sorted(), "{times:?}");
    let outcomes = file("009-fig6.csv");
    assert!(outcomes.starts_with("row,column,outcome,difference,low,high\n"), "{outcomes}");
    let slow = outcomes.lines().find(|line| line.contains(",The slow path,")).expect("a cell");
    let cells: Vec<&str> = slow.split(',').collect();
    assert_eq!(cells[..3], ["Bursts", "The slow path", "degraded"]);
    let number = |place: usize| cells[place].parse::<f64>().expect("a number");
    assert!(number(4) <= number(3) && number(3) <= number(5) && number(4) > 1.0, "{slow}");
    let page = file("009.html");
    assert!(page.contains("<td class=\"degraded\"><b>degraded</b>+"), "a cell of the table");
    assert!(page.contains("Congestion windows of a burst. The repetition nearest to the median."));
    for (name, text) in [("009-fig5.svg", "cwnd (KiB)"), ("009-fig6.svg", "The slow path")] {
        assert!(file(name).contains(text), "{name}");
    }
}

#[test]
fn written_document_has_every_claim_and_keeps_text_of_others() {
    let scratch = Scratch::new("reproduce-written");
    let file = scratch.path("reproduction.md");
    sample(&["--quick", "--write", &file]);
    let first = fs::read_to_string(&file).expect("a document");
    for part in ["# What of the five papers holds", "## 009 A sample", "| 009-C1 |", "anabranch 0."]
    {
        assert!(first.contains(part), "{part}: {first}");
    }
    assert!(first.contains("- 009-C4: not run: there is no model of the moon"), "{first}");
    fs::write(&file, format!("{first}\nThe moon is far away.\n")).expect("written");
    sample(&["--quick", "--write", &file]);
    let second = fs::read_to_string(&file).expect("a document");
    assert!(second.ends_with("The moon is far away.\n"), "{second}");
    assert!(second.contains("CPU seconds on the kernel of the paper (3 studies)"), "{second}");
    assert!(!second.contains("further studies"), "{second}");
    let out = scratch.path("out");
    sample(&["--quick", "--no-linux", "--out", &out]);
    sample(&["--quick", "--out", &out, "--write", &file]);
    let third = fs::read_to_string(&file).expect("a document");
    assert!(third.contains("The studies took 0.0 CPU seconds on Linux (2 studies)"), "{third}");
    assert!(third.contains(" 3 further studies were stored before."), "{third}");
}

#[test]
fn another_scheduler_is_beside_the_papers_and_changes_no_claim() {
    let scratch = Scratch::new("reproduce-scheduler");
    let out = scratch.path("out");
    let holds = |text: &str| {
        let all = document(text);
        let all = all["claims"].as_array().expect("claims").clone();
        all.iter().map(|claim| claim["ours"].clone()).collect::<Vec<Value>>()
    };
    let with = sample(&["--scheduler", "ecf", "--json", "--out", &out]);
    assert_eq!(holds(&with), holds(&sample(&["--json"])));
    let csv = fs::read_to_string(format!("{out}/009-fig1.csv")).expect("data");
    assert!(csv.contains("mptcp/ecf/reno"));
}

/// A folder with a claim about a game.
fn game(scratch: &Scratch) -> String {
    let folder = scratch.path("claims");
    fs::create_dir_all(format!("{folder}/008-games")).expect("a folder");
    let claims = "paper = \"008\"\ntitle = \"Games\"\n[experiment.game]\nfile = \"game.toml\"\n\
        [[claim]]\nid = \"008-C1\"\nkind = \"hard\"\nsource = \"s1\"\npaper = \"paths\"\n\
        [[claim.part]]\ncheck = \"order\"\nexperiment = \"game\"\n\
        values = [\"tcp/fast/reno\", \"tcp/slow/reno\"]\n";
    let scenario = "traffic = \"game:aoc-1\"\nprotocols = \"tcp\"\ncc = \"reno\"\nruns = 4\n\
        [path]\nfast = \"rate 20mbit delay 5ms\"\nslow = \"rate 20mbit delay 50ms\"\n";
    fs::write(format!("{folder}/008-games/claims.toml"), claims).expect("claims");
    fs::write(format!("{folder}/008-games/game.toml"), scenario).expect("a scenario");
    folder
}

/// Recordings have no licence: without them the model of the game runs, and the row says so.
#[test]
fn a_claim_is_judged_with_the_model_of_a_game_and_with_its_recording() {
    let scratch = Scratch::new("reproduce-data");
    let (claims, data) = (game(&scratch), scratch.path("data"));
    fs::create_dir_all(format!("{data}/games/age-of-conan")).expect("a folder");
    let recording = format!("gap_s,message_bytes\n{}", "0.2,140\n".repeat(40));
    fs::write(format!("{data}/games/age-of-conan/trace111.csv"), recording).expect("a recording");
    let row = |more: &[&str]| {
        let call = ["reproduce", "all", "--claims", &claims, "--quick", "--quiet", "--json"];
        let found = document(&succeeds(&[&call[..], more].concat()));
        let row = &found["claims"][0];
        assert_eq!(row["holds"], true);
        (row["ours"].to_string(), row["notes"][0].to_string())
    };
    let (model, recorded) = (row(&[]), row(&["--data", &data]));
    assert!(model.1.contains("is a model with a mean gap of 181.4 ms"), "{}", model.1);
    assert!(recorded.1.contains("as recorded in"), "{}", recorded.1);
    assert_ne!(model.0, recorded.0);
}

/// Regression: figures and `--write` overwrote files of others.
#[test]
fn files_of_others_are_overwritten_with_force_only() {
    let scratch = Scratch::new("reproduce-others");
    let [out, text] = ["out", "text.md"].map(|of| scratch.path(of));
    fs::create_dir(&out).expect("a folder");
    let figure = format!("{out}/009-fig1.svg");
    let call = ["reproduce", "all", "--claims", SAMPLE, "--quick", "--quiet"];
    for (file, more) in [(&figure, ["--out", &*out]), (&text, ["--write", &*text])] {
        fs::write(file, "mine").expect("written");
        let output = anabranch(&[&call[..], &more].concat());
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("was not written by anabranch"), "{message}");
        assert_eq!(fs::read_to_string(file).expect("a file"), "mine");
        for _ in 0..2 {
            sample(&[&more[..], &["--force"]].concat());
        }
        sample(&more);
        assert_ne!(fs::read_to_string(file).expect("a file"), "mine");
    }
}

/// Regression: the text by hand was lost where the disk was full, and with it the table and the
/// files of `--out`.
#[test]
fn full_disk_keeps_the_document_and_the_table_and_the_files() {
    let scratch = Scratch::new("reproduce-full");
    let [file, out] = ["text.md", "out"].map(|of| scratch.path(of));
    let written = sample(&["--quick", "--write", &file]);
    let by_hand = [&fs::read(&file).expect("a document")[..], b"\xff by hand\n"].concat();
    fs::write(&file, &by_hand).expect("written");
    // Files of at most one block: writing more fails as on a full disk.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let program = env!("CARGO_BIN_EXE_anabranch");
    let call = ["reproduce", "all", "--claims", SAMPLE, "--quick", "--quiet", "--write", &file];
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", limited, program]).args(call).output().expect("a shell");
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(&format!("cannot write `{file}`")), "{message}");
    assert_eq!(stdout(&output), written);
    assert_eq!(fs::read(&file).expect("a document"), by_hand);
    fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink(scratch.path("linked.md"), &file).expect("a link");
    fs::write(scratch.path("linked.md"), &by_hand).expect("written");
    sample(&["--quick", "--write", &file, "--out", &out]);
    let linked = fs::read(scratch.path("linked.md")).expect("a document");
    assert!(linked.ends_with(b"\xff by hand\n") && linked != by_hand, "a link remains one");
    assert!(fs::read_link(&file).is_ok());
}

/// Regression: `ANABRANCH_JOBS` had no effect.
#[test]
fn environment_has_the_number_of_threads() {
    let mut call = command(&["reproduce", "009-C1", "--claims", SAMPLE, "--quick"]);
    let output = call.env("ANABRANCH_JOBS", "0").output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn list_has_the_tables_and_only_what_is_selected() {
    let all = succeeds(&["reproduce", "--list", "--claims", SAMPLE]);
    for part in ["009/fig1: ", "009/table1: ", "009-C1 (hard, s1): "] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let one = succeeds(&["reproduce", "009-C2", "--list", "--claims", SAMPLE]);
    assert!(one.contains("009-C2") && !one.contains("009-C1") && !one.contains("fig1"), "{one}");
    let drawn = succeeds(&["reproduce", "009/fig4", "--claims", SAMPLE, "--quick", "--quiet"]);
    assert!(drawn.starts_with("no claim is selected"), "{drawn}");
    let scratch = Scratch::new("reproduce-figure");
    let folder = scratch.path("out");
    let call = ["reproduce", "009/fig4", "--claims", SAMPLE, "--quick", "--quiet", "--out"];
    assert_eq!(succeeds(&[&call[..], &[&folder, "--markdown"]].concat()), drawn);
    let page = fs::read_to_string(format!("{folder}/009.html")).expect("the page");
    assert!(page.contains("009/fig4") && !page.contains("holds?"), "no empty table of claims");
    let output = anabranch(&["reproduce", "--list", "--json", "--claims", SAMPLE]);
    assert_eq!(output.status.code(), Some(2), "a list is no document");
}

#[test]
fn table_is_selected_by_its_name_and_has_the_papers_numbers_beside_ours() {
    let of = |more: &[&str]| {
        let table = ["reproduce", "009/Table1", "--claims", SAMPLE, "--quick", "--quiet"];
        succeeds(&[&table[..], more].concat())
    };
    let text = of(&[]);
    assert!(text.starts_with("source   number"), "{text}");
    assert!(text.contains("Table 1  ") && text.contains("009: of "), "{text}");
    assert!(of(&["--markdown"]).starts_with("| source | number |"));
    let found = document(&of(&["--json"]));
    assert_eq!(found["claims"].as_array().map(Vec::len), Some(0));
    assert!(!found["papers"]["009"]["numbers"].as_array().expect("numbers").is_empty());
    let scratch = Scratch::new("reproduce-table");
    let folder = scratch.path("out");
    of(&["--out", &folder]);
    let page = fs::read_to_string(format!("{folder}/009.html")).expect("a page");
    assert!(page.contains("Table 1"));
    let list = succeeds(&["reproduce", "009/table1", "--list", "--claims", SAMPLE]);
    assert!(list.contains("009/table1: ") && !list.contains("009-C1"), "{list}");
}
