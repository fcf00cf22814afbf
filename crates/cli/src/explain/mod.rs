//! The subcommand `explain`: the decisions of a scheduler in one run, one per line.
//!
//! The scenario has the options of `run`. The lab records the decisions, `lines` formats them.

mod association;
mod lines;

use crate::exit::{FAILED, USAGE};
use crate::options::ScenarioArgs;
use crate::output::{Screen, error, message, print};
use association::Line;
use clap::Args;
use lab::decisions::{
    Decisions, Span, Stretches, decision_document, record_decisions, record_stretches,
};
use lab::scenario::{Carrier, Key, Variant, variants_of};
use lab::{Given, InputError, Scenario};
use std::fmt::Display;
use transport::Protocol;

pub(crate) const EXAMPLES: &str = "\
Examples:
  anabranch explain --path wlan --path 3g --traffic burst:15 --scheduler blest-kernel --from 2s
  anabranch explain scenario.toml --scheduler otias --until 2s
  anabranch explain scenario.toml --variant mptcp/lrf/lia --run 7 --json
  anabranch explain --path wlan --path 3g --traffic video:10s --protocols sctp
  anabranch explain --path wlan --path 3g --traffic video:10s --protocols cmt-sctp --sacks";

/// Options of `explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub asked: ScenarioArgs,
    /// Scheduler to explain, see `anabranch list schedulers`; replaces those of the scenario
    #[arg(long, value_name = "NAME", conflicts_with = "schedulers")]
    pub scheduler: Option<String>,
    /// Variant to explain, if the scenario has several multi-path variants
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Number of the repetition, counted from 0 as in a comparison
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub run: u64,
    /// Print decisions from this time on [default: start of the run]
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Print decisions before this time, at which the run ends [default: end of the run]
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Number of the connection, counted from 1 in the order of opening [default: the one that
    /// carried most data]
    #[arg(long, value_name = "N")]
    pub connection: Option<usize>,
    /// Print what each SACK means for each path of cmt-sctp, too: SFR, CUC, DAC
    #[arg(long)]
    pub sacks: bool,
    /// Print one JSON object per line for each decision
    #[arg(long)]
    pub json: bool,
    /// Print without colours, as with the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

/// Validated inputs of a run.
struct Prepared {
    scenario: Scenario,
    variant: Variant,
    span: Span,
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn explain(args: &ExplainArgs) -> u8 {
    let prepared = match prepare(args) {
        Ok(prepared) => prepared,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    let Prepared { scenario, variant, span } = &prepared;
    let (run, connection) = (args.run, args.connection);
    // Without a scheduler of MPTCP there are no decisions, only what was sent.
    let decides = matches!(
        variant.carrier,
        Carrier::Multipath { .. } | Carrier::Multihomed { scheduler: Some(_), .. }
    );
    if !decides || args.sacks {
        let found = record_stretches(scenario, variant, run, *span, connection);
        return conclude(args, span, found, |found| show_association(args, &prepared, found));
    }
    let found = record_decisions(scenario, variant, run, *span, connection);
    conclude(args, span, found, |found| show(args, &prepared, found))
}

/// Shows what was recorded, or says why there is nothing; returns the exit code.
fn conclude<T>(
    args: &ExplainArgs,
    span: &Span,
    found: Result<Option<T>, impl Display>,
    show: impl FnOnce(&T),
) -> u8 {
    match found {
        Ok(Some(found)) => {
            show(&found);
            0
        }
        Ok(None) => {
            error(&nothing(args, span));
            USAGE
        }
        Err(failure) => {
            error(&failure);
            FAILED
        }
    }
}

fn show_association(args: &ExplainArgs, prepared: &Prepared, found: &Stretches) {
    let Prepared { scenario, variant, .. } = prepared;
    if args.json {
        scenario.notes.iter().for_each(|note| message(&format!("note: {note}")));
        for line in association::lines(found, args.sacks) {
            let document = match line {
                Line::Sent(one) => found.document(scenario, variant, one),
                Line::Sack(report) => found.report_document(scenario, report),
            };
            print(&format!("{document}\n"));
        }
    } else {
        let screen = Screen::fitted(args.no_color);
        let lines = association::lines(found, args.sacks);
        print(&association::text(prepared, args.run, (found, &lines), screen));
    }
    if found.cut {
        message("note: further lines were not kept; name a later --from to see them");
    }
}

fn prepare(args: &ExplainArgs) -> Result<Prepared, InputError> {
    let given =
        |option, text: &Option<String>| text.as_ref().map(|text| Given::argument(option, text));
    let (from, until) = (given("--from", &args.from), given("--until", &args.until));
    let span = Span::parse(from.as_ref(), until.as_ref())?;
    let mut options = args.asked.over_file()?;
    for key in [Key::Runs, Key::RunsMax, Key::Baseline] {
        options.forget(key);
    }
    // Nothing is compared.
    options = options.with(Key::Baseline, "best");
    let scheduler = given("--scheduler", &args.scheduler);
    // Protocols of a file give way to a scheduler, those of the command line do not.
    let replaces = scheduler.is_some() && !args.asked.is_given(Key::Protocols);
    if replaces || !options.is_given(Key::Protocols) {
        options.forget(Key::Protocols);
        options = options.with(Key::Protocols, "mptcp");
    }
    if let Some(scheduler) = scheduler {
        options.forget(Key::Schedulers);
        options.add(Key::Schedulers, scheduler);
    }
    let scenario = options.resolve()?;
    let variant = chosen(&scenario, args.variant.as_deref())?;
    if args.sacks && variant.protocol() != Protocol::CmtSctp {
        let problem = format!("`{}` has no data on several paths of an association", variant.name);
        return Err(InputError::at("--sacks", problem, "use it with `--protocols cmt-sctp`"));
    }
    Ok(Prepared { scenario, variant, span })
}

/// Whether a variant chooses among paths.
const fn chooses(variant: &Variant) -> bool {
    variant.scheduler().is_some() || matches!(variant.carrier, Carrier::Multihomed { .. })
}

/// The variant of that name, or the only one that chooses among paths.
fn chosen(scenario: &Scenario, name: Option<&str>) -> Result<Variant, InputError> {
    let all = variants_of(scenario);
    let known = || {
        let scheduled = all.iter().filter(|variant| chooses(variant));
        scheduled.map(|variant| variant.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    if known().is_empty() {
        let problem = "no variant of this scenario has a scheduler: TCP uses one path only";
        let help = "name a scheduler, as in `--scheduler lrf`, to use all paths together";
        return Err(InputError::at("--protocols", problem, help));
    }
    let Some(name) = name else {
        let mut scheduled = all.iter().filter(|variant| chooses(variant));
        return match (scheduled.next(), scheduled.next()) {
            (Some(only), None) => Ok(only.clone()),
            _ => {
                let problem = "several variants of this scenario choose among paths";
                let help = format!("name one of {}", known());
                Err(InputError::at("--variant", problem, help))
            }
        };
    };
    match all.iter().find(|variant| variant.name.eq_ignore_ascii_case(name)) {
        Some(variant) if chooses(variant) => Ok(variant.clone()),
        Some(_) => {
            let problem = format!("`{name}` has no scheduler: it uses one path only");
            Err(InputError::at("--variant", problem, format!("name one of {}", known())))
        }
        None => {
            let problem = format!("unknown variant `{name}`");
            Err(InputError::at("--variant", problem, format!("the scenario has {}", known())))
        }
    }
}

fn nothing(args: &ExplainArgs, span: &Span) -> InputError {
    let until = span.until.map_or("the end".to_owned(), |until| until.to_string());
    let from = if span.from.is_zero() { "the start".to_owned() } else { span.from.to_string() };
    let within = format!("between {from} and {until}");
    let help = "change --from or --until, or leave them out";
    let is_whole = span.from.is_zero() && span.until.is_none();
    match args.connection {
        Some(number) => {
            let problem = format!("connection {number} has no decisions {within}");
            let help = if is_whole { String::new() } else { format!(", or {help}") };
            InputError::at("--connection", problem, format!("leave it out{help}"))
        }
        None if is_whole => {
            let problem = format!(
                "there are no decisions in repetition {}: its connections fell back to TCP, or \
                 sent no data",
                args.run
            );
            InputError::at("--run", problem, "see what `anabranch run` says with these options")
        }
        None => InputError::at("--from", format!("there are no decisions {within}"), help),
    }
}

fn show(args: &ExplainArgs, prepared: &Prepared, decisions: &Decisions) {
    let Prepared { scenario, variant, .. } = prepared;
    if args.json {
        scenario.notes.iter().for_each(|note| message(&format!("note: {note}")));
        for one in &decisions.calls {
            print(&format!("{}\n", decision_document(scenario, one)));
        }
    } else {
        let screen = Screen::fitted(args.no_color);
        print(&lines::text(scenario, variant, args.run, decisions, screen));
    }
    if decisions.cut {
        message("note: further decisions were not kept; name a later --from to see them");
    }
}
