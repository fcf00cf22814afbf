//! The nearest valid word to a misspelt one, and counts of things, for messages; digests as text.
//!
//! Callers word the rest of the message.

/// Words longer than this are not compared: they are not typing errors, and the cost of a
/// comparison is quadratic in their length.
const LONGEST: usize = 64;

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The candidate nearest to `word`, if it is near enough to be intended.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    if length == 0 || length > LONGEST {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            let longest = length.max(candidate.chars().count());
            *distance <= 1.max(longest / 3) && *distance < longest
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The sentence that names the nearest word and all valid ones.
pub fn nearest_help(word: &str, candidates: &[&str]) -> String {
    let all = candidates.join(", ");
    match nearest(word, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? Valid are: {all}"),
        None => format!("valid are: {all}"),
    }
}

/// `1 weight`, `2 weights`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// `there is 1 path`, `there are 2 paths`.
pub(crate) fn there_are(paths: usize) -> String {
    let verb = if paths == 1 { "is" } else { "are" };
    format!("there {verb} {}", counted(paths, "path"))
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().take(2 * LONGEST).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substituted.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("delay", "delay"), 0);
        assert_eq!(distance("dealy", "delay"), 1, "a swap is one edit");
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn misspelt_word_finds_its_neighbour() {
        let words = ["rate", "delay", "loss", "limit", "trace"];
        assert_eq!(nearest("dellay", words), Some("delay"));
        assert_eq!(nearest("RATE", words), Some("rate"));
        assert_eq!(nearest("los", words), Some("loss"));
    }

    #[test]
    fn unlike_word_finds_nothing() {
        assert_eq!(nearest("bandwidth", ["rate", "delay"]), None);
        assert_eq!(nearest("", ["rate"]), None);
        assert_eq!(nearest(&"x".repeat(100_000), ["rate"]), None);
        assert_eq!(nearest("q", ["s", "ms"]), None, "nothing in common is not near");
    }
}
