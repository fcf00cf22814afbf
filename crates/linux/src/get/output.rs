//! A file that appears under its name only when it is complete.

use crate::error::LiveError;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file in the making. Removed when dropped, unless it was finished.
pub(super) struct Output {
    file: File,
    unfinished: PathBuf,
    place: PathBuf,
    /// Something has the name, which is to be replaced.
    replaces: bool,
    is_finished: bool,
}

impl Output {
    /// To become `place`.
    pub(super) fn create(place: &Path) -> Result<Self, LiveError> {
        let refuse = |why: String| LiveError::Usage(format!("-o {}: {why}", place.display()));
        // A device must not be replaced by a file of its name.
        let is_other = std::fs::metadata(place).is_ok_and(|data| !data.is_file());
        // The standard library finds a name in `folder/` and `folder/.`, too.
        let is_last = |name: &&OsStr| place.as_os_str().as_bytes().ends_with(name.as_bytes());
        let name = place.file_name().filter(|_| !is_other).filter(is_last);
        let name = name.ok_or_else(|| refuse("it is not the name of a file".to_owned()))?;
        let replaces = is_there(place);
        let unfinished = place.with_file_name(format!(".{}.anabranch", name.to_string_lossy()));
        // The process that had it before may just have renamed it: try again then.
        for _ in 0..3 {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .custom_flags(nix::libc::O_NOFOLLOW)
                .open(&unfinished)
                .map_err(|error| refuse(error.to_string()))?;
            file.try_lock().map_err(|_| refuse("another download is writing it".to_owned()))?;
            if is_at(&file, &unfinished) {
                file.set_len(0).map_err(|error| refuse(error.to_string()))?;
                let place = place.to_owned();
                return Ok(Output { file, unfinished, place, replaces, is_finished: false });
            }
        }
        Err(refuse("other downloads are writing it".to_owned()))
    }

    /// Append.
    pub(super) fn write(&mut self, data: &[u8]) -> Result<(), String> {
        let failed = |error| format!("writing {}: {error}", self.unfinished.display());
        self.file.write_all(data).map_err(failed)
    }

    /// It is complete.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        let failed = |error| format!("writing {}: {error}", self.place.display());
        if !self.replaces && is_there(&self.place) {
            self.is_finished = true;
            let (place, unfinished) = (self.place.display(), self.unfinished.display());
            return Err(format!(
                "{place} appeared during the download, which is in {unfinished} now"
            ));
        }
        std::fs::rename(&self.unfinished, &self.place).map_err(failed)?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.is_finished {
            // What cannot be removed now the next download takes over.
            let _ = std::fs::remove_file(&self.unfinished);
        }
    }
}

/// Whether there is anything of this name.
fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// Whether `path` still leads to `file`.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(file), Ok(path)) => identity(file) == identity(path),
        _ => false,
    }
}
