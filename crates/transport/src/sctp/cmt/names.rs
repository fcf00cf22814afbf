//! Names of the values of `CmtConfig` in options and scenario files; those of FreeBSD and of the
//! INET model are aliases.

use super::config::{BufferBasis, CucRule, PathMode, SackPath, Sides};
use crate::choice::own_name;

/// A name other than the own one, and the own one.
type Alias = (&'static str, &'static str);

/// The names of an enum: every value with its own one, and the aliases.
macro_rules! names {
    ($kind:ident, [$(($value:ident, $name:literal)),+ $(,)?], $aliases:expr) => {
        impl $kind {
            /// Every value.
            pub const ALL: &'static [$kind] = &[$($kind::$value),+];

            const ALIASES: &'static [Alias] = &$aliases;

            /// The name in options and scenario files.
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$value => $name),+
                }
            }

            /// The value with this `name`, in any case.
            pub fn by_name(name: &str) -> Option<$kind> {
                let name = own_name(name, $kind::ALIASES);
                $kind::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

names!(
    CucRule,
    [(Normal, "normal"), (V1, "v1"), (V2, "v2")],
    [("off", "normal"), ("pseudocumack", "v1"), ("pseudocumackv2", "v2")]
);
names!(
    Sides,
    [(None, "none"), (Sender, "sender"), (Receiver, "receiver"), (Both, "both")],
    [
        ("0", "none"),
        ("1", "sender"),
        ("2", "receiver"),
        ("3", "both"),
        ("off", "none"),
        ("senderonly", "sender"),
        ("receiveronly", "receiver"),
        ("bothsides", "both"),
    ]
);
names!(BufferBasis, [(Outstanding, "outstanding"), (Queued, "queued")], [("osb", "outstanding")]);
names!(
    SackPath,
    [
        (Standard, "standard"),
        (Primary, "primary"),
        (RoundRobin, "round-robin"),
        (SmallestSrtt, "smallest-srtt"),
    ],
    [("roundrobin", "round-robin"), ("rr", "round-robin"), ("smallestsrtt", "smallest-srtt")]
);
names!(PathMode, [(Paired, "paired"), (Mesh, "mesh")], [("full-mesh", "mesh")]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names_and_the_aliases() {
        for value in SackPath::ALL {
            assert_eq!(SackPath::by_name(value.name()), Some(*value));
        }
        assert_eq!(CucRule::by_name("pseudoCumAckV2"), Some(CucRule::V2));
        assert_eq!(Sides::by_name("bothSides"), Some(Sides::Both));
        assert_eq!(Sides::by_name("1"), Some(Sides::Sender), "net.inet.sctp.buffer_splitting");
        assert_eq!(SackPath::by_name("smallestSRTT"), Some(SackPath::SmallestSrtt));
        assert_eq!(BufferBasis::by_name("QUEUED"), Some(BufferBasis::Queued));
        assert_eq!(PathMode::by_name("ring"), None);
    }
}
