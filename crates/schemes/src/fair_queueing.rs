//! Fair queueing with a queue for each flow, the reference for approximations: bit-by-bit round robin (Demers, Keshav,
//! Shenker, SIGCOMM 1989) and its predecessor, round robin packet by packet (Nagle, 1987). The transport is DCTCP with
//! marks by the port's length, QCluster's "ideal fair queueing with ECN"; `transport = "tcp"` and `marking = "none"` give
//! both without ECN.
//!
//! A full port turns the arriving packet away, as in the comparisons of QCluster (`FQ_Ideal.cc` of qcluster/QCluster, which
//! hashes messages to 100 queues; here each flow has its own). Both papers drop from the flow that holds the most.

use crate::entry::{Context, Entry, Knows};
use crate::parts::{self, DisciplineName, Part, Parts};

/// Bit-by-bit round robin.
pub const BIT_BY_BIT: Entry = Entry {
    name: "fair-queueing",
    label: "Fair queueing",
    summary: "bit-by-bit round robin: equal shares of the line for flows, with ECN",
    paper: "Demers, Keshav, Shenker, SIGCOMM 1989",
    knows: Knows::Nothing,
    build: |context: &Context<'_>| {
        parts::build(context, &Parts { port: Part::Named(DisciplineName::FairQueueing), ..Parts::default() })
    },
};

/// Round robin packet by packet.
pub const NAGLE: Entry = Entry {
    name: "nagle",
    label: "Nagle",
    summary: "a queue for each flow, a packet of each in turn, with ECN",
    paper: "Nagle, IEEE Transactions on Communications 1987",
    knows: Knows::Nothing,
    build: |context: &Context<'_>| {
        parts::build(context, &Parts { port: Part::Named(DisciplineName::FlowsInTurn), ..Parts::default() })
    },
};
