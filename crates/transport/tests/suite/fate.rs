//! What happens to a packet between the two hosts of a `Pair`, and the record of what was sent.
//!
//! A rule inspects one packet and determines its fate; the first rule that does not let it pass
//! decides, in the order the rules were given.

use crate::pair::Side;
use base::{Duration, Instant};
use wire::{Body, Flags, Packet, TcpSegment};

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Pass,
    Drop,
    /// Arrives this much later than it should; others overtake it.
    Late(Duration),
    /// A second copy arrives this much later.
    Twice(Duration),
    /// Arrives damaged.
    Damage,
}

/// A packet as a rule sees it.
pub(crate) struct Sight<'a> {
    pub from: Side,
    /// The how manieth packet of its direction, from 1.
    pub n: u64,
    pub now: Instant,
    pub packet: &'a Packet,
}

impl Sight<'_> {
    /// Payload bytes of a TCP segment.
    pub(crate) fn payload_len(&self) -> u32 {
        self.packet.payload_len()
    }

    /// Whether this is a TCP segment with all these flags.
    pub(crate) fn has(&self, flags: Flags) -> bool {
        matches!(&self.packet.body, Body::Tcp(segment) if segment.flags.contains(flags))
    }
}

/// A rule for the fates of packets.
pub(crate) type Rule = Box<dyn FnMut(&Sight<'_>) -> Fate>;

/// Give `fate` to packets `from` sends that `which` picks, the first `count` of them.
pub(crate) fn first(
    from: Side,
    mut count: u32,
    fate: Fate,
    which: impl Fn(&Sight<'_>) -> bool + 'static,
) -> Rule {
    Box::new(move |sight| {
        let hit = sight.from == from && count > 0 && which(sight);
        count -= u32::from(hit);
        pass_unless(hit, fate)
    })
}

/// Give `fate` to the data segments of `from` with these numbers, counted from 1 over all
/// segments with payload.
pub(crate) fn data(from: Side, numbers: &'static [u32], fate: Fate) -> Rule {
    let mut seen = 0;
    Box::new(move |sight| {
        if sight.from != from || sight.payload_len() == 0 {
            return Fate::Pass;
        }
        seen += 1;
        pass_unless(numbers.contains(&seen), fate)
    })
}

/// Drop everything that `from` sends from `since` on, before `until`.
pub(crate) fn black_out(from: Side, since: Instant, until: Instant) -> Rule {
    Box::new(move |sight| {
        let dark = sight.from == from && sight.now >= since && sight.now < until;
        pass_unless(dark, Fate::Drop)
    })
}

fn pass_unless(hit: bool, fate: Fate) -> Fate {
    if hit { fate } else { Fate::Pass }
}

/// A TCP segment that was sent, with positions in its stream.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub at: Instant,
    pub from: Side,
    pub fate: Fate,
    /// Position of its first byte of payload (the SYN is at -1).
    pub offset: i64,
    pub segment: TcpSegment,
}

impl Logged {
    /// Payload bytes.
    pub(crate) fn len(&self) -> u32 {
        self.segment.payload.len()
    }

    /// Whether all these flags are set.
    pub(crate) fn has(&self, flags: Flags) -> bool {
        self.segment.flags.contains(flags)
    }
}
