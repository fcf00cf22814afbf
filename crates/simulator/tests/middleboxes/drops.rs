//! Silence: SYNs that never arrive, paths that die without a word (RFC 8684 s3.1, s3.3.6).

use crate::world::Run;
use base::Instant;
use network::middlebox::{MiddleBoxConfig, Swallowed, Way};

fn swallow(swallowed: Swallowed) -> MiddleBoxConfig {
    MiddleBoxConfig::SilentDrop { swallowed }
}

/// On a path in both directions, or one.
fn on(run: Run, path: usize, way: Option<Way>, config: MiddleBoxConfig) -> Run {
    match way {
        None => run.behind(path, config),
        Some(way) => run.one_way(path, way, config),
    }
}

#[test]
fn connection_whose_syns_vanish_is_opened_as_tcp() {
    for paths in [1, 2] {
        for way in [None, Some(Way::Outward)] {
            let seen = on(Run::mptcp(paths), 0, way, swallow(Swallowed::MptcpSyns)).go();
            seen.assert_complete().assert_fallback(true);
            // The third repetition of the SYN has no option.
            assert!(seen.ended < Instant::from_secs(8), "{}", seen.ended);
        }
    }
}

#[test]
fn connection_whose_syn_acks_vanish_is_opened_in_the_end() {
    let seen = on(Run::mptcp(1), 0, Some(Way::Inward), swallow(Swallowed::MptcpSyns)).go();
    seen.assert_complete().assert_fallback(true);
}

#[test]
fn join_whose_syns_vanish_delays_nobody() {
    for way in [None, Some(Way::Outward), Some(Way::Inward)] {
        let seen = on(Run::mptcp(2), 1, way, swallow(Swallowed::MptcpSyns)).go();
        seen.assert_complete().assert_fallback(false);
        seen.assert_used(0, true).assert_used(1, false);
        assert!(seen.ended < Instant::from_secs(1), "{}", seen.ended);
    }
}

#[test]
fn path_that_falls_silent_is_replaced_by_the_other() {
    for path in 0..2 {
        for passed in [5, 100] {
            for way in [None, Some(Way::Outward), Some(Way::Inward)] {
                let config = swallow(Swallowed::After { passed });
                for run in [Run::mptcp(2), Run::mptcp(2).upload()] {
                    let seen = on(run, path, way, config.clone()).go();
                    seen.assert_arrived().assert_fallback(false).assert_used(1 - path, true);
                    assert!(seen.ended < Instant::from_secs(5), "{}", seen.ended);
                }
            }
        }
    }
}

#[test]
fn only_path_falling_silent_stops_the_transfer_where_it_was() {
    for run in [Run::tcp(), Run::mptcp(1)] {
        let seen = run.behind(0, swallow(Swallowed::After { passed: 100 })).go();
        assert!(seen.bytes_read() < seen.bytes && seen.mismatch().is_none(), "{seen:#?}");
    }
}
