//! The backup flag of one subflow: what either host asks for (RFC 8684 s3.3.8).

/// Which hosts ask for a subflow to be used as a backup only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Priority {
    /// This host does.
    local: bool,
    /// The priority announced to the peer, by the flag in MP_JOIN or the last MP_PRIO.
    announced: bool,
    /// The peer does.
    remote: bool,
}

impl Priority {
    /// The flag of this host in MP_JOIN; the peer has none.
    pub const fn new(local: bool) -> Self {
        Priority { local, announced: local, remote: false }
    }

    /// The same with the flag of the peer's MP_JOIN.
    #[must_use]
    pub const fn with_remote(mut self, remote: bool) -> Self {
        self.remote = remote;
        self
    }

    /// Either host asks for it.
    pub const fn is_backup(self) -> bool {
        self.local || self.remote
    }

    /// The flag of the peer's MP_PRIO.
    pub const fn set_remote(&mut self, backup: bool) {
        self.remote = backup;
    }

    /// The flag of the peer's MP_JOIN.
    pub const fn add_remote(&mut self, backup: bool) {
        self.remote |= backup;
    }

    /// This host asks for it, or no longer. Whether that is a change.
    pub const fn set_local(&mut self, backup: bool) -> bool {
        let changed = self.local != backup;
        self.local = backup;
        changed
    }

    /// The flag to announce to the peer by MP_PRIO, if the last one announced differs.
    pub const fn take_announcement(&mut self) -> Option<bool> {
        if self.announced == self.local {
            return None;
        }
        self.announced = self.local;
        Some(self.local)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_is_announced_when_the_peer_believes_otherwise() {
        let mut priority = Priority::new(true);
        assert_eq!(priority.take_announcement(), None, "the join had it");
        assert!(priority.set_local(false));
        assert!(!priority.set_local(false));
        assert_eq!(priority.take_announcement(), Some(false));
        assert_eq!(priority.take_announcement(), None);
        assert!(priority.set_local(true) && priority.set_local(false));
        assert_eq!(priority.take_announcement(), None, "it never knew");
    }

    #[test]
    fn either_host_makes_a_backup() {
        let mut priority = Priority::default();
        priority.add_remote(true);
        priority.add_remote(false);
        assert!(priority.is_backup());
        priority.set_remote(false);
        assert!(!priority.is_backup());
        assert!(Priority::new(true).is_backup());
    }
}
