//! Falling back to TCP on the first subflow, as state machines (RFC 8684 s3.7).
//!
//! There are two, because the RFC has two independent questions, and every combination of their
//! states is reachable:
//!
//! - [`Mode`]: how far the connection has left MPTCP. MP_FAIL is a negotiation: the host that finds
//!   a wrong checksum sends it and drops what follows; its peer answers it; the connection is TCP
//!   with the infinite mapping of the peer, or at once where none is to come.
//! - [`Joins`]: whether a second subflow exists. Fallback is permitted only without one, because
//!   offsets of the connection and of the first subflow are then the same numbers. An initiator
//!   that verified the SYN/ACK of a join does not know whether the acceptor received its third
//!   packet (s3.2); the acceptor may fall back in between and refuse the join.
//!
//! ```text
//!  Multipath --wrong checksum--> FailSent --MP_FAIL with a DSS--> FailAgreed
//!   |     ^                      |      |                             |
//!   |     +----join accepted-----+      | MP_FAIL alone,              | infinite mapping,
//!   |                                   | options lost                | options lost
//!   +-----------------------------------+-----------> Plain <---------+
//!
//!  None --join verified--> Unconfirmed --fourth packet--> Confirmed
//!   ^                           |
//!   +------all joins failed-----+
//! ```
//!
//! A condition that is no state is an argument: `one_stream`, that nothing was sent twice or out of
//! order and that all data received had the same offset in connection and subflow.

use wire::Payload;

/// How far the connection has left MPTCP.
#[derive(Debug)]
enum Mode {
    /// Data are mapped by DSS options.
    Multipath,
    /// A wrong checksum was found and reported by MP_FAIL; data are not accepted any more.
    FailSent(Suspect),
    /// The peer answered the MP_FAIL. Payload that a middlebox changed is accepted, checksums are
    /// ignored; the infinite mapping is still to come.
    FailAgreed,
    /// TCP. `fail_answered`: an MP_FAIL of the peer was answered with one, which is repeated.
    Plain { fail_answered: bool },
}

/// Whether a second subflow exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Joins {
    /// Only the first subflow was ever used.
    None,
    /// The HMAC of the peer was verified; whether the peer accepted the third packet is unknown.
    Unconfirmed { options_lost: Option<Announcement> },
    /// Both hosts know of a second subflow.
    Confirmed { options_lost: Option<Announcement> },
}

/// The payload with the wrong checksum: part of the stream once the peer agrees to fall back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Suspect {
    /// Its offset in the stream.
    pub offset: u64,
    pub payload: Payload,
}

/// What is sent to the peer at a fallback.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Announcement {
    /// Nothing: it has fallen back before.
    Nothing,
    /// An infinite mapping (RFC 8684 s3.3.1) with the next data.
    InfiniteMapping,
    /// An MP_FAIL in answer to its own, and the infinite mapping.
    FailAndInfiniteMapping,
}

/// The state does not permit it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refused;

/// What follows from lost options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OptionsLost {
    /// Nothing until the pending join is accepted or fails.
    Deferred,
    /// Fall back.
    FallBack(Announcement),
}

/// What follows from an MP_FAIL of the peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FailReceived {
    /// Nothing: it agreed before.
    Repeated,
    /// It agrees to fall back, and its infinite mapping is to come.
    Agreed(Suspect),
    /// Fall back.
    FallBack(Announcement),
}

/// What follows from the third packet of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JoinAccepted {
    Accepted,
    /// The MP_FAIL sent is void, since the peer has a second subflow: the first one is to be reset.
    InsteadOfFail,
}

/// Both state machines of a connection.
#[derive(Debug)]
pub(super) struct Fallback {
    mode: Mode,
    joins: Joins,
}

impl Default for Fallback {
    fn default() -> Self {
        Fallback { mode: Mode::Multipath, joins: Joins::None }
    }
}

/// The content of a segment in addition to an MP_FAIL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FailCompany {
    /// A DSS: the peer does not use plain TCP yet.
    Dss,
    /// No DSS.
    None,
}

impl Fallback {
    /// Nothing of it has begun.
    #[inline]
    pub(super) const fn is_multipath(&self) -> bool {
        matches!(self.mode, Mode::Multipath)
    }

    /// The connection is TCP.
    #[inline]
    pub(super) const fn is_plain(&self) -> bool {
        matches!(self.mode, Mode::Plain { .. })
    }

    /// An MP_FAIL was sent and not answered.
    #[inline]
    pub(super) const fn is_fail_sent(&self) -> bool {
        matches!(self.mode, Mode::FailSent(_))
    }

    /// The peer answered the MP_FAIL; its infinite mapping is to come.
    #[inline]
    pub(super) const fn is_fail_agreed(&self) -> bool {
        matches!(self.mode, Mode::FailAgreed)
    }

    /// A fallback was proposed and is not complete: no subflow is opened.
    #[inline]
    pub(super) const fn is_pending(&self) -> bool {
        self.is_fail_sent() || self.is_fail_agreed()
    }

    /// An MP_FAIL of the peer was answered: if it is repeated, so is the answer.
    #[inline]
    pub(super) const fn is_fail_answered(&self) -> bool {
        matches!(self.mode, Mode::Plain { fail_answered: true })
    }

    /// Both hosts know of a second subflow.
    #[inline]
    pub(super) const fn is_join_confirmed(&self) -> bool {
        matches!(self.joins, Joins::Confirmed { .. })
    }

    /// Options were lost; what follows waits for the pending join.
    #[inline]
    pub(super) const fn is_verdict_deferred(&self) -> bool {
        match self.joins {
            Joins::None => false,
            Joins::Unconfirmed { options_lost } | Joins::Confirmed { options_lost } => {
                options_lost.is_some()
            }
        }
    }

    /// Whether the connection may fall back (RFC 8684 s3.7).
    pub(super) fn is_permitted(&self, one_stream: bool) -> bool {
        self.joins == Joins::None && one_stream
    }

    /// Whether an infinite mapping of the peer is accepted. It may have fallen back before the
    /// third packet of a join arrived there.
    pub(super) const fn accepts_infinite_mapping(&self, one_stream: bool) -> bool {
        matches!(self.joins, Joins::None | Joins::Unconfirmed { .. }) && one_stream
    }

    /// The SYN/ACK of a join was verified (RFC 8684 s3.2).
    pub(super) fn on_join_answered(&mut self) -> Result<(), Refused> {
        if !matches!(self.mode, Mode::Multipath) {
            return Err(Refused);
        }
        self.on_group_answered();
        Ok(())
    }

    /// The SYN/ACK of one of a group of simultaneous SYNs arrived. Unlike that of a join by token
    /// it is accepted while a fallback is pending.
    pub(super) fn on_group_answered(&mut self) {
        if self.joins == Joins::None {
            self.joins = Joins::Unconfirmed { options_lost: None };
        }
    }

    /// The third packet of a join was verified (RFC 8684 s3.2). It is to be confirmed next.
    pub(super) fn on_join_accepted(&mut self) -> Result<JoinAccepted, Refused> {
        let accepted = match self.mode {
            Mode::Multipath => JoinAccepted::Accepted,
            Mode::FailSent(_) => JoinAccepted::InsteadOfFail,
            Mode::FailAgreed | Mode::Plain { .. } => return Err(Refused),
        };
        self.mode = Mode::Multipath;
        self.on_group_answered();
        Ok(accepted)
    }

    /// The fourth packet of a join arrived, or is about to be sent.
    pub(super) fn on_join_confirmed(&mut self) {
        self.joins = match self.joins {
            Joins::None => Joins::Confirmed { options_lost: None },
            Joins::Unconfirmed { options_lost } | Joins::Confirmed { options_lost } => {
                Joins::Confirmed { options_lost }
            }
        };
    }

    /// No join is pending any more: all were confirmed or failed. Options lost in the meantime are
    /// to be judged now.
    pub(super) fn on_joins_settled(&mut self) -> Option<Announcement> {
        match &mut self.joins {
            Joins::None => None,
            Joins::Confirmed { options_lost } => options_lost.take(),
            Joins::Unconfirmed { options_lost } => {
                let lost = options_lost.take();
                self.joins = Joins::None;
                lost
            }
        }
    }

    /// Data or acknowledgements arrived without options on the subflow at that place.
    pub(super) fn on_options_lost(
        &mut self,
        index: usize,
        announcement: Announcement,
        one_stream: bool,
    ) -> Result<OptionsLost, Refused> {
        match &mut self.joins {
            Joins::None if one_stream => Ok(OptionsLost::FallBack(announcement)),
            Joins::Unconfirmed { options_lost } if index == 0 && one_stream => {
                *options_lost = Some(options_lost.map_or(announcement, |l| l.max(announcement)));
                Ok(OptionsLost::Deferred)
            }
            _ => Err(Refused),
        }
    }

    /// The checksum of `suspect` is wrong: MP_FAIL is sent where the connection may fall back.
    pub(super) fn on_wrong_checksum(
        &mut self,
        suspect: Suspect,
        one_stream: bool,
    ) -> Result<(), Refused> {
        if !self.is_permitted(one_stream) || !matches!(self.mode, Mode::Multipath) {
            return Err(Refused);
        }
        self.mode = Mode::FailSent(suspect);
        Ok(())
    }

    /// An MP_FAIL arrived.
    pub(super) fn on_fail_received(
        &mut self,
        company: FailCompany,
        one_stream: bool,
    ) -> Result<FailReceived, Refused> {
        if !self.is_permitted(one_stream) {
            return Err(Refused);
        }
        match &mut self.mode {
            Mode::FailAgreed => Ok(FailReceived::Repeated),
            Mode::FailSent(suspect) if company == FailCompany::Dss => {
                let Suspect { offset, payload } = suspect;
                let suspect = Suspect { offset: *offset, payload: std::mem::take(payload) };
                self.mode = Mode::FailAgreed;
                Ok(FailReceived::Agreed(suspect))
            }
            Mode::FailSent(_) => Ok(FailReceived::FallBack(Announcement::InfiniteMapping)),
            Mode::Multipath | Mode::Plain { .. } => {
                Ok(FailReceived::FallBack(Announcement::FailAndInfiniteMapping))
            }
        }
    }

    /// Become TCP. The payload with the wrong checksum, if it was not accepted yet; refused if the
    /// connection is TCP.
    pub(super) fn become_plain(
        &mut self,
        announcement: Announcement,
    ) -> Result<Option<Suspect>, Refused> {
        let answers = announcement == Announcement::FailAndInfiniteMapping;
        if let Mode::Plain { fail_answered } = &mut self.mode {
            *fail_answered |= answers;
            return Err(Refused);
        }
        match std::mem::replace(&mut self.mode, Mode::Plain { fail_answered: answers }) {
            Mode::FailSent(suspect) => Ok(Some(suspect)),
            Mode::Multipath | Mode::FailAgreed | Mode::Plain { .. } => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Input {
        JoinAnswered,
        GroupAnswered,
        JoinAccepted,
        JoinConfirmed,
        JoinsSettled,
        OptionsLostOnFirst,
        OptionsLostOnOther,
        WrongChecksum,
        FailWithDss,
        FailAlone,
        InfiniteMapping,
        Leave,
    }
    use Input::*;

    /// Modes by their place in a row of [`MODES`]: Multipath, FailSent, FailAgreed, Plain, and
    /// Plain after an answer to MP_FAIL.
    const MODE_COUNT: usize = 5;
    /// Joins by their place in a row of [`JOINS`]: None, Unconfirmed, Unconfirmed with options
    /// lost, Confirmed, Confirmed with options lost.
    const JOINS_COUNT: usize = 5;
    /// Refused.
    const NO: usize = usize::MAX;

    /// The mode after each input, where joins and `one_stream` permit it.
    const MODES: [(Input, [usize; MODE_COUNT]); 12] = [
        (JoinAnswered, [0, NO, NO, NO, NO]),
        (GroupAnswered, [0, 1, 2, 3, 4]),
        (JoinAccepted, [0, 0, NO, NO, NO]),
        (JoinConfirmed, [0, 1, 2, 3, 4]),
        (JoinsSettled, [0, 1, 2, 3, 4]),
        (OptionsLostOnFirst, [3, 3, 3, NO, NO]),
        (OptionsLostOnOther, [3, 3, 3, NO, NO]),
        (WrongChecksum, [1, NO, NO, NO, NO]),
        (FailWithDss, [4, 2, 2, 4, 4]),
        (FailAlone, [4, 3, 2, 4, 4]),
        (InfiniteMapping, [3, 3, 3, NO, NO]),
        (Leave, [3, 3, 3, NO, NO]),
    ];

    /// The joins after each input, where the mode permits it.
    const JOINS: [(Input, [usize; JOINS_COUNT]); 12] = [
        (JoinAnswered, [1, 1, 2, 3, 4]),
        (GroupAnswered, [1, 1, 2, 3, 4]),
        (JoinAccepted, [1, 1, 2, 3, 4]),
        (JoinConfirmed, [3, 3, 4, 3, 4]),
        (JoinsSettled, [0, 0, 0, 3, 3]),
        (OptionsLostOnFirst, [0, 2, 2, NO, NO]),
        (OptionsLostOnOther, [0, NO, NO, NO, NO]),
        (WrongChecksum, [0, NO, NO, NO, NO]),
        (FailWithDss, [0, NO, NO, NO, NO]),
        (FailAlone, [0, NO, NO, NO, NO]),
        (InfiniteMapping, [0, 1, 2, NO, NO]),
        (Leave, [0, 1, 2, 3, 4]),
    ];

    /// Inputs that only a single stream permits.
    const NEED_ONE_STREAM: [Input; 6] = [
        OptionsLostOnFirst,
        OptionsLostOnOther,
        WrongChecksum,
        FailWithDss,
        FailAlone,
        InfiniteMapping,
    ];

    fn suspect() -> Suspect {
        Suspect { offset: 7, payload: Payload::from(vec![1, 2]) }
    }

    fn at(mode: usize, joins: usize) -> Fallback {
        let mode = match mode {
            0 => Mode::Multipath,
            1 => Mode::FailSent(suspect()),
            2 => Mode::FailAgreed,
            _ => Mode::Plain { fail_answered: mode == 4 },
        };
        let lost = Some(Announcement::Nothing);
        let joins = match joins {
            0 => Joins::None,
            1 => Joins::Unconfirmed { options_lost: None },
            2 => Joins::Unconfirmed { options_lost: lost },
            3 => Joins::Confirmed { options_lost: None },
            _ => Joins::Confirmed { options_lost: lost },
        };
        Fallback { mode, joins }
    }

    fn state(fallback: &Fallback) -> (usize, usize) {
        let mode = match fallback.mode {
            Mode::Multipath => 0,
            Mode::FailSent(_) => 1,
            Mode::FailAgreed => 2,
            Mode::Plain { fail_answered } => 3 + usize::from(fail_answered),
        };
        let joins = match fallback.joins {
            Joins::None => 0,
            Joins::Unconfirmed { options_lost } => 1 + usize::from(options_lost.is_some()),
            Joins::Confirmed { options_lost } => 3 + usize::from(options_lost.is_some()),
        };
        (mode, joins)
    }

    fn leave(fallback: &mut Fallback, announcement: Announcement) -> Result<(), Refused> {
        let suspected = fallback.is_fail_sent().then(suspect);
        assert_eq!(fallback.become_plain(announcement)?, suspected, "no payload is lost");
        Ok(())
    }

    fn lose_options(fallback: &mut Fallback, index: usize, one: bool) -> Result<(), Refused> {
        match fallback.on_options_lost(index, Announcement::Nothing, one)? {
            OptionsLost::Deferred => Ok(()),
            OptionsLost::FallBack(announcement) => leave(fallback, announcement),
        }
    }

    fn receive_fail(
        fallback: &mut Fallback,
        company: FailCompany,
        one: bool,
    ) -> Result<(), Refused> {
        match fallback.on_fail_received(company, one)? {
            FailReceived::Repeated => Ok(()),
            FailReceived::Agreed(payload) => {
                assert_eq!(payload, suspect());
                Ok(())
            }
            FailReceived::FallBack(announcement) => {
                // Only the answer is repeated where the connection is TCP.
                let _ = leave(fallback, announcement);
                Ok(())
            }
        }
    }

    fn apply(fallback: &mut Fallback, input: Input, one: bool) -> Result<(), Refused> {
        match input {
            JoinAnswered => fallback.on_join_answered()?,
            GroupAnswered => fallback.on_group_answered(),
            JoinAccepted => fallback.on_join_accepted().map(|_| ())?,
            JoinConfirmed => fallback.on_join_confirmed(),
            JoinsSettled => {
                let deferred = fallback.is_verdict_deferred();
                assert_eq!(fallback.on_joins_settled().is_some(), deferred);
            }
            OptionsLostOnFirst => lose_options(fallback, 0, one)?,
            OptionsLostOnOther => lose_options(fallback, 1, one)?,
            WrongChecksum => fallback.on_wrong_checksum(suspect(), one)?,
            FailWithDss => receive_fail(fallback, FailCompany::Dss, one)?,
            FailAlone => receive_fail(fallback, FailCompany::None, one)?,
            InfiniteMapping if !fallback.accepts_infinite_mapping(one) => return Err(Refused),
            InfiniteMapping | Leave => leave(fallback, Announcement::Nothing)?,
        }
        Ok(())
    }

    /// Every input in every combination of the states of both machines.
    #[test]
    fn transitions_are_those_of_the_tables() {
        for ((input, modes), (same, joins_after)) in MODES.into_iter().zip(JOINS) {
            assert_eq!(input, same);
            for (mode, &mode_after) in modes.iter().enumerate() {
                for (joins, &joins_after) in joins_after.iter().enumerate() {
                    for one_stream in [false, true] {
                        let deferred = input == OptionsLostOnFirst && (1..=2).contains(&joins);
                        let next = if deferred { mode } else { mode_after };
                        let barred = NEED_ONE_STREAM.contains(&input) && !one_stream;
                        let refused = barred || next == NO || joins_after == NO;
                        let mut fallback = at(mode, joins);
                        let result = apply(&mut fallback, input, one_stream);
                        let context = (input, mode, joins, one_stream);
                        assert_eq!(result.is_err(), refused, "{context:?}");
                        let expected = if refused { (mode, joins) } else { (next, joins_after) };
                        assert_eq!(state(&fallback), expected, "{context:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn deferred_verdict_announces_if_any_loss_did() {
        let mut fallback = at(0, 1);
        for announcement in [Announcement::InfiniteMapping, Announcement::Nothing] {
            let lost = fallback.on_options_lost(0, announcement, true);
            assert_eq!(lost, Ok(OptionsLost::Deferred));
        }
        assert_eq!(fallback.on_joins_settled(), Some(Announcement::InfiniteMapping));
    }

    #[test]
    fn fallback_is_permitted_again_once_all_joins_failed() {
        let mut fallback = Fallback::default();
        assert!(fallback.is_permitted(true) && !fallback.is_permitted(false));
        fallback.on_join_answered().expect("no fallback is pending");
        assert!(!fallback.is_permitted(true));
        assert_eq!(fallback.on_joins_settled(), None);
        assert!(fallback.is_permitted(true));
    }
}
