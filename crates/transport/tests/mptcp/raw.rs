//! A peer made by hand against one stack: it sends what a stack of this engine never sends.
//!
//! It has no timestamps and no SACK, accepts everything that arrives, and keeps what was sent to
//! it. `dsn` in its calls is an offset from its first byte.

use base::{Chance, Context, Duration, Instant, InterfaceId, SocketId};
use std::net::{IpAddr, SocketAddr};
use transport::mptcp::MptcpConfig;
use transport::{
    ConnectionInfo, Input, InterfaceConfig, SocketError, SocketEventKind, Stack, StackConfig,
};
use wire::mptcp::{
    Capable, CapableFlags, CapableForm, DataNumber, Dss, Join, Key, Mapping, MptcpOption,
    MptcpOptions, Token, join_hmac,
};
use wire::{Body, Flags, Packet, Payload, SeqNumber, TcpSegment};

/// Where the stack listens, or connects to.
pub(crate) const PORT: u16 = 80;
/// The raw peer's key.
pub(crate) const KEY: Key = Key(0x0102_0304_0506_0708);
const WINDOW: u16 = 0xffff;
const SHIFT: u8 = 7;

/// One subflow of the peer.
#[derive(Clone, Debug)]
pub(crate) struct Sub {
    pub ours: SocketAddr,
    pub theirs: SocketAddr,
    pub isn: SeqNumber,
    /// The next of our bytes, counted from zero.
    pub sent: u32,
    pub irs: SeqNumber,
    /// Everything of theirs up to here came.
    pub ack: SeqNumber,
    /// A reset came, with these options.
    pub reset: Option<MptcpOptions>,
}

pub(crate) struct Raw {
    pub now: Instant,
    pub stack: Stack,
    pub socket: Option<SocketId>,
    pub failed: Option<SocketError>,
    pub closed: bool,
    pub subs: Vec<Sub>,
    /// Every segment that came, by subflow.
    pub came: Vec<(usize, TcpSegment)>,
    /// Segments to no subflow of ours.
    pub strays: Vec<(SocketAddr, TcpSegment)>,
    pub their_key: Key,
}

fn host(side: u8, net: u8) -> IpAddr {
    [10, 0, net, side].into()
}

impl Raw {
    fn new(nets: u8) -> Raw {
        let interface = |net| InterfaceConfig { addresses: vec![host(1, net)], mtu: 1500 };
        Raw {
            now: Instant::ZERO,
            stack: Stack::new(StackConfig {
                interfaces: (1..=nets).map(interface).collect(),
                ..StackConfig::default()
            }),
            socket: None,
            failed: None,
            closed: false,
            subs: Vec::new(),
            came: Vec::new(),
            strays: Vec::new(),
            their_key: Key(0),
        }
    }

    /// Listening; nothing was sent yet.
    pub(crate) fn listener(config: &MptcpConfig) -> Raw {
        let mut raw = Raw::new(3);
        raw.stack.listen(PORT, config.clone()).expect("a free port");
        raw
    }

    /// A client of the stack, fully established.
    pub(crate) fn client(config: &MptcpConfig) -> Raw {
        let mut raw = Raw::listener(config);
        raw.begin();
        let keys = raw.keys(None);
        raw.say(0, keys);
        raw
    }

    /// SYN and SYN/ACK are over.
    pub(crate) fn begin(&mut self) {
        self.begin_again();
        let answer = self.subs[0].clone();
        let capable = self.came.last().and_then(|(_, segment)| segment.options.mptcp.capable());
        match capable {
            Some(Capable::V1 { form: CapableForm::SynAck { sender }, .. }) => {
                self.their_key = sender;
            }
            other => panic!("{answer:?}: {other:?}"),
        }
    }

    /// Another SYN with MP_CAPABLE.
    pub(crate) fn begin_again(&mut self) {
        let flags = CapableFlags::HMAC_SHA256;
        let capable = Capable::V1 { flags, form: CapableForm::Syn };
        self.open(2, PORT, MptcpOption::Capable(capable));
    }

    /// The option with both keys, with data of `len` bytes.
    pub(crate) fn keys(&self, len: Option<u16>) -> MptcpOptions {
        let (sender, receiver) = (KEY, self.their_key);
        let form = match len {
            None => CapableForm::Ack { sender, receiver },
            Some(len) => CapableForm::Data { sender, receiver, len, checksum: None },
        };
        MptcpOption::Capable(Capable::V1 { flags: CapableFlags::HMAC_SHA256, form }).into()
    }

    /// The stack is the client, with these numbers of networks; fully established, both ways.
    pub(crate) fn server(config: &MptcpConfig) -> Raw {
        let mut raw = Raw::server_unconfirmed(config);
        raw.say(0, raw.data_ack(0));
        raw
    }

    /// The same before the first data acknowledgement.
    pub(crate) fn server_unconfirmed(config: &MptcpConfig) -> Raw {
        let mut raw = Raw::new(2);
        let mut cx = raw.cx();
        let remote = SocketAddr::new(host(2, 1), PORT);
        let socket = raw.stack.connect(&mut cx, host(1, 1), remote, &config.clone().into());
        raw.socket = Some(socket.expect("a known configuration"));
        raw.drain();
        let (_, syn) = raw.strays.pop().expect("a SYN");
        let theirs = SocketAddr::new(host(1, 1), syn.src_port);
        raw.answer_syn(theirs, remote, &syn, |raw| {
            let form = CapableForm::SynAck { sender: KEY };
            let _ = raw;
            MptcpOption::Capable(Capable::V1 { flags: CapableFlags::HMAC_SHA256, form }).into()
        });
        let keys = raw.came.last().and_then(|(_, segment)| segment.options.mptcp.capable());
        match keys {
            Some(Capable::V1 { form: CapableForm::Ack { sender, .. }, .. }) => {
                raw.their_key = sender;
            }
            other => panic!("{other:?}"),
        }
        raw
    }

    /// Answer a SYN of the stack with these options.
    pub(crate) fn answer_syn(
        &mut self,
        theirs: SocketAddr,
        ours: SocketAddr,
        syn: &TcpSegment,
        options: impl Fn(&Raw) -> MptcpOptions,
    ) -> usize {
        let isn = SeqNumber(7_000 * (self.subs.len() as u32 + 1));
        let (irs, ack) = (syn.seq, syn.seq + 1);
        self.subs.push(Sub { ours, theirs, isn, sent: 0, irs, ack, reset: None });
        let sub = self.subs.len() - 1;
        let mut segment = self.segment(sub, options(self), Payload::EMPTY);
        segment.seq = isn;
        segment.flags = Flags::SYN | Flags::ACK;
        segment.options.mss = Some(1460);
        segment.options.window_scale = Some(SHIFT);
        self.put(sub, segment);
        sub
    }

    fn cx(&self) -> Context<'static> {
        Context::quiet(self.now, Chance::new(5, 0))
    }

    /// A SYN from network 1 to the stack's `PORT`, from `port`.
    pub(crate) fn open(&mut self, last: u8, port: u16, option: MptcpOption) -> usize {
        let count = self.subs.len() as u32;
        let ours = SocketAddr::new(host(last, 1), 40_000 + count as u16);
        let theirs = SocketAddr::new(host(1, 1), port);
        let isn = SeqNumber((u32::MAX - 3_000).wrapping_add(999 * count));
        let irs = SeqNumber(0);
        self.subs.push(Sub { ours, theirs, isn, sent: 0, irs, ack: irs, reset: None });
        let sub = self.subs.len() - 1;
        let mut syn = self.segment(sub, option.into(), Payload::EMPTY);
        syn.seq = isn;
        syn.flags = Flags::SYN;
        syn.options.mss = Some(1460);
        syn.options.window_scale = Some(SHIFT);
        self.put(sub, syn);
        sub
    }

    /// SYN of a join, not proved yet; the subflow and the stack's nonce if it answered.
    pub(crate) fn begin_join(&mut self, id: u8, token: Token, nonce: u32) -> (usize, Option<u32>) {
        let join = Join::Syn { backup: false, address_id: id, token, nonce };
        let sub = self.open(2, PORT, MptcpOption::Join(join));
        let answer = self.came.iter().rev().find(|(index, _)| *index == sub);
        let theirs = match answer.and_then(|(_, segment)| segment.options.mptcp.join()) {
            Some(answer @ Join::SynAck { nonce: theirs, .. }) => {
                let expected = join_hmac((self.their_key, theirs), (KEY, nonce));
                assert!(answer.proves(&expected), "the stack's proof");
                Some(theirs)
            }
            _ => None,
        };
        (sub, theirs)
    }

    /// A whole join.
    pub(crate) fn join(&mut self, id: u8) -> usize {
        let token = self.their_key.token();
        let (sub, theirs) = self.begin_join(id, token, 77);
        self.prove(sub, 77, theirs.expect("an answer"));
        sub
    }

    /// The third packet of a join.
    pub(crate) fn prove(&mut self, sub: usize, nonce: u32, theirs: u32) {
        let hmac = join_hmac((KEY, nonce), (self.their_key, theirs)).left20();
        self.say(sub, MptcpOption::Join(Join::Ack { hmac }).into());
    }

    /// A segment with the present numbers.
    pub(crate) fn segment(&self, sub: usize, mptcp: MptcpOptions, payload: Payload) -> TcpSegment {
        let Sub { ours, theirs, isn, sent, ack, .. } = &self.subs[sub];
        let mut segment = TcpSegment {
            src_port: ours.port(),
            dst_port: theirs.port(),
            seq: *isn + 1 + *sent,
            ack: *ack,
            flags: Flags::ACK,
            window: WINDOW,
            payload,
            ..TcpSegment::default()
        };
        segment.options.mptcp = mptcp;
        segment
    }

    /// Let the stack have it, and take what it answers.
    pub(crate) fn put(&mut self, sub: usize, segment: TcpSegment) {
        let Sub { ours, theirs, .. } = self.subs[sub];
        let packet = Packet::new(ours.ip(), theirs.ip(), Body::Tcp(segment));
        let net = match theirs.ip() {
            IpAddr::V4(ip) => u16::from(ip.octets()[2]) - 1,
            IpAddr::V6(_) => 0,
        };
        let mut cx = self.cx();
        let input = Input::Packet { interface: InterfaceId(net), packet: Box::new(packet) };
        self.stack.handle(&mut cx, input);
        self.drain();
    }

    /// An acknowledgement with these options.
    pub(crate) fn say(&mut self, sub: usize, options: MptcpOptions) {
        let segment = self.segment(sub, options, Payload::EMPTY);
        self.put(sub, segment);
    }

    /// Bytes with these options; they count as sent.
    pub(crate) fn send(&mut self, sub: usize, options: MptcpOptions, payload: Payload) {
        let len = payload.len();
        let segment = self.segment(sub, options, payload);
        self.subs[sub].sent += len;
        self.put(sub, segment);
    }

    /// Bytes `dsn..` of our stream, mapped as they should be.
    pub(crate) fn send_mapped(&mut self, sub: usize, dsn: u64, len: u16) {
        let ssn = self.subs[sub].sent + 1;
        let options = self.mapping(dsn, ssn, len);
        self.send(sub, options, stream(dsn, len.into()));
    }

    /// Our number of an offset.
    pub(crate) fn number(&self, dsn: u64) -> u64 {
        KEY.idsn().wrapping_add(1).wrapping_add(dsn)
    }

    /// Their number of an offset.
    pub(crate) fn their_number(&self, dsn: u64) -> u64 {
        self.their_key.idsn().wrapping_add(1).wrapping_add(dsn)
    }

    /// A mapping, with the acknowledgement of nothing.
    pub(crate) fn mapping(&self, dsn: u64, subflow_seq: u32, len: u16) -> MptcpOptions {
        let dsn = DataNumber::Long(self.number(dsn));
        let mapping = Mapping { dsn, subflow_seq, len, checksum: None };
        let ack = self.their_key.idsn().wrapping_add(1);
        Dss::EMPTY.with_mapping(mapping).with_ack(DataNumber::Long(ack)).into()
    }

    /// An acknowledgement of `bytes` of their bytes.
    pub(crate) fn data_ack(&self, bytes: u64) -> MptcpOptions {
        let ack = self.their_key.idsn().wrapping_add(1).wrapping_add(bytes);
        Dss::EMPTY.with_ack(DataNumber::Long(ack)).into()
    }

    fn drain(&mut self) {
        let mut cx = self.cx();
        let mut count = 0;
        while let Some(transmit) = self.stack.poll_transmit(&mut cx) {
            count += 1;
            assert!(count < 20_000, "endless transmission");
            let (flow, bytes) = (transmit.packet.flow, transmit.packet.wire_len());
            assert!(bytes <= 1500);
            transmit.packet.roundtrip().expect("what was emitted");
            self.take(*transmit.packet);
            self.stack.handle(&mut cx, Input::Departed { flow, bytes });
        }
        while let Some(event) = self.stack.poll_event() {
            match event.kind {
                SocketEventKind::Accepted { .. } => self.socket = Some(event.socket),
                SocketEventKind::Failed(error) => self.failed = Some(error),
                SocketEventKind::Closed => self.closed = true,
                _ => {}
            }
        }
    }

    fn take(&mut self, packet: Packet) {
        let (src, dst) = (packet.src(), packet.dst());
        let Body::Tcp(segment) = packet.body else { return };
        let is = |sub: &Sub| {
            sub.ours == SocketAddr::new(dst, segment.dst_port)
                && sub.theirs == SocketAddr::new(src, segment.src_port)
        };
        let Some(index) = self.subs.iter().rposition(is) else {
            self.strays.push((SocketAddr::new(dst, segment.dst_port), segment));
            return;
        };
        let sub = &mut self.subs[index];
        if segment.flags.contains(Flags::RST) {
            sub.reset = Some(segment.options.mptcp.clone());
        } else if segment.flags.contains(Flags::SYN) {
            sub.irs = segment.seq;
            sub.ack = segment.seq + 1;
        } else if segment.seq == sub.ack {
            sub.ack += segment.sequence_len();
        }
        self.came.push((index, segment));
    }

    /// Let time pass; timers fire, answers are taken but not acknowledged.
    pub(crate) fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(at) = self.stack.poll_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let mut cx = self.cx();
            self.stack.handle(&mut cx, Input::Timeout);
            self.drain();
        }
        self.now = end;
    }

    pub(crate) fn info(&self) -> ConnectionInfo {
        let socket = self.socket.expect("a socket");
        self.stack.info(socket).expect("a connection")
    }

    /// The application reads everything; it must be our stream.
    pub(crate) fn read(&mut self, from: u64) -> u64 {
        let mut cx = self.cx();
        let socket = self.socket.expect("a socket");
        let mut at = from;
        while let Ok(payload) = self.stack.read(&mut cx, socket, 1 << 20)
            && !payload.is_empty()
        {
            assert_eq!(payload.to_bytes(), stream(at, payload.len()).to_bytes(), "at {at}");
            at += u64::from(payload.len());
        }
        self.drain();
        at
    }

    /// The application reads everything, without a check.
    pub(crate) fn read_any(&mut self, from: u64) -> u64 {
        let mut cx = self.cx();
        let socket = self.socket.expect("a socket");
        let mut at = from;
        while let Ok(payload) = self.stack.read(&mut cx, socket, 1 << 20)
            && !payload.is_empty()
        {
            at += u64::from(payload.len());
        }
        self.drain();
        at
    }

    /// The application writes.
    pub(crate) fn write(&mut self, len: u32) -> u32 {
        let mut cx = self.cx();
        let socket = self.socket.expect("a socket");
        let taken = self.stack.write(&mut cx, socket, &stream(0, len)).unwrap_or(0);
        self.drain();
        taken
    }

    /// The reason given with the reset of a subflow.
    pub(crate) fn reason(&self, sub: usize) -> Option<u8> {
        let options = self.subs[sub].reset.as_ref()?;
        options.others().iter().find_map(|option| match option {
            MptcpOption::TcpRst { reason, .. } => Some(reason.0),
            _ => None,
        })
    }

    /// The newest data acknowledgement, as an offset.
    pub(crate) fn data_acked(&self) -> u64 {
        self.last_data_ack().expand(self.number(0)).wrapping_sub(self.number(0))
    }

    /// The last data acknowledgement that came, as it was sent.
    pub(crate) fn last_data_ack(&self) -> DataNumber {
        let acks = self.came.iter().rev().filter_map(|(_, segment)| segment.options.mptcp.dss);
        acks.filter_map(|dss| dss.ack()).next().expect("a data acknowledgement")
    }
}

/// Bytes of our stream.
pub(crate) fn stream(offset: u64, len: u32) -> Payload {
    let byte = |at: u64| (at.wrapping_mul(0x9E37_79B9) >> 9) as u8;
    Payload::from((0..u64::from(len)).map(|at| byte(offset.wrapping_add(at))).collect::<Vec<u8>>())
}
