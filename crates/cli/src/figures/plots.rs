//! The figures: boxes, means, distributions, rates over time, differences.

use super::axis::Axis;
use super::data::{Curve, Shown, ShownVariant};
use super::drawing::{Anchor, Colour, Drawing, Point, Stroke, Style};
use super::font::Font;
use super::frame::{Entry, Frame, Legend, THIN, line_of, room_below, room_beside};
use crate::report::Boxed;
use lab::Scale;
use lab::run::Counted;
use lab::statistics::Interval;

/// Size of figures and their text, in points.
pub(super) struct Layout<'a> {
    pub width: f64,
    /// `None`: as high as the content asks for.
    pub height: Option<f64>,
    pub size: f64,
    pub font: &'a Font,
}

/// A figure and the name of its file.
pub(super) type Named<'a> = (String, Drawing<'a>);

/// Margin at the edges.
pub(super) const MARGIN: f64 = 4.0;
/// Height by width of curves.
pub(super) const RATIO: f64 = 0.62;

/// All figures with data.
pub(super) fn figures<'a>(shown: &Shown, layout: &Layout<'a>) -> Vec<Named<'a>> {
    let mut figures = Vec::new();
    if shown.variants.iter().any(|of| of.values.len() > 1) {
        figures.push(("metric-boxes".to_owned(), boxes(shown, layout)));
        figures.push(("metric-means".to_owned(), means(shown, layout)));
    }
    if shown.variants.iter().any(|of| of.difference.is_some()) {
        figures.push(("difference".to_owned(), differences(shown, layout)));
    }
    figures.extend(distributions(shown, layout));
    figures.extend(packets(shown, layout));
    figures.extend(rates(shown, layout));
    figures
}

/// Rows of variants below each other, their names on the left.
struct Rows<'a> {
    drawing: Drawing<'a>,
    frame: Frame,
    row: f64,
}

impl<'a> Rows<'a> {
    fn new(layout: &Layout<'a>, names: &[String], lines: f64) -> Rows<'a> {
        let size = layout.size;
        let rows = names.len().max(1) as f64;
        let probe = Drawing::new((layout.width, 0.0), layout.font, size);
        let widest = names.iter().map(|name| probe.width_of(name)).fold(0.0, f64::max);
        let below = room_below(&probe);
        let wanted = rows * lines * size + below + 2.0 * MARGIN;
        let height = layout.height.unwrap_or(wanted);
        let left = (widest + 8.0).min(layout.width * 0.6);
        let frame = Frame {
            left,
            top: MARGIN,
            right: layout.width - MARGIN - size,
            bottom: height - below - MARGIN,
        };
        let drawing = Drawing::new((layout.width, height), layout.font, size);
        let row = (frame.bottom - frame.top) / rows;
        Rows { drawing, frame, row }
    }

    /// Vertical position of the middle of a row.
    fn middle(&self, index: usize) -> f64 {
        self.frame.top + (index as f64 + 0.5) * self.row
    }

    fn name(&mut self, index: usize, name: &str) {
        let at = (self.frame.left - 5.0, self.middle(index) + 0.35 * self.drawing.size);
        let fitting = self.drawing.fitting(name, self.frame.left - 6.0);
        self.drawing.coloured(at, Anchor::End, name, (fitting, Colour::BLACK));
    }

    fn x(&self, axis: &Axis, value: f64) -> f64 {
        self.frame.at(axis.place(value), 0.0).0
    }

    fn small(&self) -> (f64, Colour) {
        (0.8 * self.drawing.size, Colour::GREY)
    }
}

fn names(shown: &Shown) -> Vec<String> {
    shown.variants.iter().map(|of| of.name.clone()).collect()
}

/// Numbers that fit beside each other on a horizontal axis.
fn most_ticks(layout: &Layout<'_>, width: f64) -> f64 {
    width / (layout.size * 4.0)
}

/// Median, quartiles, whiskers, outliers and n.
fn boxes<'a>(shown: &Shown, layout: &Layout<'a>) -> Drawing<'a> {
    let scale = shown.scale();
    let mut rows = Rows::new(layout, &names(shown), 3.4);
    let all: Vec<f64> =
        shown.variants.iter().flat_map(|of| &of.values).map(|value| scale.shown(*value)).collect();
    let most = most_ticks(layout, rows.frame.right - rows.frame.left);
    let axis = Axis::around(&all, false, most, &shown.label());
    let frame = rows.frame;
    frame.below(&mut rows.drawing, &axis);
    for (index, of) in shown.variants.iter().enumerate() {
        rows.name(index, &of.name);
        let values: Vec<f64> = of.values.iter().map(|value| scale.shown(*value)).collect();
        one_box(&mut rows, index, &values, &of.look, &axis);
    }
    frame.border(&mut rows.drawing);
    rows.drawing
}

fn one_box(rows: &mut Rows<'_>, index: usize, values: &[f64], look: &Style, axis: &Axis) {
    let size = rows.drawing.size;
    let middle = rows.middle(index) - 0.45 * size;
    let half = (rows.row * 0.22).min(0.8 * size);
    let counted = format!("n = {}", values.len());
    let Some(Boxed { first, low, median, high, last, outliers }) = Boxed::of(values) else {
        let at = ((rows.frame.left + rows.frame.right) / 2.0, middle + half + size);
        let style = rows.small();
        return rows.drawing.coloured(at, Anchor::Middle, "no finished repetition", style);
    };
    let colour = look.colour;
    let stroke = Stroke::solid(colour, 0.9);
    let x = |value: f64| rows.frame.at(axis.place(value), 0.0).0;
    let at = [first, low, median, high, last].map(x);
    let outliers: Vec<f64> = outliers.into_iter().map(x).collect();
    let small = rows.small();
    let drawing = &mut rows.drawing;
    for (end, side) in [(at[0], at[1]), (at[4], at[3])] {
        drawing.line(&[(end, middle), (side, middle)], stroke.clone());
        let cap = [(end, middle - half * 0.6), (end, middle + half * 0.6)];
        drawing.line(&cap, stroke.clone());
    }
    let (corner, other) = ((at[1], middle - half), (at[3], middle + half));
    drawing.rectangle(corner, other, Some(stroke), Some(colour.tinted(0.25)));
    let line = [(at[2], middle - half), (at[2], middle + half)];
    drawing.line(&line, Stroke::solid(Colour::BLACK, 1.3));
    for outlier in outliers {
        drawing.symbol((outlier, middle), ("circle", true), 1.3, colour);
    }
    let width = drawing.font.width(&counted) * small.0;
    let (left, right) = (rows.frame.left + width / 2.0 + 2.0, rows.frame.right - width / 2.0 - 2.0);
    let centre = ((at[1] + at[3]) / 2.0).clamp(left, right.max(left));
    drawing.coloured((centre, middle + half + size), Anchor::Middle, &counted, small);
}

/// Means with their 95 % intervals.
fn means<'a>(shown: &Shown, layout: &Layout<'a>) -> Drawing<'a> {
    let scale = shown.scale();
    let label = format!("mean {}, 95 % interval", shown.label());
    let row = |of: &ShownVariant| (of.mean, of.mean_interval);
    intervals(shown, layout, (&scale, &label), row, |_, _, _| {})
}

/// Differences from the baseline with the intervals that decide.
fn differences<'a>(shown: &Shown, layout: &Layout<'a>) -> Drawing<'a> {
    let scale = shown.scale();
    let label = format!("difference from {} ({})", shown.baselines, scale.unit);
    let row = |of: &ShownVariant| {
        of.difference.map_or((None, None), |(mean, interval)| (Some(mean), interval))
    };
    let margin = shown.margin.map(|margin| scale.shown(margin));
    intervals(shown, layout, (&scale, &label), row, |drawing, frame, axis| {
        if let Some(margin) = margin {
            let ends = [-margin, margin].map(|value| frame.at(axis.place(value), 0.0).0);
            let (corner, other) = ((ends[0], frame.top), (ends[1], frame.bottom));
            drawing.rectangle(corner, other, None, Some(Colour::SHADE));
        }
        let (x, _) = frame.at(axis.place(0.0), 0.0);
        drawing.line(&[(x, frame.top), (x, frame.bottom)], Stroke::solid(Colour::BLACK, THIN));
    })
}

/// Points with intervals, one row a variant; `behind` draws behind them.
fn intervals<'a>(
    shown: &Shown,
    layout: &Layout<'a>,
    (scale, label): (&Scale, &str),
    row: impl Fn(&ShownVariant) -> (Option<f64>, Option<Interval>),
    behind: impl Fn(&mut Drawing<'_>, &Frame, &Axis),
) -> Drawing<'a> {
    let is_difference = |of: &&ShownVariant| row(of).0.is_some();
    let variants: Vec<&ShownVariant> = shown.variants.iter().filter(is_difference).collect();
    let names: Vec<String> = variants.iter().map(|of| of.name.clone()).collect();
    let mut rows = Rows::new(layout, &names, 2.2);
    let ends = |of: &&ShownVariant| {
        let (centre, interval) = row(of);
        let ends = interval.map(|interval| [interval.low, interval.high]);
        centre.into_iter().chain(ends.into_iter().flatten()).collect::<Vec<f64>>()
    };
    let mut all: Vec<f64> =
        variants.iter().flat_map(ends).map(|value| scale.shown(value)).collect();
    if label.starts_with("difference") {
        all.push(0.0);
    }
    let most = most_ticks(layout, rows.frame.right - rows.frame.left);
    let axis = Axis::around(&all, false, most, label);
    let frame = rows.frame;
    behind(&mut rows.drawing, &frame, &axis);
    frame.below(&mut rows.drawing, &axis);
    for (index, of) in variants.iter().enumerate() {
        rows.name(index, &of.name);
        let (centre, interval) = row(of);
        let (y, colour) = (rows.middle(index), of.look.colour);
        let size = rows.drawing.size;
        if let Some(Interval { low, high }) = interval {
            let (low, high) = (rows.x(&axis, scale.shown(low)), rows.x(&axis, scale.shown(high)));
            let stroke = Stroke::solid(colour, 1.1);
            rows.drawing.line(&[(low, y), (high, y)], stroke.clone());
            for end in [low, high] {
                let cap = [(end, y - 0.35 * size), (end, y + 0.35 * size)];
                rows.drawing.line(&cap, stroke.clone());
            }
        }
        if let Some(centre) = centre {
            let at = (rows.x(&axis, scale.shown(centre)), y);
            rows.drawing.marker(at, &of.look, 0.33 * size);
        }
    }
    frame.border(&mut rows.drawing);
    rows.drawing
}

/// A line of a figure with its name.
pub(super) struct Line {
    pub entry: Entry,
    pub points: Vec<Point>,
}

/// Distributions of the delays of messages or objects, or else of the metric over repetitions.
fn distributions<'a>(shown: &Shown, layout: &Layout<'a>) -> Vec<Named<'a>> {
    let has_delays = shown.variants.iter().any(|of| !of.delays.points.is_empty());
    let curve = |of: &ShownVariant| {
        if has_delays { of.delays.clone() } else { Curve::of(&of.values) }
    };
    let (kind, what) = match (has_delays, shown.has_objects) {
        (true, true) => ("delay", "time of an object"),
        (true, false) => ("delay", "message delay"),
        _ => ("metric", ""),
    };
    let curves: Vec<(Entry, Curve)> = shown
        .variants
        .iter()
        .map(|of| (Entry { name: of.name.clone(), look: of.look }, curve(of)))
        .collect();
    let shares = if has_delays { "share of all" } else { "share of repetitions" };
    let name = shown.metric.name().replace('_', " ");
    let what = if what.is_empty() { name.as_str() } else { what };
    let unit = if has_delays { "s" } else { shown.metric.unit() };
    let mut figures = both(layout, &curves, None, (what, unit, shares), kind);
    for of in &shown.variants {
        let paths = of.of_paths.iter().map(|(name, look, curve)| {
            let name = format!("last byte on {name}");
            (Entry { name, look: *look }, curve.clone())
        });
        let paths: Vec<(Entry, Curve)> = paths.collect();
        let file = format!("delay-paths-{}", file_name(&of.name));
        figures.extend(both(layout, &paths, Some(&of.name), (what, unit, shares), &file));
    }
    figures
}

/// Distributions of packets over all repetitions, one of each kind and path.
fn packets<'a>(shown: &Shown, layout: &Layout<'a>) -> Vec<Named<'a>> {
    let all = shown.variants.iter().flat_map(|of| &of.packets);
    let mut kinds: Vec<(Counted, &Option<String>)> = all.map(|(of, path, _)| (*of, path)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let figure = |(of, path): (Counted, &Option<String>)| {
        let curve = |variant: &ShownVariant| {
            let mut own = variant.packets.iter();
            let (.., curve) = own.find(|(kind, on, _)| (*kind, on) == (of, path))?;
            Some((Entry { name: variant.name.clone(), look: variant.look }, curve.clone()))
        };
        let curves: Vec<(Entry, Curve)> = shown.variants.iter().filter_map(curve).collect();
        let name = of.name().replace('_', "-");
        let file = path.as_ref().map_or(name.clone(), |path| format!("{name}-{}", file_name(path)));
        both(layout, &curves, path.as_deref(), (of.words(), "s", "share"), &file)
    };
    kinds.into_iter().flat_map(figure).collect()
}

/// The distribution function and its complement.
fn both<'a>(
    layout: &Layout<'a>,
    curves: &[(Entry, Curve)],
    title: Option<&str>,
    (what, unit, shares): (&str, &str, &str),
    file: &str,
) -> Vec<Named<'a>> {
    let drawn = || curves.iter().filter(|(_, curve)| curve.points.len() > 1);
    let Some(first) = drawn().filter_map(|(_, curve)| curve.median()).reduce(f64::min) else {
        return Vec::new();
    };
    let scale = Scale::of(unit, first);
    let all: Vec<f64> = drawn()
        .flat_map(|(_, curve)| [curve.points.first(), curve.points.last()])
        .flatten()
        .map(|(value, _)| scale.shown(*value))
        .collect();
    let label = format!("{what} ({})", scale.unit);
    let (low, high) = (
        all.iter().copied().fold(f64::INFINITY, f64::min),
        all.iter().copied().fold(0.0, f64::max),
    );
    let middle = drawn().filter_map(|(_, curve)| curve.median()).fold(0.0, f64::max);
    // A tail far beyond the medians would leave no room for them on a linear axis.
    let is_long = low > 0.0 && high > 12.0 * scale.shown(middle);
    let most = most_ticks(layout, layout.width * 0.8);
    let x = || {
        if is_long { Axis::log(low, high, &label) } else { Axis::around(&all, false, most, &label) }
    };
    let lines = |is_complement: bool| -> Vec<Line> {
        let line = |(entry, curve): &(Entry, Curve)| Line {
            entry: Entry { name: named(entry, curve), look: entry.look },
            points: steps(curve, &scale, is_complement),
        };
        drawn().map(line).collect()
    };
    let (cdf, ccdf) = (lines(false), lines(true));
    let least = ccdf.iter().flat_map(|line| &line.points).map(|(_, share)| *share);
    let least = least.filter(|share| *share > 0.0).fold(1.0, f64::min);
    let below = Axis::linear(0.0, 1.0, 5.0, &format!("{shares} at most this"));
    let above = Axis::log(least, 1.0, &format!("{shares} above this"));
    vec![
        (format!("{file}-cdf"), curves_of(layout, title, &cdf, (&x(), &below))),
        (format!("{file}-ccdf"), curves_of(layout, title, &ccdf, (&x(), &above))),
    ]
}

/// The name, and where messages are missing how many.
fn named(entry: &Entry, curve: &Curve) -> String {
    match curve.missing {
        0 => entry.name.clone(),
        missing => format!("{} ({missing} did not arrive)", entry.name),
    }
}

/// The corners of the steps of a distribution; from 0 or, of a complement, from 1.
fn steps(curve: &Curve, scale: &Scale, is_complement: bool) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    let mut before = if is_complement { 1.0 } else { 0.0 };
    for (value, share) in &curve.points {
        let value = scale.shown(*value);
        let share = if is_complement { 1.0 - share } else { *share };
        points.push((value, before));
        // The complement ends with its last positive value: there is no logarithm of 0.
        if !(is_complement && share <= 1e-12) {
            points.push((value, share));
            before = share;
        }
    }
    points
}

/// Curves in one frame, with a legend below.
/// Lines in a frame, with a legend below.
pub(super) fn curves_of<'a>(
    layout: &Layout<'a>,
    title: Option<&str>,
    lines: &[Line],
    (x, y): (&Axis, &Axis),
) -> Drawing<'a> {
    let probe = Drawing::new((layout.width, 0.0), layout.font, layout.size);
    let entry = |line: &Line| Entry { name: line.entry.name.clone(), look: line.entry.look };
    let legend = Legend::new(&probe, lines.iter().map(entry).collect());
    let below = room_below(&probe) + legend.height(layout.size);
    let height = layout.height.unwrap_or(layout.width * RATIO + legend.height(layout.size));
    let frame = Frame {
        left: room_beside(&probe, y),
        top: MARGIN + title.map_or(0.4, |_| 1.4) * layout.size,
        right: layout.width - MARGIN - layout.size,
        bottom: (height - below - MARGIN).max(MARGIN + 3.0 * layout.size),
    };
    let mut drawing = Drawing::new((layout.width, height), layout.font, layout.size);
    if let Some(title) = title {
        let style = (drawing.fitting(title, frame.right - frame.left), Colour::BLACK);
        drawing.coloured((frame.left, frame.top - 0.4 * layout.size), Anchor::Start, title, style);
    }
    frame.beside(&mut drawing, y);
    frame.below(&mut drawing, x);
    for Line { entry, points } in lines {
        let placed: Vec<Point> = points
            .iter()
            .map(|(value, share)| frame.at(x.place(*value), y.place(*share)))
            .collect();
        drawing.line(&placed, line_of(&entry.look));
        // A few marks tell lines apart where colours cannot.
        for mark in 1..=4 {
            if let Some(at) = placed.get(placed.len() * (2 * mark - 1) / 8) {
                let radius = 0.26 * layout.size;
                drawing.marker(*at, &entry.look, radius);
            }
        }
    }
    frame.border(&mut drawing);
    legend.draw(&mut drawing, frame.bottom + room_below(&probe));
    drawing
}

/// The rate of each path over time, one figure a variant.
fn rates<'a>(shown: &Shown, layout: &Layout<'a>) -> Vec<Named<'a>> {
    let highest = shown.variants.iter().flat_map(|of| &of.rates).flat_map(|(_, _, points)| points);
    let highest = highest.map(|(_, rate)| *rate).fold(0.0, f64::max);
    let scale = Scale::of("bit/s", highest);
    let figure = |of: &ShownVariant| {
        let end = of.rates.iter().filter_map(|(_, _, points)| points.last()).map(|(at, _)| *at);
        let end = end.fold(0.0, f64::max);
        let line = |(name, look, points): &(String, Style, Vec<Point>)| Line {
            entry: Entry { name: name.clone(), look: *look },
            points: points.iter().map(|(at, rate)| (*at, scale.shown(*rate))).collect(),
        };
        let lines: Vec<Line> = of.rates.iter().map(line).collect();
        let x = Axis::linear(0.0, end, most_ticks(layout, layout.width * 0.8), "time (s)");
        // The same axis in all figures, so that they can be put side by side.
        let label = format!("rate ({})", scale.unit);
        let y = Axis::linear(0.0, scale.shown(highest) * 1.03, 5.0, &label);
        (
            format!("rate-{}", file_name(&of.name)),
            curves_of(layout, Some(&of.name), &lines, (&x, &y)),
        )
    };
    shown.variants.iter().filter(|of| !of.rates.is_empty()).map(figure).collect()
}

/// A variant's name in the name of a file: words joined by hyphens.
fn file_name(variant: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.+".contains(c);
    let words = variant.split(|c: char| !is_plain(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}
