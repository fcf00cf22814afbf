//! Segments that belong to no connection, and their answers.

use crate::endpoint::Tuple;
use wire::{Body, Flags, SeqNumber, TcpSegment};

/// Whether the segment is a SYN that opens a connection.
pub(crate) fn opens_connection(segment: &TcpSegment) -> bool {
    segment.flags.contains(Flags::SYN)
        && !segment.flags.contains(Flags::ACK)
        && !segment.flags.contains(Flags::RST)
}

/// The reset that answers a segment without a connection or listener (RFC 9293 s3.10.7.1); none
/// answers a reset.
pub(crate) fn refusal(ends: &Tuple, segment: &TcpSegment) -> Option<Body> {
    if segment.flags.contains(Flags::RST) {
        return None;
    }
    let mut reset = TcpSegment {
        src_port: ends.local.port(),
        dst_port: ends.remote.port(),
        flags: Flags::RST,
        ..TcpSegment::default()
    };
    if segment.flags.contains(Flags::ACK) {
        reset.seq = segment.ack;
    } else {
        reset.seq = SeqNumber(0);
        reset.ack = segment.seq + segment.sequence_len();
        reset.flags = Flags::RST | Flags::ACK;
    }
    Some(Body::Tcp(reset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Payload;

    fn answer(flags: Flags) -> Option<TcpSegment> {
        let ends =
            Tuple { local: ([10, 0, 0, 1], 80).into(), remote: ([10, 0, 0, 2], 4000).into() };
        let segment = TcpSegment {
            seq: SeqNumber(1000),
            ack: SeqNumber(77),
            flags,
            payload: Payload::from(vec![1, 2, 3]),
            ..TcpSegment::default()
        };
        match refusal(&ends, &segment)? {
            Body::Tcp(reset) => Some(reset),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reset_has_the_number_that_the_peer_expects() {
        let reset = answer(Flags::ACK).expect("an answer");
        assert_eq!((reset.src_port, reset.dst_port), (80, 4000));
        assert_eq!((reset.flags, reset.seq), (Flags::RST, SeqNumber(77)));
        let reset = answer(Flags::SYN).expect("an answer");
        assert_eq!(reset.flags, Flags::RST | Flags::ACK);
        assert_eq!((reset.seq, reset.ack), (SeqNumber(0), SeqNumber(1004)), "SYN and 3 bytes");
        assert_eq!(answer(Flags::RST), None);
        assert_eq!(answer(Flags::RST | Flags::ACK), None);
    }

    #[test]
    fn only_a_syn_alone_opens_a_connection() {
        let opens = |flags| opens_connection(&TcpSegment { flags, ..TcpSegment::default() });
        assert!(opens(Flags::SYN));
        assert!(!opens(Flags::SYN | Flags::ACK));
        assert!(!opens(Flags::SYN | Flags::RST));
        assert!(!opens(Flags::ACK));
    }
}
