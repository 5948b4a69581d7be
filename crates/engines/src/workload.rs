//! The `[workload]` of a point: which flows it sends, and how many.
//!
//! All settings are read from the scope of all schemes, so that schemes get the same flows. Loads are of the host
//! links. The arrival rate follows from the mean of the distribution that sizes are drawn from, unless the experiment
//! gives its source's mean.

mod average;
mod coflows;
mod collectives;
mod crossings;
mod estimates;
mod extent;
mod files;
mod hosts;
mod listed;
mod pattern;
mod queries;
mod recorded;
mod screen;
mod several;
mod sizes;
#[cfg(test)]
mod tests;
mod traffic;

pub(crate) use extent::{DURATION, MEASURE, WINDOW};
pub use extent::{Extent, FLOWS};
pub(crate) use files::Files;
pub use hosts::Hosts;
pub use screen::SCREEN;
pub use sizes::formula;

use coflows::{COFLOWS, PlacedFacts};
use collectives::Collective;
use extent::refuse_window;
use files::{List, ReadPredictions};
use flowsieve_experiment::{Error, Folder};
use flowsieve_schemes::parameters;
use flowsieve_schemes::{Follows, WorkloadFacts};
use flowsieve_settings::declare;
use flowsieve_settings::{Key, Scope, Section, Setting, Settings, SettingsError};
use flowsieve_workload::flow_list::Extras;
use flowsieve_workload::{
    ClassShare, ClosedLoop, Collectives, Flow, Framing, Generator, Pattern, Predict, Prediction, Queries,
    SizeDistribution,
};
use queries::Asked;
use recorded::{RECORDED, Recorded};
use screen::Screen;
use several::Several;
use sizes::Reader;
use std::path::Path;
use std::sync::Arc;
use traffic::Drawn;

pub(crate) use coflows::OWN_RACK;
pub(crate) use collectives::{COMPUTE_GAP, key as key_of_collectives};
pub(crate) use queries::QUERIES;
pub use sizes::{CDF, SIZES};
pub use traffic::LOAD;
pub(crate) use traffic::{ARRIVALS, CHANGE_AT, THINK_TIME};

declare! {
    static LIST: Setting<String> = Setting::file(
        Section::Workload, "list",
        "a flow list to replay instead, at its own pace or at `load`: CSV rows of start_s,src,dst,bytes and optionally deadline_s, coflow, class, lower, upper, predicted and \
         feature:NAME",
    );
    static CLASS_SHARE: Setting<f64> = Setting::number(
        Section::Workload, "class_share", 0.0, 1.0,
        "share of the flows that are of class 1, drawn flow by flow; the others are of class 0",
    );
}

/// All settings of a workload, by the part that declares them.
pub(crate) const WORKLOAD_SETTINGS: &[&[&Key]] = &[
    sizes::SETTINGS,
    coflows::SETTINGS,
    recorded::SETTINGS,
    traffic::SETTINGS,
    pattern::SETTINGS,
    collectives::SETTINGS,
    extent::SETTINGS,
    SETTINGS,
    queries::SETTINGS,
    several::SETTINGS,
    screen::SETTINGS,
];

/// The source of flows.
#[derive(Debug, Clone)]
enum Origin {
    Drawn(Box<Drawn>),
    Collective(Box<Collective>),
    Listed(Arc<List>),
    Several(Several),
}

/// The workload of a point.
#[derive(Debug, Clone)]
pub struct Workload {
    origin: Origin,
    /// The share of its flows that are of class 1, if that is drawn.
    classes: Option<ClassShare>,
    /// Recorded flows whose sizes are repeated, in their order.
    recorded: Option<Recorded>,
    /// Queries in addition to drawn flows.
    asked: Option<Asked>,
    /// Facts of a coflow trace placed on these hosts.
    pub(crate) placed: Option<PlacedFacts>,
    /// A list brought to a load.
    paced: Option<String>,
    /// The receivers whose flows are sent, if not all.
    screen: Option<Screen>,
    /// The number of flows.
    pub extent: Extent,
    /// The framing of packets, as the load counts it.
    pub framing: Framing,
}

impl WorkloadFacts for Workload {
    fn distribution(&self) -> Option<&str> {
        match &self.origin {
            Origin::Drawn(drawn) => drawn.builtin,
            Origin::Collective(_) | Origin::Listed(_) | Origin::Several(_) => None,
        }
    }

    fn load(&self) -> Option<f64> {
        match &self.origin {
            Origin::Drawn(drawn) => drawn.load,
            Origin::Collective(_) | Origin::Listed(_) | Origin::Several(_) => None,
        }
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        match &self.origin {
            Origin::Drawn(drawn) => Some(drawn.traffic.from_start.quantile(p)),
            Origin::Collective(collective) => Some(collective.quantile(p)),
            Origin::Listed(list) => list.quantile(p),
            Origin::Several(several) => several.quantile(p),
        }
    }

    fn follows(&self) -> Follows {
        match &self.origin {
            Origin::Drawn(drawn) if drawn.closed.is_some() => Follows::ClosedLoops,
            _ if self.asked.is_some() => Follows::Queries,
            _ => Follows::Nothing,
        }
    }
}

impl Workload {
    /// Reads the workload for these hosts. `folder` has its files, and keeps what is read of them. `seed` is the run's,
    /// by which coflows are placed.
    pub fn read(settings: &Settings, hosts: &Hosts, folder: &Folder, seed: u64) -> Result<Workload, Error> {
        let (files, path) = (folder.of::<Files>(), folder.path());
        match settings.workloads() {
            [] => Workload::read_one(&settings.common(), hosts, &files, (path, seed)),
            _ => several::read(settings, hosts, &files, (path, seed)),
        }
    }

    /// Returns the workload of a lab that sends nothing itself.
    #[cfg(target_os = "linux")]
    pub(crate) fn idle(settings: &Settings) -> Result<Workload, SettingsError> {
        let scope = settings.common();
        let framing = framing(&scope)?;
        let none = Arc::new(List::new("no flows", flowsieve_workload::flow_list::FlowList::default()));
        Ok(Workload::of(Origin::Listed(none), Extent::Flows(0), framing))
    }

    fn of(origin: Origin, extent: Extent, framing: Framing) -> Workload {
        Workload {
            origin,
            extent,
            framing,
            classes: None,
            recorded: None,
            asked: None,
            placed: None,
            paced: None,
            screen: None,
        }
    }

    /// Reads the workload of this scope: the only one, or one of several.
    fn read_one(
        scope: &Scope<'_>,
        hosts: &Hosts,
        files: &Files,
        (folder, seed): (&Path, u64),
    ) -> Result<Workload, Error> {
        let framing = framing(scope)?;
        if let Some(path) = scope.optional(&LIST)? {
            Screen::refuse(scope, "a `list`")?;
            refuse_beside(scope, &LIST, &[&SIZES, &CDF, &RECORDED, &FLOWS, &DURATION, &QUERIES])?;
            refuse_beside(scope, &LIST, &[&COFLOWS])?;
            let list = files.list(scope, &LIST, &folder.join(path), &hosts.names)?;
            scope.note("workload.list.digest", &list.digest);
            let (list, paced) = listed::at_load(scope, list, files, (hosts, &framing))?;
            // The list itself gives the number.
            let extent = listed::extent(scope, &list)?;
            let classes = classes(scope)?;
            if classes.is_some() && list.extras.classes {
                let problem = "`class_share` has no effect on a list with a column `class`";
                return Err(scope.error(&CLASS_SHARE, problem).expected("one of the two").into());
            }
            return Ok(Workload { classes, paced, ..Workload::of(Origin::Listed(list), extent, framing) });
        }
        if let Some((list, facts)) = coflows::read(scope, (hosts, &framing, seed), files, folder)? {
            Screen::refuse(scope, "`coflows`")?;
            refuse_beside(scope, &COFLOWS, &[&SIZES, &CDF, &RECORDED, &FLOWS, &DURATION, &QUERIES])?;
            let (extent, classes) = (listed::extent(scope, &list)?, classes(scope)?);
            return Ok(Workload {
                classes,
                placed: Some(facts),
                ..Workload::of(Origin::Listed(list), extent, framing)
            });
        }
        let reader = Reader { scope, payload: framing.payload_bytes, files, folder, recorded: None };
        let recorded = Recorded::read(&reader)?;
        if recorded.is_some() {
            refuse_beside(scope, &RECORDED, &[&SIZES, &CDF, &traffic::CHANGE_SIZES])?;
        }
        let reader = Reader { recorded: recorded.as_ref(), ..reader };
        if let Some(collective) = Collective::read(&reader, hosts, &framing)? {
            refuse_beside(scope, key_of_collectives(), &[&RECORDED])?;
            return Ok(Workload::of(Origin::Collective(Box::new(collective)), Extent::Collectives, framing));
        }
        let drawn = traffic::read(&reader, hosts, &framing)?;
        if drawn.closed.is_some() && recorded.is_some() {
            let problem = "`recorded` with arrivals = \"closed-loop\", where flows have no order";
            return Err(scope.error(&RECORDED, problem).expected("other arrivals, or `sizes`").into());
        }
        let classes = if drawn.closed.is_none() { classes(scope)? } else { None };
        if classes.is_some() {
            refuse_beside(scope, &CLASS_SHARE, &[&traffic::MIX_SIZES])?;
        }
        let asked = Asked::read(&reader, hosts, &framing)?;
        let screen = Screen::read(scope, &drawn, hosts)?;
        if recorded.is_some() {
            Screen::refuse(scope, "`recorded` sizes")?;
        }
        let extent = if asked.is_some() {
            Screen::refuse(scope, "`queries`")?;
            refuse_window(scope, &QUERIES)?;
            Extent::Queries
        } else {
            extent::of(scope, recorded.as_ref())?
        };
        Ok(Workload {
            classes,
            recorded,
            asked,
            screen,
            ..Workload::of(Origin::Drawn(Box::new(drawn)), extent, framing)
        })
    }

    /// Returns the flows in the order of their starts: without end, or all of a list; with queries, the flows in
    /// addition to them.
    pub fn flows(&self, seed: u64) -> Result<Box<dyn Iterator<Item = Flow> + Send>, String> {
        let flows = self.flows_of_origin(seed)?;
        let flows = match self.classes {
            None => flows,
            Some(classes) => Box::new(flows.map(move |flow| classes.put_on(flow, seed))),
        };
        Ok(match (self.screen, self.extent) {
            (None, _) => flows,
            // The number is that of all flows, before those to other receivers are left out.
            (Some(screen), Extent::Flows(count)) => {
                screen.of(flows.take(usize::try_from(count).unwrap_or(usize::MAX)), seed)
            }
            (Some(screen), _) => screen.of(flows, seed),
        })
    }

    /// Returns the flows up to the end that it gives itself, if it does.
    pub(crate) fn flows_to_end(&self, seed: u64) -> Result<Box<dyn Iterator<Item = Flow> + Send>, String> {
        let flows = self.flows(seed)?;
        Ok(match self.extent {
            Extent::Flows(count) => Box::new(flows.take(usize::try_from(count).unwrap_or(usize::MAX))),
            Extent::Until(end) => Box::new(flows.take_while(move |flow| flow.start_ps < end)),
            _ => flows,
        })
    }

    fn flows_of_origin(&self, seed: u64) -> Result<Box<dyn Iterator<Item = Flow> + Send>, String> {
        match &self.origin {
            Origin::Drawn(drawn) if drawn.closed.is_some() => {
                Err("the flows of a closed loop start after others, so their starts are known only during a run"
                    .to_owned())
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
            Origin::Collective(_) => {
                Err("the messages of a collective start after others, so their starts are known only during a run"
                    .to_owned())
            }
            Origin::Listed(list) => {
                let list = Arc::clone(list);
                Ok(Box::new((0..list.flows().len()).map(move |index| list.flows()[index])))
            }
            Origin::Several(several) => several.flows(seed),
        }
    }

    /// Returns the closed loops, if flows wait for others to finish; such flows are not known before they run.
    pub fn closed_loop(&self, seed: u64) -> Option<ClosedLoop> {
        let Origin::Drawn(drawn) = &self.origin else { return None };
        let flows = match self.extent {
            Extent::Flows(flows) => u32::try_from(flows).unwrap_or(u32::MAX),
            // More than in any run.
            _ => u32::MAX,
        };
        // An error would have been found when the workload was read.
        drawn.closed_loop(flows, seed).ok().flatten()
    }

    /// Returns the collectives, if messages follow others in them.
    pub fn collectives(&self, seed: u64) -> Option<Collectives> {
        let Origin::Collective(collective) = &self.origin else { return None };
        Some(collective.with_seed(seed))
    }

    /// Returns the queries that go on in addition to the flows.
    pub fn queries(&self, seed: u64) -> Option<Queries> {
        // An error would have been found when the workload was read.
        self.asked.as_ref()?.with_seed(seed).ok()
    }

    /// Returns how many hosts may send to one at once, and the largest message that each sends: two of any workload, more
    /// where it says so.
    pub(crate) fn at_once(&self) -> Vec<(u32, u64)> {
        let of = |part: &Workload| {
            let senders = match &part.origin {
                Origin::Drawn(drawn) => match drawn.traffic.pattern {
                    Pattern::Incast { fan_in, .. } => fan_in,
                    _ => 2,
                },
                Origin::Collective(collective) => collective.senders(),
                Origin::Listed(_) | Origin::Several(_) => 2,
            };
            let of_answers = part.asked.as_ref().map(|asked| (asked.servers(), asked.answers.max_bytes()));
            [(senders.max(2), part.quantile_bytes(1.0).unwrap_or(u64::MAX))].into_iter().chain(of_answers)
        };
        self.parts().into_iter().flat_map(|(_, part)| of(part)).collect()
    }

    /// Returns the optional columns that a list of its flows needs.
    pub fn extras(&self) -> Extras {
        match &self.origin {
            Origin::Drawn(drawn) => {
                let deadlines = drawn.deadlines.is_some();
                let classes = drawn.traffic.from_start.mix.is_some() || self.classes.is_some();
                let recorded = self.recorded.as_ref().map(|recorded| recorded.list().extras.clone());
                let coflows = matches!(drawn.traffic.pattern, Pattern::Incast { .. });
                Extras { deadlines, classes, coflows, ..recorded.unwrap_or_default() }
            }
            Origin::Collective(_) => {
                Extras { coflows: true, classes: self.highest_class().is_some(), ..Extras::default() }
            }
            Origin::Listed(list) => {
                Extras { classes: list.extras.classes || self.classes.is_some(), ..list.extras.clone() }
            }
            Origin::Several(several) => several.extras(),
        }
    }

    /// Returns a flow of a list with its prediction and its recorded features.
    pub fn beside(&self, flow: Flow) -> (Flow, Prediction, &[u64]) {
        match (&self.origin, &self.recorded) {
            (Origin::Drawn(_), None) | (Origin::Collective(_), _) => (flow, Prediction::default(), &[]),
            (Origin::Drawn(_), Some(recorded)) => {
                let (prediction, features) = recorded.beside(&flow);
                (flow, prediction, features)
            }
            (Origin::Listed(list), _) => list.list.row(flow),
            // Such lists are refused among several workloads.
            (Origin::Several(_), _) => (flow, Prediction::default(), &[]),
        }
    }

    /// Returns whether all its flows are known before the run and belong to coflows.
    pub fn has_coflows(&self) -> bool {
        match &self.origin {
            Origin::Drawn(_) | Origin::Collective(_) => false,
            Origin::Listed(list) => list.extras.coflows,
            Origin::Several(several) => several.has_coflows(),
        }
    }

    /// Returns the highest class of the flows of a list or of several workloads, and the error if that class is not
    /// allowed.
    pub fn highest_class(&self) -> Option<(u8, Error)> {
        match &self.origin {
            Origin::Several(several) => several.highest_class(),
            Origin::Collective(collective) => collective.highest_class(),
            _ => {
                let (class, error) = self.listed()?.highest_class();
                Some((class, error.into()))
            }
        }
    }

    /// Returns its workloads with name and class, if there are several; otherwise itself.
    pub(crate) fn parts(&self) -> Vec<(Option<(&str, u8)>, &Workload)> {
        match &self.origin {
            Origin::Several(several) => several.parts().map(|(name, class, of)| (Some((name, class)), of)).collect(),
            _ => vec![(None, self)],
        }
    }

    /// Returns the numbers of the flows for which those of other workloads wait, rising.
    pub(crate) fn waited_for(&self, seed: u64) -> Vec<u32> {
        match (&self.origin, self.extent) {
            // An error would have been found when the workload was read.
            (Origin::Several(several), Extent::Entries { endless: true }) => {
                several.with_an_end(seed).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// Returns what you should know of it before it runs, in sentences.
    pub(crate) fn sentences(&self) -> Vec<String> {
        match (&self.origin, &self.paced) {
            (Origin::Several(several), _) => several.sentences(),
            (_, paced) => {
                let screened = self.screen.iter().map(|screen| screen.sentence());
                screened.chain(paced.clone()).collect()
            }
        }
    }

    /// Returns the distribution of sizes, if sizes are drawn.
    pub(crate) fn drawn_sizes(&self) -> Option<&SizeDistribution> {
        match &self.origin {
            Origin::Drawn(drawn) => Some(&drawn.traffic.from_start.sizes),
            Origin::Collective(collective) => Some(collective.sizes()),
            Origin::Listed(_) | Origin::Several(_) => None,
        }
    }

    /// Returns the list that is replayed, if there is one.
    pub(crate) fn listed(&self) -> Option<&List> {
        match &self.origin {
            Origin::Listed(list) => Some(list),
            Origin::Drawn(_) | Origin::Collective(_) | Origin::Several(_) => None,
        }
    }

    /// Returns whether only the flows to a sample of receivers are sent.
    pub(crate) fn is_screened(&self) -> bool {
        self.screen.is_some()
    }

    /// Lists what of its list is not read, or read differently than written.
    pub(crate) fn list_notes(&self) -> Vec<String> {
        let recorded = self.recorded.as_ref().map(Recorded::list);
        self.listed().into_iter().chain(recorded).flat_map(List::notes).collect()
    }

    /// Returns the predictions of a list that has some.
    pub fn predictions(&self) -> Option<Arc<dyn Predict>> {
        let predicts = |list: &List| list.extras.bounds || list.extras.sizes;
        match (&self.origin, &self.recorded) {
            (Origin::Listed(list), _) if predicts(list) => Some(Arc::clone(list) as Arc<dyn Predict>),
            (_, Some(recorded)) if predicts(recorded.list()) => Some(Arc::new(recorded.clone())),
            _ => None,
        }
    }

    /// Returns what predicts its flows by the rows of a file, one for each flow of a list or for each recorded one that is
    /// sent; otherwise what is wrong with the rows.
    pub(crate) fn predicted(&self, by: Arc<ReadPredictions>) -> Result<Arc<dyn Predict>, String> {
        let flows = match (&self.origin, &self.recorded) {
            (Origin::Listed(list), _) => list.flows(),
            (_, Some(recorded)) => recorded.part(),
            _ => return Err("the workload has no `list` and no `recorded` flows".to_owned()),
        };
        if by.rows.len() != flows.len() {
            return Err(format!("it has {} rows, and there are {} flows", by.rows.len(), flows.len()));
        }
        let rows = (1..).zip(by.rows.iter().zip(flows));
        let other = |(nth, ((bytes, _), flow)): (usize, (&(u64, _), &Flow))| {
            (*bytes != flow.bytes)
                .then(|| format!("row {nth} is of a flow of {bytes} bytes, and the flow has {}", flow.bytes))
        };
        if let Some(problem) = rows.into_iter().find_map(other) {
            return Err(problem);
        }
        Ok(match &self.recorded {
            Some(recorded) => Arc::new(recorded.predicted(by)),
            None => by,
        })
    }
}

/// Reads the framing of packets, without a scheme's own settings.
fn framing(scope: &Scope<'_>) -> Result<Framing, SettingsError> {
    let header = parameters::header(scope)?;
    Ok(Framing {
        payload_bytes: parameters::segment(scope)?.into(),
        header_bytes: header.into(),
        overhead_bytes: parameters::wire_overhead(scope)?.into(),
        ack_bytes: header.into(),
        data_packets_per_ack: parameters::ack_every(scope)?,
        ungranted_packets: 0,
    })
}

fn classes(scope: &Scope<'_>) -> Result<Option<ClassShare>, SettingsError> {
    Ok(scope.optional(&CLASS_SHARE)?.map(|share| ClassShare { share }))
}

/// Refuses keys that conflict with `key`, which is given.
fn refuse_beside(scope: &Scope<'_>, key: &Key, others: &[&Key]) -> Result<(), SettingsError> {
    let name = key.name;
    match others.iter().find(|other| scope.is_given(other)) {
        Some(other) => {
            let problem = format!("`{}` has no effect with `{name}`", other.name);
            Err(scope.error(other, problem).expected(format!("one of the two: `{name}` replaces it")))
        }
        None => Ok(()),
    }
}
