//! `Controller`: the table of congestion controls and their dispatch without boxing.
//!
//! A control is a type in a file of its own and one line of the table below.

use super::balia::Balia;
use super::byte_control::{ByteControl, ByteLaw};
use super::coupled::Coupling;
use super::cubic::Cubic;
use super::lia::Lia;
use super::olia::{Olia, OliaDraft};
use super::reno::Reno;
use super::uncoupled::Uncoupled;
use super::wvegas::Wvegas;
use super::{AckSample, CongestionControl, CongestionEvent, PathStart, Penalty};
use crate::parameters::{Parameter, Settings};
use base::{Duration, Instant, PathId};

/// Passes the table to another macro: variant, type, name, sentence and source of every control.
macro_rules! controllers {
    ($callback:ident!($($args:tt)*)) => {
        $callback! {
            [
                Reno(Uncoupled<Reno>), "reno",
                "NewReno: one segment more per round trip, half the window on loss.",
                "RFC 5681, RFC 6582";
                Cubic(Uncoupled<Cubic>), "cubic",
                "CUBIC: the window follows a cubic function of the time since the last loss.",
                "RFC 9438, RFC 9406, Linux 6.x";
                Lia(Lia), "lia",
                "LIA: all paths together take what one TCP would on the best of them. Coupled.",
                "RFC 6356; `coupled` in 001 and multipath-tcp kernel v0.95";
                Olia(Olia), "olia",
                "OLIA: windows move to the paths that lose least for their round-trip time. Coupled.",
                "Khalili and others 2012 as in 001, multipath-tcp kernel v0.95 `olia`";
                OliaDraft(OliaDraft), "olia-draft",
                "The same with the best paths by the square of what was sent between losses. Coupled.",
                "draft-khalili-05 as implementations have it";
                Balia(Balia), "balia",
                "BALIA: between being fair to a single TCP and answering quickly. Coupled.",
                "draft-walid-04, multipath-tcp kernel v0.95 `balia`";
                Wvegas(Wvegas), "wvegas",
                "wVegas, led by delay: paths share out how many segments may wait in queues. Coupled.",
                "Cao and others 2012 as in multipath-tcp kernel v0.95 `wvegas`";
            ]
            $($args)*
        }
    };
}

/// Declares `Controller` and the entries of the table.
macro_rules! declare {
    ([$($variant:ident($control:ty), $name:literal, $about:literal, $source:literal;)+]) => {
        /// A congestion controller.
        pub enum Controller {
            $($variant($control),)+
            /// Windows in bytes, under the law of one of the above.
            Bytes(ByteControl),
            /// One from outside of this crate.
            Custom(Box<dyn CongestionControl + Send>),
        }

        /// Name, one sentence and source of every controller.
        pub const NAMES: &[(&str, &str, &str)] = &[$(($name, $about, $source)),+];

        const TABLE: &[Entry] = &[$(
            Entry {
                name: $name,
                parameters: <$control>::PARAMETERS,
                is_coupled: <$control>::IS_COUPLED,
                new: |options| Controller::$variant(<$control>::new(*options)),
                bytes: <$control>::BYTES,
            },
        )+];
    };
}

/// Calls the same method of whichever controller it is.
macro_rules! dispatch {
    (
        [$($variant:ident($control:ty), $name:literal, $about:literal, $source:literal;)+]
        $self:ident.$method:ident $args:tt
    ) => {
        match $self {
            $(Controller::$variant(controller) => controller.$method $args,)+
            Controller::Bytes(controller) => controller.$method $args,
            Controller::Custom(controller) => controller.$method $args,
        }
    };
}

controllers!(declare!());

/// A line of the table.
struct Entry {
    name: &'static str,
    parameters: &'static [Parameter],
    is_coupled: bool,
    new: fn(&Options) -> Controller,
    /// Its law over windows in bytes, if it has one.
    bytes: Option<ByteLaw>,
}

/// The switches of all controllers. The default is Linux, 3.5 to 6.18.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub windows: Windows,
    /// CUBIC leaves slow start by HyStart (the module parameter `hystart` of Linux).
    pub hystart: bool,
    /// Coupled controls: the integers of the multipath-tcp kernels instead of real numbers.
    pub kernel_compat: bool,
    /// Coupled controls: the parameters given with the name.
    pub coupling: Coupling,
}

/// The unit in which windows are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Windows {
    /// Segments, as Linux TCP counts.
    Segments,
    /// Bytes (RFC 9260 s7.2).
    Bytes {
        /// L of RFC 9260 s7.2.1: the most PMDCS that an acknowledgement adds in slow start.
        slow_start_limit: u32,
    },
}

impl Options {
    /// Windows of TCP as in Linux.
    pub const LINUX: Options = Options {
        windows: Windows::Segments,
        hystart: true,
        kernel_compat: false,
        coupling: Coupling::DEFAULT,
    };

    /// Windows of SCTP as in RFC 9260.
    pub const RFC9260: Options =
        Options { windows: Windows::Bytes { slow_start_limit: 1 }, ..Options::LINUX };
}

impl Default for Options {
    fn default() -> Self {
        Options::LINUX
    }
}

fn entry(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.name == name)
}

/// What a user may set of the controller of that name.
pub fn parameters(name: &str) -> &'static [Parameter] {
    entry(name).map_or(&[], |entry| entry.parameters)
}

/// The controller of that name, without paths; `None` if there is none, or none over windows in
/// bytes where `options` ask for them. Parameters follow a colon: `olia:min-ssthresh=1`.
pub fn by_name(name: &str, options: &Options) -> Option<Controller> {
    let Some((name, text)) = name.split_once(':') else { return entry(name)?.make(options) };
    let settings = Settings::parse(name, parameters(name), text).ok()?;
    let coupling = Coupling::of(&settings);
    entry(name)?.make(&Options { coupling, ..*options })
}

impl Entry {
    fn make(&self, options: &Options) -> Option<Controller> {
        match options.windows {
            Windows::Segments => Some((self.new)(options)),
            Windows::Bytes { slow_start_limit } => {
                self.bytes.map(|law| Controller::Bytes(ByteControl::new(law, slow_start_limit)))
            }
        }
    }
}

/// Whether the controller of that name couples the paths of a connection, which has no effect on
/// one path.
pub fn is_coupled(name: &str) -> bool {
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    entry(name).is_some_and(|entry| entry.is_coupled)
}

impl CongestionControl for Controller {
    fn on_path_added(&mut self, path: PathId, start: &PathStart) {
        controllers!(dispatch!(self.on_path_added(path, start)));
    }

    fn on_path_removed(&mut self, path: PathId) {
        controllers!(dispatch!(self.on_path_removed(path)));
    }

    fn on_ack(&mut self, path: PathId, sample: &AckSample) {
        controllers!(dispatch!(self.on_ack(path, sample)));
    }

    fn on_congestion(&mut self, path: PathId, event: &CongestionEvent) {
        controllers!(dispatch!(self.on_congestion(path, event)));
    }

    fn set_recovery_window(&mut self, path: PathId, cwnd_segs: u32) {
        controllers!(dispatch!(self.set_recovery_window(path, cwnd_segs)));
    }

    fn on_recovery_exit(&mut self, path: PathId, now: Instant) {
        controllers!(dispatch!(self.on_recovery_exit(path, now)));
    }

    fn on_undo(&mut self, path: PathId, now: Instant) {
        controllers!(dispatch!(self.on_undo(path, now)));
    }

    fn on_idle_restart(&mut self, path: PathId, idle: Duration, rto: Duration, now: Instant) {
        controllers!(dispatch!(self.on_idle_restart(path, idle, rto, now)));
    }

    fn on_transmit_start(&mut self, path: PathId, idle: Duration, now: Instant) {
        controllers!(dispatch!(self.on_transmit_start(path, idle, now)));
    }

    fn penalise(&mut self, path: PathId, kind: Penalty, now: Instant) {
        controllers!(dispatch!(self.penalise(path, kind, now)));
    }

    fn on_application_limited(&mut self, path: PathId, used_segs: u32) {
        controllers!(dispatch!(self.on_application_limited(path, used_segs)));
    }

    fn prefetch(&self) {
        controllers!(dispatch!(self.prefetch()));
    }

    fn cwnd_bytes(&self, path: PathId) -> u64 {
        controllers!(dispatch!(self.cwnd_bytes(path)))
    }

    #[inline]
    fn cwnd_segs(&self, path: PathId) -> u32 {
        controllers!(dispatch!(self.cwnd_segs(path)))
    }

    fn ssthresh_bytes(&self, path: PathId) -> Option<u64> {
        controllers!(dispatch!(self.ssthresh_bytes(path)))
    }

    #[inline]
    fn ssthresh_segs(&self, path: PathId) -> Option<u32> {
        controllers!(dispatch!(self.ssthresh_segs(path)))
    }
}
