//! Runs that would go on for ever, or far longer than expected: when they end, and with which message.

use flowsieve_core::{PortScheduler, Time};

use super::Run;
use crate::event::Key;
use crate::measure;
use crate::run_spec::SimError;
use crate::topology::{Fabric, Node};

/// The most events per packet-hop: timers, since few are set per packet.
const EVENTS_PER_HOP: u64 = 8;
/// The least number of consecutive timeouts without an acknowledgement that ends a run.
pub const FRUITLESS_TIMEOUTS: u64 = 1_000;
/// Timeouts added for each message that has begun and not finished: after a link failure, many wait in vain for a
/// while.
pub const FRUITLESS_PER_FLOW: u64 = 20;
/// Base round trips between two checks of what was acknowledged, so that an acknowledgement has time to arrive.
const ROUND_TRIPS: u64 = 100;
/// The least time between two checks.
const LEAST_EPOCH: Time = Time::from_us(10_000);

/// Checks for progress at fixed instants, which do not depend on how the fabric is cut.
pub(super) struct Fruitless {
    /// The least number of timeouts that ends the run.
    most: u64,
    epoch: Time,
    /// What was acknowledged, and how many messages had ended, at the last check.
    reached: (u64, u64),
    /// Since when there has been no progress.
    since: Time,
    /// Timeouts before that instant.
    before: u64,
}

impl Fruitless {
    pub(super) fn new(most: u64, fabric: &Fabric) -> Fruitless {
        let epoch = Time(fabric.base_rtt().0.saturating_mul(ROUND_TRIPS)).max(LEAST_EPOCH);
        Fruitless { most, epoch, reached: (0, 0), since: Time::ZERO, before: 0 }
    }
}

impl<K: Key> Run<'_, '_, K> {
    /// Ends a run that exceeds its limits.
    pub(super) fn refuse_runaway(&mut self) -> Result<(), SimError> {
        let Some(most) = self.run_spec.most_packet_hops else { return Ok(()) };
        let partitions = &self.built.partitions;
        let packet_hops: u64 = partitions.iter().map(|partition| partition.network.hops()).sum();
        let events: u64 = partitions.iter().map(|partition| partition.network.events_handled).sum();
        if packet_hops <= most && events <= most.saturating_mul(EVENTS_PER_HOP) {
            return Ok(());
        }
        let timers = format!("{} events were timers", events - packet_hops.min(events));
        Err(SimError::Runaway { packet_hops, events, most, doing: self.doing(self.progress().now, Some(&timers)) })
    }

    /// Ends a run in which flows pile up that arrive without an end: until queries or other flows have ended.
    pub(super) fn refuse_crowd(&mut self) -> Result<(), SimError> {
        let Some(most) = self.run_spec.most_under_way else { return Ok(()) };
        let hosts = || self.built.partitions.iter().map(|partition| &partition.hosts);
        let begun: u64 = hosts().map(|hosts| hosts.begun_messages).sum();
        let ended: u64 = hosts().map(|hosts| hosts.received.len() as u64).sum();
        let under_way = begun.saturating_sub(ended);
        if under_way <= most {
            return Ok(());
        }
        let now = self.progress().now;
        Err(SimError::Crowd { under_way, now, doing: self.doing(now, None) })
    }

    /// Returns when to check for progress next, up to `horizon`: after the next event.
    pub(super) fn next_look(&self, horizon: Time) -> Option<Time> {
        let epoch = self.fruitless.as_ref()?.epoch.0;
        let next = self.built.partitions.iter().map(super::next_event).min().filter(|next| *next < Time::NEVER)?;
        let at = (next.0 / epoch + 1).checked_mul(epoch).map(Time)?;
        (at <= horizon).then_some(at)
    }

    /// Ends a run in which timers fire and nothing is acknowledged.
    pub(super) fn refuse_fruitless(&mut self, now: Time) -> Result<(), SimError> {
        let Some(fruitless) = &mut self.fruitless else { return Ok(()) };
        let hosts = || self.built.partitions.iter().map(|partition| &partition.hosts);
        let fired: u64 = hosts().map(|hosts| hosts.timeouts).sum();
        let ended: u64 = hosts().map(|hosts| hosts.received.len() as u64).sum();
        let sent: u64 = hosts().map(|hosts| hosts.sent.len() as u64).sum();
        if fired == fruitless.before {
            // No timeouts since the last progress.
            fruitless.since = now;
            return Ok(());
        }
        let endpoints = hosts().flat_map(|hosts| &hosts.sides).map(|side| side.endpoint.acknowledged());
        let Some(acknowledged) = endpoints.sum::<Option<u64>>() else { return Ok(()) };
        let reached = (acknowledged, sent + ended);
        if reached != fruitless.reached {
            (fruitless.reached, fruitless.since, fruitless.before) = (reached, now, fired);
            return Ok(());
        }
        let (timeouts, since) = (fired - fruitless.before, fruitless.since);
        let unfinished = hosts().map(|hosts| hosts.begun_messages).sum::<u64>().saturating_sub(ended);
        if timeouts < fruitless.most.max(FRUITLESS_PER_FLOW.saturating_mul(unfinished)) {
            return Ok(());
        }
        self.advance_all(Time(now.0.saturating_sub(1)));
        let doing = self.doing(now, Some("retransmission timers go on"));
        Err(SimError::Fruitless { timeouts, since, doing })
    }

    /// Describes what is still going on: the flow that has waited longest, the fullest port, the timers if they matter.
    fn doing(&mut self, now: Time, timers: Option<&str>) -> String {
        self.gather();
        let fabric = self.run_spec.fabric;
        let flow = measure::oldest_unfinished(&self.run_spec, &self.built, &self.flows).map(|flow| {
            let [from, to] = [flow.src, flow.dst].map(|host| fabric.name(Node::Host(host)));
            format!(
                "at {now} flow {} from {from} to {to}, {} bytes since {}, has not finished",
                flow.id,
                flow.bytes,
                Time(flow.start_ps)
            )
        });
        let held = |link: &usize| self.built.port(*link).scheduler.backlog_bytes();
        let fullest = (0..fabric.links.len()).rev().max_by_key(held);
        let port = fullest
            .map(|link| format!("the fullest port, {}, holds {} bytes", fabric.link_name(link as u32), held(&link)));
        let ring = self.built.ring_of_pauses(fabric);
        flow.into_iter().chain(port).chain(timers.map(str::to_owned)).chain(ring).collect::<Vec<_>>().join("; ")
    }
}
