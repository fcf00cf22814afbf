//! What to do with the answer: the deciding variant in the words of systems that people have.
//!
//! Mainline Linux has one scheduler and no coupled congestion control; the multipath-tcp kernel
//! v0.95, which is no longer maintained, has more; the rest runs in this program alone.

use crate::answer::Answer;
use crate::comparison::Class;
use crate::scenario::{Carrier, Scenario, Variant, variants_of};
use transport::choice::Row;

/// The kernel that sources of schedulers name, before the name there: ``kernel v0.95 `ecf` ``.
const RESEARCH_KERNEL: &str = "kernel v0.95 `";

/// Lines of advice; none where nothing is known.
pub(crate) fn advice(scenario: &Scenario, answer: &Answer) -> Vec<String> {
    let variants = variants_of(scenario);
    let named = |name: &Option<String>| {
        let name = name.as_ref()?;
        variants.iter().find(|variant| variant.name == *name)
    };
    match (answer.class, named(&answer.variant), named(&answer.baseline)) {
        (Some(Class::PaysOff), Some(variant), _) if variant.single_path().is_none() => {
            switch_on(scenario, variant)
        }
        (Some(Class::Hurts | Class::NoDifference), Some(variant), Some(alone))
            if variant.single_path().is_none() =>
        {
            stay(scenario, alone)
        }
        _ => Vec::new(),
    }
}

/// How to use one path alone.
fn stay(scenario: &Scenario, alone: &Variant) -> Vec<String> {
    let Some(path) = alone.single_path().and_then(|path| scenario.paths.get(path)) else {
        return Vec::new();
    };
    vec![format!(
        "Use {} alone: plain TCP, or on Linux `ip mptcp limits set subflows 0` where programs open \
         MPTCP sockets.",
        path.name
    )]
}

/// How to get the variant.
fn switch_on(scenario: &Scenario, variant: &Variant) -> Vec<String> {
    let Carrier::Multipath { scheduler, policy, .. } = &variant.carrier else { return Vec::new() };
    let plain = policy.is_none() && !variant.congestion.is_coupled();
    if scheduler.is_linux() && plain {
        return mainline(scenario, &variant.congestion.to_string());
    }
    let (_, _, source) = scheduler.row().about();
    let known = source.split_once(RESEARCH_KERNEL).and_then(|(_, rest)| rest.split_once('`'));
    let linux = "Mainline Linux has one scheduler, compared with `--schedulers linux`.";
    match known.filter(|_| policy.is_none()) {
        Some((theirs, _)) => vec![format!(
            "The scheduler {scheduler} exists in the multipath-tcp kernel v0.95, no longer \
             maintained (`net.mptcp.mptcp_scheduler={theirs}`), and in `anabranch live \
             --scheduler {scheduler}`. {linux}"
        )],
        None => vec![format!(
            "{} is available in `anabranch live`; no maintained kernel has it. {linux}",
            variant.name
        )],
    }
}

/// The settings of mainline Linux.
fn mainline(scenario: &Scenario, control: &str) -> Vec<String> {
    let more = scenario.paths.len().saturating_sub(1);
    let first = scenario.paths.get(scenario.ends.first).map_or("", |path| &path.name);
    vec![
        "On Linux 5.19 or newer, at both ends:".to_owned(),
        format!("  sysctl -w net.mptcp.enabled=1 net.ipv4.tcp_congestion_control={control}"),
        format!("  ip mptcp limits set subflows {more} add_addr_accepted {more}"),
        format!("at the client, for each path but {first}, with the address of its interface:"),
        "  ip mptcp endpoint add ADDRESS dev INTERFACE subflow".to_owned(),
        "and start the program with `mptcpize run PROGRAM`, unless it opens MPTCP sockets."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options};

    fn lines(variant: &str, class: Class) -> String {
        let options = Options::default()
            .with(Key::Path, "a=rate 5mbit")
            .with(Key::Path, "b=rate 5mbit")
            .with(Key::Traffic, "bulk:4MiB")
            .with(Key::Schedulers, "linux,rr,xlink")
            .with(Key::Cc, "cubic,lia");
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
        advice(&options.resolve().unwrap(), &answer).join("\n")
    }

    #[test]
    fn mainline_gets_its_endpoints_limits_and_sysctls() {
        let text = lines("mptcp/linux/cubic", Class::PaysOff);
        for part in ["net.mptcp.enabled=1", "limits set subflows 1", "endpoint add", "but a,"] {
            assert!(text.contains(part), "`{part}` is missing in: {text}");
        }
    }

    #[test]
    fn what_no_maintained_kernel_has_is_named_so() {
        let rr = lines("mptcp/rr/cubic", Class::PaysOff);
        assert!(rr.contains("mptcp_scheduler=roundrobin") && rr.contains("no longer"), "{rr}");
        assert!(lines("mptcp/xlink/cubic", Class::PaysOff).contains("no maintained kernel"));
        let coupled = lines("mptcp/linux/lia", Class::PaysOff);
        assert!(coupled.contains("no maintained kernel"), "{coupled}");
    }

    #[test]
    fn path_that_is_better_alone_is_named() {
        assert!(lines("mptcp/linux/cubic", Class::Hurts).starts_with("Use b alone"));
        assert_eq!(lines("mptcp/linux/cubic", Class::Undecided), "");
    }
}
