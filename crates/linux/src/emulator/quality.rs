//! Whether a run was carried out as configured: how late packets were, and what else got lost.
//!
//! An emulator in user space depends on being scheduled in time. It counts what it could not do in
//! time, and this is the rule that decides when a run is invalid. Repeating it is left to the
//! caller.

use super::histogram::Histogram;
use base::Duration;
use std::fmt;

/// Later than this a packet is late.
pub(super) const LATE: Duration = Duration::from_millis(2);
/// Later than this not one packet may be.
pub(super) const TOO_LATE: Duration = Duration::from_millis(20);
/// The share of late packets above which a run is invalid.
const LATE_SHARE: f64 = 0.001;

/// How late packets were, and the devices' drops, counted during a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Punctuality {
    lateness: Histogram,
    late: u64,
    too_late: u64,
}

/// The punctuality of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunQuality {
    /// Packets that the links delivered.
    pub packets: u64,
    /// Of these and of packets taken in, the share that was more than `LATE` late.
    pub late_share: f64,
    /// Packets more than `TOO_LATE` late.
    pub too_late: u64,
    /// Median lateness of the packets that were delivered.
    pub median: Duration,
    /// 99th percentile of the same lateness.
    pub p99: Duration,
    /// Largest of the same lateness.
    pub max: Duration,
    /// Packets that waited before the emulator took them in: the longest wait.
    pub longest_wait: Duration,
    /// Packets that the hosts' devices dropped because the emulator did not fetch them in time.
    pub device_drops: u64,
    /// Packets that a device refused to take.
    pub refused: u64,
}

impl Punctuality {
    /// Adds a packet that was delivered, or fetched, this late.
    pub fn add(&mut self, lateness: Duration) {
        self.lateness.add(lateness);
        self.late += u64::from(lateness > LATE);
        self.too_late += u64::from(lateness > TOO_LATE);
    }

    fn late_share(&self) -> f64 {
        self.late as f64 / self.lateness.total().max(1) as f64
    }
}

impl RunQuality {
    /// From what was counted at both ends of the links.
    pub fn new(
        delivered: &Punctuality,
        taken: &Punctuality,
        device_drops: u64,
        refused: u64,
    ) -> Self {
        RunQuality {
            packets: delivered.lateness.total(),
            late_share: delivered.late_share().max(taken.late_share()),
            too_late: delivered.too_late + taken.too_late,
            median: delivered.lateness.quantile(0.5),
            p99: delivered.lateness.quantile(0.99),
            max: delivered.lateness.max(),
            longest_wait: taken.lateness.max(),
            device_drops,
            refused,
        }
    }

    /// Whether the run counts.
    pub fn is_valid(&self) -> bool {
        self.fault().is_none()
    }

    /// Why the run does not count.
    pub fn fault(&self) -> Option<String> {
        if self.device_drops > 0 {
            return Some(format!("the devices dropped {} packets", self.device_drops));
        }
        if self.too_late > 0 {
            let worst = self.max.max(self.longest_wait);
            return Some(format!(
                "{} packets were over {TOO_LATE} late, the worst {worst}",
                self.too_late
            ));
        }
        (self.late_share > LATE_SHARE).then(|| {
            format!("{:.2} % of the packets were over {LATE} late", self.late_share * 100.0)
        })
    }
}

impl fmt::Display for RunQuality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, p99, max] = [self.median, self.p99, self.max].map(Duration::as_secs_f64);
        let Self { packets, .. } = self;
        let [median, p99, max] = [median, p99, max].map(|seconds| seconds * 1e3);
        write!(
            f,
            "{packets} packets delivered, late by {median:.3} ms (median), {p99:.3} ms (99 %), \
             {max:.3} ms (worst)"
        )?;
        match self.fault() {
            None => Ok(()),
            Some(fault) => write!(f, ": invalid, {fault}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn punctuality(on_time: u64, late: &[Duration]) -> Punctuality {
        let mut counted = Punctuality::default();
        (0..on_time).for_each(|_| counted.add(Duration::from_micros(50)));
        late.iter().for_each(|lateness| counted.add(*lateness));
        counted
    }

    fn quality(on_time: u64, late: &[Duration]) -> RunQuality {
        RunQuality::new(&punctuality(on_time, late), &Punctuality::default(), 0, 0)
    }

    #[test]
    fn one_late_packet_in_a_thousand_is_forgiven_and_two_are_not() {
        let late = Duration::from_micros(2001);
        assert!(quality(999, &[late]).is_valid());
        assert!(quality(1998, &[late, late]).is_valid());
        assert!(!quality(998, &[late, late]).is_valid());
        assert!(quality(0, &[]).is_valid());
        assert!(quality(0, &[LATE, LATE]).is_valid());
    }

    #[test]
    fn one_packet_twenty_milliseconds_late_spoils_a_run() {
        assert!(quality(1_000_000, &[TOO_LATE]).is_valid());
        let spoiled = quality(1_000_000, &[Duration::from_millis(21)]);
        assert_eq!(spoiled.fault().unwrap(), "1 packets were over 20ms late, the worst 21ms");
    }

    #[test]
    fn packets_fetched_late_count_like_packets_delivered_late() {
        let taken = punctuality(10, &[Duration::from_millis(3)]);
        let quality = RunQuality::new(&punctuality(1000, &[]), &taken, 0, 0);
        assert_eq!(quality.fault().unwrap(), "9.09 % of the packets were over 2ms late");
        assert_eq!(quality.longest_wait, Duration::from_millis(3));
    }

    #[test]
    fn a_single_drop_of_a_device_spoils_a_run() {
        let counted = punctuality(5000, &[]);
        let quality = RunQuality::new(&counted, &counted, 1, 0);
        assert_eq!(
            quality.to_string(),
            "5000 packets delivered, late by 0.050 ms (median), 0.050 ms (99 %), 0.050 ms \
             (worst): invalid, the devices dropped 1 packets"
        );
    }
}
