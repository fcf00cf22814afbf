//! tshark reads our options: none malformed, numbers and tokens as meant, subflows of one
//! connection seen as one.

use super::{KEY_A, KEY_B, NONCE_A, NONCE_B};
use crate::tshark::{capture, tshark};
use std::net::IpAddr;
use wire::mptcp::{
    AddAddr, Capable, CapableFlags, CapableForm, DataNumber, Join, Mapping, ResetReason, join_hmac,
};
use wire::{
    Body, Dss, Flags, MptcpOption, MptcpOptions, Packet, Payload, SeqNumber, TcpOptions,
    TcpSegment, Timestamps,
};

const FIELDS: [&str; 7] = [
    "tcp.options.mptcp.subtype",
    "tcp.checksum.status",
    "_ws.malformed",
    "mptcp.stream",
    "mptcp.expected_token",
    "mptcp.expected_idsn",
    "tcp.options.mptcp.recvtok",
];

/// Both ends of a subflow, and what each of them sends next.
struct Subflow {
    addresses: [IpAddr; 2],
    port: u16,
    next: [SeqNumber; 2],
}

/// Writes the packets of a connection.
struct Script {
    subflows: [Subflow; 2],
    packets: Vec<Packet>,
    /// The subtypes that each packet should show.
    subtypes: Vec<&'static str>,
}

impl Script {
    fn new(v6: bool) -> Script {
        let address = |path: u8, host: u8| match v6 {
            false => IpAddr::from([10, 0, path, host]),
            true => [0x2001, 0xdb8, 0, 0, 0, 0, path.into(), host.into()].into(),
        };
        let subflows = [1, 2].map(|path| Subflow {
            addresses: [address(path, 1), address(path, 2)],
            port: 40_000 + u16::from(path),
            next: [SeqNumber(u32::MAX - 20), SeqNumber(9000 * u32::from(path))],
        });
        Script { subflows, packets: Vec::new(), subtypes: Vec::new() }
    }

    /// A side (0 initiator, 1 listener) sends on the subflow: `(subflow, from)`.
    fn send(
        &mut self,
        (subflow, from): (usize, usize),
        flags: Flags,
        mptcp: impl Into<MptcpOptions>,
        payload: Payload,
        subtypes: &'static str,
    ) {
        let Subflow { addresses, port, next } = &mut self.subflows[subflow];
        let ports = [*port, 50_001];
        let handshake = flags.contains(Flags::SYN);
        let options = TcpOptions {
            mss: handshake.then_some(1460),
            window_scale: handshake.then_some(7),
            sack_permitted: handshake,
            timestamps: Some(Timestamps { value: 77, echo: 66 }),
            mptcp: mptcp.into(),
            ..TcpOptions::default()
        };
        let acked = flags.contains(Flags::ACK);
        let segment = TcpSegment {
            src_port: ports[from],
            dst_port: ports[1 - from],
            seq: next[from],
            ack: if acked { next[1 - from] } else { SeqNumber(0) },
            flags,
            window: 512,
            options,
            payload,
        };
        next[from] += segment.sequence_len();
        let (src, dst) = (addresses[from], addresses[1 - from]);
        self.packets.push(Packet::new(src, dst, Body::Tcp(segment)));
        self.subtypes.push(subtypes);
    }

    fn ack(
        &mut self,
        subflow: usize,
        from: usize,
        mptcp: Vec<MptcpOption>,
        subtypes: &'static str,
    ) {
        let options: MptcpOptions = mptcp.into_iter().collect();
        self.send((subflow, from), Flags::ACK, options, Payload::EMPTY, subtypes);
    }

    fn open(&mut self) {
        let flags = CapableFlags::HMAC_SHA256.with(CapableFlags::CHECKSUM);
        let capable = |form| MptcpOption::Capable(Capable::V1 { flags, form });
        let (sender, receiver) = (KEY_A, KEY_B);
        self.send((0, 0), Flags::SYN, capable(CapableForm::Syn), Payload::EMPTY, "0");
        let syn_ack = capable(CapableForm::SynAck { sender: KEY_B });
        self.send((0, 1), Flags::SYN | Flags::ACK, syn_ack, Payload::EMPTY, "0");
        self.ack(0, 0, vec![capable(CapableForm::Ack { sender, receiver })], "0");
        let payload = Payload::virtual_range(1, 0, 500);
        let checksum = Some(Mapping::checksum_of(KEY_A.idsn() + 1, 1, 500, &payload));
        let data = CapableForm::Data { sender, receiver, len: 500, checksum };
        self.send((0, 0), Flags::ACK, capable(data), payload, "0");
        self.ack(0, 1, vec![acked(true)], "2");
        self.ack(0, 0, vec![acked(false)], "2");
    }

    fn join(&mut self) {
        let (backup, address_id) = (false, 3);
        let syn = Join::Syn { backup, address_id, token: KEY_B.token(), nonce: NONCE_A };
        self.send((1, 0), Flags::SYN, MptcpOption::Join(syn), Payload::EMPTY, "1");
        let hmac = join_hmac((KEY_B, NONCE_B), (KEY_A, NONCE_A)).left8();
        let syn_ack = Join::SynAck { backup, address_id: 0, hmac, nonce: NONCE_B };
        let flags = Flags::SYN | Flags::ACK;
        self.send((1, 1), flags, MptcpOption::Join(syn_ack), Payload::EMPTY, "1");
        let hmac = join_hmac((KEY_A, NONCE_A), (KEY_B, NONCE_B)).left20();
        self.ack(1, 0, vec![MptcpOption::Join(Join::Ack { hmac })], "1");
        self.ack(1, 1, vec![acked(true)], "2");
    }

    /// Data of both sides in mappings of all widths.
    fn data(&mut self) {
        let mut dsn = KEY_B.idsn() + 1;
        for (subflow, long_ack, long_dsn) in
            [(0, true, true), (1, false, true), (0, true, false), (1, false, false)]
        {
            let len = 700;
            let payload = Payload::virtual_range(2, dsn, len.into());
            let Subflow { next: [_, next], .. } = self.subflows[subflow];
            let subflow_seq = next.0.wrapping_sub(9000 * (subflow as u32 + 1));
            let checksum = Some(Mapping::checksum_of(dsn, subflow_seq, len, &payload));
            let ack = number(KEY_A.idsn() + 501, long_ack);
            let mapping = Mapping { dsn: number(dsn, long_dsn), subflow_seq, len, checksum };
            let dss = Dss::EMPTY.with_ack(ack).with_mapping(mapping);
            self.send((subflow, 1), Flags::ACK | Flags::PSH, dss, payload, "2");
            dsn += u64::from(len);
        }
    }

    /// Everything that a pure acknowledgement may carry.
    fn signals(&mut self) {
        let v4 = [192, 0, 2, 7].into();
        let v6 = [0x2001, 0xdb8, 0, 0, 0, 0, 0, 7].into();
        for (address, port) in [(v4, None), (v4, Some(50_001)), (v6, None)] {
            let add = AddAddr::signed(KEY_B, KEY_A, 4, address, port);
            self.ack(0, 1, vec![MptcpOption::AddAddr(add)], "3");
            self.ack(0, 0, vec![MptcpOption::AddAddr(add.echo())], "3");
        }
        self.ack(0, 0, vec![acked(false), MptcpOption::RemoveAddr { ids: vec![4] }], "2,4");
        self.ack(0, 0, vec![acked(false), MptcpOption::RemoveAddr { ids: vec![4, 5, 6] }], "2,4");
        self.ack(1, 0, vec![acked(false), MptcpOption::Prio { backup: true }], "2,5");
        self.ack(1, 0, vec![acked(false), MptcpOption::Prio { backup: false }], "2,5");
        self.ack(1, 0, vec![acked(false), MptcpOption::Fail { dsn: KEY_B.idsn() + 1 }], "2,6");
    }

    fn close(&mut self) {
        let mapping = |dsn, len| {
            let checksum = Some(Mapping::checksum_of(dsn, 0, len, &Payload::EMPTY));
            Mapping { dsn: DataNumber::Long(dsn), subflow_seq: 0, len, checksum }
        };
        let next = KEY_B.idsn() + 1 + 4 * 700;
        self.ack(
            0,
            1,
            vec![MptcpOption::Dss(Dss::EMPTY.with_mapping(mapping(next, 1)).with_fin())],
            "2",
        );
        let reason = ResetReason::MIDDLEBOX_INTERFERENCE;
        let reset = MptcpOption::TcpRst { transient: true, reason };
        self.send((1, 0), Flags::RST | Flags::ACK, reset.clone(), Payload::EMPTY, "8");
        let both: MptcpOptions =
            [MptcpOption::FastClose { receiver: KEY_A }, reset].into_iter().collect();
        self.send((0, 1), Flags::RST | Flags::ACK, both, Payload::EMPTY, "7,8");
    }
}

fn number(whole: u64, long: bool) -> DataNumber {
    if long { DataNumber::Long(whole) } else { DataNumber::Short(whole as u32) }
}

/// A DSS that acknowledges what the other side has sent.
fn acked(by_listener: bool) -> MptcpOption {
    let next = if by_listener { KEY_A.idsn() + 501 } else { KEY_B.idsn() + 1 };
    MptcpOption::Dss(Dss::EMPTY.with_ack(DataNumber::Long(next)))
}

#[test]
fn tshark_sees_one_connection_and_nothing_malformed() {
    for v6 in [false, true] {
        let mut script = Script::new(v6);
        script.open();
        script.join();
        script.data();
        script.signals();
        script.close();
        let name = if v6 { "mptcp-v6.pcapng" } else { "mptcp-v4.pcapng" };
        let Some(rows) = tshark(name, &capture(&script.packets), &FIELDS) else { return };
        assert_eq!(rows.len(), script.packets.len());
        for ((row, packet), subtypes) in rows.iter().zip(&script.packets).zip(script.subtypes) {
            assert_eq!(row[0], subtypes, "{packet:?}");
            assert_eq!((row[1].as_str(), row[2].as_str()), ("1", ""), "{row:?} {packet:?}");
        }
        // A SYN without a key belongs to no connection yet.
        assert!(rows[1..].iter().all(|row| row[3] == "0"), "one connection, both subflows");
        for (row, key) in [(1, KEY_B), (2, KEY_A)] {
            assert_eq!(rows[row][4], key.token().0.to_string());
            assert_eq!(rows[row][5], key.idsn().to_string());
        }
        let tokens: Vec<&String> =
            rows.iter().map(|row| &row[6]).filter(|t| !t.is_empty()).collect();
        assert_eq!(tokens, [&rows[1][4]], "the join names the connection that was opened");
    }
}
