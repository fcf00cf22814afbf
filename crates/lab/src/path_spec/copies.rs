//! Other places of recordings that are gone.

use super::items::{Kind, items};
use super::trace_file::{absolute, located};
use super::unquoted;
use crate::built_in;
use crate::error::Given;
use std::path::Path;

/// The same description, `NAME=spec` if it `is_whole`, with absolute names of recordings; `None`
/// unless one of them does not exist and `find` has another place for it.
pub(crate) fn with_copies(
    given: &Given,
    is_whole: bool,
    find: &mut impl FnMut(&Path) -> Option<String>,
) -> Option<Given> {
    let text = given.text.as_str();
    let spec = if is_whole { text.split_once('=')?.1 } else { text };
    let (spec, offset) = unquoted(spec, text.len() - spec.len());
    let items = items(spec).ok()?;
    let (mut changed, mut found) = (text.to_owned(), false);
    for item in items.iter().rev() {
        let Kind::Trace { file, file_span, .. } = &item.kind else { continue };
        let place = located(given.folder(), file);
        let is_there = built_in::trace(file).is_some() || place.exists();
        let copy = if is_there { None } else { find(&place) };
        found |= copy.is_some();
        let name = copy.unwrap_or_else(|| absolute(given.folder(), file));
        let span = file_span.start + offset..file_span.end + offset;
        changed.replace_range(span, &format!("\"{name}\""));
    }
    found.then(|| Given::argument("--path", &changed))
}
