//! What a run is asked for: everything it depends on, what it measures, how far it is, and why it cannot run.

use std::ops::ControlFlow;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_core::coflow::{Announced, Announcements};
use flowsieve_schemes::Scheme;
use flowsieve_workload::{ClosedLoop, Flow, Predict, Queries};

use flowsieve_fabric::topology::Fabric;

/// Everything that one run depends on.
#[derive(Clone, Copy)]
pub struct RunSpec<'a> {
    /// The network.
    pub fabric: &'a Fabric,
    /// What its hosts and switches do.
    pub scheme: &'a Scheme,
    /// Bytes that a packet takes on the wire beside its length, and not in buffers: preamble and gap.
    pub wire_overhead: u16,
    /// What is sent.
    pub flows: Flows<'a>,
    /// Who predicts the sizes of messages as they begin, where anybody does.
    pub predictions: Option<&'a Arc<dyn Predict>>,
    /// The flows of coflows, for controllers that hear of a coflow's later flows with the first one.
    pub announcements: Option<&'a Arc<Announcements>>,
    /// Which flows count, and when the run is over.
    pub measure: Measure,
    /// When a flow ends.
    pub fct_end: FctEnd,
    /// Derives every random stream of the network.
    pub seed: u64,
    /// The run stops here whatever is left.
    pub max_time: Option<Time>,
    /// How the fabric is cut; without influence on the result.
    pub partitioning: Partitioning,
    /// A run that takes more is ended: it would go on for ever, or for far longer than anybody expects.
    pub most_packet_hops: Option<u64>,
    /// A run is ended in which so many timeouts fire in a row, and 20 for each unfinished message, while nothing is
    /// acknowledged; nobody looks where a host's endpoint does not tell what is.
    pub fruitless_timeouts: Option<u64>,
}

/// Where flows come from.
#[derive(Clone, Copy)]
pub enum Flows<'a> {
    /// These, by start, from the first; called again when a run has to be repeated with wider keys.
    Given(&'a dyn Fn() -> Box<dyn Iterator<Item = Flow> + 'a>),
    /// Each waits for another of its sender to be acknowledged; so every transport must have ACKs.
    Closed {
        /// Which follows which.
        flows: &'a ClosedLoop,
        /// None starts from here on.
        until: Time,
    },
    /// Queries one after the other, from the run's first instant on, and given flows for as long as there are queries: until
    /// the [`crate::QUERY_EPOCH`] is over in which the last one ends. Every flow counts, so that the measure is
    /// [`Measure::All`], and no transport may lose any.
    Queries {
        /// They have the least numbers.
        queries: &'a Queries,
        /// As in [`Flows::Given`], with or without an end; with numbers from [`Queries::messages`] on.
        beside: &'a dyn Fn() -> Box<dyn Iterator<Item = Flow> + 'a>,
    },
    /// These, which may go on without end, until some of them have finished: until the [`crate::QUERY_EPOCH`] is over in which
    /// the last of those does. Every flow counts, so that the measure is [`Measure::All`].
    Until {
        /// As in [`Flows::Given`], with or without an end.
        flows: &'a dyn Fn() -> Box<dyn Iterator<Item = Flow> + 'a>,
        /// The numbers of those for which the others wait, rising.
        waited_for: &'a [u32],
    },
}

/// The flows among these that belong to coflows, for [`RunSpec::announcements`].
pub fn announcements(flows: impl Iterator<Item = Flow>) -> Arc<Announcements> {
    let announced = |flow: Flow| {
        let (message, from, to, bytes) = (flow.id, flow.src, flow.dst, flow.bytes);
        Some(Announced { coflow: flow.coflow?, message, from, to, bytes })
    };
    Arc::new(Announcements::new(flows.filter_map(announced).collect()))
}

impl Flows<'_> {
    pub(crate) fn are_closed(self) -> bool {
        matches!(self, Flows::Closed { .. })
    }
}

/// Which flows count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// All; the run is over when the fabric is empty.
    All,
    /// Those that start in `from..to`; flows go on arriving until all of these have finished.
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
    /// The sender has the ACK of the last byte. An open-loop flow ends with the arrival all the same.
    Ack,
    /// The last byte is at the receiver.
    Arrival,
}

/// How the fabric is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitioning {
    /// Not at all: the fastest on one core.
    Whole,
    /// A partition for each rack and each switch above.
    Racks,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Flows that finished.
    pub finished: u64,
}

/// What runs tell their progress to where nobody listens.
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
    /// There is nothing to run.
    #[error("no flow starts {0}")]
    NoFlows(&'static str),
    /// Under a measuring window the queues would grow without end.
    #[error(
        "the offered load of the {class} links is {load:.3} of their rate, ACKs and framing included: with measure = \"window\" it must stay below 1"
    )]
    Overload {
        /// Class of links.
        class: String,
        /// Share of the rate.
        load: f64,
    },
    /// A closed loop would never go on.
    #[error("in a closed loop a flow follows the last ACK of another, and class {class} of this scheme has no ACKs")]
    NoAcks {
        /// Class of flows.
        class: usize,
    },
    /// A query would never end.
    #[error(
        "a query waits until all of its answers have arrived, and class {class} of this scheme sends nothing again that is lost"
    )]
    MayLose {
        /// Class of flows.
        class: usize,
    },
    /// Queries begin when others have ended, in or out of a window.
    #[error("queries in a measuring window; expected that all flows count")]
    QueriesInWindow,
    /// What happens would have to be heard while it happens.
    #[error("the controller \"{controller}\" hears of events as they happen: that takes a delay above zero")]
    HearsAtOnce {
        /// Its name.
        controller: &'static str,
    },
    /// It takes far more than was expected.
    #[error(
        "after {packet_hops} packet-hops and {events} events it goes on, and {most} packet-hops are ten times what was expected: {doing}; \
         --no-guard lets it go on"
    )]
    Runaway {
        /// So far.
        packet_hops: u64,
        /// So far.
        events: u64,
        /// The most that it may take.
        most: u64,
        /// What goes on: a flow, a port, timers.
        doing: String,
    },
    /// Whoever watched it wanted no more of it.
    #[error("stopped")]
    Stopped,
    /// Nothing goes on.
    #[error(
        "{timeouts} timeouts fired since {since}, and nothing was acknowledged meanwhile: {doing}; --no-guard lets it go on"
    )]
    Fruitless {
        /// How many.
        timeouts: u64,
        /// Since when.
        since: Time,
        /// What goes on: a flow, a port, timers.
        doing: String,
    },
    /// Whoever took the trace wants no more of the run.
    #[error("the packet trace could not be kept")]
    TraceAbandoned,
    /// Repeat with wider keys.
    #[error("the run is too long or the fabric too large for narrow event keys")]
    KeyTooNarrow,
}
