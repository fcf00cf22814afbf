//! What is transferred, and what is printed of it.

use crate::support::connection::{Case, Role, transfer_multipath, world};
use crate::support::exchange::{self, Close, Manner};
use crate::support::forwarder::Conditions;
use crate::support::kernel;
use crate::support::world::{Family, World};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use transport::Protocol;

/// Bytes of a transfer one way; the other way there is one byte.
const SIZE: usize = 64 << 20;
/// Ticks of a second in which the kernel shows CPU time (USER_HZ).
const TICKS: f64 = 100.0;

/// The way that most bytes go, as the engine sees it.
#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// Print all figures.
pub(crate) fn print() {
    for paths in [1, 2] {
        for direction in [Direction::Up, Direction::Down] {
            if figure("mptcp-tun", paths, direction, with_engine).is_none()
                || figure("kernel-tun", paths, direction, between_kernels).is_none()
            {
                println!("live/mptcp-tun is left out: see the line above");
                return;
            }
        }
    }
}

/// Measures one figure; `None` if it is not available here, which was printed.
fn figure(
    name: &str,
    paths: usize,
    direction: Direction,
    take: fn(&World, usize, Direction) -> Duration,
) -> Option<()> {
    let world = world(&vec![Conditions::default(); paths])?;
    let before = cpu_seconds();
    let took = take(&world, paths, direction);
    let cpu = cpu_seconds() - before;
    let way = match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    };
    let megabits = 8.0 * SIZE as f64 / took.as_secs_f64() / 1e6;
    println!("live/{name}-{paths}-{way} {megabits:.0} Mbit/s");
    println!("live/{name}-{paths}-{way}-cpu {:.1} s/GB", cpu / (SIZE as f64 / 1e9));
    Some(())
}

/// Bytes that this side and the peer send.
const fn sizes(direction: Direction) -> (usize, usize) {
    match direction {
        Direction::Up => (SIZE, 1),
        Direction::Down => (1, SIZE),
    }
}

fn with_engine(world: &World, _: usize, direction: Direction) -> Duration {
    let (size, kernel_sends) = sizes(direction);
    // The client engine joins; a kernel that joins too would double the second path.
    world.ip_mptcp("limits set subflows 8 add_addr_accepted 0");
    let case = Case {
        size,
        kernel_sends: Some(kernel_sends),
        engine_closes: Close::AtOnce,
        kernel_closes: Close::Second,
        ..Case::new(Role::Client, Family::V4)
    };
    transfer_multipath(world, &case, |_| {})
}

/// Between the kernels at both ends of the wires.
fn between_kernels(world: &World, paths: usize, direction: Direction) -> Duration {
    let (size, peer_sends) = sizes(direction);
    let (content, answer) = (kernel::content(size), kernel::content(peer_sends));
    if paths > 1 {
        world.ip_mptcp("endpoint add 10.2.1.2 signal");
        world.ip_mptcp_near("limits set subflows 8 add_addr_accepted 8");
    }
    let address = world.peer_server(Family::V4, 0);
    let listen = || kernel::listen(Protocol::Mptcp, address);
    let listener = world.peer.run(listen).expect("the namespace").expect("a listener");
    let manner = |close| Manner { close, pause: Duration::ZERO };
    // Nothing runs in parallel: the last bytes are sent at once.
    let free = || channel().1;
    thread::scope(|scope| {
        let answer = &answer;
        let accept = || exchange::accept(&listener, answer, manner(Close::Second), free());
        let peer = scope.spawn(move || world.peer.run(accept));
        let connect = || exchange::connect(address, &content, manner(Close::AtOnce), free());
        let near = world.engine.run(connect).expect("the namespace").expect("a transfer");
        let far = peer.join().expect("no panic").expect("the namespace").expect("a transfer");
        near.took.max(far.took)
    })
}

/// User plus system time of this process, ended threads included, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold anything; the 14th and 15th field are meant.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS
}
