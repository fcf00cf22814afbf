//! `SctpProfile`: named sets of an association's parameters, and the parameters (RFC 9260 s16).

use super::burst::BurstRule;
use super::path_state::FailureLimits;
use super::rto::RtoBounds;
use crate::choice::own_name;
use base::Duration;

/// Whose parameters an association has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SctpProfile {
    /// The recommended values of RFC 9260, with fail-over by RFC 7829.
    #[default]
    Rfc9260,
    /// The simulation model of paper 000 (INET), as published.
    Inet000,
    /// FreeBSD as measured in paper 003.
    Lab003,
    /// FreeBSD of today.
    Bsd,
}

/// Parameters that profiles differ in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SctpParameters {
    /// RTO.Initial, RTO.Min and RTO.Max.
    pub rto: RtoBounds,
    /// Limits of error counters, and whether a path may have failed (RFC 7829).
    pub limits: FailureLimits,
    /// Max.Init.Retransmits.
    pub init_retransmits: u32,
    /// Valid.Cookie.Life.
    pub cookie_life: Duration,
    /// HB.interval.
    pub heartbeat_interval: Duration,
    /// HB.Max.Burst: heartbeats per RTO to all addresses together that are not verified.
    pub heartbeat_burst: u32,
    /// SACK.Delay.
    pub sack_delay: Duration,
    /// L of RFC 9260 s7.2.1: PMDCS that one SACK adds to the window in slow start.
    pub slow_start_limit: u32,
    /// Rule of the initial window.
    pub initial_window: InitialWindow,
    /// Max.Burst, in packets.
    pub max_burst: u32,
    /// What becomes of a window that a burst leaves unused.
    pub burst: BurstRule,
    /// CMT/RPv1: packets of which a path keeps its share at least after a loss (k of FreeBSD,
    /// `rpMinCwnd` of INET).
    pub pooled_floor: u32,
    /// A window grows only if the cumulative TSN advances (RFC 4960 s7.2.1).
    pub grows_with_cum_tsn: bool,
    /// What the sender counts for a chunk in the peer's buffer beyond its own bytes, in bytes
    /// (`sctp_peer_chunk_oh` of FreeBSD, MSIZE).
    pub chunk_overhead: u32,
    /// When T3-rtx starts anew, and what it takes for lost.
    pub t3: T3Rule,
    /// What new data wait for.
    pub sending: SendRules,
}

/// What new data wait for, and what is counted and asked for with them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendRules {
    /// CMT: new data go to addresses that are not verified, too (`sendOnAllPaths` of INET asks for
    /// the window only; retransmissions avoid them, `getNextPath`).
    pub sends_unconfirmed: bool,
    /// Windows count user data, not chunk headers and padding.
    pub counts_payload_only: bool,
    /// Nagle's algorithm asks for what is outstanding on the path, not in the association: a small
    /// message goes to a path without outstanding data at once (`sendOnPath` of INET).
    pub nagle_by_path: bool,
    /// The I bit is set where the window of the path or the end of the data stops its packets
    /// (`sackNow` of INET, `sendOnPath`).
    pub asks_for_sacks: bool,
}

impl SendRules {
    /// Those of RFC 9260.
    const RFC_9260: SendRules = SendRules {
        sends_unconfirmed: false,
        counts_payload_only: false,
        nagle_by_path: false,
        asks_for_sacks: false,
    };
    /// `sendOnPath` of INET.
    const INET: SendRules = SendRules {
        sends_unconfirmed: true,
        counts_payload_only: true,
        nagle_by_path: true,
        asks_for_sacks: true,
    };
}

/// When T3-rtx starts anew, and what it takes for lost when it expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum T3Rule {
    /// It starts anew when the earliest outstanding chunk is acknowledged, and everything is lost
    /// that the path has outstanding (RFC 9260 s6.3.2 R3, s6.3.3 E3).
    Rfc9260,
    /// A SACK without gap blocks leaves it running (FreeBSD, `sctp_express_handle_sack`), and what
    /// was sent within SRTT + 4 RTTVAR is not lost (`sctp_mark_all_for_resend`).
    FreeBsd,
}

/// Rule of the initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// min(4 PMDCS, max(2 PMDCS, 4404 or 4344 bytes)) (RFC 9260 s7.2.1).
    Rfc9260,
    /// min(4 MTU, max(2 MTU, 4380 bytes)) (RFC 4960 s7.2.1).
    Rfc4960,
    /// Three times the MTU less the SCTP common header: four packets leave, as the last one may
    /// cross the window (FreeBSD, `sctp_set_initial_cc_param`).
    ThreePackets,
}

/// Other names of profiles.
const ALIASES: &[(&str, &str)] = &[
    ("rfc-9260", "rfc9260"),
    ("freebsd", "bsd"),
    ("usrsctp", "bsd"),
    ("000", "inet000"),
    ("003", "lab003"),
];

impl SctpProfile {
    /// Every profile with one sentence.
    pub const ALL: [(SctpProfile, &str); 4] = [
        (SctpProfile::Rfc9260, "recommended values of RFC 9260, fail-over by RFC 7829"),
        (SctpProfile::Inet000, "the simulation model of paper 000"),
        (SctpProfile::Lab003, "FreeBSD as measured in paper 003"),
        (SctpProfile::Bsd, "FreeBSD of today"),
    ];

    /// The name in options and scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            SctpProfile::Rfc9260 => "rfc9260",
            SctpProfile::Inet000 => "inet000",
            SctpProfile::Lab003 => "lab003",
            SctpProfile::Bsd => "bsd",
        }
    }

    /// The profile with this `name`, in any case.
    pub fn by_name(name: &str) -> Option<SctpProfile> {
        let name = own_name(name, ALIASES);
        let mut profiles = SctpProfile::ALL.into_iter().map(|(profile, _)| profile);
        profiles.find(|profile| profile.name() == name)
    }

    /// Its parameters.
    pub const fn parameters(self) -> SctpParameters {
        const RFC: SctpParameters = SctpParameters {
            rto: RtoBounds::RFC_9260,
            limits: FailureLimits::RFC_9260,
            init_retransmits: 8,
            cookie_life: Duration::from_secs(60),
            heartbeat_interval: Duration::from_secs(30),
            heartbeat_burst: 1,
            sack_delay: Duration::from_millis(200),
            slow_start_limit: 1,
            initial_window: InitialWindow::Rfc9260,
            max_burst: 4,
            burst: BurstRule::UseItOrLoseIt,
            pooled_floor: 4,
            grows_with_cum_tsn: false,
            chunk_overhead: 0,
            t3: T3Rule::Rfc9260,
            sending: SendRules::RFC_9260,
        };
        const NO_PF: FailureLimits =
            FailureLimits { potentially_failed: None, ..FailureLimits::RFC_9260 };
        match self {
            SctpProfile::Rfc9260 => RFC,
            SctpProfile::Inet000 => SctpParameters {
                rto: RtoBounds { initial: Duration::from_secs(3), ..RtoBounds::RFC_9260 },
                limits: NO_PF,
                cookie_life: Duration::from_secs(10),
                initial_window: InitialWindow::Rfc4960,
                pooled_floor: 1,
                grows_with_cum_tsn: true,
                sending: SendRules::INET,
                ..RFC
            },
            SctpProfile::Lab003 => SctpParameters {
                limits: NO_PF,
                heartbeat_burst: 4,
                slow_start_limit: 2,
                initial_window: InitialWindow::ThreePackets,
                burst: BurstRule::CwndLimitingBsd,
                ..RFC
            },
            SctpProfile::Bsd => SctpParameters {
                // Of usrsctp (`TIMEOUT_INTERVAL`).
                rto: RtoBounds { tick: Some(Duration::from_millis(10)), ..RtoBounds::RFC_9260 },
                chunk_overhead: 256,
                t3: T3Rule::FreeBsd,
                ..SctpProfile::Lab003.parameters()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_names_and_are_found_by_them() {
        for (profile, about) in SctpProfile::ALL {
            assert_eq!(SctpProfile::by_name(profile.name()), Some(profile));
            assert!(!about.is_empty());
        }
        assert_eq!(SctpProfile::by_name("RFC9260"), Some(SctpProfile::Rfc9260));
        for (name, profile) in ALIASES {
            assert_eq!(SctpProfile::by_name(name).map(SctpProfile::name), Some(*profile));
        }
        assert_eq!(SctpProfile::by_name("FreeBSD"), Some(SctpProfile::Bsd));
        assert_eq!(SctpProfile::by_name("linux"), None);
    }

    #[test]
    fn profiles_differ_where_the_sources_do() {
        let of = SctpProfile::parameters;
        assert_eq!(of(SctpProfile::Rfc9260).limits.potentially_failed, Some(0));
        assert_eq!(of(SctpProfile::Inet000).rto.initial, Duration::from_secs(3));
        assert_eq!(of(SctpProfile::Inet000).cookie_life, Duration::from_secs(10));
        assert_eq!(of(SctpProfile::Bsd).slow_start_limit, 2);
        assert_eq!(
            [SctpProfile::Inet000, SctpProfile::Bsd].map(|one| of(one).pooled_floor),
            [1, 4]
        );
        let sending = SctpProfile::ALL.map(|(profile, _)| of(profile).sending);
        let [rfc, inet] = [SendRules::RFC_9260, SendRules::INET];
        assert_eq!(sending, [rfc, inet, rfc, rfc]);
        assert_eq!(of(SctpProfile::Rfc9260).heartbeat_burst, 1);
        assert_eq!(of(SctpProfile::Bsd).heartbeat_burst, 4);
        assert_eq!(of(SctpProfile::Bsd).limits.potentially_failed, None);
        let peer = SctpProfile::ALL.map(|(profile, _)| of(profile));
        let peer = peer.map(|parameters| (parameters.chunk_overhead, parameters.t3));
        let [rfc, bsd] = [(0, T3Rule::Rfc9260), (256, T3Rule::FreeBsd)];
        assert_eq!(peer, [rfc, rfc, rfc, bsd], "what was measured beside usrsctp 0.9.5");
    }
}
