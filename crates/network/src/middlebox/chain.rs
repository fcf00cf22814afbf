//! `Chain`: several middleboxes one after the other, as one. One object is one direction.
//!
//! What each of them does is its own; in which order they stand is the caller's.

use super::{Halves, MiddleBox, MiddleBoxConfig};
use base::{Context, Instant};
use wire::Packet;

/// Packets pass them in this order.
struct Chain(Vec<Box<dyn MiddleBox>>);

/// The two halves of these middleboxes, which stand in this order from the inside to the outside;
/// `None` without one.
pub fn chain<'a>(boxes: impl IntoIterator<Item = &'a MiddleBoxConfig>) -> Option<Halves> {
    let (mut outward, mut inward): (Vec<_>, Vec<_>) =
        boxes.into_iter().map(MiddleBoxConfig::build).map(|[out, back]| (out, back)).unzip();
    inward.reverse();
    if outward.len() < 2 {
        return Some([outward.pop()?, inward.pop()?]);
    }
    Some([Box::new(Chain(outward)), Box::new(Chain(inward))])
}

impl Chain {
    /// Pass `packet` through the middleboxes from number `first` on.
    fn pass(
        &mut self,
        cx: &mut Context<'_>,
        first: usize,
        packet: Box<Packet>,
        out: &mut impl Extend<Box<Packet>>,
    ) {
        let Some(next) = self.0.get_mut(first) else {
            out.extend([packet]);
            return;
        };
        let mut through = Vec::new();
        next.handle(cx, packet, &mut through);
        for packet in through {
            self.pass(cx, first + 1, packet, out);
        }
    }
}

impl MiddleBox for Chain {
    fn handle(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>) {
        self.pass(cx, 0, packet, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.0.iter().filter_map(|next| next.next_deadline()).min()
    }

    fn release(&mut self, cx: &mut Context<'_>, out: &mut Vec<Box<Packet>>) {
        for number in 0..self.0.len() {
            let mut held = Vec::new();
            self.0[number].release(cx, &mut held);
            for packet in held {
                self.pass(cx, number + 1, packet, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Chance, Duration, Instant};
    use std::net::IpAddr;
    use wire::{Body, Flags, TcpSegment};

    fn segment(src: (IpAddr, u16), dst: (IpAddr, u16)) -> Box<Packet> {
        let ports = TcpSegment { src_port: src.1, dst_port: dst.1, ..TcpSegment::default() };
        Box::new(Packet::new(src.0, dst.0, Body::Tcp(TcpSegment { flags: Flags::SYN, ..ports })))
    }

    #[test]
    fn packets_pass_in_order_and_answers_in_reverse() {
        let outside = |last| IpAddr::from([192, 0, 2, last]);
        let nat = |last| {
            let idle = Duration::from_secs(60);
            MiddleBoxConfig::Nat { outside: outside(last), idle, rebind: None }
        };
        let [mut outward, mut inward] = chain(&[nat(1), nat(2)]).unwrap();
        let (client, server): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut cx = Context::quiet(Instant::ZERO, Chance::new(1, 0));
        let mut out = Vec::new();
        outward.handle(&mut cx, segment((client, 4000), (server, 80)), &mut out);
        assert_eq!(out[0].src(), outside(2), "the second one is the outer one");
        let Body::Tcp(sent) = &out[0].body else { unreachable!() };
        let back = segment((server, 80), (outside(2), sent.src_port));
        let mut out = Vec::new();
        inward.handle(&mut cx, back, &mut out);
        let Body::Tcp(answer) = &out[0].body else { unreachable!() };
        assert_eq!((out[0].dst(), answer.dst_port), (client, 4000));
        assert!(chain(&[]).is_none());
    }
}
