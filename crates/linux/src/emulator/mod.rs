//! The link emulator: two hosts with kernels of their own, joined by paths we control.
//!
//! ```text
//! programs - kernel - TUN == card -> link -> == TUN - kernel - programs
//!   client's namespace      real-time loop       server's namespace
//! ```
//!
//! The links are `network`'s, the very ones that the simulator drives, only that time comes from
//! the machine's clock. [`Emulator::start`] makes the hosts and the loop, [`Emulator::begin_run`]
//! gives it the links of a repetition, [`Emulator::end_run`] returns what they counted and whether
//! the run is valid; [`measure`] determines beforehand how exact the machine is. Everything belongs
//! to the process and is removed when it ends. Running programs in the hosts is left to the
//! callers.

mod accuracy;
mod histogram;
mod inside;
mod lanes;
mod measure;
mod priority;
mod pump;
mod quality;
mod setup;
mod waiting;

pub use accuracy::{Accuracy, PathAccuracy};
pub use inside::become_program;
pub use measure::measure;
pub use priority::{Urgency, hurry};
pub use quality::RunQuality;
pub(crate) use setup::ENGINE_DEVICE;
pub use setup::{EmulatedHost, Side, address};

use crate::clock::Clock;
use crate::error::LiveError;
use crate::netlink::Netlink;
use lanes::Lanes;
use network::{LinkChange, LinkStats, NicSetup, PathCounters, PathSetup};
use pump::{Command, InterfaceNotice, Pump};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// What the two hosts and their paths are, for all runs.
#[derive(Clone, Debug)]
pub struct EmulatorConfig {
    /// The paths' names, which also their devices get where that is possible.
    pub paths: Vec<String>,
    /// Largest IP datagram, in bytes.
    pub mtu: u32,
    /// IPv6 addresses besides IPv4 ones.
    pub ipv6: bool,
    /// Limits of the kernel's TCP buffers at both hosts.
    pub buffers: Buffers,
}

/// What `tcp_wmem` and `tcp_rmem` hold: smallest, initial and largest, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffers {
    /// Values of `net.ipv4.tcp_wmem`.
    pub send: [u32; 3],
    /// Values of `net.ipv4.tcp_rmem`.
    pub receive: [u32; 3],
}

/// One repetition.
#[derive(Clone, Debug)]
pub struct EmulatedRun {
    /// Random seed of the study.
    pub seed: u64,
    /// Number of the repetition.
    pub run: u64,
    /// As many as the emulator has, in its order.
    pub paths: Vec<PathSetup>,
    /// The NIC link before every path, on both hosts; `None`: packets go into the path at once.
    pub nic: Option<NicSetup>,
    /// Keep all packets of both hosts.
    pub capture: bool,
    /// Time begins with the first packet of a host, as in a simulation, whose connections begin at
    /// time zero: programs take some milliseconds until then, which differ from run to run.
    pub waits: bool,
}

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct EmulatedRecord {
    /// How late the emulator was, and what the devices dropped.
    pub quality: RunQuality,
    /// Per path.
    pub links: Vec<PathCounters>,
    /// Per path: the cards of the server and of the client.
    pub nics: Vec<[LinkStats; 2]>,
    /// Files in pcapng form: the client's packets, the server's.
    pub captures: Option<[Vec<u8>; 2]>,
}

/// Two hosts and the loop between them.
pub struct Emulator {
    /// The client.
    pub client: EmulatedHost,
    /// The server.
    pub server: EmulatedHost,
    config: EmulatorConfig,
    commands: Sender<Command>,
    /// Closed to end the loop.
    wake: Option<UnixStream>,
    threads: Vec<JoinHandle<()>>,
    /// The loop has real-time priority.
    realtime: bool,
    /// Paths whose devices are watched in this run, and their drops when it began.
    watched: Vec<usize>,
    drops: u64,
}

impl Default for Buffers {
    /// Linux's.
    fn default() -> Self {
        Buffers { send: [4096, 16_384, 4 << 20], receive: [4096, 131_072, 6 << 20] }
    }
}

impl Buffers {
    /// With these maxima. A buffer begins with Linux's initial size, unless the maximum is smaller
    /// (a kernel does not compare them), and with the maximum without auto-tuning.
    pub fn up_to(maxima: &transport::Buffers) -> Self {
        let usual = Buffers::default();
        let limits = |[least, initial, _]: [u32; 3], most: u32| {
            [least, if maxima.auto_tuning { initial.min(most) } else { most }, most]
        };
        Buffers {
            send: limits(usual.send, maxima.send_max),
            receive: limits(usual.receive, maxima.receive_max),
        }
    }

    /// Values of `tcp_wmem` and `tcp_rmem` as text.
    pub(crate) fn texts(&self) -> [String; 2] {
        [self.send, self.receive].map(|[least, initial, most]| format!("{least} {initial} {most}"))
    }
}

impl EmulatorConfig {
    /// Paths of these names, everything else as usual.
    pub fn new(paths: Vec<String>) -> Self {
        EmulatorConfig { paths, mtu: 1500, ipv6: false, buffers: Buffers::default() }
    }
}

impl Emulator {
    /// Make the hosts and start the loop. Between runs the paths carry nothing.
    pub fn start(config: &EmulatorConfig) -> Result<Self, LiveError> {
        let mut client = EmulatedHost::new(Side::Client, config)?;
        let mut server = EmulatedHost::new(Side::Server, config)?;
        let (commands, asked) = channel();
        let (notices, to_carriers) = channel();
        let failed = |error: io::Error| LiveError::system("starting the link emulator", &error);
        let (wake, woken) = pump::waker().map_err(failed)?;
        let devices = [&mut client, &mut server].map(|host| std::mem::take(&mut host.devices));
        let [near, far] = devices;
        let pump = move |started: &Sender<bool>| {
            Pump::new(near, far, asked, woken, notices).run(started);
        };
        let (realtime, emulator) = spawn("link emulator", pump).map_err(failed)?;
        let carriers = Carriers::open(&client, &server).map_err(failed)?;
        let (_, teller) = spawn("carriers", move |started| {
            // The thread that started this one waits for it.
            let _ = started.send(true);
            carriers.run(&to_carriers);
        })
        .map_err(failed)?;
        Ok(Emulator {
            client,
            server,
            config: config.clone(),
            commands,
            wake: Some(wake),
            threads: vec![emulator, teller],
            realtime,
            watched: Vec::new(),
            drops: 0,
        })
    }

    /// What it was started with.
    pub const fn config(&self) -> &EmulatorConfig {
        &self.config
    }

    /// Whether the loop comes before all other programs.
    pub const fn is_realtime(&self) -> bool {
        self.realtime
    }

    /// A host's address on a path.
    pub fn address(&self, side: Side, path: usize) -> IpAddr {
        address(side, path, false)
    }

    /// A host.
    pub const fn host(&self, side: Side) -> &EmulatedHost {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// Begin a repetition with new links. The answer is its clock, zero at its beginning; changes
    /// of paths happen by it, unless the run waits for a packet.
    pub fn begin_run(&mut self, run: &EmulatedRun) -> Result<Clock, LiveError> {
        let (given, there) = (run.paths.len(), self.config.paths.len());
        if given != there {
            let why = format!("{given} paths for an emulator of {there}");
            return Err(LiveError::Usage(why));
        }
        let failed = |error: io::Error| LiveError::system("beginning an emulated run", &error);
        // The last run may have ended in an outage.
        [&self.client, &self.server]
            .map(EmulatedHost::plug_in)
            .into_iter()
            .collect::<io::Result<()>>()
            .map_err(failed)?;
        self.watched = without_outages(&run.paths);
        self.drops = self.count_drops().map_err(failed)?;
        let lanes = Lanes::new(&run.paths, run.nic, run.seed, run.run);
        let names = run.capture.then(|| run.paths.iter().map(|path| path.name.clone()).collect());
        let (answer, reply) = channel();
        self.ask(Command::Begin { lanes, names, waits: run.waits, answer }, &reply).map_err(failed)
    }

    /// End it. Close the programs' connections before, or their packets are lost.
    pub fn end_run(&mut self) -> Result<EmulatedRecord, LiveError> {
        let failed = |error: io::Error| LiveError::system("ending an emulated run", &error);
        let (answer, reply) = channel();
        let ended = self.ask(Command::End { answer }, &reply).map_err(failed)?;
        let ended = ended.ok_or_else(|| LiveError::Usage("no run was begun".to_owned()))?;
        let drops = self.count_drops().map_err(failed)?.saturating_sub(self.drops);
        let quality = RunQuality::new(&ended.delivered, &ended.taken, drops, ended.refused);
        Ok(EmulatedRecord {
            quality,
            links: ended.counters,
            nics: ended.nics,
            captures: ended.captures,
        })
    }

    fn count_drops(&self) -> io::Result<u64> {
        Ok(self.client.drops(&self.watched)? + self.server.drops(&self.watched)?)
    }

    fn ask<T>(&self, command: Command, reply: &Receiver<T>) -> io::Result<T> {
        let gone = || io::Error::other("the link emulator's loop has ended");
        self.commands.send(command).map_err(|_| gone())?;
        self.wake.as_ref().ok_or_else(gone)?.write_all(&[1])?;
        reply.recv().map_err(|_| gone())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.wake = None;
        for thread in self.threads.drain(..) {
            // It panicked: nothing is left to do about that here.
            let _ = thread.join();
        }
    }
}

/// Paths whose devices keep their carrier: those that lose it drop what hosts send then, which is
/// as it should be.
fn without_outages(paths: &[PathSetup]) -> Vec<usize> {
    let has_none = |path: &PathSetup| {
        !path.events.iter().any(|event| matches!(event.change, LinkChange::Down))
    };
    (0..paths.len()).filter(|number| has_none(&paths[*number])).collect()
}

/// A thread that first reports whether it started.
fn spawn(
    name: &str,
    what: impl FnOnce(&Sender<bool>) + Send + 'static,
) -> io::Result<(bool, JoinHandle<()>)> {
    let (started, confirmed) = channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || what(&started))?;
    let gone = |_| io::Error::other("a thread of the link emulator ended at once");
    Ok((confirmed.recv().map_err(gone)?, thread))
}

/// Takes the carrier from devices and gives it back, outside of the loop, because the kernel may be
/// slow.
struct Carriers {
    client: (Netlink, Vec<u32>),
    server: (Netlink, Vec<u32>),
}

impl Carriers {
    fn open(client: &EmulatedHost, server: &EmulatedHost) -> io::Result<Self> {
        let of = |host: &EmulatedHost| {
            let netlink = host.namespace.run(Netlink::open)??;
            Ok::<_, io::Error>((netlink, host.indices.clone()))
        };
        Ok(Carriers { client: of(client)?, server: of(server)? })
    }

    fn run(mut self, notices: &Receiver<InterfaceNotice>) {
        while let Ok(InterfaceNotice { side, path, up }) = notices.recv() {
            let (netlink, indices) = match side {
                Side::Client => &mut self.client,
                Side::Server => &mut self.server,
            };
            if let Some(index) = indices.get(path) {
                // The link itself is down in any case; only the host is not notified.
                let _ = netlink.set_carrier(*index, up);
            }
        }
    }
}
