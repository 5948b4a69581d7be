//! What may be recommended: one queue, thresholds by each rule for each number of queues, clusters in the switch; each with
//! DCTCP at hosts and marks by queue or by port, at K by the rule or at a multiple of it. Where today's hosts are not all
//! DCTCP with marks, the best thresholds are also tried over today's hosts and marks.

use super::Mark;
use super::today::{Tags, Today};
use crate::configure::Marks;
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
    /// By bytes that a connection has sent without a pause, counted in the switch (Cisco's Dynamic Packet Prioritization).
    Counted {
        /// Where the second queue begins.
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
    /// Whether ports mark in a ramp around K instead of a step.
    pub ramp: bool,
    /// Whether hosts send, and ports mark, as today.
    pub as_today: bool,
    /// Whether bytes are counted for the life of a connection, and not for each message.
    pub by_connection: bool,
}

/// The name of today's network.
pub const TODAY: &str = "today";

/// The rules, by the names of the command `thresholds`.
const RULES: [(&str, Method); 3] =
    [("background", Method::Background), ("equal-split", Method::EqualSplit), ("pias", Method::Pias)];

/// K that is tried for the best, in per cent of K by the rule.
pub(super) const K_TRIED: [u64; 3] = [50, 200, 400];

/// Packets that a switch counts as they are shipped, and the bytes of one; the most that it can count.
const COUNTED: u64 = 120;
const PACKET: u64 = 1_460;
const MOST_COUNTED: u64 = 256;

/// A pause after which a switch, and after which nothing, counts a connection anew.
const PAUSE: &str = "1ms";
const NEVER: &str = "1000s";

impl Candidate {
    /// The network as it is; `is_own`: its file says how hosts send or ports mark.
    pub(super) fn today(is_own: bool) -> Candidate {
        Candidate { name: TODAY.to_owned(), kind: Kind::Today, as_today: is_own, ..Candidate::one_queue() }
    }

    /// One queue with DCTCP, and marks at K by the rule.
    pub(super) fn one_queue() -> Candidate {
        let (kind, marking) = (Kind::OneQueue, Marking::Queue);
        let name = "one-queue".to_owned();
        Candidate {
            name,
            queues: 1,
            kind,
            marking,
            k_per_cent: 100,
            ramp: false,
            as_today: false,
            by_connection: false,
        }
    }

    /// The same thresholds for the bytes of a connection, as nftables counts.
    pub(super) fn by_connection(&self) -> Candidate {
        Candidate { name: format!("{}-by-connection", self.name), by_connection: true, ..self.clone() }
    }

    /// The same with another K.
    pub(super) fn with_k(&self, k_per_cent: u64) -> Candidate {
        let by_rule = if self.kind == Kind::Today { Candidate::one_queue() } else { self.clone() };
        Candidate { name: format!("{}-k{k_per_cent}", by_rule.name), k_per_cent, ..by_rule }
    }

    /// The same with a ramp around the rule's K.
    pub(super) fn with_ramp(&self) -> Candidate {
        let step = if self.kind == Kind::Today { Candidate::one_queue() } else { self.clone() };
        Candidate { name: format!("{}-ramp", step.name), ramp: true, ..step }
    }

    /// The same queues over today's hosts and marks.
    pub(super) fn over_todays_hosts(&self) -> Candidate {
        Candidate { name: format!("{}-hosts-as-today", self.name), as_today: true, ..self.clone() }
    }

    /// Whether another differs in K alone.
    pub(super) fn differs_in_k(&self, other: &Candidate) -> bool {
        self.ramp == other.ramp && self.differs_in_marks(other)
    }

    /// Whether another differs at most in K, and in how ports mark around it.
    pub(super) fn differs_in_marks(&self, other: &Candidate) -> bool {
        let of = |it: &Candidate| (it.queues, it.marking, it.as_today);
        of(self) == of(other) && same(&self.kind, &other.kind)
    }

    /// Whether ports mark in a step at the rule's K.
    pub(super) fn is_by_rule(&self) -> bool {
        self.k_per_cent == 100 && !self.ramp
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
            Kind::Counted { bytes } => {
                let packets = bytes.first().map_or(0, |bytes| bytes / PACKET);
                format!(
                    "two queues, and let the switch put the first {packets} packets of a connection into the higher one"
                )
            }
            Kind::Clusters => format!("QCluster (qc-las) with {queues} queues, in a programmable switch"),
        }
    }

    /// Its tables in an experiment over today's network, with K by place of switches and rate.
    pub(super) fn tables(&self, k: &[(&str, Vec<Mark>)], today: &Today) -> String {
        let listed = |bytes: &[u64]| bytes.iter().map(|bytes| format_size(*bytes)).collect::<Vec<_>>();
        let (base, own) = match &self.kind {
            Kind::Today if !today.is_assumed => return String::new(),
            Kind::Thresholds { bytes, .. } | Kind::Counted { bytes } if self.as_today => {
                return today.over_queues(&self.name, self.queues, Tags::Demote(&listed(bytes), self.pause()));
            }
            Kind::Today | Kind::OneQueue => ("dctcp", String::new()),
            Kind::Thresholds { bytes, .. } | Kind::Counted { bytes } => {
                let pause = self.pause().map_or_else(String::new, |pause| format!("message_gap = \"{pause}\"\n"));
                ("pias", format!("queues = {}\nthresholds = {:?}\n{pause}", self.queues, listed(bytes)))
            }
            Kind::Clusters => ("qc-las", format!("queues = {}\n", self.queues)),
        };
        if self.kind != Kind::Today {
            return self.table(base, &(own + &today.dctcp(self.queues)), k);
        }
        // Marks of the file stay.
        self.table(base, &own, if today.says_marks { &[] } else { k })
    }

    /// After which pause a connection's bytes count anew, if that is not for each message.
    fn pause(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Counted { .. } => Some(PAUSE),
            _ => self.by_connection.then_some(NEVER),
        }
    }

    /// Its queues under hosts that do not tag: all their data has one priority.
    pub(super) fn without_tags(&self, priority: usize, k: &[(&str, Vec<Mark>)], today: &Today) -> String {
        let queues = self.queues;
        if self.as_today {
            return today.over_queues(&self.name, queues, Tags::Fixed(priority));
        }
        let own = format!("queues = {queues}\ntagger = \"fixed\"\nfixed_priority = {priority}\n");
        self.table("pias", &(own + &today.dctcp(queues)), k)
    }

    /// Its queues under classes of traffic.
    pub(super) fn of_classes(&self, classes: &[&str], k: &[(&str, Vec<Mark>)], today: &Today) -> String {
        if self.as_today {
            return today.over_queues(&self.name, self.queues, Tags::Classes(classes));
        }
        let own = format!("queues = {}\nclasses = {classes:?}\n", self.queues);
        self.table("pias", &(own + &today.ports(self.queues)), k)
    }

    fn table(&self, base: &str, own: &str, k: &[(&str, Vec<Mark>)]) -> String {
        let name = &self.name;
        let mut text = format!("[schemes.{name}]\nbase = \"{base}\"\n{own}");
        for (place, marks) in k {
            text += &format!("[schemes.{name}.{place}]\n{}", self.marks(marks));
        }
        text
    }

    /// The settings of ports that mark at these K.
    pub(super) fn marks(&self, k: &[Mark]) -> String {
        let [from, to, of] = Marks::RAMP;
        let begins = |mark: &Mark| match self.ramp {
            true => Mark { bytes: mark.bytes * from / of, ..*mark },
            false => *mark,
        };
        let at: Vec<String> = k.iter().map(|mark| begins(mark).in_words()).collect();
        let marking = match (self.ramp, self.marking) {
            (false, marking) => marking.setting(),
            (true, Marking::Queue) => "red-per-queue",
            (true, Marking::Port) => "red",
        };
        let mut text = format!("marking = \"{marking}\"\necn_threshold_at = {at:?}\n");
        if self.ramp {
            // The thresholds are `red_min` of each rate, and `red_max` is in proportion; queues are as long as they are.
            text +=
                &format!("red_min = \"{from}pkt\"\nred_max = \"{to}pkt\"\nred_probability = 0.5\nred_average = 1\n");
        }
        text
    }

    /// The same by another name.
    pub(super) fn named(self, name: &str) -> Candidate {
        Candidate { name: name.to_owned(), ..self }
    }
}

/// What else may be tried, and what may not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scope {
    /// Whether switches can be programmed.
    pub(super) programmable: bool,
    /// Whether switches count the first packets of a connection.
    pub(super) counting: bool,
    /// Whether today's network is the file's own.
    pub(super) is_own: bool,
    /// Whether hosts go on sending, and ports marking, as today.
    pub(super) hosts_stay: bool,
}

/// Lists what is tried first: today's network; one queue with DCTCP, if today's is the file's own; then all others with K by
/// the rule. Equal ones are listed once, with the fewest queues.
pub(super) fn all(
    wanted: &Wanted,
    load: f64,
    (fewest, most): (u64, u64),
    markings: &[Marking],
    scope: Scope,
) -> Result<Vec<Candidate>, Error> {
    // Where today's marks stay there is nothing to choose.
    let markings = if scope.hosts_stay { &[Marking::Queue] } else { markings };
    let mut all = vec![Candidate::today(scope.is_own)];
    all.extend((scope.is_own && !scope.hosts_stay).then(Candidate::one_queue));
    if scope.counting {
        let model = Asked::read(wanted, load, 2)?.of_queues_that_help(Method::Background)?.thresholds_bytes;
        let of_model = model.first().map(|bytes| bytes.div_ceil(PACKET).clamp(1, MOST_COUNTED));
        let packets = [Some(COUNTED), of_model.filter(|packets| *packets != COUNTED)];
        for (packets, &marking) in packets.into_iter().flatten().flat_map(|of| markings.iter().map(move |by| (of, by)))
        {
            let name = with_marking(format!("counted-{packets}"), marking);
            let kind = Kind::Counted { bytes: vec![packets * PACKET] };
            all.push(Candidate { name, queues: 2, kind, marking, ..Candidate::one_queue() });
        }
    }
    for queues in fewest..=most {
        let asked = Asked::read(wanted, load, queues)?;
        let mut kinds = Vec::new();
        for (rule, method) in RULES {
            let bytes = asked.of_queues_that_help(method)?.thresholds_bytes;
            kinds.push((format!("{rule}-{}", bytes.len() + 1), bytes.len() + 1, Kind::Thresholds { rule, bytes }));
        }
        if scope.programmable {
            kinds.push((format!("clusters-{queues}"), queues as usize, Kind::Clusters));
        }
        for (name, queues, kind) in kinds.into_iter().filter(|(_, queues, _)| *queues > 1) {
            for &marking in markings {
                let name = with_marking(name.clone(), marking);
                let is_same = |it: &Candidate| it.marking == marking && same(&it.kind, &kind) && it.queues == queues;
                if !all.iter().any(is_same) {
                    all.push(Candidate { name, queues, kind: kind.clone(), marking, ..Candidate::one_queue() });
                }
            }
        }
    }
    if scope.hosts_stay {
        all.iter_mut().skip(1).for_each(|it| *it = it.over_todays_hosts());
    }
    Ok(all)
}

fn with_marking(name: String, marking: Marking) -> String {
    match marking {
        Marking::Queue => name,
        Marking::Port => name + "-port",
    }
}

/// Whether packets go to the same queues, whichever rule chose the thresholds.
fn same(one: &Kind, other: &Kind) -> bool {
    match (one, other) {
        (Kind::Thresholds { bytes: one, .. }, Kind::Thresholds { bytes: other, .. }) => one == other,
        (Kind::Counted { bytes: one }, Kind::Counted { bytes: other }) => one == other,
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
    fn all__hosts_that_stay_and_switches_that_count() {
        let scope = Scope { counting: true, hosts_stay: true, is_own: true, ..Scope::default() };
        let found = all(&wanted("web-search"), 0.6, (2, 2), &[Marking::Queue], scope).unwrap();
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        let [today, rest @ ..] = &names[..] else { panic!("{names:?}") };
        assert_eq!(*today, "today");
        assert!(rest.iter().all(|name| name.ends_with("-hosts-as-today")), "{names:?}");
        // 120 packets as shipped, and the model's.
        let counted = found.iter().filter_map(|it| match &it.kind {
            Kind::Counted { bytes } => Some(bytes[0] / PACKET),
            _ => None,
        });
        let counted: Vec<u64> = counted.collect();
        assert!(counted.len() == 2 && counted[0] == 120 && counted[1] <= 256, "{counted:?}");
    }

    #[test]
    fn all__each_rule_and_number_of_queues_once() {
        let scope = Scope { programmable: true, ..Scope::default() };
        let found = all(&wanted("web-search"), 0.6, (2, 3), &[Marking::Queue, Marking::Port], scope).unwrap();
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
        let scope = Scope { is_own: true, ..Scope::default() };
        let many = all(&wanted("web-search"), 0.8, (2, 12), &[Marking::Queue], scope).unwrap();
        assert!(
            many.iter().enumerate().all(|(at, it)| many[..at].iter().all(|other| other.name != it.name)),
            "{many:?}"
        );
    }
}
