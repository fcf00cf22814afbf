//! The system's random bytes as the engine's chance.
//!
//! [`base::Chance`] is a hash that repeats and can be inverted: right for a simulation, wrong where
//! a peer must not guess initial sequence numbers (RFC 9293 s3.4.1) or keys (RFC 8684 s6). Here
//! every call of the engine gets random draws of its own from fresh random bytes, so that values
//! visible to a peer do not predict those of another call.

use base::Chance;
use std::io;

/// Bytes fetched at once; a call takes 16.
const POOL: usize = 4096;

/// A pool of random bytes.
pub(crate) struct Entropy {
    pool: Box<[u8; POOL]>,
    used: usize,
}

impl Entropy {
    /// A filled pool.
    pub(crate) fn new() -> io::Result<Self> {
        let mut entropy = Entropy { pool: Box::new([0; POOL]), used: POOL };
        entropy.refill()?;
        Ok(entropy)
    }

    /// A source of draws from fresh random bytes.
    pub(crate) fn chance(&mut self) -> io::Result<Chance> {
        if self.used + 16 > POOL {
            self.refill()?;
        }
        let (seed, run) = (self.take(), self.take());
        Ok(Chance::new(seed, run))
    }

    fn take(&mut self) -> u64 {
        let mut word = [0; 8];
        let taken = &mut self.pool[self.used..self.used + 8];
        word.copy_from_slice(taken);
        // Used once: a later look at our memory shall not find it.
        taken.fill(0);
        self.used += 8;
        u64::from_le_bytes(word)
    }

    fn refill(&mut self) -> io::Result<()> {
        getrandom::fill(&mut self.pool[..]).map_err(io::Error::from)?;
        self.used = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Purpose;

    #[test]
    fn every_chance_is_another_beyond_the_pool() {
        let mut entropy = Entropy::new().expect("random bytes");
        let mut draws: Vec<u64> = (0..1000)
            .map(|_| entropy.chance().expect("random bytes").bits(0, Purpose::Key, 1))
            .collect();
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), 1000);
    }
}
