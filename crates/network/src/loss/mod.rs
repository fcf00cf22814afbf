//! Random loss on a link: the table of models.
//!
//! A model decides once per accepted packet. Its draw is keyed by the packet's place in the order
//! of acceptance, so the n-th packet of a one-way link has the same draw in every variant. Loss by
//! a full queue is left to `queue`.

mod bernoulli;
mod gilbert_elliott;

use base::{Chance, Duration, Instant};
use bernoulli::Bernoulli;
use gilbert_elliott::GilbertElliott;

/// Name, one sentence and source of every model.
pub const NAMES: &[(&str, &str, &str)] = &[
    ("random", "Independent loss of every packet: `loss 1%`.", "netem's `loss random`"),
    (
        "gemodel",
        "A good and a bad state, each with a probability of its own: `loss gemodel P R 1-H 1-K`.",
        "Gilbert 1960, Elliott 1963, netem's `loss gemodel`",
    ),
];

/// A loss model. Probabilities are in 0 ..= 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum LossConfig {
    /// No random loss.
    #[default]
    None,
    /// Independent loss of each packet.
    Bernoulli {
        /// Probability of a loss.
        p: f64,
    },
    /// netem's `gemodel p r 1-h 1-k`: a good and a bad state, which change in slots of the
    /// serialisation time of 1500 bytes, or of 120 us on a link without a rate.
    GilbertElliott {
        /// Probability per slot of a change from the good to the bad state.
        p: f64,
        /// Probability per slot of a change from the bad to the good state.
        r: f64,
        /// Probability of a loss in the bad state.
        one_minus_h: f64,
        /// Probability of a loss in the good state.
        one_minus_k: f64,
    },
}

/// The key of one packet's draws.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    pub chance: Chance,
    pub owner: u64,
    /// Place in the order of acceptance, from 0.
    pub number: u64,
}

/// Decides which packets are lost.
pub(crate) trait LossModel {
    /// Whether the packet of `draw`, which leaves the queue at `depart`, is lost.
    fn loses(&mut self, draw: &Draw, depart: Instant) -> bool;
}

/// The models by name.
#[derive(Clone, Debug)]
pub(crate) enum Loss {
    None,
    Bernoulli(Bernoulli),
    GilbertElliott(Box<GilbertElliott>),
}

impl Loss {
    /// `packet_time` is the serialisation time of a 1500-byte packet on this link, the slot of the
    /// models that run on time.
    pub(crate) fn new(config: LossConfig, packet_time: Option<Duration>) -> Self {
        match config {
            LossConfig::None => Loss::None,
            LossConfig::Bernoulli { p } => Loss::Bernoulli(Bernoulli::new(p)),
            LossConfig::GilbertElliott { p, r, one_minus_h, one_minus_k } => Loss::GilbertElliott(
                Box::new(GilbertElliott::new(p, r, one_minus_h, one_minus_k, packet_time)),
            ),
        }
    }
}

impl LossModel for Loss {
    #[inline]
    fn loses(&mut self, draw: &Draw, depart: Instant) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli(model) => model.loses(draw, depart),
            Loss::GilbertElliott(model) => model.loses(draw, depart),
        }
    }
}
