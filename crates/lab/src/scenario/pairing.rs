//! Whether CMT-SCTP has several paths where paths share ends: its pair rule may leave one.

use super::primary::Primary;
use super::variants::{Carrier, Variant};
use super::{Key, Options, Scenario};
use crate::error::InputError;
use std::collections::BTreeSet;
use transport::sctp::cmt::{CmtConfig, PathMode};

/// Refuses variants of CMT-SCTP that have one path at both hosts.
pub(super) fn check(
    options: &Options,
    scenario: &Scenario,
    variants: &[Variant],
) -> Result<(), InputError> {
    let lonely = variants.iter().find_map(|variant| {
        let Carrier::Multihomed { cmt: Some(cmt), .. } = &variant.carrier else { return None };
        let many = scenario.paths.len();
        let mut starts = match variant.primary {
            Primary::Random => 0..many,
            other => {
                let first = other.place(scenario.ends.first, many, (0, 0));
                first..first + 1
            }
        };
        starts.all(|first| paths(scenario, cmt, first) <= 1).then_some(cmt)
    });
    let rule = options.text(Key::PairRule).or_else(|| options.text(Key::Protocols));
    let (Some(cmt), Some(given)) = (lonely, rule) else { return Ok(()) };
    let problem = format!(
        "`cmt-sctp` uses several paths at once, and the pair rule `{}` leaves one between these \
         ends",
        cmt.pair_rule.name()
    );
    let help = "write `--path-mode mesh`, which uses all of them, or another pair rule or primary";
    Err(given.refuse_whole(problem, help))
}

/// Paths of an association that begins with `first`, at the host that has more.
fn paths(scenario: &Scenario, cmt: &CmtConfig, first: usize) -> usize {
    if cmt.path_mode == PathMode::Mesh {
        return scenario.paths.len();
    }
    // An end is the first path that names it; one without a name has a path for itself.
    let end = |path: usize, side: usize| match &scenario.paths[path].ends[side] {
        None => path,
        named => scenario.paths.iter().position(|other| other.ends[side] == *named).unwrap_or(path),
    };
    let connected: BTreeSet<[usize; 2]> =
        (0..scenario.paths.len()).map(|path| [end(path, 0), end(path, 1)]).collect();
    let [clients, servers] = [0, 1].map(|side| {
        let mut listed = vec![end(first, side)];
        let all: BTreeSet<usize> = connected.iter().map(|pair| pair[side]).collect();
        listed.extend(all.into_iter().filter(|other| *other != end(first, side)));
        listed
    });
    let of_client = cmt.pair_rule.places(clients.len(), servers.len());
    let of_server = cmt.pair_rule.places(servers.len(), clients.len());
    let count = |pairs: BTreeSet<[usize; 2]>| pairs.intersection(&connected).count();
    let at_client = count(of_client.map(|(own, peer)| [clients[own], servers[peer]]).collect());
    let at_server = count(of_server.map(|(own, peer)| [clients[peer], servers[own]]).collect());
    at_client.max(at_server)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(ends: &[&str], more: &[(Key, &str)]) -> Result<Scenario, String> {
        let options = Options::default().with(Key::Traffic, "bulk:1MiB");
        let options = more.iter().fold(options, |options, (key, text)| options.with(*key, text));
        let paths = ["a", "b", "c"].into_iter().zip(ends);
        let options = paths.fold(options.with(Key::Protocols, "cmt-sctp"), |all, (name, ends)| {
            all.with(Key::Path, &format!("{name}=rate 10mbit {ends}"))
        });
        options.resolve().map_err(|error| error.to_string())
    }

    #[test]
    fn cmt_with_one_path_is_refused() {
        let fork = ["client s1 server r1", "client s1 server r2"];
        let corner = [fork[0], fork[1], "client s2 server r1"];
        let apart = ["", "", ""];
        let refused = |ends: &[&str], more: &[(Key, &str)], says: &str| {
            let message = resolved(ends, more).expect_err("one path");
            let expected = format!("the pair rule `{says}` leaves one between these ends");
            assert!(message.contains(&expected) && message.contains("mesh"), "{message}");
        };
        refused(&fork, &[(Key::PairRule, "zip")], "zip");
        refused(&corner, &[], "auto");
        refused(&corner, &[(Key::Primary, "first,b")], "auto");
        let taken = |ends: &[&str], more: &[(Key, &str)]| {
            assert!(resolved(ends, more).is_ok(), "{ends:?} {more:?}");
        };
        taken(&apart, &[]);
        taken(&apart, &[(Key::PairRule, "zip")]);
        taken(&fork, &[]);
        taken(&fork, &[(Key::PairRule, "dest")]);
        taken(&corner, &[(Key::PathMode, "mesh")]);
        taken(&corner, &[(Key::Primary, "b")]);
        taken(&corner, &[(Key::Primary, "random")]);
    }
}
