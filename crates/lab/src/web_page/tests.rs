//! Pages from text: dependencies, sizes, corrections, errors, and mutated recordings.

use super::document::Document;
use super::*;
use base::Duration;
use proptest::prelude::*;
use std::fmt::Write;
use traffic::web::{Action, Activity, Object, Trigger, View, Wait};

fn parse(text: &str) -> Result<(Page, Vec<String>), Fault> {
    let document: Document = document::read(text.as_bytes())?;
    understood("page", &document, Views::First).map(|found| (found.page, found.notes))
}

fn page(text: &str) -> Page {
    parse(text).unwrap_or_else(|fault| panic!("{fault:?}\n{text}")).0
}

fn notes(text: &str) -> String {
    parse(text).unwrap_or_else(|fault| panic!("{fault:?}\n{text}")).1.join("; ")
}

fn problem(text: &str) -> String {
    parse(text).err().map(|(problem, _)| problem).unwrap_or_default()
}

/// An entry of a HAR file that begins at `start` ms, waits, and receives, with the fields `more`.
fn entry(url: &str, start: u32, wait: u32, receive: u32, bytes: i64, more: &str) -> String {
    let (seconds, millis, time) = (start / 1000, start % 1000, wait + receive);
    format!(
        r#"{{"startedDateTime": "2024-05-01T10:00:{seconds:02}.{millis:03}Z", "time": {time},
        "request": {{"method": "GET", "url": "http://a.org/{url}", "headersSize": 200,
                     "bodySize": 0}},
        "response": {{"status": 200, "headersSize": 100, "bodySize": {bytes},
                      "content": {{"size": {bytes}}}}},
        "timings": {{"send": 0, "wait": {wait}, "receive": {receive}}}{more}}}"#
    )
}

fn har(entries: &[String]) -> String {
    format!(r#"{{"log": {{"version": "1.2", "entries": [{}]}}}}"#, entries.join(","))
}

fn by(url: &str) -> String {
    format!(r#", "_initiator": {{"type": "parser", "url": "http://a.org/{url}"}}"#)
}

fn wait(on: u32, event: Trigger, millis: u64) -> Wait {
    Wait { on, event, delay: Duration::from_millis(millis) }
}

fn waits(page: &Page, activity: usize) -> &[Wait] {
    &page.activities()[activity].waits
}

/// A page of a document received from 100 to 200, a script it asked for in the middle, images.
fn recorded() -> String {
    har(&[
        entry("", 0, 100, 100, 50_000, ""),
        entry("a.js", 150, 40, 60, 20_000, &by("")),
        // Asked for by the document 60 after the script had ended, 110 after the document.
        entry("b.png", 310, 30, 10, 5_000, &by("")),
        // Asked for by the script, 5 after its end; that is also 5 after the last script's end.
        entry("c.json", 255, 30, 10, 300, &by("a.js")),
    ])
}

#[test]
fn waits_follow_the_rule() {
    let page = page(&recorded());
    // In start order: document, script, data, image.
    assert_eq!(waits(&page, 0), []);
    assert_eq!(waits(&page, 1), [wait(0, Trigger::Received { ppm: 500_000 }, 0)]);
    assert_eq!(waits(&page, 2), [wait(1, Trigger::End, 5)]);
    assert_eq!(waits(&page, 3), [wait(0, Trigger::End, 0), wait(1, Trigger::End, 60)]);
    assert_eq!(page.objects()[2].label, "http://a.org/c.json");
}

#[test]
fn sizes_are_head_and_body_and_thinking_is_beyond_a_round_trip() {
    let connect = r#", "timings": {"connect": 25, "ssl": -1, "wait": 70, "receive": 5}"#;
    let page = page(&har(&[
        entry("", 0, 100, 100, 50_000, ""),
        entry("b.png", 300, 30, 10, 5_000, connect),
    ]));
    let [document, image] = page.objects() else { panic!("two objects") };
    assert_eq!((document.request_bytes, document.response_bytes), (200, 50_100));
    // A handshake took 25 ms, so of 100 and 70 ms the server used 75 and 45.
    assert_eq!(document.think, Duration::from_millis(75));
    assert_eq!(image.think, Duration::from_millis(45));
    assert_eq!((document.urgency, image.urgency), (3, 5));
}

/// Regression: `ssl` was subtracted from `connect` for Firefox, too, whose `connect` is TCP only:
/// 20 and 19 ms became a round trip of 1 ms.
#[test]
fn tls_handshake_is_within_or_beside_connect_as_the_sum_of_the_file_shows() {
    let think = |time: u32, connect: u32, ssl: u32| {
        let timings = format!(
            r#", "time": {time}, "timings": {{"blocked": 0, "dns": -1, "connect": {connect},
                 "ssl": {ssl}, "send": 0, "wait": 22, "receive": 5}}"#
        );
        let page = page(&har(&[entry("", 0, 22, 5, 9_000, &timings)]));
        page.objects()[0].think
    };
    let expected = Duration::from_millis(2);
    assert_eq!(think(67, 40, 20), expected, "Chrome");
    for ssl in 18..23 {
        assert_eq!(think(47 + ssl, 20, ssl), expected, "Firefox, {ssl}");
        assert_eq!(think(46 + ssl, 20, ssl), expected, "Firefox with the -1 of `dns`, {ssl}");
    }
}

/// Regression: the round trip of files of Playwright had the TLS handshake, too, and every response
/// with one ended too late.
#[test]
fn tls_handshake_that_a_file_counts_twice_is_taken_out() {
    let first = |connect: u32, ssl: u32| {
        let time = connect + ssl + 62;
        format!(
            r#", "time": {time}, "timings": {{"dns": 0, "connect": {connect}, "ssl": {ssl},
                 "send": 0, "wait": 42, "receive": 20}}"#
        )
    };
    let file = |connect: u32, ssl: u32| {
        let page = entry("", 0, 42, 20, 9_000, &first(connect, ssl));
        // 5 ms after the end of the first one.
        let next = entry("next", connect + 67, 42, 5, 900, "");
        let creator = r#""creator": {"name": "Playwright"}, "version""#;
        har(&[page, next]).replace(r#""version""#, creator)
    };
    // Without TLS, `ssl` counts from -1, here to 61 ms.
    for (connect, ssl, tls) in [(40, 20, ", with `--tls 1.3`"), (20, 61, "")] {
        let text = file(connect, ssl);
        let page = page(&text);
        assert_eq!(page.objects()[0].think, Duration::from_millis(22), "{ssl}");
        assert_eq!(waits(&page, 1), [wait(0, Trigger::End, 5)], "{ssl}");
        let said = notes(&text);
        assert!(said.ends_with(&format!("delay 10.0ms`{tls}")), "{said}");
    }
}

/// Regression: of the priorities only the spelling of Chromium was read.
#[test]
fn priorities_are_read_as_every_browser_writes_them() {
    for (name, urgency) in
        [("High", 1), ("high", 1), ("low", 5), ("LOWEST", 6), ("medium", 3), ("other", 3)]
    {
        let more = format!(r#", "_priority": "{name}""#);
        let page = page(&har(&[entry("", 0, 22, 5, 9_000, &more)]));
        assert_eq!(page.objects()[0].urgency, urgency, "{name}");
    }
}

#[test]
fn without_initiators_the_last_response_that_can_ask_is_the_cause() {
    let page = page(&har(&[
        entry("index.html", 0, 50, 50, 10_000, ""),
        entry("a.css", 60, 30, 20, 1_000, ""),
        entry("b.png", 61, 200, 100, 9_000, ""),
        entry("c.js", 120, 30, 20, 1_000, ""),
        entry("d.png", 400, 30, 10, 1_000, ""),
    ]));
    // 60 and 61 are a fifth of the way through the document.
    assert_eq!(waits(&page, 1), [wait(0, Trigger::Received { ppm: 200_000 }, 0)]);
    assert_eq!(waits(&page, 2), [wait(0, Trigger::Received { ppm: 220_000 }, 0)]);
    // The style sheet ended at 110, the document at 100.
    assert_eq!(waits(&page, 3), [wait(1, Trigger::End, 10)]);
    // The image of 361 is not an initiator: the script of 170 is.
    assert_eq!(waits(&page, 4), [wait(3, Trigger::End, 230)]);
}

/// Regression: the document of a redirect was taken for that of the page, and what begins while the
/// page is received waited for the redirect only.
#[test]
fn document_of_a_redirect_is_not_the_page() {
    let moved = r#", "response": {"status": 301, "redirectURL": "/start", "headersSize": 150,
        "bodySize": 0, "content": {"size": 0, "mimeType": "text/html"}}"#;
    let page = page(&har(&[
        entry("", 0, 40, 0, 0, moved),
        entry("start.html", 40, 60, 100, 50_000, ""),
        entry("a.css", 150, 40, 20, 1_000, ""),
    ]));
    assert_eq!(waits(&page, 2), [wait(1, Trigger::Received { ppm: 500_000 }, 0)]);
}

#[test]
fn redirects_lead_to_their_target() {
    let moved = |to: &str| {
        format!(
            r#", "response": {{"status": 302, "redirectURL": "{to}", "headersSize": 150,
                              "bodySize": 0}}"#
        )
    };
    let page = page(&har(&[
        entry("", 0, 40, 0, 0, &moved("/start#top")),
        entry("start", 43, 40, 20, 8_000, ""),
        entry("c.gif", 110, 40, 0, 0, &(by("start") + &moved("http://A.org:80/d.gif"))),
        entry("d.gif", 150, 40, 0, 43, &by("start")),
    ]));
    assert_eq!(waits(&page, 1), [wait(0, Trigger::End, 3)]);
    assert_eq!(waits(&page, 2), [wait(1, Trigger::End, 7)]);
    assert_eq!(waits(&page, 3), [wait(2, Trigger::End, 0)]);
    assert_eq!(page.objects()[0].response_bytes, 150);
}

#[test]
fn initiators_of_every_form_are_understood() {
    let text = r#", "_initiator": "http://a.org/""#;
    let stack = r#", "_initiator": {"type": "script", "stack": {"callFrames": [],
        "parent": {"callFrames": [{"url": "http://a.org/?cut"}]}}}"#;
    let nonsense = r#", "_initiator": [7]"#;
    let page = page(&har(&[
        entry("", 0, 40, 0, 1_000, ""),
        entry("x.png", 50, 10, 0, 10, ""),
        entry("1.png", 70, 10, 0, 10, text),
        entry("2.png", 70, 10, 0, 10, stack),
        entry("3.png", 70, 10, 0, 10, nonsense),
    ]));
    for activity in 2..5 {
        assert_eq!(waits(&page, activity), [wait(0, Trigger::End, 30)], "{activity}");
    }
}

#[test]
fn what_began_before_any_response_waits_for_the_start() {
    let page = page(&har(&[
        entry("", 0, 100, 100, 50_000, ""),
        entry("hint.css", 30, 40, 60, 20_000, &by("")),
        entry("other.css", 40, 40, 60, 20_000, ""),
    ]));
    assert_eq!(waits(&page, 1), [wait(0, Trigger::Start, 30)]);
    assert_eq!(waits(&page, 2), [wait(0, Trigger::Start, 40)]);
}

#[test]
fn entries_after_the_load_event_do_not_count() {
    let entries = [entry("", 500, 40, 0, 1_000, ""), entry("late.js", 900, 9, 0, 9, "")].join(",");
    let text = format!(
        r#"{{"log": {{"pages": [{{"id": "p", "startedDateTime": "2024-05-01T10:00:00.400Z",
        "pageTimings": {{"onLoad": 300}}}}], "entries": [{entries}]}}}}"#
    );
    let marks: Vec<bool> =
        page(&text).activities().iter().map(|activity| activity.before_load).collect();
    assert_eq!(marks, [true, false]);
    let not_recorded = text.replace("300", "-1");
    assert!(page(&not_recorded).activities().iter().all(|activity| activity.before_load));
}

#[test]
fn load_event_before_any_response_is_left_out() {
    let text = har(&[entry("", 0, 40, 0, 1_000, ""), entry("b.js", 60, 40, 0, 9, "")]).replace(
        r#""version""#,
        r#""pages": [{"id": "p", "startedDateTime": "2019-01-01T00:00Z",
                      "pageTimings": {"onLoad": 500}}], "version""#,
    );
    assert!(notes(&text).contains("before the first response"), "{}", notes(&text));
    assert!(page(&text).activities().iter().all(|activity| activity.before_load));
}

#[test]
fn content_of_what_did_not_change_is_not_fetched() {
    let unchanged = r#", "response": {"status": 304, "bodySize": 0, "content": {"size": 9000}}"#;
    let text = har(&[entry("", 0, 40, 0, 1_000, ""), entry("b.js", 60, 40, 0, 9, unchanged)]);
    assert_eq!(page(&text).objects()[1].response_bytes, har::RESPONSE_HEAD);
}

/// Regression: every page was compared with every entry, minutes for a file of some megabytes.
#[test]
fn many_pages_are_read_in_one_pass() {
    const PAGES: usize = 40_000;
    let minimal = r#"{"request": {"url": "data:,"}, "pageref": "#;
    let entries: Vec<String> = (0..PAGES).map(|n| format!(r#"{minimal}"{n}"}}"#)).collect();
    let pages: Vec<String> = (0..PAGES).map(|n| format!(r#"{{"id": "{n}"}}"#)).collect();
    let (pages, entries) = (pages.join(","), entries.join(","));
    let text = format!(
        r#"{{"log": {{"pages": [{pages}], "entries": [{}, {entries}]}}}}"#,
        entry("", 0, 40, 0, 1_000, r#", "pageref": "0""#)
    );
    assert_eq!(page(&text).objects().len(), 1);
}

/// Regression: the head of a response was added to `bodySize` in files of Firefox, too, which has
/// it there already.
#[test]
fn head_is_added_to_the_size_of_a_body_only() {
    let sizes = |sizes: [(i64, i64); 3]| {
        let of = |(body, content): (i64, i64)| {
            format!(
                r#", "response": {{"status": 200, "headersSize": 400, "bodySize": {body},
                     "content": {{"size": {content}}}}}"#
            )
        };
        let page = page(&har(&[
            entry("", 0, 40, 10, 0, &of(sizes[0])),
            entry("a.png", 60, 40, 10, 0, &of(sizes[1])),
            entry("b.gif", 60, 40, 10, 0, &of(sizes[2])),
        ]));
        page.objects().iter().map(|object| object.response_bytes).collect::<Vec<_>>()
    };
    // The document is compressed.
    assert_eq!(sizes([(9_000, 30_000), (7_000, 7_000), (43, 43)]), [9_400, 7_400, 443]);
    assert_eq!(sizes([(9_400, 30_000), (7_400, 7_000), (443, 43)]), [9_400, 7_400, 443]);
    assert_eq!(sizes([(9_000, 30_000), (7_400, 7_000), (43, 43)]), [9_400, 7_800, 443]);
}

/// Regression: Safari and Firefox name no size of what was transferred, and their cached entries
/// were fetched over the network.
#[test]
fn cached_entries_of_safari_and_firefox_are_not_fetched() {
    let safari = |fetch: &str, bytes: i64| {
        let sizes = format!(r#""bodySize": {bytes}, "content": {{"size": 50000}}"#);
        format!(r#", "_fetchType": "{fetch}", "response": {{"status": 200, {sizes}}}"#)
    };
    let fetched = page(&har(&[
        entry("", 0, 40, 10, 1_000, &safari("Network Load", 10_000)),
        entry("a.css", 60, 0, 0, 0, &safari("Memory Cache", -1)),
        entry("b.js", 61, 0, 0, 0, &safari("Disk Cache", -1)),
        entry("c.js", 62, 0, 0, 0, &safari("Service Worker", -1)),
    ]));
    assert_eq!((fetched.objects().len(), fetched.activities().len()), (1, 4));
    let firefox = r#", "response": {"status": 200, "bodySize": 0, "content": {"size": 50000}},
        "timings": {"blocked": 0, "dns": 0, "connect": 0, "ssl": 0, "send": 0, "wait": 0,
                    "receive": 0}"#;
    let fetched = page(&har(&[
        entry("", 0, 40, 10, 10_000, ""),
        entry("a.css", 60, 0, 0, 0, firefox),
        // It took time: the size is not known from the network.
        entry("b.css", 60, 0, 7, 0, &firefox.replace(r#""receive": 0"#, r#""receive": 7"#)),
    ]));
    assert_eq!((fetched.objects().len(), fetched.activities().len()), (2, 3));
}

#[test]
fn only_the_first_page_is_loaded() {
    let of = |page: &str| format!(r#", "pageref": "{page}""#);
    let entries = [
        entry("", 0, 40, 0, 1_000, &of("two")),
        entry("", 5_000, 40, 0, 1_000, &of("one")),
        entry("a.png", 5_100, 40, 0, 1_000, &of("one")),
        entry("b.png", 5_200, 40, 0, 1_000, ""),
    ];
    let text = har(&entries).replace(
        r#""version""#,
        r#""pages": [{"id": "empty"}, {"id": "one"}, {"id": "two"}], "version""#,
    );
    assert_eq!(page(&text).objects().len(), 3);
    assert!(
        notes(&text).contains("only the first, `one`, is loaded; 1 entry of the others left out"),
        "{}",
        notes(&text)
    );
}

/// Two pages, the second one two seconds after the load event of the first.
fn two_pages() -> String {
    let of = |page: &str| format!(r#", "pageref": "{page}""#);
    let entries = [
        entry("", 0, 40, 0, 1_000, &of("one")),
        entry("a.png", 60, 40, 0, 1_000, &of("one")),
        entry("next", 2_500, 40, 0, 1_000, &of("two")),
    ];
    let page = |id: &str, second: u32| {
        format!(
            r#"{{"id": "{id}", "startedDateTime": "2024-05-01T10:00:0{second}.500Z",
            "pageTimings": {{"onLoad": 500}}}}"#
        )
    };
    let pages = format!(r#""pages": [{}, {}], "version""#, page("one", 0), page("two", 2));
    har(&entries).replace(r#""version""#, &pages.replacen("00.500", "00.000", 1))
}

#[test]
fn pages_of_a_recording_follow_each_other_with_the_recorded_pause() {
    let document = document::read(two_pages().as_bytes()).unwrap();
    let found = understood("page", &document, Views::All).unwrap();
    let page = &found.page;
    assert_eq!(page.objects().len(), 3);
    assert_eq!(page.views(), [View { begin: 0, load: 3 }, View { begin: 4, load: 6 }]);
    assert_eq!(waits(page, 4), [wait(3, Trigger::End, 2_000)], "500 to 2500 ms");
    assert_eq!(waits(page, 5), [wait(4, Trigger::End, 0)]);
    assert!(found.notes.iter().any(|note| note.contains("2 pages are loaded one after the other")));
    let second = understood("page", &document, Views::Number(2)).unwrap();
    assert_eq!(second.page.objects()[0].label, "http://a.org/next");
    assert!(second.page.views().is_empty());
    let third = understood("page", &document, Views::Number(3)).err().unwrap();
    assert!(third.0.contains("page 3 was not recorded: 2 pages have entries"), "{third:?}");
}

#[test]
fn link_of_a_recording_is_read_off_its_times() {
    let timed = |start, connect: u32, ssl: u32, receive: u32, bytes: u32| {
        let timings = format!(
            r#", "timings": {{"dns": 12, "connect": {connect}, "ssl": {ssl}, "wait": 50,
            "receive": {receive}}}, "time": {}"#,
            62 + connect + receive
        );
        entry("", start, 0, 0, bytes.into(), &timings)
    };
    // Without TLS the handshakes take 20, 30 and 70 ms. The second response has 200 kB in 50 ms,
    // all of it in a window of 100 ms: 16 Mbit/s, and 250 bytes of its head.
    let text =
        har(&[timed(0, 45, 25, 10, 100), timed(200, 30, 0, 50, 200_000), timed(900, 90, 20, 5, 9)]);
    let said = notes(&text);
    assert!(said.contains("delay 15.0ms`, with `--tls 1.3`, with `--dns 12ms`"), "{said}");
    let rate = said.split("`rate ").nth(1).and_then(|rest| rest.split("kbit").next());
    let rate: f64 = rate.and_then(|rate| rate.parse().ok()).unwrap();
    assert!((16_000.0..16_100.0).contains(&rate), "{said}");
    assert!(!notes(&recorded()).contains("recorded over"), "no handshake was recorded");
    for (versions, expected) in [(["h2", "h3-Q050", "http/1.1"], true), (["h2", "x", "1.1"], false)]
    {
        let mut parts = text.split(r#""response": {"#);
        let mut text = parts.next().unwrap().to_owned();
        for (part, version) in parts.zip(versions) {
            text += &format!(r#""response": {{"httpVersion": "{version}", {part}"#);
        }
        let said = notes(&text);
        assert_eq!(said.contains("ms`, with `--http 2`, with"), expected, "{said} of {versions:?}");
    }
}

#[test]
fn odd_entries_are_mended_and_counted() {
    let ok = entry("", 0, 40, 0, 1_000, "");
    for (odd, expected, objects) in [
        (entry("x", 9, 1, 0, -94, ""), "impossible size", 2),
        (entry("x", 9, 1, 0, 1, r#", "response": {"status": 0}"#), "aborted", 1),
        (entry("x", 9, 1, 0, 1, r#", "response": {}"#), "aborted", 1),
        (
            entry("x", 9, 1, 0, -1, r#", "response": {"status": 200, "_error": "net::ERR"}"#),
            "aborted",
            1,
        ),
        (entry("x", 9, 1, 0, 1, r#", "response": {"status": 101}"#), "web sockets", 1),
        (entry("x", 9, 1, 0, 1, r#", "request": {"url": "wss://a.org/"}"#), "web sockets", 1),
        (entry("x", 9, 1, 0, 1, r#", "request": {"url": "data:,"}"#), "not from the network", 1),
        (entry("x", 9, 1, 0, 1, r#", "request": {}"#), "without a URL", 1),
        (entry("x", 9, 1, 0, 1, r#", "request": 7"#), "without a request", 1),
        (entry("x", 9, 1, 0, 1, r#", "startedDateTime": "noon""#), "without a start time", 2),
        (entry("x", 9, 1, 0, 1, r#", "time": null, "timings": 1"#), "without times", 2),
        (entry("x", 9, 1, 0, 1, r#", "_fromDiskCache": true"#), "from a cache", 1),
        (entry("x", 9, 1, 0, 1, r#", "_fromCache": "memory""#), "from a cache", 1),
        ("7".to_owned(), "without a request", 1),
    ] {
        let text = har(&[ok.clone(), odd.clone()]);
        let found = notes(&text);
        assert!(found.starts_with("1 entry "), "{found} of {odd}");
        assert!(found.contains(expected), "{found} of {odd}");
        assert_eq!(page(&text).objects().len(), objects, "{odd}");
    }
    assert_eq!(notes(&har(&[ok])), "");
}

#[test]
fn pushed_objects_are_fetched_although_they_are_marked_as_cached() {
    let pushed = r#", "_fromDiskCache": true, "response": {"status": 200, "_transferSize": 7000}"#;
    let text = har(&[entry("", 0, 40, 0, 1_000, ""), entry("x", 50, 0, 5, 1, pushed)]);
    assert_eq!(page(&text).objects()[1].response_bytes, 7000, "its head is part of it");
}

#[test]
fn content_without_a_transfer_is_from_a_cache() {
    let sizes = |transfer: i64, body: i64| {
        format!(
            r#", "response": {{"status": 200, "headersSize": 100, "_transferSize": {transfer},
                "bodySize": {body}, "content": {{"size": 70000}}}}"#
        )
    };
    let text = |transfer, body| {
        har(&[entry("", 0, 50, 50, 900, ""), entry("x", 60, 10, 0, 1, &sizes(transfer, body))])
    };
    for body in [0, -1] {
        assert_eq!(page(&text(0, body)).objects().len(), 1, "{body}");
        assert!(notes(&text(0, body)).contains("from a cache"), "{body}");
    }
    for (transfer, body, bytes) in [(0, 4000, 4100), (-1, 0, 70_100), (5000, 0, 5000)] {
        assert_eq!(page(&text(transfer, body)).objects()[1].response_bytes, bytes);
    }
}

#[test]
fn cached_entries_take_their_time() {
    let text = har(&[
        entry("", 0, 40, 0, 1_000, ""),
        entry("x.js", 50, 7, 8, 1_000, r#", "_fromDiskCache": true"#),
        entry("y.png", 70, 7, 8, 1_000, &by("x.js")),
    ]);
    let page = page(&text);
    assert_eq!(page.activities()[1].action, Action::Work(Duration::from_millis(15)));
    assert_eq!(waits(&page, 2), [wait(1, Trigger::End, 5)]);
}

#[test]
fn unknown_version_is_said() {
    let text = har(&[entry("", 0, 40, 0, 1_000, "")]);
    assert!(notes(&text.replace("\"1.2\"", "\"2.0\"")).contains("version 2.0 is not known"));
    assert_eq!(notes(&text.replace("\"1.2\"", "1.1")), "");
    assert_eq!(notes(&text.replace("version", "versions")), "");
}

#[test]
fn entries_without_a_size_are_counted() {
    let unknown = r#", "response": {"status": 200, "bodySize": -1, "content": {"size": -1}}"#;
    let text = har(&[entry("", 0, 40, 0, 1_000, ""), entry("x", 50, 40, 0, 9, unknown)]);
    assert!(notes(&text).contains("1 entry without a size"), "{}", notes(&text));
    let empty = unknown.replace("-1}", "0}");
    assert_eq!(
        notes(&har(&[entry("", 0, 40, 0, 1_000, ""), entry("x", 50, 40, 0, 9, &empty)])),
        ""
    );
}

#[test]
fn pauses_of_minutes_are_told() {
    let late = r#", "startedDateTime": "2024-05-01T10:30:00Z""#;
    let text = har(&[entry("", 0, 40, 0, 1_000, ""), entry("x", 50, 40, 0, 9, late)]);
    assert!(notes(&text).contains("1 entry begins up to 30 minutes after"), "{}", notes(&text));
    assert!(notes(&text).contains("the pause is kept"), "{}", notes(&text));
    let next_day = late.replace("2024-05-01", "2024-05-02");
    let text = har(&[entry("", 0, 40, 0, 1_000, ""), entry("x", 50, 40, 0, 9, &next_day)]);
    assert!(notes(&text).contains("after the first: the pause is cut to 60"), "{}", notes(&text));
}

#[test]
fn page_recorded_from_a_cache_is_refused_with_the_mend() {
    let cached = entry("", 0, 4, 0, 1, r#", "_fromCache": "disk""#);
    assert!(problem(&har(&[cached])).contains("with the cache disabled"));
}

#[test]
fn what_is_no_page_is_refused() {
    assert!(problem("{}").contains("neither a HAR file"));
    assert!(problem("[1]").contains("neither a HAR file"));
    assert!(problem(r#"{"log": {}}"#).contains("without entries"));
    assert!(problem(&har(&["{}".to_owned()])).contains("none of its entries"));
    let cached = entry("", 0, 4, 0, 1, r#", "_fromDiskCache": true"#);
    assert!(problem(&har(&[cached])).contains("none of its entries"));
    assert!(problem(r#"{"log": {"entries": [{]}}"#).starts_with("line 1, column"));
}

#[test]
fn bodies_of_many_megabytes_cost_no_memory() {
    let body = "x".repeat(8 << 20);
    let more = format!(
        r#", "response": {{"status": 200, "bodySize": 9, "content":
        {{"text": "{body}"}}}}"#
    );
    let page = page(&har(&[entry("", 0, 40, 0, 1_000, &more)]));
    assert_eq!(page.objects()[0].response_bytes, 309);
}

const GRAPH: &str = r#"{"objs": [
    {"id": "r1", "url": "http://a.org/", "bytes": 1000, "when_comp_start": 1,
     "download": {"id": "d0", "type": "text/html"},
     "comps": [{"id": "c0", "time": 10}, {"id": "c1", "time": 20}]},
    {"id": "r2", "url": "http://b.org/x.js", "bytes": 2000, "when_comp_start": -1,
     "download": {"id": "d1", "type": "text/javascript"}, "comps": [{"id": "c2", "time": 5}]},
    {"id": "r3", "url": "http://a.org/y.png", "bytes": 3000,
     "download": {"id": "d2", "type": "image/png"}, "comps": []}],
    "deps": [{"id": "p1", "a1": "c0", "a2": "d1", "time": 4},
             {"id": "p2", "a1": "c2", "a2": "d2", "time": -1},
             {"id": "p3", "a1": "c2", "a2": "c1", "time": -1}],
    "start_activity": "d0", "load_activity": -1}"#;

#[test]
fn graph_is_read_as_epload_means_it() {
    let page = page(GRAPH);
    // In the order of the file: d0 c0 c1 d1 c2 d2.
    let none = Vec::new();
    let work = |millis| Action::Work(Duration::from_millis(millis));
    let expected = [
        (Action::Fetch(0), none),
        (work(10), vec![wait(0, Trigger::Received { ppm: 0 }, 0)]),
        (work(20), vec![wait(1, Trigger::End, 0), wait(4, Trigger::End, 0)]),
        (Action::Fetch(1), vec![wait(1, Trigger::Start, 4)]),
        (work(5), vec![wait(3, Trigger::End, 0)]),
        (Action::Fetch(2), vec![wait(4, Trigger::End, 0)]),
    ];
    let expected = expected.map(|(action, waits)| Activity { action, waits, before_load: true });
    assert_eq!(page.activities(), expected);
    let facts: Vec<(u32, u64, u8)> =
        page.objects().iter().map(|o| (o.host, o.response_bytes, o.urgency)).collect();
    assert_eq!(facts, [(0, 1300, 0), (1, 2300, 1), (0, 3300, 5)]);
}

#[test]
fn graph_can_name_what_loads_it() {
    let page = page(&GRAPH.replace("\"load_activity\": -1", "\"load_activity\": \"c2\""));
    let marks: Vec<bool> = page.activities().iter().map(|a| a.before_load).collect();
    assert_eq!(marks, [false, false, false, false, true, false]);
}

#[test]
fn unsound_graphs_are_refused_with_the_place() {
    for (from, to, expected) in [
        (r#""a1": "c0""#, r#""a1": "c2""#, "directly or indirectly: the graph has a cycle"),
        (r#""id": "c2""#, r#""id": "c0""#, "two activities have the name `c0`"),
        (r#""id": "d2""#, r#""idd": "d2""#, "object 3 of `objs` has no `download`"),
        (r#"{"id": "c2", "#, "{", "an entry of `comps` of object 2"),
        (r#""start_activity": "d0""#, r#""start_activity": "x""#, "`start_activity` is `x`"),
        (r#""load_activity": -1"#, r#""load_activity": "x""#, "`load_activity` is `x`"),
    ] {
        assert!(GRAPH.contains(from), "{from}");
        let found = problem(&GRAPH.replacen(from, to, 1));
        assert!(found.contains(expected), "{from}: {found}");
    }
    assert!(problem(r#"{"objs": []}"#).contains("nothing to fetch"));
    assert!(notes(&GRAPH.replace("2000", "-5")).contains("taken as 0: 1"));
}

#[test]
fn graph_with_an_edge_to_an_unknown_activity_loads_without_that_edge() {
    let dangling = GRAPH.replace(r#""a2": "d1""#, r#""a2": "d9""#);
    assert_eq!(page(&dangling).activities().len(), 6);
    assert_eq!(waits(&page(&dangling), 3), [], "`d1` waits for nothing");
    let said = "1 dependency names an activity that is not in `objs`: left out; the first one: \
                `p1`, whose `a2` is `d9`";
    assert!(notes(&dangling).contains(said), "{}", notes(&dangling));
    let two = dangling.replace(r#""a1": "c2", "a2": "c1""#, r#""a2": "c1""#);
    assert!(notes(&two).contains("2 dependencies name an activity"), "{}", notes(&two));
}

#[test]
fn page_without_any_size_is_refused() {
    let no_sizes = GRAPH.replace("\"bytes\"", "\"length\"");
    assert!(problem(&no_sizes).contains("none of its objects has a size (`bytes`)"));
    let zero = ["1000", "2000", "3000"].iter().fold(GRAPH.to_owned(), |g, n| g.replace(n, "0"));
    assert!(problem(&zero).contains("none of its objects has a size"));
    let entries = [entry("", 0, 40, 0, -1, ""), entry("b", 5, 40, 0, 1, "")];
    assert_eq!(page(&har(&entries)).objects().len(), 2, "one size is enough");
    let refused = problem(&har(&entries[..1]));
    assert!(refused.contains("none of its responses has a size"), "{refused}");
}

#[test]
fn list_of_sizes_is_a_page_and_what_is_in_it() {
    let page = page(r#"{"page": "x", "html_bytes": 700, "object_bytes": [0, 43, 1000]}"#);
    let sizes: Vec<u64> = page.objects().iter().map(|object| object.response_bytes).collect();
    assert_eq!(sizes, [1000, 300, 343, 1300], "with 300 bytes of head each");
    assert!((1..4).all(|index| waits(&page, index) == [wait(0, Trigger::End, 0)]));
    assert!(problem(r#"{"html_bytes": 1, "object_bytes": [-1]}"#).contains("entry 1"));
    assert!(problem(r#"{"object_bytes": []}"#).contains("`html_bytes`"));
}

#[test]
fn named_page_is_a_model_unless_the_folder_of_data_is_named() {
    let folder = std::env::temp_dir().join(format!("anabranch-data-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("web/epload")).unwrap();
    std::fs::write(folder.join("web/epload/google.json"), GRAPH).unwrap();
    let read = |data: Option<&Path>, name: &str| PageSource::read(None, data, name).unwrap();
    let recorded = read(Some(&folder), "google");
    assert_eq!(recorded.page.objects().len(), 3);
    assert!(
        recorded.source.notes[0].contains("`google` as recorded in"),
        "{:?}",
        recorded.source.notes
    );
    let model = read(None, "google");
    assert_eq!((model.page.objects().len(), model.source.notes.len()), (6, 1));
    let missing = read(Some(&folder), "amazon");
    assert_eq!(missing.source.digest, None);
    assert!(
        missing.source.notes[1].contains("its recording is not in"),
        "{:?}",
        missing.source.notes
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn models_have_the_counts_and_totals_of_their_papers() {
    for named in NAMED_PAGES {
        let page = named.model().unwrap();
        assert_eq!(page.objects().len() as u32, named.objects, "{}", named.name);
        let heads = u64::from(named.objects) * har::RESPONSE_HEAD;
        assert_eq!(page.response_bytes() - heads, named.bytes, "{}", named.name);
    }
}

/// Composes a HAR file from unusual pieces, some of which break it.
fn odd_har(pieces: &[(u8, u16, i32)]) -> String {
    let mut entries = Vec::new();
    for (kind, start, number) in pieces {
        let more = match kind % 14 {
            0 => format!(r#", "response": {{"status": {number}}}"#),
            1 => format!(r#", "response": {{"status": 302, "redirectURL": "/{}"}}"#, number % 7),
            2 => format!(r#", "time": {number}"#),
            3 => format!(r#", "timings": {{"wait": {number}, "receive": "{number}"}}"#),
            4 => by(&format!("{}", number % 7)),
            5 => r#", "_initiator": {"stack": {"parent": {"callFrames": [{}]}}}"#.to_owned(),
            6 => r#", "_fromDiskCache": true"#.to_owned(),
            7 => format!(r#", "startedDateTime": "2024-05-01T10:00:{number}Z""#),
            8 => r#", "request": null"#.to_owned(),
            9 => format!(r#", "request": {{"url": "http://h{number}/", "bodySize": {number}}}"#),
            10 => r#", "pageref": "p", "request": []"#.to_owned(),
            11 => format!(r#", "response": {{"status": 200, "_transferSize": {number}e9}}"#),
            _ => by(""),
        };
        let url = format!("{}", kind % 7);
        let number = i64::from(*number);
        entries.push(entry(&url, u32::from(*start % 20_000), 5, u32::from(*kind), number, &more));
    }
    har(&entries)
}

#[test]
fn many_like_entries_are_read_in_no_time() {
    let moved = r#", "response": {"status": 302, "redirectURL": "/x"}"#.to_owned();
    for more in [moved, by("x"), String::new()] {
        let entries: Vec<String> = (0..20_000).map(|_| entry("x", 0, 1, 0, 1, &more)).collect();
        assert_eq!(page(&har(&entries)).objects().len(), 20_000);
    }
    let entries: Vec<String> = (0..50_001).map(|_| "7".to_owned()).collect();
    assert!(problem(&har(&entries)).contains("too large for a page"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Any entries give a page without cycles, or an error.
    #[test]
    fn odd_recordings_give_a_page_or_a_reason(
        pieces in proptest::collection::vec(any::<(u8, u16, i32)>(), 0..40),
    ) {
        match parse(&odd_har(&pieces)) {
            Ok((page, _)) => prop_assert!(page.objects().len() <= pieces.len()),
            Err((problem, help)) => prop_assert!(!problem.is_empty() && !help.is_empty()),
        }
    }

    /// Reading a damaged file never panics.
    #[test]
    fn damaged_files_give_a_page_or_a_reason(
        graph in any::<bool>(),
        damage in proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6,
        ),
    ) {
        let text = if graph { GRAPH.to_owned() } else { recorded() };
        let mut bytes = text.into_bytes();
        for (place, byte, how) in damage {
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at + 1),
                2 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                break;
            }
        }
        if let Err((problem, _)) = document::read(bytes.as_slice())
            .and_then(|document| understood("page", &document, Views::First))
        {
            prop_assert!(!problem.is_empty());
        }
    }
}

/// The pages of 000 with the folder `ANABRANCH_DATA`: every object of the list with its bytes.
#[test]
fn recorded_pages_of_the_paper_have_exactly_their_objects() {
    let Some(data) = std::env::var_os("ANABRANCH_DATA") else {
        println!("skipped: ANABRANCH_DATA names no folder of recordings");
        return;
    };
    let data = Path::new(&data);
    for (name, objects) in [("wikipedia", 15), ("amazon", 54), ("huffingtonpost", 138)] {
        let text = std::fs::read_to_string(data.join(format!("web/paper000/{name}.json"))).unwrap();
        let list: serde_json::Value = serde_json::from_str(&text).unwrap();
        let listed = list["object_bytes"].as_array().unwrap().iter();
        let listed: Vec<u64> =
            std::iter::once(&list["html_bytes"]).chain(listed).filter_map(|v| v.as_u64()).collect();
        let source = PageSource::read(None, Some(data), name).unwrap();
        let of_body = |object: &Object| object.response_bytes - har::RESPONSE_HEAD;
        let found: Vec<u64> = source.page.objects().iter().map(of_body).collect();
        assert_eq!((found.len(), found), (objects + 1, listed), "{name}");
    }
}

/// Results for each recording of the folder `ANABRANCH_DATA`: a changed rule is visible here.
#[test]
fn recordings_are_read_whole() {
    let Some(data) = std::env::var_os("ANABRANCH_DATA") else {
        println!("skipped: ANABRANCH_DATA names no folder of recordings");
        return;
    };
    let folder = Path::new(&data).join("web");
    let mut found = String::new();
    for file in [
        "har/23andme-5g.har",
        "har/6pm-4g.har",
        "har/9gag-5g.har",
        "har/en.wikipedia.org-spdy-wpt.har",
        "har/sitespeed-http2-chrome.har",
        "har/www.nytimes.com-wpt.har",
        "epload/theguardian.json",
        "paper000/amazon.json",
    ] {
        let source = PageSource::read(Some(&folder), None, file).unwrap();
        let page = &source.page;
        let before = page.activities().iter().filter(|a| a.before_load).count();
        let (objects, hosts, bytes) = (page.objects().len(), page.hosts(), page.response_bytes());
        let _ = writeln!(
            found,
            "{file} {objects} {hosts} {bytes} {before} {}",
            source.source.notes.len()
        );
    }
    let expected = "\
har/23andme-5g.har 93 26 1431644 107 2
har/6pm-4g.har 52 17 960802 53 3
har/9gag-5g.har 34 12 472295 23 2
har/en.wikipedia.org-spdy-wpt.har 32 3 315188 32 2
har/sitespeed-http2-chrome.har 11 2 108549 10 1
har/www.nytimes.com-wpt.har 226 73 2471510 98 3
epload/theguardian.json 228 61 3232957 339 0
paper000/amazon.json 55 1 912172 55 0
";
    assert_eq!(found, expected, "file, objects, hosts, bytes, activities before load, notes");
}
