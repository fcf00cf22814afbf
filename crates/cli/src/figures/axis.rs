//! Axes with round numbers, linear and logarithmic.

/// An axis.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    /// Values with their labels; small ones have an empty label.
    pub ticks: Vec<(f64, String)>,
    /// Quantity and unit.
    pub label: String,
}

/// Most numbers at an axis.
const MOST_TICKS: f64 = 7.0;
/// Smallest share of the largest value that a logarithmic axis shows.
const LEAST_SHARE: f64 = 1e-9;

impl Axis {
    /// A linear axis that has these values, beginning and ending with them.
    pub(super) fn linear(low: f64, high: f64, most: f64, label: &str) -> Axis {
        let (low, high) =
            if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) };
        let span = if high > low { high - low } else { low.abs().max(1.0) };
        let high = low + span;
        let ends =
            |step: f64| ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        let mut step = step(span / most.clamp(2.0, MOST_TICKS));
        // A single number gives no scale.
        while step > 0.0 && ends(step).1 - ends(step).0 < 1 {
            step = smaller(step);
        }
        let (first, last) = ends(step);
        let decimals = (-libm::floor(libm::log10(step))).max(0.0) as usize;
        let tick = |number: i64| {
            let value = number as f64 * step;
            (value, minus(&format!("{value:.decimals$}")))
        };
        let ticks = (first..=last).map(tick).collect();
        Axis { low, high, is_log: false, ticks, label: label.to_owned() }
    }

    /// A linear axis with some room beside these values; with `zero` it begins there.
    pub(super) fn around(values: &[f64], zero: bool, most: f64, label: &str) -> Axis {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let (mut low, mut high) =
            (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        let room = (high - low).max(high.abs() * 1e-3) * 0.05;
        (low, high) = (low - room, high + room);
        if zero {
            low = low.min(0.0).max(if low >= -room { 0.0 } else { low });
        }
        Axis::linear(low, high, most, label)
    }

    /// A logarithmic axis from decade to decade, or the part of it that has these values.
    pub(super) fn log(low: f64, high: f64, label: &str) -> Axis {
        let high = if high > 0.0 && high.is_finite() { high } else { 1.0 };
        let low = low.clamp(high * LEAST_SHARE, high / 1.2);
        let exponents = || {
            let first = libm::floor(libm::log10(low)) as i32;
            first..=(libm::ceil(libm::log10(high)) as i32)
        };
        let is_wide = libm::log10(high / low) > 2.2;
        let skip = if exponents().count() > 7 { 2 } else { 1 };
        let mut ticks = Vec::new();
        for exponent in exponents() {
            for digit in 1..10 {
                let value = f64::from(digit) * libm::pow(10.0, f64::from(exponent));
                if value < low * 0.999 || value > high * 1.001 {
                    continue;
                }
                let named = match digit {
                    1 => exponent % skip == 0,
                    2 | 5 => !is_wide,
                    _ => false,
                };
                ticks.push((value, if named { plain(digit, exponent) } else { String::new() }));
            }
        }
        Axis { low, high, is_log: true, ticks, label: label.to_owned() }
    }

    /// Place of a value between the ends, from 0 to 1; values beyond are at the ends.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = if self.is_log {
            let value = value.max(self.low);
            libm::log(value / self.low) / libm::log(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.clamp(0.0, 1.0)
    }
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn step(least: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(least)));
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least * 0.999);
    factor.unwrap_or(10.0) * power
}

/// The next smaller of 1, 2 and 5 times a power of ten.
fn smaller(of: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(of * 1.001)));
    let factor = [5.0, 2.0, 1.0].into_iter().find(|factor| factor * power < of * 0.999);
    factor.unwrap_or(0.5) * power
}

/// A number with a minus sign instead of a hyphen.
fn minus(text: &str) -> String {
    text.replace('-', "\u{2212}")
}

/// `digit` times a power of ten.
fn plain(digit: i32, exponent: i32) -> String {
    match exponent {
        0..=4 => format!("{}", i64::from(digit) * 10_i64.pow(exponent.unsigned_abs())),
        -3..0 => {
            let decimals = exponent.unsigned_abs() as usize;
            format!("{:.decimals$}", f64::from(digit) * libm::pow(10.0, f64::from(exponent)))
        }
        _ => {
            let superscript = |c: char| match c {
                '-' => '\u{207b}',
                '1' => '\u{b9}',
                '2' => '\u{b2}',
                '3' => '\u{b3}',
                c => char::from_u32(0x2070 + c.to_digit(10).unwrap_or(0)).unwrap_or(c),
            };
            let power: String = exponent.to_string().chars().map(superscript).collect();
            if digit == 1 { format!("10{power}") } else { format!("{digit}\u{d7}10{power}") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).filter(|text| !text.is_empty()).collect()
    }

    #[test]
    fn linear_axis_has_round_numbers() {
        let axis = Axis::linear(0.0, 1.03, 6.0, "");
        assert_eq!(labels(&axis), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Axis::linear(-12.0, 4.0, 5.0, "")), ["\u{2212}10", "\u{2212}5", "0"]);
        assert!((axis.place(0.515) - 0.5).abs() < 1e-9);
        assert_eq!((axis.place(-5.0), axis.place(9.0)), (0.0, 1.0));
    }

    /// Regression: an axis from 38 to 902 with room for four numbers had `500` only.
    #[test]
    fn linear_axis_has_two_numbers_at_least() {
        let axis = Axis::linear(38.0, 902.0, 4.0, "");
        assert_eq!(labels(&axis), ["200", "400", "600", "800"]);
        assert_eq!(labels(&Axis::linear(1.2, 2.9, 2.0, "")), ["1.5", "2.0", "2.5"]);
        assert_eq!(labels(&Axis::linear(0.07, 0.19, 2.0, "")), ["0.10", "0.15"]);
        for (of, less) in [(500.0, 200.0), (200.0, 100.0), (100.0, 50.0), (0.1, 0.05)] {
            assert!((smaller(of) / less - 1.0).abs() < 1e-9, "{of}: {}", smaller(of));
        }
    }

    #[test]
    fn axis_around_equal_values_has_some_width() {
        let axis = Axis::around(&[5.0, 5.0], false, 5.0, "");
        assert!((0.4..0.6).contains(&axis.place(5.0)) && axis.ticks.len() > 1, "{axis:?}");
        assert_eq!(Axis::around(&[1.0, 3.0], true, 5.0, "").place(0.0), 0.0);
        assert!(Axis::around(&[], true, 5.0, "").ticks.len() > 1);
    }

    #[test]
    fn logarithmic_axis_has_decades() {
        let axis = Axis::log(1e-5, 1.0, "");
        assert_eq!(labels(&axis), ["10⁻⁵", "10⁻⁴", "0.001", "0.01", "0.1", "1"]);
        assert!((axis.place(1e-3) - 0.4).abs() < 1e-9);
        assert_eq!(labels(&Axis::log(30.0, 700.0, "")), ["50", "100", "200", "500"]);
        assert_eq!(labels(&Axis::log(20.0, 990.0, "")), ["20", "50", "100", "200", "500"]);
    }
}
