//! Types that every crate uses: time, rates, identifiers, keyed random draws and the recorder.
//!
//! Independent of packet formats, protocols and files. Time and random draws are values that the
//! caller passes in; all measurement is done by recorders.

mod prefetch;

pub mod chance;
mod chunk_queue;
pub mod decision;
mod id;
mod rate;
mod record;
pub mod ring;
mod short_queue;
mod time;

pub use chance::{Chance, Purpose};
pub use chunk_queue::{ChunkQueue, Chunked, Spares};
pub use id::{HostId, InterfaceId, LinkId, PathId, SocketId};
pub use prefetch::prefetch;
pub use rate::{Rate, Serialiser};
pub use record::{
    Blocked, CaState, Context, DropReason, Event, EventMask, LossReason, Recorder, Ways,
};
pub use short_queue::ShortQueue;
pub use time::{Duration, Instant};
