//! The twin's switch programs: what they are told, and what they see and do at their switch's ports.

use flowsieve_core::program::Asked;
use flowsieve_core::{Kind, Meta, NONE, PortScheduler, ProgramPacket, SwitchPorts, SwitchProgram, Tag, Time};
use flowsieve_sim::RunSpec;
use flowsieve_sim::topology::{Node, Sites};

use crate::twin::engine::{Body, Event, Twin};

/// The program of each switch.
pub(crate) fn programs(run_spec: &RunSpec<'_>, sites: &Sites<'_>) -> Vec<Option<Box<dyn SwitchProgram>>> {
    let program = |switch| {
        let spec = run_spec.scheme.balancers.at(run_spec.fabric.place_of(Node::Switch(switch)));
        spec.program(|| sites.program(switch))
    };
    (0..run_spec.fabric.switches.len() as u32).map(program).collect()
}

/// The ports of a switch, to its program.
struct Ports<'t, 'a> {
    twin: &'t mut Twin<'a>,
    switch: usize,
}

impl Ports<'_, '_> {
    fn link(&self, port: u16) -> usize {
        self.twin.run_spec.fabric.ports[self.switch][usize::from(port)] as usize
    }
}

impl SwitchPorts for Ports<'_, '_> {
    fn backlog_bytes(&mut self, port: u16) -> u64 {
        self.twin.ports[self.link(port)].scheduler.backlog_bytes()
    }

    fn sent_bytes(&mut self, port: u16) -> u64 {
        self.twin.ports[self.link(port)].sent_bytes
    }

    fn send(&mut self, packet: ProgramPacket) {
        let ProgramPacket { port, len, priority, payload } = packet;
        let tag = Tag::with_priority(priority);
        let meta = Meta { flow: NONE, len, tag, kind: Kind::Control, dst: u16::MAX, ..Meta::default() };
        let sent = self.twin.new_packet(meta, Body::OfSwitch { payload });
        self.twin.enqueue(self.link(port), sent);
    }

    fn forget(&mut self, group: u16, way: u16) {
        self.twin.switches[self.switch].0.forget(group.into(), way.into());
    }
}

impl Twin<'_> {
    /// Calls a switch's program, if it has one, and sets its timer.
    fn call_program<R>(
        &mut self,
        switch: usize,
        call: impl FnOnce(&mut dyn SwitchProgram, Time, &mut dyn SwitchPorts) -> R,
    ) -> Option<R> {
        let mut program = self.programs[switch].take()?;
        let now = self.now;
        let result = call(&mut *program, now, &mut Ports { twin: self, switch });
        self.programs[switch] = Some(program);
        self.arm_program(switch);
        Some(result)
    }

    pub(crate) fn arm_program(&mut self, switch: usize) {
        if let Some(program) = &self.programs[switch] {
            self.at(program.next_timer().max(self.now), Event::Program { switch });
        }
    }

    /// The number of a switch's port that leads to a node.
    fn port_to(&self, switch: usize, node: Node) -> u16 {
        let fabric = self.run_spec.fabric;
        let port = fabric.ports[switch].iter().position(|&link| fabric.links[link as usize].to == node);
        port.expect("a way back") as u16
    }

    /// Which of several ways the program of the switch takes; nothing where it is not to be asked.
    pub(crate) fn ask_program(&mut self, switch: usize, from: Node, meta: &Meta, ways: usize) -> Option<usize> {
        let watches = self.programs[switch].as_ref()?.watches();
        if ways == 1 && watches.packets != Asked::Every {
            return None;
        }
        let from = self.port_to(switch, from);
        let group = self.run_spec.fabric.routes[switch].next[usize::from(meta.dst)];
        let (balancer, random) = &mut self.switches[switch];
        if let Some(way) = balancer.choose(meta, group.into(), ways, self.now, random) {
            return Some(way); // of a flowlet that goes on
        }
        let choose = |program: &mut dyn SwitchProgram, now, ports: &mut dyn SwitchPorts| {
            program.choose(meta, from, group, now, ports).min(ways - 1)
        };
        let way = self.call_program(switch, choose)?;
        self.switches[switch].0.chosen(meta, group.into(), way, self.now);
        Some(way)
    }

    pub(crate) fn on_program_packet(&mut self, switch: usize, from: Node, meta: &Meta, payload: [u32; 6]) {
        let port = self.port_to(switch, from);
        let packet = ProgramPacket { port, len: meta.len, priority: meta.tag.priority(), payload };
        self.call_program(switch, |program, now, ports| program.on_program_packet(&packet, now, ports));
    }

    pub(crate) fn on_program(&mut self, switch: usize) {
        if self.programs[switch].as_ref().is_some_and(|program| program.next_timer() <= self.now) {
            self.call_program(switch, |program, now, ports| program.on_timer(now, ports));
        }
    }
}
