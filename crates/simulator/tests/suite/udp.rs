//! Datagrams over simulated links: loss is loss, fragments are packets, nothing is sent again.

use crate::pair::{link, one_path, record};
use base::{Duration, Rate};
use harness::RunRecord;
use network::{Limit, LinkConfig, LossConfig, NicSetup};
use simulator::{Carrier, FlowSetup, RunSetup, simulate};
use traffic::model::onoff::OnOff;
use traffic::model::udp::Udp;
use traffic::{Draws, Traffic};
use transport::Protocol;

const UDP: Carrier = Carrier::Single(Protocol::Udp);

fn datagrams(kbit: u64, bytes: u32, seconds: u64) -> Traffic {
    let time = Duration::from_secs(seconds);
    Traffic::Udp(Udp { rate: Rate::from_bps(kbit * 1000), time, bytes })
}

fn setup(link: &LinkConfig, traffic: Traffic) -> RunSetup {
    let mut setup = one_path(link, traffic);
    setup.flows[0].carrier = UDP;
    setup
}

fn number(record: &RunRecord, name: &str) -> f64 {
    let extra = &record.outcome.extra;
    extra.iter().find(|(known, _)| *known == name).expect("a number").1
}

#[test]
fn datagram_takes_serialisation_and_propagation() {
    for reverse in [false, true] {
        let mut setup = setup(&link(10, 20), datagrams(1000, 1222, 10));
        setup.flows[0].reverse = reverse;
        let record = record(&setup);
        // 1250 bytes at 10 Mbit/s, and 10 us at the NIC.
        let delay = record.outcome.value.expect("complete");
        assert!((delay - 0.02101).abs() < 1e-6, "{delay}");
        assert_eq!(number(&record, "lost"), 0.0);
        assert!(number(&record, "interarrival_jitter") < 1e-9);
        assert_eq!(record.flows[0].sent.first_sent_bytes.len(), 1);
        assert!(record.flows[0].sent.first_sent_bytes[0] >= record.outcome.bytes_read);
        assert!(record.outcome.bytes_read >= 1_249_000);
    }
}

#[test]
fn random_loss_is_the_share_lost_and_of_frames_that_of_any_fragment() {
    let lossy = |p| LinkConfig { loss: LossConfig::Bernoulli { p }, ..link(20, 10) };
    let record = record(&setup(&lossy(0.05), datagrams(5000, 1250, 60)));
    let lost = number(&record, "lost");
    assert!((lost - 0.05).abs() < 0.005, "{lost}");
    // Four fragments each: 1 - 0.95^4.
    let frames = setup(&lossy(0.05), datagrams(5000, 5000, 60));
    let lost = number(&crate::pair::record(&frames), "lost");
    assert!((lost - 0.1855).abs() < 0.02, "{lost}");
}

/// RFC 791 s3.2: a queue knows nothing of datagrams.
#[test]
fn queue_counts_and_drops_fragments_as_packets() {
    // 12.5 frames of 5000 bytes a second at once over a link that takes 1.2 ms for each fragment.
    let traffic = datagrams(500, 5000, 10);
    let fits = LinkConfig { limit: Limit::Packets(3), ..link(10, 10) };
    let record = record(&setup(&fits, traffic.clone()));
    let down = record.links[0].down;
    // The end comes at once behind the last frame, and is said again.
    assert_eq!((number(&record, "lost"), down.dropped_full), (0.0, 1));
    let frames = record.outcome.parts.len() as u64;
    assert_eq!(frames, 125);
    // Four of each frame, and the end.
    assert!((4 * frames..4 * frames + 2).contains(&down.delivered), "{down:?}");
    assert_eq!(down.max_backlog.packets, 3);
    let small = LinkConfig { limit: Limit::Packets(2), ..link(10, 10) };
    let mut setup = setup(&small, traffic);
    // All fragments at once: the NIC does not spread them.
    setup.network.nic = None;
    let record = simulate(&setup).expect("a run");
    let down = record.links[0].down;
    assert_eq!(down.dropped_full, frames + 1, "the last fragment of every frame, and the end");
    assert!(!record.outcome.is_complete());
    assert_eq!(record.outcome.message_delays, [] as [f64; 0]);
}

#[test]
fn rate_above_the_link_s_is_lost_and_fills_the_queue() {
    let narrow = LinkConfig { limit: Limit::Packets(50), ..link(5, 10) };
    let record = record(&setup(&narrow, datagrams(10_000, 1472, 30)));
    let lost = number(&record, "lost");
    assert!((lost - 0.51).abs() < 0.02, "{lost}");
    // 50 packets of 2.4 ms wait.
    let delay = record.outcome.value.expect("complete");
    assert!((delay - 0.13).abs() < 0.005, "{delay}");
}

#[test]
fn damaged_repeated_and_delayed_datagrams_are_no_defect() {
    let mut hostile = LinkConfig { corrupt: 0.02, duplicate: 0.05, ..link(20, 10) };
    hostile.reorder = 0.05;
    let mut setup = setup(&hostile, datagrams(4000, 4000, 20));
    setup.recording.pass_through = true;
    let record = record(&setup);
    let lost = number(&record, "lost");
    // Three fragments each: 1 - 0.98^3.
    assert!((lost - 0.0588).abs() < 0.02, "{lost}");
}

#[test]
fn byte_form_of_fragments_changes_nothing_and_capture_has_them() {
    let mut setup = setup(&link(10, 20), datagrams(2000, 5000, 5));
    let plain = record(&setup);
    setup.recording.pass_through = true;
    setup.recording.capture = true;
    let through = record(&setup);
    assert_eq!((plain.hash(), &plain.outcome), (through.hash(), &through.outcome));
    let captures = through.captures.expect("captures");
    let packets = wire::CaptureReader::new(&captures.receiver).expect("a capture").count();
    assert!(packets >= 4 * plain.outcome.parts.len(), "{packets}");
    setup.network.nic = Some(NicSetup::default());
}

/// 000 s4.4, Background: one saturated TCP flow and four on-off UDP flows.
#[test]
fn on_off_flows_compete_with_tcp_and_leave_it_their_share() {
    let bulk = Traffic::BulkTime(Duration::from_secs(60));
    let alone = record(&one_path(&link(20, 20), bulk.clone()));
    let mut setup = one_path(&link(20, 20), bulk);
    for number in 0..4 {
        let draws = Draws::new((1, 0), number);
        let time = Duration::from_secs(60);
        let onoff = Traffic::OnOff(OnOff { rate: Rate::from_bps(500_000), time, draws });
        setup.flows.push(FlowSetup { carrier: UDP, ..FlowSetup::new(&[0], onoff) });
    }
    let record = record(&setup);
    let background: f64 = record.competing().iter().filter_map(|flow| flow.goodput).sum();
    assert!((1.2e6..2.8e6).contains(&background), "{background}");
    let [before, after] = [&alone, &record].map(|run| run.outcome.value.expect("complete"));
    assert!(after < before - 0.7 * background, "{before} {after} {background}");
    assert!(after > before - 1.6 * background, "{before} {after} {background}");
    assert!(record.competing().iter().all(|flow| flow.failure.is_none()));
    assert_eq!(record.competing()[0].sent.retransmitted_segs, 0);
}
