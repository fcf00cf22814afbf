//! Profiles: named lists of switches, how a kernel of a certain age behaves.
//!
//! Sources are `specs/tcp-subflow.md` s8 for the old kernels and Linux 6.12 to 6.18 for `linux`.
//! A switch whose value for a profile was not verified is listed by [`Profile::unverified`].

use crate::recovery::{PrrVariant, TlpRule};
use base::Duration;

/// Named lists of switches: how a kernel of a certain age behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Profile {
    /// Linux 6.18.
    #[default]
    Linux,
    /// Paper 002's kernel, MPTCP 0.91.
    Linux41,
    /// Paper 000's kernel, MPTCP 0.89.
    Linux314,
    /// Paper 004's kernel, MPTCP 0.88.
    Linux311,
    /// Paper 001's kernel, MPTCP 0.86.
    Linux35,
}

/// How lost segments are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossDetection {
    /// By time (RFC 8985).
    Rack,
    /// By segments SACKed above (RFC 6675), forward acknowledgement included: the gap to the
    /// highest SACKed segment counts, SACKed or not, until reordering is seen.
    SackFack,
}

/// The window that a retransmission time-out leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndAfterRto {
    /// Segments still considered in flight, and one more.
    InflightPlusOne,
    /// RFC 5681's loss window.
    One,
}

/// Which receive window bounds a subflow of a multi-path connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubflowWindow {
    /// The connection's alone (mainline).
    Lift,
    /// The one that the peer last announced on the subflow, too (RFC 8684 s3.3.5).
    Rfc,
}

/// How large the send buffer of a multi-path connection is while buffers are auto-tuned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionBuffer {
    /// The smallest buffer and all that subflows have; each grows as a TCP connection's does, the
    /// writer's want being that of all (mainline `__mptcp_sync_sndbuf`).
    Sum,
    /// What the windows of subflows call for, together no more than the largest buffer of one
    /// (multipath-tcp kernels).
    Capped,
}

/// What TCP Small Queues bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmallQueue {
    /// Bytes below the transport beyond which nothing more is handed down.
    pub cap_bytes: u64,
}

/// Everything in which the profiles differ, and the constants they share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Switches {
    pub loss_detection: LossDetection,
    /// RFC 5827, delayed by a quarter of the smallest RTT.
    pub early_retransmit: bool,
    pub tlp: Option<TlpRule>,
    pub prr: PrrVariant,
    pub cwnd_after_rto: CwndAfterRto,
    pub frto: bool,
    /// SACKs beyond the third for one gap are merged (1 ms or 44 of them).
    pub compressed_acks: bool,
    pub small_queue: SmallQueue,
    pub subflow_window: SubflowWindow,
    pub connection_buffer: ConnectionBuffer,
    /// Segments are handed down in bursts of a millisecond's worth, and a burst is deferred
    /// while an acknowledgement that would enlarge it is due (Linux TSO autosizing).
    pub autosized_bursts: bool,
    /// A connection of several paths sends each segment as it hands it to a subflow, so that its
    /// scheduler sees the window fill (the multipath-tcp kernels); mainline hands over first.
    pub sends_what_it_hands: bool,
    /// A connection of several paths has mainline's limits: no joins once the application will
    /// send no more, and a window by the least ratio of its subflows. That the papers' kernels
    /// have not is an assumption.
    pub mainline_limits: bool,
    /// SYNs repeated at constant intervals before the back-off begins.
    pub linear_syn_retries: u32,
    /// Granularity of the timers.
    pub tick: Duration,
    pub initial_window_segs: u32,
}

impl Profile {
    /// All profiles with their names.
    pub const ALL: [(Profile, &'static str); 5] = [
        (Profile::Linux, "linux"),
        (Profile::Linux41, "linux-4.1"),
        (Profile::Linux314, "linux-3.14"),
        (Profile::Linux311, "linux-3.11"),
        (Profile::Linux35, "linux-3.5"),
    ];

    /// The name users give.
    pub fn name(self) -> &'static str {
        Profile::ALL.iter().find(|(profile, _)| *profile == self).map_or("linux", |(_, name)| name)
    }

    /// The profile of that name.
    pub fn by_name(name: &str) -> Option<Profile> {
        Profile::ALL.iter().find(|(_, known)| *known == name).map(|(profile, _)| *profile)
    }

    /// Whether this is one of the papers' kernels.
    pub const fn is_old(self) -> bool {
        !matches!(self, Profile::Linux)
    }

    /// The switches whose value for this profile is from memory, not from a source that was read.
    pub const fn unverified(self) -> &'static [&'static str] {
        match self {
            Profile::Linux => &[],
            Profile::Linux41 => &["early-retransmit delay", "cwnd after RTO"],
            Profile::Linux314 | Profile::Linux311 => {
                &["loss detection", "early retransmit", "TLP", "PRR", "TSQ", "cwnd after RTO"]
            }
            Profile::Linux35 => &[
                "loss detection",
                "early retransmit",
                "TLP (none)",
                "PRR",
                "TSQ",
                "cwnd after RTO",
            ],
        }
    }

    /// The list of switches.
    pub const fn switches(self) -> Switches {
        let linux = Switches {
            loss_detection: LossDetection::Rack,
            early_retransmit: false,
            tlp: Some(TlpRule::Linux),
            prr: PrrVariant::Linux,
            cwnd_after_rto: CwndAfterRto::InflightPlusOne,
            frto: true,
            compressed_acks: true,
            small_queue: SmallQueue { cap_bytes: 4 << 20 },
            subflow_window: SubflowWindow::Lift,
            connection_buffer: ConnectionBuffer::Sum,
            autosized_bursts: true,
            sends_what_it_hands: false,
            mainline_limits: true,
            linear_syn_retries: 4,
            tick: Duration::from_millis(4),
            initial_window_segs: 10,
        };
        let old = Switches {
            loss_detection: LossDetection::SackFack,
            early_retransmit: true,
            tlp: Some(TlpRule::Papers),
            prr: PrrVariant::Papers,
            cwnd_after_rto: CwndAfterRto::One,
            compressed_acks: false,
            small_queue: SmallQueue { cap_bytes: 128 << 10 },
            subflow_window: SubflowWindow::Rfc,
            connection_buffer: ConnectionBuffer::Capped,
            sends_what_it_hands: true,
            mainline_limits: false,
            linear_syn_retries: 0,
            ..linux
        };
        match self {
            Profile::Linux => linux,
            Profile::Linux41 | Profile::Linux314 | Profile::Linux311 => old,
            Profile::Linux35 => Switches { tlp: None, ..old },
        }
    }
}
