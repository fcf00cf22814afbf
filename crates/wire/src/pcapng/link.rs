//! Link layers of captures: where the IP datagram of a frame begins.
//!
//! Numbers are those of the tcpdump group's list of link-layer header types.

use crate::error::be16;

/// IPv4 or IPv6 without a link header; what we write.
pub(super) const RAW: u16 = 101;
/// The same under the numbers some systems use.
const RAW_BSD: u16 = 12;
const RAW_OPENBSD: u16 = 14;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
/// The loopback device of BSD and macOS: an address family of four bytes in the order of the host
/// (`NULL`) or of the network (`LOOP`) before the datagram.
const NULL: u16 = 0;
const LOOP: u16 = 108;
const ETHERNET: u16 = 1;
/// Linux "cooked" frames, of the `any` device.
const LINUX_SLL: u16 = 113;
const LINUX_SLL2: u16 = 276;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
/// IEEE 802.1Q, 802.1ad, and what was used before the latter.
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];

/// A link type this reader does not know.
pub(super) struct UnknownLink;

/// The IP datagram in a frame without padding behind it; `None` if the frame carries none.
pub(super) fn datagram(link: u16, frame: &[u8]) -> Result<Option<&[u8]>, UnknownLink> {
    let content = match link {
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => Some(frame),
        // The datagram has its version, which the family only repeats.
        NULL | LOOP => frame.get(4..).filter(|_| has_ip_family(frame)),
        ETHERNET => behind_ethertype(frame, 12, 14),
        LINUX_SLL => behind_ethertype(frame, 14, 16),
        LINUX_SLL2 => behind_ethertype(frame, 0, 20),
        _ => return Err(UnknownLink),
    };
    Ok(content.and_then(without_padding))
}

/// Whether the first four bytes are, in either order, the number of IPv4 or one of the numbers that
/// systems have for IPv6.
fn has_ip_family(frame: &[u8]) -> bool {
    matches!(
        frame.first_chunk(),
        Some([0, 0, 0, 2 | 10 | 24 | 28 | 30] | [2 | 10 | 24 | 28 | 30, 0, 0, 0])
    )
}

/// What follows the header of `header_len` bytes that has its ethertype at `at`, if that is IP.
fn behind_ethertype(frame: &[u8], at: usize, header_len: usize) -> Option<&[u8]> {
    let mut content = frame.get(header_len..)?;
    let mut ethertype = be16(frame, at);
    while ETHERTYPES_VLAN.contains(&ethertype) {
        let (tag, behind) = content.split_at_checked(4)?;
        ethertype = be16(tag, 2);
        content = behind;
    }
    matches!(ethertype, ETHERTYPE_IPV4 | ETHERTYPE_IPV6).then_some(content)
}

/// The datagram cut to the length it names itself; left as it is if it was cut shorter.
fn without_padding(content: &[u8]) -> Option<&[u8]> {
    let len = match content.first()? >> 4 {
        // Offloading hardware fills the length in later.
        4 if content.len() >= 20 && be16(content, 2) == 0 => content.len(),
        4 if content.len() >= 20 => usize::from(be16(content, 2)).max(20),
        6 if content.len() >= 40 => 40 + usize::from(be16(content, 4)),
        4 | 6 => content.len(),
        _ => return None,
    };
    Some(&content[..len.min(content.len())])
}
