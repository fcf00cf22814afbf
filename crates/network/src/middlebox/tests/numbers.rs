//! `SequenceRewriter` and `PayloadRewriter`: numbers that stay consistent.

use super::*;

fn sack(mut segment: TcpSegment, start: u32, end: u32) -> TcpSegment {
    segment.options.sack.push(SeqNumber(start), SeqNumber(end));
    segment
}

#[test]
fn acknowledgements_name_the_numbers_their_receiver_sent() {
    let mut bench = Bench::new(&MiddleBoxConfig::RewriteSequence { owner: 3 });
    let sent = bench.through(Way::Outward, packet(Way::Outward, syn(1000)));
    let shifted = segment(&sent[0]).seq;
    assert_ne!(shifted, SeqNumber(1000));
    assert_eq!(segment(&sent[0]).ack, SeqNumber(0), "no ACK flag, no acknowledgement");

    let answer = TcpSegment { flags: Flags::SYN | Flags::ACK, ..ack(50, 0) };
    let answer = sack(TcpSegment { ack: shifted + 1, ..answer }, shifted.0 + 10, shifted.0 + 20);
    let came = bench.through(Way::Inward, packet(Way::Inward, answer));
    assert_eq!(segment(&came[0]).ack, SeqNumber(1001));
    let blocks = segment(&came[0]).options.sack.as_slice();
    assert_eq!(blocks, [(SeqNumber(1010), SeqNumber(1020))]);
    assert_ne!(segment(&came[0]).seq, SeqNumber(50));

    let third = TcpSegment { ack: segment(&came[0]).seq + 1, ..ack(1001, 0) };
    let out = bench.through(Way::Outward, packet(Way::Outward, third));
    assert_eq!(segment(&out[0]).ack, SeqNumber(51));
    assert_eq!(segment(&out[0]).seq, shifted + 1);
}

#[test]
fn offsets_are_drawn_for_each_flow_and_box() {
    let offset = |owner, port| {
        let mut bench = Bench::new(&MiddleBoxConfig::RewriteSequence { owner });
        let mut packet = packet(Way::Outward, syn(0));
        if let Some(segment) = flow::tcp_mut(&mut packet) {
            segment.src_port = port;
        }
        segment(&bench.through(Way::Outward, packet)[0]).seq
    };
    assert_eq!(offset(1, 4000), offset(1, 4000));
    assert_ne!(offset(1, 4000), offset(1, 4001));
    assert_ne!(offset(1, 4000), offset(2, 4000));
}

fn rewriter(find: &[u8], replace: &[u8]) -> Bench {
    let (find, replace) = (find.to_vec(), replace.to_vec());
    let mut bench =
        Bench::new(&MiddleBoxConfig::RewritePayload { way: Way::Outward, find, replace });
    bench.through(Way::Outward, packet(Way::Outward, syn(100)));
    bench
}

/// Text at `offset` of a flow whose SYN is number 100.
fn text(offset: u32, bytes: &[u8]) -> TcpSegment {
    TcpSegment { payload: bytes.to_vec().into(), ..ack(101 + offset, 1) }
}

fn sent(bench: &mut Bench, offset: u32, bytes: &[u8]) -> (u32, Vec<u8>) {
    let out = bench.through(Way::Outward, packet(Way::Outward, text(offset, bytes)));
    let came = segment(&out[0]);
    (came.seq.0 - 101, came.payload.to_bytes().to_vec())
}

/// What the sender sees acknowledged.
fn acknowledged(bench: &mut Bench, offset: u32) -> u32 {
    let out = bench.through(Way::Inward, packet(Way::Inward, ack(1, 101 + offset)));
    segment(&out[0]).ack.0 - 101
}

#[test]
fn longer_address_moves_numbers_and_acknowledgements_behind_it() {
    let mut ftp = rewriter(b"10,0,0,1", b"203,0,113,77");
    assert_eq!(sent(&mut ftp, 0, b"USER x\r\n"), (0, b"USER x\r\n".to_vec()));
    let port = b"PORT 10,0,0,1,4,0\r\n";
    let changed = b"PORT 203,0,113,77,4,0\r\n".to_vec();
    assert_eq!(sent(&mut ftp, 8, port), (8, changed.clone()));
    assert_eq!(sent(&mut ftp, 27, b"LIST\r\n"), (31, b"LIST\r\n".to_vec()));
    assert_eq!(sent(&mut ftp, 8, port), (8, changed), "sent again");
    assert_eq!([8, 31, 37].map(|at| acknowledged(&mut ftp, at)), [8, 27, 33]);
    let out = ftp.through(Way::Inward, packet(Way::Inward, sack(ack(1, 109), 132, 138)));
    let blocks = segment(&out[0]).options.sack.as_slice();
    assert_eq!(blocks, [(SeqNumber(128), SeqNumber(134))]);
}

#[test]
fn retransmission_cut_inside_the_edit_is_the_same_stream() {
    let mut ftp = rewriter(b"10,0,0,1", b"203,0,113,77");
    sent(&mut ftp, 0, b"PORT 10,0,0,1,4,0\r\n");
    let (first, mut stream) = sent(&mut ftp, 0, b"PORT 10,");
    let (second, rest) = sent(&mut ftp, 8, b"0,0,1,4,0\r\n");
    assert_eq!((first, second as usize), (0, stream.len()));
    stream.extend(rest);
    assert_eq!(stream, b"PORT 203,0,113,77,4,0\r\n");
}

#[test]
fn virtual_payload_is_changed_where_it_matches_and_virtual_elsewhere() {
    let find = Payload::virtual_range(1, 500, 8).to_bytes();
    let mut bench = rewriter(&find, &[0; 8]);
    let original = Payload::virtual_range(1, 0, 1000);
    let carried = TcpSegment { payload: original.clone(), ..ack(101, 1) };
    let out = bench.through(Way::Outward, packet(Way::Outward, carried));
    let pieces = segment(&out[0]).payload.clone().into_pieces();
    let expected = [original.slice(0, 500), Payload::from(vec![0; 8]), original.slice(508, 492)];
    assert_eq!(pieces, expected);
    assert_eq!(segment(&out[0]).seq, SeqNumber(101));
}

#[test]
fn nothing_found_changes_nothing() {
    let mut bench = rewriter(b"zzz", b"");
    for (way, segment) in [
        (Way::Outward, text(0, b"hello")),
        (Way::Outward, text(5, b"zz")),
        (Way::Inward, sack(ack(1, 101), 106, 108)),
        (Way::Inward, data(0, 1000)),
        (Way::Outward, ack(100, 1)),
    ] {
        let plain = packet(way, segment);
        assert_eq!(bench.through(way, plain.clone()), [plain]);
    }
}

#[test]
fn port_used_again_is_a_new_stream() {
    let mut bench = rewriter(b"ab", b"");
    assert_eq!(sent(&mut bench, 0, b"ab-"), (0, b"-".to_vec()));
    assert_eq!(sent(&mut bench, 3, b"-"), (1, b"-".to_vec()));
    bench.through(Way::Outward, packet(Way::Outward, syn(5000)));
    let fresh = TcpSegment { payload: b"-----".to_vec().into(), ..ack(5001, 1) };
    let fresh = packet(Way::Outward, fresh);
    assert_eq!(bench.through(Way::Outward, fresh.clone()), [fresh]);
}
