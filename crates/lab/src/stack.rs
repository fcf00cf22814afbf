//! Stacks: whose protocol carries the traffic where links are emulated. `kernel-tcp` and
//! `kernel-mptcp` are this machine's kernel, `anabranch` is our engine.
//!
//! A kernel's variants are named like ours with `kernel-` before them, so that each has one of the
//! simulator beside it. Carrying them out is left to `linux`.

use crate::error::{Given, InputError, Refusal};
use crate::scenario::{Carrier, Choices, Protocol, Scenario, Variant, variants_of};
use crate::words::nearest_help;
use transport::path_manager::PathManagerKind;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;

/// Whose protocol it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackKind {
    /// The kernel's TCP, over each path alone.
    KernelTcp,
    /// The kernel's MPTCP, over all paths together.
    KernelMptcp,
    /// Our engine, in every variant of the scenario.
    Anabranch,
}

impl StackKind {
    /// All of them.
    pub const ALL: [StackKind; 3] =
        [StackKind::KernelTcp, StackKind::KernelMptcp, StackKind::Anabranch];

    /// As `--stack` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            StackKind::KernelTcp => "kernel-tcp",
            StackKind::KernelMptcp => "kernel-mptcp",
            StackKind::Anabranch => "anabranch",
        }
    }

    /// The stack of that name.
    pub fn by_name(name: &str) -> Option<StackKind> {
        StackKind::ALL.into_iter().find(|stack| stack.name() == name)
    }

    /// The stacks in a list with commas, each once.
    pub fn parse_list(given: &Given) -> Result<Vec<StackKind>, InputError> {
        let mut stacks = Vec::new();
        for (span, word) in given.split_at_commas() {
            let Some(stack) = StackKind::by_name(word) else {
                let help = nearest_help(word, &StackKind::ALL.map(StackKind::name));
                let problem = format!("there is no stack `{word}`");
                return Err(given.refuse(Refusal { span, problem, help }));
            };
            if !stacks.contains(&stack) {
                stacks.push(stack);
            }
        }
        Ok(stacks)
    }
}

/// A variant on emulated links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Emulated {
    /// `kernel-tcp/wlan/cubic`, `kernel-mptcp/default/reno`, or as the simulator names it.
    pub name: String,
    /// Whose protocol.
    pub stack: StackKind,
    /// The same in our engine.
    pub variant: Variant,
}

impl Emulated {
    /// The variant under the name it has on emulated links.
    pub fn into_variant(self) -> Variant {
        Variant { name: self.name, ..self.variant }
    }
}

/// Everything that `stacks` can do of the scenario, in their order. A kernel has no coupled
/// congestion control.
pub fn emulated_of(scenario: &Scenario, stacks: &[StackKind]) -> Vec<Emulated> {
    stacks.iter().flat_map(|stack| of(scenario, *stack)).collect()
}

fn of(scenario: &Scenario, stack: StackKind) -> Vec<Emulated> {
    let named = |variant: Variant| {
        let name = match (stack, &variant.carrier) {
            (StackKind::Anabranch, _) => variant.name.clone(),
            (_, Carrier::Tcp { .. }) => format!("kernel-{}", variant.name),
            (_, Carrier::Mptcp { .. }) => format!("kernel-mptcp/default/{}", variant.congestion),
        };
        Emulated { name, stack, variant }
    };
    let mut scenario = scenario.clone();
    match stack {
        StackKind::Anabranch => {}
        StackKind::KernelTcp => scenario.choices.protocols = vec![Protocol::Tcp],
        StackKind::KernelMptcp => scenario.choices = kernel_choices(scenario.choices),
    }
    variants_of(&scenario).into_iter().map(named).collect()
}

/// What a kernel's MPTCP does of these choices.
fn kernel_choices(choices: Choices) -> Choices {
    let uncoupled = choices.congestion.iter().filter(|control| !control.is_coupled());
    Choices {
        protocols: vec![Protocol::Mptcp],
        schedulers: vec![SchedulerChoice::linux()],
        path_managers: vec![PathManagerKind::default()],
        policies: vec![PolicyChoice::NONE],
        failovers: Vec::new(),
        congestion: uncoupled.cloned().collect(),
        ..choices
    }
}
