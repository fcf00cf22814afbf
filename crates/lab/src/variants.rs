//! Variants: one way of carrying the traffic, by name `tcp/PATH/CC`.

use crate::path_spec::PathSpec;

/// One combination of choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// `tcp/wlan/cubic`.
    pub name: String,
    /// `tcp`.
    pub protocol: &'static str,
    /// Index of the path it uses.
    pub path: usize,
    /// Name of its congestion control.
    pub congestion: &'static str,
}

/// Each path alone with every congestion control, in the order asked for.
pub fn variants_of(paths: &[PathSpec], congestion: &[&'static str]) -> Vec<Variant> {
    let on_path = |(index, path): (usize, &PathSpec)| {
        let name = path.name.clone();
        congestion.iter().map(move |cc| Variant {
            name: format!("tcp/{name}/{cc}"),
            protocol: "tcp",
            path: index,
            congestion: cc,
        })
    };
    paths.iter().enumerate().flat_map(on_path).collect::<Vec<_>>()
}
