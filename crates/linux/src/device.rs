//! A TUN device: IP datagrams in and out of the kernel, one per call.
//!
//! Without offloads: datagrams from the kernel are no longer than the MTU and have their checksums.
//! A device created here is not persistent: it is removed when its file is closed. Addresses are
//! left to `address` and `netlink`.

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
}

impl Tun {
    /// Attach to the TUN device `name` of the calling thread's namespace, or make it.
    pub fn open(name: &str) -> Result<Self, LiveError> {
        let doing = format!("opening TUN device {name}");
        if !Path::new(TUN_FILE).exists() {
            return Err(LiveError::missing(
                format!("{doing}: there is no {TUN_FILE}"),
                "sudo modprobe tun (in a container: pass it in, --device /dev/net/tun)",
            ));
        }
        let netlink = Netlink::open().and_then(|mut netlink| netlink.link(name));
        let is_ours = netlink.map_err(|error| LiveError::system(&doing, &error))?.is_none();
        let device = DeviceBuilder::new()
            .name(name)
            .inherit_enable_state()
            .build_sync()
            .and_then(|device| device.set_nonblocking(true).map(|()| device))
            .map_err(|error| explain(name, &doing, &error))?;
        Ok(Tun { device, name: name.to_owned(), is_ours })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it did not exist before.
    pub const fn is_ours(&self) -> bool {
        self.is_ours
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
