//! `OptionStripper`: removes option 30 from the segments of one stage of a connection.
//!
//! All other options and the rest of the segment are unchanged (Honda s4.2; RFC 8684 s3.7 specifies
//! the fallback). One object is one direction.

use super::MiddleBox;
use super::flow::tcp_mut;
use base::Context;
use wire::mptcp::MptcpOptions;
use wire::{Flags, Packet, TcpSegment};

/// The segments whose MPTCP options are removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The SYN of the active opener.
    Syn,
    /// The SYN of the passive opener.
    SynAck,
    /// The third packet of a handshake, identified by its `MP_CAPABLE` or `MP_JOIN`.
    ThirdAck,
    /// Every segment with payload.
    Data,
    /// Every segment after the first packets of this direction.
    After {
        /// Number of packets before, of any protocol.
        passed: u64,
    },
    /// Every segment.
    All,
}

/// Removes the MPTCP options of some segments of one direction.
#[derive(Clone, Copy, Debug)]
pub struct OptionStripper {
    stage: Stage,
    /// Packets received so far.
    seen: u64,
}

impl OptionStripper {
    /// Removes the MPTCP options of the segments of `stage`.
    pub const fn new(stage: Stage) -> Self {
        OptionStripper { stage, seen: 0 }
    }

    fn concerns(&self, segment: &TcpSegment) -> bool {
        let syn = segment.flags.contains(Flags::SYN);
        let ack = segment.flags.contains(Flags::ACK);
        match self.stage {
            Stage::Syn => syn && !ack,
            Stage::SynAck => syn && ack,
            Stage::ThirdAck => {
                let options = &segment.options.mptcp;
                let ends_handshake = options.capable().is_some() || options.join().is_some();
                !syn && segment.payload.is_empty() && ends_handshake
            }
            Stage::Data => !segment.payload.is_empty(),
            Stage::After { passed } => self.seen >= passed,
            Stage::All => true,
        }
    }
}

impl MiddleBox for OptionStripper {
    fn handle(
        &mut self,
        _cx: &mut Context<'_>,
        mut packet: Box<Packet>,
        out: &mut Vec<Box<Packet>>,
    ) {
        if let Some(segment) = tcp_mut(&mut packet)
            && self.concerns(segment)
        {
            segment.options.mptcp = MptcpOptions::default();
        }
        self.seen += 1;
        out.push(packet);
    }
}
