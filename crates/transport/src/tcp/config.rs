//! The configuration of a TCP connection.

use super::profile::{Profile, Switches};
use crate::congestion::{Controller, ControllerChoice, Options};

/// Socket buffers in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffers {
    /// Largest size of the send buffer.
    pub send_max: u32,
    /// Largest size of the receive buffer.
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
    /// The kernel whose behaviour the sender and receiver follow.
    pub profile: Profile,
    /// The congestion control.
    pub congestion: ControllerChoice,
    /// Sizes of the socket buffers.
    pub buffers: Buffers,
    /// Nagle's algorithm (RFC 9293 s3.7.4): a partial segment waits while data are in flight.
    pub nagle: bool,
    /// Segments are spread over the round-trip time, as by Linux `fq`.
    pub pacing: bool,
    /// Segments; `None`: infinite.
    pub initial_ssthresh_segs: Option<u32>,
    /// CUBIC leaves slow start by HyStart (the module parameter `hystart` of Linux).
    pub hystart: bool,
    /// Unsent bytes below which a writer is woken; `None`: no limit.
    pub notsent_lowat: Option<u32>,
}

impl Default for TcpConfig {
    fn default() -> Self {
        TcpConfig {
            profile: Profile::Linux,
            congestion: ControllerChoice::CUBIC,
            buffers: Buffers::default(),
            nagle: false,
            pacing: false,
            initial_ssthresh_segs: None,
            hystart: true,
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
        let Switches { counting, growth, .. } = self.profile.switches();
        Options { kernel_compat, counting, growth, hystart: self.hystart, ..Options::LINUX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Counting, Growth};

    #[test]
    fn coupled_control_of_an_old_kernel_counts_in_its_integers() {
        for (profile, _) in Profile::ALL {
            let config = TcpConfig { profile, ..TcpConfig::default() };
            assert_eq!(config.controller_options().kernel_compat, profile != Profile::Linux);
        }
    }

    #[test]
    fn windows_of_a_kernel_count_what_it_counts() {
        let counting =
            |profile| TcpConfig { profile, ..TcpConfig::default() }.controller_options().counting;
        assert_eq!(counting(Profile::Linux), Counting::Segments);
        assert_eq!(counting(Profile::Linux41), Counting::Segments);
        assert_eq!(counting(Profile::Linux314), Counting::SegmentsInSlowStart);
        assert_eq!(counting(Profile::Linux311), Counting::Acknowledgements);
        assert_eq!(counting(Profile::Linux35), Counting::Acknowledgements);
        for (profile, _) in Profile::ALL {
            let growth = TcpConfig { profile, ..TcpConfig::default() }.controller_options().growth;
            let is_new = matches!(profile, Profile::Linux | Profile::Linux41);
            assert_eq!(growth == Growth::WhenFull, is_new, "{profile:?}");
        }
    }
}
