//! `TrafficSource`: the file or the name that a page or a conversation comes from.
//!
//! `web_page` and `conversation` read them.

use crate::error::sanitised;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Problem and remedy.
pub(crate) type Fault = (String, String);

/// Where traffic comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrafficSource {
    /// Name of the traffic model: `web`.
    pub model: &'static str,
    /// Absolute name of the file, or name of a built-in one.
    pub anchored: String,
    /// The options behind the name: `:paced`.
    pub options: String,
    /// SHA-256 of the file, if there is one.
    pub digest: Option<[u8; 32]>,
    /// Whether the file is in the folder of data.
    pub is_data: bool,
    /// Notes on its format and corrections.
    pub notes: Vec<String>,
}

impl TrafficSource {
    /// The words of `--traffic`, with the absolute name of the file.
    pub(crate) fn text(&self) -> String {
        format!("{}:{}{}", self.model, self.anchored, self.options)
    }

    /// The words with another name of the file, if `names` has one.
    pub(crate) fn renamed(&self, names: &BTreeMap<String, String>) -> Option<String> {
        names.get(&self.anchored).map(|other| format!("{}:{other}{}", self.model, self.options))
    }
}

/// The file `name` relative to `folder`.
pub(crate) fn located(folder: Option<&Path>, name: &str) -> PathBuf {
    folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
}

/// Opens the file of a recording, which is `name` in messages: the file and its absolute name.
pub(crate) fn opened(path: &Path, what: &str, name: &str) -> Result<(File, String), Fault> {
    let name = sanitised(name);
    let file = File::open(path).map_err(|error| {
        let help = "check the name; it is relative to the scenario file, or to the working \
                    directory";
        (format!("{what} `{name}` cannot be read: {error}"), help.to_owned())
    })?;
    if path.is_dir() {
        return Err((format!("{what} `{name}` is a folder"), "name a file in it".to_owned()));
    }
    let anchored = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Ok((file, anchored.display().to_string()))
}
