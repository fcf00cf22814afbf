//! Writing to standard output and standard error without ever failing on a closed pipe.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something could not be printed.
static UNPRINTED: AtomicBool = AtomicBool::new(false);

/// Prints to standard output. A closed pipe (`| head`) is not an error.
pub(crate) fn print(text: &str) {
    print_with(|out| out.write_all(text.as_bytes()));
}

/// The same, without the whole text in memory.
pub(crate) fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    // What could not be written must not be tried again.
    let _ = out.into_parts();
    if let Err(failure) = written
        && failure.kind() != ErrorKind::BrokenPipe
        && !UNPRINTED.swap(true, Ordering::Relaxed)
    {
        error(&format!("cannot write to standard output: {failure}"));
    }
}

/// Whether something could not be printed, which makes the command fail.
pub(crate) fn is_unprinted() -> bool {
    UNPRINTED.load(Ordering::Relaxed)
}

/// A message on standard error.
pub(crate) fn message(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(text));
}

/// An error message.
pub(crate) fn error(text: &impl std::fmt::Display) {
    message(&format!("error: {text}"));
}

/// Columns that the text takes on a terminal.
pub(crate) fn width_of(text: &str) -> usize {
    console::measure_text_width(text)
}

/// Text without control characters, except line breaks: names and titles in input do not control
/// a terminal.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && c != '\n';
    match text.contains(is_harmful) {
        true => Cow::Owned(text.replace(is_harmful, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// `1 run`, `2 runs`.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// The text, truncated to `columns` columns.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    console::truncate_str(text, columns, "…").into_owned()
}

/// Whether somebody reads standard output on a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether lines of standard error can be redrawn: it is a terminal, and not a dumb one.
pub(crate) fn can_redraw() -> bool {
    std::io::stderr().is_terminal() && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Columns of a terminal; the environment variable COLUMNS overrides them, as in other programs.
pub(crate) fn columns(terminal: &console::Term) -> usize {
    said_columns().unwrap_or_else(|| usize::from(terminal.size().1).max(LEAST_WIDTH))
}

/// The environment variable COLUMNS, if it is a number.
fn said_columns() -> Option<usize> {
    let columns: usize = std::env::var("COLUMNS").ok()?.trim().parse().ok()?;
    Some(columns.max(LEAST_WIDTH))
}

/// Columns of output that goes to a pipe or a file.
const WITHOUT_TERMINAL: usize = 100;

/// Units that stay on the line of their number.
const UNITS: [&str; 12] =
    ["%", "s", "ms", "us", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "kB", "KiB", "MiB", "GiB"];

/// Whether the blank is between a number and its unit.
fn is_within_quantity(text: &str, blank: usize) -> bool {
    let next = text[blank + 1..].split(' ').next().unwrap_or_default();
    let unit = next.trim_end_matches([',', ';', '.', ':', ')']);
    text[..blank].ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit)
}

/// End of a line of at most `room` columns: after its last word, but not before a unit, or within a
/// word that is longer than the line.
fn break_at(text: &str, room: usize) -> usize {
    let mut taken = 0;
    let mut blank = None;
    let mut utf8 = [0; 4];
    for (at, c) in text.char_indices() {
        taken += width_of(c.encode_utf8(&mut utf8));
        if c == ' ' && !is_within_quantity(text, at) {
            blank = Some(at);
        } else if c != ' ' && taken > room {
            return blank.unwrap_or(at.max(c.len_utf8()));
        }
    }
    text.len()
}

/// Smallest width for which text is laid out.
const LEAST_WIDTH: usize = 20;
/// Smallest room beside the indent for which text is wrapped.
const LEAST_ROOM: usize = 16;

/// Capabilities of standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Screen {
    /// Columns of the terminal, or of text in a pipe that is limited; `None` without a limit.
    pub width: Option<usize>,
    /// Whether colours are used.
    pub colour: bool,
}

impl Screen {
    /// Detects standard output; `no_color` is the option of that name.
    pub(crate) fn detect(no_color: bool) -> Screen {
        let terminal = std::io::stdout().is_terminal();
        let refused = no_color || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let width = terminal.then(|| columns(&console::Term::stdout()));
        Screen { width, colour: terminal && !refused && !is_dumb() }
    }

    /// The same, with a limited width without a terminal, too.
    pub(crate) fn fitted(no_color: bool) -> Screen {
        Screen::detect(no_color).of_tables()
    }

    /// The same for tables, which have a limited width without a terminal, too. Sentences are not
    /// wrapped there, so that the verdict stays one line.
    pub(crate) fn of_tables(self) -> Screen {
        let otherwise = || said_columns().unwrap_or(WITHOUT_TERMINAL);
        Screen { width: Some(self.width.unwrap_or_else(otherwise)), ..self }
    }

    /// Appends the text in a style after `first`, with line breaks at blanks; further lines are
    /// indented to its first word.
    pub(crate) fn wrap(&self, text: &mut String, first: &str, content: &str, style: &str) {
        let indent = width_of(first);
        let width = self.width.filter(|width| *width > indent + LEAST_ROOM).unwrap_or(usize::MAX);
        let content = harmless(content);
        let mut rest = content.as_ref();
        let mut prefix = first.to_owned();
        loop {
            let at = break_at(rest, width - indent);
            text.push_str(&prefix);
            text.push_str(&self.styled(style, rest[..at].trim_end()));
            text.push('\n');
            rest = rest[at..].trim_start();
            if rest.is_empty() {
                return;
            }
            prefix = " ".repeat(indent);
        }
    }

    /// The text in an ANSI style, such as `1` for bold.
    pub(crate) fn styled(&self, style: &str, text: &str) -> String {
        if self.colour && !style.is_empty() {
            format!("\u{1b}[{style}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(width: usize, first: &str, content: &str) -> String {
        let mut text = String::new();
        Screen { width: Some(width), colour: false }.wrap(&mut text, first, content, "");
        text
    }

    #[test]
    fn text_breaks_at_blanks_and_later_lines_are_indented() {
        let content = "one two three four five";
        assert_eq!(wrapped(23, "note: ", content), "note: one two three\n      four five\n");
        assert_eq!(wrapped(80, "note: ", "short"), "note: short\n");
        assert_eq!(wrapped(20, "", ""), "\n");
    }

    #[test]
    fn input_does_not_control_the_terminal() {
        assert_eq!(wrapped(80, "note: ", "e\u{1b}[31m.csv"), "note: e\u{fffd}[31m.csv\n");
    }

    #[test]
    fn number_and_its_unit_stay_on_one_line() {
        let content = "differences are 0.2 %, of 15 Mbit/s in 4 runs";
        for width in 20..60 {
            let text = wrapped(width, "", content);
            assert!(text.contains("0.2 %,") && text.contains("15 Mbit/s"), "{width}: {text}");
            assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), content);
        }
        assert_eq!(wrapped(21, "", "one two three four 5 %"), "one two three four\n5 %\n");
        assert_eq!(wrapped(20, "", "what four 4 5 runs is"), "what four 4 5 runs\nis\n");
    }

    #[test]
    fn numbers_have_their_noun_in_the_singular_or_the_plural() {
        assert_eq!(counted(1_u64, "IP packet"), "1 IP packet");
        assert_eq!(
            (counted(0, "run"), counted(2_usize, "run")),
            ("0 runs".into(), "2 runs".into())
        );
    }

    #[test]
    fn word_longer_than_a_line_is_broken_and_nothing_is_lost() {
        let word = "数".repeat(50);
        let text = wrapped(20, "", &word);
        assert!(text.lines().all(|line| width_of(line) <= 20), "{text}");
        assert_eq!(text.replace('\n', ""), word);
    }

    #[test]
    fn unusable_width_leaves_the_text_alone() {
        let content = "a b c d e f g h i j k l m n";
        assert_eq!(wrapped(20, "0123456789", content), format!("0123456789{content}\n"));
    }
}
