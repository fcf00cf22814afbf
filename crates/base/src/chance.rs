//! Random draws as a keyed hash of (seed, run, owner, purpose, index), without generator state.
//!
//! A new draw in one place does not change a draw in another place, and the n-th packet on a link
//! has the same draws in every variant. Distributions other than the uniform one are left to the
//! callers.

/// What a draw decides; part of its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Purpose {
    /// A Bernoulli or Gilbert-Elliott loss.
    Loss = 1,
    /// A change of state of a Gilbert-Elliott model.
    LossState,
    /// A deviation from the constant delay.
    Jitter,
    /// Whether a packet overtakes others.
    Reorder,
    /// Whether a packet arrives twice.
    Duplicate,
    /// Whether a packet is damaged.
    Corrupt,
    /// Which bit of a packet is damaged.
    CorruptBit,
    /// An early drop of RED.
    Red,
    /// Where a recorded trace starts.
    TraceOffset,
    /// A path parameter drawn from a range.
    PathParameter,
    /// An initial sequence number.
    InitialSequence,
    /// An offset of a host's timestamp clock.
    TimestampOffset,
    /// An ephemeral port.
    Port,
    /// A time or size of an application.
    Traffic,
    /// A secret key of a handshake.
    Key,
    /// An element of a bootstrap resample.
    Resample,
    /// A nonce, a jitter or a choice of an SCTP association.
    Association,
    /// Whether a scenario is drawn into a set.
    Cell,
}

/// All random draws of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chance {
    base: u64,
}

impl Chance {
    /// The random draws of repetition `run` of a study with this seed.
    pub const fn new(seed: u64, run: u64) -> Self {
        Chance { base: mix(mix(seed ^ 0x6A09_E667_F3BC_C908).wrapping_add(run)) }
    }

    /// 64 uniform bits for the `index`-th draw of `owner` for `purpose`.
    pub const fn bits(&self, owner: u64, purpose: Purpose, index: u64) -> u64 {
        let key = mix(self.base ^ owner.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let key = mix(key ^ (purpose as u64).wrapping_mul(0xD1B5_4A32_D192_ED03));
        mix(key ^ index.wrapping_mul(0x8CB9_2BA7_2F3D_8DD7))
    }

    /// A uniform number in [0, 1) with 53 bits.
    pub fn uniform(&self, owner: u64, purpose: Purpose, index: u64) -> f64 {
        (self.bits(owner, purpose, index) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether an event of probability `p` occurs.
    pub fn happens(&self, p: f64, owner: u64, purpose: Purpose, index: u64) -> bool {
        p > 0.0 && self.uniform(owner, purpose, index) < p
    }

    /// A uniform integer in [0, bound); 0 for a bound of 0.
    pub const fn below(&self, bound: u64, owner: u64, purpose: Purpose, index: u64) -> u64 {
        let wide = self.bits(owner, purpose, index) as u128 * bound as u128;
        (wide >> 64) as u64
    }
}

/// A stable number for a name, to be used as `owner` of a draw.
pub const fn owner_of(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01B3);
        i += 1;
    }
    mix(hash)
}

/// A bijective mixer with full avalanche (the finaliser of SplitMix64).
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_every_part_of_the_key() {
        let chance = Chance::new(1, 0);
        let one = chance.bits(1, Purpose::Loss, 0);
        assert_eq!(one, Chance::new(1, 0).bits(1, Purpose::Loss, 0));
        assert_ne!(one, chance.bits(2, Purpose::Loss, 0));
        assert_ne!(one, chance.bits(1, Purpose::Jitter, 0));
        assert_ne!(one, chance.bits(1, Purpose::Loss, 1));
        assert_ne!(one, Chance::new(2, 0).bits(1, Purpose::Loss, 0));
        assert_ne!(one, Chance::new(1, 1).bits(1, Purpose::Loss, 0));
    }

    #[test]
    fn uniform_has_the_mean_and_variance_of_the_uniform() {
        let chance = Chance::new(7, 3);
        let n = 100_000u64;
        let draws: Vec<f64> = (0..n).map(|i| chance.uniform(5, Purpose::Loss, i)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let var = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.005, "mean {mean}");
        assert!((var - 1.0 / 12.0).abs() < 0.002, "variance {var}");
        assert!(draws.iter().all(|x| (0.0..1.0).contains(x)));
    }

    #[test]
    fn successive_indices_are_uncorrelated() {
        let chance = Chance::new(7, 3);
        let n = 100_000u64;
        let lag: f64 = (0..n)
            .map(|i| {
                let a = chance.uniform(5, Purpose::Loss, i) - 0.5;
                let b = chance.uniform(5, Purpose::Loss, i + 1) - 0.5;
                a * b
            })
            .sum::<f64>()
            / n as f64;
        assert!(lag.abs() < 0.001, "lag-1 covariance {lag}");
    }

    #[test]
    fn below_stays_below() {
        let chance = Chance::new(1, 1);
        assert!((0..1000).all(|i| chance.below(7, 1, Purpose::Port, i) < 7));
        assert_eq!(chance.below(0, 1, Purpose::Port, 0), 0);
    }
}
