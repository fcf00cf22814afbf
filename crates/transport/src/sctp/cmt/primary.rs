//! `PrimaryChoice`: the pair of addresses that INIT is sent between, which is the primary path.

use crate::choice::own_name;

/// The pair of addresses of the primary path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PrimaryChoice {
    /// The first address of each side.
    #[default]
    First,
    /// A random pair.
    Random,
    /// These addresses of this side and of the peer, counted from 0.
    Fixed(u8, u8),
    /// That of the path with the smallest round trip when its address is verified.
    FastestHandshake,
}

impl PrimaryChoice {
    /// Every choice with one sentence.
    pub const ALL: [(&'static str, &'static str); 4] = [
        ("first", "the first address of each side"),
        ("random", "a random pair of addresses"),
        ("fixed(L,R)", "address L of this side and R of the peer, counted from 0"),
        ("fastest-handshake", "the path that is verified with the smallest round trip"),
    ];

    /// The name in options and scenario files.
    pub fn name(self) -> String {
        match self {
            PrimaryChoice::First => "first".to_owned(),
            PrimaryChoice::Random => "random".to_owned(),
            PrimaryChoice::Fixed(local, remote) => format!("fixed({local},{remote})"),
            PrimaryChoice::FastestHandshake => "fastest-handshake".to_owned(),
        }
    }

    /// The choice with this `name`, in any case.
    pub fn by_name(name: &str) -> Option<PrimaryChoice> {
        let name = own_name(name, &[("fastest", "fastest-handshake")]);
        match name.as_str() {
            "first" => Some(PrimaryChoice::First),
            "random" => Some(PrimaryChoice::Random),
            "fastest-handshake" => Some(PrimaryChoice::FastestHandshake),
            _ => {
                let pair = name.strip_prefix("fixed(")?.strip_suffix(')')?;
                let (local, remote) = pair.split_once(',')?;
                let number = |text: &str| text.trim().parse().ok();
                Some(PrimaryChoice::Fixed(number(local)?, number(remote)?))
            }
        }
    }

    /// The numbers of the pair's addresses; the first argument is the number of addresses of each
    /// side. `random` decides for `random`; a number that is too large is that of the last one.
    pub fn choose(self, (locals, remotes): (usize, usize), random: u64) -> (usize, usize) {
        let last = |count: usize| count.saturating_sub(1);
        match self {
            PrimaryChoice::First | PrimaryChoice::FastestHandshake => (0, 0),
            PrimaryChoice::Random => {
                let pair = random % (locals.max(1) as u64 * remotes.max(1) as u64);
                let remotes = remotes.max(1) as u64;
                ((pair / remotes) as usize, (pair % remotes) as usize)
            }
            PrimaryChoice::Fixed(local, remote) => {
                (usize::from(local).min(last(locals)), usize::from(remote).min(last(remotes)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_name_a_pair() {
        for choice in [
            PrimaryChoice::First,
            PrimaryChoice::Random,
            PrimaryChoice::Fixed(1, 0),
            PrimaryChoice::FastestHandshake,
        ] {
            assert_eq!(PrimaryChoice::by_name(&choice.name()), Some(choice));
        }
        assert_eq!(PrimaryChoice::by_name("Fixed( 1, 2 )"), Some(PrimaryChoice::Fixed(1, 2)));
        assert_eq!(PrimaryChoice::by_name("fixed(1)"), None);
        assert_eq!(PrimaryChoice::First.choose((2, 2), 3), (0, 0));
        let random = [0, 1, 2, 3, 4].map(|random| PrimaryChoice::Random.choose((2, 2), random));
        assert_eq!(random, [(0, 0), (0, 1), (1, 0), (1, 1), (0, 0)]);
        assert_eq!(PrimaryChoice::Fixed(1, 9).choose((2, 2), 0), (1, 1));
        assert_eq!(PrimaryChoice::Random.choose((0, 0), 7), (0, 0));
    }
}
