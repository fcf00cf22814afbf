//! Opening, joining, transferring, closing.

use crate::pair::{Pair, Path, Side, byte, tcp};
use base::Duration;
use transport::mptcp::MptcpConfig;

fn two_paths() -> Pair {
    Pair::new(&[Path::ms(10), Path::ms(35)], MptcpConfig::default(), MptcpConfig::default())
}

#[test]
fn both_paths_carry_a_download() {
    let mut pair = two_paths();
    pair.transfer(1, 4 << 20);
    let info = pair.info(Side::Server);
    assert!(!info.fallback);
    assert_eq!(info.paths.len(), 2, "two addresses each, one pair per subnet");
    assert!(pair.data_packets.iter().all(|count| *count >= 10), "{:?}", pair.data_packets);
    assert_eq!(info.refused, 0);
    assert_eq!(pair.info(Side::Client).refused, 0);
}

#[test]
fn both_directions_close_with_data_fins() {
    let mut pair = two_paths();
    pair.transfer(100_000, 300_000);
    pair.run_until(Duration::from_secs(10), |pair| {
        pair.ends.iter().all(|end| end.closed && end.ended)
    });
    for side in [Side::Client, Side::Server] {
        assert!(pair.info(side).paths.iter().all(|subflow| subflow.tcp.bytes_retrans == 0));
    }
}

/// Regression: the DATA_FIN came 200 ms after an answer that the window admitted at once, if there
/// was one path, and the answer was written and ended before anything was sent.
#[test]
fn end_follows_a_short_answer_at_once() {
    let mut pair = Pair::new(&[Path::ms(10)], MptcpConfig::default(), MptcpConfig::default());
    pair.finish = false;
    pair.transfer(1, 0);
    let (mut cx, socket) = (pair.cx(Side::Server), pair.socket(Side::Server));
    let answer: Vec<u8> = (0..5_000).map(|offset| byte(Side::Server, offset)).collect();
    let stack = pair.stack(Side::Server);
    assert_eq!(stack.write(&mut cx, socket, &answer.into()), Ok(5_000));
    assert_eq!(stack.shutdown(&mut cx, socket), Ok(()));
    let start = pair.now;
    pair.settle();
    pair.expect("the end", Duration::from_millis(50), |pair| pair.ends[0].ended);
    assert_eq!(pair.ends[0].got, 5_000, "after {}", pair.now - start);
}

#[test]
fn a_single_path_is_enough() {
    let mut pair = Pair::new(&[Path::ms(10)], MptcpConfig::default(), MptcpConfig::default());
    pair.transfer(200_000, 200_000);
    assert!(!pair.info(Side::Client).fallback);
}

#[test]
fn options_stripped_from_the_syn_make_it_tcp() {
    let mut pair = two_paths();
    pair.mangle = Some(Box::new(|_, _, packet| {
        if let Some(segment) = tcp(packet) {
            segment.options.mptcp = Default::default();
        }
        true
    }));
    pair.transfer(100_000, 100_000);
    assert!(pair.info(Side::Client).fallback);
    assert_eq!(pair.info(Side::Client).paths.len(), 1);
}

#[test]
fn a_path_cut_silently_is_survived() {
    let mut pair = two_paths();
    pair.ends[0].to_write = 1;
    pair.ends[1].to_write = 8 << 20;
    pair.run_until(Duration::from_secs(60), |pair| pair.ends[0].read.len() > 1 << 20);
    pair.paths[0].cut = true;
    pair.run_until(Duration::from_secs(300), |pair| pair.ends[0].read.len() == 8 << 20);
}

#[test]
fn losses_on_both_paths_are_repaired() {
    let lossy = |ms| Path { loss: 0.02, ..Path::ms(ms) };
    for seed in 0..10 {
        let mut pair = Pair::with_seed(
            &[lossy(10), lossy(40)],
            MptcpConfig::default(),
            MptcpConfig { checksum: true, ..MptcpConfig::default() },
            seed,
        );
        pair.transfer(300_000, 1_000_000);
        pair.run_until(Duration::from_secs(60), |pair| pair.ends.iter().all(|end| end.closed));
    }
}
