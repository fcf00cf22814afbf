//! Reinjection: what schedulers share when data of one path go out on another (schedulers spec
//! s11). Copies after a time-out are the connection's, through its reinject queue.

mod opportunistic;

pub use opportunistic::{Opportunistic, OpportunisticRetransmission};
