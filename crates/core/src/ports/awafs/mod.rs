//! AWAFS (S. A. Gutiérrez Betancur's thesis, chapter 4): multi-level feedback queues whose demotion thresholds follow the
//! sizes of completed flows.
//!
//! A port has strict-priority queues. A packet goes to the first queue i whose threshold is above the bytes that its flow
//! sent before it; beyond all thresholds, to the last. The Sensor lists completed flows ([`CompletedFlows`]), the Actuator
//! sets the thresholds by that list ([`Actuator`]), and [`AwafsPort`] is the Scheduler with both. At end hosts, each host's
//! controller ([`crate::controllers::awafs`]) has the first two, and its tagger ([`crate::taggers::awafs`]) is the third;
//! switches read its tags.
//!
//! # What hosts write
//! AWAFS's own header has the bytes that the flow has sent, and a mark on the flow's last packet:
//! [`crate::Tag::with_sent`]. A flow is a message. Its size is the bytes before its last packet plus that packet's payload.
//!
//! # What a switch sees
//! A packet is sensed once it is queued, so a rejected packet counts when it is sent again. An end mark that is lost
//! further on is listed again by the ports before. Packets without payload go to the first queue and are not counted.

pub mod actuator;
pub mod completed;
mod flow_table;
mod load;

pub use actuator::{Actuator, ActuatorParams};
pub use completed::CompletedFlows;
use flow_table::FlowTable;

use crate::bank::FifoBank;
use crate::discipline::Discipline;
use crate::meta::{Kind, Meta};
use crate::readings::Reading;
use crate::scheduler::{Line, PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};
use crate::units::Time;

/// How a switch knows what a flow has sent and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnds {
    /// Hosts write both.
    Marked,
    /// The switch counts bytes itself; a flow ends with the packet that hosts mark, a connection's FIN.
    Fin {
        /// The most flows that it counts at once; at least 1.
        flows: usize,
    },
    /// The switch counts bytes itself; a flow ends after this long without a packet.
    Idle {
        /// Above zero.
        after: Time,
        /// The most flows that it counts at once; at least 1.
        flows: usize,
    },
}

/// A port's parameters.
#[derive(Clone, Debug)]
pub struct AwafsParams {
    /// Thresholds; there is one more queue than thresholds.
    pub actuator: ActuatorParams,
    /// How flows are derived from packets.
    pub ends: FlowEnds,
    /// Time between two priority boosts, above zero; `None`: no boosts.
    pub boost: Option<Time>,
}

impl PortRules for AwafsParams {
    type Port = AwafsPort;

    fn build(&self, site: &PortSite) -> AwafsPort {
        AwafsPort::new(self, site)
    }
}

/// MLFQ's priority boost: at every multiple of a period, all queued packets move to the first queue.
#[derive(Clone, Copy, Debug)]
struct Boost {
    period: Time,
    next: Time,
}

/// A port that adapts its thresholds.
pub struct AwafsPort {
    bank: FifoBank,
    actuator: Actuator,
    ends: FlowEnds,
    /// Present if hosts do not write what flows have sent.
    table: Option<FlowTable>,
    boost: Option<Boost>,
    header: u16,
    line: Line,
}

impl AwafsPort {
    /// Builds an empty port.
    ///
    /// # Panics
    /// If the parameters violate their documentation; set-up checks them.
    pub fn new(params: &AwafsParams, site: &PortSite) -> AwafsPort {
        let queues = params.actuator.initial.len() + 1;
        AwafsPort {
            bank: FifoBank::new(queues, site.admission, site.marker, Discipline::StrictPriority),
            actuator: Actuator::new(&params.actuator),
            ends: params.ends,
            table: match params.ends {
                FlowEnds::Marked => None,
                FlowEnds::Fin { flows } | FlowEnds::Idle { flows, .. } => Some(FlowTable::new(flows)),
            },
            boost: params.boost.map(|period| Boost { period, next: period }),
            header: site.header,
            line: site.line,
        }
    }

    /// Does everything that is due by `now`.
    #[inline]
    fn catch_up(&mut self, metas: &mut [Meta], now: Time) {
        if let Some(boost) = &mut self.boost
            && now >= boost.next
        {
            // Nothing has arrived since the boost was due, and later departures left in the same order.
            self.bank.boost(metas);
            boost.next = Time(now.0 - now.0 % boost.period.0) + boost.period;
        }
        if self.actuator.is_due(now) {
            self.end_idle(self.actuator.last_tick(now));
            self.actuator.tick(now);
        }
        self.end_idle(now);
    }

    /// Lists the flows that had been idle for too long at `now`, each at the instant when that became known.
    #[inline]
    fn end_idle(&mut self, now: Time) {
        let (FlowEnds::Idle { after, .. }, Some(table)) = (self.ends, &mut self.table) else { return };
        while let Some((seen, size)) = table.take_idle(now.since(after)) {
            self.actuator.complete(seen + after, size);
        }
    }

    /// Senses a packet with payload that has been queued.
    #[inline]
    fn sense(&mut self, flow: u32, sent: u32, payload: u32, marked: bool, now: Time) {
        let completed = match &mut self.table {
            None => marked.then(|| sent.saturating_add(payload)),
            Some(table) => {
                if let Some(size) = table.count(flow, payload, now) {
                    self.actuator.complete(now, size);
                }
                let fin = marked && matches!(self.ends, FlowEnds::Fin { .. });
                if fin { table.end(flow) } else { None }
            }
        };
        if let Some(size) = completed {
            self.actuator.complete(now, size);
        }
    }

    /// Returns the thresholds, and the flows that they follow.
    pub fn actuator(&self) -> &Actuator {
        &self.actuator
    }
}

impl PortScheduler for AwafsPort {
    pass_on!(self, self.bank => dequeue, limits, backlog_bytes, waiting_in, queues);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let now = context.now;
        self.catch_up(metas, now);
        let Meta { flow, len, tag, kind, .. } = metas[packet as usize];
        if self.actuator.chooses() {
            self.actuator.note(self.line.serialise(len));
        }
        let queued_before = self.bank.backlog_bytes();
        if kind != Kind::Data {
            return self.bank.enqueue_in(0, metas, packet, context).with_queued_before(queued_before);
        }
        let sent = self.table.as_ref().map_or(tag.sent(), |table| table.sent(flow));
        let verdict = self.bank.enqueue_in(self.actuator.choose(sent), metas, packet, context);
        if verdict.is_accepted() {
            let payload = u32::from(len.saturating_sub(self.header));
            self.sense(flow, sent, payload, tag.ends_flow(), now);
        }
        verdict.with_queued_before(queued_before)
    }

    /// The table's bound is its own.
    fn reserve(&mut self, _packets: usize) {
        if let Some(table) = &mut self.table {
            table.reserve();
        }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        self.actuator.observe(see);
    }
}
