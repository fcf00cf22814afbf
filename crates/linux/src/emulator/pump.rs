//! The loop: packets out of the devices into the links, and out of the links into the devices.
//!
//! One thread. Every packet is stamped when it is fetched and delivered when it is due; its
//! lateness is counted. Between runs what the hosts send is discarded. What a link does is left to
//! `network`, when to sleep to `waiting`, what counts as late to `quality`.

use super::lanes::{Lanes, Output};
use super::priority::{RunDelay, Urgency, hurry};
use super::quality::Punctuality;
use super::setup::Side;
use super::waiting::{Plan, Waiting};
use crate::clock::Clock;
use crate::device::Tun;
use base::{Duration, Instant};
use network::{Direction, LinkStats, PathCounters};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender};
use wire::{Packet, PcapngWriter};

/// Packets fetched from one device before the others get their turn.
const BATCH: usize = 64;
/// Packets of before a run that are thrown away, at most: more than a device holds.
const DRAIN: usize = 10_000;
/// The longest datagram.
const LONGEST: usize = 65_535;

/// What the loop is asked to do.
pub(super) enum Command {
    /// Begin a run over these links; the answer is its clock, which is zero then. `waits`: its time
    /// begins with the first packet.
    Begin { lanes: Lanes, names: Option<Vec<String>>, waits: bool, answer: Sender<Clock> },
    /// End it; the answer is what was counted, `None` if there was no run.
    End { answer: Sender<Option<Box<Ended>>> },
}

/// A host's interface went up or down.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterfaceNotice {
    pub side: Side,
    pub path: usize,
    pub up: bool,
}

/// What a run leaves behind.
pub(super) struct Ended {
    pub counters: Vec<PathCounters>,
    pub nics: Vec<[LinkStats; 2]>,
    pub delivered: Punctuality,
    pub taken: Punctuality,
    pub refused: u64,
    pub captures: Option<[Vec<u8>; 2]>,
}

/// The loop's own things.
pub(super) struct Pump {
    /// Client's and server's device, path by path.
    devices: Vec<Tun>,
    commands: Receiver<Command>,
    /// Readable when there is a command; closed when there will be none.
    wake: UnixStream,
    notices: Sender<InterfaceNotice>,
    waiting: Waiting,
    delay: RunDelay,
    idle: Clock,
    run: Option<Running>,
    buffer: Vec<u8>,
}

/// A run under way.
struct Running {
    clock: Clock,
    /// Nothing was sent yet, and time has not begun.
    waits: bool,
    lanes: Lanes,
    delivered: Punctuality,
    taken: Punctuality,
    refused: u64,
    captures: Option<[PcapngWriter<Vec<u8>>; 2]>,
}

impl Pump {
    /// Over the devices of both hosts, path by path.
    pub(super) fn new(
        client: Vec<Tun>,
        server: Vec<Tun>,
        commands: Receiver<Command>,
        wake: UnixStream,
        notices: Sender<InterfaceNotice>,
    ) -> Self {
        let pairs = client.into_iter().zip(server);
        Pump {
            devices: pairs.flat_map(|(client, server)| [client, server]).collect(),
            commands,
            wake,
            notices,
            waiting: Waiting::new(),
            delay: RunDelay::new(),
            idle: Clock::start(),
            run: None,
            buffer: vec![0; LONGEST],
        }
    }

    /// Runs until there can be no further command. Reports first whether it has real-time priority.
    pub(super) fn run(mut self, started: &Sender<bool>) {
        // If the starter does not wait for the answer, the loop is not needed either.
        let _ = started.send(hurry(Urgency::Carrying));
        self.delay = RunDelay::new();
        let mut worked_from = self.idle.now();
        loop {
            let deadline = self.deliver();
            let now = self.idle.now();
            self.waiting.on_worked(now - worked_from);
            // The run's clock and the loop's are one clock read at two origins.
            let deadline = deadline.map(|ahead| now + ahead);
            let plan = self.waiting.plan(now, deadline);
            let (ready, asked) = self.pass(plan);
            worked_from = self.idle.now();
            match plan {
                Plan::Spin => self.waiting.on_spun(worked_from - now),
                Plan::Sleep(time) if ready.is_empty() && !asked => {
                    self.waiting.on_overshoot((worked_from - now).saturating_sub(time));
                }
                _ => {}
            }
            self.fetch(&ready, matches!(plan, Plan::Sleep(_)));
            if asked && !self.obey() {
                return;
            }
        }
    }

    /// Wait as planned; the devices that have packets, and whether there is a command.
    fn pass(&self, plan: Plan) -> (Vec<usize>, bool) {
        let limit = match plan {
            Plan::Go | Plan::Spin => Duration::ZERO,
            Plan::Sleep(time) => time,
            Plan::Pause(time) => {
                std::thread::sleep(std::time::Duration::from_nanos(time.as_nanos()));
                Duration::ZERO
            }
        };
        let readable = PollFlags::POLLIN;
        let devices = self.devices.iter().map(|device| PollFd::new(device.as_fd(), readable));
        let mut fds: Vec<PollFd<'_>> = devices.collect();
        fds.push(PollFd::new(self.wake.as_fd(), readable));
        let limit = TimeSpec::from_duration(std::time::Duration::from_nanos(limit.as_nanos()));
        // Interrupted or not, what is there is looked at.
        let _ = ppoll(&mut fds, Some(limit), None);
        let happened = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
        let count = self.devices.len();
        let ready = (0..count).filter(|number| happened(&fds[*number])).collect();
        (ready, happened(&fds[count]))
    }

    /// Carry out what was asked for; whether to go on.
    fn obey(&mut self) -> bool {
        let mut bytes = [0; 16];
        match (&self.wake).read(&mut bytes) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(_) => return true,
        }
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Begin { lanes, names, waits, answer } => {
                    self.begin(lanes, names.as_deref(), waits);
                    let clock = self.run.as_ref().map_or(self.idle, |run| run.clock);
                    let _ = answer.send(clock);
                }
                Command::End { answer } => {
                    let ended = self.run.take().map(|run| Box::new(run.end()));
                    let _ = answer.send(ended);
                }
            }
        }
        true
    }

    fn begin(&mut self, lanes: Lanes, names: Option<&[String]>, waits: bool) {
        // What the hosts sent before belongs to no run.
        for device in &self.devices {
            let left = std::iter::from_fn(|| device.receive(&mut self.buffer).ok().flatten());
            left.take(DRAIN).for_each(drop);
        }
        let captures = names.and_then(|names| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let begin = || PcapngWriter::new(Vec::new(), &names).ok();
            Some([begin()?, begin()?])
        });
        let (delivered, taken) = <_>::default();
        let clock = Clock::start();
        self.run = Some(Running { clock, waits, lanes, delivered, taken, refused: 0, captures });
    }

    /// Take packets out of devices. After a sleep, the first of them have waited for the loop.
    fn fetch(&mut self, ready: &[usize], slept: bool) {
        let waited = if slept && !ready.is_empty() { self.delay.take() } else { Duration::ZERO };
        for number in ready {
            for _ in 0..BATCH {
                // A device that was removed has nothing.
                let Ok(Some(len)) = self.devices[*number].receive(&mut self.buffer) else { break };
                let datagram = self.buffer[..len].to_vec();
                let Self { run, devices, notices, buffer, .. } = self;
                if let Some(run) = run {
                    if run.waits && !run.begin_with(&datagram) {
                        continue;
                    }
                    let now = run.clock.now();
                    run.deliver_until(now, devices, notices, buffer);
                    run.take(now, *number, datagram, waited);
                    buffer.resize(LONGEST, 0);
                }
            }
        }
    }

    /// Delivers what is due; returns the time until the next event.
    fn deliver(&mut self) -> Option<Duration> {
        let Self { run, devices, notices, buffer, .. } = self;
        let run = run.as_mut().filter(|run| !run.waits)?;
        let now = run.clock.now();
        run.deliver_until(now, devices, notices, buffer);
        buffer.resize(LONGEST, 0);
        run.lanes.next_deadline().map(|due| due - run.clock.now())
    }
}

impl Running {
    /// Begins the time of the run if this is a packet that travels. Returns whether it is.
    fn begin_with(&mut self, datagram: &[u8]) -> bool {
        let packet = Packet::opaque(datagram.to_vec());
        let travels = packet.is_ok_and(|packet| !stays_at_home(&packet));
        if travels {
            self.waits = false;
            self.clock = Clock::start();
        }
        travels
    }

    /// A host sent a datagram.
    fn take(&mut self, now: Instant, number: usize, datagram: Vec<u8>, waited: Duration) {
        let (path, side) = (number / 2, number % 2);
        let direction = if side == 0 { Direction::Up } else { Direction::Down };
        let capture = self.captures.as_mut().map(|captures| &mut captures[side]);
        let captured = capture.map_or(Ok(()), |file| file.write_datagram(path, now, &datagram));
        // Memory is all it needs.
        debug_assert!(captured.is_ok());
        let Ok(packet) = Packet::opaque(datagram) else { return };
        if stays_at_home(&packet) {
            return;
        }
        self.taken.add(waited);
        self.lanes.enqueue(now, path, direction, packet);
    }

    fn deliver_until(
        &mut self,
        now: Instant,
        devices: &[Tun],
        notices: &Sender<InterfaceNotice>,
        buffer: &mut Vec<u8>,
    ) {
        while let Some(output) = self.lanes.poll(now) {
            match output {
                Output::Delivery { path, direction, due, packet } => {
                    buffer.clear();
                    packet.emit(buffer);
                    let side = usize::from(direction == Direction::Up);
                    self.hand_over(&devices[2 * path + side], path, side, due, buffer);
                }
                Output::Notify { path, direction, up } => {
                    let sends_up = direction == Direction::Up;
                    let side = if sends_up { Side::Client } else { Side::Server };
                    // The receiving thread ends after this loop.
                    let _ = notices.send(InterfaceNotice { side, path, up });
                }
            }
        }
    }

    fn hand_over(&mut self, device: &Tun, path: usize, side: usize, due: Instant, bytes: &[u8]) {
        let now = self.clock.now();
        self.delivered.add(now - due);
        if device.send(bytes).is_err() {
            self.refused += 1;
        }
        if let Some(captures) = &mut self.captures {
            let captured = captures[side].write_datagram(path, now, bytes);
            debug_assert!(captured.is_ok());
        }
    }

    fn end(self) -> Ended {
        let paths = self.lanes.counters().len();
        Ended {
            counters: self.lanes.counters(),
            nics: (0..paths).map(|path| self.lanes.nic_counters(path)).collect(),
            delivered: self.delivered,
            taken: self.taken,
            refused: self.refused,
            captures: self.captures.map(|captures| captures.map(PcapngWriter::into_inner)),
        }
    }
}

/// Whether it is neighbour discovery or other link-local traffic, which no router forwards: the
/// kernel sends it unasked, and it would shift the draws of the packets after it.
fn stays_at_home(packet: &Packet) -> bool {
    match (packet.src(), packet.dst()) {
        (IpAddr::V4(_), IpAddr::V4(dst)) => dst.octets()[..3] == [224, 0, 0],
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let to_neighbours = dst.is_multicast() && dst.octets()[1] & 0x0F <= 2;
            to_neighbours || dst.is_unicast_link_local() || src.is_unicast_link_local()
        }
        _ => false,
    }
}

/// Make a stream that wakes the loop without ever blocking it.
pub(super) fn waker() -> io::Result<(UnixStream, UnixStream)> {
    let (near, far) = UnixStream::pair()?;
    far.set_nonblocking(true)?;
    Ok((near, far))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Body, UdpDatagram};

    #[test]
    fn talk_of_neighbours_stays_and_everything_else_travels() {
        let stays = |src: &str, dst: &str| {
            let [src, dst] = [src, dst].map(|address| address.parse().expect("an address"));
            stays_at_home(&Packet::new(src, dst, Body::Udp(UdpDatagram::default())))
        };
        assert!(stays("fe80::1", "ff02::2"));
        assert!(stays("::", "ff02::16"));
        assert!(stays("fd00::1", "fe80::9"));
        assert!(stays("10.0.0.1", "224.0.0.22"));
        assert!(!stays("fd00::1", "fd00::2"));
        assert!(!stays("fd00::1", "ff0e::1"));
        assert!(!stays("10.0.0.1", "10.0.0.2"));
        assert!(!stays("10.0.0.1", "239.1.2.3"));
    }
}
