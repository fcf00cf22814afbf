//! How pages are fetched: `--http`, `--per-host`, `--tls` and `--dns`.
//!
//! The rows of the table and the values. `traffic::web` does it; which page is left to
//! `traffic_spec` and `web_page`.

use super::Options;
use super::options::said;
use super::row::{Counts, OptionRow, switch, text};
use super::schema;
use super::schema::Pattern::Of;
use super::show::{fetched, quoted};
use super::table::Key;
use crate::error::{Given, InputError, Refusal};
use crate::path_spec::show_time;
use crate::traffic_spec::{Fetching, parse_http};
use crate::units::parse_time;
use crate::words::nearest_help;
use base::Duration;
use traffic::Traffic;
use traffic::web::{Opening, Tls, Web};

/// The options.
const KEYS: [Key; 4] = [Key::Http, Key::PerHost, Key::Tls, Key::Dns];

pub(super) const HTTP: OptionRow = text(
    "http",
    "How a page is fetched: 1.1 (six connections), pipelined (one, then six with all requests at \
     once), 2 (one, concurrent streams) or streams (one association of sctp; others as 1.1).",
)
.argument(
    7,
    "VERSION",
    "How a page is fetched: 1.1 (six connections), pipelined (one, then six with all requests at \
     once), 2 (one, concurrent streams) or streams (one association of sctp; others as 1.1) \
     [default: 1.1]",
)
.pattern(Of(schema::http))
.shown(|s| fetched(s, |web| quoted(web.http.name())))
.counts(Counts::StudyKey, "2");

pub(super) const PER_HOST: OptionRow = switch(
    "per-host",
    "Count connections per host of a page, not for the whole page. Default: true for HAR files \
     with http = \"1.1\".",
)
.argument(
    8,
    "",
    "Count connections per host of a page; --per-host=false: for the whole page [default: true for \
     HAR files of several hosts with 1.1]",
)
.shown(|s| fetched(s, |web| web.per_host.to_string()))
.counts(Counts::StudyKey, "");

pub(super) const TLS: OptionRow = text(
    "tls",
    "How the connections of a page begin, except to http:// URLs of a HAR file: 1.3 (a handshake \
     of one round trip), 0rtt (resumed, with the request as early data) or none. Default: none.",
)
.argument(
    79,
    "VERSION",
    "How the connections of a page begin, except to http:// URLs of a HAR file: 1.3 (a handshake \
     of one round trip) or 0rtt (resumed, with the request as early data) [default: none]",
)
.pattern(Of(schema::tls))
.shown(|s| opened(s, |opening| Some(quoted(opening.tls?.name()))))
.counts(Counts::StudyKey, "1.3");

pub(super) const DNS: OptionRow = text(
    "dns",
    "Time to look up the name of each host of a page, once. Default: 0, names are known.",
)
.argument(80, "TIME", "Time to look up the name of each host of a page, once [default: 0]")
.shown(|s| {
    let show = |time: Duration| quoted(&show_time(time));
    opened(s, |opening| Some(opening.lookup).filter(|time| *time > Duration::ZERO).map(show))
})
.counts(Counts::StudyKey, "20ms");

/// The longest lookup: far beyond the time-out of resolvers (5 s).
const LONGEST_LOOKUP: Duration = Duration::from_secs(60);

fn opened(scenario: &super::Scenario, show: impl Fn(&Opening) -> Option<String>) -> Option<String> {
    match &scenario.traffic {
        Traffic::Web(web) => show(&web.opening),
        _ => None,
    }
}

/// What decides over the results of a page, beside the page.
pub(super) fn key(web: &Web) -> String {
    let Web { http, per_host, opening, .. } = web;
    match *opening == Opening::default() {
        true => format!("{http:?} {per_host}"),
        false => format!("{http:?} {per_host} {opening:?}"),
    }
}

/// The options as given.
pub(super) fn resolve(options: &Options) -> Result<Fetching, InputError> {
    let http = said(options.text(Key::Http), |given| {
        parse_http(&given.text).map_err(|refusal| given.refuse(refusal))
    })?;
    let tls = said(options.text(Key::Tls), tls)?.flatten();
    let lookup = said(options.text(Key::Dns), lookup)?.unwrap_or(Duration::ZERO);
    let per_host = options.switch(Key::PerHost);
    Ok(Fetching { http, per_host, opening: Opening { tls, lookup } })
}

/// Refuses the options where no page is fetched.
pub(super) fn check_unused(options: &Options) -> Result<(), InputError> {
    const PROBLEM: &str = "this option is for fetching pages, and no page is fetched";
    const HELP: &str = "leave it out, or load a page: `--traffic web:page.har`";
    if let Some(given) = KEYS.iter().find_map(|key| options.text(*key)) {
        return Err(given.refuse_whole(PROBLEM, HELP));
    }
    match options.switch(Key::PerHost) {
        Some(true) => Err(options.refusal(Key::PerHost, PROBLEM, HELP)),
        _ => Ok(()),
    }
}

fn tls(given: &Given) -> Result<Option<Tls>, InputError> {
    let text = given.text.to_ascii_lowercase();
    if text == "none" {
        return Ok(None);
    }
    let known = Tls::ALL.iter().find(|(name, _)| *name == text);
    known.map(|(_, tls)| Some(*tls)).ok_or_else(|| {
        let problem = format!("unknown version of TLS `{}`", given.text);
        let names = ["1.3", "0rtt", "none"];
        given.refuse_whole(problem, nearest_help(&given.text, &names))
    })
}

fn lookup(given: &Given) -> Result<Duration, InputError> {
    if given.text == "0" {
        return Ok(Duration::ZERO);
    }
    let time = parse_time(&given.text).map_err(|refusal: Refusal| given.refuse(refusal))?;
    if time > LONGEST_LOOKUP {
        let problem = format!("a lookup of `{}` is longer than a minute", given.text);
        return Err(given.refuse_whole(problem, "write `20ms`, for example, or `0` for none"));
    }
    Ok(time)
}
