//! The paths over which the first and the last byte of each message of a multi-path connection
//! first reached the receiver.

use base::{Event, EventMask, HostId, Instant, PathId, Recorder};
use harness::RunRecord;
use simulator::RunSetup;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use traffic::{Model, Traffic};

/// Most messages of a run whose paths are recorded: 10 hours of a video call.
const MOST_MESSAGES: usize = 1 << 20;

/// The paths of the messages of a run, shared by the recorder and its reader.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    receiver: HostId,
    seen: Rc<RefCell<Seen>>,
}

#[derive(Debug)]
struct Seen {
    /// Positions of the measured messages in the stream, in order.
    messages: Vec<Range<u64>>,
    /// Paths of the first and last byte of each.
    paths: Vec<(Option<PathId>, Option<PathId>)>,
}

impl Arrivals {
    /// A recorder for this run; `None` if it has one path, no measured messages, or a page.
    pub(crate) fn of(setup: &RunSetup) -> Option<Arrivals> {
        let flow = setup.flows.first().filter(|flow| flow.carrier.uses_all_paths())?;
        let messages = measured(&flow.traffic);
        // The client is host 0.
        let receiver = if flow.reverse { HostId(1) } else { HostId(0) };
        let paths = vec![(None, None); messages.len()];
        let seen = Rc::new(RefCell::new(Seen { messages, paths }));
        let is_empty = seen.borrow().messages.is_empty();
        (!is_empty).then_some(Arrivals { receiver, seen })
    }

    /// The paths of the scenario by message: of its first and of its last byte.
    pub(crate) fn paths(
        &self,
        record: &RunRecord,
        paths: usize,
    ) -> Vec<(Option<u16>, Option<u16>)> {
        let subflows = &record.measured().receiver_subflows;
        let path = |id: Option<PathId>| {
            let path = subflows.get(id?.index()).copied().filter(|path| *path < paths)?;
            u16::try_from(path).ok()
        };
        self.seen.borrow().paths.iter().map(|(first, last)| (path(*first), path(*last))).collect()
    }

    /// Takes an event of a host.
    pub(crate) fn on_event(&self, host: HostId, event: &Event) {
        if let Event::DataArrived { path, offset, len, .. } = *event
            && host == self.receiver
        {
            self.seen.borrow_mut().on_data(path, offset..offset + u64::from(len));
        }
    }
}

impl Recorder for Arrivals {
    fn mask(&self) -> EventMask {
        EventMask::ARRIVAL
    }

    fn record(&mut self, _now: Instant, host: HostId, event: &Event) {
        self.on_event(host, event);
    }
}

impl Seen {
    fn on_data(&mut self, path: PathId, bytes: Range<u64>) {
        let from = self.messages.partition_point(|message| message.end <= bytes.start);
        let messages = self.messages.iter().zip(&mut self.paths).skip(from);
        for (message, (first, last)) in messages {
            if message.start >= bytes.end {
                return;
            }
            if bytes.contains(&message.start) {
                first.get_or_insert(path);
            }
            if bytes.contains(&(message.end - 1)) {
                last.get_or_insert(path);
            }
        }
    }
}

/// Positions of the measured messages in the stream.
fn measured(traffic: &Traffic) -> Vec<Range<u64>> {
    let Model::OneWay(model) = traffic.model() else { return Vec::new() };
    let mut offset = 0u64;
    let mut ranges = Vec::new();
    for index in 0..MOST_MESSAGES as u64 {
        let Some(message) = model.message(index) else { break };
        let start = offset;
        offset = offset.saturating_add(message.len);
        if message.measured && offset > start {
            ranges.push(start..offset);
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_arrival_of_the_first_and_last_byte_decides() {
        let mut seen =
            Seen { messages: vec![10..20, 20..21, 30..40], paths: vec![(None, None); 3] };
        for (path, bytes) in [(0, 15..20), (1, 0..15), (1, 5..22), (2, 19..31), (0, 31..40)] {
            seen.on_data(PathId(path), bytes);
        }
        let path = |number: u8| Some(PathId(number));
        let expected = [(path(1), path(0)), (path(1), path(1)), (path(2), path(0))];
        assert_eq!(seen.paths, expected);
    }

    #[test]
    fn warm_up_of_a_burst_is_not_measured() {
        let burst = Traffic::Burst { segments: 3, segment_bytes: 100 };
        assert_eq!(measured(&burst).first(), Some(&(2000..2300)));
        assert_eq!(measured(&burst).len(), 1);
        assert_eq!(measured(&Traffic::BulkSize(1 << 20)), []);
    }
}
