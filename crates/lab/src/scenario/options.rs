//! User input before it is checked: the same struct for command line, environment and file.

use super::choice::Chosen;
use super::fetching;
use super::packet_number;
use super::pairing;
use super::primary::Primary;
use super::sctp::{MULTIHOMED, SctpChoices};
use super::sender::{self, SenderSwitches};
use super::table::{Key, Takes};
use super::variants::{Protocol, Variant, variants_of};
use super::{
    About, Baseline, Choices, DEFAULT_MATTERS, DEFAULT_PATH_NOISE, DEFAULT_RUNS_MAX, DEFAULT_SEED,
    Ends, FlowSpec, Goal, Matters, Runs, Scenario, endpoints, host_cost, judge, measures, values,
};
use crate::error::{Given, InputError};
use crate::path_spec::{Change, PathSpec};
use crate::traffic_source::TrafficSource;
use crate::traffic_spec::{DATAGRAM_EXAMPLES, EXAMPLES, Folders, parse_traffic, show_traffic};
use crate::words::nearest_help;
use base::Duration;
use simulator::NicSetup;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use traffic::web::Http;
use traffic::{Measure, Traffic};
use transport::path_manager::PathManagerKind;
use transport::{Buffers, Profile};

/// Values of options; options that were not given have no entry.
#[derive(Clone, Debug, Default)]
pub struct Options {
    said: BTreeMap<Key, Said>,
}

/// Value of an option.
#[derive(Clone, Debug)]
enum Said {
    /// On or off, and the value in the file that it is from.
    Switch(bool, Option<Given>),
    /// One text, or the parts of a list.
    Texts(Vec<Given>),
    Described(Vec<PathOption>),
}

/// A path, a link or a flow.
#[derive(Clone, Debug)]
pub enum PathOption {
    /// `NAME` or `NAME=spec` in one text.
    Whole(Given),
    /// Name and description separately.
    Named {
        /// The name.
        name: Given,
        /// The description.
        spec: Given,
    },
}

impl PathOption {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            PathOption::Whole(given) => given.text.split('=').next().unwrap_or_default(),
            PathOption::Named { name, .. } => &name.text,
        }
    }
}

/// Traffic, and what its page or conversation comes from.
type Sourced = (Traffic, Option<TrafficSource>);

impl Options {
    /// These options, completed from `fallback`.
    #[must_use]
    pub fn or(mut self, fallback: Options) -> Options {
        for (key, said) in fallback.said {
            self.said.entry(key).or_insert(said);
        }
        self
    }

    /// These options in place of those of `base`; named paths, links and flows replace those of
    /// their name or are added.
    #[must_use]
    pub(crate) fn over(mut self, base: Options) -> Options {
        let keys: Vec<Key> = self.said.keys().copied().collect();
        for key in keys {
            let Some(Said::Described(own)) = self.said.get_mut(&key) else { continue };
            let mut all = base.described(key).to_vec();
            for one in own.drain(..) {
                match all.iter_mut().find(|other| other.name() == one.name()) {
                    Some(other) => *other = one,
                    None => all.push(one),
                }
            }
            *own = all;
        }
        self.or(base)
    }

    /// Those of these options that replace something of `base`: paths, links and flows of other
    /// names are left out. `None` if nothing is left.
    pub(crate) fn replacing(mut self, base: &Options) -> Option<Options> {
        self.said.retain(|key, said| {
            let Said::Described(own) = said else { return true };
            let has =
                |one: &PathOption| base.described(*key).iter().any(|o| o.name() == one.name());
            own.retain(has);
            !own.is_empty()
        });
        (!self.said.is_empty()).then_some(self)
    }

    /// The same with this text for `key`, as from an argument.
    #[must_use]
    pub fn with(mut self, key: Key, text: &str) -> Options {
        self.add(key, Given::argument(&key.row().option(), text));
        self
    }

    /// Sets `key` to `given`, or adds it if the option is repeatable.
    pub fn add(&mut self, key: Key, given: Given) {
        let said = match (key.row().takes, self.said.remove(&key)) {
            (Takes::Switch, _) => Said::Switch(true, None),
            (Takes::Described, Some(Said::Described(mut all))) => {
                all.push(PathOption::Whole(given));
                Said::Described(all)
            }
            (Takes::Described, _) => Said::Described(vec![PathOption::Whole(given)]),
            (Takes::List, Some(Said::Texts(mut all))) => {
                all.push(given);
                Said::Texts(all)
            }
            (Takes::Text | Takes::List, _) => Said::Texts(vec![given]),
        };
        self.said.insert(key, said);
    }

    /// Switches `key` on or off.
    pub fn set_switch(&mut self, key: Key, on: bool) {
        self.said.insert(key, Said::Switch(on, None));
    }

    /// The same, as this value of a file says.
    pub(super) fn set_switch_in_file(&mut self, key: Key, on: bool, given: Given) {
        self.said.insert(key, Said::Switch(on, Some(given)));
    }

    /// Sets `key` to these texts; without any, the option is not given.
    pub(super) fn set_texts(&mut self, key: Key, texts: Vec<Given>) {
        self.forget(key);
        if !texts.is_empty() {
            self.said.insert(key, Said::Texts(texts));
        }
    }

    /// Sets these paths, links or flows.
    pub(super) fn set_described(&mut self, key: Key, described: Vec<PathOption>) {
        self.forget(key);
        if !described.is_empty() {
            self.said.insert(key, Said::Described(described));
        }
    }

    /// Removes `key`.
    pub fn forget(&mut self, key: Key) {
        self.said.remove(&key);
    }

    /// Whether `key` was given.
    pub fn is_given(&self, key: Key) -> bool {
        self.said.contains_key(&key)
    }

    /// Whether `key` is on or off; `None` if not given.
    pub fn switch(&self, key: Key) -> Option<bool> {
        match self.said.get(&key) {
            Some(Said::Switch(on, _)) => Some(*on),
            _ => None,
        }
    }

    /// The message for a refusal of `key`, at the place where it was given.
    pub fn refusal(
        &self,
        key: Key,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> InputError {
        let given = match self.said.get(&key) {
            Some(Said::Switch(_, given)) => given.as_ref(),
            _ => self.text(key),
        };
        match given {
            Some(given) => given.refuse_whole(problem, help),
            None => InputError::at(&key.row().option(), problem, help),
        }
    }

    /// The text of `key`; of a list the first part.
    pub fn text(&self, key: Key) -> Option<&Given> {
        self.texts(key).first()
    }

    /// The parts of the list `key`.
    pub fn texts(&self, key: Key) -> &[Given] {
        match self.said.get(&key) {
            Some(Said::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// The paths, links or flows.
    pub fn described(&self, key: Key) -> &[PathOption] {
        match self.said.get(&key) {
            Some(Said::Described(described)) => described,
            _ => &[],
        }
    }

    /// The same, to be changed.
    pub(crate) fn described_mut(&mut self, key: Key) -> &mut [PathOption] {
        match self.said.get_mut(&key) {
            Some(Said::Described(described)) => described,
            _ => &mut [],
        }
    }

    /// The scenario these options describe.
    pub fn resolve(&self) -> Result<Scenario, InputError> {
        self.resolve_with(None)
    }

    /// The same, with this traffic in place of that of a file.
    pub(crate) fn resolve_with(&self, stored: Option<Traffic>) -> Result<Scenario, InputError> {
        let (paths, (mut traffic, source)) = self.resolve_paths_and_traffic(stored)?;
        let profile = self.profile()?;
        let timing = self.resolve_timing(&traffic)?;
        let links = self.resolve_links(&paths, timing.deadline)?;
        let over_at = timing.over_at(&traffic).unwrap_or(timing.deadline);
        let flows = self.resolve_flows((&paths, &links), profile, over_at, timing.deadline)?;
        let chosen = Chosen::resolve(self, paths.len(), profile)?;
        let mut notes = chosen.notes.clone();
        notes.extend(source.iter().flat_map(|source| source.notes.iter().cloned()));
        notes.extend(notes_of("path", &paths).chain(notes_of("link", &links)));
        notes.extend(timing.late_events(&traffic, &paths));
        let runs = self.resolve_runs(&mut notes)?;
        let first = self.first_path(&paths)?;
        let kernel = endpoints::resolve(self, &chosen.path_managers, &paths, first)?;
        let simultaneous_syn = self.resolve_simultaneous_syn(&chosen)?;
        let unused = |kernel| endpoints::unused_announcements(kernel, &paths, first);
        notes.extend(kernel.iter().flat_map(unused));
        let (metric, goal) = self.resolve_judged(&measures(&traffic, &paths, &links), &paths)?;
        let sctp = self.resolve_sctp(&chosen, (&paths, &flows), &mut traffic)?;
        notes.extend(self.fetched_without_streams(&traffic, &chosen.protocols)?);
        let mut ends = self.resolve_ends(profile, first, uses_sctp(&chosen.protocols, &flows))?;
        ends.sender = sender::resolve(self, &chosen.protocols)?;
        notes.extend(sender::note(&ends.sender, &chosen.congestion, &flows, &paths));
        notes.extend(notes_of_sctp(&ends, &sctp, &chosen.protocols, &traffic));
        let choices = Choices {
            primaries: Primary::resolve(self, &paths, &chosen.protocols)?,
            protocols: chosen.protocols,
            congestion: chosen.congestion,
            schedulers: chosen.schedulers,
            path_managers: chosen.path_managers,
            kernel,
            simultaneous_syn,
            policies: chosen.policies,
            failovers: chosen.failovers,
            sctp,
        };
        let mut scenario = Scenario {
            about: self.about(),
            ends,
            paths,
            links,
            flows,
            start: timing.start,
            warm_up: timing.warm_up,
            deadline: timing.deadline,
            traffic,
            source,
            choices,
            runs,
            seed: said(self.text(Key::Seed), values::seed)?.unwrap_or(DEFAULT_SEED),
            jobs: said(self.text(Key::Jobs), values::jobs)?.unwrap_or_else(all_cores),
            baseline: Baseline::Best,
            metric,
            goal,
            matters: self.matters()?,
            time: said(self.text(Key::Time), values::time_limit)?.flatten(),
            notes,
        };
        let variants = variants_of(&scenario);
        scenario.notes.extend(unused_first(first, &variants));
        pairing::check(self, &scenario, &variants)?;
        if let Some(given) = self.text(Key::Baseline) {
            scenario.baseline = values::baseline(given, &variants)?;
        }
        Ok(scenario)
    }

    /// The length of the traffic bounds events of paths, whose mistakes are reported first.
    fn resolve_paths_and_traffic(
        &self,
        stored: Option<Traffic>,
    ) -> Result<(Vec<PathSpec>, Sourced), InputError> {
        let traffic = self.profile().and_then(|profile| match stored {
            Some(traffic) => Ok((traffic, None)),
            None => self.resolve_traffic(profile),
        });
        let length = traffic.as_ref().ok().and_then(|(traffic, _)| traffic.duration());
        let paths = self.resolve_paths(self.deadline(length))?;
        Ok((paths, traffic?))
    }

    /// The difference that matters.
    fn matters(&self) -> Result<Matters, InputError> {
        let given = said(self.text(Key::Matters), values::matters)?;
        Ok(Matters(given.unwrap_or(DEFAULT_MATTERS)))
    }

    /// What only SCTP has, and what UDP lacks, with the number of streams that a page takes.
    fn resolve_sctp(
        &self,
        chosen: &Chosen,
        (paths, flows): (&[PathSpec], &[FlowSpec]),
        traffic: &mut Traffic,
    ) -> Result<SctpChoices, InputError> {
        self.check_datagrams(&chosen.protocols, traffic)?;
        let compares = chosen.protocols.iter().copied().any(Protocol::is_sctp);
        let concurrent = chosen.protocols.contains(&Protocol::CmtSctp);
        let is_used = uses_sctp(&chosen.protocols, flows);
        if is_used {
            self.check_paths_of_sctp(paths, compares)?;
        }
        SctpChoices::resolve(self, (is_used, concurrent), chosen.sctp.clone(), traffic)
    }

    /// Refuses UDP for traffic that needs a connection, or whose messages do not fit datagrams.
    fn check_datagrams(&self, protocols: &[Protocol], traffic: &Traffic) -> Result<(), InputError> {
        match self.text(Key::Protocols).filter(|_| protocols.contains(&Protocol::Udp)) {
            Some(given) if !traffic.fits_datagrams() => {
                let problem = format!("`udp` does not carry `{}`", show_traffic(traffic));
                Err(given.refuse_whole(problem, DATAGRAM_EXAMPLES))
            }
            _ => Ok(()),
        }
    }

    /// A note on protocols without streams where a page is fetched over streams; refuses that
    /// without SCTP.
    fn fetched_without_streams(
        &self,
        traffic: &Traffic,
        protocols: &[Protocol],
    ) -> Result<Option<String>, InputError> {
        let over_streams =
            matches!(traffic, Traffic::Web(web) if matches!(web.http, Http::Streams(_)));
        let Some(http) = self.text(Key::Http).filter(|_| over_streams) else { return Ok(None) };
        if !protocols.iter().copied().any(Protocol::is_sctp) {
            let help = "add `sctp` to the protocols, or write `1.1` or `2`";
            return Err(
                http.refuse_whole("`streams` are those of sctp, which is not compared", help)
            );
        }
        let others = protocols.iter().filter(|of| !of.is_sctp());
        let others: Vec<&str> = others.map(|of| of.name()).collect();
        let have = if others.len() == 1 { "has" } else { "have" };
        Ok((!others.is_empty()).then(|| {
            format!("{} {have} no streams: fetched as with `--http 1.1`", others.join(" and "))
        }))
    }

    /// Refuses what associations cannot do: a reset without an end of the association, and where
    /// they are compared, a path with the name of all paths.
    fn check_paths_of_sctp(&self, paths: &[PathSpec], compares: bool) -> Result<(), InputError> {
        for (path, option) in paths.iter().zip(self.described(Key::Path)) {
            let (PathOption::Whole(given) | PathOption::Named { spec: given, .. }) = option;
            let resets = path.events.iter().any(|event| event.change == Change::Reset);
            if resets {
                let problem = format!(
                    "path `{}` is reset, and SCTP has no reset of a path: an ABORT ends the whole \
                     association",
                    path.name
                );
                let help = "write `removed @20s..35s`, which takes the address away, or leave \
                            `sctp` out";
                return Err(given.refuse_whole(problem, help));
            }
            if compares && path.name.eq_ignore_ascii_case(MULTIHOMED) {
                let problem = format!("`{MULTIHOMED}` is the name of SCTP over all paths");
                return Err(given.refuse_whole(problem, "give the path another name"));
            }
        }
        Ok(())
    }

    /// The metric, and the goal, whose metric it is unless another one is given.
    fn resolve_judged(
        &self,
        measures: &[Measure],
        paths: &[PathSpec],
    ) -> Result<(Measure, Option<Goal>), InputError> {
        let measured = self.switch(Key::PacketMetrics).unwrap_or(false);
        let mut measures = measures.to_vec();
        for given in [Key::Goal, Key::Metric].into_iter().filter_map(|key| self.text(key)) {
            measures.extend(packet_number::named(given, paths, measured)?);
        }
        let goal = said(self.text(Key::Goal), |given| {
            judge::goal(&given.text, &measures)
                .map_err(|refusal| given.refuse_whole(refusal.problem, refusal.help))
        })?;
        let metric = said(self.text(Key::Metric), |given| {
            judge::metric(&given.text, &measures)
                .map_err(|refusal| given.refuse_whole(refusal.problem, refusal.help))
        })?;
        let own = goal.as_ref().map_or(measures[0], |goal| goal.metric);
        Ok((metric.unwrap_or(own), goal))
    }

    fn about(&self) -> About {
        // In files such texts may have several lines.
        let one_line = |given: &Given| given.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = |key: Key| self.text(key).map(one_line);
        About {
            title: words(Key::Title),
            description: words(Key::Description),
            source: words(Key::Source),
        }
    }

    fn resolve_ends(
        &self,
        profile: Profile,
        first: usize,
        has_sctp: bool,
    ) -> Result<Ends, InputError> {
        let buffers = said(self.text(Key::Buffers), values::buffers)?;
        let nic = said(self.text(Key::Nic), values::nic)?;
        Ok(Ends {
            profile,
            buffers: buffers.unwrap_or_else(Buffers::default),
            nic: nic.unwrap_or(Some(NicSetup::default())),
            path_noise: said(self.text(Key::PathNoise), values::path_noise)?
                .unwrap_or(DEFAULT_PATH_NOISE),
            cost: host_cost::resolve(self, has_sctp)?,
            sender: SenderSwitches::default(),
            reverse: self.switch(Key::Reverse).unwrap_or(false),
            packet_metrics: self.switch(Key::PacketMetrics).unwrap_or(false),
            first,
        })
    }

    /// Whether SYNs are sent on all paths at once, which needs a compared `fullmesh`.
    fn resolve_simultaneous_syn(&self, chosen: &Chosen) -> Result<bool, InputError> {
        if !self.switch(Key::SimultaneousSyn).unwrap_or(false) {
            return Ok(false);
        }
        let refuse = |problem, help| Err(self.refusal(Key::SimultaneousSyn, problem, help));
        let meshes = |kind: &PathManagerKind| matches!(kind, PathManagerKind::Fullmesh { .. });
        if !chosen.protocols.contains(&Protocol::Mptcp) {
            return refuse(
                "this option needs several paths at once, but each path is compared alone",
                "add `mptcp` to the protocols: `--protocols tcp,mptcp`",
            );
        }
        if !chosen.path_managers.iter().any(meshes) {
            return refuse(
                "this option needs the path manager `fullmesh`, which is not compared",
                "add it: `--path-managers fullmesh`, or leave the option out",
            );
        }
        Ok(true)
    }

    fn profile(&self) -> Result<Profile, InputError> {
        Ok(said(self.text(Key::Profile), values::profile)?.unwrap_or(Profile::Linux))
    }

    fn resolve_traffic(&self, profile: Profile) -> Result<Sourced, InputError> {
        let given = self
            .text(Key::Traffic)
            .ok_or_else(|| InputError::at("--traffic", "no traffic is given", EXAMPLES))?;
        let fetching = fetching::resolve(self)?;
        let data = self.data_folder()?;
        let folders = Folders { relative_to: given.folder(), data: data.as_deref() };
        let (traffic, source) = parse_traffic(&given.text, profile, folders, fetching)
            .map_err(|refusal| given.refuse(refusal))?;
        let is_page = matches!(traffic, Traffic::Web(_));
        if !is_page {
            fetching::check_unused(self)?;
        }
        match is_page {
            _ if matches!(traffic, Traffic::Vod(_)) && self.switch(Key::Reverse) == Some(true) => {
                Err(given.refuse_whole(
                    "a film is always a download and cannot be combined with `--reverse`",
                    "leave out `--reverse`",
                ))
            }
            true if self.switch(Key::Reverse) == Some(true) => Err(given.refuse_whole(
                "a page is always a download and cannot be combined with `--reverse`",
                "leave out `--reverse`",
            )),
            _ => Ok((traffic, source)),
        }
    }

    /// The folder of recordings of named pages. An empty variable names none.
    fn data_folder(&self) -> Result<Option<PathBuf>, InputError> {
        let Some(given) = self.text(Key::Data).filter(|given| !given.text.is_empty()) else {
            return Ok(None);
        };
        let path = Path::new(&given.text);
        let path = given.folder().map_or_else(|| path.to_owned(), |folder| folder.join(path));
        if path.is_dir() {
            return Ok(Some(path));
        }
        let help = "name a folder with `web/epload`, `web/paper000` and `games`, or leave it out: \
                    pages and games by name are then models";
        Err(given.refuse_whole(format!("`{}` is not a folder of data", given.text), help))
    }

    fn resolve_paths(&self, deadline: Duration) -> Result<Vec<PathSpec>, InputError> {
        let mut paths: Vec<PathSpec> = Vec::new();
        for option in self.described(Key::Path) {
            let (path, given) = match option {
                PathOption::Whole(given) => (PathSpec::parse_within(given, deadline)?, given),
                PathOption::Named { name, spec } => {
                    (PathSpec::parse_named(name, spec, deadline)?, name)
                }
            };
            if paths.iter().any(|other| other.name == path.name) {
                let name = &path.name;
                let is_profile = matches!(option, PathOption::Whole(_)) && given.text == *name;
                let help = match is_profile {
                    true => format!("give them names: `{name}1='profile {name}'`, `{name}2='...'`"),
                    false => format!("rename one of them: `{name}2='...'`"),
                };
                let problem = format!("two paths have the name `{name}`");
                return Err(given.refuse_whole(problem, help));
            }
            paths.push(path);
        }
        if paths.is_empty() {
            return Err(InputError::at(
                "--path",
                "no path is given",
                "name at least one: `--path wlan --path 3g` (profiles; `anabranch list` shows \
                 all), or describe it: `--path home='rate 25mbit delay 20ms loss 1% limit 100p'`; \
                 in a scenario file, below `[path]`",
            ));
        }
        Ok(paths)
    }

    fn resolve_runs(&self, notes: &mut Vec<String>) -> Result<Runs, InputError> {
        let most = said(self.text(Key::RunsMax), values::runs_max)?;
        match said(self.text(Key::Runs), values::runs)? {
            None | Some(values::RunsWord::Auto) => {
                Ok(Runs::Auto { most: most.unwrap_or(DEFAULT_RUNS_MAX) })
            }
            Some(values::RunsWord::Number(runs)) => {
                let time = said(self.text(Key::Time), values::time_limit)?.flatten();
                let unused = [("runs-max", most.is_some()), ("time", time.is_some())];
                let unused = unused.iter().filter(|(_, is_given)| *is_given);
                notes.extend(
                    unused.map(|(key, _)| format!("`{key}` has no effect without `--runs auto`")),
                );
                Ok(Runs::Fixed(runs))
            }
        }
    }

    fn first_path(&self, paths: &[PathSpec]) -> Result<usize, InputError> {
        let Some(given) = self.text(Key::First) else { return Ok(0) };
        let exact = paths.iter().position(|path| path.name == given.text);
        let is_named = |path: &PathSpec| path.name.eq_ignore_ascii_case(&given.text);
        exact.or_else(|| paths.iter().position(is_named)).ok_or_else(|| {
            let names: Vec<&str> = paths.iter().map(|path| path.name.as_str()).collect();
            let problem = format!("unknown path `{}`", given.text);
            given.refuse_whole(problem, nearest_help(&given.text, &names))
        })
    }
}

/// Parses an optional value.
pub(super) fn said<T>(
    given: Option<&Given>,
    read: impl Fn(&Given) -> Result<T, InputError>,
) -> Result<Option<T>, InputError> {
    given.map(read).transpose()
}

/// Whether SCTP is compared, or competes.
fn uses_sctp(protocols: &[Protocol], flows: &[FlowSpec]) -> bool {
    protocols.iter().copied().chain(flows.iter().map(|flow| flow.protocol)).any(Protocol::is_sctp)
}

/// Notes on options of SCTP, and on its messages.
fn notes_of_sctp(
    ends: &Ends,
    sctp: &SctpChoices,
    protocols: &[Protocol],
    traffic: &Traffic,
) -> impl Iterator<Item = String> {
    let is_compared = protocols.iter().copied().any(Protocol::is_sctp);
    let room = ends.buffers.receive_max;
    let large = is_compared.then(|| sctp.note_on_messages(traffic, room)).flatten();
    host_cost::note(&ends.cost, sctp.gap_structure).into_iter().chain(large)
}

/// A note on a first path, another than that of the file, where every variant has one path.
fn unused_first(first: usize, variants: &[Variant]) -> Option<String> {
    let is_unused = first > 0 && variants.iter().all(|of| of.single_path().is_some());
    is_unused.then(|| "`first` has no effect: each path is compared alone".to_owned())
}

fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The notes on paths or links, with their names.
fn notes_of(what: &str, paths: &[PathSpec]) -> impl Iterator<Item = String> {
    paths.iter().flat_map(move |path| {
        path.notes.iter().map(move |note| format!("{what} `{}`: {note}", path.name))
    })
}
