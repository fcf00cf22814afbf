//! The sending half of the data sequence space on the wire (RFC 8684 s3.3): data sequence numbers
//! for offsets in the stream, and the DATA_FIN, which takes one number. The data themselves are in
//! `multipath::SendQueue`.

use super::mappings::data_number;
use crate::multipath::SendQueue;
use base::PathId;
use wire::Payload;
use wire::mptcp::{DataNumber, Mapping};

/// The state of this host's DATA_FIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fin {
    /// The application may write more.
    Open,
    /// The application closed its direction, and the DATA_FIN was not sent yet.
    Queued,
    /// The DATA_FIN was sent.
    Sent,
    /// The peer acknowledged it.
    Acked,
}

/// Numbers of the sending half.
#[derive(Debug)]
pub(super) struct SendNumbers {
    /// Data sequence number of offset zero.
    first_dsn: u64,
    /// They have 64 bits on the wire, otherwise 32.
    long: bool,
    fin: Fin,
    /// The last data acknowledgement that was accepted, and its window.
    last_ack: Option<(DataNumber, u64)>,
}

impl SendNumbers {
    /// The stream begins one above the initial data sequence number. `long`: numbers have 64 bits
    /// on the wire, otherwise 32.
    pub(super) const fn new(idsn: u64, long: bool) -> Self {
        SendNumbers { first_dsn: idsn.wrapping_add(1), long, fin: Fin::Open, last_ack: None }
    }

    /// Whether they have 64 bits on the wire.
    pub(super) const fn are_long(&self) -> bool {
        self.long
    }

    /// A number as it is sent.
    #[inline]
    pub(super) const fn to_wire(&self, dsn: u64) -> DataNumber {
        data_number(self.long, dsn)
    }

    /// The number on the wire of `offset`.
    #[inline]
    pub(super) const fn dsn(&self, offset: u64) -> u64 {
        self.first_dsn.wrapping_add(offset)
    }

    /// The offset of a number on the wire.
    #[inline]
    pub(super) const fn offset(&self, dsn: u64) -> u64 {
        dsn.wrapping_sub(self.first_dsn)
    }

    /// The offset of a number that is to be sent, which is near `una`.
    pub(super) const fn offset_near(&self, number: DataNumber, una: u64) -> u64 {
        self.offset(number.expand(self.dsn(una)))
    }

    /// Whether the last data acknowledgement was the same, so that this one says nothing new.
    #[inline]
    pub(super) fn is_repeated(&self, ack: DataNumber, window: u64) -> bool {
        self.last_ack == Some((ack, window))
    }

    /// A data acknowledgement on `path` and the window that came with it. Whether anything new is
    /// acknowledged; `None`: it acknowledges what was never sent and is ignored.
    #[inline]
    pub(super) fn on_data_ack(
        &mut self,
        queue: &mut SendQueue,
        ack: DataNumber,
        window: u64,
        path: PathId,
    ) -> Option<bool> {
        let number = ack.expand(self.dsn(self.una(queue.una())));
        let up_to = self.offset(number);
        debug_assert!(queue.una() <= queue.nxt() && queue.nxt() <= queue.end());
        if up_to > queue.nxt() + u64::from(self.is_fin_sent()) {
            return None;
        }
        self.last_ack = Some((ack, window));
        queue.allow(up_to, window);
        let ends = up_to > queue.end() && self.on_fin_acked();
        Some(queue.on_ack(up_to.min(queue.end()), path) | ends)
    }

    /// The mapping of the DATA_FIN behind `end`, which covers no byte (RFC 8684 s3.3.3).
    pub(super) fn fin_mapping(&self, end: u64, checksum: bool) -> Mapping {
        let dsn = self.dsn(end);
        let checksum = checksum.then(|| Mapping::checksum_of(dsn, 0, 1, &Payload::EMPTY));
        Mapping { dsn: self.to_wire(dsn), subflow_seq: 0, len: 1, checksum }
    }

    /// The infinite mapping of a fallback (RFC 8684 s3.3.1): everything from `start`, the last data
    /// known to be intact, on is at the same offset of the subflow.
    pub(super) fn infinite_mapping(&self, start: u64, checksum: bool) -> Mapping {
        Mapping {
            dsn: self.to_wire(self.dsn(start)),
            subflow_seq: (start as u32).wrapping_add(1),
            len: 0,
            checksum: checksum.then_some(0),
        }
    }

    /// The application will write no more.
    pub(super) const fn queue_fin(&mut self) {
        if matches!(self.fin, Fin::Open) {
            self.fin = Fin::Queued;
        }
    }

    /// The application will write no more, whether or not the DATA_FIN was sent.
    #[inline]
    pub(super) const fn is_fin_queued(&self) -> bool {
        !matches!(self.fin, Fin::Open)
    }

    /// The DATA_FIN is to be sent once everything written was passed to subflows.
    #[inline]
    pub(super) const fn is_fin_due(&self) -> bool {
        matches!(self.fin, Fin::Queued)
    }

    /// The DATA_FIN was sent.
    pub(super) fn on_fin_sent(&mut self) {
        debug_assert_eq!(self.fin, Fin::Queued, "it is sent once");
        self.fin = Fin::Sent;
    }

    /// The DATA_FIN was sent, whether or not it is acknowledged.
    #[inline]
    pub(super) const fn is_fin_sent(&self) -> bool {
        matches!(self.fin, Fin::Sent | Fin::Acked)
    }

    /// The peer acknowledged the DATA_FIN. Whether it had not before.
    pub(super) fn on_fin_acked(&mut self) -> bool {
        debug_assert!(self.is_fin_sent());
        std::mem::replace(&mut self.fin, Fin::Acked) != Fin::Acked
    }

    /// The peer acknowledged the DATA_FIN.
    #[inline]
    pub(super) const fn is_fin_acked(&self) -> bool {
        matches!(self.fin, Fin::Acked)
    }

    /// The offset after what the peer acknowledged, if it is `una` of the data: the DATA_FIN counts
    /// one.
    #[inline]
    pub(super) const fn una(&self, una: u64) -> u64 {
        una + self.is_fin_acked() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_fin_takes_the_number_after_the_data() {
        let mut numbers = SendNumbers::new(u64::MAX - 1, true);
        assert_eq!((numbers.dsn(0), numbers.dsn(1), numbers.offset(4)), (u64::MAX, 0, 5));
        numbers.queue_fin();
        assert!(numbers.is_fin_due() && !numbers.is_fin_sent());
        numbers.on_fin_sent();
        numbers.queue_fin();
        assert!(numbers.is_fin_queued() && !numbers.is_fin_due());
        assert_eq!(numbers.una(7), 7);
        assert!(numbers.on_fin_acked());
        assert!(!numbers.on_fin_acked() && numbers.is_fin_sent());
        assert_eq!(numbers.una(7), 8);
    }
}
