//! The link that a page was recorded over, as far as its times show.
//!
//! - Round trip: the median of the recorded times of `connect` without their part of TLS.
//! - Rate: the most bytes received in `WINDOW`, with the bytes of every response spread evenly over
//!   its `receive` time, as the filter for the bottleneck's rate takes the highest one delivered
//!   (BBR, draft-cardwell-iccrg-bbr-congestion-control s4.5). Responses do not always fill a link,
//!   so that it is at least as fast.
//! - Streams: whether most of its responses came over HTTP/2 or HTTP/3.
//! - Lookups: the median of the recorded times of `dns`.

use super::har::{Entry, Har};
use std::fmt::Write;

/// Time over which the rate is taken, in milliseconds: several round trips of fast links.
const WINDOW: f64 = 100.0;

/// The link in words of `--path`, with the options that belong to it; `None` without times.
pub(super) fn describe(views: &[Har]) -> Option<String> {
    let entries: Vec<&Entry> =
        views[..1].iter().flat_map(|har| &har.entries).filter(|entry| entry.fetched).collect();
    let round_trip = median(entries.iter().filter_map(|entry| entry.connect).collect())?;
    let rate = rate(&entries)?;
    let mut text = format!(
        "recorded over a link like `rate {:.0}kbit delay {:.1}ms`",
        rate.max(1.0),
        round_trip / 2.0
    );
    if 2 * entries.iter().filter(|entry| entry.is_stream).count() > entries.len() {
        text.push_str(", with `--http 2`");
    }
    if entries.iter().any(|entry| entry.has_tls) {
        text.push_str(", with `--tls 1.3`");
    }
    if let Some(lookup) = median(entries.iter().filter_map(|entry| entry.lookup).collect()) {
        let _ = write!(text, ", with `--dns {lookup:.0}ms`");
    }
    if let Some(loaded) = views[0].load_time {
        let _ = write!(text, ": `onLoad` after {loaded:.0} ms");
    }
    Some(text)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (below, above) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some(f64::midpoint(values[below], values[above]))
}

/// The highest rate in a window, in kbit/s.
fn rate(entries: &[&Entry]) -> Option<f64> {
    let ends = entries.iter().flat_map(|entry| [entry.first_byte + WINDOW, entry.end]);
    // The sum is piecewise linear: it is highest where a window ends with a response, or begins
    // with one.
    let most = ends.map(|end| received(entries, end)).reduce(f64::max)?;
    (most > 0.0).then_some(most * 8.0 / WINDOW)
}

/// Bytes received in the window that ends at `end`.
fn received(entries: &[&Entry], end: f64) -> f64 {
    let bytes = |entry: &&Entry| {
        let (from, to) = (entry.first_byte.max(end - WINDOW), entry.end.min(end));
        let part = match entry.end - entry.first_byte {
            whole if whole > 0.0 => ((to - from) / whole).max(0.0),
            _ if entry.end > end - WINDOW && entry.end <= end => 1.0,
            _ => 0.0,
        };
        entry.response_bytes as f64 * part
    };
    entries.iter().map(bytes).sum()
}
