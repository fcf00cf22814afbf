//! Kernel sockets as the peer: a server and a client of the plain file transfer.
//!
//! Over TCP or, with the same calls, over the kernel's MPTCP. To be called in a thread that is in
//! the namespace of the peer. Blocking, with time-outs.

use super::world::PATIENCE;
use sha2::{Digest, Sha256};
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use transport::Protocol;

/// A listening socket.
pub(crate) fn listen(protocol: Protocol, address: SocketAddr) -> io::Result<Socket> {
    let socket = socket(protocol, address)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(16)?;
    Ok(socket)
}

/// Answer one request with `content`, over one connection.
pub(crate) fn serve_once(listener: &Socket, content: &[u8]) -> io::Result<()> {
    let (socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let mut stream = TcpStream::from(socket);
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", content.len())?;
    stream.write_all(content)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    // Until the client has closed too.
    stream.read_to_end(&mut request).map(drop)
}

/// Get the content of a file from a server.
pub(crate) fn get(protocol: Protocol, server: SocketAddr, path: &str) -> io::Result<Vec<u8>> {
    let socket = socket(protocol, server)?;
    socket.connect_timeout(&server.into(), PATIENCE)?;
    let mut stream = TcpStream::from(socket);
    write!(stream, "GET /{path} HTTP/1.0\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.ok_or_else(|| io::Error::other("an answer without a head"))?;
    Ok(answer.split_off(end + 4))
}

pub(crate) fn socket(protocol: Protocol, address: SocketAddr) -> io::Result<Socket> {
    let protocol = match protocol {
        Protocol::Tcp => socket2::Protocol::TCP,
        // IPPROTO_MPTCP.
        Protocol::Mptcp => socket2::Protocol::from(262),
        // IPPROTO_SCTP.
        Protocol::Sctp | Protocol::CmtSctp => socket2::Protocol::from(132),
        Protocol::Udp => socket2::Protocol::UDP,
    };
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    // The machine's default may be another one, and the setting of a namespace may be refused.
    socket.set_tcp_congestion(b"cubic")?;
    Ok(socket)
}

/// `len` bytes without a pattern that a mistake could repeat.
pub(crate) fn content(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

/// In hexadecimal.
pub(crate) fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}
