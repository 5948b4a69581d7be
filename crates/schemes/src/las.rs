//! Least attained service by a queue sorted by rank, which QCluster's authors tried (§2, "recent hardware solutions"):
//! hosts write the bytes sent before a packet, ports are a PIFO, and senders are DCTCP's with marks by the port's length.
//!
//! A PIFO alone starves: the flow that has sent the most waits for all that have sent less, even among large flows. The
//! authors then add a FIFO to the PIFO and do not say how the two share the packets. Here the PIFO has the first bytes of
//! every flow and goes first; the FIFO has the flows' further bytes, in order of arrival. So large flows no longer starve
//! one another, and short flows, LAS's purpose, are served as before. The bound, `fifo_from`, is 100 KB, the size up to
//! which the papers of this lineage call a flow short.

use crate::entry::{Context, Entry, Knows};
use crate::parts::{self, DisciplineName, Part, Parts, TaggerName};

const PIFO_PARTS: Parts =
    Parts { port: Part::Named(DisciplineName::Pifo), tagger: Part::Named(TaggerName::Attained), ..Parts::DEFAULT };

/// With only a PIFO.
pub const PIFO: Entry = Entry {
    name: "pifo-las",
    label: "PIFO-LAS",
    summary: "least attained service, with one queue sorted by bytes sent and ECN",
    paper: "QCluster, section 2",
    knows: Knows::Nothing,
    build: |context: &Context<'_>| parts::build(context, &PIFO_PARTS),
};

/// With a PIFO and a FIFO.
pub const PIFO_AND_FIFO: Entry = Entry {
    name: "pifo-fifo-las",
    label: "PIFO-FIFO-LAS",
    summary: "least attained service for the first 100 KB of a flow; then the rest, first come first served",
    paper: "QCluster, section 2",
    knows: Knows::Nothing,
    build: |context: &Context<'_>| parts::build(context, &Parts { fifo_from: Some(100_000), ..PIFO_PARTS }),
};
