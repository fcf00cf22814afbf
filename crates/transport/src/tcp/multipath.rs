//! The multi-path side of a subflow: MPTCP options to send, mappings of sent data, the connection's
//! data acknowledgement, and the summary of the segment that was handled last (RFC 8684 s3).
//!
//! The connection writes values before the subflow sends, and reads the summary after the subflow
//! handled a segment. A subflow never sees another one; the meaning of an option is left to the
//! connection.

use super::sent_mappings::{SentMapping, SentMappings, SizeGoal};
use std::collections::VecDeque;
use wire::mptcp::{
    Capable, CapableFlags, CapableForm, DataNumber, Dss, Key, Mapping, MptcpOption, MptcpOptions,
};

/// Largest number of queued options; the oldest are dropped.
const MAX_QUEUED: usize = 16;
/// Largest number of successive acknowledgements that are sent for an option only: more of them
/// resemble duplicate acknowledgements of a loss (RFC 8684 s3).
const MAX_OPTION_ACKS: u32 = 2;

/// The multi-path side of a subflow.
#[derive(Clone, Debug, Default)]
pub struct Multipath {
    /// Options of the SYN or SYN/ACK.
    on_syn: MptcpOptions,
    /// Number of repeated SYNs that carry the options (Linux: 2); `None`: all.
    syn_repetitions: Option<u32>,
    /// Option of every pure acknowledgement until the peer is known to have received it.
    on_ack: Option<MptcpOption>,
    /// Flags and both keys, sent with the first data instead of a DSS until the peer is known to
    /// have them.
    keys: Option<(CapableFlags, Key, Key)>,
    /// Options to be sent once, each on an acknowledgement without data.
    queued: VecDeque<MptcpOption>,
    /// Options of a reset.
    on_reset: MptcpOptions,
    /// Data acknowledgement of every segment; `None` before one is allowed and after fallback.
    data_ack: Option<DataNumber>,
    /// A `DATA_FIN` without data, repeated on segments without data.
    data_fin: Option<Mapping>,
    /// The infinite mapping, sent once with the next data to announce the fallback.
    infinite: Option<Mapping>,
    /// Option space of every segment that is reserved for the DSS, in bytes.
    room: u32,
    /// The connection fell back to TCP: data carry no mapping.
    fallen_back: bool,
    mappings: SentMappings,
    signals: TimerSignals,
    acks: OptionAcks,
    last: LastSegment,
}

/// Events of the retransmission timer since the connection last asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimerSignals {
    /// It fired.
    pub timed_out: bool,
    /// A tail loss probe was due.
    pub probed: bool,
}

/// State of the acknowledgements that carry options.
#[derive(Clone, Copy, Debug, Default)]
struct OptionAcks {
    /// Number of successive acknowledgements sent for an option only.
    in_row: u32,
    /// The last acknowledgement carried the keys; a waiting `DATA_FIN` takes the next one.
    keys_sent: bool,
    /// The `DATA_FIN` is still due: an option took its place, or nothing was sent yet.
    fin_postponed: bool,
}

/// An accepted segment without its options, which are large and stay in the segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct AcceptedSegment {
    /// Offset of the first byte in the subflow.
    pub offset: u64,
    /// Payload length in bytes.
    pub len: u32,
    /// Window in bytes, relative to the data acknowledgement.
    pub window: u64,
    /// The segment acknowledged data of the subflow cumulatively.
    pub acked_data: bool,
    /// The segment carried a FIN.
    pub fin: bool,
    /// The segment was an acceptable reset.
    pub reset: bool,
}

/// The segment handled last.
#[derive(Clone, Copy, Debug, Default)]
struct LastSegment {
    segment: AcceptedSegment,
    /// It was accepted, and the connection did not ask for it.
    is_accepted: bool,
}

/// What the connection needs to know of an accepted segment.
#[derive(Clone, Copy, Debug)]
pub struct SegmentInfo<'a> {
    pub options: &'a MptcpOptions,
    segment: AcceptedSegment,
}

impl<'a> SegmentInfo<'a> {
    pub const fn new(segment: AcceptedSegment, options: &'a MptcpOptions) -> Self {
        SegmentInfo { options, segment }
    }
}

impl std::ops::Deref for SegmentInfo<'_> {
    type Target = AcceptedSegment;

    fn deref(&self) -> &AcceptedSegment {
        &self.segment
    }
}

impl Multipath {
    /// A subflow with these options on its SYN or SYN/ACK and `room` bytes of option space reserved
    /// for the DSS.
    pub fn new(on_syn: MptcpOptions, room: u32) -> Self {
        Multipath { on_syn, room, ..Multipath::default() }
    }

    /// Leaves the options out of a SYN that was repeated more than `repetitions` times.
    pub const fn limit_syn_repetitions(&mut self, repetitions: u32) {
        self.syn_repetitions = Some(repetitions);
    }

    /// The options of the SYN or SYN/ACK, to be changed.
    pub const fn syn_options_mut(&mut self) -> &mut MptcpOptions {
        &mut self.on_syn
    }

    /// Options of a SYN or SYN/ACK that was repeated `repetitions` times.
    pub fn syn_options(&self, repetitions: u32) -> MptcpOptions {
        match self.syn_repetitions {
            Some(most) if repetitions > most => MptcpOptions::default(),
            _ => self.on_syn.clone(),
        }
    }

    /// Repeats `option` on every pure acknowledgement.
    pub fn repeat_on_acks(&mut self, option: MptcpOption) {
        self.on_ack = Some(option);
    }

    /// Stops repeating an option on acknowledgements: the peer received it.
    pub fn stop_repeating(&mut self) {
        self.on_ack = None;
    }

    /// Sends both keys with the first data (RFC 8684 s3.1).
    pub const fn set_keys(&mut self, flags: CapableFlags, sender: Key, receiver: Key) {
        self.keys = Some((flags, sender, receiver));
    }

    /// The peer has both keys.
    pub fn on_fully_established(&mut self) {
        self.on_ack = None;
        self.keys = None;
    }

    /// The connection fell back to TCP; `infinite` is the mapping that announces it, if any.
    pub fn fall_back(&mut self, infinite: Option<Mapping>) {
        self.fallen_back = true;
        self.infinite = infinite;
        self.on_ack = None;
        self.keys = None;
        self.data_ack = None;
    }

    /// Whether the connection fell back to TCP.
    pub const fn is_fallen_back(&self) -> bool {
        self.fallen_back
    }

    /// Whether no infinite mapping is to be sent any more.
    pub const fn is_fallback_announced(&self) -> bool {
        self.infinite.is_none()
    }

    /// Sets the data acknowledgement of every segment.
    pub const fn set_data_ack(&mut self, ack: Option<DataNumber>) {
        self.data_ack = ack;
    }

    /// Sets the `DATA_FIN` that is repeated on segments without data.
    pub const fn set_data_fin(&mut self, mapping: Option<Mapping>) {
        self.data_fin = mapping;
    }

    /// The `DATA_FIN` is sent next, or behind data that leave first: they take the acknowledgement
    /// that was due. Keys go first, on the acknowledgement.
    pub const fn owe_data_fin(&mut self) {
        self.acks.fin_postponed = self.data_fin.is_some() && self.on_ack.is_none();
    }

    /// Sets the options of a reset.
    pub fn set_reset_options(&mut self, options: MptcpOptions) {
        self.on_reset = options;
    }

    /// Options of a reset.
    pub fn reset_options(&self) -> MptcpOptions {
        self.on_reset.clone()
    }

    /// Option space reserved for the DSS, in bytes.
    pub const fn room(&self) -> u32 {
        self.room
    }

    /// Reserves `room` bytes of option space for the DSS; returns how many were reserved before.
    pub const fn set_room(&mut self, room: u32) -> u32 {
        std::mem::replace(&mut self.room, room)
    }

    /// The retransmission timer fired.
    pub const fn on_timeout(&mut self) {
        self.signals.timed_out = true;
    }

    /// What its retransmission timer did since the last call.
    #[inline]
    pub const fn take_signals(&mut self) -> TimerSignals {
        let none = TimerSignals { timed_out: false, probed: false };
        std::mem::replace(&mut self.signals, none)
    }

    /// A tail loss probe is due.
    pub const fn on_loss_probe(&mut self) {
        self.signals.probed = true;
    }

    /// Adds a mapping of data to send; `joined` extends the last one where possible, up to
    /// `max_len` bytes, `nxt` being the next offset to send.
    pub fn map(&mut self, mapping: SentMapping) {
        self.mappings.push(mapping);
    }

    /// Adds a mapping of data to send and extends the last one where possible
    /// (`SentMappings::push_joined`).
    pub(crate) fn map_joined(&mut self, mapping: SentMapping, nxt: u64, goal: SizeGoal) {
        self.mappings.push_joined(mapping, nxt, goal);
    }

    /// Bytes from `offset` to the end of its mapping; `None` where segments need no mapping.
    pub fn mapped_from(&self, offset: u64) -> Option<u64> {
        if self.fallen_back {
            return None;
        }
        self.mappings.left_from(offset)
    }

    /// The data of the connection that are mapped at or after `offset`, last ones first: their
    /// first number and their length.
    pub(crate) fn data_from(&self, offset: u64) -> impl Iterator<Item = (DataNumber, u16)> {
        self.mappings.data_from(offset)
    }

    /// Whether mappings are offload buffers.
    pub const fn is_buffered(&self) -> bool {
        self.mappings.are_joined() && !self.fallen_back
    }

    /// The number of offload buffers from `offset` on, but at least one.
    pub(crate) fn buffers_from(&self, offset: u64) -> u8 {
        if self.is_buffered() { self.mappings.buffers_from(offset).max(1) } else { 1 }
    }

    /// Everything below `offset` is acknowledged.
    pub fn forget_below(&mut self, offset: u64) {
        self.mappings.forget_below(offset);
    }

    /// The DSS of a segment with `len` bytes of data from `offset` on that has no other option, as
    /// nearly all; `None`: see [`Multipath::options`].
    #[inline]
    pub fn only_dss(&mut self, offset: u64, len: u32) -> Option<Dss> {
        let ack = self.data_ack.filter(|_| !self.fallen_back)?;
        if len == 0 {
            if self.has_more_for_acks() {
                return None;
            }
            self.acks = OptionAcks::default();
            return Some(Dss::EMPTY.with_ack(ack));
        }
        if self.keys.is_some() {
            return None;
        }
        // What was asked before it was sent (`mapped_from`).
        let mapping = self.mappings.found_last(offset).filter(|mapping| !mapping.fin)?;
        self.acks.in_row = 0;
        Some(Dss::EMPTY.with_mapping(mapping.to_wire()).with_ack(ack))
    }

    /// Options of a segment with `len` bytes of data from `offset` on.
    pub fn options(&mut self, offset: u64, len: u32) -> MptcpOptions {
        if self.fallen_back {
            return self.fallback_options(len);
        }
        if len == 0 {
            return self.ack_options();
        }
        self.acks.in_row = 0;
        self.data_options(self.mappings.find(offset))
    }

    /// Options of a segment without data.
    fn ack_options(&mut self) -> MptcpOptions {
        if self.has_more_for_acks() {
            return self.more_ack_options();
        }
        self.acks = OptionAcks::default();
        self.data_ack.map(|ack| Dss::EMPTY.with_ack(ack).into()).unwrap_or_default()
    }

    /// Whether a segment without data is to have more than a data acknowledgement.
    #[inline]
    fn has_more_for_acks(&self) -> bool {
        self.on_ack.is_some() || self.data_fin.is_some() || !self.queued.is_empty()
    }

    /// The same, where there is more than a data acknowledgement.
    #[cold]
    fn more_ack_options(&mut self) -> MptcpOptions {
        let mut options = MptcpOptions::default();
        let fin_waits = self.data_fin.is_some() && self.acks.keys_sent;
        if let Some(option) = self.on_ack.as_ref().filter(|_| !fin_waits) {
            self.acks.keys_sent = true;
            options.push(option.clone());
            return options;
        }
        self.acks.keys_sent = false;
        let took_one = !self.takes_turn_of_fin() && self.take_queued(&mut options);
        if !options.others().iter().all(may_go_with_dss) {
            return options;
        }
        let mut dss = Dss::EMPTY;
        if let Some(ack) = self.data_ack {
            dss = dss.with_ack(ack);
        }
        // A segment has no room for both.
        if let Some(mapping) = self.data_fin.filter(|_| !took_one) {
            dss = dss.with_mapping(mapping).with_fin();
        }
        if dss != Dss::EMPTY {
            options.dss = Some(dss);
        }
        options
    }

    /// Whether a `DATA_FIN` waits that enough options went before. It is the last of the
    /// acknowledgements that follow each other; the next one is sent for another reason, and
    /// options may follow it again.
    fn takes_turn_of_fin(&mut self) -> bool {
        let is_due = self.data_fin.is_some() && self.acks.in_row >= MAX_OPTION_ACKS;
        if is_due {
            let may_follow = self.acks.in_row > MAX_OPTION_ACKS;
            self.acks.in_row = if may_follow { 0 } else { self.acks.in_row + 1 };
            self.acks.fin_postponed = false;
        }
        is_due
    }

    /// Moves the oldest queued option to `options`; returns whether there was one.
    fn take_queued(&mut self, options: &mut MptcpOptions) -> bool {
        let option = self.queued.pop_front();
        let took_one = option.is_some();
        self.acks.in_row = if took_one { self.acks.in_row + 1 } else { 0 };
        self.acks.fin_postponed = took_one && self.data_fin.is_some();
        option.into_iter().for_each(|option| options.push(option));
        took_one
    }

    /// Queues `option` for an acknowledgement of its own.
    pub fn queue_option(&mut self, option: MptcpOption) {
        if self.queued.len() == MAX_QUEUED {
            self.queued.pop_front();
        }
        self.queued.push_back(option);
        debug_assert!(self.queued.len() <= MAX_QUEUED, "the queue of options is bounded");
    }

    /// Drops the queued options that `keep` refuses.
    pub fn retain_queued(&mut self, keep: impl Fn(&MptcpOption) -> bool) {
        self.queued.retain(keep);
    }

    /// Whether an acknowledgement is to be sent for an option.
    pub fn owes_option(&self) -> bool {
        let waits = !self.queued.is_empty() && self.on_ack.is_none();
        self.acks.fin_postponed || (waits && self.acks.in_row < MAX_OPTION_ACKS)
    }

    /// Options of a segment with data from `offset` on that leaves no room for
    /// [`Multipath::options`]: without the data acknowledgement, which is optional
    /// (RFC 8684 s3.3.2).
    #[cold]
    pub fn shorter_options(&self, offset: u64) -> MptcpOptions {
        let mapping = self.mappings.find(offset);
        let mut options = self.data_options(mapping);
        options.dss = mapping.and(options.dss).map(|dss| {
            let kept = dss.mapping().map_or(Dss::EMPTY, |map| Dss::EMPTY.with_mapping(map));
            if dss.fin() { kept.with_fin() } else { kept }
        });
        options
    }

    #[inline(always)]
    fn data_options(&self, mapping: Option<&SentMapping>) -> MptcpOptions {
        let Some(mapping) = mapping else {
            return self.data_ack.map(|ack| Dss::EMPTY.with_ack(ack).into()).unwrap_or_default();
        };
        if let Some((flags, sender, receiver)) = self.keys.filter(|_| mapping.offset == 0) {
            let (len, checksum) = (mapping.len, mapping.checksum);
            let form = CapableForm::Data { sender, receiver, len, checksum };
            return MptcpOption::Capable(Capable::V1 { flags, form }).into();
        }
        let mut dss = Dss::EMPTY.with_mapping(mapping.to_wire());
        if let Some(ack) = self.data_ack {
            dss = dss.with_ack(ack);
        }
        if mapping.fin {
            dss = dss.with_fin();
        }
        dss.into()
    }

    /// Options after the fallback: its reason on an acknowledgement, the infinite mapping on data.
    fn fallback_options(&mut self, len: u32) -> MptcpOptions {
        if len == 0 {
            return self.queued.pop_front().map(MptcpOptions::from).unwrap_or_default();
        }
        let mapping = self.infinite.take();
        mapping.map(|mapping| Dss::EMPTY.with_mapping(mapping).into()).unwrap_or_default()
    }

    /// A segment was accepted.
    pub const fn on_segment(&mut self, segment: AcceptedSegment) {
        self.acks.in_row = 0;
        self.last = LastSegment { segment, is_accepted: true };
    }

    /// Takes what is known of the segment that was just handled, if it was accepted.
    #[inline]
    pub fn take_segment(&mut self) -> Option<AcceptedSegment> {
        std::mem::take(&mut self.last.is_accepted).then_some(self.last.segment)
    }
}

/// Whether RFC 8684 s3 allows the option in a segment with a DSS.
fn may_go_with_dss(option: &MptcpOption) -> bool {
    matches!(
        option,
        MptcpOption::RemoveAddr { .. } | MptcpOption::Prio { .. } | MptcpOption::Fail { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prio() -> MptcpOption {
        MptcpOption::Prio { backup: true }
    }

    #[test]
    fn acknowledgements_for_options_only_are_two_in_a_row() {
        let mut mp = Multipath::default();
        (0..3).for_each(|_| mp.queue_option(prio()));
        for _ in 0..2 {
            assert!(mp.owes_option());
            assert_eq!(mp.options(0, 0).others().len(), 1);
        }
        assert!(!mp.owes_option(), "a third one would resemble a loss");
    }

    /// Regression: with a `DATA_FIN` waiting, all queued options went out one behind the other.
    #[test]
    fn data_fin_is_the_last_of_the_acknowledgements_that_follow_each_other() {
        let mut mp = Multipath::default();
        let mapping = Mapping { dsn: DataNumber::Long(7), subflow_seq: 0, len: 1, checksum: None };
        mp.set_data_fin(Some(mapping));
        (0..5).for_each(|_| mp.queue_option(prio()));
        for queued in [3, 1, 0] {
            // Sent for another reason, it may be the first.
            let mut ends = Vec::new();
            ends.push(mp.options(0, 0).dss.is_some_and(|dss| dss.fin()));
            while mp.owes_option() {
                ends.push(mp.options(0, 0).dss.is_some_and(|dss| dss.fin()));
            }
            assert!(ends.len() <= 4 && ends.last() == Some(&true), "{ends:?}");
            assert_eq!(mp.queued.len(), queued);
        }
    }

    /// Regression: data took the acknowledgement that was due, and the `DATA_FIN` was 200 ms late.
    #[test]
    fn data_fin_follows_data_that_leave_first() {
        let mut mp = Multipath::default();
        let mapping = Mapping { dsn: DataNumber::Long(7), subflow_seq: 0, len: 1, checksum: None };
        mp.set_data_fin(Some(mapping));
        assert!(!mp.owes_option(), "it is repeated on what is sent anyway");
        mp.owe_data_fin();
        assert!(mp.options(0, 100).dss.is_none_or(|dss| !dss.fin()));
        assert!(mp.owes_option());
        assert!(mp.options(100, 0).dss.is_some_and(|dss| dss.fin()));
        assert!(!mp.owes_option(), "once");
    }

    #[test]
    fn data_fin_waits_for_the_queued_option() {
        let mut mp = Multipath::default();
        let mapping = Mapping { dsn: DataNumber::Long(7), subflow_seq: 0, len: 1, checksum: None };
        mp.set_data_fin(Some(mapping));
        mp.queue_option(prio());
        assert!(mp.options(0, 0).dss.is_none_or(|dss| !dss.fin()));
        assert!(mp.owes_option(), "the DATA_FIN is still due");
        assert!(mp.options(0, 0).dss.is_some_and(|dss| dss.fin()));
    }
}
