//! Which pure acknowledgements a later one of the same batch makes superfluous.
//!
//! Acknowledgements are cumulative: without the earlier one the peer learns the same, as if it had
//! been lost (the `ack-filter` of tc-cake(8) drops them in queues; a receiver with GRO does not
//! send them at all), and the later window replaces the earlier one. Not superfluous are those with
//! SACK blocks or news of MPTCP, and those that a repetition follows, which is counted (RFC 5681
//! s3.2). The last repetition may be superfluous: what it asked for has arrived.

use wire::{Body, Flags, Packet, TcpSegment};

/// Whether `next`, which follows `earlier`, says all that it says.
pub(crate) fn supersedes(next: &Packet, earlier: &Packet) -> bool {
    let (Some(new), Some(old)) = (pure_ack(next), pure_ack(earlier)) else { return false };
    let advance = new.ack.0.wrapping_sub(old.ack.0);
    (new.src_port, new.dst_port, new.seq) == (old.src_port, old.dst_port, old.seq)
        && (&next.ends, next.ecn) == (&earlier.ends, earlier.ecn)
        && advance > 0
        && advance < 1 << 31
        && new.options.timestamps.is_some() == old.options.timestamps.is_some()
        && acks_data(new) == acks_data(old)
}

/// Whether a later packet may supersede it.
pub(crate) fn is_pure_ack(packet: &Packet) -> bool {
    pure_ack(packet).is_some()
}

/// The segment, if it has an acknowledgement and no other news.
fn pure_ack(packet: &Packet) -> Option<&TcpSegment> {
    let Body::Tcp(segment) = &packet.body else { return None };
    let mptcp = &segment.options.mptcp;
    let is_pure = segment.flags == Flags::ACK
        && segment.payload.is_empty()
        && !packet.corrupted
        && segment.options.sack.is_empty()
        && mptcp.others().is_empty()
        && mptcp.ignored() == 0
        && mptcp.dss.is_none_or(|dss| dss.mapping().is_none() && !dss.fin());
    is_pure.then_some(segment)
}

/// Whether there is a data acknowledgement (RFC 8684 s3.3.2).
fn acks_data(segment: &TcpSegment) -> bool {
    segment.options.mptcp.dss.is_some_and(|dss| dss.ack().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use wire::mptcp::{DataNumber, Dss, Mapping, MptcpOption};
    use wire::{Payload, SeqNumber, Timestamps};

    fn ack(number: u32, change: impl FnOnce(&mut TcpSegment)) -> Packet {
        let mut segment = TcpSegment {
            src_port: 1,
            dst_port: 2,
            seq: SeqNumber(7),
            ack: SeqNumber(number),
            flags: Flags::ACK,
            ..TcpSegment::default()
        };
        let times = Timestamps { value: number, echo: 3 };
        segment.options.timestamps = Some(times);
        segment.options.mptcp.dss = Some(Dss::EMPTY.with_ack(DataNumber::Long(number.into())));
        change(&mut segment);
        let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        Packet::new(src.into(), dst.into(), Body::Tcp(segment))
    }

    fn plain(number: u32) -> Packet {
        ack(number, |_| {})
    }

    #[test]
    fn later_acknowledgement_supersedes_an_earlier_one_also_across_a_wrap() {
        assert!(supersedes(&plain(200), &plain(100)));
        assert!(supersedes(&plain(5), &plain(u32::MAX - 5)));
        assert!(!supersedes(&plain(100), &plain(200)), "reordered");
        assert!(!supersedes(&plain(100), &plain(100)), "a repetition counts");
    }

    #[test]
    fn whatever_says_more_is_kept() {
        type Change = fn(&mut TcpSegment);
        let changes: [(&str, Change); 10] = [
            ("payload", |segment| segment.payload = Payload::virtual_range(0, 0, 1)),
            ("FIN", |segment| segment.flags = segment.flags | Flags::FIN),
            ("RST", |segment| segment.flags = segment.flags | Flags::RST),
            ("ECE", |segment| segment.flags = Flags(segment.flags.0 | 1 << 6)),
            ("flow", |segment| segment.dst_port = 9),
            ("data in between", |segment| segment.seq = SeqNumber(8)),
            ("SACK", |segment| {
                let pushed = segment.options.sack.push(SeqNumber(1), SeqNumber(2));
                assert!(pushed);
            }),
            ("no data acknowledgement", |segment| segment.options.mptcp.dss = None),
            ("another option", |segment| {
                segment.options.mptcp.push(MptcpOption::Prio { backup: true });
            }),
            ("DATA_FIN", |segment| {
                let dsn = DataNumber::Long(1);
                let fin = Mapping { dsn, subflow_seq: 0, len: 1, checksum: None };
                segment.options.mptcp.dss = Some(Dss::EMPTY.with_mapping(fin).with_fin());
            }),
        ];
        for (name, change) in changes {
            assert!(!supersedes(&plain(200), &ack(100, change)), "earlier one with {name}");
            assert!(!supersedes(&ack(200, change), &plain(100)), "later one with {name}");
        }
    }
}
