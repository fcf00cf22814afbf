//! A fate of its own for every packet, and random outages of a path, over two and three paths, with
//! every scheduler and control: what is read is what was written, and all of it arrives once
//! the network is calm.

use crate::cases;
use crate::pair::{Fate, Pair, Path, Side};
use base::Duration;
use proptest::prelude::*;
use transport::TcpConfig;
use transport::congestion::ControllerChoice;
use transport::mptcp::MptcpConfig;
use transport::scheduler::SchedulerChoice;

/// Suspends every slower path for a moment, and probes all the time.
const HASTY: &str = "drepas:mincontribution=0.8,interval=100ms,period=10ms,window=10ms,\
                     probe-interval=100ms";

fn fate() -> impl Strategy<Value = Fate> {
    let millis = |most| (0..most).prop_map(Duration::from_millis);
    prop_oneof![
        12 => Just(Fate::Pass),
        2 => Just(Fate::Drop),
        2 => millis(80u64).prop_map(Fate::Late),
        1 => millis(80u64).prop_map(Fate::Twice),
        1 => Just(Fate::Damage),
    ]
}

fn config() -> impl Strategy<Value = MptcpConfig> {
    let scheduler = prop::sample::select(SchedulerChoice::all().collect::<Vec<_>>());
    let congestion = prop::sample::select(ControllerChoice::all().collect::<Vec<_>>());
    let policy = prop::sample::select(vec!["none", HASTY]);
    let rest = (policy, any::<bool>());
    (scheduler, congestion, rest).prop_map(|(scheduler, congestion, (policy, checksum))| {
        let tcp = TcpConfig { congestion, ..TcpConfig::default() };
        let policy = policy.parse().expect("a policy of the table");
        MptcpConfig { tcp, scheduler, policy, checksum, ..MptcpConfig::default() }
    })
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn everything_arrives_exactly_once(
        delays in prop::collection::vec(1u64..120, 2..=3),
        client in config(),
        server in config(),
        fates in prop::collection::vec(fate(), 1..120),
        cut in prop::option::of((0usize..3, 50u64..2_000, 100u64..5_000)),
        (up, down) in (1u64..60_000, 1u64..400_000),
        seed in any::<u64>(),
    ) {
        let paths: Vec<Path> = delays.iter().map(|delay| Path::ms(*delay)).collect();
        let mut pair = Pair::with_seed(&paths, client, server, seed);
        // The first handshake is let through: how it fares is `handshake`'s subject.
        pair.run_until(Duration::from_secs(10), |pair| pair.ends.iter().all(|end| end.connected));
        let mut left = fates.into_iter();
        pair.rule = Some(Box::new(move |_, _, _| left.next().unwrap_or(Fate::Pass)));
        (pair.ends[0].to_write, pair.ends[1].to_write) = (up, down);
        if let Some((path, after, span)) = cut {
            let path = path % paths.len();
            pair.pass(Duration::from_millis(after));
            pair.paths[path].cut = true;
            pair.pass(Duration::from_millis(span));
            pair.paths[path].cut = false;
        }
        // Fails on silence, on live-lock, and on a byte that is not the one written.
        pair.run_until(Duration::from_secs(900), |pair| {
            pair.ends[1].read.len() as u64 == up && pair.ends[0].read.len() as u64 == down
        });
        prop_assert!(!pair.info(Side::Client).fallback);
    }
}
