//! The files of flows and starts that the points of a plan read, each read once.
//!
//! A list of ten million flows takes seconds to read and half a gigabyte to keep, and every run of every point needs
//! it. So all runs share one copy, and a file that changes meanwhile cannot make runs differ. A sweep over many large
//! lists keeps the latest ones, up to the size of one largest list, and reads the others again.

use super::coflows::{COFLOWS, ReadCoflows};
use super::traffic::ARRIVAL_TRACE;
use crate::foreign;
use flowsieve_experiment::FileError;
use flowsieve_experiment::{Error, nearest};
use flowsieve_settings::{Key, Scope, SettingsError};
use flowsieve_workload::coflow_trace::{self, Like};
use flowsieve_workload::convert::Gives;
use flowsieve_workload::flow_list::{self, Extras, FlowList, ListedSizes, MAX_FLOWS};
use flowsieve_workload::samples;
use flowsieve_workload::{
    Calibration, Flow, HostNames, InputError, Pace, Predict, Prediction, Problem, Reading, Rounding, SizeDistribution,
    StandIn, Trace,
};
use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The longest file of a distribution that is read, in bytes.
const MAX_CDF_BYTES: u64 = 16 << 20;

/// A flow list, and facts derived from it.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) list: FlowList,
    /// Digest of the flows, independent of the file's format.
    pub(crate) digest: String,
    /// The optional columns that it needs.
    pub(crate) extras: Extras,
    /// The file's name in errors.
    name: String,
    sizes: OnceLock<ListedSizes>,
}

impl List {
    pub(super) fn new(name: &str, list: FlowList) -> List {
        let extras = Extras::of(&list);
        List { digest: digest(&list, &extras), extras, name: name.to_owned(), sizes: OnceLock::new(), list }
    }

    /// Returns the first flow of the highest class: its class, and the error at its place.
    pub(crate) fn highest_class(&self) -> (u8, FileError) {
        let (class, line) = self.list.highest_class;
        (class, self.wrong("class", &class).at(line))
    }

    /// Builds the error of a value in a column.
    fn wrong(&self, column: &str, value: &dyn std::fmt::Display) -> FileError {
        FileError::new("value", Path::new(&self.name), format!("{column} is `{value}`")).of_key(column)
    }

    /// Returns the bytes of its largest flow.
    pub(crate) fn largest_bytes(&self) -> u64 {
        self.list.flows.iter().map(|flow| flow.bytes).max().unwrap_or(0)
    }

    /// Builds the error of a flow of this size. Only the largest flow of a file has a known line.
    pub(crate) fn wrong_size(&self, bytes: u64) -> FileError {
        let (largest, line) = self.list.largest;
        let error = self.wrong("bytes", &bytes);
        if bytes == largest { error.at(line) } else { error }
    }

    pub(crate) fn flows(&self) -> &[Flow] {
        &self.list.flows
    }

    /// Returns the file's name in errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the share of the flows that are not larger than `bytes`.
    pub(super) fn cdf(&self, bytes: u64) -> f64 {
        self.sizes.get_or_init(|| ListedSizes::of(&self.list.flows)).cdf(bytes)
    }

    /// Lists columns that are not read, and the zero of starts that are times of day.
    pub(super) fn notes(&self) -> Vec<String> {
        let shifted = self.list.epoch_ps.map(|ps| {
            let seconds = format!("{}.{:012}", ps / 1_000_000_000_000, ps % 1_000_000_000_000);
            let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
            format!("{}: starts are seconds since 1970; they are counted from the first, at {seconds}", self.name)
        });
        foreign::unread(&self.name, &self.list.unread).into_iter().chain(shifted).collect()
    }

    /// Returns the size in bytes that a share `p` of the flows do not exceed.
    pub(crate) fn quantile(&self, p: f64) -> Option<u64> {
        self.sizes.get_or_init(|| ListedSizes::of(&self.list.flows)).quantile(p)
    }
}

impl Predict for List {
    fn predict(&self, flow: &Flow) -> Prediction {
        self.list.predictions.predict(flow)
    }
}

impl Predict for ReadPredictions {
    fn predict(&self, flow: &Flow) -> Prediction {
        self.rows.get(flow.id as usize).map(|row| row.1).unwrap_or_default()
    }
}

/// A trace of starts, with the digest of its contents.
#[derive(Debug)]
pub(crate) struct ReadTrace {
    pub(crate) trace: Arc<Trace>,
    pub(crate) digest: String,
}

/// A distribution of a file, with the digest of its contents.
#[derive(Debug)]
pub(crate) struct ReadDistribution {
    pub(crate) distribution: SizeDistribution,
    pub(crate) digest: String,
    rows: usize,
}

/// Predictions for flows of these sizes, with the digest of both.
#[derive(Debug)]
pub(crate) struct ReadPredictions {
    pub(crate) rows: Vec<(u64, Prediction)>,
    pub(crate) digest: String,
}

/// Measured sizes, with the digest of their contents.
#[derive(Debug)]
pub(super) struct ReadSamples {
    /// In bytes, rising; at least one.
    pub(super) sizes: Vec<u64>,
    pub(super) digest: String,
}

/// Values read, by key, the latest last.
type Kept<K, T> = Mutex<Vec<(K, Arc<T>)>>;

/// Files that have been read.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// By path and the fabric's host names.
    lists: Kept<(PathBuf, HostNames), List>,
    /// Lists at a load: by the list's contents and its duration at that load.
    paced: Kept<(String, u64), List>,
    /// By name, calibration and seed.
    stand_ins: Kept<(&'static str, Calibration, u64), List>,
    /// By path, and how the trace is adapted.
    coflows: Kept<(PathBuf, Like), ReadCoflows>,
    /// By path.
    traces: Kept<PathBuf, ReadTrace>,
    /// By path, and how its points are read and rounded.
    distributions: Kept<(PathBuf, Reading, Rounding), ReadDistribution>,
    /// By path and column.
    samples: Kept<(PathBuf, Option<String>), ReadSamples>,
    /// By path.
    predictions: Kept<PathBuf, ReadPredictions>,
    /// By path.
    weights: Kept<PathBuf, BTreeMap<u32, f64>>,
}

impl Files {
    /// Returns the flow list at `path`, which `key` names, for a fabric of `hosts`.
    pub(super) fn list(
        &self,
        scope: &Scope<'_>,
        key: &Key,
        path: &Path,
        hosts: &HostNames,
    ) -> Result<Arc<List>, Error> {
        once(
            &self.lists,
            (path.to_path_buf(), hosts.clone()),
            |list: &List| list.flows().len(),
            || {
                let name = path.display().to_string();
                let list = flow_list::read(&name, open(scope, key, path)?, hosts);
                let refused = |error| foreign::with_advice(with_nearest(error, hosts), path, Gives::Flows);
                Ok(List::new(&name, list.map_err(refused)?))
            },
        )
    }

    /// Returns a list at another pace.
    pub(super) fn paced(&self, list: &List, pace: &Pace) -> Result<Arc<List>, Error> {
        let key = (list.digest.clone(), pace.now_ps);
        once(
            &self.paced,
            key,
            |list: &List| list.flows().len(),
            || {
                let flows = list.flows().iter().map(|flow| pace.put_on(*flow)).collect();
                let paced = FlowList { flows, ..list.list.clone() };
                Ok(List {
                    digest: list.digest.clone(),
                    extras: list.extras.clone(),
                    name: list.name.clone(),
                    sizes: OnceLock::new(),
                    list: paced,
                })
            },
        )
    }

    /// Returns the substitute for a trace, made once.
    pub(super) fn stand_in(&self, of: &StandIn, calibration: Calibration, seed: u64) -> Result<Arc<List>, Error> {
        let make = || Ok(List::new(of.name, of.generate(calibration, seed)));
        once(&self.stand_ins, (of.name, calibration, seed), |list: &List| list.flows().len(), make)
    }

    /// Returns the coflow trace at `path`.
    pub(super) fn coflows(&self, scope: &Scope<'_>, path: &Path, like: Like) -> Result<Arc<ReadCoflows>, Error> {
        let flows = |read: &ReadCoflows| read.trace.coflows.iter().map(|coflow| coflow.flows.len()).sum();
        once(&self.coflows, (path.to_path_buf(), like), flows, || {
            let trace = coflow_trace::read(&path.display().to_string(), open(scope, &COFLOWS, path)?, like);
            let trace = trace?;
            let mut hasher = blake3::Hasher::new();
            for coflow in &trace.coflows {
                hasher.update(&coflow.id.to_le_bytes()).update(&coflow.arrival_ps.to_le_bytes());
                for flow in &coflow.flows {
                    hasher.update(&flow.src.to_le_bytes()).update(&flow.dst.to_le_bytes());
                    hasher.update(&flow.bytes.to_le_bytes());
                }
            }
            Ok(ReadCoflows { trace, digest: hasher.finalize().to_hex().to_string() })
        })
    }

    /// Returns the trace of starts at `path`.
    pub(super) fn trace(&self, scope: &Scope<'_>, path: &Path) -> Result<Arc<ReadTrace>, Error> {
        once(
            &self.traces,
            path.to_path_buf(),
            |read: &ReadTrace| read.trace.starts(),
            || {
                let trace = Trace::read(&path.display().to_string(), open(scope, &ARRIVAL_TRACE, path)?);
                let trace = trace?;
                let mut hasher = blake3::Hasher::new();
                trace.gaps_ps().iter().for_each(|gap| {
                    hasher.update(&gap.to_le_bytes());
                });
                Ok(ReadTrace { trace: Arc::new(trace), digest: hasher.finalize().to_hex().to_string() })
            },
        )
    }

    /// Returns the sizes in a column of the file at `path`, or in the first one.
    pub(super) fn samples(
        &self,
        scope: &Scope<'_>,
        key: &Key,
        path: &Path,
        column: Option<&str>,
    ) -> Result<Arc<ReadSamples>, Error> {
        let name = (path.to_path_buf(), column.map(str::to_owned));
        once(
            &self.samples,
            name,
            |read: &ReadSamples| read.sizes.len(),
            || {
                let mut sizes = samples::read(&path.display().to_string(), open(scope, key, path)?, column)?;
                sizes.sort_unstable();
                let mut hasher = blake3::Hasher::new();
                sizes.iter().for_each(|bytes| _ = hasher.update(&bytes.to_le_bytes()));
                Ok(ReadSamples { sizes, digest: hasher.finalize().to_hex().to_string() })
            },
        )
    }

    /// Returns whether the file at `path` has one column, like measured sizes; judged by its beginning.
    pub(super) fn has_one_column(path: &Path) -> bool {
        let mut bytes = Vec::new();
        let read =
            flowsieve_settings::files::builtin::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut bytes));
        read.is_ok() && samples::has_one_column(&String::from_utf8_lossy(&bytes))
    }

    /// Returns the distribution at `path`, which `key` names, with points read and rounded in this way.
    pub(super) fn distribution(
        &self,
        scope: &Scope<'_>,
        key: &Key,
        path: &Path,
        (reading, rounding): (Reading, Rounding),
    ) -> Result<Arc<ReadDistribution>, Error> {
        let rows = |read: &ReadDistribution| read.rows;
        once(&self.distributions, (path.to_path_buf(), reading, rounding), rows, || {
            let text = text(path).map_err(|problem| unreadable(scope, key, path, problem))?;
            let distribution = SizeDistribution::parse(&path.display().to_string(), &text, reading, rounding);
            let refused = |error: InputError| foreign::with_advice(error.into(), path, Gives::Sizes);
            Ok(ReadDistribution {
                distribution: distribution.map_err(refused)?,
                digest: blake3::hash(text.as_bytes()).to_hex().to_string(),
                rows: text.lines().count(),
            })
        })
    }

    /// Returns the predictions at `path`, which `key` names.
    pub(crate) fn predictions(&self, scope: &Scope<'_>, key: &Key, path: &Path) -> Result<Arc<ReadPredictions>, Error> {
        once(
            &self.predictions,
            path.to_path_buf(),
            |read: &ReadPredictions| read.rows.len(),
            || {
                let read = flow_list::predictions(&path.display().to_string(), open(scope, key, path)?);
                let rows = read.map_err(|error| foreign::with_advice(error.into(), path, Gives::Flows))?;
                let mut hasher = blake3::Hasher::new();
                for (bytes, prediction) in &rows {
                    hasher.update(&bytes.to_le_bytes()).update(&bounds_in_bytes(prediction));
                    hasher.update(&size_in_bytes(prediction));
                }
                Ok(ReadPredictions { rows, digest: hasher.finalize().to_hex().to_string() })
            },
        )
    }

    /// Returns the weights of coflows at `path`.
    pub(crate) fn weights(&self, scope: &Scope<'_>, key: &Key, path: &Path) -> Result<Arc<BTreeMap<u32, f64>>, Error> {
        once(&self.weights, path.to_path_buf(), BTreeMap::len, || {
            let read = coflow_trace::weights(&path.display().to_string(), open(scope, key, path)?);
            Ok(read?)
        })
    }
}

/// Reads the text of a distribution.
fn text(path: &Path) -> Result<String, String> {
    let file = flowsieve_settings::files::builtin::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_CDF_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if read as u64 > MAX_CDF_BYTES {
        return Err(format!("is longer than {MAX_CDF_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

/// Returns the value kept under `key`, or else calls `read`. At most [`MAX_FLOWS`] is kept in total, as measured by
/// `length`, but always the latest value.
fn once<K: PartialEq, T, E>(
    kept: &Kept<K, T>,
    key: K,
    length: impl Fn(&T) -> usize,
    read: impl FnOnce() -> Result<T, E>,
) -> Result<Arc<T>, E> {
    // A thread that comes while another reads waits for it.
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let found = match kept.iter().position(|(known, _)| *known == key) {
        Some(index) => kept.remove(index).1,
        None => Arc::new(read()?),
    };
    kept.push((key, Arc::clone(&found)));
    while kept.len() > 1 && kept.iter().map(|(_, item)| length(item)).sum::<usize>() > MAX_FLOWS {
        kept.remove(0);
    }
    Ok(found)
}

/// Converts an error of a flow list, with the nearest name if no host has the given one.
fn with_nearest(error: InputError, hosts: &HostNames) -> FileError {
    let Problem::NoHost { found, .. } = &error.problem else { return error.into() };
    let name = nearest(found, &hosts.all().collect::<Vec<String>>()).map(str::to_owned);
    FileError::from(error).nearest(name)
}

fn open(scope: &Scope<'_>, key: &Key, path: &Path) -> Result<BufReader<impl Read>, SettingsError> {
    match flowsieve_settings::files::builtin::open(path) {
        Ok(file) => Ok(BufReader::with_capacity(1 << 16, file)),
        Err(error) => Err(unreadable(scope, key, path, error)),
    }
}

/// Builds the error of a file that a key names and that cannot be read.
pub(crate) fn unreadable(scope: &Scope<'_>, key: &Key, path: &Path, problem: impl std::fmt::Display) -> SettingsError {
    let expected = "a file that can be read; its path is relative to the experiment file's folder";
    scope.error(key, format!("{}: {problem}", path.display())).expected(expected)
}

fn digest(list: &FlowList, extras: &Extras) -> String {
    let mut hasher = blake3::Hasher::new();
    extras.features.iter().for_each(|name| {
        hasher.update(name.as_bytes()).update(b"\n");
    });
    let mut row = Vec::new();
    for flow in &list.flows {
        let (_, prediction, features) = list.row(*flow);
        row.clear();
        row.extend(flow.start_ps.to_le_bytes());
        row.extend(flow.src.to_le_bytes());
        row.extend(flow.dst.to_le_bytes());
        row.extend(flow.bytes.to_le_bytes());
        // A list without these columns keeps the digest that it had before they existed.
        if extras.deadlines {
            row.extend(flow.deadline_ps.map_or(0, |ps| ps.get()).to_le_bytes());
        }
        if extras.coflows {
            row.extend(flow.coflow.map_or(u64::MAX, u64::from).to_le_bytes());
        }
        if extras.classes {
            row.push(flow.class);
        }
        if extras.bounds {
            row.extend(bounds_in_bytes(&prediction));
        }
        if extras.sizes {
            row.extend(size_in_bytes(&prediction));
        }
        row.extend(features.iter().flat_map(|feature| feature.to_le_bytes()));
        hasher.update(&row);
    }
    hasher.finalize().to_hex().to_string()
}

/// The bounds of a prediction in a digest.
fn bounds_in_bytes(prediction: &Prediction) -> [u8; 16] {
    let bounds = prediction.bounds.map(|bounds| (bounds.lower, bounds.upper.get()));
    // No valid bounds have these values.
    let (lower, upper) = bounds.unwrap_or((u64::MAX, 0));
    (u128::from(upper) << 64 | u128::from(lower)).to_le_bytes()
}

/// The predicted size in a digest.
fn size_in_bytes(prediction: &Prediction) -> [u8; 8] {
    prediction.size.map_or(0, NonZeroU64::get).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::LIST;
    use super::*;
    use crate::none_given;

    fn files_with(text: &str) -> (tempfile::TempDir, PathBuf, Files) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flows.csv");
        std::fs::write(&path, text).unwrap();
        (folder, path, Files::default())
    }

    #[test]
    fn distribution__is_read_once_for_each_way_to_read_it() {
        let settings = none_given();
        let (_folder, path, files) = files_with("1000,0.5\n2000,1\n");
        let scope = settings.common();
        let read = |reading| files.distribution(&scope, &LIST, &path, (reading, Rounding::Bytes));
        let first = read(Reading::Stepped).unwrap();
        std::fs::write(&path, "no distribution any more").unwrap();
        assert!(Arc::ptr_eq(&first, &read(Reading::Stepped).unwrap()));
        assert!(read(Reading::Interpolated).is_err());
    }

    #[test]
    fn weights_and_predictions__are_read_once() {
        let settings = none_given();
        let (_folder, path, files) = files_with("coflow,weight\n1,2.5\n");
        let scope = settings.common();
        let first = files.weights(&scope, &LIST, &path).unwrap();
        std::fs::write(&path, "no weights any more").unwrap();
        assert!(Arc::ptr_eq(&first, &files.weights(&scope, &LIST, &path).unwrap()));
        let predictions = Path::new(flowsieve_settings::files::builtin::ROOT).join("qclimb/predictions/sgd.csv");
        let read = || files.predictions(&scope, &LIST, &predictions).unwrap();
        assert!(Arc::ptr_eq(&read(), &read()));
    }

    #[test]
    fn list__is_read_once_for_each_number_of_hosts() {
        let settings = none_given();
        let (_folder, path, files) = files_with("0,0,1,1000\n");
        let list = |hosts| files.list(&settings.common(), &LIST, &path, &HostNames::numbered(hosts));
        let first = list(2).unwrap();
        std::fs::write(&path, "no list any more").unwrap();
        let again = list(2).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert!(list(3).is_err());
    }

    #[test]
    fn once__keeps_the_latest_within_the_limit() {
        let kept: Kept<u32, usize> = Mutex::default();
        let get = |key: u32, length: usize| {
            once(&kept, key, |item| *item, || Ok::<_, Error>(length)).map(|item| *item).unwrap()
        };
        let keys = || kept.lock().unwrap().iter().map(|(key, _)| *key).collect::<Vec<u32>>();
        assert_eq!([get(1, 10), get(2, MAX_FLOWS - 10)], [10, MAX_FLOWS - 10]);
        assert_eq!(keys(), [1, 2]);
        assert_eq!(get(1, 0), 10);
        assert_eq!(get(3, 1), 1);
        assert_eq!(keys(), [1, 3]);
        assert_eq!(get(4, MAX_FLOWS + 1), MAX_FLOWS + 1);
        assert_eq!(keys(), [4]);
    }

    #[test]
    fn digest__tells_flows_apart_and_not_ways_to_write_them() {
        let of = |text: &str| List::new("f", flow_list::parse("f", text, 9).unwrap()).digest;
        assert_eq!(of("0,0,1,1000\n"), of("start_s,src,dst,bytes,coflow\r\n0.0,0,1,1e3,\r\n"));
        assert_ne!(of("0,0,1,1000\n"), of("0,0,1,1000,,0\n"));
        assert_ne!(of("0,0,1,1000,,0\n"), of("0,0,1,1000,,1\n"));
        assert_ne!(of("0,0,1,1000,1\n"), of("0,0,1,1000,2\n"));
        for column in ["class", "lower", "upper", "predicted", "feature:a"] {
            let with = |number: u64| of(&format!("start_s,src,dst,bytes,{column}\n0,0,1,1000,{number}\n"));
            assert_ne!(with(1), with(2), "{column}");
        }
        assert_ne!(
            of("start_s,src,dst,bytes,feature:a\n0,0,1,1000,1\n"),
            of("start_s,src,dst,bytes,feature:b\n0,0,1,1000,1\n")
        );
    }
}
