//! Controllers of a run: what they hear, when they decide, and how their tables travel.
//!
//! Controllers have no events: the run stops for them between events. A run without controllers does nothing for them.
//! At an instant tables arrive first. Then each kind of controllers in turn hears and decides, before any event of that
//! instant. The result does not depend on how the fabric is cut into partitions.
//!
//! Hosts and controllers communicate without packets: their messages occupy no link, are never lost, and take one delay
//! that is the same for all hosts.

use std::collections::{BTreeMap, VecDeque};

use flowsieve_core::controller::{Audience, Controller, Gauges, Hears, HostEvent, Published};
use flowsieve_core::readings::Reading;
use flowsieve_core::{ControllerSpec, Node, PortScheduler, Time};
use flowsieve_record::PeriodicPart;

use crate::build::Built;
use crate::event::Key;
use crate::hosts::Side;
use crate::run_spec::{RunSpec, SimError};
use flowsieve_fabric::topology::{Fabric, Sites};

/// The controllers of a run.
pub(crate) struct Controllers {
    kinds: Vec<Kind>,
    /// Events at hosts that some controller has yet to hear, in the order in which they are heard.
    news: VecDeque<HostEvent>,
    /// Number of events already removed from `news`.
    forgotten: u64,
    /// Controllers do not hear of hosts with lower numbers.
    first_host: u32,
}

/// The controllers that a scheme names together.
struct Kind {
    spec: ControllerSpec,
    /// One per host, or a single one.
    controllers: Vec<Box<dyn Controller>>,
    /// When the next of them decides.
    next: Time,
    /// Events that they have heard, counted from the beginning.
    heard: u64,
    /// By controller: the version of its last table.
    versions: Vec<u64>,
    /// Tables on their way, in order of arrival.
    sent: VecDeque<(Time, Audience, Published)>,
    /// When controllers published, and how many did.
    published: Vec<(Time, u64)>,
    /// When a decision increased a controller's counter, which counter, and by how much.
    counted: Vec<(Time, &'static str, u64)>,
}

impl Controllers {
    /// Builds the controllers of a run, if it has any.
    pub(crate) fn new<K>(run_spec: &RunSpec<'_>, built: &mut Built<K>) -> Result<Option<Controllers>, SimError> {
        let specs = &run_spec.scheme.controllers;
        if specs.is_empty() {
            return Ok(None);
        }
        let sites = Sites::new(run_spec.fabric, run_spec.seed);
        let announcements = run_spec.announcements.cloned().unwrap_or_default();
        let kind = |(spec, number): (&ControllerSpec, u8)| {
            if spec.hears == Hears::AsItHappens(Time::ZERO) {
                return Err(SimError::HearsAtOnce { controller: spec.name });
            }
            let controllers =
                spec.kind.build(&sites.fabric(number, &announcements), |host| sites.controller(host, number));
            Ok(Kind {
                next: first(&controllers),
                versions: vec![0; controllers.len()],
                spec: spec.clone(),
                controllers,
                heard: 0,
                sent: VecDeque::new(),
                published: Vec::new(),
                counted: Vec::new(),
            })
        };
        let kinds: Vec<Kind> = specs.iter().zip(0..).map(kind).collect::<Result<_, _>>()?;
        if kinds.iter().any(|kind| kind.spec.hears != Hears::Nothing) {
            built.partitions.iter_mut().for_each(|partition| partition.hosts.news = Some(Vec::new()));
        }
        Ok(Some(Controllers { kinds, news: VecDeque::new(), forgotten: 0, first_host: run_spec.scheme.misusing_hosts }))
    }

    /// Returns when something is due next.
    pub(crate) fn next(&self) -> Option<Time> {
        self.kinds.iter().map(|kind| kind.next.min(kind.arrival()).min(self.hears_next(kind))).min()
    }

    /// Returns the least delay after which an event is heard that has not happened yet; `None`: no such event stops the
    /// run.
    pub(crate) fn least_delay(&self) -> Option<Time> {
        let delay = |kind: &Kind| match kind.spec.hears {
            Hears::AsItHappens(delay) => Some(delay),
            Hears::Nothing | Hears::WhenItDecides(_) => None,
        };
        self.kinds.iter().filter_map(delay).min()
    }

    /// Collects the events at hosts since the last call. Every event before some instant is done, and none from it on.
    pub(crate) fn gather<K>(&mut self, built: &mut Built<K>) {
        let mut news = Vec::new();
        for partition in &mut built.partitions {
            news.extend(partition.hosts.news.iter_mut().flat_map(|news| news.drain(..)));
        }
        // The events of one host are already in order.
        news.sort_by_key(|event| (event.at, event.host));
        self.news.extend(news.into_iter().filter(|event| event.host >= self.first_host));
        self.forget();
    }

    /// Drops the events that all interested controllers have heard.
    fn forget(&mut self) {
        let all = self.forgotten + self.news.len() as u64;
        let heard = self.kinds.iter().filter(|kind| kind.hears_more()).map(|kind| kind.heard).min().unwrap_or(all);
        self.news.drain(..(heard - self.forgotten) as usize);
        self.forgotten = heard;
    }

    /// Does what is due at `at`. Every event before `at` is done and gathered, and none from then on.
    pub(crate) fn act<K: Key>(&mut self, built: &mut Built<K>, fabric: &Fabric, at: Time) {
        let mut view = View { built, fabric, at };
        for kind in &mut self.kinds {
            kind.deliver(&mut view);
        }
        for number in 0..self.kinds.len() {
            if self.kinds[number].next > at && self.hears_next(&self.kinds[number]) > at {
                continue;
            }
            let kind = &mut self.kinds[number];
            kind.hear(&self.news, self.forgotten, at);
            kind.decide(&mut view);
            // Without a delay the table takes effect at once.
            kind.deliver(&mut view);
        }
    }

    /// Returns when controllers hear of the known events, unless they hear only at their own instants.
    fn hears_next(&self, kind: &Kind) -> Time {
        let Hears::AsItHappens(delay) = kind.spec.hears else { return Time::NEVER };
        let unheard = self.news.get((kind.heard - self.forgotten) as usize);
        unheard.map_or(Time::NEVER, |event| event.at + delay)
    }

    /// Passes on the readings of the controllers at a host, or of those of the whole fabric.
    pub(crate) fn observe(&self, host: Option<u32>, see: &mut dyn FnMut(Reading)) {
        for kind in self.kinds.iter().filter(|kind| kind.spec.kind.is_at_hosts() == host.is_some()) {
            kind.controllers[host.unwrap_or(0) as usize].observe(see);
        }
    }

    /// Counts how often each kind published up to the end of the run. For controllers at hosts: the mean over the
    /// largest number that ever published at once.
    pub(crate) fn periodic(&self, end: Time) -> impl Iterator<Item = PeriodicPart> {
        self.kinds.iter().map(move |kind| {
            let published = || kind.published.iter().filter(|(at, _)| *at <= end).map(|(_, controllers)| *controllers);
            let ticks = published().sum::<u64>() / published().max().unwrap_or(1);
            let period = kind.spec.period.map_or(end.0.checked_div(ticks).unwrap_or(0), |period| period.0);
            PeriodicPart { name: kind.spec.name.into(), period_ps: period, ticks }
        })
    }

    /// Returns how much decisions up to the end of the run added to each counter, by name.
    pub(crate) fn counts(&self, end: Time) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for (_, name, count) in self.kinds.iter().flat_map(|kind| &kind.counted).filter(|(at, ..)| *at <= end) {
            *counts.entry(*name).or_default() += count;
        }
        counts
    }
}

/// Returns a controller's counters.
fn counts(controller: &dyn Controller) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    controller.observe(&mut |reading| {
        if let Reading::Count { name, count } = reading {
            counts.insert(name, count);
        }
    });
    counts
}

fn first(controllers: &[Box<dyn Controller>]) -> Time {
    controllers.iter().map(|controller| controller.next()).min().unwrap_or(Time::NEVER)
}

impl Kind {
    /// Returns when the next table arrives.
    fn arrival(&self) -> Time {
        self.sent.front().map_or(Time::NEVER, |&(at, ..)| at)
    }

    /// Returns whether it hears anything again. A kind that hears only when it decides, and never decides again, does
    /// not.
    fn hears_more(&self) -> bool {
        match self.spec.hears {
            Hears::Nothing => false,
            Hears::WhenItDecides(_) => self.next != Time::NEVER,
            Hears::AsItHappens(_) => true,
        }
    }

    /// Hears the events of `news` that are old enough. `forgotten` events were removed before the first of them.
    fn hear(&mut self, news: &VecDeque<HostEvent>, forgotten: u64, now: Time) {
        let (Hears::WhenItDecides(delay) | Hears::AsItHappens(delay)) = self.spec.hears else { return };
        let at_hosts = self.spec.kind.is_at_hosts();
        let unheard = news.range((self.heard - forgotten) as usize..);
        for event in unheard.take_while(|event| event.at + delay <= now) {
            let controller = if at_hosts { event.host as usize } else { 0 };
            self.controllers[controller].on_event(now, event);
            self.heard += 1;
        }
        self.next = first(&self.controllers);
    }

    fn decide<K: Key>(&mut self, view: &mut View<'_, K>) {
        let now = view.at;
        if self.next > now {
            return;
        }
        let arrives = Time(now.0.saturating_add(self.spec.publishes_after.0));
        let mut publishing = 0;
        for (controller, version) in self.controllers.iter_mut().zip(&mut self.versions) {
            if controller.next() > now {
                continue;
            }
            let (before, counted) = (*version, counts(&**controller));
            controller.decide(now, view, &mut |to, table| {
                *version += 1;
                self.sent.push_back((arrives, to, Published { version: *version, table }));
            });
            publishing += u64::from(*version > before);
            for (name, count) in counts(&**controller) {
                let more = count - counted.get(name).copied().unwrap_or(0);
                self.counted.extend((more > 0).then_some((now, name, more)));
            }
            assert!(controller.next() > now, "a controller that has decided chooses a later instant");
        }
        if publishing > 0 {
            self.published.push((now, publishing));
        }
        self.next = first(&self.controllers);
    }

    /// Hands over the tables that have arrived.
    fn deliver<K: Key>(&mut self, view: &mut View<'_, K>) {
        while self.arrival() <= view.at {
            let Some((_, to, published)) = self.sent.pop_front() else { return };
            view.hand_over(to, &published);
        }
    }
}

/// The hosts and ports as they are at an instant, before anything happens in it.
struct View<'a, K> {
    built: &'a mut Built<K>,
    fabric: &'a Fabric,
    at: Time,
}

impl<K: Key> View<'_, K> {
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
        let network = &mut self.built.partitions[partition as usize].network;
        network.advance(index, self.at.since(Time(1)));
        &mut network.ports[index as usize].scheduler
    }

    fn link(&self, node: Node, port: u16) -> u32 {
        match node {
            Node::Host(host) => self.fabric.host_uplink[host as usize],
            Node::Switch(switch) => self.fabric.ports[switch as usize][usize::from(port)],
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
