//! Two stacks, TCP or MPTCP, and everything that may happen to them: segments with any fields and
//! options in any order, losses, copies, delays, damage, middleboxes, interfaces that come and go,
//! applications that do what they like, time that moves on.
//!
//! Nothing panics, nothing loops, memory is bounded, and what is read is what was written as long
//! as no segment was forged. Where nothing but the network got in the way, all of it arrives.

#![no_main]

mod memory;
mod packets;
mod two_hosts;

use arbitrary::{Result, Unstructured};
use base::{Duration, InterfaceId};
use libfuzzer_sys::fuzz_target;
use memory::Counting;
use transport::congestion::ControllerChoice;
use transport::mptcp::MptcpConfig;
use transport::path_manager::{self, PathManagerKind};
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;
use transport::{Buffers, Input, InterfaceEvent, Profile, ProtocolConfig, TcpConfig};
use transport::{FAILOVER_NAMES, Failover};
use two_hosts::{Flying, PORT, TwoHosts};
use wire::{Body, Flags, Icmp, MptcpOptions, Packet, Payload, SeqNumber, TcpOptions, TcpSegment};

#[global_allocator]
static MEMORY: Counting = Counting;

/// Commands of one input.
const MOST_COMMANDS: usize = 400;
/// Steps of one input.
const MOST_STEPS: usize = 30_000;
/// Bytes that two hosts, their connections and packets under way may take.
const MOST_MEMORY: isize = 48 << 20;

fuzz_target!(|bytes: &[u8]| {
    let before = memory::live();
    // An input that ends early is a short one.
    let _ = run(&mut Unstructured::new(bytes), before);
    let left = memory::live() - before;
    assert!(left < 1 << 20, "{left} bytes are never freed");
});

fn run(u: &mut Unstructured<'_>, before: isize) -> Result<()> {
    let configs = [config(u)?, config(u)?];
    let interfaces = u.int_in_range(1..=3)?;
    let ipv6 = u.arbitrary()?;
    let mut pair =
        TwoHosts::new(u.arbitrary::<u8>()?.into(), interfaces, ipv6, [&configs[0], &configs[1]]);
    pair.bytes = u.arbitrary()?;
    pair.connect(0, 0, &configs[0]);
    let mut world = World { pair, configs, interfaces, calm: true, steps: 0 };
    for _ in 0..MOST_COMMANDS {
        if u.is_empty() || world.steps > MOST_STEPS {
            break;
        }
        let done = world.command(u);
        let taken = memory::live() - before;
        assert!(taken < MOST_MEMORY, "{taken} bytes are in use");
        done?;
    }
    world.finish();
    Ok(())
}

/// Any configuration with small buffers.
fn config(u: &mut Unstructured<'_>) -> Result<ProtocolConfig> {
    let profiles: Vec<Profile> = Profile::ALL.iter().map(|(profile, _)| *profile).collect();
    let tcp = TcpConfig {
        profile: *u.choose(&profiles)?,
        congestion: u.choose(&ControllerChoice::all().collect::<Vec<_>>())?.clone(),
        buffers: Buffers {
            send_max: u.int_in_range(4_000..=256_000)?,
            receive_max: u.int_in_range(4_000..=256_000)?,
            auto_tuning: u.arbitrary()?,
        },
        nagle: u.arbitrary()?,
        pacing: u.arbitrary()?,
        ..TcpConfig::default()
    };
    if u.ratio(1, 3)? {
        let uncoupled = ["reno", "cubic"].map(|name| ControllerChoice::find(name).expect("known"));
        let congestion = u.choose(&uncoupled)?.clone();
        return Ok(TcpConfig { congestion, ..tcp }.into());
    }
    let (manager, ..) = *u.choose(path_manager::NAMES)?;
    let (failover, ..) = *u.choose(FAILOVER_NAMES)?;
    Ok(MptcpConfig {
        tcp,
        scheduler: u.choose(&SchedulerChoice::all().collect::<Vec<_>>())?.clone(),
        policy: u.choose(&PolicyChoice::all().collect::<Vec<_>>())?.clone(),
        path_manager: PathManagerKind::by_name(manager).expect("known"),
        failover: Failover::by_name(failover).expect("known"),
        checksum: u.arbitrary()?,
        max_extra_subflows: u.int_in_range(0..=8)?,
        mainline_limits: u.arbitrary()?,
        joins_mappings: u.arbitrary()?,
        keepalive_on_withdrawal: u.arbitrary()?,
        ..MptcpConfig::default()
    }
    .into())
}

struct World {
    pair: TwoHosts,
    configs: [ProtocolConfig; 2],
    interfaces: u8,
    /// Only the network got in the way so far: everything must arrive in the end.
    calm: bool,
    steps: usize,
}

impl World {
    fn command(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let choice: u8 = u.arbitrary()?;
        let side = usize::from(choice >> 7);
        match choice & 31 {
            0..=5 => self.steps(usize::from(u.arbitrary::<u8>()?)),
            6 => drop(self.take(u)?),
            7 => {
                let delay = delay(u)?;
                if let Some(flying) = self.take(u)? {
                    let (to, interface) = (flying.to, flying.interface);
                    let packet = flying.packet.clone();
                    self.pair.fly(Duration::ZERO, Flying { to, interface, packet });
                    self.pair.fly(delay, flying);
                }
            }
            8 => {
                let delay = delay(u)?;
                if let Some(flying) = self.take(u)? {
                    self.pair.fly(delay, flying);
                }
            }
            9 => {
                if let Some(mut flying) = self.take(u)? {
                    flying.packet.corrupted = true;
                    self.pair.fly(Duration::ZERO, flying);
                }
            }
            10..=13 => {
                let (number, len) = (u.arbitrary::<u8>()?, u.arbitrary::<u16>()? % 8192);
                self.pair.call(side, number.into(), |_, _, _, application| {
                    if application.shutdown.is_none() {
                        application.waiting += u64::from(len);
                    }
                });
            }
            14 => {
                let reading = !self.pair.hosts[side].reading;
                self.pair.hosts[side].reading = reading;
                self.pair.call(side, 0, |_, _, _, _| {});
            }
            15 => {
                let number = u.arbitrary::<u8>()?;
                self.pair.call(side, number.into(), |_, _, _, application| {
                    application.shutdown.get_or_insert(false);
                });
            }
            16 => self.pair.hosts[side].holds ^= true,
            17 => self.pass_time(u)?,
            18 => {
                self.calm = false;
                let interface = u.int_in_range(0..=self.interfaces - 1)?;
                let config = self.configs[side].clone();
                self.pair.connect(side, interface, &config);
            }
            19..=21 => self.disturb(side, choice & 31, u)?,
            22 => self.middlebox(u)?,
            23..=26 => self.forge(u)?,
            27 | 28 => self.inject(side, u)?,
            29 => self.flood(u)?,
            30 => self.unreachable(u)?,
            _ => self.steps(1),
        }
        Ok(())
    }

    /// Let time go on for a while, whatever happens meanwhile.
    fn pass_time(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let end = self.pair.now + delay(u)? * 64;
        while self.pair.next_time().is_some_and(|at| at <= end) && self.steps < MOST_STEPS {
            self.steps(1);
        }
        self.pair.pass(end);
        Ok(())
    }

    fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.steps += 1;
            if self.steps > MOST_STEPS || !self.pair.step() {
                return;
            }
        }
    }

    /// Takes some packet out of the air.
    fn take(&mut self, u: &mut Unstructured<'_>) -> Result<Option<Flying>> {
        let number = usize::from(u.arbitrary::<u8>()?);
        let count = self.pair.flying.len().max(1);
        let key = self.pair.flying.keys().nth(number % count).copied();
        Ok(key.and_then(|key| self.pair.flying.remove(&key)))
    }

    /// Hosts and what is on the way end things early.
    fn disturb(&mut self, side: usize, choice: u8, u: &mut Unstructured<'_>) -> Result<()> {
        self.calm = false;
        let number: u8 = u.arbitrary()?;
        let interface = number % self.interfaces;
        match choice {
            19 => self.pair.call(side, number.into(), |stack, cx, socket, application| {
                match u.arbitrary() {
                    Ok(true) => drop(stack.abort(cx, socket)),
                    _ => stack.release(cx, socket),
                }
                application.failed = true;
            }),
            20 => {
                let address = self.pair.address(interface, side);
                let event = match u.int_in_range(0..=5)? {
                    0 => InterfaceEvent::Up,
                    1 => InterfaceEvent::Down,
                    2 => InterfaceEvent::AddressAdded(address),
                    3 => InterfaceEvent::AddressRemoved(address),
                    backup => InterfaceEvent::Backup(backup == 4),
                };
                self.pair.interface(side, InterfaceId(interface.into()), event);
            }
            _ => {
                let ends = self.pair.hosts[side].stack.ends_on(InterfaceId(interface.into()));
                self.pair.handle(side, Input::Reset { ends });
            }
        }
        Ok(())
    }

    /// A middlebox on the way removes MPTCP.
    fn middlebox(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        self.calm = false;
        if let Some(mut flying) = self.take(u)? {
            if let Body::Tcp(segment) = &mut flying.packet.body {
                segment.options.mptcp = MptcpOptions::default();
            }
            self.pair.fly(Duration::ZERO, flying);
        }
        Ok(())
    }

    /// A segment like one that was sent, with something changed.
    fn forge(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let Some((to, mut packet)) = self.model(u)? else { return Ok(()) };
        if let Body::Tcp(segment) = &mut packet.body {
            for _ in 0..u.int_in_range(1..=4)? {
                change(segment, u)?;
            }
        }
        self.arrive(to, packet, u)
    }

    /// Any segment, between ports that may be in use.
    fn inject(&mut self, to: usize, u: &mut Unstructured<'_>) -> Result<()> {
        let model = self.model(u)?;
        let interface = u.int_in_range(0..=self.interfaces - 1)?;
        let mut segment = packets::segment(u)?;
        segment.dst_port = PORT;
        if let Some((_, Packet { body: Body::Tcp(model), .. })) = model {
            (segment.src_port, segment.dst_port) = (model.src_port, model.dst_port);
        }
        let [src, dst] = [1 - to, to].map(|side| self.pair.address(interface, side));
        self.arrive(to, Packet::new(src, dst, Body::Tcp(segment)), u)
    }

    /// Many segments like one that was sent, each a little further on.
    fn flood(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let Some((to, packet)) = self.model(u)? else { return Ok(()) };
        let (count, stride) = (u.arbitrary::<u16>()? % 500, u.arbitrary::<u16>()?);
        let Body::Tcp(first) = &packet.body else { return Ok(()) };
        let mut segment = first.clone();
        change(&mut segment, u)?;
        self.forged();
        for _ in 0..count {
            segment.seq = segment.seq + u32::from(stride);
            let packet = Packet { body: Body::Tcp(segment.clone()), ..packet.clone() };
            self.pair
                .handle(to, Input::Packet { interface: InterfaceId(0), packet: packet.into() });
        }
        Ok(())
    }

    /// A router reports that a packet was not delivered.
    fn unreachable(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let Some((to, quoted)) = self.model(u)? else { return Ok(()) };
        let mut original = Vec::new();
        quoted.emit(&mut original);
        original.truncate(usize::from(u.arbitrary::<u8>()?));
        let (code, next_hop_mtu) = (u.int_in_range(0..=15)?, u.arbitrary()?);
        let body = Body::Icmp(Icmp::Unreachable { code, next_hop_mtu, original: original.into() });
        self.arrive(1 - to, Packet::new(quoted.dst(), quoted.src(), body), u)
    }

    fn model(&self, u: &mut Unstructured<'_>) -> Result<Option<(usize, Packet)>> {
        let number = usize::from(u.arbitrary::<u8>()?);
        let count = self.pair.models.len().max(1);
        Ok(self.pair.models.get(number % count).cloned())
    }

    fn arrive(&mut self, to: usize, packet: Packet, u: &mut Unstructured<'_>) -> Result<()> {
        self.forged();
        let interface = InterfaceId(u.int_in_range(0..=self.interfaces - 1)?.into());
        self.pair.handle(to, Input::Packet { interface, packet: packet.into() });
        Ok(())
    }

    fn forged(&mut self) {
        self.calm = false;
        self.pair.forged = true;
    }

    /// The network is perfect from now on: where nothing else got in the way all data arrive.
    fn finish(&mut self) {
        for side in 0..2 {
            self.pair.hosts[side].reading = true;
            self.pair.hosts[side].holds = false;
            self.pair.call(side, 0, |_, _, _, _| {});
        }
        let end = self.pair.now + Duration::from_secs(7200);
        for _ in 0..MOST_STEPS {
            let over = self.pair.next_time().is_none_or(|at| at > end);
            if over || self.pair.is_delivered() || self.pair.has_failed() {
                break;
            }
            self.pair.step();
        }
        let excused = !self.calm || self.pair.has_failed();
        assert!(excused || self.pair.is_delivered(), "data are missing at {}", self.pair.now);
    }
}

/// Up to 65 s.
fn delay(u: &mut Unstructured<'_>) -> Result<Duration> {
    let base = u64::from(u.arbitrary::<u8>()?);
    Ok(Duration::from_millis(base << u.int_in_range(0..=8)?))
}

/// Changes a field.
fn change(segment: &mut TcpSegment, u: &mut Unstructured<'_>) -> Result<()> {
    let near = i32::from(u.arbitrary::<i16>()?) as u32;
    match u.int_in_range(0..=9)? {
        0 => segment.seq = segment.seq + near,
        1 => segment.ack = segment.ack + near,
        2 => segment.flags = Flags(u.arbitrary()?),
        3 => segment.window = u.arbitrary()?,
        4 => segment.options = packets::options(u)?,
        5 => {
            segment.options.mptcp.push(packets::mptcp_option(u)?);
        }
        6 => segment.options.mptcp = MptcpOptions::default(),
        7 => {
            segment.payload =
                Payload::virtual_range(9, near.into(), u32::from(u.arbitrary::<u16>()?) % 9000)
        }
        8 => segment.seq = SeqNumber(u.arbitrary()?),
        _ => {
            let start = segment.ack + near;
            segment.options.sack.push(start, start + u32::from(u.arbitrary::<u16>()?));
        }
    }
    // What fits no header is never parsed from one.
    if segment.options.padded_len() > 40 {
        segment.options = TcpOptions::default();
    }
    Ok(())
}
