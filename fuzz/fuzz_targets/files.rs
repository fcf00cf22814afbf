//! A file for each process that a target writes its input to, where memory holds it if possible.

use std::path::PathBuf;
use std::sync::OnceLock;

/// Writes `content` to the file of this process called `name`, and returns where it is.
pub fn write(name: &str, content: &[u8]) -> String {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let folder = base.join(format!("anabranch-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the inputs");
        folder
    });
    let file = folder.join(name);
    std::fs::write(&file, content).expect("a file for the input");
    file.display().to_string()
}
