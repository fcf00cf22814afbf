//! Boxes that an endpoint need not notice: transfers complete as if there were none.

use crate::world::Run;
use base::{Context, Duration};
use network::middlebox::{JoinRule, MiddleBox, MiddleBoxConfig, OptionCopies, Splitter, Stage};
use wire::Packet;

fn nat(path: u8) -> MiddleBoxConfig {
    let outside = [192, 0, 2, path + 1].into();
    MiddleBoxConfig::Nat { outside, idle: Duration::from_secs(7440), rebind: None }
}

fn rewriter() -> MiddleBoxConfig {
    MiddleBoxConfig::RewriteSequence { owner: 99 }
}

fn coalescer(rule: JoinRule) -> MiddleBoxConfig {
    MiddleBoxConfig::Coalesce { max_bytes: 8000, hold: Duration::from_millis(3), rule }
}

fn splitter(copies: OptionCopies) -> MiddleBoxConfig {
    MiddleBoxConfig::Split { max_bytes: 600, copies }
}

#[test]
fn tcp_passes_every_box_that_keeps_its_stream() {
    for config in [
        nat(0),
        rewriter(),
        splitter(OptionCopies::All),
        splitter(OptionCopies::First),
        coalescer(JoinRule::SameOptions),
        coalescer(JoinRule::FirstOptions),
        MiddleBoxConfig::StripOptions { stage: Stage::All },
    ] {
        for loss in [0.0, 0.01] {
            Run::tcp().lossy(loss).behind(0, config.clone()).go().assert_complete();
            Run::tcp().lossy(loss).upload().behind(0, config.clone()).go().assert_complete();
        }
    }
}

#[test]
fn joining_and_splitting_change_the_number_of_segments() {
    let plain = Run::tcp().go().data_packets[0];
    let joined = Run::tcp().behind(0, coalescer(JoinRule::FirstOptions)).go().data_packets[0];
    let split = Run::tcp().behind(0, splitter(OptionCopies::All)).go().data_packets[0];
    assert!(2 * joined < plain && split > 2 * plain, "{joined} {plain} {split}");
}

/// MPTCP uses both paths behind such a box on each, without fallback.
fn mptcp_passes(boxes: [MiddleBoxConfig; 2]) {
    let runs = [Run::mptcp(2), Run::with_checksums(2), Run::mptcp(2).upload()];
    for (number, run) in runs.into_iter().enumerate() {
        let [first, second] = boxes.clone();
        let seen = run.behind(0, first).behind(1, second).go();
        seen.assert_complete().assert_fallback(false);
        seen.assert_used(0, true).assert_used(1, true);
        assert_eq!(seen.refused(), 0, "run {number}: {seen:#?}");
    }
    let [first, second] = boxes;
    let seen = Run::mptcp(2).lossy(0.01).behind(0, first).behind(1, second).go();
    seen.assert_complete().assert_fallback(false);
}

#[test]
fn joins_find_their_connection_by_token_behind_a_nat() {
    mptcp_passes([nat(0), nat(1)]);
}

#[test]
fn mappings_do_not_depend_on_initial_sequence_numbers() {
    mptcp_passes([rewriter(), rewriter()]);
}

#[test]
fn mapping_may_come_on_each_of_several_segments() {
    mptcp_passes([splitter(OptionCopies::All), splitter(OptionCopies::All)]);
}

#[test]
fn mapping_may_cover_segments_that_have_none() {
    mptcp_passes([splitter(OptionCopies::First), splitter(OptionCopies::First)]);
}

/// Splits segments, and loses the piece with the mapping of every `nth` one.
struct LosesFirstPiece {
    splitter: Splitter,
    nth: u64,
    seen: u64,
}

impl MiddleBox for LosesFirstPiece {
    fn handle(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>) {
        let start = out.len();
        self.splitter.handle(cx, packet, out);
        if out.len() - start > 1 {
            self.seen += 1;
            if self.seen.is_multiple_of(self.nth) {
                out.remove(start);
            }
        }
    }
}

#[test]
fn mapping_lost_with_its_piece_comes_again_with_it() {
    let splitter = Splitter::new(600, OptionCopies::First);
    let seen = Run::mptcp(1).behind_own(LosesFirstPiece { splitter, nth: 50, seen: 0 }).go();
    seen.assert_complete().assert_fallback(false);
    assert_eq!(seen.refused(), 0, "{seen:#?}");
}

#[test]
fn joined_segments_are_covered_by_the_mapping_they_share() {
    mptcp_passes([coalescer(JoinRule::SameOptions), coalescer(JoinRule::SameOptions)]);
}

#[test]
fn nat_that_forgets_idle_flows_costs_a_subflow_and_no_data() {
    // The box is near the client in one direction and near the server in the other: the mapping has
    // expired before the answer to the SYN of the join comes back.
    let (outside, idle) = ([192, 0, 2, 1].into(), Duration::from_millis(20));
    let hasty = MiddleBoxConfig::Nat { outside, idle, rebind: None };
    let seen = Run::mptcp(2).behind(1, hasty).go();
    seen.assert_complete().assert_fallback(false).assert_used(0, true).assert_used(1, false);
}
