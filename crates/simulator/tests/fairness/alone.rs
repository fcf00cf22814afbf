//! The controllers alone, on ideal paths: an acknowledgement for every segment exactly one RTT
//! after it, lost segments known as soon, no handshake, no headers, no timers.
//!
//! What they do here is what the algorithms do; what whole connections do otherwise is the rest
//! of TCP's doing.

use base::{CaState, Chance, Duration, Instant, PathId, Purpose};
use std::collections::VecDeque;
use transport::congestion::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Controller, Options, PathStart,
    by_name,
};

/// How the NewReno that coupled paths are compared with counts its window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    /// In real numbers, as the equations of RFC 5681 do.
    Real,
    /// In whole segments, as Linux does.
    Counter,
}

/// NewReno on one path in real numbers: `cwnd += 1 / cwnd` per segment acknowledged.
struct RealReno {
    cwnd: f64,
    ssthresh: f64,
}

impl CongestionControl for RealReno {
    fn on_path_added(&mut self, _: PathId, start: &PathStart) {
        self.cwnd = f64::from(start.initial_window_segs());
    }

    fn on_ack(&mut self, _: PathId, sample: &AckSample) {
        let mut acked = f64::from(sample.acked_segs);
        if self.cwnd < self.ssthresh {
            let grown = (self.cwnd + acked).min(self.ssthresh);
            acked -= grown - self.cwnd;
            self.cwnd = grown;
        }
        self.cwnd += acked / self.cwnd;
    }

    fn on_congestion(&mut self, _: PathId, _: &CongestionEvent) {
        self.ssthresh = (self.cwnd / 2.0).max(2.0);
    }

    fn set_recovery_window(&mut self, _: PathId, _: u32) {}

    fn on_recovery_exit(&mut self, _: PathId, _: Instant) {
        self.cwnd = self.ssthresh;
    }

    fn on_undo(&mut self, _: PathId, _: Instant) {}

    fn on_idle_restart(&mut self, _: PathId, _: Duration, _: Duration, _: Instant) {}

    fn cwnd_bytes(&self, _: PathId) -> u64 {
        (self.cwnd * 1448.0) as u64
    }

    fn cwnd_segs(&self, _: PathId) -> u32 {
        self.cwnd as u32
    }

    fn ssthresh_bytes(&self, _: PathId) -> Option<u64> {
        None
    }

    fn ssthresh_segs(&self, _: PathId) -> Option<u32> {
        None
    }
}

struct Ideal {
    rtt: Duration,
    /// When each segment in flight is known to have arrived, and its number.
    flight: VecDeque<(Instant, u64)>,
    next: u64,
    /// Losses below this belong to a reduction that was made.
    recovered: u64,
    delivered: u64,
}

const COUPLED: [&str; 3] = ["lia", "olia", "balia"];

/// RTT in ms of each path and how much of all its segments it loses; how long to look at it.
#[derive(Clone, Copy, Debug)]
struct Paths {
    rtt_ms: [u64; 2],
    p: [f64; 2],
    seconds: u64,
}

impl Paths {
    /// The rate of coupled windows over both paths by that of NewReno over the first.
    fn gain(&self, congestion: &str, arithmetic: Arithmetic) -> f64 {
        let Paths { rtt_ms, p, seconds } = *self;
        let reno = match arithmetic {
            Arithmetic::Real => {
                Controller::Custom(Box::new(RealReno { cwnd: 1.0, ssthresh: f64::INFINITY }))
            }
            Arithmetic::Counter => by_name("reno", &Options::LINUX).unwrap(),
        };
        let alone = rate(reno, &rtt_ms[..1], &p[..1], seconds);
        let coupled = by_name(congestion, &Options::LINUX).unwrap();
        rate(coupled, &rtt_ms, &p, seconds) / alone
    }
}

/// Segments per second over paths with these RTTs and loss rates.
fn rate(mut controller: Controller, rtt_ms: &[u64], p: &[f64], seconds: u64) -> f64 {
    let mut paths: Vec<Ideal> = Vec::new();
    for (number, rtt_ms) in (0..).zip(rtt_ms) {
        let (rtt, now) = (Duration::from_millis(*rtt_ms), Instant::ZERO);
        let start = PathStart {
            now,
            mss: 1448,
            initial_window_bytes: 10 * 1448,
            initial_ssthresh_bytes: None,
            srtt: Duration::ZERO,
        };
        controller.on_path_added(PathId(number), &start);
        let flight = VecDeque::new();
        paths.push(Ideal { rtt, flight, next: 0, recovered: 0, delivered: 0 });
        paths[usize::from(number)].fill(now, &controller, PathId(number));
    }
    let (chance, end) = (Chance::new(1, 0), Instant::from_secs(seconds));
    while let Some((at, path)) =
        paths.iter().zip(0..).filter_map(|(path, n)| Some((path.flight.front()?.0, n))).min()
        && at < end
    {
        let lost =
            chance.happens(p[path as usize], path, Purpose::Loss, paths[path as usize].flight[0].1);
        paths[path as usize].next_is_known(&mut controller, PathId(path as u8), lost);
    }
    paths.iter().map(|path| path.delivered).sum::<u64>() as f64 / seconds as f64
}

impl Ideal {
    fn fill(&mut self, now: Instant, controller: &Controller, id: PathId) {
        while self.flight.len() < controller.cwnd_segs(id) as usize {
            self.flight.push_back((now + self.rtt, self.next));
            self.next += 1;
        }
    }

    fn next_is_known(&mut self, controller: &mut Controller, id: PathId, lost: bool) {
        let inflight_before_segs = self.flight.len() as u32;
        let Some((now, number)) = self.flight.pop_front() else { return };
        self.delivered += u64::from(!lost);
        if lost && number >= self.recovered {
            self.recovered = self.next;
            let kind = CongestionKind::FastRecovery;
            let event = CongestionEvent {
                now,
                kind,
                inflight_segs: inflight_before_segs,
                cwnd_after_rto_segs: 1,
                snd_nxt: self.next,
            };
            controller.on_congestion(id, &event);
            controller.on_recovery_exit(id, now);
        } else if number >= self.recovered {
            let sample = AckSample {
                now,
                acked_segs: 1,
                acked_bytes: 1448,
                rtt: Some(self.rtt),
                srtt: self.rtt,
                min_rtt: self.rtt,
                inflight_before_segs,
                cwnd_limited: true,
                may_grow: true,
                state: CaState::Open,
                snd_una: number + 1,
                snd_nxt: self.next,
                paced: false,
            };
            controller.on_ack(id, &sample);
        }
        self.fill(now, controller, id);
    }
}

/// Where loss is by chance and alike on all paths, the equations of RFC 6356 s3 make a TCP of the
/// best path; windows that go up and down come near it, from above with equal RTTs and from below
/// with unequal ones, or where the second path loses more.
#[test]
fn random_loss_leaves_nearly_one_tcp() {
    for (rtt_ms, p, seconds) in [
        ([40, 40], [0.005, 0.005], 2000),
        ([20, 100], [0.005, 0.005], 2000),
        ([20, 100], [0.0005, 0.0005], 8000),
        ([10, 150], [0.005, 0.005], 2000),
        ([100, 130], [0.005, 0.01], 6000),
        ([100, 130], [0.005, 0.02], 6000),
    ] {
        let paths = Paths { rtt_ms, p, seconds };
        for congestion in COUPLED {
            let gain = paths.gain(congestion, Arithmetic::Real);
            println!("{congestion} {paths:?}: {gain:.3}");
            assert!((0.9..1.15).contains(&gain), "{congestion} {paths:?}: {gain}");
        }
    }
}

/// Regression: where a TCP counts whole segments, coupled windows lost their fractions at every
/// loss, which left them another twenty-fifth less.
#[test]
fn counting_whole_segments_takes_no_more_from_coupled_paths_than_from_a_tcp() {
    for rtt_ms in [[40, 40], [20, 100]] {
        let paths = Paths { rtt_ms, p: [0.005, 0.005], seconds: 2000 };
        for congestion in COUPLED {
            let [real, counted] =
                [Arithmetic::Real, Arithmetic::Counter].map(|kind| paths.gain(congestion, kind));
            println!("{congestion} {rtt_ms:?}: {counted:.3} counted, {real:.3} real");
            assert!(counted > real - 0.01, "{congestion} {rtt_ms:?}: {counted} {real}");
        }
    }
}
