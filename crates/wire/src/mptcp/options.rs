//! `MptcpOptions`: all options of kind 30 of one segment.
//!
//! A DSS is stored inline, since nearly every segment has one. The others are rare, but there may
//! be several, also together with a DSS. Valid combinations are left to `transport` (RFC 8684 s3).

use super::{AddAddr, Capable, Dss, GroupSyn, Join, MptcpOption};
use crate::rarely::Rarely;

/// The MPTCP options of a segment. Equal ones are emitted as the same bytes.
#[derive(Clone, Debug, Default)]
pub struct MptcpOptions {
    /// The data sequence signal, of which a segment has at most one.
    pub dss: Option<Dss>,
    pub(crate) rare: Rarely<Rare>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    /// Never a DSS.
    options: Vec<MptcpOption>,
    ignored: u8,
}

impl MptcpOptions {
    /// Append an option; a DSS replaces an earlier one.
    pub fn push(&mut self, option: MptcpOption) {
        match option {
            MptcpOption::Dss(dss) => self.dss = Some(dss),
            other => self.rare().options.push(other),
        }
    }

    /// Every option but the DSS, in the order they were parsed or appended.
    #[inline]
    pub fn others(&self) -> &[MptcpOption] {
        self.rare.get().map_or(&[], |rare| &rare.options)
    }

    /// The `MP_CAPABLE`.
    #[inline]
    pub fn capable(&self) -> Option<Capable> {
        self.others().iter().find_map(|option| match option {
            MptcpOption::Capable(capable) => Some(*capable),
            _ => None,
        })
    }

    /// The `MP_JOIN`.
    #[inline]
    pub fn join(&self) -> Option<Join> {
        self.others().iter().find_map(|option| match option {
            MptcpOption::Join(join) => Some(*join),
            _ => None,
        })
    }

    /// The group of a SYN.
    pub fn group(&self) -> Option<GroupSyn> {
        self.others().iter().find_map(|option| match option {
            MptcpOption::Group(group) => Some(*group),
            _ => None,
        })
    }

    /// The `ADD_ADDR`.
    pub fn add_addr(&self) -> Option<AddAddr> {
        self.others().iter().find_map(|option| match option {
            MptcpOption::AddAddr(add) => Some(*add),
            _ => None,
        })
    }

    /// How many options were ignored when the segment was parsed: unknown subtypes, wrong
    /// lengths, a second DSS. Not on the wire when the segment is emitted.
    #[inline]
    pub fn ignored(&self) -> u8 {
        self.rare.get().map_or(0, |rare| rare.ignored)
    }

    /// Whether the segment has no valid option.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.dss.is_none() && self.others().is_empty()
    }

    /// Whether the segment has a DSS and nothing else, nothing that was ignored either.
    #[inline]
    pub const fn is_only_dss(&self) -> bool {
        self.dss.is_some() && self.rare.is_none()
    }

    /// Length of the options, each padded to a multiple of four.
    #[inline(always)]
    pub(crate) fn padded_len(&self) -> u32 {
        let dss = self.dss.as_ref().map_or(0, |dss| dss.wire_len().next_multiple_of(4));
        match self.rare.get() {
            None => dss,
            Some(rare) => dss + rare.options.iter().map(MptcpOption::padded_len).sum::<u32>(),
        }
    }

    /// Length of the options without padding.
    pub(crate) fn natural_len(&self) -> u32 {
        let dss = self.dss.as_ref().map_or(0, Dss::wire_len);
        dss + self.others().iter().map(MptcpOption::wire_len).sum::<u32>()
    }

    /// Append the options, and call `align` after each.
    pub(crate) fn emit(&self, out: &mut Vec<u8>, align: impl Fn(&mut Vec<u8>)) {
        if let Some(dss) = self.dss {
            MptcpOption::Dss(dss).emit(out);
            align(out);
        }
        for option in self.others() {
            option.emit(out);
            align(out);
        }
    }

    /// Parse the option whose bytes after kind and length are `content`.
    pub(crate) fn parse(&mut self, content: &[u8]) {
        match MptcpOption::parse(content) {
            Some(MptcpOption::Dss(_)) if self.dss.is_some() => self.rare().ignored += 1,
            Some(option) => self.push(option),
            // A header has less than 20 options.
            None => self.rare().ignored += 1,
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}

impl PartialEq for MptcpOptions {
    fn eq(&self, other: &MptcpOptions) -> bool {
        self.dss == other.dss && self.others() == other.others()
    }
}

impl Eq for MptcpOptions {}

impl FromIterator<MptcpOption> for MptcpOptions {
    fn from_iter<I: IntoIterator<Item = MptcpOption>>(options: I) -> MptcpOptions {
        let mut all = MptcpOptions::default();
        options.into_iter().for_each(|option| all.push(option));
        all
    }
}

impl From<MptcpOption> for MptcpOptions {
    fn from(option: MptcpOption) -> MptcpOptions {
        [option].into_iter().collect()
    }
}

impl From<Dss> for MptcpOptions {
    #[inline]
    fn from(dss: Dss) -> MptcpOptions {
        MptcpOptions { dss: Some(dss), rare: Rarely::NONE }
    }
}
