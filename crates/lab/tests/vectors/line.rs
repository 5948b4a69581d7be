//! The lines of a file of vectors. Times are picoseconds from the start of a case, sizes are bytes. A field that is absent has
//! its usual value: `data`, no mark, no victims, nothing drawn, no coflow, no shared memory.

use flowsieve_core::Meta;
use serde::Serialize;

/// The name of the format, in every first line.
pub(super) const FORMAT: &str = "flowsieve-vectors";

/// The version of the format.
pub(super) const VERSION: u32 = 1;

/// A line.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(super) enum Line {
    /// A case begins, with an empty port. A file has one or several.
    Begin(Begin),
    /// A packet arrives.
    Arrive(Arrive),
    /// The line takes a packet.
    Leave(Leave),
    /// The port's own parameters are from now on others, or are told for the first time. A port that adapts them by itself
    /// must have changed them; one whose parameters are set from outside gets them.
    Parameters(Parameters),
    /// A controller's table arrives.
    Table(TableArrives),
}

/// What a case is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Begin {
    /// [`FORMAT`].
    pub(super) format: String,
    /// [`VERSION`].
    pub(super) version: u32,
    /// The scheme's name in its experiment.
    pub(super) scheme: String,
    /// The port's place: `nic`, `leaf`, `spine` or `core`.
    pub(super) place: String,
    /// The rate of the port's line, in bit/s.
    pub(super) rate_bps: u64,
    /// Bytes that a packet takes on the line in addition to its length: preamble and gap.
    pub(super) overhead: u32,
    /// Bytes of the headers of a packet with payload, part of its length.
    pub(super) header: u16,
    /// Bytes of the memory that the port shares with others of its switch, of which it is the only user here; `None`: it
    /// shares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<u64>,
    /// How many queues it has.
    pub(super) queues: u16,
    /// The seed of the packets and of the port's random numbers.
    pub(super) seed: u64,
}

/// A packet arrives.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Arrive {
    /// The packet as a port sees it, with what the fields below say.
    #[serde(skip)]
    pub(super) meta: Meta,
    /// When, in ps.
    pub(super) at: u64,
    /// Its number: packets are numbered from 0 in the order of arrival.
    pub(super) packet: u32,
    /// The key of its flow.
    pub(super) flow: u32,
    /// Its length with headers, in bytes.
    pub(super) len: u16,
    /// The eight bits of its tag.
    pub(super) priority: u8,
    /// The 32 bits of its tag.
    pub(super) rank: u32,
    /// What it is for: `data`, `ack` or `control`.
    #[serde(skip_serializing_if = "is_data")]
    pub(super) kind: &'static str,
    /// Whether its transport understands marks.
    pub(super) ecn: bool,
    /// The coflow of its message, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) coflow: Option<u32>,
    /// Whether the port takes it.
    pub(super) queued: bool,
    /// The queue that it is for, also of a packet that is dropped.
    pub(super) queue: u8,
    /// Whether the port marks it now.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) marked: bool,
    /// The packets that make room for it, and are dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) victims: Vec<Victim>,
    /// The random numbers that the port drew for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) drawn: Vec<u64>,
}

/// A packet that made room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Victim {
    /// Its number.
    pub(super) packet: u32,
    /// The queue that held it.
    pub(super) queue: u8,
}

/// The line takes a packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Leave {
    /// When, in ps.
    pub(super) at: u64,
    /// Its number.
    pub(super) packet: u32,
    /// The queue that held it.
    pub(super) queue: u8,
    /// Whether the port marks it now.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) marked: bool,
    /// The random numbers that the port drew for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) drawn: Vec<u64>,
}

/// The port's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Parameters {
    /// When they are read: after what the line above says, in ps.
    pub(super) at: u64,
    /// Those that have changed; in a case's first such line all.
    pub(super) values: Vec<Parameter>,
}

impl Parameters {
    /// Takes over the values of a later line.
    pub(super) fn update(&mut self, later: &Parameters) {
        self.at = later.at;
        for new in &later.values {
            match self.values.iter_mut().find(|old| old.name == new.name && old.queue == new.queue) {
                Some(old) => old.value = new.value,
                None => self.values.push(new.clone()),
            }
        }
    }
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Parameter {
    /// Its name, with its unit if it has one.
    pub(super) name: String,
    /// The queue that it belongs to; a threshold belongs to the queue above it.
    pub(super) queue: u32,
    /// Its value.
    pub(super) value: f64,
}

/// A controller's table arrives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct TableArrives {
    /// When, in ps.
    pub(super) at: u64,
    /// Its name.
    pub(super) name: String,
    /// Counts the controller's tables, from 1.
    pub(super) version: u64,
    /// (key, value), keys ascending.
    pub(super) values: Vec<(u32, u64)>,
}

fn is_data(kind: &&str) -> bool {
    *kind == "data"
}

fn is_false(flag: &bool) -> bool {
    !flag
}
