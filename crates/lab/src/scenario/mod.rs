//! Scenarios: everything a study depends on, checked.
//!
//! `options` is what was asked for, from a command line, an environment or a file; `file` reads
//! TOML into it and `schema` describes such files; `values` reads single values, `choice` names of
//! what is to be compared. A `Scenario` is the result: every name known, every default filled in,
//! contradictions refused. Leaves which variants follow from it to `variants`.

mod choice;
mod competition;
mod endpoints;
mod file;
mod flow;
mod flow_table;
mod options;
mod path_table;
mod schema;
mod single;
mod table;
mod values;
mod variants;

pub(crate) use file::{load, split, table_of};
pub use flow::FlowSpec;
pub(crate) use flow::draw_start;
pub use options::{Options, PathOption};
pub use schema::schema as scenario_schema;
pub use single::{SingleChoices, SingleOptions};
use table::quoted;
pub use table::{Argument, Counts, Key, OptionRow, Takes, Verbs};
pub use variants::{Carrier, Protocol, Variant, variants_of};

use crate::error::InputError;
use crate::path_spec::{CapacitySpec, PathSpec, Span};
use crate::traffic_spec::show_traffic;
use crate::units::show_size;
use crate::web_page::PageSource;
use base::Duration;
use sha2::{Digest, Sha256};
use simulator::{KernelSetup, NicSetup};
use std::fmt::Write;
use traffic::Traffic;
use transport::Failover;
use transport::congestion::ControllerChoice;
use transport::path_manager::PathManagerKind;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;
use transport::{Buffers, Profile};

/// Repetitions unless said otherwise.
pub const DEFAULT_RUNS: u32 = 20;
/// Most repetitions of `--runs auto` unless said otherwise.
pub const DEFAULT_RUNS_MAX: u32 = 1000;
/// Seed unless said otherwise.
pub const DEFAULT_SEED: u64 = 1;

/// A study to carry out.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What is said of it, for people.
    pub about: About,
    /// In the order named.
    pub paths: Vec<PathSpec>,
    /// Links that several paths may lead through.
    pub links: Vec<PathSpec>,
    /// Connections that compete with the compared one.
    pub flows: Vec<FlowSpec>,
    /// When the compared connection starts.
    pub start: Span<Duration>,
    /// What goodputs leave out at the beginning of a run.
    pub warm_up: Duration,
    /// What is sent.
    pub traffic: Traffic,
    /// Where the page comes from, if it is one.
    pub page: Option<PageSource>,
    /// What is compared.
    pub choices: Choices,
    /// The two hosts.
    pub ends: Ends,
    /// Repetitions of every variant.
    pub runs: Runs,
    /// Random seed.
    pub seed: u64,
    /// Threads; no result depends on it.
    pub jobs: usize,
    /// What variants are compared with.
    pub baseline: Baseline,
    /// What was left out, and how input was understood.
    pub notes: Vec<String>,
}

/// Words for people about a scenario.
#[derive(Clone, Debug)]
pub struct About {
    /// A heading for reports.
    pub title: Option<String>,
    /// Who is in this situation, for those who read the file.
    pub description: Option<String>,
    /// Where the values come from.
    pub source: Option<String>,
}

/// What is compared, each list in the order asked for.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Protocols.
    pub protocols: Vec<Protocol>,
    /// Congestion controls; a coupled one is for several paths only.
    pub congestion: Vec<ControllerChoice>,
    /// Schedulers of protocols over several paths.
    pub schedulers: Vec<SchedulerChoice>,
    /// Path managers of protocols over several paths.
    pub path_managers: Vec<PathManagerKind>,
    /// Endpoints and limits of the path manager `kernel`; `None`: a subflow on every path.
    pub kernel: Option<KernelSetup>,
    /// `fullmesh` opens all paths at once (001 s4.1.1).
    pub simultaneous_syn: bool,
    /// Path policies of protocols over several paths.
    pub policies: Vec<PolicyChoice>,
    /// Rules for declaring a path failed; empty: what is usual with the scheduler.
    pub failovers: Vec<Failover>,
}

/// The hosts at both ends of the compared connection.
#[derive(Clone, Debug)]
pub struct Ends {
    /// Which kernel both ends behave like.
    pub profile: Profile,
    /// Of both ends.
    pub buffers: Buffers,
    /// `None`: no NIC link.
    pub nic: Option<NicSetup>,
    /// Client to server.
    pub reverse: bool,
    /// Index of the path of the first subflow.
    pub first: usize,
}

/// How many repetitions there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runs {
    /// So many.
    Fixed(u32),
    /// As many as it takes to know every difference well enough.
    Auto {
        /// But no more.
        most: u32,
    },
}

/// What variants are compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Baseline {
    /// The best single-path variant over all runs; without any, the best of all.
    Best,
    /// The mean over the single paths, per run.
    Average,
    /// A variant by name.
    Named(String),
}

impl Scenario {
    /// Reads a scenario file.
    pub fn options_from_file(name: &str) -> Result<Options, InputError> {
        file::read(name)
    }

    /// Whether repetitions differ by chance.
    pub fn is_random(&self) -> bool {
        self.paths.iter().chain(&self.links).any(PathSpec::is_random)
            || self.start.is_drawn()
            || self.flows.iter().any(|flow| flow.start.is_drawn())
    }

    /// Whether repetitions over this path alone differ by chance.
    pub(crate) fn is_random_on(&self, path: usize) -> bool {
        match self.paths.get(path) {
            Some(spec) if self.is_two_hosts() => spec.is_random(),
            _ => self.is_random(),
        }
    }

    /// Whether there is nothing but two hosts with paths between them.
    fn is_two_hosts(&self) -> bool {
        self.links.is_empty() && self.flows.is_empty() && !self.start.is_drawn()
    }

    /// Names of the competing flows, one by one.
    pub fn flow_names(&self) -> Vec<String> {
        self.flows.iter().flat_map(FlowSpec::names).collect()
    }

    /// The option that asks for what only simulated links have, if one does.
    pub fn simulated_only(&self) -> Option<&'static str> {
        if !self.links.is_empty() {
            Some("link")
        } else if !self.flows.is_empty() {
            Some("flow")
        } else if self.start.high > Duration::ZERO {
            Some("start")
        } else if !self.warm_up.is_zero() {
            Some("warm-up")
        } else if self.choices.kernel.is_some() {
            Some("endpoints")
        } else if self.choices.simultaneous_syn {
            Some("simultaneous-syn")
        } else {
            None
        }
    }

    /// Whether a protocol over several paths is among those compared.
    pub fn has_multipath(&self) -> bool {
        self.choices.protocols.contains(&Protocol::Mptcp)
    }

    /// Whether paths are compared alone.
    pub fn has_single_path(&self) -> bool {
        self.choices.protocols.contains(&Protocol::Tcp)
    }

    fn failover_names(&self) -> String {
        self.choices.failovers.iter().map(|rule| rule.name()).collect::<Vec<_>>().join(",")
    }

    /// The same study as a scenario file; `spec` writes a path's description.
    fn to_toml_with(&self, traffic: String, spec: impl Fn(&PathSpec) -> String) -> String {
        let mut text = String::new();
        for key in in_file_order() {
            let value = match key {
                Key::Traffic => Some(quoted(&traffic)),
                _ => (key.row().show)(self),
            };
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{} = {value}", key.row().name);
            }
        }
        text.push_str("\n[path]\n");
        for path in &self.paths {
            let _ = writeln!(text, "{} = {}", quoted(&path.name), quoted(&spec(path)));
        }
        text.push_str(&self.shared_tables(spec));
        text
    }

    /// The tables of links that paths share and of flows beside the measured connection.
    fn shared_tables(&self, spec: impl Fn(&PathSpec) -> String) -> String {
        let mut text = String::new();
        let links = self.links.iter().map(|link| (&link.name, spec(link)));
        let flows = self.flows.iter().map(|flow| (&flow.name, flow.show(&self.paths)));
        for (table, lines) in [("link", links.collect::<Vec<_>>()), ("flow", flows.collect())] {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n[{table}]");
            }
            for (name, spec) in lines {
                let _ = writeln!(text, "{} = {}", quoted(name), quoted(&spec));
            }
        }
        text
    }

    /// What was asked for, as a scenario file that runs from anywhere on this machine.
    pub fn to_toml(&self) -> String {
        self.to_toml_with(self.traffic_to_read(), |path| path.anchored.clone())
    }

    /// The traffic as any folder of this machine can read it.
    fn traffic_to_read(&self) -> String {
        let page = self.page.as_ref().map(|page| format!("web:{}", page.anchored));
        page.unwrap_or_else(|| show_traffic(&self.traffic))
    }

    /// SHA-256 over what a run depends on beside its variant and number: the key that stored runs
    /// are found by. The same for any number of runs, choice of variants and working folder.
    pub fn study_key(&self) -> [u8; 32] {
        let paths: Vec<String> = self.paths.iter().map(PathSpec::essence).collect();
        let ends = (
            self.ends.profile.name(),
            &self.ends.buffers,
            &self.ends.nic,
            self.ends.reverse,
            self.ends.first,
        );
        let mut key = format!("{:?}", (self.seed, self.traffic_key(), ends, paths));
        // Writing to a string cannot fail.
        if self.simulated_only().is_some() {
            let links: Vec<String> = self.links.iter().map(PathSpec::essence).collect();
            let _ = write!(key, "{:?}", (links, &self.flows, &self.start, self.warm_up));
        }
        if let Some(kernel) = &self.choices.kernel {
            let _ = write!(key, "{kernel:?}");
        }
        if self.choices.simultaneous_syn {
            key.push_str("simultaneous-syn");
        }
        Sha256::digest(key).into()
    }

    /// The traffic as far as a run depends on it: a page from a file is identified by the content
    /// of the file, whatever its name.
    fn traffic_key(&self) -> String {
        let digest = self.page.as_ref().and_then(|page| page.digest);
        match (&self.traffic, digest) {
            (Traffic::Web(web), Some(digest)) => {
                format!("{digest:?} {:?} {}", web.http, web.per_host)
            }
            (traffic, _) => format!("{traffic:?}"),
        }
    }

    /// SHA-256 over everything that results depend on, recordings included.
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.to_toml_with(show_traffic(&self.traffic), PathSpec::to_string));
        if let Some(digest) = self.page.as_ref().and_then(|page| page.digest) {
            hash.update(digest);
        }
        let paths = self.paths.iter().chain(&self.links);
        for link in paths.flat_map(|path| [&path.down, &path.up]) {
            if let CapacitySpec::Trace(trace) = &link.capacity {
                hash.update(trace.digest);
            }
        }
        hash.finalize().into()
    }
}

/// The options in the order in which a scenario is written: times before the seed, tables apart.
fn in_file_order() -> Vec<Key> {
    let is_time = |key: &Key| matches!(key, Key::Start | Key::WarmUp);
    let rest = Key::ALL.iter().copied().filter(|key| !key.is_table() && !is_time(key));
    let mut keys: Vec<Key> = rest.collect();
    let seed = keys.iter().position(|key| *key == Key::Seed).unwrap_or(keys.len());
    keys.splice(seed..seed, [Key::Start, Key::WarmUp]);
    keys
}

/// What was chosen, with commas between.
fn names_of<T: ToString>(chosen: &[T]) -> String {
    chosen.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

impl std::fmt::Display for Baseline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Baseline::Best => "best",
            Baseline::Average => "average",
            Baseline::Named(name) => name,
        })
    }
}

/// Buffers in the spelling of `--buffers`.
pub fn show_buffers(buffers: &Buffers) -> String {
    let fixed = if buffers.auto_tuning { "" } else { "fixed:" };
    let (send, receive) = (buffers.send_max.into(), buffers.receive_max.into());
    format!("{fixed}{}/{}", show_size(send), show_size(receive))
}

#[cfg(test)]
mod tests;
