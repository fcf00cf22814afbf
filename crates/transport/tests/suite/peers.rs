//! Peers with fewer features: no SACK (NewReno, RFC 6582), no timestamps, no window scale, no
//! options at all, tiny segments. Data arrive all the same, under loss, too.

use crate::bare::{Bare, modern};
use crate::fate::{Fate, data};
use crate::middlebox::strip;
use crate::pair::{Pair, Setup, Side};
use base::{CaState, Duration};
use transport::{Profile, TcpConfig};
use wire::TcpOptions;

const SECOND: Duration = Duration::from_secs(1);

type Change = fn(TcpOptions) -> TcpOptions;

const PEERS: [(&str, Change); 6] = [
    ("all", |options| options),
    ("no SACK", |options| TcpOptions { sack_permitted: false, ..options }),
    ("no timestamps", |options| TcpOptions { timestamps: None, ..options }),
    ("no window scale", |options| TcpOptions { window_scale: None, ..options }),
    ("MSS 536", |options| TcpOptions { mss: Some(536), ..options }),
    ("no options", |_| TcpOptions::default()),
];

fn connected(profile: Profile, change: Change) -> Pair {
    let config = TcpConfig { profile, ..TcpConfig::default() };
    let mut pair = Setup::with(config).idle();
    pair.mangle = Some(strip(change));
    pair.connect(0);
    pair
}

#[test]
fn data_arrive_from_and_at_any_peer_under_loss() {
    for (profile, _) in Profile::ALL {
        for (name, change) in PEERS {
            let mut pair = connected(profile, change);
            pair.rule(Box::new(|sight| {
                let lost = sight.n.wrapping_mul(2_654_435_761) >> 7 & 31 == 0;
                if lost && sight.payload_len() > 0 { Fate::Drop } else { Fate::Pass }
            }));
            pair.write(Side::Client, 300_000);
            pair.write(Side::Server, 200_000);
            pair.shutdown(Side::Client);
            pair.shutdown(Side::Server);
            pair.drive_bounded(SECOND * 60);
            pair.assert_intact();
            let lost = pair.log.iter().filter(|sent| sent.fate == Fate::Drop).count();
            assert!(lost > 5, "{name}: {lost} lost");
        }
    }
}

#[test]
fn peer_without_sack_gets_a_fast_retransmit_at_the_third_duplicate() {
    let no_sack = TcpOptions { sack_permitted: false, ..modern() };
    let mut bare = Bare::accepted(TcpConfig::default(), no_sack);
    bare.write(10 * 1448);
    bare.wait_ms(40);
    assert!(bare.ack(0).is_empty());
    assert!(bare.ack(0).is_empty());
    let sent = bare.ack(0);
    assert_eq!(sent.len(), 1);
    assert_eq!(bare.position(sent[0].seq), 0, "RFC 5681 s3.2");
    assert_eq!(bare.info().ca_state, CaState::Recovery);
}

#[test]
fn peer_without_sack_has_each_hole_repaired_by_a_partial_acknowledgement() {
    let no_sack = TcpOptions { sack_permitted: false, ..modern() };
    let mut bare = Bare::accepted(TcpConfig::default(), no_sack);
    bare.write(10 * 1448);
    bare.wait_ms(40);
    (0..5).for_each(|_| drop(bare.ack(0)));
    bare.wait_ms(40);
    let sent = bare.ack(3 * 1448);
    assert_eq!(bare.position(sent[0].seq), 3 * 1448, "RFC 6582 s3.2 step 3");
    bare.wait_ms(40);
    bare.ack(10 * 1448);
    assert_eq!(bare.info().ca_state, CaState::Open);
}

#[test]
fn peer_without_sack_and_one_loss_needs_no_time_out() {
    let mut pair =
        connected(Profile::Linux, |options| TcpOptions { sack_permitted: false, ..options });
    pair.write(Side::Client, 100_000);
    pair.drive_bounded(SECOND);
    pair.rule(data(Side::Client, &[5], Fate::Drop));
    pair.write(Side::Client, 100_000);
    pair.drive_bounded(SECOND);
    pair.assert_intact();
    assert!(!pair.timer_names(Side::Client).contains(&"rto"));
    assert_eq!(pair.retransmissions(Side::Client).len(), 1);
}

#[test]
fn peer_without_sack_and_many_losses_needs_no_time_out() {
    let mut pair =
        connected(Profile::Linux, |options| TcpOptions { sack_permitted: false, ..options });
    pair.write(Side::Client, 200_000);
    pair.drive_bounded(SECOND);
    pair.rule(data(Side::Client, &[5, 8, 11, 20], Fate::Drop));
    pair.write(Side::Client, 100_000);
    pair.drive_bounded(SECOND * 2);
    pair.assert_intact();
    assert!(!pair.timer_names(Side::Client).contains(&"rto"), "{:?}", pair.timers(Side::Client));
    assert_eq!(pair.retransmissions(Side::Client).len(), 4);
}

#[test]
fn segments_leave_room_for_the_options_agreed_on() {
    let sizes = PEERS.map(|(name, change)| {
        let mut pair = connected(Profile::Linux, change);
        pair.write(Side::Client, 50_000);
        pair.drive_bounded(SECOND);
        (name, pair.data_sent(Side::Client)[0].len())
    });
    let expected = [
        ("all", 1448),
        ("no SACK", 1448),
        ("no timestamps", 1460),
        ("no window scale", 1448),
        ("MSS 536", 524),
        ("no options", 536),
    ];
    assert_eq!(sizes, expected);
}
