//! Modes: groups of values separated by gaps that are too wide to be random.
//!
//! Runs with and without a time-out are two groups, and their mean describes neither. Sorted values
//! are split at every gap that is too wide for values spread evenly over the same range.

use super::median;

/// Probability that evenly spread values have a gap as wide as one that splits them.
const CHANCE: f64 = 0.01;
/// Smallest share of the values of a mode; smaller groups are outliers of their neighbour.
const LEAST_SHARE: f64 = 0.1;
/// Smallest number of values of a mode.
const LEAST: usize = 3;

/// A group of values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mode {
    /// Median of the group.
    pub centre: f64,
    /// Share of the values that belong to it, from 0 to 1.
    pub share: f64,
}

/// The modes of these values, from the smallest; none without values.
pub fn modes(values: &[f64]) -> Vec<Mode> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let width = parting_gap(sorted.len(), last - first);
    let mut groups: Vec<&[f64]> = sorted.chunk_by(|a, b| b - a <= width || a == b).collect();
    let least = LEAST.max((LEAST_SHARE * sorted.len() as f64).ceil() as usize);
    if groups.iter().any(|group| group.len() < least) {
        groups = joined(&sorted, &groups, least);
    }
    groups.into_iter().filter_map(|group| mode(group, sorted.len())).collect()
}

fn mode(group: &[f64], of: usize) -> Option<Mode> {
    Some(Mode { centre: median(group)?, share: group.len() as f64 / of as f64 })
}

/// The gap that neighbours among `n` values spread evenly over `range` exceed with probability
/// [`CHANCE`]: each of the `n - 1` gaps exceeds the share `x` of the range with probability
/// `(1 - x)^(n - 2)`.
fn parting_gap(n: usize, range: f64) -> f64 {
    if n < 2 * LEAST {
        return f64::INFINITY;
    }
    let (gaps, power) = ((n - 1) as f64, (n - 2) as f64);
    range * (1.0 - libm::pow(CHANCE / gaps, 1.0 / power))
}

/// Joins groups that are too small to the nearer of their neighbours, smallest first.
fn joined<'v>(sorted: &'v [f64], groups: &[&'v [f64]], least: usize) -> Vec<&'v [f64]> {
    let mut sizes: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    while let Some(small) = (0..sizes.len()).filter(|i| sizes[*i] < least).min_by_key(|i| sizes[*i])
    {
        if sizes.len() == 1 {
            break;
        }
        let begin: usize = sizes[..small].iter().sum();
        let end = begin + sizes[small];
        let gap = |at: usize| {
            if at == 0 || at == sorted.len() { f64::INFINITY } else { sorted[at] - sorted[at - 1] }
        };
        let into = if gap(begin) <= gap(end) { small - 1 } else { small };
        sizes[into] += sizes.remove(into + 1);
    }
    let mut rest = sorted;
    let cut = |size: usize| rest.split_off(..size);
    sizes.into_iter().map_while(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::normal_quantile;

    /// `n` values at the quantiles of a normal distribution.
    fn normal(n: usize, centre: f64, deviation: f64) -> Vec<f64> {
        let at = |i| centre + deviation * normal_quantile((f64::from(i) + 0.5) / n as f64);
        (0..n as u32).map(at).collect()
    }

    #[test]
    fn values_around_one_centre_are_one_mode() {
        for n in [1, 5, 10, 40, 1000] {
            let found = modes(&normal(n, 1.0, 0.1));
            assert_eq!(found.len(), 1, "{n}: {found:?}");
            assert!((found[0].centre - 1.0).abs() < 1e-9 && found[0].share == 1.0);
        }
        assert_eq!(modes(&[]), []);
        assert_eq!(modes(&[2.0; 20]), [Mode { centre: 2.0, share: 1.0 }]);
    }

    #[test]
    fn runs_with_and_without_a_time_out_are_two_modes() {
        let mut values = normal(30, 0.13, 0.005);
        values.extend(normal(10, 0.35, 0.02));
        let found = modes(&values);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!((found[0].centre - 0.13).abs() < 1e-9 && found[0].share == 0.75);
        assert!((found[1].centre - 0.35).abs() < 1e-9 && found[1].share == 0.25);
    }

    #[test]
    fn outliers_on_both_sides_belong_to_their_neighbours() {
        let mut values = normal(40, 1.0, 0.01);
        values.extend([0.2, 3.0, 3.1]);
        let found = modes(&values);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn three_tight_groups_are_three_modes() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i % 3) + 0.001 * f64::from(i)).collect();
        let shares: Vec<usize> =
            modes(&values).iter().map(|mode| (mode.share * 30.0).round() as usize).collect();
        assert_eq!(shares, [10, 10, 10]);
    }
}
