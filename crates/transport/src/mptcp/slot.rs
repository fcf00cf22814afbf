//! A subflow with what its connection keeps about it: addresses, handshake, mappings received.

use super::failover::Watch;
use super::grouped::Grouped;
use crate::path_manager::Ending;
use crate::tcp::subflow::Subflow;
use base::{Instant, InterfaceId, PathId};
use std::collections::VecDeque;
use wire::mptcp::{DataNumber, Mapping};

/// Where a subflow is in its multi-path handshake (RFC 8684 s3.1, s3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// SYN or SYN/ACK under way.
    Opening,
    /// The initiator of a join waits for the fourth packet: no data.
    PreEstablished,
    /// Data may be sent.
    Open,
    /// Ended; the slot keeps its number until the connection ends.
    Gone,
}

/// One subflow of a connection.
#[derive(Debug)]
pub struct Slot {
    pub path: PathId,
    pub subflow: Subflow,
    pub interface: InterfaceId,
    pub stage: Stage,
    /// This host sent the SYN.
    pub initiator: bool,
    pub local_id: u8,
    pub remote_id: u8,
    pub local_nonce: u32,
    pub remote_nonce: u32,
    /// This host wants it spared.
    pub backup_local: bool,
    /// What the peer was told of it.
    pub backup_told: bool,
    /// The peer wants it spared.
    pub backup_remote: bool,
    /// Potentially failed, by the rule of `failover`.
    pub pf: bool,
    pub watch: Watch,
    /// The path policy or the scheduler has it probed only.
    pub probing: bool,
    /// In use since it was opened: `una` when `pf` was set.
    pub pf_una: u64,
    /// When to repeat the third packet of a join.
    pub repeat_ack_at: Option<Instant>,
    /// Times it was repeated.
    pub ack_repetitions: u32,
    /// What its peer said of its end, by a reset with a reason.
    pub said: Option<Ending>,
    /// The peer withdrew its address: whether it still answers is being found out.
    pub check: Option<Check>,
    /// It was opened as one of a group of simultaneous SYNs.
    pub grouped: Option<Box<Grouped>>,
    pub received: ReceivedMaps,
    /// Where the last data handed to it end in the connection's stream.
    pub last_end: Option<u64>,
    pub first_sent_bytes: u64,
    /// Payload handed to it that another path had, in bytes and in segments.
    pub reinjected: (u64, u64),
    /// Payload that the subflow holds, in bytes, when last counted.
    pub held: u64,
    pub in_ready: bool,
}

/// Probes of a subflow whose address was withdrawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// The next one, or the end.
    pub due: Instant,
    pub sent: u32,
}

/// Mappings received on one subflow, by offset in the subflow.
#[derive(Clone, Debug, Default)]
pub struct ReceivedMaps {
    maps: VecDeque<ReceivedMap>,
}

/// A mapping received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedMap {
    /// Offset of the first byte in the subflow.
    pub offset: u64,
    /// Bytes of the subflow.
    pub len: u32,
    /// Offset of the first byte in the connection.
    pub data: u64,
    /// As it came, for the checksum.
    pub wire: Mapping,
    /// Data sequence number of the first byte, 64 bits.
    pub dsn: u64,
}

/// Why a mapping is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradiction;

impl ReceivedMaps {
    /// Keep a mapping. Repetitions are welcome, contradictions are not (RFC 8684 s3.3.1).
    pub fn insert(&mut self, map: ReceivedMap) -> Result<(), Contradiction> {
        let follows = |last: &ReceivedMap| last.offset + u64::from(last.len) <= map.offset;
        if self.maps.back().is_none_or(follows) {
            self.maps.push_back(map);
            return Ok(());
        }
        let index = self.maps.partition_point(|known| known.offset < map.offset);
        let end = map.offset + u64::from(map.len);
        if let Some(next) = self.maps.get(index) {
            if next.offset == map.offset {
                let same = next.data == map.data && next.len == map.len;
                return if same { Ok(()) } else { Err(Contradiction) };
            }
            if next.offset < end {
                return Err(Contradiction);
            }
        }
        let before = index.checked_sub(1).and_then(|before| self.maps.get(before));
        if before.is_some_and(|before| before.offset + u64::from(before.len) > map.offset) {
            return Err(Contradiction);
        }
        self.maps.insert(index, map);
        Ok(())
    }

    /// The mapping of the byte at `offset`.
    pub fn at(&self, offset: u64) -> Option<&ReceivedMap> {
        let ends_above = |map: &&ReceivedMap| map.offset + u64::from(map.len) > offset;
        // What is taken next is mapped first.
        let map = self.maps.front().filter(ends_above).or_else(|| {
            let below = |map: &ReceivedMap| map.offset + u64::from(map.len) <= offset;
            self.maps.get(self.maps.partition_point(below))
        });
        map.filter(|map| map.offset <= offset)
    }

    /// Whether a byte behind `offset` is mapped.
    pub fn reach_beyond(&self, offset: u64) -> bool {
        self.maps.back().is_some_and(|map| map.offset > offset)
    }

    /// Everything below `offset` went to the connection.
    pub fn forget_below(&mut self, offset: u64) {
        while self.maps.front().is_some_and(|map| map.offset + u64::from(map.len) <= offset) {
            self.maps.pop_front();
        }
    }

    /// Where the last of them ends in the connection's stream; zero without any.
    pub fn data_end(&self) -> u64 {
        self.maps.back().map_or(0, |map| map.data + u64::from(map.len))
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        self.maps.len()
    }
}

impl Slot {
    /// Whether it can be used for data at all.
    pub fn is_usable(&self) -> bool {
        self.stage == Stage::Open && self.subflow.may_send()
    }

    /// Data were handed to it that another path had.
    pub fn on_reinjection(&mut self, bytes: u32) {
        let segs = bytes.div_ceil(self.subflow.segment_size().max(1));
        self.reinjected.0 += u64::from(bytes);
        self.reinjected.1 += u64::from(segs);
    }

    /// It is over, and nothing of it is left to be sent.
    pub fn is_free(&self) -> bool {
        self.stage == Stage::Gone && self.subflow.is_closed() && !self.in_ready
    }

    /// Either side wants it spared.
    pub const fn is_backup(&self) -> bool {
        self.backup_local || self.backup_remote
    }
}

/// A data sequence number in the width that a peer must be answered in.
pub const fn data_number(long: bool, number: u64) -> DataNumber {
    if long { DataNumber::Long(number) } else { DataNumber::Short(number as u32) }
}
