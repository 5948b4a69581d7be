//! Runs the cases and judges them.

use super::batches::Estimate;
use super::case::{Case, PACKET_PS};
use flowsieve_engines::built_in;
use flowsieve_experiment::Error;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{self, Changes};
use std::path::Path;

/// Half of the 95 % interval may be at most this share of the mean.
pub(super) const PRECISION: f64 = 0.02;
/// The target, lower so that the last estimate of the number of batches suffices.
const AIM: f64 = 0.018;
/// The most batches; a case that is not precise enough by then fails.
const MOST: usize = 512;

/// The result of a case. Times are in packets' times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// The case.
    pub(super) case: Case,
    /// Mean response time in theory.
    pub(super) theory: f64,
    /// How much packets may change it.
    pub(super) packet_bias: f64,
    /// Mean FCT in the simulation.
    pub(super) simulated: Estimate,
    /// Packet-hops: packets that crossed the link.
    pub(super) packet_hops: u64,
}

impl Outcome {
    /// Returns whether the mean is precise enough to be judged.
    pub(super) fn is_precise(&self) -> bool {
        self.simulated.half_width(0.95) <= PRECISION * self.simulated.mean
    }

    /// Returns the largest allowed distance between simulation and theory.
    pub(super) fn allowed(&self) -> f64 {
        self.simulated.half_width(0.999) + self.packet_bias
    }

    /// Returns whether the simulation agrees with theory.
    pub(super) fn passes(&self) -> bool {
        self.is_precise() && (self.simulated.mean - self.theory).abs() <= self.allowed()
    }
}

/// Runs a case with one seed after another until its mean is precise enough.
pub(super) fn run(case: &Case) -> Result<Outcome, Error> {
    let input = ExperimentText::new("queue theory", &case.experiment());
    let plan = plan::plan(&input, Path::new(""), &Changes::default(), &built_in())?;
    let (mut means, mut wanted, mut packet_hops) = (Vec::new(), Case::BATCHES, 0);
    let simulated = loop {
        let seed = means.len() as u64 / 2 + 1;
        let result = built_in().run(&plan.points[0], seed, &mut go_on, None)?;
        packet_hops += result.packet_hops;
        let of_host = |host| result.flows.iter().filter(move |row| row.src == host).map(|row| row.fct_ps);
        means.extend([0, 1].map(|host| batch_mean(case, of_host(host))));
        if means.len() >= wanted
            && let Some(estimate) = Estimate::of(&means)
        {
            let enough = estimate.batches_for(AIM).min(MOST);
            if means.len() >= enough {
                break estimate;
            }
            wanted = enough;
        }
    };
    let (theory, packet_bias) = (case.theory(), case.packet_bias());
    Ok(Outcome { case: *case, theory, packet_bias, simulated, packet_hops })
}

/// Returns the mean of the FCTs, given in ps, in packets' times, without those at the ends. An unfinished message makes
/// it NaN, so that no comparison passes.
fn batch_mean(case: &Case, fcts: impl Iterator<Item = Option<u64>>) -> f64 {
    let fcts: Vec<f64> = fcts.map(|fct| fct.map_or(f64::NAN, |fct| fct as f64 / PACKET_PS)).collect();
    let ends = case.batch().ends.min(fcts.len() / 4);
    let counted = &fcts[ends..fcts.len() - ends];
    counted.iter().sum::<f64>() / counted.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::case::Sizes;
    use super::super::theory::Discipline;
    use super::*;

    const CASE: Case = Case { discipline: Discipline::Fcfs, sizes: Sizes::Exponential, packets: 64.0, load: 0.5 };

    fn outcome(means: &[f64], theory: f64, packet_bias: f64) -> Outcome {
        let simulated = Estimate::of(means).unwrap();
        Outcome { case: CASE, theory, packet_bias, simulated, packet_hops: 0 }
    }

    #[test]
    fn passes__within_the_interval_and_what_packets_explain() {
        // The standard error is 1/√3; 99.9 % are within 31.6 of them, which is 18.24.
        let means = [999.0, 1_000.0, 1_001.0];
        assert!(outcome(&means, 1_018.0, 0.0).passes());
        assert!(!outcome(&means, 1_019.0, 0.0).passes());
        assert!(outcome(&means, 981.0, 1.0).passes());
        assert!(!outcome(&means, 980.0, 1.0).passes());
    }

    #[test]
    fn passes__never_what_is_not_known_well_enough() {
        // Half of the 95 % interval is 24.8, which is 2.5 %.
        assert!(!outcome(&[990.0, 1_000.0, 1_010.0], 1_000.0, 0.0).passes());
        assert!(!outcome(&[f64::NAN, 1_000.0, 1_000.0], 1_000.0, 1_000.0).passes());
    }

    #[test]
    fn batch_mean__leaves_out_the_ends() {
        let ends = CASE.batch().ends;
        let mut fcts = vec![Some(99_000_000); ends];
        fcts.extend(vec![Some(2_400_000); 4 * ends]);
        fcts.extend(vec![Some(99_000_000); ends]);
        assert_eq!(batch_mean(&CASE, fcts.iter().copied()), 2.0);
        fcts[2 * ends] = None;
        assert!(batch_mean(&CASE, fcts.iter().copied()).is_nan());
    }
}
