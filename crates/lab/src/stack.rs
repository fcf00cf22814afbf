//! Stacks that carry the traffic over emulated links: `kernel-tcp` and `kernel-mptcp` of this
//! machine's kernel, `anabranch`, the engine, `anabranch-sctp`, its SCTP alone, and `usrsctp`.
//!
//! The variants of a kernel have the names of the simulator's with the prefix `kernel-`, those of
//! usrsctp with `usr`, so that each has a counterpart. `linux` runs them.

use crate::error::{Given, InputError, Refusal};
use crate::scenario::{
    Carrier, Choices, Primary, Protocol, Scenario, SenderSwitches, Variant, variants_of,
};
use crate::words::nearest_help;
use traffic::Traffic;
use transport::congestion::ControllerChoice;
use transport::path_manager::PathManagerKind;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;
use transport::sctp::RtxPolicy;

/// A protocol implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackKind {
    /// The kernel's TCP, over each path alone.
    KernelTcp,
    /// The kernel's MPTCP, over all paths together.
    KernelMptcp,
    /// The engine, in every variant of the scenario.
    Anabranch,
    /// The engine, in every variant of SCTP.
    AnabranchSctp,
    /// usrsctp, over each path alone and over all in turn.
    Usrsctp,
}

impl StackKind {
    /// All of them.
    pub const ALL: [StackKind; 5] = [
        StackKind::KernelTcp,
        StackKind::KernelMptcp,
        StackKind::Anabranch,
        StackKind::AnabranchSctp,
        StackKind::Usrsctp,
    ];

    /// Spelling in `--stack`.
    pub const fn name(self) -> &'static str {
        match self {
            StackKind::KernelTcp => "kernel-tcp",
            StackKind::KernelMptcp => "kernel-mptcp",
            StackKind::Anabranch => "anabranch",
            StackKind::AnabranchSctp => "anabranch-sctp",
            StackKind::Usrsctp => "usrsctp",
        }
    }

    /// Protocols that it carries where none are chosen.
    const fn usual(self) -> &'static [Protocol] {
        match self {
            StackKind::KernelTcp => &[Protocol::Tcp],
            StackKind::KernelMptcp => &[Protocol::Mptcp],
            // Those of both kernels.
            StackKind::Anabranch => &[Protocol::Tcp, Protocol::Mptcp],
            StackKind::AnabranchSctp | StackKind::Usrsctp => &[Protocol::Sctp],
        }
    }

    /// Whether it can carry the protocol.
    pub fn carries(self, protocol: Protocol) -> bool {
        match self {
            StackKind::Anabranch => protocol != Protocol::Udp,
            StackKind::AnabranchSctp => protocol.is_sctp(),
            _ => self.usual().contains(&protocol),
        }
    }

    /// The protocols of a scenario that names none, for these stacks; empty: the usual ones, as
    /// kernels do not depend on them.
    pub fn protocols_of(stacks: &[StackKind]) -> Vec<Protocol> {
        let of_kernels = [StackKind::KernelTcp, StackKind::KernelMptcp];
        if stacks.iter().all(|stack| of_kernels.contains(stack)) {
            return Vec::new();
        }
        let wanted =
            |protocol: &Protocol| stacks.iter().any(|stack| stack.usual().contains(protocol));
        Protocol::ALL.into_iter().filter(wanted).collect()
    }

    /// The stack of that name.
    pub fn by_name(name: &str) -> Option<StackKind> {
        StackKind::ALL.into_iter().find(|stack| stack.name() == name)
    }

    /// The stacks in a list with commas.
    pub fn parse_list(given: &Given) -> Result<Vec<StackKind>, InputError> {
        let mut stacks = Vec::new();
        for (span, word) in given.split_at_commas() {
            let Some(stack) = StackKind::by_name(word) else {
                let help = nearest_help(word, &StackKind::ALL.map(StackKind::name));
                let problem = format!("unknown stack `{word}`");
                return Err(given.refuse(Refusal { span, problem, help }));
            };
            if stacks.contains(&stack) {
                let (problem, help) = (format!("`{word}` is given twice"), "keep one".to_owned());
                return Err(given.refuse(Refusal { span, problem, help }));
            }
            stacks.push(stack);
        }
        Ok(stacks)
    }
}

/// Refuses protocols that were chosen, in `given`, of which these stacks carry none, and stacks of
/// SCTP where it was not chosen.
pub fn check_protocols(
    given: &Given,
    chosen: &[Protocol],
    stacks: &[StackKind],
) -> Result<(), InputError> {
    if chosen.contains(&Protocol::Udp) {
        let help = "leave `udp` out, or use `anabranch compare`";
        return Err(given.refuse_whole("UDP is compared in simulations only", help));
    }
    let is_lacking = |protocol: &&Protocol| {
        protocol.is_sctp() && !stacks.iter().any(|stack| stack.carries(**protocol))
    };
    if let Some(protocol) = chosen.iter().find(is_lacking) {
        let names: Vec<&str> = stacks.iter().map(|stack| stack.name()).collect();
        let problem = format!("no stack of {} carries {}", names.join(", "), protocol.name());
        let of_chosen = |protocol: &Protocol| match protocol {
            // UDP was refused.
            Protocol::Tcp | Protocol::Udp => "kernel-tcp",
            Protocol::Mptcp => "kernel-mptcp",
            Protocol::Sctp => "anabranch-sctp,usrsctp",
            Protocol::CmtSctp => "anabranch-sctp",
        };
        let names: Vec<&str> = chosen.iter().map(of_chosen).collect();
        return Err(given.refuse_whole(problem, format!("add `--stack {}`", names.join(","))));
    }
    let of_sctp = [StackKind::AnabranchSctp, StackKind::Usrsctp];
    match stacks.iter().find(|stack| of_sctp.contains(stack)) {
        Some(stack) if !chosen.iter().any(|protocol| stack.carries(*protocol)) => {
            let problem =
                format!("the stack {} carries sctp, which is not among them", stack.name());
            let names: Vec<&str> = chosen.iter().map(|protocol| protocol.name()).collect();
            let help = format!("write `--protocols {},sctp`, or leave it out", names.join(","));
            Err(given.refuse_whole(problem, help))
        }
        _ => Ok(()),
    }
}

/// Refuses a scenario with traffic or choices that a stack of the list in `given` does not have.
pub fn check_stacks(
    given: &Given,
    stacks: &[StackKind],
    scenario: &Scenario,
) -> Result<(), InputError> {
    let refuse = |problem: &str, help: &str| Err(given.refuse_whole(problem, help));
    if stacks.contains(&StackKind::Usrsctp) {
        if !matches!(scenario.traffic, Traffic::BulkSize(_) | Traffic::BulkTime(_)) {
            let help = "use `--traffic bulk:4MiB` or `bulk:10s`, or write anabranch-sctp in place \
                        of usrsctp";
            return refuse("usrsctp carries `bulk` only", help);
        }
        if scenario.choices.sctp.interleaving {
            let help = "leave `--interleaving` out, or write anabranch-sctp in place of usrsctp";
            return refuse("usrsctp carries one stream, which I-DATA is of no use for", help);
        }
    }
    let is_foreign =
        |stack: &&StackKind| !matches!(stack, StackKind::Anabranch | StackKind::AnabranchSctp);
    if let Some(stack) = stacks.iter().find(is_foreign)
        && scenario.ends.sender != SenderSwitches::default()
    {
        let problem = format!(
            "the stack {} takes none of --ssthresh, --nagle, --pacing and --hystart",
            stack.name()
        );
        return refuse(&problem, "leave them out, or write `--stack anabranch`");
    }
    if emulated_of(scenario, stacks).is_empty() {
        let help = "kernels have no coupled congestion control: use --cc cubic,reno, or add \
            --stack anabranch";
        return refuse("none of these stacks supports any of the requested variants", help);
    }
    Ok(())
}

/// A variant on emulated links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Emulated {
    /// `kernel-tcp/wlan/cubic`, `kernel-mptcp/default/reno`, `usrsctp/wlan/reno`, or as the
    /// simulator names it.
    pub name: String,
    /// The stack.
    pub stack: StackKind,
    /// The same variant in the engine.
    pub variant: Variant,
}

impl Emulated {
    /// The variant with its name for emulated links.
    pub fn into_variant(self) -> Variant {
        Variant { name: self.name, ..self.variant }
    }
}

/// All variants of the scenario that `stacks` support, in their order, each once. A kernel has no
/// coupled congestion control, usrsctp has `reno` and its own choice of the path of
/// retransmissions.
pub fn emulated_of(scenario: &Scenario, stacks: &[StackKind]) -> Vec<Emulated> {
    let mut all: Vec<Emulated> = Vec::new();
    for emulated in stacks.iter().flat_map(|stack| of(scenario, *stack)) {
        if all.iter().all(|known| known.name != emulated.name) {
            all.push(emulated);
        }
    }
    all
}

fn of(scenario: &Scenario, stack: StackKind) -> Vec<Emulated> {
    let named = |variant: Variant| {
        let name = match (stack, &variant.carrier) {
            (StackKind::Anabranch | StackKind::AnabranchSctp, _) => variant.name.clone(),
            (StackKind::Usrsctp, _) => format!("usr{}", variant.name),
            (_, Carrier::Multipath { .. }) => {
                format!("kernel-mptcp/default/{}", variant.congestion)
            }
            _ => format!("kernel-{}", variant.name),
        };
        Emulated { name, stack, variant }
    };
    let mut scenario = scenario.clone();
    match stack {
        StackKind::Anabranch => {}
        StackKind::AnabranchSctp => {
            scenario.choices.protocols.retain(|protocol| protocol.is_sctp());
        }
        StackKind::Usrsctp => {
            let choices = &mut scenario.choices;
            choices.protocols = vec![Protocol::Sctp];
            choices.sctp.congestion.retain(|control| *control == ControllerChoice::RENO);
            if !choices.sctp.policies(RtxPolicy::default()).contains(&RtxPolicy::default()) {
                choices.sctp.congestion.clear();
            }
            choices.sctp.rtx_policies = vec![RtxPolicy::default()];
        }
        StackKind::KernelTcp => scenario.choices.protocols = vec![Protocol::Tcp],
        StackKind::KernelMptcp => scenario.choices = kernel_choices(scenario.choices),
    }
    variants_of(&scenario).into_iter().map(named).collect()
}

/// The choices that a kernel's MPTCP supports.
fn kernel_choices(choices: Choices) -> Choices {
    let uncoupled = choices.congestion.iter().filter(|control| !control.is_coupled());
    Choices {
        protocols: vec![Protocol::Mptcp],
        schedulers: vec![SchedulerChoice::linux()],
        // A subflow on every path, and no announcement, as the emulated kernels are set up.
        path_managers: vec![PathManagerKind::Kernel],
        primaries: vec![Primary::First],
        policies: vec![PolicyChoice::NONE],
        failovers: Vec::new(),
        congestion: uncoupled.cloned().collect(),
        ..choices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::scenario::Key;

    fn scenario(options: &[(Key, &str)]) -> Scenario {
        let paths = ["a=rate 9mbit delay 9ms", "b=rate 9mbit delay 9ms"];
        let with = |all: Options, (key, text): (Key, &str)| all.with(key, text);
        let of_paths = paths.map(|path| (Key::Path, path));
        let all = of_paths.into_iter().chain([(Key::Traffic, "bulk:1MiB")]);
        let all = all.chain(options.iter().copied()).fold(Options::default(), with);
        all.resolve().expect("a scenario")
    }

    fn names(options: &[(Key, &str)], stacks: &[StackKind]) -> Vec<String> {
        emulated_of(&scenario(options), stacks).into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn stacks_of_sctp_have_each_path_and_all_of_them() {
        let sctp = (Key::Protocols, "sctp");
        let both = [StackKind::AnabranchSctp, StackKind::Usrsctp];
        let single = ["sctp/a/reno", "sctp/b/reno", "sctp/multihomed/reno"];
        let usrsctp = single.map(|name| format!("usr{name}"));
        assert_eq!(names(&[sctp], &both), [&single.map(str::to_owned)[..], &usrsctp].concat());
        let engine = [StackKind::Anabranch, StackKind::AnabranchSctp];
        assert_eq!(names(&[sctp], &engine), single, "each once");
        // What usrsctp does not have is the engine's alone.
        let policy = (Key::RtxPolicy, "next,rtt");
        assert_eq!(names(&[sctp, policy], &[StackKind::Usrsctp]), usrsctp);
    }

    #[test]
    fn protocols_follow_from_the_stacks_where_none_are_chosen() {
        let of = |text: &str| {
            let stacks = StackKind::parse_list(&Given::argument("--stack", text)).expect("stacks");
            let names = StackKind::protocols_of(&stacks);
            names.iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(",")
        };
        assert_eq!(of("kernel-tcp,kernel-mptcp"), "");
        assert_eq!(of("anabranch,kernel-tcp"), "tcp,mptcp");
        assert_eq!(of("usrsctp,anabranch-sctp"), "sctp");
        assert_eq!(of("kernel-tcp,usrsctp").split(',').count(), 2);
    }

    #[test]
    fn combinations_that_cannot_run_are_refused_with_what_to_write() {
        let protocols = |text: &str, chosen: &[Protocol], stacks: &[StackKind]| {
            let given = Given::argument("--protocols", text);
            check_protocols(&given, chosen, stacks).err().map(|refusal| refusal.to_string())
        };
        let (tcp, sctp) = (Protocol::Tcp, Protocol::Sctp);
        let kernels = [StackKind::KernelTcp, StackKind::KernelMptcp];
        let text = protocols("tcp,sctp", &[tcp, sctp], &kernels).expect("refused");
        assert!(text.contains("no stack of kernel-tcp, kernel-mptcp carries sctp"), "{text}");
        assert!(text.contains("`--stack kernel-tcp,anabranch-sctp,usrsctp`"), "{text}");
        let text = protocols("tcp", &[tcp], &[StackKind::Usrsctp]).expect("refused");
        assert!(text.contains("`--protocols tcp,sctp`"), "{text}");
        assert_eq!(protocols("tcp,sctp", &[tcp, sctp], &[StackKind::Anabranch]), None);
        assert_eq!(protocols("sctp", &[sctp], &[StackKind::Usrsctp]), None);
        let stacks = |options: &[(Key, &str)]| {
            let given = Given::argument("--stack", "usrsctp");
            let options = [&[(Key::Protocols, "sctp")], options].concat();
            let checked = check_stacks(&given, &[StackKind::Usrsctp], &scenario(&options));
            checked.err().map(|refusal| refusal.to_string())
        };
        assert_eq!(stacks(&[]), None);
        let text = stacks(&[(Key::Traffic, "video")]).expect("refused");
        assert!(text.contains("usrsctp carries `bulk` only"), "{text}");
        let text = stacks(&[(Key::Interleaving, "on")]).expect("refused");
        assert!(text.contains("leave `--interleaving` out"), "{text}");
    }
}
