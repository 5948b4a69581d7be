//! QCluster (Yang et al.): packets of similar weight share a queue, and the queues adapt to the traffic.
//!
//! A port's queues form groups. Flows with a special property have the first groups, the others the last (§3.2, §4); the
//! host's tagger writes which group a packet is for ([`crate::Tag::with_group`]). Within a group the packet's weight
//! decides: the bytes that its flow has sent, counted here in a [`SchedulingSketch`], or the number that the host wrote.
//! The first group that holds a packet sends; within it strict priority, or weighted round robin.
//!
//! Packets without payload go to the first queue and are not counted, as in the authors' code. A packet is counted when it
//! arrives, and stays counted if the port then turns it away: a switch counts before its memory decides. If disorder
//! avoidance sends a packet to a queue of another group, its weight counts in neither group.

pub mod sketch;
pub mod weights;

use sketch::{Keep, SchedulingSketch, SketchParams};
use weights::{QueueWeights, WeightParams};

use crate::admission::Admission;
use crate::bank::FifoBank;
use crate::discipline::{Discipline, Group};
use crate::marker::Marker;
use crate::meta::{Kind, Meta};
use crate::ports::presence::Presence;
use crate::readings::{Gauge, Reading};
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};
use crate::units::Time;

/// What a packet's weight is (Table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Bytes or packets that its flow has sent in the message, this packet included; counted here.
    Sent,
    /// The number that the host wrote: bytes remaining, size, time per packet left.
    Number,
}

/// What the sketch treats as one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKey {
    /// The packets that a flow sends without a gap: a switch cannot know more.
    Flow,
    /// The flow and the number that the host wrote: exact messages.
    FlowAndNumber,
    /// The number that the host wrote: all flows of one coflow together.
    Number,
}

/// What the sketch counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes with headers.
    Bytes,
    /// Packets.
    Packets,
}

/// Packet disorder avoidance (§3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Avoidance {
    /// None.
    Off,
    /// By the sketch's queue IDs, within the flowlet gap.
    Timed,
    /// The same; in addition, packets are counted that may still overtake one of their own flow.
    Audited,
    /// By the exact content of the port.
    Oracle,
}

/// A group of queues for flows of one property.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterGroup {
    /// The weight by which its packets are clustered.
    pub weight: Weight,
    /// How its queue weights and thresholds are kept; they also give the number of queues.
    pub weights: WeightParams,
    /// What a flow's packets must not do within a flowlet.
    pub keep: Keep,
    /// How its queues share the group's turns.
    pub service: Service,
}

/// How the queues of a group share its turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// The first that holds a packet sends.
    StrictPriority,
    /// In turn, in inverse proportion to the queue weights.
    InverseWeights,
    /// In turn, this many packets of each; one entry per queue, each at least 1.
    Shares(Vec<u32>),
}

/// A port's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterParams {
    /// By the group that hosts write; groups beyond the last map to it. At least 1; together at most 64 queues.
    pub groups: Vec<ClusterGroup>,
    /// The sketch that counts what flows have sent, and where it went.
    pub sketch: SketchParams,
    /// What the sketch treats as one message.
    pub key: MessageKey,
    /// What it counts.
    pub unit: Unit,
    /// Packet disorder avoidance.
    pub avoidance: Avoidance,
}

impl PortRules for ClusterParams {
    type Port = ClusterPort;

    fn build(&self, site: &PortSite) -> ClusterPort {
        ClusterPort::new(self, site.admission, site.marker)
    }

    fn sketch_bytes(&self) -> u64 {
        self.sketch.bytes()
    }
}

/// The state of a group.
struct Cluster {
    /// Its first queue.
    first: usize,
    weight: Weight,
    weights: QueueWeights,
    keep: Keep,
    inverse: bool,
    period: Time,
    /// When its weights are updated next.
    next: Time,
}

impl Cluster {
    /// Runs the updates that are due, before the packet that arrives at `now` is counted. Returns whether there was one.
    #[inline]
    fn update(&mut self, now: Time) -> bool {
        let due = now >= self.next;
        if due {
            let periods = now.since(self.next).0 / self.period.0 + 1;
            self.weights.update(periods);
            self.next = Time(self.next.0 + periods * self.period.0);
        }
        due
    }
}

/// A port that clusters its packets.
pub struct ClusterPort {
    bank: FifoBank,
    groups: Vec<Cluster>,
    sketch: SchedulingSketch,
    key: MessageKey,
    unit: Unit,
    avoidance: Avoidance,
    presence: Option<Presence>,
    overtakes: u64,
}

impl ClusterPort {
    /// Builds an empty port.
    ///
    /// # Panics
    /// If the parameters violate their documentation; set-up checks them.
    pub fn new(params: &ClusterParams, admission: Admission, marker: Marker) -> ClusterPort {
        let mut queues = 0;
        let mut groups = Vec::new();
        let mut service = Vec::new();
        for group in &params.groups {
            let weights = QueueWeights::new(&group.weights);
            let size = weights.means().len();
            let shares = match &group.service {
                Service::StrictPriority => None,
                Service::InverseWeights => Some(weights.inverse().collect()),
                Service::Shares(shares) => Some(shares.clone()),
            };
            service.push(Group { queues: size, weights: shares });
            let period = group.weights.period;
            groups.push(Cluster {
                first: queues,
                weight: group.weight,
                weights,
                keep: group.keep,
                inverse: group.service == Service::InverseWeights,
                period,
                next: period,
            });
            queues += size;
        }
        ClusterPort {
            bank: FifoBank::new(queues, admission, marker, Discipline::Groups(service)),
            groups,
            sketch: SchedulingSketch::new(params.sketch),
            key: params.key,
            unit: params.unit,
            avoidance: params.avoidance,
            presence: matches!(params.avoidance, Avoidance::Audited | Avoidance::Oracle).then(|| Presence::new(queues)),
            overtakes: 0,
        }
    }

    /// Counts an arriving packet and returns its queue: the work of a switch per packet.
    #[inline]
    pub fn classify(&mut self, meta: &Meta, now: Time) -> usize {
        if meta.kind != Kind::Data {
            return 0;
        }
        let index = usize::from(meta.tag.group()).min(self.groups.len() - 1);
        let cluster = &mut self.groups[index];
        if cluster.update(now) && cluster.inverse {
            self.bank.set_weights(cluster.first, cluster.weights.inverse());
        }
        let key = match self.key {
            MessageKey::Flow => u64::from(meta.flow),
            MessageKey::FlowAndNumber => u64::from(meta.flow) << 32 | u64::from(meta.tag.number()),
            MessageKey::Number => u64::from(meta.tag.number()),
        };
        let amount = if self.unit == Unit::Bytes { u32::from(meta.len) } else { 1 };
        let visit = self.sketch.count(key, amount, now);
        let weight = if cluster.weight == Weight::Sent { visit.weight } else { meta.tag.number() };
        let wanted = (cluster.first + cluster.weights.choose(weight)) as u8;
        let queue = match (self.avoidance, &self.presence) {
            (Avoidance::Oracle, Some(presence)) => cluster.keep.order(presence.lowest(meta.flow), wanted),
            (Avoidance::Audited, Some(presence)) => {
                let queue = self.sketch.keep_order(&visit, wanted, cluster.keep);
                self.overtakes += u64::from(cluster.keep.order(presence.lowest(meta.flow), queue) != queue);
                queue
            }
            (Avoidance::Timed, _) => self.sketch.keep_order(&visit, wanted, cluster.keep),
            _ => wanted,
        };
        let queue = usize::from(queue);
        let within = queue.wrapping_sub(cluster.first);
        if within < cluster.weights.means().len() {
            cluster.weights.note(within, weight);
        }
        queue
    }

    /// Returns the number of packets queued where they may overtake one of their own flow, if that is audited.
    pub fn overtakes(&self) -> u64 {
        self.overtakes
    }

    /// Returns the queue weights of each group.
    pub fn weights(&self) -> impl Iterator<Item = &QueueWeights> {
        self.groups.iter().map(|cluster| &cluster.weights)
    }
}

impl PortScheduler for ClusterPort {
    pass_on!(self, self.bank => limits, backlog_bytes, waiting_in, queues);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let queued_before = self.bank.backlog_bytes();
        let queue = self.classify(&metas[packet as usize], context.now);
        let verdict = self.bank.enqueue_in(queue, metas, packet, context);
        if let (Some(presence), true) = (&mut self.presence, verdict.is_accepted()) {
            presence.add(metas[packet as usize].flow, queue as u8);
        }
        verdict.with_queued_before(queued_before)
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        let packet = self.bank.dequeue(metas, context)?;
        if let Some(presence) = &mut self.presence {
            let meta = &metas[packet as usize];
            presence.remove(meta.flow, meta.queue);
        }
        Some(packet)
    }

    fn reserve(&mut self, packets: usize) {
        if let Some(presence) = &mut self.presence {
            presence.reserve(packets);
        }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        for cluster in &self.groups {
            let weights = &cluster.weights;
            let mut each = |name, values: &mut dyn Iterator<Item = f64>| {
                for (queue, value) in values.enumerate() {
                    see(Reading::Gauge(Gauge { name, queue: cluster.first + queue, value }));
                }
            };
            each("threshold", &mut weights.thresholds().iter().map(|&threshold| f64::from(threshold)));
            each("queue weight", &mut weights.means().iter().copied());
            each("alpha", &mut weights.alphas().iter().copied());
            each("packets counted", &mut weights.packets().iter().map(|&packets| packets as f64));
        }
        let updates = self.groups.iter().map(|cluster| cluster.weights.updates());
        see(Reading::Ticks { name: "thresholds of ports", ticks: updates.max().unwrap_or(0) });
        see(Reading::Count { name: "overtakes", count: self.overtakes });
    }
}
