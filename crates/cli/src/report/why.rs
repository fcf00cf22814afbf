//! Why nothing was sent: the table of `--why` on the page, with a bar for the shares.

use super::Sheet;
use super::page::{Page, escaped};
use super::tables;
use crate::why::{SHARES, caption, percentage, sacks, share};
use lab::Summary;

/// Whether the stacks accounted for the time in which nothing was sent.
pub(super) fn is_known(sheet: &Sheet<'_>) -> bool {
    sheet.report.variants.iter().any(|summary| summary.blocking.is_some())
}

/// The table; empty without accounts.
pub(super) fn why(page: &mut Page, sheet: &Sheet<'_>) {
    let variants = &sheet.report.variants;
    if !is_known(sheet) {
        return;
    }
    page.line("<h2 id=\"why-not\">Why: what kept the senders from sending</h2>");
    page.line("<div class=\"scroll\"><table id=\"why\"><tr><th>variant</th>");
    page.line("<th class=\"n\">open [s]</th>");
    for (heading, _) in SHARES {
        page.line(&format!("<th class=\"n\">{heading}</th>"));
    }
    page.line("<th class=\"n\">blocked reader [ms]</th><th class=\"n\">blocked bytes [kB]</th>");
    if has_sacks(sheet) {
        page.line("<th class=\"n\">SACKs</th>");
    }
    page.line("<th>spurious</th><th>reinjected</th></tr>");
    for summary in variants {
        page.line(&row(sheet, summary));
    }
    page.line("</table></div>");
    let caption = caption(|heading| heading != "SACKs" || has_sacks(sheet));
    page.line(&format!("<p class=\"small\">{}</p>", escaped(&caption)));
}

/// Whether a variant is one of SCTP, so that its SACKs were counted.
fn has_sacks(sheet: &Sheet<'_>) -> bool {
    sheet.report.variants.iter().any(|summary| summary.sacks_per_data_packet.is_some())
}

fn row(sheet: &Sheet<'_>, summary: &Summary) -> String {
    let number = |text: String| format!("<td class=\"n\">{text}</td>");
    let mut cells = format!("<td>{}</td>", tables::variant(sheet, &summary.variant));
    let blocking = summary.blocking.as_ref();
    let of = |text: Option<String>| number(text.unwrap_or_else(|| "-".to_owned()));
    cells.push_str(&of(blocking.map(|blocking| format!("{:.2}", blocking.life))));
    for (_, reasons) in SHARES {
        cells.push_str(&bar(share(summary, reasons)));
    }
    cells.push_str(&of(blocking.map(|b| format!("{:.1}", b.head_of_line.time * 1e3))));
    cells.push_str(&of(blocking.map(|b| format!("{:.1}", b.head_of_line.bytes / 1e3))));
    if has_sacks(sheet) {
        cells.push_str(&number(sacks(summary)));
    }
    let on_paths = |number: &dyn Fn(&lab::blocking::Repeats) -> f64| {
        let some = summary.repeats.iter().filter(|repeats| number(repeats) > 0.0);
        let words = some.map(|of| escaped(&format!("{} {:.1}", of.path, number(of))));
        let words: Vec<String> = words.collect();
        if words.is_empty() { "-".to_owned() } else { words.join("<br>") }
    };
    let spurious = on_paths(&|of| of.spurious_segs);
    let reinjected = on_paths(&|of| of.reinjected_segs);
    format!("<tr>{cells}<td>{spurious}</td><td>{reinjected}</td></tr>")
}

/// A share with a bar of that length behind it.
fn bar(share: Option<f64>) -> String {
    let width = share.unwrap_or(0.0) * 100.0;
    let shade = "var(--bar)";
    format!(
        "<td class=\"n\" style=\"background:linear-gradient(to left,{shade} {width:.1}%,\
         transparent {width:.1}%)\">{}</td>",
        percentage(share).replace('<', "&lt;")
    )
}
