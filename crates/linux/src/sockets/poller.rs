//! Waiting for sockets, for the next deadline, and for a request to stop.
//!
//! A timer file instead of the poll's own time-out, because that counts milliseconds.

use base::Duration;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sockets have the tokens below.
const TIMER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);

/// What a host of sockets waits with.
pub(super) struct Poller {
    poll: Poll,
    events: Events,
    timer: TimerFd,
}

/// What a socket is ready for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Readiness {
    /// As it was registered.
    pub(super) number: usize,
    /// There may be something to read, were it the end or an error.
    pub(super) readable: bool,
    /// There may be room to write, or an error.
    pub(super) writable: bool,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let fd = timer.as_fd().as_raw_fd();
        poll.registry().register(&mut SourceFd(&fd), TIMER, Interest::READABLE)?;
        Ok(Poller { poll, events: Events::with_capacity(64), timer })
    }

    /// Something that ends the waiting from another thread.
    pub(super) fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), STOP)
    }

    /// Watch a socket for everything.
    pub(super) fn register(&self, socket: &impl AsRawFd, number: usize) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        let fd = socket.as_raw_fd();
        self.poll.registry().register(&mut SourceFd(&fd), Token(number), interest)
    }

    /// Wait until something happens, `timeout` at most; what did, of sockets.
    pub(super) fn wait(&mut self, timeout: Duration) -> io::Result<Vec<Readiness>> {
        let limit = (timeout == Duration::ZERO).then_some(std::time::Duration::ZERO);
        if limit.is_none() {
            let time = std::time::Duration::from_nanos(timeout.as_nanos());
            let time = Expiration::OneShot(TimeSpec::from_duration(time));
            self.timer.set(time, TimerSetTimeFlags::empty())?;
        }
        match self.poll.poll(&mut self.events, limit) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let sockets = self.events.iter().filter(|event| event.token().0 < STOP.0);
        let ready = sockets.map(|event| Readiness {
            number: event.token().0,
            readable: event.is_readable() || event.is_read_closed() || event.is_error(),
            writable: event.is_writable() || event.is_write_closed() || event.is_error(),
        });
        Ok(ready.collect())
    }
}
