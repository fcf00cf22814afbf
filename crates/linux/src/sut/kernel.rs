//! A repetition over the kernel's sockets.

use super::counters;
use super::sampler::{self, Sampler};
use super::{
    KernelSettings, SAMPLE_EVERY, SERVER_PORT, SendTimes, SutPath, SutPaths, SutQuantity,
    SutRecord, SutRun, SutSeries, joined, settle_in,
};
use crate::clock::Clock;
use crate::emulator;
use crate::error::LiveError;
use crate::namespace::Namespace;
use crate::sockets::{KernelHost, SocketOptions, Stop, TcpReading};
use base::Instant;
use harness::RunRecord;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use traffic::{Half, Role};
use transport::{Buffers, Protocol};

/// Both ends of a run.
struct Ends {
    client: KernelHost<Half>,
    server: KernelHost<Half>,
    clock: Clock,
    limit: Instant,
}

/// Samples of socket diagnosis at either end.
struct Seen {
    sender: Sampler,
    /// Sampled once, at the end.
    receiver: Sampler,
}

pub(super) fn run(
    paths: SutPaths<'_>,
    run: &SutRun<'_>,
    protocol: Protocol,
    path: usize,
    settings: &KernelSettings,
) -> Result<SutRecord, LiveError> {
    for namespace in [paths.client, paths.server] {
        prepare(namespace, &settings.buffers)
            .map_err(|error| LiveError::system("setting a namespace up", &error))?;
    }
    let mut ends = open(paths, run, protocol, path, settings)?;
    let (clock, ipv4) = (ends.clock, paths.paths[path].client.is_ipv4());
    let failed = |error: io::Error| LiveError::system("socket diagnosis", &error);
    let sampler = |namespace: &Namespace| {
        namespace.run(|| Sampler::new(clock, ipv4)).and_then(|made| made).map_err(failed)
    };
    let (from, to) =
        if run.reverse { (paths.client, paths.server) } else { (paths.server, paths.client) };
    let counted = || -> io::Result<_> { Ok([counters::read(from)?, counters::read(to)?]) };
    let before = counted().map_err(failed)?;
    let seen = Mutex::new(Seen { sender: sampler(from)?, receiver: sampler(to)? });
    let ended = carry_out(paths, &mut ends, &seen)?;
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut record = record(paths.paths, run, &ends, &seen)?;
    check_congestion(&record, settings)?;
    let [sender, receiver] = counted().map_err(failed)?;
    record.counts.sender = counters::added(&before[0], sender);
    record.counts.receiver = counters::added(&before[1], receiver);
    record.run.ended = ended - Instant::ZERO;
    Ok(record)
}

/// Disable the metrics cache, and set the limits of buffer auto-tuning.
fn prepare(namespace: &Namespace, buffers: &Buffers) -> io::Result<()> {
    namespace.set("ipv4.tcp_no_metrics_save", "1")?;
    if buffers.auto_tuning {
        let [send, receive] = emulator::Buffers::up_to(buffers).texts();
        namespace.set("ipv4.tcp_wmem", &send)?;
        namespace.set("ipv4.tcp_rmem", &receive)?;
    }
    Ok(())
}

fn open(
    paths: SutPaths<'_>,
    run: &SutRun<'_>,
    protocol: Protocol,
    path: usize,
    settings: &KernelSettings,
) -> Result<Ends, LiveError> {
    let KernelSettings { congestion, buffers } = settings.clone();
    let options = SocketOptions { protocol, congestion, buffers };
    let path = &paths.paths[path];
    let remote = SocketAddr::new(path.server, SERVER_PORT);
    let local = SocketAddr::new(path.client, 0);
    let half = |role| Half::new(run.traffic, role, run.reverse, 0);
    let (server, client) = (half(Role::Server), half(Role::Client));
    let clock = Clock::start();
    let entered = |error| LiveError::system("entering a namespace", &error);
    let listen = || KernelHost::listen(remote, options.clone(), clock, server);
    let server = paths.server.run(listen).map_err(entered)??;
    let connect = || KernelHost::client((local, remote), options.clone(), clock, client);
    let client = paths.client.run(connect).map_err(entered)??;
    // The limit counts from here, not from the preparation.
    Ok(Ends { client, server, clock, limit: clock.now() + run.limit })
}

/// Run both ends until one of them is done or the time is over. Returns the time.
fn carry_out(
    paths: SutPaths<'_>,
    ends: &mut Ends,
    seen: &Mutex<Seen>,
) -> Result<Instant, LiveError> {
    let (clock, limit) = (ends.clock, ends.limit);
    let stops = [ends.client.stopper(), ends.server.stopper()];
    let over = AtomicBool::new(false);
    let (stops, over) = (&stops, &over);
    let run_end = |namespace, host: &mut KernelHost<Half>| {
        let result = settle_in(namespace).and_then(|()| host.run(limit));
        let ended = clock.now();
        if !over.swap(true, Ordering::AcqRel) {
            // Sampled before anything is closed. What fails now was sampled earlier.
            let mut seen = lock(seen);
            let _ = seen.sender.sample().and_then(|()| seen.receiver.sample());
            drop(seen);
            stops.iter().for_each(Stop::stop);
        }
        result.map(|()| ended)
    };
    thread::scope(|scope| {
        let server = scope.spawn(|| run_end(paths.server, &mut ends.server));
        let client = scope.spawn(|| run_end(paths.client, &mut ends.client));
        while !over.load(Ordering::Acquire) {
            thread::sleep(std::time::Duration::from_nanos(SAMPLE_EVERY.as_nanos()));
            if let Err(error) = lock(seen).sender.sample() {
                over.store(true, Ordering::Release);
                stops.iter().for_each(Stop::stop);
                // Errors of the ends are reported first.
                joined(server.join())?;
                joined(client.join())?;
                return Err(LiveError::system("socket diagnosis", &error));
            }
        }
        let ended = [joined(server.join())?, joined(client.join())?];
        Ok(ended[0].min(ended[1]))
    })
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn record(
    paths: &[SutPath],
    run: &SutRun<'_>,
    ends: &Ends,
    seen: &Seen,
) -> Result<SutRecord, LiveError> {
    let (client, server) = (&ends.client, &ends.server);
    let mut record =
        SutRecord::of_halves(run, paths.len(), client.application(), server.application())?;
    record.counts.times = vec![SendTimes::default(); paths.len()];
    let (sender, receiver) = if run.reverse { (client, server) } else { (server, client) };
    for track in seen.sender.tracks() {
        let Some(path) = track.path(paths) else { continue };
        let flow = record.flow_mut();
        flow.sender_subflows.push(path);
        flow.sent.first_sent_bytes[path] += track.reading.first_sent_bytes();
        flow.sent.retransmitted_segs += u64::from(track.reading.total_retrans);
        record.counts.times[path].add(&track.reading);
        let name = &track.congestion;
        if !name.is_empty() && !record.congestion.contains(name) {
            record.congestion.push(name.clone());
        }
    }
    let arrived = seen.receiver.tracks().iter().map(|track| track.reading.data_segs_in);
    record.flow_mut().data_packets = arrived.map(u64::from).sum();
    if sender.protocol() == Protocol::Mptcp {
        add_multipath(&mut record.run, sender, receiver, &seen.receiver)?;
    }
    record.series = sampler::series(seen.sender.tracks(), paths);
    let points = receiver.read_series();
    if !points.is_empty() {
        record.series.push(SutSeries { quantity: SutQuantity::Read, path: None, points });
    }
    Ok(record)
}

/// Adds the counters that only multi-path connections have, and checks that there was no fallback.
fn add_multipath(
    record: &mut RunRecord,
    sender: &KernelHost<Half>,
    receiver: &KernelHost<Half>,
    arrived: &Sampler,
) -> Result<(), LiveError> {
    let failed = |error: io::Error| LiveError::system("asking for the state of MPTCP", &error);
    let (sent, read) =
        (sender.mptcp_readings().map_err(failed)?, receiver.mptcp_readings().map_err(failed)?);
    // A connection that failed is not checked.
    let is_complete = record.outcome.is_complete();
    let flow = &mut record.flows[0];
    if flow.failure.is_none() && sent.iter().chain(&read).any(|reading| reading.fallback) {
        return Err(LiveError::Failed(
            "the kernel fell back from MPTCP to plain TCP: a middlebox removes MPTCP options, or a \
             subflow that carried everything lost its mappings"
                .to_owned(),
        ));
    }
    flow.sent.reinjected_bytes = sent.iter().map(|reading| reading.bytes_retrans).sum();
    let of_subflows: u64 = arrived.tracks().iter().map(|track| track.reading.bytes_received).sum();
    let of_connections = read.iter().map(|reading| reading.bytes_received).sum();
    // Before the end, data that wait for preceding bytes are counted by the subflow only.
    if is_complete {
        flow.duplicate_bytes = of_subflows.saturating_sub(of_connections);
    }
    Ok(())
}

/// Checks that all subflows use the congestion control of the first one.
fn check_congestion(record: &SutRecord, settings: &KernelSettings) -> Result<(), LiveError> {
    let asked = &settings.congestion;
    record.congestion.iter().find(|name| *name != asked).map_or(Ok(()), |other| {
        Err(LiveError::Failed(format!(
            "the kernel was asked for congestion control {asked} and a connection or subflow \
             used {other}"
        )))
    })
}

impl SendTimes {
    /// Adds a subflow of the path.
    fn add(&mut self, reading: &TcpReading) {
        self.busy_us += reading.busy_time;
        self.rwnd_limited_us += reading.rwnd_limited;
        self.sndbuf_limited_us += reading.sndbuf_limited;
    }
}
