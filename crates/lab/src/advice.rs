//! What to do with the answer: the deciding variant in the words of systems that people have.
//!
//! Mainline Linux has one scheduler and no coupled congestion control; the multipath-tcp kernel
//! v0.95, which is no longer maintained, has more; the rest runs in this program alone.

use crate::answer::Answer;
use crate::comparison::Class;
use crate::scenario::{Carrier, Scenario, SctpFailover, Variant};
use crate::summary::Summary;
use transport::choice::Row;
use transport::{Failover, Profile};

/// The kernel that sources of schedulers name, before the name there: ``kernel v0.95 `ecf` ``.
const RESEARCH_KERNEL: &str = "kernel v0.95 `";
/// First routing table of further paths; 253 to 255 are the kernel's (ip-route(8)).
const FIRST_TABLE: usize = 101;

/// Lines of advice; none where nothing is known. `summaries` have the classes of the answer.
pub(crate) fn advice(scenario: &Scenario, answer: &Answer, summaries: &[Summary]) -> Vec<String> {
    let named = |name: &Option<String>| {
        let name = name.as_ref()?;
        summaries.iter().map(|summary| &summary.variant).find(|variant| variant.name == *name)
    };
    match (answer.class, named(&answer.variant), named(&answer.baseline)) {
        (Some(class), Some(variant), alone) if variant.protocol().is_sctp() => {
            of_sctp(scenario, class, variant, alone)
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

/// How to use SCTP over several addresses, or over one.
fn of_sctp(
    scenario: &Scenario,
    class: Class,
    variant: &Variant,
    alone: Option<&Variant>,
) -> Vec<String> {
    let Carrier::Multihomed { failover, .. } = &variant.carrier else { return Vec::new() };
    let path = alone.and_then(Variant::single_path).and_then(|path| scenario.paths.get(path));
    match (class, path) {
        (Class::PaysOff, _) => {
            let mut lines = vec![
                "Bind the addresses of all interfaces at both ends before the association is set \
                 up: `sctp_bindx` (RFC 6458), in Linux and FreeBSD and with usrsctp."
                    .to_owned(),
            ];
            if *failover == SctpFailover::Pf {
                lines.push(
                    "On Linux `sysctl -w net.sctp.pf_retrans=0` leaves a path after the first \
                     time-out; on FreeBSD `sysctl net.inet.sctp.path_pf_threshold=0`."
                        .to_owned(),
                );
            }
            lines
        }
        (Class::Hurts, Some(path)) => {
            vec![format!("Bind the address of {} alone.", path.name)]
        }
        (Class::NoDifference, Some(path)) => {
            vec![format!("The address of {} alone is enough.", path.name)]
        }
        _ => Vec::new(),
    }
}

/// How to use one path alone.
fn stay(scenario: &Scenario, class: Class, alone: &Variant) -> Vec<String> {
    let Some(path) = alone.single_path().and_then(|path| scenario.paths.get(path)) else {
        return Vec::new();
    };
    let path = &path.name;
    let what = match class {
        Class::Hurts => format!("Use {path} alone"),
        _ => format!("{path} alone is enough"),
    };
    vec![format!(
        "{what}: plain TCP, or on Linux `ip mptcp limits set subflows 0` where programs open MPTCP \
         sockets."
    )]
}

/// Whether mainline Linux has the variant.
fn is_mainline(variant: &Variant) -> bool {
    let Carrier::Multipath { scheduler, policy, failover, .. } = &variant.carrier else {
        return false;
    };
    let usual = Failover::usual(Profile::Linux, scheduler);
    let plain = policy.is_none() && *failover == usual;
    scheduler.is_linux() && plain && !variant.congestion.is_coupled()
}

/// How to get the variant.
fn switch_on(scenario: &Scenario, variant: &Variant, summaries: &[Summary]) -> Vec<String> {
    let Carrier::Multipath { scheduler, policy, failover, .. } = &variant.carrier else {
        return Vec::new();
    };
    if is_mainline(variant) {
        return mainline(scenario, &variant.congestion.to_string());
    }
    let (_, _, source) = scheduler.row().about();
    let known = source.split_once(RESEARCH_KERNEL).and_then(|(_, rest)| rest.split_once('`'));
    let plain = policy.is_none() && *failover == Failover::Rto;
    let mut lines = vec![match known.filter(|_| plain) {
        Some((theirs, _)) => format!(
            "The scheduler {scheduler} exists in the multipath-tcp kernel v0.95, no longer \
             maintained (`net.mptcp.mptcp_scheduler={theirs}`), and in `anabranch live \
             --scheduler {scheduler}`."
        ),
        None => format!(
            "{} is available in `anabranch live`; no maintained kernel has it.",
            variant.name
        ),
    }];
    lines.extend(instead(scenario, summaries));
    lines
}

/// What mainline Linux has instead of the deciding variant.
fn instead(scenario: &Scenario, summaries: &[Summary]) -> Vec<String> {
    let compared = summaries.iter().filter(|summary| is_mainline(&summary.variant));
    let pays_off = |summary: &&Summary| summary.class == Some(Class::PaysOff);
    let Some(summary) = compared.clone().find(pays_off).or_else(|| compared.clone().next()) else {
        return vec![
            "Mainline Linux has one scheduler, compared with `--schedulers linux`.".into(),
        ];
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
        lines.extend(mainline(scenario, &summary.variant.congestion.to_string()));
    }
    lines
}

/// The settings of mainline Linux. Without a route of its own through the interface, an endpoint
/// opens no subflow; without the rule, strict source validation (`rp_filter`) drops the answers.
fn mainline(scenario: &Scenario, control: &str) -> Vec<String> {
    let name = |path: usize| scenario.paths.get(path).map_or("", |path| path.name.as_str());
    let first = scenario.ends.first;
    let others: Vec<usize> = (0..scenario.paths.len()).filter(|path| *path != first).collect();
    let more = others.len();
    let mut lines = vec![
        "On Linux 5.19 or newer, at both ends:".to_owned(),
        format!("  sysctl -w net.mptcp.enabled=1 net.ipv4.tcp_congestion_control={control}"),
        format!("  ip mptcp limits set subflows {more} add_addr_accepted {more}"),
    ];
    for (index, path) in others.into_iter().enumerate() {
        let table = FIRST_TABLE + index;
        lines.push(match index {
            0 => format!(
                "at the client, whose default route is over {}, with address, interface and \
                 gateway of {}:",
                name(first),
                name(path)
            ),
            _ => format!("with those of {}:", name(path)),
        });
        lines.push(format!("  ip route add default via GATEWAY dev INTERFACE table {table}"));
        lines.push(format!("  ip rule add from ADDRESS table {table}"));
        lines.push("  ip mptcp endpoint add ADDRESS dev INTERFACE subflow".to_owned());
    }
    lines.push(
        "and start the programs of both ends with `mptcpize run PROGRAM`, unless they open MPTCP \
         sockets: a server without MPTCP gets TCP over one path."
            .to_owned(),
    );
    lines
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
            .with(Key::Traffic, "bulk:4MiB")
            .with(Key::Schedulers, "linux,rr,xlink")
            .with(Key::Cc, "cubic,lia")
            .with(Key::Failover, "rto,stale,probe");
        let scenario = options.resolve().unwrap();
        let answer = Answer {
            class: Some(class),
            winner: None,
            baseline: Some("tcp/b/cubic".to_owned()),
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
        let summaries: Vec<Summary> = variants_of(&scenario).into_iter().map(summary).collect();
        advice(&scenario, &answer, &summaries).join("\n")
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
        assert!(of(Class::Hurts).starts_with("Use b alone"));
        assert!(of(Class::NoDifference).starts_with("b alone is enough"));
        assert_eq!(of(Class::Undecided), "");
    }
}
