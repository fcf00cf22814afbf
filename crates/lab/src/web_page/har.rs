//! HAR 1.2: the entries of a page as plain values, with notes on corrections.
//!
//! Recordings come from many programs, which deviate from the format. Missing or invalid values are
//! replaced by plausible ones and counted; entries that are not an exchange of a request and a
//! response (aborted ones, sockets, `data:` URLs) are left out and counted. `har_graph` derives the
//! dependencies.

use super::tree::Tree;
use super::{date, urls};
use std::collections::BTreeMap;
use traffic::web::MOST_ACTIVITIES;

/// Bytes of a request header that the recording does not give; assumed.
pub(super) const REQUEST_HEAD: u64 = 400;
/// Bytes of a response header that the recording does not give; assumed.
pub(super) const RESPONSE_HEAD: u64 = 300;
/// Largest plausible size, in bytes.
const LARGEST: f64 = (1u64 << 40) as f64;
/// Largest plausible time, in milliseconds; a run ends long before.
const LONGEST: f64 = 3_600_000.0;

/// Entries that begin later than this, in milliseconds after the first, are noted: with wrong
/// clocks the page may never be loaded.
const LATE: f64 = 120_000.0;

/// One exchange of a page. Times are milliseconds since the first one began.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Entry {
    pub url: String,
    pub kind: Kind,
    /// Number of the host within the page.
    pub host: u32,
    /// Answering server, as precisely as known.
    pub server: String,
    pub start: f64,
    pub first_byte: f64,
    pub end: f64,
    /// The time of a TCP handshake, if one was recorded.
    pub connect: Option<f64>,
    /// The time of a lookup of its host's name, if one was recorded.
    pub lookup: Option<f64>,
    /// Whether a TLS handshake was recorded.
    pub has_tls: bool,
    /// Whether it was a stream of a connection with others, as in HTTP/2 and HTTP/3.
    pub is_stream: bool,
    /// Time from the request to the first byte, for answers of a server.
    pub wait: Option<f64>,
    pub request_bytes: u64,
    pub response_bytes: u64,
    /// Whether it used the network.
    pub fetched: bool,
    /// Its scheme is `http`.
    pub in_clear: bool,
    pub urgency: u8,
    /// Initiator.
    pub initiator: Option<String>,
    /// Target of a redirect.
    pub redirect: Option<String>,
}

/// Kind of an object, which decides what can depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Document,
    Style,
    Script,
    /// Data fetched by scripts.
    Data,
    Font,
    Image,
    Media,
    Unknown,
}

/// Which pages of a recording are loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Views {
    /// The first one with entries.
    #[default]
    First,
    /// The one with this number, from 1.
    Number(usize),
    /// All of them, one after the other.
    All,
}

impl Views {
    /// What follows the name of the file.
    pub(super) fn suffix(self) -> String {
        match self {
            Views::First => String::new(),
            Views::Number(number) => format!(":{number}"),
            Views::All => ":all".to_owned(),
        }
    }
}

/// A recording: its pages, and notes on its reading.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Recording {
    /// At least one.
    pub views: Vec<Har>,
    pub notes: Vec<String>,
}

/// A page of a recording.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Har {
    /// Start of the first exchange, in milliseconds since 1970.
    pub zero: f64,
    /// Exchanges in order of their start.
    pub entries: Vec<Entry>,
    /// Time of the load event, if recorded.
    pub loaded: Option<f64>,
    /// The same since the start of the page or of the first exchange, whichever was earlier.
    pub load_time: Option<f64>,
}

/// Corrections and omissions, by their text.
#[derive(Default)]
struct Repairs(BTreeMap<&'static str, usize>);

impl Repairs {
    fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    fn notes(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(what, times)| {
            let entries = if times == 1 { "entry" } else { "entries" };
            format!("{times} {entries} {what}")
        })
    }
}

/// The pages of a HAR file; `log` is its root. The error describes the problem.
pub(super) fn read(log: &Tree, which: Views) -> Result<Recording, String> {
    let all = log.get("entries").list();
    if all.is_empty() {
        return Err("a HAR file without entries: nothing was recorded".to_owned());
    }
    if all.len() > MOST_ACTIVITIES {
        return Err(format!("a HAR file of {} entries is too large for a page", all.len()));
    }
    let mut notes = Vec::new();
    note_version(log, &mut notes);
    let chosen = chosen_views(log, all, which, &mut notes)?;
    let (mut repairs, mut hosts) = (Repairs::default(), BTreeMap::new());
    let fields = Fields { ssl: Ssl::of(all, log.get("creator")), body: BodySize::of(all) };
    let mut views = Vec::new();
    let mut late = Vec::new();
    for (number, (page, entries)) in chosen.iter().enumerate() {
        match view(page, entries, fields, &mut hosts, &mut repairs, &mut late) {
            Ok(har) => views.push(har),
            Err(problem) if number + 1 == chosen.len() && views.is_empty() => return Err(problem),
            Err(problem) => {
                notes.push(format!("page `{}` is left out: {problem}", name_of(page)));
            }
        }
    }
    notes.extend(repairs.notes());
    notes.extend(late);
    Ok(Recording { views, notes })
}

/// One page of a recording.
fn view(
    page: &Tree,
    entries: &[&Tree],
    fields: Fields,
    hosts: &mut BTreeMap<String, u32>,
    repairs: &mut Repairs,
    notes: &mut Vec<String>,
) -> Result<Har, String> {
    let raw: Vec<(f64, &Tree)> = started(entries, repairs);
    let Some(zero) = raw.iter().map(|(start, _)| *start).reduce(f64::min) else {
        return Err("none of its entries is an exchange over the network".to_owned());
    };
    let mut entries: Vec<Entry> = raw
        .iter()
        .map(|(start, tree)| entry(tree, (start - zero).min(LONGEST), fields, hosts, repairs))
        .collect();
    entries.sort_by(|a, b| a.start.total_cmp(&b.start));
    has_sizes(&raw)?;
    if !entries.iter().any(|entry| entry.fetched) {
        let problem = "none of its entries came from the network: it was recorded with a filled \
                       cache; record it with the cache disabled";
        return Err(problem.to_owned());
    }
    let last = raw.iter().map(|(start, _)| start - zero).fold(0.0, f64::max);
    note_late(&entries, last, notes);
    let (mut loaded, mut load_time) = loaded(page, zero).unzip();
    // The load event waits at least for the first document, regardless of clocks.
    let first = entries.iter().find(|entry| entry.fetched && entry.redirect.is_none());
    if loaded.zip(first).is_some_and(|(loaded, first)| loaded + 1.0 < first.first_byte) {
        (loaded, load_time) = (None, None);
        notes.push("the load event is recorded before the first response: left out".to_owned());
    }
    Ok(Har { zero, loaded, load_time, entries })
}

fn note_version(log: &Tree, notes: &mut Vec<String>) {
    let version = log.get("version");
    let text = version.text().map(str::to_owned).or(version.number().map(|n| n.to_string()));
    // Absent means 1.1 (HAR 1.2, "log").
    if let Some(text) = text.filter(|text| text != "1.2" && text != "1.1") {
        let text: String = text.chars().take(20).collect();
        notes.push(format!("HAR version {text} is not known; read as 1.2"));
    }
}

/// `last`: when the last entry begins in the recording, in ms.
fn note_late(entries: &[Entry], last: f64, notes: &mut Vec<String>) {
    let late = entries.iter().filter(|entry| entry.start > LATE).count();
    if late > 0 {
        let (entries, begin) = if late == 1 { ("entry", "begins") } else { ("entries", "begin") };
        let minutes = last / 60_000.0;
        let longest = LONGEST / 60_000.0;
        let pause = match last > LONGEST {
            true => format!("the pause is cut to {longest:.0} minutes"),
            false => "the pause is kept".to_owned(),
        };
        notes.push(format!(
            "{late} {entries} {begin} up to {minutes:.0} minutes after the first: {pause}; check \
             the times if the page has no such pause"
        ));
    }
}

/// A page and its entries.
type View<'t> = (&'t Tree, Vec<&'t Tree>);

/// The pages with entries. Entries without a page belong to the first one.
fn views_of<'t>(pages: &'t [Tree], all: &'t [Tree]) -> Vec<View<'t>> {
    let mut number_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, page) in pages.iter().enumerate() {
        if let Some(id) = page.get("id").text() {
            number_of.entry(id).or_insert(number);
        }
    }
    let page_of = |entry: &Tree| number_of.get(entry.get("pageref").text()?).copied();
    let Some(first) = all.iter().filter_map(page_of).min() else {
        // No entry refers to a page: all belong to one.
        return vec![(pages.first().unwrap_or(&Tree::Nothing), all.iter().collect())];
    };
    let mut views: Vec<View<'t>> = pages.iter().map(|page| (page, Vec::new())).collect();
    for entry in all {
        if let Some((_, entries)) = views.get_mut(page_of(entry).unwrap_or(first)) {
            entries.push(entry);
        }
    }
    views.retain(|(_, entries)| !entries.is_empty());
    views
}

/// The pages to be loaded.
fn chosen_views<'t>(
    log: &'t Tree,
    all: &'t [Tree],
    which: Views,
    notes: &mut Vec<String>,
) -> Result<Vec<View<'t>>, String> {
    let pages = log.get("pages").list();
    let mut views = views_of(pages, all);
    let found = views.len();
    let number = match which {
        Views::All => {
            if found > 1 {
                notes.push(format!(
                    "{found} pages are loaded one after the other, each when the one before it \
                     is loaded and the recorded pause, at most 10 s, is over: the result is the \
                     mean of their load times"
                ));
            }
            return Ok(views);
        }
        Views::First => 1,
        Views::Number(number) => number,
    };
    if number == 0 || number > found {
        let pages_have = if found == 1 { "page has" } else { "pages have" };
        return Err(format!("page {number} was not recorded: {found} {pages_have} entries"));
    }
    let chosen = views.swap_remove(number - 1);
    if chosen.1.len() < all.len() {
        let (pages, rest) = (pages.len(), all.len() - chosen.1.len());
        let entries_of = if rest == 1 { "entry" } else { "entries" };
        let name = name_of(chosen.0);
        let only = match which {
            Views::First => format!("the first, `{name}`,"),
            _ => format!("`{name}`"),
        };
        notes.push(format!(
            "{pages} pages were recorded: only {only} is loaded; {rest} {entries_of} of \
             the others left out"
        ));
    }
    Ok(vec![chosen])
}

/// The name of a page, for display.
fn name_of(page: &Tree) -> String {
    page.get("id").text().unwrap_or_default().chars().take(40).collect()
}

/// Refuses a recording without the size of any response that has content.
fn has_sizes(exchanges: &[(f64, &Tree)]) -> Result<(), String> {
    let fetched = || exchanges.iter().map(|(_, entry)| *entry).filter(|entry| is_fetched(entry));
    let has_content = |entry: &&Tree| entry.get("response").get("status").number() == Some(200.0);
    if !fetched().any(|entry| has_content(&entry))
        || fetched().any(|entry| bytes_of(entry).is_some())
    {
        return Ok(());
    }
    let problem = "none of its responses has a size (`_transferSize`, `bodySize` or `content.size` \
                   above zero), so that nothing but headers would be loaded; record it with the \
                   developer tools of a browser";
    Err(problem.to_owned())
}

/// The entries that are exchanges, each with the time of its start since 1970.
fn started<'t>(entries: &[&'t Tree], repairs: &mut Repairs) -> Vec<(f64, &'t Tree)> {
    let mut last = None;
    let mut started = Vec::new();
    for entry in entries {
        if let Some(why) = no_exchange(entry) {
            repairs.count(why);
            continue;
        }
        let start = entry.get("startedDateTime").text().and_then(date::millis);
        if start.is_none() {
            repairs.count("without a start time: start of the entry before taken");
        }
        last = start.or(last);
        started.push((start.or(last), *entry));
    }
    let zero = started.iter().filter_map(|(start, _)| *start).reduce(f64::min).unwrap_or(0.0);
    started.into_iter().map(|(start, entry)| (start.unwrap_or(zero), entry)).collect()
}

const WEB_SOCKET: &str = "left out: web sockets";
/// The method that opens a tunnel through a proxy (RFC 9110 s9.3.6).
const CONNECT: &str = "CONNECT";

/// Reason for leaving an entry out.
fn no_exchange(entry: &Tree) -> Option<&'static str> {
    let (request, response) = (entry.get("request"), entry.get("response"));
    if !entry.is_map() || !request.is_map() {
        return Some("left out: without a request");
    }
    let is_tunnel = |method: &str| method.eq_ignore_ascii_case(CONNECT);
    if request.get("method").text().is_some_and(is_tunnel) {
        return Some("left out: tunnels through a proxy (`CONNECT`)");
    }
    let Some(url) = request.get("url").text() else {
        return Some("left out: without a URL");
    };
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    match scheme.as_str() {
        "http" | "https" => {}
        "ws" | "wss" => return Some(WEB_SOCKET),
        _ => return Some("left out: not from the network (such as `data:`)"),
    }
    let status = response.get("status").number();
    let failed = response.get("_error").text().or(entry.get("_error").text()).is_some();
    match status {
        Some(101.0) => Some(WEB_SOCKET),
        Some(status) if status >= 100.0 && !(failed && bytes_of(entry).is_none()) => None,
        _ => Some("left out: aborted or failed"),
    }
}

fn entry(
    tree: &Tree,
    start: f64,
    fields: Fields,
    hosts: &mut BTreeMap<String, u32>,
    repairs: &mut Repairs,
) -> Entry {
    let (request, response) = (tree.get("request"), tree.get("response"));
    let url: String = request.get("url").text().unwrap_or_default().to_owned();
    let host = urls::host(&url);
    let next = hosts.len() as u32;
    let number = *hosts.entry(host.clone()).or_insert(next);
    let server = tree.get("serverIPAddress").text().map_or(host, str::to_owned);
    let times = Times::of(tree, fields.ssl, repairs);
    let fetched = is_fetched(tree);
    if !fetched {
        repairs.count("from a cache: their time passes, but nothing is fetched");
    }
    let kind = kind_of(tree, &url);
    let status = response.get("status").number().unwrap_or(0.0);
    let redirect = response.get("redirectURL").text().filter(|_| (300.0..400.0).contains(&status));
    Entry {
        kind,
        host: number,
        server,
        start,
        first_byte: start + (times.total - times.receive).max(0.0),
        end: start + times.total,
        connect: times.connect,
        lookup: times.lookup,
        has_tls: times.has_tls,
        is_stream: is_stream(response),
        wait: times.wait.filter(|_| !is_cached(tree)),
        request_bytes: request_bytes(request),
        response_bytes: if fetched { response_bytes(tree, fields.body, repairs) } else { 0 },
        fetched,
        in_clear: url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:")),
        urgency: urgency(tree, kind),
        initiator: initiator(tree.get("_initiator"), 0).map(str::to_owned),
        redirect: redirect.map(|target| urls::resolve(&url, target)),
        url,
    }
}

/// `h2`, `HTTP/2.0`, `h3-Q050`: browsers write the version as they like.
fn is_stream(response: &Tree) -> bool {
    let version = response.get("httpVersion").text().unwrap_or_default().to_ascii_lowercase();
    ["h2", "h3", "http/2", "http/3", "spdy", "quic"].iter().any(|name| version.starts_with(name))
}

/// What the program that wrote a file puts into some of its fields.
#[derive(Clone, Copy)]
struct Fields {
    ssl: Ssl,
    body: BodySize,
}

/// What `bodySize` of a response has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BodySize {
    /// The body (HAR 1.2, "response"; Chrome, Safari).
    Body,
    /// Head and body (Firefox).
    Message,
}

impl BodySize {
    /// What it equals in most of the entries: the content, or that and the head. Where the body was
    /// compressed, it equals neither.
    fn of(entries: &[Tree]) -> BodySize {
        let has_head = |entry: &Tree| {
            let response = entry.get("response");
            let head = response.get("headersSize").number().filter(|head| *head > 0.0)?;
            let content = positive(response.get("content").get("size"))?;
            match positive(response.get("bodySize"))? - content {
                0.0 => Some(false),
                more if more == head => Some(true),
                _ => None,
            }
        };
        let known: Vec<bool> = entries.iter().filter_map(has_head).collect();
        let with = known.iter().filter(|has_head| **has_head).count();
        if 2 * with > known.len() { BodySize::Message } else { BodySize::Body }
    }
}

/// Place of the TLS handshake in the timings of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ssl {
    /// `connect` includes `ssl` (HAR 1.2, "timings"; Chrome, Safari).
    Within,
    /// `connect` is TCP only (Firefox).
    Beside,
    /// `connect` includes `ssl`, and `time` has it once more (Playwright).
    Twice,
}

impl Ssl {
    /// The place for which the sum of the timings is nearer to `time`, by most of the entries;
    /// `creator`: the program that wrote the file.
    fn of(entries: &[Tree], creator: &Tree) -> Ssl {
        let beside = |entry: &Tree| {
            let timings = entry.get("timings");
            let above_zero = |key| timings.get(key).number().filter(|time| *time > 0.0);
            let (connect, ssl) = (above_zero("connect")?, above_zero("ssl")?);
            let Some(total) = positive(entry.get("time")) else { return Some(ssl > connect) };
            // Firefox adds its -1 for absent timings, too.
            let times = || PHASES.iter().filter_map(|key| timings.get(key).number());
            let sums = [times().sum::<f64>(), times().filter(|time| *time > 0.0).sum()];
            let distance = |more: f64| {
                sums.iter().map(|sum| (sum + more - total).abs()).fold(f64::MAX, f64::min)
            };
            // HAR 1.2 applies where neither is near.
            Some(distance(ssl) < distance(0.0) && distance(ssl) <= MOST_ROUNDED)
        };
        let (mut with, mut without) = (0_usize, 0_usize);
        for is_beside in entries.iter().filter_map(beside) {
            *(if is_beside { &mut with } else { &mut without }) += 1;
        }
        match creator.get("name").text() {
            _ if with <= without => Ssl::Within,
            Some("Playwright") => Ssl::Twice,
            _ => Ssl::Beside,
        }
    }
}

/// Largest difference, in milliseconds, between the sum of the timings and `time` that has rounding
/// and absent timings as its reason.
const MOST_ROUNDED: f64 = 5.0;

/// The timings that follow one another; `ssl` may be one more.
const PHASES: [&str; 6] = ["blocked", "dns", "connect", "send", "wait", "receive"];

/// Sum of the timings of an entry, in milliseconds.
struct Times {
    total: f64,
    receive: f64,
    connect: Option<f64>,
    lookup: Option<f64>,
    has_tls: bool,
    wait: Option<f64>,
}

impl Times {
    fn of(entry: &Tree, place: Ssl, repairs: &mut Repairs) -> Times {
        let timings = entry.get("timings");
        let time = |key: &str| positive(timings.get(key)).map(|time| time.min(LONGEST));
        let ssl = |at: Ssl| time("ssl").filter(|_| place == at);
        let beside = ssl(Ssl::Beside);
        let sum: f64 = PHASES.iter().filter_map(|key| time(key)).chain(beside).sum();
        let once = |total: f64| (total - ssl(Ssl::Twice).unwrap_or(0.0)).max(0.0);
        let total = positive(entry.get("time")).map(once).or((sum > 0.0).then_some(sum));
        if total.is_none() {
            repairs.count("without times: duration taken as zero");
        }
        let total = total.unwrap_or(0.0).min(LONGEST);
        let connect = time("connect").filter(|connect| *connect > 0.0);
        let tcp = connect.map(|connect| match time("ssl") {
            Some(ssl) if place != Ssl::Beside && ssl <= connect => connect - ssl,
            _ => connect,
        });
        // Playwright counts from -1 where there was no TLS handshake.
        let is_tls =
            |ssl: f64| ssl > 0.0 && (place != Ssl::Twice || connect.is_some_and(|all| ssl <= all));
        Times {
            total,
            receive: time("receive").unwrap_or(0.0).min(total),
            connect: tcp.filter(|tcp| *tcp > 0.0),
            lookup: time("dns").filter(|lookup| *lookup > 0.0),
            has_tls: time("ssl").is_some_and(is_tls),
            wait: time("wait"),
        }
    }
}

/// A number that is not negative: HAR uses -1 for inapplicable values.
fn positive(tree: &Tree) -> Option<f64> {
    tree.number().filter(|number| *number >= 0.0)
}

/// Whether it came from the network. A browser answers from its caches and, for sites that require
/// encryption, with a redirect. Pushed responses are marked as cached too, but have a size.
fn is_fetched(entry: &Tree) -> bool {
    let response = entry.get("response");
    let transferred = response.get("_transferSize").number().is_some_and(|bytes| bytes > 0.0);
    let internal = response.get("statusText").text() == Some("Internal Redirect");
    (transferred || !is_cached(entry)) && !internal
}

/// Marked as such, or with content of which nothing was transferred.
fn is_cached(entry: &Tree) -> bool {
    let response = entry.get("response");
    let positive = |size: &Tree| size.number().is_some_and(|size| size > 0.0);
    // Some programs write a `bodySize` of zero for every entry: only the other field decides.
    let sizes = [response.get("bodySize"), entry.get("_objectSize"), entry.get("_bytesIn")];
    if response.get("_transferSize").number() == Some(0.0)
        && positive(response.get("content").get("size"))
        && !sizes.into_iter().any(positive)
    {
        return true;
    }
    if is_cached_in_safari(entry) || is_cached_in_firefox(entry) {
        return true;
    }
    ["_fromDiskCache", "_fromCache", "fromCache"]
        .iter()
        .any(|key| says_cached(entry.get(key)) || says_cached(response.get(key)))
}

fn is_cached_in_safari(entry: &Tree) -> bool {
    matches!(
        entry.get("_fetchType").text(),
        Some("Memory Cache" | "Disk Cache" | "Service Worker" | "Inspector Override")
    )
}

/// Content without a body on the network and without any time.
fn is_cached_in_firefox(entry: &Tree) -> bool {
    let (response, timings) = (entry.get("response"), entry.get("timings"));
    let is_zero = |tree: &Tree| tree.number() == Some(0.0);
    is_zero(response.get("bodySize"))
        && is_zero(entry.get("time"))
        && positive(response.get("content").get("size")).is_some_and(|size| size > 0.0)
        && PHASES.iter().chain(&["ssl"]).all(|key| is_zero(timings.get(key)))
}

/// Some programs give the kind of cache.
fn says_cached(value: &Tree) -> bool {
    value.is_true() || value.text().is_some_and(|text| matches!(text, "memory" | "disk" | "push"))
}

/// Whether a size includes the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Header {
    Included,
    LeftOut,
    /// As in every `bodySize` of the file.
    AsInBodySize,
}

/// The size on the network, and whether it includes the header.
fn bytes_of(entry: &Tree) -> Option<(u64, Header)> {
    let response = entry.get("response");
    let sizes = [
        (response.get("_transferSize"), Header::Included),
        (response.get("bodySize"), Header::AsInBodySize),
        (entry.get("_objectSize"), Header::LeftOut),
        (entry.get("_bytesIn"), Header::Included),
        (response.get("content").get("size"), Header::LeftOut),
    ];
    // Unchanged and empty responses had no content on the network.
    let has_content = !matches!(response.get("status").number(), Some(204.0 | 304.0));
    let known = if has_content { sizes.len() } else { sizes.len() - 1 };
    sizes.into_iter().take(known).find_map(|(size, header)| {
        let size = size.number().filter(|size| *size > 0.0 && *size <= LARGEST)?;
        Some((size as u64, header))
    })
}

fn response_bytes(entry: &Tree, body_size: BodySize, repairs: &mut Repairs) -> u64 {
    let response = entry.get("response");
    let body = response.get("bodySize").number().unwrap_or(-1.0);
    if !(-1.0..=LARGEST).contains(&body) {
        repairs.count("with an impossible size: taken as unknown");
    }
    match bytes_of(entry) {
        Some((bytes, Header::Included)) => bytes,
        Some((bytes, Header::AsInBodySize)) if body_size == BodySize::Message => bytes,
        Some((bytes, _)) => bytes + head_bytes(response, RESPONSE_HEAD),
        None => {
            let content = positive(response.get("content").get("size"));
            let status = response.get("status").number().unwrap_or_default();
            if status == 200.0 && body == -1.0 && content.is_none() {
                repairs.count("without a size: only a header is fetched");
            }
            head_bytes(response, RESPONSE_HEAD)
        }
    }
}

fn request_bytes(request: &Tree) -> u64 {
    let body = request.get("bodySize").number().filter(|body| *body > 0.0 && *body <= LARGEST);
    head_bytes(request, REQUEST_HEAD) + body.unwrap_or(0.0) as u64
}

/// Bytes of a header: as recorded, else the sum of its fields, else `assumed`.
fn head_bytes(message: &Tree, assumed: u64) -> u64 {
    let recorded = message.get("headersSize").number();
    if let Some(bytes) = recorded.filter(|bytes| *bytes > 0.0 && *bytes <= 1e6) {
        return bytes as u64;
    }
    let length = |field: &Tree, key| field.get(key).text().map_or(0, str::len) as u64;
    let fields = message.get("headers").list();
    let fields: u64 = fields.iter().map(|f| length(f, "name") + length(f, "value") + 4).sum();
    // Shorter ones were truncated for publication.
    fields.max(assumed)
}

fn kind_of(entry: &Tree, url: &str) -> Kind {
    let resource = entry.get("_resourceType").text().unwrap_or_default().to_ascii_lowercase();
    match resource.as_str() {
        "document" => return Kind::Document,
        "stylesheet" => return Kind::Style,
        "script" => return Kind::Script,
        "xhr" | "fetch" | "eventsource" | "preflight" => return Kind::Data,
        "font" => return Kind::Font,
        "image" => return Kind::Image,
        "media" => return Kind::Media,
        _ => {}
    }
    let mime = entry.get("response").get("content").get("mimeType").text().unwrap_or_default();
    kind_of_mime(mime, url)
}

/// Kind of an object by its media type, or by the extension of its URL for generic types.
pub(super) fn kind_of_mime(mime: &str, url: &str) -> Kind {
    let mime = mime.to_ascii_lowercase();
    let has = |word: &str| mime.contains(word);
    match () {
        () if has("html") => Kind::Document,
        () if has("css") => Kind::Style,
        () if has("javascript") || has("ecmascript") => Kind::Script,
        () if has("font") => Kind::Font,
        () if mime.starts_with("image/") => Kind::Image,
        () if mime.starts_with("video/") || mime.starts_with("audio/") => Kind::Media,
        () if has("json") || has("xml") => Kind::Data,
        () => match urls::extension(url).as_str() {
            "html" | "htm" => Kind::Document,
            "css" => Kind::Style,
            "js" | "mjs" => Kind::Script,
            "woff" | "woff2" | "ttf" | "otf" => Kind::Font,
            "png" | "jpg" | "jpeg" | "gif" | "webp" | "svg" | "ico" => Kind::Image,
            _ => Kind::Unknown,
        },
    }
}

/// Urgency as recorded by the browser, else the usual one for such objects (RFC 9218 s4.1 has eight
/// steps, the names are Chromium's; Safari writes them in lower case, WebPageTest in upper case).
fn urgency(entry: &Tree, kind: Kind) -> u8 {
    let recorded = entry.get("_priority").text().map(str::to_ascii_lowercase);
    match recorded.as_deref() {
        Some("veryhigh" | "highest") => 0,
        Some("high") => 1,
        Some("medium") => 3,
        Some("low") => 5,
        Some("verylow" | "lowest") => 6,
        _ => usual_urgency(kind),
    }
}

/// The urgency of an object by its kind alone.
pub(super) const fn usual_urgency(kind: Kind) -> u8 {
    match kind {
        Kind::Document | Kind::Style => 0,
        Kind::Script | Kind::Font | Kind::Data => 1,
        Kind::Unknown => 3,
        Kind::Image | Kind::Media => 5,
    }
}

/// The URL of the initiator of an entry: a text, or an object with a URL or a call stack.
fn initiator(tree: &Tree, depth: usize) -> Option<&str> {
    let own = tree.text().or(tree.get("url").text());
    own.or_else(|| {
        let stack = if depth == 0 { tree.get("stack") } else { tree };
        let called = stack.get("callFrames").list().iter().find_map(|call| call.get("url").text());
        called.or_else(|| {
            let parent = stack.get("parent");
            (parent.is_map() && depth < 32).then(|| initiator(parent, depth + 1)).flatten()
        })
    })
}

/// Time of the load event since the first start (`zero`, since 1970), and since that or the start
/// of the page, whichever was earlier: some programs have the lookup of the first host before the
/// first entry, others begin the page behind its redirects.
fn loaded(page: &Tree, zero: f64) -> Option<(f64, f64)> {
    let after = page.get("pageTimings").get("onLoad").number().filter(|after| *after > 0.0)?;
    let page_start = page.get("startedDateTime").text().and_then(date::millis).unwrap_or(zero);
    let since_zero = (page_start + after - zero).clamp(0.0, LONGEST);
    Some((since_zero, since_zero.max(after.min(LONGEST))))
}
