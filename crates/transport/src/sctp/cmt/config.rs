//! `CmtConfig`: every switch of CMT-SCTP, and its values in the profiles.

use crate::choice::own_name;
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

/// Which pairs of addresses are paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathMode {
    /// One per address of the side with more of them.
    #[default]
    Paired,
    /// All.
    Mesh,
}

impl CmtConfig {
    /// What this profile has by default.
    pub const fn of(profile: SctpProfile) -> Self {
        let all = Algorithms { sfr: true, dac: true, frc: true, cuc: CucRule::V2 };
        let default = CmtConfig {
            algorithms: all,
            smart: Smart { fast_rtx: true, reneging: true },
            send_all: SendAllKey::LastTx,
            buffer_split: BufferSplit { sides: Sides::Both, basis: BufferBasis::Outstanding },
            sack_path: SackPath::SmallestSrtt,
            path_mode: PathMode::Paired,
        };
        match profile {
            SctpProfile::Rfc9260 => default,
            SctpProfile::Inet000 => {
                CmtConfig { smart: Smart { fast_rtx: true, reneging: false }, ..default }
            }
            SctpProfile::Lab003 | SctpProfile::Bsd => CmtConfig {
                algorithms: Algorithms { dac: false, ..all },
                sack_path: SackPath::Standard,
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

impl SendAllKey {
    /// Every key with its name and one sentence.
    pub const ALL: [(SendAllKey, &str, &str); 6] = [
        (SendAllKey::Normal, "normal", "the order of the list of paths"),
        (SendAllKey::LastTx, "last-tx", "the path that was idle longest first"),
        (SendAllKey::Random, "random", "a random order"),
        (SendAllKey::Ssthresh, "ssthresh", "the largest slow-start threshold first"),
        (SendAllKey::Space, "space", "the most room in the congestion window first"),
        (SendAllKey::SsthreshSpace, "ssthresh-space", "threshold first, then room"),
    ];

    /// The name in options and scenario files.
    pub fn name(self) -> &'static str {
        SendAllKey::ALL.iter().find(|(key, ..)| *key == self).map_or("", |(_, name, _)| *name)
    }

    /// The key with this `name`, in any case; INET's names are aliases.
    pub fn by_name(name: &str) -> Option<SendAllKey> {
        let aliases = [
            ("smallestlasttransmission", "last-tx"),
            ("randomized", "random"),
            ("largestssthreshold", "ssthresh"),
            ("largestspace", "space"),
            ("largestspaceandssthreshold", "ssthresh-space"),
        ];
        let name = own_name(name, &aliases);
        SendAllKey::ALL.into_iter().find(|(_, known, _)| *known == name).map(|(key, ..)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_names_and_those_of_inet() {
        for (key, name, about) in SendAllKey::ALL {
            assert_eq!((SendAllKey::by_name(name), key.name()), (Some(key), name));
            assert!(!about.is_empty());
        }
        assert_eq!(SendAllKey::by_name("smallestLastTransmission"), Some(SendAllKey::LastTx));
        assert_eq!(SendAllKey::by_name("fastest"), None);
    }
}
