//! Events in the life of a link: outages, and changes of rate, delay and loss.

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
fn chances_promised_before_an_outage_are_there_after_it() {
    let trace = Arc::new(CapacityTrace::from_chances(vec![2, 4, 6, 8, 50]).unwrap());
    let capacity = Capacity::Trace { trace, offset: Duration::ZERO };
    let mut bench = Bench::new(LinkConfig { capacity, ..LinkConfig::default() });
    for mark in 0..3 {
        bench.send(ms(0), mark, 1500);
    }
    bench.apply(us(2_500), LinkChange::Down);
    bench.apply(us(2_700), LinkChange::Up);
    assert_eq!(bench.receive_all(), [(2_000, 0), (4_000, 1), (6_000, 2)]);
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
fn jitter_keeps_the_order_across_an_outage_and_a_change_of_the_delay() {
    let jitter = Jitter::uniform(Duration::from_millis(9));
    for reorder in [0.0, 0.3] {
        let config = LinkConfig { delay: Duration::from_millis(10), jitter, reorder, ..rate(12) };
        let mut bench = Bench::new(LinkConfig { limit: Limit::Packets(5000), ..config });
        for mark in 0..300 {
            bench.send(ms(0), mark, 1500);
        }
        bench.apply(us(50_500), LinkChange::Down);
        bench.apply(us(60_500), LinkChange::Up);
        bench.apply(us(90_500), LinkChange::Delay(Duration::from_millis(12)));
        let arrivals = bench.receive_all();
        assert_eq!(arrivals.len(), 300);
        // Those that skip the delay arrive as they leave: 1 ms each, and 10.5 ms of the outage.
        let skips = |(at, mark): &(u64, u32)| {
            let leaves = (u64::from(*mark) + 1) * 1000;
            *at == leaves || *at == leaves + 10_500
        };
        let late: Vec<_> =
            arrivals.into_iter().filter(|one| reorder == 0.0 || !skips(one)).collect();
        assert!(late.len() > 180 && late.windows(2).all(|w| w[0].1 < w[1].1), "{late:?}");
        let last = late[late.len() - 1].0;
        assert!((300_000..335_000).contains(&last), "arrivals are computed again: {last}");
    }
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
