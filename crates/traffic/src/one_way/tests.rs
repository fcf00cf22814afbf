//! Both halves of each model over a pipe of constant delay and bounded buffer.

use super::*;
use crate::model::{Model, Traffic};
use crate::outcome::{Metric, Outcome};
use std::collections::VecDeque;

const CLIENT: SocketId = SocketId(1);
const SERVER: SocketId = SocketId(2);
const DELAY: Duration = Duration::from_millis(10);

/// What one end can do in this instant; what it did is carried to the other end by `Pair`.
struct End {
    now: Instant,
    socket: SocketId,
    /// Bytes this end may have written that the peer has not received.
    capacity: u64,
    unreceived: u64,
    sent: Vec<Payload>,
    readable: VecDeque<Payload>,
    cut_short: bool,
    shut: bool,
    connecting: bool,
    /// Largest message, if it has messages, and the lengths of those sent.
    largest: Option<u32>,
    messages: Vec<u32>,
}

impl End {
    fn new(socket: SocketId, capacity: u64) -> Self {
        End {
            now: Instant::ZERO,
            socket,
            capacity,
            unreceived: 0,
            sent: Vec::new(),
            readable: VecDeque::new(),
            cut_short: false,
            shut: false,
            connecting: false,
            largest: None,
            messages: Vec::new(),
        }
    }
}

impl StreamHost for End {
    fn now(&self) -> Instant {
        self.now
    }
    fn connect(&mut self) -> Result<SocketId, StreamFailure> {
        self.connecting = true;
        Ok(self.socket)
    }
    fn write(&mut self, _socket: SocketId, payload: &Payload) -> u32 {
        let room = self.capacity - self.unreceived;
        let taken = u64::from(payload.len()).min(room) as u32;
        self.cut_short = taken < payload.len();
        if taken > 0 {
            self.sent.push(payload.slice(0, taken));
        }
        self.unreceived += u64::from(taken);
        taken
    }
    fn read(&mut self, _socket: SocketId, _max: u32) -> Payload {
        self.readable.pop_front().unwrap_or_default()
    }
    fn largest_message(&self) -> Option<u32> {
        self.largest
    }
    fn send_message(&mut self, socket: SocketId, payload: &Payload, info: MessageInfo) -> bool {
        assert_eq!(info, MessageInfo::default());
        if u64::from(payload.len()) > self.capacity - self.unreceived {
            self.cut_short = true;
            return false;
        }
        self.messages.push(payload.len());
        self.write(socket, payload) == payload.len()
    }
    fn shutdown(&mut self, _socket: SocketId) {
        self.shut = true;
    }
    fn close(&mut self, _socket: SocketId) {}
}

/// Steps both halves; everything written arrives `DELAY` later.
struct Pair {
    halves: [OneWay; 2],
    ends: [End; 2],
    flying: VecDeque<(Instant, usize, Payload)>,
}

impl Pair {
    fn run(traffic: &Traffic, reverse: bool, capacity: u64) -> Pair {
        Pair::run_with(traffic, reverse, capacity, None)
    }

    /// The same over connections with messages of up to `largest`.
    fn run_with(traffic: &Traffic, reverse: bool, capacity: u64, largest: Option<u32>) -> Pair {
        let halves = [Role::Client, Role::Server]
            .map(|role| OneWay::new(model_of(traffic), role, reverse, 0));
        let end = |socket| End { largest, ..End::new(socket, capacity) };
        let ends = [end(CLIENT), end(SERVER)];
        let mut pair = Pair { halves, ends, flying: VecDeque::new() };
        pair.halves[0].on_start(&mut pair.ends[0]);
        assert!(pair.ends[0].connecting);
        pair.set_now(Instant::ZERO + DELAY * 2);
        pair.halves[1].on_accepted(&mut pair.ends[1], SERVER);
        pair.halves[0].on_connected(&mut pair.ends[0], CLIENT);
        pair.take_sent();
        for _ in 0..100_000 {
            if pair.halves.iter().any(OneWay::is_done) || !pair.step() {
                break;
            }
        }
        pair
    }

    fn set_now(&mut self, now: Instant) {
        self.ends.iter_mut().for_each(|end| end.now = now);
    }

    fn take_sent(&mut self) {
        for (from, end) in self.ends.iter_mut().enumerate() {
            let at = end.now + DELAY;
            self.flying.extend(end.sent.drain(..).map(|payload| (at, 1 - from, payload)));
        }
    }

    fn step(&mut self) -> bool {
        let arrival = self.flying.front().map(|(at, ..)| *at);
        let timers = self.halves.iter().filter_map(OneWay::poll_deadline).min();
        let Some(now) = arrival.into_iter().chain(timers).min() else { return false };
        self.set_now(now);
        if arrival == Some(now) {
            if let Some((_, to, payload)) = self.flying.pop_front() {
                self.arrive(to, payload);
            }
        } else {
            for (half, end) in self.halves.iter_mut().zip(&mut self.ends) {
                half.on_timeout(end);
            }
        }
        self.take_sent();
        true
    }

    fn arrive(&mut self, to: usize, payload: Payload) {
        self.ends[1 - to].unreceived -= u64::from(payload.len());
        self.ends[to].readable.push_back(payload);
        let socket = self.ends[to].socket;
        self.halves[to].on_readable(&mut self.ends[to], socket);
        if std::mem::take(&mut self.ends[1 - to].cut_short) {
            let socket = self.ends[1 - to].socket;
            self.halves[1 - to].on_writable(&mut self.ends[1 - to], socket);
        }
    }

    fn outcome(&self, traffic: &Traffic, reverse: bool) -> Outcome {
        let [client, server] = [&self.halves[0], &self.halves[1]].map(OneWay::report);
        let (sender, receiver) = if reverse { (client, server) } else { (server, client) };
        model_of(traffic).outcome(client, sender, receiver)
    }
}

fn model_of(traffic: &Traffic) -> Box<dyn TrafficModel + Send> {
    match traffic.model() {
        Model::OneWay(model) => model,
        Model::TwoWay(_) | Model::Web(_) | Model::Vod(_) | Model::Call(_) => {
            panic!("not a one-way model")
        }
    }
}

fn value_of(traffic: &Traffic, reverse: bool, capacity: u64) -> f64 {
    let pair = Pair::run(traffic, reverse, capacity);
    pair.outcome(traffic, reverse).value.expect("a complete run")
}

#[test]
fn download_completes_two_round_trips_after_the_start_of_connect() {
    let traffic = Traffic::BulkSize(1 << 20);
    assert!((value_of(&traffic, false, u64::MAX) - 0.04).abs() < 1e-9);
}

#[test]
fn upload_needs_no_request() {
    let traffic = Traffic::BulkSize(1 << 20);
    assert!((value_of(&traffic, true, u64::MAX) - 0.03).abs() < 1e-9);
}

#[test]
fn a_small_buffer_only_slows_the_transfer() {
    let traffic = Traffic::BulkSize(1_000_000);
    let pair = Pair::run(&traffic, false, 100_000);
    let outcome = pair.outcome(&traffic, false);
    assert_eq!(outcome.bytes_read, 1_000_000);
    assert!((outcome.value.expect("complete") - 0.13).abs() < 1e-9, "ten buffers of data");
    assert!(pair.ends[1].shut, "the server closes after its last byte");
    assert!(pair.ends[0].shut, "and the client after reading it");
}

#[test]
fn bulk_time_ends_by_the_clients_clock() {
    let traffic = Traffic::BulkTime(Duration::from_secs(2));
    for reverse in [false, true] {
        let pair = Pair::run(&traffic, reverse, 125_000);
        let outcome = pair.outcome(&traffic, reverse);
        assert_eq!(outcome.metric, Metric::Goodput);
        let goodput = outcome.value.expect("complete");
        // One buffer per 10 ms is 100 Mbit/s, less the start.
        assert!((98e6..=100e6).contains(&goodput), "goodput {goodput}");
    }
}

#[test]
fn burst_delay_counts_from_the_write_after_the_idle_time() {
    let traffic = Traffic::Burst { segments: 30, segment_bytes: 1420 };
    let pair = Pair::run(&traffic, false, u64::MAX);
    let outcome = pair.outcome(&traffic, false);
    assert_eq!(outcome.message_delays.len(), 1);
    assert!((outcome.value.expect("complete") - 0.01).abs() < 1e-9);
    assert_eq!(outcome.bytes_read, 50 * 1420);
    let written = pair.halves[1].report().sent[0];
    assert_eq!(written, Instant::from_millis(30) + Duration::from_secs(3));
}

#[test]
fn video_delays_count_from_the_schedule_even_when_the_buffer_is_full() {
    let traffic = Traffic::video(Duration::from_secs(1));
    assert!((value_of(&traffic, false, u64::MAX) - 0.01).abs() < 1e-9);
    // Half a message per 10 ms: the second half waits for one more round.
    assert!((value_of(&traffic, false, 1979) - 0.02).abs() < 1e-9);
}

#[test]
fn first_video_message_is_due_half_a_second_after_the_request() {
    let pair = Pair::run(&Traffic::video(Duration::from_secs(1)), false, u64::MAX);
    let sent = &pair.halves[1].report().sent;
    assert_eq!(sent.len(), 30);
    assert_eq!(sent[0], Instant::from_millis(530));
}

#[test]
fn wrong_data_ends_the_run_with_a_mismatch() {
    let mut half = OneWay::new(model_of(&Traffic::BulkSize(100)), Role::Client, false, 0);
    let mut end = End::new(CLIENT, 100);
    half.on_start(&mut end);
    half.on_connected(&mut end, CLIENT);
    end.readable.push_back(Payload::virtual_range(1, 50, 50));
    half.on_readable(&mut end, CLIENT);
    assert!(half.is_done());
    assert!(half.report().mismatch.is_some());
}

#[test]
fn frames_and_segments_are_whole_messages_and_bulk_is_bytes() {
    let messages = |traffic: &Traffic, capacity, largest| {
        let pair = Pair::run_with(traffic, false, capacity, Some(largest));
        assert!(pair.outcome(traffic, false).is_complete());
        pair.ends[1].messages.clone()
    };
    let video = Traffic::video(Duration::from_millis(100));
    assert_eq!(messages(&video, u64::MAX, u32::MAX), [3958; 3]);
    assert_eq!(messages(&video, u64::MAX, 1452), [1452, 1452, 1054].repeat(3));
    assert_eq!(messages(&video, 5000, 1452), [1452, 1452, 1054].repeat(3), "none is cut short");
    let burst = Traffic::Burst { segments: 3, segment_bytes: 1420 };
    assert_eq!(messages(&burst, u64::MAX, u32::MAX), [1420; 23]);
    assert_eq!(messages(&Traffic::BulkSize(100_000), u64::MAX, u32::MAX), []);
}
