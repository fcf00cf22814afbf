//! Mappings, data acknowledgements and joins that a stack of ours never sends (RFC 8684 s3.3.1,
//! s3.7): refused as the RFC requires, counted, and without harm to the stream.

use crate::raw::{KEY, Raw, stream};
use base::Duration;
use transport::mptcp::MptcpConfig;
use transport::{Buffers, SocketError};
use wire::mptcp::{
    AddAddr, DataNumber, Dss, Join, Key, Mapping, MptcpOption, MptcpOptions, ResetReason, Token,
    join_hmac,
};
use wire::{Body, Flags, Packet, Payload};

fn client() -> Raw {
    Raw::client(&MptcpConfig::default())
}

#[test]
fn mapped_data_are_read_and_acknowledged() {
    let mut raw = client();
    raw.send_mapped(0, 0, 1000);
    raw.send_mapped(0, 1000, 500);
    assert_eq!(raw.read(0), 1500);
    raw.pass(Duration::from_millis(100));
    assert_eq!(raw.data_acked(), 1500);
    assert_eq!(raw.info().refused, 0);
}

#[test]
fn first_data_with_keys_twice_map_once() {
    let mut raw = client();
    for _ in 0..2 {
        let options = raw.keys(Some(100));
        raw.send(0, options, stream(0, 100));
        raw.subs[0].sent = 0;
    }
    raw.subs[0].sent = 100;
    raw.send_mapped(0, 100, 100);
    assert_eq!(raw.read(0), 200);
    assert_eq!(raw.info().refused, 0);
}

#[test]
fn keys_of_somebody_else_map_nothing() {
    let mut raw = client();
    let theirs = raw.their_key;
    raw.their_key = Key(theirs.0 ^ 1);
    let options = raw.keys(Some(100));
    raw.their_key = theirs;
    raw.send(0, options, stream(0, 100));
    assert_eq!(raw.read(0), 0);
}

#[test]
fn one_mapping_may_cover_several_segments() {
    let mut raw = client();
    let options = raw.mapping(0, 1, 3000);
    raw.send(0, options, stream(0, 1000));
    raw.send(0, raw.data_ack(0), stream(1000, 1000));
    raw.send(0, raw.data_ack(0), stream(2000, 1000));
    assert_eq!(raw.read(0), 3000);
}

#[test]
fn mapping_that_comes_with_later_data_serves_those_before() {
    let mut raw = client();
    raw.send(0, raw.data_ack(0), stream(0, 400));
    assert_eq!(raw.read(0), 0, "held until they are mapped");
    let options = raw.mapping(0, 1, 800);
    raw.send(0, options, stream(400, 400));
    assert_eq!(raw.read(0), 800);
}

#[test]
fn identical_mapping_again_is_fine() {
    let mut raw = client();
    for at in [0, 100, 200] {
        let options = raw.mapping(0, 1, 300);
        raw.send(0, options, stream(at, 100));
    }
    assert_eq!(raw.read(0), 300);
    assert_eq!(raw.info().refused, 0);
}

/// The number of the implied mapping is on no wire; that of a DSS is, though it is the same one
/// (RFC 8684 s3.3.2).
#[test]
fn dss_with_the_mapping_of_the_keys_makes_acknowledgements_long() {
    let mut raw = client();
    let options = raw.keys(Some(300));
    raw.send(0, options, stream(0, 100));
    raw.pass(Duration::from_millis(100));
    assert!(matches!(raw.last_data_ack(), DataNumber::Short(_)));
    let options = raw.mapping(0, 1, 300);
    raw.send(0, options, stream(100, 100));
    raw.pass(Duration::from_millis(100));
    assert!(matches!(raw.last_data_ack(), DataNumber::Long(_)));
    assert_eq!((raw.data_acked(), raw.info().refused), (200, 0));
}

#[test]
fn contradictory_mapping_resets_the_subflow() {
    for other in [(50, 1, 300), (0, 1, 200), (100, 51, 300)] {
        let mut raw = client();
        let sub = raw.join(5);
        let options = raw.mapping(0, 1, 300);
        raw.send(sub, options, stream(0, 100));
        let (dsn, ssn, len) = other;
        let options = raw.mapping(dsn, ssn, len);
        raw.send(sub, options, stream(100, 100));
        assert_eq!(raw.reason(sub), Some(ResetReason::MPTCP_ERROR.0), "{other:?}");
        assert_eq!(raw.info().refused, 1);
        raw.send_mapped(0, 0, 300);
        assert_eq!(raw.read(0), 300, "the connection goes on");
    }
}

#[test]
fn same_data_on_two_subflows_count_once_and_first_copy_wins() {
    let mut raw = client();
    let sub = raw.join(5);
    raw.send_mapped(0, 100, 200);
    // Another text for what came already.
    let options = raw.mapping(0, 1, 300);
    let mut bytes = stream(0, 300).to_bytes().to_vec();
    bytes[100..].fill(0);
    raw.send(sub, options, Payload::from(bytes));
    assert_eq!(raw.read(0), 300);
    assert_eq!(raw.info().duplicate_bytes, 200);
}

#[test]
fn mapping_beyond_the_window_is_dropped_and_not_acknowledged() {
    for dsn in [1 << 20, 1 << 31, 1 << 40, u64::MAX - 50, 1 << 63] {
        let mut raw = client();
        raw.send_mapped(0, dsn, 100);
        assert_eq!(raw.read(0), 0);
        raw.pass(Duration::from_millis(300));
        assert_eq!(raw.data_acked(), 0, "dsn {dsn}");
        assert_eq!(raw.info().held_bytes, 0);
        raw.send_mapped(0, 0, 100);
        assert_eq!(raw.read(0), 100);
    }
}

#[test]
fn mapping_that_covers_nothing_of_its_segment_is_ignored() {
    let mut raw = client();
    let options = raw.mapping(0, 5000, 100);
    raw.send(0, options, stream(0, 100));
    assert_eq!(raw.read(0), 0);
    assert_eq!(raw.info().refused, 1);
    assert_eq!(raw.info().mappings, 0);
    assert_eq!(raw.reason(0), None, "the subflow goes on");
    let options = raw.mapping(0, 1, 200);
    raw.send(0, options, stream(100, 100));
    assert_eq!(raw.read(0), 200);
}

#[test]
fn mapping_without_data_is_ignored() {
    let mut raw = client();
    let options = raw.mapping(0, 1, 100);
    raw.say(0, options);
    assert_eq!(raw.info().mappings, 0);
    assert_eq!(raw.info().refused, 1);
    raw.send_mapped(0, 0, 100);
    assert_eq!(raw.read(0), 100);
}

#[test]
fn mappings_without_end_reset_the_subflow() {
    let mut config = MptcpConfig::default();
    config.tcp.buffers = Buffers { send_max: 96 << 10, receive_max: 96 << 10, auto_tuning: false };
    let mut raw = Raw::client(&config);
    let sub = raw.join(5);
    // Behind a gap of a byte each byte has a mapping of its own.
    let mut most = 0;
    for at in 1..=6000 {
        let options = raw.mapping(u64::from(at), at + 1, 1);
        let mut segment = raw.segment(sub, options, stream(u64::from(at), 1));
        segment.seq += at;
        raw.put(sub, segment);
        most = most.max(raw.info().mappings);
        if raw.subs[sub].reset.is_some() {
            break;
        }
    }
    assert_eq!(raw.reason(sub), Some(ResetReason::MPTCP_ERROR.0));
    assert!((4000..4200).contains(&most), "{most}");
    assert_eq!(raw.info().mappings, 0, "forgotten");
    raw.send_mapped(0, 0, 300);
    assert_eq!(raw.read(0), 300);
}

/// Each subflow alone might hold a window behind a gap.
#[test]
fn payload_behind_gaps_of_all_subflows_together_is_bounded() {
    let mut config = MptcpConfig::default();
    config.tcp.buffers = Buffers { send_max: 1 << 20, receive_max: 1 << 20, auto_tuning: false };
    let mut raw = Raw::client(&config);
    (1..=8).for_each(|id| {
        raw.join(id);
    });
    let mut most = 0;
    for at in (1u32..1 << 20).step_by(1400) {
        for sub in 0..9 {
            let options = raw.mapping(u64::from(at), at + 1, 1400);
            let mut segment = raw.segment(sub, options, stream(u64::from(at), 1400));
            segment.seq += at;
            raw.put(sub, segment);
        }
        most = most.max(raw.info().held_bytes);
    }
    assert!(most > 100_000, "{most}: nothing was tried");
    assert!(most <= (1 << 20) + 9 * 65_535, "{most}");
    assert!(raw.subs.iter().all(|sub| sub.reset.is_none()));
}

#[test]
fn options_that_cannot_be_read_are_counted() {
    let mut raw = client();
    let priority = MptcpOption::Prio { backup: true };
    for (count, other) in [(1, 0xE1), (2, 0x31)] {
        let segment = raw.segment(0, priority.clone().into(), Payload::EMPTY);
        let [ours, theirs] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::IpAddr::from);
        let mut bytes = Vec::new();
        Packet::new(ours, theirs, Body::Tcp(segment)).emit(&mut bytes);
        let at = bytes.windows(3).position(|option| option == [30, 3, 0x51]).expect("MP_PRIO");
        bytes[at + 2] = other;
        let Body::Tcp(segment) = Packet::parse_captured(&bytes).expect("a packet").body else {
            panic!("a segment")
        };
        raw.put(0, segment);
        assert_eq!(raw.info().refused, count);
        assert!(!raw.info().paths[0].backup);
    }
}

#[test]
fn data_without_mapping_reset_the_subflow_after_a_window() {
    let mut raw = client();
    let sub = raw.join(5);
    let mut sent = 0u32;
    while raw.subs[sub].reset.is_none() {
        raw.send(sub, raw.data_ack(0), stream(0, 1400));
        sent += 1400;
        assert!(sent < 8 << 20, "{sent} bytes without a mapping");
    }
    assert_eq!(raw.reason(sub), Some(ResetReason::MPTCP_ERROR.0));
    assert_eq!(raw.info().held_bytes, 0, "discarded");
    raw.send_mapped(0, 0, 300);
    assert_eq!(raw.read(0), 300);
}

#[test]
fn data_acknowledgement_of_the_future_is_ignored() {
    let mut raw = client();
    let wrote = u64::from(raw.write(5000));
    for bytes in [wrote + 2, 1 << 33, u64::MAX / 2, u64::MAX] {
        let refused = raw.info().refused;
        let options = raw.data_ack(bytes);
        raw.say(0, options);
        assert_eq!(raw.info().snd_una, 0);
        assert_eq!(raw.info().refused, refused + 1, "{bytes}");
    }
    let options = raw.data_ack(2000);
    raw.say(0, options);
    assert_eq!(raw.info().snd_una, 2000);
    let options = raw.data_ack(1000);
    raw.say(0, options);
    assert_eq!(raw.info().snd_una, 2000, "an old one");
}

#[test]
fn window_without_data_acknowledgement_is_none_of_the_connection() {
    let mut raw = client();
    raw.write(1 << 20);
    raw.pass(Duration::from_millis(1));
    let sent = raw.info().snd_nxt;
    // Acknowledged on the subflow, in a segment with another option and a large window.
    let id = 9;
    let add = AddAddr::signed(KEY, raw.their_key, id, [10, 0, 9, 9].into(), None);
    raw.say(0, MptcpOption::AddAddr(add).into());
    assert!(raw.info().snd_nxt <= sent.max(u64::from(u16::MAX) << 7));
    assert_eq!(raw.info().snd_una, 0);
}

fn data_fin(raw: &Raw, dsn: u64, ssn: u32, len: u16) -> MptcpOptions {
    let dsn = DataNumber::Long(raw.number(dsn));
    let mapping = Mapping { dsn, subflow_seq: ssn, len, checksum: None };
    Dss::EMPTY.with_mapping(mapping).with_fin().into()
}

#[test]
fn data_fin_with_data_ends_behind_them() {
    let mut raw = client();
    let options = data_fin(&raw, 0, 1, 11);
    raw.send(0, options, stream(0, 10));
    assert_eq!(raw.read(0), 10);
    assert_eq!(raw.data_acked(), 11, "RFC 8684 s3.3.3: the DATA_FIN counts one");
}

#[test]
fn data_fin_before_its_data_waits_for_them() {
    let mut raw = client();
    let options = data_fin(&raw, 100, 0, 1);
    raw.say(0, options);
    assert_eq!(raw.data_acked(), 0);
    raw.send_mapped(0, 0, 100);
    raw.pass(Duration::from_millis(100));
    assert_eq!(raw.data_acked(), 101);
}

#[test]
fn another_end_of_the_stream_is_not_believed() {
    let mut raw = client();
    raw.send_mapped(0, 0, 100);
    for (dsn, refused) in [(50, 1), (1 << 40, 2), (200, 2), (300, 3), (200, 3)] {
        let options = data_fin(&raw, dsn, 0, 1);
        raw.say(0, options);
        assert_eq!(raw.info().refused, refused, "{dsn}");
    }
    // What follows the end is not data.
    raw.send_mapped(0, 100, 300);
    assert_eq!(raw.read(0), 200);
    assert_eq!(raw.data_acked(), 201);
}

#[test]
fn checksum_where_none_was_agreed_or_missing_resets() {
    let mut raw = client();
    let sub = raw.join(5);
    let dsn = DataNumber::Long(raw.number(0));
    let mapping = Mapping { dsn, subflow_seq: 1, len: 100, checksum: Some(7) };
    raw.send(sub, Dss::EMPTY.with_mapping(mapping).into(), stream(0, 100));
    assert_eq!(raw.reason(sub), Some(ResetReason::MPTCP_ERROR.0));
    let config = MptcpConfig { checksum: true, ..MptcpConfig::default() };
    let mut raw = Raw::client(&config);
    let sub = raw.join(5);
    raw.send_mapped(sub, 0, 100);
    assert_eq!(raw.reason(sub), Some(ResetReason::MPTCP_ERROR.0));
}

#[test]
fn infinite_mapping_after_a_join_resets_the_subflow() {
    let mut raw = client();
    let sub = raw.join(5);
    let options = raw.mapping(0, 1, 0);
    raw.send(sub, options, stream(0, 100));
    assert_eq!(raw.reason(sub), Some(ResetReason::MPTCP_ERROR.0));
    assert!(!raw.info().fallback);
}

#[test]
fn infinite_mapping_on_the_only_subflow_makes_it_tcp() {
    let mut raw = client();
    raw.send_mapped(0, 0, 100);
    let options = raw.mapping(100, 101, 0);
    raw.send(0, options, stream(100, 100));
    raw.send(0, MptcpOptions::default(), stream(200, 100));
    assert_eq!(raw.read(0), 300);
    assert!(raw.info().fallback);
}

#[test]
fn shifted_data_cannot_become_tcp() {
    // A mapping that moves data on the only subflow: its bytes are not the connection's.
    let mut raw = client();
    raw.send_mapped(0, 0, 100);
    raw.send_mapped(0, 0, 100);
    raw.send(0, MptcpOptions::default(), stream(100, 100));
    assert!(!raw.info().fallback);
    assert_eq!(raw.reason(0), Some(ResetReason::MIDDLEBOX_INTERFERENCE.0));
    assert_eq!(raw.failed, Some(SocketError::Reset));
}

#[test]
fn fast_close_with_the_right_key_ends_with_the_wrong_key_nothing() {
    for reset in [false, true] {
        let mut raw = client();
        let sub = raw.join(5);
        let wrong = Key(raw.their_key.0 ^ 1);
        raw.say(sub, MptcpOption::FastClose { receiver: wrong }.into());
        assert_eq!(raw.info().refused, 1);
        raw.send_mapped(0, 0, 100);
        assert_eq!(raw.read(0), 100);
        let right = MptcpOption::FastClose { receiver: raw.their_key };
        let mut segment = raw.segment(sub, right.into(), Payload::EMPTY);
        if reset {
            segment.flags = Flags::RST | Flags::ACK;
        }
        raw.put(sub, segment);
        assert_eq!(raw.failed, Some(SocketError::Reset), "at once");
        assert!(raw.subs[0].reset.is_some(), "the others are reset");
    }
}

#[test]
fn fast_close_with_the_wrong_key_on_a_reset_ends_only_that_subflow() {
    let mut raw = client();
    let sub = raw.join(5);
    let wrong = MptcpOption::FastClose { receiver: Key(1) };
    let mut segment = raw.segment(sub, wrong.into(), Payload::EMPTY);
    segment.flags = Flags::RST | Flags::ACK;
    raw.put(sub, segment);
    assert_eq!(raw.failed, None);
    raw.send_mapped(0, 0, 100);
    assert_eq!(raw.read(0), 100);
}

#[test]
fn options_out_of_the_window_are_not_heard() {
    // RFC 8684 s3: TCP's acceptance tests come first.
    let mut raw = client();
    let fast_close = MptcpOption::FastClose { receiver: raw.their_key };
    let mut segment = raw.segment(0, fast_close.into(), Payload::EMPTY);
    segment.seq += 1 << 30;
    raw.put(0, segment);
    assert_eq!(raw.failed, None);
    assert_eq!(raw.info().refused, 0);
}

#[test]
fn join_with_an_unknown_token_is_refused_with_reason_1() {
    let mut raw = client();
    let token = Token(raw.their_key.token().0 ^ 1);
    let (sub, answer) = raw.begin_join(5, token, 1);
    assert_eq!(answer, None);
    assert_eq!(raw.reason(sub), Some(ResetReason::MPTCP_ERROR.0));
    assert_eq!(raw.stack.refused_joins(), 1, "counted");
}

#[test]
fn join_before_full_establishment_is_refused() {
    let config = MptcpConfig::default();
    let mut listener = Raw::listener(&config);
    listener.begin();
    for mut raw in [listener, Raw::server_unconfirmed(&config)] {
        let token = raw.their_key.token();
        let (sub, answer) = raw.begin_join(5, token, 1);
        assert_eq!(answer, None);
        assert_eq!(raw.reason(sub), Some(ResetReason::ADMINISTRATIVELY_PROHIBITED.0));
    }
}

#[test]
fn joins_beyond_the_limit_are_refused_with_reason_3() {
    let config = MptcpConfig { max_extra_subflows: 2, ..MptcpConfig::default() };
    let mut raw = Raw::client(&config);
    raw.join(1);
    let second = raw.join(2);
    let token = raw.their_key.token();
    let (third, answer) = raw.begin_join(3, token, 1);
    assert_eq!(answer, None);
    assert_eq!(raw.reason(third), Some(ResetReason::ADMINISTRATIVELY_PROHIBITED.0));
    let mut reset = raw.segment(second, MptcpOptions::default(), Payload::EMPTY);
    reset.flags = Flags::RST;
    raw.put(second, reset);
    let fourth = raw.join(4);
    raw.send_mapped(fourth, 0, 100);
    assert_eq!(raw.read(0), 100, "there is room again");
}

#[test]
fn join_with_a_wrong_or_missing_proof_is_reset_with_reason_1() {
    let token_of = |raw: &Raw| raw.their_key.token();
    for missing in [false, true] {
        let mut raw = client();
        let token = token_of(&raw);
        let (sub, theirs) = raw.begin_join(5, token, 77);
        assert!(theirs.is_some());
        let options = match missing {
            true => raw.data_ack(0),
            false => MptcpOption::Join(Join::Ack { hmac: [9; 20] }).into(),
        };
        raw.say(sub, options);
        assert_eq!(raw.reason(sub), Some(ResetReason::MPTCP_ERROR.0));
        assert_eq!(raw.info().refused, 1);
        // The token is no secret, the keys are: data on such a subflow go nowhere.
        raw.send_mapped(sub, 0, 100);
        assert_eq!(raw.read(0), 0);
    }
}

#[test]
fn proof_of_an_old_join_proves_nothing_in_a_new_one() {
    // Who saw a join sees its proof, but the listener's nonce is another one every time.
    let mut raw = client();
    let token = raw.their_key.token();
    let (first, theirs) = raw.begin_join(5, token, 77);
    let theirs = theirs.expect("an answer");
    raw.prove(first, 77, theirs);
    let (second, fresh) = raw.begin_join(6, token, 77);
    assert_ne!(fresh, Some(theirs));
    raw.prove(second, 77, theirs);
    assert_eq!(raw.reason(second), Some(ResetReason::MPTCP_ERROR.0));
    assert!(raw.subs[first].reset.is_none());
}

#[test]
fn half_open_connections_are_bounded() {
    let mut raw = Raw::listener(&MptcpConfig::default());
    for _ in 0..4_200 {
        raw.begin_again();
    }
    assert_eq!(raw.came.len(), 4_096, "as many as a listener's backlog");
    raw.pass(Duration::from_secs(120));
    let before = raw.came.len();
    raw.begin_again();
    assert!(raw.came.len() > before, "they time out");
}

#[test]
fn forged_joins_do_not_use_up_the_numbers_of_subflows() {
    let mut raw = client();
    for round in 0..200 {
        let token = raw.their_key.token();
        let (sub, theirs) = raw.begin_join(5, token, round);
        assert!(theirs.is_some(), "join {round}");
        raw.say(sub, MptcpOption::Join(Join::Ack { hmac: [9; 20] }).into());
        assert!(raw.subs[sub].reset.is_some());
    }
    let sub = raw.join(6);
    raw.send_mapped(sub, 0, 100);
    assert_eq!(raw.read(0), 100);
    assert!(raw.info().paths.len() <= 64);
}

#[test]
fn half_open_joins_are_bounded_and_time_out() {
    let mut raw = client();
    let token = raw.their_key.token();
    let answered = (0..20).filter(|nonce| raw.begin_join(5, token, *nonce).1.is_some()).count();
    assert_eq!(answered, 8, "as many as there may be subflows");
    raw.send_mapped(0, 0, 100);
    raw.pass(Duration::from_secs(90));
    let sub = raw.join(6);
    raw.send_mapped(sub, 100, 100);
    assert_eq!(raw.read(0), 200);
}

/// Regression: where the last subflow was reset by the host itself, an idle connection never ended.
#[test]
fn connection_whose_last_join_is_refused_ends_after_a_minute() {
    let mut raw = client();
    let token = raw.their_key.token();
    let (sub, theirs) = raw.begin_join(5, token, 77);
    assert!(theirs.is_some());
    let mut reset = raw.segment(0, MptcpOptions::default(), Payload::default());
    reset.flags = Flags::RST;
    raw.put(0, reset);
    raw.say(sub, MptcpOption::Join(Join::Ack { hmac: [9; 20] }).into());
    assert!(raw.subs[sub].reset.is_some());
    raw.pass(Duration::from_secs(50));
    assert_eq!(raw.failed, None, "another subflow may come");
    raw.pass(Duration::from_secs(15));
    assert_eq!(raw.failed, Some(SocketError::TimedOut));
}

#[test]
fn third_packet_again_is_answered_again() {
    let mut raw = client();
    let token = raw.their_key.token();
    let (sub, theirs) = raw.begin_join(5, token, 77);
    let hmac = join_hmac((KEY, 77), (raw.their_key, theirs.expect("an answer"))).left20();
    for _ in 0..3 {
        let before = raw.came.len();
        raw.say(sub, MptcpOption::Join(Join::Ack { hmac }).into());
        let answers = raw.came[before..].iter().filter(|(index, _)| *index == sub).count();
        assert_eq!(answers, 1, "the fourth packet");
    }
}

#[test]
fn a_client_accepts_a_join_of_its_server() {
    let mut raw = Raw::server(&MptcpConfig::default());
    let sub = raw.join(3);
    raw.send_mapped(sub, 0, 100);
    raw.send_mapped(0, 100, 100);
    assert_eq!(raw.read(0), 200);
}

#[test]
fn keys_are_waited_for_only_so_long() {
    // A DSS without the keys before: the peer's SYN/ACK is repeated, and in the end it is TCP.
    let mut raw = Raw::listener(&MptcpConfig::default());
    raw.begin();
    raw.say(0, raw.data_ack(0));
    assert!(raw.socket.is_none(), "not accepted without keys");
    raw.pass(Duration::from_secs(8));
    let synacks = raw.came.iter().filter(|(_, s)| s.flags.contains(Flags::SYN)).count();
    assert!(synacks >= 3);
    raw.say(0, raw.data_ack(0));
    assert!(raw.info().fallback);
}

#[test]
fn reset_without_fast_close_leaves_a_minute_for_a_new_subflow() {
    for in_time in [true, false] {
        let mut raw = client();
        raw.send_mapped(0, 0, 100);
        raw.write(3000);
        let mut reset = raw.segment(0, MptcpOptions::default(), Payload::EMPTY);
        reset.flags = Flags::RST;
        raw.put(0, reset);
        assert_eq!(raw.failed, None);
        raw.pass(Duration::from_secs(if in_time { 59 } else { 61 }));
        if !in_time {
            assert_eq!(raw.failed, Some(SocketError::TimedOut));
            continue;
        }
        let sub = raw.join(7);
        raw.send_mapped(sub, 100, 100);
        assert_eq!(raw.read(0), 200);
        raw.pass(Duration::from_secs(3));
        let again: u32 = raw
            .came
            .iter()
            .filter(|(index, _)| *index == sub)
            .map(|(_, segment)| segment.payload.len())
            .sum();
        assert!(again >= 3000, "what the lost subflow had is sent again: {again}");
        assert_eq!(raw.failed, None);
    }
}

#[test]
fn subflow_fin_after_all_data_keeps_the_other_direction() {
    // A peer that ends its subflows when its own DATA_FIN is acknowledged (RFC 8684 s3.3.3).
    let mut raw = client();
    raw.send_mapped(0, 0, 100);
    let options = data_fin(&raw, 100, 0, 1);
    raw.say(0, options);
    assert_eq!(raw.read(0), 100);
    let mut fin = raw.segment(0, raw.data_ack(0), Payload::EMPTY);
    fin.flags = Flags::ACK | Flags::FIN;
    raw.put(0, fin);
    raw.subs[0].sent += 1;
    assert_eq!(raw.write(8000), 8000);
    raw.pass(Duration::from_millis(10));
    let bytes: u32 = raw.came.iter().map(|(_, segment)| segment.payload.len()).sum();
    assert_eq!(bytes, 8000);
    assert_eq!(raw.failed, None);
}

#[test]
fn announcements_are_verified_echoed_and_bounded() {
    let config = MptcpConfig { max_extra_subflows: 0, ..MptcpConfig::default() };
    let mut raw = Raw::server(&config);
    let forged = AddAddr::signed(Key(3), raw.their_key, 3, [10, 0, 2, 9].into(), None);
    let before = raw.came.len();
    raw.say(0, MptcpOption::AddAddr(forged).into());
    assert_eq!(raw.came.len(), before, "not even an answer");
    assert_eq!(raw.info().refused, 1);
    for id in 1..=255u8 {
        let add = AddAddr::signed(KEY, raw.their_key, id, [10, 0, 2, id].into(), Some(4433));
        raw.say(0, MptcpOption::AddAddr(add).into());
        let echo = raw.came.last().and_then(|(_, segment)| segment.options.mptcp.add_addr());
        assert_eq!(echo, Some(add.echo()));
    }
    assert!(raw.strays.is_empty(), "no joins beyond the limit");
}

#[test]
fn announced_port_is_joined() {
    for (port, expected) in [(None, 80), (Some(4433), 4433)] {
        let mut raw = Raw::server(&MptcpConfig::default());
        raw.strays.clear();
        let add = AddAddr::signed(KEY, raw.their_key, 4, [10, 0, 2, 2].into(), port);
        raw.say(0, MptcpOption::AddAddr(add).into());
        let joined: Vec<_> = raw.strays.iter().map(|(to, _)| *to).collect();
        let to = std::net::SocketAddr::new([10, 0, 2, 2].into(), expected);
        assert!(joined.contains(&to), "{joined:?}");
    }
}

#[test]
fn same_number_with_a_new_port_is_tried_with_a_new_address_is_not() {
    let mut raw = Raw::server(&MptcpConfig::default());
    raw.strays.clear();
    let to = |raw: &mut Raw, ip: [u8; 4], port| {
        raw.strays.clear();
        let add = AddAddr::signed(KEY, raw.their_key, 4, ip.into(), Some(port));
        raw.say(0, MptcpOption::AddAddr(add).into());
        raw.strays.len()
    };
    assert_eq!(to(&mut raw, [10, 0, 2, 2], 1000), 2, "from both addresses");
    assert_eq!(to(&mut raw, [10, 0, 2, 2], 1000), 0, "on their way already");
    assert_eq!(to(&mut raw, [10, 0, 2, 2], 1001), 2);
    assert_eq!(to(&mut raw, [10, 0, 2, 3], 1001), 0);
    raw.say(0, MptcpOption::RemoveAddr { ids: vec![4] }.into());
    assert_eq!(to(&mut raw, [10, 0, 2, 3], 1001), 2, "free again");
}

#[test]
fn removing_an_unknown_or_the_last_address_does_nothing() {
    let mut raw = client();
    raw.say(0, MptcpOption::RemoveAddr { ids: vec![3, 9, 0, 255] }.into());
    raw.send_mapped(0, 0, 100);
    assert_eq!(raw.read(0), 100);
}
