//! The aggregation benefit of variants over several paths (Kaspar 2011; 004 sIV).
//!
//! With the goodputs C of the single paths and G of the variant, it is (G - max C) / (sum C - max
//! C) where G is at least max C, and (G - max C) / max C below: 1 is the sum of all paths, 0 the
//! best of them, -1 nothing.

use crate::scenario::Scenario;
use crate::summary::Summary;
use traffic::Traffic;

/// That of every variant; `None` for single paths, for other traffic than downloads, and where a
/// path has no goodput alone.
pub(super) fn benefits(scenario: &Scenario, variants: &[Summary]) -> Vec<Option<f64>> {
    let alone = |is_sctp: bool, path: usize| {
        let of = variants.iter().filter(|one| one.variant.protocol().is_sctp() == is_sctp);
        let of = of.filter(|one| one.variant.single_path() == Some(path));
        of.filter_map(|one| goodput(scenario, one)).reduce(f64::max)
    };
    let of = |summary: &Summary| {
        if summary.variant.single_path().is_some() {
            return None;
        }
        let is_sctp = summary.variant.protocol().is_sctp();
        let singles = (0..scenario.paths.len()).map(|path| alone(is_sctp, path));
        benefit(goodput(scenario, summary)?, &singles.collect::<Option<Vec<f64>>>()?)
    };
    variants.iter().map(of).collect()
}

/// In bits per second: of a download of a size, its bits over the mean time.
fn goodput(scenario: &Scenario, summary: &Summary) -> Option<f64> {
    let mean = summary.mean.filter(|mean| *mean > 0.0)?;
    match (&scenario.traffic, scenario.metric.name()) {
        (Traffic::BulkSize(_) | Traffic::BulkTime(_), "goodput") => Some(mean),
        (Traffic::BulkSize(bytes), "completion_time") => Some(*bytes as f64 * 8.0 / mean),
        _ => None,
    }
}

fn benefit(goodput: f64, alone: &[f64]) -> Option<f64> {
    let best = alone.iter().copied().reduce(f64::max)?;
    let others = alone.iter().sum::<f64>() - best;
    let gain = goodput - best;
    if gain < 0.0 {
        return Some(gain / best);
    }
    (others > 0.0).then(|| gain / others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_ends_at_the_sum_the_best_path_and_nothing() {
        let alone = [20.0, 5.0, 3.0];
        for (goodput, expected) in
            [(28.0, 1.0), (20.0, 0.0), (0.0, -1.0), (24.0, 0.5), (15.0, -0.25)]
        {
            assert_eq!(benefit(goodput, &alone), Some(expected), "{goodput}");
        }
        assert_eq!((benefit(5.0, &[5.0]), benefit(4.0, &[5.0])), (None, Some(-0.2)));
    }
}
