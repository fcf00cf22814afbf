//! What to do with the answer: the deciding variant in the words of systems that people have.
//!
//! Mainline Linux has one scheduler and no coupled congestion control; the multipath-tcp kernel
//! v0.95, which is no longer maintained, has more; the rest runs in this program alone.

mod mainline;
mod sctp;

use crate::answer::Answer;
use crate::comparison::Class;
use crate::scenario::{Carrier, Scenario, Variant};
use crate::summary::Summary;
use mainline::{is_mainline, mainline};
use transport::choice::Row;
use transport::path_manager::PathManagerKind;
use transport::{Failover, Profile};

/// The kernel that sources of schedulers name, before the name there: ``kernel v0.95 `ecf` ``.
const RESEARCH_KERNEL: &str = "kernel v0.95 `";

/// Lines of advice; none where nothing is known. `summaries` have the classes of the answer.
pub(crate) fn advice(scenario: &Scenario, answer: &Answer, summaries: &[Summary]) -> Vec<String> {
    let named = |name: &Option<String>| {
        let name = name.as_ref()?;
        summaries.iter().map(|summary| &summary.variant).find(|variant| variant.name == *name)
    };
    match (answer.class, named(&answer.variant), named(&answer.baseline)) {
        (Some(class), Some(variant), alone) if variant.protocol().is_sctp() => {
            sctp::advice(scenario, class, variant, alone)
        }
        (Some(Class::PaysOff), Some(variant), _) if variant.single_path().is_none() => {
            switch_on(scenario, variant, summaries)
        }
        (Some(class @ (Class::Hurts | Class::NoDifference)), Some(variant), Some(alone))
            if variant.single_path().is_none() =>
        {
            stay(scenario, class, alone)
        }
        _ => Vec::new(),
    }
}

/// How to use one path alone.
fn stay(scenario: &Scenario, class: Class, alone: &Variant) -> Vec<String> {
    let Some((number, path)) = alone
        .single_path()
        .and_then(|number| Some((number, scenario.paths.get(number)?.name.as_str())))
    else {
        return Vec::new();
    };
    let what = match class {
        Class::Hurts => format!("Use {path} alone"),
        _ => format!("{path} alone is enough"),
    };
    let route = match number == scenario.ends.first {
        true => String::new(),
        false => format!(", with the default route over {path}"),
    };
    vec![format!(
        "{what}{route}: plain TCP, or on Linux `ip mptcp limits set subflows 0` where programs \
         open MPTCP sockets."
    )]
}

/// How to get the variant.
fn switch_on(scenario: &Scenario, variant: &Variant, summaries: &[Summary]) -> Vec<String> {
    if is_mainline(scenario, variant) {
        return mainline(scenario, variant);
    }
    let mut lines = vec![match in_research_kernel(scenario, variant) {
        Some(line) => line,
        None if has_simultaneous_syns(scenario, variant) => format!(
            "{} with simultaneous SYNs exists in this simulation only; no maintained kernel has \
             it.",
            variant.name
        ),
        None => format!(
            "{} is available in `anabranch live`; no maintained kernel has it.",
            variant.name
        ),
    }];
    lines.extend(instead(scenario, summaries));
    lines
}

/// How to get the variant with the multipath-tcp kernel v0.95, if that has it.
fn in_research_kernel(scenario: &Scenario, variant: &Variant) -> Option<String> {
    let Carrier::Multipath { scheduler, policy, failover, path_manager, .. } = &variant.carrier
    else {
        return None;
    };
    let (_, _, source) = scheduler.row().about();
    let (theirs, _) = source.split_once(RESEARCH_KERNEL)?.1.split_once('`')?;
    let manager = match path_manager {
        PathManagerKind::Kernel => return None,
        manager if *manager == PathManagerKind::FULLMESH => String::new(),
        manager => format!(" net.mptcp.mptcp_path_manager={}", manager.name()),
    };
    let is_plain = policy.is_none() && *failover == Failover::Rto && scheduler.written().is_none();
    if !is_plain || has_simultaneous_syns(scenario, variant) {
        return None;
    }
    Some(format!(
        "The scheduler {scheduler} exists in the multipath-tcp kernel v0.95, no longer maintained \
         (`net.mptcp.mptcp_scheduler={theirs}{manager}`), and in `anabranch live --scheduler \
         {scheduler}`."
    ))
}

/// Whether the variant opens all paths at once.
fn has_simultaneous_syns(scenario: &Scenario, variant: &Variant) -> bool {
    let Carrier::Multipath { path_manager, .. } = &variant.carrier else { return false };
    scenario.choices.simultaneous_syn && matches!(path_manager, PathManagerKind::Fullmesh { .. })
}

/// What mainline Linux has instead of the deciding variant.
fn instead(scenario: &Scenario, summaries: &[Summary]) -> Vec<String> {
    let compared = summaries.iter().filter(|summary| is_mainline(scenario, &summary.variant));
    let pays_off = |summary: &&Summary| summary.class == Some(Class::PaysOff);
    let Some(summary) = compared.clone().find(pays_off).or_else(|| compared.clone().next()) else {
        return vec![not_compared(scenario, summaries).to_owned()];
    };
    let name = &summary.variant.name;
    let what = match summary.class {
        Some(Class::PaysOff) => "which pays off, too",
        Some(Class::Hurts) => "which hurts",
        Some(Class::NoDifference) => "which makes no difference that matters",
        _ => "which is undecided",
    };
    let mut lines = vec![format!("Mainline Linux has one scheduler, here {name}, {what}.")];
    if summary.class == Some(Class::PaysOff) {
        lines.extend(mainline(scenario, &summary.variant));
    }
    lines
}

/// How to compare mainline Linux, which no variant is.
fn not_compared(scenario: &Scenario, summaries: &[Summary]) -> &'static str {
    let is_linux = |summary: &Summary| match &summary.variant.carrier {
        Carrier::Multipath { scheduler, .. } => scheduler.is_linux(),
        _ => false,
    };
    if scenario.ends.profile != Profile::Linux {
        "Mainline Linux has one scheduler, compared with `--profile linux --schedulers linux`."
    } else if summaries.iter().any(is_linux) {
        "Mainline Linux is compared with `--schedulers linux` without parameters, coupled \
         congestion control, policy or fail-over rule, and with the path manager `fullmesh` or \
         `kernel`."
    } else {
        "Mainline Linux has one scheduler, compared with `--schedulers linux`."
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options, variants_of};
    use crate::study::VariantRuns;

    /// The advice if `variant` has `class` and the other variants over several paths have `rest`.
    fn lines(paths: &str, variant: &str, class: Class, rest: Class) -> String {
        let options = paths.split(',').fold(Options::default(), |options, name| {
            options.with(Key::Path, &format!("{name}=rate 5mbit"))
        });
        let options = options
            .with(Key::Schedulers, "linux,rr,xlink")
            .with(Key::Cc, "cubic,lia")
            .with(Key::Failover, "rto,stale,probe");
        told(options, variant, class, rest)
    }

    fn told(options: Options, variant: &str, class: Class, rest: Class) -> String {
        let scenario = options.with(Key::Traffic, "bulk:4MiB").resolve().unwrap();
        let variants = variants_of(&scenario);
        let alone = variants.iter().rev().find(|variant| variant.single_path() == Some(1));
        let alone = alone.map(|variant| variant.name.replace("/lia", "/cubic"));
        assert!(variants.iter().any(|of| of.name == variant), "no variant {variant}");
        let answer = Answer {
            class: Some(class),
            winner: None,
            baseline: alone,
            variant: Some(variant.to_owned()),
            metric: "completion_time",
            effect: None,
            interval: None,
            family: 1,
            needs: None,
        };
        let summary = |variant| {
            let runs = VariantRuns { variant, runs: Vec::new() };
            Summary { class: Some(rest), ..Summary::new(&scenario, &runs) }
        };
        let summaries: Vec<Summary> = variants.into_iter().map(summary).collect();
        advice(&scenario, &answer, &summaries).join("\n")
    }

    /// The advice if a variant over `a` and `b` pays off.
    fn two_paths(b: &str, more: &[(Key, &str)], variant: &str) -> String {
        let options = Options::default()
            .with(Key::Path, "a=rate 5mbit")
            .with(Key::Path, &format!("b=rate 5mbit {b}"))
            .with(Key::Protocols, "tcp,mptcp");
        let options = more.iter().fold(options, |options, (key, text)| options.with(*key, text));
        told(options, variant, Class::PaysOff, Class::PaysOff)
    }

    #[test]
    fn mainline_gets_its_endpoints_limits_routes_and_sysctls() {
        let text = lines("a,b", "mptcp/linux/cubic", Class::PaysOff, Class::PaysOff);
        for part in [
            "net.mptcp.enabled=1",
            "limits set subflows 1",
            "whose default route is over a, with address, interface and gateway of b:",
            "ip route add default via GATEWAY dev INTERFACE table 101",
            "ip rule add from ADDRESS table 101",
            "ip mptcp endpoint add ADDRESS dev INTERFACE subflow",
            "of both ends with `mptcpize",
        ] {
            assert!(text.contains(part), "`{part}` is missing in: {text}");
        }
        let three = lines("a,b,c", "mptcp/linux/cubic", Class::PaysOff, Class::PaysOff);
        assert!(three.contains("subflows 2") && three.contains("with those of c:"), "{three}");
        assert!(three.contains("from ADDRESS table 102"), "{three}");
    }

    #[test]
    fn what_no_maintained_kernel_has_is_named_so() {
        let of = |variant| lines("a,b", variant, Class::PaysOff, Class::Undecided);
        let probe = of("mptcp/rr/cubic/probe");
        assert!(probe.starts_with("mptcp/rr/cubic/probe is available in `anab"), "{probe}");
        let rr = of("mptcp/rr/cubic");
        assert!(rr.contains("mptcp_scheduler=roundrobin") && rr.contains("no longer"), "{rr}");
        assert!(of("mptcp/xlink/cubic").contains("no maintained kernel"));
        let coupled = of("mptcp/linux/lia");
        assert!(coupled.contains("no maintained kernel"), "{coupled}");
    }

    #[test]
    fn mainline_that_was_compared_is_not_recommended_for_comparison() {
        let of = |rest| lines("a,b", "mptcp/xlink/cubic", Class::PaysOff, rest);
        let both = of(Class::PaysOff);
        assert!(both.contains("here mptcp/linux/cubic, which pays off, too"), "{both}");
        assert!(both.contains("ip mptcp endpoint") && !both.contains("--schedulers"), "{both}");
        let rto = lines("a,b", "mptcp/linux/cubic/rto", Class::PaysOff, Class::PaysOff);
        assert!(rto.contains("here mptcp/linux/cubic, which pays off, too"), "{rto}");
        let hurt = of(Class::Hurts);
        assert!(hurt.contains("which hurts.") && !hurt.contains("ip mptcp endpoint"), "{hurt}");
    }

    #[test]
    fn path_that_is_as_good_or_better_alone_is_named() {
        let of = |class| lines("a,b", "mptcp/linux/cubic", class, class);
        assert!(of(Class::Hurts).starts_with("Use b alone, with the default route over b:"));
        assert!(of(Class::NoDifference).starts_with("b alone is enough, with the default route"));
        assert_eq!(of(Class::Undecided), "");
    }

    /// Regression: the settings were the same for every variant of mainline.
    #[test]
    fn settings_are_those_of_the_variant_and_its_paths() {
        let linux = (Key::Schedulers, "linux");
        let backup = two_paths("backup", &[linux], "mptcp/linux/cubic");
        assert!(backup.contains("dev INTERFACE subflow backup"), "{backup}");
        let primary = [linux, (Key::Primary, "b")];
        let primary = two_paths("", &primary, "mptcp/linux/cubic/primary=b");
        let part = "whose default route is over b, with address, interface and gateway of a:";
        assert!(primary.contains(part), "{primary}");
        let kernel = [
            linux,
            (Key::PathManagers, "kernel"),
            (Key::Endpoints, "client b subflow fullmesh, server b signal"),
            (Key::Limits, "client subflows 3 add_addr_accepted 2, server subflows 4"),
        ];
        let kernel = two_paths("", &kernel, "mptcp/linux/cubic/kernel");
        for part in [
            "at the client:\n  ip mptcp limits set subflows 3 add_addr_accepted 2",
            "at the server:\n  ip mptcp limits set subflows 4 add_addr_accepted 0",
            "ip mptcp endpoint add ADDRESS dev INTERFACE subflow fullmesh",
            "at the server, with address and interface of b:\n  ip mptcp endpoint add ADDRESS dev \
             INTERFACE signal",
        ] {
            assert!(kernel.contains(part), "`{part}` is missing in: {kernel}");
        }
    }

    /// Regression: these were shown with the settings of mainline.
    #[test]
    fn variants_that_mainline_lacks_get_none_of_its_settings() {
        let linux = (Key::Schedulers, "linux");
        let ports = [linux, (Key::PathManagers, "ndiffports:3")];
        let syns = [linux, (Key::SimultaneousSyn, "true")];
        let random = [linux, (Key::Primary, "random")];
        for (more, variant) in [
            (&ports[..], "mptcp/linux/cubic/ndiffports:3"),
            (&syns, "mptcp/linux/cubic"),
            (&random, "mptcp/linux/cubic/primary=random"),
        ] {
            let text = two_paths("", more, variant);
            assert!(text.contains("no maintained kernel has it"), "{text}");
            assert!(!text.contains("ip mptcp"), "{text}");
        }
        let parts = [(Key::Schedulers, "rr"), (Key::PathManagers, "ndiffports")];
        let ports = two_paths("", &parts, "mptcp/rr/cubic/ndiffports:2");
        assert!(ports.contains("roundrobin net.mptcp.mptcp_path_manager=ndiffports"), "{ports}");
    }

    /// Regression: a study with `--schedulers linux` was told that it lacks it.
    #[test]
    fn older_kernels_are_not_mainline() {
        let older = [(Key::Schedulers, "linux"), (Key::Profile, "linux-4.1")];
        let text = two_paths("", &older, "mptcp/linux/cubic");
        assert!(text.contains("with `--profile linux --schedulers linux`"), "{text}");
        let rule = [(Key::Schedulers, "linux"), (Key::Failover, "probe")];
        let text = two_paths("", &rule, "mptcp/linux/cubic/probe");
        assert!(text.contains("without parameters") && !text.contains("ip mptcp"), "{text}");
    }
}
