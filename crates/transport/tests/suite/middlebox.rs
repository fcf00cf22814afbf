//! Middleboxes that change handshakes, so that whole stacks have peers with fewer options.

use crate::pair::Mangler;
use wire::{Body, Flags, TcpOptions};

/// Applies `change` to the options of every SYN and SYN/ACK.
pub(crate) fn strip(change: fn(TcpOptions) -> TcpOptions) -> Mangler {
    Box::new(move |_, packet| {
        if let Body::Tcp(segment) = &mut packet.body
            && segment.flags.contains(Flags::SYN)
        {
            segment.options = change(std::mem::take(&mut segment.options));
        }
    })
}
