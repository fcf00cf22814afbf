//! `PathGroups`: paths whose windows are coupled (`cmtCCPathGroups` of INET).

use base::PathId;

/// Paths that can have a group of their own.
const PATHS: usize = 8;

/// The group of each path; further paths are in the first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathGroups([u8; PATHS]);

impl PathGroups {
    /// All paths are coupled.
    pub const ONE: PathGroups = PathGroups([0; PATHS]);

    /// The groups of the first paths of the list; `None` if there are too many.
    pub fn new(groups: &[u8]) -> Option<PathGroups> {
        let mut all = [0; PATHS];
        all.get_mut(..groups.len())?.copy_from_slice(groups);
        Some(PathGroups(all))
    }

    /// The group of a path.
    pub fn of(&self, path: PathId) -> u8 {
        self.0.get(path.index()).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_their_groups() {
        let groups = PathGroups::new(&[0, 1, 1]).expect("few paths");
        assert_eq!([0, 1, 2, 3, 200].map(|path| groups.of(PathId(path))), [0, 1, 1, 0, 0]);
        assert_eq!(PathGroups::new(&[1; 9]), None);
        assert_eq!(PathGroups::new(&[]), Some(PathGroups::ONE));
    }
}
