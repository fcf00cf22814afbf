//! A drawing as SVG 1.1, with its text as text and the built-in font inside.

use super::GENERATOR;
use super::drawing::{Anchor, Drawing, Item, Point, Stroke};
use std::fmt::Write;

/// The file.
pub(super) fn svg(drawing: &Drawing<'_>) -> String {
    let Drawing { width, height, .. } = *drawing;
    let mut text = format!(
        "<!-- {GENERATOR} -->\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}in\" \
         height=\"{}in\" viewBox=\"0 0 {} {}\">\n",
        number(width / 72.0),
        number(height / 72.0),
        number(width),
        number(height)
    );
    let font = drawing.font;
    let family = escaped(&font.family);
    if font.is_built_in() {
        let data = base64(&font.data);
        text.push_str(&format!(
            "<style>@font-face{{font-family:\"{family}\";src:url(data:font/ttf;base64,{data})}}\
             </style>\n"
        ));
    }
    text.push_str(&format!(
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<g font-family=\"'{family}', \
         sans-serif\" stroke-linejoin=\"round\">\n"
    ));
    for item in &drawing.items {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", element(item));
    }
    text.push_str("</g>\n</svg>\n");
    text
}

fn element(item: &Item) -> String {
    match item {
        Item::Path { points, closed, stroke, fill } => {
            let fill = fill.map_or("none".to_owned(), |colour| colour.hex());
            let data = path(points, *closed);
            let stroke = stroke.as_ref().map(stroked).unwrap_or_default();
            format!("<path d=\"{data}\" fill=\"{fill}\"{stroke}/>")
        }
        Item::Text { at: (x, y), size, anchor, turned, colour, text } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y) = (number(*x), number(*y));
            let turn =
                if *turned { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
            format!(
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" \
                 fill=\"{}\"{turn}>{}</text>",
                number(*size),
                colour.hex(),
                escaped(text)
            )
        }
    }
}

fn path(points: &[Point], closed: bool) -> String {
    let mut data = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(data, "{command}{} {}", number(*x), number(*y));
    }
    if closed {
        data.push('Z');
    }
    data
}

fn stroked(stroke: &Stroke) -> String {
    let mut text =
        format!(" stroke=\"{}\" stroke-width=\"{}\"", stroke.colour.hex(), number(stroke.width));
    if !stroke.dash.is_empty() {
        let lengths: Vec<String> = stroke.dash.iter().map(|length| number(*length)).collect();
        let _ = write!(text, " stroke-dasharray=\"{}\"", lengths.join(" "));
    }
    text
}

/// At most two decimals, a hundredth of a point.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// RFC 4648 s4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for chunk in bytes.chunks(3) {
        let part = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = part(0) << 16 | part(1) << 8 | part(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, -0.001, 1.5, 2.126, 300.0].map(number), ["0", "0", "1.5", "2.13", "300"]);
    }
}
