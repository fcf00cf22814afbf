//! On one path NewReno and the coupled controls send the same packets.

use base::{Duration, Rate};
use network::{Limit, LinkConfig, LossConfig, PathSetup};
use simulator::{Carrier, Multipath, RunSetup, simulate};
use traffic::Traffic;
use transport::{Profile, Protocol, TcpConfig};

/// 8 Mbit/s, 60 ms, a short queue and some loss: every part of a window's life.
fn setup(congestion: &'static str, profile: Profile, carrier: Carrier) -> RunSetup {
    let link = LinkConfig {
        capacity: Rate::from_mbit(8).into(),
        delay: Duration::from_millis(30),
        limit: Limit::Packets(40),
        loss: LossConfig::Bernoulli { p: 0.002 },
        ..LinkConfig::default()
    };
    let (name, events) = ("p0".to_owned(), Vec::new());
    let path = PathSetup { name, down: link.clone(), up: link, events };
    let traffic = Traffic::BulkTime(Duration::from_secs(30));
    let mut setup = RunSetup::new(vec![path], carrier, traffic);
    setup.flows[0].tcp =
        TcpConfig { congestion: congestion.parse().unwrap(), profile, ..TcpConfig::default() };
    setup
}

#[test]
fn one_path_runs_alike_under_every_coupled_control() {
    for profile in [Profile::Linux, Profile::Linux41] {
        for carrier in [Carrier::Single(Protocol::Tcp), Multipath::default().into()] {
            let hash =
                |congestion| simulate(&setup(congestion, profile, carrier.clone())).unwrap().hash();
            let reno = hash("reno");
            assert!(reno.is_some() && reno != hash("cubic"));
            for congestion in ["lia", "olia", "olia-draft", "balia", "wvegas"] {
                assert_eq!(hash(congestion), reno, "{congestion} {profile:?} {carrier:?}");
            }
        }
    }
}
