//! Options that disappear: fallback to TCP, or the end of one subflow (RFC 8684 s3.7).

use crate::world::Run;
use base::Duration;
use network::middlebox::{JoinRule, MiddleBoxConfig, Stage, Way};

fn strip(stage: Stage) -> MiddleBoxConfig {
    MiddleBoxConfig::StripOptions { stage }
}

/// A box that joins what has mappings of its own, and keeps the first one.
fn careless() -> MiddleBoxConfig {
    let hold = Duration::from_millis(3);
    MiddleBoxConfig::Coalesce { max_bytes: 8000, hold, rule: JoinRule::FirstOptions }
}

/// Runs over one path in both directions, with and without checksums.
fn single() -> [Run; 4] {
    [Run::mptcp(1), Run::mptcp(1).upload(), Run::with_checksums(1), Run::with_checksums(1).upload()]
}

#[test]
fn handshake_without_options_is_that_of_tcp() {
    for stage in [Stage::Syn, Stage::SynAck, Stage::ThirdAck, Stage::All] {
        for run in single() {
            run.behind(0, strip(stage)).go().assert_complete().assert_fallback(true);
        }
        let seen = Run::mptcp(2).behind(0, strip(stage)).go();
        seen.assert_complete().assert_fallback(true).assert_used(1, false);
    }
}

#[test]
fn only_subflow_without_options_on_data_becomes_tcp() {
    for stage in [Stage::Data, Stage::After { passed: 3 }, Stage::After { passed: 100 }] {
        for run in single() {
            run.behind(0, strip(stage)).go().assert_complete().assert_fallback(true);
        }
    }
}

#[test]
fn options_lost_in_one_direction_make_it_tcp_in_both() {
    for way in [Way::Outward, Way::Inward] {
        for stage in [Stage::All, Stage::After { passed: 3 }, Stage::After { passed: 100 }] {
            for run in single() {
                let seen = run.one_way(0, way, strip(stage)).go();
                seen.assert_complete().assert_fallback(true);
            }
        }
    }
}

#[test]
fn join_without_options_is_refused_and_the_rest_goes_on() {
    for stage in [Stage::Syn, Stage::SynAck, Stage::ThirdAck, Stage::All] {
        let seen = Run::mptcp(2).behind(1, strip(stage)).go();
        seen.assert_complete().assert_fallback(false);
        seen.assert_used(0, true).assert_used(1, false);
    }
}

#[test]
fn joined_subflow_that_loses_its_options_is_reset_and_its_data_go_elsewhere() {
    for stage in [Stage::Data, Stage::After { passed: 3 }, Stage::After { passed: 100 }] {
        for run in [Run::mptcp(2), Run::mptcp(2).upload(), Run::with_checksums(2)] {
            let seen = run.behind(1, strip(stage)).go();
            seen.assert_complete().assert_fallback(false).assert_used(0, true);
            assert!(seen.refused() > 0, "{stage:?}: {seen:#?}");
        }
    }
}

#[test]
fn first_subflow_that_loses_its_options_beside_a_join_is_reset() {
    for way in [None, Some(Way::Outward), Some(Way::Inward)] {
        for run in [Run::mptcp(2), Run::mptcp(2).upload()] {
            let config = strip(Stage::After { passed: 200 });
            let seen = match way {
                None => run.behind(0, config).go(),
                Some(way) => run.one_way(0, way, config).go(),
            };
            seen.assert_arrived().assert_fallback(false).assert_used(1, true);
        }
    }
}

#[test]
fn options_lost_while_a_join_begins_do_no_harm() {
    let stages = [Stage::Data, Stage::After { passed: 2 }, Stage::After { passed: 3 }];
    for stage in stages {
        for run in [Run::mptcp(2), Run::mptcp(2).upload()] {
            run.behind(0, strip(stage)).go().assert_complete();
        }
        for way in [Way::Outward, Way::Inward] {
            Run::mptcp(2).one_way(0, way, strip(stage)).go().assert_complete();
        }
    }
}

#[test]
fn mapping_lost_by_joining_segments_ends_the_joined_subflow() {
    for run in [Run::mptcp(2), Run::mptcp(2).upload()] {
        let seen = run.behind(1, careless()).go();
        seen.assert_complete().assert_fallback(false).assert_used(0, true);
    }
}

#[test]
fn mapping_lost_by_joining_segments_makes_the_only_subflow_tcp() {
    for run in [Run::mptcp(1), Run::mptcp(1).upload()] {
        run.behind(0, careless()).go().assert_complete().assert_fallback(true);
    }
}
