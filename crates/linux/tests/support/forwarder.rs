//! A wire between two TUN devices of two namespaces: it delays, drops by count, can be cut, can
//! take MPTCP's options away and rewrite payload.
//!
//! Rates are tbf's. Loss by count instead of chance, so that a test loses the same each time.
//! What is taken and rewritten is `strip`'s.

use super::prompt;
use super::strip::{Stage, rewrite, strip};
use linux::Tun;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a forwarder looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a wire does to packets, both ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Conditions {
    pub delay: Duration,
    /// Every n-th packet is lost; 0: none.
    pub drop_every: u64,
}

/// What is done to a wire while it is in use.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Everything is lost, without a notification.
    pub cut: AtomicBool,
    /// Where MPTCP's options are taken away.
    pub strip: Mutex<Option<Stage>>,
    /// How many segments with payload are rewritten, from the engine and to it.
    pub rewrite: [AtomicU32; 2],
}

/// A way over a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    FromEngine,
    ToEngine,
}

/// Threads that carry packets until this is dropped.
pub(crate) struct Forwarder {
    pub control: Arc<Control>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

type Parcel = (Instant, Vec<u8>);

impl Forwarder {
    /// Between two devices.
    pub(crate) fn start(near: Tun, far: Tun, conditions: Conditions) -> Forwarder {
        let stop = Arc::new(AtomicBool::new(false));
        let control = Arc::new(Control::default());
        let (near, far) = (Arc::new(near), Arc::new(far));
        let mut threads = Vec::new();
        for (from, to, way) in [(&near, &far, Way::FromEngine), (&far, &near, Way::ToEngine)] {
            let (sender, receiver) = channel();
            let (from, to, stop) = (Arc::clone(from), Arc::clone(to), Arc::clone(&stop));
            let control = Arc::clone(&control);
            let collect = move || collect(&from, &sender, (conditions, way), (&control, &stop));
            threads.push(thread::spawn(collect));
            threads.push(thread::spawn(move || deliver(&to, &receiver)));
        }
        Forwarder { control, stop, threads }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a forwarder's thread");
        }
    }
}

fn collect(
    from: &Tun,
    sender: &Sender<Parcel>,
    (conditions, way): (Conditions, Way),
    (control, stop): (&Control, &AtomicBool),
) {
    prompt::hurry();
    let mut poll = Poll::new().expect("a poll");
    let fd = from.as_raw_fd();
    let source = &mut SourceFd(&fd);
    poll.registry().register(source, Token(0), Interest::READABLE).expect("a device to wait for");
    let mut events = Events::with_capacity(4);
    let mut buffer = vec![0; 65_535];
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        // Interrupted or not, what is there is read.
        let _ = poll.poll(&mut events, Some(LOOK_EVERY));
        while let Ok(Some(len)) = from.receive(&mut buffer) {
            count += 1;
            if conditions.drop_every > 0 && count % conditions.drop_every == 0 {
                continue;
            }
            if control.cut.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(stage) = *control.strip.lock().expect("no panic") {
                strip(&mut buffer[..len], stage);
            }
            let left = &control.rewrite[way as usize];
            // No other thread decreases the counter.
            if left.load(Ordering::Relaxed) > 0 && rewrite(&mut buffer[..len]) {
                left.fetch_sub(1, Ordering::Relaxed);
            }
            let due = now() + conditions.delay;
            if sender.send((due, buffer[..len].to_vec())).is_err() {
                return;
            }
        }
    }
}

fn deliver(to: &Tun, receiver: &Receiver<Parcel>) {
    prompt::hurry();
    while let Ok((due, datagram)) = receiver.recv() {
        thread::sleep(due.saturating_duration_since(now()));
        // The device may be down: then the packet is lost, as on any wire.
        let _ = to.send(&datagram);
    }
}

#[allow(clippy::disallowed_methods, reason = "a wire in real time")]
fn now() -> Instant {
    Instant::now()
}
