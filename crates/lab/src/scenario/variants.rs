//! Variants: one way of carrying the traffic, by name `tcp/PATH/CC`, `sctp/PATH/CC`, `udp/PATH`,
//! `mptcp/SCHEDULER/CC[/PM][/POLICY][/FAILOVER]`, `sctp/multihomed/CC[/FAILOVER][/RETRANSMISSION]`
//! or `cmt-sctp/SCHEDULER/CC[/FAILOVER][/RETRANSMISSION][/SWITCH=VALUE]...`; those over several
//! paths end with `/primary=PATH` unless they begin with the first one.

pub use transport::Protocol;

use super::Scenario;
use super::cmt::{self, SEND_ALL, deviations, scheduler_name};
use super::primary::Primary;
use super::sctp::{MULTIHOMED, SctpFailover};
use crate::path_spec::PathSpec;
use transport::Failover;
use transport::congestion::ControllerChoice;
use transport::path_manager::PathManagerKind;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;
use transport::sctp::RtxPolicy;
use transport::sctp::cmt::{CmtConfig, SendAllKey};

/// One combination of choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// `tcp/wlan/cubic`, `mptcp/lrf/lia`.
    pub name: String,
    /// Protocol and paths.
    pub carrier: Carrier,
    /// Its congestion control; UDP has none.
    pub congestion: ControllerChoice,
    /// The path that it begins with, if it may use several.
    pub primary: Primary,
}

/// A protocol with its choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// One path.
    Single {
        /// Protocol of the connections.
        protocol: Protocol,
        /// Index of the path.
        path: usize,
    },
    /// All paths at once.
    Multipath {
        /// Protocol of the connections.
        protocol: Protocol,
        /// Scheduler.
        scheduler: SchedulerChoice,
        /// Path manager.
        path_manager: PathManagerKind,
        /// Path policy.
        policy: PolicyChoice,
        /// Fail-over rule.
        failover: Failover,
    },
    /// An association over all paths.
    Multihomed {
        /// Data on all paths at once (CMT-SCTP); `None`: on one at a time (SCTP).
        cmt: Option<CmtConfig>,
        /// The scheduler of MPTCP that chooses the path of new data; `None`: `send-all`.
        scheduler: Option<SchedulerChoice>,
        /// Path policy.
        policy: PolicyChoice,
        /// Fail-over rule.
        failover: SctpFailover,
        /// Path of retransmissions after a time-out.
        rtx_policy: RtxPolicy,
    },
}

/// Protocols whose variants are compared with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// TCP and MPTCP; UDP is compared with these.
    Tcp,
    /// SCTP.
    Sctp,
}

impl Family {
    /// Both families.
    pub const ALL: [Family; 2] = [Family::Tcp, Family::Sctp];

    /// The family of a protocol.
    pub const fn of(protocol: Protocol) -> Family {
        match protocol {
            Protocol::Tcp | Protocol::Mptcp | Protocol::Udp => Family::Tcp,
            Protocol::Sctp | Protocol::CmtSctp => Family::Sctp,
        }
    }
}

impl Variant {
    /// Whether it sends over connections, which keep accounts of why nothing is sent.
    pub(crate) fn has_connection(&self) -> bool {
        self.protocol() != Protocol::Udp
    }

    /// Protocol of the variant.
    pub const fn protocol(&self) -> Protocol {
        match self.carrier {
            Carrier::Single { protocol, .. } | Carrier::Multipath { protocol, .. } => protocol,
            Carrier::Multihomed { cmt: None, .. } => Protocol::Sctp,
            Carrier::Multihomed { cmt: Some(_), .. } => Protocol::CmtSctp,
        }
    }

    /// Family of the variant.
    pub const fn family(&self) -> Family {
        Family::of(self.protocol())
    }

    /// Name of its congestion control, with parameters; `None` of UDP.
    pub fn control(&self) -> Option<String> {
        (self.protocol() != Protocol::Udp).then(|| self.congestion.to_string())
    }

    /// Index of the only path it uses; `None` if it may use all.
    pub const fn single_path(&self) -> Option<usize> {
        match self.carrier {
            Carrier::Single { path, .. } => Some(path),
            Carrier::Multipath { .. } | Carrier::Multihomed { .. } => None,
        }
    }

    /// Its scheduler, if it is one of MPTCP.
    pub const fn scheduler(&self) -> Option<&SchedulerChoice> {
        match &self.carrier {
            Carrier::Single { .. } | Carrier::Multihomed { .. } => None,
            Carrier::Multipath { scheduler, .. } => Some(scheduler),
        }
    }

    /// Its path manager, if it is one of MPTCP.
    pub const fn path_manager(&self) -> Option<PathManagerKind> {
        match &self.carrier {
            Carrier::Single { .. } | Carrier::Multihomed { .. } => None,
            Carrier::Multipath { path_manager, .. } => Some(*path_manager),
        }
    }

    /// Name of its scheduler, with parameters; `None`: it uses one path at a time.
    pub fn scheduler_name(&self) -> Option<String> {
        match &self.carrier {
            Carrier::Single { .. } | Carrier::Multihomed { cmt: None, .. } => None,
            Carrier::Multipath { scheduler, .. } => Some(scheduler.to_string()),
            Carrier::Multihomed { scheduler: Some(scheduler), .. } => Some(scheduler.to_string()),
            Carrier::Multihomed { cmt: Some(cmt), .. } => Some(scheduler_name(cmt.send_all)),
        }
    }

    /// Its scheduler and what it does; `None`: it is none of CMT-SCTP.
    pub fn scheduler_about(&self) -> Option<String> {
        let Carrier::Multihomed { cmt: Some(cmt), scheduler, .. } = &self.carrier else {
            return None;
        };
        if let Some(scheduler) = scheduler {
            let is_it = |(name, ..): &&(&str, &str, &str)| *name == scheduler.name();
            let about = transport::scheduler::NAMES.iter().find(is_it)?.1;
            return Some(format!("{scheduler}: {about}"));
        }
        let about = SendAllKey::ALL.iter().find(|(key, ..)| *key == cmt.send_all)?.2;
        Some(format!("{SEND_ALL}: {about}"))
    }

    /// Whether it uses several paths at once.
    pub const fn is_concurrent(&self) -> bool {
        matches!(self.carrier, Carrier::Multipath { .. } | Carrier::Multihomed { cmt: Some(_), .. })
    }

    /// Name of its fail-over rule; `None` for a single path.
    pub const fn failover(&self) -> Option<&'static str> {
        match self.carrier {
            Carrier::Single { .. } => None,
            Carrier::Multipath { failover, .. } => Some(failover.name()),
            Carrier::Multihomed { failover, .. } => Some(failover.name()),
        }
    }

    /// Its path policy; `None` without one.
    pub fn policy(&self) -> Option<&PolicyChoice> {
        match &self.carrier {
            Carrier::Multipath { policy, .. } | Carrier::Multihomed { policy, .. } => {
                (!policy.is_none()).then_some(policy)
            }
            Carrier::Single { .. } => None,
        }
    }
}

/// All variants to compare, in the order given.
pub fn variants_of(scenario: &Scenario) -> Vec<Variant> {
    let of = |protocol: Protocol| match protocol {
        Protocol::Mptcp => all_paths_together(scenario, protocol),
        Protocol::Tcp => each_path_alone(scenario, protocol, &scenario.choices.congestion),
        Protocol::Sctp => {
            let mut all = each_path_alone(scenario, protocol, &scenario.choices.sctp.congestion);
            all.extend(multihomed(scenario));
            all
        }
        Protocol::CmtSctp => concurrent(scenario),
        Protocol::Udp => datagrams(scenario),
    };
    let all = scenario.choices.protocols.iter().copied().flat_map(of);
    all.flat_map(|variant| begun(scenario, variant)).collect()
}

/// The variant with every path that it may begin with.
fn begun(scenario: &Scenario, variant: Variant) -> Vec<Variant> {
    if variant.single_path().is_some() {
        return vec![variant];
    }
    let suits = |primary: &Primary| primary.suits(variant.protocol());
    let mut primaries: Vec<Primary> =
        scenario.choices.primaries.iter().copied().filter(suits).collect();
    if primaries.is_empty() {
        primaries.push(Primary::First);
    }
    let with = |primary: Primary| {
        let mut variant = Variant { primary, ..variant.clone() };
        if primary != Primary::First {
            variant.name += &format!("/primary={}", primary.word(&scenario.paths));
        }
        if let Carrier::Multihomed { cmt: Some(cmt), .. } = &mut variant.carrier {
            cmt.prefers_fastest = primary == Primary::FastestHandshake;
        }
        variant
    };
    primaries.into_iter().map(with).collect()
}

/// Each path with every uncoupled congestion control.
fn each_path_alone(
    scenario: &Scenario,
    protocol: Protocol,
    controls: &[ControllerChoice],
) -> Vec<Variant> {
    let on_path = |path: usize| {
        let controls = controls.iter().filter(|control| !control.is_coupled());
        controls.map(move |cc| Variant {
            name: format!("{}/{}/{cc}", protocol.name(), scenario.paths[path].name),
            carrier: Carrier::Single { protocol, path },
            congestion: cc.clone(),
            primary: Primary::First,
        })
    };
    (0..scenario.paths.len()).flat_map(on_path).collect()
}

/// Each path with datagrams, which have no congestion control.
fn datagrams(scenario: &Scenario) -> Vec<Variant> {
    let protocol = Protocol::Udp;
    let on_path = |(path, spec): (usize, &PathSpec)| Variant {
        name: format!("{}/{}", protocol.name(), spec.name),
        carrier: Carrier::Single { protocol, path },
        congestion: ControllerChoice::default(),
        primary: Primary::First,
    };
    scenario.paths.iter().enumerate().map(on_path).collect()
}

/// Every congestion control of SCTP with every fail-over rule and retransmission policy; none with
/// a single path.
fn multihomed(scenario: &Scenario) -> Vec<Variant> {
    let sctp = &scenario.choices.sctp;
    let usual = SctpFailover::usual(sctp.profile);
    let mut variants = Vec::new();
    for congestion in sctp.congestion.iter().filter(|_| scenario.paths.len() > 1) {
        for failover in sctp.rules() {
            for rtx_policy in sctp.policies(RtxPolicy::default()) {
                let mut name = format!("{}/{MULTIHOMED}/{congestion}", Protocol::Sctp.name());
                let named = [
                    (failover != usual).then_some(failover.name()),
                    (rtx_policy != RtxPolicy::default()).then_some(rtx_policy.name()),
                ];
                for part in named.into_iter().flatten() {
                    name.push('/');
                    name.push_str(part);
                }
                let carrier = Carrier::Multihomed {
                    cmt: None,
                    scheduler: None,
                    policy: PolicyChoice::NONE,
                    failover,
                    rtx_policy,
                };
                let (congestion, primary) = (congestion.clone(), Primary::First);
                variants.push(Variant { name, carrier, congestion, primary });
            }
        }
    }
    variants
}

/// Every scheduler and congestion control of CMT-SCTP with every path policy, fail-over rule,
/// retransmission policy and combination of switches.
fn concurrent(scenario: &Scenario) -> Vec<Variant> {
    let sctp = &scenario.choices.sctp;
    let (rule, usual) = (SctpFailover::usual(sctp.profile), CmtConfig::of(sctp.profile));
    let usual_rtx = cmt::rtx_policy(sctp.profile);
    let mut variants = Vec::new();
    let orders = sctp.cmt.send_all.iter().map(|key| (*key, None));
    let schedulers = sctp.cmt.schedulers.iter().cloned().map(Some);
    let schedulers = schedulers.map(|scheduler| (SendAllKey::default(), scheduler));
    for (send_all, scheduler) in orders.chain(schedulers) {
        let named =
            scheduler.as_ref().map_or_else(|| scheduler_name(send_all), ToString::to_string);
        for congestion in &sctp.cmt.congestion {
            for policy in &scenario.choices.policies {
                for failover in sctp.rules() {
                    for rtx_policy in sctp.policies(usual_rtx) {
                        for config in &sctp.cmt.configs {
                            let parts = [
                                Some(Protocol::CmtSctp.name().to_owned()),
                                Some(named.clone()),
                                Some(congestion.to_string()),
                                (!policy.is_none()).then(|| policy.to_string()),
                                (failover != rule).then(|| failover.name().to_owned()),
                                (rtx_policy != usual_rtx).then(|| rtx_policy.name().to_owned()),
                            ];
                            let parts = parts.into_iter().flatten();
                            let parts = parts.chain(deviations(config, &usual));
                            let name = parts.collect::<Vec<_>>().join("/");
                            let carrier = Carrier::Multihomed {
                                cmt: Some(CmtConfig { send_all, ..*config }),
                                scheduler: scheduler.clone(),
                                policy: policy.clone(),
                                failover,
                                rtx_policy,
                            };
                            variants.push(Variant {
                                name,
                                carrier,
                                congestion: congestion.clone(),
                                primary: Primary::First,
                            });
                        }
                    }
                }
            }
        }
    }
    variants
}

/// Every scheduler with every congestion control, path manager, path policy and fail-over rule.
fn all_paths_together(scenario: &Scenario, protocol: Protocol) -> Vec<Variant> {
    let mut variants = Vec::new();
    for scheduler in &scenario.choices.schedulers {
        let usual = Failover::usual(scenario.ends.profile, scheduler);
        let rules = if scenario.choices.failovers.is_empty() {
            &[usual]
        } else {
            &scenario.choices.failovers[..]
        };
        for congestion in &scenario.choices.congestion {
            for &path_manager in &scenario.choices.path_managers {
                for policy in &scenario.choices.policies {
                    for &failover in rules {
                        let named = Some(failover).filter(|rule| *rule != usual);
                        let suffix = suffix(path_manager, policy, named);
                        let name = format!("{}/{scheduler}/{congestion}{suffix}", protocol.name());
                        let congestion = congestion.clone();
                        let (scheduler, policy) = (scheduler.clone(), policy.clone());
                        let carrier = Carrier::Multipath {
                            protocol,
                            scheduler,
                            path_manager,
                            policy,
                            failover,
                        };
                        let primary = Primary::First;
                        variants.push(Variant { name, carrier, congestion, primary });
                    }
                }
            }
        }
    }
    variants
}

/// Parts of a variant's name that are omitted for defaults.
fn suffix(
    path_manager: PathManagerKind,
    policy: &PolicyChoice,
    failover: Option<Failover>,
) -> String {
    let mut suffix = String::new();
    if path_manager != PathManagerKind::default() {
        suffix.push('/');
        suffix.push_str(&path_manager.to_string());
    }
    if !policy.is_none() {
        suffix.push('/');
        suffix.push_str(&policy.to_string());
    }
    if let Some(failover) = failover {
        suffix.push('/');
        suffix.push_str(failover.name());
    }
    suffix
}
