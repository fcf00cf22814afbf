//! The simulator's benchmarks: one line a figure, `name value unit`.
//!
//! `cargo run --release -p anabranch-simulator --example bench` prints all; each figure is taken
//! in a process of its own, so that its peak of memory and its CPU time are its own. Names after
//! the command choose figures. Data packets delivered end to end, ACKs not counted, nothing
//! recorded, one thread, user plus system time.

mod congestion;
mod figures;
mod gaps;
mod meter;
mod ns2;
mod schedulers;

use std::process::{Command, ExitCode};

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
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let wanted = |figure: &str| {
        let chosen = names.is_empty() || names.iter().any(|name| figure.starts_with(name.as_str()));
        chosen && !figure.starts_with(INNER)
    };
    for (name, _) in FIGURES.iter().filter(|(name, _)| wanted(name)) {
        let status = Command::new(&program).args(["--only", name]).status();
        let status = status.map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("{name}: {status}"));
        }
    }
    Ok(())
}
