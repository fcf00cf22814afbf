//! Profiles: named lists of switches that describe how kernels of several ages behave.
//!
//! `linux` is what Linux 6.12 to 6.18 do. The other profiles are the kernels of the papers, with
//! the multipath-tcp patches of their time: no RACK, early retransmit (RFC 5827), tail loss probes
//! from 3.10 on, PRR that always sends one more segment below the threshold, a loss window of one
//! segment after a time-out, and 128 KiB below a socket (TCP Small Queues). Up to 3.19 NewReno
//! counts acknowledgements, up to 3.12 in slow start, too, and up to 3.15 a window grows while it
//! is nearly full; receive buffers are those of their age (`recovery::Sizing`).
//! A switch whose value was not verified for a profile is listed by [`Profile::unverified`].

use crate::congestion::{Counting, Growth};
use crate::recovery::{PrrVariant, Sizing, TlpRule};
use crate::tcp::timers::TimerWheel;
use base::Duration;

/// Granularity of the timers (`CONFIG_HZ=250`).
const TICK: Duration = Duration::from_millis(4);

/// The behaviour of one kernel version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Profile {
    /// Linux 6.18.
    #[default]
    Linux,
    /// The kernel of 002, with MPTCP 0.91.
    Linux41,
    /// The kernel of 000, with MPTCP 0.89.
    Linux314,
    /// The kernel of 004, with MPTCP 0.88.
    Linux311,
    /// The kernel of 001, with MPTCP 0.86.
    Linux35,
}

/// How lost segments are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossDetection {
    /// By time: RACK (RFC 8985).
    Rack,
    /// By the number of segments SACKed above (RFC 6675). Until reordering is seen, all segments up
    /// to the highest SACKed one count (forward acknowledgement).
    SackFack,
}

/// The window that a retransmission time-out leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndAfterRto {
    /// The segments that are still in flight, and one more.
    InflightPlusOne,
    /// RFC 5681's loss window.
    One,
}

/// Which receive window bounds a subflow of a multi-path connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubflowWindow {
    /// The connection's alone (mainline).
    Lift,
    /// The window that the peer last announced on the subflow, too (RFC 8684 s3.3.5).
    Rfc,
}

/// The size of the send buffer of a multi-path connection while buffers are auto-tuned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionBuffer {
    /// The smallest buffer and the buffers of all subflows. Each of these grows as that of a TCP
    /// connection does while the writer waits (mainline `__mptcp_sync_sndbuf`).
    Sum,
    /// What the windows of the subflows require, together at most the largest buffer of one
    /// (multipath-tcp kernels).
    Capped,
}

/// The bound of TCP Small Queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmallQueue {
    /// Bytes of a socket below the transport beyond which it sends nothing more.
    pub cap_bytes: u32,
    /// Retransmissions have a bound, too: twice that of new data (Linux 4.9).
    pub bounds_retransmissions: bool,
}

/// The switches in which profiles differ, and the constants that they share.
///
/// Last those that every packet needs.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct Switches {
    pub small_queue: SmallQueue,
    pub timer_wheel: TimerWheel,
    /// Number of SYNs repeated at constant intervals before the back-off begins.
    pub linear_syn_retries: u32,
    pub initial_window_segs: u32,
    pub recovery: RecoverySwitches,
    /// What lets a congestion window grow.
    pub counting: Counting,
    /// When it may grow.
    pub growth: Growth,
    pub receive_buffer: Sizing,
    /// Duplicate acknowledgements after the third one of a gap are merged (for 1 ms, or up to 44).
    pub compressed_acks: bool,
    /// Segments are sent in bursts of a millisecond's worth, and a burst is deferred while an
    /// acknowledgement that would enlarge it is due (Linux TSO autosizing).
    pub autosized_bursts: bool,
    /// A burst ends with a partial segment where the peer's window ends (`tcp_mss_split_point`
    /// since Linux 3.14).
    pub fills_window: bool,
    /// SYNs and SYN/ACKs that timed out because the round trip is long leave the initial window as
    /// it is (Linux 5.3).
    pub undoes_syn_timeouts: bool,
    pub multipath: MultipathSwitches,
}

/// The switches of loss recovery.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RecoverySwitches {
    pub loss_detection: LossDetection,
    /// Early retransmit (RFC 5827), delayed by a quarter of the RTT.
    pub early_retransmit: bool,
    pub tlp: Option<TlpRule>,
    pub prr: PrrVariant,
    pub cwnd_after_rto: CwndAfterRto,
    pub frto: bool,
    /// D-SACKs for more segments than were ever retransmitted are ignored: the network duplicates
    /// packets (Linux 6.18 `tcp_dsack_seen`).
    pub doubts_dsacks: bool,
}

/// The switches of connections of several paths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MultipathSwitches {
    pub subflow_window: SubflowWindow,
    pub connection_buffer: ConnectionBuffer,
    /// Each segment is sent as soon as the scheduler assigned it, so that the scheduler sees the
    /// window fill (multipath-tcp kernels); mainline assigns first.
    pub sends_what_it_hands: bool,
    /// Data sequence numbers of 32 bits (multipath-tcp kernels, `MPTCP_SUB_LEN_SEQ`): a DSS takes
    /// 20 bytes, so that a packet of 1500 has 1428 bytes of data. Mainline sends 64 bits.
    pub short_numbers: bool,
    /// Mainline's limits: no joins after the application closed, and a window by the smallest ratio
    /// of the subflows. That the kernels of the papers lack them is an assumption.
    pub mainline_limits: bool,
}

/// Loss recovery of Linux 6.18.
const LINUX_RECOVERY: RecoverySwitches = RecoverySwitches {
    loss_detection: LossDetection::Rack,
    early_retransmit: false,
    tlp: Some(TlpRule::Linux),
    prr: PrrVariant::Linux,
    cwnd_after_rto: CwndAfterRto::InflightPlusOne,
    frto: true,
    doubts_dsacks: true,
};

impl Profile {
    /// All profiles with their names.
    pub const ALL: [(Profile, &'static str); 5] = [
        (Profile::Linux, "linux"),
        (Profile::Linux41, "linux-4.1"),
        (Profile::Linux314, "linux-3.14"),
        (Profile::Linux311, "linux-3.11"),
        (Profile::Linux35, "linux-3.5"),
    ];

    /// The name in options and scenario files.
    pub fn name(self) -> &'static str {
        Profile::ALL.iter().find(|(profile, _)| *profile == self).map_or("linux", |(_, name)| name)
    }

    /// The profile of that name, in any case.
    pub fn by_name(name: &str) -> Option<Profile> {
        let is_named = |known: &str| known.eq_ignore_ascii_case(name);
        Profile::ALL.iter().find(|(_, known)| is_named(known)).map(|(profile, _)| *profile)
    }

    /// Whether this is a kernel of the papers.
    pub const fn is_old(self) -> bool {
        !matches!(self, Profile::Linux)
    }

    /// The switches whose value for this profile was not verified against a source.
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
            recovery: LINUX_RECOVERY,
            multipath: MultipathSwitches {
                subflow_window: SubflowWindow::Lift,
                connection_buffer: ConnectionBuffer::Sum,
                sends_what_it_hands: false,
                short_numbers: false,
                mainline_limits: true,
            },
            counting: Counting::Segments,
            growth: Growth::WhenFull,
            receive_buffer: Sizing::Linux,
            compressed_acks: true,
            small_queue: SmallQueue { cap_bytes: 4 << 20, bounds_retransmissions: true },
            autosized_bursts: true,
            fills_window: true,
            undoes_syn_timeouts: true,
            linear_syn_retries: 4,
            timer_wheel: TimerWheel::with_slots(TICK),
            initial_window_segs: 10,
        };
        let old = Switches {
            recovery: RecoverySwitches {
                loss_detection: LossDetection::SackFack,
                early_retransmit: true,
                tlp: Some(TlpRule::Papers),
                prr: PrrVariant::Papers,
                cwnd_after_rto: CwndAfterRto::One,
                doubts_dsacks: false,
                ..linux.recovery
            },
            multipath: MultipathSwitches {
                subflow_window: SubflowWindow::Rfc,
                connection_buffer: ConnectionBuffer::Capped,
                sends_what_it_hands: true,
                short_numbers: true,
                mainline_limits: false,
            },
            receive_buffer: Sizing::Linux313,
            compressed_acks: false,
            small_queue: SmallQueue { cap_bytes: 128 << 10, bounds_retransmissions: false },
            undoes_syn_timeouts: false,
            linear_syn_retries: 0,
            timer_wheel: TimerWheel::cascading(TICK),
            ..linux
        };
        // Before 3.16.
        let older = Switches { growth: Growth::WhenNearlyFull, ..old };
        match self {
            Profile::Linux => linux,
            Profile::Linux41 => old,
            Profile::Linux314 => Switches { counting: Counting::SegmentsInSlowStart, ..older },
            Profile::Linux311 => Switches {
                counting: Counting::Acknowledgements,
                receive_buffer: Sizing::Linux311,
                fills_window: false,
                ..older
            },
            Profile::Linux35 => {
                let counting = Counting::Acknowledgements;
                let recovery = RecoverySwitches { tlp: None, ..older.recovery };
                let receive_buffer = Sizing::Linux35;
                Switches { recovery, counting, receive_buffer, fills_window: false, ..older }
            }
        }
    }
}
