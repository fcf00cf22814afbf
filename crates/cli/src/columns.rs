//! A table of text columns, the less important of which give way on a narrow terminal.

use crate::output::Screen;

/// Blanks between columns.
pub const GAP: usize = 2;

/// A table whose less important columns give way on a narrow terminal.
pub struct Table {
    pub columns: Vec<Column>,
}

/// A column of texts.
pub struct Column {
    heading: String,
    cells: Vec<String>,
    /// Of the cells, as ANSI numbers.
    pub styles: Vec<&'static str>,
    right: bool,
    /// The highest goes first when there is no room; 0 stays.
    dispensable: u8,
}

impl Column {
    /// Cells under a heading, at the right edge or at the left one.
    pub fn new(
        heading: impl Into<String>,
        right: bool,
        dispensable: u8,
        cells: Vec<String>,
    ) -> Self {
        let styles = vec![""; cells.len()];
        Column { heading: heading.into(), cells, styles, right, dispensable }
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(self.heading.chars().count())
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }

    fn padded(&self, cell: &str) -> String {
        let width = self.width();
        if self.right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    }
}

impl Table {
    /// The text, as wide as the screen allows; empty columns are left out.
    pub fn render(mut self, screen: Screen) -> String {
        self.columns.retain(|column| !column.is_empty());
        while screen.width.is_some_and(|width| self.width() > width) {
            let most = self.columns.iter().map(|column| column.dispensable).max().unwrap_or(0);
            if most == 0 {
                break;
            }
            self.columns.retain(|column| column.dispensable < most);
        }
        let mut text = String::new();
        let headings: Vec<String> = self.columns.iter().map(|c| c.padded(&c.heading)).collect();
        text.push_str(&screen.styled("1", headings.join("  ").trim_end()));
        text.push('\n');
        for row in 0..self.columns.first().map_or(0, |column| column.cells.len()) {
            let cell = |column: &Column| {
                screen.styled(column.styles[row], &column.padded(&column.cells[row]))
            };
            let cells: Vec<String> = self.columns.iter().map(cell).collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    fn width(&self) -> usize {
        let widths: usize = self.columns.iter().map(Column::width).sum();
        widths + GAP * self.columns.len().saturating_sub(1)
    }
}
