//! Accounts of a run: how long its senders were stopped and why, and how many bytes waited at its
//! receivers for preceding bytes.
//!
//! A recorder of the events that connections emit when this changes. A connection is in exactly
//! one state at any time, so the times add up to its life, from its opening to the end of the run.

use base::{Blocked, Event, EventMask, HostId, Instant, Recorder, SocketId};
use harness::{Account, Held};
use std::collections::BTreeMap;

const STATES: usize = Blocked::ALL.len();

/// Keeps the accounts of a run.
#[derive(Debug)]
pub struct Accounts {
    sender: HostId,
    receiver: HostId,
    sending: BTreeMap<SocketId, Sending>,
    receiving: BTreeMap<SocketId, Receiving>,
}

/// A connection of the data sender.
#[derive(Debug)]
struct Sending {
    opened: Instant,
    since: Instant,
    why: Blocked,
    /// The previous reason.
    before: Option<Blocked>,
    sent_to: u64,
    written_to: u64,
    stopped: [Held; STATES],
    /// Bytes below this position were counted, by reason.
    counted_to: [u64; STATES],
}

/// A connection of the data receiver.
#[derive(Debug, Default)]
struct Receiving {
    blocked_since: Option<Instant>,
    holds: u64,
    total: Held,
}

impl Accounts {
    /// Accounts of the connections between these hosts.
    pub fn new(sender: HostId, receiver: HostId) -> Self {
        let (sending, receiving) = (BTreeMap::new(), BTreeMap::new());
        Accounts { sender, receiver, sending, receiving }
    }

    /// The sums, at the end of the run.
    pub fn finish(mut self, now: Instant) -> Account {
        let mut account = Account::default();
        for sending in self.sending.values_mut() {
            let (sent_to, written_to) = (sending.sent_to, sending.written_to);
            sending.end_state(now, sent_to, written_to);
            account.life += now - sending.opened;
            for (sum, held) in account.stopped.iter_mut().zip(&sending.stopped) {
                add(sum, held);
            }
        }
        for receiving in self.receiving.values_mut() {
            receiving.on_change(now, receiving.holds, false);
            add(&mut account.head_of_line, &receiving.total);
        }
        account
    }
}

impl Recorder for Accounts {
    fn mask(&self) -> EventMask {
        EventMask::ACCOUNT
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        match *event {
            Event::Stops { socket, why, sent_to, written_to } if host == self.sender => {
                let sending =
                    self.sending.entry(socket).or_insert_with(|| Sending::opened(now, why));
                sending.end_state(now, sent_to, written_to);
                sending.before = Some(sending.why);
                (sending.why, sending.since) = (why, now);
                (sending.sent_to, sending.written_to) = (sent_to, written_to);
            }
            Event::Holds { socket, bytes, blocks_reader } if host == self.receiver => {
                self.receiving.entry(socket).or_default().on_change(now, bytes, blocks_reader);
            }
            _ => {}
        }
    }
}

fn add(sum: &mut Held, other: &Held) {
    sum.time += other.time;
    sum.bytes += other.bytes;
}

impl Sending {
    fn opened(now: Instant, why: Blocked) -> Sending {
        Sending {
            opened: now,
            since: now,
            why,
            before: None,
            sent_to: 0,
            written_to: 0,
            stopped: [Held::default(); STATES],
            counted_to: [0; STATES],
        }
    }

    /// The state ends, with this many bytes sent and written.
    fn end_state(&mut self, now: Instant, sent_to: u64, written_to: u64) {
        let place = self.why.index();
        self.stopped[place].time += now - self.since;
        let waited_to = match self.why {
            // Buffer space was freed; the application is notified and writes at once.
            Blocked::NothingToSend if self.before == Some(Blocked::SendBuffer) => {
                let refused =
                    if self.since == now { written_to.saturating_sub(self.written_to) } else { 0 };
                self.stopped[Blocked::SendBuffer.index()].bytes += refused;
                return;
            }
            Blocked::NothingToSend => return,
            Blocked::SendBuffer => written_to,
            _ => self.written_to.max(sent_to),
        };
        let from = self.sent_to.max(self.counted_to[place]);
        self.stopped[place].bytes += waited_to.saturating_sub(from);
        self.counted_to[place] = self.counted_to[place].max(waited_to);
    }
}

impl Receiving {
    fn on_change(&mut self, now: Instant, bytes: u64, blocks_reader: bool) {
        self.total.bytes += bytes.saturating_sub(self.holds);
        self.holds = bytes;
        match (self.blocked_since, blocks_reader) {
            (None, true) => self.blocked_since = Some(now),
            (Some(since), false) => {
                self.total.time += now - since;
                self.blocked_since = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Duration;

    const HOSTS: (HostId, HostId) = (HostId(1), HostId(0));
    const SOCKET: SocketId = SocketId(3);

    fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn stops(accounts: &mut Accounts, at: u64, why: Blocked, sent_to: u64, written_to: u64) {
        let event = Event::Stops { socket: SOCKET, why, sent_to, written_to };
        accounts.record(ms(at), HOSTS.0, &event);
    }

    #[test]
    fn times_add_up_to_the_life_and_bytes_are_counted_once() {
        let mut accounts = Accounts::new(HOSTS.0, HOSTS.1);
        stops(&mut accounts, 10, Blocked::Opening, 0, 0);
        stops(&mut accounts, 30, Blocked::CongestionWindow, 1_000, 5_000);
        // The same bytes wait for the window again.
        stops(&mut accounts, 40, Blocked::Pacing, 2_000, 5_000);
        stops(&mut accounts, 41, Blocked::CongestionWindow, 3_000, 5_000);
        stops(&mut accounts, 70, Blocked::SendBuffer, 5_000, 5_000);
        stops(&mut accounts, 75, Blocked::NothingToSend, 5_000, 5_000);
        // Room was made, and the application writes at once.
        stops(&mut accounts, 75, Blocked::SmallQueue, 5_000, 9_000);
        stops(&mut accounts, 75, Blocked::NothingToSend, 9_000, 9_000);
        let account = accounts.finish(ms(100));
        assert_eq!(account.life, Duration::from_millis(90));
        let held = |why| (account.of(why).time.as_micros() / 1000, account.of(why).bytes);
        assert_eq!(held(Blocked::Opening), (20, 1_000));
        assert_eq!(held(Blocked::CongestionWindow), (39, 4_000));
        assert_eq!(held(Blocked::Pacing), (1, 3_000));
        assert_eq!(held(Blocked::SendBuffer), (5, 4_000));
        assert_eq!(held(Blocked::NothingToSend), (25, 0));
        let sum = account.stopped.iter().fold(Duration::ZERO, |sum, held| sum + held.time);
        assert_eq!(sum, account.life);
    }

    #[test]
    fn head_of_line_is_the_time_a_reader_waits_and_what_came_too_early() {
        let mut accounts = Accounts::new(HOSTS.0, HOSTS.1);
        let mut holds = |at, host, bytes, blocks_reader| {
            let event = Event::Holds { socket: SOCKET, bytes, blocks_reader };
            accounts.record(ms(at), host, &event);
        };
        holds(10, HOSTS.1, 1_000, true);
        holds(12, HOSTS.0, 9_000, true);
        holds(15, HOSTS.1, 3_000, true);
        holds(20, HOSTS.1, 500, true);
        holds(25, HOSTS.1, 0, false);
        holds(40, HOSTS.1, 700, true);
        let head_of_line = accounts.finish(ms(50)).head_of_line;
        assert_eq!(head_of_line, Held { time: Duration::from_millis(25), bytes: 3_700 });
    }
}
