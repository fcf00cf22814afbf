//! The tables of runs and of variants as CSV (RFC 4180), for programs that read nothing else.
//!
//! The columns of runs are those of the Parquet file; a missing number is an empty field.

use super::columns::{self, Cell, cell};
use crate::report::Report;
use crate::run::Record;
use crate::scenario::Scenario;
use crate::summary::Summary;

/// Text of the file.
pub(super) fn csv(scenario: &Scenario, records: &[&Record]) -> String {
    let columns = columns::columns(records);
    let heading: Vec<String> = columns.iter().map(|column| field(&column.name)).collect();
    let mut text = heading.join(",") + "\r\n";
    for record in records {
        let fields: Vec<String> = columns
            .iter()
            .map(|column| match cell(scenario, record, column) {
                Cell::Text(text) => field(&text),
                Cell::Whole(number) => number.to_string(),
                // The shortest digits that read back as the same number.
                Cell::Number(number) => number.map_or(String::new(), |n| n.to_string()),
            })
            .collect();
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}

/// One row per variant: mean, interval, difference from the baseline, class.
pub(super) fn summary(report: &Report) -> String {
    const HEADING: [&str; 14] = [
        "variant",
        "metric",
        "unit",
        "n",
        "incomplete",
        "mean",
        "ci95_low",
        "ci95_high",
        "baseline",
        "difference",
        "difference_low",
        "difference_high",
        "relative",
        "class",
    ];
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let row = |of: &Summary| {
        let difference = of.difference.as_ref();
        let interval = difference.and_then(|difference| difference.interval);
        let fields = [
            field(&of.variant.name),
            report.metric.name().to_owned(),
            report.metric.unit().to_owned(),
            of.n.to_string(),
            of.incomplete.to_string(),
            number(of.mean),
            number(of.mean_interval.map(|ends| ends.low)),
            number(of.mean_interval.map(|ends| ends.high)),
            of.baseline.as_deref().map_or(String::new(), field),
            number(difference.map(|difference| difference.mean)),
            number(interval.map(|ends| ends.low)),
            number(interval.map(|ends| ends.high)),
            number(difference.and_then(|difference| difference.relative)),
            of.class.map_or(String::new(), |class| class.name().to_owned()),
        ];
        fields.join(",") + "\r\n"
    };
    let rows: String = report.variants.iter().map(row).collect();
    format!("{}\r\n{rows}", HEADING.join(","))
}

/// A text, quoted if necessary.
pub(super) fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotation_marks_are_quoted() {
        assert_eq!(field("a=1"), "a=1");
        assert_eq!(field("a=1,b=2"), "\"a=1,b=2\"");
        assert_eq!(field("say \"no\""), "\"say \"\"no\"\"\"");
    }
}
