//! Any text as a recorded capacity: reading it never panics, takes memory in proportion to the
//! text, and gives a trace that a link can serve packets by.
//!
//! The last byte chooses direction and unit, so that a recording is a seed as it is.

#![no_main]

use base::{Chance, Context, Duration, Instant, LinkId};
use libfuzzer_sys::fuzz_target;
use network::trace::{self, Direction, Unit};
use network::{Capacity, CapacityTrace, Link, LinkConfig};
use std::sync::Arc;
use wire::{Body, Packet, Payload, TcpSegment};

/// Packets that each trace serves.
const PACKETS: u64 = 50;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_last() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let direction = if choice & 1 == 0 { Direction::Down } else { Direction::Up };
    let unit = match choice >> 4 {
        3..=7 => Unit::from_name(Unit::NAMES[usize::from(choice >> 4) % Unit::NAMES.len()]),
        _ => None,
    };
    let read = trace::read(text, direction, unit);
    assert_eq!(read, trace::read(text, direction, unit));
    match read {
        Ok((trace, form)) => {
            assert!(!form.to_string().is_empty());
            check(&trace, text.len());
            serve(trace, Duration::from_millis(u64::from(*choice)));
        }
        Err(error) => assert!(!error.to_string().is_empty() && !error.fault.mend().is_empty()),
    }
});

fn check(trace: &CapacityTrace, len: usize) {
    assert!(!trace.period().is_zero());
    assert!(trace.samples() <= len + 1, "{} samples of {len} bytes", trace.samples());
    assert!(trace.mean_rate().as_bps() <= 1_000_000_000_000);
    let longest = [trace.longest_gap(), Some(trace.longest_silence())];
    assert!(longest.into_iter().flatten().all(|time| time <= trace.period()));
    for bytes in [0, 1, 1500, 1 << 40, u64::MAX] {
        let _ = trace.longest_time_for(bytes);
    }
    for part in 0..8 {
        let _ = trace.rate_at(trace.period() * part / 4);
    }
}

/// Offers packets all at once and lets them through in order.
fn serve(trace: CapacityTrace, offset: Duration) {
    // Less than a bit a second: the packets may outlast the 584 years that time has.
    let endless = trace.mean_rate().as_bps() == 0;
    let capacity = Capacity::Trace { trace: Arc::new(trace), offset };
    let mut link = Link::new(LinkId(0), LinkConfig { capacity, ..LinkConfig::default() }, 1);
    let chance = Chance::new(1, 0);
    for _ in 0..PACKETS {
        assert!(link.enqueue(&mut Context::quiet(Instant::from_micros(7), chance), packet()));
    }
    let (mut served, mut last) = (0, Instant::ZERO);
    while let Some(due) = link.next_deadline() {
        assert!(due >= last, "{due} after {last}");
        last = due;
        let mut cx = Context::quiet(due, chance);
        while link.poll(&mut cx).is_some() {
            served += 1;
        }
        assert!(served <= PACKETS);
        // The end of time: a trace may have a rate of less than a bit in any realistic time.
        if due == Instant::FAR_FUTURE {
            return;
        }
    }
    assert!(served == PACKETS || endless, "{served} of {PACKETS} packets");
}

fn packet() -> Packet {
    let payload = Payload::virtual_range(1, 0, 1448);
    let segment = TcpSegment { payload, ..TcpSegment::default() };
    Packet::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Body::Tcp(segment))
}
