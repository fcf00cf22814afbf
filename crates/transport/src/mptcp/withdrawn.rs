//! Addresses that the peer withdraws (RFC 8684 s3.4.2): whether a subflow to one still works is
//! found out by keepalives, so that a forged option ends nothing; the address is used for nothing
//! new. The kernels end such subflows at once, and are played so.

use super::connection::Connection;
use super::slot::{Check, Stage};
use crate::path_manager::PathEvent;
use base::Context;
use wire::mptcp::ResetReason;

/// Keepalives without an answer after which a subflow is over.
const PROBES: u32 = 2;

impl Connection {
    /// The peer lost addresses.
    pub(super) fn on_withdrawn(&mut self, cx: &mut Context<'_>, ids: &[u8]) {
        for id in ids {
            self.addresses.remote.retain(|known| known.id != *id || *id == 0);
            for index in 0..self.slots.len() {
                if self.slots[index].remote_id == *id {
                    self.doubt_or_drop(cx, index);
                }
            }
            self.manage(cx, PathEvent::Withdrawn { id: *id });
        }
    }

    /// The last subflow stays: the address may return, and TCP would have waited for it, too.
    fn doubt_or_drop(&mut self, cx: &mut Context<'_>, index: usize) {
        let slot = &self.slots[index];
        let alone = self.slots.iter().filter(|slot| slot.is_usable()).count() <= 1;
        let open = slot.stage == Stage::Open;
        if slot.stage == Stage::Gone || (open && alone) {
            return;
        }
        if !open || !self.config.keepalive_on_withdrawal {
            self.drop_slot(cx, index, ResetReason::UNSPECIFIED);
            return;
        }
        if slot.check.is_none() {
            // Until it answers what it carries goes elsewhere.
            let slot = &mut self.slots[index];
            slot.pf = true;
            slot.pf_una = slot.subflow.una();
            self.probe_withdrawn(cx, index, 0);
            self.reinject_stuck();
        }
    }

    fn probe_withdrawn(&mut self, cx: &Context<'_>, index: usize, sent: u32) {
        let slot = &mut self.slots[index];
        let wait = slot.subflow.rto() * (1 << sent);
        slot.check = Some(Check { due: cx.now + wait, sent: sent + 1 });
        slot.subflow.probe_window();
        self.wake(index);
    }

    /// Something arrived on a subflow: if it was in doubt, it is not any more.
    pub(super) fn note_answer(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.check.take().is_some() {
            slot.pf = false;
            self.schedule_due = true;
        }
    }

    /// Probes that are due, and subflows that did not answer any.
    pub(super) fn check_withdrawn(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.slots.len() {
            let Some(check) = self.slots[index].check.filter(|check| check.due <= cx.now) else {
                continue;
            };
            if check.sent >= PROBES {
                self.drop_slot(cx, index, ResetReason::UNSPECIFIED);
            } else {
                self.probe_withdrawn(cx, index, check.sent);
            }
        }
    }
}
