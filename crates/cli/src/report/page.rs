//! The texts of the page: verdict, table, inputs, provenance. `charts` has the figures.

use super::{Sheet, charts, failover, figure, palette, sharing, tables, why};
use crate::table::{protocols, timed_traffic};
use lab::results::GENERATOR;
use lab::{Scenario, describe_traffic};
use std::fmt::Write;

pub(super) const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
.verdict{font-size:1.15rem;border-left:.4rem solid #0072b2;background:#f0f6fa;padding:.8rem 1rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .45rem;border-bottom:1px solid #ddd;white-space:nowrap}
th{vertical-align:bottom}td{vertical-align:top}td code{white-space:normal}
td.n,th.n{text-align:right}td.result{white-space:normal;min-width:7rem}.scroll{overflow-x:auto}
pre{background:#f6f6f6;padding:.8rem;overflow-x:auto;font-size:.85rem}
.small{color:#555;font-size:.85rem}.figure{width:100%}
.warning{border-left:.4rem solid #e69f00;background:#fdf6e8;padding:.6rem 1rem}
.swatch{display:inline-block;width:1.2em;font-style:normal}
.good{color:#00674c}.bad{color:#a63e00}.open{color:#555}
.hash{overflow-wrap:anywhere}h1,.verdict,p{overflow-wrap:break-word}summary{cursor:pointer}
select{max-width:100%}";

/// HTML of the page.
pub(crate) fn page(sheet: &Sheet<'_>) -> String {
    let scenario = sheet.scenario;
    let title = scenario
        .about
        .title
        .clone()
        .unwrap_or_else(|| describe_traffic(&scenario.traffic, scenario.ends.reverse));
    let mut page = Page { text: String::new() };
    page.line("<!doctype html>");
    page.line("<html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.line(&format!("<meta name={GENERATOR} {}\">", env!("CARGO_PKG_VERSION")));
    page.line("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    page.line(&format!("<title>{}</title><style>{STYLE}</style></head><body>", escaped(&title)));
    page.line(&format!("<h1>{}</h1>", escaped(&title)));
    for note in sheet.notes {
        page.line(&format!("<p class=\"warning\">Note: {}.</p>", escaped(note)));
    }
    opening(&mut page, sheet);
    for text in [&scenario.about.description, &scenario.about.source].into_iter().flatten() {
        page.line(&format!("<p class=\"small\">{}</p>", escaped(text)));
    }
    page.line(&figure::scripts());
    for figure in charts::figures(sheet) {
        page.line(&figure.html());
    }
    page.line("<h2>Resolved paths</h2>");
    paths(&mut page, scenario);
    page.line("<h2>Reproduce this run</h2>");
    rerun(&mut page, sheet);
    page.line("</body></html>");
    page.text
}

/// Verdict and tables; for a single repetition, only its numbers.
fn opening(page: &mut Page, sheet: &Sheet<'_>) {
    if let Some(number) = sheet.repetition {
        page.line(&format!("<p>{}</p>", escaped(&summary_line(sheet))));
        page.line(&format!("<h2>Repetition {number}</h2>"));
        tables::repetition(page, sheet);
        why::why(page, sheet);
        page.line(
            "<p class=\"small\">A single run shows no variation; <code>anabranch compare</code> \
             repeats it and gives a verdict.</p>",
        );
        return;
    }
    let verdict = sheet.report.verdict.trim_start_matches("Verdict: ");
    let verdict = escaped(verdict);
    page.line(&format!("<p class=\"verdict\"><strong>Verdict:</strong> {verdict}</p>"));
    page.line(&format!("<p>{}</p>", escaped(&summary_line(sheet))));
    page.line("<h2>Result</h2>");
    tables::results(page, sheet);
    failover::table(page, sheet);
    sharing::table(page, sheet);
    why::why(page, sheet);
    tables::pairs(page, sheet);
    tables::quantiles(page, sheet);
}

/// An unfinished page.
pub(super) struct Page {
    text: String,
}

impl Page {
    pub(super) fn line(&mut self, content: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{content}");
    }
}

fn summary_line(sheet: &Sheet<'_>) -> String {
    let Sheet { scenario, report, .. } = sheet;
    let runs = report.variants.first().map_or(0, |variant| variant.n);
    let stopped = if report.interrupted { ", interrupted" } else { "" };
    let runs = match sheet.repetition {
        Some(number) => format!("repetition {number}"),
        None if runs == 1 => format!("1 repetition{stopped}"),
        None => format!("{runs} repetitions{stopped}"),
    };
    format!(
        "{}; {}, sender {}, {runs}, seed {}.",
        timed_traffic(scenario),
        protocols(scenario),
        scenario.ends.profile.name(),
        scenario.seed,
    )
}

fn paths(page: &mut Page, scenario: &Scenario) {
    page.line("<div class=\"scroll\"><table>");
    for (index, path) in scenario.paths.iter().enumerate() {
        let (name, spec) = (escaped(&path.name), escaped(&path.to_string()));
        let swatch = tables::swatch(palette::of_path(index));
        page.line(&format!("<tr><th>{swatch}{name}</th><td><code>{spec}</code></td></tr>"));
    }
    let links = scenario.links.iter().map(|link| ("link", &link.name, link.to_string()));
    let flows = scenario.flows.iter().map(|flow| ("flow", &flow.name, flow.show(&scenario.paths)));
    for (what, name, spec) in links.chain(flows) {
        let (name, spec) = (escaped(name), escaped(&spec));
        page.line(&format!("<tr><th>{what} {name}</th><td><code>{spec}</code></td></tr>"));
    }
    page.line("</table></div>");
    for note in &scenario.notes {
        page.line(&format!("<p class=\"small\">{}</p>", escaped(note)));
    }
}

fn rerun(page: &mut Page, sheet: &Sheet<'_>) {
    let Sheet { toml, report, provenance, .. } = *sheet;
    // The path of the program is private.
    let words = provenance.command.iter().skip(1).map(|word| quoted(word));
    let words: Vec<String> = std::iter::once("anabranch".to_owned()).chain(words).collect();
    page.line(&format!("<pre>{}</pre>", escaped(&words.join(" "))));
    page.line("<p>or, with the file below as <code>scenario.toml</code>:</p>");
    let again = match sheet.repetition {
        Some(number) => format!("anabranch run scenario.toml --series --run {number}"),
        None => "anabranch compare scenario.toml".to_owned(),
    };
    page.line(&format!("<pre>{again}</pre>"));
    page.line(&format!("<pre>{}</pre>", escaped(toml)));
    page.line(&format!(
        "<p class=\"small\">anabranch {}; run on {}. Result hash, which does not depend on the \
         machine or the number of threads: <code class=\"hash\">{}</code></p>",
        escaped(&provenance.version),
        utc(provenance.started),
        report.hash
    ));
}

/// Seconds since 1970 as date and time in UTC.
pub(crate) fn utc(seconds: f64) -> String {
    const DAY: u64 = 86_400;
    // Negative and invalid times become 1970.
    let seconds = seconds as u64;
    let (mut days, minutes) = (seconds / DAY, seconds % DAY / 60);
    let each = |year: u64, count: u64| year.is_multiple_of(count);
    let is_leap = |year: u64| each(year, 4) && (!each(year, 100) || each(year, 400));
    let mut year = 1970;
    while year < 9999 && days >= if is_leap(year) { 366 } else { 365 } {
        days -= if is_leap(year) { 366 } else { 365 };
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02} UTC", days + 1, minutes / 60, minutes % 60)
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

pub(super) fn escaped(text: &str) -> String {
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

    #[test]
    fn seconds_become_a_date() {
        assert_eq!(utc(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_782_399.0), "2000-02-28 23:59 UTC");
        assert_eq!(utc(951_782_400.0), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_767_225_599.0), "2025-12-31 23:59 UTC");
        assert_eq!(utc(-1.0), "1970-01-01 00:00 UTC");
    }
}
