//! Pages with known sizes only: lists of objects, and the pages of the papers.
//!
//! The page itself is fetched first, then all embedded objects at once, as in paper 000. For the
//! named pages the papers give the number of objects and their total size; the single sizes are
//! assumed: the k-th largest object has a share proportional to 1/k, and the page itself is the
//! largest.

use super::har::{self, Kind, usual_urgency};
use super::tree::Tree;
use base::Duration;
use traffic::web::{Action, Activity, Object, Page, PageFault, Trigger, Wait};

/// Largest plausible object, in bytes.
const LARGEST: f64 = (1u64 << 40) as f64;

/// A page of a paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedPage {
    /// Name in `web:NAME`.
    pub name: &'static str,
    /// Number of objects, the page itself included.
    pub objects: u32,
    /// Total size in bytes.
    pub bytes: u64,
    /// Source of both numbers.
    pub source: &'static str,
    /// Its recording in a folder of data, if any.
    pub(super) recorded: &'static str,
}

const fn kib(kib: u64) -> u64 {
    kib << 10
}

const TABLE_2: &str = "000 Table 2";
const TABLE_III: &str = "002 Table III";

/// All of them.
pub const NAMED_PAGES: &[NamedPage] = &[
    named("wikipedia", 15, kib(72), TABLE_2, "paper000/wikipedia.json"),
    named("amazon", 54, kib(1024), TABLE_2, "paper000/amazon.json"),
    named("huffingtonpost", 138, kib(3994), TABLE_2, "paper000/huffingtonpost.json"),
    named("google", 6, 906_000, TABLE_III, "epload/google.json"),
    named("wikipedia-002", 19, 132_000, TABLE_III, "epload/wikipedia.json"),
    named("instagram", 30, 1_671_000, TABLE_III, "epload/instagram.json"),
    named("amazon-002", 59, 1_234_000, TABLE_III, "epload/amazon.json"),
    named("theguardian", 228, 3_166_000, TABLE_III, "epload/theguardian.json"),
];

const fn named(
    name: &'static str,
    objects: u32,
    bytes: u64,
    source: &'static str,
    recorded: &'static str,
) -> NamedPage {
    NamedPage { name, objects, bytes, source, recorded }
}

impl NamedPage {
    /// The model: sizes proportional to 1/k with the given total.
    pub(super) fn model(&self) -> Result<Page, PageFault> {
        let weight = |k: u64| 1_000_000_000 / k;
        let ranks = 1..=u64::from(self.objects);
        let whole: u64 = ranks.clone().map(weight).sum();
        // The rounding remainder is added to the largest one.
        let mut sizes: Vec<u64> = ranks.map(|k| self.bytes * weight(k) / whole).collect();
        let rest = self.bytes - sizes.iter().sum::<u64>();
        if let Some(first) = sizes.first_mut() {
            *first += rest;
        }
        page(self.name, &sizes)
    }
}

/// A list of sizes: `html_bytes` and `object_bytes`.
pub(super) fn read(name: &str, list: &Tree) -> Result<(Page, Vec<String>), String> {
    let size = |tree: &Tree| tree.number().filter(|bytes| (0.0..=LARGEST).contains(bytes));
    let html = size(list.get("html_bytes")).ok_or("`html_bytes` is not a size".to_owned())?;
    let mut sizes = vec![html as u64];
    for (index, object) in list.get("object_bytes").list().iter().enumerate() {
        let bytes =
            size(object).ok_or(format!("entry {} of `object_bytes` is not a size", index + 1))?;
        sizes.push(bytes as u64);
    }
    let page = page(name, &sizes).map_err(|fault| fault.to_string())?;
    Ok((page, Vec::new()))
}

/// The page itself, then all others at once.
fn page(name: &str, sizes: &[u64]) -> Result<Page, PageFault> {
    let object = |(number, bytes): (usize, &u64)| Object {
        label: if number == 0 { "page".to_owned() } else { format!("object {number}") },
        host: 0,
        request_bytes: har::REQUEST_HEAD,
        response_bytes: bytes + har::RESPONSE_HEAD,
        think: Duration::ZERO,
        urgency: usual_urgency(if number == 0 { Kind::Document } else { Kind::Unknown }),
        in_clear: false,
    };
    let after_page = Wait { on: 0, event: Trigger::End, delay: Duration::ZERO };
    let fetch = |number: u32| Activity {
        action: Action::Fetch(number),
        waits: if number == 0 { Vec::new() } else { vec![after_page] },
        before_load: true,
    };
    let objects: Vec<Object> = sizes.iter().enumerate().map(object).collect();
    let activities = (0..objects.len() as u32).map(fetch).collect();
    Page::new(name.to_owned(), objects, activities)
}
