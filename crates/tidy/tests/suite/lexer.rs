//! Enough of Rust's lexical structure to count braces and find words: comments and literals are
//! blanked, functions and modules found by their keywords.

/// `text` with comments and the insides of literals replaced by blanks, line for line.
pub(crate) fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let len = blanked_len(rest, before);
        let (taken, next) = rest.split_at(len.max(first.len_utf8()));
        if len == 0 {
            out.push(first);
        } else {
            out.extend(taken.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        before = first;
        rest = next;
    }
    out
}

/// How many bytes at the start of `text` are a comment or a literal; `before` stands before them.
fn blanked_len(text: &str, before: char) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment_len(text);
    }
    if let Some(inside) = text.strip_prefix('"') {
        return 1 + quoted_len(inside, '"');
    }
    if text.starts_with('r') && !is_word(before) || text.starts_with("br") && !is_word(before) {
        let marks = text.trim_start_matches(['b', 'r']);
        let hashes = marks.len() - marks.trim_start_matches('#').len();
        if marks[hashes..].starts_with('"') {
            let start = text.len() - marks.len() + hashes + 1;
            let end = format!("\"{}", "#".repeat(hashes));
            return text[start..].find(&end).map_or(text.len(), |at| start + at + end.len());
        }
    }
    if text.starts_with('\'') { char_len(text) } else { 0 }
}

fn block_comment_len(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// To behind the closing quote.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A character literal; 0 for a lifetime.
fn char_len(text: &str) -> usize {
    let mut chars = text[1..].chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => 1 + quoted_len(&text[1..], '\''),
        _ => 0,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Byte offsets of the word `word` in blanked code.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        !code[..*at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word)
    })
}

/// The line of an offset, from 0.
fn line_of(code: &str, offset: usize) -> usize {
    code[..offset].matches('\n').count()
}

/// The offset of the bracket that closes the one at `open`.
fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + at);
        }
    }
    None
}

/// Where the body that belongs to the signature at `from` opens; `None` if there is no body.
fn body(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code[from..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ';' if depth == 0 => return None,
            '{' if depth == 0 => return Some(from + at),
            _ => {}
        }
    }
    None
}

/// First and last line of every function with a body, from 0, in blanked code.
pub(crate) fn functions(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let named =
            code[at + 2..].trim_start().starts_with(|c: char| c == '_' || c.is_alphabetic());
        if named
            && let Some(open) = body(code, at)
            && let Some(end) = closing(code, open)
        {
            found.push((line_of(code, at), line_of(code, end)));
        }
    }
    found
}

/// First and last line of every `#[cfg(test)] mod name { ... }`, from 0.
pub(crate) fn test_modules(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for at in words(code, "mod").filter(|at| is_behind_test(code, *at)) {
        if let Some(open) = body(code, at)
            && let Some(end) = closing(code, open)
        {
            found.push((line_of(code, at), line_of(code, end)));
        }
    }
    for at in words(code, "test").filter(|at| code[..*at].ends_with("#[")) {
        // A test function outside of any module.
        let end = body(code, at + "test]".len()).and_then(|open| closing(code, open));
        found.extend(end.map(|end| (line_of(code, at), line_of(code, end))));
    }
    found
}

/// The modules in files of their own that code declares, and whether only for tests.
pub(crate) fn modules(code: &str) -> Vec<(&str, bool)> {
    let declared = |at: usize| {
        let rest = code[at + 3..].trim_start();
        let name = &rest[..rest.find(|c| !is_word(c))?];
        rest[name.len()..].trim_start().starts_with(';').then(|| (name, is_behind_test(code, at)))
    };
    words(code, "mod").filter_map(declared).collect()
}

/// Whether `#[cfg(test)]` stands before the item whose keyword is at `at`.
fn is_behind_test(code: &str, at: usize) -> bool {
    let start = code[..at].rfind([';', '{', '}']).map_or(0, |at| at + 1);
    code[start..at].contains("#[cfg(test)]")
}

#[test]
fn comments_and_literals_are_blanked_and_lines_kept() {
    let code = blank("let a = \"{ // \\\" }\"; // {\nlet b = '{'; /* { /* */\n { */ fn f<'a>() {}");
    assert_eq!(code.lines().count(), 3);
    assert!(code.contains("fn f<'a>() {}"));
    assert_eq!(code.matches('{').count(), 1);
    assert!(!blank("r#\"a \" { \"#; b\"{\"; br\"{\"; '\\''").contains('{'));
}

#[test]
fn functions_reach_to_their_closing_brace() {
    let code =
        "fn f(a: [u8; 2]) -> u8\nwhere\n{\n  g(|| { 1 })\n}\ntrait T { fn h(); }\ntype F = fn();";
    assert_eq!(functions(code), [(0, 4)]);
}

#[test]
fn modules_are_found_with_their_condition() {
    let code = "mod a;\npub mod b;\n#[cfg(test)]\nmod c;\n#[cfg(test)]\nmod d {\n fn f() {}\n}";
    assert_eq!(modules(code), [("a", false), ("b", false), ("c", true)]);
    assert_eq!(test_modules(code), [(5, 7)]);
}
