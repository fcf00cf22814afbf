//! Segmentation and checksum offload of TUN devices: what is in front of each datagram, merged
//! segments that are read, and segments that are merged to be written.
//!
//! A device with offloads puts a `virtio_net_hdr` in front of every datagram (virtio 1.2 s5.1.6).
//! It says that a checksum is valid or yet to be filled in, and that TCP segments (or UDP
//! datagrams) that follow each other are one: with one header, that of the first, and one payload
//! that is to be cut every `gso_size` bytes. The engine has single segments on both sides. The
//! system calls are left to `tun_path`.

mod merge;
mod split;

pub(crate) use merge::{Merged, Merger};
pub(crate) use split::{Read, read};

/// Bytes of the header.
pub(crate) const HEADER: usize = tun_rs::VIRTIO_NET_HDR_LEN;
/// Room for the longest datagram and its header.
pub(crate) const LONGEST_READ: usize = 65_535 + HEADER;

/// `gso_type` of a header: the datagram is one of its own.
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
/// Bit of `gso_type`: the first segment may have CWR, or congestion was experienced.
const GSO_ECN: u8 = 0x80;
/// Bit of `flags`: the checksum is to be filled in.
const NEEDS_CSUM: u8 = 1;
/// Bit of `flags`: the checksum was verified.
const DATA_VALID: u8 = 2;
