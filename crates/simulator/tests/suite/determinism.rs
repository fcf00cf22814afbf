//! Same setup, same bytes; another seed, others; the codec and the recorder change nothing.

use crate::multipath::over;
use crate::pair::{link, one_path, record, with};
use network::{LinkConfig, LossConfig};
use simulator::{RunSetup, Until};
use traffic::Traffic;

fn lossy() -> RunSetup {
    let link = LinkConfig { loss: LossConfig::Bernoulli { p: 0.01 }, ..link(20, 15) };
    let traffic = Traffic::BulkSize(2_000_000);
    with(one_path(&link, traffic), |setup| setup.until = Until::Closed)
}

/// The same run with every packet serialised and parsed, and captured.
pub(crate) fn through_bytes(setup: RunSetup) -> RunSetup {
    with(setup, |setup| (setup.recording.pass_through, setup.recording.capture) = (true, true))
}

#[test]
fn same_setup_gives_the_same_record() {
    let setup = lossy();
    let (first, second) = (record(&setup), record(&setup));
    assert_eq!(first, second);
    assert!(first.hash().is_some());
    assert!(first.measured().sent.retransmitted_segs > 0, "the test needs losses");
}

#[test]
fn another_seed_or_run_gives_another_hash() {
    let base = record(&lossy()).hash();
    assert_ne!(base, record(&RunSetup { seed: 2, ..lossy() }).hash());
    assert_ne!(base, record(&RunSetup { run: 1, ..lossy() }).hash());
}

#[test]
fn packets_are_the_same_after_a_way_through_bytes() {
    let damaged = LinkConfig { corrupt: 0.01, ..lossy().network.paths[0].down.clone() };
    for ipv6 in [false, true] {
        let mut setup = lossy();
        setup.network.ipv6 = ipv6;
        setup.network.paths[0].down = damaged.clone();
        let plain = record(&setup);
        assert!(plain.links[0].down.corrupted > 0);
        let through = record(&through_bytes(setup));
        assert_eq!(plain.hash(), through.hash());
        assert!(through.captures.is_some_and(|captures| captures.sender.len() > 2_000_000));
    }
}

#[test]
fn hash_is_the_same_on_any_thread() {
    let setup = lossy();
    let here = record(&setup).hash();
    let there: Vec<_> = (0..2)
        .map(|_| {
            let setup = setup.clone();
            std::thread::spawn(move || record(&setup).hash())
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert_eq!(there, [here, here]);
}

#[test]
fn mptcp_is_the_same_again_on_any_thread_and_through_bytes() {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli { p: 0.01 }, ..link(20, 15) };
    for (scheduler, ..) in transport::scheduler::NAMES {
        for ipv6 in [false, true] {
            let links = [lossy.clone(), link(8, 40)];
            let mut setup = over(&links, scheduler, Traffic::BulkSize(2_000_000));
            setup.until = Until::Closed;
            setup.network.ipv6 = ipv6;
            let here = record(&setup);
            let through = through_bytes(setup.clone());
            let through = std::thread::spawn(move || record(&through)).join().unwrap();
            assert_eq!(here.hash(), through.hash(), "{scheduler}");
            assert_eq!(
                here.measured().sent.first_sent_bytes,
                through.measured().sent.first_sent_bytes
            );
            assert_ne!(here.hash(), record(&RunSetup { seed: 2, ..setup }).hash());
        }
    }
}
