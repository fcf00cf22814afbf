//! `Fates`: what happens to the next packets of each side and path, for the random tests of
//! operations. Which options are stripped is theirs.

use crate::pair::{Fate, Side};
use base::Duration;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};

pub(crate) const PATHS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Drop,
    Late,
    Twice,
    Damage,
}

pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Drop), Just(Kind::Late), Just(Kind::Twice), Just(Kind::Damage)]
}

pub(crate) fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Client), Just(Side::Server)]
}

/// The fates of the next packets: how many packets, and how late the late ones are.
#[derive(Clone, Copy, Default)]
struct Next {
    count: u32,
    kind: Option<Kind>,
    ms: u64,
}

/// By side and path.
#[derive(Default)]
pub(crate) struct Fates {
    next: RefCell<[[Next; PATHS]; 2]>,
    rewritten: Cell<[[u32; PATHS]; 2]>,
}

impl Fates {
    /// The next `count` packets are of this kind, late ones by `ms`.
    pub(crate) fn set_next(&self, side: Side, path: usize, (kind, count, ms): (Kind, u32, u64)) {
        self.next.borrow_mut()[side as usize][path] = Next { count, kind: Some(kind), ms };
    }

    /// The payload of the next `count` segments is to be changed.
    pub(crate) fn rewrite(&self, side: Side, path: usize, count: u32) {
        let mut left = self.rewritten.get();
        left[side as usize][path] = count;
        self.rewritten.set(left);
    }

    /// Whether payload is to be changed somewhere.
    pub(crate) fn rewrites(&self) -> bool {
        self.rewritten.get() != [[0; PATHS]; 2]
    }

    /// Whether the payload of a segment is to be changed.
    pub(crate) fn takes_rewrite(&self, side: Side, path: usize) -> bool {
        let mut left = self.rewritten.get();
        let count = &mut left[side as usize][path];
        let changes = *count > 0;
        *count -= u32::from(changes);
        self.rewritten.set(left);
        changes
    }

    pub(crate) fn fate(&self, side: Side, path: usize) -> Fate {
        let mut next = self.next.borrow_mut();
        let Next { count, kind, ms } = &mut next[side as usize][path];
        if *count == 0 {
            return Fate::Pass;
        }
        *count -= 1;
        let by = Duration::from_millis(*ms);
        match kind {
            Some(Kind::Late) => Fate::Late(by),
            Some(Kind::Twice) => Fate::Twice(by),
            Some(Kind::Damage) => Fate::Damage,
            Some(Kind::Drop) | None => Fate::Drop,
        }
    }

    /// Everything passes unchanged.
    pub(crate) fn clear(&self) {
        self.next.take();
        self.rewritten.take();
    }
}
