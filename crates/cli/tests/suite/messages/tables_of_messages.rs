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
    for traffic in ["game", "pcap", "game:aoc4", "game:", "table:no-such.csv", "table:."] {
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

/// What models without a file print: headings, notes and numbers.
#[test]
fn generated_traffic() {
    let mut session = Session::new("generated");
    for traffic in [
        "video:2s:2mbit:deadline=100ms:skip=500ms",
        "video:2s:message=1452",
        "video:adaptive:5s",
        "call:5s",
        "onoff:1mbit:5s",
        "udp:1mbit:5s",
        "maps:10s",
        "vod:netflix-ipad:30s",
        "vod:dash:20s",
    ] {
        call(&mut session, traffic);
    }
    session.end();
}

/// A pcap file of raw IP with UDP datagrams, cut to their headers, those of port 7 from host 1:
/// source port, payload.
fn udp(datagrams: &[(u16, u16)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4, 4 << 16 | 2, 0, 0, 65_535, 101] {
        file.extend(u32::to_be_bytes(word));
    }
    for (at, (port, len)) in datagrams.iter().enumerate() {
        let whole = 28 + len;
        for word in [at as u32, 0, 28, u32::from(whole)] {
            file.extend(word.to_be_bytes());
        }
        let [high, low] = whole.to_be_bytes();
        let [from, to] = if *port == 7 { [1, 2] } else { [2, 1] };
        file.extend([0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0]);
        file.extend([10, 0, 0, from, 10, 0, 0, to]);
        file.extend([*port, 16 - port, 8 + len, 0].iter().flat_map(|word| word.to_be_bytes()));
    }
    file
}

#[test]
fn captures_as_traffic() {
    let mut session = Session::new("messages-captures");
    session.file("call.pcap", udp(&[(7, 100), (9, 300)]));
    session.file("empty.pcap", udp(&[]));
    let mut capture = crate::sctp_capture::capture();
    session.file("sctp.pcapng", &capture);
    capture.truncate(20);
    session.file("cut.pcapng", capture);
    session.file("words.pcap", "time,direction,size");
    for of in ["call.pcap", "call.pcap:1", "sctp.pcapng:udp", "sctp.pcapng", "sctp.pcapng:1"] {
        call(&mut session, &format!("pcap:{of}"));
    }
    for of in ["empty.pcap", "cut.pcapng", "words.pcap", "no-such.pcap"] {
        call(&mut session, &format!("pcap:{of}"));
    }
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
