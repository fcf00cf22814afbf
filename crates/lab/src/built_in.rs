//! Recordings that are part of the program, by name: those in `data/`, whose licences permit it.
//!
//! A name means the same in every working directory; a file of that name is `./NAME`.

/// A recording by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// What was recorded.
    pub about: &'static str,
    /// Origin and licence.
    pub source: &'static str,
    /// Content of the file.
    pub(crate) content: &'static str,
}

const SABRE: &str = "UMass-LIDS/sabre, BSD-2-Clause, (c) 2018 Kevin Spiteri";
const TRACES: &str = "confiwent/Real-world-bandwidth-traces, MIT, (c) 2023 Nuowen Kan";
const PAGEXRAY: &str = "sitespeedio/pagexray, MIT, (c) 2016 Peter Hedenskog, Tobias Lidskog";

const fn row(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    content: &'static str,
) -> BuiltIn {
    BuiltIn { name, about, source, content }
}

/// Recordings of links, for `trace NAME`.
// A constant would be in the program once for each place that reads it.
pub static BUILT_IN_TRACES: &[BuiltIn] = &[
    row(
        "lte-ghent-bus",
        "LTE in Ghent on a bus, 607 s, mean 27.6 Mbit/s",
        SABRE,
        include_str!("../../../data/links/lte-ghent/report_bus_0001.json"),
    ),
    row(
        "lte-ghent-train",
        "LTE in Ghent on a train, 506 s, mean 23.1 Mbit/s",
        SABRE,
        include_str!("../../../data/links/lte-ghent/report_train_0001.json"),
    ),
    row(
        "lte-ghent-foot",
        "LTE in Ghent on foot, 403 s, mean 41.6 Mbit/s",
        SABRE,
        include_str!("../../../data/links/lte-ghent/report_foot_0001.json"),
    ),
    row(
        "hsdpa-norway-bus",
        "HSDPA near Oslo on a bus, 156 s, mean 2.95 Mbit/s",
        TRACES,
        include_str!("../../../data/links/hsdpa-norway/norway_bus_1.tsv"),
    ),
    row(
        "hsdpa-norway-train",
        "HSDPA near Oslo on a train, 303 s, mean 1.23 Mbit/s",
        TRACES,
        include_str!("../../../data/links/hsdpa-norway/norway_train_1.tsv"),
    ),
    row(
        "hsdpa-norway-log",
        "HSDPA near Oslo, 587 s, mean 1.96 Mbit/s",
        SABRE,
        include_str!("../../../data/links/hsdpa-norway/report.2010-11-10_1424CET.json"),
    ),
];

/// Recordings of pages, for `web:NAME`.
pub static BUILT_IN_PAGES: &[BuiltIn] = &[row(
    "wikipedia-2015",
    "Wikipedia's main page as recorded in 2015, 32 objects, 315 kB",
    PAGEXRAY,
    include_str!("../../../data/web/en.wikipedia.org-spdy-wpt.har"),
)];

/// The recording of a link of that name.
pub(crate) fn trace(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN_TRACES.iter().find(|known| known.name == name)
}

/// The recording of a page of that name.
pub(crate) fn page(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN_PAGES.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options};
    use traffic::Traffic;

    #[test]
    fn recordings_by_name_are_read_and_written_by_name() {
        for built_in in BUILT_IN_TRACES {
            let options = Options::default()
                .with(Key::Path, &format!("a=trace {} delay 9ms", built_in.name))
                .with(Key::Traffic, "web:wikipedia-2015");
            let scenario = options.resolve().unwrap();
            assert_eq!(scenario.inputs(), [], "nothing needs to be copied");
            let toml = scenario.to_toml();
            assert!(toml.contains(&format!("trace \"{}\" ", built_in.name)), "{toml}");
            assert!(toml.contains("web:wikipedia-2015"), "{toml}");
            let mean = scenario.paths[0].notes[0].rsplit("mean ").next().unwrap();
            let listed = built_in.about.rsplit("mean ").next().unwrap();
            let number = |text: &str| text.split(' ').next().unwrap().parse::<f64>().unwrap();
            let seconds = built_in.about.split(", ").nth(1).unwrap();
            let note = &scenario.paths[0].notes[0];
            assert!(note.contains(&format!("; {seconds}, ")), "{seconds} {note}");
            assert!((number(mean) - number(listed)).abs() < 0.051, "{mean} {listed}");
        }
    }

    #[test]
    fn names_win_over_files() {
        let (one, other) = ("./wikipedia-2015", "./lte-ghent-bus");
        let options = Options::default().with(Key::Path, "a=rate 5mbit");
        let named = options.clone().with(Key::Traffic, "web:wikipedia-2015").resolve().unwrap();
        assert!(matches!(&named.traffic, Traffic::Web(web) if web.page.objects().len() == 32));
        assert!(options.with(Key::Traffic, &format!("web:{one}")).resolve().is_err());
        let file = Options::default().with(Key::Path, &format!("a=trace {other}"));
        assert!(file.with(Key::Traffic, "bulk:1MiB").resolve().is_err());
    }
}
