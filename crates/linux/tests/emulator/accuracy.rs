//! The emulator's own measurement: it must find itself exact on a machine that lets it.

use crate::world::{attempt, emulator, link, path, run_over, turn};
use linux::emulator::measure;

#[test]
fn probes_find_delay_rate_and_loss_as_configured() {
    let _turn = turn();
    let paths = [path("wlan", link(25, 20, 0.02)), path("lte", link(8, 35, 0.0))];
    let Some(_) = emulator(&paths, false) else { return };
    attempt(|| {
        let mut emulator = emulator(&paths, false).expect("a second one");
        let accuracy = measure(&mut emulator, &run_over(&paths)).expect("a measurement");
        println!("{accuracy}; {}", accuracy.quality);
        for path in &accuracy.paths {
            println!("{path:?}");
        }
        let near = accuracy.delay_error().abs() < 0.5e-3 && accuracy.rate_error().abs() < 0.02;
        // What is lost depends on no clock.
        assert_eq!(accuracy.misjudged(), 0, "{accuracy}");
        assert!(accuracy.paths[0].lost > 0, "{accuracy}");
        if near { Ok(()) } else { Err(accuracy.to_string()) }
    });
}
