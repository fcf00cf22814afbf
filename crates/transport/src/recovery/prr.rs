//! Proportional rate reduction: the window during fast recovery (RFC 9937, tcp-subflow spec s4).
//!
//! Counted in segments. The threshold comes from the congestion controller; the answer goes back
//! to it as `pipe + sndcnt`. What counts as delivered and in flight is the scoreboard's.

/// Whose rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PrrVariant {
    /// RFC 9937: `recover_fs` from the scoreboard, one more segment on a safe ACK.
    Rfc9937,
    /// Linux 6.x: the same rules; pass the window before the reduction as `recover_fs`.
    #[default]
    Linux,
    /// Linux up to 4.2: always one more segment below the threshold; `recover_fs` as `Linux`.
    Papers,
}

/// One episode of recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prr {
    variant: PrrVariant,
    ssthresh: u32,
    recover_fs: u32,
    delivered: u32,
    out: u32,
}

impl Prr {
    /// Recovery starts. `recover_fs`: segments the reduction is spread over (at least 1), the
    /// window before the reduction for `Linux` and `Papers`.
    pub fn enter(variant: PrrVariant, ssthresh_segs: u32, recover_fs_segs: u32) -> Self {
        Prr {
            variant,
            ssthresh: ssthresh_segs,
            recover_fs: recover_fs_segs.max(1),
            delivered: 0,
            out: 0,
        }
    }

    /// An ACK of the episode delivered `delivered` segments and left `pipe` in flight. `safe_ack`:
    /// it advanced `snd_una` and marked no further loss. `fast_retransmit`: it is the one that
    /// started the episode (only `Papers` asks). Returns how many segments may be sent, so the
    /// window is `pipe` plus that; `None`: leave the window.
    pub fn on_ack(
        &mut self,
        delivered: u32,
        pipe: u32,
        safe_ack: bool,
        fast_retransmit: bool,
    ) -> Option<u32> {
        if delivered == 0 {
            return None;
        }
        self.delivered += delivered;
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
            PrrVariant::Papers => fast_retransmit,
            PrrVariant::Rfc9937 | PrrVariant::Linux => self.out == 0,
        };
        Some(allowed.max(u32::from(force)))
    }

    /// `segs` segments were sent during the episode.
    pub const fn on_sent(&mut self, segs: u32) {
        self.out += segs;
    }

    /// Segments delivered in this episode.
    pub const fn delivered(&self) -> u32 {
        self.delivered
    }

    /// Segments sent in this episode.
    pub const fn out(&self) -> u32 {
        self.out
    }
}
