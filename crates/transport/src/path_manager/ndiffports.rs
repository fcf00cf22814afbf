//! `ndiffports`: several subflows between the first two addresses, from different ports
//! (mptcp-protocol spec s4.3). Routers that spread connections by their ports (ECMP) may then
//! carry them over different links.

use super::{Command, Known, Manager, Over, PathEvent};
use base::Instant;

/// The manager's memory.
#[derive(Clone, Debug)]
pub struct Ndiffports {
    /// Subflows that are still to be opened.
    left: u8,
}

impl Ndiffports {
    /// For `subflows` in all; only the client opens them.
    pub const fn new(client: bool, subflows: u8) -> Self {
        Ndiffports { left: if client { subflows.saturating_sub(1) } else { 0 } }
    }
}

impl Manager for Ndiffports {
    /// Nothing is announced, and a subflow that ended is not opened again.
    fn on_event(&mut self, _: Instant, event: PathEvent, _: &Known<'_>) -> Vec<Command> {
        if event != PathEvent::Established {
            return Vec::new();
        }
        let join = Command::Join { local_id: 0, remote_id: 0, over: Over::OtherPort };
        vec![join; usize::from(std::mem::take(&mut self.left))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_manager::tests::{addresses, known};

    #[test]
    fn n_subflows_are_the_first_one_and_the_rest() {
        let both = addresses(&[0, 1], 1);
        for (subflows, joins) in [(1, 0), (2, 1), (9, 8)] {
            let mut manager = Ndiffports::new(true, subflows);
            let event = PathEvent::Established;
            let commands = manager.on_event(Instant::ZERO, event, &known(&both, &both));
            assert_eq!(commands.len(), joins);
            let again = manager.on_event(Instant::ZERO, event, &known(&both, &both));
            assert!(again.is_empty());
        }
        let mut server = Ndiffports::new(false, 4);
        assert!(
            server.on_event(Instant::ZERO, PathEvent::Established, &known(&both, &both)).is_empty()
        );
    }
}
