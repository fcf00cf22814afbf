//! Buffer splitting: no path takes more than its share of a buffer that all paths use (Dreibholz et
//! al., GLOBECOM 2010).

use super::config::Sides;

/// What the rule asks about. All in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sctp) struct Shares {
    pub paths: u64,
    /// What the path takes already.
    pub taken: u64,
    /// A packet on the path.
    pub packet: u64,
    /// The send buffer; 0: unlimited.
    pub send_buffer: u64,
    /// The peer's window with what is in the network on all paths.
    pub window: u64,
}

/// Whether a path may take a new chunk. One that has taken nothing may have a packet, however small
/// its share of the send buffer is: otherwise nothing would ever be sent.
pub(in crate::sctp) fn admits(sides: Sides, shares: &Shares) -> bool {
    let Shares { paths, taken, packet, send_buffer, window } = *shares;
    let fits = |bytes: u64, buffer: u64| bytes.saturating_mul(paths) <= buffer;
    let is_free = taken == 0 || send_buffer == 0;
    let sender = !sides.has_sender() || is_free || fits(taken + packet, send_buffer);
    // One packet more is allowed already.
    sender && (!sides.has_receiver() || fits(taken, window))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_takes_its_share_of_each_buffer() {
        let shares = |taken| Shares {
            paths: 2,
            taken,
            packet: 1500,
            send_buffer: 1_048_576,
            window: 2_097_152,
        };
        assert!(admits(Sides::Sender, &shares(522_788)));
        assert!(!admits(Sides::Sender, &shares(522_789)));
        assert!(!admits(Sides::Both, &shares(522_789)));
        assert!(admits(Sides::Receiver, &shares(1_048_576)));
        assert!(!admits(Sides::Receiver, &shares(1_048_577)));
        assert!(admits(Sides::None, &shares(u64::MAX / 2)));
        assert!(admits(Sides::Sender, &Shares { send_buffer: 0, ..shares(u64::MAX / 2) }));
    }

    #[test]
    fn path_that_has_taken_nothing_gets_a_packet_of_a_buffer_with_less_for_each() {
        let shares =
            |taken| Shares { paths: 4, taken, packet: 1468, send_buffer: 5000, window: 1 << 20 };
        assert!(admits(Sides::Both, &shares(0)));
        assert!(!admits(Sides::Both, &shares(1)));
    }
}
