//! From the bytes of a file to a `Tree`: byte order marks, JavaScript wrappers, positions.
//!
//! Files may have the form `callback({...});` or `var har = {...}`, or begin with `)]}',`. Text
//! before the first brace is read as blanks, so that the lines and columns of messages are right.

use super::tree::{Keep, Tree};
use serde::de::DeserializeSeed;
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::io::{self, BufReader, Read};

/// Largest prefix before the document, in bytes.
const LONGEST_WRAPPER: usize = 1024;
/// Largest file of a page, in bytes.
const LARGEST: u64 = 1 << 30;

/// A document.
pub(super) struct Document {
    pub tree: Tree,
    /// SHA-256 of the file.
    pub digest: [u8; 32],
    /// Whether it had a JavaScript wrapper.
    pub wrapped: bool,
}

/// Problem and remedy.
pub(super) type Fault = (String, String);

/// Reads a document from `source`.
pub(super) fn read(source: impl Read) -> Result<Document, Fault> {
    let mut source = BufReader::with_capacity(1 << 16, Hashed::new(source));
    let (start, wrapped) = skip_wrapper(&mut source)?;
    let mut whole = io::Cursor::new(start).chain(&mut source);
    let kept = Cell::new(0);
    let mut json = serde_json::Deserializer::from_reader(&mut whole);
    let tree = Keep::new(&kept).deserialize(&mut json).map_err(|error| not_json(&error))?;
    drop(json);
    check_end(whole)?;
    Ok(Document { tree, digest: source.into_inner().digest(), wrapped })
}

/// The beginning of the file up to and including the first brace or bracket, with the prefix
/// replaced by blanks.
fn skip_wrapper(source: &mut impl Read) -> Result<(Vec<u8>, bool), Fault> {
    let mut start = Vec::new();
    let mut byte = [0];
    loop {
        if source.read(&mut byte).map_err(unreadable)? == 0 {
            return Err(no_document(&start));
        }
        // `)]}'` prevents execution as a script; its brackets do not open a document.
        if byte[0] == b'{' || byte[0] == b'[' {
            break;
        }
        start.push(byte[0]);
        if start.len() > LONGEST_WRAPPER {
            return Err(no_document(&start));
        }
    }
    let text = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&start);
    let wrapper = text.trim_ascii();
    if !is_wrapper(wrapper) {
        return Err(no_document(&start));
    }
    let wrapped = !wrapper.is_empty();
    start.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    start.push(byte[0]);
    Ok((start, wrapped))
}

/// Whether this is a valid prefix of JSON: a call, an assignment, or a guard.
fn is_wrapper(text: &[u8]) -> bool {
    let ends_well = text.last().is_none_or(|last| b"(=,'".contains(last));
    ends_well && text.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// First bytes of encrypted files: OpenPGP in text and binary (RFC 9580 s6.2, s4.2: packets of
/// encrypted session keys), OpenSSL, age, S/MIME in text.
const ENCRYPTED: [&[u8]; 8] = [
    b"-----BEGIN",
    b"\x84",
    b"\x85",
    b"\x8C",
    b"\xC1",
    b"\xC3",
    b"Salted__",
    b"age-encryption.org",
];

fn no_document(start: &[u8]) -> Fault {
    let (problem, help) = match start {
        [] => ("the file is empty", "give a HAR file or a dependency graph"),
        [0x1F, 0x8B, ..] => ("the file is compressed", "unpack it first: `gunzip`"),
        [b'P', b'K', 3, 4, ..] => ("the file is an archive", "unpack it first: `unzip`"),
        start if ENCRYPTED.iter().any(|mark| start.starts_with(mark)) => {
            ("the file is encrypted", "decrypt it first, as `gpg --decrypt` does, or save it plain")
        }
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => (
            "the file is not in UTF-8 but in UTF-16",
            "save it as UTF-8: `iconv -f UTF-16 -t UTF-8`",
        ),
        [b'<', ..] => {
            ("the file is HTML or XML, not JSON", "save the network log of the page as HAR")
        }
        _ => ("the file is not JSON", "give a HAR file, as browsers' developer tools save it"),
    };
    (problem.to_owned(), help.to_owned())
}

fn not_json(error: &serde_json::Error) -> Fault {
    use serde_json::error::Category;
    let help = match error.classify() {
        Category::Eof => "it ends too early: save it again",
        Category::Io => "check the file; files above 1 GiB are refused",
        Category::Syntax | Category::Data => "correct it there, or save it again",
    };
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    (format!("line {line}, column {column}: {what}"), help.to_owned())
}

/// Checks that only the end of a wrapper follows.
fn check_end(rest: impl Read) -> Result<(), Fault> {
    for byte in BufReader::new(rest).bytes() {
        let byte = byte.map_err(unreadable)?;
        if !byte.is_ascii_whitespace() && !b");".contains(&byte) {
            let help = "keep one document per file";
            return Err(("something follows the end of the page".to_owned(), help.to_owned()));
        }
    }
    Ok(())
}

fn unreadable(error: io::Error) -> Fault {
    (format!("the file cannot be read: {error}"), "check the name of the file".to_owned())
}

/// A source that hashes the bytes read and limits their number.
struct Hashed<R> {
    source: io::Take<R>,
    hash: Sha256,
}

impl<R: Read> Hashed<R> {
    fn new(source: R) -> Self {
        Hashed { source: source.take(LARGEST + 1), hash: Sha256::new() }
    }

    fn digest(self) -> [u8; 32] {
        self.hash.finalize().into()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.hash.update(&buffer[..read]);
        if self.source.limit() == 0 {
            return Err(io::Error::other("the file is larger than 1 GiB"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(bytes: &[u8]) -> String {
        read(bytes).err().map(|(problem, help)| format!("{problem} / {help}")).unwrap_or_default()
    }

    #[test]
    fn plain_marked_and_wrapped_documents_are_the_same() {
        let plain = r#"{"log": {"version": "1.2"}}"#;
        let expected = read(plain.as_bytes()).ok().map(|document| document.tree);
        for (before, after, wrapped) in [
            ("\u{feff}", "\r\n", false),
            ("\n \t", "\n", false),
            ("onInputData(", ");\n", true),
            ("var har =\n", ";", true),
            (")]}',\n", "", true),
            ("\u{feff}page.har = ", " ; ", true),
        ] {
            let document = read(format!("{before}{plain}{after}").as_bytes()).ok();
            let document = document.unwrap_or_else(|| panic!("{before:?} is accepted"));
            assert_eq!(Some(document.tree), expected, "{before:?}");
            assert_eq!(document.wrapped, wrapped, "{before:?}");
        }
    }

    #[test]
    fn what_is_no_document_is_named() {
        for (bytes, expected) in [
            (&b""[..], "is empty"),
            (b"\x1f\x8b\x08\0{", "gunzip"),
            (b"PK\x03\x04{}", "unzip"),
            (b"\xff\xfe{\0", "UTF-16"),
            (b"-----BEGIN PGP MESSAGE-----\n\nhQEMA{", "is encrypted / decrypt it first"),
            (b"\x85\x01\x0c\x03{", "is encrypted"),
            (b"Salted__\x01\x02{", "is encrypted"),
            (b"age-encryption.org/v1\n-> X25519 {", "is encrypted"),
            (b"<html>{}", "HTML"),
            (b"1 2 3\n4 5 6", "is not JSON"),
            (b"Dear all {", "is not JSON"),
            (b"{}{}", "something follows"),
        ] {
            let found = problem(bytes);
            assert!(found.contains(expected), "{bytes:?}: {found}");
        }
    }

    #[test]
    fn faults_of_syntax_have_their_place() {
        let found = problem(b"f(\n{\"log\":\n  {\"version\" 1}})");
        assert!(found.starts_with("line 3, column 14: expected `:`"), "{found}");
        let found = problem(b"{\"log\": {");
        assert!(found.contains("ends too early"), "{found}");
    }
}
