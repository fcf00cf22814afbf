//! A recorder of the engine with the quantities and the interval of socket diagnosis.

use super::{SAMPLE_EVERY, SutQuantity};
use base::{Event, EventMask, HostId, Instant, PathId, Recorder, SocketId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A quantity over time.
pub(super) type Points = Vec<(Instant, f64)>;

/// What was recorded of one end.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) of_subflows: BTreeMap<(SocketId, SutQuantity, PathId), Points>,
    pub(super) read: BTreeMap<SocketId, Points>,
    pub(super) sent_bytes: BTreeMap<SocketId, u64>,
    /// Segments with payload that arrived.
    pub(super) arrived: u64,
    /// Expirations of T3-rtx.
    pub(super) t3_timeouts: u64,
}

/// Records the events of an engine.
pub(super) struct Watch(pub(super) Rc<RefCell<Seen>>);

impl Recorder for Watch {
    fn mask(&self) -> EventMask {
        let sender = EventMask::WINDOW.union(EventMask::SEGMENT);
        sender.union(EventMask::DELIVERY).union(EventMask::ARRIVAL).union(EventMask::TIMER)
    }

    fn record(&mut self, now: Instant, _host: HostId, event: &Event) {
        let seen = &mut *self.0.borrow_mut();
        let (socket, path, quantity, value) = match *event {
            Event::WindowChange { socket, path, cwnd_bytes, .. } => {
                (socket, path, SutQuantity::CongestionWindow, cwnd_bytes as f64)
            }
            Event::RttSample { socket, path, srtt, .. } => {
                (socket, path, SutQuantity::SmoothedRtt, srtt.as_secs_f64())
            }
            Event::SegmentSent { socket, path, len, inflight_segs, .. } => {
                *seen.sent_bytes.entry(socket).or_default() += u64::from(len);
                (socket, path, SutQuantity::InFlight, inflight_segs.into())
            }
            Event::SegmentAcked { socket, path, inflight_segs, .. } => {
                (socket, path, SutQuantity::InFlight, inflight_segs.into())
            }
            Event::Delivered { socket, offset, len } => {
                let end = offset + u64::from(len);
                return sample(seen.read.entry(socket).or_default(), now, end as f64);
            }
            Event::SegmentArrived { .. } => {
                seen.arrived += 1;
                return;
            }
            Event::TimerFired { timer: "t3-rtx", .. } => {
                seen.t3_timeouts += 1;
                return;
            }
            _ => return,
        };
        sample(seen.of_subflows.entry((socket, quantity, path)).or_default(), now, value);
    }
}

/// Add a point; points keep the interval, and the last one is always the latest.
fn sample(points: &mut Points, now: Instant, value: f64) {
    let before = points.len().checked_sub(2).and_then(|number| points.get(number));
    match before {
        Some((at, _)) if now.since(*at) < SAMPLE_EVERY => points.pop(),
        _ => None,
    };
    points.push((now, value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_keep_their_distance_and_the_last_one_is_kept() {
        let mut points = Points::new();
        for millis in 0..=95 {
            sample(&mut points, Instant::from_millis(millis), millis as f64);
        }
        assert!(points.len() <= 21 && points.len() >= 10, "{points:?}");
        assert_eq!(points.last(), Some(&(Instant::from_millis(95), 95.0)));
        assert_eq!(points.first(), Some(&(Instant::ZERO, 0.0)));
        assert!(points.windows(3).all(|three| three[2].0.since(three[0].0) >= SAMPLE_EVERY));
    }
}
