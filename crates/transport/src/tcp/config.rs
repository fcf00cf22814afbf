//! What a TCP connection can be told, and what it tells.

use super::profile::Profile;
use crate::congestion::{Controller, ControllerChoice, HyStartKind, Options};
use base::{CaState, Duration};

/// Socket buffers in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffers {
    pub send_max: u32,
    pub receive_max: u32,
    /// Whether they grow from Linux's initial values (16384, 131072) up to the maxima.
    pub auto_tuning: bool,
}

impl Default for Buffers {
    /// Linux: 4 MiB and 6 MiB, auto-tuned.
    fn default() -> Self {
        Buffers { send_max: 4 << 20, receive_max: 6 << 20, auto_tuning: true }
    }
}

/// The configuration of a connection.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpConfig {
    pub profile: Profile,
    /// The congestion control.
    pub congestion: ControllerChoice,
    /// How CUBIC leaves slow start; `None`: as the profile does.
    pub hystart: Option<HyStartKind>,
    pub buffers: Buffers,
    pub nagle: bool,
    pub pacing: bool,
    /// Segments; `None`: infinite.
    pub initial_ssthresh_segs: Option<u32>,
    /// Unsent bytes below which a writer is woken; `None`: no limit.
    pub notsent_lowat: Option<u32>,
}

impl Default for TcpConfig {
    fn default() -> Self {
        TcpConfig {
            profile: Profile::Linux,
            congestion: ControllerChoice::CUBIC,
            hystart: None,
            buffers: Buffers::default(),
            nagle: false,
            pacing: false,
            initial_ssthresh_segs: None,
            notsent_lowat: None,
        }
    }
}

impl TcpConfig {
    /// A controller for one connection, without paths.
    pub(crate) fn new_controller(&self) -> Controller {
        self.congestion.make(&self.controller_options())
    }

    fn controller_options(&self) -> Options {
        // The papers' kernels compute coupled controls in integers.
        let kernel_compat = self.profile.is_old();
        let hystart = self.hystart.unwrap_or(Options::LINUX.hystart);
        Options { kernel_compat, hystart, ..Options::LINUX }
    }
}

/// The state of a connection, for measurement; names as `ss -ti` prints them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpInfo {
    pub state: &'static str,
    pub ca_state: CaState,
    pub cwnd_segs: u32,
    pub ssthresh_segs: Option<u32>,
    pub srtt: Duration,
    pub rttvar: Duration,
    pub min_rtt: Duration,
    pub rto: Duration,
    pub mss: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub bytes_acked: u64,
    pub segs_out: u64,
    pub segs_retrans: u64,
    /// Retransmissions that a D-SACK proved needless.
    pub spurious_retrans: u64,
    pub snd_wnd: u64,
    pub rcv_wnd: u64,
    pub send_buffer: u32,
    pub receive_buffer: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coupled_control_of_an_old_kernel_counts_in_its_integers() {
        for (profile, _) in Profile::ALL {
            let config = TcpConfig { profile, ..TcpConfig::default() };
            assert_eq!(config.controller_options().kernel_compat, profile != Profile::Linux);
        }
    }
}
