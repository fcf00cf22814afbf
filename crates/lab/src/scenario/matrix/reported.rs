//! What paper 000 says of cells of its matrix, in the classes of its Figure 19, whose colours are
//! not at hand: only cells that its text describes, without background traffic.
//!
//! They are shown beside our own classes, and no result depends on them.

use super::Protocol;

/// What the paper says of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reported {
    /// Class, or `gain`, where the text does not say how large.
    pub class: &'static str,
    /// Section and figure of 000.
    pub source: &'static str,
}

const NONE: &str = "none";
const GAIN: &str = "gain";
const SLIGHT: &str = "slight gain";
const SIGNIFICANT: &str = "significant gain";
const DEGRADED: &str = "degraded";

const VIDEO_CMT: &str = "s5.1.1, Fig. 6";
const VIDEO_MPTCP: &str = "s5.1.2, Fig. 7";
const GAME_CMT: &str = "s5.2.1, Fig. 9";
const GAME_MPTCP: &str = "s5.2.2, Fig. 11";
const WEB_CMT: &str = "s5.3.1, Fig. 16";

/// Traffic@paths, protocol, class and source.
type Row = (&'static str, Protocol, &'static str, &'static str);

const ROWS: [Row; 17] = [
    ("video@wlan+wlan", Protocol::Mptcp, GAIN, VIDEO_MPTCP),
    ("video@3g+3g", Protocol::Mptcp, NONE, VIDEO_MPTCP),
    ("video@wlan+3g", Protocol::Mptcp, DEGRADED, VIDEO_MPTCP),
    ("video@wlan+wlan", Protocol::CmtSctp, DEGRADED, VIDEO_CMT),
    ("video@3g+3g", Protocol::CmtSctp, NONE, VIDEO_CMT),
    ("video@wlan+3g", Protocol::CmtSctp, DEGRADED, VIDEO_CMT),
    ("game:aoc-1@wlan+wlan", Protocol::Mptcp, NONE, GAME_MPTCP),
    ("game:aoc-1@3g+3g", Protocol::Mptcp, NONE, GAME_MPTCP),
    ("game:aoc-1@wlan+3g", Protocol::Mptcp, NONE, GAME_MPTCP),
    ("game:aoc-1@wlan+wlan", Protocol::CmtSctp, DEGRADED, GAME_CMT),
    ("game:aoc-1@3g+3g", Protocol::CmtSctp, GAIN, GAME_CMT),
    ("web:wikipedia@wlan+wlan", Protocol::CmtSctp, SLIGHT, WEB_CMT),
    ("web:wikipedia@3g+3g", Protocol::CmtSctp, SLIGHT, WEB_CMT),
    ("web:amazon@wlan+wlan", Protocol::CmtSctp, SIGNIFICANT, WEB_CMT),
    ("web:amazon@3g+3g", Protocol::CmtSctp, SIGNIFICANT, WEB_CMT),
    ("web:huffingtonpost@wlan+wlan", Protocol::CmtSctp, SIGNIFICANT, WEB_CMT),
    ("web:huffingtonpost@3g+3g", Protocol::CmtSctp, SIGNIFICANT, WEB_CMT),
];

/// What the paper says of the cell of this traffic, these paths of its Table 3 and this protocol,
/// without background traffic.
pub(super) fn reported(traffic: &str, pair: &str, protocol: Protocol) -> Option<Reported> {
    let place = format!("{traffic}@{pair}");
    let is_it = |row: &&Row| (row.0, row.1) == (place.as_str(), protocol);
    ROWS.iter().find(is_it).map(|(.., class, source)| Reported { class, source })
}
