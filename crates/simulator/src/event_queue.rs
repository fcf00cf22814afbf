//! The order of a world's events: (time, insertion number), at most one pending per target.
//!
//! A target is a link, a host, an application or a scheduled change; what it does when its time
//! comes is left to `world`. Moving the time of a target does not search for the old entry: that
//! remains and is recognised as stale when it is popped. The next few events are kept in order, so
//! that a world can look ahead; all others are in lists of short spans of time.

mod far;

use base::{Instant, prefetch};
use far::Far;

/// The recipient of an event: an index that `world` interprets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target(pub u32);

/// An event that is not due yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upcoming {
    pub target: Target,
    /// Its place in the order of all events.
    pub place: u128,
}

/// 16 bytes: the time, then insertion number and target in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    at: u64,
    /// Insertion number in the upper 40 bits, which orders entries of equal times.
    key: u64,
}

impl Entry {
    const fn target(self) -> Target {
        Target((self.key & ((1 << TARGET_BITS) - 1)) as u32)
    }

    /// Its place in the order as one number: two would be compared with two branches.
    const fn number(self) -> u128 {
        (self.at as u128) << 64 | self.key as u128
    }

    const fn of(number: u128) -> Entry {
        Entry { at: (number >> 64) as u64, key: number as u64 }
    }
}

/// Least number of next events that are kept in order, if there are as many.
const MIN_NEAR: usize = 15;
/// Most events that are kept in order; the others are only known to be later.
const MAX_NEAR: usize = 48;
/// Number of them after others became some of them.
const FILLED: usize = MAX_NEAR / 2;

/// More targets than this are a crowd: a connection of two hosts has six, and 6 KiB that every
/// packet needs. Below, looking ahead takes more time than it saves.
const CROWD: usize = 1500;

/// Bits of a target number; 40 bits remain for the insertion number.
const TARGET_BITS: u32 = 24;

/// Places for them, of which the last is never taken: without an entry it is the next one.
const PLACES: usize = 64;

/// No entry: ordered after all others.
const IDLE: Entry = Entry { at: u64::MAX, key: u64::MAX };

/// Pending events.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The next events in descending order, `near_len` of them; none in `far` comes before them.
    near: [Entry; PLACES],
    near_len: usize,
    /// The numbers of all others.
    far: Far,
    /// The valid entry of each target.
    armed: Vec<Entry>,
    inserted: u64,
}

impl EventQueue {
    pub(crate) const fn new() -> Self {
        EventQueue {
            near: [IDLE; PLACES],
            near_len: 0,
            far: Far::new(),
            armed: Vec::new(),
            inserted: 0,
        }
    }

    /// Add a target.
    pub(crate) fn add_target(&mut self) -> Target {
        let target = Target(self.armed.len() as u32);
        assert!(target.0 >> TARGET_BITS == 0, "a world has less than 2^24 targets");
        self.armed.push(IDLE);
        target
    }

    /// Wake `target` at `at`, or not at all.
    #[inline]
    pub(crate) fn set(&mut self, target: Target, at: Option<Instant>) {
        self.set_at(target, at.unwrap_or(Instant::FAR_FUTURE));
    }

    /// Wake `target` at `at`, at the end of time not at all.
    #[inline]
    pub(crate) fn set_at(&mut self, target: Target, at: Instant) {
        let at = at.as_nanos();
        if self.armed[target.0 as usize].at != at {
            self.insert(target, at);
        }
    }

    /// Wake `target` at `at` or earlier, for targets that tolerate an early wake-up. Saves an
    /// insertion whenever a timer only moves further away.
    #[inline]
    pub(crate) fn set_latest(&mut self, target: Target, at: Option<Instant>) {
        let at = at.map_or(u64::MAX, Instant::as_nanos);
        if at < self.armed[target.0 as usize].at {
            self.insert(target, at);
        }
    }

    /// Wake `target` at `at`, with an insertion number that `next_number` returned.
    #[cold]
    pub(crate) fn set_with(&mut self, target: Target, at: Instant, number: u64) {
        let at = at.as_nanos();
        let slot = &mut self.armed[target.0 as usize];
        if slot.at == at || number >= self.inserted {
            return self.set_at(target, Instant::from_nanos(at));
        }
        let entry = Entry { at, key: number << TARGET_BITS | u64::from(target.0) };
        *slot = entry;
        if !self.far.is_empty() && self.near[0].number() < entry.number() {
            return self.far.push(entry.number(), self.near[0].number());
        }
        let near = &self.near[..self.near_len];
        let place = near.partition_point(|other| other.number() > entry.number());
        self.near.copy_within(place..self.near_len, place + 1);
        self.near[place] = entry;
        self.near_len += 1;
        if self.near_len == MAX_NEAR {
            self.spill();
        }
    }

    fn insert(&mut self, target: Target, at: u64) {
        let slot = &mut self.armed[target.0 as usize];
        if at == u64::MAX {
            *slot = IDLE;
            return;
        }
        let entry = Entry { at, key: self.inserted << TARGET_BITS | u64::from(target.0) };
        self.inserted += 1;
        *slot = entry;
        self.keep(entry);
    }

    /// Insert an entry after those of the same time, since its key is the largest.
    fn keep(&mut self, entry: Entry) {
        let mut place = self.near_len;
        if place >= MAX_NEAR - 1 || !self.far.is_empty() {
            return self.keep_among_many(entry);
        }
        while place > 0 && self.near[(place - 1) % PLACES].at <= entry.at {
            self.near[place % PLACES] = self.near[(place - 1) % PLACES];
            place -= 1;
        }
        self.near[place % PLACES] = entry;
        self.near_len += 1;
    }

    /// The same among many.
    #[inline(never)]
    fn keep_among_many(&mut self, entry: Entry) {
        if self.near[0].at <= entry.at && !self.far.is_empty() {
            return self.far.push(entry.number(), self.near[0].number());
        }
        // Nearly all of those that are not far are departures, a few events ahead.
        let mut place = self.near_len;
        while place > 0 && self.near[(place - 1) % PLACES].at <= entry.at {
            self.near[place % PLACES] = self.near[(place - 1) % PLACES];
            place -= 1;
        }
        self.near[place % PLACES] = entry;
        self.near_len += 1;
        if self.near_len == MAX_NEAR {
            self.spill();
        }
    }

    /// Drop stale entries, or move the later half away if most are valid. A timer that is
    /// often moved forward and back leaves many.
    #[cold]
    fn spill(&mut self) {
        let mut valid = 0;
        for place in 0..self.near_len {
            let entry = self.near[place];
            if self.armed[entry.target().0 as usize].key == entry.key {
                self.near[valid] = entry;
                valid += 1;
            }
        }
        let later = if valid > MAX_NEAR * 3 / 4 { valid - FILLED } else { 0 };
        if later > 0 {
            let from = self.near[later].number();
            self.near[..later].iter().for_each(|entry| self.far.push(entry.number(), from));
        }
        self.near.copy_within(later..valid, 0);
        self.near_len = valid - later;
    }

    /// Add the next of the others.
    #[inline(never)]
    fn refill(&mut self) {
        let room = FILLED - self.near_len;
        self.near.copy_within(..self.near_len, room);
        for place in (0..room).rev() {
            let Some(number) = self.far.pop() else {
                self.near.copy_within(place + 1..FILLED, 0);
                self.near_len = FILLED - (place + 1);
                return;
            };
            self.near[place] = Entry::of(number);
        }
        self.near_len = FILLED;
    }

    /// Whether no target is armed.
    pub(crate) fn is_idle(&self) -> bool {
        self.armed.iter().all(|entry| *entry == IDLE)
    }

    /// Whether the memory that the events of all targets need exceeds the cache, and the next ones
    /// are known.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        !self.far.is_empty() && self.armed.len() > CROWD
    }

    /// The event `ahead` events after the next one; its time may have changed since.
    #[inline]
    pub(crate) fn upcoming(&self, ahead: usize) -> Option<Upcoming> {
        let place = self.near_len.checked_sub(ahead + 1)?;
        let entry = self.near[place % PLACES];
        Some(Upcoming { target: entry.target(), place: entry.number() })
    }

    /// Prefetch what is noted of a target.
    #[inline]
    pub(crate) fn prefetch(&self, target: Target) {
        if let Some(slot) = self.armed.get(target.0 as usize) {
            prefetch(slot);
        }
    }

    /// Whether an event at `at` would be the next one, whenever it was inserted.
    #[inline]
    pub(crate) fn is_before_all(&self, at: Instant) -> bool {
        at.as_nanos() < self.near[self.near_len.wrapping_sub(1) % PLACES].at
    }

    /// The insertion number of something that is no event, but has a place among events.
    #[inline]
    pub(crate) const fn next_number(&mut self) -> u64 {
        self.inserted += 1;
        self.inserted - 1
    }

    /// Take the next event if it is due by `limit`. The target is idle afterwards.
    #[inline]
    pub(crate) fn pop_until(&mut self, limit: Instant) -> Option<(Instant, Target)> {
        self.pop_if(|entry| entry.at <= limit.as_nanos())
    }

    /// The same if it comes before something at `at` with this insertion number.
    #[inline]
    pub(crate) fn pop_before(&mut self, at: Instant, number: u64) -> Option<(Instant, Target)> {
        let at = at.as_nanos();
        self.pop_if(|entry| entry.at < at || entry.at == at && entry.key >> TARGET_BITS < number)
    }

    /// Take the next event if it is due.
    #[inline(always)]
    fn pop_if(&mut self, is_due: impl Fn(Entry) -> bool) -> Option<(Instant, Target)> {
        while let Some(last) = self.near_len.checked_sub(1) {
            let entry = self.near[last % PLACES];
            if !is_due(entry) {
                return None;
            }
            self.near_len = last;
            if last < MIN_NEAR && !self.far.is_empty() {
                self.refill();
            }
            let target = entry.target();
            let slot = &mut self.armed[target.0 as usize];
            // No two entries have the same key.
            if slot.key == entry.key {
                *slot = IDLE;
                return Some((Instant::from_nanos(entry.at), target));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Option<Instant> {
        Some(Instant::from_millis(millis))
    }

    fn drain(queue: &mut EventQueue) -> Vec<(u64, u32)> {
        let nanos = drain_nanos(queue).into_iter();
        nanos.map(|(time, target)| (Instant::from_nanos(time).as_millis(), target)).collect()
    }

    fn drain_nanos(queue: &mut EventQueue) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| queue.pop_until(Instant::FAR_FUTURE))
            .map(|(time, target)| (time.as_nanos(), target.0))
            .collect()
    }

    /// Times and targets of a model, which has a time and a number for each target.
    fn in_order(model: &[Option<(u64, usize)>]) -> Vec<(u64, u32)> {
        let numbered = model.iter().enumerate();
        let armed = numbered.filter_map(|(target, slot)| slot.map(|slot| (slot, target as u32)));
        let mut armed: Vec<((u64, usize), u32)> = armed.collect();
        armed.sort_unstable();
        armed.into_iter().map(|((time, _), target)| (time, target)).collect()
    }

    #[test]
    fn only_earlier_events_come_before_a_time_and_number() {
        let mut queue = EventQueue::new();
        let [first, second, stale] = [(); 3].map(|()| queue.add_target());
        queue.set(stale, at(1));
        queue.set(first, at(2));
        let number = queue.next_number();
        queue.set(second, at(2));
        queue.set(stale, at(3));
        let mut before = |number| queue.pop_before(Instant::from_millis(2), number);
        assert_eq!(before(number).map(|(_, target)| target), Some(first));
        assert_eq!(before(number), None, "it was inserted later, the other one is stale");
        assert_eq!(before(u64::MAX).map(|(_, target)| target), Some(second));
        assert_eq!(drain(&mut queue), [(3, 2)]);
    }

    #[test]
    fn event_with_a_number_comes_in_its_order() {
        // With few and with many events.
        for others in [1, 60] {
            let mut queue = EventQueue::new();
            let targets: Vec<Target> = (0..others + 3).map(|_| queue.add_target()).collect();
            for target in &targets[3..] {
                queue.set(*target, at(9));
            }
            queue.set(targets[0], at(2));
            let number = queue.next_number();
            queue.set(targets[1], at(2));
            queue.set_with(targets[2], Instant::from_millis(2), number);
            let first: Vec<u32> = drain(&mut queue).into_iter().map(|(_, target)| target).collect();
            assert_eq!(first[..3], [0, 2, 1], "{others}");
            queue.set_with(targets[2], Instant::from_millis(2), u64::MAX);
            assert_eq!(drain(&mut queue), [(2, 2)]);
        }
    }

    #[test]
    fn equal_times_come_in_the_order_of_insertion() {
        let mut queue = EventQueue::new();
        let targets: Vec<Target> = (0..4).map(|_| queue.add_target()).collect();
        for (target, time) in targets.iter().zip([2, 1, 2, 1]) {
            queue.set(*target, at(time));
        }
        assert_eq!(drain(&mut queue), [(1, 1), (1, 3), (2, 0), (2, 2)]);
    }

    #[test]
    fn a_moved_target_is_woken_once_at_its_last_time() {
        let mut queue = EventQueue::new();
        let target = queue.add_target();
        queue.set(target, at(5));
        queue.set(target, at(9));
        queue.set(target, at(7));
        assert_eq!(drain(&mut queue), [(7, 0)]);
        queue.set(target, at(3));
        queue.set(target, None);
        assert_eq!(drain(&mut queue), []);
    }

    #[test]
    fn set_latest_keeps_an_earlier_time() {
        let mut queue = EventQueue::new();
        let target = queue.add_target();
        queue.set_latest(target, at(5));
        queue.set_latest(target, at(9));
        assert_eq!(drain(&mut queue), [(5, 0)]);
        queue.set_latest(target, at(9));
        queue.set_latest(target, at(4));
        assert_eq!(drain(&mut queue), [(4, 0)]);
    }

    #[test]
    fn nothing_is_taken_beyond_the_limit() {
        let mut queue = EventQueue::new();
        let target = queue.add_target();
        queue.set(target, at(5));
        assert_eq!(queue.pop_until(Instant::from_millis(4)), None);
        assert_eq!(queue.pop_until(Instant::from_millis(5)), at(5).map(|time| (time, target)));
    }

    #[test]
    fn upcoming_targets_are_those_taken_next() {
        let mut queue = EventQueue::new();
        for number in 0..200u64 {
            let target = queue.add_target();
            queue.set(target, at(number * 7919 % 211));
        }
        while !queue.far.is_empty() {
            let ahead: Vec<_> = (0..MIN_NEAR).map_while(|ahead| queue.upcoming(ahead)).collect();
            assert_eq!(ahead.len(), MIN_NEAR);
            for Upcoming { target, .. } in ahead {
                let taken = queue.pop_until(Instant::FAR_FUTURE);
                assert_eq!(taken.map(|(_, target)| target), Some(target));
            }
        }
    }

    proptest! {
        #[test]
        fn order_equals_a_sorted_list(
            few in any::<bool>(),
            moves in proptest::collection::vec((0u32..200, 0u64..300, any::<bool>()), 0..600),
        ) {
            let targets = if few { 5 } else { 200 };
            let mut queue = EventQueue::new();
            let mut model: Vec<Option<(u64, usize)>> = vec![None; targets as usize];
            for _ in 0..targets {
                queue.add_target();
            }
            let mut now = 0;
            for (number, (target, wait, then_take)) in moves.into_iter().enumerate() {
                let (target, time) = (target % targets, now + wait);
                queue.set(Target(target), at(time));
                let slot = &mut model[target as usize];
                if slot.map(|(time, _)| time) != Some(time) {
                    *slot = Some((time, number));
                }
                if then_take {
                    let first = (0..targets).filter(|target| model[*target as usize].is_some());
                    let first = first.min_by_key(|target| model[*target as usize]);
                    let expected = first.and_then(|target| {
                        now = model[target as usize].take()?.0;
                        Some((Instant::from_millis(now), Target(target)))
                    });
                    prop_assert_eq!(queue.pop_until(Instant::FAR_FUTURE), expected);
                }
            }
            prop_assert_eq!(drain(&mut queue), in_order(&model));
        }

        /// Times of all distances: within one span of the far events, a few spans, and beyond all.
        #[test]
        fn order_is_the_same_with_early_wakes_limits_and_any_distance(
            moves in proptest::collection::vec((0u32..120, one_move()), 0..600),
        ) {
            let mut queue = EventQueue::new();
            let mut model: Vec<Option<(u64, usize)>> = vec![None; 120];
            for _ in 0..120 {
                queue.add_target();
            }
            let mut now = 0;
            for (number, (target, what)) in moves.into_iter().enumerate() {
                let slot = &mut model[target as usize];
                match what {
                    Move::Set(wait) => {
                        queue.set(Target(target), Some(Instant::from_nanos(now + wait)));
                        let stays = slot.is_some_and(|(time, _)| time == now + wait);
                        *slot = if stays { *slot } else { Some((now + wait, number)) };
                    }
                    Move::Latest(wait) => {
                        queue.set_latest(Target(target), Some(Instant::from_nanos(now + wait)));
                        let stays = slot.is_some_and(|(time, _)| time <= now + wait);
                        *slot = if stays { *slot } else { Some((now + wait, number)) };
                    }
                    Move::Clear => {
                        queue.set(Target(target), None);
                        *slot = None;
                    }
                    Move::Take(wait) => {
                        let limit = now + wait;
                        let first = (0..120).filter(|target| model[*target as usize].is_some());
                        let first = first.min_by_key(|target| model[*target as usize]);
                        let due = first.filter(|target| {
                            model[*target as usize].is_some_and(|(time, _)| time <= limit)
                        });
                        let taken = due.and_then(|target| model[target as usize].take());
                        now = taken.map_or(limit, |(time, _)| time);
                        let expected = due.map(|target| (Instant::from_nanos(now), Target(target)));
                        prop_assert_eq!(queue.pop_until(Instant::from_nanos(limit)), expected);
                    }
                    Move::Look(wait) => {
                        let at = now + wait;
                        // It may be false where the next event is an old one that is void.
                        if queue.is_before_all(Instant::from_nanos(at)) {
                            prop_assert!(model.iter().flatten().all(|(time, _)| *time > at));
                        }
                    }
                }
            }
            prop_assert_eq!(drain_nanos(&mut queue), in_order(&model));
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Move {
        Set(u64),
        Latest(u64),
        Clear,
        Take(u64),
        Look(u64),
    }

    fn one_move() -> impl Strategy<Value = Move> {
        // Spans of far events begin at the same times.
        let spans = || (0u64..40).prop_map(|spans| spans << 16);
        let wait =
            || prop_oneof![0u64..3, 0u64..70_000, spans(), 0u64..2_000_000, 0u64..3_000_000_000];
        prop_oneof![
            4 => wait().prop_map(Move::Set),
            2 => wait().prop_map(Move::Latest),
            1 => Just(Move::Clear),
            4 => wait().prop_map(Move::Take),
            1 => wait().prop_map(Move::Look),
        ]
    }
}
