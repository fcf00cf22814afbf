//! A whole association and everything that may happen to it: packets of its own with some bytes
//! changed, from anywhere; cuts, interfaces that come and go, messages of any kind, time.
//!
//! Nothing panics, nothing loops, memory stays bounded, and no data go to an address that is not
//! the peer's.

#![no_main]

mod associations;
mod memory;

use arbitrary::{Result, Unstructured};
use associations::{Associations, INTERFACES, address};
use base::{Duration, Instant, InterfaceId};
use libfuzzer_sys::fuzz_target;
use memory::Counting;
use std::net::IpAddr;
use transport::sctp::SctpConfig;
use transport::sctp::streams::{Message, Reliability};
use transport::{Input, InterfaceEvent};
use wire::sctp::{Features, fill_checksum};
use wire::{Body, Payload, SctpPacket};

#[global_allocator]
static MEMORY: Counting = Counting;

/// Bytes that two hosts, their association and packets under way may take.
const MOST_MEMORY: isize = 48 << 20;
/// Commands of one input.
const MOST_COMMANDS: usize = 200;

fuzz_target!(|bytes: &[u8]| {
    let before = memory::live();
    // An input that ends early is a short one.
    let _ = run(&mut Unstructured::new(bytes), before);
});

fn run(u: &mut Unstructured<'_>, before: isize) -> Result<()> {
    let mut pair = Associations::new([config(u)?, config(u)?]);
    for _ in 0..MOST_COMMANDS {
        if u.is_empty() {
            break;
        }
        command(u, &mut pair)?;
        assert!(memory::live() - before < MOST_MEMORY, "too much memory");
    }
    pair.pass(Duration::from_secs(400));
    Ok(())
}

fn config(u: &mut Unstructured<'_>) -> Result<SctpConfig> {
    Ok(SctpConfig {
        features: Features(u.arbitrary()?),
        streams: u.int_in_range(1..=8)?,
        send_buffer: u.int_in_range(2000..=100_000)?,
        receive_buffer: u.int_in_range(2000..=100_000)?,
        nagle: u.arbitrary()?,
        reneging: u.arbitrary()?,
        ..SctpConfig::default()
    })
}

fn command(u: &mut Unstructured<'_>, pair: &mut Associations) -> Result<()> {
    let side = usize::from(u.arbitrary::<bool>()?);
    let interface = u.int_in_range(0..=INTERFACES - 1)?;
    match u.int_in_range(0..=9)? {
        0..=2 => pair.pass(Duration::from_millis(u.int_in_range(0..=3000)?)),
        3 | 4 => {
            let reliability = match u.int_in_range(0..=3)? {
                0 => Reliability::Full,
                1 => Reliability::Retransmissions(u.int_in_range(0..=3)?),
                2 => Reliability::Priority(u.int_in_range(0..=3)?),
                _ => {
                    let life = Duration::from_millis(u.int_in_range(0..=2000)?);
                    Reliability::Lifetime(Instant::ZERO.max(pair.now) + life)
                }
            };
            let message = Message {
                stream: u.int_in_range(0..=8)?,
                ppid: 0,
                unordered: u.arbitrary()?,
                immediate: u.arbitrary()?,
                reliability,
                payload: Payload::from(vec![7; u.int_in_range(0..=20_000)?]),
            };
            if let Some(socket) = pair.sockets[side] {
                let _ = pair.stacks[side].send_message(socket, message);
            }
            pair.drain();
        }
        5 => pair.cut = u.arbitrary()?,
        6 => {
            let event = match u.int_in_range(0..=4)? {
                0 => InterfaceEvent::Up,
                1 => InterfaceEvent::Down,
                2 => InterfaceEvent::AddressAdded(address(side, interface)),
                3 => InterfaceEvent::AddressRemoved(address(side, interface)),
                _ => InterfaceEvent::Backup(u.arbitrary()?),
            };
            change(pair, side, interface, event);
        }
        7 => {
            let mut cx = pair.cx(side);
            if let Some(socket) = pair.sockets[side] {
                let _ = match u.int_in_range(0..=5)? {
                    0 => pair.stacks[side].abort(&mut cx, socket),
                    _ => pair.stacks[side].shutdown(&mut cx, socket),
                };
            }
            pair.drain();
        }
        _ => forge(u, pair)?,
    }
    Ok(())
}

/// A packet that was sent, with some bytes changed, from one of the addresses or a stranger's.
fn forge(u: &mut Unstructured<'_>, pair: &mut Associations) -> Result<()> {
    if pair.models.is_empty() {
        return Ok(());
    }
    let (side, packet) = &pair.models[u.choose_index(pair.models.len())?];
    let (to, dst) = (1 - side, packet.dst());
    let src = match u.arbitrary()? {
        true => packet.src(),
        false => IpAddr::from([10, 0, 66, u.arbitrary()?]),
    };
    let Body::Sctp(model) = &packet.body else { return Ok(()) };
    let mut bytes = Vec::new();
    model.emit(&mut bytes);
    for _ in 0..u.int_in_range(0..=6)? {
        let at = u.choose_index(bytes.len())?;
        bytes[at] = u.arbitrary()?;
    }
    fill_checksum(&mut bytes);
    if let Ok(packet) = SctpPacket::parse(&bytes) {
        pair.inject(to, src, dst, packet);
    }
    Ok(())
}

/// An interface of a host changes.
fn change(pair: &mut Associations, side: usize, interface: u8, event: InterfaceEvent) {
    let mut cx = pair.cx(side);
    let interface = InterfaceId(interface.into());
    pair.stacks[side].handle(&mut cx, Input::Interface { interface, event });
    pair.drain();
}
