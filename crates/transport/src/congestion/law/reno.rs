//! The law of NewReno (RFC 5681 s3.1).

/// Growth in congestion avoidance per acknowledged segment or byte: `SMSS / cwnd`, which is
/// `SMSS * SMSS / cwnd` for a full-sized segment (RFC 5681 s3.1, equation 3).
pub(crate) fn increase(cwnd: f64, unit: f64) -> f64 {
    debug_assert!(cwnd > 0.0 && unit > 0.0, "{cwnd} {unit}");
    unit / cwnd
}

/// The window after a loss, before any floor: half of it. RFC 5681 s3.1 halves the flight size;
/// Linux `tcp_reno_ssthresh` and RFC 9260 s7.2.3 halve the window.
pub(crate) fn decrease(cwnd: f64) -> f64 {
    cwnd / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::law::assert_close;

    #[test]
    fn ten_acknowledgements_add_about_one_segment() {
        let windows = (0..10).fold([10.0, 14_680.0], |[segs, bytes], _| {
            [segs + increase(segs, 1.0), bytes + 1468.0 * increase(bytes, 1468.0)]
        });
        assert!((windows[0] - 10.958_6).abs() < 5e-5);
        assert_close(windows[1] / 1468.0, windows[0]);
    }

    #[test]
    fn loss_leaves_half_of_the_window() {
        assert_eq!([15.0, 44_040.0].map(decrease), [7.5, 22_020.0]);
    }
}
