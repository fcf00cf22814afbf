//! The scenarios of `scenarios/everyday/`: each runs to its end and has a result.

use crate::schema::scenarios;
use crate::succeeds;
use serde_json::Value;
use std::path::Path;

#[test]
fn everyday_situations_are_described_and_their_runs_complete() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/everyday");
    let files = scenarios(&folder);
    assert_eq!(files.len(), 8, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable scenario");
        let table: toml::Table = text.parse().expect("TOML");
        let shown = file.display();
        for key in ["title", "description", "source"] {
            let words = table.get(key).and_then(toml::Value::as_str).unwrap_or_default();
            assert!(words.len() > 10, "{shown}: no {key}");
        }
        // Values of everyday links have a source, or are marked as assumed.
        let source = table["source"].to_string();
        assert!(source.contains("assumed") || source.contains("recorded"), "{shown}: {source}");
        let name = file.display().to_string();
        let result = succeeds(&["compare", &name, "--runs", "2", "--json", "--quiet"]);
        let result: Value = serde_json::from_str(&result).expect("a JSON document");
        let variants = result["variants"].as_array().expect("variants");
        let protocols: Vec<&str> = variants.iter().filter_map(|v| v["protocol"].as_str()).collect();
        assert!(protocols.contains(&"tcp") && protocols.contains(&"mptcp"), "{shown}");
        for variant in variants {
            let (name, mean) = (&variant["name"], variant["mean"].as_f64());
            assert_eq!(variant["incomplete"], 0, "{shown}: {name}");
            assert_eq!(variant["n"], 2, "{shown}: {name}");
            assert!(mean.is_some_and(|mean| mean > 0.0), "{shown}: {name}");
        }
        assert!(result["verdict"].as_str().is_some_and(|text| text.contains("multi-path")));
    }
}

/// The scenario of `make demo`: recorded page, recorded link, each path alone and both together.
#[test]
fn demo_ends_with_a_verdict_about_several_paths() {
    let text = succeeds(&["compare", "scenarios/demo.toml", "--quiet"]);
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("Verdict: multi-path pays off: "), "{last}");
    for variant in ["tcp/wlan/cubic", "tcp/lte/cubic", "mptcp/lrf/cubic", "mptcp/redundant/cubic"] {
        assert!(text.lines().any(|line| line.starts_with(variant)), "{variant} in\n{text}");
    }
}
