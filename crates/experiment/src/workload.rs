//! The `[workload]` of a point: which flows it sends, and how many of them.
//!
//! Everything is read from what holds for all schemes, so that schemes get the same flows. Loads are of the host
//! links; the arrival rate comes from the mean of the very distribution that is drawn from, unless the experiment names
//! its source's mean.

mod average;
mod coflows;
mod crossings;
mod files;
mod hosts;
mod pattern;
mod queries;
mod recorded;
mod sizes;
#[cfg(test)]
mod tests;
mod traffic;

pub use files::Files;
pub(crate) use files::unreadable;
pub use hosts::Hosts;
pub use sizes::formula;

use crate::error::Error;
use coflows::{COFLOWS, PlacedFacts};
use files::List;
use flowsieve_schemes::WorkloadFacts;
use flowsieve_schemes::declare;
use flowsieve_schemes::parameters::{self, ParameterSet};
use flowsieve_schemes::settings::{Key, MAX_TIME_PS, Scope, Section, Setting, Settings, SettingsError};
use flowsieve_sim::topology::Fabric;
use flowsieve_workload::flow_list::{Extras, Features};
use flowsieve_workload::{
    ClassShare, ClosedLoop, Flow, Framing, Generator, Pattern, Predict, Prediction, Queries, SizeDistribution,
};
use queries::Asked;
use recorded::{RECORDED, Recorded};
use sizes::Reader;
use std::path::Path;
use std::sync::Arc;
use traffic::Drawn;

pub(crate) use coflows::OWN_RACK;
pub(crate) use queries::QUERIES;
pub(crate) use sizes::{CDF, SIZES};
pub use traffic::LOAD;
pub(crate) use traffic::{ARRIVALS, CHANGE_AT};

declare! {
    /// How many flows arrive.
    pub static FLOWS: Setting<u64> = Setting::count(
        Section::Workload, "flows", 1, 50_000_000, "how many flows arrive",
    );
    pub(crate) static DURATION: Setting<u64> = Setting::time(
        Section::Workload, "duration", 1, MAX_TIME_PS, "for how long flows arrive, instead of a number of flows",
    );
    static LIST: Setting<String> = Setting::file(
        Section::Workload, "list",
        "a flow list to replay instead: CSV rows of start_s,src,dst,bytes and optionally deadline_s, coflow, class, lower, upper, predicted and \
         feature:NAME",
    );
    static CLASS_SHARE: Setting<f64> = Setting::number(
        Section::Workload, "class_share", 0.0, 1.0,
        "share of the flows that are of class 1, drawn flow by flow; the others are of class 0",
    );
    /// Whether it is a window.
    pub(crate) static MEASURE: Setting<bool> = Setting::choice(
        Section::Run,
        "measure",
        &[("all", false), ("window", true)],
        "count every flow and drain, or the flows that start in a window under load",
    )
    .with_default(false);
    pub(crate) static WINDOW: Setting<Vec<u64>> = Setting::times(
        Section::Run, "window", "start and end of the measuring window",
    );
}

/// Every setting of a workload, by the part that declares it.
pub(crate) const WORKLOAD_SETTINGS: &[&[&Key]] = &[
    sizes::SETTINGS,
    coflows::SETTINGS,
    recorded::SETTINGS,
    traffic::SETTINGS,
    pattern::SETTINGS,
    SETTINGS,
    queries::SETTINGS,
];

/// Which flows of a run there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// This many arrive; all count, and the fabric drains.
    Flows(u64),
    /// They arrive until this time; all count, and the fabric drains.
    Until(u64),
    /// They arrive until all that started from the first time to before the second have finished; these count.
    Window(u64, u64),
    /// They arrive until all queries have ended; all count, and the fabric drains.
    Queries,
}

/// Where flows come from.
#[derive(Debug, Clone)]
enum Origin {
    Drawn(Box<Drawn>),
    Listed(Arc<List>),
}

/// The workload of a point.
#[derive(Debug, Clone)]
pub struct Workload {
    origin: Origin,
    /// Which of its flows are of class 1, where that is drawn.
    classes: Option<ClassShare>,
    /// Flows whose sizes its own have, in their order.
    recorded: Option<Recorded>,
    /// What goes on beside drawn flows.
    asked: Option<Asked>,
    /// What a coflow trace became on these hosts.
    pub(crate) placed: Option<PlacedFacts>,
    /// Which flows there are.
    pub extent: Extent,
    /// How packets lie on the wire, as the load counts them.
    pub framing: Framing,
}

impl WorkloadFacts for Workload {
    fn distribution(&self) -> Option<&str> {
        match &self.origin {
            Origin::Drawn(drawn) => drawn.builtin,
            Origin::Listed(_) => None,
        }
    }

    fn load(&self) -> Option<f64> {
        match &self.origin {
            Origin::Drawn(drawn) => drawn.load,
            Origin::Listed(_) => None,
        }
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        match &self.origin {
            Origin::Drawn(drawn) => Some(drawn.traffic.from_start.quantile(p)),
            Origin::Listed(list) => list.quantile(p),
        }
    }
}

impl Workload {
    /// Reads the workload for these hosts. Paths are relative to `folder`; `files` keeps what is read from them. `seed` is
    /// the run's, by which coflows are placed.
    pub fn read(
        settings: &Settings,
        hosts: &Hosts,
        files: &Files,
        (folder, seed): (&Path, u64),
    ) -> Result<Workload, Error> {
        let scope = settings.common();
        let set = ParameterSet::read(&scope)?;
        let framing = framing(&scope, set)?;
        if let Some(path) = scope.optional(&LIST)? {
            refuse_beside(&scope, &LIST, &[&SIZES, &CDF, &RECORDED, &LOAD, &FLOWS, &DURATION, &QUERIES])?;
            refuse_beside(&scope, &LIST, &[&COFLOWS])?;
            let list = files.list(&scope, &LIST, &folder.join(path), &hosts.names)?;
            settings.note("workload.list.digest", &list.digest);
            // The list itself says how many; all of it counts.
            let extent = Extent::Flows(list.flows().len() as u64);
            let classes = classes(&scope)?;
            if classes.is_some() && list.extras.classes {
                let problem = "`class_share` says nothing of a list with a column `class`";
                return Err(scope.error(&CLASS_SHARE, problem).expected("one of the two").into());
            }
            return Ok(Workload {
                origin: Origin::Listed(list),
                classes,
                recorded: None,
                asked: None,
                placed: None,
                extent,
                framing,
            });
        }
        if let Some((list, facts)) = coflows::read(settings, &scope, (hosts, &framing, seed), files, folder)? {
            refuse_beside(&scope, &COFLOWS, &[&SIZES, &CDF, &RECORDED, &FLOWS, &DURATION, &QUERIES])?;
            let (extent, classes) = (Extent::Flows(list.flows().len() as u64), classes(&scope)?);
            let origin = Origin::Listed(list);
            return Ok(Workload { origin, classes, recorded: None, asked: None, placed: Some(facts), extent, framing });
        }
        let reader = Reader { settings, scope: &scope, payload: framing.payload_bytes, files, folder, recorded: None };
        let recorded = Recorded::read(&reader)?;
        if recorded.is_some() {
            refuse_beside(&scope, &RECORDED, &[&SIZES, &CDF, &traffic::CHANGE_SIZES])?;
        }
        let reader = Reader { recorded: recorded.as_ref(), ..reader };
        let drawn = traffic::read(&reader, hosts, &framing, set)?;
        if drawn.closed.is_some() && recorded.is_some() {
            let problem = "`recorded` with arrivals = \"closed-loop\", where flows have no order";
            return Err(scope.error(&RECORDED, problem).expected("other arrivals, or `sizes`").into());
        }
        let classes = if drawn.closed.is_none() { classes(&scope)? } else { None };
        if classes.is_some() {
            refuse_beside(&scope, &CLASS_SHARE, &[&traffic::MIX_SIZES])?;
        }
        let asked = Asked::read(&reader, hosts, &framing)?;
        let extent = if asked.is_some() { Extent::Queries } else { extent(&scope, recorded.as_ref())? };
        Ok(Workload { origin: Origin::Drawn(Box::new(drawn)), classes, recorded, asked, placed: None, extent, framing })
    }

    /// The flows in the order of their starts: without end, or all of a list; those beside queries.
    pub fn flows(&self, seed: u64) -> Result<Box<dyn Iterator<Item = Flow> + Send>, String> {
        let flows = self.flows_of_origin(seed)?;
        Ok(match self.classes {
            None => flows,
            Some(classes) => Box::new(flows.map(move |flow| classes.put_on(flow, seed))),
        })
    }

    fn flows_of_origin(&self, seed: u64) -> Result<Box<dyn Iterator<Item = Flow> + Send>, String> {
        match &self.origin {
            Origin::Drawn(drawn) if drawn.closed.is_some() => {
                Err("the flows of a closed loop start when others have finished, which only a run tells".to_owned())
            }
            Origin::Drawn(drawn) => {
                let flows = Generator::of(&drawn.traffic, seed).map_err(|error| error.to_string())?;
                let flows: Box<dyn Iterator<Item = Flow> + Send> = match self.recorded.clone() {
                    None => Box::new(flows),
                    Some(recorded) => Box::new(flows.map(move |flow| recorded.put_on(flow))),
                };
                Ok(match drawn.deadlines {
                    None => flows,
                    Some(deadlines) => Box::new(flows.map(move |flow| deadlines.put_on(flow, seed))),
                })
            }
            Origin::Listed(list) => {
                let list = Arc::clone(list);
                Ok(Box::new((0..list.flows().len()).map(move |index| list.flows()[index])))
            }
        }
    }

    /// The closed loops, where flows wait for others to finish; those are not known before they run.
    pub fn closed_loop(&self, seed: u64) -> Option<ClosedLoop> {
        let Origin::Drawn(drawn) = &self.origin else { return None };
        let flows = match self.extent {
            Extent::Flows(flows) => u32::try_from(flows).unwrap_or(u32::MAX),
            // More than any run has.
            Extent::Until(_) | Extent::Window(..) | Extent::Queries => u32::MAX,
        };
        // An error would have shown while the workload was read.
        drawn.closed_loop(flows, seed).ok().flatten()
    }

    /// The queries that go on beside the flows.
    pub fn queries(&self, seed: u64) -> Option<Queries> {
        // An error would have shown while the workload was read.
        self.asked.as_ref()?.with_seed(seed).ok()
    }

    /// Which optional columns a list of its flows needs.
    pub fn extras(&self) -> Extras {
        match &self.origin {
            Origin::Drawn(drawn) => {
                let deadlines = drawn.deadlines.is_some();
                let classes = drawn.traffic.from_start.mix.is_some() || self.classes.is_some();
                let recorded = self.recorded.as_ref().map(|recorded| recorded.list().extras.clone());
                let coflows = matches!(drawn.traffic.pattern, Pattern::Incast { .. });
                Extras { deadlines, classes, coflows, ..recorded.unwrap_or_default() }
            }
            Origin::Listed(list) => {
                Extras { classes: list.extras.classes || self.classes.is_some(), ..list.extras.clone() }
            }
        }
    }

    /// What was predicted and recorded of a flow of a list.
    pub fn beside(&self, flow: Flow) -> (Flow, Prediction, &[u64]) {
        match (&self.origin, &self.recorded) {
            (Origin::Drawn(_), None) => (flow, Prediction::default(), &[]),
            (Origin::Drawn(_), Some(recorded)) => {
                let (prediction, features) = recorded.beside(&flow);
                (flow, prediction, features)
            }
            (Origin::Listed(list), _) => list.list.row(flow),
        }
    }

    /// Whether its flows are known before the run, to the last one, and belong to coflows.
    pub fn has_coflows(&self) -> bool {
        matches!(&self.origin, Origin::Listed(list) if list.extras.coflows)
    }

    /// The highest class of a list's flows, and where a flow that has it stands.
    pub fn highest_class(&self) -> Option<(u8, String)> {
        self.listed().map(List::highest_class)
    }

    /// The sizes that are drawn, where they are.
    pub(crate) fn drawn_sizes(&self) -> Option<&SizeDistribution> {
        match &self.origin {
            Origin::Drawn(drawn) => Some(&drawn.traffic.from_start.sizes),
            Origin::Listed(_) => None,
        }
    }

    /// The list that is replayed, where one is.
    pub(crate) fn listed(&self) -> Option<&List> {
        match &self.origin {
            Origin::Listed(list) => Some(list),
            Origin::Drawn(_) => None,
        }
    }

    /// What of its list is not read, or read in another way than it stands there.
    pub(crate) fn list_notes(&self) -> Vec<String> {
        let recorded = self.recorded.as_ref().map(Recorded::list);
        self.listed().into_iter().chain(recorded).flat_map(List::notes).collect()
    }

    /// The predictions of a list that has some.
    pub fn predictions(&self) -> Option<Arc<dyn Predict>> {
        let predicts = |list: &List| list.extras.bounds || list.extras.sizes;
        match (&self.origin, &self.recorded) {
            (Origin::Listed(list), _) if predicts(list) => Some(Arc::clone(list) as Arc<dyn Predict>),
            (_, Some(recorded)) if predicts(recorded.list()) => Some(Arc::new(recorded.clone())),
            _ => None,
        }
    }

    /// What was recorded of the flows of a list, or of those whose sizes the flows have.
    pub fn features(&self) -> Option<&Features> {
        match (&self.origin, &self.recorded) {
            (Origin::Listed(list), _) => Some(&list.list.features),
            (_, Some(recorded)) => Some(recorded.features()),
            _ => None,
        }
    }

    /// Predictions by the numbers of the flows that have these features.
    pub fn predicting(&self, by_number: Vec<Prediction>) -> Arc<dyn Predict> {
        match &self.recorded {
            None => Arc::new(by_number),
            Some(recorded) => Arc::new(recorded.predicting(by_number)),
        }
    }

    /// About how many flows a run has.
    pub fn expected_flows(&self) -> f64 {
        let drawn = match &self.origin {
            Origin::Drawn(drawn) => drawn,
            Origin::Listed(list) => return list.flows().len() as f64,
        };
        match self.extent {
            Extent::Flows(flows) => flows as f64,
            // Arrivals go on a little after the window; how long depends on its last flows.
            Extent::Until(end) | Extent::Window(_, end) => drawn.flows_until(end),
            Extent::Queries => self.asked.as_ref().map_or(0.0, |asked| asked.messages() + asked.flows_beside(drawn)),
        }
    }

    /// About how long flows arrive, in ps; `None` where only the run tells.
    pub fn arrivals_span_ps(&self) -> Option<f64> {
        match (&self.origin, self.extent) {
            (Origin::Listed(list), _) => list.flows().last().map(|flow| flow.start_ps as f64),
            (Origin::Drawn(drawn), _) if drawn.closed.is_some() => None,
            (_, Extent::Until(end) | Extent::Window(_, end)) => Some(end as f64),
            (Origin::Drawn(drawn), Extent::Flows(flows)) => {
                const SECOND_PS: u64 = 1_000_000_000_000;
                Some(flows as f64 / drawn.flows_until(SECOND_PS) * SECOND_PS as f64)
            }
            (Origin::Drawn(_), Extent::Queries) => None,
        }
    }

    /// About how many flows of a run start in a stretch of time.
    pub fn expected_flows_within(&self, from_ps: u64, to_ps: u64) -> f64 {
        let before = |end_ps: u64| match &self.origin {
            Origin::Drawn(drawn) => match &self.asked {
                None => drawn.flows_until(end_ps).min(self.expected_flows()),
                Some(asked) => drawn.flows_until(end_ps).min(asked.flows_beside(drawn)) + asked.messages_until(end_ps),
            },
            Origin::Listed(list) => list.flows().partition_point(|flow| flow.start_ps < end_ps) as f64,
        };
        before(to_ps) - before(from_ps)
    }

    /// About how many packets a flow takes, data and ACKs.
    pub fn packets_per_flow(&self) -> f64 {
        match &self.origin {
            Origin::Drawn(drawn) => {
                let of_drawn = drawn.mean_of(self.expected_flows(), |sizes| {
                    let cost = self.framing.cost(sizes);
                    cost.data_packets + cost.acks
                });
                let Some(asked) = &self.asked else { return of_drawn };
                let (messages, beside) = (asked.messages(), asked.flows_beside(drawn));
                (messages * asked.packets_per_message(&self.framing) + beside * of_drawn) / (messages + beside)
            }
            Origin::Listed(list) => {
                let payload = u64::from(self.framing.payload_bytes.get());
                let data: u64 = list.flows().iter().map(|flow| flow.bytes.div_ceil(payload)).sum();
                let acks = data as f64 / f64::from(self.framing.data_packets_per_ack.max(1));
                (data as f64 + acks) / list.flows().len().max(1) as f64
            }
        }
    }

    /// The bit/s that data and ACKs of all hosts take on each link of a flow's way, framing included; none for a list or
    /// closed loops.
    /// Of a workload that changes, the heavier part.
    pub fn offered_bps(&self) -> Option<f64> {
        let Origin::Drawn(drawn) = &self.origin else { return None };
        if drawn.closed.is_some() {
            return None;
        }
        Some(drawn.heaviest_bps(|sizes| {
            let cost = self.framing.cost(sizes);
            cost.data_bytes + cost.ack_bytes
        }))
    }

    /// How many links of each class a packet crosses on average, in the order of the fabric's classes. Of a flow list
    /// nothing is known, and it counts as all-to-all.
    pub fn crossings(&self, fabric: &Fabric, seed: u64) -> Vec<f64> {
        match &self.origin {
            Origin::Drawn(drawn) => {
                let offer = &drawn.traffic.from_start;
                let bytes = |sizes: &SizeDistribution| self.framing.cost(sizes).data_bytes;
                let each = [&offer.sizes, offer.mix.as_ref().map_or(&offer.sizes, |mix| &mix.sizes)].map(bytes);
                crossings::crossings(&drawn.traffic.pattern, fabric, seed, |pair| offer.mean_of_pair(pair, each))
            }
            Origin::Listed(_) => fabric.class_shares().iter().map(|share| share.crossing).collect(),
        }
    }
}

/// Packets on the wire, as they are without a scheme's own settings.
fn framing(scope: &Scope<'_>, set: ParameterSet) -> Result<Framing, SettingsError> {
    let header = parameters::header(scope)?;
    Ok(Framing {
        payload_bytes: parameters::segment(scope)?.into(),
        header_bytes: header.into(),
        overhead_bytes: set.wire_overhead(scope)?.into(),
        ack_bytes: header.into(),
        data_packets_per_ack: set.ack_every(scope)?,
    })
}

fn classes(scope: &Scope<'_>) -> Result<Option<ClassShare>, SettingsError> {
    Ok(scope.optional(&CLASS_SHARE)?.map(|share| ClassShare { share }))
}

fn extent(scope: &Scope<'_>, recorded: Option<&Recorded>) -> Result<Extent, SettingsError> {
    if scope.read(&MEASURE)? {
        refuse_beside(scope, &MEASURE, &[&FLOWS, &DURATION])?;
        let times = scope.optional(&WINDOW)?;
        return match times.as_deref() {
            Some([start, end]) if start < end => Ok(Extent::Window(*start, *end)),
            _ => Err(scope.invalid(&WINDOW, "its start and its end, such as window = [\"10ms\", \"60ms\"]")),
        };
    }
    match (scope.optional(&FLOWS)?, scope.optional(&DURATION)?) {
        (Some(flows), None) => Ok(Extent::Flows(flows)),
        (None, Some(duration)) => Ok(Extent::Until(duration)),
        (Some(_), Some(_)) => Err(scope.error(&DURATION, "`duration` beside `flows`").expected("one of the two")),
        (None, None) if recorded.is_some() => Ok(Extent::Flows(recorded.map_or(0, |recorded| recorded.flows as u64))),
        (None, None) => Err(scope.invalid(&FLOWS, "`flows` or `duration` in [workload]")),
    }
}

/// Refuses keys that say the same as `key`, which is given.
fn refuse_beside(scope: &Scope<'_>, key: &Key, others: &[&Key]) -> Result<(), SettingsError> {
    let name = key.name;
    match others.iter().find(|other| scope.is_given(other)) {
        Some(other) => {
            let problem = format!("`{}` says nothing beside `{name}`", other.name);
            Err(scope.error(other, problem).expected(format!("one of the two: `{name}` decides it")))
        }
        None => Ok(()),
    }
}
