//! An independent look: `ping`, a flood and a count of losses, against the configured values.

use crate::world::{attempt, emulator, link, path, run_over, turn};
use base::{Chance, Purpose, chance};
use linux::emulator::{Emulator, Side, address};
use network::PathSetup;
use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of IP and UDP header.
const HEADERS: usize = 28;

/// Round trips in milliseconds as `ping` sees them, sorted; `None` if there is no `ping`.
fn ping(emulator: &Emulator, path: usize) -> Option<Vec<f64>> {
    let target = address(Side::Server, path, false).to_string();
    let command = || Command::new("ping").args(["-n", "-c", "40", "-i", "0.02", &target]).output();
    let output = emulator.client.namespace.run(command).expect("the namespace").ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let times = text.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next());
    let mut times: Vec<f64> = times.map(|time| time.parse().expect("a number")).collect();
    times.sort_by(f64::total_cmp);
    assert!(times.len() > 35, "{text}");
    Some(times)
}

#[test]
fn ping_sees_the_configured_delay_on_every_path() {
    let _turn = turn();
    let paths = [path("near", link(10, 5, 0.0)), path("far", link(50, 40, 0.0))];
    let Some(_) = emulator(&paths, false) else { return };
    if Command::new("ping").arg("-V").output().is_err() {
        println!("skipped: no ping (sudo apt-get install iputils-ping)");
        return;
    }
    attempt(|| {
        let mut emulator = emulator(&paths, false).expect("a second one");
        emulator.begin_run(&run_over(&paths)).expect("a run");
        // 84 bytes each way take 0.13 ms of the near path's rate and 0.03 of the far one's.
        for (path, expected) in [(0, 10.135), (1, 80.028)] {
            let times = ping(&emulator, path).expect("ping");
            let (least, median) = (times[0], times[times.len() / 2]);
            println!("path {path}: {expected} ms configured, {least} least, {median} median");
            assert!(least >= expected, "path {path}: {least} ms is faster than light");
            if least > expected + 0.4 || median > expected + 1.0 {
                return Err(format!("path {path}: {least} and {median}, not {expected} ms"));
            }
        }
        Ok(())
    });
}

/// Two sockets of which one can send to the other over a path.
fn sockets(emulator: &Emulator, from: Side, path: usize) -> (UdpSocket, UdpSocket, SocketAddr) {
    let to = if from == Side::Client { Side::Server } else { Side::Client };
    let open = |side| {
        let bind = || UdpSocket::bind((address(side, path, false), 0));
        emulator.host(side).namespace.run(bind).expect("the namespace").expect("a socket")
    };
    let (sender, receiver) = (open(from), open(to));
    receiver.set_read_timeout(Some(Duration::from_millis(300))).expect("a time-out");
    let target = receiver.local_addr().expect("an address");
    (sender, receiver, target)
}

#[allow(clippy::disallowed_methods, reason = "a stop-watch beside the emulator's")]
fn now() -> Instant {
    Instant::now()
}

/// Bits per second that get through when a third more is sent, at IP level.
fn flood(emulator: &Emulator, from: Side, mbit: u64) -> f64 {
    let (sender, receiver, target) = sockets(emulator, from, 0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let gap = Duration::from_nanos(12_000 * 1000 / mbit * 3 / 4);
            let mut next = now();
            while !stop.load(Ordering::Relaxed) {
                sender.send_to(&[0; 1472], target).expect("sent");
                next += gap;
                thread::sleep(next.saturating_duration_since(now()));
            }
        });
        let mut buffer = [0; 2000];
        receiver.recv(&mut buffer).expect("a first one");
        let (begin, mut end, mut bits) = (now(), now(), 0.0);
        while end - begin < Duration::from_millis(1200) {
            let len = receiver.recv(&mut buffer).expect("one more");
            end = now();
            bits += (len + HEADERS) as f64 * 8.0;
        }
        stop.store(true, Ordering::Relaxed);
        bits / (end - begin).as_secs_f64()
    })
}

#[test]
fn flood_gets_the_configured_rate_in_either_direction() {
    let _turn = turn();
    let paths = [PathSetup { down: link(20, 10, 0.0), ..path("dsl", link(3, 10, 0.0)) }];
    let Some(_) = emulator(&paths, false) else { return };
    attempt(|| {
        let mut emulator = emulator(&paths, false).expect("a second one");
        for (from, mbit) in [(Side::Server, 20), (Side::Client, 3)] {
            emulator.begin_run(&run_over(&paths)).expect("a run");
            let rate = flood(&emulator, from, mbit);
            let record = emulator.end_run().expect("a record");
            let error = rate / (mbit as f64 * 1e6) - 1.0;
            println!("{mbit} Mbit/s: {:+.3} %; {}", error * 100.0, record.quality);
            let counters = record.links[0];
            let link = if from == Side::Client { counters.up } else { counters.down };
            assert!(link.dropped_full > 0, "the queue was never full");
            if error.abs() > 0.02 {
                return Err(format!("{mbit} Mbit/s: {:+.2} %", error * 100.0));
            }
        }
        Ok(())
    });
}

#[test]
fn losses_are_as_many_as_configured_and_the_very_ones_the_simulator_draws() {
    const SENT: u16 = 2000;
    const LOSS: f64 = 0.03;
    let _turn = turn();
    let paths = [path("wlan", link(100, 3, LOSS)), path("other", link(10, 3, 0.5))];
    let Some(mut emulator) = emulator(&paths, false) else { return };
    let run = linux::emulator::EmulatedRun { seed: 9, run: 4, ..run_over(&paths) };
    emulator.begin_run(&run).expect("a run");
    let (sender, receiver, target) = sockets(&emulator, Side::Client, 0);
    let arrived: BTreeSet<u16> = thread::scope(|scope| {
        let receive = scope.spawn(|| {
            let mut buffer = [0; 2000];
            let next = || receiver.recv(&mut buffer).ok().map(|_| [buffer[0], buffer[1]]);
            std::iter::from_fn(next).map(u16::from_be_bytes).collect()
        });
        for number in 0..SENT {
            let mut payload = [0; 200];
            payload[..2].copy_from_slice(&number.to_be_bytes());
            sender.send_to(&payload, target).expect("sent");
            thread::sleep(Duration::from_micros(200));
        }
        receive.join().expect("no panic")
    });
    let record = emulator.end_run().expect("a record");
    let up = record.links[0].up;
    assert_eq!((up.accepted, up.dropped_full), (SENT.into(), 0), "{up:?}");
    let (draws, owner) = (Chance::new(9, 4), chance::owner_of("wlan/up"));
    let kept = |number: &u16| !draws.happens(LOSS, owner, Purpose::Loss, (*number).into());
    let expected: BTreeSet<u16> = (0..SENT).filter(kept).collect();
    assert_eq!(arrived, expected);
    // Four standard deviations of the binomial distribution.
    let lost = f64::from(SENT) - arrived.len() as f64;
    let mean = f64::from(SENT) * LOSS;
    assert!((lost - mean).abs() < 4.0 * (mean * (1.0 - LOSS)).sqrt(), "{lost} of {mean} lost");
}
