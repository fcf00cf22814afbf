//! Tables of docs/cmt.md: `make cmt`, which takes some minutes.
//!
//! Arguments: names of tables, all without any. Simulated: the same on every machine.

use lab::run::Run;
use lab::scenario::{Key, Variant};
use lab::statistics::{Paired, mean, paired};
use lab::{Options, Watcher, run_study};

const RUNS: &str = "20";

/// Paths of 25 Mbit/s and 4 Mbit/s, whose delays differ from run to run: without that all runs are
/// equal.
const PATHS: [&str; 2] =
    ["a=rate 25mbit delay 18ms..22ms limit 100p", "b=rate 4mbit delay 63ms..77ms limit 100p"];

/// A table and what makes it.
const TABLES: [(&str, fn()); 7] = [
    ("remedies", remedies),
    ("figures", figures),
    ("buffers", buffers),
    ("lists", lists),
    ("shares", shares),
    ("readings", readings),
    ("queues", queues),
];

/// No display, no end.
struct Silent;

impl Watcher for Silent {
    fn on_run(&self, _variant: &Variant, _run: &Run) {}
    fn is_stopped(&self) -> bool {
        false
    }
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    println!("anabranch {}", env!("CARGO_PKG_VERSION"));
    for (name, print) in TABLES {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            println!("\n{name}\n");
            print();
        }
    }
}

/// Options from pairs of a key and its text.
fn options(paths: &[&str], pairs: &[(Key, &str)]) -> Options {
    let paths = paths.iter().fold(Options::default(), |all, path| all.with(Key::Path, path));
    pairs.iter().fold(paths, |all, (key, text)| all.with(*key, text))
}

/// Every run of every variant, by name.
fn runs(options: Options) -> Vec<(String, Vec<Run>)> {
    let scenario = options.resolve().expect("a scenario of this file");
    let study = run_study(&scenario, None, &Silent).expect("the engine has no defect");
    study.variants.into_iter().map(|of| (of.variant.name, of.runs)).collect()
}

fn each(runs: &[Run], number: fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(number).collect()
}

fn goodput(run: &Run) -> f64 {
    run.value.unwrap_or(f64::NAN) / 1e6
}

fn spurious(run: &Run) -> f64 {
    run.repeated.iter().map(|of| of.spurious_segs as f64).sum()
}

fn sacks(run: &Run) -> f64 {
    run.sacks_per_data_packet().unwrap_or(f64::NAN)
}

/// Mean goodputs of these variants, in Mbit/s.
fn goodputs<const N: usize>(all: &[(String, Vec<Run>)], names: [&str; N]) -> [f64; N] {
    names.map(|name| {
        let of = all.iter().find(|(other, _)| other == name);
        let (_, runs) = of.unwrap_or_else(|| panic!("a variant {name}"));
        mean(&each(runs, goodput)).unwrap_or(f64::NAN)
    })
}

/// `+1.23 (1.20 to 1.26)`: mean and 95 % interval of a paired difference.
fn shown(paired: Option<Paired>, digits: usize) -> String {
    let Some(paired) = paired else { return "-".to_owned() };
    let interval = paired.interval(0.95);
    let zero = if interval.includes_zero() { ", includes 0" } else { "" };
    format!(
        "{:+.digits$} ({:+.digits$} to {:+.digits$}{zero})",
        paired.mean, interval.low, interval.high
    )
}

/// Each remedy on and off, everything else with its default.
fn remedies() {
    println!(
        "| remedy | beside | on [Mbit/s] | off [Mbit/s] | on - off [Mbit/s] | spurious \
         retransmissions | SACKs per data packet |\n|---|---|--:|--:|--:|--:|--:|"
    );
    let alone = &[(Key::Resched, "none")];
    let larger = &[(Key::Buffers, "256KiB/1MiB")];
    let larger_alone = &[larger[0], alone[0]];
    for others in [&[][..], alone] {
        remedy("SFR", (Key::Sfr, ["on", "off"]), others);
    }
    for others in [&[][..], alone] {
        remedy("CUC", (Key::Cuc, ["v2", "normal"]), others);
    }
    remedy("DAC", (Key::Dac, ["on", "off"]), &[]);
    for others in [&[][..], alone] {
        remedy("splitting", (Key::BufferSplit, ["both", "none"]), others);
    }
    remedy("rescheduling", (Key::Resched, ["both", "none"]), &[]);
    for others in [&[][..], alone, larger, larger_alone] {
        remedy("NR-SACK", (Key::NrSack, ["on", "off"]), others);
    }
}

/// The row of a remedy: its switch with the values on and off, and what else differs from the
/// defaults.
fn remedy(name: &str, (key, words): (Key, [&str; 2]), others: &[(Key, &str)]) {
    let [on, off] = words.map(|word| {
        let base = [
            (Key::Traffic, "bulk:60s"),
            (Key::Protocols, "cmt-sctp"),
            (Key::Cc, "reno"),
            (Key::Buffers, "256KiB/256KiB"),
            (Key::Runs, RUNS),
            (key, word),
        ];
        runs(options(&PATHS, &[&base[..], others].concat())).remove(0).1
    });
    let difference = |number: fn(&Run) -> f64| paired(&each(&on, number), &each(&off, number));
    let of = |runs: &[Run]| mean(&each(runs, goodput)).unwrap_or(f64::NAN);
    let other = |(key, word): &(Key, &str)| match key {
        Key::Resched => "no rescheduling".to_owned(),
        _ => format!("buffers {word}"),
    };
    let others: Vec<String> = others.iter().map(other).collect();
    println!(
        "| {name} | {} | {:.2} | {:.2} | {} | {} | {} |",
        others.join(", "),
        of(&on),
        of(&off),
        shown(difference(goodput), 2),
        shown(difference(spurious), 0),
        shown(difference(sacks), 3),
    );
}

/// 003's laboratory (sIII): the paths A and B with RED.
fn lab(mbit: &str, delay: &str, pairs: &[(Key, &str)]) -> Vec<(String, Vec<Run>)> {
    let path = |name: &str, rate: &str| {
        format!("{name}=rate {rate}mbit delay {delay} queue red 30p 90p 10% limit 100p")
    };
    let lab = [
        (Key::Traffic, "bulk:320s"),
        (Key::WarmUp, "20s"),
        (Key::SctpProfile, "lab003"),
        (Key::Runs, "10"),
    ];
    runs(options(&[&path("a", "0.8"), &path("b", mbit)], &[&lab[..], pairs].concat()))
}

const CMT: &str = "cmt-sctp/send-all/lia";
const MPTCP: &str = "mptcp/lrf/lia";

/// 003 Figs 3 and 4.
fn figures() {
    println!(
        "| RTT | B [Mbit/s] | ideal [Mbit/s] | CMT-SCTP | MPTCP | SCTP on A + on B \
         | TCP on A + on B |\n|--:|--:|--:|--:|--:|--:|--:|"
    );
    for (rtt, delay) in [("0", "0ms"), ("200 ms", "100ms"), ("400 ms", "200ms")] {
        for mbit in ["0.2", "0.4", "0.8", "1.6", "2.5", "5", "10"] {
            let all = [
                (Key::Protocols, "tcp,sctp,mptcp,cmt-sctp"),
                (Key::Cc, "lia,reno"),
                (Key::Schedulers, "lrf,send-all"),
                (Key::Buffers, "16MiB/16MiB"),
            ];
            let all = lab(mbit, delay, &all);
            let ideal = 0.968 * (0.8 + mbit.parse::<f64>().expect("a number"));
            let names = [CMT, MPTCP, "sctp/a/reno", "sctp/b/reno", "tcp/a/reno", "tcp/b/reno"];
            let [cmt, mptcp, sctp_a, sctp_b, tcp_a, tcp_b] = goodputs(&all, names);
            let share = |goodput: f64| format!("{:.1} %", 100.0 * goodput / ideal);
            let shares = [cmt, mptcp, sctp_a + sctp_b, tcp_a + tcp_b].map(share);
            println!("| {rtt} | {mbit} | {ideal:.2} | {} |", shares.join(" | "));
        }
    }
}

/// Small buffers as a reason of 003's Fig. 4, and a single path with another control.
fn buffers() {
    println!(
        "| RTT | buffers | B [Mbit/s] | CMT-SCTP [Mbit/s] | MPTCP | SCTP on B, reno \
         | TCP on B, reno | TCP on B, cubic |\n|--:|--:|--:|--:|--:|--:|--:|--:|"
    );
    for mbit in ["0.2", "0.4", "0.8", "1.6", "2.5", "5"] {
        with_buffers(("200 ms", "100ms"), "256KiB", mbit);
    }
    for rtt in [("200 ms", "100ms"), ("400 ms", "200ms")] {
        for size in ["256KiB", "1MiB", "4MiB", "16MiB"] {
            with_buffers(rtt, size, "10");
        }
    }
}

fn with_buffers((rtt, delay): (&str, &str), size: &str, mbit: &str) {
    let buffers = format!("fixed:{size}/{size}");
    let all = [
        (Key::Protocols, "tcp,sctp,mptcp,cmt-sctp"),
        (Key::Cc, "lia,reno,cubic"),
        (Key::Schedulers, "lrf,send-all"),
        (Key::Buffers, buffers.as_str()),
    ];
    let all = lab(mbit, delay, &all);
    let names = [CMT, MPTCP, "sctp/b/reno", "tcp/b/reno", "tcp/b/cubic"];
    let found = goodputs(&all, names).map(|goodput| format!("{goodput:.2}"));
    println!("| {rtt} | {size} | {mbit} | {} |", found.join(" | "));
}

/// Hosts that walk lists of gaps (003 sIII-D), RTT 200 ms.
fn lists() {
    println!(
        "| B [Mbit/s] | CMT-SCTP, list | SCTP on B, list | CMT-SCTP, tree | SCTP on B, tree |\n\
         |--:|--:|--:|--:|--:|"
    );
    for mbit in ["0.2", "0.4", "0.8", "1.6", "2.5", "5", "10"] {
        let found = ["list", "tree"].map(|structure| {
            let all = [
                (Key::Protocols, "sctp,cmt-sctp"),
                (Key::Cc, "lia,reno"),
                (Key::Buffers, "16MiB/16MiB"),
                (Key::GapStructure, structure),
                (Key::HostCost, "gap=40us"),
            ];
            goodputs(&lab(mbit, "100ms", &all), [CMT, "sctp/b/reno"])
        });
        let found = found.as_flattened().iter().map(|goodput| format!("{goodput:.2}"));
        println!("| {mbit} | {} |", found.collect::<Vec<_>>().join(" | "));
    }
}

/// The networks of 000, and the buffers that it has there.
const NETWORKS: [(&str, &str, &str); 3] =
    [("3g", "3g", "256KiB/256KiB"), ("wlan", "wlan", "1MiB/2MiB"), ("wlan", "3g", "1MiB/2MiB")];

/// All runs of the video of 000 over paths with these profiles.
fn video(
    (a, b, buffers): (&str, &str, &str),
    protocols: &str,
    more: &[(Key, &str)],
) -> Vec<(String, Vec<Run>)> {
    let (first, second) = (format!("a=profile {a}"), format!("b=profile {b}"));
    let video = [
        (Key::Traffic, "video"),
        (Key::Protocols, protocols),
        (Key::Cc, "reno"),
        (Key::SctpProfile, "inet000"),
        (Key::Buffers, buffers),
        (Key::Runs, "128"),
    ];
    runs(options(&[&first, &second], &[&video[..], more].concat()))
}

fn delay(run: &Run) -> f64 {
    run.value.unwrap_or(f64::NAN) * 1e3
}

/// Share of the first path in the data of a run, in percent.
fn share_of_a(run: &Run) -> f64 {
    let sent: u64 = run.first_sent_bytes.iter().sum();
    100.0 * run.first_sent_bytes[0] as f64 / sent as f64
}

/// Delays and shares of the video of 000 without other traffic, beside its Table 4: by which path a
/// write begins with, and Nagle's algorithm.
fn shares() {
    println!(
        "| paths a and b | writes begin | Nagle | SCTP on a [ms] | SCTP on b [ms] | CMT-SCTP [ms] \
         | share of a | 000 |\n|---|---|---|--:|--:|--:|--:|--:|"
    );
    // The primary of Table 4 is its second path.
    let networks = NETWORKS.map(|(first, second, buffers)| (second, first, buffers));
    for (network, published) in networks.into_iter().zip(["93.7", "82.5", "83.6"]) {
        let begin = [(Key::PrimaryFirst, "on"), (Key::PrimaryFirst, "always"), (Key::Nagle, "")];
        for (begins, nagle, keys) in [
            ("where idle longest", "off", &begin[..1]),
            ("on a", "off", &begin[1..2]),
            ("on a", "on", &begin[1..]),
        ] {
            let all = video(network, "sctp,cmt-sctp", keys);
            let of = |name: &str, number: fn(&Run) -> f64| {
                let found = all.iter().find(|(other, _)| other.starts_with(name));
                let (_, runs) = found.unwrap_or_else(|| panic!("a variant {name}"));
                mean(&each(runs, number)).unwrap_or(f64::NAN)
            };
            let cmt = "cmt-sctp/send-all/reno";
            let [a, b, both] = ["sctp/a/reno", "sctp/b/reno", cmt].map(|name| of(name, delay));
            let share = of(cmt, share_of_a);
            println!(
                "| {} and {} | {begins} | {nagle} | {a:.1} | {b:.1} | {both:.1} | {share:.1} % \
                 | {published} % |",
                network.0, network.1,
            );
        }
    }
}

/// What the papers leave open.
fn readings() {
    println!("| network | switch | mean | difference from the first one |\n|---|---|--:|--:|");
    for (a, b, buffers) in NETWORKS {
        for (key, name, words) in [
            (Key::NrSack, "NR-SACK", ["on", "off"]),
            (Key::RtxPolicy, "retransmission", ["rtt", "next"]),
            (Key::Resched, "rescheduling", ["both", "none"]),
        ] {
            let of = |word| video((a, b, buffers), "cmt-sctp", &[(key, word)]).remove(0).1;
            let network = format!("000, video, {a} and {b} [ms]");
            readings_of(&network, name, &words, &words.map(of), delay);
        }
    }
    let lab = |key, word| {
        let pairs = [
            (Key::Protocols, "cmt-sctp"),
            (Key::Cc, "lia"),
            (Key::Buffers, "16MiB/16MiB"),
            (key, word),
        ];
        lab("10", "100ms", &pairs).remove(0).1
    };
    let network = "003, B = 10, RTT 200 ms [Mbit/s]";
    for (key, name, words) in [(Key::Dac, "DAC", ["off", "on"]), (Key::AbcLimit, "L", ["2", "1"])] {
        readings_of(network, name, &words, &words.map(|word| lab(key, word)), goodput);
    }
    let words = ["both", "none", "sender", "receiver"];
    let of = words.map(|word| lab(Key::BufferSplit, word));
    readings_of(network, "splitting", &words, &of, goodput);
}

fn readings_of(
    network: &str,
    name: &str,
    words: &[&str],
    of: &[Vec<Run>],
    number: fn(&Run) -> f64,
) {
    for (word, runs) in words.iter().zip(of) {
        let values = each(runs, number);
        let difference = match paired(&values, &each(&of[0], number)) {
            Some(paired) if *word != words[0] => shown(Some(paired), 2),
            _ => String::new(),
        };
        let mean = mean(&values).unwrap_or(f64::NAN);
        println!("| {network} | {name} {word} | {mean:.2} | {difference} |");
    }
}

/// Long queues at the slow path, with the default buffers.
fn queues() {
    println!(
        "| queues | buffers | CMT-SCTP [Mbit/s] | share of b | SCTP on a | SCTP on b |\n\
         |---|---|--:|--:|--:|--:|"
    );
    for (limit, buffers) in
        [("100p", "4MiB/6MiB"), ("1000p", "4MiB/6MiB"), ("1000p", "16MiB/16MiB")]
    {
        let paths = PATHS.map(|path| path.replace("100p", limit));
        let pairs = [
            (Key::Traffic, "bulk:60s"),
            (Key::Protocols, "sctp,cmt-sctp"),
            (Key::Cc, "reno"),
            (Key::Buffers, buffers),
            (Key::Runs, RUNS),
        ];
        let all = runs(options(&[&paths[0], &paths[1]], &pairs));
        let names = ["cmt-sctp/send-all/reno", "sctp/a/reno", "sctp/b/reno"];
        let [cmt, a, b] = goodputs(&all, names);
        let of = all.iter().find(|(name, _)| name == names[0]).map(|(_, runs)| runs.as_slice());
        let share = |run: &Run| {
            let sent: u64 = run.first_sent_bytes.iter().sum();
            run.first_sent_bytes[1] as f64 / sent as f64
        };
        let share = mean(&each(of.unwrap_or_default(), share)).unwrap_or(f64::NAN);
        println!("| {limit} | {buffers} | {cmt:.2} | {:.0} % | {a:.2} | {b:.2} |", 100.0 * share);
    }
}
