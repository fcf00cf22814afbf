//! Delays of single messages and objects: cumulative distribution, and its complement on a
//! logarithmic axis, of each variant and of what arrived over each path.

use super::Sheet;
use super::charts::{axis, axis_name, axis_of, layout};
use super::draw::rounded;
use super::figure::Figure;
use super::palette;
use lab::Scale;
use lab::delays::VariantDelays;
use lab::scenario::Variant;
use serde_json::{Value, json};

/// Points of a distribution: evenly spaced ranks, and ranks whose distance from the end doubles.
const EVEN: usize = 80;

/// A distribution: delays and the share of all messages that are not larger.
struct Distribution {
    /// Sorted delays in seconds.
    sorted: Vec<f64>,
    /// Number of messages, including those that did not arrive.
    all: usize,
}

impl Distribution {
    /// That of a variant; with a path, of the messages whose last byte it delivered.
    fn of(delays: &VariantDelays, path: Option<u16>) -> Distribution {
        let over = delays.delays.iter().filter(|one| path.is_none() || one.last_path == path);
        let mut sorted: Vec<f64> =
            over.clone().filter_map(|one| one.delay).map(|delay| delay.as_secs_f64()).collect();
        sorted.sort_by(f64::total_cmp);
        Distribution { sorted, all: over.count() }
    }

    /// Ranks to draw: many enough for both axes.
    fn ranks(&self) -> Vec<usize> {
        let n = self.sorted.len();
        let even = (0..EVEN).map(|place| place * n.saturating_sub(1) / (EVEN - 1));
        let tail = std::iter::successors(Some(1usize), |from| Some((from * 5 / 4).max(from + 1)));
        let tail = tail.take_while(|from| *from <= n).map(|from| n - from);
        let mut ranks: Vec<usize> = even.chain(tail).filter(|rank| *rank < n).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Delays, shares at or below them, and shares at or above them.
    fn points(&self, scale: &Scale) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let all = self.all.max(1) as f64;
        let point = |rank: usize| {
            let (below, above) = ((rank + 1) as f64 / all, (self.all - rank) as f64 / all);
            (rounded(scale.shown(self.sorted[rank])), rounded(below), rounded(above))
        };
        let points = self.ranks().into_iter().map(point);
        points.fold((Vec::new(), Vec::new(), Vec::new()), |(mut x, mut y, mut z), point| {
            x.push(point.0);
            y.push(point.1);
            z.push(point.2);
            (x, y, z)
        })
    }
}

/// The figure; without traces for traffic without messages.
pub(super) fn delays(sheet: &Sheet<'_>) -> Figure {
    let all = sheet.delays.of_study(sheet.study);
    let arrived = || all.iter().flat_map(|of| &of.delays).filter_map(|one| one.delay);
    let largest = arrived().map(|delay| delay.as_secs_f64()).fold(0.0, f64::max);
    let scale = Scale::of("s", largest / 100.0);
    let seconds = arrived().map(|delay| scale.shown(delay.as_secs_f64()));
    let values: Vec<f64> = seconds.filter(|delay| *delay > 0.0).collect();
    let sets: Vec<(String, Vec<Value>)> = choices(sheet, &all)
        .into_iter()
        .map(|(name, path)| (name, traces(sheet, &all, path, &scale)))
        .filter(|(_, traces)| !traces.is_empty())
        .collect();
    let what = sheet.scenario.traffic.metric().info().parts.trim_end_matches('s');
    Figure {
        id: "delays".to_owned(),
        title: format!("Delay of every {what}"),
        caption: caption(what, &all),
        height: 560,
        choice: "paths",
        sets,
        layout: panels(&format!("{what} delay [{}]", scale.unit), &values),
    }
}

/// All messages, and those of each path if the paths of a multi-path variant are known.
fn choices(sheet: &Sheet<'_>, all: &[VariantDelays]) -> Vec<(String, Option<u16>)> {
    let is_together = |of: &&VariantDelays| {
        let runs = sheet.study.variants.iter().find(|runs| runs.variant.name == of.variant);
        runs.is_some_and(|runs| runs.variant.single_path().is_none())
    };
    let together: Vec<&VariantDelays> = all.iter().filter(is_together).collect();
    let is_known = |path: &u16| {
        together.iter().flat_map(|of| &of.delays).any(|one| one.last_path == Some(*path))
    };
    let paths = sheet.scenario.paths.iter().zip(0u16..);
    let paths: Vec<(String, Option<u16>)> = paths
        .filter(|(_, number)| is_known(number))
        .map(|(path, number)| (format!("last byte over {}", path.name), Some(number)))
        .collect();
    let paths = if paths.len() > 1 { paths } else { Vec::new() };
    std::iter::once(("all".to_owned(), None)).chain(paths).collect()
}

fn traces(
    sheet: &Sheet<'_>,
    all: &[VariantDelays],
    path: Option<u16>,
    scale: &Scale,
) -> Vec<Value> {
    let of = |delays: &VariantDelays| {
        let runs = sheet.study.variants.iter().find(|runs| runs.variant.name == delays.variant)?;
        let distribution = Distribution::of(delays, path);
        let points = (!distribution.sorted.is_empty()).then(|| distribution.points(scale));
        points.map(|points| lines(sheet, &runs.variant, points))
    };
    all.iter().filter_map(of).flatten().collect()
}

/// The lines of a variant in both panels.
fn lines(
    sheet: &Sheet<'_>,
    variant: &Variant,
    (x, below, above): (Vec<f64>, Vec<f64>, Vec<f64>),
) -> [Value; 2] {
    let look = palette::of_variant(sheet.scenario, variant);
    let line = |y: Vec<f64>, panel: usize, shape: &str| {
        json!({
            "type": "scatter", "mode": "lines+markers", "x": x, "y": y, "xaxis": "x",
            "yaxis": axis_name("y", panel), "name": variant.name, "legendgroup": variant.name,
            "showlegend": panel == 0,
            // Few markers: colour and dash alone do not distinguish all variants.
            "marker": {"color": look.colour, "symbol": look.symbol(), "size": 7, "maxdisplayed": 9},
            "line": {"shape": shape, "color": look.colour, "dash": look.dash.name(), "width": 2},
        })
    };
    [line(below, 0, "hv"), line(above, 1, "vh")]
}

fn panels(title: &str, values: &[f64]) -> Value {
    let mut x = axis_of(title, values, true);
    x["anchor"] = json!("y2");
    let mut layout = layout(&x, &Value::Null);
    layout["grid"] = json!({"rows": 2, "columns": 1, "pattern": "coupled", "ygap": 0.1});
    let mut share = axis("share at or below");
    share["range"] = json!([0, 1.02]);
    layout["yaxis"] = share;
    let mut tail = axis("share at or above");
    tail["type"] = json!("log");
    tail["dtick"] = json!(1);
    tail["exponentformat"] = json!("power");
    layout["yaxis2"] = tail;
    layout
}

fn caption(what: &str, all: &[VariantDelays]) -> String {
    let missing: usize = all.iter().map(VariantDelays::missing).sum();
    let missing = match missing {
        0 => String::new(),
        number => format!(" {number} did not arrive and count as larger than every delay."),
    };
    let kept: usize = all.iter().map(|of| of.delays.len()).sum();
    let total: u64 = all.iter().map(|of| of.total).sum();
    let sample = match kept as u64 == total {
        true => format!("{kept} {what}s"),
        false => format!("A sample of {kept} of {total} {what}s"),
    };
    let kept = match kept as u64 == total {
        true => "delays.parquet has all of them",
        false => "delays.parquet has all of the sample",
    };
    format!(
        "{sample} of all repetitions. Top: share with at most this delay; bottom: share with at \
         least this delay on a logarithmic axis, which shows the late ones. Lines pass through \
         {EVEN} evenly spaced ranks and more of the largest delays; {kept}.{missing}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_delays_are_all_drawn_and_others_evenly() {
        let sorted: Vec<f64> = (0..10_000).map(f64::from).collect();
        let ranks = Distribution { sorted, all: 10_000 }.ranks();
        assert!(ranks.len() < EVEN + 50, "{}", ranks.len());
        assert!((9_995..10_000).all(|rank| ranks.contains(&rank)));
        assert_eq!(ranks[0], 0);
    }

    #[test]
    fn messages_that_did_not_arrive_are_above_every_delay() {
        let of = Distribution { sorted: vec![1.0, 2.0], all: 4 };
        let (x, below, above) = of.points(&Scale::of("s", 1.0));
        assert_eq!((x, below, above), (vec![1.0, 2.0], vec![0.25, 0.5], vec![1.0, 0.75]));
        let none = Distribution { sorted: Vec::new(), all: 0 };
        assert_eq!(none.ranks(), Vec::<usize>::new());
    }
}
