//! `fullmesh`: n local and m remote addresses become n x m subflows (000 s2.3.1; multipath-tcp
//! kernel v0.95, `mptcp_fullmesh.c`).
//!
//! Only the client opens subflows, because a client behind a NAT cannot be reached; both sides
//! announce their addresses except that of the first subflow. Changes of addresses are collected
//! for a time (`batch`), so that a flapping interface has no effect. A subflow that timed out is
//! opened again (`create_on_err`).
//!
//! The kernel tries an unreachable pair once more after a second and never opens a subflow again
//! that was reset. Here a path that works again is used again during the whole connection: a pair
//! that was unreachable, or reset without a reason as middleboxes do (`create_on_reset`), is tried
//! after a second and then at intervals that double up to 64 s. A pair that the peer refused for
//! good (RFC 8684 s3.6) is tried after the next event of one of its addresses.

use super::table::{PathManagerKind, PathManagerRow, Side};
use super::{Address, Command, Ending, JoinKind, Known, Manager, PathEvent};
use crate::parameters::{Kind, Parameter};
use base::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Time after which an unreachable pair is tried again (multipath-tcp kernel v0.95).
const RETRY: Duration = Duration::from_secs(1);
/// The largest number of doublings of it, that of repeated SYNs (Linux `tcp_syn_retries`).
const MAX_DOUBLINGS: u32 = 6;
/// Addresses of either side that are meshed (multipath-tcp kernel v0.95).
const MAX_ADDRESSES: usize = 8;

/// The row of `fullmesh`.
pub(super) const ROW: PathManagerRow = PathManagerRow {
    name: "fullmesh",
    about: "The client joins every pair of addresses; both sides announce theirs.",
    source: "000 s2.3.1, multipath-tcp kernel v0.95 `fullmesh`",
    parameters: PARAMETERS,
    number: None,
    kind: |settings| PathManagerKind::Fullmesh {
        again: Reopen {
            on_err: settings.is_on("create_on_err"),
            on_reset: settings.is_on("create_on_reset"),
        },
        batch: settings.time("batch"),
    },
    values: |kind| match kind {
        PathManagerKind::Fullmesh { again, batch } => {
            let on = |switch| f64::from(u8::from(switch));
            vec![on(again.on_err), on(again.on_reset), batch.as_nanos() as f64 / 1e6]
        }
        _ => Vec::new(),
    },
    extra_subflows: PathManagerRow::one_per_path,
};

/// What a user may set.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "create_on_err",
        about: "a subflow that timed out is opened again",
        least: 0.0,
        most: 1.0,
        default: 1.0,
        kind: Kind::Switch,
        source: "multipath-tcp kernel v0.95",
    },
    Parameter {
        key: "create_on_reset",
        about: "a subflow that was reset is opened again",
        least: 0.0,
        most: 1.0,
        default: 1.0,
        kind: Kind::Switch,
        source: "anabranch; off in multipath-tcp kernel v0.95",
    },
    Parameter {
        key: "batch",
        about: "time for which changes of addresses are collected",
        least: 0.0,
        most: 10_000.0,
        default: 500.0,
        kind: Kind::Time,
        source: "multipath-tcp kernel v0.95",
    },
];

/// The state of the manager.
#[derive(Clone, Debug)]
pub struct Fullmesh {
    client: bool,
    reopen: Reopen,
    batch: Duration,
    established: bool,
    /// The connection's own address cannot be meshed, so that the manager does as `default`.
    disabled: bool,
    /// Numbers of the addresses of this host that the peer has.
    present: BTreeSet<u8>,
    /// Pairs tried, the first subflow's included.
    tried: BTreeSet<(u8, u8)>,
    /// Failures of pairs since their last subflow.
    failures: BTreeMap<(u8, u8), u32>,
    /// Pairs to be tried again, with the time.
    retries: Vec<(Instant, u8, u8)>,
    /// Changes of addresses of this host, the last one of each, in order.
    changes: Vec<(u8, Change)>,
    /// The time at which they take effect.
    changes_due: Instant,
}

/// The subflows that are opened again after they ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reopen {
    /// Subflows that timed out.
    pub on_err: bool,
    /// Subflows that were reset without a reason.
    pub on_reset: bool,
}

/// A change of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Up,
    Down,
}

/// Whether an address can be part of a mesh, which loopback and link-local ones cannot.
fn is_meshable(ip: IpAddr) -> bool {
    let link_local = match ip {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !ip.is_loopback() && !ip.is_unspecified() && !link_local
}

impl Fullmesh {
    /// A manager that waits for the connection to be established.
    pub(super) fn new(side: &Side<'_>, reopen: Reopen, batch: Duration) -> Self {
        Fullmesh {
            client: side.client,
            reopen,
            batch,
            established: false,
            disabled: false,
            present: BTreeSet::new(),
            tried: BTreeSet::from([(0, 0)]),
            failures: BTreeMap::new(),
            retries: Vec::new(),
            changes: Vec::new(),
            changes_due: Instant::FAR_FUTURE,
        }
    }

    /// Starts, unless the address of the first subflow cannot be meshed.
    fn establish(&mut self, known: &Known<'_>, commands: &mut Vec<Command>) {
        self.established = true;
        let usable = |here: &&Address| is_meshable(here.ip);
        self.disabled = !known.local.iter().filter(usable).any(|here| here.id == 0);
        if self.disabled {
            return;
        }
        self.present = known.local.iter().filter(usable).map(|here| here.id).collect();
        let others = self.present.iter().filter(|id| **id != 0);
        commands.extend(others.map(|id| Command::Announce { local_id: *id }));
    }

    /// An address changed; of several changes the last one counts.
    fn on_change(&mut self, now: Instant, id: u8, change: Change) {
        self.changes.retain(|(known, _)| *known != id);
        self.changes.push((id, change));
        self.changes_due = self.changes_due.min(now + self.batch);
    }

    fn apply_changes(&mut self, known: &Known<'_>, commands: &mut Vec<Command>) {
        self.changes_due = Instant::FAR_FUTURE;
        for (id, change) in std::mem::take(&mut self.changes) {
            self.forget_local(id);
            match change {
                Change::Up => {
                    let here = known.local.iter().find(|here| here.id == id);
                    if here.is_some_and(|here| is_meshable(here.ip)) && self.present.insert(id) {
                        commands.push(Command::Announce { local_id: id });
                    }
                }
                Change::Down => {
                    if self.present.remove(&id) {
                        commands.push(Command::Remove { local_id: id });
                    }
                }
            }
        }
    }

    fn forget_local(&mut self, id: u8) {
        self.tried.retain(|(local_id, _)| *local_id != id);
        self.failures.retain(|(local_id, _), _| *local_id != id);
    }

    fn forget_remote(&mut self, id: u8) {
        self.tried.retain(|(_, remote_id)| *remote_id != id);
        self.failures.retain(|(_, remote_id), _| *remote_id != id);
    }

    fn on_ended(&mut self, now: Instant, pair: (u8, u8), how: Ending) {
        match how {
            Ending::Unreachable | Ending::NotNow => self.retry(now, pair),
            Ending::Reset if self.reopen.on_reset => self.retry(now, pair),
            Ending::TimedOut if self.reopen.on_err => {
                self.tried.remove(&pair);
            }
            Ending::TimedOut | Ending::Refused | Ending::Reset => {}
        }
    }

    fn retry(&mut self, now: Instant, pair: (u8, u8)) {
        let failures = self.failures.entry(pair).or_default();
        let wait = RETRY * (1 << *failures);
        *failures = (*failures + 1).min(MAX_DOUBLINGS);
        self.retries.retain(|(_, local_id, remote_id)| (*local_id, *remote_id) != pair);
        self.retries.push((now + wait, pair.0, pair.1));
        debug_assert!(wait <= RETRY * (1 << MAX_DOUBLINGS), "{self:?}");
    }

    fn take_due(&mut self, now: Instant, known: &Known<'_>, commands: &mut Vec<Command>) {
        if self.changes_due <= now {
            self.apply_changes(known, commands);
        }
        let tried = &mut self.tried;
        self.retries.retain(|(at, local_id, remote_id)| {
            if *at <= now {
                tried.remove(&(*local_id, *remote_id));
            }
            *at > now
        });
    }

    fn mesh(&mut self, known: &Known<'_>, commands: &mut Vec<Command>) {
        let usable = |at: &&Address| is_meshable(at.ip);
        for there in known.remote.iter().filter(usable).take(MAX_ADDRESSES) {
            for here in known.local.iter().filter(usable).take(MAX_ADDRESSES) {
                let family = here.ip.is_ipv4() == there.ip.is_ipv4();
                let present = self.present.contains(&here.id);
                if family && present && self.tried.insert((here.id, there.id)) {
                    commands.push(Command::Join {
                        local_id: here.id,
                        remote_id: there.id,
                        kind: JoinKind::Pair,
                    });
                }
            }
        }
    }
}

impl Manager for Fullmesh {
    fn on_event(&mut self, now: Instant, event: PathEvent, known: &Known<'_>) -> Vec<Command> {
        let mut commands = Vec::new();
        match event {
            PathEvent::Established => self.establish(known, &mut commands),
            PathEvent::LocalUp(address) if self.established => {
                self.on_change(now, address.id, Change::Up);
            }
            PathEvent::LocalDown { id, .. } if self.established => {
                self.on_change(now, id, Change::Down);
            }
            PathEvent::Announced(address) => self.forget_remote(address.id),
            PathEvent::Removed { id } => self.forget_remote(id),
            PathEvent::Joined { local_id, remote_id } => {
                self.tried.insert((local_id, remote_id));
                self.failures.remove(&(local_id, remote_id));
            }
            PathEvent::Ended { local_id, remote_id, how } => {
                self.on_ended(now, (local_id, remote_id), how);
            }
            PathEvent::LocalUp(_)
            | PathEvent::LocalDown { .. }
            | PathEvent::Echoed { .. }
            | PathEvent::Timer => {}
        }
        if !self.established || self.disabled {
            return commands;
        }
        self.take_due(now, known, &mut commands);
        let removed = matches!(event, PathEvent::Removed { .. });
        if self.client && !removed {
            self.mesh(known, &mut commands);
        }
        commands
    }

    fn deadline(&self) -> Instant {
        if !self.established || self.disabled {
            return Instant::FAR_FUTURE;
        }
        let retry = self.retries.iter().map(|(at, ..)| *at).min();
        retry.unwrap_or(Instant::FAR_FUTURE).min(self.changes_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_manager::Endpoints;
    use crate::path_manager::tests::{addresses, joins, known};

    const BATCH: Duration = Duration::from_millis(500);

    const ALWAYS: Reopen = Reopen { on_err: true, on_reset: true };

    fn fullmesh(client: bool, reopen: Reopen) -> Fullmesh {
        let endpoints = &Endpoints::default();
        Fullmesh::new(&Side { client, endpoints, gateway_lists: 0 }, reopen, BATCH)
    }

    fn client() -> Fullmesh {
        fullmesh(true, ALWAYS)
    }

    fn ended(local_id: u8, remote_id: u8, how: Ending) -> PathEvent {
        PathEvent::Ended { local_id, remote_id, how }
    }

    #[test]
    fn fm_1_two_by_two_addresses_are_four_subflows() {
        let mut mesh = client();
        let local = addresses(&[0, 1], 1);
        let first = addresses(&[0], 2);
        let one = mesh.on_event(Instant::ZERO, PathEvent::Established, &known(&local, &first));
        assert_eq!(joins(&one), [(1, 0)], "two by one: one beside the first");
        let remote = addresses(&[0, 1], 2);
        let known = known(&local, &remote);
        let more = mesh.on_event(Instant::ZERO, PathEvent::Announced(remote[1]), &known);
        assert_eq!(joins(&more), [(0, 1), (1, 1)]);
    }

    #[test]
    fn at_most_eight_by_eight() {
        let many: Vec<u8> = (0..12).collect();
        let (local, remote) = (addresses(&many, 1), addresses(&many, 2));
        let known = known(&local, &remote);
        let commands = client().on_event(Instant::ZERO, PathEvent::Established, &known);
        assert_eq!(joins(&commands).len(), 63, "the first subflow is the 64th");
    }

    #[test]
    fn server_announces_and_opens_nothing() {
        let mut mesh = fullmesh(false, ALWAYS);
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0, 3], 2));
        let commands =
            mesh.on_event(Instant::ZERO, PathEvent::Established, &known(&local, &remote));
        assert_eq!(commands, [Command::Announce { local_id: 1 }]);
    }

    #[test]
    fn pair_that_cannot_be_reached_is_tried_again_at_intervals_that_double() {
        let mut mesh = client();
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0], 2));
        let known = known(&local, &remote);
        mesh.on_event(Instant::ZERO, PathEvent::Established, &known);
        let failed = ended(1, 0, Ending::Unreachable);
        let now = Instant::ZERO + Duration::from_millis(70);
        assert!(joins(&mesh.on_event(now, failed, &known)).is_empty());
        let due = now + Duration::from_secs(1);
        assert_eq!(mesh.deadline(), due);
        assert_eq!(joins(&mesh.on_event(due, PathEvent::Timer, &known)), [(1, 0)]);
        let mut waits = Vec::new();
        let mut now = due;
        for _ in 0..8 {
            mesh.on_event(now, failed, &known);
            waits.push((mesh.deadline() - now).as_millis() / 1000);
            now = mesh.deadline();
            assert_eq!(joins(&mesh.on_event(now, PathEvent::Timer, &known)), [(1, 0)]);
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 64, 64]);
        // Once there was a subflow, the count begins anew.
        mesh.on_event(now, PathEvent::Joined { local_id: 1, remote_id: 0 }, &known);
        mesh.on_event(now, failed, &known);
        assert_eq!(mesh.deadline(), now + RETRY);
        // After an announcement another attempt may succeed.
        let announced = PathEvent::Announced(remote[0]);
        assert_eq!(joins(&mesh.on_event(now, announced, &known)), [(0, 0), (1, 0)]);
    }

    #[test]
    fn subflows_that_timed_out_or_were_reset_are_opened_again_if_asked_for() {
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0], 2));
        let known = known(&local, &remote);
        for (on, how, at_once, later) in [
            (true, Ending::TimedOut, 1, 0),
            (false, Ending::TimedOut, 0, 0),
            (true, Ending::Reset, 0, 1),
            (false, Ending::Reset, 0, 0),
            (true, Ending::Refused, 0, 0),
        ] {
            let again = Reopen { on_err: on, on_reset: on };
            let mut mesh = fullmesh(true, again);
            mesh.on_event(Instant::ZERO, PathEvent::Established, &known);
            let commands = mesh.on_event(Instant::ZERO, ended(1, 0, how), &known);
            assert_eq!(joins(&commands).len(), at_once, "{on} {how:?}");
            let commands = mesh.on_event(Instant::ZERO + RETRY, PathEvent::Timer, &known);
            assert_eq!(joins(&commands).len(), later, "{on} {how:?}");
        }
    }

    #[test]
    fn changes_of_addresses_are_gathered_for_half_a_second() {
        let mut mesh = client();
        let (all, remote) = (addresses(&[0, 1, 2], 1), addresses(&[0], 2));
        mesh.on_event(Instant::ZERO, PathEvent::Established, &known(&all, &remote));
        let left = [all[0]];
        let without = known(&left, &remote);
        let down = |id| PathEvent::LocalDown { id, removed: false };
        assert!(mesh.on_event(Instant::ZERO, down(1), &without).is_empty());
        let later = Instant::ZERO + Duration::from_millis(400);
        assert!(mesh.on_event(later, down(2), &without).is_empty());
        assert_eq!(mesh.deadline(), Instant::ZERO + BATCH, "counted from the first one");
        let commands = mesh.on_event(mesh.deadline(), PathEvent::Timer, &without);
        let gone = |id| Command::Remove { local_id: id };
        assert_eq!(commands, [gone(1), gone(2)]);
        // Back again: announced and meshed.
        let now = Instant::ZERO + Duration::from_secs(5);
        mesh.on_event(now, PathEvent::LocalUp(all[1]), &known(&all[..2], &remote));
        let commands = mesh.on_event(now + BATCH, PathEvent::Timer, &known(&all[..2], &remote));
        assert_eq!(commands[0], Command::Announce { local_id: 1 });
        assert_eq!(joins(&commands), [(1, 0)], "only what the address has to do with");
    }

    #[test]
    fn address_that_flaps_is_neither_withdrawn_nor_announced() {
        let mut mesh = client();
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0], 2));
        let all = known(&local, &remote);
        mesh.on_event(Instant::ZERO, PathEvent::Established, &all);
        let without = known(&local[..1], &remote);
        mesh.on_event(Instant::ZERO, PathEvent::LocalDown { id: 1, removed: true }, &without);
        mesh.on_event(Instant::ZERO, PathEvent::LocalUp(local[1]), &all);
        let commands = mesh.on_event(Instant::ZERO + BATCH, PathEvent::Timer, &all);
        let told = |command: &Command| !matches!(command, Command::Join { .. });
        assert!(!commands.iter().any(told), "{commands:?}");
    }

    #[test]
    fn connection_from_an_address_that_is_not_the_hosts_is_left_alone() {
        let (local, remote) = (addresses(&[1, 2], 1), addresses(&[0], 2));
        let mut mesh = client();
        assert!(
            mesh.on_event(Instant::ZERO, PathEvent::Established, &known(&local, &remote))
                .is_empty()
        );
        let added = PathEvent::LocalUp(local[1]);
        assert!(mesh.on_event(Instant::ZERO, added, &known(&local, &remote)).is_empty());
        assert_eq!(mesh.deadline(), Instant::FAR_FUTURE);
    }

    #[test]
    fn addresses_that_lead_nowhere_else_are_ignored() {
        let at = |id, ip: &str| Address { id, ip: ip.parse().unwrap() };
        let local = [
            at(0, "10.0.0.1"),
            at(1, "127.0.0.1"),
            at(2, "fe80::1"),
            at(3, "::1"),
            at(4, "10.0.1.1"),
        ];
        let remote = [at(0, "10.0.0.2")];
        let commands =
            client().on_event(Instant::ZERO, PathEvent::Established, &known(&local, &remote));
        assert_eq!(joins(&commands), [(4, 0)]);
        assert_eq!(commands[0], Command::Announce { local_id: 4 });
    }
}
