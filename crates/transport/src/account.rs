//! What a connection reports to a recorder of accounts: why its sender is blocked, and how many
//! bytes wait at its receiver for earlier ones.
//!
//! Only changes are reported, and only if a recorder asks for them; sums are the recorder's.

use base::{Blocked, Context, Event, EventMask, SocketId};

/// What was reported last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    why: Option<Blocked>,
    held: u64,
    blocks_reader: bool,
}

impl Account {
    /// The sender is blocked for the reason `why`. `unsent` of the bytes written up to `written_to`
    /// wait to be sent; copies that wait on several paths are counted on each, so `unsent` may be
    /// more than was written.
    pub(crate) fn stops(
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

    /// Whether that reason was reported last.
    #[inline]
    pub(crate) fn says(&self, why: Blocked) -> bool {
        self.why == Some(why)
    }

    /// Whether that number of bytes was reported last to wait at the receiver.
    #[inline]
    pub(crate) const fn says_held(&self, bytes: u64) -> bool {
        self.held == bytes
    }

    /// `bytes` wait at the receiver for earlier ones; `blocks_reader`: the reader has to wait, too.
    pub(crate) fn holds(
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
