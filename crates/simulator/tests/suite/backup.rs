//! Backup mode (RFC 8684 s3.3.8): a path that the client requests as a backup carries data only
//! while no other path can.

use crate::multipath::over;
use crate::pair::{link, record, record_with};
use base::{Duration, Event, EventMask, Instant, PathId};
use network::LinkChange;
use simulator::{BackupMark, Direction, PathEvent, RunSetup};
use traffic::Traffic;

/// The default, which chooses a path per segment, and the kernel's, which grants a path many.
const SCHEDULERS: [&str; 2] = ["lrf", "linux"];

/// A bulk transfer of 20 s; `marked` is the path to be spared.
fn setup(scheduler: &'static str, marked: usize) -> RunSetup {
    let traffic = Traffic::BulkTime(Duration::from_secs(20));
    let mut setup = over(&[link(10, 20), link(10, 30)], scheduler, traffic);
    setup.backup = vec![BackupMark { path: marked, at: Duration::ZERO, on: true }];
    setup
}

fn event(at: u64, change: LinkChange) -> PathEvent {
    PathEvent { at: Duration::from_secs(at), direction: Direction::Both, change }
}

/// What the server first sent when and on which path, and what was acknowledged: in ms, path,
/// whether it is an acknowledgement.
fn log(setup: &RunSetup) -> Vec<(u64, PathId, bool)> {
    let pick = |now: Instant, event: &Event| {
        let at = now.since(Instant::ZERO).as_millis();
        match event {
            Event::SegmentSent { path, retransmission: false, .. } => Some((at, *path, false)),
            Event::SegmentAcked { path, .. } => Some((at, *path, true)),
            _ => None,
        }
    };
    record_with(setup, EventMask::SEGMENT, pick).1
}

#[test]
fn backup_rests_while_another_path_works() {
    for scheduler in SCHEDULERS {
        for marked in [0, 1] {
            let sent = record(&setup(scheduler, marked)).measured().sent.first_sent_bytes.clone();
            let spared = sent[marked];
            // A first subflow carries data until there is a second one.
            let bound = if marked == 0 { 150_000 } else { 0 };
            assert!(spared <= bound, "{scheduler}: {spared} bytes on path {marked}");
            assert!(sent[1 - marked] > 15_000_000, "{scheduler}: {sent:?}");
        }
    }
}

#[test]
fn backup_takes_over_at_the_time_out_and_rests_after_the_return() {
    for scheduler in SCHEDULERS {
        let mut setup = setup(scheduler, 1);
        setup.network.paths[0].events =
            vec![event(5, LinkChange::Silent), event(8, LinkChange::Up)];
        let log = log(&setup);
        let primary = PathId(0);
        let first_of = |path, ack, from: u64| {
            let found =
                log.iter().find(|(at, on, is_ack)| (*on, *is_ack) == (path, ack) && *at > from);
            found.map_or(u64::MAX, |(at, ..)| *at)
        };
        let taken_over = first_of(PathId(1), false, 0);
        let returned = first_of(primary, true, 8000);
        println!("{scheduler}: taken over at {taken_over} ms, returned at {returned} ms");
        // The timer is some 300 ms; it ran since the last acknowledgement.
        assert!((5000..6000).contains(&taken_over), "{scheduler}: {taken_over} ms");
        // TCP tries again at 0.3, 0.9, 2.1 and 4.5 s or so.
        assert!((8000..12_000).contains(&returned), "{scheduler}: {returned} ms");
        // What was queued on the backup before: half a second of its rate with `linux`.
        let late = log.iter().rfind(|(_, path, ack)| *path == PathId(1) && !ack);
        let late = late.expect("it carried data").0;
        assert!(
            late < returned + 500,
            "{scheduler}: {late} ms, the primary returned at {returned}"
        );
        assert!(first_of(primary, false, returned) < returned + 50, "{scheduler}");
    }
}

#[test]
fn mark_that_comes_and_goes_moves_data_within_a_round_trip() {
    for scheduler in SCHEDULERS {
        let mut setup = setup(scheduler, 0);
        let mark = |at, on| BackupMark { path: 0, at: Duration::from_secs(at), on };
        setup.backup = vec![mark(5, true), mark(10, false)];
        let log = log(&setup);
        let sent = |path: u8, from: u64, to: u64| {
            let sent = |(at, on, ack): &&(u64, PathId, bool)| {
                on.0 == path && !ack && (from..to).contains(at)
            };
            log.iter().filter(sent).count()
        };
        println!("{scheduler}: {:?}", [0, 5, 10, 15].map(|s| sent(0, s * 1000, s * 1000 + 5000)));
        assert!(sent(0, 2000, 5000) > 1000, "{scheduler}");
        assert_eq!(sent(0, 5500, 10_000), 0, "{scheduler}");
        assert!(sent(1, 5500, 10_000) > 1500, "{scheduler}");
        assert!(sent(0, 10_100, 13_000) > 500, "{scheduler}");
    }
}

#[test]
fn connection_with_backups_only_uses_them() {
    for scheduler in SCHEDULERS {
        let mut setup = setup(scheduler, 0);
        setup.backup.push(BackupMark { path: 1, at: Duration::ZERO, on: true });
        let sent = record(&setup).measured().sent.first_sent_bytes.clone();
        assert!(sent.iter().all(|bytes| *bytes > 5_000_000), "{scheduler}: {sent:?}");
    }
}
