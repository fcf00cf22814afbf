//! Which path manager, with what can be set of it: `default:accept_add_addr=on`, `ndiffports:3`.

use super::fullmesh::Again;
use crate::parameters::{Kind, Parameter, Refused, Settings};
use base::Duration;
use std::fmt::{self, Display};

/// Which manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathManagerKind {
    /// Announces nothing; accepts what the peer opens.
    Default {
        /// The client joins addresses that the server announces.
        accept_add_addr: bool,
    },
    /// The client opens every pair of addresses, both sides announce theirs.
    Fullmesh {
        /// Which subflows that ended are opened again.
        again: Again,
        /// Changes of addresses are gathered for so long.
        batch: Duration,
    },
    /// The client opens more subflows between the first two addresses.
    Ndiffports {
        /// In all, the first one included.
        subflows: u8,
    },
    /// The client opens a subflow by each list of gateways.
    Binder,
    /// Mainline's own, by endpoints and limits.
    Kernel,
}

/// Name, one sentence and source of every path manager.
pub const NAMES: &[(&str, &str, &str)] = &[
    (
        "default",
        "Announces nothing and opens nothing, but accepts joins.",
        "multipath-tcp kernel v0.95 `default`",
    ),
    (
        "fullmesh",
        "The client joins every pair of addresses; both sides announce theirs.",
        "000 s2.3.1, multipath-tcp kernel v0.95 `fullmesh`",
    ),
    (
        "ndiffports",
        "The client joins the first two addresses again, from other ports: `ndiffports:3` has \
         three subflows in all.",
        "multipath-tcp kernel v0.95 `ndiffports`",
    ),
    (
        "binder",
        "The client joins the first two addresses again by the gateway of every other path, with \
         loose source routes.",
        "multipath-tcp kernel v0.95 `binder`",
    ),
    (
        "kernel",
        "Endpoints and limits as `ip mptcp` sets them, see `endpoints` and `limits`.",
        "Linux 6.18 in-kernel path manager",
    ),
];

const DEFAULT: &[Parameter] = &[Parameter {
    key: "accept_add_addr",
    about: "the client joins addresses that the server announces",
    least: 0.0,
    most: 1.0,
    default: 0.0,
    kind: Kind::Switch,
    source: "multipath-tcp kernel v0.95; 000 s2.3.1 says on",
}];

const FULLMESH: &[Parameter] = &[
    Parameter {
        key: "create_on_err",
        about: "a subflow that timed out is opened again",
        least: 0.0,
        most: 1.0,
        default: 1.0,
        kind: Kind::Switch,
        source: "multipath-tcp kernel v0.95",
    },
    Parameter {
        key: "create_on_reset",
        about: "a subflow that was reset is opened again",
        least: 0.0,
        most: 1.0,
        default: 1.0,
        kind: Kind::Switch,
        source: "anabranch; off in multipath-tcp kernel v0.95",
    },
    Parameter {
        key: "batch",
        about: "changes of addresses are gathered for so long",
        least: 0.0,
        most: 10_000.0,
        default: 500.0,
        kind: Kind::Time,
        source: "multipath-tcp kernel v0.95",
    },
];

const NDIFFPORTS: &[Parameter] = &[Parameter {
    key: "subflows",
    about: "subflows in all",
    least: 1.0,
    // Eight beside the first, as both kernels allow.
    most: 9.0,
    default: 2.0,
    kind: Kind::Whole,
    source: "multipath-tcp kernel v0.95",
}];

/// What can be set of the manager `name`.
pub fn parameters(name: &str) -> &'static [Parameter] {
    match name {
        "default" => DEFAULT,
        "fullmesh" => FULLMESH,
        "ndiffports" => NDIFFPORTS,
        _ => &[],
    }
}

impl PathManagerKind {
    /// The papers' kernels' `default`.
    pub const PASSIVE: PathManagerKind = PathManagerKind::Default { accept_add_addr: false };
    /// `fullmesh` as it is unless something is set.
    pub const FULLMESH: PathManagerKind = PathManagerKind::Fullmesh {
        again: Again { on_err: true, on_reset: true },
        batch: Duration::from_millis(500),
    };

    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            PathManagerKind::Default { .. } => "default",
            PathManagerKind::Fullmesh { .. } => "fullmesh",
            PathManagerKind::Ndiffports { .. } => "ndiffports",
            PathManagerKind::Binder => "binder",
            PathManagerKind::Kernel => "kernel",
        }
    }

    /// The manager of that name, as it is unless something is set; `None` if there is none.
    pub fn by_name(name: &str) -> Option<PathManagerKind> {
        let (name, ..) = NAMES.iter().find(|(known, ..)| *known == name)?;
        Some(PathManagerKind::of(name, &Settings::defaults(parameters(name))))
    }

    /// The manager `name` with what stands behind its colon; `None`: there is no such manager.
    pub fn parse(name: &str, text: &str) -> Option<Result<PathManagerKind, Refused>> {
        let (name, ..) = NAMES.iter().find(|(known, ..)| *known == name)?;
        let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // The number alone, as the kernels' module parameter has no other.
        let text = match (*name, number) {
            ("ndiffports", true) => format!("subflows={text}"),
            _ => text.to_owned(),
        };
        let settings = Settings::parse(name, parameters(name), &text);
        Some(settings.map(|settings| PathManagerKind::of(name, &settings)))
    }

    /// Subflows that there may be beside the first one where there are so many paths, none of
    /// which leads into another.
    pub fn extra_subflows(self, paths: usize) -> u8 {
        match self {
            PathManagerKind::Ndiffports { subflows } => subflows.saturating_sub(1),
            _ => u8::try_from(paths.saturating_sub(1)).unwrap_or(u8::MAX),
        }
    }

    fn of(name: &str, settings: &Settings) -> PathManagerKind {
        match name {
            "fullmesh" => PathManagerKind::Fullmesh {
                again: Again {
                    on_err: settings.is_on("create_on_err"),
                    on_reset: settings.is_on("create_on_reset"),
                },
                batch: settings.time("batch"),
            },
            // Its range is within that of the type.
            "ndiffports" => {
                PathManagerKind::Ndiffports { subflows: settings.whole("subflows") as u8 }
            }
            "binder" => PathManagerKind::Binder,
            "kernel" => PathManagerKind::Kernel,
            _ => PathManagerKind::Default { accept_add_addr: settings.is_on("accept_add_addr") },
        }
    }
}

impl Default for PathManagerKind {
    fn default() -> Self {
        PathManagerKind::FULLMESH
    }
}

/// As it is asked for: what has its default is left out.
impl Display for PathManagerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match *self {
            PathManagerKind::Ndiffports { subflows } => write!(f, ":{subflows}"),
            PathManagerKind::Default { accept_add_addr: true } => {
                f.write_str(":accept_add_addr=on")
            }
            PathManagerKind::Fullmesh { again, batch } => {
                let batch = batch.as_nanos() as f64 / 1e6;
                let mut set = Vec::new();
                if !again.on_err {
                    set.push("create_on_err=off".to_owned());
                }
                if !again.on_reset {
                    set.push("create_on_reset=off".to_owned());
                }
                if batch != FULLMESH[2].default {
                    set.push(format!("batch={}", Kind::Time.show(batch)));
                }
                let colon = if set.is_empty() { "" } else { ":" };
                write!(f, "{colon}{}", set.join(","))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_read_as_they_are_shown() {
        for text in [
            "default",
            "default:accept_add_addr=on",
            "fullmesh",
            "fullmesh:create_on_err=off",
            "fullmesh:create_on_err=off,create_on_reset=off,batch=0ms",
            "fullmesh:batch=2s",
            "ndiffports:2",
            "ndiffports:9",
            "binder",
            "kernel",
        ] {
            let (name, set) = text.split_once(':').unwrap_or((text, ""));
            let kind = match set {
                "" => PathManagerKind::by_name(name).unwrap(),
                _ => PathManagerKind::parse(name, set).unwrap().unwrap(),
            };
            assert_eq!(kind.to_string(), text);
        }
        let two = PathManagerKind::by_name("ndiffports").unwrap();
        assert_eq!(two, PathManagerKind::Ndiffports { subflows: 2 });
        assert_eq!(PathManagerKind::by_name("ndiffport"), None);
    }

    #[test]
    fn number_of_subflows_has_a_range() {
        for wrong in ["0", "10", "-1", "1.5", "x", ""] {
            let refused = PathManagerKind::parse("ndiffports", wrong).unwrap().unwrap_err();
            assert!(!refused.help.is_empty(), "{wrong}: {refused:?}");
        }
        let refused = PathManagerKind::parse("ndiffports", "10").unwrap().unwrap_err();
        assert_eq!(refused.problem, "`subflows` of `ndiffports` cannot be `10`");
        assert!(refused.help.contains("from 1 to 9"), "{refused:?}");
        assert!(PathManagerKind::parse("kernel", "2").unwrap().is_err());
    }
}
