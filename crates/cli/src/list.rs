//! The verb `list`: every name that an option takes, with its source.

use lab::Profile as PathProfile;
use std::fmt::Write;
use transport::{Profile, congestion};

/// The lists.
pub fn list() -> String {
    let mut text = String::from("Path profiles (--path NAME, or `profile NAME` in a path)\n");
    for profile in PathProfile::all() {
        row(&mut text, profile.name, &profile.spec);
        row(&mut text, "", &format!("source: {}", profile.source));
    }
    text.push_str("\nTraffic (--traffic)\n");
    for model in traffic::MODELS {
        row(&mut text, model.name, &format!("{} ({})", model.summary, model.source));
    }
    text.push_str("\nCongestion controls (--cc)\n");
    for (name, summary, source) in congestion::NAMES {
        row(&mut text, name, &format!("{summary} ({source})"));
    }
    text.push_str("\nSender profiles (--profile)\n");
    text.push_str(&sender_profiles());
    text
}

/// The profiles of the sender, with what is not verified of them.
pub fn sender_profiles() -> String {
    let mut text = String::new();
    for (profile, name) in Profile::ALL {
        let about = match profile {
            Profile::Linux => "Linux 6.18",
            Profile::Linux41 => "the kernel of paper 002, MPTCP 0.91",
            Profile::Linux314 => "the kernel of paper 000, MPTCP 0.89",
            Profile::Linux311 => "the kernel of paper 004, MPTCP 0.88",
            Profile::Linux35 => "the kernel of paper 001, MPTCP 0.86",
        };
        row(&mut text, name, about);
        let unverified = profile.unverified();
        if !unverified.is_empty() {
            row(&mut text, "", &format!("unverified: {}", unverified.join(", ")));
        }
    }
    text
}

fn row(text: &mut String, name: &str, about: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {name:<11} {about}");
}
