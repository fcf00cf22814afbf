//! A repetition over usrsctp: a process at either end, over raw IP (protocol 132).
//!
//! The program is `usrsctp.c`, which is compiled when it is needed; its comment has what it takes
//! and prints. It carries one-way transfers without pauses (`bulk`). The library counts for the
//! process and not for each address, but the receiver learns from which address a message came,
//! which gives what each of several paths brought.

use super::{
    PRIORITY, SERVER_PORT, SutPaths, SutQuantity, SutRecord, SutRun, SutSeries, T3_TIMEOUTS,
};
use crate::clock::Clock;
use crate::error::LiveError;
use crate::namespace::Namespace;
use base::{Duration, Instant};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use traffic::{Model, Report, Role, StreamFailure, Traffic};
use transport::sctp::{Addresses, SctpConfig};
use wire::sctp::Features;

const SOURCES: [(&str, &str); 2] = [
    ("usrsctp.c", include_str!("usrsctp.c")),
    ("usrsctp_program.h", include_str!("usrsctp_program.h")),
];
/// What a host without it has to install.
const REMEDY: &str = "sudo apt-get install libusrsctp-dev gcc";
/// User data of the largest DATA chunk in a packet of 1500 bytes over IPv4.
const MESSAGE_BYTES: u32 = 1452;
/// Threshold of path errors at which usrsctp never takes a path for potentially failed.
const NEVER: u32 = 65_535;
/// Longest wait for an answer of the program that takes no network.
const ANSWER: Duration = Duration::from_secs(5);
/// Line in place of those of a program that has ended.
const ENDED: &str = "ended";
/// Lines of the last interval may come this much later.
const LATE: Duration = Duration::from_millis(50);

/// The compiled program, a file without a name: nothing is left of it when this process is killed.
#[derive(Debug)]
pub struct Usrsctp {
    program: File,
}

impl Usrsctp {
    /// Compiles the program with `cc`, which takes less than a second.
    pub fn compile() -> Result<Self, LiveError> {
        let failed =
            |error: io::Error| LiveError::system("compiling the program of usrsctp", &error);
        let template = std::env::temp_dir().join("anabranch-usrsctp-XXXXXX");
        let folder = nix::unistd::mkdtemp(&template).map_err(|error| failed(error.into()))?;
        let folder = Folder(folder);
        for (name, text) in SOURCES {
            std::fs::write(folder.0.join(name), text).map_err(failed)?;
        }
        let program = folder.0.join("usrsctp");
        let output = Command::new("cc")
            .args(["-O2", "-o"])
            .arg(&program)
            .arg(folder.0.join(SOURCES[0].0))
            .args(["-lusrsctp", "-lpthread"])
            .stdin(Stdio::null())
            .output();
        let output = match output {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let what = "the stack usrsctp is compiled when it is used, and there is no C \
                            compiler (cc)";
                return Err(LiveError::missing(what, REMEDY));
            }
            output => output.map_err(failed)?,
        };
        if !output.status.success() {
            return Err(refusal(&String::from_utf8_lossy(&output.stderr)));
        }
        Ok(Usrsctp { program: File::open(program).map_err(failed)? })
    }

    /// The program, for processes that this one starts.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.program.as_raw_fd()))
    }
}

/// A folder that is removed with this value.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Of a temporary folder nothing is lost.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Why the compiler failed, from what it printed.
fn refusal(errors: &str) -> LiveError {
    if errors.contains("usrsctp.h") || errors.contains("-lusrsctp") {
        return LiveError::missing("the stack usrsctp is not installed (libusrsctp-dev)", REMEDY);
    }
    let first = errors.lines().find(|line| line.contains("error")).unwrap_or(errors.trim());
    LiveError::Failed(format!("the program of usrsctp does not compile: {first}"))
}

/// What is to be sent, in bytes; an error for traffic with pauses or answers.
fn amount(traffic: &Traffic) -> Result<u64, LiveError> {
    match traffic {
        Traffic::BulkSize(bytes) => Ok(*bytes),
        // More than can be sent, but with a sum that fits into 64 bits.
        Traffic::BulkTime(_) => Ok(u64::MAX >> 1),
        _ => Err(LiveError::Usage("usrsctp carries `bulk` only".to_owned())),
    }
}

pub(super) fn run(
    paths: SutPaths<'_>,
    run: &SutRun<'_>,
    path: usize,
    (program, config): (&Path, &SctpConfig),
) -> Result<SutRecord, LiveError> {
    let used = used(paths, path, config);
    let plan = Plan { paths, used, bytes: amount(run.traffic)?, reverse: run.reverse, config };
    let (sender, lines) = channel();
    let clock = Clock::start();
    let mut server = plan.start(program, Role::Server, &sender)?;
    wait_for(&lines, Role::Server, "listening")?;
    let mut client = plan.start(program, Role::Client, &sender)?;
    wait_for(&lines, Role::Client, "ready")?;
    client.tell("go")?;
    let mut seen = Seen::default();
    let until = Until { limit: clock.now() + run.limit, traffic: run.traffic };
    until.watch(&clock, &lines, plan.receiver(), &mut seen)?;
    for end in [&mut client, &mut server] {
        // It may have ended by itself; then there are no statistics.
        let _ = end.tell("quit");
    }
    let end = clock.now() + ANSWER;
    while seen.counts.iter().any(Option::is_none) && clock.now() < end {
        let Ok((role, line)) = lines.recv_timeout(std_time(end - clock.now())) else { break };
        seen.on_line(role, &line, plan.receiver())?;
    }
    record(&plan, run, &seen)
}

/// Paths of an association, the primary one first.
fn used(paths: SutPaths<'_>, path: usize, config: &SctpConfig) -> Vec<usize> {
    let others = (0..paths.paths.len()).filter(|other| *other != path);
    let others = others.filter(|_| matches!(config.addresses, Addresses::All));
    std::iter::once(path).chain(others).collect()
}

/// A transfer.
struct Plan<'a> {
    paths: SutPaths<'a>,
    used: Vec<usize>,
    bytes: u64,
    reverse: bool,
    config: &'a SctpConfig,
}

impl Plan<'_> {
    fn receiver(&self) -> Role {
        if self.reverse { Role::Server } else { Role::Client }
    }

    fn message(&self) -> u32 {
        self.config.message_size.unwrap_or(MESSAGE_BYTES)
    }

    /// Starts the program of one end in its namespace.
    fn start(
        &self,
        program: &Path,
        role: Role,
        sender: &Sender<(Role, String)>,
    ) -> Result<End, LiveError> {
        let (namespace, name): (&Namespace, _) = match role {
            Role::Client => (self.paths.client, "client"),
            Role::Server => (self.paths.server, "server"),
        };
        let mut command = Command::new(program);
        command.arg(name).args(self.arguments(role));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed = |error: io::Error| LiveError::system("starting usrsctp", &error);
        let mut child = namespace.run(|| command.spawn()).map_err(failed)?.map_err(failed)?;
        let output = child.stdout.take();
        let sender = sender.clone();
        // It ends with the output of the program.
        thread::spawn(move || {
            if let Some(output) = output {
                pass_lines(output, role, &sender);
            }
        });
        Ok(End { child })
    }

    fn arguments(&self, role: Role) -> Vec<String> {
        let list = |address: fn(&super::SutPath) -> IpAddr| {
            let addresses = self.used.iter().map(|path| address(&self.paths.paths[*path]));
            addresses.map(|address| address.to_string()).collect::<Vec<_>>().join(",")
        };
        let (client, server) = (list(|path| path.client), list(|path| path.server));
        let amount = |wanted: bool| if wanted { self.bytes } else { 0 };
        let receives = role == self.receiver();
        let config = self.config;
        let failed = config.parameters.limits.potentially_failed.map_or(NEVER, u32::from);
        let nr_sack = u8::from(config.features.0 & Features::NR_SACK.0 != 0);
        let mut arguments = vec![
            format!("local={}", if role == Role::Client { &client } else { &server }),
            format!("port={SERVER_PORT}"),
            format!("send={}", amount(!receives)),
            format!("expect={}", amount(receives)),
            format!("message={}", self.message()),
            format!("sndbuf={}", config.send_buffer),
            format!("rcvbuf={}", config.receive_buffer),
            format!("streams={}", config.streams),
            format!("pf={failed}"),
            format!("nr-sack={nr_sack}"),
            format!("priority={PRIORITY}"),
        ];
        if role == Role::Client {
            arguments.push(format!("remote={server}"));
        }
        arguments
    }
}

/// Passes the lines of a program's output, and at its end one of our own.
fn pass_lines(output: impl io::Read, role: Role, sender: &Sender<(Role, String)>) {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    for line in lines.chain(std::iter::once(ENDED.to_owned())) {
        if sender.send((role, line)).is_err() {
            return;
        }
    }
}

/// The process of one end, which is killed with this value.
struct End {
    child: Child,
}

impl End {
    fn tell(&mut self, line: &str) -> Result<(), LiveError> {
        let input = self.child.stdin.as_mut();
        let told = input.map_or(Ok(()), |input| writeln!(input, "{line}"));
        told.map_err(|error| LiveError::Failed(format!("usrsctp ended: {error}")))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // After its statistics it ends by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_for(lines: &Receiver<(Role, String)>, role: Role, wanted: &str) -> Result<(), LiveError> {
    match lines.recv_timeout(std_time(ANSWER)) {
        Ok((from, line)) if from == role && line == wanted => Ok(()),
        Ok((_, line)) => Err(LiveError::Failed(format!("usrsctp: {line}"))),
        Err(_) => Err(LiveError::Failed("usrsctp does not start".to_owned())),
    }
}

fn std_time(duration: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(duration.as_nanos())
}

/// When a run is over.
struct Until<'a> {
    limit: Instant,
    traffic: &'a Traffic,
}

impl Until<'_> {
    fn watch(
        &self,
        clock: &Clock,
        lines: &Receiver<(Role, String)>,
        receiver: Role,
        seen: &mut Seen,
    ) -> Result<(), LiveError> {
        let mut end = self.limit;
        loop {
            let now = clock.now();
            let is_whole =
                matches!(self.traffic, Traffic::BulkSize(bytes) if seen.read() >= *bytes);
            if now >= end || is_whole || seen.lost.is_some() {
                return Ok(());
            }
            match lines.recv_timeout(std_time(end - now)) {
                Ok((_, line)) if line == ENDED => {
                    let what = "a process of usrsctp ended during the transfer";
                    return Err(LiveError::Failed(what.to_owned()));
                }
                Ok((role, line)) => seen.on_line(role, &line, receiver)?,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(LiveError::Failed("usrsctp ended at once".to_owned()));
                }
            }
            if let (Traffic::BulkTime(time), Some(_), false) =
                (self.traffic, seen.connected, seen.is_timed)
            {
                seen.is_timed = true;
                end = (clock.now() + *time + LATE).min(self.limit);
            }
        }
    }
}

/// Counters of one end, since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counts {
    retransmitted: u64,
    t3: u64,
    data: u64,
    duplicate: u64,
}

/// What the ends have printed. Times are nanoseconds of the machine's monotonic clock.
#[derive(Clone, PartialEq, Debug, Default)]
struct Seen {
    started: Option<u64>,
    connected: Option<u64>,
    /// The end of timed traffic is set.
    is_timed: bool,
    lost: Option<u64>,
    /// Bytes that the receiver had read.
    reads: Vec<(u64, u64)>,
    /// Of client and server.
    counts: [Option<Counts>; 2],
    /// Bytes that the receiver got from each address of the sender.
    brought: Vec<(IpAddr, u64)>,
}

impl Seen {
    fn read(&self) -> u64 {
        self.reads.last().map_or(0, |(_, bytes)| *bytes)
    }

    fn on_line(&mut self, role: Role, line: &str, receiver: Role) -> Result<(), LiveError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse().ok());
        match words.first().copied().unwrap_or_default() {
            "started" => self.started = number(1),
            "connected" => self.connected = number(1),
            "lost" => self.lost = number(1),
            "read" if role == receiver => self.reads.extend(number(1).zip(number(2))),
            "from" if role == receiver => {
                let from = words.get(1).and_then(|word| word.parse().ok());
                self.brought.extend(from.zip(number(2)));
            }
            "statistics" => {
                let of = |name: &str| {
                    let at = words.iter().position(|word| *word == name);
                    at.and_then(|at| number(at + 1)).unwrap_or(0)
                };
                let counts = Counts {
                    retransmitted: of("retransmitted"),
                    t3: of("t3"),
                    data: of("data"),
                    duplicate: of("duplicate"),
                };
                self.counts[usize::from(role == Role::Server)] = Some(counts);
            }
            "failed" => return Err(LiveError::Failed(format!("usrsctp: {line}"))),
            _ => {}
        }
        Ok(())
    }

    /// Time since the client called `connect`.
    fn at(&self, nanos: u64) -> Instant {
        Instant::from_nanos(nanos.saturating_sub(self.started.unwrap_or(nanos)))
    }
}

fn record(plan: &Plan<'_>, run: &SutRun<'_>, seen: &Seen) -> Result<SutRecord, LiveError> {
    let Model::OneWay(model) = run.traffic.model() else {
        return Err(LiveError::Usage("usrsctp carries `bulk` only".to_owned()));
    };
    let mut points: Vec<(Instant, f64)> =
        seen.reads.iter().map(|(at, bytes)| (seen.at(*at), *bytes as f64)).collect();
    let connected = seen.connected.map(|at| seen.at(at));
    let end = connected.zip(run.traffic.duration()).map(|(at, time)| at + time);
    points.retain(|(at, _)| end.is_none_or(|end| *at <= end));
    let client = Report {
        started: seen.started.map(|at| seen.at(at)),
        connected,
        timed_out: seen.is_timed && seen.lost.is_none(),
        ..Report::default()
    };
    let receiver = Report {
        bytes_read: points.last().map_or(0, |(_, bytes)| *bytes as u64),
        last_read: points.last().map(|(at, _)| *at),
        ..Report::default()
    };
    let mut outcome = model.outcome(&client, &Report::default(), &receiver);
    let [client, server] = seen.counts.map(Option::unwrap_or_default);
    let (sent, read) = if plan.reverse { (client, server) } else { (server, client) };
    outcome.extra.push((T3_TIMEOUTS, sent.t3 as f64));
    let last = receiver.last_read.max(seen.lost.map(|at| seen.at(at)));
    let ended = if seen.lost.is_some() || outcome.is_complete() { last } else { None };
    let failure = seen.lost.map(|_| match connected {
        Some(_) => StreamFailure::Reset,
        None => StreamFailure::TimedOut,
    });
    let mut record = SutRecord::of_outcome(outcome, failure, plan.paths.paths.len());
    record.run.ended = end.or(ended).map_or(run.limit, |at| at - Instant::ZERO);
    record.congestion = vec![plan.config.congestion.to_string()];
    let flow = record.flow_mut();
    flow.sent.retransmitted_segs = sent.retransmitted;
    flow.data_packets = read.data;
    flow.duplicate_bytes = read.duplicate * u64::from(plan.message());
    flow.sender_subflows.clone_from(&plan.used);
    for (number, on) in plan.paths.paths.iter().enumerate() {
        let sender = if plan.reverse { on.client } else { on.server };
        let brought = seen.brought.iter().filter(|(from, _)| *from == sender);
        flow.sent.first_sent_bytes[number] = brought.map(|(_, bytes)| bytes).sum();
    }
    record.series.push(SutSeries { quantity: SutQuantity::Read, path: None, points });
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lack_of_the_library_or_of_its_header_has_a_remedy() {
        for errors in [
            "usrsctp.c:27:10: fatal error: usrsctp.h: No such file or directory",
            "/usr/bin/ld: cannot find -lusrsctp: No such file or directory",
        ] {
            let text = refusal(errors).to_string();
            assert!(text.contains("usrsctp is not installed"), "{text}");
            assert!(text.ends_with("remedy: sudo apt-get install libusrsctp-dev gcc"), "{text}");
        }
        let text = refusal("note: x\nusrsctp.c:9: error: y\n").to_string();
        assert!(text.ends_with("usrsctp.c:9: error: y"), "{text}");
    }

    /// Regression: a killed process left the folder of the program.
    #[test]
    fn program_runs_without_a_file_that_a_killed_process_would_leave() {
        let program = match Usrsctp::compile() {
            Ok(program) => program,
            Err(LiveError::Missing { .. }) => return println!("skipped: no libusrsctp-dev"),
            Err(failure) => panic!("{failure}"),
        };
        let place = std::fs::read_link(program.path()).expect("an open file");
        assert!(place.to_string_lossy().ends_with(" (deleted)"), "{}", place.display());
        assert!(!place.parent().expect("a folder").exists(), "{}", place.display());
        let output = Command::new(program.path()).arg("neither").output().expect("a process");
        assert!(output.status.code().is_some(), "{output:?}");
    }

    #[test]
    fn lines_of_the_program_become_times_bytes_and_counters() {
        let mut seen = Seen::default();
        for (role, line) in [
            (Role::Client, "started 1000"),
            (Role::Client, "connected 3000"),
            (Role::Server, "read 4000 7"),
            (Role::Client, "read 5000 100"),
            (Role::Client, "read 9000 250"),
            (Role::Server, "statistics retransmitted 4 fast 3 t3 1 data 0 duplicate 0"),
            (Role::Client, "from 10.0.1.2 200"),
            (Role::Client, "from 10.0.2.2 50"),
            (Role::Server, "from 10.0.1.1 7"),
            (Role::Client, "something else"),
        ] {
            seen.on_line(role, line, Role::Client).expect("understood");
        }
        assert_eq!(seen.reads, [(5000, 100), (9000, 250)], "only the receiver's");
        assert_eq!((seen.read(), seen.at(9000)), (250, Instant::from_nanos(8000)));
        let counts = Counts { retransmitted: 4, t3: 1, ..Counts::default() };
        assert_eq!(seen.counts, [None, Some(counts)]);
        let brought = [([10, 0, 1, 2].into(), 200), ([10, 0, 2, 2].into(), 50)];
        assert_eq!(seen.brought, brought, "of the sender's addresses");
        let failed = seen.on_line(Role::Server, "failed bindx: no such address", Role::Client);
        assert!(failed.expect_err("a failure").to_string().contains("bindx: no such address"));
    }

    #[test]
    fn program_that_ends_during_a_transfer_is_not_waited_for() {
        let (sender, lines) = channel();
        pass_lines(&b"connected 5\nread 9 100\n"[..], Role::Client, &sender);
        let (clock, traffic) = (Clock::start(), Traffic::BulkSize(1000));
        let until = Until { limit: Instant::from_secs(3600), traffic: &traffic };
        let mut seen = Seen::default();
        let why = until.watch(&clock, &lines, Role::Client, &mut seen).expect_err("an end");
        assert!(why.to_string().contains("ended during the transfer"), "{why}");
        assert_eq!(seen.read(), 100);
    }

    #[test]
    fn traffic_with_pauses_is_refused() {
        assert_eq!(amount(&Traffic::BulkSize(5)).expect("bulk"), 5);
        assert!(amount(&Traffic::video(Duration::from_secs(1))).is_err());
    }
}
