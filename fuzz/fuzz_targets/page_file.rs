//! Any bytes as the file of a page (HAR, dependency graph, list of sizes): reading it never panics
//! and takes bounded memory; a page that was read is the same when it is read again.

#![no_main]

mod files;

use lab::Scenario;
use libfuzzer_sys::fuzz_target;
use traffic::Traffic;

const SCENARIO: &[u8] = b"traffic = \"web:page\"\n[path]\na = \"rate 10mbit delay 5ms\"\n";

fuzz_target!(|bytes: &[u8]| {
    files::write("page", bytes);
    let file = files::write("scenario.toml", SCENARIO);
    let read = || Scenario::options_from_file(&file).expect("a scenario").resolve();
    match (read(), read()) {
        (Ok(first), Ok(second)) => {
            let Traffic::Web(web) = &first.traffic else { panic!("not a page") };
            assert!(web.page.objects().len() <= bytes.len());
            let source = first.source.as_ref().expect("a file");
            assert!(source.notes.iter().all(|note| !note.contains(char::is_control)));
            assert_eq!((&first.traffic, &first.source), (&second.traffic, &second.source));
        }
        (Err(first), Err(second)) => assert_eq!(first.to_string(), second.to_string()),
        _ => panic!("read once and not twice"),
    }
});
