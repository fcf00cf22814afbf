//! Any bytes as a capture file, pcapng or classic: reading and parsing never panic and end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{CaptureReader, Packet};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = CaptureReader::new(bytes) else { return };
    let mut packets = 0;
    while let Some(captured) = reader.next() {
        packets += 1;
        assert!(packets <= bytes.len());
        if let Ok(captured) = captured {
            assert!(reader.interface_name(captured.interface).is_some());
            let _ = Packet::parse_captured(captured.datagram);
        }
    }
});
