//! The send side's state: buffer, scoreboard, the peer's window, and how full the congestion
//! window was. What happens to it is in `transmit`, `acknowledge` and `loss`.

use super::config::Buffers;
use crate::buffer::SendBuffer;
use crate::recovery::{Pacer, Scoreboard, SendBufferTuning, sent_truesize};
use base::{Blocked, Instant};
use std::collections::VecDeque;
use wire::SeqNumber;

/// Segments one buffer of the send queue holds at most (Linux: 64 KiB of payload).
const SEGS_PER_BUFFER: u32 = 44;
/// A largest window below this many bytes bounds no buffer (Linux `TCP_MSS_DEFAULT`).
const SMALL_WINDOW: u64 = 536;

/// The send side of a subflow. Offsets count payload from zero; a FIN takes one more. What
/// receiving looks at, too, comes first.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    /// First offset not acknowledged.
    pub una: u64,
    /// Next offset never sent.
    pub nxt: u64,
    /// The peer's window in bytes, from `una` as of its last update.
    pub window: u64,
    pub max_window: u64,
    /// IP bytes handed to the NIC that have not left it.
    pub below: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The peer's sequence number of the segment that last updated the window (SND.WL1).
    pub window_updated_at: SeqNumber,
    /// Probes of a closed window since an acknowledgement came.
    pub probes_unanswered: u32,
    /// Segments of the present burst still to go out,
    pub burst_left: u32,
    /// of so many.
    pub burst_segs: u32,
    /// New segments sent since `cwnd` usage was last judged.
    pub round_sent: u32,
    /// The application will write no more.
    pub fin_queued: bool,
    pub fin_sent: bool,
    /// A write was refused or cut short.
    pub writer_waits: bool,
    /// Why what is unsent was not sent when that was last tried.
    pub stopped: Blocked,
    /// Acknowledgements freed space since a waiting writer was last thought of.
    pub writer_check_due: bool,
    /// The congestion window was the limit when last looked at (Linux `is_cwnd_limited`).
    pub cwnd_limited: bool,
    pub small_queue_throttled: bool,
    /// What is unsent is not the end of what was written: no PSH for it.
    pub more: bool,
    pub buffer: SendBuffer,
    /// Where the bursts begin that are not acknowledged, if bursts are buffers of their own.
    pub bursts: VecDeque<u64>,
    pub board: Scoreboard,
    /// Most segments outstanding in the present round.
    pub max_packets_out: u32,
    /// Most segments in flight since the window was last full.
    pub cwnd_used: u32,
    /// The round ends when this offset is acknowledged.
    pub usage_round_end: u64,
    /// When the window was last full, or last reduced for lack of data.
    pub cwnd_stamp: Instant,
    pub last_data_sent: Option<Instant>,
    /// The silence since this transmission was heeded.
    pub idle_heeded: Option<Instant>,
    /// Bytes per second, as pacing would have it; kept whether or not pacing is on.
    pub pacing_rate: Option<u64>,
    pub tuning: SendBufferTuning,
    pub pacer: Pacer,
}

impl Sender {
    /// Nothing written, nothing sent.
    pub fn new(buffers: &Buffers, mss: u32) -> Self {
        let tuning = if buffers.auto_tuning {
            SendBufferTuning::auto(buffers.send_max)
        } else {
            SendBufferTuning::fixed(buffers.send_max)
        };
        Sender {
            buffer: SendBuffer::new(),
            board: Scoreboard::default(),
            una: 0,
            nxt: 0,
            mss,
            window: 0,
            max_window: 0,
            window_updated_at: SeqNumber(0),
            fin_queued: false,
            fin_sent: false,
            tuning,
            writer_waits: false,
            stopped: Blocked::Opening,
            writer_check_due: false,
            cwnd_limited: false,
            max_packets_out: 0,
            usage_round_end: 0,
            cwnd_used: 0,
            cwnd_stamp: Instant::ZERO,
            last_data_sent: None,
            idle_heeded: None,
            pacer: Pacer::new(),
            probes_unanswered: 0,
            below: 0,
            small_queue_throttled: false,
            more: false,
            burst_left: 0,
            bursts: VecDeque::new(),
            burst_segs: 0,
            round_sent: 0,
            pacing_rate: None,
        }
    }

    /// Payload never sent, in bytes.
    pub fn unsent(&self) -> u64 {
        self.buffer.end().saturating_sub(self.nxt)
    }

    /// The FIN is queued and was never sent.
    pub const fn fin_unsent(&self) -> bool {
        self.fin_queued && !self.fin_sent
    }

    /// Anything never sent: payload or FIN.
    pub fn has_unsent(&self) -> bool {
        self.unsent() > 0 || self.fin_unsent()
    }

    /// End of the peer's window.
    pub const fn window_end(&self) -> u64 {
        self.una + self.window
    }

    /// What of the peer's window is left for new payload.
    pub const fn window_left(&self) -> u64 {
        self.window_end().saturating_sub(self.nxt)
    }

    /// Memory of what is buffered, in bytes. Each burst was cut off as a buffer of its own.
    pub fn memory(&self) -> u32 {
        let bytes = u32::try_from(self.buffer.len()).unwrap_or(u32::MAX);
        let whole = |bytes: u32| bytes.div_ceil(self.mss.max(1) * SEGS_PER_BUFFER);
        let unsent = u32::try_from(self.unsent()).unwrap_or(u32::MAX);
        let sent = whole(bytes.saturating_sub(unsent)).max(self.bursts.len() as u32);
        sent_truesize(bytes, sent + whole(unsent))
    }

    /// A burst of `segs` segments begins with the next byte; `own`: in a buffer of its own.
    pub fn begin_burst(&mut self, segs: u32, own: bool) {
        self.burst_left = segs;
        self.burst_segs = segs;
        if own {
            self.bursts.push_back(self.nxt);
        }
    }

    /// Everything below `self.una` is acknowledged: forget the bursts that lie there.
    pub fn forget_bursts(&mut self) {
        while self.bursts.get(1).is_some_and(|next| *next <= self.una) {
            self.bursts.pop_front();
        }
        if self.una == self.nxt {
            self.bursts.clear();
        }
    }

    /// Payload that a sender puts into one buffer to be segmented below it, in whole segments:
    /// what the offload takes, but no more than half of the largest window there was (Linux
    /// `tcp_xmit_size_goal`).
    pub fn size_goal(&self) -> u16 {
        let half = if self.max_window > SMALL_WINDOW { self.max_window / 2 } else { u64::MAX };
        let mss = self.mss.max(1);
        let most = half.min(u64::from(u16::MAX)) as u32;
        (most / mss).max(1).saturating_mul(mss).min(u32::from(u16::MAX)) as u16
    }

    /// Whether a writer that waits is to be woken. With `lowat` only while fewer than so many
    /// bytes are unsent.
    pub fn wakes_writer(&self, lowat: Option<u32>) -> bool {
        self.tuning.wakes_writer(self.memory())
            && lowat.is_none_or(|lowat| self.unsent() < u64::from(lowat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Payload;

    /// With this much written, in segments of 1420 bytes.
    fn sender(bytes: usize) -> Sender {
        let mut sender = Sender::new(&Buffers::default(), 1420);
        sender.buffer.append(Payload::from(vec![7; bytes]));
        sender
    }

    /// Seen on 6.18 (`mptcp_subflow_get_send`): 832 bytes beside the payload for each buffer.
    #[test]
    fn every_burst_under_way_has_memory_of_its_own() {
        let mut sender = sender(31_240);
        assert_eq!(sender.memory(), 31_240 + 832);
        for _ in 0..5 {
            sender.begin_burst(2, true);
            sender.nxt += 2840;
        }
        assert_eq!(sender.memory(), 31_240 + 6 * 832, "five bursts and the rest");
        sender.una = 2840 + 1420;
        sender.forget_bursts();
        sender.buffer.release_below(sender.una);
        assert_eq!(sender.memory(), 31_240 - 4260 + 5 * 832, "half of the second");
        sender.una = sender.nxt;
        sender.forget_bursts();
        sender.buffer.release_below(sender.una);
        assert_eq!(sender.memory(), 31_240 - 14_200 + 832, "the rest alone");
    }

    #[test]
    fn buffer_is_filled_up_to_half_the_largest_window() {
        let mut sender = sender(0);
        assert_eq!(sender.size_goal(), 46 * 1420);
        sender.max_window = 64_256;
        assert_eq!(sender.size_goal(), 22 * 1420, "as 6.18 does in its first flight");
        sender.max_window = 2000;
        assert_eq!(sender.size_goal(), 1420, "a segment at least");
    }
}
