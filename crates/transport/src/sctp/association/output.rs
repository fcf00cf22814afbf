//! Packets that an association sends: from its chunks to their IP header.

use super::*;
use crate::sctp::outgoing::Outgoing;
use std::net::Ipv4Addr;

impl Association {
    /// Whether there is no packet, as one look shows: nothing was sent that is not acknowledged,
    /// and nothing waits. So it is at a receiver after most packets.
    #[inline(always)]
    pub(super) fn is_quiet(&self, cx: &Context<'_>) -> bool {
        let Phase::Open(open) = &self.phase else { return false };
        open.transfer.is_quiet()
            && open.shutdown.stage() == Stage::Established
            && !open.addresses.has_queued()
            && !open.streams.has_queued()
            && self.outbox.is_empty()
            && !cx.wants(EventMask::ACCOUNT)
    }

    /// `Endpoint::rest` where the association is not set up yet, or ends.
    #[cold]
    pub(super) fn rest_of_others(&mut self) -> Rest {
        Rest {
            has_events: self.has_events(),
            is_closed: self.is_closed(),
            deadline: self.deadline(),
        }
    }

    /// The next packet.
    #[inline(never)]
    pub(super) fn next_packet(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        if !self.outbox.is_empty()
            && let Some(transmit) = self.poll_outbox()
        {
            cold_path();
            return Some(transmit);
        }
        let mut outgoing = Outgoing::default();
        let pair = self.next_chunks(cx, &mut outgoing)?;
        let mut packet = outgoing.into_packet()?;
        let Body::Sctp(sctp) = &mut packet.body else { return None };
        (sctp.src_port, sctp.dst_port) = self.ends.ports();
        sctp.tag = self.tags.peer;
        self.protect(sctp);
        self.transmit(pair, packet)
    }

    /// The chunks of the next packet, and the pair that it goes to.
    #[inline(always)]
    pub(super) fn next_chunks(
        &mut self,
        cx: &mut Context<'_>,
        chunks: &mut Outgoing,
    ) -> Option<PathId> {
        loop {
            let Phase::Open(open) = &mut self.phase else { return None };
            let Open { transfer, addresses, streams, shutdown } = &mut **open;
            let stage = shutdown.stage();
            if stage == Stage::Closed {
                return None;
            }
            addresses.poll(cx, transfer, &mut self.ends);
            streams.poll(cx, transfer);
            let is_idle = transfer.is_idle();
            let pair = transfer.poll(cx, (stage, is_idle), chunks);
            if pair.is_some() {
                return pair;
            }
            if is_idle && stage == Stage::Established {
                self.report_stop(cx);
                return None;
            }
            transfer.arm_probe(cx);
            transfer.sender.arm_hold(cx.now);
            if transfer.sender.take_writable() {
                self.events.push(ConnectionEvent::Writable);
            }
            if !self.advance_shutdown(cx) {
                self.report_stop(cx);
                return None;
            }
        }
    }

    /// A packet to a pair, with its IP header.
    #[inline(always)]
    pub(super) fn transmit(&self, pair: PathId, mut packet: Box<Packet>) -> Option<Transmit> {
        let number = self.ends.path_to(pair).unwrap_or(PathId(0));
        let to = self.ends.pair_of(pair)?;
        packet.ends = wire::Ends::new(to.local.address, to.remote);
        let Body::Sctp(sctp) = &mut packet.body else { return None };
        sctp.udp = self.ends.udp_to(to.remote);
        // As `Packet::wire_len`, which asks what kind of a packet it is.
        let ip = if to.local.address.is_ipv4() { 20 } else { 40 };
        let udp = if sctp.udp.is_some() { 8 } else { 0 };
        let bytes = ip + udp + sctp.wire_len();
        debug_assert_eq!(bytes, packet.wire_len(), "as if the packet was asked");
        packet.flow = (self.socket.0 + 1) | u32::from(number.0) << FLOW_PATH_SHIFT;
        Some(Transmit { interface: to.local.interface, packet, bytes })
    }

    /// The next packet of the handshake or of the end.
    #[cold]
    pub(super) fn poll_outbox(&mut self) -> Option<Transmit> {
        while let Some((pair, packet)) = self.outbox.pop_front() {
            let nowhere = Ipv4Addr::UNSPECIFIED.into();
            let packet = Box::new(Packet::new(nowhere, nowhere, Body::Sctp(packet)));
            if let Some(transmit) = self.transmit(pair, packet) {
                return Some(transmit);
            }
        }
        None
    }

    /// Authenticates a packet if the peer wants that; few want it of data and SACKs.
    #[inline(always)]
    pub(super) fn protect(&self, packet: &mut SctpPacket) {
        if let Some(auth) = &self.auth {
            let is_common = packet.chunks.only().is_some_and(is_common);
            if !is_common || auth.reserve() != 0 {
                protect(auth, packet);
            }
        }
    }
}

#[inline(never)]
fn protect(auth: &Authentication, packet: &mut SctpPacket) {
    if auth.reserve() != 0 || !packet.chunks.iter().all(is_common) {
        auth.protect(packet);
    }
}
