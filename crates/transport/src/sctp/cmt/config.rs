//! `CmtConfig`: every switch of CMT-SCTP, and its values in the profiles.

use super::blocking::PathBlocking;
use super::names::named;
use super::reschedule::Rescheduling;
use super::rtt::RttRule;
use crate::congestion::PathGroups;
use crate::sctp::profile::SctpProfile;

/// How an association uses all its paths at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmtConfig {
    /// Rules for what a SACK says of several paths.
    pub algorithms: Algorithms,
    /// Remedies of the INET model for SACKs that come on other paths.
    pub smart: Smart,
    /// The order in which paths send.
    pub send_all: SendAllKey,
    /// Buffers of which no path takes more than its share.
    pub buffer_split: BufferSplit,
    /// The path of a SACK.
    pub sack_path: SackPath,
    /// Which pairs of addresses are paths.
    pub path_mode: PathMode,
    /// The pairs of a list that is not a mesh.
    pub pair_rule: PairRule,
    /// The verified path with the smallest round trip becomes the primary.
    pub prefers_fastest: bool,
    /// Chunks that keep the buffers full are sent again on a path with room.
    pub reschedule: Rescheduling,
    /// Where a sample of the round-trip time comes from.
    pub rtt: RttRule,
    /// A path with too small a window rests.
    pub blocking: PathBlocking,
    /// Paths whose windows are coupled.
    pub cc_groups: PathGroups,
    /// When the primary sends first.
    pub primary_first: PrimaryFirst,
    /// A packet must fit its window; a second round over all paths allows one more if the sum of
    /// windows has room for it.
    pub strict_booking: bool,
}

/// Rules for what a SACK says of several paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Algorithms {
    /// Split fast retransmit: a chunk is missing only if a later one of its own path arrived.
    pub sfr: bool,
    /// Delayed acknowledgements: a gap alone forces no SACK.
    pub dac: bool,
    /// Fast recovery of one path does not concern the others.
    pub frc: bool,
    /// When a window grows.
    pub cuc: CucRule,
}

/// Congestion window update: when the window of a path may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CucRule {
    /// The cumulative TSN of the association advances over a chunk of the path.
    Normal,
    /// The lowest chunk of the path that is missing is acknowledged.
    V1,
    /// The same, apart for chunks that were retransmitted.
    #[default]
    V2,
}

/// Remedies of the INET model for SACKs that come on other paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Smart {
    /// Chunks that T3-rtx sent again give no sign of others that are missing.
    pub fast_rtx: bool,
    /// A SACK with fewer blocks does not take an acknowledgement back.
    pub reneging: bool,
    /// T3-rtx starts anew if the oldest chunk in the network is another one, and not only if the
    /// cumulative TSN advances over a chunk of the path.
    pub t3: bool,
}

/// The order in which paths send as much as their windows allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SendAllKey {
    /// That of the list.
    Normal,
    /// The path that has sent nothing for the longest time first: the round robin of 000.
    #[default]
    LastTx,
    /// A random one.
    Random,
    /// The largest threshold first.
    Ssthresh,
    /// The most room in the window first.
    Space,
    /// The largest threshold first, of equal ones that with the most room.
    SsthreshSpace,
}

/// The sides of an association that a rule is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sides {
    /// Neither.
    None,
    /// The send buffer.
    Sender,
    /// The buffer of the receiver.
    Receiver,
    /// Both.
    #[default]
    Both,
}

/// Buffers of which no path takes more than its share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BufferSplit {
    /// Which buffers are split.
    pub sides: Sides,
    /// What of a path counts.
    pub basis: BufferBasis,
}

/// What a path takes of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BufferBasis {
    /// What is in the network.
    #[default]
    Outstanding,
    /// What was sent and may be asked for again.
    Queued,
}

/// The path of a SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SackPath {
    /// Where the last DATA came from (RFC 9260 s6.4).
    Standard,
    /// The primary.
    Primary,
    /// Of the paths that DATA came from since the last SACK the one whose last SACK is oldest.
    RoundRobin,
    /// Of these paths the one with the smallest SRTT.
    #[default]
    SmallestSrtt,
}

/// When the primary sends first, before the paths in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PrimaryFirst {
    /// Never.
    #[default]
    Off,
    /// When a packet arrives (`sendOnAllPaths(getPrimaryPath())` of INET).
    On,
    /// Also when the application writes: one of INET that names the path of its messages
    /// (`SCTPSendInfo::setPrimary(false)`, `primaryPath` of NetPerfMeter).
    Always,
}

/// Which pairs of addresses are paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathMode {
    /// One per address of the side with more of them.
    #[default]
    Paired,
    /// All.
    Mesh,
}

/// The pairs of a list that is not a mesh. The first path is the first pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PairRule {
    /// `Zip` where both sides have several addresses, otherwise one path per address of the side
    /// that has several.
    #[default]
    Auto,
    /// Second with second and so on, as far as both sides have addresses.
    Zip,
    /// One path per address of the peer (RFC 9260).
    Dest,
    /// One path per address of this side (003).
    Src,
}

impl PairRule {
    /// The pairs of a host with `ours` addresses and a peer with `theirs`, as places in both lists.
    /// Addresses that follow the first one are taken in turn where the other side has more.
    pub fn places(self, ours: usize, theirs: usize) -> impl Iterator<Item = (usize, usize)> {
        let count = match (ours, theirs, self) {
            (0, ..) | (_, 0, _) => 0,
            (1, several, PairRule::Auto) | (several, 1, PairRule::Auto) => several,
            (_, _, PairRule::Auto | PairRule::Zip) => ours.min(theirs),
            (_, _, PairRule::Dest) => theirs,
            (_, _, PairRule::Src) => ours,
        };
        let turn = |index: usize, count: usize| match (index, count) {
            (0, _) | (_, 1) => 0,
            _ => 1 + (index - 1) % (count - 1),
        };
        (0..count).map(move |index| (turn(index, ours), turn(index, theirs)))
    }
}

impl CmtConfig {
    /// What this profile has by default.
    pub const fn of(profile: SctpProfile) -> Self {
        let all = Algorithms { sfr: true, dac: true, frc: true, cuc: CucRule::V2 };
        let default = CmtConfig {
            algorithms: all,
            smart: Smart { fast_rtx: true, reneging: true, t3: true },
            send_all: SendAllKey::LastTx,
            buffer_split: BufferSplit { sides: Sides::Both, basis: BufferBasis::Outstanding },
            sack_path: SackPath::SmallestSrtt,
            path_mode: PathMode::Paired,
            pair_rule: PairRule::Auto,
            prefers_fastest: false,
            reschedule: Rescheduling::of(Sides::Both),
            rtt: RttRule::SlowPath,
            blocking: PathBlocking::Off,
            cc_groups: PathGroups::ONE,
            primary_first: PrimaryFirst::Off,
            strict_booking: false,
        };
        match profile {
            SctpProfile::Rfc9260 => default,
            SctpProfile::Inet000 => CmtConfig {
                smart: Smart { fast_rtx: true, reneging: false, t3: true },
                rtt: RttRule::SamePath,
                primary_first: PrimaryFirst::On,
                ..default
            },
            SctpProfile::Lab003 | SctpProfile::Bsd => CmtConfig {
                algorithms: Algorithms { dac: false, ..all },
                sack_path: SackPath::Standard,
                reschedule: Rescheduling::of(Sides::None),
                rtt: RttRule::AnyPath,
                ..default
            },
        }
    }
}

impl Default for CmtConfig {
    fn default() -> Self {
        CmtConfig::of(SctpProfile::Rfc9260)
    }
}

impl Sides {
    /// Whether the send buffer is one of them.
    pub const fn has_sender(self) -> bool {
        matches!(self, Sides::Sender | Sides::Both)
    }

    /// Whether the buffer of the receiver is one of them.
    pub const fn has_receiver(self) -> bool {
        matches!(self, Sides::Receiver | Sides::Both)
    }
}

named! {
    SendAllKey {
        Normal "normal" "the order of the list of paths";
        LastTx "last-tx" "the path that was idle longest first";
        Random "random" "a random order";
        Ssthresh "ssthresh" "the largest slow-start threshold first";
        Space "space" "the most room in the congestion window first";
        SsthreshSpace "ssthresh-space" "threshold first, then room";
    }
    "smallestlasttransmission" = "last-tx";
    "randomized" = "random";
    "largestssthreshold" = "ssthresh";
    "largestspace" = "space";
    "largestspaceandssthreshold" = "ssthresh-space";
}

named! {
    CucRule {
        Normal "normal" "a window grows when the cumulative TSN passes a chunk of the path";
        V1 "v1" "it grows with the pseudo-cumulative acknowledgement of the path";
        V2 "v2" "the same, apart for chunks that were retransmitted";
    }
    "pseudocumack" = "v1";
    "pseudocumackv2" = "v2";
}

named! {
    Sides {
        None "none" "neither";
        Sender "sender" "the send buffer";
        Receiver "receiver" "the receive buffer";
        Both "both" "both buffers";
    }
    "senderonly" = "sender";
    "receiveronly" = "receiver";
    "bothsides" = "both";
    "0" = "none";
    "1" = "sender";
    "2" = "receiver";
    "3" = "both";
}

named! {
    BufferBasis {
        Outstanding "outstanding" "what is in the network on a path";
        Queued "queued" "what was sent on a path and may be asked for again";
    }
}

named! {
    SackPath {
        Standard "standard" "where the last DATA came from (RFC 9260 s6.4)";
        Primary "primary" "the primary path";
        RoundRobin "round-robin" "in turn, of the paths that DATA came from";
        SmallestSrtt "smallest-srtt" "the fastest of the paths that DATA came from";
    }
    "roundrobin" = "round-robin";
    "smallestsrtt" = "smallest-srtt";
}

named! {
    PrimaryFirst {
        Off "off" "never";
        On "on" "when a packet arrives (INET)";
        Always "always" "also when the application writes (NetPerfMeter of INET)";
    }
    "false" = "off";
    "no" = "off";
    "0" = "off";
    "true" = "on";
    "yes" = "on";
    "1" = "on";
}

named! {
    PathMode {
        Paired "paired" "each address is on one path, apart from those of the side with fewer";
        Mesh "mesh" "every pair of addresses is a path";
    }
}

named! {
    PairRule {
        Auto "auto" "zip, and one path per address of the side that alone has several";
        Zip "zip" "addresses of equal number are a path";
        Dest "dest" "one path per address of the peer (RFC 9260)";
        Src "src" "one path per address of this side (003)";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value is found by its name.
    macro_rules! found {
        ($($type:ident),+) => {$(
            for (value, name, about) in $type::ALL {
                assert_eq!(($type::by_name(name), value.name()), (Some(value), name));
                assert!(!about.is_empty());
            }
            assert_eq!($type::by_name("fastest"), None);
        )+};
    }

    #[test]
    fn values_are_found_by_their_names_and_those_of_inet_and_freebsd() {
        found!(SendAllKey, CucRule, Sides, BufferBasis, SackPath);
        found!(PathMode, PairRule, RttRule, PathBlocking, PrimaryFirst);
        assert_eq!(SendAllKey::by_name("smallestLastTransmission"), Some(SendAllKey::LastTx));
        assert_eq!(CucRule::by_name("pseudoCumAckV2"), Some(CucRule::V2));
        assert_eq!(Sides::by_name("bothSides"), Some(Sides::Both));
        assert_eq!(Sides::by_name("1"), Some(Sides::Sender), "buffer_splitting of FreeBSD");
        assert_eq!(SackPath::by_name("smallestSRTT"), Some(SackPath::SmallestSrtt));
    }

    #[test]
    fn profiles_differ_where_the_sources_do() {
        let of = CmtConfig::of;
        assert_eq!(CmtConfig::default(), of(SctpProfile::Rfc9260));
        let inet = of(SctpProfile::Inet000);
        assert!(!inet.smart.reneging && inet.algorithms.dac);
        assert_eq!(inet.primary_first, PrimaryFirst::On);
        assert_eq!(inet.rtt, RttRule::SamePath);
        let lab = of(SctpProfile::Lab003);
        assert_eq!((lab.reschedule.sides, lab.sack_path), (Sides::None, SackPath::Standard));
        assert!(!lab.algorithms.dac && lab.primary_first == PrimaryFirst::Off);
    }
}
