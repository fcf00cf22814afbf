//! The document of `compare --json` (docs/interface.md).

use super::aggregation;
use crate::answer::MetricRow;
use crate::blocking::{Blocking, Lost, Repeats};
use crate::comparison::Pair;
use crate::comparison::{Class, Difference};
use crate::failover::{FailoverEvent, Failovers};
use crate::fairness::{Estimate, FlowSummary};
use crate::goal::{Aim, Standing};
use crate::path_spec::{CapacitySpec, LinkSpec, Loss, PathSpec, Span};
use crate::report::Report;
use crate::run::OBJECT_TIME;
use crate::scenario::{Carrier, FlowSpec, Runs, Scenario, Variant};
use crate::statistics::Interval;
use crate::summary::Summary;
use crate::traffic_spec::show_traffic;
use base::{Blocked, Duration};
use serde_json::{Map, Value, json};
use traffic::model::conversation::Timing;
use traffic::web::{Object, Tls};
use traffic::{Role, Traffic};

/// The version of the document.
pub(super) const SCHEMA: u32 = 1;

/// The document for a study.
pub fn document(scenario: &Scenario, report: &Report) -> Value {
    let paths: Vec<Value> = scenario.paths.iter().map(path).collect();
    let benefits = aggregation::benefits(scenario, &report.variants);
    let of = |(summary, benefit): (&Summary, Option<f64>)| {
        let mut value = variant(scenario, summary);
        if let Some(benefit) = benefit {
            value["aggregation_benefit"] = json!(benefit);
        }
        value
    };
    let variants: Vec<Value> = report.variants.iter().zip(benefits).map(of).collect();
    let mut document = json!({
        "schema": SCHEMA,
        "traffic": show_traffic(&scenario.traffic),
        "metric": report.metric.name(),
        "unit": report.metric.unit(),
        "seed": scenario.seed,
        "runs": report.runs,
        "baseline": report.baseline,
        "paths": paths,
        "variants": variants,
        "answer": answer(report),
        "metrics": metrics(report),
        "goal": report.goal.as_ref().map(goal),
        "matters": scenario.matters.0,
        "advice": report.advice,
        "verdict": report.verdict,
        "hash": report.hash,
        "reverse": scenario.ends.reverse,
        "interrupted": report.interrupted,
        "auto": auto(scenario),
        "pairs": report.pairs.iter().map(|each| pair(report, each)).collect::<Vec<_>>(),
        "notes": scenario.notes,
        "page": page(&scenario.traffic),
        "conversation": conversation(&scenario.traffic),
    });
    competition(scenario, &mut document);
    document
}

/// Shared links and competing flows of a study.
pub(super) fn competition(scenario: &Scenario, document: &mut Value) {
    if !scenario.links.is_empty() {
        document["links"] = scenario.links.iter().map(path).collect();
    }
    if !scenario.flows.is_empty() {
        let flow = |flow: &FlowSpec| json!({"name": flow.name, "spec": flow.show(&scenario.paths)});
        document["flows"] = scenario.flows.iter().map(flow).collect();
    }
    if scenario.start.high > Duration::ZERO {
        document["start"] = span(scenario.start, |start| start.as_secs_f64());
    }
    if !scenario.warm_up.is_zero() {
        document["warm_up"] = json!(scenario.warm_up.as_secs_f64());
    }
}

pub(super) fn path(path: &PathSpec) -> Value {
    let mut value = json!({
        "name": path.name,
        "spec": path.given,
        "understood": path.to_string(),
        "downlink": link(&path.down),
        "uplink": link(&path.up),
    });
    match &path.via[..] {
        [] => {}
        [via] => value["via"] = json!(via.link),
        several => value["via"] = several.iter().map(|via| json!(via.link)).collect(),
    }
    for (word, end) in path.end_words() {
        value[word] = json!(end);
    }
    value
}

/// A link in SI units; a uniform distribution is a list of its two ends, a normal one its mean and
/// its standard deviation.
fn link(link: &LinkSpec) -> Value {
    let (rate, trace) = match &link.capacity {
        CapacitySpec::Rate(rate) => (span(*rate, |rate| rate.as_bps() as f64), Value::Null),
        CapacitySpec::Trace(trace) => (Value::Null, json!(trace.file)),
        CapacitySpec::Unlimited => (Value::Null, Value::Null),
    };
    let loss = match link.loss {
        Loss::Random(loss) => span(loss, |p| p),
        Loss::GilbertElliott { p, r, one_minus_h, one_minus_k } => {
            json!({"p": p, "r": r, "one_minus_h": one_minus_h, "one_minus_k": one_minus_k})
        }
    };
    json!({
        "rate": rate,
        "trace": trace,
        "delay": span(link.delay, |delay| delay.as_secs_f64()),
        "jitter": link.jitter.spread.as_secs_f64(),
        "correlation": link.jitter.correlation,
        "distribution": link.jitter.distribution.name(),
        "unordered": link.jitter.unordered,
        "loss": loss,
        "limit": link.limit.to_string(),
        "reorder": link.reorder,
        "duplicate": link.duplicate,
        "corrupt": link.corrupt,
    })
}

fn span<T: Copy + PartialEq>(span: Span<T>, number: impl Fn(T) -> f64) -> Value {
    match span.deviation {
        Some(deviation) => json!({"mean": number(span.low), "deviation": number(deviation)}),
        None if span.is_drawn() => json!([number(span.low), number(span.high)]),
        None => json!(number(span.low)),
    }
}

fn variant(scenario: &Scenario, summary: &Summary) -> Value {
    let path = summary.variant.single_path().and_then(|path| scenario.paths.get(path));
    let share: Map<String, Value> =
        summary.share.iter().map(|(name, share)| (name.clone(), json!(share))).collect();
    let (single, extra): (Vec<_>, Vec<_>) =
        summary.extra.iter().partition(|(name, _)| name.starts_with(OBJECT_TIME));
    let extra: Map<String, Value> =
        extra.into_iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let object_times: Map<String, Value> = single
        .into_iter()
        .map(|(name, value)| (name[OBJECT_TIME.len()..].to_owned(), json!(value)))
        .collect();
    let class = summary.class.filter(|_| summary.qualifies());
    let magnitude = summary.difference.as_ref().filter(|_| class.is_some());
    let mut variant = json!({
        "name": summary.variant.name,
        "protocol": summary.variant.protocol().name(),
        "path": path.map(|path| path.name.as_str()),
        "scheduler": summary.variant.scheduler_name(),
        "path_manager": path_manager(&summary.variant),
        "cc": summary.variant.control(),
        "policy": summary.variant.policy().map(ToString::to_string),
        "failover": summary.variant.failover(),
        "profile": scenario.profile_of(summary.variant.protocol()),
        "n": summary.n,
        "incomplete": summary.incomplete,
        "mean": summary.mean,
        "median": summary.median,
        "ci95": summary.mean_interval.map(ends),
        "diff": summary.difference.as_ref().map(difference),
        "class": class.map(Class::name),
        "magnitude": magnitude.map(Difference::magnitude),
        "needs": summary.difference.as_ref().and_then(|difference| difference.needs),
        "share": share,
        "dominant_share": summary.dominant_share,
        "median_ci95": summary.median_interval.map(ends),
        "quantiles": quantiles(summary),
        "deterministic": summary.deterministic,
        "heavy_tail": summary.heavy_tail,
        "retransmitted_segments": summary.retransmitted,
        "sacks_per_data_packet": summary.sacks_per_data_packet,
        "reinjected_bytes": summary.reinjected,
        "extra": extra,
        "blocking": blocking(summary.blocking.as_ref()),
        "repeated": repeated(&summary.repeats),
        "failover_time": failovers(summary.failovers.as_ref()),
    });
    // Elsewhere all have that of the document.
    if scenario.compares_sctp() {
        variant["baseline"] = json!(summary.baseline);
    }
    if !summary.values.is_empty() {
        variant["values"] = json!(summary.values);
    }
    if summary.discarded > 0 {
        variant["discarded"] = json!(summary.discarded);
    }
    if !object_times.is_empty() {
        variant["object_times"] = json!(object_times);
    }
    if let Some(fairness) = &summary.fairness {
        variant["flows"] = fairness.flows.iter().map(flow).collect();
        variant["goodput"] = estimate(fairness.main);
        variant["tcp_share"] = estimate(fairness.tcp_share);
        variant["jain"] = estimate(fairness.jain);
        variant["convergence_time"] = estimate(fairness.convergence);
        variant["converged_runs"] = json!(fairness.converged);
    }
    variant
}

fn path_manager(variant: &Variant) -> Option<String> {
    match variant.carrier {
        Carrier::Single { .. } | Carrier::Multihomed { .. } => None,
        Carrier::Multipath { path_manager, .. } => Some(path_manager.to_string()),
    }
}

/// A competing connection: its goodput in bit/s, and its path shares with several paths.
fn flow(flow: &FlowSummary) -> Value {
    let FlowSummary { name, protocol, paths, goodput, share } = flow;
    let mut value = json!({
        "name": name,
        "protocol": protocol.name(),
        "path": paths.join(","),
        "goodput": goodput.map(|goodput| goodput.mean),
        "ci95": goodput.and_then(|goodput| goodput.interval).map(ends),
    });
    if !share.is_empty() {
        let share = share.iter().map(|(path, share)| (path.clone(), json!(share)));
        value["share"] = json!(share.collect::<Map<String, Value>>());
    }
    value
}

fn estimate(of: Option<Estimate>) -> Value {
    json!(of.map(|of| json!({"mean": of.mean, "ci95": of.interval.map(ends)})))
}

/// Times by state; null where unknown.
pub(super) fn blocking(of: Option<&Blocking>) -> Value {
    let Some(blocking) = of else { return Value::Null };
    let each = |number: &dyn Fn(Lost) -> f64| -> Map<String, Value> {
        let named = |why: &Blocked| (why.name().to_owned(), json!(number(blocking.of(*why))));
        Blocked::ALL.iter().map(named).collect()
    };
    let Lost { time, bytes } = blocking.head_of_line;
    json!({
        "life": blocking.life,
        "time": each(&|lost| lost.time),
        "bytes": each(&|lost| lost.bytes),
        "head_of_line": {"time": time, "bytes": bytes},
    })
}

/// Fail-over times; null if no path failed, and for kernels.
fn failovers(of: Option<&Failovers>) -> Value {
    let Some(failovers) = of else { return Value::Null };
    let event = |event: &FailoverEvent| {
        json!({
            "event": event.name,
            "mean": event.mean,
            "median": event.median,
            "ci95": event.interval.map(ends),
            "n": event.times.len(),
        })
    };
    json!({
        "mean": failovers.mean,
        "median": failovers.median,
        "ci95": failovers.interval.map(ends),
        "n": failovers.n,
        "unresumed": failovers.unresumed,
        "events": failovers.events.iter().map(event).collect::<Vec<Value>>(),
    })
}

/// Repeated segments, by path.
pub(super) fn repeated(repeats: &[Repeats]) -> Value {
    let of = |one: &Repeats| {
        let numbers = json!({
            "spurious_segments": one.spurious_segs,
            "reinjected_segments": one.reinjected_segs,
            "reinjected_bytes": one.reinjected_bytes,
        });
        (one.path.clone(), numbers)
    };
    json!(repeats.iter().map(of).collect::<Map<String, Value>>())
}

/// What the messages of a conversation are; null for other traffic.
fn conversation(traffic: &Traffic) -> Value {
    let Traffic::Conversation(conversation) = traffic else { return Value::Null };
    let way = |from| {
        let messages = conversation.from(from);
        let bytes: u64 = messages.iter().map(|message| message.len).sum();
        json!({"messages": messages.len(), "bytes": bytes})
    };
    json!({
        "name": conversation.name(),
        "paced": conversation.timing() == Timing::Paced,
        "length": conversation.length().as_secs_f64(),
        "up": way(Role::Client),
        "down": way(Role::Server),
    })
}

/// Contents of a page, and how it is fetched; null for other traffic.
fn page(traffic: &Traffic) -> Value {
    let Traffic::Web(web) = traffic else { return Value::Null };
    let object = |(object, number): (&Object, usize)| {
        json!({
            "number": number,
            "url": object.label,
            "host": object.host,
            "request_bytes": object.request_bytes,
            "response_bytes": object.response_bytes,
            "think": object.think.as_secs_f64(),
            "urgency": object.urgency,
        })
    };
    json!({
        "name": web.page.name(),
        "http": web.http.name(),
        "per_host": web.per_host,
        "tls": web.opening.tls.map(Tls::name),
        "dns": web.opening.lookup.as_secs_f64(),
        "session": web.page.is_session(),
        "hosts": web.page.hosts(),
        "response_bytes": web.page.response_bytes(),
        "objects": web.page.objects().iter().zip(1..).map(object).collect::<Vec<_>>(),
    })
}

pub(super) fn difference(difference: &Difference) -> Value {
    json!({
        "mean": difference.mean,
        "ci95": difference.interval.map(ends),
        "unpaired_ci95": difference.unpaired.map(ends),
        "correlation": difference.correlation,
        "fixed_ci95": difference.fixed.map(ends),
        "corrected_ci": difference.interval.map(ends),
        "relative": difference.relative,
        "relative_ci95": difference.relative_interval.map(ends),
        "median": difference.median,
        "median_ci95": difference.median_interval.map(ends),
        "heavy_tail": difference.heavy_tail,
    })
}

/// Every number of the runs.
fn metrics(report: &Report) -> Vec<Value> {
    let row = |row: &MetricRow| {
        let answer = &row.answer;
        json!({
            "metric": row.metric.name(),
            "unit": row.metric.unit(),
            "class": answer.class.map(Class::name),
            "magnitude": row.magnitude,
            "variant": answer.variant,
            "baseline": answer.baseline,
            "mean": row.mean,
            "baseline_mean": row.baseline_mean,
            "effect": answer.effect,
            "ci95": answer.interval.map(ends),
            "needs": answer.needs,
        })
    };
    report.metrics.iter().map(row).collect()
}

/// The goal and every variant.
fn goal(aim: &Aim) -> Value {
    let standing = |of: &Standing| {
        json!({
            "name": of.variant,
            "class": of.outcome.name(),
            "value": of.value,
            "ci95": of.interval.map(ends),
        })
    };
    json!({
        "text": aim.goal.text,
        "metric": aim.goal.metric.name(),
        "bound": aim.goal.bound,
        "below": aim.goal.below,
        "quantile": aim.goal.quantile,
        "class": aim.outcome.name(),
        "variant": aim.best.and_then(|best| aim.variants.get(best)).map(|of| &of.variant),
        "variants": aim.variants.iter().map(standing).collect::<Vec<_>>(),
    })
}

/// The answer; `goal` is null without one.
fn answer(report: &Report) -> Value {
    let answer = &report.answer;
    json!({
        "class": answer.class.map(Class::name),
        "winner": answer.winner,
        "variant": answer.variant,
        "baseline": answer.baseline,
        "metric": answer.metric,
        "effect": answer.effect,
        "ci95": answer.interval.map(ends),
        "comparisons": answer.family,
        "needs": answer.needs,
        "goal": report.goal.as_ref().map(|aim| aim.outcome.name()),
        "runs": report.runs,
        "stopped": report.stopped.name(),
    })
}

/// The limit of `--runs auto`; `null` with a number of runs.
fn auto(scenario: &Scenario) -> Value {
    match scenario.runs {
        Runs::Fixed(_) => Value::Null,
        Runs::Auto { most } => json!({"runs_max": most}),
    }
}

/// A variant minus another one.
fn pair(report: &Report, pair: &Pair) -> Value {
    let name = |index: usize| report.variants.get(index).map(|v| v.variant.name.as_str());
    let difference = pair.difference.as_ref();
    json!({
        "variant": name(pair.variant),
        "baseline": name(pair.with),
        "diff": difference.map(|difference| json!({
            "mean": difference.mean,
            "ci95": difference.interval.map(ends),
            "unpaired_ci95": difference.unpaired.map(ends),
            "correlation": difference.correlation,
            "fixed_ci95": difference.fixed.map(ends),
            "corrected_ci": difference.interval.map(ends),
            "relative": difference.relative,
        })),
        "class": pair.class.map(Class::name),
        "magnitude": difference.filter(|_| pair.class.is_some()).map(Difference::magnitude),
    })
}

fn quantiles(summary: &Summary) -> Map<String, Value> {
    let quantile = |quantile: &crate::summary::Quantile| {
        let value = json!({"value": quantile.value, "ci95": quantile.interval.map(ends)});
        (quantile.name.to_owned(), value)
    };
    summary.quantiles.iter().map(quantile).collect()
}

pub(crate) fn ends(interval: Interval) -> Value {
    json!([interval.low, interval.high])
}
