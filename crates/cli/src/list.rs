//! The verb `list`: every name that an option takes, with its source.

use lab::Profile;
use std::fmt::Write;
use transport::congestion;

/// The lists.
pub fn list() -> String {
    let mut text = String::from("Path profiles (--path NAME, or `profile NAME` in a path)\n");
    for profile in Profile::all() {
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
    for (profile, name) in transport::Profile::ALL {
        let unverified = profile.unverified();
        let summary = if unverified.is_empty() {
            "Linux 6.18, held against the running kernel".to_owned()
        } else {
            format!("from memory, not verified: {}", unverified.join(", "))
        };
        row(&mut text, name, &summary);
    }
    text
}

fn row(text: &mut String, name: &str, about: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {name:<11} {about}");
}
