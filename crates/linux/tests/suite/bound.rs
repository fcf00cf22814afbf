//! What the kernel has given to a subflow stays there, however slow that is: a path that joins
//! later gets nothing until the connection has room for more (`mptcp_subflow_get_send`,
//! `sk_stream_is_writeable`).
//!
//! The simulator's `linux` leaves a path out for this reason; see
//! `path_joined_with_a_small_window_waits_for_what_is_bound_to_another`.

use crate::forwarder::Conditions;
use crate::kernel;
use crate::world::{Family, PORT, World, wait_until};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce};
use socket2::Socket;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;
use transport::Protocol;

/// Bytes that a socket may hold, which the kernel doubles; the window is no limit.
const BUFFER: usize = 1 << 20;
const CONTENT: usize = 6 << 20;

fn with_buffers(socket: Socket) -> Socket {
    setsockopt(&socket, SndBufForce, &BUFFER).expect("a privileged socket");
    setsockopt(&socket, RcvBufForce, &(8 * BUFFER)).expect("a privileged socket");
    socket
}

#[test]
fn kernel_gives_a_path_nothing_while_all_data_are_bound_to_another() {
    let delay = Duration::from_millis(5);
    let conditions = Conditions { delay, ..Conditions::default() };
    let Some(world) = World::with_kernel(&[conditions; 2]) else { return };
    if !world.has_mptcp() {
        return;
    }
    let rates = ["rate 2mbit burst 10kb limit 100kb", "rate 20mbit burst 10kb limit 100kb"];
    if !(0..2).all(|number| world.limit_rate(number, rates[number])) {
        println!("skipped: the kernel has no tbf");
        return;
    }
    world.ip_mptcp("limits set subflows 2 add_addr_accepted 0");
    world.ip_mptcp_near("limits set subflows 2 add_addr_accepted 2");
    let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), PORT);
    let listener = world.peer.run(|| kernel::listen(Protocol::Mptcp, any).map(with_buffers));
    let listener = listener.expect("the namespace").expect("a listener");
    let server = world.peer_server(Family::V4, 0);
    let connect = || {
        let socket = with_buffers(kernel::socket(Protocol::Mptcp, server)?);
        socket.connect(&server.into())?;
        TcpStream::from(socket).write_all(&kernel::content(CONTENT))
    };
    thread::scope(|scope| {
        scope.spawn(|| world.engine.run(connect).expect("the namespace").expect("a connection"));
        scope.spawn(|| {
            let (socket, _) = listener.accept().expect("a connection");
            let mut content = Vec::new();
            TcpStream::from(socket).read_to_end(&mut content).expect("the end");
            assert!(content == kernel::content(CONTENT), "contents differ");
        });
        // The connection holds as much as it takes.
        wait_until(|| world.carried(0) > 200_000);
        world.ip_mptcp("endpoint add 10.2.1.2 dev wire1 signal");
        wait_until(|| world.carried(1) > 0);
        thread::sleep(Duration::from_millis(200));
        let before = [world.carried(0), world.carried(1)];
        thread::sleep(Duration::from_secs(1));
        let after = [world.carried(0), world.carried(1)];
        let carried = [after[0] - before[0], after[1] - before[1]];
        println!("in a second after the join: {carried:?} bytes");
        assert!(carried[0] > 150_000, "{carried:?}: the first path works");
        assert!(carried[1] < 20_000, "{carried:?}: the second one has nothing to send");
        // A third of the memory is free at last.
        wait_until(|| world.carried(1) > 1_000_000);
    });
}
