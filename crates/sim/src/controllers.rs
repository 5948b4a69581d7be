//! Controllers of a run: [`Control`] with the hosts and ports of the partitions.
//!
//! Controllers have no events: the run stops for them between events. A run without controllers does nothing for them. The
//! result does not depend on how the fabric is cut into partitions.

use std::collections::BTreeMap;

use flowsieve_core::controller::{Audience, Gauges, Published};
use flowsieve_core::readings::Reading;
use flowsieve_core::{Node, PortScheduler, Time};
use flowsieve_record::PeriodicPart;

use crate::build::Built;
use crate::control::{Control, Follow, HearsAtOnce, Periodic};
use crate::event::Key;
use crate::hosts::Side;
use crate::run_spec::{RunSpec, SimError};
use crate::topology::Fabric;

/// The controllers of a run.
pub(crate) struct Controllers(Control);

impl Controllers {
    /// Builds the controllers of a run, if it has any.
    pub(crate) fn new<K>(run_spec: &RunSpec<'_>, built: &mut Built<K>) -> Result<Option<Controllers>, SimError> {
        let RunSpec { fabric, scheme, seed, .. } = *run_spec;
        let announcements = run_spec.announcements.cloned().unwrap_or_default();
        let control = Control::new(fabric, &scheme.controllers, scheme.misuse, &announcements, seed);
        let control = control.map_err(|HearsAtOnce(controller)| SimError::HearsAtOnce { controller })?;
        if control.as_ref().is_some_and(Control::hears) {
            built.partitions.iter_mut().for_each(|partition| partition.hosts.news = Some(Vec::new()));
        }
        Ok(control.map(Controllers))
    }

    /// Returns when something is due next; [`Time::NEVER`]: not before something is heard.
    pub(crate) fn next(&self) -> Time {
        self.0.next()
    }

    /// Returns the least delay after which an event is heard that has not happened yet; `None`: no such event stops the
    /// run.
    pub(crate) fn least_delay(&self) -> Option<Time> {
        self.0.least_delay()
    }

    /// Collects the events at hosts since the last call. Every event before some instant is done, and none from it on.
    pub(crate) fn gather<K>(&mut self, built: &mut Built<K>) {
        let mut news = Vec::new();
        for partition in &mut built.partitions {
            news.extend(partition.hosts.news.iter_mut().flat_map(|news| news.drain(..)));
        }
        // The events of one host are already in order.
        news.sort_by_key(|event| (event.at, event.host));
        self.0.hear(news);
    }

    /// Does what is due at `at`. Every event before `at` is done and gathered, and none from then on.
    pub(crate) fn act<K: Key>(&mut self, built: &mut Built<K>, fabric: &Fabric, at: Time) {
        self.0.act(at, &mut View { built, fabric, at });
    }

    /// Passes on the readings of the controllers at a host, or of those of the whole fabric.
    pub(crate) fn observe(&self, host: Option<u32>, see: &mut dyn FnMut(Reading)) {
        self.0.observe(host, see);
    }

    /// Counts how often each kind published up to the end of the run.
    pub(crate) fn periodic(&self, end: Time) -> impl Iterator<Item = PeriodicPart> {
        let part = |Periodic { name, period, ticks }| PeriodicPart { name: name.into(), period_ps: period.0, ticks };
        self.0.periodic(end).map(part)
    }

    /// Returns how much decisions up to the end of the run added to each counter, by name.
    pub(crate) fn counts(&self, end: Time) -> BTreeMap<&'static str, u64> {
        self.0.counts(end)
    }
}

/// The hosts and ports as they are at an instant, before anything happens in it.
struct View<'a, K> {
    built: &'a mut Built<K>,
    fabric: &'a Fabric,
    at: Time,
}

impl<K: Key> View<'_, K> {
    /// Lets messages begin that were held back for lack of a table.
    fn release(&mut self) {
        for partition in &mut self.built.partitions {
            partition.hosts.release(&mut partition.network, self.at);
        }
    }

    fn side_mut(&mut self, host: u32, class: u8) -> &mut Side {
        let (partition, index) = self.built.placement.hosts[host as usize];
        let hosts = &mut self.built.partitions[partition as usize].hosts;
        let side = hosts.sides_of(index).start + usize::from(hosts.rules.class(class));
        &mut hosts.sides[side]
    }

    /// Returns the scheduler of a port. The port has sent everything that was due before the instant.
    fn scheduler_mut(&mut self, link: u32) -> &mut flowsieve_core::Scheduler {
        let (partition, index) = self.built.placement.from[link as usize];
        self.built.advance((partition, index), self.at.since(Time(1)));
        &mut self.built.partitions[partition as usize].network.ports[index as usize].scheduler
    }

    fn link(&self, node: Node, port: u16) -> u32 {
        match node {
            Node::Host(host) => self.fabric.host_uplink[host as usize],
            Node::Switch(switch) => self.fabric.ports[switch as usize][usize::from(port)],
        }
    }
}

impl<K: Key> Follow for View<'_, K> {
    fn hand_over(&mut self, to: Audience, published: &Published) {
        let at = self.at;
        match to {
            Audience::Host { host, class } => {
                self.side_mut(host, class).on_table(at, published);
                self.release();
            }
            Audience::Hosts { class } => {
                (0..self.fabric.hosts).for_each(|host| self.side_mut(host, class).on_table(at, published));
                self.release();
            }
            Audience::Ports(place) => {
                let fabric = self.fabric;
                for (link, number) in fabric.links.iter().zip(0..) {
                    if fabric.place_of(link.from) == place {
                        self.scheduler_mut(number).on_table(published);
                    }
                }
            }
        }
    }
}

impl<K: Key> Gauges for View<'_, K> {
    fn port(&mut self, node: Node, port: u16, see: &mut dyn FnMut(Reading)) {
        self.scheduler_mut(self.link(node, port)).observe(see);
    }

    fn backlog_bytes(&mut self, node: Node, port: u16) -> u64 {
        self.scheduler_mut(self.link(node, port)).backlog_bytes()
    }

    fn sent(&mut self, host: u32, class: u8, see: &mut dyn FnMut(u32, u64)) {
        self.side_mut(host, class).tagger.sent(see);
    }

    fn tagger(&mut self, host: u32, class: u8, see: &mut dyn FnMut(Reading)) {
        self.side_mut(host, class).tagger.observe(see);
    }
}
