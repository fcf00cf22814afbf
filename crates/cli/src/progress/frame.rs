//! Layout of progress: the lines of a terminal, and the plain line elsewhere.
//!
//! Pure functions of counts, times and the size of the screen; `progress` draws the result.

use crate::output::{counted, shortened, width_of};
use lab::answer::Open;
use lab::percent;
use std::time::Duration;

/// Columns of a bar at most.
const BAR: usize = 20;
/// Smallest useful width of a bar, in columns.
const LEAST_BAR: usize = 5;
/// Lines reserved for the total, the question and the prompt.
const OTHER_LINES: usize = 3;

/// Progress of one variant, or of several together.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Count {
    /// Repetitions planned so far.
    pub wanted: usize,
    /// Repetitions done.
    pub done: usize,
    /// Repetitions reused from an earlier study.
    pub reused: usize,
}

/// Progress of a study.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Every variant by name.
    pub variants: Vec<(String, Count)>,
    /// Time since the first repetition began.
    pub elapsed: Duration,
    /// The open question with `--runs auto`, after the first round.
    pub question: Option<Question>,
}

/// What `--runs auto` does not know yet.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Question {
    /// Repetitions of each variant so far.
    pub runs: u32,
    /// The question.
    pub open: Open,
}

impl Count {
    fn add(self, other: Count) -> Count {
        Count {
            wanted: self.wanted + other.wanted,
            done: self.done + other.done,
            reused: self.reused + other.reused,
        }
    }

    /// Time left at the speed so far; `None` before a speed is known.
    fn left(self, elapsed: Duration) -> Option<Duration> {
        let carried_out = self.done.saturating_sub(self.reused);
        let missing = self.wanted.saturating_sub(self.done);
        let share = missing as f64 / carried_out as f64;
        (carried_out > 0).then(|| elapsed.mul_f64(share))
    }

    fn share(self) -> f64 {
        self.done as f64 / self.wanted.max(1) as f64
    }
}

impl State {
    /// Count of all variants together.
    pub(super) fn whole(&self) -> Count {
        self.variants.iter().fold(Count::default(), |sum, (_, count)| sum.add(*count))
    }

    /// The line for outputs that cannot be redrawn.
    pub(super) fn line(&self) -> String {
        let whole = self.whole();
        let left = whole.left(self.elapsed);
        let left = left.map_or(String::new(), |left| format!(", {} left", time(left)));
        let question = self.question.as_ref();
        let question = question.map_or(String::new(), |q| format!("; {}", q.words()));
        let share = whole_percent(whole.share());
        format!("{} of {} runs done ({share} %){left}{question}", whole.done, whole.wanted)
    }

    /// The lines of a terminal: one per variant, or per group of variants if the screen has fewer
    /// lines, and one for the total.
    pub(super) fn lines(&self, columns: usize, rows: usize) -> String {
        let mut groups = if self.variants.len() > 1 {
            groups(&self.variants, rows.saturating_sub(OTHER_LINES))
        } else {
            Vec::new()
        };
        let whole = match self.variants.as_slice() {
            [(name, _)] => name.clone(),
            all => format!("all {} variants", all.len()),
        };
        groups.push((whole, self.whole()));
        let names = groups.iter().map(|(name, _)| width_of(name)).max().unwrap_or(0);
        let digits = self.whole().wanted.to_string().len();
        // The last column stays free: some terminals wrap when it is filled.
        let shape = Shape { columns: columns.saturating_sub(1), names, digits };
        let mut lines: Vec<String> =
            groups.iter().map(|(name, count)| shape.line(name, *count, self.elapsed)).collect();
        let question = self.question.as_ref();
        lines.extend(question.map(|q| shortened(&q.words(), shape.columns)));
        lines.join("\n")
    }
}

impl Question {
    fn words(&self) -> String {
        let Open { variant, baseline, low, high } = &self.open;
        let (runs, signed) = (counted(self.runs, "run"), |share: f64| {
            let sign = if share < 0.0 { "" } else { "+" };
            format!("{sign}{}", percent(share))
        });
        let against = baseline.as_ref().map_or(String::new(), |name| format!(" against {name}"));
        if !low.is_finite() || !high.is_finite() {
            return format!("after {runs} open: {variant}{against}, no interval yet");
        }
        let (low, high) = (signed(*low), signed(*high));
        format!("after {runs} open: {variant}{against}, {low} to {high}")
    }
}

/// The widths of the parts of a line.
struct Shape {
    columns: usize,
    names: usize,
    digits: usize,
}

impl Shape {
    fn line(&self, name: &str, count: Count, elapsed: Duration) -> String {
        let left = match count.left(elapsed) {
            _ if count.done >= count.wanted && count.wanted > 0 => "done".to_owned(),
            Some(left) => format!("{} left", time(left)),
            None => String::new(),
        };
        let Count { wanted, done, .. } = count;
        let (digits, share) = (self.digits, whole_percent(count.share()));
        let numbers = format!("{done:>digits$}/{wanted:<digits$}  {share:>3} %  {left:<11}");
        let room = self.columns.saturating_sub(width_of(&numbers) + 2);
        let names = self.names.min(room);
        let bar = room.saturating_sub(names + 2).min(BAR);
        let bar =
            if bar < LEAST_BAR { String::new() } else { self::bar(count.share(), bar) + "  " };
        let name = shortened(name, names);
        let blanks = " ".repeat(names.saturating_sub(width_of(&name)));
        shortened(&format!("{name}{blanks}  {bar}{numbers}"), self.columns).trim_end().to_owned()
    }
}

fn bar(share: f64, columns: usize) -> String {
    let full = ((share * columns as f64) as usize).min(columns);
    "█".repeat(full) + &"░".repeat(columns - full)
}

/// The variants, grouped by the beginning of their names into at most `most` groups; empty if there
/// are more protocols than that.
fn groups(variants: &[(String, Count)], most: usize) -> Vec<(String, Count)> {
    let parts = |name: &str| name.matches('/').count() + 1;
    let longest = variants.iter().map(|(name, _)| parts(name)).max().unwrap_or(0);
    let by = |depth: usize| {
        let mut groups: Vec<(String, Count, usize)> = Vec::new();
        for (name, count) in variants {
            let end = name.match_indices('/').nth(depth - 1).map_or(name.len(), |(at, _)| at);
            match groups.iter_mut().find(|(group, ..)| group == &name[..end]) {
                Some((_, sum, members)) => (*sum, *members) = (sum.add(*count), *members + 1),
                None => groups.push((name[..end].to_owned(), *count, 1)),
            }
        }
        groups
    };
    let fitting = (1..=longest).rev().map(by).find(|groups| groups.len() <= most);
    let named = |(name, count, members)| match members {
        1 => (name, count),
        _ => (format!("{name} ({members})"), count),
    };
    fitting.unwrap_or_default().into_iter().map(named).collect()
}

/// Rounded down: 100 % is all.
fn whole_percent(share: f64) -> u32 {
    (share * 100.0) as u32
}

/// Remaining time, with suitable precision.
fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 99.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(names: &[&str], wanted: usize, done: usize) -> State {
        let count = |i: usize| Count { wanted, done: done.saturating_sub(i), reused: 0 };
        State {
            variants: names.iter().enumerate().map(|(i, n)| ((*n).to_owned(), count(i))).collect(),
            elapsed: Duration::from_secs(30),
            question: None,
        }
    }

    /// Three schedulers, five controls, and the paths: 42 names.
    fn many() -> Vec<String> {
        let mut names = vec!["tcp/wlan/cubic".to_owned(), "tcp/3g/cubic".to_owned()];
        for scheduler in ["lrf", "rr", "redundant", "blest"] {
            for cc in ["cubic", "reno", "lia", "olia", "balia"] {
                for pm in ["fullmesh", "default"] {
                    names.push(format!("mptcp/{scheduler}/{cc}/{pm}"));
                }
            }
        }
        names
    }

    #[test]
    fn each_variant_has_a_line_and_the_whole_has_the_last() {
        let shown = state(&["tcp/wlan/cubic", "tcp/3g/cubic"], 20, 20).lines(72, 24);
        let expected = "\
tcp/wlan/cubic  ████████████████████  20/20  100 %  done
tcp/3g/cubic    ███████████████████░  19/20   95 %  2 s left
all 2 variants  ███████████████████░  39/40   97 %  1 s left";
        assert_eq!(shown, expected);
    }

    #[test]
    fn more_variants_than_lines_are_shown_in_groups() {
        let names = many();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let state = state(&names, 100, 50);
        for (rows, lines, first) in [
            (60, 43, "tcp/wlan/cubic "),
            (30, 23, "tcp/wlan/cubic "),
            (20, 7, "tcp/wlan (1"),
            (6, 3, "tcp (2)"),
            (4, 1, "all 42 variants"),
        ] {
            let shown = state.lines(80, rows);
            assert_eq!(shown.lines().count(), lines, "{rows} rows:\n{shown}");
            let first = first.trim_end_matches(" (1");
            assert!(shown.starts_with(first), "{rows} rows:\n{shown}");
        }
        assert!(state.lines(80, 20).contains("mptcp/redundant (10)"));
    }

    fn question(runs: u32, half: f64) -> Question {
        let (variant, baseline) = ("mptcp/lrf/cubic".to_owned(), Some("tcp/a/cubic".to_owned()));
        Question { runs, open: Open { variant, baseline, low: -half, high: half } }
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let names = many();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut state = state(&names, 100_000, 12_345);
        state.question = Some(question(20, 0.123));
        for columns in [20, 40, 60, 80, 120, 200] {
            for line in state.lines(columns, 60).lines() {
                assert!(width_of(line) < columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn progress_of_a_study_as_it_is_shown() {
        let names = many();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut state = state(&names, 20, 19);
        let mut text = String::new();
        for (columns, rows) in [(40, 24), (60, 12), (80, 24), (120, 30)] {
            text.push_str(&format!("{columns} columns, {rows} rows\n"));
            text.push_str(&format!("{}\n\n", state.lines(columns, rows)));
        }
        for half_width in [f64::INFINITY, 0.123] {
            state.question = Some(question(20, half_width));
            text.push_str(&format!("{}\n{}\n\n", state.lines(80, 8), state.line()));
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_snapshot_path("../snapshots");
        settings.bind(|| insta::assert_snapshot!("progress", text));
    }

    #[test]
    fn runs_from_before_do_not_enter_the_time_left() {
        let count = Count { wanted: 100, done: 60, reused: 50 };
        assert_eq!(count.left(Duration::from_secs(10)), Some(Duration::from_secs(40)));
        assert_eq!(Count { done: 50, ..count }.left(Duration::from_secs(10)), None);
    }

    #[test]
    fn plain_line_says_what_is_still_open() {
        let mut state = state(&["a", "b"], 20, 10);
        assert_eq!(state.line(), "19 of 40 runs done (47 %), 33 s left");
        state.question = Some(question(20, 0.081));
        let end =
            "33 s left; after 20 runs open: mptcp/lrf/cubic against tcp/a/cubic, -8.1 % to +8.1 %";
        assert!(state.line().ends_with(end), "{}", state.line());
        state.question = Some(question(1, f64::INFINITY));
        assert!(state.line().contains("no interval yet"));
    }

    #[test]
    fn times_are_as_exact_as_one_is_interested_in() {
        let shown = |seconds| time(Duration::from_secs(seconds));
        assert_eq!(
            [shown(0), shown(99), shown(100), shown(7200)],
            ["0 s", "99 s", "2 min", "2.0 h"]
        );
    }
}
