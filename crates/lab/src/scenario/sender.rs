//! Switches of senders: `--ssthresh`, `--nagle`, `--pacing`, `--hystart`.
//!
//! They are TCP's, also below MPTCP; SCTP has Nagle's algorithm only. What they do is left to
//! `transport`.

use super::Options;
use super::flow::FlowSpec;
use super::row::{Counts, OptionRow, switch, text};
use super::schema::{self, Pattern::Of, Pattern::Regex};
use super::show::quoted;
use super::table::Key;
use crate::error::{Given, InputError};
use crate::path_spec::PathSpec;
use crate::units::parse_size;
use transport::congestion::ControllerChoice;
use transport::{Protocol, TcpConfig};

/// Payload of a full segment with timestamps in 1500 bytes, which a threshold in bytes counts in.
const SEGMENT_BYTES: u64 = 1448;

/// The row of `--ssthresh`.
pub(super) const SSTHRESH: OptionRow = text(
    "ssthresh",
    "Initial slow-start threshold of tcp and mptcp, in bytes or segments, such as 64KiB or \
     45p; none: infinite. Default: none.",
)
.argument(
    73,
    "SIZE",
    "Initial slow-start threshold of tcp and mptcp, in bytes or segments, such as 64KiB or \
     45p; none: infinite [default: none]",
)
.pattern(Of(schema::threshold))
.shown(|s| s.ends.sender.shown_ssthresh().map(|text| quoted(&text)))
.counts(Counts::StudyKey, "64KiB");

/// The row of `--nagle`.
pub(super) const NAGLE: OptionRow = switch(
    "nagle",
    "Use Nagle's algorithm: a partial segment waits while data are in flight. Default: \
     false.",
)
.argument(74, "", "Use Nagle's algorithm: a partial segment waits while data are in flight")
.shown(|s| s.ends.sender.nagle.then(|| "true".to_owned()))
.counts(Counts::StudyKey, "");

/// The row of `--pacing`.
pub(super) const PACING: OptionRow = switch(
    "pacing",
    "Spread the segments of tcp and mptcp over the round-trip time, as Linux `fq` does. \
     Default: false.",
)
.argument(
    75,
    "",
    "Spread the segments of tcp and mptcp over the round-trip time, as Linux `fq` does",
)
.shown(|s| s.ends.sender.pacing.then(|| "true".to_owned()))
.counts(Counts::StudyKey, "");

/// The row of `--hystart`.
pub(super) const HYSTART: OptionRow =
    text("hystart", "Whether cubic leaves slow start by HyStart: on or off. Default: on.")
        .argument(
            76,
            "on|off",
            "Whether cubic leaves slow start by HyStart: on or off [default: on]",
        )
        .pattern(Regex("^(on|off)$"))
        .shown(|s| (!s.ends.sender.hystart).then(|| quoted("off")))
        .counts(Counts::StudyKey, "off");

/// How senders deviate from their profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderSwitches {
    /// Initial slow-start threshold in segments; `None`: infinite.
    pub ssthresh_segs: Option<u32>,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// Segments are spread over the round-trip time.
    pub pacing: bool,
    /// CUBIC leaves slow start by HyStart.
    pub hystart: bool,
}

impl Default for SenderSwitches {
    fn default() -> Self {
        let TcpConfig { initial_ssthresh_segs, nagle, pacing, hystart, .. } = TcpConfig::default();
        SenderSwitches { ssthresh_segs: initial_ssthresh_segs, nagle, pacing, hystart }
    }
}

impl SenderSwitches {
    /// A connection with these switches.
    pub(crate) fn apply(self, tcp: TcpConfig) -> TcpConfig {
        let SenderSwitches { ssthresh_segs, nagle, pacing, hystart } = self;
        TcpConfig { initial_ssthresh_segs: ssthresh_segs, nagle, pacing, hystart, ..tcp }
    }

    /// The threshold in a scenario file.
    pub(super) fn shown_ssthresh(&self) -> Option<String> {
        self.ssthresh_segs.map(|segs| format!("{segs}p"))
    }
}

/// The switches in `options` of a study that compares `protocols`.
pub(super) fn resolve(
    options: &Options,
    protocols: &[Protocol],
) -> Result<SenderSwitches, InputError> {
    let usual = SenderSwitches::default();
    let found = SenderSwitches {
        ssthresh_segs: match options.text(Key::Ssthresh) {
            Some(given) => ssthresh(given)?,
            None => usual.ssthresh_segs,
        },
        nagle: options.switch(Key::Nagle).unwrap_or(usual.nagle),
        pacing: options.switch(Key::Pacing).unwrap_or(usual.pacing),
        hystart: match options.text(Key::Hystart) {
            Some(given) => hystart(given)?,
            None => usual.hystart,
        },
    };
    let of_tcp = [
        (Key::Ssthresh, found.ssthresh_segs != usual.ssthresh_segs),
        (Key::Pacing, found.pacing != usual.pacing),
        (Key::Hystart, found.hystart != usual.hystart),
    ];
    match of_tcp.iter().find(|(_, is_own)| *is_own) {
        Some((key, _)) if protocols.iter().all(|of| of.is_sctp() || *of == Protocol::Udp) => {
            let problem = "this option is of tcp and mptcp, and neither is compared";
            let help = "leave it out, or add `tcp` to the protocols";
            Err(options.refusal(*key, problem, help))
        }
        _ => Ok(found),
    }
}

/// A note on a switch of a congestion control that nobody has.
pub(super) fn note(
    switches: &SenderSwitches,
    congestion: &[ControllerChoice],
    flows: &[FlowSpec],
    paths: &[PathSpec],
) -> Option<String> {
    let flows = flows.iter().filter(|flow| flow.protocol != Protocol::Udp);
    let mut all = congestion.iter().chain(flows.map(|flow| &flow.congestion));
    // Proxies have it, too.
    let has_cubic = all.any(|control| control.name() == ControllerChoice::CUBIC.name())
        || paths.iter().any(PathSpec::has_proxy);
    let note = || "`hystart` has no effect without `cubic`".to_owned();
    (!switches.hystart && !has_cubic).then(note)
}

/// `64KiB`, `45p` or `none`.
fn ssthresh(given: &Given) -> Result<Option<u32>, InputError> {
    if given.text == "none" {
        return Ok(None);
    }
    let segs = match given.text.strip_suffix('p').and_then(|number| number.parse().ok()) {
        Some(segs) => segs,
        None => parse_size(&given.text).map_err(|refusal| given.refuse(refusal))? / SEGMENT_BYTES,
    };
    let segs = u32::try_from(segs).ok().filter(|segs| *segs >= 2);
    segs.map(Some).ok_or_else(|| {
        given.refuse_whole(
            format!("`{}` is not a threshold of at least two segments", given.text),
            "write a size or a number of segments, such as `64KiB` or `45p`, or `none`",
        )
    })
}

fn hystart(given: &Given) -> Result<bool, InputError> {
    match given.text.as_str() {
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(given.refuse_whole(format!("`{other}` is neither on nor off"), "write `off`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<u32>, InputError> {
        ssthresh(&Given::argument("--ssthresh", text))
    }

    #[test]
    fn threshold_is_a_size_or_a_number_of_segments() {
        // 001 s3.1: 64 KB.
        for (text, segs) in
            [("64KiB", Some(45)), ("45p", Some(45)), ("none", None), ("2p", Some(2))]
        {
            assert_eq!(of(text).unwrap(), segs, "{text}");
        }
        for text in ["1p", "1KiB", "5ms", "64", "many"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn switches_reach_the_connection() {
        let switches =
            SenderSwitches { ssthresh_segs: Some(45), nagle: true, pacing: true, hystart: false };
        let tcp = switches.apply(TcpConfig::default());
        assert_eq!(tcp.initial_ssthresh_segs, Some(45));
        assert!(tcp.nagle && tcp.pacing && !tcp.hystart);
        let usual = SenderSwitches::default().apply(TcpConfig::default());
        assert_eq!(usual, TcpConfig::default());
    }
}
