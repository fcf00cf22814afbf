//! Proportional rate reduction: the window during fast recovery (RFC 9937 s6).
//!
//! Everything is counted in segments. The threshold comes from the congestion controller; the
//! answer goes back to it as `pipe + sndcnt`. What is delivered and in flight is known to the
//! scoreboard.

/// The rules of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PrrVariant {
    /// Linux 6.x: RFC 9937 (one more segment on a safe ACK), with the window before the reduction
    /// as `recover_fs`.
    #[default]
    Linux,
    /// Linux up to 4.2: always one more segment below the threshold; `recover_fs` as `Linux`.
    Papers,
}

/// One episode of recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prr {
    variant: PrrVariant,
    ssthresh: u32,
    recover_fs: u32,
    delivered: u32,
    out: u32,
    /// No acknowledgement of the episode was processed: the next one is for the fast retransmit.
    starts: bool,
}

impl Prr {
    /// Recovery starts. `recover_fs`: segments the reduction is spread over (at least 1), the
    /// window before the reduction for `Linux` and `Papers`.
    pub(crate) fn enter(variant: PrrVariant, ssthresh_segs: u32, recover_fs_segs: u32) -> Self {
        Prr {
            variant,
            ssthresh: ssthresh_segs,
            recover_fs: recover_fs_segs.max(1),
            delivered: 0,
            out: 0,
            starts: true,
        }
    }

    /// An ACK of the episode delivered `delivered` segments and left `pipe` in flight. `safe_ack`:
    /// it advanced `snd_una` and marked no further loss. Returns how many segments may be sent, so
    /// the window is `pipe` plus that; `None`: leave the window.
    pub(crate) fn on_ack(&mut self, delivered: u32, pipe: u32, safe_ack: bool) -> Option<u32> {
        let starts = std::mem::replace(&mut self.starts, false);
        if delivered == 0 {
            return None;
        }
        self.delivered += delivered;
        debug_assert!(self.recover_fs > 0, "the reduction is spread over at least one segment");
        let allowed = if pipe > self.ssthresh {
            let share = u64::from(self.delivered) * u64::from(self.ssthresh);
            let share = share.div_ceil(u64::from(self.recover_fs));
            (share as u32).saturating_sub(self.out)
        } else {
            let extra = u32::from(safe_ack || self.variant == PrrVariant::Papers);
            let conserve = self.delivered.saturating_sub(self.out).max(delivered) + extra;
            conserve.min(self.ssthresh - pipe)
        };
        let force = match self.variant {
            PrrVariant::Papers => starts,
            PrrVariant::Linux => self.out == 0,
        };
        debug_assert!(
            pipe > self.ssthresh || pipe + allowed <= self.ssthresh,
            "below the threshold the window grows at most to it"
        );
        Some(allowed.max(u32::from(force)))
    }

    /// Whether the next acknowledgement is for a fast retransmit.
    pub(crate) const fn expect_retransmission(&mut self, expected: bool) {
        self.starts = expected;
    }

    /// `segs` segments were sent during the episode.
    pub(crate) const fn on_sent(&mut self, segs: u32) {
        self.out += segs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 20 segments outstanding, the first lost, the third SACK triggers; each further SACK takes
    /// one segment out of the pipe and what is sent goes in. The first transmission is the
    /// retransmission, new data follow. Returns (delivered so far, pipe, sent).
    fn one_loss(variant: PrrVariant, recover_fs: u32) -> (Vec<(u32, u32, u32)>, u32) {
        let mut prr = Prr::enter(variant, 10, recover_fs);
        // After the third SACK: 20 - 3 SACKed - 1 lost.
        let mut pipe = 16;
        let mut steps = Vec::new();
        for ack in 1..=17 {
            if ack > 1 {
                pipe -= 1;
            }
            let sndcnt = prr.on_ack(1, pipe, false).unwrap();
            steps.push((ack, pipe, sndcnt));
            prr.on_sent(sndcnt);
            pipe += sndcnt;
        }
        (steps, pipe)
    }

    const PRR_1: [(u32, u32, u32); 17] = [
        (1, 16, 1),
        (2, 16, 1),
        (3, 16, 0),
        (4, 15, 1),
        (5, 15, 0),
        (6, 14, 1),
        (7, 14, 0),
        (8, 13, 1),
        (9, 13, 0),
        (10, 12, 1),
        (11, 12, 1),
        (12, 12, 0),
        (13, 11, 1),
        (14, 11, 0),
        (15, 10, 0),
        (16, 9, 1),
        (17, 9, 1),
    ];

    const PRR_1_LINUX: [(u32, u32, u32); 17] = [
        (1, 16, 1),
        (2, 16, 0),
        (3, 15, 1),
        (4, 15, 0),
        (5, 14, 1),
        (6, 14, 0),
        (7, 13, 1),
        (8, 13, 0),
        (9, 12, 1),
        (10, 12, 0),
        (11, 11, 1),
        (12, 11, 0),
        (13, 10, 0),
        (14, 9, 1),
        (15, 9, 1),
        (16, 9, 1),
        (17, 9, 1),
    ];

    #[test]
    fn prr_1_one_loss_with_recover_fs_18() {
        let (steps, pipe) = one_loss(PrrVariant::Linux, 18);
        assert_eq!(steps, PRR_1);
        assert_eq!(steps.iter().map(|step| step.2).sum::<u32>(), 10);
        assert_eq!(pipe, 10);
    }

    #[test]
    fn prr_1_one_loss_with_prior_cwnd_20() {
        let (steps, pipe) = one_loss(PrrVariant::Linux, 20);
        assert_eq!(steps, PRR_1_LINUX);
        assert_eq!(steps.iter().map(|step| step.2).sum::<u32>(), 10);
        assert_eq!(pipe, 10);
    }

    #[test]
    fn prr_2_heavy_loss() {
        let mut prr = Prr::enter(PrrVariant::Linux, 10, 18);
        let mut steps = Vec::new();
        let mut pipe = 2;
        for ack in 1..=11 {
            // Each takes one segment out of the pipe; the first was taken into account.
            if ack > 1 {
                pipe -= 1;
            }
            let safe = ack >= 4;
            let sndcnt = prr.on_ack(1, pipe, safe).unwrap();
            steps.push((ack, pipe, sndcnt));
            prr.on_sent(sndcnt);
            pipe += sndcnt;
        }
        let expected = [
            (1, 2, 1),
            (2, 2, 1),
            (3, 2, 1),
            (4, 2, 2),
            (5, 3, 2),
            (6, 4, 2),
            (7, 5, 2),
            (8, 6, 2),
            (9, 7, 2),
            (10, 8, 2),
            (11, 9, 1),
        ];
        assert_eq!(steps, expected);
        assert_eq!(pipe, 10);
    }

    #[test]
    fn papers_always_add_one_below_the_threshold() {
        let mut prr = Prr::enter(PrrVariant::Papers, 10, 20);
        assert_eq!(prr.on_ack(1, 2, false), Some(2));
        let mut prr = Prr::enter(PrrVariant::Linux, 10, 20);
        assert_eq!(prr.on_ack(1, 2, false), Some(1));
    }

    #[test]
    fn ack_that_delivers_nothing_leaves_the_window() {
        let mut prr = Prr::enter(PrrVariant::Linux, 10, 20);
        assert_eq!(prr.on_ack(0, 15, true), None);
    }

    #[test]
    fn the_fast_retransmit_is_never_refused() {
        let mut prr = Prr::enter(PrrVariant::Linux, 2, 1000);
        assert_eq!(prr.on_ack(1, 900, false), Some(1));
        prr.on_sent(1);
        assert_eq!(prr.on_ack(1, 899, false), Some(0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// RFC 9937 s3: for any loss, the pipe ends at the threshold or below.
        #[test]
        fn pipe_never_grows_beyond_threshold_and_start(
            ssthresh in 2..60u32,
            start in 1..100u32,
            acks in prop::collection::vec((1..4u32, any::<bool>(), 0..3u32), 1..200),
        ) {
            let mut prr = Prr::enter(PrrVariant::Linux, ssthresh, start);
            let mut pipe = start;
            for (delivered, safe, lost) in acks {
                let delivered = delivered.min(pipe);
                pipe -= delivered;
                pipe = pipe.saturating_sub(lost);
                if let Some(sndcnt) = prr.on_ack(delivered, pipe, safe) {
                    pipe += sndcnt;
                    prr.on_sent(sndcnt);
                }
                prop_assert!(pipe <= start.max(ssthresh) + 1);
            }
        }
    }
}
