//! What a `Pair` is made of, and the states of a connection it can start in.

use crate::pair::{Pair, Side};
use base::Duration;
use transport::TcpConfig;

/// What a pair is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub client: TcpConfig,
    pub server: TcpConfig,
    /// One way, both directions.
    pub delay: Duration,
    pub mtu: u32,
    pub interfaces: u8,
    pub ipv6: bool,
    pub seed: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            client: TcpConfig::default(),
            server: TcpConfig::default(),
            delay: Duration::from_millis(20),
            mtu: 1500,
            interfaces: 1,
            ipv6: false,
            seed: 1,
        }
    }
}

impl Setup {
    /// Both ends with this configuration.
    pub(crate) fn with(config: TcpConfig) -> Setup {
        Setup { client: config.clone(), server: config, ..Setup::default() }
    }

    pub(crate) fn delay_ms(self, ms: u64) -> Setup {
        Setup { delay: Duration::from_millis(ms), ..self }
    }

    /// Nothing opened; the server listens.
    pub(crate) fn idle(&self) -> Pair {
        Pair::new(self)
    }

    /// The client's SYN is on its way.
    pub(crate) fn syn_sent(&self) -> Pair {
        let mut pair = self.idle();
        pair.connect(0);
        pair
    }

    /// Both ends established, nothing sent.
    pub(crate) fn established(&self) -> Pair {
        let mut pair = self.syn_sent();
        pair.run_until("established", Duration::from_secs(1), |pair| {
            Side::BOTH.iter().all(|side| pair.state(*side) == "ESTABLISHED")
        });
        pair
    }
}
