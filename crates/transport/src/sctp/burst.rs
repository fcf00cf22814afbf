//! `BurstRule`: Max.Burst, in all variants (RFC 9260 s6.1 D; `maxBurstVariant` of INET).
//!
//! Decides before each packet of new data whether it may leave, and what becomes of a window that
//! is far from used. A burst is what is sent at one instant.

use super::cmt::named;
use crate::congestion::BurstLimit;
use base::{Instant, PathId};
use std::hint::cold_path;

/// What Max.Burst does to the window (RFC 9260 s6.1 D).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BurstRule {
    /// The window is cut to what is in the network and Max.Burst packets, for good ("use it or lose
    /// it").
    UseItOrLoseIt,
    /// The same, and the threshold is at least the new window.
    CwndLimiting,
    /// The same, and the threshold keeps the window before, so that slow start regains it
    /// (FreeBSD).
    CwndLimitingBsd,
    /// The window is cut for this burst only.
    UseItOrLoseItTemp,
    /// The window is cut for this burst only; the threshold is at least that.
    CwndLimitingTemp,
    /// Max.Burst packets of a path at one instant; a SACK for the path begins a new burst.
    MaxBurst,
    /// The same, whatever SACKs arrive.
    AggressiveMaxBurst,
    /// Max.Burst packets of all paths together at one instant.
    TotalMaxBurst,
}

named! {
    BurstRule {
        UseItOrLoseIt "use-it-or-lose-it" "an unused window is cut to what may leave, for good";
        CwndLimiting "cwnd-limiting" "the same, the threshold is at least the new window";
        CwndLimitingBsd "cwnd-limiting-bsd" "the same, the threshold keeps the window before";
        UseItOrLoseItTemp "use-it-or-lose-it-temp" "the window is cut for one burst only";
        CwndLimitingTemp "cwnd-limiting-temp" "the same, the threshold is at least that";
        MaxBurst "max-burst" "packets of one path at one instant, counted anew with each SACK";
        AggressiveMaxBurst "aggressive-max-burst" "packets of one path at one instant";
        TotalMaxBurst "total-max-burst" "packets of all paths at one instant";
    }
    "useitorloseit" = "use-it-or-lose-it";
    "congestionwindowlimiting" = "cwnd-limiting";
    "cwndlimiting" = "cwnd-limiting";
    "useitorloseittempcwnd" = "use-it-or-lose-it-temp";
    "congestionwindowlimitingtempcwnd" = "cwnd-limiting-temp";
    "maxburst" = "max-burst";
    "aggressivemaxburst" = "aggressive-max-burst";
    "totalmaxburst" = "total-max-burst";
}

impl BurstRule {
    /// Whether windows are cut for good, so that what was sent at one instant does not matter.
    const fn is_lasting(self) -> bool {
        matches!(
            self,
            BurstRule::UseItOrLoseIt | BurstRule::CwndLimiting | BurstRule::CwndLimitingBsd
        )
    }
}

/// A path before a packet. All in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BurstRoom {
    pub cwnd: u64,
    pub in_flight: u64,
    /// The largest packet.
    pub packet: u64,
}

/// What the rule says before a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BurstStep {
    pub may_send: bool,
    /// The window is limited to that many bytes.
    pub limit: Option<(u64, BurstLimit)>,
}

/// The bursts of an association.
#[derive(Clone, Debug, Default)]
pub(super) struct Bursts {
    paths: Vec<Burst>,
    all: Burst,
}

/// What was sent at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    at: Option<Instant>,
    packets: u32,
    /// The window of this burst, in bytes.
    window: Option<u64>,
}

impl Burst {
    fn begin(&mut self, now: Instant) {
        if self.at != Some(now) {
            *self = Burst { at: Some(now), packets: 0, window: None };
        }
    }
}

impl Bursts {
    fn path(&mut self, path: PathId) -> &mut Burst {
        if self.paths.len() <= path.index() {
            cold_path();
            self.paths.resize_with(path.index() + 1, Burst::default);
        }
        &mut self.paths[path.index()]
    }

    /// Before a packet of new data on `path`; `most`: Max.Burst, not 0.
    #[inline(always)]
    pub(super) fn before_packet(
        &mut self,
        (rule, most): (BurstRule, u32),
        now: Instant,
        path: PathId,
        room: &BurstRoom,
    ) -> BurstStep {
        let window = room.in_flight + u64::from(most) * room.packet;
        let cut = |how| BurstStep {
            may_send: true,
            limit: (room.cwnd > window).then_some((window, how)),
        };
        match rule {
            BurstRule::UseItOrLoseIt => return cut(BurstLimit::Lose),
            BurstRule::CwndLimiting => return cut(BurstLimit::KeepNew),
            BurstRule::CwndLimitingBsd => return cut(BurstLimit::KeepOld),
            _ => {}
        }
        self.count_before((rule, most), now, path, room)
    }

    /// The same under a rule that counts what was sent at this instant.
    #[inline(never)]
    fn count_before(
        &mut self,
        (rule, most): (BurstRule, u32),
        now: Instant,
        path: PathId,
        room: &BurstRoom,
    ) -> BurstStep {
        let window = room.in_flight + u64::from(most) * room.packet;
        self.all.begin(now);
        let all = self.all.packets;
        let burst = self.path(path);
        burst.begin(now);
        let count = |packets| BurstStep { may_send: packets < most, limit: None };
        match rule {
            BurstRule::UseItOrLoseItTemp | BurstRule::CwndLimitingTemp => {
                let window = *burst.window.get_or_insert(window);
                let raises = rule == BurstRule::CwndLimitingTemp && room.cwnd > window;
                let limit = raises.then_some((window, BurstLimit::Threshold));
                BurstStep { may_send: room.in_flight < window, limit }
            }
            BurstRule::MaxBurst | BurstRule::AggressiveMaxBurst => count(burst.packets),
            // TotalMaxBurst: the others have returned.
            _ => count(all),
        }
    }

    /// Whether `path` has sent all that a burst allows at this instant; `in_flight` in bytes.
    pub(super) fn is_over(
        &self,
        (rule, most): (BurstRule, u32),
        now: Instant,
        path: PathId,
        in_flight: u64,
    ) -> bool {
        let burst = self.paths.get(path.index()).copied().unwrap_or_default();
        let of_now = |burst: Burst| burst.at == Some(now);
        match rule {
            BurstRule::UseItOrLoseIt | BurstRule::CwndLimiting | BurstRule::CwndLimitingBsd => {
                false
            }
            BurstRule::UseItOrLoseItTemp | BurstRule::CwndLimitingTemp => {
                of_now(burst) && burst.window.is_some_and(|window| in_flight >= window)
            }
            BurstRule::MaxBurst | BurstRule::AggressiveMaxBurst => {
                of_now(burst) && burst.packets >= most
            }
            BurstRule::TotalMaxBurst => of_now(self.all) && self.all.packets >= most,
        }
    }

    /// A packet of new data leaves on `path`.
    #[inline]
    pub(super) fn on_packet(&mut self, rule: BurstRule, now: Instant, path: PathId) {
        if !rule.is_lasting() {
            self.count_packet(now, path);
        }
    }

    #[inline(never)]
    fn count_packet(&mut self, now: Instant, path: PathId) {
        self.all.begin(now);
        self.all.packets += 1;
        let burst = self.path(path);
        burst.begin(now);
        burst.packets += 1;
    }

    /// A SACK acknowledges data of `path`: a new burst begins, if the rule has it so.
    pub(super) fn on_acked(&mut self, rule: BurstRule, path: PathId) {
        if rule != BurstRule::AggressiveMaxBurst && !rule.is_lasting() {
            *self.path(path) = Burst::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: u64 = 1468;
    const PATH: PathId = PathId(0);

    /// Packets that leave at one instant from a window of 29,360 bytes with 2,936 in flight, and
    /// the limits that the rule sets to the window.
    fn burst(rule: BurstRule, bursts: &mut Bursts, path: PathId) -> (u32, Vec<(u64, BurstLimit)>) {
        let mut room = BurstRoom { cwnd: 29_360, in_flight: 2936, packet: P };
        let (mut packets, mut limits, now) = (0, Vec::new(), Instant::from_secs(1));
        while room.in_flight < room.cwnd {
            let step = bursts.before_packet((rule, 4), now, path, &room);
            if let Some((bytes, how)) = step.limit {
                if how != BurstLimit::Threshold {
                    room.cwnd = bytes;
                }
                limits.push((bytes, how));
            }
            if !step.may_send {
                break;
            }
            bursts.on_packet(rule, now, path);
            packets += 1;
            room.in_flight += P;
        }
        (packets, limits)
    }

    #[test]
    fn four_packets_leave_under_every_rule() {
        for (rule, ..) in BurstRule::ALL {
            let limits = match rule {
                BurstRule::UseItOrLoseIt => vec![(8808, BurstLimit::Lose)],
                BurstRule::CwndLimiting => vec![(8808, BurstLimit::KeepNew)],
                BurstRule::CwndLimitingBsd => vec![(8808, BurstLimit::KeepOld)],
                BurstRule::CwndLimitingTemp => vec![(8808, BurstLimit::Threshold); 5],
                _ => vec![],
            };
            let mut bursts = Bursts::default();
            let answer = burst(rule, &mut bursts, PATH);
            assert_eq!(answer, (4, limits), "{}", rule.name());
            let cuts = matches!(
                rule,
                BurstRule::UseItOrLoseIt | BurstRule::CwndLimiting | BurstRule::CwndLimitingBsd
            );
            let is_over = bursts.is_over((rule, 4), Instant::from_secs(1), PATH, 8808);
            assert_eq!(is_over, !cuts, "{}", rule.name());
            assert!(!bursts.is_over((rule, 4), Instant::from_secs(2), PATH, 8808));
        }
    }

    #[test]
    fn sack_begins_a_burst_of_its_path_and_an_instant_is_one_of_all() {
        let second = |rule, acked: bool, path| {
            let mut bursts = Bursts::default();
            burst(rule, &mut bursts, PATH);
            if acked {
                bursts.on_acked(rule, PATH);
            }
            burst(rule, &mut bursts, path).0
        };
        assert_eq!(second(BurstRule::MaxBurst, false, PATH), 0);
        assert_eq!(second(BurstRule::MaxBurst, true, PATH), 4);
        assert_eq!(second(BurstRule::MaxBurst, false, PathId(1)), 4);
        assert_eq!(second(BurstRule::AggressiveMaxBurst, true, PATH), 0);
        assert_eq!(second(BurstRule::AggressiveMaxBurst, false, PathId(1)), 4);
        assert_eq!(second(BurstRule::TotalMaxBurst, true, PATH), 0);
        assert_eq!(second(BurstRule::TotalMaxBurst, false, PathId(1)), 0);
    }

    #[test]
    fn rules_are_found_by_their_names_and_those_of_inet() {
        for (rule, name, about) in BurstRule::ALL {
            assert_eq!((BurstRule::by_name(name), rule.name()), (Some(rule), name));
            assert!(!about.is_empty());
        }
        assert_eq!(BurstRule::by_name("useItOrLoseIt"), Some(BurstRule::UseItOrLoseIt));
        assert_eq!(BurstRule::by_name("huge"), None);
    }
}
