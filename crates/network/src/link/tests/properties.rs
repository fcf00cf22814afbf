//! Properties of a link under random use: nothing is lost unaccounted for, nothing is too fast.

use super::*;
use proptest::prelude::*;

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
    let chance = (odds.clone(), odds.clone(), odds.clone(), odds, (0u64..3, any::<bool>()));
    (capacity, queue, limit, 0u64..20, chance).prop_map(
        |(capacity, queue, limit, delay, (loss, reorder, duplicate, corrupt, jitter))| LinkConfig {
            capacity,
            queue,
            limit,
            delay: Duration::from_millis(delay),
            jitter: Jitter {
                spread: Duration::from_millis(jitter.0),
                unordered: jitter.1,
                ..Jitter::default()
            },
            loss: LossConfig::Bernoulli { p: loss },
            reorder,
            duplicate,
            corrupt,
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
        let stats = bench.link.stats();
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
        let keeps_order = config.jitter.is_zero() || !config.jitter.unordered;
        let ordered = keeps_order && config.reorder == 0.0
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
        queue in prop_oneof![
            Just(QueueConfig::DropTail), Just(QueueConfig::CoDel), Just(QueueConfig::FqCoDel)],
        packets in prop::collection::vec((0u64..500, 28u32..1501), 2..100),
    ) {
        let mut bench = Bench::new(LinkConfig { queue, ..rate(mbit) });
        let mut now = Instant::ZERO;
        for (mark, (wait, len)) in packets.iter().enumerate() {
            now += Duration::from_micros(*wait);
            bench.send(now, mark as u32, *len);
        }
        let mut arrivals = Vec::new();
        while let Some(due) = bench.link.next_deadline() {
            let mut cx = bench.cx(due);
            while let Some(packet) = bench.link.poll(&mut cx) {
                arrivals.push((due.as_nanos(), u64::from(packet.wire_len())));
            }
        }
        for from in 0..arrivals.len() {
            // The output after a packet takes the time its bits need, less 1 ns.
            let bits: u64 = arrivals[from + 1..].iter().map(|(_, len)| len * 8).sum();
            let span = arrivals[arrivals.len() - 1].0 - arrivals[from].0;
            prop_assert!(span + 1 >= bits * 1000 / mbit, "{bits} bits in {span} ns");
        }
    }
}
