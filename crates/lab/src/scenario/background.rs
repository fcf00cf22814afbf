//! `--background`: the background traffic of paper 000 (s4.4) at every bottleneck.
//!
//! One saturating TCP flow and four on-off flows over UDP with Pareto periods, 10 % of the rate of
//! the bottleneck together, from the start of the run to its end. The compared connection starts
//! later. The sources are those of the traffic `onoff`: frames of 5000 bytes, periods of shape 1.5
//! and scale 0.166667 s. The paper has 25 frames a second in on periods over WLAN and a fifth of
//! that over 3G; here the rate decides for any link.

use super::Options;
use super::flow::FlowSpec;
use super::row::{Counts, OptionRow, switch};
use super::table::Key;
use super::variants::Protocol;
use crate::path_spec::{CapacitySpec, PathSpec, Span};
use base::{Duration, Rate};
use traffic::model::onoff::OnOff;
use traffic::{Draws, Traffic};
use transport::congestion::ControllerChoice;

/// The row of `--background`.
pub(super) const ROW: OptionRow = switch(
    "background",
    "Background traffic of paper 000 at every bottleneck: a saturating TCP flow, and four on-off \
     UDP flows with 10 % of its rate. The compared connection starts at 10s. Default: false.",
)
.argument(
    77,
    "",
    "Add the background traffic of paper 000 at every bottleneck: a saturating TCP flow, and four \
     on-off UDP flows with 10 % of its rate; the compared connection starts at 10s",
)
.shown(|s| s.flows.iter().any(|flow| flow.is_background).then(|| "true".to_owned()))
.counts(Counts::StudyKey, "");

/// On-off flows at a bottleneck.
const SOURCES: u32 = 4;
/// The rate of the bottleneck divided by that of all of them together.
const PART: u64 = 10;
/// Start of the compared connection: slow start of the TCP flow is over by then (assumed).
pub(super) const FOREGROUND_START: Duration = Duration::from_secs(10);

/// The flows of all bottlenecks of the compared connection, which sends from client to server if
/// `reverse`; none unless they were asked for. Paths without a rate have none.
pub(super) fn flows(
    options: &Options,
    (paths, links): (&[PathSpec], &[PathSpec]),
    deadline: Duration,
) -> Vec<FlowSpec> {
    if options.switch(Key::Background) != Some(true) {
        return Vec::new();
    }
    let reverse = options.switch(Key::Reverse).unwrap_or(false);
    let mut seen: Vec<String> = Vec::new();
    let mut flows = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let Some((name, rate)) = bottleneck(path, links, reverse) else { continue };
        if seen.iter().any(|known| known == name) {
            continue;
        }
        seen.push(name.to_owned());
        // Users cannot give a flow a name with a colon.
        let flow = |name: String, protocol, traffic, count| FlowSpec {
            name,
            protocol,
            paths: vec![index],
            congestion: ControllerChoice::CUBIC,
            scheduler: Default::default(),
            concurrent: Default::default(),
            traffic,
            start: Span::fixed(Duration::ZERO),
            delay: Duration::ZERO,
            reverse,
            count,
            buffers: None,
            is_background: true,
        };
        flows.push(flow(format!("{name}:background"), Protocol::Tcp, None, 1));
        let each = rate / PART / u64::from(SOURCES);
        let source = OnOff { rate: Rate::from_bps(each), time: deadline, draws: Draws::default() };
        let traffic = Some(Traffic::OnOff(source)).filter(|_| source.most_frames() > 0);
        if traffic.is_some() {
            flows.push(flow(format!("{name}:onoff"), Protocol::Udp, traffic, SOURCES));
        }
    }
    flows
}

/// The name of the slowest link of a path in one direction, and its mean rate in bit/s.
fn bottleneck<'a>(
    path: &'a PathSpec,
    links: &'a [PathSpec],
    reverse: bool,
) -> Option<(&'a str, u64)> {
    let shared = links.iter().filter(|link| path.passes(&link.name));
    let rate = |link: &'a PathSpec| {
        let direction = if reverse { &link.up } else { &link.down };
        let rate = match &direction.capacity {
            CapacitySpec::Rate(span) => u64::midpoint(span.low.as_bps(), span.high.as_bps()),
            CapacitySpec::Trace(trace) => trace.capacity.mean_rate().as_bps(),
            CapacitySpec::Unlimited => return None,
        };
        Some((link.name.as_str(), rate))
    };
    std::iter::once(path).chain(shared).filter_map(rate).min_by_key(|(_, rate)| *rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn scenario(paths: &[&str], more: &[(Key, &str)]) -> Scenario {
        let paths = paths.iter().map(|path| (Key::Path, *path));
        let all = paths.chain([(Key::Traffic, "bulk:1MiB"), (Key::Background, "")]);
        let all = all.chain(more.iter().copied());
        let all = all.fold(Options::default(), |all, (key, text)| all.with(key, text));
        all.resolve().expect("a scenario")
    }

    fn shown(scenario: &Scenario) -> Vec<String> {
        let flows = scenario.flows.iter();
        flows.map(|flow| format!("{}={}", flow.name, flow.show(&scenario.paths))).collect()
    }

    /// 000 s4.4: 500 kbit/s each over links of 20 Mbit/s, 100 kbit/s each over 4 Mbit/s (3G).
    #[test]
    fn every_path_has_one_tcp_flow_and_a_tenth_of_its_rate_in_on_off_flows() {
        let scenario = scenario(&["a=rate 20mbit delay 9ms", "3g"], &[]);
        let expected = [
            "a:background=tcp on a cc cubic",
            "a:onoff=udp on a traffic onoff:500kbit:10min count 4",
            "3g:background=tcp on 3g cc cubic",
            "3g:onoff=udp on 3g traffic onoff:100kbit:10min count 4",
        ];
        assert_eq!(shown(&scenario), expected.map(|line| line.replace("10min", "600s")));
        assert_eq!(scenario.start, Span::fixed(FOREGROUND_START));
        assert!(scenario.is_random());
    }

    #[test]
    fn shared_bottleneck_has_its_flows_once_and_start_is_the_user_s() {
        let paths = ["a=rate 50mbit via core", "b=rate 5mbit via core", "c=delay 1ms via core"];
        let core = (Key::Link, "core=rate 20mbit delay 5ms");
        let scenario = scenario(&paths, &[core, (Key::Start, "2s"), (Key::Reverse, "")]);
        let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
        assert_eq!(names, ["core:background", "core:onoff", "b:background", "b:onoff"]);
        assert!(scenario.flows.iter().all(|flow| flow.reverse));
        assert_eq!(scenario.start, Span::fixed(Duration::from_secs(2)));
    }

    #[test]
    fn written_scenario_has_the_word_and_gives_the_same_flows() {
        let scenario = scenario(&["a=rate 20mbit", "b=rate 2mbit"], &[(Key::Flow, "x=tcp on a")]);
        let text = scenario.to_toml();
        assert!(text.contains("background = true\n"), "{text}");
        assert!(!text.contains("onoff"), "{text}");
        assert_eq!(scenario.flows.len(), 5);
    }
}
