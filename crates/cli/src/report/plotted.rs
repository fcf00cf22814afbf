//! A paper's figure as it is drawn: names, places and looks of its series, for the interactive page
//! and for the files of `figures`.
//!
//! The data are the lab's.

use super::palette::{self, Dash, Look};
use lab::Scale;
use lab::reproduction::{Draw, Drawn, Group, Line, Series};
use lab::scenario::{Scenario, variants_of};

/// A figure.
pub(crate) struct Plotted<'d> {
    pub drawn: &'d Drawn<'d>,
    /// The unit of the number.
    pub scale: Scale,
    /// Name of the number with its unit.
    pub label: String,
    /// Names of the groups: experiments or cases.
    pub groups: Vec<&'d str>,
    pub plots: Vec<Plot<'d>>,
}

/// A variant, of `ccdf` and `packets` in one experiment.
pub(crate) struct Plot<'d> {
    pub name: String,
    pub look: Look,
    /// Its series with the place of their group; of `packets` one for each quantile.
    pub series: Vec<(usize, &'d Series<'d>)>,
    /// Of time lines: the points.
    pub line: Option<&'d Line>,
}

impl<'d> Plotted<'d> {
    /// Number of variants before this one that have its colour.
    pub(crate) fn of_colour_before(&self, plot: &Plot<'_>) -> usize {
        let before = self.plots.iter().take_while(|other| other.name != plot.name);
        before.filter(|other| other.look.colour == plot.look.colour).count()
    }

    pub(crate) fn of(drawn: &'d Drawn<'d>) -> Plotted<'d> {
        let scale = scale_of(drawn);
        let unit = match scale.unit {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        let label = format!("{}{unit}", drawn.quantity);
        let first = drawn.groups.first().and_then(|group| group.name.split('/').next());
        let are_cases = drawn.groups.len() > 1
            && drawn.groups.iter().all(|group| group.name.split('/').next() == first);
        let name = |group: &'d Group<'d>| if are_cases { group.case() } else { group.name };
        let groups = drawn.groups.iter().map(name).collect();
        let mut plotted = Plotted { drawn, scale, label, groups, plots: Vec::new() };
        plotted.plots = match drawn.figure.draw {
            Draw::Ccdf | Draw::Packets => plotted.apart(),
            Draw::Bars | Draw::Box | Draw::Lines => plotted.by_variant(),
            Draw::Series => plotted.over_time(),
            Draw::Matrix => Vec::new(),
        };
        plotted
    }

    /// A plot for every variant, in the order in which they appear.
    fn by_variant(&self) -> Vec<Plot<'d>> {
        let mut plots: Vec<Plot<'d>> = Vec::new();
        for (place, group) in self.drawn.groups.iter().enumerate() {
            for series in &group.series {
                let known = plots.iter_mut().find(|plot| plot.name == series.variant);
                match known {
                    Some(plot) => plot.series.push((place, series)),
                    None => plots.push(Plot {
                        name: series.variant.to_owned(),
                        look: look(&group.scenario, series.variant),
                        series: vec![(place, series)],
                        line: None,
                    }),
                }
            }
        }
        plots
    }

    /// A plot for every variant of every experiment; the experiments differ in their dashes.
    fn apart(&self) -> Vec<Plot<'d>> {
        let mut plots: Vec<Plot<'d>> = Vec::new();
        for (place, group) in self.drawn.groups.iter().enumerate() {
            for series in &group.series {
                let name = match self.groups.len() {
                    1 => series.variant.to_owned(),
                    _ => format!("{}: {}", self.groups[place], series.variant),
                };
                match plots.iter_mut().find(|plot| plot.name == name) {
                    Some(plot) => plot.series.push((place, series)),
                    None => {
                        let look = look(&group.scenario, series.variant);
                        let look = unlike(look, place, &plots);
                        plots.push(Plot { name, look, series: vec![(place, series)], line: None });
                    }
                }
            }
        }
        plots
    }

    /// A plot for every line over time: of a path, or of the connection.
    fn over_time(&self) -> Vec<Plot<'d>> {
        let groups = self.drawn.groups.iter().enumerate();
        let all =
            groups.flat_map(|(place, of)| of.lines.iter().map(move |line| (place, of, *line)));
        let all: Vec<_> = all.collect();
        let are_one = |same: fn(&(usize, &Group<'_>, &Line)) -> String| {
            let first = all.first().map(same);
            all.iter().all(|of| Some(same(of)) == first)
        };
        let is_one_group = are_one(|(place, ..)| place.to_string());
        let is_one_variant = are_one(|(_, _, line)| line.variant.clone());
        let plot = |&(place, group, line): &(usize, &'d Group<'d>, &'d Line)| {
            let experiment = (!is_one_group).then_some(self.groups[place]);
            let variant = (!is_one_variant || line.name.is_none()).then_some(&*line.variant);
            let words = [experiment, variant, line.name.as_deref()];
            Plot {
                name: words.into_iter().flatten().collect::<Vec<_>>().join(", "),
                look: match line.path {
                    Some(path) => palette::of_path(path),
                    None if is_one_variant => {
                        Look { dash: Dash::Solid, ..look(&group.scenario, &line.variant) }
                    }
                    None => look(&group.scenario, &line.variant),
                },
                series: Vec::new(),
                line: Some(line),
            }
        };
        all.iter().map(plot).collect()
    }

    /// The points of a line over time, in the units of the axes.
    pub(crate) fn points(&self, line: &Line) -> Vec<(f64, f64)> {
        line.points.iter().map(|(at, value)| (*at, self.scale.shown(*value))).collect()
    }

    /// Whether the axis of the number is logarithmic.
    pub(crate) fn is_log(&self) -> bool {
        let is_tail = matches!(self.drawn.figure.draw, Draw::Ccdf | Draw::Packets);
        self.drawn.figure.is_log || is_tail
    }

    /// What the other axis shows.
    pub(crate) const fn share_label(&self) -> &'static str {
        match self.drawn.figure.draw {
            Draw::Packets => "share of packets above this",
            _ => "share of repetitions above this",
        }
    }

    /// The values in the unit of the axis.
    pub(crate) fn shown(&self, series: &Series<'_>) -> Vec<f64> {
        series.values.iter().map(|value| self.scale.shown(*value)).collect()
    }

    /// Mean and ends of its 95 % interval, in the unit of the axis; as in the tables, no part of it
    /// is below zero where no value is.
    pub(crate) fn mean(&self, series: &Series<'_>) -> (f64, f64, f64) {
        let (mean, low, high) = mean_of(series);
        (self.scale.shown(mean), self.scale.shown(low), self.scale.shown(high))
    }

    /// The corners of a distribution, or of `packets` the means of its quantiles: values with the
    /// share above them.
    pub(crate) fn tail(&self, plot: &Plot<'_>) -> Vec<(f64, f64)> {
        if self.drawn.figure.draw == Draw::Packets {
            let of = |(_, series): &(usize, &Series<'_>)| {
                Some((self.mean(series).0, series.share_above?))
            };
            return plot.series.iter().filter_map(of).filter(|(value, _)| *value > 0.0).collect();
        }
        let mut values: Vec<f64> =
            plot.series.iter().flat_map(|(_, series)| self.shown(series)).collect();
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let shares = (0..values.len()).map(|rank| (n - rank as f64) / n);
        values.iter().copied().zip(shares).collect()
    }

    /// The place of a group on the axis of `lines`: the number that its name has, or its position.
    pub(crate) fn place(&self, group: usize) -> f64 {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        // The last one, of `s2-0.4` 0.4.
        let number = |name: &str| {
            let mut all = name.split(|c| !is_part(c)).filter(|digits| !digits.is_empty());
            all.next_back()?.parse::<f64>().ok()
        };
        let all: Option<Vec<f64>> = self.groups.iter().map(|name| number(name)).collect();
        all.map_or(group as f64, |all| all[group])
    }
}

fn mean_of(series: &Series<'_>) -> (f64, f64, f64) {
    let (mean, interval) = series.mean().unwrap_or((f64::NAN, None));
    let (low, high) = interval.map_or((mean, mean), |of| (of.low, of.high));
    let least = series.values.iter().copied().fold(0.0, f64::min);
    (mean, if least < 0.0 { low } else { low.max(0.0) }, high)
}

/// The look with the dash this many places further, or the next one that no line of the colour has.
fn unlike(look: Look, place: usize, plots: &[Plot<'_>]) -> Look {
    let with = |further| Look { dash: palette::dash(look.dash, further), ..look };
    let is_taken = |of: &Look| {
        plots.iter().any(|plot| (plot.look.colour, plot.look.dash) == (of.colour, of.dash))
    };
    let mut all = (place..place + palette::DASHES.len()).map(with);
    all.find(|of| !is_taken(of)).unwrap_or_else(|| with(place))
}

/// The look of a variant, as in every report.
fn look(scenario: &Scenario, variant: &str) -> Look {
    let found = variants_of(scenario).into_iter().find(|of| of.name == variant);
    found.map_or(palette::of_path(0), |variant| palette::of_variant(scenario, &variant))
}

/// Numbers of a linear axis are below this.
const FAR: f64 = 1e4;

/// The unit in which the smallest number has some digits; over time, the largest, and on a linear
/// axis a tenth of the largest where that one would have five digits.
fn scale_of(drawn: &Drawn<'_>) -> Scale {
    if drawn.figure.draw == Draw::Series {
        let points = drawn.groups.iter().flat_map(|of| &of.lines).flat_map(|line| &line.points);
        let unit = if drawn.unit == "byte" { "bytes" } else { &drawn.unit };
        return Scale::of(unit, points.map(|(_, value)| *value).fold(0.0, f64::max));
    }
    let values = drawn.groups.iter().flat_map(|group| &group.series).flat_map(|of| &of.values);
    let sizes = || values.clone().map(|value| value.abs()).filter(|value| *value > 0.0);
    let least = sizes().fold(f64::INFINITY, f64::min).min(1e9);
    let is_tail = matches!(drawn.figure.draw, Draw::Ccdf | Draw::Packets);
    match drawn.figure.is_log || is_tail {
        true => Scale::of(&drawn.unit, least),
        false => linear_scale(&drawn.unit, least, sizes().fold(0.0, f64::max)),
    }
}

fn linear_scale(unit: &str, least: f64, most: f64) -> Scale {
    let scale = Scale::of(unit, least);
    if scale.shown(most) < FAR { scale } else { Scale::of(unit, most / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::palette::Marker;

    #[test]
    fn unit_of_a_linear_axis_gives_no_number_five_digits() {
        assert_eq!(linear_scale("bit/s", 0.2e6, 10.4e6).unit, "Mbit/s");
        assert_eq!(linear_scale("bit/s", 0.2e6, 9.9e6).unit, "kbit/s");
        assert_eq!(linear_scale("s", 0.3, 5.0).unit, "ms");
    }

    #[test]
    fn interval_of_positive_values_is_not_below_zero() {
        let of = |values: [f64; 3]| {
            mean_of(&Series {
                variant: "tcp/a/cubic",
                values: values.to_vec(),
                repetitions: vec![0, 1, 2],
                share_above: None,
            })
        };
        let (mean, low, high) = of([0.0, 0.1, 9.0]);
        assert!(low == 0.0 && high > 2.0 * mean, "{low} to {high}");
        assert!(of([-1.0, 0.1, 9.0]).1 < -1.0, "values may be negative");
    }

    /// Regression: of two variants in two experiments the second of the first one and the first of
    /// the second one had the same line.
    #[test]
    fn lines_of_one_colour_have_dashes_of_their_own() {
        let look = |dash| Look { colour: "#d55e00", dash, marker: Marker::Diamond, open: false };
        let mut plots: Vec<Plot<'_>> = Vec::new();
        for place in 0..3 {
            for dash in [Dash::Dot, Dash::DashDot] {
                let look = unlike(look(dash), place, &plots);
                plots.push(Plot { name: String::new(), look, series: Vec::new(), line: None });
            }
        }
        let mut dashes: Vec<Dash> = plots.iter().map(|plot| plot.look.dash).collect();
        assert_eq!(dashes[..2], [Dash::Dot, Dash::DashDot], "the first experiment's are as ever");
        dashes.sort_unstable();
        dashes.dedup();
        assert_eq!(dashes.len(), 6, "{dashes:?}");
    }
}
