//! `PathBlocking`: a path whose window would fall below a packet takes no new data for a while
//! (`rpPathBlocking` of INET).

use super::names::named;
use base::Duration;

/// Whether a path whose window would fall below a packet rests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathBlocking {
    /// It does not.
    #[default]
    Off,
    /// For one retransmission time-out.
    On,
    /// For one per path of its group (`rpScaleBlockingTimeout` of INET).
    Scaled,
}

named! {
    PathBlocking {
        Off "off" "a path always takes new data";
        On "on" "a path whose window would fall below a packet rests for one RTO";
        Scaled "scaled" "the same, for one RTO per path of its group";
    }
    "false" = "off";
    "true" = "on";
}

impl PathBlocking {
    /// The time that a path rests; `reduced`: its window after a cut, before any floor, and
    /// `packet`, both in bytes; `paths`: number of paths of its group.
    pub(in crate::sctp) fn rest(
        self,
        (reduced, packet): (f64, u32),
        rto: Duration,
        paths: u32,
    ) -> Option<Duration> {
        let rests = self != PathBlocking::Off && reduced < f64::from(packet);
        let times = if self == PathBlocking::Scaled { paths.max(1) } else { 1 };
        rests.then(|| rto * u64::from(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_rests_if_its_window_would_be_less_than_a_packet() {
        let rto = Duration::from_secs(1);
        let rest = |rule: PathBlocking, reduced| rule.rest((reduced, 1468), rto, 3);
        assert_eq!(rest(PathBlocking::On, 1467.5), Some(rto));
        assert_eq!(rest(PathBlocking::On, -14_680.0), Some(rto), "RPv1 cuts below zero");
        assert_eq!(rest(PathBlocking::On, 1468.0), None);
        assert_eq!(rest(PathBlocking::Off, 0.0), None);
        assert_eq!(rest(PathBlocking::Scaled, 0.0), Some(Duration::from_secs(3)));
    }
}
