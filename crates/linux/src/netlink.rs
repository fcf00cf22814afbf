//! Devices, addresses and routes of the namespace the calling thread is in, by rtnetlink.
//!
//! One request, one answer, no threads. Independent of paths and engines; notifications of changes
//! are left to `monitor`.

use crate::address::{KernelAddress, Subnet};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::net::IpAddr;

/// A connection to the kernel's routing of one namespace.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// A network device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The kernel's number of the device.
    pub index: u32,
    /// Its name in `ip link`.
    pub name: String,
    /// Set up by the administrator, whether or not there is a carrier.
    pub is_up: bool,
    /// Whether the device has a carrier.
    pub has_carrier: bool,
    /// Whether the kernel sends into it: soon after it has a carrier and is up.
    pub is_running: bool,
    /// Largest IP datagram, in bytes.
    pub mtu: u32,
}

/// The table of routes that is looked into without a rule.
pub const MAIN_TABLE: u32 = 254;

/// Where packets to a subnet go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// Its first address.
    pub destination: Subnet,
    /// The number of the device.
    pub device: u32,
    /// The next host, if the subnet is not reached at once.
    pub gateway: Option<IpAddr>,
    /// The number of its routing table.
    pub table: u32,
}

impl Netlink {
    /// To the namespace that the calling thread is in.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// The device of this name.
    pub fn link(&mut self, name: &str) -> io::Result<Option<Link>> {
        Ok(self.links()?.into_iter().find(|link| link.name == name))
    }

    /// All devices.
    pub fn links(&mut self) -> io::Result<Vec<Link>> {
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let answers = self.request(request, NLM_F_DUMP)?;
        Ok(answers.iter().filter_map(link_of).collect())
    }

    /// All addresses, with the indices of their devices.
    pub fn addresses(&mut self) -> io::Result<Vec<(u32, KernelAddress)>> {
        let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let answers = self.request(request, NLM_F_DUMP)?;
        Ok(answers.iter().filter_map(address_of).collect())
    }

    /// Set a device up or down.
    pub fn set_up(&mut self, index: u32, up: bool) -> io::Result<()> {
        let mut message = link_message(index);
        message.header.change_mask = LinkFlags::Up;
        message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
        self.command(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Set the largest IP datagram of a device, in bytes.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> io::Result<()> {
        let mut message = link_message(index);
        message.attributes.push(LinkAttribute::Mtu(mtu));
        self.command(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Give a device a carrier or take it: to the kernel a cable that is plugged in or not.
    /// Addresses and routes stay.
    pub fn set_carrier(&mut self, index: u32, carrier: bool) -> io::Result<()> {
        let mut message = link_message(index);
        message.attributes.push(LinkAttribute::Carrier(carrier.into()));
        self.command(RouteNetlinkMessage::SetLink(message), 0)?;
        // The kernel acts on such changes once a second (`linkwatch_nextevent`), but on that of a
        // device that is read at once (`linkwatch_sync_dev`).
        self.command(RouteNetlinkMessage::GetLink(link_message(index)), 0)
    }

    /// Sets how many packets may wait in a device until they are read.
    pub fn set_queue_len(&mut self, index: u32, packets: u32) -> io::Result<()> {
        let mut message = link_message(index);
        message.attributes.push(LinkAttribute::TxQueueLen(packets));
        self.command(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Packets that a device could not send on, since it was made.
    pub fn tx_dropped(&mut self, index: u32) -> io::Result<u64> {
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let answers = self.request(request, NLM_F_DUMP)?;
        let attributes = answers.iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) if link.header.index == index => {
                Some(&link.attributes)
            }
            _ => None,
        });
        let count = attributes.into_iter().flatten().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(stats) => Some(stats.tx_dropped),
            _ => None,
        });
        count.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no counters of the device"))
    }

    /// Makes a device send in the order of arrival, regardless of the machine's default queue
    /// discipline (`fq` would pace what the sender does not).
    pub fn set_fifo(&mut self, index: u32) -> io::Result<()> {
        let mut message = TcMessage::with_index(index.cast_signed());
        message.header.parent = TcHandle::ROOT;
        message.attributes.push(TcAttribute::Kind("pfifo_fast".to_owned()));
        let request = RouteNetlinkMessage::NewQueueDiscipline(message);
        self.command(request, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Adds an address of the kernel to a device, and with it a route to the subnet. It can be used
    /// at once: there is no duplicate address detection.
    pub fn add_address(&mut self, index: u32, subnet: Subnet) -> io::Result<()> {
        self.command(address_message(index, subnet), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Add a route.
    pub fn add_route(&mut self, route: &Route) -> io::Result<()> {
        let Route { destination, device, gateway, table } = *route;
        let mut message = RouteMessage::default();
        message.header.address_family = family_of(destination.address);
        message.header.destination_prefix_length = destination.prefix_len;
        message.header.protocol = RouteProtocol::Static;
        message.header.kind = RouteType::Unicast;
        message.header.scope =
            if gateway.is_some() { RouteScope::Universe } else { RouteScope::Link };
        let attributes = &mut message.attributes;
        attributes.push(RouteAttribute::Destination(destination.address.into()));
        attributes.push(RouteAttribute::Oif(device));
        attributes.push(RouteAttribute::Table(table));
        attributes.extend(gateway.map(|gateway| RouteAttribute::Gateway(gateway.into())));
        self.command(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Packets of a family that come in from the device `input` follow the routes of `table`,
    /// those that none of them fits the usual ones.
    pub fn add_rule(&mut self, input: &str, table: u32, ipv4: bool) -> io::Result<()> {
        let mut message = RuleMessage::default();
        message.header.family = if ipv4 { AddressFamily::Inet } else { AddressFamily::Inet6 };
        message.header.action = RuleAction::ToTable;
        message.attributes.push(RuleAttribute::Iifname(input.to_owned()));
        message.attributes.push(RuleAttribute::Table(table));
        self.command(RouteNetlinkMessage::NewRule(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Packets from `source` follow the routes of `table`, those that none of them fits the usual
    /// ones.
    pub fn add_source_rule(&mut self, source: IpAddr, table: u32) -> io::Result<()> {
        let mut message = RuleMessage::default();
        message.header.family = family_of(source);
        message.header.src_len = if source.is_ipv4() { 32 } else { 128 };
        message.header.action = RuleAction::ToTable;
        message.attributes.push(RuleAttribute::Source(source));
        message.attributes.push(RuleAttribute::Table(table));
        self.command(RouteNetlinkMessage::NewRule(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    fn command(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.request(message, flags | NLM_F_ACK).map(drop)
    }

    fn request(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        self.answer()
    }

    /// Everything up to the end of a dump or the acknowledgement.
    fn answer(&mut self) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            for message in messages(&datagram) {
                let message = message?;
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(error.to_io());
                    }
                    NetlinkPayload::Error(_) => return Ok(answers),
                    NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                    _ => {}
                }
            }
        }
    }
}

/// The messages in a datagram of the kernel.
pub(crate) fn messages(
    mut bytes: &[u8],
) -> impl Iterator<Item = io::Result<NetlinkMessage<RouteNetlinkMessage>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes);
        let len = message.as_ref().map_or(usize::MAX, |message| message.header.length as usize);
        // Messages begin at multiples of four; at least one header per step, so that the loop ends.
        let next = len.max(16).checked_next_multiple_of(4).unwrap_or(usize::MAX);
        bytes = bytes.get(next..).unwrap_or(&[]);
        Some(message.map_err(|error| io::Error::other(format!("netlink: {error}"))))
    })
}

/// The device that a message describes.
pub(crate) fn link_of(message: &RouteNetlinkMessage) -> Option<Link> {
    let (RouteNetlinkMessage::NewLink(message) | RouteNetlinkMessage::DelLink(message)) = message
    else {
        return None;
    };
    let mut link = Link {
        index: message.header.index,
        name: String::new(),
        is_up: message.header.flags.contains(LinkFlags::Up),
        has_carrier: message.header.flags.contains(LinkFlags::LowerUp),
        is_running: message.header.flags.contains(LinkFlags::Running),
        mtu: 1500,
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            _ => {}
        }
    }
    Some(link)
}

fn address_of(message: &RouteNetlinkMessage) -> Option<(u32, KernelAddress)> {
    let RouteNetlinkMessage::NewAddress(message) = message else { return None };
    let (mut address, mut local) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Address(ip) => address = Some(*ip),
            AddressAttribute::Local(ip) => local = Some(*ip),
            _ => {}
        }
    }
    // With a peer, `address` is the peer's; IPv6 without one has no `local`.
    let own = local.or(address)?;
    let peer = address.filter(|address| *address != own);
    let subnet = Subnet::new(own, message.header.prefix_len)?;
    Some((message.header.index, KernelAddress { subnet, peer }))
}

fn link_message(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message
}

fn address_message(index: u32, subnet: Subnet) -> RouteNetlinkMessage {
    let mut message = AddressMessage::default();
    message.header.family = family_of(subnet.address);
    message.header.prefix_len = subnet.prefix_len;
    message.header.scope = AddressScope::Universe;
    message.header.index = index;
    if subnet.address.is_ipv6() {
        message.header.flags = AddressHeaderFlags::Nodad;
    }
    message.attributes.push(AddressAttribute::Local(subnet.address));
    message.attributes.push(AddressAttribute::Address(subnet.address));
    RouteNetlinkMessage::NewAddress(message)
}

fn family_of(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
