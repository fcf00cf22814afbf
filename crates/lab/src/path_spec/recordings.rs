//! Capacities of the two directions of a path, of which one may have no recording of its own.
//!
//! Such a direction follows, in this order, its column of the other one's file, the file of its
//! name in the same folder (`X.up` and `X.down`), or the same recording; notes say which.

use super::trace_file::{TraceFile, sibling};
use super::{CapacitySpec, Span};
use crate::error::{Given, InputError, Refusal};
use base::Rate;
use network::trace::{Direction, Form};
use std::sync::Arc;

/// Capacity of one direction, with the recording not yet read.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum CapacityDraft {
    Rate(Span<Rate>),
    Trace(TraceDraft),
    /// Uplink of a `trace` given for the downlink only.
    TraceOfDownlink,
}

/// A recording to read.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TraceDraft {
    pub(super) file: String,
    pub(super) unit: Option<String>,
    /// Position of its name.
    pub(super) span: std::ops::Range<usize>,
}

/// Reads recordings and collects notes on their formats.
pub(super) struct Recordings<'a> {
    pub(super) given: &'a Given,
    pub(super) offset: usize,
    pub(super) notes: &'a mut Vec<String>,
}

impl Recordings<'_> {
    /// Capacities of downlink and uplink. With `via`, a downlink without a capacity has no limit.
    pub(super) fn both(
        &mut self,
        down: Option<&CapacityDraft>,
        up: Option<&CapacityDraft>,
        via: bool,
    ) -> Result<[Option<CapacitySpec>; 2], InputError> {
        let only_up = matches!((down, up), (None, Some(CapacityDraft::Trace(_)))) && !via;
        if only_up {
            let uplink = self.capacity(up, Direction::Up)?;
            let downlink = self.follow(up, uplink.as_ref(), Direction::Down)?;
            return Ok([downlink, uplink]);
        }
        let downlink = self.capacity(down, Direction::Down)?;
        let uplink = match up {
            Some(CapacityDraft::TraceOfDownlink) | None => {
                self.follow(down, downlink.as_ref(), Direction::Up)?
            }
            some => self.capacity(some, Direction::Up)?,
        };
        Ok([downlink, uplink])
    }

    fn capacity(
        &mut self,
        draft: Option<&CapacityDraft>,
        direction: Direction,
    ) -> Result<Option<CapacitySpec>, InputError> {
        match draft {
            Some(CapacityDraft::Rate(rate)) => Ok(Some(CapacitySpec::Rate(*rate))),
            Some(CapacityDraft::Trace(trace)) => {
                let trace = self.read(trace, direction)?;
                Ok(Some(self.noted(trace, direction, "")))
            }
            Some(CapacityDraft::TraceOfDownlink) | None => Ok(None),
        }
    }

    /// Capacity of `direction` if only the other one has a recording: `draft`, read as `capacity`.
    fn follow(
        &mut self,
        draft: Option<&CapacityDraft>,
        capacity: Option<&CapacitySpec>,
        direction: Direction,
    ) -> Result<Option<CapacitySpec>, InputError> {
        let (Some(CapacityDraft::Trace(draft)), Some(CapacitySpec::Trace(same))) =
            (draft, capacity)
        else {
            return Ok(None);
        };
        let way = word(direction);
        // A column without any capacity cannot be followed.
        if same.has_column(direction)
            && let Ok(own) = self.read(draft, direction)
        {
            return Ok(Some(self.noted(own, direction, "")));
        }
        let file = &draft.file;
        let Some(other) = sibling(self.given.folder(), file, direction) else {
            let why = if same.has_column(direction) {
                "its own column has no capacity"
            } else {
                "it has none of its own"
            };
            self.notes.push(format!("the {way} follows the same recording, because {why}"));
            return Ok(Some(CapacitySpec::Trace(Arc::clone(same))));
        };
        let named_otherwise = file.ends_with(suffix(direction));
        if named_otherwise {
            let given = if direction == Direction::Up { "trace" } else { "trace-up" };
            self.notes.push(format!(
                "`{file}` is named as a recording of the {way}, but drives the other direction, \
                 as given; the {way} follows `{other}` next to it; if this is not meant, write \
                 `{given} {other}`"
            ));
        }
        let trace = self.read(&TraceDraft { file: other, ..draft.clone() }, direction)?;
        Ok(Some(self.noted(trace, direction, ", found beside it")))
    }

    fn read(&self, draft: &TraceDraft, direction: Direction) -> Result<TraceFile, InputError> {
        let TraceDraft { file, unit, span } = draft;
        TraceFile::read(self.given.folder(), file, unit.as_deref(), direction).map_err(
            |(problem, help)| {
                let span = span.start + self.offset..span.end + self.offset;
                self.given.refuse(Refusal { span, problem, help })
            },
        )
    }

    /// The capacity of a recording, with a note on it.
    fn noted(&mut self, trace: TraceFile, direction: Direction, found: &str) -> CapacitySpec {
        let way = word(direction);
        let recognised = trace.recognised();
        self.notes.push(format!("the {way} follows `{}`{found}: {recognised}", trace.file));
        self.notes.extend(use_not_capacity(&trace, direction));
        CapacitySpec::Trace(Arc::new(trace))
    }
}

/// A column far below the other one shows what the answers to the other direction's data used.
fn use_not_capacity(trace: &TraceFile, direction: Direction) -> Option<String> {
    let Form::BitrateTable(column) = trace.form else { return None };
    let (name, recorded) = match column {
        Direction::Up => ("UL_bitrate", "a download"),
        Direction::Down => ("DL_bitrate", "an upload"),
    };
    let factor = trace.below_the_other_column()?;
    let way = word(direction);
    Some(format!(
        "`{}` was recorded during {recorded}: its {name} is {factor:.0} times below the other \
         column and shows use, not capacity; write `{way} rate 20mbit` or another known capacity",
        trace.file
    ))
}

const fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "downlink",
        Direction::Up => "uplink",
    }
}

/// End of the names of recordings of a direction.
const fn suffix(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => ".down",
        Direction::Up => ".up",
    }
}

#[cfg(test)]
mod tests {
    use crate::error::Given;
    use crate::path_spec::PathSpec;
    use std::path::PathBuf;

    /// A folder of recordings, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &str)]) -> Folder {
            let name = format!("anabranch-recordings-{name}-{}", std::process::id());
            let folder = Folder(std::env::temp_dir().join(name));
            std::fs::create_dir_all(&folder.0).unwrap();
            for (name, content) in files {
                std::fs::write(folder.0.join(name), content).unwrap();
            }
            folder
        }

        /// A path whose description has `@/` before names of recordings.
        fn path(&self, spec: &str) -> PathSpec {
            let text = format!("p={}", spec.replace("@/", &format!("{}/", self.0.display())));
            PathSpec::parse(&Given::argument("--path", &text)).unwrap_or_else(|e| panic!("{e}"))
        }

        /// Mean capacities of downlink and uplink, in kbit/s, and the notes.
        fn rates(&self, spec: &str) -> (u64, u64, String) {
            let path = self.path(spec);
            let rate = |capacity: &super::CapacitySpec| match capacity {
                super::CapacitySpec::Trace(trace) => trace.capacity.mean_rate().as_bps() / 1000,
                super::CapacitySpec::Rate(rate) => rate.low.as_bps() / 1000,
                super::CapacitySpec::Unlimited => 0,
            };
            (rate(&path.down.capacity), rate(&path.up.capacity), path.notes.join("\n"))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn table(name: &str, down: u32, up: u32) -> Folder {
        let row = |second| format!("2020.02.13_13.03.{second},{down},{up}\n");
        let table = format!("Timestamp,DL_bitrate,UL_bitrate\n{}{}", row(24), row(25));
        Folder::new(name, &[("t.csv", &table)])
    }

    #[test]
    fn upload_over_a_table_takes_the_upload_column() {
        let folder = table("columns", 5000, 900);
        for spec in ["trace @/t.csv", "trace-up @/t.csv", "uplink trace @/t.csv"] {
            let (down, up, notes) = folder.rates(spec);
            assert_eq!((down, up), (5000, 900), "{spec}");
            assert!(!notes.contains("none of its own") && !notes.contains("use, not"), "{notes}");
        }
    }

    #[test]
    fn upload_column_recorded_during_a_download_is_called_use() {
        let folder = table("use", 130_000, 1000);
        let (down, up, notes) = folder.rates("trace @/t.csv");
        assert_eq!((down, up), (130_000, 1000));
        let said = "was recorded during a download: its UL_bitrate is 130 times below the other \
                    column and shows use, not capacity; write `uplink rate 20mbit`";
        assert!(notes.contains(said), "{notes}");
        let (_, up, notes) = folder.rates("trace @/t.csv uplink rate 20mbit");
        assert_eq!(up, 20_000);
        assert!(!notes.contains("use, not capacity"), "{notes}");
    }

    #[test]
    fn column_without_capacity_leaves_the_link_the_other_one() {
        let folder = table("mute", 5000, 0);
        let (down, up, notes) = folder.rates("trace @/t.csv");
        assert_eq!((down, up), (5000, 5000));
        assert!(notes.contains("because its own column has no capacity"), "{notes}");
    }

    #[test]
    fn recording_of_either_direction_finds_its_sibling() {
        let folder = Folder::new("siblings", &[("x.down", "1\n2\n3\n4\n"), ("x.up", "2\n4\n")]);
        for (spec, rates, note) in [
            ("trace @/x.down", (12_000, 6000), "the uplink follows"),
            ("trace-up @/x.up", (12_000, 6000), "the downlink follows"),
            ("trace @/x.up", (6000, 12_000), "is named as a recording of the uplink"),
            ("trace-up @/x.down", (6000, 12_000), "is named as a recording of the downlink"),
        ] {
            let (down, up, notes) = folder.rates(spec);
            assert_eq!((down, up), rates, "{spec}");
            assert!(notes.contains(note), "{spec}: {notes}");
            assert!(notes.contains(", found beside it: mahimahi"), "{spec}: {notes}");
            let path = folder.path(spec);
            let again = folder.path(&path.to_string());
            assert_eq!((path.down, path.up), (again.down, again.up), "{spec}");
        }
    }

    #[test]
    fn stored_path_with_an_upload_recording_only_is_read_again() {
        let text = crate::path_spec::without_recordings("trace-up x.up delay 9ms").unwrap();
        assert_eq!(text, "uplink rate 1mbit delay 9ms downlink rate 1mbit");
        let text = crate::path_spec::without_recordings("rate 5mbit trace-up x.up").unwrap();
        assert_eq!(text, "rate 5mbit uplink rate 1mbit");
    }
}
