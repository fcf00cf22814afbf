//! Running programs in an emulated host: by way of a process that moves there and becomes them.
//!
//! A program that outlived the emulation would sit in a host without a network. So the process in
//! between asks the kernel to be killed when its parent ends, which holds for what it becomes, and
//! survives the parent's own `kill -9`. It is this program again, because only a new process can
//! ask for that.

use super::setup::EmulatedHost;
use nix::sched::{CloneFlags, setns};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

impl EmulatedHost {
    /// Where other processes find the host's namespace while this one lives.
    pub fn reference(&self) -> PathBuf {
        let file = self.namespace.as_fd().as_raw_fd();
        PathBuf::from(format!("/proc/{}/fd/{file}", std::process::id()))
    }
}

/// Move into the namespace `reference` of the process `parent`, ours, and become a program that
/// ends with it. Only a failure returns.
pub fn become_program(
    parent: i32,
    reference: &Path,
    program: &OsString,
    arguments: &[OsString],
) -> io::Error {
    let moved = || -> io::Result<()> {
        set_pdeathsig(Signal::SIGKILL)?;
        // It may have ended before that.
        if getppid().as_raw() != parent {
            return Err(io::Error::other("the emulation has ended"));
        }
        Ok(setns(File::open(reference)?, CloneFlags::CLONE_NEWNET)?)
    };
    match moved() {
        Ok(()) => Command::new(program).args(arguments).exec(),
        Err(error) => error,
    }
}
