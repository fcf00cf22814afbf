//! Shared links and competing flows: output and errors.

use super::Session;

/// Two paths through one link, with further options.
fn call(session: &mut Session, more: &[&str]) {
    let mut arguments = vec!["compare", "--path", "a=delay 5ms via core"];
    arguments.extend([
        "--path",
        "b=delay 5ms via core",
        "--link",
        "core=rate 10mbit delay 10ms limit 50p",
    ]);
    arguments.extend(["--traffic", "bulk:10s", "--protocols", "tcp,mptcp", "--runs", "2"]);
    arguments.extend(more);
    session.call(&arguments);
}

#[test]
fn competing_connections_have_a_table_of_their_own() {
    let mut session = Session::new("flows");
    let beside = "beside=tcp on a cc reno start 0s..1s";
    call(&mut session, &["--flow", beside, "--warm-up", "2s", "--start", "0s..1s", "--quiet"]);
    let several = "crowd=on a,b cc lia scheduler rr start 500ms count 2 delay 10ms reverse";
    let short = "short=tcp on b traffic bulk:64KiB";
    call(&mut session, &["--flow", several, "--flow", short, "--cc", "reno", "--quiet"]);
    let over = ["--traffic", "bulk:64KiB", "--runs", "2", "--warm-up", "2s", "--quiet"];
    let alone = ["compare", "--path", "a=rate 10mbit delay 5ms", "--flow", "x=tcp on a"];
    session.call(&[&alone[..], &over].concat());
    let never = ["compare", "--path", "a=rate 10mbit delay 5ms", "--flow", "x=on a start 9s"];
    session.call(&[&never[..], &["--traffic", "bulk:64KiB", "--runs", "2", "--quiet"]].concat());
    let late = ["compare", "--path", "a=rate 10mbit delay 5ms silent @2s..3s reset @9s"];
    let rules = ["--traffic", "video:5s", "--runs", "2", "--failover", "rto,probe"];
    let lte = ["--path", "b=rate 10mbit delay 9ms", "--protocols", "mptcp"];
    session.call(&[&late[..], &rules, &lte].concat());
    session.end();
}

#[test]
fn flows_that_make_no_sense() {
    let mut session = Session::new("flows-refused");
    for flow in [
        "tcp on a",
        "two words=tcp on a",
        "x=",
        "x=tcp",
        "x=tcp on",
        "x=tcp on c",
        "x=tcp on a,b",
        "x=tcp mptcp on a",
        "x=tcp on a on b",
        "x=mptcp on a,a",
        "x=tcp on a cc olia",
        "x=tcp on a cc rneo",
        "x=tcp on a scheduler lrf",
        "x=mptcp on a scheduler lfr",
        "x=tcp on a start 10s",
        "x=tcp on a start 2s..1s",
        "x=tcp on a start soon",
        "x=tcp on a delay 700s",
        "x=tcp on a traffic web:wikipedia",
        "x=tcp on a traffic vod:netflix",
        "x=tcp on a traffic call",
        "x=tcp on a traffic bulk:4M",
        "x=tcp on a count 0",
        "x=tcp on a count 1001",
        "x=tcp on a cuont 2",
        "x=udp on a",
        "x=udp on a,b traffic udp:1mbit",
        "x=udp on a cc reno traffic udp:1mbit",
        "x=udp on a scheduler lrf traffic udp:1mbit",
        "x=udp on a traffic udp:1mbit buffers 1MiB/1MiB",
        "x=tcp on a buffers 1MiB",
        "x=udp on a traffic bulk:4MiB",
        "x=udp on a traffic video:60s:40mbit",
    ] {
        call(&mut session, &["--flow", flow]);
    }
    call(&mut session, &["--flow", "x=on a count 2", "--flow", "x-1=on a"]);
    call(&mut session, &["--flow", "x=on a count 600", "--flow", "y=on a count 600"]);
    for warm_up in ["10s", "soon"] {
        call(&mut session, &["--warm-up", warm_up]);
    }
    call(&mut session, &["--start", "595s", "--deadline", "600s"]);
    call(&mut session, &["--deadline", "0s"]);
    session.call(&["compare", "--path", "3g", "--traffic", "bulk:1MiB", "--start", "700s"]);
    session.call(&["compare", "--path", "3g", "--traffic", "video", "--warm-up", "2s"]);
    let nine: Vec<String> = (0..9).map(|n| format!("p{n}=rate 1mbit")).collect();
    let mut arguments = vec!["compare", "--traffic", "bulk:1s", "--protocols", "tcp"];
    arguments.extend(nine.iter().flat_map(|path| ["--path", path.as_str()]));
    arguments.extend(["--flow", "x=mptcp on p0,p1,p2,p3,p4,p5,p6,p7,p8"]);
    session.call(&arguments);
    let mut arguments = vec!["compare", "--traffic", "bulk:1s"];
    arguments.extend(nine.iter().flat_map(|path| ["--path", path.as_str()]));
    session.call(&arguments);
    session.end();
}

#[test]
fn links_that_lead_nowhere() {
    let mut session = Session::new("links-refused");
    call(&mut session, &["--link", "spare=rate 5mbit"]);
    call(&mut session, &["--link", "a=rate 5mbit"]);
    call(&mut session, &["--path", "c=via cor"]);
    for path in ["c=via core via core", "c=uplink via core", "c=delay 1ms via core limit 10p"] {
        call(&mut session, &["--path", path]);
    }
    session.call(&["compare", "--traffic", "bulk:1s", "--path", "a=via core"]);
    call(&mut session, &["--path", "c=rate 1mbit uplink client x"]);
    let ends = ["c=rate 1mbit client x server y", "d=rate 2mbit client x server y"];
    call(&mut session, &["--path", ends[0], "--path", ends[1]]);
    for link in [
        "core=rate 1mbit client x",
        "core=rate 1mbit via b",
        "core=rate 1mbit rewrite sequence",
        "core=rate 1mbit backup",
        "core=rate 1mbit reset @5s",
        "core=rate 1mbit removed @2s..3s",
    ] {
        let path = ["compare", "--traffic", "bulk:1s", "--path", "a=via core", "--link", link];
        session.call(&path);
    }
    session.end();
}

#[test]
fn primaries_that_are_none() {
    let mut session = Session::new("primary-refused");
    let paths = ["compare", "--path", "a=rate 5mbit", "--path", "b=rate 3mbit"];
    for more in [
        ["--protocols", "tcp", "--primary", "a"],
        ["--protocols", "mptcp", "--primary", "fastest-handshake"],
        ["--protocols", "cmt-sctp", "--primary", "c"],
        ["--protocols", "cmt-sctp", "--pair-rule", "both"],
    ] {
        session.call(&[&paths[..], &["--traffic", "bulk:1s"], &more].concat());
    }
    let paths = ["compare", "--path", "first=rate 5mbit", "--path", "b=rate 3mbit"];
    let more = ["--traffic", "bulk:1s", "--protocols", "mptcp", "--primary", "first"];
    session.call(&[&paths[..], &more].concat());
    session.end();
}

#[test]
fn files_with_links_and_flows() {
    let mut session = Session::new("flows-files");
    let head = "traffic = \"bulk:5s\"\n[path]\na = \"via core\"\n";
    let link = "[link]\ncore = { rate = \"5mbit\" }\n";
    for (name, rest) in [
        ("flow.toml", "[flow]\nx = 3\n"),
        ("key.toml", "[flow.x]\npath = \"a\"\nccc = \"reno\"\n"),
        ("path.toml", "[flow.x]\nprotocol = \"mptcp\"\npaths = [\"a\", \"b\"]\n"),
        ("late.toml", "[flow.x]\npath = \"a\"\nstart = \"0s..6s\"\n"),
        ("reverse.toml", "[flow.x]\npath = \"a\"\nreverse = \"yes\"\n"),
    ] {
        session.file(name, format!("{head}{link}{rest}"));
        session.call(&["compare", name]);
    }
    session.file("table.toml", "traffic = \"bulk:5s\"\nflow = 3\nlink = 4\npath.a = \"3g\"\n");
    session.call(&["compare", "table.toml"]);
    session.file("links.toml", "traffic = \"bulk:5s\"\nlink = 4\npath.a = \"profile 3g\"\n");
    session.call(&["compare", "links.toml"]);
    session.end();
}

/// UDP beside TCP, and flows of UDP and of `--background` in the tables.
#[test]
fn datagrams_and_background() {
    let mut session = Session::new("datagrams");
    let paths = ["compare", "--path", "a=rate 10mbit delay 5ms loss 1%", "--path"];
    let paths = [&paths[..], &["b=rate 2mbit delay 9ms limit 50p"]].concat();
    let sent = ["--traffic", "udp:1mbit:5s:bytes=5000", "--protocols", "tcp,mptcp,udp"];
    session.call(&[&paths[..], &sent, &["--runs", "4", "--quiet"]].concat());
    let alone = ["--traffic", "udp:1mbit:5s", "--protocols", "udp", "--runs", "4", "--quiet"];
    session.call(&[&paths[..], &alone].concat());
    let flow = ["--flow", "x=udp on b traffic onoff:1mbit:60s count 2", "--runs", "2", "--quiet"];
    session.call(&[&paths[..], &["--traffic", "video:5s"], &flow].concat());
    let background = ["--traffic", "video:5s", "--background", "--runs", "2", "--quiet"];
    session.call(&[&paths[..], &background].concat());
    session.call(&[&paths[..], &["--traffic", "bulk:1MiB", "--protocols", "tcp,udp"]].concat());
    let call = ["--traffic", "call:4s", "--protocols", "tcp,udp", "--runs", "2", "--quiet"];
    session.call(&[&paths[..], &call].concat());
    let fails = ["compare", "--path", "a=rate 8mbit delay 20ms silent @2s..300s", "--path"];
    let lost = ["b=rate 1mbit delay 30ms", "--traffic", "udp:100kbit:5s", "--protocols", "tcp,udp"];
    session.call(&[&fails[..], &lost, &["--runs", "4", "--quiet"]].concat());
    session.file("turns.csv", "0,up,60\n0.02,down,1200\n0.05,up,80\n");
    let turns = ["--traffic", "table:turns.csv", "--protocols", "udp"];
    session.call(&[&paths[..], &turns].concat());
    let paced = ["--traffic", "table:turns.csv:paced", "--protocols", "udp", "--runs", "2"];
    session.call(&[&paths[..], &paced, &["--quiet"]].concat());
    // Regression: UDP was said to be `with cubic`.
    let small = ["compare", "--path", "a=rate 1.5mbit delay 5ms limit 10p", "--runs", "4"];
    let controls = ["--traffic", "udp:2mbit:3s", "--protocols", "udp,tcp", "--cc", "reno,cubic"];
    session.call(&[&small[..], &controls, &["--quiet"]].concat());
    let streams = ["--traffic", "udp:1mbit", "--protocols", "udp", "--ssthresh", "64KiB"];
    session.call(&[&paths[..], &streams].concat());
    session.end();
}
