//! `vod:dash`: segments of four seconds, and which bit rate a player chooses.
//!
//! BBA-0 of Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014, s4 and
//! Algorithm 1: below a reservoir of 90 s the lowest bit rate, above 216 s the highest, linear in
//! between; the bit rate changes when the line passes the next one of the ladder. At most 240 s are
//! buffered. The ladder is Netflix's of 2015, the same for every film.

use base::Duration;

/// Bit rates in bit/s, the lowest first.
pub(super) const LADDER: [u64; 10] = [
    235_000, 375_000, 560_000, 750_000, 1_050_000, 1_750_000, 2_350_000, 3_000_000, 4_300_000,
    5_800_000,
];
/// Length of a segment.
pub(super) const SEGMENT: Duration = Duration::from_secs(4);
/// Most media in the buffer.
pub(super) const CAPACITY: Duration = Duration::from_secs(240);
/// Reservoir, and the cushion above it, in seconds.
const RESERVOIR: f64 = 90.0;
const CUSHION: f64 = 126.0;

/// Sizes in bytes of every bit rate of every segment that may be requested in this time.
pub(super) fn sizes(time: Duration) -> impl Iterator<Item = u64> {
    let media = time + CAPACITY;
    let segments = media.as_nanos().div_ceil(SEGMENT.as_nanos()) + 1;
    let size = |bps: u64| bps * SEGMENT.as_millis() / 8000;
    (0..segments).flat_map(move |_| LADDER.map(size))
}

/// Number of the object with this bit rate of a segment.
pub(super) fn object(segment: usize, rung: usize) -> usize {
    segment * LADDER.len() + rung
}

/// The bit rate of an object, as its place in the ladder.
pub(super) const fn rung(object: usize) -> usize {
    object % LADDER.len()
}

/// The place in the ladder of the next segment after one at `last`, with this much media in the
/// buffer.
pub(super) fn choose(last: Option<usize>, buffer: Duration) -> usize {
    let (lowest, highest) = (LADDER[0] as f64, LADDER[LADDER.len() - 1] as f64);
    let share = ((buffer.as_secs_f64() - RESERVOIR) / CUSHION).clamp(0.0, 1.0);
    let line = lowest + share * (highest - lowest);
    let top = LADDER.len() - 1;
    let Some(last) = last.filter(|_| share > 0.0) else { return 0 };
    if share >= 1.0 {
        top
    } else if line >= LADDER[(last + 1).min(top)] as f64 {
        LADDER.iter().rposition(|bps| (*bps as f64) < line).unwrap_or(0)
    } else if line <= LADDER[last.saturating_sub(1)] as f64 {
        LADDER.iter().position(|bps| *bps as f64 > line).unwrap_or(top)
    } else {
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(last_kbit: u64, seconds: f64) -> u64 {
        let last = LADDER.iter().position(|bps| *bps == last_kbit * 1000);
        LADDER[choose(last, Duration::from_secs_f64(seconds))] / 1000
    }

    #[test]
    fn line_leads_from_the_reservoir_to_the_cushion_s_end() {
        assert_eq!(LADDER[choose(None, Duration::from_secs(200))], 235_000, "the first segment");
        for (last, seconds, next) in [
            (5800, 90.0, 235),
            (235, 216.0, 5800),
            (235, 240.0, 5800),
            // Half way the line is at 3017.5 kbit/s.
            (235, 153.0, 3000),
            (1750, 153.0, 3000),
            (5800, 153.0, 4300),
            // It has to pass the next bit rate: 2350 at 137.9 s, 4300 at 182.0 s.
            (3000, 153.0, 3000),
            (3000, 138.1, 3000),
            (3000, 137.8, 2350),
            (3000, 181.9, 3000),
            (3000, 182.1, 4300),
        ] {
            assert_eq!(chosen(last, seconds), next, "after {last} kbit/s with {seconds} s");
        }
    }

    #[test]
    fn sizes_are_those_of_four_seconds() {
        let all: Vec<u64> = sizes(Duration::from_secs(300)).collect();
        assert_eq!(all.len(), 136 * LADDER.len());
        assert_eq!((all[object(5, 0)], all[object(135, 9)]), (117_500, 2_900_000));
        assert_eq!(rung(object(7, 3)), 3);
    }
}
