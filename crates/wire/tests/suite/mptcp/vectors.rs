//! The vectors: computed ones with fixed keys (set V), and options of 6.18 kernels (set C, `cap`).

use super::{KEY_A, KEY_B, NONCE_A, NONCE_B, bytes};
use wire::mptcp::{
    AddAddr, Capable, CapableFlags, CapableForm, DataNumber, Join, Key, Mapping, ResetReason,
    Token, join_hmac, nearest,
};
use wire::{Dss, MptcpOption, Payload};

const IDSN_A: u64 = 0xf5a1_01d3_d29d_6f72;
const IDSN_B: u64 = 0x535b_eea3_8e08_7c8e;
/// The keys of set C.
const KEY_A_C: Key = Key(0xb399_aa3d_b451_9438);
const KEY_B_C: Key = Key(0x8d1b_8e4c_0851_a0fb);

/// Emitting gives the bytes, and parsing them what was emitted.
fn holds(hex: &str, option: impl Into<MptcpOption>) {
    let option = option.into();
    let expected = bytes(hex);
    let mut emitted = Vec::new();
    option.emit(&mut emitted);
    assert_eq!(emitted, expected, "{option:?}");
    assert_eq!(option.wire_len() as usize, expected.len(), "{option:?}");
    assert_eq!(usize::from(expected[1]), expected.len(), "{hex}");
    assert_eq!(MptcpOption::parse(&expected[2..]), Some(option), "{hex}");
}

fn capable(flags: CapableFlags, form: CapableForm) -> MptcpOption {
    MptcpOption::Capable(Capable::V1 { flags: flags.with(CapableFlags::HMAC_SHA256), form })
}

#[test]
fn mp_capable() {
    let none = CapableFlags(0);
    let (sender, receiver) = (KEY_A, KEY_B);
    holds("1e040101", capable(none, CapableForm::Syn));
    holds("1e040181", capable(CapableFlags::CHECKSUM, CapableForm::Syn));
    holds("1e040121", capable(CapableFlags::NO_JOIN, CapableForm::Syn));
    holds("1e0c01011112131415161718", capable(none, CapableForm::SynAck { sender: KEY_B }));
    holds(
        "1e14010101020304050607081112131415161718",
        capable(none, CapableForm::Ack { sender, receiver }),
    );
    holds(
        "1e160101010203040506070811121314151617180005",
        capable(none, CapableForm::Data { sender, receiver, len: 5, checksum: None }),
    );
    let checksum = Some(Mapping::checksum_of(IDSN_A + 1, 1, 5, &hello()));
    holds(
        "1e18018101020304050607081112131415161718000582a1",
        capable(CapableFlags::CHECKSUM, CapableForm::Data { sender, receiver, len: 5, checksum }),
    );
    holds("1e0c01018d1b8e4c0851a0fb", capable(none, CapableForm::SynAck { sender: KEY_B_C }));
    holds(
        "1e140101b399aa3db45194388d1b8e4c0851a0fb",
        capable(none, CapableForm::Ack { sender: KEY_A_C, receiver: KEY_B_C }),
    );
}

#[test]
fn mp_capable_with_checksummed_data_of_a_capture() {
    let (sender, receiver) = (Key(0xfa23_c98f_aad6_a4ba), Key(0x3ef1_9a25_305c_f673));
    let payload = Payload::from(b"hello multipath".to_vec());
    let checksum = Some(Mapping::checksum_of(sender.idsn() + 1, 1, 15, &payload));
    holds(
        "1e180181fa23c98faad6a4ba3ef19a25305cf673000f45f5",
        capable(CapableFlags::CHECKSUM, CapableForm::Data { sender, receiver, len: 15, checksum }),
    );
}

#[test]
fn mp_join() {
    let hmac_b = join_hmac((KEY_B, NONCE_B), (KEY_A, NONCE_A));
    let hmac_a = join_hmac((KEY_A, NONCE_A), (KEY_B, NONCE_B));
    let syn = |backup| {
        let (address_id, token, nonce) = (5, KEY_B.token(), NONCE_A);
        MptcpOption::Join(Join::Syn { backup, address_id, token, nonce })
    };
    holds("1e0c1005ccad45ac21222324", syn(false));
    holds("1e0c1105ccad45ac21222324", syn(true));
    let (backup, address_id, hmac, nonce) = (false, 9, hmac_b.left8(), NONCE_B);
    let syn_ack = Join::SynAck { backup, address_id, hmac, nonce };
    holds("1e1010090fce2597e55e87ef31323334", MptcpOption::Join(syn_ack));
    let ack = Join::Ack { hmac: hmac_a.left20() };
    holds("1e181000e19ad4ac22d51c2f064d49662431bc8f9d6b3a29", MptcpOption::Join(ack));

    assert!(syn_ack.proves(&hmac_b) && !syn_ack.proves(&hmac_a));
    assert!(ack.proves(&hmac_a) && !ack.proves(&hmac_b));
    assert!(!Join::Syn { backup, address_id, token: Token(1), nonce }.proves(&hmac_a));
}

#[test]
fn mp_join_of_set_c() {
    let (nonce_a, nonce_b) = (0x82a3_4b0d, 0x570d_e170);
    let (backup, address_id) = (false, 5);
    let syn = Join::Syn { backup, address_id, token: KEY_B_C.token(), nonce: nonce_a };
    holds("1e0c100582bf8f8c82a34b0d", MptcpOption::Join(syn));
    let hmac = join_hmac((KEY_B_C, nonce_b), (KEY_A_C, nonce_a)).left8();
    let syn_ack = Join::SynAck { backup, address_id: 9, hmac, nonce: nonce_b };
    holds("1e1010092bfc2526ab39ab46570de170", MptcpOption::Join(syn_ack));
    let hmac = join_hmac((KEY_A_C, nonce_a), (KEY_B_C, nonce_b)).left20();
    holds(
        "1e181000ddf517715609cdddd8c1fa72105710fa30e714f8",
        MptcpOption::Join(Join::Ack { hmac }),
    );
}

fn hello() -> Payload {
    Payload::from(b"hello".to_vec())
}

/// The mapping of `len` bytes from `dsn` on, 64 bits wide.
fn mapping(dsn: u64, subflow_seq: u32, len: u16, checksum: Option<u16>) -> Mapping {
    Mapping { dsn: DataNumber::Long(dsn), subflow_seq, len, checksum }
}

fn holds_dss(hex: &str, dss: Dss) {
    holds(hex, MptcpOption::Dss(dss));
}

#[test]
fn dss_mappings_and_acknowledgements() {
    let acked = Dss::EMPTY.with_ack(DataNumber::Long(IDSN_B + 1));
    let dsn = IDSN_A + 1;
    holds_dss(
        "1e1a200f535beea38e087c8ff5a101d3d29d6f73000000010005",
        acked.with_mapping(mapping(dsn, 1, 5, None)),
    );
    let checksum = Some(Mapping::checksum_of(dsn, 1, 5, &hello()));
    assert_eq!(checksum, Some(0x82a1));
    holds_dss(
        "1e1c200f535beea38e087c8ff5a101d3d29d6f7300000001000582a1",
        acked.with_mapping(mapping(dsn, 1, 5, checksum)),
    );
    let short_ack = Dss::EMPTY.with_ack(DataNumber::Short((IDSN_B + 1) as u32));
    let short = Mapping { dsn: DataNumber::Short(dsn as u32), ..mapping(dsn, 1, 5, None) };
    holds_dss("1e1220058e087c8fd29d6f73000000010005", short_ack.with_mapping(short));
    holds_dss("1e0820018e087c8f", short_ack);
    holds_dss("1e0c2003535beea38e087c8f", acked);
    assert_eq!(acked.ack().map(|ack| ack.expand(0)), Some(IDSN_B + 1));
    assert_eq!(short_ack.ack().map(|ack| ack.expand(IDSN_B - 70_000)), Some(IDSN_B + 1));
}

#[test]
fn dss_data_fin_and_infinite_mapping() {
    let acked = Dss::EMPTY.with_ack(DataNumber::Long(IDSN_B + 1));
    let next = IDSN_A + 6;
    let fin = |checksum| acked.with_mapping(mapping(next, 0, 1, checksum)).with_fin();
    holds_dss("1e1a201f535beea38e087c8ff5a101d3d29d6f78000000000001", fin(None));
    let checksum = Mapping::checksum_of(next, 0, 1, &Payload::EMPTY);
    holds_dss("1e1c201f535beea38e087c8ff5a101d3d29d6f78000000000001c673", fin(Some(checksum)));
    assert_eq!(checksum, 0xc673);
    assert!(fin(None).fin() && !acked.fin());

    holds_dss(
        "1e1a201f535beea38e087c8ff5a101d3d29d6f73000000010006",
        acked.with_mapping(mapping(IDSN_A + 1, 1, 6, None)).with_fin(),
    );
    assert_eq!(Mapping::checksum_of(IDSN_A + 1, 1, 6, &hello()), 0x82a0);

    let infinite = mapping(next, 6, 0, None);
    assert!(infinite.is_infinite() && !mapping(next, 6, 1, None).is_infinite());
    holds_dss("1e1a200f535beea38e087c8ff5a101d3d29d6f78000000060000", acked.with_mapping(infinite));
}

#[test]
fn dss_of_captures() {
    let (key_a, key_b) = (Key(0x95b8_f28f_5c7e_9074), Key(0xac0d_c24c_7287_0416));
    let (idsn_a, idsn_b) = (0x6131_1aaf_e51e_7610, 0xfae4_7b37_7726_877f);
    assert_eq!((key_a.idsn(), key_b.idsn()), (idsn_a, idsn_b));

    // A to B. 32 bits are sent, 64 are summed.
    let payload = Payload::from(b"hello multipath".to_vec());
    let checksum = Some(Mapping::checksum_of(idsn_a + 1, 1, 15, &payload));
    let dsn = DataNumber::Long(idsn_a + 1);
    let to_b = Mapping { dsn, subflow_seq: 1, len: 15, checksum };
    let ack = DataNumber::Short(0x7726_8780);
    let narrow = Mapping { dsn: DataNumber::Short(idsn_a as u32 + 1), ..to_b };
    assert!(to_b.matches(idsn_a + 1, &payload) && narrow.matches(idsn_a + 1, &payload));
    assert_eq!(checksum, Some(0xd81d));
    let mut emitted = Vec::new();
    MptcpOption::Dss(Dss::EMPTY.with_ack(ack).with_mapping(to_b)).emit(&mut emitted);
    assert_eq!(emitted, bytes("1e18200d7726878061311aafe51e761100000001000fd81d"));

    let payload = Payload::from(b"pong-first".to_vec());
    let checksum = Some(Mapping::checksum_of(idsn_b + 1, 1, 10, &payload));
    let ack = DataNumber::Long(idsn_a + 16);
    holds_dss(
        "1e1c200f61311aafe51e7620fae47b377726878000000001000aa20d",
        Dss::EMPTY.with_ack(ack).with_mapping(mapping(idsn_b + 1, 1, 10, checksum)),
    );

    let ack = DataNumber::Long(0xe989_ffc4_935a_b9bf);
    let fin = mapping(0xfbce_038d_1c9f_3e25, 0, 1, None);
    holds_dss(
        "1e1a201fe989ffc4935ab9bffbce038d1c9f3e25000000000001",
        Dss::EMPTY.with_ack(ack).with_mapping(fin).with_fin(),
    );
}

#[test]
fn add_addr() {
    let v4 = [192, 0, 2, 7].into();
    let v6 = [0x2001, 0xdb8, 0, 0, 0, 0, 0, 7].into();
    let cases = [
        (3, v4, None, "1e103003c0000207082c8637d2ea9365", "1e083103c0000207"),
        (3, v4, Some(4433), "1e123003c000020711515e31495f9195751d", "1e0a3103c00002071151"),
        (
            4,
            v6,
            None,
            "1e1c300420010db8000000000000000000000007c746cacd4a44ae7d",
            "1e14310420010db8000000000000000000000007",
        ),
        (
            4,
            v6,
            Some(4433),
            "1e1e300420010db80000000000000000000000071151fb2af22d61484bd5",
            "1e16310420010db80000000000000000000000071151",
        ),
    ];
    for (id, address, port, announced, echoed) in cases {
        let add = AddAddr::signed(KEY_A, KEY_B, id, address, port);
        holds(announced, MptcpOption::AddAddr(add));
        holds(echoed, MptcpOption::AddAddr(add.echo()));
        assert!(add.is_signed_by(KEY_A, KEY_B));
        assert!(!add.is_signed_by(KEY_B, KEY_A));
        assert!(!AddAddr { address_id: 5, ..add }.is_signed_by(KEY_A, KEY_B));
        assert!(!AddAddr { port: Some(1), ..add }.is_signed_by(KEY_A, KEY_B));
        assert!(!add.echo().is_signed_by(KEY_A, KEY_B), "an echo proves nothing");
        assert!(add.echo().is_echo() && !add.is_echo());
    }
}

#[test]
fn add_addr_of_set_c() {
    let add = AddAddr::signed(KEY_B_C, KEY_A_C, 9, [10, 77, 2, 2].into(), None);
    holds("1e1030090a4d020221349f3b1e946c97", MptcpOption::AddAddr(add));
    holds("1e0831090a4d0202", MptcpOption::AddAddr(add.echo()));
}

#[test]
fn options_of_few_fields() {
    holds("1e044005", MptcpOption::RemoveAddr { ids: vec![5] });
    holds("1e0540050a", MptcpOption::RemoveAddr { ids: vec![5, 10] });
    holds("1e0351", MptcpOption::Prio { backup: true });
    holds("1e0350", MptcpOption::Prio { backup: false });
    holds("1e0c6000f5a101d3d29d6f73", MptcpOption::Fail { dsn: IDSN_A + 1 });
    holds("1e0c70001112131415161718", MptcpOption::FastClose { receiver: KEY_B });
    let receiver = Key(0x0c71_bdb9_33fa_a9fc);
    holds("1e0c70000c71bdb933faa9fc", MptcpOption::FastClose { receiver });
    let reset = |transient, reason| MptcpOption::TcpRst { transient, reason };
    holds("1e048004", reset(false, ResetReason(4)));
    holds("1e048102", reset(true, ResetReason(2)));
    holds("1e048000", reset(false, ResetReason::UNSPECIFIED));
}

#[test]
fn half_numbers_mean_the_nearest_whole_one() {
    let cases = [
        (0x0000_0010, 0x0000_0000_ffff_fff0, 0x0000_0001_0000_0010),
        (0xffff_fff0, 0x0000_0001_0000_0010, 0x0000_0000_ffff_fff0),
        (0x8000_0000, 0x0000_0001_0000_0001, 0x0000_0001_8000_0000),
        (0x8000_0002, 0x0000_0001_0000_0001, 0x0000_0000_8000_0002),
        (0x0000_0005, 0xffff_ffff_ffff_fffb, 0x0000_0000_0000_0005),
        (0xffff_fffb, 0x0000_0000_0000_0005, 0xffff_ffff_ffff_fffb),
        (0xd29d_6f73, IDSN_A + 1, IDSN_A + 1),
    ];
    for (short, expected, whole) in cases {
        assert_eq!(nearest(short, expected), whole, "{short:#x} near {expected:#x}");
        assert_eq!(DataNumber::Short(short).expand(expected), whole);
        assert_eq!(DataNumber::Long(u64::from(short)).expand(expected), u64::from(short));
    }
}
