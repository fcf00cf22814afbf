//! Streams of an association: messages to fragments and back (RFC 9260 s6.5, s6.6, s6.9).
//!
//! `OutboundStreams` has the messages that are not yet sent and gives their fragments in the order
//! of a stream scheduler. `InboundStreams` puts received fragments together and delivers messages,
//! ordered ones by their number in the stream. Both work with DATA and with I-DATA (RFC 8260).
//! TSNs, windows and retransmissions are left to the association.

mod inbound;
mod joined;
mod keyed;
mod message;
mod outbound;
mod partial;
mod scheduler;
mod table;

pub use inbound::{InboundStreams, Violation};
pub use message::{Framing, Message, MessageKey, Received, Reliability};
pub use outbound::{Dropped, Fragment, InvalidStream, OutboundStreams, Sequence};
pub use scheduler::StreamOrder;
