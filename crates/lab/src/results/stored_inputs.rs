//! The scenario of stored results, as far as it goes without its input files.
//!
//! Recordings and pages may be on another machine, or changed since: the document has the relevant
//! data. Such a scenario cannot be simulated, but reported.

use crate::error::{Given, InputError, Refusal};
use crate::path_spec::{PathSpec, has_its_recordings, name_recordings, without_recordings};
use crate::scenario::{Key, PathOption, Scenario};
use crate::traffic_spec::parse_http;
use base::Duration;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use traffic::model::conversation::{Conversation, Timing, Turn};
use traffic::web::{Action, Activity, Http, LEAST_URGENT, Object, Opening, Page, Tls, Web};
use traffic::{Role, Traffic};

/// Most messages of a conversation in each direction.
const MOST_MESSAGES: u64 = 1_000_000;

/// The scenario in the file `name` with the result `document`, and notes on recordings that are
/// not there. `inputs` are the SHA-256 of its input files.
pub(super) fn scenario(
    name: &str,
    document: &Value,
    inputs: &BTreeSet<String>,
) -> Result<(Scenario, Vec<String>), InputError> {
    let mut options = Scenario::options_from_file(name)?;
    let specs = path_specs(options.described(Key::Path));
    let link_specs = path_specs(options.described(Key::Link));
    let mut gone = Vec::new();
    for (key, specs) in [(Key::Path, &specs), (Key::Link, &link_specs)] {
        for (option, spec) in options.described_mut(key).iter_mut().zip(specs) {
            let PathOption::Named { name: path, spec: given } = option else { continue };
            if !has_its_recordings(path, given, inputs) {
                let text = without_recordings(spec).map_err(|refusal| damaged(name, &refusal))?;
                *given = Given::argument(name, &text);
                gone.push(path.text.clone());
            }
        }
    }
    let traffic = page(document).map(Traffic::Web).or_else(|| conversation(document));
    let mut scenario = options.resolve_with(traffic)?;
    let lists = [
        (&mut scenario.paths, &specs, &document["paths"]),
        (&mut scenario.links, &link_specs, &document["links"]),
    ];
    for (paths, specs, stored) in lists {
        for (index, (path, spec)) in paths.iter_mut().zip(specs).enumerate() {
            restore(path, spec, &stored[index]);
        }
    }
    let notes = document["notes"].as_array().into_iter().flatten();
    scenario.notes = notes.filter_map(|note| note.as_str().map(str::to_owned)).collect();
    Ok((scenario, gone.iter().map(|path| without_slowest_part(path)).collect()))
}

fn without_slowest_part(path: &str) -> String {
    format!(
        "the recording of `{path}` is missing or has changed, so intervals do not allow for its \
         slowest part"
    )
}

/// A path or link with the names of its recordings and its description.
fn restore(path: &mut PathSpec, spec: &str, stored: &Value) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let names = ["downlink", "uplink"].map(|way| text(&stored[way]["trace"]));
    name_recordings(path, spec, names);
    path.given = text(&stored["spec"]).unwrap_or_else(|| spec.to_owned());
}

/// Descriptions of paths in the file.
fn path_specs(options: &[PathOption]) -> Vec<String> {
    let spec = |option: &PathOption| match option {
        PathOption::Named { spec, .. } => spec.text.clone(),
        PathOption::Whole(given) => given.text.clone(),
    };
    options.iter().map(spec).collect()
}

fn damaged(name: &str, refusal: &Refusal) -> InputError {
    InputError::at(name, refusal.problem.clone(), refusal.help.clone())
}

/// The page, for web traffic: its objects without dependencies.
fn page(document: &Value) -> Option<Web> {
    let page = document.get("page")?.as_object()?;
    let objects: Vec<Object> = page.get("objects")?.as_array()?.iter().filter_map(object).collect();
    let fetch =
        |number| Activity { action: Action::Fetch(number), waits: Vec::new(), before_load: true };
    let activities = (0..u32::try_from(objects.len()).ok()?).map(fetch).collect();
    let name = page.get("name")?.as_str()?.to_owned();
    let is_session = page.get("session").and_then(Value::as_bool).unwrap_or(false);
    let page_as_stored = Page::new(name, objects, activities).ok()?;
    let page_as_stored = if is_session { page_as_stored.of_session() } else { page_as_stored };
    let http = page.get("http").and_then(Value::as_str).and_then(|http| parse_http(http).ok());
    let per_host = page.get("per_host").and_then(Value::as_bool).unwrap_or(false);
    let (http, opening) = (http.unwrap_or(Http::SIX), opening(page));
    Some(Web { page: Arc::new(page_as_stored), http, per_host, opening })
}

/// What came before the first request.
fn opening(page: &Map<String, Value>) -> Opening {
    let tls = page.get("tls").and_then(Value::as_str);
    let tls = tls.and_then(|tls| Tls::ALL.iter().find(|(name, _)| *name == tls));
    let lookup = page.get("dns").and_then(Value::as_f64).unwrap_or(0.0);
    let lookup = Duration::from_secs_f64(lookup.clamp(0.0, 60.0));
    Opening { tls: tls.map(|(_, tls)| *tls), lookup }
}

/// The conversation: as many messages and bytes, each of the same size.
fn conversation(document: &Value) -> Option<Traffic> {
    let stored = document.get("conversation")?.as_object()?;
    let length = Duration::from_secs_f64(stored.get("length")?.as_f64()?.clamp(0.0, 1e6));
    let timing = match stored.get("paced")?.as_bool()? {
        true => Timing::Paced,
        false => Timing::Answered,
    };
    let mut turns = Vec::new();
    for (from, way) in [(Role::Client, "up"), (Role::Server, "down")] {
        let number = |key: &str| stored.get(way)?.get(key)?.as_u64();
        let (count, bytes) = (number("messages")?, number("bytes")?);
        let count = count.min(MOST_MESSAGES);
        for index in 0..count {
            let before = u128::from(bytes) * u128::from(index) / u128::from(count);
            let behind = u128::from(bytes) * u128::from(index + 1) / u128::from(count);
            let bytes = u64::try_from(behind - before).unwrap_or(u64::MAX);
            turns.push(Turn { from, start: Duration::ZERO, end: length, bytes });
        }
    }
    let name = stored.get("name")?.as_str()?.to_owned();
    Some(Traffic::Conversation(Arc::new(Conversation::new(name, timing, &turns))))
}

fn object(value: &Value) -> Option<Object> {
    let whole = |name: &str| value[name].as_u64();
    let urgency = whole("urgency").and_then(|urgency| u8::try_from(urgency).ok());
    Some(Object {
        label: value["url"].as_str()?.to_owned(),
        host: u32::try_from(whole("host")?).ok()?,
        request_bytes: whole("request_bytes")?,
        response_bytes: whole("response_bytes")?,
        think: Duration::from_secs_f64(value["think"].as_f64()?.clamp(0.0, 1e6)),
        urgency: urgency.unwrap_or(LEAST_URGENT),
        in_clear: false,
    })
}
