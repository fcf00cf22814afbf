//! Captures made here: ours read back, and every dialect a reader must understand.

use crate::generate::packet;
use base::Instant;
use proptest::collection::vec;
use proptest::prelude::*;
use wire::{CaptureError, CaptureReader, CapturedPacket, PcapngWriter};

/// The shortest thing the reader takes for a datagram, recognisable by its last byte.
fn datagram(mark: u8) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 24];
    bytes.resize(23, 0);
    bytes.push(mark);
    bytes
}

/// Puts capture files together in either byte order.
struct File {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl File {
    fn new(big_endian: bool) -> File {
        File { bytes: Vec::new(), big_endian }
    }

    fn u16(mut self, value: u16) -> File {
        let bytes = if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes.extend(bytes);
        self
    }

    fn u32(mut self, value: u32) -> File {
        let bytes = if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes.extend(bytes);
        self
    }

    fn raw(mut self, bytes: &[u8]) -> File {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// A block whose body is what `body` adds.
    fn block(self, kind: u32, body: impl FnOnce(File) -> File) -> File {
        let content = body(File::new(self.big_endian)).bytes;
        let len = content.len() as u32 + 12;
        self.u32(kind).u32(len).raw(&content).u32(len)
    }

    fn section(self) -> File {
        self.block(0x0A0D_0D0A, |body| {
            body.u32(0x1A2B_3C4D).u16(1).u16(0).u32(u32::MAX).u32(u32::MAX)
        })
    }

    fn interface(self, link: u16, options: impl FnOnce(File) -> File) -> File {
        self.block(1, |body| options(body.u16(link).u16(0).u32(0)))
    }

    fn enhanced(self, interface: u32, ticks: u64, frame: &[u8]) -> File {
        self.block(6, |body| {
            let len = frame.len() as u32;
            let body = body.u32(interface).u32((ticks >> 32) as u32).u32(ticks as u32);
            body.u32(len).u32(len).raw(frame)
        })
    }

    fn pcap(big_endian: bool, magic: u32, link: u32) -> File {
        File::new(big_endian).u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(link)
    }

    fn record(self, seconds: u32, fraction: u32, frame: &[u8]) -> File {
        let len = frame.len() as u32;
        let mut file = self.u32(seconds).u32(fraction).u32(len).u32(len);
        file.bytes.extend_from_slice(frame);
        file
    }

    fn read(&self) -> Result<Vec<CapturedPacket<'_>>, CaptureError> {
        CaptureReader::new(&self.bytes)?.collect()
    }

    /// Interface, time in ns and mark of each packet.
    fn summary(&self) -> Vec<(usize, u64, u8)> {
        let packets = self.read().unwrap();
        let mark = |packet: &CapturedPacket<'_>| {
            assert_eq!(packet.datagram.len(), 24, "link header and padding are removed");
            packet.datagram[23]
        };
        packets.iter().map(|p| (p.interface, p.time.as_nanos(), mark(p))).collect()
    }
}

#[test]
fn both_byte_orders_and_several_sections_are_read() {
    let none = |body: File| body;
    let name = |body: File| body.u16(2).u16(4).raw(b"wlan").u16(0).u16(0);
    for big_endian in [false, true] {
        let mut file = File::new(big_endian).section().interface(101, none).interface(101, name);
        file = file.enhanced(1, 5, &datagram(1)).block(0x0BAD, |body| body.u32(1));
        file.big_endian = !big_endian;
        file = file.section().interface(101, name).enhanced(0, 7, &datagram(2));
        assert_eq!(file.summary(), [(1, 5_000, 1), (2, 7_000, 2)]);

        let mut reader = CaptureReader::new(&file.bytes).unwrap();
        assert_eq!(reader.by_ref().count(), 2);
        assert_eq!(reader.interface_name(0), Some(""));
        assert_eq!(reader.interface_name(1), Some("wlan"));
        assert_eq!(reader.interface_name(3), None);
    }
}

#[test]
fn time_stamps_of_any_resolution_become_nanoseconds() {
    let cases = [
        (9, 1_500_000_001, 1_500_000_001),
        (6, 1_500_000, 1_500_000_000),
        (0, 3, 3_000_000_000),
        (12, 2_999, 2),
        (0x80 | 10, 1536, 1_500_000_000),
        (0x80 | 127, u64::MAX, 0),
        (127, u64::MAX, 0),
        (0, u64::MAX, u64::MAX),
    ];
    for (resolution, ticks, nanos) in cases {
        let options = |body: File| body.u16(9).u16(1).raw(&[resolution]);
        let file = File::new(false).section().interface(101, options);
        assert_eq!(file.enhanced(0, ticks, &datagram(1)).summary(), [(0, nanos, 1)]);
    }
}

#[test]
fn time_offset_of_an_interface_is_added() {
    let options = |offset: i64| {
        move |body: File| body.u16(14).u16(8).raw(&offset.to_le_bytes()).u16(0).u16(0)
    };
    for (offset, nanos) in [(2, 5_000_000_000), (-1, 2_000_000_000), (i64::MIN, 0)] {
        let file = File::new(false).section().interface(101, options(offset));
        assert_eq!(file.enhanced(0, 3_000_000, &datagram(1)).summary(), [(0, nanos, 1)]);
    }
}

#[test]
fn simple_and_old_packet_blocks_are_read() {
    let file = File::new(true)
        .section()
        .interface(101, |body| body)
        .block(3, |body| body.u32(24).raw(&datagram(1)))
        .block(2, |body| body.u16(0).u16(9).u32(0).u32(4).u32(24).u32(24).raw(&datagram(2)));
    assert_eq!(file.summary(), [(0, 0, 1), (0, 4_000, 2)]);
}

#[test]
fn classic_files_of_all_four_magic_numbers_are_read() {
    for big_endian in [false, true] {
        for (magic, unit) in [(0xA1B2_C3D4, 1_000), (0xA1B2_3C4D, 1)] {
            let file = File::pcap(big_endian, magic, 101).record(2, 7, &datagram(1)).record(
                3,
                8,
                &datagram(2),
            );
            let expected = [(0, 2_000_000_000 + 7 * unit, 1), (0, 3_000_000_000 + 8 * unit, 2)];
            assert_eq!(file.summary(), expected);
        }
    }
}

#[test]
fn link_headers_are_removed_and_frames_without_ip_skipped() {
    let ipv4 = [0x08, 0x00];
    let arp = [0x08, 0x06];
    let vlan = [0x81, 0x00, 0x00, 0x05];
    let provider = [0x88, 0xA8, 0x00, 0x06];
    let frame = |parts: &[&[u8]]| parts.concat();
    let cases = [
        (1, frame(&[&[0; 12], &ipv4, &datagram(1), &[0xEE; 22]])),
        (1, frame(&[&[0; 12], &vlan, &ipv4, &datagram(1)])),
        (1, frame(&[&[0; 12], &provider, &vlan, &ipv4, &datagram(1)])),
        (113, frame(&[&[0; 14], &ipv4, &datagram(1)])),
        (276, frame(&[&ipv4, &[0; 18], &datagram(1)])),
        (12, datagram(1)),
        (14, datagram(1)),
        (228, datagram(1)),
        (0x1000_0065, datagram(1)),
    ];
    for (link, bytes) in cases {
        let file = File::pcap(false, 0xA1B2_C3D4, link)
            .record(0, 0, &frame(&[&[0; 12], &arp, &[0x55; 28]]))
            .record(0, 0, &[])
            .record(1, 0, &bytes);
        assert_eq!(file.summary(), [(0, 1_000_000_000, 1)], "link type {link}");
    }
}

#[test]
fn damage_is_named_with_its_place() {
    let pcapng = || File::new(false).section().interface(101, |body| body);
    let begun = pcapng().bytes.len();
    let cut = |mut file: File, by: usize| {
        file.bytes.truncate(file.bytes.len() - by);
        file
    };
    let truncated = |offset, what, need, have| CaptureError::Truncated { offset, what, need, have };
    let cases = [
        (File::new(false).u32(1), CaptureError::Magic),
        (File::new(false), CaptureError::Magic),
        (cut(pcapng().enhanced(0, 0, &datagram(1)), 1), truncated(begun, "block", 56, 55)),
        (pcapng().u32(6).u32(u32::MAX).u32(0), truncated(begun, "block", 0xFFFF_FFFF, 12)),
        (pcapng().u32(6), truncated(begun, "block header", 12, 4)),
        (pcapng().u32(6).u32(8).u32(8), CaptureError::BlockLength { offset: begun, len: 8 }),
        (pcapng().u32(6).u32(12).u32(16), CaptureError::BlockLength { offset: begun, len: 12 }),
        (
            pcapng().enhanced(3, 0, &datagram(1)),
            CaptureError::Interface { offset: begun + 8, interface: 3 },
        ),
        (
            pcapng().block(6, |body| body.u32(0).u32(0).u32(0).u32(u32::MAX).u32(4)),
            truncated(begun + 28, "block", 0xFFFF_FFFF, 0),
        ),
        (
            File::new(false).section().interface(101, |body| body.u16(2).u16(400).u32(7)),
            truncated(28 + 20, "interface option", 400, 4),
        ),
        (
            File::new(false).block(0x0A0D_0D0A, |body| body.u32(5)),
            CaptureError::ByteOrder { offset: 0 },
        ),
        (
            File::new(false).block(0x0A0D_0D0A, |body| body.u32(0x1A2B_3C4D).u32(9)),
            CaptureError::Version { offset: 12, major: 9 },
        ),
        (
            File::pcap(false, 0xA1B2_C3D4, 101).u32(0).u32(0).u32(0x7FFF_FFFF).u32(0),
            truncated(40, "packet", 0x7FFF_FFFF, 0),
        ),
        (
            File::pcap(true, 0xA1B2_C3D4, 147).record(0, 0, &datagram(1)),
            CaptureError::LinkType { offset: 40, link: 147 },
        ),
        (cut(File::pcap(true, 0xA1B2_C3D4, 101), 1), truncated(0, "file header", 24, 23)),
    ];
    for (file, error) in cases {
        assert_eq!(file.read(), Err(error));
    }
}

#[test]
fn loopback_frames_are_read_in_either_byte_order() {
    for (link, family) in [(0, [2, 0, 0, 0]), (0, [0, 0, 0, 2]), (108, [0, 0, 0, 2])] {
        let file = File::pcap(false, 0xA1B2_C3D4, link);
        let file = file.record(0, 0, &[&family[..], &datagram(1)].concat());
        let other = file.record(0, 0, &[&[7, 0, 0, 0][..], &datagram(2)].concat());
        assert_eq!(other.summary(), [(0, 0, 1)]);
    }
}

#[test]
fn unknown_link_type_of_an_interface_leaves_the_others() {
    let none = |body: File| body;
    let file = File::new(false).section().interface(147, none).interface(101, none);
    let file = file.enhanced(0, 0, &datagram(1)).enhanced(1, 0, &datagram(2));
    let read: Vec<bool> =
        CaptureReader::new(&file.bytes).unwrap().map(|packet| packet.is_ok()).collect();
    assert_eq!(read, [false, true]);
}

#[test]
fn an_error_is_the_end() {
    let file = File::pcap(false, 0xA1B2_C3D4, 101).record(0, 0, &datagram(1)).u32(0);
    let mut reader = CaptureReader::new(&file.bytes).unwrap();
    assert!(reader.next().is_some_and(|packet| packet.is_ok()));
    assert!(reader.next().is_some_and(|packet| packet.is_err()));
    assert!(reader.next().is_none());
}

#[test]
fn writing_to_an_interface_that_was_not_added_fails() {
    let mut writer = PcapngWriter::new(Vec::new(), &["a"]).unwrap();
    assert!(writer.write_datagram(1, Instant::ZERO, &datagram(1)).is_err());
    assert_eq!(writer.add_interface("b").unwrap(), 1);
    assert!(writer.write_datagram(1, Instant::ZERO, &datagram(1)).is_ok());
}

/// Blocks that make sense, then arbitrary damage.
fn some_capture() -> impl Strategy<Value = Vec<u8>> {
    let file = (any::<bool>(), any::<bool>(), 0usize..6).prop_map(|(big_endian, pcapng, link)| {
        let link = [101u16, 1, 113, 276, 228, 147][link];
        let frame = [&[0x08, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x00][..], &datagram(1)];
        if pcapng {
            let options = |body: File| body.u16(2).u16(3).raw(b"abc").u16(9).u16(1).raw(&[9]);
            let file = File::new(big_endian).section().interface(link, options);
            file.enhanced(0, 1, &frame.concat()).block(3, |body| body.u32(9).raw(&[0; 9])).bytes
        } else {
            let file = File::pcap(big_endian, 0xA1B2_C3D4, link.into());
            file.record(0, 0, &frame.concat()).record(1, 1, &datagram(2)).bytes
        }
    });
    (file, vec((any::<usize>(), any::<u8>()), 0..5), any::<usize>()).prop_map(
        |(mut file, changes, keep)| {
            for (at, value) in changes {
                let at = at % file.len();
                file[at] = value;
            }
            file.truncate(keep % (2 * file.len()));
            file
        },
    )
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        packets in vec((0usize..3, any::<u64>(), packet()), 0..10),
    ) {
        let mut writer = PcapngWriter::new(Vec::new(), &["wlan", "3g", "lte"]).unwrap();
        for (path, nanos, packet) in &packets {
            writer.write(*path, Instant::from_nanos(*nanos), packet).unwrap();
        }
        let file = writer.into_inner();
        let mut reader = CaptureReader::new(&file).unwrap();
        for (path, nanos, packet) in packets {
            let read = reader.next().unwrap().unwrap();
            let mut bytes = Vec::new();
            packet.emit(&mut bytes);
            prop_assert_eq!(read.interface, path);
            prop_assert_eq!(read.time, Instant::from_nanos(nanos));
            prop_assert_eq!(read.datagram, &bytes[..]);
        }
        prop_assert_eq!(reader.next(), None);
        let names = [0, 1, 2].map(|i| reader.interface_name(i));
        prop_assert_eq!(names, [Some("wlan"), Some("3g"), Some("lte")]);
    }

    #[test]
    fn damaged_captures_never_panic(file in some_capture()) {
        if let Ok(reader) = CaptureReader::new(&file) {
            prop_assert!(reader.count() <= file.len());
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_capture_and_never_panic(file in vec(any::<u8>(), 0..100)) {
        if let Ok(reader) = CaptureReader::new(&file) {
            prop_assert!(reader.count() <= file.len());
        }
    }
}
