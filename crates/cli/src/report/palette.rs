//! Styles of paths and variants: colour, dash and marker, the same in every figure of every page.
//!
//! The colours are those of Okabe and Ito, which colour-blind readers can distinguish. No two paths
//! and no two schedulers share both colour and marker, and none of the first four paths shares a
//! colour with a scheduler. Dashes and open markers distinguish congestion control, path manager,
//! policy and fail-over rule. A style is a function of names and of the position of a path in its
//! scenario; `draw` has the forms for plotly.js and SVG.

use lab::scenario::{Carrier, Primary, Protocol, Scenario, SctpFailover, Variant, variants_of};
use transport::choice::Row;
use transport::congestion::{ControllerChoice, ControllerRow};
use transport::path_policy::PolicyRow;
use transport::scheduler::{SchedulerChoice, TABLE};
use transport::sctp::RtxPolicy;
use transport::{Failover, path_manager};

pub(crate) const BLACK: &str = "#000000";
const ORANGE: &str = "#e69f00";
const SKY_BLUE: &str = "#56b4e9";
const GREEN: &str = "#009e73";
const YELLOW: &str = "#f0e442";
const BLUE: &str = "#0072b2";
const VERMILLION: &str = "#d55e00";
const PURPLE: &str = "#cc79a7";

/// Dash of a line.
#[allow(clippy::enum_variant_names, reason = "the names that plotly.js has for them")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Dash {
    Solid,
    Dash,
    Dot,
    DashDot,
    LongDash,
    LongDashDot,
}

/// Marker of a point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Marker {
    Circle,
    TriangleUp,
    Square,
    Cross,
    Diamond,
    X,
    TriangleDown,
    Star,
    Pentagon,
    Hexagon,
    Hourglass,
    Bowtie,
}

/// Style of a path or a variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Look {
    /// Colour as `#rrggbb`, for a white background; black is the colour of text.
    pub colour: &'static str,
    /// Dash of lines.
    pub dash: Dash,
    /// Marker of points.
    pub marker: Marker,
    /// Whether the marker is open, i.e. has an outline only.
    pub open: bool,
}

use Dash::{DashDot, Dot, LongDash, LongDashDot, Solid};
use Marker::{Bowtie, Circle, Cross, Diamond, Hexagon, Hourglass, Pentagon};
use Marker::{Square, Star, TriangleDown, TriangleUp, X};

pub(crate) const DASHES: [Dash; 6] = [Solid, Dash::Dash, Dot, DashDot, LongDash, LongDashDot];
/// Colours and markers of paths.
const PATHS: [(&str, Marker); 4] =
    [(BLUE, Circle), (ORANGE, TriangleUp), (SKY_BLUE, Square), (YELLOW, Cross)];
/// Colours and markers of multi-path variants, by the scheduler's position in the engine's table;
/// schedulers that are often compared differ in colour.
const SCHEDULERS: [(&str, Marker); 18] = [
    (VERMILLION, Diamond),
    (PURPLE, Diamond),
    (PURPLE, X),
    (BLACK, Diamond),
    (GREEN, Diamond),
    (BLACK, X),
    (PURPLE, Star),
    (GREEN, X),
    (GREEN, Star),
    (VERMILLION, X),
    (VERMILLION, Star),
    (BLACK, Star),
    (PURPLE, TriangleDown),
    (GREEN, TriangleDown),
    (VERMILLION, TriangleDown),
    (BLACK, TriangleDown),
    (PURPLE, Square),
    (GREEN, Square),
];
/// Colour and marker of SCTP over all paths, but where it begins with a named one.
const MULTIHOMED: (&str, Marker) = (SKY_BLUE, Hourglass);
/// Colour and marker of CMT-SCTP without a scheduler.
const CONCURRENT: (&str, Marker) = (GREEN, Hourglass);
/// Markers of variants of one scheduler beyond those that dash and fill distinguish.
const FURTHER: [Marker; 4] = [Pentagon, Hexagon, Hourglass, Bowtie];
/// Combinations of dash and fill.
const FORMS: usize = 2 * DASHES.len();

/// Style of a path, by its position in the scenario; those of the first 16 differ in colour and
/// marker, and in colour and dash.
pub(crate) fn of_path(index: usize) -> Look {
    let (place, round) = (index % PATHS.len(), index / PATHS.len());
    let (colour, _) = PATHS[place];
    let (_, marker) = PATHS[(place + round) % PATHS.len()];
    Look { colour, dash: DASHES[(place + round) % DASHES.len()], marker, open: false }
}

/// The dash this many places after another one.
pub(crate) fn dash(of: Dash, further: usize) -> Dash {
    let place = DASHES.iter().position(|dash| *dash == of).unwrap_or(0);
    DASHES[(place + further) % DASHES.len()]
}

/// Style of a variant: colour and marker of its only path or of its scheduler; dash and fill show
/// its other choices, as far as no other variant of the scenario before it has the same ones.
pub(crate) fn of_variant(scenario: &Scenario, variant: &Variant) -> Look {
    let base = base(variant);
    let mut taken: Vec<usize> = Vec::new();
    for other in variants_of(scenario).iter().filter(|other| self::base(other) == base) {
        let form = free(preferred(other), &taken);
        if other.carrier == variant.carrier && other.congestion == variant.congestion {
            return look(base, form + further(&other.name, &variant.name));
        }
        taken.push(form);
    }
    look(base, preferred(variant) + DASHES.len())
}

/// Forms from that of the variant `name` to that of the same one of a kernel, which has the other
/// fill, or of another folder, which has another dash, too.
fn further(name: &str, own: &str) -> usize {
    match own.strip_prefix(name) {
        Some("") => 0,
        Some(folder) => {
            let sum: usize = folder.bytes().map(usize::from).sum();
            DASHES.len() + sum % DASHES.len()
        }
        None => DASHES.len(),
    }
}

/// The path of a variant that uses one at a time: the only one, or the named primary of SCTP.
fn path(variant: &Variant) -> Option<usize> {
    match variant.primary {
        Primary::Path(place) if !variant.is_concurrent() => Some(place),
        _ => variant.single_path(),
    }
}

/// Colour and marker of the path or the scheduler of a variant.
fn base(variant: &Variant) -> (&'static str, Marker) {
    match (path(variant), variant.scheduler()) {
        (None, None) if variant.protocol() == Protocol::CmtSctp => CONCURRENT,
        (None, None) if variant.protocol().is_sctp() => MULTIHOMED,
        (Some(path), _) => (of_path(path).colour, of_path(path).marker),
        (None, scheduler) => scheduler.map_or((BLACK, Circle), of_scheduler),
    }
}

/// The `form`-th style with this colour: dash, fill, then other markers.
fn look((colour, marker): (&'static str, Marker), form: usize) -> Look {
    let marker = match form / FORMS {
        0 => marker,
        further => FURTHER[(further - 1) % FURTHER.len()],
    };
    Look { colour, dash: DASHES[form % DASHES.len()], marker, open: form / DASHES.len() % 2 == 1 }
}

/// The first form that no other variant has, beginning with the preferred one.
fn free(preferred: usize, taken: &[usize]) -> usize {
    let near = (0..FORMS).map(|step| (preferred + step) % FORMS);
    let mut all = near.chain(FORMS..);
    all.find(|form| !taken.contains(form)).unwrap_or(preferred)
}

/// Form of a variant by the names of its choices: the usual ones have form 0.
fn preferred(variant: &Variant) -> usize {
    let cubic = ControllerChoice::CUBIC;
    let controls = ControllerRow::table().iter().map(|row| row.about().0);
    let mut form = distance(controls, variant.congestion.name(), cubic.name());
    if let Carrier::Multipath { path_manager, policy, failover, .. } = &variant.carrier {
        let managers = path_manager::NAMES.iter().map(|(name, ..)| *name);
        let usual = path_manager::PathManagerKind::default().to_string();
        form += distance(managers, &path_manager.to_string(), &usual);
        let mut policies = PolicyRow::table().iter().filter(|_| !policy.is_none());
        let place = policies.position(|row| row.about().0 == policy.name());
        form += place.map_or(0, |place| place + 1);
        form += Failover::ALL.iter().position(|rule| rule == failover).unwrap_or(0);
    }
    if let Carrier::Multihomed { failover, rtx_policy, .. } = &variant.carrier {
        let policies = RtxPolicy::ALL.iter().map(|(policy, _)| policy.name());
        form += distance(policies, rtx_policy.name(), RtxPolicy::default().name());
        form += SctpFailover::ALL.iter().position(|rule| rule == failover).unwrap_or(0);
    }
    if let Carrier::Single { protocol: Protocol::Sctp, .. } = &variant.carrier {
        form += DASHES.len();
    }
    form % FORMS
}

/// Distance of a name from the usual one in a list, in a circle.
fn distance<'a>(names: impl Iterator<Item = &'a str>, name: &str, usual: &str) -> usize {
    let names: Vec<&str> = names.collect();
    let place = |wanted: &str| names.iter().position(|name| *name == wanted).unwrap_or(0);
    (place(name) + names.len() - place(usual)) % names.len().max(1)
}

/// Colour and marker of a scheduler, regardless of its parameters.
fn of_scheduler(scheduler: &SchedulerChoice) -> (&'static str, Marker) {
    let place = TABLE.iter().position(|row| row.name == scheduler.name()).unwrap_or(0);
    SCHEDULERS[place % SCHEDULERS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Options;
    use lab::scenario::Key;
    use std::collections::BTreeSet;

    fn scenario(options: &[(Key, &str)]) -> Scenario {
        let paths = Options::default().with(Key::Path, "wlan").with(Key::Path, "lte");
        let all = options.iter().fold(paths, |all, (key, text)| all.with(*key, text));
        let all = all.with(Key::Protocols, "tcp,mptcp").with(Key::Traffic, "bulk:1MB");
        all.resolve().unwrap_or_else(|error| panic!("{error}"))
    }

    fn looks(scenario: &Scenario) -> Vec<(String, Look)> {
        let all = variants_of(scenario).into_iter();
        all.map(|variant| (variant.name.clone(), of_variant(scenario, &variant))).collect()
    }

    fn assert_distinct(scenario: &Scenario) {
        let looks = looks(scenario);
        let all: BTreeSet<Look> = looks.iter().map(|(_, look)| *look).collect();
        assert_eq!(all.len(), looks.len(), "{looks:?}");
    }

    #[test]
    fn every_scheduler_has_a_look_that_nothing_else_has() {
        let mut seen: BTreeSet<_> =
            (0..4).map(|n| (of_path(n).colour, of_path(n).marker)).collect();
        for scheduler in SchedulerChoice::all() {
            assert!(seen.insert(of_scheduler(&scheduler)), "{scheduler} looks like another");
        }
        let choice = |text: &str| text.parse::<SchedulerChoice>().unwrap();
        assert_eq!(of_scheduler(&choice("wrr:3,1")), of_scheduler(&choice("wrr")));
        assert_eq!(of_scheduler(&choice("raven")), (GREEN, TriangleDown));
    }

    #[test]
    fn sixteen_paths_differ_in_colour_and_marker_and_in_colour_and_dash() {
        let paths = || (0..16).map(of_path);
        let markers: BTreeSet<_> = paths().map(|look| (look.colour, look.marker)).collect();
        let dashes: BTreeSet<_> = paths().map(|look| (look.colour, look.dash)).collect();
        assert_eq!((markers.len(), dashes.len()), (16, 16));
    }

    #[test]
    fn variants_that_differ_look_different() {
        for file in ["mobility/handover", "mobility/silent-death", "fairness/two-links"] {
            let file = format!("{}/../../scenarios/{file}.toml", env!("CARGO_MANIFEST_DIR"));
            let scenario = Scenario::options_from_file(&file).and_then(|all| all.resolve());
            assert_distinct(&scenario.unwrap_or_else(|error| panic!("{error}")));
        }
        let all: Vec<String> = SchedulerChoice::all().map(|choice| choice.to_string()).collect();
        let all = all.join(",").replace("wrr", "wrr:3,1");
        assert_distinct(&scenario(&[(Key::Schedulers, &all)]));
        let many = [
            (Key::Schedulers, "lrf,rr"),
            (Key::Cc, "cubic,reno,lia,olia,balia"),
            (Key::Failover, "rto,stale,probe"),
        ];
        assert_distinct(&scenario(&many));
    }

    #[test]
    fn sctp_with_a_named_primary_has_the_colour_of_its_path() {
        let all = [(Key::Protocols, "tcp,sctp,cmt-sctp"), (Key::Primary, "first,wlan,lte")];
        let paths = Options::default().with(Key::Path, "wlan").with(Key::Path, "lte");
        let all = all.iter().fold(paths, |of, (key, text)| of.with(*key, text));
        let scenario = all.with(Key::Traffic, "bulk:1MB").resolve().unwrap();
        let of = |wanted: &str| {
            let all = looks(&scenario);
            all.into_iter().find(|(name, _)| name == wanted).map(|(_, look)| look).unwrap()
        };
        for (index, path) in ["wlan", "lte"].into_iter().enumerate() {
            let named = of(&format!("sctp/multihomed/reno/primary={path}"));
            let alone = of(&format!("sctp/{path}/reno"));
            assert_eq!((named.colour, named.marker), (alone.colour, alone.marker));
            assert_eq!(named.colour, of_path(index).colour);
            assert!(named != alone && named != of(&format!("tcp/{path}/cubic")));
            let concurrent = of(&format!("cmt-sctp/send-all/reno/primary={path}"));
            assert_eq!(concurrent.colour, CONCURRENT.0);
            assert_ne!(concurrent.colour, of("sctp/multihomed/reno").colour);
        }
    }

    #[test]
    fn variant_looks_the_same_in_every_scenario() {
        let few = looks(&scenario(&[(Key::Cc, "reno"), (Key::Schedulers, "lrf")]));
        let more = [(Key::Cc, "cubic,reno"), (Key::Schedulers, "redundant,lrf")];
        let more = looks(&scenario(&more));
        let of = |name: &str, all: &[(String, Look)]| {
            all.iter().find(|(other, _)| other == name).map(|(_, look)| *look)
        };
        for name in ["tcp/wlan/reno", "mptcp/lrf/reno"] {
            assert!(of(name, &few).is_some());
            assert_eq!(of(name, &few), of(name, &more), "{name}");
        }
        assert_eq!(of("tcp/wlan/cubic", &more).map(|look| look.dash), Some(Solid));
    }
}
