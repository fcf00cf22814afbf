//! `Verifier`: heartbeats of one path, and which answers to them count (RFC 9260 s5.4 and s8.3).
//!
//! An answer counts once and only if nonce, path and address are those of the last heartbeat, so
//! that an address that does not answer never carries data (RFC 5062 s4). It may be late: the path
//! that it proves works. Timers and the choice of the path are left to the association; the nonce
//! is a random number that it draws.

use base::{Duration, Instant, PathId};
use std::net::IpAddr;
use wire::sctp::{Chunk, HeartbeatInfo, Parameter};

/// The heartbeats of one path.
#[derive(Clone, Debug)]
pub struct Verifier {
    path: PathId,
    address: IpAddr,
    /// The heartbeat that is not answered yet.
    outstanding: Option<(HeartbeatInfo, Instant)>,
    /// Its answer is not overdue.
    is_due: bool,
}

impl Verifier {
    /// No heartbeat was sent on `path` to `address`.
    pub const fn new(path: PathId, address: IpAddr) -> Self {
        Verifier { path, address, outstanding: None, is_due: false }
    }

    /// The address that is verified.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The HEARTBEAT to send; answers to the one before it do not count any more.
    pub fn probe(&mut self, now: Instant, nonce: u64) -> Chunk {
        let info = self.info(now, nonce);
        self.outstanding = Some((info, now));
        self.is_due = true;
        Chunk::Heartbeat(vec![info.to_parameter()])
    }

    /// What a HEARTBEAT with this nonce says.
    pub fn info(&self, now: Instant, nonce: u64) -> HeartbeatInfo {
        let sent_us = now.as_nanos() / 1000;
        let path = u16::from(self.path.0);
        HeartbeatInfo { nonce, sent_us, path, address: self.address }
    }

    /// A HEARTBEAT ACK with these parameters arrives; returns the round-trip time if it answers
    /// the heartbeat that is outstanding.
    pub fn handle_ack(&mut self, now: Instant, parameters: &[Parameter]) -> Option<Duration> {
        let (expected, sent_at) = self.outstanding?;
        (HeartbeatInfo::of(parameters) == Some(expected)).then(|| {
            self.forget();
            now - sent_at
        })
    }

    /// The answer is overdue; returns whether one was due, which is an error of the path.
    pub const fn give_up(&mut self) -> bool {
        std::mem::replace(&mut self.is_due, false)
    }

    /// No answer counts any more.
    pub const fn forget(&mut self) {
        self.outstanding = None;
        self.is_due = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: PathId = PathId(1);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn verifier() -> Verifier {
        Verifier::new(PATH, [10, 2, 2, 1].into())
    }

    fn parameters(chunk: Chunk) -> Vec<Parameter> {
        let Chunk::Heartbeat(parameters) = chunk else { panic!("a HEARTBEAT: {chunk:?}") };
        parameters
    }

    #[test]
    fn answer_gives_the_round_trip_once() {
        let mut verifier = verifier();
        let answer = parameters(verifier.probe(at(100), 0x0123_4567_89AB_CDEF));
        assert_eq!(verifier.handle_ack(at(130), &answer), Some(Duration::from_millis(30)));
        assert_eq!(verifier.handle_ack(at(131), &answer), None, "a copy");
        assert!(!verifier.give_up());
    }

    #[test]
    fn forged_answers_and_those_of_earlier_heartbeats_do_not_count() {
        let mut verifier = verifier();
        let first = parameters(verifier.probe(at(0), 1));
        let info = HeartbeatInfo::of(&first).unwrap();
        let forged = [
            HeartbeatInfo { nonce: 2, ..info },
            HeartbeatInfo { sent_us: 1, ..info },
            HeartbeatInfo { path: 0, ..info },
            HeartbeatInfo { address: [10, 2, 2, 2].into(), ..info },
        ];
        for other in forged {
            assert_eq!(verifier.handle_ack(at(1), &[other.to_parameter()]), None, "{other:?}");
        }
        assert_eq!(verifier.handle_ack(at(1), &[]), None);
        let second = parameters(verifier.probe(at(1000), 3));
        assert_eq!(verifier.handle_ack(at(1001), &first), None, "of an earlier heartbeat");
        verifier.forget();
        assert!(!verifier.give_up());
        assert_eq!(verifier.handle_ack(at(1002), &second), None, "of a path that is gone");
    }

    #[test]
    fn late_answer_to_the_last_heartbeat_counts() {
        let mut verifier = verifier();
        let answer = parameters(verifier.probe(at(0), 1));
        assert!(verifier.give_up());
        assert!(!verifier.give_up(), "one error");
        assert_eq!(verifier.handle_ack(at(1015), &answer), Some(Duration::from_millis(1015)));
        assert_eq!(verifier.handle_ack(at(1016), &answer), None, "a copy");
    }

    #[test]
    fn heartbeat_is_small() {
        let Chunk::Heartbeat(list) = verifier().probe(at(0), 1) else { panic!("a HEARTBEAT") };
        assert_eq!(list[0].wire_len(), 28);
        let address = IpAddr::from([0x2001, 0xDB8, 0, 0, 0, 0, 0, 1]);
        let Chunk::Heartbeat(list) = Verifier::new(PATH, address).probe(at(0), 1) else {
            panic!("a HEARTBEAT")
        };
        assert_eq!(list[0].wire_len(), 40);
    }
}
