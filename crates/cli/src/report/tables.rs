//! The tables of the page: results, all pairs, quantiles; for a single repetition its numbers.

use super::Sheet;
use super::page::{Page, escaped};
use super::palette;
use super::terms::{self, CORRELATION, UNPAIRED, term, titled};
use crate::columns::{Column, Table};
use crate::table::{baselines, compared};
use crate::{metrics, packets};
use lab::comparison::{Class, Difference, Pair, Ratio};
use lab::run::Run;
use lab::scenario::Variant;
use lab::statistics::Interval;
use lab::{Scale, Summary, percent, scale};

/// Largest table that is open by default, in rows.
const MOST_ROWS: usize = 6;

/// Results of each variant.
pub(super) fn results(page: &mut Page, sheet: &Sheet<'_>) {
    let report = sheet.report;
    let scale = scale(report.metric, &report.variants);
    let (name, unit) = (report.metric.name().replace('_', " "), scale.unit);
    page.line(&format!(
        "<div class=\"scroll\"><table id=\"results\"><tr><th>{}</th>",
        term("variant")
    ));
    page.line(&format!("<th class=\"n\">mean {name} [{unit}]</th><th class=\"n\">median</th>"));
    let (difference, first, result) = (term("difference"), term("sent first on"), term("result"));
    page.line(&format!("<th class=\"n\">{difference}</th><th>{first}</th><th>{result}</th></tr>"));
    for summary in &report.variants {
        page.line(&row(sheet, summary, &scale));
    }
    page.line("</table></div>");
    let baseline = baselines(report).filter(|_| report.variants.len() > 1);
    let differences = || report.variants.iter().filter_map(|summary| summary.difference.as_ref());
    let paired = differences().all(|difference| difference.is_paired)
        && differences().any(|difference| difference.correlation.is_some());
    let paired = if paired { ", repetition by repetition" } else { "" };
    let baseline = baseline.map_or(String::new(), |baseline| {
        format!("Differences are from {}{paired}. ", escaped(&baseline))
    });
    page.line(&format!(
        "<p class=\"small\">{baseline}Below each value its 95 % interval; that of a difference \
         decides the result{}. <a href=\"#terms\">Terms</a> are explained at the end.</p>",
        match report.answer.family {
            0 | 1 => String::new(),
            family => format!(" and is corrected for {family} comparisons"),
        }
    ));
    metrics(page, sheet);
    ratios(page, sheet);
    packets(page, sheet);
}

/// Every number of the runs, judged by itself.
fn metrics(page: &mut Page, sheet: &Sheet<'_>) {
    if let Some(table) = metrics::table(sheet.scenario, sheet.report) {
        page.line("<h3>Numbers of the same runs</h3>");
        page.line(&html(&table, "metrics"));
    }
}

/// What every path did, and in which order data arrived.
fn packets(page: &mut Page, sheet: &Sheet<'_>) {
    let tables = packets::tables(sheet.scenario, sheet.report);
    if !tables.is_empty() {
        page.line("<h3>Packets</h3>");
    }
    for (table, id) in tables.iter().zip(["packets", "order"]) {
        page.line(&html(table, id));
    }
}

/// A table of the terminal, with all of its columns.
fn html(table: &Table, id: &str) -> String {
    let cells = |tag: &str, cells: Vec<(bool, &str)>| -> String {
        let cell = |(right, text): (bool, &str)| {
            let class = if right { " class=\"n\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escaped(text))
        };
        format!("<tr>{}</tr>", cells.into_iter().map(cell).collect::<String>())
    };
    let heading = table.columns.iter().map(|of| (of.is_right(), of.heading())).collect();
    let row = |index: usize| {
        let cell = |of: &Column| -> Option<(bool, String)> {
            Some((of.is_right(), of.cells().get(index)?.clone()))
        };
        let row: Vec<(bool, String)> = table.columns.iter().filter_map(cell).collect();
        cells("td", row.iter().map(|(right, text)| (*right, text.as_str())).collect())
    };
    let rows = table.columns.first().map_or(0, |of| of.cells().len());
    let rows: String = (0..rows).map(row).collect();
    let heading = cells("th", heading);
    format!("<div class=\"scroll\"><table id=\"{id}\">{heading}{rows}</table></div>")
}

/// How many times as good the best variant is as each other one.
fn ratios(page: &mut Page, sheet: &Sheet<'_>) {
    let report = sheet.report;
    let named = |index: usize| {
        let summary = report.variants.get(index);
        summary.map_or(String::new(), |summary| variant(sheet, &summary.variant))
    };
    let (Some(best), false) = (report.best, report.ratios.is_empty()) else { return };
    let Some(what) = compared(report.metric) else { return };
    let item = |ratio: &Ratio| {
        let interval = ratio
            .interval
            .map_or(String::new(), |Interval { low, high }| format!(" ({low:.2} to {high:.2})"));
        format!("<li>{:.2}{interval} times {what} {}</li>", ratio.ratio, named(ratio.variant))
    };
    let items: String = report.ratios.iter().map(item).collect();
    page.line(&format!("<div id=\"ratios\">{} is<ul>{items}</ul></div>", named(best)));
}

fn row(sheet: &Sheet<'_>, summary: &Summary, scale: &Scale) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| scale.number(v));
    let certainty = match summary.mean_interval {
        _ if summary.deterministic => "deterministic".to_owned(),
        Some(Interval { low, high }) => {
            format!("{} to {}", scale.number(low), scale.number(high))
        }
        None => summary.single_values(scale).unwrap_or_else(|| "no interval".to_owned()),
    };
    let of = summary.difference.as_ref();
    let paired = of.map_or(String::new(), |d| below(&mean(d, scale), &decisive(d, scale)));
    let result = match summary.class {
        Some(class) => outcome(class, of),
        None if summary.qualifies() => {
            let needs = of.and_then(|difference| difference.needs);
            let needs = needs.map_or(String::new(), |runs| format!("; needs about {runs} runs"));
            format!("not known{needs}")
        }
        None => format!("no verdict: {}", escaped(&summary.disqualification())),
    };
    format!(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{paired}</td>\
         <td>{}</td><td class=\"result\">{result}</td></tr>",
        variant(sheet, &summary.variant),
        below(&number(summary.mean), &certainty),
        number(summary.median),
        share(summary),
    )
}

/// The intervals without pairing, and what pairing gains.
pub(super) fn unpaired(page: &mut Page, sheet: &Sheet<'_>) {
    let report = sheet.report;
    let scale = scale(report.metric, &report.variants);
    let row = |summary: &Summary| {
        let difference = summary.difference.as_ref()?;
        let interval = difference.unpaired.filter(|interval| interval.half_width() > 0.0)?;
        let paired = ends(difference.fixed, &scale);
        // Without a correlation, the repetitions are not paired.
        let correlation = format!("{:.2}", difference.correlation?);
        Some(format!(
            "<tr><td>{}</td><td class=\"n\">{paired}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{correlation}</td></tr>",
            variant(sheet, &summary.variant),
            ends(Some(interval), &scale),
        ))
    };
    let rows: Vec<String> = report.variants.iter().filter_map(row).collect();
    if rows.is_empty() {
        return;
    }
    let unit = scale.unit;
    page.line("<h3>Effect of pairing</h3>");
    page.line("<div class=\"scroll\"><table><tr><th>variant</th>");
    page.line(&format!(
        "<th class=\"n\">paired interval [{unit}]</th><th class=\"n\">{}</th>\
         <th class=\"n\">{}</th></tr>",
        titled("unpaired interval", UNPAIRED),
        titled("correlation", CORRELATION)
    ));
    page.line(&rows.concat());
    page.line("</table></div>");
    page.line(&format!("<p class=\"small\">Unpaired: {UNPAIRED}. Correlation: {CORRELATION}.</p>"));
}

/// A value with a small text below it.
pub(super) fn below(value: &str, more: &str) -> String {
    if more.is_empty() { value.to_owned() } else { format!("{value}<br>{}", small(more)) }
}

fn small(text: &str) -> String {
    format!("<span class=\"small\">{text}</span>")
}

/// The mean difference with its share.
fn mean(difference: &Difference, scale: &Scale) -> String {
    let share = difference.relative.map_or(String::new(), |s| format!(" ({})", percent(s)));
    format!("{}{share}", scale.signed(difference.mean))
}

/// The interval that decides.
fn decisive(difference: &Difference, scale: &Scale) -> String {
    if difference.is_certain {
        "deterministic".to_owned()
    } else {
        ends(difference.interval, scale)
    }
}

fn ends(interval: Option<Interval>, scale: &Scale) -> String {
    match interval {
        Some(Interval { low, high }) => {
            format!("{} to {}", scale.signed(low), scale.signed(high))
        }
        None => "no interval".to_owned(),
    }
}

/// A class as a coloured word with a sign, so that colour is not the only cue.
fn outcome(class: Class, difference: Option<&Difference>) -> String {
    let sign = match class {
        Class::PaysOff => "&#9650; ",
        Class::Hurts => "&#9660; ",
        Class::NoDifference => "= ",
        Class::Undecided => "? ",
        Class::Baseline => "",
    };
    let magnitude = match (class, difference) {
        (Class::PaysOff | Class::Hurts, Some(difference)) => {
            format!("<br>{}", small(difference.magnitude()))
        }
        _ => String::new(),
    };
    format!("<span class=\"{0}\">{sign}{0}</span>{magnitude}", class.name())
}

/// The name with the style that it has in every figure, and what it means as a title.
pub(super) fn variant(sheet: &Sheet<'_>, variant: &Variant) -> String {
    let swatch = palette::of_variant(sheet.scenario, variant).swatch();
    let name = escaped(&variant.name).replace('/', "/<wbr>");
    let meaning = escaped(&terms::of_variant(sheet, variant));
    format!("<span title=\"{meaning}\">{swatch}{name}</span>")
}

/// The paths that carried payload first, with their shares of it.
fn share(summary: &Summary) -> String {
    let used = summary.share.iter().filter(|(_, share)| *share > 0.0);
    let words = used.map(|(name, share)| format!("{name} {:.0} %", share * 100.0));
    let words: Vec<String> = words.map(|word| escaped(&word)).collect();
    words.join("<br>")
}

/// Quantiles over the repetitions, with their intervals.
pub(super) fn quantiles(page: &mut Page, sheet: &Sheet<'_>) {
    let report = sheet.report;
    let named = report.variants.iter().map(|summary| &summary.quantiles);
    let Some(names) = named.max_by_key(|quantiles| quantiles.len()).filter(|q| !q.is_empty())
    else {
        return;
    };
    let scale = scale(report.metric, &report.variants);
    page.line("<h3>Quantiles over the repetitions</h3>");
    page.line("<div class=\"scroll\"><table><tr><th>variant</th>");
    let heading = |name: &str| format!("<th class=\"n\">{name} [{}]</th>", scale.unit);
    let mut columns: Vec<&str> = names.iter().map(|quantile| quantile.name).collect();
    let middle = columns.iter().take_while(|name| **name < "p50").count();
    columns.insert(middle, "median");
    page.line(&columns.iter().map(|name| heading(name)).collect::<String>());
    page.line("</tr>");
    for summary in &report.variants {
        let cell = |name: &&str| {
            let found = summary.quantiles.iter().find(|quantile| quantile.name == *name);
            match *name {
                "median" => quantile(summary.median, summary.median_interval, &scale),
                _ => quantile(found.map(|q| q.value), found.and_then(|q| q.interval), &scale),
            }
        };
        let cells: String = columns.iter().map(cell).collect();
        page.line(&format!("<tr><td>{}</td>{cells}</tr>", variant(sheet, &summary.variant)));
    }
    page.line("</table></div>");
    page.line(
        "<p class=\"small\">Below each value its 95 % interval (BCa bootstrap); no interval where \
         all repetitions may be on one side of the quantile.</p>",
    );
}

fn quantile(value: Option<f64>, interval: Option<Interval>, scale: &Scale) -> String {
    let Some(value) = value else { return "<td class=\"n\">-</td>".to_owned() };
    let interval = interval.filter(|interval| interval.half_width() > 0.0);
    let interval = interval.map_or(String::new(), |Interval { low, high }| {
        format!("{} to {}", scale.number(low), scale.number(high))
    });
    format!("<td class=\"n\">{}</td>", below(&scale.number(value), &interval))
}

/// All pairs of variants, if there are more than in the table of results.
pub(super) fn pairs(page: &mut Page, sheet: &Sheet<'_>) {
    let report = sheet.report;
    if report.variants.len() < 3 || report.pairs.is_empty() {
        return;
    }
    let scale = scale(report.metric, &report.variants);
    let open = if report.pairs.len() > MOST_ROWS { "" } else { " open" };
    page.line("<h3>All pairs</h3>");
    page.line(&format!("<details{open}><summary>{} pairs</summary>", report.pairs.len()));
    page.line("<div class=\"scroll\"><table><tr><th>variant</th><th>against</th>");
    page.line(&format!("<th class=\"n\">difference [{}]</th>", scale.unit));
    page.line("<th>corrected interval</th><th>result of the first</th></tr>");
    for pair in &report.pairs {
        page.line(&pair_row(sheet, pair, &scale));
    }
    page.line("</table></div></details>");
    page.line(&format!(
        "<p class=\"small\">The first variant minus the second. Each interval has the confidence \
         level that decides its result, corrected for {} comparisons (Holm).</p>",
        report.pairs.len()
    ));
}

fn pair_row(sheet: &Sheet<'_>, pair: &Pair, scale: &Scale) -> String {
    let name = |index: usize| {
        let summary = sheet.report.variants.get(index);
        summary.map_or(String::new(), |summary| variant(sheet, &summary.variant))
    };
    let of = pair.difference.as_ref();
    let mean = of.map_or(String::new(), |difference| mean(difference, scale));
    let interval = of.map_or(ends(None, scale), |of| decisive(of, scale));
    let class = pair.class.map_or("not known".to_owned(), |class| outcome(class, of));
    format!(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{mean}</td><td>{interval}</td><td>{}</td></tr>",
        name(pair.variant),
        name(pair.with),
        class.replace("<br>", " "),
    )
}

/// The numbers of a single repetition.
pub(super) fn repetition(page: &mut Page, sheet: &Sheet<'_>) {
    let scale = scale(sheet.report.metric, &sheet.report.variants);
    let name = sheet.report.metric.name().replace('_', " ");
    let paths = sheet.scenario.paths.iter();
    let shares: String =
        paths.map(|path| format!("<th class=\"n\">on {}</th>", escaped(&path.name))).collect();
    page.line("<div class=\"scroll\"><table><tr><th>variant</th>");
    page.line(&format!("<th class=\"n\">{name} [{}]</th>{shares}", scale.unit));
    for heading in ["segments", "sent again", "reinjected [kB]", "came twice [kB]"] {
        page.line(&format!("<th class=\"n\">{heading}</th>"));
    }
    page.line("<th>packets dropped</th></tr>");
    for of in &sheet.study.variants {
        for run in &of.runs {
            page.line(&numbers(sheet, &of.variant, run, &scale));
        }
    }
    page.line("</table></div>");
}

fn numbers(sheet: &Sheet<'_>, of: &Variant, run: &Run, scale: &Scale) -> String {
    let sent: u64 = run.first_sent_bytes.iter().sum();
    let share = |bytes: &u64| match *bytes {
        0 => "<td class=\"n\">-</td>".to_owned(),
        bytes => format!("<td class=\"n\">{:.0} %</td>", 100.0 * bytes as f64 / sent as f64),
    };
    let shares: String = run.first_sent_bytes.iter().map(share).collect();
    let value = match (run.measured(sheet.report.metric), &run.failure) {
        (Some(value), _) => scale.number(value),
        (None, why) => format!("incomplete {}", escaped(why.as_deref().unwrap_or_default())),
    };
    let drops = [
        (run.drops.full, "queue full"),
        (run.drops.early, "by the queue discipline"),
        (run.drops.random, "at random"),
        (run.drops.down, "while down"),
    ];
    let drops = drops.iter().filter(|(packets, _)| *packets > 0);
    let drops: Vec<String> = drops.map(|(packets, why)| format!("{packets} {why}")).collect();
    format!(
        "<tr><td>{}</td><td class=\"n\">{value}</td>{shares}<td class=\"n\">{}</td>\
         <td class=\"n\">{}</td><td class=\"n\">{:.1}</td><td class=\"n\">{:.1}</td>\
         <td>{}</td></tr>",
        variant(sheet, of),
        run.data_packets,
        run.retransmitted_segs,
        run.reinjected_bytes as f64 / 1e3,
        run.duplicate_bytes as f64 / 1e3,
        if drops.is_empty() { "none".to_owned() } else { drops.join(", ") },
    )
}
