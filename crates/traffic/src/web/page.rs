//! `Page`: objects to fetch, work to do, and the dependencies between them.
//!
//! An activity is a fetch or a piece of work. It begins when all its dependencies are met; one
//! without dependencies begins with the page. Every `Page` is valid: dependencies name activities
//! and have no cycle, and every object is fetched exactly once. Time is left to `progress`.

use base::Duration;

/// The lowest urgency; 0 is the highest (RFC 9218 s4.1).
pub const LEAST_URGENT: u8 = 7;
/// Most activities of a page.
pub const MOST_ACTIVITIES: usize = 50_000;

/// A page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    name: String,
    objects: Vec<Object>,
    activities: Vec<Activity>,
    is_session: bool,
    views: Vec<View>,
}

/// A page of several that are loaded one after the other: from the end of the one activity to that
/// of the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// Number of the activity that begins it.
    pub begin: u32,
    /// Number of the activity at whose end it is loaded.
    pub load: u32,
}

/// An object to fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Its URL or name, for display.
    pub label: String,
    /// Number of its host, from zero.
    pub host: u32,
    /// Bytes of the request, head and body.
    pub request_bytes: u64,
    /// Bytes of the response, head and body.
    pub response_bytes: u64,
    /// Time from the complete request at the server to the first byte of the response.
    pub think: Duration,
    /// From 0, the most urgent, to `LEAST_URGENT`.
    pub urgency: u8,
    /// Its scheme is `http`: connections that fetch it have no TLS.
    pub in_clear: bool,
}

/// A fetch or a piece of work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activity {
    /// What it does.
    pub action: Action,
    /// Dependencies that must be met before it begins.
    pub waits: Vec<Wait>,
    /// The page is loaded when all activities with this mark are done.
    pub before_load: bool,
}

/// What an activity does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Fetch the object of this number.
    Fetch(u32),
    /// Compute: parsing, scripts.
    Work(Duration),
}

/// A dependency: it is met `delay` after an event of the activity `on`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Number of the activity whose event is waited for.
    pub on: u32,
    /// The event.
    pub event: Trigger,
    /// Time from the event until the dependency is met.
    pub delay: Duration,
}

/// An event of an activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// It began; a fetch begins when it is requested, before a connection is free for it.
    Start,
    /// A share of the response was read, but at least its head; the end of work.
    Received {
        /// The share, in millionths.
        ppm: u32,
    },
    /// It ended.
    End,
}

/// Why a list of activities is not a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PageFault {
    /// The list of objects is empty.
    #[error("it has nothing to fetch")]
    Empty,
    /// The list of activities is longer than [`MOST_ACTIVITIES`].
    #[error("it has more than {MOST_ACTIVITIES} activities")]
    TooLarge,
    /// A dependency refers to an activity that does not exist.
    #[error("activity {activity} waits for an activity {on} that does not exist")]
    MissingActivity {
        /// Number of the activity that waits.
        activity: u32,
        /// Number of the activity that does not exist.
        on: u32,
    },
    /// A fetch refers to an object that does not exist.
    #[error("activity {activity} fetches an object {object} that does not exist")]
    MissingObject {
        /// Number of the activity that fetches.
        activity: u32,
        /// Number of the object that does not exist.
        object: u32,
    },
    /// An object is fetched more than once or never.
    #[error("object {object} is not fetched exactly once")]
    NotOnce {
        /// Number of the object.
        object: u32,
    },
    /// An activity depends on itself, possibly through others.
    #[error("activity {activity} waits for itself in a circle")]
    Circle {
        /// Number of an activity in the cycle.
        activity: u32,
    },
}

impl Page {
    /// A page of these objects and activities.
    pub fn new(
        name: String,
        objects: Vec<Object>,
        activities: Vec<Activity>,
    ) -> Result<Page, PageFault> {
        if activities.len() > MOST_ACTIVITIES {
            return Err(PageFault::TooLarge);
        }
        if objects.is_empty() {
            return Err(PageFault::Empty);
        }
        check_numbers(objects.len(), &activities)?;
        if let Some(activity) = find_circle(&activities) {
            return Err(PageFault::Circle { activity });
        }
        Ok(Page { name, objects, activities, is_session: false, views: Vec::new() })
    }

    /// The same as a user's session: its result is the mean time of its objects, since the user
    /// decides how long it lasts.
    #[must_use]
    pub fn of_session(self) -> Page {
        Page { is_session: true, ..self }
    }

    /// The pieces of a film, in any order: each is one of the objects, which a player requests.
    pub(crate) fn of_film(objects: Vec<Object>) -> Page {
        let (name, activities, views) = (String::new(), Vec::new(), Vec::new());
        Page { name, objects, activities, is_session: false, views }
    }

    /// The same as several pages that are loaded one after the other; its load time is their mean.
    /// Views whose activities do not exist are left out.
    #[must_use]
    pub fn of_views(mut self, mut views: Vec<View>) -> Page {
        views.retain(|view| view.begin.max(view.load) < self.activities.len() as u32);
        self.views = views;
        self
    }

    /// The pages that are loaded one after the other; none if it is a single one.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// Whether it is a user's session.
    pub const fn is_session(&self) -> bool {
        self.is_session
    }

    /// The name of the page.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In the order of their numbers.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// In the order of their numbers.
    pub fn activities(&self) -> &[Activity] {
        &self.activities
    }

    /// Number of hosts, at least one.
    pub fn hosts(&self) -> u32 {
        let last = self.objects.iter().map(|object| object.host).max();
        last.map_or(1, |last| last.saturating_add(1))
    }

    /// Bytes of all responses.
    pub fn response_bytes(&self) -> u64 {
        self.objects.iter().fold(0, |sum, object| sum.saturating_add(object.response_bytes))
    }
}

/// Checks that every number is valid and that every object is fetched once.
fn check_numbers(objects: usize, activities: &[Activity]) -> Result<(), PageFault> {
    let mut fetched = vec![0u32; objects];
    for (activity, what) in (0u32..).zip(activities) {
        if let Action::Fetch(object) = what.action {
            *fetched
                .get_mut(object as usize)
                .ok_or(PageFault::MissingObject { activity, object })? += 1;
        }
        if let Some(wait) = what.waits.iter().find(|wait| wait.on as usize >= activities.len()) {
            return Err(PageFault::MissingActivity { activity, on: wait.on });
        }
    }
    match (0u32..).zip(&fetched).find(|(_, times)| **times != 1) {
        Some((object, _)) => Err(PageFault::NotOnce { object }),
        None => Ok(()),
    }
}

/// An activity in a cycle of dependencies, if there is one. After everything that can begin has
/// been removed (Kahn's algorithm), the dependencies of what is left lead into a cycle.
fn find_circle(activities: &[Activity]) -> Option<u32> {
    let dependents = dependents_of(activities);
    let mut open: Vec<usize> = activities.iter().map(|activity| activity.waits.len()).collect();
    let mut free: Vec<usize> = (0..open.len()).filter(|at| open[*at] == 0).collect();
    while let Some(done) = free.pop() {
        for next in &dependents[done] {
            open[*next] -= 1;
            if open[*next] == 0 {
                free.push(*next);
            }
        }
    }
    let mut at = open.iter().position(|waits| *waits > 0)?;
    // Each of them depends on another one that is left; as many steps end inside a cycle.
    for _ in 0..activities.len() {
        let held_by = activities[at].waits.iter().find(|wait| open[wait.on as usize] > 0)?;
        at = held_by.on as usize;
    }
    u32::try_from(at).ok()
}

/// For every activity those that depend on it, once for each dependency.
fn dependents_of(activities: &[Activity]) -> Vec<Vec<usize>> {
    let mut dependents = vec![Vec::new(); activities.len()];
    for (number, activity) in activities.iter().enumerate() {
        for wait in &activity.waits {
            dependents[wait.on as usize].push(number);
        }
    }
    dependents
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Object {
        Object {
            label: String::new(),
            host: 0,
            request_bytes: 100,
            response_bytes: 1000,
            think: Duration::ZERO,
            urgency: 3,
            in_clear: false,
        }
    }

    fn work(waits: &[u32]) -> Activity {
        let after = |on: &u32| Wait { on: *on, event: Trigger::End, delay: Duration::ZERO };
        let waits = waits.iter().map(after).collect();
        Activity { action: Action::Work(Duration::ZERO), waits, before_load: true }
    }

    fn fetch(object: u32, waits: &[u32]) -> Activity {
        Activity { action: Action::Fetch(object), ..work(waits) }
    }

    fn fault(activities: Vec<Activity>) -> Option<PageFault> {
        Page::new("page".into(), vec![object()], activities).err()
    }

    #[test]
    fn sound_graph_becomes_a_page() {
        let page = Page::new("p".into(), vec![object()], vec![fetch(0, &[]), work(&[0, 0])]);
        let page = page.expect("sound");
        assert_eq!((page.hosts(), page.response_bytes()), (1, 1000));
    }

    #[test]
    fn wrong_numbers_are_found() {
        assert_eq!(fault(vec![]), Some(PageFault::NotOnce { object: 0 }));
        assert_eq!(
            fault(vec![fetch(0, &[]), fetch(0, &[])]),
            Some(PageFault::NotOnce { object: 0 })
        );
        let missing = PageFault::MissingObject { activity: 1, object: 7 };
        assert_eq!(fault(vec![fetch(0, &[]), fetch(7, &[])]), Some(missing));
        let missing = PageFault::MissingActivity { activity: 0, on: 2 };
        assert_eq!(fault(vec![fetch(0, &[2]), work(&[])]), Some(missing));
        assert_eq!(Page::new("p".into(), vec![], vec![]).err(), Some(PageFault::Empty));
    }

    #[test]
    fn circles_are_found_wherever_they_are() {
        assert_eq!(fault(vec![fetch(0, &[0])]), Some(PageFault::Circle { activity: 0 }));
        // 3 hangs on the circle of 1 and 2 but is not in it.
        let graph = vec![fetch(0, &[]), work(&[2]), work(&[1]), work(&[1, 0])];
        let found = fault(graph);
        assert!(
            matches!(found, Some(PageFault::Circle { activity: 1 | 2 })),
            "{found:?} is in the circle"
        );
    }
}
