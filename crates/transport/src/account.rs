//! What a connection tells a recorder of accounts: why its sender stands still, and what waits at
//! its receiver for bytes before it (habit 12: "why not?" is a value).
//!
//! Only changes are told, and only if somebody keeps accounts; sums are the recorder's.

use base::{Blocked, Context, Event, EventMask, SocketId};

/// What was told last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    why: Option<Blocked>,
    held: u64,
    blocks_reader: bool,
}

impl Account {
    /// The sender stops here because of `why`; of what was written up to `written_to`, so many
    /// bytes were never sent.
    pub fn stops(
        &mut self,
        cx: &mut Context<'_>,
        socket: SocketId,
        why: Blocked,
        written_to: u64,
        unsent: u64,
    ) {
        if self.why.replace(why) == Some(why) {
            return;
        }
        let sent_to = written_to.saturating_sub(unsent);
        cx.record(EventMask::ACCOUNT, || Event::Stops { socket, why, sent_to, written_to });
    }

    /// The receiver holds so many bytes that wait for others; whether a reader has to wait.
    pub fn holds(
        &mut self,
        cx: &mut Context<'_>,
        socket: SocketId,
        bytes: u64,
        blocks_reader: bool,
    ) {
        if (self.held, self.blocks_reader) == (bytes, blocks_reader) {
            return;
        }
        (self.held, self.blocks_reader) = (bytes, blocks_reader);
        cx.record(EventMask::ACCOUNT, || Event::Holds { socket, bytes, blocks_reader });
    }
}
