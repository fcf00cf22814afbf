//! CMT-SCTP over simulated links: data on all paths of an association at once.

use crate::pair::{link, record, value, with};
use crate::sctp::sctp;
use base::Duration;
use network::LinkConfig;
use simulator::{Carrier, RunSetup};
use traffic::Traffic;
use transport::sctp::SctpConfig;
use transport::sctp::cmt::CmtConfig;

/// One association over all of these links at once.
pub(crate) fn cmt(links: &[LinkConfig], traffic: Traffic) -> RunSetup {
    change(sctp(links, traffic), |config| config.cmt = Some(CmtConfig::default()))
}

fn change(setup: RunSetup, change: impl FnOnce(&mut SctpConfig)) -> RunSetup {
    with(setup, |setup| {
        if let Carrier::Sctp(config) = &mut setup.flows[0].carrier {
            change(config);
        }
    })
}

fn goodput(links: &[LinkConfig], seconds: u64) -> f64 {
    value(&cmt(links, Traffic::BulkTime(Duration::from_secs(seconds))))
}

#[test]
fn two_equal_disjoint_paths_carry_twice_as_much_as_one() {
    let traffic = || Traffic::BulkTime(Duration::from_secs(20));
    let one = value(&sctp(&[link(10, 20)], traffic()));
    let two = value(&cmt(&[link(10, 20), link(10, 20)], traffic()));
    assert!(two >= 1.9 * one, "{two} {one}");
}

#[test]
fn unequal_paths_are_both_filled() {
    let sum = goodput(&[link(25, 20), link(4, 70)], 60);
    assert!(sum >= 26e6, "{sum}");
}

#[test]
fn objects_arrive_whole_over_all_paths() {
    for mib in [1u64, 16] {
        let links = [link(25, 20), link(4, 70), link(10, 5)];
        let record = record(&cmt(&links, Traffic::BulkSize(mib << 20)));
        assert!(record.outcome.value.is_some(), "{:?}", record.outcome);
    }
}
