//! Accounts of whole runs: the times add up to the life, the cause is named that the set-up makes,
//! and keeping them changes nothing.

use crate::multipath::over;
use crate::pair::{link, one_path, record, with};
use crate::robustness::hostile_link;
use base::{Blocked, Duration};
use harness::{Account, RunRecord, SimulatedRecord};
use network::{LinkChange, LossConfig};
use proptest::prelude::*;
use simulator::{Direction, PathEvent, RunSetup};
use traffic::Traffic;
use transport::{Buffers, Profile, scheduler};

fn accounts(setup: RunSetup) -> (RunRecord, Account) {
    let setup = with(setup, |setup| setup.recording.accounts = true);
    let record = record(&setup);
    let account = record.account().expect("accounts were asked for");
    check(&record, &account);
    // What a link copies arrives twice too.
    if setup.network.paths.iter().all(|path| path.down.duplicate == 0.0 && path.up.duplicate == 0.0)
    {
        assert!(spurious(&record) <= record.measured().sent.retransmitted_segs);
    }
    (record, account)
}

/// Every connection is in one state at any time.
fn check(record: &RunRecord, account: &Account) {
    let sum = account.stopped.iter().fold(Duration::ZERO, |sum, held| sum + held.time);
    assert_eq!(sum, account.life, "{account:?}");
    assert!(account.life > Duration::ZERO && account.of(Blocked::NothingToSend).bytes == 0);
    let reinjected: u64 =
        record.measured().sent.repeated.iter().map(|path| path.reinjected_bytes).sum();
    assert_eq!(reinjected, record.measured().sent.reinjected_bytes);
}

fn spurious(record: &RunRecord) -> u64 {
    record.measured().sent.repeated.iter().map(|path| path.spurious_segs).sum()
}

/// The part of the life.
fn share(account: &Account, why: Blocked) -> f64 {
    account.of(why).time.as_secs_f64() / account.life.as_secs_f64()
}

#[test]
fn long_transfer_waits_for_its_congestion_window() {
    let (record, account) = accounts(one_path(&link(20, 20), Traffic::BulkSize(4 << 20)));
    assert!(share(&account, Blocked::CongestionWindow) > 0.8, "{account:?}");
    assert!(account.of(Blocked::CongestionWindow).bytes > 3 << 20);
    // From the SYN that reached the server on.
    let path = account.life + Duration::from_millis(20);
    assert!((path..path + Duration::from_millis(1)).contains(&record.ended));
}

#[test]
fn small_receive_buffer_is_what_a_long_path_waits_for() {
    let mut setup = one_path(&link(100, 50), Traffic::BulkSize(1 << 20));
    setup.flows[0].tcp.buffers =
        Buffers { send_max: 4 << 20, receive_max: 32 << 10, auto_tuning: false };
    let (_, account) = accounts(setup);
    assert!(share(&account, Blocked::ReceiveWindow) > 0.9, "{account:?}");
}

#[test]
fn small_send_buffer_is_what_a_long_path_waits_for() {
    let mut setup = one_path(&link(100, 50), Traffic::BulkSize(1 << 20));
    setup.flows[0].tcp.buffers =
        Buffers { send_max: 16 << 10, receive_max: 4 << 20, auto_tuning: false };
    let (_, account) = accounts(setup);
    assert!(share(&account, Blocked::SendBuffer) > 0.8, "{account:?}");
    assert!(account.of(Blocked::SendBuffer).bytes > 900 << 10, "{account:?}");
}

#[test]
fn burst_waits_for_its_application() {
    let (_, account) =
        accounts(one_path(&link(20, 20), Traffic::Burst { segments: 15, segment_bytes: 1420 }));
    assert!(share(&account, Blocked::NothingToSend) > 0.9, "{account:?}");
    assert!(account.of(Blocked::Opening).time >= Duration::from_millis(39));
}

/// 002 sIV-C: BLEST leaves the slow path alone for a round of the fast one, LRF does not.
#[test]
fn scheduler_that_waits_is_charged_with_it() {
    let burst = |scheduler| {
        let traffic = Traffic::Burst { segments: 15, segment_bytes: 1428 };
        let mut setup = over(&[link(10_000, 5), link(10_000, 50)], scheduler, traffic);
        setup.network.nic = None;
        setup.flows[0].tcp.profile = Profile::Linux41;
        accounts(setup).1.of(Blocked::SchedulerWaits)
    };
    let blest = burst("blest-kernel");
    let ms = blest.time.as_secs_f64() * 1e3;
    assert!((9.9..31.0).contains(&ms), "{ms} ms");
    assert!(blest.bytes >= 5 * 1428, "{blest:?}");
    assert_eq!(burst("lrf").time, Duration::ZERO);
}

#[test]
fn loss_and_a_slower_path_keep_the_reader_waiting() {
    let (_, whole) = accounts(one_path(&link(20, 20), Traffic::BulkSize(256 << 10)));
    assert_eq!(whole.head_of_line.bytes, 0, "nothing is lost");
    let mut lossy = link(20, 20);
    lossy.loss = LossConfig::Bernoulli { p: 0.02 };
    let (_, account) = accounts(one_path(&lossy, Traffic::BulkSize(1 << 20)));
    let held = account.head_of_line;
    assert!(held.time > Duration::from_millis(40) && held.bytes > 10_000, "{held:?}");
    let links = [link(20, 10), link(5, 100)];
    let (_, account) = accounts(over(&links, "rr", Traffic::BulkSize(1 << 20)));
    assert!(account.head_of_line.time > Duration::from_millis(90), "{account:?}");
    assert!(account.head_of_line.bytes > 100_000 && account.head_of_line.bytes <= 1 << 20);
}

#[test]
fn segments_copied_by_a_link_are_spurious_though_nothing_was_sent_again() {
    let mut copying = link(20, 20);
    copying.duplicate = 0.1;
    let (record, _) = accounts(one_path(&copying, Traffic::BulkSize(256 << 10)));
    assert_eq!(record.measured().sent.retransmitted_segs, 0);
    assert!(spurious(&record) > 5, "{}", spurious(&record));
}

/// A path that falls silent leaves data to the other one.
#[test]
fn reinjections_are_those_of_the_path_that_carries_them() {
    let mut setup = over(&[link(20, 10), link(20, 30)], "lrf", Traffic::BulkSize(4 << 20));
    let at = Duration::from_millis(500);
    setup.network.paths[0].events =
        vec![PathEvent { at, direction: Direction::Both, change: LinkChange::Down }];
    let (record, _) = accounts(setup);
    let [first, second] = record.measured().sent.repeated.as_slice() else { panic!("two paths") };
    assert_eq!(first.reinjected_bytes, 0);
    assert!(second.reinjected_segs > 10 && second.reinjected_bytes > 10_000, "{second:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn times_add_up_over_any_links_and_accounts_change_nothing(
        down in hostile_link(),
        up in hostile_link(),
        scheduler in prop::sample::select(scheduler::NAMES).prop_map(|(name, ..)| name),
        several in any::<bool>(),
        run in 0u64..1000,
    ) {
        let traffic = Traffic::BulkSize(200 << 10);
        let base = if several {
            over(&[down, link(10, 20)], scheduler, traffic)
        } else {
            one_path(&down, traffic)
        };
        let mut setup = RunSetup { run, limit: Duration::from_secs(60), ..base };
        setup.network.paths[0].up = up;
        let (with, _) = accounts(setup.clone());
        let without = record(&setup);
        prop_assert_eq!(with.hash(), without.hash());
        let simulated = with.simulated.map(|one| SimulatedRecord { account: None, ..one });
        prop_assert_eq!(RunRecord { simulated, ..with }, without);
    }
}
