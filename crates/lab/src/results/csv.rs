//! The table of runs as CSV (RFC 4180), for programs that read nothing else.
//!
//! The columns are those of the Parquet file; a missing number is an empty field.

use super::columns::{self, Cell, cell};
use crate::run::Record;
use crate::scenario::Scenario;

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

/// A text, quoted if necessary.
fn field(text: &str) -> String {
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
