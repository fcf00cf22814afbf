//! Whole runs of engine, links and applications in virtual time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accounts;
mod aggregate;
mod backup;
mod burst_table;
mod call;
mod capture;
mod cmt;
mod conversation;
mod determinism;
mod drepas;
mod failover;
mod flows;
mod guards;
mod hashes;
mod latency_bursts;
mod multipath;
mod pair;
mod path_lives;
mod robustness;
mod sctp;
mod sharing;
mod short_ways;
mod simultaneous;
mod stale_rtt;
mod udp;
mod vod;
mod web;
mod windows;
