//! `OptionStripper` and `SilentDrop`.

use super::*;

const KEYS: [Key; 2] = [Key(1), Key(2)];

/// Client and server take turns: a handshake, and data with mappings.
fn opening() -> Vec<(Way, TcpSegment)> {
    let [sender, receiver] = KEYS;
    let flags = CapableFlags::HMAC_SHA256;
    let capable = |form| MptcpOption::Capable(Capable::V1 { flags, form });
    let syn_ack = TcpSegment { flags: Flags::SYN | Flags::ACK, ..ack(0, 1) };
    let data_form = CapableForm::Data { sender, receiver, len: 100, checksum: None };
    let segments = vec![
        (Way::Outward, syn(0), capable(CapableForm::Syn)),
        (Way::Inward, syn_ack, capable(CapableForm::SynAck { sender: receiver })),
        (Way::Outward, ack(1, 1), capable(CapableForm::Ack { sender, receiver })),
        (Way::Outward, data(0, 100), capable(data_form)),
        (Way::Inward, ack(1, 101), mapping(0, 0)),
        (Way::Inward, data(0, 1000), mapping(0, 1000)),
    ];
    segments.into_iter().map(|(way, segment, o)| (way, with_options(segment, o))).collect()
}

/// Which segments of an opening come out without MPTCP options; all must come out.
fn stripped(stage: Stage) -> Vec<usize> {
    let mut bench = Bench::new(&MiddleBoxConfig::StripOptions { stage });
    let mut bare = Vec::new();
    for (index, (way, sent)) in opening().into_iter().enumerate() {
        let out = bench.through(way, packet(way, sent.clone()));
        let came = segment(&out[0]);
        if came.options.mptcp.is_empty() {
            bare.push(index);
        }
        let mut expected = packet(way, sent);
        if let Some(segment) = flow::tcp_mut(&mut expected) {
            segment.options.mptcp = came.options.mptcp.clone();
        }
        assert_eq!(out, [expected], "nothing else changes");
    }
    bare
}

#[test]
fn each_stage_strips_its_own_segments_only() {
    assert_eq!(stripped(Stage::Syn), [0]);
    assert_eq!(stripped(Stage::SynAck), [1]);
    assert_eq!(stripped(Stage::ThirdAck), [2]);
    assert_eq!(stripped(Stage::Data), [3, 5]);
    // Packets are counted per direction.
    assert_eq!(stripped(Stage::After { passed: 2 }), [3, 5]);
    assert_eq!(stripped(Stage::All), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn third_acknowledgement_of_a_join_is_one_too() {
    let mut bench = Bench::new(&MiddleBoxConfig::StripOptions { stage: Stage::ThirdAck });
    let join = with_options(ack(1, 1), MptcpOption::Join(Join::Ack { hmac: [1; 20] }));
    let out = bench.through(Way::Outward, packet(Way::Outward, join));
    assert!(segment(&out[0]).options.mptcp.is_empty());
    assert!(segment(&out[0]).options.timestamps.is_some());
}

#[test]
fn silence_meets_what_it_is_for() {
    let passed = |swallowed| {
        let mut bench = Bench::new(&MiddleBoxConfig::SilentDrop { swallowed });
        let mut index = 0..;
        let passes = |(way, sent)| {
            let sent = packet(way, sent);
            let out = bench.through(way, sent.clone());
            assert!(out.is_empty() || out == [sent]);
            let index = index.next().unwrap_or_default();
            (!out.is_empty()).then_some(index)
        };
        opening().into_iter().filter_map(passes).collect::<Vec<usize>>()
    };
    assert_eq!(passed(Swallowed::Everything), [] as [usize; 0]);
    assert_eq!(passed(Swallowed::MptcpSyns), [2, 3, 4, 5]);
    assert_eq!(passed(Swallowed::After { passed: 1 }), [0, 1]);
}

#[test]
fn plain_syn_passes_where_one_with_an_option_does_not() {
    let mut bench = Bench::new(&MiddleBoxConfig::SilentDrop { swallowed: Swallowed::MptcpSyns });
    let plain = packet(Way::Outward, syn(1));
    assert_eq!(bench.through(Way::Outward, plain.clone()), [plain]);
    let join = Join::Syn { backup: false, address_id: 1, token: Token(1), nonce: 2 };
    let join = with_options(syn(1), MptcpOption::Join(join));
    assert_eq!(bench.through(Way::Outward, packet(Way::Outward, join)), []);
}
