//! Receive-buffer auto-tuning: DRS-1, the ratio, growth and overrun.

use super::*;

const ADVMSS: u32 = 1448;

fn established(max: u32) -> ReceiveBuffer {
    let mut buffer = ReceiveBuffer::auto(max, 1460, Sizing::Linux);
    buffer.on_established(Instant::ZERO, ADVMSS);
    buffer
}

fn full(now: Instant, index: u64) -> Received {
    let end = (index + 1) * u64::from(ADVMSS);
    Received {
        now,
        len: ADVMSS,
        truesize: received_truesize(1500),
        sack_bytes: 0,
        push: false,
        in_order: true,
        next_offset: end,
        highest: end,
    }
}

#[test]
fn drs_1_window_is_twelve_times_a_doubled_reading() {
    assert_eq!(target_window(100_000, 200_000, 0), 1_200_000);
    assert_eq!(target_window(100_000, 200_000, 5_000), 1_205_000, "gaps come on top");
    assert_eq!(target_window(100_000, 100_000, 0), 200_000, "no growth, no bonus");
}

/// Two downloads of a 6.18 kernel through TUN devices, RTT 40 ms: what the reader took in a round
/// trip and the size of the buffer after it.
#[test]
fn growth_is_what_a_kernel_measured() {
    let runs = [
        [(28_960, 278_016), (57_920, 556_032), (115_840, 1_112_064), (192_584, 1_432_822)],
        [(27_512, 246_505), (92_672, 1_701_260), (153_600, 1_701_260), (340_280, 3_735_705)],
    ];
    for run in runs {
        let mut buffer = established(32 << 20);
        buffer.on_segment(&full(Instant::from_millis(1), 0));
        for (copied, size) in run {
            buffer.enlarge(copied, 0);
            assert_eq!(buffer.size(), size, "after {copied}");
        }
    }
}

#[test]
fn handshake_offers_half_the_initial_buffer_in_whole_segments() {
    let buffer = ReceiveBuffer::auto(6 << 20, 1460, Sizing::Linux);
    assert_eq!(buffer.initial_window(), 64_240);
    assert_eq!(buffer.window_scale(), 7);
    assert_eq!(ReceiveBuffer::auto(32 << 20, 1460, Sizing::Linux).window_scale(), 10);
}

/// As a 6.18 kernel's SYN has it: 131,072 bytes are the largest window of 256 KiB.
#[test]
fn window_scale_of_a_fixed_buffer_is_for_half_of_it() {
    let scale = |size| ReceiveBuffer::fixed(size, 1460, Sizing::Linux).window_scale();
    assert_eq!((scale(256 << 10), scale(512 << 10), scale(2 << 20)), (2, 3, 5));
    assert_eq!((scale(64 << 10), scale(0), scale(32 << 20)), (0, 0, 9));
}

#[test]
fn an_ethernet_packet_costs_2304_bytes_of_memory() {
    assert_eq!(received_truesize(1500), 2304);
    assert_eq!(received_truesize(52), 960);
    assert_eq!(received_truesize(700), 2304);
}

#[test]
fn first_full_segment_measures_the_ratio() {
    let mut buffer = established(6 << 20);
    assert_eq!((buffer.clamp, buffer.ssthresh, buffer.space), (64_088, 64_088, 14_480));
    buffer.on_segment(&full(Instant::from_millis(50), 0));
    assert_eq!(buffer.segment_size(), ADVMSS);
    assert_eq!(buffer.ratio, 160, "1448 * 256 / 2304");
    assert_eq!(buffer.clamp, 81_920);
    assert_eq!(buffer.ssthresh, 64_240 + 2 * ADVMSS, "from what the handshake offered");
}

#[test]
fn reader_that_keeps_up_lets_the_buffer_grow_once_per_round_trip() {
    let mut buffer = established(6 << 20);
    let rtt = Duration::from_millis(40);
    let (mut index, mut window, mut now) = (0u64, 10u64, Instant::ZERO);
    let mut sizes = Vec::new();
    for _ in 0..7 {
        now += rtt;
        buffer.on_rtt(rtt, false);
        for _ in 0..window {
            buffer.on_segment(&full(now, index));
            index += 1;
            let read = index * u64::from(ADVMSS);
            buffer.on_read(now, read, read, read);
        }
        assert_eq!(buffer.used, 0);
        sizes.push(buffer.size());
        window *= 2;
    }
    assert!(sizes.is_sorted());
    assert_eq!(sizes[0], Sizing::Linux.initial());
    // A period ends with the first segment of the next burst.
    let window = target_window(160 * ADVMSS, 320 * ADVMSS, 0);
    assert_eq!(sizes.last().copied().map(u64::from), Some(window * 256 / 160));
}

#[test]
fn reader_that_stops_closes_the_window_before_memory_runs_out() {
    let mut buffer = established(131_072);
    let mut index = 0;
    let mut edge = u64::from(buffer.window(64_240, 7));
    while index * u64::from(ADVMSS) + u64::from(ADVMSS) <= edge {
        buffer.on_segment(&full(Instant::from_millis(index), index));
        index += 1;
        let end = index * u64::from(ADVMSS);
        edge = end + u64::from(buffer.window((edge - end) as u32, 7));
    }
    // At every ACK the rest of the window is rounded up to what the scale can represent.
    assert!(buffer.used <= u64::from(buffer.size()) * 11 / 10);
    assert!(edge - index * u64::from(ADVMSS) < u64::from(ADVMSS));
    let read = index * u64::from(ADVMSS);
    buffer.on_read(Instant::from_secs(9), read, read, read);
    assert!(buffer.window(0, 7) >= 2 * ADVMSS, "it opens again");
}

#[test]
fn window_never_shrinks_below_what_is_left() {
    let mut buffer = established(6 << 20);
    assert_eq!(buffer.window(100_000, 7), 100_096, "rounded up to 128");
}

#[test]
fn data_behind_a_gap_enlarge_the_buffer() {
    let mut buffer = established(6 << 20);
    let mut segment = full(Instant::from_millis(1), 0);
    buffer.on_segment(&segment);
    let before = buffer.size();
    segment.in_order = false;
    segment.highest = segment.next_offset + 200_000;
    buffer.on_segment(&segment);
    assert!(buffer.size() > before);
    assert_eq!(buffer.size(), ((2 * 14_480 + 200_000) * 256 / 160) as u32);
}

#[test]
fn fixed_buffer_never_grows() {
    let mut buffer = ReceiveBuffer::fixed(262_144, 1460, Sizing::Linux);
    buffer.on_established(Instant::ZERO, ADVMSS);
    for index in 0..1000 {
        let now = Instant::from_millis(index * 10);
        buffer.on_rtt(Duration::from_millis(5), false);
        buffer.on_segment(&full(now, index));
        let read = (index + 1) * u64::from(ADVMSS);
        buffer.on_read(now, read, read, read);
    }
    assert_eq!(buffer.size(), 262_144);
}

#[test]
fn receiver_rtt_falls_at_once_and_rises_slowly() {
    let mut rtt = ReceiverRtt::default();
    rtt.on_sample(40_000, false);
    rtt.on_sample(80_000, false);
    assert_eq!(rtt.us8, 360_000);
    rtt.on_sample(160_000, true);
    assert_eq!(rtt.us8, 360_000, "unread data spoil a long sample");
    rtt.on_sample(20_000, true);
    assert_eq!(rtt.us8, 160_000);
}

#[test]
fn a_window_of_shared_room_must_be_earned_too() {
    let mut buffer = established(6 << 20);
    buffer.on_segment(&full(Instant::from_millis(1), 0));
    assert_eq!(buffer.select_of(64_384, 65_536, 7), 64_384);
    assert_eq!(buffer.select_of(200_000, 300_000, 7), 67_200, "two segments more, rounded up");
    assert_eq!(buffer.select_of(20_000, 65_536, 7), 19_968, "rounded down when it gets tight");
    assert_eq!(buffer.select_of(4_000, 65_536, 7), 0);
}

fn old(sizing: Sizing) -> ReceiveBuffer {
    let mut buffer = ReceiveBuffer::auto(6 << 20, 1460, sizing);
    buffer.on_established(Instant::ZERO, ADVMSS);
    buffer
}

/// 87,380 bytes, of which half is window, and 14,600 or 29,200 of them offered.
#[test]
fn old_kernels_offer_10_or_20_segments_first() {
    for (sizing, window, size) in [
        (Sizing::Linux35, 14_600, 87_380),
        (Sizing::Linux311, 29_200, 87_380),
        (Sizing::Linux313, 29_200, 8 * 20 * 2280),
    ] {
        let buffer = old(sizing);
        assert_eq!((buffer.initial_window(), buffer.size()), (window, size), "{sizing:?}");
        assert_eq!(buffer.space, window, "growth is measured from the window");
    }
}

/// Half of 6 MiB, although a segment of 1448 bytes takes only 2304.
#[test]
fn old_kernels_never_offer_more_than_half_of_the_memory() {
    let mut buffer = old(Sizing::Linux313);
    buffer.on_segment(&full(Instant::from_millis(1), 0));
    assert_eq!(buffer.ratio(), INITIAL_RATIO);
    buffer.enlarge(100 << 20, 0);
    assert_eq!((buffer.size(), buffer.clamp()), (6 << 20, 3 << 20));
}

/// A gap of 6.18 enlarges the buffer; theirs does not.
#[test]
fn gaps_enlarge_only_the_buffers_of_6_18() {
    let behind = |sizing| {
        let mut buffer = ReceiveBuffer::auto(6 << 20, 1460, sizing);
        buffer.on_established(Instant::ZERO, ADVMSS);
        let before = buffer.size();
        let highest = 400 * u64::from(ADVMSS);
        let segment =
            Received { in_order: false, next_offset: 0, highest, ..full(Instant::ZERO, 0) };
        buffer.on_segment(&segment);
        buffer.size() > before
    };
    assert!(behind(Sizing::Linux));
    assert!(!behind(Sizing::Linux313) && !behind(Sizing::Linux35));
}

/// A second path adds as much memory as the first one had, and its first window.
#[test]
fn joined_path_adds_its_room_in_old_kernels() {
    let mut buffer = old(Sizing::Linux313);
    let (size, ssthresh) = (buffer.size(), buffer.ssthresh);
    buffer.on_joined();
    assert_eq!(buffer.size(), 2 * size);
    assert_eq!(buffer.ssthresh, ssthresh + 20 * ADVMSS);
    let mut new = established(6 << 20);
    new.on_joined();
    assert_eq!(new.size(), Sizing::Linux.initial(), "6.18 has no such rule");
}
