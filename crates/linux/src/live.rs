//! `Live`: an engine on TUN devices or UDP sockets with one application, from start to end.
//!
//! One thread, one loop. Another thread ends it by a [`Stopper`].

use crate::clock::Clock;
use crate::driver::{self, Driver};
use crate::error::LiveError;
use crate::host::{Capture, LiveHost, local_for};
use crate::interface::{self, Interface, Port};
use crate::ledger::Ledger;
use crate::monitor::{LinkState, Monitor};
use crate::notices::{DeviceState, Notices};
use crate::path::{PathDevice, UdpAddress};
use crate::udp_path::SCTP_UDP_PORT;
use base::{Duration, Instant, Recorder};
use mio::Waker;
use std::iter::Sum;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use traffic::Application;
use transport::ProtocolConfig;
use transport::sctp::Addresses;
use wire::sctp::UdpPorts;

/// How long connections may take to close when the application is done: a few round trips.
const LINGER: Duration = Duration::from_secs(1);

/// The application's side of a live host.
#[derive(Clone, Debug, Default)]
pub struct Endpoint {
    /// The address to connect from; `None`: the first one of the family of `remote`.
    pub local: Option<IpAddr>,
    /// The peer, for `connect`.
    pub remote: Option<SocketAddr>,
    /// Address and port to accept connections at. The unspecified address of IPv4 means all
    /// addresses of that family, that of IPv6 all addresses.
    pub listen: Option<SocketAddr>,
    /// Protocol of connections and listeners, with its configuration. SCTP has all addresses of
    /// the host; over UDP its `udp` names the port of the peer's host, 9899 if there is none.
    pub protocol: ProtocolConfig,
}

impl Endpoint {
    /// Whether an address of the engine's takes connections, if any do.
    fn wants(&self, address: IpAddr) -> bool {
        self.listen.is_none_or(|listen| {
            listen.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED)
                || listen.is_ipv4() == address.is_ipv4()
        })
    }
}

/// What a live host counted, in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveCounters {
    /// From the kernel.
    pub received: u64,
    /// Those of them that are no TCP, UDP, SCTP or ICMP, or damaged.
    pub ignored: u64,
    /// To the kernel.
    pub sent: u64,
    /// Refused by the kernel, because a device was down.
    pub unsent: u64,
    /// Those received that the kernel had merged (generic receive or segmentation offload).
    pub received_merged: u64,
    /// Those sent that were merged, for the kernel to segment.
    pub sent_merged: u64,
}

impl Sum for LiveCounters {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(LiveCounters::default(), |sum, part| LiveCounters {
            received: sum.received + part.received,
            ignored: sum.ignored + part.ignored,
            sent: sum.sent + part.sent,
            unsent: sum.unsent + part.unsent,
            received_merged: sum.received_merged + part.received_merged,
            sent_merged: sum.sent_merged + part.sent_merged,
        })
    }
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The application is done.
    Done,
    /// A [`Stopper`] stopped it, or the time of a measurement was up; connections were reset.
    Stopped,
}

/// Ends a run from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    stopped: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

impl Stopper {
    /// End the run.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        // Without a wake-up the run ends at its next event.
        let _ = self.waker.wake();
    }
}

/// Changes what addresses are for, from another thread.
#[derive(Clone, Debug)]
pub struct PathSwitch {
    asked: Arc<Mutex<Vec<(IpAddr, bool)>>>,
    waker: Arc<Waker>,
}

impl PathSwitch {
    /// Spare the paths of an address of the engine's while others are left, or use them again.
    /// Peers of open MPTCP connections are asked to do likewise (MP_PRIO, RFC 8684 s3.3.8).
    pub fn set_backup(&self, address: IpAddr, backup: bool) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((address, backup));
        // Without a wake-up it is done at the next event.
        let _ = self.waker.wake();
    }

    fn take(&self) -> Vec<(IpAddr, bool)> {
        std::mem::take(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// From now on an interrupt, a hang-up or a request to terminate waits for
/// [`Live::stop_on_signals`], so that nothing that was begun before is left behind. To be called
/// while the process has no other threads.
pub fn hold_signals() -> Result<(), LiveError> {
    driver::hold_signals().map(drop).map_err(|error| LiveError::system("holding signals", &error))
}

/// A live host.
pub struct Live<A> {
    host: LiveHost<A>,
    driver: Driver,
    monitor: Monitor,
    /// Devices that changed while they were opened.
    early: Vec<LinkState>,
    stopper: Stopper,
    switch: PathSwitch,
}

impl<A: Application> Live<A> {
    /// On the devices of `paths`, in the calling thread's namespace.
    pub fn open(
        paths: &[PathDevice],
        endpoint: Endpoint,
        application: A,
    ) -> Result<Self, LiveError> {
        let open = |listen| interface::open(paths, listen);
        Live::open_with(open, endpoint, application)
    }

    /// With SCTP in UDP at the addresses of `paths`, in the calling thread's namespace.
    pub fn open_udp(
        paths: &[UdpAddress],
        endpoint: Endpoint,
        application: A,
    ) -> Result<Self, LiveError> {
        if !matches!(endpoint.protocol, ProtocolConfig::Sctp(_)) {
            return Err(LiveError::Usage(
                "--path udp= carries SCTP only: add --protocol sctp, or write --path dev=TUN for \
                 mptcp and tcp"
                    .to_owned(),
            ));
        }
        let open = |listen| interface::open_udp(paths, listen);
        Live::open_with(open, endpoint, application)
    }

    fn open_with(
        open: impl FnOnce(Option<IpAddr>) -> Result<Vec<Interface>, LiveError>,
        endpoint: Endpoint,
        application: A,
    ) -> Result<Self, LiveError> {
        // Before the devices are looked at, so that no change is missed.
        let failed = |error| LiveError::system("watching devices", &error);
        let mut monitor = Monitor::open().map_err(failed)?;
        let mut interfaces = open(endpoint.listen.map(|listen| listen.ip()))?;
        let early = early(&monitor.take(), &interfaces);
        for interface in &mut interfaces {
            // A server for one family takes nothing at the other's.
            interface.addresses.retain(|address| endpoint.wants(*address));
        }
        let endpoint = complete(endpoint, &interfaces)?;
        check_listener(&endpoint, &interfaces)?;
        let driver = Driver::new(&interfaces, &monitor)?;
        let waker = Arc::new(driver.waker().map_err(failed)?);
        let switch = PathSwitch { asked: Arc::default(), waker: Arc::clone(&waker) };
        let stopper = Stopper { stopped: Arc::new(AtomicBool::new(false)), waker };
        let host = LiveHost::new(interfaces, endpoint, application)?;
        Ok(Live { host, driver, monitor, early, stopper, switch })
    }

    /// Write every packet that passes to a pcapng file, one interface per device, with the time of
    /// day.
    pub fn capture(&mut self, file: &Path) -> Result<(), LiveError> {
        let failed = |error| LiveError::Failed(format!("capturing to {}: {error}", file.display()));
        let names: Vec<&str> = self.host.interfaces.iter().map(|each| each.port.name()).collect();
        let capture = Capture::create(file, &names, self.host.clock);
        self.host.capture = Some(capture.map_err(failed)?);
        Ok(())
    }

    /// What ends `run`.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// What changes the priority of paths while `run` runs.
    pub fn path_switch(&self) -> PathSwitch {
        self.switch.clone()
    }

    /// Stop at an interrupt, a hang-up or a request to terminate. To be called while the process
    /// has no other threads.
    pub fn stop_on_signals(&mut self) -> Result<(), LiveError> {
        self.driver.watch_signals().map_err(|error| LiveError::system("watching signals", &error))
    }

    /// The devices and the engine's addresses, in words.
    pub fn describe(&self) -> String {
        interface::describe(&self.host.interfaces)
    }

    /// What the kernel lacks that transfers would profit from, in words, if anything.
    pub fn note(&self) -> Option<String> {
        interface::note(&self.host.interfaces)
    }

    /// The application.
    pub const fn application(&self) -> &A {
        &self.host.application
    }

    /// The application, when it is over.
    pub fn into_application(self) -> A {
        self.host.application
    }

    /// Passes lines for the user to `print`: devices that go down, return or are removed, and
    /// segments that are too large for the network behind a device.
    pub fn on_notice(&mut self, print: impl FnMut(&str) + 'static) {
        self.host.notices = Some(Notices::new(&self.host.interfaces, print));
    }

    /// What was counted.
    pub fn counters(&self) -> LiveCounters {
        self.host.counters()
    }

    /// What was counted on each path, with its name.
    pub fn path_counters(&self) -> impl Iterator<Item = (&str, LiveCounters)> {
        self.host.interfaces.iter().map(|each| (each.port.name(), each.counters))
    }

    /// Measure: times are those of `clock`, connections are remembered beyond their end, and the
    /// stack's events go to `recorder`.
    pub fn measure(&mut self, clock: Clock, recorder: Box<dyn Recorder>) {
        self.host.clock = clock;
        self.host.recorder = Some(recorder);
        self.host.ledger = Some(Ledger::default());
    }

    /// What connections sent, if that was to be measured.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.host.ledger.as_ref()
    }

    /// Runs until the application is done and its connections are closed, or until it is stopped.
    pub fn run(&mut self) -> Result<End, LiveError> {
        let end = self.run_until(LINGER, Instant::FAR_FUTURE);
        self.wind_up(matches!(end, Ok(End::Done)))?;
        end
    }

    /// Runs until the application is done, it is stopped, or the time is `limit`; `at_end` is
    /// called before the remaining connections are reset.
    pub fn run_measured(
        &mut self,
        limit: Instant,
        at_end: impl FnOnce(),
    ) -> Result<End, LiveError> {
        let end = self.run_until(Duration::ZERO, limit);
        self.host.note_sent();
        at_end();
        self.wind_up(false)?;
        end
    }

    fn wind_up(&mut self, closed: bool) -> Result<(), LiveError> {
        if !closed {
            self.host.abort()?;
        }
        self.host.flush();
        if let Some(capture) = &mut self.host.capture {
            capture.flush()?;
        }
        Ok(())
    }

    fn run_until(&mut self, linger: Duration, limit: Instant) -> Result<End, LiveError> {
        self.host.start()?;
        let early = std::mem::take(&mut self.early);
        self.on_device_change(early)?;
        let mut pending = vec![false; self.host.interfaces.len()];
        let mut close_by = None;
        loop {
            if self.stopper.stopped.load(Ordering::Acquire) {
                return Ok(End::Stopped);
            }
            let mut timeout = self.host.fire()?;
            let now = self.host.now();
            if self.host.application.is_done() {
                let close_by = *close_by.get_or_insert(now + linger);
                if now >= close_by || self.host.is_quiet() {
                    return Ok(End::Done);
                }
                timeout = Some(timeout.unwrap_or(linger).min(close_by - now));
            }
            if now >= limit {
                return Ok(End::Stopped);
            }
            if limit != Instant::FAR_FUTURE {
                timeout = Some(timeout.unwrap_or(limit - now).min(limit - now));
            }
            if pending.contains(&true) {
                timeout = Some(Duration::ZERO);
            }
            self.wait(timeout, &mut pending)?;
            for (number, pending) in pending.iter_mut().enumerate() {
                if *pending {
                    *pending = self.host.receive(number)?;
                }
            }
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, pending: &mut [bool]) -> Result<(), LiveError> {
        self.host.flush();
        let woken = self.driver.wait(timeout);
        let woken = woken.map_err(|error| LiveError::system("waiting", &error))?;
        for number in woken.readable {
            if let Some(pending) = pending.get_mut(number) {
                *pending = true;
            }
        }
        if woken.stopped {
            self.stopper.stopped.store(true, Ordering::Release);
        }
        if woken.changed {
            let changed = self.monitor.take();
            self.on_device_change(changed)?;
        }
        for (address, backup) in self.switch.take() {
            self.host.set_backup(address, backup)?;
        }
        Ok(())
    }

    fn on_device_change(&mut self, changed: Vec<LinkState>) -> Result<(), LiveError> {
        for device in changed {
            let ours = |interface: &Interface| interface.index == device.index;
            if let Some(number) = self.host.interfaces.iter().position(ours) {
                self.host.device_changed(number, device.state)?;
            }
        }
        Ok(())
    }
}

/// What remains of the changes while devices were opened, which were found up: the last one of
/// each, if it went down after that.
fn early(changed: &[LinkState], interfaces: &[Interface]) -> Vec<LinkState> {
    let last =
        |interface: &Interface| changed.iter().rfind(|device| device.index == interface.index);
    let last = interfaces.iter().filter_map(last).copied();
    last.filter(|device| device.state != DeviceState::Up).collect()
}

/// Choose what was left open.
fn complete(mut endpoint: Endpoint, interfaces: &[Interface]) -> Result<Endpoint, LiveError> {
    if let (Some(remote), None) = (endpoint.remote, endpoint.local) {
        endpoint.local = local_for(interfaces, remote.ip());
        if endpoint.local.is_none() {
            let family = if remote.is_ipv4() { "IPv4" } else { "IPv6" };
            return Err(LiveError::Usage(format!(
                "no device has an {family} address to reach {remote} from"
            )));
        }
    }
    if let ProtocolConfig::Mptcp(config) = &mut endpoint.protocol {
        let backup = interfaces.iter().filter(|interface| interface.backup);
        config.backup.extend(backup.flat_map(|interface| &interface.addresses));
        config.joins_mappings = interfaces.iter().any(Interface::has_offloads);
    }
    if let ProtocolConfig::Sctp(config) = &mut endpoint.protocol {
        config.addresses = Addresses::All;
        let first = interfaces.iter().find_map(|interface| match &interface.port {
            Port::Udp(path) => Some(path.local().port()),
            Port::Tun(_) => None,
        });
        if let Some(src) = first {
            let dst = config.udp.map_or(SCTP_UDP_PORT, |ports| ports.dst);
            config.udp = Some(UdpPorts { src, dst });
        }
    }
    Ok(endpoint)
}

/// Refuses a listener for IPv4 of an engine that has addresses of IPv6 only.
fn check_listener(endpoint: &Endpoint, interfaces: &[Interface]) -> Result<(), LiveError> {
    let has_none = interfaces.iter().all(|interface| interface.addresses.is_empty());
    match endpoint.listen {
        Some(listen) if has_none => Err(LiveError::Usage(format!(
            "no path has an IPv4 address to listen at; add one, or listen at [::]:{}",
            listen.port()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn server_wants_addresses_of_its_family() {
        let (v4, v6): (IpAddr, IpAddr) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
        for (address, wants_v4, wants_v6) in [
            ("10.0.0.1:1", true, false),
            ("0.0.0.0:1", true, false),
            ("[fd00::1]:1", false, true),
            ("[::]:1", true, true),
        ] {
            let listen = Some(address.parse().expect("an address"));
            let endpoint = Endpoint { listen, ..Endpoint::default() };
            assert_eq!((endpoint.wants(v4), endpoint.wants(v6)), (wants_v4, wants_v6), "{address}");
        }
        let client = Endpoint::default();
        assert!(client.wants(v6) && client.wants(v4));
    }
}
