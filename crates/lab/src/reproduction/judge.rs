//! Judges claims: takes the samples of each part from the values of studies, applies the rule of
//! its check, and joins the parts.
//!
//! `checks` has the rules, `document` and the command line show the result.

use super::checks::{Joining, Means, Shown, Side};
use super::claims::{Check, Claim, Kind, Over, Paper, Part, Quantity, Statistic, Term};
use super::samples::Sampled;
use super::values::Values;
use crate::quantity::Scale;
use crate::statistics::Interval;
use base::chance::owner_of;

/// The judgement of a claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// Whether it holds; `None`: undecided, or it could not be run.
    pub holds: Option<bool>,
    /// What was found, of the part that decides.
    pub ours: String,
    /// The interval that decides.
    pub interval: Option<Interval>,
    /// What the interval shows, if it does not hold.
    pub why: String,
    /// The explanation that the claims file has, if it does not hold.
    pub because: Option<String>,
    /// The parts.
    pub parts: Vec<JudgedPart>,
}

/// The judgement of a part.
#[derive(Clone, PartialEq, Debug)]
pub struct JudgedPart {
    /// Whether it must hold.
    pub kind: Kind,
    /// What it says.
    pub says: Option<String>,
    /// Whether it holds.
    pub holds: Option<bool>,
    /// What was found.
    pub ours: String,
    /// The interval that decides, of a difference, a ratio or the value.
    pub interval: Option<Interval>,
    /// The reason, if it does not hold.
    pub why: String,
}

/// Values of the experiments of a paper by their index; `None`: not run.
pub(super) type Lookup<'a> = dyn Fn(usize) -> Option<Sampled<'a>> + 'a;

/// Judges a claim. `seed` keys the resamples.
pub(super) fn judge(paper: &Paper, claim: &Claim, values: &Lookup<'_>, seed: u64) -> Judged {
    if let Some(missing) = &claim.missing {
        return Judged {
            holds: None,
            ours: "not run".to_owned(),
            interval: None,
            why: missing.clone(),
            because: None,
            parts: Vec::new(),
        };
    }
    let parts = claim.parts.iter().enumerate();
    let part = |(number, part): (usize, &Part)| {
        let owner = owner_of(&format!("claim/{}/{number}", claim.id));
        judge_part(paper, part, values, (seed, owner))
    };
    let parts: Vec<JudgedPart> = parts.map(part).collect();
    let kind =
        if parts.iter().any(|part| part.kind == Kind::Hard) { Kind::Hard } else { Kind::Soft };
    let counted = || parts.iter().filter(|part| part.kind == kind);
    // The worst part decides: one that fails, else one that is open, else the first.
    let failed = counted().find(|part| part.holds == Some(false));
    let open = counted().find(|part| part.holds.is_none());
    let deciding = failed.or(open).or_else(|| counted().next());
    let holds = match (failed, open) {
        (Some(_), _) => Some(false),
        (None, Some(_)) => None,
        (None, None) => Some(true),
    };
    Judged {
        holds,
        ours: deciding.map_or_else(String::new, |part| part.ours.clone()),
        interval: deciding.and_then(|part| part.interval),
        why: deciding.map_or_else(String::new, |part| part.why.clone()),
        because: claim.why.clone().filter(|_| holds != Some(true)),
        parts,
    }
}

fn judge_part(paper: &Paper, part: &Part, values: &Lookup<'_>, keys: (u64, u64)) -> JudgedPart {
    let judged = |holds, ours: String, interval, why: String| JudgedPart {
        kind: part.kind,
        says: part.says.clone(),
        holds,
        ours,
        interval,
        why,
    };
    if let Some(missing) = &part.missing {
        return judged(None, "not run".to_owned(), None, missing.clone());
    }
    let names = part.experiments.iter().flat_map(|name| paper.find(name).unwrap_or_default());
    let mut experiments: Vec<Option<usize>> = names.map(Some).collect();
    let beside = match part.over {
        Over::Mean if !experiments.is_empty() => experiments.split_off(1),
        _ => Vec::new(),
    };
    let beside: Vec<usize> = beside.into_iter().flatten().collect();
    if experiments.is_empty() {
        // Every term names its own.
        experiments.push(None);
    }
    let mut found = Vec::new();
    for experiment in experiments {
        let context = Context { paper, part, values, experiment, beside: &beside, keys };
        match context.judge() {
            Ok(one) => found.push(one),
            Err(why) => return judged(None, "not run".to_owned(), None, why),
        }
    }
    let all: Vec<Option<bool>> = found.iter().map(|one| one.0.holds).collect();
    let holds = join(part.over, &all);
    let rank = |holds: Option<bool>| holds.map_or(1, |holds| 2 * u8::from(holds));
    // What is shown agrees with what is decided, if anything does.
    let worst = found.iter().min_by_key(|one| (one.0.holds != holds, rank(one.0.holds)));
    let Some((shown, mut ours, mut why)) = worst.cloned() else {
        return judged(None, "not run".to_owned(), None, "no experiment".to_owned());
    };
    if found.len() > 1 {
        let holding = all.iter().filter(|one| **one == Some(true)).count();
        ours = format!("{ours} (holds in {holding} of {})", found.len());
    }
    if holds == Some(true) {
        why.clear();
    }
    judged(holds, ours, shown.interval, why)
}

/// Whether a part holds, from whether it does in each of its experiments.
fn join(over: Over, all: &[Option<bool>]) -> Option<bool> {
    let count = |holds| all.iter().filter(|one| **one == holds).count();
    let (holding, open) = (count(Some(true)), count(None));
    // The fewest that must hold.
    let needed = match over {
        Over::Each | Over::Mean => all.len(),
        Over::Most => all.len() / 2 + 1,
    };
    match (holding >= needed, holding + open >= needed) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    }
}

/// The mean of sides, repetition by repetition.
fn joined(mut sides: impl Iterator<Item = Result<Side, String>>) -> Result<Side, String> {
    let first = sides.next().ok_or_else(|| "no experiment".to_owned())??;
    sides.try_fold(first, |all, side| match (all, side?) {
        (
            Side::Runs { draws, rows, joined: Joining::Average },
            Side::Runs { draws: other, rows: more, joined: Joining::Average },
        ) if draws == other => {
            let both = |(a, b): (Option<Vec<f64>>, Option<Vec<f64>>)| Some([a?, b?].concat());
            let rows = rows.into_iter().zip(more).map(both).collect();
            Ok(Side::Runs { draws, rows, joined: Joining::Average })
        }
        _ => Err("a mean is over values of experiments with the same draws".to_owned()),
    })
}

/// A part in one of its experiments, or over all of them.
pub(super) struct Context<'a, 'v> {
    pub(super) paper: &'a Paper,
    pub(super) part: &'a Part,
    pub(super) values: &'a Lookup<'v>,
    pub(super) experiment: Option<usize>,
    /// The others over which the mean is, with the same draws.
    pub(super) beside: &'a [usize],
    pub(super) keys: (u64, u64),
}

impl Context<'_, '_> {
    /// How the part's numbers are computed.
    pub(super) fn means(&self) -> Means {
        let Part { statistic, metric, .. } = self.part;
        Means { statistic: *statistic, is_share: metric.is_share(), keys: self.keys }
    }

    /// The judgement, what was found, and why it does not hold.
    fn judge(&self) -> Result<(Shown, String, String), String> {
        let Part { check, bounds, .. } = self.part;
        let means = self.means();
        let sides: Vec<Side> =
            self.part.values.iter().map(|term| self.side(term)).collect::<Result<_, _>>()?;
        let pairs = || sides.iter().zip(sides.iter().skip(1));
        let all: Vec<Shown> = match check {
            Check::Order => pairs().map(|(a, b)| means.order(a, b)).collect(),
            Check::AtMost | Check::WithinNoise => {
                pairs().map(|(a, b)| means.at_most(a, b)).collect()
            }
            Check::Equal => pairs().map(|(a, b)| means.equal(a, b)).collect(),
            Check::GainOrder => pairs().map(|(a, b)| means.gains(a, b)).collect(),
            Check::Range => sides.iter().map(|side| means.range(side, *bounds)).collect(),
            Check::Ratio => pairs().map(|(a, b)| means.ratio(a, b, *bounds)).collect(),
        };
        let rank = |holds: Option<bool>| holds.map_or(1, |holds| 2 * u8::from(holds));
        let worst = all.iter().min_by_key(|shown| rank(shown.holds)).copied();
        let worst = worst.ok_or_else(|| "nothing to compare".to_owned())?;
        let ours = self.ours(means, &sides, worst.holds);
        let why = self.why(&worst);
        Ok((worst, ours, why))
    }

    /// The sample of a term.
    pub(super) fn side(&self, term: &Term) -> Result<Side, String> {
        let experiment = match term {
            Term::Constant(value) => return Ok(Side::Constant(*value)),
            Term::Of { experiment, .. }
            | Term::Difference { experiment, .. }
            | Term::Gain { experiment, .. } => experiment,
        };
        let study = match experiment {
            None => {
                let first = self.experiment.ok_or_else(|| "no experiment is named".to_owned())?;
                let sides = std::iter::once(&first).chain(self.beside);
                return joined(sides.map(|study| self.side_in(term, *study)));
            }
            Some(name) => match self.paper.find(name).as_deref() {
                Some([one]) => *one,
                _ => return Err(format!("`{name}` is not one experiment")),
            },
        };
        self.side_in(term, study)
    }

    /// The sample of a term in this study.
    fn side_in(&self, term: &Term, study: usize) -> Result<Side, String> {
        let name = || self.paper.experiments[study].name.clone();
        let sampled = (self.values)(study).ok_or_else(|| format!("{} was not run", name()))?;
        let family = self.family(sampled.values);
        sampled.side(&self.part.metric, term, family, self.draws(study, sampled.draws))
    }

    /// The first study whose repetitions have the same draws.
    fn draws(&self, study: usize, key: &str) -> usize {
        let same = |of: &usize| (self.values)(*of).is_some_and(|of| of.draws == key);
        (0..study).find(same).unwrap_or(study)
    }

    /// The family of the part's first variant.
    fn family(&self, values: &Values) -> Option<bool> {
        let quantity = |term: &Term| -> Option<Quantity> {
            match term {
                Term::Of { value, .. } => Some(value.clone()),
                _ => None,
            }
        };
        let mut all = self.part.values.iter().filter_map(quantity);
        all.find_map(|quantity| values.is_sctp(&quantity))
    }

    /// The unit of the part's values.
    pub(super) fn unit(&self) -> String {
        if matches!(self.part.values.first(), Some(Term::Gain { .. })) {
            return "1".to_owned();
        }
        let named = self.part.values.iter().filter_map(|term| match term {
            Term::Of { experiment: Some(name), .. }
            | Term::Difference { experiment: Some(name), .. } => {
                self.paper.find(name)?.first().copied()
            }
            _ => None,
        });
        let mut studies = self.experiment.into_iter().chain(named);
        let found = studies.find_map(|study| {
            let (_, described) = (self.values)(study)?.values.column(&self.part.metric)?;
            Some(described.unit.clone())
        });
        found.unwrap_or_default()
    }

    /// `12.3 ms < 15.1 ms`.
    fn ours(&self, means: Means, sides: &[Side], holds: Option<bool>) -> String {
        let values: Vec<Option<f64>> = sides.iter().map(|side| means.value(side)).collect();
        let least = values.iter().flatten().map(|value| value.abs()).filter(|value| *value > 0.0);
        let scale = Scale::of(&self.unit(), least.fold(f64::INFINITY, f64::min).min(1e9));
        let number =
            |value: &Option<f64>| value.map_or("-".to_owned(), |value| scale.number(value));
        let sign = match self.part.check {
            Check::Order => " < ",
            Check::AtMost | Check::WithinNoise | Check::GainOrder => " <= ",
            Check::Equal => " = ",
            Check::Range => ", ",
            Check::Ratio => " / ",
        };
        let sign = if holds == Some(true) || self.part.check == Check::Range { sign } else { ", " };
        let shown = values.iter().map(number).collect::<Vec<_>>().join(sign);
        let shown = match self.part.statistic {
            Statistic::Iqr => format!("IQR {shown}"),
            _ => shown,
        };
        format!("{shown} {}", scale.unit).trim_end().to_owned()
    }

    /// What the interval shows, where the part does not hold.
    fn why(&self, worst: &Shown) -> String {
        let Some(interval) = worst.interval else {
            return "too few finished runs to compare".to_owned();
        };
        let what = match (self.part.check, self.part.statistic) {
            (Check::Ratio, _)
            | (Check::Order | Check::AtMost | Check::WithinNoise, Statistic::Iqr) => "ratio",
            (Check::Range, _) => "value",
            _ => "difference",
        };
        let least = interval.low.abs().max(interval.high.abs());
        let unit = if what == "ratio" { String::new() } else { self.unit() };
        let scale = Scale::of(&unit, least.min(1e9));
        let level = if self.part.check == Check::Equal { 90 } else { 95 };
        let place = self.experiment.filter(|_| self.beside.is_empty());
        let place = place.map(|of| &self.paper.experiments[of].name);
        let place = place.map_or(String::new(), |name| format!("{name}: "));
        let verdict = if worst.holds == Some(false) { "shows the contrary" } else { "undecided" };
        let interval = scale.interval(interval);
        format!("{place}{verdict}: {level} % interval of the {what} {}", interval.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_decided_as_soon_as_enough_of_its_experiments_are() {
        let (yes, no, open) = (Some(true), Some(false), None);
        for (all, each, most) in [
            (&[yes, yes, yes][..], yes, yes),
            (&[yes, yes, open], open, yes),
            (&[yes, yes, no], no, yes),
            (&[yes, no, open], no, open),
            (&[yes, open], open, open),
            (&[yes, yes, open, open], open, open),
            (&[yes, no], no, no),
            (&[no, no, open], no, no),
            (&[yes, yes, no, no], no, no),
        ] {
            assert_eq!(join(Over::Each, all), each, "{all:?}");
            assert_eq!(join(Over::Most, all), most, "{all:?}");
        }
    }
}
