//! A paper's table of outcomes: rows of traffic, columns of protocols and paths.
//!
//! The outcomes are the lab's, and the colours those of `matrix`.

use super::matrix::{outcome, signed};
use super::page::escaped;
use lab::reproduction::Graded;

/// What the cells show.
pub(super) const CAPTION: &str = "Mean difference from the baseline as a share of its mean, with \
     the 95 % interval of each cell alone; classes as of `compare`.";

/// HTML of the table.
pub(super) fn table(cells: &[Graded<'_>]) -> String {
    let columns = names(cells, |of| of.column);
    let heads: String =
        columns.iter().map(|name| format!("<th scope=\"col\">{}</th>", escaped(name))).collect();
    let mut html =
        format!("<div class=\"scroll\"><table class=\"matrix\"><tr><td></td>{heads}</tr>\n");
    for row in names(cells, |of| of.row) {
        html.push_str(&format!("<tr><th scope=\"row\">{}</th>", escaped(row)));
        for column in &columns {
            let found = cells.iter().find(|of| of.row == row && of.column == *column);
            html.push_str(&found.map_or_else(|| "<td></td>".to_owned(), cell));
        }
        html.push_str("</tr>\n");
    }
    html + "</table></div>\n"
}

/// Names in the order in which they appear, each once.
pub(crate) fn names<'a>(
    cells: &[Graded<'a>],
    name: impl Fn(&Graded<'a>) -> &'a str,
) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for of in cells {
        if !all.contains(&name(of)) {
            all.push(name(of));
        }
    }
    all
}

fn cell(of: &Graded<'_>) -> String {
    let (difference, interval) = texts(of);
    format!(
        "<td class=\"{}\"><b>{}</b>{difference}<i>{interval}</i></td>",
        outcome(of.grade),
        of.grade.name()
    )
}

/// `-7.1 %`, `-8.0 to -6.2 %`; empty without an interval.
pub(crate) fn texts(of: &Graded<'_>) -> (String, String) {
    of.relative.map_or_else(Default::default, |(mean, interval)| {
        let ends = format!("{} to {} %", signed(interval.low), signed(interval.high));
        (format!("{} %", signed(mean)), ends)
    })
}
