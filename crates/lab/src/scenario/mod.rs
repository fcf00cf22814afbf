//! Scenarios: everything a study depends on, checked.
//!
//! `options` has the user's input from command line, environment or file; `file` reads it from TOML
//! and `schema` describes such files; `values` parses single values, `choice` names to compare. A
//! `Scenario` is the result: every name is known, every default filled in, and contradictions are
//! refused. `variants` builds its variants.

mod background;
mod choice;
mod cmt;
mod competition;
mod endpoints;
mod fetching;
mod file;
mod flow;
mod flow_table;
mod foreign;
mod host_cost;
mod judge;
mod matrix;
mod of_protocol;
mod options;
pub(crate) mod packet_number;
mod pairing;
mod path_table;
mod primary;
mod row;
mod schema;
mod sctp;
mod sender;
mod show;
mod single;
mod table;
mod values;
mod variants;

pub(crate) use choice::none_alone;
pub use cmt::CmtChoices;
pub(crate) use file::{Reader, Value, in_order, load, options, split, table_of};
pub use flow::FlowSpec;
pub(crate) use flow::draw_start;
pub use foreign::{FOREIGN, Foreign};
pub use judge::Goal;
pub(crate) use judge::{measures, metric};
pub use matrix::{
    CellPlace, MATRIX_PAIRS, MATRIX_RUNS, MATRIX_TRAFFIC, MatrixPlan, PlannedCell, Reported,
};
pub use options::{Options, PathOption};
pub use primary::Primary;
pub use schema::schema as scenario_schema;
pub use sctp::{SCTP_FAILOVERS, SctpChoices, SctpFailover};
pub use sender::SenderSwitches;
pub use single::{SingleChoices, SingleOptions, control_of_sctp};
use table::quoted;
pub use table::{Argument, Counts, Key, OptionRow, Takes, Verbs};
pub use variants::{Carrier, Family, Protocol, Variant, variants_of};

pub use crate::words::nearest_help;

use crate::built_in;
use crate::error::InputError;
use crate::path_spec::{CapacitySpec, PathSpec, Span};
use crate::traffic_source::TrafficSource;
use crate::traffic_spec::show_traffic;
use crate::units::show_size;
use base::Duration;
use sha2::{Digest, Sha256};
use simulator::{KernelSetup, NicSetup, ProcessingCost};
use std::collections::BTreeMap;
use std::fmt::Write;
use traffic::{Measure, Traffic};
use transport::Failover;
use transport::congestion::ControllerChoice;
use transport::path_manager::PathManagerKind;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;
use transport::sctp::cmt::SendAllKey;
use transport::{Buffers, Profile};

/// Default number of repetitions where every one takes its real time; elsewhere the first look of
/// `--runs auto`.
pub const DEFAULT_RUNS: u32 = 20;
/// Largest extra delay of a path.
pub const DEFAULT_PATH_NOISE: Duration = Duration::from_micros(100);
/// Default share of the baseline's mean below which a difference does not matter.
pub const DEFAULT_MATTERS: f64 = 0.05;
/// Default limit of repetitions of `--runs auto`.
pub const DEFAULT_RUNS_MAX: u32 = 1000;
/// Default seed.
pub const DEFAULT_SEED: u64 = 1;

/// A study to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Title, description and source.
    pub about: About,
    /// Paths in the order given.
    pub paths: Vec<PathSpec>,
    /// Links that several paths may use.
    pub links: Vec<PathSpec>,
    /// Connections that compete with the compared one.
    pub flows: Vec<FlowSpec>,
    /// Start time of the compared connection.
    pub start: Span<Duration>,
    /// Warm-up time, excluded from goodput and path shares.
    pub warm_up: Duration,
    /// Virtual time after which a run is incomplete.
    pub deadline: Duration,
    /// Traffic model.
    pub traffic: Traffic,
    /// Where the page or the conversation comes from.
    pub source: Option<TrafficSource>,
    /// Choices to compare.
    pub choices: Choices,
    /// The two hosts.
    pub ends: Ends,
    /// Repetitions of every variant.
    pub runs: Runs,
    /// Random seed.
    pub seed: u64,
    /// Threads; no result depends on it.
    pub jobs: usize,
    /// Baseline of comparisons.
    pub baseline: Baseline,
    /// The number of each run that variants are compared by.
    pub metric: Measure,
    /// A bound of such a number.
    pub goal: Option<Goal>,
    /// Smallest difference that matters.
    pub matters: Matters,
    /// Real time after which no further repetition is started, if limited.
    pub time: Option<Duration>,
    /// Notes on omitted choices and on resolved input.
    pub notes: Vec<String>,
}

/// A file that the runs of a study depend on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct InputFile {
    /// Absolute name.
    pub name: String,
    /// SHA-256 of its content.
    pub digest: [u8; 32],
    /// Number of what it belongs to: the traffic, or a path.
    pub group: usize,
    /// Whether it is from the folder of data.
    pub is_data: bool,
}

/// Texts about a scenario.
#[derive(Clone, Debug)]
pub struct About {
    /// Title for reports.
    pub title: Option<String>,
    /// Description for readers of the file.
    pub description: Option<String>,
    /// Source of the values.
    pub source: Option<String>,
}

/// Choices to compare, each list in the order given.
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
    /// Paths that variants over several paths begin with.
    pub primaries: Vec<Primary>,
    /// Path policies of protocols over several paths.
    pub policies: Vec<PolicyChoice>,
    /// Rules for declaring a path failed; empty: the default of the scheduler.
    pub failovers: Vec<Failover>,
    /// What only SCTP has.
    pub sctp: SctpChoices,
}

/// The hosts at both ends of the compared connection.
#[derive(Clone, Debug)]
pub struct Ends {
    /// Kernel that both ends model.
    pub profile: Profile,
    /// Socket buffers of both ends.
    pub buffers: Buffers,
    /// NIC of both hosts; `None`: no NIC link.
    pub nic: Option<NicSetup>,
    /// Largest extra delay of a path and repetition, where a variant uses several paths.
    pub path_noise: Duration,
    /// Processing time of both hosts, and of those of competing flows.
    pub cost: ProcessingCost,
    /// How senders deviate from the profile.
    pub sender: SenderSwitches,
    /// Whether the client sends.
    pub reverse: bool,
    /// Whether numbers that need every packet are measured at both hosts.
    pub packet_metrics: bool,
    /// Index of the path of the first subflow.
    pub first: usize,
}

/// Number of repetitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runs {
    /// A fixed number.
    Fixed(u32),
    /// Until the answer is known (`stopping`).
    Auto {
        /// Largest number.
        most: u32,
    },
}

/// The smallest difference that matters, as a share of the baseline's mean, from 0 to 1. Of delays
/// and page loads 5 ms matter at least, unless the share is zero.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Matters(pub f64);

/// Baseline of comparisons.
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

    /// Largest extra delay that is drawn per path and repetition; zero where each path is used
    /// alone.
    ///
    /// Over several paths the order of arrivals depends on differences of delays below any that a
    /// user knows, and so may the result.
    pub fn path_noise(&self) -> Duration {
        let is_drawn = self.paths.len() > 1 && self.uses_several();
        if is_drawn { self.ends.path_noise } else { Duration::ZERO }
    }

    /// The same of emulated links, which have noise of their own: only what was asked for.
    pub fn emulated_noise(&self) -> Duration {
        if self.has_own_noise() { self.path_noise() } else { Duration::ZERO }
    }

    /// Whether the extra delay is not the default.
    fn has_own_noise(&self) -> bool {
        self.ends.path_noise != DEFAULT_PATH_NOISE
    }

    /// Whether repetitions differ randomly.
    pub fn is_random(&self) -> bool {
        !self.path_noise().is_zero() || self.has_random_input()
    }

    /// The same without the extra delay of paths.
    fn has_random_input(&self) -> bool {
        self.paths.iter().chain(&self.links).any(PathSpec::is_random)
            || self.start.is_drawn()
            || self.traffic.is_drawn()
            || self.flows.iter().any(FlowSpec::is_drawn)
            || self.has_random_choice()
    }

    /// Whether variants over several paths draw the first of them or their order. A path alone has
    /// neither.
    fn has_random_choice(&self) -> bool {
        let draws_primary =
            self.uses_several() && self.choices.primaries.contains(&Primary::Random);
        let draws_order = self.compares(Protocol::CmtSctp)
            && self.choices.sctp.cmt.send_all.contains(&SendAllKey::Random);
        self.paths.len() > 1 && (draws_primary || draws_order)
    }

    /// Whether repetitions over this path alone differ randomly.
    pub(crate) fn is_random_on(&self, path: usize) -> bool {
        match self.paths.get(path) {
            Some(spec) if self.is_two_hosts() => {
                !self.path_noise().is_zero() || spec.is_random() || self.traffic.is_drawn()
            }
            _ => self.is_random(),
        }
    }

    /// Whether the scenario has only two hosts with paths between them.
    fn is_two_hosts(&self) -> bool {
        self.links.is_empty() && self.flows.is_empty() && !self.start.is_drawn()
    }

    /// Names of the competing flows, one by one.
    pub fn flow_names(&self) -> Vec<String> {
        self.flows.iter().flat_map(FlowSpec::names).collect()
    }

    /// An option that only simulated links support, if given.
    pub fn simulated_only(&self) -> Option<&'static str> {
        if self.paths.iter().any(|path| path.end_words().next().is_some()) {
            Some("client")
        } else if !self.links.is_empty() {
            Some("link")
        } else if self.flows.iter().any(|flow| flow.is_background) {
            Some("background")
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
        } else if self.ends.packet_metrics {
            Some("packet-metrics")
        } else if !self.ends.cost.is_zero() {
            Some("host-cost")
        } else if self.choices.primaries != [Primary::First] {
            Some("primary")
        } else {
            None
        }
    }

    /// Whether a protocol over several paths is among those compared.
    pub fn has_multipath(&self) -> bool {
        self.choices.protocols.iter().copied().any(Protocol::is_multipath)
    }

    /// Whether a variant that may use several paths is among those compared.
    pub fn uses_several(&self) -> bool {
        self.has_multipath() || self.compares_sctp() && self.paths.len() > 1
    }

    /// Whether SCTP or CMT-SCTP is among the compared protocols.
    pub fn compares_sctp(&self) -> bool {
        self.choices.protocols.iter().copied().any(Protocol::is_sctp)
    }

    /// Whether a protocol is among those compared.
    pub fn compares(&self, protocol: Protocol) -> bool {
        self.choices.protocols.contains(&protocol)
    }

    /// Name of the profile that hosts of this protocol have.
    pub fn profile_of(&self, protocol: Protocol) -> &'static str {
        match protocol.is_sctp() {
            true => self.choices.sctp.profile.name(),
            false => self.ends.profile.name(),
        }
    }

    /// Whether SCTP is compared, or competes.
    fn has_sctp(&self) -> bool {
        self.compares_sctp() || self.flows.iter().any(|flow| flow.protocol.is_sctp())
    }

    /// Rules for declaring a path failed; empty: the defaults.
    fn failover_names(&self) -> String {
        let rules = self.choices.failovers.iter().map(|rule| rule.name());
        let of_sctp = self.choices.sctp.failovers.iter().map(|rule| rule.name());
        rules.chain(of_sctp).collect::<Vec<_>>().join(",")
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

    /// The tables of shared links and of competing flows.
    fn shared_tables(&self, spec: impl Fn(&PathSpec) -> String) -> String {
        let mut text = String::new();
        let links = self.links.iter().map(|link| (&link.name, spec(link)));
        let own = self.flows.iter().filter(|flow| !flow.is_background);
        let flows = own.map(|flow| (&flow.name, flow.show(&self.paths)));
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

    /// The scenario as a file that works in any folder of this machine.
    pub fn to_toml(&self) -> String {
        self.to_toml_with(self.traffic_to_read(), |path| path.anchored.clone())
    }

    /// The deadline, unless it is the default.
    fn own_deadline(&self) -> Option<Duration> {
        let default = competition::default_deadline(&self.start, self.traffic.duration());
        (self.deadline != default).then_some(self.deadline)
    }

    /// The same with other names of files, by their absolute names.
    pub(crate) fn to_toml_with_names(&self, names: &BTreeMap<String, String>) -> String {
        let other = self.source.as_ref().and_then(|source| source.renamed(names));
        let traffic = other.unwrap_or_else(|| self.traffic_to_read());
        self.to_toml_with(traffic, |path| {
            let quoted = |name: &str| format!("\"{name}\"");
            names.iter().fold(path.anchored.clone(), |spec, (name, other)| {
                spec.replace(&quoted(name), &quoted(other))
            })
        })
    }

    /// The files that runs depend on, each once.
    pub(crate) fn inputs(&self) -> Vec<InputFile> {
        let mut files: Vec<InputFile> = Vec::new();
        let page = self.source.iter().filter_map(|source| {
            let (name, is_data) = (source.anchored.clone(), source.is_data);
            let file = InputFile { name, digest: source.digest?, group: 0, is_data };
            built_in::page(&file.name).is_none().then_some(file)
        });
        files.extend(page);
        for (index, path) in self.paths.iter().chain(&self.links).enumerate() {
            for link in [&path.down, &path.up] {
                if let CapacitySpec::Trace(trace) = &link.capacity
                    && files.iter().all(|file| file.name != trace.anchored)
                    && built_in::trace(&trace.anchored).is_none()
                {
                    let (name, digest) = (trace.anchored.clone(), trace.digest);
                    files.push(InputFile { name, digest, group: index + 1, is_data: false });
                }
            }
        }
        files
    }

    /// The traffic with absolute file names.
    fn traffic_to_read(&self) -> String {
        let text = self.source.as_ref().map(TrafficSource::text);
        text.unwrap_or_else(|| show_traffic(&self.traffic))
    }

    /// SHA-256 over what a run depends on apart from its variant and number: the key of stored
    /// runs. It is the same for any number of runs, choice of variants and working folder.
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
        let has_times = self.start.high > Duration::ZERO || !self.warm_up.is_zero();
        // Writing to a string cannot fail.
        if !self.links.is_empty() || !self.flows.is_empty() || has_times {
            let links: Vec<String> = self.links.iter().map(PathSpec::essence).collect();
            let _ = write!(key, "{:?}", (links, &self.flows, &self.start, self.warm_up));
        }
        if let Some(kernel) = &self.choices.kernel {
            let _ = write!(key, "{kernel:?}");
        }
        if !self.path_noise().is_zero() {
            let _ = write!(key, "path-noise {}", self.path_noise());
        }
        if self.choices.simultaneous_syn {
            key.push_str("simultaneous-syn");
        }
        if self.ends.packet_metrics {
            key.push_str("packet-metrics");
        }
        if self.ends.sender != SenderSwitches::default() {
            let _ = write!(key, "{:?}", self.ends.sender);
        }
        if let Some(deadline) = self.own_deadline() {
            let _ = write!(key, "deadline {deadline}");
        }
        if let Some(cost) = host_cost::show(&self.ends.cost) {
            let _ = write!(key, "host-cost {cost}");
        }
        key.push_str(&self.choices.sctp.deviations());
        Sha256::digest(key).into()
    }

    /// The traffic as far as a run depends on it: what is from a file is identified by the content
    /// of the file, whatever its name.
    fn traffic_key(&self) -> String {
        let digest = self.source.as_ref().and_then(|source| source.digest);
        match (&self.traffic, digest) {
            (Traffic::Web(web), Some(digest)) => {
                let options = self.source.as_ref().map_or("", |source| &source.options);
                format!("{digest:?} {}{options}", fetching::key(web))
            }
            (Traffic::Conversation(_), Some(digest)) => {
                let options = self.source.as_ref().map(|source| &source.options);
                format!("{digest:?} {options:?}")
            }
            (Traffic::Conversation(conversation), None) => conversation.name().to_owned(),
            (traffic, _) => format!("{traffic:?}"),
        }
    }

    /// SHA-256 over everything that results depend on, recordings included.
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        // Files are identified by their content, whatever their names.
        let has_file = |path: &PathSpec| {
            [&path.down, &path.up].iter().any(|l| matches!(l.capacity, CapacitySpec::Trace(_)))
        };
        let spec = |path: &PathSpec| {
            if has_file(path) { path.essence() } else { path.to_string() }
        };
        let from_file = self.source.as_ref().filter(|source| source.digest.is_some());
        let traffic = from_file.map(|source| format!("{}{}", source.model, source.options));
        let traffic = traffic.unwrap_or_else(|| show_traffic(&self.traffic));
        hash.update(self.to_toml_with(traffic, spec));
        if let Some(digest) = from_file.and_then(|source| source.digest) {
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

/// The options in the order of a written scenario, without tables.
fn in_file_order() -> Vec<Key> {
    let is_time = |key: &Key| matches!(key, Key::Start | Key::WarmUp);
    let rest = Key::ALL.iter().copied().filter(|key| !key.is_table() && !is_time(key));
    let mut keys: Vec<Key> = rest.collect();
    let seed = keys.iter().position(|key| *key == Key::Seed).unwrap_or(keys.len());
    keys.splice(seed..seed, [Key::Start, Key::WarmUp]);
    keys
}

/// The chosen names, separated by commas.
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
