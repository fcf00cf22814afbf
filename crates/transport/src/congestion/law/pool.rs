//! The laws of resource pooling, CMT/RPv1 (Dreibholz et al., AINA 2010) and CMT/RPv2 (ConTEL
//! 2011): every path grows by its share of a step, and a loss takes half of all windows from the
//! path that lost.
//!
//! With thresholds `s_i`, windows `c_i` and rates `x_i = c_i / rtt_i`, the share of path `i` is
//! `s_i / sum s` in RPv1 and `x_i / sum x` in RPv2. A path alone is NewReno.

use super::{Flow, reno, total_rate};

/// Bytes or segments that a threshold counts with while it is arbitrarily high.
const LARGEST_THRESHOLD: f64 = (1u64 << 40) as f64;

/// The version of a law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    /// Shares by thresholds, half of all windows.
    V1,
    /// Shares by rates, half of the sum of rates.
    V2,
    /// Shares by rates, half of all windows, with a floor as in V1 (FreeBSD).
    V2Bsd,
}

/// The share of path `own`, above zero and at most 1.
pub(crate) fn share(flows: &[Flow], own: usize, version: Version) -> f64 {
    let threshold = |flow: &Flow| flow.ssthresh.min(LARGEST_THRESHOLD);
    match version {
        Version::V1 => {
            let sum: f64 = flows.iter().map(threshold).sum();
            threshold(&flows[own]) / sum
        }
        Version::V2 | Version::V2Bsd => flows[own].rate() / total_rate(flows),
    }
}

/// Growth in congestion avoidance per acknowledged segment or byte: the share of NewReno's.
pub(crate) fn increase(flows: &[Flow], own: usize, version: Version, unit: f64) -> f64 {
    share(flows, own, version) * reno::increase(flows[own].cwnd, unit)
}

/// The window after a loss, before any floor; it may be negative.
pub(crate) fn decrease(flows: &[Flow], own: usize, version: Version) -> f64 {
    let cwnd = flows[own].cwnd;
    if flows.len() == 1 {
        return reno::decrease(cwnd);
    }
    match version {
        Version::V1 | Version::V2Bsd => cwnd - total_window(flows) / 2.0,
        Version::V2 => cwnd - factor(flows, own) * cwnd,
    }
}

/// The least window after a loss.
pub(crate) fn floor(flows: &[Flow], own: usize, version: Version, unit: f64) -> f64 {
    match version {
        Version::V1 | Version::V2Bsd => (4.0 * unit * share(flows, own, version)).max(unit),
        Version::V2 => unit,
    }
}

/// `max(1/2, sum x / (2 x_i))`, the part of its window that a path loses in RPv2.
fn factor(flows: &[Flow], own: usize) -> f64 {
    (total_rate(flows) / 2.0 / flows[own].rate()).max(0.5)
}

fn total_window(flows: &[Flow]) -> f64 {
    flows.iter().map(|flow| flow.cwnd).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::law::assert_close;
    use base::Duration;

    const P: f64 = 1468.0;

    fn flows() -> [Flow; 2] {
        [(14_680.0, 20_000.0, 100), (44_040.0, 30_000.0, 200)].map(|(cwnd, ssthresh, rtt_ms)| {
            Flow { ssthresh, ..Flow::new(cwnd, Duration::from_millis(rtt_ms)) }
        })
    }

    #[test]
    fn shares_are_those_of_thresholds_or_rates() {
        for version in [Version::V1, Version::V2, Version::V2Bsd] {
            assert_close(share(&flows(), 0, version), 0.4);
            assert_close(share(&flows(), 1, version), 0.6);
            let grown = P * 10.0 * increase(&flows(), 0, version, P);
            assert_close(grown, 0.4 * P);
        }
        let mut endless = flows();
        endless[0].ssthresh = f64::INFINITY;
        assert!(share(&endless, 0, Version::V1) > 0.99);
        endless[1].ssthresh = f64::INFINITY;
        assert_close(share(&endless, 0, Version::V1), 0.5);
    }

    #[test]
    fn path_that_lost_pays_for_all_windows() {
        let of =
            |own, version| (decrease(&flows(), own, version), floor(&flows(), own, version, P));
        let v1 = of(0, Version::V1);
        assert_close(v1.0, -14_680.0);
        assert_close(v1.1, 2348.8);
        assert_close(of(1, Version::V1).0, 14_680.0);
        assert_close(of(1, Version::V1).1, 3523.2);
        assert_close(factor(&flows(), 0), 1.25);
        assert_close(factor(&flows(), 1), 5.0 / 6.0);
        assert_close(of(0, Version::V2).0, -3670.0);
        assert_close(of(1, Version::V2).0, 7340.0);
        assert_close(of(1, Version::V2).1, P);
        assert_eq!(of(1, Version::V2Bsd).0, 14_680.0);
        let alone = &flows()[..1];
        assert_eq!(decrease(alone, 0, Version::V2), 7340.0);
        assert_eq!(floor(alone, 0, Version::V1, P), 4.0 * P);
    }
}
