//! The report: one self-contained page. Verdict first, then the table, a plot of the intervals,
//! and how to run exactly this again.
//!
//! No script, no font, no picture from elsewhere: the file opens offline and for ever.

use crate::table::protocols;
use lab::results::Provenance;
use lab::{Class, Report, Scale, Scenario, Summary, describe_traffic, percent, scale};
use std::fmt::Write;

/// Okabe and Ito's palette, told apart by colour-blind readers too; one colour a path and
/// one for all of them together.
const PALETTE: [&str; 7] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#000000"];

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
.verdict{font-size:1.15rem;border-left:.4rem solid #0072b2;background:#f0f6fa;padding:.8rem 1rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd}
td.n,th.n{text-align:right}.scroll{overflow-x:auto}
pre{background:#f6f6f6;padding:.8rem;overflow-x:auto;font-size:.85rem}
.small{color:#555;font-size:.85rem}svg{width:100%;height:auto}";

/// The page.
pub fn page(scenario: &Scenario, report: &Report, provenance: &Provenance) -> String {
    let title = scenario
        .title
        .clone()
        .unwrap_or_else(|| describe_traffic(&scenario.traffic, scenario.reverse));
    let verdict = report.verdict.trim_start_matches("Verdict: ");
    let mut page = Page { text: String::new() };
    page.line("<!doctype html>");
    page.line("<html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.line("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    page.line(&format!("<title>{}</title><style>{STYLE}</style></head><body>", escaped(&title)));
    page.line(&format!("<h1>{}</h1>", escaped(&title)));
    page.line(&format!("<p class=\"verdict\">{}</p>", escaped(verdict)));
    page.line(&format!("<p>{}</p>", escaped(&summary_line(scenario, report))));
    page.line("<h2>Result</h2>");
    table(&mut page, report);
    page.line("<h2>Means with 95 % intervals</h2>");
    page.line(&plot(scenario, report));
    page.line("<h2>Paths as understood</h2>");
    paths(&mut page, scenario);
    page.line("<h2>Run exactly this again</h2>");
    rerun(&mut page, scenario, report, provenance);
    page.line("</body></html>");
    page.text
}

struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, content: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{content}");
    }
}

fn summary_line(scenario: &Scenario, report: &Report) -> String {
    let runs = report.variants.first().map_or(0, |variant| variant.n);
    let stopped = if report.interrupted { ", interrupted" } else { "" };
    format!(
        "{}; {}, sender {}, {runs} repetitions{stopped}, seed {}.",
        describe_traffic(&scenario.traffic, scenario.reverse),
        protocols(scenario),
        scenario.profile.name(),
        scenario.seed,
    )
}

fn table(page: &mut Page, report: &Report) {
    let scale = scale(report.metric, &report.variants);
    let name = report.metric.name().replace('_', " ");
    page.line("<div class=\"scroll\"><table><tr><th>variant</th>");
    page.line(&format!("<th class=\"n\">mean {name} [{}]</th><th>95 % interval</th>", scale.unit));
    page.line("<th class=\"n\">median</th><th class=\"n\">difference</th>");
    page.line("<th>95 % interval, paired</th><th>sent first on</th><th>result</th></tr>");
    for summary in &report.variants {
        page.line(&row(summary, &scale));
    }
    page.line("</table></div>");
    if let Some(baseline) = &report.baseline {
        page.line(&format!(
            "<p class=\"small\">Differences to {}. Intervals by Student t; results corrected for \
             the number of comparisons (Holm).</p>",
            escaped(baseline)
        ));
    }
}

fn row(summary: &Summary, scale: &Scale) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| scale.number(v));
    let certainty = match summary.mean_interval {
        _ if summary.deterministic => "deterministic".to_owned(),
        Some(interval) => scale.interval(interval),
        None => "-".to_owned(),
    };
    let (difference, interval) = summary.difference.as_ref().map_or_else(
        || (String::new(), String::new()),
        |d| {
            let share = d.relative.map_or(String::new(), |share| format!(" ({})", percent(share)));
            let interval = d.interval.map_or(String::new(), |i| scale.interval(i));
            (format!("{}{share}", scale.signed(d.mean)), interval)
        },
    );
    let result = match (summary.class, &summary.difference) {
        (Some(class @ (Class::PaysOff | Class::Hurts)), Some(difference)) => {
            format!("{}, {}", class.name(), difference.magnitude())
        }
        (Some(class), _) => class.name().to_owned(),
        (None, _) => format!("no verdict: {}", summary.disqualification()),
    };
    format!(
        "<tr><td>{}</td><td class=\"n\">{}</td><td>{certainty}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{difference}</td><td>{interval}</td><td>{}</td><td>{}</td></tr>",
        escaped(&summary.variant.name),
        number(summary.mean),
        number(summary.median),
        escaped(&share(summary)),
        escaped(&result),
    )
}

/// The paths that carried payload first, with their shares of it.
fn share(summary: &Summary) -> String {
    let used = summary.share.iter().filter(|(_, share)| *share > 0.0);
    let words = used.map(|(name, share)| format!("{name} {:.0} %", share * 100.0));
    words.collect::<Vec<_>>().join(", ")
}

/// The drawing area: left of it stand the names, below it the axis.
const LEFT: f64 = 190.0;
const RIGHT: f64 = 690.0;
const ROW: f64 = 30.0;

/// Every variant's mean and interval on one axis that begins at zero.
fn plot(scenario: &Scenario, report: &Report) -> String {
    let scale = scale(report.metric, &report.variants);
    let shown: Vec<&Summary> = report.variants.iter().filter(|v| v.mean.is_some()).collect();
    let end = |v: &&Summary| v.mean_interval.map(|i| i.high).or(v.mean).unwrap_or(0.0);
    let top = shown.iter().map(end).fold(0.0, f64::max);
    let step = nice_step(top / 5.0);
    let last = if step > 0.0 { (top / step).ceil().max(1.0) * step } else { 1.0 };
    let x = |value: f64| LEFT + (RIGHT - LEFT) * (value / last).clamp(0.0, 1.0);
    let height = ROW * shown.len() as f64 + 50.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 720 {height}\" role=\"img\" font-family=\"system-ui,sans-serif\" \
         font-size=\"13\"><title>Means with 95 % intervals</title>"
    );
    let bottom = ROW * shown.len() as f64 + 10.0;
    let ticks = if step > 0.0 { (last / step + 0.5) as u32 } else { 0 };
    for tick in 0..=ticks {
        let value = f64::from(tick) * step;
        let at = x(value);
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"5\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
            bottom + 16.0,
            scale.number(value).trim_end_matches('0').trim_end_matches('.'),
        );
    }
    for (index, summary) in shown.iter().enumerate() {
        let y = ROW * index as f64 + 22.0;
        svg.push_str(&mark(scenario, summary, y, &x));
    }
    let unit = format!("{} [{}]", report.metric.name().replace('_', " "), scale.unit);
    let middle = f64::midpoint(LEFT, RIGHT);
    let _ = write!(
        svg,
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" fill=\"#222\">{unit}</text></svg>",
        bottom + 36.0
    );
    svg
}

/// One variant: its name, a bar for the interval, a dot for the mean.
fn mark(scenario: &Scenario, summary: &Summary, y: f64, x: &dyn Fn(f64) -> f64) -> String {
    // Those over several paths have the colour after the last path's.
    let path = summary.variant.single_path().unwrap_or(scenario.paths.len());
    let colour = PALETTE[path % PALETTE.len()];
    let mean = x(summary.mean.unwrap_or(0.0));
    let (low, high) =
        summary.mean_interval.map_or((mean, mean), |interval| (x(interval.low), x(interval.high)));
    format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#222\">{}</text>\
         <path d=\"M{low:.1} {y}H{high:.1}M{low:.1} {}v12M{high:.1} {}v12\" fill=\"none\" \
         stroke=\"{colour}\" stroke-width=\"2\"/>\
         <circle cx=\"{mean:.1}\" cy=\"{y}\" r=\"3.5\" fill=\"{colour}\"/>",
        LEFT - 10.0,
        y + 4.0,
        escaped(&summary.variant.name),
        y - 6.0,
        y - 6.0,
    )
}

/// The least of 1, 2 and 5 times a power of ten that is not below `wanted`.
fn nice_step(wanted: f64) -> f64 {
    if !(wanted.is_finite() && wanted > 0.0) {
        return 0.0;
    }
    let mut power = 1e-12;
    while power * 10.0 <= wanted {
        power *= 10.0;
    }
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= wanted);
    factor.unwrap_or(10.0) * power
}

fn paths(page: &mut Page, scenario: &Scenario) {
    page.line("<div class=\"scroll\"><table>");
    for path in &scenario.paths {
        let (name, spec) = (escaped(&path.name), escaped(&path.to_string()));
        page.line(&format!("<tr><th>{name}</th><td><code>{spec}</code></td></tr>"));
    }
    page.line("</table></div>");
    for note in &scenario.notes {
        page.line(&format!("<p class=\"small\">{}</p>", escaped(note)));
    }
}

fn rerun(page: &mut Page, scenario: &Scenario, report: &Report, provenance: &Provenance) {
    let words: Vec<String> = provenance.command.iter().map(|word| quoted(word)).collect();
    page.line(&format!("<pre>{}</pre>", escaped(&words.join(" "))));
    page.line("<p>or, with the file below as <code>scenario.toml</code>:</p>");
    page.line("<pre>anabranch compare scenario.toml</pre>");
    page.line(&format!("<pre>{}</pre>", escaped(&scenario.to_toml())));
    page.line(&format!(
        "<p class=\"small\">anabranch {}; the result's hash, which does not depend on the machine \
         or the number of threads: <code>{}</code></p>",
        escaped(&provenance.version),
        report.hash
    ));
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_the_axis_are_round() {
        assert!((nice_step(0.7) - 1.0).abs() < 1e-9);
        assert!((nice_step(1.3) - 2.0).abs() < 1e-9);
        assert!((nice_step(0.03) - 0.05).abs() < 1e-9);
        assert_eq!(nice_step(0.0), 0.0);
        assert_eq!(nice_step(f64::NAN), 0.0);
    }

    #[test]
    fn text_from_users_cannot_become_markup() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
        assert_eq!(quoted("a b'c"), "'a b'\\''c'");
        assert_eq!(quoted("--runs"), "--runs");
    }
}
