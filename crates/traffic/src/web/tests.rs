//! Both halves over pipes of constant delay and bounded buffers, with times calculated by hand.
//!
//! Connecting takes a round trip of 20 ms, everything written arrives 10 ms later, and a pipe
//! takes no more than its capacity before the reader has it.

use super::*;
use crate::application::{Application, MessageInfo, StreamFailure, StreamHost};
use crate::outcome::Outcome;
use base::{Duration, Instant, SocketId};
use std::collections::VecDeque;
use wire::Payload;

const DELAY: Duration = Duration::from_millis(10);

/// One direction of a connection.
#[derive(Default)]
struct Pipe {
    unreceived: u64,
    cut_short: bool,
}

/// What one host can do in this instant. Socket N of both hosts is the same connection.
struct End {
    now: Instant,
    capacity: u64,
    /// Written by this host.
    out: Vec<Pipe>,
    /// To be read by it.
    readable: Vec<VecDeque<Payload>>,
    sent: Vec<(usize, u16, Payload)>,
    /// Largest message, and the streams of messages to be read by it.
    largest: Option<u32>,
    streams: VecDeque<u16>,
    connected: Vec<usize>,
    shut: usize,
}

impl End {
    fn new(capacity: u64) -> Self {
        let (out, readable, sent, connected) = (vec![], vec![], vec![], vec![]);
        let (now, largest, streams) = (Instant::ZERO, None, VecDeque::new());
        End { now, capacity, out, readable, sent, largest, streams, connected, shut: 0 }
    }

    fn add_connection(&mut self) -> usize {
        self.out.push(Pipe::default());
        self.readable.push(VecDeque::new());
        self.out.len() - 1
    }
}

impl StreamHost for End {
    fn now(&self) -> Instant {
        self.now
    }
    fn connect(&mut self) -> Result<SocketId, StreamFailure> {
        let number = self.add_connection();
        self.connected.push(number);
        Ok(SocketId(number as u32))
    }
    fn write(&mut self, socket: SocketId, payload: &Payload) -> u32 {
        let pipe = &mut self.out[socket.index()];
        let taken = u64::from(payload.len()).min(self.capacity - pipe.unreceived) as u32;
        pipe.cut_short = taken < payload.len();
        pipe.unreceived += u64::from(taken);
        if taken > 0 {
            self.sent.push((socket.index(), 0, payload.slice(0, taken)));
        }
        taken
    }
    fn read(&mut self, socket: SocketId, _max: u32) -> Payload {
        self.readable[socket.index()].pop_front().unwrap_or_default()
    }
    fn largest_message(&self) -> Option<u32> {
        self.largest
    }
    fn send_message(&mut self, socket: SocketId, payload: &Payload, info: MessageInfo) -> bool {
        let pipe = &mut self.out[socket.index()];
        let len = u64::from(payload.len());
        if len > self.capacity - pipe.unreceived {
            pipe.cut_short = true;
            return false;
        }
        pipe.unreceived += len;
        self.sent.push((socket.index(), info.stream, payload.clone()));
        true
    }
    fn receive_message(&mut self, socket: SocketId) -> Option<(u16, Payload)> {
        let payload = self.readable[socket.index()].pop_front()?;
        Some((self.streams.pop_front()?, payload))
    }
    fn shutdown(&mut self, _socket: SocketId) {
        self.shut += 1;
    }
    fn close(&mut self, _socket: SocketId) {}
}

enum Flying {
    Connected(usize),
    Data { to: usize, connection: usize, stream: u16, payload: Payload },
}

/// A browser and a server.
struct Pair {
    browser: Browser,
    server: WebServer,
    ends: [End; 2],
    flying: VecDeque<(Instant, Flying)>,
    most_open: usize,
    /// Host, stream and length of everything sent.
    all_sent: Vec<(usize, u16, u32)>,
}

impl Pair {
    fn load(web: &Web, capacity: u64) -> Pair {
        let mut pair = Pair {
            browser: Browser::new(web),
            server: WebServer::new(web),
            ends: [End::new(capacity), End::new(capacity)],
            flying: VecDeque::new(),
            most_open: 0,
            all_sent: Vec::new(),
        };
        if let Http::Streams(_) = web.http {
            pair.ends.iter_mut().for_each(|end| end.largest = Some(5000));
        }
        pair.browser.on_start(&mut pair.ends[0]);
        pair.take();
        for _ in 0..200_000 {
            if pair.browser.is_done() || !pair.step() {
                break;
            }
        }
        pair
    }

    /// What was done in this instant begins to fly; kept in order of time.
    fn take(&mut self) {
        let now = self.ends[0].now;
        for number in std::mem::take(&mut self.ends[0].connected) {
            self.flying.push_back((now + DELAY * 2, Flying::Connected(number)));
        }
        for from in 0..2 {
            for (connection, stream, payload) in std::mem::take(&mut self.ends[from].sent) {
                let to = 1 - from;
                self.all_sent.push((from, stream, payload.len()));
                let data = Flying::Data { to, connection, stream, payload };
                self.flying.push_back((now + DELAY, data));
            }
        }
        self.flying.make_contiguous().sort_by_key(|(at, _)| *at);
        self.most_open = self.most_open.max(self.ends[0].out.len());
    }

    fn step(&mut self) -> bool {
        let arrival = self.flying.front().map(|(at, _)| *at);
        let timers = [self.browser.poll_deadline(), self.server.poll_deadline()];
        let timer = timers.into_iter().flatten().min();
        let Some(now) = arrival.into_iter().chain(timer).min() else { return false };
        self.ends.iter_mut().for_each(|end| end.now = now);
        if arrival == Some(now) {
            if let Some((_, what)) = self.flying.pop_front() {
                self.arrive(what);
            }
        } else {
            self.browser.on_timeout(&mut self.ends[0]);
            self.server.on_timeout(&mut self.ends[1]);
        }
        self.take();
        true
    }

    fn arrive(&mut self, what: Flying) {
        let [client, server] = &mut self.ends;
        match what {
            Flying::Connected(number) => {
                assert_eq!(server.add_connection(), number);
                self.server.on_accepted(server, SocketId(number as u32));
                self.browser.on_connected(client, SocketId(number as u32));
            }
            Flying::Data { to, connection, stream, payload } => {
                let socket = SocketId(connection as u32);
                let pipe = &mut self.ends[1 - to].out[connection];
                pipe.unreceived -= u64::from(payload.len());
                let again = std::mem::take(&mut pipe.cut_short);
                self.ends[to].readable[connection].push_back(payload);
                self.ends[to].streams.push_back(stream);
                if to == 0 {
                    self.browser.on_readable(&mut self.ends[0], socket);
                } else {
                    self.server.on_readable(&mut self.ends[1], socket);
                }
                match (again, to) {
                    (true, 0) => self.server.on_writable(&mut self.ends[1], socket),
                    (true, _) => self.browser.on_writable(&mut self.ends[0], socket),
                    _ => {}
                }
            }
        }
    }

    /// The numbers of a page that must have been loaded.
    fn outcome(&self) -> Outcome {
        assert_eq!(self.browser.report().mismatch, None);
        assert_eq!(self.server.report().mismatch, None);
        assert_eq!(self.browser.report().failure, None);
        let outcome = self.browser.outcome();
        assert!(outcome.is_complete(), "not loaded");
        outcome
    }
}

fn object(response_bytes: u64, urgency: u8) -> Object {
    Object {
        label: String::new(),
        host: 0,
        request_bytes: 400,
        response_bytes,
        think: Duration::ZERO,
        urgency,
        in_clear: false,
    }
}

fn fetch(object: u32, waits: &[(u32, Trigger, u64)]) -> Activity {
    let wait = |(on, event, millis): &(u32, Trigger, u64)| Wait {
        on: *on,
        event: *event,
        delay: Duration::from_millis(*millis),
    };
    Activity {
        action: Action::Fetch(object),
        waits: waits.iter().map(wait).collect(),
        before_load: true,
    }
}

fn work(millis: u64, waits: &[(u32, Trigger, u64)]) -> Activity {
    Activity { action: Action::Work(Duration::from_millis(millis)), ..fetch(0, waits) }
}

fn web(objects: Vec<Object>, activities: Vec<Activity>, http: Http) -> Web {
    let page = Page::new("page".into(), objects, activities).expect("sound");
    Web { page: Arc::new(page), http, per_host: false, opening: Opening::default() }
}

/// A document and `count` objects that wait for all of it.
fn star(count: u32, bytes: u64, http: Http) -> Web {
    let mut objects = vec![object(2000, 0)];
    let mut activities = vec![fetch(0, &[])];
    for number in 1..=count {
        objects.push(object(bytes, 3));
        activities.push(fetch(number, &[(0, Trigger::End, 0)]));
    }
    web(objects, activities, http)
}

fn opening(tls: Option<Tls>, lookup_ms: u64) -> Opening {
    Opening { tls, lookup: Duration::from_millis(lookup_ms) }
}

#[test]
fn tls_takes_a_round_trip_on_every_connection_and_none_with_early_data() {
    for http in [Http::SIX, Http::SIX_PIPELINED, Http::Two, Http::Streams(4)] {
        for (tls, millis) in [(None, 40.0), (Some(Tls::Full), 60.0), (Some(Tls::Early), 40.0)] {
            let page = Web { opening: opening(tls, 0), ..star(0, 0, http) };
            assert_millis(millis_of(&page, u64::MAX), millis);
        }
    }
    // Handshake 40, document 20; the open connection carries two objects while five others open.
    let page = |tls| Web { opening: opening(tls, 0), ..star(13, 5000, Http::SIX) };
    assert_millis(millis_of(&page(None), u64::MAX), 100.0);
    assert_millis(millis_of(&page(Some(Tls::Full)), u64::MAX), 140.0);
    let pair = Pair::load(&page(Some(Tls::Full)), u64::MAX);
    let sent = |from| pair.all_sent.iter().filter(move |sent| sent.0 == from).map(|sent| sent.2);
    assert_eq!(sent(0).filter(|len| *len == 517).count(), 6, "a hello on each connection");
    assert_eq!(sent(1).filter(|len| *len == 4000).count(), 6, "certificates on each");
}

#[test]
fn connections_of_http_urls_have_no_tls() {
    let mut page = star(1, 5000, Http::SIX);
    let mut objects = page.page.objects().to_vec();
    objects[0].in_clear = true;
    page = Web {
        opening: opening(Some(Tls::Full), 0),
        ..web(objects, page.page.activities().to_vec(), Http::SIX)
    };
    let pair = Pair::load(&page, u64::MAX);
    // 40 for the document in the clear; the object needs a connection with TLS: 20 + 20 + 20.
    assert_millis(pair.outcome().value.expect("loaded") * 1e3, 100.0);
    assert_eq!(pair.most_open, 2);
}

#[test]
fn name_of_every_host_is_looked_up_once() {
    for http in [Http::SIX, Http::Two] {
        let page = star(20, 5000, http);
        let mut objects = page.page.objects().to_vec();
        objects[20].host = 1;
        let activities = page.page.activities().to_vec();
        let plain = millis_of(&web(objects.clone(), activities.clone(), Http::Two), u64::MAX);
        assert_millis(plain, 60.0);
        let page = Web {
            opening: opening(None, 30),
            per_host: true,
            ..web(objects, activities, Http::Two)
        };
        // 30 + 40 for the document; then the other host: 30 + 40.
        assert_millis(millis_of(&page, u64::MAX), 140.0);
    }
}

#[test]
fn several_pages_have_the_mean_of_their_load_times() {
    let activities = vec![
        work(0, &[]),
        fetch(0, &[(0, Trigger::End, 0)]),
        work(0, &[(1, Trigger::End, 0)]),
        // A pause of the user.
        work(0, &[(2, Trigger::End, 5_000)]),
        fetch(1, &[(3, Trigger::End, 0)]),
        work(0, &[(4, Trigger::End, 0)]),
    ];
    let page = web(vec![object(2000, 0), object(2000, 0)], activities, Http::SIX);
    let views = vec![View { begin: 0, load: 2 }, View { begin: 3, load: 5 }];
    let both = (*page.page).clone().of_views(views);
    // 40 with the handshake, and 20 over the connection that is still open.
    assert_millis(millis_of(&Web { page: Arc::new(both), ..page }, u64::MAX), 30.0);
}

fn millis_of(web: &Web, capacity: u64) -> f64 {
    Pair::load(web, capacity).outcome().value.expect("loaded") * 1e3
}

fn assert_millis(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} ms instead of {expected} ms");
}

#[test]
fn one_object_takes_a_handshake_and_an_exchange() {
    for http in [Http::SIX, Http::Two] {
        assert_millis(millis_of(&star(0, 0, http), u64::MAX), 40.0);
    }
}

#[test]
fn thirteen_objects_over_six_connections_take_three_rounds() {
    // 20 connect, 20 document; then one connection is open and five open within 20. The open one
    // carries an exchange meanwhile: 1 + 6 + 6 objects in three rounds of 20.
    let page = star(13, 5000, Http::SIX);
    let pair = Pair::load(&page, u64::MAX);
    assert_millis(pair.outcome().value.expect("loaded") * 1e3, 100.0);
    assert_eq!(pair.most_open, 6);
    assert_eq!(pair.ends[0].shut, 6, "all are closed in the end");
    // The fourteenth needs a round of its own.
    assert_millis(millis_of(&star(14, 5000, Http::SIX), u64::MAX), 120.0);
}

#[test]
fn pipelined_requests_need_one_round_over_six_further_connections() {
    // 20 connect, 20 document; then 20 connect and one exchange with all requests.
    for count in [6, 60] {
        let pair = Pair::load(&star(count, 5000, Http::SIX_PIPELINED), u64::MAX);
        assert_millis(pair.outcome().value.expect("loaded") * 1e3, 80.0);
        assert_eq!(pair.most_open, 7);
        let requests = |number| pair.asked_on(number);
        assert_eq!((1..7).map(requests).collect::<Vec<_>>(), [count as usize / 6; 6]);
    }
}

#[test]
fn pipelined_answers_keep_the_order_of_their_requests() {
    // The first object takes the server 100, the second is ready at once and more urgent.
    let page = star(2, 5000, Http::Pipelined { connections: 1 });
    let mut objects = page.page.objects().to_vec();
    objects[1].think = Duration::from_millis(100);
    objects[2].urgency = 1;
    let page = web(objects, page.page.activities().to_vec(), page.http);
    let times = Pair::load(&page, u64::MAX).outcome().message_delays;
    assert_millis(times[1] * 1e3, 120.0);
    assert_millis(times[2] * 1e3, 120.0);
}

#[test]
fn concurrent_streams_need_one_round() {
    let pair = Pair::load(&star(60, 5000, Http::Two), u64::MAX);
    assert_millis(pair.outcome().value.expect("loaded") * 1e3, 60.0);
    assert_eq!(pair.most_open, 1);
    let outcome = pair.outcome();
    assert_eq!(outcome.message_delays.len(), 61);
    assert!(outcome.message_delays.iter().all(|time| (time - 0.02).abs() < 1e-9));
}

#[test]
fn more_streams_than_a_server_allows_wait() {
    assert_millis(millis_of(&star(100, 5000, Http::Two), u64::MAX), 60.0);
    assert_millis(millis_of(&star(101, 5000, Http::Two), u64::MAX), 80.0);
}

#[test]
fn limits_hold_per_host_if_asked() {
    let mut page = star(12, 5000, Http::One { connections: 2 });
    let mut objects = page.page.objects().to_vec();
    objects.iter_mut().enumerate().for_each(|(number, object)| object.host = number as u32 % 3);
    let activities = page.page.activities().to_vec();
    page.page = Arc::new(Page::new("page".into(), objects, activities).expect("sound"));
    page.per_host = true;
    let pair = Pair::load(&page, u64::MAX);
    pair.outcome();
    assert_eq!(pair.most_open, 6, "two for each of three hosts");
    page.per_host = false;
    assert_eq!(Pair::load(&page, u64::MAX).most_open, 2);
}

#[test]
fn the_urgent_comes_first_and_equals_together() {
    // 40 kB a round: the stylesheet (urgency 1) overtakes what is less urgent, two images share.
    let objects = vec![object(2000, 0), object(200_000, 5), object(200_000, 5), object(200_000, 1)];
    let after = |number| fetch(number, &[(0, Trigger::End, 0)]);
    let activities = vec![fetch(0, &[]), after(1), after(2), after(3)];
    let page = web(objects, activities, Http::Two);
    let times = Pair::load(&page, 40_000).outcome().message_delays;
    let [_, first, second, urgent] = times[..] else { panic!("four objects") };
    // What was there first has filled the pipe once: 6 x 40 kB, then the other 360 kB.
    assert_millis(urgent * 1e3, 80.0);
    assert!(first > 0.149 && second > 0.149, "{first} {second}");
    // The 40 kB of the beginning were the first one's.
    assert!((first - second).abs() < 0.021, "frame by frame in turn: {first} {second}");
}

#[test]
fn urgent_requests_overtake_in_the_queue_of_http_1() {
    let mut page = star(8, 5000, Http::One { connections: 1 });
    let mut objects = page.page.objects().to_vec();
    objects[8].urgency = 1;
    let activities = page.page.activities().to_vec();
    page.page = Arc::new(Page::new("page".into(), objects, activities).expect("sound"));
    let pair = Pair::load(&page, u64::MAX);
    let outcome = pair.outcome();
    assert_millis(outcome.value.expect("loaded") * 1e3, 200.0);
    assert!(outcome.message_delays.iter().all(|time| (time - 0.02).abs() < 1e-9));
}

#[test]
fn thinking_working_and_waiting_add_up() {
    // Document 20 + 20, 7 of think time; script asked 3 after the document, 20 + 20 over a second
    // connection is not needed; it runs 50; an image is asked for when the run began + 30.
    let mut objects = vec![object(2000, 0), object(3000, 1), object(4000, 5)];
    objects[0].think = Duration::from_millis(7);
    let activities = vec![
        fetch(0, &[]),
        fetch(1, &[(0, Trigger::End, 3)]),
        work(50, &[(1, Trigger::End, 0)]),
        fetch(2, &[(2, Trigger::Start, 30), (0, Trigger::End, 0)]),
    ];
    // 47 document, 50 script asked, 70 there, work until 120, image asked at 100, there at 120.
    assert_millis(millis_of(&web(objects, activities, Http::SIX), u64::MAX), 120.0);
}

#[test]
fn parts_of_a_response_set_off_what_they_name() {
    // 10 kB a round trip: the response of 50 kB takes five rounds after the request.
    let objects = vec![object(50_000, 0), object(18, 1), object(18, 1)];
    let activities = vec![
        fetch(0, &[]),
        fetch(1, &[(0, Trigger::Received { ppm: 0 }, 0)]),
        fetch(2, &[(0, Trigger::Received { ppm: 500_000 }, 0)]),
    ];
    let pair = Pair::load(&web(objects, activities, Http::SIX), 10_000);
    pair.outcome();
    let asked: Vec<u64> = pair.browser_asked();
    // First bytes at 40; 10 kB every 10 ms; half (of what follows the two headers) at 60.
    assert_eq!(asked, [20, 60, 80], "each opens a connection of its own for 20 ms");
}

#[test]
fn what_comes_after_load_does_not_count() {
    let objects = vec![object(2000, 0), object(2000, 5)];
    let late = Activity { before_load: false, ..fetch(1, &[(0, Trigger::End, 500)]) };
    let outcome =
        Pair::load(&web(objects, vec![fetch(0, &[]), late], Http::SIX), u64::MAX).outcome();
    assert_millis(outcome.value.expect("loaded") * 1e3, 40.0);
    let all = outcome.extra.iter().find(|(name, _)| *name == "all_fetched_time");
    assert_millis(all.expect("fetched").1 * 1e3, 560.0);
    assert_eq!(outcome.message_delays.len(), 2);
}

#[test]
fn bytes_on_the_wire_are_those_of_the_page() {
    let pair = Pair::load(&star(3, 40_000, Http::SIX), 7000);
    assert_eq!(pair.outcome().bytes_read, 122_000);
    assert_eq!(pair.server.report().bytes_read, 4 * 400);
    // Concurrent streams: 9 bytes more for every frame but the first.
    let outcome = Pair::load(&star(3, 40_000, Http::Two), 7000).outcome();
    assert_eq!(outcome.bytes_read, 122_000 + 3 * 2 * 9);
}

#[test]
fn foreign_bytes_end_the_load() {
    let page = star(1, 1000, Http::SIX);
    let mut browser = Browser::new(&page);
    let mut end = End::new(1000);
    browser.on_start(&mut end);
    browser.on_connected(&mut end, SocketId(0));
    end.readable[0].push_back(Payload::from(vec![0xFF; 40]));
    browser.on_readable(&mut end, SocketId(0));
    assert!(browser.is_done());
    assert!(browser.report().mismatch.is_some());
}

#[test]
fn server_that_closes_too_early_fails_the_load() {
    let page = star(1, 1000, Http::SIX);
    let mut browser = Browser::new(&page);
    let mut end = End::new(1000);
    browser.on_start(&mut end);
    browser.on_connected(&mut end, SocketId(0));
    browser.on_peer_closed(&mut end, SocketId(0));
    assert!(browser.is_done());
    assert_eq!(browser.report().failure, Some(StreamFailure::Reset));
    assert!(!browser.outcome().is_complete());
}

impl Pair {
    /// When the request for each object was written, in milliseconds.
    fn browser_asked(&self) -> Vec<u64> {
        self.browser.asked().map(|asked| asked.expect("asked").0.as_millis()).collect()
    }

    /// How many requests were written on a connection.
    fn asked_on(&self, connection: usize) -> usize {
        self.browser.asked().flatten().filter(|(_, on)| *on == connection).count()
    }
}

#[test]
fn exchange_takes_its_stream_of_one_association() {
    // The document is exchange 0; the three others share two streams.
    for capacity in [u64::MAX, 20_000] {
        let pair = Pair::load(&star(3, 12_000, Http::Streams(2)), capacity);
        pair.outcome();
        assert_eq!(pair.most_open, 1);
        let of = |host| pair.all_sent.iter().filter(move |(from, ..)| *from == host);
        let requests: Vec<u16> = of(0).map(|(_, stream, _)| *stream).collect();
        assert_eq!(requests, [0, 1, 0, 1], "{capacity}");
        assert!(of(1).all(|(.., len)| *len <= 5000), "each frame is a message");
        let bytes = |stream: u16| -> u32 {
            of(1).filter(|(_, on, _)| *on == stream).map(|(.., len)| len).sum()
        };
        // Two responses of 12000 bytes, 9 bytes more for each of two further frames.
        assert_eq!(bytes(1), 2 * (12_000 + 2 * 9), "{capacity}");
    }
}
