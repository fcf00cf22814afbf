//! Bernoulli loss: each packet with the same probability, independently (netem's `loss random`).

use super::{Draw, LossModel};
use base::{Instant, Purpose};

/// Loses a packet with probability `p`.
#[derive(Clone, Debug)]
pub(crate) struct Bernoulli {
    p: f64,
}

impl Bernoulli {
    pub(crate) const fn new(p: f64) -> Self {
        Bernoulli { p }
    }
}

impl LossModel for Bernoulli {
    #[inline]
    fn loses(&mut self, draw: &Draw, _depart: Instant) -> bool {
        draw.chance.happens(self.p, draw.owner, Purpose::Loss, draw.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Chance;

    fn lost(p: f64, packets: u64) -> u64 {
        let mut model = Bernoulli::new(p);
        let chance = Chance::new(1, 0);
        let lose =
            |number: &u64| model.loses(&Draw { chance, owner: 3, number: *number }, Instant::ZERO);
        (0..packets).filter(lose).count() as u64
    }

    #[test]
    fn share_of_lost_packets_is_the_probability() {
        let lost = lost(0.02, 100_000);
        // Four standard deviations of a binomial (44).
        assert!((1823..=2177).contains(&lost), "{lost}");
    }

    #[test]
    fn certain_loss_loses_all_and_no_loss_none() {
        assert_eq!(lost(1.0, 1000), 1000);
        assert_eq!(lost(0.0, 1000), 0);
    }
}
