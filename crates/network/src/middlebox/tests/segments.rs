//! `Splitter` and `Coalescer`.

use super::*;

const HOLD: Duration = Duration::from_millis(1);

fn split(max_bytes: u32, copies: OptionCopies) -> Bench {
    Bench::new(&MiddleBoxConfig::Split { max_bytes, copies })
}

fn coalesce(max_bytes: u32, rule: JoinRule) -> Bench {
    Bench::new(&MiddleBoxConfig::Coalesce { max_bytes, hold: HOLD, rule })
}

fn out(bench: &mut Bench, segment: TcpSegment) -> Vec<TcpSegment> {
    let out = bench.through(Way::Outward, packet(Way::Outward, segment));
    out.iter().map(|packet| segment_of(packet.clone())).collect()
}

fn segment_of(packet: Packet) -> TcpSegment {
    TcpSegment { src_port: 0, dst_port: 0, ..segment(&packet).clone() }
}

fn push_fin(mut segment: TcpSegment) -> TcpSegment {
    segment.flags = segment.flags | Flags::PSH | Flags::FIN;
    segment
}

#[test]
fn pieces_carry_the_whole_and_its_end_only_last() {
    let whole = with_options(push_fin(data(100, 1000)), mapping(100, 1001));
    let pieces = out(&mut split(400, OptionCopies::All), whole.clone());
    let starts: Vec<u32> = pieces.iter().map(|piece| piece.seq.0).collect();
    assert_eq!(starts, [101, 501, 901]);
    assert!(pieces.iter().all(|piece| piece.options == whole.options));
    assert_eq!(
        pieces.iter().map(|piece| piece.flags).collect::<Vec<_>>(),
        [Flags::ACK, Flags::ACK, Flags::ACK | Flags::PSH | Flags::FIN]
    );
    let mut payload = Payload::EMPTY;
    pieces.into_iter().for_each(|piece| payload.append(piece.payload));
    assert_eq!(payload, whole.payload);
}

#[test]
fn options_on_the_first_piece_alone_are_those_of_mptcp() {
    let whole = with_options(data(0, 900), mapping(0, 900));
    let pieces = out(&mut split(400, OptionCopies::First), whole.clone());
    assert_eq!(pieces[0].options, whole.options);
    for piece in &pieces[1..] {
        assert!(piece.options.mptcp.is_empty());
        assert_eq!(piece.options.timestamps, whole.options.timestamps);
    }
}

#[test]
fn small_segment_is_not_split() {
    let small = with_options(data(0, 400), mapping(0, 400));
    assert_eq!(out(&mut split(400, OptionCopies::First), small.clone()), [small]);
}

#[test]
fn neighbours_are_joined_until_there_is_no_room() {
    let mut bench = coalesce(3000, JoinRule::FirstOptions);
    let first = with_options(data(0, 1400), mapping(0, 1400));
    assert_eq!(out(&mut bench, first.clone()), []);
    let mut second = with_options(data(1400, 1400), mapping(1400, 1400));
    second.ack = SeqNumber(9);
    assert_eq!(out(&mut bench, second), []);
    let joined = TcpSegment { ack: SeqNumber(9), ..with_options(data(0, 2800), mapping(0, 1400)) };
    assert_eq!(out(&mut bench, data(2800, 1400)), [joined]);
}

#[test]
fn push_ends_the_wait_of_offload_alone() {
    let mut last = data(1400, 100);
    last.flags = last.flags | Flags::PSH;
    let mut joined = data(0, 1500);
    joined.flags = joined.flags | Flags::PSH;
    for (rule, at_once) in [(JoinRule::SameOptions, true), (JoinRule::FirstOptions, false)] {
        let mut bench = coalesce(60_000, rule);
        assert_eq!(out(&mut bench, data(0, 1400)), []);
        let came = out(&mut bench, last.clone());
        assert_eq!(came, if at_once { vec![joined.clone()] } else { vec![] });
        bench.pass(HOLD);
        assert_eq!(bench.release(Way::Outward).len(), usize::from(!at_once));
    }
}

#[test]
fn segment_alone_goes_on_when_its_time_is_up() {
    let mut bench = coalesce(60_000, JoinRule::FirstOptions);
    assert_eq!(out(&mut bench, data(0, 1400)), []);
    bench.pass(HOLD - Duration::from_nanos(1));
    assert_eq!(bench.release(Way::Outward), []);
    bench.pass(Duration::from_nanos(1));
    assert_eq!(bench.half(Way::Outward).next_deadline(), Some(bench.now));
    assert_eq!(bench.release(Way::Outward), [packet(Way::Outward, data(0, 1400))]);
    assert_eq!(bench.half(Way::Outward).next_deadline(), None);
}

#[test]
fn other_segments_let_the_held_one_out_before_them() {
    let others = [data(2000, 100), data(0, 1400), ack(1401, 1), push_fin(data(1400, 10))];
    for other in others {
        let mut bench = coalesce(60_000, JoinRule::FirstOptions);
        assert_eq!(out(&mut bench, data(0, 1400)), []);
        let mut came = out(&mut bench, other.clone());
        came.extend(bench.release(Way::Outward).into_iter().map(segment_of));
        bench.pass(HOLD);
        came.extend(bench.release(Way::Outward).into_iter().map(segment_of));
        assert_eq!(came, [data(0, 1400), other]);
    }
}

#[test]
fn segments_with_other_options_stay_apart_where_options_must_agree() {
    let mut bench = coalesce(60_000, JoinRule::SameOptions);
    let mapped = |offset| with_options(data(offset, 1000), mapping(0, 2000));
    assert_eq!(out(&mut bench, mapped(0)), []);
    assert_eq!(out(&mut bench, mapped(1000)), [], "one mapping for both");
    let other = with_options(data(2000, 1000), mapping(2000, 1000));
    assert_eq!(out(&mut bench, other), [with_options(data(0, 2000), mapping(0, 2000))]);
}
