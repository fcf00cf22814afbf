//! Notes on pages, and errors.

use super::Session;

const LINK: &str = "home=rate 10mbit delay 20ms limit 100p";

const PAGE: &str = "{\"objs\": [{\"download\": {\"id\": \"a\"}, \"bytes\": 3000}]}";

/// An entry of a HAR file with these members.
fn entry(request: &str, response: &str, more: &str) -> String {
    format!("{{\"request\": {request}, \"response\": {response}{more}}}")
}

fn har(entries: &[String]) -> String {
    format!("{{\"log\": {{\"version\": \"1.2\", \"entries\": [{}]}}}}", entries.join(", "))
}

/// An entry that was fetched.
fn good() -> String {
    let time = ", \"startedDateTime\": \"2024-05-01T10:00:00.000Z\", \"time\": 50";
    entry("{\"url\": \"http://a.org/\"}", "{\"status\": 200, \"bodySize\": 4000}", time)
}

fn page(session: &mut Session, name: &str, content: impl AsRef<[u8]>) {
    session.file(name, content);
    let traffic = format!("web:{name}");
    session.call(&["compare", "--path", LINK, "--runs", "1", "--traffic", &traffic]);
}

#[test]
fn files_that_are_no_pages() {
    let mut session = Session::new("pages-refused");
    for traffic in ["web:no-such.har", "web:amazn", "web:."] {
        session.call(&["compare", "--path", LINK, "--traffic", traffic]);
    }
    page(&mut session, "empty.har", "");
    page(&mut session, "packed.har", b"\x1f\x8b\x08");
    page(&mut session, "packed.zip", b"PK\x03\x04");
    page(&mut session, "secret.har", b"-----BEGIN PGP MESSAGE-----\n\nhQEMA");
    page(&mut session, "salted.har", b"Salted__\x12\x34{");
    page(&mut session, "utf16.har", b"\xff\xfe{\0");
    page(&mut session, "page.html", "<html></html>");
    page(&mut session, "words.har", "hello there");
    page(&mut session, "cut.har", &har(&[good()])[..60]);
    page(&mut session, "comma.har", "{\"log\": {,}}");
    page(&mut session, "two.har", har(&[good()]) + " and more");
    page(&mut session, "other.json", "{\"a\": 1}");
    page(&mut session, "none.har", har(&[]));
    let aborted = entry("{\"url\": \"http://a.org/\"}", "{\"status\": 0}", "");
    page(&mut session, "aborted.har", har(&[aborted]));
    let cached = good().replace("\"time\"", "\"_fromCache\": \"memory\", \"time\"");
    page(&mut session, "cached.har", har(&[cached]));
    page(&mut session, "sizeless.har", har(&[good().replace("4000", "-1")]));
    session.end();
}

#[test]
fn graphs_that_are_no_pages() {
    let mut session = Session::new("graphs-refused");
    let object = |id: &str| format!("{{\"download\": {{\"id\": \"{id}\"}}, \"bytes\": 100}}");
    for (name, content) in [
        ("unnamed.json", "{\"objs\": [{}]}".to_owned()),
        ("work.json", "{\"objs\": [{\"download\": {\"id\": \"a\"}, \"comps\": [{}]}]}".to_owned()),
        ("twice.json", format!("{{\"objs\": [{0}, {0}]}}", object("a"))),
        ("sizeless.json", "{\"objs\": [{\"download\": {\"id\": \"a\"}}]}".to_owned()),
        (
            "circle.json",
            format!(
                "{{\"objs\": [{}], \"deps\": [{{\"a1\": \"a\", \"a2\": \"a\", \"time\": -1}}]}}",
                object("a")
            ),
        ),
        ("start.json", format!("{{\"objs\": [{}], \"start_activity\": \"x\"}}", object("a"))),
        ("load.json", format!("{{\"objs\": [{}], \"load_activity\": \"x\"}}", object("a"))),
        ("nothing.json", "{\"objs\": []}".to_owned()),
        ("html.json", "{\"html_bytes\": -1, \"object_bytes\": [3]}".to_owned()),
        ("size.json", "{\"html_bytes\": 1, \"object_bytes\": [3, \"x\"]}".to_owned()),
    ] {
        page(&mut session, name, content);
    }
    session.end();
}

#[test]
fn pages_with_flaws_say_how_they_are_understood() {
    let mut session = Session::new("pages");
    let with = |url: &str, response: &str| {
        entry(&format!("{{\"url\": \"{url}\"}}"), &format!("{{{response}}}"), ", \"time\": 5")
    };
    let entries = [
        good(),
        "{}".to_owned(),
        entry("{}", "{}", ""),
        with("ws://a.org/", "\"status\": 101"),
        with("data:x", "\"status\": 200"),
        with("a.org:443\", \"method\": \"CONNECT", "\"status\": 200"),
        with("https://a.org:443/\", \"method\": \"CONNECT", "\"status\": 200, \"bodySize\": 9"),
        with("http://a.org/1", "\"status\": 0"),
        with("http://a.org/2", "\"status\": 200, \"_fromCache\": \"disk\""),
        with("http://a.org/3", "\"status\": 200, \"bodySize\": -4"),
        with("http://a.org/5", "\"status\": 200, \"bodySize\": -1, \"content\": {\"size\": -1}"),
        good().replace("T10:00:00", "T10:30:00"),
        good().replace("T10:00:00", "T16:00:00"),
        entry("{\"url\": \"http://a.org/4\"}", "{\"status\": 200, \"bodySize\": 9}", ""),
    ];
    page(&mut session, "flaws.har", har(&entries).replace("\"1.2\"", "\"1.9\""));
    page(&mut session, "late.har", har(&[good(), good().replace("T10:00:00", "T10:30:00")]));
    let two = format!(
        "var har = {{\"log\": {{\"pages\": [{{\"id\": \"p1\", \
         \"pageTimings\": {{\"onLoad\": 1}}}}, \
         {{\"id\": \"p2\"}}], \"entries\": [{}, {}]}}}};",
        good().replace("{\"request\"", "{\"pageref\": \"p1\", \"request\""),
        good().replace("{\"request\"", "{\"pageref\": \"p2\", \"request\""),
    );
    let dated = two.replace(
        "\"id\": \"p1\"",
        "\"id\": \"p1\", \"startedDateTime\": \"2024-05-01T10:00:00.000Z\"",
    );
    page(&mut session, "two-pages.har", dated);
    page(
        &mut session,
        "graph.json",
        "{\"objs\": [{\"download\": {\"id\": \"a\"}, \"bytes\": -3}, \
         {\"download\": {\"id\": \"b\"}, \"bytes\": 3000}]}",
    );
    page(
        &mut session,
        "dangling.json",
        "{\"objs\": [{\"download\": {\"id\": \"a\"}, \"bytes\": 3000}], \
         \"deps\": [{\"a1\": \"a\", \"a2\": \"b\"}, {\"id\": \"d\", \"a1\": \"a\"}]}",
    );
    page(&mut session, "sizes.json", "{\"html_bytes\": 4000, \"object_bytes\": [3000, 2000]}");
    named_pages(&mut session);
    let sizes = ["compare", "--path", LINK, "--runs", "1", "--traffic", "web:sizes.json"];
    session.call(&[&sizes[..], &["--per-host"]].concat());
    session.end();
}

/// A HAR file of several pages, its link, and what comes before the first request.
#[test]
fn pages_of_a_recording_with_names_and_tls() {
    let mut session = Session::new("pages-recorded");
    let of = |page: &str, second: u32, host: &str| {
        let time = format!(
            ", \"pageref\": \"{page}\", \"startedDateTime\": \"2024-05-01T10:00:0{second}.000Z\", \
             \"timings\": {{\"dns\": 9, \"connect\": 60, \"ssl\": 30, \"wait\": 40, \
             \"receive\": 5}}, \"time\": 144"
        );
        let request = format!("{{\"url\": \"https://{host}/\"}}");
        let version = if page == "two" { ", \"httpVersion\": \"h2\"" } else { "" };
        let response = format!("{{\"status\": 200, \"bodySize\": 40000{version}}}");
        entry(&request, &response, &time)
    };
    let cached = of("three", 8, "c.org").replace("\"time\"", "\"_fromCache\": \"disk\", \"time\"");
    let entries = [of("one", 0, "a.org"), of("one", 1, "b.org"), of("two", 5, "a.org"), cached];
    let pages = "\"pages\": [{\"id\": \"one\", \"pageTimings\": {\"onLoad\": 1300}}, {\"id\": \
                 \"two\"}, {\"id\": \"three\"}], \"version\"";
    session.file("visit.har", har(&entries).replace("\"version\"", pages));
    session.file("sizes.json", "{\"html_bytes\": 4000, \"object_bytes\": [3000, 2000]}");
    let call = |session: &mut Session, more: &[&str]| {
        session.call(&[&["compare", "--path", LINK, "--runs", "1"], more].concat());
    };
    call(&mut session, &["--traffic", "web:visit.har"]);
    call(&mut session, &["--traffic", "web:visit.har", "--tls", "1.3", "--dns", "9ms"]);
    call(&mut session, &["--traffic", "web:visit.har:all", "--tls", "0rtt", "--http", "2"]);
    call(&mut session, &["--traffic", "web:visit.har:2"]);
    for traffic in ["web:visit.har:4", "web:visit.har:3", "web:sizes.json:all"] {
        call(&mut session, &["--traffic", traffic]);
    }
    for wrong in [["--tls", "1.2"], ["--dns", "soon"], ["--dns", "120s"]] {
        call(&mut session, &[&["--traffic", "web:visit.har"], &wrong[..]].concat());
    }
    call(&mut session, &["--traffic", "video", "--tls", "1.3"]);
    call(&mut session, &["--traffic", "video", "--dns", "9ms"]);
    session.end();
}

/// Pages by name: a folder of data is not used unless it is named.
fn named_pages(session: &mut Session) {
    let folder = session.scratch.0.join("shared/data/web/epload");
    std::fs::create_dir_all(folder).expect("a folder for the test");
    session.file("shared/data/web/epload/google.json", PAGE);
    let google = ["compare", "--path", LINK, "--runs", "1", "--traffic", "web:google"];
    session.call(&[&google[..], &["--http", "2"]].concat());
    session.call(&[&google[..], &["--http", "pipelined"]].concat());
    session.call(&[&google[..], &["--data", "shared/data"]].concat());
    session.call(&[&google[..], &["--data", "nowhere"]].concat());
    let amazon = ["compare", "--path", LINK, "--traffic", "web:amazon", "--data", "."];
    session.call(&[&amazon[..], &["--runs", "1"]].concat());
}
