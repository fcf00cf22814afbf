//! The arguments of studies, their help, and their options for the lab.
//!
//! Values are kept as text; the lab parses them, and its messages name the option.

use crate::exit::{CHECK_FAILED, INTERRUPTED};
use crate::list::sender_profiles;
use crate::options::{RepetitionArgs, ScenarioArgs};
use clap::{Args, ValueEnum};
use lab::Report;
use lab::answer::Outcome;
use lab::comparison::Class;
use lab::scenario::Key;
use lab::{Given, InputError, Options, Scenario};

/// Examples of `compare`.
pub(crate) const EXAMPLES: &str = "\
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
  --path NAME='ITEMS'   items in tc syntax, for both directions unless restricted:
    rate 25mbit | trace FILE [unit=mbit] | trace-up FILE | profile NAME
    delay 20ms [5ms [25%] [distribution normal] [unordered]]
                            one way; jitter and its correlation; packets
                            keep their order unless unordered
    loss 1% | loss gemodel P R 1-H 1-K | loss state P13 P31
    limit 100p              packets, 64KiB or 50ms; without it 1000p
    rate, delay, loss and limit take values that each repetition draws:
    20ms..25ms uniformly, 20ms+-5ms from a normal distribution, never below zero
    queue {queues}
    reorder P | duplicate P | corrupt P
    down @20s..35s          outage with a link-down notification
    silent @20s..35s        outage without one
    removed @20s..35s       the client's address is removed, the link works
    reset @20s              both ends of its connections receive a reset; not with sctp
    backup [@20s..35s]      used only if no other path works; of sctp another primary
    rate|delay|loss VALUE @20s..35s    another value during that time
    uplink ITEM | downlink ITEM        one direction only
    via LINK [via LINK]...  through links shared with other paths, client first
    client END | server END ends that paths share: one address each

Links and flows:
  --link NAME='ITEMS'   a link between paths and the server, in the same syntax
  --flow NAME='ITEMS'   a competing connection between two further hosts, over paths:
    tcp | mptcp | sctp | cmt-sctp | udp
    on PATH[,PATH] | cc NAME | scheduler NAME | traffic MODEL | buffers SND/RCV | reverse
    start 0s..2s            drawn for every repetition
    delay 20ms              added to that of the path, one way
    count 3                 number of such connections

Environment: every option that takes one value, such as --runs 20, can be given as
ANABRANCH_RUNS=20; an option overrides the environment, the environment the file.

Exit codes: 0 done, 1 failure, 2 wrong usage or scenario, 4 an answer of --fail-if,
130 interrupted.";

/// Text of `compare --help` after the options.
pub(crate) fn long_help() -> String {
    let profiles = sender_profiles();
    let heading = "Sender profiles (--profile); unverified: not checked against the kernel's \
        source:";
    let grammar = GRAMMAR.replace("{queues}", network::queue::FORMS);
    format!("{EXAMPLES}\n\n{grammar}\n\n{heading}\n{profiles}")
}

/// An answer that is a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FailIf {
    /// Multi-path hurts.
    Hurts,
    /// The class is undecided or not known, or the goal is undecided.
    Undecided,
    /// Every variant misses the goal.
    GoalMissed,
}

impl FailIf {
    /// Whether the answer is this one.
    pub(crate) fn applies(self, report: &Report) -> bool {
        let (answer, goal) = (&report.answer, report.goal.as_ref().map(|goal| goal.outcome));
        match self {
            FailIf::Hurts => answer.class == Some(Class::Hurts) && is_on_several_paths(report),
            FailIf::Undecided => {
                let unknown = matches!(answer.class, None | Some(Class::Undecided));
                // A variant alone raises no question, unless it has no verdict itself.
                let asked = report.variants.len() > 1 || answer.baseline.is_none();
                asked && unknown || goal == Some(Outcome::Undecided)
            }
            FailIf::GoalMissed => goal == Some(Outcome::Missed),
        }
    }
}

/// Whether the answer is about a variant over several paths.
fn is_on_several_paths(report: &Report) -> bool {
    let name = report.answer.variant.as_deref();
    let deciding = report.variants.iter().find(|of| Some(of.variant.name.as_str()) == name);
    deciding.is_some_and(|of| of.variant.single_path().is_none())
}

impl CompareArgs {
    /// The exit code of a study.
    pub(crate) fn code(&self, report: &Report) -> u8 {
        if report.interrupted {
            return INTERRUPTED;
        }
        let fails = self.fail_if.iter().any(|fail_if| fail_if.applies(report));
        if fails { CHECK_FAILED } else { 0 }
    }

    /// A goal can be missed only where there is one. `given` has the place of `fail-if` in a file.
    pub(crate) fn require_goal(
        &self,
        given: &Options,
        scenario: &Scenario,
    ) -> Result<(), InputError> {
        if scenario.goal.is_some() || !self.fail_if.contains(&FailIf::GoalMissed) {
            return Ok(());
        }
        let help = "name it: `--goal 'p95 message_delay < 150ms'`";
        Err(given.refusal(Key::FailIf, "there is no goal that could be missed", help))
    }
}

/// Options of `compare`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub asked: ScenarioArgs,
    #[command(flatten)]
    pub repeated: RepetitionArgs,
    /// Compare every pair of variants too
    #[arg(long)]
    pub pairs: bool,
    /// Also print why senders were not sending, how long the reader was blocked and what was sent
    /// needlessly; always in --json and in the report
    #[arg(long)]
    pub why: bool,
    /// Print every column of the table, however wide it is: also the interval without pairing, the
    /// correlation, the median and the retransmitted segments
    #[arg(long)]
    pub wide: bool,
    /// Exit with code 4 if the answer is one of these: hurts, undecided (also: not
    /// known), goal-missed
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        env = "ANABRANCH_FAIL_IF",
        hide_env = true
    )]
    pub fail_if: Vec<FailIf>,
    /// Print the table as Markdown
    #[arg(long, conflicts_with_all = ["json", "wide"])]
    pub markdown: bool,
    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
    /// Write run.json, runs.parquet, scenario.toml, result.json, report.html and copies of the
    /// inputs to a folder; runs already there, of the same scenario and build, are reused
    #[arg(long, value_name = "DIR", env = "ANABRANCH_OUT", hide_env = true)]
    pub out: Option<String>,
    /// Also write runs.csv and summary.csv (one row per variant) to the folder of --out
    // The folder may be that of a scenario file: `with_output` refuses a study without one.
    #[arg(long)]
    pub csv: bool,
    /// Write the packets of every variant's first repetition to a folder, one file as seen by the
    /// sender and one as seen by the receiver, for Wireshark and `anabranch analyze`
    #[arg(long, value_name = "DIR", env = "ANABRANCH_PCAP", hide_env = true)]
    pub pcap: Option<String>,
    /// Overwrite files that anabranch did not write
    #[arg(long)]
    pub force: bool,
    /// Print no progress; notes on how inputs were understood stay
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print a line for every repetition
    #[arg(long, short)]
    pub verbose: bool,
    /// Print without colours, as with the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

impl CompareArgs {
    /// Options of these arguments, completed from the scenario file.
    pub(crate) fn options(&self) -> Result<Options, InputError> {
        Ok(self.repeated.options.clone().or(self.asked.over_file()?))
    }

    /// The answers that are failures: those of the arguments, else those of the file.
    fn failures(&self, file: &Options) -> Result<Vec<FailIf>, InputError> {
        check_repetition("--fail-if", &self.fail_if)?;
        if self.fail_if.is_empty() { fail_if(file) } else { Ok(self.fail_if.clone()) }
    }

    /// These arguments, completed with the output options of `file`. Folders in a file are relative
    /// to it.
    pub(crate) fn with_output(&self, file: &Options) -> Result<CompareArgs, InputError> {
        let folder = |given: &Given| match given.folder() {
            Some(folder) => folder.join(&given.text).display().to_string(),
            None => given.text.clone(),
        };
        let on = |argument: bool, key: Key| argument || file.switch(key) == Some(true);
        let named =
            |argument: &Option<String>, key: Key| argument.clone().or(file.text(key).map(folder));
        let args = CompareArgs {
            pairs: on(self.pairs, Key::Pairs),
            why: on(self.why, Key::Why),
            wide: self.wide || !self.markdown && on(false, Key::Wide),
            fail_if: self.failures(file)?,
            markdown: self.markdown || !(self.json || self.wide) && on(false, Key::Markdown),
            json: self.json || !self.markdown && on(false, Key::Json),
            out: named(&self.out, Key::Out),
            csv: on(self.csv, Key::Csv),
            pcap: named(&self.pcap, Key::Pcap),
            force: on(self.force, Key::Force),
            quiet: self.quiet || !self.verbose && on(false, Key::Quiet),
            verbose: self.verbose || !self.quiet && on(false, Key::Verbose),
            no_color: on(self.no_color, Key::NoColor),
            ..self.clone()
        };
        if args.csv && args.out.is_none() {
            let problem = "`csv` without a folder to write to";
            let help = "name the folder: `--out results`, or `out = \"results\"` in the file";
            return Err(file.refusal(Key::Csv, problem, help));
        }
        if args.quiet && args.verbose {
            let problem = "both `quiet` and `verbose`";
            return Err(file.refusal(Key::Quiet, problem, "keep one of them"));
        }
        for (other, name) in [(args.json, "json"), (args.wide, "wide")] {
            if args.markdown && other {
                let problem = format!("both `markdown` and `{name}`");
                return Err(file.refusal(Key::Markdown, problem, "keep one of them"));
            }
        }
        Ok(args)
    }
}

/// The answers that are failures, as in a scenario file.
fn fail_if(file: &Options) -> Result<Vec<FailIf>, InputError> {
    let mut answers = Vec::new();
    for given in file.texts(Key::FailIf) {
        for word in given.text.split(',').map(str::trim) {
            let answer = FailIf::from_str(word, true).map_err(|_| {
                let problem = format!("`{word}` is no answer of a comparison");
                given.refuse_whole(problem, "valid are: hurts, undecided, goal-missed")
            })?;
            if answers.contains(&answer) {
                return Err(given.refuse_whole(twice(&answer), KEEP_ONE));
            }
            answers.push(answer);
        }
    }
    Ok(answers)
}

const KEEP_ONE: &str = "keep one";

/// Refuses a list of an option that has a value again.
pub(crate) fn check_repetition<T: ValueEnum + PartialEq>(
    option: &str,
    list: &[T],
) -> Result<(), InputError> {
    let is_repeated = |(at, value): &(usize, &T)| list[..*at].contains(value);
    let repeated = list.iter().enumerate().find(is_repeated);
    repeated.map_or(Ok(()), |(_, value)| Err(InputError::at(option, twice(value), KEEP_ONE)))
}

fn twice<T: ValueEnum>(value: &T) -> String {
    let name = value.to_possible_value().map_or(String::new(), |of| of.get_name().to_owned());
    format!("`{name}` is given twice")
}
