//! Valid and invalid paths.

use super::*;
use crate::error::Given;
use network::{Capacity, LinkChange, LossConfig};
use proptest::prelude::*;
use simulator::PathSetup;

fn path(text: &str) -> PathSpec {
    match PathSpec::parse(&Given::argument("--path", text)) {
        Ok(path) => path,
        Err(error) => panic!("{error}"),
    }
}

fn refused(text: &str) -> String {
    PathSpec::parse(&Given::argument("--path", text)).unwrap_err().to_string()
}

/// `text` is refused with all of `parts` in the message.
#[track_caller]
fn refused_with(text: &str, parts: &[&str]) {
    let message = refused(text);
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in:\n{message}");
    }
}

#[test]
fn path_of_the_interface_is_understood() {
    let wlan = path("wlan=rate 25mbit delay 20ms loss 1% limit 100p");
    assert_eq!(wlan.to_string(), "rate 25mbit delay 20ms loss 1% limit 100p");
    assert_eq!(wlan.down, wlan.up);
    assert_eq!(wlan.down.limit, Limits(Span::fixed(crate::units::QueueLimit::Packets(100))));
    let quoted = path("wlan='rate 25mbit delay 20ms loss 1% limit 100p'");
    assert_eq!(quoted.down, wlan.down);
}

#[test]
fn canonical_form_is_understood_the_same() {
    for text in [
        "p=rate 25mbit",
        "p=delay 20ms 5ms rate 1500kbit limit 64KiB queue codel",
        "p=rate 5mbit uplink rate 1mbit downlink delay 5ms loss gemodel 1% 10% 100% 0%",
        "p=rate 5mbit reorder 0.01 duplicate 2% corrupt 0.1% queue red 20p 60p 10%",
        "p=rate 5mbit down @20s..35s rate 1mbit @1s..2s uplink loss 5% @3s delay 9ms @4s..5s",
        "p=rate 5mbit uplink silent @1s..2s limit 50ms",
        "p=rate 5mbit delay 20ms 5ms 25% distribution normal unordered uplink delay 9ms 1ms",
        "p=rate 5mbit loss state 1% 30% uplink loss state 2%",
        "p=rate 5mbit backup",
        "p=rate 4mbit..6mbit delay 20ms+-5ms 2ms loss 0..2% limit 50p..100p uplink rate 1mbit",
        "p=rate 5mbit backup @0s..5s backup @7s delay 1ms",
    ] {
        let first = path(text);
        let again = path(&format!("p={first}"));
        assert_eq!((first.down, first.up, first.events), (again.down, again.up, again.events));
    }
}

#[test]
fn defaults_are_printed() {
    assert_eq!(path("p=rate 5mbit").to_string(), "rate 5mbit delay 0ms limit 1000p");
}

#[test]
fn profile_without_a_spec_is_a_bare_name() {
    let wlan = path("wlan");
    assert_eq!(wlan.to_string(), "rate 20mbit..30mbit delay 20ms..25ms loss 1%..2% limit 100p");
    assert!(wlan.is_random());
    let tuned = path("home=profile wlan delay 40ms uplink limit 50p");
    assert_eq!(
        tuned.to_string(),
        "rate 20mbit..30mbit delay 40ms loss 1%..2% downlink limit 100p uplink limit 50p"
    );
}

#[test]
fn values_drawn_for_each_repetition_are_understood() {
    let drawn = path("p=rate 20mbit..30mbit delay 25ms+-5ms loss 1%+-0.5% limit 50p..100p");
    let shown = "rate 20mbit..30mbit delay 25ms+-5ms loss 1%+-0.5% limit 50p..100p";
    assert_eq!(drawn.to_string(), shown);
    assert!(drawn.is_random() && path("p=rate 5mbit limit 50p..60p").is_random());
    let own = path("wlan=rate 20mbit..30mbit delay 20ms..25ms loss 1%..2% limit 100p");
    let (profile, own) = (path("wlan").draw(1, 3), own.draw(1, 3));
    let text = |link: &network::LinkConfig| format!("{link:?}");
    assert_eq!(text(&profile.down), text(&own.down), "the draws of a profile");
    let setups: Vec<_> = (0..500).map(|run| drawn.draw(1, run)).collect();
    assert!(setups.iter().all(|setup| text(&setup.down) == text(&setup.up)), "one draw for both");
    let delays = setups.iter().map(|setup| setup.down.delay.as_secs_f64());
    let mean = delays.sum::<f64>() / 500.0;
    assert!((mean - 0.025).abs() < 0.001, "{mean}");
    let limits = setups.iter().map(|setup| match setup.down.limit {
        network::Limit::Packets(n) => n,
        ref odd => panic!("{odd:?}"),
    });
    let limits: Vec<u32> = limits.collect();
    assert_eq!((limits.iter().min(), limits.iter().max()), (Some(&50), Some(&100)));
}

/// Regression: a rate or a queue with a deviation of zero was refused as one of zero.
#[test]
fn deviation_of_zero_leaves_the_mean() {
    let text = "rate 5mbit+-0bit delay 20ms+-0ms limit 100p+-0p";
    let drawn = path(&format!("p={text}"));
    assert_eq!(drawn.to_string(), text);
    let fixed = path("p=rate 5mbit delay 20ms limit 100p").draw(1, 7);
    let link = |setup: PathSetup| format!("{:?}", setup.down);
    assert_eq!(link(drawn.draw(1, 7)), link(fixed));
    refused_with("p=rate 0mbit+-1mbit", &["a rate of zero"]);
    refused_with("p=rate 5mbit limit 0p+-1p", &["a queue of `0p`"]);
    refused_with("p=rate 5mbit limit 10p+-0", &["a queue length without a unit"]);
}

#[test]
fn bad_ranges_are_refused() {
    refused_with("p=rate 30mbit..20mbit", &["wrong order", "`20mbit..30mbit`"]);
    refused_with("p=rate 20..30mbit", &["`20` is a rate without a unit"]);
    refused_with("p=rate 5mbit limit 50p..1MiB", &["values of two kinds"]);
    refused_with("p=rate 5mbit delay 1s+-900", &["a time without a unit"]);
    refused_with("p=rate 5mbit rate 1mbit..2mbit @5s", &["takes one value", "before the time"]);
    refused_with("p=rate 5mbit loss 50%..100%", &["never up"]);
}

#[test]
fn every_profile_is_understood() {
    for profile in Profile::all() {
        assert!(!path(profile.name).to_string().is_empty());
    }
}

#[test]
fn draws_depend_on_seed_run_and_path_only() {
    let (wlan, other) = (path("wlan"), path("other=profile wlan"));
    let rate = |path: &PathSpec, seed, run| match path.draw(seed, run).down.capacity {
        Capacity::Rate(rate) => rate.as_bps(),
        ref odd => panic!("{odd:?}"),
    };
    assert_eq!(rate(&wlan, 1, 0), rate(&wlan, 1, 0));
    assert_ne!(rate(&wlan, 1, 0), rate(&wlan, 1, 1));
    assert_ne!(rate(&wlan, 1, 0), rate(&wlan, 2, 0));
    assert_ne!(rate(&wlan, 1, 0), rate(&other, 1, 0), "two paths of a profile are independent");
    let rates: Vec<u64> = (0..1000).map(|run| rate(&wlan, 1, run)).collect();
    assert!(rates.iter().all(|bps| (20_000_000..=30_000_000).contains(bps)));
    let mean = rates.iter().sum::<u64>() as f64 / 1000.0;
    assert!((mean - 25e6).abs() < 0.3e6, "mean {mean}");
    let setup = wlan.draw(1, 0);
    assert_eq!(setup.down.delay, setup.up.delay, "both directions get the same values");
    assert!(matches!(setup.down.loss, LossConfig::Bernoulli { p } if (0.01..=0.02).contains(&p)));
}

#[test]
fn events_end_by_returning_to_the_former_value() {
    let path = path("p=rate 5mbit delay 20ms down @20s..35s rate 1mbit @35s..40s loss 2% @50s");
    let setup = path.draw(1, 0);
    let told: Vec<String> = setup
        .events
        .iter()
        .map(|e| match &e.change {
            LinkChange::Rate(rate) => format!("{} rate {rate}", e.at),
            LinkChange::Capacity(Capacity::Rate(rate)) => format!("{} back to {rate}", e.at),
            LinkChange::Loss(loss) => format!("{} {loss:?}", e.at),
            change => format!("{} {}", e.at, change.name()),
        })
        .collect();
    assert_eq!(
        told,
        [
            "20s down",
            "35s up",
            "35s rate 1mbit",
            "35s rate 1mbit",
            "40s back to 5mbit",
            "40s back to 5mbit",
            "50s Bernoulli { p: 0.02 }",
            "50s Bernoulli { p: 0.02 }",
        ]
    );
}

#[test]
fn backup_is_of_the_whole_path_and_the_whole_run_unless_a_time_is_said() {
    let marks = |text: &str| -> Vec<(u64, bool)> {
        let marks = path(text).backup_marks(3);
        assert!(marks.iter().all(|mark| mark.path == 3));
        marks.iter().map(|mark| (mark.at.as_millis() / 1000, mark.on)).collect()
    };
    assert_eq!(path("p=rate 5mbit backup").to_string(), "rate 5mbit delay 0ms limit 1000p backup");
    assert_eq!(marks("p=rate 5mbit backup"), [(0, true)]);
    assert_eq!(marks("p=rate 5mbit"), []);
    let twice = "p=rate 5mbit backup @5s..7s backup @3s..5s";
    assert_eq!(marks(twice), [(3, true), (5, false), (5, true), (7, false)]);
    assert!(path(twice).draw(1, 0).events.is_empty(), "links have no such event");
    assert!(!path(twice).is_random());
    refused_with("p=rate 5mbit backup backup @3s", &["two events change `backup`"]);
    refused_with("p=rate 5mbit uplink backup", &["`backup` is for a whole path"]);
}

#[test]
fn deterministic_path_has_no_chance_in_it() {
    assert!(!path("p=rate 5mbit delay 20ms limit 100p down @1s..2s").is_random());
    for random in ["loss 1%", "delay 9ms 1ms", "reorder 1%", "queue red 20p 60p 10%", "loss 1% @1s"]
    {
        assert!(path(&format!("p=rate 5mbit {random}")).is_random(), "{random}");
    }
}

#[test]
fn unknown_words_name_their_neighbour() {
    refused_with("p=rate 5mbit dellay 20ms", &["`dellay`", "did you mean `delay`", "^^^^^^"]);
    refused_with("p=bandwidth 5mbit", &["unknown word `bandwidth`", "did you mean `rate`"]);
    refused_with("p=rate 5mbit queue fifo", &["unknown queue discipline `fifo`", "droptail"]);
    refused_with("wlna", &["unknown profile `wlna`", "did you mean `wlan`"]);
    refused_with("p=profile wlna", &["unknown profile `wlna`", "did you mean `wlan`"]);
}

#[test]
fn quantities_are_refused_where_they_stand() {
    let message = refused("wlan=rate 25mbps delay 20ms");
    let lines: Vec<&str> = message.lines().collect();
    assert!(lines[0].starts_with("--path: `mbps` is refused"), "{message}");
    let mark = lines[2].find('^').unwrap();
    assert_eq!(&lines[1][mark..mark + 6], "25mbps");
    refused_with("p=rate 0mbit", &["zero"]);
    refused_with("p=rate 5mbit loss 101%", &["above 100 %"]);
    refused_with("p=rate 5mbit limit 100", &["without a unit"]);
    refused_with("p=rate 5mbit delay -1ms", &["negative"]);
}

#[test]
fn words_of_netem_are_accepted_where_their_meaning_is_defined() {
    let jitter = |text: &str| path(&format!("p=rate 5mbit delay 20ms {text}")).down.jitter;
    let spread = Duration::from_millis(5);
    assert_eq!(jitter("5ms"), Jitter::uniform(spread), "the order is kept");
    assert_eq!(jitter("5ms 25%"), Jitter { correlation: 0.25, ..Jitter::uniform(spread) });
    assert!(jitter("5ms unordered").unordered);
    let normal = jitter("5ms distribution normal loss 1%");
    assert_eq!(normal.distribution, network::Distribution::Normal);
    assert_eq!(jitter("5ms distribution uniform"), Jitter::uniform(spread));

    let loss = |text: &str| path(&format!("p=rate 5mbit loss {text}")).to_string();
    assert!(loss("state 1% 30%").contains("loss gemodel 1% 30% 100% 0%"));
    assert!(loss("state 1% 30% 0% 100% 0%").contains("loss gemodel 1% 30% 100% 0%"));
    assert!(loss("state 1%").contains("loss 1%"), "independent losses");
    assert!(loss("random 1%").contains("loss 1%"));
}

#[test]
fn words_of_netem_without_a_meaning_here_say_what_to_write() {
    refused_with("p=rate 5mbit limit 100", &["without a unit", "write `100p`"]);
    refused_with(
        "p=rate 5mbit loss 1% 25%",
        &["deprecates", "write `loss gemodel 0.75% 74.25% 100% 0%`", "^^^"],
    );
    refused_with("p=rate 5mbit loss state 1% 30% 5%", &["more than two states", "gemodel"]);
    refused_with("p=rate 5mbit loss state 1% 30% 0% 10% 1%", &["more than two states"]);
    refused_with("p=rate 5mbit loss state", &["needs a value", "state P13 P31"]);
    let pareto = ["tc's distribution `pareto`", "write `distribution normal`"];
    refused_with("p=rate 5mbit delay 20ms 5ms distribution pareto", &pareto);
    refused_with("p=rate 5mbit delay 20ms 5ms distribution gauss", &["unknown distribution"]);
    refused_with("p=rate 5mbit delay 20ms distribution normal", &["without a jitter"]);
    refused_with("p=rate 5mbit delay 20ms unordered", &["without a jitter"]);
    refused_with("p=rate 5mbit delay 20ms 25%", &["correlation of no jitter"]);
    refused_with("p=rate 5mbit delay 20ms 5ms 100%", &["at most `99%`"]);
    refused_with("p=rate 5mbit reorder 25% 50%", &["correlation of `reorder`", "`reorder 25%`"]);
    refused_with("p=rate 5mbit unordered", &["unknown word `unordered`"]);
}

#[test]
fn jitter_says_that_it_keeps_the_order() {
    let notes = |text: &str| path(text).notes.join("\n");
    assert!(notes("p=rate 5mbit delay 20ms 5ms").contains("jitter keeps the order of packets"));
    assert_eq!(notes("p=rate 5mbit delay 20ms 5ms unordered"), "");
    assert_eq!(notes("p=rate 5mbit delay 20ms 0ms"), "");
}

#[test]
fn missing_values_are_named() {
    refused_with("p=rate", &["`rate` needs a value"]);
    refused_with("p=rate delay 20ms", &["`rate` needs a value"]);
    refused_with("p=rate 5mbit uplink", &["`uplink` needs an item"]);
    refused_with("p=", &["has no description"]);
    refused_with("p=delay 20ms", &["neither `rate` nor `trace`"]);
    refused_with("p=uplink rate 5mbit", &["neither `rate` nor `trace` for the downlink"]);
    refused_with("p=rate 5mbit 20ms", &["`20ms` has no keyword"]);
    refused_with("p=rate 5mbit loss gemodel 1% 2%", &["needs a value", "gemodel P R 1-H 1-K"]);
}

#[test]
fn contradictions_are_refused() {
    refused_with("p=rate 5mbit rate 6mbit", &["given twice"]);
    refused_with("p=rate 5mbit trace x", &["`rate` and `trace` both set the capacity"]);
    refused_with("p=rate 5mbit down @1s..5s down @4s..6s", &["two outages overlap"]);
    refused_with("p=rate 5mbit uplink down @1s..3s down @2s..4s", &["two outages overlap"]);
}

#[test]
fn path_that_is_never_up_is_refused() {
    refused_with("p=rate 5mbit down", &["without a time"]);
    refused_with("p=rate 5mbit down @0s", &["never up"]);
    refused_with("p=rate 5mbit silent @0s..700s", &["never up"]);
    refused_with("p=rate 5mbit down @0s..300s uplink silent @300s", &["never up"]);
    refused_with("p=rate 5mbit loss 1", &["never up", "`1%`"]);
    refused_with("p=rate 5mbit corrupt 100%", &["never up", "`1%`"]);
    refused_with("p=rate 5mbit uplink corrupt 1", &["never up", "`1%`"]);
    refused_with("p=rate 5mbit uplink down @0s", &["never up"]);
    refused_with("p=rate 5mbit loss 100% @0s", &["never up"]);
    assert_eq!(path("p=rate 5mbit down @0s..10s").events.len(), 1);
}

#[test]
fn times_that_make_no_sense_are_refused() {
    refused_with("p=rate 5mbit down @35s..20s", &["ends before it begins", "@20s..35s"]);
    refused_with("p=rate 5mbit down @20s..", &["number is missing"]);
    refused_with("p=rate 5mbit down @700s", &["a run ends after 600s"]);
    refused_with("p=rate 5mbit delay 700s", &["longer than a run"]);
    refused_with("p=rate 5mbit @20s..35s limit 5p", &["neither `rate`"]);
    refused_with("p=rate 5mbit limit 5p @20s", &["cannot change at a time"]);
    refused_with("p=@20s", &["time without an event"]);
}

#[test]
fn names_are_plain_words() {
    refused_with("rate 25mbit delay 20ms", &["needs a name"]);
    refused_with("a/b=rate 5mbit", &["is not a path name"]);
    refused_with("=rate 5mbit", &["is not a path name"]);
    refused_with("rate x=5", &["needs a name"]);
}

#[test]
fn missing_trace_is_refused_with_its_name() {
    refused_with("p=trace no/such/file delay 3ms", &["no/such/file", "cannot be read", "^^^^"]);
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "\\PC{0,60}") {
        let _ = PathSpec::parse(&Given::argument("--path", &text)).map_err(|e| e.to_string());
    }

    #[test]
    fn any_words_are_answered(words in prop::collection::vec(prop::sample::select(vec![
        "rate", "5mbit", "delay", "20ms", "loss", "1%", "gemodel", "limit", "100p", "down",
        "silent", "@1s..2s", "@5s", "uplink", "downlink", "queue",
        "red", "profile", "wlan", "@", "..", "@..", "distribution", "normal", "unordered", "state",
    ]), 0..12)) {
        let text = format!("p={}", words.join(" "));
        if let Ok(path) = PathSpec::parse(&Given::argument("--path", &text)) {
            let _ = path.draw(1, 0);
            let _ = path.to_string();
        }
    }
}

#[test]
fn links_in_order_and_ends_are_read_and_written() {
    let found = path("a=delay 5ms via S1 via R1 client s1 server r2");
    let links: Vec<&str> = found.via.iter().map(|via| via.link.as_str()).collect();
    assert_eq!(
        (links, found.end_words().collect::<Vec<_>>()),
        (vec!["S1", "R1"], vec![("client", "s1"), ("server", "r2")])
    );
    assert_eq!(found.to_string(), "delay 5ms via S1 via R1 client s1 server r2");
    let other = path("a=delay 5ms via R1 via S1 client s1 server r2");
    assert_ne!(found.essence(), other.essence());
    refused_with("a=delay 5ms via S1 via S1", &["the path passes `S1` twice"]);
    refused_with("a=rate 5mbit client s1 client s2", &["`client` is given twice"]);
    refused_with("a=rate 5mbit uplink server r1", &["`server` cannot follow `uplink`"]);
    refused_with("a=rate 5mbit client", &["`client`"]);
}

#[test]
fn middleboxes_are_read_written_and_refused() {
    let found = path("a=rate 5mbit strip mptcp at synack nat timeout 60s rewrite sequence");
    assert_eq!(
        found.to_string(),
        "rate 5mbit delay 0ms limit 1000p strip mptcp at synack nat timeout 60s rewrite sequence"
    );
    let other = path("a=rate 5mbit rewrite sequence nat timeout 60s strip mptcp at synack");
    assert_ne!(found.essence(), other.essence(), "their order is that of the packets");
    assert_eq!(path("a=rate 5mbit strip mptcp").middleboxes[0].to_string(), "strip mptcp");
    let radio = path("a=rate 5mbit promotion 10s 300ms");
    assert_eq!(radio.middleboxes[0].to_string(), "promotion 10s 300ms");
    refused_with("a=rate 5mbit promotion 10s", &["`promotion` needs a value", "10s 300ms"]);
    refused_with("a=rate 5mbit strip tcp", &["`tcp` cannot follow `strip`", "`strip mptcp`"]);
    refused_with("a=rate 5mbit strip mptcp at fin", &["`fin` is no segment", "syn, synack"]);
    let again = path("a=rate 5mbit nat timeout 60s rebind @20s down @3s..4s");
    assert_eq!(again.middleboxes[0].to_string(), "nat timeout 60s rebind @20s");
    assert_eq!(again.events.len(), 1);
    refused_with("a=rate 5mbit nat timeout 60s rebind", &["`rebind` needs a time", "^^^^^^"]);
    refused_with("a=rate 5mbit nat timeout 60s rebind @20", &["20"]);
    assert!(path("a=rate 5mbit proxy").has_proxy() && !path("a=rate 5mbit").has_proxy());
    refused_with("a=rate 5mbit uplink proxy", &["`proxy` cannot follow `uplink`"]);
    refused_with("a=rate 5mbit nat 60s", &["write `nat timeout 60s`"]);
    refused_with("a=rate 5mbit nat timeout 0s", &["lets nothing pass", "^^"]);
    refused_with("a=rate 5mbit nat timeout", &["`timeout` needs a value"]);
    refused_with("a=rate 5mbit nat timeout 9s nat timeout 8s", &["`nat` is given twice"]);
    refused_with("a=rate 5mbit uplink strip mptcp", &["`strip` cannot follow `uplink`"]);
    refused_with("a=via core nat timeout 60s", &["without `via`"]);
}
