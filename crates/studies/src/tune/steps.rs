//! The steps of the search: screening, comparison of whole runs, measurement on other seeds.

use super::candidates::{Candidate, K_TRIED, Kind};
use super::choose::{self, Costs, Overall};
use super::ground::{Ground, Runs};
use super::{Change, Compared, Effort, Request, Step, Work};
use crate::configuration::Ports;
use crate::thresholds::Marking;
use flowsieve_experiment::Error;
use flowsieve_experiment::machine::HOPS_PER_SECOND;
use flowsieve_results::looks::LOOKS;
use flowsieve_results::statistics::Sureness;
use flowsieve_results::{ClassSummary, Finding, Metric, PointSummary, Ratio, Statistic};
use std::time::Duration;

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

/// Seeds by which the chosen one is measured begin at a multiple of this that the question decides: none has chosen it, and
/// questions do not share the luck of some seeds.
const PROOF: u64 = 10_000;

/// The share of the budget that screening and choosing may take.
const CHOOSING: f64 = 0.5;

/// The share of it until the chosen one is measured; the rest is for the roll-out.
const PROVING: f64 = 0.7;

impl Ground {
    /// Returns how receivers are sampled, or why a sample of them ranks nothing here.
    pub(super) fn screen(&self) -> Result<u32, String> {
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
pub(super) struct Tuning<'a> {
    pub(super) request: &'a Request,
    pub(super) ground: Ground,
    work: &'a mut dyn Work,
    /// All candidates; today's network is the first.
    pub(super) candidates: Vec<Candidate>,
    /// Estimated packet-hops that were made, and the time that they took.
    hops: f64,
    seconds: f64,
    pub(super) cut_short: bool,
    /// The time that the search has; `None`: a number of seeds is given.
    budget: Option<Duration>,
    /// The first seed of the proof.
    pub(super) proof_seed: u64,
    /// What the proof's runs warn of.
    pub(super) warnings: Vec<String>,
}

/// The outcome of the comparison of whole runs.
pub(super) struct Choice {
    /// The best, by its place among the candidates.
    pub(super) chosen: usize,
    /// The best with several queues, if any finished.
    several: Option<usize>,
    pub(super) compared: Vec<Compared>,
    pub(super) seeds: u64,
}

/// The chosen candidate next to today's network.
pub(super) struct Proof {
    pub(super) candidate: usize,
    pub(super) changes: Vec<Change>,
    pub(super) seeds: u64,
    pub(super) helps: bool,
    pub(super) steps: Vec<Step>,
}

pub(super) fn runs<'a>(
    title: &'a str,
    candidates: &'a [Candidate],
    (first_seed, seeds): (u64, u64),
    screen: Option<u32>,
) -> Runs<'a> {
    Runs { title, candidates, first_seed, seeds, screen, partly: None }
}

impl<'a> Tuning<'a> {
    pub(super) fn new(
        (request, question): (&'a Request, u64),
        ground: Ground,
        work: &'a mut dyn Work,
        candidates: Vec<Candidate>,
    ) -> Tuning<'a> {
        let budget = match request.effort {
            Effort::Seeds(_) => None,
            Effort::Budget { time, .. } => Some(time),
        };
        let proof_seed = PROOF * (1 + question % 90_000);
        let warnings = Vec::new();
        Tuning {
            request,
            ground,
            work,
            candidates,
            hops: 0.0,
            seconds: 0.0,
            cut_short: false,
            budget,
            proof_seed,
            warnings,
        }
    }

    /// Makes runs, and returns the points' summaries in the candidates' order.
    pub(super) fn make(&mut self, what: &str, folder: &str, runs: &Runs<'_>) -> Result<Vec<PointSummary>, Error> {
        let plan = self.ground.plan(runs)?;
        let (out, parts) = (self.request.out.join(folder), self.request.out.join("parts"));
        let begun = self.work.spent();
        let result = self.work.make(what, &plan, &out, &parts)?;
        self.seconds += (self.work.spent() - begun).as_secs_f64();
        self.hops += plan.packet_hops();
        if folder == "proof" {
            let text = |finding: Finding| match finding.remedy.as_str() {
                "" => finding.text,
                remedy => format!("{}; {remedy}", finding.text),
            };
            // A step that changes nothing is no fault here: the table of steps shows it.
            let is_step = |finding: &Finding| finding.text.contains(" gave the same figures ");
            self.warnings = result.warnings().into_iter().filter(|it| !is_step(it)).map(text).collect();
        }
        Ok(result.summary().points.clone())
    }

    /// Returns estimated packet-hops a second. Runs that existed take no time, so the rate has a limit.
    fn rate(&self) -> f64 {
        let usual = HOPS_PER_SECOND * self.request.jobs as f64;
        if self.seconds > 0.0 { (self.hops / self.seconds).min(usual) } else { usual }
    }

    /// Whether runs fit into what is left of this share of the budget.
    pub(super) fn fits(&self, hops: f64, share: f64) -> bool {
        self.budget
            .is_none_or(|budget| hops / self.rate() <= share * budget.as_secs_f64() - self.work.spent().as_secs_f64())
    }

    /// Estimates the packet-hops of so many whole runs.
    pub(super) fn hops_of(&self, count: u64) -> Result<f64, Error> {
        let plan = self.ground.plan(&runs("cost", &self.candidates[..1], (1, 1), None))?;
        Ok(plan.packet_hops() * count as f64)
    }

    /// Refuses a budget that is too small for any answer. One that is not given grows to what an answer takes.
    pub(super) fn settle_budget(&mut self, screened: Option<u32>) -> Result<(), Error> {
        let Effort::Budget { time: budget, is_given } = self.request.effort else { return Ok(()) };
        let others = if self.request.hosts_stay { 0 } else { (WITH_OTHER_K + 1) * (K_TRIED.len() + 1) };
        let tried = (self.candidates.len() + others) as f64;
        let samples = screened.map_or(WHOLE_SAMPLES as f64, |every| SAMPLES as f64 / f64::from(every));
        // Next to today's network and the candidate, what lies between them, and the candidate as nftables counts.
        let steps: usize = if self.ground.is_dctcp || self.request.hosts_stay { 0 } else { 2 };
        let proven = 2 + steps + usize::from(self.writes_nftables());
        let whole = (FINALISTS + 1 + proven) * LOOKS[0].seeds;
        let needs = self.hops_of(1)? * (tried * samples + whole as f64) / (HOPS_PER_SECOND * self.request.jobs as f64);
        if budget.as_secs_f64() >= needs {
            return Ok(());
        }
        if !is_given {
            self.budget = Some(Duration::from_secs_f64(2.0 * needs));
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
    pub(super) fn screen(&mut self, screened: Option<u32>) -> Result<Vec<usize>, Error> {
        let (overall, seeds) = match screened {
            Some(_) => (Overall::Slowdown, SAMPLES),
            None => (Overall::Fct, WHOLE_SAMPLES),
        };
        let mut order = self.screen_once((overall, seeds), screened)?;
        // One queue by the rule is today's network, or comes next.
        let hosts_stay = self.request.hosts_stay;
        let one = usize::from(self.ground.is_own() && !hosts_stay);
        let best: Vec<usize> = order.iter().copied().filter(|at| *at > one).take(WITH_OTHER_K).collect();
        // Where marks stay there is no K to try.
        for at in best.iter().copied().chain([one]).filter(|_| !hosts_stay) {
            let other = self.candidates[at].clone();
            // What a queue holds may make several K equal.
            let mut marks = vec![self.ground.marks(100)];
            for per_cent in K_TRIED {
                if !marks.contains(&self.ground.marks(per_cent)) {
                    marks.push(self.ground.marks(per_cent));
                    self.candidates.push(other.with_k(per_cent));
                }
            }
            self.candidates.push(other.with_ramp());
        }
        if !self.ground.is_dctcp && !hosts_stay {
            let over = |at: usize| Some(&self.candidates[at]).filter(|it| matches!(it.kind, Kind::Thresholds { .. }));
            // Hosts of a scheme that has priorities of its own, such as Homa, take no thresholds.
            let takes = |it: &Candidate| {
                self.ground.plan(&runs("hosts as today", std::slice::from_ref(it), (1, 1), None)).is_ok()
            };
            let others = best.into_iter().filter_map(over).map(Candidate::over_todays_hosts).filter(takes);
            let others: Vec<Candidate> = others.collect();
            self.candidates.extend(others);
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
            Kind::Today | Kind::OneQueue => "one queue",
            Kind::Counted { .. } => "counted",
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
        // A tie in K goes to the rule's, which has to be there for that.
        for at in picked.clone() {
            let it = &self.candidates[at];
            let by_rule = |other: &Candidate| other.is_by_rule() && other.differs_in_marks(it);
            picked.extend(self.candidates.iter().position(by_rule).filter(|rule| !picked.contains(rule)));
        }
        picked
    }

    /// Runs the finalists whole, with seeds until one is told from the others; returns the chosen one.
    pub(super) fn choose(&mut self, finalists: &[usize]) -> Result<Choice, Error> {
        let mut left: Vec<usize> = finalists.to_vec();
        let mut known: Vec<Costs> = Vec::new();
        let mut seeds_of = vec![0u64; self.candidates.len()];
        let mut looks = LOOKS.iter();
        let mut seeds = 0;
        let chosen = loop {
            let (next, sureness) = match (self.request.effort, looks.next()) {
                (Effort::Seeds(seeds), _) => (seeds, Sureness::USUAL),
                (_, Some(look)) => (look.seeds as u64, Sureness { missed: look.missed, ..Sureness::USUAL }),
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
            .map(|costs| {
                let it = &self.candidates[costs.candidate];
                Compared {
                    name: it.name.clone(),
                    queues: it.queues,
                    cost: of_chosen.as_ref().and_then(|chosen| costs.over(chosen, Sureness::USUAL)),
                    seeds: seeds_of[costs.candidate],
                    k_per_cent: it.differs_in_k(&self.candidates[chosen]).then_some(it.k_per_cent),
                }
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
        let known: Vec<Costs> = known.iter().filter(|costs| left.contains(&costs.candidate)).cloned().collect();
        choose::choose(&self.candidates, &known, left).unwrap_or(0)
    }

    /// Measures the chosen candidate next to today's network, on seeds of their own. If today's network was chosen, the best
    /// with several queues is measured: what they would gain.
    pub(super) fn prove(&mut self, choice: &Choice) -> Result<Option<Proof>, Error> {
        let candidate = if choice.chosen == 0 { choice.several } else { Some(choice.chosen) };
        let Some(candidate) = candidate else { return Ok(None) };
        let all = self.proven(candidate);
        let mut looks = LOOKS.iter();
        let (mut seeds, mut proof) = (0, None);
        loop {
            let (next, sureness) = match (self.request.effort, looks.next()) {
                (Effort::Seeds(seeds), _) => (seeds, Sureness::USUAL),
                (_, Some(look)) => (look.seeds as u64, Sureness { missed: look.missed, ..Sureness::USUAL }),
                (_, None) => return Ok(proof),
            };
            if seeds > 0 && !self.fits(self.hops_of(all.len() as u64 * (next - seeds))?, PROVING) {
                self.cut_short = true;
                return Ok(proof);
            }
            seeds = next;
            let what = format!("measuring {} next to today's network on {seeds} other seeds", all[1].name);
            let title = title(&all[1]);
            let points = self.make(&what, "proof", &runs(&title, &all, (self.proof_seed, seeds), None))?;
            let [today, other, ..] = &points[..] else { return Ok(proof) };
            let found = of_two(candidate, (today, other), seeds, sureness);
            let resolved = is_resolved(&found.changes);
            // Nothing lies between two candidates.
            let mut between: Vec<Step> =
                if all.len() > 2 { all.iter().zip(&points).map(step).collect() } else { Vec::new() };
            if !between.is_empty() {
                // The candidate is where the steps lead.
                let last = between.remove(1);
                between.push(last);
            }
            proof = Some(Proof { steps: between, ..found });
            if resolved || matches!(self.request.effort, Effort::Seeds(_)) {
                return Ok(proof);
            }
        }
    }

    /// Whether hosts get rules that count the bytes of connections.
    fn writes_nftables(&self) -> bool {
        self.request.ports.as_ref().is_some_and(Ports::has_hosts)
    }

    /// Lists what is measured: today's network, the candidate, and where today's hosts or ports differ from those of all
    /// candidates, what lies between: one queue with DCTCP, and the candidate's queues over today's hosts.
    pub(super) fn proven(&self, candidate: usize) -> Vec<Candidate> {
        let it = &self.candidates[candidate];
        let mut all = vec![self.candidates[0].clone(), it.clone()];
        if self.ground.is_own() && it.queues > 1 && !it.as_today {
            all.push(Candidate::one_queue());
            let over = it.over_todays_hosts();
            all.extend(self.candidates.iter().find(|other| other.as_today && other.differs_in_k(&over)).cloned());
        }
        // The file of nftables counts the bytes of connections.
        if self.writes_nftables() && !it.as_today && matches!(it.kind, Kind::Thresholds { .. }) {
            all.push(it.by_connection());
        }
        all
    }
}

/// Returns the times of a candidate.
fn step((candidate, point): (&Candidate, &PointSummary)) -> Step {
    let of = |class: Option<&ClassSummary>, statistic| {
        class.and_then(|class| class.estimate(Metric::Fct, statistic)).map(|found| found.value / 1e6)
    };
    let (small, all) = (point.classes.first(), point.classes.last());
    Step {
        name: candidate.name.clone(),
        small_mean_us: of(small, Statistic::Mean),
        small_p99_us: of(small, Statistic::P99),
        all_mean_us: of(all, Statistic::Mean),
    }
}

pub(super) fn title(candidate: &Candidate) -> String {
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
    Proof { candidate, changes, seeds, helps, steps: Vec::new() }
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
