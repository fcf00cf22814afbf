//! What every floor of the house speaks: time, rates, identifiers, keyed chance and the recorder.
//!
//! Nothing here knows a packet format, a protocol or a file. Time and chance are values that a
//! caller passes in (rules 1 and 11 of the house); the recorder is where measurement hangs off
//! (rule 8).

mod prefetch;

pub mod chance;
pub mod decision;
pub mod id;
pub mod rate;
pub mod record;
pub mod ring;
pub mod time;

pub use chance::{Chance, Purpose};
pub use id::{HostId, InterfaceId, LinkId, PathId, SocketId};
pub use prefetch::prefetch;
pub use rate::Rate;
pub use record::{Blocked, CaState, Context, DropReason, Event, EventMask, LossReason, Recorder};
pub use time::{Duration, Instant};
