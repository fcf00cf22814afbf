//! What the engine's connections sent, kept beyond their end: for measurement.
//!
//! A stack forgets a connection when it is closed and released, but the figures of a run are read
//! then.

use base::{InterfaceId, SocketId};
use harness::SentRecord;
use std::collections::BTreeMap;
use transport::Stack;

/// What every connection of a host sent, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    connections: BTreeMap<SocketId, Sent>,
}

/// What a connection sent and received.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// The interface of each of its paths, by number.
    pub subflows: Vec<usize>,
    /// What it sent, with interfaces for paths.
    pub by_interface: SentRecord,
    /// Bytes that arrived more than once.
    pub duplicate_bytes: u64,
    /// SACKs that it sent; `None` if it is no association of SCTP.
    pub sacks: Option<u64>,
    /// It became plain TCP.
    pub fallback: bool,
}

impl Ledger {
    /// The connections in the order they came to be.
    pub fn connections(&self) -> impl Iterator<Item = (SocketId, &Sent)> {
        self.connections.iter().map(|(socket, sent)| (*socket, sent))
    }

    /// There is a connection.
    pub(crate) fn open(&mut self, socket: SocketId) {
        self.connections.entry(socket).or_default();
    }

    /// Note what a connection has done so far.
    pub(crate) fn note(&mut self, stack: &Stack, socket: SocketId) {
        if let Some(known) = self.connections.get_mut(&socket)
            && let Some(sent) = sent(stack, socket)
        {
            *known = sent;
        }
    }

    /// The same of all there still are.
    pub(crate) fn note_all(&mut self, stack: &Stack) {
        for (socket, known) in &mut self.connections {
            if let Some(sent) = sent(stack, *socket) {
                *known = sent;
            }
        }
    }
}

fn sent(stack: &Stack, socket: SocketId) -> Option<Sent> {
    let info = stack.info(socket)?;
    let mut by_interface = SentRecord::default();
    by_interface.add(&info, InterfaceId::index);
    Some(Sent {
        subflows: info.paths.iter().map(|path| path.interface.index()).collect(),
        by_interface,
        duplicate_bytes: info.duplicate_bytes,
        sacks: info.protocol.is_sctp().then_some(info.sacks),
        fallback: info.fallback,
    })
}
