//! The timeline of a flow: where its time went, and what its packets waited for, hop by hop.

mod text;

pub use text::{Kind, Part};

use serde::Serialize;

/// What was sent ahead of a packet that waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ahead {
    /// The flow; none for ACKs and other control packets of all flows.
    pub flow: Option<u32>,
    /// Whether they are ACKs.
    pub acks: bool,
    /// How many packets.
    pub packets: u32,
}

/// A packet of the flow on its way over a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crossing {
    /// The link's name.
    pub link: String,
    /// When the line began to send it, in ps from the flow's start.
    pub sent_ps: u64,
    /// How long it had waited before that, in ps; none at the host, whose transport keeps no instant of arrival.
    pub waited_ps: Option<u64>,
    /// What the line sent meanwhile, the most packets first.
    pub behind: Vec<Ahead>,
    /// The port's queue that held it.
    pub queue: Option<u8>,
    /// It was marked when it left.
    pub marked: bool,
    /// Whose packets made most of the wait.
    #[serde(skip)]
    pub cause: Cause,
    /// The far end's name.
    #[serde(skip)]
    pub to: String,
    /// When the far end may send it on, in ps from the flow's start.
    #[serde(skip)]
    pub crossed_ps: u64,
    /// The link's number.
    #[serde(skip)]
    pub number: usize,
    /// The packet's length in bytes.
    #[serde(skip)]
    pub length: u16,
}

/// Behind whose packets a packet waited: of those, most bytes were sent meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// None were sent meanwhile, or which is not known.
    Unknown,
    /// ACKs and other control packets.
    Control,
    /// Those of its own flow.
    Own,
    /// Those of other flows.
    Others,
}

/// How a packet's way ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It arrived at the receiver: when, in ps from the flow's start.
    Arrived(u64),
    /// It was lost at a link: which, and when, in ps from the flow's start.
    Lost(String, u64),
    /// The run ended before.
    UnderWay,
}

/// A packet of the flow, each time that it was sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sent {
    /// Its segment's number on the connection.
    pub segment: u32,
    /// It was sent before.
    pub again: bool,
    /// Link by link.
    pub crossings: Vec<Crossing>,
    /// How its way ended.
    pub ended: Ended,
}

impl Sent {
    /// How long it waited at all links but the host's, in ps.
    pub fn waited_ps(&self) -> u64 {
        self.crossings.iter().filter_map(|crossing| crossing.waited_ps).sum()
    }
}

/// A flow, followed through a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// The run: scheme, load, what else is swept, seed.
    pub run: String,
    /// The flow's number.
    pub flow: u32,
    /// Why it is this one, where it was not asked for by its number.
    pub picked: Option<String>,
    /// Its transport does not describe its packets: they have numbers in the order in which they were sent, and none is known to have
    /// been sent before.
    pub own_transport: bool,
    /// Its payload.
    pub bytes: u64,
    /// Its start.
    pub start_ps: u64,
    /// Its completion time; none for an unfinished one.
    pub fct_ps: Option<u64>,
    /// Its ideal.
    pub ideal_ps: u64,
    /// Retransmission timeouts, and silences after which the receiver asked again.
    pub timeouts: u32,
    /// The wait for these, in ps, as far as it is known.
    pub timers_ps: u64,
    /// Names of its ends.
    pub ends: (String, String),
    /// Each packet that was sent, in that order.
    pub packets: Vec<Sent>,
    /// Where the time went until its last packet had arrived; none if not all arrived.
    pub time: Option<Spent>,
    /// From then on what was sent ahead of its packets was not kept, from the flow's start.
    pub kept_until_ps: Option<u64>,
}

/// Where the time of a flow went, along the way of the packet that completed it, in ps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    /// The segment of that packet.
    pub segment: u32,
    /// The host's line sent the flow's own packets before.
    pub own_ps: u64,
    /// The host's line sent packets of others.
    pub others_ps: u64,
    /// These.
    pub others: Vec<Ahead>,
    /// The host's line was idle: the flow waited for an ACK or a timer, or its scheme let it wait.
    pub idle_ps: u64,
    /// It waited at switches: link and time.
    pub waited: Vec<(String, u64)>,
    /// It was on lines and on the way.
    pub under_way_ps: u64,
}
