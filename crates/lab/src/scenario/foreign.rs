//! Names of options of SCTP in FreeBSD (`sysctl net.inet.sctp.NAME`) and in INET (parameters of its
//! SCTP model), with their values.
//!
//! They are accepted beside the own names; what is written has the own ones.

use super::table::Key;
use crate::error::{Given, InputError};

/// An option's name elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreign {
    /// The name, spelled as there.
    pub name: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// The option here.
    pub key: Key,
    /// Values there, each with the one here.
    pub values: &'static [(&'static str, &'static str)],
}

/// Every name.
pub const FOREIGN: &[Foreign] = &[
    Foreign {
        name: "nrsack_enable",
        source: "FreeBSD",
        key: Key::NrSack,
        values: &[("0", "off"), ("1", "on")],
    },
    Foreign {
        name: "path_pf_threshold",
        source: "FreeBSD",
        key: Key::Failover,
        values: &[("0", "pf"), ("65535", "pmr")],
    },
    Foreign {
        name: "cmtRetransmissionVariant",
        source: "INET",
        key: Key::RtxPolicy,
        values: &[("normal", "next")],
    },
];

impl Foreign {
    /// The option with this name elsewhere.
    pub fn by_name(name: &str) -> Option<&'static Foreign> {
        FOREIGN.iter().find(|foreign| foreign.name == name)
    }

    /// The value here for one there.
    ///
    /// # Errors
    /// If there is none.
    pub fn translate(&self, given: &Given) -> Result<Given, InputError> {
        let found = self.values.iter().find(|(there, _)| *there == given.text);
        if let Some((_, here)) = found {
            return Ok(given.with_text(here));
        }
        let own = self.key.row().name;
        let problem = format!(
            "`{}` is no value of {}'s `{}` that `{own}` has",
            given.text, self.source, self.name
        );
        let values: Vec<String> =
            self.values.iter().map(|(there, here)| format!("`{there}` ({here})")).collect();
        Err(given.refuse_whole(problem, format!("write {}, or use `{own}`", values.join(" or "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_elsewhere_are_those_of_the_option_here() {
        for foreign in FOREIGN {
            assert_eq!(Foreign::by_name(foreign.name), Some(foreign));
            assert_eq!(Key::by_name(foreign.name), None);
            for (there, here) in foreign.values {
                let given = foreign.translate(&Given::argument("--x", there)).expect("a value");
                assert_eq!(given.text, *here);
            }
        }
        let refused = FOREIGN[1].translate(&Given::argument("--path_pf_threshold", "7"));
        let text = refused.expect_err("no PFMR but 0").to_string();
        assert!(text.contains("write `0` (pf) or `65535` (pmr), or use `failover`"), "{text}");
    }
}
