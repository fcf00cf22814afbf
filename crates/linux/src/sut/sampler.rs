//! Samples of the sender's connections and subflows in the kernel, by socket diagnosis: time
//! series, and what each path carried.
//!
//! Of a closed subflow the last sample is kept.

use super::{SutPath, SutQuantity, SutSeries};
use crate::clock::Clock;
use crate::sock_diag::{Diagnosis, SockDiag};
use crate::sockets::TcpReading;
use base::Instant;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

/// Samples one host.
pub(super) struct Sampler {
    diag: SockDiag,
    clock: Clock,
    ipv4: bool,
    tracks: Vec<Track>,
    /// Numbers of tracks by local and remote address; `None` for connections of an earlier run.
    known: BTreeMap<(SocketAddr, SocketAddr), Option<usize>>,
}

/// A connection or subflow.
pub(super) struct Track {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// Name of the congestion control; empty until it is known.
    pub(super) congestion: String,
    pub(super) reading: TcpReading,
    points: Vec<(Instant, [f64; 3])>,
}

impl Sampler {
    /// A sampler of the calling thread's namespace and of connections that are opened later.
    pub(super) fn new(clock: Clock, ipv4: bool) -> io::Result<Self> {
        let mut diag = SockDiag::open()?;
        let before = diag.tcp(ipv4)?;
        let known = before.iter().map(|seen| ((seen.local, seen.remote), None)).collect();
        Ok(Sampler { diag, clock, ipv4, tracks: Vec::new(), known })
    }

    /// Take one sample of every connection.
    pub(super) fn sample(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        for seen in self.diag.tcp(self.ipv4)? {
            let number = *self.known.entry((seen.local, seen.remote)).or_insert_with(|| {
                self.tracks.push(Track::new(&seen));
                Some(self.tracks.len() - 1)
            });
            if let Some(track) = number.and_then(|number| self.tracks.get_mut(number)) {
                track.on_seen(now, &seen);
            }
        }
        Ok(())
    }

    /// The connections and subflows, in the order of their first samples.
    pub(super) fn tracks(&self) -> &[Track] {
        &self.tracks
    }
}

impl Track {
    fn new(seen: &Diagnosis) -> Self {
        Track {
            local: seen.local,
            remote: seen.remote,
            congestion: seen.congestion.clone(),
            reading: TcpReading::default(),
            points: Vec::new(),
        }
    }

    fn on_seen(&mut self, now: Instant, seen: &Diagnosis) {
        // A connection that is being set up or closed has no name to report.
        if !seen.congestion.is_empty() {
            self.congestion.clone_from(&seen.congestion);
        }
        self.reading = self.reading.followed_by(&seen.reading);
        let TcpReading { snd_cwnd, snd_mss, rtt, .. } = seen.reading;
        let window = f64::from(snd_cwnd) * f64::from(snd_mss);
        let in_flight = f64::from(seen.reading.in_flight());
        self.points.push((now, [window, rtt.as_secs_f64(), in_flight]));
    }

    /// Its path, which the client's address identifies.
    pub(super) fn path(&self, paths: &[SutPath]) -> Option<usize> {
        let ends = [self.local.ip(), self.remote.ip()];
        paths.iter().position(|path| ends.contains(&path.client))
    }

    /// The quantities in the order of `SutQuantity`.
    fn series(&self, path: usize) -> impl Iterator<Item = SutSeries> + '_ {
        let quantities =
            [SutQuantity::CongestionWindow, SutQuantity::SmoothedRtt, SutQuantity::InFlight];
        quantities.into_iter().enumerate().map(move |(number, quantity)| {
            let points = self.points.iter().map(|(at, values)| (*at, values[number])).collect();
            SutSeries { quantity, path: Some(path), points }
        })
    }
}

/// The series of every path; of several connections on one path, those of the one that sent most.
pub(super) fn series(tracks: &[Track], paths: &[SutPath]) -> Vec<SutSeries> {
    let mut all: Vec<SutSeries> = (0..paths.len())
        .filter_map(|path| {
            let here = tracks.iter().filter(|track| track.path(paths) == Some(path));
            let most = here.max_by_key(|track| track.reading.bytes_sent)?;
            Some(most.series(path).collect::<Vec<_>>())
        })
        .flatten()
        .collect();
    all.sort_by_key(|series| (series.quantity, series.path));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a subflow that a sample met while it closed had no congestion control, and the
    /// run failed as if the kernel had refused the one that was set.
    #[test]
    fn sample_without_a_congestion_control_keeps_the_name() {
        let end = SocketAddr::from(([127, 0, 0, 1], 5001));
        let mut seen = Diagnosis {
            local: end,
            remote: end,
            congestion: "reno".to_owned(),
            reading: TcpReading::default(),
        };
        let mut track = Track::new(&seen);
        seen.congestion.clear();
        track.on_seen(Instant::ZERO, &seen);
        assert_eq!(track.congestion, "reno");
    }
}
