//! Writing to standard output and standard error without ever failing on a closed pipe.

use std::io::{IsTerminal, Write};

/// Print to standard output. A reader that went away (`| head`) is no error of ours.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A message on standard error.
pub fn message(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// An error message.
pub fn error(text: &impl std::fmt::Display) {
    message(&format!("error: {text}"));
}

/// What standard output can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Screen {
    /// Columns of the terminal; `None` when it is not one.
    pub width: Option<usize>,
    /// Whether colours are wanted.
    pub colour: bool,
}

impl Screen {
    /// Of standard output; `no_color` as the option says.
    pub fn detect(no_color: bool) -> Screen {
        let terminal = std::io::stdout().is_terminal();
        let refused = no_color || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = terminal.then(|| usize::from(console::Term::stdout().size().1));
        Screen { width, colour: terminal && !refused && !dumb }
    }

    /// The text in an ANSI style, such as `1` for bold.
    pub fn styled(&self, style: &str, text: &str) -> String {
        if self.colour && !style.is_empty() {
            format!("\u{1b}[{style}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
