//! The words of the page: verdict, table, inputs, provenance. Figures are `charts`'.

use super::{Sheet, charts, figure};
use crate::table::protocols;
use lab::results::Provenance;
use lab::{Class, Report, Scale, Scenario, Summary, describe_traffic, percent, scale};
use std::fmt::Write;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
.verdict{font-size:1.15rem;border-left:.4rem solid #0072b2;background:#f0f6fa;padding:.8rem 1rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd}
td.n,th.n{text-align:right}.scroll{overflow-x:auto}
pre{background:#f6f6f6;padding:.8rem;overflow-x:auto;font-size:.85rem}
.small{color:#555;font-size:.85rem}.figure{width:100%}";

/// The page.
pub fn page(sheet: &Sheet<'_>) -> String {
    let Sheet { scenario, report, provenance, .. } = *sheet;
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
    page.line(&figure::scripts());
    for figure in charts::figures(sheet) {
        page.line(&figure.html());
    }
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
    // Where the program lies is nobody else's business.
    let words = provenance.command.iter().skip(1).map(|word| quoted(word));
    let words: Vec<String> = std::iter::once("anabranch".to_owned()).chain(words).collect();
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

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_users_cannot_become_markup() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
        assert_eq!(quoted("a b'c"), "'a b'\\''c'");
        assert_eq!(quoted("--runs"), "--runs");
    }
}
