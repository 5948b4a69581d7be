//! The disciplines of queueing theory, at packet granularity, on every port: first come first served, processor sharing,
//! shortest remaining processing time, least attained service. Messages arrive whole at the host's port, queues have no
//! limit, and nothing is marked, acknowledged or lost. This is the system of an M/G/1 formula, on a fabric of any size.

use crate::entry::{Context, Entry, Knows};
use crate::parts::{self, DisciplineName, MarkingName, Part, Parts, TaggerName, TransportName};
use crate::scheme::Scheme;
use flowsieve_settings::SettingsError;

const OPEN: Parts = Parts {
    transport: Part::Named(TransportName::OpenLoop),
    marking: MarkingName::Off,
    unlimited: true,
    ..Parts::DEFAULT
};

/// First come, first served.
pub const FCFS: Entry = Entry {
    name: "fcfs",
    label: "FCFS",
    summary: "first come first served, open loop, no limits",
    paper: "textbook",
    knows: Knows::Nothing,
    build: |context| parts::build(context, &OPEN),
};

/// Processor sharing.
pub const PS: Entry = Entry {
    name: "ps",
    label: "PS",
    summary: "flows in turn, a packet each; open loop, no limits",
    paper: "textbook",
    knows: Knows::Nothing,
    build: |context| parts::build(context, &Parts { port: Part::Named(DisciplineName::FlowsInTurn), ..OPEN }),
};

/// Shortest remaining processing time.
pub const SRPT: Entry = Entry {
    name: "srpt",
    label: "SRPT",
    summary: "the flow with the fewest bytes left; open loop, no limits",
    paper: "textbook",
    knows: Knows::Size,
    build: |context| ranked(context, TaggerName::ToTheEnd),
};

/// Least attained service.
pub const LAS: Entry = Entry {
    name: "las",
    label: "LAS",
    summary: "the flow that has sent the fewest bytes; open loop, no limits",
    paper: "textbook",
    knows: Knows::Nothing,
    build: |context| ranked(context, TaggerName::Attained),
};

fn ranked(context: &Context<'_>, tagger: TaggerName) -> Result<Scheme, SettingsError> {
    parts::build(context, &Parts { port: Part::Named(DisciplineName::LeastRank), tagger: Part::Named(tagger), ..OPEN })
}
