//! Output of `validate` for a small artificial set with artificial runs of a kernel.

use super::Session;

const SET: &str = r#"title = "Made up"
series = "kernel.json"
stacks = "kernel-tcp"
runs = 4

[[scenario]]
name = "clean"
traffic = "bulk:64KiB"
path.a = "rate 10mbit delay 10ms limit 100p"
"#;

const LOSSY: &str = r#"
[[scenario]]
name = "lossy"
traffic = "bulk:16KiB"
path.a = "rate 10mbit delay 10ms loss 2% limit 100p"
"#;

/// 2 x 2 combinations, three of them drawn.
const GRID: &str = r#"title = "Drawn"
series = "kernel.json"
stacks = "kernel-tcp"
runs = 2
[draw]
cells = 3
seed = 1
least = 1
[[axis]]
name = "delay"
[[axis.value]]
name = "near"
path.a = "rate 10mbit delay 10ms limit 100p"
[[axis.value]]
name = "far"
path.a = "rate 10mbit delay 50ms limit 100p"
[[axis]]
name = "traffic"
[[axis.value]]
name = "little"
traffic = "bulk:64KiB"
[[axis.value]]
name = "much"
traffic = "bulk:1MiB"
"#;

/// A set of the combinations that `GRID` leaves.
const REST: &str = "title = \"Rest\"\nseries = \"kernel.json\"\ngrid = \"set.toml\"\n";

/// The recorded runs of a scenario over the path `a`, as `validate --record` writes them.
fn recorded(name: &str, bulk: &str, path: &str, variant: &str, values: &[&str]) -> String {
    let runs = values.iter().enumerate();
    let runs = runs.map(|(n, value)| format!("{{\"number\":{n}{value}}}")).collect::<Vec<_>>();
    format!(
        "{{\"name\":\"{name}\",\"conditions\":{{\"buffers\":\"4MiB/6MiB\",\"first\":\"a\",\
         \"nic\":\"1gbit\",\"path.a\":\"{path}\",\"reverse\":\"false\",\"seed\":\"1\",\
         \"traffic\":\"{bulk}\"}},\"variants\":[{{\"name\":\"{variant}\",\"cc\":\"cubic\",\
         \"metric\":\"completion_time\",\"unit\":\"s\",\"runs\":[{}]}}]}}",
        runs.join(",")
    )
}

fn clean(values: &[&str]) -> String {
    let path = "rate 10mbit delay 10ms limit 100p";
    recorded("clean", "bulk:64KiB", path, "kernel-tcp/a/cubic", values)
}

fn lossy() -> String {
    let path = "rate 10mbit delay 10ms loss 2% limit 100p";
    // Runs with a time-out and runs without one.
    let times = ["0.05", "0.04", "0.3", "0.045", "0.31", "0.305", "0.047", "0.042"];
    let values = times.map(|time| format!(",\"value\":{time}"));
    let values = values.each_ref().map(String::as_str);
    recorded("lossy", "bulk:16KiB", path, "kernel-tcp/a/cubic", &values)
}

fn series(scenarios: &[String]) -> String {
    format!(
        "{{\"schema\":1,\"machine\":{{\"kernel\":\"Linux 6.18.44 x86_64\",\"hardware\":\"a \
         processor, 2 cores, 4 GiB\",\"recorded\":\"2026-11-20\",\"command\":\"anabranch validate \
         --record set.toml\",\"version\":\"0.1.0\",\"settings\":{{\"net.ipv4.tcp_sack\":\"1\"}},\
         \"emulator\":[\"clean: delay +0.118 ms\"]}},\"scenarios\":[{}]}}",
        scenarios.join(",")
    )
}

/// Four runs with durations near `seconds`.
fn near(seconds: f64) -> Vec<String> {
    let values = [0.999, 1.0, 1.0, 1.001].map(|factor| factor * seconds);
    values.map(|value| format!(",\"value\":{value:.6}")).to_vec()
}

fn clean_near(seconds: f64) -> String {
    let values = near(seconds);
    clean(&values.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn kernels_runs_beside_ours() {
    let mut session = Session::new("validate");
    session.file("set.toml", format!("{SET}{LOSSY}"));
    session.file("kernel.json", series(&[clean_near(0.132), lossy()]));
    session.call(&["validate", "set.toml"]);
    session.call(&["validate", "set.toml", "--check", "--only", "clean"]);
    session.call(&["validate", "set.toml", "--quiet", "--only", "lossy"]);
    session.call(&["validate", "set.toml", "--only", "clean", "--json"]);
    session.call(&["validate", "set.toml", "--write", "page.md"]);
    session.text.push_str("page.md:\n");
    let page = std::fs::read_to_string(session.scratch.0.join("page.md")).expect("the page");
    session.text.push_str(&page);
    session.file("file", "in the way");
    session.call(&["validate", "set.toml", "--only", "clean", "--write", "file/page.md"]);
    session.call(&["validate", "set.toml", "--only", "clean", "--write", "page.svg"]);
    // Regression: files of others were overwritten.
    for (name, page) in [("mine.md", "mine.md"), ("figure.svg", "figure.md")] {
        session.file(name, "mine");
        session.call(&["validate", "set.toml", "--only", "clean", "--write", page]);
        let kept = std::fs::read_to_string(session.scratch.0.join(name)).expect("a file");
        assert_eq!(kept, "mine");
        for force in [&["--force"][..], &[]] {
            let call = ["validate", "set.toml", "--only", "clean", "--quiet", "--write", page];
            session.call(&[&call[..], force].concat());
        }
        assert_ne!(std::fs::read_to_string(session.scratch.0.join(name)).expect("a file"), "mine");
    }
    session.end();
}

/// Two paths, alone and together: the kernel gains nothing from the second one, the simulator does.
#[test]
fn distributions_and_decisions_of_several_paths() {
    let mut session = Session::new("validate-distributions");
    let several = "title = \"Several\"\nseries = \"kernel.json\"\nruns = 4\ncc = \"reno\"\n\
                   traffic = \"bulk:1MiB\"\npath.a = \"rate 10mbit delay 10ms limit 100p\"\n\
                   path.b = \"rate 10mbit delay 10ms limit 100p\"\n";
    let names: String = ["one", "two", "three", "four", "five"]
        .map(|n| format!("[[scenario]]\nname = \"{n}\"\n"))
        .concat();
    session.file("set.toml", format!("{several}{names}"));
    let variant = |name: &str, bytes: &str, factor: f64| {
        let runs = [0.94, 0.941, 0.942, 0.943].map(|seconds| {
            format!(
                "{{\"number\":0,\"value\":{:.3},\"path_bytes\":[{bytes}],\"ended\":1.0,\
                 \"retransmitted_segs\":3,\"reinjected_bytes\":1420,\
                 \"limited_us\":[[900000,250000,0],[900000,250000,1000]]}}",
                seconds * factor
            )
        });
        format!(
            "{{\"name\":\"{name}\",\"cc\":\"reno\",\"metric\":\"completion_time\",\"unit\":\"s\",\
             \"runs\":[{}]}}",
            runs.join(",")
        )
    };
    let variants = [
        variant("kernel-tcp/a/reno", "1048576,0", 1.0),
        variant("kernel-tcp/b/reno", "0,1048576", 1.0),
        variant("kernel-mptcp/default/reno", "900000,148576", 1.0),
    ];
    let path = "rate 10mbit delay 10ms limit 100p";
    let recorded = format!(
        "{{\"name\":\"one\",\"conditions\":{{\"buffers\":\"4MiB/6MiB\",\"first\":\"a\",\
         \"nic\":\"1gbit\",\"path.a\":\"{path}\",\"path.b\":\"{path}\",\"reverse\":\"false\",\
         \"seed\":\"1\",\"traffic\":\"bulk:1MiB\"}},\"variants\":[{}]}}",
        variants.join(",")
    );
    session.file("kernel.json", series(&[recorded]));
    session.call(&["validate", "set.toml"]);
    session.call(&["validate", "set.toml", "--write", "page.md", "--json"]);
    let page = std::fs::read_to_string(session.scratch.0.join("page.md")).expect("the page");
    session.text.push_str(&page);
    session.end();
}

#[test]
fn sets_that_are_drawn() {
    let mut session = Session::new("validate-drawn");
    session.file("set.toml", GRID);
    session.file("rest.toml", REST);
    session.file("kernel.json", series(&[]));
    session.call(&["validate", "set.toml"]);
    session.call(&["validate", "rest.toml"]);
    session.call(&["validate", "rest.toml", "--only", "near"]);
    session.end();
}

#[test]
fn draws_that_are_refused() {
    let mut session = Session::new("validate-drawn-refused");
    let refused = |session: &mut Session, name: &str, text: &str, change: &str| {
        session.file(name, text);
        session.text.push_str(&format!("{name}: {change}\n"));
        session.call(&["validate", name]);
    };
    for (from, to) in [
        ("cells = 3", "cells = 5"),
        ("least = 1", "least = 2"),
        ("cells = 3\n", ""),
        ("least = 1", "most = 1"),
        ("seed = 1", "seed = -1"),
        ("[draw]\ncells = 3\nseed = 1\nleast = 1", "draw = 3"),
        ("name = \"far\"", "name = \"near\""),
        ("name = \"delay\"\n", ""),
        ("name = \"near\"\n", ""),
    ] {
        let [from_shown, to_shown] = [from, to].map(|text| text.trim_end().replace('\n', "; "));
        let change = match to_shown.as_str() {
            "" => format!("without `{from_shown}`"),
            to_shown => format!("`{to_shown}` instead of `{from_shown}`"),
        };
        refused(&mut session, "set.toml", &GRID.replacen(from, to, 1), &change);
    }
    let empty = format!("{GRID}[[axis]]\nname = \"cc\"\n");
    refused(&mut session, "set.toml", &empty, "an axis without values");
    let values: String = (0..317).map(|n| format!("[[axis.value]]\nname = \"{n}\"\n")).collect();
    let axis = |name| format!("[[axis]]\nname = \"{name}\"\n{values}");
    let many = format!("{GRID}{}{}", axis("x"), axis("y"));
    refused(&mut session, "set.toml", &many, "two axes with 317 values");
    refused(&mut session, "set.toml", "series = \"x\"\n[draw]\ncells = 2\n", "no axes");
    session.file("set.toml", GRID);
    session.file("listed.toml", SET);
    let all = GRID.replace("[draw]\ncells = 3\nseed = 1\nleast = 1\n", "");
    session.file("all.toml", all);
    session.file("second.toml", REST);
    for other in ["no.toml", "listed.toml", "all.toml", "second.toml"] {
        let change = format!("grid = \"{other}\"");
        refused(&mut session, "rest.toml", &REST.replace("set.toml", other), &change);
    }
    let both = format!("{REST}[[axis]]\nname = \"cc\"\n");
    refused(&mut session, "rest.toml", &both, "with an axis of its own");
    session.end();
}

#[test]
fn runs_that_do_not_count() {
    let mut session = Session::new("validate-left-out");
    let untitled = SET.replace("title = \"Made up\"\n", "");
    session.file("set.toml", format!("{untitled}{LOSSY}"));
    // A time that differs much from the simulator's.
    session.file("kernel.json", series(&[clean_near(0.5)]));
    session.call(&["validate", "set.toml", "--check"]);
    let half = [",\"value\":0.1", ",\"value\":0.2"];
    session.file("kernel.json", series(&[clean(&half), lossy()]));
    session.call(&["validate", "set.toml", "--check"]);
    let invalid = [",\"value\":0.1,\"disturbed\":3,\"invalid\":\"too late\"", ""];
    session.file("kernel.json", series(&[clean(&invalid)]));
    session.call(&["validate", "set.toml"]);
    session.file("kernel.json", series(&[clean(&half).replace("/a/", "/b/")]));
    session.call(&["validate", "set.toml", "--only", "clean"]);
    session.file("kernel.json", series(&[clean(&half).replace("delay 10ms", "delay 11ms")]));
    session.call(&["validate", "set.toml", "--write", "page.md"]);
    let page = std::fs::read_to_string(session.scratch.0.join("page.md")).expect("the page");
    session.text.push_str(&page);
    session.file(
        "set.toml",
        SET.replace("bulk:64KiB", "bulk:1MiB").replace("10ms", "10ms silent @50ms"),
    );
    let stuck = clean(&half).replace("bulk:64KiB", "bulk:1MiB");
    session.file("kernel.json", series(&[stuck.replace("100p", "100p silent @50ms")]));
    session.call(&["validate", "set.toml"]);
    session.end();
}

#[test]
fn sets_and_recordings_that_are_refused() {
    let mut session = Session::new("validate-refused");
    session.call(&["validate"]);
    session.call(&["validate", "no-such.toml"]);
    let entry = "[[scenario]]\nname = \"a\"\n";
    for text in [
        "series = \"x\"\n",
        entry,
        "series = \"x\"\nscenario = 3\n",
        "series = \"x\"\n[[scenario]]\ntraffic = \"bulk:1MiB\"\n",
        "series = \"x\"\nstacks = \"tcp\"\n[[scenario]]\nname = \"a\"\n",
        "series = \"x\"\n[[scenario]]\nname = \"a b\"\npath.a = \"profile wlan\"\n",
        "series = \"x\"\n[[scenario]]\nname = \"\"\n",
        "series = \"x\"\n[[scenario]]\nnaem = \"a\"\n",
        "series = \"x\"\n[[scenario]]\nname = \"a\"\n",
        "series = \"x\"\n[[scenario]]\nname = \"a\"\npath.a = \"rate 5mbit\"\n",
        &SET.replace("name", "judged-by = \"eye\"\nname"),
        &SET.replace("name", "start = \"2s\"\nname"),
        &format!("{SET}{}", LOSSY.replace("lossy", "clean")),
        &format!("most-runs = \"many\"\n{SET}"),
    ] {
        session.file("set.toml", text);
        let shown = text.lines().map(|line| format!("set.toml: {line}\n"));
        session.text.push_str(&shown.collect::<String>());
        session.call(&["validate", "set.toml"]);
    }
    session.file("set.toml", SET);
    session.call(&["validate", "set.toml", "--only", "claen"]);
    session.call(&["validate", "set.toml"]);
    for text in
        ["", "{}", "{\"schema\":7}", "{\"schema\":1}", &series(&[clean(&[",\"value\":-1"])])]
    {
        session.file("kernel.json", text);
        session.call(&["validate", "set.toml"]);
    }
    session.end();
}
