//! Whole runs through middleboxes: what plain TCP and MPTCP make of them (RFC 8684 s3.7, s6).
//!
//! Every run checks every byte that the application reads, pushes every packet through bytes and
//! back, and has a limit of virtual time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod drops;
mod options;
mod payload;
mod proxy;
mod transparent;
mod world;
