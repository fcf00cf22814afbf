//! What is selected: papers, figures, tables and claims by their names.
//!
//! `plan` finds the studies that they need.

use super::claims::{Claim, Figure, Paper};
use crate::error::{Given, InputError, Refusal};
use crate::words::nearest_help;
use std::collections::BTreeSet;

/// Numbers of papers with those of their claims and figures, and with the names of their tables,
/// in the order of the papers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Selected {
    pub claims: BTreeSet<(usize, usize)>,
    pub figures: BTreeSet<(usize, usize)>,
    pub tables: BTreeSet<(usize, String)>,
}

impl Selected {
    /// What the words of a selection name.
    pub(super) fn of(papers: &[Paper], selection: &Given) -> Result<Selected, InputError> {
        let mut selected = Selected::default();
        for (span, word) in selection.split_at_commas() {
            let before = selected.len();
            for (number, paper) in papers.iter().enumerate() {
                selected.add(number, paper, word);
            }
            if selected.len() == before && !is_known(papers, word) {
                let problem = format!("no paper, figure, table or claim `{word}`");
                let names: Vec<String> = names_like(papers, word);
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let help = nearest_help(word, &names);
                return Err(selection.refuse(Refusal { span, problem, help }));
            }
        }
        Ok(selected)
    }

    fn len(&self) -> usize {
        self.claims.len() + self.figures.len() + self.tables.len()
    }

    /// Adds what a word names of a paper. Figures and tables bring the claims that they support.
    fn add(&mut self, number: usize, paper: &Paper, word: &str) {
        if word.eq_ignore_ascii_case("all") || word == paper.number {
            self.claims.extend((0..paper.claims.len()).map(|claim| (number, claim)));
            self.figures.extend((0..paper.figures.len()).map(|figure| (number, figure)));
        }
        let mut add_claims = |is_meant: &dyn Fn(&Claim) -> bool| {
            let meant = paper.claims.iter().enumerate().filter(|(_, of)| is_meant(of));
            self.claims.extend(meant.map(|(claim, _)| (number, claim)));
        };
        for (index, figure) in paper.figures.iter().enumerate() {
            // `002/fig8` has the parts fig8-10 and fig8-100.
            let name = figure_name(paper, figure);
            let rest = name.split_at_checked(word.len());
            let rest = rest.filter(|(start, _)| start.eq_ignore_ascii_case(word));
            if rest.is_some_and(|(_, rest)| rest.is_empty() || is_part(rest)) {
                self.figures.insert((number, index));
                add_claims(&|of| figure.claims.contains(&of.id));
            }
        }
        for table in tables(paper).filter(|of| table_name(paper, of).is_some_and(is(word))) {
            self.tables.insert((number, table.to_owned()));
            add_claims(&|of| of.source.split(", ").any(|place| place == table));
        }
        add_claims(&|of| of.id.eq_ignore_ascii_case(word));
    }
}

fn is(word: &str) -> impl Fn(String) -> bool {
    move |name| name.eq_ignore_ascii_case(word)
}

/// Whether this is what the name of a part of a figure has behind that of the figure: `-100`, `a`.
fn is_part(rest: &str) -> bool {
    rest.starts_with('-') || rest.len() == 1 && rest.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Whether the word selects something that is already selected.
fn is_known(papers: &[Paper], word: &str) -> bool {
    let is_id = |of: &Claim| of.id.eq_ignore_ascii_case(word);
    names(papers).into_iter().any(is(word)) || papers.iter().any(|p| p.claims.iter().any(is_id))
}

/// What may be meant by an unknown word: claims of the paper that it names, else what has no claim.
fn names_like(papers: &[Paper], word: &str) -> Vec<String> {
    let is_of =
        |paper: &&Paper| word.strip_prefix(&paper.number).is_some_and(|of| of.starts_with('-'));
    match papers.iter().find(is_of) {
        Some(paper) => paper.claims.iter().map(|claim| claim.id.clone()).collect(),
        None => names(papers),
    }
}

/// What can be selected, without single claims.
fn names(papers: &[Paper]) -> Vec<String> {
    let of = |paper: &Paper| {
        let figures = paper.figures.iter().map(|figure| figure_name(paper, figure));
        let tables = tables(paper).filter_map(|table| table_name(paper, table));
        [paper.number.clone()].into_iter().chain(figures).chain(tables).collect::<Vec<String>>()
    };
    ["all".to_owned()].into_iter().chain(papers.iter().flat_map(of)).collect()
}

/// `Table 4`: the sources of the numbers that a paper states, each once.
fn tables(paper: &Paper) -> impl Iterator<Item = &str> {
    paper.numbers.iter().map(|of| of.source.as_str()).collect::<BTreeSet<_>>().into_iter()
}

/// `002/fig8`.
pub fn figure_name(paper: &Paper, figure: &Figure) -> String {
    format!("{}/{}", paper.number, figure.id)
}

/// `000/table4` of `Table 4`; `None` of a source that is no table.
pub fn table_name(paper: &Paper, source: &str) -> Option<String> {
    let number = source.strip_prefix("Table ").filter(|number| !number.contains(' '))?;
    Some(format!("{}/table{number}", paper.number))
}
