//! Named paths that come with the program.
//!
//! Each is a TOML file with a description and the source of its numbers. `draw` draws from ranges
//! for each repetition.

use crate::error::Refusal;
use crate::words::nearest_help;

/// A named path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Its name on the command line.
    pub name: &'static str,
    /// Items, with ranges.
    pub spec: String,
    /// Paper and table, or "assumed".
    pub source: String,
}

/// The names and files of all profiles.
const PROFILES: [(&str, &str); 18] = [
    ("wlan", include_str!("../../profiles/wlan.toml")),
    ("3g", include_str!("../../profiles/3g.toml")),
    ("wlan-002", include_str!("../../profiles/wlan-002.toml")),
    ("3g-002", include_str!("../../profiles/3g-002.toml")),
    ("wifi-comcast", include_str!("../../profiles/wifi-comcast.toml")),
    ("wifi-coffee-shop", include_str!("../../profiles/wifi-coffee-shop.toml")),
    ("lte-att", include_str!("../../profiles/lte-att.toml")),
    ("lte-verizon", include_str!("../../profiles/lte-verizon.toml")),
    ("3g-sprint", include_str!("../../profiles/3g-sprint.toml")),
    ("2g", include_str!("../../profiles/2g.toml")),
    ("hotspot", include_str!("../../profiles/hotspot.toml")),
    ("monroe-wlan", include_str!("../../profiles/monroe-wlan.toml")),
    ("monroe-3g", include_str!("../../profiles/monroe-3g.toml")),
    ("5g", include_str!("../../profiles/5g.toml")),
    ("lte", include_str!("../../profiles/lte.toml")),
    ("dsl", include_str!("../../profiles/dsl.toml")),
    ("starlink", include_str!("../../profiles/starlink.toml")),
    ("ethernet", include_str!("../../profiles/ethernet.toml")),
];

/// Other names in use.
const ALIASES: [(&str, &str); 7] = [
    ("wifi", "wlan"),
    ("wi-fi", "wlan"),
    ("4g", "lte"),
    ("umts", "3g"),
    ("edge", "2g"),
    // NorNet Edge in 000 s4.1.3 and 004 sIII; the ranges of 000's Table 3 were measured there.
    ("nornet-wlan", "hotspot"),
    ("nornet-3g", "3g"),
];

impl Profile {
    /// The profile with this name, in any case.
    pub fn find(name: &str) -> Result<Profile, Refusal> {
        let own = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
        let own = own.map_or(name, |(_, own)| own);
        let is_named = |known: &str| known.eq_ignore_ascii_case(own);
        let Some((name, file)) = PROFILES.iter().find(|(known, _)| is_named(known)) else {
            let names: Vec<&str> = PROFILES.iter().map(|(name, _)| *name).collect();
            let help = site(name).unwrap_or_else(|| nearest_help(name, &names));
            return Err(Refusal::new(
                name,
                format!("unknown profile `{name}`"),
                format!("{help}; or describe the path: `{name}='rate 25mbit delay 20ms'`"),
            ));
        };
        let table: toml::Table = toml::from_str(file)
            .map_err(|e| Refusal::new(name, format!("profile `{name}` is damaged: {e}"), ""))?;
        let text = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        match (text("spec"), text("source")) {
            (Some(spec), Some(source)) => Ok(Profile { name, spec, source }),
            _ => Err(Refusal::new(name, format!("profile `{name}` is incomplete"), "")),
        }
    }

    /// All profiles in the order of the table.
    pub fn all() -> Vec<Profile> {
        PROFILES.iter().filter_map(|(name, _)| Profile::find(name).ok()).collect()
    }
}

/// Help for the name of a testbed whose paths have profiles of their own: `nornet`.
fn site(name: &str) -> Option<String> {
    let begin = format!("{}-", name.to_ascii_lowercase());
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    let all = PROFILES.iter().map(|(known, _)| *known).chain(aliases);
    let paths: Vec<&str> = all.filter(|known| known.starts_with(&begin)).collect();
    let two = paths.len() > 1 && !paths.contains(&name);
    two.then(|| format!("its paths are {}", paths.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Given;
    use crate::path_spec::{CapacitySpec, LinkSpec, Loss, PathSpec};
    use crate::units::QueueLimit;

    #[test]
    fn every_profile_is_complete_and_names_its_source() {
        assert_eq!(Profile::all().len(), PROFILES.len());
        for profile in Profile::all() {
            let source = &profile.source;
            let is_published = source.contains("(paper ") || source.contains("CoNEXT");
            assert!(is_published || source.starts_with("assumed"), "{source}");
            let has_figure = source.contains("Table") || source.contains(" 2023");
            let has_figure = has_figure || source.contains("section");
            assert!(has_figure || source.starts_with("assumed"), "{source}");
        }
    }

    /// 001 Tables 3 and 4: mean and standard deviation of the round-trip time, in milliseconds. One
    /// draw serves both directions.
    #[test]
    fn paths_of_001_have_its_round_trips() {
        for (name, expected) in [
            ("wifi-comcast", [22.4, 1.46]),
            ("wifi-coffee-shop", [21.9, 3.1]),
            ("lte-att", [60.8, 3.5]),
        ] {
            let path = PathSpec::parse(&Given::argument("--path", name)).unwrap();
            let rtt = |run| {
                let drawn = path.draw(1, run);
                (drawn.down.delay + drawn.up.delay).as_secs_f64() * 1e3
            };
            let all: Vec<f64> = (0..4000).map(rtt).collect();
            let mean = all.iter().sum::<f64>() / 4000.0;
            let square = all.iter().map(|rtt| (rtt - mean) * (rtt - mean)).sum::<f64>() / 4000.0;
            assert!((mean / expected[0] - 1.0).abs() < 0.01, "{name}: {mean} ms");
            assert!((square.sqrt() / expected[1] - 1.0).abs() < 0.04, "{name}: {square}");
        }
    }

    /// 002 s6: round trips of about 25 and 75 ms.
    #[test]
    fn paths_of_monroe_have_the_round_trips_of_002() {
        for (name, millis) in [("monroe-wlan", 25), ("monroe-3g", 75)] {
            let path = PathSpec::parse(&Given::argument("--path", name)).unwrap();
            let drawn = path.draw(1, 0);
            assert_eq!((drawn.down.delay + drawn.up.delay).as_millis(), millis, "{name}");
        }
    }

    fn path(name: &str) -> PathSpec {
        PathSpec::parse(&Given::argument("--path", name)).unwrap()
    }

    fn rate(link: &LinkSpec) -> f64 {
        let CapacitySpec::Rate(rate) = &link.capacity else { panic!("a trace: {link:?}") };
        rate.low.as_bps() as f64
    }

    /// Seconds.
    fn queue(link: &LinkSpec) -> f64 {
        let QueueLimit::Time(time) = link.limit.0.low else { panic!("{:?}", link.limit) };
        time.as_secs_f64()
    }

    /// 001 Table 2 (512 KB), s3.1 and s5.1: a window of 64 KB in the mean round trip, and round
    /// trips of 2 s with a full queue.
    #[test]
    fn deep_queues_of_001_have_its_round_trips_under_load() {
        for (name, loaded) in [("lte-verizon", 0.2046), ("3g-sprint", 0.9724)] {
            let path = path(name);
            let window = 45.0 * 1500.0 * 8.0;
            assert!((window / rate(&path.down) / loaded - 1.0).abs() < 0.005, "{name}");
            let base = (path.down.delay.low + path.down.delay.high).as_secs_f64();
            assert!((base + queue(&path.down) - 2.0).abs() < 0.005 * 2.0, "{name}: {base}");
        }
    }

    /// 004 sVI-B: 1.4 s and 50 ms on average, and 6.27 Mbit/s from its Table I.
    #[test]
    fn paths_of_004_have_its_round_trips_under_load() {
        let slow = path("2g");
        let base = (slow.down.delay.low + slow.up.delay.low).as_secs_f64();
        assert!((7.0 / 9.0 * (base + queue(&slow.down)) - 1.4).abs() < 0.001);
        let hotspot = path("nornet-wlan");
        let base = (hotspot.down.delay.low + hotspot.up.delay.low).as_secs_f64();
        assert_eq!(base, 0.05);
        let Loss::Random(loss) = hotspot.down.loss else { panic!("{:?}", hotspot.down.loss) };
        let goodput = 1448.0 * 8.0 / base * (1.5 / loss.low).sqrt();
        let of_table_1 = 32.0 * 1024.0 * 1024.0 * 8.0 / 40.4 / 1.06;
        assert!((goodput / of_table_1 - 1.0).abs() < 0.02, "{goodput} and {of_table_1}");
    }

    /// Huston 2024: one change of satellites every 15 s, 1 % of the packets lost.
    #[test]
    fn starlink_loses_in_bursts_every_15_s() {
        let starlink = path("starlink");
        for link in [&starlink.down, &starlink.up] {
            let Loss::GilbertElliott { p, r, one_minus_h, one_minus_k } = link.loss else {
                panic!("{:?}", link.loss)
            };
            let step = 1500.0 * 8.0 / rate(link);
            let (good, bad) = (step / p, step / r);
            assert!((good + bad - 15.0).abs() < 0.15, "{good} s and {bad} s");
            let lost = one_minus_h * bad / (good + bad);
            assert!((lost - 0.01).abs() < 0.0002 && one_minus_k == 0.0, "{lost}");
        }
    }

    #[test]
    fn upper_case_and_other_names_are_understood() {
        for (given, own) in
            [("WLAN", "wlan"), ("Wi-Fi", "wlan"), ("4G", "lte"), ("3G-002", "3g-002")]
        {
            assert_eq!(Profile::find(given).unwrap().name, own);
        }
    }

    #[test]
    fn testbed_names_its_paths() {
        for name in ["nornet", "MONROE"] {
            let help = Profile::find(name).unwrap_err().help;
            let site = name.to_lowercase();
            assert!(help.starts_with(&format!("its paths are {site}-wlan, {site}-3g;")), "{help}");
        }
    }

    #[test]
    fn misspelt_profile_names_the_nearest() {
        let refusal = Profile::find("wlna").unwrap_err();
        assert!(refusal.help.contains("did you mean `wlan`"), "{}", refusal.help);
    }
}
