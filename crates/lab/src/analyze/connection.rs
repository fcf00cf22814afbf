//! `Connections`: sorts segments to subflows and subflows to connections.
//!
//! An `MP_JOIN` names its connection by the token of the receiver's key (RFC 8684 s3.2), so keys
//! must have been seen. Leaves sequence spaces to `half` and `data`.

use super::capture::Segment;
use super::data::{Data, Mappings};
use super::flow::{Flow, Side};
use super::origin::Origins;
use super::{Connection, Sending, SentAt, Sequence, Spoken, Subflow};
use base::Instant;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use transport::Protocol;
use wire::Flags;
use wire::mptcp::{Capable, CapableForm, Join, Key, Mapping, Token};

/// State of the analysis.
#[derive(Debug, Default)]
pub(super) struct Connections {
    origins: Origins,
    flows: Vec<Flow>,
    /// The newest flow between two ends, the lower one first.
    newest: BTreeMap<(SocketAddr, SocketAddr), usize>,
    connections: Vec<Opened>,
    /// Connection and side of every known token.
    tokens: BTreeMap<Token, (usize, usize)>,
    /// Whether sequences are recorded.
    sequences: bool,
}

#[derive(Debug)]
struct Opened {
    spoken: Spoken,
    /// The client offered MPTCP.
    offered: bool,
    /// A subflow joined that names a connection whose keys were not seen.
    unmatched: bool,
    /// Number of subflows that joined.
    joins: usize,
    /// Data sent by each side.
    data: [Data; 2],
    /// When they sent it, with indices and times of the capture.
    sequences: [Sequence; 2],
}

impl Default for Opened {
    fn default() -> Self {
        let data = Default::default();
        Opened {
            spoken: Spoken::Of(Protocol::Tcp),
            offered: false,
            unmatched: false,
            joins: 0,
            data,
            sequences: Default::default(),
        }
    }
}

impl Connections {
    /// Creates the state for segments with these `origins`; `sequences`: records when they were
    /// sent.
    pub(super) fn new(origins: Origins, sequences: bool) -> Connections {
        Connections { origins, sequences, ..Connections::default() }
    }

    /// Processes the next segment in time order.
    pub(super) fn segment(&mut self, segment: &Segment) {
        let index = self.flow_of(segment);
        self.turn(index, segment);
        self.flows[index].note(segment);
        let end = self.flows[index].sender(segment);
        self.flows[index].sides[end].half.begin(segment, || self.origins.before(segment));
        self.on_handshake(index, segment);
        if segment.flags.contains(Flags::SYN) {
            self.on_early_data(index, segment);
        }
        self.on_mapping(index, segment);
        self.on_data(index, end, segment);
        if segment.flags.contains(Flags::ACK) {
            self.flows[index].sides[1 - end].half.acked(segment);
            self.on_data_ack(index, end, segment);
        }
        for end in [0, 1] {
            self.release(index, end, segment.time);
        }
    }

    /// The segment's flow; a new one if it is a SYN with another initial number.
    fn flow_of(&mut self, segment: &Segment) -> usize {
        let key = (segment.src.min(segment.dst), segment.src.max(segment.dst));
        let opens = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        let known = self.newest.get(&key).copied().filter(|index| {
            let flow = &self.flows[*index];
            let half = &flow.sides[flow.sender(segment)].half;
            !(opens && half.is_other_connection(segment.seq))
        });
        known.unwrap_or_else(|| {
            let (flow, connection) = (self.flows.len(), self.connections.len());
            let mut new = Flow::new(segment, connection);
            new.sides.iter_mut().for_each(|side| side.mappings.kept = self.sequences);
            self.flows.push(new);
            self.connections.push(Opened::default());
            self.newest.insert(key, flow);
            flow
        })
    }

    /// The sender of an MP_CAPABLE with both keys is the client (RFC 8684 s3.1): turns a flow whose
    /// SYNs are not in the capture, if the other end was assumed to be it.
    fn turn(&mut self, index: usize, segment: &Segment) {
        let has_both_keys = matches!(
            segment.options.mptcp.capable(),
            Some(Capable::V1 { form: CapableForm::Ack { .. } | CapableForm::Data { .. }, .. })
        );
        let flow = &mut self.flows[index];
        if has_both_keys && flow.sender(segment) == 1 && flow.turn() {
            let opened = &mut self.connections[flow.connection];
            opened.data.swap(0, 1);
            opened.sequences.swap(0, 1);
        }
    }

    fn on_handshake(&mut self, index: usize, segment: &Segment) {
        let syn = segment.flags.contains(Flags::SYN);
        let answers = syn && segment.flags.contains(Flags::ACK);
        let connection = self.flows[index].connection;
        let opened = &mut self.connections[connection];
        match segment.options.mptcp.capable() {
            Some(Capable::V1 { form, .. }) => self.on_keys(index, form),
            Some(Capable::Unsupported { version }) => {
                opened.spoken = Spoken::OtherVersion(version);
            }
            None if answers && opened.offered && opened.spoken == Spoken::Of(Protocol::Tcp) => {
                opened.spoken = Spoken::FellBack;
            }
            None => {}
        }
        match segment.options.mptcp.join() {
            Some(Join::Syn { token, backup, .. }) => self.join(index, token, backup),
            Some(Join::SynAck { backup, .. }) => self.flows[index].backup |= backup,
            _ => {}
        }
    }

    /// Data of the SYN (TCP Fast Open) come before those that mappings number (RFC 8684 appendix
    /// B), as far as the SYN-ACK acknowledges them.
    fn on_early_data(&mut self, index: usize, segment: &Segment) {
        let flow = &mut self.flows[index];
        let sender = flow.sender(segment);
        let (end, len) = match segment.flags.contains(Flags::ACK) {
            false if is_offer(segment) => (sender, segment.len),
            true if flow.sides[1 - sender].early > 0 => {
                let acked = flow.sides[1 - sender].half.position(segment.ack).unwrap_or(0);
                (1 - sender, flow.sides[1 - sender].early.min(acked.saturating_sub(1)))
            }
            _ => return,
        };
        if len != flow.sides[end].early {
            flow.sides[end].early = len;
            flow.sides[end].mappings.set_early(len);
            let side = flow.side_of(end);
            self.connections[flow.connection].data[side].early = len;
        }
    }

    fn on_keys(&mut self, index: usize, form: CapableForm) {
        let connection = self.flows[index].connection;
        match form {
            CapableForm::Syn => self.connections[connection].offered = true,
            CapableForm::SynAck { sender } => {
                self.connections[connection].spoken = Spoken::Of(Protocol::Mptcp);
                self.learn(connection, 1, sender);
            }
            CapableForm::Ack { sender, receiver } => {
                self.learn(connection, 0, sender);
                self.learn(connection, 1, receiver);
            }
            CapableForm::Data { sender, receiver, len, .. } => {
                self.learn(connection, 0, sender);
                self.learn(connection, 1, receiver);
                let Side { mappings, early, .. } = &mut self.flows[index].sides[0];
                mappings.add(1 + *early, len.into(), *early);
            }
        }
    }

    fn learn(&mut self, connection: usize, side: usize, key: Key) {
        let (token, initial) = key.derive();
        self.tokens.insert(token, (connection, side));
        let opened = &mut self.connections[connection];
        opened.data[side].begin(initial);
        if opened.spoken == Spoken::Of(Protocol::Tcp) {
            opened.spoken = Spoken::Of(Protocol::Mptcp);
        }
    }

    /// The flow's opener joins the connection whose other side has this token.
    fn join(&mut self, index: usize, token: Token, backup: bool) {
        let flow = &mut self.flows[index];
        flow.backup = backup;
        match self.tokens.get(&token) {
            Some(&(connection, joined)) => {
                flow.connection = connection;
                flow.flipped = joined == 0;
                self.connections[connection].joins += 1;
            }
            None => {
                let own = &mut self.connections[flow.connection];
                (own.spoken, own.unmatched) = (Spoken::Of(Protocol::Mptcp), true);
            }
        }
    }

    fn on_mapping(&mut self, index: usize, segment: &Segment) {
        let Some(dss) = segment.options.mptcp.dss else { return };
        let (end, flow) = (self.flows[index].sender(segment), &mut self.flows[index]);
        let opened = &mut self.connections[flow.connection];
        if opened.spoken == Spoken::Of(Protocol::Tcp) {
            // The capture began after the handshake.
            (opened.spoken, opened.unmatched) = (Spoken::Of(Protocol::Mptcp), true);
        }
        let Some(mapping) = dss.mapping() else { return };
        let side = flow.side_of(end);
        let Some(data) = opened.data[side].position(mapping.dsn) else { return };
        let bytes = u64::from(mapping.len) - u64::from(dss.fin() && mapping.len > 0);
        if mapping.is_infinite() {
            opened.spoken = Spoken::FellBack;
            let from = subflow_position(flow, end, segment, &mapping);
            // A mapping of the whole sequence space of a subflow.
            flow.sides[end].mappings.add(from, u64::MAX / 4, data);
        } else if bytes > 0 {
            let from = subflow_position(flow, end, segment, &mapping);
            flow.sides[end].mappings.add(from, bytes, data);
        }
    }

    fn on_data(&mut self, index: usize, end: usize, segment: &Segment) {
        let flow = &mut self.flows[index];
        let opened = &mut self.connections[flow.connection];
        let side = flow.side_of(end);
        let carrier = &mut flow.sides[end];
        if carrier.half.is_keep_alive(segment) {
            return;
        }
        let (range, resent) = (carrier.half.range(segment), carrier.half.resent_segments);
        let new = carrier.half.sent(segment);
        if let Some(first) = new.first() {
            let is_next = carrier.half.is_next(first.start);
            opened.on_unmapped(segment, first.start, is_next, &mut carrier.mappings);
        }
        let (reinjected, first) = (carrier.reinjected_bytes, carrier.first_bytes);
        for range in new {
            for (part, at) in carrier.mappings.map(range) {
                let len = part.end - part.start;
                let first = opened.data[side].seen(at..at + len);
                carrier.first_bytes += first;
                carrier.reinjected_bytes += len - first;
            }
        }
        if !self.sequences {
            return;
        }
        let kind = if carrier.reinjected_bytes > reinjected {
            Sending::Reinjection
        } else if carrier.half.resent_segments > resent {
            Sending::Retransmission
        } else {
            Sending::New
        };
        let part = range.and_then(|range| carrier.mappings.map(range).into_iter().next());
        if let Some((_, position)) = part {
            let time = (segment.time - Instant::ZERO).as_secs_f64();
            let (len, fresh) = (segment.len, carrier.first_bytes - first);
            let sent = SentAt { time, subflow: index, position, len, fresh, kind };
            opened.sequences[side].sent.push(sent);
        }
    }

    fn on_data_ack(&mut self, index: usize, end: usize, segment: &Segment) {
        let flow = &self.flows[index];
        let other = flow.side_of(1 - end);
        let ack = segment.options.mptcp.dss.and_then(|dss| dss.ack());
        let Opened { data, sequences, .. } = &mut self.connections[flow.connection];
        let data = &mut data[other];
        let position = match ack {
            Some(ack) => data.position(ack),
            None if flow.sides[1 - end].mappings.is_plain() => {
                flow.sides[1 - end].half.position(segment.ack).and_then(|at| at.checked_sub(1))
            }
            None => None,
        };
        if let Some(position) = position {
            data.acknowledged(position);
            let line = &mut sequences[other].acknowledged;
            if self.sequences && line.last().is_none_or(|(_, last)| *last < position) {
                line.push(((segment.time - Instant::ZERO).as_secs_f64(), position));
            }
        }
    }

    /// Passes in-order bytes from the subflow to the connection and to the reader.
    fn release(&mut self, index: usize, end: usize, now: Instant) {
        let flow = &mut self.flows[index];
        let (connection, side) = (flow.connection, flow.side_of(end));
        let data = &mut self.connections[connection].data[side];
        let carrier = &mut flow.sides[end];
        let mut in_order = None;
        while let Some((start, piece)) = carrier.half.next_in_order() {
            for (part, at) in carrier.mappings.map(start..piece.end) {
                data.arrived(at, part.end - part.start, piece.arrival, index);
            }
            in_order = Some(piece.end);
        }
        if let Some(in_order) = in_order {
            carrier.mappings.forget_below(in_order);
        }
        while let Some(released) = data.next_in_order(now) {
            let flow = &mut self.flows[released.subflow];
            let end = flow.side_of(side);
            flow.sides[end].waited.push(released.waited);
        }
    }

    /// The results, in the order in which connections begin.
    pub(super) fn finish(
        &self,
        start: Instant,
        names: &[String],
        notes: &mut Vec<String>,
    ) -> Vec<Connection> {
        let mut flows: Vec<Vec<&Flow>> = vec![Vec::new(); self.connections.len()];
        let mut places = Vec::new();
        for flow in &self.flows {
            places.push(flows[flow.connection].len());
            flows[flow.connection].push(flow);
        }
        let unmatched = self.connections.iter().filter(|opened| opened.unmatched).count();
        if unmatched > 0 {
            notes.push(format!(
                "{unmatched} subflow{} of connections whose keys are not in the capture, or of \
                 another version of MPTCP: shown as separate connections",
                if unmatched == 1 { "" } else { "s" }
            ));
        }
        let opened = self.connections.iter().zip(flows);
        let finish = |(opened, flows): (&Opened, Vec<&Flow>)| {
            let mut connection = opened.finish(&flows, start, names)?;
            let zero = (start - Instant::ZERO).as_secs_f64();
            for sequence in &mut connection.sequences {
                for sent in &mut sequence.sent {
                    (sent.time, sent.subflow) = (sent.time - zero, places[sent.subflow]);
                }
                sequence.acknowledged.iter_mut().for_each(|(time, _)| *time -= zero);
            }
            Some(connection)
        };
        opened.filter_map(finish).collect()
    }
}

/// Whether a SYN offers MPTCP in a supported version.
fn is_offer(segment: &Segment) -> bool {
    matches!(segment.options.mptcp.capable(), Some(Capable::V1 { form: CapableForm::Syn, .. }))
}

/// Begin of a mapping in its subflow. Numbers are relative to the SYN (RFC 8684 s3.3.1).
fn subflow_position(flow: &Flow, end: usize, segment: &Segment, mapping: &Mapping) -> u64 {
    let Side { half, early, .. } = &flow.sides[end];
    let position = half.position(segment.seq).unwrap_or(1).saturating_sub(*early);
    wire::mptcp::nearest(mapping.subflow_seq, position) + early
}

impl Opened {
    /// Data without a mapping make a connection TCP (RFC 8684 s3.7): those before any mapping, and
    /// those behind the last one, from `start`, which are the next in order (`is_next`), so that
    /// no mapping of theirs can be missing. Linux sends no infinite mapping then.
    fn on_unmapped(
        &mut self,
        segment: &Segment,
        start: u64,
        is_next: bool,
        mappings: &mut Mappings,
    ) {
        let is_matched = self.spoken == Spoken::Of(Protocol::Mptcp) && !self.unmatched;
        if mappings.is_empty() {
            if is_matched {
                self.spoken = Spoken::FellBack;
            }
            mappings.become_plain();
        } else if self.joins == 0 && !mappings.covers(start) {
            let behind = is_next && mappings.covers(start.saturating_sub(1));
            if is_matched && behind && segment.options.mptcp.dss.is_none() {
                self.spoken = Spoken::FellBack;
            }
            // TCP as far as known, after data of a SYN that offered MPTCP.
            if matches!(self.spoken, Spoken::FellBack | Spoken::Of(Protocol::Tcp)) {
                // Only with equal positions in the subflow and the connection.
                mappings.become_plain();
            }
        }
    }

    /// Result of a connection; `None` if it has no flow.
    fn finish(&self, flows: &[&Flow], start: Instant, names: &[String]) -> Option<Connection> {
        let (first, vantage) = (*flows.first()?, flows.first()?.vantage());
        let last = flows.iter().map(|flow| flow.last).max()?;
        let side = |flow: &Flow, side: usize| flow.sides[flow.side_of(side)].first_bytes;
        let total = [0, 1].map(|of| flows.iter().map(|flow| side(flow, of)).sum::<u64>());
        let subflow = |flow: &&Flow| Subflow {
            path: flow
                .interface
                .and_then(|index| names.get(index))
                .filter(|n| !n.is_empty())
                .cloned(),
            client: flow.ends[flow.side_of(0)],
            server: flow.ends[flow.side_of(1)],
            opened_by_server: flow.flipped,
            established: flow.is_established(),
            handshake_rtt: flow.handshake_rtt(vantage),
            backup: flow.backup,
            reset: flow.reset,
            up: flow.flowing(0, vantage, total[0]),
            down: flow.flowing(1, vantage, total[1]),
        };
        let missed =
            |flow: &&Flow| flow.sides.iter().map(|side| side.half.missed_bytes()).sum::<u64>();
        Some(Connection {
            spoken: self.spoken,
            is_matched: !self.unmatched,
            client: first.ends[first.side_of(0)],
            server: first.ends[first.side_of(1)],
            vantage,
            start: (first.first - start).as_secs_f64(),
            duration: (last - first.first).as_secs_f64(),
            subflows: flows.iter().map(subflow).collect(),
            missed_bytes: flows.iter().map(missed).sum(),
            sequences: self.sequences.clone(),
            sctp: None,
        })
    }
}
