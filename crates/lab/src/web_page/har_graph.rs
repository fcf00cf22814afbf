//! Dependencies in a HAR file, derived by a rule, because recordings do not have them.
//!
//! An entry begins at the end of its last wait. Its waits are, in this order:
//!
//! 1. The redirect that leads to it.
//! 2. The entry that its initiator names. If that one was still being received, the part received
//!    by then is the cause; if it had ended, the entry also waits for the last script or style
//!    sheet that ended after it and before this entry began, because parsers and scripts wait for
//!    those.
//! 3. Without either: the document, if it was being received; else the response that ended last
//!    before the entry began, among those that can ask for others (images cannot).
//! 4. Without any: the start of the first entry.
//!
//! The remaining time between the last of its waits and its start is processing time, kept as a
//! delay. The same holds at the server for the recorded wait for the first byte beyond a round
//! trip: the shortest known handshake of that server, or else the lower quartile of its waits.
//! Every wait is for an entry that began earlier, so there are no cycles.

use super::har::{Entry, Har, Kind};
use super::urls;
use base::Duration;
use std::collections::BTreeMap;
use traffic::web::{Action, Activity, Object, Page, PageFault, Trigger, View, Wait};

/// Recorded times are rounded to milliseconds.
const TOLERANCE_MS: f64 = 1.0;
/// Longest pause between pages, in milliseconds: some recordings are of several visits, minutes
/// apart.
const MOST_PAUSE: f64 = 10_000.0;

/// The page of a recording; of several pages all, one after the other.
pub(super) fn page(name: &str, views: &[Har]) -> Result<Page, PageFault> {
    let (mut objects, mut activities, mut marks) = (Vec::new(), Vec::new(), Vec::<View>::new());
    let mut loaded_at = None;
    for har in views {
        // A user needs a moment between pages.
        let begin = (views.len() > 1).then(|| {
            let pause = loaded_at.map_or(0.0, |loaded: f64| har.zero - loaded);
            let after = marks.last().map(|before| Wait {
                on: before.load,
                event: Trigger::End,
                delay: millis(pause.min(MOST_PAUSE)),
            });
            activities.push(work(after.into_iter().collect()));
            activities.len() as u32 - 1
        });
        let base = activities.len();
        add(har, begin, &mut objects, &mut activities);
        if let Some(begin) = begin {
            let load = activities.len() as u32;
            activities.push(load_event(&activities, base));
            marks.push(View { begin, load });
        }
        let ends = har.entries.iter().map(|entry| entry.end).fold(0.0, f64::max);
        loaded_at = Some(har.zero + har.loaded.unwrap_or(ends));
    }
    Ok(Page::new(name.to_owned(), objects, activities)?.of_views(marks))
}

/// Work that takes no time.
fn work(waits: Vec<Wait>) -> Activity {
    Activity { action: Action::Work(Duration::ZERO), waits, before_load: true }
}

/// Adds the activities of a page that begins at the end of `begin`.
fn add(har: &Har, begin: Option<u32>, objects: &mut Vec<Object>, activities: &mut Vec<Activity>) {
    let entries = &har.entries;
    let round_trips = round_trips(entries);
    let causes = Causes::new(entries);
    let base = activities.len() as u32;
    for (index, entry) in entries.iter().enumerate() {
        let action = if entry.fetched {
            objects.push(object(entry, &round_trips));
            Action::Fetch(objects.len() as u32 - 1)
        } else {
            Action::Work(millis(entry.end - entry.start))
        };
        let mut waits = causes.of(index);
        waits.iter_mut().for_each(|wait| wait.on += base);
        if let (true, Some(on)) = (waits.is_empty(), begin) {
            waits.push(Wait { on, event: Trigger::End, delay: Duration::ZERO });
        }
        let before_load = har.loaded.is_none_or(|loaded| entry.start <= loaded + TOLERANCE_MS);
        activities.push(Activity { action, waits, before_load });
    }
}

/// The load event of the page whose activities begin with `base`.
fn load_event(activities: &[Activity], base: usize) -> Activity {
    let of_page = (base as u32..).zip(&activities[base..]);
    let held = of_page.filter(|(_, activity)| activity.before_load);
    let ended = |(on, _)| Wait { on, event: Trigger::End, delay: Duration::ZERO };
    work(held.map(ended).collect())
}

fn object(entry: &Entry, round_trips: &BTreeMap<&str, f64>) -> Object {
    let round_trip = round_trips.get(entry.server.as_str()).copied().unwrap_or(0.0);
    Object {
        label: entry.url.clone(),
        host: entry.host,
        request_bytes: entry.request_bytes,
        response_bytes: entry.response_bytes,
        think: millis(entry.wait.map_or(0.0, |wait| wait - round_trip)),
        urgency: entry.urgency,
        in_clear: entry.in_clear,
    }
}

/// The round trip to every server, as far as known.
fn round_trips(entries: &[Entry]) -> BTreeMap<&str, f64> {
    let mut seen: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.fetched) {
        let (handshakes, waits) = seen.entry(&entry.server).or_default();
        handshakes.extend(entry.connect);
        waits.extend(entry.wait);
    }
    seen.into_iter()
        .filter_map(|(server, (handshakes, mut waits))| {
            waits.sort_by(f64::total_cmp);
            let quartile = waits.get(waits.len() / 4).copied();
            Some((server, handshakes.into_iter().reduce(f64::min).or(quartile)?))
        })
        .collect()
}

fn millis(ms: f64) -> Duration {
    Duration::from_secs_f64(ms.max(0.0) / 1e3)
}

/// Finds the waits of entries.
struct Causes<'e> {
    entries: &'e [Entry],
    /// Entries by URL and by URL without query, in order of their start.
    by_url: BTreeMap<&'e str, Vec<usize>>,
    /// The redirect that leads to each entry.
    redirects: Vec<Option<usize>>,
    /// The first document that is no redirect.
    document: Option<usize>,
    /// Entries by their end: all possible initiators, and scripts and style sheets.
    askers: Ends,
    gates: Ends,
}

/// Sorted ends, each with its entry.
struct Ends(Vec<(f64, usize)>);

impl Ends {
    fn of(entries: &[Entry], which: impl Fn(&Entry) -> bool) -> Ends {
        let chosen = entries.iter().enumerate().filter(|(_, entry)| which(entry));
        let mut ends: Vec<(f64, usize)> = chosen.map(|(index, entry)| (entry.end, index)).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Ends(ends)
    }

    /// The entry before `index` with the last end not after `by`.
    fn last(&self, index: usize, by: f64) -> Option<usize> {
        let ended = self.0.partition_point(|(end, _)| *end <= by);
        self.0[..ended].iter().rev().find(|(_, entry)| *entry < index).map(|(_, entry)| *entry)
    }
}

impl<'e> Causes<'e> {
    fn new(entries: &'e [Entry]) -> Self {
        let mut by_url: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let (url, bare) = (entry.url.as_str(), urls::without_query(&entry.url));
            by_url.entry(url).or_default().push(index);
            if bare != url {
                by_url.entry(bare).or_default().push(index);
            }
        }
        // A redirect has a document, too, which is not shown.
        let is_document = |entry: &Entry| entry.kind == Kind::Document && entry.redirect.is_none();
        let can_ask = |kind| !matches!(kind, Kind::Image | Kind::Media | Kind::Font);
        let is_gate = |kind| matches!(kind, Kind::Script | Kind::Style);
        Causes {
            entries,
            by_url,
            redirects: redirects(entries),
            document: entries.iter().position(is_document),
            askers: Ends::of(entries, |entry| can_ask(entry.kind)),
            gates: Ends::of(entries, |entry| is_gate(entry.kind)),
        }
    }

    /// The waits of an entry.
    fn of(&self, index: usize) -> Vec<Wait> {
        if index == 0 {
            return Vec::new();
        }
        if let Some(redirect) = self.redirects[index] {
            return vec![self.after(redirect, index)];
        }
        if let Some(initiator) = self.initiator(index) {
            return self.after_initiator(initiator, index);
        }
        let start = self.entries[index].start;
        let streamed = self.document.filter(|document| {
            let entry = &self.entries[*document];
            *document < index && (entry.first_byte..entry.end - TOLERANCE_MS).contains(&start)
        });
        match streamed.or_else(|| self.askers.last(index, start + TOLERANCE_MS)) {
            Some(cause) => vec![self.after(cause, index)],
            None => vec![self.since_start(0, index)],
        }
    }

    /// The entry of this one's initiator: the last one of that URL that began before.
    fn initiator(&self, index: usize) -> Option<usize> {
        let url = self.entries[index].initiator.as_deref()?;
        let find = |url: &str| {
            let named = self.by_url.get(url)?;
            named[..named.partition_point(|other| *other < index)].last().copied()
        };
        find(url).or_else(|| find(urls::without_query(url)))
    }

    fn after_initiator(&self, initiator: usize, index: usize) -> Vec<Wait> {
        let (by, start) = (&self.entries[initiator], self.entries[index].start);
        let gate = self
            .gates
            .last(index, start + TOLERANCE_MS)
            .filter(|gate| by.end <= start + TOLERANCE_MS && self.entries[*gate].end > by.end);
        match gate {
            None => vec![self.after(initiator, index)],
            Some(gate) => {
                let on = initiator as u32;
                let ended = Wait { on, event: Trigger::End, delay: Duration::ZERO };
                vec![ended, self.after(gate, index)]
            }
        }
    }

    /// The part of `cause` that triggered `index`, and the delay after it.
    fn after(&self, cause: usize, index: usize) -> Wait {
        let (by, start) = (&self.entries[cause], self.entries[index].start);
        let on = cause as u32;
        if by.end <= start + TOLERANCE_MS {
            return Wait { on, event: Trigger::End, delay: millis(start - by.end) };
        }
        if start < by.first_byte || !by.fetched {
            return self.since_start(cause, index);
        }
        // During reception: this part of its bytes had been received.
        let part = (start - by.first_byte) / (by.end - by.first_byte);
        let ppm = (part * 1e6) as u32;
        Wait { on, event: Trigger::Received { ppm }, delay: Duration::ZERO }
    }

    fn since_start(&self, cause: usize, index: usize) -> Wait {
        let delay = millis(self.entries[index].start - self.entries[cause].start);
        Wait { on: cause as u32, event: Trigger::Start, delay }
    }
}

/// For every entry the redirect that leads to it: the first entry with its target that begins after
/// its end and is not assigned to another redirect. Published recordings have their queries
/// removed, so an entry without a query may be the target of a redirect with one.
fn redirects(entries: &[Entry]) -> Vec<Option<usize>> {
    let mut by_url: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        by_url.entry(urls::normal(&entry.url)).or_default().push(index);
    }
    let mut led_by = vec![None; entries.len()];
    for (from, entry) in entries.iter().enumerate() {
        let Some(target) = &entry.redirect else { continue };
        let target = urls::normal(target);
        let candidates = [target.as_str(), urls::without_query(&target)];
        let leads_to = candidates.iter().find_map(|url| {
            let named = by_url.get_mut(*url)?;
            let too_early =
                |to: &usize| *to <= from || entries[*to].start + TOLERANCE_MS < entry.end;
            // No entry is the target of two redirects, so found entries are removed.
            let place = named.partition_point(too_early);
            (place < named.len()).then(|| named.remove(place))
        });
        if let Some(to) = leads_to {
            led_by[to] = Some(from);
        }
    }
    led_by
}
