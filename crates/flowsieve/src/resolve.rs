//! `--resolve`: adds seeds where claims are not resolved, within a budget of time.

use std::time::{Duration, Instant};

use flowsieve_experiment::Error;
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::reproduce::HOPS_PER_SECOND;
use flowsieve_experiment::resolve::{Open, Resolving as Figure, left_out, open_claims};
use flowsieve_experiment::shards::hops_in_words;
use flowsieve_results::measured::Measured;

use crate::output::tell;
use crate::progress::in_words;

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
    /// Returns the plan of its runs.
    fn plan(&self) -> &Plan;

    /// Returns the plan, to be extended.
    fn plan_mut(&mut self) -> &mut Plan;

    /// Returns the values that its claims are compared with.
    fn measured(&self) -> Measured;

    /// Returns whether the run of a part exists.
    fn is_made(&self, key: &str) -> bool;

    /// Makes the runs that were added to its plan.
    fn make(&mut self) -> Result<(), Error>;
}

impl Resolving<'_> {
    /// Refuses a metric that no claim has.
    pub(crate) fn of_metric(&self, plan: &Plan) -> Result<(), Error> {
        let Some(metric) = self.metric else { return Ok(()) };
        let names: Vec<String> = plan.experiment.claims.iter().map(|claim| claim.figure.name()).collect();
        if names.iter().any(|name| name == metric) {
            return Ok(());
        }
        Err(flowsieve_experiment::resolve::no_such_metric(metric, names))
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
        let is_made: Vec<_> = figures.iter().map(|figure| move |key: &str| figure.is_made(key)).collect();
        let figures = figures.iter().zip(&is_made);
        let figures =
            figures.map(|(figure, is_made)| Figure { plan: figure.plan(), measured: figure.measured(), is_made });
        open_claims(&figures.collect::<Vec<_>>(), self.metric)
    }

    /// Prints which claims are left, and why.
    fn end(&self, open: &[Open]) {
        let left_out = left_out(open);
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
