//! Writing segments: headers and options from the subflow's state (RFC 9293 s3.1, 7323, 2018).
//!
//! Which segment to write is `transmit`'s decision.

use super::subflow::Subflow;
use base::Context;
use wire::{
    Body, Flags, MptcpOptions, Packet, Payload, SackBlocks, SeqNumber, TcpOptions, TcpSegment,
    Timestamps,
};

/// Option bytes of a TCP header.
const OPTION_SPACE: u32 = 40;

impl Subflow {
    /// Payload `offset..offset + len`, with FIN if asked. The acknowledgement rides along.
    pub(super) fn data_segment(
        &mut self,
        cx: &Context<'_>,
        offset: u64,
        len: u32,
        fin: bool,
    ) -> Box<Packet> {
        let mut flags = Flags::ACK;
        if fin {
            flags = flags | Flags::FIN;
        }
        // Linux marks the end of what was written and of every burst of several segments.
        let ends_burst = self.tx.burst_left == 0 && self.tx.burst_segs > 1;
        let ends_write = offset + u64::from(len) == self.tx.buffer.end() && !self.tx.more;
        if len > 0 && (ends_burst || ends_write) {
            flags = flags | Flags::PSH;
        }
        self.stats.bytes_sent += u64::from(len);
        if len > 0 {
            self.tx.last_data_sent = Some(cx.now);
            self.rx.ack.on_data_sent(cx.now);
        }
        let payload = self.tx.buffer.slice(offset, len);
        self.segment(cx, offset, flags, payload)
    }

    /// An acknowledgement without data.
    pub(super) fn pure_ack(&mut self, cx: &Context<'_>) -> Box<Packet> {
        self.segment(cx, self.tx.nxt, Flags::ACK, Payload::Empty)
    }

    /// A probe of a closed window: an old sequence number, so that the peer answers
    /// (RFC 9293 s3.8.6.1).
    pub(super) fn window_probe(&mut self, cx: &Context<'_>) -> Box<Packet> {
        let before = self.tx.una.wrapping_sub(1);
        self.segment(cx, before, Flags::ACK, Payload::Empty)
    }

    /// A reset (RFC 9293 s3.5.2).
    pub(super) fn reset_segment(&mut self, cx: &Context<'_>, seq: SeqNumber) -> Box<Packet> {
        let with_ack = self.fsm.is_synchronised() || self.fsm.is_closed();
        self.stats.segs_out += 1;
        let segment = TcpSegment {
            src_port: self.tuple.local.port(),
            dst_port: self.tuple.remote.port(),
            seq,
            ack: if with_ack { self.ack_number() } else { SeqNumber(0) },
            flags: if with_ack { Flags::RST | Flags::ACK } else { Flags::RST },
            options: TcpOptions {
                timestamps: self.timestamps(cx),
                mptcp: self.mp.as_ref().map_or_else(MptcpOptions::default, |mp| mp.reset_options()),
                ..TcpOptions::default()
            },
            ..TcpSegment::default()
        };
        self.packet(segment)
    }

    /// The datagram around a segment.
    // Inlined, so that a segment is written where it will lie.
    #[inline]
    pub(super) fn packet(&self, segment: TcpSegment) -> Box<Packet> {
        let mut packet = Box::new(Packet::new(
            self.tuple.local.ip(),
            self.tuple.remote.ip(),
            Body::Tcp(segment),
        ));
        packet.flow = self.socket.0 + 1;
        packet
    }

    fn seq_of(&self, offset: u64) -> SeqNumber {
        SeqNumber::from_offset(self.hs.iss + 1, offset)
    }

    fn ack_number(&self) -> SeqNumber {
        SeqNumber::from_offset(self.hs.irs + 1, self.rx.nxt())
    }

    fn timestamps(&self, cx: &Context<'_>) -> Option<Timestamps> {
        let value = self.hs.ts_value(cx.now);
        self.hs.timestamps.then_some(Timestamps { value, echo: self.rx.ts_recent })
    }

    fn segment(
        &mut self,
        cx: &Context<'_>,
        offset: u64,
        flags: Flags,
        payload: Payload,
    ) -> Box<Packet> {
        let seq = self.seq_of(offset);
        let ack = self.ack_number();
        let window = self.rx.announce_window(self.hs.our_shift);
        let mptcp = match self.mp.as_mut() {
            Some(mp) => mp.options(offset, payload.len()),
            None => MptcpOptions::default(),
        };
        let mut options =
            TcpOptions { timestamps: self.timestamps(cx), mptcp, ..TcpOptions::default() };
        if payload.len() > self.tx.mss
            && let Some(mp) = self.mp.as_ref()
        {
            // The segment was cut while acknowledgements were shorter.
            options.mptcp = mp.shorter_options(offset);
        }
        if self.has_sacks() {
            options.sack = self.sack_blocks(options.padded_len(), payload.len());
            self.rx.dsack = None;
        }
        self.rx.ack.on_ack_sent();
        self.timers.stop_acks();
        self.stats.segs_out += 1;
        let packet = self.packet(TcpSegment {
            src_port: self.tuple.local.port(),
            dst_port: self.tuple.remote.port(),
            seq,
            ack,
            flags,
            window,
            options,
            payload,
        });
        self.tx.below += u64::from(packet.wire_len());
        packet
    }

    /// Whether there is anything to say in SACK blocks.
    const fn has_sacks(&self) -> bool {
        let something = self.rx.dsack.is_some() || self.rx.data.out_of_order_bytes() > 0;
        something && self.hs.sack
    }

    /// SACK blocks beside `len` bytes of payload: D-SACK first (RFC 2883), then the most recently
    /// changed ranges (RFC 2018 s4), as many as fit.
    fn sack_blocks(&self, taken: u32, len: u32) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let header = if self.tuple.local.is_ipv4() { 40 } else { 60 };
        let space = self.mtu.saturating_sub(header + len).min(OPTION_SPACE);
        let most = (space.saturating_sub(taken + 4) / 8) as usize;
        let base = self.hs.irs + 1;
        let ranges = self.rx.dsack.iter().chain(self.rx.data.sack_ranges());
        for range in ranges.take(most) {
            let start = SeqNumber::from_offset(base, range.start);
            let end = SeqNumber::from_offset(base, range.end);
            blocks.push(start, end);
        }
        blocks
    }
}
