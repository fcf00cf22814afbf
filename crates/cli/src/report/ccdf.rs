//! Complementary distributions of round trips and of delays by reordering over all repetitions, on
//! logarithmic axes (001 Figs 12 and 13): with `--packet-metrics`.

use super::Sheet;
use super::charts::{axis, layout};
use super::draw::rounded;
use super::figure::Figure;
use super::palette;
use lab::VariantRuns;
use lab::run::{Ccdf, Counted};
use serde_json::{Value, json};

/// The shortest time that is drawn, in seconds: shorter ones are as good as none.
const SHORTEST: f64 = 1e-4;

/// The figure; without traces if packets were not measured.
pub(super) fn ccdf(sheet: &Sheet<'_>) -> Figure {
    let all: Vec<(&VariantRuns, Vec<Ccdf>)> =
        sheet.study.variants.iter().map(|runs| (runs, Ccdf::all_of(&runs.runs))).collect();
    let mut kinds: Vec<(Counted, Option<usize>)> =
        all.iter().flat_map(|(_, of)| of).map(|of| (of.of, of.path)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let traces = |kind: &(Counted, Option<usize>)| -> Vec<Value> {
        let of = |(runs, of): &(&VariantRuns, Vec<Ccdf>)| {
            let found = of.iter().find(|of| (of.of, of.path) == *kind)?;
            line(sheet, runs, found)
        };
        all.iter().filter_map(of).collect()
    };
    let sets: Vec<(String, Vec<Value>)> = kinds
        .iter()
        .map(|kind| (title(sheet, *kind), traces(kind)))
        .filter(|(_, traces)| !traces.is_empty())
        .collect();
    let mut x = axis("time [ms]");
    x["type"] = json!("log");
    let mut y = axis("share at or above");
    y["type"] = json!("log");
    y["dtick"] = json!(1);
    y["exponentformat"] = json!("power");
    Figure {
        id: "ccdf".to_owned(),
        title: "Round trips and order of packets".to_owned(),
        caption: format!(
            "Share of the samples of all finished repetitions that are at least as long: round \
             trips of a path by sample, delays by reordering by segment, delays from write to \
             read by byte. Shares of buckets of about 6 %, and below {:.1} ms only their sum; \
             ccdf.parquet has all of them.",
            SHORTEST * 1e3
        ),
        height: 440,
        choice: "what",
        sets,
        layout: layout(&x, &y),
    }
}

fn title(sheet: &Sheet<'_>, (of, path): (Counted, Option<usize>)) -> String {
    let path = path.and_then(|path| sheet.scenario.paths.get(path));
    path.map_or(of.words().to_owned(), |path| format!("{}, {}", of.words(), path.name))
}

fn line(sheet: &Sheet<'_>, runs: &VariantRuns, ccdf: &Ccdf) -> Option<Value> {
    let look = palette::of_variant(sheet.scenario, &runs.variant);
    let is_drawn = |(value, _): &&(f64, f64)| *value >= SHORTEST;
    let points = ccdf.points.iter().filter(is_drawn);
    let point = |(value, share): &(f64, f64)| (rounded(value * 1e3), rounded(*share));
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = points.map(point).unzip();
    // The line ends with the last bucket, in which its last share stays.
    x.push(rounded(ccdf.end * 1e3));
    y.push(*y.last()?);
    Some(json!({
        "type": "scatter", "mode": "lines+markers", "x": x, "y": y,
        "name": format!("{}, n = {}", runs.variant.name, ccdf.n),
        "line": {"shape": "hv", "color": look.colour, "dash": look.dash.name(), "width": 2},
        "marker": {"color": look.colour, "symbol": look.symbol(), "size": 7, "maxdisplayed": 9},
    }))
}
