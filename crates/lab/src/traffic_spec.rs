//! Traffic specifications: `bulk:4MiB`, `bulk:30s`, `burst:20`, `video:60s`, `web:FILE`,
//! `game:aoc-1`, `table:FILE`, `pcap:FILE`.
//!
//! `traffic` implements the models, `web_page` and `conversation` read files.

use crate::conversation::{self, Found, Places};
use crate::error::{Refusal, sanitised};
use crate::traffic_source::{Fault, TrafficSource};
use crate::units::{parse_size, parse_time, show_size};
use crate::web_page::{NAMED_PAGES, PageSource};
use crate::words::nearest_help;
use base::Duration;
use std::path::Path;
use std::sync::Arc;
use traffic::model::conversation::Conversation;
use traffic::model::video::Video;
use traffic::web::{Http, Web};
use traffic::{Role, Traffic};
use transport::Profile;

/// Payload of a burst's segments (interface, "Traffic").
const BURST_SEGMENT: u32 = 1420;
/// The same for the profiles of the papers' kernels.
const BURST_SEGMENT_OLD: u32 = 1428;
/// Longest traffic with a time.
const LONGEST: Duration = Duration::from_secs(86_400);
/// Longest burst, in segments.
const BURST_MOST: u64 = 1_000_000;
const NAMES: [&str; 7] = ["bulk", "burst", "game", "pcap", "table", "video", "web"];
pub(crate) const EXAMPLES: &str = "write `bulk:4MiB`, `bulk:30s`, `burst:20`, `video`, \
     `game:aoc-1`, `web:page.har`, `pcap:mine.pcapng` or `table:messages.csv`";
/// Examples of a value in a file.
pub(crate) const EXAMPLE_LIST: [&str; 8] = [
    "bulk:4MiB",
    "bulk:30s",
    "burst:20",
    "video",
    "game:aoc-1",
    "web:page.har",
    "pcap:mine.pcapng",
    "table:messages.csv",
];
/// Help with a competing connection that loads a page.
pub(crate) const FLOW_EXAMPLES: &str =
    "write `bulk:4MiB`, `burst:20` or `video`; without `traffic` the flow is saturating";
/// Regular expression of all forms.
pub(crate) const PATTERN: &str =
    r"^(bulk:.+|burst:[0-9]+|video(:.+)?|web:.+|game:.+|pcap:.+|table:.+)$";
/// Regular expression of the forms for a competing connection.
pub(crate) const FLOW_PATTERN: &str = r"^(bulk:.+|burst:[0-9]+|video(:.+)?)$";
/// Help on the key of a file.
pub(crate) const FILE_HELP: &str = "What to send: bulk:SIZE, bulk:TIME, burst:SEGMENTS, \
    video[:TIME], web:FILE, web:NAME, game:NAME, game:FILE, pcap:FILE[:N|:udp] or \
    table:FILE[:paced]; file names are relative to this file.";
/// Help on the argument.
pub(crate) const ARGUMENT_HELP: &str = "What to send: bulk:SIZE, bulk:TIME, burst:SEGMENTS, \
    video[:TIME], game:aoc-1 (2, 3) or game:FILE, messages of table:FILE[:paced] (time, direction, \
    size) or pcap:FILE[:N|:udp], or a page to load: web:FILE (HAR, dependency graph) or web:NAME";
/// Help on the key of a competing connection.
pub(crate) const FLOW_HELP: &str =
    "bulk:SIZE, bulk:TIME, burst:SEGMENTS or video[:TIME]. Default: saturating to the end.";

/// Options of fetching pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fetching {
    /// Version of HTTP, which decides how exchanges share connections.
    pub http: Http,
    /// Limits hold for each host.
    pub per_host: bool,
}

/// Whether the word begins with the name of a model.
pub(crate) fn names_model(word: &str) -> bool {
    let name = word.split(':').next().unwrap_or(word);
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Folders of the files of pages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Folders<'a> {
    /// Folder that names of files are relative to; `None`: the working directory.
    pub relative_to: Option<&'a Path>,
    /// Folder with recordings of named pages.
    pub data: Option<&'a Path>,
}

/// Reads a traffic model; a burst's segments depend on the profile. For a page or a conversation,
/// its source is returned as well.
pub(crate) fn parse_traffic(
    text: &str,
    profile: Profile,
    folders: Folders<'_>,
    fetching: Fetching,
) -> Result<(Traffic, Option<TrafficSource>), Refusal> {
    let Some((name, value)) = text.split_once(':') else {
        return Ok((parse_one_way(text, profile)?, None));
    };
    let inner = |refusal: Refusal| refusal.shifted(name.len() + 1);
    match name.to_ascii_lowercase().as_str() {
        "web" => {
            let PageSource { page, source } = page(folders, value).map_err(inner)?;
            let Fetching { http, per_host } = fetching;
            Ok((Traffic::Web(Web { page, http, per_host }), Some(source)))
        }
        "game" => conversation(conversation::game, folders, value).map_err(inner),
        "pcap" => conversation(conversation::capture, folders, value).map_err(inner),
        "table" => conversation(conversation::table, folders, value).map_err(inner),
        _ => Ok((parse_one_way(text, profile)?, None)),
    }
}

/// Reads a conversation by `read`.
fn conversation(
    read: fn(Places<'_>, &str) -> Result<Found, Fault>,
    Folders { relative_to, data }: Folders<'_>,
    value: &str,
) -> Result<(Traffic, Option<TrafficSource>), Refusal> {
    let (conversation, source) = read(Places { relative_to, data }, value)
        .map_err(|(problem, help)| Refusal::new(value, problem, help))?;
    Ok((Traffic::Conversation(Arc::new(conversation)), Some(source)))
}

fn page(folders: Folders<'_>, value: &str) -> Result<PageSource, Refusal> {
    if value.is_empty() {
        let names: Vec<&str> = NAMED_PAGES.iter().map(|named| named.name).collect();
        let help = format!("give a HAR file, or a page by name: {}", names.join(", "));
        return Err(Refusal::new("web", "`web:` names no page", help));
    }
    PageSource::read(folders.relative_to, folders.data, value)
        .map_err(|(problem, help)| Refusal::new(value, problem, help))
}

/// Reads the text of `--http`.
pub(crate) fn parse_http(text: &str) -> Result<Http, Refusal> {
    match text.to_ascii_lowercase().as_str() {
        "1.1" | "1" | "http/1.1" => Ok(Http::SIX),
        "2" | "h2" | "http/2" => Ok(Http::Two),
        "streams" => Ok(Http::TEN_STREAMS),
        _ => Err(Refusal::new(
            text,
            format!("unknown version of HTTP `{text}`"),
            "write `1.1` (six connections), `2` (one connection, concurrent streams) or `streams` \
             (one association of sctp)",
        )),
    }
}

fn parse_one_way(text: &str, profile: Profile) -> Result<Traffic, Refusal> {
    let (name, value) = match text.split_once(':') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let inner = |refusal: Refusal| refusal.shifted(name.len() + 1);
    match (name.to_ascii_lowercase().as_str(), value) {
        ("bulk", Some(value)) => bulk(value).map_err(inner),
        ("burst", Some(value)) => burst(value, profile).map_err(inner),
        ("video", None) => Ok(Traffic::Video(Video::DEFAULT_TIME)),
        ("video", Some(value)) => run_time(value).map(Traffic::Video).map_err(inner),
        ("bulk" | "burst", None) => {
            Err(Refusal::new(text, format!("`{name}` needs a size or time"), EXAMPLES))
        }
        ("web", _) => Err(Refusal::new(text, "`web` names no page", EXAMPLES)),
        (model @ ("game" | "pcap" | "table"), _) => {
            Err(Refusal::new(text, format!("`{model}` names no recording"), EXAMPLES))
        }
        _ => Err(Refusal::new(
            text,
            format!("unknown traffic `{name}`"),
            format!("{}; {EXAMPLES}", nearest_help(name, &NAMES)),
        )),
    }
}

fn bulk(value: &str) -> Result<Traffic, Refusal> {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if matches!(unit, "s" | "ms" | "us" | "ns" | "sec" | "secs" | "msec") {
        return run_time(value).map(Traffic::BulkTime);
    }
    match parse_size(value)? {
        0 => Err(Refusal::new(value, "a transfer of zero bytes takes no time", EXAMPLES)),
        bytes => Ok(Traffic::BulkSize(bytes)),
    }
}

fn burst(value: &str, profile: Profile) -> Result<Traffic, Refusal> {
    let segments = value.parse::<u64>().ok().filter(|n| (1..=BURST_MOST).contains(n));
    let segments = segments.and_then(|n| u32::try_from(n).ok()).ok_or_else(|| {
        Refusal::new(
            value,
            format!("`{value}` is not a number of segments from 1 to {BURST_MOST}"),
            "write `burst:20`, for example",
        )
    })?;
    let old = profile != Profile::Linux;
    let segment_bytes = if old { BURST_SEGMENT_OLD } else { BURST_SEGMENT };
    Ok(Traffic::Burst { segments, segment_bytes })
}

/// A time of at most a day.
fn run_time(value: &str) -> Result<Duration, Refusal> {
    let time = parse_time(value)?;
    if time.is_zero() || time > LONGEST {
        return Err(Refusal::new(
            value,
            format!("`{value}` is not above 0 and at most {LONGEST}, a day"),
            "write a time such as `30s`",
        ));
    }
    Ok(time)
}

/// The canonical spelling.
pub(crate) fn show_traffic(traffic: &Traffic) -> String {
    match traffic {
        Traffic::BulkSize(bytes) => format!("bulk:{}", show_size(*bytes)),
        Traffic::BulkTime(time) => format!("bulk:{time}"),
        Traffic::Burst { segments, .. } => format!("burst:{segments}"),
        Traffic::Video(time) => format!("video:{time}"),
        Traffic::Web(web) => format!("web:{}", web.page.name()),
        Traffic::Conversation(conversation) => conversation.name().to_owned(),
    }
}

/// Description for the heading of a table.
pub fn describe_traffic(traffic: &Traffic, reverse: bool) -> String {
    let load = if reverse { "upload" } else { "download" };
    match traffic {
        Traffic::BulkSize(bytes) => format!("{load} of {}", show_size(*bytes)),
        Traffic::BulkTime(time) => format!("saturating {load} for {time}"),
        Traffic::Burst { segments, segment_bytes } => {
            format!("{load} of a burst of {segments} x {segment_bytes} bytes after an idle time")
        }
        Traffic::Video(time) => format!("video call of {time} ({load}, 950 kbit/s)"),
        Traffic::Web(web) => describe_page(web),
        Traffic::Conversation(conversation) => describe_conversation(conversation, reverse),
    }
}

fn describe_conversation(conversation: &Conversation, reverse: bool) -> String {
    let amount = |from, way: &str| {
        let messages = conversation.from(from);
        let (count, bytes) = (messages.len(), messages.iter().map(|one| one.len).sum::<u64>());
        let plural = if count == 1 { "" } else { "s" };
        let size = match bytes {
            ..1000 => format!("{bytes} bytes"),
            _ => format!("{:.1} kB", bytes as f64 / 1e3),
        };
        (count > 0).then(|| format!("{count} message{plural} {way} ({size})"))
    };
    let ways = if reverse { ["down", "up"] } else { ["up", "down"] };
    let both = [amount(Role::Client, ways[0]), amount(Role::Server, ways[1])];
    let both: Vec<String> = both.into_iter().flatten().collect();
    let name = conversation.name();
    let (model, file) = name.split_once(':').unwrap_or(("", name));
    // Folders are omitted.
    let file = sanitised(file.rsplit('/').next().unwrap_or_default());
    let seconds = conversation.length().as_secs_f64();
    format!("{model} {file}: {} in {seconds:.0} s", both.join(" and "))
}

fn describe_page(web: &Web) -> String {
    let page = &web.page;
    let objects = page.objects().len();
    let plural = if objects == 1 { "" } else { "s" };
    let kilobytes = page.response_bytes() as f64 / 1e3;
    let hosts = page.hosts();
    let each = match (web.per_host, hosts) {
        (false, _) => String::new(),
        (true, 1) => " to its only host".to_owned(),
        (true, hosts) => format!(" to each of {hosts} hosts"),
    };
    let over = match web.http {
        Http::One { connections } => format!("{connections} HTTP/1.1 connections{each}"),
        Http::Two => format!("one HTTP/2 connection{each}"),
        Http::Streams(1) => format!("one stream of one association{each}"),
        Http::Streams(streams) => format!("{streams} streams of one association{each}"),
    };
    // Folders are omitted.
    let name = page.name().rsplit('/').next().unwrap_or_default();
    let name = sanitised(name);
    format!("page {name}: {objects} object{plural}, {kilobytes:.0} kB, over {over}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FETCHING: Fetching = Fetching { http: Http::SIX, per_host: false };

    fn read(text: &str) -> Result<Traffic, Refusal> {
        parse_traffic(text, Profile::Linux, Folders::default(), FETCHING)
            .map(|(traffic, _)| traffic)
    }

    fn problem(text: &str) -> String {
        let refusal = read(text).unwrap_err();
        format!("{} / {}", refusal.problem, refusal.help)
    }

    #[test]
    fn every_model_is_read_and_printed() {
        for (text, traffic) in [
            ("bulk:4MiB", Traffic::BulkSize(4 << 20)),
            ("bulk:30s", Traffic::BulkTime(Duration::from_secs(30))),
            ("burst:20", Traffic::Burst { segments: 20, segment_bytes: 1420 }),
            ("video:5s", Traffic::Video(Duration::from_secs(5))),
        ] {
            assert_eq!(read(text).unwrap(), traffic);
            assert_eq!(show_traffic(&traffic), text);
        }
        assert_eq!(read("video").unwrap(), Traffic::Video(Duration::from_secs(60)));
        assert_eq!(read("bulk:1500").unwrap(), Traffic::BulkSize(1500));
        let old = parse_one_way("burst:20", Profile::Linux41).unwrap();
        assert_eq!(old, Traffic::Burst { segments: 20, segment_bytes: 1428 });
    }

    #[test]
    fn versions_of_http_are_read() {
        assert_eq!(parse_http("1.1").unwrap(), Http::SIX);
        assert_eq!(parse_http("2").unwrap(), Http::Two);
        assert!(parse_http("3").unwrap_err().help.contains("`2`"));
    }

    #[test]
    fn hosts_of_a_page_are_counted_where_they_matter() {
        let words = |per_host| {
            let fetching = Fetching { per_host, ..FETCHING };
            let page = parse_traffic("web:wikipedia", Profile::Linux, Folders::default(), fetching);
            describe_traffic(&page.unwrap().0, false)
        };
        assert!(words(true).ends_with("6 HTTP/1.1 connections to its only host"));
        assert!(words(false).ends_with("6 HTTP/1.1 connections"));
    }

    #[test]
    fn wrong_traffic_is_refused_with_the_mend() {
        assert!(problem("bulk").contains("needs a size or time"));
        assert!(problem("bulk:4M").contains("`4MiB`"));
        assert!(problem("bulk:0").contains("zero bytes"));
        assert!(problem("bulk:90000s").contains("at most 86400s, a day"));
        assert!(problem("bulk:4MiBB").contains("unknown unit"));
        assert!(problem("burst:0").contains("segments from 1"));
        assert!(problem("burst:-3").contains("segments from 1"));
        assert!(problem("video:0s").contains("is not above 0"));
        assert!(problem("vidoe").contains("did you mean `video`"));
        assert!(problem("web").contains("names no page"));
        assert!(problem("web:").contains("names no page"));
        assert!(problem("web:wikipeda").contains("did you mean `web:wikipedia`"));
        assert!(problem("web:no/such.har").contains("`no/such.har` cannot be read"));
        assert_eq!(read("bulk:4M").unwrap_err().span, 5..7);
    }
}
