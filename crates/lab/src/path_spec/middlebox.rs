//! The middleboxes of a path: `strip mptcp at syn`, `nat timeout 60s`, `promotion 10s 300ms`,
//! `rewrite sequence`, `proxy`.
//!
//! What they do to packets is left to `network`.

use super::items::Reader;
use super::token::Token;
use crate::error::Refusal;
use crate::units::parse_time;
use crate::words::nearest_help;
use base::chance::owner_of;
use base::{Duration, Instant};
use network::MiddleBoxConfig;
use network::middlebox::Stage;
use std::fmt;
use std::net::Ipv4Addr;

/// A middlebox of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Middlebox {
    /// Removes the MPTCP options of these segments (RFC 8684 s3.7).
    Strip(Stage),
    /// Translates addresses and ports (RFC 4787); forgets a mapping after this time without use,
    /// and all of them at this time of the run.
    Nat(Duration, Option<Duration>),
    /// Holds packets until a radio is connected that is idle after the first time without a packet,
    /// which takes the second one.
    Promotion(Duration, Duration),
    /// Adds a random offset to the sequence numbers of a flow.
    RewriteSequence,
    /// Ends TCP connections and opens others behind it (RFC 3135 s2.4).
    Proxy,
}

/// The segments that `strip mptcp at` can name, as the option is called.
const STAGES: [(&str, Stage); 4] = [
    ("syn", Stage::Syn),
    ("synack", Stage::SynAck),
    ("ack", Stage::ThirdAck),
    ("data", Stage::Data),
];

impl Middlebox {
    /// Its configuration on path number `path`, which is called `name`; `None`: it is a host.
    pub(crate) fn config(self, path: usize, name: &str) -> Option<MiddleBoxConfig> {
        Some(match self {
            Middlebox::Proxy => return None,
            Middlebox::Strip(stage) => MiddleBoxConfig::StripOptions { stage },
            Middlebox::Nat(idle, rebind) => {
                // RFC 5737: addresses of examples, which no host of a run has.
                let outside = Ipv4Addr::new(192, 0, (path >> 8) as u8 | 2, path as u8).into();
                let rebind = rebind.map(|at| Instant::ZERO + at);
                MiddleBoxConfig::Nat { outside, idle, rebind }
            }
            Middlebox::Promotion(idle, delay) => MiddleBoxConfig::Promotion { idle, delay },
            Middlebox::RewriteSequence => {
                MiddleBoxConfig::RewriteSequence { owner: owner_of(name) }
            }
        })
    }
}

impl fmt::Display for Middlebox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Middlebox::Strip(stage) => {
                f.write_str("strip mptcp")?;
                match STAGES.iter().find(|(_, known)| known == stage) {
                    Some((name, _)) => write!(f, " at {name}"),
                    None => Ok(()),
                }
            }
            Middlebox::Nat(idle, None) => write!(f, "nat timeout {idle}"),
            Middlebox::Nat(idle, Some(at)) => write!(f, "nat timeout {idle} rebind @{at}"),
            Middlebox::Promotion(idle, delay) => write!(f, "promotion {idle} {delay}"),
            Middlebox::RewriteSequence => f.write_str("rewrite sequence"),
            Middlebox::Proxy => f.write_str("proxy"),
        }
    }
}

/// The middlebox whose item begins with `word`.
pub(super) fn middlebox(reader: &mut Reader<'_>, word: &Token) -> Result<Middlebox, Refusal> {
    match word.text.as_str() {
        "proxy" => Ok(Middlebox::Proxy),
        "strip" => {
            follows(reader, word, "mptcp")?;
            stage(reader).map(Middlebox::Strip)
        }
        "nat" => {
            let keyword = follows(reader, word, "timeout 60s")?;
            let time = reader.value(&keyword, "60s")?;
            let idle = parse_time(&time.text).map_err(|e| time.place(e))?;
            if idle.is_zero() {
                let help = "RFC 5382 s5 asks for two hours: `nat timeout 7200s`";
                return Err(
                    time.refuse("a translator that forgets at once lets nothing pass", help)
                );
            }
            Ok(Middlebox::Nat(idle, rebind(reader)?))
        }
        "promotion" => {
            let example = "10s 300ms";
            let [idle, delay] = [time(reader, word, example)?, time(reader, word, example)?];
            Ok(Middlebox::Promotion(idle, delay))
        }
        _ => follows(reader, word, "sequence").map(|_| Middlebox::RewriteSequence),
    }
}

/// `rebind @TIME`, or never.
fn rebind(reader: &mut Reader<'_>) -> Result<Option<Duration>, Refusal> {
    let Some(word) = reader.peek().filter(|next| next.text == "rebind") else { return Ok(None) };
    reader.next += 1;
    let Some(at) = reader.peek().filter(|next| next.text.starts_with('@')) else {
        return Err(word.refuse("`rebind` needs a time", "write `rebind @20s`"));
    };
    reader.next += 1;
    parse_time(&at.text[1..]).map(Some).map_err(|e| at.place(e.shifted(1)))
}

/// A time after `word`.
fn time(reader: &mut Reader<'_>, word: &Token, example: &str) -> Result<Duration, Refusal> {
    let time = reader.value(word, example)?;
    parse_time(&time.text).map_err(|e| time.place(e))
}

/// The fixed word that comes after `word`, the first one of `example`.
fn follows(reader: &mut Reader<'_>, word: &Token, example: &str) -> Result<Token, Refusal> {
    let next = reader.value(word, example)?;
    let expected = example.split(' ').next().unwrap_or(example);
    if next.text != expected {
        let problem = format!("`{}` cannot follow `{}`", next.text, word.text);
        return Err(next.refuse(problem, format!("write `{} {example}`", word.text)));
    }
    Ok(next.clone())
}

/// `at STAGE`, or every segment.
fn stage(reader: &mut Reader<'_>) -> Result<Stage, Refusal> {
    let Some(at) = reader.peek().filter(|next| next.text == "at") else { return Ok(Stage::All) };
    reader.next += 1;
    let name = reader.value(at, "syn")?;
    let found = STAGES.iter().find(|(known, _)| *known == name.text);
    found.map(|(_, stage)| *stage).ok_or_else(|| {
        let help = nearest_help(&name.text, &STAGES.map(|(name, _)| name));
        name.refuse(format!("`{}` is no segment of a connection", name.text), help)
    })
}
