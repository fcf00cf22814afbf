//! A path policy with the parameters that are set: `none`, `drepas:interval=2s`.

use super::{AnyPolicy, TABLE, none};
use crate::choice::{Choice, Row};
use crate::parameters::{Parameter, Refused, Settings};

/// A row of the table of path policies.
#[derive(Debug)]
pub struct PolicyRow {
    /// The name in options.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// The paper or the RFC that it follows.
    pub source: &'static str,
    /// The parameters.
    pub parameters: &'static [Parameter],
    /// Makes a policy with the parameters given.
    pub(super) make: fn(&Settings) -> AnyPolicy,
}

/// A path policy and its parameters.
pub type PolicyChoice = Choice<PolicyRow>;

impl Row for PolicyRow {
    type Values = Settings;
    const KIND: &'static str = "path policy";

    fn table() -> &'static [Self] {
        TABLE
    }

    fn about(&self) -> (&'static str, &'static str, &'static str) {
        (self.name, self.about, self.source)
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    fn defaults(&self) -> Settings {
        Settings::defaults(self.parameters)
    }

    fn parse(&self, text: &str) -> Result<Settings, Refused> {
        Settings::parse(self.name, self.parameters, text)
    }
}

impl Default for PolicyChoice {
    fn default() -> Self {
        PolicyChoice::NONE
    }
}

impl PolicyChoice {
    /// Leaves every path as it is.
    pub const NONE: PolicyChoice = Choice::of(&none::ROW);

    /// Whether it leaves every path as it is.
    pub fn is_none(&self) -> bool {
        self.name() == none::ROW.name
    }

    /// A policy for one connection.
    pub fn make(&self) -> AnyPolicy {
        self.values(self.row().make)
    }
}
