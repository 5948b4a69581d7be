//! What feeds the two fields of a tag under a scheme, and what its ports read of a packet.
//!
//! Each part of the catalogues has its line here. A test tries the parts: a tagger writes the tag of a packet again with one
//! fact changed, and a port gets the same packets again with one field of all of them the same.

use flowsieve_core::ports::awafs::FlowEnds;
use flowsieve_core::ports::flow_queues::Order;
use flowsieve_core::ports::pcoflow::{Keeps, PcoflowRules};
use flowsieve_core::ports::qcluster::{Avoidance, ClusterParams, MessageKey, Weight};
use flowsieve_core::taggers::bytes::Bytes;
use flowsieve_core::taggers::climb::{ClimbParams, SizeKnowledge, Unseen};
use flowsieve_core::taggers::cluster::{ClusterTagger, FlowProperty, Left, Rank};
use flowsieve_core::taggers::kept_levels::KeptLevelParams;
use flowsieve_core::{Place, PortKind, TaggerSpec};

use flowsieve_sim::scheme::Scheme;

/// A fact that a host may write into a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// Bytes of the message before the packet.
    Before,
    /// Whether the packet is its message's last, as a FIN says.
    Last,
    /// The message's size.
    Size,
    /// Bytes of the message that are not acknowledged.
    Unacknowledged,
    /// The message's deadline.
    Deadline,
    /// Its predicted size.
    PredictedSize,
    /// Predicted bounds of its size.
    Bounds,
    /// Its coflow.
    Coflow,
    /// The number of the message.
    Message,
    /// The flow.
    Flow,
    /// The packet's length.
    Length,
    /// When it is sent.
    Time,
    /// When the message began.
    Start,
    /// Whether its payload was sent before.
    Retransmission,
    /// Timeouts of the message.
    Timeouts,
    /// Earlier packets of the host.
    Earlier,
    /// Tables of a controller.
    Tables,
}
impl Fact {
    /// Returns it in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Fact::Before => "bytes of the message before the packet",
            Fact::Last => "whether the packet ends its message (FIN)",
            Fact::Size => "size of the message",
            Fact::Unacknowledged => "bytes not acknowledged",
            Fact::Deadline => "deadline",
            Fact::PredictedSize => "predicted size",
            Fact::Bounds => "predicted bounds of the size",
            Fact::Coflow => "coflow",
            Fact::Message => "number of the message",
            Fact::Flow => "flow",
            Fact::Length => "length of the packet",
            Fact::Time => "time",
            Fact::Start => "start of the message",
            Fact::Retransmission => "whether it is sent again",
            Fact::Timeouts => "timeouts of the message",
            Fact::Earlier => "earlier packets of the host",
            Fact::Tables => "a controller's tables",
        }
    }
}

/// What a port may read of a packet, in addition to its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// The eight bits of its tag.
    Priority,
    /// The 32 bits of its tag.
    Rank,
    /// Its flow.
    Flow,
    /// Its coflow.
    Coflow,
    /// What it is for.
    Kind,
}

impl Field {
    /// Returns it in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Field::Priority => "priority",
            Field::Rank => "rank",
            Field::Flow => "flow",
            Field::Coflow => "coflow",
            Field::Kind => "kind of packet",
        }
    }
}

/// What a host writes for a class of flow: the facts on which each field depends, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The eight bits: a DSCP may carry them.
    pub priority: Vec<Fact>,
    /// The 32 bits, a header of the scheme's own.
    pub rank: Vec<Fact>,
}

impl Written {
    fn new(priority: impl IntoIterator<Item = Fact>, rank: impl IntoIterator<Item = Fact>) -> Written {
        let ascending = |facts: &mut Vec<Fact>| {
            facts.sort_unstable();
            facts.dedup();
        };
        let (mut priority, mut rank): (Vec<_>, Vec<_>) = (priority.into_iter().collect(), rank.into_iter().collect());
        ascending(&mut priority);
        ascending(&mut rank);
        Written { priority, rank }
    }

    /// Returns the facts that a tagger reads; `None` for a custom one. `tables` says whether controllers send it tables.
    fn by(tagger: &TaggerSpec, tables: bool) -> Option<Written> {
        let by_tables = tables.then_some(Fact::Tables);
        // By thresholds of the bytes before a packet, which tables may replace.
        let by_level = |thresholds: &[u64]| {
            let has_levels = tables || !thresholds.is_empty();
            has_levels.then_some(Fact::Before).into_iter().chain(by_tables)
        };
        let fixed_level = |thresholds: &[u64]| (!thresholds.is_empty()).then_some(Fact::Before);
        Some(match tagger {
            TaggerSpec::Custom(_) => return None,
            TaggerSpec::Plain(_) | TaggerSpec::Fixed(_) => Written::default(),
            TaggerSpec::Demotion(rules) => Written::new(fixed_level(&rules.thresholds), None),
            TaggerSpec::DemotionByGap(rules) if rules.thresholds.is_empty() => Written::default(),
            TaggerSpec::DemotionByGap(_) => {
                Written::new([Fact::Before, Fact::Flow, Fact::Message, Fact::Time, Fact::Earlier], None)
            }
            TaggerSpec::Climb(rules) => Written::new(climbs_by(rules), None),
            TaggerSpec::Levels(rules) => {
                let own = rules.own.as_ref().map(|own| by_level(own));
                Written::new(by_level(&rules.network), own.into_iter().flatten())
            }
            TaggerSpec::KeptLevels(rules) => kept_by(rules, by_level(&rules.thresholds).collect()),
            TaggerSpec::AgedLevels(rules) => {
                let level = fixed_level(&rules.thresholds);
                Written::new(level, level.into_iter().chain([Fact::Start]))
            }
            TaggerSpec::Batched(rules) => {
                let Written { priority, rank } = Written::by(&rules.of, tables)?;
                // The last piece is shorter, so its middle says the size.
                let whole = |facts: Vec<Fact>| {
                    let size = rules.by_middle && facts.contains(&Fact::Before);
                    facts.into_iter().chain(size.then_some(Fact::Size))
                };
                Written::new(whole(priority), whole(rank))
            }
            TaggerSpec::Bytes(Bytes::Remaining) => Written::new(None, [Fact::Unacknowledged]),
            TaggerSpec::Bytes(Bytes::ToTheEnd) => Written::new(None, [Fact::Before, Fact::Size]),
            TaggerSpec::Bytes(Bytes::Attained) => Written::new(None, [Fact::Before]),
            TaggerSpec::Predicted(_) => {
                Written::new(None, [Fact::Before, Fact::Size, Fact::Unacknowledged, Fact::PredictedSize])
            }
            TaggerSpec::DeadlineFirst(_) => Written::new(None, [Fact::Unacknowledged, Fact::Deadline, Fact::Time]),
            TaggerSpec::Cluster(rules) => clustered_by(rules),
            TaggerSpec::Ends(rules) => Written::new([Fact::Last], rules.sent.then_some(Fact::Before)),
            TaggerSpec::Adaptive(rules) => {
                let boosted = rules.boost.map(|_| [Fact::Message, Fact::Time, Fact::Earlier]);
                Written::new(by_level(&rules.initial).chain(boosted.into_iter().flatten()), None)
            }
            TaggerSpec::Coflow(_) => Written::new([Fact::Coflow].into_iter().chain(by_tables), None),
        })
    }
}

/// QCLIMB's climb: a message without predictions is demoted by its bytes or stays below.
fn climbs_by(rules: &ClimbParams) -> Vec<Fact> {
    if rules.thresholds.is_empty() {
        return Vec::new();
    }
    let once = rules.knows == SizeKnowledge::PredictedSizeOnce;
    let size = match rules.knows {
        SizeKnowledge::Bounds => Fact::Bounds,
        SizeKnowledge::Size => Fact::Size,
        SizeKnowledge::PredictedSize | SizeKnowledge::PredictedSizeOnce => Fact::PredictedSize,
    };
    let before = (!once || rules.unseen == Unseen::Pias).then_some(Fact::Before);
    let again = rules.retransmissions_first.then_some(Fact::Retransmission);
    [size].into_iter().chain(before).chain(again).collect()
}

/// Levels that a message keeps. A cap counts what the host sends.
fn kept_by(rules: &KeptLevelParams, mut level: Vec<Fact>) -> Written {
    if level.contains(&Fact::Tables) {
        // Under tables the level is of the message's packets so far, unless it is sent again.
        level.extend(
            rules
                .cap
                .map(|_| [Fact::Message, Fact::Length, Fact::Time, Fact::Retransmission, Fact::Earlier])
                .into_iter()
                .flatten(),
        );
    }
    let rank = rules.by_age.then(|| level.iter().copied().chain([Fact::Start]).collect::<Vec<_>>());
    Written::new(level, rank.unwrap_or_default())
}

/// QCluster's group and number.
fn clustered_by(rules: &ClusterTagger) -> Written {
    let special: &[Fact] = match rules.special {
        FlowProperty::None | FlowProperty::Never | FlowProperty::Always => &[],
        FlowProperty::Deadline => &[Fact::Deadline, Fact::Time],
        FlowProperty::BelowRate { .. } => &[Fact::Size, Fact::Unacknowledged, Fact::Time, Fact::Start],
    };
    let left = |left: Left| match left {
        Left::ToTheEnd => vec![Fact::Before, Fact::Size],
        Left::Unacknowledged => vec![Fact::Unacknowledged],
    };
    let number = |rank: Rank| match rank {
        Rank::Message => vec![Fact::Message],
        Rank::Coflow => vec![Fact::Message, Fact::Coflow],
        Rank::Remaining(bytes) => left(bytes),
        Rank::Size => vec![Fact::Size],
        Rank::TimePerPacket(bytes) => [left(bytes), vec![Fact::Deadline, Fact::Time]].concat(),
        Rank::Deadline => vec![Fact::Deadline],
    };
    let rank = match rules.special {
        FlowProperty::Always => number(rules.special_rank),
        FlowProperty::None | FlowProperty::Never => number(rules.rank),
        _ if rules.special_rank == rules.rank => number(rules.rank),
        _ => [number(rules.special_rank), number(rules.rank), special.to_vec()].concat(),
    };
    Written::new(special.iter().copied(), rank)
}

/// Returns what a port reads, ascending; `None` for a custom one.
fn read_by(kind: &PortKind) -> Option<Vec<Field>> {
    let by_queue = |field: Field, queues: usize| if queues > 1 { vec![field] } else { Vec::new() };
    Some(match kind {
        PortKind::Custom(_) => return None,
        PortKind::Bank(rules) => by_queue(Field::Priority, rules.queues),
        PortKind::Host(rules) => by_queue(Field::Rank, rules.queues),
        PortKind::Pifo(_) | PortKind::SpPifo(_) => vec![Field::Rank],
        PortKind::Pfabric(_) | PortKind::Flows(Order::LeastRank) => vec![Field::Rank, Field::Flow],
        PortKind::Flows(Order::RoundRobin) | PortKind::Afq(_) | PortKind::Fair(_) => vec![Field::Flow],
        PortKind::Cluster(rules) => clusters_by(rules),
        PortKind::Pcoflow(PcoflowRules { keeps: Keeps::Flows, .. }) => vec![Field::Priority, Field::Flow, Field::Kind],
        PortKind::Pcoflow(_) | PortKind::PcoflowSpPifo(_) => {
            vec![Field::Priority, Field::Flow, Field::Coflow, Field::Kind]
        }
        PortKind::Awafs(rules) => match rules.ends {
            FlowEnds::Marked => vec![Field::Priority, Field::Rank, Field::Kind],
            FlowEnds::Fin { .. } => vec![Field::Priority, Field::Flow, Field::Kind],
            FlowEnds::Idle { .. } => vec![Field::Flow, Field::Kind],
        },
    })
}

/// QCluster's port: its sketch counts by flow or number, and its order is kept by flow. Packets without payload come first.
fn clusters_by(rules: &ClusterParams) -> Vec<Field> {
    let number = rules.key != MessageKey::Flow || rules.groups.iter().any(|group| group.weight == Weight::Number);
    let flow = rules.key != MessageKey::Number || rules.avoidance != Avoidance::Off;
    let fields =
        [(Field::Priority, rules.groups.len() > 1), (Field::Rank, number), (Field::Flow, flow), (Field::Kind, true)];
    fields.into_iter().filter(|(_, reads)| *reads).map(|(field, _)| field).collect()
}

/// What feeds the tags of a scheme, and what its ports read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feeds {
    /// By class of flow; `None` for a custom tagger.
    pub classes: Vec<Option<Written>>,
    /// By place, in the order of [`Place::ALL`]; `None` for a custom port.
    pub ports: Vec<(Place, Option<Vec<Field>>)>,
}

impl Feeds {
    /// Returns those of a scheme.
    pub fn of(scheme: &Scheme) -> Feeds {
        let tables = !scheme.controllers.is_empty();
        Feeds {
            classes: scheme.classes.iter().map(|class| Written::by(&class.tagger, tables)).collect(),
            ports: Place::ALL.map(|place| (place, read_by(&scheme.port(place).kind))).into(),
        }
    }

    /// Returns lines about what hosts write.
    pub fn of_tags(&self) -> Vec<String> {
        let alike = self.classes.windows(2).all(|pair| pair[0] == pair[1]);
        let shown = if alike { &self.classes[..self.classes.len().min(1)] } else { &self.classes[..] };
        let mut lines = Vec::new();
        for (class, written) in shown.iter().enumerate() {
            let of = if alike { String::new() } else { format!("class {class}, ") };
            let Some(Written { priority, rank }) = written else {
                lines.push(format!("{of}by a tagger of its own"));
                continue;
            };
            for (name, facts) in [("priority", priority), ("rank", rank)] {
                if !facts.is_empty() {
                    lines.push(format!("{of}{name} from {}", list(facts.iter().map(|fact| fact.in_words()))));
                }
            }
            if priority.is_empty() && rank.is_empty() {
                lines.push(format!("{of}none: all packets with payload are alike"));
            }
        }
        lines
    }

    /// Returns lines about what ports read, those of hosts and of switches.
    pub fn of_ports(&self) -> Vec<String> {
        let mut groups: Vec<(Vec<&str>, &Option<Vec<Field>>)> = Vec::new();
        for (place, read) in &self.ports {
            match groups.iter_mut().find(|(_, other)| *other == read) {
                Some((places, _)) => places.push(place.name()),
                None => groups.push((vec![place.name()], read)),
            }
        }
        let line = |(places, read): (Vec<&str>, &Option<Vec<Field>>)| {
            let what = match read {
                None => "what a port of its own reads".to_owned(),
                Some(fields) if fields.is_empty() => "nothing but lengths".to_owned(),
                Some(fields) => list(fields.iter().map(|field| field.in_words())),
            };
            format!("{}: {what}", places.join(", "))
        };
        groups.into_iter().map(line).collect()
    }
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
