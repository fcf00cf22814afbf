//! Bytes arrive unchanged, in order and exactly once, whatever a path does to packets.

use crate::pair::{self, CLIENT, DOWN, SERVER, UP, connect, link, one_path, record, two_hosts};
use base::{Context, Duration, Instant};
use network::{Jitter, LinkChange, LinkConfig, LossConfig, MiddleBox};
use proptest::prelude::*;
use simulator::{Direction, NicSetup, PathEvent, ProcessingCost, RunSetup, Stopped, Until};
use std::cell::Cell;
use std::rc::Rc;
use traffic::Traffic;
use transport::{Buffers, Profile};
use wire::Packet;

/// A jitter of `millis` that lets packets overtake each other.
fn overtaking(millis: u64) -> Jitter {
    Jitter { unordered: true, ..Jitter::uniform(Duration::from_millis(millis)) }
}

/// Loses one packet and counts all.
struct LoseNth {
    nth: u64,
    seen: Rc<Cell<u64>>,
}

impl MiddleBox for LoseNth {
    fn handle(&mut self, _cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>) {
        self.seen.set(self.seen.get() + 1);
        if self.seen.get() != self.nth {
            out.push(packet);
        }
    }
}

/// Runs a transfer from handshake to close with the `nth` packet on `lossy` lost. How many packets
/// there were.
fn lose(nth: u64, lossy: base::LinkId, bytes: u64) -> u64 {
    let mut world = two_hosts(&link(10, 10), ProcessingCost::default());
    let seen = Rc::new(Cell::new(0));
    world.set_middlebox(lossy, Box::new(LoseNth { nth, seen: Rc::clone(&seen) }));
    let start = Instant::ZERO;
    connect(&mut world, [CLIENT, SERVER], 0, Traffic::BulkSize(bytes), start);
    let stopped = world.run_until(Instant::from_secs(200), |_| false).unwrap();
    let context = format!("packet {nth} of {lossy:?} lost, {bytes} bytes");
    let [client, server] =
        [CLIENT, SERVER].map(|host| world.applications(host).next().unwrap().report().clone());
    assert_eq!(client.bytes_read, bytes, "{context}: {client:?} {server:?}");
    assert_eq!((client.failure, server.failure), (None, None), "{context}");
    assert_eq!((client.mismatch, server.mismatch), (None, None), "{context}");
    let last_read = client.last_read.expect("all was read");
    assert!(last_read < Instant::from_secs(8), "{context}: {last_read}");
    assert_eq!(stopped, Stopped::Idle, "{context}: something goes on for ever");
    seen.get()
}

#[test]
fn transfer_completes_and_closes_whichever_packet_is_lost() {
    for bytes in [1, 30_000] {
        for lossy in [DOWN, UP] {
            let mut nth = 1;
            while lose(nth, lossy, bytes) >= nth {
                nth += 1;
                assert!(nth < 200, "a loss makes more packets without end");
            }
            assert!(nth > 4, "handshake, data and close are more than {nth} packets");
        }
    }
}

/// A path that does everything at once.
pub(crate) fn hostile_link() -> impl Strategy<Value = LinkConfig> {
    let loss = prop_oneof![
        Just(LossConfig::None),
        (0.0..0.08).prop_map(|p| LossConfig::Bernoulli { p }),
        (0.001..0.02).prop_map(|p| LossConfig::GilbertElliott {
            p,
            r: 0.3,
            one_minus_h: 0.7,
            one_minus_k: 0.0
        }),
    ];
    let shape = (1u64..50, 1u64..60, 0u64..20, 4u32..60);
    let chances = (0.0..0.2f64, 0.0..0.1f64, 0.0..0.05f64);
    (loss, shape, chances).prop_map(|(loss, (mbit, delay, jitter, queue), chances)| LinkConfig {
        jitter: overtaking(jitter.min(delay)),
        limit: network::Limit::Packets(queue),
        loss,
        reorder: chances.0,
        duplicate: chances.1,
        corrupt: chances.2,
        ..link(mbit, delay)
    })
}

/// Silence for up to some seconds, at any time.
pub(crate) fn outage() -> impl Strategy<Value = Vec<PathEvent>> {
    let event = |at: u64, change| PathEvent {
        at: Duration::from_millis(at),
        direction: Direction::Both,
        change,
    };
    prop_oneof![
        Just(Vec::new()),
        (0u64..3000, 1u64..5000, any::<bool>()).prop_map(move |(from, len, silent)| {
            let down = if silent { LinkChange::Silent } else { LinkChange::Down };
            vec![event(from, down), event(from + len, LinkChange::Up)]
        }),
    ]
}

fn hostile_run() -> impl Strategy<Value = RunSetup> {
    let choices = (any::<u64>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let buffers = (16_384u32..400_000, 16_384u32..400_000, any::<bool>());
    let profile = prop_oneof![
        Just(Profile::Linux),
        Just(Profile::Linux41),
        Just(Profile::Linux314),
        Just(Profile::Linux311),
        Just(Profile::Linux35),
    ];
    // A host without a cost is the common case; one with a cost is another way through the code.
    let cost = (prop_oneof![Just(0u64), 1u64..100], profile);
    (hostile_link(), hostile_link(), outage(), 1u64..300_000, choices, buffers, cost).prop_map(
        |(down, up, events, bytes, choices, buffers, (cost, profile))| {
            let (seed, reverse, nic, reno, pass_through) = choices;
            let per_segment = Duration::from_micros(cost);
            let server_cost = ProcessingCost { per_segment, ..ProcessingCost::default() };
            let mut setup = one_path(&down, Traffic::BulkSize(bytes));
            setup.network.paths[0].up = up;
            setup.network.paths[0].events = events;
            setup.flows[0].tcp.congestion = if reno { "reno" } else { "cubic" }.parse().unwrap();
            setup.flows[0].tcp.buffers =
                Buffers { send_max: buffers.0, receive_max: buffers.1, auto_tuning: buffers.2 };
            setup.flows[0].tcp.profile = profile;
            let nic = nic.then(NicSetup::default);
            let until = Until::Closed;
            // After an acknowledgement that echoes a timestamp of a minute ago the timer is minutes
            // long, a few times over on the worst of paths (seen: 480 s for 126 KB).
            let limit = Duration::from_secs(7200);
            setup.flows[0].reverse = reverse;
            setup.network.nic = nic;
            setup.recording.pass_through = pass_through;
            RunSetup { seed, until, server_cost, limit, ..setup }
        },
    )
}

proptest! {
    // What is found becomes a named test below.
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_byte_arrives_exactly_once_over_hostile_paths(setup in hostile_run()) {
        let Traffic::BulkSize(bytes) = setup.flows[0].traffic else { unreachable!() };
        let record = record(&setup);
        prop_assert_eq!(record.measured().failure, None);
        prop_assert_eq!(record.outcome.bytes_read, bytes, "{:?}", record);
        prop_assert!(record.outcome.is_complete(), "{:?}", record);
        prop_assert!(record.is_idle(), "nothing is left to happen: {:?}", record);
    }
}

#[test]
fn transfer_survives_an_outage_of_half_a_minute() {
    let mut setup = one_path(&link(10, 20), Traffic::BulkSize(5_000_000));
    let event =
        |at, change| PathEvent { at: Duration::from_secs(at), direction: Direction::Both, change };
    setup.network.paths[0].events = vec![event(2, LinkChange::Silent), event(32, LinkChange::Up)];
    let time = pair::value(&setup);
    // 4.2 s of transfer, 30 s of outage, and at most one more back-off of the timer.
    assert!((34.0..65.0).contains(&time), "{time} s");
}

/// Regression: segments that overtook the close reached a closed peer, and its RST made a
/// connection in TIME-WAIT fail (RFC 9293 s3.10.7.4).
#[test]
fn late_segments_after_the_close_do_not_fail_the_connection() {
    let down = LinkConfig {
        jitter: overtaking(7),
        limit: network::Limit::Packets(4),
        reorder: 0.19237531633384702,
        ..link(18, 15)
    };
    let up = LinkConfig {
        jitter: overtaking(3),
        limit: network::Limit::Packets(5),
        reorder: 0.021193351498019194,
        duplicate: 0.08280132268875941,
        corrupt: 0.012563146697761311,
        ..link(3, 3)
    };
    let mut setup = one_path(&down, Traffic::BulkSize(33_305));
    setup.network.paths[0].up = up;
    setup.flows[0].tcp.buffers =
        Buffers { send_max: 16_384, receive_max: 32_412, auto_tuning: false };
    let seed = 41_879_258_502_714_025;
    setup.flows[0].reverse = true;
    setup.network.nic = None;
    let setup = RunSetup { seed, until: Until::Closed, ..setup };
    assert_eq!(record(&setup).measured().failure, None);
}

/// Regression: the SYNs at constant intervals were taken for all SYNs (Linux repeats them for 67 s,
/// and slots of its timer wheel add 2 s).
#[test]
fn connect_outlasts_an_outage_of_a_minute() {
    let mut setup = one_path(&link(10, 20), Traffic::BulkSize(1));
    let event =
        |at, change| PathEvent { at: Duration::from_secs(at), direction: Direction::Both, change };
    setup.network.paths[0].events = vec![event(0, LinkChange::Silent), event(60, LinkChange::Up)];
    let time = pair::value(&setup);
    assert!((69.0..70.0).contains(&time), "{time} s");
}

/// Regression: a serial host whose last packet caused an event, and nothing to send, became idle
/// without notifying its application.
#[test]
fn serial_host_tells_the_news_of_its_last_packet() {
    let down = LinkConfig { jitter: overtaking(14), ..link(3, 35) };
    let up = LinkConfig {
        jitter: overtaking(17),
        reorder: 0.15493594621489745,
        corrupt: 0.0498775348003875,
        ..link(4, 20)
    };
    // One seed in two hundred ends on such a packet.
    for seed in 0..1000 {
        let mut setup = one_path(&down, Traffic::BulkSize(14_788));
        setup.network.paths[0].up = up.clone();
        setup.flows[0].tcp.profile = Profile::Linux41;
        setup.flows[0].tcp.buffers =
            Buffers { send_max: 22_872, receive_max: 55_349, auto_tuning: false };
        setup.server_cost.per_segment = Duration::from_micros(14);
        setup.flows[0].reverse = true;
        setup.network.nic = None;
        setup.seed = seed;
        assert!(record(&setup).outcome.is_complete(), "seed {seed}");
    }
}

/// Regression: D-SACKs about duplicates of the network proved retransmissions needless that were
/// not, so that the window grew again in the middle of a recovery and the queue overflowed. Linux
/// 6.18 takes the same 2.267 s in each of 40 emulated runs.
#[test]
fn duplicates_of_the_network_undo_no_reduction() {
    let time = |duplicate, run| {
        let link = LinkConfig { duplicate, ..link(4, 20) };
        let mut setup = one_path(&link, Traffic::BulkSize(1 << 20));
        setup.flows[0].tcp.congestion = "reno".parse().unwrap();
        setup.run = run;
        record(&setup).outcome.value.expect("complete")
    };
    let plain = time(0.0, 0);
    for run in 0..30 {
        let duplicated = time(0.3, run);
        assert!(duplicated < 1.02 * plain, "{run}: {duplicated} s, without duplicates {plain} s");
    }
}
