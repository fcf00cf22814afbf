//! Resource pooling, the laws of CMT-SCTP (Dreibholz et al., AINA 2010 and ConTEL 2011; FreeBSD's
//! `cmt_on_off` 2 and 3): paths share the growth of one, and a path that loses pays for all.
//!
//! The laws are those of `law::pool`. Over windows in bytes the shares are those of slow start,
//! too, and of the initial window (`ByteLaw::shares_start`).

use super::byte_control::ByteLaw;
use super::choice::ControllerRow;
use super::controller::Controller;
use super::coupled::{Coupled, Rule};
use super::law::pool::{self, Version};
use super::law::{Flow, reno};
use super::segment_window::SegmentWindow;
use super::{CongestionEvent, Options};

/// The row of `cmtrpv1`.
pub(super) const ROW: ControllerRow = ControllerRow {
    name: "cmtrpv1",
    about: "CMT/RPv1: growth by shares of thresholds, a loss takes half of all windows. Coupled.",
    source: "Dreibholz and others, AINA 2010",
    parameters: &[],
    is_coupled: true,
    make: |options| Controller::PoolV1(PoolV1::new(*options)),
    bytes: Some(ByteLaw {
        slow_start_share: |flows, own, _| pool::share(flows, own, Version::V1),
        increase: |flows, own, pmdcs| pool::increase(flows, own, Version::V1, pmdcs),
        reduced: |flows, own| pool::decrease(flows, own, Version::V1),
        floor: |flows, own, pmdcs| rounded_up(pool::floor(flows, own, Version::V1, pmdcs)),
        shares_start: true,
    }),
};

/// The row of `cmtrpv2`.
pub(super) const V2_ROW: ControllerRow = ControllerRow {
    name: "cmtrpv2",
    about: "CMT/RPv2: growth by shares of rates, a loss takes half of all rates. Coupled.",
    source: "Dreibholz and others, ConTEL 2011",
    parameters: &[],
    is_coupled: true,
    make: |options| Controller::PoolV2(PoolV2::new(*options)),
    bytes: Some(ByteLaw {
        slow_start_share: |flows, own, _| pool::share(flows, own, Version::V2),
        increase: |flows, own, pmdcs| pool::increase(flows, own, Version::V2, pmdcs),
        reduced: |flows, own| match flows.len() {
            1 => reno::decrease(flows[own].cwnd),
            _ => rounded_up(pool::decrease(flows, own, Version::V2)),
        },
        floor: |flows, own, pmdcs| pool::floor(flows, own, Version::V2, pmdcs),
        shares_start: true,
    }),
};

/// The row of `rpv2-bsd`.
pub(super) const BSD_ROW: ControllerRow = ControllerRow {
    name: "rpv2-bsd",
    about: "CMT/RPv2 as in FreeBSD: a loss takes half of all windows, as in RPv1. Coupled.",
    source: "usrsctp 0.9.5",
    parameters: &[],
    is_coupled: true,
    make: |options| Controller::PoolV2Bsd(PoolV2Bsd::new(*options)),
    bytes: Some(ByteLaw {
        slow_start_share: |flows, own, _| pool::share(flows, own, Version::V2Bsd),
        increase: |flows, own, pmdcs| pool::increase(flows, own, Version::V2Bsd, pmdcs),
        reduced: |flows, own| pool::decrease(flows, own, Version::V2Bsd),
        floor: |flows, own, pmdcs| rounded_up(pool::floor(flows, own, Version::V2Bsd, pmdcs)),
        shares_start: true,
    }),
};

/// The floor of RPv1 in INET, the share of one packet (`rpMinCwnd`), instead of four.
pub(super) const FLOOR_OF_ONE: fn(&[Flow], usize, f64) -> f64 =
    |flows, own, pmdcs| rounded_up(pmdcs * pool::share(flows, own, Version::V1)).max(pmdcs);

/// In whole bytes; products that are whole numbers stay.
fn rounded_up(bytes: f64) -> f64 {
    libm::ceil(bytes - 1e-9)
}

/// Shares by thresholds.
pub(super) type PoolV1 = Coupled<Pooled<1>>;
/// Shares by rates.
pub(super) type PoolV2 = Coupled<Pooled<2>>;
/// Shares by rates, cuts by windows.
pub(super) type PoolV2Bsd = Coupled<Pooled<3>>;

/// One path; the law has no state beyond the windows.
#[derive(Clone, Debug)]
pub struct Pooled<const VERSION: u8>;

impl<const VERSION: u8> Pooled<VERSION> {
    const LAW: Version = match VERSION {
        1 => Version::V1,
        2 => Version::V2,
        _ => Version::V2Bsd,
    };
}

impl<const VERSION: u8> Rule for Pooled<VERSION> {
    fn new(_options: &Options) -> Self {
        Pooled
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, flows: &[Flow]) {
        let Some(own) = flows.len().checked_sub(1) else { return };
        window.grow(acked * pool::increase(flows, own, Self::LAW, 1.0));
    }

    fn ssthresh(&mut self, window: &SegmentWindow, flows: &[Flow], _: &CongestionEvent) -> f64 {
        let Some(own) = flows.len().checked_sub(1) else { return reno::decrease(window.cwnd()) };
        let floor = pool::floor(flows, own, Self::LAW, 1.0);
        pool::decrease(flows, own, Self::LAW).max(floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::CongestionControl;
    use crate::congestion::coupled::tests::{avoiding, growth};
    use crate::congestion::law::assert_close;
    use crate::congestion::test_support::loss;
    use base::{Instant, PathId};

    #[test]
    fn growth_of_a_connection_is_that_of_the_law() {
        // Equal thresholds and round trips: half of a step, and shares of 2/3 and 1/3.
        assert_close(growth::<Pooled<2>>(&[(20, 100), (10, 100)], 0), 2.0 / 3.0 / 20.0);
        assert_close(growth::<Pooled<3>>(&[(20, 100), (10, 100)], 1), 1.0 / 3.0 / 10.0);
    }

    #[test]
    fn loss_takes_half_of_all_windows_from_the_path() {
        let mut pool: PoolV1 = avoiding(Options::LINUX, &[(30, 100), (10, 100)]);
        pool.on_congestion(PathId(0), &loss(Instant::from_secs(1)));
        assert_eq!(pool.ssthresh_segs(PathId(0)), Some(10));
        let mut pool: PoolV2 = avoiding(Options::LINUX, &[(30, 100), (10, 100)]);
        pool.on_congestion(PathId(1), &loss(Instant::from_secs(1)));
        assert_eq!(pool.ssthresh_segs(PathId(1)), Some(1), "the floor");
    }
}
