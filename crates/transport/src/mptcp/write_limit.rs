//! How much of the stream a connection buffers for sending.

use super::config::MptcpConfig;
use super::stage::Stage;
use super::subflows::Subflows;
use crate::congestion::Controller;
use crate::multipath::SendQueue;
use crate::tcp::Buffers;
use crate::tcp::profile::ConnectionBuffer;
use wire::Payload;

/// Send buffer of a connection in addition to those of its subflows, in bytes (Linux: the smallest
/// buffer, `tcp_wmem[0]`).
const LEAST_BUFFER: u32 = 4096;

/// The size of the send buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteLimit {
    buffers: Buffers,
    rule: ConnectionBuffer,
}

impl WriteLimit {
    /// The limit for this configuration.
    pub(super) fn new(config: &MptcpConfig) -> Self {
        let rule = config.tcp.profile.switches().multipath.connection_buffer;
        WriteLimit { buffers: config.tcp.buffers, rule }
    }

    /// Size of the send buffer: fixed, or the sum of what auto-tuning gives the subflows (Linux
    /// `mptcp_propagate_sndbuf`).
    #[inline]
    pub(super) fn bytes(&self, subflows: &mut Subflows, controller: &Controller) -> u32 {
        if !self.buffers.auto_tuning {
            return self.buffers.send_max;
        }
        match self.rule {
            ConnectionBuffer::Sum => sum(subflows).saturating_add(LEAST_BUFFER),
            ConnectionBuffer::Capped => self.grown(subflows, controller),
        }
    }

    /// The same where subflows grow theirs only now.
    #[inline(never)]
    fn grown(&self, subflows: &mut Subflows, controller: &Controller) -> u32 {
        for entry in subflows.iter_mut().filter(|entry| entry.stage() == Stage::Open) {
            entry.tcp.grow_send_buffer(controller);
        }
        sum(subflows).min(self.buffers.send_max)
    }

    /// Append to the stream while less than `limit` is buffered; how many bytes were taken.
    #[inline]
    pub(super) fn append(queue: &mut SendQueue, payload: &Payload, limit: u32) -> u32 {
        let len = payload.len();
        queue.set_limit(limit);
        let mut taken = 0;
        while taken < len && queue.memory() < u64::from(limit) {
            let step = (len - taken).min(queue.write_room());
            queue.write(payload.slice(taken, step));
            taken += step;
        }
        debug_assert!(taken <= len);
        taken
    }

    /// Whether enough of the buffer is free to wake a writer that waits: a third of it (Linux
    /// `sk_stream_is_writeable`).
    #[inline]
    pub(super) fn is_writable(limit: u32, queue: &mut SendQueue) -> bool {
        queue.set_limit(limit);
        let used = queue.memory();
        u64::from(limit).saturating_sub(used) >= used / 2
    }
}

#[inline]
fn sum(subflows: &Subflows) -> u32 {
    let open = subflows.iter().filter(|entry| entry.stage() == Stage::Open);
    let sum: u64 = open.map(|entry| u64::from(entry.tcp.send_buffer())).sum();
    u32::try_from(sum).unwrap_or(u32::MAX)
}
