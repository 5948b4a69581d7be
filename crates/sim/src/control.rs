//! Controllers of a run: what they hear, when they decide, and how their tables travel. For any engine that says what the
//! time is, what happens at hosts, and who follows ([`Follow`]).
//!
//! Controllers have no events: the engine stops for them between events. At an instant tables arrive first. Then each kind
//! of controllers in turn hears and decides, before any event of that instant.
//!
//! Hosts and controllers communicate without packets: their messages occupy no link, are never lost, and take one delay
//! that is the same for all hosts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use flowsieve_core::coflow::Announcements;
use flowsieve_core::controller::{Audience, Controller, Gauges, Hears, HostEvent, Published};
use flowsieve_core::readings::Reading;
use flowsieve_core::{ControllerSpec, Misuse, Time};

use crate::topology::{Fabric, Sites};

/// The hosts and ports that follow controllers, as they are at an instant before anything happens in it.
pub trait Follow: Gauges {
    /// Hands over a table that arrives.
    fn hand_over(&mut self, to: Audience, published: &Published);
}

/// Why controllers cannot be built: one would hear of an event at the instant at which it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HearsAtOnce(
    /// Its name.
    pub &'static str,
);

/// How often a kind of controllers published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periodic {
    /// Its name.
    pub name: &'static str,
    /// Its period, or the mean time between two tables.
    pub period: Time,
    /// How often.
    pub ticks: u64,
}

/// The controllers of a run.
pub struct Control {
    kinds: Vec<Kind>,
    /// Events at hosts that some controller has yet to hear, in the order in which they are heard.
    news: VecDeque<HostEvent>,
    /// Number of events already removed from `news`.
    forgotten: u64,
    misuse: Misuse,
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

impl Control {
    /// Builds controllers of these kinds, if there are any. `misuse` says what they hear of some hosts, and `seed` is the
    /// run's.
    ///
    /// # Errors
    /// Fails if one hears events at once.
    pub fn new(
        fabric: &Fabric,
        specs: &[ControllerSpec],
        misuse: Misuse,
        announcements: &Arc<Announcements>,
        seed: u64,
    ) -> Result<Option<Control>, HearsAtOnce> {
        if specs.is_empty() {
            return Ok(None);
        }
        let sites = Sites::new(fabric, seed);
        let kind = |(spec, number): (&ControllerSpec, u8)| {
            if spec.hears == Hears::AsItHappens(Time::ZERO) {
                return Err(HearsAtOnce(spec.name));
            }
            let controllers =
                spec.kind.build(&sites.fabric(number, announcements), |host| sites.controller(host, number));
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
        Ok(Some(Control { kinds, news: VecDeque::new(), forgotten: 0, misuse }))
    }

    /// Returns whether any of them hears what happens at hosts.
    pub fn hears(&self) -> bool {
        self.kinds.iter().any(|kind| kind.spec.hears != Hears::Nothing)
    }

    /// Returns when something is due next; [`Time::NEVER`]: not before something is heard.
    pub fn next(&self) -> Time {
        let next = |kind: &Kind| kind.next.min(kind.arrival()).min(self.hears_next(kind));
        self.kinds.iter().map(next).min().unwrap_or(Time::NEVER)
    }

    /// Returns the least delay after which an event is heard that has not happened yet; `None`: no such event makes
    /// anything due.
    pub fn least_delay(&self) -> Option<Time> {
        let delay = |kind: &Kind| match kind.spec.hears {
            Hears::AsItHappens(delay) => Some(delay),
            Hears::Nothing | Hears::WhenItDecides(_) => None,
        };
        self.kinds.iter().filter_map(delay).min()
    }

    /// Takes events at hosts. Those of one host are in order, and all are at or after the last instant of
    /// [`Control::act`].
    pub fn hear(&mut self, events: impl IntoIterator<Item = HostEvent>) {
        let place = |event: &HostEvent| (event.at, event.host);
        for event in events {
            self.misuse.heard(event, |event| {
                let later = self.news.iter().rev().take_while(|other| place(other) > place(&event)).count();
                self.news.insert(self.news.len() - later, event);
            });
        }
        self.forget();
    }

    /// Drops the events that all interested controllers have heard.
    fn forget(&mut self) {
        let all = self.forgotten + self.news.len() as u64;
        let heard = self.kinds.iter().filter(|kind| kind.hears_more()).map(|kind| kind.heard).min().unwrap_or(all);
        self.news.drain(..(heard - self.forgotten) as usize);
        self.forgotten = heard;
    }

    /// Does what is due at `at`. Every event before `at` is done and heard of, and none from then on.
    pub fn act(&mut self, at: Time, view: &mut impl Follow) {
        for kind in &mut self.kinds {
            kind.deliver(at, view);
        }
        for number in 0..self.kinds.len() {
            if self.kinds[number].next > at && self.hears_next(&self.kinds[number]) > at {
                continue;
            }
            let kind = &mut self.kinds[number];
            kind.hear(&self.news, self.forgotten, at);
            kind.decide(at, view);
            // Without a delay the table takes effect at once.
            kind.deliver(at, view);
        }
    }

    /// Returns when controllers hear of the known events, unless they hear only at their own instants.
    fn hears_next(&self, kind: &Kind) -> Time {
        let Hears::AsItHappens(delay) = kind.spec.hears else { return Time::NEVER };
        let unheard = self.news.get((kind.heard - self.forgotten) as usize);
        unheard.map_or(Time::NEVER, |event| event.at + delay)
    }

    /// Passes on the readings of the controllers at a host, or of those of the whole fabric.
    pub fn observe(&self, host: Option<u32>, see: &mut dyn FnMut(Reading)) {
        for kind in self.kinds.iter().filter(|kind| kind.spec.kind.is_at_hosts() == host.is_some()) {
            kind.controllers[host.unwrap_or(0) as usize].observe(see);
        }
    }

    /// Counts how often each kind published up to the end of the run. For controllers at hosts: the mean over the
    /// largest number that ever published at once.
    pub fn periodic(&self, end: Time) -> impl Iterator<Item = Periodic> {
        self.kinds.iter().map(move |kind| {
            let published = || kind.published.iter().filter(|(at, _)| *at <= end).map(|(_, controllers)| *controllers);
            let ticks = published().sum::<u64>() / published().max().unwrap_or(1);
            let period = kind.spec.period.unwrap_or(Time(end.0.checked_div(ticks).unwrap_or(0)));
            Periodic { name: kind.spec.name, period, ticks }
        })
    }

    /// Returns how much decisions up to the end of the run added to each counter, by name.
    pub fn counts(&self, end: Time) -> BTreeMap<&'static str, u64> {
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

    fn decide(&mut self, now: Time, view: &mut impl Follow) {
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
    fn deliver(&mut self, now: Time, view: &mut impl Follow) {
        while self.arrival() <= now {
            let Some((_, to, published)) = self.sent.pop_front() else { return };
            view.hand_over(to, &published);
        }
    }
}
