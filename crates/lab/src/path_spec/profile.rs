//! Named paths that come with the program.
//!
//! Each is a TOML file with a description and the source of its numbers. `draw` draws from ranges
//! for each repetition.

use crate::error::Refusal;
use crate::words::nearest_help;

/// A named path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Its name on the command line.
    pub name: &'static str,
    /// Items, with ranges.
    pub spec: String,
    /// Paper and table, or "assumed".
    pub source: String,
}

/// The names and files of all profiles.
const PROFILES: [(&str, &str); 8] = [
    ("wlan", include_str!("../../profiles/wlan.toml")),
    ("3g", include_str!("../../profiles/3g.toml")),
    ("wlan-002", include_str!("../../profiles/wlan-002.toml")),
    ("3g-002", include_str!("../../profiles/3g-002.toml")),
    ("lte", include_str!("../../profiles/lte.toml")),
    ("dsl", include_str!("../../profiles/dsl.toml")),
    ("starlink", include_str!("../../profiles/starlink.toml")),
    ("ethernet", include_str!("../../profiles/ethernet.toml")),
];

/// Other names in use.
const ALIASES: [(&str, &str); 4] =
    [("wifi", "wlan"), ("wi-fi", "wlan"), ("4g", "lte"), ("umts", "3g")];

impl Profile {
    /// The profile with this name, in any case.
    pub fn find(name: &str) -> Result<Profile, Refusal> {
        let own = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
        let own = own.map_or(name, |(_, own)| own);
        let is_named = |known: &str| known.eq_ignore_ascii_case(own);
        let Some((name, file)) = PROFILES.iter().find(|(known, _)| is_named(known)) else {
            let names: Vec<&str> = PROFILES.iter().map(|(name, _)| *name).collect();
            let help = nearest_help(name, &names);
            return Err(Refusal::new(
                name,
                format!("unknown profile `{name}`"),
                format!("{help}; or describe the path: `{name}='rate 25mbit delay 20ms'`"),
            ));
        };
        let table: toml::Table = toml::from_str(file)
            .map_err(|e| Refusal::new(name, format!("profile `{name}` is damaged: {e}"), ""))?;
        let text = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        match (text("spec"), text("source")) {
            (Some(spec), Some(source)) => Ok(Profile { name, spec, source }),
            _ => Err(Refusal::new(name, format!("profile `{name}` is incomplete"), "")),
        }
    }

    /// All profiles in the order of the table.
    pub fn all() -> Vec<Profile> {
        PROFILES.iter().filter_map(|(name, _)| Profile::find(name).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_complete_and_names_its_source() {
        assert_eq!(Profile::all().len(), PROFILES.len());
        for profile in Profile::all() {
            let source = &profile.source;
            assert!(source.contains("Table") || source.starts_with("assumed"), "{source}");
        }
    }

    #[test]
    fn upper_case_and_other_names_are_understood() {
        for (given, own) in
            [("WLAN", "wlan"), ("Wi-Fi", "wlan"), ("4G", "lte"), ("3G-002", "3g-002")]
        {
            assert_eq!(Profile::find(given).unwrap().name, own);
        }
    }

    #[test]
    fn misspelt_profile_names_the_nearest() {
        let refusal = Profile::find("wlna").unwrap_err();
        assert!(refusal.help.contains("did you mean `wlan`"), "{}", refusal.help);
    }
}
