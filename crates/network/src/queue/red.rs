//! RED, random early detection: the algorithm of Floyd and Jacobson (IEEE/ACM ToN 1(4), 1993,
//! Fig. 2), in packets, not gentle, as the authors' simulations of paper 003 use it.
//!
//! On each arrival `avg <- (1-w) avg + w q`, and after an idle time of m packet times
//! `avg <- (1-w)^m avg`. Below `min` nothing is dropped, from `max` on everything; between them
//! with `p_b = max_p (avg-min)/(max-min)` and `p_a = p_b / (1 - count p_b)`, count being the
//! packets kept since the last drop (the figure counts the arriving packet, too, after a drop). The
//! limit of the link still holds.

use super::{Arrival, TailDiscipline};
use base::{DropReason, Duration, Purpose};

/// The weight w of a new queue length in the average: 0.002, as the paper recommends and paper
/// 003's simulations use.
const WEIGHT: f64 = 0.002;

/// The state of RED.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    min: f64,
    max: f64,
    max_p: f64,
    packet_time: Option<Duration>,
    avg: f64,
    /// Packets kept since the last drop while `avg` was between the thresholds.
    count: u64,
    /// Arrivals so far: the index of the draw.
    arrivals: u64,
}

impl Red {
    pub(crate) fn new(min: f64, max: f64, max_p: f64, packet_time: Option<Duration>) -> Self {
        Red { min, max, max_p, packet_time, avg: 0.0, count: 0, arrivals: 0 }
    }

    fn update_average(&mut self, arrival: &Arrival) {
        match (arrival.idle_since, self.packet_time) {
            (Some(since), Some(time)) if !time.is_zero() => {
                let m = (arrival.now - since).as_nanos() as f64 / time.as_nanos() as f64;
                self.avg *= libm::pow(1.0 - WEIGHT, m);
            }
            _ => self.avg += WEIGHT * (arrival.backlog.packets as f64 - self.avg),
        }
    }

    /// The probability p_a of a drop while `avg` is between the thresholds.
    fn drop_probability(&self) -> f64 {
        let p_b = self.max_p * (self.avg - self.min) / (self.max - self.min);
        let rest = 1.0 - self.count as f64 * p_b;
        if rest > 0.0 { p_b / rest } else { 1.0 }
    }
}

impl TailDiscipline for Red {
    fn admit(&mut self, arrival: &Arrival) -> Result<(), DropReason> {
        self.update_average(arrival);
        let index = self.arrivals;
        self.arrivals += 1;
        if self.avg < self.min {
            self.count = 0;
        } else {
            let p = if self.avg < self.max { self.drop_probability() } else { 1.0 };
            if arrival.chance.happens(p, arrival.owner, Purpose::Red, index) {
                self.count = 0;
                return Err(DropReason::Early);
            }
            self.count += 1;
        }
        if arrival.idle_since.is_some() || arrival.room.fits(arrival.backlog, arrival.len) {
            return Ok(());
        }
        self.count = 0;
        Err(DropReason::QueueFull)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Backlog, Room};
    use super::*;
    use base::{Chance, Instant};

    fn arrival(packets: u64) -> Arrival {
        Arrival {
            now: Instant::ZERO,
            chance: Chance::new(1, 0),
            owner: 9,
            len: 1500,
            backlog: Backlog { packets, bytes: packets * 1500 },
            idle_since: None,
            room: Room::Packets(1000),
        }
    }

    fn red() -> Red {
        Red::new(30.0, 90.0, 0.1, Some(Duration::from_millis(1)))
    }

    #[test]
    fn average_follows_the_queue_with_the_weight() {
        let mut red = red();
        assert_eq!(red.admit(&arrival(100)), Ok(()));
        assert!((red.avg - 0.2).abs() < 1e-12);
        assert_eq!(red.admit(&arrival(100)), Ok(()));
        assert!((red.avg - (0.2 + 0.002 * 99.8)).abs() < 1e-12);
    }

    #[test]
    fn idle_time_decays_the_average_by_packet_times() {
        let mut red = red();
        red.avg = 50.0;
        let mut late = arrival(0);
        late.now = Instant::from_millis(110);
        late.idle_since = Some(Instant::from_millis(10));
        assert_eq!(red.admit(&late), Ok(()));
        assert!((red.avg - 50.0 * libm::pow(0.998, 100.0)).abs() < 1e-9);
    }

    #[test]
    fn average_above_the_maximum_drops_everything() {
        let mut red = red();
        red.avg = 91.0;
        assert!((0..100).all(|_| red.admit(&arrival(95)) == Err(DropReason::Early)));
    }

    #[test]
    fn average_between_the_thresholds_drops_once_per_inverse_probability() {
        // At avg 60, p_b = 0.05: gaps are uniform on 1 .. 1/p_b, so their mean is about 10.5.
        let mut red = red();
        let mut drops = 0;
        for _ in 0..10_000 {
            red.avg = 60.0;
            drops += u32::from(red.admit(&arrival(60)).is_err());
        }
        assert!((900..1_000).contains(&drops), "{drops}");
    }

    #[test]
    fn full_queue_is_a_queue_drop() {
        let mut red = red();
        assert_eq!(red.admit(&arrival(1000)), Err(DropReason::QueueFull));
    }
}
