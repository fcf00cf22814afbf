//! Choices of CMT-SCTP: its own schedulers and its switches, of which lists are compared.
//!
//! Values are those of the engine's `CmtConfig`. Every switch is an option of its own; a value
//! other than that of the profile is a part of a variant's name: `cmt-sctp/send-all/reno/sfr=off`.

use super::Options;
use super::choice::{Complaint, chosen};
use super::table::Key;
use crate::error::{Given, InputError, Refusal};
use crate::words::{counted, nearest_help, there_are};
use base::PathId;
use transport::congestion::ControllerChoice;
use transport::parameters::Refused;
use transport::scheduler::SchedulerChoice;
use transport::sctp::cmt::{
    BufferBasis, CmtConfig, CucRule, PairRule, PathBlocking, PathGroups, PathMode, PrimaryFirst,
    RttRule, SackPath, SchedulerRefusal, SendAllKey, Sides,
};
use transport::sctp::{RtxPolicy, SctpProfile};

/// The scheduler of CMT-SCTP that sends as much as windows allow, path after path.
pub(super) const SEND_ALL: &str = "send-all";
/// Its parameter.
const KEY: &str = "key";

/// The retransmission policy of a profile.
pub(super) const fn rtx_policy(profile: SctpProfile) -> RtxPolicy {
    match profile {
        SctpProfile::Rfc9260 | SctpProfile::Inet000 => RtxPolicy::Rtt,
        SctpProfile::Lab003 | SctpProfile::Bsd => RtxPolicy::Cwnd,
    }
}

/// The congestion control of a profile: 003 measured `lia`.
pub(super) fn usual_control(profile: SctpProfile) -> ControllerChoice {
    match profile {
        SctpProfile::Lab003 => ControllerChoice::find("lia").unwrap_or(ControllerChoice::RENO),
        SctpProfile::Rfc9260 | SctpProfile::Inet000 | SctpProfile::Bsd => ControllerChoice::RENO,
    }
}

/// Choices of CMT-SCTP, each list in the order given.
#[derive(Clone, PartialEq, Debug)]
pub struct CmtChoices {
    /// Congestion controls that it has, of those compared; otherwise `reno`.
    pub congestion: Vec<ControllerChoice>,
    /// Orders in which paths send; empty: only `schedulers` are compared.
    pub send_all: Vec<SendAllKey>,
    /// Schedulers of MPTCP that choose the path of new data.
    pub schedulers: Vec<SchedulerChoice>,
    /// Every combination of its switches.
    pub configs: Vec<CmtConfig>,
}

impl Default for CmtChoices {
    /// The defaults of the command line.
    fn default() -> Self {
        CmtChoices {
            congestion: vec![ControllerChoice::RENO],
            send_all: vec![SendAllKey::default()],
            schedulers: Vec::new(),
            configs: vec![CmtConfig::default()],
        }
    }
}

/// A switch.
struct Switch {
    key: Key,
    /// What is unknown if the word is.
    kind: &'static str,
    /// The names of its values, or examples.
    names: fn() -> Vec<&'static str>,
    /// Sets the value of that name, and returns whether there is one.
    set: fn(&mut CmtConfig, &str) -> bool,
    show: fn(&CmtConfig) -> String,
}

/// A switch that is on or off.
const fn on_off(
    key: Key,
    set: fn(&mut CmtConfig, &str) -> bool,
    show: fn(&CmtConfig) -> String,
) -> Switch {
    Switch { key, kind: "switch", names: || vec!["on", "off"], set, show }
}

/// All switches, in the order in which names of variants have them.
static TABLE: [Switch; 20] = [
    Switch {
        key: Key::PathMode,
        kind: "path mode",
        names: || names(&PathMode::ALL),
        set: |c, word| put(&mut c.path_mode, PathMode::by_name(word)),
        show: |c| c.path_mode.name().to_owned(),
    },
    on_off(
        Key::Sfr,
        |c, word| put(&mut c.algorithms.sfr, switched(word)),
        |c| switch_name(c.algorithms.sfr),
    ),
    Switch {
        key: Key::PairRule,
        kind: "pair rule",
        names: || names(&PairRule::ALL),
        set: |c, word| put(&mut c.pair_rule, PairRule::by_name(word)),
        show: |c| c.pair_rule.name().to_owned(),
    },
    Switch {
        key: Key::Cuc,
        kind: "rule of CUC",
        names: || names(&CucRule::ALL),
        set: |c, word| put(&mut c.algorithms.cuc, CucRule::by_name(word)),
        show: |c| c.algorithms.cuc.name().to_owned(),
    },
    on_off(
        Key::Dac,
        |c, word| put(&mut c.algorithms.dac, switched(word)),
        |c| switch_name(c.algorithms.dac),
    ),
    on_off(
        Key::Frc,
        |c, word| put(&mut c.algorithms.frc, switched(word)),
        |c| switch_name(c.algorithms.frc),
    ),
    Switch {
        key: Key::BufferSplit,
        kind: "side of buffer splitting",
        names: || names(&Sides::ALL),
        set: |c, word| put(&mut c.buffer_split.sides, Sides::by_name(word)),
        show: |c| c.buffer_split.sides.name().to_owned(),
    },
    Switch {
        key: Key::BufferSplitBasis,
        kind: "basis of buffer splitting",
        names: || names(&BufferBasis::ALL),
        set: |c, word| put(&mut c.buffer_split.basis, BufferBasis::by_name(word)),
        show: |c| c.buffer_split.basis.name().to_owned(),
    },
    Switch {
        key: Key::Resched,
        kind: "side of rescheduling",
        names: || names(&Sides::ALL),
        set: |c, word| put(&mut c.reschedule.sides, Sides::by_name(word)),
        show: |c| c.reschedule.sides.name().to_owned(),
    },
    Switch {
        key: Key::ReschedThreshold,
        kind: "threshold of rescheduling",
        names: || vec!["0.5"],
        set: |c, word| put(&mut c.reschedule.threshold_permille, permille(word)),
        show: |c| (f64::from(c.reschedule.threshold_permille) / 1000.0).to_string(),
    },
    on_off(
        Key::MovedReducesCwnd,
        |c, word| put(&mut c.reschedule.moved_reduces_cwnd, switched(word)),
        |c| switch_name(c.reschedule.moved_reduces_cwnd),
    ),
    Switch {
        key: Key::SackPath,
        kind: "path of SACKs",
        names: || names(&SackPath::ALL),
        set: |c, word| put(&mut c.sack_path, SackPath::by_name(word)),
        show: |c| c.sack_path.name().to_owned(),
    },
    on_off(
        Key::SmartT3,
        |c, word| put(&mut c.smart.t3, switched(word)),
        |c| switch_name(c.smart.t3),
    ),
    on_off(
        Key::SmartFastRtx,
        |c, word| put(&mut c.smart.fast_rtx, switched(word)),
        |c| switch_name(c.smart.fast_rtx),
    ),
    on_off(
        Key::SmartReneging,
        |c, word| put(&mut c.smart.reneging, switched(word)),
        |c| switch_name(c.smart.reneging),
    ),
    Switch {
        key: Key::RttRule,
        kind: "RTT rule",
        names: || names(&RttRule::ALL),
        set: |c, word| put(&mut c.rtt, RttRule::by_name(word)),
        show: |c| c.rtt.name().to_owned(),
    },
    Switch {
        key: Key::PathBlocking,
        kind: "path blocking",
        names: || names(&PathBlocking::ALL),
        set: |c, word| put(&mut c.blocking, PathBlocking::by_name(word)),
        show: |c| c.blocking.name().to_owned(),
    },
    Switch {
        key: Key::PrimaryFirst,
        kind: "times of the primary",
        names: || names(&PrimaryFirst::ALL),
        set: |c, word| put(&mut c.primary_first, PrimaryFirst::by_name(word)),
        show: |c| c.primary_first.name().to_owned(),
    },
    on_off(
        Key::StrictCwndBooking,
        |c, word| put(&mut c.strict_booking, switched(word)),
        |c| switch_name(c.strict_booking),
    ),
    Switch {
        key: Key::CcGroups,
        kind: "groups of paths",
        names: || vec!["0:0", "0:1"],
        set: |c, word| put(&mut c.cc_groups, groups(word)),
        show: |c| show_groups(&c.cc_groups),
    },
];

fn names<T>(all: &[(T, &'static str, &'static str)]) -> Vec<&'static str> {
    all.iter().map(|(_, name, _)| *name).collect()
}

/// The names of the values of a switch, or examples.
pub(super) fn values(key: Key) -> Vec<&'static str> {
    TABLE.iter().find(|switch| switch.key == key).map_or(Vec::new(), |switch| (switch.names)())
}

/// The keys of all switches.
pub(super) fn switches() -> impl Iterator<Item = Key> {
    TABLE.iter().map(|switch| switch.key)
}

fn permille(word: &str) -> Option<u32> {
    let part = word.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part))?;
    Some((part * 1000.0).round() as u32)
}

/// `0:0:1`: a digit for each path.
fn groups(word: &str) -> Option<PathGroups> {
    let digit = |text: &str| text.trim().parse::<u8>().ok().filter(|group| *group < 10);
    let groups: Option<Vec<u8>> = word.split(':').map(digit).collect();
    PathGroups::new(&groups?)
}

/// Refuses groups of nonexistent paths. Paths without a number are in the first group, as names of
/// variants leave them out.
pub(super) fn check_groups(lists: &[Given], paths: usize) -> Result<(), InputError> {
    for given in lists {
        for (span, word) in given.split_at_commas() {
            let count = word.split(':').count();
            if count > paths {
                let numbers = counted(count, "number");
                let problem = format!("`{word}` has {numbers}, and {}", there_are(paths));
                let help = "write one number per path, in the order of the paths";
                return Err(given.refuse(Refusal { span, problem, help: help.to_owned() }));
            }
        }
    }
    Ok(())
}

/// Without the paths of the first group at the end.
fn show_groups(groups: &PathGroups) -> String {
    let all: Vec<u8> = (0..8).map(|path| groups.of(PathId(path))).collect();
    let last = all.iter().rposition(|group| *group != 0).unwrap_or(0);
    let shown: Vec<String> = all[..=last].iter().map(u8::to_string).collect();
    shown.join(":")
}

fn put<T>(place: &mut T, value: Option<T>) -> bool {
    value.is_some_and(|value| {
        *place = value;
        true
    })
}

/// `on` or `off`; also as the switches of FreeBSD have it, 1 or 0.
pub(super) fn switched(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// The spelling of a switch.
pub(super) fn switch_name(on: bool) -> String {
    (if on { "on" } else { "off" }).to_owned()
}

impl CmtChoices {
    /// The combinations of the switches in `options`, beginning with `usual`. `is_used`: CMT-SCTP
    /// is compared.
    pub(super) fn configs(
        options: &Options,
        is_used: bool,
        usual: CmtConfig,
    ) -> Result<Vec<CmtConfig>, InputError> {
        let mut given = switches().flat_map(|key| options.texts(key));
        if let (false, Some(given)) = (is_used, given.next()) {
            let problem = "this option is for CMT-SCTP, which is not compared";
            let help = "add `cmt-sctp` to the protocols: `--protocols sctp,cmt-sctp`";
            return Err(given.refuse_whole(problem, help));
        }
        let mut configs = vec![usual];
        for switch in &TABLE {
            let values = switch.values(options.texts(switch.key), &usual)?;
            let with = |config: &CmtConfig| {
                let mut config = *config;
                values.iter().map(move |value| {
                    (switch.set)(&mut config, value);
                    config
                })
            };
            configs = configs.iter().flat_map(with).collect();
        }
        Ok(configs)
    }

    /// The values of a switch that are compared, with commas between; `None`: that of the profile.
    pub(super) fn shown(&self, key: Key, usual: &CmtConfig) -> Option<String> {
        let switch = TABLE.iter().find(|switch| switch.key == key)?;
        let mut names: Vec<String> = Vec::new();
        for config in &self.configs {
            let name = (switch.show)(config);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        (names != [(switch.show)(usual)]).then(|| names.join(","))
    }
}

impl Switch {
    fn values(&self, lists: &[Given], usual: &CmtConfig) -> Result<Vec<String>, InputError> {
        let names = (self.names)();
        let every: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        chosen(lists, vec![(self.show)(usual)], &every, |word| {
            let mut config = CmtConfig::default();
            if (self.set)(&mut config, word) {
                return Ok((self.show)(&config));
            }
            let problem = format!("unknown {} `{word}` of CMT-SCTP", self.kind);
            let help = match self.key {
                Key::ReschedThreshold => "write a number from 0 to 1".to_owned(),
                Key::CcGroups => "write a digit for each path: `0:0:1`".to_owned(),
                _ => nearest_help(word, &names),
            };
            Err((problem, help))
        })
    }
}

/// The scheduler in the name of a variant: `send-all`, `send-all:key=space`.
pub(super) fn scheduler_name(key: SendAllKey) -> String {
    match key == SendAllKey::default() {
        true => SEND_ALL.to_owned(),
        false => format!("{SEND_ALL}:{KEY}={}", key.name()),
    }
}

/// The parts of a variant's name for the switches that are not those of the profile.
pub(super) fn deviations(config: &CmtConfig, usual: &CmtConfig) -> Vec<String> {
    let differs = |switch: &&Switch| (switch.show)(config) != (switch.show)(usual);
    let part = |switch: &Switch| format!("{}={}", switch.key.row().name, (switch.show)(config));
    TABLE.iter().filter(differs).map(part).collect()
}

/// `send-all` with its parameter; `None`: another scheduler.
pub(super) fn send_all(word: &str) -> Option<Result<SendAllKey, Complaint>> {
    let (name, set) = match word.split_once(':') {
        Some((name, set)) => (name.trim(), Some(set.trim())),
        None => (word.trim(), None),
    };
    let is_named = name.replace('_', "-").eq_ignore_ascii_case(SEND_ALL);
    is_named.then(|| match set {
        None => Ok(SendAllKey::default()),
        Some(set) => key(set),
    })
}

fn key(set: &str) -> Result<SendAllKey, Complaint> {
    let names = SendAllKey::ALL.map(|(_, name, _)| name);
    let Some(("key", value)) = set.split_once('=').map(|(name, value)| (name.trim(), value.trim()))
    else {
        let help = format!("write `{SEND_ALL}:{KEY}=VALUE` with one of {}", names.join(", "));
        return Err((format!("`{set}` is no parameter of `{SEND_ALL}`"), help));
    };
    SendAllKey::by_name(value).ok_or_else(|| {
        (format!("unknown key `{value}` of `{SEND_ALL}`"), nearest_help(value, &names))
    })
}

/// Whether CMT-SCTP has this congestion control: a law for windows in bytes.
pub(super) fn has(control: &ControllerChoice) -> bool {
    control.make_over_bytes(1).is_some()
}

/// The reason why a scheduler of `mptcp` is none of `cmt-sctp`.
pub(super) fn no_scheduler(name: &str, why: SchedulerRefusal) -> Refused {
    Refused {
        problem: format!("cmt-sctp has no scheduler `{name}`: {}", why.reason()),
        help: format!("write `{SEND_ALL}`, or add `mptcp` to the protocols"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::tests::{names, refused, resolve};
    use crate::scenario::{file, variants_of};

    const CMT: (Key, &str) = (Key::Protocols, "cmt-sctp");

    #[test]
    fn groups_of_nonexistent_paths_are_refused() {
        let groups = |text| [CMT, (Key::CcGroups, text)];
        refused(&groups("0:1,0:1:2:3"), &["`0:1:2:3` has 4 numbers, and there are 2 paths"]);
        let expected = ["cmt-sctp/send-all/reno", "cmt-sctp/send-all/reno/cc-groups=0:1"];
        assert_eq!(names(&groups("0,0:1")), expected);
    }

    #[test]
    fn names_have_what_differs_from_the_profile() {
        assert_eq!(names(&[CMT]), ["cmt-sctp/send-all/reno"]);
        let lists = [
            CMT,
            (Key::Schedulers, "send-all,send-all:key=largestSpace"),
            (Key::RtxPolicy, "rtt,next"),
        ];
        let expected = [
            "cmt-sctp/send-all/reno",
            "cmt-sctp/send-all/reno/next",
            "cmt-sctp/send-all:key=space/reno",
            "cmt-sctp/send-all:key=space/reno/next",
        ];
        assert_eq!(names(&lists), expected);
        let switches = [CMT, (Key::Sfr, "on,off"), (Key::PathMode, "mesh"), (Key::Cuc, "v1")];
        let expected = [
            "cmt-sctp/send-all/reno/path-mode=mesh/cuc=v1",
            "cmt-sctp/send-all/reno/path-mode=mesh/sfr=off/cuc=v1",
        ];
        assert_eq!(names(&switches), expected);
        // lab003 has no DAC.
        let profile = [CMT, (Key::SctpProfile, "lab003"), (Key::Dac, "off,1")];
        assert_eq!(names(&profile), ["cmt-sctp/send-all/lia", "cmt-sctp/send-all/lia/dac=on"]);
        assert_eq!(resolve(&profile).unwrap().choices.sctp.cmt.configs.len(), 2);
    }

    #[test]
    fn each_protocol_takes_the_schedulers_that_it_has() {
        let both = [(Key::Protocols, "mptcp,cmt-sctp"), (Key::Schedulers, "ecf,send-all")];
        let expected = ["mptcp/ecf/cubic", "cmt-sctp/send-all/reno", "cmt-sctp/ecf/reno"];
        assert_eq!(names(&both), expected);
        let both = [both[0], (Key::Schedulers, "redundant,send-all")];
        assert_eq!(names(&both), ["mptcp/redundant/cubic", "cmt-sctp/send-all/reno"]);
        let notes = resolve(&both).unwrap().notes;
        let skipped = |note: &String| note.contains("skipped `redundant` with cmt-sctp");
        assert!(notes.iter().any(skipped), "{notes:?}");
        assert_eq!(names(&[CMT, (Key::Schedulers, "rr")]), ["cmt-sctp/rr/reno"]);
        let coupled = [(Key::Protocols, "cmt-sctp"), (Key::Cc, "reno,cubic")];
        assert_eq!(names(&coupled), ["cmt-sctp/send-all/reno"]);
    }

    #[test]
    fn study_is_read_back_from_its_file() {
        let said = [
            (Key::Protocols, "mptcp,cmt-sctp"),
            (Key::Schedulers, "lrf,send-all:key=space"),
            (Key::BufferSplit, "none,bothSides"),
        ];
        let text = resolve(&said).unwrap().to_toml();
        assert!(text.contains("schedulers = \"lrf,send-all:key=space\""), "{text}");
        assert!(text.contains("buffer-split = \"none,both\""), "{text}");
        assert!(!text.contains("sfr"), "{text}");
    }

    /// Regression: the default scheduler of MPTCP was written, and CMT-SCTP took it from the file.
    #[test]
    fn file_of_a_study_has_the_same_variants() {
        let both = (Key::Protocols, "mptcp,cmt-sctp");
        let old = (Key::Profile, "linux-4.1");
        for said in [
            vec![both],
            vec![both, old],
            vec![both, old, (Key::Schedulers, "lrf")],
            vec![both, old, (Key::Schedulers, "lrf,send-all:key=space")],
            vec![both, (Key::Schedulers, "linux,ecf")],
            vec![both, (Key::Schedulers, "send-all:key=normal")],
            vec![CMT, (Key::Schedulers, "lrf,send-all"), (Key::Sfr, "on,off")],
            vec![CMT, (Key::SctpProfile, "lab003"), (Key::RtxPolicy, "cwnd,rtt")],
        ] {
            let text = resolve(&said).unwrap().to_toml();
            let again = file::parse("study.toml", text.clone()).and_then(|file| file.resolve());
            let again = variants_of(&again.unwrap_or_else(|error| panic!("{text}\n{error}")));
            let again: Vec<String> = again.into_iter().map(|variant| variant.name).collect();
            assert_eq!(again, names(&said), "{text}");
        }
    }

    /// As MPTCP flows do; the description in a file is the same.
    #[test]
    fn flow_names_its_scheduler() {
        for scheduler in ["ecf", "otias", "send-all:key=space", "wrr:3,1"] {
            let flow = format!("x=cmt-sctp on a,b scheduler {scheduler}");
            let scenario = resolve(&[(Key::Flow, &flow)]).expect("a scenario");
            let (key, chosen) = &scenario.flows[0].concurrent;
            let shown = chosen.as_ref().map_or_else(|| scheduler_name(*key), ToString::to_string);
            assert_eq!(shown, scheduler);
            assert!(scenario.to_toml().contains(&format!("scheduler {scheduler}")), "{scheduler}");
        }
    }

    #[test]
    fn lab003_takes_lia_unless_another_control_is_named() {
        let lab = [CMT, (Key::SctpProfile, "lab003")];
        assert_eq!(names(&lab), ["cmt-sctp/send-all/lia"]);
        let reno = [&lab[..], &[(Key::Cc, "reno")]].concat();
        assert_eq!(names(&reno), ["cmt-sctp/send-all/reno"]);
        let notes = resolve(&lab).expect("a scenario").notes;
        let note = "cmt-sctp has no `cubic`: it takes `lia`";
        assert!(notes.iter().any(|said| said == note), "{notes:?}");
        assert_eq!(names(&[CMT, (Key::SctpProfile, "bsd")]), ["cmt-sctp/send-all/reno"]);
    }

    /// Regression: the variant had the name, and the parameter had no effect.
    #[test]
    fn controls_with_parameters_are_those_of_mptcp() {
        let lisa = [CMT, (Key::Cc, "lia,lia:lisa=1")];
        assert_eq!(names(&lisa), ["cmt-sctp/send-all/lia"]);
        let notes = resolve(&lisa).expect("a scenario").notes;
        let note = "skipped `lia:lisa=1` with cmt-sctp, which lacks it";
        assert!(notes.iter().any(|said| said == note), "{notes:?}");
        let flow = "x=cmt-sctp on a,b cc olia:min-ssthresh=1";
        refused(&[(Key::Flow, flow)], &["CMT-SCTP has no `olia:min-ssthresh=1`"]);
    }

    #[test]
    fn schedulers_that_bind_and_path_policies_are_in_names() {
        let bound = [CMT, (Key::Schedulers, "daps,otias,linux,sttf")];
        let expected =
            ["daps", "otias", "linux", "sttf"].map(|name| format!("cmt-sctp/{name}/reno"));
        assert_eq!(names(&bound), expected);
        let policies = [CMT, (Key::Policy, "none,drepas:interval=2s"), (Key::Failover, "pmr")];
        let expected =
            ["cmt-sctp/send-all/reno/pmr", "cmt-sctp/send-all/reno/drepas:interval=2s/pmr"];
        assert_eq!(names(&policies), expected);
        let scenario = resolve(&policies).expect("a scenario");
        assert!(scenario.to_toml().contains("drepas:interval=2s"), "{}", scenario.to_toml());
    }

    #[test]
    fn what_cmt_cannot_do_is_refused_with_a_remedy() {
        let copies = [CMT, (Key::Schedulers, "redundant")];
        refused(&copies, &["cmt-sctp has no scheduler `redundant`: it copies", "send-all"]);
        refused(&[(Key::Schedulers, "send-all")], &["scheduler of cmt-sctp", "add `cmt-sctp`"]);
        refused(&[CMT, (Key::Schedulers, "send-all:key=fast")], &["unknown key `fast`", "last-tx"]);
        refused(&[CMT, (Key::Schedulers, "send-all:3")], &["`3` is no parameter", "key=VALUE"]);
        refused(&[(Key::Sfr, "off")], &["--sfr", "add `cmt-sctp` to the protocols"]);
        refused(&[CMT, (Key::Cuc, "v3")], &["unknown rule of CUC `v3`", "normal, v1, v2"]);
        refused(&[CMT, (Key::Dac, "on,on")], &["given twice"]);
        refused(&[CMT, (Key::PathManagers, "fullmesh")], &["add `mptcp` to the protocols"]);
        refused(&[(Key::Flow, "x=cmt-sctp on a")], &["uses several paths", "write `sctp`"]);
        let copies = "x=cmt-sctp on a,b scheduler redundant";
        refused(
            &[(Key::Flow, copies)],
            &["cmt-sctp has no scheduler `redundant`", "write `send-all`"],
        );
        let order = "x=mptcp on a,b scheduler send-all";
        refused(&[(Key::Flow, order)], &["`send-all` is a scheduler of cmt-sctp"]);
        refused(&[(Key::Flow, "x=cmt-sctp on a,b cc cubic")], &["CMT-SCTP has no `cubic`"]);
        let one = Options::default()
            .with(Key::Path, "a=rate 10mbit")
            .with(Key::Traffic, "bulk:10s")
            .with(Key::Protocols, "cmt-sctp");
        let message = one.resolve().unwrap_err().to_string();
        assert!(message.contains("add a path, or write `sctp`"), "{message}");
    }
}
