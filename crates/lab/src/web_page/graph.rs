//! Dependency graphs in the form of Epload (made from WProf logs), with sizes.
//!
//! `objs[]` have a `download` and `comps[]`, work that runs in the order listed, the first one
//! with the first bytes (`when_comp_start` 1) or after the whole object (-1). `deps[]`: `a2` may
//! start `time` milliseconds after `a1` started, or (-1) when `a1` is completed; an activity with
//! several waits for all. The page is loaded when `load_activity` is done, or (-1) everything.

use super::har::{self, Kind, kind_of_mime, usual_urgency};
use super::tree::Tree;
use super::urls;
use base::Duration;
use std::collections::BTreeMap;
use traffic::web::{Action, Activity, Object, Page, Trigger, Wait};

/// Largest plausible time, in milliseconds.
const LONGEST: f64 = 3_600_000.0;
/// Largest plausible object, in bytes.
const LARGEST: f64 = (1u64 << 40) as f64;

/// The page of a graph, and notes on corrections; the error describes the problem.
pub(super) fn read(name: &str, graph: &Tree) -> Result<(Page, Vec<String>), String> {
    let mut builder = Builder::default();
    for (index, object) in graph.get("objs").list().iter().enumerate() {
        builder.object(index, object)?;
    }
    for dependency in graph.get("deps").list() {
        builder.dependency(dependency);
    }
    builder.load(graph)?;
    let Builder { objects, activities, names, unknown_sizes, dangling, sized, .. } = builder;
    if !objects.is_empty() && !sized {
        let problem = "none of its objects has a size (`bytes`), so that nothing but headers would \
                       be loaded; add `bytes` to every object of `objs`";
        return Err(problem.to_owned());
    }
    let page = Page::new(name.to_owned(), objects, activities).map_err(|fault| {
        use traffic::web::PageFault::Circle;
        match fault {
            Circle { activity } => {
                let name = names.get(activity as usize).map_or("?", String::as_str);
                format!("`{name}` depends on itself, directly or indirectly: the graph has a cycle")
            }
            other => other.to_string(),
        }
    })?;
    let mut notes = Vec::new();
    if let Some(first) = dangling.first() {
        let (n, of) = match dangling.len() {
            1 => (1, "dependency names"),
            n => (n, "dependencies name"),
        };
        notes.push(format!(
            "{n} {of} an activity that is not in `objs`: left out; the first one: {first}"
        ));
    }
    if unknown_sizes > 0 {
        let what = "objects with a missing or impossible size: taken as 0";
        notes.push(format!("{what}: {unknown_sizes}"));
    }
    Ok((page, notes))
}

/// A graph under construction.
#[derive(Default)]
struct Builder {
    objects: Vec<Object>,
    activities: Vec<Activity>,
    /// Names of activities, in their order.
    names: Vec<String>,
    by_name: BTreeMap<String, u32>,
    hosts: BTreeMap<String, u32>,
    unknown_sizes: usize,
    /// Whether an object has a size above zero.
    sized: bool,
    /// Dependencies on activities that do not exist, and their names for these.
    dangling: Vec<String>,
}

impl Builder {
    fn object(&mut self, index: usize, object: &Tree) -> Result<(), String> {
        let download = object.get("download");
        let id = download.get("id").text().ok_or_else(|| {
            format!("object {} of `objs` has no `download` with an `id`", index + 1)
        })?;
        let described = self.describe(object, download);
        let number = self.objects.len() as u32;
        self.objects.push(described);
        let fetch = self.activity(id, Action::Fetch(number), Vec::new())?;
        // `1`: with the first bytes; `-1`, the default: after the last one.
        let with_first_bytes = object.get("when_comp_start").number() == Some(1.0);
        let mut event = if with_first_bytes { Trigger::Received { ppm: 0 } } else { Trigger::End };
        let mut on = fetch;
        for work in object.get("comps").list() {
            let id = work.get("id").text().ok_or_else(|| {
                format!("an entry of `comps` of object {} has no `id`", index + 1)
            })?;
            let before = Wait { on, event, delay: Duration::ZERO };
            on = self.activity(id, Action::Work(duration(work.get("time"))), vec![before])?;
            event = Trigger::End;
        }
        Ok(())
    }

    fn describe(&mut self, object: &Tree, download: &Tree) -> Object {
        let url = object.get("url").text().unwrap_or_default().to_owned();
        let next = self.hosts.len() as u32;
        let host = *self.hosts.entry(urls::host(&url)).or_insert(next);
        let bytes = object.get("bytes").number().filter(|b| (0.0..=LARGEST).contains(b));
        self.unknown_sizes += usize::from(bytes.is_none());
        self.sized |= bytes.is_some_and(|bytes| bytes >= 1.0);
        let kind = match download.get("type").text() {
            Some(mime) => kind_of_mime(mime, &url),
            None => kind_of_mime("", &url),
        };
        let first = self.objects.is_empty();
        Object {
            label: url,
            host,
            request_bytes: har::REQUEST_HEAD,
            response_bytes: bytes.unwrap_or(0.0) as u64 + har::RESPONSE_HEAD,
            think: Duration::ZERO,
            urgency: usual_urgency(if first { Kind::Document } else { kind }),
            in_clear: false,
        }
    }

    fn activity(&mut self, name: &str, action: Action, waits: Vec<Wait>) -> Result<u32, String> {
        let number = self.activities.len() as u32;
        if self.by_name.insert(name.to_owned(), number).is_some() {
            return Err(format!("two activities have the name `{name}`"));
        }
        self.names.push(name.to_owned());
        self.activities.push(Activity { action, waits, before_load: true });
        Ok(number)
    }

    fn dependency(&mut self, dependency: &Tree) {
        let ends = ["a1", "a2"].map(|key| {
            let name = dependency.get(key).text().unwrap_or_default();
            self.by_name.get(name).copied().ok_or((key, name))
        });
        if let Some(Err((key, name))) = ends.iter().find(|end| end.is_err()) {
            let id = dependency.get("id").text().map(|id| format!("`{id}`"));
            let id = id.unwrap_or_else(|| "one without an `id`".to_owned());
            self.dangling.push(format!("{id}, whose `{key}` is `{name}`"));
            return;
        }
        let [Ok(on), Ok(waiter)] = ends else { return };
        let time = dependency.get("time").number();
        let (event, delay) = match time {
            Some(time) if time >= 0.0 => (Trigger::Start, duration(dependency.get("time"))),
            _ => (Trigger::End, Duration::ZERO),
        };
        self.activities[waiter as usize].waits.push(Wait { on, event, delay });
    }

    /// The load condition of the page; and its start, which is required.
    fn load(&mut self, graph: &Tree) -> Result<(), String> {
        let start = graph.get("start_activity").text();
        if let Some(start) = start.filter(|start| !self.by_name.contains_key(*start)) {
            return Err(format!(
                "`start_activity` is `{start}`, which is not an activity of \
                `objs`"
            ));
        }
        let Some(last) = graph.get("load_activity").text().filter(|last| *last != "-1") else {
            return Ok(());
        };
        let Some(last) = self.by_name.get(last) else {
            return Err(format!("`load_activity` is `{last}`, which is not an activity of `objs`"));
        };
        for (number, activity) in self.activities.iter_mut().enumerate() {
            activity.before_load = number == *last as usize;
        }
        Ok(())
    }
}

/// A time in milliseconds; negative values and other types are none.
fn duration(tree: &Tree) -> Duration {
    let ms = tree.number().unwrap_or(0.0).clamp(0.0, LONGEST);
    Duration::from_secs_f64(ms / 1e3)
}
