//! `Splitter`: cuts data segments into smaller ones.
//!
//! Segmentation offload in a NIC, or a middlebox before a link with a smaller MTU. NICs copy the
//! options of the large segment to all pieces (Honda s4.5), so a mapping arrives several times and
//! covers more than its segment each time (RFC 8684 s3.3.1 allows both). One object is one
//! direction.

use super::MiddleBox;
use super::flow::{tcp, tcp_mut};
use base::Context;
use wire::mptcp::MptcpOptions;
use wire::{Flags, Packet, TcpSegment};

/// The pieces that get the MPTCP options; all other options go to every piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionCopies {
    /// Every piece.
    All,
    /// The first piece only.
    First,
}

/// Splits the data segments of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Splitter {
    max_bytes: u32,
    copies: OptionCopies,
}

impl Splitter {
    /// Pieces have at most `max_bytes` of payload, at least one.
    pub fn new(max_bytes: u32, copies: OptionCopies) -> Self {
        Splitter { max_bytes: max_bytes.max(1), copies }
    }

    /// The part of `segment` that begins `from` bytes into its payload.
    fn piece(&self, segment: &TcpSegment, from: u32) -> TcpSegment {
        let left = segment.payload.len() - from;
        let len = left.min(self.max_bytes);
        let mut piece = TcpSegment {
            seq: segment.seq + from,
            payload: segment.payload.slice(from, len),
            ..segment.clone()
        };
        if len < left {
            piece.flags.0 &= !(Flags::FIN | Flags::PSH).0;
        }
        if from > 0 {
            // CWR reports one reduction of the window (RFC 3168 s6.1.2).
            piece.flags.0 &= !Flags::CWR.0;
            if self.copies == OptionCopies::First {
                piece.options.mptcp = MptcpOptions::default();
            }
        }
        piece
    }
}

impl MiddleBox for Splitter {
    fn handle(&mut self, _cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>) {
        let large = tcp(&packet).filter(|segment| {
            segment.payload.len() > self.max_bytes && !segment.flags.contains(Flags::SYN)
        });
        let Some(segment) = large else {
            out.push(packet);
            return;
        };
        for from in (0..segment.payload.len()).step_by(self.max_bytes as usize) {
            let mut piece = packet.clone();
            if let Some(slot) = tcp_mut(&mut piece) {
                *slot = self.piece(segment, from);
            }
            out.push(piece);
        }
    }
}
