//! Packets at traced links: the rows of a trace, and what takes them.

use std::ops::ControlFlow;

/// An event of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// The line began to send it.
    Sent,
    /// It arrived at a full buffer.
    DroppedBuffer,
    /// A better packet pushed it out of the buffer.
    DroppedEvicted,
    /// The line lost it, after it was sent: its row has the instant at which it would have arrived.
    DroppedLoss,
    /// Its link was down: it waited at the port or was on the line at the failure, or came to the port later.
    DroppedDown,
}

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Payload of a flow.
    Data {
        /// The flow.
        flow: u32,
        /// The segment's number on its connection, from 0.
        segment: u32,
        /// Payload bytes of the connection before it.
        byte: u64,
        /// It is the last of its flow.
        last: bool,
        /// It was sent before.
        retransmission: bool,
    },
    /// An acknowledgement.
    Ack {
        /// Every segment below this number has arrived.
        segment: u32,
        /// The payload bytes of the segments below.
        byte: u64,
        /// Segments above that have arrived, from the first to one past the last: SACK's first block.
        sack: Option<(u32, u32)>,
        /// The acknowledged packets were marked.
        echo: bool,
        /// The packet that caused it had arrived before.
        duplicate: bool,
    },
    /// Opens a connection.
    Syn,
    /// Answers a SYN.
    SynAck,
    /// pFabric's probe.
    Probe,
    /// A packet of the user's own transport.
    Own,
    /// Payload of a flow that the user's own transport sends and does not describe, if the sink
    /// [numbers](TraceSink::numbers_own) it.
    OwnData {
        /// The flow.
        flow: u32,
        /// How many packets with payload the flow had sent before, each time that one was sent.
        number: u32,
    },
}

/// The endpoints of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The flow that opened the connection; packets of both directions have it.
    pub connection: u32,
    /// The host that sent it.
    pub src: u32,
    /// Its destination.
    pub dst: u32,
}

/// A packet at a traced link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRow {
    /// When.
    pub at_ps: u64,
    /// The link: its place in the list of traced links.
    pub link: u32,
    /// The event.
    pub event: PacketEvent,
    /// Its endpoints and its content; `None` for a packet between programs of switches.
    pub what: Option<(Ends, PacketKind)>,
    /// Its payload, in bytes.
    pub payload: u16,
    /// Its length with headers, in bytes, without preamble and gap.
    pub length: u16,
    /// The priority of its tag.
    pub priority: u8,
    /// The queue of the port that held it; `None` if none did.
    pub queue: Option<u8>,
    /// The rank of its tag.
    pub rank: u32,
    /// Its ECN field (RFC 3168): 0, 2 for ECT(0), 3 for CE.
    pub ecn: u8,
}

/// Takes a trace, row by row in the order of time.
pub trait TraceSink {
    /// The run begins. Earlier rows are void: a run may have to begin anew.
    fn begin(&mut self);

    /// The next row; a break abandons the run.
    fn packet(&mut self, row: &PacketRow) -> ControlFlow<()>;

    /// Whether packets with payload that their transport does not describe become [`PacketKind::OwnData`]. They are numbered
    /// where their hosts send them, so the hosts' links have to be traced; in a fabric that is not partitioned.
    fn numbers_own(&self) -> bool {
        false
    }
}
