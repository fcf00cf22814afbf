//! A TUN device: IP datagrams in and out of the kernel, one per call.
//!
//! Without offloads, datagrams from the kernel are no longer than the MTU and have their checksums.
//! With them each is behind a header that says what is left to do (`offload`). A device created
//! here is not persistent: it is removed when its file is closed. Addresses are left to `address`
//! and `netlink`.

use crate::error::LiveError;
use crate::netlink::Netlink;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::path::Path;
use tun_rs::{DeviceBuilder, SyncDevice};

/// The file that makes TUN devices.
const TUN_FILE: &str = "/dev/net/tun";

/// An open TUN device, never blocking.
pub struct Tun {
    device: SyncDevice,
    name: String,
    is_ours: bool,
    offloads: bool,
    /// Dropped after `device`, which has to be closed by then.
    _restores: Option<Restores>,
}

impl Tun {
    /// Attach to the TUN device `name` of the calling thread's namespace, or make it. Without
    /// offloads.
    pub fn open(name: &str) -> Result<Self, LiveError> {
        Tun::open_with(name, false, attach)
    }

    /// The same with offload of segmentation and checksums, if the kernel has it.
    pub(crate) fn open_offloaded(name: &str) -> Result<Self, LiveError> {
        Tun::open_with(name, true, attach)
    }

    fn open_with(
        name: &str,
        offloads: bool,
        attach: impl Fn(&str, bool) -> io::Result<SyncDevice>,
    ) -> Result<Self, LiveError> {
        let doing = format!("opening TUN device {name}");
        if !Path::new(TUN_FILE).exists() {
            return Err(LiveError::missing(
                format!("{doing}: there is no {TUN_FILE}"),
                "sudo modprobe tun (in a container: pass it in, --device /dev/net/tun)",
            ));
        }
        let netlink = Netlink::open().and_then(|mut netlink| netlink.link(name));
        let is_ours = netlink.map_err(|error| LiveError::system(&doing, &error))?.is_none();
        let (device, offloads) = match attach(name, offloads) {
            Err(error) if offloads && may_be_offloads(&error) => (attach(name, false), false),
            device => (device, offloads),
        };
        let device = device.map_err(|error| explain(name, &doing, &error))?;
        let restores = (offloads && !is_ours).then(|| Restores(name.to_owned()));
        Ok(Tun { device, name: name.to_owned(), is_ours, offloads, _restores: restores })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it did not exist before.
    pub const fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Whether what is read and written begins with a header of `offload`.
    pub(crate) const fn has_offloads(&self) -> bool {
        self.offloads
    }

    /// The next datagram that the kernel sent, its length; `None` if there is none now.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.device.recv(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Passes a datagram to the kernel.
    pub fn send(&self, datagram: &[u8]) -> io::Result<()> {
        self.device.send(datagram).map(drop)
    }
}

/// Switches the offloads of a device off that is left behind: another program would not expect
/// them.
struct Restores(String);

impl Drop for Restores {
    fn drop(&mut self) {
        let link = Netlink::open().and_then(|mut netlink| netlink.link(&self.0));
        // Another program may have the device already, and says itself what it wants.
        if matches!(link, Ok(Some(_))) {
            drop(attach(&self.0, false));
        }
    }
}

fn attach(name: &str, offloads: bool) -> io::Result<SyncDevice> {
    let builder = DeviceBuilder::new().name(name).inherit_enable_state();
    let device = builder.with(|guard| _ = guard.offload(offloads)).build_sync()?;
    device.set_nonblocking(true)?;
    Ok(device)
}

/// Whether a device may be opened without offloads, although it was refused with them.
fn may_be_offloads(error: &io::Error) -> bool {
    use nix::errno::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw);
    !matches!(errno, Some(Errno::EPERM | Errno::EACCES | Errno::EBUSY))
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.device.as_raw_fd()
    }
}

fn explain(name: &str, doing: &str, error: &io::Error) -> LiveError {
    use nix::errno::Errno;
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => LiveError::missing(
            format!("{doing}: not permitted; CAP_NET_ADMIN is needed"),
            format!(
                "run the same command with sudo, or create the device for your user: sudo ip \
                 tuntap add dev {name} mode tun user $USER"
            ),
        ),
        Some(Errno::EBUSY) => LiveError::Failed(format!("{doing}: another program has it open")),
        Some(Errno::EINVAL) => LiveError::Usage(format!(
            "{doing}: a device of that name exists and is not a TUN \
                device"
        )),
        _ => LiveError::system(doing, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::Namespace;
    use std::process::Command;

    /// Runs `what` in a namespace of its own, or prints why there is none.
    fn in_namespace(what: impl FnOnce() + Send) {
        let probe = || Tun::open("probe").map(drop);
        let namespace = Namespace::new().and_then(|namespace| {
            let probed = namespace.run(probe).map_err(|error| LiveError::system("", &error))?;
            probed.map(|()| namespace)
        });
        match namespace {
            Ok(namespace) => namespace.run(what).expect("the namespace"),
            Err(why) => println!("skipped: {}", why.to_string().lines().next().unwrap_or_default()),
        }
    }

    #[test]
    fn kernel_that_refuses_offloads_has_a_device_without_them() {
        in_namespace(|| {
            let old = |name: &str, offloads| match offloads {
                true => Err(io::Error::from_raw_os_error(nix::libc::EINVAL)),
                false => attach(name, false),
            };
            let tun = Tun::open_with("tun0", true, old).expect("a device");
            assert!(!tun.has_offloads() && tun.is_ours());
            let tun = Tun::open_offloaded("tun1").expect("a device");
            assert!(tun.has_offloads(), "this kernel has them");
        });
    }

    #[test]
    fn what_offloads_are_not_to_blame_for_is_not_tried_again() {
        in_namespace(|| {
            for errno in [nix::libc::EPERM, nix::libc::EACCES, nix::libc::EBUSY] {
                let tries = std::cell::Cell::new(0);
                let busy = |_: &str, _| {
                    tries.set(tries.get() + 1);
                    Err(io::Error::from_raw_os_error(errno))
                };
                assert!(Tun::open_with("tun0", true, busy).is_err());
                assert_eq!(tries.get(), 1);
            }
        });
    }

    #[test]
    fn device_that_is_left_behind_has_no_offloads() {
        in_namespace(|| {
            let ip = |words: &str| {
                let output = Command::new("ip").args(words.split_whitespace()).output();
                output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            };
            if ip("tuntap add dev tun0 mode tun").is_err() {
                println!("skipped: no ip(8)");
                return;
            }
            let tun = Tun::open_offloaded("tun0").expect("a device");
            assert!(tun.has_offloads() && !tun.is_ours());
            let shown = || ip("-d link show dev tun0").expect("ip(8)");
            assert!(shown().contains("vnet_hdr on"), "{}", shown());
            drop(tun);
            assert!(shown().contains("vnet_hdr off"), "{}", shown());
        });
    }
}
