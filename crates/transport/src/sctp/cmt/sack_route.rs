//! `SackRoute`: the path of a SACK among those that data came from.

use super::config::SackPath;
use base::{Duration, PathId};

/// Pairs of addresses that data came from since the last SACK.
#[derive(Clone, Debug, Default)]
pub(in crate::sctp) struct SackRoute {
    recent: Vec<PathId>,
    /// SACKs so far, and by path the number of the last one.
    sacks: u64,
    last: Vec<u64>,
}

impl SackRoute {
    /// Data came from a pair.
    pub(in crate::sctp) fn on_data(&mut self, pair: PathId) {
        if !self.recent.contains(&pair) {
            self.recent.push(pair);
        }
    }

    /// The pair that a SACK goes to. `standard`: where the last data came from; `srtt`: that of a
    /// path, if it is known.
    pub(in crate::sctp) fn choose(
        &self,
        rule: SackPath,
        (standard, primary): (PathId, PathId),
        srtt: impl Fn(PathId) -> Option<Duration>,
    ) -> PathId {
        let recent = || self.recent.iter().copied();
        match rule {
            SackPath::Standard => standard,
            SackPath::Primary => primary,
            SackPath::RoundRobin => recent()
                .min_by_key(|path| self.last.get(path.index()).copied().unwrap_or(0))
                .unwrap_or(standard),
            SackPath::SmallestSrtt => recent()
                .min_by_key(|path| (srtt(*path).unwrap_or(Duration::MAX), *path != standard))
                .unwrap_or(standard),
        }
    }

    /// A SACK goes to a pair.
    pub(in crate::sctp) fn on_sack(&mut self, pair: PathId) {
        self.recent.clear();
        self.sacks += 1;
        if self.last.len() <= pair.index() {
            self.last.resize(pair.index() + 1, 0);
        }
        self.last[pair.index()] = self.sacks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_one_that_data_came_from() {
        let (a, b, c) = (PathId(0), PathId(1), PathId(2));
        let srtt =
            |path: PathId| (path != c).then(|| Duration::from_millis(20 - u64::from(path.0)));
        let mut route = SackRoute::default();
        route.on_data(a);
        route.on_data(c);
        let choose = |route: &SackRoute, rule| route.choose(rule, (c, b), srtt);
        assert_eq!(choose(&route, SackPath::Standard), c);
        assert_eq!(choose(&route, SackPath::Primary), b);
        assert_eq!(choose(&route, SackPath::SmallestSrtt), a, "c has no sample");
        assert_eq!(choose(&route, SackPath::RoundRobin), a);
        route.on_sack(a);
        assert_eq!(choose(&route, SackPath::SmallestSrtt), c, "nothing has come");
        route.on_data(a);
        route.on_data(c);
        assert_eq!(choose(&route, SackPath::RoundRobin), c, "a had the last one");
    }
}
