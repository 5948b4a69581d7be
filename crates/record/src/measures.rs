//! What is measured of a flow, each quantity declared in one line.
//!
//! From that line come the field of [`FlowRow`], the column of `flows.parquet` with its unit and description, and the row of
//! its table in docs/reference/result-files.md. A count has also its sum over the flows of a run in [`PointResult`](crate::PointResult), and
//! the figure of that sum ([`FlowCount`]). A class count has, in addition, its sum over the flows of a size class in
//! [`Disorder`](crate::Disorder), and its column in `summary.csv`. The engine that counts fills the field, and nothing else
//! names it.

use crate::columns::{Cell, Column, Presence, Sums, Value, of_steps};
use crate::declare::flow_row;
use crate::{PointResult, StepRow};

/// Passes the list of measures, sorted by `sorted!`, to the macro `$then`; and after them `$more` for tests.
///
/// The order is that of columns in `flows.parquet`, so a new measure comes last. A line is one of these, with the unit and the
/// description of the column:
/// - `value name: type, unit, description;` is a field and its column;
/// - `derived name = function, …` is a column alone;
/// - `steps name: type;` is a field and a column for each step;
/// - `count name: u32, …` is a field and its column, and a sum over the flows of a run;
/// - `class_count name: u32, …` is a count with a sum over the flows of each size class;
/// - `first_count name: u32, …` is the class count that stands before `delays` in `manifest.json`.
///
/// The last word says which files have the column. Without one, results of earlier versions lack it ([`Presence::Later`]).
macro_rules! measures {
    ($then:ident $($more:tt)*) => {
        $crate::declare::sorted! { $then [] [] [] [] []
            /// The flow's number in the order of arrival: the same under every scheme, so that schemes pair by it.
            value flow: u32, "", "number of the flow in its run, by start", Always;
            /// Sending host.
            value src: u32, "", "sending host", Always;
            /// Receiving host.
            value dst: u32, "", "receiving host", Always;
            /// The class of flow that the workload gave it (not a size class).
            value class: u8, "", "class of traffic of the flow in a mix of workloads, from 0", Always;
            /// Payload. Not zero.
            value bytes: u64, "B", "payload of the flow, or of all flows of the coflow", Always;
            /// Arrival at the sending host.
            value start_ps: u64, "ps", "start time, from the start of the run", Always;
            /// Flow completion time from `start_ps`; `None` for a flow that had not finished when the run ended.
            value fct_ps: Option<u64>, "ps", "flow completion time; empty: not finished", Always;
            /// FCT of the same flow alone in the same fabric. Not zero.
            value ideal_ps: u64, "ps", "completion time of the same flow or coflow, alone in the same fabric", Always;
            derived slowdown = FlowRow::slowdown, "", "completion time over the ideal one; empty: not finished";
            /// Data packets sent more than once.
            count retransmissions: u32, "packets", "data packets that were sent again", Always;
            /// Retransmission timeouts.
            first_count timeouts: u32, "", "expiries of the retransmission timer, and silences after which a receiver asked again", Always;
            /// Data packets that reached the receiver after a later one of the flow.
            count out_of_order: u32, "packets", "data packets that arrived after a later one of their flow", Always;
            /// The time after its start within which it should have finished; `None` without a deadline.
            value deadline_ps: Option<u64>, "ps", "deadline from the start of the flow; empty: none";
            /// Its coflow; `None` if it belongs to none.
            value coflow: Option<u32>, "", "number of the coflow; empty: none";
            /// Data packets taken for lost before a timeout: by duplicate ACKs, by time or by priorities, whichever the
            /// transport uses.
            class_count found_lost: u32, "packets", "data packets declared lost before a timeout";
            /// Data packets that reached the receiver a second time: retransmissions of packets that were not lost.
            class_count unneeded: u32, "packets", "data packets that arrived again";
            /// The most payload that its receiver held at once because an earlier part was missing.
            value held_most_bytes: u64, "B", "largest payload that the receiver held because an earlier part was missing";
            /// That payload over time, in bytes times nanoseconds.
            value held_byte_ns: u64, "B ns", "payload held for that reason, times the time that it was held";
            /// Duplicate ACKs that its sender received (RFC 5681).
            class_count duplicate_acks: u32, "packets", "ACKs that acknowledged nothing new";
            /// Time that it spent in each step of QCLIMB at its sender; `None` for an unfinished flow, and under other schemes.
            steps steps: Option<StepRow>;
            /// Time that it waited in timeouts before the first answer on its connection, in µs; for an unfinished flow 0.
            value unanswered_us: u32, "us", "time that the flow waited in timeouts before the first answer on its \
                connection", IfUnanswered;
            /// At flow level, its FCT by rates alone; `None` for an unfinished flow, and with packets.
            value rates_only_ps: Option<u64>, "ps", "at flow level, completion time by rates alone: without propagation, \
                store and forward, and the last ACK; empty: not finished", IfRates;
            /// Time that it waited until its sender's retransmission timer fired or its receiver asked again, in µs; for an
            /// unfinished flow 0.
            value timers_us: u32, "us", "time that the flow waited until a retransmission timer fired, or its receiver asked again",
                IfTimedOut;
            /// 1 if a host gave it up before all of it had arrived.
            value given_up: u32, "", "1: a host asked for the flow in vain as often as its transport may, and gave it up; \
                it never finishes", IfGivenUp;
            $($more)*
        }
    };
}

pub(crate) use measures;

measures!(flow_row);

impl FlowCount {
    /// The description of its column.
    pub fn about(self) -> &'static str {
        FlowRow::columns().iter().find(|column| column.name == self.name()).map_or("", |column| column.about)
    }
}
