//! What is transferred, and what is printed of it.

use crate::support::connection::{Case, Role, check_multipath, connect, world};
use crate::support::exchange::{self, Close, Manner, cpu_seconds};
use crate::support::forwarder::Conditions;
use crate::support::kernel;
use crate::support::world::{Family, World};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use transport::Protocol;

/// Bytes of a transfer one way; the other way there is one byte.
const SIZE: usize = 64 << 20;

/// The way that most bytes go, as the engine sees it.
#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

impl Direction {
    const fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// Turns of each, engine and kernel in alternation.
const TURNS: usize = 5;

/// Goodput in Mbit/s and CPU seconds per 10^9 bytes.
pub(crate) type Figure = (f64, f64);

/// Print all figures whose names contain `wanted`.
pub(crate) fn print(wanted: &str) {
    for (paths, direction) in
        [(1, Direction::Up), (1, Direction::Down), (2, Direction::Up), (2, Direction::Down)]
    {
        let name = format!("mptcp-tun-{paths}-{}", direction.name());
        if name.contains(wanted) && figures(&name, paths, direction).is_none() {
            println!("live/{name} is left out: see the line above");
            return;
        }
    }
}

/// Measures engine and kernel in turn and prints the medians; `None` if they are not available
/// here, which was printed.
fn figures(name: &str, paths: usize, direction: Direction) -> Option<()> {
    let (mut engine, mut kernel) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        engine.push(figure(paths, direction, with_engine)?);
        kernel.push(figure(paths, direction, between_kernels)?);
    }
    print_figure(name, &engine);
    print_figure(&name.replace("mptcp", "kernel"), &kernel);
    let turns = || engine.iter().zip(&kernel);
    let goodput = median(turns().map(|(ours, theirs)| ours.0 / theirs.0));
    let cpu = median(turns().map(|(ours, theirs)| ours.1 / theirs.1));
    println!("live/{name}-to-kernel {goodput:.2} ratio");
    println!("live/{name}-to-kernel-cpu {cpu:.2} ratio");
    Some(())
}

/// One transfer; `None` if it is not available here, which was printed.
fn figure(
    paths: usize,
    direction: Direction,
    take: fn(&World, usize, Direction) -> Used,
) -> Option<Figure> {
    let world = world(&vec![Conditions::default(); paths])?;
    let Used { took, cpu } = take(&world, paths, direction);
    let megabits = 8.0 * SIZE as f64 / took.as_secs_f64() / 1e6;
    Some((megabits, cpu / (SIZE as f64 / 1e9)))
}

/// Prints the medians of a figure's turns.
pub(crate) fn print_figure(name: &str, figures: &[Figure]) {
    let goodput = median(figures.iter().map(|figure| figure.0));
    let cpu = median(figures.iter().map(|figure| figure.1));
    println!("live/{name} {goodput:.0} Mbit/s");
    println!("live/{name}-cpu {cpu:.1} s/GB");
}

/// The median; of an even number of values the upper one.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Bytes that this side and the peer send.
const fn sizes(direction: Direction) -> (usize, usize) {
    match direction {
        Direction::Up => (SIZE, 1),
        Direction::Down => (1, SIZE),
    }
}

/// Time from connecting to the end and CPU seconds of the process meanwhile.
struct Used {
    took: Duration,
    cpu: f64,
}

fn with_engine(world: &World, _: usize, direction: Direction) -> Used {
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
    let ends = connect(world, &case, |_| {});
    check_multipath(world, &case, &ends);
    Used { took: ends.took, cpu: ends.cpu }
}

/// Between the kernels at both ends of the wires.
fn between_kernels(world: &World, paths: usize, direction: Direction) -> Used {
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
    let before = cpu_seconds();
    let took = thread::scope(|scope| {
        let answer = &answer;
        let accept = || exchange::accept(&listener, answer, manner(Close::Second), free());
        let peer = scope.spawn(move || world.peer.run(accept));
        let connect = || exchange::connect(address, &content, manner(Close::AtOnce), free());
        let near = world.engine.run(connect).expect("the namespace").expect("a transfer");
        let far = peer.join().expect("no panic").expect("the namespace").expect("a transfer");
        near.took.max(far.took)
    });
    Used { took, cpu: cpu_seconds() - before }
}
