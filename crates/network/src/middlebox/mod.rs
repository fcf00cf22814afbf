//! Middleboxes: elements between links that change, drop, hold or multiply packets.
//!
//! The traits, the table by name, and the configuration as plain data; each middlebox is a file of
//! its own. They edit packets as values of `wire`, so checksums are always correct. A world puts
//! them at the far ends of links, one half for each direction. Their effects on MPTCP are described
//! in RFC 6182 s4, RFC 8684 s6 and in Honda et al., "Is it Still Possible to Extend TCP?", IMC
//! 2011.

mod chain;
mod coalescer;
mod flow;
mod nat;
mod option_stripper;
mod payload_rewriter;
mod promotion;
mod sequence_rewriter;
mod silent_drop;
mod splitter;
mod stream_edits;

pub use chain::chain;
pub use coalescer::{Coalescer, JoinRule};
pub use nat::Nat;
pub use option_stripper::{OptionStripper, Stage};
pub use payload_rewriter::PayloadRewriter;
pub use sequence_rewriter::SequenceRewriter;
pub use silent_drop::{SilentDrop, Swallowed};
pub use splitter::{OptionCopies, Splitter};

use base::{Context, Duration, Instant};
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use wire::Packet;

/// An element that packets of one direction pass.
pub trait MiddleBox {
    /// Take a packet and put those that pass into `out`: none, the packet, or several.
    fn handle(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>);

    /// When to call `release`, if packets are held.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Put the held packets that are due into `out`. Harmless if early.
    fn release(&mut self, _cx: &mut Context<'_>, _out: &mut Vec<Box<Packet>>) {}
}

/// A direction through a middlebox with an inside, where the client is, and an outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the inside to the outside: client to server.
    Outward,
    /// From the outside to the inside: server to client.
    Inward,
}

/// A middlebox whose two directions share their state.
pub trait TwoWay {
    /// As [`MiddleBox::handle`], for a packet in direction `way`.
    fn handle(
        &mut self,
        cx: &mut Context<'_>,
        way: Way,
        packet: Box<Packet>,
        out: &mut Vec<Box<Packet>>,
    );
}

/// The two halves of a middlebox: outward, inward.
pub type Halves = [Box<dyn MiddleBox>; 2];

/// The two halves of a middlebox with common state.
pub fn halves(shared: impl TwoWay + 'static) -> Halves {
    let shared = Rc::new(RefCell::new(shared));
    [Way::Outward, Way::Inward]
        .map(|way| Box::new(Half { shared: Rc::clone(&shared), way }) as Box<dyn MiddleBox>)
}

/// One direction of a middlebox with common state.
struct Half<T> {
    shared: Rc<RefCell<T>>,
    way: Way,
}

impl<T: TwoWay> MiddleBox for Half<T> {
    fn handle(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>) {
        // Never borrowed twice: `handle` does not call the other half.
        self.shared.borrow_mut().handle(cx, self.way, packet, out);
    }
}

/// Name, one sentence and source of every middlebox.
pub const NAMES: &[(&str, &str, &str)] = &[
    ("nat", "Translates addresses and ports, a mapping for each flow.", "RFC 4787, RFC 5382"),
    ("strip-options", "Removes the MPTCP options of some segments.", "RFC 8684 s3.7, Honda s4.2"),
    ("promotion", "Holds packets until an idle radio is connected.", "001 s3.2"),
    ("rewrite-sequence", "Adds a random offset to the numbers of a flow.", "Honda s4.3"),
    ("rewrite-payload", "Replaces bytes of the payload and mends the numbers.", "RFC 8684 s3.7"),
    ("coalesce", "Joins data segments that continue each other.", "RFC 6182 s4, Honda s4.5"),
    ("split", "Splits data segments, their options copied.", "RFC 6182 s4, Honda s4.5"),
    ("silent-drop", "Swallows some packets and says nothing.", "RFC 8684 s3.1, Honda s4.2"),
];

/// Every middlebox with its parameters, as plain data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MiddleBoxConfig {
    /// [`Nat`], a network address and port translator.
    Nat {
        /// Address that replaces all inside addresses of its family.
        outside: IpAddr,
        /// Time after which an unused mapping is removed.
        idle: Duration,
        /// When all mappings are forgotten, if at all.
        rebind: Option<Instant>,
    },
    /// [`OptionStripper`], one per direction.
    StripOptions {
        /// The segments whose MPTCP options are removed.
        stage: Stage,
    },
    /// A radio that both directions have to connect after a silence.
    Promotion {
        /// Time without packets after which it is idle.
        idle: Duration,
        /// Time until it is connected.
        delay: Duration,
    },
    /// [`SequenceRewriter`], one per direction.
    RewriteSequence {
        /// Key of the random offsets.
        owner: u64,
    },
    /// [`PayloadRewriter`], which replaces every occurrence of `find` by `replace`.
    RewritePayload {
        /// The direction whose payload is edited.
        way: Way,
        /// The bytes to replace; empty to replace nothing.
        find: Vec<u8>,
        /// Their replacement, of any length.
        replace: Vec<u8>,
    },
    /// [`Coalescer`], one per direction.
    Coalesce {
        /// Payload limit of a joined segment, in bytes.
        max_bytes: u32,
        /// Longest time that a segment is held.
        hold: Duration,
        /// Which segments may be joined.
        rule: JoinRule,
    },
    /// [`Splitter`], one per direction.
    Split {
        /// Payload limit of a piece, in bytes.
        max_bytes: u32,
        /// The pieces that get the MPTCP options.
        copies: OptionCopies,
    },
    /// [`SilentDrop`], one per direction.
    SilentDrop {
        /// Which packets are dropped.
        swallowed: Swallowed,
    },
}

impl MiddleBoxConfig {
    /// The name in the table.
    pub const fn name(&self) -> &'static str {
        match self {
            MiddleBoxConfig::Nat { .. } => "nat",
            MiddleBoxConfig::StripOptions { .. } => "strip-options",
            MiddleBoxConfig::Promotion { .. } => "promotion",
            MiddleBoxConfig::RewriteSequence { .. } => "rewrite-sequence",
            MiddleBoxConfig::RewritePayload { .. } => "rewrite-payload",
            MiddleBoxConfig::Coalesce { .. } => "coalesce",
            MiddleBoxConfig::Split { .. } => "split",
            MiddleBoxConfig::SilentDrop { .. } => "silent-drop",
        }
    }

    /// The two halves of the middlebox. For one direction only, the other half is not used.
    pub fn build(&self) -> Halves {
        match self.clone() {
            MiddleBoxConfig::Nat { outside, idle, rebind } => {
                halves(Nat::new(outside, idle).rebinding(rebind))
            }
            MiddleBoxConfig::StripOptions { stage } => both(|_| OptionStripper::new(stage)),
            MiddleBoxConfig::Promotion { idle, delay } => promotion::promotion(idle, delay),
            MiddleBoxConfig::RewriteSequence { owner } => {
                both(|way| SequenceRewriter::new(owner, way))
            }
            MiddleBoxConfig::RewritePayload { way, find, replace } => {
                halves(PayloadRewriter::new(way, find, replace))
            }
            MiddleBoxConfig::Coalesce { max_bytes, hold, rule } => {
                both(|_| Coalescer::new(max_bytes, hold, rule))
            }
            MiddleBoxConfig::Split { max_bytes, copies } => {
                both(|_| Splitter::new(max_bytes, copies))
            }
            MiddleBoxConfig::SilentDrop { swallowed } => both(|_| SilentDrop::new(swallowed)),
        }
    }
}

/// Two halves without common state.
fn both<T: MiddleBox + 'static>(make: impl Fn(Way) -> T) -> Halves {
    [Box::new(make(Way::Outward)), Box::new(make(Way::Inward))]
}

#[cfg(test)]
mod tests;
