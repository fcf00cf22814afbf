//! Payload that is changed on the way: seen by TCP's application, found by DSS checksums
//! (RFC 8684 s3.3.1, s3.7).

use crate::world::{DOWNLOAD, Run, Seen, UPLOAD};
use network::middlebox::{MiddleBoxConfig, Way};
use traffic::StreamMismatch;
use wire::Payload;

/// Where the stream is changed: in the first segment, and in the middle.
const PLACES: [u64; 2] = [5, 300_003];
/// A place that both paths are in use at.
const LATE: u64 = 1_000_000;
/// What eight bytes are replaced by: as many, more, fewer.
const REPLACEMENTS: [&[u8]; 3] = [&[0; 8], &[0; 12], &[0; 3]];

/// Replaces eight bytes of a download.
fn rewriter(at: u64, replace: &[u8]) -> MiddleBoxConfig {
    let find = Payload::virtual_range(DOWNLOAD, at, 8).to_bytes().to_vec();
    MiddleBoxConfig::RewritePayload { way: Way::Inward, find, replace: replace.to_vec() }
}

/// The same of an upload.
fn rewriter_up(at: u64, replace: &[u8]) -> MiddleBoxConfig {
    let find = Payload::virtual_range(UPLOAD, at, 8).to_bytes().to_vec();
    MiddleBoxConfig::RewritePayload { way: Way::Outward, find, replace: replace.to_vec() }
}

/// The application got everything up to `at`, and then other bytes.
fn assert_changed(seen: &Seen, at: u64) {
    let found = matches!(seen.mismatch(), Some(StreamMismatch::Content { offset, .. })
        if offset == at);
    assert!(found && seen.bytes_read() <= at, "{seen:#?}");
}

#[test]
fn tcp_hands_changed_bytes_to_the_application() {
    for at in PLACES {
        for replace in REPLACEMENTS {
            assert_changed(&Run::tcp().behind(0, rewriter(at, replace)).go(), at);
            assert_changed(&Run::tcp().upload().behind(0, rewriter_up(at, replace)).go(), at);
        }
    }
}

#[test]
fn without_checksums_changed_bytes_are_not_found() {
    for at in PLACES {
        for replace in REPLACEMENTS {
            let seen = Run::mptcp(1).behind(0, rewriter(at, replace)).go();
            assert_changed(&seen, at);
            let seen = Run::mptcp(1).upload().behind(0, rewriter_up(at, replace)).go();
            assert_changed(&seen, at);
        }
    }
}

#[test]
fn wrong_checksum_on_the_only_subflow_makes_it_tcp() {
    for at in PLACES {
        for replace in REPLACEMENTS {
            let down = Run::with_checksums(1).behind(0, rewriter(at, replace)).go();
            let up = Run::with_checksums(1).upload().behind(0, rewriter_up(at, replace)).go();
            for seen in [down, up] {
                // From here on the stream is TCP's, with what that means for its bytes.
                seen.assert_fallback(true);
                assert_changed(&seen, at);
            }
        }
    }
}

#[test]
fn wrong_checksum_beside_another_subflow_resets_and_sends_elsewhere() {
    for replace in REPLACEMENTS {
        // The scheduler chooses the path of a byte: one of several rewritten places passes the box.
        let met = |upload: bool| {
            (0..8).any(|step| {
                let at = LATE + step * 77_003;
                let run = Run::with_checksums(2);
                let seen = match upload {
                    false => run.behind(0, rewriter(at, replace)).go(),
                    true => run.upload().behind(0, rewriter_up(at, replace)).go(),
                };
                seen.assert_complete().assert_fallback(false).assert_used(1, true);
                seen.refused() > 0
            })
        };
        assert!(met(false), "a download meets the box on path 0");
        assert!(met(true), "an upload meets the box on path 0");
    }
}

#[test]
fn no_changed_byte_is_read_where_every_path_changes_them() {
    for replace in REPLACEMENTS {
        let boxed = |run: Run| {
            run.behind(0, rewriter(LATE, replace)).behind(1, rewriter(LATE, replace)).go()
        };
        let seen = boxed(Run::with_checksums(2));
        seen.assert_honest().assert_fallback(false);
        assert!(seen.bytes_read() <= LATE, "{seen:#?}");
    }
}

#[test]
fn wrong_checksum_while_a_join_begins_corrupts_and_hangs_nothing() {
    for replace in REPLACEMENTS {
        let seen = Run::with_checksums(2).behind(0, rewriter(5, replace)).go();
        if seen.mismatch().is_some() {
            seen.assert_fallback(true);
        } else {
            seen.assert_honest();
        }
    }
}

#[test]
fn bytes_that_no_box_looks_for_arrive() {
    let nothing = MiddleBoxConfig::RewritePayload {
        way: Way::Inward,
        find: b"no such bytes in the stream".to_vec(),
        replace: Vec::new(),
    };
    for run in [Run::tcp(), Run::mptcp(2), Run::with_checksums(2)] {
        run.lossy(0.01).behind(0, nothing.clone()).go().assert_complete();
    }
}
