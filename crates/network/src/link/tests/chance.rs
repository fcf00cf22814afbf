//! Random draws of a link: which packets get which draw, and the consequences.

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
fn unordered_jitter_is_uniform_around_the_delay_and_packets_overtake() {
    let delay = Duration::from_millis(20);
    let jitter = Jitter { unordered: true, ..Jitter::uniform(Duration::from_millis(5)) };
    let config = LinkConfig { delay, jitter, ..rate(1200) };
    let mut bench = Bench::new(LinkConfig { limit: Limit::Packets(9999), ..config });
    for mark in 0..2000 {
        bench.send(us(u64::from(mark) * 10), mark, 1500);
    }
    let out = bench.receive_all();
    let delays: Vec<i64> =
        out.iter().map(|(arrival, mark)| *arrival as i64 - 10 * (i64::from(*mark) + 1)).collect();
    assert!(delays.iter().all(|d| (15_000..=25_000).contains(d)));
    let mean = delays.iter().sum::<i64>() / 2000;
    assert!((19_800..20_200).contains(&mean), "{mean}");
    assert!(delays.iter().min() < Some(&15_100) && delays.iter().max() > Some(&24_900));
    assert!(out.windows(2).any(|w| w[0].1 > w[1].1), "some overtake");
}

#[test]
fn jitter_above_the_delay_never_goes_back_in_time() {
    let jitter = Jitter::uniform(Duration::from_millis(5));
    let mut bench = Bench::new(LinkConfig { delay: Duration::from_millis(1), jitter, ..rate(12) });
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
    let loss = LossConfig::GilbertElliott { p: 0.05, r: 0.2, one_minus_h: 1.0, one_minus_k: 0.0 };
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
