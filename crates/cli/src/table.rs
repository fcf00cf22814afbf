//! The table on standard output, as wide as the terminal allows; the verdict is its last line.

use crate::columns::{Column, Table};
use crate::output::{Screen, counted, harmless};
use crate::{fairness, meanings, metrics, packets, why};
use lab::answer::Stopped;
use lab::comparison::Class;
use lab::comparison::{Pair, Ratio};
use lab::scenario::{Protocol, Runs};
use lab::statistics::Interval;
use lab::{Report, Scale, Scenario, Summary, describe_traffic, percent, scale};
use linux::sut::T3_TIMEOUTS;
use std::fmt::Write;
use traffic::Measure;

/// Options of the text output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// With the table of all pairs.
    pub pairs: bool,
    /// With the table of `--why`.
    pub why: bool,
    /// With every column, however wide the table is.
    pub wide: bool,
    /// The seeds of several folders; empty: that of the scenario.
    pub seeds: &'a [u64],
}

/// Text output of `compare` (without `--json`).
pub(crate) fn text(scenario: &Scenario, report: &Report, ask: Ask<'_>, screen: Screen) -> String {
    let mut text = String::new();
    heading(&mut text, (scenario, report), ask.seeds, screen);
    paths(&mut text, scenario, screen);
    let meanings = meanings::text(&report.variants, screen);
    if !meanings.is_empty() {
        line(&mut text, &meanings);
    }
    let wide = if ask.wide { Screen { width: None, ..screen } } else { screen.of_tables() };
    text.push_str(&results(scenario, report, ask.wide).render(wide));
    if let Some(senders) = senders(report) {
        text.push('\n');
        text.push_str(&senders.render(screen.of_tables()));
    }
    let fairness = fairness::text(scenario, report, screen);
    if !fairness.is_empty() {
        text.push('\n');
        text.push_str(&fairness);
    }
    if let Some(messages) = messages(scenario, report) {
        text.push('\n');
        text.push_str(&messages.render(screen.of_tables()));
    }
    for table in packets::tables(scenario, report) {
        text.push('\n');
        text.push_str(&table.render(screen.of_tables()));
    }
    if let Some(metrics) = metrics::table(scenario, report) {
        text.push('\n');
        text.push_str(&metrics.render(screen.of_tables()));
    }
    ratios(&mut text, report, screen);
    for content in remarks(scenario, report) {
        remark(&mut text, &content, screen);
    }
    if !report.advice.is_empty() {
        text.push('\n');
    }
    for line in &report.advice {
        screen.wrap(&mut text, "", line, "");
    }
    if ask.pairs && !report.pairs.is_empty() {
        text.push('\n');
        text.push_str(&pairs(report, screen));
    }
    if ask.why {
        text.push('\n');
        text.push_str(&why::text(&report.variants, screen));
    }
    line(&mut text, "");
    screen.wrap(&mut text, "", &report.verdict, "1");
    text
}

fn line(text: &mut String, content: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{content}");
}

fn remark(text: &mut String, content: &str, screen: Screen) {
    screen.wrap(text, "note: ", content, "");
}

fn heading(
    text: &mut String,
    (scenario, report): (&Scenario, &Report),
    seeds: &[u64],
    screen: Screen,
) {
    if let Some(title) = &scenario.about.title {
        line(text, &screen.styled("1", &harmless(title)));
    }
    let (runs, stopped) = match (report.interrupted, scenario.runs) {
        (false, _) => (report.runs, String::new()),
        (true, Runs::Fixed(planned)) => (planned, format!(" (interrupted after {})", report.runs)),
        (true, Runs::Auto { .. }) => (report.runs, " (interrupted)".to_owned()),
    };
    let heading = format!(
        "{}; {}, hosts {}; {}{stopped}, {}",
        timed_traffic(scenario),
        protocols(scenario),
        meanings::hosts(scenario, report),
        counted_runs(report, runs, seeds),
        named_seeds(if seeds.is_empty() { std::slice::from_ref(&scenario.seed) } else { seeds })
    );
    screen.wrap(text, "", &heading, "");
    line(text, "");
}

/// `20 runs`; of folders with several seeds `12 to 20 runs`.
fn counted_runs(report: &Report, runs: u32, seeds: &[u64]) -> String {
    let of_variants = || report.variants.iter().map(|of| of.n);
    match (of_variants().min(), of_variants().max()) {
        (Some(fewest), Some(most)) if seeds.len() > 1 && fewest < most => {
            format!("{fewest} to {most} runs")
        }
        _ => counted(runs, "run"),
    }
}

/// `seed 1`, `seeds 1, 4`.
pub(crate) fn named_seeds(seeds: &[u64]) -> String {
    let all: Vec<String> = seeds.iter().map(u64::to_string).collect();
    format!("{} {}", if all.len() == 1 { "seed" } else { "seeds" }, all.join(", "))
}

/// Description of the traffic, with its warm-up.
pub(crate) fn timed_traffic(scenario: &Scenario) -> String {
    let traffic = describe_traffic(&scenario.traffic, scenario.ends.reverse);
    if scenario.warm_up.is_zero() {
        return traffic;
    }
    format!("{traffic}, warm-up {}", scenario.warm_up)
}

/// Description of the compared protocols.
pub(crate) fn protocols(scenario: &Scenario) -> String {
    let words = scenario.choices.protocols.iter().map(|protocol| match protocol {
        Protocol::Tcp => "TCP over each path alone".to_owned(),
        Protocol::Udp => "UDP over each path alone".to_owned(),
        Protocol::Sctp if scenario.paths.len() > 1 => {
            let first = scenario.paths.get(scenario.ends.first).map_or("", |path| &path.name);
            format!("SCTP over each path alone and over all in turn, {first} first")
        }
        Protocol::Sctp => "SCTP over the path".to_owned(),
        Protocol::CmtSctp => {
            let first = scenario.paths.get(scenario.ends.first).map_or("", |path| &path.name);
            format!("CMT-SCTP over all paths, {first} first")
        }
        Protocol::Mptcp => {
            let first = scenario.paths.get(scenario.ends.first).map_or("", |path| &path.name);
            format!("MPTCP over all paths, {first} first")
        }
    });
    let words: Vec<String> = words.collect();
    words.join(if words.len() > 2 { "; " } else { " and " })
}

/// The resolved paths, and the notes on how inputs were understood, which nothing hides.
pub(crate) fn paths(text: &mut String, scenario: &Scenario, screen: Screen) {
    let width = scenario.paths.iter().map(|path| path.name.len()).max().unwrap_or(0).max(4);
    line(text, &screen.styled("1", &format!("{:<width$}  resolved", "path")));
    for path in &scenario.paths {
        let name = format!("{:<width$}  ", path.name);
        screen.wrap(text, &name, &path.to_string(), "");
    }
    competition(text, scenario, screen);
    for note in &scenario.notes {
        remark(text, note, screen);
    }
    line(text, "");
}

/// The resolved links and flows.
fn competition(text: &mut String, scenario: &Scenario, screen: Screen) {
    let links = scenario.links.iter().map(|link| (link.name.as_str(), link.to_string()));
    let flows = scenario.flows.iter().map(|flow| (flow.name.as_str(), flow.show(&scenario.paths)));
    let tables = [("link", links.collect::<Vec<_>>()), ("flow", flows.collect())];
    for (what, rows) in tables.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(4);
        line(text, &screen.styled("1", what));
        for (name, spec) in rows {
            screen.wrap(text, &format!("{name:<width$}  "), &spec, "");
        }
    }
}

fn results(scenario: &Scenario, report: &Report, wide: bool) -> Table {
    let scale = scale(report.metric, &report.variants);
    let name = report.metric.info().heading;
    let each = |cell: &dyn Fn(&Summary) -> String| report.variants.iter().map(cell).collect();
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| scale.number(value));
    let versus = match report.baseline.as_deref() {
        Some("average") => "vs average",
        _ => "vs baseline",
    };
    let mut result = Column::new("result", false, 0, each(&result));
    result.styles = report.variants.iter().map(style).collect();
    // The interval that decides is the one that is always shown.
    let decides = |v: &Summary| v.difference.as_ref().is_some_and(|of| of.interval.is_some());
    let rank = if report.variants.iter().any(decides) { 2 } else { 0 };
    let own = Column::new(certainty_heading(report), false, rank, each(&|v| certainty(v, &scale)));
    let mut table = Table {
        columns: vec![
            Column::new("variant", false, 0, each(&|v| v.variant.name.clone())),
            Column::new(format!("{name} [{}]", scale.unit), true, 0, each(&|v| number(v.mean))),
            own,
            Column::new(versus, true, 0, each(&|v| difference(v, &scale))),
            Column::new("", true, 1, each(&relative)),
            Column::new("95 % interval", false, 0, each(&|v| difference_interval(v, &scale))),
        ],
    };
    if wide {
        table.columns.extend([
            Column::new("unpaired", false, 0, each(&|v| unpaired_interval(v, &scale))),
            Column::new("correlation", true, 0, each(&correlation)),
            Column::new("median", true, 0, each(&|v| number(v.median))),
            Column::new("retransmitted", true, 0, each(&|v| format!("{:.1}", v.retransmitted))),
        ]);
    }
    if scenario.uses_several() {
        table.columns.extend(shares(scenario, report));
    }
    // Not beside the same number as the metric.
    let failovers = failovers(report).filter(|_| report.metric != Measure::FAILOVER);
    table.columns.extend(failovers);
    table.columns.push(result);
    table
}

/// The tables, the remarks and the verdict in Markdown.
pub(crate) fn markdown(scenario: &Scenario, report: &Report, ask: Ask<'_>) -> String {
    let mut parts = vec![results(scenario, report, false).markdown()];
    parts.extend(fairness::markdown(scenario, report));
    parts.extend(metrics::table(scenario, report).map(Table::markdown));
    if ask.pairs && !report.pairs.is_empty() {
        parts.push(pairs_table(report).markdown());
        parts.extend(pairs_caption(report));
    }
    if ask.why
        && let Some(why) = why::table(&report.variants)
    {
        let table = why.markdown();
        let caption = why::caption(|heading| table.contains(heading));
        parts.push(format!("{table}\n{caption}\n"));
    }
    let remarks: String =
        remarks(scenario, report).iter().map(|remark| format!("* note: {remark}\n")).collect();
    parts.extend(Some(remarks).filter(|remarks| !remarks.is_empty()));
    parts.push(format!("{}\n", report.verdict));
    parts.join("\n")
}

/// Words between a ratio and another variant; none of shares and sizes, of which less is better.
pub(crate) fn compared(metric: Measure) -> Option<&'static str> {
    match metric.unit() {
        _ if metric.larger_is_better() => Some("as much as"),
        "s" => Some("as fast as"),
        _ => None,
    }
}

/// How many times as good the best variant is as each other one.
fn ratios(text: &mut String, report: &Report, screen: Screen) {
    let name = |index: usize| report.variants.get(index).map_or("", |v| v.variant.name.as_str());
    let (Some(best), false) = (report.best, report.ratios.is_empty()) else { return };
    let Some(what) = compared(report.metric) else { return };
    text.push('\n');
    screen.wrap(text, "", &format!("{} is", name(best)), "");
    for Ratio { variant, ratio, interval } in &report.ratios {
        let ends = interval
            .map_or(String::new(), |Interval { low, high }| format!(" ({low:.2} to {high:.2})"));
        let line = format!("{ratio:.2}{ends} times {what} {}", name(*variant));
        screen.wrap(text, "  ", &line, "");
    }
}

/// Column of fail-over times, if a path failed.
fn failovers(report: &Report) -> Option<Column> {
    report.variants.iter().find(|variant| variant.failovers.is_some())?;
    let cell = |summary: &Summary| {
        let Some(failovers) = &summary.failovers else { return "-".to_owned() };
        let mean = failovers.mean.map(|mean| format!("{mean:.2}"));
        match failovers.unresumed {
            0 => mean.unwrap_or_default(),
            lost => {
                let of = lost + failovers.n;
                let never = format!("never in {lost} of {of}");
                mean.map_or(never.clone(), |mean| format!("{mean}, {never}"))
            }
        }
    };
    let cells = report.variants.iter().map(cell).collect();
    Some(Column::new("fail-over [s]", true, 0, cells))
}

/// Columns of path shares: payload first sent on each path.
fn shares(scenario: &Scenario, report: &Report) -> Vec<Column> {
    let of = |(index, name): (usize, &String)| {
        let cell = |summary: &Summary| {
            summary.share.get(index).map_or(String::new(), |(_, share)| {
                if *share == 0.0 { "-".to_owned() } else { format!("{:.0} %", share * 100.0) }
            })
        };
        Column::new(format!("on {name}"), true, 1, report.variants.iter().map(cell).collect())
    };
    scenario.paths.iter().map(|path| &path.name).enumerate().map(of).collect()
}

fn certainty(summary: &Summary, scale: &Scale) -> String {
    match summary.mean_interval {
        _ if summary.deterministic => "deterministic".to_owned(),
        Some(interval) => {
            format!("{} to {}", scale.number(interval.low), scale.number(interval.high))
        }
        None => summary
            .single_values(scale)
            .or_else(|| summary.values.first().map(|value| scale.number(*value)))
            .unwrap_or_else(|| "-".to_owned()),
    }
}

/// Heading of what [`certainty`] prints: values alone have no interval.
fn certainty_heading(report: &Report) -> &'static str {
    let has_values = |summary: &Summary| !summary.deterministic && !summary.values.is_empty();
    let has_interval =
        |summary: &Summary| !summary.deterministic && summary.mean_interval.is_some();
    let (mut all, intervals) = (report.variants.iter(), report.variants.iter().any(has_interval));
    if !intervals && all.any(has_values) { "single runs" } else { "95 % interval" }
}

fn difference(summary: &Summary, scale: &Scale) -> String {
    summary.difference.as_ref().map_or(String::new(), |d| scale.signed(d.mean))
}

fn relative(summary: &Summary) -> String {
    let share = summary.difference.as_ref().and_then(|difference| difference.relative);
    share.map_or(String::new(), |share| {
        let sign = if share >= 0.0 { "+" } else { "" };
        format!("{sign}{}", percent(share))
    })
}

fn difference_interval(summary: &Summary, scale: &Scale) -> String {
    let Some(difference) = &summary.difference else { return String::new() };
    difference.interval.map_or(String::new(), |interval| {
        if difference.is_certain {
            "deterministic".to_owned()
        } else {
            format!("{} to {}", scale.signed(interval.low), scale.signed(interval.high))
        }
    })
}

/// The interval of the unpaired difference.
fn unpaired_interval(summary: &Summary, scale: &Scale) -> String {
    let interval = summary.difference.as_ref().and_then(|difference| difference.unpaired);
    let interval = interval.filter(|interval| interval.half_width() > 0.0);
    interval.map_or(String::new(), |interval| {
        format!("{} to {}", scale.signed(interval.low), scale.signed(interval.high))
    })
}

/// Correlation of the paired values.
fn correlation(summary: &Summary) -> String {
    let correlation = summary.difference.as_ref().and_then(|difference| difference.correlation);
    correlation.map_or(String::new(), |correlation| format!("{correlation:.2}"))
}

fn result(summary: &Summary) -> String {
    match (summary.class, &summary.difference) {
        (None, _) if !summary.qualifies() && summary.incomplete == 0 && summary.discarded > 0 => {
            format!("no verdict: {} of {} discarded", summary.discarded, summary.n)
        }
        (None, _) if summary.unmeasured > 0 && summary.unmeasured == summary.incomplete => {
            format!("no verdict: no value in {} of {}", summary.unmeasured, summary.n)
        }
        (None, _) if !summary.qualifies() => {
            format!("no verdict: {} of {} incomplete", summary.incomplete, summary.n)
        }
        (Some(class @ (Class::PaysOff | Class::Hurts)), Some(difference)) => {
            format!("{}, {}", class.name(), difference.magnitude())
        }
        (Some(class), _) => class.name().to_owned(),
        (None, _) => "not known".to_owned(),
    }
}

/// Colours nearest to Okabe and Ito's green, orange and yellow among the sixteen of terminals.
fn style(summary: &Summary) -> &'static str {
    match summary.class {
        Some(Class::PaysOff | Class::Baseline) => "32",
        Some(Class::Hurts) => "31",
        Some(Class::Undecided) | None => "33",
        Some(Class::NoDifference) => "",
    }
}

/// What the senders of associations repeated, if that was counted.
fn senders(report: &Report) -> Option<Table> {
    let timeouts = |summary: &Summary| {
        summary.extra.iter().find(|(name, _)| name == T3_TIMEOUTS).map(|(_, mean)| *mean)
    };
    report.variants.iter().find_map(timeouts)?;
    let scale = scale(report.metric, &report.variants);
    let each = |cell: &dyn Fn(&Summary) -> String| report.variants.iter().map(cell).collect();
    let heading = format!("{} [{}]", report.metric.info().heading, scale.unit);
    let value = |v: &Summary| v.mean.map_or("-".to_owned(), |value| scale.number(value));
    let t3 = |v: &Summary| timeouts(v).map_or("-".to_owned(), |mean| format!("{mean:.1}"));
    Some(Table {
        columns: vec![
            Column::new("sender, per run", false, 0, each(&|v| v.variant.name.clone())),
            Column::new(heading, true, 0, each(&value)),
            Column::new("retransmitted", true, 0, each(&|v| format!("{:.1}", v.retransmitted))),
            Column::new("T3-rtx", true, 0, each(&t3)),
        ],
    })
}

/// The numbers of single messages that a variant has. One without a finished run has none, and only
/// datagrams can be lost.
fn names_of_messages(variants: &[Summary]) -> Vec<&str> {
    let most = variants.iter().max_by_key(|of| of.extra.len());
    let all = most.into_iter().chain(variants).flat_map(|of| &of.extra);
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in all {
        // Names with a slash belong to single objects, and are in files only.
        if !name.contains('/') && name != T3_TIMEOUTS && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// Table of single messages, for traffic with several in a run.
fn messages(scenario: &Scenario, report: &Report) -> Option<Table> {
    let names = names_of_messages(&report.variants);
    if names.is_empty() {
        return None;
    }
    let variants: Vec<String> = report.variants.iter().map(|v| v.variant.name.clone()).collect();
    let mut columns = vec![Column::new(scenario.traffic.metric().info().parts, false, 0, variants)];
    for name in names {
        let (heading, unit) = heading_of(name);
        let cell = |summary: &Summary| {
            let value = summary.extra.iter().find(|(other, _)| other == name);
            value.map_or("-".to_owned(), |(_, value)| match unit {
                Unit::Share => format!("{:.2} %", value * 100.0),
                Unit::Milliseconds => format!("{:.1}", value * 1e3),
                Unit::Seconds => format!("{value:.2}"),
                Unit::Megabits => format!("{:.2}", value / 1e6),
                Unit::Mean => format!("{value:.1}"),
                Unit::Number => format!("{value:.0}"),
            })
        };
        let cells = report.variants.iter().map(cell).collect();
        columns.push(Column::new(heading, true, dispensable(name), cells));
    }
    Some(Table { columns })
}

/// Table of all pairs with its caption.
fn pairs(report: &Report, screen: Screen) -> String {
    let table = pairs_table(report).render(screen.of_tables());
    format!("{table}{}", pairs_caption(report).unwrap_or_default())
}

/// What the comparisons of pairs are corrected for, if there are several.
fn pairs_caption(report: &Report) -> Option<String> {
    let pairs = report.pairs.len();
    (pairs > 1).then(|| format!("corrected for {pairs} comparisons (Holm)\n"))
}

/// Table of all pairs: rows have names, columns their numbers.
fn pairs_table(report: &Report) -> Table {
    let both = |pair: &Pair| [pair.variant, pair.with];
    let mut shown: Vec<usize> = report.pairs.iter().flat_map(both).collect();
    shown.sort_unstable();
    shown.dedup();
    let name = |index: &usize| {
        let name = report.variants.get(*index).map_or("", |v| v.variant.name.as_str());
        format!("{} {name}", index + 1)
    };
    let cell = |row: usize, other: usize| {
        let found = report.pairs.iter().find(|pair| (pair.variant, pair.with) == (row, other));
        found.map_or(String::new(), outcome)
    };
    let first = shown.iter().map(name).collect();
    let mut columns = vec![Column::new("row against column", false, 0, first)];
    columns.extend(shown.iter().skip(1).map(|other| {
        let cells = shown.iter().map(|row| cell(*row, *other)).collect();
        Column::new((other + 1).to_string(), true, 0, cells)
    }));
    Table { columns }
}

/// Outcome of a comparison in two words.
fn outcome(pair: &Pair) -> String {
    let share = pair.difference.as_ref().and_then(|difference| difference.relative);
    let share = share.map_or(String::new(), |share| percent(share.abs()));
    match pair.class {
        Some(Class::PaysOff) => format!("{share} better"),
        Some(Class::Hurts) => format!("{share} worse"),
        Some(Class::NoDifference) => "equal".to_owned(),
        Some(Class::Undecided | Class::Baseline) => "undecided".to_owned(),
        None => "not known".to_owned(),
    }
}

/// Format of a further number of a traffic model.
#[derive(Clone, Copy)]
enum Unit {
    Share,
    Milliseconds,
    Seconds,
    Megabits,
    Mean,
    Number,
}

/// Rank of a further number for removal on a narrow terminal.
fn dispensable(name: &str) -> u8 {
    match name {
        "median" | "object_time_median" | "objects" | "connections" => 3,
        "over_100ms" => 4,
        "over_60ms" | "object_time_max" | "all_fetched_time" => 2,
        "p99" | "object_wait" | "jitter" | "switches" | "freezes" | "skipped" => 1,
        _ => 0,
    }
}

/// Heading of a further number, by its name in files.
fn heading_of(name: &str) -> (String, Unit) {
    let words = match name {
        "over_60ms" => return ("over 60 ms".to_owned(), Unit::Share),
        "over_100ms" => return ("over 100 ms".to_owned(), Unit::Share),
        "over_150ms" => return ("over 150 ms".to_owned(), Unit::Share),
        "late" => return ("late".to_owned(), Unit::Share),
        "lost" => return ("lost".to_owned(), Unit::Share),
        "interarrival_jitter" => "RTP jitter",
        "freezes" => return ("freezes".to_owned(), Unit::Mean),
        "frozen_time" => return ("frozen [s]".to_owned(), Unit::Seconds),
        "skipped" => return ("skipped".to_owned(), Unit::Mean),
        "frames_per_second" => return ("frames/s".to_owned(), Unit::Mean),
        "audio_delay" => "audio",
        "stalls" => return ("stalls".to_owned(), Unit::Mean),
        "switches" => return ("switches".to_owned(), Unit::Mean),
        "bitrate" => return ("bit rate [Mbit/s]".to_owned(), Unit::Megabits),
        "stall_time" => return ("stalled [s]".to_owned(), Unit::Seconds),
        "buffer" => return ("buffer [s]".to_owned(), Unit::Seconds),
        "prefetch_time" => return ("prefetch [s]".to_owned(), Unit::Seconds),
        "block_time" => return ("block [s]".to_owned(), Unit::Seconds),
        "objects" => return ("fetched".to_owned(), Unit::Number),
        "connections" => return ("connections".to_owned(), Unit::Number),
        "object_time" => "mean",
        "object_time_median" => "median",
        "object_time_p95" => "p95",
        "object_time_max" => "longest",
        "object_wait" => "queued",
        "all_fetched_time" => "all fetched",
        other => other,
    };
    (format!("{words} [ms]"), Unit::Milliseconds)
}

/// Why `--runs auto` ended without an answer, and how to repeat it.
fn ending(scenario: &Scenario, report: &Report) -> Option<String> {
    let Runs::Auto { most } = scenario.runs else { return None };
    let runs = counted(report.runs, "run");
    match report.stopped {
        Stopped::Answer => None,
        Stopped::Runs => (report.runs >= most && scenario.is_random())
            .then(|| format!("ended after {runs} without an answer (--runs-max {most})")),
        Stopped::Time => Some(format!(
            "ended after {runs} because the time was over (--time); `--runs {}` repeats this \
             result",
            report.runs
        )),
    }
}

/// Largest number of variants with outliers whose medians are said.
const MOST_MEDIANS: usize = 2;

/// The baseline, or that of each family of protocols: `tcp/b/cubic (tcp, mptcp), sctp/b/reno
/// (sctp)`.
pub(crate) fn baselines(report: &Report) -> Option<String> {
    let mut of: Vec<(&str, Vec<&str>)> = Vec::new();
    for summary in &report.variants {
        let (name, protocol) = (summary.baseline.as_deref()?, summary.variant.protocol().name());
        match of.iter_mut().find(|(known, _)| *known == name) {
            Some((_, protocols)) if protocols.contains(&protocol) => {}
            Some((_, protocols)) => protocols.push(protocol),
            None => of.push((name, vec![protocol])),
        }
    }
    if let [(name, _)] = of.as_slice() {
        return Some((*name).to_owned());
    }
    let one = |(name, protocols): &(&str, Vec<&str>)| format!("{name} ({})", protocols.join(", "));
    Some(of.iter().map(one).collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

/// Remarks on the reliability of the numbers.
pub(crate) fn remarks(scenario: &Scenario, report: &Report) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(ending(scenario, report));
    remarks.extend(report.goal.as_ref().map(metrics::standings));
    let families = baselines(report).filter(|names| Some(names) != report.baseline.as_ref());
    remarks.extend(families.map(|names| format!("differences are from {names}")));
    let mut note = |content: String| remarks.push(content);
    let mut shared = report.variants.iter().filter_map(|summary| summary.fairness.as_ref());
    if shared.clone().count() > 0 && shared.all(|fairness| fairness.main.is_none()) {
        note(match scenario.warm_up {
            warm_up if warm_up.is_zero() => {
                "no run has a goodput to compare with those of the flows".to_owned()
            }
            warm_up => format!(
                "every run ends within the warm-up of {warm_up}, so there is no goodput; shorten \
                 `--warm-up`"
            ),
        });
    }
    let scale = scale(report.metric, &report.variants);
    let beside = |median: f64, interval: Option<Interval>| {
        let interval =
            interval.map_or(String::new(), |i| format!(" (95 % interval {})", scale.interval(i)));
        format!("{}{interval}", scale.value(median))
    };
    let outliers = report.variants.iter().filter(|v| v.heavy_tail && v.median.is_some());
    let outliers: Vec<&str> = outliers.map(|summary| summary.variant.name.as_str()).collect();
    let is_long = outliers.len() > MOST_MEDIANS;
    for summary in &report.variants {
        let name = &summary.variant.name;
        if !summary.qualifies() || summary.incomplete + summary.discarded > 0 {
            note(format!("{name}: {}", summary.disqualification()));
        }
        if let (true, false, Some(median)) = (summary.heavy_tail, is_long, summary.median) {
            let median = beside(median, summary.median_interval);
            note(format!(
                "{name} has outliers: the interval of its mean, not that of a difference, may be \
                 too narrow; median {median}"
            ));
        }
    }
    if is_long {
        note(format!(
            "{} have outliers: the intervals of their means, not those of differences, may be too \
             narrow; the medians are in `--wide` and in the report",
            outliers.join(", ")
        ));
    }
    remarks
}

#[cfg(test)]
mod tests;
