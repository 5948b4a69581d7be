//! The simulator beside real packets, flow by flow: two results of the same flows, and the real one a second time.
//!
//! Real runs of the same flows differ. So each ratio is shown with the ratio of the second real run to the first. Simulator and
//! Linux cannot agree better than Linux agrees with itself.

use flowsieve_experiment::Error;
use flowsieve_results::{Figures, PointInfo, ResultDir, SizeClass, Statistic};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Flows of the same number, point and seed: payload, and FCT in microseconds under the simulator, on Linux, and there again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Index of the point.
    pub point: u32,
    /// The flow's number.
    pub flow: u32,
    /// Its payload.
    pub bytes: u64,
    /// FCT of each.
    pub fct_us: [f64; 3],
}

/// A scheme's flows of a size class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The point, in words.
    pub point: String,
    /// The size class.
    pub class: String,
    /// Number of flows that all three finished.
    pub flows: usize,
    /// Mean, median, 95th and 99th percentile in the simulator, in microseconds.
    pub simulator_us: [f64; 4],
    /// The same on Linux.
    pub linux_us: [f64; 4],
    /// The geometric mean of the flows' ratios, Linux over simulator.
    pub typical_ratio: f64,
    /// Mean, median and geometric mean of Linux's second run over its first.
    pub again: [f64; 3],
}

/// Two schemes' means.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The point, in words.
    pub point: String,
    /// The size class.
    pub class: String,
    /// The point's mean over that of the first point, in the simulator.
    pub simulator: f64,
    /// The same on Linux.
    pub linux: f64,
}

/// Fewer timeouts than one for so many flows are no cause of a difference.
const FLOWS_OF_A_TIMEOUT: u64 = 100;
/// As many times as Linux's are many.
const MANY: u64 = 3;

/// How far the two agree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// By point, its size classes and all flows.
    pub rows: Vec<Row>,
    /// By point but the first.
    pub gains: Vec<Gain>,
    /// By point, the correlation of the logarithms of FCTs: simulator and Linux, and Linux twice.
    pub correlations: Vec<(String, f64, f64)>,
    /// Why runs on Linux are not valid, so that their points are not compared.
    pub not_valid: Vec<String>,
    /// Where the simulator's senders timed out without need: their timer, and not the network, makes the difference.
    pub in_vain: Vec<String>,
    /// The flows.
    #[serde(skip)]
    pub flows: Vec<Pair>,
    /// The points by index, in words.
    #[serde(skip)]
    points: Vec<(u32, String)>,
}

impl Agreement {
    /// Compares results of the same experiment: the simulator's, Linux's, and Linux's second.
    ///
    /// # Errors
    /// Fails if a result cannot be read, or if they are not of the same flows.
    pub fn of(simulator: &ResultDir, linux: &ResultDir, again: &ResultDir) -> Result<Agreement, Error> {
        let not_valid = [linux, again].map(|result| result.manifest().experiment.not_valid.clone()).concat();
        let flows = paired([simulator, linux, again])?;
        if flows.is_empty() {
            let problem = "the results have no flow in common that finished in each";
            let why = not_valid.iter().map(|why| format!("; not valid: {why}"));
            return Err(Error::Input(problem.to_owned() + &why.collect::<String>()));
        }
        let points = &simulator.manifest().experiment.points;
        let names: Vec<String> = points.iter().map(PointInfo::in_words).collect();
        let mut classes = simulator.manifest().experiment.classes.as_slice().to_vec();
        if !classes.contains(&SizeClass::between(0, None)) {
            classes.push(SizeClass::between(0, None));
        }
        let of = |point: u32, class: &SizeClass| -> Vec<Pair> {
            flows.iter().filter(|pair| pair.point == point && class.holds(pair.bytes)).copied().collect()
        };
        let (mut rows, mut gains, mut correlations) = (Vec::new(), Vec::new(), Vec::new());
        for (point, name) in (0..).zip(&names) {
            for class in &classes {
                let (here, first) = (of(point, class), of(0, class));
                rows.extend(row(name, class, &here));
                let ratio = |which: usize| Some(mean(&here, which)? / mean(&first, which)?);
                if point > 0
                    && let (Some(simulator), Some(linux)) = (ratio(0), ratio(1))
                {
                    gains.push(Gain { point: name.clone(), class: class.name.clone(), simulator, linux });
                }
            }
            let all = of(point, &SizeClass::between(0, None));
            if !all.is_empty() {
                correlations.push((name.clone(), correlation(&all, (0, 1)), correlation(&all, (1, 2))));
            }
        }
        let in_vain = in_vain([simulator, linux], &names, &flows);
        Ok(Agreement { rows, gains, correlations, not_valid, in_vain, flows, points: (0..).zip(names).collect() })
    }

    /// Writes the tables.
    #[must_use]
    pub fn in_words(&self) -> String {
        let width = self.rows.iter().map(|row| row.point.len()).max().unwrap_or(0).max(6);
        let mut text = format!(
            "FCT in µs: simulator / Linux; then Linux over simulator, and Linux's second run over its first\n\n{:width$}  {:>12} {:>6}  \
             {:>17}  {:>17}  {:>17}  {:>17}  {:>5} {:>6} {:>7}  {:>5} {:>6}\n",
            "scheme", "flows of", "number", "mean", "p50", "p95", "p99", "mean", "median", "typical", "mean", "median"
        );
        for row in &self.rows {
            let both = |at: usize| format!("{:.0} / {:.0}", row.simulator_us[at], row.linux_us[at]);
            let ratio = |at: usize| row.linux_us[at] / row.simulator_us[at];
            let _ = writeln!(
                text,
                "{:width$}  {:>12} {:>6}  {:>17}  {:>17}  {:>17}  {:>17}  {:>5.2} {:>6.2} {:>7.2}  {:>5.2} {:>6.2}",
                row.point,
                row.class,
                row.flows,
                both(0),
                both(1),
                both(2),
                both(3),
                ratio(0),
                ratio(1),
                row.typical_ratio,
                row.again[0],
                row.again[1],
            );
        }
        if let Some((first, ..)) = self.correlations.first().filter(|_| !self.gains.is_empty()) {
            let _ = writeln!(text, "\nmean FCT over that of {first}: simulator / Linux, and the second over the first");
            for Gain { point, class, simulator, linux } in &self.gains {
                let _ = writeln!(
                    text,
                    "{point:width$}  {class:>12}  {simulator:.3} / {linux:.3}  {:.2}",
                    linux / simulator
                );
            }
        }
        text.push_str("\ncorrelation of the logarithms of FCTs: simulator and Linux; Linux and its second run\n");
        for (point, both, again) in &self.correlations {
            let _ = writeln!(text, "{point:width$}  {both:.3}  {again:.3}");
        }
        for what in &self.in_vain {
            let _ = writeln!(text, "\nwarning: {what}");
        }
        for why in &self.not_valid {
            let _ = writeln!(text, "\nnot compared: {why}");
        }
        text
    }

    /// Draws each point's flows as SVG, by the point in words.
    pub fn drawings(&self) -> impl Iterator<Item = (&str, String)> {
        self.points.iter().filter_map(|(point, name)| {
            let of_point = self.flows.iter().filter(|pair| pair.point == *point);
            let fcts: Vec<[f64; 3]> = of_point.map(|pair| pair.fct_us.map(|us| us / 1e3)).collect();
            let title = format!("{name}: simulator and Linux");
            let svg = flowsieve_report::agreement_svg(&title, ["simulator", "Linux", "Linux again"], &fcts)?;
            Some((name.as_str(), svg))
        })
    }

    /// Writes the flows as CSV.
    #[must_use]
    pub fn flows_csv(&self) -> String {
        let mut text = "point,flow,bytes,simulator_us,linux_us,linux_again_us\n".to_owned();
        for Pair { point, flow, bytes, fct_us: [simulator, linux, again] } in &self.flows {
            let _ = writeln!(text, "{point},{flow},{bytes},{simulator},{linux},{again}");
        }
        text
    }
}

/// Says at which points simulated flows timed out although no packet was lost, or much more often than on Linux.
fn in_vain([simulator, linux]: [&ResultDir; 2], names: &[String], flows: &[Pair]) -> Vec<String> {
    let of = |point: usize| {
        let runs = || simulator.manifest().runs_of(point).map(|run| &run.measured);
        let timeouts: u64 = runs().map(|run| run.timeouts).sum();
        let drops: u64 = runs().flat_map(|run| &run.links).map(|link| link.drops.total()).sum();
        let there = linux.manifest().experiment.points.iter().position(|other| other.in_words() == names[point])?;
        let on_linux: u64 = linux.manifest().runs_of(there).map(|run| run.measured.timeouts).sum();
        let flows = flows.iter().filter(|pair| pair.point as usize == point).count() as u64;
        (FLOWS_OF_A_TIMEOUT * timeouts > flows && (drops == 0 || timeouts > MANY * on_linux)).then(|| {
            let lost = if drops == 0 { ", although no packet was lost".to_owned() } else { format!(" for {drops} drops") };
            let settings = &simulator.manifest().experiment.points[point].settings;
            let is_of_linux = settings.get("run.parameters").is_some_and(|set| set == "linux");
            let expected = if is_of_linux { "a longer `rto_min`" } else { "parameters = \"linux\"" };
            let name = &names[point];
            format!(
                "{name}: {timeouts} timeouts in the simulator{lost}, and {on_linux} on Linux: the simulator's timer makes \
                 FCTs longer; expected {expected}"
            )
        })
    };
    (0..names.len()).filter_map(of).collect()
}

/// A flow by its point, seed and number.
type Key = (u32, u64, u32);
/// Its payload, and its FCT in each result in which it finished.
type Times = (u64, [Option<f64>; 3]);

/// Returns the flows that all three have finished, by the first result's point, seed and number. A result that lacks runs which
/// are not valid has its points under other indices.
fn paired(results: [&ResultDir; 3]) -> Result<Vec<Pair>, Error> {
    let names = |result: &ResultDir| -> Vec<String> {
        result.manifest().experiment.points.iter().map(PointInfo::in_words).collect()
    };
    let first = names(results[0]);
    let mut all: BTreeMap<Key, Times> = BTreeMap::new();
    for (which, result) in results.into_iter().enumerate() {
        let place = |point: &String| first.iter().position(|other| other == point).map(|place| place as u32);
        let places: Vec<Option<u32>> = names(result).iter().map(place).collect();
        if !result.keeps_all_flows() {
            return Err(Error::Input("a comparison by flow needs flow_records = \"full\" in [run]".to_owned()));
        }
        result.for_each_run(|run, rows| {
            let Some(point) = places.get(run.point as usize).copied().flatten() else { return };
            for row in rows {
                let entry = all.entry((point, run.seed, row.flow)).or_insert((row.bytes, [None; 3]));
                entry.1[which] = row.fct_ps.filter(|_| entry.0 == row.bytes).map(|ps| ps as f64 / 1e6);
            }
        })?;
    }
    let pair = |((point, _, flow), (bytes, times)): (Key, Times)| {
        let [Some(simulator), Some(linux), Some(again)] = times else { return None };
        Some(Pair { point, flow, bytes, fct_us: [simulator, linux, again] })
    };
    Ok(all.into_iter().filter_map(pair).collect())
}

fn row(point: &str, class: &SizeClass, pairs: &[Pair]) -> Option<Row> {
    let figures = |which: usize| {
        let mut times: Vec<f64> = pairs.iter().map(|pair| pair.fct_us[which]).collect();
        Figures::of(&mut times)
    };
    let (simulator, linux, again) = (figures(0)?, figures(1)?, figures(2)?);
    let four = |figures: &Figures| {
        [Statistic::Mean, Statistic::P50, Statistic::P95, Statistic::P99].map(|which| figures.get(which).unwrap_or(0.0))
    };
    let typical = |over: usize, under: usize| {
        let mut ratios: Vec<f64> = pairs.iter().map(|pair| pair.fct_us[over] / pair.fct_us[under]).collect();
        Figures::of(&mut ratios)?.get(Statistic::Typical)
    };
    let (simulator_us, linux_us, again_us) = (four(&simulator), four(&linux), four(&again));
    Some(Row {
        point: point.to_owned(),
        class: class.name.clone(),
        flows: pairs.len(),
        simulator_us,
        linux_us,
        typical_ratio: typical(1, 0)?,
        again: [again_us[0] / linux_us[0], again_us[1] / linux_us[1], typical(2, 1)?],
    })
}

fn mean(pairs: &[Pair], which: usize) -> Option<f64> {
    (!pairs.is_empty()).then(|| pairs.iter().map(|pair| pair.fct_us[which]).sum::<f64>() / pairs.len() as f64)
}

/// Returns Pearson's correlation of the logarithms.
fn correlation(pairs: &[Pair], (one, other): (usize, usize)) -> f64 {
    let logs: Vec<(f64, f64)> =
        pairs.iter().map(|pair| (libm::log(pair.fct_us[one]), libm::log(pair.fct_us[other]))).collect();
    let n = logs.len().max(1) as f64;
    let (mx, my) = (logs.iter().map(|log| log.0).sum::<f64>() / n, logs.iter().map(|log| log.1).sum::<f64>() / n);
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>();
    let (sxy, sxx, syy) = (
        sum(&|log| (log.0 - mx) * (log.1 - my)),
        sum(&|log| (log.0 - mx) * (log.0 - mx)),
        sum(&|log| (log.1 - my) * (log.1 - my)),
    );
    sxy / (sxx * syy).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(flow: u32, bytes: u64, fct_us: [f64; 3]) -> Pair {
        Pair { point: 0, flow, bytes, fct_us }
    }

    /// Linux takes twice as long for one flow and half as long for another: the mean is above, the typical flow as long.
    #[test]
    fn row__mean_median_and_typical_flow() {
        let pairs = [pair(0, 1_000, [100.0, 200.0, 200.0]), pair(1, 1_000, [200.0, 100.0, 400.0])];
        let row = row("pias", &SizeClass::between(0, None), &pairs).expect("flows");
        assert_eq!((row.simulator_us[0], row.linux_us[0]), (150.0, 150.0));
        assert!((row.typical_ratio - 1.0).abs() < 1e-12);
        assert_eq!(row.again[0], 2.0);
    }

    #[test]
    fn correlation__of_equal_and_of_opposite_times() {
        let pairs = [
            pair(0, 1, [10.0, 10.0, 1_000.0]),
            pair(1, 1, [100.0, 100.0, 100.0]),
            pair(2, 1, [1_000.0, 1_000.0, 10.0]),
        ];
        assert!((correlation(&pairs, (0, 1)) - 1.0).abs() < 1e-12);
        assert!((correlation(&pairs, (1, 2)) + 1.0).abs() < 1e-12);
    }
}
