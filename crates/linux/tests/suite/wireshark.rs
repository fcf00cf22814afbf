//! Captures of live runs in tshark: nothing malformed, checksums good, the token of each join the
//! expected one, every subflow of the one connection; and what happens after MP_PRIO.

use crate::connection::{Case, Role, count, transfer_multipath, world};
use crate::forwarder::Conditions;
use crate::timekeeping;
use crate::transfer::Folder;
use crate::world::{Family, PORT, wait_until};
use linux::PathSwitch;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

const MIB: usize = 1 << 20;
const NEAR: Conditions = Conditions { delay: Duration::from_millis(2), drop_every: 0 };
const FAR: Conditions = Conditions { delay: Duration::from_millis(5), drop_every: 0 };

/// The columns asked of tshark, in this order.
const FIELDS: [&str; 11] = [
    "_ws.malformed",
    "ip.checksum.status",
    "tcp.checksum.status",
    "mptcp.stream",
    "tcp.stream",
    "tcp.options.mptcp.subtype",
    "mptcp.expected_token",
    "tcp.options.mptcp.recvtok",
    "tcp.len",
    "frame.interface_name",
    "frame.time_relative",
];

/// A frame.
struct Row(Vec<String>);

impl Row {
    fn column(&self, name: &str) -> &str {
        let index = FIELDS.iter().position(|field| *field == name).expect("a column");
        &self.0[index]
    }

    /// Whether it has an option of this subtype.
    fn has(&self, subtype: &str) -> bool {
        self.column("tcp.options.mptcp.subtype").split(',').any(|each| each == subtype)
    }
}

/// The frames of a capture that match; `None`, after printing it, without tshark.
fn rows(file: &Path, filter: &str) -> Option<Vec<Row>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-Y", filter, "-T", "fields", "-E", "separator=;"]);
    for check in ["ip", "tcp"] {
        command.args(["-o", &format!("{check}.check_checksum:TRUE")]);
    }
    // The content is random and must not be dissected by port number.
    command.args(["-d", &format!("tcp.port=={PORT},data")]);
    command.args(FIELDS.iter().flat_map(|field| ["-e", *field]));
    let Ok(output) = command.output() else {
        println!("skipped: tshark not found");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(|row| Row(row.split(';').map(str::to_owned).collect())).collect())
}

/// Distinct values of a column, without the empty one, in the order of their appearance.
fn distinct<'a>(rows: &'a [Row], column: &str) -> Vec<&'a str> {
    let mut values: Vec<&str> = Vec::new();
    for value in rows.iter().map(|row| row.column(column)).filter(|value| !value.is_empty()) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

#[test]
fn tshark_finds_one_connection_and_nothing_wrong_in_live_captures() {
    let folder = Folder::new("wireshark");
    for role in [Role::Client, Role::Server] {
        for family in [Family::V4, Family::V6] {
            timekeeping::attempt(3, || both_subflows_of_a_capture(&folder, role, family));
        }
    }
}

/// A transfer is as `tshark` expects it. That the second subflow carries data, too, depends on
/// time: it must have joined before the first one has sent everything.
fn both_subflows_of_a_capture(folder: &Folder, role: Role, family: Family) -> Result<(), String> {
    let Some(world) = world(&[NEAR, FAR]) else { return Ok(()) };
    let file = folder.0.join("live.pcapng");
    let mut case = Case { size: MIB, ..Case::new(role, family) };
    case.config.checksum = true;
    case.capture = Some(file.clone());
    transfer_multipath(&world, &case, |_| {});
    let Some(rows) = rows(&file, "tcp") else { return Ok(()) };
    assert!(rows.len() > 1000, "{} frames", rows.len());
    assert_eq!(distinct(&rows, "_ws.malformed"), [""; 0]);
    assert_eq!(distinct(&rows, "tcp.checksum.status"), ["1"], "1: good");
    let of_ip = distinct(&rows, "ip.checksum.status");
    assert_eq!(of_ip, if family == Family::V4 { &["1"][..] } else { &[] });
    assert_eq!(distinct(&rows, "mptcp.stream"), ["0"], "{role:?} {family:?}");
    let data = rows.iter().filter(|row| row.column("tcp.len") != "0");
    assert!(data.clone().all(|row| row.has("2") || row.has("0")), "data are mapped");
    let mut subflows: Vec<&str> = data.map(|row| row.column("tcp.stream")).collect();
    subflows.sort_unstable();
    subflows.dedup();
    if subflows.len() < 2 {
        return Err(format!("{role:?} {family:?}: data on {subflows:?} only"));
    }
    // A join names the token of the end that it goes to.
    let tokens = distinct(&rows, "tcp.options.mptcp.recvtok");
    let expected = distinct(&rows, "mptcp.expected_token");
    assert!(!tokens.is_empty() && expected.len() == 2, "{tokens:?} {expected:?}");
    assert!(tokens.iter().all(|token| expected.contains(token)), "{tokens:?} {expected:?}");
    Ok(())
}

#[test]
fn subflow_that_is_to_be_spared_carries_no_data_until_it_is_to_be_used_again() {
    let folder = Folder::new("spared");
    for role in [Role::Client, Role::Server] {
        let Some(world) = world(&[NEAR, FAR]) else { return };
        let change = |switch: &PathSwitch| {
            wait_until(|| count(&world, "MPJoinAckRx") + count(&world, "MPJoinSynAckRx") > 0);
            let address = Ipv4Addr::new(10, 1, 1, 2).into();
            switch.set_backup(address, true);
            wait_until(|| count(&world, "MPPrioRx") > 0);
            thread::sleep(Duration::from_millis(150));
        };
        let file = folder.0.join("live.pcapng");
        let case = Case {
            size: 8 * MIB,
            capture: Some(file.clone()),
            ..Case::kept_open(role, Family::V4)
        };
        transfer_multipath(&world, &case, change);
        let Some(rows) = rows(&file, "tcp && frame.interface_name == tun1") else { return };
        let time = |row: &Row| row.column("frame.time_relative").parse::<f64>().expect("a time");
        let told = rows.iter().rfind(|row| row.has("5")).map(time).expect("MP_PRIO");
        // What was in flight or queued then takes a few round trips; what both ends send again
        // of it, a time-out.
        let late = |row: &&Row| time(row) > told + 0.5 && row.column("tcp.len") != "0";
        assert_eq!(rows.iter().filter(late).count(), 0, "{role:?}");
    }
}
