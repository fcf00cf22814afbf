//! What can go wrong on a real machine, sorted by whose fault it is.
//!
//! The command turns the kind into an exit code and prints the message; the remedy is part of it.

use std::io;

/// A failure of the live world.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The caller asked for something that cannot be.
    #[error("{0}")]
    Usage(String),
    /// The machine or the user lacks something.
    #[error("{what}\n  remedy: {remedy}")]
    Missing {
        /// What is missing, in one line.
        what: String,
        /// A command that adds it.
        remedy: String,
    },
    /// It did not work out.
    #[error("{0}")]
    Failed(String),
}

impl LiveError {
    /// Something is missing.
    pub fn missing(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        LiveError::Missing { what: what.into(), remedy: remedy.into() }
    }

    /// An operation of the system failed. Lack of privilege is distinguished from other failures.
    pub fn system(doing: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::PermissionDenied {
            return LiveError::missing(
                format!("{doing}: not permitted; CAP_NET_ADMIN and CAP_SYS_ADMIN are needed"),
                "run the same command with sudo",
            );
        }
        LiveError::Failed(format!("{doing}: {error}"))
    }
}
