//! `--resolve`: adds seeds where claims are not resolved, within a budget of time.

use std::time::{Duration, Instant};

use clap::Args;
use flowsieve_experiment::Error;
use flowsieve_experiment::machine::HOPS_PER_SECOND;
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::shards::hops_in_words;
use flowsieve_papers::Claims;
use flowsieve_papers::resolve::{Open, Resolving as State, left_out, no_such_metric, open_claims};
use flowsieve_results::ResultDir;

use crate::options::Budget;
use crate::output::tell;
use crate::progress::in_words;

/// Until what seeds are added to an experiment.
#[derive(Debug, Args)]
pub(crate) struct ResolveOptions {
    /// Add seeds, five to 40, until the experiment's claims of this metric are resolved, such as "mean fct"
    #[arg(
        long,
        value_name = "METRIC",
        conflicts_with_all = ["seeds", "screen", "follow_flow", "shard", "keys"]
    )]
    pub(crate) resolve: Option<String>,
    /// Time for adding seeds, from the start of the command; the first five are always run
    #[arg(long, value_name = "TIME", default_value = "60m", requires = "resolve")]
    budget: Budget,
}

impl ResolveOptions {
    /// Returns the limits of the work, if claims are to be resolved.
    ///
    /// # Errors
    /// Fails if no claim has the metric.
    pub(crate) fn of(&self, plan: &Plan, jobs: usize) -> Result<Option<Resolving<'_>>, Error> {
        let Some(metric) = &self.resolve else { return Ok(None) };
        let resolving = Resolving { metric: Some(metric), begun: Instant::now(), budget: self.budget.0, jobs };
        let names: Vec<String> =
            Claims::of(&plan.experiment)?.measured.iter().map(|claim| claim.quantity.figure.name()).collect();
        if names.contains(metric) { Ok(Some(resolving)) } else { Err(no_such_metric(metric, names)) }
    }
}

/// The limits of the work.
pub(crate) struct Resolving<'a> {
    /// The metric of claims, if only some are meant.
    pub(crate) metric: Option<&'a str>,
    /// The start of the budget, and its length.
    pub(crate) begun: Instant,
    pub(crate) budget: Duration,
    pub(crate) jobs: usize,
}

/// An experiment to which seeds can be added.
pub(crate) trait Resolvable {
    /// Returns its claims with what is there of its runs.
    fn state(&self) -> State<'_>;

    /// Returns the plan, to be extended.
    fn plan_mut(&mut self) -> &mut Plan;

    /// Makes the runs that were added to its plan.
    fn make(&mut self) -> Result<(), Error>;
}

impl Resolving<'_> {
    /// Adds seeds to an experiment that has this result, and returns the last one that `make` made.
    pub(crate) fn go_on_with(&self, plan: Plan, result: ResultDir, make: Make<'_>) -> Result<ResultDir, Error> {
        let claims = Claims::of(&plan.experiment)?;
        let mut resolved = Resolved { plan, claims, result, make };
        self.go_on(std::slice::from_mut(&mut resolved))?;
        Ok(resolved.result)
    }

    /// Adds seeds to experiments, the cheapest claim first, until all claims are resolved, twice their seeds would not
    /// resolve them, or the budget is spent.
    pub(crate) fn go_on(&self, figures: &mut [impl Resolvable]) -> Result<(), Error> {
        let (mut seconds, mut hops) = (0.0, 0.0);
        let mut announced = false;
        loop {
            let open = self.open(figures);
            let rate = if hops > 0.0 { hops / seconds } else { HOPS_PER_SECOND * self.jobs as f64 };
            if !announced {
                self.say(&open, rate);
                announced = true;
            }
            let left = self.budget.as_secs_f64() - self.begun.elapsed().as_secs_f64();
            let is_worth_it = |claim: &&Open| claim.seeds.is_some() && claim.next_packet_hops <= rate * left;
            let Some(claim) = open.iter().find(is_worth_it) else {
                self.end(&open);
                return Ok(());
            };
            let figure = &mut figures[claim.figure];
            claim.extend(figure.plan_mut());
            tell(format!("{}: {} packet-hops more", claim.claim, hops_in_words(claim.next_packet_hops)));
            let step = Instant::now();
            figure.make()?;
            seconds += step.elapsed().as_secs_f64();
            hops += claim.next_packet_hops;
        }
    }

    fn open(&self, figures: &[impl Resolvable]) -> Vec<Open> {
        open_claims(&figures.iter().map(Resolvable::state).collect::<Vec<_>>(), self.metric)
    }

    /// Prints which claims are left, and why.
    fn end(&self, open: &[Open]) {
        let left_out: Vec<&Open> = left_out(open).collect();
        tell(match open.len() - left_out.len() {
            0 if left_out.is_empty() => "every claim is resolved, or has the largest number of seeds".to_owned(),
            0 => "the budget is spent".to_owned(),
            given_up => format!("{given_up} claims are not resolved, and twice their seeds would not resolve them"),
        });
        for claim in &left_out {
            tell(format!("the budget was spent before {claim}"));
        }
    }

    /// Prints the expected cost of each claim.
    fn say(&self, open: &[Open], rate: f64) {
        for claim in open {
            tell(match claim.seeds {
                Some(seeds) => {
                    let time = in_words(claim.packet_hops / rate);
                    format!("{} is not resolved: it needs about {seeds} seeds, {time}", claim.claim)
                }
                None => format!("{} is not resolved, and twice its seeds would not resolve it", claim.claim),
            });
        }
    }
}

/// Makes the runs that a plan has.
type Make<'a> = &'a dyn Fn(&Plan) -> Result<ResultDir, Error>;

/// An experiment with its result.
struct Resolved<'a> {
    plan: Plan,
    claims: Claims,
    result: ResultDir,
    make: Make<'a>,
}

impl Resolvable for Resolved<'_> {
    fn state(&self) -> State<'_> {
        let Resolved { plan, claims, result, .. } = self;
        let is_made = |key: &str| result.path().join("parts").join(key).exists();
        State { plan, claims, measured: result.measured(claims.needed()), is_made: Box::new(is_made) }
    }

    fn plan_mut(&mut self) -> &mut Plan {
        &mut self.plan
    }

    fn make(&mut self) -> Result<(), Error> {
        self.result = (self.make)(&self.plan)?;
        Ok(())
    }
}
