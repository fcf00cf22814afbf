//! Properties over random options: there and back, room in a header, checksums, nothing panics.

use crate::generate::{mptcp_option, options, payload};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::mptcp::{Capable, DataNumber, Mapping, nearest};
use wire::{Body, MptcpOption, MptcpOptions, Packet, Payload, TcpOptions, TcpSegment};

fn through_a_header(options: &TcpOptions) -> (TcpOptions, Vec<u8>) {
    let segment = TcpSegment { options: options.clone(), ..TcpSegment::default() };
    let packet = Packet::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Body::Tcp(segment));
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    match Packet::parse(&bytes).unwrap().body {
        Body::Tcp(segment) => (segment.options, bytes[40..].to_vec()),
        other => unreachable!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn option_parses_to_what_was_emitted(option in mptcp_option()) {
        let mut bytes = Vec::new();
        option.emit(&mut bytes);
        prop_assert_eq!(bytes.len() as u32, option.wire_len());
        prop_assert_eq!(&bytes[..2], [30, option.wire_len() as u8]);
        prop_assert_eq!(MptcpOption::parse(&bytes[2..]), Some(option));
    }

    #[test]
    fn option_cut_short_or_lengthened_is_another_or_none(option in mptcp_option(), more in 0u8..9) {
        // The content of another version is not looked into.
        let other_version = matches!(option, MptcpOption::Capable(Capable::Unsupported { .. }));
        prop_assume!(!other_version);
        let mut bytes = Vec::new();
        option.emit(&mut bytes);
        for len in 2..bytes.len() {
            prop_assert_ne!(MptcpOption::parse(&bytes[2..len]), Some(option.clone()));
        }
        bytes.extend(vec![0; usize::from(more) + 1]);
        prop_assert_ne!(MptcpOption::parse(&bytes[2..]), Some(option));
    }

    #[test]
    fn options_that_fit_come_back(options in options()) {
        let (back, bytes) = through_a_header(&options);
        prop_assert_eq!(back.mptcp.ignored(), 0);
        prop_assert_eq!(back, options);
        prop_assert!(bytes.len() <= 40);
    }

    /// What `fits` allows leaves every option at a multiple of four, as Linux lays them.
    #[test]
    fn options_that_were_fitted_are_aligned(
        all in vec(mptcp_option(), 0..6), stamps in any::<bool>(),
    ) {
        let timestamps = stamps.then_some(wire::Timestamps { value: 1, echo: 2 });
        let mut options = TcpOptions { timestamps, ..TcpOptions::default() };
        for option in all {
            let (before, left) = (options.padded_len(), options.space_left());
            prop_assert_eq!(before + left, 40);
            let replaces = matches!(option, MptcpOption::Dss(_)) && options.mptcp.dss.is_some();
            if options.fits(&option) && !replaces {
                let len = option.padded_len();
                options.mptcp.push(option);
                prop_assert_eq!(options.padded_len(), before + len);
                prop_assert_eq!(options.space_left(), left - len);
            }
        }
        let (back, bytes) = through_a_header(&options);
        prop_assert_eq!(&back, &options);
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                1 => at += 1,
                kind => {
                    prop_assert!(kind == 8 && at == 2 || kind == 30 && at % 4 == 0);
                    at += usize::from(bytes[at + 1]);
                }
            }
        }
    }

    #[test]
    fn arbitrary_content_never_panics_and_parses_stably(content in vec(any::<u8>(), 0..38)) {
        if let Some(option) = MptcpOption::parse(&content) {
            let mut bytes = Vec::new();
            option.emit(&mut bytes);
            prop_assert!(bytes.len() <= content.len() + 2, "never longer than it came");
            prop_assert_eq!(MptcpOption::parse(&bytes[2..]), Some(option));
        }
    }

    #[test]
    fn whole_number_comes_back_from_its_half(whole in any::<u64>(), off in any::<i32>()) {
        prop_assume!(off != i32::MIN);
        let expected = whole.wrapping_sub(i64::from(off) as u64);
        prop_assert_eq!(nearest(whole as u32, expected), whole);
    }

    /// Any one change to payload, DSN, subflow sequence or length is noticed, and a mapping may
    /// be summed in pieces.
    #[test]
    fn checksum_covers_the_mapping(
        payload in payload(), dsn in any::<u64>(), ssn in any::<u32>(), bit in any::<usize>(),
    ) {
        let len = payload.len() as u16;
        let checksum = Mapping::checksum_of(dsn, ssn, len, &payload);
        let real = Payload::from(payload.to_bytes());
        let number = DataNumber::Short(dsn as u32);
        let mapping = Mapping { dsn: number, subflow_seq: ssn, len, checksum: Some(checksum) };
        prop_assert!(mapping.matches(dsn, &payload));
        prop_assert!(mapping.matches(dsn, &real), "virtual or real");

        let cut = if len == 0 { 0 } else { bit as u32 % u32::from(len) };
        let mut sum = Mapping::pseudo_header(dsn, ssn, len);
        sum.add_payload(&payload.slice(0, cut));
        sum.add_payload(&real.slice(cut, u32::from(len) - cut));
        prop_assert_eq!(sum.finish(), checksum);

        prop_assert!(!mapping.matches(dsn ^ 1 << (bit % 64), &payload));
        let other = Mapping { subflow_seq: ssn ^ 1 << (bit % 32), ..mapping };
        prop_assert!(!other.matches(dsn, &payload));
        let other = Mapping { checksum: Some(checksum ^ 1 << (bit % 16)), ..mapping };
        prop_assert!(!other.matches(dsn, &payload));
        if len > 0 {
            let mut bytes = payload.to_bytes().to_vec();
            let at = bit % bytes.len();
            bytes[at] ^= 0x10;
            prop_assert!(!mapping.matches(dsn, &bytes.into()));
        }
        let unsummed = Mapping { checksum: None, ..mapping };
        prop_assert!(unsummed.matches(dsn ^ 1, &payload));
    }
}

#[test]
fn plain_dss_takes_no_allocation_and_32_bytes() {
    assert_eq!(size_of::<Option<wire::Dss>>(), 32);
    assert_eq!(size_of::<MptcpOptions>(), 40);
}

/// RFC 8684 and Linux: which sets fill a header.
#[test]
fn full_dss_beside_timestamps_fills_the_header() {
    let timestamps = Some(wire::Timestamps { value: 1, echo: 2 });
    let mut options = TcpOptions { timestamps, ..TcpOptions::default() };
    assert_eq!(options.space_left(), 28);
    let ack = wire::Dss::EMPTY.with_ack(DataNumber::Long(1));
    options.mptcp.dss = Some(ack);
    assert_eq!(options.space_left(), 16, "one SACK block");
    let dsn = DataNumber::Long(1);
    for checksum in [None, Some(0)] {
        let mapping = Mapping { dsn, subflow_seq: 1, len: 1, checksum };
        options.mptcp.dss = Some(ack.with_mapping(mapping));
        assert_eq!(options.space_left(), 0);
    }
    assert!(!options.fits(&MptcpOption::Prio { backup: true }));
}
