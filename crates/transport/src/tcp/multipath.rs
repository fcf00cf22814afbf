//! What a subflow carries for the multi-path connection that owns it: options to send, mappings,
//! the connection's window, and what arrived (RFC 8684 s3).
//!
//! Plain values on both sides: the connection writes what is to be said before it lets the
//! subflow send, and reads what was heard after a segment was handled. A subflow never sees a
//! sibling, and what an option means is the connection's business.

use std::collections::VecDeque;
use wire::mptcp::{
    Capable, CapableFlags, CapableForm, DataNumber, Dss, Key, Mapping, MptcpOption, MptcpOptions,
};

/// Options that wait for an acknowledgement at most; the oldest give way.
const MAX_PENDING: usize = 16;
/// Acknowledgements in a row that only bring an option: more look like a loss (RFC 8684 s3).
const MAX_SAID_IN_ROW: u32 = 2;

/// The multi-path side of a subflow.
#[derive(Clone, Debug, Default)]
pub struct Multipath {
    /// On the SYN or SYN/ACK.
    pub on_syn: MptcpOptions,
    /// SYNs sent with the option before it is left out (Linux: 2 repetitions); `None`: always.
    pub syn_repetitions: Option<u32>,
    /// On every pure acknowledgement until the peer proved that it got one.
    pub on_ack: Option<MptcpOption>,
    /// Both keys, to go with the first data in place of a DSS until they are known to be there.
    pub first_data: Option<(CapableFlags, Key, Key)>,
    /// Each to go once on an acknowledgement without data.
    pending: VecDeque<MptcpOption>,
    /// On a reset.
    pub on_reset: MptcpOptions,
    /// The data acknowledgement of every segment; `None` before one may be sent and after
    /// fallback.
    pub data_ack: Option<DataNumber>,
    /// A `DATA_FIN` alone, to be repeated on segments without data.
    pub data_fin: Option<Mapping>,
    /// The mapping without end, to be sent once with the next data: the fallback's announcement.
    pub infinite: Option<Mapping>,
    /// Bytes of every segment's options that are kept free for the DSS.
    pub room: u32,
    /// The connection fell back: this subflow is TCP and nothing else.
    pub plain: bool,
    /// The retransmission timer fired since the connection last looked.
    pub timed_out: bool,
    /// A tail loss probe went out since the connection last looked.
    pub probed: bool,
    maps: VecDeque<SentMap>,
    /// Mappings were joined: each is a buffer to be segmented below.
    joins: bool,
    /// Index of the mapping that data were last sent from.
    sent_last: usize,
    /// What the last segment said; a connection reads after every segment.
    heard: Option<Heard>,
    /// Acknowledgements in a row that were sent for the sake of an option.
    said_in_row: u32,
    /// The last acknowledgement carried the keys: a `DATA_FIN` that waits has the next one.
    keys_went: bool,
    /// An option took the place of the `DATA_FIN`, which is still to go.
    fin_put_off: bool,
}

/// Bytes of the subflow mapped to bytes of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentMap {
    /// Offset of the first byte in the subflow.
    pub offset: u64,
    pub len: u16,
    /// As on the wire.
    pub dsn: DataNumber,
    pub checksum: Option<u16>,
    /// The mapping's last number is the `DATA_FIN`, which takes no byte of the subflow.
    pub fin: bool,
}

/// What an acceptable segment said.
#[derive(Clone, Debug)]
pub struct Heard {
    pub options: MptcpOptions,
    /// Offset of its first byte in the subflow.
    pub offset: u64,
    /// Payload bytes.
    pub len: u32,
    /// Its window in bytes, relative to the data acknowledgement.
    pub window: u64,
    /// It acknowledged data of the subflow, cumulatively.
    pub acked_data: bool,
    /// It ends the subflow's direction.
    pub fin: bool,
    /// It was an acceptable reset.
    pub reset: bool,
}

impl Multipath {
    /// With these options on the SYN or SYN/ACK, and `room` bytes kept free for the DSS.
    pub fn new(on_syn: MptcpOptions, room: u32) -> Self {
        Multipath { on_syn, room, ..Multipath::default() }
    }

    /// Options of a SYN or SYN/ACK repeated `repetitions` times.
    pub fn syn_options(&self, repetitions: u32) -> MptcpOptions {
        match self.syn_repetitions {
            Some(most) if repetitions > most => MptcpOptions::default(),
            _ => self.on_syn.clone(),
        }
    }

    /// The bytes from `map.offset` on belong to the connection's `map.dsn`. Offsets ascend.
    pub fn map(&mut self, map: SentMap) {
        self.maps.push_back(map);
    }

    /// The same, as a sender that offloads segmentation does: the bytes fill the mapping that they
    /// follow if nothing of it was sent, nothing being sent from `nxt` on, and no mapping is
    /// longer than `most`, what one offload takes.
    pub fn map_joined(&mut self, mut map: SentMap, nxt: u64, most: u16) {
        self.joins = true;
        match self.maps.back_mut() {
            Some(last) if last.offset >= nxt && last.is_followed_by(&map) => {
                last.len += map.split_front(most.saturating_sub(last.len)).len;
            }
            _ => {}
        }
        while map.len > 0 {
            self.maps.push_back(map.split_front(most));
        }
    }

    /// How many bytes from `offset` on lie in one mapping.
    pub fn mapped_from(&self, offset: u64) -> Option<u64> {
        if self.plain {
            return None;
        }
        self.find(offset).map(|(_, map)| map.end() - offset)
    }

    /// How many bytes from `offset` on lie in one buffer to be segmented below; `None` where
    /// buffers do not depend on mappings.
    pub fn buffered_from(&self, offset: u64) -> Option<u64> {
        if self.joins { self.mapped_from(offset) } else { None }
    }

    /// Everything below `offset` is acknowledged.
    pub fn forget_below(&mut self, offset: u64) {
        while self.maps.front().is_some_and(|first| first.end() <= offset) {
            self.maps.pop_front();
            self.sent_last = self.sent_last.saturating_sub(1);
        }
    }

    /// The mapping of the byte at `offset` with its index. What is sent now mostly follows what
    /// was sent last.
    fn find(&self, offset: u64) -> Option<(usize, &SentMap)> {
        for index in [self.sent_last + 1, self.sent_last] {
            if let Some(map) = self.maps.get(index).filter(|map| map.covers(offset)) {
                return Some((index, map));
            }
        }
        let index = self.maps.partition_point(|map| map.end() <= offset);
        self.maps.get(index).filter(|map| map.offset <= offset).map(|map| (index, map))
    }

    /// Options of a segment with `len` bytes from `offset`.
    pub fn options(&mut self, offset: u64, len: u32) -> MptcpOptions {
        if self.plain {
            return self.plain_options(len);
        }
        if len > 0 {
            self.said_in_row = 0;
            let found = self.find(offset);
            let options = self.data_options(found.map(|(_, map)| map));
            if let Some((index, _)) = found {
                self.sent_last = index;
            }
            return options;
        }
        let mut options = MptcpOptions::default();
        let fin_waits = self.data_fin.is_some() && self.keys_went;
        if let Some(option) = self.on_ack.as_ref().filter(|_| !fin_waits) {
            self.keys_went = true;
            options.push(option.clone());
            return options;
        }
        self.keys_went = false;
        let said = self.say_pending(&mut options);
        if !options.others().iter().all(may_go_with_dss) {
            return options;
        }
        let mut dss = Dss::EMPTY;
        if let Some(ack) = self.data_ack {
            dss = dss.with_ack(ack);
        }
        // Both do not fit.
        if let Some(mapping) = self.data_fin.filter(|_| !said) {
            dss = dss.with_mapping(mapping).with_fin();
        }
        if dss != Dss::EMPTY {
            options.dss = Some(dss);
        }
        options
    }

    fn say_pending(&mut self, options: &mut MptcpOptions) -> bool {
        let option = self.pending.pop_front();
        let said = option.is_some();
        self.said_in_row = if said { self.said_in_row + 1 } else { 0 };
        self.fin_put_off = said && self.data_fin.is_some();
        option.into_iter().for_each(|option| options.push(option));
        said
    }

    /// Say `option` on an acknowledgement of its own.
    pub fn say(&mut self, option: MptcpOption) {
        if self.pending.len() == MAX_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back(option);
    }

    /// Say nothing more but these.
    pub fn keep_pending(&mut self, keep: impl Fn(&MptcpOption) -> bool) {
        self.pending.retain(keep);
    }

    /// Whether an acknowledgement is to go out for the sake of an option.
    pub fn owes_option(&self) -> bool {
        let waits = !self.pending.is_empty() && self.on_ack.is_none();
        self.fin_put_off || (waits && self.said_in_row < MAX_SAID_IN_ROW)
    }

    /// The options of a segment with data from `offset` on for which [`Multipath::options`] leave
    /// no room: a data acknowledgement may be left out (RFC 8684 s3.3.2).
    pub fn shorter_options(&self, offset: u64) -> MptcpOptions {
        let map = self.find(offset).map(|(_, map)| map);
        let mut options = self.data_options(map);
        options.dss = map.and(options.dss).map(|dss| {
            let kept = dss.mapping().map_or(Dss::EMPTY, |map| Dss::EMPTY.with_mapping(map));
            if dss.fin() { kept.with_fin() } else { kept }
        });
        options
    }

    fn data_options(&self, map: Option<&SentMap>) -> MptcpOptions {
        let Some(map) = map else {
            return self.data_ack.map(|ack| Dss::EMPTY.with_ack(ack).into()).unwrap_or_default();
        };
        if let Some((flags, sender, receiver)) = self.first_data.filter(|_| map.offset == 0) {
            let (len, checksum) = (map.len, map.checksum);
            let form = CapableForm::Data { sender, receiver, len, checksum };
            return MptcpOption::Capable(Capable::V1 { flags, form }).into();
        }
        let mut dss = Dss::EMPTY.with_mapping(map.mapping());
        if let Some(ack) = self.data_ack {
            dss = dss.with_ack(ack);
        }
        if map.fin {
            dss = dss.with_fin();
        }
        dss.into()
    }

    /// What is said after falling back: why, and where it begins.
    fn plain_options(&mut self, len: u32) -> MptcpOptions {
        if len == 0 {
            return self.pending.pop_front().map(MptcpOptions::from).unwrap_or_default();
        }
        let mapping = self.infinite.take();
        mapping.map(|mapping| Dss::EMPTY.with_mapping(mapping).into()).unwrap_or_default()
    }

    /// A segment was accepted.
    pub fn hear(&mut self, heard: Heard) {
        self.said_in_row = 0;
        self.heard = Some(heard);
    }

    /// What the segment that was just handled said, if it was accepted.
    pub const fn take_heard(&mut self) -> Option<Heard> {
        self.heard.take()
    }
}

impl SentMap {
    /// Bytes of the subflow that the mapping covers.
    pub const fn bytes(&self) -> u16 {
        self.len - self.fin as u16
    }

    fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes())
    }

    /// Whether the two may be one mapping.
    fn is_followed_by(&self, next: &SentMap) -> bool {
        let plain = |map: &SentMap| map.checksum.is_none() && !map.fin;
        let number = advanced(self.dsn, self.len);
        plain(self) && plain(next) && next.offset == self.end() && next.dsn == number
    }

    /// Take the first bytes away, `most` of them; all of them where they cannot be parted.
    fn split_front(&mut self, most: u16) -> SentMap {
        let whole = self.checksum.is_some() || self.fin;
        let len = if whole { self.len } else { self.len.min(most) };
        let front = SentMap { len, ..*self };
        self.offset += u64::from(len);
        self.dsn = advanced(self.dsn, len);
        self.len -= len;
        front
    }

    fn covers(&self, offset: u64) -> bool {
        (self.offset..self.end()).contains(&offset)
    }

    fn mapping(&self) -> Mapping {
        Mapping {
            dsn: self.dsn,
            subflow_seq: (self.offset as u32).wrapping_add(1),
            len: self.len,
            checksum: self.checksum,
        }
    }
}

fn advanced(number: DataNumber, by: u16) -> DataNumber {
    match number {
        DataNumber::Short(number) => DataNumber::Short(number.wrapping_add(by.into())),
        DataNumber::Long(number) => DataNumber::Long(number.wrapping_add(by.into())),
    }
}

/// RFC 8684 s3: which options share a segment with a DSS.
fn may_go_with_dss(option: &MptcpOption) -> bool {
    matches!(
        option,
        MptcpOption::RemoveAddr { .. } | MptcpOption::Prio { .. } | MptcpOption::Fail { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(offset: u64, len: u16) -> SentMap {
        let dsn = DataNumber::Long(7000 + offset);
        SentMap { offset, len, dsn, checksum: None, fin: false }
    }

    #[test]
    fn mapping_grows_while_nothing_of_it_was_sent() {
        let mut mp = Multipath::default();
        mp.map_joined(map(0, 1000), 0, 60_000);
        mp.map_joined(map(1000, 500), 0, 60_000);
        assert_eq!(mp.mapped_from(0), Some(1500));
        mp.map_joined(map(1500, 100), 200, 60_000);
        assert_eq!(mp.mapped_from(0), Some(1500), "a part of it is under way");
        assert_eq!(mp.mapped_from(1500), Some(100));
    }

    #[test]
    fn mappings_are_filled_up_to_what_one_offload_takes() {
        let mut mp = Multipath::default();
        mp.map_joined(map(0, 3000), 0, 1000);
        mp.map_joined(map(3000, 400), 0, 1000);
        mp.map_joined(map(3400, 1000), 0, 1000);
        let lens: Vec<u64> =
            [0, 1000, 2000, 3000, 4000].map(|at| mp.mapped_from(at).unwrap()).into();
        assert_eq!(lens, [1000, 1000, 1000, 1000, 400]);
        let (_, last) = mp.find(4000).unwrap();
        assert_eq!(last.dsn, DataNumber::Long(11_000), "each is mapped to its own numbers");
        mp.map_joined(SentMap { checksum: Some(1), ..map(4400, 3000) }, 0, 1000);
        assert_eq!(mp.mapped_from(4400), Some(3000), "its checksum is over the whole");
        mp.map_joined(SentMap { dsn: DataNumber::Long(1), ..map(7400, 10) }, 0, 1000);
        assert_eq!(mp.mapped_from(7400), Some(10), "its numbers jump");
    }
}
