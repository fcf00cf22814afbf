//! `Playback`: the buffer of a player. It fills as media arrive, and is drained while they play.
//!
//! Playing begins with 2.5 s of media and, after the buffer was empty, again with 5 s: the defaults
//! of ExoPlayer 2 (`DefaultLoadControl`). Media count as they arrive, not block by block. What is
//! requested is left to `player`.

use base::{Duration, Instant};

/// Media in the buffer at which playing begins.
pub(super) const START: Duration = Duration::from_millis(2500);
/// Media in the buffer at which playing begins again.
pub(super) const RESUME: Duration = Duration::from_secs(5);

/// The buffer of a player.
#[derive(Clone, Debug, Default)]
pub(super) struct Playback {
    state: State,
    /// Media in the buffer at the time `now`.
    level: Duration,
    now: Instant,
    /// When playing began first.
    begun: Option<Instant>,
    stalls: u64,
    stalled: Duration,
    /// Level times time since playing began, in square seconds.
    area: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Waiting,
    Playing,
    Stalled,
}

impl Playback {
    /// Media of this length arrived.
    pub(super) fn on_media(&mut self, now: Instant, media: Duration) {
        self.advance(now);
        self.level += media;
        let enough = match self.state {
            State::Playing => return,
            State::Waiting => START,
            State::Stalled => RESUME,
        };
        if self.level >= enough {
            self.begun.get_or_insert(now);
            self.state = State::Playing;
        }
    }

    /// Time passes.
    pub(super) fn advance(&mut self, now: Instant) {
        let passed = now.since(self.now);
        self.now = now;
        match self.state {
            State::Waiting => {}
            State::Stalled => {
                self.stalled += passed;
                self.area += area(self.level, self.level, passed);
            }
            State::Playing => {
                let played = passed.min(self.level);
                let left = self.level - played;
                self.area += area(self.level, left, played);
                self.level = left;
                if passed > played {
                    self.state = State::Stalled;
                    self.stalls += 1;
                    self.stalled += passed - played;
                }
            }
        }
    }

    /// Media in the buffer at the last time.
    pub(super) const fn level(&self) -> Duration {
        self.level
    }

    /// When playing began.
    pub(super) const fn begun(&self) -> Option<Instant> {
        self.begun
    }

    /// How often the buffer was empty.
    pub(super) const fn stalls(&self) -> u64 {
        self.stalls
    }

    /// How long playing was interrupted.
    pub(super) const fn stalled(&self) -> Duration {
        self.stalled
    }

    /// Mean of the media in the buffer since playing began, in seconds.
    pub(super) fn mean_level(&self) -> Option<f64> {
        let time = self.now.since(self.begun?).as_secs_f64();
        (time > 0.0).then(|| self.area / time)
    }
}

/// The area under a line.
fn area(from: Duration, to: Duration, time: Duration) -> f64 {
    (from.as_secs_f64() + to.as_secs_f64()) / 2.0 * time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn media(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn playing_begins_with_enough_and_stalls_when_nothing_is_left() {
        let mut playback = Playback::default();
        playback.on_media(at(1000), media(2400));
        assert_eq!(playback.begun(), None);
        playback.on_media(at(1500), media(600));
        assert_eq!(playback.begun(), Some(at(1500)));
        // 3 s last until 4.5 s.
        playback.advance(at(4500));
        assert_eq!((playback.level(), playback.stalls()), (Duration::ZERO, 0));
        playback.advance(at(5500));
        assert_eq!((playback.stalled(), playback.stalls()), (media(1000), 1));
        // 4.9 s are not enough to go on.
        playback.on_media(at(6500), media(4900));
        playback.advance(at(7500));
        assert_eq!((playback.stalled(), playback.level()), (media(3000), media(4900)));
        playback.on_media(at(7500), media(100));
        playback.advance(at(9500));
        assert_eq!((playback.stalled(), playback.stalls()), (media(3000), 1));
        assert_eq!(playback.level(), media(3000));
        assert_eq!(playback.begun(), Some(at(1500)), "only the first time counts");
    }

    #[test]
    fn mean_level_is_the_area_over_the_time_since_playing_began() {
        let mut playback = Playback::default();
        playback.on_media(at(0), media(4000));
        playback.advance(at(2000));
        // From 4 s to 2 s.
        assert_eq!(playback.mean_level(), Some(3.0));
        playback.on_media(at(2000), media(2000));
        playback.advance(at(6000));
        // From 4 s to nothing.
        assert!((playback.mean_level().unwrap() - (6.0 + 8.0) / 6.0).abs() < 1e-12);
        playback.advance(at(8000));
        assert!((playback.mean_level().unwrap() - 14.0 / 8.0).abs() < 1e-12, "a stall counts");
    }
}
