//! Accounts in the table of runs: `life`, `stopped/REASON` and `head_of_line` in seconds,
//! `waited/REASON` and `head_of_line_bytes` in bytes, null without accounts; numbers of repeated
//! segments per path as text, `wlan=1,3g=0`.

use super::columns::{Cell, Kind};
use crate::run::Run;
use crate::scenario::Scenario;
use base::{Blocked, Duration};
use harness::{Account, Held, Repeated};

const LIFE: &str = "life";
const STOPPED: &str = "stopped/";
const WAITED: &str = "waited/";
const HEAD_OF_LINE: &str = "head_of_line";
const HEAD_OF_LINE_BYTES: &str = "head_of_line_bytes";

/// A number per path.
type OfPath = fn(&mut Repeated) -> &mut u64;
const OF_PATHS: [(&str, OfPath); 3] = [
    ("spurious_segments", |repeated| &mut repeated.spurious_segs),
    ("reinjected_segments", |repeated| &mut repeated.reinjected_segs),
    ("reinjected_bytes_on", |repeated| &mut repeated.reinjected_bytes),
];

/// Names and kinds of the columns.
pub(super) fn columns() -> Vec<(String, Kind)> {
    let number = |name: String| (name, Kind::Number);
    let reasons = || Blocked::ALL.iter().map(|why| why.name());
    let mut columns = vec![number(LIFE.to_owned())];
    columns.extend(reasons().map(|why| number(format!("{STOPPED}{why}"))));
    columns.extend(reasons().map(|why| number(format!("{WAITED}{why}"))));
    columns.extend([HEAD_OF_LINE, HEAD_OF_LINE_BYTES].map(|name| number(name.to_owned())));
    columns.extend(OF_PATHS.map(|(name, _)| (name.to_owned(), Kind::Text)));
    columns
}

/// The cell of a run; `None` for other columns.
pub(super) fn cell(scenario: &Scenario, run: &Run, column: &str) -> Option<Cell> {
    if let Some((_, of)) = OF_PATHS.iter().find(|(name, _)| *name == column) {
        return Some(Cell::Text(shown(scenario, run, *of)));
    }
    let place = place(column)?;
    Some(Cell::Number(run.account.map(|mut account| place.number(&mut account))))
}

/// Whether there is a column of that name.
pub(super) fn is_column(name: &str) -> bool {
    place(name).is_some() || OF_PATHS.iter().any(|(of, _)| *of == name)
}

/// Parses the account, if its numbers are present.
pub(super) fn account(cell: impl Fn(&str) -> Option<f64>) -> Option<Account> {
    let mut account = Account::default();
    for (name, _) in columns().iter().filter(|(_, kind)| *kind == Kind::Number) {
        place(name)?.set(&mut account, cell(name)?);
    }
    Some(account)
}

/// Parses the numbers per path; paths that the text lacks have none.
pub(super) fn repeated(
    scenario: &Scenario,
    text: impl Fn(&str) -> Option<String>,
) -> Option<Vec<Repeated>> {
    let mut repeated = vec![Repeated::default(); scenario.paths.len()];
    for (name, of) in OF_PATHS {
        let Some(text) = text(name).filter(|text| !text.is_empty()) else {
            return Some(Vec::new());
        };
        let mut rest = text.as_str();
        for (path, known) in scenario.paths.iter().zip(&mut repeated) {
            rest = rest.strip_prefix(path.name.as_str())?.strip_prefix('=')?;
            let (number, after) = rest.split_once(',').unwrap_or((rest, ""));
            *of(known) = number.parse().ok()?;
            rest = after;
        }
        if !rest.is_empty() {
            return None;
        }
    }
    Some(repeated)
}

fn shown(scenario: &Scenario, run: &Run, of: OfPath) -> String {
    let paths = scenario.paths.iter().zip(&run.repeated);
    let words = paths.map(|(path, repeated)| format!("{}={}", path.name, of(&mut { *repeated })));
    words.collect::<Vec<_>>().join(",")
}

/// Position of a number in an account.
#[derive(Clone, Copy)]
enum Place {
    Life,
    /// Number of a reason, or of head-of-line blocking.
    Time(Option<Blocked>),
    Bytes(Option<Blocked>),
}

fn place(column: &str) -> Option<Place> {
    let reason = |name: &str| Blocked::ALL.into_iter().find(|why| why.name() == name);
    match column {
        LIFE => Some(Place::Life),
        HEAD_OF_LINE => Some(Place::Time(None)),
        HEAD_OF_LINE_BYTES => Some(Place::Bytes(None)),
        _ => match (column.strip_prefix(STOPPED), column.strip_prefix(WAITED)) {
            (Some(name), _) => Some(Place::Time(Some(reason(name)?))),
            (_, Some(name)) => Some(Place::Bytes(Some(reason(name)?))),
            _ => None,
        },
    }
}

fn held(account: &mut Account, why: Option<Blocked>) -> &mut Held {
    match why {
        Some(why) => &mut account.stopped[why.index()],
        None => &mut account.head_of_line,
    }
}

impl Place {
    fn number(self, account: &mut Account) -> f64 {
        match self {
            Place::Life => account.life.as_secs_f64(),
            Place::Time(why) => held(account, why).time.as_secs_f64(),
            Place::Bytes(why) => held(account, why).bytes as f64,
        }
    }

    /// Times are whole nanoseconds, far fewer than a double tells apart.
    fn set(self, account: &mut Account, number: f64) {
        let time = || Duration::from_nanos((number * 1e9).round() as u64);
        match self {
            Place::Life => account.life = time(),
            Place::Time(why) => held(account, why).time = time(),
            Place::Bytes(why) => held(account, why).bytes = number as u64,
        }
    }
}
