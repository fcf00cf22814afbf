//! `AddressChanges`: addresses that are added and deleted, and the primary that a peer asks for
//! (RFC 5061).
//!
//! One ASCONF is outstanding at a time and is repeated unchanged until it is acknowledged, which is
//! left to `Repeated`. All of it is authenticated, which is left to `Authentication`. A path with
//! an added address is verified before it carries data; that of a deleted one ends at once.

use super::ends::{Ends, LocalAddress};
use super::repeated::Repeated;
use super::timers::Unreachable;
use super::transfer::Transfer;
use crate::endpoint::AddressChange;
use base::{Context, Instant, PathId};
use bytes::Bytes;
use std::collections::VecDeque;
use std::net::IpAddr;
use wire::sctp::{AddressRequest, Asconf, AsconfAck, Cause, Chunk, Parameter, UnknownRule};

/// Addresses of a peer at most.
const MAX_ADDRESSES: usize = 32;
/// Requests that wait at most.
const MAX_QUEUED: usize = 64;
/// Bytes of the responses in an ASCONF ACK at most, which a packet takes.
const MAX_RESPONSES: u32 = 1200;
/// Bytes of the answers at most that are kept for an ASCONF that comes again.
const MAX_CACHED: u32 = 8 * MAX_RESPONSES;
/// Bytes of an error with the copy of a request that names an IPv6 address.
const ERROR_WITH_COPY: u32 = BARE_ERROR + COPY;
/// Bytes of such a request.
const COPY: u32 = 28;
/// Bytes of an error without: parameter, correlation number and cause.
const BARE_ERROR: u32 = 12;

/// A change that this side asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    Add(LocalAddress),
    Delete(IpAddr),
    /// The peer shall send its data to this address of this side.
    SetPrimary(IpAddr),
}

/// ASCONF in both directions.
#[derive(Clone, Debug)]
pub(super) struct AddressChanges {
    /// Both sides have ASCONF and AUTH, and the peer has not refused it.
    supported: bool,
    /// Serial number of the next ASCONF.
    next_serial: u32,
    queued: VecDeque<Change>,
    outstanding: Option<Outstanding>,
    /// Serial number that the peer's next ASCONF has.
    expected: u32,
    /// The answers to the last ones: a packet may have several, which come again together (RFC 5061
    /// s5.2 E2).
    cached: VecDeque<AsconfAck>,
    /// The primary that the peer has asked for, until it is verified.
    wanted_primary: Option<IpAddr>,
    /// The last address of this side, which is gone; the peer cannot be told before there is
    /// another one.
    orphan: Option<IpAddr>,
}

/// The ASCONF that is not acknowledged.
#[derive(Clone, Debug)]
struct Outstanding {
    asconf: Asconf,
    /// By correlation number.
    changes: Vec<Change>,
    path: PathId,
    /// T4.
    timer: Repeated,
}

/// A request of the peer.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    request: &'a Parameter,
    /// An earlier one has failed, and no further address is added or deleted.
    failed: bool,
    /// An error has a copy of it.
    copies: bool,
}

/// Responses to an ASCONF. Requests before the first error need none if they succeeded, and those
/// behind it need none if they failed (RFC 5061 s5.2).
struct Responses {
    list: Vec<Parameter>,
    /// Bytes that are left for more.
    room: u32,
    /// There is an error.
    any: bool,
}

/// Where a chunk came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct From {
    pub pair: PathId,
    pub source: IpAddr,
}

impl Change {
    /// Whether it adds or deletes `wanted`.
    fn is_of(&self, wanted: IpAddr) -> bool {
        match self {
            Change::Add(local) => local.address == wanted,
            Change::Delete(address) => *address == wanted,
            Change::SetPrimary(_) => false,
        }
    }
}

impl Responses {
    const fn new() -> Responses {
        Responses { list: Vec::new(), room: MAX_RESPONSES, any: false }
    }

    /// No outcome but a failure needs no response: further requests are not carried out.
    const fn is_full(&self) -> bool {
        self.any && self.room < BARE_ERROR
    }

    /// Whether an error may have a copy of its request.
    const fn has_copies(&self) -> bool {
        !self.any || self.room >= ERROR_WITH_COPY
    }

    fn add(&mut self, correlation: u32, outcome: Result<(), Cause>) {
        let response = match outcome {
            Ok(()) => Parameter::Success { correlation },
            Err(cause) => {
                if !self.any && self.room < ERROR_WITH_COPY {
                    self.list.clear();
                    self.room = MAX_RESPONSES;
                }
                self.any = true;
                Parameter::ErrorIndication { correlation, causes: vec![cause] }
            }
        };
        if let Some(room) = self.room.checked_sub(response.wire_len()) {
            self.room = room;
            self.list.push(response);
        }
    }
}

impl AddressChanges {
    /// `own` and `peer`: first TSNs, which serial numbers begin with.
    pub(super) const fn new(supported: bool, own: u32, peer: u32) -> AddressChanges {
        AddressChanges {
            supported,
            next_serial: own,
            queued: VecDeque::new(),
            outstanding: None,
            expected: peer,
            cached: VecDeque::new(),
            wanted_primary: None,
            orphan: None,
        }
    }

    /// Asks the peer for a change when its turn comes.
    pub(super) fn ask(&mut self, change: Change) {
        if self.supported && self.queued.len() < MAX_QUEUED {
            self.queued.push_back(change);
        }
    }

    /// A local address changed, which the association may use or not; returns whether its list of
    /// addresses did.
    pub(super) fn on_local(
        &mut self,
        cx: &mut Context<'_>,
        transfer: &mut Transfer,
        ends: &mut Ends,
        (local, may_use): (LocalAddress, bool),
        change: AddressChange,
    ) -> bool {
        let address = local.address;
        let known = ends.locals().iter().any(|local| local.address == address);
        if !self.supported {
            return false;
        }
        match change {
            AddressChange::Removed if known => {
                ends.remove_local(address);
                self.on_local_removed(address, ends.locals().is_empty());
                transfer.on_addresses_deleted(cx, ends);
                true
            }
            AddressChange::Removed => {
                self.on_unused_removed(address);
                false
            }
            AddressChange::Up if !known && may_use && self.on_local_added(local) => {
                transfer.offer_numbers(ends);
                ends.add_local(local);
                transfer.on_address_added(cx, ends);
                true
            }
            AddressChange::Up | AddressChange::Down => false,
        }
    }

    /// An address of this side is gone. `last`: there is no other one.
    fn on_local_removed(&mut self, address: IpAddr, last: bool) {
        match last {
            true => self.orphan = Some(address),
            false => self.ask(Change::Delete(address)),
        }
    }

    /// An address of this side is gone that the association does not use, but may have asked for.
    fn on_unused_removed(&mut self, address: IpAddr) {
        self.queued.retain(|change| !change.is_of(address));
        let asked = self.outstanding.iter_mut().flat_map(|outstanding| &mut outstanding.changes);
        if let Some(change) = asked.filter(|change| change.is_of(address)).last()
            && matches!(change, Change::Add(_))
        {
            *change = Change::Delete(address);
            self.ask(Change::Delete(address));
        }
    }

    /// This side has an address that the association does not use; returns whether it can at once,
    /// because the peer knows it.
    fn on_local_added(&mut self, local: LocalAddress) -> bool {
        let orphan = self.orphan.take();
        if orphan == Some(local.address) {
            return true;
        }
        let outstanding = self.outstanding.iter().flat_map(|outstanding| &outstanding.changes);
        let all = outstanding.chain(&self.queued);
        let last = all.rev().find(|change| change.is_of(local.address));
        if !matches!(last, Some(Change::Add(_))) {
            self.ask(Change::Add(local));
        }
        if let Some(orphan) = orphan {
            self.ask(Change::Delete(orphan));
        }
        false
    }

    /// When T4 expires.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Instant {
        self.outstanding
            .as_ref()
            .map_or(Instant::FAR_FUTURE, |outstanding| outstanding.timer.deadline)
    }

    /// The peer does not know ASCONF (RFC 5061 s4.1.1).
    pub(super) fn refuse(&mut self) {
        (self.supported, self.outstanding) = (false, None);
        self.queued.clear();
    }

    /// Whether requests wait to be sent.
    #[inline]
    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Sends the next ASCONF if none is outstanding.
    #[inline]
    pub(super) fn poll(&mut self, cx: &Context<'_>, transfer: &mut Transfer, ends: &mut Ends) {
        if self.has_queued() {
            self.send_queued(cx, transfer, ends);
        }
    }

    #[cold]
    fn send_queued(&mut self, cx: &Context<'_>, transfer: &mut Transfer, ends: &mut Ends) {
        if self.outstanding.is_some() {
            return;
        }
        let changes: Vec<Change> = self.queued.drain(..).collect();
        let request = |(correlation, change): (u32, &Change)| {
            let of = |address| AddressRequest { correlation, address };
            match *change {
                Change::Add(local) => Parameter::AddAddress(of(local.address)),
                Change::Delete(address) => Parameter::DeleteAddress(of(address)),
                Change::SetPrimary(address) => Parameter::SetPrimary(of(address)),
            }
        };
        let deleted = changes.iter().find_map(|change| match change {
            Change::Delete(address) => Some(*address),
            _ => None,
        });
        let known = deleted.filter(|_| ends.locals().is_empty());
        let asconf = Asconf {
            serial: self.next_serial,
            address: known.unwrap_or(ends.known_local()),
            requests: (0..).zip(&changes).map(request).collect(),
        };
        self.next_serial = self.next_serial.wrapping_add(1);
        let path = control_path(transfer, ends, None, changes.iter());
        transfer.control.push(path, Chunk::Asconf(Box::new(asconf.clone())));
        let timer = Repeated::new(cx.now, transfer.rto(path));
        self.outstanding = Some(Outstanding { asconf, changes, path, timer });
    }

    /// T4 may have expired: the ASCONF is repeated, on another path if there is one (RFC 5061
    /// s5.1.1).
    ///
    /// # Errors
    /// If the peer is unreachable.
    pub(super) fn on_timeout(
        &mut self,
        cx: &mut Context<'_>,
        transfer: &mut Transfer,
        ends: &mut Ends,
    ) -> Result<(), Unreachable> {
        let expired = |outstanding: &&mut Outstanding| outstanding.timer.deadline <= cx.now;
        let Some(outstanding) = self.outstanding.as_mut().filter(expired) else { return Ok(()) };
        let before = outstanding.path;
        transfer.on_control_timeout(cx, before)?;
        let changes = outstanding.changes.iter().chain(&self.queued);
        outstanding.path = control_path(transfer, ends, Some(before), changes);
        let (rto, max) = (transfer.rto(outstanding.path), transfer.config.parameters.rto.max);
        outstanding.timer.on_sent_again(cx.now, rto, max);
        let again = Chunk::Asconf(Box::new(outstanding.asconf.clone()));
        transfer.control.push(outstanding.path, again);
        Ok(())
    }

    /// ASCONF ACK arrives.
    ///
    /// # Errors
    /// If it answers what was never sent (RFC 5061 s4.3.4).
    pub(super) fn on_ack(
        &mut self,
        cx: &mut Context<'_>,
        transfer: &mut Transfer,
        ends: &mut Ends,
        ack: &AsconfAck,
    ) -> Result<(), Cause> {
        let ahead = ack.serial.wrapping_sub(self.next_serial) as i32;
        if ahead >= 0 && self.supported {
            return Err(Cause::IllegalAsconfAck);
        }
        let is_ours = |outstanding: &mut Outstanding| outstanding.asconf.serial == ack.serial;
        let Some(Outstanding { changes, .. }) = self.outstanding.take_if(is_ours) else {
            return Ok(());
        };
        for (correlation, change) in (0..).zip(changes) {
            if let (Change::Add(local), true) = (change, succeeded(&ack.responses, correlation)) {
                transfer.offer_numbers(ends);
                ends.add_local(local);
                transfer.on_address_added(cx, ends);
            }
        }
        Ok(())
    }

    /// ASCONF arrives; returns whether addresses changed.
    pub(super) fn on_asconf(
        &mut self,
        cx: &mut Context<'_>,
        transfer: &mut Transfer,
        ends: &mut Ends,
        from: From,
        asconf: &Asconf,
    ) -> bool {
        if let Some(ack) = self.cached.iter().find(|ack| ack.serial == asconf.serial) {
            // The answer was lost.
            transfer.control.push(from.pair, Chunk::AsconfAck(ack.clone()));
            return false;
        }
        if asconf.serial != self.expected || !self.supported {
            return false;
        }
        self.expected = self.expected.wrapping_add(1);
        let before = ends.remotes().to_vec();
        let mut responses = Responses::new();
        let mut failed = false;
        for request in &asconf.requests {
            if responses.is_full() {
                break;
            }
            let copies = responses.has_copies() && request.wire_len() <= COPY;
            let asked = Asked { request, failed, copies };
            let answer = self.carry_out(cx, transfer, ends, from, asked);
            if let Some((correlation, outcome)) = answer {
                let is_change =
                    matches!(request, Parameter::AddAddress(_) | Parameter::DeleteAddress(_));
                failed |= outcome.is_err() && is_change;
                responses.add(correlation, outcome);
            }
            if unknown_rule(request).is_some_and(|rule| rule.stop) {
                break;
            }
        }
        // Without responses everything has succeeded.
        let responses = if responses.any { responses.list } else { vec![] };
        let ack = AsconfAck { serial: asconf.serial, responses };
        self.keep(ack.clone());
        // Numbers of pairs that are no paths change with the paths.
        let pair = ends.number_to(from.source).unwrap_or(from.pair);
        let pair = if from.pair == Ends::STRAY { Ends::STRAY } else { pair };
        transfer.control.push(pair, Chunk::AsconfAck(ack));
        before != ends.remotes()
    }

    /// Keeps an answer for an ASCONF that comes again.
    fn keep(&mut self, ack: AsconfAck) {
        let len = |ack: &AsconfAck| 8 + ack.responses.iter().map(Parameter::wire_len).sum::<u32>();
        self.cached.push_back(ack);
        while self.cached.iter().map(len).sum::<u32>() > MAX_CACHED {
            self.cached.pop_front();
        }
    }

    /// One request: its correlation number and outcome.
    fn carry_out(
        &mut self,
        cx: &mut Context<'_>,
        transfer: &mut Transfer,
        ends: &mut Ends,
        from: From,
        Asked { request, failed, copies }: Asked<'_>,
    ) -> Option<(u32, Result<(), Cause>)> {
        let copy = || {
            let mut copy = Vec::new();
            if copies {
                request.emit(&mut copy);
            }
            Bytes::from(copy)
        };
        let or_source = |address: IpAddr| match address.is_unspecified() {
            true => from.source,
            false => address,
        };
        let outcome = match request {
            Parameter::AddAddress(_) | Parameter::DeleteAddress(_) if failed => {
                Err(Cause::ResourceShortage(copy()))
            }
            Parameter::AddAddress(add) => {
                let address = or_source(add.address);
                if !is_unicast(address, from.source) || ends.remotes().len() >= MAX_ADDRESSES {
                    Err(Cause::ResourceShortage(copy()))
                } else {
                    transfer.offer_numbers(ends);
                    if ends.add_remote(address) {
                        transfer.on_address_added(cx, ends);
                    }
                    Ok(())
                }
            }
            Parameter::DeleteAddress(request) => {
                delete(cx, transfer, ends, (from.source, request.address)).map_err(
                    |why| match why {
                        Undeletable::Last => Cause::DeleteLastAddress(copy()),
                        Undeletable::Source => Cause::DeleteSourceAddress(copy()),
                    },
                )
            }
            Parameter::SetPrimary(primary) => {
                let address = or_source(primary.address);
                if ends.remotes().contains(&address) {
                    self.wanted_primary = Some(address);
                    self.adopt_primary(transfer, ends);
                    Ok(())
                } else {
                    Err(Cause::UnresolvableAddress(copy()))
                }
            }
            _ if unknown_rule(request)?.report => Err(Cause::UnrecognizedParameters(copy())),
            _ => return None,
        };
        let correlation = match request {
            Parameter::AddAddress(of)
            | Parameter::DeleteAddress(of)
            | Parameter::SetPrimary(of) => of.correlation,
            Parameter::Unknown { value, .. } => u32::from_be_bytes(value.first_chunk().copied()?),
            _ => return None,
        };
        Some((correlation, outcome))
    }

    /// Makes the path to the address that the peer has asked for the primary, once it is verified.
    #[inline]
    pub(super) fn adopt_primary(&mut self, transfer: &mut Transfer, ends: &Ends) {
        if let Some(address) = self.wanted_primary {
            self.adopt(transfer, ends, address);
        }
    }

    #[cold]
    fn adopt(&mut self, transfer: &mut Transfer, ends: &Ends, address: IpAddr) {
        let path = ends.live_path_to(address);
        if path.is_none_or(|path| transfer.states.set_primary(path)) {
            self.wanted_primary = None;
        }
    }
}

/// Where an ASCONF goes: not to the path `before` that did not answer, if there is another one.
/// Without any address that the peer knows a new one is the source (RFC 5061 s4.2.1).
fn control_path<'a>(
    transfer: &Transfer,
    ends: &mut Ends,
    before: Option<PathId>,
    mut changes: impl Iterator<Item = &'a Change>,
) -> PathId {
    let states = &transfer.states;
    let path = match before {
        Some(before) => states.alternative(before),
        None => states.data_path(),
    };
    let live = |path: &PathId| ends.is_live(*path);
    let known = path.filter(live).or_else(|| ends.number_to(ends.remotes()[0]));
    let new = changes.find_map(|change| match change {
        Change::Add(local) => Some(*local),
        Change::Delete(_) | Change::SetPrimary(_) => None,
    });
    match (known, new) {
        (Some(path), _) => path,
        (None, Some(local)) => ends.set_stray(local, ends.remotes()[0]),
        (None, None) => before.unwrap_or(PathId(0)),
    }
}

/// Why an address is not deleted.
enum Undeletable {
    /// The peer would have none.
    Last,
    /// It is the source of the packet.
    Source,
}

/// Deletes an address of the peer whose packet came from `source`; the unspecified address means
/// all others. Paths to it end.
fn delete(
    cx: &mut Context<'_>,
    transfer: &mut Transfer,
    ends: &mut Ends,
    (source, address): (IpAddr, IpAddr),
) -> Result<(), Undeletable> {
    let all = address.is_unspecified();
    let is_gone = |known: &IpAddr| if all { *known != source } else { *known == address };
    let gone: Vec<IpAddr> = ends.remotes().iter().copied().filter(is_gone).collect();
    if gone.len() == ends.remotes().len() {
        return Err(Undeletable::Last);
    }
    if address == source {
        return Err(Undeletable::Source);
    }
    for address in gone {
        ends.remove_remote(address);
        transfer.on_addresses_deleted(cx, ends);
    }
    Ok(())
}

/// The outcome of a request: without a response it has succeeded, unless an earlier one has failed
/// (RFC 5061 s5.1 A).
fn succeeded(responses: &[Parameter], wanted: u32) -> bool {
    let mut earlier_failed = false;
    for response in responses {
        match response {
            Parameter::Success { correlation } if *correlation == wanted => return true,
            Parameter::ErrorIndication { correlation, .. } if *correlation == wanted => {
                return false;
            }
            Parameter::ErrorIndication { correlation, .. } => {
                earlier_failed |= *correlation < wanted;
            }
            _ => {}
        }
    }
    !earlier_failed
}

/// Whether a packet from `source` may add an address.
fn is_unicast(address: IpAddr, source: IpAddr) -> bool {
    let is_broadcast = address == IpAddr::from([255, 255, 255, 255]);
    let is_foreign_loopback = address.is_loopback() && !source.is_loopback();
    !(address.is_multicast() || address.is_unspecified() || is_foreign_loopback || is_broadcast)
}

/// What is done with a request of unknown type; `None` if its type is known.
const fn unknown_rule(request: &Parameter) -> Option<UnknownRule> {
    match request {
        Parameter::Unknown { kind, .. } => Some(UnknownRule::of_parameter(*kind)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_fit_a_packet_and_say_the_outcome_of_every_request() {
        let error = || Err(Cause::ResourceShortage(vec![7; 28].into()));
        let list_of = |outcomes: &[bool]| {
            let mut responses = Responses::new();
            let mut carried_out = 0;
            for (correlation, ok) in (0..).zip(outcomes) {
                if responses.is_full() {
                    break;
                }
                let bare = || Err(Cause::ResourceShortage(Bytes::new()));
                let error = if responses.has_copies() { error() } else { bare() };
                responses.add(correlation, if *ok { Ok(()) } else { error });
                carried_out += 1;
            }
            let len: u32 = responses.list.iter().map(Parameter::wire_len).sum();
            assert!(len <= MAX_RESPONSES, "{len} bytes");
            for (correlation, ok) in (0..).zip(outcomes) {
                let ok = *ok && correlation < carried_out;
                assert_eq!(succeeded(&responses.list, correlation), ok, "of {correlation}");
            }
            carried_out
        };
        let late = |at: usize| (0..400).map(|n| n != at).collect::<Vec<bool>>();
        assert_eq!(list_of(&late(399)), 400, "of 399 successes none needs a response");
        assert!(list_of(&late(0)) > 140);
        assert!(list_of(&late(140)) > 140);
        let carried_out = list_of(&[false; 3900]);
        assert!((30..3900).contains(&carried_out), "{carried_out}");
    }

    #[test]
    fn hosts_that_speak_over_loopback_may_add_its_addresses() {
        let [loopback, other] = [[127, 0, 0, 2], [10, 0, 0, 2]].map(IpAddr::from);
        assert!(is_unicast(loopback, loopback) && is_unicast(other, loopback));
        assert!(!is_unicast(loopback, other));
        for address in [[224, 0, 0, 1], [255, 255, 255, 255], [0, 0, 0, 0]] {
            assert!(!is_unicast(address.into(), loopback));
        }
    }

    #[test]
    fn outcome_of_a_request_follows_from_the_responses() {
        let success = |correlation| Parameter::Success { correlation };
        let error = |correlation| Parameter::ErrorIndication {
            correlation,
            causes: vec![Cause::OutOfResource],
        };
        let outcomes = |responses: &[Parameter]| [0, 1, 2].map(|at| succeeded(responses, at));
        assert_eq!(outcomes(&[]), [true, true, true]);
        assert_eq!(outcomes(&[error(1)]), [true, false, false]);
        assert_eq!(outcomes(&[error(1), success(2)]), [true, false, true]);
        assert_eq!(outcomes(&[success(0), error(0)]), [true, false, false]);
    }
}
