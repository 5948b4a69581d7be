//! The measurements of one run of a point with one seed.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::measures::measures;
use crate::{CoflowRow, Delays, FlowCount, FlowRow, QuantileSketch, Series, coflows, series};

impl FlowRow {
    /// Whether it had a deadline and finished later or not at all.
    pub fn missed_deadline(&self) -> bool {
        self.deadline_ps.is_some_and(|deadline_ps| self.fct_ps.is_none_or(|fct_ps| fct_ps > deadline_ps))
    }

    /// FCT over ideal FCT; `None` for an unfinished flow.
    pub fn slowdown(&self) -> Option<f64> {
        self.fct_ps.map(|fct_ps| fct_ps as f64 / self.ideal_ps as f64)
    }
}

/// Packets lost, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// Arrived at a full buffer.
    pub buffer: u64,
    /// Pushed out of a buffer by a better packet.
    pub evicted: u64,
    /// Lost on the link, by its random loss.
    pub loss: u64,
    /// Waited at the port of a link that failed, or came there while it was down.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub port_down: u64,
    /// On a link when it failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line_down: u64,
}

impl Drops {
    /// Packets lost, whatever the cause.
    pub fn total(&self) -> u64 {
        self.buffer.saturating_add(self.evicted).saturating_add(self.loss).saturating_add(self.down())
    }

    /// Packets lost because a link was down.
    pub fn down(&self) -> u64 {
        self.port_down.saturating_add(self.line_down)
    }

    /// Adds the counts of another run or link.
    pub fn add(&mut self, other: Drops) {
        self.buffer = self.buffer.saturating_add(other.buffer);
        self.evicted = self.evicted.saturating_add(other.evicted);
        self.loss = self.loss.saturating_add(other.loss);
        self.port_down = self.port_down.saturating_add(other.port_down);
        self.line_down = self.line_down.saturating_add(other.line_down);
    }
}

/// All links that play one role in the fabric, with the ports that feed them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkClass {
    /// The role: "host-up", "leaf-up", "spine-down", "host-down" …
    pub name: String,
    /// Their number, each direction on its own.
    pub links: u32,
    /// Rate of one link.
    pub rate_bps: u64,
    /// The share of the rate that the arriving flows ask for: their data with headers and framing, and the ACKs. It is over the
    /// time from the run's beginning to [`PointResult::arrivals_end_ps`], like `utilisation`.
    pub offered_load: f64,
    /// The share of the rate that was used while flows arrived, measured, framing included.
    pub utilisation: f64,
    /// Packets sent, of any kind.
    pub packets: u64,
    /// Bytes of packets sent, headers included.
    pub bytes: u64,
    /// Packets lost at these ports and on these links.
    pub drops: Drops,
    /// Packets that got an ECN mark.
    pub marks: u64,
    /// Packets sent from each queue of a port; one entry for a port of one queue.
    pub packets_by_queue: Vec<u64>,
    /// Packets sent by the priority of their tag.
    pub packets_by_priority: Vec<u64>,
    /// The largest backlog of any of the ports.
    pub max_backlog_bytes: u64,
    /// By the priority of an arriving packet's tag, the length of the queue that it was to enter: bytes there before it,
    /// without the packet on the line. Dropped packets count, too. Empty if it is not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found_bytes_by_priority: Vec<QuantileSketch>,
    /// How long the switches behind these links paused them; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
}

/// Pauses of links, of one of their queues or of more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Links that were paused.
    pub links: u32,
    /// The time of all links together.
    pub all_ps: u64,
    /// The time of the one that was paused longest.
    pub most_ps: u64,
}

impl Paused {
    /// Adds another link, or other links.
    pub fn add(&mut self, other: Paused) {
        self.links = self.links.saturating_add(other.links);
        self.all_ps = self.all_ps.saturating_add(other.all_ps);
        self.most_ps = self.most_ps.max(other.most_ps);
    }
}

fn is_zero(ps: &u64) -> bool {
    *ps == 0
}

/// Payload over a span of time, all flows together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goodput {
    /// Its beginning, since the run's beginning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from_ps: u64,
    /// Its length.
    pub span_ps: u64,
    /// Payload of the flows that arrived in it.
    pub offered_bytes: u64,
    /// Payload of the flows that ended in it, whenever they had arrived. What unfinished flows have received so far does not
    /// count.
    pub finished_bytes: u64,
}

impl Goodput {
    /// The offered and the finished payload of `flows` (start, end if there is one, both in picoseconds, and payload) in this
    /// span.
    pub fn of(span: Range<u64>, flows: impl IntoIterator<Item = (u64, Option<u64>, u64)>) -> Goodput {
        let mut goodput = Goodput::over(span);
        flows.into_iter().for_each(|(start, end, bytes)| goodput.add(start, end, bytes));
        goodput
    }

    /// That of no flow in this span.
    pub fn over(span: Range<u64>) -> Goodput {
        let span_ps = span.end.saturating_sub(span.start);
        Goodput { from_ps: span.start, span_ps, ..Goodput::default() }
    }

    /// Adds a flow: its start, its end if there is one, both in picoseconds, and its payload.
    pub fn add(&mut self, start: u64, end: Option<u64>, bytes: u64) {
        let within = |at: u64| at.checked_sub(self.from_ps).is_some_and(|since| since < self.span_ps);
        if within(start) {
            self.offered_bytes = self.offered_bytes.saturating_add(bytes);
        }
        if end.is_some_and(within) {
            self.finished_bytes = self.finished_bytes.saturating_add(bytes);
        }
    }

    /// The offered payload in bit/s; 0 over no time.
    pub fn offered_bps(&self) -> f64 {
        self.bps(self.offered_bytes)
    }

    /// The finished payload in bit/s.
    pub fn reached_bps(&self) -> f64 {
        self.bps(self.finished_bytes)
    }

    fn bps(&self, bytes: u64) -> f64 {
        if self.span_ps == 0 { 0.0 } else { 8e12 * bytes as f64 / self.span_ps as f64 }
    }
}

/// Flows with deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlines {
    /// Flows that had a deadline.
    pub flows: u64,
    /// Flows that finished after their deadline, or not at all.
    pub missed: u64,
    /// Payload of the flows that had a deadline, in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// That of the flows that missed it.
    #[serde(default)]
    pub missed_bytes: u64,
}

impl Deadlines {
    /// Of these flows.
    fn of(flows: &[FlowRow]) -> Deadlines {
        let mut deadlines = Deadlines::default();
        for flow in flows.iter().filter(|flow| flow.deadline_ps.is_some()) {
            deadlines.flows += 1;
            deadlines.bytes += flow.bytes;
            if flow.missed_deadline() {
                deadlines.missed += 1;
                deadlines.missed_bytes += flow.bytes;
            }
        }
        deadlines
    }

    pub(crate) fn is_none(&self) -> bool {
        self.flows == 0
    }
}

/// A part of a scheme that acts once in a period: thresholds recomputed, probes, ageing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodicPart {
    /// The name of the part.
    pub name: String,
    /// Its period.
    pub period_ps: u64,
    /// How many times it acted.
    pub ticks: u64,
}

/// Declares [`PointResult`] with the sum of each count of [`measures`](crate::measures) over its flows.
macro_rules! point_result {
    ($fields:tt $columns:tt [$(#[$first_doc:meta])* $first:ident] [$($(#[$doc:meta])* $([$default:meta])? $count:ident;)*] $classes:tt) => {
        /// The result of one point with one seed.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct PointResult {
            /// The flows in the order of their number. They travel in `flows.parquet`; everything else in JSON.
            #[serde(skip)]
            pub flows: Vec<FlowRow>,
            /// Links by class, in the order of a packet's way.
            pub links: Vec<LinkClass>,
            /// Periodic parts of the scheme.
            pub periodic: Vec<PeriodicPart>,
            /// Length of the run.
            pub simulated_ps: u64,
            /// When the last flow arrived, or when the run ended if that was earlier: the end of the time over which the shares of
            /// links are.
            pub arrivals_end_ps: u64,
            /// Payload offered and finished while flows arrived, or in the measuring window. `None` if it is not counted.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub goodput: Option<Goodput>,
            /// The longest ideal FCT among the flows: a run that is not many times longer says little about such flows.
            pub longest_ideal_ps: u64,
            /// Packets of any kind that crossed a link, counted at each link.
            pub packet_hops: u64,
            /// Events that the engine handled.
            pub events: u64,
            $(#[$first_doc])* pub $first: u64,
            /// The time of flows beyond their ideal FCTs, by cause. `None` if no transport reports it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub delays: Option<Delays>,
            $($(#[$doc])* $(#[$default])? pub $count: u64,)*
            /// The counts of the scheme's parts, by their own names; zeros are left out.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            pub counts: BTreeMap<String, u64>,
            /// Flows that had a deadline, and those of them that missed it.
            #[serde(default, skip_serializing_if = "Deadlines::is_none")]
            pub deadlines: Deadlines,
            /// Its coflows by number. They travel in `coflows.parquet` once parts are joined.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub coflows: Vec<CoflowRow>,
            /// The mean CCT of the same coflows at flow level, without congestion control and queues; `None` if the scheme has no
            /// meaning there, and in runs at flow level.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub flow_level_cct_ps: Option<u64>,
            /// The least CCT that each coflow could have, by number; unknown ones are missing. They travel with the coflows.
            #[serde(skip)]
            pub ideal_ccts_ps: BTreeMap<u32, u64>,
            /// Quantities that changed over time, except those that follow from the flows. They travel in `series.parquet` once parts
            /// are joined.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub series: Vec<Series>,
            /// Sentences that the run wants the reader to know.
            pub warnings: Vec<String>,
        }
    };
}

#[cfg(test)]
pub(crate) use point_result;

measures!(point_result);

impl PointResult {
    /// Counts what its flows have counted.
    pub fn count_flows(&mut self) {
        for &count in FlowCount::ALL {
            *count.of_mut(self) = self.flows.iter().map(|row| count.of_flow(row)).sum();
        }
    }

    /// Whether its flows began at one instant, or within less time than the largest takes alone while they ask for more than
    /// links carry. Then there is no load, and the load and use of links while flows arrived have no meaning.
    pub fn is_burst(&self) -> bool {
        let span_ps = self.goodput.map_or(self.arrivals_end_ps, |goodput| goodput.span_ps);
        let overloaded = || self.links.iter().any(|link| link.offered_load >= 1.0);
        span_ps <= 1 || span_ps < self.longest_ideal_ps && overloaded()
    }

    /// The mean CCT of its flows' coflows that finished; `None` if none did.
    pub fn mean_cct_ps(&self) -> Option<u64> {
        let coflows = coflows::of_flows(&self.flows, &self.ideal_ccts_ps);
        let (mut finished, mut sum_ps) = (0u64, 0u128);
        for cct_ps in coflows.iter().filter_map(|coflow| coflow.cct_ps) {
            finished += 1;
            sum_ps += u128::from(cct_ps);
        }
        sum_ps.checked_div(finished.into()).map(|mean_ps| mean_ps as u64)
    }

    /// With the values that follow from its flows, so that they exist whether or not the flows are kept; and without the flows.
    pub fn without_flows(self) -> PointResult {
        let flows = self.flows;
        let mut series = series::of_flows(&flows, self.simulated_ps);
        series.extend(self.series);
        PointResult {
            deadlines: Deadlines::of(&flows),
            coflows: coflows::of_flows(&flows, &self.ideal_ccts_ps),
            ideal_ccts_ps: BTreeMap::new(),
            series,
            flows: Vec::new(),
            ..self
        }
    }

    /// Why this cannot be a result, if it cannot.
    pub fn fault(&self) -> Option<String> {
        if let Some(row) = self.flows.iter().find(|row| row.bytes == 0 || row.ideal_ps == 0 || row.fct_ps == Some(0)) {
            return Some(format!("flow {} has a size, an FCT or an ideal FCT of zero", row.flow));
        }
        let strange = |link: &&LinkClass| !(link.offered_load.is_finite() && link.utilisation.is_finite());
        self.links
            .iter()
            .find(strange)
            .map(|link| format!("the load or the utilisation of the links {:?} is not a number", link.name))
    }
}
