//! Figures of papers: grouped bars and boxes, curves over a number, tails of distributions.

use super::axis::Axis;
use super::drawing::{Anchor, Colour, Drawing, Point, Stroke, Style};
use super::frame::{Entry, Frame, Legend, line_of, room_below, room_beside};
use super::grid;
use super::plots::{Layout, Line, MARGIN, RATIO, curves_of};
use crate::report::{Boxed, Plot, Plotted};
use lab::reproduction::Draw;

/// Tints of bars and boxes that have one colour, in the order of their variants.
const TINTS: [f64; 4] = [0.7, 0.0, 0.4, 0.2];
/// Share of the room of a group that its bars and boxes take.
const FILLED: f64 = 0.84;
/// Numbers at a vertical axis.
const TICKS: f64 = 6.0;

/// The drawing of a figure.
pub(super) fn figure<'a>(plotted: &Plotted<'_>, layout: &Layout<'a>) -> Drawing<'a> {
    match plotted.drawn.figure.draw {
        Draw::Bars | Draw::Box => grouped(plotted, layout),
        Draw::Lines | Draw::Ccdf | Draw::Packets => curves(plotted, layout),
        Draw::Series => over_time(plotted, layout),
        Draw::Matrix => grid::drawing(&plotted.drawn.cells, layout),
    }
}

/// A drawing with its frame and a legend below; `below` is the room of the horizontal axis.
fn framed<'a>(
    plotted: &Plotted<'_>,
    layout: &Layout<'a>,
    y: &Axis,
    below: f64,
) -> (Drawing<'a>, Frame) {
    let probe = Drawing::new((layout.width, 0.0), layout.font, layout.size);
    let entry = |plot: &Plot<'_>| Entry { name: plot.name.clone(), look: Style::of(plot.look) };
    let legend = Legend::new(&probe, plotted.plots.iter().map(entry).collect());
    let is_filled = matches!(plotted.drawn.figure.draw, Draw::Bars | Draw::Box);
    let patches = plotted.plots.iter().filter(|_| is_filled).map(|plot| colours(plotted, plot));
    let legend = legend.of_patches(patches.collect());
    let room = legend.height(layout.size);
    let height = layout.height.unwrap_or(layout.width * RATIO * 0.75 + below + room);
    let frame = Frame {
        left: room_beside(&probe, y),
        top: MARGIN + 0.4 * layout.size,
        right: layout.width - MARGIN - layout.size,
        bottom: (height - below - room - MARGIN).max(MARGIN + 3.0 * layout.size),
    };
    let mut drawing = Drawing::new((layout.width, height), layout.font, layout.size);
    frame.beside(&mut drawing, y);
    legend.draw(&mut drawing, frame.bottom + below);
    (drawing, frame)
}

/// The axis of the number; bars and lines begin at zero.
fn axis_of(plotted: &Plotted<'_>, values: &[f64]) -> Axis {
    let positive = || values.iter().copied().filter(|value| *value > 0.0);
    let (low, high) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
    let from_zero = plotted.drawn.figure.draw != Draw::Box;
    match plotted.is_log() && high > 0.0 {
        true => Axis::log(low, high, &plotted.label),
        false => Axis::around(values, from_zero, TICKS, &plotted.label),
    }
}

/// Bars or boxes, those of an experiment beside each other.
fn grouped<'a>(plotted: &Plotted<'_>, layout: &Layout<'a>) -> Drawing<'a> {
    let is_bars = plotted.drawn.figure.draw == Draw::Bars;
    let series = || plotted.plots.iter().flat_map(|plot| &plot.series);
    let mut values: Vec<f64> = Vec::new();
    for (_, of) in series() {
        match (is_bars, plotted.mean(of)) {
            (true, (mean, low, high)) => values.extend([mean, low, high]),
            (false, _) => values.extend(plotted.shown(of)),
        }
    }
    if is_bars && !plotted.is_log() {
        values.push(0.0);
    }
    let y = axis_of(plotted, &values);
    let probe = Drawing::new((layout.width, 0.0), layout.font, layout.size);
    let widest = plotted.groups.iter().map(|name| probe.width_of(name)).fold(0.0, f64::max);
    let slot = |frame: &Frame| (frame.right - frame.left) / plotted.groups.len().max(1) as f64;
    // Long names read upwards.
    let is_turned = widest * plotted.groups.len() as f64 > 0.8 * layout.width;
    let below = if is_turned { widest + 1.5 * layout.size } else { 2.2 * layout.size };
    let (mut drawing, frame) = framed(plotted, layout, &y, below);
    let width = slot(&frame);
    for (place, name) in plotted.groups.iter().enumerate() {
        let middle = frame.left + (place as f64 + 0.5) * width;
        if is_turned {
            let at = (middle + 0.35 * layout.size, frame.bottom + 0.6 * layout.size + widest / 2.0);
            drawing.upwards(at, name, widest + 1.0);
        } else {
            drawing.text((middle, frame.bottom + 1.4 * layout.size), Anchor::Middle, name);
        }
        let own: Vec<_> = plotted
            .plots
            .iter()
            .flat_map(|plot| plot.series.iter().map(move |(group, of)| (plot, *group, *of)))
            .filter(|(_, group, _)| *group == place)
            .collect();
        let each = FILLED * width / own.len().max(1) as f64;
        for (index, (plot, _, of)) in own.iter().enumerate() {
            let left = middle - FILLED * width / 2.0 + index as f64 * each;
            let ends = (left, left + each);
            let colours = colours(plotted, plot);
            if is_bars {
                bar(&mut drawing, &frame, &y, (ends, plotted.mean(of)), colours);
            } else {
                one_box(&mut drawing, &frame, &y, (ends, plotted.shown(of)), colours);
            }
        }
    }
    frame.border(&mut drawing);
    drawing
}

/// Edge and fill of the bars or boxes of a variant; those of one colour differ in their fills.
fn colours(plotted: &Plotted<'_>, plot: &Plot<'_>) -> (Colour, Colour) {
    let edge = Style::of(plot.look).colour;
    (edge, edge.tinted(TINTS[plotted.of_colour_before(plot) % TINTS.len()]))
}

fn bar(
    drawing: &mut Drawing<'_>,
    frame: &Frame,
    y: &Axis,
    ((left, right), (mean, low, high)): ((f64, f64), (f64, f64, f64)),
    (edge, fill): (Colour, Colour),
) {
    let at = |value: f64| frame.at(0.0, y.place(value)).1;
    let gap = 0.06 * (right - left);
    let (corner, other) = ((left + gap, at(mean)), (right - gap, frame.bottom));
    drawing.rectangle(corner, other, Some(Stroke::solid(edge, 0.6)), Some(fill));
    let middle = (left + right) / 2.0;
    let cap = 0.18 * (right - left);
    let stroke = Stroke::solid(Colour::BLACK, 0.7);
    drawing.line(&[(middle, at(low)), (middle, at(high))], stroke.clone());
    for end in [low, high] {
        drawing.line(&[(middle - cap, at(end)), (middle + cap, at(end))], stroke.clone());
    }
}

fn one_box(
    drawing: &mut Drawing<'_>,
    frame: &Frame,
    y: &Axis,
    ((left, right), values): ((f64, f64), Vec<f64>),
    (edge, fill): (Colour, Colour),
) {
    let Some(of) = Boxed::of(&values) else { return };
    let Boxed { first, low, median, high, last, outliers } = of;
    let at = |value: f64| frame.at(0.0, y.place(value)).1;
    let (middle, gap) = ((left + right) / 2.0, 0.1 * (right - left));
    let cap = 0.2 * (right - left);
    let stroke = Stroke::solid(edge, 0.8);
    for (end, side) in [(first, low), (last, high)] {
        drawing.line(&[(middle, at(end)), (middle, at(side))], stroke.clone());
        drawing.line(&[(middle - cap, at(end)), (middle + cap, at(end))], stroke.clone());
    }
    let (corner, other) = ((left + gap, at(high)), (right - gap, at(low)));
    drawing.rectangle(corner, other, Some(stroke), Some(fill));
    let line = [(left + gap, at(median)), (right - gap, at(median))];
    drawing.line(&line, Stroke::solid(Colour::BLACK, 1.0));
    for outlier in outliers {
        drawing.symbol((middle, at(outlier)), ("circle", true), 1.0, edge);
    }
}

/// A quantity of one repetition over time.
fn over_time<'a>(plotted: &Plotted<'_>, layout: &Layout<'a>) -> Drawing<'a> {
    let line = |plot: &Plot<'_>| Line {
        entry: Entry { name: plot.name.clone(), look: Style::of(plot.look) },
        points: plot.line.map(|line| plotted.points(line)).unwrap_or_default(),
    };
    let lines: Vec<Line> = plotted.plots.iter().map(line).collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    let end = points().map(|(at, _)| *at).fold(0.0, f64::max);
    let highest = points().map(|(_, value)| *value).fold(0.0, f64::max);
    let x = Axis::linear(0.0, end, 8.0, "time (s)");
    let y = Axis::linear(0.0, highest * 1.03, TICKS, &plotted.label);
    curves_of(layout, None, &lines, (&x, &y))
}

/// Means over a number, or shares above it.
fn curves<'a>(plotted: &Plotted<'_>, layout: &Layout<'a>) -> Drawing<'a> {
    let is_lines = plotted.drawn.figure.draw == Draw::Lines;
    let points = |plot: &Plot<'_>| -> Vec<Point> {
        match is_lines {
            true => {
                let of =
                    |(place, series): &(usize, &_)| (plotted.place(*place), plotted.mean(series).0);
                plot.series.iter().map(of).collect()
            }
            false => plotted.tail(plot),
        }
    };
    let all: Vec<Point> = plotted.plots.iter().flat_map(points).collect();
    let (xs, ys): (Vec<f64>, Vec<f64>) = all.iter().copied().unzip();
    let (x, y) = if is_lines {
        let label = plotted.drawn.figure.x.as_deref().unwrap_or_default();
        let ends = plotted.plots.iter().flat_map(|plot| &plot.series).flat_map(|(_, series)| {
            let (_, low, high) = plotted.mean(series);
            [low, high]
        });
        let ys: Vec<f64> = ys.into_iter().chain(ends).chain([0.0]).collect();
        (Axis::around(&xs, false, 8.0, label), axis_of(plotted, &ys))
    } else {
        let least = ys.iter().copied().fold(1.0, f64::min);
        (axis_of(plotted, &xs), Axis::log(least, 1.0, plotted.share_label()))
    };
    let probe = Drawing::new((layout.width, 0.0), layout.font, layout.size);
    let (mut drawing, frame) = framed(plotted, layout, &y, room_below(&probe));
    frame.below(&mut drawing, &x);
    let is_steps = plotted.drawn.figure.draw == Draw::Ccdf;
    for plot in &plotted.plots {
        let style = Style::of(plot.look);
        let at = |(a, b): Point| frame.at(x.place(a), y.place(b));
        let corners = points(plot);
        let steps = corners.windows(2).flat_map(|two| [two[0], (two[1].0, two[0].1)]);
        let line: Vec<Point> = match is_steps {
            true => steps.chain(corners.last().copied()).map(at).collect(),
            false => corners.iter().copied().map(at).collect(),
        };
        drawing.line(&line, line_of(&style));
        if is_lines {
            for (place, series) in &plot.series {
                let (_, low, high) = plotted.mean(series);
                let ends = [low, high].map(|end| at((plotted.place(*place), end)));
                drawing.line(&ends, Stroke::solid(style.colour, 0.8));
            }
        }
        let every = if is_steps { corners.len().div_ceil(4).max(1) } else { 1 };
        for corner in corners.iter().skip(every / 2).step_by(every) {
            drawing.marker(at(*corner), &style, 0.28 * layout.size);
        }
    }
    frame.border(&mut drawing);
    drawing
}
