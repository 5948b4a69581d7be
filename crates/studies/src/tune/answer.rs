//! Puts the answer together: what is recommended, what was found of it, and its configuration.

use super::candidates::{Candidate, K_TRIED, Kind};
use super::choose::TIE;
use super::rollout::Share;
use super::steps::{Choice, Proof, Tuning, runs, title};
use super::{Compared, Mark, Tuned, Verdict};
use crate::configuration::{self, Configured, Ports};
use crate::configure::Marks;
use crate::thresholds::dscp;
use flowsieve_experiment::model::MODEL;

/// What the steps found.
pub(super) struct Answer {
    /// One of how many receivers was a sample, or why none was.
    pub(super) screened: Result<u32, String>,
    pub(super) choice: Choice,
    pub(super) proof: Option<Proof>,
    /// The roll-out, or why there is none.
    pub(super) shares: Result<Vec<Share>, &'static str>,
}

impl Tuning<'_> {
    /// Returns the chosen candidate, if the proof shows that it helps.
    pub(super) fn recommended(&self, answer: &Answer) -> &Candidate {
        let helps = |proof: &Proof| proof.helps && proof.candidate == answer.choice.chosen;
        &self.candidates[if answer.proof.as_ref().is_some_and(helps) { answer.choice.chosen } else { 0 }]
    }

    /// Puts the answer together, with the files that say it.
    pub(super) fn answer(self, answer: Answer) -> (Tuned, Vec<(String, String)>) {
        let recommended = self.recommended(&answer).clone();
        let proven = recommended.kind != Kind::Today;
        let Answer { screened, choice, proof, shares } = answer;
        let (shares, no_roll_out) = match shares {
            Ok(shares) => (shares, None),
            Err(why) => (Vec::new(), Some(why.to_owned())),
        };
        let verdict = match (proven, recommended.queues) {
            (false, _) => Verdict::KeepOneQueue,
            (true, 1) => Verdict::OneQueueOtherK,
            (true, _) => Verdict::Use,
        };
        // Ports that stay as they are keep their marks, which the file of the fabric has.
        let marks = if recommended.as_today { Vec::new() } else { self.ground.marks(recommended.k_per_cent) };
        let queues = recommended.queues;
        let are_tagged = queues > 1 && !matches!(recommended.kind, Kind::Counted { .. });
        let dscps: Vec<u8> = match queues {
            _ if !are_tagged => Vec::new(),
            _ => (0..queues).map_while(|queue| dscp(queue, queues)).collect(),
        };
        // What is assumed of hosts is not known.
        let is_dctcp = self.ground.is_dctcp && !self.ground.today.is_assumed;
        let ports = self.request.ports.as_ref();
        let unmarked = self.request.unmarked.of(queues);
        let (configuration, mut files) = configured(ports, &recommended, (&marks, &dscps, unmarked), is_dctcp);
        let measured = proof.as_ref().map(|proof| self.candidates[proof.candidate].clone());
        let seeds = proof.as_ref().map_or(0, |proof| proof.seeds);
        if let (Some(measured), Some(proof)) = (&measured, &proof) {
            let (all, title) = (self.proven(proof.candidate), title(measured));
            let text = self.ground.text(&runs(&title, &all, (self.proof_seed, seeds), None));
            files.push(("experiment.toml".to_owned(), text));
        }
        let cut_marks = if marks.is_empty() { Vec::new() } else { self.ground.cut_marks(recommended.k_per_cent) };
        let (k_range, k_at_end) = k_that_does_as_well(&choice.compared, &recommended);
        let (changes, steps) = proof.map_or_else(Default::default, |proof| (proof.changes, proof.steps));
        let tuned = Tuned {
            verdict,
            recommended,
            measured,
            network: self.ground.in_words(),
            load: self.ground.load,
            cut_marks,
            marks,
            dscps,
            changes,
            steps,
            shares,
            unmarked: are_tagged.then_some(unmarked),
            no_roll_out,
            at_most: self.request.at_most,
            of_sizes: self.ground.of_sizes.clone(),
            warnings: self.warnings,
            todays_hosts_are_dctcp: self.ground.is_dctcp,
            k_range,
            k_at_end,
            compared: choice.compared,
            model: MODEL,
            candidates: self.candidates.len(),
            screened: screened.as_ref().ok().copied(),
            not_screened: screened.err(),
            seeds_of_choice: choice.seeds,
            seeds_of_proof: (self.proof_seed, seeds),
            cut_short: self.cut_short,
            configuration,
            folder: self.request.out.clone(),
        };
        files.push(("tune.json".to_owned(), serde_json::to_string_pretty(&tuned).unwrap_or_default() + "\n"));
        files.push(("README.md".to_owned(), tuned.page()));
        (tuned, files)
    }
}

/// Returns the K, in per cent of the rule's, that cost as little as the chosen one for all that the runs tell, from the least
/// to the greatest; and whether the chosen one is the last that was tried, and better than the one before.
fn k_that_does_as_well(compared: &[Compared], recommended: &Candidate) -> (Option<(u64, u64)>, bool) {
    let told = |it: &Compared| it.cost.is_some_and(|cost| cost.is_resolved());
    let tried = || compared.iter().filter_map(|it| Some((it.k_per_cent?, it)));
    // Wide intervals alone do not say that K does not matter.
    let near = |it: &Compared| it.cost.is_some_and(|cost| (cost.value - 1.0).abs() <= TIE);
    let equal = || tried().filter(|(k, it)| *k == recommended.k_per_cent || !told(it) && near(it)).map(|(k, _)| k);
    let range = equal().min().zip(equal().max()).filter(|(least, most)| least < most);
    // Others were screened, and were not among the best.
    let at_end = [K_TRIED.iter().min(), K_TRIED.iter().max()].contains(&Some(&recommended.k_per_cent));
    (range, range.is_none() && at_end && tried().count() > 1)
}

/// Writes the configuration of a recommendation, if ports were named.
fn configured(
    ports: Option<&Ports>,
    recommended: &Candidate,
    (marks, dscps, unmarked): (&[Mark], &[u8], usize),
    hosts_are_dctcp: bool,
) -> Configured {
    let Some(ports) = ports else { return (Vec::new(), Vec::new()) };
    let bytes: &[u64] = match &recommended.kind {
        _ if recommended.kind == Kind::Today => return configuration::none("today's network is to be kept"),
        _ if recommended.as_today => {
            return configuration::none("ports keep today's marks, which are not Flowsieve's to write");
        }
        Kind::Clusters => return configuration::none("clusters need a program of the switch"),
        Kind::Counted { .. } => return configuration::none("how a switch is told to count is in its manual"),
        Kind::Thresholds { bytes, .. } => bytes,
        _ => &[],
    };
    let k = |bps| marks.iter().find(|mark| mark.rate_bps == bps).map_or(0, |mark| mark.bytes);
    let marks = if recommended.ramp { Marks::Ramp } else { Marks::Step };
    ports.configure((bytes, dscps, unmarked), (k, marks), hosts_are_dctcp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_results::Ratio;

    #[test]
    fn k__that_does_as_well_and_the_end_of_what_was_tried() {
        let of = |k_per_cent: u64, interval: (f64, f64)| {
            let cost = Some(Ratio { value: 1.0, interval: Some(interval) });
            Compared { name: format!("k{k_per_cent}"), queues: 1, cost, seeds: 5, k_per_cent: Some(k_per_cent) }
        };
        let recommended = |k_per_cent| Candidate { k_per_cent, ..Candidate::one_queue() };
        // 400 % costs more for certain.
        let tried = [of(100, (1.0, 1.0)), of(50, (0.98, 1.01)), of(200, (0.99, 1.02)), of(400, (1.03, 1.1))];
        assert_eq!(k_that_does_as_well(&tried, &recommended(100)), (Some((50, 200)), false));
        // Not told, as intervals are wide; but 50 % costs twice as much.
        let wide = Compared { cost: Some(Ratio { value: 2.0, interval: Some((0.5, 8.0)) }), ..of(50, (0.5, 8.0)) };
        assert_eq!(k_that_does_as_well(&[of(100, (1.0, 1.0)), wide], &recommended(100)), (None, false));
        // All others cost more, and it is the last that was tried.
        let tried = [of(400, (1.0, 1.0)), of(200, (1.1, 1.2)), of(100, (1.2, 1.3))];
        assert_eq!(k_that_does_as_well(&tried, &recommended(400)), (None, true));
        assert_eq!(k_that_does_as_well(&[of(100, (1.0, 1.0))], &recommended(100)), (None, false));
    }
}
