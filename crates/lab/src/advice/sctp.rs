//! Advice on SCTP over several addresses, and on CMT-SCTP.

use crate::comparison::Class;
use crate::scenario::{Carrier, Scenario, SctpFailover, Variant};
use transport::sctp::cmt::CmtConfig;

/// Congestion controls with the value of `cmt_on_off` that selects them in FreeBSD and usrsctp.
const CMT_ON_OFF: [(&str, u8); 5] =
    [("reno", 1), ("cmtrpv1", 2), ("cmtrpv2", 3), ("rpv2-bsd", 3), ("lia", 4)];

/// What SCTP needs to use several paths.
const ADDRESSES: &str =
    "Bind the addresses of all interfaces at both ends before the association is set up";

/// How to use SCTP over several addresses, or over one.
pub(super) fn advice(
    scenario: &Scenario,
    class: Class,
    variant: &Variant,
    alone: Option<&Variant>,
) -> Vec<String> {
    let Carrier::Multihomed { cmt, failover, .. } = &variant.carrier else { return Vec::new() };
    let path = alone.and_then(Variant::single_path).and_then(|path| scenario.paths.get(path));
    match (class, path) {
        (Class::PaysOff, _) if cmt.is_some() => cmt_sctp(scenario, variant),
        (Class::PaysOff, _) => {
            let mut lines = vec![format!(
                "{ADDRESSES}: `sctp_bindx` (RFC 6458), in Linux and FreeBSD and with usrsctp."
            )];
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

/// How to get CMT-SCTP, which multi-homing alone is not.
fn cmt_sctp(scenario: &Scenario, variant: &Variant) -> Vec<String> {
    let name = &variant.name;
    match on_off(scenario, variant) {
        Some(value) => vec![
            format!(
                "FreeBSD and usrsctp have CMT-SCTP with these windows: `sysctl \
                 net.inet.sctp.cmt_on_off={value}` at both ends, in usrsctp \
                 `usrsctp_sysctl_set_sctp_cmt_on_off({value})`. SCTP in Linux has no CMT."
            ),
            format!("{ADDRESSES}: `sctp_bindx` (RFC 6458)."),
            "Their other rules are those of `--sctp-profile bsd`.".to_owned(),
        ],
        None => vec![format!(
            "{name} exists in this program only (`anabranch live --protocol cmt-sctp`). FreeBSD \
             and usrsctp have CMT-SCTP with reno, cmtrpv1, cmtrpv2 or lia \
             (`net.inet.sctp.cmt_on_off`), compared with `--sctp-profile bsd`; SCTP in Linux has \
             none."
        )],
    }
}

/// The value of `cmt_on_off` for a variant; `None`: no other system has it.
fn on_off(scenario: &Scenario, variant: &Variant) -> Option<u8> {
    let Carrier::Multihomed { cmt: Some(cmt), scheduler: None, policy, .. } = &variant.carrier
    else {
        return None;
    };
    let usual = CmtConfig::of(scenario.choices.sctp.profile);
    let is_usual = CmtConfig { prefers_fastest: false, ..*cmt } == usual && policy.is_none();
    let control = variant.congestion.to_string();
    let known = CMT_ON_OFF.iter().find(|(name, _)| *name == control).filter(|_| is_usual)?;
    Some(known.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options, variants_of};

    /// Regression: CMT-SCTP was given the set-up of ordinary multi-homing.
    #[test]
    fn cmt_sctp_gets_its_switch_or_is_said_to_exist_here_only() {
        let options = ["a", "b"].iter().fold(Options::default(), |options, name| {
            options.with(Key::Path, &format!("{name}=rate 5mbit"))
        });
        let options = options
            .with(Key::Traffic, "bulk:4MiB")
            .with(Key::Protocols, "sctp,cmt-sctp")
            .with(Key::Schedulers, "send-all,lrf")
            .with(Key::Cc, "reno,cmtrpv1,cmtrpv2,lia,olia")
            .with(Key::BufferSplit, "both,none");
        let scenario = options.resolve().unwrap();
        let lines = |name: &str| {
            let variant = variants_of(&scenario).into_iter().find(|of| of.name == name);
            let variant = variant.unwrap_or_else(|| panic!("no variant {name}"));
            advice(&scenario, Class::PaysOff, &variant, None).join("\n")
        };
        for (control, value) in [("reno", 1), ("cmtrpv1", 2), ("cmtrpv2", 3), ("lia", 4)] {
            let text = lines(&format!("cmt-sctp/send-all/{control}"));
            assert!(text.contains(&format!("net.inet.sctp.cmt_on_off={value}`")), "{text}");
            assert!(text.contains("SCTP in Linux has no CMT"), "{text}");
        }
        for name in ["lrf/reno", "send-all/olia", "send-all/reno/buffer-split=none"] {
            let text = lines(&format!("cmt-sctp/{name}"));
            assert!(text.contains("exists in this program only") && !text.contains("bindx"));
        }
        assert!(!lines("sctp/multihomed/reno").contains("cmt_on_off"));
    }
}
