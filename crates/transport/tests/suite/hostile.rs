//! Hostile segments: random header fields thrown at connections never panic, never put a byte
//! where it does not belong, and make nothing grow beyond what windows allow.

use crate::bare::{Bare, ISS, modern};
use crate::end::tcp_info;
use crate::pair::{Setup, Side};
use base::Duration;
use proptest::prelude::*;
use transport::{Profile, TcpConfig};
use wire::{Body, Flags, Packet, Payload, SeqNumber, TcpOptions, TcpSegment, Timestamps};

/// The fields of a segment; positions count from the peer's place in the streams.
#[derive(Clone, Debug)]
struct Fields {
    seq: i64,
    ack: i64,
    flags: u8,
    window: u16,
    len: u32,
    sack: Vec<(i64, i64)>,
    stamp: Option<(u32, u32)>,
    syn_options: bool,
    wait_ms: u64,
    own: Own,
}

/// What the application under attack does in between.
#[derive(Clone, Copy, Debug)]
enum Own {
    Nothing,
    Write(u32),
    Read,
    Shutdown,
}

/// Near the present, or anywhere.
fn position() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => Just(0i64),
        4 => -3000i64..20_000,
        2 => -70_000i64..7_000_000,
        1 => any::<i32>().prop_map(i64::from),
    ]
}

fn fields() -> impl Strategy<Value = Fields> {
    let flags = prop_oneof![
        16 => Just(Flags::ACK.0),
        2 => Just(Flags::ACK.0 | Flags::FIN.0),
        1 => any::<u8>().prop_map(|bits| bits & !Flags::RST.0),
        1 => Just(Flags::RST.0 | Flags::ACK.0),
    ];
    let stamp = prop_oneof![
        3 => Just(Some((0u32, 0u32))),
        1 => Just(None),
        1 => (any::<u32>(), any::<u32>()).prop_map(Some),
    ];
    let len = prop_oneof![2 => Just(0u32), 2 => 1u32..3000, 1 => Just(65_000u32)];
    let own = prop_oneof![
        6 => Just(Own::Nothing),
        2 => (1u32..30_000).prop_map(Own::Write),
        2 => Just(Own::Read),
        1 => Just(Own::Shutdown),
    ];
    let wait = prop_oneof![4 => Just(0u64), 3 => 1u64..50, 1 => 200u64..3000];
    let sack = prop::collection::vec((position(), position()), 0..4);
    let numbers = (position(), position(), flags, any::<u16>(), len);
    (numbers, sack, stamp, any::<bool>(), wait, own).prop_map(
        |((seq, ack, flags, window, len), sack, stamp, syn_options, wait_ms, own)| Fields {
            seq,
            ack,
            flags,
            window,
            len,
            sack,
            stamp,
            syn_options,
            wait_ms,
            own,
        },
    )
}

/// The segment that `fields` describes. Its payload is what the peer's stream has there, so that
/// a byte out of place shows.
fn segment(bare: &Bare, fields: &Fields) -> TcpSegment {
    let seq = SeqNumber(ISS.0.wrapping_add(1).wrapping_add(fields.seq as u32));
    let theirs = |position: i64| {
        let base = bare.their_iss + 1;
        SeqNumber(base.0.wrapping_add(position as u32))
    };
    let mut segment = bare.segment(Flags(fields.flags));
    segment.seq = seq;
    segment.ack = theirs(fields.ack);
    segment.window = fields.window;
    segment.payload = Payload::virtual_range(1, fields.seq as u64, fields.len);
    for (start, end) in &fields.sack {
        segment.options.sack.push(theirs(*start), theirs(*end));
    }
    segment.options.timestamps = match fields.stamp {
        Some((0, 0)) => segment.options.timestamps,
        Some((value, echo)) => Some(Timestamps { value, echo }),
        None => None,
    };
    if fields.syn_options {
        let options = TcpOptions { mss: Some(fields.window), ..segment.options };
        segment.options = TcpOptions { window_scale: Some(fields.flags), ..options };
    }
    segment
}

fn act(bare: &mut Bare, own: Own, read: &mut u64) {
    let mut cx = base::Context::quiet(bare.now, base::Chance::new(1, 0));
    match own {
        Own::Nothing => {}
        Own::Write(len) => {
            let payload = Payload::virtual_range(2, 0, len);
            let _ = bare.stack.write(&mut cx, bare.socket, &payload);
        }
        Own::Shutdown => drop(bare.stack.shutdown(&mut cx, bare.socket)),
        Own::Read => {
            while let Ok(payload) = bare.stack.read(&mut cx, bare.socket, 10_000) {
                if payload.is_empty() {
                    break;
                }
                for piece in payload.into_pieces() {
                    let expected = Payload::virtual_range(1, *read, piece.len());
                    assert_eq!(piece, expected, "bytes out of place");
                    *read += u64::from(piece.len());
                }
            }
        }
    }
}

fn attack(profile: Profile, options: TcpOptions, storm: &[Fields]) {
    let mut bare = Bare::accepted(TcpConfig { profile, ..TcpConfig::default() }, options);
    let mut read = 0;
    bare.write(30_000);
    for fields in storm {
        let answers = bare.send(segment(&bare, fields));
        assert!(answers.len() <= 2_000, "{} answers to one segment", answers.len());
        act(&mut bare, fields.own, &mut read);
        bare.drain();
        bare.wait_ms(fields.wait_ms);
        let Some(info) = tcp_info(&bare.stack, bare.socket) else { continue };
        let held = bare.stack.readable(bare.socket);
        assert!(held <= u64::from(info.receive_buffer), "{held} of {}", info.receive_buffer);
        assert!(info.bytes_acked <= info.bytes_sent + 1);
        assert!(info.rto <= Duration::from_secs(120));
    }
    act(&mut bare, Own::Read, &mut read);
    // In every case the connection ends.
    bare.abort_if_alive();
    assert!(bare.wait(Duration::from_secs(7200)).len() < 50);
}

impl Bare {
    fn abort_if_alive(&mut self) {
        if self.state() != "-" && self.state() != "CLOSED" {
            self.abort();
        }
    }
}

proptest! {
    #![proptest_config(crate::cases(192))]

    #[test]
    fn random_segments_never_panic_nor_corrupt_the_stream(
        storm in prop::collection::vec(fields(), 1..60),
        which in 0usize..5,
        plain in any::<bool>(),
    ) {
        let options = if plain { TcpOptions::default() } else { modern() };
        attack(Profile::ALL[which].0, options, &storm);
    }

    /// An attacker who does not see the connection and guesses numbers outside of its windows
    /// can neither end it nor change a byte.
    #[test]
    fn blind_attacker_changes_nothing(
        guesses in prop::collection::vec(
            (16_000_000i64..4_200_000_000, any::<u32>(), 0u8..64, any::<u16>(), 0u32..1400),
            1..40,
        ),
    ) {
        let mut pair = Setup::default().established();
        let client = pair.address(0, Side::Client);
        let server = pair.address(0, Side::Server);
        let syn = pair.log[0].segment.clone();
        let place = pair.log[1].segment.ack;
        pair.write(Side::Client, 200_000);
        for (seq, ack, flags, window, len) in guesses {
            pair.drive_for(Duration::from_millis(7));
            let forged = TcpSegment {
                src_port: syn.src_port,
                dst_port: syn.dst_port,
                seq: place + seq as u32,
                ack: SeqNumber(ack),
                flags: Flags(flags),
                window,
                payload: Payload::from(vec![0xEE; len as usize]),
                ..TcpSegment::default()
            };
            pair.inject(Side::Server, Packet::new(client, server, Body::Tcp(forged)));
        }
        pair.drive_bounded(Duration::from_secs(10));
        pair.assert_intact();
    }
}

#[test]
fn syns_that_come_to_nothing_leave_no_state_behind() {
    let mut bare = Bare::listening(TcpConfig::default());
    for port in 1..=5000u16 {
        let mut syn = bare.segment(Flags::SYN);
        syn.src_port = port;
        syn.seq = ISS;
        bare.send(syn.clone());
        let mut reset = bare.segment(Flags::RST);
        reset.src_port = port;
        bare.send(reset);
    }
    let alive = (0..=5000).filter(|id| bare.stack.info(base::SocketId(*id)).is_some()).count();
    assert_eq!(alive, 0);
    // And the listener takes others.
    assert_eq!(bare.send_syn(modern()).len(), 1);
}

#[test]
fn listener_bounds_what_waits_for_the_last_acknowledgement() {
    let mut bare = Bare::listening(TcpConfig::default());
    let mut answered = 0;
    for port in 1..=5000u16 {
        let mut syn = bare.segment(Flags::SYN);
        syn.src_port = port;
        syn.seq = ISS;
        answered += bare.send(syn).len();
    }
    assert_eq!(answered, 4096, "Linux somaxconn");
}

#[test]
fn failing_connections_do_not_make_room_for_more_than_the_backlog() {
    let mut bare = Bare::listening(TcpConfig::default());
    bare.send_syn(modern());
    bare.send(bare.segment(Flags::ACK));
    let mut answered = 0;
    for port in 1..=5000u16 {
        if port == 4000 {
            // It was accepted and fails: its place was given back long ago.
            bare.send(bare.segment(Flags::RST | Flags::ACK));
        }
        let mut syn = bare.segment(Flags::SYN);
        syn.src_port = port;
        syn.seq = ISS;
        answered += bare.send(syn).len();
    }
    assert_eq!(answered, 4096);
}
