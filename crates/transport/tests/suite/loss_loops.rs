//! Lose the n-th packet, n = 1, 2, 3 ..., over whole connections from SYN to the last FIN, until
//! a run passes untouched; and likewise late, twice and damaged.

use crate::fate::{Fate, Rule};
use crate::pair::{Pair, Setup, Side};
use base::Duration;
use transport::{Profile, TcpConfig};

/// A connection from SYN to the end of TIME-WAIT.
struct Script {
    client: u32,
    server: u32,
    /// Who closes first; the other follows once it saw the end. `None`: both at once.
    closes: Option<Side>,
}

fn run(script: &Script, profile: Profile, rule: Rule) -> Pair {
    let mut pair = Setup::with(TcpConfig { profile, ..TcpConfig::default() }).idle();
    pair.rule(rule);
    pair.connect(0);
    pair.write(Side::Client, script.client);
    pair.write(Side::Server, script.server);
    let limit = Duration::from_secs(30);
    match script.closes {
        None => {
            pair.shutdown(Side::Client);
            pair.shutdown(Side::Server);
        }
        Some(side) => {
            pair.shutdown(side);
            pair.run_until("end of stream", limit, |pair| pair.end(side.other()).ended);
            pair.shutdown(side.other());
        }
    }
    pair.drive_bounded(limit);
    pair.assert_intact();
    assert!(Side::BOTH.iter().all(|side| pair.end(*side).failure().is_none()));
    pair.drive();
    for side in Side::BOTH {
        assert_eq!(pair.state(side), "CLOSED");
    }
    pair
}

const SCRIPTS: [Script; 6] = [
    Script { client: 0, server: 0, closes: Some(Side::Client) },
    Script { client: 0, server: 0, closes: None },
    Script { client: 1, server: 20_000, closes: Some(Side::Server) },
    Script { client: 20_000, server: 1, closes: Some(Side::Server) },
    Script { client: 5_000, server: 5_000, closes: None },
    Script { client: 20_000, server: 20_000, closes: Some(Side::Client) },
];

/// Gives `fate` to the n-th packet of each direction in turn until there is no such packet.
fn for_each_packet(profile: Profile, fate: Fate) {
    for script in &SCRIPTS {
        for side in Side::BOTH {
            for n in 1.. {
                let rule: Rule =
                    Box::new(
                        move |sight| {
                            if sight.from == side && sight.n == n { fate } else { Fate::Pass }
                        },
                    );
                let pair = run(script, profile, rule);
                if pair.log.iter().all(|sent| sent.fate == Fate::Pass) {
                    assert!(n > 3, "handshake and close have packets");
                    break;
                }
            }
        }
    }
}

#[test]
fn losing_any_packet_does_no_harm() {
    for (profile, _) in Profile::ALL {
        for_each_packet(profile, Fate::Drop);
    }
}

#[test]
fn damaging_any_packet_does_no_harm() {
    for_each_packet(Profile::Linux, Fate::Damage);
}

#[test]
fn doubling_any_packet_does_no_harm() {
    for_each_packet(Profile::Linux, Fate::Twice(Duration::ZERO));
    for_each_packet(Profile::Linux, Fate::Twice(Duration::from_millis(500)));
}

#[test]
fn delaying_any_packet_does_no_harm() {
    for_each_packet(Profile::Linux, Fate::Late(Duration::from_millis(5)));
    for_each_packet(Profile::Linux, Fate::Late(Duration::from_millis(1500)));
}

#[test]
fn losing_any_two_neighbours_does_no_harm() {
    for script in &SCRIPTS {
        for side in Side::BOTH {
            for n in 1..20 {
                let rule: Rule = Box::new(move |sight| {
                    let lost = sight.from == side && (sight.n == n || sight.n == n + 1);
                    if lost { Fate::Drop } else { Fate::Pass }
                });
                run(script, Profile::Linux, rule);
            }
        }
    }
}

#[test]
fn losing_everything_for_any_half_second_does_no_harm() {
    for script in &SCRIPTS {
        for from in (0..400).step_by(20) {
            let since = base::Instant::from_millis(from);
            let until = since + Duration::from_millis(500);
            let rule: Rule = Box::new(move |sight| {
                if sight.now >= since && sight.now < until { Fate::Drop } else { Fate::Pass }
            });
            run(script, Profile::Linux, rule);
        }
    }
}
