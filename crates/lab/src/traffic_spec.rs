//! Traffic specifications: `bulk:4MiB`, `bulk:30s`, `burst:20`, `video:60s`, `onoff:500kbit:60s`,
//! `udp:5mbit:60s`,
//! `web:FILE`, `maps:60s`, `game:aoc-1`, `table:FILE`, `pcap:FILE`.
//!
//! `traffic` implements the models, `web_page` and `conversation` read files.

use crate::conversation::{self, Found, Places};
use crate::error::{Refusal, sanitised};
use crate::path_spec::show_time;
use crate::traffic_source::{Fault, TrafficSource};
use crate::units::{is_time_unit, parse_rate, parse_size, parse_time, show_size};
use crate::web_page::{self, PageSource, maps};
use crate::words::nearest_help;
use base::{Duration, Rate};
use std::path::Path;
use std::sync::Arc;
use traffic::call::{Call, CallKind};
use traffic::model::conversation::Conversation;
use traffic::model::onoff::OnOff;
use traffic::model::udp::Udp;
use traffic::model::video::Video;
use traffic::vod::{Service, Vod};
use traffic::web::{Http, Opening, Web};
use traffic::{Draws, Role, Traffic};
use transport::Profile;

/// Payload of a burst's segments (interface, "Traffic").
const BURST_SEGMENT: u32 = 1420;
/// The same for the profiles of the papers' kernels.
const BURST_SEGMENT_OLD: u32 = 1428;
/// Longest traffic with a time.
const LONGEST: Duration = Duration::from_secs(86_400);
/// In place of the rate of a video.
const ADAPTIVE: &str = "adaptive";
/// Before the deadline of a video's frames.
const DEADLINE: &str = "deadline=";
/// The word before the time of a video that is not measured.
const SKIP: &str = "skip=";
/// Before the most bytes of a message.
const MESSAGE: &str = "message=";
/// Before the size of datagrams.
const BYTES: &str = "bytes=";
/// Longest film.
const LONGEST_FILM: Duration = Duration::from_secs(4 * 3600);
/// Longest burst, in segments.
const BURST_MOST: u64 = 1_000_000;
/// Most messages of generated traffic.
const MOST_MESSAGES: u64 = 10_000_000;
const NAMES: [&str; 13] = [
    "bulk", "burst", "call", "download", "game", "maps", "onoff", "pcap", "table", "udp", "video",
    "vod", "web",
];
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
pub(crate) const FLOW_EXAMPLES: &str = "write `bulk:4MiB`, `burst:20`, `video` or \
     `onoff:500kbit`; without `traffic` the flow is saturating";
/// Help with traffic that does not go in datagrams.
pub(crate) const DATAGRAM_EXAMPLES: &str = "datagrams carry `udp:2mbit`, \
     `onoff:500kbit:60s`, `video`, `call` and games; of `table:FILE` add `:paced`";
/// Regular expression of all forms.
pub(crate) const PATTERN: &str = concat!(
    r"^(burst:[0-9]+|(video|call|onoff|maps)(:.+)?",
    r"|(bulk|download|web|vod|game|pcap|table|udp):.+)$"
);
/// Regular expression of the forms for a competing connection.
pub(crate) const FLOW_PATTERN: &str =
    r"^(bulk:.+|download:.+|udp:.+|burst:[0-9]+|(video|onoff)(:.+)?)$";
/// Help on the key of a file.
pub(crate) const FILE_HELP: &str = "What to send: bulk:SIZE, bulk:TIME, burst:SEGMENTS, \
    video[:TIME][:RATE][:deadline=TIME][:skip=TIME][:message=BYTES], \
    video:adaptive[:TIME], call[:TIME], vod:SERVICE[:TIME], onoff[:RATE][:TIME], \
    udp:RATE[:TIME][:bytes=N], web:FILE, web:NAME, maps[:TIME], game:NAME[:message=BYTES], \
    game:FILE[:message=BYTES], pcap:FILE[:N|:udp] or table:FILE[:paced]; file \
    names are relative to this file.";
/// Help on the argument.
pub(crate) const ARGUMENT_HELP: &str = "What to send: bulk:SIZE, bulk:TIME, burst:SEGMENTS, \
    video[:TIME][:RATE][:deadline=TIME][:skip=TIME][:message=BYTES], \
    video:adaptive[:TIME], call[:TIME], vod:netflix (youtube, dash), onoff[:RATE][:TIME], \
    udp:RATE[:TIME][:bytes=N], game:aoc-1 (2, 3)[:message=BYTES] or game:FILE, messages of \
    table:FILE[:paced] (time, direction, size) or pcap:FILE[:N|:udp], or a page to load: \
    web:FILE (HAR, dependency graph) or web:NAME, or maps[:TIME]";
/// Help on the key of a competing connection.
pub(crate) const FLOW_HELP: &str = "bulk:SIZE, bulk:TIME, burst:SEGMENTS, video[:TIME], \
     onoff[:RATE][:TIME] or udp:RATE[:TIME][:bytes=N]. Default: saturating to the end; udp needs \
     one of the last three.";

/// Options of fetching pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fetching {
    /// Version of HTTP, which decides how exchanges share connections; `None`: the usual one.
    pub http: Option<Http>,
    /// Limits hold for each host; `None`: where the page was recorded with its hosts.
    pub per_host: Option<bool>,
    /// What comes before the first request.
    pub opening: Opening,
}

impl Fetching {
    /// The usual way.
    pub(crate) const USUAL: Fetching = Fetching {
        http: None,
        per_host: None,
        opening: Opening { tls: None, lookup: Duration::ZERO },
    };
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
        return match text.to_ascii_lowercase().as_str() {
            "maps" => map_session(maps::DEFAULT_TIME, fetching),
            _ => Ok((parse_one_way(text, profile)?, None)),
        };
    };
    let inner = |refusal: Refusal| refusal.shifted(name.len() + 1);
    match name.to_ascii_lowercase().as_str() {
        "web" => {
            let PageSource { page, source, has_hosts } = page(folders, value).map_err(inner)?;
            let Fetching { http, per_host, opening } = fetching;
            let http = http.unwrap_or(Http::SIX);
            // One connection or association stands for all of a page, unless it is said otherwise.
            let by_host = has_hosts && page.hosts() > 1 && matches!(http, Http::One { .. });
            let per_host = per_host.unwrap_or(by_host);
            Ok((Traffic::Web(Web { page, http, per_host, opening }), Some(source)))
        }
        "vod" => Ok((film(value).map_err(inner)?, None)),
        "maps" => map_session(maps_time(value).map_err(inner)?, fetching),
        "game" => game(folders, value).map_err(inner),
        "pcap" => conversation(conversation::capture, folders, value).map_err(inner),
        "table" => conversation(conversation::table, folders, value).map_err(inner),
        _ => Ok((parse_one_way(text, profile)?, None)),
    }
}

/// A map session; browsers load maps over HTTP/2.
fn map_session(
    time: Duration,
    fetching: Fetching,
) -> Result<(Traffic, Option<TrafficSource>), Refusal> {
    let fault = |(problem, help): Fault| Refusal::new("maps", problem, help);
    let PageSource { page, source, .. } = PageSource::map_session(time).map_err(fault)?;
    let Fetching { http, per_host, opening } = fetching;
    let (http, per_host) = (http.unwrap_or(Http::Two), per_host.unwrap_or(false));
    Ok((Traffic::Web(Web { page, http, per_host, opening }), Some(source)))
}

fn maps_time(value: &str) -> Result<Duration, Refusal> {
    let time = run_time(value)?;
    if time > maps::LONGEST {
        let problem = format!("`{value}` is longer than an hour, the longest map session");
        return Err(Refusal::new(value, problem, "write a shorter time, such as `maps:60s`"));
    }
    Ok(time)
}

/// `NAME[:message=BYTES]` of a game: longer messages are cut.
fn game(folders: Folders<'_>, value: &str) -> Result<(Traffic, Option<TrafficSource>), Refusal> {
    let Some((name, bytes)) = value.rsplit_once(&format!(":{MESSAGE}")) else {
        return conversation(conversation::game, folders, value);
    };
    let at = value.len() - bytes.len();
    let most = message_bytes(bytes).map_err(|refusal| refusal.shifted(at))?;
    let (traffic, source) = conversation(conversation::game, folders, name)?;
    let options = format!(":{MESSAGE}{most}");
    let cut = match traffic {
        Traffic::Conversation(whole) => {
            check_messages(value, whole.messages_of(most))?;
            Traffic::Conversation(Arc::new(whole.cut(most, &format!("{}{options}", whole.name()))))
        }
        other => other,
    };
    Ok((cut, source.map(|source| TrafficSource { options, ..source })))
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
        let names = web_page::names().join(", ");
        let help = format!("give a HAR file, or a page by name: {names}");
        return Err(Refusal::new("web", "`web:` names no page", help));
    }
    PageSource::read(folders.relative_to, folders.data, value)
        .map_err(|(problem, help)| Refusal::new(value, problem, help))
}

/// Reads the text of `--http`.
pub(crate) fn parse_http(text: &str) -> Result<Http, Refusal> {
    match text.to_ascii_lowercase().as_str() {
        "1.1" | "1" | "http/1.1" => Ok(Http::SIX),
        "pipelined" => Ok(Http::SIX_PIPELINED),
        "2" | "h2" | "http/2" => Ok(Http::Two),
        "streams" => Ok(Http::TEN_STREAMS),
        _ => Err(Refusal::new(
            text,
            format!("unknown version of HTTP `{text}`"),
            "write `1.1` (six connections), `pipelined` (one, then six with all requests at once), \
             `2` (one connection, concurrent streams) or `streams` (one association of sctp)",
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
        ("call", None) => Ok(call(CallKind::TwoWay, Call::DEFAULT_TIME)),
        ("call", Some(value)) => {
            run_time(value).map(|time| call(CallKind::TwoWay, time)).map_err(inner)
        }
        ("video", Some(value)) if is_adaptive(value) => adaptive(value).map_err(inner),
        ("download", Some(value)) => download(value).map_err(inner),
        ("onoff", None) => on_off(""),
        ("onoff", Some(value)) => on_off(value).map_err(inner),
        ("udp", Some(value)) => datagrams(value).map_err(inner),
        ("udp", None) => Err(Refusal::new(text, "`udp` has no rate", "write `udp:5mbit`")),
        ("video", None) => Ok(Traffic::video(Video::DEFAULT_TIME)),
        ("video", Some(value)) => video(value).map(Traffic::Video).map_err(inner),
        ("burst", None) => {
            let help = "write `burst:30`, a burst of 30 segments";
            Err(Refusal::new(text, "`burst` needs a number of segments", help))
        }
        ("bulk", None) => Err(Refusal::new(text, "`bulk` needs a size or time", EXAMPLES)),
        ("download", None) => {
            Err(Refusal::new(text, "`download` needs a size", "write `download:4MiB`"))
        }
        ("web", _) => Err(Refusal::new(text, "`web` names no page", EXAMPLES)),
        ("vod", _) => {
            let help = "write `vod:netflix`, `vod:youtube` or `vod:dash`";
            Err(Refusal::new(text, "`vod` names no service", help))
        }
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
    if is_time(value) { run_time(value).map(Traffic::BulkTime) } else { size(value) }
}

/// Whether the value has a unit of time.
fn is_time(value: &str) -> bool {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    is_time_unit(unit)
}

fn download(value: &str) -> Result<Traffic, Refusal> {
    if is_time(value) {
        let problem = format!("a download has a size, and `{value}` is a time");
        return Err(Refusal::new(value, problem, format!("write `bulk:{value}`, or a size")));
    }
    size(value)
}

const fn call(kind: CallKind, time: Duration) -> Traffic {
    Traffic::Call(Call { kind, time })
}

fn is_adaptive(value: &str) -> bool {
    value.split(':').next().is_some_and(|word| word.eq_ignore_ascii_case(ADAPTIVE))
}

/// `adaptive[:TIME]` of a video.
fn adaptive(value: &str) -> Result<Traffic, Refusal> {
    let Some((word, time)) = value.split_once(':') else {
        return Ok(call(CallKind::OneWay, Call::DEFAULT_TIME));
    };
    let placed = |refusal: Refusal| refusal.shifted(word.len() + 1);
    if !is_time(time) && parse_rate(time).is_ok() {
        let problem = format!("an adaptive video has no rate, and `{time}` is one");
        let help = format!("write `video:{time}` for a constant rate, or a time");
        return Err(placed(Refusal::new(time, problem, help)));
    }
    run_time(time).map(|time| call(CallKind::OneWay, time)).map_err(placed)
}

/// `[TIME][:RATE][:deadline=TIME][:skip=TIME][:message=BYTES]` of a video call.
fn video(value: &str) -> Result<Video, Refusal> {
    let mut video = Video::of(Video::DEFAULT_TIME);
    let mut given: Vec<&str> = Vec::new();
    let mut at = 0;
    for word in value.split(':') {
        let placed = |refusal: Refusal| refusal.shifted(at);
        let after = |name: &str| {
            let rest = word.strip_prefix(name)?;
            Some(run_time(rest).map_err(|refusal| placed(refusal.shifted(name.len()))))
        };
        let kind = if let Some(time) = after(DEADLINE) {
            video.deadline = time?;
            "deadline"
        } else if let Some(time) = after(SKIP) {
            video.skip = time?;
            "time to skip"
        } else if let Some(bytes) = word.strip_prefix(MESSAGE) {
            let bytes = message_bytes(bytes).map_err(|refusal| refusal.shifted(MESSAGE.len()));
            video.message = Some(bytes.map_err(placed)?);
            "size of messages"
        } else if is_time(word) || word.parse::<f64>().is_ok() {
            video.time = run_time(word).map_err(placed)?;
            "time"
        } else {
            video.rate = video_rate(word).map_err(placed)?;
            "rate"
        };
        if given.contains(&kind) {
            let problem = format!("`{word}` is a second {kind} of the video");
            let help = "write `video:60s:2mbit:deadline=200ms`, each at most once";
            return Err(placed(Refusal::new(word, problem, help)));
        }
        given.push(kind);
        at += word.len() + 1;
    }
    if video.messages() == 0 {
        let problem = format!("a video of {} has no frame", video.time);
        return Err(Refusal::new(value, problem, "write a longer time, such as `video:60s`"));
    }
    if video.messages() <= video.skipped() {
        let problem = format!("nothing is left to measure of a video of {}", video.time);
        let help = "skip less than its length: `video:78s:skip=18s`";
        return Err(Refusal::new(value, problem, help));
    }
    check_messages(value, video.messages())?;
    Ok(video)
}

/// Refuses a traffic of too many messages after they were cut.
fn check_messages(value: &str, count: u64) -> Result<(), Refusal> {
    if count <= MOST_MESSAGES {
        return Ok(());
    }
    let problem = format!("these are {count} messages, more than {MOST_MESSAGES}");
    Err(Refusal::new(value, problem, "write larger messages"))
}

/// The most bytes of a message.
fn message_bytes(bytes: &str) -> Result<u32, Refusal> {
    bytes.parse().ok().filter(|bytes| *bytes > 0).ok_or_else(|| {
        let problem = format!("`{bytes}` is not a number of bytes of a message");
        Refusal::new(bytes, problem, "write `message=1452`, for example")
    })
}

fn video_rate(word: &str) -> Result<Rate, Refusal> {
    let known = |c: char| c.is_ascii_digit() || c == '.';
    if !word.starts_with(known) {
        let problem = format!("`{word}` is no time, rate or deadline of a video");
        let help = "write `video:60s:2mbit:deadline=200ms`, for example";
        return Err(Refusal::new(word, problem, help));
    }
    let rate = parse_rate(word)?;
    if (Video { rate, ..Video::of(Video::DEFAULT_TIME) }).frame_bytes() == 0 {
        let problem = format!("at {rate} a frame has less than a byte");
        return Err(Refusal::new(word, problem, "write a higher rate, such as `950kbit`"));
    }
    Ok(rate)
}

/// `RATE[:TIME][:bytes=N]` of a stream of datagrams.
fn datagrams(value: &str) -> Result<Traffic, Refusal> {
    let (rate, rest) = value.split_once(':').unwrap_or((value, ""));
    let rate = parse_rate(rate)?;
    let mut udp = Udp { rate, time: Udp::DEFAULT_TIME, bytes: Udp::DEFAULT_BYTES };
    let mut at = value.len() - rest.len();
    let mut given: Vec<&str> = Vec::new();
    for word in rest.split(':') {
        let begin = at;
        let placed = |refusal: Refusal| refusal.shifted(begin);
        at += word.len() + 1;
        let kind = match word.strip_prefix(BYTES) {
            _ if word.is_empty() => continue,
            Some(bytes) => {
                udp.bytes = datagram_bytes(word, bytes).map_err(placed)?;
                "size"
            }
            None => {
                udp.time = run_time(word).map_err(placed)?;
                "time"
            }
        };
        if given.contains(&kind) {
            let problem = format!("`{word}` is a second {kind} of the datagrams");
            let help = "write `udp:5mbit:60s:bytes=1200`, each at most once";
            return Err(placed(Refusal::new(word, problem, help)));
        }
        given.push(kind);
    }
    match udp.messages() {
        0..=MOST_MESSAGES => Ok(Traffic::Udp(udp)),
        count => {
            let problem = format!("these are {count} datagrams, more than {MOST_MESSAGES}");
            Err(Refusal::new(value, problem, "write a lower rate or a shorter time"))
        }
    }
}

fn datagram_bytes(word: &str, bytes: &str) -> Result<u32, Refusal> {
    let range = Udp::LEAST_BYTES..=Udp::MOST_BYTES;
    bytes.parse().ok().filter(|bytes| range.contains(bytes)).ok_or_else(|| {
        let (least, most) = (Udp::LEAST_BYTES, Udp::MOST_BYTES);
        let problem = format!("`{bytes}` is not a number of bytes from {least} to {most}");
        Refusal::new(word, problem, "write `udp:5mbit:60s:bytes=1200`, for example")
    })
}

/// `[RATE][:TIME]` of an on-off source.
fn on_off(value: &str) -> Result<Traffic, Refusal> {
    let mut source =
        OnOff { rate: OnOff::DEFAULT_RATE, time: OnOff::DEFAULT_TIME, draws: Draws::default() };
    let (first, second) = value.split_once(':').unwrap_or((value, ""));
    let (rate, time) =
        if is_time(first) && second.is_empty() { ("", first) } else { (first, second) };
    let at = if time == first { 0 } else { value.len() - time.len() };
    if !rate.is_empty() {
        source.rate = parse_rate(rate)?;
    }
    if !time.is_empty() {
        source.time = run_time(time).map_err(|refusal| refusal.shifted(at))?;
    }
    match source.most_frames() {
        0 => {
            let problem =
                format!("at {} no frame of 5000 bytes is sent in {}", source.rate, source.time);
            Err(Refusal::new(value, problem, "write a higher rate or a longer time"))
        }
        1..=MOST_MESSAGES => Ok(Traffic::OnOff(source)),
        frames => {
            let problem = format!("these are up to {frames} frames, more than {MOST_MESSAGES}");
            Err(Refusal::new(value, problem, "write a lower rate or a shorter time"))
        }
    }
}

/// `SERVICE[:TIME]` of a film.
fn film(value: &str) -> Result<Traffic, Refusal> {
    let (name, time) = match value.split_once(':') {
        Some((name, time)) => (name, Some(time)),
        None => (value, None),
    };
    let Some(row) = Service::TABLE.iter().find(|row| row.0.eq_ignore_ascii_case(name)) else {
        let names = Service::TABLE.map(|row| row.0);
        let problem = format!("unknown service `{}`", sanitised(name));
        return Err(Refusal::new(value, problem, nearest_help(name, &names)));
    };
    let time = match time {
        Some(time) => run_time(time).map_err(|refusal| refusal.shifted(name.len() + 1))?,
        None => Vod::DEFAULT_TIME,
    };
    if time > LONGEST_FILM {
        let problem = format!("{time} is longer than {LONGEST_FILM}, four hours");
        return Err(Refusal::new(value, problem, "write a shorter time, such as `300s`"));
    }
    Ok(Traffic::Vod(Vod { service: row.1, time, draws: Draws::default() }))
}

fn size(value: &str) -> Result<Traffic, Refusal> {
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
        Traffic::Video(video) => show_video(video),
        Traffic::OnOff(OnOff { rate, time, .. }) => format!("onoff:{rate}:{time}"),
        Traffic::Udp(Udp { rate, time, bytes: Udp::DEFAULT_BYTES }) => {
            format!("udp:{rate}:{time}")
        }
        Traffic::Udp(Udp { rate, time, bytes }) => format!("udp:{rate}:{time}:{BYTES}{bytes}"),
        Traffic::Call(Call { kind: CallKind::OneWay, time }) => format!("video:{ADAPTIVE}:{time}"),
        Traffic::Call(Call { kind: CallKind::TwoWay, time }) => format!("call:{time}"),
        Traffic::Vod(Vod { service, time, .. }) => format!("vod:{}:{time}", service.name()),
        Traffic::Web(web) if web.page.is_session() => web.page.name().to_owned(),
        Traffic::Web(web) => format!("web:{}", web.page.name()),
        Traffic::Conversation(conversation) => conversation.name().to_owned(),
    }
}

fn show_video(video: &Video) -> String {
    let Video { time, rate, deadline, skip, message } = *video;
    let mut words = format!("video:{time}");
    if rate != Video::DEFAULT_RATE {
        words.push_str(&format!(":{rate}"));
    }
    if deadline != Video::DEFAULT_DEADLINE {
        words.push_str(&format!(":{DEADLINE}{deadline}"));
    }
    if !skip.is_zero() {
        words.push_str(&format!(":{SKIP}{skip}"));
    }
    if let Some(bytes) = message {
        words.push_str(&format!(":{MESSAGE}{bytes}"));
    }
    words
}

/// A rate in the units of a sentence.
fn per_second(rate: Rate) -> String {
    match rate.as_bps() {
        bps if bps >= 1_000_000 => format!("{} Mbit/s", bps as f64 / 1e6),
        bps => format!("{} kbit/s", bps as f64 / 1e3),
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
        Traffic::Video(Video { time, rate, deadline, skip, message }) => {
            let shown = match *deadline {
                Video::DEFAULT_DEADLINE => String::new(),
                deadline => format!(", shown after {deadline}"),
            };
            let from = match *skip {
                Duration::ZERO => String::new(),
                skip => format!(", measured from {skip} on"),
            };
            let cut = match *message {
                None => String::new(),
                Some(bytes) => format!(", messages of up to {bytes} bytes"),
            };
            format!("video call of {time} ({load}, {}{shown}{from}{cut})", per_second(*rate))
        }
        Traffic::OnOff(OnOff { rate, time, .. }) => {
            format!("on-off {load} of {} on average for {time}", per_second(*rate))
        }
        Traffic::Udp(Udp { rate, time, bytes }) => {
            format!("{load} of datagrams of {bytes} bytes, {} for {time}", per_second(*rate))
        }
        Traffic::Call(Call { kind: CallKind::OneWay, time }) => {
            format!("adaptive video of {time} ({load}, 30 to 950 kbit/s)")
        }
        Traffic::Call(Call { kind: CallKind::TwoWay, time }) => {
            format!("call of {time}, both ways: audio, and video of 150 to 1500 kbit/s")
        }
        Traffic::Vod(Vod { service, time, .. }) => {
            let row = Service::TABLE.iter().find(|row| row.1 == *service);
            let about = row.map_or("", |row| row.2);
            format!("film watched for {time}; {about}")
        }
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
            1 => "1 byte".to_owned(),
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
        Http::Pipelined { connections } => {
            format!("1 + {connections} pipelined HTTP/1.1 connections{each}")
        }
        Http::Two => format!("one HTTP/2 connection{each}"),
        Http::Streams(1) => format!("one stream of one association{each}"),
        Http::Streams(streams) => format!("{streams} streams of one association{each}"),
    };
    let tls = web.opening.tls.map(|tls| format!(", TLS {}", tls.name()));
    let lookup = Some(web.opening.lookup).filter(|time| *time > Duration::ZERO);
    let lookup = lookup.map(|time| format!(", DNS {}", show_time(time)));
    let over: String = [Some(over), tls, lookup].into_iter().flatten().collect();
    // Folders are omitted.
    let name = page.name().rsplit('/').next().unwrap_or_default();
    let name = sanitised(name);
    if page.is_session() {
        let (_, time) = name.split_once(':').unwrap_or_default();
        return format!(
            "map session of {time}: {objects} object{plural}, {kilobytes:.0} kB, over {over}"
        );
    }
    format!("page {name}: {objects} object{plural}, {kilobytes:.0} kB, over {over}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FETCHING: Fetching = Fetching::USUAL;

    fn read(text: &str) -> Result<Traffic, Refusal> {
        parse_traffic(text, Profile::Linux, Folders::default(), FETCHING)
            .map(|(traffic, _)| traffic)
    }

    fn on_off_at(kbit: u64, seconds: u64) -> Traffic {
        Traffic::OnOff(OnOff {
            rate: Rate::from_bps(1000 * kbit),
            time: Duration::from_secs(seconds),
            draws: Draws::default(),
        })
    }

    fn film_of(service: Service, seconds: u64) -> Traffic {
        let (time, draws) = (Duration::from_secs(seconds), Draws::default());
        Traffic::Vod(Vod { service, time, draws })
    }

    #[test]
    fn map_session_is_a_page_over_http_2_whose_result_is_that_of_its_objects() {
        for (text, shown) in [("maps", "maps:60s"), ("MAPS:20s", "maps:20s")] {
            let session = read(text).unwrap();
            assert!(matches!(&session, Traffic::Web(web) if web.http == Http::Two), "{session:?}");
            assert_eq!(session.metric().name(), "object_time");
            assert_eq!(show_traffic(&session), shown);
        }
        let fetching = Fetching { http: Some(Http::SIX), ..FETCHING };
        let session = parse_traffic("maps", Profile::Linux, Folders::default(), fetching);
        let words = describe_traffic(&session.unwrap().0, false);
        assert!(words.starts_with("map session of 60s: 43 objects"), "{words}");
        assert!(words.ends_with("over 6 HTTP/1.1 connections"), "{words}");
    }

    fn problem(text: &str) -> String {
        let refusal = read(text).unwrap_err();
        format!("{} / {}", refusal.problem, refusal.help)
    }

    /// Regressions: a video without a measured frame could never finish, of a time given twice the
    /// last one was used, and units of times that paths know were those of no time.
    #[test]
    fn traffic_without_messages_and_repeated_words_are_refused() {
        assert!(problem("video:20ms").contains("has no frame"));
        for text in ["video:1010ms:skip=1s", "video:5s:skip=5s"] {
            assert!(problem(text).contains("nothing is left to measure"), "{text}");
        }
        for (text, word) in [("udp:1mbit:5s:2s", "2s"), ("udp:1mbit:bytes=99:bytes=98", "bytes=98")]
        {
            assert!(problem(text).contains(&format!("`{word}` is a second")), "{text}");
        }
        let shifted = read("udp:1mbit::5s:2s").unwrap_err();
        assert_eq!(shifted.problem, "`2s` is a second time of the datagrams");
        for text in ["bulk:500msecs", "bulk:500MS", "bulk:500000usec"] {
            assert_eq!(
                read(text).unwrap(),
                Traffic::BulkTime(Duration::from_millis(500)),
                "{text}"
            );
        }
    }

    #[test]
    fn every_model_is_read_and_printed() {
        let (rate, deadline) = (Rate::from_mbit(2), Duration::from_millis(200));
        let two_mbit = Video { rate, deadline, ..Video::of(Duration::from_secs(60)) };
        let (skip, long) = (Duration::from_secs(18), Duration::from_secs(78));
        let cut = Video { skip, message: Some(1452), ..Video::of(long) };
        for (text, traffic) in [
            ("bulk:4MiB", Traffic::BulkSize(4 << 20)),
            ("bulk:30s", Traffic::BulkTime(Duration::from_secs(30))),
            ("burst:20", Traffic::Burst { segments: 20, segment_bytes: 1420 }),
            ("video:5s", Traffic::video(Duration::from_secs(5))),
            ("video:60s:2mbit:deadline=200ms", Traffic::Video(two_mbit)),
            ("video:78s:skip=18s", Traffic::Video(Video { skip, ..Video::of(long) })),
            ("video:78s:skip=18s:message=1452", Traffic::Video(cut)),
            ("onoff:500kbit:60s", on_off_at(500, 60)),
            ("onoff:2mbit:5s", on_off_at(2000, 5)),
            ("video:adaptive:9s", call(CallKind::OneWay, Duration::from_secs(9))),
            ("call:30s", call(CallKind::TwoWay, Duration::from_secs(30))),
            ("vod:netflix:300s", film_of(Service::Netflix, 300)),
            ("vod:dash:20s", film_of(Service::Dash, 20)),
        ] {
            assert_eq!(read(text).unwrap(), traffic);
            assert_eq!(show_traffic(&traffic), text);
        }
        assert_eq!(read("video").unwrap(), Traffic::video(Duration::from_secs(60)));
        assert_eq!(read("video:deadline=200ms:2mbit").unwrap(), Traffic::Video(two_mbit));
        assert_eq!(read("bulk:1500").unwrap(), Traffic::BulkSize(1500));
        assert_eq!(read("download:8KiB").unwrap(), Traffic::BulkSize(8 << 10));
        assert_eq!(read("Onoff").unwrap(), on_off_at(500, 60));
        assert_eq!(read("VOD:YouTube").unwrap(), film_of(Service::Youtube, 300));
        assert_eq!(read("call").unwrap(), call(CallKind::TwoWay, Call::DEFAULT_TIME));
        assert_eq!(read("video:Adaptive").unwrap(), call(CallKind::OneWay, Call::DEFAULT_TIME));
        assert_eq!(read("onoff:5s").unwrap(), on_off_at(500, 5));
        assert_eq!(read("onoff:2mbit").unwrap(), on_off_at(2000, 60));
        let old = parse_one_way("burst:20", Profile::Linux41).unwrap();
        assert_eq!(old, Traffic::Burst { segments: 20, segment_bytes: 1428 });
    }

    #[test]
    fn versions_of_http_are_read() {
        assert_eq!(parse_http("1.1").unwrap(), Http::SIX);
        assert_eq!(parse_http("pipelined").unwrap(), Http::SIX_PIPELINED);
        assert_eq!(parse_http("2").unwrap(), Http::Two);
        assert!(parse_http("3").unwrap_err().help.contains("`2`"));
    }

    #[test]
    fn hosts_of_a_page_are_counted_where_they_matter() {
        let words = |per_host| {
            let fetching = Fetching { per_host: Some(per_host), ..FETCHING };
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
        assert!(problem("video:5s:6s").contains("a second time"));
        assert!(problem("video:20").contains("unit"));
        assert!(problem("video:adaptive:2mbit").contains("`video:2mbit`"));
        assert_eq!(read("video:adaptive:5").unwrap_err().span, 15..16);
        assert!(problem("call:0s").contains("is not above 0"));
        assert!(problem("video:fast").contains("no time, rate or deadline"));
        assert!(problem("video:100bit").contains("less than a byte"));
        assert_eq!(read("video:5s:deadline=5").unwrap_err().span, 18..19);
        assert!(read("video:5s:skip=5s").unwrap_err().problem.contains("nothing is left"));
        assert_eq!(read("video:5s:message=0").unwrap_err().span, 17..18);
        assert!(problem("video:5s:message=1kB").contains("number of bytes of a message"));
        assert!(problem("video:86400s:message=1").contains("more than 10000000"));
        assert_eq!(read("game:aoc-1:message=-1").unwrap_err().span, 19..21);
        assert!(problem("game:aoc-9:message=9").contains("unknown game `aoc-9`"));
        assert_eq!(read("video:5s:5mbps").unwrap_err().span, 9..14);
        assert!(problem("vidoe").contains("did you mean `video`"));
        assert!(problem("web").contains("names no page"));
        assert!(problem("web:").contains("names no page"));
        assert!(problem("web:wikipeda").contains("did you mean `web:wikipedia`"));
        assert!(problem("web:no/such.har").contains("`no/such.har` cannot be read"));
        assert!(problem("download").contains("needs a size"));
        assert!(problem("download:30s").contains("`bulk:30s`"));
        assert!(problem("onoff:1kbit:1s").contains("no frame of 5000 bytes"));
        assert!(problem("onoff:1gbit:3600s").contains("more than 10000000"));
        assert!(problem("vod").contains("names no service"));
        assert!(problem("vod:netflx").contains("did you mean `netflix`"));
        assert!(problem("vod:dash:20000s").contains("four hours"));
        assert_eq!(read("vod:dash:20").unwrap_err().span, 9..11);
        assert!(problem("maps:4000s").contains("longer than an hour"));
        assert_eq!(read("bulk:4M").unwrap_err().span, 5..7);
        assert_eq!(read("onoff:2mbps").unwrap_err().span, 6..11);
        assert_eq!(read("onoff:2mbit:0s").unwrap_err().span, 12..14);
    }
}
