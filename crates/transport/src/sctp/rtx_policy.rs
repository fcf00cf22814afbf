//! `RtxPolicy`: the path that a retransmission takes (RFC 9260 s6.4.1, and the variants of CMT).
//!
//! What a path is like is an argument; marking chunks and sending them is left to the association.

use crate::choice::own_name;
use base::{Duration, PathId};

/// Where a chunk goes whose T3-rtx expired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RtxPolicy {
    /// The path that lost it, the next one if that is inactive (RTX-SAME).
    Same,
    /// The next active path in the order of the list, another one if there is any (RFC 9260
    /// s6.4.1).
    #[default]
    Next,
    /// Any path with room in its window, a random one of them (RTX-ASAP).
    Asap,
    /// The largest window (RTX-CWND).
    Cwnd,
    /// The largest threshold (RTX-SSTHRESH).
    Ssthresh,
    /// The lowest loss rate (RTX-LOSSRATE).
    LossRate,
    /// The smallest SRTT (000 sII).
    Rtt,
}

/// Names of policies in ns-2 and in the papers on CMT, and in INET, whose parameter
/// `cmtRetransmissionVariant` has the one value.
const ALIASES: &[(&str, &str)] = &[
    ("loss-rate", "lossrate"),
    ("rtx-same", "same"),
    ("rtx-asap", "asap"),
    ("rtx-cwnd", "cwnd"),
    ("rtx-ssthresh", "ssthresh"),
    ("rtx-lossrate", "lossrate"),
    ("normal", "next"),
];

/// A path that may take a retransmission: confirmed, and active if any is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Candidate {
    /// The path.
    pub path: PathId,
    /// Congestion window, in bytes.
    pub cwnd: u64,
    /// Slow-start threshold, in bytes; `u64::MAX` while infinite.
    pub ssthresh: u64,
    /// Bytes in the network.
    pub in_flight: u64,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Share of chunks that were lost.
    pub loss: f64,
}

impl RtxPolicy {
    /// Every policy with one sentence.
    pub const ALL: [(RtxPolicy, &str); 7] = [
        (RtxPolicy::Same, "the path that lost the chunk"),
        (RtxPolicy::Next, "the next active path of the list (RFC 9260 s6.4.1)"),
        (RtxPolicy::Asap, "a random path with room in its window"),
        (RtxPolicy::Cwnd, "the path with the largest congestion window"),
        (RtxPolicy::Ssthresh, "the path with the largest slow-start threshold"),
        (RtxPolicy::LossRate, "the path with the lowest loss rate"),
        (RtxPolicy::Rtt, "the path with the smallest round-trip time"),
    ];

    /// The name in options and scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            RtxPolicy::Same => "same",
            RtxPolicy::Next => "next",
            RtxPolicy::Asap => "asap",
            RtxPolicy::Cwnd => "cwnd",
            RtxPolicy::Ssthresh => "ssthresh",
            RtxPolicy::LossRate => "lossrate",
            RtxPolicy::Rtt => "rtt",
        }
    }

    /// The policy with this `name`, in any case.
    pub fn by_name(name: &str) -> Option<RtxPolicy> {
        let name = own_name(name, ALIASES);
        RtxPolicy::ALL.into_iter().map(|(policy, _)| policy).find(|policy| policy.name() == name)
    }

    /// The path among `candidates`, in the order of the list, for a chunk lost on `lost`. Of equal
    /// ones the lowest index; `random` decides for `asap`. `None` if there is no candidate.
    pub fn choose(self, lost: PathId, candidates: &[Candidate], random: u64) -> Option<PathId> {
        let best = |key: &dyn Fn(&Candidate) -> f64| {
            let smaller = |best: Option<&Candidate>, next: &Candidate| {
                best.is_none_or(|best| key(next) < key(best))
            };
            let pick = |best, next| if smaller(best, next) { Some(next) } else { best };
            candidates.iter().fold(None, pick).map(|candidate| candidate.path)
        };
        match self {
            RtxPolicy::Same => {
                let is_there = candidates.iter().any(|candidate| candidate.path == lost);
                if is_there { Some(lost) } else { next_after(lost, candidates) }
            }
            RtxPolicy::Next => next_after(lost, candidates),
            RtxPolicy::Asap => {
                let has_room = |candidate: &&Candidate| candidate.in_flight < candidate.cwnd;
                let roomy: Vec<&Candidate> = candidates.iter().filter(has_room).collect();
                if roomy.is_empty() {
                    return next_after(lost, candidates);
                }
                let index = (random % roomy.len() as u64) as usize;
                Some(roomy[index].path)
            }
            RtxPolicy::Cwnd => best(&|candidate| -(candidate.cwnd as f64)),
            RtxPolicy::Ssthresh => best(&|candidate| -(candidate.ssthresh as f64)),
            RtxPolicy::LossRate => best(&|candidate| candidate.loss),
            RtxPolicy::Rtt => {
                best(&|candidate| candidate.srtt.map_or(f64::INFINITY, Duration::as_secs_f64))
            }
        }
    }
}

/// The first candidate behind `lost` in a circle; `lost` itself only if there is no other.
fn next_after(lost: PathId, candidates: &[Candidate]) -> Option<PathId> {
    let others = || candidates.iter().map(|candidate| candidate.path);
    let behind = others().find(|path| *path > lost);
    let other = behind.or_else(|| others().find(|path| *path != lost));
    other.or_else(|| others().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const P1: Candidate = Candidate {
        path: PathId(0),
        cwnd: 14_680,
        ssthresh: 20_000,
        in_flight: 14_680,
        srtt: Some(Duration::from_millis(100)),
        loss: 0.02,
    };
    const P2: Candidate = Candidate {
        path: PathId(1),
        cwnd: 44_040,
        ssthresh: 30_000,
        in_flight: 0,
        srtt: Some(Duration::from_millis(200)),
        loss: 0.0,
    };

    #[test]
    fn example_state_of_two_paths() {
        for (policy, expected) in [
            (RtxPolicy::Same, P1),
            (RtxPolicy::Next, P2),
            (RtxPolicy::Asap, P2),
            (RtxPolicy::Cwnd, P2),
            (RtxPolicy::Ssthresh, P2),
            (RtxPolicy::LossRate, P2),
            (RtxPolicy::Rtt, P1),
        ] {
            for random in 0..3 {
                let chosen = policy.choose(P1.path, &[P1, P2], random);
                assert_eq!(chosen, Some(expected.path), "{policy:?}");
            }
            assert_eq!(RtxPolicy::by_name(policy.name()), Some(policy));
        }
        for (name, policy) in ALIASES {
            assert_eq!(RtxPolicy::by_name(name).map(RtxPolicy::name), Some(*policy));
        }
        assert_eq!(RtxPolicy::by_name("RTX-CWND"), Some(RtxPolicy::Cwnd));
    }

    #[test]
    fn path_that_is_no_candidate_and_a_path_alone() {
        for (policy, _) in RtxPolicy::ALL {
            assert_eq!(policy.choose(P1.path, &[P2], 7), Some(P2.path), "{policy:?}");
            assert_eq!(policy.choose(P1.path, &[P1], 7), Some(P1.path), "{policy:?}");
            assert_eq!(policy.choose(P1.path, &[], 7), None);
        }
        assert_eq!(RtxPolicy::Next.choose(P2.path, &[P1, P2], 0), Some(P1.path), "in a circle");
        let unmeasured = Candidate { srtt: None, ..P1 };
        assert_eq!(RtxPolicy::Rtt.choose(P1.path, &[unmeasured, P2], 0), Some(P2.path));
    }
}
