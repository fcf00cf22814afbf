//! The file server of `live serve`: answers `GET /FILE` with a file below one folder.
//!
//! Nothing outside of the folder is ever opened: the kernel resolves names beneath it (openat2),
//! symbolic links included. Every request has limits in size and time. The format is `http`'s.

use crate::error::LiveError;
use crate::http::{self, Status};
use base::{Duration, Instant, SocketId};
use bytes::Bytes;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use traffic::{Application, StreamFailure, StreamHost};
use wire::Payload;

/// Connections at a time; more are reset.
const MAX_CONNECTIONS: usize = 256;
/// Time for a request to arrive, and for a client to acknowledge further bytes.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often impatience is checked.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// Bytes read from a file at once.
const CHUNK: u64 = 256 * 1024;

/// What happened, for a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Served {
    /// As asked for, with control characters in hexadecimal; empty if that was not understood.
    pub path: String,
    /// The status of the answer.
    pub status: Status,
    /// Bytes of the file that were written to the connection.
    pub bytes: u64,
    /// From the connection's beginning to its end.
    pub time: Duration,
    /// Why it ended early, if it did.
    pub failure: Option<String>,
}

/// Serves the files of one folder.
pub struct FileServer {
    folder: File,
    connections: BTreeMap<SocketId, Connection>,
    check_at: Option<Instant>,
    log: Box<dyn FnMut(&Served)>,
}

struct Connection {
    since: Instant,
    progress_at: Instant,
    /// Bytes of the answer that the client had acknowledged at the last look.
    acknowledged: u64,
    state: State,
    served: Served,
}

enum State {
    /// A request is coming.
    Reading(Vec<u8>),
    /// An answer is going.
    Sending { pending: Payload, file: Option<File>, left: u64 },
    /// Everything was written; what is left is TCP's.
    Closing,
}

impl FileServer {
    /// Serves `folder`; `log` is called with every request when its connection has ended.
    pub fn new(folder: &Path, log: impl FnMut(&Served) + 'static) -> Result<Self, LiveError> {
        let refuse = |why: String| LiveError::Usage(format!("--dir {}: {why}", folder.display()));
        let opened = File::open(folder).map_err(|error| refuse(error.to_string()))?;
        let metadata = opened.metadata().map_err(|error| refuse(error.to_string()))?;
        if !metadata.is_dir() {
            return Err(refuse("it is not a folder".to_owned()));
        }
        let log = Box::new(log);
        Ok(FileServer { folder: opened, connections: BTreeMap::new(), check_at: None, log })
    }

    /// The end of a transfer is when the client has closed too: it has everything then.
    fn end(&mut self, socket: SocketId, failure: Option<String>) {
        if let Some(mut connection) = self.connections.remove(&socket) {
            connection.served.failure = failure;
            connection.served.time = connection.progress_at - connection.since;
            (self.log)(&connection.served);
        }
    }

    fn answer(&self, bytes: &[u8]) -> Option<Answer> {
        match http::parse_request(bytes) {
            Ok(None) => None,
            Err(status) => Some(Answer::error(status, String::new(), http::is_for_head(bytes))),
            Ok(Some(request)) => Some(match open_beneath(&self.folder, &request.path) {
                Ok((file, len)) => Answer {
                    head: http::response_head(Status::Ok, len),
                    file: (!request.is_head).then_some((file, len)),
                    status: Status::Ok,
                    path: request.path,
                },
                Err(status) => Answer::error(status, request.path, request.is_head),
            }),
        }
    }

    /// Write as much as the connection takes.
    fn pump(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        match connection.pump(host, socket) {
            Ok(()) => {}
            Err(why) => {
                host.abort(socket);
                self.end(socket, Some(why));
            }
        }
    }
}

struct Answer {
    head: Vec<u8>,
    file: Option<(File, u64)>,
    status: Status,
    path: String,
}

impl Answer {
    /// The answer to HEAD has no content either (RFC 9110 s9.3.2).
    fn error(status: Status, path: String, is_head: bool) -> Self {
        let (number, phrase) = status.line();
        let text = format!("{number} {phrase}\n");
        let mut head = http::response_head(status, text.len() as u64);
        if !is_head {
            head.extend_from_slice(text.as_bytes());
        }
        Answer { head, file: None, status, path }
    }
}

impl Connection {
    fn new(now: Instant) -> Self {
        let served = Served {
            path: String::new(),
            status: Status::RequestTimeout,
            bytes: 0,
            time: Duration::ZERO,
            failure: None,
        };
        let state = State::Reading(Vec::new());
        Connection { since: now, progress_at: now, acknowledged: 0, state, served }
    }

    /// A client that is slow acknowledges what was written long ago.
    fn note_progress(&mut self, host: &dyn StreamHost, socket: SocketId) {
        let acknowledged = host.acknowledged(socket).unwrap_or(0);
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
            self.progress_at = host.now();
        }
    }

    fn begin(&mut self, answer: Answer) {
        self.served.status = answer.status;
        self.served.path = http::printable(&answer.path);
        let (file, left) = answer.file.map_or((None, 0), |(file, left)| (Some(file), left));
        self.state = State::Sending { pending: Bytes::from(answer.head).into(), file, left };
    }

    fn pump(&mut self, host: &mut dyn StreamHost, socket: SocketId) -> Result<(), String> {
        let State::Sending { pending, file, left } = &mut self.state else { return Ok(()) };
        loop {
            if pending.is_empty() {
                let chunk = match file {
                    Some(file) if *left > 0 => read_chunk(file, *left)?,
                    _ => break,
                };
                *left -= chunk.len() as u64;
                self.served.bytes += chunk.len() as u64;
                *pending = chunk.into();
            }
            let taken = host.write(socket, pending);
            if taken > 0 {
                self.progress_at = host.now();
            }
            let rest = pending.len() - taken;
            *pending = pending.slice(taken, rest);
            if rest > 0 {
                return Ok(());
            }
        }
        self.state = State::Closing;
        host.shutdown(socket);
        host.close(socket);
        Ok(())
    }
}

impl Application for FileServer {
    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        if self.connections.len() >= MAX_CONNECTIONS {
            host.abort(socket);
            return;
        }
        let now = host.now();
        self.connections.insert(socket, Connection::new(now));
        self.check_at.get_or_insert(now + CHECK_EVERY);
        self.on_readable(host, socket);
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        loop {
            let data = host.read(socket, http::MAX_HEAD as u32);
            if data.is_empty() {
                return;
            }
            // What comes behind a request is read and forgotten.
            let Some(connection) = self.connections.get_mut(&socket) else { continue };
            let State::Reading(buffer) = &mut connection.state else { continue };
            data.write_to(buffer);
            let request = std::mem::take(buffer);
            let answer = self.answer(&request);
            let Some(connection) = self.connections.get_mut(&socket) else { continue };
            match answer {
                None => connection.state = State::Reading(request),
                Some(answer) => {
                    connection.begin(answer);
                    self.pump(host, socket);
                }
            }
        }
    }

    fn on_writable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.pump(host, socket);
    }

    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.on_readable(host, socket);
        match self.connections.get(&socket).map(|connection| &connection.state) {
            Some(State::Reading(_)) => {
                host.abort(socket);
                self.end(socket, Some("closed before the request was complete".to_owned()));
            }
            // What is left are TCP's own time-outs.
            Some(State::Closing) => {
                if let Some(connection) = self.connections.get_mut(&socket) {
                    connection.progress_at = host.now();
                }
                self.end(socket, None);
            }
            // It may close its side early and still read.
            Some(State::Sending { .. }) | None => {}
        }
    }

    fn on_closed(&mut self, socket: SocketId) {
        self.end(socket, None);
    }

    fn on_failed(&mut self, socket: SocketId, failure: StreamFailure) {
        self.end(socket, Some(failure.to_string()));
    }

    fn on_timeout(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        for (socket, connection) in &mut self.connections {
            if !matches!(connection.state, State::Reading(_)) {
                connection.note_progress(host, *socket);
            }
        }
        let impatient = |connection: &Connection| now - connection.progress_at >= PATIENCE;
        let late: Vec<SocketId> = self
            .connections
            .iter()
            .filter(|(_, connection)| impatient(connection))
            .map(|(socket, _)| *socket)
            .collect();
        for socket in late {
            host.abort(socket);
            self.end(socket, Some(format!("no progress for {PATIENCE}")));
        }
        self.check_at = (!self.connections.is_empty()).then_some(now + CHECK_EVERY);
    }

    fn poll_deadline(&self) -> Option<Instant> {
        self.check_at
    }

    fn is_done(&self) -> bool {
        false
    }
}

impl Drop for FileServer {
    /// Requests that have not ended are logged as well.
    fn drop(&mut self) {
        while let Some((socket, connection)) = self.connections.first_key_value() {
            let complete = matches!(connection.state, State::Closing);
            let socket = *socket;
            self.end(socket, (!complete).then(|| "the server was stopped".to_owned()));
        }
    }
}

/// A regular file below the folder, with its length in bytes.
fn open_beneath(folder: &File, path: &str) -> Result<(File, u64), Status> {
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    let file = openat2(folder, path, how).map(File::from).map_err(|error| match error {
        Errno::ENOENT | Errno::ENOTDIR | Errno::ENAMETOOLONG | Errno::ENXIO => Status::NotFound,
        Errno::EACCES | Errno::EPERM | Errno::EXDEV | Errno::ELOOP => Status::Forbidden,
        _ => Status::ServerError,
    })?;
    let metadata = file.metadata().map_err(|_| Status::ServerError)?;
    if !metadata.is_file() {
        return Err(Status::NotFound);
    }
    Ok((file, metadata.len()))
}

fn read_chunk(file: &mut File, left: u64) -> Result<Bytes, String> {
    let len = left.min(CHUNK) as usize;
    let mut chunk = Vec::with_capacity(len);
    let read = file.by_ref().take(len as u64).read_to_end(&mut chunk);
    match read {
        Ok(read) if read > 0 => Ok(chunk.into()),
        Ok(_) => Err("the file became shorter".to_owned()),
        Err(error) => Err(format!("reading the file: {error}")),
    }
}

#[cfg(test)]
mod tests;
