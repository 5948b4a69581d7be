//! Conformance vectors: what a port decides, packet by packet, as lines of JSON.
//!
//! A port is somewhere else once it is a switch's, a kernel program's or P4's. Vectors say what it must do there: they
//! list the calls of a port's scheduler in their order, each with its instant and what came of it. [`record`] makes them
//! from core's scheduler alone, [`Reader`] reads them, and [`replay`] holds a port against them. The format is in
//! docs/reference/vectors.md.
//!
//! What a device can be held against differs. One that is called packet by packet (a queueing discipline of the kernel)
//! gets every call. One that has a line of its own (a switch) gets the arrivals, and its departures have to be those of the
//! vectors, since they are the calls of a port with a line of the stated rate.

mod read;
mod record;
mod replay;
mod traffic;

use flowsieve_core::Kind;
use flowsieve_core::meta::Ecn;
use serde::{Deserialize, Serialize};

pub use read::{LIMITS, Limits, Problem, Reader, VectorError};
pub use record::{Case, record};
pub use replay::{Conforms, Decision, Differs, Field, Memory, Replayed, replay};
pub use traffic::Traffic;

/// The name of the format, in every first line.
pub const FORMAT: &str = "flowsieve-vectors";

/// The version of the format.
pub const VERSION: u32 = 1;

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Line {
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The scheme's name in its experiment.
    pub scheme: String,
    /// The port's place: `nic`, `leaf`, `spine` or `core`.
    pub place: String,
    /// The rate of the port's line, in bit/s.
    pub rate_bps: u64,
    /// Bytes that a packet takes on the line in addition to its length: preamble and gap.
    pub overhead: u32,
    /// Bytes of the headers of a packet with payload, part of its length.
    pub header: u16,
    /// Bytes of the memory that the port shares with others of its switch, of which it is the only user here; `None`: it
    /// shares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// How many queues it has.
    pub queues: u16,
    /// The seed of the packets and of the port's random numbers.
    pub seed: u64,
    /// The scheme's settings as they act, by name, for people.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub settings: std::collections::BTreeMap<String, String>,
}

/// A packet arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrive {
    /// When, in ps.
    pub at: u64,
    /// Its number: packets are numbered from 0 in the order of arrival.
    pub packet: u32,
    /// The key of its flow.
    pub flow: u32,
    /// Its length with headers, in bytes.
    pub len: u16,
    /// The eight bits of its tag.
    pub priority: u8,
    /// The 32 bits of its tag.
    pub rank: u32,
    /// What it is for.
    #[serde(default, skip_serializing_if = "is_data")]
    pub kind: KindName,
    /// Whether its transport understands marks.
    pub ecn: bool,
    /// The coflow of its message, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coflow: Option<u32>,
    /// Whether the port takes it.
    pub queued: bool,
    /// The queue that it is for, also of a packet that is dropped.
    pub queue: u8,
    /// Whether the port marks it now.
    #[serde(default, skip_serializing_if = "is_false")]
    pub marked: bool,
    /// The packets that make room for it, and are dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub victims: Vec<Victim>,
    /// The random numbers that the port drew for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<u64>,
}

/// A packet that made room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Victim {
    /// Its number.
    pub packet: u32,
    /// The queue that held it.
    pub queue: u8,
}

/// The line takes a packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leave {
    /// When, in ps.
    pub at: u64,
    /// Its number.
    pub packet: u32,
    /// The queue that held it.
    pub queue: u8,
    /// Whether the port marks it now.
    #[serde(default, skip_serializing_if = "is_false")]
    pub marked: bool,
    /// The random numbers that the port drew for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<u64>,
}

/// The port's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// When they are read: after what the line above says, in ps.
    pub at: u64,
    /// Those that have changed; in a case's first such line all.
    pub values: Vec<Parameter>,
}

impl Parameters {
    /// Takes over the values of a later line.
    pub fn update(&mut self, later: &Parameters) {
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name, with its unit if it has one.
    pub name: String,
    /// The queue that it belongs to; a threshold belongs to the queue above it.
    pub queue: u32,
    /// Its value.
    pub value: f64,
}

/// A controller's table arrives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableArrives {
    /// When, in ps.
    pub at: u64,
    /// Its name.
    pub name: String,
    /// Counts the controller's tables, from 1.
    pub version: u64,
    /// (key, value), keys ascending.
    pub values: Vec<(u32, u64)>,
}

/// What a packet is for, as a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KindName {
    /// It carries payload.
    #[default]
    Data,
    /// It acknowledges.
    Ack,
    /// It opens a connection, or asks whether the path is clear.
    Control,
}

impl From<Kind> for KindName {
    fn from(kind: Kind) -> KindName {
        match kind {
            Kind::Data => KindName::Data,
            Kind::Ack => KindName::Ack,
            Kind::Control => KindName::Control,
        }
    }
}

impl From<KindName> for Kind {
    fn from(kind: KindName) -> Kind {
        match kind {
            KindName::Data => Kind::Data,
            KindName::Ack => Kind::Ack,
            KindName::Control => Kind::Control,
        }
    }
}

impl Arrive {
    /// Returns the packet as a port sees it.
    pub fn meta(&self) -> flowsieve_core::Meta {
        flowsieve_core::Meta {
            flow: self.flow,
            coflow: self.coflow.unwrap_or(flowsieve_core::NONE),
            len: self.len,
            tag: flowsieve_core::Tag::new(self.priority, self.rank),
            kind: self.kind.into(),
            ecn: if self.ecn { Ecn::Capable } else { Ecn::NotCapable },
            ..flowsieve_core::Meta::default()
        }
    }
}

impl Line {
    /// Returns its instant; a case begins at none.
    pub fn at(&self) -> Option<u64> {
        match self {
            Line::Begin(_) => None,
            Line::Arrive(Arrive { at, .. })
            | Line::Leave(Leave { at, .. })
            | Line::Parameters(Parameters { at, .. })
            | Line::Table(TableArrives { at, .. }) => Some(*at),
        }
    }
}

fn is_data(kind: &KindName) -> bool {
    *kind == KindName::Data
}

fn is_false(flag: &bool) -> bool {
    !flag
}
