//! Endpoints and limits of the path manager `kernel`, in `ip mptcp` syntax, with path names instead
//! of addresses: `client lte subflow backup`, `server lte signal`, `subflows 2 add_addr_accepted
//! 1`.

use super::Options;
use super::table::Key;
use crate::error::{Given, InputError, Refusal};
use crate::path_spec::PathSpec;
use crate::words::nearest_help;
use simulator::{KernelSetup, PathEndpoint};
use std::ops::Range;
use transport::path_manager::{EndpointFlags, LIMIT, Limits, PathManagerKind};

/// Flags of an endpoint.
const FLAGS: [&str; 4] = ["signal", "subflow", "backup", "fullmesh"];
/// Sides of an endpoint.
const SIDES: [&str; 2] = ["client", "server"];
/// Names of limits.
const LIMITS: [&str; 2] = ["subflows", "add_addr_accepted"];
const ENDPOINT_EXAMPLE: &str = "write side, path and flags, `client lte subflow backup`";
const LIMIT_EXAMPLE: &str =
    "write `subflows 2 add_addr_accepted 1`, with `client` or `server` before it for one side";

/// Settings of the manager `kernel`; `None` without any.
pub(super) fn resolve(
    options: &Options,
    managers: &[PathManagerKind],
    paths: &[PathSpec],
    first: usize,
) -> Result<Option<KernelSetup>, InputError> {
    let Some(given) = options.text(Key::Endpoints).or_else(|| options.text(Key::Limits)) else {
        return Ok(None);
    };
    if !managers.contains(&PathManagerKind::Kernel) {
        return Err(given.refuse_whole(
            "this option needs the path manager `kernel`, which is not compared",
            "add it: `--path-managers fullmesh,kernel`",
        ));
    }
    let mut setup = match options.texts(Key::Endpoints).is_empty() {
        true => KernelSetup::every_path(paths.len()),
        false => KernelSetup::default(),
    };
    for (key, example) in [(Key::Endpoints, ENDPOINT_EXAMPLE), (Key::Limits, LIMIT_EXAMPLE)] {
        if let Some(given) = options.texts(key).iter().find(|given| items(given).next().is_none()) {
            return Err(given.refuse_whole("the value is empty", example));
        }
    }
    for given in options.texts(Key::Endpoints) {
        for (span, words) in items(given) {
            let refuse = |problem: String, help: String| {
                given.refuse(Refusal { span: span.clone(), problem, help })
            };
            let endpoint = endpoint(words, paths).map_err(|(p, h)| refuse(p, h))?;
            check_endpoint(&setup, &endpoint, words).map_err(|(p, h)| refuse(p, h))?;
            setup.endpoints.push(endpoint);
        }
    }
    for given in options.texts(Key::Limits) {
        for (span, words) in items(given) {
            limits(&mut setup, words)
                .map_err(|(problem, help)| given.refuse(Refusal { span, problem, help }))?;
        }
    }
    check_room(&setup, options, first)?;
    Ok(Some(setup))
}

/// Problem and remedy.
type Complaint = (String, String);

/// The parts between commas that are not empty.
fn items(given: &Given) -> impl Iterator<Item = (Range<usize>, &str)> {
    given.split_at_commas().into_iter().filter(|(_, words)| !words.is_empty())
}

fn endpoint(text: &str, paths: &[PathSpec]) -> Result<PathEndpoint, Complaint> {
    let mut words = text.split_whitespace();
    let side = words.next().unwrap_or_default();
    if !SIDES.contains(&side) {
        let problem = format!("`{text}` does not begin with `client` or `server`");
        return Err((problem, ENDPOINT_EXAMPLE.to_owned()));
    }
    let Some(name) = words.next() else {
        return Err((format!("`{text}` names no path"), ENDPOINT_EXAMPLE.to_owned()));
    };
    let Some(path) = paths.iter().position(|path| path.name == name) else {
        let names: Vec<&str> = paths.iter().map(|path| path.name.as_str()).collect();
        let problem = format!("unknown path `{name}`");
        return Err((problem, nearest_help(name, &names)));
    };
    let mut flags = EndpointFlags::default();
    for word in words {
        let flag = match word {
            "signal" => &mut flags.signal,
            "subflow" => &mut flags.subflow,
            "backup" => &mut flags.backup,
            "fullmesh" => &mut flags.fullmesh,
            _ => {
                let problem = format!("unknown endpoint flag `{word}`");
                return Err((problem, nearest_help(word, &FLAGS)));
            }
        };
        if std::mem::replace(flag, true) {
            return Err((format!("`{word}` is given twice"), "keep one".to_owned()));
        }
    }
    if flags.signal && flags.fullmesh {
        let problem = "`signal` and `fullmesh` exclude each other, as in Linux".to_owned();
        return Err((problem, "keep one of them".to_owned()));
    }
    if !flags.signal && !flags.subflow && !flags.fullmesh {
        let problem = format!("the endpoint `{text}` has no purpose");
        return Err((problem, "add `subflow`, `signal` or `fullmesh`".to_owned()));
    }
    Ok(PathEndpoint { client: side == "client", path, flags })
}

/// Refuses two endpoints for one address. The limit of endpoints in Linux cannot be exceeded,
/// because there are no more paths than that.
fn check_endpoint(setup: &KernelSetup, new: &PathEndpoint, text: &str) -> Result<(), Complaint> {
    let mut own = setup.endpoints.iter().filter(|known| known.client == new.client);
    if own.any(|known| known.path == new.path) {
        let problem = format!("`{text}` is a second endpoint for the same address");
        return Err((problem, "combine the flags: `client lte subflow signal`".to_owned()));
    }
    Ok(())
}

fn limits(setup: &mut KernelSetup, text: &str) -> Result<(), Complaint> {
    let mut words = text.split_whitespace().peekable();
    let side = words.next_if(|word| SIDES.contains(word));
    if words.peek().is_none() {
        return Err((format!("`{text}` has no limit"), LIMIT_EXAMPLE.to_owned()));
    }
    let mut seen = Vec::new();
    while let Some(word) = words.next() {
        if !LIMITS.contains(&word) {
            let problem = format!("unknown limit `{word}`");
            return Err((problem, nearest_help(word, &LIMITS)));
        }
        if seen.contains(&word) {
            return Err((format!("`{word}` is given twice"), "keep one".to_owned()));
        }
        seen.push(word);
        let number = words.next().unwrap_or_default();
        let Some(value) = number.parse::<u8>().ok().filter(|value| *value <= LIMIT) else {
            let problem = format!("`{number}` is not a value of `{word}`");
            return Err((problem, format!("write a whole number from 0 to {LIMIT}, as in Linux")));
        };
        let all = [("client", &mut setup.client_limits), ("server", &mut setup.server_limits)];
        for (name, limits) in all {
            if side.is_none_or(|side| side == name) {
                match word {
                    "subflows" => limits.subflows = value,
                    _ => limits.add_addr_accepted = value,
                }
            }
        }
    }
    Ok(())
}

/// Refuses endpoints that could never be used because of a limit.
fn check_room(setup: &KernelSetup, options: &Options, first: usize) -> Result<(), InputError> {
    for (client, side) in [(true, "client"), (false, "server")] {
        let opens = |at: &&PathEndpoint| at.client == client && at.path != first;
        let opening = setup.endpoints.iter().filter(opens);
        let wanted = opening.filter(|at| at.flags.subflow || at.flags.fullmesh).count();
        for (limits, whose) in [(setup.client_limits, "client"), (setup.server_limits, "server")] {
            let room = usize::from(limits.subflows);
            let given = options.text(Key::Endpoints).or_else(|| options.text(Key::Limits));
            if let Some(given) = given.filter(|_| wanted > room) {
                let problem = format!(
                    "the endpoints of the {side} need additional subflows: {wanted}, but the limit \
                     of the {whose} is {room}"
                );
                let help = format!(
                    "raise it, `--limits 'subflows {}'` (default of Linux: 2), or remove endpoints",
                    wanted.min(usize::from(LIMIT))
                );
                return Err(given.refuse_whole(problem, help));
            }
        }
    }
    Ok(())
}

/// Notes on announced addresses that the other side's limit leaves unused.
pub(super) fn unused_announcements(
    setup: &KernelSetup,
    paths: &[PathSpec],
    first: usize,
) -> Vec<String> {
    let sides = [("client", true, setup.server_limits), ("server", false, setup.client_limits)];
    let note = |(side, client, limits): (&str, bool, Limits)| {
        let told = |at: &&PathEndpoint| at.client == client && at.path != first && at.flags.signal;
        let names = setup.endpoints.iter().filter(told).filter_map(|at| paths.get(at.path));
        let told: Vec<&str> = names.map(|path| path.name.as_str()).collect();
        let accepted = limits.add_addr_accepted;
        (told.len() > usize::from(accepted)).then(|| {
            let other = if client { "server" } else { "client" };
            format!(
                "the {side} announces {}, of which the {other} uses {accepted}: its limit \
                 `add_addr_accepted` (default of Linux: 0)",
                told.join(", ")
            )
        })
    };
    sides.into_iter().filter_map(note).collect()
}

/// The endpoints in the syntax of the option.
pub(super) fn show_endpoints(setup: &KernelSetup, paths: &[PathSpec]) -> String {
    let show = |at: &PathEndpoint| {
        let PathEndpoint { client, path, flags } = *at;
        let EndpointFlags { signal, subflow, backup, fullmesh } = flags;
        let on = [signal, subflow, backup, fullmesh].into_iter().zip(FLAGS);
        let flags: Vec<&str> = on.filter(|(on, _)| *on).map(|(_, name)| name).collect();
        let name = paths.get(path).map_or("", |path| &path.name);
        format!("{} {name} {}", if client { "client" } else { "server" }, flags.join(" "))
    };
    setup.endpoints.iter().map(show).collect::<Vec<_>>().join(", ")
}

/// The limits in the syntax of the option.
pub(super) fn show_limits(setup: &KernelSetup) -> String {
    let all = [("client", setup.client_limits), ("server", setup.server_limits)];
    let show = |(side, limits): (&str, transport::path_manager::Limits)| {
        let (subflows, accepted) = (limits.subflows, limits.add_addr_accepted);
        format!("{side} subflows {subflows} add_addr_accepted {accepted}")
    };
    all.map(show).join(", ")
}
