//! A table of outcomes as a drawing: a coloured cell for each row and column.
//!
//! Names and numbers are those of the page (`report::grid`).

use super::drawing::{Anchor, Colour, Drawing, Stroke};
use super::plots::{Layout, MARGIN};
use crate::report::grid::{names, texts};
use lab::reproduction::Graded;
use lab::results::Grade;

/// Height of a row, in sizes of the text.
const ROW: f64 = 3.6;
/// Size of the interval by that of the text.
const SMALL: f64 = 0.8;

pub(super) fn drawing<'a>(cells: &[Graded<'_>], layout: &Layout<'a>) -> Drawing<'a> {
    let size = layout.size;
    let (rows, columns) = (names(cells, |of| of.row), names(cells, |of| of.column));
    let probe = Drawing::new((layout.width, 0.0), layout.font, size);
    let widest = rows.iter().map(|name| probe.width_of(name)).fold(0.0, f64::max);
    let left = MARGIN + widest + 0.8 * size;
    let width = (layout.width - MARGIN - left) / columns.len().max(1) as f64;
    let top = MARGIN + 2.0 * size;
    let height = top + rows.len() as f64 * ROW * size + MARGIN;
    let mut drawing = Drawing::new((layout.width, height), layout.font, size);
    let fitting = columns.iter().map(|name| drawing.fitting(name, width - 2.0));
    let style = (fitting.fold(size, f64::min), Colour::BLACK);
    for (place, name) in columns.iter().enumerate() {
        let middle = left + (place as f64 + 0.5) * width;
        drawing.coloured((middle, top - 0.6 * size), Anchor::Middle, name, style);
    }
    for (place, row) in rows.iter().enumerate() {
        let upper = top + place as f64 * ROW * size;
        let base = upper + (ROW / 2.0 + 0.35) * size;
        drawing.text((left - 0.8 * size, base), Anchor::End, row);
        for (number, column) in columns.iter().enumerate() {
            let corner = (left + number as f64 * width, upper);
            let other = (corner.0 + width, upper + ROW * size);
            match cells.iter().find(|of| of.row == *row && of.column == *column) {
                Some(of) => cell(&mut drawing, of, (corner, other)),
                None => drawing.rectangle(corner, other, Some(edge()), None),
            }
        }
    }
    drawing
}

type Corners = ((f64, f64), (f64, f64));

fn cell(drawing: &mut Drawing<'_>, of: &Graded<'_>, (corner, other): Corners) {
    let size = drawing.size;
    let (fill, ink) = colours(of.grade);
    drawing.rectangle(corner, other, Some(edge()), Some(fill));
    let middle = (corner.0 + other.0) / 2.0;
    let (difference, interval) = texts(of);
    let lines = [(of.grade.name().to_owned(), 1.0), (difference, 1.0), (interval, SMALL)];
    let room = other.0 - corner.0 - 2.0;
    for (number, (text, scale)) in lines.iter().enumerate() {
        let fitting = drawing.fitting(text, room).min(size * scale);
        let at = (middle, corner.1 + (number as f64 + 1.0) * 1.05 * size);
        drawing.coloured(at, Anchor::Middle, text, (fitting, ink));
    }
}

const fn edge() -> Stroke {
    Stroke::solid(Colour::GREY, 0.5)
}

/// Colours of the cell and of its text, those of the light theme of the page.
const fn colours(grade: Grade) -> (Colour, Colour) {
    match grade {
        Grade::SignificantGain => (Colour(0x00, 0x67, 0x4c), Colour::WHITE),
        Grade::SlightGain => (Colour(0xe8, 0xf5, 0xf0), Colour(0x00, 0x67, 0x4c)),
        Grade::None => (Colour(0xee, 0xf5, 0xfa), Colour(0x00, 0x58, 0x8c)),
        Grade::Degraded => (Colour(0xa6, 0x3e, 0x00), Colour::WHITE),
        Grade::Undecided => (Colour(0xfc, 0xf6, 0xe0), Colour(0x6b, 0x50, 0x00)),
        Grade::NotKnown | Grade::NoVerdict => (Colour(0xf2, 0xf2, 0xf2), Colour::GREY),
    }
}
