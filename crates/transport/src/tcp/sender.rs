//! The send side's state: buffer, scoreboard, the peer's window, and how full the congestion
//! window was. What happens to it is in `transmit`, `acknowledge` and `loss`.

use super::config::Buffers;
use crate::buffer::SendBuffer;
use crate::recovery::{Pacer, Scoreboard, SendBufferTuning, sent_truesize};
use base::{Blocked, Instant};
use wire::SeqNumber;

/// Segments one buffer of the send queue holds at most (Linux: 64 KiB of payload).
const SEGS_PER_BUFFER: u32 = 44;

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

    /// Memory of what is buffered, in bytes.
    pub fn memory(&self) -> u32 {
        let bytes = u32::try_from(self.buffer.len()).unwrap_or(u32::MAX);
        sent_truesize(bytes, bytes.div_ceil(self.mss.max(1) * SEGS_PER_BUFFER))
    }

    /// Whether a writer that waits is to be woken. With `lowat` only while fewer than so many
    /// bytes are unsent.
    pub fn wakes_writer(&self, lowat: Option<u32>) -> bool {
        self.tuning.wakes_writer(self.memory())
            && lowat.is_none_or(|lowat| self.unsent() < u64::from(lowat))
    }
}
