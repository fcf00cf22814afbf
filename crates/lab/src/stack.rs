//! Stacks that carry the traffic over emulated links: `kernel-tcp` and `kernel-mptcp` of this
//! machine's kernel, and `anabranch`, the engine.
//!
//! The variants of a kernel have the names of the simulator's with the prefix `kernel-`, so that
//! each has a counterpart. `linux` runs them.

use crate::error::{Given, InputError, Refusal};
use crate::scenario::{Carrier, Choices, Protocol, Scenario, Variant, variants_of};
use crate::words::nearest_help;
use transport::path_manager::PathManagerKind;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;

/// A protocol implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackKind {
    /// The kernel's TCP, over each path alone.
    KernelTcp,
    /// The kernel's MPTCP, over all paths together.
    KernelMptcp,
    /// The engine, in every variant of the scenario.
    Anabranch,
}

impl StackKind {
    /// All of them.
    pub const ALL: [StackKind; 3] =
        [StackKind::KernelTcp, StackKind::KernelMptcp, StackKind::Anabranch];

    /// Spelling in `--stack`.
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
                let problem = format!("unknown stack `{word}`");
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

/// All variants of the scenario that `stacks` support, in their order. A kernel has no coupled
/// congestion control.
pub fn emulated_of(scenario: &Scenario, stacks: &[StackKind]) -> Vec<Emulated> {
    stacks.iter().flat_map(|stack| of(scenario, *stack)).collect()
}

fn of(scenario: &Scenario, stack: StackKind) -> Vec<Emulated> {
    let named = |variant: Variant| {
        let name = match (stack, &variant.carrier) {
            (StackKind::Anabranch, _) => variant.name.clone(),
            (_, Carrier::Single { .. } | Carrier::Multihomed { .. }) => {
                format!("kernel-{}", variant.name)
            }
            (_, Carrier::Multipath { .. }) => {
                format!("kernel-mptcp/default/{}", variant.congestion)
            }
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

/// The choices that a kernel's MPTCP supports.
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
