//! `Controller`: the table of congestion controls and their dispatch without boxing (rule 3).
//!
//! Adding one touches its file, an arm here, the table, and its tests.

use super::balia::{self, Balia};
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
use crate::parameters::{Parameter, Settings};
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

/// Name, one sentence and source of every controller.
pub const NAMES: &[(&str, &str, &str)] = &[
    (
        "reno",
        "NewReno: one segment more per round trip, half the window on loss.",
        "RFC 5681, RFC 6582",
    ),
    (
        "cubic",
        "CUBIC: the window follows a cubic function of the time since the last loss.",
        "RFC 9438, RFC 9406, Linux 6.x",
    ),
    (
        "lia",
        "LIA: all paths together take what one TCP would on the best of them. Coupled.",
        "RFC 6356; `coupled` in 001 and multipath-tcp kernel v0.95",
    ),
    (
        "olia",
        "OLIA: windows move to the paths that lose least for their round-trip time. Coupled.",
        "Khalili and others 2012 as in 001, multipath-tcp kernel v0.95 `olia`",
    ),
    (
        "olia-draft",
        "The same with the best paths by the square of what was sent between losses. Coupled.",
        "draft-khalili-05 as implementations have it",
    ),
    (
        "balia",
        "BALIA: between being fair to a single TCP and answering quickly. Coupled.",
        "draft-walid-04, multipath-tcp kernel v0.95 `balia`",
    ),
    (
        "wvegas",
        "wVegas, led by delay: paths share out how many segments may wait in queues. Coupled.",
        "Cao and others 2012 as in multipath-tcp kernel v0.95 `wvegas`",
    ),
];

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

/// What can be set of the controller of that name.
pub fn parameters(name: &str) -> &'static [Parameter] {
    match name {
        "lia" => lia::PARAMETERS,
        "olia" | "olia-draft" => olia::PARAMETERS,
        "balia" => balia::PARAMETERS,
        "wvegas" => wvegas::PARAMETERS,
        _ => &[],
    }
}

/// The controller of that name, without paths; `None` if there is none. Parameters follow a
/// colon: `olia:min-ssthresh=1`.
pub fn by_name(name: &str, options: &Options) -> Option<Controller> {
    if let Some((name, text)) = name.split_once(':') {
        let settings = Settings::parse(name, parameters(name), text).ok()?;
        return plain(name, &Options { coupling: Coupling::of(&settings), ..*options });
    }
    plain(name, options)
}

fn plain(name: &str, options: &Options) -> Option<Controller> {
    match name {
        "reno" => Some(Controller::Reno(Uncoupled::new(*options))),
        "cubic" => Some(Controller::Cubic(Uncoupled::new(*options))),
        "lia" => Some(Controller::Lia(Lia::new(*options))),
        "olia" => Some(Controller::Olia(Olia::new(*options))),
        "olia-draft" => Some(Controller::Olia(Olia::new(Options { olia_draft: true, ..*options }))),
        "balia" => Some(Controller::Balia(Balia::new(*options))),
        "wvegas" => Some(Controller::Wvegas(Wvegas::new(*options))),
        _ => None,
    }
}

/// Whether the controller of that name couples the paths of a connection: nothing for one path.
pub fn is_coupled(name: &str) -> bool {
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    matches!(name, "lia" | "olia" | "olia-draft" | "balia" | "wvegas")
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
