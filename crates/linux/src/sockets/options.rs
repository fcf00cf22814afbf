//! How the kernel's sockets are set, and that they really are: every setting is read back.
//!
//! A kernel that refuses a congestion control, or a buffer, must not give figures of another one.

use crate::error::LiveError;
use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::SocketAddr;
use transport::{Buffers, Protocol};

/// Linux IPPROTO_MPTCP.
const MPTCP: i32 = 262;
/// IPPROTO_SCTP.
const SCTP: i32 = 132;
/// Connections that may wait to be accepted: a browser opens a handful at once.
const BACKLOG: i32 = 128;

/// Settings of every socket of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SocketOptions {
    pub protocol: Protocol,
    /// As the kernel spells it; of subflows that join, too.
    pub congestion: String,
    /// Buffers that grow have the maxima of their namespace (`tcp_wmem`, `tcp_rmem`).
    pub buffers: Buffers,
}

impl SocketOptions {
    /// A socket bound to `local` that never blocks.
    pub(super) fn open(&self, local: SocketAddr) -> Result<Socket, LiveError> {
        let protocol = match self.protocol {
            Protocol::Tcp => socket2::Protocol::TCP,
            Protocol::Mptcp => socket2::Protocol::from(MPTCP),
            Protocol::Sctp | Protocol::CmtSctp => socket2::Protocol::from(SCTP),
            Protocol::Udp => socket2::Protocol::UDP,
        };
        let socket = Socket::new(Domain::for_address(local), Type::STREAM, Some(protocol));
        let socket = socket.map_err(|error| self.cannot_open(&error))?;
        self.apply(&socket)?;
        let bound = socket.set_reuse_address(true).and_then(|()| socket.bind(&local.into()));
        bound.map_err(|error| LiveError::system(&format!("binding to {local}"), &error))?;
        Ok(socket)
    }

    /// A socket that takes connections.
    pub(super) fn listen(&self, local: SocketAddr) -> Result<Socket, LiveError> {
        let socket = self.open(local)?;
        let failed = |error| LiveError::system(&format!("listening on {local}"), &error);
        socket.listen(BACKLOG).map_err(failed)?;
        Ok(socket)
    }

    /// Set everything on a socket, new or accepted, and see that it is so.
    pub(super) fn apply(&self, socket: &Socket) -> Result<(), LiveError> {
        let failed = |error| LiveError::system("setting a socket up", &error);
        socket.set_nonblocking(true).map_err(failed)?;
        socket.set_tcp_nodelay(true).map_err(failed)?;
        let set = socket.set_tcp_congestion(self.congestion.as_bytes());
        set.map_err(|error| self.congestion_refused(&error))?;
        let read = socket.tcp_congestion().map_err(failed)?;
        let read = String::from_utf8_lossy(&read);
        let read = read.trim_end_matches('\0');
        if read != self.congestion {
            // MPTCP accepts every name until there is a subflow to apply it to.
            return Err(self.congestion_missing());
        }
        if self.buffers.auto_tuning { Ok(()) } else { self.fix_buffers(socket) }
    }

    /// The kernel takes half of what it shall use, and a minimum of its own.
    fn fix_buffers(&self, socket: &Socket) -> Result<(), LiveError> {
        let Buffers { send_max, receive_max, .. } = self.buffers;
        let half = |bytes: u32| (bytes / 2) as usize;
        let failed = |error: io::Error| LiveError::system("fixing a socket's buffers", &error);
        setsockopt(socket, sockopt::SndBufForce, &half(send_max)).map_err(|e| failed(e.into()))?;
        setsockopt(socket, sockopt::RcvBufForce, &half(receive_max))
            .map_err(|e| failed(e.into()))?;
        for (what, asked, read) in [
            ("send", send_max, socket.send_buffer_size()),
            ("receive", receive_max, socket.recv_buffer_size()),
        ] {
            let read = read.map_err(failed)?;
            if read != half(asked) * 2 {
                return Err(LiveError::Failed(format!(
                    "the kernel was asked for a {what} buffer of {asked} bytes and has one of \
                     {read}"
                )));
            }
        }
        Ok(())
    }

    fn cannot_open(&self, error: &io::Error) -> LiveError {
        let doing = format!("opening a socket for {}", self.protocol);
        match error.raw_os_error() {
            Some(libc::EPROTONOSUPPORT | libc::EINVAL) => LiveError::missing(
                format!("{doing}: this kernel has none"),
                "run a kernel with CONFIG_MPTCP (Linux 5.6 or later)",
            ),
            Some(libc::ENOPROTOOPT) => LiveError::missing(
                format!("{doing}: it is switched off"),
                "sudo sysctl -w net.mptcp.enabled=1",
            ),
            _ => LiveError::system(&doing, error),
        }
    }

    fn congestion_refused(&self, error: &io::Error) -> LiveError {
        let name = &self.congestion;
        match error.raw_os_error() {
            Some(libc::ENOENT) => self.congestion_missing(),
            Some(libc::EPERM) => LiveError::missing(
                format!("congestion control {name} is not allowed for this user"),
                format!(
                    "run the same command with sudo, or allow it: sudo sysctl -w \
                     net.ipv4.tcp_allowed_congestion_control=\"$(sysctl -n \
                     net.ipv4.tcp_allowed_congestion_control) {name}\""
                ),
            ),
            _ => LiveError::system(&format!("setting congestion control {name}"), error),
        }
    }

    fn congestion_missing(&self) -> LiveError {
        let name = &self.congestion;
        let here = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let here = here.unwrap_or_default();
        let here = here.split_whitespace().collect::<Vec<_>>().join(", ");
        LiveError::missing(
            format!("the kernel has no congestion control {name}; it has {here}"),
            format!("sudo modprobe tcp_{name}, or use one that it has"),
        )
    }
}
