//! The simulator's benchmarks: one line a figure, `name value unit`.
//!
//! `cargo run --release -p anabranch-simulator --example bench` prints all; each figure is taken
//! in a process of its own, so that its peak of memory and its CPU time are its own, and CPU times
//! are the best of several rounds. Names after the command choose figures. Data packets delivered
//! end to end, ACKs not counted, nothing recorded, one thread, user plus system time.

mod best;
mod congestion;
mod figures;
mod gaps;
mod meter;
mod ns2;
mod schedulers;

use best::{Best, ROUNDS};
use std::process::{Command, ExitCode, Stdio};

/// That of the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Takes a figure and prints it.
type Take = fn() -> Result<(), String>;

/// Figures by name.
const FIGURES: &[(&str, Take)] = &[
    ("calibration", figures::calibration),
    ("sim/tcp-bulk", figures::tcp_bulk),
    ("sim/ns2-tcp-bulk", ns2::tcp_bulk),
    ("sim/sctp-bulk", figures::sctp_bulk),
    ("sim/sctp-bulk-pass-through", figures::sctp_bulk_bytes),
    ("sim/mptcp-two-path", figures::mptcp_two_path),
    ("sim/cmt-two-path", figures::cmt_two_path),
    ("sim/connections-1", || figures::connections(1)),
    ("sim/connections-100", || figures::connections(100)),
    ("sim/connections-1000", || figures::connections(1000)),
    ("sim/idle-1000", || figures::idle(1000)),
    ("sim/instructions", figures::instructions),
    ("scheduler", schedulers::all),
    ("congestion", congestion::all),
    ("gaps", gaps::all),
    ("work/tcp-bulk-2s", || figures::work(2)),
    ("work/tcp-bulk-6s", || figures::work(6)),
    ("work/sctp-bulk-2s", || figures::work_sctp(2)),
    ("work/sctp-bulk-6s", || figures::work_sctp(6)),
    ("work/mptcp-two-path-10s", || figures::work_mptcp(10)),
    ("work/mptcp-two-path-30s", || figures::work_mptcp(30)),
    ("work/cmt-two-path-10s", || figures::work_cmt(10)),
    ("work/cmt-two-path-30s", || figures::work_cmt(30)),
    ("work/tcp-recorded-2s", || figures::work_recorded_tcp(2)),
    ("work/tcp-recorded-6s", || figures::work_recorded_tcp(6)),
    ("work/mptcp-recorded-10s", || figures::work_recorded_mptcp(10)),
    ("work/mptcp-recorded-30s", || figures::work_recorded_mptcp(30)),
    ("work/connections-1-1000s", || figures::work_connections(1, 1000)),
    ("work/connections-1-3000s", || figures::work_connections(1, 3000)),
    ("work/connections-1000-4s", || figures::work_connections(1000, 4)),
    ("work/connections-1000-6s", || figures::work_connections(1000, 6)),
];

/// Only run by another figure.
const INNER: &str = "work/";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [flag, name] if flag == "--only" => only(name),
        names => all(names),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Take one figure in this process.
fn only(name: &str) -> Result<(), String> {
    let figure = FIGURES.iter().find(|(known, _)| *known == name);
    figure.ok_or(format!("no figure {name:?}"))?.1()
}

/// Take the figures whose names begin with one of `names` (all without any), each in a process.
fn all(names: &[String]) -> Result<(), String> {
    let wanted = |figure: &str| {
        let chosen = names.is_empty() || names.iter().any(|name| figure.starts_with(name.as_str()));
        chosen && !figure.starts_with(INNER)
    };
    let wanted: Vec<&str> = FIGURES.iter().map(|(name, _)| *name).filter(|n| wanted(n)).collect();
    let mut failed = None;
    let mut best: Vec<Best> = wanted.iter().map(|_| Best::default()).collect();
    for round in 0..ROUNDS {
        let taken = wanted.iter().zip(&mut best).filter(|(name, _)| round == 0 || is_timed(name));
        for (name, best) in taken {
            let (printed, result) = printed_by(name)?;
            best.add(&printed);
            failed = failed.or(result);
        }
    }
    best.iter().for_each(Best::print);
    failed.map_or(Ok(()), Err)
}

/// Whether a figure is the CPU time of a whole run: taken in every round. Others are counts, or
/// means over many calls.
fn is_timed(figure: &str) -> bool {
    let counts = ["sim/idle", "sim/instructions"];
    let is_count = counts.iter().any(|name| figure.starts_with(name));
    figure == "calibration" || figure.starts_with("sim/") && !is_count
}

/// What the figure of this name prints, taken in a process of its own, and whether that failed.
fn printed_by(name: &str) -> Result<(String, Option<String>), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(&program);
    let taken = command.args(["--only", name]).stderr(Stdio::inherit()).output();
    let taken = taken.map_err(|error| error.to_string())?;
    let failed = (!taken.status.success()).then(|| format!("{name}: {}", taken.status));
    let printed = String::from_utf8(taken.stdout).map_err(|error| error.to_string())?;
    Ok((printed, failed))
}
