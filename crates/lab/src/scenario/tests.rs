//! Valid and invalid scenario files and options.

use super::*;
use network::LinkChange;
use transport::sctp::RtxPolicy;

fn options(text: &str) -> Result<Options, InputError> {
    file::parse("study.toml", text.to_owned())
}

fn scenario(text: &str) -> Scenario {
    match options(text).and_then(|options| options.resolve()) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn refused_with(text: &str, parts: &[&str]) {
    let message = options(text).and_then(|o| o.resolve()).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in:\n{message}");
    }
}

/// A study of two paths.
pub(super) fn resolve(said: &[(Key, &str)]) -> Result<Scenario, InputError> {
    let options = Options::default()
        .with(Key::Path, "a=rate 10mbit removed @3s..5s")
        .with(Key::Path, "b=rate 5mbit")
        .with(Key::Traffic, "bulk:10s");
    said.iter().fold(options, |all, (key, text)| all.with(*key, text)).resolve()
}

/// The names of its variants.
pub(super) fn names(said: &[(Key, &str)]) -> Vec<String> {
    let scenario = resolve(said).unwrap_or_else(|error| panic!("{error}"));
    variants_of(&scenario).into_iter().map(|variant| variant.name).collect()
}

/// It is refused with a message that has these parts.
#[track_caller]
pub(super) fn refused(said: &[(Key, &str)], parts: &[&str]) {
    let message = resolve(said).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in:\n{message}");
    }
}

const SHORT: &str = "traffic = \"bulk:4MiB\"\n[path]\nwlan = \"profile wlan\"\n";

/// Regression: the message had the option of the command line, and neither file nor line.
#[test]
fn refused_switch_of_a_file_is_at_its_line() {
    for (key, place) in [
        ("per-host = true", "study.toml:1:12: this option is for fetching pages"),
        ("pacing = true\nprotocols = \"sctp\"", "study.toml:1:10: this option is of tcp and mptcp"),
        ("hystart = \"off\"\nprotocols = \"sctp\"", "study.toml:1:12: this option is of tcp"),
        ("simultaneous-syn = true", "study.toml:1:20: this option needs several paths"),
    ] {
        refused_with(&format!("{key}\n{SHORT}"), &[place]);
    }
    refused(&[(Key::PerHost, ""), (Key::Runs, "1")], &["--per-host: this option"]);
}

#[test]
fn defaults_are_those_of_the_interface() {
    let scenario = scenario(SHORT);
    assert_eq!(
        (scenario.runs, scenario.seed, scenario.ends.first),
        (Runs::Auto { most: 1000 }, 1, 0)
    );
    assert_eq!(scenario.choices.congestion, ["cubic"]);
    assert_eq!(scenario.baseline, Baseline::Best);
    assert_eq!(scenario.ends.buffers, Buffers::default());
    assert_eq!(scenario.ends.nic, Some(NicSetup::default()));
    assert!(!scenario.ends.reverse);
    assert!(scenario.is_random());
}

const TWO: &str =
    "a = \"rate 5mbit delay 10ms delay 40ms @1s..2s\"\nb = \"rate 5mbit delay 20ms\"\n";

#[test]
fn extra_delay_is_drawn_per_path_and_repetition_where_a_variant_uses_several_paths() {
    let text = |keys: &str| format!("traffic = \"bulk:4MiB\"\n{keys}\n[path]\n{TWO}");
    let noisy = scenario(&text(""));
    assert!(noisy.is_random() && noisy.is_random_on(0));
    let alone = scenario(&text("protocols = \"tcp\""));
    let without = scenario(&text("path-noise = \"0\""));
    for none in [&alone, &without] {
        assert!(none.path_noise().is_zero() && !none.is_random(), "{}", none.to_toml());
    }
    assert!(noisy.emulated_noise().is_zero(), "emulated links have their own");
    let asked = scenario(&text("path-noise = \"5ms\""));
    assert_eq!(asked.emulated_noise(), Duration::from_millis(5));
    assert_eq!(
        alone.study_key(),
        scenario(&text("protocols = \"tcp\"\npath-noise = \"5ms\"")).study_key()
    );
    assert_ne!(noisy.study_key(), without.study_key());
    for choice in [
        "primary = \"random\"",
        "protocols = \"sctp,cmt-sctp\"\nschedulers = \"send-all:key=random\"",
        "flow.cross = \"cmt-sctp on a,b scheduler send-all:key=random\"",
    ] {
        let drawn = scenario(&text(&format!("path-noise = \"0\"\n{choice}")));
        assert!(drawn.path_noise().is_zero() && drawn.is_random(), "{choice}");
    }
    let chosen = scenario(&text("path-noise = \"0\"\nprimary = \"random\""));
    assert!(!chosen.is_random_on(0), "a path alone has no choice");
    let of = |scenario: &Scenario, path: usize, run| {
        scenario.paths[path].draw_with_noise((scenario.seed, run), scenario.path_noise())
    };
    let extra = |path, run| of(&noisy, path, run).down.delay - of(&without, path, run).down.delay;
    let drawn: std::collections::BTreeSet<Duration> =
        (0..20).flat_map(|run| [extra(0, run), extra(1, run)]).collect();
    assert_eq!(drawn.len(), 40, "{drawn:?}");
    assert!(*drawn.last().unwrap() <= Duration::from_micros(100));
    assert!(*drawn.last().unwrap() > Duration::from_micros(80));
    let path = of(&noisy, 0, 3);
    assert_eq!(path.down.delay, path.up.delay);
    let events = of(&without, 0, 3).events;
    for (event, plain) in path.events.iter().zip(&events) {
        let (LinkChange::Delay(delay), LinkChange::Delay(plain)) = (&event.change, &plain.change)
        else {
            panic!("a change of delay")
        };
        assert_eq!(*delay - *plain, extra(0, 3), "the path is that much longer at all times");
    }
    assert!(!events.is_empty());
}

#[test]
fn extra_delay_has_a_unit_and_is_small() {
    for (given, part) in [("0.1", "0.1"), ("2s", "is no noise")] {
        refused(&[(Key::PathNoise, given)], &[part]);
    }
}

#[test]
fn run_longer_than_600_s_of_its_own_length_is_not_incomplete() {
    let deadline = |more: &str, traffic: &str| {
        let path = "[path]\na = \"rate 5mbit down @650s..660s\"\n";
        scenario(&format!("traffic = \"{traffic}\"\n{more}\n{path}")).deadline
    };
    let secs = Duration::from_secs;
    assert_eq!(deadline("", "video:700s"), secs(820));
    assert_eq!(deadline("start = \"0s..50s\"", "bulk:700s"), secs(870));
    assert_eq!(deadline("deadline = \"900s\"", "bulk:1MiB"), secs(900));
    assert_eq!(deadline("deadline = \"700s\"", "video:700s"), secs(700));
    assert_eq!(scenario(SHORT).deadline, secs(600));
    let short = "traffic = \"video:480s\"\n[path]\nwlan = \"profile wlan\"\n";
    assert_eq!(scenario(short).deadline, secs(600));
    let early = format!("deadline = \"400s\"\n{short}");
    refused_with(&early, &["lasts until 480s", "at 400s", "write `720s`"]);
    refused_with(&format!("deadline = \"0s\"\n{SHORT}"), &["cannot end at its start"]);
    let late = "traffic = \"bulk:1MiB\"\n[path]\na = \"rate 5mbit down @650s..660s\"\n";
    refused_with(late, &["a run ends after 600s", "a later `--deadline`"]);
}

#[test]
fn every_key_is_read() {
    let scenario = scenario(
        r#"
        title = "Everything"
        traffic = "bulk:30s"
        protocols = ["tcp"]
        cc = ["cubic", "reno", "olia"]
        profile = "linux-4.1"
        buffers = "fixed:1MiB/2MiB"
        nic = "none"
        reverse = true
        first = "b"
        runs = 3
        seed = 42
        jobs = 1
        baseline = "tcp/b/reno"
        [path]
        b = "rate 5mbit"
        [path.a]
        rate = "25mbit"
        delay = "20ms 5ms"
        events = ["down @20s..35s", "loss 3% @1s..2s"]
        uplink = { rate = "5mbit", loss = "gemodel 1% 10% 100% 0%" }
        "#,
    );
    assert_eq!(scenario.paths[1].name, "a", "paths keep the order of the file");
    assert_eq!(
        scenario.paths[1].to_string(),
        "downlink rate 25mbit uplink rate 5mbit delay 20ms 5ms uplink loss gemodel 1% 10% 100% 0% \
         limit 1000p down @20s..35s loss 3% @1s..2s"
    );
    assert_eq!(scenario.choices.congestion, ["cubic", "reno"]);
    assert!(scenario.notes[0].contains("skipped `olia`"), "{:?}", scenario.notes);
    assert_eq!(show_buffers(&scenario.ends.buffers), "fixed:1MiB/2MiB");
    assert_eq!((scenario.ends.nic, scenario.ends.reverse, scenario.ends.first), (None, true, 0));
    assert_eq!((scenario.runs, scenario.seed, scenario.jobs), (Runs::Fixed(3), 42, 1));
    assert_eq!(scenario.baseline, Baseline::Named("tcp/b/reno".into()));
}

#[test]
fn written_scenario_is_the_same_scenario() {
    let first = scenario(SHORT);
    let again = scenario(&first.to_toml());
    assert_eq!(first.to_toml(), again.to_toml());
    assert_eq!(first.hash(), again.hash());
    let other = scenario(&SHORT.replace("wlan\"\n", "wlan loss 3%\"\n"));
    assert_ne!(first.hash(), other.hash());
}

#[test]
fn runs_may_be_as_many_as_it_takes() {
    let auto = scenario(&format!("runs = \"auto\"\n{SHORT}"));
    assert_eq!(auto.runs, Runs::Auto { most: 1000 });
    let few = scenario(&format!("runs = \"auto\"\nruns-max = 50\n{SHORT}"));
    assert_eq!(few.runs, Runs::Auto { most: 50 });
    assert_eq!(scenario(&few.to_toml()).runs, few.runs);
    let fixed = scenario(&format!("runs = 5\nruns-max = 50\n{SHORT}"));
    assert_eq!(fixed.runs, Runs::Fixed(5));
    assert!(fixed.notes.iter().any(|note| note.contains("`runs-max`")), "{:?}", fixed.notes);
}

#[test]
fn keys_and_values_of_freebsd_and_of_inet_are_those_of_sctp() {
    let own = format!("protocols = \"sctp\"\n{SHORT}");
    let elsewhere = "nrsack_enable = 0\npath_pf_threshold = 65535\n\
                     cmtRetransmissionVariant = \"normal\"\n";
    let found = scenario(&format!("{elsewhere}{own}"));
    let sctp = &found.choices.sctp;
    assert!(!sctp.nr_sack);
    assert_eq!(
        (&sctp.failovers[..], &sctp.rtx_policies[..]),
        (&[SctpFailover::Pmr][..], &[RtxPolicy::Next][..],)
    );
    assert!(found.to_toml().contains("nr-sack = \"off\""), "the own name is written");
    refused_with(
        &format!("path_pf_threshold = 7\n{own}"),
        &["study.toml:1:21", "write `0` (pf) or `65535` (pmr), or use `failover`"],
    );
    refused_with(
        &format!("nrsack_enable = 1\nnr-sack = \"off\"\n{own}"),
        &["study.toml:1:1", "is FreeBSD's name of `nr-sack`", "keep one of the two"],
    );
    refused_with(
        &format!("nrsack_enabled = 1\n{own}"),
        &["unknown key `nrsack_enabled`", "did you mean `nrsack_enable`?"],
    );
    refused_with(
        &format!("cmtretransmissionvariant = \"normal\"\n{own}"),
        &["did you mean `cmtRetransmissionVariant`?"],
    );
}

#[test]
fn unknown_keys_are_refused_with_file_line_and_neighbour() {
    refused_with(
        "trafic = \"bulk:4MiB\"\n",
        &["study.toml:1:1: unknown key `trafic`", "did you mean `traffic`", "^^^^^^"],
    );
    refused_with(
        "traffic = \"video\"\n[path.wlan]\nrate = \"5mbit\"\ndellay = \"20ms\"\n",
        &["study.toml:4:1: unknown key `dellay`", "did you mean `delay`"],
    );
    refused_with(
        "traffic = \"video\"\n[path.wlan]\nrate = \"5mbit\"\nuplink = { rte = \"1mbit\" }\n",
        &["study.toml:4:12: unknown key `rte`", "did you mean `rate`"],
    );
}

#[test]
fn wrong_values_are_refused_where_they_stand() {
    refused_with(
        "traffic = \"video\"\n[path]\nwlan = \"rate 25mbps delay 20ms\"\n",
        &["study.toml:3:14: `mbps` is refused", "3 | wlan = \"rate 25mbps", "^^^^^^"],
    );
    refused_with(
        "traffic = \"video\"\n[path.wlan]\nrate = \"25mbps\"\n",
        &["study.toml:3:9: `mbps` is refused"],
    );
    refused_with(
        "traffic = \"video\"\n[path.wlan]\nrate = \"25mbit\"\nlimit = 100\n",
        &["study.toml:4:9:", "without a unit"],
    );
    refused_with("traffic = [1]\n[path]\na = \"wlan\"\n", &["study.toml:1:11: `traffic` is not"]);
    refused_with("traffic = \"vdeo\"\n[path]\na=\"rate 5mbit\"", &["did you mean `video`"]);
    refused_with("traffic = video\n", &["study.toml:1:", "not TOML"]);
    refused_with(&format!("runs = 0\n{SHORT}"), &["study.toml:1:8:", "from 1 to"]);
    refused_with(&format!("reverse = \"yes\"\n{SHORT}"), &["neither true nor false"]);
}

#[test]
fn names_that_do_not_exist_are_refused() {
    refused_with(&format!("cc = \"cubik\"\n{SHORT}"), &["did you mean `cubic`"]);
    refused_with(
        &format!("cc = \"reno,bbr\"\n{SHORT}"),
        &["study.toml:1:12:", "not available yet"],
    );
    refused_with(&format!("cc = \"lia\"\n{SHORT}"), &["no congestion control remains"]);
    refused_with(&format!("cc = \"reno,reno\"\n{SHORT}"), &["given twice"]);
    refused_with(
        &format!("protocols = \"cmt-sctp\"\n{SHORT}"),
        &["`cmt-sctp` uses several paths at once", "write `sctp`"],
    );
    refused_with(&format!("protocols = \"tpc\"\n{SHORT}"), &["did you mean `tcp`"]);
    refused_with(&format!("profile = \"linux-4.0\"\n{SHORT}"), &["did you mean `linux-4.1`"]);
    refused_with(&format!("first = \"wlna\"\n{SHORT}"), &["did you mean `wlan`"]);
    refused_with(&format!("baseline = \"tcp/wlan/cubik\"\n{SHORT}"), &["`tcp/wlan/cubic`"]);
    refused_with(&format!("buffers = \"1MiB\"\n{SHORT}"), &["pair of buffer sizes"]);
    refused_with(&format!("buffers = \"1M/2MiB\"\n{SHORT}"), &["two readings"]);
    refused_with(&format!("buffers = \"1KiB/2MiB\"\n{SHORT}"), &["between 4KiB"]);
    refused_with(&format!("nic = \"nope\"\n{SHORT}"), &["`none`"]);
    refused_with(&format!("nic = \"1gbps\"\n{SHORT}"), &["`gbps` is refused"]);
    refused_with(&format!("seed = \"-1\"\n{SHORT}"), &["not a seed"]);
    refused_with(&format!("runs = \"atuo\"\n{SHORT}"), &["from 1 to 1000000, or `auto`"]);
    refused_with(&format!("runs = \"auto\"\nruns-max = 0\n{SHORT}"), &["study.toml:2:12:"]);
}

/// Two paths, and more keys before them.
fn together(keys: &str) -> String {
    format!(
        "traffic = \"bulk:4MiB\"\nprotocols = \"tcp,mptcp\"\n{keys}\n[path]\n\
         wlan = \"profile wlan\"\n3g = \"profile 3g\"\n"
    )
}

#[test]
fn multipath_has_a_variant_for_every_choice() {
    let names = |text: &str| -> Vec<String> {
        variants_of(&scenario(text)).into_iter().map(|variant| variant.name).collect()
    };
    assert_eq!(names(&together("")), ["tcp/wlan/cubic", "tcp/3g/cubic", "mptcp/linux/cubic"]);
    let keys = "schedulers = \"minrtt,rr\"\ncc = [\"reno\", \"lia\"]\nfirst = \"3g\"";
    assert_eq!(
        names(&together(keys)),
        [
            "tcp/wlan/reno",
            "tcp/3g/reno",
            "mptcp/lrf/reno",
            "mptcp/lrf/lia",
            "mptcp/rr/reno",
            "mptcp/rr/lia"
        ]
    );
    let scenario = scenario(&together(keys));
    assert_eq!(scenario.ends.first, 1);
    assert!(scenario.notes[0].contains("`minrtt`: its name here is `lrf`"), "{:?}", scenario.notes);
    assert!(scenario.notes[1].contains("skipped `lia` with tcp"), "{:?}", scenario.notes);
    let managers = "path-managers = \"default,fullmesh\"";
    assert_eq!(names(&together(managers))[2..], ["mptcp/linux/cubic/default", "mptcp/linux/cubic"]);
    let coupled_only = names(&together("cc = \"lia\""));
    assert_eq!(coupled_only, ["mptcp/linux/lia"], "no path alone can be coupled");
}

#[test]
fn written_multipath_scenario_is_the_same_scenario() {
    let keys = "schedulers = \"lrf,redundant\"\npath-managers = \"default\"\ncc = \"cubic,lia\"";
    let first = scenario(&together(keys));
    let again = scenario(&first.to_toml());
    assert_eq!(first.to_toml(), again.to_toml());
    assert_eq!(first.hash(), again.hash());
    assert_ne!(first.hash(), scenario(&together("")).hash());
}

#[test]
fn weights_are_a_part_of_the_schedulers_name() {
    for keys in ["schedulers = \"lrf,wrr:3,1,rr\"", "schedulers = [\"lrf\", \"wrr:3, 1\", \"rr\"]"]
    {
        let weighted = scenario(&together(keys));
        assert_eq!(weighted.choices.schedulers, ["lrf", "wrr:3,1", "rr"]);
        assert_eq!(scenario(&weighted.to_toml()).hash(), weighted.hash());
    }
    let other = |weights| scenario(&together(&format!("schedulers = \"wrr:{weights}\""))).hash();
    assert_ne!(other("3,1"), other("1,3"));
}

#[test]
fn parameters_are_a_part_of_the_schedulers_name() {
    let keys = "schedulers = \"ecf:beta=0.5, sigma=2,lrf,daps:optim=0\"";
    let set = scenario(&together(keys));
    assert_eq!(set.choices.schedulers, ["ecf:beta=0.5,sigma=2", "lrf", "daps:optim=0"]);
    assert_eq!(scenario(&set.to_toml()).hash(), set.hash());
}

#[test]
fn parameters_are_a_part_of_the_controls_name() {
    let set =
        scenario(&together("cc = \"olia:min-ssthresh=1,wvegas:gamma=2, total-alpha=20,lia\""));
    let expected = ["olia:min-ssthresh=1", "wvegas:gamma=2,total-alpha=20", "lia"];
    assert_eq!(set.choices.congestion, expected);
    assert_eq!(scenario(&set.to_toml()).hash(), set.hash());
    let refused = |keys: &str, parts: &[&str]| refused_with(&together(keys), parts);
    refused("cc = \"cubic:x=1\"", &["`cubic` has no parameter `x`", "it has none"]);
    refused("cc = \"balia:min-ssthresh=3\"", &["cannot be `3`", "from 1 to 2 (1 in draft-walid"]);
    assert_eq!(scenario(&together("cc = \"coupled\"")).choices.congestion, ["lia"]);
    let alone = format!("cc = \"olia:min-ssthresh=1,reno\"\n{SHORT}");
    assert_eq!(scenario(&alone).choices.congestion, ["reno"], "a coupled one is for several paths");
}

#[test]
fn path_policies_are_an_axis_that_names_its_variants() {
    let keys = "policy = \"none,drepas:interval=2s, mincontribution=0.2,drepas\"";
    let asked = scenario(&together(keys));
    let names: Vec<String> =
        variants_of(&asked).into_iter().skip(2).map(|variant| variant.name).collect();
    let set = "drepas:interval=2s,mincontribution=0.2";
    let expected =
        ["mptcp/linux/cubic", &format!("mptcp/linux/cubic/{set}"), "mptcp/linux/cubic/drepas"];
    assert_eq!(names, expected);
    let variants = variants_of(&asked);
    let policy = |variant: &Variant| variant.policy().map(ToString::to_string);
    let policies: Vec<Option<String>> = variants.iter().map(policy).collect();
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(policies, [None, None, None, named(set), named("drepas")]);
    assert_eq!(scenario(&asked.to_toml()).hash(), asked.hash());
    let both = "path-managers = \"default\"\npolicy = [\"drepas\"]";
    let names = variants_of(&scenario(&together(both)));
    assert_eq!(names[2].name, "mptcp/linux/cubic/default/drepas");
}

#[test]
fn path_policies_that_cannot_be_are_refused() {
    let refused = |keys: &str, parts: &[&str]| refused_with(&together(keys), parts);
    refused("policy = \"drepsa\"", &["study.toml:3:11", "unknown path policy", "`drepas`"]);
    refused("policy = \"none:x=1\"", &["`none` has no parameter `x`"]);
    let range = "from 0 to 1 (0.1 in 004 sV)";
    refused("policy = \"drepas:mincontribution=2\"", &["cannot be `2`", range]);
    refused("policy = \"drepas:interval=3\"", &["cannot be `3`", "from 100ms to 60s (3s in 004"]);
    refused("policy = \"drepas,drepas\"", &["`drepas` is given twice"]);
    let alone = |policy| format!("policy = \"{policy}\"\n{SHORT}");
    let parts = ["`drepas` chooses among paths, and `tcp` uses one", "policies of `tcp`: none"];
    refused_with(&alone("none,drepas"), &parts);
    assert_eq!(scenario(&alone("none")).choices.policies, ["none"]);
}

#[test]
fn reinjection_is_a_part_of_the_schedulers_name() {
    let keys = "schedulers = \"lrf, rr:reinjection=kernel,wrr:3,1,reinjection=off,wrr:3,1,\
                ecf:beta=1,otias:optim=1\"\nreinjection = \"nsdi12\"";
    let set = scenario(&together(keys));
    let expected = [
        "lrf:reinjection=nsdi12",
        "rr:reinjection=kernel",
        "wrr:3,1,reinjection=off",
        "wrr:3,1,reinjection=nsdi12",
        "ecf:beta=1,reinjection=nsdi12",
        "otias:optim=1",
    ];
    assert_eq!(set.choices.schedulers, expected);
    assert_eq!(scenario(&set.to_toml()).hash(), set.hash());
    assert_ne!(scenario(&together("")).hash(), scenario(&together("reinjection = \"off\"")).hash());
}

#[test]
fn multipath_choices_that_cannot_be_are_refused() {
    let refused = |keys: &str, parts: &[&str]| refused_with(&together(keys), parts);
    refused("schedulers = \"default\"", &["study.toml:3:15", "ambiguous", "write `lrf`"]);
    refused("schedulers = \"lfr\"", &["unknown scheduler `lfr`", "did you mean `lrf`"]);
    refused("schedulers = \"lrf,minrtt\"", &["`minrtt` is given twice"]);
    refused("schedulers = \"wrr:3,0\"", &["study.toml:3:15", "whole numbers", "`wrr:3,1`"]);
    refused("schedulers = \"wrr:3\"", &["1 weight, and there are 2 paths", "one weight per path"]);
    refused("schedulers = \"wrr:3,1,wrr:3,1\"", &["`wrr:3,1` is given twice"]);
    refused("schedulers = \"rr,3\"", &["unknown scheduler `3`"]);
    let range = "from 0 to 4 (0.25 in 002)";
    refused("schedulers = \"lrf,ecf:beta=5\"", &["study.toml:3:19", "cannot be `5`", range]);
    refused("schedulers = \"ecf:gamma=1\"", &["no parameter `gamma`", "there is `beta`, from 0"]);
    refused("schedulers = \"lrf:x=1\"", &["`lrf` has no parameter `x`", "there is `reinjection`"]);
    refused("schedulers = \"lrf:reinjection=x\"", &["`reinjection` of `lrf` cannot be `x`"]);
    refused("reinjection = \"kernal\"", &["unknown reinjection", "did you mean `kernel`"]);
    let twice = "schedulers = \"lrf,lrf:reinjection=off\"\nreinjection = \"off\"";
    refused(twice, &["study.toml:4:16", "`lrf:reinjection=off` is given twice", "keep one"]);
    refused("schedulers = \"wrr:1,reinjection=off\"", &["1 weight, and there are 2 paths"]);
    refused("schedulers = \"lrf,beta=1\"", &["unknown scheduler `beta=1`"]);
    refused("schedulers = \"efc:beta=1\"", &["unknown scheduler `efc`", "did you mean `ecf`"]);
    refused("path-managers = \"fullmseh\"", &["did you mean `fullmesh`"]);
    refused("cc = \"bbr\"", &["`bbr` is not available yet"]);
    refused("scheduler = \"lrf\"", &["unknown key `scheduler`", "did you mean `schedulers`"]);
    for key in ["schedulers = \"lrf\"", "reinjection = \"off\""] {
        refused_with(&format!("{key}\n{SHORT}"), &["add `mptcp` to the protocols"]);
    }
    let udp = |protocols: &str, baseline: &str| {
        format!(
            "traffic = \"udp:1mbit:3s\"\nprotocols = \"{protocols}\"\nbaseline = \"{baseline}\"\n\
             [path]\na = \"rate 9mbit\"\nb = \"rate 5mbit\"\n"
        )
    };
    let loses = "`udp/b` loses what other variants deliver";
    refused_with(&udp("tcp,udp", "udp/b"), &[loses, "tcp/a/cubic, tcp/b/cubic"]);
    refused_with(&udp("mptcp,udp", "average"), &["only UDP uses a path alone", "tcp,udp"]);
    assert_eq!(scenario(&udp("udp", "udp/b")).baseline, Baseline::Named("udp/b".into()));
    let alone = SHORT.replace("[path]", "protocols = \"mptcp\"\nbaseline = \"average\"\n[path]");
    refused_with(&alone, &["no average of single paths"]);
    let many: String = (0..9).map(|n| format!("p{n} = \"rate 5mbit\"\n")).collect();
    let many = format!("traffic = \"video\"\nprotocols = \"mptcp\"\n[path]\n{many}");
    refused_with(&many, &["at most 8 addresses"]);
}

#[test]
fn several_paths_are_compared_together_too_unless_said() {
    let count = |paths: usize, line: &str| {
        let paths: String = (0..paths).map(|n| format!("p{n} = \"rate 5mbit\"\n")).collect();
        let scenario = scenario(&format!("traffic = \"video\"\n{line}[path]\n{paths}"));
        let together = variants_of(&scenario).iter().filter(|v| v.single_path().is_none()).count();
        (variants_of(&scenario).len(), together)
    };
    assert_eq!([count(1, ""), count(2, ""), count(8, "")], [(1, 0), (3, 1), (9, 1)]);
    assert_eq!(count(9, "protocols = \"tcp\"\n"), (9, 0), "more addresses than MPTCP knows");
    assert_eq!(count(2, "schedulers = \"lrf,rr\"\n"), (4, 2), "naming schedulers suffices");
    assert_eq!(count(2, "protocols = \"tcp\"\n"), (2, 0));
}

#[test]
fn one_path_and_no_single_path_are_noted() {
    let one = scenario(&SHORT.replace("[path]", "protocols = \"tcp,mptcp\"\n[path]"));
    assert!(one.notes.iter().any(|note| note.contains("single subflow")), "{:?}", one.notes);
    let text = together("").replace("tcp,mptcp", "mptcp");
    let alone = scenario(&text);
    assert!(alone.notes.iter().any(|note| note.contains("no path is used alone")));
}

#[test]
fn missing_paths_and_traffic_are_explained() {
    refused_with("traffic = \"video\"\n", &["no path is given", "--path wlan --path 3g"]);
    refused_with("[path]\nwlan = \"profile wlan\"\n", &["no traffic", "bulk:4MiB"]);
}

#[test]
fn options_win_over_the_file() {
    let first = Options::default().with(Key::Runs, "7");
    let first = first.with(Key::Path, "wlan").with(Key::Path, "3g");
    let scenario = first.clone().or(options(SHORT).unwrap()).resolve().unwrap();
    assert_eq!((scenario.runs, scenario.paths.len()), (Runs::Fixed(7), 2));
    let first = first.with(Key::Path, "wlan");
    let message = first.or(options(SHORT).unwrap()).resolve().unwrap_err().to_string();
    assert!(message.contains("two paths have the name `wlan`"), "{message}");
}

/// Regression: two descriptions with one name were told to name profiles.
#[test]
fn paths_with_the_same_name_are_renamed_as_they_are_written() {
    let refused = |text: &str| {
        let twice = Options::default().with(Key::Path, text).with(Key::Path, text);
        twice.with(Key::Traffic, "video").resolve().unwrap_err().to_string()
    };
    assert!(refused("wlan").contains("`wlan1='profile wlan'`"), "{}", refused("wlan"));
    let described = refused("a=rate 5mbit");
    assert!(described.contains("rename one of them: `a2='...'`"), "{described}");
    assert!(!described.contains("profile"), "{described}");
}

#[test]
fn endpoints_and_limits_read_as_they_are_written() {
    let keys = "path-managers = [\"kernel\", \"ndiffports:3\"]\n\
                endpoints = [\"client wlan subflow\", \"client 3g subflow backup\", \
                \"server 3g signal\"]\n\
                limits = \"subflows 3, server add_addr_accepted 1\"";
    let scenario = scenario(&together(keys));
    let kernel = scenario.choices.kernel.clone().expect("it was said");
    assert_eq!(kernel.endpoints.len(), 3);
    assert!(kernel.endpoints[1].flags.backup && !kernel.endpoints[2].client);
    let limits = (kernel.client_limits, kernel.server_limits);
    assert_eq!((limits.0.subflows, limits.0.add_addr_accepted), (3, 0));
    assert_eq!((limits.1.subflows, limits.1.add_addr_accepted), (3, 1));
    let names: Vec<String> = variants_of(&scenario).into_iter().map(|v| v.name).collect();
    assert!(names.contains(&"mptcp/linux/cubic/ndiffports:3".to_owned()), "{names:?}");
    // Written out and read again it is the same.
    let again = options(&scenario.to_toml()).and_then(|options| options.resolve()).unwrap();
    assert_eq!(again.choices.kernel, scenario.choices.kernel);
    assert_eq!(again.choices.path_managers, scenario.choices.path_managers);
    let unsaid = options(&together("path-managers = \"kernel\"")).unwrap().resolve().unwrap();
    assert_ne!(scenario.study_key(), unsaid.study_key());
}

const SHARED: &str = r#"
traffic = "bulk:60s"
start = "0s..2s"
warm-up = "20s"
[path]
a = "delay 10ms via core"
b = "rate 30mbit delay 5ms via core limit 50p"
[link]
core = "rate 10mbit delay 15ms queue red 30p 90p 10%"
[flow]
web = "on a cc reno start 500ms..1s count 2 delay 3ms"
[flow.both]
paths = ["b", "a"]
scheduler = "rr"
traffic = "bulk:4MiB"
reverse = true
"#;

#[test]
fn links_and_flows_are_read_written_and_drawn() {
    let first = scenario(SHARED);
    assert_eq!(first.paths[0].to_string(), "delay 10ms via core");
    assert_eq!(first.paths[1].to_string(), "rate 30mbit delay 5ms limit 50p via core");
    let shown: Vec<String> = first.flows.iter().map(|flow| flow.show(&first.paths)).collect();
    assert_eq!(
        shown,
        [
            "tcp on a cc reno start 500ms..1s delay 3ms count 2",
            "mptcp on b,a cc cubic scheduler rr traffic bulk:4MiB reverse"
        ]
    );
    assert_eq!(first.flow_names(), ["web-1", "web-2", "both"]);
    let again = scenario(&first.to_toml());
    assert_eq!(first.to_toml(), again.to_toml());
    assert_eq!((first.hash(), first.study_key()), (again.hash(), again.study_key()));
    assert!(first.is_random());
}

/// Two access links on each side and the four paths between them (003, Fig. 9).
const FOUR: &str = r#"
traffic = "bulk:60s"
[path]
s1r1 = { via = ["S1", "R1"], client = "s1", server = "r1" }
s1r2 = "via S1 via R2 client s1 server r2"
s2r1 = "via S2 via R1 client s2 server r1"
s2r2 = "via S2 via R2 client s2 server r2"
[link]
R1 = "rate 1mbit"
S1 = "rate 1mbit delay 20ms"
S2 = "rate 3mbit delay 20ms"
R2 = "rate 3mbit"
"#;

#[test]
fn paths_share_ends_and_pass_links_in_their_order() {
    let found = scenario(FOUR);
    assert_eq!(found.paths[0].to_string(), "delay 0ms via S1 via R1 client s1 server r1");
    let again = scenario(&found.to_toml());
    assert_eq!((found.hash(), found.study_key()), (again.hash(), again.study_key()));
    let setup = crate::setup::setup(&found, &variants_of(&found)[0], 0);
    assert_eq!(setup.network.order, [[1, 0], [1, 3], [2, 0], [2, 3]]);
    let ends: Vec<_> = setup.network.ends.iter().map(|of| (of.client, of.server)).collect();
    assert_eq!(ends, [(0, 0), (0, 1), (2, 0), (2, 1)].map(|(c, s)| (Some(c), Some(s))));
    for (from, to, what) in [
        ("client s1 server r2", "client s1 server r1", "have the same two ends"),
        ("via S1 via R2", "via S1 via R3", "unknown link `R3`"),
        ("R1 = \"rate 1mbit\"", "R1 = \"rate 1mbit client x\"", "only paths have ends"),
        ("R1 = \"rate 1mbit\"", "R1 = \"rate 1mbit via S1\"", "cannot use another link"),
    ] {
        refused_with(&FOUR.replacen(from, to, 1), &[what]);
    }
    assert_eq!(found.simulated_only(), Some("client"));
}

#[test]
fn page_is_identified_by_its_content_whatever_its_file_is_called() {
    let page = "web:../../data/web/en.wikipedia.org-spdy-wpt.har";
    let text = format!("traffic = \"{page}\"\n[path]\na = \"rate 10mbit delay 5ms\"\n");
    let first = scenario(&text);
    let written = scenario(&first.to_toml());
    assert_ne!(first.traffic, written.traffic, "the name of the page is the name of the file");
    assert_eq!(first.study_key(), written.study_key());
    let over_one_connection = scenario(&format!("http = 2\n{text}"));
    assert_ne!(first.study_key(), over_one_connection.study_key());
}

#[test]
fn starts_are_drawn_for_each_repetition_and_are_the_same_for_every_variant() {
    let scenario = scenario(SHARED);
    let variants = variants_of(&scenario);
    let starts = |variant: usize, run: u64| {
        let setup = crate::setup::setup(&scenario, &variants[variant], run);
        assert_eq!(setup.network.links[0].paths, [0, 1]);
        setup.flows.iter().map(|flow| flow.start).collect::<Vec<Duration>>()
    };
    let last = variants.len() - 1;
    for run in 0..20 {
        let drawn = starts(0, run);
        assert_eq!(drawn, starts(last, run));
        assert_ne!(drawn, starts(0, run + 1));
        assert_ne!(drawn[1], drawn[2], "each of several flows has its own");
        assert!(drawn[0] <= Duration::from_secs(2));
        let range = Duration::from_millis(500)..=Duration::from_secs(1);
        assert!(drawn[1..3].iter().all(|start| range.contains(start)));
        assert_eq!(drawn[3], Duration::ZERO);
    }
}

#[test]
fn what_flows_depend_on_makes_another_study() {
    let key = |text: &str| scenario(text).study_key();
    for (from, to) in [
        ("20s\"", "21s\""),
        ("0s..2s", "0s..3s"),
        ("cc reno", "cc cubic"),
        ("rate 10mbit", "rate 11mbit"),
        ("b = \"rate 30mbit delay 5ms via core", "b = \"rate 30mbit delay 5ms"),
        ("count 2", "count 3"),
    ] {
        assert_ne!(key(SHARED), key(&SHARED.replace(from, to)), "{from}");
    }
    assert_eq!(
        key(SHARED),
        key(&SHARED.replace("traffic = \"bulk:60s\"", "runs = 3\ntraffic = \"bulk:60s\""))
    );
}

#[test]
fn names_in_upper_case_and_full_names_are_those_of_the_table() {
    let two = "traffic = \"Bulk:64KiB\"\n[path]\nWlan = \"profile WLAN\"\nb = \"rate 5mbit\"\n";
    let text = |lines: &str| format!("{lines}\n{two}");
    let found = scenario(&text(
        "protocols = \"MPTCP\"\ncc = \"NewReno\"\nschedulers = \"Round-Robin,LRF,WRR:3,1\"\n\
         profile = \"LINUX\"\nfirst = \"wlan\"\nbaseline = \"BEST\"",
    ));
    let names: Vec<String> = variants_of(&found).into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["mptcp/rr/reno", "mptcp/lrf/reno", "mptcp/wrr:3,1/reno"]);
    assert_eq!((found.ends.first, found.baseline), (0, Baseline::Best));
    for note in ["scheduler `Round-Robin`: its name here is `rr`", "control `NewReno`: its name"] {
        assert!(found.notes.iter().any(|shown| shown.contains(note)), "{note}: {:?}", found.notes);
    }
    assert!(!found.notes.iter().any(|note| note.contains("LRF")), "the case needs no note");
    refused_with(&text("schedulers = \"WRR:3,1,1\""), &["3 weights"]);
    refused_with(&text("cc = \"BBR\""), &["`BBR` is not available yet"]);
    refused_with(&text("schedulers = \"Default\""), &["ambiguous", "`lrf`", "`linux`"]);
}

#[test]
fn all_is_every_value_of_a_list() {
    let two = "traffic = \"bulk:64KiB\"\n[path]\na = \"rate 9mbit\"\nb = \"rate 5mbit\"\n";
    let found = |lines: &str| scenario(&format!("{lines}\n{two}")).choices;
    let schedulers = found("schedulers = \"all\"").schedulers;
    assert_eq!(schedulers, SchedulerChoice::all().collect::<Vec<_>>());
    let some = found("schedulers = \"ecf:beta=0.5,lrf,ALL\"").schedulers;
    assert_eq!(some.len(), schedulers.len() + 1, "what is there already is not there twice");
    assert_eq!(found("cc = \"all\"").congestion.len(), ControllerChoice::all().count());
    assert_eq!(found("protocols = \"all\"").protocols, Protocol::ALL[..4], "all but udp");
    let alone = found("protocols = \"tcp\"\ncc = \"all\"\npolicy = \"all\"");
    assert!(alone.congestion.iter().all(|control| !control.is_coupled()));
    assert_eq!(alone.policies, [PolicyChoice::NONE]);
    assert_eq!(found("failover = \"all\"").failovers, Failover::ALL);
}

#[test]
fn value_without_its_word_in_a_flow_is_told_the_word() {
    let refused = |flow: &str, help: &str| {
        let text = "traffic = \"bulk:30s\"\n[path]\nwlan = \"rate 5mbit\"\n[flow]\n";
        refused_with(&format!("{text}x = \"{flow}\""), &["unknown word", help]);
    };
    refused("tcp wlan", "write `on wlan`");
    refused("tcp via wlan", "write `on wlan`, for example");
    refused("tcp on wlan NewReno", "write `cc newreno`");
    refused("mptcp on wlan round-robin", "write `scheduler round-robin`");
    refused("tcp on wlan bulk:4mib", "write `traffic bulk:4mib`");
    refused("tpc on wlan", "did you mean `tcp`?");
    refused("tcp no wlan", "did you mean `on`?");
}
