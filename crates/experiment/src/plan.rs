//! Turns an experiment file into the runs that it asks for; everything is checked before the first one starts.

pub use crate::changes::Changes;
use crate::document::{self, Document};
use crate::engine::{BaseRoundTrip, Engines, Needed, Reading, SizeLaw, TraceSize};
use crate::error::{Error, nearest};
use crate::experiment_text::ExperimentText;
use crate::folder::Folder;
use crate::further::Tables;
use crate::model::{MODEL, key_of_model, part_key};
use crate::overrides;
use crate::points::{self, Point, Unread};
use crate::scale::{Scale, ScaleTable};
use crate::scheme_files::{self, SchemeText};
use crate::shorter::Whole;
use crate::source::Source;
use flowsieve_results::looks::LOOKS;
use flowsieve_results::{
    Axis, CoflowClassBounds, Experiment, Further, PartId, PointInfo, Record, SchemeInfo, SizeClasses,
};
use flowsieve_settings::declare;
use flowsieve_settings::{Origin, Raw, Section, Setting, SettingsError, Table};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Add;
use std::path::Path;
use std::sync::Arc;

declare! {
    static SEEDS: Setting<u64> = Setting::count(
        Section::Run, "seeds", 1, 10_000, "number of seeds of each point",
    )
    .with_default(1);
    static SEED: Setting<u64> = Setting::count(Section::Run, "seed", 0, 1_000_000_000, "the first seed").with_default(1);
    static FLOW_RECORDS: Setting<Record> = Setting::choice(
        Section::Run,
        "flow_records",
        &[("full", Record::Full), ("sample", Record::Sample), ("none", Record::None)],
        "which flows flows.parquet keeps: all, an even sample, or none; less than all makes percentiles approximate",
    )
    .with_default(Record::Full);
    static SIZE_CLASSES: Setting<Vec<u64>> = Setting::sizes(
        Section::Report, "size_classes", "bounds between the size classes of tables and plots",
    );
    static LONG_COFLOWS: Setting<u64> = Setting::size(
        Section::Report, "long_coflows", 1, 1_000_000_000_000_000, "coflows are long if their longest flow has at least \
        this size",
    )
    .with_default(5_000_000);
    static WIDE_COFLOWS: Setting<u64> = Setting::count(
        Section::Report, "wide_coflows", 1, 1_000_000_000, "coflows are wide if they have at least this many flows",
    )
    .with_default(51);
}

/// The fewest seeds of a screened experiment, unless `--seeds` says otherwise.
const SAMPLES: u64 = 5;

/// One run to make: a point with a seed.
#[derive(Debug, Clone)]
pub struct PlannedRun {
    /// Index of the point.
    pub point: usize,
    /// Its seed.
    pub seed: u64,
    /// The name of its part.
    pub key: String,
    /// Estimated packet-hops.
    pub packet_hops: f64,
    /// Estimated upper bound of its memory, in bytes.
    pub memory_bytes: u64,
    /// Estimated size of its packet trace, if it has one.
    pub trace: Option<TraceSize>,
}

/// A nominal load as loads on the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct WireLoads {
    /// The nominal load.
    pub nominal: Option<f64>,
    /// The share of each class of links that data and ACKs take, framing included.
    pub classes: Vec<(String, f64)>,
}

impl WireLoads {
    pub(crate) fn in_words(&self) -> String {
        let nominal = self.nominal.map(|load| format!("load {load} ")).unwrap_or_default();
        let classes: Vec<String> = self.classes.iter().map(|(class, load)| format!("{class} {load:.3}")).collect();
        format!("{nominal}on the wire, by the mean flow with ACKs and framing: {}", classes.join(", "))
    }
}

/// An experiment that is ready to run.
#[derive(Debug)]
pub struct Plan {
    /// The name of the experiment's file.
    pub name: String,
    /// The changes made to it.
    pub changes: Changes,
    /// The description in its results.
    pub experiment: Experiment,
    /// Its points, in the order of `experiment.points`.
    pub points: Vec<Point>,
    /// Its runs in the order in which they start: seed by seed, point by point.
    pub runs: Vec<PlannedRun>,
    /// What the user should know before it runs.
    pub warnings: Vec<String>,
    /// The laws of the points' sizes, each once.
    pub sizes: Vec<SizeLaw>,
    /// The points' loads on the wire, each once.
    pub loads: Vec<WireLoads>,
    /// The base round trips of the points' fabrics, by kind of path, each once.
    pub round_trips: Vec<Vec<BaseRoundTrip>>,
}

impl Plan {
    /// Returns the estimated packet-hops of all runs together.
    pub fn packet_hops(&self) -> f64 {
        // An empty sum is -0.
        self.runs.iter().map(|run| run.packet_hops).sum::<f64>() + 0.0
    }

    /// Returns its runs with their indices in [`Plan::runs`], each part once: points with equal settings share one.
    pub fn distinct(&self) -> impl Iterator<Item = (usize, &PlannedRun)> {
        let mut keys = BTreeSet::new();
        self.runs.iter().enumerate().filter(move |(_, run)| keys.insert(run.key.as_str()))
    }

    /// Returns the first seed of its runs.
    pub fn first_seed(&self) -> u64 {
        self.runs.iter().map(|run| run.seed).min().unwrap_or(1)
    }

    /// Raises a point's number of seeds to `seeds`.
    pub fn raise_seeds(&mut self, point: usize, seeds: usize) {
        let kept = kept(&self.experiment);
        let Some(last) = self.runs.iter().rfind(|run| run.point == point).cloned() else { return };
        let info = &mut self.experiment.points[point];
        for seed in last.seed + 1..=last.seed + seeds.saturating_sub(info.parts.len()) as u64 {
            let key = part_key(&info.settings, seed, &kept);
            info.parts.push(PartId { seed, key: key.clone() });
            self.runs.push(PlannedRun { seed, key, ..last.clone() });
        }
        self.runs.sort_by_key(|run| (run.seed, run.point));
    }

    /// Returns the name that the part had under another model, if its settings are the same.
    pub fn key_of_model(&self, point: usize, seed: u64, model: &str) -> String {
        key_of_model(&self.experiment.points[point].settings, seed, &kept(&self.experiment), model)
    }

    /// Returns the name of the part of a point with a seed.
    pub fn key(&self, point: usize, seed: u64) -> String {
        self.key_of_model(point, seed, &MODEL.to_string())
    }

    /// Returns the plan without the runs of these parts, and without the points that have no runs left.
    pub fn without(&self, is_left_out: impl Fn(&str) -> bool) -> Plan {
        let mut runs: Vec<PlannedRun> = self.runs.iter().filter(|run| !is_left_out(&run.key)).cloned().collect();
        let holds = |point: &usize| runs.iter().any(|run| run.point == *point);
        let left: Vec<usize> = (0..self.points.len()).filter(holds).collect();
        let mut experiment = self.experiment.clone();
        experiment.points = left.iter().map(|&point| self.experiment.points[point].clone()).collect();
        for point in &mut experiment.points {
            point.parts.retain(|part| !is_left_out(&part.key));
        }
        for run in &mut runs {
            run.point = left.iter().position(|point| *point == run.point).unwrap_or(0);
        }
        Plan {
            name: self.name.clone(),
            changes: self.changes.clone(),
            experiment,
            points: left.iter().map(|&point| self.points[point].clone()).collect(),
            runs,
            warnings: self.warnings.clone(),
            sizes: self.sizes.clone(),
            loads: self.loads.clone(),
            round_trips: self.round_trips.clone(),
        }
    }

    /// Returns the estimated size of all packet traces together, if there are any.
    pub fn trace(&self) -> Option<TraceSize> {
        self.runs.iter().filter_map(|run| run.trace).reduce(TraceSize::add)
    }
}

/// Reads an experiment (a file, a bundle, or a built-in one) and plans it.
pub fn read(path: &Path, changes: &Changes, engines: &Engines) -> Result<Plan, Error> {
    Source::open(path)?.with(changes).plan(engines)
}

/// Plans an experiment whose text is in memory.
pub fn plan(input: &ExperimentText, folder: &Path, changes: &Changes, engines: &Engines) -> Result<Plan, Error> {
    plan_in(input, &Folder::at(folder), changes, engines)
}

/// Plans an experiment in a folder that its points share.
pub(crate) fn plan_in(
    input: &ExperimentText,
    folder: &Folder,
    changes: &Changes,
    engines: &Engines,
) -> Result<Plan, Error> {
    plan_document(input, folder, changes, engines).map_err(|error| error.in_text(input))
}

fn plan_document(input: &ExperimentText, folder: &Folder, changes: &Changes, engines: &Engines) -> Result<Plan, Error> {
    let (document, mut faults) = document::read(input, engines)?;
    let planned = plan_read(input, document, folder, changes, engines);
    // What the rest says may follow from what is wrong; but what is lacking is lacking.
    if let Err(Error::Setting { error, .. }) = &planned {
        let is_about = |fault: &SettingsError, key| {
            let near = fault.wrong_name.as_ref().and_then(|name| nearest(&name.given, &name.valid));
            fault.key() == Some(key) || near == Some(key)
        };
        let is_new = |key| !faults.is_empty() && !faults.iter().any(|fault| is_about(fault, key));
        if error.table().is_some() && error.key().is_some_and(is_new) {
            faults.push(*error.clone());
        }
    }
    SettingsError::joined(faults).map_or(planned, |error| Err(error.into()))
}

fn plan_read(
    input: &ExperimentText,
    mut document: Document,
    folder: &Folder,
    changes: &Changes,
    engines: &Engines,
) -> Result<Plan, Error> {
    let mut schemes = engines.schemes();
    let names: Vec<String> = schemes.iter().map(|scheme| scheme.name.clone()).collect();
    let builtin: Vec<&str> = names.iter().map(String::as_str).collect();
    let as_written = document.clone();
    let scale = changes.scale.choose(&mut document)?;
    let wrong: Vec<SettingsError> =
        changes.sets.iter().filter_map(|set| overrides::apply(&mut document, set).err()).collect();
    if let Some(error) = SettingsError::joined(wrong) {
        return Err(error.into());
    }
    let files: Arc<[SchemeText]> = scheme_files::read([&as_written, &document], folder, &builtin)?.into();
    schemes.extend(engines.users_schemes(&files)?);
    let whole = Whole::of(&as_written, changes.scale, (folder, &builtin, &files))?;
    let mut points = points::points(&document, folder, &builtin, &files)?;
    if let Some(table) = &scale {
        table.give_flows(&mut points, changes.sets.is_empty())?;
        table.shorten(&mut points)?;
    }
    let shorter = |ps: u64| scale.as_ref().map_or(ps, |table| table.shorter(ps));
    let classes = size_classes(&document)?;
    let (first_seed, seeds) = seeds(&mut document, changes, scale.is_some())?;
    let mut experiment = Experiment {
        title: document.title.clone().unwrap_or_else(|| input.stem()),
        text: input.text.to_string(),
        changes: changes.list(),
        versions: BTreeMap::from([
            ("flowsieve".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("model".to_owned(), MODEL.to_string()),
        ]),
        classes,
        record: document.settings.common().read(&FLOW_RECORDS)?,
        coflow_classes: coflow_classes(&document)?,
        looks: changes.resolve,
        further: document.further.as_ref().map_or_else(Further::default, |given| given.further(&shorter)),
        schemes: scheme_infos(&points, &schemes, engines)?,
        scheme_files: files.iter().map(|file| (file.name.clone(), file.text.text.to_string())).collect(),
        ..Experiment::default()
    };
    let kept = kept(&experiment);
    let mut of_points: Vec<(String, Vec<String>)> = Vec::new();
    let mut loads: Vec<WireLoads> = Vec::new();
    let mut sizes: Vec<SizeLaw> = Vec::new();
    let mut round_trips: Vec<Vec<BaseRoundTrip>> = Vec::new();
    let mut infos = Vec::with_capacity(points.len());
    let mut runs = Vec::with_capacity(points.len());
    let mut readings = Vec::with_capacity(points.len());
    let mut faults: Vec<SettingsError> = Vec::new();
    for point in &mut points {
        if scale.is_none() {
            changes.scale.lower(&mut point.settings)?;
        }
        let mut read = || {
            let completed = engines.complete(point)?;
            let (mut reading, settings) = engines.read(point, first_seed)?;
            reading.warnings.splice(0..0, completed);
            Ok((reading, settings))
        };
        match read() {
            Ok(read) => readings.push(read),
            // Another point may have another fault.
            Err(Error::Setting { error, .. }) => {
                if !faults.iter().any(|known| (&known.origin, known.key()) == (&error.origin, error.key())) {
                    faults.push(*error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = SettingsError::joined(faults) {
        return Err(error.into());
    }
    let mut warnings: Vec<String> = agree(&mut points, &mut readings, engines, first_seed)?.into_iter().collect();
    for (index, (point, (reading, settings))) in points.iter().zip(readings).enumerate() {
        for warning in reading.warnings {
            match of_points.iter_mut().find(|(other, _)| *other == warning) {
                Some((_, labels)) => labels.push(point.label()),
                None => of_points.push((warning, vec![point.label()])),
            }
        }
        let part = |seed| PartId { seed, key: part_key(&settings, seed, &kept) };
        let parts: Vec<PartId> = (first_seed..first_seed + seeds).map(part).collect();
        let run = |part: &PartId| PlannedRun {
            point: index,
            seed: part.seed,
            key: part.key.clone(),
            packet_hops: reading.packet_hops,
            memory_bytes: reading.memory_bytes,
            trace: reading.trace,
        };
        runs.extend(parts.iter().map(run));
        let info = PointInfo {
            thresholds_bytes: reading.thresholds_bytes,
            shorter: whole.taken_from(point),
            average: reading.average,
            ..point_info(point, settings, reading.fabric, parts)
        };
        let load = WireLoads { nominal: info.load, classes: reading.loads };
        if !load.classes.is_empty() && !loads.contains(&load) {
            loads.push(load);
        }
        if let Some(law) = reading.sizes.filter(|law| !sizes.contains(law)) {
            sizes.push(law);
        }
        if !reading.round_trips.is_empty() && !round_trips.contains(&reading.round_trips) {
            round_trips.push(reading.round_trips);
        }
        infos.push(info);
    }
    runs.sort_by_key(|run| (run.seed, run.point));
    warnings.extend(of_points.iter().map(of_several));
    experiment.points = infos;
    mark_screened(&mut experiment, engines, &mut warnings);
    refuse_unread(&points, &document, changes, scale.as_ref(), engines.without(&points), &mut warnings)?;
    warnings.extend(twins(&experiment.points));
    // A sweep narrowed by the command line or a smaller scale need not have what further tables are about.
    let is_whole = changes.sets.is_empty() && (scale.is_none() || changes.scale == Scale::Paper);
    if let Some(given) = document.further.filter(|_| is_whole) {
        given.check(&experiment)?;
    }
    Ok(Plan {
        name: input.name.to_string(),
        changes: changes.clone(),
        experiment,
        points,
        runs,
        warnings,
        sizes,
        loads,
        round_trips,
    })
}

/// Gives all points a setting that one of them needs and none is given, so that they are measured alike; returns which.
fn agree(
    points: &mut [Point],
    readings: &mut [(Reading, BTreeMap<String, String>)],
    engines: &Engines,
    seed: u64,
) -> Result<Option<String>, Error> {
    let Some(Needed { key, value, why }) = readings.iter().find_map(|(reading, _)| reading.needs.clone()) else {
        return Ok(None);
    };
    for (point, read) in points.iter_mut().zip(readings) {
        let Some(key) = point.settings.find(key) else { continue };
        let table = Table::Section(key.section);
        if point.settings.given(&(table.clone(), key.name)).is_none() {
            point.settings.give(table, key, &Raw::from(value), Origin::Default)?;
            if read.0.needs.is_none() {
                *read = engines.read(point, seed)?;
            }
        }
    }
    Ok(Some(format!("{key} = \"{value}\": {why}")))
}

/// Marks an experiment that sends a sample of its flows: in its title, which every page and table begins with. Further tables
/// are about whole runs.
fn mark_screened(experiment: &mut Experiment, engines: &Engines, warnings: &mut Vec<String>) {
    let Some(every) = experiment.screened().map(str::to_owned) else { return };
    experiment.title = format!("{} (screened: the flows to one host in {every})", experiment.title);
    let rows = std::mem::take(&mut experiment.further).count();
    if let Some(Tables { name, .. }) = engines.tables().filter(|_| rows > 0) {
        warnings.push(format!("screened: {rows} {name} are left out, as they are about all flows"));
    }
}

/// Formats a warning with the points that it is about.
fn of_several((warning, labels): &(String, Vec<String>)) -> String {
    match labels.as_slice() {
        [] => warning.clone(),
        [one] => format!("{one}: {warning}"),
        [first, others @ ..] => format!("{first} and {} more: {warning}", others.len()),
    }
}

/// Describes what a part keeps of its flows, if not all: the rest cannot be recovered.
fn kept(experiment: &Experiment) -> String {
    match experiment.record {
        Record::Full => String::new(),
        other => format!("{other:?} {:?}\n", experiment.cuts()),
    }
}

fn size_classes(document: &Document) -> Result<SizeClasses, Error> {
    let scope = document.settings.common();
    let Some(bounds) = scope.optional(&SIZE_CLASSES)? else { return Ok(SizeClasses::default()) };
    let classes = SizeClasses::from_bounds(&bounds);
    classes.map_err(|error| scope.error(&SIZE_CLASSES, error.to_string()).expected("bounds that rise").into())
}

fn coflow_classes(document: &Document) -> Result<CoflowClassBounds, Error> {
    let scope = document.settings.common();
    Ok(CoflowClassBounds { long_bytes: scope.read(&LONG_COFLOWS)?, wide_flows: scope.read(&WIDE_COFLOWS)? })
}

/// Returns the first seed and the number of seeds; the number is as in the file if the file states the scale.
fn seeds(document: &mut Document, changes: &Changes, stated: bool) -> Result<(u64, u64), Error> {
    if let Some(seeds) = changes.seeds {
        let origin = Origin::CommandLine(format!("--seeds {seeds}").into());
        let raw = Raw::Integer(i64::try_from(seeds).unwrap_or(i64::MAX));
        document.settings.give(Table::Section(SEEDS.section), &SEEDS, &raw, origin)?;
    }
    let scope = document.settings.common();
    let given = scope.read(&SEEDS)?;
    if changes.resolve {
        return Ok((scope.read(&SEED)?, LOOKS[0].seeds as u64));
    }
    // `--seeds` overrides the scale.
    let seeds = match changes.seeds {
        Some(_) => given,
        // Each seed is a sample of receivers, and intervals need several.
        None if changes.screens() => given.max(SAMPLES),
        None if stated => given,
        None => changes.scale.seeds(given),
    };
    Ok((scope.read(&SEED)?, seeds))
}

fn point_info(point: &Point, settings: BTreeMap<String, String>, fabric: String, parts: Vec<PartId>) -> PointInfo {
    let load = settings.get("workload.load").and_then(|load| load.parse().ok());
    let axis = |(name, value): &(Cow<'static, str>, String)| {
        // A name that is not a key is the path of one.
        let key =
            point.settings.find(name).map_or_else(|| name.to_string(), |key| format!("{}.{name}", key.section.path()));
        Axis { key, value: value.clone() }
    };
    let axes = point.values.iter().filter(|(name, _)| name != "load").map(axis).collect();
    let scheme = point.variant.name.clone();
    PointInfo { scheme, load, axes, settings, fabric, parts, ..PointInfo::default() }
}

/// Returns the schemes of the sweep in its order; a variant names its base.
fn scheme_infos(points: &[Point], builtin: &[SchemeInfo], engines: &Engines) -> Result<Vec<SchemeInfo>, Error> {
    let mut infos: Vec<SchemeInfo> = Vec::new();
    for point in points {
        let variant = &point.variant;
        if infos.iter().any(|info| info.name == variant.name) {
            continue;
        }
        let Some(base) = builtin.iter().find(|info| info.name == variant.base) else { continue };
        let mut info = SchemeInfo { name: variant.name.clone(), ..base.clone() };
        if variant.name != variant.base {
            // The file's own name says more about a variant than its base does.
            info.label = String::new();
            info.summary = format!("{} with other settings: {}", base.name, base.summary);
        }
        engines.describe(point, &mut info)?;
        infos.push(info);
    }
    Ok(infos)
}

/// Refuses a given key that nothing reads. If the command line or a scale left a key of the file without a reader, that
/// is a warning, or nothing if the key's scheme was left out. Keys given by the command line or the scale must be read.
fn refuse_unread(
    points: &[Point],
    document: &Document,
    changes: &Changes,
    scale: Option<&ScaleTable>,
    without: Option<&'static str>,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let elsewhere = document.settings.unread();
    let excused = |origin: &Origin| {
        changes.any() && matches!(origin, Origin::File { .. }) && !scale.is_some_and(|table| table.holds(origin))
    };
    let (left, wrong): (Vec<_>, Vec<_>) = points::unread(points, &elsewhere, excused, without)
        .into_iter()
        .partition(|unread| excused(&unread.error.origin));
    warnings.extend(left_behind(&left, changes));
    let errors = wrong.into_iter().map(|unread| unread.error).collect();
    SettingsError::joined(errors).map_or(Ok(()), |error| Err(error.into()))
}

/// Writes a sentence about the keys of the file that the changes have left without a reader.
fn left_behind(keys: &[Unread], changes: &Changes) -> Option<String> {
    let mut tables: Vec<(String, Vec<String>)> = Vec::new();
    let (mut file, mut lines) = ("", Vec::new());
    for Unread { table, name, error } in keys {
        let Origin::File { file: of_key, line, .. } = &error.origin else { continue };
        file = of_key;
        lines.push(line.to_string());
        let key = format!("`{name}`");
        match tables.iter_mut().find(|(known, _)| *known == table.to_string()) {
            Some((_, names)) => names.push(key),
            None => tables.push((table.to_string(), vec![key])),
        }
    }
    let of_tables: Vec<String> =
        tables.iter().map(|(table, keys)| format!("{} in [{table}]", keys.join(", "))).collect();
    let sets: Vec<String> = changes.sets.iter().map(|set| format!("--set {set}")).collect();
    let with = if sets.is_empty() { changes.list().join(", ") } else { sets.join(" ") };
    let these = if lines.len() == 1 { "this key" } else { "these keys" };
    let keys = of_tables.join("; ");
    (!lines.is_empty())
        .then(|| format!("with {with}, nothing reads {these} of {file} (line {}): {keys}", lines.join(", ")))
}

/// Finds schemes with different names and equal effective configurations: their results will be equal, too.
fn twins(points: &[PointInfo]) -> Vec<String> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let same = |other: &&PointInfo| {
            other.scheme != point.scheme && other.settings == point.settings && other.axes == point.axes
        };
        if let Some(other) = points[..index].iter().find(same) {
            names.push((&other.scheme, &point.scheme));
        }
    }
    names.sort_unstable();
    names.dedup();
    let warning = |(first, second)| format!("the schemes `{first}` and `{second}` have the same settings");
    names.into_iter().map(warning).collect()
}
