//! Waiting: for packets on the devices, for the next deadline, for changes of devices, and for a
//! request to stop.
//!
//! A timer file instead of the poll's own time-out, because that counts milliseconds and the
//! engine's timers do not. What happens then is `host`'s.

use crate::error::LiveError;
use crate::interface::Interface;
use crate::monitor::Monitor;
use base::Duration;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Devices have the tokens below.
const TIMER: Token = Token(usize::MAX);
const MONITOR: Token = Token(usize::MAX - 1);
const STOP: Token = Token(usize::MAX - 2);
const SIGNALS: Token = Token(usize::MAX - 3);

/// What a host waits with.
pub(crate) struct Driver {
    poll: Poll,
    events: Events,
    timer: TimerFd,
    armed: Option<Duration>,
    /// Once signals are watched.
    signals: Option<SignalFd>,
}

/// Why waiting ended.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    /// Devices with packets, by number.
    pub(crate) readable: Vec<usize>,
    /// A device or address changed.
    pub(crate) changed: bool,
    /// A signal asked for the end.
    pub(crate) stopped: bool,
}

impl Driver {
    pub(crate) fn new(interfaces: &[Interface], monitor: &Monitor) -> Result<Self, LiveError> {
        Self::try_new(interfaces, monitor).map_err(|error| LiveError::system("waiting", &error))
    }

    fn try_new(interfaces: &[Interface], monitor: &Monitor) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
        )?;
        let register = |fd: i32, token| {
            poll.registry().register(&mut SourceFd(&fd), token, Interest::READABLE)
        };
        for (number, interface) in interfaces.iter().enumerate() {
            register(interface.port.as_raw_fd(), Token(number))?;
        }
        register(timer.as_fd().as_raw_fd(), TIMER)?;
        register(monitor.as_raw_fd(), MONITOR)?;
        let events = Events::with_capacity(64);
        Ok(Driver { poll, events, timer, armed: None, signals: None })
    }

    /// From now on an interrupt, a hang-up or a request to terminate does not kill the process
    /// but ends the waiting. A hang-up that the process was started to ignore stays ignored, as
    /// with nohup(1). To be called while there is no other thread: those there are would still be
    /// killed.
    pub(crate) fn watch_signals(&mut self) -> io::Result<()> {
        let ends = hold_signals()?;
        let signals = SignalFd::with_flags(&ends, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        let fd = signals.as_fd().as_raw_fd();
        self.poll.registry().register(&mut SourceFd(&fd), SIGNALS, Interest::READABLE)?;
        self.signals = Some(signals);
        Ok(())
    }

    /// Something that ends the waiting from another thread.
    pub(crate) fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), STOP)
    }

    /// Waits until something happens, at most `timeout`; returns at once if it is zero.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Woken> {
        let at_once = timeout == Some(Duration::ZERO);
        if !at_once {
            self.arm(timeout)?;
        }
        let limit = at_once.then_some(std::time::Duration::ZERO);
        match self.poll.poll(&mut self.events, limit) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let mut woken = Woken::default();
        for event in &self.events {
            match event.token() {
                TIMER | STOP => {}
                MONITOR => woken.changed = true,
                SIGNALS => woken.stopped = true,
                Token(number) => woken.readable.push(number),
            }
        }
        Ok(woken)
    }

    fn arm(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        match timeout {
            Some(timeout) => {
                let time =
                    TimeSpec::from_duration(std::time::Duration::from_nanos(timeout.as_nanos()));
                self.timer.set(Expiration::OneShot(time), TimerSetTimeFlags::empty())?;
            }
            None if self.armed.is_some() => self.timer.unset()?,
            None => {}
        }
        self.armed = timeout;
        Ok(())
    }
}

/// Blocks the signals that end a run, which then wait for [`Driver::watch_signals`].
pub(crate) fn hold_signals() -> io::Result<SigSet> {
    let mut ends = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        ends.add(signal);
    }
    // A blocked signal would arrive although it is ignored.
    if !is_ignored(Signal::SIGHUP) {
        ends.add(Signal::SIGHUP);
    }
    ends.thread_block()?;
    Ok(ends)
}

/// Whether the process ignores a signal (the mask SigIgn of proc_pid_status(5)).
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal as i32 - 1)) != 0)
}
