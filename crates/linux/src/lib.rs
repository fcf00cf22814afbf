//! The engine in real time: TUN devices, UDP sockets, the monotonic clock, namespaces, file
//! transfer.
//!
//! A [`Live`] host drives one [`transport::Stack`] by its contract, as the simulator does, only
//! that packets come from TUN devices or UDP sockets and time from the machine: the code of the
//! engine is the same. Applications are [`traffic::Application`]s; [`serve`] and [`get`] are the
//! two of the `live` command. Reading command lines and printing is left to the command. Empty on
//! systems other than Linux.
//!
//! Everything made here (devices, namespaces) belongs to the process and is removed by the kernel
//! when the process ends, however it ends: nothing is made persistent, so nothing can be left.

#![cfg(target_os = "linux")]

mod ack_filter;
mod address;
mod clock;
mod device;
pub mod doctor;
mod driver;
pub mod emulator;
mod entropy;
mod error;
mod get;
mod host;
mod http;
mod interface;
mod ledger;
mod live;
mod monitor;
pub mod mptcp_pm;
mod namespace;
pub mod netlink;
mod notices;
mod offload;
pub mod path;
mod raw_netlink;
mod serve;
pub mod sock_diag;
mod sockets;
pub mod sut;
mod system;
mod tun_path;
mod udp_path;
pub mod user_namespace;

pub use address::{KernelAddress, Subnet};
pub use device::Tun;
pub use emulator::{Emulator, EmulatorConfig, RunQuality};
pub use error::LiveError;
pub use get::{Download, Progress, Received};
pub use live::{End, Endpoint, Live, LiveCounters, PathSwitch, Stopper, hold_signals};
pub use namespace::Namespace;
pub use netlink::{Link, Netlink, Route};
pub use path::{PathDevice, Paths, UdpAddress};
pub use serve::{FileServer, Served};
pub use udp_path::SCTP_UDP_PORT;
pub use wire::sctp::UdpPorts;
