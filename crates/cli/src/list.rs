//! The subcommand `list`: all names that options accept, with their sources.

use crate::output::{Screen, width_of};
use clap::ValueEnum;
use lab::NAMED_GAMES;
use lab::path_spec::{BUILT_IN_TRACES, Profile as PathProfile};
use lab::scenario::SCTP_FAILOVERS;
use lab::web_page::{BUILT_IN_PAGES, BuiltIn};
use std::fmt::{Display, Write};
use transport::FAILOVER_NAMES;
use transport::choice::Row;
use transport::congestion::ControllerRow;
use transport::parameters::Parameter;
use transport::path_policy::PolicyRow;
use transport::reinjection::{self, Opportunistic};
use transport::scheduler::SchedulerRow;
use transport::sctp::cmt::SendAllKey;
use transport::sctp::{RtxPolicy, SctpProfile};
use transport::{Profile, path_manager, scheduler};

/// A name, a sentence and its source.
type About = (&'static str, &'static str, &'static str);

/// Topics of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Topic {
    /// Profiles of paths
    Paths,
    /// Recordings of links
    Recordings,
    /// Traffic models
    Traffic,
    /// Web pages
    Pages,
    /// Games
    Games,
    /// Schedulers
    Schedulers,
    /// Reinjection of data delayed by a slow path
    Reinjection,
    /// Congestion controls
    #[value(alias = "cc")]
    Congestion,
    /// Path managers
    PathManagers,
    /// Path policies
    Policies,
    /// Fail-over rules
    Failover,
    /// Queue disciplines of links
    Queues,
    /// Loss models of links
    Loss,
    /// Sender profiles
    Profiles,
    /// Profiles of SCTP
    SctpProfiles,
    /// Retransmission policies of SCTP
    RtxPolicies,
}

/// One list, or all of them.
pub(crate) fn list(topic: Option<Topic>, screen: Screen) -> String {
    let topics = match &topic {
        Some(topic) => std::slice::from_ref(topic),
        None => Topic::value_variants(),
    };
    topics.iter().map(|topic| one(*topic).text(screen)).collect::<Vec<_>>().join("\n")
}

fn one(topic: Topic) -> List {
    match topic {
        Topic::Paths => paths(),
        Topic::Recordings => {
            let title = "Recordings of links (`trace NAME` in a path); other files: `trace FILE`";
            List::of(title, BUILT_IN_TRACES.iter().map(|t| (t.name, t.about, t.source)))
        }
        Topic::Traffic => {
            let models = traffic::MODELS.iter().map(|m| (m.name, m.summary, m.source));
            List::of("Traffic (--traffic)", models)
        }
        Topic::Pages => pages(),
        Topic::Games => games(),
        Topic::Schedulers => {
            let title = "Schedulers (--schedulers); those of mptcp take reinjection=, see \
                         `anabranch list reinjection`";
            let mut list = table::<SchedulerRow>(title);
            list.rows.extend(send_all());
            list.ending.push("The name `default` is ambiguous and refused.".to_owned());
            list
        }
        Topic::Reinjection => {
            let title = "Reinjection (--reinjection, or `lrf:reinjection=NAME` for one scheduler)";
            let mut list = List::of(title, reinjection::NAMES.iter().copied());
            list.ending = own_reinjections();
            list
        }
        Topic::Congestion => table::<ControllerRow>("Congestion controls (--cc)"),
        Topic::PathManagers => {
            let rows = path_manager::NAMES.iter();
            let rows = rows.map(|about| (*about, path_manager::parameters(about.0)));
            with_parameters("Path managers (--path-managers)", rows)
        }
        Topic::Policies => {
            table::<PolicyRow>("Path policies (--policy), with any scheduler of mptcp or cmt-sctp")
        }
        Topic::Failover => {
            let rules = FAILOVER_NAMES.iter().chain(SCTP_FAILOVERS).copied();
            List::of("Fail-over rules (--failover)", rules)
        }
        Topic::Queues => {
            let names = network::queue::NAMES.iter().copied();
            List::of("Queue disciplines (`queue` in a path)", names)
        }
        Topic::Loss => {
            List::of("Loss models (`loss` in a path)", network::loss::NAMES.iter().copied())
        }
        Topic::Profiles => {
            List { title: "Sender profiles (--profile)".to_owned(), ..profiles_of_senders() }
        }
        Topic::SctpProfiles => {
            let rows = SctpProfile::ALL.iter().map(|(profile, about)| (profile.name(), *about));
            plain("Profiles of SCTP (--sctp-profile)", rows)
        }
        Topic::RtxPolicies => {
            let rows = RtxPolicy::ALL.iter().map(|(policy, about)| (policy.name(), *about));
            let title = "Path of sctp's retransmissions after a time-out (--rtx-policy); a fast \
                         retransmission stays on its path";
            plain(title, rows)
        }
    }
}

/// Names under a title, each with sentences.
#[derive(Default)]
struct List {
    title: String,
    /// Names; a row without a name continues the one before.
    rows: Vec<(&'static str, String)>,
    /// Lines after the rows.
    ending: Vec<String>,
}

impl List {
    /// Names, each with a sentence and its source.
    fn of<S: Display>(
        title: &str,
        rows: impl Iterator<Item = (&'static str, S, &'static str)>,
    ) -> List {
        let row = |(name, summary, source)| (name, format!("{summary} ({source})"));
        List { title: title.to_owned(), rows: rows.map(row).collect(), ending: Vec::new() }
    }

    /// The text; sentences begin in one column and are wrapped.
    fn text(&self, screen: Screen) -> String {
        let mut text = String::new();
        screen.wrap(&mut text, "", &self.title, "1");
        let width = self.rows.iter().map(|(name, _)| width_of(name)).max().unwrap_or(0);
        for (name, about) in &self.rows {
            screen.wrap(&mut text, &format!("  {name:<width$}  "), about, "");
        }
        for line in &self.ending {
            screen.wrap(&mut text, "  ", line, "");
        }
        text
    }
}

/// Names, each with a sentence.
fn plain(title: &str, rows: impl Iterator<Item = (&'static str, &'static str)>) -> List {
    let rows = rows.map(|(name, about)| (name, about.to_owned())).collect();
    List { title: title.to_owned(), rows, ending: Vec::new() }
}

/// The scheduler that only cmt-sctp has.
fn send_all() -> Vec<(&'static str, String)> {
    let about = "Only cmt-sctp: each path in turn sends as much as its window allows. (000 s2.3.2)";
    let keys = SendAllKey::ALL.map(|(_, name, about)| format!("{name} ({about})"));
    let keys = format!("send-all:key=: which path sends first: {}", keys.join(", "));
    vec![("send-all", about.to_owned()), ("", keys)]
}

/// Default reinjection of every scheduler.
fn own_reinjections() -> Vec<String> {
    let mut text = String::from("Default:");
    for variant in Opportunistic::ALL {
        let own = |row: &&SchedulerRow| row.own_reinjection.unwrap_or(Opportunistic::Off);
        let rows = scheduler::TABLE.iter().filter(|row| own(row) == variant);
        let names: Vec<&str> = rows.map(|row| row.name).collect();
        if !names.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(text, " {} with {};", variant.name(), names.join(", "));
        }
    }
    text.push_str(" the `optim` of daps, otias and sttf takes precedence over --reinjection.");
    vec![text]
}

/// The rows of a table of policies.
fn table<R: Row>(title: &str) -> List {
    with_parameters(title, R::table().iter().map(|row| (row.about(), row.parameters())))
}

/// Names with their parameters.
fn with_parameters(title: &str, rows: impl Iterator<Item = (About, &'static [Parameter])>) -> List {
    let mut list = List { title: title.to_owned(), ..List::default() };
    for ((name, summary, source), parameters) in rows {
        list.rows.push((name, format!("{summary} ({source})")));
        for parameter in parameters {
            let Parameter { key, about, .. } = parameter;
            list.rows.push(("", format!("{name}:{key}=: {about}; {}", parameter.range())));
        }
    }
    list
}

fn paths() -> List {
    let title = "Path profiles (--path NAME, or `profile NAME` in a path)";
    let mut list = List { title: title.to_owned(), ..List::default() };
    for profile in PathProfile::all() {
        list.rows.push((profile.name, profile.spec));
        list.rows.push(("", format!("source: {}", profile.source)));
    }
    list
}

fn pages() -> List {
    let title =
        "Pages (--traffic web:NAME); object sizes are assumed, unless --data has recordings";
    let mut list = List { title: title.to_owned(), ..List::default() };
    for page in lab::web_page::NAMED_PAGES {
        let (objects, kilobytes) = (page.objects, page.bytes as f64 / 1e3);
        let about = format!("{objects} objects, {kilobytes:.0} kB ({})", page.source);
        list.rows.push((page.name, about));
    }
    let recorded = |page: &BuiltIn| (page.name, format!("{} ({})", page.about, page.source));
    list.rows.extend(BUILT_IN_PAGES.iter().map(recorded));
    list
}

/// Games by name.
fn games() -> List {
    let title =
        "Games (--traffic game:NAME); models with these means, unless --data has recordings";
    let mut list = List { title: title.to_owned(), ..List::default() };
    for game in NAMED_GAMES {
        let (gap, bytes) = (game.mean_gap_ms, game.mean_bytes);
        let about = format!("a message of {bytes} bytes every {gap} ms ({})", game.source);
        list.rows.push((game.name, about));
    }
    list
}

/// Lines on the sender profiles, for the help.
pub(crate) fn sender_profiles() -> String {
    let text = profiles_of_senders().text(Screen { width: None, colour: false });
    text.trim_start_matches('\n').to_owned()
}

/// Sender profiles, with their unverified settings.
fn profiles_of_senders() -> List {
    let mut list = List::default();
    for (profile, name) in Profile::ALL {
        let about = match profile {
            Profile::Linux => "Linux 6.18",
            Profile::Linux41 => "the kernel of paper 002, MPTCP 0.91",
            Profile::Linux314 => "the kernel of paper 000, MPTCP 0.89",
            Profile::Linux311 => "the kernel of paper 004, MPTCP 0.88",
            Profile::Linux35 => "the kernel of paper 001, MPTCP 0.86",
        };
        list.rows.push((name, about.to_owned()));
        let unverified = profile.unverified();
        if !unverified.is_empty() {
            list.rows.push(("", format!("unverified: {}", unverified.join(", "))));
        }
    }
    list
}
