//! The measured values of the runs of an experiment, kept without their flows: a small file next to the experiment. With it you
//! can judge its claims again and add seeds, whichever machine made the first ones.
//!
//! ```text
//! {"schema":1,"model":"11",
//! "quantities":[
//! {"figure":"mean fct","class":...},
//! ...],
//! "notes":[],
//! "made":[...],
//! "runs":[
//! {"key":"...","point":"pias, load 0.5","seed":1,"flows":20000,"values":[8126000.0,...]},
//! ...]}
//! ```
//!
//! A run is found by the key of its part, so a change of its settings makes it another run. One line holds one run, so a change
//! of a run shows as a change of its line.
//!
//! The runs of another model are found by the key that they had under it, or else by their points' words, which do not say all
//! settings. They can be shown, marked as what they are, and nothing is ever added to them.

use crate::claim::Claims;
use flowsieve_experiment::plan::Plan;
use flowsieve_results::files::{parse_json, write_whole};
use flowsieve_results::measured::{Found, Measured, Quantity, Row};
use flowsieve_results::{Controls, Experiment, PartId, PointInfo, RUN_SCHEMA, ResultDir, ResultError, RunInfo, doctor};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KeptRun {
    key: String,
    /// In words, for readers of the file.
    point: String,
    seed: u64,
    flows: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    controls: Option<Controls>,
    /// One of each quantity.
    values: Vec<Found>,
}

/// A day's runs of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// The day, as in `2026-11-23`.
    pub date: String,
    /// Processor, cores, operating system.
    pub machine: String,
    /// Runs that were made.
    pub runs: u32,
    /// Processor time that they took, in seconds.
    pub cpu_seconds: f64,
}

/// The kept runs of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The version of the model that made them: another one has other results.
    model: String,
    quantities: Vec<Quantity>,
    /// By key.
    runs: BTreeMap<String, KeptRun>,
    /// Warnings that a reader has to know before trusting the figures.
    notes: Vec<String>,
    /// Why the last result lacked runs, if it did.
    lacked: Option<String>,
    made: Vec<Made>,
    /// How many of the runs were found by the words of their points.
    by_words: usize,
}

/// The file.
#[derive(Deserialize)]
struct Data {
    model: String,
    quantities: Vec<Quantity>,
    notes: Vec<String>,
    /// Files that lack no run have none.
    #[serde(default)]
    lacked: Option<String>,
    made: Vec<Made>,
    runs: Vec<KeptRun>,
}

/// The version of a program's model, among the versions of an experiment.
fn model(experiment: &Experiment) -> String {
    experiment.versions.get("model").cloned().unwrap_or_default()
}

impl Kept {
    /// Without any run.
    pub fn none(experiment: &Experiment, claims: &Claims) -> Kept {
        Kept {
            model: model(experiment),
            quantities: claims.needed(),
            runs: BTreeMap::new(),
            notes: Vec::new(),
            lacked: None,
            made: Vec::new(),
            by_words: 0,
        }
    }

    /// The runs in a text that was read from `path`. Runs that lack a quantity which the experiment's claims need are left out.
    ///
    /// # Errors
    /// If it is not such a text.
    pub fn parse(path: &Path, text: &str, experiment: &Experiment, claims: &Claims) -> Result<Kept, ResultError> {
        let Data { model, quantities, notes, lacked, made, runs } = parse_json(path, text, RUN_SCHEMA)?;
        let none = Kept { model, ..Kept::none(experiment, claims) };
        let count = quantities.len();
        if let Some(run) = runs.iter().find(|run| run.values.len() != count) {
            let why = format!("run {:?} has {} values, expected {count}", run.key, run.values.len());
            return Err(ResultError::damaged(path, why));
        }
        let place = |needed: &Quantity| quantities.iter().position(|quantity| quantity == needed);
        let Some(places) = none.quantities.iter().map(place).collect::<Option<Vec<usize>>>() else {
            return Ok(Kept { made, ..none });
        };
        let again = |run: KeptRun| {
            let values = places.iter().map(|&at| run.values[at]).collect();
            (run.key.clone(), KeptRun { values, ..run })
        };
        Ok(Kept { notes, lacked, made, runs: runs.into_iter().map(again).collect(), ..none })
    }

    /// The model that made the runs, if it is not the program's own.
    pub fn other_model(&self, experiment: &Experiment) -> Option<&str> {
        (self.model != model(experiment)).then_some(&self.model)
    }

    /// Gives the runs of another model the keys that an experiment's runs have now, and those of the tests of its causes.
    ///
    /// A run is found by the key that it had under its model, which it shares with the same point of another sweep. Where that
    /// finds none of a point of the experiment, its runs are found by the point's words, and counted. The others are dropped.
    pub fn rename(&mut self, plan: &Plan, tests: &[Plan]) {
        let seeds: BTreeSet<u64> = self.runs.values().map(|run| run.seed).collect();
        let points =
            |plan: &'_ Plan| (0..plan.points.len()).flat_map(|point| seeds.iter().map(move |&seed| (point, seed)));
        let keys: BTreeMap<String, (&Plan, usize)> = [plan]
            .into_iter()
            .chain(tests)
            .flat_map(|plan| points(plan).map(move |at| (plan, at)))
            .map(|(plan, (point, seed))| (plan.key_of_model(point, seed, &self.model), (plan, point)))
            .collect();
        let found = |key: &String| keys.get(key).copied();
        let by_key: BTreeSet<usize> = self
            .runs
            .keys()
            .filter_map(found)
            .filter(|(of, _)| std::ptr::eq(*of, plan))
            .map(|(_, point)| point)
            .collect();
        let words = plan.experiment.points.iter().map(PointInfo::whole_name).zip(0..);
        let by_words: BTreeMap<String, usize> = words.filter(|(_, point)| !by_key.contains(point)).collect();
        let renamed = std::mem::take(&mut self.runs).into_values().filter_map(|run| {
            let (plan, point) = match found(&run.key) {
                Some(found) => found,
                None => {
                    let point = *by_words.get(&run.point)?;
                    self.by_words += 1;
                    (plan, point)
                }
            };
            let key = plan.key(point, run.seed);
            Some((key.clone(), KeptRun { key, ..run }))
        });
        self.runs = renamed.collect();
    }

    /// How many of the runs of another model were found by the words of their points alone: their settings may be others.
    pub fn by_words(&self) -> usize {
        self.by_words
    }

    /// Whether it has the run of a part.
    pub fn has(&self, key: &str) -> bool {
        self.runs.contains_key(key)
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// Takes the runs of a result, in which `sets` were changed.
    pub fn add(&mut self, result: &ResultDir, sets: &[String]) {
        let experiment = &result.manifest().experiment;
        let measured = Measured::of(self.quantities.clone(), result.manifest(), result.summary());
        // Else the points of a test would have the words of the experiment's own.
        let sets: String = sets.iter().map(|set| format!(", with {set}")).collect();
        for (point, info) in experiment.points.iter().enumerate() {
            let label = format!("{}{sets}", info.whole_name());
            for (part, row) in info.parts.iter().zip(measured.rows(point)) {
                let Row { seed, flows, controls, values } = row.clone();
                let run = KeptRun { key: part.key.clone(), point: label.clone(), seed, flows, controls, values };
                self.runs.insert(part.key.clone(), run);
            }
        }
        self.lacked = doctor::missing(result.manifest()).map(|(why, _)| why);
        let notes = result.warnings().into_iter().map(|warning| warning.text);
        let notes = notes.filter(|note| self.lacked.as_ref() != Some(note));
        self.notes.extend(notes.filter(|note| !self.notes.contains(note)).collect::<Vec<_>>());
    }

    /// Records where and when runs were made.
    pub fn was_made(&mut self, run: &RunInfo) {
        if run.parts_run == 0 {
            return;
        }
        let date: String = run.date.chars().take_while(|&letter| letter != 'T').collect();
        let Some(made) = self.made.iter_mut().find(|made| made.date == date && made.machine == run.machine) else {
            let (machine, runs, cpu_seconds) = (run.machine.clone(), run.parts_run, run.cpu_seconds.round());
            return self.made.push(Made { date, machine, runs, cpu_seconds });
        };
        made.runs += run.parts_run;
        made.cpu_seconds += run.cpu_seconds.round();
    }

    /// Drops the runs that belong to no point of these plans any more.
    pub fn forget_others(&mut self, plans: &[&Plan]) {
        let is_of =
            |run: &KeptRun, plan: &Plan| (0..plan.points.len()).any(|point| plan.key(point, run.seed) == run.key);
        self.runs.retain(|_, run| plans.iter().any(|plan| is_of(run, plan)));
    }

    /// The numbers of those of an experiment's runs that are there: on Linux one may be missing that was never valid.
    pub fn measured(&self, experiment: &Experiment) -> Measured {
        let row = |part: &PartId| {
            let KeptRun { seed, flows, controls, values, .. } = self.runs.get(&part.key)?.clone();
            Some(Row { seed, flows, controls, values })
        };
        let points = experiment.points.iter().map(|point| point.parts.iter().filter_map(row).collect()).collect();
        Measured::from_rows(experiment, self.quantities.clone(), points)
    }

    /// Warnings that a reader has to know before trusting the figures.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Why the last result lacked runs, if it did.
    pub fn lacked(&self) -> Option<&str> {
        self.lacked.as_deref()
    }

    /// The machines and days on which they were made.
    pub fn made(&self) -> &[Made] {
        &self.made
    }

    /// Writes the file. Its folder is made if it is not there.
    pub fn write(&self, path: &Path) -> Result<(), ResultError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(ResultError::io("create the folder", folder))?;
        }
        let mut runs: Vec<&KeptRun> = self.runs.values().collect();
        runs.sort_by_key(|run| (&run.point, run.seed, &run.key));
        let lacked = self.lacked.as_ref().map(serde_json::to_string).transpose().map_err(ResultError::invalid)?;
        let lacked = lacked.map_or(String::new(), |why| format!("\"lacked\":{why},\n"));
        let text = format!(
            "{{\"schema\":{RUN_SCHEMA},\"model\":{:?},\n\"quantities\":[{}],\n\"notes\":[{}],\n{}\"made\":[{}],\n\"runs\":[{}]}}\n",
            self.model,
            lines(&self.quantities)?,
            lines(&self.notes)?,
            lacked,
            lines(&self.made)?,
            lines(runs)?,
        );
        write_whole(path, |file| file.write_all(text.as_bytes()).map_err(ResultError::io("write", path)))
    }
}

/// A line of JSON for each.
fn lines<T: Serialize>(values: impl IntoIterator<Item = T>) -> Result<String, ResultError> {
    let line = |value: T| Ok(format!("\n{}", serde_json::to_string(&value)?));
    let lines: Result<Vec<String>, serde_json::Error> = values.into_iter().map(line).collect();
    Ok(lines.map_err(ResultError::invalid)?.join(","))
}
