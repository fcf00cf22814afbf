//! Network namespaces of our own: a kernel's network stack apart from the machine's.
//!
//! A namespace here has no name and no file: it lives as long as something in this process (this
//! value, a thread, a socket, a device) holds it, and the kernel removes it with all its devices
//! when the process ends, be it by `kill -9`. So nothing can be left behind that a later call
//! would have to find and remove. Devices and addresses in it are made by [`Netlink`].

use crate::address::Subnet;
use crate::error::LiveError;
use crate::netlink::Netlink;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

/// A network namespace.
pub struct Namespace {
    handle: File,
}

impl Namespace {
    /// A new one with nothing but its loopback device, which is up.
    pub fn new() -> Result<Self, LiveError> {
        let made = in_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            let handle = File::open("/proc/thread-self/ns/net")?;
            let mut netlink = Netlink::open()?;
            if let Some(loopback) = netlink.link("lo")? {
                netlink.set_up(loopback.index, true)?;
            }
            Ok(Namespace { handle })
        });
        made.map_err(|error: io::Error| LiveError::system("making a network namespace", &error))
    }

    /// Run `what` in this namespace: sockets and devices that it opens belong to it, and so do
    /// programs and threads that it starts. The caller's thread stays where it is.
    pub fn run<T: Send>(&self, what: impl FnOnce() -> T + Send) -> io::Result<T> {
        in_a_thread(|| {
            setns(&self.handle, CloneFlags::CLONE_NEWNET)?;
            Ok(what())
        })
    }

    /// Moves the calling thread into this namespace permanently.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.handle, CloneFlags::CLONE_NEWNET)?)
    }

    /// Run requests to this namespace's routing.
    pub fn configure<T: Send>(
        &self,
        what: impl FnOnce(&mut Netlink) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        self.run(|| what(&mut Netlink::open()?))?
    }

    /// Write a setting below `net` of `sysctl`, such as `ipv4.ip_forward`.
    pub fn set(&self, name: &str, value: &str) -> io::Result<()> {
        let file = format!("/proc/sys/net/{}", name.replace('.', "/"));
        self.run(|| std::fs::write(file, value))?
    }

    /// Give a device addresses and set it up.
    pub fn bring_up(&self, device: &str, addresses: &[Subnet]) -> io::Result<()> {
        self.configure(|netlink| bring_up(netlink, device, addresses))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Give a device of the calling thread's namespace addresses and set it up.
pub(crate) fn bring_up(
    netlink: &mut Netlink,
    device: &str,
    addresses: &[Subnet],
) -> io::Result<()> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("no device {device}"));
    let link = netlink.link(device)?.ok_or_else(missing)?;
    for address in addresses {
        netlink.add_address(link.index, *address)?;
    }
    netlink.set_up(link.index, true)
}

/// A thread of its own, because the namespace is a property of the thread.
fn in_a_thread<T: Send>(what: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let panicked = |_| io::Error::other("a thread in a namespace panicked");
        thread::Builder::new().spawn_scoped(scope, what)?.join().map_err(panicked)?
    })
}
