//! The table of schedulers and their dispatch without boxing.
//!
//! A scheduler is its file and one line of [`schedulers!`] below: the arm of [`AnyScheduler`] and
//! the rows of the table, each with a name, a sentence, a source, parameters and how it is made.
//! The word `default` is in no row: it means `lrf` in the papers' kernels and another rule in
//! today's Linux.

use super::choice::{SchedulerChoice, SchedulerRow};
use super::reinjecting::Reinjecting;
use super::{Blest, Daps, Decision, Ecf, Linux, Lrf, NewData, Otias, PathChange, PathView, Raven};
use super::{Redundant, RoundRobin, Run, Scheduler, Sttf, Turns, View, Xlink};
use super::{blest, daps, ecf, linux, lrf, otias, raven, redundant, rr, sttf, xlink};
use crate::parameters::Parameter;
use crate::reinjection::Opportunistic;
use base::decision::Explanation;
use base::{Instant, PathId};
use std::fmt;
use std::sync::Arc;

/// The switches of all schedulers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Follow the papers' kernels where this engine corrects them: a path without RTT sample comes
    /// first.
    pub kernel_compat: bool,
    /// What is done when the receive window or the send buffer is full; `None`: what the
    /// scheduler's source does.
    pub opportunistic: Option<Opportunistic>,
    /// The turns of `rr` and `wrr`.
    pub turns: Turns,
}

/// Makes the table, the enum of schedulers and its dispatch of `ARM(TYPE): ROWS;` lines.
macro_rules! schedulers {
    ($($arm:ident($type:ty): $($row:expr),+;)+) => {
        /// Every scheduler, in the order in which they are listed.
        pub const TABLE: &[SchedulerRow] = &[$($($row),+),+];

        /// A scheduler.
        pub enum AnyScheduler {
            $(
                #[doc = concat!("Made by the rows `", stringify!($($row),+), "`.")]
                $arm($type),
            )+
            /// One of them with a reinjection that its source does not have.
            Reinjecting(Box<Reinjecting>),
            /// One from outside of this crate.
            Custom(Box<dyn Scheduler + Send>),
        }

        dispatch! { $($arm)+ Reinjecting Custom;
            fn next(&mut self, view: &View<'_>) -> Decision;
            fn next_run(&self, paths: &[PathView], data: &NewData) -> Option<Run>;
            fn explain(&self, view: &View<'_>) -> Option<Explanation>;
            fn makes_copies(&self) -> bool;
            fn plans_ahead(&self) -> bool;
            fn reinjects(&self) -> bool;
            fn leaves_timeouts(&self) -> bool;
            fn reads_admission_only(&self) -> bool;
            fn heeds_acks(&self) -> bool;
            fn on_ack(&mut self, view: &View<'_>, path: PathId) -> ();
            fn on_window_blocked(&mut self, view: &View<'_>) -> ();
            fn on_path_changed(&mut self, path: PathId, change: PathChange) -> ();
            fn has_period(&self) -> bool;
            fn poll_timeout(&self) -> Option<Instant>;
        }
    };
}

/// Calls the same method of whichever scheduler it is.
macro_rules! dispatch {
    ($($arm:ident)+; $($calls:tt)+) => {
        impl Scheduler for AnyScheduler {
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
            $(AnyScheduler::$arm(scheduler) => scheduler.$method $args,)+
        }
    };
}

schedulers! {
    Lrf(Lrf): lrf::ROW;
    Rr(RoundRobin): rr::ROW, rr::WEIGHTED;
    Redundant(Redundant): redundant::ROW;
    Linux(Linux): linux::ROW;
    Daps(Daps): daps::ROW;
    Otias(Otias): otias::ROW;
    Ecf(Ecf): ecf::ROW, ecf::KERNEL_ROW;
    Blest(Blest): blest::ROW, blest::KERNEL_ROW;
    // Larger than any other.
    Sttf(Box<Sttf>): sttf::ROW;
    Xlink(Xlink): xlink::ROW;
    Raven(Raven): raven::ROW;
}

/// Makes a scheduler from outside of this crate, one for each connection.
#[derive(Clone)]
pub struct Custom(Arc<dyn Fn() -> Box<dyn Scheduler + Send> + Send + Sync>);

impl Custom {
    /// By calling `make`.
    pub fn new(make: impl Fn() -> Box<dyn Scheduler + Send> + Send + Sync + 'static) -> Self {
        Custom(Arc::new(make))
    }

    /// A new one.
    pub fn make(&self) -> AnyScheduler {
        AnyScheduler::Custom((self.0)())
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Custom")
    }
}

/// Name, one sentence and source of every scheduler.
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

/// The parameters of the scheduler of that name.
pub fn parameters(name: &str) -> &'static [Parameter] {
    SchedulerChoice::find(name).map_or(&[], |choice| choice.row().parameters)
}

/// The scheduler that a text such as `ecf:beta=0.5` names; `None` if there is none.
pub fn by_name(text: &str, options: &Options) -> Option<AnyScheduler> {
    Some(text.parse::<SchedulerChoice>().ok()?.make(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_belong_to_the_name_of_wrr() {
        for wrong in ["", "3,", "0", "256", "+3", "a"] {
            assert!(by_name(&format!("wrr:{wrong}"), &Options::default()).is_none());
        }
        assert!(by_name("wrr:3,1", &Options::default()).is_some());
        assert!(by_name("rr:3,1", &Options::default()).is_none());
    }

    #[test]
    fn parameters_belong_to_their_scheduler() {
        let known = |name: &str| by_name(name, &Options::default()).is_some();
        for name in ["ecf:beta=0.5", "daps:optim=0,round-delay=1", "linux:burst=1420"] {
            assert!(known(name), "{name}");
        }
        for name in ["ecf:", "ecf:beta", "ecf:good=1", "lrf:x=1", "blest:bad=0", "otias:floor=2"] {
            assert!(!known(name), "{name}");
        }
    }

    #[test]
    fn every_default_is_within_its_range() {
        for (name, ..) in NAMES {
            for parameter in parameters(name) {
                let example = parameter.example(name);
                assert!(by_name(&example, &Options::default()).is_some(), "{example}");
            }
        }
    }

    #[test]
    fn every_name_of_the_table_is_known() {
        for (name, ..) in NAMES {
            assert!(by_name(name, &Options::default()).is_some(), "{name}");
        }
    }
}
