//! Addresses that the peer withdraws (RFC 8684 s3.4.2): whether a subflow to one still works is
//! found out by keepalives, so that a forged option ends nothing; the address is used for nothing
//! new. The kernels end such subflows at once, and are played so.

use super::connection::Connection;
use super::stage::Stage;
use crate::path_manager::PathEvent;
use base::{Context, Instant};
use wire::mptcp::ResetReason;

/// Keepalives without an answer after which a subflow is over.
const PROBES: u32 = 2;

/// The check of a subflow whose address was removed by the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemovalCheck {
    /// When the next keepalive is sent, or the subflow is over.
    due: Instant,
    /// Keepalives sent.
    sent: u32,
}

impl RemovalCheck {
    /// When it goes on.
    pub const fn deadline(self) -> Instant {
        self.due
    }
}

impl Connection {
    /// The peer lost addresses.
    pub(super) fn on_withdrawn(&mut self, cx: &mut Context<'_>, ids: &[u8]) {
        for id in ids {
            self.management.addresses_mut().forget_remote(*id);
            for index in 0..self.subflows.len() {
                if self.subflows[index].ids.remote == *id {
                    self.doubt_or_drop(cx, index);
                }
            }
            self.notify_manager(cx, PathEvent::Removed { id: *id });
        }
    }

    /// The last subflow stays: the address may return, and TCP would have waited for it, too.
    fn doubt_or_drop(&mut self, cx: &mut Context<'_>, index: usize) {
        let entry = &self.subflows[index];
        let alone = self.subflows.iter().filter(|entry| entry.is_usable()).count() <= 1;
        let open = entry.stage() == Stage::Open;
        if entry.stage() == Stage::Gone || (open && alone) {
            return;
        }
        if !open || !self.config.keepalive_on_withdrawal {
            self.reset_for(cx, index, ResetReason::UNSPECIFIED);
            return;
        }
        if entry.removal.is_none() {
            // Until it answers what it carries goes elsewhere.
            let path = entry.path;
            let (sender, paths) = self.parts();
            sender.suspect(&paths, path);
            self.probe_withdrawn(cx, index, 0);
        }
    }

    fn probe_withdrawn(&mut self, cx: &Context<'_>, index: usize, sent: u32) {
        let entry = &mut self.subflows[index];
        let wait = entry.tcp.rto() * (1 << sent);
        entry.removal = Some(RemovalCheck { due: cx.now + wait, sent: sent + 1 });
        entry.tcp.probe_window();
        self.subflows.wake(index);
    }

    /// Something arrived on a subflow: if it was in doubt, it is not any more.
    pub(super) fn note_answer(&mut self, index: usize) {
        let entry = &mut self.subflows[index];
        if entry.removal.take().is_some() {
            self.sender.clear(entry.path);
        }
    }

    /// Probes that are due, and subflows that did not answer any.
    pub(super) fn check_withdrawn(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.subflows.len() {
            let due = self.subflows[index].removal.filter(|check| check.due <= cx.now);
            let Some(check) = due else { continue };
            if check.sent >= PROBES {
                self.reset_for(cx, index, ResetReason::UNSPECIFIED);
            } else {
                self.probe_withdrawn(cx, index, check.sent);
            }
        }
    }
}
