//! Formatting of results: one unit and one number of digits for a whole table.

use crate::statistics::Interval;

/// Format of values of one kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Factor: the shown value is the value divided by it.
    factor: f64,
    /// Unit shown after the number.
    pub unit: &'static str,
    decimals: usize,
}

impl Scale {
    /// The value in the unit that is shown.
    pub fn shown(&self, value: f64) -> f64 {
        value / self.factor
    }

    /// The scale for values in `unit`, of which the smallest is `smallest`: it gets four digits.
    pub fn of(unit: &str, smallest: f64) -> Scale {
        let smallest = smallest.abs();
        let (factor, unit) = match unit {
            "s" if smallest >= 1.0 || smallest == 0.0 => (1.0, "s"),
            "s" if smallest >= 1e-3 => (1e-3, "ms"),
            "s" => (1e-6, "us"),
            "bit/s" if smallest >= 1e9 => (1e9, "Gbit/s"),
            "bit/s" if smallest >= 1e6 => (1e6, "Mbit/s"),
            "bit/s" if smallest >= 1e3 => (1e3, "kbit/s"),
            "bit/s" => (1.0, "bit/s"),
            // A share.
            "1" => (0.01, "%"),
            "bytes" if smallest >= 1048576.0 => (1048576.0, "MiB"),
            "bytes" if smallest >= 1024.0 || smallest == 0.0 => (1024.0, "KiB"),
            "bytes" => (1.0, "bytes"),
            _ => (1.0, ""),
        };
        let shown = smallest / factor;
        let decimals = match shown {
            x if x >= 1000.0 => 0,
            x if x >= 100.0 => 1,
            x if x >= 10.0 => 2,
            _ => 3,
        };
        Scale { factor, unit, decimals }
    }

    /// The number alone.
    pub fn number(&self, value: f64) -> String {
        let shown = format!("{:.*}", self.decimals, value / self.factor);
        // Negative zero is shown as zero.
        match shown.strip_prefix('-') {
            Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
            _ => shown,
        }
    }

    /// The number with its sign.
    pub fn signed(&self, value: f64) -> String {
        let number = self.number(value);
        if number.starts_with('-') { number } else { format!("+{number}") }
    }

    /// The number with its unit.
    pub fn value(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.unit)
    }

    /// A difference of two values with its unit: that of two shares is in percentage points.
    pub fn difference(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.unit_of_differences())
    }

    /// The unit of a difference of two values.
    pub fn unit_of_differences(&self) -> &'static str {
        if self.unit == "%" { "percentage points" } else { self.unit }
    }

    /// Both ends of the interval of a difference with one unit.
    pub fn interval_of_differences(&self, interval: Interval) -> String {
        let [low, high] = [interval.low, interval.high].map(|end| self.number(end));
        format!("{low} to {high} {}", self.unit_of_differences())
    }

    /// Both ends with one unit.
    pub fn interval(&self, interval: Interval) -> String {
        format!("{} to {} {}", self.number(interval.low), self.number(interval.high), self.unit)
    }
}

/// A share in per cent, without decimals, or with one below ten.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 10.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_get_the_unit_that_fits_the_smallest() {
        assert_eq!(Scale::of("s", 1.923).value(9.1934), "9.193 s");
        assert_eq!(Scale::of("s", 35.276).value(35.276), "35.28 s");
        assert_eq!(Scale::of("s", 0.0784).value(0.0784), "78.40 ms");
        assert_eq!(Scale::of("bit/s", 96.4e6).value(96.4e6), "96.40 Mbit/s");
        assert_eq!(Scale::of("bytes", 65536.0).value(1048576.0), "1024.00 KiB");
        assert_eq!(Scale::of("s", 1.9).signed(-0.5), "-0.500");
        assert_eq!(Scale::of("s", 1.9).signed(-0.0001), "+0.000");
        assert_eq!(Scale::of("bytes", 0.0).value(1536.0), "1.500 KiB");
        let interval = Interval { low: 1.0, high: 2.0 };
        assert_eq!(Scale::of("s", 1.0).interval(interval), "1.000 to 2.000 s");
    }

    #[test]
    fn per_cent_has_a_digit_more_when_small() {
        assert_eq!(percent(3.794), "379 %");
        assert_eq!(percent(0.0312), "3.1 %");
    }
}
