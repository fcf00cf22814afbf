//! `Eligibility`: which paths a path policy leaves to new data while data go on all paths
//! (`path_policy`), and the probes of the others.
//!
//! A TSN is sent on one path, so that probes are no copies of data, as those of MPTCP are: a probe
//! is a HEARTBEAT (RFC 9260 s8.3) with a PAD chunk behind it (RFC 4820), which the peer answers.
//! It counts as in flight until then, or for one RTO. Retransmissions may go to a path that is only
//! probed; the choice of their path is left to the association.

use super::verifier::Verifier;
use crate::path_policy::{AnyPolicy, PathPolicy, PolicyChoice};
use crate::scheduler::PathView;
use base::{Duration, Instant, PathId};
use bytes::Bytes;
use std::collections::VecDeque;
use wire::sctp::Chunk;

/// Bytes of a PAD chunk without its padding (RFC 4820 s3).
const PAD_HEADER: u32 = 4;

/// A path policy, and what it has decided.
#[derive(Clone, Debug)]
pub(super) struct Eligibility {
    policy: AnyPolicy,
    /// By path.
    paths: Vec<Probed>,
    /// Bytes of all probes.
    sent_bytes: u64,
}

/// What is known of a path.
#[derive(Clone, Debug, Default)]
struct Probed {
    /// It gets no new data.
    is_suspended: bool,
    unanswered: VecDeque<Probe>,
}

/// A probe on its way.
#[derive(Clone, Copy, Debug)]
struct Probe {
    nonce: u64,
    sent_at: Instant,
    bytes: u32,
}

impl Eligibility {
    /// The policy chosen; `None` if it changes nothing.
    pub(super) fn new(choice: &PolicyChoice) -> Option<Eligibility> {
        let policy = choice.make();
        let paths = Vec::new();
        (!policy.is_none()).then_some(Eligibility { policy, paths, sent_bytes: 0 })
    }

    /// Whether the path gets no new data.
    pub(super) fn is_suspended(&self, path: PathId) -> bool {
        self.paths.get(path.index()).is_some_and(|probed| probed.is_suspended)
    }

    /// Bytes of all probes that were sent.
    pub(super) const fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// When to review the paths if nothing else happens.
    pub(super) fn deadline(&self) -> Instant {
        self.policy.poll_timeout().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Reviews the paths, to whose views it adds its marks and probes. Returns what changes: a path
    /// is suspended (`true`), or gets new data again.
    pub(super) fn review(&mut self, now: Instant, views: &mut [PathView]) -> Vec<(PathId, bool)> {
        self.paths.resize_with(views.len(), Probed::default);
        for (probed, view) in self.paths.iter_mut().zip(&mut *views) {
            let is_overdue = |probe: &mut Probe| now - probe.sent_at > view.rtt.rto;
            while probed.unanswered.pop_front_if(is_overdue).is_some() {}
            view.probing = probed.is_suspended;
            for probe in &probed.unanswered {
                add_in_flight(view, probe.bytes);
            }
        }
        let changes = self.policy.review(now, views);
        for (path, on) in &changes {
            if let Some(view) = views.get_mut(path.index()) {
                view.probing = *on;
                self.paths[path.index()].is_suspended = *on;
            }
        }
        changes
    }

    /// A path that was deleted begins anew, or another one has its number: as any new path it is
    /// not suspended. Returns whether it was.
    pub(super) fn on_path_added(&mut self, path: PathId) -> bool {
        self.policy.on_path_added(path);
        let probed = self.paths.get_mut(path.index()).map(std::mem::take);
        probed.is_some_and(|probed| probed.is_suspended)
    }

    /// Bytes of the probe that is due on the path of this view, if one is.
    pub(super) fn due(&mut self, now: Instant, view: &PathView) -> Option<u32> {
        self.policy.next_probe(now, view)
    }

    /// A probe of `bytes` bytes with this nonce is sent: its chunks.
    pub(super) fn probe(
        &mut self,
        now: Instant,
        (verifier, nonce): (&Verifier, u64),
        (view, bytes): (&mut PathView, u32),
    ) -> Vec<Chunk> {
        let mut chunks = vec![Chunk::Heartbeat(vec![verifier.info(now, nonce).to_parameter()])];
        let left = bytes.saturating_sub(chunks[0].padded_len());
        if let Some(padding) = left.checked_sub(PAD_HEADER) {
            chunks.push(Chunk::Pad(Bytes::from(vec![0; padding as usize])));
        }
        self.policy.on_probe_sent(view.id);
        add_in_flight(view, bytes);
        self.sent_bytes += u64::from(bytes);
        if let Some(probed) = self.paths.get_mut(view.id.index()) {
            probed.unanswered.push_back(Probe { nonce, sent_at: now, bytes });
        }
        chunks
    }

    /// The answer to the probe with this nonce arrives on `path`: its round trip; `None` if there
    /// is no such probe.
    pub(super) fn on_answer(&mut self, now: Instant, path: PathId, nonce: u64) -> Option<Duration> {
        let unanswered = &mut self.paths.get_mut(path.index())?.unanswered;
        let at = unanswered.iter().position(|probe| probe.nonce == nonce)?;
        unanswered.remove(at).map(|probe| now - probe.sent_at)
    }
}

fn add_in_flight(view: &mut PathView, bytes: u32) {
    view.window.inflight_bytes += u64::from(bytes);
    view.window.inflight_segs += 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::support::path;

    #[test]
    fn probe_is_in_flight_until_it_is_answered_or_overdue() {
        let choice: PolicyChoice = "drepas:interval=100ms,period=100ms".parse().expect("a policy");
        let mut eligibility = Eligibility::new(&choice).expect("a policy that does something");
        let views = || {
            let mut slow = path(1, 1000, 10, 1);
            slow.window.inflight_bytes = 1000;
            let mut fast = path(0, 10, 100, 50);
            fast.window.inflight_bytes = 60_000;
            vec![fast, slow]
        };
        let mut now = Instant::ZERO;
        let mut changes = Vec::new();
        for _ in 0..20 {
            changes.extend(eligibility.review(now, &mut views()));
            now += Duration::from_millis(100);
        }
        assert_eq!(changes, [(PathId(1), true)]);
        assert!(eligibility.is_suspended(PathId(1)) && !eligibility.is_suspended(PathId(0)));
        now += Duration::from_secs(3);
        let mut seen = views();
        eligibility.review(now, &mut seen);
        let verifier = Verifier::new(PathId(1), [10, 0, 0, 1].into());
        assert_eq!(eligibility.due(now, &seen[1]), Some(1024));
        let chunks = eligibility.probe(now, (&verifier, 7), (&mut seen[1], 1024));
        let len: u32 = chunks.iter().map(Chunk::padded_len).sum();
        assert_eq!((chunks.len(), len, seen[1].window.inflight_bytes), (2, 1024, 2024));
        let mut later = views();
        eligibility.review(now, &mut later);
        assert_eq!(later[1].window.inflight_bytes, 2024);
        now += Duration::from_millis(20);
        assert_eq!(eligibility.on_answer(now, PathId(1), 8), None);
        let rtt = eligibility.on_answer(now, PathId(1), 7);
        assert_eq!(rtt, Some(Duration::from_millis(20)));
        assert_eq!(eligibility.on_answer(now, PathId(1), 7), None, "once");
        assert_eq!(eligibility.sent_bytes(), 1024);
        assert!(Eligibility::new(&PolicyChoice::NONE).is_none());
    }
}
