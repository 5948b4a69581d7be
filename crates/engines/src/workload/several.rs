//! Several workloads in one run, `[[workload]]`. Each draws from its own streams, has its own class of traffic, and
//! ends by its own settings or when all others have ended.
//!
//! Together they form one workload, in the order of starts. A workload's flows depend on its settings, its name and the
//! seed: adding another workload does not change them.

use flowsieve_experiment::Error;
use flowsieve_settings::declare;
use flowsieve_settings::{self as settings, Key, Scope, Section, Setting, Settings, SettingsError};
use flowsieve_sim::topology::Fabric;
use flowsieve_workload::flow_list::Extras;
use flowsieve_workload::random::seed_of_workload;
use flowsieve_workload::{Flow, MAX_COFLOW, Merged, Pattern};
use std::path::Path;
use std::sync::Arc;

use super::crossings::weighted;
use super::extent::window;
use super::files::Files;
use super::traffic::{ArrivalsName, MIX_SIZES};
use super::{ARRIVALS, CLASS_SHARE, COFLOWS, Extent, FLOWS, Hosts, LIST, MEASURE, Origin, QUERIES, RECORDED, Workload};

declare! {
    static CLASS: Setting<u64> = Setting::count(
        Section::Workload, "class", 0, 255, "class of this workload's flows, if there are several workloads",
    );
}

/// How long a workload without an end continues after the last start of the others, in ps: an estimate.
const ABOUT_AFTER_PS: f64 = 1e9;

type Flows = Box<dyn Iterator<Item = Flow> + Send>;

/// One of several workloads.
#[derive(Debug)]
struct One {
    name: String,
    class: u8,
    /// Where the class was given, or else the name.
    place: settings::Origin,
    workload: Workload,
    /// How its coflows are numbered among those of all, if it has any: (step, first number).
    coflows: Option<(u32, u32)>,
}

/// Workloads that are sent together.
#[derive(Debug, Clone)]
pub(super) struct Several {
    all: Arc<[One]>,
    /// The end of the run's window, if it has one.
    window_end: Option<u64>,
}

/// Reads all of them.
pub(super) fn read(
    settings: &Settings,
    hosts: &Hosts,
    files: &Files,
    (folder, seed): (&Path, u64),
) -> Result<Workload, Error> {
    let common = settings.common();
    let mut all = Vec::new();
    for (index, (name, origin)) in settings.workloads().iter().enumerate() {
        let scope = settings.workload(Some(name));
        refuse_what_follows(&scope)?;
        let workload = Workload::read_one(&scope, hosts, files, (folder, seed_of_workload(seed, name)))?;
        refuse_own_classes(&scope, &workload)?;
        refuse_predictions(&scope, &workload)?;
        let class = scope.read_or(&CLASS, index as u64)?;
        let place = if scope.is_given(&CLASS) { scope.error(&CLASS, "").origin } else { origin.clone() };
        // The key's own limits keep it within 8 bits, and so does the limit on workloads.
        let class = u8::try_from(class).unwrap_or(u8::MAX);
        all.push(One { name: name.clone(), class, place, workload, coflows: None });
    }
    number_coflows(settings, &mut all)?;
    let window = if common.read(&MEASURE)? { Some(window(&common)?) } else { None };
    let are_endless = || all.iter().map(|one| one.workload.extent == Extent::Others);
    let counts = all.iter().map(|one| if let Extent::Flows(flows) = one.workload.extent { Some(flows) } else { None });
    let extent = match (window, counts.sum::<Option<u64>>()) {
        (Some((from, to)), _) => Extent::Window(from, to),
        (None, Some(flows)) => Extent::Flows(flows),
        (None, None) => Extent::Entries { endless: are_endless().any(|is| is) },
    };
    if window.is_none() && are_endless().all(|is| is) {
        let problem = "each workload waits until the others have finished, so none ever ends";
        let expected = "`flows`, `duration` or a `list` in one of them at least, or measure = \"window\" in [run]";
        return Err(settings
            .workload(all.first().map(|one| &*one.name))
            .error(&FLOWS, problem)
            .expected(expected)
            .into());
    }
    let framing = all[0].workload.framing;
    let several = Several { all: all.into(), window_end: window.map(|(_, to)| to) };
    Ok(Workload::of(Origin::Several(several), extent, framing))
}

/// Refuses workloads with flows that only the run determines.
fn refuse_what_follows(scope: &Scope<'_>) -> Result<(), SettingsError> {
    let expected = "[workload] alone: the starts are known only during the run, and a run has one such workload";
    super::collectives::refuse_among_several(scope, expected)?;
    if scope.is_given(&QUERIES) {
        return Err(scope.error(&QUERIES, "queries among several workloads").expected(expected));
    }
    if scope.is_given(&ARRIVALS) && scope.read(&ARRIVALS)? == ArrivalsName::ClosedLoop {
        return Err(scope.error(&ARRIVALS, "a closed loop among several workloads").expected(expected));
    }
    Ok(())
}

/// Refuses classes within one of several workloads, whose own class separates it from the others.
fn refuse_own_classes(scope: &Scope<'_>, workload: &Workload) -> Result<(), SettingsError> {
    let expected = "one class for each [[workload]]: use two of them instead of one with two classes";
    let keys: [&Key; 2] = [&MIX_SIZES, &CLASS_SHARE];
    if let Some(key) = keys.into_iter().find(|key| scope.is_given(key)) {
        return Err(scope.error(key, format!("`{}` within one of several workloads", key.name)).expected(expected));
    }
    if workload.extras().classes {
        let problem = "a list with a column `class` within one of several workloads";
        return Err(scope.error(&LIST, problem).expected(expected));
    }
    Ok(())
}

/// Refuses a list's predictions or recorded features: they go by flow numbers, which change among several workloads.
fn refuse_predictions(scope: &Scope<'_>, workload: &Workload) -> Result<(), SettingsError> {
    let Extras { bounds, sizes, features, .. } = workload.extras();
    if !bounds && !sizes && features.is_empty() {
        return Ok(());
    }
    let key: &Key = if scope.is_given(&RECORDED) { &RECORDED } else { &LIST };
    let problem = "a list with predictions or features within one of several workloads";
    Err(scope.error(key, problem).expected("a list without these columns, or [workload] alone"))
}

/// Numbers the coflows of the workloads in turn. A single workload with coflows keeps their numbers.
fn number_coflows(settings: &Settings, all: &mut [One]) -> Result<(), SettingsError> {
    let having = all.iter().filter(|one| one.workload.extras().coflows).count() as u32;
    for (one, turn) in all.iter_mut().filter(|one| one.workload.extras().coflows).zip(0..) {
        let listed = one.workload.listed().map_or(&[][..], |list| list.flows());
        let most = (MAX_COFLOW - turn) / having;
        if let Some(coflow) = listed.iter().filter_map(|flow| flow.coflow).find(|coflow| *coflow > most) {
            let scope = settings.workload(Some(&one.name));
            let key: &Key = if scope.is_given(&LIST) { &LIST } else { &COFLOWS };
            let problem = format!("a coflow has the number {coflow}, but {having} workloads have coflows");
            return Err(scope.error(key, problem).expected(format!("numbers up to {most}")));
        }
        one.coflows = Some((having, turn));
    }
    Ok(())
}

impl One {
    /// Returns its flows, up to its limit.
    fn flows(&self, seed: u64) -> Result<Flows, String> {
        let flows = self.workload.flows_to_end(seed_of_workload(seed, &self.name))?;
        let (class, numbers) = (self.class, self.coflows);
        let number = move |coflow: u32| {
            let (by, from) = numbers.unwrap_or((1, 0));
            coflow.saturating_mul(by).saturating_add(from)
        };
        Ok(Box::new(flows.map(move |flow| Flow { class, coflow: flow.coflow.map(number), ..flow })))
    }

    fn is_endless(&self) -> bool {
        self.workload.extent == Extent::Others
    }

    fn has_requests(&self) -> bool {
        matches!(&self.workload.origin, Origin::Drawn(drawn) if matches!(drawn.traffic.pattern, Pattern::Incast { .. }))
    }
}

impl Several {
    fn merged(&self, seed: u64) -> Result<Merged<Flows>, String> {
        Ok(Merged::of(self.all.iter().map(|one| one.flows(seed)).collect::<Result<Vec<_>, _>>()?))
    }

    pub(super) fn flows(&self, seed: u64) -> Result<Flows, String> {
        Ok(Box::new(self.merged(seed)?.map(|(_, flow)| flow)))
    }

    /// Returns the numbers of the flows of those workloads that have an end, rising.
    pub(super) fn with_an_end(&self, seed: u64) -> Result<Vec<u32>, String> {
        let has_an_end = |number: usize| self.all.get(number).is_some_and(|one| !one.is_endless());
        let (mut merged, mut numbers) = (self.merged(seed)?, Vec::new());
        while merged.has_more_of(has_an_end) {
            let Some((of, flow)) = merged.next() else { break };
            if has_an_end(of) {
                numbers.push(flow.id);
            }
        }
        Ok(numbers)
    }

    /// Returns each workload with its name and class.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&str, u8, &Workload)> {
        self.all.iter().map(|one| (one.name.as_str(), one.class, &one.workload))
    }

    pub(super) fn sentences(&self) -> Vec<String> {
        self.all.iter().flat_map(|one| one.workload.sentences()).collect()
    }

    pub(super) fn extras(&self) -> Extras {
        let of = |has: fn(&Extras) -> bool| self.all.iter().any(|one| has(&one.workload.extras()));
        Extras {
            deadlines: of(|extras| extras.deadlines),
            coflows: of(|extras| extras.coflows),
            classes: self.all.iter().any(|one| one.class > 0),
            ..Extras::default()
        }
    }

    /// Returns whether all flows are known before the run and belong to coflows.
    pub(super) fn has_coflows(&self) -> bool {
        self.extras().coflows && !self.all.iter().any(|one| one.is_endless() || one.has_requests())
    }

    pub(super) fn highest_class(&self) -> Option<(u8, Error)> {
        let highest = self.all.iter().rev().max_by_key(|one| one.class)?;
        let problem = format!("class is `{}`", highest.class);
        let error = SettingsError::new(highest.place.clone(), problem).of_key(CLASS.name);
        Some((highest.class, error.into()))
    }

    /// Estimates how long flows arrive, in ps: until the window's end, or until the last start of the workloads that
    /// have an end.
    pub(super) fn span_ps(&self) -> f64 {
        let ends = self.all.iter().filter(|one| !one.is_endless()).filter_map(|one| one.workload.arrivals_span_ps());
        self.window_end.map_or_else(|| ends.fold(0.0, f64::max), |end| end as f64)
    }

    /// Estimates how many flows of each start before a time.
    fn flows_before(&self, end_ps: u64) -> Vec<f64> {
        let end_of =
            |one: &One| if one.is_endless() { end_ps.min((self.span_ps() + ABOUT_AFTER_PS) as u64) } else { end_ps };
        self.all.iter().map(|one| one.workload.expected_flows_within(0, end_of(one))).collect()
    }

    pub(super) fn expected_flows_before(&self, end_ps: u64) -> f64 {
        self.flows_before(end_ps).into_iter().sum()
    }

    /// Estimates the number of flows of each in the run.
    fn expected(&self) -> Vec<f64> {
        self.flows_before(self.window_end.unwrap_or(u64::MAX))
    }

    pub(super) fn expected_flows(&self) -> f64 {
        self.expected().into_iter().sum()
    }

    pub(super) fn packets_per_flow(&self) -> f64 {
        let packets = self.all.iter().zip(self.expected()).map(|(one, flows)| flows * one.workload.packets_per_flow());
        packets.sum::<f64>() / self.expected_flows().max(1.0)
    }

    /// Returns the sum of the bit/s of all that have a rate.
    pub(super) fn offered_bps(&self) -> Option<f64> {
        self.all.iter().filter_map(|one| one.workload.mean_bps()).reduce(|all, one| all + one)
    }

    /// Returns the bit/s on each class of links.
    pub(super) fn class_bps(&self, fabric: &Fabric, seed: u64) -> Option<Vec<f64>> {
        let of_one = |one: &One| {
            let bps = one.workload.mean_bps()?;
            let crossings = one.workload.crossings(fabric, seed_of_workload(seed, &one.name));
            Some(crossings.into_iter().map(|crossing| bps * crossing).collect::<Vec<f64>>())
        };
        self.all.iter().filter_map(of_one).reduce(|all, one| all.iter().zip(&one).map(|(all, one)| all + one).collect())
    }

    /// Returns the mean number of links of each class that a packet crosses.
    pub(super) fn crossings(&self, fabric: &Fabric, seed: u64) -> Vec<f64> {
        let each = self.all.iter().zip(self.expected()).map(|(one, flows)| {
            let crossings = one.workload.crossings(fabric, seed_of_workload(seed, &one.name));
            (crossings, flows * one.workload.packets_per_flow())
        });
        weighted(fabric.classes.len(), each)
    }

    /// Returns the size in bytes that a share `p` of all flows do not exceed.
    pub(super) fn quantile(&self, p: f64) -> Option<u64> {
        let each: Vec<(&One, f64)> = self.all.iter().zip(self.expected()).filter(|(_, flows)| *flows > 0.0).collect();
        let all: f64 = each.iter().map(|(_, flows)| flows).sum();
        let of_each =
            || each.iter().filter_map(|(one, _)| flowsieve_schemes::WorkloadFacts::quantile_bytes(&one.workload, p));
        let (mut low, mut high) = (of_each().min()?, of_each().max()?);
        while low < high {
            let middle = low + (high - low) / 2;
            let share = each.iter().map(|(one, flows)| flows / all * one.workload.cdf(middle)).sum::<f64>();
            if share < p { low = middle + 1 } else { high = middle }
        }
        Some(high)
    }
}
