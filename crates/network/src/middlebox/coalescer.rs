//! `Coalescer`: joins consecutive data segments of one flow.
//!
//! As receive offload and traffic normalisers do (Honda s4.5). A segment is held until the next one
//! arrives or its time is over; the order is kept. Segments with different options are left apart
//! by offload; another rule keeps the options of the first segment, and MPTCP then misses mappings
//! (RFC 8684 s3.3.1). One object is one direction.

use super::MiddleBox;
use super::flow::{tcp, tcp_mut};
use base::{Context, Duration, Instant};
use wire::{Flags, Packet, TcpSegment};

/// Most payload of a packet, in bytes.
const LARGEST_PAYLOAD: u32 = 65_535 - 40 - 60;

/// Which segments may be joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinRule {
    /// As receive offload: segments with the same options; PSH ends the wait.
    SameOptions,
    /// All segments, regardless of PSH; the options of the first one are kept.
    FirstOptions,
}

/// Joins the data segments of one direction.
#[derive(Clone, Debug)]
pub struct Coalescer {
    max_bytes: u32,
    hold: Duration,
    rule: JoinRule,
    /// The segment that is held, and until when.
    held: Option<(Box<Packet>, Instant)>,
}

impl Coalescer {
    /// Joins up to `max_bytes` of payload, waiting for `hold` after the first segment.
    pub fn new(max_bytes: u32, hold: Duration, rule: JoinRule) -> Self {
        Coalescer { max_bytes: max_bytes.min(LARGEST_PAYLOAD), hold, rule, held: None }
    }

    /// Whether `next` may be appended to the held segment.
    fn joins(&self, held: &Packet, next: &Packet) -> bool {
        let (Some(first), Some(second)) = (tcp(held), tcp(next)) else { return false };
        let same_flow = held.ends == next.ends
            && first.src_port == second.src_port
            && first.dst_port == second.dst_port;
        same_flow
            && held.ecn == next.ecn
            && !next.corrupted
            && is_plain_data(second)
            && second.seq == first.seq + first.payload.len()
            && first.payload.len() + second.payload.len() <= self.max_bytes
            && (self.rule == JoinRule::FirstOptions || first.options == second.options)
    }

    /// Whether more may be appended to `packet`.
    fn waits(&self, packet: &Packet) -> bool {
        !packet.corrupted
            && tcp(packet).is_some_and(|segment| {
                let pushed = segment.flags.contains(Flags::PSH);
                is_plain_data(segment)
                    && !(pushed && self.rule == JoinRule::SameOptions)
                    && segment.payload.len() < self.max_bytes
            })
    }

    /// Hold a packet until `until` if more may follow; otherwise return it.
    fn hold(&mut self, packet: Box<Packet>, until: Instant) -> Option<Box<Packet>> {
        if !self.waits(&packet) {
            return Some(packet);
        }
        self.held = Some((packet, until));
        None
    }
}

impl MiddleBox for Coalescer {
    fn handle(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>) {
        let Some((mut held, until)) = self.held.take() else {
            out.extend(self.hold(packet, cx.now + self.hold));
            return;
        };
        if self.joins(&held, &packet) {
            append(&mut held, &packet);
            out.extend(self.hold(held, until));
        } else {
            out.push(held);
            out.extend(self.hold(packet, cx.now + self.hold));
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.held.as_ref().map(|(_, until)| *until)
    }

    fn release(&mut self, cx: &mut Context<'_>, out: &mut Vec<Box<Packet>>) {
        if let Some((held, _)) = self.held.take_if(|(_, until)| *until <= cx.now) {
            out.push(held);
        }
    }
}

/// Whether it has payload and no flags but ACK and PSH.
fn is_plain_data(segment: &TcpSegment) -> bool {
    !segment.payload.is_empty() && segment.flags.0 & !(Flags::ACK | Flags::PSH).0 == 0
}

/// Append the payload of `next` to `held`, with its acknowledgement, window and flags.
fn append(held: &mut Packet, next: &Packet) {
    if let (Some(first), Some(second)) = (tcp_mut(held), tcp(next)) {
        first.payload.append(second.payload.clone());
        first.flags = first.flags | second.flags;
        first.ack = second.ack;
        first.window = second.window;
    }
}
