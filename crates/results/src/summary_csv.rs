//! `summary.csv`: a row for each point and size class. If flows belong to coflows there is also one for the class `coflows` and
//! one for each class of these: their number replaces that of flows, and their CCT replaces FCT.
//!
//! FCT is in µs. Each statistic stands with the ends of its 95 % interval over seeds, `…_low` and `…_high`. Its ratio
//! to that of the first scheme at the same load and axes follows, paired by seed, with the ends of the ratio's
//! interval.
//! `fct_mean_gain` is one over the ratio of the means: NOS2's FCT gain (section V-A) if the first scheme is DCTCP. `fct_cv` is
//! the coefficient of variation. Intervals and ratios are rounded to six significant digits, because they go through functions
//! whose last bit may differ between machines. An empty cell means no finished flow, or no interval, since there is one seed.
//! The last columns are sums over seeds, the counts of [`Disorder`]: timeouts, packets taken for lost before one …; and what a flow's receiver held because an earlier part was missing: the mean over the FCTs, and the most. If a run
//! has measured steps, the last are the shares of the flows' time in each: means over the seeds, rounded; empty if those of no
//! flow are known. A result of a sample of receivers ends with the column `screened`: every so-manieth host. Names have only letters, digits and `_`: a swept `network.ecn_threshold` is `network_ecn_threshold`.

use std::io::Write;
use std::path::Path;

use flowsieve_record::{Disorder, Step};

use crate::bounds::Bounds;
use crate::labels::column_name;
use crate::statistics::Statistic;
use crate::summary::{ClassSummary, Metric, Summary};
use crate::{CoflowClass, Experiment, ResultError};

const PS_PER_US: f64 = 1e6;

/// Writes the table. Errors name `path`.
pub(crate) fn write(
    out: impl Write,
    path: &Path,
    experiment: &Experiment,
    summary: &Summary,
) -> Result<(), ResultError> {
    let failed = |error: csv::Error| ResultError::io("write", path)(error.into());
    let axes: Vec<&str> =
        experiment.points.first().into_iter().flat_map(|point| &point.axes).map(|axis| axis.key.as_str()).collect();
    let mut csv = csv::Writer::from_writer(out);
    let steps: &[Step] = if has_steps(summary) { &Step::ALL } else { &[] };
    let screened = experiment.screened();
    let mut names = header(&axes, steps);
    names.extend(screened.map(|_| "screened".to_owned()));
    csv.write_record(names).map_err(failed)?;
    for (index, (info, point)) in experiment.points.iter().zip(&summary.points).enumerate() {
        let baseline = experiment.baseline_of(index).map(|index| &summary.points[index]);
        let mut write = |name: &str, class: &ClassSummary, baseline: Option<&ClassSummary>| {
            let mut row = vec![index.to_string(), info.scheme.clone(), info.load.map_or(String::new(), exact)];
            row.extend(axes.iter().map(|key| {
                let axis = info.axes.iter().find(|axis| axis.key == *key);
                axis.map_or(String::new(), |axis| axis.value.clone())
            }));
            row.push(name.to_owned());
            row.push(class.class.above_bytes.to_string());
            row.push(class.class.up_to_bytes.map_or(String::new(), |bytes| bytes.to_string()));
            row.extend([class.seeds.len() as u64, class.flows(), class.unfinished()].map(|count| count.to_string()));
            row.extend(statistics(class, baseline));
            row.extend(gain(class, baseline));
            let variation = class.over_seeds(Bounds::POSITIVE, |seed| seed.fct_variation);
            row.push(variation.map_or(String::new(), |variation| exact(variation.value)));
            row.extend(ends(variation.and_then(|variation| variation.interval)));
            row.extend(disorder(class));
            row.extend(steps.iter().map(|&step| share(class, step)));
            row.extend(screened.map(str::to_owned));
            csv.write_record(&row).map_err(failed)
        };
        for (at, class) in point.classes.iter().enumerate() {
            write(&class.class.name, class, baseline.map(|baseline| &baseline.classes[at]))?;
        }
        if point.coflows.flows() > 0 {
            write("coflows", &point.coflows, baseline.map(|baseline| &baseline.coflows))?;
        }
        for class in CoflowClass::ALL {
            let coflows = point.coflow_class(class);
            if coflows.flows() > 0 {
                let baseline = baseline.map(|baseline| baseline.coflow_class(class));
                write(&format!("coflows {}", class.name()), coflows, baseline)?;
            }
        }
    }
    csv.flush().map_err(ResultError::io("write", path))
}

fn header(axes: &[&str], steps: &[Step]) -> Vec<String> {
    let mut names: Vec<String> = ["point", "scheme", "load"].map(String::from).into();
    names.extend(axes.iter().map(|axis| column_name(axis)));
    names.extend(["size_class", "above_bytes", "up_to_bytes", "seeds", "flows", "unfinished"].map(String::from));
    let with_ends = |name: &str| ["", "_low", "_high"].map(|end| format!("{name}{end}"));
    for (metric, unit) in [("fct", "_us"), ("slowdown", "")] {
        for statistic in Statistic::ALL {
            let name = format!("{metric}_{}", statistic.name().replace('.', ""));
            names.extend(with_ends(&format!("{name}{unit}")));
            names.extend(with_ends(&format!("{name}_ratio")));
        }
    }
    names.extend(with_ends("fct_mean_gain"));
    names.extend(with_ends("fct_cv"));
    names.extend(Disorder::COUNTS.iter().copied().map(String::from));
    names.extend(with_ends("held_mean_bytes"));
    names.push("held_most_bytes".into());
    names.extend(steps.iter().map(|step| format!("{}_share", step.name())));
    names
}

fn statistics(class: &ClassSummary, baseline: Option<&ClassSummary>) -> Vec<String> {
    let mut cells = Vec::new();
    for metric in Metric::ALL {
        for statistic in Statistic::ALL {
            let unit = match metric {
                Metric::Fct => PS_PER_US,
                Metric::Slowdown => 1.0,
            };
            let estimate = class.estimate(metric, statistic);
            cells.push(estimate.map_or(String::new(), |estimate| exact(estimate.value / unit)));
            let interval = estimate.and_then(|estimate| estimate.interval);
            cells.extend(ends(interval.map(|(low, high)| (low / unit, high / unit))));
            let ratio = baseline.and_then(|baseline| class.ratio(baseline, metric, statistic));
            cells.push(ratio.map_or(String::new(), |ratio| rounded(ratio.value)));
            cells.extend(ends(ratio.and_then(|ratio| ratio.interval)));
        }
    }
    cells
}

/// The ends of an interval, if there is one.
fn ends(interval: Option<(f64, f64)>) -> [String; 2] {
    interval.map_or_else(Default::default, |(low, high)| [low, high].map(rounded))
}

/// One over the ratio of the mean FCTs.
fn gain(class: &ClassSummary, baseline: Option<&ClassSummary>) -> Vec<String> {
    let ratio = baseline.and_then(|baseline| class.ratio(baseline, Metric::Fct, Statistic::Mean));
    let Some(ratio) = ratio else { return vec![String::new(); 3] };
    let interval = ratio.interval.map(|(low, high)| (1.0 / high, 1.0 / low));
    [rounded(1.0 / ratio.value)].into_iter().chain(ends(interval)).collect()
}

/// Counts of all seeds, and what receivers held.
fn disorder(class: &ClassSummary) -> Vec<String> {
    let held = class.over_seeds(Bounds::POSITIVE, |seed| seed.disorder.held_mean_bytes());
    let mut sums = vec![0; Disorder::COUNTS.len()];
    for seed in &class.seeds {
        sums.iter_mut().zip(seed.disorder.counts()).for_each(|(sum, count): (&mut u64, u64)| *sum += count);
    }
    let most = class.seeds.iter().map(|seed| seed.disorder.held_most_bytes).max().unwrap_or(0);
    let mut cells: Vec<String> = sums.iter().map(u64::to_string).collect();
    cells.push(held.map_or(String::new(), |held| rounded(held.value)));
    cells.extend(ends(held.and_then(|held| held.interval)));
    cells.push(most.to_string());
    cells
}

/// Whether a run has measured steps.
fn has_steps(summary: &Summary) -> bool {
    let classes = summary.points.iter().flat_map(|point| &point.classes);
    classes.flat_map(|class| &class.seeds).any(|seed| !seed.breakdown.is_none())
}

/// The share of the flows' time in a step.
fn share(class: &ClassSummary, step: Step) -> String {
    let share = class.over_seeds(Bounds::SHARE, |seed| seed.breakdown.share(step));
    share.map_or(String::new(), |share| rounded(share.value))
}

/// The shortest digits that read back as the same number.
fn exact(value: f64) -> String {
    format!("{value}")
}

/// Six significant digits, without an exponent.
fn rounded(value: f64) -> String {
    let short = format!("{value:.5e}");
    short.parse::<f64>().map_or(short, exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded__six_significant_digits() {
        assert_eq!(
            [12.3456789, 123456789.0, -0.000123456789, 1.0, 0.0].map(rounded),
            ["12.3457", "123457000", "-0.000123457", "1", "0"]
        );
    }
}
