//! The parts that all figures have: plot area, axes, legend.

use super::axis::Axis;
use super::drawing::{Anchor, Colour, Drawing, Point, Stroke, Style, dashes};

pub(super) const THIN: f64 = 0.6;
const LINE: f64 = 1.1;

/// The rectangle of the data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Frame {
    pub(super) fn at(&self, x: f64, y: f64) -> Point {
        (self.left + x * (self.right - self.left), self.bottom - y * (self.bottom - self.top))
    }

    /// The horizontal axis, with its numbers below.
    pub(super) fn below(&self, drawing: &mut Drawing<'_>, axis: &Axis) {
        let size = drawing.size;
        let mut free = f64::NEG_INFINITY;
        for (value, label) in &axis.ticks {
            let (x, _) = self.at(axis.place(*value), 0.0);
            if !label.is_empty() {
                drawing.line(&[(x, self.top), (x, self.bottom)], Stroke::solid(Colour::LIGHT, 0.4));
                let half = drawing.width_of(label) / 2.0;
                // A number that would touch the one before it is left out.
                if x - half > free {
                    let at = (x, self.bottom + 1.25 * size);
                    drawing.text(at, Anchor::Middle, label);
                    free = x + half + 0.3 * size;
                }
            }
            let length = if label.is_empty() { 1.5 } else { 3.0 };
            let ends = [(x, self.bottom), (x, self.bottom + length)];
            drawing.line(&ends, Stroke::solid(Colour::BLACK, THIN));
        }
        let middle = (self.left + self.right) / 2.0;
        let fitting = drawing.fitting(&axis.label, drawing.width - 4.0);
        // A long label may begin left of the plot, but not outside of the figure.
        let half = drawing.font.width(&axis.label) * fitting / 2.0;
        let middle = middle.min(drawing.width - half - 1.0).max(half + 1.0);
        let at = (middle, self.bottom + 2.6 * size);
        drawing.coloured(at, Anchor::Middle, &axis.label, (fitting, Colour::BLACK));
    }

    /// The vertical axis, with its numbers on the left.
    pub(super) fn beside(&self, drawing: &mut Drawing<'_>, axis: &Axis) {
        let size = drawing.size;
        let mut widest: f64 = 0.0;
        for (value, label) in &axis.ticks {
            let (_, y) = self.at(0.0, axis.place(*value));
            if !label.is_empty() {
                drawing.line(&[(self.left, y), (self.right, y)], Stroke::solid(Colour::LIGHT, 0.4));
                drawing.text((self.left - 4.5, y + 0.35 * size), Anchor::End, label);
                widest = widest.max(drawing.width_of(label));
            }
            let length = if label.is_empty() { 1.5 } else { 3.0 };
            drawing.line(
                &[(self.left - length, y), (self.left, y)],
                Stroke::solid(Colour::BLACK, THIN),
            );
        }
        let middle = (self.top + self.bottom) / 2.0;
        let room = 2.0 * middle.min(drawing.height - middle) - 2.0;
        drawing.upwards((self.left - 7.0 - widest, middle), &axis.label, room);
    }

    /// The border, above everything in it.
    pub(super) fn border(&self, drawing: &mut Drawing<'_>) {
        let stroke = Some(Stroke::solid(Colour::BLACK, THIN));
        drawing.rectangle((self.left, self.top), (self.right, self.bottom), stroke, None);
    }
}

/// Room that the numbers and the label of a vertical axis take.
pub(super) fn room_beside(drawing: &Drawing<'_>, axis: &Axis) -> f64 {
    let widths = axis.ticks.iter().map(|(_, label)| drawing.width_of(label));
    widths.fold(0.0, f64::max) + 8.0 + 1.1 * drawing.size
}

/// Room that the numbers and the label of a horizontal axis take.
pub(super) fn room_below(drawing: &Drawing<'_>) -> f64 {
    3.0 * drawing.size
}

/// The line of a look.
pub(super) fn line_of(look: &Style) -> Stroke {
    let colour = look.colour;
    Stroke { colour, width: LINE, dash: dashes(look.dash, LINE) }
}

/// An entry of a legend.
pub(super) struct Entry {
    pub name: String,
    pub look: Style,
}

/// Entries in columns below each other.
pub(super) struct Legend {
    entries: Vec<Entry>,
    /// Edge and fill of the bars or boxes of the entries; none of lines.
    patches: Vec<(Colour, Colour)>,
    columns: usize,
    column: f64,
}

/// Length of the line before a name, in sizes of the text.
const SAMPLE: f64 = 2.4;

impl Legend {
    pub(super) fn new(drawing: &Drawing<'_>, entries: Vec<Entry>) -> Legend {
        let width = |entry: &Entry| drawing.width_of(&entry.name) + (SAMPLE + 1.4) * drawing.size;
        let column = entries.iter().map(width).fold(1.0, f64::max);
        let most = ((drawing.width - 4.0) / column).floor().max(1.0) as usize;
        let columns = most.min(entries.len().max(1));
        // As many rows as needed, and columns of equal length.
        let columns = entries.len().div_ceil(entries.len().div_ceil(columns).max(1)).max(1);
        Legend { entries, patches: Vec::new(), columns, column }
    }

    /// With bars or boxes in place of lines before the names.
    pub(super) fn of_patches(self, patches: Vec<(Colour, Colour)>) -> Legend {
        Legend { patches, ..self }
    }

    fn rows(&self) -> usize {
        self.entries.len().div_ceil(self.columns)
    }

    pub(super) fn height(&self, size: f64) -> f64 {
        self.rows() as f64 * 1.4 * size + if self.entries.is_empty() { 0.0 } else { 0.5 * size }
    }

    /// Draws it centred, its upper edge at `top`.
    pub(super) fn draw(&self, drawing: &mut Drawing<'_>, top: f64) {
        let size = drawing.size;
        let left = ((drawing.width - self.columns as f64 * self.column) / 2.0).max(1.0);
        for (index, Entry { name, look }) in self.entries.iter().enumerate() {
            let x = left + (index / self.rows()) as f64 * self.column;
            let y = top + ((index % self.rows()) as f64 + 1.0) * 1.4 * size - 0.3 * size;
            let middle = y - 0.33 * size;
            if let Some((edge, fill)) = self.patches.get(index) {
                let corner = (x + 0.4 * SAMPLE * size, middle - 0.38 * size);
                let other = (x + SAMPLE * size, middle + 0.38 * size);
                let stroke = Stroke::solid(*edge, THIN);
                drawing.rectangle(corner, other, Some(stroke), Some(*fill));
            } else {
                drawing.line(&[(x, middle), (x + SAMPLE * size, middle)], line_of(look));
                let at = (x + SAMPLE * size / 2.0, middle);
                drawing.marker(at, look, 0.3 * size);
            }
            let begin = x + (SAMPLE + 0.5) * size;
            let fitting = drawing.fitting(name, drawing.width - begin - 1.0);
            drawing.coloured((begin, y), Anchor::Start, name, (fitting, Colour::BLACK));
        }
    }
}
