//! `Progress`: the dependency graph of a page over time.
//!
//! From the progress of fetches it determines which fetch is requested when, and the times of work.
//! Connections are left to `pool`. Events of equal times occur in the order of their discovery.

use super::page::{Action, Page, Trigger};
use base::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The state of a page that is being loaded.
#[derive(Debug)]
pub(super) struct Progress {
    page: Arc<Page>,
    activities: Vec<State>,
    /// Future events: (time, order of discovery, activity).
    agenda: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    found_out: u64,
    /// Activities not done, in all and of those that the page needs to be loaded.
    open: usize,
    open_before_load: usize,
    loaded: Option<Instant>,
    begun: Option<Instant>,
    finished: Option<Instant>,
    /// Activity that fetches each object.
    fetch_of: Vec<u32>,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    open_waits: usize,
    /// Time of the last dependency met so far.
    ready: Instant,
    /// Activities that depend on its start, on parts of it (in order) and on its end.
    on_start: Vec<(u32, Duration)>,
    on_received: Vec<(u32, u32, Duration)>,
    on_end: Vec<(u32, Duration)>,
    /// Number of entries of `on_received` that were met.
    received_met: usize,
    ended: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Waiting,
    Running,
    Done,
}

impl Progress {
    /// A page that has not begun.
    pub(super) fn new(page: Arc<Page>) -> Self {
        let mut activities: Vec<State> = page.activities().iter().map(State::new).collect();
        let mut fetch_of = vec![0; page.objects().len()];
        for (number, activity) in (0u32..).zip(page.activities()) {
            if let Action::Fetch(object) = activity.action {
                fetch_of[object as usize] = number;
            }
            for wait in &activity.waits {
                let on = &mut activities[wait.on as usize];
                match wait.event {
                    Trigger::Start => on.on_start.push((number, wait.delay)),
                    Trigger::Received { ppm } => on.on_received.push((ppm, number, wait.delay)),
                    Trigger::End => on.on_end.push((number, wait.delay)),
                }
            }
        }
        activities.iter_mut().for_each(|state| state.on_received.sort_by_key(|wait| wait.0));
        let open_before_load = page.activities().iter().filter(|a| a.before_load).count();
        Progress {
            open: activities.len(),
            open_before_load,
            activities,
            agenda: BinaryHeap::new(),
            found_out: 0,
            loaded: None,
            begun: None,
            finished: None,
            fetch_of,
            page,
        }
    }

    /// The page begins, with every activity that has no dependency.
    pub(super) fn begin(&mut self, now: Instant) {
        self.begun = Some(now);
        if self.open_before_load == 0 {
            self.loaded = Some(now);
        }
        for number in 0..self.activities.len() as u32 {
            if self.activities[number as usize].open_waits == 0 {
                self.note(now, number);
            }
        }
    }

    /// The next fetch to be requested by now.
    pub(super) fn poll(&mut self, now: Instant) -> Option<u32> {
        while let Some(Reverse((at, _, number))) = self.agenda.peek().copied() {
            if at > now {
                return None;
            }
            self.agenda.pop();
            if let Some(object) = self.happen(at, number) {
                return Some(object);
            }
        }
        None
    }

    /// When `poll` has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.agenda.peek().map(|Reverse((at, ..))| *at)
    }

    /// This many bytes of `total` of the object's response have been read.
    pub(super) fn on_received(&mut self, object: u32, bytes: u64, total: u64, now: Instant) {
        let ppm = match total {
            0 => 1_000_000,
            // In 128 bits, so that the product of two lengths does not overflow.
            _ => (u128::from(bytes) * 1_000_000 / u128::from(total)) as u32,
        };
        self.tell_received(self.fetch_of[object as usize], ppm, now);
    }

    /// The object was fetched.
    pub(super) fn on_fetched(&mut self, object: u32, now: Instant) {
        self.end(self.fetch_of[object as usize], now);
    }

    /// How long the page took to load since it began; of several pages the mean.
    pub(super) fn load_time(&self) -> Option<Duration> {
        let loaded = self.loaded?;
        let views = self.page.views();
        if views.is_empty() {
            return Some(loaded - self.begun?);
        }
        let ended = |activity: u32| self.activities[activity as usize].ended;
        let total = views.iter().try_fold(Duration::ZERO, |sum, view| {
            Some(sum + (ended(view.load)? - ended(view.begin)?))
        })?;
        Some(total / views.len() as u64)
    }

    /// When everything was done.
    pub(super) const fn finished(&self) -> Option<Instant> {
        self.finished
    }

    /// A waiting activity begins; running work ends.
    fn happen(&mut self, at: Instant, number: u32) -> Option<u32> {
        if self.activities[number as usize].stage == Stage::Running {
            self.end(number, at);
            return None;
        }
        let state = &mut self.activities[number as usize];
        state.stage = Stage::Running;
        for (waiter, delay) in std::mem::take(&mut state.on_start) {
            self.over(waiter, at + delay);
        }
        match self.page.activities()[number as usize].action {
            Action::Fetch(object) => Some(object),
            Action::Work(time) => {
                self.note(at + time, number);
                None
            }
        }
    }

    fn tell_received(&mut self, number: u32, ppm: u32, now: Instant) {
        let state = &mut self.activities[number as usize];
        let due =
            state.on_received[state.received_met..].iter().take_while(|wait| wait.0 <= ppm).count();
        let from = state.received_met;
        state.received_met += due;
        for index in from..from + due {
            let (_, waiter, delay) = self.activities[number as usize].on_received[index];
            self.over(waiter, now + delay);
        }
    }

    fn end(&mut self, number: u32, now: Instant) {
        let state = &mut self.activities[number as usize];
        if state.stage != Stage::Running {
            return;
        }
        state.stage = Stage::Done;
        state.ended = Some(now);
        let waiters = std::mem::take(&mut state.on_end);
        self.tell_received(number, u32::MAX, now);
        for (waiter, delay) in waiters {
            self.over(waiter, now + delay);
        }
        self.open -= 1;
        if self.open == 0 {
            self.finished = Some(now);
        }
        if self.page.activities()[number as usize].before_load {
            self.open_before_load -= 1;
            if self.open_before_load == 0 {
                self.loaded = Some(now);
            }
        }
    }

    /// A dependency of `number` is met at `at`, now or later.
    fn over(&mut self, number: u32, at: Instant) {
        let state = &mut self.activities[number as usize];
        state.ready = state.ready.max(at);
        state.open_waits -= 1;
        if state.open_waits == 0 {
            let ready = state.ready;
            self.note(ready, number);
        }
    }

    fn note(&mut self, at: Instant, number: u32) {
        self.agenda.push(Reverse((at, self.found_out, number)));
        self.found_out += 1;
    }
}

impl State {
    fn new(activity: &super::page::Activity) -> Self {
        State {
            stage: Stage::Waiting,
            open_waits: activity.waits.len(),
            ready: Instant::ZERO,
            on_start: Vec::new(),
            on_received: Vec::new(),
            on_end: Vec::new(),
            received_met: 0,
            ended: None,
        }
    }
}
