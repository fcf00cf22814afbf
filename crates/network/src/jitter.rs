//! Jitter: how much the delay of each packet deviates from that of the link.
//!
//! `delay TIME JITTER [CORR] [distribution NAME]` of netem, whose `tabledist` adds a draw of
//! `get_crandom` to the delay. netem puts the packets in the order of their arrivals; here they
//! keep their order unless `unordered` is set, as behind a queue whose length varies. The draw of a
//! packet depends on its number only, so that variants have the same draws.
//!
//! netem takes the remainder of the correlated draw by the jitter, or by the length of its table,
//! which leaves its high bits, and with them the correlation, out; here the draw is scaled.

use crate::loss::Draw;
use base::{Duration, Instant, Purpose};

/// The largest deviation of a normal distribution, in standard deviations: that of netem's table.
const FARTHEST: f64 = 4.0;
/// Weight of a draw that no longer matters in a correlated one.
const NEGLIGIBLE: f64 = 1e-10;

/// Deviation of delays.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Jitter {
    /// Largest deviation if uniform, standard deviation if normal. Delays are never negative.
    pub spread: Duration,
    /// Share of the previous packet's draw in that of each packet, from 0 to `MAX_CORRELATION`.
    pub correlation: f64,
    /// Distribution of the deviation.
    pub distribution: Distribution,
    /// Whether packets may overtake each other, as with netem.
    pub unordered: bool,
}

/// Distribution of delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Distribution {
    /// Between `-spread` and `spread`, both included.
    #[default]
    Uniform,
    /// With a standard deviation of `spread`, at most four of them from the mean.
    Normal,
}

impl Distribution {
    /// Names of all distributions, in the order of the enumeration.
    pub const NAMES: [&str; 2] = ["uniform", "normal"];

    /// The distribution of that name.
    pub fn from_name(name: &str) -> Option<Distribution> {
        [Distribution::Uniform, Distribution::Normal].into_iter().find(|d| d.name() == name)
    }

    /// The word after `distribution`.
    pub const fn name(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Normal => "normal",
        }
    }
}

impl Jitter {
    /// The highest correlation: with 1 every packet would have the draw of the first one.
    pub const MAX_CORRELATION: f64 = 0.99;

    /// A uniform jitter that keeps the order of packets.
    pub fn uniform(spread: Duration) -> Self {
        Jitter { spread, ..Jitter::default() }
    }

    /// Whether every packet has the same delay.
    pub const fn is_zero(&self) -> bool {
        self.spread.is_zero()
    }
}

/// Delays that differ between packets, by jitter or reordering.
#[derive(Clone, Debug)]
pub(crate) struct Variation {
    jitter: Jitter,
    /// Probability that a packet skips the delay.
    reorder: f64,
    /// Number of the last correlated draw and its value in [0, 1).
    last: Option<(u64, f64)>,
    /// Latest arrival of the packets that keep their order.
    latest: Instant,
}

impl Variation {
    pub(crate) const fn new(jitter: Jitter, reorder: f64) -> Self {
        Variation { jitter, reorder, last: None, latest: Instant::ZERO }
    }

    /// Whether delays differ.
    pub(crate) fn exists(&self) -> bool {
        !self.jitter.is_zero() || self.reorder > 0.0
    }

    /// Whether packets may arrive in another order than they left.
    pub(crate) fn overtakes(&self) -> bool {
        self.reorder > 0.0 || (!self.jitter.is_zero() && self.jitter.unordered)
    }

    /// Forgets arrivals that are computed again; `latest` is the last one of the other packets.
    pub(crate) const fn resume(&mut self, latest: Instant) {
        self.latest = latest;
    }

    /// Arrival of a packet that leaves the queue at `depart`.
    pub(crate) fn arrival(&mut self, depart: Instant, delay: Duration, draw: &Draw) -> Instant {
        let Draw { chance, owner, number } = *draw;
        if chance.happens(self.reorder, owner, Purpose::Reorder, number) {
            return depart;
        }
        let arrival = depart + self.delay(delay, draw);
        // A packet that never leaves the queue precedes none that does.
        if self.jitter.unordered || depart == Instant::FAR_FUTURE {
            return arrival;
        }
        self.latest = self.latest.max(arrival);
        self.latest
    }

    fn delay(&mut self, delay: Duration, draw: &Draw) -> Duration {
        let Draw { chance, owner, number } = *draw;
        let Jitter { spread, correlation, distribution, .. } = self.jitter;
        let width = spread.as_nanos().saturating_mul(2).saturating_add(1);
        match distribution {
            Distribution::Uniform if correlation == 0.0 => {
                let up = chance.below(width, owner, Purpose::Jitter, number);
                (delay + Duration::from_nanos(up)).saturating_sub(spread)
            }
            Distribution::Uniform => {
                let up = (self.correlated(draw) * width as f64) as u64;
                (delay + Duration::from_nanos(up)).saturating_sub(spread)
            }
            Distribution::Normal => {
                let deviation = standard_normal(self.correlated(draw)) * spread.as_nanos() as f64;
                let size = Duration::from_nanos(deviation.abs() as u64);
                if deviation < 0.0 { delay.saturating_sub(size) } else { delay + size }
            }
        }
    }

    /// netem's `get_crandom`: (1 - c) u(n) + c times the value of packet n - 1.
    fn correlated(&mut self, draw: &Draw) -> f64 {
        let Draw { chance, owner, number } = *draw;
        let uniform = |number| chance.uniform(owner, Purpose::Jitter, number);
        let share = self.jitter.correlation;
        if share == 0.0 {
            return uniform(number);
        }
        // A packet before the last one, of a flow with a shorter queue or served again, has the
        // value of the same draws.
        let window = libm::ceil(libm::log(NEGLIGIBLE) / libm::log(share)) as u64;
        let begin = number.saturating_sub(window);
        let known = self.last.filter(|(last, _)| (begin..=number).contains(last));
        let (from, mut value) = known.unwrap_or((begin, uniform(begin)));
        for next in from + 1..=number {
            value = (1.0 - share) * uniform(next) + share * value;
        }
        self.last = Some((number, value));
        value
    }
}

/// Standard normal deviate whose share of smaller values is `u`, by bisection of the distribution
/// function: `libm` has it with the same bits on every machine, and no quantile. At most four.
pub fn standard_normal(u: f64) -> f64 {
    let (mut low, mut high) = (-FARTHEST, FARTHEST);
    // Leaves 2e-9 standard deviations.
    for _ in 0..32 {
        let middle = (low + high) / 2.0;
        if 0.5 * libm::erfc(-middle * std::f64::consts::FRAC_1_SQRT_2) < u {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Chance;

    const DELAY: Duration = Duration::from_millis(100);
    const SPREAD: Duration = Duration::from_millis(10);

    fn draw(number: u64) -> Draw {
        Draw { chance: Chance::new(3, 0), owner: 1, number }
    }

    /// Deviations of packets in units of the spread.
    fn deviations(jitter: Jitter, n: u64) -> Vec<f64> {
        let mut variation = Variation::new(jitter, 0.0);
        let deviation = |number| {
            let delay = variation.delay(DELAY, &draw(number)).as_secs_f64();
            (delay - DELAY.as_secs_f64()) / SPREAD.as_secs_f64()
        };
        (0..n).map(deviation).collect()
    }

    /// Standard deviation and correlation of successive values.
    fn moments(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let variance = values.iter().map(|x| x * x).sum::<f64>() / n;
        let lag = values.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / (n - 1.0);
        (variance.sqrt(), lag / variance)
    }

    #[test]
    fn normal_jitter_has_its_standard_deviation_and_ends_at_four_of_them() {
        let jitter = Jitter { distribution: Distribution::Normal, ..Jitter::uniform(SPREAD) };
        let values = deviations(jitter, 50_000);
        let (deviation, lag) = moments(&values);
        assert!((deviation - 1.0).abs() < 0.01 && lag.abs() < 0.02, "{deviation} {lag}");
        let beyond = |limit: f64| values.iter().filter(|x| x.abs() > limit).count() as f64 / 5e4;
        assert!((beyond(1.96) - 0.05).abs() < 0.005 && beyond(4.001) == 0.0);
        assert!(
            (standard_normal(0.975) - 1.959_963_98).abs() < 1e-7
                && standard_normal(0.0) <= -3.999_999
        );
    }

    #[test]
    fn correlated_uniform_draws_are_those_of_get_crandom() {
        for share in [0.25, 0.9] {
            let jitter = Jitter { correlation: share, ..Jitter::uniform(SPREAD) };
            let values = deviations(jitter, 50_000);
            let (deviation, lag) = moments(&values);
            // Of (1 - c) u(n) + c x(n - 1): variance (1 - c)^2 / (1 - c^2) of that of u.
            let expected = ((1.0 - share) / (1.0 + share) / 3.0).sqrt();
            assert!((deviation - expected).abs() < 0.02, "{deviation} {expected}");
            assert!((lag - share).abs() < 0.02, "{lag} {share}");
        }
    }

    #[test]
    fn correlated_draw_depends_on_the_number_only() {
        let jitter = Jitter { correlation: 0.9, ..Jitter::uniform(SPREAD) };
        let all = deviations(jitter, 1000);
        let mut variation = Variation::new(jitter, 0.0);
        for number in [0, 7, 500, 499, 3, 999] {
            let delay = variation.delay(DELAY, &draw(number)).as_secs_f64();
            let deviation = (delay - DELAY.as_secs_f64()) / SPREAD.as_secs_f64();
            assert!((deviation - all[number as usize]).abs() < 1e-6, "packet {number}");
        }
    }

    #[test]
    fn packets_keep_their_order_unless_it_is_given_up() {
        let mut kept = Variation::new(Jitter::uniform(SPREAD), 0.0);
        let mut lost = Variation::new(Jitter { unordered: true, ..Jitter::uniform(SPREAD) }, 0.0);
        let arrivals = |variation: &mut Variation| -> Vec<Instant> {
            let arrival =
                |n: u64| variation.arrival(Instant::from_micros(n * 100), DELAY, &draw(n));
            (0..1000).map(arrival).collect()
        };
        let (kept, lost) = (arrivals(&mut kept), arrivals(&mut lost));
        assert!(kept.is_sorted() && !lost.is_sorted());
        let later = |(a, b): (&Instant, &Instant)| a >= b;
        assert!(kept.iter().zip(&lost).all(later), "a packet only waits for those before it");
        assert!(kept[0] == lost[0] && kept != lost);
    }
}
