//! Where an association sent its chunks, as lines: time, path, data, window, and why there.

use crate::columns::{Column, Table};
use crate::output::Screen;
use crate::table::protocols;
use lab::decisions::{Stretch, Stretches};
use lab::scenario::Variant;
use lab::{Scenario, describe_traffic};

/// Text output of `explain` for SCTP.
pub(super) fn text(
    scenario: &Scenario,
    variant: &Variant,
    run: u64,
    found: &Stretches,
    screen: Screen,
) -> String {
    let mut text = String::new();
    let (number, of) = found.connection;
    let which = if of > 1 { format!(", association {number} of {of}") } else { String::new() };
    let heading = format!(
        "{}: {}; {}, SCTP profile {}; repetition {run}, seed {}{which}",
        variant.name,
        describe_traffic(&scenario.traffic, scenario.ends.reverse),
        protocols(scenario),
        scenario.choices.sctp.profile.name(),
        scenario.seed
    );
    screen.wrap(&mut text, "", &heading, "");
    for note in &scenario.notes {
        screen.wrap(&mut text, "note: ", note, "");
    }
    let legend = "Chunks sent one after another on one path for one reason: virtual times of the \
                  first and the last one; again: sent on this path before; user data, congestion \
                  window and chunks in flight after the last one.";
    screen.wrap(&mut text, "", legend, "");
    text.push('\n');
    let each = |cell: &dyn Fn(&Stretch) -> String| found.stretches.iter().map(cell).collect();
    let seconds = |at: base::Instant| format!("{:.6}", (at - base::Instant::ZERO).as_secs_f64());
    let table = Table {
        columns: vec![
            Column::new("from [s]", true, 0, each(&|one| seconds(one.at))),
            Column::new("to [s]", true, 1, each(&|one| seconds(one.until))),
            Column::new("path", false, 0, each(&|one| found.name(scenario, one.path))),
            Column::new("chunks", true, 0, each(&|one| one.chunks.to_string())),
            Column::new("again", true, 1, each(&|one| one.again.to_string())),
            Column::new(
                "data [kB]",
                true,
                0,
                each(&|one| format!("{:.1}", one.bytes as f64 / 1e3)),
            ),
            Column::new("cwnd [B]", true, 0, each(&|one| one.cwnd_bytes.to_string())),
            Column::new("in flight", true, 2, each(&|one| one.inflight_segs.to_string())),
            Column::new("why", false, 0, each(&|one| found.reason(scenario, variant, one))),
        ],
    };
    text.push_str(&table.render(screen));
    text
}
