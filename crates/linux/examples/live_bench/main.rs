//! The live world's benchmark, one line a figure, `name value unit`: goodput over TUN devices to
//! a kernel peer, one and two paths, either direction, and the CPU time of the whole process
//! (engine, wires and what the kernel does for it) during the transfer per 10^9 bytes; in turn with
//! it two kernels over the same wires. And an association of SCTP in UDP on loopback, beside
//! usrsctp. All are medians.
//!
//! TUN devices need root; without them a line gives the reason why there is no figure. SCTP in UDP
//! needs neither.

#[cfg(target_os = "linux")]
#[path = "../../tests/support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
mod figures;
#[cfg(target_os = "linux")]
mod sctp;

fn main() {
    #[cfg(target_os = "linux")]
    {
        // Part of a figure's name, to measure only that.
        let wanted = std::env::args().nth(1).unwrap_or_default();
        if "sctp-udp".contains(&wanted) {
            sctp::print();
        }
        figures::print(&wanted);
    }
    #[cfg(not(target_os = "linux"))]
    println!("skipped: live/mptcp-tun needs Linux");
}
