//! Carrying out what the path policy says: who is probed only, and the probes (schedulers spec s9).
//!
//! A probe is a copy of the newest data that other paths have: it costs no connection window, the
//! peer acknowledges it on the subflow and drops it, and the path gets samples. Who is eligible and
//! when a probe is due is the policy's.

use super::connection::Connection;
use crate::path_policy::PathPolicy;
use crate::scheduler::{PathChange, What};
use base::{Context, Event, EventMask, Instant, PathId};

impl Connection {
    /// When the path policy wants to look at the paths: only while something is under way.
    pub(super) fn policy_deadline(&self) -> Instant {
        let busy = !self.send.segments.is_empty() || !self.send.is_drained();
        let asks = |_: &Instant| busy && !self.is_over();
        self.policy.poll_timeout().filter(asks).unwrap_or(Instant::FAR_FUTURE)
    }

    /// Let the path policy say which paths are eligible, and send the probes that are due.
    pub(super) fn apply_policy(&mut self, cx: &mut Context<'_>) {
        if self.policy.is_none() || self.subflows.len() < 2 {
            return;
        }
        self.look_at_paths();
        for (path, on) in self.policy.review(cx.now, &self.views) {
            self.set_probing(cx, path, on);
        }
        for index in 0..self.views.len() {
            self.probe(cx, index);
        }
    }

    /// Send what is due on the path that is seen as number `index`, as far as there are data.
    fn probe(&mut self, cx: &mut Context<'_>, index: usize) {
        while let Some(bytes) = self.policy.next_probe(cx.now, &self.views[index]) {
            let path = self.views[index].id;
            if !self.hand(path, What::Probe, bytes) {
                return;
            }
            self.policy.on_probe_sent(path);
            self.look_again_at(cx, path);
        }
    }

    /// A path is probed only from now on, or carries data again.
    pub(super) fn set_probing(&mut self, cx: &mut Context<'_>, path: PathId, on: bool) {
        let entry = self.subflows.iter_mut().find(|entry| entry.path == path);
        let Some(entry) = entry.filter(|entry| entry.probing != on) else { return };
        entry.probing = on;
        if let Some(view) = self.views.iter_mut().find(|view| view.id == path) {
            view.probing = on;
        }
        if on {
            // What was meant for it and not bound to it goes elsewhere.
            self.assigned.forget(path);
        }
        let socket = self.socket;
        cx.record(EventMask::STATE, || Event::Probing { socket, path, on });
        self.on_path_changed(path, PathChange::State);
    }
}
