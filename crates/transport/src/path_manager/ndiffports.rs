//! `ndiffports`: several subflows between the first two addresses, from different ports
//! (multipath-tcp kernel v0.95, `mptcp_ndiffports.c`). Routers that balance load by ports (ECMP)
//! may carry them over different links.

use super::table::{PathManagerKind, PathManagerRow, Side};
use super::{Command, JoinKind, Known, Manager, PathEvent};
use crate::parameters::{Kind, Parameter};
use base::Instant;

/// The row of `ndiffports`.
pub(super) const ROW: PathManagerRow = PathManagerRow {
    name: "ndiffports",
    about: "The client joins the first two addresses again, from other ports: `ndiffports:3` has \
            three subflows in all.",
    source: "multipath-tcp kernel v0.95 `ndiffports`",
    parameters: &[Parameter {
        key: "subflows",
        about: "subflows in all",
        least: 1.0,
        // Eight in addition to the first, as both kernels allow.
        most: 9.0,
        default: 2.0,
        kind: Kind::Whole,
        source: "multipath-tcp kernel v0.95",
    }],
    // As the module parameter of the kernel.
    number: Some("subflows"),
    kind: |settings| {
        // Its range is within that of the type.
        PathManagerKind::Ndiffports { subflows: settings.whole("subflows") as u8 }
    },
    values: |kind| vec![f64::from(subflows(kind))],
    extra_subflows: |kind, _| usize::from(subflows(kind).saturating_sub(1)),
};

/// The number of subflows of a choice of this manager.
const fn subflows(kind: PathManagerKind) -> u8 {
    match kind {
        PathManagerKind::Ndiffports { subflows } => subflows,
        _ => 1,
    }
}

/// The state of the manager.
#[derive(Clone, Debug)]
pub struct Ndiffports {
    /// Subflows still to be opened.
    left: u8,
}

impl Ndiffports {
    /// `subflows` includes the first one; only the client opens the others.
    pub(super) const fn new(side: &Side<'_>, subflows: u8) -> Self {
        Ndiffports { left: if side.client { subflows.saturating_sub(1) } else { 0 } }
    }
}

impl Manager for Ndiffports {
    /// Nothing is announced, and a subflow that ended is not opened again.
    fn on_event(&mut self, _: Instant, event: PathEvent, _: &Known<'_>) -> Vec<Command> {
        if event != PathEvent::Established {
            return Vec::new();
        }
        let join = Command::Join { local_id: 0, remote_id: 0, kind: JoinKind::OtherPort };
        vec![join; usize::from(std::mem::take(&mut self.left))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_manager::Endpoints;
    use crate::path_manager::tests::{addresses, known};

    fn ndiffports(client: bool, subflows: u8) -> Ndiffports {
        let endpoints = &Endpoints::default();
        Ndiffports::new(&Side { client, endpoints, gateway_lists: 0 }, subflows)
    }

    #[test]
    fn n_subflows_are_the_first_one_and_the_rest() {
        let both = addresses(&[0, 1], 1);
        for (subflows, joins) in [(1, 0), (2, 1), (9, 8)] {
            let mut manager = ndiffports(true, subflows);
            let event = PathEvent::Established;
            let commands = manager.on_event(Instant::ZERO, event, &known(&both, &both));
            assert_eq!(commands.len(), joins);
            let again = manager.on_event(Instant::ZERO, event, &known(&both, &both));
            assert!(again.is_empty());
        }
        let mut server = ndiffports(false, 4);
        assert!(
            server.on_event(Instant::ZERO, PathEvent::Established, &known(&both, &both)).is_empty()
        );
    }
}
