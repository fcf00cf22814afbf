//! The kernel's MPTCP endpoints and limits, as `ip mptcp` shows them.

use crate::world::namespace_or_skip;
use linux::mptcp_pm::{KernelEndpoint, PathManager};
use linux::{Namespace, Subnet};
use std::process::Command;
use transport::path_manager::{Endpoint, EndpointFlags, Limits};

fn ip(namespace: &Namespace, words: &str) -> String {
    let output = namespace.run(|| Command::new("ip").args(words.split(' ')).output());
    let output = output.expect("the namespace").expect("ip(8)");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn endpoints_and_limits_are_what_ip_shows() {
    let Some(namespace) = namespace_or_skip() else { return };
    let subnets: [Subnet; 2] = ["10.9.0.1/24", "fd00:9::1/64"].map(|text| text.parse().unwrap());
    namespace.bring_up("lo", &subnets).expect("addresses");
    let flags = EndpointFlags { subflow: true, backup: true, ..EndpointFlags::default() };
    let endpoint = |ip, flags| Endpoint { ip, flags };
    let first = KernelEndpoint { endpoint: endpoint(subnets[0].address, flags), id: 7, device: 1 };
    let signal = EndpointFlags { signal: true, ..EndpointFlags::default() };
    let second =
        KernelEndpoint { endpoint: endpoint(subnets[1].address, signal), id: 0, device: 0 };
    let limits = Limits { subflows: 3, add_addr_accepted: 2 };
    let done = namespace.run(|| {
        let mut pm = PathManager::open().expect("netlink").expect("the kernel's MPTCP");
        pm.set_limits(limits).expect("limits");
        pm.add(&first).expect("an endpoint");
        pm.add(&second).expect("another");
        (pm.limits().expect("limits"), pm.endpoints().expect("endpoints"))
    });
    let (read, endpoints) = done.expect("the namespace");
    assert_eq!(read, limits);
    assert_eq!(endpoints[0], first);
    assert_eq!(endpoints[1].endpoint, second.endpoint);
    assert_eq!(ip(&namespace, "mptcp limits").trim(), "add_addr_accepted 2 subflows 3");
    let shown = ip(&namespace, "mptcp endpoint");
    assert!(shown.contains("10.9.0.1 id 7 subflow backup dev lo"), "{shown}");
    assert!(shown.contains("fd00:9::1 id"), "{shown}");
    let left = namespace.run(|| {
        let mut pm = PathManager::open().expect("netlink").expect("the kernel's MPTCP");
        pm.flush().expect("no endpoints");
        pm.endpoints().expect("endpoints")
    });
    assert_eq!(left.expect("the namespace"), []);
}
