//! The words of a path: one row for each that begins an item of a description, is a key of a path
//! in a scenario file, or both.
//!
//! `items` uses the keywords of items, `scenario::path_table` the keys of files, and the schema
//! describes both.

/// The values of a key, for the schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Any text.
    Text,
    /// A text, or a list of texts.
    Texts,
    /// `true` or `false`.
    Flag,
    /// Text that matches this pattern.
    Regex(&'static str),
    /// A number from 0 to 1, or a percentage.
    Probability,
    /// A probability, or netem's `gemodel`.
    Loss,
    /// The probabilities of `gemodel` by name.
    GilbertElliott,
    /// Units of recordings.
    Units,
    /// Timed changes.
    Events,
    /// Names of profiles.
    Profiles,
    /// The keys of one direction.
    Direction,
}

/// Places in which a key is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    /// In a path, in a shared link and in one direction of either.
    Direction,
    /// In a path and in a shared link.
    Link,
    /// In a path.
    Path,
}

/// A key of a path in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyOf {
    pub of: Of,
    /// The description in the schema.
    pub about: &'static str,
    pub form: Form,
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub name: &'static str,
    /// Position in the list of keywords of items, from 1; 0: not such a keyword.
    place: u8,
    pub key: Option<KeyOf>,
}

const fn both(place: u8, name: &'static str, form: Form, about: &'static str) -> Word {
    Word { name, place, key: Some(KeyOf { of: Of::Direction, about, form }) }
}

const fn key(name: &'static str, form: Form, about: &'static str) -> Word {
    both(0, name, form, about)
}

const fn item(place: u8, name: &'static str) -> Word {
    Word { name, place, key: None }
}

impl Word {
    /// The same as a key that is allowed in fewer places.
    const fn only_in(mut self, of: Of) -> Word {
        if let Some(key) = self.key {
            self.key = Some(KeyOf { of, ..key });
        }
        self
    }
}

// Without a blank between a number and its unit, which would be two words of a path.
const RATE: Form = Form::Regex(concat!(
    r"^[0-9.]+[kKmMgGtT]?[bB][iI][tT](/s)?",
    r"((\.\.|\+-)[0-9.]+[kKmMgGtT]?[bB][iI][tT](/s)?)?$"
));
const DELAY: Form = Form::Regex(concat!(
    r"^[0-9.]+[a-zA-Z]+",
    r"((\.\.|\+-)[0-9.]+[a-zA-Z]+)?",
    r"( [0-9.]+[a-zA-Z]+( [0-9.]+%?)?",
    r"( distribution (uniform|normal))?( unordered)?)?$"
));
const JITTER: Form =
    Form::Regex(r"^[0-9.]+[a-zA-Z]+( [0-9.]+%?)?( distribution (uniform|normal))?( unordered)?$");
const LIMIT: Form = Form::Regex(concat!(
    r"^[0-9.]+(p|[kKmMgG]?i?[bB]|[mun]?s)",
    r"((\.\.|\+-)[0-9.]+(p|[kKmMgG]?i?[bB]|[mun]?s))?$"
));
const STRIP: Form = Form::Regex(r"^mptcp( at (syn|synack|ack|data))?$");
const NAT: Form = Form::Regex(r"^timeout [0-9.]+[a-zA-Z]+( rebind @[0-9.]+[a-zA-Z]+)?$");
const PROMOTION: Form = Form::Regex(r"^[0-9.]+[a-zA-Z]+ [0-9.]+[a-zA-Z]+$");
const REWRITE: Form = Form::Regex(r"^sequence$");
const QUEUE: Form = Form::Regex(network::queue::PATTERN);

/// Every word, in the order in which messages list keys.
const WORDS: &[Word] = &[
    both(
        1,
        "rate",
        RATE,
        "Capacity: 25mbit, 512kbit, 1.5gbit; drawn for each repetition: 20mbit..30mbit uniformly, \
         25mbit+-5mbit from a normal distribution. Delay, loss and limit likewise.",
    ),
    both(
        2,
        "delay",
        DELAY,
        "One-way delay: 20ms; 20ms 5ms adds a jitter of 5 ms, which keeps the order of packets; \
         20ms 5ms unordered does not. Before it: a correlation, 25%, and distribution normal.",
    ),
    key("jitter", JITTER, "Deviation of the delay, such as 5ms or 5ms unordered; needs `delay`."),
    both(3, "loss", Form::Loss, "Probability that a packet is lost, or gemodel P R 1-H 1-K."),
    key(
        "loss-ge",
        Form::GilbertElliott,
        "Gilbert-Elliott loss, with the probabilities of netem's gemodel by name.",
    ),
    both(4, "limit", LIMIT, "Queue limit: 100p, 64KiB or 50ms. Default: 1000p."),
    both(5, "queue", QUEUE, network::queue::ABOUT),
    both(6, "reorder", Form::Probability, "Probability that a packet is reordered."),
    both(7, "duplicate", Form::Probability, "Probability that a packet is duplicated."),
    both(8, "corrupt", Form::Probability, "Probability that a packet is corrupted."),
    both(
        9,
        "trace",
        Form::Text,
        "File of recorded capacity instead of a rate, relative to this file.",
    ),
    both(10, "trace-up", Form::Text, "File of recorded upload capacity, relative to this file.")
        .only_in(Of::Link),
    key("unit", Form::Units, "Unit of a recording in columns."),
    both(11, "profile", Form::Profiles, "Path profile whose values the other keys override.")
        .only_in(Of::Link),
    item(12, "down"),
    item(13, "silent"),
    item(15, "reset"),
    item(16, "removed"),
    both(
        17,
        "via",
        Form::Texts,
        "Links of the scenario that the path passes from client to server, one or a list.",
    )
    .only_in(Of::Path),
    both(
        20,
        "client",
        Form::Text,
        "Name of the client's end: paths that name the same one share its address.",
    )
    .only_in(Of::Path),
    both(21, "server", Form::Text, "Name of the server's end, likewise.").only_in(Of::Path),
    both(14, "backup", Form::Flag, "Backup path: MPTCP uses it only if no other path works.")
        .only_in(Of::Path),
    key(
        "events",
        Form::Events,
        "Changes at a time: down @20s..35s, silent @20s..35s, rate 5mbit @20s..35s; also delay, \
         loss and, of whole paths, backup.",
    ),
    both(18, "uplink", Form::Direction, "From client to server only.").only_in(Of::Link),
    both(19, "downlink", Form::Direction, "From server to client only.").only_in(Of::Link),
    both(
        22,
        "strip",
        STRIP,
        "`mptcp`: a middlebox removes the MPTCP options, `mptcp at syn`, synack, \
         ack or data: of these segments only.",
    )
    .only_in(Of::Path),
    both(
        23,
        "nat",
        NAT,
        "`timeout 60s`: a middlebox translates addresses and ports, and forgets a flow \
         after this time without a packet; `timeout 60s rebind @20s`: and all of them at 20 s.",
    )
    .only_in(Of::Path),
    both(
        24,
        "rewrite",
        REWRITE,
        "`sequence`: a middlebox adds a random offset to sequence numbers.",
    )
    .only_in(Of::Path),
    both(
        25,
        "promotion",
        PROMOTION,
        "`10s 300ms`: after the first time without a packet the radio is idle, and the next \
         packets wait for the second one.",
    )
    .only_in(Of::Path),
    both(
        26,
        "proxy",
        Form::Flag,
        "A proxy ends TCP connections between the path's own link and the server, and opens others \
         behind it; MPTCP falls back.",
    )
    .only_in(Of::Path),
    item(27, "unit="),
];

/// Number of keywords of items for one direction.
pub(super) const OF_DIRECTION: usize = 9;
/// Number of keywords listed in messages: `unit=` only follows a file.
pub(super) const OFFERED: usize = 26;

/// Keywords of items, those of one direction first.
pub(crate) fn item_words() -> Vec<&'static str> {
    let mut words: Vec<&Word> = WORDS.iter().filter(|word| word.place > 0).collect();
    words.sort_by_key(|word| word.place);
    words.into_iter().map(|word| word.name).collect()
}

/// The keys of a path in a file.
pub(crate) fn path_keys() -> impl Iterator<Item = (&'static str, KeyOf)> {
    WORDS.iter().filter_map(|word| Some((word.name, word.key?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_direction_come_first_and_places_are_whole() {
        let words = item_words();
        assert_eq!(words.len(), OFFERED + 1);
        let last = WORDS.iter().map(|word| usize::from(word.place)).max();
        assert_eq!(last, Some(words.len()), "no place is empty or taken twice");
        let of = |name: &str| path_keys().find(|(key, _)| *key == name).map(|(_, key)| key.of);
        assert!(words[..OF_DIRECTION].iter().all(|name| of(name) == Some(Of::Direction)));
    }
}
