//! Pages to load: HAR files, dependency graphs, lists of sizes, and names.
//!
//! `document` and `tree` read untrusted files, `har` with `har_graph`, `graph` and `sizes` make
//! pages of them. `traffic::web` loads pages.

mod date;
mod document;
mod graph;
mod har;
mod har_graph;
pub(crate) mod maps;
mod recorded_link;
mod sizes;
mod tree;
mod urls;

pub use crate::built_in::{BUILT_IN_PAGES, BuiltIn};
pub use sizes::{NAMED_PAGES, NamedPage};

use crate::built_in;
use crate::error::sanitised;
use crate::traffic_source::{TrafficSource, located};
use crate::words::nearest;
use base::Duration;
use document::{Document, Fault};
use har::Views;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use traffic::web::Page;

/// The name of the traffic model.
const MODEL: &str = "web";

/// A page and its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageSource {
    /// Page.
    pub page: Arc<Page>,
    /// Its file, or its name.
    pub source: TrafficSource,
    /// Whether it was recorded with its hosts, each of which has connections of its own.
    pub has_hosts: bool,
}

impl PageSource {
    /// Reads `value`, a name of `NAMED_PAGES` or a file relative to `folder`. The folder `data` may
    /// have recordings of the named pages.
    pub(crate) fn read(
        folder: Option<&Path>,
        data: Option<&Path>,
        value: &str,
    ) -> Result<PageSource, Fault> {
        match NAMED_PAGES.iter().find(|named| named.name.eq_ignore_ascii_case(value)) {
            Some(named) => named_page(named, data),
            None => match built_in::page(value) {
                Some(known) => {
                    from_document((value, Views::First), value, value, known.content.as_bytes())
                }
                None => {
                    let (file, which) = views_of(folder, value);
                    from_file((value, which), file, &located(folder, file))
                }
            },
        }
    }

    /// A map session of this length.
    pub(crate) fn map_session(time: Duration) -> Result<PageSource, Fault> {
        let page = maps::session(time).map_err(|fault| unsound("maps", &fault.to_string()))?;
        let notes = vec![format!(
            "maps: a model of {} objects and {} bytes in total (002 sV-D prints neither): times \
             and sizes are assumed",
            page.objects().len(),
            page.response_bytes()
        )];
        let source = TrafficSource {
            model: "maps",
            anchored: time.to_string(),
            options: String::new(),
            digest: None,
            is_data: false,
            notes,
        };
        Ok(PageSource { page: Arc::new(page), source, has_hosts: false })
    }
}

/// The recording of a named page if the folder `data` has one, else its model.
fn named_page(named: &NamedPage, data: Option<&Path>) -> Result<PageSource, Fault> {
    let recorded = data.map(|folder| folder.join("web").join(named.recorded));
    if let Some(path) = recorded.as_ref().filter(|path| path.is_file()) {
        let file = path.display().to_string();
        let mut page = from_file((named.name, Views::First), &file, path)?;
        page.source.is_data = true;
        page.source.notes.insert(0, format!("page: `{}` as recorded in {file}", named.name));
        return Ok(page);
    }
    let page = named.model().map_err(|fault| unsound(named.name, &fault.to_string()))?;
    let mut notes = vec![format!(
        "page: `{}` is a model of {} objects and {} bytes in total ({}); object sizes are assumed",
        named.name, named.objects, named.bytes, named.source
    )];
    if let Some(path) = recorded {
        notes.push(format!("page: its recording is not in the folder of data: {}", path.display()));
    }
    let anchored = named.name.to_owned();
    let source = TrafficSource {
        model: MODEL,
        anchored,
        options: String::new(),
        digest: None,
        is_data: false,
        notes,
    };
    Ok(PageSource { page: Arc::new(page), source, has_hosts: false })
}

/// The file in `value`, and which of its pages: `FILE:all` or `FILE:2`. A file with all of that as
/// its name comes first.
fn views_of<'v>(folder: Option<&Path>, value: &'v str) -> (&'v str, Views) {
    let whole = (value, Views::First);
    let Some((file, last)) = value.rsplit_once(':') else { return whole };
    let which = match last.parse() {
        Ok(number) => Views::Number(number),
        Err(_) if last.eq_ignore_ascii_case("all") => Views::All,
        Err(_) => return whole,
    };
    if located(folder, value).exists() { whole } else { (file, which) }
}

fn from_file((name, which): (&str, Views), file: &str, path: &Path) -> Result<PageSource, Fault> {
    let opened = File::open(path).map_err(|error| missing(file, &error))?;
    if path.is_dir() {
        let help = "name a HAR file or a dependency graph in it";
        return Err((format!("page `{file}` is a folder"), help.to_owned()));
    }
    let anchored = path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string();
    from_document((name, which), file, &anchored, opened)
}

/// The page `name` in a document, which is `file` in messages.
fn from_document(
    (name, which): (&str, Views),
    file: &str,
    anchored: &str,
    source: impl Read,
) -> Result<PageSource, Fault> {
    let in_file = |(problem, help): Fault| (format!("page `{file}`: {problem}"), help);
    let document = document::read(source).map_err(in_file)?;
    let Understood { page, mut notes, has_hosts } =
        understood(name, &document, which).map_err(in_file)?;
    if document.wrapped {
        notes.push("the JavaScript around it is left out".to_owned());
    }
    let notes = notes.iter().map(|note| format!("page: {}", sanitised(note)));
    let source = TrafficSource {
        model: MODEL,
        anchored: anchored.to_owned(),
        options: which.suffix(),
        digest: Some(document.digest),
        is_data: false,
        notes: notes.collect(),
    };
    Ok(PageSource { page: Arc::new(page), source, has_hosts })
}

/// What a document contains.
struct Understood {
    page: Page,
    notes: Vec<String>,
    has_hosts: bool,
}

/// The page of a document, by its format.
fn understood(name: &str, document: &Document, which: Views) -> Result<Understood, Fault> {
    let tree = &document.tree;
    if which != Views::First && !tree.get("log").is_map() {
        let problem = "only HAR files have several pages".to_owned();
        return Err((problem, "leave out what follows the last colon".to_owned()));
    }
    let of = |(page, notes)| Understood { page, notes, has_hosts: false };
    let fault = |problem: String| (problem, "correct the file, or record it again".to_owned());
    if tree.get("log").is_map() {
        let no_view = |problem: String| match which {
            Views::Number(_) if problem.contains("was not recorded") => {
                (problem, "give a number from 1, or `all`".to_owned())
            }
            _ => fault(problem),
        };
        let recording = har::read(tree.get("log"), which).map_err(no_view)?;
        let page = har_graph::page(name, &recording.views);
        let page = page.map_err(|f| unsound(name, &f.to_string()))?;
        let mut notes = recording.notes;
        notes.extend(recorded_link::describe(&recording.views));
        Ok(Understood { page, notes, has_hosts: true })
    } else if tree.get("objs").is_list() {
        graph::read(name, tree).map_err(fault).map(of)
    } else if tree.get("object_bytes").is_list() {
        sizes::read(name, tree).map_err(fault).map(of)
    } else {
        let problem = "neither a HAR file (it has no `log`) nor a dependency graph (no `objs`) nor \
                       a list of sizes (no `object_bytes`)";
        let help = "save the network log of the page as HAR in a browser's developer tools";
        Err((problem.to_owned(), help.to_owned()))
    }
}

fn unsound(name: &str, problem: &str) -> Fault {
    (format!("`{name}` is not a page: {problem}"), "give another recording".to_owned())
}

/// The names of all pages: the models, then the recordings.
pub(crate) fn names() -> Vec<&'static str> {
    let recorded = built_in::BUILT_IN_PAGES.iter().map(|recording| recording.name);
    NAMED_PAGES.iter().map(|named| named.name).chain(recorded).collect()
}

/// Error for a missing file, which may be a misspelt name.
fn missing(file: &str, error: &std::io::Error) -> Fault {
    let names = names();
    let is_path = file.contains(['/', '.', '\\']);
    let help = match nearest(file, names.iter().copied()).filter(|_| !is_path) {
        Some(near) => format!("did you mean `web:{near}`? Pages by name: {}", names.join(", ")),
        None => format!(
            "check the name; it is relative to the scenario file, or to the working directory. \
             Pages by name: {}",
            names.join(", ")
        ),
    };
    (format!("page `{file}` cannot be read: {error}"), help)
}

#[cfg(test)]
mod tests;
