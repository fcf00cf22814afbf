//! How exact an emulation is: what probes met, against what the same links do in virtual time.
//!
//! The prediction comes from the links themselves, driven with the times at which the probes were
//! sent: for any rate, recording or loss, the difference is what the machine adds. Sending probes
//! is left to `measure`.

use super::lanes::{Lanes, Output};
use super::quality::RunQuality;
use base::Instant;
use network::Direction;
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use wire::{Body, Packet, Payload, UdpDatagram};

/// Bytes before the payload of a UDP datagram over IPv4.
pub(super) const HEADERS: u32 = 28;

/// A probe that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Probe {
    pub path: usize,
    pub direction: Direction,
    /// Its number on this path in this direction.
    pub number: u16,
    pub sent: Instant,
    /// Payload, in bytes.
    pub len: u32,
    /// One of many sent at once, for the rate; else a single one, for the delay.
    pub is_flood: bool,
}

/// Which probe: path, 1 if it went up, number.
pub(super) type ProbeKey = (usize, u8, u16);

/// When each probe that arrived did so.
pub(super) type Arrivals = BTreeMap<ProbeKey, Instant>;

/// How exact all paths are.
#[derive(Clone, PartialEq, Debug)]
pub struct Accuracy {
    /// Each path down, then up.
    pub paths: Vec<PathAccuracy>,
    /// The loop comes before all other programs.
    pub realtime: bool,
    /// The loop's own count of lateness meanwhile.
    pub quality: RunQuality,
}

/// How exact one direction of a path is.
#[derive(Clone, PartialEq, Debug)]
pub struct PathAccuracy {
    /// Name of the path.
    pub path: String,
    /// The direction that was measured.
    pub direction: Direction,
    /// Median of measured minus configured delay, in seconds, the hosts' stacks included.
    pub delay_error: f64,
    /// Nine in ten probes had no larger error, in seconds.
    pub delay_error_p90: f64,
    /// Measured over configured rate, minus one; `None` if too few probes arrived.
    pub rate_error: Option<f64>,
    /// Probes sent.
    pub sent: u64,
    /// Of these, lost.
    pub lost: u64,
    /// Probes lost that should have arrived, or the other way round.
    pub misjudged: u64,
}

impl Probe {
    pub(super) fn key(&self) -> ProbeKey {
        (self.path, u8::from(self.direction == Direction::Up), self.number)
    }

    /// A packet of the same length.
    fn packet(&self) -> Packet {
        let payload = Payload::virtual_range(0, 0, self.len);
        let body = UdpDatagram { src_port: self.number, dst_port: 0, payload };
        let address = Ipv4Addr::UNSPECIFIED.into();
        Packet::new(address, address, Body::Udp(body))
    }
}

/// When the probes arrive that do, by the links alone. `probes` are in the order of time.
pub(super) fn predict(mut lanes: Lanes, probes: &[Probe]) -> Arrivals {
    let mut arrivals = Arrivals::new();
    let mut run_to = |lanes: &mut Lanes, now| {
        while let Some(output) = lanes.poll(now) {
            // The host drops what has a wrong checksum.
            if let Output::Delivery { path, direction, due, packet } = output
                && !packet.corrupted
                && let Body::Udp(datagram) = packet.body
            {
                let key = (path, u8::from(direction == Direction::Up), datagram.src_port);
                arrivals.entry(key).or_insert(due);
            }
        }
    };
    for probe in probes {
        run_to(&mut lanes, probe.sent);
        lanes.enqueue(probe.sent, probe.path, probe.direction, probe.packet());
    }
    while let Some(due) = lanes.next_deadline().filter(|due| *due < Instant::FAR_FUTURE) {
        run_to(&mut lanes, due);
    }
    arrivals
}

/// One direction of a path: its own probes.
pub(super) fn evaluate(
    name: &str,
    direction: Direction,
    probes: &[Probe],
    predicted: &Arrivals,
    measured: &Arrivals,
) -> PathAccuracy {
    let both = |probe: &Probe| {
        let (expected, seen) = (predicted.get(&probe.key())?, measured.get(&probe.key())?);
        Some((nanos(*expected), nanos(*seen)))
    };
    let singles = probes.iter().filter(|probe| !probe.is_flood).filter_map(both);
    let mut errors: Vec<f64> = singles.map(|(expected, seen)| seen - expected).collect();
    errors.sort_by(f64::total_cmp);
    let flood: Vec<(f64, f64)> =
        probes.iter().filter(|probe| probe.is_flood).filter_map(both).collect();
    let judged = |probe: &&Probe| {
        predicted.contains_key(&probe.key()) != measured.contains_key(&probe.key())
    };
    let arrived = probes.iter().filter(|probe| measured.contains_key(&probe.key())).count();
    PathAccuracy {
        path: name.to_owned(),
        direction,
        delay_error: at_share(&errors, 0.5) * 1e-9,
        delay_error_p90: at_share(&errors, 0.9) * 1e-9,
        rate_error: rate_error(&flood),
        sent: probes.len() as u64,
        lost: (probes.len() - arrived) as u64,
        misjudged: probes.iter().filter(judged).count() as u64,
    }
}

/// How much faster than expected a flood came: one over the slope of the line through (expected,
/// seen), minus one.
fn rate_error(flood: &[(f64, f64)]) -> Option<f64> {
    let count = flood.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| flood.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|(expected, _)| *expected), mean(|(_, seen)| *seen));
    let xx: f64 = flood.iter().map(|(expected, _)| (expected - x).powi(2)).sum();
    let xy: f64 = flood.iter().map(|(expected, seen)| (expected - x) * (seen - y)).sum();
    (flood.len() > 1 && xx > 0.0 && xy > 0.0).then(|| xx / xy - 1.0)
}

fn at_share(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
}

fn nanos(instant: Instant) -> f64 {
    instant.as_nanos() as f64
}

impl Accuracy {
    /// Median error of the delay on the worst path, in seconds.
    pub fn delay_error(&self) -> f64 {
        largest(self.paths.iter().map(|path| path.delay_error))
    }

    /// Error of the rate on the worst path, as a fraction.
    pub fn rate_error(&self) -> f64 {
        largest(self.paths.iter().filter_map(|path| path.rate_error))
    }

    /// Probes whose loss or delivery differs from the draw.
    pub fn misjudged(&self) -> u64 {
        self.paths.iter().map(|path| path.misjudged).sum()
    }
}

/// The one farthest from zero.
fn largest(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |worst: f64, error| if error.abs() > worst.abs() { error } else { worst })
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (delay, rate) = (self.delay_error() * 1e3, self.rate_error() * 100.0);
        write!(f, "delay {delay:+.3} ms, rate {rate:+.2} %, ")?;
        match self.misjudged() {
            0 => write!(f, "every loss as drawn")?,
            some => write!(f, "{some} probes lost or kept contrary to their draw")?,
        }
        if !self.realtime {
            write!(f, " (without real-time priority: needs root)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Duration, Rate};
    use network::{Capacity, LinkConfig, LossConfig, PathSetup};

    fn link() -> LinkConfig {
        LinkConfig {
            capacity: Capacity::Rate(Rate::from_mbit(12)),
            delay: Duration::from_millis(5),
            ..LinkConfig::default()
        }
    }

    fn lanes(loss: f64) -> Lanes {
        lanes_of(LinkConfig { loss: LossConfig::Bernoulli { p: loss }, ..link() })
    }

    fn lanes_of(link: LinkConfig) -> Lanes {
        let path =
            PathSetup { name: "p".to_owned(), down: link.clone(), up: link, events: Vec::new() };
        Lanes::new(&[path], None, 1, 0)
    }

    fn probes() -> Vec<Probe> {
        let probe = |number: u16| {
            let is_flood = number >= 50;
            let micros = if is_flood { 100_000 } else { 2000 * u64::from(number) };
            let sent = Instant::ZERO + Duration::from_micros(micros);
            Probe { path: 0, direction: Direction::Up, number, sent, len: 1472, is_flood }
        };
        (0..60).map(probe).collect()
    }

    fn shifted(arrivals: &Arrivals, stretch: f64, micros: u64) -> Arrivals {
        let shift = |at: &Instant| {
            let nanos = at.as_nanos() as f64 * stretch;
            Instant::from_nanos(nanos as u64) + Duration::from_micros(micros)
        };
        arrivals.iter().map(|(key, at)| (*key, shift(at))).collect()
    }

    #[test]
    fn prediction_is_what_the_link_is_configured_to_do() {
        let arrivals = predict(lanes(0.0), &probes());
        assert_eq!(arrivals.len(), 60);
        assert_eq!(arrivals[&(0, 1, 3)], Instant::ZERO + Duration::from_millis(6 + 1 + 5));
        assert_eq!(arrivals[&(0, 1, 59)], Instant::ZERO + Duration::from_millis(100 + 10 + 5));
    }

    #[test]
    fn damaged_probe_is_expected_to_be_lost() {
        let damaging = LinkConfig { corrupt: 0.5, ..link() };
        let arrivals = predict(lanes_of(damaging), &probes());
        assert!((15..45).contains(&arrivals.len()), "{}", arrivals.len());
    }

    #[test]
    fn constant_lateness_is_an_error_of_delay_and_none_of_rate() {
        let predicted = predict(lanes(0.2), &probes());
        let measured = shifted(&predicted, 1.0, 70);
        let found = evaluate("p", Direction::Up, &probes(), &predicted, &measured);
        assert!((found.delay_error - 70e-6).abs() < 1e-9, "{found:?}");
        assert!(found.rate_error.unwrap().abs() < 1e-9);
        assert!(found.lost > 0);
        assert_eq!(found.misjudged, 0);
    }

    #[test]
    fn slower_flood_is_an_error_of_rate() {
        let predicted = predict(lanes(0.0), &probes());
        let measured = shifted(&predicted, 1.02, 0);
        let found = evaluate("p", Direction::Up, &probes(), &predicted, &measured);
        assert!((found.rate_error.unwrap() + 0.0196).abs() < 0.001, "{found:?}");
    }

    #[test]
    fn probe_that_is_lost_against_its_draw_is_noticed() {
        let predicted = predict(lanes(0.0), &probes());
        let mut measured = predicted.clone();
        measured.remove(&(0, 1, 7));
        let found = evaluate("p", Direction::Up, &probes(), &predicted, &measured);
        assert_eq!((found.lost, found.misjudged), (1, 1));
        let nothing = evaluate("p", Direction::Up, &probes(), &predicted, &Arrivals::new());
        assert_eq!((nothing.lost, nothing.rate_error, nothing.delay_error), (60, None, 0.0));
    }
}
