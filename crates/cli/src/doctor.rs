//! The subcommand `doctor`: checks the requirements of live use, and prints the command for missing
//! ones.
//!
//! The `linux` crate has the checks; other systems have none.

use crate::output::print;
use clap::Args;

/// Exit code: a requirement is missing on this machine.
pub(crate) const MISSING: u8 = 3;

/// Options of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand and returns the exit code.
#[cfg(all(feature = "linux", target_os = "linux"))]
pub(crate) fn doctor(args: &DoctorArgs) -> u8 {
    let checks = linux::doctor::examine();
    print(&if args.json { document(&checks) } else { table(&checks) });
    if checks.iter().all(|check| check.detail.is_ok()) { 0 } else { MISSING }
}

/// Runs the subcommand in builds without live use.
#[cfg(not(all(feature = "linux", target_os = "linux")))]
pub fn doctor(args: &DoctorArgs) -> u8 {
    let why = "live use needs Linux, and the feature `linux` of this program";
    print(&if args.json {
        format!("{:#}\n", serde_json::json!({"schema": 1, "ok": false, "reason": why}))
    } else {
        format!("missing: {why}\n")
    });
    MISSING
}

#[cfg(all(feature = "linux", target_os = "linux"))]
fn table(checks: &[linux::doctor::Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let (word, detail) = match &check.detail {
            Ok(detail) => ("ok", detail),
            Err(why) => ("MISSING", why),
        };
        text.push_str(&format!("{word:<8} {:<20} {detail}\n", check.name));
        if check.detail.is_err() {
            text.push_str(&format!("{:<9}needed for: {}\n", "", check.needed_for));
            text.push_str(&format!("{:<9}remedy: {}\n", "", check.remedy));
        }
    }
    let missing = checks.iter().filter(|check| check.detail.is_err()).count();
    text.push_str(&match missing {
        0 => "nothing is missing\n".to_owned(),
        missing => {
            format!("{missing} of {} missing; simulation needs none of them\n", checks.len())
        }
    });
    text
}

#[cfg(all(feature = "linux", target_os = "linux"))]
fn document(checks: &[linux::doctor::Check]) -> String {
    let one = |check: &linux::doctor::Check| {
        let (Ok(detail) | Err(detail)) = &check.detail;
        let ok = check.detail.is_ok();
        serde_json::json!({
            "name": check.name,
            "ok": ok,
            "detail": detail,
            "needed_for": check.needed_for,
            "remedy": (!ok).then_some(check.remedy),
        })
    };
    let ok = checks.iter().all(|check| check.detail.is_ok());
    let checks: Vec<_> = checks.iter().map(one).collect();
    format!("{:#}\n", serde_json::json!({"schema": 1, "ok": ok, "checks": checks}))
}

#[cfg(all(test, feature = "linux", target_os = "linux"))]
mod tests {
    use super::*;
    use linux::doctor::Check;

    #[test]
    fn table_names_what_is_missing_and_the_remedy() {
        let check = |name, detail: Result<&str, &str>| Check {
            name,
            needed_for: "live use",
            detail: detail.map(str::to_owned).map_err(str::to_owned),
            remedy: "sudo modprobe tun",
        };
        let good = check("privilege", Ok("CAP_NET_ADMIN and CAP_SYS_ADMIN"));
        let bad = check("TUN device", Err("there is no such file"));
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let text = format!("{}\n{}", table(&[good.clone(), bad]), table(&[good]));
        settings.bind(|| insta::assert_snapshot!("doctor", text));
    }
}
