//! Fallback behind a firewall that takes option 30 away: the kernel's own nftables, at each stage.
//!
//! The rule applies to what the engine's namespace forwards. Skipped, with the reason, where `nft`
//! or the rule is missing (`anabranch doctor` reports it). The test's forwarder does the same in
//! `interop`.

use crate::connection::{Case, FALLBACKS, Role, count, transfer, world};
use crate::forwarder::Conditions;
use crate::interop::vanish_in_mid_stream;
use crate::world::{Family, World};
use std::process::Command;
use std::time::Duration;

const MIB: usize = 1 << 20;
const NEAR: Conditions = Conditions { delay: Duration::from_millis(2), drop_every: 0 };
const ROLES: [Role; 2] = [Role::Client, Role::Server];
/// Which segments lose the option, in the words of nft.
const SYN: &str = "tcp flags & (syn | ack) == syn";
const SYN_ACK: &str = "tcp flags & (syn | ack) == (syn | ack)";
const AFTER_SYN: &str = "tcp flags & syn == 0";

/// Removes the option from matching segments; `false`, after printing the reason, if it cannot.
fn strip(world: &World, matching: &str) -> bool {
    let rules = format!(
        "add table inet strip; \
         add chain inet strip way {{ type filter hook forward priority 0; }}; \
         add rule inet strip way {matching} reset tcp option mptcp"
    );
    let nft = || Command::new("nft").arg(&rules).output();
    let complaint = match world.engine.run(nft).expect("the namespace") {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    println!("skipped: nft: {}", complaint.lines().next().unwrap_or_default());
    false
}

#[test]
fn rule_that_takes_options_from_the_handshake_leaves_plain_tcp() {
    for role in ROLES {
        for matching in [SYN, SYN_ACK, AFTER_SYN] {
            let Some(world) = world(&[NEAR]) else { return };
            if !strip(&world, matching) {
                return;
            }
            let case = Case::new(role, Family::V4);
            transfer(&world, &Case { size: MIB, becomes_tcp: true, ..case }, |_| {});
            // A server that never saw the option does not know of a fallback.
            let unknown = role == Role::Client && matching == SYN;
            let fallbacks: u64 = FALLBACKS.iter().map(|name| count(&world, name)).sum();
            assert_eq!(fallbacks >= 1, !unknown, "{role:?} {matching}: {fallbacks}");
        }
    }
}

#[test]
fn rule_that_takes_options_away_in_mid_stream_leaves_plain_tcp() {
    for role in ROLES {
        vanish_in_mid_stream(role, |world| strip(world, AFTER_SYN));
    }
}
