//! What may be recommended: one queue, thresholds by each rule for each number of queues, clusters in the switch; each with
//! marks by queue or by port, at K by the rule or at a multiple of it.

use crate::thresholds::{Asked, Marking, Method, Wanted};
use flowsieve_experiment::Error;
use flowsieve_settings::units::format_size;
use serde::Serialize;

/// How packets find their queues.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Kind {
    /// There is one.
    OneQueue,
    /// By bytes that their flow has sent.
    Thresholds {
        /// The rule that chose them.
        rule: &'static str,
        /// Rising, one fewer than the queues.
        bytes: Vec<u64>,
    },
    /// By clusters of flows that the switch keeps (QCluster).
    Clusters,
}

/// A candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Its name in experiments and tables.
    pub name: String,
    /// Number of queues.
    pub queues: usize,
    /// How packets find theirs.
    pub kind: Kind,
    /// What is compared with K.
    pub marking: Marking,
    /// K in per cent of that by the rule.
    pub k_per_cent: u64,
}

/// The name of today's network.
pub const TODAY: &str = "today";

/// The rules, by the names of the command `thresholds`.
const RULES: [(&str, Method); 3] =
    [("background", Method::Background), ("equal-split", Method::EqualSplit), ("pias", Method::Pias)];

/// K that is tried for the best, in per cent of K by the rule.
pub(super) const K_TRIED: [u64; 3] = [50, 200, 400];

impl Candidate {
    /// One queue with ECN: the network as it is.
    pub fn today() -> Candidate {
        let (kind, marking) = (Kind::OneQueue, Marking::Queue);
        Candidate { name: TODAY.to_owned(), queues: 1, kind, marking, k_per_cent: 100 }
    }

    /// The same with another K.
    pub(super) fn with_k(&self, k_per_cent: u64) -> Candidate {
        let base = if self.queues == 1 { "one-queue" } else { &self.name };
        Candidate { name: format!("{base}-k{k_per_cent}"), k_per_cent, ..self.clone() }
    }

    /// In words: "the foreground-background thresholds of 4 queues".
    pub fn in_words(&self) -> String {
        let queues = self.queues;
        match &self.kind {
            Kind::OneQueue => "one queue".to_owned(),
            Kind::Thresholds { rule, .. } => {
                let rule = match *rule {
                    "background" => "foreground-background",
                    "pias" => "PIAS",
                    other => other,
                };
                format!("the {rule} thresholds of {queues} queues")
            }
            Kind::Clusters => format!("QCluster (qc-las) with {queues} queues, in a programmable switch"),
        }
    }

    /// Its tables in an experiment, with K by place of switches.
    pub(super) fn tables(&self, k: &[(&str, u64)]) -> String {
        let (base, own) = match &self.kind {
            Kind::OneQueue => ("dctcp", String::new()),
            Kind::Thresholds { bytes, .. } => {
                let listed: Vec<String> = bytes.iter().map(|bytes| format!("\"{}\"", format_size(*bytes))).collect();
                ("pias", format!("queues = {}\nthresholds = [{}]\n", self.queues, listed.join(", ")))
            }
            Kind::Clusters => ("qc-las", format!("queues = {}\n", self.queues)),
        };
        let (name, marking) = (&self.name, self.marking.setting());
        let mut text = format!("[schemes.{name}]\nbase = \"{base}\"\nmarking = \"{marking}\"\n{own}");
        for (place, bytes) in k {
            let bytes = format_size(bytes * self.k_per_cent / 100);
            text += &format!("[schemes.{name}.{place}]\necn_threshold = \"{bytes}\"\n");
        }
        text
    }
}

/// Lists what is tried first: today's network, then all others with K by the rule. Equal ones are listed once, with the
/// fewest queues.
pub(super) fn all(
    wanted: &Wanted,
    load: f64,
    (fewest, most): (u64, u64),
    markings: &[Marking],
    programmable: bool,
) -> Result<Vec<Candidate>, Error> {
    let mut all = vec![Candidate::today()];
    for queues in fewest..=most {
        let asked = Asked::read(wanted, load, queues)?;
        let mut kinds = Vec::new();
        for (rule, method) in RULES {
            let bytes = asked.of_queues_that_help(method)?.thresholds_bytes;
            kinds.push((format!("{rule}-{}", bytes.len() + 1), bytes.len() + 1, Kind::Thresholds { rule, bytes }));
        }
        if programmable {
            kinds.push((format!("clusters-{queues}"), queues as usize, Kind::Clusters));
        }
        for (name, queues, kind) in kinds.into_iter().filter(|(_, queues, _)| *queues > 1) {
            for &marking in markings {
                let name = match marking {
                    Marking::Queue => name.clone(),
                    Marking::Port => format!("{name}-port"),
                };
                let is_same = |it: &Candidate| it.marking == marking && same(&it.kind, &kind) && it.queues == queues;
                if !all.iter().any(is_same) {
                    all.push(Candidate { name, queues, kind: kind.clone(), marking, k_per_cent: 100 });
                }
            }
        }
    }
    Ok(all)
}

/// Whether packets go to the same queues, whichever rule chose the thresholds.
fn same(one: &Kind, other: &Kind) -> bool {
    match (one, other) {
        (Kind::Thresholds { bytes: one, .. }, Kind::Thresholds { bytes: other, .. }) => one == other,
        (Kind::Clusters, Kind::Clusters) | (Kind::OneQueue, Kind::OneQueue) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(workload: &str) -> Wanted {
        Wanted {
            workload: Some(workload.into()),
            cdf: None,
            sizes: None,
            loads: vec![0.6],
            queues: None,
            method: Method::Background,
        }
    }

    #[test]
    fn all__each_rule_and_number_of_queues_once() {
        let found = all(&wanted("web-search"), 0.6, (2, 3), &[Marking::Queue, Marking::Port], true).unwrap();
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        let expected = [
            "today",
            "background-2",
            "background-2-port",
            "equal-split-2",
            "equal-split-2-port",
            "pias-2",
            "pias-2-port",
            "clusters-2",
            "clusters-2-port",
            "background-3",
            "background-3-port",
            "equal-split-3",
            "equal-split-3-port",
            "pias-3",
            "pias-3-port",
            "clusters-3",
            "clusters-3-port",
        ];
        assert_eq!(names, expected);
        // Eight queues by the model are six that carry anything; they are not listed a second time.
        let many = all(&wanted("web-search"), 0.8, (2, 12), &[Marking::Queue], false).unwrap();
        assert!(
            many.iter().enumerate().all(|(at, it)| many[..at].iter().all(|other| other.name != it.name)),
            "{many:?}"
        );
    }

    #[test]
    fn tables__have_k_of_each_place() {
        let kind = Kind::Thresholds { rule: "background", bytes: vec![30_000] };
        let one = Candidate { name: "background-2".into(), queues: 2, kind, marking: Marking::Port, k_per_cent: 100 };
        assert_eq!(
            one.with_k(50).tables(&[("leaf", 97_500), ("spine", 390_000)]),
            "[schemes.background-2-k50]\nbase = \"pias\"\nmarking = \"per-port\"\nqueues = 2\nthresholds = [\"30KB\"]\n\
             [schemes.background-2-k50.leaf]\necn_threshold = \"48.75KB\"\n\
             [schemes.background-2-k50.spine]\necn_threshold = \"195KB\"\n"
        );
        assert_eq!(Candidate::today().with_k(200).name, "one-queue-k200");
    }
}
