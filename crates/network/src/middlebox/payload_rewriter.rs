//! `PayloadRewriter`: replaces bytes in the payload of a flow, as an application gateway does.
//!
//! A gateway that puts its outside address into FTP's PORT command. The new text may be longer or
//! shorter; all later sequence numbers, acknowledgements and SACK blocks are adjusted, so it is
//! transparent to TCP. MPTCP's mappings are not adjusted (RFC 8684 s3.7). A match must be within
//! one segment that arrives in order for the first time; retransmissions get the same edits. A
//! segment may grow beyond the MTU and is not split again.

use super::flow::{Flow, tcp_mut};
use super::stream_edits::StreamEdits;
use super::{TwoWay, Way};
use base::Context;
use std::collections::BTreeMap;
use wire::{Flags, Packet, Payload, SackBlocks, SeqNumber, TcpSegment};

/// Most flows that are edited; others pass unchanged, as with a full conntrack table.
const MAX_FLOWS: usize = 4096;

/// Replaces every occurrence of some bytes in the payload of one direction.
#[derive(Clone, Debug)]
pub struct PayloadRewriter {
    way: Way,
    find: Vec<u8>,
    replace: Payload,
    streams: BTreeMap<Flow, Stream>,
}

/// The edited direction of one flow.
#[derive(Clone, Debug)]
struct Stream {
    /// The sequence number of its first byte.
    first: SeqNumber,
    /// All bytes before this position were searched.
    seen: u64,
    edits: StreamEdits,
}

impl PayloadRewriter {
    /// Replaces `find` by `replace` in direction `way`; nothing if `find` is empty.
    pub fn new(way: Way, find: Vec<u8>, replace: Vec<u8>) -> Self {
        PayloadRewriter { way, find, replace: replace.into(), streams: BTreeMap::new() }
    }

    /// The stream of a flow, which begins with its SYN or with its first segment seen.
    fn stream(&mut self, flow: Flow, segment: &TcpSegment) -> Option<&mut Stream> {
        let syn = segment.flags.contains(Flags::SYN);
        let known = self.streams.contains_key(&flow);
        if !known && self.streams.len() >= MAX_FLOWS {
            return None;
        }
        let first = segment.seq + u32::from(syn);
        let fresh = Stream { first, seen: 0, edits: StreamEdits::default() };
        // Another initial number: the ports are reused.
        if !known || (syn && self.streams.get(&flow).is_some_and(|old| old.first != first)) {
            self.streams.insert(flow, fresh);
        }
        self.streams.get_mut(&flow)
    }

    /// A segment of the edited direction.
    fn edit(&mut self, flow: Flow, segment: &mut TcpSegment) {
        let (find, replace) = (self.find.clone(), self.replace.clone());
        let Some(stream) = self.stream(flow, segment) else { return };
        let Ok(start) = u64::try_from(segment.seq.to_offset(stream.first, stream.seen)) else {
            // Before the first byte: a SYN, or a keep-alive.
            return;
        };
        stream.look(start, segment, &find, &replace);
        segment.seq = SeqNumber::from_offset(stream.first, stream.edits.after(start));
        segment.payload = stream.edits.apply(start, &segment.payload);
    }

    /// A segment that acknowledges the edited direction.
    fn acknowledge(&self, flow: &Flow, segment: &mut TcpSegment) {
        let Some(stream) = self.streams.get(flow) else { return };
        if segment.flags.contains(Flags::ACK) {
            segment.ack = stream.acknowledged(segment.ack);
        }
        if !segment.options.sack.is_empty() {
            let mut blocks = SackBlocks::NONE;
            for (start, end) in segment.options.sack.as_slice() {
                blocks.push(stream.acknowledged(*start), stream.acknowledged(*end));
            }
            segment.options.sack = blocks;
        }
    }
}

impl TwoWay for PayloadRewriter {
    fn handle(
        &mut self,
        _cx: &mut Context<'_>,
        way: Way,
        mut packet: Box<Packet>,
        out: &mut Vec<Box<Packet>>,
    ) {
        if let Some(flow) = Flow::of(&packet, way)
            && let Some(segment) = tcp_mut(&mut packet)
        {
            if way == self.way {
                self.edit(flow, segment);
            } else {
                self.acknowledge(&flow, segment);
            }
        }
        out.push(packet);
    }
}

impl Stream {
    /// Search new in-order bytes for `find`.
    fn look(&mut self, start: u64, segment: &TcpSegment, find: &[u8], replace: &Payload) {
        let end = start + u64::from(segment.payload.len());
        if end <= self.seen {
            return;
        }
        let skipped = self.seen.saturating_sub(start) as usize;
        self.seen = end;
        if find.is_empty() {
            return;
        }
        let bytes = segment.payload.to_bytes();
        let mut from = skipped;
        while let Some(place) = bytes[from..].windows(find.len()).position(|here| here == find) {
            let at = start + (from + place) as u64;
            if !self.edits.push(at, find.len() as u64, replace.clone()) {
                return;
            }
            from += place + find.len();
        }
    }

    /// The sender's sequence number for an acknowledgement of its receiver.
    fn acknowledged(&self, number: SeqNumber) -> SeqNumber {
        let near = self.edits.after(self.seen);
        match u64::try_from(number.to_offset(self.first, near)) {
            Ok(after) => SeqNumber::from_offset(self.first, self.edits.before(after)),
            Err(_) => number,
        }
    }
}
