//! Tests of the links in the order of time.

use super::*;
use base::{Duration, Purpose, Rate};
use network::{LinkChange, LossConfig, PathEvent};
use wire::{Body, UdpDatagram};

fn packet(number: u16) -> Packet {
    let payload = wire::Payload::virtual_range(0, 0, 1472);
    let body = Body::Udp(UdpDatagram { src_port: number, dst_port: 2, payload });
    Packet::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), body)
}

fn path(loss: f64) -> PathSetup {
    let link = LinkConfig {
        capacity: Capacity::Rate(Rate::from_mbit(12)),
        delay: Duration::from_millis(20),
        limit: Limit::Packets(1000),
        loss: if loss > 0.0 { LossConfig::Bernoulli { p: loss } } else { LossConfig::None },
        ..LinkConfig::default()
    };
    PathSetup { name: "wlan".to_owned(), down: link.clone(), up: link, events: Vec::new() }
}

fn at_us(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// Numbers of the packets that arrive of `count` sent up, and when each was due.
fn arrivals(lanes: &mut Lanes, count: u16) -> Vec<(u16, Instant)> {
    let mut arrived = Vec::new();
    for number in 0..=count {
        // After the last one, until everything has arrived.
        let now = at_us(u64::from(number) * if number < count { 2000 } else { 10_000 });
        while let Some(Output::Delivery { direction: Direction::Up, due, packet, .. }) =
            lanes.poll(now)
        {
            let Body::Udp(datagram) = packet.body else { panic!("another packet") };
            arrived.push((datagram.src_port, due));
        }
        if number < count {
            lanes.enqueue(now, 0, Direction::Up, packet(number));
        }
    }
    arrived
}

#[test]
fn packet_takes_card_service_and_delay() {
    let mut lanes = Lanes::new(&[path(0.0)], Some(NicSetup::default()), 1, 0);
    lanes.enqueue(at_us(5), 0, Direction::Down, packet(0));
    // 12 us at 1 Gbit/s, then 1 ms at 12 Mbit/s, then 20 ms.
    assert_eq!(lanes.next_deadline(), Some(at_us(17)));
    assert!(lanes.poll(at_us(21_016)).is_none());
    assert_eq!(lanes.next_deadline(), Some(at_us(21_017)));
    let Some(Output::Delivery { due, .. }) = lanes.poll(at_us(30_000)) else { panic!("nothing") };
    assert_eq!(due, at_us(21_017));
}

#[test]
fn late_look_does_not_delay_what_comes_after_it() {
    let mut lanes = Lanes::new(&[path(0.0)], Some(NicSetup::default()), 1, 0);
    lanes.enqueue(at_us(0), 0, Direction::Up, packet(0));
    // Not polled while the packet left the card.
    let Some(Output::Delivery { due, .. }) = lanes.poll(at_us(900_000)) else { panic!("nothing") };
    assert_eq!(due, at_us(21_012));
}

/// It was due when the delay alone had passed, so that it counted as late by what the delay fell.
#[test]
fn packet_behind_a_slower_one_is_due_with_it() {
    let change = LinkChange::Delay(Duration::from_millis(1));
    let events = vec![PathEvent { at: Duration::from_millis(2), direction: Direction::Up, change }];
    let mut lanes = Lanes::new(&[PathSetup { events, ..path(0.0) }], None, 1, 0);
    lanes.enqueue(at_us(0), 0, Direction::Up, packet(0));
    assert!(lanes.poll(at_us(5_000)).is_none());
    lanes.enqueue(at_us(5_000), 0, Direction::Up, packet(1));
    let mut dues = Vec::new();
    while let Some(Output::Delivery { due, .. }) = lanes.poll(at_us(60_000)) {
        dues.push(due);
    }
    assert_eq!(dues, [at_us(21_000); 2]);
}

#[test]
fn nth_packet_meets_the_draw_of_the_simulator() {
    let path = path(0.3);
    let mut lanes = Lanes::new(std::slice::from_ref(&path), None, 7, 3);
    let arrived: Vec<u16> = arrivals(&mut lanes, 200).iter().map(|(number, _)| *number).collect();
    let chance = Chance::new(7, 3);
    let owner = base::chance::owner_of("wlan/up");
    let kept = |number: &u16| !chance.happens(0.3, owner, Purpose::Loss, (*number).into());
    let expected: Vec<u16> = (0..200).filter(kept).collect();
    assert_eq!(arrived, expected);
    assert_eq!(lanes.counters()[0].up.lost, 200 - expected.len() as u64);
}

#[test]
fn other_paths_do_not_move_a_draw() {
    let one = arrivals(&mut Lanes::new(&[path(0.3)], None, 1, 0), 100);
    let other = PathSetup { name: "lte".to_owned(), ..path(0.1) };
    let beside = arrivals(&mut Lanes::new(&[path(0.3), other], None, 1, 0), 100);
    assert_eq!(one, beside);
}

#[test]
fn changes_come_at_their_time_and_outages_are_told_to_both_senders() {
    let event = |at, change| PathEvent {
        at: Duration::from_millis(at),
        direction: Direction::Both,
        change,
    };
    let events =
        vec![event(10, LinkChange::Down), event(20, LinkChange::Up), event(30, LinkChange::Silent)];
    let mut lanes = Lanes::new(&[PathSetup { events, ..path(0.0) }], None, 1, 0);
    let mut notices = Vec::new();
    while let Some(output) = lanes.poll(at_us(20_000)) {
        let Output::Notify { direction, up, .. } = output else { panic!("{output:?}") };
        notices.push((direction, up));
    }
    let both = |up| [(Direction::Down, up), (Direction::Up, up)];
    assert_eq!(notices, [both(false), both(true)].concat());
    assert!(lanes.poll(at_us(40_000)).is_none());
    lanes.enqueue(at_us(40_000), 0, Direction::Up, packet(0));
    assert_eq!(lanes.counters()[0].up.dropped_down, 1);
}
