//! What was asked for, not yet checked: the same struct for command line, environment and file.

use super::choice::Chosen;
use super::variants::{Protocol, variants_of};
use super::{
    Baseline, DEFAULT_RUNS, DEFAULT_RUNS_MAX, DEFAULT_SEED, Runs, Scenario, endpoints, values,
};
use crate::error::{Given, InputError};
use crate::path_spec::PathSpec;
use crate::traffic_spec::{EXAMPLES, Fetching, parse_http, parse_traffic};
use crate::web_page::PageSource;
use crate::words::nearest_help;
use simulator::NicSetup;
use traffic::Traffic;
use traffic::web::Http;
use transport::path_manager::PathManagerKind;
use transport::{Buffers, Profile};

/// Everything that can be asked for; `None` and empty lists mean "not said".
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // The fields are the options, documented by `--help`.
pub struct Options {
    pub title: Option<Given>,
    pub description: Option<Given>,
    pub source: Option<Given>,
    pub paths: Vec<PathOption>,
    pub links: Vec<PathOption>,
    pub flows: Vec<PathOption>,
    pub traffic: Option<Given>,
    pub start: Option<Given>,
    pub warm_up: Option<Given>,
    pub http: Option<Given>,
    pub per_host: Option<bool>,
    pub protocols: Vec<Given>,
    pub cc: Vec<Given>,
    pub schedulers: Vec<Given>,
    pub reinjection: Option<Given>,
    pub path_managers: Vec<Given>,
    pub endpoints: Vec<Given>,
    pub limits: Vec<Given>,
    pub simultaneous_syn: Option<bool>,
    pub policies: Vec<Given>,
    pub failovers: Vec<Given>,
    pub profile: Option<Given>,
    pub buffers: Option<Given>,
    pub nic: Option<Given>,
    pub reverse: Option<bool>,
    pub first: Option<Given>,
    pub runs: Option<Given>,
    pub runs_max: Option<Given>,
    pub seed: Option<Given>,
    pub jobs: Option<Given>,
    pub baseline: Option<Given>,
    pub output: OutputOptions,
}

/// What is shown and written; no result depends on it.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // The fields are the options, documented by `--help`.
pub struct OutputOptions {
    pub pairs: Option<bool>,
    pub json: Option<bool>,
    pub out: Option<Given>,
    pub csv: Option<bool>,
    pub pcap: Option<Given>,
    pub quiet: Option<bool>,
    pub verbose: Option<bool>,
    pub no_color: Option<bool>,
}

/// A path, a link or a flow that was asked for.
#[derive(Clone, Debug)]
pub enum PathOption {
    /// `NAME` or `NAME=spec` in one text.
    Whole(Given),
    /// Name and description apart.
    Named {
        /// The name.
        name: Given,
        /// The description.
        spec: Given,
    },
}

impl Options {
    /// These options, with those of `fallback` where these say nothing.
    #[must_use]
    pub fn or(self, fallback: Options) -> Options {
        fn list<T>(first: Vec<T>, second: Vec<T>) -> Vec<T> {
            if first.is_empty() { second } else { first }
        }
        Options {
            title: self.title.or(fallback.title),
            description: self.description.or(fallback.description),
            source: self.source.or(fallback.source),
            paths: list(self.paths, fallback.paths),
            links: list(self.links, fallback.links),
            flows: list(self.flows, fallback.flows),
            traffic: self.traffic.or(fallback.traffic),
            start: self.start.or(fallback.start),
            warm_up: self.warm_up.or(fallback.warm_up),
            http: self.http.or(fallback.http),
            per_host: self.per_host.or(fallback.per_host),
            protocols: list(self.protocols, fallback.protocols),
            cc: list(self.cc, fallback.cc),
            schedulers: list(self.schedulers, fallback.schedulers),
            reinjection: self.reinjection.or(fallback.reinjection),
            path_managers: list(self.path_managers, fallback.path_managers),
            endpoints: list(self.endpoints, fallback.endpoints),
            limits: list(self.limits, fallback.limits),
            simultaneous_syn: self.simultaneous_syn.or(fallback.simultaneous_syn),
            policies: list(self.policies, fallback.policies),
            failovers: list(self.failovers, fallback.failovers),
            profile: self.profile.or(fallback.profile),
            buffers: self.buffers.or(fallback.buffers),
            nic: self.nic.or(fallback.nic),
            reverse: self.reverse.or(fallback.reverse),
            first: self.first.or(fallback.first),
            runs: self.runs.or(fallback.runs),
            runs_max: self.runs_max.or(fallback.runs_max),
            seed: self.seed.or(fallback.seed),
            jobs: self.jobs.or(fallback.jobs),
            baseline: self.baseline.or(fallback.baseline),
            output: self.output.or(fallback.output),
        }
    }

    /// The scenario these options describe.
    pub fn resolve(&self) -> Result<Scenario, InputError> {
        let paths = self.resolve_paths()?;
        let profile = said(self.profile.as_ref(), values::profile)?.unwrap_or(Profile::Linux);
        let (traffic, page) = self.resolve_traffic(profile)?;
        let links = self.resolve_links(&paths)?;
        let timing = self.resolve_timing(&traffic)?;
        let flows = self.resolve_flows(&paths, profile, timing.over_at(&traffic))?;
        let choice = Chosen::resolve(self, paths.len())?;
        let mut notes = choice.notes.clone();
        notes.extend(page.iter().flat_map(|page| page.notes.iter().cloned()));
        for (what, list) in [("path", &paths), ("link", &links)] {
            notes.extend(list.iter().flat_map(|path| {
                path.notes.iter().map(move |note| format!("{what} `{}`: {note}", path.name))
            }));
        }
        notes.extend(timing.late_events(&traffic, &paths));
        let runs = self.resolve_runs(&mut notes)?;
        // In files such texts go over several lines.
        let one_line = |given: &Given| given.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = |given: &Option<Given>| given.as_ref().map(one_line);
        let first = self.first_path(&paths)?;
        let kernel = endpoints::resolve(self, &choice.path_managers, &paths, first)?;
        let simultaneous_syn = self.resolve_simultaneous_syn(&choice)?;
        if let Some(kernel) = &kernel {
            notes.extend(endpoints::unheard(kernel, &paths, first));
        }
        let mut scenario = Scenario {
            title: words(&self.title),
            description: words(&self.description),
            source: words(&self.source),
            first,
            paths,
            links,
            flows,
            start: timing.start,
            warm_up: timing.warm_up,
            traffic,
            page,
            protocols: choice.protocols,
            congestion: choice.congestion,
            schedulers: choice.schedulers,
            path_managers: choice.path_managers,
            kernel,
            simultaneous_syn,
            policies: choice.policies,
            failovers: choice.failovers,
            profile,
            buffers: said(self.buffers.as_ref(), values::buffers)?.unwrap_or_else(Buffers::default),
            nic: said(self.nic.as_ref(), values::nic)?.unwrap_or(Some(NicSetup::default())),
            reverse: self.reverse.unwrap_or(false),
            runs,
            seed: said(self.seed.as_ref(), values::seed)?.unwrap_or(DEFAULT_SEED),
            jobs: said(self.jobs.as_ref(), values::jobs)?.unwrap_or_else(all_cores),
            baseline: Baseline::Best,
            notes,
        };
        let variants = variants_of(&scenario);
        if let Some(given) = &self.baseline {
            scenario.baseline = values::baseline(given, &variants)?;
        }
        Ok(scenario)
    }

    /// Whether SYNs go out on all paths at once, which something must do that is compared.
    fn resolve_simultaneous_syn(&self, choice: &Chosen) -> Result<bool, InputError> {
        if !self.simultaneous_syn.unwrap_or(false) {
            return Ok(false);
        }
        let refuse = |problem, help| Err(InputError::at("--simultaneous-syn", problem, help));
        let meshes = |kind: &PathManagerKind| matches!(kind, PathManagerKind::Fullmesh { .. });
        if !choice.protocols.contains(&Protocol::Mptcp) {
            return refuse(
                "this is about several paths at once, but each path is compared alone",
                "add `mptcp` to the protocols: `--protocols tcp,mptcp`",
            );
        }
        if !choice.path_managers.iter().any(meshes) {
            return refuse(
                "this is about the path manager `fullmesh`, which is not among those compared",
                "add it: `--path-managers fullmesh`, or leave this out",
            );
        }
        Ok(true)
    }

    fn resolve_traffic(
        &self,
        profile: Profile,
    ) -> Result<(Traffic, Option<PageSource>), InputError> {
        let given = self
            .traffic
            .as_ref()
            .ok_or_else(|| InputError::at("--traffic", "nothing says what to send", EXAMPLES))?;
        let http = said(self.http.as_ref(), |given| {
            parse_http(&given.text).map_err(|refusal| given.refuse(refusal))
        })?;
        let per_host = self.per_host.unwrap_or(false);
        let fetching = Fetching { http: http.unwrap_or(Http::SIX), per_host };
        let (traffic, page) = parse_traffic(&given.text, profile, given.folder(), fetching)
            .map_err(|refusal| given.refuse(refusal))?;
        match (&page, &self.http) {
            (None, Some(http)) => Err(http.refuse_whole(
                "this is about how pages are fetched, and no page is",
                "leave it out, or load one: `--traffic web:page.har`",
            )),
            (None, None) if per_host => Err(InputError::at(
                "--per-host",
                "this is about how pages are fetched, and no page is",
                "leave it out, or load one: `--traffic web:page.har`",
            )),
            (Some(_), _) if self.reverse == Some(true) => Err(given.refuse_whole(
                "a page is always a download: `--reverse` cannot turn it round",
                "leave out `--reverse`",
            )),
            _ => Ok((traffic, page)),
        }
    }

    fn resolve_paths(&self) -> Result<Vec<PathSpec>, InputError> {
        let mut paths: Vec<PathSpec> = Vec::new();
        for option in &self.paths {
            let (path, given) = match option {
                PathOption::Whole(given) => (PathSpec::parse(given)?, given),
                PathOption::Named { name, spec } => (PathSpec::parse_named(name, spec)?, name),
            };
            if paths.iter().any(|other| other.name == path.name) {
                let name = &path.name;
                return Err(given.refuse_whole(
                    format!("two paths are called `{name}`"),
                    format!("give them names: `{name}1='profile {name}'`, `{name}2='...'`"),
                ));
            }
            paths.push(path);
        }
        if paths.is_empty() {
            return Err(InputError::at(
                "--path",
                "no path is given",
                "name at least one: `--path wlan --path 3g` (profiles; `anabranch list` shows \
                 all), or describe it: `--path home='rate 25mbit delay 20ms loss 1% limit 100p'`; \
                 a scenario file has them below `[path]`",
            ));
        }
        Ok(paths)
    }

    fn resolve_runs(&self, notes: &mut Vec<String>) -> Result<Runs, InputError> {
        let most = said(self.runs_max.as_ref(), values::runs_max)?;
        match said(self.runs.as_ref(), values::runs)? {
            Some(values::RunsWord::Auto) => {
                Ok(Runs::Auto { most: most.unwrap_or(DEFAULT_RUNS_MAX) })
            }
            word => {
                if most.is_some() {
                    let note = "`runs-max` has no effect without `--runs auto`";
                    notes.push(note.to_owned());
                }
                Ok(Runs::Fixed(match word {
                    Some(values::RunsWord::Number(runs)) => runs,
                    _ => DEFAULT_RUNS,
                }))
            }
        }
    }

    fn first_path(&self, paths: &[PathSpec]) -> Result<usize, InputError> {
        let Some(given) = &self.first else { return Ok(0) };
        paths.iter().position(|path| path.name == given.text).ok_or_else(|| {
            let names: Vec<&str> = paths.iter().map(|path| path.name.as_str()).collect();
            let problem = format!("no path is called `{}`", given.text);
            given.refuse_whole(problem, nearest_help(&given.text, &names))
        })
    }
}

impl OutputOptions {
    /// As `Options::or`.
    fn or(self, fallback: OutputOptions) -> OutputOptions {
        OutputOptions {
            pairs: self.pairs.or(fallback.pairs),
            json: self.json.or(fallback.json),
            out: self.out.or(fallback.out),
            csv: self.csv.or(fallback.csv),
            pcap: self.pcap.or(fallback.pcap),
            quiet: self.quiet.or(fallback.quiet),
            verbose: self.verbose.or(fallback.verbose),
            no_color: self.no_color.or(fallback.no_color),
        }
    }
}

/// Read a value that may not have been said.
pub(super) fn said<T>(
    given: Option<&Given>,
    read: impl Fn(&Given) -> Result<T, InputError>,
) -> Result<Option<T>, InputError> {
    given.map(read).transpose()
}

fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
