//! The subcommand `emulate`: a shell, or any program, behind emulated paths.
//!
//! Reads arguments, prints the emulated paths and their accuracy, starts the program and waits for
//! it. `study` compares stacks; the `linux` crate emulates the hosts and links; the lab parses
//! paths.

mod study;

use crate::args::CompareArgs;
use crate::doctor::MISSING;
use crate::exit::{FAILED, USAGE};
use crate::output::{error, message};
use clap::{Args, ValueEnum};
use lab::path_spec::PathSpec;
use lab::scenario::Key;
use lab::{InputError, Options, Scenario};
use linux::emulator::{
    Accuracy, Buffers, EmulatedRecord, EmulatedRun, Side, address, become_program, measure,
};
use linux::{Emulator, EmulatorConfig, LiveError, user_namespace};
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use transport::Protocol;
use transport::path_manager::PathManagerKind;

pub(crate) const EXAMPLES: &str = "\
Examples:
  sudo anabranch emulate --path wlan --path 3g --stack kernel-tcp,kernel-mptcp,anabranch \\
                         --traffic video --runs 10
  sudo anabranch emulate --path wlan --path 3g --stack anabranch-sctp,usrsctp \\
                         --traffic bulk:4MiB --runs 10
  sudo anabranch emulate --path wlan --path lte --shell client
  sudo anabranch emulate --path dsl='rate 16mbit uplink rate 1mbit delay 12ms' \\
                         --shell client --tcp -- ping -c 5 10.0.0.2

Two hosts, client and server, each with its own kernel stack, are connected by the paths only. Path
number P (from 0) has the addresses 10.0.P.1 (client) and 10.0.P.2 (server). The program's
environment has ANABRANCH_SERVER and ANABRANCH_CLIENT (addresses on the first path) and
ANABRANCH_OTHER_HOST (for nsenter --net=...). Path syntax: anabranch compare --help.

Exit codes: the program's; before it starts 1 failure, 2 wrong usage, 3 privilege missing.";

/// What is printed or written of a comparison, which `--shell` does not make.
const OF_COMPARISONS: [&str; 9] =
    ["out", "pcap", "csv", "json", "markdown", "pairs", "why", "wide", "fail_if"];

/// Options of `emulate`.
#[derive(Args, Debug)]
pub(crate) struct EmulateArgs {
    #[command(flatten)]
    pub asked: CompareArgs,
    /// Stacks to compare: kernel-tcp (each path alone), kernel-mptcp (all paths together),
    /// anabranch (the engine, in every variant), anabranch-sctp (its SCTP), usrsctp
    /// [default: kernel-tcp,kernel-mptcp]
    #[arg(long, value_name = "LIST", env = "ANABRANCH_STACK", hide_env = true)]
    #[arg(conflicts_with = "shell")]
    pub stack: Option<String>,
    /// Start a shell, or the command given at the end, in this host instead of comparing
    #[arg(long, value_name = "HOST", conflicts_with_all = OF_COMPARISONS)]
    shell: Option<Shell>,
    /// Run programs over TCP, not over MPTCP
    #[arg(long, requires = "shell")]
    tcp: bool,
    /// Add IPv6 addresses: fd00::P:1 and fd00::P:2
    #[arg(long, requires = "shell")]
    ipv6: bool,
    /// Command and its arguments [default: $SHELL]
    #[arg(last = true, value_name = "COMMAND", requires = "shell")]
    command: Vec<OsString>,
}

/// Host of the program.
#[derive(Clone, Copy, ValueEnum, Debug)]
enum Shell {
    Client,
    Server,
}

/// Options of `inside`, which only `emulate` calls.
#[derive(Args, Debug)]
pub(crate) struct InsideArgs {
    /// Process of the emulation
    parent: i32,
    /// File of its namespace
    namespace: PathBuf,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Replaces this process by a program in a host; returns an exit code only on failure.
pub(crate) fn inside(args: &InsideArgs) -> u8 {
    let Some((program, arguments)) = args.command.split_first() else { return USAGE };
    let failure = become_program(args.parent, &args.namespace, program, arguments);
    error(&format!("cannot start {}: {failure}", program.to_string_lossy()));
    FAILED
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn emulate(args: &EmulateArgs) -> u8 {
    let Some(shell) = args.shell else { return study::study(args) };
    let resolve = || options(args)?.resolve().and_then(fit_for_emulation);
    let scenario = match resolve() {
        Ok(scenario) => scenario,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    match carry_out(args, shell, &scenario) {
        Ok(code) => code,
        Err(failure) => failed(&failure),
    }
}

/// Prints the failure and returns the exit code.
pub(crate) fn failed(failure: &LiveError) -> u8 {
    error(failure);
    match failure {
        LiveError::Usage(_) => USAGE,
        LiveError::Missing { .. } => MISSING,
        LiveError::Failed(_) => FAILED,
    }
}

/// Refuses scenarios with features that emulated links or their hosts do not support.
pub(crate) fn fit_for_emulation(scenario: Scenario) -> Result<Scenario, InputError> {
    let marked = |path: &&PathSpec| !path.marks(0).is_empty();
    if let Some(path) = scenario.paths.iter().find(marked) {
        let name = &path.name;
        let problem =
            format!("path `{name}`: `reset` and `removed` are not available on emulated links");
        let help = "leave them out, or simulate them: `anabranch compare`; `down` is an outage \
                    with a link-down notification, `silent` one without";
        return Err(InputError::at("--path", problem, help));
    }
    let boxed = |path: &&PathSpec| !path.middleboxes.is_empty();
    if let Some(path) = scenario.paths.iter().find(boxed) {
        let problem =
            format!("path `{}`: middleboxes are not available on emulated links yet", path.name);
        let help = "leave `strip`, `nat`, `promotion`, `rewrite` and `proxy` out, or simulate \
                    them: `anabranch compare`";
        return Err(InputError::at("--path", problem, help));
    }
    if let Some(word) = scenario.simulated_only() {
        let problem = format!("`{word}` is not available on emulated links yet");
        let help = "leave it out, or simulate it: `anabranch compare`";
        return Err(InputError::at(&format!("--{word}"), problem, help));
    }
    let simulated = [PathManagerKind::Binder, PathManagerKind::Kernel];
    if let Some(manager) =
        scenario.choices.path_managers.iter().find(|kind| simulated.contains(kind))
    {
        let problem =
            format!("the engine has no path manager `{}` on emulated links yet", manager.name());
        let help = "leave it out, or simulate it: `anabranch compare`; kernels on emulated links \
                    have a subflow on every path";
        return Err(InputError::at("--path-managers", problem, help));
    }
    let marked = |path: &&PathSpec| !path.backup_marks(0).is_empty();
    let Some(path) = scenario.paths.iter().find(marked) else { return Ok(scenario) };
    let help = "leave it out, or simulate it: `anabranch compare`; on devices of your own it is \
                `anabranch live ... --path dev=tun0,backup`";
    let problem = format!("path `{}`: `backup` is not available on emulated links yet", path.name);
    Err(InputError::at("--path", problem, help))
}

fn options(args: &EmulateArgs) -> Result<Options, InputError> {
    // The program generates the traffic, but a scenario needs a value.
    Ok(args.asked.options()?.or(Options::default().with(Key::Traffic, "bulk:1MiB")))
}

fn carry_out(args: &EmulateArgs, shell: Shell, scenario: &Scenario) -> Result<u8, LiveError> {
    // Before everything else: it needs a process without threads.
    let in_user_namespace = user_namespace::enter_if_needed()?;
    let names = scenario.paths.iter().map(|path| path.name.clone()).collect();
    let buffers = Buffers::up_to(&scenario.ends.buffers);
    let config = EmulatorConfig { ipv6: args.ipv6, buffers, ..EmulatorConfig::new(names) };
    let mut emulator = Emulator::start(&config)?;
    let run = EmulatedRun {
        seed: scenario.seed,
        run: 0,
        paths: scenario.paths.iter().map(|path| path.draw(scenario.seed, 0)).collect(),
        nic: scenario.ends.nic,
        capture: false,
        waits: false,
    };
    let accuracy = measure(&mut emulator, &run)?;
    let side = match shell {
        Shell::Server => Side::Server,
        Shell::Client => Side::Client,
    };
    let command = command(args, emulator.host(side).mptcp);
    let notes = scenario.notes.iter().cloned().chain(idle_note(&idle(&args.asked)));
    notes.for_each(|note| message(&format!("note: {note}")));
    if !args.asked.quiet {
        let other = if side == Side::Client { Side::Server } else { Side::Client };
        message(&banner(&Banner {
            paths: &scenario.paths,
            first: scenario.ends.first,
            accuracy: &accuracy,
            side,
            over: command.over,
            other: &emulator.host(other).reference(),
            in_user_namespace,
            is_shell: args.command.is_empty(),
        }));
    }
    // An interrupt is for the program; this process waits for its end.
    let _ = ctrlc::set_handler(|| {});
    emulator.begin_run(&run)?;
    let status = start(&emulator, side, scenario.ends.first, &command);
    let record = emulator.end_run()?;
    if !args.asked.quiet {
        message(&summary(&scenario.paths, &record));
    } else if let Some(fault) = record.quality.fault() {
        message(&format!("the emulation was not exact: {fault}"));
    }
    Ok(exit_code(status?))
}

/// The options given on which only comparisons depend.
fn idle(given: &CompareArgs) -> Vec<Key> {
    let is_given = |key: Key| given.asked.is_given(key) || given.repeated.options.is_given(key);
    Key::ALL.iter().copied().filter(|key| is_given(*key) && !key.is_of_hosts()).collect()
}

/// The note on these options; `None` without any.
fn idle_note(keys: &[Key]) -> Option<String> {
    let names: Vec<String> = keys.iter().map(|key| format!("`--{}`", key.row().name)).collect();
    let have = if names.len() == 1 { "has" } else { "have" };
    (!names.is_empty()).then(|| format!("{} {have} no effect with `--shell`", names.join(", ")))
}

/// Program to start, and the protocol of its connections.
struct Program {
    words: Vec<OsString>,
    /// The protocol as requested, or why it is TCP instead.
    over: Result<Protocol, NoMptcp>,
}

/// Why programs cannot use MPTCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NoMptcp {
    /// `mptcpize` is not installed.
    Mptcpize,
    /// The kernel does not support it.
    Kernel,
}

fn command(args: &EmulateArgs, kernel_has_mptcp: bool) -> Program {
    let shell = || std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let mut words = args.command.clone();
    if words.is_empty() {
        words.push(shell().unwrap_or_else(|| "/bin/sh".into()));
    }
    let over = match (args.tcp, kernel_has_mptcp, program_in_path("mptcpize")) {
        (true, ..) => Ok(Protocol::Tcp),
        (_, false, _) => Err(NoMptcp::Kernel),
        (.., false) => Err(NoMptcp::Mptcpize),
        _ => Ok(Protocol::Mptcp),
    };
    if over == Ok(Protocol::Mptcp) {
        words.splice(0..0, ["mptcpize".into(), "run".into()]);
    }
    Program { words, over }
}

fn program_in_path(name: &str) -> bool {
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_program(&folder.join(name)))
}

/// Runs the program to its end.
fn start(
    emulator: &Emulator,
    side: Side,
    first: usize,
    program: &Program,
) -> Result<ExitStatus, LiveError> {
    let failed = |error: std::io::Error| LiveError::Failed(format!("starting a program: {error}"));
    let other = if side == Side::Client { Side::Server } else { Side::Client };
    let mut child = Command::new(std::env::current_exe().map_err(failed)?)
        .arg("inside")
        .arg(std::process::id().to_string())
        .arg(emulator.host(side).reference())
        .arg("--")
        .args(&program.words)
        .env("ANABRANCH_SERVER", address(Side::Server, first, false).to_string())
        .env("ANABRANCH_CLIENT", address(Side::Client, first, false).to_string())
        .env("ANABRANCH_OTHER_HOST", emulator.host(other).reference())
        .spawn()
        .map_err(failed)?;
    child.wait().map_err(failed)
}

/// Exit code as in a shell: 128 plus the number of a signal.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)
}

/// Contents of the banner.
struct Banner<'a> {
    paths: &'a [PathSpec],
    first: usize,
    accuracy: &'a Accuracy,
    side: Side,
    over: Result<Protocol, NoMptcp>,
    other: &'a Path,
    in_user_namespace: bool,
    is_shell: bool,
}

fn banner(banner: &Banner<'_>) -> String {
    let Banner { paths, first, accuracy, side, over, other, .. } = *banner;
    let here = if side == Side::Client { "client" } else { "server" };
    let there = if side == Side::Client { "server" } else { "client" };
    let user = if banner.in_user_namespace { " in a user namespace" } else { "" };
    let mut text = format!("emulating{user}; measured errors: {accuracy}\n");
    let width = paths.iter().map(|path| path.name.len()).max().unwrap_or(0);
    for (number, path) in paths.iter().enumerate() {
        let [client, server] =
            [Side::Client, Side::Server].map(|side| address(side, number, false).to_string());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {:width$}  client {client:<10}  server {server:<10}  {path}",
            path.name
        );
    }
    let meet =
        address(if side == Side::Client { Side::Server } else { Side::Client }, first, false);
    let path = &paths[first].name;
    let line = match over {
        Ok(Protocol::Mptcp) => format!(
            "Programs run over MPTCP (mptcpize): to {meet} over all paths, {path} first.\n\
             --tcp turns that off."
        ),
        Ok(other) => format!("Programs run over {other}: to {meet} over {path}."),
        Err(NoMptcp::Mptcpize) => format!(
            "Programs run over TCP: mptcpize, which makes them use MPTCP, is not installed\n\
             (sudo apt-get install mptcpize). To {meet} over {path}."
        ),
        Err(NoMptcp::Kernel) => {
            format!(
                "Programs run over TCP: this kernel does not support MPTCP. To {meet} over \
                {path}."
            )
        }
    };
    let _ = writeln!(text, "{line}");
    let _ = writeln!(text, "A shell in the {there}: nsenter --net={} $SHELL", other.display());
    if banner.is_shell {
        let _ = writeln!(text, "This is a shell in the {here}; `exit` ends the emulation.");
    }
    text.trim_end().to_owned()
}

fn summary(paths: &[PathSpec], record: &EmulatedRecord) -> String {
    let mut text = String::new();
    for (path, links) in paths.iter().zip(&record.links) {
        let side = |word: &str, link: &network::LinkStats| {
            let dropped =
                link.dropped_full + link.dropped_early + link.dropped_down + link.dropped_queued;
            let (delivered, lost) = (link.delivered, link.lost);
            format!("{word} {delivered} packets, {lost} lost, {dropped} dropped")
        };
        let [down, up] = [side("down", &links.down), side("up", &links.up)];
        let _ = writeln!(text, "{}: {down}; {up}", path.name);
    }
    text.push_str(&record.quality.to_string());
    text
}

#[cfg(test)]
mod tests;
