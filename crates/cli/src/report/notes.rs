//! Notes below the result, grouped by kind and counted; many are collapsed.

use super::Sheet;
use super::page::{Page, escaped};

/// Largest number of notes that are open by default.
const MOST_OPEN: usize = 4;

/// The notes of the inputs and of the result.
pub(super) fn notes(page: &mut Page, sheet: &Sheet<'_>) {
    let mut notes: Vec<String> = sheet.scenario.notes.clone();
    if sheet.repetition.is_none() {
        notes.extend(crate::table::remarks(sheet.scenario, sheet.report));
    }
    let groups = grouped(&notes);
    if groups.is_empty() {
        return;
    }
    let open = if notes.len() > MOST_OPEN { "" } else { " open" };
    page.line(&format!("<details id=\"notes\"{open}><summary>{}</summary>", counted(&groups)));
    for (kind, notes) in &groups {
        if groups.len() > 1 {
            page.line(&format!("<h3>On {kind}</h3>"));
        }
        let items = notes.iter().map(|note| format!("<li>{}</li>", escaped(note)));
        page.line(&format!("<ul class=\"small\">{}</ul>", items.collect::<String>()));
    }
    page.line("</details>");
}

/// `12 notes: 8 on paths, 4 on outliers`.
fn counted(groups: &[(&str, Vec<&str>)]) -> String {
    let count: usize = groups.iter().map(|(_, notes)| notes.len()).sum();
    let plural = if count == 1 { "" } else { "s" };
    let kinds = groups.iter().map(|(kind, notes)| match groups.len() {
        1 => format!("on {kind}"),
        _ => format!("{} on {kind}", notes.len()),
    });
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let colon = if groups.len() > 1 { ":" } else { "" };
    format!("{count} note{plural}{colon} {kinds}")
}

/// The notes by kind, in the order of the kinds' first notes.
fn grouped(notes: &[String]) -> Vec<(&'static str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for note in notes {
        let kind = kind(note);
        match groups.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, group)) => group.push(note),
            None => groups.push((kind, vec![note])),
        }
    }
    groups
}

/// What a note is about.
fn kind(note: &str) -> &'static str {
    let starts = |word: &str| note.starts_with(word);
    if starts("path ") || starts("link ") {
        "paths"
    } else if starts("flow ") {
        "competing flows"
    } else if starts("page: ") || starts("page ") {
        "the page"
    } else if note.contains(" outliers: ") {
        "outliers"
    } else if note.contains("did not finish") {
        "incomplete runs"
    } else if starts("ended after ") {
        "the number of runs"
    } else {
        "the comparison"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_counted_by_kind() {
        let notes = [
            "path `a`: the uplink follows the same recording",
            "skipped `lia` with tcp: it couples several paths",
            "path `b`: the uplink follows the same recording",
            "tcp/a/cubic has outliers: the interval of its mean may be too narrow",
        ];
        let notes = notes.map(str::to_owned);
        let groups = grouped(&notes);
        assert_eq!(counted(&groups), "4 notes: 2 on paths, 1 on the comparison, 1 on outliers");
        assert_eq!(groups[0].1.len(), 2);
        assert_eq!(counted(&grouped(&notes[..1])), "1 note on paths");
    }
}
