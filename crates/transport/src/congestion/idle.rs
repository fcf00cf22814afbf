//! The decay of windows that were not used: after an idle period and while the application limits
//! the sender.
//!
//! RFC 2861 s3 as in Linux (`tcp_cwnd_restart`, `tcp_cwnd_application_limited`), which is
//! `net.ipv4.tcp_slow_start_after_idle` = 1. The connection decides whether a path was idle or
//! application-limited.

use super::segment_window::SegmentWindow;
use base::Duration;

/// The initial window of Linux (`TCP_INIT_CWND`), the restart window even after a lost handshake.
const RESTART_WINDOW: u32 = 10;

/// Data are sent with nothing in flight after `idle`: the window is halved once per RTO, not below
/// the restart window.
pub(super) fn restart(window: &mut SegmentWindow, idle: Duration, rto: Duration) {
    if idle > rto && !rto.is_zero() {
        halve_per_rto(window, idle, rto);
    }
}

fn halve_per_rto(window: &mut SegmentWindow, mut idle: Duration, rto: Duration) {
    let mut cwnd = window.cwnd_segs();
    let floor = restart_window(window).min(cwnd);
    window.set_ssthresh(window.current_ssthresh());
    idle -= rto;
    while !idle.is_zero() && cwnd > floor {
        cwnd /= 2;
        idle -= rto;
    }
    window.set_cwnd(f64::from(cwnd.max(floor)));
}

/// For one RTO the application used at most `used_segs` of the window, without ever filling it:
/// the window becomes the mean of itself and what was used.
pub(super) fn application_limited(window: &mut SegmentWindow, used_segs: u32) {
    let cwnd = window.cwnd_segs();
    let used = used_segs.max(restart_window(window));
    if used < cwnd {
        window.set_ssthresh(window.current_ssthresh());
        window.set_cwnd(f64::from((cwnd + used) / 2));
    }
}

fn restart_window(window: &SegmentWindow) -> u32 {
    if window.initial() > 1 { window.initial() } else { RESTART_WINDOW }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Window 80, threshold 40, initial window 10.
    fn window() -> SegmentWindow {
        let mut window = SegmentWindow::new(1448, 10, Some(40));
        window.set_cwnd(80.0);
        window
    }

    #[test]
    fn idle_1_three_halvings_in_800_ms() {
        let mut window = window();
        restart(&mut window, ms(800), ms(250));
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (10, Some(60)));
    }

    #[test]
    fn idle_1_each_further_rto_halves_once() {
        for (idle, cwnd) in [(250, 80), (251, 40), (500, 40), (501, 20), (9_000, 10)] {
            let mut window = window();
            restart(&mut window, ms(idle), ms(250));
            assert_eq!(window.cwnd_segs(), cwnd, "after {idle} ms");
        }
    }

    #[test]
    fn restart_never_raises_the_window() {
        let mut window = SegmentWindow::new(1448, 10, None);
        window.set_cwnd(4.0);
        restart(&mut window, ms(800), ms(250));
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (4, None));
    }

    #[test]
    fn lost_handshake_does_not_lower_the_restart_window() {
        let mut window = SegmentWindow::new(1448, 1, None);
        window.set_cwnd(80.0);
        restart(&mut window, Duration::from_secs(60), ms(250));
        assert_eq!(window.cwnd_segs(), 10);
    }

    #[test]
    fn unused_window_shrinks_towards_what_was_used() {
        let mut window = window();
        application_limited(&mut window, 30);
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (55, Some(60)));
        application_limited(&mut window, 2);
        assert_eq!(window.cwnd_segs(), 32, "the initial window counts as used");
    }
}
