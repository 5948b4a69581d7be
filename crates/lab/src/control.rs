//! Controllers for packets that are not the simulator's own: NOS2's and AWAFS's, coordinators of coflows, custom ones.
//!
//! The owner says what happens to messages at hosts ([`Controllers::hear`]), as it learns it: that one begins from its
//! sender, that it has ended from ACKs that pass. [`Controllers::work_off`] then stands in the place of
//! [`InMemory::work_off`]. It stops at each instant of the controllers' clock, which is the fabric's virtual time: tables
//! arrive, controllers hear and decide, and then all else of the instant happens, as in the simulator.
//!
//! What an owner cannot tell, its controllers do not know: an end that is learnt from an ACK at the host's port is as late
//! as the way from there.

use std::collections::BTreeMap;
use std::sync::Arc;

use flowsieve_core::coflow::Announcements;
use flowsieve_core::controller::{Audience, Gauges, HostEvent, Published};
use flowsieve_core::readings::Reading;
use flowsieve_core::{Meta, Node, Place, PortScheduler, Tagger, Time};
use flowsieve_schemes::Scheme;
use flowsieve_sim::control::{Control, Follow, HearsAtOnce, Periodic};
use flowsieve_sim::topology::Fabric;

use flowsieve_sim::in_memory::{Arrived, InMemory};

/// Why controllers cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// One would hear of an event at the instant at which it happens.
    #[error("{controller}: hears what happens at hosts as it happens, so its delay has to be above zero")]
    HearsAtOnce {
        /// The controller.
        controller: &'static str,
    },
}

/// The hosts that follow controllers: the owner's.
pub trait Followers {
    /// Returns the tagger of a host for a class of flow.
    fn tagger(&mut self, host: u32, class: u8) -> &mut Tagger;

    /// Handles a packet that has come to its host, which may say more of its message: `events` takes it.
    fn arrived(&mut self, packet: Arrived, meta: &Meta, events: &mut Vec<HostEvent>);

    /// Lets the messages begin, now, that their taggers held back and hold no longer
    /// ([`flowsieve_core::tagger::TagPackets::holds`]): tables have arrived at this instant. All of it that comes before
    /// messages is done.
    fn release(&mut self, _now: Time, _memory: &mut InMemory, _events: &mut Vec<HostEvent>) {}
}

/// The controllers of a fabric in memory.
pub struct Controllers {
    control: Control,
    /// By link: the place of its port.
    places: Vec<Place>,
    uplinks: Vec<u32>,
    /// By switch: the links of its ports.
    ports: Vec<Vec<u32>>,
    /// The number of classes of flow.
    classes: u8,
    /// Kept between calls.
    events: Vec<HostEvent>,
}

impl Controllers {
    /// Builds the controllers of a scheme, if it has any; `announcements` are the flows of coflows that a controller knows
    /// before they begin, and `seed` is the run's.
    ///
    /// # Errors
    /// Fails if a controller hears events at once.
    pub fn new(
        fabric: &Fabric,
        scheme: &Scheme,
        announcements: &Arc<Announcements>,
        seed: u64,
    ) -> Result<Option<Controllers>, ControlError> {
        let control = Control::new(fabric, &scheme.controllers, scheme.misuse, announcements, seed);
        let control = control.map_err(|HearsAtOnce(controller)| ControlError::HearsAtOnce { controller })?;
        Ok(control.map(|control| Controllers {
            control,
            places: fabric.links.iter().map(|link| fabric.place_of(link.from)).collect(),
            uplinks: fabric.host_uplink.clone(),
            ports: fabric.ports.clone(),
            classes: scheme.classes.len() as u8,
            events: Vec::new(),
        }))
    }

    /// Hears what happened at a host. Events of a host are told in their order, and none is before the instant up to which
    /// all has been worked off.
    pub fn hear(&mut self, event: HostEvent) {
        self.control.hear([event]);
    }

    /// Returns when the controllers do something next, if nothing else happens until then; [`Time::NEVER`]: nothing.
    pub fn next(&self) -> Time {
        self.control.next()
    }

    /// Returns the periodic parts of the controllers, and how often each has acted by an instant.
    pub fn periodic(&self, end: Time) -> impl Iterator<Item = Periodic> {
        self.control.periodic(end)
    }

    /// Returns what decisions up to an instant have added to each counter, by name.
    pub fn counts(&self, end: Time) -> BTreeMap<&'static str, u64> {
        self.control.counts(end)
    }

    /// Passes on the readings of the controllers at a host, or of those of the whole fabric.
    pub fn observe(&self, host: Option<u32>, see: &mut dyn FnMut(Reading)) {
        self.control.observe(host, see);
    }

    /// Does what [`InMemory::work_off`] does, with all that controllers do up to then.
    pub fn work_off(&mut self, memory: &mut InMemory, hosts: &mut impl Followers, until: Time) {
        loop {
            let reach = self.control.next().min(self.first_surprise(memory)).min(until);
            if reach > Time::ZERO {
                self.play(memory, hosts, reach.since(Time(1)));
            }
            if self.control.next() <= reach && reach < Time::NEVER {
                self.act(memory, hosts, reach);
            } else if reach == until {
                break;
            }
        }
        self.play(memory, hosts, until);
    }

    /// Works off packets, and hears what hosts say of them.
    fn play(&mut self, memory: &mut InMemory, hosts: &mut impl Followers, until: Time) {
        let events = &mut self.events;
        memory.work_off(until, |packet, meta| hosts.arrived(packet, meta, events));
        self.control.hear(self.events.drain(..));
    }

    /// Lets controllers act at an instant, before anything else happens in it, and then begins the messages that they release.
    fn act(&mut self, memory: &mut InMemory, hosts: &mut impl Followers, at: Time) {
        let Controllers { control, places, uplinks, ports, classes, .. } = self;
        let mut view = View { memory, hosts, places, uplinks, ports, classes: *classes, has_told_hosts: false };
        control.act(at, &mut view);
        if view.has_told_hosts {
            self.play(memory, hosts, at);
            hosts.release(at, memory, &mut self.events);
            self.control.hear(self.events.drain(..));
        }
    }

    /// Returns the first instant at which a controller may hear of an event that has not happened yet.
    fn first_surprise(&self, memory: &InMemory) -> Time {
        let Some(delay) = self.control.least_delay() else { return Time::NEVER };
        Time(memory.next().0.saturating_add(delay.0))
    }
}

/// The hosts and ports as they are at an instant, before anything happens in it.
struct View<'a, H> {
    memory: &'a mut InMemory,
    hosts: &'a mut H,
    places: &'a [Place],
    uplinks: &'a [u32],
    ports: &'a [Vec<u32>],
    classes: u8,
    has_told_hosts: bool,
}

impl<H: Followers> View<'_, H> {
    /// Returns the tagger for a class; a class beyond the last follows the rules of the last.
    fn tagger_mut(&mut self, host: u32, class: u8) -> &mut Tagger {
        self.hosts.tagger(host, class.min(self.classes.saturating_sub(1)))
    }

    fn scheduler(&mut self, node: Node, port: u16) -> &mut flowsieve_core::Scheduler {
        let link = match node {
            Node::Host(host) => self.uplinks[host as usize],
            Node::Switch(switch) => self.ports[switch as usize][usize::from(port)],
        };
        self.memory.scheduler(link)
    }
}

impl<H: Followers> Follow for View<'_, H> {
    fn hand_over(&mut self, to: Audience, published: &Published) {
        match to {
            Audience::Host { host, class } => {
                self.tagger_mut(host, class).on_table(published);
                self.has_told_hosts = true;
            }
            Audience::Hosts { class } => {
                (0..self.uplinks.len() as u32).for_each(|host| self.tagger_mut(host, class).on_table(published));
                self.has_told_hosts = true;
            }
            Audience::Ports(place) => {
                for (&of_port, link) in self.places.iter().zip(0..) {
                    if of_port == place {
                        self.memory.scheduler(link).on_table(published);
                    }
                }
            }
        }
    }
}

impl<H: Followers> Gauges for View<'_, H> {
    fn port(&mut self, node: Node, port: u16, see: &mut dyn FnMut(Reading)) {
        self.scheduler(node, port).observe(see);
    }

    fn backlog_bytes(&mut self, node: Node, port: u16) -> u64 {
        self.scheduler(node, port).backlog_bytes()
    }

    fn sent(&mut self, host: u32, class: u8, see: &mut dyn FnMut(u32, u64)) {
        self.tagger_mut(host, class).sent(see);
    }

    fn tagger(&mut self, host: u32, class: u8, see: &mut dyn FnMut(Reading)) {
        self.tagger_mut(host, class).observe(see);
    }
}
