//! placeholder
use lab::results::Provenance;
use lab::{Report, Scenario};

pub fn page(_scenario: &Scenario, _report: &Report, _provenance: &Provenance) -> String {
    String::new()
}
