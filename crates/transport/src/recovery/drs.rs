//! Receive-buffer auto-tuning, "dynamic right-sizing", as Linux 6.18 does it; where older kernels
//! differ is in `sizing`.
//!
//! The buffer is counted in memory ("truesize"), the window in payload; a ratio measured on full
//! segments turns one into the other. Three things open the window: `ssthresh` climbs with every
//! segment whose memory is well used; a reader that took more in a round trip than in the one
//! before enlarges the buffer; so does data behind a gap. The rules are 6.18's: no allowance of 16
//! segments, unread data do not count as read, gaps count (6.12 differs in the last point and the
//! first). Not modelled: compacting small segments, memory pressure of the whole host. The bytes
//! are in `buffer::Reassembly`; the right edge and the time of updates are left to the owner. In a
//! connection of several paths each path has such a buffer, and `shared_drs` joins them.

mod sizing;

use base::{Duration, Instant, prefetch};
pub(crate) use sizing::Sizing;
use std::hint::cold_path;

/// The scaling ratio is in 1/256; a half until a segment was measured.
pub(super) const RATIO_ONE: u64 = 256;
pub(super) const INITIAL_RATIO: u64 = 128;
/// Largest shift (RFC 7323 s2.3).
const MAX_WINDOW_SCALE: u32 = 14;
/// The peer's segment size is assumed to be this until one was seen (RFC 9293 s3.7.1).
const DEFAULT_MSS: u32 = 536;
/// Smallest segment size assumed, in bytes.
const MIN_MSS: u32 = 88;
/// TCP header without options, and with timestamps.
const BARE_HEADER: u32 = 20;
const HEADER: u32 = 32;
/// The base of the first comparison, in segments.
const INITIAL_WINDOW_SEGS: u32 = 10;
/// Segments shorter than this do not open the window.
const MIN_GROWTH_LEN: u32 = 128;

/// The receive buffer of a connection.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveBuffer {
    size: u32,
    max: u32,
    auto: bool,
    sizing: Sizing,
    advmss: u32,
    /// Payload per memory, in 1/256.
    ratio: u64,
    /// The window that `size` allows.
    clamp: u32,
    /// The window that the segments received so far have earned.
    ssthresh: u32,
    /// The last window advertised.
    advertised: u32,
    segment_size: SegmentSize,
    /// Memory of unread data.
    used: u64,
    /// Payload of unread data.
    queued: u64,
    rtt: ReceiverRtt,
    /// What the reader took in a round trip, the base of growth (`Sizing::measure`).
    space: u32,
    period_start: Instant,
    period_offset: u64,
    read_offset: u64,
}

/// A data segment that was queued.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Received {
    pub now: Instant,
    /// Payload bytes, all of them.
    pub len: u32,
    /// Memory: `received_truesize`.
    pub truesize: u32,
    /// Header bytes of SACK blocks, for which the payload had to be shorter.
    pub sack_bytes: u32,
    /// PSH was set.
    pub push: bool,
    /// It began where data were missing first.
    pub in_order: bool,
    /// First missing byte after it.
    pub next_offset: u64,
    /// End of the highest byte received; `next_offset` if nothing is out of order.
    pub highest: u64,
}

/// Linux's guess of the peer's segment size.
#[derive(Clone, Copy, Debug)]
struct SegmentSize {
    bytes: u32,
    last_short: u32,
}

/// The round trip as a receiver sees it.
#[derive(Clone, Copy, Debug, Default)]
struct ReceiverRtt {
    /// Microseconds times 8; zero before a sample.
    us8: u64,
    /// Start time and end offset of the window's worth of data being measured.
    window: Option<(Instant, u64)>,
}

impl ReceiveBuffer {
    /// Requests the memory of what is used.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.used);
    }

    /// Grows up to `max` bytes of memory, from what the kernel of `sizing` begins with. `advmss`:
    /// the MSS we announce.
    pub(crate) fn auto(max: u32, advmss: u32, sizing: Sizing) -> Self {
        let buffer = ReceiveBuffer::empty(sizing.initial().min(max), advmss, sizing);
        ReceiveBuffer { max, auto: true, ..buffer }
    }

    /// Fixed at `size` bytes of memory.
    pub(crate) fn fixed(size: u32, advmss: u32, sizing: Sizing) -> Self {
        ReceiveBuffer::empty(size, advmss, sizing)
    }

    fn empty(size: u32, advmss: u32, sizing: Sizing) -> Self {
        let mut buffer = ReceiveBuffer {
            size,
            max: size,
            auto: false,
            sizing,
            advmss,
            ratio: INITIAL_RATIO,
            clamp: 0,
            ssthresh: 0,
            advertised: 0,
            segment_size: SegmentSize { bytes: DEFAULT_MSS, last_short: 0 },
            used: 0,
            queued: 0,
            rtt: ReceiverRtt::default(),
            space: 0,
            period_start: Instant::ZERO,
            period_offset: 0,
            read_offset: 0,
        };
        let space = buffer.to_window(u64::from(size));
        let whole = if space > advmss { space - space % advmss.max(1) } else { space };
        let whole = sizing.first_window(whole, advmss);
        buffer.clamp = whole;
        buffer.ssthresh = whole;
        buffer.advertised = whole;
        buffer
    }

    /// The window of the handshake, in bytes; its field holds at most 65535.
    pub(crate) const fn initial_window(&self) -> u32 {
        self.advertised
    }

    /// The window scale to announce (RFC 7323 s2.2): for the largest window that is ever announced,
    /// which is half of a fixed buffer (Linux `tcp_select_initial_window`, with the clamp of
    /// `tcp_connect_init`).
    pub(crate) fn window_scale(&self) -> u8 {
        let largest = self.max.max(self.sizing.scaled_for());
        let fixed = self.to_window(u64::from(self.size));
        let space = if self.auto { largest } else { largest.min(fixed) }.max(1);
        // ilog2 of a u32 is below 32.
        (space.ilog2().saturating_sub(15)).min(MAX_WINDOW_SCALE) as u8
    }

    /// The handshake is over. `advmss`: payload of a full segment, options subtracted.
    pub(crate) fn on_established(&mut self, now: Instant, advmss: u32) {
        self.advmss = advmss;
        if self.auto {
            self.size = self.size.max(self.sizing.established(advmss).min(self.max));
        }
        let full = self.to_window(u64::from(self.size));
        // One segment stays in reserve.
        self.clamp = (2 * advmss).max(full.saturating_sub(advmss));
        self.ssthresh = self.ssthresh.min(self.clamp);
        self.space = match self.sizing {
            Sizing::Linux => self.ssthresh.min(INITIAL_WINDOW_SEGS * advmss),
            _ => self.advertised,
        };
        self.segment_size.bytes = DEFAULT_MSS.min(advmss).min(self.advertised / 2).max(MIN_MSS);
        self.period_start = now;
    }

    /// Another path of the connection is established, for whose data there is to be room, too
    /// (`mptcp_init_buffer_space` of the multipath-tcp kernels).
    pub(crate) fn on_joined(&mut self) {
        if !self.auto || self.sizing == Sizing::Linux {
            return;
        }
        let size = self.sizing.established(self.advmss);
        self.size = self.size.saturating_add(size).min(self.max);
        let full = self.to_window(u64::from(self.size));
        let window = self.sizing.first_window(u32::MAX, self.advmss);
        self.clamp = full.saturating_sub(self.advmss).max(self.clamp);
        self.ssthresh = self.ssthresh.saturating_add(window).min(self.clamp);
        debug_assert!(self.size <= self.max, "the buffer grows up to its maximum");
    }

    /// A data segment with new data was queued. Returns whether the window opened: then the next
    /// acknowledgement is sent at once.
    // Inlined without what few segments need: half of the call was passing the segment.
    #[inline(always)]
    pub(crate) fn on_segment(&mut self, segment: &Received) -> bool {
        if self.used > u64::from(self.size) {
            cold_path();
            self.on_overrun();
        }
        self.used += u64::from(segment.truesize);
        self.queued += u64::from(segment.len);
        if self.segment_size.on_segment(segment, self.advmss) && self.sizing.measures() {
            cold_path();
            self.measure_ratio(segment);
        }
        if segment.in_order {
            self.rtt.on_data(segment.now, segment.next_offset, self.advertised);
        }
        let counts = !segment.in_order || segment.len >= MIN_GROWTH_LEN;
        let opened = counts && self.open(segment);
        if !segment.in_order && self.sizing == Sizing::Linux {
            cold_path();
            self.enlarge(self.space, segment.highest.saturating_sub(segment.next_offset));
        }
        opened
    }

    /// More memory is in use than the buffer has: enlarges it, or reduces the window.
    #[cold]
    fn on_overrun(&mut self) {
        if self.auto && self.size < self.max {
            // Bounded by `max`, a u32.
            self.size = self.used.min(u64::from(self.max)) as u32;
        }
        if self.used > u64::from(self.size) {
            self.ssthresh = self.clamp.min(2 * self.advmss);
        }
    }

    #[cold]
    fn measure_ratio(&mut self, segment: &Received) {
        let ratio = u64::from(segment.len) * RATIO_ONE / u64::from(segment.truesize.max(1));
        let ratio = ratio.clamp(1, RATIO_ONE - 1);
        if ratio != self.ratio {
            self.ratio = ratio;
            self.clamp = self.to_window(u64::from(self.size));
            // What was offered already is earned (Linux `tcp_set_window_clamp`).
            self.ssthresh = self.ssthresh.max(self.advertised).min(self.clamp);
            self.space = self.space.min(self.clamp);
        }
    }

    /// Payload per memory, in 1/256: a half until a segment was measured.
    pub(crate) const fn ratio(&self) -> u64 {
        self.ratio
    }

    /// The first base of growth of a connection of several paths.
    pub(crate) fn initial_space(&self) -> u32 {
        self.advertised.min(INITIAL_WINDOW_SEGS * self.advmss)
    }

    /// The round trip as the receiver sees it, in microseconds times 8; zero before a sample.
    pub(crate) const fn rtt_us8(&self) -> u64 {
        self.rtt.us8
    }

    /// The longest round trip of all paths, in microseconds times 8 (`mptcp_check_rtt` of the
    /// multipath-tcp kernels).
    pub(crate) const fn set_rtt_us8(&mut self, us8: u64) {
        self.rtt.us8 = us8;
    }

    /// Lets the window grow by what the segment earns; returns whether it did.
    #[inline(always)]
    fn open(&mut self, segment: &Received) -> bool {
        let room = u64::from(self.clamp).min(self.free_space());
        let room = room.saturating_sub(u64::from(self.ssthresh));
        room > 0 && self.open_into(room, segment)
    }

    /// The same where `room` bytes are left for it.
    #[inline(never)]
    fn open_into(&mut self, room: u64, segment: &Received) -> bool {
        let earned = if self.to_window(u64::from(segment.truesize)) <= segment.len {
            2 * self.advmss
        } else {
            self.earned_by_wasteful(segment)
        };
        if earned > 0 {
            let step = u64::from(earned.max(2 * segment.len)).min(room);
            // Bounded by `clamp`, a u32.
            self.ssthresh += step as u32;
            debug_assert!(self.ssthresh <= self.clamp, "the window stays within the buffer");
        }
        earned > 0
    }

    /// A segment with much memory for little payload earns something only while the window is
    /// smaller than the largest one by the same factor (Linux `__tcp_grow_window`).
    fn earned_by_wasteful(&self, segment: &Received) -> u32 {
        let mut truesize = self.to_window(u64::from(segment.truesize)) / 2;
        // A fixed buffer leaves the limit of the host as it is (`SO_RCVBUF`, `tcp_rmem`).
        let most = if self.auto { self.max } else { self.sizing.host_limit() };
        let mut window = self.to_window(u64::from(most)) / 2;
        while self.ssthresh <= window && window > 0 {
            if truesize <= segment.len {
                return 2 * self.segment_size.bytes;
            }
            truesize /= 2;
            window /= 2;
        }
        0
    }

    /// An echoed timestamp on a full segment gave a round trip as the receiver sees it. `unread`:
    /// data wait to be read, so a long sample may be the reader's fault.
    pub(crate) fn on_rtt(&mut self, rtt: Duration, unread: bool) {
        let us = rtt.as_micros();
        if us > 0 {
            self.rtt.on_sample(us, unread);
        }
    }

    /// The application read up to `read_offset`; `next_offset` is the first missing byte and
    /// `highest` the end of the highest byte received.
    #[inline(always)]
    pub(crate) fn on_read(
        &mut self,
        now: Instant,
        read_offset: u64,
        next_offset: u64,
        highest: u64,
    ) {
        self.on_taken(read_offset);
        let elapsed = now - self.period_start;
        if self.rtt.us8 == 0 || elapsed.as_micros() < self.rtt.us8 / 8 {
            return;
        }
        self.on_round(now, read_offset, next_offset, highest);
    }

    /// A round trip passed since the reader was last judged.
    #[inline(never)]
    fn on_round(&mut self, now: Instant, read_offset: u64, next_offset: u64, highest: u64) {
        let unread = match self.sizing {
            Sizing::Linux => next_offset.saturating_sub(read_offset),
            _ => 0,
        };
        let copied = read_offset.saturating_sub(self.period_offset).saturating_sub(unread);
        let copied = self.sizing.measure(u32::try_from(copied).unwrap_or(u32::MAX));
        if copied > self.space {
            self.enlarge(copied, highest.saturating_sub(next_offset));
        }
        self.period_offset = read_offset;
        self.period_start = now;
    }

    /// Everything below `read_offset` left the buffer, and its share of the memory is free again.
    pub(crate) fn on_taken(&mut self, read_offset: u64) {
        debug_assert!(read_offset >= self.read_offset, "reading moves forward");
        let copied = read_offset.saturating_sub(self.read_offset);
        self.read_offset = read_offset;
        (self.queued, self.used) = without(copied, self.queued, self.used);
    }

    /// The reader takes `copied` bytes a round trip (`Sizing::measure`) and `beyond` bytes span
    /// gaps.
    #[inline(never)]
    pub(crate) fn enlarge(&mut self, copied: u32, beyond: u64) {
        let before = std::mem::replace(&mut self.space, copied);
        if !self.auto {
            cold_path();
            return;
        }
        let size = match self.sizing {
            Sizing::Linux => target_window(before, copied, beyond) * RATIO_ONE / self.ratio,
            _ => self.sizing.earned(before, copied, self.advmss),
        };
        let size = size.min(u64::from(self.max)) as u32;
        if size > self.size {
            debug_assert!(size <= self.max, "the buffer grows up to its maximum");
            self.size = size;
            self.clamp = self.to_window(u64::from(size));
        }
    }

    /// The window to advertise, in bytes: never less than `current`, what is left of the last one.
    /// With a window scale it is rounded up to what the field can represent, else to whole
    /// segments.
    #[inline(always)]
    pub(crate) fn window(&mut self, current: u32, window_scale: u8) -> u32 {
        let new = self.select_window(window_scale);
        self.advertised = new.max(align_up(current, window_scale));
        self.advertised
    }

    /// The window that could be advertised, regardless of the last one.
    pub(crate) fn select_window(&self, window_scale: u8) -> u32 {
        let free = self.to_window(u64::from(self.size).saturating_sub(self.used));
        self.select_of(free, self.to_window(u64::from(self.size)), window_scale)
    }

    /// The same for a buffer that several paths fill: `free` bytes of payload fit into it now,
    /// `allowed` when it is empty.
    pub(crate) fn select_of(&self, mut free: u32, allowed: u32, window_scale: u8) -> u32 {
        let full = allowed.min(self.clamp);
        let mss = self.segment_size.bytes.min(full);
        if free < full / 2 {
            cold_path();
            let least = match self.sizing {
                Sizing::Linux => {
                    free -= free % (1 << window_scale);
                    mss.max(allowed / 16)
                }
                _ => mss,
            };
            if free < least {
                return 0;
            }
        }
        free = free.min(self.ssthresh);
        if window_scale > 0 {
            return align_up(free, window_scale);
        }
        let old = self.advertised;
        if old + mss <= free || old > free {
            return free - free % mss.max(1);
        }
        old
    }

    fn free_space(&self) -> u64 {
        let free = u64::from(self.size).saturating_sub(self.used);
        u64::from(self.to_window(free))
    }

    /// Payload that fits into `memory`.
    fn to_window(&self, memory: u64) -> u32 {
        (memory * self.ratio / RATIO_ONE).min(u64::from(u32::MAX)) as u32
    }

    /// The last window advertised.
    pub(crate) const fn advertised(&self) -> u32 {
        self.advertised
    }

    /// `window` was announced.
    pub(crate) const fn on_announced(&mut self, window: u32) {
        self.advertised = window;
    }

    /// The largest segment that the peer may send, in bytes of payload.
    pub(crate) const fn advmss(&self) -> u32 {
        self.advmss
    }

    /// The largest window that the present size allows, in bytes.
    pub(crate) const fn clamp(&self) -> u32 {
        self.clamp
    }

    /// The present size in bytes of memory.
    pub(crate) const fn size(&self) -> u32 {
        self.size
    }

    /// The largest size in bytes of memory.
    pub(crate) const fn max(&self) -> u32 {
        self.max
    }

    /// The peer's segment size as seen so far: more than this unacknowledged asks for an ACK.
    pub(crate) const fn segment_size(&self) -> u32 {
        self.segment_size.bytes
    }
}

/// Unread bytes and their memory after `copied` of them were read: memory is freed in proportion.
pub(super) fn without(copied: u64, queued: u64, used: u64) -> (u64, u64) {
    if copied >= queued {
        return (0, 0);
    }
    debug_assert!(copied < queued && queued > 0);
    (queued - copied, used - used * copied / queued)
}

/// The window for a reader that took `copied` bytes in a round trip and `space` in the one before,
/// with `beyond` bytes spanned by gaps: twice `copied`, and twice the growth in addition (Linux
/// `tcp_rcv_space_adjust`).
pub(super) fn target_window(space: u32, copied: u32, beyond: u64) -> u64 {
    let window = 2 * u64::from(copied);
    let growth = u128::from(window) * u128::from(copied.saturating_sub(space));
    let growth = growth / u128::from(space.max(1));
    let growth = u64::try_from(growth).unwrap_or(u64::MAX / 4);
    window.saturating_add(growth.saturating_mul(2)).saturating_add(beyond).min(1 << 40)
}

/// Rounded up to a multiple of 2^`shift`.
fn align_up(bytes: u32, shift: u8) -> u32 {
    let below = (1u32 << shift) - 1;
    bytes.checked_add(below).map_or(u32::MAX, |end| end & !below)
}

impl SegmentSize {
    /// Updates the segment size from a segment; returns whether it was a full one of a new size.
    fn on_segment(&mut self, segment: &Received, advmss: u32) -> bool {
        let last_short = std::mem::take(&mut self.last_short);
        let len = segment.len;
        if len >= self.bytes {
            let new = len != self.bytes;
            self.bytes = len.min(advmss);
            return new;
        }
        cold_path();
        // The sender's segment size does not vary with the number of SACK blocks.
        let len = len + segment.sack_bytes;
        let with_header = len + HEADER;
        let believable = with_header >= DEFAULT_MSS + BARE_HEADER
            || (with_header >= MIN_MSS + BARE_HEADER && !segment.push);
        if believable {
            self.last_short = len;
            if len == last_short {
                self.bytes = len;
            }
        }
        false
    }
}

impl ReceiverRtt {
    /// Without timestamps: the time a window's worth of data took. An upper bound only.
    #[inline(always)]
    fn on_data(&mut self, now: Instant, next_offset: u64, window: u32) {
        if let Some((since, up_to)) = self.window {
            if next_offset < up_to {
                return;
            }
            self.on_window(now - since);
        }
        self.window = Some((now, next_offset + u64::from(window)));
    }

    /// A window's worth of data took `time`.
    #[inline(never)]
    fn on_window(&mut self, time: Duration) {
        let us8 = time.as_micros().max(1) * 8;
        if self.us8 == 0 || us8 < self.us8 {
            self.us8 = us8;
        }
    }

    fn on_sample(&mut self, us: u64, unread: bool) {
        if self.us8 == 0 || us * 8 < self.us8 {
            self.us8 = us * 8;
        } else if !unread {
            self.us8 = self.us8 - self.us8 / 8 + us;
        }
    }
}

/// Memory of a received packet of `ip_len` bytes. Assumes what a TUN device makes of it: headroom
/// of 64 bytes, data and 320 bytes of book-keeping in one allocation of a power of two (704 bytes
/// for small ones), 256 bytes of descriptor. 1500 bytes cost 2304.
pub(crate) fn received_truesize(ip_len: u32) -> u32 {
    const DESCRIPTOR: u32 = 256;
    head_size(ip_len) + DESCRIPTOR
}

/// Payload that the allocation of a received packet of `ip_len` bytes takes in addition, in bytes:
/// data that follow it are copied there and take no memory of their own (Linux `skb_try_coalesce`).
pub(crate) fn received_tail_room(ip_len: u32) -> u32 {
    head_size(ip_len).saturating_sub(SHARED_INFO + HEADROOM).saturating_sub(ip_len)
}

/// Headroom of a received packet, in bytes.
const HEADROOM: u32 = 64;
/// Book-keeping behind the data of a received packet, in bytes.
const SHARED_INFO: u32 = 320;

fn head_size(ip_len: u32) -> u32 {
    const SMALL: u32 = 704;
    let head = (ip_len.saturating_add(HEADROOM)).next_multiple_of(64) + SHARED_INFO;
    if head <= SMALL { SMALL } else { head.next_power_of_two() }
}

#[cfg(test)]
mod tests;
