//! Custom programs of switches: what they are told, and how they see and use their switch's ports.

use flowsieve_core::hop::Trail;
use flowsieve_core::program::Watches;
use flowsieve_core::{PortScheduler, ProgramPacket, Site, SwitchPorts, SwitchProgram, Time};

use crate::event::Key;
use crate::link::Port;
use crate::network::Network;
use crate::slab::{pack_program_packet, unpack_program_packet};
use crate::source::Source;

/// The programs of a partition's switches.
pub(crate) struct Programs {
    /// By switch.
    programs: Vec<Option<Program>>,
}

/// A switch's program.
pub(crate) struct Program {
    own: Box<dyn SwitchProgram>,
    pub(crate) watches: Watches,
    site: Site,
    /// By port of the switch.
    links: Vec<u32>,
    /// When its timer is scheduled; `None`: it has just fired.
    scheduled: Option<Time>,
    /// Number of times that its timer fired.
    ticks: u64,
}

impl Program {
    /// Wraps a program at its site, whose ports feed these links.
    pub(crate) fn new(own: Box<dyn SwitchProgram>, site: Site, links: Vec<u32>) -> Program {
        Program { watches: own.watches(), own, site, links, scheduled: None, ticks: 0 }
    }

    /// Calls it with access to its ports, and sets its timer as it wants.
    fn call<K: Key, R>(
        &mut self,
        network: &mut Network<K>,
        (switch, packet): (u32, Option<u32>),
        call: impl FnOnce(&mut dyn SwitchProgram, &mut Ports<'_, K>) -> R,
    ) -> R {
        let result = call(&mut *self.own, &mut Ports { network, switch, packet, links: &self.links });
        self.arm(network, switch);
        result
    }

    fn arm<K: Key>(&mut self, network: &mut Network<K>, switch: u32) {
        let at = self.own.next_timer().max(network.now);
        if self.scheduled != Some(at) {
            self.scheduled = Some(at);
            network.schedule(Source::Program(switch), at);
        }
    }
}

impl Programs {
    /// Collects programs by switch.
    pub(crate) fn new(programs: Vec<Option<Program>>) -> Programs {
        Programs { programs }
    }

    /// Returns how often each timer fired.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = u64> {
        self.programs.iter().flatten().map(|program| program.ticks)
    }

    /// Returns whether there are any.
    pub(crate) fn are_there(&self) -> bool {
        self.programs.iter().any(Option::is_some)
    }

    /// Returns whether any program has its timer set.
    pub(crate) fn go_on(&self) -> bool {
        self.programs.iter().flatten().any(|program| program.own.next_timer() != Time::NEVER)
    }

    /// Sets the timers before the run.
    pub(crate) fn arm<K: Key>(&mut self, network: &mut Network<K>) {
        for (program, switch) in self.programs.iter_mut().zip(0..) {
            if let Some(program) = program {
                program.arm(network, switch);
            }
        }
    }

    /// Asks a switch's program for the outgoing link of a packet that came by link `from`.
    #[inline(never)]
    pub(crate) fn choose<K: Key>(&mut self, network: &mut Network<K>, switch: u32, from: u32, packet: u32) -> u32 {
        let program = self.programs[switch as usize].as_mut().expect("a program that chooses");
        let (meta, from, now) = (network.slab.metas[packet as usize], network.ports[from as usize].back, network.now);
        let group = program.site.next[usize::from(meta.dst)];
        let way =
            program.call(network, (switch, Some(packet)), |own, ports| own.choose(&meta, from, group, now, ports));
        let ways = &program.site.groups[usize::from(group)];
        let way = way.min(ways.len() - 1);
        network.switches[switch as usize].balancer.chosen(&meta, group.into(), way, now);
        program.links[usize::from(ways[way])]
    }

    /// Hands a packet that came by link `from` to the switch's program.
    #[inline(never)]
    pub(crate) fn on_program_packet<K: Key>(&mut self, network: &mut Network<K>, switch: u32, from: u32, packet: u32) {
        network.last_arrival = network.now;
        let (meta, body) = (&network.slab.metas[packet as usize], &network.slab.bodies[packet as usize]);
        let heard = unpack_program_packet(meta, body, network.ports[from as usize].back);
        network.remove_of_program(packet);
        if let Some(program) = &mut self.programs[switch as usize] {
            let now = network.now;
            program.call(network, (switch, None), |own, ports| own.on_program_packet(&heard, now, ports));
        }
    }

    /// Handles the timer of a switch's program.
    pub(crate) fn on_timer<K: Key>(&mut self, network: &mut Network<K>, switch: u32) {
        if let Some(program) = &mut self.programs[switch as usize] {
            let now = network.now;
            program.ticks += 1;
            program.scheduled = None;
            program.call(network, (switch, None), |own, ports| own.on_timer(now, ports));
        }
    }
}

/// The ports of a switch, as its program sees them.
struct Ports<'a, K> {
    network: &'a mut Network<K>,
    switch: u32,
    /// The packet for which a way is chosen.
    packet: Option<u32>,
    links: &'a [u32],
}

impl<K: Key> Ports<'_, K> {
    /// Returns the port as it is at this instant.
    fn port(&mut self, port: u16) -> &Port {
        let link = self.links[usize::from(port)];
        self.network.advance(link, self.network.now);
        &self.network.ports[link as usize]
    }
}

impl<K: Key> SwitchPorts for Ports<'_, K> {
    fn backlog_bytes(&mut self, port: u16) -> u64 {
        self.port(port).scheduler.backlog_bytes()
    }

    fn sent_bytes(&mut self, port: u16) -> u64 {
        let port = self.port(port);
        assert!(port.features.counts, "a program that asks for bytes sent has to watch them");
        port.sent_bytes
    }

    fn trail(&mut self) -> Option<&mut Trail> {
        let packet = self.packet? as usize;
        self.network.slab.trails.as_mut()?.get_mut(packet)
    }

    fn send(&mut self, packet: ProgramPacket) {
        if !self.network.take_program_place() {
            return;
        }
        let (meta, body) = pack_program_packet(&packet);
        let sent = self.network.slab.insert(meta, body);
        self.network.enqueue(self.links[usize::from(packet.port)], sent);
    }

    fn forget(&mut self, group: u16, way: u16) {
        self.network.switches[self.switch as usize].balancer.forget(group.into(), way.into());
    }
}
