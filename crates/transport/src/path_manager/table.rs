//! The table of path managers, the choice of one with its parameters
//! (`default:accept_add_addr=on`, `ndiffports:3`), and the dispatch to it.
//!
//! A manager is its file and one line of [`path_managers!`] below.

use super::binder::{self, Binder};
use super::fullmesh::{self, Fullmesh, Reopen};
use super::kernel::{self, Kernel};
use super::ndiffports::{self, Ndiffports};
use super::passive::{self, Passive};
use super::{Command, Endpoints, Known, Manager, PathEvent};
use crate::choice::own_name;
use crate::parameters::{Parameter, Refused, Settings};
use base::{Duration, Instant};
use std::fmt::{self, Display};

/// A row of the table of path managers.
pub(super) struct PathManagerRow {
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// The parameter that may be given as a number without its key.
    pub number: Option<&'static str>,
    /// The choice with these settings.
    pub kind: fn(&Settings) -> PathManagerKind,
    /// The inverse of `kind`: values in the order of `parameters`.
    pub values: fn(PathManagerKind) -> Vec<f64>,
    /// Subflows in addition to the first one that it opens where there are that many paths, none of
    /// which leads into another.
    pub extra_subflows: fn(PathManagerKind, usize) -> usize,
}

impl PathManagerRow {
    /// One extra subflow for every path but the first.
    pub(super) const fn one_per_path(_: PathManagerKind, paths: usize) -> usize {
        paths.saturating_sub(1)
    }
}

/// What a manager is made for.
pub(super) struct Side<'a> {
    pub client: bool,
    /// Those of `kernel`.
    pub endpoints: &'a Endpoints,
    /// Lists of gateways of `binder`.
    pub gateway_lists: u8,
}

/// Makes the table, the choice of a manager and the manager of `ARM { FIELDS } (TYPE): ROW;`
/// lines. `TYPE::new` takes the side and the fields.
macro_rules! path_managers {
    ($(
        $(#[$about:meta])*
        $arm:ident $({ $($(#[$doc:meta])* $field:ident: $field_type:ty),+ })? ($type:ty): $row:expr;
    )+) => {
        const TABLE: &[PathManagerRow] = &[$($row),+];

        /// A choice of path manager, with its parameters.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum PathManagerKind {
            $($(#[$about])* $arm $({ $($(#[$doc])* $field: $field_type),+ })?,)+
        }

        impl PathManagerKind {
            const fn row(self) -> &'static PathManagerRow {
                match self {
                    $(PathManagerKind::$arm { .. } => &$row,)+
                }
            }
        }

        /// A path manager.
        #[derive(Clone, Debug)]
        pub enum PathManager {
            $($(#[$about])* $arm($type),)+
        }

        impl PathManager {
            fn of(kind: PathManagerKind, side: &Side<'_>) -> Self {
                match kind {
                    $(PathManagerKind::$arm $({ $($field),+ })? => {
                        PathManager::$arm(<$type>::new(side $($(, $field)+)?))
                    })+
                }
            }
        }

        impl Manager for PathManager {
            fn on_event(
                &mut self,
                now: Instant,
                event: PathEvent,
                known: &Known<'_>,
            ) -> Vec<Command> {
                match self {
                    $(PathManager::$arm(manager) => manager.on_event(now, event, known),)+
                }
            }

            fn deadline(&self) -> Instant {
                match self {
                    $(PathManager::$arm(manager) => manager.deadline(),)+
                }
            }
        }
    };
}

path_managers! {
    /// Announces nothing and accepts what the peer opens.
    Default {
        /// The client joins addresses that the server announces.
        accept_add_addr: bool
    } (Passive): passive::ROW;
    /// The client opens every pair of addresses, both sides announce theirs.
    Fullmesh {
        /// Subflows that are opened again after they ended.
        again: Reopen,
        /// Changes of addresses are collected for this time.
        batch: Duration
    } (Fullmesh): fullmesh::ROW;
    /// The client opens more subflows between the first two addresses.
    Ndiffports {
        /// The number of subflows, the first one included.
        subflows: u8
    } (Ndiffports): ndiffports::ROW;
    /// The client opens a subflow for each list of gateways.
    Binder (Binder): binder::ROW;
    /// Mainline's own, by endpoints and limits.
    Kernel (Kernel): kernel::ROW;
}

/// Name, one sentence and source of every path manager.
pub const NAMES: &[(&str, &str, &str)] = &names();

const fn names() -> [(&'static str, &'static str, &'static str); TABLE.len()] {
    let mut names = [("", "", ""); TABLE.len()];
    let mut row = 0;
    while row < TABLE.len() {
        names[row] = (TABLE[row].name, TABLE[row].about, TABLE[row].source);
        row += 1;
    }
    names
}

/// What a user may set of the manager `name`.
pub fn parameters(name: &str) -> &'static [Parameter] {
    find(name).map_or(&[], |row| row.parameters)
}

/// Other names in use.
const ALIASES: [(&str, &str); 3] =
    [("full-mesh", "fullmesh"), ("mesh", "fullmesh"), ("n-diff-ports", "ndiffports")];

/// The row of that name, in any case, or of another name of it.
fn find(name: &str) -> Option<&'static PathManagerRow> {
    let name = own_name(name, &ALIASES);
    TABLE.iter().find(|row| row.name == name)
}

impl PathManager {
    /// A manager for one side. `endpoints` are for `kernel`, `gateway_lists` for `binder`.
    pub fn new(
        kind: PathManagerKind,
        client: bool,
        endpoints: &Endpoints,
        gateway_lists: u8,
    ) -> Self {
        PathManager::of(kind, &Side { client, endpoints, gateway_lists })
    }
}

impl PathManagerKind {
    /// `default` of the papers' kernels.
    pub const PASSIVE: PathManagerKind = PathManagerKind::Default { accept_add_addr: false };
    /// `fullmesh` with its defaults.
    pub const FULLMESH: PathManagerKind = PathManagerKind::Fullmesh {
        again: Reopen { on_err: true, on_reset: true },
        batch: Duration::from_millis(500),
    };

    /// The name in the table.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The manager of that name with its defaults; `None` if there is none.
    pub fn by_name(name: &str) -> Option<PathManagerKind> {
        let row = find(name)?;
        Some((row.kind)(&Settings::defaults(row.parameters)))
    }

    /// The manager `name` with the parameters after its colon; `None` if there is no such manager.
    pub fn parse(name: &str, text: &str) -> Option<Result<PathManagerKind, Refused>> {
        let row = find(name)?;
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let text = match row.number {
            Some(key) if is_number => format!("{key}={text}"),
            _ => text.to_owned(),
        };
        let settings = Settings::parse(row.name, row.parameters, &text);
        Some(settings.map(|settings| (row.kind)(&settings)))
    }

    /// Permitted subflows in addition to the first one where there are that many paths, none of
    /// which leads into another.
    pub fn extra_subflows(self, paths: usize) -> u8 {
        u8::try_from((self.row().extra_subflows)(self, paths)).unwrap_or(u8::MAX)
    }
}

impl Default for PathManagerKind {
    fn default() -> Self {
        PathManagerKind::FULLMESH
    }
}

/// In the syntax of `parse`, without parameters that have their default.
impl Display for PathManagerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row();
        let values = (row.values)(*self);
        debug_assert_eq!(values.len(), row.parameters.len(), "{}", row.name);
        let shown = row.parameters.iter().zip(values).filter_map(|(parameter, value)| {
            let text = parameter.kind.show(value);
            if row.number == Some(parameter.key) {
                return Some(text);
            }
            (value != parameter.default).then(|| format!("{}={text}", parameter.key))
        });
        let shown: Vec<String> = shown.collect();
        let colon = if shown.is_empty() { "" } else { ":" };
        write!(f, "{}{colon}{}", row.name, shown.join(","))
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
