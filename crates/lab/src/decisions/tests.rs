//! Decisions of whole runs.

use super::*;
use crate::scenario::{Key, Options, variants_of};
use base::decision::Mark;

fn scenario(scheduler: &str, traffic: &str) -> Scenario {
    let options = Options::default()
        .with(Key::Path, "fast=rate 500mbit delay 5ms")
        .with(Key::Path, "slow=rate 500mbit delay 50ms")
        .with(Key::Traffic, traffic)
        .with(Key::Protocols, "mptcp")
        .with(Key::Schedulers, scheduler)
        .with(Key::Profile, "linux-4.1");
    options.resolve().expect("a scenario")
}

fn decisions(scheduler: &str, from_ms: u64) -> Decisions {
    let scenario = scenario(scheduler, "burst:15");
    let span = Span { from: Duration::from_millis(from_ms), until: None };
    let variant = &variants_of(&scenario)[0];
    record_decisions(&scenario, variant, 0, span, None).expect("a run").expect("a connection")
}

/// Segments of the burst by path.
fn sent(decisions: &Decisions) -> [u32; 2] {
    let mut sent = [0; 2];
    for one in &decisions.calls {
        if let Answer::Send { path, what: Sent::New, .. } = one.call.answer {
            sent[path.index()] += 1;
        }
    }
    sent
}

/// 002 sIV-C: LRF turns to the slow path when the fast one takes no more, be it for TCP Small
/// Queues or for its window of ten, BLEST waits.
#[test]
fn burst_of_fifteen_turns_to_the_slow_path_when_the_fast_one_takes_no_more() {
    let lrf = decisions("lrf", 2_000);
    assert_eq!(lrf.connection, (1, 1));
    assert_eq!(sent(&lrf), [10, 5]);
    for one in &lrf.calls {
        if matches!(one.call.answer, Answer::Send { path, .. } if path.0 == 1) {
            let marks = one.call.paths[0].marks;
            let full = marks.contains(Mark::SmallQueue) || marks.contains(Mark::WindowFull);
            assert!(full, "{marks:?}");
        }
    }
    let blest = decisions("blest-kernel", 2_000);
    assert_eq!(sent(&blest), [15, 0]);
    let waits = blest.calls.iter().filter(|one| matches!(one.call.answer, Answer::Wait(_)));
    assert!(waits.clone().any(|one| one.call.why.as_ref().is_some_and(|why| why.tests.len() == 1)));
}

#[test]
fn recording_decisions_changes_nothing() {
    for (scheduler, ..) in transport::scheduler::NAMES {
        let scenario = scenario(scheduler, "bulk:300KiB");
        let setup = setup(&scenario, &variants_of(&scenario)[0], 0);
        let watch = Watch(Rc::new(RefCell::new(Seen::default())));
        let recorded = simulate_recorded(&setup, Box::new(watch)).expect("a run");
        assert_eq!(recorded, simulator::simulate(&setup).expect("a run"), "{scheduler}");
    }
}

#[test]
fn span_bounds_what_is_kept_and_the_run_itself() {
    let scenario = scenario("lrf", "bulk:60s");
    let variant = &variants_of(&scenario)[0];
    let ms = Duration::from_millis;
    let span = Span { from: ms(100), until: Some(ms(150)) };
    let found = record_decisions(&scenario, variant, 0, span, Some(1)).expect("a run");
    let calls = found.expect("a connection").calls;
    let within = |one: &Call| (ms(100)..ms(150)).contains(&(one.at - Instant::ZERO));
    assert!(!calls.is_empty() && calls.iter().all(within));
    assert!(record_decisions(&scenario, variant, 0, span, Some(2)).expect("a run").is_none());
}

#[test]
fn span_of_nothing_is_refused() {
    let given = |text: &str| Given::argument("--until", text);
    let from = Given::argument("--from", "2s");
    assert!(Span::parse(Some(&from), Some(&given("3s"))).is_ok());
    for wrong in ["2s", "1s", "soon", "-1s"] {
        assert!(Span::parse(Some(&from), Some(&given(wrong))).is_err(), "{wrong}");
    }
}

#[test]
fn document_has_the_numbers_compared_and_the_answer() {
    let scenario = scenario("blest-kernel", "burst:15");
    let variant = &variants_of(&scenario)[0];
    let found = record_decisions(&scenario, variant, 0, Span::default(), None).expect("a run");
    let calls = found.expect("a connection").calls;
    let documents: Vec<_> = calls.iter().map(|one| decision_document(&scenario, one)).collect();
    let waits = documents.iter().find(|one| one["tests"][0]["relation"] == ">").expect("a wait");
    assert_eq!(waits["answer"], "wait");
    assert_eq!(waits["candidates"][0]["path"], "fast");
    assert_eq!(waits["tests"][0]["unit"], "byte");
    let sends = documents.iter().find(|one| one["answer"] == "send").expect("an answer");
    assert!(sends["bytes"].as_u64() > Some(0) && sends["path"].is_string(), "{sends}");
}

/// Regression: the help named `2s` whatever the beginning was.
#[test]
fn help_names_a_time_after_the_beginning() {
    let given = |option: &str, text: &str| Given::argument(option, text);
    let (from, until) = (given("--from", "3s"), given("--until", "2s"));
    let refusal = Span::parse(Some(&from), Some(&until)).unwrap_err().to_string();
    assert!(refusal.contains("such as `4s`"), "{refusal}");
}
