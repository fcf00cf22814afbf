//! The table of congestion controls and their dispatch without boxing.
//!
//! A control is its file and one line of [`controllers!`] below: the arm of [`Controller`] and
//! the row of the table, with a name, a sentence, a source, parameters and how it is made.

use super::balia::{self, Balia};
use super::byte_control::ByteControl;
use super::choice::{ControllerChoice, ControllerRow};
use super::coupled::Coupling;
use super::cubic::{self, Cubic};
use super::lia::{self, Lia, LiaPrinted};
use super::olia::{self, Olia, OliaDraft};
use super::pool::{self, PoolV1, PoolV2, PoolV2Bsd};
use super::reno::{self, Reno};
use super::uncoupled::Uncoupled;
use super::wvegas::{self, Wvegas};
use super::{AckSample, BurstLimit, CongestionControl, CongestionEvent, PathStart, Penalty};
use base::{Duration, Instant, PathId};

/// The switches of all controllers. The default is Linux, 3.5 to 6.18.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// CUBIC leaves slow start by HyStart (the module parameter `hystart` of Linux).
    pub hystart: bool,
    /// Coupled controls: the integers of the multipath-tcp kernels instead of real numbers.
    pub kernel_compat: bool,
    /// What lets a window of segments grow.
    pub counting: Counting,
    /// When it may grow.
    pub growth: Growth,
    /// Coupled controls: the parameters given with the name.
    pub coupling: Coupling,
}

/// When a window in segments may grow (Linux `tcp_is_cwnd_limited`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Growth {
    /// While it limits what is sent; in slow start while half of it is in use (Linux 3.16 on).
    #[default]
    WhenFull,
    /// While no more than three segments of it are unused, or a third if that is less than an
    /// offload buffer (up to Linux 3.15).
    WhenNearlyFull,
}

/// What an acknowledgement counts for where a window in segments grows. That of a receiver which
/// delays its acknowledgements covers two segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Counting {
    /// The segments it covers (Linux 4.0 on).
    #[default]
    Segments,
    /// The segments it covers in slow start; afterwards NewReno's increase counts
    /// acknowledgements (Linux 3.13 to 3.19).
    SegmentsInSlowStart,
    /// One, in slow start, too (`tcp_slow_start`, `tcp_cong_avoid_ai` up to Linux 3.12).
    Acknowledgements,
}

impl Options {
    /// As in Linux.
    pub const LINUX: Options = Options {
        hystart: true,
        kernel_compat: false,
        counting: Counting::Segments,
        growth: Growth::WhenFull,
        coupling: Coupling::DEFAULT,
    };
}

impl Default for Options {
    fn default() -> Self {
        Options::LINUX
    }
}

/// Makes the table, the enum of controllers and its dispatch of `ARM(TYPE): ROW;` lines.
macro_rules! controllers {
    ($($arm:ident($type:ty): $row:expr;)+) => {
        /// Every controller, in the order in which they are listed.
        pub const TABLE: &[ControllerRow] = &[$($row),+];

        /// A congestion controller.
        pub enum Controller {
            $(
                #[doc = concat!("Made by the row `", stringify!($row), "`.")]
                $arm($type),
            )+
            /// Windows in bytes, under the law of one of the others.
            Bytes(ByteControl),
            /// One from outside of this crate.
            Custom(Box<dyn CongestionControl + Send>),
        }

        dispatch! { $($arm)+ Bytes Custom;
            fn on_path_added(&mut self, path: PathId, start: &PathStart) -> ();
            fn on_path_removed(&mut self, path: PathId) -> ();
            fn on_ack(&mut self, path: PathId, sample: &AckSample) -> ();
            fn on_congestion(&mut self, path: PathId, event: &CongestionEvent) -> ();
            fn set_recovery_window(&mut self, path: PathId, cwnd_segs: u32) -> ();
            fn on_recovery_exit(&mut self, path: PathId, now: Instant) -> ();
            fn on_undo(&mut self, path: PathId, now: Instant) -> ();
            fn on_idle_restart(
                &mut self, path: PathId, idle: Duration, rto: Duration, now: Instant
            ) -> ();
            fn on_transmit_start(&mut self, path: PathId, idle: Duration, now: Instant) -> ();
            fn penalise(&mut self, path: PathId, kind: Penalty, now: Instant) -> ();
            fn on_application_limited(&mut self, path: PathId, used_segs: u32) -> ();
            fn limit_window(&mut self, path: PathId, bytes: u64, how: BurstLimit) -> ();
            fn reduced_window(&mut self, path: PathId) -> Option<f64>;
            fn set_segment_size(&mut self, path: PathId, mss: u32) -> ();
            fn prefetch(&self) -> ();
            fn cwnd_bytes(&self, path: PathId) -> u64;
            fn cwnd_segs(&self, path: PathId) -> u32;
            fn ssthresh_bytes(&self, path: PathId) -> Option<u64>;
            fn ssthresh_segs(&self, path: PathId) -> Option<u32>;
        }
    };
}

/// Calls the same method of whichever controller it is.
macro_rules! dispatch {
    ($($arm:ident)+; $($calls:tt)+) => {
        impl CongestionControl for Controller {
            dispatch! { @calls [$($arm)+] $($calls)+ }
        }
    };
    (@calls $arms:tt) => {};
    (@calls $arms:tt fn $method:ident(&mut self $(, $arg:ident: $type:ty)*) -> $out:ty;
        $($calls:tt)*) => {
        fn $method(&mut self $(, $arg: $type)*) -> $out {
            dispatch! { @match self $arms $method($($arg),*) }
        }
        dispatch! { @calls $arms $($calls)* }
    };
    (@calls $arms:tt fn $method:ident(&self $(, $arg:ident: $type:ty)*) -> $out:ty;
        $($calls:tt)*) => {
        #[inline]
        fn $method(&self $(, $arg: $type)*) -> $out {
            dispatch! { @match self $arms $method($($arg),*) }
        }
        dispatch! { @calls $arms $($calls)* }
    };
    (@match $self:ident [$($arm:ident)+] $method:ident $args:tt) => {
        match $self {
            $(Controller::$arm(controller) => controller.$method $args,)+
        }
    };
}

controllers! {
    Reno(Uncoupled<Reno>): reno::ROW;
    Cubic(Uncoupled<Cubic>): cubic::ROW;
    Lia(Lia): lia::ROW;
    Olia(Olia): olia::ROW;
    OliaDraft(OliaDraft): olia::DRAFT_ROW;
    Balia(Balia): balia::ROW;
    Wvegas(Wvegas): wvegas::ROW;
    LiaPrinted(LiaPrinted): lia::PRINTED_ROW;
    PoolV1(PoolV1): pool::ROW;
    PoolV2(PoolV2): pool::V2_ROW;
    PoolV2Bsd(PoolV2Bsd): pool::BSD_ROW;
}

impl Controller {
    /// `CongestionControl::cwnd_segs`, which is asked several times a packet: of the default
    /// controller, it is a comparison and a load, half of the call through the table of all.
    #[inline(always)]
    pub fn cwnd_segs(&self, path: PathId) -> u32 {
        match self {
            Controller::Cubic(cubic) => cubic.cwnd_segs(path),
            other => CongestionControl::cwnd_segs(other, path),
        }
    }

    /// The same of `CongestionControl::ssthresh_segs`.
    #[inline(always)]
    pub fn ssthresh_segs(&self, path: PathId) -> Option<u32> {
        match self {
            Controller::Cubic(cubic) => cubic.ssthresh_segs(path),
            other => CongestionControl::ssthresh_segs(other, path),
        }
    }

    /// The same of `CongestionControl::cwnd_bytes`, for the controllers of SCTP.
    #[inline(always)]
    pub fn cwnd_bytes(&self, path: PathId) -> u64 {
        match self {
            Controller::Bytes(control) => control.cwnd_bytes(path),
            other => CongestionControl::cwnd_bytes(other, path),
        }
    }
}

/// Name, one sentence and source of every controller.
pub const NAMES: &[(&str, &str, &str)] = &names();

const fn names() -> [(&'static str, &'static str, &'static str); TABLE.len()] {
    let mut names = [("", "", ""); TABLE.len()];
    let mut row = 0;
    while row < TABLE.len() {
        names[row] = (TABLE[row].name, TABLE[row].about, TABLE[row].source);
        row += 1;
    }
    names
}

/// The controller that a text such as `olia:min-ssthresh=1` names, without paths; `None` if there
/// is none.
pub fn by_name(text: &str, options: &Options) -> Option<Controller> {
    Some(text.parse::<ControllerChoice>().ok()?.make(options))
}
