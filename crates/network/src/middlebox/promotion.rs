//! `Promotion`: a cellular radio that is idle has to be connected before a packet passes.
//!
//! After a time without a packet in either direction the radio is idle. The next packet begins its
//! promotion to the connected state (paper 001 s3.2: longer than a round trip), and it and those
//! that follow it wait until that is over. A new radio is idle. States of less power in between,
//! and the delay of paging, are left out.

use super::{Halves, MiddleBox};
use base::{Context, Duration, Instant, ring};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use wire::Packet;

/// The radio of both directions.
#[derive(Clone, Copy, Debug)]
struct Radio {
    /// When the last promotion is over.
    connected_at: Instant,
    /// When it is idle unless a packet comes before; `None`: it never was connected.
    idle_at: Option<Instant>,
}

/// One direction.
struct Promotion {
    radio: Rc<Cell<Radio>>,
    idle: Duration,
    delay: Duration,
    /// Packets that wait, in order, and when they pass.
    held: VecDeque<(Instant, Box<Packet>)>,
}

/// The two halves: `idle` is the time without packets after which the radio is idle, `delay` that
/// of the promotion.
pub(super) fn promotion(idle: Duration, delay: Duration) -> Halves {
    let radio = Rc::new(Cell::new(Radio { connected_at: Instant::ZERO, idle_at: None }));
    [Rc::clone(&radio), radio].map(|radio| {
        Box::new(Promotion { radio, idle, delay, held: VecDeque::new() }) as Box<dyn MiddleBox>
    })
}

impl MiddleBox for Promotion {
    fn handle(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>) {
        let mut radio = self.radio.get();
        if radio.idle_at.is_none_or(|idle_at| idle_at <= cx.now) {
            radio.connected_at = cx.now + self.delay;
        }
        let passes_at = radio.connected_at.max(cx.now);
        radio.idle_at = Some(passes_at + self.idle);
        self.radio.set(radio);
        if passes_at > cx.now || !self.held.is_empty() {
            self.held.push_back((passes_at, packet));
        } else {
            out.push(packet);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.held.front().map(|(at, _)| *at)
    }

    fn release(&mut self, cx: &mut Context<'_>, out: &mut Vec<Box<Packet>>) {
        while self.next_deadline().is_some_and(|at| at <= cx.now) {
            out.extend(ring::pop_front(&mut self.held).map(|(_, packet)| packet));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Chance;
    use wire::{Body, Payload, UdpDatagram};

    fn packet(number: u16) -> Box<Packet> {
        let body = UdpDatagram { src_port: number, dst_port: 0, payload: Payload::EMPTY };
        Box::new(Packet::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Body::Udp(body)))
    }

    /// Passes a packet at that time; how many come out at once.
    fn pass(half: &mut Box<dyn MiddleBox>, millis: u64) -> usize {
        let mut out = Vec::new();
        let cx = &mut Context::quiet(Instant::from_millis(millis), Chance::new(1, 0));
        half.handle(cx, packet(millis as u16), &mut out);
        out.len()
    }

    fn released(half: &mut Box<dyn MiddleBox>, millis: u64) -> usize {
        let mut out = Vec::new();
        half.release(
            &mut Context::quiet(Instant::from_millis(millis), Chance::new(1, 0)),
            &mut out,
        );
        out.len()
    }

    #[test]
    fn first_packets_wait_and_later_ones_do_not_until_there_was_a_silence() {
        let (idle, delay) = (Duration::from_millis(5000), Duration::from_millis(600));
        let [mut up, mut down] = promotion(idle, delay);
        assert_eq!((pass(&mut up, 100), pass(&mut up, 650)), (0, 0));
        assert_eq!(up.next_deadline(), Some(Instant::from_millis(700)));
        assert_eq!((released(&mut up, 699), released(&mut up, 700)), (0, 2));
        assert_eq!(pass(&mut down, 720), 1, "the answer finds a connected radio");
        assert_eq!(pass(&mut up, 5719), 1, "5 s after the last packet of either direction");
        assert_eq!(pass(&mut down, 10_719), 0, "it is idle");
        assert_eq!(pass(&mut up, 11_318), 0, "one promotion serves both directions");
        assert_eq!((released(&mut up, 11_319), released(&mut down, 11_319)), (1, 1));
    }
}
