//! Probes over every path in both directions: how exact the emulation is on this machine.
//!
//! A hundred small datagrams one by one for the delay, then full ones at once for the rate; some
//! two seconds in all. One thread sends, one receives, both with raised priority, so that what is
//! measured is the emulator and the hosts' stacks. The probes are evaluated by `accuracy`.

use super::accuracy::{Accuracy, Arrivals, HEADERS, Probe, evaluate, predict};
use super::lanes::Lanes;
use super::priority::{Urgency, hurry};
use super::setup::{Side, address};
use super::{EmulatedRun, Emulator};
use crate::clock::Clock;
use crate::error::LiveError;
use base::{Duration, Instant};
use network::{Capacity, Direction, Limit, LinkConfig, PathSetup};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Probes of each direction of a path, one by one.
const SINGLES: u16 = 100;
/// Time between two probes, of any path.
const SPACING: Duration = Duration::from_millis(1);
/// Their payload, in bytes.
const SINGLE_LEN: u32 = 72;
/// How long a flood keeps a link busy.
const FLOOD: Duration = Duration::from_millis(250);
/// Probes of a flood, if the rate is not constant; at least, and at most.
const SOME: u64 = 30;
const FEWEST: u64 = 8;
const MOST: u64 = 2000;
/// Time after the last arrival until the receiver stops waiting.
const PATIENCE: Duration = Duration::from_millis(100);
/// The longest wait for arrivals, however long the links' delays.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// The sockets of one direction of a path.
struct Lane {
    path: usize,
    direction: Direction,
    sender: UdpSocket,
    receiver: UdpSocket,
    target: SocketAddr,
}

/// Measure the links of a run, which is not under way; changes at a time are left out.
pub fn measure(emulator: &mut Emulator, run: &EmulatedRun) -> Result<Accuracy, LiveError> {
    let still = |path: &PathSetup| PathSetup { events: Vec::new(), ..path.clone() };
    let run =
        EmulatedRun { waits: false, paths: run.paths.iter().map(still).collect(), ..run.clone() };
    let failed = |error: io::Error| LiveError::system("measuring the emulated paths", &error);
    let lanes = open_lanes(emulator).map_err(failed)?;
    let clock = emulator.begin_run(&run)?;
    let probed = probe(&lanes, &run, emulator.config().mtu, clock);
    let record = emulator.end_run()?;
    let (probes, predicted, measured) = probed.map_err(failed)?;
    let paths = lanes.iter().map(|lane| {
        let (path, direction) = (lane.path, lane.direction);
        let own = |probe: &&Probe| probe.path == path && probe.direction == direction;
        let own: Vec<Probe> = probes.iter().filter(own).copied().collect();
        evaluate(&run.paths[path].name, direction, &own, &predicted, &measured)
    });
    let (realtime, quality) = (emulator.is_realtime(), record.quality);
    Ok(Accuracy { paths: paths.collect(), realtime, quality })
}

fn open_lanes(emulator: &Emulator) -> io::Result<Vec<Lane>> {
    let paths = 0..emulator.config().paths.len();
    let both = paths.flat_map(|path| [(path, Direction::Down), (path, Direction::Up)]);
    both.map(|(path, direction)| {
        let (from, to) = match direction {
            Direction::Up => (Side::Client, Side::Server),
            Direction::Down | Direction::Both => (Side::Server, Side::Client),
        };
        let open = |side| {
            let bind = || UdpSocket::bind((address(side, path, false), 0));
            emulator.host(side).namespace.run(bind)?
        };
        let (sender, receiver) = (open(from)?, open(to)?);
        receiver.set_nonblocking(true)?;
        let target = receiver.local_addr()?;
        Ok(Lane { path, direction, sender, receiver, target })
    })
    .collect()
}

/// Send everything; what was sent, what should come, what came.
fn probe(
    lanes: &[Lane],
    run: &EmulatedRun,
    mtu: u32,
    clock: Clock,
) -> io::Result<(Vec<Probe>, Arrivals, Arrivals)> {
    let stop = AtomicBool::new(false);
    let links = || Lanes::new(&run.paths, run.nic, run.seed, run.run);
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(lanes, clock, &stop));
        let sender = scope.spawn(|| {
            hurry(Urgency::Measuring);
            let mut probes = send_singles(lanes, clock)?;
            wait_for(last(&predict(links(), &probes)), clock);
            probes.extend(send_floods(lanes, run, mtu, clock)?);
            let predicted = predict(links(), &probes);
            wait_for(last(&predicted), clock);
            Ok::<_, io::Error>((probes, predicted))
        });
        let panicked = |_| io::Error::other("a thread of the measurement panicked");
        let sent = sender.join();
        stop.store(true, Ordering::Relaxed);
        let arrived = receiver.join().map_err(panicked)?;
        let (mut probes, predicted) = sent.map_err(panicked)??;
        // On very long paths not all was waited for.
        let end = clock.now();
        let in_time = |probe: &Probe| predicted.get(&probe.key()).is_none_or(|due| *due < end);
        probes.retain(in_time);
        Ok((probes, predicted, arrived))
    })
}

fn last(arrivals: &Arrivals) -> Instant {
    arrivals.values().max().copied().unwrap_or(Instant::ZERO)
}

fn wait_for(last: Instant, clock: Clock) {
    let wait = (last + PATIENCE - clock.now()).min(LONGEST_WAIT);
    thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()));
}

fn send_singles(lanes: &[Lane], clock: Clock) -> io::Result<Vec<Probe>> {
    let mut probes = Vec::new();
    let mut next = clock.now();
    for number in 0..SINGLES {
        for lane in lanes {
            let wait = next - clock.now();
            thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()));
            probes.push(lane.send(number, SINGLE_LEN, false, clock)?);
            next += SPACING;
        }
    }
    Ok(probes)
}

fn send_floods(
    lanes: &[Lane],
    run: &EmulatedRun,
    mtu: u32,
    clock: Clock,
) -> io::Result<Vec<Probe>> {
    let mut probes = Vec::new();
    let mut left: Vec<u64> = lanes.iter().map(|lane| lane.flood(run, mtu)).collect();
    let mut number = SINGLES;
    while left.iter().any(|left| *left > 0) {
        for (lane, left) in lanes.iter().zip(&mut left) {
            if *left > 0 {
                *left -= 1;
                probes.push(lane.send(number, mtu - HEADERS, true, clock)?);
            }
        }
        number += 1;
    }
    Ok(probes)
}

impl Lane {
    fn send(&self, number: u16, len: u32, is_flood: bool, clock: Clock) -> io::Result<Probe> {
        let mut payload = vec![0; len as usize];
        payload[..2].copy_from_slice(&number.to_be_bytes());
        let (path, direction, sent) = (self.path, self.direction, clock.now());
        self.sender.send_to(&payload, self.target)?;
        Ok(Probe { path, direction, number, sent, len, is_flood })
    }

    /// How many probes show the rate without filling the queue.
    fn flood(&self, run: &EmulatedRun, mtu: u32) -> u64 {
        let path = &run.paths[self.path];
        flood_of(if self.direction == Direction::Up { &path.up } else { &path.down }, mtu)
    }
}

fn flood_of(link: &LinkConfig, mtu: u32) -> u64 {
    let bits = u64::from(mtu) * 8;
    let Capacity::Rate(rate) = &link.capacity else { return SOME };
    let in_time = |time: Duration| (rate.as_bps() as f64 * time.as_secs_f64()) as u64 / bits;
    let room = match link.limit {
        Limit::Packets(packets) => packets.into(),
        Limit::Bytes(bytes) => bytes / u64::from(mtu),
        Limit::Time(time) => in_time(time),
    };
    in_time(FLOOD).clamp(FEWEST, MOST).min(room / 2).max(2)
}

/// Receives until requested to stop.
fn receive(lanes: &[Lane], clock: Clock, stop: &AtomicBool) -> Arrivals {
    hurry(Urgency::Measuring);
    let mut arrivals = Arrivals::new();
    let mut buffer = vec![0; 65_535];
    while !stop.load(Ordering::Relaxed) {
        let readable = PollFlags::POLLIN;
        let fds = lanes.iter().map(|lane| PollFd::new(lane.receiver.as_fd(), readable));
        let mut fds: Vec<PollFd<'_>> = fds.collect();
        // Interrupted or not, what is there is read.
        let _ = poll(&mut fds, PollTimeout::from(20u8));
        for lane in lanes {
            while let Ok(len) = lane.receiver.recv(&mut buffer) {
                let now = clock.now();
                if len >= 2 {
                    let number = u16::from_be_bytes([buffer[0], buffer[1]]);
                    let direction = u8::from(lane.direction == Direction::Up);
                    arrivals.entry((lane.path, direction, number)).or_insert(now);
                }
            }
        }
    }
    arrivals
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rate;

    #[test]
    fn flood_keeps_the_link_busy_and_leaves_room_in_its_queue() {
        let link = |mbit, limit| LinkConfig {
            capacity: Capacity::Rate(Rate::from_mbit(mbit)),
            limit,
            ..LinkConfig::default()
        };
        assert_eq!(flood_of(&link(12, Limit::Packets(1000)), 1500), 250);
        assert_eq!(flood_of(&link(12, Limit::Packets(100)), 1500), 50);
        assert_eq!(flood_of(&link(12, Limit::Bytes(30_000)), 1500), 10);
        assert_eq!(flood_of(&link(12, Limit::Time(Duration::from_millis(20))), 1500), 10);
        assert_eq!(flood_of(&link(0, Limit::Packets(100)), 1500), 8);
        assert_eq!(flood_of(&link(9000, Limit::Packets(100_000)), 1500), 2000);
        assert_eq!(flood_of(&LinkConfig::default(), 1500), SOME);
    }
}
