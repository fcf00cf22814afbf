//! Games and tables of messages: notes, and errors.

use super::Session;

const LINK: &str = "home=rate 10mbit delay 20ms limit 100p";

fn call(session: &mut Session, traffic: &str) {
    session.call(&["compare", "--path", LINK, "--runs", "1", "--traffic", traffic]);
}

fn table(session: &mut Session, name: &str, content: impl AsRef<[u8]>) {
    session.file(name, content);
    call(session, &format!("table:{name}"));
}

#[test]
fn files_that_are_no_tables_of_messages() {
    let mut session = Session::new("messages-refused");
    for traffic in ["game", "table", "game:aoc4", "game:", "table:no-such.csv", "table:."] {
        call(&mut session, traffic);
    }
    table(&mut session, "empty.csv", "");
    table(&mut session, "binary.csv", b"\xff\xfe\0");
    table(&mut session, "long.csv", "x".repeat(5000));
    table(&mut session, "two.csv", "1,up\n");
    table(&mut session, "short.csv", "1,up,5\n2,up\n");
    table(&mut session, "no-time.csv", "direction,size\nup,5\n");
    table(&mut session, "no-size.csv", "time,direction\n1,up\n");
    table(&mut session, "no-way.csv", "time,size\n1,5\n");
    table(&mut session, "back.csv", "1,up,5\n0.5,up,5\n");
    table(&mut session, "negative.csv", "1,up,-5\n");
    table(&mut session, "left.csv", "1,left,5\n");
    table(&mut session, "soon.csv", "1,up,5\nsoon,up,5\n");
    table(&mut session, "day.csv", "0,up,5\n90000,up,5\n");
    table(&mut session, "gap.csv", "gap_s,message_bytes\n-1,5\n");
    table(&mut session, "many.csv", "1,up,5\n".repeat(1_000_001));
    session.end();
}

#[test]
fn notes_on_tables_and_games() {
    let mut session = Session::new("messages-notes");
    let packets = "time,dir,flow,payload_bytes\n0,up,a,9\n0.1,down,a,1448\n20,up,b,9\n";
    table(&mut session, "packets.csv", packets);
    call(&mut session, "game:packets.csv");
    call(&mut session, "table:packets.csv:paced");
    call(&mut session, "game:aoc-3");
    let flow = ["--flow", "x=tcp on home traffic game:aoc-1"];
    session.call(&[&["compare", "--path", LINK, "--traffic", "bulk:1MiB"], &flow[..]].concat());
    session.end();
}
