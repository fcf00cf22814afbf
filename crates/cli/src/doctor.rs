//! The subcommand `doctor`: checks the requirements of live use, and prints the command for missing
//! ones.
//!
//! The `linux` crate has the checks; other systems have none.

use crate::output::{Screen, print};
use clap::Args;
#[cfg(all(feature = "linux", target_os = "linux"))]
use linux::doctor::{Check, Purpose};

/// Exit code: a requirement is missing on this machine.
pub(crate) const MISSING: u8 = 3;

/// Options of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// Print without colours, as with the environment variable NO_COLOR
    #[arg(long)]
    no_color: bool,
}

/// Runs the subcommand and returns the exit code.
#[cfg(all(feature = "linux", target_os = "linux"))]
pub(crate) fn doctor(args: &DoctorArgs) -> u8 {
    let checks = linux::doctor::examine();
    let screen = Screen::fitted(args.no_color);
    print(&if args.json { document(&checks) } else { table(&checks, screen) });
    if is_ready(&checks) { 0 } else { MISSING }
}

/// Whether nothing is missing that the commands need.
#[cfg(all(feature = "linux", target_os = "linux"))]
fn is_ready(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.detail.is_ok() || check.purpose == Purpose::Development)
}

/// Runs the subcommand in builds without live use.
#[cfg(not(all(feature = "linux", target_os = "linux")))]
pub fn doctor(args: &DoctorArgs) -> u8 {
    let why = "live use needs Linux, and the feature `linux` of this program";
    let screen = Screen::fitted(args.no_color);
    print(&if args.json {
        format!("{:#}\n", serde_json::json!({"schema": 1, "ok": false, "reason": why}))
    } else {
        let mut text = String::new();
        screen.wrap(&mut text, "missing: ", why, "");
        text
    });
    MISSING
}

#[cfg(all(feature = "linux", target_os = "linux"))]
fn table(checks: &[Check], screen: Screen) -> String {
    let mut text = String::new();
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let (ours, others): (Vec<&Check>, Vec<&Check>) =
        checks.iter().partition(|check| check.purpose == Purpose::Use);
    for check in &ours {
        lines(&mut text, check, width, screen);
    }
    if !others.is_empty() {
        text.push('\n');
        screen.wrap(&mut text, "", "Only tests of this program and of kernels use:", "");
        for check in &others {
            lines(&mut text, check, width, screen);
        }
    }
    let missing = |checks: &[&Check]| checks.iter().filter(|c| c.detail.is_err()).count();
    let ending = match (missing(&ours), missing(&others)) {
        (0, 0) => "nothing is missing".to_owned(),
        (0, others) => format!("nothing is missing for use; {others} missing for tests"),
        (missing, _) => {
            format!("{missing} of {} missing; simulation needs none of them", ours.len())
        }
    };
    screen.wrap(&mut text, "", &ending, "1");
    text
}

/// Lines on one check.
#[cfg(all(feature = "linux", target_os = "linux"))]
fn lines(text: &mut String, check: &Check, width: usize, screen: Screen) {
    let (word, style, detail) = match &check.detail {
        Ok(detail) => ("ok", "32", detail),
        Err(why) => ("MISSING", "31", why),
    };
    let word = format!("{word:<8}");
    let first = format!("{} {:<width$}  ", screen.styled(style, &word), check.name);
    screen.wrap(text, &first, detail, "");
    if check.detail.is_err() {
        screen.wrap(text, "         needed for: ", check.needed_for, "");
        screen.wrap(text, "         remedy: ", check.remedy, "");
    }
}

#[cfg(all(feature = "linux", target_os = "linux"))]
fn document(checks: &[Check]) -> String {
    let one = |check: &Check| {
        let (Ok(detail) | Err(detail)) = &check.detail;
        let ok = check.detail.is_ok();
        serde_json::json!({
            "name": check.name,
            "ok": ok,
            "detail": detail,
            "needed_for": check.needed_for,
            "development": check.purpose == Purpose::Development,
            "remedy": (!ok).then_some(check.remedy),
        })
    };
    let ok = is_ready(checks);
    let checks: Vec<_> = checks.iter().map(one).collect();
    format!("{:#}\n", serde_json::json!({"schema": 1, "ok": ok, "checks": checks}))
}

#[cfg(all(test, feature = "linux", target_os = "linux"))]
mod tests {
    use super::*;
    #[test]
    fn table_names_what_is_missing_and_the_remedy() {
        let check = |name, detail: Result<&str, &str>| Check {
            name,
            needed_for: "live use",
            purpose: Purpose::Use,
            detail: detail.map(str::to_owned).map_err(str::to_owned),
            remedy: "sudo modprobe tun",
        };
        let good = check("privilege", Ok("CAP_NET_ADMIN and CAP_SYS_ADMIN"));
        let bad = check("TUN device", Err("there is no such file"));
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let screen = Screen { width: Some(60), colour: false };
        let tests = Check { purpose: Purpose::Development, ..bad.clone() };
        let all = [&[good.clone(), bad][..], &[good.clone(), tests], &[good]];
        let text = all.map(|checks| table(checks, screen)).join("\n");
        settings.bind(|| insta::assert_snapshot!("doctor", text));
    }

    #[test]
    fn what_only_tests_use_is_not_missing() {
        let check = |purpose| Check {
            name: "tshark",
            needed_for: "tests",
            purpose,
            detail: Err("there is no such file".to_owned()),
            remedy: "install it",
        };
        let tests = [check(Purpose::Development)];
        assert!(is_ready(&tests) && !is_ready(&[check(Purpose::Use)]));
        assert!(document(&tests).contains("\"ok\": true,\n  \"checks\""), "{}", document(&tests));
    }
}
