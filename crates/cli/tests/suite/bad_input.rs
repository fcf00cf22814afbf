//! Invalid input: exit code 2, problem, place and remedy.

use crate::{Scratch, anabranch, stderr, stdout};

/// `compare` with these arguments is refused with all of `parts` in the message.
#[track_caller]
fn refused(arguments: &[&str], parts: &[&str]) {
    let output = anabranch(&[&["compare"], arguments].concat());
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(stdout(&output), "", "nothing but messages");
    assert!(!message.contains("panicked"), "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in:\n{message}");
    }
}

/// A path with this description is refused.
#[track_caller]
fn path_refused(spec: &str, parts: &[&str]) {
    refused(&["--traffic", "bulk:64KiB", "--path", &format!("p={spec}")], parts);
}

/// A scenario file with this text is refused.
#[track_caller]
fn file_refused(name: &str, text: &str, parts: &[&str]) {
    let scratch = Scratch::new(name);
    let file = scratch.file("study.toml", text);
    refused(&[&file], parts);
}

#[test]
fn no_path_is_explained() {
    refused(&[], &["no path is given", "--path wlan --path 3g"]);
    refused(&["--path", "wlan"], &["--traffic", "bulk:4MiB"]);
}

#[test]
fn bare_mbps_is_refused_with_the_reason() {
    path_refused(
        "rate 25mbps delay 20ms",
        &["--path", "megabyte per second in tc", "`25mbit`", "`200mbit`", "^^^^^^"],
    );
}

#[test]
fn unknown_key_unit_and_name_are_refused_with_the_nearest_word() {
    path_refused("rate 25mbit dellay 20ms", &["unknown word `dellay`", "did you mean `delay`"]);
    path_refused("rate 25mbti", &["unknown unit `mbti`", "did you mean `mbit`"]);
    refused(&["--path", "wlna", "--traffic", "video"], &["did you mean `wlan`"]);
    refused(&["--path", "wlan", "--traffic", "vidoe"], &["did you mean `video`"]);
    refused(
        &["--path", "wlan", "--traffic", "video", "--cc", "reno,cubik"],
        &["--cc", "unknown congestion control `cubik`", "did you mean `cubic`"],
    );
    refused(&["--path", "wlan", "--pth", "3g"], &["--pth", "--path"]);
    let together = ["--path", "wlan", "--path", "3g", "--traffic", "video", "--protocols", "mptcp"];
    let with = |option, value| [&together[..], &[option, value]].concat();
    refused(&with("--schedulers", "lfr"), &["--schedulers", "did you mean `lrf`", "^^^"]);
    refused(&with("--schedulers", "default"), &["ambiguous", "`lrf`", "`linux`"]);
    refused(&with("--path-managers", "fullmehs"), &["--path-managers", "`fullmesh`"]);
}

#[test]
fn zero_rate_and_loss_above_one_hundred_per_cent_are_refused() {
    path_refused("rate 0mbit", &["rate of zero"]);
    path_refused("rate 5mbit rate 0mbit @1s..2s", &["rate of zero"]);
    path_refused("rate 5mbit loss 101%", &["above 100 %"]);
    path_refused("rate 5mbit loss 1.5", &["above 100 %", "`1.5%`"]);
    path_refused("rate -5mbit", &["negative"]);
    path_refused("rate nan", &["not a number"]);
    path_refused("rate 99999999999999999999gbit", &["too large"]);
}

#[test]
fn path_that_is_never_up_is_refused() {
    path_refused("rate 5mbit down @0s", &["path `p` is never up"]);
    path_refused("rate 5mbit silent @0s..601s", &["path `p` is never up"]);
    path_refused("rate 5mbit loss 100%", &["never up"]);
    path_refused("rate 5mbit down", &["without a time"]);
}

#[test]
fn contradictory_options_are_refused() {
    path_refused("rate 5mbit rate 6mbit", &["given twice"]);
    path_refused(
        "rate 5mbit trace data/links/lte-ghent/report_bus_0001.json",
        &["`rate` and `trace` both set the capacity"],
    );
    refused(
        &["--path", "wlan", "--path", "wlan", "--traffic", "video"],
        &["two paths have the name `wlan`"],
    );
    let video = ["--path", "wlan", "--traffic", "video"];
    refused(&[&video[..], &["--baseline", "tcp/3g/cubic"]].concat(), &["unknown variant"]);
    refused(&[&video[..], &["--first", "3g"]].concat(), &["unknown path `3g`"]);
    refused(&[&video[..], &["--quiet", "--verbose"]].concat(), &["cannot be used with"]);
    refused(&[&video[..], &["--cc", "lia"]].concat(), &["no congestion control remains"]);
    refused(&[&video[..], &["--schedulers", "lrf"]].concat(), &["add `mptcp`"]);
    refused(&[&video[..], &["--runs", "0"]].concat(), &["from 1 to"]);
    refused(&[&video[..], &["--jobs", "0"]].concat(), &["from 1 to"]);
    refused(&[&video[..], &["--buffers", "4M/6MiB"]].concat(), &["two readings"]);
}

#[test]
fn what_is_not_available_yet_says_so() {
    refused(
        &["--path", "wlan", "--traffic", "video", "--cc", "bbr"],
        &["the congestion control `bbr` is not available yet", "available are: reno, cubic"],
    );
}

#[test]
fn unreadable_and_empty_traces_are_refused() {
    let scratch = Scratch::new("traces");
    path_refused("trace no/such/file", &["no/such/file", "cannot be read", "^^^^"]);
    path_refused("trace data", &["`data` cannot be read"]);
    let empty = scratch.file("empty.down", "");
    path_refused(&format!("trace {empty}"), &["is empty"]);
    let silent = scratch.file("silent.json", "[{\"duration_ms\": 1000, \"bandwidth_kbps\": 0}]");
    path_refused(&format!("trace {silent}"), &["every rate is zero"]);
    let ping = scratch.file("ping", "64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=12 ms\n");
    path_refused(&format!("trace {ping}"), &["ping output"]);
    let noise = scratch.file("noise", "\u{1b}[31m \u{0} hello\n");
    path_refused(&format!("trace {noise}"), &["noise"]);
    let columns = scratch.file("columns", "1 2\n2 3\n");
    path_refused(&format!("trace {columns} unit=mbti"), &["unknown unit `mbti`", "`mbit`"]);
}

#[test]
fn wrong_scenario_files_are_refused_with_file_and_line() {
    file_refused(
        "unknown-key",
        "traffic = \"video\"\nrusn = 3\n[path]\nwlan = \"profile wlan\"\n",
        &["study.toml:2:1", "unknown key `rusn`", "did you mean `runs`", "2 | rusn = 3"],
    );
    file_refused(
        "unit",
        "traffic = \"video\"\n[path]\nwlan = \"rate 25mbps\"\n",
        &["study.toml:3:14", "megabyte per second in tc"],
    );
    file_refused("syntax", "traffic = \n", &["study.toml:1:", "not TOML"]);
    file_refused("nothing", "", &["no path is given"]);
    refused(&["no/such/scenario.toml"], &["no/such/scenario.toml", "cannot be read"]);
    refused(&["."], &["cannot be read"]);
}

#[test]
fn folder_that_cannot_be_written_is_refused_before_the_runs() {
    let scratch = Scratch::new("unwritable");
    let file = scratch.file("file", "in the way");
    for option in ["--out", "--pcap"] {
        refused(&["--path", "3g", "--traffic", "bulk:64KiB", option, &file], &["cannot write to"]);
    }
}

#[test]
fn control_characters_of_a_scenario_do_not_reach_the_terminal() {
    let scratch = Scratch::new("controls");
    scratch.file("a\u{1b}[2J.csv", "0,512000\n1,600000\n");
    let title = "title = \"t\\u001b[31m\"\ntraffic = \"bulk:16KiB\"\nruns = 1\n";
    let file =
        scratch.file("study.toml", &format!("{title}[path.a]\ntrace = \"a\\u001b[2J.csv\"\n"));
    for verb in ["compare", "run"] {
        for more in [&[][..], &["--json"]] {
            let output = anabranch(&[&[verb, &file], more].concat());
            let said = stdout(&output) + &stderr(&output);
            assert!(output.status.success() && said.contains("[2J.csv"), "{said}");
            assert!(!said.contains('\u{1b}'), "{said}");
        }
    }
}

#[test]
fn hostile_arguments_never_panic() {
    let long = "9".repeat(100_000);
    let strange =
        ["", "=", "'", "\u{1b}[2J", "a=b=c", "p=@", "p=\"", "ä=ö", "p=rate 5mbit @", &long];
    for text in strange {
        for option in ["--path", "--traffic", "--cc", "--buffers", "--nic", "--seed", "--baseline"]
        {
            let arguments = ["compare", "--path", "3g", "--traffic", "bulk:1kB", option, text];
            let output = anabranch(&arguments);
            let message = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{option} {text:.20}: {message}");
            assert!(!message.contains("panicked") && !message.contains('\u{1b}'), "{message}");
            assert!(message.len() < 4000, "{option}: a message of {} bytes", message.len());
        }
    }
}
