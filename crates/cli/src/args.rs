//! The arguments of studies, their help, and what they ask the lab for.
//!
//! Values stay texts here: the lab reads them, and its messages name the option.

use crate::list::sender_profiles;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use lab::{Given, InputError, Options, OutputOptions, PathOption, Scenario};

/// Examples of `compare`.
pub const EXAMPLES: &str = "\
Examples:
  anabranch compare --path wlan --path 3g --traffic video
  anabranch compare --path home='rate 25mbit delay 20ms loss 1% limit 100p' \\
                    --path 3g='rate 4mbit delay 70ms limit 3750p' \\
                    --traffic bulk:4MiB --cc cubic,reno --runs 20
  anabranch compare --path wlan --path 3g --traffic bulk:16MiB \\
                    --schedulers lrf,rr,redundant --cc cubic,lia
  anabranch compare --path lte='trace recorded.json delay 30ms limit 200p' --path wlan \\
                    --traffic bulk:30s --json
  anabranch compare --path wlan --path 3g --traffic web:page.har
  anabranch compare scenarios/demo.toml --out results";

const GRAMMAR: &str = "\
Paths:
  --path NAME           a profile by name (see `anabranch list`)
  --path NAME='ITEMS'   items in the words of tc, both directions alike unless said:
    rate 25mbit | trace FILE [unit=mbit] | trace-up FILE | profile NAME
    delay 20ms [JITTER]     one way
    loss 1% | loss gemodel P R 1-H 1-K
    limit 100p              packets, 64KiB or 50ms; without it 1000p
    queue droptail | red MIN MAX P | codel | fq_codel
    reorder P | duplicate P | corrupt P
    down @20s..35s          an outage that the host is told of; silent: that it is not
    removed @20s..35s       the client's address is withdrawn, the link works
    reset @20s              both ends of its connections get a reset
    backup [@20s..35s]      mptcp spares it while another path works
    rate|delay|loss VALUE @20s..35s    another value for a time
    uplink ITEM | downlink ITEM        one direction only
    via LINK                through a link that other paths may share

Links and flows:
  --link NAME='ITEMS'   a link between paths and the server, in the same words
  --flow NAME='ITEMS'   a connection of two hosts of its own at the ends of paths:
    tcp | mptcp, on PATH[,PATH] | cc NAME | scheduler NAME | traffic MODEL | reverse
    start 0s..2s            drawn for every repetition
    delay 20ms              on top of the path's, one way
    count 3                 so many of them

Environment: every option that takes one value, such as --runs 20, can be given as
ANABRANCH_RUNS=20; an option wins over the environment, the environment over the file.

Exit codes: 0 done, 1 failure, 2 wrong usage or scenario, 130 interrupted.";

/// What `compare --help` has beside the options.
pub fn long_help() -> String {
    let profiles = sender_profiles();
    let heading = "Sender profiles (--profile); what is unverified is from memory:";
    format!("{EXAMPLES}\n\n{GRAMMAR}\n\n{heading}\n{profiles}")
}

/// What is to be simulated: the options that `compare` and `run` share.
#[derive(Args, Clone, Debug)]
pub struct ScenarioArgs {
    /// Scenario file (TOML) with the same keys; options win over it
    pub scenario: Option<String>,
    /// Add a path: a profile's NAME, or NAME='rate 25mbit delay 20ms ...'
    #[arg(long = "path", value_name = "NAME[='ITEMS']")]
    pub paths: Vec<String>,
    /// Add a link that paths may share, saying `via NAME`: NAME='rate 20mbit delay 10ms ...'
    #[arg(long = "link", value_name = "NAME='ITEMS'")]
    pub links: Vec<String>,
    /// Add a connection that competes: NAME='tcp on PATH cc reno start 0s..2s'
    #[arg(long = "flow", value_name = "NAME='ITEMS'")]
    pub flows: Vec<String>,
    /// When the compared connection starts, drawn from a range for every repetition: 0s..2s
    /// [default: 0s]
    #[arg(long, value_name = "TIME[..TIME]", env = "ANABRANCH_START", hide_env = true)]
    pub start: Option<String>,
    /// Leave this much of every run out of goodputs and of what each path carried [default: 0s]
    #[arg(long, value_name = "TIME", env = "ANABRANCH_WARM_UP", hide_env = true)]
    pub warm_up: Option<String>,
    /// What to send: bulk:SIZE, bulk:TIME, burst:SEGMENTS, video[:TIME], or a page to load:
    /// web:FILE (HAR, dependency graph) or web:NAME
    #[arg(long, value_name = "MODEL", env = "ANABRANCH_TRAFFIC", hide_env = true)]
    pub traffic: Option<String>,
    /// How a page is fetched: 1.1 (six connections) or 2 (one, concurrent streams) [default: 1.1]
    #[arg(long, value_name = "VERSION", env = "ANABRANCH_HTTP", hide_env = true)]
    pub http: Option<String>,
    /// Connections to each host of a page, not to all together
    #[arg(long)]
    pub per_host: bool,
    /// Protocols to compare: tcp (each path alone), mptcp (all paths together) [default: tcp, and
    /// mptcp where there are several paths]
    #[arg(long, value_name = "LIST", env = "ANABRANCH_PROTOCOLS", hide_env = true)]
    pub protocols: Option<String>,
    /// Congestion controls to compare: cubic, reno, and for mptcp the coupled lia, olia, balia and
    /// wvegas, see `anabranch list congestion` [default: cubic]
    #[arg(long, value_name = "LIST", env = "ANABRANCH_CC", hide_env = true)]
    pub cc: Option<String>,
    /// Schedulers of mptcp to compare, see `anabranch list schedulers` [default: lrf]
    #[arg(long, value_name = "LIST", env = "ANABRANCH_SCHEDULERS", hide_env = true)]
    pub schedulers: Option<String>,
    /// What schedulers that do not say it do when a slow path holds the others up, see
    /// `anabranch list reinjection` [default: as the scheduler's source has it]
    #[arg(long, value_name = "NAME", env = "ANABRANCH_REINJECTION", hide_env = true)]
    pub reinjection: Option<String>,
    /// Path managers of mptcp to compare: fullmesh (joins every path), default (none),
    /// ndiffports:N, kernel, see `anabranch list path-managers` [default: fullmesh]
    #[arg(long, visible_alias = "pm", value_name = "LIST")]
    #[arg(env = "ANABRANCH_PATH_MANAGERS", hide_env = true)]
    pub path_managers: Option<String>,
    /// What the path manager kernel goes by, as `ip mptcp` has it, with paths for addresses:
    /// 'client wlan subflow, client lte subflow backup, server lte signal' [default: a subflow on
    /// every path]
    #[arg(long, value_name = "LIST", env = "ANABRANCH_ENDPOINTS", hide_env = true)]
    pub endpoints: Option<String>,
    /// Its limits, of both sides or of one: 'subflows 2 add_addr_accepted 1' [default: room for
    /// every path; with --endpoints 'subflows 2 add_addr_accepted 0', as in Linux]
    #[arg(long, value_name = "LIST", env = "ANABRANCH_LIMITS", hide_env = true)]
    pub limits: Option<String>,
    /// With the path manager fullmesh send SYNs on all paths at once, an experiment of paper 001
    #[arg(long)]
    pub simultaneous_syn: bool,
    /// Path policies of mptcp to compare, see `anabranch list policies` [default: none]
    #[arg(long, visible_alias = "policies", value_name = "LIST")]
    #[arg(env = "ANABRANCH_POLICY", hide_env = true)]
    pub policy: Option<String>,
    /// When mptcp takes a path to have failed, to compare: rto, stale, probe, see
    /// `anabranch list failover` [default: rto; stale with scheduler and profile linux]
    #[arg(long, value_name = "LIST", env = "ANABRANCH_FAILOVER", hide_env = true)]
    pub failover: Option<String>,
    /// Key of all chance: the same seed gives the same result [default: 1]
    #[arg(long, value_name = "N", env = "ANABRANCH_SEED", hide_env = true)]
    #[arg(allow_negative_numbers = true)]
    pub seed: Option<String>,
    /// Threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", env = "ANABRANCH_JOBS", hide_env = true)]
    #[arg(allow_negative_numbers = true)]
    pub jobs: Option<String>,
    /// Kernel that both ends behave like: linux (6.18), linux-4.1, linux-3.14, linux-3.11,
    /// linux-3.5; switches of the old ones that are unverified: see --help [default: linux]
    #[arg(long, value_name = "NAME", env = "ANABRANCH_PROFILE", hide_env = true)]
    pub profile: Option<String>,
    /// Client to server instead of a download
    #[arg(long)]
    pub reverse: bool,
    /// Rate of the hosts' network interfaces, or none [default: 1gbit]
    #[arg(long, value_name = "RATE", env = "ANABRANCH_NIC", hide_env = true)]
    pub nic: Option<String>,
    /// Largest socket buffers SEND/RECEIVE; fixed:SEND/RECEIVE without auto-tuning
    /// [default: 4MiB/6MiB]
    #[arg(long, value_name = "SND/RCV", env = "ANABRANCH_BUFFERS", hide_env = true)]
    pub buffers: Option<String>,
    /// Path of the first subflow [default: the first path named]
    #[arg(long, value_name = "PATH", env = "ANABRANCH_FIRST", hide_env = true)]
    pub first: Option<String>,
}

/// Options of `compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    #[command(flatten)]
    pub asked: ScenarioArgs,
    /// Repetitions of every variant; auto: until every difference is known to 5 % of the baseline
    /// [default: 20]
    #[arg(long, value_name = "N", env = "ANABRANCH_RUNS", hide_env = true)]
    #[arg(allow_negative_numbers = true)]
    pub runs: Option<String>,
    /// Most repetitions with --runs auto [default: 1000]
    #[arg(long, value_name = "N", env = "ANABRANCH_RUNS_MAX", hide_env = true)]
    #[arg(allow_negative_numbers = true)]
    pub runs_max: Option<String>,
    /// Compare with best, average (of the single paths) or a variant's name [default: best]
    #[arg(long, value_name = "NAME", env = "ANABRANCH_BASELINE", hide_env = true)]
    pub baseline: Option<String>,
    /// Compare each variant with each other one too
    #[arg(long)]
    pub pairs: bool,
    /// Say below the table why the senders were not sending, how long the reader was blocked, and
    /// what was sent needlessly; --json and the report always do
    #[arg(long)]
    pub why: bool,
    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
    /// Write run.json, runs.parquet, scenario.toml, result.json and report.html to a folder; runs
    /// that are there already, of the same scenario and build, are not carried out again
    #[arg(long, value_name = "DIR", env = "ANABRANCH_OUT", hide_env = true)]
    pub out: Option<String>,
    /// Write runs.csv to that folder too
    #[arg(long, requires = "out")]
    pub csv: bool,
    /// Write the packets of every variant's first repetition to a folder, for Wireshark and for
    /// `anabranch analyze`, as the sender sees them and as the receiver does
    #[arg(long, value_name = "DIR", env = "ANABRANCH_PCAP", hide_env = true)]
    pub pcap: Option<String>,
    /// No progress and no notes
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// A line for every repetition
    #[arg(long, short)]
    pub verbose: bool,
    /// No colours; so does the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

/// A text with the option or the environment variable that it was given by.
fn given(sources: Option<&ArgMatches>, id: &str, text: Option<&String>) -> Option<Given> {
    let from = sources.and_then(|matches| matches.value_source(id));
    let name = if from == Some(ValueSource::EnvVariable) {
        format!("ANABRANCH_{}", id.to_uppercase())
    } else {
        format!("--{}", id.replace('_', "-"))
    };
    text.map(|text| Given::argument(&name, text))
}

impl ScenarioArgs {
    /// What these arguments ask for.
    pub fn options(&self, sources: Option<&ArgMatches>) -> Options {
        let given = |id: &str, text: &Option<String>| given(sources, id, text.as_ref());
        let whole = |option: &str, text: &String| PathOption::Whole(Given::argument(option, text));
        Options {
            paths: self.paths.iter().map(|text| whole("--path", text)).collect(),
            links: self.links.iter().map(|text| whole("--link", text)).collect(),
            flows: self.flows.iter().map(|text| whole("--flow", text)).collect(),
            start: given("start", &self.start),
            warm_up: given("warm_up", &self.warm_up),
            traffic: given("traffic", &self.traffic),
            http: given("http", &self.http),
            per_host: self.per_host.then_some(true),
            protocols: given("protocols", &self.protocols).into_iter().collect(),
            cc: given("cc", &self.cc).into_iter().collect(),
            schedulers: given("schedulers", &self.schedulers).into_iter().collect(),
            reinjection: given("reinjection", &self.reinjection),
            path_managers: given("path_managers", &self.path_managers).into_iter().collect(),
            endpoints: given("endpoints", &self.endpoints).into_iter().collect(),
            limits: given("limits", &self.limits).into_iter().collect(),
            simultaneous_syn: self.simultaneous_syn.then_some(true),
            policies: given("policy", &self.policy).into_iter().collect(),
            failovers: given("failover", &self.failover).into_iter().collect(),
            profile: given("profile", &self.profile),
            buffers: given("buffers", &self.buffers),
            nic: given("nic", &self.nic),
            reverse: self.reverse.then_some(true),
            first: given("first", &self.first),
            seed: given("seed", &self.seed),
            jobs: given("jobs", &self.jobs),
            ..Options::default()
        }
    }

    /// The same, with the scenario file where these say nothing.
    pub fn over_file(&self, sources: Option<&ArgMatches>) -> Result<Options, InputError> {
        let options = self.options(sources);
        match &self.scenario {
            Some(file) => Ok(options.or(Scenario::options_from_file(file)?)),
            None => Ok(options),
        }
    }
}

impl CompareArgs {
    /// What these arguments ask for, and the scenario file where they say nothing.
    pub fn options(&self, sources: Option<&ArgMatches>) -> Result<Options, InputError> {
        let own = Options {
            runs: given(sources, "runs", self.runs.as_ref()),
            runs_max: given(sources, "runs_max", self.runs_max.as_ref()),
            baseline: given(sources, "baseline", self.baseline.as_ref()),
            ..Options::default()
        };
        Ok(own.or(self.asked.over_file(sources)?))
    }

    /// These arguments, with what `file` says of output where these say nothing. Folders in a file
    /// are relative to it.
    pub fn with_output(&self, file: &OutputOptions) -> Result<CompareArgs, InputError> {
        let folder = |given: &Given| match given.folder() {
            Some(folder) => folder.join(&given.text).display().to_string(),
            None => given.text.clone(),
        };
        let on = |argument: bool, key: Option<bool>| argument || key == Some(true);
        let args = CompareArgs {
            pairs: on(self.pairs, file.pairs),
            json: on(self.json, file.json),
            out: self.out.clone().or(file.out.as_ref().map(folder)),
            csv: on(self.csv, file.csv),
            pcap: self.pcap.clone().or(file.pcap.as_ref().map(folder)),
            quiet: self.quiet || !self.verbose && file.quiet == Some(true),
            verbose: self.verbose || !self.quiet && file.verbose == Some(true),
            no_color: on(self.no_color, file.no_color),
            ..self.clone()
        };
        let refuse = |key, problem, help| Err(InputError::at(key, problem, help));
        if args.csv && args.out.is_none() {
            return refuse("csv", "`csv` without a folder to write to", "add `out = \"results\"`");
        }
        if args.quiet && args.verbose {
            return refuse("quiet", "both `quiet` and `verbose`", "keep one of them");
        }
        Ok(args)
    }
}
