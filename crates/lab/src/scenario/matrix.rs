//! The studies of a matrix: rows are traffic, columns are pairs of paths and protocols.
//!
//! A cell is an ordinary study: its options are those of `compare` with the cell's traffic, paths,
//! protocol and baseline. By default rows and columns are those of paper 000, and so is the
//! baseline: of like paths their average, of `wlan+3g` the WLAN. `execution` runs the studies,
//! `results` has their cells.

mod reported;

pub use reported::Reported;

use super::choice::{MOST_PATHS, chosen};
use super::of_protocol::of_protocol;
use super::options::{Options, PathOption};
use super::table::Key;
use super::variants::{Protocol, variants_of};
use super::{Baseline, Scenario};
use crate::error::{Given, InputError, Refusal};
use crate::path_spec::Profile;
use crate::words::nearest_help;
use std::collections::BTreeSet;

/// Repetitions of every variant, as in 000 s5.1.1; with `--runs auto` their limit.
pub const MATRIX_RUNS: u32 = 128;
/// Default rows: 000 s4.3.
pub const MATRIX_TRAFFIC: &str = "video,game:aoc-1,web:wikipedia,web:amazon,web:huffingtonpost";
/// Default pairs: 000 Table 3.
pub const MATRIX_PAIRS: &str = "wlan+wlan,3g+3g,wlan+3g";
/// Unlike pairs of 000 and 002, and the path that they are compared with.
const WITH_WLAN: [[&str; 2]; 2] = [["wlan", "3g"], ["wlan-002", "3g-002"]];
/// Longest part of the name of a cell's folder.
const LONGEST_NAME: usize = 80;
/// Option of the pairs.
const OPTION: &str = "--paths";
const EXAMPLES: &str = "write paths with `+` between, and commas between pairs: \
                        `wlan+wlan,3g+3g,wlan+3g`";

/// The studies of a matrix, row by row.
#[derive(Clone, Debug)]
pub struct MatrixPlan {
    /// Rows: the traffic as given.
    pub traffic: Vec<String>,
    /// Pairs of paths, as given.
    pub pairs: Vec<String>,
    /// Names and resolved descriptions of all paths, and of shared links.
    pub described: Vec<(String, String)>,
    /// Protocols over several paths.
    pub protocols: Vec<Protocol>,
    /// The studies.
    pub cells: Vec<PlannedCell>,
    /// Notes on omitted choices.
    pub notes: Vec<String>,
}

/// Where a cell is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CellPlace {
    /// Its row.
    pub traffic: String,
    /// Its paths.
    pub pair: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// Whether 000's background traffic loads the bottlenecks.
    pub background: bool,
    /// What 000 says of it.
    pub reported: Option<Reported>,
    /// Folder of its study below that of the matrix.
    pub folder: String,
}

/// A study that is not yet run.
#[derive(Clone, Debug)]
pub struct PlannedCell {
    /// Where it is.
    pub place: CellPlace,
    options: Options,
    /// Whether all its paths are described alike.
    is_like: bool,
}

/// One pair of paths, or more of them.
struct Pair {
    name: String,
    paths: Vec<PathOption>,
    is_like: bool,
    /// No path has a description of its own.
    has_profiles_only: bool,
}

impl MatrixPlan {
    /// The studies of these options, each resolved once, so that none is refused later; `pairs` is
    /// the text of `--paths`.
    pub fn new(options: &Options, pairs: Option<&Given>) -> Result<MatrixPlan, InputError> {
        let mut base = options.clone();
        set_runs(&mut base);
        let default = Given::argument("--traffic", MATRIX_TRAFFIC);
        let traffic = rows(options.text(Key::Traffic).unwrap_or(&default))?;
        let pairs = pairs_of(&base, pairs)?;
        let (protocols, mut notes) = protocols_of(options)?;
        let several = protocols.len() > 1;
        let mut cells = Vec::new();
        let mut folders = BTreeSet::new();
        let mut described = Vec::new();
        if let ([first, ..], [pair, ..], true) = (&traffic[..], &pairs[..], several) {
            // Each protocol gets its own options only, so all are read here.
            let all = cell_options(&base, first, pair, "tcp,mptcp,sctp,cmt-sctp");
            all.resolve().map_err(|refusal| of_row(refusal, first))?;
        }
        for row in &traffic {
            let folder = unused(&folder_name(&row.text), &mut folders);
            for (pair, protocol, background) in columns(options, &pairs, &protocols) {
                let (mut of, note) = match several {
                    true => of_protocol(&base, protocol),
                    false => (base.clone(), None),
                };
                notes.extend(note.filter(|note| !notes.contains(note)));
                if !background {
                    of.forget(Key::Background);
                }
                let place = CellPlace {
                    traffic: row.text.clone(),
                    pair: pair.name.clone(),
                    protocol,
                    background,
                    reported: pair.reported(&row.text, protocol).filter(|_| !background),
                    folder: format!(
                        "cells/{folder}/{}/{}{}",
                        folder_name(&pair.name),
                        protocol.name(),
                        if background { "-background" } else { "" },
                    ),
                };
                let of_cell = cell_options(&of, row, pair, compared(protocol));
                let cell = PlannedCell { place, options: of_cell, is_like: pair.is_like };
                let scenario = cell.scenario().map_err(|refusal| of_row(refusal, row))?;
                check_baseline(options, &scenario)?;
                describe(&mut described, &scenario);
                cells.push(cell);
            }
        }
        let traffic = traffic.into_iter().map(|given| given.text).collect();
        let pairs = pairs.into_iter().map(|pair| pair.name).collect();
        Ok(MatrixPlan { traffic, pairs, described, protocols, cells, notes })
    }
}

impl PlannedCell {
    /// The scenario of the study. It is resolved anew, because all recordings of a matrix together
    /// may not fit into memory.
    pub fn scenario(&self) -> Result<Scenario, InputError> {
        let mut scenario = self.options.resolve()?;
        if !self.options.is_given(Key::Baseline) {
            scenario.baseline = self.usual_baseline(&scenario);
        }
        Ok(scenario)
    }

    /// Of like paths the average, of the papers' unlike ones the WLAN (000 s5), of others the best.
    fn usual_baseline(&self, scenario: &Scenario) -> Baseline {
        if self.is_like {
            return Baseline::Average;
        }
        let names: Vec<&str> = scenario.paths.iter().map(|path| path.name.as_str()).collect();
        let is_of_paper = |pair: &&[&str; 2]| {
            names.len() == pair.len() && pair.iter().all(|name| names.contains(name))
        };
        let wlan = WITH_WLAN.iter().find(is_of_paper).map(|[wlan, _]| *wlan);
        let place = wlan.and_then(|wlan| names.iter().position(|name| *name == wlan));
        let mut variants = variants_of(scenario).into_iter();
        let alone =
            place.and_then(|place| variants.find(|variant| variant.single_path() == Some(place)));
        alone.map_or(Baseline::Best, |variant| Baseline::Named(variant.name))
    }
}

/// Adds the paths and links of a scenario that are not there yet.
fn describe(described: &mut Vec<(String, String)>, scenario: &Scenario) {
    let paths = scenario.paths.iter().map(|path| (path.name.clone(), path.to_string()));
    let links = scenario.links.iter();
    let links = links.map(|link| (format!("link {}", link.name), link.to_string()));
    for one in paths.chain(links) {
        if !described.contains(&one) {
            described.push(one);
        }
    }
}

/// The columns in their order; with `--background` each without it and with it, as in 000's table.
fn columns<'a>(
    options: &Options,
    pairs: &'a [Pair],
    protocols: &[Protocol],
) -> Vec<(&'a Pair, Protocol, bool)> {
    let loads: &[bool] = match options.switch(Key::Background) {
        Some(true) => &[false, true],
        _ => &[false],
    };
    let mut all = Vec::new();
    for pair in pairs {
        for protocol in protocols {
            all.extend(loads.iter().map(|background| (pair, *protocol, *background)));
        }
    }
    all
}

/// A cell compares with single paths, which no coupled congestion control serves.
fn check_baseline(options: &Options, scenario: &Scenario) -> Result<(), InputError> {
    let alone = variants_of(scenario).iter().any(|variant| variant.single_path().is_some());
    match options.texts(Key::Cc).first() {
        Some(given) if !alone => {
            let problem = "no congestion control for single paths, which cells compare with";
            let help = format!("add one for single paths: `--cc cubic,{}`", given.text);
            Err(given.refuse_whole(problem, help))
        }
        _ => Ok(()),
    }
}

/// Names the row whose traffic lacks the metric.
fn of_row(refusal: InputError, row: &Given) -> InputError {
    match [Key::Metric, Key::Goal].iter().any(|key| refusal.is_at(&key.row().option())) {
        true => refusal.about(&row.text),
        false => refusal,
    }
}

/// What a study with this protocol compares.
const fn compared(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp | Protocol::Mptcp => "tcp,mptcp",
        Protocol::Sctp | Protocol::CmtSctp => "sctp,cmt-sctp",
        Protocol::Udp => "tcp,udp",
    }
}

/// The options of one study.
fn cell_options(base: &Options, traffic: &Given, pair: &Pair, protocols: &str) -> Options {
    let mut options = base.clone();
    options.set_texts(Key::Protocols, vec![Given::argument("--protocols", protocols)]);
    options.set_texts(Key::Traffic, vec![traffic.clone()]);
    options.set_described(Key::Path, pair.paths.clone());
    options
}

impl Pair {
    /// What 000 says of a cell of this pair.
    fn reported(&self, traffic: &str, protocol: Protocol) -> Option<Reported> {
        reported::reported(traffic, &self.name, protocol).filter(|_| self.has_profiles_only)
    }
}

/// Without `--runs` and `--runs-max` their number is fixed, and `--runs auto` has a limit.
fn set_runs(options: &mut Options) {
    let is_auto = options.text(Key::Runs).is_some_and(|given| given.text == "auto");
    let key = match (options.is_given(Key::Runs), options.is_given(Key::RunsMax)) {
        (false, false) => Key::Runs,
        (true, false) if is_auto => Key::RunsMax,
        _ => return,
    };
    let given = Given::argument(&key.row().option(), &MATRIX_RUNS.to_string());
    options.set_texts(key, vec![given]);
}

/// The words of a list, none empty or given twice.
fn words(list: &Given, what: &str, help: &str) -> Result<Vec<Given>, InputError> {
    let mut found: Vec<Given> = Vec::new();
    for (span, word) in list.split_at_commas() {
        let problem = match () {
            () if word.is_empty() => format!("an empty {what}"),
            () if found.iter().any(|other| other.text == word) => {
                format!("the {what} `{word}` is given twice")
            }
            () => {
                found.push(list.with_text(word));
                continue;
            }
        };
        return Err(list.refuse(Refusal { span, problem, help: help.to_owned() }));
    }
    Ok(found)
}

/// The traffic of each row.
fn rows(list: &Given) -> Result<Vec<Given>, InputError> {
    words(list, "row", "write traffic models with commas between: `video,web:amazon`")
}

/// Protocols over several paths; single paths are in every study.
fn protocols_of(options: &Options) -> Result<(Vec<Protocol>, Vec<String>), InputError> {
    let lists = options.texts(Key::Protocols);
    let every = [Protocol::Mptcp, Protocol::CmtSctp];
    let mut protocols = chosen(lists, every.to_vec(), &every, |word| {
        Protocol::by_name(word).ok_or_else(|| {
            let problem = format!("unknown protocol `{word}`");
            (problem, nearest_help(word, &every.map(Protocol::name)))
        })
    })?;
    let alone: Vec<&str> =
        protocols.iter().filter(|p| !p.is_multipath()).map(|p| p.name()).collect();
    let note = (!alone.is_empty()).then(|| {
        let names = alone.join(" and ");
        format!("{names} without a column: every cell is compared with single paths")
    });
    protocols.retain(|protocol| protocol.is_multipath());
    if let (true, Some(given)) = (protocols.is_empty(), lists.first()) {
        let problem = "none of these uses several paths at once";
        return Err(given.refuse_whole(problem, "write `mptcp`, `cmt-sctp` or both"));
    }
    Ok((protocols, note.into_iter().collect()))
}

/// The pairs of `--paths`; without it, the paths given by themselves, or the default ones.
fn pairs_of(options: &Options, given: Option<&Given>) -> Result<Vec<Pair>, InputError> {
    let described = options.described(Key::Path);
    let default = Given::argument(OPTION, MATRIX_PAIRS);
    match (given, described) {
        (Some(list), _) => {
            let words = words(list, "pair of paths", EXAMPLES)?;
            words.iter().map(|word| pair(word, described)).collect()
        }
        (None, []) => {
            let words = words(&default, "pair of paths", EXAMPLES)?;
            words.iter().map(|word| pair(word, described)).collect()
        }
        (None, [only]) => {
            let problem = format!("`{}` is the only path", only.name());
            let help = "add another `--path`, or name pairs: `--paths wlan+wlan,wlan+3g`";
            Err(InputError::at("--path", problem, help))
        }
        (None, all) => {
            let names: Vec<&str> = all.iter().map(PathOption::name).collect();
            let (name, paths) = (names.join("+"), all.to_vec());
            Ok(vec![Pair { name, paths, is_like: false, has_profiles_only: false }])
        }
    }
}

/// Reads `wlan+3g`: profiles, or paths of `--path`.
fn pair(given: &Given, described: &[PathOption]) -> Result<Pair, InputError> {
    let words: Vec<&str> = given.text.split('+').map(str::trim).collect();
    if let [only] = words[..] {
        let problem = format!("`{only}` is one path, and a column needs several at once");
        let help = format!("write `{only}+{only}` for two alike, or add another: `{only}+3g`");
        return Err(given.refuse_whole(problem, help));
    }
    if words.len() > MOST_PATHS {
        let problem = format!("{} paths in one column, and at most {MOST_PATHS} work", words.len());
        return Err(given.refuse_whole(problem, "remove some of them"));
    }
    let mut start = 0;
    for (word, part) in words.iter().zip(given.text.split('+')) {
        let blanks = part.len() - part.trim_start().len();
        let span = start + blanks..start + blanks + word.len();
        start += part.len() + 1;
        let is_described = described.iter().any(|path| path.name() == *word);
        if is_described || Profile::find(word).is_ok() {
            continue;
        }
        let (problem, help) = if word.is_empty() {
            ("an empty name of a path".to_owned(), EXAMPLES.to_owned())
        } else {
            let all = Profile::all();
            let profiles = all.iter().map(|profile| profile.name);
            let names: Vec<&str> = described.iter().map(PathOption::name).chain(profiles).collect();
            let help = format!("{}; or describe it with `--path`", nearest_help(word, &names));
            (format!("unknown path `{word}`"), help)
        };
        return Err(given.refuse(Refusal { span, problem, help }));
    }
    let paths = words.iter().enumerate();
    let paths = paths.map(|(place, word)| {
        let is_alone = words.iter().filter(|other| *other == word).count() == 1;
        let number = words[..=place].iter().filter(|other| *other == word).count();
        path(given, word, (!is_alone).then_some(number), described)
    });
    let is_like = words.iter().all(|word| *word == words[0]);
    let has_profiles_only =
        words.iter().all(|word| described.iter().all(|path| path.name() != *word));
    Ok(Pair { name: words.join("+"), paths: paths.collect(), is_like, has_profiles_only })
}

/// The path of this name; of several alike, with a number.
fn path(given: &Given, word: &str, number: Option<usize>, described: &[PathOption]) -> PathOption {
    let own = described.iter().find(|path| path.name() == word);
    let Some(number) = number else {
        return own.cloned().unwrap_or_else(|| PathOption::Whole(given.with_text(word)));
    };
    match own {
        None => PathOption::Whole(given.with_text(&format!("{word}{number}=profile {word}"))),
        Some(PathOption::Named { name, spec }) => {
            let name = name.with_text(&format!("{word}{number}"));
            PathOption::Named { name, spec: spec.clone() }
        }
        Some(PathOption::Whole(whole)) => {
            let spec = whole.text.split_once('=').map(|(_, spec)| spec.to_owned());
            let spec = spec.unwrap_or_else(|| format!("profile {word}"));
            PathOption::Whole(whole.with_text(&format!("{word}{number}={spec}")))
        }
    }
}

/// A name for a folder: letters, digits and few signs.
fn folder_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: Vec<char> = text.chars().map(plain).collect();
    name[name.len().saturating_sub(LONGEST_NAME)..].iter().collect()
}

/// The name, with a number if it is in use.
fn unused(name: &str, used: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !used.contains(name));
    let free = free.unwrap_or_default();
    used.insert(free.clone());
    free
}

#[cfg(test)]
mod tests;
