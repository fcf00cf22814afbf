//! The subcommand `live`: serves and downloads files with the engine on TUN devices or, over SCTP,
//! UDP sockets.
//!
//! Reads arguments, shows progress and results; the `linux` crate does everything else.

use crate::doctor::MISSING;
use crate::exit::{FAILED, INTERRUPTED, USAGE};
use crate::output::{can_redraw, error, message, print};
use crate::progress::real_time;
use crate::save::Overwrite;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use lab::scenario::{SctpFailover, SingleChoices, SingleOptions};
use lab::{Given, InputError};
use linux::{
    Download, End, Endpoint, FileServer, Live, LiveCounters, LiveError, Paths, Received,
    SCTP_UDP_PORT, Served, UdpPorts,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use traffic::Application;
use transport::mptcp::MptcpConfig;
use transport::path_manager::PathManagerKind;
use transport::sctp::cmt::CmtConfig;
use transport::sctp::{RtxPolicy, SctpConfig};
use transport::{Protocol, ProtocolConfig, TcpConfig};

/// Time between two plain lines of progress.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Of mptcp and tcp.
const DEFAULT_CC: &str = "cubic";
/// Of mptcp.
const DEFAULT_FAILOVER: &str = "probe";
/// Of mptcp.
const DEFAULT_SCHEDULER: &str = "linux";
/// Of mptcp.
const DEFAULT_PATH_MANAGER: &str = "fullmesh";
/// Of mptcp.
const DEFAULT_POLICY: &str = "none";

const EXAMPLES: &str = "\
Examples:
  sudo ip tuntap add dev tun0 mode tun && sudo ip addr add 10.9.0.1/24 dev tun0
  sudo ip link set tun0 up
  sudo anabranch live serve --dir . --listen 10.9.0.2:8080 --path dev=tun0
  curl -O http://10.9.0.2:8080/FILE            # the kernel's TCP as the peer

  sudo anabranch live get 10.9.0.1:8080/FILE -o FILE --path dev=tun0

  # SCTP in UDP needs no root; repeat --path for further addresses
  anabranch live serve --protocol sctp --path udp=127.0.0.1 --listen 127.0.0.1:8080 --dir .
  anabranch live get --protocol sctp --path udp=127.0.0.1 127.0.0.1:8080/FILE -o COPY

On a TUN device the kernel has the addresses that `ip addr` shows; the engine uses the lowest free
address of each subnet, or that of addr=: dev=tun0,addr=10.9.0.7. A device that does not exist is
created, and removed at exit: dev=tun7,addr=10.7.0.2/24.

Exit codes: 0 done, 1 failure, 2 wrong usage, 3 privilege or device missing, 130 interrupted.";

/// Options of `live`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct LiveArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Serve the files of a folder over HTTP
    #[command(after_help = EXAMPLES)]
    Serve(ServeArgs),
    /// Get a file from an HTTP server
    #[command(after_help = EXAMPLES)]
    Get(GetArgs),
}

#[derive(Args, Debug)]
struct ServeArgs {
    /// Folder of the files to serve
    #[arg(long, value_name = "DIR", env = "ANABRANCH_DIR", hide_env = true)]
    dir: PathBuf,
    /// Address of the engine and port to listen on; 0.0.0.0 or [::] for all of its addresses
    #[arg(long, value_name = "ADDR:PORT", env = "ANABRANCH_LISTEN", hide_env = true)]
    listen: String,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
struct GetArgs {
    /// Server, port and file, such as 10.9.0.1:8080/a.bin or [fd00:9::1]:8080/a.bin
    #[arg(value_name = "ADDR:PORT/FILE")]
    source: String,
    /// Output file [default: its name, in the working directory]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the SHA-256 of the file
    #[arg(long)]
    hash: bool,
    /// Print one JSON document: file, bytes, seconds, goodput_bps, sha256
    #[arg(long)]
    json: bool,
    /// UDP port of the server's host, for paths of udp= (RFC 6951)
    #[arg(long, value_name = "PORT", default_value_t = SCTP_UDP_PORT)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    udp_port: u16,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
struct CommonArgs {
    /// TUN devices, one per path, and the addresses of the engine on them:
    /// dev=TUN[,addr=A/LEN][,backup]; or for sctp, without root, addresses of this host:
    /// udp=ADDR[:PORT][,dev=NAME][,mtu=BYTES]
    #[arg(long = "path", value_name = "dev=TUN[,...] or udp=ADDR[,...]", required = true)]
    paths: Vec<String>,
    /// Protocol: mptcp, which falls back to TCP if the peer does not support it, tcp, sctp, or
    /// cmt-sctp, which sends on all paths at once
    #[arg(long, value_name = "NAME", default_value = "mptcp")]
    #[arg(env = "ANABRANCH_PROTOCOL", hide_env = true)]
    protocol: String,
    /// Congestion control: cubic (not for sctp, which takes reno), reno, or for mptcp a coupled
    /// one, such as lia or olia:min-ssthresh=1; see `anabranch list congestion`
    #[arg(long, value_name = "NAME", default_value = DEFAULT_CC)]
    #[arg(env = "ANABRANCH_CC", hide_env = true)]
    cc: String,
    /// Scheduler of mptcp: linux (as mainline Linux), or another, such as lrf, redundant, wrr:3,1
    /// or ecf:beta=0.5; see `anabranch list schedulers`
    #[arg(long, value_name = "NAME", default_value = DEFAULT_SCHEDULER)]
    #[arg(env = "ANABRANCH_SCHEDULER", hide_env = true)]
    scheduler: String,
    /// Path manager of mptcp: fullmesh (joins every path), default (none), or ndiffports:3
    #[arg(long, visible_alias = "pm", value_name = "NAME")]
    #[arg(default_value = DEFAULT_PATH_MANAGER)]
    #[arg(env = "ANABRANCH_PATH_MANAGER", hide_env = true)]
    path_manager: String,
    /// Path policy of mptcp: none, drepas (suspends paths that contribute too little), or
    /// drepas:interval=2s
    #[arg(long, value_name = "NAME", default_value = DEFAULT_POLICY)]
    #[arg(env = "ANABRANCH_POLICY", hide_env = true)]
    policy: String,
    /// Rule for declaring a path failed: probe (at an unanswered tail loss probe; the path is
    /// probed until it returns), rto (at a retransmission time-out), stale (as Linux); for sctp pf
    /// (RFC 7829, its default) or pmr (RFC 9260)
    #[arg(long, value_name = "NAME", default_value = DEFAULT_FAILOVER)]
    #[arg(env = "ANABRANCH_FAILOVER", hide_env = true)]
    failover: String,
    /// Request checksums of data sequence mappings
    #[arg(long)]
    checksum: bool,
    /// Write the packets to a pcapng file, for Wireshark
    #[arg(long, value_name = "FILE", env = "ANABRANCH_PCAP", hide_env = true)]
    pcap: Option<PathBuf>,
    /// Overwrite files that anabranch did not write, and downloaded ones
    #[arg(long)]
    force: bool,
    /// Print no progress and no notes
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
    /// Print packet counts at the end
    #[arg(long, short)]
    verbose: bool,
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn live(args: &LiveArgs) -> u8 {
    let result = match &args.verb {
        Verb::Serve(args) => serve(args),
        Verb::Get(args) => get(args),
    };
    match result {
        Ok(End::Done) => 0,
        Ok(End::Stopped) => INTERRUPTED,
        Err(failure) => {
            error(&failure);
            match failure {
                LiveError::Usage(_) => USAGE,
                LiveError::Missing { .. } => MISSING,
                LiveError::Failed(_) => FAILED,
            }
        }
    }
}

impl CommonArgs {
    /// Refuses captures that would overwrite a file that anabranch did not write.
    fn check_files(&self) -> Result<Overwrite, LiveError> {
        let overwrite = Overwrite { force: self.force };
        self.pcap
            .iter()
            .try_for_each(|file| overwrite.allow("--pcap", file, "file"))
            .map_err(usage)?;
        Ok(overwrite)
    }
}

impl CommonArgs {
    /// A note for each option of mptcp that was given, if another protocol has no use for it.
    fn unused(&self, protocol: Protocol) -> Vec<String> {
        let failover = if protocol.is_sctp() { DEFAULT_FAILOVER } else { &self.failover };
        let options = [
            ("--scheduler", self.scheduler.as_str(), DEFAULT_SCHEDULER),
            ("--path-manager", &self.path_manager, DEFAULT_PATH_MANAGER),
            ("--policy", &self.policy, DEFAULT_POLICY),
            ("--failover", failover, DEFAULT_FAILOVER),
            ("--checksum", if self.checksum { "" } else { "off" }, "off"),
        ];
        let given = options.into_iter().filter(|(_, value, default)| value != default);
        let name = protocol.name();
        let note = |(option, value, _)| {
            let option = format!("{option} {value}");
            format!("note: {} has no effect: it is for mptcp, not for {name}", option.trim_end())
        };
        given.map(note).collect()
    }
}

fn usage(refusal: InputError) -> LiveError {
    LiveError::Usage(refusal.to_string())
}

fn serve(args: &ServeArgs) -> Result<End, LiveError> {
    let listen = address("--listen", &args.listen)?;
    let paths = paths(&args.common)?;
    let protocol = protocol(&args.common, &paths, SCTP_UDP_PORT)?;
    args.common.check_files()?;
    let endpoint = Endpoint { listen: Some(listen), protocol, ..<_>::default() };
    let quiet = args.common.quiet;
    let server = FileServer::new(&args.dir, move |served| {
        if !quiet {
            message(&log_line(served));
        }
    })?;
    let mut live = open(&paths, endpoint, server)?;
    if !quiet {
        message(&format!(
            "serving {} on port {}: {}",
            args.dir.display(),
            listen.port(),
            live.describe()
        ));
    }
    run(&mut live, &args.common)
}

fn get(args: &GetArgs) -> Result<End, LiveError> {
    let (server, path) = source(&args.source)?;
    let path = path.as_str();
    let own_name = || PathBuf::from(path.rsplit('/').next().unwrap_or(path));
    let output = args.output.clone().unwrap_or_else(own_name);
    let paths = paths(&args.common)?;
    let protocol = protocol(&args.common, &paths, args.udp_port)?;
    check_reach(server.ip(), &paths)?;
    args.common.check_files()?.absent("-o", &output).map_err(usage)?;
    check_apart(args.common.pcap.as_deref(), &output)?;
    let is_sctp = matches!(protocol, ProtocolConfig::Sctp(_));
    let endpoint = Endpoint { remote: Some(server), protocol, ..<_>::default() };
    let bar = Meter::new(args.common.quiet);
    let finished = bar.bar.clone();
    let show = bar.show();
    // From here to its end the download has a file that an interrupt must remove.
    linux::hold_signals()?;
    let download = Download::new(server, path, &output, args.hash || args.json, show)?;
    // A peer of SCTP is a server of this program; HTTP/1.1 is on stream 0.
    let download = if is_sctp { download.with_http11(path) } else { download };
    let mut live = open(&paths, endpoint, download)?;
    let end = run(&mut live, &args.common);
    if let Some(bar) = finished {
        bar.finish_and_clear();
    }
    if end? == End::Stopped && !live.application().is_done() {
        message("interrupted: no file was saved");
        return Ok(End::Stopped);
    }
    let is_unanswered = live.application().is_unanswered();
    let received = live.application().result();
    let received = received.map_err(|why| with_remedy(why, server, &paths, is_unanswered))?;
    print(&if args.json { document(&output, &received) } else { summary(&output, &received) });
    Ok(End::Done)
}

/// Refuses a server at a loopback address, which no TUN device reaches.
fn check_reach(server: IpAddr, paths: &Paths) -> Result<(), LiveError> {
    if server.is_loopback() && matches!(paths, Paths::Devices(_)) {
        return Err(LiveError::Usage(format!(
            "no TUN device reaches {server}: name this machine's address on the device, which \
             `ip addr` shows, and have the server listen there"
        )));
    }
    Ok(())
}

/// Refuses a capture in the place of the downloaded file.
fn check_apart(capture: Option<&Path>, output: &Path) -> Result<(), LiveError> {
    // Through symbolic links, of which the folder may have some.
    let place = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        Some((path.parent()?.canonicalize().ok()?, path.file_name()?.to_owned()))
    };
    match capture {
        Some(capture) if place(capture).is_some() && place(capture) == place(output) => {
            let problem = format!("`{}` is the file of the download", capture.display());
            Err(usage(InputError::at("--pcap", problem, "name another file")))
        }
        _ => Ok(()),
    }
}

/// The failure, and what a link-local server needs, if it is missing, or another path to begin
/// with.
fn with_remedy(
    failure: LiveError,
    server: SocketAddr,
    paths: &Paths,
    is_unanswered: bool,
) -> LiveError {
    let is_named = match paths {
        Paths::Devices(_) => true,
        Paths::Udp(addresses) => addresses.iter().any(|udp| udp.device.is_some()),
    };
    match (failure, server.ip()) {
        (LiveError::Failed(why), IpAddr::V6(ip)) if ip.is_unicast_link_local() && !is_named => {
            LiveError::Failed(format!(
                "{why}\n  {ip} is valid on one link only; name its device: \
                 --path udp=ADDRESS,dev=NAME"
            ))
        }
        (LiveError::Failed(why), _) if is_unanswered && paths.count() > 1 => {
            LiveError::Failed(format!(
                "{why}\n  the first --path opens the connection; if it does not work, name another \
                 one first"
            ))
        }
        (failure, _) => failure,
    }
}

fn run<A: Application>(live: &mut Live<A>, common: &CommonArgs) -> Result<End, LiveError> {
    live.stop_on_signals()?;
    if let Some(file) = &common.pcap {
        live.capture(file)?;
    }
    if let Some(note) = live.note().filter(|_| !common.quiet) {
        message(&note);
    }
    if !common.quiet {
        live.on_notice(message);
    }
    let end = live.run();
    if common.verbose {
        message(&format!("packets: {}", counted(&live.counters())));
        let paths: Vec<_> = live.path_counters().collect();
        for (name, counters) in paths.iter().filter(|_| paths.len() > 1) {
            message(&format!("  {name}: {}", counted(counters)));
        }
    }
    end
}

fn counted(counters: &LiveCounters) -> String {
    let LiveCounters { received, ignored, sent, unsent, .. } = counters;
    format!(
        "{received} received ({ignored} of them ignored), {sent} sent, {unsent} refused by the \
         kernel"
    )
}

fn open<A: Application>(
    paths: &Paths,
    endpoint: Endpoint,
    application: A,
) -> Result<Live<A>, LiveError> {
    match paths {
        Paths::Devices(devices) => Live::open(devices, endpoint, application),
        Paths::Udp(addresses) => Live::open_udp(addresses, endpoint, application),
    }
}

fn paths(common: &CommonArgs) -> Result<Paths, LiveError> {
    linux::path::parse_any(common.paths.iter().map(String::as_str))
}

/// The protocol with its configuration. `peer_port`: UDP port of the peer's host.
fn protocol(
    common: &CommonArgs,
    paths: &Paths,
    peer_port: u16,
) -> Result<ProtocolConfig, LiveError> {
    let known = Protocol::by_name(&common.protocol).filter(|known| *known != Protocol::Udp);
    let Some(protocol) = known else {
        let name = &common.protocol;
        return Err(LiveError::Usage(format!(
            "--protocol {name} is not known; use mptcp, tcp, sctp or cmt-sctp"
        )));
    };
    if !protocol.is_sctp() && matches!(paths, Paths::Udp(_)) {
        return Err(LiveError::Usage(format!(
            "--path udp= carries SCTP only, not {}: add --protocol sctp, or write --path dev=TUN",
            common.protocol
        )));
    }
    if protocol != Protocol::Mptcp && !common.quiet {
        common.unused(protocol).iter().for_each(|note| message(note));
    }
    if protocol.is_sctp() {
        return sctp(protocol, common, paths, peer_port);
    }
    let asked = SingleOptions {
        congestion: Given::argument("--cc", &common.cc),
        scheduler: Given::argument("--scheduler", &common.scheduler),
        path_manager: Given::argument("--path-manager", &common.path_manager),
        policy: Given::argument("--policy", &common.policy),
        failover: Given::argument("--failover", &common.failover),
    };
    let asked =
        asked.resolve(paths.count()).map_err(|error| LiveError::Usage(error.to_string()))?;
    let SingleChoices { congestion, scheduler, path_manager, policy, failover } = asked;
    if matches!(path_manager, PathManagerKind::Binder | PathManagerKind::Kernel) {
        return Err(LiveError::Usage(format!(
            "--path-manager {path_manager} is for simulations only: live use has neither gateways \
             nor endpoints; use fullmesh, ndiffports or default"
        )));
    }
    let tcp = TcpConfig { congestion, ..TcpConfig::default() };
    match protocol {
        Protocol::Mptcp => {
            let checksum = common.checksum;
            let default = MptcpConfig::default();
            let config =
                MptcpConfig { tcp, scheduler, policy, path_manager, failover, checksum, ..default };
            Ok(ProtocolConfig::Mptcp(Box::new(config)))
        }
        Protocol::Tcp if tcp.congestion.is_coupled() => Err(LiveError::Usage(format!(
            "--cc {} is coupled: it needs --protocol mptcp",
            tcp.congestion
        ))),
        // Returned above.
        Protocol::Tcp | Protocol::Sctp | Protocol::CmtSctp | Protocol::Udp => {
            Ok(ProtocolConfig::Tcp(tcp))
        }
    }
}

/// SCTP with its own congestion controls and fail-over rules.
fn sctp(
    protocol: Protocol,
    common: &CommonArgs,
    paths: &Paths,
    peer_port: u16,
) -> Result<ProtocolConfig, LiveError> {
    if protocol == Protocol::CmtSctp && paths.count() < 2 {
        return Err(LiveError::Usage(
            "cmt-sctp uses several paths at once: add another --path, or write --protocol sctp"
                .to_owned(),
        ));
    }
    let control = Given::argument("--cc", &common.cc);
    let control = lab::scenario::control_of_sctp(protocol, &control).map_err(usage)?;
    if control.is_none() && common.cc != DEFAULT_CC && !common.quiet {
        message(&format!("note: {} has no `{}`: it takes `reno`", protocol.name(), common.cc));
    }
    let mut config = SctpConfig::default();
    config.congestion = control.unwrap_or(config.congestion);
    if protocol == Protocol::CmtSctp {
        (config.cmt, config.rtx_policy) = (Some(CmtConfig::default()), RtxPolicy::Rtt);
    }
    if common.failover != DEFAULT_FAILOVER {
        let Some(rule) = SctpFailover::by_name(&common.failover) else {
            return Err(LiveError::Usage(format!(
                "--failover {} is not a rule of sctp: write pf (RFC 7829) or pmr (RFC 9260)",
                common.failover
            )));
        };
        let limits = &mut config.parameters.limits;
        limits.potentially_failed = (rule == SctpFailover::Pf).then_some(0);
    }
    if matches!(paths, Paths::Udp(_)) {
        config.udp = Some(UdpPorts { src: 0, dst: peer_port });
    }
    Ok(config.into())
}

fn address(option: &str, text: &str) -> Result<SocketAddr, LiveError> {
    let refuse = |why: &str| {
        LiveError::Usage(format!(
            "{option} {text}: {why}\n  write it as 10.9.0.2:8080 or [fd00:9::2]:8080"
        ))
    };
    let address: SocketAddr =
        text.parse().map_err(|_| refuse("it is not an address with a port"))?;
    if address.port() == 0 {
        return Err(refuse("port 0 cannot be reached"));
    }
    Ok(address)
}

/// Parses `ADDR:PORT/FILE`, also in the form of a URL, whose path is in percent-encoding (RFC 3986
/// s2.1).
fn source(text: &str) -> Result<(SocketAddr, String), LiveError> {
    let url = text.strip_prefix("http://");
    let refuse = || LiveError::Usage(format!("{text}: no file is named; write ADDR:PORT/FILE"));
    let scheme = text.split_once("://").map(|(scheme, _)| scheme).filter(|_| url.is_none());
    if let Some(scheme) = scheme.filter(|scheme| !scheme.contains(['/', ':'])) {
        let help = "write ADDR:PORT/FILE or http://ADDR:PORT/FILE";
        return Err(LiveError::Usage(format!("{text}: `{scheme}:` is not supported; {help}")));
    }
    let (server, path) = url.unwrap_or(text).split_once('/').ok_or_else(refuse)?;
    let path = match url {
        None => path.to_owned(),
        Some(_) if path.contains('?') => {
            let why = "queries are not supported; write `%3F` for a `?` in the name of the file";
            return Err(LiveError::Usage(format!("{text}: {why}")));
        }
        Some(_) if path.is_empty() || path.ends_with('/') => return Err(refuse()),
        Some(_) => Download::decoded(path).ok_or_else(|| {
            LiveError::Usage(format!("{text}: the path is not that of a file in a URL"))
        })?,
    };
    if path.is_empty() || path.ends_with('/') {
        return Err(refuse());
    }
    let server = address("source", server)?;
    let ip = server.ip();
    if ip.is_unspecified() || ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST) {
        return Err(LiveError::Usage(format!("{text}: {ip} is not the address of one host")));
    }
    Ok((server, path))
}

fn log_line(served: &Served) -> String {
    let Served { path, status, bytes, time, failure } = served;
    let (number, _) = status.line();
    let end = failure.as_ref().map_or(String::new(), |why| format!(": {why}"));
    format!("{number} /{path} {bytes} bytes in {time}{end}")
}

fn summary(output: &Path, received: &Received) -> String {
    let Received { bytes, time, sha256 } = received;
    let seconds = time.as_secs_f64();
    let rate = goodput(received) / 1e6;
    let mut text =
        format!("{}: {bytes} bytes in {seconds:.3} s, {rate:.1} Mbit/s\n", output.display());
    if let Some(hash) = sha256 {
        text.push_str(&format!("sha256 {hash}\n"));
    }
    text
}

fn document(output: &Path, received: &Received) -> String {
    let document = serde_json::json!({
        "schema": 1,
        "file": output.to_string_lossy(),
        "bytes": received.bytes,
        "seconds": received.time.as_secs_f64(),
        "goodput_bps": goodput(received),
        "sha256": received.sha256,
    });
    format!("{document:#}\n")
}

fn goodput(received: &Received) -> f64 {
    received.bytes as f64 * 8.0 / received.time.as_secs_f64().max(1e-9)
}

/// Progress of a download on standard error.
struct Meter {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Meter {
    fn new(quiet: bool) -> Meter {
        let bar = (!quiet && can_redraw()).then(|| {
            let bar = ProgressBar::new(0);
            let template = "{wide_bar} {binary_bytes}/{binary_total_bytes}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        Meter { bar, quiet }
    }

    /// A bar on a terminal, a plain line every ten seconds elsewhere.
    fn show(self) -> impl FnMut(linux::Progress) + 'static {
        let mut last_line = real_time();
        move |progress| match &self.bar {
            Some(bar) => {
                bar.set_length(progress.total.unwrap_or(progress.received));
                bar.set_position(progress.received);
            }
            None if !self.quiet && last_line.elapsed() >= LINE_EVERY => {
                last_line = real_time();
                let total = progress.total.map_or(String::new(), |total| format!(" of {total}"));
                message(&format!("{}{total} bytes", progress.received));
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Cli, Command};
    use clap::Parser;
    use lab::scenario::Key;

    #[test]
    fn path_of_a_url_is_decoded_and_a_plain_one_is_not() {
        let path = |text: &str| source(text).map(|(_, path)| path).map_err(|why| why.to_string());
        assert_eq!(path("10.9.0.1:80/a%20b"), Ok("a%20b".to_owned()));
        assert_eq!(path("10.9.0.1:80/a?b#c"), Ok("a?b#c".to_owned()));
        assert_eq!(path("http://10.9.0.1:80/a%20b%3f/%C3%BC#top"), Ok("a b?/ü".to_owned()));
        for (text, part) in [
            ("http://10.9.0.1:80/a?b=1", "queries"),
            ("http://10.9.0.1:80/a%2", "in a URL"),
            ("http://10.9.0.1:80/a%00", "in a URL"),
            ("http://10.9.0.1:80/", "no file is named"),
            ("http://10.9.0.1:80", "no file is named"),
        ] {
            let why = path(text).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    fn common(more: &[&str]) -> CommonArgs {
        let words = ["anabranch", "live", "get", "10.9.0.1:80/x", "--path", "dev=tun0"];
        match Cli::try_parse_from(words.iter().chain(more)).map(|cli| cli.command) {
            Ok(Command::Live(LiveArgs { verb: Verb::Get(args) })) => args.common,
            other => panic!("{other:?}"),
        }
    }

    /// Regression: SCTP took a scheduler and did without it, silently.
    #[test]
    fn options_of_mptcp_are_noted_where_they_have_no_effect() {
        assert!(common(&[]).unused(Protocol::Sctp).is_empty());
        let given = common(&["--scheduler", "rr", "--checksum", "--failover", "rto"]);
        let of = |option, protocol| {
            format!("note: {option} has no effect: it is for mptcp, not for {protocol}")
        };
        let sctp = ["--scheduler rr", "--checksum"].map(|option| of(option, "cmt-sctp"));
        assert_eq!(given.unused(Protocol::CmtSctp), sctp);
        let tcp =
            ["--scheduler rr", "--failover rto", "--checksum"].map(|option| of(option, "tcp"));
        assert_eq!(given.unused(Protocol::Tcp), tcp);
    }

    #[test]
    fn failure_to_reach_a_link_local_server_names_what_is_missing() {
        let of = |server: &str, path: &'static str| {
            let paths = linux::path::parse_any([path]).unwrap();
            let failure = LiveError::Failed("destination unreachable".to_owned());
            with_remedy(failure, server.parse().unwrap(), &paths, false).to_string()
        };
        assert_eq!(
            of("[fe80::1]:80", "udp=::1"),
            "destination unreachable\n  fe80::1 is valid on one link only; name its device: \
             --path udp=ADDRESS,dev=NAME"
        );
        for (server, path) in [("[fe80::1]:80", "udp=::1,dev=lo"), ("[fd00::1]:80", "udp=::1")] {
            assert_eq!(of(server, path), "destination unreachable");
        }
    }

    #[test]
    fn failure_to_connect_over_one_of_several_paths_says_which_one_was_used() {
        let of = |paths: &[&str], is_unanswered| {
            let paths = linux::path::parse_any(paths.iter().copied()).unwrap();
            let failure = LiveError::Failed("no answer".to_owned());
            with_remedy(failure, "10.8.0.1:80".parse().unwrap(), &paths, is_unanswered).to_string()
        };
        let two = ["dev=tun0", "dev=tun1"];
        assert_eq!(
            of(&two, true),
            "no answer\n  the first --path opens the connection; if it does not work, name \
             another one first"
        );
        assert_eq!([of(&two[..1], true), of(&two, false)], ["no answer"; 2]);
    }

    #[test]
    fn default_scheduler_is_that_of_compare() {
        let common = common(&[]);
        let Ok(ProtocolConfig::Mptcp(config)) =
            protocol(&common, &paths(&common).unwrap(), SCTP_UDP_PORT)
        else {
            panic!("mptcp")
        };
        let compared = lab::Options::default()
            .with(Key::Path, "a=rate 9mbit")
            .with(Key::Path, "b=rate 9mbit")
            .with(Key::Traffic, "bulk:1MiB");
        assert_eq!(compared.resolve().unwrap().choices.schedulers, [config.scheduler]);
    }
}
