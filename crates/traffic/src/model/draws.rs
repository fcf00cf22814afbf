//! `Draws`: random numbers of a traffic model, the same for all variants of a repetition.

use base::{Chance, Purpose};

/// The random numbers of the traffic of one connection in one repetition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draws {
    chance: Chance,
    owner: u64,
}

impl Draws {
    /// Those of the connection `owner` in repetition `run` of a study with `seed`.
    pub const fn new((seed, run): (u64, u64), owner: u64) -> Self {
        Draws { chance: Chance::new(seed, run), owner }
    }

    /// Draw number `index`, uniform from 0 up to but not including 1.
    pub(crate) fn uniform(&self, index: u64) -> f64 {
        self.chance.uniform(self.owner, Purpose::Traffic, index)
    }
}

impl Default for Draws {
    /// Those of a scenario of which no repetition has begun.
    fn default() -> Self {
        Draws::new((0, 0), 0)
    }
}
