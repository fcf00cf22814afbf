//! An association as the stack sees it: the calls of [`Endpoint`].

use super::*;
use std::hint::cold_path;
use wire::SeqNumber;

impl Endpoint for Association {
    fn marks(&mut self) -> &mut SocketMarks {
        &mut self.marks
    }

    fn ip_protocol(&self) -> IpProtocol {
        IpProtocol::Sctp
    }

    fn handle(&mut self, cx: &mut Context<'_>, path: PathId, body: &mut Body) {
        let Body::Sctp(packet) = body else { return };
        if path == Ends::STRAY && !self.takes_stray(packet) {
            return;
        }
        let is_common = packet.chunks.iter().all(is_common);
        let is_taken = match is_common {
            true => !self.is_over() && packet.tag == self.tags.local,
            false => self.takes(path, packet),
        };
        if !is_taken {
            return;
        }
        if (packet.udp.is_some() || self.ends.knows_udp())
            && let Some(remote) = self.ends.pair_of(path).map(|pair| pair.remote)
        {
            cold_path();
            let back = packet.udp.map(|UdpPorts { src, dst }| UdpPorts { src: dst, dst: src });
            if self.ends.learn_udp(remote, back)
                && let Phase::Open(open) = &mut self.phase
            {
                open.transfer.on_encapsulation(&self.ends);
            }
        }
        if is_common && matches!(self.phase, Phase::Open(_)) {
            self.on_common_packet(cx, path, packet);
        } else {
            self.on_packet(cx, path, packet);
        }
    }

    #[inline(always)]
    fn poll_transmit(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        if cx.has_short_ways() && self.is_quiet(cx) {
            return None;
        }
        self.next_packet(cx)
    }

    fn deadline(&mut self) -> Instant {
        match &self.phase {
            Phase::Opening(initiator) => initiator.deadline().unwrap_or(Instant::FAR_FUTURE),
            Phase::Open(open) if open.shutdown.stage() != Stage::Closed => {
                let others = open.shutdown.deadline().min(open.addresses.deadline());
                let others = others.min(open.streams.deadline());
                open.transfer.deadline().min(others)
            }
            Phase::Open(_) | Phase::Closed => Instant::FAR_FUTURE,
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        if self.is_over() {
            return;
        }
        match &mut self.phase {
            Phase::Opening(initiator) => {
                let step = initiator.handle_timeout(cx.now);
                self.on_step(cx, step);
            }
            Phase::Open(open) => {
                let Open { transfer, addresses, streams, .. } = &mut **open;
                let outcome = transfer
                    .on_timeout(cx)
                    .and_then(|()| addresses.on_timeout(cx, transfer, &mut self.ends))
                    .and_then(|()| streams.on_timeout(cx, transfer));
                if outcome.is_err() {
                    return self.fail(cx, SocketError::TimedOut);
                }
                let most = self.config.parameters.limits.association;
                let step = open.shutdown.on_timeout(cx.now, most);
                if matches!(step, ShutdownStep::SendShutdown | ShutdownStep::SendShutdownAck) {
                    open.transfer.on_t2(cx, open.shutdown.path);
                }
                match step {
                    ShutdownStep::GiveUp => self.fail(cx, SocketError::TimedOut),
                    ShutdownStep::Abort => {
                        let cause = Cause::UserAbort(b"shutdown guard"[..].into());
                        self.abort_with(cx, PathId(0), cause, SocketError::TimedOut);
                    }
                    step => self.on_shutdown_step(cx, step),
                }
            }
            Phase::Closed => {}
        }
    }

    fn on_departed(&mut self, _path: PathId, _bytes: u32) -> bool {
        false
    }

    fn on_reset(&mut self, cx: &mut Context<'_>, _path: PathId) {
        self.fail(cx, SocketError::Reset);
    }

    /// RFC 9260 s10: an association that is being opened takes the next address of the peer, or
    /// fails, otherwise paths are left to their timers.
    fn on_unreachable(&mut self, cx: &mut Context<'_>, path: PathId, _quoted: Option<SeqNumber>) {
        let Some(address) = self.ends.pair_of(path).map(|pair| pair.remote) else { return };
        if let Phase::Opening(initiator) = &mut self.phase {
            let step = initiator.handle_unreachable(cx.now, address);
            self.on_step(cx, step);
        }
    }

    fn write(&mut self, _cx: &mut Context<'_>, payload: &Payload) -> Result<u32, SocketError> {
        match &mut self.phase {
            Phase::Opening(_) => Err(SocketError::NotConnected),
            Phase::Open(open) if open.shutdown.stage() == Stage::Established => {
                if open.streams.is_resetting(0) {
                    open.transfer.sender.refuse();
                    return Ok(0);
                }
                Ok(open.transfer.sender.write(payload))
            }
            Phase::Open(_) | Phase::Closed => Err(SocketError::Closed),
        }
    }

    fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        let Phase::Open(open) = &mut self.phase else { return Err(SocketError::Closed) };
        let payload = open.transfer.receiver.read(max);
        let end = open.transfer.receiver.taken();
        let is_over = !open.shutdown.stage().takes_data();
        match payload.len() {
            0 if is_over => Err(SocketError::Closed),
            0 => Ok(payload),
            len => {
                self.record_delivered(cx, end, len);
                Ok(payload)
            }
        }
    }

    fn readable(&self) -> u64 {
        match &self.phase {
            Phase::Open(open) => open.transfer.receiver.streams().readable(),
            Phase::Opening(_) | Phase::Closed => 0,
        }
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        match &mut self.phase {
            Phase::Opening(_) => Err(SocketError::NotConnected),
            Phase::Open(open) => {
                open.shutdown.request();
                let stage = open.shutdown.stage();
                self.record_state(cx, stage.name());
                Ok(())
            }
            Phase::Closed => Err(SocketError::Closed),
        }
    }

    fn abort(&mut self, cx: &mut Context<'_>) {
        if !self.is_over() {
            let cause = Cause::UserAbort(b""[..].into());
            self.abort_with(cx, PathId(0), cause, SocketError::Reset);
            self.events.clear();
        }
    }

    fn on_released(&mut self, cx: &mut Context<'_>) {
        match &mut self.phase {
            Phase::Opening(_) => self.phase = Phase::Closed,
            Phase::Open(open) => {
                open.shutdown.request();
                let stage = open.shutdown.stage();
                self.record_state(cx, stage.name());
            }
            Phase::Closed => {}
        }
    }

    fn has_urgent(&self) -> bool {
        if !self.outbox.is_empty() {
            return true;
        }
        match &self.phase {
            Phase::Open(open) => open.transfer.receiver.sack_due().is_some(),
            Phase::Opening(_) | Phase::Closed => false,
        }
    }

    fn has_events(&self) -> bool {
        let has_failures = match &self.phase {
            Phase::Open(open) => open.transfer.sender.has_failures(),
            Phase::Opening(_) | Phase::Closed => false,
        };
        has_failures || !self.events.is_empty()
    }

    fn take_events(&mut self, events: &mut Vec<ConnectionEvent>) {
        events.append(&mut self.events);
        if let Phase::Open(open) = &mut self.phase
            && open.transfer.sender.has_failures()
        {
            let failures = open.transfer.sender.take_failures();
            events.extend(failures.into_iter().map(ConnectionEvent::SendFailed));
        }
    }

    fn take_readable(&mut self) -> bool {
        let only = matches!(self.events[..], [ConnectionEvent::Readable])
            && !matches!(&self.phase, Phase::Open(open) if open.transfer.sender.has_failures());
        if only {
            self.events.clear();
        }
        only
    }

    fn is_closed(&self) -> bool {
        self.is_over() && self.outbox.is_empty()
    }

    /// In one look at the phase.
    #[inline(always)]
    fn rest(&mut self) -> Rest {
        match &self.phase {
            Phase::Open(open) if open.shutdown.stage() == Stage::Established => {
                let has_failures = open.transfer.sender.has_failures();
                let changes = open.addresses.deadline().min(open.streams.deadline());
                let deadline = open.transfer.deadline().min(changes);
                debug_assert!(open.shutdown.deadline() >= deadline, "its timers do not run");
                let has_events = has_failures || !self.events.is_empty();
                Rest { has_events, is_closed: false, deadline }
            }
            _ => self.rest_of_others(),
        }
    }

    fn info(&self) -> ConnectionInfo {
        let info = match &self.phase {
            Phase::Open(open) => describe::open(&open.transfer, &self.ends, open.shutdown.stage()),
            Phase::Opening(initiator) => describe::opening(&self.ends, initiator.has_echoed()),
            Phase::Closed => describe::closed(&self.ends),
        };
        ConnectionInfo { protocol: self.config.protocol(), ..info }
    }

    fn paths(&self) -> Vec<(Tuple, InterfaceId)> {
        self.ends.tuples()
    }

    fn is_replaced_by(&self, _path: PathId, _body: &Body) -> bool {
        self.is_over()
    }

    fn tag(&self) -> Option<Tag> {
        Some(Tag::Verification(self.ends.ports().0, self.tags.local))
    }

    fn on_addresses(
        &mut self,
        cx: &mut Context<'_>,
        addresses: &[IpAddr],
        interface: InterfaceId,
        change: AddressChange,
    ) -> bool {
        let Phase::Open(open) = &mut self.phase else { return false };
        let Open { transfer, addresses: changes, .. } = &mut **open;
        for address in addresses {
            let local = LocalAddress { address: *address, interface, mtu: self.ends.mtu() };
            let may_use = self.config.may_use(*address);
            let changed = changes.on_local(cx, transfer, &mut self.ends, (local, may_use), change);
            self.pairs_changed |= changed;
        }
        for index in 0..self.ends.paths() {
            let path = PathId(index as u8);
            let pair = self.ends.pair_of(path).filter(|_| self.ends.is_live(path));
            if pair.is_some_and(|pair| addresses.contains(&pair.local.address)) {
                transfer.on_local_address(cx, path, change == AddressChange::Up);
            }
        }
        true
    }

    fn set_interface_backup(&mut self, interface: InterfaceId, backup: bool) -> bool {
        let locals = self.ends.locals().iter();
        let address =
            locals.filter(|local| local.interface == interface).map(|at| at.address).next();
        address.is_some_and(|address| self.set_address_backup(address, backup))
    }

    fn set_address_backup(&mut self, local: IpAddr, backup: bool) -> bool {
        let Phase::Open(open) = &mut self.phase else { return false };
        let of = |path: PathId| self.ends.pair_of(path).map(|pair| pair.local.address);
        let mut paths = (0..self.ends.paths()).map(|path| PathId(path as u8));
        let wanted = |path: &PathId| (of(*path) == Some(local)) != backup;
        let chosen = if backup && of(open.transfer.states.primary()) != Some(local) {
            None
        } else {
            paths.find(wanted)
        };
        if let Some(path) = chosen
            && open.transfer.states.set_primary(path)
            && let Some(local) = of(path)
        {
            open.addresses.ask(Change::SetPrimary(local));
        }
        true
    }
}
