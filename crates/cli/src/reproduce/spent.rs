//! CPU seconds that studies took, by what they were run for, beside the estimates of `--list`.
//!
//! Estimates are made in the lab (`reproduction::costs`).

use lab::reproduction::{Column, Cost, Costs, Unit};

/// What studies took.
pub(super) struct Spent<'a> {
    costs: &'a Costs,
    /// CPU seconds of the process when the last study ended; `None` where the system does not say.
    last: Option<f64>,
    columns: [Row; 3],
    /// Studies whose values were stored before.
    reused: usize,
}

/// What the studies of one purpose took.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    studies: usize,
    seconds: f64,
    estimate: Cost,
}

impl Row {
    fn named(name: &'static str) -> Row {
        Row { name, studies: 0, seconds: 0.0, estimate: Cost::default() }
    }

    /// `2700 CPU seconds on the kernel of the paper (230 studies, estimated as 2685)`.
    fn text(&self) -> String {
        let Row { name, studies, seconds, estimate } = self;
        let plural = if *studies == 1 { "study" } else { "studies" };
        let estimate = match estimate.unknown {
            0 => format!(", estimated as {}", shown(estimate.seconds)),
            _ => String::new(),
        };
        let seconds = shown(*seconds);
        format!("{seconds} CPU seconds {name} ({studies} {plural}{estimate})")
    }
}

impl<'a> Spent<'a> {
    /// Begins to measure; `reused` studies are not run.
    pub(super) fn new(costs: &'a Costs, reused: usize) -> Spent<'a> {
        let columns = [Column::Paper, Column::Linux, Column::Sensitivity(0, 0)];
        let columns = columns.map(|column| Row::named(purpose(column)));
        Spent { costs, last: cpu_seconds(), columns, reused }
    }

    /// Counts a study that ended just now.
    pub(super) fn count(&mut self, unit: &Unit) {
        let now = cpu_seconds();
        let name = purpose(unit.column());
        for row in self.columns.iter_mut().filter(|row| row.name == name) {
            row.studies += 1;
            row.seconds += now.zip(self.last).map_or(0.0, |(now, last)| now - last);
            row.estimate = row.estimate + self.costs.of_unit(unit);
        }
        self.last = now;
    }

    /// One sentence for all of them; `None` where nothing was run or measured.
    pub(super) fn sentence(&self) -> Option<String> {
        let run = self.columns.iter().filter(|row| row.studies > 0);
        let run: Vec<String> = run.map(Row::text).collect();
        if run.is_empty() {
            return None;
        }
        let peak = peak_mib()?;
        Some(format!("The studies took {}, {peak:.0} MiB at the peak.", run.join(", ")))
    }

    /// The same for a document, which says what is not in these numbers.
    pub(super) fn for_document(&self) -> Option<String> {
        let sentence = self.sentence()?;
        Some(match self.reused {
            0 => sentence,
            more => format!("{sentence} {more} further studies were stored before."),
        })
    }
}

/// `1.6` or `24`.
fn shown(seconds: f64) -> String {
    if seconds < 9.95 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
}

/// What a study is run for, in words.
pub(super) const fn purpose(column: Column) -> &'static str {
    match column {
        Column::Paper => "on the kernel of the paper",
        Column::Linux => "on Linux",
        Column::Sensitivity(..) => "with neighbouring values",
    }
}

/// CPU seconds of this process so far, of all threads.
#[cfg(target_os = "linux")]
fn cpu_seconds() -> Option<f64> {
    let times = [usage()?.user_time(), usage()?.system_time()];
    Some(times.iter().map(|of| of.tv_sec() as f64 + of.tv_usec() as f64 / 1e6).sum())
}

/// Largest resident memory of this process so far.
#[cfg(target_os = "linux")]
fn peak_mib() -> Option<f64> {
    // getrusage(2): Linux counts `ru_maxrss` in KiB.
    Some(usage()?.max_rss() as f64 / 1024.0)
}

#[cfg(target_os = "linux")]
fn usage() -> Option<nix::sys::resource::Usage> {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_SELF).ok()
}

#[cfg(not(target_os = "linux"))]
fn cpu_seconds() -> Option<f64> {
    None
}

#[cfg(not(target_os = "linux"))]
fn peak_mib() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_estimate_where_all_studies_have_one() {
        let mut row = Row { studies: 2, seconds: 12.4, ..Row::named(purpose(Column::Linux)) };
        row.estimate.seconds = 13.0;
        assert_eq!(row.text(), "12 CPU seconds on Linux (2 studies, estimated as 13)");
        row.estimate.unknown = 1;
        assert_eq!(row.text(), "12 CPU seconds on Linux (2 studies)");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_passes() {
        let before = cpu_seconds().unwrap();
        let mut sum = 0u64;
        while cpu_seconds().unwrap() < before + 0.02 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(peak_mib().unwrap() > 1.0);
    }
}
