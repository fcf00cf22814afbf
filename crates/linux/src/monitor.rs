//! Notifications of devices that went up, went down or were removed.
//!
//! The kernel sends them to the rtnetlink group of links. What follows from a path that is down is
//! the engine's business.

use crate::netlink::{link_of, messages};
use crate::notices::DeviceState;
use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// The multicast group of link notifications (Linux RTMGRP_LINK).
const LINKS: u32 = 1;

/// Listens for changes in the namespace it was opened in.
pub(crate) struct Monitor {
    socket: Socket,
}

/// State of a device after a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkState {
    pub index: u32,
    pub state: DeviceState,
}

impl Monitor {
    /// For the namespace that the calling thread is in.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, LINKS))?;
        socket.set_non_blocking(true)?;
        Ok(Monitor { socket })
    }

    /// The notifications that have arrived, oldest first.
    pub(crate) fn take(&mut self) -> Vec<LinkState> {
        let mut states = Vec::new();
        // On any failure there is no notification, or some were lost; the next ones are sufficient.
        while let Ok((datagram, _)) = self.socket.recv_from_full() {
            states.extend(messages(&datagram).filter_map(|message| match message.ok()?.payload {
                NetlinkPayload::InnerMessage(inner) => state_of(&inner),
                _ => None,
            }));
        }
        states
    }
}

impl AsRawFd for Monitor {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

fn state_of(message: &RouteNetlinkMessage) -> Option<LinkState> {
    let link = link_of(message)?;
    let state = match message {
        RouteNetlinkMessage::DelLink(_) => DeviceState::Removed,
        _ if link.is_up => DeviceState::Up,
        _ => DeviceState::Down,
    };
    Some(LinkState { index: link.index, state })
}
