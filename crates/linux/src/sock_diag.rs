//! Socket diagnosis: every TCP connection and MPTCP subflow of a namespace, as `ss -ti` shows
//! them, by netlink.
//!
//! It queries the kernel without using the sockets themselves, so any thread may call it at any
//! time. The readings are evaluated by `sut`.

use crate::raw_netlink::{RawNetlink, array, attributes};
use crate::sockets::TcpReading;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use nix::libc;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Linux SOCK_DIAG_BY_FAMILY.
const BY_FAMILY: u16 = 20;
/// Attributes of an answer (Linux INET_DIAG_INFO, INET_DIAG_CONG), and the bits that ask for them.
const INFO: u16 = 2;
const CONGESTION: u16 = 4;
const WANTED: u8 = 1 << (INFO - 1) | 1 << (CONGESTION - 1);
/// All states but those of connections that have not come about, that are over, and of listeners
/// (SYN-SENT, SYN-RECEIVED, TIME-WAIT, LISTEN, NEW-SYN-RECV).
const STATES: u32 = !(1 << 2 | 1 << 3 | 1 << 6 | 1 << 10 | 1 << 12);
/// Lengths of `struct inet_diag_sockid` and `struct inet_diag_msg`.
const IDENTITY: usize = 48;
const ANSWER: usize = 72;

/// A connection to the diagnosis of one namespace.
pub struct SockDiag {
    netlink: RawNetlink,
}

/// One connection or subflow.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnosis {
    /// Address and port of this host.
    pub local: SocketAddr,
    /// Address and port of the peer.
    pub remote: SocketAddr,
    /// The congestion control that it uses.
    pub congestion: String,
    /// Counters of the kernel's `struct tcp_info`.
    pub reading: TcpReading,
}

impl SockDiag {
    /// Of the namespace that the calling thread is in; any thread may use it.
    pub fn open() -> io::Result<Self> {
        Ok(SockDiag { netlink: RawNetlink::open(NETLINK_SOCK_DIAG)? })
    }

    /// All connections and subflows over one IP version.
    pub fn tcp(&mut self, ipv4: bool) -> io::Result<Vec<Diagnosis>> {
        let family = if ipv4 { libc::AF_INET } else { libc::AF_INET6 } as u8;
        let mut body = vec![family, libc::IPPROTO_TCP as u8, WANTED, 0];
        body.extend(STATES.to_ne_bytes());
        body.resize(body.len() + IDENTITY, 0);
        let answers = self.netlink.dump(BY_FAMILY, &body)?;
        Ok(answers.iter().filter_map(|answer| diagnosis(answer)).collect())
    }
}

fn diagnosis(answer: &[u8]) -> Option<Diagnosis> {
    let ipv4 = i32::from(*answer.first()?) == libc::AF_INET;
    let address = |at: usize| -> Option<IpAddr> {
        if ipv4 {
            return Some(Ipv4Addr::from_octets(array(answer, at)?).into());
        }
        Some(Ipv6Addr::from_octets(array(answer, at)?).into())
    };
    let port = |at: usize| array(answer, at).map(u16::from_be_bytes);
    // Four bytes of states, then the identity: ports, addresses.
    let mut found = Diagnosis {
        local: SocketAddr::new(address(8)?, port(4)?),
        remote: SocketAddr::new(address(24)?, port(6)?),
        congestion: String::new(),
        reading: TcpReading::default(),
    };
    for (kind, value) in attributes(answer.get(ANSWER..)?) {
        match kind {
            INFO => found.reading = TcpReading::parse(value),
            CONGESTION => {
                let name = value.split(|byte| *byte == 0).next().unwrap_or_default();
                found.congestion = String::from_utf8_lossy(name).into_owned();
            }
            _ => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn connection_of_this_machine_is_found_with_what_it_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let near = TcpStream::connect(listener.local_addr().expect("an address")).expect("a peer");
        let (_far, _) = listener.accept().expect("a connection");
        std::io::Write::write_all(&mut &near, &[7; 1000]).expect("room");
        let (local, remote) = (near.local_addr().unwrap(), near.peer_addr().unwrap());
        let all = SockDiag::open().and_then(|mut diag| diag.tcp(true)).expect("a diagnosis");
        let ours = all.iter().find(|one| one.local == local && one.remote == remote);
        let ours = ours.unwrap_or_else(|| panic!("{local} to {remote} in {all:?}"));
        assert_eq!(ours.reading.bytes_sent, 1000);
        assert!(ours.reading.snd_cwnd > 0 && !ours.congestion.is_empty(), "{ours:?}");
    }

    #[test]
    fn answer_cut_short_is_no_diagnosis() {
        for len in [0, 1, 20, ANSWER - 1] {
            assert_eq!(diagnosis(&vec![2; len]), None, "{len}");
        }
    }
}
