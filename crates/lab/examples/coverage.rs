//! Table of the coverage of deciding intervals (docs/statistics.md): `make coverage`.
//!
//! Every situation is simulated often; replicates drawn from these runs pass through the stopping
//! rule. Arguments: the number of runs of a pool, of replicates, and of runs of a replicate where
//! these are fixed.

use lab::coverage::Coverage;
use lab::run::Run;
use lab::scenario::{Key, Runs, Variant, variants_of};
use lab::{Options, Scenario, Study, Watcher, run_study};

/// A study whose intervals are examined.
struct Situation {
    name: &'static str,
    paths: [&'static str; 2],
    traffic: &'static str,
    schedulers: &'static str,
    http: Option<&'static str>,
    /// Further metrics, of the same runs.
    metrics: &'static [&'static str],
}

const fn situation(
    name: &'static str,
    paths: [&'static str; 2],
    traffic: &'static str,
    schedulers: &'static str,
) -> Situation {
    Situation { name, paths, traffic, schedulers, http: None, metrics: &[] }
}

const SITUATIONS: &[Situation] = &[
    Situation {
        http: Some("2"),
        ..situation("page, WLAN and LTE", ["a=profile wlan", "b=profile lte"], "web:amazon", "lrf")
    },
    situation(
        "page, 0.5 % loss",
        ["a=rate 8mbit delay 15ms loss 0.5%", "b=rate 4mbit delay 40ms loss 0.2%"],
        "web:wikipedia",
        "lrf,ecf,blest",
    ),
    situation(
        "64 KiB, 1 % loss",
        ["a=rate 10mbit delay 10ms loss 1%", "b=rate 5mbit delay 30ms loss 1%"],
        "bulk:64KiB",
        "lrf",
    ),
    situation(
        "16 KiB, 0.2 % loss",
        ["a=rate 50mbit delay 5ms loss 0.2%", "b=rate 50mbit delay 8ms loss 0.2%"],
        "bulk:16KiB",
        "lrf",
    ),
    situation(
        "256 KiB, 0.1 % loss",
        ["a=rate 20mbit delay 15ms loss 0.1%", "b=rate 10mbit delay 25ms loss 0.1%"],
        "bulk:256KiB",
        "lrf,rr",
    ),
    situation(
        "burst of 20, 0.5 % loss",
        ["a=rate 20mbit delay 10ms loss 0.5%", "b=rate 10mbit delay 20ms loss 0.5%"],
        "burst:20",
        "lrf,redundant",
    ),
    situation(
        "512 KiB, loss in bursts",
        ["a=rate 10mbit delay 20ms loss gemodel 1% 30% 100% 0%", "b=rate 8mbit delay 30ms"],
        "bulk:512KiB",
        "lrf,blest",
    ),
    situation("1 MiB, WLAN and 3G", ["a=profile wlan", "b=profile 3g"], "bulk:1MiB", "lrf,sttf"),
    Situation {
        metrics: &["p95", "late"],
        ..situation(
            "video of 5 s, WLAN and 3G",
            ["a=profile wlan", "b=profile 3g"],
            "video:5s",
            "lrf",
        )
    },
    Situation {
        metrics: &["failover"],
        ..situation(
            "1 MiB, a path fails",
            [
                "a=rate 10mbit delay 15ms loss 0.5% silent @400ms..900ms",
                "b=rate 5mbit delay 30ms loss 0.5%",
            ],
            "bulk:1MiB",
            "lrf",
        )
    },
    // Each recording that is part of the program beside the next one, the models in turn.
    situation(
        "1 MiB, recorded bus and train",
        ["a=trace lte-ghent-bus delay 30ms", "b=trace lte-ghent-train delay 30ms"],
        "bulk:1MiB",
        "lrf",
    ),
    situation(
        "video of 5 s, recorded train and walk",
        ["a=trace lte-ghent-train delay 30ms", "b=trace lte-ghent-foot delay 30ms"],
        "video:5s",
        "lrf",
    ),
    situation(
        "page, recorded walk and bus",
        ["a=trace lte-ghent-foot delay 30ms", "b=trace hsdpa-norway-bus delay 60ms"],
        "web:wikipedia-2015",
        "lrf",
    ),
    situation(
        "1 MiB, recorded HSDPA",
        ["a=trace hsdpa-norway-bus delay 60ms", "b=trace hsdpa-norway-train delay 60ms"],
        "bulk:1MiB",
        "lrf",
    ),
    situation(
        "video of 5 s, recorded HSDPA",
        ["a=trace hsdpa-norway-train delay 60ms", "b=trace hsdpa-norway-log delay 60ms"],
        "video:5s",
        "lrf",
    ),
    situation(
        "page, recorded HSDPA and LTE",
        ["a=trace hsdpa-norway-log delay 60ms", "b=trace lte-ghent-bus delay 30ms"],
        "web:wikipedia-2015",
        "lrf",
    ),
    // One run in 50 meets a time without capacity.
    situation(
        "256 KiB, recorded trains",
        ["a=trace lte-ghent-train delay 30ms", "b=trace hsdpa-norway-train delay 60ms"],
        "bulk:256KiB",
        "lrf",
    ),
];

/// Further numbers of runs that are judged.
const JUDGED: [&str; 4] = ["p95", "over_150ms", "failover_time", "failover_at_least"];

/// No display, no end.
struct Silent;

impl Watcher for Silent {
    fn on_run(&self, _variant: &Variant, _run: &Run) {}
    fn is_stopped(&self) -> bool {
        false
    }
}

impl Situation {
    /// The study, judged by `metric` or by that of the traffic.
    fn scenario(&self, metric: Option<&str>) -> Scenario {
        let options =
            self.paths.iter().fold(Options::default(), |all, path| all.with(Key::Path, path));
        let options =
            options.with(Key::Traffic, self.traffic).with(Key::Schedulers, self.schedulers);
        let options = match self.http {
            Some(http) => options.with(Key::Http, http),
            None => options,
        };
        let options = match metric {
            Some(metric) => options.with(Key::Metric, metric),
            None => options,
        };
        options.resolve().expect("a situation of this file")
    }
}

/// This number of runs, with only the numbers that are judged.
fn pool(scenario: &Scenario, runs: u32) -> Study {
    let scenario = Scenario { runs: Runs::Fixed(runs), ..scenario.clone() };
    let mut pool = run_study(&scenario, None, &Silent).expect("the engine has no defect");
    for run in pool.variants.iter_mut().flat_map(|of| &mut of.runs) {
        run.extra.retain(|(name, _)| JUDGED.contains(&name.as_str()));
        run.extra.shrink_to_fit();
    }
    pool
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let (runs, replicates) = (numbers.next().unwrap_or(20_000), numbers.next().unwrap_or(2_000));
    let fixed = numbers.next();
    println!("{runs} runs, {replicates} replicates, seed 1\n");
    println!(
        "| situation | variants | covered | no interval | wrong class | answered | median runs |\n\
         |---|--:|--:|--:|--:|--:|--:|"
    );
    let mut least = f64::INFINITY;
    for situation in SITUATIONS {
        let pool = pool(&situation.scenario(None), runs);
        let metrics = [None].into_iter().chain(situation.metrics.iter().copied().map(Some));
        for metric in metrics {
            let mut scenario = situation.scenario(metric);
            if let Some(fixed) = fixed {
                scenario.runs = Runs::Fixed(fixed);
            }
            let of = Coverage::measure(&scenario, &pool, replicates as usize, 1);
            least = least.min(of.share());
            println!("{}", row(situation, metric, &of));
        }
    }
    println!("\nleast coverage: {:.1} %", 100.0 * least);
    assert!(fixed.is_some() || least >= 0.935, "the deciding intervals cover too seldom");
}

/// A row of the table.
fn row(situation: &Situation, metric: Option<&str>, of: &Coverage) -> String {
    format!(
        "| {}{} | {} | {:.1} % | {} | {} | {:.0} % | {} |",
        situation.name,
        metric.map_or(String::new(), |metric| format!(": {metric}")),
        variants_of(&situation.scenario(None)).len(),
        100.0 * of.share(),
        of.without,
        of.wrong,
        100.0 * of.answered as f64 / of.replicates as f64,
        of.median_runs()
    )
}
