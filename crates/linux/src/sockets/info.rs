//! The kernel's information on a connection: `struct tcp_info` and `struct mptcp_info`, from bytes.
//!
//! Kernels append to these; fields that an older one does not have are zero.

use crate::raw_netlink::array;
use crate::system::socket_option;
use base::Duration;
use nix::libc;
use std::io;
use std::os::fd::AsRawFd;

/// Linux SOL_MPTCP and MPTCP_INFO.
const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
/// Longer than any kernel's so far (248 and 96 bytes in Linux 6.18).
const ROOM: usize = 512;

/// A TCP connection or an MPTCP subflow; names as `ss -ti` prints them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpReading {
    pub snd_mss: u32,
    pub snd_cwnd: u32,
    /// Segments.
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub rtt: Duration,
    /// Segments, ever.
    pub total_retrans: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub bytes_received: u64,
    /// Segments with payload that came in.
    pub data_segs_in: u32,
    /// Microseconds with data to send or in flight.
    pub busy_time: u64,
    /// Microseconds limited by the receive window.
    pub rwnd_limited: u64,
    /// Microseconds limited by the send buffer.
    pub sndbuf_limited: u64,
}

/// An MPTCP connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct MptcpReading {
    /// It is plain TCP by now.
    pub fallback: bool,
    /// Bytes sent on another subflow although one had them already.
    pub bytes_retrans: u64,
    pub bytes_received: u64,
}

impl TcpReading {
    /// From `struct tcp_info`.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        TcpReading {
            snd_mss: word(bytes, 16),
            unacked: word(bytes, 24),
            sacked: word(bytes, 28),
            lost: word(bytes, 32),
            retrans: word(bytes, 36),
            rtt: Duration::from_micros(word(bytes, 68).into()),
            snd_cwnd: word(bytes, 80),
            total_retrans: word(bytes, 100),
            bytes_received: long(bytes, 128),
            data_segs_in: word(bytes, 152),
            busy_time: long(bytes, 168),
            rwnd_limited: long(bytes, 176),
            sndbuf_limited: long(bytes, 184),
            bytes_sent: long(bytes, 200),
            bytes_retrans: long(bytes, 208),
        }
    }

    /// Segments in flight (Linux `tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }

    /// Payload sent, repetitions not counted, in bytes.
    pub const fn first_sent_bytes(&self) -> u64 {
        self.bytes_sent.saturating_sub(self.bytes_retrans)
    }

    /// The present one of `later`, the counters no lower than they were.
    #[must_use]
    pub fn followed_by(&self, later: &TcpReading) -> TcpReading {
        TcpReading {
            total_retrans: self.total_retrans.max(later.total_retrans),
            bytes_sent: self.bytes_sent.max(later.bytes_sent),
            bytes_retrans: self.bytes_retrans.max(later.bytes_retrans),
            bytes_received: self.bytes_received.max(later.bytes_received),
            data_segs_in: self.data_segs_in.max(later.data_segs_in),
            busy_time: self.busy_time.max(later.busy_time),
            rwnd_limited: self.rwnd_limited.max(later.rwnd_limited),
            sndbuf_limited: self.sndbuf_limited.max(later.sndbuf_limited),
            ..*later
        }
    }
}

impl MptcpReading {
    /// Of a socket that was opened for MPTCP. One that is plain TCP by now has no answer of its
    /// own (Linux EOPNOTSUPP).
    pub(crate) fn of(socket: &impl AsRawFd) -> io::Result<Self> {
        let mut bytes = [0; ROOM];
        match socket_option(socket, SOL_MPTCP, MPTCP_INFO, &mut bytes) {
            Ok(_) => Ok(MptcpReading::parse(&bytes)),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                Ok(MptcpReading { fallback: true, ..MptcpReading::default() })
            }
            Err(error) => Err(error),
        }
    }

    fn parse(bytes: &[u8]) -> Self {
        MptcpReading {
            fallback: word(bytes, 8) & 1 != 0,
            bytes_retrans: long(bytes, 48),
            bytes_received: long(bytes, 64),
        }
    }
}

fn word(bytes: &[u8], offset: usize) -> u32 {
    array(bytes, offset).map_or(0, u32::from_ne_bytes)
}

fn long(bytes: &[u8], offset: usize) -> u64 {
    array(bytes, offset).map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_answer_of_an_old_kernel_leaves_zeros() {
        let mut bytes = vec![0; 104];
        bytes[80..84].copy_from_slice(&10u32.to_ne_bytes());
        bytes[68..72].copy_from_slice(&2500u32.to_ne_bytes());
        let info = TcpReading::parse(&bytes);
        assert_eq!((info.snd_cwnd, info.rtt), (10, Duration::from_micros(2500)));
        assert_eq!(info.bytes_sent, 0);
        assert_eq!(TcpReading::parse(&[]), TcpReading::default());
    }

    #[test]
    fn flight_is_what_is_neither_acknowledged_nor_lost() {
        let info = TcpReading { unacked: 10, sacked: 3, lost: 2, retrans: 1, ..Default::default() };
        assert_eq!(info.in_flight(), 6);
        assert_eq!(TcpReading { sacked: 1, ..TcpReading::default() }.in_flight(), 0);
    }

    #[test]
    fn counters_never_go_back() {
        let before = TcpReading { bytes_sent: 9, snd_cwnd: 4, ..TcpReading::default() };
        let after = TcpReading { bytes_sent: 0, snd_cwnd: 7, ..TcpReading::default() };
        let merged = before.followed_by(&after);
        assert_eq!((merged.bytes_sent, merged.snd_cwnd), (9, 7));
    }
}
