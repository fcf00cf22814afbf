//! The client of `live get`: asks a server for one file and keeps it.
//!
//! The file is written under another name in the same folder and renamed when it is complete; a
//! download that fails leaves nothing. Only a killed process leaves the partial file, which the
//! next download to the same place replaces. The format is left to `http`.

mod output;

use crate::error::LiveError;
use crate::http::{self, Version};
use base::{Duration, Instant, SocketId};
use bytes::Bytes;
use output::Output;
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use std::path::Path;
use traffic::{Application, StreamFailure, StreamHost};
use wire::Payload;

/// Time without a byte after which the download fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes read from the connection at once.
const CHUNK: u32 = 256 * 1024;

/// A download that came to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Length of the file.
    pub bytes: u64,
    /// From the start of the connection to the last byte read.
    pub time: Duration,
    /// Hexadecimal, if it was asked for.
    pub sha256: Option<String>,
}

/// How far a download is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Bytes of the file received until now.
    pub received: u64,
    /// Length of the file in bytes, if the server sent it.
    pub total: Option<u64>,
}

/// Downloads one file.
pub struct Download {
    server: SocketAddr,
    request: Payload,
    output: Output,
    hash: Option<Sha256>,
    on_progress: Box<dyn FnMut(Progress)>,
    state: State,
    /// Once it was opened.
    socket: Option<SocketId>,
    started: Instant,
    progress_at: Instant,
    progress: Progress,
    result: Option<Result<Received, String>>,
    /// It failed, and the server gave no answer at all.
    is_unanswered: bool,
}

enum State {
    Connecting,
    /// The head of the answer is coming.
    Head(Vec<u8>),
    /// The file is coming.
    Body,
}

impl Download {
    /// A download of `path` from `server` to the file `output`, with its SHA-256 if requested.
    pub fn new(
        server: SocketAddr,
        path: &str,
        output: &Path,
        hash: bool,
        on_progress: impl FnMut(Progress) + 'static,
    ) -> Result<Self, LiveError> {
        Ok(Download {
            server,
            request: request(path, server, Version::Http10),
            output: Output::create(output)?,
            hash: hash.then(Sha256::new),
            on_progress: Box::new(on_progress),
            state: State::Connecting,
            socket: None,
            started: Instant::ZERO,
            progress_at: Instant::ZERO,
            progress: Progress { received: 0, total: None },
            result: None,
            is_unanswered: false,
        })
    }

    /// The file that the path of a URL names, which has no leading `/`; `None` if it names none.
    pub fn decoded(path: &str) -> Option<String> {
        http::decode_path(&format!("/{path}"))
    }

    /// The same with a request of HTTP/1.1, for servers that do not encode their answer.
    #[must_use]
    pub fn with_http11(mut self, path: &str) -> Self {
        self.request = request(path, self.server, Version::Http11);
        self
    }

    /// What came of it; an error if it was stopped before.
    pub fn result(&self) -> Result<Received, LiveError> {
        match &self.result {
            Some(Ok(received)) => Ok(received.clone()),
            Some(Err(why)) => Err(LiveError::Failed(why.clone())),
            None => Err(LiveError::Failed("interrupted".to_owned())),
        }
    }

    /// Whether it failed because the server gave no answer at all.
    pub const fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }

    fn fail(&mut self, host: &mut dyn StreamHost, socket: SocketId, why: String) {
        host.abort(socket);
        self.result.get_or_insert(Err(why));
    }

    fn take(&mut self, host: &mut dyn StreamHost, data: &Payload) -> Result<(), String> {
        self.progress_at = host.now();
        match &mut self.state {
            State::Connecting => Ok(()),
            State::Body => self.keep(&data.to_bytes()),
            State::Head(buffer) => {
                data.write_to(buffer);
                let buffer = std::mem::take(buffer);
                match http::parse_response(&buffer)? {
                    None => {
                        self.state = State::Head(buffer);
                        Ok(())
                    }
                    Some(head) if head.status != 200 => {
                        Err(format!("the server answers: {} {}", head.status, head.phrase))
                    }
                    Some(head) => {
                        self.state = State::Body;
                        self.progress.total = head.content_length;
                        self.keep(&buffer[head.len..])
                    }
                }
            }
        }
    }

    /// Bytes of the file; beyond the length the server named there are none.
    fn keep(&mut self, data: &[u8]) -> Result<(), String> {
        let left = self.progress.total.map_or(u64::MAX, |total| total - self.progress.received);
        let len = usize::try_from(left).map_or(data.len(), |left| data.len().min(left));
        let data = &data[..len];
        self.output.write(data)?;
        if let Some(hash) = &mut self.hash {
            hash.update(data);
        }
        self.progress.received += len as u64;
        (self.on_progress)(self.progress);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        matches!(self.state, State::Body) && self.progress.total == Some(self.progress.received)
    }

    fn finish(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        if self.result.is_some() {
            return;
        }
        let time = host.now() - self.started;
        let hash = self.hash.take().map(|hash| hex(&hash.finalize()));
        let received = Received { bytes: self.progress.received, time, sha256: hash };
        self.result = Some(self.output.finish().map(|()| received));
        host.shutdown(socket);
        host.close(socket);
    }
}

impl Application for Download {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        self.started = host.now();
        self.progress_at = self.started;
        match host.connect() {
            Ok(socket) => self.socket = Some(socket),
            Err(failure) => {
                self.result = Some(Err(format!("connecting to {}: {failure}", self.server)));
            }
        }
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.state = State::Head(Vec::new());
        self.progress_at = host.now();
        // A request is far smaller than any send buffer.
        if host.write(socket, &self.request) < self.request.len() {
            self.fail(host, socket, "the request could not be sent".to_owned());
        }
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        while self.result.is_none() {
            let data = host.read(socket, CHUNK);
            if data.is_empty() {
                return;
            }
            if let Err(why) = self.take(host, &data) {
                self.fail(host, socket, why);
            } else if self.is_complete() {
                self.finish(host, socket);
            }
        }
    }

    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.on_readable(host, socket);
        if self.result.is_some() {
            return;
        }
        match (&self.state, self.progress.total) {
            // Without a length the end of the stream is the end of the file.
            (State::Body, None) => self.finish(host, socket),
            (State::Body, Some(total)) => {
                let why =
                    format!("the server closed after {} of {total} bytes", self.progress.received);
                self.fail(host, socket, why);
            }
            _ => self.fail(host, socket, "the server closed without an answer".to_owned()),
        }
    }

    fn on_failed(&mut self, _socket: SocketId, failure: StreamFailure) {
        let Progress { received, total } = self.progress;
        let is_silent = matches!(failure, StreamFailure::TimedOut | StreamFailure::Unreachable);
        self.is_unanswered |= matches!(self.state, State::Connecting) && is_silent;
        let why = match (&self.state, total) {
            (State::Connecting, _) => format!("connecting to {}: {failure}", self.server),
            (_, Some(total)) => format!("{failure} after {received} of {total} bytes"),
            (_, None) => format!("{failure} after {received} bytes"),
        };
        self.result.get_or_insert(Err(why));
    }

    fn on_timeout(&mut self, host: &mut dyn StreamHost) {
        if self.result.is_none() && host.now() - self.progress_at >= PATIENCE {
            if let Some(socket) = self.socket {
                host.abort(socket);
            }
            self.is_unanswered = matches!(self.state, State::Connecting);
            let why = match (&self.state, self.progress) {
                (State::Connecting, _) => {
                    format!("connecting to {}: no answer for {PATIENCE}", self.server)
                }
                (_, Progress { received, total: Some(total) }) => {
                    format!("nothing arrived for {PATIENCE} after {received} of {total} bytes")
                }
                (_, Progress { received, total: None }) => {
                    format!("nothing arrived for {PATIENCE} after {received} bytes")
                }
            };
            self.result = Some(Err(why));
        }
    }

    fn poll_deadline(&self) -> Option<Instant> {
        self.result.is_none().then_some(self.progress_at + PATIENCE)
    }

    fn is_done(&self) -> bool {
        self.result.is_some()
    }
}

fn request(path: &str, server: SocketAddr, version: Version) -> Payload {
    Bytes::from(http::request_head(path, server, version)).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
