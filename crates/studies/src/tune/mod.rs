//! What would help a fabric's traffic, by simulation: candidates are screened in a sample of receivers, the best are run whole
//! next to today's network, and the one that is chosen is measured again on seeds that had no part in choosing it.
//!
//! 1. All candidates are screened (`candidates`), then other marking thresholds for the best of them.
//! 2. The few best and today's network are run whole, with the same flows. Seeds are added until the best is told from the
//!    others, or the effort is spent (`choose`).
//! 3. The chosen one and today's network get seeds of their own. Their intervals are what is reported: those of step 2 would
//!    flatter the winner.
//!
//! With a number of seeds instead of a budget, the same request gives the same answer.

mod answer;
mod candidates;
mod choose;
mod folder;
mod ground;
mod rollout;
mod steps;
mod today;
mod words;

use answer::Answer;
use candidates::Scope;
pub use candidates::{Candidate, Kind, TODAY};
use flowsieve_experiment::Error;
use flowsieve_experiment::bundle::failed;
use flowsieve_experiment::further::Tables;
use flowsieve_experiment::plan::Plan;
use flowsieve_results::{Ratio, ResultDir};
use folder::Taken;
use ground::Ground;
pub use rollout::{Group, Share};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steps::Tuning;

use crate::configuration::{Ports, Written};
use crate::fabric_file::FabricFile;
use crate::thresholds::paired::Links;
use crate::thresholds::{Asked, Marking, Wanted};
use flowsieve_settings::units::{format_rate, format_size};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The fabric: an experiment, or a file with a `[topology]` alone.
    pub fabric: PathBuf,
    /// Further tables that this experiment may have.
    pub tables: Option<Tables>,
    /// The sizes; loads, queues and method are not read. If none are named, those of the fabric's file count.
    pub wanted: Wanted,
    /// Load of the host links; `None`: the file's.
    pub load: Option<f64>,
    /// The fewest and the most queues.
    pub queues: (u64, u64),
    /// What ports may compare with K.
    pub markings: Vec<Marking>,
    /// Whether switches can be programmed.
    pub programmable: bool,
    /// Whether switches count the first packets of a connection.
    pub counting: bool,
    /// Whether hosts go on sending, and ports marking, as today.
    pub hosts_stay: bool,
    /// Flows of a run; by default as many as take some seconds.
    pub flows: Option<u64>,
    /// The queue of packets without a mark.
    pub unmarked: Unmarked,
    /// The most that the longest flows of hosts that tag may lose, as a share of their mean FCT.
    pub at_most: Option<f64>,
    /// How long to look.
    pub effort: Effort,
    /// Runs at a time.
    pub jobs: usize,
    /// The folder of the recommendation.
    pub out: PathBuf,
    /// Whether what is there may be replaced.
    pub replace: bool,
    /// The ports to write configuration for.
    pub ports: Option<Ports>,
}

/// The queue of packets without a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmarked {
    /// The first that is served.
    Top,
    /// This one, from 0, the first that is served.
    Queue(usize),
    /// The last that is served.
    Lowest,
}

impl Unmarked {
    /// Returns the queue of a port with so many; a number beyond them is the last.
    fn of(self, queues: usize) -> usize {
        match self {
            Unmarked::Top => 0,
            Unmarked::Queue(queue) => queue.min(queues.saturating_sub(1)),
            Unmarked::Lowest => queues.saturating_sub(1),
        }
    }
}

/// How long to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// So many seeds of each candidate that is run whole, and as many others for the chosen one.
    Seeds(u64),
    /// Until all is resolved, but no longer than this.
    Budget {
        /// The time.
        time: Duration,
        /// Whether the user gave it. Otherwise it grows to what the least answer takes.
        is_given: bool,
    },
}

/// Makes runs and tells the time, for [`tune`].
pub trait Work {
    /// Makes the runs of a plan, whose parts are in a shared folder, into the folder `out`. `what` says why.
    ///
    /// # Errors
    /// As [`flowsieve_experiment::execute::execute_sharing`].
    fn make(&mut self, what: &str, plan: &Plan, out: &Path, parts: &Path) -> Result<ResultDir, Error>;

    /// Returns the time since the start.
    fn spent(&self) -> Duration;
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Use several queues.
    Use,
    /// Keep one queue, with another marking threshold.
    OneQueueOtherK,
    /// Keep the network as it is.
    KeepOneQueue,
}

/// The change of a size class, as multiples of today's times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The class.
    pub class: String,
    /// Its flows, in all seeds.
    pub flows: u64,
    /// Of the mean FCT.
    pub mean: Option<Ratio>,
    /// Of the p99 FCT; `None` if there are too few flows to tell it.
    pub p99: Option<Ratio>,
}

/// A candidate that was run whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Number of its queues.
    pub queues: usize,
    /// Its cost over that of the chosen one; `None` if its flows did not finish.
    pub cost: Option<Ratio>,
    /// Its seeds.
    pub seeds: u64,
    /// Its K in per cent of the rule's, if it differs from the chosen one in nothing else.
    pub k_per_cent: Option<u64>,
}

/// The times of today's network, of the measured candidate, or of what lies between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The candidate.
    pub name: String,
    /// Mean FCT of the smallest flows, in microseconds.
    pub small_mean_us: Option<f64>,
    /// Their p99 FCT.
    pub small_p99_us: Option<f64>,
    /// Mean FCT of all flows.
    pub all_mean_us: Option<f64>,
}

/// A marking threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// Speed of the link.
    pub rate_bps: u64,
    /// K.
    pub bytes: u64,
}

impl Mark {
    /// As the setting `ecn_threshold_at` takes it: "25Gbps: 243.75KB".
    fn in_words(&self) -> String {
        format!("{}: {}", format_rate(self.rate_bps), format_size(self.bytes))
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tuned {
    /// What to do.
    pub verdict: Verdict,
    /// The candidate that is recommended: today's network, if that is to be kept.
    pub recommended: Candidate,
    /// The candidate whose changes are stated: the recommended one, or the best that would change something.
    pub measured: Option<Candidate>,
    /// Fabric and traffic in words.
    pub network: String,
    /// Load of the host links.
    pub load: f64,
    /// K by speed, of the recommended one; empty if today's ports are kept.
    pub marks: Vec<Mark>,
    /// Those of them that are below the K that was asked for: half of what a queue may hold there.
    pub cut_marks: Vec<Mark>,
    /// Code points of its queues, the highest first; empty for one queue.
    pub dscps: Vec<u8>,
    /// The measured candidate's times over today's, by class; all flows last.
    pub changes: Vec<Change>,
    /// The times of today's network, of the measured candidate and of what lies between, if anything does.
    pub steps: Vec<Step>,
    /// What a roll-out does to whom, by the share of hosts that tag; empty unless several queues by thresholds are recommended.
    pub shares: Vec<Share>,
    /// The queue of packets without a mark, from 0, the first that is served; `None`: one queue.
    pub unmarked: Option<usize>,
    /// Why no roll-out was simulated, if one could have been asked for.
    pub no_roll_out: Option<String>,
    /// The most that the longest flows of hosts that tag may lose, as the user says.
    pub at_most: Option<f64>,
    /// What the sizes were taken for, joined and left out, if they are an export.
    pub of_sizes: Vec<String>,
    /// What the runs of the proof warn of.
    pub warnings: Vec<String>,
    /// Whether today's hosts all send by DCTCP and its ports mark.
    pub todays_hosts_are_dctcp: bool,
    /// The least and the greatest K, in per cent of the rule's, that the runs do not tell from the recommended one.
    pub k_range: Option<(u64, u64)>,
    /// Whether the recommended K is the least or the greatest that was tried, and told from the others.
    pub k_at_end: bool,
    /// All that were run whole, by cost.
    pub compared: Vec<Compared>,
    /// The model of the simulator.
    pub model: u32,
    /// Number of candidates that were tried at all.
    pub candidates: usize,
    /// Of how many hosts one received flows in the screening; `None` if it was whole.
    pub screened: Option<u32>,
    /// Why it was whole.
    pub not_screened: Option<String>,
    /// Seeds by which it was chosen.
    pub seeds_of_choice: u64,
    /// First seed and number of seeds by which it was measured.
    pub seeds_of_proof: (u64, u64),
    /// Whether the budget ended before all was resolved.
    pub cut_short: bool,
    /// Configuration, by file.
    pub configuration: Vec<Written>,
    /// The folder.
    pub folder: PathBuf,
}

/// Finds what would help, and writes it into the request's folder.
///
/// # Errors
/// Fails if the request is wrong, the budget too small for any answer, or a run fails.
pub fn tune(request: &Request, work: &mut dyn Work) -> Result<Tuned, Error> {
    check(request)?;
    let file = FabricFile::read(&request.fabric, request.tables)?;
    let (wanted, load) = (today::wanted(&request.wanted, &file)?, today::load(request.load, &file)?);
    if !(load > 0.0 && load < 1.0) {
        return Err(Error::Input(format!("--load {load}: expected more than 0 and less than 1")));
    }
    Asked::read(&wanted, load, request.queues.0)?;
    if let Some(ports) = &request.ports {
        ports.check(&request.markings, &Links::of(&file.fabric))?;
    }
    let question = question(request, &file.digest, &wanted, load)?;
    let number = serde_json::to_vec(&question).map_or(0, |text| {
        let hash = blake3::hash(&text);
        u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap_or_default())
    });
    let taken = Taken::take(&request.out, question, request.replace)?;
    let begun = Ground::open(&file, request, &wanted, load).and_then(|ground| {
        let screened = ground.screen();
        if request.hosts_stay && ground.today.is_assumed {
            let problem = "--hosts-stay: the file does not say how hosts send; expected [schemes.today]".to_owned();
            return Err(Error::Input(problem));
        }
        let scope = Scope {
            programmable: request.programmable,
            counting: request.counting,
            is_own: ground.is_own(),
            hosts_stay: request.hosts_stay,
        };
        let tried = candidates::all(&wanted, load, request.queues, &request.markings, scope)?;
        let mut tuning = Tuning::new((request, number), ground, work, tried);
        tuning.settle_budget(screened.as_ref().ok().copied())?;
        Ok((tuning, screened))
    });
    let (mut tuning, screened) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            taken.give_back();
            return Err(error);
        }
    };
    let finalists = tuning.screen(screened.as_ref().ok().copied())?;
    let choice = tuning.choose(&finalists)?;
    let proof = tuning.prove(&choice)?;
    let mut answer = Answer { screened, choice, proof, shares: Ok(Vec::new()) };
    let recommended = tuning.recommended(&answer).clone();
    answer.shares = tuning.roll_out(&recommended)?;
    let (tuned, files) = tuning.answer(answer);
    taken.write(&files)?;
    Ok(tuned)
}

/// Refuses what no candidate can be made of.
fn check(request: &Request) -> Result<(), Error> {
    let input = |problem: String| Err(Error::Input(problem));
    let (fewest, most) = request.queues;
    if fewest < 2 || most < fewest {
        return input(format!("--queues {fewest}..{most}: expected at least 2 queues, such as 2..8"));
    }
    if most > 64 {
        return input(format!("--queues {fewest}..{most}: expected at most 64"));
    }
    if let Unmarked::Queue(queue) = request.unmarked
        && queue as u64 >= most
    {
        return input(format!("--unmarked {queue}: expected top, lowest, or 0 to {}", most - 1));
    }
    if let Some(share) = request.at_most
        && !(0.0..=100.0).contains(&share)
    {
        return input(format!("--at-most {share}: expected a share of at least 0, such as 0.2"));
    }
    if let Effort::Seeds(seeds) = request.effort
        && !(2..=1_000).contains(&seeds)
    {
        return input(format!("--seeds {seeds}: expected 2 to 1000, since one seed has no interval"));
    }
    Ok(())
}

/// Returns what is asked, as far as the answer depends on it: the effort adds to the same runs.
fn question(request: &Request, fabric: &str, wanted: &Wanted, load: f64) -> Result<BTreeMap<String, String>, Error> {
    let digest = |path: &Path| {
        let read =
            flowsieve_settings::files::read(path, flowsieve_settings::files::MOST_BYTES).map_err(failed(path))?;
        Ok::<_, Error>(blake3::hash(&read).to_hex()[..16].to_owned())
    };
    // A file counts by its contents: an array of Python has another name each time.
    let sizes = match (&wanted.workload, &wanted.cdf, &wanted.sizes) {
        (Some(name), ..) => name.clone(),
        (_, Some(file), _) => format!("a distribution, {}", digest(Path::new(file))?),
        (_, _, Some(column)) => {
            let name = column.name.as_deref().map(|name| format!(", column {name}")).unwrap_or_default();
            let sampled = column.sampled.map(|one_in| format!(", sampled {one_in}")).unwrap_or_default();
            format!("sizes, {}{name}{sampled}", digest(&column.path)?)
        }
        _ => String::new(),
    };
    let markings: Vec<&str> = request.markings.iter().map(|marking| marking.setting()).collect();
    let flows = request.flows.map_or_else(|| "by cost".to_owned(), |flows| flows.to_string());
    let unmarked = match request.unmarked {
        Unmarked::Top => "top".to_owned(),
        Unmarked::Queue(queue) => format!("queue {queue}"),
        Unmarked::Lowest => "lowest".to_owned(),
    };
    // Where a file lies changes no answer: the seeds of the proof follow from the question.
    let name = request.fabric.file_name().unwrap_or_default().to_string_lossy();
    // What is not asked for is not named, so that its question stays that of before.
    let others = [("counting", request.counting), ("hosts stay", request.hosts_stay)];
    let others = others.into_iter().filter(|(_, is_asked)| *is_asked).map(|(name, _)| (name, "true".to_owned()));
    let always = [
        ("fabric", format!("{name}, {fabric}")),
        ("sizes", sizes),
        ("load", load.to_string()),
        ("queues", format!("{}..{}", request.queues.0, request.queues.1)),
        ("marking", markings.join(", ")),
        ("programmable", request.programmable.to_string()),
        ("flows", flows),
        ("unmarked", unmarked),
    ];
    Ok(always.into_iter().chain(others).map(|(name, value)| (name.to_owned(), value)).collect())
}
