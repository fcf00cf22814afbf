//! How large a receive buffer is, by the rules of several kernels: what the handshake offers, what
//! a path adds, and what a reader earns. The buffer itself is in `drs`.
//!
//! Before 6.6 the window is half of the memory (`tcp_adv_win_scale` 1, since Linux 3.4), whatever
//! segments take, and gaps enlarge nothing. Read in sources: `tcp_fixup_rcvbuf`,
//! `tcp_default_init_rwnd`, `tcp_rcv_space_adjust`, and `mptcp_init_buffer_space` and
//! `mptcp_check_rtt` of the multipath-tcp kernels. Not modelled: that Linux 4.1 closes the window
//! of TCP below a sixteenth of it.

/// The rules of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sizing {
    /// Linux 6.18.
    #[default]
    Linux,
    /// Linux 3.13 to 4.19: the handshake makes room for eight times 20 segments, and the window is
    /// two to four times what was read in a round trip.
    Linux313,
    /// Linux 3.11 and 3.12: 20 segments are offered first, and the window is twice what was read.
    Linux311,
    /// Linux 3.4 to 3.10: the same, with 10 segments.
    Linux35,
}

/// `tcp_rmem`, second value, of Linux 6.18 and of kernels up to 4.19, bytes of memory.
const INITIAL: u32 = 131_072;
const INITIAL_OLD: u32 = 87_380;
/// Room for headers in front of a segment, its descriptor and book-keeping (Linux `SKB_TRUESIZE`
/// with `MAX_TCP_HEADER`; 832 bytes as `sndbuf` has them).
const SEGMENT_OVERHEAD: u32 = 832;
/// Memory of a segment is raised by this until half of it holds the payload.
const STEP: u32 = 128;

impl Sizing {
    /// Bytes of memory before the handshake is over.
    pub(crate) const fn initial(self) -> u32 {
        match self {
            Sizing::Linux => INITIAL,
            Sizing::Linux313 | Sizing::Linux311 | Sizing::Linux35 => INITIAL_OLD,
        }
    }

    /// The largest buffer of the host, in bytes of memory (`tcp_rmem`, third value).
    pub(super) const fn host_limit(self) -> u32 {
        match self {
            Sizing::Linux => 32 << 20,
            Sizing::Linux313 | Sizing::Linux311 | Sizing::Linux35 => 6 << 20,
        }
    }

    /// The window scale allows for this many bytes of memory (`net.core.rmem_max`).
    pub(super) const fn scaled_for(self) -> u32 {
        match self {
            Sizing::Linux => 4 << 20,
            Sizing::Linux313 | Sizing::Linux311 | Sizing::Linux35 => 212_992,
        }
    }

    /// Payload per memory is measured; otherwise it is a half.
    pub(super) const fn measures(self) -> bool {
        matches!(self, Sizing::Linux)
    }

    /// The window of the handshake, of `space` bytes that fit.
    pub(super) fn first_window(self, space: u32, mss: u32) -> u32 {
        match self.first_segs() {
            None => space,
            Some(segs) => space.min(segs * mss),
        }
    }

    const fn first_segs(self) -> Option<u32> {
        match self {
            Sizing::Linux => None,
            Sizing::Linux313 | Sizing::Linux311 => Some(20),
            Sizing::Linux35 => Some(10),
        }
    }

    /// Bytes of memory that the end of the handshake allows for. `mss`: bytes.
    pub(super) fn established(self, mss: u32) -> u32 {
        match self {
            Sizing::Linux => INITIAL,
            Sizing::Linux313 => 8 * 20 * (mss + SEGMENT_OVERHEAD),
            // 10 or 20 segments take less than it starts with.
            Sizing::Linux311 | Sizing::Linux35 => INITIAL_OLD,
        }
    }

    /// What growth is measured by, for a reader that took `copied` bytes in a round trip.
    pub(super) const fn measure(self, copied: u32) -> u32 {
        match self {
            Sizing::Linux | Sizing::Linux313 => copied,
            Sizing::Linux311 | Sizing::Linux35 => copied.saturating_mul(2),
        }
    }

    /// Bytes of memory that a reader earns whose measure grew from `before` to `now`; `mss`: bytes.
    /// Of kernels that do not measure payload per memory.
    pub(super) fn earned(self, before: u32, now: u32, mss: u32) -> u64 {
        debug_assert!(!self.measures(), "6.18 converts by its measured ratio");
        let mss = mss.max(1);
        let window = match self {
            Sizing::Linux | Sizing::Linux313 => cushioned(before, now, mss),
            Sizing::Linux311 | Sizing::Linux35 => u64::from(now).max(u64::from(mss)),
        };
        window / u64::from(mss) * u64::from(memory_of_segment(mss))
    }
}

/// Twice what was read and 16 segments; half as much again if the reading grew by a quarter, twice
/// as much if it grew by half.
fn cushioned(before: u32, now: u32, mss: u32) -> u64 {
    let (before, now) = (u64::from(before), u64::from(now));
    let window = 2 * now + 16 * u64::from(mss);
    if now >= before + before / 2 {
        2 * window
    } else if now >= before + before / 4 {
        window + window / 2
    } else {
        window
    }
}

/// Memory of a segment, of which half holds its payload.
fn memory_of_segment(mss: u32) -> u32 {
    let mut memory = mss + SEGMENT_OVERHEAD;
    if memory / 2 < mss {
        memory += (2 * mss - memory).div_ceil(STEP) * STEP;
    }
    debug_assert!(memory / 2 >= mss);
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_segment_is_raised_until_half_of_it_suffices() {
        assert_eq!(memory_of_segment(1448), 2920, "2280, and five times 128");
        assert_eq!(memory_of_segment(500), 1332, "its head is larger than its payload");
    }

    #[test]
    fn reader_that_doubles_earns_four_times_its_reading() {
        // (2 x 58,400 + 16 x 1448) x 2 bytes are 193 segments of 2920 bytes.
        assert_eq!(Sizing::Linux313.earned(29_200, 58_400, 1448), 193 * 2920);
        assert_eq!(Sizing::Linux313.earned(58_400, 73_000, 1448), 175 * 2920, "by a quarter");
        assert_eq!(Sizing::Linux313.earned(58_400, 60_000, 1448), 98 * 2920, "by less");
    }

    #[test]
    fn kernels_before_3_13_double_what_was_read() {
        let measure = Sizing::Linux311.measure(50_000);
        assert_eq!(measure, 100_000);
        assert_eq!(Sizing::Linux311.earned(29_200, measure, 1448), 69 * 2920);
    }

    #[test]
    fn handshake_offers_the_segments_of_its_kernel() {
        let offered = |sizing: Sizing| sizing.first_window(43_690, 1460);
        assert_eq!(offered(Sizing::Linux35), 14_600);
        assert_eq!((offered(Sizing::Linux311), offered(Sizing::Linux313)), (29_200, 29_200));
        assert_eq!(Sizing::Linux.first_window(64_240, 1460), 64_240);
    }
}
