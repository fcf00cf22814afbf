//! `maps[:TIME]`: a user of a map who looks at places and routes, as in 002 sV-D.
//!
//! The paper replays recorded sessions of Google Maps and prints neither sizes nor times: "the
//! amount of data is small and sparsely communicated due to real user interactions". So everything
//! here is assumed: actions of the user 3 s apart on average, each of which loads one to four
//! objects of 8 kB on average; gaps and sizes have exponential distributions. The session is the
//! same in every study. A longer one begins as a shorter one does. Actions are at their times,
//! whatever has been loaded: `traffic::web` fetches the objects.

use super::har::{Kind, REQUEST_HEAD, RESPONSE_HEAD, usual_urgency};
use base::{Chance, Duration, Purpose};
use traffic::web::{Action, Activity, Object, Page, PageFault, Trigger, Wait};

/// The default length.
pub(crate) const DEFAULT_TIME: Duration = Duration::from_secs(60);
/// The longest session, whose activities a page has room for.
pub(crate) const LONGEST: Duration = Duration::from_secs(3600);
/// Mean time between actions of the user, in seconds.
const MEAN_GAP: f64 = 3.0;
/// Most objects of an action; each number from 1 has the same probability.
const MOST_OBJECTS: u64 = 4;
/// Mean size of an object, in bytes.
const MEAN_BYTES: f64 = 8000.0;
/// Owners of the draws of gaps, numbers of objects, and sizes.
const OWNERS: [u64; 3] = [0, 1, 2];

/// The session: the first action is at its start.
pub(super) fn session(time: Duration) -> Result<Page, PageFault> {
    let chance = Chance::new(0x6D61_7073, 0);
    let [gaps, counts, sizes] = OWNERS;
    let mut page = Session::default();
    let mut at = 0.0;
    for action in 0.. {
        let objects = 1 + chance.below(MOST_OBJECTS, counts, Purpose::Traffic, action);
        let bytes = |object: u64| {
            let drawn = exponential(&chance, sizes, action * MOST_OBJECTS + object);
            (drawn * MEAN_BYTES).round().max(1.0) as u64
        };
        page.action(Duration::from_secs_f64(at), (0..objects).map(bytes));
        at += exponential(&chance, gaps, action) * MEAN_GAP;
        if at >= time.as_secs_f64() {
            break;
        }
    }
    page.finish(format!("maps:{time}"))
}

/// An exponentially distributed number with the mean 1.
fn exponential(chance: &Chance, owner: u64, index: u64) -> f64 {
    -libm::log(1.0 - chance.uniform(owner, Purpose::Traffic, index))
}

#[derive(Default)]
struct Session {
    objects: Vec<Object>,
    activities: Vec<Activity>,
}

impl Session {
    /// An action at a time, and the objects that it loads.
    fn action(&mut self, at: Duration, sizes: impl Iterator<Item = u64>) {
        let action = self.activities.len() as u32;
        let user = Activity { action: Action::Work(at), waits: Vec::new(), before_load: true };
        self.activities.push(user);
        for bytes in sizes {
            let number = self.objects.len() as u32;
            self.objects.push(Object {
                label: format!("object {}", number + 1),
                host: 0,
                request_bytes: REQUEST_HEAD,
                response_bytes: bytes + RESPONSE_HEAD,
                think: Duration::ZERO,
                urgency: usual_urgency(Kind::Unknown),
                in_clear: false,
            });
            let after = Wait { on: action, event: Trigger::End, delay: Duration::ZERO };
            let (action, waits) = (Action::Fetch(number), vec![after]);
            self.activities.push(Activity { action, waits, before_load: true });
        }
    }

    fn finish(self, name: String) -> Result<Page, PageFault> {
        Page::new(name, self.objects, self.activities).map(Page::of_session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_the_assumed_means() {
        let page = session(LONGEST).unwrap();
        let works: Vec<f64> = page
            .activities()
            .iter()
            .filter_map(|activity| match activity.action {
                Action::Work(at) => Some(at.as_secs_f64()),
                Action::Fetch(_) => None,
            })
            .collect();
        let (actions, objects) = (works.len() as f64, page.objects().len() as f64);
        assert!((actions / 1200.0 - 1.0).abs() < 0.1, "{actions} actions in an hour");
        assert!((objects / actions / 2.5 - 1.0).abs() < 0.05, "{objects} of {actions}");
        let mean = page.response_bytes() as f64 / objects - RESPONSE_HEAD as f64;
        assert!((mean / 8000.0 - 1.0).abs() < 0.05, "{mean}");
        assert!(works.windows(2).all(|two| two[0] < two[1]) && works[0] == 0.0);
    }

    #[test]
    fn longer_session_begins_as_a_shorter_one() {
        let [shortest, short, long] =
            [Duration::from_nanos(1), DEFAULT_TIME, LONGEST].map(|time| session(time).unwrap());
        assert!(short.is_session() && short.objects().len() > 20);
        assert_eq!(long.objects()[..short.objects().len()], *short.objects());
        assert_eq!(shortest.activities()[0].action, long.activities()[0].action);
    }
}
