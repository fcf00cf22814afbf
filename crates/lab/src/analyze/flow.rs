//! `Flow`: a subflow of the capture, both directions, and when its handshake took place.

use super::capture::Segment;
use super::data::Mappings;
use super::half::Half;
use super::{Distribution, Flowing, OutOfOrder, Vantage};
use base::Instant;
use std::net::SocketAddr;
use wire::Flags;

/// A pair of addresses and ports, from one SYN to the next.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// Addresses of the opener and of the other end.
    pub ends: [SocketAddr; 2],
    /// Data sent by each end.
    pub sides: [Side; 2],
    /// Index of its connection.
    pub connection: usize,
    /// Opened by the server of the connection.
    pub flipped: bool,
    pub first: Instant,
    pub last: Instant,
    /// Interface of the capture; `None` for more than one.
    pub interface: Option<usize>,
    pub backup: bool,
    pub reset: bool,
    handshake: Handshake,
    /// An end sent what it sends only after the SYN of the other one, which the capture may lack.
    goes_on: bool,
}

/// One direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    pub half: Half,
    pub mappings: Mappings,
    /// Bytes that the SYN of an MPTCP connection carried: numbers of mappings begin behind them.
    pub early: u64,
    /// Bytes of the connection seen here first.
    pub first_bytes: u64,
    /// Bytes of the connection seen before under another mapping.
    pub reinjected_bytes: u64,
    /// Waiting times of segments, in seconds.
    pub waited: Vec<f64>,
}

/// Times of handshake segments.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// The last SYN.
    syn: Option<Instant>,
    /// The first SYN-ACK since then.
    answer: Option<Instant>,
    /// The last SYN-ACK that is not later than `ack`.
    syn_ack: Option<Instant>,
    /// The first ACK after a SYN-ACK.
    ack: Option<Instant>,
    /// A SYN or SYN-ACK was sent again.
    repeated: bool,
}

impl Flow {
    /// The flow that `segment` begins.
    pub(super) fn new(segment: &Segment, connection: usize) -> Flow {
        let (src, dst) = (segment.src, segment.dst);
        let syn = segment.flags.contains(Flags::SYN);
        let answers = syn && segment.flags.contains(Flags::ACK);
        // Without a SYN, the end with the lower port is assumed to be the server.
        let src_opened = if syn { !answers } else { src.port() >= dst.port() };
        Flow {
            ends: if src_opened { [src, dst] } else { [dst, src] },
            sides: Default::default(),
            connection,
            flipped: false,
            first: segment.time,
            last: segment.time,
            interface: Some(segment.interface),
            backup: false,
            reset: false,
            handshake: Handshake::default(),
            goes_on: false,
        }
    }

    /// The end that sent the segment.
    pub(super) fn sender(&self, segment: &Segment) -> usize {
        usize::from(segment.src != self.ends[0])
    }

    /// Exchanges the ends, unless a SYN showed which one opened the flow; whether it did.
    pub(super) fn turn(&mut self) -> bool {
        let is_assumed = self.handshake.syn.is_none() && self.handshake.syn_ack.is_none();
        if is_assumed {
            self.ends.swap(0, 1);
            self.sides.swap(0, 1);
        }
        is_assumed
    }

    /// Side of the connection of this end; 0 is the client.
    pub(super) fn side_of(&self, end: usize) -> usize {
        end ^ usize::from(self.flipped)
    }

    /// Updates times, interface and state from a segment.
    pub(super) fn note(&mut self, segment: &Segment) {
        self.last = segment.time;
        if self.interface.is_some_and(|interface| interface != segment.interface) {
            self.interface = None;
        }
        if let Some(mss) = segment.options.mss {
            self.sides.iter_mut().for_each(|side| side.half.limit(mss));
        }
        let sender = self.sender(segment);
        self.sides[sender].half.has_fin |= segment.flags.contains(Flags::FIN);
        let is_reset = segment.flags.contains(Flags::RST);
        self.reset |= is_reset;
        let (syn, ack) = (segment.flags.contains(Flags::SYN), segment.flags.contains(Flags::ACK));
        let before = if ack { self.handshake.syn_ack } else { self.handshake.syn };
        self.handshake.repeated |= syn && before.is_some();
        match (syn, ack) {
            // Sent because the ACK was lost or passed over (TCP_DEFER_ACCEPT).
            (true, _) if self.handshake.ack.is_some() => {}
            (true, false) => {
                (self.handshake.syn, self.handshake.answer) = (Some(segment.time), None);
            }
            (true, true) => {
                self.handshake.syn_ack = Some(segment.time);
                self.handshake.answer.get_or_insert(segment.time);
            }
            (false, true) if is_reset => {}
            (false, true) if sender == 0 => {
                let answer = self.handshake.syn_ack.and(Some(segment.time));
                self.handshake.ack = self.handshake.ack.or(answer);
                self.goes_on = true;
            }
            (false, true) => self.goes_on |= self.handshake.syn_ack.is_some() && segment.len > 0,
            _ => {}
        }
    }

    /// Whether the handshake is complete, or was complete when the capture began.
    pub(super) fn is_established(&self) -> bool {
        let Handshake { syn, syn_ack, .. } = self.handshake;
        self.goes_on || (syn.is_none() && syn_ack.is_none())
    }

    /// Point of capture relative to this flow: half of the handshake takes no time at the end that
    /// answers at once.
    pub(super) fn vantage(&self) -> Vantage {
        let Handshake { syn: Some(syn), answer, syn_ack: Some(syn_ack), ack: Some(ack), .. } =
            self.handshake
        else {
            return Vantage::Unknown;
        };
        // The answer to an earlier SYN may be the only one.
        let (to_answer, to_confirm) = (answer.unwrap_or(syn) - syn, ack - syn_ack);
        match (Vantage::of(to_answer, to_confirm), self.flipped) {
            (Vantage::Client, true) => Vantage::Server,
            (Vantage::Server, true) => Vantage::Client,
            (vantage, _) => vantage,
        }
    }

    /// Round-trip time of the handshake, for a capture at an end of the connection.
    pub(super) fn handshake_rtt(&self, vantage: Vantage) -> Option<f64> {
        let Handshake { syn, syn_ack, ack, repeated: false, .. } = self.handshake else {
            return None;
        };
        let at_opener = match vantage {
            Vantage::Client => !self.flipped,
            Vantage::Server => self.flipped,
            Vantage::Between | Vantage::Unknown => return None,
        };
        let (from, to) = if at_opener { (syn?, syn_ack?) } else { (syn_ack?, ack?) };
        (to > from).then(|| (to - from).as_secs_f64())
    }

    /// Data that one side of the connection sent here; `total` is the number of first bytes of the
    /// direction.
    pub(super) fn flowing(&self, side: usize, vantage: Vantage, total: u64) -> Flowing {
        let Side { half, first_bytes, reinjected_bytes, waited, .. } =
            &self.sides[self.side_of(side)];
        let (sender, receiver) = match side {
            0 => (Vantage::Client, Vantage::Server),
            _ => (Vantage::Server, Vantage::Client),
        };
        let (sent, resent) = (half.on_network, half.resent_on_network);
        let delay = Distribution::of(waited).filter(|_| vantage != sender);
        Flowing {
            segments: half.segments,
            bytes: half.bytes,
            first_bytes: *first_bytes,
            share: (total > 0).then(|| *first_bytes as f64 / total as f64),
            resent_segments: half.resent_segments,
            resent_bytes: half.resent_bytes,
            reinjected_bytes: *reinjected_bytes,
            loss: (sent > 0).then(|| resent as f64 / sent as f64),
            rtt: Distribution::of(&half.rtt).filter(|_| vantage != receiver),
            out_of_order: delay.map(|delay| OutOfOrder {
                segments: waited.iter().filter(|waited| **waited > 0.0).count() as u64,
                delay,
            }),
            sctp: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Duration;
    use wire::{SeqNumber, TcpOptions};

    /// Regression: the time of a SYN-ACK that was sent again was taken for that of the answer to
    /// the SYN, so that the capture of a server was one of the client.
    #[test]
    fn syn_ack_again_does_not_change_the_point_of_capture() {
        const SYN_ACK: u8 = 1;
        const ACK: u8 = 2;
        for later in [[(SYN_ACK, 1000), (ACK, 1040)], [(ACK, 40), (SYN_ACK, 1000)]] {
            let at = |(kind, millis): (u8, u64)| {
                let ends = [([10, 0, 0, 1], 5000).into(), ([10, 0, 0, 2], 443).into()];
                let from_server = usize::from(kind == SYN_ACK);
                Segment {
                    time: Instant::ZERO + Duration::from_millis(millis),
                    interface: 0,
                    src: ends[from_server],
                    dst: ends[1 - from_server],
                    identification: 0,
                    seq: SeqNumber(0),
                    ack: SeqNumber(1),
                    flags: [Flags::SYN, Flags::SYN | Flags::ACK, Flags::ACK][usize::from(kind)],
                    options: TcpOptions::default(),
                    len: 0,
                }
            };
            let syn = at((0, 0));
            let mut flow = Flow::new(&syn, 0);
            flow.note(&syn);
            [(SYN_ACK, 1)].into_iter().chain(later).for_each(|one| flow.note(&at(one)));
            assert_eq!(flow.vantage(), Vantage::Server, "{later:?}");
        }
    }
}
