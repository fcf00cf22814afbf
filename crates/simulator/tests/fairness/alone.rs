//! The controllers alone, on ideal paths: an acknowledgement for every segment exactly one RTT
//! after it, lost segments known as soon, no handshake, no headers, no timers.
//!
//! What they do here is what the algorithms do; what whole connections do otherwise is the rest
//! of TCP's doing.

use base::{CaState, Chance, Duration, Instant, PathId, Purpose};
use std::collections::VecDeque;
use transport::congestion::{
    AckSample, Arithmetic, CongestionControl, CongestionEvent, CongestionKind, Controller,
    HyStartKind, Options, PathStart, by_name,
};

struct Ideal {
    rtt: Duration,
    /// When each segment in flight is known to have arrived, and its number.
    flight: VecDeque<(Instant, u64)>,
    next: u64,
    /// Losses below this belong to a reduction that was made.
    recovered: u64,
    delivered: u64,
}

/// Segments a second over paths of these RTTs that lose `p` of all segments.
fn rate(congestion: &str, rtt_ms: &[u64], p: f64, seconds: u64) -> f64 {
    let options =
        Options { hystart: HyStartKind::Off, arithmetic: Arithmetic::Real, ..Options::LINUX };
    let mut controller = by_name(congestion, &options).unwrap();
    let mut paths: Vec<Ideal> = Vec::new();
    for (number, rtt_ms) in (0..).zip(rtt_ms) {
        let (rtt, now) = (Duration::from_millis(*rtt_ms), Instant::ZERO);
        let start = PathStart {
            now,
            mss: 1448,
            initial_window_segs: 10,
            initial_ssthresh_segs: None,
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
        let lost = chance.happens(p, path, Purpose::Loss, paths[path as usize].flight[0].1);
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
/// with unequal ones.
#[test]
fn random_loss_leaves_nearly_one_tcp() {
    for (rtt_ms, p) in
        [([40, 40], 0.005), ([20, 100], 0.005), ([20, 100], 0.0005), ([10, 150], 0.005)]
    {
        let seconds = if p < 0.001 { 8000 } else { 2000 };
        let alone = rate("reno", &rtt_ms[..1], p, seconds);
        for congestion in ["lia", "olia", "balia"] {
            let gain = rate(congestion, &rtt_ms, p, seconds) / alone;
            println!("{congestion} {rtt_ms:?} {p}: {gain:.3}");
            assert!((0.9..1.15).contains(&gain), "{congestion} {rtt_ms:?} {p}: {gain}");
        }
    }
}
