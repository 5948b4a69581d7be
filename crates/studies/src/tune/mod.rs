//! What would help a fabric's traffic, by simulation: candidates are screened in a sample of receivers, the best are run whole
//! next to today's network, and the one that is chosen is measured again on seeds that had no part in choosing it.
//!
//! 1. All candidates are screened ([`candidates`]), then other marking thresholds for the best of them.
//! 2. The few best and today's network are run whole, with the same flows. Seeds are added until the best is told from the
//!    others, or the effort is spent ([`choose`]).
//! 3. The chosen one and today's network get seeds of their own. Their intervals are what is reported: those of step 2 would
//!    flatter the winner.
//!
//! With a number of seeds instead of a budget, the same request gives the same answer.

mod candidates;
mod choose;
mod configuration;
mod folder;
mod ground;
mod words;

use crate::thresholds::{Asked, Marking, Wanted};
use candidates::K_TRIED;
pub use candidates::{Candidate, Kind, TODAY};
use choose::{Costs, Overall};
pub use configuration::{Ports, Written};
use flowsieve_experiment::Error;
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::reproduce::HOPS_PER_SECOND;
use flowsieve_results::claims::LOOKS;
use flowsieve_results::statistics::Sureness;
use flowsieve_results::{Metric, PointSummary, Ratio, ResultDir, Statistic};
use folder::Claimed;
use ground::{Ground, Runs};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The fabric: an experiment, or a file with a `[topology]` alone.
    pub fabric: PathBuf,
    /// The sizes; loads, queues and method are not read.
    pub wanted: Wanted,
    /// Load of the host links.
    pub load: f64,
    /// The fewest and the most queues.
    pub queues: (u64, u64),
    /// What ports may compare with K.
    pub markings: Vec<Marking>,
    /// Whether switches can be programmed.
    pub programmable: bool,
    /// Flows of a run; by default as many as take some seconds.
    pub flows: Option<u64>,
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

/// How long to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// So many seeds of each candidate that is run whole, and as many others for the chosen one.
    Seeds(u64),
    /// Until all is resolved, but no longer than this.
    Budget(Duration),
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
}

/// A marking threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// Speed of the link.
    pub rate_bps: u64,
    /// K.
    pub bytes: u64,
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
    /// K by speed, of the recommended one.
    pub marks: Vec<Mark>,
    /// Code points of its queues, the highest first; empty for one queue.
    pub dscps: Vec<u8>,
    /// The measured candidate's times over today's, by class; all flows last.
    pub changes: Vec<Change>,
    /// All that were run whole, by cost.
    pub compared: Vec<Compared>,
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

/// Seeds of a candidate in the screening: samples of receivers, or whole runs where those rank nothing.
const SAMPLES: u64 = 5;
const WHOLE_SAMPLES: u64 = 2;

/// Receivers of a sample.
const RECEIVERS: u32 = 4;

/// With fewer hosts a sample saves nothing.
const FEWEST_HOSTS: u32 = 16;

/// The most candidates that are run whole, in addition to today's network.
const FINALISTS: usize = 6;

/// The candidates for which other marking thresholds are tried.
const WITH_OTHER_K: usize = 2;

/// The first seed by which the chosen one is measured: none that chose it.
const PROOF: u64 = 1_001;

/// The share of the budget that screening and choosing may take.
const CHOOSING: f64 = 0.6;

/// Finds what would help, and writes it into the request's folder.
///
/// # Errors
/// Fails if the request is wrong, the budget too small for any answer, or a run fails.
pub fn tune(request: &Request, work: &mut dyn Work) -> Result<Tuned, Error> {
    check(request)?;
    let Request { wanted, load, markings, programmable, .. } = request;
    let (_, fabric) = ground::fabric(&request.fabric)?;
    Asked::read(wanted, *load, request.queues.0)?;
    let tried = candidates::all(wanted, *load, request.queues, markings, *programmable)?;
    configuration::check(request, &fabric)?;
    let claimed = Claimed::claim(&request.out, question(request)?, request.replace)?;
    let ground = Ground::open(&request.fabric, (wanted, *load), request.flows, &request.out)?;
    let mut tuning = Tuning { request, ground, work, candidates: tried, hops: 0.0, seconds: 0.0, cut_short: false };
    let (screened, not_screened) = match tuning.ground.screen() {
        Ok(every) => (Some(every), None),
        Err(why) => (None, Some(why)),
    };
    tuning.refuse_small_budget(screened)?;
    let finalists = tuning.screen(screened)?;
    let choice = tuning.choose(&finalists)?;
    let proof = tuning.prove(&choice)?;
    let (tuned, files) = tuning.answer(Answer { screened, not_screened, choice, proof });
    claimed.write(&files)?;
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
    if !(request.load > 0.0 && request.load < 1.0) {
        return input(format!("--load {}: expected more than 0 and less than 1", request.load));
    }
    if let Effort::Seeds(seeds) = request.effort
        && !(2..=1_000).contains(&seeds)
    {
        return input(format!("--seeds {seeds}: expected 2 to 1000, since one seed has no interval"));
    }
    Ok(())
}

/// Returns what is asked, as far as the answer depends on it: the effort adds to the same runs.
fn question(request: &Request) -> Result<BTreeMap<String, String>, Error> {
    let digest = |path: &Path| {
        let read = flowsieve_files::read(path, flowsieve_files::MOST_BYTES);
        let read =
            read.map_err(|error| Error::File { path: path.display().to_string(), problem: error.to_string() })?;
        Ok::<_, Error>(blake3::hash(&read).to_hex()[..16].to_owned())
    };
    let wanted = &request.wanted;
    let sizes = match (&wanted.workload, &wanted.cdf, &wanted.sizes) {
        (Some(name), ..) => name.clone(),
        (_, Some(file), _) => format!("{file} ({})", digest(Path::new(file))?),
        (_, _, Some(column)) => {
            let name = column.name.as_deref().map(|name| format!(", column {name}")).unwrap_or_default();
            format!("{} ({}{name})", column.path.display(), digest(&column.path)?)
        }
        _ => String::new(),
    };
    let markings: Vec<&str> = request.markings.iter().map(|marking| marking.setting()).collect();
    let flows = request.flows.map_or_else(|| "by cost".to_owned(), |flows| flows.to_string());
    Ok([
        ("fabric", request.fabric.display().to_string()),
        ("sizes", sizes),
        ("load", request.load.to_string()),
        ("queues", format!("{}..{}", request.queues.0, request.queues.1)),
        ("marking", markings.join(", ")),
        ("programmable", request.programmable.to_string()),
        ("flows", flows),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}

impl Ground {
    /// Returns how receivers are sampled, or why a sample of them ranks nothing here.
    fn screen(&self) -> Result<u32, String> {
        if let Some(class) = &self.narrower {
            return Err(format!("the {class} links of this fabric are more loaded than those of its hosts"));
        }
        if self.hosts < FEWEST_HOSTS {
            return Err(format!("{} hosts are too few for samples of receivers", self.hosts));
        }
        Ok(self.hosts / RECEIVERS)
    }
}

/// The work on a request.
struct Tuning<'a> {
    request: &'a Request,
    ground: Ground,
    work: &'a mut dyn Work,
    /// All candidates; today's network is the first.
    candidates: Vec<Candidate>,
    /// Estimated packet-hops that were made, and the time that they took.
    hops: f64,
    seconds: f64,
    cut_short: bool,
}

/// What the steps found.
struct Answer {
    screened: Option<u32>,
    not_screened: Option<String>,
    choice: Choice,
    proof: Option<Proof>,
}

/// The outcome of the comparison of whole runs.
struct Choice {
    /// The best, by its place among the candidates.
    chosen: usize,
    /// The best with several queues, if any finished.
    several: Option<usize>,
    compared: Vec<Compared>,
    seeds: u64,
}

/// The chosen candidate next to today's network.
struct Proof {
    candidate: usize,
    changes: Vec<Change>,
    seeds: u64,
    helps: bool,
}

fn runs<'a>(
    title: &'a str,
    candidates: &'a [Candidate],
    (first_seed, seeds): (u64, u64),
    screen: Option<u32>,
) -> Runs<'a> {
    Runs { title, candidates, first_seed, seeds, screen }
}

impl Tuning<'_> {
    /// Makes runs, and returns the points' summaries in the candidates' order.
    fn make(&mut self, what: &str, folder: &str, runs: &Runs<'_>) -> Result<Vec<PointSummary>, Error> {
        let plan = self.ground.plan(runs)?;
        let (out, parts) = (self.request.out.join(folder), self.request.out.join("parts"));
        let begun = self.work.spent();
        let result = self.work.make(what, &plan, &out, &parts)?;
        self.seconds += (self.work.spent() - begun).as_secs_f64();
        self.hops += plan.packet_hops();
        Ok(result.summary().points.clone())
    }

    /// Returns estimated packet-hops a second. Runs that existed take no time, so the rate has a limit.
    fn rate(&self) -> f64 {
        let usual = HOPS_PER_SECOND * self.request.jobs as f64;
        if self.seconds > 0.0 { (self.hops / self.seconds).min(usual) } else { usual }
    }

    /// Whether runs fit into what is left of this share of the budget.
    fn fits(&self, hops: f64, share: f64) -> bool {
        match self.request.effort {
            Effort::Seeds(_) => true,
            Effort::Budget(budget) => {
                hops / self.rate() <= share * budget.as_secs_f64() - self.work.spent().as_secs_f64()
            }
        }
    }

    /// Estimates the packet-hops of so many whole runs.
    fn hops_of(&self, runs: u64) -> Result<f64, Error> {
        let plan = self.ground.plan(&runs("cost", &self.candidates[..1], (1, 1), None))?;
        Ok(plan.packet_hops() * runs as f64)
    }

    fn refuse_small_budget(&self, screened: Option<u32>) -> Result<(), Error> {
        let Effort::Budget(budget) = self.request.effort else { return Ok(()) };
        let tried = (self.candidates.len() + (WITH_OTHER_K + 1) * K_TRIED.len()) as f64;
        let samples = screened.map_or(WHOLE_SAMPLES as f64, |every| SAMPLES as f64 / f64::from(every));
        let whole = (FINALISTS + 1) * LOOKS[0].seeds + 2 * LOOKS[0].seeds;
        let needs = self.hops_of(1)? * (tried * samples + whole as f64) / (HOPS_PER_SECOND * self.request.jobs as f64);
        if budget.as_secs_f64() >= needs {
            return Ok(());
        }
        let whole_seconds = |seconds: f64| Duration::from_secs(seconds.ceil() as u64);
        Err(Error::Input(format!(
            "--budget {}: too little for any answer; expected at least {} for these candidates and {} flows a run, or fewer of \
             them (--queues, --marking, --flows)",
            humantime::format_duration(budget),
            humantime::format_duration(whole_seconds(needs)),
            self.ground.flows
        )))
    }

    /// Screens the candidates, then other marking thresholds for the best; returns those to run whole, today's network first.
    fn screen(&mut self, screened: Option<u32>) -> Result<Vec<usize>, Error> {
        let (overall, seeds) = match screened {
            Some(_) => (Overall::Slowdown, SAMPLES),
            None => (Overall::Fct, WHOLE_SAMPLES),
        };
        let mut order = self.screen_once((overall, seeds), screened)?;
        let best: Vec<usize> = order.iter().copied().filter(|at| *at != 0).take(WITH_OTHER_K).chain([0]).collect();
        for at in best {
            let other = self.candidates[at].clone();
            self.candidates.extend(K_TRIED.map(|per_cent| other.with_k(per_cent)));
        }
        order = self.screen_once((overall, seeds), screened)?;
        Ok(self.finalists(&order))
    }

    fn screen_once(&mut self, (overall, seeds): (Overall, u64), screened: Option<u32>) -> Result<Vec<usize>, Error> {
        let candidates = self.candidates.clone();
        let what = format!("screening {} candidates", candidates.len());
        let points = self.make(&what, "screened", &runs("Candidates", &candidates, (1, seeds), screened))?;
        let costs: Vec<Costs> = points.iter().enumerate().map(|(at, point)| Costs::of(at, point, overall)).collect();
        Ok(choose::in_order(&costs).iter().map(|(costs, _)| costs.candidate).collect())
    }

    /// Picks the best, and in addition the best that marks by queue, of one queue, and of each rule: a sample does not rank
    /// the mean FCT.
    fn finalists(&self, order: &[usize]) -> Vec<usize> {
        let others = || order.iter().copied().filter(|at| *at != 0);
        let rule = |at: usize| match &self.candidates[at].kind {
            Kind::Thresholds { rule, .. } => rule,
            Kind::OneQueue => "one queue",
            Kind::Clusters => "clusters",
        };
        let mut found: Vec<usize> = others().take(FINALISTS / 2).collect();
        found.extend(
            others().find(|at| self.candidates[*at].marking == Marking::Queue && self.candidates[*at].queues > 1),
        );
        let mut rules = Vec::new();
        for at in others() {
            if !rules.contains(&rule(at)) {
                rules.push(rule(at));
                found.push(at);
            }
        }
        found.extend(others());
        let mut picked: Vec<usize> = vec![0];
        for at in found {
            if picked.len() <= FINALISTS && !picked.contains(&at) {
                picked.push(at);
            }
        }
        picked
    }

    /// Runs the finalists whole, with seeds until one is told from the others; returns the chosen one.
    fn choose(&mut self, finalists: &[usize]) -> Result<Choice, Error> {
        let mut left: Vec<usize> = finalists.to_vec();
        let mut known: Vec<Costs> = Vec::new();
        let mut seeds_of = vec![0u64; self.candidates.len()];
        let mut looks = LOOKS.iter();
        let mut seeds = 0;
        let chosen = loop {
            let (next, sureness) = match (self.request.effort, looks.next()) {
                (Effort::Seeds(seeds), _) => (seeds, Sureness::USUAL),
                (_, Some(look)) => (look.seeds as u64, Sureness { missed: look.missed, as_if: None }),
                (_, None) => break self.chosen(&known, &left),
            };
            let more = self.hops_of((next - seeds) * left.len() as u64)?;
            if seeds > 0 && !self.fits(more, CHOOSING) {
                self.cut_short = true;
                break self.chosen(&known, &left);
            }
            seeds = next;
            let some: Vec<Candidate> = left.iter().map(|&at| self.candidates[at].clone()).collect();
            let what = format!("comparing {} candidates on {seeds} seeds", some.len());
            let points = self.make(&what, "compared", &runs("Candidates", &some, (1, seeds), None))?;
            let costs: Vec<Costs> =
                left.iter().zip(&points).map(|(&at, point)| Costs::of(at, point, Overall::Fct)).collect();
            for found in costs {
                seeds_of[found.candidate] = seeds;
                known.retain(|old| old.candidate != found.candidate);
                known.push(found);
            }
            let now: Vec<Costs> = known.iter().filter(|costs| left.contains(&costs.candidate)).cloned().collect();
            left = choose::left(&now, sureness);
            let is_done = matches!(self.request.effort, Effort::Seeds(_));
            if is_done || left.len() <= 1 || choose::are_as_good(&now, &left, sureness) {
                break self.chosen(&known, &left);
            }
        };
        let of_chosen = known.iter().find(|costs| costs.candidate == chosen).cloned();
        let mut compared: Vec<Compared> = known
            .iter()
            .map(|costs| Compared {
                name: self.candidates[costs.candidate].name.clone(),
                queues: self.candidates[costs.candidate].queues,
                cost: of_chosen.as_ref().and_then(|chosen| costs.over(chosen, Sureness::USUAL)),
                seeds: seeds_of[costs.candidate],
            })
            .collect();
        compared.sort_by(|a, b| {
            let value = |of: &Compared| of.cost.map_or(f64::INFINITY, |cost| cost.value);
            value(a).total_cmp(&value(b))
        });
        let order = choose::in_order(&known);
        let several = order.iter().map(|(costs, _)| costs.candidate).find(|&at| self.candidates[at].queues > 1);
        Ok(Choice { chosen, several, compared, seeds })
    }

    fn chosen(&self, known: &[Costs], left: &[usize]) -> usize {
        choose::choose(&self.candidates, known, left).unwrap_or(0)
    }

    /// Measures the chosen candidate next to today's network, on seeds of their own. If today's network was chosen, the best
    /// with several queues is measured: what they would gain.
    fn prove(&mut self, choice: &Choice) -> Result<Option<Proof>, Error> {
        let candidate = if choice.chosen == 0 { choice.several } else { Some(choice.chosen) };
        let Some(candidate) = candidate else { return Ok(None) };
        let two = [self.candidates[0].clone(), self.candidates[candidate].clone()];
        let mut looks = LOOKS.iter();
        let (mut seeds, mut proof) = (0, None);
        loop {
            let (next, sureness) = match (self.request.effort, looks.next()) {
                (Effort::Seeds(seeds), _) => (seeds, Sureness::USUAL),
                (_, Some(look)) => (look.seeds as u64, Sureness { missed: look.missed, as_if: None }),
                (_, None) => return Ok(proof),
            };
            if seeds > 0 && !self.fits(self.hops_of(2 * (next - seeds))?, 1.0) {
                self.cut_short = true;
                return Ok(proof);
            }
            seeds = next;
            let what = format!("measuring {} next to today's network on {seeds} other seeds", two[1].name);
            let title = title(&two[1]);
            let points = self.make(&what, "proof", &runs(&title, &two, (PROOF, seeds), None))?;
            let [today, other] = &points[..] else { return Ok(proof) };
            let found = of_two(candidate, (today, other), seeds, sureness);
            let resolved = is_resolved(&found.changes);
            proof = Some(found);
            if resolved || matches!(self.request.effort, Effort::Seeds(_)) {
                return Ok(proof);
            }
        }
    }
}

fn title(candidate: &Candidate) -> String {
    format!("{} next to today's network", candidate.name)
}

/// Compares the candidate's point with today's, class by class.
fn of_two(candidate: usize, (today, other): (&PointSummary, &PointSummary), seeds: u64, sureness: Sureness) -> Proof {
    let changes: Vec<Change> = other
        .classes
        .iter()
        .zip(&today.classes)
        .map(|(other, today)| {
            let finished = other.unfinished() + today.unfinished() == 0;
            let ratio = |statistic| {
                let told = other.untold(Metric::Fct, statistic).or(today.untold(Metric::Fct, statistic)).is_none();
                (finished && told).then(|| other.ratio_as_sure(today, Metric::Fct, statistic, sureness))?
            };
            Change {
                class: other.class.name.clone(),
                flows: other.flows(),
                mean: ratio(Statistic::Mean),
                p99: ratio(Statistic::P99),
            }
        })
        .collect();
    let helps = helps(&changes);
    Proof { candidate, changes, seeds, helps }
}

/// Whether small flows or all flows gain for certain, and all flows do not lose for certain.
fn helps(changes: &[Change]) -> bool {
    let below = |ratio: Option<Ratio>| ratio.and_then(|ratio| ratio.interval).is_some_and(|(_, high)| high < 1.0);
    let above = |ratio: Option<Ratio>| ratio.and_then(|ratio| ratio.interval).is_some_and(|(low, _)| low > 1.0);
    let (Some(small), Some(all)) = (changes.first(), changes.last()) else { return false };
    (below(small.p99) || below(small.mean) || below(all.mean)) && !above(all.mean)
}

/// Whether more seeds would say no more: both main changes are told from none, or within a per cent.
fn is_resolved(changes: &[Change]) -> bool {
    let told = |ratio: Option<Ratio>| {
        ratio.is_none_or(|ratio| {
            ratio.is_resolved() || ratio.interval.is_some_and(|(low, high)| low >= 0.99 && high <= 1.01)
        })
    };
    changes.first().is_none_or(|small| told(small.p99)) && changes.last().is_none_or(|all| told(all.mean))
}

impl Tuning<'_> {
    /// Puts the answer together, with the files that say it.
    fn answer(self, answer: Answer) -> (Tuned, Vec<(String, String)>) {
        let Answer { screened, not_screened, choice, proof } = answer;
        let proven = proof.as_ref().is_some_and(|proof| proof.helps && proof.candidate == choice.chosen);
        let recommended = self.candidates[if proven { choice.chosen } else { 0 }].clone();
        let verdict = match (proven, recommended.queues) {
            (false, _) => Verdict::KeepOneQueue,
            (true, 1) => Verdict::OneQueueOtherK,
            (true, _) => Verdict::Use,
        };
        let marks = self.ground.marks(recommended.k_per_cent);
        let marks: Vec<Mark> = marks.into_iter().map(|(rate_bps, bytes)| Mark { rate_bps, bytes }).collect();
        let queues = recommended.queues;
        let dscps: Vec<u8> = match queues {
            1 => Vec::new(),
            _ => (0..queues).map_while(|queue| crate::thresholds::dscp(queue, queues)).collect(),
        };
        let (configuration, mut files) = configuration::write(self.request, verdict, &recommended, &marks, &dscps);
        let measured = proof.as_ref().map(|proof| self.candidates[proof.candidate].clone());
        let seeds = proof.as_ref().map_or(0, |proof| proof.seeds);
        if let Some(measured) = &measured {
            let two = [self.candidates[0].clone(), measured.clone()];
            let title = title(measured);
            files.push(("experiment.toml".to_owned(), self.ground.text(&runs(&title, &two, (PROOF, seeds), None))));
        }
        let tuned = Tuned {
            verdict,
            recommended,
            measured,
            network: self.ground.in_words(),
            load: self.request.load,
            marks,
            dscps,
            changes: proof.map_or_else(Vec::new, |proof| proof.changes),
            compared: choice.compared,
            candidates: self.candidates.len(),
            screened,
            not_screened,
            seeds_of_choice: choice.seeds,
            seeds_of_proof: (PROOF, seeds),
            cut_short: self.cut_short,
            configuration,
            folder: self.request.out.clone(),
        };
        files.push(("tune.json".to_owned(), serde_json::to_string_pretty(&tuned).unwrap_or_default() + "\n"));
        files.push(("README.md".to_owned(), tuned.page()));
        (tuned, files)
    }
}
