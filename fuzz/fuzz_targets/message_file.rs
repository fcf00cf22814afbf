//! Any bytes as a table of messages and as a capture: reading them as traffic never panics and
//! takes bounded memory; what was read is the same when it is read again.

#![no_main]

mod files;

use lab::Scenario;
use libfuzzer_sys::fuzz_target;
use traffic::{Role, Traffic};

fuzz_target!(|bytes: &[u8]| {
    files::write("messages", bytes);
    for model in ["table:messages", "table:messages:paced", "game:messages", "pcap:messages"] {
        let text = format!("traffic = \"{model}\"\n[path]\na = \"rate 10mbit delay 5ms\"\n");
        let file = files::write("scenario.toml", text.as_bytes());
        let read = || Scenario::options_from_file(&file).expect("a scenario").resolve();
        match (read(), read()) {
            (Ok(first), Ok(second)) => {
                let Traffic::Conversation(read) = &first.traffic else { panic!("no messages") };
                let messages = read.from(Role::Client).len() + read.from(Role::Server).len();
                assert!((1..=bytes.len()).contains(&messages));
                assert_eq!((&first.traffic, &first.source), (&second.traffic, &second.source));
            }
            (Err(first), Err(second)) => assert_eq!(first.to_string(), second.to_string()),
            _ => panic!("read once and not twice"),
        }
    }
});
