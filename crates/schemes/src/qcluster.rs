//! QCluster (Yang et al.): switches cluster packets of similar weight into their queues and adapt the clusters to the
//! traffic; the transport is DCTCP with marks per port (§6.3). One scheme per row of the paper's Table 3.
//!
//! The paper leaves some values open. The message gaps are those of the authors' simulations, one per workload
//! (`qcluster/QCluster`, `Appro_Unknown.cc` and its scripts). The sketch has 83 KB (§6.3) in two arrays. The flowlet gap is
//! the time in which a port of 10 Gbit/s empties a buffer of 360 KB, rounded up. The period of updates, their aging and the
//! gain of alpha were chosen by measurement ([docs/reference/qcluster-nos2.md](../../../docs/reference/qcluster-nos2.md)). Each is a setting.

mod group;

use flowsieve_core::qcluster::sketch::SketchParams;
use flowsieve_core::qcluster::{Avoidance, ClusterParams, MessageKey, Unit, Weight};
use flowsieve_core::taggers::cluster::{ClusterTagger, FlowProperty, Rank};
use flowsieve_core::taggers::plain::Plain;
use flowsieve_core::{PortKind, TaggerSpec, Time};

pub(crate) use group::SETTINGS as GROUP_SETTINGS;
use group::{OrderName, Property, group, initial, spread};

use crate::entry::Context;
use crate::messages::message_gap;
use crate::parameters::TEN_GBPS;
use crate::parts::{self, Own};
use flowsieve_settings::declare;
use flowsieve_settings::{MAX_TIME_PS, Section, Setting, SettingsError};
use flowsieve_sim::scheme::{Class, PortSpec, Scheme};

/// Which flows have their own queues, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpecialName {
    None,
    Deadline,
    BelowRate,
    Class,
}

const PROPERTIES: [(&str, Property); 7] = [
    ("sent", Property::Sent),
    ("sent-packets", Property::SentPackets),
    ("coflow", Property::Coflow),
    ("remaining", Property::Remaining),
    ("size", Property::Size),
    ("time-per-packet", Property::TimePerPacket),
    ("deadline", Property::Deadline),
];

const ORDERS: [(&str, OrderName); 3] =
    [("sp", OrderName::StrictPriority), ("inverse", OrderName::Inverse), ("shares", OrderName::Shares)];

declare! {
    /// Bytes of a port's sketch.
    pub static SKETCH: Setting<u64> = Setting::size(
        Section::Scheme, "sketch", 1, 10_000_000, "QCluster: memory of a port's sketch, at 13 bytes a bucket",
    )
    .with_default(83_213);
    static SKETCH_ARRAYS: Setting<u64> = Setting::count(
        Section::Scheme, "sketch_arrays", 1, 8, "QCluster: arrays of the sketch",
    )
    .with_default(2);
    /// Buckets of an array.
    pub static SKETCH_BUCKETS: Setting<u64> = Setting::count(
        Section::Scheme, "sketch_buckets", 1, 1_000_000, "QCluster: buckets of each array, instead of a memory",
    );
    static CONSERVATIVE_UPDATE: Setting<bool> = Setting::flag(
        Section::Scheme, "conservative_update", "QCluster: whether the sketch counts only in a flow's smallest counters",
    )
    .with_default(false);
    static MESSAGES: Setting<MessageKey> = Setting::choice(
        Section::Scheme,
        "messages",
        &[("by-gap", MessageKey::Flow), ("by-number", MessageKey::FlowAndNumber)],
        "QCluster: how switches separate a flow's messages: by idle time, or exactly",
    )
    .with_default(MessageKey::Flow);
    static PDA: Setting<Avoidance> = Setting::choice(
        Section::Scheme,
        "pda",
        &[
            ("off", Avoidance::Off),
            ("timed", Avoidance::Timed),
            ("audited", Avoidance::Audited),
            ("oracle", Avoidance::Oracle),
        ],
        "QCluster: packet disorder avoidance by time; by time, with a count of its misses; or by the packets in the port",
    )
    .with_default(Avoidance::Timed);
    static PDA_GAP: Setting<u64> = Setting::time(
        Section::Scheme, "pda_gap", 1, MAX_TIME_PS,
        "QCluster: idle time after which a flow is assumed to have no packets in the port",
    )
    .with_default(Time::from_us(300).0)
    .stated_for(TEN_GBPS);
    static WEIGHT: Setting<Property> = Setting::choice(
        Section::Scheme, "weight", &PROPERTIES, "QCluster: measure by which packets are clustered",
    );
    static ORDER: Setting<OrderName> = Setting::choice(
        Section::Scheme, "order", &ORDERS,
        "QCluster: how queues share: strict priority, round robin against the queue weights, or in shares k, k-1 ... 1",
    );
    static SPECIAL: Setting<SpecialName> = Setting::choice(
        Section::Scheme,
        "special",
        &[
            ("none", SpecialName::None),
            ("deadline", SpecialName::Deadline),
            ("below-rate", SpecialName::BelowRate),
            ("class", SpecialName::Class),
        ],
        "QCluster: which flows have queues of their own, before the others",
    );
    static SPECIAL_QUEUES: Setting<u64> = Setting::count(
        Section::Scheme, "special_queues", 1, 63, "QCluster: queues for flows with the special property",
    )
    .computed("half of `queues`");
    static SPECIAL_WEIGHT: Setting<Property> = Setting::choice(
        Section::Scheme, "special_weight", &PROPERTIES, "QCluster: measure by which packets of these flows are clustered",
    );
    static SPECIAL_ORDER: Setting<OrderName> = Setting::choice(
        Section::Scheme, "special_order", &ORDERS, "QCluster: how their queues share",
    );
    static LOWEST_RATE: Setting<u64> = Setting::rate(
        Section::Scheme, "min_rate", "QCluster: rate below which a flow is special under special = \"below-rate\"",
    )
    .with_default(100_000_000);
}

/// Builds a scheme of a row of Table 3: by which property its flows are clustered, and which flows have their own queues.
pub(crate) fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let own = Own { tagger: Some(TaggerSpec::Plain(Plain)), ..Own::default() };
    let mut scheme = parts::build(context, own)?;
    let special = match scope.read(&SPECIAL)? {
        SpecialName::None => FlowProperty::None,
        SpecialName::Deadline => FlowProperty::Deadline,
        SpecialName::BelowRate => FlowProperty::BelowRate { bps: scope.read(&LOWEST_RATE)? },
        SpecialName::Class => FlowProperty::Always,
    };
    let own = match special {
        FlowProperty::None => None,
        _ => Some(scope.read(&SPECIAL_WEIGHT)?),
    };
    let others = scope.read(&WEIGHT)?;
    let counted = |property: &Property| property.weight() == Weight::Sent;
    if own.filter(counted).is_some_and(|own| counted(&others) && own.unit() != others.unit()) {
        return Err(scope.invalid(&SPECIAL_WEIGHT, "the unit of `weight`: a port counts bytes or packets"));
    }
    let special_rank = own.map_or(Ok(Rank::Message), |own| own.rank(scope))?;
    let tagger = ClusterTagger { special, special_rank, rank: others.rank(scope)? };
    let mut class = scheme.classes[0].clone();
    class.tagger = TaggerSpec::Cluster(tagger);
    if special == FlowProperty::Always {
        let ordinary = TaggerSpec::Cluster(ClusterTagger { special: FlowProperty::Never, ..tagger });
        scheme.classes = vec![Class { tagger: ordinary, ..class.clone() }, class];
    } else {
        scheme.classes = vec![class];
    }

    let sketch = sketch(context)?;
    let sent = [own, Some(others)].into_iter().flatten().find(counted);
    let key = match sent {
        Some(Property::Coflow) => MessageKey::Number,
        Some(_) => scope.read(&MESSAGES)?,
        None => MessageKey::Flow,
    };
    let unit = sent.and_then(Property::unit).unwrap_or(Unit::Bytes);
    let avoidance = scope.read(&PDA)?;
    scheme.ports = scheme.ports.try_map(|place, port| {
        let scope = &scope.at(place);
        let Some(queues) = parts::own_queues(scope, port)? else { return Ok(port.clone()) };
        let of_special = match own {
            Some(_) => scope.read_or(&SPECIAL_QUEUES, (queues as u64 / 2).max(1))? as usize,
            None => 0,
        };
        if of_special >= queues {
            return Err(scope.invalid(&SPECIAL_QUEUES, format!("fewer than the {queues} queues")));
        }
        let mut groups = Vec::new();
        if let Some(own) = own {
            let order = scope.read(&SPECIAL_ORDER)?;
            groups.push(group(scope, own, spread(own.first(), of_special), order)?);
        }
        let initial = initial(scope, others, queues - of_special)?;
        groups.push(group(scope, others, initial, scope.read(&ORDER)?)?);
        let kind = PortKind::Cluster(ClusterParams { groups, sketch, key, unit, avoidance });
        Ok(PortSpec { kind, ..port.clone() })
    })?;
    Ok(scheme)
}

fn sketch(context: &Context<'_>) -> Result<SketchParams, SettingsError> {
    let scope = &context.scope;
    let arrays = scope.read(&SKETCH_ARRAYS)? as usize;
    let buckets = match scope.optional(&SKETCH_BUCKETS)? {
        Some(buckets) => buckets as usize,
        None => SketchParams::buckets_in(scope.read(&SKETCH)?, arrays),
    };
    if buckets == 0 {
        return Err(scope.invalid(&SKETCH, format!("at least 13 B for a bucket in each of {arrays} arrays")));
    }
    Ok(SketchParams {
        arrays,
        buckets,
        message_gap: message_gap(context)?,
        flowlet_gap: Time(scope.read(&PDA_GAP)?),
        conservative: scope.read(&CONSERVATIVE_UPDATE)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{Facts, none_given};
    use flowsieve_core::qcluster::sketch::Keep;
    use flowsieve_core::qcluster::weights::{ClusterSize, ThresholdRule};
    use flowsieve_core::qcluster::{ClusterGroup, Service};
    use flowsieve_core::taggers::cluster::Left;
    use flowsieve_settings::{Origin, Place, Raw, Settings};

    const W4: Facts = Facts { name: Some("qcluster-w4"), load: Some(0.6), ..Facts::NONE };

    fn params(name: &str, settings: &Settings) -> Result<ClusterParams, String> {
        let entry = crate::registry::find(name).unwrap();
        let scheme =
            entry.scheme(&Context { scope: settings.scheme(name), workload: &W4 }).map_err(|e| e.to_string())?;
        let PortKind::Cluster(params) = &scheme.ports.at(Place::Leaf).kind else { panic!("no cluster port") };
        Ok(params.clone())
    }

    #[test]
    fn las__the_papers_sketch_and_the_authors_gap() {
        let params = params("qc-las", &none_given()).unwrap();
        assert_eq!((params.sketch.buckets, params.sketch.bytes()), (3_200, 83_200));
        assert_eq!(params.sketch.message_gap, Time::from_us(4_000));
        assert_eq!(params.groups.len(), 1);
        assert_eq!(params.groups[0].weights.initial, [1_500, 6_000, 24_000, 96_000, 384_000, 1_536_000, 6_144_000]);
        assert_eq!((params.key, params.unit), (MessageKey::Flow, Unit::Bytes));
    }

    #[test]
    fn fq__clusters_of_one_size_that_no_flow_changes() {
        let params = params("qc-fq", &none_given()).unwrap();
        let ClusterGroup { weights, keep, service, .. } = &params.groups[0];
        assert!(matches!(weights.rule, ThresholdRule::Adaptive { size: ClusterSize::Same, .. }));
        assert_eq!((keep, service, params.unit), (&Keep::Queue, &Service::InverseWeights, Unit::Packets));
    }

    /// Returns what hosts write into packets of flows with the special property, and into others.
    fn ranks(name: &str, settings: &Settings) -> (Rank, Rank) {
        let entry = crate::registry::find(name).unwrap();
        let scheme = entry.scheme(&Context { scope: settings.scheme(name), workload: &W4 }).unwrap();
        let TaggerSpec::Cluster(tagger) = scheme.classes[0].tagger else { panic!("no cluster tagger") };
        (tagger.special_rank, tagger.rank)
    }

    #[test]
    fn remaining__from_the_packet_on_or_unacknowledged() {
        let unacknowledged = none_given().with(None, "remaining", "unacknowledged");
        for (settings, left) in [(none_given(), Left::ToTheEnd), (unacknowledged, Left::Unacknowledged)] {
            assert_eq!(ranks("qc-srpt", &settings), (Rank::Message, Rank::Remaining(left)));
            assert_eq!(ranks("qc-ddl", &settings), (Rank::TimePerPacket(left), Rank::Remaining(left)));
            assert_eq!(ranks("qc-ddl-sjf", &settings), (Rank::TimePerPacket(left), Rank::Size));
            assert_eq!(ranks("qc-las", &settings), (Rank::Message, Rank::Message));
        }
    }

    #[test]
    fn ddl__queues_of_their_own_for_flows_with_a_deadline() {
        let params = params("qc-ddl", &none_given().with(None, "special_queues", 3)).unwrap();
        let sizes: Vec<usize> = params.groups.iter().map(|group| group.weights.initial.len() + 1).collect();
        assert_eq!(sizes, [3, 5]);
        assert!(params.groups.iter().all(|group| group.weight == Weight::Number));
    }

    #[test]
    fn initial_thresholds__are_those_of_ordinary_flows() {
        let sizes = ["1KB", "2KB", "3KB", "4KB"].map(|size| (Raw::from(size), Origin::Default)).to_vec();
        let settings = none_given().with(None, "special_queues", 3).with(None, "initial_thresholds", Raw::List(sizes));
        let params = params("qc-min-rate", &settings).unwrap();
        assert_eq!(params.groups[0].weights.initial, [1_500, 6_000]);
        assert_eq!(params.groups[1].weights.initial, [1_000, 2_000, 3_000, 4_000]);
    }

    #[test]
    fn tsn__the_second_class_is_special() {
        let entry = crate::registry::find("qc-tsn").unwrap();
        let settings = none_given();
        let scheme = entry.scheme(&Context { scope: settings.scheme("qc-tsn"), workload: &W4 }).unwrap();
        let special: Vec<FlowProperty> = scheme
            .classes
            .iter()
            .map(|class| match class.tagger {
                TaggerSpec::Cluster(tagger) => tagger.special,
                _ => panic!("no cluster tagger"),
            })
            .collect();
        assert_eq!(special, [FlowProperty::Never, FlowProperty::Always]);
    }

    #[test]
    fn build__refuses_what_does_not_fit() {
        let refused =
            |scheme: &str, key: &str, value: Raw| params(scheme, &none_given().with(None, key, value)).unwrap_err();
        let list = |sizes: [&str; 7]| Raw::List(sizes.map(|size| (Raw::from(size), Origin::Default)).to_vec());
        for (scheme, key, value, expected) in [
            ("qc-las", "sketch", Raw::from("12B"), "at least 13 B"),
            ("qc-las", "initial_thresholds", list(["1B", "2B", "3B", "5B", "4B", "6B", "7B"]), "rise"),
            ("qc-las", "initial_thresholds", list(["0B", "1B", "0B", "2B", "4B", "6B", "7B"]), "rise"),
            ("qc-ddl", "special_queues", Raw::from(8), "fewer than the 8"),
            ("qc-min-rate", "special_weight", Raw::from("sent-packets"), "the unit of `weight`"),
        ] {
            let error = refused(scheme, key, value);
            assert!(error.contains(expected), "{error}");
        }
    }
}
