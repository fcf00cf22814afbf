//! The verdict in one line: whether several paths at once pay off, with which variant, by how much
//! and how sure; what happens to the tail and when a path fails; and what the gain costs others.
//!
//! `answer` chooses the variant that decides; every word on a class here is that of its row.

use crate::answer::{Judged, is_together};
use crate::comparison::{Class, Series, margin};
use crate::goal::{Aim, Outcome};
use crate::quantity::{Scale, percent};
use crate::scenario::{Family, Matters, Protocol, Scenario};
use crate::statistics::Interval;
use crate::summary::Summary;
use traffic::Measure;

/// Largest number of variants named individually.
const MOST_NAMED: usize = 4;
/// Smallest share of late and of lost messages that is said as a number.
const LATE: f64 = 0.001;
/// Metrics of the messages that arrived.
const DELAYS: [&str; 5] = ["message_delay", "median", "p95", "p99", "interarrival_jitter"];

/// The verdict on a judged study.
pub(crate) fn verdict(
    scenario: &Scenario,
    judged: &Judged,
    failures: Option<&Judged>,
    goal: Option<&Aim>,
    beside: Option<String>,
) -> String {
    let metric = scenario.metric;
    let variants = &judged.variants;
    let excluded: Vec<String> = variants
        .iter()
        .filter(|variant| !variant.qualifies())
        .map(|variant| format!("{}: {}", variant.variant.name, variant.disqualification()))
        .collect();
    let Some(best) = judged.reference.and_then(|index| variants.get(index)) else {
        let goal = goal.map_or(String::new(), |goal| format!(" {}", on_goal(goal)));
        return format!("Verdict: none. {}.{goal}", excluded.join("; "));
    };
    let words = Words { scenario, metric, scale: scale(metric, variants), family: judged.family };
    let together = judged.deciding().filter(|deciding| is_together(deciding) && !is_together(best));
    let pays_off = |deciding: &&Summary| deciding.class == Some(Class::PaysOff);
    let winner = judged.deciding().filter(pays_off).filter(|_| together.is_none());
    let mut sentences = match (together, winner) {
        (Some(together), _) => {
            let mut sentences = words.on_multipath(best, together, variants);
            sentences.extend(words.on_other_family(judged, together));
            sentences
        }
        (None, Some(winner)) => {
            [words.on_winner(best, winner)].into_iter().chain(words.on_lost(winner)).collect()
        }
        (None, None) => words.on_rivals(best, variants),
    };
    sentences.splice(1..1, beside.filter(|_| together.is_some()));
    sentences.extend(goal.map(on_goal));
    let headline = together.or(winner).unwrap_or(best);
    let failures = failures.filter(|_| together.is_some());
    let of_failures = failures.and_then(|failures| words.when_a_path_fails(failures));
    if of_failures.is_none() && metric != Measure::FAILOVER {
        sentences.extend(words.on_failures(headline, together.map(|_| best), variants));
    }
    sentences.extend(words.on_tail(headline, together.map(|_| best)));
    let place = sentences.len().min(1);
    let share = words.share_of_tcp(headline, together.map(|_| best)).into_iter();
    let cost = together.and_then(|together| words.cost_of_others(together, best));
    sentences.splice(place..place, share.chain(cost));
    if let Some(of_failures) = of_failures {
        let decided =
            together.is_some_and(|of| matches!(of.class, Some(Class::PaysOff | Class::Hurts)));
        if decided {
            let same =
                failures.and_then(|of| of.deciding()?.class) == together.and_then(|of| of.class);
            sentences.insert(1, format!("{} {of_failures}", if same { "And" } else { "But" }));
        } else {
            // What happens when a path fails is the answer, and the metric comes after it.
            let first = sentences.remove(0);
            sentences.splice(0..0, [of_failures, format!("Over the whole run: {first}")]);
        }
    }
    if !excluded.is_empty() {
        sentences.push(format!("No verdict on {}.", excluded.join("; ")));
    }
    format!("Verdict: {}", sentences.join(" "))
}

/// A sentence on the deciding variant against the baseline of the table, where that is not what the
/// verdict compares with. `rows` have the classes of the table.
pub(crate) fn beside(judged: &Judged, rows: &[Summary], baseline: Series) -> Option<String> {
    if judged.reference.map(Series::Variant) == Some(baseline) {
        return None;
    }
    let row = rows.get(judged.deciding?)?;
    let what = match row.class? {
        Class::PaysOff => "pays off",
        Class::Hurts => "hurts",
        Class::NoDifference => "makes no difference that matters",
        Class::Undecided => "is undecided",
        Class::Baseline => return None,
    };
    let against = match baseline {
        Series::Variant(index) => rows.get(index)?.variant.name.as_str(),
        Series::Average(_) => "the average of the paths",
    };
    Some(format!("Against {against}, the baseline of the table, {} {what}.", row.variant.name))
}

/// The scale for all means of a table: that of the smallest one above zero.
pub fn scale(metric: Measure, variants: &[Summary]) -> Scale {
    let means = variants.iter().filter_map(|v| v.mean).filter(|mean| *mean > 0.0);
    let smallest = means.fold(f64::INFINITY, f64::min);
    Scale::of(metric.unit(), if smallest.is_finite() { smallest } else { 0.0 })
}

#[derive(Clone, Copy)]
struct Words<'a> {
    scenario: &'a Scenario,
    metric: Measure,
    scale: Scale,
    /// Number of comparisons that are corrected together.
    family: usize,
}

impl Words<'_> {
    /// Text on a variant that is better than the one that others are compared with: UDP, which is
    /// never a baseline.
    fn on_winner(&self, reference: &Summary, winner: &Summary) -> String {
        let (name, mean) = (self.name(winner), self.mean(winner));
        let distance = self.distance(winner, &self.name(reference));
        format!("best is {name}: {} {mean}{distance}.", self.metric.info().short)
    }

    /// Text on messages that the number leaves out, because they did not arrive.
    fn on_lost(&self, winner: &Summary) -> Option<String> {
        let leaves_out = DELAYS.contains(&self.metric.name());
        let (_, lost) = winner.extra.iter().find(|(name, _)| leaves_out && name == "lost")?;
        let (share, name) = (percent(*lost), self.name(winner));
        (*lost >= LATE).then(|| {
            format!(
                "With {name} {share} of the messages do not arrive; this number leaves them out."
            )
        })
    }

    /// Text on the best variant, and on the next ones.
    fn on_rivals(&self, best: &Summary, variants: &[Summary]) -> Vec<String> {
        let best_is = if variants.len() == 1 { "" } else { "best is " };
        let what = self.metric.info().short;
        let (name, mean) = (self.name(best), self.mean(best));
        let mut sentences = vec![format!("{best_is}{name}: {what} {mean}.")];
        let next = self.runner_up(best, variants, |_| true);
        sentences.extend(next.map(|next| self.comparison(best, next)));
        // The best congestion control and the best path are separate questions.
        let same_path = |other: &Summary| other.variant.single_path() == best.variant.single_path();
        if next.is_some_and(same_path) {
            let next = self.runner_up(best, variants, |other| !same_path(other));
            sentences.extend(next.map(|next| self.comparison(best, next)));
        }
        sentences
    }

    /// Text on whether several paths at once are better than the best one alone, and on the
    /// variants that are not.
    fn on_multipath(
        &self,
        alone: &Summary,
        together: &Summary,
        variants: &[Summary],
    ) -> Vec<String> {
        let path = format!("{}, the best path alone", self.name(alone));
        let what = use_of_paths(together);
        let opening = match together.class {
            Some(Class::PaysOff) => format!("{what} pays off"),
            Some(Class::Hurts) => format!("{what} hurts"),
            Some(Class::NoDifference) => format!("{what} makes no difference that matters"),
            Some(_) => self.partly_known(together),
            None if together.has_no_interval() => format!("not known whether {what} pays off"),
            None => format!("not known whether {what} pays off, because rare runs may change it"),
        };
        let name = &together.variant.name;
        let performance = format!("{} {}", self.metric.info().verb, self.mean(together));
        let distance = self.distance(together, &path);
        let mut sentences = vec![format!("{opening}: {name} {performance}{distance}.")];
        sentences.extend(self.needs(together));
        let family = together.variant.family();
        let rivals = variants.iter().filter(|v| is_together(v) && v.variant != together.variant);
        let rivals = rivals.filter(|v| v.variant.family() == family);
        let of = |class: Class| -> Vec<&str> {
            let rivals = rivals.clone().filter(|v| v.class == Some(class));
            rivals.map(|v| v.variant.name.as_str()).collect()
        };
        if together.class != Some(Class::Hurts) {
            sentences.extend(listed(&of(Class::Hurts), "But ", ("hurts", "hurt")));
        }
        if matches!(together.class, Some(Class::Hurts | Class::NoDifference)) {
            let before = format!("By {}, ", self.metric.name().replace('_', " "));
            sentences.extend(listed(
                &of(Class::Undecided),
                &before,
                ("is undecided", "are undecided"),
            ));
        }
        sentences
    }

    /// Text on the best variant over several paths of the other family, against its own best path.
    fn on_other_family(&self, judged: &Judged, together: &Summary) -> Option<String> {
        let family = together.variant.family();
        let variants = judged.variants.iter().zip(&judged.references);
        let others = variants
            .filter(|(v, _)| is_together(v) && v.variant.family() != family && v.qualifies());
        let pays_off = |class: Option<Class>| u8::from(class == Some(Class::PaysOff));
        let gain = |v: &Summary| {
            let mean = v.mean.unwrap_or(f64::INFINITY);
            if self.metric.larger_is_better() { mean } else { -mean }
        };
        let (best, reference) = others.max_by(|(a, _), (b, _)| {
            let classes = pays_off(a.class).cmp(&pays_off(b.class));
            classes.then(gain(a).total_cmp(&gain(b)))
        })?;
        let alone = judged.variants.get(*reference)?;
        if is_together(alone) {
            return None;
        }
        let what = match best.class {
            Some(Class::PaysOff) => "pays off",
            Some(Class::Hurts) => "hurts",
            Some(Class::NoDifference) => "makes no difference that matters",
            Some(_) => "is undecided",
            None => "is not known to pay off",
        };
        let (name, path) = (&best.variant.name, self.name(alone));
        let mean = best.mean.map_or(String::new(), |mean| self.scale.value(mean));
        let distance = self.distance(best, &format!("{path} alone"));
        Some(format!("{name} {what}: {mean}{distance}."))
    }

    /// Text on what an undecided interval excludes all the same.
    fn partly_known(&self, together: &Summary) -> String {
        let what = use_of_paths(together);
        let undecided = || format!("undecided whether {what} pays off");
        let Some(difference) = &together.difference else { return undecided() };
        let Some(interval) = difference.interval else { return undecided() };
        let reference = difference.relative.map_or(0.0, |share| (difference.mean / share).abs());
        let margin = margin(self.scenario, self.metric, reference);
        let (gains, harms) = if self.metric.larger_is_better() {
            (interval.high > margin, interval.low < -margin)
        } else {
            (interval.low < -margin, interval.high > margin)
        };
        match (gains, harms) {
            (false, true) => format!(
                "{what} does not pay off (undecided whether it hurts or makes no difference that \
                 matters)"
            ),
            (true, false) => format!(
                "{what} does not hurt (undecided whether it pays off or makes no difference that \
                 matters)"
            ),
            _ => undecided(),
        }
    }

    /// Text on the runs that would decide.
    fn needs(&self, summary: &Summary) -> Option<String> {
        let difference = summary.difference.as_ref()?;
        if matches!(summary.class, Some(Class::PaysOff | Class::Hurts | Class::NoDifference)) {
            return None;
        }
        Some(match difference.needs {
            Some(needs) if difference.interval.is_none() => {
                format!("An interval needs {needs} runs.")
            }
            Some(needs) => format!("About {needs} runs would decide."),
            None => format!(
                "The difference is about as large as what matters ({}); `--matters` sets another \
                 one.",
                self.margin()
            ),
        })
    }

    /// The smallest difference that matters.
    fn margin(&self) -> String {
        let Matters(share) = self.scenario.matters;
        percent(share)
    }

    /// Text on the variant that shortens or prolongs the time after failures; `None` if none is
    /// known to.
    fn when_a_path_fails(&self, failures: &Judged) -> Option<String> {
        let deciding = failures.deciding()?;
        let alone = failures.variants.get(failures.reference?)?;
        let what = use_of_paths(deciding);
        let opening = match deciding.class? {
            Class::PaysOff => format!("{what} pays off when a path fails"),
            Class::Hurts => format!("{what} hurts when a path fails"),
            _ => return None,
        };
        let interval = deciding.difference.as_ref()?.interval?;
        let scale = Scale::of("s", deciding.mean?.max(alone.mean?));
        let words = Words { scale, family: failures.family, ..*self };
        let time = |of: &Summary| {
            let lasts = of.failovers.as_ref().is_some_and(|failovers| failovers.unresumed > 0);
            let at_least = if lasts { "at least " } else { "" };
            Some(format!("{at_least}{}", scale.value(of.mean?)))
        };
        let (time, other) = (time(deciding)?, time(alone)?);
        let (name, best) = (&deciding.variant.name, self.name(alone));
        let ends = words.corrected(interval);
        Some(format!(
            "{opening}: {name} delivers nothing for {time}, {best} alone for {other} (difference: \
             {ends})."
        ))
    }

    /// Text on what happens when a path fails.
    fn on_failures(
        &self,
        headline: &Summary,
        alone: Option<&Summary>,
        variants: &[Summary],
    ) -> Option<String> {
        let failovers = headline.failovers.as_ref()?;
        let silent = |summary: &Summary| {
            let failovers = summary.failovers.as_ref()?;
            let never = match failovers.unresumed {
                0 => String::new(),
                1 => " (1 run never resumed)".to_owned(),
                many => format!(" ({many} runs never resumed)"),
            };
            let scale = Scale::of("s", failovers.mean?);
            Some(format!("{}{never}", scale.value(failovers.mean?)))
        };
        let name = self.name(headline);
        let Some(time) = silent(headline) else {
            return Some(format!(
                "When a path fails, {name} delivers nothing any more in {} of {} runs.",
                failovers.unresumed, headline.n
            ));
        };
        // The best path alone may be one that does not fail.
        let failing = || variants.iter().find(|v| !is_together(v) && v.failovers.is_some());
        let against = alone.and_then(|alone| {
            let alone = if alone.failovers.is_some() { alone } else { failing()? };
            Some(format!(", {} alone for {}", self.name(alone), silent(alone)?))
        });
        let against = against.unwrap_or_default();
        Some(format!("When a path fails, {name} delivers nothing for {time}{against}."))
    }

    /// Text on late messages, or on the slowest runs.
    fn on_tail(&self, headline: &Summary, alone: Option<&Summary>) -> Option<String> {
        let alone = alone?;
        // The last limit is the largest one.
        let late = |summary: &Summary| {
            let over = |(name, share): &(String, f64)| {
                Some((name.strip_prefix("over_")?.strip_suffix("ms")?.to_owned(), *share))
            };
            summary.extra.iter().filter_map(over).next_back()
        };
        if let (Some((limit, ours)), Some((_, theirs))) = (late(headline), late(alone)) {
            let (name, best) = (self.name(headline), self.name(alone));
            if ours.max(theirs) < LATE {
                let most = percent(LATE);
                return Some(format!(
                    "Later than {limit} ms: less than {most} of the messages with {name} and with \
                     {best}."
                ));
            }
            let (ours, theirs) = (percent(ours), percent(theirs));
            return Some(format!(
                "Later than {limit} ms: {ours} of the messages with {name}, {theirs} with {best}."
            ));
        }
        let p95 = |summary: &Summary| {
            let found = summary.quantiles.iter().find(|quantile| quantile.name == "p95")?;
            (found.interval.is_some() || summary.deterministic).then_some(found.value)
        };
        if self.metric.larger_is_better() || headline.deterministic {
            return None;
        }
        if headline.unfinished() + alone.unfinished() > 0 {
            return Some(self.on_unfinished(headline, alone));
        }
        if self.metric.unit() != "s" {
            // The run with the most loss is not the slowest one.
            return None;
        }
        let (name, best) = (self.name(headline), self.name(alone));
        let scaled = |seconds| self.scale.value(seconds);
        let (Some(ours), Some(theirs)) = (p95(headline), p95(alone)) else {
            // Too few runs for a quantile with an interval.
            let (ours, theirs) = (scaled(headline.range?.high), scaled(alone.range?.high));
            let runs = headline.n;
            return (headline.n > 1).then(|| {
                format!("The slowest of {runs} runs: {ours} with {name}, {theirs} with {best}.")
            });
        };
        let (ours, theirs) = (scaled(ours), scaled(theirs));
        Some(format!("The slowest 5 % of runs: {ours} or more with {name}, {theirs} with {best}."))
    }

    /// Text on runs that did not finish: they are the slowest ones.
    fn on_unfinished(&self, headline: &Summary, alone: &Summary) -> String {
        let share = |of: &Summary| format!("{} of {} runs", of.unfinished(), of.valid());
        let (name, best) = (self.name(headline), self.name(alone));
        let within = match [headline, alone].iter().any(|of| of.early.is_some()) {
            true => String::new(),
            false => format!(" within {}", headline.deadline),
        };
        format!(
            "Not finished{within}, and left out of these numbers: {} with {name}, {} with {best}.",
            share(headline),
            share(alone)
        )
    }

    /// Text on the goodput that competing flows lose against the variant, in comparison with a
    /// single path.
    fn cost_of_others(&self, summary: &Summary, alone: &Summary) -> Option<String> {
        let sum = |of: &Summary| {
            let flows = &of.fairness.as_ref()?.flows;
            flows.iter().map(|flow| flow.goodput.map(|goodput| goodput.mean)).sum::<Option<f64>>()
        };
        let (with, without) = (sum(summary)?, sum(alone)?);
        let change = (with - without) / without;
        if !change.is_finite() || change.abs() < 0.01 {
            return None;
        }
        let what = if change < 0.0 { "lose" } else { "gain" };
        let share = percent(change.abs());
        Some(format!("The competing flows {what} {share} of their goodput by it."))
    }

    /// Text on the share of a variant against competing TCP flows: the best variant may be the
    /// least fair.
    fn share_of_tcp(&self, summary: &Summary, alone: Option<&Summary>) -> Option<String> {
        let share = summary.fairness.as_ref()?.tcp_share?;
        let interval = share.interval.filter(|interval| interval.half_width() > 0.0);
        let ends = interval.map_or(String::new(), |Interval { low, high }| {
            format!(" (95 % interval {low:.2} to {high:.2})")
        });
        let (name, mean) = (self.name(summary), share.mean);
        let against = alone.and_then(|alone| {
            let share = alone.fairness.as_ref()?.tcp_share?.mean;
            Some(format!(", {} alone {share:.2} times", self.name(alone)))
        });
        let against = against.unwrap_or_default();
        Some(format!(
            "{name} gets {mean:.2} times the goodput of a competing TCP flow{ends}{against}."
        ))
    }

    /// Text on the difference of a variant and its baseline.
    fn distance(&self, summary: &Summary, reference: &str) -> String {
        let Some(difference) = &summary.difference else { return String::new() };
        let by = self.scale.difference(difference.mean.abs());
        let more = if difference.mean > 0.0 { "more" } else { "less" };
        let share =
            difference.relative.map_or(String::new(), |of| format!("{}; ", percent(of.abs())));
        let magnitude = match summary.class {
            Some(Class::PaysOff | Class::Hurts) => format!(": {}", difference.magnitude()),
            _ => String::new(),
        };
        let ends = match difference.interval {
            _ if difference.is_certain => "deterministic".to_owned(),
            Some(interval) => self.corrected(interval),
            None => "no interval with fewer than 4 runs".to_owned(),
        };
        if difference.mean == 0.0 {
            return format!(", the same as {reference} ({ends})");
        }
        format!(", {by} {more} than {reference} ({share}{ends}){magnitude}")
    }

    /// The interval of a difference, and how many comparisons it is corrected for.
    fn corrected(&self, interval: Interval) -> String {
        let ends = self.ends(interval);
        match self.family {
            0 | 1 => ends,
            many => format!("{ends}, corrected for {many} comparisons"),
        }
    }

    /// An interval of a difference without its sign, which the text gives; with signs if it
    /// contains zero.
    fn ends(&self, interval: Interval) -> String {
        if interval.includes_zero() {
            let (low, high) = (interval.low, interval.high);
            let (low, high) = (self.scale.signed(low), self.scale.signed(high));
            return format!("95 % interval {low} to {high} {}", self.scale.unit_of_differences());
        }
        let (a, b) = (interval.low.abs(), interval.high.abs());
        let ends = Interval { low: a.min(b), high: a.max(b) };
        format!("95 % interval {}", self.scale.interval_of_differences(ends))
    }

    /// Text on the mean and its interval.
    fn mean(&self, summary: &Summary) -> String {
        let mean = summary.mean.map_or(String::new(), |mean| self.scale.value(mean));
        format!("{mean} on average ({})", self.certainty(summary))
    }

    fn certainty(&self, summary: &Summary) -> String {
        let runs = match (summary.n, summary.unfinished()) {
            (1, _) => "1 run".to_owned(),
            (n, 0) => format!("{n} runs"),
            (_, missing) => {
                format!("{} of {} runs", summary.valid() - missing, summary.valid())
            }
        };
        match summary.mean_interval {
            _ if summary.deterministic => format!("{runs}, deterministic"),
            Some(interval) => format!("95 % interval {}, {runs}", self.scale.interval(interval)),
            None => match summary.single_values(&self.scale) {
                Some(values) => format!("{runs}: {values} {}", self.scale.unit),
                None => format!("{runs}, no interval"),
            },
        }
    }

    /// The nearest qualifying rival among the given variants.
    fn runner_up<'v>(
        &self,
        best: &Summary,
        variants: &'v [Summary],
        counts: impl Fn(&Summary) -> bool,
    ) -> Option<&'v Summary> {
        let gap = |summary: &Summary| summary.difference.as_ref().map(|d| d.mean.abs());
        variants
            .iter()
            .filter(|other| other.variant != best.variant && other.qualifies() && counts(other))
            .min_by(|a, b| {
                let far = f64::INFINITY;
                gap(a).unwrap_or(far).total_cmp(&gap(b).unwrap_or(far))
            })
    }

    fn comparison(&self, best: &Summary, next: &Summary) -> String {
        let (name, best) = (self.name(next), self.name(best));
        let Some(difference) = &next.difference else {
            return format!("No comparison with {name}.");
        };
        let by = self.scale.difference(difference.mean.abs());
        // There is no share of a baseline of zero.
        let share = || difference.relative.map(|share| percent(share.abs()));
        let with_share = |between: &str, last: String| match share() {
            Some(share) => format!("{share}{between}{last}"),
            None => last,
        };
        let (before, after) = self.metric.info().worse;
        let worse = format!("{name} {before} {by} {after}");
        match (next.class, difference.interval) {
            (Some(Class::Hurts), interval) => {
                let interval = interval.filter(|_| !difference.is_certain);
                let known = match interval {
                    Some(interval) => with_share("; ", self.ends(interval)),
                    None => with_share(", ", "deterministic".to_owned()),
                };
                format!("{worse} ({known}): {}.", difference.magnitude())
            }
            (Some(Class::NoDifference), _) => {
                let share = share().map_or(String::new(), |share| format!(", {share}"));
                format!("No difference to {name} that matters ({by}{share}).")
            }
            (class, _) => format!(
                "{} against {name}: {by}{} apart; {}",
                if class.is_some() { "Undecided" } else { "Not known" },
                share().map_or(String::new(), |share| format!(" ({share})")),
                match difference.needs {
                    Some(needs) if difference.interval.is_none() => {
                        format!("an interval needs {needs} runs.")
                    }
                    Some(needs) => format!("about {needs} runs would decide."),
                    None => format!("more runs may distinguish it from {best}."),
                }
            ),
        }
    }

    /// The path, with the congestion control if single paths were run with several controls and the
    /// protocol has one; for a variant over all paths, its name.
    fn name(&self, summary: &Summary) -> String {
        let path = summary.variant.single_path().and_then(|path| self.scenario.paths.get(path));
        let choices = &self.scenario.choices;
        let (family, protocol) = (summary.variant.family(), summary.variant.protocol());
        let controls = match family {
            Family::Tcp => &choices.congestion,
            Family::Sctp => &choices.sctp.congestion,
        };
        let controls = controls.iter().filter(|control| !control.is_coupled()).count();
        let is_other = |other: &Protocol| Family::of(*other) != family || *other == Protocol::Udp;
        let over = match choices.protocols.iter().any(is_other) {
            true => format!("{protocol} over "),
            false => String::new(),
        };
        // Of several folders, in the report of all.
        let folder = summary.variant.name.find(" (").map_or("", |at| &summary.variant.name[at..]);
        match (path, summary.variant.control().filter(|_| controls > 1)) {
            (Some(path), None) => format!("{over}{}{folder}", path.name),
            (Some(path), Some(control)) => format!("{over}{} with {control}{folder}", path.name),
            (None, _) => summary.variant.name.clone(),
        }
    }
}

/// What a variant does with several paths: it uses them at once, or in turn.
const fn use_of_paths(together: &Summary) -> &'static str {
    match together.variant.is_concurrent() {
        true => "multi-path",
        false => "multi-homing",
    }
}

/// Text on a goal: the variant that meets it, or that is nearest.
pub(crate) fn on_goal(aim: &Aim) -> String {
    let Aim { goal, outcome, variants, valueless, best } = aim;
    if variants.is_empty() {
        return format!("Goal {goal}: no variant has a value.");
    }
    let every = if *valueless > 0 { "every variant with a value" } else { "every variant" };
    let best = best.and_then(|best| variants.get(best));
    let name = best.map_or("", |of| of.variant.as_str());
    let scale = Scale::of(goal.metric.unit(), goal.bound);
    let value = best.and_then(|of| of.value).map_or(String::new(), |value| {
        let value = scale.value(value);
        match goal.quantile {
            Some(0.5) => format!("median of the runs {value}"),
            Some(share) => {
                let side = if goal.below { "within" } else { "at or above" };
                format!("{:.0} % of the runs {side} {value}", 100.0 * share)
            }
            None => format!("{value} on average"),
        }
    });
    let ends = best.and_then(|of| of.interval).filter(|of| of.half_width() > 0.0).map(|of| {
        match goal.quantile {
            Some(_) => {
                let (low, high) = (percent(of.low), percent(of.high));
                format!("95 % interval of the share of runs beyond the goal {low} to {high}")
            }
            None => format!("95 % interval {}", scale.interval(of)),
        }
    });
    let parts: Vec<String> = [value].into_iter().filter(|of| !of.is_empty()).chain(ends).collect();
    let known = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) };
    match outcome {
        Outcome::Met => format!("Goal {goal}: met by {name}{known}."),
        Outcome::Missed if variants.len() + valueless == 1 => {
            format!("Goal {goal}: missed{known}.")
        }
        Outcome::Missed if parts.is_empty() => format!("Goal {goal}: missed by {every}."),
        Outcome::Missed => format!("Goal {goal}: missed by {every}; {name} is nearest{known}."),
        Outcome::Undecided => {
            format!("Goal {goal}: undecided; {name} is nearest{known}.")
        }
    }
}

/// A sentence on these variants.
fn listed(names: &[&str], before: &str, verb: (&str, &str)) -> Option<String> {
    Some(match names.len() {
        0 => return None,
        1 => format!("{before}{} {}.", names[0], verb.0),
        2..=MOST_NAMED => format!("{before}{} {}.", names.join(", "), verb.1),
        many => {
            let named = names[..MOST_NAMED - 1].join(", ");
            format!("{before}{named} and {} others {}.", many - (MOST_NAMED - 1), verb.1)
        }
    })
}
