//! The table of congestion controls and their dispatch without boxing.
//!
//! A control is its file, a row of [`TABLE`], an arm of [`Controller`] and its dispatch.

use super::balia::{self, Balia};
use super::choice::{ControllerChoice, ControllerRow};
use super::coupled::Coupling;
use super::cubic::Cubic;
use super::lia::{self, Lia};
use super::olia::{self, Olia};
use super::reno::Reno;
use super::uncoupled::Uncoupled;
use super::wvegas::{self, Wvegas};
use super::{
    AckSample, Arithmetic, CongestionControl, CongestionEvent, CubicFlavour, HyStartKind, IdleRule,
    PathStart, Penalty,
};
use base::{Duration, Instant, PathId};

/// The switches of all controllers; a profile is a set of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub arithmetic: Arithmetic,
    pub cubic: CubicFlavour,
    pub hystart: HyStartKind,
    pub idle: IdleRule,
    /// The most segments an ACK may add in slow start; `None` for no limit.
    pub slow_start_limit_segs: Option<u32>,
    /// Coupled controls: the integers of the multipath-tcp kernels instead of real numbers.
    pub kernel_compat: bool,
    /// OLIA: the best paths by the draft's measure instead of the kernel's.
    pub olia_draft: bool,
    /// Coupled controls: what parameters of a name set.
    pub coupling: Coupling,
}

impl Options {
    /// What Linux does, 3.5 to 6.18: counters, classic HyStart with CUBIC, no limit.
    pub const LINUX: Options = Options {
        arithmetic: Arithmetic::Counter,
        cubic: CubicFlavour::Linux,
        hystart: HyStartKind::Classic,
        idle: IdleRule::Rfc2861,
        slow_start_limit_segs: None,
        kernel_compat: false,
        olia_draft: false,
        coupling: Coupling::DEFAULT,
    };

    /// What the RFCs say: real windows, RFC 9438 and 9406, two segments an ACK (RFC 3465).
    pub const RFC: Options = Options {
        arithmetic: Arithmetic::Real,
        cubic: CubicFlavour::Rfc9438,
        hystart: HyStartKind::PlusPlus,
        idle: IdleRule::Rfc2861,
        slow_start_limit_segs: Some(2),
        kernel_compat: false,
        olia_draft: false,
        coupling: Coupling::DEFAULT,
    };
}

impl Default for Options {
    fn default() -> Self {
        Options::LINUX
    }
}

/// Every controller, in the order in which they are listed.
pub const TABLE: &[ControllerRow] = &[
    ControllerRow {
        name: "reno",
        about: "NewReno: one segment more per round trip, half the window on loss.",
        source: "RFC 5681, RFC 6582",
        parameters: &[],
        is_coupled: false,
        make: |options| Controller::Reno(Uncoupled::new(*options)),
    },
    ControllerRow {
        name: "cubic",
        about: "CUBIC: the window follows a cubic function of the time since the last loss.",
        source: "RFC 9438, RFC 9406, Linux 6.x",
        parameters: &[],
        is_coupled: false,
        make: |options| Controller::Cubic(Uncoupled::new(*options)),
    },
    ControllerRow {
        name: "lia",
        about: "LIA: all paths together take what one TCP would on the best of them. Coupled.",
        source: "RFC 6356; `coupled` in 001 and multipath-tcp kernel v0.95",
        parameters: lia::PARAMETERS,
        is_coupled: true,
        make: |options| Controller::Lia(Lia::new(*options)),
    },
    ControllerRow {
        name: "olia",
        about: "OLIA: windows move to the paths that lose least for their round-trip time. \
                Coupled.",
        source: "Khalili and others 2012 as in 001, multipath-tcp kernel v0.95 `olia`",
        parameters: olia::PARAMETERS,
        is_coupled: true,
        make: |options| Controller::Olia(Olia::new(*options)),
    },
    ControllerRow {
        name: "olia-draft",
        about: "The same with the best paths by the square of what was sent between losses. \
                Coupled.",
        source: "draft-khalili-05 as implementations have it",
        parameters: olia::PARAMETERS,
        is_coupled: true,
        make: |options| Controller::Olia(Olia::new(Options { olia_draft: true, ..*options })),
    },
    ControllerRow {
        name: "balia",
        about: "BALIA: between being fair to a single TCP and answering quickly. Coupled.",
        source: "draft-walid-04, multipath-tcp kernel v0.95 `balia`",
        parameters: balia::PARAMETERS,
        is_coupled: true,
        make: |options| Controller::Balia(Balia::new(*options)),
    },
    ControllerRow {
        name: "wvegas",
        about: "wVegas, led by delay: paths share out how many segments may wait in queues. \
                Coupled.",
        source: "Cao and others 2012 as in multipath-tcp kernel v0.95 `wvegas`",
        parameters: wvegas::PARAMETERS,
        is_coupled: true,
        make: |options| Controller::Wvegas(Wvegas::new(*options)),
    },
];

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

/// A congestion controller.
pub enum Controller {
    Reno(Uncoupled<Reno>),
    Cubic(Uncoupled<Cubic>),
    Lia(Lia),
    Olia(Olia),
    Balia(Balia),
    Wvegas(Wvegas),
    /// One from outside of this crate.
    Custom(Box<dyn CongestionControl + Send>),
}

/// The controller that a text such as `olia:min-ssthresh=1` names, without paths; `None` if there
/// is none.
pub fn by_name(text: &str, options: &Options) -> Option<Controller> {
    Some(text.parse::<ControllerChoice>().ok()?.make(options))
}

/// Calls the same method of whichever controller it is.
macro_rules! dispatch {
    ($self:ident.$method:ident($($arg:expr),*)) => {
        match $self {
            Controller::Reno(controller) => controller.$method($($arg),*),
            Controller::Cubic(controller) => controller.$method($($arg),*),
            Controller::Lia(controller) => controller.$method($($arg),*),
            Controller::Olia(controller) => controller.$method($($arg),*),
            Controller::Balia(controller) => controller.$method($($arg),*),
            Controller::Wvegas(controller) => controller.$method($($arg),*),
            Controller::Custom(controller) => controller.$method($($arg),*),
        }
    };
}

impl Controller {
    /// Ask for the memory of the first path.
    pub fn prefetch(&self) {
        match self {
            Controller::Reno(controller) => controller.prefetch(),
            Controller::Cubic(controller) => controller.prefetch(),
            // Coupled ones reach several paths anyhow.
            _ => {}
        }
    }
}

impl CongestionControl for Controller {
    fn on_path_added(&mut self, path: PathId, start: &PathStart) {
        dispatch!(self.on_path_added(path, start));
    }

    fn on_path_removed(&mut self, path: PathId) {
        dispatch!(self.on_path_removed(path));
    }

    fn on_ack(&mut self, path: PathId, sample: &AckSample) {
        dispatch!(self.on_ack(path, sample));
    }

    fn on_congestion(&mut self, path: PathId, event: &CongestionEvent) {
        dispatch!(self.on_congestion(path, event));
    }

    fn set_recovery_window(&mut self, path: PathId, cwnd_segs: u32) {
        dispatch!(self.set_recovery_window(path, cwnd_segs));
    }

    fn on_recovery_exit(&mut self, path: PathId, now: Instant) {
        dispatch!(self.on_recovery_exit(path, now));
    }

    fn on_undo(&mut self, path: PathId, now: Instant) {
        dispatch!(self.on_undo(path, now));
    }

    fn on_idle_restart(&mut self, path: PathId, idle: Duration, rto: Duration, now: Instant) {
        dispatch!(self.on_idle_restart(path, idle, rto, now));
    }

    fn on_transmit_start(&mut self, path: PathId, idle: Duration, now: Instant) {
        dispatch!(self.on_transmit_start(path, idle, now));
    }

    fn penalise(&mut self, path: PathId, kind: Penalty, now: Instant) {
        dispatch!(self.penalise(path, kind, now));
    }

    fn on_application_limited(&mut self, path: PathId, used_segs: u32) {
        dispatch!(self.on_application_limited(path, used_segs));
    }

    fn on_retransmitted(&mut self, path: PathId, segs: u32) {
        dispatch!(self.on_retransmitted(path, segs));
    }

    fn cwnd_bytes(&self, path: PathId) -> u64 {
        dispatch!(self.cwnd_bytes(path))
    }

    #[inline]
    fn cwnd_segs(&self, path: PathId) -> u32 {
        dispatch!(self.cwnd_segs(path))
    }

    fn ssthresh_bytes(&self, path: PathId) -> Option<u64> {
        dispatch!(self.ssthresh_bytes(path))
    }

    #[inline]
    fn ssthresh_segs(&self, path: PathId) -> Option<u32> {
        dispatch!(self.ssthresh_segs(path))
    }
}
