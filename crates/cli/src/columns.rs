//! A table of text columns that fits the width of the terminal.
//!
//! On a narrow terminal the less important columns are left out first; then the name of a row is on
//! a line above its values; then every value is on a line of its own. Without a width nothing is
//! left out. The subcommands choose the columns.

use crate::output::{Screen, width_of};

/// Blanks between columns.
const GAP: usize = 2;

/// Indent of values below the name of their row.
const INDENT: usize = 2;

/// Largest `dispensable` of the columns that are shown with one value per line.
const WORTH_A_LINE: u8 = 1;

/// A table whose less important columns are left out on a narrow terminal.
pub(crate) struct Table {
    /// Columns; the first has the names of the rows.
    pub columns: Vec<Column>,
}

/// A column of texts.
#[derive(Clone)]
pub(crate) struct Column {
    heading: String,
    cells: Vec<String>,
    /// Of the widest cell or the heading: long tables look at it for every cell.
    width: usize,
    /// Styles of the cells, as ANSI numbers.
    pub styles: Vec<&'static str>,
    right: bool,
    /// Rank for removal on a narrow terminal, the highest first; 0 is never removed.
    dispensable: u8,
}

impl Column {
    /// Creates a column of right-aligned or left-aligned cells under a heading.
    pub(crate) fn new(
        heading: impl Into<String>,
        right: bool,
        dispensable: u8,
        cells: Vec<String>,
    ) -> Self {
        let (heading, styles) = (heading.into(), vec![""; cells.len()]);
        let widest = cells.iter().map(|cell| width_of(cell)).max().unwrap_or(0);
        let width = widest.max(width_of(&heading));
        Column { heading, cells, width, styles, right, dispensable }
    }

    /// Heading of the column.
    pub(crate) fn heading(&self) -> &str {
        &self.heading
    }

    /// Whether the cells are aligned to the right.
    pub(crate) fn is_right(&self) -> bool {
        self.right
    }

    /// Cells, one per row.
    pub(crate) fn cells(&self) -> &[String] {
        &self.cells
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }

    /// The cell as wide as the column; `shown` is the cell with its style.
    fn padded(&self, cell: &str, shown: &str) -> String {
        let blanks = " ".repeat(self.width.saturating_sub(width_of(cell)));
        if self.right { format!("{blanks}{shown}") } else { format!("{shown}{blanks}") }
    }
}

impl Table {
    /// A table in Markdown; empty columns are left out.
    pub(crate) fn markdown(mut self) -> String {
        self.columns.retain(|column| !column.is_empty());
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let plain = |text: &str| text.replace('|', "\\|");
        let mut text = line(self.columns.iter().map(|c| plain(&c.heading)).collect());
        let rule = |column: &Column| if column.right { "--:" } else { "---" }.to_owned();
        text.push_str(&line(self.columns.iter().map(rule).collect()));
        for row in 0..self.columns.first().map_or(0, |column| column.cells.len()) {
            text.push_str(&line(self.columns.iter().map(|c| plain(&c.cells[row])).collect()));
        }
        text
    }

    /// The text, as wide as the screen allows; empty columns are left out.
    pub(crate) fn render(mut self, screen: Screen) -> String {
        self.columns.retain(|column| !column.is_empty());
        let Some(width) = screen.width else { return rows(&self.columns, screen) };
        if let Some(columns) = fitting(&self.columns, width) {
            return rows(&columns, screen);
        }
        let Some((names, values)) = self.columns.split_first() else { return String::new() };
        match fitting(values, width.saturating_sub(INDENT)) {
            Some(values) => below_names(names, &values, screen),
            None => one_a_line(names, values, screen),
        }
    }
}

/// Columns that fit into `room` columns; `None` if even the mandatory ones do not fit.
fn fitting(columns: &[Column], room: usize) -> Option<Vec<Column>> {
    let mut columns = columns.to_vec();
    loop {
        let widths: usize = columns.iter().map(|column| column.width).sum();
        if widths + GAP * columns.len().saturating_sub(1) <= room {
            return Some(columns);
        }
        let most =
            columns.iter().map(|column| column.dispensable).max().filter(|most| *most > 0)?;
        columns.retain(|column| column.dispensable < most);
    }
}

/// A line of headings, and a line for each row.
fn rows(columns: &[Column], screen: Screen) -> String {
    let count = columns.first().map_or(0, |column| column.cells.len());
    let lines = (0..count).map(|row| values(columns, row, screen) + "\n");
    let heading = screen.styled("1", &headings(columns));
    format!("{heading}\n{}", lines.collect::<String>())
}

/// Rows with the name on a line above the values.
fn below_names(names: &Column, columns: &[Column], screen: Screen) -> String {
    let indent = " ".repeat(INDENT);
    let mut text = format!("{}\n", screen.styled("1", &names.heading));
    text.push_str(&format!("{indent}{}\n", screen.styled("1", &headings(columns))));
    for (row, name) in names.cells.iter().enumerate() {
        screen.wrap(&mut text, "", name, "");
        text.push_str(&format!("{indent}{}\n", values(columns, row, screen)));
    }
    text
}

/// Rows with the name on a line above one line per value.
fn one_a_line(names: &Column, columns: &[Column], screen: Screen) -> String {
    let shown: Vec<&Column> = columns.iter().filter(|c| c.dispensable <= WORTH_A_LINE).collect();
    let width = shown.iter().map(|column| width_of(&column.heading)).max().unwrap_or(0);
    let mut text = format!("{}\n", screen.styled("1", &names.heading));
    for (row, name) in names.cells.iter().enumerate() {
        screen.wrap(&mut text, "", name, "");
        let mut lines: Vec<(&Column, String)> = Vec::new();
        for column in shown.iter().filter(|column| !column.cells[row].is_empty()) {
            let cell = &column.cells[row];
            match lines.last_mut() {
                // A column without a heading belongs to the one before it.
                Some((_, value)) if column.heading.is_empty() => {
                    value.push_str(&format!(", {cell}"));
                }
                _ => lines.push((column, cell.clone())),
            }
        }
        for (column, value) in lines {
            let blanks = " ".repeat(width - width_of(&column.heading));
            let heading = format!("  {}{blanks}  ", column.heading);
            screen.wrap(&mut text, &heading, &value, column.styles[row]);
        }
    }
    text
}

fn headings(columns: &[Column]) -> String {
    let headings: Vec<String> = columns.iter().map(|c| c.padded(&c.heading, &c.heading)).collect();
    headings.join("  ").trim_end().to_owned()
}

fn values(columns: &[Column], row: usize, screen: Screen) -> String {
    let cell = |column: &Column| {
        let cell = &column.cells[row];
        column.padded(cell, &screen.styled(column.styles[row], cell))
    };
    columns.iter().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> Table {
        let column = |heading, right, dispensable, cells: [&str; 2]| {
            Column::new(heading, right, dispensable, cells.map(str::to_owned).to_vec())
        };
        Table {
            columns: vec![
                column("variant", false, 0, [name, "short"]),
                column("mean [ms]", true, 0, ["12.5", "1000.0"]),
                column("empty", true, 0, ["", ""]),
                column("resent", true, 2, ["1.0", "2.0"]),
                column("result", false, 0, ["pays-off, significant", ""]),
            ],
        }
    }

    fn render(name: &str, width: Option<usize>) -> String {
        table(name).render(Screen { width, colour: false })
    }

    #[test]
    fn without_a_terminal_everything_stands_in_one_line() {
        let expected = "\
variant     mean [ms]  resent  result
a/long/one       12.5     1.0  pays-off, significant
short          1000.0     2.0
";
        assert_eq!(render("a/long/one", None), expected);
        assert_eq!(render("a/long/one", Some(52)), expected, "it just fits");
    }

    #[test]
    fn table_of_100_000_rows_is_shown_at_once() {
        let rows = |count: usize| vec!["12.5".to_owned(); count];
        let table = |count| Table { columns: vec![Column::new("time [s]", true, 0, rows(count))] };
        // With a look at all rows for each of them this takes minutes.
        let text = table(100_000).render(Screen { width: None, colour: false });
        assert_eq!(text.lines().count(), 100_001);
    }

    #[test]
    fn less_important_columns_give_way_first() {
        let expected = "\
variant     mean [ms]  result
a/long/one       12.5  pays-off, significant
short          1000.0
";
        assert_eq!(render("a/long/one", Some(51)), expected);
    }

    #[test]
    fn long_names_get_a_line_of_their_own() {
        let expected = "\
variant
  mean [ms]  resent  result
a/very/long/one
       12.5     1.0  pays-off, significant
short
     1000.0     2.0
";
        assert_eq!(render("a/very/long/one", Some(48)), expected);
    }

    #[test]
    fn very_narrow_terminal_gets_a_value_a_line() {
        let expected = "\
variant
a/long/one
  mean [ms]  12.5
  result     pays-off,
             significant
short
  mean [ms]  1000.0
";
        assert_eq!(render("a/long/one", Some(33)), expected);
    }

    #[test]
    fn wide_characters_count_as_what_they_take() {
        let text = render("数据", None);
        let column_of = |line: usize, cell: &str| {
            let line = text.lines().nth(line).unwrap();
            width_of(&line[..line.find(cell).unwrap()])
        };
        assert_eq!(column_of(1, " 1.0 "), column_of(2, " 2.0"), "{text}");
    }
}
