//! Forests and the flows that they predict: a file with its place in messages, features matched by name, and the
//! accuracy of a forest on flows with known sizes (QCLIMB, NSDI 2024 §2.2 and §2.3).

use flowsieve_core::forest::{self, Feature, Forest};
use flowsieve_core::message::Bounds;
use flowsieve_experiment::Error;
use flowsieve_experiment::FileError;
pub use flowsieve_results::{SizeClass, SizeClasses};
use flowsieve_workload::flow_list::{self, Extras, Features, FlowList};
use flowsieve_workload::random::{Purpose, below, stream};
use flowsieve_workload::{Flow, HostNames, Prediction, SizeBounds};
use serde::Serialize;
use std::io::{BufReader, Read, Write};
use std::path::Path;

/// The most hosts of a list of recorded flows, which have their own hosts.
pub(crate) const RECORDED_HOSTS: u32 = 1 << 20;

/// A forest with the digest of its contents.
#[derive(Debug)]
pub(crate) struct ForestFile {
    forest: Forest,
    pub(crate) digest: String,
}

impl ForestFile {
    /// Reads and checks it. An error says what is wrong, and at which byte, without the file's name.
    pub(crate) fn read(path: &Path) -> Result<ForestFile, String> {
        let mut bytes = Vec::new();
        let read = flowsieve_files::builtin::open(path)
            .and_then(|file| file.take(forest::MAX_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|error| error.to_string())?;
        let forest = Forest::parse(&bytes).map_err(|error| error.to_string())?;
        Ok(ForestFile { forest, digest: blake3::hash(&bytes).to_hex().to_string() })
    }

    /// Predicts each flow with these features, which are matched by name.
    pub(crate) fn predictions(&self, features: &Features) -> Result<Vec<Prediction>, String> {
        let column = |wanted: &Feature| {
            features.names().iter().position(|name| *name == wanted.name).ok_or_else(|| {
                let has = features.names().join(", ");
                format!("it reads the feature `{}`, but the flows have {has}", wanted.name)
            })
        };
        let columns = self.forest.features().iter().map(column).collect::<Result<Vec<usize>, _>>()?;
        let mut read = vec![0; columns.len()];
        let predict = |row: &[u64]| {
            read.iter_mut().zip(&columns).for_each(|(to, &from)| *to = row[from]);
            let Bounds { lower, upper } = self.forest.bounds(&read);
            Prediction { size: Some(self.forest.predicted(&read)), bounds: Some(SizeBounds { lower, upper }) }
        };
        Ok(features.rows().map(predict).collect())
    }
}

/// The accuracy of a forest on the flows of a size class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worth {
    /// The size class.
    pub class: SizeClass,
    /// Number of flows.
    pub flows: u64,
    /// Flows whose size is within their bounds.
    pub bounded: u64,
    /// Flows that are smaller than their lower bound.
    pub below: u64,
    /// Flows that are larger than their upper bound.
    pub above: u64,
    /// Flows that would be within their bounds if sizes were assigned to flows at random, over all classes: what loose
    /// bounds achieve without any knowledge.
    pub bounded_if_shuffled: u64,
    /// Mean lower bound, in bytes.
    pub mean_lower: f64,
    /// Mean upper bound, in bytes.
    pub mean_upper: f64,
    /// Mean size, in bytes.
    pub mean_size: f64,
    /// Mean of size minus lower bound over the flows that are not below it, in bytes.
    pub mean_gap_to_lower: f64,
    /// Mean absolute difference of predicted size and size, in bytes.
    pub mean_error: f64,
    /// The largest such difference.
    pub largest_error: u64,
    /// Flows whose predicted size is more than 100 KB off.
    pub errors_above_100kb: u64,
}

/// A trace with a forest's predictions for its flows.
pub struct Predicted {
    list: FlowList,
    from: usize,
}

impl Predicted {
    /// Reads both; of the trace's flows, those after a share `from`.
    pub fn read(forest: &Path, trace: &Path, from: f64) -> Result<Predicted, Error> {
        let in_file = |path: &Path| {
            let path = path.to_owned();
            move |problem: String| Error::from(FileError::whole(&path, &problem))
        };
        let file = ForestFile::read(forest).map_err(in_file(forest))?;
        let open = flowsieve_files::builtin::open(trace).map_err(|error| in_file(trace)(error.to_string()))?;
        let list =
            flow_list::read(&trace.display().to_string(), BufReader::new(open), &HostNames::numbered(RECORDED_HOSTS));
        let mut list = list?;
        list.predictions = file.predictions(&list.features).map_err(in_file(forest))?;
        let from = (from * list.flows.len() as f64).round() as usize;
        if from >= list.flows.len() {
            return Err(in_file(trace)(format!("none of {} flows is left", list.flows.len())));
        }
        Ok(Predicted { list, from })
    }

    fn flows(&self) -> &[Flow] {
        &self.list.flows[self.from..]
    }

    /// Writes the flows as a list with the bounds and the predicted sizes.
    pub fn write(&self, out: &mut impl Write) -> Result<(), Error> {
        let rows = self.flows().iter().map(|flow| self.list.row(*flow));
        flow_list::write(out, &Extras::of(&self.list), rows).map_err(Error::Output)
    }

    /// Returns the forest's accuracy by class of size.
    pub fn worth(&self, classes: &SizeClasses) -> Vec<Worth> {
        let shuffled = shuffled(self.flows().iter().map(|flow| flow.bytes).collect());
        let of_class = |class: &SizeClass| {
            let inside = self.flows().iter().zip(&shuffled).filter(|(flow, _)| class.holds(flow.bytes));
            let (mut worth, mut sums) = (Worth::none(class.clone()), [0.0; 5]);
            for (flow, &other) in inside {
                let Some(Prediction { size: Some(predicted), bounds: Some(bounds) }) =
                    self.list.predictions.get(flow.id as usize)
                else {
                    continue;
                };
                let error = predicted.get().abs_diff(flow.bytes);
                worth.flows += 1;
                worth.bounded += u64::from(bounds.hold(flow.bytes));
                worth.below += u64::from(flow.bytes < bounds.lower);
                worth.above += u64::from(flow.bytes > bounds.upper.get());
                worth.bounded_if_shuffled += u64::from(bounds.hold(other));
                worth.largest_error = worth.largest_error.max(error);
                worth.errors_above_100kb += u64::from(error > 100_000);
                let gap = flow.bytes.saturating_sub(bounds.lower);
                let of_flow = [bounds.lower, bounds.upper.get(), flow.bytes, gap, error];
                sums.iter_mut().zip(of_flow).for_each(|(sum, bytes)| *sum += bytes as f64);
            }
            let mean = |sum: f64, flows: u64| if flows == 0 { 0.0 } else { sum / flows as f64 };
            let [lower, upper, size, gap, error] = sums;
            worth.mean_lower = mean(lower, worth.flows);
            worth.mean_upper = mean(upper, worth.flows);
            worth.mean_size = mean(size, worth.flows);
            worth.mean_gap_to_lower = mean(gap, worth.flows - worth.below);
            worth.mean_error = mean(error, worth.flows);
            worth
        };
        classes.as_slice().iter().map(of_class).collect()
    }
}

impl Worth {
    fn none(class: SizeClass) -> Worth {
        Worth {
            class,
            flows: 0,
            bounded: 0,
            below: 0,
            above: 0,
            bounded_if_shuffled: 0,
            mean_lower: 0.0,
            mean_upper: 0.0,
            mean_size: 0.0,
            mean_gap_to_lower: 0.0,
            mean_error: 0.0,
            largest_error: 0,
            errors_above_100kb: 0,
        }
    }

    /// Writes a count as a share of the flows.
    fn share(&self, count: u64) -> String {
        if self.flows == 0 { "–".to_owned() } else { format!("{:.2}", 100.0 * count as f64 / self.flows as f64) }
    }
}

/// Shuffles the sizes, the same way each time (Fisher and Yates).
fn shuffled(mut sizes: Vec<u64>) -> Vec<u64> {
    let mut draws = stream(0, Purpose::Shuffle, 0);
    for last in (1..sizes.len()).rev() {
        sizes.swap(last, below(&mut draws, last as u64 + 1) as usize);
    }
    sizes
}

/// Formats a table for reading: shares in percent, sizes in KB.
pub fn text(worth: &[Worth]) -> String {
    let kb = |bytes: f64| format!("{:.2}", bytes / 1e3);
    let titles = [
        "class",
        "flows",
        "bounded %",
        "shuffled %",
        "below %",
        "above %",
        "size KB",
        "lower KB",
        "gap KB",
        "upper KB",
        "error KB",
        "largest",
        ">100KB %",
    ];
    let rows = worth.iter().map(|of| {
        vec![
            of.class.name.clone(),
            of.flows.to_string(),
            of.share(of.bounded),
            of.share(of.bounded_if_shuffled),
            of.share(of.below),
            of.share(of.above),
            kb(of.mean_size),
            kb(of.mean_lower),
            kb(of.mean_gap_to_lower),
            kb(of.mean_upper),
            kb(of.mean_error),
            kb(of.largest_error as f64),
            of.share(of.errors_above_100kb),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(titles.map(str::to_owned).to_vec()).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    let table: String = rows.iter().map(line).collect();
    table
        + "\nbounded: share of flows whose size lies within its bounds. shuffled: the same with sizes assigned at \
            random; loose bounds reach it without any knowledge.\nMeans over flows: size, lower bound, size minus \
            lower bound where it is not below, upper bound, error of the predicted size; then the largest error, and \
            the share of errors above 100 KB.\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    fn predicted(rows: &[(u64, u64, u64, u64)]) -> Predicted {
        let flow = |(id, &(bytes, ..)): (usize, &(u64, u64, u64, u64))| Flow {
            id: id as u32,
            start_ps: id as u64,
            src: 0,
            dst: 1,
            bytes,
            class: 0,
            deadline_ps: None,
            coflow: None,
        };
        let prediction = |&(_, lower, upper, size): &(u64, u64, u64, u64)| Prediction {
            size: NonZeroU64::new(size),
            bounds: NonZeroU64::new(upper).map(|upper| SizeBounds { lower, upper }),
        };
        let flows = rows.iter().enumerate().map(flow).collect();
        let predictions = rows.iter().map(prediction).collect();
        Predicted { list: FlowList { flows, predictions, ..FlowList::default() }, from: 0 }
    }

    #[test]
    fn worth__by_class_of_size() {
        let found = predicted(&[
            (1_000, 500, 2_000, 1_500),
            (3_000, 4_000, 5_000, 4_500),
            (900_000, 100_000, 800_000, 200_000),
        ]);
        let worth = found.worth(&SizeClasses::from_bounds(&[100_000]).unwrap());
        let small = &worth[0];
        assert_eq!((small.flows, small.bounded, small.below, small.above), (2, 1, 1, 0));
        assert_eq!((small.mean_lower, small.mean_upper, small.mean_size), (2_250.0, 3_500.0, 2_000.0));
        assert_eq!((small.mean_gap_to_lower, small.mean_error, small.largest_error), (500.0, 1_000.0, 1_500));
        let large = &worth[1];
        assert_eq!((large.flows, large.bounded, large.above, large.errors_above_100kb), (1, 0, 1, 1));
        assert_eq!(worth[2].flows, 3);
    }

    #[test]
    fn worth__shuffled_sizes_are_bounded_where_bounds_are_loose() {
        let of = |bounds: fn(u64) -> (u64, u64)| {
            let rows: Vec<_> = (1..=1_000).map(|bytes| (bytes, bounds(bytes).0, bounds(bytes).1, bytes)).collect();
            predicted(&rows).worth(&SizeClasses::from_bounds(&[]).unwrap()).remove(0)
        };
        let (loose, exact) = (of(|_| (1, 1_000)), of(|bytes| (bytes, bytes)));
        assert_eq!((loose.bounded, loose.bounded_if_shuffled), (1_000, 1_000));
        // One flow in a thousand gets its own size again.
        assert!(exact.bounded == 1_000 && exact.bounded_if_shuffled < 10, "{exact:?}");
    }
}
