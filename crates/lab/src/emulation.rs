//! Runs a study in real time: kernels, the engine, or usrsctp, over emulated links.
//!
//! The scenario, the random draws of its links and the record of a run are those of a simulated
//! study. Time is that of the machine, so runs are carried out one after the other and cannot be
//! reproduced exactly. A run in which the emulator was late is repeated, three times at most, and
//! then marked as invalid. Links and sockets are left to `linux`, statistics to `report`.

use crate::delays::{self, Delay, Delays};
use crate::path_spec::PathSpec;
use crate::run::{DISTURBED, Run};
use crate::scenario::{DEFAULT_RUNS, Runs, Scenario};
use crate::series::{Quantity, Series, VariantSeries};
use crate::setup::{self, setup};
use crate::stack::{Emulated, StackKind, emulated_of};
use crate::study::{Stopped, Study, VariantRuns, Watcher};
use harness::Captures;
use linux::emulator::{Accuracy, EmulatedRun, measure};
use linux::sut::{
    KernelCounts, KernelSettings, SutQuantity, SutRun, SutSeries, SystemUnderTest, Usrsctp,
    run_emulated,
};
use linux::{Emulator, EmulatorConfig, LiveError};
use simulator::socket_config;
use traffic::Traffic;
use transport::ProtocolConfig;

/// The results of an emulated study.
#[derive(Clone, Debug)]
pub struct Emulation {
    /// The runs, invalid ones without a value.
    pub study: Study,
    /// Conduct by variant and run.
    pub conduct: Vec<Vec<Conduct>>,
    /// The accuracy of the emulator before the first run.
    pub accuracy: Accuracy,
    /// Delays of messages and objects.
    pub delays: Delays,
    /// Time series of the first repetition of every variant, from socket diagnosis.
    pub series: Vec<VariantSeries>,
}

/// Conduct of a run by the emulator.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conduct {
    /// Discarded attempts before it.
    pub disturbed: u32,
    /// Why the last attempt is invalid, if it is.
    pub fault: Option<String>,
    /// The congestion controls that the sender reported.
    pub congestion: Vec<String>,
    /// What the kernel counted.
    pub counts: KernelCounts,
}

/// Emulated links for single runs, in the order of the caller.
pub(crate) struct Bench {
    emulator: Emulator,
}

impl Bench {
    /// Hosts joined by the paths of the scenario.
    pub(crate) fn new(scenario: &Scenario) -> Result<Bench, LiveError> {
        let emulator = Emulator::start(&EmulatorConfig::new(names(scenario)))?;
        Ok(Bench { emulator })
    }

    /// Accuracy of the emulation of the scenario's first repetition.
    pub(crate) fn accuracy(&mut self, scenario: &Scenario) -> Result<Accuracy, LiveError> {
        measure(&mut self.emulator, &links(scenario, 0, false))
    }

    /// One repetition of one variant.
    pub(crate) fn run(
        &mut self,
        (scenario, emulated): (&Scenario, &Emulated),
        number: u64,
        usrsctp: Option<&Usrsctp>,
    ) -> Result<(Run, Conduct), LiveError> {
        let task = Task { scenario, emulated, number, capture: false, usrsctp };
        task.carry_out(&mut self.emulator).map(|done| (done.run, done.conduct))
    }
}

fn names(scenario: &Scenario) -> Vec<String> {
    scenario.paths.iter().map(|path| path.name.clone()).collect()
}

impl Emulation {
    /// Number of invalid runs.
    pub fn invalid(&self) -> usize {
        self.conduct.iter().flatten().filter(|conduct| conduct.fault.is_some()).count()
    }
}

/// Runs every repetition of all variants of the scenario that `stacks` support.
pub fn emulate(
    scenario: &Scenario,
    stacks: &[StackKind],
    watcher: &dyn Watcher,
) -> Result<Emulation, LiveError> {
    let variants = emulated_of(scenario, stacks);
    let compiled = stacks.contains(&StackKind::Usrsctp).then(Usrsctp::compile).transpose()?;
    let mut emulator = Emulator::start(&EmulatorConfig::new(names(scenario)))?;
    let accuracy = measure(&mut emulator, &links(scenario, 0, false))?;
    let study = Study {
        variants: variants.iter().map(without_runs).collect(),
        interrupted: false,
        stopped: Stopped::Runs,
    };
    let conduct = vec![Vec::new(); variants.len()];
    let mut emulation =
        Emulation { study, conduct, accuracy, delays: Delays::default(), series: Vec::new() };
    let runs = repetitions(scenario);
    watcher.on_plan(variants.len() * runs as usize);
    for number in 0..u64::from(runs) {
        let all = All { scenario, variants: &variants, usrsctp: compiled.as_ref() };
        let repetition = all.repeat(&mut emulator, number, watcher)?;
        let Some(repetition) = repetition else {
            emulation.study.interrupted = true;
            break;
        };
        for (index, done) in repetition.into_iter().enumerate() {
            let variant = &mut emulation.study.variants[index];
            emulation.delays.add(&variant.variant.name, done.delays);
            variant.runs.push(done.run);
            emulation.conduct[index].push(done.conduct);
            emulation.series.extend(done.series);
        }
    }
    Ok(emulation)
}

/// In real time the number of runs is fixed.
fn repetitions(scenario: &Scenario) -> u32 {
    match scenario.runs {
        Runs::Fixed(runs) => runs,
        Runs::Auto { most } => most.min(DEFAULT_RUNS),
    }
}

fn without_runs(emulated: &Emulated) -> VariantRuns {
    VariantRuns { variant: emulated.clone().into_variant(), runs: Vec::new() }
}

/// What is repeated.
struct All<'a> {
    scenario: &'a Scenario,
    variants: &'a [Emulated],
    usrsctp: Option<&'a Usrsctp>,
}

impl All<'_> {
    /// One run of each variant; `None` after a stop.
    fn repeat(
        &self,
        emulator: &mut Emulator,
        number: u64,
        watcher: &dyn Watcher,
    ) -> Result<Option<Vec<Done>>, LiveError> {
        let All { scenario, usrsctp, .. } = *self;
        let mut repetition = Vec::new();
        for emulated in self.variants {
            if watcher.is_stopped() {
                return Ok(None);
            }
            let variant = emulated.clone().into_variant();
            let capture = number == 0 && watcher.wants_captures();
            let task = Task { scenario, emulated, number, capture, usrsctp };
            let mut done = task.carry_out(emulator)?;
            if let Some(captures) = done.captures.take() {
                watcher.on_captures(&variant, captures);
            }
            watcher.on_run(&variant, &done.run);
            repetition.push(done);
        }
        Ok(Some(repetition))
    }
}

/// The results of a run.
struct Done {
    run: Run,
    delays: Vec<Delay>,
    conduct: Conduct,
    captures: Option<Captures>,
    series: Option<VariantSeries>,
}

/// A run to carry out.
struct Task<'a> {
    scenario: &'a Scenario,
    emulated: &'a Emulated,
    number: u64,
    capture: bool,
    usrsctp: Option<&'a Usrsctp>,
}

impl Task<'_> {
    fn carry_out(&self, emulator: &mut Emulator) -> Result<Done, LiveError> {
        let traffic = self.scenario.traffic.drawn(setup::draws(self.scenario, self.number));
        let run = SutRun {
            system: &self.system(),
            traffic: &traffic,
            reverse: self.scenario.ends.reverse,
            limit: self.scenario.deadline,
        };
        let links = links(self.scenario, self.number, self.capture);
        let mut done = run_emulated(emulator, &links, &run)?;
        let conduct = Conduct {
            disturbed: done.attempt - 1,
            fault: done.quality.fault(),
            congestion: std::mem::take(&mut done.system.congestion),
            counts: std::mem::take(&mut done.system.counts),
        };
        let mut run = Run::new(self.scenario, self.number, &done.system.run);
        let variant = self.emulated.clone().into_variant();
        let record = (self.number, &done.system.run);
        let mut delays = delays::of_run(self.scenario, &variant, record, None);
        if let Some(fault) = &conduct.fault {
            (delays, run.parts) = (Vec::new(), 0);
            run.value = None;
            run.failure = Some(format!("{DISTURBED}: {fault}"));
        }
        let captures = done.system.run.captures.take();
        let series = (self.number == 0).then(|| VariantSeries {
            variant: self.emulated.name.clone(),
            run: self.number,
            series: done.system.series.into_iter().map(series).collect(),
        });
        Ok(Done { run, delays, conduct, captures, series })
    }

    fn system(&self) -> SystemUnderTest {
        let Emulated { stack, variant, .. } = self.emulated;
        let path = variant.single_path().unwrap_or(self.scenario.ends.first);
        let settings = || KernelSettings {
            congestion: variant.congestion.to_string(),
            buffers: self.scenario.ends.buffers,
        };
        let engine = || {
            let setup = setup(self.scenario, variant, self.number);
            socket_config(&setup.flows[0], setup.network.ipv6)
        };
        match stack {
            StackKind::Anabranch | StackKind::AnabranchSctp => {
                SystemUnderTest::Engine { path, config: engine() }
            }
            StackKind::Usrsctp => {
                let config = match engine() {
                    ProtocolConfig::Sctp(config) => config,
                    _ => Box::default(),
                };
                let program = self.usrsctp.map(Usrsctp::path).unwrap_or_default();
                SystemUnderTest::Usrsctp { path, program, config }
            }
            StackKind::KernelTcp | StackKind::KernelMptcp => {
                SystemUnderTest::Kernel { path, protocol: variant.protocol(), settings: settings() }
            }
        }
    }
}

/// The links of a repetition.
fn links(scenario: &Scenario, number: u64, capture: bool) -> EmulatedRun {
    let noise = scenario.emulated_noise();
    let draw = |path: &PathSpec| path.draw_with_noise((scenario.seed, number), noise);
    // Names are looked up before the first packet.
    let looks_names_up =
        matches!(&scenario.traffic, Traffic::Web(web) if !web.opening.lookup.is_zero());
    EmulatedRun {
        seed: scenario.seed,
        run: number,
        paths: scenario.paths.iter().map(draw).collect(),
        nic: scenario.ends.nic,
        capture,
        waits: !looks_names_up,
    }
}

fn series(seen: SutSeries) -> Series {
    let quantity = match seen.quantity {
        SutQuantity::CongestionWindow => Quantity::CongestionWindow,
        SutQuantity::SmoothedRtt => Quantity::SmoothedRtt,
        SutQuantity::InFlight => Quantity::InFlight,
        SutQuantity::Read => Quantity::Read,
    };
    Series { quantity, path: seen.path, points: seen.points }
}
