//! What adapts by the clock: thresholds that hosts estimate for themselves, and the central controller of many hosts.
//!
//! The run stops between events at these instants; there is no event for them, and a run without such a scheme does nothing
//! for it. At each period, before anything else of the instant, hosts estimate in the order of their numbers; then the
//! controller gathers what they remember, computes, and its thresholds hold at all hosts after its delay, again before
//! anything else of that instant.
//!
//! It leaves out packets: what hosts and controller tell each other takes no room on any link, is never lost, and takes one
//! delay for all hosts.

use std::collections::VecDeque;

use flowsieve_core::levels::{Adaptation, Controller, Levels, Published, Seen};
use flowsieve_core::observed::{RecentSizes, SizeSketch};
use flowsieve_core::tagger::Tagger;
use flowsieve_core::{Rate, Time};
use flowsieve_results::PeriodicPart;
use flowsieve_schemes::scheme::TaggerSpec;

use crate::build::Built;
use crate::hosts::Hosts;
use crate::point::Point;

/// Everything that adapts by the clock in a run.
pub(crate) struct Control {
    classes: Vec<OfClass>,
}

/// What adapts in the hosts' taggers of a class of flows.
struct OfClass {
    class: usize,
    adaptation: Adaptation,
    /// The hosts' links together, in bit/s.
    rate_bps: u64,
    next: Time,
    /// Where hosts have queues of their own: how many of them estimated, and when.
    estimates: Option<Vec<(Time, u64)>>,
    controller: Option<Controller>,
    /// When the controller published.
    published: Vec<Time>,
    /// On their way to the hosts, the first to arrive first.
    sent: VecDeque<(Time, Published)>,
}

impl Control {
    /// What of a point adapts, if anything does.
    pub(crate) fn new(point: &Point<'_>) -> Option<Control> {
        let fabric = point.fabric;
        let rates = fabric.host_uplink.iter().map(|&link| fabric.links[link as usize].rate);
        let rate_bps = rates.map(Rate::bps).fold(0, u64::saturating_add);
        let classes = point.scheme.classes.iter().enumerate().filter_map(|(class, spec)| {
            let TaggerSpec::Levels(params) = &spec.tagger else { return None };
            let adaptation = params.adaptation;
            Some(OfClass {
                class,
                adaptation,
                rate_bps,
                next: adaptation.period,
                estimates: params.own.as_ref().map(|_| Vec::new()),
                controller: adaptation.controller.map(|of| Controller::new(of, adaptation.least, &params.network)),
                published: Vec::new(),
                sent: VecDeque::new(),
            })
        });
        let classes: Vec<OfClass> = classes.collect();
        (!classes.is_empty()).then_some(Control { classes })
    }

    /// When something is due next.
    pub(crate) fn next(&self) -> Option<Time> {
        self.classes.iter().map(OfClass::next).min()
    }

    /// Does what is due, when every event before `at` is done and none from then on.
    pub(crate) fn act<K>(&mut self, built: &mut Built<K>, at: Time) {
        for class in self.classes.iter_mut().filter(|class| class.next() <= at) {
            class.act(built, at);
        }
    }

    /// The thresholds that the controller published last, of the first class that has one.
    pub(crate) fn published(&self) -> Option<&[u64]> {
        let controller = self.classes.iter().find_map(|class| class.controller.as_ref())?;
        Some(&controller.last().thresholds)
    }

    /// How often it acted up to the end of the run: hosts by the mean of as many as ever estimated at once.
    pub(crate) fn periodic(&self, end: Time) -> Vec<PeriodicPart> {
        let mut parts = Vec::new();
        for class in &self.classes {
            let mut part = |name: &str, ticks| {
                parts.push(PeriodicPart { name: name.into(), period_ps: class.adaptation.period.0, ticks });
            };
            if let Some(estimates) = &class.estimates {
                let hosts = || estimates.iter().filter(|(at, _)| *at <= end).map(|(_, hosts)| *hosts);
                part("thresholds of hosts", hosts().sum::<u64>() / hosts().max().unwrap_or(1));
            }
            if class.controller.is_some() {
                part("threshold controller", class.published.iter().filter(|at| **at <= end).count() as u64);
            }
        }
        parts
    }
}

impl OfClass {
    fn next(&self) -> Time {
        self.sent.front().map_or(self.next, |(at, _)| self.next.min(*at))
    }

    /// The taggers of the class, by host.
    fn levels<'a, K>(&self, built: &'a mut Built<K>) -> impl Iterator<Item = &'a mut Levels> {
        let class = self.class;
        let order = &built.places.hosts;
        let classes = |hosts: &Hosts| hosts.rules.transports.len();
        let mut partitions: Vec<_> = built
            .partitions
            .iter_mut()
            .map(|partition| {
                let classes = classes(&partition.hosts);
                partition.hosts.sides.iter_mut().skip(class).step_by(classes)
            })
            .collect();
        // Hosts have their places in a partition in the order of their numbers.
        order.iter().filter_map(move |&(partition, _)| match &mut partitions[partition as usize].next()?.tagger {
            Tagger::Levels(levels) => Some(&mut **levels),
            _ => None,
        })
    }

    fn act<K>(&mut self, built: &mut Built<K>, at: Time) {
        while let Some((_, published)) = self.sent.front().filter(|(due, _)| *due <= at) {
            self.levels(built).for_each(|levels| levels.apply(published));
            self.sent.pop_front();
        }
        if self.next > at {
            return;
        }
        self.next = Time(self.next.0.saturating_add(self.adaptation.period.0));
        let estimated = self.levels(built).map(|levels| levels.re_estimate(at)).filter(|done| *done).count() as u64;
        if let Some(estimates) = self.estimates.as_mut().filter(|_| estimated > 0) {
            estimates.push((at, estimated));
        }
        let Some(of) = self.adaptation.controller else { return };
        let mut sizes = SizeSketch::default();
        self.levels(built).for_each(|levels| levels.gather(at, &mut sizes));
        let seen = Seen { sizes: &sizes, span: RecentSizes::span(self.adaptation.window, at), rate_bps: self.rate_bps };
        if let Some(published) = self.controller.as_mut().and_then(|controller| controller.decide(&seen)) {
            self.published.push(at);
            self.sent.push_back((Time(at.0.saturating_add(of.delay.0)), published));
            // Without a delay it holds at once.
            if of.delay == Time::ZERO {
                self.act(built, at);
            }
        }
    }
}
