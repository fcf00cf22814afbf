//! Root of a new user namespace, which allows unprivileged users to create network namespaces.
//!
//! Nothing of the machine can be changed from there. The kernel gives such a namespace only to a
//! process with one thread, so this is asked for before anything else.

use crate::doctor;
use crate::error::LiveError;
use crate::namespace::Namespace;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use std::io;

const REMEDY: &str = "run the same command with sudo, or allow user namespaces: sudo sysctl -w \
                      user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1 \
                      kernel.apparmor_restrict_unprivileged_userns=0 (those that exist)";

/// Become root in a new user namespace, unless the process may make network namespaces as it is.
/// Whether it was needed. To be called while the process has one thread.
pub fn enter_if_needed() -> Result<bool, LiveError> {
    if doctor::capabilities().is_ok() {
        return Ok(false);
    }
    enter().map_err(|error| {
        let what = format!("not root, and a user namespace cannot be created: {error}");
        LiveError::missing(what, REMEDY)
    })?;
    // Some systems give the namespace, but nothing may be done in it.
    Namespace::new().map(|_| true).map_err(|_| {
        let what = "in the new user namespace, network namespaces are refused";
        LiveError::missing(what, REMEDY)
    })
}

fn enter() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // A group map may be written once groups can no longer be dropped (user_namespaces(7)).
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}
