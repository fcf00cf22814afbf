//! The four-way handshake of an association (RFC 9260 s5), as values and pure functions.
//!
//! `Initiator` is the side that sends INIT: a state machine whose inputs are packets and its
//! deadline. The other side keeps no state until a cookie returns: `answer_init` makes the INIT
//! ACK, `accept_cookie` what is agreed, and `compare` says what a cookie means to an existing
//! association. Random numbers and the time are arguments. Data are left to the association.

mod agreement;
mod initiator;
mod responder;
mod secrets;

pub use agreement::{Agreement, Offer};
pub use initiator::{Failure, Initiator, Opening, Step};
pub use responder::{
    Answer, Arrived, CookieAction, InitAckSource, Tags, accept_cookie, answer_init, compare,
};
pub use secrets::CookieSecrets;

#[cfg(test)]
mod tests;
