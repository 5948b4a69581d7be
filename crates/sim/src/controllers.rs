//! Controllers of a run: what they hear, when they decide, and the way of their tables.
//!
//! The run stops between events at their instants; there is no event for them, and a run without controllers does nothing
//! for them. At an instant tables arrive first, then each kind of controllers in turn hears and decides, before anything else
//! of that instant. All of that is the same however a fabric is cut into partitions.
//!
//! It leaves out packets: what hosts and controllers tell each other takes no room on any link, is never lost, and takes one
//! delay for all hosts.

use std::collections::{BTreeMap, VecDeque};

use flowsieve_core::controller::{Audience, Controller, Gauges, Hears, HostEvent, Published};
use flowsieve_core::readings::Reading;
use flowsieve_core::{ControllerSpec, Node, PortScheduler, Time};
use flowsieve_results::PeriodicPart;

use crate::build::Built;
use crate::event::Key;
use crate::run_spec::{RunSpec, SimError};
use flowsieve_fabric::topology::{Fabric, Sites};

/// The controllers of a run.
pub(crate) struct Controllers {
    kinds: Vec<Kind>,
    /// What happened at hosts and not everybody has heard, in the order in which it is heard.
    news: VecDeque<HostEvent>,
    /// What was in `news` and is not any more.
    forgotten: u64,
    /// Hosts with lower numbers are not heard of.
    first_host: u32,
}

/// Controllers that a scheme names together.
struct Kind {
    spec: ControllerSpec,
    /// By host, or one.
    controllers: Vec<Box<dyn Controller>>,
    /// When the first of them decides next.
    next: Time,
    /// What they have heard, counted from the beginning.
    heard: u64,
    /// By controller: the version of what it published last.
    versions: Vec<u64>,
    /// On their way, the first to arrive first.
    sent: VecDeque<(Time, Audience, Published)>,
    /// When any of them published, and how many did.
    published: Vec<(Time, u64)>,
    /// When a decision added to what one of them counts, to which count, and how much.
    counted: Vec<(Time, &'static str, u64)>,
}

impl Controllers {
    /// Those of a run, if there are any.
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

    /// When something is due next.
    pub(crate) fn next(&self) -> Option<Time> {
        self.kinds.iter().map(|kind| kind.next.min(kind.arrival()).min(self.hears_next(kind))).min()
    }

    /// No event that is not known yet is heard sooner than so long after it; `None`: none stops the run.
    pub(crate) fn least_delay(&self) -> Option<Time> {
        let delay = |kind: &Kind| match kind.spec.hears {
            Hears::AsItHappens(delay) => Some(delay),
            Hears::Nothing | Hears::WhenItDecides(_) => None,
        };
        self.kinds.iter().filter_map(delay).min()
    }

    /// Takes what happened at hosts since it was called last. Every event before some instant is done, and none from it on.
    pub(crate) fn gather<K>(&mut self, built: &mut Built<K>) {
        let mut news = Vec::new();
        for partition in &mut built.partitions {
            news.extend(partition.hosts.news.iter_mut().flat_map(|news| news.drain(..)));
        }
        // Of one host they are in their order.
        news.sort_by_key(|event| (event.at, event.host));
        self.news.extend(news.into_iter().filter(|event| event.host >= self.first_host));
        self.forget();
    }

    /// Forgets what everybody has heard who hears of anything.
    fn forget(&mut self) {
        let all = self.forgotten + self.news.len() as u64;
        let heard = self.kinds.iter().filter(|kind| kind.hears_more()).map(|kind| kind.heard).min().unwrap_or(all);
        self.news.drain(..(heard - self.forgotten) as usize);
        self.forgotten = heard;
    }

    /// Does what is due, when every event before `at` is done and gathered, and none from then on.
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
            // Without a delay it holds at once.
            kind.deliver(&mut view);
        }
    }

    /// When controllers hear of what is known to have happened, if that is not left to their own instants.
    fn hears_next(&self, kind: &Kind) -> Time {
        let Hears::AsItHappens(delay) = kind.spec.hears else { return Time::NEVER };
        let unheard = self.news.get((kind.heard - self.forgotten) as usize);
        unheard.map_or(Time::NEVER, |event| event.at + delay)
    }

    /// What the controllers at a host say of themselves, or those of the whole fabric.
    pub(crate) fn observe(&self, host: Option<u32>, see: &mut dyn FnMut(Reading)) {
        for kind in self.kinds.iter().filter(|kind| kind.spec.kind.is_at_hosts() == host.is_some()) {
            kind.controllers[host.unwrap_or(0) as usize].observe(see);
        }
    }

    /// How often each kind published up to the end of the run: controllers at hosts by the mean of as many as ever did at once.
    pub(crate) fn periodic(&self, end: Time) -> impl Iterator<Item = PeriodicPart> {
        self.kinds.iter().map(move |kind| {
            let published = || kind.published.iter().filter(|(at, _)| *at <= end).map(|(_, controllers)| *controllers);
            let ticks = published().sum::<u64>() / published().max().unwrap_or(1);
            let period = kind.spec.period.map_or(end.0.checked_div(ticks).unwrap_or(0), |period| period.0);
            PeriodicPart { name: kind.spec.name.into(), period_ps: period, ticks }
        })
    }

    /// What decisions up to the end of the run added to counts, by name.
    pub(crate) fn counts(&self, end: Time) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for (_, name, count) in self.kinds.iter().flat_map(|kind| &kind.counted).filter(|(at, ..)| *at <= end) {
            *counts.entry(*name).or_default() += count;
        }
        counts
    }
}

/// What a controller counts.
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
    /// When the next table arrives.
    fn arrival(&self) -> Time {
        self.sent.front().map_or(Time::NEVER, |&(at, ..)| at)
    }

    /// Whether it will hear of anything again. Who hears when it decides, and will not decide, does not.
    fn hears_more(&self) -> bool {
        match self.spec.hears {
            Hears::Nothing => false,
            Hears::WhenItDecides(_) => self.next != Time::NEVER,
            Hears::AsItHappens(_) => true,
        }
    }

    /// Hears what is old enough of `news`, before which so much was forgotten.
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

    /// Hands over what has arrived.
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
        match to {
            Audience::Host { host, class } => self.tagger_mut(host, class).on_table(published),
            Audience::Hosts { class } => {
                (0..self.fabric.hosts).for_each(|host| self.tagger_mut(host, class).on_table(published));
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

    fn tagger_mut(&mut self, host: u32, class: u8) -> &mut flowsieve_core::Tagger {
        let (partition, index) = self.built.placement.hosts[host as usize];
        let hosts = &mut self.built.partitions[partition as usize].hosts;
        let side = hosts.sides_of(index).start + usize::from(hosts.rules.class(class));
        &mut hosts.sides[side].tagger
    }

    /// The scheduler of a port that has sent everything before the instant.
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
        self.tagger_mut(host, class).sent(see);
    }

    fn tagger(&mut self, host: u32, class: u8, see: &mut dyn FnMut(Reading)) {
        self.tagger_mut(host, class).observe(see);
    }
}
