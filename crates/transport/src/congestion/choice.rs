//! The choice of a congestion control, with its parameters: `cubic`, `olia:min-ssthresh=1`.

use super::byte_control::{ByteControl, ByteLaw};
use super::controller::{Controller, Options, TABLE};
use super::coupled::Coupling;
use super::{PathGroups, pool};
use crate::choice::{Choice, Row};
use crate::parameters::{Parameter, Refused, Settings};

/// A row of the table of congestion controls.
#[derive(Debug)]
pub struct ControllerRow {
    /// The name in options.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// The paper, the RFC or the kernel that it follows.
    pub source: &'static str,
    /// What a user may set.
    pub parameters: &'static [Parameter],
    /// Whether it couples the paths of a connection, which has no effect on a single path.
    pub is_coupled: bool,
    /// Makes one without paths.
    pub(super) make: fn(&Options) -> Controller,
    /// Its law over windows in bytes, if it has one.
    pub(super) bytes: Option<ByteLaw>,
}

/// A congestion control and its parameters.
pub type ControllerChoice = Choice<ControllerRow>;

impl Row for ControllerRow {
    type Values = Settings;
    const KIND: &'static str = "congestion control";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("newreno", "reno"),
        ("new-reno", "reno"),
        ("coupled", "lia"),
        ("mptcp-like", "lia"),
        ("rpv1", "cmtrpv1"),
        ("rpv2", "cmtrpv2"),
        ("cmtrpv2-bsd", "rpv2-bsd"),
        ("linked-increases", "lia"),
        ("opportunistic-linked-increases", "olia"),
        ("balanced-linked-adaptation", "balia"),
        ("weighted-vegas", "wvegas"),
    ];

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

impl Default for ControllerChoice {
    /// The default of Linux.
    fn default() -> Self {
        ControllerChoice::CUBIC
    }
}

impl ControllerChoice {
    /// RFC 5681.
    pub const RENO: ControllerChoice = Choice::of(&TABLE[0]);
    /// RFC 9438.
    pub const CUBIC: ControllerChoice = Choice::of(&TABLE[1]);

    /// Whether it couples the paths of a connection.
    pub const fn is_coupled(&self) -> bool {
        self.row().is_coupled
    }

    /// A controller for one connection, without paths.
    pub fn make(&self, options: &Options) -> Controller {
        match self.written() {
            None => (self.row().make)(options),
            Some(_) => {
                let coupling = self.values(Coupling::of);
                (self.row().make)(&Options { coupling, ..*options })
            }
        }
    }

    /// A controller for one association, without paths, over windows in bytes (RFC 9260 s7.2);
    /// `None` if there is none of that name, or if parameters are set: all of them are of windows
    /// in segments. `slow_start_limit` is L of RFC 9260 s7.2.1, 1 by default there.
    pub fn make_over_bytes(&self, slow_start_limit: u32) -> Option<Controller> {
        // FreeBSD's k.
        self.make_grouped(slow_start_limit, PathGroups::ONE, 4)
    }

    /// The same; paths are coupled with those of their group. `floor`: packets of which a path has
    /// its share at least after a loss, under CMT/RPv1.
    pub(crate) fn make_grouped(
        &self,
        slow_start_limit: u32,
        groups: PathGroups,
        floor: u32,
    ) -> Option<Controller> {
        let mut law = self.row().bytes.filter(|_| self.written().is_none())?;
        if floor == 1 && self.name() == pool::ROW.name {
            law.floor = pool::FLOOR_OF_ONE;
        }
        Some(Controller::Bytes(ByteControl::new(law, slow_start_limit, groups)))
    }

    /// Over windows in bytes the initial window of a path among `n` is at most 4 PMDCS / n.
    pub(crate) fn shares_start(&self) -> bool {
        self.row().bytes.is_some_and(|law| law.shares_start)
    }
}
