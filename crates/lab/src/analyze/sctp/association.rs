//! `Opened`: one association of the capture: handshake, addresses, paths, end.
//!
//! Side 0 sent the first INIT; without the handshake in the capture it is the end with the higher
//! port. A path is a pair of addresses, whichever of them sends.

use super::Unit;
use super::half::{Half, Place};
use super::result::{
    Address, AddressChange, Association, Change, End, Known, PathUse, Sent, State,
};
use super::streams::{Number, Piece};
use super::words::cause_name;
use crate::analyze::{Connection, Distribution, SentAt, Sequence, Spoken, Subflow, Vantage};
use base::Instant;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use transport::Protocol;
use wire::sctp::{
    Asconf, AsconfAck, Cause, Chunk, Data, GapBlock, IData, Init, Parameter, Request, Tsn,
};

/// State of one association.
#[derive(Debug)]
pub(super) struct Opened {
    pub ports: [u16; 2],
    pub addresses: [Vec<Address>; 2],
    /// Tag of the packets sent to each side.
    pub tags: [Option<u32>; 2],
    pub initiated: bool,
    pub state: State,
    pub end: End,
    pub wrong_tags: u64,
    first_addresses: [IpAddr; 2],
    handshake: [Option<Instant>; 3],
    first: Instant,
    last: Instant,
    paths: Vec<Path>,
    by_addresses: BTreeMap<[IpAddr; 2], usize>,
    halves: [Half; 2],
    sequences: Option<[Sequence; 2]>,
    /// Heartbeats without answer, by their side and content.
    heartbeats: BTreeMap<(usize, Vec<u8>), (Instant, usize)>,
    changes: Vec<Requested>,
    /// Places of the requests of an ASCONF among the changes, by its side and serial number.
    asked: BTreeMap<(usize, u32), Range<usize>>,
    errors: [BTreeMap<String, u64>; 2],
    malformed_chunks: u64,
    udp: Option<[u16; 2]>,
}

/// A path in both directions.
#[derive(Debug, Default)]
struct Path {
    ends: Option<[IpAddr; 2]>,
    interface: Option<usize>,
    several_interfaces: bool,
    /// A heartbeat was answered, or the handshake took place here. Data need this, too (RFC 9260
    /// s5.4), even if the capture lacks it.
    verified: bool,
    uses: [PathUse; 2],
    heartbeat_rtt: [Vec<f64>; 2],
}

/// A request of an ASCONF, until it is answered.
#[derive(Debug)]
struct Requested {
    correlation: u32,
    change: AddressChange,
}

impl Opened {
    /// The association that a packet begins; `sender` is the side that sent it.
    pub(super) fn new(unit: &Unit, sender: usize, sequences: bool) -> Opened {
        let (ports, ips) = ([unit.packet.src_port, unit.packet.dst_port], [unit.src, unit.dst]);
        let in_order = |pair: [u16; 2]| [pair[sender], pair[1 - sender]];
        Opened {
            ports: in_order(ports),
            addresses: Default::default(),
            tags: [None; 2],
            initiated: false,
            state: State::CookieWait,
            end: End::Running,
            wrong_tags: 0,
            first_addresses: [ips[sender], ips[1 - sender]],
            handshake: [None; 3],
            first: unit.time,
            last: unit.time,
            paths: Vec::new(),
            by_addresses: BTreeMap::new(),
            halves: Default::default(),
            sequences: sequences.then(Default::default),
            heartbeats: BTreeMap::new(),
            changes: Vec::new(),
            asked: BTreeMap::new(),
            errors: Default::default(),
            malformed_chunks: 0,
            udp: None,
        }
    }

    /// Processes a packet of this association that `sender` sent.
    pub(super) fn packet(&mut self, unit: &Unit, sender: usize) {
        self.last = unit.time;
        let path = self.path_of(unit, sender);
        self.paths[path].uses[sender].packets += 1;
        if let Some(ports) = unit.packet.udp {
            let ports = [ports.src, ports.dst];
            self.udp = Some([ports[sender], ports[1 - sender]]);
        }
        for chunk in &unit.packet.chunks {
            self.chunk(chunk, sender, path, unit);
        }
        if !self.initiated {
            self.state = self.state.max(State::Established);
        }
    }

    fn path_of(&mut self, unit: &Unit, sender: usize) -> usize {
        let ips = [unit.src, unit.dst];
        let ends = [ips[sender], ips[1 - sender]];
        self.know(0, ends[0], Known::Packet);
        self.know(1, ends[1], Known::Packet);
        let paths = &mut self.paths;
        let path = *self.by_addresses.entry(ends).or_insert_with(|| {
            let interface = Some(unit.interface);
            paths.push(Path { ends: Some(ends), interface, ..Path::default() });
            paths.len() - 1
        });
        if paths[path].interface != Some(unit.interface) {
            paths[path].several_interfaces = true;
        }
        path
    }

    /// Adds an address of a side, or tells more of a known one.
    fn know(&mut self, side: usize, address: IpAddr, from: Known) {
        let list = &mut self.addresses[side];
        let full = list.len() >= MOST_ADDRESSES;
        match list.iter_mut().find(|known| known.address == address) {
            Some(known) if from != Known::Packet => {
                known.removed = false;
                if known.from == Known::Packet {
                    known.from = from;
                }
            }
            Some(_) => {}
            None if full => {}
            None => list.push(Address { address, from, removed: false }),
        }
    }

    fn chunk(&mut self, chunk: &Chunk, sender: usize, path: usize, unit: &Unit) {
        let now = unit.time;
        match chunk {
            Chunk::Data(data) => self.data(sender, path, now, &of_data(data)),
            Chunk::IData(data) => self.data(sender, path, now, &of_i_data(data)),
            Chunk::Sack(sack) => {
                let (blocks, duplicates) = (sack.gaps.len(), sack.duplicates.len());
                self.halves[1 - sender].count_sack(sack.a_rwnd, blocks, duplicates, false);
                self.acknowledged(1 - sender, sack.cum_tsn, &[&sack.gaps], now);
            }
            Chunk::NrSack(sack) => {
                let blocks = sack.gaps().len() + sack.nr_gaps.len();
                let duplicates = sack.duplicates().len();
                self.halves[1 - sender].count_sack(sack.a_rwnd, blocks, duplicates, true);
                let lists: [&[_]; 2] = [sack.gaps(), &sack.nr_gaps];
                self.acknowledged(1 - sender, sack.cum_tsn, &lists, now);
            }
            Chunk::Heartbeat(list) => self.heartbeat(sender, path, list, now),
            Chunk::HeartbeatAck(list) => self.heartbeat_ack(sender, list, now),
            Chunk::Asconf(asconf) => self.asconf(sender, asconf, unit),
            Chunk::AsconfAck(ack) => self.asconf_ack(sender, ack),
            Chunk::ForwardTsn(forward) => {
                for (stream, ssn) in &forward.streams {
                    let number = Number::Ssn(ssn.0);
                    self.skip_message(sender, *stream, false, number, now);
                }
                self.skip(sender, forward.new_cum_tsn, now);
            }
            Chunk::IForwardTsn(forward) => {
                for skipped in &forward.streams {
                    let number = Number::Mid(skipped.mid.0, 0);
                    self.skip_message(sender, skipped.stream, skipped.unordered, number, now);
                }
                self.skip(sender, forward.new_cum_tsn, now);
            }
            Chunk::Reconfig(list) => self.reconfigure(sender, list),
            Chunk::Error(causes) => self.error(sender, causes),
            Chunk::Malformed(_) => self.malformed_chunks += 1,
            _ => self.control(chunk, sender, path, unit),
        }
    }

    /// Chunks that change the state of the association.
    fn control(&mut self, chunk: &Chunk, sender: usize, path: usize, unit: &Unit) {
        let reached = match chunk {
            Chunk::Init(init) => {
                self.initiated = true;
                self.handshake[0] = Some(unit.time);
                self.offer(sender, init, unit);
                State::CookieWait
            }
            Chunk::InitAck(init) => {
                self.handshake[1] = Some(unit.time);
                self.offer(sender, init, unit);
                State::CookieWait
            }
            Chunk::CookieEcho(_) => {
                self.handshake[2].get_or_insert(unit.time);
                self.paths[path].verified = true;
                State::CookieEchoed
            }
            Chunk::CookieAck => State::Established,
            Chunk::Shutdown { cum_tsn } => {
                self.acknowledged(1 - sender, *cum_tsn, &[], unit.time);
                if self.end == End::Running {
                    self.end = End::Shutdown(Some(sender));
                }
                State::ShutdownSent
            }
            Chunk::ShutdownAck => State::ShutdownAckSent,
            Chunk::ShutdownComplete { .. } => {
                if self.end == End::Running {
                    self.end = End::Shutdown(None);
                }
                State::Closed
            }
            Chunk::Abort { causes, .. } => {
                if !matches!(self.end, End::Abort(..)) && self.state != State::Closed {
                    self.end = End::Abort(sender, causes.iter().map(cause_name).collect());
                }
                return;
            }
            _ => return,
        };
        self.state = self.state.max(reached);
    }

    /// What an INIT or INIT ACK offers.
    fn offer(&mut self, sender: usize, init: &Init, unit: &Unit) {
        // A later INIT ACK may have another tag; that of the last one is used or replaced.
        self.tags[sender] = Some(init.tag.0);
        self.halves[sender].begin(init.initial_tsn);
        self.know(sender, unit.src, Known::Init);
        for parameter in init.admitted().parameters {
            if let Parameter::Address(address) = parameter {
                self.know(sender, *address, Known::Init);
            }
        }
    }

    fn data(&mut self, sender: usize, path: usize, now: Instant, chunk: &DataChunk) {
        let half = &mut self.halves[sender];
        let Some(counted) = half.chunk(chunk.tsn, chunk.piece.len, path, now) else { return };
        if counted.new {
            let piece = Piece { position: counted.position, ..chunk.piece };
            let whole = half.whole;
            let released = half.streams.arrived(piece, path, now, whole);
            half.waited(&released);
        }
        if let Some(sequences) = &mut self.sequences {
            sequences[sender].sent.push(SentAt {
                time: seconds(now),
                subflow: path,
                position: counted.position,
                len: chunk.piece.len,
                fresh: if counted.new { chunk.piece.len } else { 0 },
                kind: counted.kind,
            });
        }
    }

    fn acknowledged(&mut self, side: usize, cumulative: Tsn, lists: &[&[GapBlock]], now: Instant) {
        self.state = self.state.max(State::Established);
        let half = &mut self.halves[side];
        let blocks = lists.iter().flat_map(|list| list.iter());
        let (released, advanced) = half.acknowledge(cumulative, blocks, now);
        half.waited(&released);
        if let Some(sequences) = self.sequences.as_mut().filter(|_| advanced) {
            sequences[side].acknowledged.push((seconds(now), half.acknowledged));
        }
    }

    fn skip(&mut self, side: usize, cumulative: Tsn, now: Instant) {
        let released = self.halves[side].skip(cumulative, now);
        self.halves[side].waited(&released);
    }

    fn skip_message(
        &mut self,
        side: usize,
        stream: u16,
        unordered: bool,
        last: Number,
        now: Instant,
    ) {
        let released = self.halves[side].streams.skip(stream, unordered, last, now);
        self.halves[side].waited(&released);
    }

    fn reconfigure(&mut self, sender: usize, list: &[Parameter]) {
        for parameter in list {
            match parameter {
                Parameter::Reconfig(Request::ResetOutgoing { streams, .. }) => {
                    self.halves[sender].streams.reset(streams);
                }
                Parameter::Reconfig(Request::ResetAssociation { .. }) => {
                    self.halves.iter_mut().for_each(|half| half.streams.reset(&[]));
                }
                _ => {}
            }
        }
    }

    fn heartbeat(&mut self, sender: usize, path: usize, list: &[Parameter], now: Instant) {
        self.paths[path].uses[sender].heartbeats += 1;
        if let Some(Parameter::HeartbeatInfo(info)) = list.first() {
            self.heartbeats.insert((sender, info.to_vec()), (now, path));
        }
    }

    fn heartbeat_ack(&mut self, sender: usize, list: &[Parameter], now: Instant) {
        let Some(Parameter::HeartbeatInfo(info)) = list.first() else { return };
        if let Some((sent, path)) = self.heartbeats.remove(&(1 - sender, info.to_vec())) {
            let path = &mut self.paths[path];
            path.verified = true;
            path.uses[1 - sender].answered += 1;
            path.heartbeat_rtt[1 - sender].push((now - sent).as_secs_f64());
        }
    }

    fn asconf(&mut self, sender: usize, asconf: &Asconf, unit: &Unit) {
        // The same chunk may come again.
        if self.asked.contains_key(&(sender, asconf.serial)) {
            return;
        }
        let first = self.changes.len();
        for parameter in &asconf.requests {
            let (what, request) = match parameter {
                Parameter::AddAddress(request) => (Change::Add, request),
                Parameter::DeleteAddress(request) => (Change::Delete, request),
                Parameter::SetPrimary(request) => (Change::SetPrimary, request),
                _ => continue,
            };
            // A wildcard is the source of the packet (RFC 5061 s4.2.1).
            let wildcard = request.address.is_unspecified() && what != Change::Delete;
            let address = if wildcard { unit.src } else { request.address };
            let (time, side) = (seconds(unit.time), sender);
            let change = AddressChange { time, side, what, address, answer: None };
            self.changes.push(Requested { correlation: request.correlation, change });
        }
        self.asked.insert((sender, asconf.serial), first..self.changes.len());
    }

    fn asconf_ack(&mut self, sender: usize, ack: &AsconfAck) {
        let side = 1 - sender;
        let Some(asked) = self.asked.get(&(side, ack.serial)) else { return };
        let refusal = |response: &Parameter| match response {
            Parameter::ErrorIndication { correlation, causes } => {
                // Refusals have a cause (RFC 5061 s4.2.6), even one without a name.
                let mut names: Vec<String> = causes.iter().map(cause_name).collect();
                if names.is_empty() {
                    names.push("no cause".to_owned());
                }
                Some((*correlation, names))
            }
            _ => None,
        };
        let refused: BTreeMap<u32, Vec<String>> =
            ack.responses.iter().filter_map(refusal).collect();
        let mut done = Vec::new();
        for one in self.changes[asked.clone()].iter_mut() {
            if one.change.answer.is_some() {
                continue;
            }
            let causes = refused.get(&one.correlation).cloned().unwrap_or_default();
            if causes.is_empty() {
                done.push((one.change.what, one.change.address));
            }
            one.change.answer = Some(causes);
        }
        for (what, address) in done {
            match what {
                Change::Add => self.know(side, address, Known::Asconf),
                Change::Delete => self.addresses[side]
                    .iter_mut()
                    .filter(|known| known.address == address)
                    .for_each(|known| known.removed = true),
                Change::SetPrimary => {}
            }
        }
    }

    fn error(&mut self, sender: usize, causes: &[Cause]) {
        for cause in causes {
            *self.errors[sender].entry(cause_name(cause)).or_default() += 1;
        }
    }
}

/// Most addresses of a side that are listed; a forged capture may have any number.
const MOST_ADDRESSES: usize = 64;

/// The fields of a DATA or I-DATA chunk.
struct DataChunk {
    tsn: Tsn,
    piece: Piece,
}

fn of_data(data: &Data) -> DataChunk {
    let (flags, stream, len) = (data.flags, data.stream, data.payload.len().into());
    let piece = Piece { stream, flags, position: 0, number: Number::Ssn(data.ssn.0), len };
    DataChunk { tsn: data.tsn, piece }
}

fn of_i_data(data: &IData) -> DataChunk {
    let (flags, stream, len) = (data.flags, data.stream, data.payload.len().into());
    let number = Number::Mid(data.mid.0, data.fsn());
    DataChunk { tsn: data.tsn, piece: Piece { stream, flags, position: 0, number, len } }
}

/// Time of the capture in seconds.
fn seconds(time: Instant) -> f64 {
    (time - Instant::ZERO).as_secs_f64()
}

impl Opened {
    /// Point of capture, as of TCP by the time that each end took for its part of the handshake.
    fn vantage(&self) -> Vantage {
        let [Some(init), Some(init_ack), Some(echo)] = self.handshake else {
            return Vantage::Unknown;
        };
        if init_ack < init || echo < init_ack {
            return Vantage::Unknown;
        }
        Vantage::of(init_ack - init, echo - init_ack)
    }

    /// The result; `start` is the time of the first packet of the capture.
    pub(super) fn finish(&self, start: Instant, names: &[String]) -> Connection {
        let vantage = self.vantage();
        let at = |side: usize, of: Vantage| side == usize::from(of == Vantage::Server);
        let place = |side: usize| Place {
            sender: matches!(vantage, Vantage::Client | Vantage::Server) && at(side, vantage),
            receiver: matches!(vantage, Vantage::Client | Vantage::Server) && !at(side, vantage),
        };
        let subflow = |(index, path): (usize, &Path)| {
            let ends = path.ends.unwrap_or(self.first_addresses);
            let flowing = |side: usize| {
                let rtt = Distribution::of(&path.heartbeat_rtt[side]);
                let heartbeat_rtt = rtt.filter(|_| !place(side).receiver);
                let other = PathUse { heartbeat_rtt, ..path.uses[side].clone() };
                self.halves[side].flowing(index, place(side), other)
            };
            let interface = path.interface.filter(|_| !path.several_interfaces);
            let name = interface.and_then(|index| names.get(index)).filter(|n| !n.is_empty());
            let (up, down) = (flowing(0), flowing(1));
            Subflow {
                path: name.cloned(),
                client: SocketAddr::new(ends[0], self.ports[0]),
                server: SocketAddr::new(ends[1], self.ports[1]),
                opened_by_server: false,
                handshake_rtt: None,
                established: path.verified || !self.initiated || up.segments + down.segments > 0,
                backup: false,
                reset: false,
                up,
                down,
            }
        };
        let zero = seconds(start);
        Connection {
            spoken: Spoken::Of(Protocol::Sctp),
            is_matched: true,
            client: SocketAddr::new(self.first_addresses[0], self.ports[0]),
            server: SocketAddr::new(self.first_addresses[1], self.ports[1]),
            vantage,
            start: seconds(self.first) - zero,
            duration: (self.last - self.first).as_secs_f64(),
            subflows: self.paths.iter().enumerate().map(subflow).collect(),
            missed_bytes: 0,
            sequences: self.sequences(zero),
            sctp: Some(Box::new(self.association(zero, place))),
        }
    }

    fn sequences(&self, zero: f64) -> [Sequence; 2] {
        let Some(mut sequences) = self.sequences.clone() else { return Default::default() };
        for (sequence, half) in sequences.iter_mut().zip(&self.halves) {
            for sent in &mut sequence.sent {
                sent.time -= zero;
                sent.position = sent.position.saturating_sub(half.first);
            }
            for (time, position) in &mut sequence.acknowledged {
                *time -= zero;
                *position = position.saturating_sub(half.first);
            }
        }
        sequences
    }

    fn association(&self, zero: f64, place: impl Fn(usize) -> Place) -> Association {
        let side = |side: usize| -> Sent { self.halves[side].finish(place(side).sender) };
        let errors = |side: usize| {
            self.errors[side].iter().map(|(name, count)| (name.clone(), *count)).collect()
        };
        let change = |one: &Requested| {
            let time = one.change.time - zero;
            AddressChange { time, ..one.change.clone() }
        };
        Association {
            initiated: self.initiated,
            state: self.state,
            end: self.end.clone(),
            tags: self.tags,
            udp: self.udp,
            addresses: self.addresses.clone(),
            changes: self.changes.iter().map(change).collect(),
            sides: [side(0), side(1)],
            errors: [errors(0), errors(1)],
            malformed_chunks: self.malformed_chunks,
            wrong_tags: self.wrong_tags,
        }
    }
}
