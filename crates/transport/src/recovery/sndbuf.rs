//! Send-buffer auto-tuning: how large it is and when a writer is woken (Linux).
//!
//! The buffer is counted in memory, not payload; `sent_truesize` is the memory of a segment. The
//! bytes are in `SendBuffer`; the writer is left to the owner.

/// What a socket starts with before the handshake is over (`net.ipv4.tcp_wmem`, second value).
const INITIAL: u32 = 16_384;
/// Room for headers in front of a segment (Linux `MAX_TCP_HEADER`; on 6.18 a buffer is counted with
/// 832 bytes in addition to its payload).
const HEADER_ROOM: u32 = 256;
/// Book-keeping behind the data of a buffer (`struct skb_shared_info`, aligned).
const SHARED_INFO: u32 = 320;
/// The buffer's descriptor (`struct sk_buff`, aligned).
const DESCRIPTOR: u32 = 256;
/// The initial window, below which the buffer is never dimensioned.
const INITIAL_WINDOW: u32 = 10;
/// Window growth during one round trip of recovery, and a late writer.
const FACTOR: u64 = 2;

/// The size of a send buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SendBufferTuning {
    size: u32,
    max: u32,
    auto: bool,
}

impl SendBufferTuning {
    /// A buffer that grows from 16384 up to `max` bytes of memory.
    pub(crate) fn auto(max: u32) -> Self {
        SendBufferTuning { size: INITIAL.min(max), max, auto: true }
    }

    /// A buffer of fixed size.
    pub(crate) const fn fixed(size: u32) -> Self {
        SendBufferTuning { size, max: size, auto: false }
    }

    /// Whether the buffer is auto-tuned.
    pub(crate) const fn is_auto(&self) -> bool {
        self.auto
    }

    /// The present size in bytes of memory.
    pub(crate) const fn size(&self) -> u32 {
        self.size
    }

    /// To be called when the handshake is over, and when an ACK freed space while the writer waited
    /// for it and less than the window was in flight (a full window means that the buffer was large
    /// enough; Linux `tcp_should_expand_sndbuf`). `reordering`: the duplicate threshold. Returns
    /// whether the buffer grew.
    pub(crate) fn expand(&mut self, cwnd_segs: u32, reordering: u32, mss: u32) -> bool {
        let segs = cwnd_segs.max(INITIAL_WINDOW).max(reordering + 1);
        let wanted = FACTOR * u64::from(segs) * u64::from(per_segment(mss));
        let wanted = wanted.min(u64::from(self.max)) as u32;
        if !self.auto || wanted <= self.size {
            return false;
        }
        self.size = wanted;
        debug_assert!(self.size <= self.max, "the buffer grows up to its maximum");
        true
    }

    /// Whether `queued` bytes of memory leave room for a write to begin.
    pub(crate) const fn has_room(&self, queued: u32) -> bool {
        queued < self.size
    }

    /// Whether a writer that found the buffer full is woken: at least a third of what is used must
    /// be free (Linux `sk_stream_is_writeable`: free >= queued / 2).
    pub(crate) const fn wakes_writer(&self, queued: u32) -> bool {
        self.size.saturating_sub(queued) >= queued / 2
    }
}

/// Worst case memory of one segment, buffer and head being of a power of two.
fn per_segment(mss: u32) -> u32 {
    (mss + HEADER_ROOM + SHARED_INFO).next_power_of_two() + DESCRIPTOR
}

/// Memory of `bytes` of payload in `buffers` socket buffers: page fragments, and 832 bytes for each
/// buffer. A bulk writer fills a buffer up to 65215 bytes; each burst of a few segments that is
/// sent becomes a buffer of its own.
pub(crate) fn sent_truesize(bytes: u32, buffers: u32) -> u32 {
    bytes.saturating_add(buffers.saturating_mul(DESCRIPTOR + HEADER_ROOM + SHARED_INFO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn established_buffer_is_dimensioned_for_the_initial_window() {
        let mut buffer = SendBufferTuning::auto(4 << 20);
        assert_eq!(buffer.size(), 16_384);
        assert!(buffer.expand(10, 3, 1448));
        assert_eq!(buffer.size(), 46_080, "2 x 10 x (2048 + 256), as a 6.18 kernel reports it");
        assert!(!buffer.expand(10, 3, 1448));
    }

    #[test]
    fn buffer_follows_the_window_up_to_its_maximum() {
        let mut buffer = SendBufferTuning::auto(1 << 20);
        buffer.expand(100, 3, 1448);
        assert_eq!(buffer.size(), 460_800);
        buffer.expand(1000, 3, 1448);
        assert_eq!(buffer.size(), 1 << 20);
        buffer.expand(10, 3, 1448);
        assert_eq!(buffer.size(), 1 << 20, "it never shrinks");
    }

    #[test]
    fn reordering_counts_like_a_window() {
        let mut buffer = SendBufferTuning::auto(4 << 20);
        buffer.expand(10, 29, 1448);
        assert_eq!(buffer.size(), 2 * 30 * 2304);
    }

    #[test]
    fn fixed_buffer_never_grows() {
        let mut buffer = SendBufferTuning::fixed(262_144);
        assert!(!buffer.expand(10_000, 3, 1448));
        assert_eq!(buffer.size(), 262_144);
    }

    #[test]
    fn writer_is_woken_when_a_third_is_free() {
        let buffer = SendBufferTuning::fixed(300);
        assert!(buffer.has_room(299) && !buffer.has_room(300));
        assert!(buffer.wakes_writer(200) && !buffer.wakes_writer(201));
    }
}
