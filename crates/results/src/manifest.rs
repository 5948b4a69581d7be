//! The description of a result apart from its flows: `manifest.json` and `run.json`.

use std::collections::BTreeMap;

use flowsieve_record::PointResult;
use serde::{Deserialize, Serialize};

use crate::controls::Controls;
use crate::flow_sketch::FlowSketch;
use crate::{
    CoflowClass, CoflowClassBounds, CoflowGroup, CoflowStats, Further, GroupedCoflows, Only, SizeClass, SizeClasses,
};

/// Version of the layout of a result directory. Fields may be added under one version; removing a field or a column, or
/// changing its meaning, needs a new version. Earlier versions are still read.
pub const SCHEMA: u32 = 2;

/// The same for data of single runs: parts, and measured values that are kept without their flows.
pub const RUN_SCHEMA: u32 = 1;

/// One run among those of a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartId {
    /// Its seed.
    pub seed: u64,
    /// Names the effective configuration, the seed and everything else on which the result depends: a hash of them, as up to
    /// 128 letters, digits, `-` and `_`.
    pub key: String,
}

/// A swept key other than scheme and load, and its value at one point, as in the experiment file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Axis {
    /// For example `topology.rtt`.
    pub key: String,
    /// For example `81.6us`.
    pub value: String,
}

impl Axis {
    /// As sentences and tables have it: `rtt = 81.6us`.
    pub fn in_words(&self) -> String {
        format!("{} = {}", without_section(&self.key), self.value)
    }
}

/// The name of a setting as people say it: `rtt` for `topology.rtt`, and `core.buffer` for `network.core.buffer`.
pub fn without_section(key: &str) -> &str {
    key.split_once('.').map_or(key, |(_, name)| name)
}

/// One combination of the sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointInfo {
    /// The scheme or variant.
    pub scheme: String,
    /// The nominal load, if arrivals have one.
    pub load: Option<f64>,
    /// The other swept keys, in the order of the experiment file.
    pub axes: Vec<Axis>,
    /// The effective configuration: every setting that was read, given or default.
    pub settings: BTreeMap<String, String>,
    /// The demotion thresholds by which hosts tag, in bytes; none without such tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds_bytes: Vec<u64>,
    /// What a smaller scale reduced, in words: "flows = 5000 (10000 at paper scale)".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shorter: Vec<String>,
    /// The average properties of its flows, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<Controls>,
    /// The fabric drawn as text.
    pub fabric: String,
    /// Its runs, one per seed.
    pub parts: Vec<PartId>,
}

impl PointInfo {
    /// Its scheme, load and other swept values.
    pub fn in_words(&self) -> String {
        self.with_axes(Axis::in_words)
    }

    /// The same with whole names of settings, by which kept measurements know it.
    pub fn whole_name(&self) -> String {
        self.with_axes(|axis| format!("{} = {}", axis.key, axis.value))
    }

    fn with_axes(&self, words: impl Fn(&Axis) -> String) -> String {
        let axes = self.axes.iter().map(|axis| format!(", {}", words(axis)));
        let load = self.load.map(|load| format!(", load {load}"));
        self.scheme.clone() + &load.into_iter().chain(axes).collect::<String>()
    }
}

/// A description of a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemeInfo {
    /// The name that points use.
    pub name: String,
    /// The name in reports and figures, as its authors write it: `pFabric`. Empty: the same as `name`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Where it was published.
    pub paper: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// What it must know about a flow: "nothing", "size" …
    pub knows: String,
}

/// Which flows are in `flows.parquet`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// All. Statistics are of the flows themselves, up to [`EXACT`] flows a run.
    #[default]
    Full,
    /// Evenly spaced in the order of arrival, at most [`SAMPLE`] of a run; the same ones under each scheme. Statistics are
    /// of sketches.
    Sample,
    /// None. Statistics are of sketches.
    None,
}

/// Runs with more flows are summarised by sketches, whether or not their flows are kept.
pub const EXACT: u64 = 2_000_000;

/// Flows of a run that a sample keeps.
pub const SAMPLE: usize = 10_000;

impl Record {
    /// Whether all flows are kept.
    pub fn is_full(&self) -> bool {
        *self == Record::Full
    }
}

/// The experiment behind a result, as described by the program that ran it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Its title.
    pub title: String,
    /// The experiment file, verbatim.
    pub text: String,
    /// What the command line changed in it, as `key=value`.
    pub changes: Vec<String>,
    /// Versions of the programs that made the result, by name.
    pub versions: BTreeMap<String, String>,
    /// The size classes of its summary.
    pub classes: SizeClasses,
    /// Where its classes of coflows begin.
    #[serde(default, skip_serializing_if = "CoflowClassBounds::are_default")]
    pub coflow_classes: CoflowClassBounds,
    /// Which flows are kept.
    #[serde(default, skip_serializing_if = "Record::is_full")]
    pub record: Record,
    /// Whether seeds are added until what is asked is resolved, so that it is judged look by look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looks: bool,
    /// How many runs it lacks, if it was joined without some.
    #[serde(default, skip_serializing_if = "none")]
    pub missing_runs: u64,
    /// Why runs among these are not valid, each in a sentence with its point and seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_valid: Vec<String>,
    /// What others than this crate say of these points, and ask to be measured.
    #[serde(flatten)]
    pub further: Further,
    /// The schemes in the order of the sweep; the others are compared with the first.
    pub schemes: Vec<SchemeInfo>,
    /// The texts of the user's files of schemes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scheme_files: BTreeMap<String, String>,
    /// The points in the order of the sweep.
    pub points: Vec<PointInfo>,
}

fn none(runs: &u64) -> bool {
    *runs == 0
}

impl Experiment {
    /// Returns a scheme's name in reports and figures: its label, or its name if it has none.
    pub fn label_of<'a>(&'a self, scheme: &'a str) -> &'a str {
        let info = self.schemes.iter().find(|info| info.name == scheme);
        info.map(|info| info.label.as_str()).filter(|label| !label.is_empty()).unwrap_or(scheme)
    }

    /// Returns which hosts receive flows, as "every so-manieth", if the runs have only a sample of the flows to rank points.
    pub fn screened(&self) -> Option<&str> {
        self.points.iter().find_map(|point| point.settings.get("workload.screen")).map(String::as_str)
    }

    /// The point that differs from this one only in its scheme, which is the first scheme; the point itself if its scheme is
    /// the first.
    pub fn baseline_of(&self, point: usize) -> Option<usize> {
        let first = &self.schemes.first()?.name;
        let this = self.points.get(point)?;
        self.points
            .iter()
            .position(|other| other.scheme == *first && other.load == this.load && other.axes == this.axes)
    }

    /// The groups of flows that are asked for and are not size classes of its own, each once.
    pub fn asked_groups(&self) -> Vec<(Only, SizeClass)> {
        let mut groups: Vec<(Only, SizeClass)> = Vec::new();
        let of_flows = self.further.asked().iter().map(|asked| &asked.quantity);
        for quantity in of_flows.filter(|quantity| !quantity.figure.is_of_coflows()) {
            let group = (quantity.only, quantity.class.clone());
            let shown = group.0.is_all() && self.classes.as_slice().contains(&group.1);
            if !shown && !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// The size classes of coflows that are asked for, each once; all of them together left out.
    pub fn asked_coflows(&self) -> Vec<SizeClass> {
        let mut classes: Vec<SizeClass> = Vec::new();
        let of_coflows = self.further.asked().iter().filter(|asked| asked.quantity.figure.is_of_coflows());
        for class in of_coflows.map(|asked| &asked.quantity.class) {
            if *class != SizeClass::between(0, None) && !classes.contains(class) {
                classes.push(class.clone());
            }
        }
        classes
    }

    /// The groups of coflows that are reported.
    pub(crate) fn coflow_groups(&self) -> Vec<CoflowGroup> {
        let classes = CoflowClass::ALL.into_iter().map(CoflowGroup::Class);
        classes.chain(self.asked_coflows().into_iter().map(CoflowGroup::Size)).collect()
    }

    /// The sizes at which its classes and those that are asked for begin and end.
    pub fn cuts(&self) -> Vec<u64> {
        let asked = self.asked_groups();
        let asked = asked.iter().filter(|(only, _)| only.is_all()).map(|(_, class)| class);
        let classes = self.classes.as_slice().iter().chain(asked);
        let mut cuts: Vec<u64> =
            classes.flat_map(|class| [class.above_bytes].into_iter().chain(class.up_to_bytes)).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }
}

/// A run as the manifest lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Index of its point.
    pub point: u32,
    /// Its seed.
    pub seed: u64,
    /// Number of its rows in `flows.parquet`.
    pub flows: u64,
    /// All of its flows, if they are too many for exact percentiles or not all kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sketch: Option<FlowSketch>,
    /// Its coflows together, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coflows: Option<CoflowStats>,
    /// Those of the groups that are reported or asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "claimed_coflows")]
    pub grouped_coflows: Vec<GroupedCoflows>,
    /// The values of series that are asked for, by the name of what asks. The file has its older name.
    #[serde(rename = "claimed_series", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked_series: BTreeMap<String, f64>,
    /// Its measurements apart from flows.
    pub measured: PointResult,
}

/// `manifest.json`. The bytes depend on the seeds, not on the machine or the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// BLAKE3 of `flows.parquet`: the two belong together.
    pub flows_blake3: String,
    /// BLAKE3 of `series.parquet`, if it holds samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_blake3: Option<String>,
    /// BLAKE3 of the other files that belong to the result, by name. Earlier results have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside_blake3: BTreeMap<String, String>,
    /// The experiment that was run.
    pub experiment: Experiment,
    /// The runs by point, then in the order of the point's parts: the order of the rows of `flows.parquet`.
    pub runs: Vec<Run>,
}

impl Manifest {
    /// The runs of a point.
    pub fn runs_of(&self, point: usize) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.point as usize == point)
    }
}

/// `run.json`: what differs from one time to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// When it began, in words or as RFC 3339.
    pub date: String,
    /// The machine: processor, cores, operating system.
    pub machine: String,
    /// Points run at a time.
    pub jobs: u32,
    /// Threads of each run, as asked for.
    #[serde(default = "one")]
    pub threads: u32,
    /// From begin to end.
    pub wall_seconds: f64,
    /// Processor time of all threads.
    pub cpu_seconds: f64,
    /// Runs made in this call.
    pub parts_run: u32,
    /// Runs found finished.
    pub parts_found: u32,
    /// What calls of a program's own code cost in these runs; empty if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallCost>,
}

fn one() -> u32 {
    1
}

/// What calls of one tagger or controller of a program's own cost, over all runs of an execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallCost {
    /// The name in the experiment.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Seconds that they took, added up over all threads.
    pub seconds: f64,
}
