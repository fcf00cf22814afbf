//! MP_FAIL on the wire (RFC 8684 s3.7): a middlebox rewrites one segment of a connection with
//! checksums, of one subflow of two and of the only one, on the way to either end.

use crate::connection::{Case, Ends, Role, connect, count, transfer_multipath, world};
use crate::forwarder::{Conditions, Way};
use crate::kernel;
use crate::world::{Family, PATIENCE, World, comes_true};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

const MIB: usize = 1 << 20;
const NEAR: Conditions = Conditions { delay: Duration::from_millis(2), drop_every: 0 };
const FAR: Conditions = Conditions { delay: Duration::from_millis(5), drop_every: 0 };
const ROLES: [Role; 2] = [Role::Client, Role::Server];
/// Bytes on a path before it is damaged.
const AFTER: u64 = 100_000;
const ATTEMPTS: u32 = 5;
/// A subflow that was reset is joined again after a second, for which the connection may be over at
/// the kernel on a busy machine: the engine has not read the last acknowledgement yet.
const LATE_JOIN: &str = "MPJoinNoTokenFound";
/// What the kernel counted, with a failure.
const COUNTERS: [&str; 5] = ["MPTCPRetrans", "MPFailTx", "MPFailRx", "MPRstTx", "MPRstRx"];

fn case(role: Role, errors: &'static [&'static str]) -> Case {
    let mut case = Case { size: 24 * MIB, errors, ..Case::after_joins(role, Family::V4) };
    case.config.checksum = true;
    case
}

/// Rewrite one segment on path `number` of `paths` when all of them carry data that way. The other
/// way may begin when this one is over: both ends have the same processors.
fn damage(world: &World, (number, paths): (usize, usize), way: Way) {
    let carried = |path| match way {
        Way::FromEngine => world.carried(path),
        Way::ToEngine => world.carried_back(path),
    };
    // If not, the run is repeated.
    if comes_true(PATIENCE, || (0..paths).all(|path| carried(path) > AFTER)) {
        world.control(number).rewrite[way as usize].store(1, Ordering::Relaxed);
    }
}

/// Repeats a run until it is one where the damage was reported: on a busy machine the transfer may
/// be over before it is detected, or a duplicate is damaged.
fn repeat_until<T>(
    is_told: impl Fn(&World) -> bool,
    run: impl Fn() -> Option<(World, T)>,
) -> Option<(World, T)> {
    let mut counted = COUNTERS.map(|name| (name, 0));
    for _ in 0..ATTEMPTS {
        let (world, outcome) = run()?;
        if is_told(&world) {
            return Some((world, outcome));
        }
        counted = counts(&world);
    }
    panic!("not told in {ATTEMPTS} runs, the last one counted {counted:?}");
}

fn counts(world: &World) -> [(&'static str, u64); COUNTERS.len()] {
    COUNTERS.map(|name| (name, count(world, name)))
}

/// What the kernel counts when MP_FAIL is sent because of damage on that way.
const fn told(way: Way) -> &'static str {
    match way {
        Way::FromEngine => "MPFailTx",
        Way::ToEngine => "MPFailRx",
    }
}

/// Two paths, one of them damaged.
fn one_of_two(role: Role, at: (usize, Way), errors: &'static [&'static str]) -> Option<World> {
    let run = || {
        let world = world(&[NEAR, FAR])?;
        let case = case(role, errors);
        transfer_multipath(&world, &case, |_| damage(&world, (at.0, 2), at.1));
        Some((world, ()))
    };
    repeat_until(|world| count(world, told(at.1)) > 0, run).map(|(world, ())| world)
}

#[test]
fn damage_to_one_of_two_subflows_is_told_by_the_kernel_and_ends_it_alone() {
    for role in ROLES {
        for number in [0, 1] {
            let errors = &["DataCsumErr", "MPFailTx", LATE_JOIN];
            let Some(world) = one_of_two(role, (number, Way::FromEngine), errors) else { return };
            let counts = ["DataCsumErr", "MPFailTx"].map(|name| count(&world, name));
            assert!(counts.iter().all(|count| *count >= 1), "{role:?}, path {number}: {counts:?}");
        }
    }
}

#[test]
fn damage_to_one_of_two_subflows_is_told_by_the_engine_and_ends_it_alone() {
    for role in ROLES {
        for number in [0, 1] {
            let at = (number, Way::ToEngine);
            let Some(world) = one_of_two(role, at, &["MPFailRx", LATE_JOIN]) else { return };
            assert!(count(&world, "MPFailRx") >= 1, "{role:?}, path {number}");
        }
    }
}

/// Takes a probe of Linux (6.18) out of what came after damage: where all data are acknowledged and
/// the window is closed, it sends the next byte with the number of the last one
/// (`mptcp_sendmsg_frag`), and between the MP_FAIL and its own infinite mapping without any
/// mapping, so that the byte counts as data.
fn take_probe_out(came: &mut Vec<u8>, sent: &[u8]) {
    if came.len() == sent.len() + 1 {
        let same = came.iter().rev().zip(sent.iter().rev()).take_while(|(one, other)| one == other);
        let place = came.len() - 1 - same.count();
        assert_eq!(came.remove(place), sent[place], "not the next byte");
    }
}

/// Of the bytes that came one differs.
fn assert_one_differs(came: &[u8], sent: &[u8]) {
    assert_eq!(came.len(), sent.len());
    let differ = came.iter().zip(sent).filter(|(one, other)| one != other).count();
    assert_eq!(differ, 1);
}

/// One path, damaged; both ends agree on plain TCP and go on with what the middlebox wrote.
fn falls_back(role: Role, way: Way) -> Option<World> {
    let case = Case { becomes_tcp: true, ..case(role, &[]) };
    let run = || {
        let world = world(&[NEAR])?;
        // A kernel (6.18) that announces its fallback cuts that segment as long as plain TCP's,
        // and the option does not fit any more; unless it never joins segments.
        let words = "link set wire0 gso_max_segs 1";
        let single = || Command::new("ip").args(words.split(' ')).status();
        assert!(world.peer.run(single).expect("the namespace").expect("ip(8)").success());
        let ends = connect(&world, &case, |_| damage(&world, (0, 1), way));
        Some((world, ends))
    };
    // A host that sent data twice must not fall back (RFC 8684 s3.7).
    let is_told = |world: &World| count(world, told(way)) > 0 && count(world, "MPTCPRetrans") == 0;
    let (world, Ends { engine, kernel, .. }) = repeat_until(is_told, run)?;
    let content = kernel::content(case.size);
    let what = format!("{role:?} {way:?}, {:?}", counts(&world));
    let engine = engine.unwrap_or_else(|failure| panic!("engine: {failure:?} ({what})"));
    let kernel = kernel.unwrap_or_else(|failure| panic!("kernel: {failure:?} ({what})"));
    let (whole, mut damaged) = match way {
        Way::FromEngine => (engine, kernel),
        Way::ToEngine => (kernel, engine),
    };
    assert!(whole == content, "{role:?} {way:?}: contents differ");
    if way == Way::ToEngine {
        take_probe_out(&mut damaged, &content);
    }
    assert_one_differs(&damaged, &content);
    Some(world)
}

#[test]
fn damage_to_the_only_subflow_is_told_by_the_kernel_and_leaves_plain_tcp() {
    for role in ROLES {
        let Some(world) = falls_back(role, Way::FromEngine) else { return };
        let counts = ["DataCsumErr", "MPFailTx", "InfiniteMapRx"].map(|name| count(&world, name));
        assert_eq!(counts, [1, 1, 1], "{role:?}");
    }
}

#[test]
fn damage_to_the_only_subflow_is_told_by_the_engine_and_leaves_plain_tcp() {
    for role in ROLES {
        let Some(world) = falls_back(role, Way::ToEngine) else { return };
        // Reported with every segment that arrives before the answer.
        assert!(count(&world, "MPFailRx") >= 1, "{role:?}");
        assert_eq!(count(&world, "InfiniteMapTx"), 1, "{role:?}");
    }
}
