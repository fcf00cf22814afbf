//! The burst table: 15 segments over RTTs of 10 and 100 ms, windows of
//! 10, no TSQ, no bandwidth limit, no loss. Acknowledgements come one by one.

use super::support::{Model, path};
use crate::scheduler::*;
use base::Duration;

/// The model has no timers: XLINK's last copy is due before the next acknowledgement.
#[test]
fn burst_of_fifteen_by_every_scheduler() {
    let table = [
        ("lrf", 10, 5, 50),
        ("rr", 8, 7, 50),
        ("wrr", 8, 7, 50),
        ("redundant", 15, 10, 15),
        ("linux", 15, 0, 15),
        ("daps", 15, 0, 15),
        ("otias", 15, 0, 15),
        ("ecf", 14, 1, 60),
        ("ecf-kernel", 15, 0, 15),
        ("blest", 10, 5, 50),
        ("blest-kernel", 15, 0, 15),
        ("sttf", 15, 0, 15),
        ("xlink", 14, 5, 50),
        ("raven", 15, 10, 15),
    ];
    assert!(table.iter().map(|row| row.0).eq(NAMES.iter().map(|row| row.0)), "every scheduler");
    for (name, fast, slow, ms) in table {
        let mut model = Model::new(vec![path(0, 10, 10, 0), path(1, 100, 10, 0)], 15);
        model.run(&mut by_name(name, &Options::default()).expect("a name of the table"));
        assert_eq!((model.on_path(0), model.on_path(1)), (fast, slow), "{name}");
        assert_eq!(model.completion, Some(Duration::from_millis(ms)), "{name}");
    }
}

/// 002's point of comparison.
#[test]
fn one_path_alone_takes_fifteen_ms_with_every_scheduler() {
    for (name, ..) in NAMES {
        let mut alone = Model::new(vec![path(0, 10, 10, 0)], 15);
        alone.run(&mut by_name(name, &Options::default()).expect("a name of the table"));
        assert_eq!(alone.completion, Some(Duration::from_millis(15)), "{name}");
        assert_eq!(alone.sent.len(), 15, "{name} with one path is plain TCP");
    }
}
