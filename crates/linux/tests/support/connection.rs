//! One connection between the engine and the peer's kernel, and what both made of it.

use super::exchange::{self, Close, Exchange, Manner, cpu_seconds};
use super::forwarder::Conditions;
use super::kernel;
use super::prompt;
use super::world::{Family, PATIENCE, World};
use linux::{End, Endpoint, Live, LiveError, PathSwitch};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;
use traffic::{Application, StreamFailure};
use transport::mptcp::MptcpConfig;
use transport::{Protocol, ProtocolConfig};
use wire::Payload;

const MIB: usize = 1 << 20;
const SIZE: usize = 4 * MIB;

/// What the kernel counts as wrong (names of `nstat`, less their prefix).
const ERRORS: [&str; 20] = [
    "MPFallbackTokenInit",
    "MPJoinNoTokenFound",
    "MPJoinSynAckHMacFailure",
    "MPJoinAckHMacFailure",
    "MPJoinSynTxConnectErr",
    "DSSNotMatching",
    "DSSCorruptionFallback",
    "DSSCorruptionReset",
    "InfiniteMapTx",
    "InfiniteMapRx",
    "DSSNoMatchTCP",
    "DataCsumErr",
    "NoDSSInWindow",
    "MismatchPortSynRx",
    "MismatchPortAckRx",
    "MPFailTx",
    "MPFailRx",
    "AddAddrTxDrop",
    "AddAddrDrop",
    "FallbackFailed",
];
/// What it counts when a connection becomes plain TCP.
pub(crate) const FALLBACKS: [&str; 5] = [
    "MPCapableFallbackACK",
    "MPCapableFallbackSYNACK",
    "MPCapableDataFallback",
    "DssFallback",
    "Blackhole",
];

/// What the engine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Client,
    Server,
}

/// One connection and its transfers.
pub(crate) struct Case {
    pub role: Role,
    pub family: Family,
    pub config: MptcpConfig,
    /// Bytes that the engine sends, and the kernel too unless set otherwise.
    pub size: usize,
    pub kernel_sends: Option<usize>,
    pub engine_closes: Close,
    pub kernel_closes: Close,
    pub engine_aborts_at: Option<usize>,
    pub becomes_tcp: bool,
    /// Time that both ends wait after their first bytes, so that joins come before a close.
    pub pause: Duration,
    /// Names of `ERRORS` that are no error here.
    pub errors: &'static [&'static str],
    /// Where the engine's packets are written.
    pub capture: Option<PathBuf>,
}

impl Case {
    pub(crate) fn new(role: Role, family: Family) -> Case {
        Case {
            role,
            family,
            config: MptcpConfig::default(),
            size: SIZE,
            kernel_sends: None,
            engine_closes: Close::AtOnce,
            kernel_closes: Close::AtOnce,
            engine_aborts_at: None,
            becomes_tcp: false,
            pause: Duration::ZERO,
            errors: &[],
            capture: None,
        }
    }

    /// The same, and the engine closes last. A kernel opens subflows when its worker comes to it,
    /// and none once its peer has closed (`mptcp_finish_join`): 4 MiB may be over by then.
    pub(crate) fn kept_open(role: Role, family: Family) -> Case {
        Case { engine_closes: Close::Second, ..Case::new(role, family) }
    }

    /// The same, with most of the data after a time in which a kernel's worker comes to its joins
    /// on a busy machine: 16 MiB take half of it, so that one path would carry all of them.
    pub(crate) fn after_joins(role: Role, family: Family) -> Case {
        Case { pause: Duration::from_millis(300), ..Case::kept_open(role, family) }
    }
}

/// What became of it.
pub(crate) struct Ends {
    pub engine: Result<Vec<u8>, StreamFailure>,
    pub kernel: io::Result<Vec<u8>>,
    /// From connected until everything was written and read: the longer of both ends'.
    pub took: Duration,
    /// CPU seconds of the process meanwhile, wires included.
    pub cpu: f64,
}

/// Paths to a kernel that supports MPTCP and accepts every subflow; `None`, after printing the
/// reason, where they cannot be created.
pub(crate) fn world(paths: &[Conditions]) -> Option<World> {
    let world = World::with_kernel(paths)?;
    if !world.has_mptcp() {
        return None;
    }
    world.ip_mptcp("limits set subflows 8 add_addr_accepted 8");
    Some(world)
}

/// Both halves, with `meanwhile` in parallel.
pub(crate) fn connect(
    world: &World,
    case: &Case,
    meanwhile: impl FnOnce(&PathSwitch) + Send,
) -> Ends {
    let content = Payload::from(kernel::content(case.size));
    let answer = kernel::content(case.kernel_sends.unwrap_or(case.size));
    let address = world.peer_server(case.family, 0);
    let (ready, wait) = channel();
    let before = cpu_seconds();
    thread::scope(|scope| {
        let answer = &answer;
        let listen = || kernel::listen(Protocol::Mptcp, address);
        let listener = (case.role == Role::Client).then(|| world.peer.run(listen));
        let listener = listener.map(|made| made.expect("the namespace").expect("a listener"));
        let engine = scope.spawn(move || engine(world, case, content, &ready));
        let switch = wait.recv_timeout(PATIENCE).expect("an engine");
        let (over, held) = channel();
        scope.spawn(move || {
            // Stopped at the end, also after a panic.
            let _over = over;
            meanwhile(&switch);
        });
        let server = world.engine_server(case.family, 0);
        let manner = Manner { close: case.kernel_closes, pause: case.pause };
        let kernel = world.peer.run(|| match &listener {
            Some(listener) => exchange::accept(listener, answer, manner, held),
            None => exchange::connect(server, answer, manner, held),
        });
        let kernel = kernel.expect("the namespace");
        let (engine, took) = engine.join().expect("no panic");
        let took = kernel.as_ref().map_or(took, |kernel| kernel.took.max(took));
        let cpu = cpu_seconds() - before;
        Ends { engine, kernel: kernel.map(|kernel| kernel.content), took, cpu }
    })
}

fn engine(
    world: &World,
    case: &Case,
    content: Payload,
    ready: &Sender<PathSwitch>,
) -> (Result<Vec<u8>, StreamFailure>, Duration) {
    prompt::hurry();
    let client = case.role == Role::Client;
    let protocol = ProtocolConfig::Mptcp(Box::new(case.config.clone()));
    let endpoint = Endpoint {
        remote: client.then(|| world.peer_server(case.family, 0)),
        listen: (!client).then(|| world.engine_server(case.family, 0)),
        protocol,
        ..Endpoint::default()
    };
    let mut application = Exchange::new(client, content, case.engine_closes);
    application.abort_at = case.engine_aborts_at;
    application.is_tcp = case.becomes_tcp;
    application.pause = case.pause;
    let mut live = world.open(endpoint, application).expect("an engine");
    // For a look at a failure.
    let asked = std::env::var_os("ANABRANCH_TEST_PCAP").map(PathBuf::from);
    if let Some(file) = case.capture.clone().or(asked) {
        live.capture(&file).expect("a file");
    }
    ready.send(live.path_switch()).expect("somebody who waits");
    let patience = PATIENCE + Duration::from_secs((case.size / (4 * MIB)) as u64);
    let end = run_for(&mut live, patience).expect("a run");
    let application = live.into_application();
    let took = application.took();
    let late = (end == End::Stopped).then_some(StreamFailure::TimedOut);
    (application.failure.or(late).map_or(Ok(application.received), Err), took)
}

/// Run an engine to its end, or to the end of patience.
pub(crate) fn run_for<A: Application>(
    live: &mut Live<A>,
    patience: Duration,
) -> Result<End, LiveError> {
    let stopper = live.stopper();
    let (done, waiting) = channel::<()>();
    let guard = thread::spawn(move || {
        if waiting.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            stopper.stop();
        }
    });
    let end = live.run();
    drop(done);
    guard.join().expect("the guard");
    end
}

/// Everything arrived at both ends, and nothing went wrong; how long it took.
pub(crate) fn transfer(
    world: &World,
    case: &Case,
    meanwhile: impl FnOnce(&PathSwitch) + Send,
) -> Duration {
    let ends = connect(world, case, meanwhile);
    check(world, case, &ends);
    ends.took
}

/// The same, over MPTCP to the end.
pub(crate) fn transfer_multipath(
    world: &World,
    case: &Case,
    meanwhile: impl FnOnce(&PathSwitch) + Send,
) -> Duration {
    let ends = connect(world, case, meanwhile);
    check_multipath(world, case, &ends);
    ends.took
}

/// Everything arrived at both ends, and nothing went wrong.
fn check(world: &World, case: &Case, ends: &Ends) {
    let (engine, kernel) = match (&ends.engine, &ends.kernel) {
        (Ok(engine), Ok(kernel)) => (engine, kernel),
        (engine, kernel) => panic!("{:?} {:?}", engine.as_ref().err(), kernel.as_ref().err()),
    };
    let content = kernel::content(case.size);
    let answer = kernel::content(case.kernel_sends.unwrap_or(case.size));
    assert_eq!((engine.len(), kernel.len()), (answer.len(), content.len()), "{:?}", case.role);
    assert!(*engine == answer && *kernel == content, "contents differ");
    for name in ERRORS.into_iter().filter(|name| !case.errors.contains(name)) {
        assert_eq!(count(world, name), 0, "{name}: {:?} {:?}", case.role, case.family);
    }
}

/// The same, over MPTCP to the end.
pub(crate) fn check_multipath(world: &World, case: &Case, ends: &Ends) {
    check(world, case, ends);
    for name in FALLBACKS {
        assert_eq!(count(world, name), 0, "{name}: {:?} {:?}", case.role, case.family);
    }
    let capable = match case.role {
        Role::Client => "MPCapableACKRX",
        Role::Server => "MPCapableSYNACKRX",
    };
    assert_eq!(count(world, capable), 1);
}

/// What the peer's kernel counted of MPTCP.
pub(crate) fn count(world: &World, name: &str) -> u64 {
    world.counter(&format!("MPTcpExt{name}"))
}
