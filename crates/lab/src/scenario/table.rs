//! The table of options: one row per option of a study.
//!
//! Arguments and their help, the keys of scenario files, the schema, the merging of sources and the
//! output of a scenario file follow from the rows. `options` resolves the values; the parsers of
//! single values are in `values`, `choice` and `flow`. A row declares which part of a result an
//! option affects, and a test checks it.

use super::cmt::{self, switch_name};
pub use super::row::{Argument, Counts, OptionRow, Takes, Verbs};
use super::row::{cmt_switch, described, list, switch, text};
use super::schema::Pattern::{Names, Of, Regex};
pub(super) use super::show::quoted;
use super::show::{maybe, multipath, of_cmt, of_sctp, policies, primaries, schedulers};
use super::{
    Runs, SctpChoices, background, endpoints, fetching, flow, host_cost, judge, names_of, schema,
    sender, show_buffers,
};
use crate::path_spec::show_time;
use crate::traffic_spec;
use transport::Protocol;
use transport::sctp::RtxPolicy;

/// Makes the keys and the table of them.
macro_rules! options {
    ($($key:ident: $row:expr;)+) => {
        /// An option.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[allow(missing_docs, reason = "the rows say what they are")]
        pub enum Key {
            $($key),+
        }

        static ROWS: &[OptionRow] = &[$($row),+];

        impl Key {
            /// Every option, in the order of the table.
            pub const ALL: &[Key] = &[$(Key::$key),+];
        }
    };
}

impl Key {
    /// Its row.
    pub fn row(self) -> &'static OptionRow {
        // The macro makes both in one order.
        &ROWS[self as usize]
    }

    /// The option of that name.
    pub fn by_name(name: &str) -> Option<Key> {
        Key::ALL.iter().copied().find(|key| key.row().name == name)
    }

    /// Whether it comes last in a scenario file: tables end a TOML file.
    pub(super) fn is_table(self) -> bool {
        self.row().takes == Takes::Described
    }

    /// Whether emulated hosts and links depend on it, whatever programs run there.
    pub const fn is_of_hosts(self) -> bool {
        matches!(self, Key::Path | Key::Seed | Key::Nic | Key::First | Key::Buffers)
    }

    /// Every name, as messages list them.
    pub(super) fn names() -> Vec<&'static str> {
        Key::ALL.iter().map(|key| key.row().name).collect()
    }
}

options! {
    Title: text("title", "Title of tables and reports.")
        .only_in_files()
        .shown(|s| maybe(s.about.title.as_ref()))
        .counts(Counts::Scenario, "A heading");
    Description: text(
            "description",
            "What the scenario describes and which question it answers; for readers of the file.",
        )
        .only_in_files()
        .shown(|s| maybe(s.about.description.as_ref()))
        .counts(Counts::Scenario, "Somebody");
    Source: text("source", "Where the values come from.")
        .only_in_files()
        .shown(|s| maybe(s.about.source.as_ref()))
        .counts(Counts::Scenario, "assumed");
    Path: described(
            "path",
            "The paths, in the order of the file: NAME = \"rate 25mbit delay 20ms loss 1% limit \
             100p\", or a table [path.NAME].",
        )
        .argument(
            1,
            "NAME[='ITEMS']",
            "Add a path: a profile's NAME, or NAME='rate 25mbit delay 20ms ...'",
        )
        .pattern(Of(schema::paths))
        .counts(Counts::StudyKey, "c=rate 7mbit");
    Link: described(
            "link",
            "Links between several paths and the server, which a path uses with `via NAME`; in \
             path syntax, or a table [link.NAME].",
        )
        .argument(
            2,
            "NAME='ITEMS'",
            "Add a link that paths share with `via NAME`: NAME='rate 20mbit delay 10ms ...'",
        )
        .pattern(Of(schema::links))
        .counts(Counts::StudyKey, "core=rate 10mbit");
    Flow: described(
            "flow",
            "Connections that compete with the compared one: NAME = \"tcp on wlan cc reno start \
             0s..2s\", or a table [flow.NAME].",
        )
        .argument(
            3,
            "NAME='ITEMS'",
            "Add a competing connection: NAME='tcp on PATH cc reno start 0s..2s'",
        )
        .pattern(Of(schema::flows))
        .counts(Counts::StudyKey, "other=tcp on a");
    Background: background::ROW;
    Traffic: text(
            "traffic",
            traffic_spec::FILE_HELP,
        )
        .argument(
            6,
            "MODEL",
            traffic_spec::ARGUMENT_HELP,
        )
        .pattern(Of(schema::traffic))
        .shown(|s| Some(quoted(&s.traffic_to_read())))
        .counts(Counts::StudyKey, traffic_spec::EXAMPLE_LIST[3]);
    Start: text(
            "start",
            "Start time of the compared connection; with a range, drawn for every repetition. \
             Default: 0s.",
        )
        .argument(
            4,
            "TIME[..TIME]",
            "Start time of the compared connection; with a range, such as 0s..2s, drawn for every \
             repetition [default: 0s]",
        )
        .pattern(Of(schema::start))
        .shown(|s| {
            (!s.start.high.is_zero()).then(|| quoted(&flow::show_start(&s.start)))
        })
        .counts(Counts::StudyKey, "0s..2s");
    WarmUp: text(
            "warm-up",
            "Warm-up time, excluded from goodput and path shares. Default: 0s.",
        )
        .argument(
            5,
            "TIME",
            "Warm-up time, excluded from goodput and path shares [default: 0s]",
        )
        .pattern(Of(schema::time))
        .shown(|s| (!s.warm_up.is_zero()).then(|| quoted(&show_time(s.warm_up))))
        .counts(Counts::StudyKey, "2s");
    Deadline: text(
            "deadline",
            "Virtual time after which a run is incomplete. Default: 600s, or the traffic's own \
             length plus 120s if that is longer.",
        )
        .argument(
            27,
            "TIME",
            "Virtual time after which a run is incomplete [default: 600s, or the traffic's own \
             length plus 120s if that is longer]",
        )
        .pattern(Of(schema::time))
        .shown(|s| s.own_deadline().map(|time| quoted(&show_time(time))))
        .counts(Counts::StudyKey, "700s");
    Http: fetching::HTTP;
    PerHost: fetching::PER_HOST;
    Tls: fetching::TLS;
    Dns: fetching::DNS;
    Data: text(
            "data",
            "Folder with recordings of the named pages, web/epload and web/paper000, relative to \
             this file. Default: none, the pages are models.",
        )
        .argument(
            26,
            "DIR",
            "Folder with recordings of the named pages, web/epload and web/paper000 [default: \
             none, the pages are models]",
        )
        .counts(Counts::Nowhere, ".");
    Protocols: list(
            "protocols",
            "What to compare: tcp (each path alone), mptcp (all paths together), sctp (each path \
             alone, and all paths, one at a time), udp (datagrams over each path alone). Default: \
             tcp, and mptcp where there are several paths.",
        )
        .argument(
            9,
            "LIST",
            "Protocols to compare: tcp (each path alone), mptcp (all paths together), sctp (each \
             path alone, and all, one at a time), cmt-sctp (all paths at once), udp (datagrams \
             over each path alone), or all but udp [default: tcp, and mptcp with several paths]",
        )
        .pattern(Of(schema::protocols))
        .shown(|s| {
            let names = s.choices.protocols.iter().map(|protocol| protocol.name());
            Some(quoted(&names.collect::<Vec<_>>().join(",")))
        })
        .counts(Counts::Variants, "mptcp");
    Cc: list("cc", "Congestion controls to compare. Default: cubic.")
        .argument(
            10,
            "LIST",
            "Congestion controls to compare: cubic, reno, and for mptcp the coupled lia, olia, \
             balia and wvegas, or all, see `anabranch list congestion` [default: cubic]",
        )
        .pattern(Of(schema::controls))
        .shown(|s| Some(quoted(&names_of(&s.choices.congestion))))
        .counts(Counts::Variants, "reno");
    Schedulers: list(
            "schedulers",
            "Schedulers of mptcp to compare, and send-all of cmt-sctp, which takes those that copy \
             and bind nothing, too. Default: linux; lrf with the profiles of old kernels; send-all \
             with cmt-sctp.",
        )
        .argument(
            11,
            "LIST",
            "Schedulers of mptcp and cmt-sctp to compare, or all, see `anabranch list schedulers` \
             [default: linux; lrf with the profiles of old kernels; send-all with cmt-sctp]",
        )
        .pattern(Of(schema::schedulers))
        .shown(schedulers)
        .counts(Counts::Variants, "rr");
    Reinjection: text(
            "reinjection",
            "Reinjection for schedulers that define none. Default: that of the scheduler's source.",
        )
        .argument(
            12,
            "NAME",
            "Reinjection for schedulers that define none, see `anabranch list reinjection` \
             [default: that of the scheduler's source]",
        )
        .pattern(Of(schema::reinjections))
        .counts(Counts::Variants, "nsdi12");
    PathManagers: list("path-managers", "Path managers of mptcp to compare. Default: fullmesh.")
        .argument(
            13,
            "LIST",
            "Path managers of mptcp to compare: fullmesh (joins every path), default (none), \
             ndiffports:N, kernel, see `anabranch list path-managers` [default: fullmesh]",
        )
        .alias("pm")
        .pattern(Of(schema::path_managers))
        .shown(|s| multipath(s, || names_of(&s.choices.path_managers)))
        .counts(Counts::Variants, "kernel");
    Endpoints: list(
            "endpoints",
            "Endpoints of the `kernel` path manager: side, path and flags (signal, subflow, \
             backup, fullmesh), such as client lte subflow backup. Default: a subflow on every \
             path.",
        )
        .argument(
            14,
            "LIST",
            "Endpoints of the `kernel` path manager in `ip mptcp` syntax, with path names instead \
             of addresses: 'client wlan subflow, client lte subflow backup, server lte signal' \
             [default: a subflow on every path]",
        )
        .pattern(Of(schema::endpoints))
        .shown(|s| {
            let kernel = s.choices.kernel.as_ref()?;
            multipath(s, || endpoints::show_endpoints(kernel, &s.paths))
        })
        .counts(Counts::StudyKey, "client b subflow backup");
    Limits: list(
            "limits",
            "Limits of the `kernel` path manager, for both sides or for one: subflows 2 \
             add_addr_accepted 1. Default: subflows 2 add_addr_accepted 0 with endpoints, \
             otherwise room for every path.",
        )
        .argument(
            15,
            "LIST",
            "Limits of the `kernel` path manager, for both sides or for one: 'subflows 2 \
             add_addr_accepted 1' [default: room for every path; with --endpoints 'subflows 2 \
             add_addr_accepted 0', as in Linux]",
        )
        .pattern(Of(schema::limits))
        .shown(|s| {
            let kernel = s.choices.kernel.as_ref()?;
            multipath(s, || endpoints::show_limits(kernel))
        })
        .counts(Counts::StudyKey, "subflows 5");
    SimultaneousSyn: switch(
            "simultaneous-syn",
            "Send SYNs on all paths at once with the path manager fullmesh (experiment of paper \
             001). Default: false.",
        )
        .argument(
            16,
            "",
            "Send SYNs on all paths at once with the path manager fullmesh (experiment of paper \
             001)",
        )
        .shown(|s| (s.has_multipath() && s.choices.simultaneous_syn).then(|| "true".to_owned()))
        .counts(Counts::StudyKey, "");
    Policy: list("policy", "Path policies of mptcp and cmt-sctp to compare. Default: none.")
        .argument(
            17,
            "LIST",
            "Path policies of mptcp and cmt-sctp to compare, see `anabranch list policies` \
             [default: none]",
        )
        .alias("policies")
        .pattern(Of(schema::policies))
        .shown(policies)
        .counts(Counts::Variants, "drepas");
    Failover: list(
            "failover",
            "Rules for declaring a path failed; a list is compared: rto, stale, probe of mptcp, pf \
             and pmr of sctp. Default: rto; stale with scheduler and profile linux; pf, or pmr \
             with other profiles of sctp.",
        )
        .argument(
            18,
            "LIST",
            "Rules for declaring a path failed; a list is compared: rto, stale, probe of mptcp, pf \
             and pmr of sctp, see `anabranch list failover` [default: rto; stale with scheduler \
             and profile linux; pf, or pmr with other profiles of sctp]",
        )
        .pattern(Of(schema::failovers))
        .shown(|s| {
            let names = s.failover_names();
            (!names.is_empty()).then(|| quoted(&names))
        })
        .counts(Counts::Variants, "probe");
    Profile: text("profile", "Kernel that both ends model. Default: linux.")
        .argument(
            21,
            "NAME",
            "Kernel that both ends model: linux (6.18), linux-4.1, linux-3.14, linux-3.11, \
             linux-3.5; unverified settings of old kernels: see --help [default: linux]",
        )
        .pattern(Of(schema::profiles))
        .shown(|s| Some(quoted(s.ends.profile.name())))
        .counts(Counts::StudyKey, "linux-4.1");
    SctpProfile: text(
            "sctp-profile",
            "Parameters of SCTP: rfc9260, inet000 (paper 000), lab003 (paper 003), bsd. Default: \
             rfc9260.",
        )
        .argument(
            40,
            "NAME",
            "Parameters of SCTP: rfc9260, inet000 (paper 000), lab003 (paper 003), bsd, see \
             `anabranch list sctp-profiles` [default: rfc9260]",
        )
        .pattern(Of(schema::sctp_profiles))
        .shown(|s| of_sctp(s, |sctp| Some(sctp.profile.name().to_owned())))
        .counts(Counts::StudyKey, "bsd");
    RtxPolicy: list(
            "rtx-policy",
            "Paths of sctp's retransmissions after a time-out; a list is compared: same, next, \
             asap, cwnd, ssthresh, lossrate, rtt. Default: next; rtt or, with bsd and lab003, cwnd \
             with cmt-sctp.",
        )
        .argument(
            41,
            "LIST",
            "Path of sctp's retransmissions after a time-out; a list is compared: same, next, \
             asap, cwnd, ssthresh, lossrate, rtt, see `anabranch list rtx-policies` [default: \
             next; rtt or, with bsd and lab003, cwnd with cmt-sctp]",
        )
        .pattern(Of(schema::rtx_policies))
        .shown(|s| {
            let of = |sctp: &SctpChoices| {
                let names = sctp.policies(RtxPolicy::default()).into_iter();
                let names: Vec<&str> = names.map(RtxPolicy::name).collect();
                let one = !sctp.rtx_policies.is_empty() || !s.compares(Protocol::CmtSctp);
                one.then(|| names.join(","))
            };
            of_sctp(s, of)
        })
        .counts(Counts::Variants, "rtt");
    MessageSize: text(
            "message-size",
            "Bytes of the messages of sctp. Default: what fits one chunk; 1452 with inet000.",
        )
        .argument(
            42,
            "BYTES",
            "Bytes of the messages of sctp [default: what fits one chunk; 1452 with inet000]",
        )
        .number()
        .pattern(Of(schema::message_size))
        .shown(|s| of_sctp(s, |sctp| Some(sctp.own_message_size()?.to_string())))
        .counts(Counts::StudyKey, "1200");
    Streams: text("streams", "Streams of sctp in each direction. Default: 1; 10 with http streams.")
        .argument(43, "N", "Streams of sctp in each direction [default: 1; 10 with --http streams]")
        .number()
        .pattern(Of(schema::streams))
        .shown(|s| of_sctp(s, |sctp| Some(sctp.streams.to_string())))
        .counts(Counts::StudyKey, "10");
    StreamScheduler: text(
            "stream-scheduler",
            "Order in which streams of sctp send (RFC 8260): fcfs, rr, rr-packet, priority, fair, \
             weighted-fair. Default: rr.",
        )
        .argument(
            46,
            "NAME",
            "Order in which streams of sctp send (RFC 8260): fcfs, rr, rr-packet, priority, fair, \
             weighted-fair [default: rr]",
        )
        .pattern(Of(schema::stream_schedulers))
        .shown(|s| of_sctp(s, SctpChoices::own_stream_order))
        .counts(Counts::StudyKey, "fcfs");
    NrSack: text(
            "nr-sack",
            "Offer NR-SACK, which frees the send buffer of sctp earlier. Default: on.",
        )
        .argument(
            44,
            "on|off",
            "Offer NR-SACK, which frees the send buffer of sctp earlier [default: on]",
        )
        .pattern(Of(schema::on_or_off))
        .shown(|s| of_sctp(s, |sctp| Some(switch_name(sctp.nr_sack))))
        .counts(Counts::StudyKey, "off");
    Interleaving: text(
            "interleaving",
            "Offer interleaving of sctp's messages (I-DATA, RFC 8260). Default: off; on with http \
             streams.",
        )
        .argument(
            45,
            "on|off",
            "Offer interleaving of sctp's messages (I-DATA, RFC 8260) [default: off; on with \
             --http streams]",
        )
        .pattern(Of(schema::on_or_off))
        .shown(|s| of_sctp(s, |sctp| Some(switch_name(sctp.interleaving))))
        .counts(Counts::StudyKey, "on");
    PathMode: cmt_switch!(
            PathMode,
            "path-mode",
            48,
            "Pairs of addresses that cmt-sctp uses; a list is compared: paired, mesh",
            "paired",
            "mesh"
        );
    PairRule: cmt_switch!(
            PairRule,
            "pair-rule",
            71,
            "Pairs of addresses of paired paths: zip (second with second), src (one for each own \
             address), dest (one for each of the peer), auto (zip where both ends have several, \
             else one for each address of the end that has); a list is compared",
            "auto",
            "src"
        );
    Sfr: cmt_switch!(
            Sfr,
            "sfr",
            49,
            "Split fast retransmit of cmt-sctp: only later chunks of a path show that one is \
             missing; on,off compares both",
            "on",
            "off"
        );
    Cuc: cmt_switch!(
            Cuc,
            "cuc",
            50,
            "When a window of cmt-sctp grows (CUC); a list is compared: normal, v1, v2",
            "v2",
            "v1"
        );
    Dac: cmt_switch!(
            Dac,
            "dac",
            51,
            "Delayed acknowledgements of cmt-sctp: a gap alone forces no SACK; on,off \
             compares both",
            "on; off with lab003 and bsd",
            "off"
        );
    Frc: cmt_switch!(
            Frc,
            "frc",
            52,
            "Fast recovery of each path of cmt-sctp for itself; on,off compares both",
            "on",
            "off"
        );
    BufferSplit: cmt_switch!(
            BufferSplit,
            "buffer-split",
            53,
            "Buffers of which no path of cmt-sctp takes more than its share; a list is \
             compared: none, sender, receiver, both",
            "both",
            "none"
        );
    BufferSplitBasis: cmt_switch!(
            BufferSplitBasis,
            "buffer-split-basis",
            54,
            "Bytes of a path that count for buffer splitting; a list is compared: \
             outstanding, queued",
            "outstanding",
            "queued"
        );
    Resched: cmt_switch!(
            Resched,
            "resched",
            55,
            "Buffers for which cmt-sctp sends the chunk that blocks them again on another \
             path (chunk rescheduling); a list is compared: none, sender, receiver, both",
            "both; none with lab003 and bsd",
            "none"
        );
    ReschedThreshold: cmt_switch!(
            ReschedThreshold,
            "resched-threshold",
            56,
            "Part of a path's buffer that waits for one chunk before it is rescheduled, from \
             0 to 1; a list is compared",
            "0.5",
            "0.3"
        )
        .pattern(Of(schema::thresholds));
    MovedReducesCwnd: cmt_switch!(
            MovedReducesCwnd,
            "moved-reduces-cwnd",
            57,
            "A rescheduled chunk halves the window of the path that it leaves; on,off \
             compares both",
            "on",
            "off"
        );
    SackPath: cmt_switch!(
            SackPath,
            "sack-path",
            58,
            "Path of a SACK of cmt-sctp; a list is compared: standard, primary, round-robin, \
             smallest-srtt",
            "smallest-srtt; standard with lab003 and bsd",
            "primary"
        );
    SmartT3: cmt_switch!(
            SmartT3,
            "smart-t3",
            59,
            "T3-rtx of a path starts anew when its oldest chunk is another one (INET); on,off \
             compares both",
            "on",
            "off"
        );
    SmartFastRtx: cmt_switch!(
            SmartFastRtx,
            "smart-fast-rtx",
            60,
            "Chunks that T3-rtx sent again are no sign of missing ones (INET); on,off \
             compares both",
            "on",
            "off"
        );
    SmartReneging: cmt_switch!(
            SmartReneging,
            "smart-reneging",
            61,
            "A SACK of cmt-sctp with fewer blocks takes nothing back (INET); on,off compares \
             both",
            "on; off with inet000",
            "off"
        );
    RttRule: cmt_switch!(
            RttRule,
            "rtt-rule",
            62,
            "SACKs that cmt-sctp takes RTT samples from: any-path, same-path (only those over \
             the path of the chunk), or slow-path (the first one over that path, though \
             another one came before); a list is compared",
            "slow-path; same-path with inet000; any-path with lab003 and bsd",
            "any-path"
        );
    PathBlocking: cmt_switch!(
            PathBlocking,
            "path-blocking",
            63,
            "A path of cmt-sctp whose window would fall below a packet rests for an RTO \
             (INET); a list is compared: off, on, scaled",
            "off",
            "on"
        );
    PrimaryFirst: cmt_switch!(
            PrimaryFirst,
            "primary-first",
            64,
            "When the primary of cmt-sctp sends first: off, on (when a packet arrives, as in \
             INET), or always (also when the application writes); a list is compared",
            "off; on with inet000",
            "on"
        );
    StrictCwndBooking: cmt_switch!(
            StrictCwndBooking,
            "strict-cwnd-booking",
            65,
            "A packet of cmt-sctp must fit its path's window; a second round allows one more \
             if the sum of windows has room; on,off compares both",
            "off",
            "on"
        );
    CcGroups: cmt_switch!(
            CcGroups,
            "cc-groups",
            66,
            "Groups of paths of cmt-sctp whose windows are coupled, a number for each path: \
             0:0:1; a list is compared",
            "one group",
            "0:1"
        )
        .pattern(Of(schema::groups));
    MaxBurst: text(
            "max-burst",
            "Packets that sctp and cmt-sctp may send at once (Max.Burst); 0: no limit. Default: 4.",
        )
        .argument(
            67,
            "N",
            "Packets that sctp and cmt-sctp may send at once; 0: no limit [default: 4]",
        )
        .number()
        .pattern(Of(schema::max_burst))
        .shown(|s| of_sctp(s, |sctp| Some(sctp.max_burst?.to_string())))
        .counts(Counts::StudyKey, "10");
    MaxBurstVariant: text(
            "max-burst-variant",
            "How Max.Burst limits a burst: use-it-or-lose-it, cwnd-limiting, cwnd-limiting-bsd, \
             use-it-or-lose-it-temp, cwnd-limiting-temp, max-burst, aggressive-max-burst, \
             total-max-burst. Default: use-it-or-lose-it; cwnd-limiting-bsd with bsd and lab003.",
        )
        .argument(
            68,
            "NAME",
            "How Max.Burst limits a burst: use-it-or-lose-it, cwnd-limiting, cwnd-limiting-bsd, \
             use-it-or-lose-it-temp, cwnd-limiting-temp, max-burst, aggressive-max-burst, \
             total-max-burst [default: use-it-or-lose-it; cwnd-limiting-bsd with bsd and lab003]",
        )
        .pattern(Of(schema::burst_rules))
        .shown(|s| of_sctp(s, |sctp| Some(sctp.burst?.name().to_owned())))
        .counts(Counts::StudyKey, "cwnd-limiting");
    AbcLimit: text(
            "abc-limit",
            "Packets that one SACK adds to a window of sctp in slow start (L of RFC 9260). \
             Default: 1; 2 with bsd and lab003.",
        )
        .argument(
            69,
            "N",
            "Packets that one SACK adds to a window of sctp in slow start (L of RFC 9260) \
             [default: 1; 2 with bsd and lab003]",
        )
        .number()
        .pattern(Of(schema::streams))
        .shown(|s| of_sctp(s, |sctp| Some(sctp.slow_start_limit?.to_string())))
        .counts(Counts::StudyKey, "2");
    Buffers: text(
            "buffers",
            "Maximum socket buffers SEND/RECEIVE of auto-tuning; fixed:SEND/RECEIVE turns it off. \
             With sctp the sizes from the start. Default: 4MiB/6MiB.",
        )
        .argument(
            24,
            "SND/RCV",
            "Maximum socket buffers SEND/RECEIVE of auto-tuning; fixed:SEND/RECEIVE turns it off; \
             with sctp the sizes from the start [default: 4MiB/6MiB]",
        )
        .pattern(Regex(super::values::BUFFERS_PATTERN))
        .shown(|s| Some(quoted(&show_buffers(&s.ends.buffers))))
        .counts(Counts::StudyKey, "1MiB/2MiB");
    Nic: text("nic", "Rate of the hosts' network interfaces, or none. Default: 1gbit.")
        .argument(
            23,
            "RATE",
            "Rate of the hosts' network interfaces, or none [default: 1gbit]",
        )
        .pattern(Regex(r"^(none|[0-9.]+ ?[kKmMgGtT]?[bB][iI][tT](/s)?)$"))
        .shown(|s| Some(quoted(&s.ends.nic.map_or("none".into(), |nic| nic.rate.to_string()))))
        .counts(Counts::StudyKey, "none");
    PathNoise: text(
            "path-noise",
            "Largest extra delay of a path, drawn per path and repetition and the same for all \
             variants, where a variant uses several paths; 0: none. Default: 0.1ms.",
        )
        .argument(
            72,
            "TIME",
            "Largest extra delay of a path, drawn per path and repetition and the same for all \
             variants, where a variant uses several paths; 0: none [default: 0.1ms]",
        )
        .pattern(Of(schema::noise))
        .shown(|s| Some(quoted(&show_time(s.ends.path_noise))).filter(|_| s.has_own_noise()))
        .counts(Counts::StudyKey, "0.3ms");
    Ssthresh: sender::SSTHRESH;
    Nagle: sender::NAGLE;
    Pacing: sender::PACING;
    Hystart: sender::HYSTART;
    HostCost: host_cost::ROW;
    PacketMetrics: judge::PACKET_METRICS;
    GapStructure: text(
            "gap-structure",
            "Structure of sctp's gap entries: tree, or list, which visits one after the other \
             (paper 003) and takes more time with host-cost gap. Default: tree.",
        )
        .argument(
            47,
            "NAME",
            "Structure of sctp's gap entries: tree, or list, which visits one after the other \
             (paper 003) and takes more time with --host-cost gap=TIME [default: tree]",
        )
        .pattern(Of(schema::gap_structures))
        .shown(|s| of_sctp(s, SctpChoices::own_gap_structure))
        .counts(Counts::StudyKey, "list");
    Reverse: switch("reverse", "Send from client to server instead of downloading.")
        .argument(22, "", "Send from client to server instead of downloading")
        .shown(|s| Some(s.ends.reverse.to_string()))
        .counts(Counts::StudyKey, "");
    First: text("first", "Path of the first subflow. Default: the first one of the file.")
        .argument(25, "PATH", "Path of the first subflow [default: the first path named]")
        .shown(|s| Some(quoted(s.paths.get(s.ends.first).map_or("", |path| &path.name))))
        .counts(Counts::StudyKey, "b");
    Primary: list(
            "primary",
            "Paths that variants over several paths begin with, as primary or first subflow: \
             first, random, fastest-handshake (cmt-sctp), or the name of a path. Default: first.",
        )
        .argument(
            70,
            "LIST",
            "Primary path of sctp and cmt-sctp, and path of the first subflow of mptcp; a list is \
             compared: first (that of --first), random, fastest-handshake (cmt-sctp), or names of \
             paths [default: first]",
        )
        .pattern(Of(schema::some_paths))
        .shown(primaries)
        .counts(Counts::Variants, "b");
    Runs: text(
            "runs",
            "Repetitions of every variant, or auto: until it is known whether the best variant \
             over several paths is better than the best single path. Default: auto.",
        )
        .argument(
            30,
            "N",
            "Repetitions of every variant; auto: until it is known whether the best variant over \
             several paths is better than the best single path [default: auto]",
        )
        .of_repeating()
        .number()
        .pattern(Of(schema::runs))
        .shown(|s| {
            Some(match s.runs {
                Runs::Fixed(runs) => runs.to_string(),
                Runs::Auto { .. } => quoted("auto"),
            })
        })
        .counts(Counts::Scenario, "7");
    Metric: text(
            "metric",
            "Number of each run that variants are compared by: that of the traffic, or of its \
             messages or objects median, p95, p99, slowest or late (share over 150 ms), goodput, \
             failover. Default: that of the goal, or of the traffic.",
        )
        .argument(
            28,
            "NAME",
            "Number of each run that variants are compared by: that of the traffic; of its \
             messages or objects median, p95, p99, slowest or late (share over 150 ms); goodput; \
             failover [default: that of --goal, or of the traffic]",
        )
        .of_repeating()
        .shown(|s| Some(quoted(s.metric.name())))
        .counts(Counts::Scenario, "goodput");
    Goal: text(
            "goal",
            "Bound that some variant is to keep: `p95 message_delay < 150ms`. A quantile of \
             traffic with one value per run is over the runs.",
        )
        .argument(
            29,
            "BOUND",
            "Bound that some variant is to keep: 'p95 message_delay < 150ms', 'goodput > 5mbit'",
        )
        .of_repeating()
        .shown(|s| s.goal.as_ref().map(|goal| quoted(&goal.text)))
        .counts(Counts::Scenario, "goodput > 90mbit");
    Matters: text(
            "matters",
            "Smallest difference that matters, as a share of the baseline; of message delays and \
             page loads at least 5 ms, unless it is 0. Default: 5%.",
        )
        .argument(
            33,
            "SHARE",
            "Smallest difference that matters, as a share of the baseline; of message delays and \
             page loads at least 5 ms, unless it is 0 [default: 5%]",
        )
        .of_repeating()
        .number()
        .pattern(Of(schema::share))
        .shown(|s| Some(quoted(&s.matters.0.to_string())))
        .counts(Counts::Scenario, "10%");
    RunsMax: text("runs-max", "Maximum number of repetitions with auto. Default: 1000.")
        .argument(31, "N", "Maximum number of repetitions with --runs auto [default: 1000]")
        .of_repeating()
        .number()
        .pattern(Of(schema::runs_max))
        .shown(|s| match s.runs {
            Runs::Fixed(_) => None,
            Runs::Auto { most } => Some(most.to_string()),
        })
        .counts(Counts::Scenario, "70");
    Time: text(
            "time",
            "Real time after which no further repetition is started, or none. Default: none.",
        )
        .argument(
            34,
            "TIME",
            "Real time after which no further repetition of --runs auto is started, or none \
             [default: 60s where standard output is a terminal, else none]",
        )
        .of_repeating()
        .counts(Counts::Nowhere, "7s");
    Seed: text("seed", "Random seed; the same seed reproduces the same result. Default: 1.")
        .argument(
            19,
            "N",
            "Random seed; the same seed reproduces the same result [default: 1]",
        )
        .number()
        .pattern(Of(schema::whole_number))
        .shown(|s| Some(quoted(&s.seed.to_string())))
        .counts(Counts::StudyKey, "2");
    Jobs: text("jobs", "Number of threads; the result does not depend on it. Default: all cores.")
        .argument(20, "N", "Number of threads; the result does not depend on it [default: all \
            cores]")
        .number()
        .pattern(Of(schema::jobs))
        .counts(Counts::Nowhere, "3");
    Baseline: text(
            "baseline",
            "Compare with best, average (of the single paths) or a variant's name. Default: best.",
        )
        .argument(
            32,
            "NAME",
            "Compare with best, average (of the single paths) or a variant's name [default: best]",
        )
        .of_repeating()
        .shown(|s| Some(quoted(&s.baseline.to_string())))
        .counts(Counts::Scenario, "average");
    Pairs: switch("pairs", "Compare every pair of variants too.");
    Why: switch(
            "why",
            "Also print why senders were not sending, how long the reader was blocked and what was \
             sent needlessly.",
        );
    Wide: switch("wide", "Print every column of the table, however wide it is.");
    FailIf: list(
            "fail-if",
            "Exit with code 4 if the answer is one of these: hurts, undecided (also: not known), \
             goal-missed.",
        )
        .pattern(Of(schema::failures))
        .counts(Counts::Nowhere, "hurts");
    Markdown: switch("markdown", "Print the table as Markdown.");
    Json: switch("json", "Print one JSON document instead of the table.");
    Out: text("out", "Folder for the results, relative to this file.")
        .counts(Counts::Nowhere, "results");
    Csv: switch("csv", "Also write runs.csv and summary.csv to the folder `out`.");
    Pcap: text(
            "pcap",
            "Folder for captures of every variant's first repetition, relative to this file.",
        )
        .counts(Counts::Nowhere, "packets");
    Force: switch("force", "Overwrite files that anabranch did not write.");
    Quiet: switch("quiet", "Print no progress; notes on how inputs were understood stay.");
    Verbose: switch("verbose", "Print a line for every repetition.");
    NoColor: switch("no-color", "No colours.");
}

#[cfg(test)]
mod tests;
