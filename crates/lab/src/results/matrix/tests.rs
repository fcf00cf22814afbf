//! Grades of cells, and the table of a matrix read back.

use super::*;
use crate::comparison::Difference;
use crate::execution::run_study;
use crate::results::columnar::{Stored, column, optional_column};
use crate::run::Run;
use crate::scenario::{Key, MatrixPlan, Options, Reported, Variant};
use crate::study::Watcher;
use parquet::data_type::{ByteArrayType, DoubleType, Int64Type};

struct Silent;

impl Watcher for Silent {
    fn on_run(&self, _: &Variant, _: &Run) {}
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The cells of a small matrix, and the scenario of the last one.
fn cells() -> (Vec<MatrixCell>, Scenario) {
    let options = Options::default()
        .with(Key::Traffic, "bulk:16KiB,bulk:64KiB")
        .with(Key::Path, "a=rate 5mbit delay 10ms loss 1%")
        .with(Key::Path, "b=rate 4mbit delay 10ms")
        .with(Key::Goal, "mean completion_time < 1s")
        .with(Key::Runs, "5");
    let plan = MatrixPlan::new(&options, None).unwrap();
    let mut cells = Vec::new();
    for cell in &plan.cells {
        let scenario = cell.scenario().unwrap();
        let study = run_study(&scenario, None, &Silent).unwrap();
        let report = Report::new(&scenario, &study).unwrap();
        cells.extend(MatrixCell::of_study(&cell.place, &report));
    }
    (cells, plan.cells[0].scenario().unwrap())
}

#[test]
fn table_has_a_row_for_each_cell_with_the_numbers_of_the_document() {
    let (cells, scenario) = cells();
    assert_eq!(cells.len(), 4);
    let result =
        MatrixResult { cells: &cells, scenario: &scenario, notes: &[], interrupted: false };
    let document = result.document();
    let file = std::env::temp_dir().join(format!("anabranch-matrix-{}", std::process::id()));
    std::fs::write(&file, result.table().unwrap()).unwrap();
    let stored = Stored::open(std::fs::File::open(&file).unwrap()).unwrap();
    let text = |name: &str| {
        let texts = stored.read(|reader| column::<ByteArrayType>(reader, name)).unwrap();
        texts.iter().map(|text| text.as_utf8().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let number =
        |name: &str| stored.read(|reader| optional_column::<DoubleType>(reader, name)).unwrap();
    let all = document["cells"].as_array().unwrap();
    for (row, cell) in all.iter().enumerate() {
        for key in ["traffic", "pair", "protocol", "variant", "grade", "goal", "folder", "hash"] {
            assert_eq!(cell[key], text(key)[row].as_str(), "{key}");
        }
        for (key, of) in [
            ("mean", &cell["mean"]),
            ("ci95_low", &cell["ci95"][0]),
            ("diff_mean", &cell["diff"]["mean"]),
            ("diff_ci95_high", &cell["diff"]["ci95"][1]),
        ] {
            assert_eq!(of.as_f64(), number(key)[row], "{key}");
        }
    }
    assert_eq!(text("variant")[..2], ["mptcp/linux/cubic", "cmt-sctp/send-all/reno"]);
    let runs = stored.read(|reader| column::<Int64Type>(reader, "n")).unwrap();
    assert_eq!(runs, [5; 4]);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn share_of_the_baseline_is_that_of_the_interval_that_decides() {
    let (cells, _) = cells();
    for cell in &cells {
        let difference = cell.summary.difference.as_ref().unwrap();
        let (share, interval) = cell.relative().unwrap();
        let is_near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1.0);
        assert!(is_near(share, difference.relative.unwrap()));
        let reference = cell.summary.mean.unwrap() - difference.mean;
        let ends = difference.interval.unwrap();
        assert!(is_near(interval.unwrap().low * reference, ends.low));
        assert!(is_near(cell.baseline_mean().unwrap(), reference));
    }
}

/// Regression guard: an undecided cell is never one of the paper's four classes.
#[test]
fn grade_is_the_class_and_its_magnitude() {
    let (cells, _) = cells();
    let grade = |class: Option<Class>, relative: f64| {
        let mut cell = cells[0].clone();
        cell.summary.class = class;
        let difference = cell.summary.difference.as_mut().unwrap();
        *difference = Difference { relative: Some(relative), ..difference.clone() };
        cell.grade()
    };
    assert_eq!(grade(Some(Class::PaysOff), -0.101), Grade::SignificantGain);
    assert_eq!(grade(Some(Class::PaysOff), -0.10), Grade::SlightGain);
    assert_eq!(grade(Some(Class::NoDifference), -0.01), Grade::None);
    assert_eq!(grade(Some(Class::Hurts), 0.02), Grade::Degraded);
    assert_eq!(grade(Some(Class::Hurts), 0.5), Grade::Degraded);
    assert_eq!(grade(Some(Class::Undecided), -0.5), Grade::Undecided);
    assert_eq!(grade(None, -0.5), Grade::NotKnown);
    let mut cell = cells[0].clone();
    cell.summary.incomplete = cell.summary.n;
    assert_eq!((cell.grade(), cell.class()), (Grade::NoVerdict, None));
    assert_eq!(cell.magnitude(), None);
}

#[test]
fn paper_agrees_with_its_class_and_not_with_what_is_undecided() {
    let (cells, _) = cells();
    let agrees = |said: &'static str, class: Class, relative: f64| {
        let mut cell = cells[0].clone();
        cell.place.reported = Some(Reported { class: said, source: "" });
        cell.summary.class = Some(class);
        let difference = cell.summary.difference.as_mut().unwrap();
        *difference = Difference { relative: Some(relative), ..difference.clone() };
        cell.agrees()
    };
    assert_eq!(agrees("gain", Class::PaysOff, -0.07), Some(true));
    assert_eq!(agrees("slight gain", Class::PaysOff, -0.07), Some(true));
    assert_eq!(agrees("slight gain", Class::PaysOff, -0.3), Some(false));
    assert_eq!(agrees("degraded", Class::Hurts, 0.3), Some(true));
    assert_eq!(agrees("gain", Class::Hurts, 0.3), Some(false));
    assert_eq!(agrees("none", Class::Undecided, 0.0), None);
    assert_eq!(cells[0].agrees(), None, "not a cell of the paper");
}
