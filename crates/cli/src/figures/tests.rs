//! Figures of made-up variants in every format.

use super::data::{Curve, ShownVariant};
use super::drawing::Style as Look;
use super::drawing::{Colour, Item};
use super::frame::{Entry, Legend};
use super::plots::{Layout, figures};
use super::*;
use lab::statistics::Interval;
use traffic::{Measure, Metric};

fn variant(name: &str, colour: &str, symbol: &'static str, shift: f64) -> ShownVariant {
    let mut values: Vec<f64> =
        (0..40).map(|n| 0.1 + shift + 0.002 * f64::from(n * 7 % 40)).collect();
    values.push(1.0 + shift);
    let tail = |n: u32| 0.05 + shift + 0.001 * f64::from(n) + 400.0 / f64::from(1000 - n).powi(2);
    let delays: Vec<f64> = (0..990).map(tail).collect();
    let look = Look { colour: Colour::parse(colour), dash: "dash", symbol, is_open: false };
    let rate = |path: f64| (1..100).map(move |n| (f64::from(n) / 10.0, path * f64::from(n % 9)));
    let interval = Interval { low: shift - 0.01, high: shift + 0.02 };
    ShownVariant {
        name: name.to_owned(),
        look,
        mean: Some(0.15 + shift),
        mean_interval: Some(Interval { low: 0.14 + shift, high: 0.17 + shift }),
        difference: (shift > 0.0).then_some((shift, Some(interval))),
        values,
        delays: Curve { missing: 3, ..Curve::of(&delays) },
        of_paths: Vec::new(),
        packets: Vec::new(),
        rates: vec![
            ("wlan".to_owned(), look, rate(1e6).collect()),
            ("lte".to_owned(), Look { dash: "solid", ..look }, rate(2e6).collect()),
        ],
    }
}

fn shown() -> Shown {
    Shown {
        metric: Measure::of_metric(Metric::MessageDelay),
        has_objects: false,
        variants: vec![
            variant("tcp/wlan/cubic", "#0072b2", "circle", 0.0),
            variant("mptcp/<lrf>&/cubic", "#d55e00", "diamond", 0.05),
            variant("mptcp/redundant/cubic", "#cc79a7", "x", 0.02),
        ],
        baselines: "tcp/wlan/cubic".to_owned(),
        margin: Some(0.0075),
    }
}

fn style(size: (f64, Option<f64>)) -> Style {
    Style { size, font_size: 8.0, font: None }
}

#[test]
fn every_figure_is_a_file_in_every_format() {
    let formats = [Format::Svg, Format::Pdf, Format::Png];
    let files = files(&shown(), &style((240.0, None)), &formats).expect("files");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let figures = ["metric-boxes", "metric-means", "difference", "delay-cdf", "delay-ccdf"];
    let rates = ["rate-tcp-wlan-cubic", "rate-mptcp-lrf-cubic", "rate-mptcp-redundant-cubic"];
    for name in figures.into_iter().chain(rates) {
        for (format, start) in [("svg", "<!-- anabranch"), ("pdf", "%PDF-1."), ("png", "\u{89}PNG")]
        {
            let name = format!("{name}.{format}");
            let (_, content) = files.iter().find(|(other, _)| *other == name).expect(&name);
            let first: String = content.iter().take(14).map(|byte| char::from(*byte)).collect();
            assert!(first.starts_with(start), "{name}: {first}");
            let own = content[..1024].windows(9).any(|bytes| bytes == b"anabranch");
            assert!(own, "{name} says who wrote it");
        }
    }
    assert_eq!(names.len(), 8 * 3, "{names:?}");
    let (_, svg) = files.iter().find(|(name, _)| name == "metric-boxes.svg").expect("boxes");
    let svg = String::from_utf8_lossy(svg);
    assert!(svg.contains("n = 41") && svg.contains("mptcp/&lt;lrf&gt;&amp;/cubic"));
    assert!(svg.contains("width=\"3.33in\"") && svg.contains("base64,"), "its size and font");
}

#[test]
fn nothing_is_drawn_outside_of_the_figure() {
    let font = Font::find(None).expect("the font");
    for (width, height, size) in
        [(240.0, None, 8.0), (150.0, None, 10.0), (504.0, None, 10.0), (240.0, Some(150.0), 6.0)]
    {
        let layout = Layout { width, height, size, font: &font };
        for (name, drawing) in figures(&shown(), &layout) {
            assert!(height.is_none_or(|height| height == drawing.height), "{name}");
            for item in &drawing.items {
                let (left, right, top, bottom) = extent(&drawing, item);
                let inside = left > -0.5
                    && top > -0.5
                    && right < drawing.width + 0.5
                    && bottom < drawing.height + 0.5;
                assert!(inside, "{name}: {item:?} in {width} x {}", drawing.height);
            }
        }
    }
}

fn extent(drawing: &Drawing<'_>, item: &Item) -> (f64, f64, f64, f64) {
    match item {
        Item::Path { points, .. } => points.iter().fold(
            (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY),
            |(l, r, t, b), (x, y)| (l.min(*x), r.max(*x), t.min(*y), b.max(*y)),
        ),
        Item::Text { at: (x, y), size, anchor, turned, text, .. } => {
            let width = drawing.font.width(text) * size;
            let before = match anchor {
                drawing::Anchor::Start => 0.0,
                drawing::Anchor::Middle => width / 2.0,
                drawing::Anchor::End => width,
            };
            let (from, to) = (-before, width - before);
            if *turned {
                (x - size * 0.8, *x, y - to, y - from)
            } else {
                (x + from, x + to, y - size * 0.8, *y)
            }
        }
    }
}

#[test]
fn sizes_have_units() {
    assert_eq!(parse_size("3.5in"), Ok((252.0, None)));
    assert_eq!(parse_size("7inx3.5in"), Ok((504.0, Some(252.0))));
    let (width, height) = parse_size("88.9mm").expect("a size");
    assert!((width - 252.0).abs() < 1e-9 && height.is_none());
    for wrong in ["3.3", "x", "inx3in", "3in x", "-3in", "0in", "1000in", "NaNin", "3 inches"] {
        assert!(parse_size(wrong).is_err(), "{wrong}");
    }
    assert_eq!(parse_font_size("9pt"), Ok(9.0));
    assert!(parse_font_size("0").is_err() && parse_font_size("big").is_err());
}

/// Regression: lines with markers stood for bars of one colour, which have none.
#[test]
fn legend_of_bars_has_their_fills() {
    let font = Font::find(None).expect("the font");
    let look = variant("", "#d55e00", "diamond", 0.0).look;
    let entry = |name: &str| Entry { name: name.to_owned(), look };
    let mut drawing = drawing::Drawing::new((240.0, 80.0), &font, 8.0);
    let legend = Legend::new(&drawing, vec![entry("lrf"), entry("blest")]);
    let fills = [Colour::parse("#d55e00").tinted(0.7), Colour::parse("#d55e00").tinted(0.0)];
    legend.of_patches(fills.map(|fill| (look.colour, fill)).to_vec()).draw(&mut drawing, 0.0);
    let filled = drawing.items.iter().filter_map(|item| match item {
        Item::Path { fill, .. } => Some(*fill),
        Item::Text { .. } => None,
    });
    assert_eq!(filled.collect::<Vec<_>>(), fills.map(Some));
}
