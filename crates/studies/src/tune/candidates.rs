//! What may be recommended: one queue, thresholds by each rule for each number of queues, clusters in the switch; each with
//! DCTCP at hosts and marks by queue or by port, at K by the rule or at a multiple of it. Where today's hosts are not all
//! DCTCP with marks, the best thresholds are also tried over today's hosts and marks.

use super::Mark;
use super::today::Today;
use crate::thresholds::{Asked, Marking, Method, Wanted};
use flowsieve_experiment::Error;
use flowsieve_settings::units::format_size;
use serde::Serialize;

/// How packets find their queues.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Kind {
    /// As today.
    Today,
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
    /// Whether hosts send, and ports mark, as today.
    pub as_today: bool,
}

/// The name of today's network.
pub const TODAY: &str = "today";

/// The rules, by the names of the command `thresholds`.
const RULES: [(&str, Method); 3] =
    [("background", Method::Background), ("equal-split", Method::EqualSplit), ("pias", Method::Pias)];

/// K that is tried for the best, in per cent of K by the rule.
pub(super) const K_TRIED: [u64; 3] = [50, 200, 400];

impl Candidate {
    /// The network as it is; `is_own`: its file says how hosts send or ports mark.
    pub(super) fn today(is_own: bool) -> Candidate {
        Candidate { name: TODAY.to_owned(), kind: Kind::Today, as_today: is_own, ..Candidate::one_queue() }
    }

    /// One queue with DCTCP, and marks at K by the rule.
    pub(super) fn one_queue() -> Candidate {
        let (kind, marking) = (Kind::OneQueue, Marking::Queue);
        Candidate { name: "one-queue".to_owned(), queues: 1, kind, marking, k_per_cent: 100, as_today: false }
    }

    /// The same with another K.
    pub(super) fn with_k(&self, k_per_cent: u64) -> Candidate {
        let by_rule = if self.kind == Kind::Today { Candidate::one_queue() } else { self.clone() };
        Candidate { name: format!("{}-k{k_per_cent}", by_rule.name), k_per_cent, ..by_rule }
    }

    /// The same queues over today's hosts and marks.
    pub(super) fn over_todays_hosts(&self) -> Candidate {
        Candidate { name: format!("{}-hosts-as-today", self.name), as_today: true, ..self.clone() }
    }

    /// Whether another differs in K alone.
    pub(super) fn differs_in_k(&self, other: &Candidate) -> bool {
        let of = |it: &Candidate| (it.queues, it.marking, it.as_today);
        of(self) == of(other) && same(&self.kind, &other.kind)
    }

    /// In words: "the foreground-background thresholds of 4 queues".
    pub fn in_words(&self) -> String {
        let queues = self.queues;
        match &self.kind {
            Kind::Today => "today's network".to_owned(),
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

    /// Its tables in an experiment over today's network, with K by place of switches and rate.
    pub(super) fn tables(&self, k: &[(&str, Vec<Mark>)], today: &Today) -> String {
        let listed = |bytes: &[u64]| bytes.iter().map(|bytes| format_size(*bytes)).collect::<Vec<_>>();
        let (base, own) = match &self.kind {
            Kind::Today if !today.is_assumed => return String::new(),
            Kind::Thresholds { bytes, .. } if self.as_today => {
                return today.over_queues(&self.name, self.queues, &listed(bytes));
            }
            Kind::Today | Kind::OneQueue => ("dctcp", String::new()),
            Kind::Thresholds { bytes, .. } => {
                ("pias", format!("queues = {}\nthresholds = {:?}\n", self.queues, listed(bytes)))
            }
            Kind::Clusters => ("qc-las", format!("queues = {}\n", self.queues)),
        };
        if self.kind != Kind::Today {
            return self.table(base, &(own + &today.dctcp(self.queues)), k);
        }
        // Marks of the file stay.
        self.table(base, &own, if today.says_marks { &[] } else { k })
    }

    /// Its queues under hosts that do not tag: all their data has one priority.
    pub(super) fn without_tags(&self, priority: usize, k: &[(&str, Vec<Mark>)], today: &Today) -> String {
        let queues = self.queues;
        let own = format!("queues = {queues}\ntagger = \"fixed\"\nfixed_priority = {priority}\n");
        self.table("pias", &(own + &today.dctcp(queues)), k)
    }

    /// Its queues under classes of traffic.
    pub(super) fn of_classes(&self, classes: &[&str], k: &[(&str, Vec<Mark>)], today: &Today) -> String {
        let own = format!("queues = {}\nclasses = {classes:?}\n", self.queues);
        self.table("pias", &(own + &today.ports(self.queues)), k)
    }

    fn table(&self, base: &str, own: &str, k: &[(&str, Vec<Mark>)]) -> String {
        let (name, marking) = (&self.name, self.marking.setting());
        let mut text = format!("[schemes.{name}]\nbase = \"{base}\"\n{own}");
        for (place, marks) in k {
            let marks: Vec<String> = marks.iter().map(Mark::in_words).collect();
            text += &format!("[schemes.{name}.{place}]\nmarking = \"{marking}\"\necn_threshold_at = {marks:?}\n");
        }
        text
    }

    /// The same by another name.
    pub(super) fn named(self, name: &str) -> Candidate {
        Candidate { name: name.to_owned(), ..self }
    }
}

/// Lists what is tried first: today's network; one queue with DCTCP, if today's is the file's own (`is_own`); then all others
/// with K by the rule. Equal ones are listed once, with the fewest queues.
pub(super) fn all(
    wanted: &Wanted,
    load: f64,
    (fewest, most): (u64, u64),
    markings: &[Marking],
    (programmable, is_own): (bool, bool),
) -> Result<Vec<Candidate>, Error> {
    let mut all = vec![Candidate::today(is_own)];
    all.extend(is_own.then(Candidate::one_queue));
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
                    all.push(Candidate { name, queues, kind: kind.clone(), marking, k_per_cent: 100, as_today: false });
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
        (Kind::Today, Kind::OneQueue) | (Kind::OneQueue, Kind::Today) => true,
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
        let found = all(&wanted("web-search"), 0.6, (2, 3), &[Marking::Queue, Marking::Port], (true, false)).unwrap();
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
        let many = all(&wanted("web-search"), 0.8, (2, 12), &[Marking::Queue], (false, true)).unwrap();
        assert!(
            many.iter().enumerate().all(|(at, it)| many[..at].iter().all(|other| other.name != it.name)),
            "{many:?}"
        );
    }
}
