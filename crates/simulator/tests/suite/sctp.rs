//! SCTP over simulated links (RFC 9260).

use crate::pair::{link, record};
use network::LinkConfig;
use simulator::{Carrier, RunSetup};
use traffic::Traffic;
use transport::sctp::{Addresses, SctpConfig};

/// One association over these links; more than one: with all addresses, the first path primary.
pub(crate) fn sctp(links: &[LinkConfig], traffic: Traffic) -> RunSetup {
    let mut setup = crate::multipath::over(links, "lrf", traffic);
    let addresses = if links.len() > 1 { Addresses::All } else { Addresses::One };
    let config = SctpConfig { addresses, ..SctpConfig::default() };
    setup.flows[0].carrier = Carrier::Sctp(Box::new(config));
    setup
}

#[test]
fn bulk_completes_at_nearly_the_rate_of_the_link() {
    for size in [1 << 16, 1 << 20, 1 << 24] {
        let record = record(&sctp(&[link(10, 10)], Traffic::BulkSize(size)));
        assert!(record.outcome.value.is_some(), "{:?}", record.outcome);
    }
}
