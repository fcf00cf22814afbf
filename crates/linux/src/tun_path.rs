//! A TUN device as a path of the engine: packets in and out, with offloads where the kernel has
//! them.
//!
//! What is in front of a datagram with offloads is left to `offload`, opening devices to `device`.

use crate::device::Tun;
use crate::live::LiveCounters;
use crate::offload::{Merged, Merger};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use wire::Packet;

/// A device with what waits to be written to it.
pub(crate) struct TunPath {
    tun: Tun,
    merger: Merger,
    /// The kernel cuts merged segments apart.
    merges: bool,
    /// The datagram that leaves.
    out: Vec<u8>,
}

impl TunPath {
    pub(crate) fn new(tun: Tun) -> Self {
        let merges = tun.has_offloads();
        TunPath { tun, merger: Merger::default(), merges, out: Vec::new() }
    }

    /// The name of the device.
    pub(crate) fn name(&self) -> &str {
        self.tun.name()
    }

    /// Whether the kernel segments and computes checksums.
    pub(crate) const fn has_offloads(&self) -> bool {
        self.tun.has_offloads()
    }

    /// Sends a packet with the others of its flow, at the latest by the next `flush`.
    pub(crate) fn send(&mut self, packet: Box<Packet>, counters: &mut LiveCounters) {
        if !self.tun.has_offloads() {
            self.out.clear();
            packet.emit(&mut self.out);
            let sent = self.tun.send(&self.out);
            return count(sent, 1, counters);
        }
        for merged in self.merger.push(packet).into_iter().flatten() {
            self.write(merged, counters);
        }
        if !self.merges {
            self.flush(counters);
        }
    }

    /// What was read so far is acknowledged by a packet of its own.
    pub(crate) fn settle(&mut self) {
        self.merger.settle();
    }

    /// Passes to the kernel what `send` held back.
    pub(crate) fn flush(&mut self, counters: &mut LiveCounters) {
        if let Some(merged) = self.merger.take() {
            self.write(merged, counters);
        }
    }

    /// Reads a datagram, after its header if the device has offloads; its length.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.tun.receive(buffer)
    }

    fn write(&mut self, merged: Merged, counters: &mut LiveCounters) {
        merged.emit(&mut self.out);
        let sent = self.tun.send(&self.out);
        let refused = sent.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::InvalidInput);
        if !refused || merged.count == 1 {
            if sent.is_ok() && merged.count > 1 {
                counters.sent_merged += merged.count as u64;
            }
            return count(sent, merged.count, counters);
        }
        // A kernel that takes the header and not what it says.
        self.merges = false;
        for single in merged.into_singles() {
            single.emit(&mut self.out);
            count(self.tun.send(&self.out), 1, counters);
        }
    }
}

impl AsRawFd for TunPath {
    fn as_raw_fd(&self) -> RawFd {
        self.tun.as_raw_fd()
    }
}

/// Counts packets that were written at once.
fn count(sent: io::Result<()>, packets: usize, counters: &mut LiveCounters) {
    match sent {
        Ok(()) => counters.sent += packets as u64,
        // A device that is down, a kernel without memory: lost like any other.
        Err(_) => counters.unsent += packets as u64,
    }
}
