//! `PcapngWriter`: one section, one interface per path, one enhanced packet block per datagram.
//!
//! Always little-endian, so that a run gives the same file on every machine.

use super::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, IF_NAME, IF_TSRESOL, INTERFACE_DESCRIPTION, OPTION_END,
    SECTION_HEADER, link,
};
use crate::Packet;
use base::Instant;
use std::io::{self, Write};

/// 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Option of a section header: which program wrote it.
const SHB_USERAPPL: u16 = 4;

/// Writes a capture. Call `flush` at the end.
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    out: W,
    interfaces: usize,
    /// The block being put together; kept for its memory.
    block: Vec<u8>,
    datagram: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begin a capture with an interface per name, numbered from 0.
    pub fn new(out: W, names: &[&str]) -> io::Result<Self> {
        let (block, datagram) = (Vec::new(), Vec::new());
        let mut writer = PcapngWriter { out, interfaces: 0, block, datagram };
        writer.begin(SECTION_HEADER);
        writer.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        writer.put(&[1, 0, 0, 0]); // version 1.0
        writer.put(&u64::MAX.to_le_bytes()); // the section's length is not known beforehand
        writer.put_option(SHB_USERAPPL, b"anabranch")?;
        writer.put_option(OPTION_END, &[])?;
        writer.end()?;
        for name in names {
            writer.add_interface(name)?;
        }
        Ok(writer)
    }

    /// Add an interface; returns its number.
    pub fn add_interface(&mut self, name: &str) -> io::Result<usize> {
        self.begin(INTERFACE_DESCRIPTION);
        self.put(&link::RAW.to_le_bytes());
        self.put(&[0; 6]); // reserved, and no limit to the length of packets
        self.put_option(IF_NAME, name.as_bytes())?;
        self.put_option(IF_TSRESOL, &[NANOSECONDS])?;
        self.put_option(OPTION_END, &[])?;
        self.end()?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Add a packet seen on an interface at `now`.
    pub fn write(&mut self, interface: usize, now: Instant, packet: &Packet) -> io::Result<()> {
        let mut datagram = std::mem::take(&mut self.datagram);
        datagram.clear();
        packet.emit(&mut datagram);
        let result = self.write_datagram(interface, now, &datagram);
        self.datagram = datagram;
        result
    }

    /// Add the bytes of an IP datagram seen on an interface at `now`.
    pub fn write_datagram(
        &mut self,
        interface: usize,
        now: Instant,
        datagram: &[u8],
    ) -> io::Result<()> {
        if interface >= self.interfaces {
            return Err(invalid("no interface of that number was added to the capture"));
        }
        let len = u32::try_from(datagram.len()).map_err(|_| invalid("datagram too long"))?;
        let nanos = now.as_nanos();
        self.begin(ENHANCED_PACKET);
        self.put(&(interface as u32).to_le_bytes());
        self.put(&((nanos >> 32) as u32).to_le_bytes());
        self.put(&(nanos as u32).to_le_bytes());
        self.put(&len.to_le_bytes());
        self.put(&len.to_le_bytes());
        self.put_padded(datagram);
        self.end()
    }

    /// Passes everything to the operating system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.put(&kind.to_le_bytes());
        self.put(&[0; 4]); // the length, filled in by `end`
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn put_padded(&mut self, bytes: &[u8]) {
        self.put(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn put_option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let len = u16::try_from(value.len()).map_err(|_| invalid("interface name too long"))?;
        self.put(&code.to_le_bytes());
        self.put(&len.to_le_bytes());
        self.put_padded(value);
        Ok(())
    }

    /// Write the block with its length before and behind its body.
    fn end(&mut self) -> io::Result<()> {
        let len = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&len);
        self.put(&len);
        self.out.write_all(&self.block)
    }
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
