//! A repetition over emulated links, repeated if it was disturbed by other load on the machine.

use super::{SutPath, SutPaths, SutRecord, SutRun, run_once};
use crate::emulator::{EmulatedRecord, EmulatedRun, Emulator, RunQuality, Side};
use crate::error::LiveError;
use harness::Captures;

/// Most attempts of a repetition before it is marked as invalid.
pub const ATTEMPTS: u32 = 4;

/// What a repetition over emulated links yields.
#[derive(Clone, Debug)]
pub struct EmulatedSut {
    /// What the system did, with the counters and captures of the links.
    pub system: SutRecord,
    /// Whether the links were in time.
    pub quality: RunQuality,
    /// The attempt that this is, from 1.
    pub attempt: u32,
}

/// Carry out one repetition over the links of `links`, up to [`ATTEMPTS`] times, until the links
/// were in time. Returns the last attempt, valid or not.
pub fn run_emulated(
    emulator: &mut Emulator,
    links: &EmulatedRun,
    run: &SutRun<'_>,
) -> Result<EmulatedSut, LiveError> {
    let mut attempt = 1;
    loop {
        let done = run_attempt(emulator, links, run, attempt)?;
        if attempt == ATTEMPTS || done.quality.is_valid() {
            return Ok(done);
        }
        attempt += 1;
    }
}

fn run_attempt(
    emulator: &mut Emulator,
    links: &EmulatedRun,
    run: &SutRun<'_>,
    attempt: u32,
) -> Result<EmulatedSut, LiveError> {
    let path = |(number, path): (usize, &network::PathSetup)| SutPath {
        name: path.name.clone(),
        client: emulator.address(Side::Client, number),
        server: emulator.address(Side::Server, number),
    };
    let paths: Vec<SutPath> = links.paths.iter().enumerate().map(path).collect();
    emulator.begin_run(links)?;
    let (client, server) = (&emulator.client.namespace, &emulator.server.namespace);
    let system = run_once(SutPaths { client, server, paths: &paths }, run);
    // Even if the system failed: none of its packets may remain on the links.
    let EmulatedRecord { links, captures, quality, .. } = emulator.end_run()?;
    let mut system = system?;
    system.run.links = links;
    system.run.captures = captures.map(|[client, server]| {
        let [sender, receiver] = if run.reverse { [client, server] } else { [server, client] };
        Captures { sender, receiver }
    });
    Ok(EmulatedSut { system, quality, attempt })
}
