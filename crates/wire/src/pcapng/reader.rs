//! `CaptureReader`: the IP datagrams of a pcapng or classic pcap file, in file order.
//!
//! Either byte order, several sections, time stamps of any resolution. Unknown blocks and frames
//! that carry no IP are skipped; damage is an error that names its place, and the end. A packet of
//! an unknown link type is an error, too, but not the end.

use super::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, IF_NAME, IF_TSOFFSET, IF_TSRESOL, INTERFACE_DESCRIPTION,
    OLD_PACKET, OPTION_END, SECTION_HEADER, SIMPLE_PACKET, link,
};
use base::Instant;
use link::Content;
use std::collections::BTreeMap;

/// A datagram of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedPacket<'a> {
    /// Counted through the whole file; `CaptureReader::interface_name` returns its name.
    pub interface: usize,
    /// Since the epoch of the capture, 1970 for those of real hosts.
    pub time: Instant,
    /// Link header and padding removed; shorter than the length in its IP header if it was cut.
    pub datagram: &'a [u8],
    /// Bytes of the datagram when it was sent: as its header names them or, if that names none, as
    /// the file has them.
    pub len: usize,
}

/// Why a capture cannot be read, or not further. Offsets count bytes from the file's beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CaptureError {
    /// An unknown magic number at the beginning of the file.
    #[error("neither a pcapng nor a pcap file")]
    Magic,
    /// The file, or a block of it, ends within a structure.
    #[error("byte {offset}: {what} cut short: {need} bytes needed, {have} left")]
    Truncated {
        /// Beginning of the structure.
        offset: usize,
        /// Name of the structure, such as `block header`.
        what: &'static str,
        /// Bytes needed.
        need: usize,
        /// Bytes left.
        have: usize,
    },
    /// A block length that is below 12, no multiple of 4, or not repeated at the end of the block.
    #[error("byte {offset}: impossible block length {len}")]
    BlockLength {
        /// Beginning of the block.
        offset: usize,
        /// The first length field, in bytes.
        len: u32,
    },
    /// A section header whose byte-order magic number is wrong in either order.
    #[error("byte {offset}: section header without a byte-order magic number")]
    ByteOrder {
        /// Beginning of the block.
        offset: usize,
    },
    /// A section of another major version than 1.
    #[error("byte {offset}: capture format version {major} is not known")]
    Version {
        /// Position of the version field.
        offset: usize,
        /// The major version.
        major: u16,
    },
    /// A packet of an interface without an interface description block before it.
    #[error("byte {offset}: packet of interface {interface}, which is not described before it")]
    Interface {
        /// Beginning of the contents of the packet's block.
        offset: usize,
        /// Number of the interface in its section.
        interface: u32,
    },
    /// A link type whose frames cannot be unpacked.
    #[error("byte {offset}: link type {link} is not supported")]
    LinkType {
        /// Beginning of the frame.
        offset: usize,
        /// Number of the link-layer header type.
        link: u16,
    },
}

/// Iterates over the datagrams of a capture.
#[derive(Clone, Debug)]
pub struct CaptureReader<'a> {
    file: &'a [u8],
    /// Where the next block or record begins.
    at: usize,
    format: Format,
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Number of the first interface of the present section.
    section: usize,
    /// Skipped frames by the name of their header.
    hidden: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Pcapng,
    Pcap,
}

#[derive(Clone, Debug)]
struct Interface {
    name: String,
    link: u16,
    /// Packets were cut to this many bytes, unless 0.
    snap_len: u32,
    clock: Clock,
}

/// How ticks of a capture become time.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// As in `if_tsresol`: a negative power of 10, or of 2 with the highest bit set.
    resolution: u8,
    /// Seconds to add.
    offset: i64,
}

/// A part of the file with its position.
#[derive(Clone, Copy)]
struct Part<'a> {
    bytes: &'a [u8],
    offset: usize,
    big_endian: bool,
    what: &'static str,
}

const MICROSECONDS: Clock = Clock { resolution: 6, offset: 0 };
const NANOSECONDS: Clock = Clock { resolution: 9, offset: 0 };

impl<'a> CaptureReader<'a> {
    /// A reader of the bytes of a whole file.
    pub fn new(file: &'a [u8]) -> Result<Self, CaptureError> {
        let magic = file.first_chunk().copied().ok_or(CaptureError::Magic)?;
        let mut reader = CaptureReader {
            file,
            at: 0,
            format: Format::Pcap,
            big_endian: false,
            interfaces: Vec::new(),
            section: 0,
            hidden: BTreeMap::new(),
        };
        let clock = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (SECTION_HEADER, _) => {
                reader.format = Format::Pcapng;
                return Ok(reader);
            }
            (0xA1B2_C3D4, _) | (_, 0xA1B2_C3D4) => MICROSECONDS,
            (0xA1B2_3C4D, _) | (_, 0xA1B2_3C4D) => NANOSECONDS,
            _ => return Err(CaptureError::Magic),
        };
        reader.big_endian = magic[0] == 0xA1;
        let header = reader.part(0, 24, "file header")?;
        // The upper half of the link type describes a frame check sequence; not needed here.
        let link = header.u32(20)? as u16;
        reader.interfaces.push(Interface { name: String::new(), link, snap_len: 0, clock });
        reader.at = 24;
        Ok(reader)
    }

    /// The name of an interface met so far; empty if it has none.
    pub fn interface_name(&self, interface: usize) -> Option<&str> {
        self.interfaces.get(interface).map(|interface| interface.name.as_str())
    }

    fn part(
        &self,
        offset: usize,
        len: usize,
        what: &'static str,
    ) -> Result<Part<'a>, CaptureError> {
        let file = Part { bytes: self.file, offset: 0, big_endian: self.big_endian, what };
        file.part(offset, len)
    }

    /// The next record of a classic file.
    fn next_record(&mut self) -> Result<Option<CapturedPacket<'a>>, CaptureError> {
        let header = self.part(self.at, 16, "packet header")?;
        let (seconds, fraction) = (header.u32(0)?, header.u32(4)?);
        let (len, sent) = (header.u32(8)? as usize, header.u32(12)? as usize);
        let frame = self.part(self.at + 16, len, "packet")?;
        self.at += 16 + frame.bytes.len();
        let clock = self.interfaces[0].clock;
        let whole = Clock { resolution: 0, offset: 0 }.time(seconds.into());
        let time = whole + (clock.time(fraction.into()) - Instant::ZERO);
        self.packet(0, time, frame, sent)
    }

    /// The next block of a pcapng file.
    fn next_block(&mut self) -> Result<Option<CapturedPacket<'a>>, CaptureError> {
        let offset = self.at;
        let mut head = self.part(offset, 12, "block header")?;
        let kind = head.u32(0)?;
        if kind == SECTION_HEADER {
            self.big_endian = match head.u32(8)? {
                BYTE_ORDER_MAGIC => self.big_endian,
                magic if magic.swap_bytes() == BYTE_ORDER_MAGIC => !self.big_endian,
                _ => return Err(CaptureError::ByteOrder { offset }),
            };
            head.big_endian = self.big_endian;
        }
        let len = head.u32(4)?;
        let block = self.part(offset, len as usize, "block")?;
        if len < 12 || len % 4 != 0 || block.u32(len as usize - 4)? != len {
            return Err(CaptureError::BlockLength { offset, len });
        }
        self.at += len as usize;
        let body = block.part(8, len as usize - 12)?;
        match kind {
            SECTION_HEADER => self.begin_section(body).map(|()| None),
            INTERFACE_DESCRIPTION => self.add_interface(body).map(|()| None),
            ENHANCED_PACKET => self.stamped_packet(body.u32(0)?, body),
            OLD_PACKET => self.stamped_packet(body.u16(0)?.into(), body),
            SIMPLE_PACKET => self.simple_packet(body),
            _ => Ok(None),
        }
    }

    fn begin_section(&mut self, body: Part<'a>) -> Result<(), CaptureError> {
        let major = body.u16(4)?;
        if major != 1 {
            return Err(CaptureError::Version { offset: body.offset + 4, major });
        }
        self.section = self.interfaces.len();
        Ok(())
    }

    fn add_interface(&mut self, body: Part<'a>) -> Result<(), CaptureError> {
        let (link, snap_len) = (body.u16(0)?, body.u32(4)?);
        let mut interface = Interface { name: String::new(), link, snap_len, clock: MICROSECONDS };
        let mut options = body.part(8, body.bytes.len() - 8)?;
        options.what = "interface option";
        while !options.bytes.is_empty() {
            let (code, len) = (options.u16(0)?, usize::from(options.u16(2)?));
            let value = options.part(4, len)?.bytes;
            match (code, value) {
                (OPTION_END, _) => break,
                (IF_NAME, name) => interface.name = String::from_utf8_lossy(name).into_owned(),
                (IF_TSRESOL, [resolution]) => interface.clock.resolution = *resolution,
                (IF_TSOFFSET, [_, _, _, _, _, _, _, _]) => {
                    interface.clock.offset = options.i64(4)?
                }
                _ => {}
            }
            let next = (4 + len.next_multiple_of(4)).min(options.bytes.len());
            options = options.part(next, options.bytes.len() - next)?;
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// A packet with a time stamp and its lengths at the places of the enhanced packet block.
    fn stamped_packet(
        &mut self,
        interface: u32,
        body: Part<'a>,
    ) -> Result<Option<CapturedPacket<'a>>, CaptureError> {
        let ticks = u64::from(body.u32(4)?) << 32 | u64::from(body.u32(8)?);
        let (frame, sent) = (body.part(20, body.u32(12)? as usize)?, body.u32(16)? as usize);
        let index = self.section + interface as usize;
        let Some(described) = self.interfaces.get(index) else {
            return Err(CaptureError::Interface { offset: body.offset, interface });
        };
        self.packet(index, described.clock.time(ticks), frame, sent)
    }

    /// A packet of the first interface, without a time stamp.
    fn simple_packet(
        &mut self,
        body: Part<'a>,
    ) -> Result<Option<CapturedPacket<'a>>, CaptureError> {
        let Some(described) = self.interfaces.get(self.section) else {
            return Err(CaptureError::Interface { offset: body.offset, interface: 0 });
        };
        let limit = if described.snap_len == 0 { u32::MAX } else { described.snap_len };
        let sent = body.u32(0)?;
        let frame = body.part(4, sent.min(limit) as usize)?;
        self.packet(self.section, Instant::ZERO, frame, sent as usize)
    }

    /// Skipped frames that may carry IP behind a header that is not read, by its name.
    pub fn hidden(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.hidden.iter().map(|(header, frames)| (*header, *frames))
    }

    /// A packet in a frame that had `sent` bytes on the network.
    fn packet(
        &mut self,
        interface: usize,
        time: Instant,
        frame: Part<'a>,
        sent: usize,
    ) -> Result<Option<CapturedPacket<'a>>, CaptureError> {
        let link = self.interfaces[interface].link;
        let cut = sent.saturating_sub(frame.bytes.len());
        let content = link::content(link, frame.bytes, cut)
            .map_err(|_| CaptureError::LinkType { offset: frame.offset, link })?;
        Ok(match content {
            Content::Ip(datagram, len) => Some(CapturedPacket { interface, time, datagram, len }),
            Content::Hidden(ethertype) => {
                if let Some(header) = link::name(ethertype) {
                    *self.hidden.entry(header).or_default() += 1;
                }
                None
            }
            Content::Other => None,
        })
    }
}

impl<'a> Iterator for CaptureReader<'a> {
    type Item = Result<CapturedPacket<'a>, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.file.len() {
            let next = match self.format {
                Format::Pcapng => self.next_block(),
                Format::Pcap => self.next_record(),
            };
            match next {
                Ok(None) => {}
                Ok(Some(packet)) => return Some(Ok(packet)),
                // Other interfaces of the file can be read.
                Err(error @ CaptureError::LinkType { .. }) => return Some(Err(error)),
                Err(error) => {
                    self.at = self.file.len();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl<'a> Part<'a> {
    /// The `len` bytes from `at` of this part.
    fn part(self, at: usize, len: usize) -> Result<Part<'a>, CaptureError> {
        let left = self.bytes.get(at..).unwrap_or_default();
        let offset = self.offset + at;
        let Some(bytes) = left.get(..len) else {
            let (what, have) = (self.what, left.len());
            return Err(CaptureError::Truncated { offset, what, need: len, have });
        };
        Ok(Part { bytes, offset, ..self })
    }

    fn array<const N: usize>(self, at: usize) -> Result<[u8; N], CaptureError> {
        let mut array = [0; N];
        array.copy_from_slice(self.part(at, N)?.bytes);
        if !self.big_endian {
            array.reverse();
        }
        Ok(array)
    }

    fn u16(self, at: usize) -> Result<u16, CaptureError> {
        self.array(at).map(u16::from_be_bytes)
    }

    fn u32(self, at: usize) -> Result<u32, CaptureError> {
        self.array(at).map(u32::from_be_bytes)
    }

    fn i64(self, at: usize) -> Result<i64, CaptureError> {
        self.array(at).map(i64::from_be_bytes)
    }
}

impl Clock {
    /// Ticks as time; what is before 1970 or beyond 2554 is moved to these limits.
    fn time(self, ticks: u64) -> Instant {
        const NANOS: u128 = 1_000_000_000;
        let exponent = u32::from(self.resolution & 0x7F);
        let units = if self.resolution & 0x80 != 0 {
            1u128.checked_shl(exponent)
        } else {
            10u128.checked_pow(exponent)
        };
        // If the unit is too small for 128 bits, any 64 bits of it round to no time.
        let nanos = units.map_or(0, |units| u128::from(ticks) * NANOS / units);
        let nanos = nanos as i128 + i128::from(self.offset) * NANOS as i128;
        Instant::from_nanos(nanos.clamp(0, u64::MAX.into()) as u64)
    }
}
