//! `game:`, `table:`, `pcap:`: recorded messages, in one direction or both.
//!
//! Two kinds of time. A *paced* conversation sends each message at its recorded time, whatever has
//! arrived: nobody waits for anybody, as in a game (000 s4.3.2). An *answered* one keeps think
//! times: a message that follows one of the peer is due when that has arrived, plus the recorded
//! time between both; one that follows a message of its own side is due that long after it.
//! Reading recordings is left to the lab.

use crate::measure::Measure;
use crate::model::delays::{
    MEDIAN, OVER_150MS, P95, P99, distribution, distribution_of, late, separate_jitter,
};
use crate::model::{Due, Message, TrafficModel};
use crate::one_way::{Report, Role};
use crate::outcome::{Metric, Outcome, Part, mean};
use base::Duration;
use std::sync::Arc;

/// Numbers of a game that may be compared in place of the mean delay.
const OF_GAME: &[Measure] = &[MEDIAN, P95, P99, LATE];
/// Those of other conversations.
const OF_OTHERS: &[Measure] = &[MEDIAN, P95, P99];
/// Share of messages later than 60 ms, what an online game needs (000 s3.2).
const LATE: Measure = late(
    ["over 60 ms", "messages later than 60 ms:", "has messages later than 60 ms:"],
    "over_60ms",
);
/// Delays beyond which the shares of messages are counted.
const SHARES: &[(&str, Duration)] = &[("over_60ms", Duration::from_millis(60)), OVER_150MS];

/// Recorded messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversation {
    name: String,
    timing: Timing,
    up: Vec<Message>,
    down: Vec<Message>,
    length: Duration,
}

/// What the time of a message depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// Its recorded time alone, as in a game.
    Paced,
    /// The message before it, whichever end sent it.
    Answered,
}

/// One recorded message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The end that sent it.
    pub from: Role,
    /// When its first byte was sent, since the start of the recording.
    pub start: Duration,
    /// When its last byte was sent.
    pub end: Duration,
    /// Its length in bytes, above zero.
    pub bytes: u64,
}

impl Conversation {
    /// The conversation called `name`; `turns` are in the order of their start.
    pub fn new(name: String, timing: Timing, turns: &[Turn]) -> Self {
        debug_assert!(turns.windows(2).all(|two| two[0].start <= two[1].start), "in order");
        let (mut up, mut down) = (Vec::new(), Vec::new());
        let first = turns.first().map_or(Duration::ZERO, |turn| turn.start);
        let mut before: Option<&Turn> = None;
        for turn in turns {
            let (own, peers) = match turn.from {
                Role::Client => (&mut up, down.len()),
                Role::Server => (&mut down, up.len()),
            };
            let due = match (timing, before) {
                (Timing::Paced, _) | (_, None) => Due::SinceStart(turn.start - first),
                (Timing::Answered, Some(last)) => {
                    let after = turn.start.saturating_sub(last.end);
                    match last.from == turn.from {
                        true => Due::SincePrevious(after),
                        false => Due::SincePeer { messages: peers as u64, after },
                    }
                }
            };
            own.push(Message { due, len: turn.bytes, measured: true });
            before = Some(turn);
        }
        let length = turns.iter().map(|turn| turn.end - first).max().unwrap_or(Duration::ZERO);
        Conversation { name, timing, up, down, length }
    }

    /// The number of messages of at most `most` bytes, at least one, into which it can be cut.
    pub fn messages_of(&self, most: u32) -> u64 {
        let most = u64::from(most).max(1);
        self.up.iter().chain(&self.down).map(|message| message.len.div_ceil(most)).sum()
    }

    /// The same, called `name`, with messages of at most `most` bytes, at least one, each with a
    /// delay of its own: what one is cut into is sent at its time.
    #[must_use]
    pub fn cut(&self, most: u32, name: &str) -> Self {
        debug_assert_eq!(self.timing, Timing::Paced, "no message waits for a number of others");
        let most = u64::from(most).max(1);
        let pieces = |message: &Message| {
            let (message, count) = (*message, message.len.div_ceil(most));
            (0..count).map(move |piece| Message {
                len: (message.len - piece * most).min(most),
                ..message
            })
        };
        let all = |messages: &[Message]| messages.iter().flat_map(pieces).collect();
        Conversation {
            up: all(&self.up),
            down: all(&self.down),
            name: name.to_owned(),
            timing: self.timing,
            length: self.length,
        }
    }

    /// The first `length` of a conversation whose messages have times of their own; others, whose
    /// messages answer each other, are whole.
    #[must_use]
    pub fn beginning(&self, length: Duration) -> Self {
        if self.timing == Timing::Answered {
            return self.clone();
        }
        let is_early = |message: &&Message| match message.due {
            Due::SinceStart(time) => time < length,
            _ => true,
        };
        let early = |all: &[Message]| all.iter().filter(is_early).copied().collect();
        Conversation {
            up: early(&self.up),
            down: early(&self.down),
            length: self.length.min(length),
            name: self.name.clone(),
            timing: self.timing,
        }
    }

    /// The name in `--traffic`, with the model: `game:aoc-1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the times of its messages depend on.
    pub const fn timing(&self) -> Timing {
        self.timing
    }

    /// Length of the recording.
    pub const fn length(&self) -> Duration {
        self.length
    }

    /// Messages that this end sends, in order.
    pub fn from(&self, end: Role) -> &[Message] {
        match end {
            Role::Client => &self.up,
            Role::Server => &self.down,
        }
    }

    /// Whether no message waits for another one, and none is longer than this.
    pub(crate) fn fits(&self, most_bytes: u64) -> bool {
        let mut all = self.up.iter().chain(&self.down);
        self.timing == Timing::Paced && all.all(|message| message.len <= most_bytes)
    }

    /// Bytes of the longest message.
    pub(crate) fn largest_message(&self) -> u64 {
        self.up.iter().chain(&self.down).map(|message| message.len).max().unwrap_or(0)
    }

    /// Whether only the server sends.
    pub(crate) const fn is_download(&self) -> bool {
        self.up.is_empty()
    }
}

/// The messages of one end of a conversation.
#[derive(Clone, Debug)]
pub struct Direction {
    /// The conversation.
    pub conversation: Arc<Conversation>,
    /// The end that sends them.
    pub from: Role,
}

impl TrafficModel for Direction {
    fn message(&self, index: u64) -> Option<Message> {
        self.conversation.from(self.from).get(usize::try_from(index).ok()?).copied()
    }

    fn message_bytes(&self) -> Option<u32> {
        Some(u32::MAX)
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.conversation.length)
    }

    fn metric(&self) -> Metric {
        Metric::MessageDelay
    }

    fn further(&self) -> &'static [Measure] {
        match self.conversation.timing {
            Timing::Paced => OF_GAME,
            Timing::Answered => OF_OTHERS,
        }
    }

    fn numbers(&self, delays: &[f64], all: &[f64]) -> Vec<(&'static str, f64)> {
        distribution_of(delays, all, SHARES)
    }

    fn outcome(&self, client: &Report, sender: &Report, receiver: &Report) -> Outcome {
        let parts = receiver.parts_since(sender, client);
        outcome(receiver.delays_since(sender), parts, receiver.bytes_read, [(self, receiver)])
    }
}

/// The result of both directions, from the reports of both ends. Messages are in the order in which
/// they were sent.
pub(crate) fn outcome_of_both(
    [up, down]: [&Direction; 2],
    client: &Report,
    server: &Report,
) -> Outcome {
    let ways = [server.parts_since(client, client), client.parts_since(server, client)];
    let delays = |parts: &[Part]| -> Vec<f64> {
        parts.iter().filter_map(|part| Some(part.delay?.as_secs_f64())).collect()
    };
    let of_ways = ways.each_ref().map(|parts| delays(parts));
    let mut parts = ways.concat();
    parts.sort_by_key(|part| part.start);
    let bytes = client.bytes_read + server.bytes_read;
    let mut outcome = outcome(delays(&parts), parts, bytes, [(up, server), (down, client)]);
    separate_jitter(&mut outcome.extra, &of_ways.each_ref().map(Vec::as_slice));
    outcome
}

/// The result, with the report of the receiver of each direction.
fn outcome<const N: usize>(
    delays: Vec<f64>,
    parts: Vec<Part>,
    bytes_read: u64,
    directions: [(&Direction, &Report); N],
) -> Outcome {
    let complete = directions.iter().all(|(direction, receiver)| {
        receiver.arrived.len() == direction.conversation.from(direction.from).len()
    });
    Outcome {
        metric: Metric::MessageDelay,
        value: mean(&delays).filter(|_| complete),
        bytes_read,
        extra: distribution(&delays, SHARES),
        message_delays: delays,
        parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(from: Role, [start, end]: [u64; 2], bytes: u64) -> Turn {
        let [start, end] = [start, end].map(Duration::from_millis);
        Turn { from, start, end, bytes }
    }

    fn turns() -> Vec<Turn> {
        vec![
            turn(Role::Client, [1000, 1000], 100),
            turn(Role::Server, [1050, 1080], 5000),
            turn(Role::Server, [1100, 1100], 10),
            turn(Role::Client, [1500, 1500], 7),
        ]
    }

    fn dues(messages: &[Message]) -> Vec<Due> {
        messages.iter().map(|message| message.due).collect()
    }

    #[test]
    fn beginning_of_a_game_has_its_early_messages() {
        let game = Conversation::new("x".to_owned(), Timing::Paced, &turns());
        let early = game.beginning(Duration::from_millis(100));
        assert_eq!((early.from(Role::Client).len(), early.from(Role::Server).len()), (1, 1));
        assert_eq!(early.length(), Duration::from_millis(100));
        assert_eq!(game.beginning(Duration::from_secs(9)), game);
        let answered = Conversation::new("x".to_owned(), Timing::Answered, &turns());
        assert_eq!(answered.beginning(Duration::from_millis(1)), answered);
    }

    #[test]
    fn long_messages_of_a_game_are_cut_into_messages_of_their_time() {
        let game = Conversation::new("x".to_owned(), Timing::Paced, &turns());
        let cut = game.cut(1452, "y");
        let lens = |of: &Conversation, from| {
            of.from(from).iter().map(|message| message.len).collect::<Vec<u64>>()
        };
        assert_eq!(lens(&cut, Role::Server), [1452, 1452, 1452, 644, 10]);
        assert_eq!(lens(&cut, Role::Client), [100, 7]);
        assert_eq!((game.messages_of(1452), game.messages_of(1)), (7, 5117));
        let due = |at| Due::SinceStart(Duration::from_millis(at));
        assert_eq!(dues(cut.from(Role::Server)), [50, 50, 50, 50, 100].map(due));
        assert_eq!((cut.name(), cut.length()), ("y", game.length()));
        assert_eq!(game.cut(5000, "x"), game);
    }

    #[test]
    fn answered_messages_keep_think_times_and_paced_ones_their_times() {
        let ms = Duration::from_millis;
        let answered = Conversation::new("x".to_owned(), Timing::Answered, &turns());
        assert_eq!(
            dues(answered.from(Role::Client)),
            [Due::SinceStart(ms(0)), Due::SincePeer { messages: 2, after: ms(400) }]
        );
        assert_eq!(
            dues(answered.from(Role::Server)),
            [Due::SincePeer { messages: 1, after: ms(50) }, Due::SincePrevious(ms(20))]
        );
        assert_eq!(answered.length(), ms(500));
        let paced = Conversation::new("x".to_owned(), Timing::Paced, &turns());
        assert_eq!(dues(paced.from(Role::Server)), [50, 100].map(|at| Due::SinceStart(ms(at))));
    }
}
