//! QCluster (Yang et al.): switches cluster packets of similar weight into their queues and adapt the clusters to the
//! traffic; the transport is DCTCP with marks per port (§6.3). One scheme a row of the paper's Table 3.
//!
//! What the paper leaves open and where the values here come from: the message gaps are those of the authors' simulations,
//! a workload each (`qcluster/QCluster`, `Appro_Unknown.cc` and its scripts); the sketch is of 83 KB (§6.3) in two arrays; the
//! flowlet gap is the time in which a port of 10 Gbit/s empties a buffer of 360 KB, rounded up; the period of updates,
//! their aging and the gain of alpha were chosen by measurement ([docs/qcluster.md](../../../docs/qcluster.md)). Each is a setting.

use flowsieve_core::bank::BankRules;
use flowsieve_core::qcluster::sketch::{Keep, SketchParams};
use flowsieve_core::qcluster::weights::{ClusterSize, ThresholdRule, WeightParams};
use flowsieve_core::qcluster::{Avoidance, ClusterGroup, ClusterParams, MessageKey, Service, Unit, Weight};
use flowsieve_core::tagger::{ClusterTagger, Rank, Special};
use flowsieve_core::{PortKind, Time};

use crate::messages::message_gap;
use crate::parts::{self, Parts};
use crate::registry::{Context, Entry, Knows};
use crate::scheme::{PortSpec, Scheme, TaggerSpec};
use crate::settings::{DEFAULT_MTU_BYTES, Scope, SettingsError};

/// A row of Table 3: what its flows are clustered by, and which have queues of their own.
#[derive(Clone, Copy)]
struct Row {
    special: &'static str,
    special_weight: &'static str,
    special_order: &'static str,
    weight: &'static str,
    order: &'static str,
}

const LAS_ROW: Row = Row { special: "none", special_weight: "sent", special_order: "sp", weight: "sent", order: "sp" };

const DEADLINES: Row = Row { special: "deadline", special_weight: "time-per-packet", ..LAS_ROW };

macro_rules! entries {
    ($($entry:ident, $name:literal, $knows:ident, $row:expr, $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub const $entry: Entry = Entry {
                name: $name,
                summary: $summary,
                paper: "Yang et al., QCluster",
                knows: Knows::$knows,
                build: |context| build(context, $row),
            };
        )*
    };
}

entries! {
    LAS, "qc-las", Nothing, LAS_ROW, "clusters by bytes sent; strict priority";
    SRPT, "qc-srpt", Size, Row { weight: "remaining", ..LAS_ROW }, "clusters by bytes remaining; strict priority";
    FQ, "qc-fq", Nothing, Row { weight: "sent-packets", order: "inverse", ..LAS_ROW },
        "clusters of one size by packets sent; round robin against the queue weights";
    DDL, "qc-ddl", Deadline, Row { weight: "remaining", ..DEADLINES },
        "flows with a deadline first, by time left for each packet; the others by bytes remaining";
    SJF, "qc-sjf", Size, Row { weight: "size", ..LAS_ROW }, "clusters by flow size; strict priority";
    DDL_LAS, "qc-ddl-las", Deadline, DEADLINES, "flows with a deadline first; the others by bytes sent";
    DDL_SJF, "qc-ddl-sjf", Deadline, Row { weight: "size", ..DEADLINES }, "flows with a deadline first; the others by size";
    DDL_FQ, "qc-ddl-fq", Deadline, Row { weight: "sent-packets", order: "inverse", ..DEADLINES },
        "flows with a deadline first; the others share in round robin";
    COFLOW, "qc-coflow", Coflow, Row { weight: "coflow", order: "shares", ..LAS_ROW },
        "clusters by bytes that the coflow has sent; weighted sharing";
    MIN_RATE, "qc-min-rate", Nothing, Row { special: "below-rate", ..LAS_ROW },
        "flows below their minimum rate first; within both by bytes sent";
    TSN, "qc-tsn", Nothing, Row { special: "class", ..LAS_ROW }, "flows of the second class first; within both by bytes sent";
}

/// What a group's packets are clustered by, by its name in settings.
#[derive(Clone, Copy)]
struct By {
    name: &'static str,
    /// What the host writes for it.
    rank: Rank,
    weight: Weight,
    /// The first threshold at the start; each further one is four times as high.
    first: u32,
}

impl By {
    fn counts_packets(&self) -> bool {
        self.name == "sent-packets"
    }
}

const BY: [By; 7] = [
    By { name: "sent", rank: Rank::Message, weight: Weight::Sent, first: 1_500 },
    By { name: "sent-packets", rank: Rank::Message, weight: Weight::Sent, first: 1 },
    By { name: "coflow", rank: Rank::Coflow, weight: Weight::Sent, first: 1_500 },
    By { name: "remaining", rank: Rank::Remaining, weight: Weight::Number, first: 1_500 },
    By { name: "size", rank: Rank::Size, weight: Weight::Number, first: 1_500 },
    By { name: "time-per-packet", rank: Rank::TimePerPacket, weight: Weight::Number, first: 1_000 },
    By { name: "deadline", rank: Rank::Deadline, weight: Weight::Number, first: 1_000 },
];

fn by(scope: &Scope<'_>, key: &str, default: &str) -> Result<By, SettingsError> {
    scope.choice(key, &BY.map(|by| (by.name, by)), default)
}

fn build(context: &Context<'_>, row: Row) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let parts = Parts { discipline: "sp", queues: 8, ..Parts::default() };
    let mut scheme = parts::build(context, &parts)?;
    let special =
        match scope.choice("special", &[("none", 0), ("deadline", 1), ("below-rate", 2), ("class", 3)], row.special)? {
            0 => Special::None,
            1 => Special::Deadline,
            2 => Special::BelowRate { bps: scope.rate("min_rate", 100_000_000)? },
            _ => Special::Always,
        };
    let own = (special != Special::None).then(|| by(scope, "special_weight", row.special_weight)).transpose()?;
    let others = by(scope, "weight", row.weight)?;
    if own.is_some_and(|own| {
        own.weight == Weight::Sent && others.weight == Weight::Sent && own.counts_packets() != others.counts_packets()
    }) {
        return Err(scope.invalid("special_weight", "the unit of `weight`: a port counts bytes or packets"));
    }
    let tagger = ClusterTagger { special, special_rank: own.map_or(Rank::Message, |own| own.rank), rank: others.rank };
    let mut class = scheme.classes[0].clone();
    class.tagger = TaggerSpec::Cluster(tagger);
    if special == Special::Always {
        let ordinary = TaggerSpec::Cluster(ClusterTagger { special: Special::Never, ..tagger });
        scheme.classes = vec![parts::with_tagger(&class, ordinary), class];
    } else {
        scheme.classes = vec![class];
    }

    let sketch = sketch(context)?;
    let sent = [own, Some(others)].into_iter().flatten().find(|by| by.weight == Weight::Sent);
    let key = match sent {
        Some(By { rank: Rank::Coflow, .. }) => MessageKey::Number,
        Some(_) => scope.choice(
            "messages",
            &[("by-gap", MessageKey::Flow), ("by-number", MessageKey::FlowAndNumber)],
            "by-gap",
        )?,
        None => MessageKey::Flow,
    };
    let unit = if sent.as_ref().is_some_and(By::counts_packets) { Unit::Packets } else { Unit::Bytes };
    let avoidances = [
        ("off", Avoidance::Off),
        ("timed", Avoidance::Timed),
        ("audited", Avoidance::Audited),
        ("oracle", Avoidance::Oracle),
    ];
    let avoidance = scope.choice("pda", &avoidances, "timed")?;
    scheme.ports = scheme.ports.try_map(|place, port| {
        let PortKind::Bank(BankRules { queues, .. }) = port.kind else { return Ok(port.clone()) };
        let scope = &scope.at(place);
        let of_special = match own {
            Some(_) => scope.count("special_queues", (queues as u64 / 2).max(1))? as usize,
            None => 0,
        };
        if of_special >= queues {
            return Err(scope.invalid("special_queues", format!("fewer than the {queues} queues")));
        }
        let mut groups = Vec::new();
        if let Some(own) = own {
            let initial = spread(own.first, of_special);
            groups.push(group(scope, own, initial, "special_order", row.special_order)?);
        }
        let initial = initial(scope, others, queues - of_special)?;
        groups.push(group(scope, others, initial, "order", row.order)?);
        let kind = PortKind::Cluster(ClusterParams { groups, sketch, key, unit, avoidance });
        Ok(PortSpec { kind, ..port.clone() })
    })?;
    Ok(scheme)
}

fn sketch(context: &Context<'_>) -> Result<SketchParams, SettingsError> {
    let scope = &context.scope;
    let arrays = scope.count("sketch_arrays", 2)? as usize;
    let buckets = match scope.optional_count("sketch_buckets")? {
        Some(buckets) => buckets as usize,
        None => SketchParams::buckets_in(scope.bytes("sketch", 83_213)?, arrays),
    };
    if buckets == 0 {
        return Err(scope.invalid("sketch", format!("at least 13 B for a bucket in each of {arrays} arrays")));
    }
    Ok(SketchParams {
        arrays,
        buckets,
        message_gap: message_gap(context)?,
        flowlet_gap: Time(scope.time("pda_gap", Time::from_us(300).0)?),
        conservative: scope.flag("conservative_update", false)?,
    })
}

/// A group of queues with these thresholds at the start; `order`: the setting of their service order.
fn group(
    scope: &Scope<'_>,
    by: By,
    initial: Vec<u32>,
    order: &str,
    default: &str,
) -> Result<ClusterGroup, SettingsError> {
    let service = match scope.choice(order, &[("sp", 0), ("inverse", 1), ("shares", 2)], default)? {
        0 => Service::StrictPriority,
        1 => Service::InverseWeights,
        // Aalo's own: a queue's share falls linearly.
        _ => Service::Shares((1..=initial.len() as u32 + 1).rev().collect()),
    };
    // Fair queueing is the policy whose clusters are of one size (§3.4).
    let fair = service == Service::InverseWeights;
    let sizes = [("same", ClusterSize::Same), ("proportional", ClusterSize::Proportional)];
    let rule = match scope.choice(
        "threshold_rule",
        &[("adaptive", 0), ("geometric", 1), ("harmonic", 2), ("arithmetic", 3)],
        "adaptive",
    )? {
        0 => ThresholdRule::Adaptive {
            size: scope.choice("cluster_size", &sizes, if fair { "same" } else { "proportional" })?,
            alpha: scope.number("alpha", 1.0)?,
            gain: scope.number("alpha_gain", 0.02)?,
        },
        1 => ThresholdRule::Geometric,
        2 => ThresholdRule::Harmonic,
        _ => ThresholdRule::Arithmetic,
    };
    let weights = WeightParams {
        initial,
        rule,
        period: Time(scope.time("weight_period", Time::from_us(100).0)?),
        half_life: Time(scope.time("weight_half_life", Time::from_us(10_000).0)?),
    };
    Ok(ClusterGroup { weight: by.weight, weights, keep: if fair { Keep::Queue } else { Keep::NoRise }, service })
}

/// Thresholds from `first` on, each four times as high as the one above, or less where so many queues need it.
fn spread(first: u32, queues: usize) -> Vec<u32> {
    const HIGHEST: f64 = 2_147_483_648.0;
    let steps = queues.saturating_sub(2).max(1) as f64;
    let ratio = libm::pow(HIGHEST / f64::from(first), 1.0 / steps).min(4.0);
    let mut thresholds: Vec<u32> = Vec::new();
    for queue in 0..queues.saturating_sub(1) {
        let threshold = (f64::from(first) * libm::pow(ratio, queue as f64)).round() as u32;
        thresholds.push(thresholds.last().map_or(threshold, |last| threshold.max(last + 1)));
    }
    thresholds
}

/// Thresholds at the start of the queues for flows without the special property, in the unit of weights.
fn initial(scope: &Scope<'_>, by: By, queues: usize) -> Result<Vec<u32>, SettingsError> {
    // Sizes say nothing of times.
    let in_bytes = !matches!(by.rank, Rank::TimePerPacket | Rank::Deadline);
    let given = if in_bytes { scope.bytes_list("initial_thresholds")? } else { None };
    let Some(given) = given else { return Ok(spread(by.first, queues)) };
    let unit = if by.counts_packets() { scope.bytes("mtu", DEFAULT_MTU_BYTES)? } else { 1 };
    let thresholds: Option<Vec<u32>> = given.iter().map(|&size| u32::try_from(size / unit).ok()).collect();
    match thresholds {
        Some(thresholds) if thresholds.len() + 1 == queues && thresholds.is_sorted_by(|a, b| a < b) => Ok(thresholds),
        _ => {
            let expected = format!("{} sizes that rise, each below 4.29 GB, for {queues} queues", queues - 1);
            Err(scope.invalid("initial_thresholds", expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Origin, Place, Raw, Settings};
    use crate::testing::Facts;

    const W4: Facts = Facts { name: Some("qcluster-w4"), load: Some(0.6), uniform_to: None };

    fn params(name: &str, settings: &Settings) -> Result<ClusterParams, String> {
        let entry = crate::registry::find(name).unwrap();
        let scheme =
            (entry.build)(&Context { scope: settings.scheme(name), workload: &W4 }).map_err(|e| e.to_string())?;
        let PortKind::Cluster(params) = &scheme.ports.at(Place::Leaf).kind else { panic!("no cluster port") };
        Ok(params.clone())
    }

    #[test]
    fn las__the_papers_sketch_and_the_authors_gap() {
        let params = params("qc-las", &Settings::default()).unwrap();
        assert_eq!((params.sketch.buckets, params.sketch.bytes()), (3_200, 83_200));
        assert_eq!(params.sketch.message_gap, Time::from_us(4_000));
        assert_eq!(params.groups.len(), 1);
        assert_eq!(params.groups[0].weights.initial, [1_500, 6_000, 24_000, 96_000, 384_000, 1_536_000, 6_144_000]);
        assert_eq!((params.key, params.unit), (MessageKey::Flow, Unit::Bytes));
    }

    #[test]
    fn fq__clusters_of_one_size_that_no_flow_changes() {
        let params = params("qc-fq", &Settings::default()).unwrap();
        let ClusterGroup { weights, keep, service, .. } = &params.groups[0];
        assert!(matches!(weights.rule, ThresholdRule::Adaptive { size: ClusterSize::Same, .. }));
        assert_eq!((keep, service, params.unit), (&Keep::Queue, &Service::InverseWeights, Unit::Packets));
    }

    #[test]
    fn ddl__queues_of_their_own_for_flows_with_a_deadline() {
        let params = params("qc-ddl", &Settings::default().with(None, "special_queues", 3)).unwrap();
        let sizes: Vec<usize> = params.groups.iter().map(|group| group.weights.initial.len() + 1).collect();
        assert_eq!(sizes, [3, 5]);
        assert!(params.groups.iter().all(|group| group.weight == Weight::Number));
    }

    #[test]
    fn initial_thresholds__are_those_of_ordinary_flows() {
        let sizes = ["1KB", "2KB", "3KB", "4KB"].map(|size| (Raw::from(size), Origin::Default)).to_vec();
        let settings =
            Settings::default().with(None, "special_queues", 3).with(None, "initial_thresholds", Raw::List(sizes));
        let params = params("qc-min-rate", &settings).unwrap();
        assert_eq!(params.groups[0].weights.initial, [1_500, 6_000]);
        assert_eq!(params.groups[1].weights.initial, [1_000, 2_000, 3_000, 4_000]);
    }

    #[test]
    fn tsn__the_second_class_is_special() {
        let entry = crate::registry::find("qc-tsn").unwrap();
        let settings = Settings::default();
        let scheme = (entry.build)(&Context { scope: settings.scheme("qc-tsn"), workload: &W4 }).unwrap();
        let special: Vec<Special> = scheme
            .classes
            .iter()
            .map(|class| match class.tagger {
                TaggerSpec::Cluster(tagger) => tagger.special,
                _ => panic!("no cluster tagger"),
            })
            .collect();
        assert_eq!(special, [Special::Never, Special::Always]);
    }

    #[test]
    fn spread__rises_whatever_the_number_of_queues() {
        assert_eq!(spread(1, 8), [1, 4, 16, 64, 256, 1_024, 4_096]);
        for (first, queues) in [(1, 64), (1_500, 64), (1_000, 2), (1, 1)] {
            let thresholds = spread(first, queues);
            assert_eq!(thresholds.len(), queues - 1);
            assert!(thresholds.is_sorted_by(|a, b| a < b), "{thresholds:?}");
        }
    }

    #[test]
    fn build__refuses_what_does_not_fit() {
        let refused = |scheme: &str, key: &str, value: Raw| {
            params(scheme, &Settings::default().with(None, key, value)).unwrap_err()
        };
        let list = |sizes: [&str; 7]| Raw::List(sizes.map(|size| (Raw::from(size), Origin::Default)).to_vec());
        for (scheme, key, value, expected) in [
            ("qc-las", "sketch", Raw::from("12B"), "at least 13 B"),
            ("qc-las", "initial_thresholds", list(["1B", "2B", "3B", "5B", "4B", "6B", "7B"]), "rise"),
            ("qc-ddl", "special_queues", Raw::from(8), "fewer than the 8"),
            ("qc-min-rate", "special_weight", Raw::from("sent-packets"), "the unit of `weight`"),
        ] {
            let error = refused(scheme, key, value);
            assert!(error.contains(expected), "{error}");
        }
    }
}
