//! Gilbert-Elliott loss on time: netem's `gemodel p r 1-h 1-k` (Salsano et al. 2009; the states of
//! Gilbert 1960 and Elliott 1963).
//!
//! netem advances its chain once per packet, so that variants which send different packets have
//! different states and cannot be paired. Here the chain advances once per slot of time. A slot is
//! the serialisation time of a 1500-byte packet at the configured rate (at the mean rate of a
//! trace; 120 us, that is 100 Mbit/s, on a link without a rate). On a saturated link of full
//! packets the distribution is exactly that of netem, and the state is a function of (seed, run,
//! link, time) only. The chain starts in the good state, as netem's does. A sojourn is drawn at
//! once, as a geometric number of slots. Within a state each packet is lost with 1-h (bad) or 1-k
//! (good), by the draw of its number. The slot does not change when the rate changes.

use super::{Draw, LossModel};
use base::{Chance, Duration, Instant, Purpose};

/// Slot of a link without a rate.
const SLOT_WITHOUT_RATE: Duration = Duration::from_micros(120);

/// The chain and its state.
#[derive(Clone, Debug)]
pub(crate) struct GilbertElliott {
    /// Probability per slot of leaving the good and the bad state.
    leave: [f64; 2],
    /// Probability of loss in the good and the bad state.
    lose: [f64; 2],
    slot: Duration,
    /// Sojourns begun; the current one is good if this is odd.
    sojourns: u64,
    /// First slot after the current sojourn.
    until: u64,
}

impl GilbertElliott {
    pub(crate) fn new(
        p: f64,
        r: f64,
        one_minus_h: f64,
        one_minus_k: f64,
        packet_time: Option<Duration>,
    ) -> Self {
        let slot = packet_time.filter(|time| !time.is_zero()).unwrap_or(SLOT_WITHOUT_RATE);
        let (leave, lose) = ([p, r], [one_minus_k, one_minus_h]);
        GilbertElliott { leave, lose, slot, sojourns: 0, until: 0 }
    }

    /// Whether the state at `time` is the bad one. A time before that of an earlier call returns
    /// the state of that call; this occurs only for packets queued across a rise of the rate.
    fn is_bad(&mut self, chance: Chance, owner: u64, time: Instant) -> bool {
        let slot = time.as_nanos() / self.slot.as_nanos();
        while self.until <= slot {
            let state = (self.sojourns % 2) as usize;
            let u = chance.uniform(owner, Purpose::LossState, self.sojourns);
            self.until = self.until.saturating_add(sojourn(u, self.leave[state]));
            self.sojourns += 1;
            if self.until == u64::MAX {
                break;
            }
        }
        self.sojourns.is_multiple_of(2)
    }
}

impl LossModel for GilbertElliott {
    fn loses(&mut self, draw: &Draw, depart: Instant) -> bool {
        let bad = self.is_bad(draw.chance, draw.owner, depart);
        draw.chance.happens(self.lose[usize::from(bad)], draw.owner, Purpose::Loss, draw.number)
    }
}

/// Slots spent in a state that is left with probability `leave` per slot: 1 + floor(ln(1-u) /
/// ln(1-leave)), geometric for a uniform `u` in [0, 1).
fn sojourn(u: f64, leave: f64) -> u64 {
    if leave >= 1.0 {
        return 1;
    }
    if leave.is_nan() || leave <= 0.0 {
        return u64::MAX;
    }
    // Casts saturate; log1p keeps small probabilities exact.
    (1.0 + libm::floor(libm::log1p(-u) / libm::log1p(-leave))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_millis(1);

    fn model(p: f64, r: f64) -> GilbertElliott {
        GilbertElliott::new(p, r, 1.0, 0.0, Some(SLOT))
    }

    fn states(times_us: &[u64]) -> Vec<bool> {
        let mut model = model(0.1, 0.3);
        let chance = Chance::new(5, 0);
        times_us.iter().map(|us| model.is_bad(chance, 1, Instant::from_micros(*us))).collect()
    }

    #[test]
    fn state_is_a_function_of_time_whatever_was_asked_before() {
        let all: Vec<u64> = (0..20_000).map(|i| i * 500).collect();
        let few: Vec<u64> = all.iter().copied().step_by(37).collect();
        let of_all: Vec<bool> = states(&all).into_iter().step_by(37).collect();
        assert_eq!(of_all, states(&few));
    }

    #[test]
    fn saturated_link_sees_the_stationary_loss_and_burst_length_of_the_chain() {
        let (p, r) = (0.02, 0.25);
        let mut model = model(p, r);
        let chance = Chance::new(5, 0);
        let lost: Vec<bool> = (0..200_000u64)
            .map(|number| {
                let draw = Draw { chance, owner: 1, number };
                model.loses(&draw, Instant::from_millis(number))
            })
            .collect();
        let share = lost.iter().filter(|l| **l).count() as f64 / lost.len() as f64;
        assert!((share - p / (p + r)).abs() < 0.006, "share {share}");
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        let burst = share * lost.len() as f64 / bursts;
        assert!((burst - 1.0 / r).abs() < 0.2, "mean burst {burst}");
    }

    #[test]
    fn chain_starts_good_and_p_of_zero_never_leaves() {
        let chance = Chance::new(5, 0);
        assert!(!model(0.5, 0.5).is_bad(chance, 1, Instant::ZERO));
        assert!(!model(0.0, 0.5).is_bad(chance, 1, Instant::from_secs(1_000_000)));
        assert!(model(1.0, 0.0).is_bad(chance, 1, Instant::from_secs(1_000_000)));
    }

    #[test]
    fn loss_in_the_good_state_follows_one_minus_k() {
        let mut model = GilbertElliott::new(0.0, 0.5, 1.0, 0.1, Some(SLOT));
        let chance = Chance::new(5, 0);
        let lost = (0..50_000u64)
            .filter(|number| {
                model.loses(&Draw { chance, owner: 1, number: *number }, Instant::ZERO)
            })
            .count();
        assert!((4_700..5_300).contains(&lost), "{lost}");
    }
}
