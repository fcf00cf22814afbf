//! The live world's benchmark, one line a figure, `name value unit`: goodput over TUN devices to
//! a kernel peer, one and two paths, either direction, and the CPU time of the whole process
//! (engine, wires and what the kernel does for it) per 10^9 bytes; for comparison two kernels over
//! the same wires. And an association of SCTP in UDP on loopback, beside usrsctp.
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
        sctp::print();
        figures::print();
    }
    #[cfg(not(target_os = "linux"))]
    println!("skipped: live/mptcp-tun needs Linux");
}
