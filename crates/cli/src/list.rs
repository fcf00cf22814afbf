//! The subcommand `list`: all names that options accept, with their sources.

use clap::ValueEnum;
use lab::path_spec::Profile as PathProfile;
use std::fmt::{Display, Write};
use transport::FAILOVER_NAMES;
use transport::choice::Row;
use transport::congestion::ControllerRow;
use transport::parameters::Parameter;
use transport::path_policy::PolicyRow;
use transport::reinjection::{self, Opportunistic};
use transport::scheduler::SchedulerRow;
use transport::{Profile, path_manager, scheduler};

/// A name, a sentence and its source.
type About = (&'static str, &'static str, &'static str);

/// Topics of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Topic {
    /// Profiles of paths
    Paths,
    /// Traffic models
    Traffic,
    /// Web pages
    Pages,
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
}

/// One list, or all of them.
pub(crate) fn list(topic: Option<Topic>) -> String {
    let topics = match &topic {
        Some(topic) => std::slice::from_ref(topic),
        None => Topic::value_variants(),
    };
    topics.iter().map(|topic| one(*topic)).collect::<Vec<_>>().join("\n")
}

fn one(topic: Topic) -> String {
    match topic {
        Topic::Paths => paths(),
        Topic::Traffic => {
            let models = traffic::MODELS.iter().map(|m| (m.name, m.summary, m.source));
            names("Traffic (--traffic)", models)
        }
        Topic::Pages => pages(),
        Topic::Schedulers => {
            let title = "Schedulers (--schedulers); the name `default` is ambiguous and refused";
            format!(
                "{title}\n  all take reinjection=, see `anabranch list reinjection`\n{}",
                table::<SchedulerRow>()
            )
        }
        Topic::Reinjection => {
            let title = "Reinjection (--reinjection, or `lrf:reinjection=NAME` for one scheduler)";
            format!("{}{}", wide_names(title, reinjection::NAMES), own_reinjections())
        }
        Topic::Congestion => {
            let title = "Congestion controls (--cc)";
            format!("{title}\n{}", table::<ControllerRow>())
        }
        Topic::PathManagers => {
            let rows = path_manager::NAMES.iter();
            let rows = rows.map(|about| (*about, path_manager::parameters(about.0)));
            let table = with_parameters(rows);
            format!("Path managers (--path-managers)\n{table}")
        }
        Topic::Policies => {
            let title = "Path policies (--policy), with any scheduler of mptcp";
            format!("{title}\n{}", table::<PolicyRow>())
        }
        Topic::Failover => names("Fail-over rules (--failover)", FAILOVER_NAMES.iter().copied()),
        Topic::Queues => {
            names("Queue disciplines (`queue` in a path)", network::queue::NAMES.iter().copied())
        }
        Topic::Loss => {
            names("Loss models (`loss` in a path)", network::loss::NAMES.iter().copied())
        }
        Topic::Profiles => format!("Sender profiles (--profile)\n{}", sender_profiles()),
    }
}

/// Names, each with a sentence and its source.
fn names<S: Display>(
    title: &str,
    rows: impl Iterator<Item = (&'static str, S, &'static str)>,
) -> String {
    let mut text = format!("{title}\n");
    for (name, summary, source) in rows {
        row(&mut text, name, &format!("{summary} ({source})"));
    }
    text
}

/// Longer names, each with a sentence and its source.
fn wide_names(title: &str, table: &[(&str, &str, &str)]) -> String {
    let mut text = format!("{title}\n");
    for (name, summary, source) in table {
        let _ = writeln!(text, "  {name:<13} {summary} ({source})");
    }
    text
}

/// Default reinjection of every scheduler.
fn own_reinjections() -> String {
    let mut text = String::from("  Default:");
    for variant in Opportunistic::ALL {
        let own = |row: &&SchedulerRow| row.own_reinjection.unwrap_or(Opportunistic::Off);
        let rows = scheduler::TABLE.iter().filter(|row| own(row) == variant);
        let names: Vec<&str> = rows.map(|row| row.name).collect();
        if !names.is_empty() {
            let _ = write!(text, " {} with {};", variant.name(), names.join(", "));
        }
    }
    text.push_str("\n  the `optim` of daps, otias and sttf takes precedence over --reinjection.\n");
    text
}

/// The rows of a table of policies.
fn table<R: Row>() -> String {
    with_parameters(R::table().iter().map(|row| (row.about(), row.parameters())))
}

/// Names with their parameters.
fn with_parameters(rows: impl Iterator<Item = (About, &'static [Parameter])>) -> String {
    let mut text = String::new();
    for ((name, summary, source), parameters) in rows {
        // These names are longer.
        let _ = writeln!(text, "  {name:<13} {summary} ({source})");
        for parameter in parameters {
            let Parameter { key, about, .. } = parameter;
            let _ = writeln!(text, "  {:<13} {name}:{key}=: {about}; {}", "", parameter.range());
        }
    }
    text
}

fn paths() -> String {
    let mut text = String::from("Path profiles (--path NAME, or `profile NAME` in a path)\n");
    for profile in PathProfile::all() {
        row(&mut text, profile.name, &profile.spec);
        row(&mut text, "", &format!("source: {}", profile.source));
    }
    text
}

fn pages() -> String {
    let mut text = String::from(
        "Pages (--traffic web:NAME); object sizes are assumed, unless --data has recordings\n",
    );
    for page in lab::web_page::NAMED_PAGES {
        let (objects, kilobytes) = (page.objects, page.bytes as f64 / 1e3);
        let about = format!("{objects} objects, {kilobytes:.0} kB ({})", page.source);
        // These names are longer.
        let _ = writeln!(text, "  {:<15} {about}", page.name);
    }
    text
}

/// Sender profiles, with their unverified settings.
pub(crate) fn sender_profiles() -> String {
    let mut text = String::new();
    for (profile, name) in Profile::ALL {
        let about = match profile {
            Profile::Linux => "Linux 6.18",
            Profile::Linux41 => "the kernel of paper 002, MPTCP 0.91",
            Profile::Linux314 => "the kernel of paper 000, MPTCP 0.89",
            Profile::Linux311 => "the kernel of paper 004, MPTCP 0.88",
            Profile::Linux35 => "the kernel of paper 001, MPTCP 0.86",
        };
        row(&mut text, name, about);
        let unverified = profile.unverified();
        if !unverified.is_empty() {
            row(&mut text, "", &format!("unverified: {}", unverified.join(", ")));
        }
    }
    text
}

fn row(text: &mut String, name: &str, about: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {name:<11} {about}");
}
