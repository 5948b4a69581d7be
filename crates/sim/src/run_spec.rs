//! The specification of a run: everything that it depends on, what it measures, its progress, and its errors.

use std::ops::ControlFlow;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_core::coflow::{Announced, Announcements};
use flowsieve_workload::{ClosedLoop, Collectives, Flow, Predict, Queries};

use crate::scheme::Scheme;
use crate::topology::Fabric;

/// Everything that one run depends on.
#[derive(Clone, Copy)]
pub struct RunSpec<'a> {
    /// The network.
    pub fabric: &'a Fabric,
    /// The behaviour of its hosts and switches.
    pub scheme: &'a Scheme,
    /// Bytes that a packet takes on the wire in addition to its length, but not in buffers: preamble and gap.
    pub wire_overhead: u16,
    /// The flows to send.
    pub flows: Flows<'a>,
    /// Predicts the sizes of messages as they begin, if predictions are used.
    pub predictions: Option<&'a Arc<dyn Predict>>,
    /// The flows of coflows, for controllers that hear of a coflow's later flows with its first one.
    pub announcements: Option<&'a Arc<Announcements>>,
    /// Which flows count, and when the run is over.
    pub measure: Measure,
    /// When a flow ends.
    pub fct_end: FctEnd,
    /// Derives every random stream of the network.
    pub seed: u64,
    /// The run stops here, even if flows are left.
    pub max_time: Option<Time>,
    /// How the fabric is cut; does not affect the result.
    pub partitioning: Partitioning,
    /// The run ends if it takes more packet-hops: it would go on for ever, or far longer than expected.
    pub most_packet_hops: Option<u64>,
    /// End the run after this many consecutive timeouts (and 20 per unfinished message) without an acknowledgement.
    /// Ignored if a host's endpoint does not report acknowledgements.
    pub fruitless_timeouts: Option<u64>,
    /// End the run if more flows than this are under way at once while flows arrive until others have ended.
    pub most_under_way: Option<u64>,
}

impl<'a> RunSpec<'a> {
    /// Returns the run of these flows until the fabric is empty, each until it has arrived, from seed 1 and without limits.
    pub fn new(fabric: &'a Fabric, scheme: &'a Scheme, flows: Flows<'a>) -> RunSpec<'a> {
        RunSpec {
            fabric,
            scheme,
            wire_overhead: 0,
            flows,
            predictions: None,
            announcements: None,
            measure: Measure::All,
            fct_end: FctEnd::Arrival,
            seed: 1,
            max_time: None,
            partitioning: Partitioning::Whole,
            most_packet_hops: None,
            fruitless_timeouts: None,
            most_under_way: None,
        }
    }
}

/// Where flows come from.
#[derive(Clone, Copy)]
pub enum Flows<'a> {
    /// These flows, by start. The function returns them from the first; it is called again if a run is repeated with
    /// wider keys.
    Given(&'a dyn Fn() -> Box<dyn Iterator<Item = Flow> + 'a>),
    /// Each flow waits until another one of its sender is acknowledged. So every transport must have ACKs.
    Closed {
        /// Which flow follows which.
        flows: &'a ClosedLoop,
        /// No flow starts from here on.
        until: Time,
    },
    /// Queries one after the other, from the first instant of the run, and given flows as long as there are queries.
    /// The run ends with the [`crate::QUERY_EPOCH`] in which the last query ends. Every flow counts, so the measure is
    /// [`Measure::All`], and no transport may lose a flow.
    Queries {
        /// The queries; their flows have the least numbers.
        queries: &'a Queries,
        /// As in [`Flows::Given`], with or without an end; with numbers from [`Queries::messages`] on.
        beside: &'a dyn Fn() -> Box<dyn Iterator<Item = Flow> + 'a>,
    },
    /// Collectives, whose messages follow others, from the first instant of the run. The measure is [`Measure::All`], and no
    /// transport may lose a flow.
    Collectives(&'a Collectives),
    /// These flows, which may go on without end, until some of them have finished. The run ends with the
    /// [`crate::QUERY_EPOCH`] in which the last of those finishes. Every flow counts, so the measure is
    /// [`Measure::All`].
    Until {
        /// As in [`Flows::Given`], with or without an end.
        flows: &'a dyn Fn() -> Box<dyn Iterator<Item = Flow> + 'a>,
        /// The numbers of the flows that must finish, rising.
        waited_for: &'a [u32],
    },
}

/// Collects the flows among these that belong to coflows, for [`RunSpec::announcements`].
pub fn announcements(flows: impl Iterator<Item = Flow>) -> Arc<Announcements> {
    let announced = |flow: Flow| {
        let (message, from, to, bytes) = (flow.id, flow.src, flow.dst, flow.bytes);
        Some(Announced { coflow: flow.coflow?, message, from, to, bytes })
    };
    Arc::new(Announcements::new(flows.filter_map(announced).collect()))
}

impl Flows<'_> {
    /// Returns whether each flow waits until another one has ended.
    pub(crate) fn are_closed(self) -> bool {
        matches!(self, Flows::Closed { .. } | Flows::Collectives(_))
    }
}

/// Which flows count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// All flows; the run is over when the fabric is empty.
    All,
    /// Flows that start in `from..to`; further flows arrive until all of these have finished.
    Window {
        /// Start of the window.
        from: Time,
        /// End of the window.
        to: Time,
    },
}

/// When a flow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FctEnd {
    /// When the sender has the ACK of the last byte. An open-loop flow still ends with the arrival.
    Ack,
    /// When the last byte is at the receiver.
    Arrival,
}

/// How the fabric is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitioning {
    /// Not cut: the fastest on one core.
    Whole,
    /// One partition per rack and per switch above the racks.
    Racks,
    /// By stages: hosts, the upward halves of switches, the top, the downward halves. A run without [stages](crate::stages)
    /// is not cut.
    Stages {
        /// Partitions of a stage, at least one; at most one for each host.
        groups: u32,
        /// Threads that share the groups, at least one; at most one for each group.
        threads: u32,
        /// The packet-hops that a meeting of threads must save, on average over some rounds. While it saves fewer, one
        /// thread runs all groups. 0: threads always meet.
        worth: u64,
    },
}

/// A sensible [`Partitioning::Stages::worth`]: packet-hops that take about 30 us, the time of a meeting on a machine with
/// other work.
pub const WORTH_A_MEETING: u64 = 128;

/// Why a run cannot be cut into [stages](Partitioning::Stages). The words complete "one thread, because …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStages {
    /// A departure from one port matters to the others.
    #[error("the ports of a switch share memory")]
    SharedMemory,
    /// A program may look at all ports of its switch at any time.
    #[error("switches have programs")]
    Programs,
    /// A link's random numbers are drawn where its packets arrive, which would be at two places: both halves of a switch.
    #[error("links up to switches below the top lose packets")]
    Losses,
    /// Packets that are under way when routes change may have to go up again.
    #[error("links fail during the run")]
    Events,
    /// A departure is an event of the link's far end.
    #[error("switches cut through")]
    CutThrough,
    /// A pause acts on both ends of a line.
    #[error("switches pause lines")]
    Pauses,
    /// A packet that a switch sends back goes up after it went down.
    #[error("switches send packets back")]
    Returns,
    /// There is nothing between the hosts.
    #[error("the fabric has no switch")]
    NoSwitch,
    /// Packets meet in circles.
    #[error("packets in this fabric go up again after they went down, or along a tier")]
    Valley,
    /// Both halves of a switch would draw from its random numbers.
    #[error("switches choose among several ways both up and down")]
    ChoosesBothWays,
    /// A round would have no length.
    #[error("the links of hosts have no delay")]
    NoDelay,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packet-hops so far: packets that crossed a link.
    pub packet_hops: u64,
    /// Number of finished flows.
    pub finished: u64,
}

/// Ignores progress and lets the run go on.
pub fn go_on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Why a run cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// A flow that this fabric cannot carry.
    #[error("flow {flow} cannot be sent: {why}")]
    Flow {
        /// Its number.
        flow: u32,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The run has no flows.
    #[error("no flow starts {0}")]
    NoFlows(&'static str),
    /// With a measuring window the queues would grow without bound.
    #[error(
        "the offered load of the {class} links is {load:.3} of their rate, ACKs and framing included: with measure = \"window\" it must stay below 1"
    )]
    Overload {
        /// Class of links.
        class: String,
        /// Share of the rate.
        load: f64,
    },
    /// A closed loop would never continue.
    #[error("in a closed loop a flow follows the last ACK of another, but class {class} of this scheme has no ACKs")]
    NoAcks {
        /// Class of flows.
        class: usize,
    },
    /// A query would never end.
    #[error(
        "a query waits until all its answers have arrived, but class {class} of this scheme does not retransmit lost packets"
    )]
    MayLose {
        /// Class of flows.
        class: usize,
    },
    /// A collective would never end.
    #[error(
        "a collective waits until its messages have arrived, but class {class} of this scheme does not retransmit lost \
         packets"
    )]
    CollectiveMayLose {
        /// Class of flows.
        class: usize,
    },
    /// A query or a collective begins when another has ended, inside or outside a window.
    #[error("queries or collectives in a measuring window; expected that all flows count")]
    QueriesInWindow,
    /// The controller would have to hear of events without a delay.
    #[error("the controller \"{controller}\" hears of events as they happen, so its delay must be above zero")]
    HearsAtOnce {
        /// Its name.
        controller: &'static str,
    },
    /// The run takes far more packet-hops than expected.
    #[error(
        "after {packet_hops} packet-hops and {events} events the run goes on; {most} packet-hops are ten times the \
         expected number: {doing}; use --no-guard to continue anyway"
    )]
    Runaway {
        /// Packet-hops so far.
        packet_hops: u64,
        /// Events so far.
        events: u64,
        /// The most packet-hops that it may take.
        most: u64,
        /// What is still going on: a flow, a port, timers.
        doing: String,
    },
    /// The caller of the run stopped it.
    #[error("stopped")]
    Stopped,
    /// Timers fire, but nothing is acknowledged.
    #[error(
        "{timeouts} timeouts fired since {since} without an acknowledgement: {doing}; use --no-guard to continue anyway"
    )]
    Fruitless {
        /// Number of timeouts.
        timeouts: u64,
        /// Since when nothing was acknowledged.
        since: Time,
        /// What is still going on: a flow, a port, timers.
        doing: String,
    },
    /// More flows are under way at once than any run needs.
    #[error(
        "{under_way} flows are under way at once at {now}, and more arrive than end; \
         {doing}; offer less, or use --no-guard to continue anyway"
    )]
    Crowd {
        /// Flows that have begun and not ended.
        under_way: u64,
        /// The simulated time.
        now: Time,
        /// What is still going on: a flow, a port.
        doing: String,
    },
    /// The run does not end within the time that there is.
    #[error(
        "the run would go on after the end of simulated time, 2^64 picoseconds (213 days); expected flows that follow each other \
         sooner, fewer flows, or `max_time` in [run]"
    )]
    BeyondTime,
    /// The receiver of the trace stopped the run.
    #[error("the packet trace could not be kept")]
    TraceAbandoned,
    /// An instant or source does not fit: repeat with wider keys.
    #[error("the run is too long or the fabric too large for narrow event keys")]
    KeyTooNarrow,
}
