//! LISA, coupled initial windows (Barik, Welzl, Ferlin, Alay: "LISA: A linked slow-start algorithm
//! for MPTCP", ICC 2016; draft-barik-mptcp-lisa-01). An option of the coupled controls.
//!
//! `n` paths of a connection have `n` slow starts. With LISA a path that joins while another one is
//! in its first slow start takes its initial window from the window of that path: the one with the
//! largest rate `w / rtt`, so that the two continue as one slow start would. With `IW` the initial
//! window and `w` the window of the donor, the new path takes `IW` if `w >= 2 IW`, `w - IW` if that
//! is at least 3, and otherwise starts with 3 segments that no donor gives, enough to compete. The
//! donor does not grow for as many acknowledged segments as were taken: they were sent with a
//! window that the new path has now.
//!
//! Only the abstracts of draft and paper were read. The amounts between one and two initial windows
//! and the number of acknowledgements without growth are uncertain.

use crate::parameters::{Kind, Parameter};

/// The smallest initial window of a path, in segments (RFC 3390).
const MIN_INITIAL: u32 = 3;

/// The parameter that switches it on.
pub(super) const PARAMETER: Parameter = Parameter {
    key: "lisa",
    about: "1: a path that joins in another's slow start takes its initial window from it (LISA)",
    least: 0.0,
    most: 1.0,
    default: 0.0,
    kind: Kind::Whole,
    source: "RFC 6356",
};

/// The initial window of a new path, in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    pub initial: u32,
    /// The part of it that is taken from the donor.
    pub taken: u32,
}

/// The grant to a path that joins while a donor with a window of `cwnd` is in its first slow start.
pub(super) fn grant(initial_window: u32, cwnd: u32) -> Grant {
    let above = cwnd.saturating_sub(initial_window);
    let taken = above.min(initial_window);
    if taken == initial_window || taken >= MIN_INITIAL {
        return Grant { initial: taken, taken };
    }
    Grant { initial: MIN_INITIAL.min(initial_window), taken: 0 }
}

/// The first slow start of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstSlowStart {
    /// No loss, time-out or idle period has ended it, and no threshold was reached.
    first: bool,
    /// Segments whose acknowledgement is not to grow the window.
    owed: u32,
    /// The part of them that the present acknowledgement covers.
    held: u32,
}

impl FirstSlowStart {
    /// A new path.
    pub(super) const NEW: FirstSlowStart = FirstSlowStart { first: true, owed: 0, held: 0 };

    /// Whether other paths may take from the window.
    pub(super) const fn is_first(&self) -> bool {
        self.first
    }

    /// The first slow start is over.
    pub(super) const fn end(&mut self) {
        *self = FirstSlowStart { first: false, owed: 0, held: 0 };
    }

    /// Another path took segments from the window.
    pub(super) const fn on_taken(&mut self, segs: u32) {
        self.owed += segs;
    }

    /// Segments were acknowledged.
    pub(super) fn on_ack(&mut self, acked: u32) {
        self.held = self.owed.min(acked);
        self.owed -= self.held;
    }

    /// The part of the segments acknowledged now that grows the window.
    pub(super) fn credit(&self, acked: f64) -> f64 {
        (acked - f64::from(self.held)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::coupled::tests::{ack_of, start};
    use crate::congestion::test_support::loss;
    use crate::congestion::{CongestionControl, Controller, Options, PathStart, by_name};
    use base::{Duration, Instant, PathId};
    use proptest::prelude::*;

    const NAMES: [&str; 3] = ["lia:lisa=1", "olia:lisa=1", "balia:lisa=1"];
    const OLD: PathId = PathId(0);
    const NEW: PathId = PathId(1);

    fn joins(controller: &mut Controller, path: PathId, rtt_ms: u64) {
        let srtt = Duration::from_millis(rtt_ms);
        controller.on_path_added(path, &PathStart { srtt, ..start(10, None) });
    }

    /// One path in its first slow start with that window.
    fn slow_start(name: &str, cwnd: u32) -> Controller {
        let mut controller = by_name(name, &Options::LINUX).unwrap();
        joins(&mut controller, OLD, 50);
        controller.on_ack(OLD, &ack_of(50, cwnd - 10));
        assert_eq!(controller.cwnd_segs(OLD), cwnd);
        controller
    }

    fn windows(controller: &Controller) -> [u32; 2] {
        [OLD, NEW].map(|path| controller.cwnd_segs(path))
    }

    #[test]
    fn grants_of_the_rule() {
        for (cwnd, initial, taken) in
            [(40, 10, 10), (20, 10, 10), (19, 9, 9), (13, 3, 3), (12, 3, 0), (10, 3, 0), (4, 3, 0)]
        {
            assert_eq!(grant(10, cwnd), Grant { initial, taken }, "{cwnd}");
        }
        // After a lost SYN.
        assert_eq!(grant(1, 40), Grant { initial: 1, taken: 1 });
        assert_eq!(grant(1, 1), Grant { initial: 1, taken: 0 });
    }

    #[test]
    fn joined_path_takes_its_window_from_one_in_slow_start() {
        for name in NAMES {
            for (cwnd, after) in [(40, [30, 10]), (16, [10, 6]), (11, [11, 3])] {
                let mut controller = slow_start(name, cwnd);
                joins(&mut controller, NEW, 80);
                assert_eq!(windows(&controller), after, "{name}");
            }
            let plain = name.strip_suffix(":lisa=1").unwrap();
            let mut controller = slow_start(plain, 40);
            joins(&mut controller, NEW, 80);
            assert_eq!(windows(&controller), [40, 10], "{plain} leaves slow starts alone");
        }
    }

    #[test]
    fn both_go_on_as_one_slow_start_would() {
        for name in NAMES {
            let mut controller = slow_start(name, 40);
            joins(&mut controller, NEW, 50);
            // What was in flight before is acknowledged, 4 at a time, and the new path's first 10.
            (0..10).for_each(|_| controller.on_ack(OLD, &ack_of(50, 4)));
            controller.on_ack(NEW, &ack_of(50, 10));
            assert_eq!(windows(&controller), [60, 20], "{name}: twice 40");
            controller.on_ack(OLD, &ack_of(50, 60));
            assert_eq!(controller.cwnd_segs(OLD), 120, "{name}: nothing is owed any more");
        }
    }

    #[test]
    fn path_of_the_largest_rate_gives() {
        for name in NAMES {
            let mut controller = slow_start(name, 40);
            joins(&mut controller, NEW, 20);
            controller.on_ack(NEW, &ack_of(20, 15));
            assert_eq!(windows(&controller), [30, 25], "{name}: 600 and 1250 a second");
            joins(&mut controller, PathId(2), 20);
            assert_eq!(windows(&controller), [30, 15], "{name}");
            assert_eq!(controller.cwnd_segs(PathId(2)), 10, "{name}");
        }
    }

    #[test]
    fn after_the_first_slow_start_nothing_is_taken() {
        let ends: [fn(&mut Controller); 3] = [
            |controller| {
                controller.on_congestion(OLD, &loss(Instant::from_secs(1)));
                controller.on_undo(OLD, Instant::from_secs(1));
            },
            |controller| {
                let (idle, rto) = (Duration::from_secs(1), Duration::from_millis(900));
                controller.on_idle_restart(OLD, idle, rto, Instant::from_secs(2));
            },
            |controller| {
                controller.on_path_added(OLD, &start(40, Some(40)));
                controller.on_ack(OLD, &ack_of(50, 1));
            },
        ];
        for name in NAMES {
            for end in ends {
                let mut controller = slow_start(name, 40);
                end(&mut controller);
                let before = controller.cwnd_segs(OLD);
                joins(&mut controller, NEW, 80);
                assert!(before >= 20);
                assert_eq!(windows(&controller), [before, 10], "{name}");
            }
        }
    }

    #[test]
    fn path_without_round_trip_time_gives_nothing() {
        let mut controller = by_name("lia:lisa=1", &Options::LINUX).unwrap();
        controller.on_path_added(OLD, &start(40, None));
        joins(&mut controller, NEW, 80);
        assert_eq!(windows(&controller), [40, 10]);
    }

    proptest! {
        /// The total stays, or grows by the least that a path needs.
        #[test]
        fn grant_makes_nothing_out_of_nothing(initial_window in 1..20u32, cwnd in 1..1000u32) {
            let Grant { initial, taken } = grant(initial_window, cwnd);
            prop_assert!((1..=initial_window).contains(&initial));
            prop_assert!(initial - taken <= MIN_INITIAL && (taken == 0 || taken == initial));
            prop_assert!(taken == 0 || cwnd - taken >= initial_window);
        }
    }
}
