//! The choice of the primary path (003, Figs 5 to 10): access links that paths share, paired paths
//! and meshes, and the capacity that each has.

use crate::succeeds;
use serde_json::Value;
use std::collections::VecDeque;

const SCENARIO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/003-becke/mesh-primary-choice.toml");
const INTERNET: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/003-becke/essen-haikou.toml");
/// User data of 1452 bytes in packets of 1500.
const PAYLOAD: f64 = 1452.0 / 1500.0;
const PRIMARIES: [&str; 4] = ["s1-r1", "s1-r2", "s2-r1", "s2-r2"];

/// The largest flow from node 0 to the last one (Edmonds and Karp), through edges with their
/// capacities.
fn max_flow(nodes: usize, edges: &[(usize, usize, f64)]) -> f64 {
    let mut residual = vec![vec![0.0; nodes]; nodes];
    for (from, to, capacity) in edges {
        residual[*from][*to] += capacity;
    }
    let mut flow = 0.0;
    loop {
        let mut before = vec![None; nodes];
        let mut queue = VecDeque::from([0]);
        while let Some(node) = queue.pop_front() {
            for next in 1..nodes {
                if before[next].is_none() && residual[node][next] > 1e-9 {
                    before[next] = Some(node);
                    queue.push_back(next);
                }
            }
        }
        let mut way = Vec::new();
        let mut node = nodes - 1;
        while let Some(from) = before[node] {
            way.push((from, node));
            node = from;
        }
        if node != 0 {
            return flow;
        }
        let most = way.iter().map(|(from, to)| residual[*from][*to]).fold(f64::INFINITY, f64::min);
        flow += most;
        for (from, to) in way {
            residual[from][to] -= most;
            residual[to][from] += most;
        }
    }
}

/// The capacity of some pairs of access links, in Mbit/s: source, S1, S2, R1, R2, sink.
fn capacity(s2: f64, pairs: &[(usize, usize)]) -> f64 {
    let mut edges = vec![(0, 1, 0.8), (0, 2, s2), (3, 5, 0.8), (4, 5, 3.0)];
    edges.extend(pairs.iter().map(|(s, r)| (*s, 2 + r, f64::INFINITY)));
    max_flow(6, &edges)
}

/// With S1-R1 or S2-R2 as primary, with S1-R2 or S2-R1, and of the mesh.
fn capacities(s2: f64) -> [f64; 3] {
    let pairs: [&[(usize, usize)]; 3] =
        [&[(1, 1), (2, 2)], &[(1, 2), (2, 1)], &[(1, 1), (1, 2), (2, 1), (2, 2)]];
    pairs.map(|pairs| capacity(s2, pairs))
}

const TABLE: [(f64, [f64; 3]); 4] = [
    (0.2, [1.0, 1.0, 1.0]),
    (0.8, [1.6, 1.6, 1.6]),
    (2.0, [2.8, 1.6, 2.8]),
    (3.0, [3.8, 1.6, 3.8]),
];

#[test]
fn capacities_of_pairs_and_mesh_are_largest_flows() {
    for (s2, expected) in TABLE {
        for (found, expected) in capacities(s2).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "S2 {s2}: {found}, not {expected}");
        }
    }
    // Through a cut in the middle, and back along an edge that was used.
    let cut = [(0, 1, 3.0), (0, 2, 2.0), (1, 2, 1.0), (1, 3, 1.0), (2, 3, 9.0)];
    assert_eq!(max_flow(4, &cut), 4.0);
    let back = [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0)];
    assert_eq!(max_flow(4, &back), 2.0);
    assert_eq!(max_flow(3, &[(0, 1, 5.0)]), 0.0);
}

/// Mean goodputs by variant, in Mbit/s.
fn means(call: &[&str]) -> Vec<(String, f64)> {
    let text = succeeds(&[&["compare"], call, &["--json", "--quiet"]].concat());
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let of = |variant: &Value| {
        let name = variant["name"].as_str().expect("a name").to_owned();
        (name, variant["mean"].as_f64().expect("a goodput") / 1e6)
    };
    let means: Vec<(String, f64)> =
        document["variants"].as_array().expect("variants").iter().map(of).collect();
    println!("{means:.3?}");
    means
}

/// That of CMT-SCTP with this primary.
fn of_cmt(means: &[(String, f64)], primary: &str, is_mesh: bool) -> f64 {
    let end = format!("/primary={primary}");
    let is_it = |(name, _): &&(String, f64)| {
        name.starts_with("cmt-sctp/") && name.ends_with(&end) && name.contains("mesh") == is_mesh
    };
    means.iter().find(is_it).unwrap_or_else(|| panic!("{end}: {means:?}")).1
}

/// The options that replace the links of the scenario.
fn links(s2: f64, one_way_ms: u32) -> Vec<String> {
    let red = "queue red 30p 90p 10% limit 100p";
    [
        format!("S1=rate 0.8mbit delay {one_way_ms}ms {red}"),
        format!("S2=rate {s2}mbit delay {one_way_ms}ms {red}"),
        format!("R1=rate 0.8mbit {red}"),
        format!("R2=rate 3mbit {red}"),
    ]
    .into_iter()
    .flat_map(|link| ["--link".to_owned(), link])
    .collect()
}

fn with_links(s2: f64, one_way_ms: u32, more: &[&str]) -> Vec<(String, f64)> {
    let links = links(s2, one_way_ms);
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    means(&[&[SCENARIO], &links[..], more].concat())
}

/// Fig. 10, RTT 200 ms, S2 = 3 Mbit/s.
#[test]
fn primary_decides_what_pairs_gain_and_a_mesh_gains_always() {
    let means = means(&[SCENARIO, "--protocols", "cmt-sctp", "--runs", "6"]);
    for (primary, is_good) in PRIMARIES.into_iter().zip([true, false, false, true]) {
        let (pairs, mesh) = (of_cmt(&means, primary, false), of_cmt(&means, primary, true));
        assert!(if is_good { pairs >= 3.3 } else { pairs <= 1.6 }, "{primary}: {pairs}");
        assert!(mesh >= 3.3, "{primary}: {mesh}");
    }
}

#[test]
fn primary_decides_with_a_round_trip_of_400_ms_too() {
    let means = with_links(3.0, 200, &["--protocols", "cmt-sctp", "--runs", "6"]);
    for good in ["s1-r1", "s2-r2"] {
        for bad in ["s1-r2", "s2-r1"] {
            let [good, bad] = [good, bad].map(|primary| of_cmt(&means, primary, false));
            assert!(good >= 1.7 * bad, "{good} and {bad}: {means:?}");
        }
    }
}

/// MPTCP opens subflows between all addresses, wherever it begins.
#[test]
fn mptcp_has_the_same_goodput_from_every_start() {
    let mut means = means(&[SCENARIO, "--path-mode", "paired", "--runs", "20"]);
    means.retain(|(name, _)| name.starts_with("mptcp/"));
    assert_eq!(means.len(), 4);
    let mean = means.iter().map(|(_, mean)| mean).sum::<f64>() / 4.0;
    assert!(means.iter().all(|(_, start)| (start / mean - 1.0).abs() < 0.05), "{means:?}");
    assert!(mean > 3.3, "{mean}");
}

/// The table of capacities, payload over 0.968 within 10 %.
#[test]
fn simulator_has_the_capacities_of_pairs_and_mesh() {
    for (s2, expected) in TABLE {
        let more = ["--protocols", "cmt-sctp", "--runs", "3", "--primary", "s1-r1,s1-r2"];
        let means = with_links(s2, 100, &more);
        let found = [
            of_cmt(&means, "s1-r1", false),
            of_cmt(&means, "s1-r2", false),
            of_cmt(&means, "s1-r1", true),
        ];
        for (found, expected) in found.into_iter().zip(expected) {
            let found = found / PAYLOAD;
            assert!((found / expected - 1.0).abs() < 0.1, "S2 {s2}: {found}, not {expected}");
        }
    }
}

/// C3: four starts over four Internet paths, of which two share an access link.
#[test]
fn mptcp_beats_the_best_path_from_every_start_and_cmt_depends_on_it() {
    let means = means(&[INTERNET, "--runs", "12"]);
    let starting = |start: &str| {
        let of = means.iter().filter(|(name, _)| name.starts_with(start));
        of.map(|(_, mean)| *mean).collect::<Vec<f64>>()
    };
    let best = starting("tcp/").into_iter().fold(0.0, f64::max);
    let of_mptcp: Vec<f64> = means
        .iter()
        .filter(|(name, _)| name.contains("mptcp/linux/lia"))
        .map(|one| one.1)
        .collect();
    let mean = of_mptcp.iter().sum::<f64>() / 4.0;
    assert_eq!(of_mptcp.len(), 4);
    assert!(of_mptcp.iter().all(|start| *start >= best), "{best}: {means:?}");
    assert!(of_mptcp.iter().all(|start| (start / mean - 1.0).abs() < 0.05), "{means:?}");
    let pairs = ["dfn-cernet", "dfn-unicom", "dsl-cernet", "dsl-unicom"];
    let is_lia = |(name, _): &&(String, f64)| name.contains("/lia");
    let of_lia: Vec<(String, f64)> = means.iter().filter(is_lia).cloned().collect();
    let spread = pairs.map(|primary| of_cmt(&of_lia, primary, false));
    println!("best path {best:.3}, MPTCP {of_mptcp:.3?}, CMT-SCTP by start {spread:.3?}");
    let (least, most) = spread
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), mean| (least.min(*mean), most.max(*mean)));
    assert!(most > 1.1 * least, "the start matters: {spread:?}");
}
