//! The fail-over rule `probe`: keep-alive segments on a path that failed.

use crate::pair::{Fate, Pair, Path, Side, tcp};
use base::Duration;
use transport::Failover;
use transport::mptcp::MptcpConfig;

/// One path; the server probes it. Neither side finishes.
fn pair() -> Pair {
    let server = MptcpConfig { failover: Failover::Probe, ..MptcpConfig::default() };
    let mut pair = Pair::new(&[Path::ms(10)], MptcpConfig::default(), server);
    pair.finish = false;
    let connected = |pair: &Pair| pair.ends.iter().all(|end| end.connected);
    pair.run_until(Duration::from_secs(1), connected);
    pair
}

/// The path failed before the client's options disappeared and was not seen to return: what arrived
/// without options meant TCP, and the path was probed as long as the connection lasted.
#[test]
fn path_that_failed_before_the_fallback_is_not_probed_afterwards() {
    let mut pair = pair();
    pair.ends[1].to_write = 10_000;
    pair.pass(Duration::from_millis(5));
    pair.paths[0].cut = true;
    pair.pass(Duration::from_secs(2));
    pair.paths[0].cut = false;
    pair.mangle = Some(Box::new(|side, _, packet| {
        if let Some(segment) = tcp(packet).filter(|_| side == Side::Client) {
            segment.options.mptcp = Default::default();
        }
        true
    }));
    pair.ends[0].to_write = 2_000;
    pair.run_until(Duration::from_secs(60), Pair::is_delivered);
    assert!(pair.info(Side::Server).fallback);
    pair.pass(Duration::from_secs(60));
    let sent = pair.sent;
    pair.pass(Duration::from_secs(60));
    assert_eq!(pair.sent, sent, "nothing is left to be sent");
}

/// Nothing of the server arrives, while the client's retransmissions do. Each of them resumed the
/// server's retransmission with a new back-off, so that its tries were used up within 15 seconds.
#[test]
fn arrivals_on_a_path_that_is_dead_one_way_do_not_use_up_its_tries() {
    let mut pair = pair();
    pair.rule = Some(Box::new(|side, _, _| match side {
        Side::Server => Fate::Drop,
        Side::Client => Fate::Pass,
    }));
    (pair.ends[0].to_write, pair.ends[1].to_write) = (1_000, 1_000);
    pair.pass(Duration::from_secs(120));
    pair.assert_intact();
    pair.rule = None;
    pair.run_until(Duration::from_secs(120), Pair::is_delivered);
    pair.assert_intact();
}
