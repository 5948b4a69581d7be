//! The naive twin's controllers: an event for each instant at which one kind of them may hear or decide, and one for each
//! table that arrives.

use flowsieve_core::controller::{Audience, Controller, Gauges, Hears, HostEvent, Published};
use flowsieve_core::readings::Reading;
use flowsieve_core::{ControllerSpec, FlowEvent, Message, Node, PortScheduler, Time};
use flowsieve_sim::RunSpec;
use flowsieve_sim::topology::Sites;

use crate::twin::engine::{Event, Twin};

/// Controllers that a scheme names together.
pub(crate) struct Kind {
    spec: ControllerSpec,
    controllers: Vec<Box<dyn Controller>>,
    /// By controller: what it has published.
    versions: Vec<u64>,
    unheard: Vec<HostEvent>,
    /// All that were ever published.
    tables: Vec<(Audience, Published)>,
}

/// Those of a run.
pub(crate) fn kinds(run_spec: &RunSpec<'_>, sites: &Sites<'_>) -> Vec<Kind> {
    let announcements = run_spec.announcements.cloned().unwrap_or_default();
    let kind = |(spec, number): (&ControllerSpec, u8)| {
        let controllers = spec.kind.build(&sites.fabric(number, &announcements), |host| sites.controller(host, number));
        let (spec, versions) = (spec.clone(), vec![0; controllers.len()]);
        Kind { spec, controllers, versions, unheard: Vec::new(), tables: Vec::new() }
    };
    run_spec.scheme.controllers.iter().zip(0..).map(kind).collect()
}

impl Kind {
    fn next(&self) -> Time {
        self.controllers.iter().map(|controller| controller.next()).min().unwrap_or(Time::NEVER)
    }
}

impl Twin<'_> {
    pub(crate) fn arm_controllers(&mut self) {
        for kind in 0..self.controllers.len() {
            self.at(self.controllers[kind].next(), Event::Controllers { kind });
        }
    }

    /// Something happened at a host.
    pub(crate) fn tell(&mut self, host: usize, class: usize, event: FlowEvent) {
        let misuse = self.run_spec.scheme.misuse;
        misuse.heard(HostEvent { at: self.now, host: host as u32, class: class as u8, event }, |told| {
            self.tell_all(told)
        });
    }

    fn tell_all(&mut self, told: HostEvent) {
        for kind in 0..self.controllers.len() {
            self.controllers[kind].unheard.push(told);
            if let Hears::AsItHappens(delay) = self.controllers[kind].spec.hears {
                self.at(self.now + delay, Event::Controllers { kind });
            }
        }
    }

    pub(crate) fn on_controllers(&mut self, number: usize) {
        let now = self.now;
        // While they decide, the twin is theirs to look at.
        let mut kinds = std::mem::take(&mut self.controllers);
        let kind = &mut kinds[number];
        if let Hears::WhenItDecides(delay) | Hears::AsItHappens(delay) = kind.spec.hears {
            let mut heard: Vec<HostEvent> = kind.unheard.extract_if(.., |event| event.at + delay <= now).collect();
            heard.sort_by_key(|event| (event.at, event.host));
            for event in heard {
                let at_host = if kind.spec.kind.is_at_hosts() { event.host as usize } else { 0 };
                kind.controllers[at_host].on_event(now, &event);
            }
        }
        for (controller, version) in kind.controllers.iter_mut().zip(&mut kind.versions) {
            if controller.next() <= now {
                controller.decide(now, self, &mut |to, table| {
                    *version += 1;
                    kind.tables.push((to, Published { version: *version, table }));
                });
            }
        }
        let (published, arrives) = (kind.tables.len(), now + kind.spec.publishes_after);
        let next = kind.next();
        self.controllers = kinds;
        for nth in self.tables_sent[number]..published {
            self.at(arrives, Event::Table { kind: number, nth });
        }
        self.tables_sent[number] = published;
        // If nothing else is left to happen, there is no question.
        if self.something_else_is_left() {
            self.at(next, Event::Controllers { kind: number });
        }
    }

    pub(crate) fn on_table(&mut self, kind: usize, nth: usize) {
        let ((to, published), now) = (self.controllers[kind].tables[nth].clone(), self.now);
        match to {
            Audience::Host { host, class } => {
                self.hosts[host as usize].on_table(now, class, &published);
            }
            Audience::Hosts { class } => {
                self.hosts.iter_mut().for_each(|host| host.on_table(now, class, &published));
            }
            Audience::Ports(place) => {
                for (link, port) in self.run_spec.fabric.links.iter().zip(&mut self.ports) {
                    if self.run_spec.fabric.place_of(link.from) == place {
                        port.scheduler.on_table(&published);
                    }
                }
            }
        }
        let free =
            |(host, class, message): &mut (usize, usize, Message)| !self.hosts[*host].taggers[*class].holds(message);
        let released: Vec<_> = self.held.extract_if(.., free).collect();
        released.into_iter().for_each(|(.., message)| self.at(self.now, Event::Start { message: message.id as usize }));
    }

    fn link(&self, node: Node, port: u16) -> usize {
        let fabric = self.run_spec.fabric;
        match node {
            Node::Host(host) => fabric.host_uplink[host as usize] as usize,
            Node::Switch(switch) => fabric.ports[switch as usize][usize::from(port)] as usize,
        }
    }
}

impl Gauges for Twin<'_> {
    fn port(&mut self, node: Node, port: u16, see: &mut dyn FnMut(Reading)) {
        self.ports[self.link(node, port)].scheduler.observe(see);
    }

    fn backlog_bytes(&mut self, node: Node, port: u16) -> u64 {
        self.ports[self.link(node, port)].scheduler.backlog_bytes()
    }

    fn sent(&mut self, host: u32, class: u8, see: &mut dyn FnMut(u32, u64)) {
        self.hosts[host as usize].taggers[usize::from(class)].sent(see);
    }

    fn tagger(&mut self, host: u32, class: u8, see: &mut dyn FnMut(Reading)) {
        self.hosts[host as usize].taggers[usize::from(class)].observe(see);
    }
}
