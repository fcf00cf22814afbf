//! Judgement of made-up values, reading of claims files, and the papers' own files.

use super::claims::{Metric, Paper};
use super::judge::{Judged, judge};
use super::numbers::{Compared, Differences};
use super::plan::{Asked, Column, Plan, Results, Unit};
use super::samples::Sampled;
use super::values::{Described, OWN_NUMBERS, Values, VariantValues, recording};
use super::variants::batches;
use crate::error::{Given, InputError, SourceFile};
use crate::execution::run_variants;
use crate::run::Run;
use crate::scenario::{Key, Options, Scenario, Variant, options, variants_of};
use crate::setup::RECORDING;
use crate::study::{VariantRuns, Watcher};
use std::sync::Arc;

const SCENARIO: &str = "traffic = \"burst:10\"\nprotocols = \"tcp,mptcp\"\nruns = 30\n\
    [path]\nfast = \"rate 10mbit delay 5ms\"\nslow = \"rate 10mbit delay 50ms\"\n";

struct Silent;

impl Watcher for Silent {
    fn on_run(&self, _: &Variant, _: &Run) {}
    fn is_stopped(&self) -> bool {
        false
    }
}

const HEAD: &str = "paper = \"009\"\ntitle = \"A paper\"\n\
    [experiment.burst]\nfile = \"burst.toml\"\nquick = { runs = 10 }\ncases = [\n\
    { name = \"10\", set = { traffic = \"burst:10\" } },\n\
    { name = \"50\", set = { traffic = \"burst:50\", \
    path = { slow = \"rate 1mbit delay 9ms\" } } },\n\
    ]\n";

fn read(claims: &str) -> Result<Paper, InputError> {
    read_with(HEAD, claims)
}

fn read_with(head: &str, claims: &str) -> Result<Paper, InputError> {
    let name = "scenarios/009-x/claims.toml".to_owned();
    let file = Arc::new(SourceFile { name, text: format!("{head}{claims}") });
    let scenario = |given: &Given| {
        let name = format!("scenarios/009-x/{}", given.text);
        Ok(Arc::new(SourceFile { name, text: SCENARIO.to_owned() }))
    };
    Paper::read(&file, &scenario)
}

fn claim(parts: &str) -> String {
    format!(
        "[[claim]]\nid = \"009-C1\"\nkind = \"hard\"\nsource = \"s1\"\n\
         paper = \"it is so\"\n{parts}"
    )
}

fn part(text: &str) -> String {
    format!("[[claim.part]]\n{text}\n")
}

/// Twenty runs around this value.
fn around(centre: f64) -> Vec<Option<f64>> {
    (0..20).map(|run| Some(centre * (1.0 + 0.001 * f64::from(run * 7 % 20)))).collect()
}

fn variant(name: &str, is_alone: bool, centre: f64, share: f64) -> VariantValues {
    let columns = vec![around(centre), around(share)];
    VariantValues { name: name.to_owned(), is_sctp: false, is_alone, packets: 10, columns }
}

/// Values of four variants with these means in seconds.
fn values(fast: f64, slow: f64, lrf: f64, blest: f64) -> Values {
    let described = |name: &str, unit: &str| Described {
        name: name.to_owned(),
        unit: unit.to_owned(),
        larger_is_better: false,
    };
    Values {
        columns: vec![described("own", "s"), described("share:fast", "1")],
        variants: vec![
            variant("tcp/fast/cubic", true, fast, 1.0),
            variant("tcp/slow/cubic", true, slow, 0.0),
            variant("mptcp/lrf/lia", false, lrf, 0.6),
            variant("mptcp/blest/lia", false, blest, 0.9),
        ],
        lines: Vec::new(),
    }
}

fn judged(parts: &str) -> Judged {
    judged_with(parts, ["10", "50"])
}

/// With these draws of the two experiments.
fn judged_with(parts: &str, draws: [&'static str; 2]) -> Judged {
    let paper = read(&claim(parts)).unwrap();
    let (ten, fifty) = (values(0.010, 0.030, 0.015, 0.012), values(0.020, 0.060, 0.058, 0.021));
    let lookup = |experiment: usize| {
        Some(match experiment {
            0 => Sampled { values: &ten, draws: draws[0] },
            _ => Sampled { values: &fifty, draws: draws[1] },
        })
    };
    judge(&paper, &paper.claims[0], &lookup, 1)
}

const ORDER: &str = "check = \"order\"\nexperiment = \"burst/10\"\n";

#[test]
fn a_claim_holds_if_all_its_hard_parts_do() {
    let yes =
        format!("{ORDER}values = [\"tcp/fast/cubic\", \"mptcp/blest/lia\", \"mptcp/lrf/lia\"]");
    let no = format!("{ORDER}values = [\"mptcp/lrf/lia\", \"mptcp/blest/lia\"]");
    let open = "missing = \"no such feature\"";
    let of = |parts: &[&str]| judged(&parts.iter().map(|text| part(text)).collect::<String>());
    assert_eq!(of(&[&yes]).holds, Some(true));
    assert_eq!(of(&[&yes, &no]).holds, Some(false));
    assert_eq!(of(&[&yes, open]).holds, None);
    assert_eq!(of(&[open, &no]).holds, Some(false), "what fails decides");
    let soft = format!("kind = \"soft\"\n{no}");
    let with_soft = of(&[&yes, &soft]);
    assert_eq!(with_soft.holds, Some(true), "a soft part does not");
    assert_eq!(with_soft.parts[1].holds, Some(false));
    assert!(with_soft.ours.contains("10.09 < 12.11 < 15.14 ms"), "{}", with_soft.ours);
    assert!(of(&[&no]).why.contains("shows the contrary"), "{}", of(&[&no]).why);
}

#[test]
fn a_part_must_hold_in_each_experiment() {
    let order = |values: &str| {
        judged(&part(&format!("check = \"order\"\nexperiment = \"burst/*\"\nvalues = {values}")))
    };
    assert_eq!(order("[\"tcp/fast/cubic\", \"mptcp/lrf/lia\"]").holds, Some(true));
    // 15 < 30 and 58 < 60, but 15 < 20 and 58 > 40.
    let average = order("[\"mptcp/lrf/lia\", \"average\"]");
    assert_eq!(average.holds, Some(false));
    assert!(average.ours.ends_with("(holds in 1 of 2)"), "{}", average.ours);
}

#[test]
fn a_part_may_hold_in_most_of_its_experiments() {
    // As above: it holds in burst/10 alone.
    let most = |experiments: &str| {
        let judged = judged(&part(&format!(
            "check = \"order\"\nover = \"most\"\nexperiment = [{experiments}]\n\
             values = [\"mptcp/lrf/lia\", \"average\"]"
        )));
        (judged.holds, judged.ours, judged.why)
    };
    let (holds, ours, why) = most("\"burst/10\", \"burst/50\", \"burst/10\"");
    assert_eq!((holds, why.as_str()), (Some(true), ""));
    assert!(ours.starts_with("15.14 < 20.19 ms (holds in 2 of 3)"), "{ours}");
    let (holds, ours, why) = most("\"burst/10\", \"burst/50\"");
    assert_eq!(holds, Some(false), "a half is not most");
    assert!(ours.ends_with("(holds in 1 of 2)") && why.contains("contrary"), "{ours}: {why}");
    let problem = read(&claim(&part("check = \"order\"\nover = \"half\""))).unwrap_err();
    assert!(problem.to_string().contains("unknown word `half`"), "{problem}");
}

#[test]
fn a_part_may_be_about_the_mean_of_experiments_with_the_same_draws() {
    let of = |draws: [&'static str; 2], values: &str| {
        let experiments = "experiment = \"burst/*\"\nover = \"mean\"";
        let text = format!("check = \"order\"\n{experiments}\nvalues = {values}");
        judged_with(&part(&text), draws)
    };
    // 15 < 30 and 58 < 60, but 15 < 20 and 58 > 40: 36.5 > 30.
    let average = of(["10", "10"], "[\"average\", \"mptcp/lrf/lia\"]");
    assert_eq!(average.holds, Some(true));
    assert!(average.ours.contains("30.29 < 36.85 ms"), "{}", average.ours);
    let contrary = of(["10", "10"], "[\"mptcp/lrf/lia\", \"average\"]");
    assert!(contrary.why.starts_with("shows the contrary"), "{}", contrary.why);
    let unpaired = of(["10", "50"], "[\"average\", \"mptcp/lrf/lia\"]");
    assert_eq!(unpaired.holds, None);
    assert!(unpaired.why.contains("same draws"), "{}", unpaired.why);
}

#[test]
fn single_paths_are_picked_by_mean_sum_and_order() {
    let equal = |quantity: &str, value: f64| {
        let values = format!("values = [\"{quantity}\", {value}]");
        let text = format!("check = \"equal\"\nexperiment = \"burst/10\"\n{values}");
        judged(&part(&text)).holds
    };
    for (quantity, value) in
        [("average", 0.020), ("sum:tcp", 0.040), ("best", 0.010), ("max", 0.030), ("min", 0.010)]
    {
        assert_eq!(equal(quantity, value), Some(true), "{quantity}");
        assert_eq!(equal(quantity, value * 1.2), Some(false), "{quantity}");
    }
    assert_eq!(equal("best:sctp", 1.0), None, "there is none");
}

#[test]
fn shares_and_values_of_other_experiments_are_looked_up() {
    let share = "check = \"equal\"\nexperiment = \"burst/10\"\nmetric = \"share:fast\"\n\
        values = [\"mptcp/lrf/lia\", 0.64]";
    assert_eq!(judged(&part(share)).holds, Some(true), "within five points");
    let ratio = |low: f64| {
        judged(&part(&format!(
            "check = \"ratio\"\nlow = {low}\nvalues = [\"burst/50: mptcp/lrf/lia\", \
             \"burst/10: mptcp/lrf/lia\"]"
        )))
        .holds
    };
    assert_eq!((ratio(3.0), ratio(4.0)), (Some(true), Some(false)));
    let gains = |values: &str| judged(&part(&format!("check = \"gain-order\"\nvalues = {values}")));
    let (ten, fifty) = (
        "\"burst/10: mptcp/blest/lia | mptcp/lrf/lia\"",
        "\"burst/50: mptcp/blest/lia | mptcp/lrf/lia\"",
    );
    assert_eq!(gains(&format!("[{ten}, {fifty}]")).holds, Some(true));
    assert_eq!(gains(&format!("[{fifty}, {ten}]")).holds, Some(false));
}

#[test]
fn what_is_not_there_is_said_and_decides_nothing() {
    let no_variant = judged(&part(&format!("{ORDER}values = [\"mptcp/lrf/olia\", 1]")));
    assert_eq!(no_variant.holds, None);
    assert!(no_variant.why.contains("no variant mptcp/lrf/olia"), "{}", no_variant.why);
    let missing = judged("missing = \"the tables are lost\"\n");
    assert_eq!((missing.holds, &*missing.why), (None, "the tables are lost"));
}

#[test]
fn mistakes_in_claims_files_are_refused_with_their_place() {
    let refused = |text: &str| read(text).unwrap_err().to_string();
    let texts = [
        (claim(&part("check = \"larger\"\nvalues = [1, 2]")), "unknown check `larger`"),
        (claim(&part("check = \"order\"\nvalues = [\"a\"]")), "`order` needs two values or more"),
        (claim(&part("check = \"range\"\nvalues = [\"a\"]")), "`range` needs one value or more"),
        (
            claim(&part("check = \"order\"\nexperiment = \"bust/10\"\nvalues = [\"a\", \"b\"]")),
            "unknown experiment `bust/10`",
        ),
        (
            claim(&part("check = \"range\"\nvalues = [\"a\"]\nlow = 3\nhigh = 1")),
            "`low` is above `high`",
        ),
        (claim(""), "a claim without a part"),
        (claim(&part("chek = \"order\"")), "unknown key `chek`"),
        (
            claim(&part("check = \"order\"\nstatistic = \"mode\"\nvalues = [\"a\", \"b\"]")),
            "unknown statistic `mode`",
        ),
    ];
    for (text, expected) in texts {
        let message = refused(&text);
        assert!(message.contains(expected) && message.contains("claims.toml:"), "{message}");
    }
}

/// Before anything runs.
#[test]
fn metrics_that_an_experiment_does_not_have_are_refused_with_its_name() {
    for (metric, expected) in [("p95", "is of messages"), ("share:lte", "no path lte")] {
        let text = claim(&part(&format!(
            "check = \"order\"\nexperiment = \"burst/*\"\nmetric = \"{metric}\"\n\
             values = [\"best\", 1]"
        )));
        let text = text.replace("burst:", "bulk:");
        let refused = Plan::new(vec![read(&text).unwrap()], asked("all", false));
        let message = refused.map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("009 burst"), "{message}");
    }
}

fn asked(selection: &str, quick: bool) -> Asked {
    let selection = Given::argument("WHAT", selection);
    Asked { selection, quick, linux: true, scheduler: None, options: Options::default() }
}

#[test]
fn a_plan_has_the_studies_of_its_claims_with_the_options_of_cases_and_columns() {
    let order = part("check = \"order\"\nexperiment = \"burst/*\"\nvalues = [\"best\", 1]");
    let other = "[[claim]]\nid = \"009-C2\"\nkind = \"soft\"\nsource = \"\"\npaper = \"\"\n";
    let other = format!("{other}{}", part(&format!("{ORDER}values = [\"best\", 1]")));
    let paper = read(&format!("{}{other}", claim(&order))).unwrap();
    let plan = |what: &str, quick| Plan::new(vec![paper.clone()], asked(what, quick)).unwrap();
    let whole = plan("all", false);
    assert_eq!(whole.units.len(), 4, "two cases on two kernels");
    assert_eq!(plan("009-c2", false).units.len(), 2);
    let first = whole.scenario(whole.units_of(0, Column::Paper).next().unwrap()).unwrap();
    let last = whole.scenario(whole.units_of(0, Column::Linux).last().unwrap()).unwrap();
    assert_eq!(first.paths.len(), 2);
    assert!(last.to_toml().contains("profile = \"linux\""), "{}", last.to_toml());
    assert!(last.paths[1].anchored.contains("rate 1mbit"), "the case replaces a path");
    let quick = plan("all", true);
    let scenario = quick.scenario(&quick.units[0]).unwrap();
    let names = |plan: &Plan, unit: usize| {
        let scenario = plan.scenario(&plan.units[unit]).unwrap();
        let shown = plan.variants(&plan.units[unit], &scenario);
        shown.into_iter().map(|of| of.name).collect::<Vec<String>>()
    };
    assert_eq!(names(&quick, 0), ["tcp/fast/cubic", "tcp/slow/cubic"], "`best` needs these only");
    assert_eq!(quick.runs(&quick.units[0], &scenario), 10 * 2);
    assert!(Plan::new(vec![paper.clone()], asked("010", false)).is_err());
    assert_eq!(plan("All", false).units, whole.units);
    let mut with = asked("all", false);
    with.scheduler = Some(Given::argument("--scheduler", "blest"));
    let with = Plan::new(vec![paper], with).unwrap();
    let scenario = with.scenario(&with.units[0]).unwrap();
    assert_eq!(scenario.choices.schedulers.len(), first.choices.schedulers.len() + 1);
    assert_eq!(names(&with, 0).last().unwrap(), "mptcp/blest/cubic", "it is run all the same");
}

/// Regression: a path of a neighbouring value was added to experiments that have no such path.
#[test]
fn a_neighbouring_value_replaces_paths_only_where_they_are() {
    let more = "[experiment.more]\nfile = \"burst.toml\"\n\
        set = { path = { third = \"rate 10mbit delay 5ms\" } }\n";
    let head = format!("{HEAD}{more}");
    let parts =
        part("check = \"order\"\nexperiment = [\"burst/*\", \"more\"]\nvalues = [\"best\", 1]");
    let row = |path: &str| {
        format!(
            "[[claim.sensitivity]]\nsays = \"slower\"\n\
             set = {{ path = {{ {path} = \"rate 9mbit delay 5ms\" }} }}\n"
        )
    };
    let plan = |path: &str| {
        let paper = read_with(&head, &claim(&format!("{parts}{}", row(path)))).unwrap();
        Plan::new(vec![paper], asked("all", false))
    };
    let with_third = plan("third").unwrap();
    let units: Vec<&Unit> = with_third.units_of(0, Column::Sensitivity(0, 0)).collect();
    let [unit] = units[..] else { panic!("one experiment has the path: {units:?}") };
    let scenario = with_third.scenario(unit).unwrap();
    assert!(scenario.paths.len() == 3 && scenario.paths[2].anchored.contains("9mbit"));
    let refusal = plan("fourth").unwrap_err().to_string();
    assert!(refusal.contains("changes nothing of any of its experiments"), "{refusal}");
}

/// The variants of the studies of a claims file.
fn shown(head: &str, claims: &str) -> Result<Vec<Vec<String>>, InputError> {
    let plan = Plan::new(vec![read_with(head, claims)?], asked("all", false))?;
    let of = |unit: &Unit| {
        let shown = plan.variants(unit, &plan.scenario(unit).unwrap());
        shown.into_iter().map(|of| of.name).collect::<Vec<String>>()
    };
    Ok(plan.units_of(0, Column::Paper).map(of).collect())
}

#[test]
fn variants_that_no_claim_and_no_figure_uses_are_not_run() {
    let alone = claim(&part(&format!("{ORDER}values = [\"mptcp/linux/cubic\", 1]")));
    assert_eq!(shown(HEAD, &alone).unwrap(), [["mptcp/linux/cubic"]]);
    let figure = "[[figure]]\nid = \"fig1\"\ncaption = \"\"\ndraw = \"box\"\n\
        experiments = [\"burst/*\"]\nclaims = []\n";
    let drawn = format!("{alone}{figure}");
    let all = shown(HEAD, &drawn).unwrap();
    assert!(all.len() == 2 && all.iter().all(|of| of.len() == 3), "the figure draws all: {all:?}");
    let only = |name: &str| {
        let case = "{ name = \"10\",";
        shown(&HEAD.replace(case, &format!("{case} only = [\"{name}\"],")), figure)
    };
    let found = only("tcp/slow/cubic").unwrap();
    assert_eq!((&*found[0], found[1].len()), (&["tcp/slow/cubic".to_owned()][..], 3));
    let refusal = only("tcp/slow/cubik").unwrap_err().to_string();
    assert!(refusal.contains("`burst/10` has no variant `tcp/slow/cubik`"), "{refusal}");
    assert!(refusal.contains("did you mean `tcp/slow/cubic`?"), "{refusal}");
}

#[test]
fn table_brings_its_studies_and_the_claims_that_cite_it() {
    let plan = |what: &str| Plan::new(Paper::all().unwrap(), asked(what, true)).unwrap();
    let alone = plan("000/TABLE4");
    assert!(alone.claims.is_empty() && alone.figures.is_empty());
    let experiments = alone.units.iter().map(|unit| &*alone.experiment(unit).name);
    assert!(experiments.clone().all(|name| name.starts_with("video-cmt-")));
    assert_eq!(experiments.count(), 6, "three pairs of paths, with and without background");
    assert!(alone.units.iter().all(|unit| unit.column == Column::Paper));
    let cited = plan("000/table5");
    let ids = cited.claims.iter().map(|(paper, of)| &*cited.papers[*paper].claims[*of].id);
    assert_eq!(ids.collect::<Vec<&str>>(), ["000-C7", "000-C8", "000-C9"]);
    let refusal = Plan::new(Paper::all().unwrap(), asked("000/table99", true)).unwrap_err();
    assert!(refusal.to_string().contains("no paper, figure, table or claim"), "{refusal}");
}

/// SCTP over both paths, with each as its primary, in place of SCTP over each.
fn multihomed(only: &str) -> String {
    let set = "set = { protocols = \"sctp,cmt-sctp\", primary = \"first,fast,slow\" }\n";
    let only = format!("only = [{only}]\n");
    HEAD.replace("cases = [", &format!("{set}{only}cases = ["))
}

#[test]
fn average_is_over_multi_homed_sctp_where_no_single_path_is_run() {
    let each = ["fast", "slow"].map(|path| format!("sctp/multihomed/reno/primary={path}"));
    let listed = each.each_ref().map(|name| format!("\"{name}\"")).join(",");
    let average = claim(&part(&format!("{ORDER}values = [\"average:sctp\", 1]")));
    let run = |only: &str| shown(&multihomed(only), &average).unwrap().remove(0);
    assert_eq!(run(&listed), each);
    let single = "sctp/fast/reno";
    assert_eq!(run(&format!("\"{single}\",{listed}")), [single]);
    let paper = read_with(&multihomed(&listed), &average).unwrap();
    let plan = Plan::new(vec![paper], asked("all", false)).unwrap();
    let scenario = plan.scenario(&plan.units[0]).unwrap();
    let alone = |all: &[Variant]| {
        let values = Values::without_runs(&scenario, all, &[Metric::Own]).unwrap();
        values.variants.into_iter().filter(|of| of.is_alone).map(|of| of.name).collect::<Vec<_>>()
    };
    assert_eq!(alone(&plan.variants(&plan.units[0], &scenario)), each);
    assert_eq!(alone(&variants_of(&scenario)), ["sctp/fast/reno", "sctp/slow/reno"]);
}

/// A table of outcomes with one row.
fn matrix(row: &str, value: &str) -> String {
    let column = "{ name = \"MPTCP\", experiment = \"10\", values";
    format!(
        "[[figure]]\nid = \"fig2\"\ncaption = \"\"\ndraw = \"matrix\"\nclaims = []\n\
         rows = [{{ name = \"Burst\", experiment = \"burst/{{}}\"{row} }}]\n\
         columns = [{column} = [\"{value}\", \"average\"] }}]\n"
    )
}

#[test]
fn rows_of_a_table_end_the_names_of_variants() {
    let run = |row: &str, value: &str| shown(HEAD, &matrix(row, value));
    let all = ["tcp/fast/cubic", "tcp/slow/cubic", "mptcp/linux/cubic"];
    assert_eq!(run("", "mptcp/linux/cubic").unwrap(), [all]);
    assert_eq!(run(", suffix = \"/cubic\"", "mptcp/linux{}").unwrap(), [all]);
    assert_eq!(run("", "mptcp/linux/cubic{}").unwrap(), [all], "no suffix is an empty one");
}

/// A cell of a variant that is not run was left out, and the table of 000 Fig. 19 had no outcomes
/// of CMT-SCTP for videos and games.
#[test]
fn names_of_variants_that_are_not_run_are_refused() {
    let refusal = |head: &str, text: &str| shown(head, text).unwrap_err().to_string();
    let absent = refusal(HEAD, &matrix("", "mptcp/linux/cubik"));
    assert!(absent.contains("a claim or a figure uses `mptcp/linux/cubik`"), "{absent}");
    assert!(absent.contains("did you mean `mptcp/linux/cubic`?"), "{absent}");
    let left_out = HEAD.replace("cases = [", "only = [\"tcp/fast/cubic\"]\ncases = [");
    let alone = claim(&part(&format!("{ORDER}values = [\"mptcp/linux/cubic\", 1]")));
    assert!(refusal(&left_out, &alone).contains("add it to `only`"));
}

#[test]
fn a_claim_without_a_study_has_no_column_of_today() {
    let paper = read(&claim(&part("missing = \"no such feature\""))).unwrap();
    let plan = Plan::new(vec![paper], asked("all", false)).unwrap();
    assert!(plan.judge(&Results::default())[0].linux.is_none());
}

#[test]
fn stored_values_equal_the_computed_ones_and_have_a_key() {
    let values = values(0.1, 0.25, 0.3, 1.0 / 3.0);
    let text = values.document("key").to_string();
    let document = serde_json::from_str(&text).unwrap();
    assert_eq!(Values::read(&document, "key"), Some(values));
    assert_eq!(Values::read(&document, "other"), None);
}

#[test]
fn metrics_have_names() {
    assert_eq!(Metric::Share("wlan".to_owned()).name(), "share:wlan");
    assert!(Metric::LargestShare.is_share() && !Metric::Own.is_share());
    for name in ["own", "goodput", "share:wlan", "share:largest", "number:rtt/wlan/p50"] {
        assert_eq!(Metric::named(name).name(), name);
    }
}

#[test]
fn studies_with_the_same_draws_are_paired() {
    // Common noise of 30 % hides a difference of 5 % between studies whose draws differ.
    let noisy = |factor: f64| {
        let mut values = values(1.0, 2.0, 3.0, 4.0);
        let numbers = (0..20).map(|run| Some(factor * (1.0 + 0.03 * f64::from(run * 7 % 20))));
        values.variants[0].columns[0] = numbers.collect();
        values
    };
    let term = |case: &str| format!("\"burst/{case}: tcp/fast/cubic\"");
    let part = part(&format!("check = \"order\"\nvalues = [{}, {}]", term("10"), term("50")));
    let paper = read(&claim(&part)).unwrap();
    let (ten, fifty) = (noisy(1.0), noisy(1.05));
    let holds = |draws: [&'static str; 2]| {
        let lookup = |experiment: usize| {
            let values = if experiment == 0 { &ten } else { &fifty };
            Some(Sampled { values, draws: draws[experiment] })
        };
        judge(&paper, &paper.claims[0], &lookup, 1).holds
    };
    assert_eq!(holds(["1/20/fast,slow/", "1/20/fast,slow/"]), Some(true));
    assert_eq!(holds(["1/20/fast,slow/", "1/20/fast,other/"]), None);
}

/// Regression: repetitions after one that did not finish had the number of the one before, so that
/// rows of variants with the same number were not those of the same draws.
#[test]
fn data_of_figures_have_the_number_of_each_repetition() {
    let figure = "[[figure]]\nid = \"fig1\"\ncaption = \"bursts\"\ndraw = \"bars\"\n\
        experiments = [\"burst/10\"]\nclaims = [\"009-C1\"]\n";
    let part = part(&format!("{ORDER}values = [\"tcp/fast/cubic\", \"tcp/slow/cubic\"]"));
    let plan = Plan::new(vec![read(&(claim(&part) + figure)).unwrap()], asked("all", false));
    let (plan, mut results) = (plan.unwrap(), Results::default());
    let mut found = values(0.010, 0.020, 1.0, 1.0);
    found.variants[0].columns[0] = vec![Some(0.5), None, None, Some(0.25)];
    let unit = Unit { paper: 0, column: Column::Paper, experiment: 0 };
    results.add(&unit, &plan.scenario(&unit).unwrap(), found);
    let csv = plan.drawn(&results)[0].1.csv();
    let fast: Vec<&str> = csv.lines().filter(|line| line.contains("tcp/fast")).collect();
    assert_eq!(fast, ["burst/10,\"tcp/fast/cubic\",0,0.5", "burst/10,\"tcp/fast/cubic\",3,0.25"]);
}

#[test]
fn numbers_of_a_paper_are_beside_ours() {
    let number = "[[number]]\nsource = \"Table 1\"\nsays = \"a burst\"\n\
        experiment = \"burst/*\"\nvalues = [\"tcp/fast/cubic\"]\n";
    let claims = format!(
        "{}{number}paper = [0.010, 0.040]\n",
        claim(&part(&format!("{ORDER}values = [\"tcp/fast/cubic\", \"tcp/slow/cubic\"]")))
    );
    let plan = Plan::new(vec![read(&claims).unwrap()], asked("all", false)).unwrap();
    let mut results = Results::default();
    for (experiment, of) in [(0, values(0.012, 1.0, 1.0, 1.0)), (1, values(0.020, 1.0, 1.0, 1.0))] {
        let unit = Unit { paper: 0, column: Column::Paper, experiment };
        results.add(&unit, &plan.scenario(&unit).unwrap(), of);
    }
    let compared = plan.compared(0, &results);
    let differences: Vec<f64> = compared.iter().map(Compared::difference).collect();
    // `around` has a mean 0.95 % above its centre.
    assert!((differences[0] - 0.2114).abs() < 1e-9 && (differences[1] + 0.49525).abs() < 1e-9);
    let all = Differences::of(&compared).unwrap();
    assert_eq!((all.count, all.worst), (2, -differences[1]));
    let message = read(&format!("{}{number}paper = [1]\n", claim("missing = \"no\"\n")));
    let message = message.unwrap_err().to_string();
    assert!(message.contains("1 numbers for 2 experiments"), "{message}");
}

#[test]
fn an_explanation_is_said_where_a_claim_does_not_hold() {
    let judged = |first: &str, second: &str| {
        let values = format!("{ORDER}values = [\"tcp/{first}/cubic\", \"tcp/{second}/cubic\"]");
        judged(&format!("why = \"the path is slow\"\n{}", part(&values)))
    };
    assert_eq!(judged("fast", "slow").because, None);
    assert_eq!(judged("slow", "fast").because.as_deref(), Some("the path is slow"));
}

/// The claims files of the papers: every study resolves, and every variant and metric is there.
#[test]
fn every_claim_of_the_papers_can_be_judged() {
    let papers = Paper::all().unwrap_or_else(|refusal| panic!("{refusal}"));
    for quick in [false, true] {
        let mut all = asked("all", quick);
        all.options = Options::default().with(Key::Jobs, "1");
        let plan = Plan::new(papers.clone(), all).unwrap_or_else(|refusal| panic!("{refusal}"));
        let lacking = plan.lacking();
        assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    }
}

#[test]
fn flows_on_other_paths_change_no_value_of_a_path_alone() {
    let text = "traffic = \"bulk:5s\"\nprotocols = \"tcp,mptcp\"\nruns = 3\nstart = \"1s\"\n\
        [path]\nfast = \"rate 10mbit delay 5ms loss 1%\"\nslow = \"rate 5mbit..9mbit delay 50ms\"\n\
        [flow]\nfast-tcp = \"tcp on fast\"\nslow-tcp = \"tcp on slow\"\n\
        slow-udp = \"udp on slow traffic onoff:500kbit:9s count 2\"\n";
    let file = SourceFile { name: "flows.toml".to_owned(), text: text.to_owned() };
    let scenario = options(&Arc::new(file)).and_then(|of| of.resolve()).unwrap();
    let variants = variants_of(&scenario);
    let all = run_variants(&scenario, &variants, RECORDING, &Silent).unwrap();
    let batches = batches(&scenario, variants, &[Metric::Own]);
    let flows: Vec<usize> = batches.iter().map(|(of, _)| of.flows.len()).collect();
    assert_eq!(flows, [1, 2, 3]);
    let run = |(scenario, variants): &(Scenario, Vec<Variant>)| {
        run_variants(scenario, variants, RECORDING, &Silent).unwrap().variants
    };
    let number = |of: &VariantRuns| of.runs.iter().map(|run| run.value).collect::<Vec<_>>();
    let apart: Vec<_> = batches.iter().flat_map(run).map(|of| number(&of)).collect();
    assert_eq!(apart, all.variants.iter().map(number).collect::<Vec<_>>());
}

/// A misspelt number was undecided.
#[test]
fn number_that_no_run_has_is_refused() {
    let text = "traffic = \"bulk:256KiB\"\nprotocols = \"mptcp\"\nruns = 2\n\
        [path]\nfast = \"rate 10mbit delay 5ms\"\nslow = \"rate 5mbit delay 50ms\"\n";
    let file = SourceFile { name: "page.toml".to_owned(), text: text.to_owned() };
    let scenario = options(&Arc::new(file)).and_then(|of| of.resolve()).unwrap();
    let study = run_variants(&scenario, &variants_of(&scenario), RECORDING, &Silent).unwrap();
    let of = |name: &str| Values::of(&scenario, &study, &[Metric::Number(name.to_owned())]);
    assert_eq!(
        of("ended - rtt/fasst/p50").err().as_deref(),
        Some("no number of packets has the name `rtt/fasst/p50`; did you mean `rtt/fast/p50`?")
    );
    let unknown = of("ended - data_pakets").unwrap_err();
    let expected = "no run has a number `data_pakets`: did you mean `data_packets`? Valid are: ";
    assert!(unknown.starts_with(expected), "{unknown}");
    // Without `--packet-metrics` no run has them.
    for name in ["rtt/slow/n", "out_of_order/share", "ended - rtt/fast/p50"] {
        assert!(of(name).unwrap().variants[0].columns[0].iter().all(Option::is_none), "{name}");
    }
    for name in OWN_NUMBERS {
        assert!(of(name).unwrap().variants[0].columns[0].iter().all(Option::is_some), "{name}");
    }
}

/// What a metric does not need is not recorded; the numbers of the others are the same.
#[test]
fn recording_follows_from_the_metrics() {
    let text = "traffic = \"bulk:256KiB\"\nprotocols = \"mptcp\"\nruns = 2\n\
        [path]\nfast = \"rate 10mbit delay 5ms loss 1%\"\nslow = \"rate 5mbit delay 50ms\"\n";
    let file = SourceFile { name: "page.toml".to_owned(), text: text.to_owned() };
    let scenario = options(&Arc::new(file)).and_then(|of| of.resolve()).unwrap();
    let of = |metrics: &[Metric], recording| {
        let study = run_variants(&scenario, &variants_of(&scenario), recording, &Silent).unwrap();
        Values::of(&scenario, &study, metrics).unwrap().variants[0].columns.clone()
    };
    let held = Metric::Number("head_of_line - ended".to_owned());
    for metrics in [vec![Metric::Own], vec![Metric::LargestShare, held]] {
        let found = of(&metrics, recording(&scenario, &metrics));
        assert!(found.iter().flatten().all(Option::is_some), "{metrics:?}");
        assert_eq!(found, of(&metrics, RECORDING));
    }
    let nothing = recording(&scenario, &[Metric::Own]);
    assert!(!nothing.hash && !nothing.accounts);
}
