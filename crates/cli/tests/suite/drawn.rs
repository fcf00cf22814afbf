//! The simulator beside the kernel over networks that a rule drew: downloads that were recorded
//! before anybody compared them (`scenarios/kernel-grid-unseen.toml`), uploads
//! (`scenarios/kernel-uploads.toml`), networks that change (`scenarios/kernel-events.toml`), paths
//! with impairments (`scenarios/kernel-impairments.toml`), links with recorded capacity
//! (`scenarios/kernel-recordings.toml`), and pages (`scenarios/kernel-pages.toml`). SCTP beside
//! usrsctp (`scenarios/usrsctp.toml`).

use crate::anabranch;
use serde_json::Value;

/// MPTCP: median of the misfits at most 2 %, nine of ten within 8 %, all within 15 % where the
/// kernel's mean is known to 4 %, and within 8 % beyond the kernel's interval elsewhere. Shares of
/// paths within five points in 95 %. The verdicts of both sides never contradict each other, and
/// at most in one network of ten is only one of them decided. TCP: median within 0.4 %.
#[test]
fn drawn_networks_agree_with_the_kernel() {
    agrees_with_the_kernel("scenarios/kernel-grid-unseen.toml", 40.0);
}

#[test]
fn drawn_uploads_agree_with_the_kernel() {
    agrees_with_the_kernel("scenarios/kernel-uploads.toml", 20.0);
}

fn agrees_with_the_kernel(set: &str, least: f64) {
    let overall = &compared(set);
    let of = |stack: &str, key: &str| number(overall, stack, key);
    let most = [
        ("kernel-mptcp", "median", 0.02),
        ("kernel-mptcp", "p90", 0.08),
        ("kernel-mptcp", "worst_known", 0.15),
        ("kernel-mptcp", "worst_wide", 0.08),
        ("kernel-tcp", "median", 0.004),
    ];
    hold(overall, &most);
    assert!(of("kernel-mptcp", "n") >= least && of("kernel-mptcp", "too_few_runs") == 0.0);
    let shares = of("kernel-mptcp", "shares_within") / of("kernel-mptcp", "with_shares");
    assert!(shares >= 0.95, "{shares}");
    assert_eq!(overall["contradict"], 0);
    let one_sided = overall["one_sided"].as_f64().expect("a number");
    let decisions = overall["decisions"].as_f64().expect("a number");
    assert!(one_sided <= 0.1 * decisions, "{one_sided} of {decisions}");
}

/// TCP: nine of ten misfits within 2 %, all within 5 % where the kernel's mean is known to 4 %.
/// MPTCP: as elsewhere where the mean is known; over outages its figures differ
/// (docs/fidelity.md), and the kernel's connections may stop for good.
#[test]
fn changing_networks_agree_with_the_kernel() {
    let set = "scenarios/kernel-events.toml";
    let overall = &compared(set);
    let of = |stack: &str, key: &str| number(overall, stack, key);
    let most = [
        ("kernel-tcp", "median", 0.004),
        ("kernel-tcp", "p90", 0.02),
        ("kernel-tcp", "worst_known", 0.05),
        ("kernel-mptcp", "median", 0.02),
        ("kernel-mptcp", "worst_known", 0.05),
    ];
    hold(overall, &most);
    assert_eq!((of("kernel-tcp", "n"), of("kernel-mptcp", "n")), (48.0, 24.0));
    assert_eq!(overall["contradict"], 0);
}

/// TCP: nine of ten misfits within 3 %, all within 10 % where the kernel's mean is known to 4 %,
/// and within 5 % beyond the kernel's interval elsewhere. MPTCP within 5, 8 and 10 %.
///
/// Regression: segments that overtook others made RACK find losses where there were none; TCP
/// differed by up to 58 % where the mean is known, and by 257 % beyond the interval elsewhere.
#[test]
fn paths_with_impairments_agree_with_the_kernel() {
    let overall = &compared("scenarios/kernel-impairments.toml");
    let most = [
        ("kernel-tcp", "median", 0.004),
        ("kernel-tcp", "p90", 0.03),
        ("kernel-tcp", "worst_known", 0.1),
        ("kernel-tcp", "worst_wide", 0.05),
        ("kernel-mptcp", "median", 0.02),
        ("kernel-mptcp", "p90", 0.05),
        ("kernel-mptcp", "worst_known", 0.08),
        ("kernel-mptcp", "worst_wide", 0.1),
    ];
    hold(overall, &most);
    let of = |stack: &str, key: &str| number(overall, stack, key);
    assert_eq!((of("kernel-tcp", "n"), of("kernel-mptcp", "n")), (60.0, 30.0));
    assert!(of("kernel-tcp", "known") >= 40.0, "most means are known");
    assert_eq!(overall["contradict"], 0);
}

/// Both sides begin the recordings at the same places, so that values are compared in their order:
/// of TCP half of them within 0.3 %, nine of ten within 1 %, of MPTCP within 1 and 5 %. As sets:
/// nine of ten misfits of MPTCP within 2 %, all within 4 % where the mean is known, and shares
/// within five points.
///
/// Regression: writes and bursts of TCP ended earlier than those of the kernel; with buffers of 200
/// KiB transfers over LTE took 1 to 3 % longer.
#[test]
fn recorded_links_agree_with_the_kernel() {
    let document = &document("scenarios/kernel-recordings.toml");
    let overall = &document["overall"];
    let most = [
        ("kernel-tcp", "worst_known", 0.02),
        ("kernel-tcp", "worst_wide", 0.02),
        ("kernel-mptcp", "p90", 0.02),
        ("kernel-mptcp", "worst_known", 0.04),
        ("kernel-mptcp", "worst_wide", 0.02),
    ];
    hold(overall, &most);
    let of = |stack: &str, key: &str| number(overall, stack, key);
    assert_eq!((of("kernel-tcp", "n"), of("kernel-mptcp", "n")), (48.0, 24.0));
    assert_eq!(of("kernel-mptcp", "shares_within"), 24.0);
    assert_eq!(overall["contradict"], 0);
    for (stack, half, nine_of_ten) in [("kernel-tcp", 0.003, 0.01), ("kernel-mptcp", 0.01, 0.05)] {
        let apart = apart_run_by_run(document, stack);
        let at = |share: f64| apart[(share * apart.len() as f64) as usize];
        assert!(at(0.5) <= half && at(0.9) <= nine_of_ten, "{stack}: {} {}", at(0.5), at(0.9));
    }
}

/// By how much the values of both sides differ, in the order of their size. Ascending.
fn apart_run_by_run(document: &Value, stack: &str) -> Vec<f64> {
    let rows = document["distributions"].as_array().expect("rows").iter();
    let values = |row: &Value, side: &str| -> Vec<f64> {
        let values = row[side]["values"].as_array().expect("values").iter();
        values.map(|value| value.as_f64().expect("a number")).collect()
    };
    let mut apart = Vec::new();
    for row in rows.filter(|row| row["stack"] == stack) {
        let (kernel, ours) = (values(row, "kernel"), values(row, "ours"));
        assert_eq!(kernel.len(), ours.len(), "{row}");
        apart.extend(kernel.iter().zip(&ours).map(|(kernel, ours)| (ours / kernel - 1.0).abs()));
    }
    assert!(apart.len() >= 150, "{} runs", apart.len());
    apart.sort_by(f64::total_cmp);
    apart
}

/// TCP: median of the misfits within 0.4 %, nine of ten within 2 %, all within 6 %. MPTCP: within
/// 1, 6 and 10 %. One verdict contradicts the kernel's, whose runs have three modes there, 2.45,
/// 2.53 and 2.65 s, by the losses of one burst; the simulator has the first one only.
///
/// Regression: what was written in several pieces was assigned to one path together; a page took
/// 49 % longer, and the median misfit of MPTCP was 1.7 %.
#[test]
fn pages_agree_with_the_kernel() {
    let document = &document("scenarios/kernel-pages.toml");
    let overall = &document["overall"];
    let most = [
        ("kernel-tcp", "median", 0.004),
        ("kernel-tcp", "p90", 0.02),
        ("kernel-tcp", "worst_known", 0.06),
        ("kernel-tcp", "worst_wide", 0.06),
        ("kernel-mptcp", "median", 0.01),
        ("kernel-mptcp", "p90", 0.06),
        ("kernel-mptcp", "worst_known", 0.1),
        ("kernel-mptcp", "worst_wide", 0.1),
    ];
    hold(overall, &most);
    let of = |stack: &str, key: &str| number(overall, stack, key);
    assert_eq!((of("kernel-tcp", "n"), of("kernel-mptcp", "n")), (48.0, 24.0));
    assert!(of("kernel-mptcp", "shares_within") >= 22.0, "shares within five points");
    let decisions = document["decisions"].as_array().expect("decisions").iter();
    let contradict = decisions.filter(|decision| decision["contradict"] == true);
    let contradict: Vec<&Value> = contradict.map(|decision| &decision["name"]).collect();
    assert_eq!(contradict, ["3g-deep-guardian-http1-plain-200KiB-cubic"]);
}

/// Median of the misfits within 2 %, nine of ten within 16 %, all within 22 % where usrsctp's mean
/// is known to 4 %: docs/fidelity-sctp.md has the mechanisms. 100 KiB take the same time within 1
/// %, but for the round trip by which usrsctp sends the request of a download earlier.
///
/// Regression: T3-rtx began anew with each SACK and chunks took no more of the peer's buffer than
/// their bytes; the median was 3 %, and transfers took up to 29 % less time.
#[test]
fn sctp_agrees_with_usrsctp() {
    let document = &document("scenarios/usrsctp.toml");
    let overall = &document["overall"];
    let most = [
        ("usrsctp", "median", 0.02),
        ("usrsctp", "p90", 0.16),
        ("usrsctp", "worst_known", 0.22),
        ("usrsctp", "worst_wide", 0.05),
    ];
    hold(overall, &most);
    let of = |key: &str| number(overall, "usrsctp", key);
    assert_eq!((of("n"), of("shares_within")), (72.0, 24.0));
    assert!(of("known") >= 50.0, "most means are known");
    assert_eq!(overall["contradict"], 0);
    let rows = document["scenarios"].as_array().expect("rows").iter();
    let text = |row: &Value, key: &str| row[key].as_str().expect("a text").to_owned();
    let short: Vec<&Value> = rows.filter(|row| text(row, "name").contains("-100KiB-")).collect();
    for row in &short {
        let (name, variant) = (text(row, "name"), text(row, "variant"));
        let seconds = |key: &str| row[key].as_f64().expect("seconds");
        let earlier = if name.contains("-up-") { 0.0 } else { round_trip(&name, &variant) };
        let apart = (seconds("ours") - earlier) / seconds("kernel") - 1.0;
        assert!(apart.abs() <= 0.01, "{name} {variant}: {apart}");
    }
    assert_eq!(short.len(), 21);
}

/// Round trips of the paths a and b of the lossless networks, in seconds.
const ROUND_TRIPS: [(&str, [f64; 2]); 3] =
    [("like-1-", [0.04, 0.04]), ("unlike-short-", [0.022, 0.006]), ("unlike-4-", [0.03, 0.12])];

/// That of the path which a variant uses in a network.
fn round_trip(name: &str, variant: &str) -> f64 {
    let known = ROUND_TRIPS.iter().find(|(network, _)| name.starts_with(network));
    let (_, [a, b]) = known.unwrap_or_else(|| panic!("{name}: another network"));
    match variant {
        "usrsctp/a/reno" => *a,
        "usrsctp/b/reno" => *b,
        // The path that comes first.
        _ if name.ends_with("-a") => *a,
        _ => *b,
    }
}

/// The figures over a whole set, of which nothing is left out.
fn compared(set: &str) -> Value {
    document(set)["overall"].take()
}

/// The document over a whole set, of which nothing is left out.
fn document(set: &str) -> Value {
    let output = anabranch(&["validate", set, "--json", "--quiet"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(document["left_out"], Value::Array(Vec::new()), "{set}");
    document
}

fn number(overall: &Value, stack: &str, key: &str) -> f64 {
    overall["stacks"][stack][key].as_f64().expect("a number")
}

/// Figures of a stack and their limits.
fn hold(overall: &Value, most: &[(&str, &str, f64)]) {
    for (stack, key, limit) in most {
        let figure = number(overall, stack, key);
        assert!(figure <= *limit, "{stack} {key}: {figure} of {limit}");
    }
}
