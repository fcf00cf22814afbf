//! Styles in the terms of plotly.js and as small drawings for tables, and numbers in a short form.

use super::palette::{Dash, Look, Marker};
use serde_json::{Value, json};

/// Steps between the smallest and the largest packed value: sixteen per pixel of a wide figure.
const STEPS: f64 = 20_000.0;

/// Packed numbers: multiples of a step as differences from the one before, which
/// `figure.js` adds up. A quarter of the length of decimal fractions.
pub(super) fn packed(values: &[Option<f64>]) -> Value {
    let known = || values.iter().flatten().copied();
    let least = known().fold(f64::INFINITY, f64::min);
    let most = known().fold(f64::NEG_INFINITY, f64::max);
    if !least.is_finite() || !most.is_finite() {
        return json!(values);
    }
    let is_whole = known().all(|value| value.fract() == 0.0);
    let step = if is_whole && most - least <= STEPS { 1.0 } else { (most - least) / STEPS };
    let mut before = 0;
    let difference = |value: &Option<f64>| {
        let steps = if step > 0.0 { ((*value)? - least) / step } else { 0.0 };
        let steps = steps.round() as i64;
        Some(steps - std::mem::replace(&mut before, steps))
    };
    let differences: Vec<Option<i64>> = values.iter().map(difference).collect();
    json!({"from": least, "step": step, "differences": differences})
}

/// As `packed`, without gaps.
pub(super) fn packed_all(values: impl IntoIterator<Item = f64>) -> Value {
    packed(&values.into_iter().map(Some).collect::<Vec<_>>())
}

/// The number with five significant digits, for logarithmic axes.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

impl Dash {
    /// Name in plotly.js.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Dash::Solid => "solid",
            Dash::Dash => "dash",
            Dash::Dot => "dot",
            Dash::DashDot => "dashdot",
            Dash::LongDash => "longdash",
            Dash::LongDashDot => "longdashdot",
        }
    }

    /// Lengths of strokes and gaps in SVG.
    fn strokes(self) -> &'static str {
        match self {
            Dash::Solid => "",
            Dash::Dash => "6 3",
            Dash::Dot => "2 2",
            Dash::DashDot => "6 2 2 2",
            Dash::LongDash => "9 3",
            Dash::LongDashDot => "9 2 2 2",
        }
    }
}

impl Marker {
    /// Name in plotly.js.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Marker::Circle => "circle",
            Marker::TriangleUp => "triangle-up",
            Marker::Square => "square",
            Marker::Cross => "cross",
            Marker::Diamond => "diamond",
            Marker::X => "x",
            Marker::TriangleDown => "triangle-down",
            Marker::Star => "star",
            Marker::Pentagon => "pentagon",
            Marker::Hexagon => "hexagon",
            Marker::Hourglass => "hourglass",
            Marker::Bowtie => "bowtie",
        }
    }

    /// Outline in a square of twelve units around the origin.
    fn outline(self) -> &'static str {
        match self {
            Marker::Circle => "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
            Marker::TriangleUp => "M0-5L5 4H-5z",
            Marker::Square => "M-4-4H4V4H-4z",
            Marker::Cross => "M-2-5H2V-2H5V2H2V5H-2V2H-5V-2H-2z",
            Marker::Diamond => "M0-5L5 0L0 5L-5 0z",
            Marker::X => "M-5-3L-3-5L0-2L3-5L5-3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0z",
            Marker::TriangleDown => "M0 5L-5-4H5z",
            Marker::Star => "M0-5L1.3-1.5L5-1.5L2 .8L3 4.5L0 2.3L-3 4.5L-2 .8L-5-1.5L-1.3-1.5z",
            Marker::Pentagon => "M0-5L5-1L3 5H-3L-5-1z",
            Marker::Hexagon => "M-2.5-4.5H2.5L5 0L2.5 4.5H-2.5L-5 0z",
            Marker::Hourglass => "M-4-4H4L-4 4H4z",
            Marker::Bowtie => "M-4-4V4L4-4V4z",
        }
    }
}

impl Look {
    /// Name of the marker in plotly.js.
    pub(super) fn symbol(&self) -> String {
        format!("{}{}", self.marker.name(), if self.open { "-open" } else { "" })
    }

    /// Line and marker as a small drawing; black is the colour of text in both themes.
    pub(super) fn swatch(&self) -> String {
        let colour =
            if self.colour == super::palette::BLACK { "currentColor" } else { self.colour };
        let fill = if self.open { "var(--page)" } else { colour };
        format!(
            "<svg class=\"swatch\" viewBox=\"-13 -6 26 12\" stroke=\"{colour}\" \
             aria-hidden=\"true\"><path d=\"M-13 0H13\" stroke-dasharray=\"{}\"/>\
             <path d=\"{}\" fill=\"{fill}\"/></svg>",
            self.dash.strokes(),
            self.marker.outline(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `figure.js` makes of it.
    fn unpacked(value: &Value) -> Vec<Option<f64>> {
        let (from, step) = (value["from"].as_f64().unwrap(), value["step"].as_f64().unwrap());
        let mut at = 0;
        let differences = value["differences"].as_array().unwrap().iter();
        differences
            .map(|difference| {
                at += difference.as_i64()?;
                Some(from + step * at as f64)
            })
            .collect()
    }

    #[test]
    fn packed_numbers_are_exact_if_whole_and_else_within_half_a_step() {
        let whole = [Some(3.0), None, Some(-2.0), Some(0.0)];
        assert_eq!(unpacked(&packed(&whole)), whole);
        let values: Vec<f64> = (0..500).map(|n| 17.3 + f64::from(n * n) * 1e-3).collect();
        let span = values[499] - values[0];
        for (packed, value) in unpacked(&packed_all(values.clone())).iter().zip(&values) {
            assert!((packed.unwrap() - value).abs() <= span / STEPS, "{packed:?} {value}");
        }
        assert_eq!(unpacked(&packed_all([0.25, 0.25])), [Some(0.25); 2]);
        assert_eq!(packed(&[]), json!([]));
    }

    #[test]
    fn rounded_numbers_have_five_digits() {
        assert_eq!(rounded(0.001_234_567), 0.001_234_6);
        assert_eq!(rounded(12_345_678.0), 12_346_000.0);
        assert_eq!(rounded(0.0), 0.0);
    }
}
