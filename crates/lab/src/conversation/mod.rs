//! Conversations to repeat: tables of messages, captures, and the games of paper 000.
//!
//! `table` and `pcap` read untrusted files, `games` knows the named ones.
//! `traffic::model::conversation` carries them out.

mod games;
mod pcap;
mod table;

pub use games::NAMED_GAMES;

use crate::traffic_source::{Fault, TrafficSource, located, opened};
use crate::words::nearest_help;
use games::NamedGame;
use std::path::Path;
use table::Rows;
use traffic::model::conversation::{Conversation, Timing, Turn};

const PCAP: &str = "pcap";
/// Behind the name of a table whose messages have their recorded times.
const PACED: &str = ":paced";

/// A conversation and where it comes from.
pub(crate) type Found = (Conversation, TrafficSource);

/// Folders that names of files are in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    /// Folder that names of files are relative to; `None`: the working directory.
    pub relative_to: Option<&'a Path>,
    /// Folder with recordings of named games.
    pub data: Option<&'a Path>,
}

/// The conversation of `game:VALUE`: a name, or a file of messages at their times.
pub(crate) fn game(places: Places<'_>, value: &str) -> Result<Found, Fault> {
    if let Some(named) = NAMED_GAMES.iter().find(|named| named.name.eq_ignore_ascii_case(value)) {
        return named_game(named, places.data);
    }
    let is_path = value.contains(['/', '.', '\\']);
    let path = located(places.relative_to, value);
    if !is_path && !path.exists() {
        let names: Vec<&str> = NAMED_GAMES.iter().map(|named| named.name).collect();
        let help = format!("{}; or name a file", nearest_help(value, &names));
        return Err((format!("unknown game `{value}`"), help));
    }
    from_file("game", value, &path, Rows::Messages, Timing::Paced)
}

/// The conversation of `table:VALUE`.
pub(crate) fn table(places: Places<'_>, value: &str) -> Result<Found, Fault> {
    let (file, timing) = match value.strip_suffix(PACED) {
        Some(file) => (file, Timing::Paced),
        None => (value, Timing::Answered),
    };
    let rows = if timing == Timing::Paced { Rows::Messages } else { Rows::Packets };
    let path = located(places.relative_to, file);
    from_file("table", file, &path, rows, timing)
}

/// The conversation of `pcap:VALUE`.
pub(crate) fn capture(places: Places<'_>, value: &str) -> Result<Found, Fault> {
    let (name, wanted) = pcap::split(value);
    let (file, anchored) = opened(&located(places.relative_to, name), PCAP, name)?;
    let in_file = |(problem, help): Fault| (format!("{PCAP} `{name}`: {problem}"), help);
    let read = pcap::read(file, wanted).map_err(in_file)?;
    let source = TrafficSource {
        model: PCAP,
        anchored,
        options: value[name.len()..].to_owned(),
        digest: Some(read.digest),
        is_data: false,
        notes: read.notes.into_iter().map(|note| format!("{PCAP}: {note}")).collect(),
    };
    Ok((conversation(PCAP, value, read.timing, &read.turns), source))
}

/// The recording of a named game if the folder `data` has one, else its model.
fn named_game(named: &NamedGame, data: Option<&Path>) -> Result<Found, Fault> {
    let recorded = data.and_then(|folder| Some(folder.join("games").join(named.recorded?)));
    if let Some(path) = recorded.filter(|path| path.is_file()) {
        let file = path.display().to_string();
        let (conversation, mut source) =
            from_file("game", named.name, &path, Rows::Messages, Timing::Paced)?;
        source.is_data = true;
        source.notes.insert(0, format!("game: `{}` as recorded in {file}", named.name));
        return Ok((conversation, source));
    }
    let notes = vec![format!(
        "game: `{}` is a model with a mean gap of {} ms and messages of {} bytes on average ({}); \
         exponential gaps and sizes are assumed",
        named.name, named.mean_gap_ms, named.mean_bytes, named.source
    )];
    let anchored = named.name.to_owned();
    let source = TrafficSource {
        model: "game",
        anchored,
        options: String::new(),
        digest: None,
        is_data: false,
        notes,
    };
    Ok((conversation("game", named.name, Timing::Paced, &named.turns()), source))
}

fn from_file(
    model: &'static str,
    name: &str,
    path: &Path,
    rows: Rows,
    timing: Timing,
) -> Result<Found, Fault> {
    let (file, anchored) = opened(path, model, name)?;
    let in_file = |(problem, help): Fault| (format!("{model} `{name}`: {problem}"), help);
    let read = table::read(file, rows).map_err(in_file)?;
    let notes = read.notes.into_iter().map(|note| format!("{model}: {note}")).collect();
    let digest = Some(read.digest);
    let is_paced_table = model == "table" && timing == Timing::Paced;
    let options = if is_paced_table { PACED.to_owned() } else { String::new() };
    let whole = conversation(model, &format!("{name}{options}"), timing, &read.turns);
    Ok((whole, TrafficSource { model, anchored, options, digest, is_data: false, notes }))
}

fn conversation(model: &str, name: &str, timing: Timing, turns: &[Turn]) -> Conversation {
    Conversation::new(format!("{model}:{name}"), timing, turns)
}

#[cfg(test)]
mod pcap_tests;
#[cfg(test)]
mod tests;
