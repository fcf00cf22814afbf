//! `bulk:SIZE` and `bulk:TIME`: one long transfer.
//!
//! SIZE: time from the start of `connect` to the last byte read. TIME: bytes read until TIME
//! after `connect` returned, per TIME. Writes are of 64 KiB, as in the measured kernel runs.

use crate::measure::Measure;
use crate::model::{Due, Message, TrafficModel};
use crate::one_way::Report;
use crate::outcome::{Metric, Outcome};
use base::Duration;

/// One write of the sending application.
const WRITE_BYTES: u32 = 64 << 10;

/// A transfer of a size.
#[derive(Clone, Copy, Debug)]
pub struct BulkSize {
    /// Length of the transfer.
    pub bytes: u64,
}

/// A saturating transfer for a time.
#[derive(Clone, Copy, Debug)]
pub struct BulkTime {
    /// Time from the return of `connect` to the end of the measurement.
    pub time: Duration,
}

impl TrafficModel for BulkSize {
    fn message(&self, index: u64) -> Option<Message> {
        (index == 0).then_some(at_once(self.bytes))
    }

    fn write_limit(&self) -> u32 {
        WRITE_BYTES
    }

    fn metric(&self) -> Metric {
        Metric::CompletionTime
    }

    fn further(&self) -> &'static [Measure] {
        &[Measure::RATE]
    }

    fn outcome(&self, client: &Report, _sender: &Report, receiver: &Report) -> Outcome {
        let whole = receiver.bytes_read == self.bytes;
        let end = receiver.last_read.or(client.connected).filter(|_| whole);
        let value = end.zip(client.started).map(|(end, start)| (end - start).as_secs_f64());
        Outcome::single(self.metric(), value, receiver.bytes_read)
    }
}

impl TrafficModel for BulkTime {
    fn message(&self, index: u64) -> Option<Message> {
        (index == 0).then_some(at_once(u64::MAX))
    }

    fn write_limit(&self) -> u32 {
        WRITE_BYTES
    }

    fn ends_after(&self) -> Option<Duration> {
        Some(self.time)
    }

    fn metric(&self) -> Metric {
        Metric::Goodput
    }

    fn outcome(&self, client: &Report, _sender: &Report, receiver: &Report) -> Outcome {
        let bits = receiver.bytes_read as f64 * 8.0;
        let value = client.timed_out.then(|| bits / self.time.as_secs_f64());
        Outcome::single(self.metric(), value, receiver.bytes_read)
    }
}

const fn at_once(len: u64) -> Message {
    Message { due: Due::SinceStart(Duration::ZERO), len, measured: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Instant;

    #[test]
    fn completion_time_counts_from_the_start_of_connect() {
        let client = Report { started: Some(Instant::from_millis(10)), ..Report::default() };
        let receiver = Report {
            bytes_read: 100,
            last_read: Some(Instant::from_millis(1510)),
            ..Report::default()
        };
        let outcome = BulkSize { bytes: 100 }.outcome(&client, &Report::default(), &receiver);
        assert_eq!(outcome.value, Some(1.5));
        let short = BulkSize { bytes: 101 }.outcome(&client, &Report::default(), &receiver);
        assert!(!short.is_complete());
    }

    #[test]
    fn goodput_is_bits_read_by_the_end_over_the_time() {
        let model = BulkTime { time: Duration::from_secs(4) };
        let receiver = Report { bytes_read: 1_000_000, ..Report::default() };
        let unfinished = model.outcome(&Report::default(), &Report::default(), &receiver);
        assert!(!unfinished.is_complete());
        let client = Report { timed_out: true, ..Report::default() };
        let outcome = model.outcome(&client, &Report::default(), &receiver);
        assert_eq!(outcome.value, Some(2_000_000.0));
    }
}
