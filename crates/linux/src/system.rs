//! The three system interfaces without a safe form in any library used here: a socket option as
//! bytes, the unspecified address family, and a thread's real-time priority.
//!
//! Everything else of the crate is free of `unsafe`. What the bytes mean is left to the callers.

use nix::libc;
use socket2::{SockAddr, SockAddrStorage};
use std::io;
use std::os::fd::AsRawFd;

/// Read an option of a socket into `value`; the length of what the kernel wrote.
///
/// Some options (MPTCP_TCPINFO) read the front of `value` too, as it was.
pub(crate) fn socket_option(
    socket: &impl AsRawFd,
    level: i32,
    name: i32,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut len = libc::socklen_t::try_from(value.len()).unwrap_or(libc::socklen_t::MAX);
    let data = value.as_mut_ptr().cast();
    #[allow(unsafe_code, reason = "`data` is valid for `len` bytes, and any bytes are valid there")]
    let result = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, data, &raw mut len) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((len as usize).min(value.len()))
}

/// The address of the family AF_UNSPEC: connecting to it dissolves a connection.
pub(crate) fn nowhere() -> SockAddr {
    let len = size_of::<libc::sockaddr>() as libc::socklen_t;
    #[allow(unsafe_code, reason = "zeros are an address of the family AF_UNSPEC")]
    unsafe {
        SockAddr::new(SockAddrStorage::zeroed(), len)
    }
}

/// From now on the calling thread runs before everything of a lower priority (1 to 99) and before
/// all usual threads. Threads that it starts are usual ones again. Refused without the right to.
pub(crate) fn run_in_real_time(priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    #[allow(unsafe_code, reason = "`parameter` lives during the call; thread 0 is the caller")]
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_of_a_socket_is_read_and_a_bad_one_is_an_error() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut value = [0; 8];
        let kind = socket_option(&socket, libc::SOL_SOCKET, libc::SO_TYPE, &mut value);
        assert_eq!(kind.expect("an option"), 4);
        assert_eq!(value[..4], libc::SOCK_DGRAM.to_ne_bytes());
        assert!(socket_option(&socket, libc::SOL_SOCKET, 9999, &mut value).is_err());
    }

    #[test]
    fn priority_out_of_range_is_refused() {
        assert!(std::thread::spawn(|| run_in_real_time(1000)).join().expect("no panic").is_err());
    }
}
