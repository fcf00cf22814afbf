//! Random operations on a pair: whatever is written arrives, in order, exactly once, once the
//! network is calm again; there is no live-lock and no false acknowledgement (the pair checks
//! that).
//!
//! A failure prints the smallest list of operations as `ops = [...]`; paste it into a named
//! regression that calls `replay`.

use crate::fate::Fate;
use crate::middlebox::strip;
use crate::pair::{Pair, Setup, Side};
use base::Duration;
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;
use transport::congestion::ControllerChoice;
use transport::{Buffers, Profile, TcpConfig};
use wire::TcpOptions;

/// Packets in a row that may be lost: fewer than the retransmissions before a connection fails.
const MAX_BURST: u32 = 10;

/// One thing that happens to a pair.
#[derive(Clone, Copy, Debug)]
enum Op {
    Write(Side, u32),
    /// Stop or go on reading.
    Reading(Side, bool),
    DropNext(Side, u32),
    /// The next packets come this much late.
    Late(Side, u32, u64),
    Duplicate(Side, u32),
    Damage(Side, u32),
    /// A direction delays everything for this many milliseconds.
    Pause(Side, u64),
    Advance(u64),
    Shutdown(Side),
}

/// What the pair is made of.
#[derive(Clone, Copy, Debug)]
struct World {
    profile: usize,
    delay_ms: u64,
    /// 0: as Linux; otherwise fixed, in KiB.
    buffer_kib: u32,
    nagle: bool,
    pacing: bool,
    reno: bool,
    lowat: bool,
    no_sack: bool,
    no_stamps: bool,
    no_scale: bool,
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Client), Just(Side::Server)]
}

/// Shrinks towards waiting and writing little.
fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1u64..300).prop_map(Op::Advance),
        1 => (300u64..5000).prop_map(Op::Advance),
        4 => (side(), 1u32..60_000).prop_map(|(side, len)| Op::Write(side, len)),
        2 => (side(), 1u32..400).prop_map(|(side, len)| Op::Write(side, len)),
        2 => (side(), 1..=MAX_BURST).prop_map(|(side, count)| Op::DropNext(side, count)),
        2 => (side(), 1u32..8, 1u64..400).prop_map(|(side, n, by)| Op::Late(side, n, by)),
        1 => (side(), 1u32..8).prop_map(|(side, count)| Op::Duplicate(side, count)),
        1 => (side(), 1u32..4).prop_map(|(side, count)| Op::Damage(side, count)),
        1 => (side(), 1u64..2000).prop_map(|(side, ms)| Op::Pause(side, ms)),
        1 => (side(), any::<bool>()).prop_map(|(side, on)| Op::Reading(side, on)),
        1 => side().prop_map(Op::Shutdown),
    ]
}

fn world() -> impl Strategy<Value = World> {
    let flags = prop::array::uniform7(prop::bool::weighted(0.25));
    let buffer = prop_oneof![2 => Just(0u32), 1 => 8u32..64, 1 => 64u32..1024];
    (0usize..5, 0u64..120, buffer, flags).prop_map(|(profile, delay_ms, buffer_kib, flags)| {
        let [nagle, pacing, reno, lowat, no_sack, no_stamps, no_scale] = flags;
        World {
            profile,
            delay_ms,
            buffer_kib,
            nagle,
            pacing,
            reno,
            lowat,
            no_sack,
            no_stamps,
            no_scale,
        }
    })
}

/// The fates of the next packets of each direction.
#[derive(Default)]
struct Plan {
    fates: [Cell<(u32, u64)>; 2],
    kinds: [Cell<u8>; 2],
}

impl Plan {
    fn set(&self, side: Side, kind: u8, count: u32, ms: u64) {
        self.kinds[side.index()].set(kind);
        self.fates[side.index()].set((count, ms));
    }

    fn next(&self, side: Side) -> Fate {
        let (count, ms) = self.fates[side.index()].get();
        if count == 0 {
            return Fate::Pass;
        }
        self.fates[side.index()].set((count - 1, ms));
        match self.kinds[side.index()].get() {
            0 => Fate::Drop,
            1 => Fate::Late(Duration::from_millis(ms)),
            2 => Fate::Twice(Duration::from_millis(ms)),
            _ => Fate::Damage,
        }
    }
}

fn idle_of(world: World) -> Pair {
    let buffers = match world.buffer_kib {
        0 => Buffers::default(),
        kib => Buffers { send_max: kib << 10, receive_max: kib << 10, auto_tuning: false },
    };
    let config = TcpConfig {
        profile: Profile::ALL[world.profile].0,
        congestion: if world.reno { ControllerChoice::RENO } else { ControllerChoice::CUBIC },
        buffers,
        nagle: world.nagle,
        pacing: world.pacing,
        notsent_lowat: world.lowat.then_some(16_384),
        ..TcpConfig::default()
    };
    let mut pair = Setup::with(config).delay_ms(world.delay_ms).idle();
    let mut change = strip(|options| options);
    if world.no_sack {
        change = also(change, strip(|options| TcpOptions { sack_permitted: false, ..options }));
    }
    if world.no_stamps {
        change = also(change, strip(|options| TcpOptions { timestamps: None, ..options }));
    }
    if world.no_scale {
        change = also(change, strip(|options| TcpOptions { window_scale: None, ..options }));
    }
    pair.mangle = Some(change);
    pair
}

fn pair_of(world: World) -> Pair {
    let mut pair = idle_of(world);
    pair.connect(0);
    pair.run_until("connect", Duration::from_secs(2), |pair| {
        Side::BOTH.iter().all(|side| pair.state(*side) == "ESTABLISHED")
    });
    pair
}

fn also(mut first: crate::pair::Mangler, mut then: crate::pair::Mangler) -> crate::pair::Mangler {
    Box::new(move |side, packet| {
        first(side, packet);
        then(side, packet);
    })
}

fn apply(pair: &mut Pair, plan: &Plan, op: Op) {
    match op {
        Op::Write(side, len) if !pair.end(side).closes() => pair.write(side, len),
        Op::Write(..) => {}
        Op::Reading(side, on) => pair.set_reading(side, on),
        Op::DropNext(side, count) => plan.set(side, 0, count, 0),
        Op::Late(side, count, ms) => plan.set(side, 1, count, ms),
        Op::Duplicate(side, count) => plan.set(side, 2, count, u64::from(count) * 7),
        Op::Damage(side, count) => plan.set(side, 3, count, 0),
        Op::Pause(side, ms) => {
            pair.stop(side);
            pair.drive_for(Duration::from_millis(ms));
            pair.resume(side);
        }
        Op::Advance(ms) => pair.drive_for(Duration::from_millis(ms)),
        Op::Shutdown(side) => pair.shutdown(side),
    }
}

fn check(pair: &Pair) {
    pair.assert_intact();
    for side in Side::BOTH {
        assert_eq!(pair.end(side).failure(), None, "{side:?}");
        if pair.state(side) == "CLOSED" {
            continue;
        }
        let info = pair.info(side);
        assert!(info.cwnd_segs >= 1 && info.cwnd_segs < 1_000_000, "{info:?}");
        assert!(info.ssthresh_segs.is_none_or(|ssthresh| ssthresh >= 2), "{info:?}");
        assert!(info.bytes_acked <= pair.end(side).asked + 1, "{info:?}");
        assert!(info.bytes_retrans <= info.bytes_sent, "{info:?}");
        assert!(info.segs_retrans <= info.segs_out, "{info:?}");
        assert!(info.rto >= Duration::from_millis(200), "{info:?}");
        assert!(info.rto <= Duration::from_secs(120), "{info:?}");
        assert!(info.min_rtt <= info.srtt.max(Duration::from_millis(1)) * 2, "{info:?}");
        assert!(info.mss <= 1460, "{info:?}");
    }
}

/// Apply the operations, calm the network, and let everything end.
fn replay(world: World, ops: &[Op]) {
    let mut pair = pair_of(world);
    let plan = Rc::new(Plan::default());
    let rules = Rc::clone(&plan);
    pair.rule(Box::new(move |sight| rules.next(sight.from)));
    for op in ops {
        apply(&mut pair, &plan, *op);
        check(&pair);
    }
    pair.calm();
    for side in Side::BOTH {
        pair.set_reading(side, true);
        pair.shutdown(side);
    }
    pair.drive_bounded(Duration::from_secs(900));
    check(&pair);
    pair.drive();
    for side in Side::BOTH {
        assert_eq!(pair.state(side), "CLOSED");
        assert_eq!(pair.end(side).bytes.len() as u64, pair.end(side.other()).asked);
    }
}

proptest! {
    #![proptest_config(crate::cases(96))]

    /// The first packets of both sides have random fates, up to three of them in a row.
    #[test]
    fn connections_open_and_close_through_anything(
        world in world(),
        kinds in prop::array::uniform2((0u8..4, 0u32..4, 1u64..2500)),
        sizes in prop::array::uniform2(0u32..8000),
        closes_first in any::<bool>(),
    ) {
        let mut pair = idle_of(world);
        let plan = Plan::default();
        for (side, (kind, count, ms)) in Side::BOTH.into_iter().zip(kinds) {
            plan.set(side, kind, count, ms);
        }
        pair.rule(Box::new(move |sight| plan.next(sight.from)));
        pair.connect(0);
        for (side, size) in Side::BOTH.into_iter().zip(sizes) {
            pair.write(side, size);
            if closes_first {
                pair.shutdown(side);
            }
        }
        pair.drive_bounded(Duration::from_secs(60));
        Side::BOTH.into_iter().for_each(|side| pair.shutdown(side));
        pair.drive_bounded(Duration::from_secs(60));
        check(&pair);
        pair.drive();
        prop_assert!(Side::BOTH.iter().all(|side| pair.state(*side) == "CLOSED"));
    }

    #[test]
    fn whatever_happens_all_bytes_arrive_in_order_exactly_once(
        world in world(),
        ops in prop::collection::vec(op(), 1..40),
    ) {
        replay(world, &ops);
    }
}
