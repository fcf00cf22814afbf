//! `StreamChanges`: streams that are numbered from zero again, and streams that are added (RFC
//! 6525).
//!
//! One request is outstanding at a time and is repeated with its number until it is answered. A
//! stream that this side resets takes no messages until then, so that the peer knows which message
//! is number 0.

use super::repeated::Repeated;
use super::timers::Unreachable;
use super::transfer::Transfer;
use base::{Context, Duration, Instant, PathId};
use std::collections::VecDeque;
use wire::sctp::{Chunk, Parameter, ReconfigResult, Request, Tsn};

/// Changes that wait at most.
const MAX_QUEUED: usize = 64;

/// A change of streams that one side asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamChange {
    /// Messages of these outbound streams, or of all if there are none, are numbered from zero
    /// again.
    ResetOutgoing(Vec<u16>),
    /// The same for inbound streams.
    ResetIncoming(Vec<u16>),
    /// That many outbound streams more.
    AddOutgoing(u16),
    /// That many inbound streams more.
    AddIncoming(u16),
    /// TSNs of both sides begin elsewhere, and messages of all streams in both directions are
    /// numbered from zero again.
    ResetAssociation,
}

/// RE-CONFIG in both directions.
#[derive(Clone, Debug)]
pub(super) struct StreamChanges {
    /// Both sides have RE-CONFIG.
    supported: bool,
    /// Number of the next request.
    next_request: u32,
    queued: VecDeque<Queued>,
    outstanding: Option<Outstanding>,
    /// Number that the peer's next request has.
    expected: u32,
    /// The answers to the last one and to the one before: a chunk has two requests at most (RFC
    /// 6525 s3.1, s5.2.1).
    cached: [Option<Outcome>; 2],
    /// The peer wants the association reset, for which this side must have sent all that it has: it
    /// takes no messages until then, or until the peer has not asked again for this time.
    yields_until: Option<Instant>,
}

/// The outcome of a request, and the next TSNs of this side and of the peer after an SSN/TSN reset.
type Outcome = (ReconfigResult, Option<(Tsn, Tsn)>);

#[derive(Clone, Debug)]
struct Queued {
    change: StreamChange,
    /// Number of the peer's request that it answers.
    answers: Option<u32>,
    /// Everything up to here must be acknowledged before: what the streams have sent.
    point: Option<Tsn>,
}

#[derive(Clone, Debug)]
struct Outstanding {
    change: StreamChange,
    number: u32,
    request: Request,
    path: PathId,
    timer: Repeated,
    /// The peer has answered that it is not ready: it lives.
    in_progress: bool,
}

impl StreamChanges {
    /// `own` and `peer`: first TSNs, which numbers of requests begin with.
    pub(super) const fn new(supported: bool, own: u32, peer: u32) -> StreamChanges {
        StreamChanges {
            supported,
            next_request: own,
            queued: VecDeque::new(),
            outstanding: None,
            expected: peer,
            cached: [None; 2],
            yields_until: None,
        }
    }

    /// Asks the peer for a change when its turn comes; returns whether the peer can be asked.
    pub(super) fn ask(&mut self, change: StreamChange) -> bool {
        let taken = self.supported && self.queued.len() < MAX_QUEUED;
        if taken {
            self.queued.push_back(Queued { change, answers: None, point: None });
        }
        taken
    }

    /// Whether a stream takes no messages now because it is being reset.
    pub(super) fn is_resetting(&self, stream: u16) -> bool {
        let outstanding = self.outstanding.iter().map(|outstanding| &outstanding.change);
        let mut changes = outstanding.chain(self.queued.iter().map(|queued| &queued.change));
        self.yields_until.is_some()
            || changes.any(|change| match change {
                StreamChange::ResetOutgoing(streams) => {
                    streams.is_empty() || streams.contains(&stream)
                }
                StreamChange::ResetAssociation => true,
                _ => false,
            })
    }

    /// When the request is repeated.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Instant {
        let never = Instant::FAR_FUTURE;
        let request =
            self.outstanding.as_ref().map_or(never, |outstanding| outstanding.timer.deadline);
        request.min(self.yields_until.unwrap_or(never))
    }

    /// Whether requests wait to be sent.
    #[inline]
    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Sends the next request if none is outstanding and its streams have nothing to send.
    #[inline]
    pub(super) fn poll(&mut self, cx: &Context<'_>, transfer: &mut Transfer) {
        if self.has_queued() {
            self.send_queued(cx, transfer);
        }
    }

    #[cold]
    fn send_queued(&mut self, cx: &Context<'_>, transfer: &mut Transfer) {
        if self.outstanding.is_some() {
            return;
        }
        let Some(next) = self.queued.front_mut() else { return };
        let must_be_acknowledged = match &next.change {
            StreamChange::ResetOutgoing(streams) => Some(&streams[..]),
            StreamChange::ResetAssociation => Some(&[][..]),
            _ => None,
        };
        if let Some(streams) = must_be_acknowledged
            && !is_acknowledged(transfer, streams, &mut next.point)
        {
            return;
        }
        let Some(Queued { change, answers, .. }) = self.queued.pop_front() else { return };
        let number = self.next_request;
        self.next_request = number.wrapping_add(1);
        let request = match &change {
            StreamChange::ResetOutgoing(streams) => Request::ResetOutgoing {
                request: number,
                // Without a request of the peer the number before its next one (RFC 6525 s4.1).
                response: answers.unwrap_or(self.expected.wrapping_sub(1)),
                last_tsn: transfer.sender.outstanding.highest_tsn(),
                streams: streams.clone().into(),
            },
            StreamChange::ResetIncoming(streams) => {
                Request::ResetIncoming { request: number, streams: streams.clone().into() }
            }
            StreamChange::AddOutgoing(count) => {
                Request::AddOutgoing { request: number, streams: *count }
            }
            StreamChange::AddIncoming(count) => {
                Request::AddIncoming { request: number, streams: *count }
            }
            StreamChange::ResetAssociation => Request::ResetAssociation { request: number },
        };
        let path = transfer.states.data_path().unwrap_or(PathId(0));
        transfer.receiver.set_deaf(change == StreamChange::ResetAssociation);
        transfer.control.push(path, to_chunk(&request));
        let timer = Repeated::new(cx.now, transfer.rto(path));
        let in_progress = false;
        self.outstanding = Some(Outstanding { change, number, request, path, timer, in_progress });
    }

    /// The timer may have expired: the request is repeated.
    ///
    /// # Errors
    /// If the peer is unreachable, or has not answered after all repetitions.
    pub(super) fn on_timeout(
        &mut self,
        cx: &mut Context<'_>,
        transfer: &mut Transfer,
    ) -> Result<(), Unreachable> {
        if self.yields_until.take_if(|until| *until <= cx.now).is_some() {
            transfer.sender.resume();
        }
        let expired = |outstanding: &&mut Outstanding| outstanding.timer.deadline <= cx.now;
        let Some(outstanding) = self.outstanding.as_mut().filter(expired) else { return Ok(()) };
        if !std::mem::take(&mut outstanding.in_progress) {
            transfer.on_control_timeout(cx, outstanding.path)?;
            let other = transfer.states.alternative(outstanding.path);
            outstanding.path = other.unwrap_or(outstanding.path);
            let (rto, max) = (transfer.rto(outstanding.path), transfer.config.parameters.rto.max);
            outstanding.timer.on_sent_again(cx.now, rto, max);
        } else {
            let rto = transfer.rto(outstanding.path);
            outstanding.timer = Repeated::new(cx.now, rto);
        }
        transfer.receiver.set_deaf(outstanding.change == StreamChange::ResetAssociation);
        transfer.control.push(outstanding.path, to_chunk(&outstanding.request));
        Ok(())
    }

    /// Data arrive: a peer that is not ready has not sent all that it has.
    #[inline]
    pub(super) fn on_data(&mut self, now: Instant, transfer: &Transfer) {
        if let Some(outstanding) = &mut self.outstanding
            && outstanding.in_progress
        {
            outstanding.timer.deadline = now + quiet_time(transfer, outstanding.path);
        }
    }

    /// RE-CONFIG arrives from `pair`.
    pub(super) fn on_chunk(
        &mut self,
        cx: &Context<'_>,
        transfer: &mut Transfer,
        pair: PathId,
        parameters: &[Parameter],
    ) {
        if !self.supported {
            return;
        }
        let mut answers = Vec::new();
        let mut in_progress = None;
        for parameter in parameters {
            let Parameter::Reconfig(request) = parameter else { continue };
            if let Request::Response { response, result, next_tsns } = request {
                self.on_response(cx, transfer, *response, (*result, *next_tsns));
            } else if in_progress == Some(number_of(request).wrapping_sub(1)) {
                // Requests are carried out in their order: this one waits, too.
                let (response, result) = (number_of(request), ReconfigResult::IN_PROGRESS);
                let answer = Request::Response { response, result, next_tsns: None };
                answers.push(Parameter::Reconfig(answer));
            } else if let Some((response, outcome)) = self.on_request(cx, transfer, request) {
                let (result, next_tsns) = outcome;
                let waits = result == ReconfigResult::IN_PROGRESS && response == self.expected;
                in_progress = waits.then_some(response);
                let answer = Request::Response { response, result, next_tsns };
                answers.push(Parameter::Reconfig(answer));
            }
        }
        if !answers.is_empty() {
            transfer.control.push(pair, Chunk::Reconfig(answers));
        }
    }

    /// The answer to the request that is outstanding.
    fn on_response(
        &mut self,
        cx: &Context<'_>,
        transfer: &mut Transfer,
        number: u32,
        (result, next_tsns): Outcome,
    ) {
        let is_ours = |outstanding: &mut Outstanding| outstanding.number == number;
        if self.outstanding.as_mut().is_some_and(is_ours) {
            transfer.receiver.set_deaf(false);
        }
        if result == ReconfigResult::IN_PROGRESS {
            if let Some(outstanding) = self.outstanding.as_mut().filter(|o| o.number == number) {
                outstanding.in_progress = true;
                outstanding.timer.deadline = cx.now + quiet_time(transfer, outstanding.path);
            }
            return;
        }
        let Some(Outstanding { change, .. }) = self.outstanding.take_if(is_ours) else { return };
        transfer.sender.resume();
        let performed = matches!(result, ReconfigResult::PERFORMED | ReconfigResult::NOTHING_TO_DO);
        match change {
            StreamChange::ResetOutgoing(streams) if performed => {
                transfer.sender.streams.reset(&streams);
            }
            StreamChange::AddOutgoing(count) if performed => {
                transfer.sender.streams.add_streams(count);
            }
            StreamChange::ResetAssociation if performed => {
                if let Some((of_peer, own)) = next_tsns {
                    transfer.receiver.begin_at(of_peer);
                    transfer.renumber(cx.now, own);
                }
            }
            _ => {}
        }
    }

    /// A request of the peer: its number and the answer, unless a request answers it.
    fn on_request(
        &mut self,
        cx: &Context<'_>,
        transfer: &mut Transfer,
        request: &Request,
    ) -> Option<(u32, Outcome)> {
        let number = number_of(request);
        let age = self.expected.wrapping_sub(number).wrapping_sub(1) as usize;
        if let Some(cached) = self.cached.get(age).copied().flatten() {
            return Some((number, cached));
        }
        if number != self.expected {
            return Some((number, (ReconfigResult::BAD_SEQUENCE_NUMBER, None)));
        }
        let (result, next_tsns) = match request {
            Request::ResetAssociation { .. } => self.reset_association(cx, transfer),
            _ => (self.carry_out(transfer, request), None),
        };
        // What is in progress is asked for again with the same number.
        let waits = result == ReconfigResult::IN_PROGRESS;
        let is_incoming = matches!(request, Request::ResetIncoming { .. });
        if waits && !is_incoming {
            return Some((number, (result, None)));
        }
        self.expected = number.wrapping_add(1);
        self.cached = [Some((result, next_tsns)), self.cached[0]];
        (!waits).then_some((number, (result, next_tsns)))
    }

    /// SSN/TSN Reset Request (RFC 6525 s5.2.4). All data of both sides must have arrived: otherwise
    /// what this side has sent would be lost.
    fn reset_association(&mut self, cx: &Context<'_>, transfer: &mut Transfer) -> Outcome {
        let has_own = self.outstanding.is_some() || !self.queued.is_empty();
        if has_own {
            return (ReconfigResult::ALREADY_IN_PROGRESS, None);
        }
        if !transfer.sender.is_empty() || !transfer.receiver.is_complete() {
            self.yields_until = Some(cx.now + transfer.config.parameters.rto.max);
            return (ReconfigResult::IN_PROGRESS, None);
        }
        if self.yields_until.take().is_some() {
            transfer.sender.resume();
        }
        let own = transfer.sender.outstanding.next_tsn();
        let of_peer = transfer.receiver.renumber();
        transfer.renumber(cx.now, own);
        (ReconfigResult::PERFORMED, Some((own, of_peer)))
    }

    fn carry_out(&mut self, transfer: &mut Transfer, request: &Request) -> ReconfigResult {
        let inbound = transfer.receiver.streams().streams();
        let outbound = transfer.sender.streams.streams();
        match request {
            Request::ResetOutgoing { response, last_tsn, streams, .. } => {
                if streams.iter().any(|stream| *stream >= inbound) {
                    return ReconfigResult::WRONG_SSN;
                }
                if *last_tsn > transfer.receiver.cum_tsn() {
                    return ReconfigResult::IN_PROGRESS;
                }
                transfer.receiver.reset_streams(streams);
                // It may be what this side has asked for.
                let asked = |outstanding: &mut Outstanding| {
                    outstanding.number == *response
                        && matches!(outstanding.change, StreamChange::ResetIncoming(_))
                };
                self.outstanding.take_if(asked);
                ReconfigResult::PERFORMED
            }
            Request::ResetIncoming { request, streams } => {
                if streams.iter().any(|stream| *stream >= outbound) {
                    return ReconfigResult::WRONG_SSN;
                }
                if self.queued.len() >= MAX_QUEUED {
                    return ReconfigResult::DENIED;
                }
                let change = StreamChange::ResetOutgoing(streams.to_vec());
                self.queued.push_back(Queued { change, answers: Some(*request), point: None });
                ReconfigResult::IN_PROGRESS
            }
            Request::AddOutgoing { streams, .. } => {
                match inbound.checked_add(*streams).filter(|sum| *sum < u16::MAX) {
                    Some(_) => {
                        transfer.receiver.add_streams(*streams);
                        // It may be what this side has asked for: it has no number of that request,
                        // and a peer that sends it need not answer otherwise (RFC 6525 s5.2.6).
                        let asked = |outstanding: &mut Outstanding| {
                            outstanding.change == StreamChange::AddIncoming(*streams)
                        };
                        self.outstanding.take_if(asked);
                        ReconfigResult::PERFORMED
                    }
                    None => ReconfigResult::DENIED,
                }
            }
            Request::AddIncoming { streams, .. } => {
                let fits = outbound.checked_add(*streams).is_some_and(|sum| sum < u16::MAX);
                match fits && self.ask(StreamChange::AddOutgoing(*streams)) {
                    true => ReconfigResult::PERFORMED,
                    false => ReconfigResult::DENIED,
                }
            }
            Request::ResetAssociation { .. } | Request::Response { .. } => ReconfigResult::DENIED,
        }
    }
}

/// Whether everything of these streams is acknowledged. `point`: the highest TSN when they had
/// nothing more to send.
fn is_acknowledged(transfer: &Transfer, streams: &[u16], point: &mut Option<Tsn>) -> bool {
    let sender = &transfer.sender;
    let idle = match streams {
        [] => sender.unsent_bytes() == 0,
        some => some.iter().all(|stream| sender.is_stream_idle(*stream)),
    };
    if !idle {
        *point = None;
        return false;
    }
    let point = *point.get_or_insert(sender.outstanding.highest_tsn());
    sender.outstanding.cum_tsn() >= point
}

/// Time without data after which a peer that was not ready is asked again: longer than its T3-rtx,
/// whose retransmissions would otherwise always meet a receiver that drops them.
fn quiet_time(transfer: &Transfer, path: PathId) -> Duration {
    transfer.rto(path) * 2
}

fn to_chunk(request: &Request) -> Chunk {
    Chunk::Reconfig(vec![Parameter::Reconfig(request.clone())])
}

const fn number_of(request: &Request) -> u32 {
    match request {
        Request::ResetOutgoing { request, .. }
        | Request::ResetIncoming { request, .. }
        | Request::ResetAssociation { request }
        | Request::Response { response: request, .. }
        | Request::AddOutgoing { request, .. }
        | Request::AddIncoming { request, .. } => *request,
    }
}
