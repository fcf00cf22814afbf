//! Conversations from captures: one connection of TCP, MPTCP or SCTP, or one UDP conversation.
//!
//! Bytes that are sent again count once. At one end of the connection the answers of the other end
//! have taken a round trip longer than its think time: the smallest round-trip time is subtracted
//! from those, so that the path of the simulation takes its place.

use super::table::MOST_MESSAGES;
use crate::analyze::{
    Analysis, Connection, Datagrams, SentAt, Vantage, analyze_sequences, datagrams,
};
use crate::traffic_source::Fault;
use base::{Duration, Instant};
use sha2::{Digest, Sha256};
use std::io::Read;
use traffic::Role;
use traffic::model::conversation::{Timing, Turn};
use wire::CaptureReader;

/// Largest capture, in bytes.
const LARGEST: u64 = 1 << 30;
/// Most packets: each takes about 330 bytes of memory until the messages are known.
const MOST_PACKETS: usize = 4_000_000;
/// A longer gap ends a message.
const GAP: Duration = Duration::from_millis(5);

/// The flow of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// The one with the most payload.
    Largest,
    /// The connection with this number, from 1, as `analyze` counts them.
    Connection(usize),
    /// The UDP conversation with the most payload.
    Udp,
}

/// A conversation of a capture.
#[derive(Debug)]
pub(super) struct Recorded {
    pub turns: Vec<Turn>,
    pub timing: Timing,
    /// SHA-256 of the file.
    pub digest: [u8; 32],
    pub notes: Vec<String>,
}

/// The name of the file in `pcap:VALUE`, and the flow.
pub(super) fn split(value: &str) -> (&str, Wanted) {
    match value.rsplit_once(':') {
        Some((file, "udp")) => (file, Wanted::Udp),
        Some((file, number)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            (file, Wanted::Connection(number.parse().unwrap_or(usize::MAX)))
        }
        _ => (value, Wanted::Largest),
    }
}

/// Reads a capture.
pub(super) fn read(source: impl Read, wanted: Wanted) -> Result<Recorded, Fault> {
    read_at_most(MOST_PACKETS, source, wanted)
}

/// Reads a capture of at most so many packets.
pub(super) fn read_at_most(
    most: usize,
    source: impl Read,
    wanted: Wanted,
) -> Result<Recorded, Fault> {
    let mut bytes = Vec::new();
    source
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| (format!("cannot be read: {error}"), "check the file".to_owned()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(fault("the file has more than 1 GiB", "cut a part out: `editcap -A -B`"));
    }
    let no_capture = |damage| (format!("{damage}"), "give a pcap or pcapng file".to_owned());
    let packets = CaptureReader::new(&bytes).map_err(no_capture)?;
    if packets.take(most + 1).count() > most {
        let help = "cut a part out, or leave other flows out: `editcap -A -B`, `tshark -Y`";
        return Err(fault(format!("the file has more than {most} packets"), help));
    }
    let analysis = analyze_sequences(&bytes).map_err(no_capture)?;
    let udp = datagrams(&bytes).map_err(no_capture)?;
    // Such as the cut end of a file whose writer was killed.
    let unread = analysis.notes.join("; ");
    let (mut turns, timing, mut notes) = chosen(&analysis, udp, wanted).map_err(|fault| {
        if unread.is_empty() { fault } else { (format!("{} ({unread})", fault.0), fault.1) }
    })?;
    notes.extend(analysis.notes.into_iter().filter(|note| note.starts_with(DAMAGED)));
    let start = turns.first().map_or(Duration::ZERO, |turn| turn.start);
    for turn in &mut turns {
        (turn.start, turn.end) = (turn.start - start, turn.end - start);
    }
    Ok(Recorded { turns, timing, digest: Sha256::digest(&bytes).into(), notes })
}

/// What the note on a damaged file begins with.
const DAMAGED: &str = "the file is damaged";

fn fault(problem: impl Into<String>, help: &str) -> Fault {
    (problem.into(), help.to_owned())
}

type Chosen = (Vec<Turn>, Timing, Vec<String>);

fn chosen(analysis: &Analysis, udp: Option<Datagrams>, wanted: Wanted) -> Result<Chosen, Fault> {
    let payload = |one: &Connection| one.first_bytes(false) + one.first_bytes(true);
    let all = &analysis.connections;
    // The first of equal ones.
    let largest = all.iter().enumerate().rev().max_by_key(|(_, one)| payload(one));
    let largest = largest.map(|(index, one)| (one, index + 1));
    let of_udp = udp.as_ref().map_or(0, |udp| udp.bytes);
    let found = match wanted {
        Wanted::Udp => None,
        Wanted::Largest => largest.filter(|(one, _)| payload(one) > of_udp),
        Wanted::Connection(number) => {
            let found = number.checked_sub(1).and_then(|index| all.get(index));
            Some(found.map(|one| (one, number)).ok_or_else(|| {
                let problem = format!("has no connection {number}, but {}", all.len());
                fault(problem, "see `anabranch analyze FILE`; `:udp` is the UDP conversation")
            })?)
        }
    };
    match (found, udp) {
        (Some((one, number)), _) if payload(one) > 0 => of_connection(one, number),
        (Some((_, number)), _) => {
            Err(fault(format!("connection {number} carries no data"), "name another one"))
        }
        (None, Some(udp)) => of_datagrams(&udp),
        (None, None) if wanted == Wanted::Udp => {
            Err(fault("has no UDP datagrams", "leave `:udp` out, or give another capture"))
        }
        (None, None) => {
            let help = "capture the whole connection: `tcpdump -w FILE`";
            Err(fault("has no data of TCP, SCTP or UDP", help))
        }
    }
}

fn of_datagrams(udp: &Datagrams) -> Result<Chosen, Fault> {
    if udp.sent.len() > MOST_MESSAGES {
        return Err(too_many());
    }
    let turn = |&(time, up, bytes): &(Instant, bool, u64)| {
        let from = if up { Role::Client } else { Role::Server };
        let start = time - Instant::ZERO;
        Turn { from, start, end: start, bytes }
    };
    let note = format!("UDP, {} to {}: each datagram at its time", udp.client, udp.server);
    let notes = [note].into_iter().chain(udp.copies.clone()).collect();
    Ok((udp.sent.iter().map(turn).collect(), Timing::Paced, notes))
}

fn of_connection(one: &Connection, number: usize) -> Result<Chosen, Fault> {
    let of = |down: bool| {
        let from = if down { Role::Server } else { Role::Client };
        // Also a retransmission may have bytes that were lost before the point of capture.
        let new = |sent: &&SentAt| sent.fresh > 0;
        one.sequence(down).sent.iter().filter(new).map(move |sent| (sent.time, from, sent.fresh))
    };
    let mut sent: Vec<(f64, Role, u64)> = of(false).chain(of(true)).collect();
    sent.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut turns: Vec<Turn> = Vec::new();
    for (time, from, bytes) in sent {
        let at = Duration::from_secs_f64(time);
        match turns.last_mut() {
            Some(last) if last.from == from && at.saturating_sub(last.end) < GAP => {
                (last.end, last.bytes) = (at, last.bytes + bytes);
            }
            _ => turns.push(Turn { from, start: at, end: at, bytes }),
        }
    }
    if turns.len() > MOST_MESSAGES {
        return Err(too_many());
    }
    let mut notes = vec![format!("connection {number}, {} to {}", one.client, one.server)];
    if one.missed_bytes > 0 {
        notes.push(format!("{} bytes of it are missing in the capture", one.missed_bytes));
    }
    notes.extend(without_round_trips(one, &mut turns));
    Ok((turns, Timing::Answered, notes))
}

/// Takes the round-trip time of the capture out of the think times of the far end; a note on it.
fn without_round_trips(one: &Connection, turns: &mut [Turn]) -> Option<String> {
    let (far, name) = match one.vantage {
        Vantage::Client => (Role::Server, "server"),
        Vantage::Server => (Role::Client, "client"),
        Vantage::Between | Vantage::Unknown => {
            return Some(
                "think times include round trips: the capture is not of an end".to_owned(),
            );
        }
    };
    // Acknowledgements that ride on answers come after the think time, those of the handshake at
    // once.
    let rtts = one.subflows.iter().flat_map(|subflow| {
        let of_data = subflow.flowing(far == Role::Client).rtt.map(|rtt| rtt.min);
        [of_data, subflow.handshake_rtt]
    });
    let rtt = rtts.flatten().min_by(f64::total_cmp)?;
    let rtt = Duration::from_secs_f64(rtt);
    let (mut taken, mut before) = (Duration::ZERO, None);
    for turn in turns {
        if let Some((from, end)) = before
            && from != turn.from
            && turn.from == far
        {
            taken += rtt.min(turn.start.saturating_sub(end));
        }
        before = Some((turn.from, turn.end));
        (turn.start, turn.end) = (turn.start - taken, turn.end - taken);
    }
    let ms = rtt.as_secs_f64() * 1e3;
    Some(format!("its round-trip time, {ms:.1} ms, is taken out of the think times of the {name}"))
}

fn too_many() -> Fault {
    let problem = format!("has more than {MOST_MESSAGES} messages");
    fault(problem, "cut a part out of the capture: `editcap -A -B`")
}
