//! MPTCP with an unmodified kernel, both ways at once: handshake, joins, addresses, checksums,
//! fallback, closing, resets, paths that are cut.
//!
//! The engine is the client and the server in turn. Contents must be equal, and what the kernel
//! counts as an error must not have happened.

use crate::cleanup::set_up;
use crate::connection::{
    Case, FALLBACKS, Role, connect, count, transfer, transfer_multipath, world,
};
use crate::exchange::Close;
use crate::forwarder::Conditions;
use crate::kernel;
use crate::strip::Stage;
use crate::timekeeping;
use crate::world::{Family, PATIENCE, World, comes_true, wait_until};
use linux::PathSwitch;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use traffic::StreamFailure;

const MIB: usize = 1 << 20;
const NEAR: Conditions = Conditions { delay: Duration::from_millis(2), drop_every: 0 };
const FAR: Conditions = Conditions { delay: Duration::from_millis(5), drop_every: 0 };
/// Bytes on a path before it is cut.
const CUT_AFTER: u64 = 400_000;
/// Of a transfer that the kernel may lose the end of, or a busy machine delay.
const ATTEMPTS: usize = 4;
const ROLES: [Role; 2] = [Role::Client, Role::Server];
const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

#[test]
fn one_path_carries_both_directions() {
    for role in ROLES {
        for family in FAMILIES {
            let Some(world) = world(&[NEAR]) else { return };
            transfer_multipath(&world, &Case::new(role, family), |_| {});
        }
    }
}

#[test]
fn either_end_may_close_first() {
    for role in ROLES {
        for (engine_closes, kernel_closes) in
            [(Close::AtOnce, Close::Second), (Close::Second, Close::AtOnce)]
        {
            let Some(world) = world(&[NEAR]) else { return };
            let case = Case { engine_closes, kernel_closes, ..Case::new(role, Family::V4) };
            transfer_multipath(&world, &Case { size: MIB / 4, ..case }, |_| {});
        }
    }
}

#[test]
fn client_engine_joins_every_path() {
    for family in FAMILIES {
        for paths in [&[NEAR, FAR][..], &[NEAR, FAR, NEAR]] {
            let Some(world) = world(paths) else { return };
            transfer_multipath(&world, &Case::new(Role::Client, family), |_| {});
            assert!(count(&world, "MPJoinAckRx") >= paths.len() as u64 - 1);
        }
    }
}

#[test]
fn kernel_that_is_a_client_joins_from_its_other_addresses() {
    for (family, net) in [(Family::V4, "10.2.N.2"), (Family::V6, "fd02:N::2")] {
        let Some(world) = world(&[NEAR, FAR, NEAR]) else { return };
        for number in ["1", "2"] {
            let address = net.replace('N', number);
            world.ip_mptcp(&format!("endpoint add {address} subflow"));
        }
        let joined = |_: &PathSwitch| wait_until(|| count(&world, "MPJoinSynAckRx") >= 2);
        transfer_multipath(&world, &Case::kept_open(Role::Server, family), joined);
    }
}

/// Regression: the engine used what the handshake announced, and the kernel dropped data beyond the
/// window of its first DATA_ACK (NoDSSInWindow).
#[test]
fn late_writer_stays_within_the_window_of_a_kernel_that_joins() {
    for (family, net) in [(Family::V4, "10.2.N.2"), (Family::V6, "fd02:N::2")] {
        let Some(world) = world(&[NEAR, FAR, NEAR]) else { return };
        for number in ["1", "2"] {
            let address = net.replace('N', number);
            world.ip_mptcp(&format!("endpoint add {address} subflow"));
        }
        let pause = Duration::from_millis(100);
        let case = Case { pause, ..Case::kept_open(Role::Server, family) };
        let joined = |_: &PathSwitch| wait_until(|| count(&world, "MPJoinSynAckRx") >= 2);
        transfer_multipath(&world, &case, joined);
    }
}

#[test]
fn address_that_the_kernel_announces_is_echoed_and_joined() {
    for (family, address) in [(Family::V4, "10.2.1.2"), (Family::V6, "fd02:1::2")] {
        let Some(world) = world(&[NEAR, FAR]) else { return };
        world.ip_mptcp(&format!("endpoint add {address} dev wire1 signal"));
        let joined = |_: &PathSwitch| wait_until(|| count(&world, "MPJoinAckRx") >= 1);
        transfer_multipath(&world, &Case::kept_open(Role::Client, family), joined);
        assert!(count(&world, "AddAddrTx") >= 1);
        assert!(count(&world, "EchoAdd") >= 1);
    }
}

#[test]
fn address_that_the_engine_announces_is_echoed_and_joined() {
    for family in FAMILIES {
        let Some(world) = world(&[NEAR, FAR]) else { return };
        let joined = |_: &PathSwitch| wait_until(|| count(&world, "MPJoinSynAckRx") >= 1);
        transfer_multipath(&world, &Case::kept_open(Role::Server, family), joined);
        assert!(count(&world, "AddAddr") >= 1);
        assert!(count(&world, "EchoAddTx") >= 1);
    }
}

#[test]
fn checksums_are_right_whoever_asks_for_them() {
    for role in ROLES {
        for (ours, theirs) in [(true, "0"), (false, "1"), (true, "1")] {
            let Some(world) = world(&[NEAR, FAR]) else { return };
            world.peer.set("mptcp.checksum_enabled", theirs).expect("a setting of ours");
            let mut case = Case::new(role, Family::V4);
            case.config.checksum = ours;
            transfer_multipath(&world, &case, |_| {});
        }
    }
}

#[test]
fn options_that_vanish_in_the_handshake_leave_plain_tcp() {
    for role in ROLES {
        for stage in [Stage::Syn, Stage::SynAck, Stage::AfterSyn] {
            let Some(world) = world(&[NEAR]) else { return };
            *world.control(0).strip.lock().expect("no panic") = Some(stage);
            let case = Case::new(role, Family::V4);
            transfer(&world, &Case { size: MIB, becomes_tcp: true, ..case }, |_| {});
            // A server that never saw the option does not know of a fallback.
            let unknown = role == Role::Client && stage == Stage::Syn;
            let fallbacks: u64 = FALLBACKS.iter().map(|name| count(&world, name)).sum();
            assert_eq!(fallbacks >= 1, !unknown, "{role:?} {stage:?}: {fallbacks}");
        }
    }
}

#[test]
fn options_that_vanish_in_mid_stream_leave_plain_tcp() {
    for role in ROLES {
        vanish_in_mid_stream(role, |world| {
            *world.control(0).strip.lock().expect("no panic") = Some(Stage::AfterSyn);
            true
        });
    }
}

/// The engine used to end a second after the kernel had closed, whatever it still had queued.
#[test]
fn stream_of_plain_tcp_that_outlasts_the_peers_by_seconds_arrives_whole() {
    let distant = Conditions { delay: Duration::from_millis(50), drop_every: 0 };
    for role in ROLES {
        let Some(world) = world(&[distant]) else { return };
        *world.control(0).strip.lock().expect("no panic") = Some(Stage::AfterSyn);
        let case = Case::new(role, Family::V4);
        let (size, kernel_sends) = (MIB / 16, Some(1000));
        let case = Case { size, kernel_sends, becomes_tcp: true, ..case };
        thread::scope(|scope| {
            // In parallel to both halves: the kernel's last byte waits for what `transfer` carries
            // out meanwhile.
            scope.spawn(|| {
                wait_until(|| world.carried(0) > 20_000);
                world.control(0).cut.store(true, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1500));
                world.control(0).cut.store(false, Ordering::Relaxed);
            });
            transfer(&world, &case, |_| {});
        });
    }
}

/// Options vanish after some bytes; `take_away` returns whether it could remove them.
///
/// What we send must arrive whole. What the kernel sends is whole in most attempts: Linux 6.18
/// loses the end of its own stream now and then when it falls back so late, between two kernels
/// too, and closes as if nothing were missing. Then it is tried again. In one of some thousand
/// attempts on a busy machine its application then waits for good, to write and to read, though
/// it acknowledged everything that we sent and our FIN: this is tried again, too.
///
/// So it is after a reset: a host that retransmitted data on the level of the connection may not
/// fall back (RFC 8684 s3.7, `allow_infinite_fallback` in the kernel), and on a busy machine that
/// happens.
pub(crate) fn vanish_in_mid_stream(role: Role, take_away: impl Fn(&World) -> bool + Sync) {
    timekeeping::attempt(ATTEMPTS, || vanish_once(role, &take_away));
}

fn vanish_once(role: Role, take_away: &(impl Fn(&World) -> bool + Sync)) -> Result<(), String> {
    let Some(world) = world(&[NEAR]) else { return Ok(()) };
    let case = Case { becomes_tcp: true, ..Case::new(role, Family::V4) };
    let mut taken = true;
    let ends = connect(&world, &case, |_| {
        wait_until(|| world.carried(0) > CUT_AFTER);
        taken = take_away(&world);
    });
    if !taken {
        return Ok(());
    }
    let content = kernel::content(case.size);
    // What it sends again on the level of the connection is twice in the stream of the subflow.
    let again = count(&world, "MPTCPRetrans");
    let engine = match ends.engine {
        Err(StreamFailure::Reset) => {
            assert!(again > 0, "{role:?}: reset, though the kernel retransmitted nothing");
            return Err(format!("{role:?}: reset; the kernel retransmitted {again} times"));
        }
        other => other.expect("no failure"),
    };
    if again > 0 && !content.starts_with(&engine) {
        return Err(format!("{role:?}: the kernel retransmitted {again} times and fell back"));
    }
    assert!(content.starts_with(&engine), "{role:?}: what the engine received differs");
    let lost = content.len() - engine.len();
    match ends.kernel {
        Err(error) if lost > 0 && error.kind() == ErrorKind::WouldBlock => {}
        kernel => {
            let kernel = kernel.expect("no failure");
            assert!(kernel == content, "{role:?}: what the kernel received differs");
        }
    }
    (lost == 0)
        .then_some(())
        .ok_or(format!("{role:?}: the kernel closed before its last {lost} bytes"))
}

/// On a busy machine one path carried the whole transfer before the other one had its share, in one
/// run: then it is tried again.
#[test]
fn device_of_the_engine_that_goes_away_is_withdrawn_and_announced_again() {
    for role in ROLES {
        timekeeping::attempt(ATTEMPTS, || withdrawn_by_the_engine(role));
    }
}

fn withdrawn_by_the_engine(role: Role) -> Result<(), String> {
    let Some(world) = world(&[NEAR, FAR]) else { return Ok(()) };
    let is_used = AtomicBool::new(false);
    let away = |_: &PathSwitch| {
        // The connection is held open meanwhile.
        let used = comes_true(Duration::from_secs(5), || world.carried(1) > CUT_AFTER);
        is_used.store(used, Ordering::Relaxed);
        set_up(&world.engine, "tun1", false);
        // Changes of half a second are looked at together.
        thread::sleep(Duration::from_millis(700));
        set_up(&world.engine, "tun1", true);
    };
    let case = Case { size: 16 * MIB, ..Case::after_joins(role, Family::V4) };
    transfer_multipath(&world, &case, away);
    if !is_used.load(Ordering::Relaxed) {
        return Err(format!("{role:?}: {} bytes on the second path", world.carried(1)));
    }
    let withdrawn = count(&world, "RmAddr");
    assert!(withdrawn >= 1, "{role:?}: the kernel heard {withdrawn} REMOVE_ADDR");
    Ok(())
}

#[test]
fn losses_on_both_paths_cost_time_only() {
    for role in ROLES {
        for family in FAMILIES {
            let lossy = |path| Conditions { drop_every: 50, ..path };
            let Some(world) = world(&[lossy(NEAR), lossy(FAR)]) else { return };
            transfer_multipath(&world, &Case { size: MIB, ..Case::new(role, family) }, |_| {});
        }
    }
}

#[test]
fn backup_path_of_the_engine_carries_nothing_but_signals() {
    for attempt in 1..=ATTEMPTS {
        let Some(world) = world(&[NEAR, FAR]) else { return };
        let mut case = Case::new(Role::Client, Family::V4);
        case.config.backup = vec![Ipv4Addr::new(10, 1, 1, 2).into()];
        transfer_multipath(&world, &case, |_| {});
        assert!(count(&world, "MPJoinSynBackupRx") >= 1);
        let carried = world.carried(1);
        if carried < 10_000 {
            return;
        }
        // A busy machine lets the other path's timer run out, and then a backup is there for that.
        println!("attempt {attempt}: {carried} bytes on the backup path");
    }
    panic!("data on the backup path in each of {ATTEMPTS} attempts");
}

#[test]
fn path_that_is_cut_and_returns_loses_nothing() {
    for role in ROLES {
        for number in [0, 1] {
            // On a busy machine the other path may have carried everything before this one opens.
            let mut runs = (0..ATTEMPTS).map_while(|_| cut_and_return(role, number)).peekable();
            if runs.peek().is_none() {
                return;
            }
            assert!(runs.any(|was_cut| was_cut), "{role:?}, path {number}: it carries too little");
        }
    }
}

/// Whether the path carried enough to be cut; `None` without paths.
fn cut_and_return(role: Role, number: usize) -> Option<bool> {
    let world = world(&[NEAR, FAR])?;
    let was_cut = AtomicBool::new(false);
    let cut = |_: &PathSwitch| {
        if comes_true(PATIENCE / 2, || world.carried(number) > CUT_AFTER) {
            world.control(number).cut.store(true, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(600));
            world.control(number).cut.store(false, Ordering::Relaxed);
            was_cut.store(true, Ordering::Relaxed);
        }
    };
    let case = Case { size: 16 * MIB, ..Case::after_joins(role, Family::V4) };
    transfer_multipath(&world, &case, cut);
    Some(was_cut.into_inner())
}

/// The kernel sends the REMOVE_ADDR on one acknowledgement. Where other options leave no room for
/// it there (`mptcp_pm_rm_addr_signal`) it waits for another segment, and an idle connection has
/// none. That was seen on a busy machine; which options took the room was not established.
#[test]
fn address_that_the_kernel_withdraws_ends_its_subflow_only() {
    for (family, address) in [(Family::V4, "10.2.1.2"), (Family::V6, "fd02:1::2")] {
        timekeeping::attempt(ATTEMPTS, || withdrawn_by_the_kernel(family, address));
    }
}

fn withdrawn_by_the_kernel(family: Family, address: &str) -> Result<(), String> {
    let Some(world) = world(&[NEAR, FAR]) else { return Ok(()) };
    world.ip_mptcp(&format!("endpoint add {address} id 7 signal"));
    let is_sent = AtomicBool::new(false);
    let withdraw = |_: &PathSwitch| {
        wait_until(|| count(&world, "MPJoinAckRx") > 0);
        world.ip_mptcp("endpoint delete id 7");
        // The connection is held open meanwhile.
        let sent = comes_true(Duration::from_secs(2), || count(&world, "RmAddrTx") >= 1);
        is_sent.store(sent, Ordering::Relaxed);
    };
    let case = Case { size: 16 * MIB, ..Case::kept_open(Role::Client, family) };
    transfer_multipath(&world, &case, withdraw);
    let sent = is_sent.load(Ordering::Relaxed);
    sent.then_some(()).ok_or(format!("{family:?}: the kernel sent no REMOVE_ADDR"))
}

/// On a busy machine the MP_PRIO was not sent in some attempts, as the REMOVE_ADDR.
#[test]
fn priority_that_the_kernel_changes_is_accepted() {
    for role in ROLES {
        timekeeping::attempt(ATTEMPTS, || changed_by_the_kernel(role));
    }
}

fn changed_by_the_kernel(role: Role) -> Result<(), String> {
    let Some(world) = world(&[NEAR, FAR]) else { return Ok(()) };
    world.ip_mptcp("endpoint add 10.2.1.2 id 7 subflow signal");
    let is_sent = AtomicBool::new(false);
    let change = |_: &PathSwitch| {
        wait_until(|| count(&world, "MPJoinAckRx") + count(&world, "MPJoinSynAckRx") > 0);
        world.ip_mptcp("endpoint change id 7 backup");
        thread::sleep(Duration::from_millis(50));
        world.ip_mptcp("endpoint change id 7 nobackup");
        let sent = comes_true(Duration::from_secs(2), || count(&world, "MPPrioTx") >= 1);
        is_sent.store(sent, Ordering::Relaxed);
    };
    let case = Case { size: 16 * MIB, ..Case::kept_open(role, Family::V4) };
    transfer_multipath(&world, &case, change);
    let sent = is_sent.load(Ordering::Relaxed);
    sent.then_some(()).ok_or(format!("{role:?}: the kernel sent no MP_PRIO"))
}

#[test]
fn priority_that_the_engine_changes_is_heard() {
    for role in ROLES {
        let Some(world) = world(&[NEAR, FAR]) else { return };
        let change = |switch: &PathSwitch| {
            wait_until(|| count(&world, "MPJoinAckRx") + count(&world, "MPJoinSynAckRx") > 0);
            let address = Ipv4Addr::new(10, 1, 1, 2).into();
            for (number, backup) in [(1, true), (2, false), (3, true)] {
                switch.set_backup(address, backup);
                wait_until(|| count(&world, "MPPrioRx") >= number);
            }
        };
        let case = Case { size: 16 * MIB, ..Case::kept_open(role, Family::V4) };
        transfer_multipath(&world, &case, change);
        // The second path was for all at first, and at last for none.
        assert!(world.carried(1) < case.size as u64 / 2, "{} bytes", world.carried(1));
    }
}

#[test]
fn kernel_that_aborts_resets_the_engine() {
    for role in ROLES {
        let Some(world) = world(&[NEAR, FAR]) else { return };
        let case = Case { kernel_closes: Close::Abort(MIB), ..Case::new(role, Family::V4) };
        let ends = connect(&world, &case, |_| {});
        assert_eq!(ends.engine, Err(StreamFailure::Reset));
        assert!(count(&world, "MPFastcloseTx") >= 1);
    }
}

#[test]
fn sixty_four_mebibytes_both_ways_over_one_and_two_paths() {
    for role in ROLES {
        for paths in [&[NEAR][..], &[NEAR, FAR]] {
            let Some(world) = world(paths) else { return };
            let case = Case { size: large_size(), ..Case::new(role, Family::V4) };
            let took = transfer_multipath(&world, &case, |_| {});
            for number in 0..paths.len() {
                let carried = world.carried(number);
                assert!(carried > case.size as u64 / 20, "path {number}: {carried} bytes");
            }
            let rate = 8.0 * case.size as f64 / took.as_secs_f64() / 1e6;
            println!("{role:?}, {} paths: {rate:.0} Mbit/s each way", paths.len());
        }
    }
}

/// 64 MiB; more for a soak test.
fn large_size() -> usize {
    let mebibytes = std::env::var("ANABRANCH_SOAK_MIB").ok().and_then(|text| text.parse().ok());
    mebibytes.unwrap_or(64) * MIB
}

#[test]
fn engine_that_aborts_resets_the_kernel() {
    for role in ROLES {
        let Some(world) = world(&[NEAR, FAR]) else { return };
        let mut case = Case { engine_aborts_at: Some(MIB), ..Case::new(role, Family::V4) };
        // A stream that was closed before the abort may have been read to its end by the kernel.
        case.engine_closes = Close::Second;
        let ends = connect(&world, &case, |_| {});
        let outcome = ends.kernel.map(|received| received.len());
        let error = outcome.expect_err("a reset");
        println!("{role:?} {error}");
        assert!(count(&world, "MPFastcloseRx") >= 1);
    }
}
