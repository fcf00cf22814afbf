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

/// Protocols that carry no IP: ARP, RARP, PPPoE discovery, EAPOL, LLDP, time (IEEE 1588), loopback.
const WITHOUT_IP: [u16; 7] = [0x0806, 0x8035, 0x8863, 0x888E, 0x88CC, 0x88F7, 0x9000];
/// In place of an ethertype: IEEE 802.2 with SNAP.
const SNAP: u16 = 0;
/// In place of an ethertype without a name.
const UNKNOWN: u16 = 1;

/// A link type this reader does not know.
pub(super) struct UnknownLink;

/// Content of a frame.
pub(super) enum Content<'a> {
    /// An IP datagram without padding behind it, and its bytes when it was sent.
    Ip(&'a [u8], usize),
    /// Behind a header that is not read, such as that of PPPoE: its ethertype, `SNAP` or `UNKNOWN`.
    Hidden(u16),
    /// No IP.
    Other,
}

/// The content of a frame, whose last `cut` bytes are not in the file.
pub(super) fn content(link: u16, frame: &[u8], cut: usize) -> Result<Content<'_>, UnknownLink> {
    let content = match link {
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => Some(frame),
        // The datagram has its version, which the family only repeats.
        NULL | LOOP => frame.get(4..).filter(|_| has_ip_family(frame)),
        ETHERNET => return Ok(behind_ethertype(frame, cut, 12, 14)),
        LINUX_SLL => return Ok(behind_ethertype(frame, cut, 14, 16)),
        LINUX_SLL2 => return Ok(behind_ethertype(frame, cut, 0, 20)),
        _ => return Err(UnknownLink),
    };
    Ok(content.map_or(Content::Other, |content| datagram(content, cut)))
}

/// Name of a header that is not read, by its ethertype.
pub(super) fn name(ethertype: u16) -> Option<&'static str> {
    Some(match ethertype {
        SNAP => "802.2 SNAP",
        UNKNOWN => "unknown ethertype",
        0x8847 | 0x8848 => "MPLS",
        0x8864 => "PPPoE",
        0x88E5 => "MACsec",
        0x88E7 => "802.1ah",
        _ => return None,
    })
}

/// Whether the first four bytes are, in either order, the number of IPv4 or one of the numbers that
/// systems have for IPv6.
fn has_ip_family(frame: &[u8]) -> bool {
    matches!(
        frame.first_chunk(),
        Some([0, 0, 0, 2 | 10 | 24 | 28 | 30] | [2 | 10 | 24 | 28 | 30, 0, 0, 0])
    )
}

/// What follows the header of `header_len` bytes that has its ethertype at `at`.
fn behind_ethertype(frame: &[u8], cut: usize, at: usize, header_len: usize) -> Content<'_> {
    let Some(mut content) = frame.get(header_len..) else { return Content::Other };
    let mut ethertype = be16(frame, at);
    while ETHERTYPES_VLAN.contains(&ethertype) {
        let Some((tag, behind)) = content.split_at_checked(4) else { return Content::Other };
        ethertype = be16(tag, 2);
        content = behind;
    }
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => datagram(content, cut),
        // A length, or what Linux has for 802.2.
        ..0x0600 if content.starts_with(&[0xAA, 0xAA, 3]) => Content::Hidden(SNAP),
        ..0x0600 => Content::Other,
        other if name(other).is_some() => Content::Hidden(other),
        other if WITHOUT_IP.contains(&other) => Content::Other,
        _ => Content::Hidden(UNKNOWN),
    }
}

/// In place of a protocol, for a datagram of IPv6 that is nothing but a header (RFC 8200 s4.7).
const NOTHING: u8 = 59;

/// The datagram cut to the length it names itself; left as it is if it was cut shorter.
fn datagram(content: &[u8], cut: usize) -> Content<'_> {
    let whole = content.len() + cut;
    let len = match content.first().map(|first| first >> 4) {
        // Offloading hardware fills the length in later.
        Some(4) if content.len() >= 20 && be16(content, 2) == 0 => whole,
        Some(4) if content.len() >= 20 => usize::from(be16(content, 2)).max(20),
        Some(6) if content.len() >= 40 && be16(content, 4) == 0 && content[6] != NOTHING => whole,
        Some(6) if content.len() >= 40 => 40 + usize::from(be16(content, 4)),
        Some(4 | 6) => whole,
        _ => return Content::Other,
    };
    Content::Ip(&content[..len.min(content.len())], len)
}
