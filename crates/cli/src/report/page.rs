//! The page: verdict, what was compared, result, why, figures, details, terms, in this order.
//! `charts` has the figures, `tables` the tables.

use super::{Sheet, charts, failover, figure, notes, palette, sharing, tables, terms, why};
use crate::meanings::hosts;
use crate::table::{protocols, timed_traffic};
use lab::comparison::Class;
use lab::results::GENERATOR;
use lab::{Scenario, describe_traffic};
use std::fmt::Write;

pub(super) const STYLE: &str = include_str!("page.css");

/// HTML of the page.
pub(crate) fn page(sheet: &Sheet<'_>) -> String {
    let scenario = sheet.scenario;
    let title = scenario
        .about
        .title
        .clone()
        .unwrap_or_else(|| describe_traffic(&scenario.traffic, scenario.ends.reverse));
    let mut page = Page { text: head(&title) };
    if let Some(description) = &scenario.about.description {
        page.line(&format!("<p>{}</p>", escaped(description)));
    }
    for note in sheet.notes {
        let note = escaped(note.trim_end_matches('.'));
        page.line(&format!("<p class=\"warning\">Note: {note}.</p>"));
    }
    match sheet.repetition {
        Some(number) => repetition(&mut page, sheet, number),
        None => comparison(&mut page, sheet),
    }
    page.line("<h2 id=\"rerun\">Reproduce this run</h2>");
    rerun(&mut page, sheet);
    terms::list(&mut page, sheet);
    page.line("</body></html>");
    page.text
}

/// The parts of a comparison.
fn comparison(page: &mut Page, sheet: &Sheet<'_>) {
    let verdict = sheet.report.verdict.trim_start_matches("Verdict: ");
    page.line(&format!(
        "<p class=\"verdict {}\"><strong>Verdict:</strong> {}</p>",
        sheet.report.answer.class.map_or("none", Class::name),
        escaped(verdict).replace(" %", "&nbsp;%")
    ));
    advice(page, &sheet.report.advice);
    contents(page, sheet);
    compared(page, sheet);
    page.line("<h2 id=\"result\">Result</h2>");
    tables::results(page, sheet);
    notes::notes(page, sheet);
    failover::table(page, sheet);
    sharing::table(page, sheet);
    why::why(page, sheet);
    figures(page, sheet);
    page.line("<h2 id=\"details\">Details</h2>");
    tables::unpaired(page, sheet);
    tables::quantiles(page, sheet);
    tables::pairs(page, sheet);
}

/// What to do; indented lines are commands.
fn advice(page: &mut Page, lines: &[String]) {
    for lines in lines.chunk_by(|a, b| a.starts_with(' ') == b.starts_with(' ')) {
        if lines[0].starts_with(' ') {
            let commands: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
            page.line(&format!("<pre>{}</pre>", escaped(&commands.join("\n"))));
        } else {
            page.line(&format!("<p>{}</p>", with_code(&escaped(&lines.join(" ")))));
        }
    }
}

/// The parts of a page on a single repetition.
fn repetition(page: &mut Page, sheet: &Sheet<'_>, number: u64) {
    contents(page, sheet);
    compared(page, sheet);
    page.line(&format!("<h2 id=\"result\">Repetition {number}</h2>"));
    tables::repetition(page, sheet);
    page.line(
        "<p class=\"small\">A single run shows no variation; <code>anabranch compare</code> \
         repeats it and gives a verdict.</p>",
    );
    notes::notes(page, sheet);
    why::why(page, sheet);
    figures(page, sheet);
}

/// Links to the parts that the page has.
fn contents(page: &mut Page, sheet: &Sheet<'_>) {
    let parts = [
        ("compared", "What was compared"),
        ("result", "Result"),
        ("why-not", "Why"),
        ("figures", "Figures"),
        ("rerun", "Reproduce"),
        ("terms", "Terms"),
    ];
    let parts = parts.into_iter().filter(|(id, _)| *id != "why-not" || why::is_known(sheet));
    let links = parts.map(|(id, name)| format!("<a href=\"#{id}\">{name}</a>"));
    page.line(&format!("<nav>{}</nav>", links.collect::<Vec<_>>().join(" ")));
}

/// Traffic and paths.
fn compared(page: &mut Page, sheet: &Sheet<'_>) {
    page.line("<h2 id=\"compared\">What was compared</h2>");
    page.line(&format!("<p>{}</p>", summary_line(sheet)));
    paths(page, sheet.scenario);
    if let Some(source) = &sheet.scenario.about.source {
        page.line(&format!("<p class=\"small\">Sources: {}</p>", escaped(source)));
    }
}

fn figures(page: &mut Page, sheet: &Sheet<'_>) {
    page.line("<h2 id=\"figures\">Figures</h2>");
    page.line("<noscript><p>The figures need JavaScript.</p></noscript>");
    page.line(&figure::scripts());
    for figure in charts::figures(sheet) {
        page.line(&figure.html());
    }
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
    let runs = || report.variants.iter().map(|variant| variant.n);
    let (fewest, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
    let stopped = if report.interrupted { ", interrupted" } else { "" };
    let runs = match sheet.repetition {
        Some(number) => format!("repetition {number}"),
        None if most == 1 => format!("1 repetition{stopped}"),
        None if fewest < most => format!("{fewest} to {most} repetitions{stopped}"),
        None => format!("{most} repetitions{stopped}"),
    };
    format!(
        "{}; {}, {} {}, {runs}, {}.",
        escaped(&timed_traffic(scenario)),
        escaped(&protocols(scenario)),
        terms::term("hosts"),
        hosts(scenario, report),
        sheet.seeds(),
    )
}

fn paths(page: &mut Page, scenario: &Scenario) {
    page.line("<div class=\"scroll\"><table class=\"paths\">");
    for (index, path) in scenario.paths.iter().enumerate() {
        let (name, spec) = (escaped(&path.name), escaped(&path.to_string()));
        let swatch = palette::of_path(index).swatch();
        page.line(&format!("<tr><th>{swatch}{name}</th><td><code>{spec}</code></td></tr>"));
    }
    let links = scenario.links.iter().map(|link| ("link", &link.name, link.to_string()));
    let flows = scenario.flows.iter().map(|flow| ("flow", &flow.name, flow.show(&scenario.paths)));
    for (what, name, spec) in links.chain(flows) {
        let (name, spec) = (escaped(name), escaped(&spec));
        page.line(&format!("<tr><th>{what} {name}</th><td><code>{spec}</code></td></tr>"));
    }
    page.line("</table></div>");
}

fn rerun(page: &mut Page, sheet: &Sheet<'_>) {
    let Sheet { toml, report, provenance, .. } = *sheet;
    // The path of the program is private.
    let words = provenance.command.iter().skip(1).map(|word| quoted(word));
    let words: Vec<String> = std::iter::once("anabranch".to_owned()).chain(words).collect();
    // Lines break between words, not at hyphens.
    let words = words.iter().map(|word| format!("<span>{}</span>", escaped(word)));
    page.line(&format!("<pre>{}</pre>", words.collect::<Vec<_>>().join(" ")));
    if toml.is_empty() {
        page.line("<p>The scenario of each folder is its <code>scenario.toml</code>.</p>");
    } else {
        page.line("<p>or, with the file below as <code>scenario.toml</code>:</p>");
        let again = match sheet.repetition {
            Some(number) => format!("anabranch run scenario.toml --series --run {number}"),
            None => "anabranch compare scenario.toml".to_owned(),
        };
        page.line(&format!("<pre>{again}</pre>"));
        page.line(&format!("<pre>{}</pre>", escaped(toml)));
    }
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

/// Text between backticks as code.
fn with_code(text: &str) -> String {
    let part = |(place, part): (usize, &str)| match place % 2 {
        1 => format!("<code>{part}</code>"),
        _ => part.to_owned(),
    };
    text.split('`').enumerate().map(part).collect()
}

/// The beginning of a page with this title, up to its heading.
pub(super) fn head(title: &str) -> String {
    let (title, version) = (escaped(title), env!("CARGO_PKG_VERSION"));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name={GENERATOR} {version}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    )
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn text_from_users_cannot_become_markup() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
        assert_eq!(with_code("run `a b`, or `c`"), "run <code>a b</code>, or <code>c</code>");
        assert_eq!(quoted("a b'c"), "'a b'\\''c'");
        assert_eq!(quoted("--runs"), "--runs");
    }

    /// Values of the custom properties in the style of a theme.
    fn properties(style: &str) -> BTreeMap<&str, [f64; 3]> {
        let pairs = style.split(['{', ';', '}']).filter_map(|part| part.trim().split_once(':'));
        let colour = |value: &str| {
            let digits: Vec<char> = value.strip_prefix('#')?.chars().collect();
            let each = digits.len() / 3;
            let channel = |at: usize| {
                let digits: String = digits[at * each..(at + 1) * each].iter().collect();
                let value = u8::from_str_radix(&digits, 16).ok()?;
                Some(f64::from(if each == 1 { value * 17 } else { value }) / 255.0)
            };
            Some([channel(0)?, channel(1)?, channel(2)?])
        };
        pairs.filter_map(|(name, value)| Some((name, colour(value)?))).collect()
    }

    /// Contrast of two colours (WCAG 2.2).
    fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
        let luminance = |colour: [f64; 3]| {
            let linear = colour
                .map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05
        };
        let (a, b) = (luminance(a), luminance(b));
        a.max(b) / a.min(b)
    }

    #[test]
    fn text_has_enough_contrast_in_both_themes() {
        let (light, dark) = STYLE.split_once("@media (prefers-color-scheme:dark)").unwrap();
        let dark = dark.split("}}").next().unwrap();
        for theme in [light, dark] {
            let colours = properties(theme);
            let of = |name: &str| *colours.get(name).unwrap_or_else(|| panic!("{name}"));
            let mut pairs = vec![("--text", "--page"), ("--soft", "--page"), ("--text", "--bar")];
            pairs.extend([("--link", "--page"), ("--text", "--code"), ("--soft", "--none-box")]);
            for class in ["good", "bad", "same", "open"] {
                let (edge, boxed) = (format!("--{class}"), format!("--{class}-box"));
                assert!(contrast(of(&edge), of(&boxed)) >= 4.5, "{edge} on {boxed}");
                assert!(contrast(of(&edge), of("--page")) >= 4.5, "{edge} on the page");
                assert!(contrast(of("--text"), of(&boxed)) >= 4.5, "text on {boxed}");
            }
            for (text, ground) in pairs {
                assert!(contrast(of(text), of(ground)) >= 4.5, "{text} on {ground}");
            }
        }
    }

    /// Regression: printed tables lost the columns that do not fit, and figures were cut in two.
    #[test]
    fn style_of_print_hides_nothing() {
        let (_, print) = STYLE.split_once("@media print{").unwrap();
        assert!(print.contains(".scroll{overflow:visible}"), "{print}");
        let whole = print.split('}').find(|rule| rule.ends_with("{break-inside:avoid")).unwrap();
        assert!(whole.contains(".figure"), "{whole}");
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
