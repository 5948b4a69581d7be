//! Divides a plan: the list of its runs, and which of them a machine makes.
//!
//! A shard is a share of the runs by estimated cost: the most expensive first, each to the shard with the least cost so
//! far. Only the plan decides it, so that shard 3/40 is the same on every machine. With the keys of runs and the hash
//! of a plan, a machine checks before it works that it has the same experiment and model as the others.

use crate::engine::BaseRoundTrip;
use crate::error::Error;
use crate::plan::{Plan, PlannedRun, WireLoads};
use flowsieve_report as report;
use flowsieve_settings::files;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The longest file of keys that is read, in bytes: some million keys.
const MAX_KEYS_BYTES: u64 = 64 << 20;

/// The most keys that a message lists.
const NAMED: usize = 3;

/// One of several shares of a plan, such as `3/40`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    number: u32,
    /// The number of shards.
    of: u32,
}

impl Shard {
    /// The most shards of a plan.
    const MOST: u32 = 100_000;
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong =
            || format!("expected a number from 1 and the number of shards, at most {}, such as 3/40", Shard::MOST);
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let read = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        let shard = Shard { number: read(number)?, of: read(of)? };
        if shard.number == 0 {
            return Err("shards are counted from 1".to_owned());
        }
        if shard.of == 0 || shard.number > shard.of || shard.of > Shard::MOST {
            return Err(wrong());
        }
        Ok(shard)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.of)
    }
}

/// A run as a plan lists it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    /// The name of its part: a hash of all that its result depends on.
    pub key: String,
    /// Its point, as an index among `points`.
    pub point: usize,
    /// Its seed.
    pub seed: u64,
    /// Estimated packet-hops.
    pub packet_hops: f64,
    /// Estimated upper bound of its memory, in bytes.
    pub memory_bytes: u64,
}

/// A plan as programs read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listing {
    /// [`Plan::hash`].
    pub plan: String,
    /// Versions of the software that would make the runs, including `model`.
    pub versions: BTreeMap<String, String>,
    /// The experiment's title.
    pub title: String,
    /// Scheme, load and swept settings of each point, in words.
    pub points: Vec<String>,
    /// The effective configuration of each point: all that its result depends on, beside the seed.
    pub settings: Vec<BTreeMap<String, String>>,
    /// The runs in the order in which they start, each key once.
    pub runs: Vec<Listed>,
    /// Estimated packet-hops of all runs together.
    pub packet_hops: f64,
    /// What the user should know before it runs.
    pub warnings: Vec<String>,
    /// The base round trips of the fabrics, by kind of path.
    pub round_trips: Vec<Vec<BaseRoundTrip>>,
    /// The loads on the wire.
    #[serde(skip)]
    pub loads: Vec<WireLoads>,
}

impl Listing {
    /// Returns a text for reading: the cost, and a line for each point.
    pub fn text(&self) -> String {
        let runs = self.runs.len();
        let most = self.runs.iter().map(|run| run.memory_bytes).max().unwrap_or(0);
        let versions: Vec<String> = self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let of_point = |(index, label): (usize, &String)| {
            let of: Vec<_> = self.runs.iter().filter(|run| run.point == index).collect();
            let hops = of.first().map_or(0.0, |run| run.packet_hops);
            let memory = of.first().map_or(0, |run| run.memory_bytes);
            [label.clone(), of.len().to_string(), hops_in_words(hops), report::size(memory)]
        };
        let head = ["point", "runs", "packet-hops each", "memory each"].map(str::to_owned);
        let rows: Vec<[String; 4]> = [head].into_iter().chain(self.points.iter().enumerate().map(of_point)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths = [0, 1, 2, 3].map(width);
        let line = |row: &[String; 4]| {
            let [label, runs, hops, memory] = row;
            let [a, b, c, d] = widths;
            format!("{label:a$}  {runs:>b$}  {hops:>c$}  {memory:>d$}\n")
        };
        format!(
            "{}\n{runs} runs of {} points, about {} packet-hops in all; a run takes {} of memory at most\n{}plan {} ({})\n\n{}",
            self.title,
            self.points.len(),
            hops_in_words(self.packet_hops),
            report::size(most),
            self.round_trips
                .iter()
                .map(|trips| BaseRoundTrip::in_words(trips))
                .chain(self.loads.iter().map(WireLoads::in_words))
                .map(|line| report::paragraph(&line, "  ") + "\n")
                .collect::<String>(),
            self.plan,
            versions.join(", "),
            rows.iter().map(line).collect::<String>(),
        )
    }
}

/// Formats a number of packet-hops for reading.
pub fn hops_in_words(hops: f64) -> String {
    match hops {
        0.0..1e6 => format!("{hops:.0}"),
        1e6..1e9 => format!("{:.0} million", hops / 1e6),
        _ => format!("{:.1} billion", hops / 1e9),
    }
}

/// The part of a file of keys that identifies it as written by a plan.
#[derive(Deserialize)]
struct Chosen {
    plan: String,
    versions: BTreeMap<String, String>,
    runs: Vec<ChosenRun>,
}

#[derive(Deserialize)]
struct ChosenRun {
    key: String,
}

impl Plan {
    /// Returns a hash of all that its result depends on: experiment, versions, model and runs.
    pub fn hash(&self) -> String {
        // A plan of numbers and texts can always be written.
        let text = serde_json::to_string(&self.experiment).unwrap_or_default();
        blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
    }

    /// Returns the plan as a list.
    pub fn listing(&self) -> Listing {
        let listed = |(_, run): (usize, &PlannedRun)| Listed {
            key: run.key.clone(),
            point: run.point,
            seed: run.seed,
            packet_hops: run.packet_hops,
            memory_bytes: run.memory_bytes,
        };
        let runs: Vec<Listed> = self.distinct().map(listed).collect();
        Listing {
            plan: self.hash(),
            versions: self.experiment.versions.clone(),
            title: self.experiment.title.clone(),
            points: self.points.iter().map(crate::points::Point::label).collect(),
            settings: self.experiment.points.iter().map(|point| point.settings.clone()).collect(),
            packet_hops: runs.iter().map(|run| run.packet_hops).sum(),
            runs,
            warnings: self.warnings.clone(),
            round_trips: self.round_trips.clone(),
            loads: self.loads.clone(),
        }
    }

    /// Returns the keys of a shard's runs. If there are more shards than runs, some have none.
    pub fn shard(&self, shard: Shard) -> BTreeSet<String> {
        let mut runs: Vec<&PlannedRun> = self.distinct().map(|(_, run)| run).collect();
        runs.sort_by(|a, b| b.packet_hops.total_cmp(&a.packet_hops).then_with(|| a.key.cmp(&b.key)));
        // By cost and number: the first one has the least.
        let mut shards: BTreeSet<(u64, u32)> = (1..=shard.of).map(|number| (0, number)).collect();
        let mut keys = BTreeSet::new();
        for run in runs {
            let Some((cost, number)) = shards.pop_first() else { break };
            // Runs without a cost count, too.
            shards.insert((cost.saturating_add((run.packet_hops as u64).max(1)), number));
            if number == shard.number {
                keys.insert(run.key.clone());
            }
        }
        keys
    }

    /// Returns the plan of these runs alone.
    ///
    /// # Errors
    /// Fails if the plan does not have all of them.
    pub fn only(&self, keys: &BTreeSet<String>) -> Result<Plan, Error> {
        let has: BTreeSet<&str> = self.runs.iter().map(|run| run.key.as_str()).collect();
        let unknown: Vec<&str> = keys.iter().map(String::as_str).filter(|key| !has.contains(key)).collect();
        if unknown.is_empty() {
            return Ok(self.without(|key| !keys.contains(key)));
        }
        let named = unknown.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if unknown.len() > NAMED { " …" } else { "" };
        Err(Error::Input(format!(
            "the plan has no run {named}{more} ({} of {} keys are unknown); expected keys of `flowsieve plan` with the same \
             file, --set, --seeds and --scale, by a program of the same version",
            unknown.len(),
            keys.len()
        )))
    }

    /// Reads keys of runs from a file: one key per line, or the output of `flowsieve plan --json` with the runs that
    /// are wanted.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is of another plan, version or model.
    pub fn read_keys(&self, path: &Path) -> Result<BTreeSet<String>, Error> {
        let refuse = |problem: String| Error::File { path: path.display().to_string(), problem };
        let text = files::read_text(path, MAX_KEYS_BYTES).map_err(|error| refuse(error.to_string()))?;
        if !text.trim_start().starts_with('{') {
            let keys = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            return Ok(keys.map(str::to_owned).collect());
        }
        let chosen: Chosen = serde_json::from_str(&text).map_err(|error| refuse(format!("is not a plan: {error}")))?;
        if chosen.versions != self.experiment.versions {
            let words = |versions: &BTreeMap<String, String>| {
                versions.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
            };
            let (theirs, ours) = (words(&chosen.versions), words(&self.experiment.versions));
            return Err(refuse(format!("is a plan of {theirs}, but this is {ours}: use the same program everywhere")));
        }
        if chosen.plan != self.hash() {
            let problem = "is a different plan: the experiment, --set, --seeds or --scale differ from its own";
            return Err(refuse(problem.to_owned()));
        }
        Ok(chosen.runs.into_iter().map(|run| run.key).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment_text::ExperimentText;
    use crate::plan::{self, Changes};
    use proptest::prelude::*;

    fn plan(loads: &str, seeds: u64) -> Plan {
        let text = format!(
            "[workload]\nflows = 6\n\
             [sweep]\nload = [{loads}]\nscheme = [\"dctcp\", \"pias\"]\n[run]\nseeds = {seeds}\n"
        );
        plan::plan(
            &ExperimentText::new("t.toml", &text),
            Path::new(""),
            &Changes::default(),
            &crate::toy::Made::default().engines(),
        )
        .unwrap()
    }

    #[test]
    fn hops_in_words__rounds() {
        assert_eq!(hops_in_words(18_200_000.0), "18 million");
        assert_eq!(hops_in_words(2.26e9), "2.3 billion");
    }

    #[test]
    fn shard__is_a_number_and_how_many() {
        assert_eq!("3/40".parse::<Shard>().unwrap().to_string(), "3/40");
        for wrong in ["0/40", "41/40", "3/0", "0/0", "3", "/", "a/b", "-1/4", "1/100001", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn shard__every_run_is_in_one(of in 1u32..30, seeds in 1u64..6) {
            let plan = plan("0.3, 0.5", seeds);
            let mut seen = BTreeSet::new();
            for number in 1..=of {
                let shard = plan.shard(Shard { number, of });
                prop_assert_eq!(&shard, &plan.shard(Shard { number, of }));
                for key in shard {
                    prop_assert!(seen.insert(key));
                }
            }
            prop_assert_eq!(seen.len(), plan.runs.len());
        }
    }

    #[test]
    fn shard__is_cut_by_cost_and_not_by_number() {
        let mut plan = plan("0.3, 0.4, 0.5", 1);
        for run in &mut plan.runs {
            run.packet_hops = if run.point == 0 { 500.0 } else { 100.0 };
        }
        // The expensive run alone, the other five together.
        let sizes = [1, 2].map(|number| plan.shard(Shard { number, of: 2 }).len());
        assert_eq!(sizes, [1, 5]);
    }

    #[test]
    fn only__refuses_runs_of_another_plan() {
        let plan = plan("0.3", 2);
        let keys = plan.shard(Shard { number: 1, of: 2 });
        let part = plan.only(&keys).unwrap();
        assert_eq!(part.runs.len(), 2);
        assert!(part.runs.iter().all(|run| keys.contains(&run.key)));
        let error = plan.only(&BTreeSet::from(["0123".to_owned()])).unwrap_err().to_string();
        assert!(error.contains("no run 0123 (1 of 1 keys are unknown)"), "{error}");
    }

    #[test]
    fn read_keys__of_lines_or_of_a_plan() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let read = |plan: &Plan, text: &str| {
            std::fs::write(&path, text).unwrap();
            plan.read_keys(&path).map_err(|error| error.to_string())
        };
        let (one, other) = (plan("0.3", 2), plan("0.4", 2));
        assert_eq!(read(&one, "# mine\n a\n\nb\n").unwrap(), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        let listing = serde_json::to_string(&one.listing()).unwrap();
        let all: BTreeSet<String> = one.runs.iter().map(|run| run.key.clone()).collect();
        assert_eq!(read(&one, &listing).unwrap(), all);
        assert!(read(&other, &listing).unwrap_err().contains("is a different plan"));
        let older = listing.replace("\"model\":\"", "\"model\":\"0");
        assert!(read(&one, &older).unwrap_err().contains("use the same program everywhere"));
        assert!(read(&one, "{").unwrap_err().contains("is not a plan"));
    }

    #[test]
    fn hash__is_of_what_is_run() {
        assert_eq!(plan("0.3", 2).hash(), plan("0.3", 2).hash());
        assert_ne!(plan("0.3", 2).hash(), plan("0.3", 3).hash());
        assert_ne!(plan("0.3", 2).hash(), plan("0.4", 2).hash());
    }
}
