//! Reinjection: what is done when a slow path blocks the others, by name.
//!
//! The procedure is in `scheduler/opportunistic`. The schedulers of the papers' kernels call it
//! themselves, with the path they chose; `scheduler/reinjecting` adds it to any other. Copies after
//! a time-out are the sender's, through its reinject queue (`multipath`).

use crate::congestion::Penalty;

/// What to do when a slow path blocks the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Opportunistic {
    /// Nothing.
    Off,
    /// Retransmission and penalty as in NSDI 2012.
    Nsdi12,
    /// Algorithm 1 of 004 as printed.
    P004,
    /// The improvement of CoNEXT 2013.
    Conext13,
    /// The multipath-tcp kernels.
    #[default]
    Kernel,
    /// Retransmission without a penalty (the schedulers of 002).
    RetransOnly,
}

/// Name, one sentence and source of every variant.
pub const NAMES: &[(&str, &str, &str)] = &[
    ("off", "No reinjection.", "multipath-tcp kernel v0.95 `roundrobin`"),
    (
        "nsdi12",
        "The first unacknowledged segment is copied to a path with room, once per RTT; window and \
         threshold of its first path are set to half the window.",
        "004 sII-D on NSDI 2012",
    ),
    (
        "p004",
        "As nsdi12, but the threshold is only set to half the window if it was never set before.",
        "004 Algorithm 1 as printed",
    ),
    (
        "conext13",
        "As nsdi12, but the threshold of the initial slow start is kept.",
        "004 sII-D on CoNEXT 2013",
    ),
    (
        "kernel",
        "The first unacknowledged segment is copied to a path four times as fast, or if the window \
         of its first path is at most 4; windows of slower first paths are halved.",
        "multipath-tcp kernel v0.95",
    ),
    ("retrans-only", "As kernel, without halving windows.", "002's kernel, 001 sIII"),
];

impl Opportunistic {
    /// All of them, in the order of the names.
    pub const ALL: [Opportunistic; 6] = [
        Opportunistic::Off,
        Opportunistic::Nsdi12,
        Opportunistic::P004,
        Opportunistic::Conext13,
        Opportunistic::Kernel,
        Opportunistic::RetransOnly,
    ];

    /// The name in options.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize].0
    }

    /// The variant of that name, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        Opportunistic::ALL.into_iter().find(|variant| variant.name().eq_ignore_ascii_case(name))
    }

    /// The penalty of paths that block the connection.
    pub(crate) const fn penalty(self) -> Option<Penalty> {
        match self {
            Opportunistic::Off | Opportunistic::RetransOnly => None,
            Opportunistic::Nsdi12 => Some(Penalty::Nsdi12),
            Opportunistic::P004 => Some(Penalty::P004),
            Opportunistic::Conext13 => Some(Penalty::Conext13),
            Opportunistic::Kernel => Some(Penalty::Kernel),
        }
    }

    /// Whether it is older than the kernel's variant: any head that a path lacks is worth a copy,
    /// and both are limited by time.
    pub(crate) const fn is_early(self) -> bool {
        matches!(self, Opportunistic::Nsdi12 | Opportunistic::P004 | Opportunistic::Conext13)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_is_known_and_another_variant() {
        let known: Vec<_> = NAMES.iter().map(|(name, ..)| Opportunistic::by_name(name)).collect();
        for (index, variant) in known.iter().enumerate() {
            assert!(variant.is_some() && !known[..index].contains(variant), "{index}");
        }
        assert_eq!(Opportunistic::by_name("retrans_only"), None);
    }
}
