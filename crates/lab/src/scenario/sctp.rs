//! Choices of SCTP: profile, fail-over rules, retransmission policies, messages and extensions.
//!
//! Values are those of the engine's `SctpConfig`; `choice` parses names that protocols have in
//! common, `variants` builds the variants.

use super::Options;
use super::choice::{Complaint, chosen};
use super::cmt::{CmtChoices, switched};
use super::options::said;
use super::table::Key;
use crate::error::{Given, InputError};
use crate::units::{parse_size, show_size};
use crate::words::nearest_help;
use traffic::Traffic;
use traffic::web::Http;
use transport::congestion::ControllerChoice;
use transport::sctp::cmt::CmtConfig;
use transport::sctp::streams::StreamOrder;
use transport::sctp::{
    Addresses, BurstRule, FailureLimits, GapStructure, RtxPolicy, SctpConfig, SctpProfile,
};
use wire::sctp::Features;

/// Name of the variants over all paths, one at a time, instead of the name of a path.
pub(super) const MULTIHOMED: &str = "multihomed";
/// Largest message: what a byte stream is cut into need not exceed one chunk of a jumbo frame.
const MOST_MESSAGE: u64 = 64 << 10;
/// Bytes of the messages that `inet000` cuts a byte stream into (000's model).
const MESSAGE_OF_INET000: u32 = 1452;

/// Rule for leaving a path whose packets are lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SctpFailover {
    /// After the first time-out (RFC 7829, PotentiallyFailed.Max.Retrans 0).
    Pf,
    /// After more than Path.Max.Retrans time-outs (RFC 9260 s8.2).
    Pmr,
}

/// Name, one sentence and source of every fail-over rule of SCTP.
pub const SCTP_FAILOVERS: &[(&str, &str, &str)] = &[
    (
        "pf",
        "SCTP: a path that had a time-out is potentially failed; data take another one.",
        "RFC 7829",
    ),
    (
        "pmr",
        "SCTP: a path fails after more than Path.Max.Retrans (5) time-outs in a row.",
        "RFC 9260 s8.2",
    ),
];

impl SctpFailover {
    /// Both rules, in the order of their names.
    pub const ALL: [SctpFailover; 2] = [SctpFailover::Pf, SctpFailover::Pmr];

    /// The name in options.
    pub const fn name(self) -> &'static str {
        SCTP_FAILOVERS[self as usize].0
    }

    /// The rule of that name, in any case.
    pub fn by_name(name: &str) -> Option<SctpFailover> {
        SctpFailover::ALL.into_iter().find(|rule| rule.name().eq_ignore_ascii_case(name))
    }

    /// The rule that a profile implies.
    pub fn usual(profile: SctpProfile) -> SctpFailover {
        match profile.parameters().limits.potentially_failed {
            Some(_) => SctpFailover::Pf,
            None => SctpFailover::Pmr,
        }
    }
}

/// Choices of SCTP, each list in the order given.
#[derive(Clone, PartialEq, Debug)]
pub struct SctpChoices {
    /// Named set of parameters.
    pub profile: SctpProfile,
    /// Congestion controls that SCTP has, of those compared; otherwise `reno`.
    pub congestion: Vec<ControllerChoice>,
    /// Fail-over rules; empty: that of the profile.
    pub failovers: Vec<SctpFailover>,
    /// Policies for the path of a retransmission after a time-out; empty: that of the protocol.
    pub rtx_policies: Vec<RtxPolicy>,
    /// Bytes of the messages that data are cut into; `None`: what fits one chunk.
    pub message_size: Option<u32>,
    /// Streams in each direction.
    pub streams: u16,
    /// Order in which streams send.
    pub stream_order: StreamOrder,
    /// NR-SACK is offered.
    pub nr_sack: bool,
    /// Interleaving of messages is offered (RFC 8260).
    pub interleaving: bool,
    /// Structure of TSNs above the cumulative one.
    pub gap_structure: GapStructure,
    /// Max.Burst in packets, 0: no limit; `None`: that of the profile.
    pub max_burst: Option<u32>,
    /// How it limits a burst; `None`: that of the profile.
    pub burst: Option<BurstRule>,
    /// L of RFC 9260 s7.2.1, in packets; `None`: that of the profile.
    pub slow_start_limit: Option<u32>,
    /// What only CMT-SCTP has.
    pub cmt: CmtChoices,
}

impl Default for SctpChoices {
    /// The defaults of the command line.
    fn default() -> Self {
        SctpChoices {
            profile: SctpProfile::default(),
            congestion: vec![ControllerChoice::RENO],
            failovers: Vec::new(),
            rtx_policies: Vec::new(),
            message_size: None,
            streams: 1,
            stream_order: SctpConfig::default().stream_order,
            nr_sack: true,
            interleaving: false,
            gap_structure: GapStructure::default(),
            max_burst: None,
            burst: None,
            slow_start_limit: None,
            cmt: CmtChoices::default(),
        }
    }
}

/// The profile in `options`.
pub(super) fn profile_of(options: &Options) -> Result<SctpProfile, InputError> {
    Ok(said(options.text(Key::SctpProfile), profile)?.unwrap_or_default())
}

impl SctpChoices {
    /// Options that only SCTP has.
    pub(super) const OPTIONS: [Key; 11] = [
        Key::SctpProfile,
        Key::RtxPolicy,
        Key::MessageSize,
        Key::Streams,
        Key::StreamScheduler,
        Key::NrSack,
        Key::Interleaving,
        Key::GapStructure,
        Key::MaxBurst,
        Key::MaxBurstVariant,
        Key::AbcLimit,
    ];

    /// The choices in `options`, of which `compared` is a part that other protocols have, too;
    /// `is_used`: SCTP is compared, or competes. A page over streams has more of them.
    pub(super) fn resolve(
        options: &Options,
        (is_used, concurrent): (bool, bool),
        compared: SctpChoices,
        traffic: &mut Traffic,
    ) -> Result<SctpChoices, InputError> {
        let mut given = SctpChoices::OPTIONS.iter().flat_map(|key| options.texts(*key));
        if let (false, Some(given)) = (is_used, given.next()) {
            let help = "add `sctp` to the protocols: `--protocols tcp,sctp`";
            return Err(given.refuse_whole("this option is for SCTP, which is not compared", help));
        }
        let profile = profile_of(options)?;
        let usual = (profile == SctpProfile::Inet000).then_some(MESSAGE_OF_INET000);
        let every = RtxPolicy::ALL.map(|(policy, _)| policy);
        let texts = options.texts(Key::RtxPolicy);
        let mut of_page = match traffic {
            Traffic::Web(web) => {
                Some(&mut web.http).filter(|http| matches!(http, Http::Streams(_)))
            }
            _ => None,
        };
        let usual_streams = match &of_page {
            Some(Http::Streams(streams)) => *streams,
            _ => 1,
        };
        let streams = said(options.text(Key::Streams), streams)?.unwrap_or(usual_streams);
        let interleaving = said(options.text(Key::Interleaving), on_or_off)?;
        let interleaving = interleaving.unwrap_or(of_page.is_some());
        if let Some(http) = &mut of_page {
            **http = Http::Streams(streams);
        }
        let structure = said(options.text(Key::GapStructure), gap_structure)?;
        let order = said(options.text(Key::StreamScheduler), stream_order)?;
        let configs = CmtChoices::configs(options, concurrent, CmtConfig::of(profile))?;
        Ok(SctpChoices {
            profile,
            streams,
            stream_order: order.unwrap_or(compared.stream_order),
            interleaving,
            gap_structure: structure.unwrap_or_default(),
            rtx_policies: chosen(texts, Vec::new(), &every, rtx_policy)?,
            message_size: said(options.text(Key::MessageSize), message_size)?.or(usual),
            nr_sack: said(options.text(Key::NrSack), on_or_off)?.unwrap_or(true),
            max_burst: said(options.text(Key::MaxBurst), |given| count(given, 0))?,
            burst: said(options.text(Key::MaxBurstVariant), burst)?,
            slow_start_limit: said(options.text(Key::AbcLimit), |given| count(given, 1))?,
            cmt: CmtChoices { configs, ..compared.cmt },
            ..compared
        })
    }

    /// A note on messages that do not fit into a receive buffer of this size: a message is
    /// delivered as a whole.
    pub(super) fn note_on_messages(
        &self,
        traffic: &Traffic,
        receive_buffer: u32,
    ) -> Option<String> {
        if matches!(traffic, Traffic::OnOff(_) | Traffic::Udp(_) | Traffic::Call(_)) {
            return None;
        }
        let most = self.message_size.map(u64::from);
        let largest = match traffic.largest_message() {
            Some(own) => most.map_or(own, |most| most.min(own)),
            None => most?,
        };
        (largest > receive_buffer.into()).then(|| {
            let room = show_size(receive_buffer.into());
            format!(
                "sctp: a message of {largest} bytes is larger than the receive buffer of {room}: \
                 it is delivered as a whole, so its end waits for probes of a closed window; give \
                 larger `--buffers`, or smaller messages with `--message-size`"
            )
        })
    }

    /// The fail-over rules to compare.
    pub(super) fn rules(&self) -> Vec<SctpFailover> {
        match self.failovers.is_empty() {
            true => vec![SctpFailover::usual(self.profile)],
            false => self.failovers.clone(),
        }
    }

    /// The retransmission policies to compare, of which `usual` is that of the protocol.
    pub(crate) fn policies(&self, usual: RtxPolicy) -> Vec<RtxPolicy> {
        match self.rtx_policies.is_empty() {
            true => vec![usual],
            false => self.rtx_policies.clone(),
        }
    }

    /// The configuration of an association over one path, or over all of the host's.
    pub(crate) fn config(
        &self,
        addresses: Addresses,
        failover: SctpFailover,
        rtx_policy: RtxPolicy,
    ) -> SctpConfig {
        let mut config = SctpConfig::of(self.profile);
        let limits = &mut config.parameters.limits;
        *limits = match failover {
            SctpFailover::Pf => FailureLimits { potentially_failed: Some(0), ..*limits },
            SctpFailover::Pmr => FailureLimits { potentially_failed: None, ..*limits },
        };
        let parameters = &mut config.parameters;
        parameters.max_burst = self.max_burst.unwrap_or(parameters.max_burst);
        parameters.burst = self.burst.unwrap_or(parameters.burst);
        let limit = self.slow_start_limit.unwrap_or(parameters.slow_start_limit);
        parameters.slow_start_limit = limit;
        let mut features = config.features;
        for (feature, on) in
            [(Features::NR_SACK, self.nr_sack), (Features::INTERLEAVING, self.interleaving)]
        {
            features.0 = if on { features.0 | feature.0 } else { features.0 & !feature.0 };
        }
        SctpConfig {
            addresses,
            rtx_policy,
            features,
            streams: self.streams,
            stream_order: self.stream_order,
            message_size: self.message_size,
            gap_structure: self.gap_structure,
            ..config
        }
    }

    /// The configuration of an association over one path, which has nothing to choose.
    pub(crate) fn single(&self) -> SctpConfig {
        self.config(Addresses::One, SctpFailover::usual(self.profile), RtxPolicy::default())
    }

    /// Options other than the default that the names of variants do not have, for the key of stored
    /// runs.
    pub(super) fn deviations(&self) -> String {
        let usual = SctpChoices::default();
        let mut text = String::new();
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                text.push_str(&format!("{name} {value} "));
            }
        };
        let differs = |it: bool, value: &dyn ToString| it.then(|| value.to_string());
        add("sctp-profile", differs(self.profile != usual.profile, &self.profile.name()));
        add("message-size", self.message_size.map(|size| size.to_string()));
        add("streams", differs(self.streams != usual.streams, &self.streams));
        let order = self.stream_order;
        add("stream-scheduler", differs(order != usual.stream_order, &order.name()));
        add("nr-sack", differs(self.nr_sack != usual.nr_sack, &self.nr_sack));
        add("interleaving", differs(self.interleaving != usual.interleaving, &self.interleaving));
        let structure = self.gap_structure;
        add("max-burst", self.max_burst.map(|packets| packets.to_string()));
        add("max-burst-variant", self.burst.map(|rule| rule.name().to_owned()));
        add("abc-limit", self.slow_start_limit.map(|packets| packets.to_string()));
        add("gap-structure", differs(structure != usual.gap_structure, &structure.name()));
        text
    }

    /// The order of streams, unless it is the default.
    pub(super) fn own_stream_order(&self) -> Option<String> {
        let usual = SctpChoices::default().stream_order;
        (self.stream_order != usual).then(|| self.stream_order.name().to_owned())
    }

    /// The structure of gap entries, unless it is the default.
    pub(super) fn own_gap_structure(&self) -> Option<String> {
        let usual = GapStructure::default();
        (self.gap_structure != usual).then(|| self.gap_structure.name().to_owned())
    }

    /// Bytes of messages, unless they are those of the profile.
    pub(super) fn own_message_size(&self) -> Option<u32> {
        let usual = (self.profile == SctpProfile::Inet000).then_some(MESSAGE_OF_INET000);
        self.message_size.filter(|size| Some(*size) != usual)
    }
}

/// Whether SCTP has this congestion control: a law for windows in bytes, of one path.
pub(super) fn has(control: &ControllerChoice) -> bool {
    !control.is_coupled() && control.make_over_bytes(1).is_some()
}

fn profile(given: &Given) -> Result<SctpProfile, InputError> {
    SctpProfile::by_name(&given.text).ok_or_else(|| {
        let names = SctpProfile::ALL.map(|(profile, _)| profile.name());
        let problem = format!("unknown profile `{}` of SCTP", given.text);
        given.refuse_whole(problem, nearest_help(&given.text, &names))
    })
}

fn rtx_policy(word: &str) -> Result<RtxPolicy, Complaint> {
    RtxPolicy::by_name(word).ok_or_else(|| {
        let names = RtxPolicy::ALL.map(|(policy, _)| policy.name());
        (format!("unknown retransmission policy `{word}`"), nearest_help(word, &names))
    })
}

/// A plain number is one of bytes.
fn message_size(given: &Given) -> Result<u32, InputError> {
    let plain = given.text.parse::<u64>().ok();
    let bytes = match plain {
        Some(bytes) => bytes,
        None => parse_size(&given.text).map_err(|refusal| given.refuse(refusal))?,
    };
    let size = u32::try_from(bytes).ok().filter(|_| (1..=MOST_MESSAGE).contains(&bytes));
    size.ok_or_else(|| {
        let problem = format!("a message of `{}` is not between 1 byte and 64KiB", given.text);
        given.refuse_whole(problem, "write `1452`, for example; larger messages stay whole")
    })
}

fn streams(given: &Given) -> Result<u16, InputError> {
    given.text.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
        let problem = format!("`{}` is not a number of streams", given.text);
        given.refuse_whole(problem, format!("write a whole number from 1 to {}", u16::MAX))
    })
}

/// A number of packets, at least `least`.
fn count(given: &Given, least: u32) -> Result<u32, InputError> {
    let number = given.text.parse::<u16>().ok().map(u32::from);
    number.filter(|number| *number >= least).ok_or_else(|| {
        let problem = format!("`{}` is not a number of packets", given.text);
        given.refuse_whole(problem, format!("write a whole number from {least} to {}", u16::MAX))
    })
}

fn burst(given: &Given) -> Result<BurstRule, InputError> {
    BurstRule::by_name(&given.text).ok_or_else(|| {
        let names = BurstRule::ALL.map(|(_, name, _)| name);
        let problem = format!("unknown variant `{}` of Max.Burst", given.text);
        given.refuse_whole(problem, nearest_help(&given.text, &names))
    })
}

fn stream_order(given: &Given) -> Result<StreamOrder, InputError> {
    StreamOrder::by_name(&given.text.to_ascii_lowercase()).ok_or_else(|| {
        let names: Vec<&str> = StreamOrder::names().collect();
        let problem = format!("unknown stream scheduler `{}`", given.text);
        given.refuse_whole(problem, nearest_help(&given.text, &names))
    })
}

fn gap_structure(given: &Given) -> Result<GapStructure, InputError> {
    GapStructure::by_name(&given.text).ok_or_else(|| {
        let names = GapStructure::ALL.map(GapStructure::name);
        let problem = format!("unknown gap structure `{}`", given.text);
        given.refuse_whole(problem, nearest_help(&given.text, &names))
    })
}

/// `on` or `off`; also as the switches of FreeBSD have it, 1 or 0.
fn on_or_off(given: &Given) -> Result<bool, InputError> {
    switched(&given.text).ok_or_else(|| {
        let problem = format!("`{}` is neither on nor off", given.text.to_ascii_lowercase());
        given.refuse_whole(problem, "write `on` or `off`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::tests::{names, refused, resolve};

    const SCTP: (Key, &str) = (Key::Protocols, "sctp");

    #[test]
    fn each_path_alone_and_all_in_turn() {
        assert_eq!(names(&[SCTP]), ["sctp/a/reno", "sctp/b/reno", "sctp/multihomed/reno"]);
        let all = names(&[(Key::Protocols, "tcp,sctp,mptcp")]);
        let expected = [
            "tcp/a/cubic",
            "tcp/b/cubic",
            "sctp/a/reno",
            "sctp/b/reno",
            "sctp/multihomed/reno",
            "mptcp/linux/cubic",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn rules_and_policies_other_than_the_usual_ones_are_in_names() {
        let said = [SCTP, (Key::Failover, "pf,pmr"), (Key::RtxPolicy, "next,rtt")];
        let expected = [
            "sctp/a/reno",
            "sctp/b/reno",
            "sctp/multihomed/reno",
            "sctp/multihomed/reno/rtt",
            "sctp/multihomed/reno/pmr",
            "sctp/multihomed/reno/pmr/rtt",
        ];
        assert_eq!(names(&said), expected);
        let with = |profile| [&said[..], &[(Key::SctpProfile, profile)]].concat();
        assert_eq!(
            names(&with("inet000"))[2..4],
            ["sctp/multihomed/reno/pf", "sctp/multihomed/reno/pf/rtt"]
        );
        let every = names(&[(Key::Protocols, "mptcp,sctp"), (Key::Failover, "all")]);
        assert_eq!(every.len(), 3 + 2 + 2, "{every:?}");
    }

    #[test]
    fn control_that_sctp_lacks_is_reno_with_a_note() {
        let scenario = resolve(&[SCTP]).unwrap();
        assert!(scenario.notes.iter().any(|note| note == "sctp has no `cubic`: it takes `reno`"));
        let both = resolve(&[SCTP, (Key::Cc, "reno,cubic")]).unwrap();
        let note = "skipped `cubic` with sctp, which lacks it";
        assert!(both.notes.iter().any(|found| found == note), "{:?}", both.notes);
        assert_eq!(names(&[SCTP, (Key::Cc, "lia")])[0], "sctp/a/reno");
    }

    #[test]
    fn options_become_the_configuration() {
        let said = [
            SCTP,
            (Key::SctpProfile, "inet000"),
            (Key::Streams, "10"),
            (Key::NrSack, "off"),
            (Key::Interleaving, "on"),
        ];
        let choices = resolve(&said).unwrap().choices.sctp;
        let config = choices.config(Addresses::All, SctpFailover::Pf, RtxPolicy::Rtt);
        assert_eq!((config.streams, config.message_size), (10, Some(1452)));
        assert_eq!(config.parameters.limits.potentially_failed, Some(0));
        assert_eq!(config.rtx_policy, RtxPolicy::Rtt);
        assert!(config.features.contains(Features::INTERLEAVING));
        assert!(!config.features.contains(Features::NR_SACK));
        assert_eq!(choices.single().parameters.limits.potentially_failed, None, "of the profile");
        let own = [SCTP, (Key::SctpProfile, "inet000"), (Key::MessageSize, "1000")];
        assert_eq!(resolve(&own).unwrap().choices.sctp.message_size, Some(1000));
    }

    #[test]
    fn what_sctp_cannot_do_is_refused_with_a_remedy() {
        let reset = [SCTP, (Key::Path, "c=rate 1mbit reset @3s")];
        refused(&reset, &["path `c` is reset", "write `removed @20s..35s`"]);
        refused(&[SCTP, (Key::Path, "multihomed=rate 1mbit")], &["another name"]);
        refused(&[(Key::Streams, "3")], &["--streams", "add `sctp` to the protocols"]);
        refused(&[(Key::Failover, "pf")], &["`pf` is a rule of sctp", "add `sctp`"]);
        refused(&[SCTP, (Key::Failover, "probe")], &["`probe` is a rule of mptcp"]);
        refused(&[SCTP, (Key::Failover, "pff")], &["did you mean `pf`"]);
        refused(&[SCTP, (Key::RtxPolicy, "fastest")], &["same, next, asap, cwnd"]);
        refused(&[SCTP, (Key::MessageSize, "1MiB")], &["between 1 byte and 64KiB"]);
        refused(&[SCTP, (Key::NrSack, "maybe")], &["write `on` or `off`"]);
        refused(&[SCTP, (Key::SctpProfile, "inet")], &["unknown profile `inet` of SCTP"]);
        refused(&[(Key::Flow, "x=sctp on a cc cubic")], &["SCTP has no `cubic`", "`cc reno`"]);
    }

    #[test]
    fn competing_association_takes_the_profile_and_several_paths() {
        let said = [
            (Key::Protocols, "tcp"),
            (Key::Flow, "x=sctp on b,a start 1s"),
            (Key::SctpProfile, "bsd"),
        ];
        let scenario = resolve(&said).unwrap();
        assert_eq!(scenario.flows[0].show(&scenario.paths), "sctp on b,a cc reno start 1s");
        assert_eq!(scenario.choices.sctp.profile, SctpProfile::Bsd);
        assert!(scenario.to_toml().contains("sctp-profile = \"bsd\""));
    }
}
