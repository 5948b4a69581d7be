//! Thresholds by direct search: candidates are run in the packet simulator, and the shortest mean completion time wins.
//!
//! The search starts at the best thresholds of models and authors. It moves all thresholds together, and then each
//! alone, up and down by a factor. It takes the better of the two moves if that improves on the best. When a whole turn
//! finds no improvement, the factor becomes its square root. (A pattern search, Hooke and Jeeves, Journal of the ACM,
//! 1961, on the logarithms of the thresholds.) All candidates get the same flows, so that any difference is due to the
//! thresholds. At the end, the thresholds run on other flows, which shows how much of the gain was a fit to the flows
//! of the search.

use super::{Asked, Expected, Method, Wanted};
use crate::parallel::in_parallel;
use flowsieve_engines::built_in;
use flowsieve_experiment::Error;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_settings::units::format_size;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The fabric: hosts at one switch.
pub(super) const HOSTS: u32 = 16;

/// Seeds of flows that the search does not use; it uses those of seed 1.
const OTHERS: [u64; 3] = [2, 3, 4];

/// Payload of a packet. Smaller moves change nothing, because whole packets are compared with thresholds.
const PACKET: u64 = 1_460;

/// The first factor, and the factor below which the search ends.
const FACTOR: f64 = 2.0;
const FINEST: f64 = 1.05;

/// How far to search.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// The most sets of thresholds to run, without the last runs on other flows.
    pub evaluations: usize,
    /// Number of flows of a run.
    pub flows: u64,
    /// Runs at a time, at least one. It does not affect results.
    pub jobs: usize,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Load of the host links.
    pub load: f64,
    /// Number of hosts at the switch.
    pub hosts: u32,
    /// Number of flows of a run.
    pub flows: u64,
    /// Number of sets of thresholds that were run.
    pub evaluations: usize,
    /// The thresholds found, then those of each method for comparison.
    pub compared: Vec<Compared>,
}

/// Thresholds and their completion times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The method by which they were chosen.
    pub method: &'static str,
    /// In bytes, rising.
    pub thresholds_bytes: Vec<u64>,
    /// Mean completion time on the flows of the search, in seconds.
    pub mean_fct_s: f64,
    /// Mean completion time on the flows of three other seeds, each as many, in seconds.
    pub mean_fct_of_other_flows_s: f64,
    /// The models' expectation.
    pub expected: Option<Expected>,
}

/// Searches for each load, in order; by default with 8 queues. `show` receives the load, the number of finished runs,
/// and the largest number possible.
pub fn simulate(
    wanted: &Wanted,
    search: Search,
    show: &(dyn Fn(f64, usize, usize) + Sync),
) -> Result<Vec<Found>, Error> {
    if search.evaluations == 0 || search.flows == 0 {
        return Err(Error::Input("--evaluations and --flows: expected at least 1".to_owned()));
    }
    if wanted.sizes.is_some() {
        let why =
            "--sizes: a run draws its sizes from a distribution; give --workload or --cdf to search by simulation";
        return Err(Error::Input(why.to_owned()));
    }
    let found = |load: &f64| {
        let asked = Asked::read(wanted, *load, wanted.queues.unwrap_or(8))?;
        let show = |done, of| show(*load, done, of);
        let (known, done) = (BTreeMap::new(), AtomicUsize::new(0));
        Evaluator { wanted, asked: &asked, search, show: &show, known, done, most: search.evaluations }.found()
    };
    wanted.loads.iter().map(found).collect()
}

struct Evaluator<'a> {
    wanted: &'a Wanted,
    asked: &'a Asked,
    search: Search,
    show: &'a (dyn Fn(usize, usize) + Sync),
    /// Mean completion times in seconds, on the flows of the search.
    known: BTreeMap<Vec<u64>, f64>,
    /// Number of runs done, and the largest number possible.
    done: AtomicUsize,
    most: usize,
}

impl Evaluator<'_> {
    fn found(mut self) -> Result<Found, Error> {
        let starts = self.starts()?;
        self.most += OTHERS.len() * (starts.len() + 1);
        self.evaluate(&starts.iter().map(|(_, thresholds_bytes)| thresholds_bytes.clone()).collect::<Vec<_>>())?;
        let evaluated = starts.into_iter().filter(|(_, start)| self.known.contains_key(start)).collect::<Vec<_>>();
        let compared: Vec<(&str, Vec<u64>)> = [("simulate", self.walk()?)].into_iter().chain(evaluated).collect();
        let others = |(_, candidate): &(&str, Vec<u64>)| OTHERS.map(|seed| (candidate.clone(), seed));
        let means = self.run_all(&compared.iter().flat_map(others).collect::<Vec<_>>())?;
        let row = |((method, thresholds_bytes), means): ((&'static str, Vec<u64>), &[f64])| Compared {
            method,
            mean_fct_s: self.known.get(&thresholds_bytes).copied().unwrap_or(f64::INFINITY),
            mean_fct_of_other_flows_s: means.iter().sum::<f64>() / means.len() as f64,
            expected: self.asked.expected(&thresholds_bytes),
            thresholds_bytes,
        };
        Ok(Found {
            load: self.asked.load,
            hosts: HOSTS,
            flows: self.search.flows,
            evaluations: self.known.len(),
            compared: compared.into_iter().zip(means.chunks(OTHERS.len())).map(row).collect(),
        })
    }

    /// Returns the thresholds of models and authors.
    fn starts(&self) -> Result<Vec<(&'static str, Vec<u64>)>, Error> {
        let mut starts = Vec::new();
        let models = [("pias", Method::Pias), ("background", Method::Background), ("equal-split", Method::EqualSplit)];
        let one = (self.asked.queues == 2).then_some(("two-level", Method::TwoLevel));
        for (name, method) in models.into_iter().chain(one) {
            starts.push((name, self.asked.thresholds(method)?.thresholds_bytes));
        }
        starts.extend(self.asked.published().map(|published| ("published", published)));
        Ok(starts)
    }

    /// Searches from the best known thresholds, until the factor is small or the evaluations are used up.
    fn walk(&mut self) -> Result<Vec<u64>, Error> {
        let by_time = |known: &(&Vec<u64>, &f64), other: &(&Vec<u64>, &f64)| known.1.total_cmp(other.1);
        let (mut best, mut least) =
            self.known.iter().min_by(by_time).map(|(best, least)| (best.clone(), *least)).unwrap_or_default();
        let mut factor = FACTOR;
        while factor > FINEST && self.known.len() < self.search.evaluations {
            let mut better = false;
            let alone = (0..best.len()).map(Some);
            let together = (best.len() > 1).then_some(None);
            for which in together.into_iter().chain(alone) {
                let moves: Vec<Vec<u64>> =
                    [factor, 1.0 / factor].iter().filter_map(|factor| moved(&best, which, *factor)).collect();
                self.evaluate(&moves)?;
                for candidate in moves {
                    if let Some(&time) = self.known.get(&candidate)
                        && time < least
                    {
                        (best, least, better) = (candidate, time, true);
                    }
                }
            }
            if !better {
                factor = factor.sqrt();
            }
        }
        Ok(best)
    }

    /// Computes the times of new candidates, as far as runs are left.
    fn evaluate(&mut self, candidates: &[Vec<u64>]) -> Result<(), Error> {
        let mut new: Vec<Vec<u64>> = Vec::new();
        for candidate in candidates {
            if !self.known.contains_key(candidate) && !new.contains(candidate) {
                new.push(candidate.clone());
            }
        }
        new.truncate(self.search.evaluations - self.known.len());
        let runs: Vec<(Vec<u64>, u64)> = new.into_iter().map(|candidate| (candidate, 1)).collect();
        let times = self.run_all(&runs)?;
        self.known.extend(runs.into_iter().map(|(candidate, _)| candidate).zip(times));
        Ok(())
    }

    /// Returns the mean completion times in seconds, in the order of the runs.
    fn run_all(&self, runs: &[(Vec<u64>, u64)]) -> Result<Vec<f64>, Error> {
        let work = |number: usize| {
            let (thresholds_bytes, seed) = &runs[number];
            let mean = self.run(thresholds_bytes, *seed);
            (self.show)(self.done.fetch_add(1, Ordering::Relaxed) + 1, self.most);
            mean
        };
        in_parallel(self.search.jobs, runs.len(), work).into_iter().collect()
    }

    fn run(&self, thresholds_bytes: &[u64], seed: u64) -> Result<f64, Error> {
        let input = ExperimentText::new("thresholds", &self.experiment(thresholds_bytes));
        let plan = plan::plan(&input, Path::new(""), &Changes::default(), &built_in())?;
        let result = built_in().run(&plan.points[0], seed, &mut go_on, None)?;
        let seconds = |fct: Option<u64>| fct.map_or(f64::INFINITY, |fct| fct as f64 * 1e-12);
        Ok(result.flows.iter().map(|row| seconds(row.fct_ps)).sum::<f64>() / result.flows.len() as f64)
    }

    fn experiment(&self, thresholds_bytes: &[u64]) -> String {
        let text = |text: &String| toml_edit::Value::from(text.as_str()).to_string();
        let sizes = match (&self.wanted.workload, &self.wanted.cdf) {
            (Some(name), _) => format!("sizes = {}", text(name)),
            (None, Some(file)) => format!("cdf = {}", text(file)),
            (None, None) => String::new(),
        };
        let listed = thresholds_bytes.iter().map(|bytes| format!("\"{}\"", format_size(*bytes)));
        let listed = listed.collect::<Vec<_>>().join(", ");
        format!(
            "title = \"thresholds\"\n\
             [topology]\n\
             kind = \"single-switch\"\n\
             hosts = {HOSTS}\n\
             host_link = \"10Gbps\"\n\
             link_delay = \"200ns\"\n\
             host_delay = \"20us\"\n\
             [workload]\n\
             {sizes}\n\
             load = {:?}\n\
             flows = {}\n\
             [network]\n\
             queues = {}\n\
             [schemes.pias]\n\
             thresholds = [{listed}]\n\
             [sweep]\n\
             scheme = [\"pias\"]\n\
             [run]\n\
             parameters = \"ns2\"\n",
            self.asked.load,
            self.search.flows,
            thresholds_bytes.len() + 1,
        )
    }
}

/// Multiplies one threshold, or all, by a factor, in whole packets; `None` if they would not rise.
fn moved(thresholds_bytes: &[u64], which: Option<usize>, factor: f64) -> Option<Vec<u64>> {
    let packets = |bytes: u64| (bytes as f64 * factor / PACKET as f64).round().max(1.0) as u64 * PACKET;
    let moved = |(index, bytes): (usize, &u64)| {
        if which.is_none_or(|which| which == index) { packets(*bytes) } else { *bytes }
    };
    let moved: Vec<u64> = thresholds_bytes.iter().enumerate().map(moved).collect();
    moved.is_sorted_by(|a, b| a < b).then_some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(queues: u64) -> Wanted {
        Wanted {
            workload: Some("web-search".into()),
            cdf: None,
            sizes: None,
            loads: vec![0.8],
            queues: Some(queues),
            method: Method::Pias,
        }
    }

    #[test]
    fn moved__in_whole_packets_that_rise() {
        let three = [1_460, 14_600, 20_000];
        assert_eq!(moved(&three, None, 2.0), Some(vec![2_920, 29_200, 39_420]));
        assert_eq!(moved(&three, Some(0), 0.5), Some(vec![1_460, 14_600, 20_000]));
        assert_eq!(moved(&three, Some(1), 2.0), None);
        assert_eq!(moved(&three, Some(2), 0.8), Some(vec![1_460, 14_600, 16_060]));
    }

    #[test]
    fn simulate__is_never_worse_than_its_starts_and_the_same_for_any_number_of_jobs() {
        let search = |jobs| Search { evaluations: 9, flows: 150, jobs };
        let found = simulate(&wanted(2), search(1), &|_, done, of| assert!(done <= of)).unwrap();
        assert_eq!(found, simulate(&wanted(2), search(3), &|_, _, _| {}).unwrap());
        let [best, starts @ ..] = &found[0].compared[..] else { panic!("nothing was compared") };
        // It continued from the four starts up to its limit.
        assert!(found[0].evaluations == 9 && starts.len() == 4, "{found:?}");
        assert!(starts.iter().all(|start| best.mean_fct_s <= start.mean_fct_s), "{found:?}");
        assert!(found[0].compared.iter().all(|row| row.mean_fct_of_other_flows_s > 0.0 && row.expected.is_some()));
    }

    #[test]
    fn simulate__refuses_what_models_refuse() {
        let search = Search { evaluations: 2, flows: 1, jobs: 1 };
        let refused = |wanted: Wanted, search| simulate(&wanted, search, &|_, _, _| {}).unwrap_err().render(false);
        let overload = refused(Wanted { loads: vec![1.0], ..wanted(4) }, search);
        assert!(overload.contains("a load of 1; expected more than 0 and less than 1"), "{overload}");
        let nothing = refused(wanted(4), Search { evaluations: 0, ..search });
        assert!(nothing.contains("at least 1"), "{nothing}");
    }
}
