//! The control of the aggregate rule: the same transfer between two kernels.

use crate::support::connection::Role;
use crate::support::exchange::{self, Close, Manner};
use crate::support::kernel;
use crate::support::world::{PORT, World};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use transport::Protocol;

/// Time of a transfer between the kernel in the namespace of the engine, with the role of the
/// engine, and the kernel of its peer; `sizes` are bytes that each sends.
pub(crate) fn transfer(world: &World, role: Role, sizes: [usize; 2], pause: Duration) -> Duration {
    let server_is_near = role == Role::Server;
    // The server announces its second address, and the client joins it.
    let accepts = |is_server: bool| {
        format!("limits set subflows 8 add_addr_accepted {}", if is_server { 0 } else { 8 })
    };
    world.ip_mptcp_near(&accepts(server_is_near));
    world.ip_mptcp(&accepts(!server_is_near));
    let [near, far] = sizes.map(kernel::content);
    let manner = Manner { close: Close::AtOnce, pause };
    let (server, client) =
        if server_is_near { (&world.engine, &world.peer) } else { (&world.peer, &world.engine) };
    let (answer, request) = if server_is_near { (&near, &far) } else { (&far, &near) };
    if server_is_near {
        world.ip_mptcp_near("endpoint add 10.2.1.1 dev wire1 signal");
    } else {
        world.ip_mptcp("endpoint add 10.2.1.2 dev wire1 signal");
    }
    let first = Ipv4Addr::new(10, 2, 0, if server_is_near { 1 } else { 2 });
    // A join is accepted by a listener at the address that it goes to.
    let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), PORT);
    let listener = server.run(|| kernel::listen(Protocol::Mptcp, any));
    let listener = listener.expect("the namespace").expect("a listener");
    thread::scope(|scope| {
        let connecting = scope.spawn(|| {
            let over = channel().1;
            let connect =
                || exchange::connect(SocketAddr::new(first.into(), PORT), request, manner, over);
            client.run(connect).expect("the namespace").expect("a transfer")
        });
        let over = channel().1;
        let accepted = server.run(|| exchange::accept(&listener, answer, manner, over));
        let accepted = accepted.expect("the namespace").expect("a transfer");
        let connected = connecting.join().expect("no panic");
        assert!(accepted.content == *request && connected.content == *answer, "contents differ");
        assert!(world.carried(1) > 0, "both paths carry something");
        accepted.took.max(connected.took)
    })
}
