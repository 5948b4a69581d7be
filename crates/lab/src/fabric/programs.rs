//! Switches' programs in a fabric in memory: what they are told, and how they see and use their switch's ports.
//!
//! Their packets have places of their own, so that hosts and programs do not take each other's. A timer comes after the
//! packets that leave ports and come to switches at its instant.

use flowsieve_core::balancers::BalancerSpec;
use flowsieve_core::program::{Asked, Watches};
use flowsieve_core::{
    Kind, Meta, NONE, Node, PortScheduler, ProgramPacket, Site, SwitchPorts, SwitchProgram, Tag, Time,
};
use flowsieve_sim::topology::{Fabric, Link, Sites};

use super::{Cause, Event, InMemory};

/// The destination of a packet between programs. No host has this number.
const SWITCH: u16 = u16::MAX;

/// Places for packets of programs, by link.
const PLACES: usize = 64;

/// What became of the packets of switches' programs. Those that are in none of the others are inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramCounts {
    /// Packets that programs sent.
    pub sent: u64,
    /// Packets that programs received, and those that came to hosts, which do not hear them.
    pub received: u64,
    /// Packets that ports or lines dropped.
    pub dropped: u64,
    /// Packets that were not sent, because all places were taken: 64 for each link.
    pub without_place: u64,
    /// How often timers fired.
    pub ticks: u64,
}

/// The programs of a fabric's switches.
#[derive(Default)]
pub(super) struct Programs {
    /// By switch; absent while it is called.
    by_switch: Vec<Option<Box<Program>>>,
    /// The first timer, and its switch.
    first: Option<(Time, u32)>,
    /// The number of the first packet of programs.
    first_packet: u32,
    free: Vec<u32>,
    /// By packet of programs: its content.
    payloads: Vec<[u32; 6]>,
    /// By link: the number of the port that leads back over it, at the switch behind it.
    back: Vec<u16>,
    counts: ProgramCounts,
}

/// A switch's program.
struct Program {
    own: Box<dyn SwitchProgram>,
    watches: Watches,
    site: Site,
    /// By port of the switch: the link behind it, and whether it counts what it sends.
    ports: Vec<(u32, bool)>,
    /// When its timer is set; `None`: it has just fired.
    scheduled: Option<Time>,
}

impl Program {
    fn arm(&mut self, now: Time) -> bool {
        let at = self.own.next_timer().max(now);
        let changes = self.scheduled != Some(at);
        self.scheduled = Some(at);
        changes
    }
}

impl Programs {
    /// Builds the programs of a fabric, if its switches have any, with places for their packets behind `frames` others.
    pub(super) fn new<'a>(
        fabric: &Fabric,
        spec: impl Fn(u32) -> &'a BalancerSpec,
        sites: &Sites<'_>,
        frames: usize,
    ) -> Programs {
        let program = |switch: u32| {
            let own = spec(switch).program(|| sites.program(switch))?;
            let watches = own.watches();
            let port = |&link: &u32| (link, watches.sent_bytes.counts(fabric.links[link as usize].to));
            let ports = fabric.ports[switch as usize].iter().map(port).collect();
            let mut program = Program { own, watches, site: sites.program(switch), ports, scheduled: None };
            program.arm(Time::ZERO);
            Some(Box::new(program))
        };
        let by_switch: Vec<_> = (0..fabric.switches.len() as u32).map(program).collect();
        if by_switch.iter().all(Option::is_none) {
            return Programs::default();
        }
        let places = PLACES * fabric.links.len();
        let first_packet = frames as u32;
        let mut programs = Programs {
            by_switch,
            first: None,
            first_packet,
            free: (first_packet..first_packet + places as u32).rev().collect(),
            payloads: vec![[0; 6]; places],
            back: fabric.links.iter().map(|link| back_port(fabric, link)).collect(),
            counts: ProgramCounts::default(),
        };
        programs.find_first();
        programs
    }

    /// Returns how many places for packets they need.
    pub(super) fn places(&self) -> usize {
        self.payloads.len()
    }

    /// Returns what the program of a switch watches; nothing if it has none.
    pub(super) fn watches(&self, switch: u32) -> Watches {
        self.by_switch.get(switch as usize).and_then(Option::as_ref).map_or_else(Watches::default, |it| it.watches)
    }

    /// Returns when the first timer is set.
    pub(super) fn first_timer(&self) -> Option<Time> {
        self.first.map(|(at, _)| at)
    }

    /// Returns whether a packet is a program's.
    pub(super) fn owns(&self, packet: u32) -> bool {
        !self.payloads.is_empty() && packet >= self.first_packet
    }

    /// Takes back a packet of a program that was dropped.
    pub(super) fn dropped(&mut self, packet: u32) {
        self.counts.dropped += 1;
        self.free.push(packet);
    }

    /// Takes back a packet of a program that came to its destination.
    pub(super) fn received(&mut self, packet: u32) {
        self.counts.received += 1;
        self.free.push(packet);
    }

    fn find_first(&mut self) {
        let timers = self.by_switch.iter().zip(0..).filter_map(|(program, switch)| {
            let at = program.as_ref()?.scheduled.filter(|&at| at < Time::NEVER)?;
            Some((at, switch))
        });
        self.first = timers.min();
    }
}

impl InMemory {
    /// Returns what became of the packets of switches' programs.
    pub fn program_counts(&self) -> ProgramCounts {
        self.programs.counts
    }

    /// Asks a switch's program for the outgoing link of a packet that came by link `from`; `None`: it has no program.
    pub(super) fn choose_by_program(&mut self, switch: u32, from: u32, packet: u32) -> Option<u32> {
        let (meta, now, from) = (self.metas[packet as usize], self.now, *self.programs.back.get(from as usize)?);
        let (link, path) = self.call(switch, |program, fabric| {
            let group = program.site.next[usize::from(meta.dst)];
            let mut ports = Ports { fabric, switch, ports: &program.ports };
            let way = program.own.choose(&meta, from, group, now, &mut ports);
            let ways = &program.site.groups[usize::from(group)];
            let way = way.min(ways.len() - 1);
            (program.ports[usize::from(ways[way])].0, (group, way))
        })?;
        let (group, way) = path;
        self.switches[switch as usize].balancer.chosen(&meta, group.into(), way, now);
        Some(link)
    }

    /// Hands a packet of another switch's program, which came by link `from`, to the program of this one.
    pub(super) fn on_program_packet(&mut self, switch: u32, from: u32, packet: u32) {
        let (meta, now, port) = (&self.metas[packet as usize], self.now, self.programs.back[from as usize]);
        let payload = self.programs.payloads[(packet - self.programs.first_packet) as usize];
        let heard = ProgramPacket { port, len: meta.len, priority: meta.tag.priority(), payload };
        self.programs.received(packet);
        self.call(switch, |program, fabric| {
            program.own.on_program_packet(&heard, now, &mut Ports { fabric, switch, ports: &program.ports });
        });
    }

    /// Handles the first timer.
    pub(super) fn on_first_timer(&mut self) {
        let Some((at, switch)) = self.programs.first else { return };
        self.now = at;
        self.programs.counts.ticks += 1;
        self.call(switch, |program, fabric| {
            program.scheduled = None;
            program.own.on_timer(at, &mut Ports { fabric, switch, ports: &program.ports });
        });
    }

    /// Calls a switch's program, and sets its timer as it wants.
    fn call<R>(&mut self, switch: u32, call: impl FnOnce(&mut Program, &mut InMemory) -> R) -> Option<R> {
        let mut program = self.programs.by_switch.get_mut(switch as usize)?.take()?;
        let result = call(&mut program, self);
        let changes = program.arm(self.now);
        self.programs.by_switch[switch as usize] = Some(program);
        if changes {
            self.programs.find_first();
        }
        Some(result)
    }

    fn send_program_packet(&mut self, link: u32, sent: &ProgramPacket) {
        let Some(packet) = self.programs.free.pop() else {
            self.programs.counts.without_place += 1;
            return;
        };
        self.programs.counts.sent += 1;
        self.programs.payloads[(packet - self.programs.first_packet) as usize] = sent.payload;
        let tag = Tag::with_priority(sent.priority);
        self.metas[packet as usize] =
            Meta { flow: NONE, len: sent.len, tag, dst: SWITCH, kind: Kind::Control, ..Meta::default() };
        self.enqueue(link, packet);
    }

    /// Takes a packet out of the fabric that is gone.
    pub(super) fn drop(&mut self, link: u32, packet: u32, cause: Cause) {
        self.tell(Event::Dropped { link, at: self.now, packet, cause });
        if self.programs.owns(packet) {
            return self.programs.dropped(packet);
        }
        self.counts.dropped += 1;
        self.free.push(packet);
    }
}

/// The ports of a switch, as its program sees them.
struct Ports<'a> {
    fabric: &'a mut InMemory,
    switch: u32,
    /// By port: its link, and whether it counts.
    ports: &'a [(u32, bool)],
}

impl SwitchPorts for Ports<'_> {
    fn backlog_bytes(&mut self, port: u16) -> u64 {
        let (link, _) = self.ports[usize::from(port)];
        self.fabric.hops[link as usize].port.scheduler().backlog_bytes()
    }

    fn sent_bytes(&mut self, port: u16) -> u64 {
        let (link, counts) = self.ports[usize::from(port)];
        assert!(counts, "a program that asks for bytes sent has to watch them");
        self.fabric.hops[link as usize].sent_bytes
    }

    fn send(&mut self, packet: ProgramPacket) {
        let (link, _) = self.ports[usize::from(packet.port)];
        self.fabric.send_program_packet(link, &packet);
    }

    fn forget(&mut self, group: u16, way: u16) {
        self.fabric.switches[self.switch as usize].balancer.forget(group.into(), way.into());
    }
}

/// Returns whether a switch's program is called for every packet.
pub(super) fn sees_every_packet(watches: Watches) -> bool {
    watches.packets == Asked::Every
}

/// Returns the number of the port that leads back over a link, at the switch behind it; 0 at a host.
fn back_port(fabric: &Fabric, link: &Link) -> u16 {
    let Node::Switch(switch) = link.to else { return 0 };
    let back = |&&port: &&u32| fabric.links[port as usize].to != link.from;
    fabric.ports[switch as usize].iter().take_while(back).count() as u16
}
