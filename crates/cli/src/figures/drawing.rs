//! A drawing of lines, areas and text, in points (1/72 inch) from the upper left corner; `svg`,
//! `pdf` and `png` write it.

use super::font::Font;
use crate::report::palette::Look;

/// A colour, red, green and blue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    pub(super) const BLACK: Colour = Colour(0, 0, 0);
    pub(super) const GREY: Colour = Colour(0x59, 0x59, 0x59);
    pub(super) const LIGHT: Colour = Colour(0xdd, 0xdd, 0xdd);
    pub(super) const SHADE: Colour = Colour(0xef, 0xef, 0xef);
    pub(super) const WHITE: Colour = Colour(0xff, 0xff, 0xff);

    /// The colour of `#rrggbb`; black for other text.
    pub(super) fn parse(text: &str) -> Colour {
        let part =
            |at: usize| text.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (part(1), part(3), part(5)) {
            (Some(red), Some(green), Some(blue)) => Colour(red, green, blue),
            _ => Colour::BLACK,
        }
    }

    /// As `#rrggbb`.
    pub(super) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// The colour on white, at this opacity.
    pub(super) fn tinted(self, opacity: f64) -> Colour {
        let mix = |part: u8| (f64::from(part) * opacity + 255.0 * (1.0 - opacity)).round() as u8;
        Colour(mix(self.0), mix(self.1), mix(self.2))
    }
}

/// Style of a path or a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Style {
    pub colour: Colour,
    pub dash: &'static str,
    /// Name of the marker in plotly.js.
    pub symbol: &'static str,
    /// Whether the marker is an outline.
    pub is_open: bool,
}

impl Style {
    /// The style of the page.
    pub(crate) fn of(look: Look) -> Style {
        Style {
            colour: Colour::parse(look.colour),
            dash: look.dash.name(),
            symbol: look.marker.name(),
            is_open: look.open,
        }
    }
}

impl Style {
    /// This style, then those with another dash.
    pub(super) fn others(self) -> impl Iterator<Item = Style> {
        const DASHES: [&str; 6] = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
        let other = move |dash| Style { dash, ..self };
        std::iter::once(self).chain(DASHES.into_iter().map(other))
    }
}

/// A line.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Stroke {
    pub colour: Colour,
    pub width: f64,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub dash: Vec<f64>,
}

impl Stroke {
    pub(super) const fn solid(colour: Colour, width: f64) -> Stroke {
        Stroke { colour, width, dash: Vec::new() }
    }
}

/// Which point of a text its position is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

pub(super) type Point = (f64, f64);

/// A part of a drawing.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Item {
    Path {
        points: Vec<Point>,
        closed: bool,
        stroke: Option<Stroke>,
        fill: Option<Colour>,
    },
    /// `at` is on the base line; `turned` by 90 degrees, upwards.
    Text {
        at: Point,
        size: f64,
        anchor: Anchor,
        turned: bool,
        colour: Colour,
        text: String,
    },
}

/// A drawing.
pub(super) struct Drawing<'a> {
    pub width: f64,
    pub height: f64,
    pub font: &'a Font,
    /// Size of its text.
    pub size: f64,
    pub items: Vec<Item>,
}

impl<'a> Drawing<'a> {
    pub(super) const fn new((width, height): Point, font: &'a Font, size: f64) -> Drawing<'a> {
        Drawing { width, height, font, size, items: Vec::new() }
    }

    pub(super) fn line(&mut self, points: &[Point], stroke: Stroke) {
        let points = points.to_vec();
        self.items.push(Item::Path { points, closed: false, stroke: Some(stroke), fill: None });
    }

    pub(super) fn area(&mut self, points: &[Point], stroke: Option<Stroke>, fill: Option<Colour>) {
        self.items.push(Item::Path { points: points.to_vec(), closed: true, stroke, fill });
    }

    pub(super) fn rectangle(
        &mut self,
        (left, top): Point,
        (right, bottom): Point,
        stroke: Option<Stroke>,
        fill: Option<Colour>,
    ) {
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
        self.area(&corners, stroke, fill);
    }

    /// Text at a point of its base line.
    pub(super) fn text(&mut self, at: Point, anchor: Anchor, text: &str) {
        self.coloured(at, anchor, text, (self.size, Colour::BLACK));
    }

    pub(super) fn coloured(
        &mut self,
        at: Point,
        anchor: Anchor,
        text: &str,
        (size, colour): (f64, Colour),
    ) {
        let text = text.to_owned();
        self.items.push(Item::Text { at, size, anchor, turned: false, colour, text });
    }

    /// Size in which a text fits into `room`: that of the drawing, or a smaller one.
    pub(super) fn fitting(&self, text: &str, room: f64) -> f64 {
        let width = self.width_of(text);
        if width > room { self.size * room / width } else { self.size }
    }

    /// Text that reads upwards, of at most this length.
    pub(super) fn upwards(&mut self, at: Point, text: &str, room: f64) {
        self.items.push(Item::Text {
            at,
            size: self.fitting(text, room),
            anchor: Anchor::Middle,
            turned: true,
            colour: Colour::BLACK,
            text: text.to_owned(),
        });
    }

    /// Width of a text in the size of the drawing.
    pub(super) fn width_of(&self, text: &str) -> f64 {
        self.font.width(text) * self.size
    }

    /// The marker of a style.
    pub(super) fn marker(&mut self, at: Point, style: &Style, radius: f64) {
        self.symbol(at, (style.symbol, style.is_open), radius, style.colour);
    }

    /// A symbol of plotly's names.
    pub(super) fn symbol(
        &mut self,
        (x, y): Point,
        (shape, open): (&str, bool),
        radius: f64,
        colour: Colour,
    ) {
        let fill = if open { Colour::WHITE } else { colour };
        let stroke = Stroke::solid(colour, radius * 0.3);
        let at = |(dx, dy): &Point| (x + dx * radius, y + dy * radius);
        if let Some(lines) = crossed(shape) {
            let width = radius * if open { 0.35 } else { 0.6 };
            for line in lines {
                let line: Vec<Point> = line.iter().map(at).collect();
                self.line(&line, Stroke::solid(colour, width));
            }
            return;
        }
        let corners: Vec<Point> = corners(shape).iter().map(at).collect();
        self.area(&corners, Some(stroke), Some(fill));
    }
}

/// The lines of a symbol that has no area.
fn crossed(shape: &str) -> Option<[[Point; 2]; 2]> {
    match shape {
        "x" => Some([[(-0.8, -0.8), (0.8, 0.8)], [(-0.8, 0.8), (0.8, -0.8)]]),
        "cross" => Some([[(-1.0, 0.0), (1.0, 0.0)], [(0.0, -1.0), (0.0, 1.0)]]),
        _ => None,
    }
}

/// Corners of a symbol of radius 1.
fn corners(shape: &str) -> Vec<Point> {
    let ring = |count: u32, radius: &dyn Fn(u32) -> f64, turn: f64| -> Vec<Point> {
        let corner = |index: u32| {
            let angle = std::f64::consts::TAU * (f64::from(index) / f64::from(count) + turn);
            (radius(index) * libm::cos(angle), radius(index) * libm::sin(angle))
        };
        (0..count).map(corner).collect()
    };
    match shape {
        "square" => vec![(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
        "diamond" => ring(4, &|_| 1.15, 0.0),
        "triangle-up" => ring(3, &|_| 1.15, 0.75),
        "triangle-down" => ring(3, &|_| 1.15, 0.25),
        "triangle-left" => ring(3, &|_| 1.15, 0.5),
        "triangle-right" => ring(3, &|_| 1.15, 0.0),
        "pentagon" => ring(5, &|_| 1.05, 0.75),
        "hexagon" => ring(6, &|_| 1.05, 0.0),
        "hourglass" => vec![(-0.9, -1.0), (0.9, -1.0), (-0.9, 1.0), (0.9, 1.0)],
        "bowtie" => vec![(-1.0, -0.9), (-1.0, 0.9), (1.0, -0.9), (1.0, 0.9)],
        "star" => ring(10, &|index| if index % 2 == 0 { 1.25 } else { 0.5 }, 0.75),
        _ => ring(24, &|_| 1.0, 0.0),
    }
}

/// Lengths of dashes and gaps of plotly's names, for lines of this width.
pub(super) fn dashes(name: &str, width: f64) -> Vec<f64> {
    let lengths: &[f64] = match name {
        "dash" => &[5.0, 2.5],
        "dot" => &[1.2, 1.8],
        "dashdot" => &[5.0, 1.8, 1.2, 1.8],
        "longdash" => &[9.0, 2.5],
        "longdashdot" => &[9.0, 1.8, 1.2, 1.8],
        _ => &[],
    };
    lengths.iter().map(|length| length * width).collect()
}
