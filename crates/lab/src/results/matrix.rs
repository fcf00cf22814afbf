//! The cells of a matrix as JSON document and as Parquet table.
//!
//! A cell is a variant over several paths in one study, with mean, interval, difference and class
//! as `json` has them of that study. Pages and texts belong to the command line.

use super::BUILD;
use super::columnar;
use super::columns::{Cell, Kind};
use super::json;
use crate::answer::Outcome;
use crate::comparison::Class;
use crate::report::Report;
use crate::scenario::{CellPlace, Scenario};
use crate::statistics::Interval;
use crate::study::Stopped;
use crate::summary::Summary;
use crate::words::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io;
use traffic::Measure;

/// The version of document and table.
const SCHEMA: u32 = 1;
/// Names of the files of a matrix in its folder.
pub const MATRIX_FILES: [&str; 3] = ["matrix.json", "matrix.parquet", "matrix.html"];

/// The outcome of a cell, in the four classes of 000 and those that it has no colour for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// Pays off, by more than a tenth.
    SignificantGain,
    /// Pays off, by less.
    SlightGain,
    /// No difference that matters.
    None,
    /// Hurts.
    Degraded,
    /// None of these is shown.
    Undecided,
    /// What no run has shown yet may change it.
    NotKnown,
    /// Too many runs did not finish.
    NoVerdict,
}

impl Grade {
    /// All of them.
    pub const ALL: [Grade; 7] = [
        Grade::SignificantGain,
        Grade::SlightGain,
        Grade::None,
        Grade::Degraded,
        Grade::Undecided,
        Grade::NotKnown,
        Grade::NoVerdict,
    ];

    /// Name in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Grade::SignificantGain => "significant gain",
            Grade::SlightGain => "slight gain",
            Grade::None => "none",
            Grade::Degraded => "degraded",
            Grade::Undecided => "undecided",
            Grade::NotKnown => "not known",
            Grade::NoVerdict => "no verdict",
        }
    }
}

/// A cell with its result.
#[derive(Clone, Debug)]
pub struct MatrixCell {
    /// Where it is.
    pub place: CellPlace,
    /// The variant over several paths.
    pub summary: Summary,
    /// The compared number.
    pub metric: Measure,
    /// Whether the variant meets the goal, if there is one.
    pub goal: Option<Outcome>,
    /// Why the repetitions of the study ended.
    pub stopped: Stopped,
    /// Result hash of the study.
    pub hash: String,
}

impl MatrixCell {
    /// The cells of a study: its variants that use several paths at once.
    pub fn of_study(place: &CellPlace, report: &Report) -> Vec<MatrixCell> {
        let goal = |name: &str| {
            let standing = report.goal.as_ref()?.variants.iter().find(|of| of.variant == name)?;
            Some(standing.outcome)
        };
        let cell = |summary: &Summary| MatrixCell {
            place: place.clone(),
            summary: summary.clone(),
            metric: report.metric,
            goal: goal(&summary.variant.name),
            stopped: report.stopped,
            hash: report.hash.clone(),
        };
        report.variants.iter().filter(|of| of.variant.is_concurrent()).map(cell).collect()
    }

    /// Class; `None` without a verdict, or where it is not known.
    pub fn class(&self) -> Option<Class> {
        self.summary.class.filter(|_| self.summary.qualifies())
    }

    /// `significant` or `slight`, as in the document of the study.
    pub fn magnitude(&self) -> Option<&'static str> {
        self.class()?;
        self.summary.difference.as_ref().map(|difference| difference.magnitude())
    }

    /// The outcome.
    pub fn grade(&self) -> Grade {
        match self.class() {
            Some(Class::PaysOff) if self.magnitude() == Some("slight") => Grade::SlightGain,
            Some(Class::PaysOff) => Grade::SignificantGain,
            Some(Class::NoDifference | Class::Baseline) => Grade::None,
            Some(Class::Hurts) => Grade::Degraded,
            Some(Class::Undecided) => Grade::Undecided,
            None if self.summary.qualifies() => Grade::NotKnown,
            None => Grade::NoVerdict,
        }
    }

    /// Whether the grade is what 000 says of the cell; `None` where either is not known.
    pub fn agrees(&self) -> Option<bool> {
        let reported = self.place.reported?;
        match self.grade() {
            Grade::Undecided | Grade::NotKnown | Grade::NoVerdict => None,
            Grade::SignificantGain | Grade::SlightGain if reported.class == "gain" => Some(true),
            grade => Some(grade.name() == reported.class),
        }
    }

    /// Mean of the baseline in the metric's unit.
    pub fn baseline_mean(&self) -> Option<f64> {
        let difference = self.summary.difference.as_ref()?;
        match difference.relative {
            Some(share) if share != 0.0 => Some(difference.mean / share),
            _ => self.summary.mean.map(|mean| mean - difference.mean),
        }
    }

    /// The difference as a share of the baseline's mean, and the ends of the interval that decides.
    pub fn relative(&self) -> Option<(f64, Option<Interval>)> {
        let difference = self.summary.difference.as_ref()?;
        let reference = self.baseline_mean().filter(|mean| *mean > 0.0)?;
        let of = |interval: Interval| Interval {
            low: interval.low / reference,
            high: interval.high / reference,
        };
        Some((difference.mean / reference, difference.interval.map(of)))
    }
}

/// A matrix with the cells that are finished.
#[derive(Clone, Copy, Debug)]
pub struct MatrixResult<'a> {
    /// The cells, row by row.
    pub cells: &'a [MatrixCell],
    /// Scenario of one of the cells, for what all have in common.
    pub scenario: &'a Scenario,
    /// Notes on omitted choices.
    pub notes: &'a [String],
    /// Not all cells are finished.
    pub interrupted: bool,
}

impl MatrixResult<'_> {
    /// The document of `matrix --json`.
    pub fn document(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "program": "anabranch",
            "seed": self.scenario.seed,
            "matters": self.scenario.matters.0,
            "goal": self.scenario.goal.as_ref().map(|goal| &goal.text),
            "interrupted": self.interrupted,
            "notes": self.notes,
            "cells": self.cells.iter().map(cell).collect::<Vec<_>>(),
            "hash": self.hash(),
        })
    }

    /// SHA-256 over the places and result hashes of all cells, in hexadecimal digits.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for MatrixCell { place, summary, hash: of_study, .. } in self.cells {
            for part in [&place.folder, &summary.variant.name, of_study] {
                hash.update(part.as_bytes());
                hash.update([0]);
            }
        }
        hex(&hash.finalize())
    }

    /// The Parquet table with a row for each cell.
    pub fn table(&self) -> io::Result<Vec<u8>> {
        let named: Vec<(&str, Kind)> =
            COLUMNS.iter().map(|(name, kind, _)| (*name, *kind)).collect();
        let metadata = [
            ("schema", SCHEMA.to_string()),
            ("seed", self.scenario.seed.to_string()),
            ("build", BUILD.to_owned()),
        ];
        let cells = |index: usize| self.cells.iter().map(move |cell| (COLUMNS[index].2)(cell));
        columnar::file("matrix", &named, &metadata, cells).map_err(io::Error::other)
    }
}

fn cell(cell: &MatrixCell) -> Value {
    let MatrixCell { place, summary, metric, goal, stopped, hash } = cell;
    let share: serde_json::Map<String, Value> =
        summary.share.iter().map(|(name, share)| (name.clone(), json!(share))).collect();
    json!({
        "traffic": place.traffic,
        "pair": place.pair,
        "protocol": place.protocol.name(),
        "background": place.background,
        "variant": summary.variant.name,
        "scheduler": summary.variant.scheduler_name(),
        "cc": summary.variant.congestion.to_string(),
        "class": cell.class().map(Class::name),
        "magnitude": cell.magnitude(),
        "grade": cell.grade().name(),
        "metric": metric.name(),
        "unit": metric.unit(),
        "n": summary.n,
        "incomplete": summary.incomplete,
        "mean": summary.mean,
        "ci95": summary.mean_interval.map(json::ends),
        "baseline": summary.baseline,
        "baseline_mean": cell.baseline_mean(),
        "diff": summary.difference.as_ref().map(json::difference),
        "needs": summary.difference.as_ref().and_then(|difference| difference.needs),
        "goal": goal.map(Outcome::name),
        "share": share,
        "reported": place.reported.map(|of| {
            let source = format!("000 {}", of.source);
            json!({"class": of.class, "source": source, "agrees": cell.agrees()})
        }),
        "stopped": stopped.name(),
        "folder": place.folder,
        "hash": hash,
    })
}

/// A column: name, kind and the cell of a row.
type Column = (&'static str, Kind, fn(&MatrixCell) -> Cell);

const COLUMNS: [Column; 26] = [
    ("traffic", Kind::Text, |of| text(&of.place.traffic)),
    ("pair", Kind::Text, |of| text(&of.place.pair)),
    ("protocol", Kind::Text, |of| text(of.place.protocol.name())),
    ("background", Kind::Whole, |of| Cell::Whole(of.place.background.into())),
    ("variant", Kind::Text, |of| text(&of.summary.variant.name)),
    ("scheduler", Kind::Text, |of| text(&of.summary.variant.scheduler_name().unwrap_or_default())),
    ("cc", Kind::Text, |of| text(&of.summary.variant.congestion.to_string())),
    ("class", Kind::Text, |of| text(of.class().map_or("", Class::name))),
    ("magnitude", Kind::Text, |of| text(of.magnitude().unwrap_or_default())),
    ("grade", Kind::Text, |of| text(of.grade().name())),
    ("metric", Kind::Text, |of| text(of.metric.name())),
    ("unit", Kind::Text, |of| text(of.metric.unit())),
    ("n", Kind::Whole, |of| Cell::Whole(of.summary.n as u64)),
    ("incomplete", Kind::Whole, |of| Cell::Whole(of.summary.incomplete as u64)),
    ("mean", Kind::Number, |of| Cell::Number(of.summary.mean)),
    ("ci95_low", Kind::Number, |of| Cell::Number(of.summary.mean_interval.map(|i| i.low))),
    ("ci95_high", Kind::Number, |of| Cell::Number(of.summary.mean_interval.map(|i| i.high))),
    ("baseline", Kind::Text, |of| text(of.summary.baseline.as_deref().unwrap_or_default())),
    ("baseline_mean", Kind::Number, |of| Cell::Number(of.baseline_mean())),
    ("diff_mean", Kind::Number, |of| {
        Cell::Number(of.summary.difference.as_ref().map(|difference| difference.mean))
    }),
    ("diff_ci95_low", Kind::Number, |of| Cell::Number(deciding(of).map(|i| i.low))),
    ("diff_ci95_high", Kind::Number, |of| Cell::Number(deciding(of).map(|i| i.high))),
    ("goal", Kind::Text, |of| text(of.goal.map_or("", Outcome::name))),
    ("reported", Kind::Text, |of| text(of.place.reported.map_or("", |of| of.class))),
    ("folder", Kind::Text, |of| text(&of.place.folder)),
    ("hash", Kind::Text, |of| text(&of.hash)),
];

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn deciding(cell: &MatrixCell) -> Option<Interval> {
    cell.summary.difference.as_ref()?.interval
}

#[cfg(test)]
mod tests;
