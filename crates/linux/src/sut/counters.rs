//! What the kernel of a namespace counts besides the state of sockets: `/proc/net/netstat`, by the
//! names of `nstat`.
//!
//! Only counters that tell why a connection waited or sent again are kept.

use crate::namespace::Namespace;
use std::collections::BTreeMap;
use std::io;

/// Counters of the time of a run, by their names without `TcpExt` and `MPTcpExt`.
const KEPT: [&str; 35] = [
    // Linux net/ipv4/proc.c.
    "PruneCalled",
    "RcvPruned",
    "OfoPruned",
    "TCPRcvCollapsed",
    "TCPBacklogDrop",
    "TCPRcvQDrop",
    "TCPZeroWindowDrop",
    "TCPOFOQueue",
    "TCPOFODrop",
    "TCPToZeroWindowAdv",
    "TCPWantZeroWindowAdv",
    "TCPTimeouts",
    "TCPSpuriousRTOs",
    "TCPLossProbes",
    "TCPLossProbeRecovery",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPLostRetransmit",
    "TCPLossUndo",
    "TCPDSACKUndo",
    "TCPDSACKRecv",
    "TCPHystartTrainDetect",
    "TCPHystartDelayDetect",
    // Linux net/mptcp/mib.c.
    "MPTCPRetrans",
    "OFOQueueTail",
    "OFOQueue",
    "OFOMerge",
    "DuplicateData",
    "SubflowStale",
    "SubflowRecover",
    "SndWndShared",
    "RcvWndShared",
    "RcvWndConflict",
    "RcvWndConflictUpdate",
    "WinProbe",
];

/// Counters by name.
pub(super) type Counters = BTreeMap<String, u64>;

/// The counters of a namespace so far.
pub(super) fn read(namespace: &Namespace) -> io::Result<Counters> {
    namespace.run(|| std::fs::read_to_string("/proc/thread-self/net/netstat"))?.map(|t| parse(&t))
}

/// What was added since `before`, zeros left out.
pub(super) fn added(before: &Counters, after: Counters) -> Counters {
    let since = |(name, value): (String, u64)| {
        let added = value.saturating_sub(before.get(&name).copied().unwrap_or_default());
        (added > 0).then_some((name, added))
    };
    after.into_iter().filter_map(since).collect()
}

/// Pairs of lines: names, values.
fn parse(text: &str) -> Counters {
    let lines: Vec<&str> = text.lines().collect();
    let mut counters = Counters::new();
    for pair in lines.chunks_exact(2) {
        for (name, value) in pair[0].split_whitespace().zip(pair[1].split_whitespace()) {
            if let (true, Ok(value)) = (KEPT.contains(&name), value.parse()) {
                counters.insert(name.to_owned(), value);
            }
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_grew_are_kept() {
        let text = |timeouts, merged| {
            format!(
                "TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes\nTcpExt: 3 {timeouts} 5\n\
                 MPTcpExt: MPTCPRetrans OFOMerge\nMPTcpExt: 0 {merged}\n"
            )
        };
        let grown = added(&parse(&text(2, 0)), parse(&text(4, 7)));
        let expected = [("OFOMerge", 7), ("TCPTimeouts", 2)];
        assert_eq!(grown, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn file_that_ends_early_has_the_counters_before() {
        let cut = "TcpExt: TCPTimeouts TCPLossProbes\nTcpExt: 4\nMPTcpExt: MPTCPRetrans\n";
        assert_eq!(parse(cut), [("TCPTimeouts".to_owned(), 4)].into());
        assert_eq!(parse(""), Counters::new());
    }
}
