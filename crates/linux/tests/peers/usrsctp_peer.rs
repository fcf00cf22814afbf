//! `UsrsctpPeer`: the program `usrsctp_association.c` as a child process.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Longest wait for an answer of the peer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Counters of packets and chunks that break the protocol.
const FAULTS: [&str; 6] = ["badsum", "hdrops", "badvtag", "badsid", "aborted", "checksumerrors"];

/// A running peer; it is killed when dropped.
pub(crate) struct UsrsctpPeer {
    child: Child,
    lines: Receiver<String>,
    /// What it has said.
    pub said: Vec<String>,
}

/// The program, or why there is none.
fn program() -> Result<&'static Path, &'static str> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PROGRAM.get_or_init(compile).as_ref().map(PathBuf::as_path).map_err(String::as_str)
}

fn compile() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/usrsctp_association.c");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Several test programs may compile it at a time.
    let program = target.join(format!("usrsctp_association-{}", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-iquote"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sut"))
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .args(["-lusrsctp", "-lpthread"])
        .output()
        .map_err(|error| format!("no C compiler: {error}"))?;
    let errors = String::from_utf8_lossy(&compiled.stderr);
    match compiled.status.success() {
        true => Ok(program),
        false if errors.contains("usrsctp.h: No such file") || errors.contains("-lusrsctp") => {
            Err(String::from("no usrsctp (libusrsctp-dev)"))
        }
        false => panic!("{}: {errors}", source.display()),
    }
}

/// Whether there is a peer; prints `skipped: ...` where there is none.
pub(crate) fn is_there() -> bool {
    if let Err(why) = program() {
        println!("skipped: {why}");
    }
    program().is_ok()
}

impl UsrsctpPeer {
    /// Starts the peer with these arguments (`usrsctp_association.c` has their list), in the
    /// namespace of the calling thread.
    pub(crate) fn start(arguments: &str) -> UsrsctpPeer {
        let program = program().expect("the caller made sure that it is there");
        let mut child = Command::new(program)
            .args(arguments.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was compiled");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        UsrsctpPeer { child, lines, said: Vec::new() }
    }

    /// Gives it a command.
    pub(crate) fn tell(&mut self, command: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        writeln!(input, "{command}").expect("it runs");
    }

    /// Takes what it has said since the last call.
    pub(crate) fn listen(&mut self) {
        self.said.extend(self.lines.try_iter());
    }

    /// Whether it has said a line that begins so.
    pub(crate) fn has_said(&mut self, start: &str) -> bool {
        self.listen();
        self.line(start).is_some()
    }

    /// The first line that begins so.
    pub(crate) fn line(&self, start: &str) -> Option<&str> {
        self.said.iter().map(String::as_str).find(|line| line.starts_with(start))
    }

    /// Waits for a line that begins so, without anything else going on.
    pub(crate) fn wait_for(&mut self, start: &str) -> String {
        loop {
            self.listen();
            if let Some(line) = self.line(start) {
                return line.to_owned();
            }
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Timeout) => panic!("no `{start}`: {:?}", self.said),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended without `{start}`: {:?}", self.said)
                }
            }
        }
    }

    /// Ends it; the result is its statistics.
    pub(crate) fn quit(&mut self) -> String {
        self.tell("quit");
        self.wait_for("statistics")
    }

    /// Ends it; it must not have counted anything that breaks the protocol. The result is its
    /// statistics.
    pub(crate) fn quit_without_fault(&mut self) -> String {
        let statistics = self.quit();
        println!("{statistics}");
        for fault in FAULTS {
            assert_eq!(count(&statistics, fault), 0, "{fault}: {:?}", self.said);
        }
        statistics
    }

    /// Ends it without a word, as a crash does.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for UsrsctpPeer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A counter of the statistics.
pub(crate) fn count(statistics: &str, name: &str) -> u64 {
    let mut words = statistics.split_whitespace().skip_while(|word| *word != name);
    let value = words.nth(1).and_then(|value| value.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in `{statistics}`"))
}
