//! The `linux` profile against Linux 6.18: figures measured on a running kernel over an emulated
//! link with a drop-tail queue, both directions alike, MTU 1500, no NIC limit, not paced.
//!
//! Nothing here is fitted: where a figure depends on recovery or windows, the mechanism is in the
//! engine. `cargo test -- --nocapture` prints every figure next to the kernel's.

mod bulk;
mod bursts;
mod saturated;
mod video;

use base::{Duration, Rate};
use harness::RunRecord;
use network::{Limit, LinkConfig, LossConfig};
use simulator::{Carrier, PathSetup, RunSetup, simulate};
use traffic::Traffic;
use transport::{Buffers, Protocol, TcpConfig};

/// The same in both directions.
struct Bench {
    mbit: u64,
    /// One way.
    delay_ms: u64,
    limit_packets: u32,
    loss: f64,
    /// Maxima of auto-tuning.
    buffers_mib: (u32, u32),
}

impl Bench {
    /// 4 Mbit/s, 70 ms, a deep queue.
    const SLOW: Bench =
        Bench { mbit: 4, delay_ms: 70, limit_packets: 3750, loss: 0.0, buffers_mib: (1, 2) };
    /// 25 Mbit/s, 20 ms, 100 packets.
    const WLAN: Bench =
        Bench { mbit: 25, delay_ms: 20, limit_packets: 100, loss: 0.0, buffers_mib: (1, 2) };

    /// 100 Mbit/s, 100 packets.
    const fn fast(delay_ms: u64) -> Bench {
        Bench { mbit: 100, delay_ms, limit_packets: 100, loss: 0.0, buffers_mib: (4, 6) }
    }

    fn run(&self, cc: &'static str, traffic: Traffic, run: u64) -> RunRecord {
        let link = LinkConfig {
            capacity: Rate::from_mbit(self.mbit).into(),
            delay: Duration::from_millis(self.delay_ms),
            limit: Limit::Packets(self.limit_packets),
            loss: LossConfig::Bernoulli { p: self.loss },
            ..LinkConfig::default()
        };
        let (send, receive) = self.buffers_mib;
        let buffers =
            Buffers { send_max: send << 20, receive_max: receive << 20, auto_tuning: true };
        let (name, events) = ("p".to_owned(), Vec::new());
        let path = PathSetup { name, down: link.clone(), up: link, events };
        let mut setup = RunSetup::new(vec![path], Carrier::Single(Protocol::Tcp), traffic);
        setup.run = run;
        setup.flows[0].tcp = TcpConfig {
            congestion: cc.parse().expect("a control of the table"),
            buffers,
            ..TcpConfig::default()
        };
        setup.network.nic = None;
        setup.recording.hash = false;
        simulate(&setup).expect("the run is possible")
    }
}

/// Fails unless `ours` is within `tolerance` (a fraction) of `kernel`; prints both.
fn assert_near(what: &str, ours: f64, kernel: f64, tolerance: f64) {
    let off = ours / kernel - 1.0;
    println!("{what}: ours {ours:.4}, kernel {kernel}, {:+.2} %", off * 100.0);
    assert!(off.abs() <= tolerance, "{what}: {ours} is {:+.2} % off {kernel}", off * 100.0);
}
