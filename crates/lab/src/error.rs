//! Errors in user input: problem, place and remedy.
//!
//! A parser returns a `Refusal` for a piece of text; the caller that knows the origin of the text
//! (an option, a line of a file) turns it into an `InputError`, whose `Display` is the complete
//! message. The command line chooses colours and exit codes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Largest number of columns of the offending line in a message.
const SHOWN: usize = 96;

/// Why a piece of text was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Byte range of the fault in the text.
    pub span: Range<usize>,
    /// Description of the problem.
    pub problem: String,
    /// Suggested correction.
    pub help: String,
}

impl Refusal {
    /// A refusal of all of `text`.
    pub fn new(text: &str, problem: impl Into<String>, help: impl Into<String>) -> Self {
        Refusal { span: 0..text.len(), problem: problem.into(), help: help.into() }
    }

    /// The same refusal seen from a larger text in which this one starts at `offset`.
    #[must_use]
    pub fn shifted(mut self, offset: usize) -> Self {
        self.span = self.span.start + offset..self.span.end + offset;
        self
    }
}

/// A piece of user input and its origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// The text.
    pub text: String,
    place: Place,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    /// An option of the command line, `--cc`.
    Argument(String),
    /// The text was put together from these pieces of a file, in order.
    File { file: Arc<SourceFile>, pieces: Vec<Piece> },
}

/// Position of a part of a text in its file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Piece {
    in_text: Range<usize>,
    in_file: Range<usize>,
}

/// A text file that was read whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFile {
    /// Name as given by the user.
    pub name: String,
    /// Content.
    pub text: String,
}

impl Given {
    /// Text given on the command line with `option`.
    pub fn argument(option: &str, text: &str) -> Self {
        Given { text: text.to_owned(), place: Place::Argument(option.to_owned()) }
    }

    /// Text given in a file at these bytes; `text` may differ from them by escapes.
    pub fn in_file(file: &Arc<SourceFile>, span: Range<usize>, text: &str) -> Self {
        let mut given = Given::empty_in_file(file);
        given.push(text, span);
        given
    }

    /// A text to be put together from pieces of a file.
    pub(crate) fn empty_in_file(file: &Arc<SourceFile>) -> Self {
        let place = Place::File { file: Arc::clone(file), pieces: Vec::new() };
        Given { text: String::new(), place }
    }

    /// Appends a piece from the file at `span`, separated by a blank from the one before.
    pub(crate) fn push(&mut self, text: &str, span: Range<usize>) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        let start = self.text.len();
        self.text.push_str(text);
        if let Place::File { pieces, .. } = &mut self.place {
            pieces.push(Piece { in_text: start..self.text.len(), in_file: span });
        }
    }

    /// Another text in the same place: what this one means.
    pub(crate) fn with_text(&self, text: &str) -> Self {
        match &self.place {
            Place::Argument(option) => Given::argument(option, text),
            Place::File { file, pieces } => {
                let span = span_in_file(pieces, &(0..self.text.len()));
                Given::in_file(file, span, text)
            }
        }
    }

    /// The parts between commas, each with its position.
    pub(crate) fn split_at_commas(&self) -> Vec<(Range<usize>, &str)> {
        let mut start = 0;
        let parts = self.text.split(',').map(|part| {
            let blanks = part.len() - part.trim_start().len();
            let word = part.trim();
            let span = start + blanks..start + blanks + word.len();
            start += part.len() + 1;
            (span, word)
        });
        parts.collect()
    }

    /// The folder that relative file names in this text refer to, as a prefix for them.
    pub fn folder(&self) -> Option<&std::path::Path> {
        match &self.place {
            Place::Argument(_) => None,
            Place::File { file, .. } => std::path::Path::new(&file.name).parent(),
        }
    }

    /// The message for a refusal of this text.
    pub fn refuse(&self, refusal: Refusal) -> InputError {
        let Refusal { span, problem, help } = refusal;
        match &self.place {
            Place::Argument(option) => InputError {
                place: option.clone(),
                excerpt: Excerpt::new(&self.text, span, None),
                problem,
                help,
            },
            Place::File { file, pieces } => {
                in_file_error(file, span_in_file(pieces, &span), problem, help)
            }
        }
    }

    /// The message for a refusal of all of this text.
    pub fn refuse_whole(&self, problem: impl Into<String>, help: impl Into<String>) -> InputError {
        self.refuse(Refusal::new(&self.text, problem, help))
    }
}

/// Position of `span` of a text in the file of its pieces; it starts in one of them.
fn span_in_file(pieces: &[Piece], span: &Range<usize>) -> Range<usize> {
    let holds = |piece: &&Piece| piece.in_text.end >= span.start;
    let Some(piece) = pieces.iter().find(holds).or(pieces.last()) else { return 0..0 };
    let Range { start, end } = piece.in_file;
    let offset = span.start.saturating_sub(piece.in_text.start);
    let start = (start + offset).min(end);
    start..(start + span.len()).min(end)
}

/// The message for something wrong at these bytes of a file.
pub(crate) fn in_file_error(
    file: &SourceFile,
    span: Range<usize>,
    problem: String,
    help: String,
) -> InputError {
    let text = &file.text;
    let start = floor_boundary(text, span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    let number = text[..line_start].matches('\n').count() + 1;
    let column = text[line_start..start].chars().count() + 1;
    let within = start - line_start..span.end.clamp(start, line_end) - line_start;
    InputError {
        place: format!("{}:{number}:{column}", sanitised(&file.name)),
        excerpt: Excerpt::new(&text[line_start..line_end], within, Some(number)),
        problem,
        help,
    }
}

/// Input that was refused; `Display` is the complete message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct InputError {
    place: String,
    excerpt: Option<Box<Excerpt>>,
    problem: String,
    help: String,
}

impl InputError {
    /// A refusal that concerns no particular text, only a place (`--path`, a file name).
    pub fn at(place: &str, problem: impl Into<String>, help: impl Into<String>) -> Self {
        InputError {
            place: sanitised(place),
            excerpt: None,
            problem: problem.into(),
            help: help.into(),
        }
    }

    /// Whether it is in the text of this option.
    pub(crate) fn is_at(&self, place: &str) -> bool {
        self.place == place
    }

    /// The same with the one of several inputs that it concerns.
    pub(crate) fn about(mut self, subject: &str) -> InputError {
        self.problem = format!("{}: `{}`", self.problem, sanitised(subject));
        self
    }

    /// Description of the problem, without place and remedy.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Suggested correction.
    pub fn help(&self) -> &str {
        &self.help
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", sanitised(&self.place), sanitised(&self.problem))?;
        if let Some(excerpt) = &self.excerpt {
            write!(f, "\n{excerpt}")?;
        }
        if !self.help.is_empty() {
            write!(f, "\n  help: {}", sanitised(&self.help))?;
        }
        Ok(())
    }
}

/// A line with a mark under the fault.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Excerpt {
    label: String,
    line: String,
    /// Characters before the mark.
    indent: usize,
    /// Characters marked.
    width: usize,
}

impl Excerpt {
    /// The part of `line` around `span`; `None` when there is nothing to show.
    fn new(line: &str, span: Range<usize>, number: Option<usize>) -> Option<Box<Excerpt>> {
        if line.trim().is_empty() {
            return None;
        }
        let start = floor_boundary(line, span.start);
        let end = floor_boundary(line, span.end).max(start);
        let before = line[..start].chars().count();
        let width = line[start..end].chars().count().clamp(1, SHOWN);
        let skipped = if before + width > SHOWN { before.saturating_sub(SHOWN / 2) } else { 0 };
        let shown: String = line.chars().skip(skipped).take(SHOWN).collect();
        let (dots, more) = (skipped > 0, line.chars().nth(skipped + SHOWN).is_some());
        Some(Box::new(Excerpt {
            label: number.map_or(String::new(), |n| format!("{n} | ")),
            line: format!(
                "{}{}{}",
                if dots { "..." } else { "" },
                sanitised(&shown),
                if more { "..." } else { "" }
            ),
            indent: before - skipped + if dots { 3 } else { 0 },
            width: width.min(SHOWN - (before - skipped).min(SHOWN - 1)),
        }))
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = " ".repeat(self.label.len() + self.indent);
        write!(f, "  {}{}\n  {indent}{}", self.label, self.line, "^".repeat(self.width))
    }
}

/// Largest number of characters of a sentence of a message; quoted input can have any length.
const SENTENCE: usize = 600;

/// Text without control characters, so that input cannot control a terminal through a message, and
/// of limited length.
pub(crate) fn sanitised(text: &str) -> String {
    let harmless = |c: char| match c {
        '\n' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    let mut shown: String = text.chars().take(SENTENCE).map(harmless).collect();
    if text.chars().nth(SENTENCE).is_some() {
        shown.push_str("...");
    }
    shown
}

fn floor_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(span: Range<usize>) -> Refusal {
        Refusal { span, problem: "no".into(), help: "yes".into() }
    }

    #[test]
    fn argument_refused_marks_the_fault() {
        let given = Given::argument("--path", "wlan=rate 25mbps");
        let error = given.refuse(refusal(10..16)).to_string();
        assert_eq!(error, "--path: no\n  wlan=rate 25mbps\n            ^^^^^^\n  help: yes");
    }

    #[test]
    fn file_refused_names_line_and_column() {
        let file =
            Arc::new(SourceFile { name: "s.toml".into(), text: "a = 1\nb = \"25mbps\"\n".into() });
        let given = Given::in_file(&file, 11..17, "25mbps");
        let error = given.refuse_whole("no", "yes").to_string();
        assert_eq!(error, "s.toml:2:6: no\n  2 | b = \"25mbps\"\n           ^^^^^^\n  help: yes");
    }

    #[test]
    fn odd_spans_and_texts_never_panic() {
        for text in ["", "ä", "wlan=ä", "\u{1b}[31m", &"ß".repeat(500)] {
            for start in 0..6 {
                for end in 0..600 {
                    let given = Given::argument("--path", text);
                    let shown = given.refuse(refusal(start..end)).to_string();
                    assert!(!shown.contains('\u{1b}'), "escape sequences do not get through");
                }
            }
        }
    }

    #[test]
    fn long_line_is_cut_around_the_fault() {
        let text = format!("{}HERE{}", "a".repeat(5000), "b".repeat(5000));
        let shown = Given::argument("--path", &text).refuse(refusal(5000..5004)).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].len() < 120);
        let mark = lines[2].find('^').unwrap();
        assert_eq!(&lines[1][mark..mark + 4], "HERE");
    }
}
