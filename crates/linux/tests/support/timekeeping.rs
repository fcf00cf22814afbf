//! Whether this machine keeps time while something is measured on it.
//!
//! Three observations during the measurement: wake-ups of a thread that sleeps for a millisecond at
//! a time, CPU time that a hypervisor took away, and CPU time of other programs. A measurement
//! that misses its bound while the machine kept time is a fault; one that misses it on a machine
//! that did not is skipped. Which bound a measurement has is left to its test.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the machine is watched before a measurement begins.
const FIRST_LOOK: Duration = Duration::from_millis(300);
/// How long the watching thread sleeps at a time.
const NAP: Duration = Duration::from_millis(1);
/// A wake-up later than this is late.
const LATE: Duration = Duration::from_millis(2);
/// No wake-up may be later than this.
const TOO_LATE: Duration = Duration::from_millis(20);
/// Largest share of late wake-ups.
const LATE_SHARE: f64 = 0.01;
/// Largest share of CPU time that a hypervisor may take.
const STOLEN_SHARE: f64 = 0.01;
/// CPU time that other programs may use, in processors.
const OTHERS: f64 = 0.25;
/// `_SC_CLK_TCK`, which is 100 on every Linux since 2.6.
const TICKS_PER_SECOND: f64 = 100.0;

/// Result of a measurement and its observation.
pub(crate) enum Timed {
    /// The measurement is within its bound.
    Within,
    /// It is not, and the machine kept time.
    Missed(String),
    /// It is not, and the machine did not keep time.
    Disturbed(String),
}

/// Whether this machine keeps time now; prints `skipped: ...` where it does not.
pub(crate) fn keeps_time() -> bool {
    let disturbance = Watch::start().after(FIRST_LOOK);
    if let Some(why) = &disturbance {
        println!("skipped: this machine does not keep time: {why}");
    }
    disturbance.is_none()
}

/// Carry a measurement out up to `attempts` times until it is within its bound. Disturbed
/// attempts do not count, but there are at most as many again: then it is skipped.
///
/// # Panics
///
/// If every attempt missed the bound on a machine that kept time.
pub(crate) fn attempt(attempts: usize, what: impl Fn() -> Result<(), String>) {
    if let Some(why) = missed(attempts, what) {
        panic!("{why}");
    }
}

/// The same without the panic: how the last attempt missed the bound, if every one did.
pub(crate) fn missed(attempts: usize, what: impl Fn() -> Result<(), String>) -> Option<String> {
    let (mut missed, mut disturbed) = (0, 0);
    loop {
        match timed(&what) {
            Timed::Within => return None,
            Timed::Missed(why) => {
                println!("missed: {why}");
                missed += 1;
                if missed >= attempts {
                    return Some(why);
                }
            }
            Timed::Disturbed(why) => {
                println!("disturbed: {why}");
                disturbed += 1;
                if disturbed > attempts {
                    println!("skipped: this machine does not keep time: {why}");
                    return None;
                }
            }
        }
    }
}

/// One measurement, observed.
pub(crate) fn timed(what: impl Fn() -> Result<(), String>) -> Timed {
    let watch = Watch::start();
    match (what(), watch.stop()) {
        (Ok(()), _) => Timed::Within,
        (Err(why), None) => Timed::Missed(why),
        (Err(why), Some(disturbance)) => Timed::Disturbed(format!("{why}; {disturbance}")),
    }
}

/// Watches the machine until it is stopped.
struct Watch {
    stop: Arc<AtomicBool>,
    wakeups: Arc<Mutex<Wakeups>>,
    thread: Option<JoinHandle<()>>,
    begin: Instant,
    used: Option<CpuTime>,
}

/// Wake-ups so far.
#[derive(Clone, Copy, Default)]
struct Wakeups {
    all: u32,
    late: u32,
    latest: Duration,
}

/// CPU time in ticks since the machine started.
#[derive(Clone, Copy, PartialEq, Debug)]
struct CpuTime {
    /// Of all processors, idle ones included.
    total: f64,
    stolen: f64,
    /// Of programs, this one included.
    programs: f64,
    /// Of this program and of its children that ended.
    own: f64,
}

impl Watch {
    fn start() -> Watch {
        let (stop, wakeups) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Wakeups>>::default());
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&wakeups));
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let begin = now();
                thread::sleep(NAP);
                let lateness = begin.elapsed().saturating_sub(NAP);
                counted.lock().unwrap_or_else(PoisonError::into_inner).add(lateness);
            }
        });
        Watch { stop, wakeups, thread: Some(thread), begin: now(), used: CpuTime::now() }
    }

    /// What disturbed the machine in the next `time`.
    fn after(self, time: Duration) -> Option<String> {
        thread::sleep(time);
        self.stop()
    }

    /// What disturbed the machine since the start.
    fn stop(mut self) -> Option<String> {
        let seconds = self.begin.elapsed().as_secs_f64();
        let used = self.used.zip(CpuTime::now());
        self.end();
        let wakeups = *self.wakeups.lock().unwrap_or_else(PoisonError::into_inner);
        let disturbance = used.and_then(|(before, now)| now.since(before).disturbance(seconds));
        wakeups.disturbance().or(disturbance)
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Watch {
    /// A measurement that panics leaves no thread behind.
    fn drop(&mut self) {
        self.end();
    }
}

impl Wakeups {
    fn add(&mut self, lateness: Duration) {
        self.all += 1;
        self.late += u32::from(lateness > LATE);
        self.latest = self.latest.max(lateness);
    }

    fn disturbance(&self) -> Option<String> {
        if self.latest > TOO_LATE {
            return Some(format!("a thread woke up {:?} late", self.latest));
        }
        let late_share = f64::from(self.late) / f64::from(self.all.max(1));
        (late_share > LATE_SHARE)
            .then(|| format!("{:.1} % of wake-ups were over {LATE:?} late", late_share * 100.0))
    }
}

impl CpuTime {
    /// From `/proc/stat` and `/proc/self/stat`; `None` where they cannot be read.
    fn now() -> Option<CpuTime> {
        let (all, own) = (fs::read_to_string("/proc/stat"), fs::read_to_string("/proc/self/stat"));
        CpuTime::parse(&all.ok()?, &own.ok()?)
    }

    fn parse(all: &str, own: &str) -> Option<CpuTime> {
        let numbers = |text: &str| -> Vec<f64> {
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
        };
        // user nice system idle iowait irq softirq steal; guest times are in the first two.
        let all = numbers(all.lines().next()?.strip_prefix("cpu")?);
        let [user, nice, system, .., stolen] = all.get(..8)? else { return None };
        // The name of the program may have spaces in it. utime is the 14th field: the 12th here.
        let own = numbers(own.rsplit_once(") ")?.1.split_once(' ')?.1);
        Some(CpuTime {
            total: all[..8].iter().sum(),
            stolen: *stolen,
            programs: user + nice + system,
            own: own.get(10..14)?.iter().sum(),
        })
    }

    fn since(self, before: CpuTime) -> CpuTime {
        CpuTime {
            total: self.total - before.total,
            stolen: self.stolen - before.stolen,
            programs: self.programs - before.programs,
            own: self.own - before.own,
        }
    }

    /// What is wrong with these differences over `seconds`.
    fn disturbance(&self, seconds: f64) -> Option<String> {
        let stolen_share = self.stolen / self.total.max(1.0);
        if stolen_share > STOLEN_SHARE {
            return Some(format!("{:.1} % of the CPU time was stolen", stolen_share * 100.0));
        }
        let others = (self.programs - self.own) / TICKS_PER_SECOND / seconds;
        (others > OTHERS).then(|| format!("other programs used {others:.1} processors"))
    }
}

#[allow(clippy::disallowed_methods, reason = "a stop-watch for the machine itself")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn late_wakeups_are_a_disturbance_and_punctual_ones_are_not() {
    let after = |lateness: &[u64]| {
        let mut wakeups = Wakeups::default();
        (0..300).for_each(|_| wakeups.add(Duration::from_micros(80)));
        lateness.iter().for_each(|millis| wakeups.add(Duration::from_millis(*millis)));
        wakeups.disturbance()
    };
    assert_eq!(after(&[3, 3, 3]), None);
    assert_eq!(after(&[3; 4]).unwrap(), "1.3 % of wake-ups were over 2ms late");
    assert_eq!(after(&[21]).unwrap(), "a thread woke up 21ms late");
}

#[test]
fn time_stolen_or_used_by_others_is_a_disturbance_and_own_time_is_not() {
    let at = |all: &str, own: &str| {
        let own = format!("1 (a b) S 1 1 1 0 -1 4 1 1 1 1 {own} 20 0 1 0 1");
        CpuTime::parse(&format!("{all}\ncpu0 1\n"), &own).expect("both lines")
    };
    let before = at("cpu  100 0 50 1000 0 0 5 0 0 0", "10 5 0 0");
    let after = |all: &str, own: &str| at(all, own).since(before).disturbance(1.0);
    assert_eq!(after("cpu  180 0 70 1095 0 0 10 0 0 0", "80 15 5 5"), None, "all of it is ours");
    let others = after("cpu  180 0 70 1095 0 0 10 0 0 0", "60 15 0 0");
    assert_eq!(others.unwrap(), "other programs used 0.4 processors");
    let stolen = after("cpu  100 0 50 1195 0 0 5 5 0 0", "10 5 0 0");
    assert_eq!(stolen.unwrap(), "2.5 % of the CPU time was stolen");
}
