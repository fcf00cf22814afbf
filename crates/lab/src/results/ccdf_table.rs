//! Complementary distributions of packets over all repetitions, with `--packet-metrics`, as Parquet
//! and CSV: one row for each point of a curve.

use super::columnar;
use super::columns::{Cell, Kind};
use super::csv::field;
use crate::run::Ccdf;
use crate::scenario::Scenario;
use crate::study::Study;
use crate::words::hex;
use parquet::errors::Result;

const COLUMNS: [(&str, Kind); 6] = [
    ("variant", Kind::Text),
    ("quantity", Kind::Text),
    ("path", Kind::Text),
    ("value_s", Kind::Number),
    ("at_or_above", Kind::Number),
    ("n", Kind::Whole),
];

/// The curves of a study.
pub(super) struct Curves(Vec<(String, Ccdf)>);

impl Curves {
    /// Those of every variant, in the order of the study.
    pub(super) fn of(study: &Study) -> Curves {
        let of = |variant: &crate::study::VariantRuns| {
            let name = variant.variant.name.clone();
            Ccdf::all_of(&variant.runs).into_iter().map(move |ccdf| (name.clone(), ccdf))
        };
        Curves(study.variants.iter().flat_map(of).collect())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of the Parquet file.
    pub(super) fn parquet(&self, scenario: &Scenario) -> Result<Vec<u8>> {
        let metadata = [
            ("schema", "1".to_owned()),
            ("study", hex(&scenario.study_key())),
            ("build", super::BUILD.to_owned()),
        ];
        columnar::file("ccdf", &COLUMNS, &metadata, |column| {
            self.rows()
                .map(move |(variant, ccdf, point)| cell(scenario, (variant, ccdf), point, column))
        })
    }

    /// Text of the CSV file.
    pub(super) fn csv(&self, scenario: &Scenario) -> String {
        let mut text = COLUMNS.map(|(name, _)| name).join(",") + "\r\n";
        for (variant, ccdf, point) in self.rows() {
            let shown = |column| match cell(scenario, (variant, ccdf), point, column) {
                Cell::Text(text) => field(&text),
                Cell::Whole(number) => number.to_string(),
                Cell::Number(number) => number.map_or(String::new(), |number| number.to_string()),
            };
            text.push_str(&(0..COLUMNS.len()).map(shown).collect::<Vec<_>>().join(","));
            text.push_str("\r\n");
        }
        text
    }

    fn rows(&self) -> impl Iterator<Item = (&str, &Ccdf, (f64, f64))> {
        let all = self.0.iter();
        all.flat_map(|(name, ccdf)| ccdf.points.iter().map(move |at| (name.as_str(), ccdf, *at)))
    }
}

/// Cells in the order of `COLUMNS`.
fn cell(
    scenario: &Scenario,
    (variant, ccdf): (&str, &Ccdf),
    (value, share): (f64, f64),
    column: usize,
) -> Cell {
    let path = || ccdf.path.and_then(|path| scenario.paths.get(path));
    match column {
        0 => Cell::Text(variant.to_owned()),
        1 => Cell::Text(ccdf.of.name().to_owned()),
        2 => Cell::Text(path().map(|path| path.name.clone()).unwrap_or_default()),
        3 => Cell::Number(Some(value)),
        4 => Cell::Number(Some(share)),
        _ => Cell::Whole(ccdf.n),
    }
}
