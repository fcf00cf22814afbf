//! `--write`: the document of a run, with the command, the machine and every claim.
//!
//! Text that was written by hand below a mark is kept when the document is written again.

use super::table::{Numbers, numbers_of, of_paper, summary};
use crate::report::{assumptions, differences_of, remarks, utc};
use lab::reproduction::{Differences, Plan, Row};
use lab::results::Provenance;
use lab::validation::Machine;
use std::fmt::Write;

const RULES: &str = "A claim holds where its interval shows it, fails where the interval shows \
the contrary, and is undecided otherwise ([claims-format.md](claims-format.md)). Hard claims \
follow from the mechanism; soft ones depend on the networks of the authors. The last column is the \
same claim with the model of today's kernel. Values that a paper does not state follow \
`scenarios/RULES.md`; rows with neighbouring values or more repetitions change no answer.";

/// The document, without the text by hand.
pub(super) fn document(
    plan: &Plan,
    (rows, numbers): (&[Row<'_>], &Numbers<'_>),
    (provenance, spent): (&Provenance, Option<String>),
) -> String {
    let version = provenance.version.clone();
    let machine = Machine::here(utc(provenance.started), provenance.command.join(" "), version);
    let mut text =
        format!("# What of the five papers holds\n\n**{}**\n\n{RULES}\n\n", summary(rows));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "`{}`, anabranch {}, {}, {}, {}.\n",
        machine.command, machine.version, machine.recorded, machine.hardware, machine.kernel
    );
    if let Some(spent) = spent {
        let _ = writeln!(text, "{spent}\n");
    }
    for paper in &plan.papers {
        let own = |row: &&Row<'_>| paper.claims.iter().any(|claim| claim.id == row.claim.id);
        let of: Vec<&Row<'_>> = rows.iter().filter(own).collect();
        if of.is_empty() {
            continue;
        }
        let _ =
            writeln!(text, "## {} {}\n\n{}", paper.number, paper.title, of_paper(&of).markdown());
        for row in of {
            notes(&mut text, row);
        }
        let all = numbers.iter().filter(|(number, _)| *number == paper.number);
        for (_, all) in all {
            if let Some(differences) = Differences::of(all) {
                let (says, table) = (differences_of(&differences), numbers_of(all).markdown());
                let _ = writeln!(text, "\nThe paper's numbers beside ours: {says}.\n\n{table}");
            }
        }
        text.push('\n');
    }
    for note in assumptions(rows.iter()) {
        let _ = writeln!(text, "- {note}");
    }
    text
}

/// Why a claim does not hold, and what neighbouring values give.
fn notes(text: &mut String, row: &Row<'_>) {
    for remark in remarks(row) {
        let _ = writeln!(text, "- {}: {remark}", row.claim.id);
    }
}
