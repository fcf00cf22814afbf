//! Tests of a link: byte-exact timings, limits, events, and properties under random use.

use super::*;
use crate::loss::LossConfig;
use crate::queue::QueueConfig;
use crate::trace::CapacityTrace;
use base::{Chance, Rate, Recorder};
use proptest::prelude::*;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Payload, UdpDatagram};

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn us(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

/// A UDP packet of `len` bytes at IP level, at least 28, with a mark to know it by.
fn packet(mark: u32, len: u32) -> Packet {
    let payload = Payload::virtual_range(0, 0, len - 28);
    let body = Body::Udp(UdpDatagram { src_port: 1, dst_port: 2, payload });
    let mut packet = Packet::new(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]), body);
    packet.flow = mark;
    packet
}

fn rate(mbit: u64) -> LinkConfig {
    LinkConfig { capacity: Rate::from_mbit(mbit).into(), ..LinkConfig::default() }
}

/// A link under test, at times the test names.
struct Bench {
    link: Link,
    chance: Chance,
}

impl Bench {
    fn new(config: LinkConfig) -> Self {
        Bench { link: Link::new(LinkId(0), config, 7), chance: Chance::new(1, 0) }
    }

    fn cx(&self, now: Instant) -> Context<'static> {
        Context::quiet(now, self.chance)
    }

    fn send(&mut self, now: Instant, mark: u32, len: u32) -> bool {
        let mut cx = self.cx(now);
        self.link.enqueue(&mut cx, packet(mark, len))
    }

    fn apply(&mut self, now: Instant, change: LinkChange) {
        let mut cx = self.cx(now);
        self.link.apply(&mut cx, change);
    }

    fn backlog(&mut self, now: Instant) -> u64 {
        let mut cx = self.cx(now);
        self.link.backlog(&mut cx).packets
    }

    /// Everything that comes out up to `end`, with its time in us.
    fn receive(&mut self, end: Instant) -> Vec<(u64, u32)> {
        let mut out = Vec::new();
        while let Some(due) = self.link.next_deadline().filter(|due| *due <= end) {
            let mut cx = self.cx(due);
            while let Some(packet) = self.link.poll(&mut cx) {
                out.push((due.as_micros(), packet.flow));
            }
        }
        out
    }

    fn receive_all(&mut self) -> Vec<(u64, u32)> {
        self.receive(Instant::from_secs(1_000_000))
    }
}

mod timing {
    use super::*;

    #[test]
    fn packets_leave_at_the_rate_and_arrive_a_delay_later() {
        let mut bench = Bench::new(LinkConfig { delay: Duration::from_millis(20), ..rate(12) });
        for mark in 0..3 {
            assert!(bench.send(us(100), mark, 1500));
        }
        assert!(bench.send(us(100), 3, 40 + 12));
        // 1500 bytes take 1000 us, 52 bytes 34.67 us; arrivals are cut to whole us here.
        let arrivals = bench.receive_all();
        assert_eq!(arrivals, [(21_100, 0), (22_100, 1), (23_100, 2), (23_134, 3)]);
    }

    #[test]
    fn remainders_below_a_nanosecond_add_up_in_a_busy_period() {
        let mut bench = Bench::new(LinkConfig {
            capacity: Rate::from_bps(7_000_000_000).into(),
            limit: Limit::Packets(10_000),
            ..LinkConfig::default()
        });
        for mark in 0..7_000 {
            bench.send(Instant::ZERO, mark, 1000);
        }
        let mut cx = bench.cx(us(8_000));
        let mut last = 0;
        while let Some(packet) = bench.link.poll(&mut cx) {
            last = packet.flow;
        }
        assert_eq!(last, 6_999, "7000 packets of 8000 bits at 7 Gbit/s take exactly 8 ms");
    }

    #[test]
    fn link_without_rate_has_no_queue() {
        let mut bench = Bench::new(LinkConfig {
            delay: Duration::from_millis(5),
            limit: Limit::Packets(1),
            ..LinkConfig::default()
        });
        assert!((0..10).all(|mark| bench.send(ms(1), mark, 1500)));
        assert_eq!(bench.backlog(ms(1)), 0);
        assert!(bench.receive_all().iter().all(|(arrival, _)| *arrival == 6_000));
    }

    #[test]
    fn chances_of_a_recording_serve_from_the_offset() {
        // Chances at 1, 3, 5 of every 5 ms; at an offset of 2 ms they come at 1, 3, 4, 6, ...
        let trace = Arc::new(CapacityTrace::from_chances(vec![1, 3, 5]).unwrap());
        let capacity = Capacity::Trace { trace, offset: Duration::from_millis(2) };
        let mut bench =
            Bench::new(LinkConfig { capacity, delay: Duration::from_millis(10), ..rate(1) });
        for mark in 0..4 {
            bench.send(Instant::ZERO, mark, 1500);
        }
        assert_eq!(bench.receive_all(), [(11_000, 0), (13_000, 1), (14_000, 2), (16_000, 3)]);
    }

    #[test]
    fn steps_of_a_recording_serve_at_the_rate_of_the_moment() {
        let steps = [(2, 6), (3, 0), (10, 12)]
            .map(|(millis, mbit)| (Duration::from_millis(millis), Rate::from_mbit(mbit)));
        let trace = Arc::new(CapacityTrace::from_steps(&steps).unwrap());
        let capacity = Capacity::Trace { trace, offset: Duration::ZERO };
        let mut bench = Bench::new(LinkConfig { capacity, ..LinkConfig::default() });
        for mark in 0..3 {
            bench.send(ms(1), mark, 1500);
        }
        assert_eq!(bench.receive_all(), [(5_500, 0), (6_500, 1), (7_500, 2)]);
    }
}

mod limit {
    use super::*;

    fn accepted(limit: Limit, lens: &[u32]) -> Vec<bool> {
        let mut bench = Bench::new(LinkConfig { limit, ..rate(12) });
        lens.iter().map(|len| bench.send(ms(1), 0, *len)).collect()
    }

    #[test]
    fn packet_in_service_does_not_count() {
        assert_eq!(accepted(Limit::Packets(2), &[1500; 4]), [true, true, true, false]);
        assert_eq!(accepted(Limit::Packets(0), &[1500; 2]), [true, false]);
    }

    #[test]
    fn bytes_that_wait_are_limited() {
        let lens = [1500, 1500, 1400, 101, 100];
        assert_eq!(accepted(Limit::Bytes(3000), &lens), [true, true, true, false, true]);
    }

    #[test]
    fn time_is_the_bytes_that_drain_in_it() {
        // 12 Mbit/s drain two packets in 2 ms.
        let limit = Limit::Time(Duration::from_millis(2));
        assert_eq!(accepted(limit, &[1500; 4]), [true, true, true, false]);
        let mut bench = Bench::new(LinkConfig { limit, ..rate(12) });
        bench.apply(ms(1), LinkChange::Rate(Rate::from_mbit(24)));
        let accepted = (0..10).filter(|_| bench.send(ms(1), 0, 1500)).count();
        assert_eq!(accepted, 5, "at twice the rate twice as many");
    }

    #[test]
    fn place_is_free_when_the_service_of_the_next_begins() {
        let mut bench = Bench::new(LinkConfig { limit: Limit::Packets(1), ..rate(12) });
        assert!(bench.send(ms(0), 0, 1500) && bench.send(ms(0), 1, 1500));
        assert!(!bench.send(us(999), 2, 1500));
        assert_eq!(bench.backlog(us(999)), 1);
        assert!(bench.send(ms(1), 3, 1500), "the first has just left");
        assert_eq!(bench.link.stats().dropped_full, 1);
        assert_eq!(bench.link.stats().max_backlog, Backlog { packets: 1, bytes: 1500 });
    }
}

mod events {
    use super::*;

    #[test]
    fn change_of_rate_holds_for_the_bits_that_are_left() {
        let mut bench = Bench::new(rate(12));
        bench.send(ms(0), 0, 1500);
        bench.send(ms(0), 1, 1500);
        // After 0.25 ms 9000 bits are left of the first: 3 ms at 3 Mbit/s, then 4 ms.
        bench.apply(us(250), LinkChange::Rate(Rate::from_mbit(3)));
        assert_eq!(bench.receive_all(), [(3_250, 0), (7_250, 1)]);
    }

    #[test]
    fn down_keeps_the_queue_drops_what_is_sent_and_delivers_what_has_left() {
        let mut bench = Bench::new(LinkConfig { delay: Duration::from_millis(10), ..rate(12) });
        for mark in 0..3 {
            bench.send(ms(0), mark, 1500);
        }
        bench.apply(us(1_500), LinkChange::Down);
        assert!(!bench.send(ms(5), 3, 1500));
        assert_eq!(bench.receive(ms(99)), [(11_000, 0)]);
        assert_eq!(bench.link.next_deadline(), None);
        bench.apply(ms(100), LinkChange::Up);
        // The packet whose service was cut off is served again, whole.
        assert_eq!(bench.receive_all(), [(111_000, 1), (112_000, 2)]);
        assert_eq!(bench.link.stats().dropped_down, 1);
        assert!(bench.send(ms(200), 4, 1500));
    }

    #[test]
    fn silent_does_the_same_and_up_without_down_nothing() {
        let mut bench = Bench::new(rate(12));
        bench.send(ms(0), 0, 1500);
        bench.apply(us(500), LinkChange::Up);
        assert_eq!(bench.link.next_deadline(), Some(ms(1)));
        bench.apply(us(600), LinkChange::Silent);
        assert!(!bench.send(ms(1), 1, 1500));
        bench.apply(ms(2), LinkChange::Up);
        assert_eq!(bench.receive_all(), [(3_000, 0)]);
    }

    #[test]
    fn recording_goes_on_during_an_outage() {
        let trace = Arc::new(CapacityTrace::from_chances(vec![2, 4, 6, 8, 50]).unwrap());
        let capacity = Capacity::Trace { trace, offset: Duration::ZERO };
        let mut bench = Bench::new(LinkConfig { capacity, ..LinkConfig::default() });
        for mark in 0..3 {
            bench.send(ms(0), mark, 1500);
        }
        bench.apply(ms(3), LinkChange::Down);
        bench.apply(ms(7), LinkChange::Up);
        assert_eq!(bench.receive_all(), [(2_000, 0), (8_000, 1), (50_000, 2)]);
    }

    #[test]
    fn rate_of_zero_stops_and_a_later_rate_goes_on() {
        let mut bench = Bench::new(LinkConfig {
            capacity: Rate::from_bps(0).into(),
            loss: LossConfig::GilbertElliott { p: 0.1, r: 0.5, one_minus_h: 0.0, one_minus_k: 0.0 },
            ..LinkConfig::default()
        });
        bench.send(ms(0), 0, 1500);
        bench.send(ms(0), 1, 1500);
        assert_eq!(bench.link.next_deadline(), None);
        bench.apply(ms(10), LinkChange::Rate(Rate::from_mbit(12)));
        assert_eq!(bench.receive_all(), [(11_000, 0), (12_000, 1)]);
    }

    #[test]
    fn delay_holds_for_packets_that_have_not_left_and_none_overtakes() {
        let mut bench = Bench::new(LinkConfig { delay: Duration::from_millis(10), ..rate(12) });
        for mark in 0..3 {
            bench.send(ms(0), mark, 1500);
        }
        bench.apply(us(1_500), LinkChange::Delay(Duration::from_millis(1)));
        // The first has left and keeps its 10 ms; the others wait for it at the far end.
        assert_eq!(bench.receive_all(), [(11_000, 0), (11_000, 1), (11_000, 2)]);
        bench.apply(ms(20), LinkChange::Delay(Duration::from_millis(30)));
        bench.send(ms(20), 3, 1500);
        assert_eq!(bench.receive_all(), [(51_000, 3)]);
    }

    #[test]
    fn loss_holds_for_packets_accepted_from_then_on() {
        let mut bench = Bench::new(rate(12));
        bench.send(ms(0), 0, 1500);
        bench.apply(ms(0), LinkChange::Loss(LossConfig::Bernoulli { p: 1.0 }));
        bench.send(ms(0), 1, 1500);
        bench.apply(ms(0), LinkChange::Loss(LossConfig::None));
        bench.send(ms(0), 2, 1500);
        // The lost packet has used its time.
        assert_eq!(bench.receive_all(), [(1_000, 0), (3_000, 2)]);
    }
}

mod chance {
    use super::*;

    fn lossy(p: f64) -> LinkConfig {
        LinkConfig { loss: LossConfig::Bernoulli { p }, limit: Limit::Packets(5000), ..rate(12) }
    }

    fn marks(bench: &mut Bench) -> Vec<u32> {
        bench.receive_all().into_iter().map(|(_, mark)| mark).collect()
    }

    #[test]
    fn nth_accepted_packet_meets_the_same_draw_whatever_the_spacing_and_length() {
        let (mut dense, mut sparse) = (Bench::new(lossy(0.3)), Bench::new(lossy(0.3)));
        for mark in 0..1000 {
            dense.send(ms(0), mark, 1500);
            sparse.send(us(u64::from(mark) * 777), mark, 60 + mark);
        }
        let kept = marks(&mut dense);
        assert_eq!(kept, marks(&mut sparse));
        assert!((620..780).contains(&kept.len()), "{}", kept.len());
    }

    #[test]
    fn refused_packets_take_no_draw() {
        let mut full = Bench::new(LinkConfig { limit: Limit::Packets(0), ..lossy(0.3) });
        let mut sent = Vec::new();
        for n in 0..1000 {
            // Every second one finds a packet in service.
            let accepted = full.send(us(1000 * (n / 2)), (n / 2) as u32, 1500);
            assert_eq!(accepted, n % 2 == 0);
            sent.push(accepted);
        }
        let mut free = Bench::new(lossy(0.3));
        for mark in 0..500 {
            free.send(ms(u64::from(mark)), mark, 1500);
        }
        assert_eq!(marks(&mut full), marks(&mut free));
    }

    #[test]
    fn jitter_is_uniform_around_the_delay_and_packets_overtake() {
        let delay = Duration::from_millis(20);
        let config = LinkConfig { delay, jitter: Duration::from_millis(5), ..rate(1200) };
        let mut bench = Bench::new(LinkConfig { limit: Limit::Packets(9999), ..config });
        for mark in 0..2000 {
            bench.send(us(u64::from(mark) * 10), mark, 1500);
        }
        let out = bench.receive_all();
        let delays: Vec<i64> = out
            .iter()
            .map(|(arrival, mark)| *arrival as i64 - 10 * (i64::from(*mark) + 1))
            .collect();
        assert!(delays.iter().all(|d| (15_000..=25_000).contains(d)));
        let mean = delays.iter().sum::<i64>() / 2000;
        assert!((19_800..20_200).contains(&mean), "{mean}");
        assert!(delays.iter().min() < Some(&15_100) && delays.iter().max() > Some(&24_900));
        assert!(out.windows(2).any(|w| w[0].1 > w[1].1), "some overtake");
    }

    #[test]
    fn jitter_above_the_delay_never_goes_back_in_time() {
        let jitter = Duration::from_millis(5);
        let mut bench =
            Bench::new(LinkConfig { delay: Duration::from_millis(1), jitter, ..rate(12) });
        for mark in 0..100 {
            bench.send(ms(u64::from(mark)), mark, 1500);
        }
        let out = bench.receive_all();
        assert!(out.iter().all(|(arrival, mark)| *arrival >= (u64::from(*mark) + 1) * 1000));
    }

    #[test]
    fn reordered_packet_skips_the_delay_only() {
        let delay = Duration::from_millis(20);
        let mut bench = Bench::new(LinkConfig { delay, reorder: 0.25, ..rate(12) });
        for mark in 0..400 {
            bench.send(ms(u64::from(mark)), mark, 1500);
        }
        let out = bench.receive_all();
        let waited = |(arrival, mark): &(u64, u32)| arrival - (u64::from(*mark) + 1) * 1000;
        assert!(out.iter().map(waited).all(|w| w == 0 || w == 20_000));
        let early = out.iter().filter(|o| waited(o) == 0).count();
        assert!((70..130).contains(&early), "{early}");
    }

    #[test]
    fn duplicates_follow_their_original_and_take_no_capacity() {
        let mut bench = Bench::new(LinkConfig { duplicate: 1.0, ..rate(12) });
        bench.send(ms(0), 0, 1500);
        bench.send(ms(0), 1, 1500);
        assert_eq!(bench.receive_all(), [(1_000, 0), (1_000, 0), (2_000, 1), (2_000, 1)]);
        assert_eq!(bench.link.stats().duplicated, 2);
    }

    #[test]
    fn corrupted_packets_are_marked() {
        let mut bench = Bench::new(LinkConfig { corrupt: 1.0, ..rate(12) });
        bench.send(ms(0), 0, 1500);
        let mut cx = bench.cx(ms(1));
        assert!(bench.link.poll(&mut cx).is_some_and(|packet| packet.corrupted));
        assert_eq!(bench.link.stats().corrupted, 1);
    }

    #[test]
    fn bursts_of_loss_are_those_of_the_time_not_of_the_packets() {
        let loss =
            LossConfig::GilbertElliott { p: 0.05, r: 0.2, one_minus_h: 1.0, one_minus_k: 0.0 };
        let config = LinkConfig { loss, limit: Limit::Packets(9999), ..rate(12) };
        let (mut all, mut some) = (Bench::new(config.clone()), Bench::new(config));
        for mark in 0..2000u32 {
            all.send(ms(u64::from(mark)), mark, 1500);
            if mark.is_multiple_of(7) {
                some.send(ms(u64::from(mark)), mark, 1500);
            }
        }
        let mut of_all = marks(&mut all);
        assert!(of_all.len() < 1800, "the bad state was met");
        of_all.retain(|mark| mark.is_multiple_of(7));
        assert_eq!(of_all, marks(&mut some), "a slot is 1 ms, so both ask for the same states");
    }
}

mod head_disciplines {
    use super::*;

    #[test]
    fn codel_brings_a_standing_queue_down() {
        let mut codel = Bench::new(LinkConfig { queue: QueueConfig::CoDel, ..rate(12) });
        let mut tail = Bench::new(rate(12));
        for mark in 0..10_000u32 {
            // One packet every 0.95 ms on a link that serves one a millisecond.
            let now = us(u64::from(mark) * 950);
            codel.send(now, mark, 1500);
            tail.send(now, mark, 1500);
            if mark == 9_999 {
                assert!(tail.backlog(now) > 450);
                assert!(codel.backlog(now) < 100, "{}", codel.backlog(now));
            }
        }
        assert!(codel.link.stats().dropped_queued > 300);
        codel.receive_all();
        let stats = codel.link.stats();
        assert_eq!(stats.accepted, stats.delivered + stats.dropped_queued);
    }

    #[test]
    fn laziness_does_not_show() {
        // Polled at every deadline or never until the end: the same packets at the same times.
        for queue in [QueueConfig::CoDel, QueueConfig::FqCoDel] {
            let config = LinkConfig { queue, delay: Duration::from_millis(3), ..rate(12) };
            let (mut eager, mut lazy) = (Bench::new(config.clone()), Bench::new(config));
            let (mut seen, mut all) = (Vec::new(), Vec::new());
            for mark in 0..3000u32 {
                let now = us(u64::from(mark) * 700);
                seen.extend(eager.receive(now));
                eager.send(now, mark, 1500);
                lazy.send(now, mark, 1500);
            }
            seen.extend(eager.receive_all().iter().copied());
            all.extend(lazy.receive_all().into_iter().map(|(_, mark)| mark));
            assert_eq!(seen.iter().map(|(_, mark)| *mark).collect::<Vec<_>>(), all);
            let (eager, lazy) = (eager.link.stats(), lazy.link.stats());
            assert_eq!(eager, lazy);
        }
    }

    #[test]
    fn outage_and_rate_change_keep_what_is_held() {
        let mut bench = Bench::new(LinkConfig { queue: QueueConfig::FqCoDel, ..rate(12) });
        for mark in 0..4 {
            bench.send(ms(0), mark, 1500);
        }
        bench.apply(us(1_500), LinkChange::Down);
        assert_eq!(bench.receive(ms(40)), [(1_000, 0)]);
        assert_eq!(bench.link.next_deadline(), None);
        bench.apply(ms(50), LinkChange::Up);
        bench.apply(us(50_500), LinkChange::Rate(Rate::from_mbit(6)));
        assert_eq!(bench.receive_all(), [(51_500, 1), (53_500, 2), (55_500, 3)]);
    }

    #[test]
    fn limit_of_a_head_discipline_holds() {
        for queue in [QueueConfig::CoDel, QueueConfig::FqCoDel] {
            let mut bench = Bench::new(LinkConfig { queue, limit: Limit::Packets(5), ..rate(12) });
            for mark in 0..20 {
                bench.send(ms(0), mark, 1500);
                assert!(bench.backlog(ms(0)) <= 5);
            }
            assert_eq!(bench.receive_all().len(), 6, "five and the one in service");
        }
    }
}

mod recorder {
    use super::*;
    use base::HostId;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl Recorder for Log {
        fn mask(&self) -> EventMask {
            EventMask::PACKET.union(EventMask::STATE)
        }

        fn record(&mut self, now: Instant, _host: HostId, event: &Event) {
            let word = match event {
                Event::PacketAccepted { len, .. } => format!("accepted {len}"),
                Event::PacketDropped { reason, .. } => format!("dropped {reason:?}"),
                Event::PacketDelivered { flow, payload_len, .. } => {
                    format!("delivered {flow} {payload_len}")
                }
                Event::LinkChange { what, .. } => (*what).to_owned(),
                other => format!("{other:?}"),
            };
            self.0.push(format!("{} {word}", now.as_micros()));
        }
    }

    #[test]
    fn life_of_packets_is_told() {
        let mut log = Log::default();
        let mut link = Link::new(LinkId(3), LinkConfig { limit: Limit::Packets(0), ..rate(12) }, 1);
        let chance = Chance::new(1, 0);
        let mut cx = Context::recording(ms(0), chance, &mut log);
        link.enqueue(&mut cx, packet(9, 1500));
        link.enqueue(&mut cx, packet(8, 1500));
        cx.now = ms(1);
        assert!(link.poll(&mut cx).is_some());
        link.apply(&mut cx, LinkChange::Down);
        link.enqueue(&mut cx, packet(7, 1500));
        let expected = [
            "0 accepted 1500",
            "0 dropped QueueFull",
            "1000 delivered 9 1472",
            "1000 down",
            "1000 dropped Down",
        ];
        assert_eq!(log.0, expected);
    }
}

mod properties {
    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Wait(u64),
        Send(u32),
        Poll,
        Change(LinkChange),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let change = prop_oneof![
            Just(LinkChange::Down),
            Just(LinkChange::Up),
            (0u64..30).prop_map(|mbit| LinkChange::Rate(Rate::from_mbit(mbit))),
            (0u64..30).prop_map(|millis| LinkChange::Delay(Duration::from_millis(millis))),
            Just(LinkChange::Capacity(Capacity::Unlimited)),
            Just(LinkChange::Loss(LossConfig::Bernoulli { p: 0.5 })),
        ];
        let step = prop_oneof![
            2 => (0u64..3_000).prop_map(Step::Wait),
            6 => (28u32..1501).prop_map(Step::Send),
            2 => Just(Step::Poll),
            1 => change.prop_map(Step::Change),
        ];
        prop::collection::vec(step, 1..200)
    }

    fn config() -> impl Strategy<Value = LinkConfig> {
        let capacity = prop_oneof![
            (1u64..100).prop_map(|mbit| Capacity::Rate(Rate::from_mbit(mbit))),
            Just(Capacity::Unlimited),
            Just(Capacity::Trace {
                trace: Arc::new(CapacityTrace::from_chances(vec![1, 1, 7, 30]).unwrap()),
                offset: Duration::from_micros(3_333),
            }),
        ];
        let queue = prop_oneof![
            2 => Just(QueueConfig::DropTail),
            1 => Just(QueueConfig::Red { min_packets: 0.01, max_packets: 3.0, max_p: 0.1 }),
            1 => Just(QueueConfig::CoDel),
            1 => Just(QueueConfig::FqCoDel),
        ];
        let limit = prop_oneof![
            (0u32..20).prop_map(Limit::Packets),
            (0u64..9_000).prop_map(Limit::Bytes),
            (0u64..9).prop_map(|millis| Limit::Time(Duration::from_millis(millis))),
        ];
        let odds = prop_oneof![2 => Just(0.0), 1 => Just(0.3)];
        let chance = (odds.clone(), odds.clone(), odds.clone(), odds, 0u64..3);
        (capacity, queue, limit, 0u64..20, chance).prop_map(
            |(capacity, queue, limit, delay, (loss, reorder, duplicate, corrupt, jitter))| {
                LinkConfig {
                    capacity,
                    queue,
                    limit,
                    delay: Duration::from_millis(delay),
                    jitter: Duration::from_millis(jitter),
                    loss: LossConfig::Bernoulli { p: loss },
                    reorder,
                    duplicate,
                    corrupt,
                }
            },
        )
    }

    /// What a run of steps gives, for checking.
    fn run(bench: &mut Bench, steps: &[Step]) -> (Instant, Vec<u32>) {
        let (mut now, mut out) = (Instant::ZERO, Vec::new());
        for (mark, step) in steps.iter().enumerate() {
            match step {
                Step::Wait(micros) => now += Duration::from_micros(*micros),
                Step::Send(len) => {
                    bench.send(now, mark as u32, *len);
                }
                Step::Poll => {
                    let mut cx = bench.cx(now);
                    while let Some(packet) = bench.link.poll(&mut cx) {
                        out.push(packet.flow);
                    }
                }
                Step::Change(change) => bench.apply(now, change.clone()),
            }
            let stats = *bench.link.stats();
            assert_eq!(
                stats.accepted + stats.duplicated,
                stats.delivered + stats.lost + stats.dropped_queued + bench.link.in_transit(),
                "after step {mark}"
            );
        }
        (now, out)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn every_accepted_packet_is_delivered_or_accounted_for(
            config in config(),
            steps in steps(),
        ) {
            let ordered = config.jitter.is_zero() && config.reorder == 0.0
                && config.queue != QueueConfig::FqCoDel;
            let mut bench = Bench::new(config);
            let (now, mut out) = run(&mut bench, &steps);
            bench.apply(now, LinkChange::Up);
            bench.apply(now, LinkChange::Rate(Rate::from_mbit(1)));
            out.extend(bench.receive_all().into_iter().map(|(_, mark)| mark));
            prop_assert_eq!(bench.link.in_transit(), 0);
            prop_assert_eq!(out.len() as u64, bench.link.stats().delivered);
            if ordered {
                prop_assert!(out.is_sorted(), "packets overtook: {:?}", out);
            }
        }

        #[test]
        fn link_is_never_faster_than_its_rate(
            mbit in 1u64..1000,
            packets in prop::collection::vec((0u64..500, 28u32..1501), 2..100),
        ) {
            let mut bench = Bench::new(rate(mbit));
            let (mut now, mut lens) = (Instant::ZERO, Vec::new());
            for (mark, (wait, len)) in packets.iter().enumerate() {
                now += Duration::from_micros(*wait);
                bench.send(now, mark as u32, *len);
                lens.push(u64::from(*len));
            }
            let mut arrivals = Vec::new();
            while let Some(due) = bench.link.next_deadline() {
                let mut cx = bench.cx(due);
                while let Some(packet) = bench.link.poll(&mut cx) {
                    arrivals.push((due.as_nanos(), u64::from(packet.wire_len())));
                }
            }
            for from in 0..arrivals.len() {
                // Whatever comes out after one packet takes the time its bits need, less 1 ns.
                let bits: u64 = arrivals[from + 1..].iter().map(|(_, len)| len * 8).sum();
                let span = arrivals[arrivals.len() - 1].0 - arrivals[from].0;
                prop_assert!(span + 1 >= bits * 1000 / mbit, "{bits} bits in {span} ns");
            }
        }
    }
}
