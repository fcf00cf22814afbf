//! Tests of the command line that run the program.

mod analyze;
mod bad_files;
mod bad_input;
mod browser;
mod compare;
mod documents;
mod drawn;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod emulate;
mod everyday;
mod files;
mod flows;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod live;
mod matrix;
mod messages;
mod middleboxes;
mod package;
mod packet_metrics;
mod page_figures;
mod papers;
mod path_events;
mod primary_choice;
mod profiles;
mod readers;
mod recorded_pages;
mod remedies;
mod report;
mod reproduce;
mod resume;
mod run;
mod schema;
mod sctp_capture;
mod stored;
mod terminal;
mod web;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program with `arguments`, in the root of the repository.
fn anabranch(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program starts")
}

/// The same, not yet started.
fn command(arguments: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    // The environment does not affect the tests.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ANABRANCH_") {
            command.env_remove(name);
        }
    }
    command.env_remove("COLUMNS").current_dir(root).args(arguments);
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The standard output of a run that must succeed.
#[track_caller]
fn succeeds(arguments: &[&str]) -> String {
    let output = anabranch(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

/// A temporary folder for one test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        Scratch(folder)
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a file for the test");
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
