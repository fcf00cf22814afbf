//! Tests of the output of `emulate`, and of the programs it starts.

use super::*;
use base::Duration;
use lab::Given;

fn path(text: &str) -> PathSpec {
    PathSpec::parse(&Given::argument("--path", text)).expect("a path")
}

fn accuracy(realtime: bool) -> Accuracy {
    let one = linux::emulator::PathAccuracy {
        path: "wlan".to_owned(),
        direction: network::Direction::Down,
        delay_error: 118e-6,
        delay_error_p90: 150e-6,
        rate_error: Some(-0.002),
        sent: 150,
        lost: 2,
        misjudged: 0,
    };
    let quality = linux::RunQuality {
        packets: 100,
        late_share: 0.0,
        too_late: 0,
        median: Duration::from_micros(1),
        p99: Duration::from_micros(70),
        max: Duration::from_micros(900),
        longest_wait: Duration::ZERO,
        device_drops: 0,
        refused: 0,
    };
    Accuracy { paths: vec![one], realtime, quality }
}

fn said(side: Side, over: Result<Protocol, NoMptcp>, realtime: bool) -> String {
    let paths =
        [path("wlan='rate 25mbit delay 20ms loss 1% limit 100p'"), path("lte='rate 8mbit'")];
    banner(&Banner {
        paths: &paths,
        first: 1,
        accuracy: &accuracy(realtime),
        side,
        over,
        other: Path::new("/proc/7/fd/9"),
        in_user_namespace: !realtime,
        is_shell: realtime,
    })
}

#[test]
fn banner_says_paths_addresses_errors_and_how_programs_connect() {
    assert_eq!(
        said(Side::Client, Ok(Protocol::Mptcp), true),
        "\
emulating; measured errors: delay +0.118 ms, rate -0.20 %, every loss as drawn
  wlan  client 10.0.0.1    server 10.0.0.2    rate 25mbit delay 20ms loss 1% limit 100p
  lte   client 10.0.1.1    server 10.0.1.2    rate 8mbit delay 0ms limit 1000p
Programs run over MPTCP (mptcpize): to 10.0.1.2 over all paths, lte first.
--tcp turns that off.
A shell in the server: nsenter --net=/proc/7/fd/9 $SHELL
This is a shell in the client; `exit` ends the emulation."
    );
}

#[test]
fn banner_says_what_is_missing_and_what_adds_it() {
    assert_eq!(
        said(Side::Server, Err(NoMptcp::Mptcpize), false),
        "\
emulating in a user namespace; measured errors: delay +0.118 ms, rate -0.20 %, every loss as \
         drawn (without real-time priority: needs root)
  wlan  client 10.0.0.1    server 10.0.0.2    rate 25mbit delay 20ms loss 1% limit 100p
  lte   client 10.0.1.1    server 10.0.1.2    rate 8mbit delay 0ms limit 1000p
Programs run over TCP: mptcpize, which makes them use MPTCP, is not installed
(sudo apt-get install mptcpize). To 10.0.1.1 over lte.
A shell in the client: nsenter --net=/proc/7/fd/9 $SHELL"
    );
    assert!(
        said(Side::Client, Err(NoMptcp::Kernel), true)
            .contains("this kernel does not support MPTCP.")
    );
}

#[test]
fn what_is_said_before_and_after_a_program() {
    let link = |delivered, lost, dropped_full| network::LinkStats {
        delivered,
        lost,
        dropped_full,
        ..network::LinkStats::default()
    };
    let quality = accuracy(true).quality;
    let links = vec![network::PathCounters { down: link(1200, 12, 3), up: link(700, 0, 0) }];
    let record = EmulatedRecord { links, quality, nics: Vec::new(), captures: None };
    let paths = [path("wlan='rate 25mbit delay 20ms loss 1% limit 100p'")];
    let text = [
        said(Side::Client, Ok(Protocol::Mptcp), true),
        said(Side::Client, Ok(Protocol::Tcp), false),
        said(Side::Server, Err(NoMptcp::Mptcpize), false),
        said(Side::Client, Err(NoMptcp::Kernel), true),
        summary(&paths, &record),
        idle_note(&[Key::Runs]).expect("a note"),
        idle_note(&[Key::Traffic, Key::Cc]).expect("a note"),
    ];
    assert_eq!(idle_note(&[]), None);
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_path("../snapshots");
    settings.bind(|| insta::assert_snapshot!("emulation", text.join("\n\n")));
}

#[test]
fn exit_code_is_the_programs_or_its_signal() {
    assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
    assert_eq!(exit_code(ExitStatus::from_raw(2)), 130);
}

#[test]
fn program_is_found_if_it_can_be_executed() {
    assert!(program_in_path("sh"));
    assert!(!program_in_path("anabranch-no-such-program"));
}
