//! A group of queues: the property of its clusters, its initial thresholds and how they move, its service.

use flowsieve_core::Time;
use flowsieve_core::qcluster::sketch::Keep;
use flowsieve_core::qcluster::weights::{ClusterSize, ThresholdRule, WeightParams};
use flowsieve_core::qcluster::{ClusterGroup, Service, Unit, Weight};
use flowsieve_core::taggers::cluster::{Left, Rank};

use crate::parameters::TEN_GBPS;
use flowsieve_settings::declare;
use flowsieve_settings::{MAX_TIME_PS, MTU, Scope, Section, Setting, SettingsError};

/// The property by which packets are clustered, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    Sent,
    SentPackets,
    Coflow,
    Remaining,
    Size,
    TimePerPacket,
    Deadline,
}

impl Property {
    /// Returns what the host writes for it.
    pub(super) fn rank(self, scope: &Scope<'_>) -> Result<Rank, SettingsError> {
        Ok(match self {
            Property::Sent | Property::SentPackets => Rank::Message,
            Property::Coflow => Rank::Coflow,
            Property::Remaining => Rank::Remaining(scope.read(&REMAINING)?),
            Property::Size => Rank::Size,
            Property::TimePerPacket => Rank::TimePerPacket(scope.read(&REMAINING)?),
            Property::Deadline => Rank::Deadline,
        })
    }

    pub(super) fn weight(self) -> Weight {
        match self {
            Property::Sent | Property::SentPackets | Property::Coflow => Weight::Sent,
            Property::Remaining | Property::Size | Property::TimePerPacket | Property::Deadline => Weight::Number,
        }
    }

    /// Returns the unit of its thresholds, if they are bytes or packets; otherwise they are times.
    pub(super) fn unit(self) -> Option<Unit> {
        match self {
            Property::Sent | Property::Coflow | Property::Remaining | Property::Size => Some(Unit::Bytes),
            Property::SentPackets => Some(Unit::Packets),
            Property::TimePerPacket | Property::Deadline => None,
        }
    }

    /// Returns the first initial threshold; each further one is four times as high.
    pub(super) fn first(self) -> u32 {
        match self.unit() {
            Some(Unit::Bytes) => 1_500,
            Some(Unit::Packets) => 1,
            None => 1_000,
        }
    }
}

/// How queues share, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderName {
    StrictPriority,
    Inverse,
    Shares,
}

/// Where a threshold lies between two queue weights, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleName {
    Adaptive,
    Geometric,
    Harmonic,
    Arithmetic,
}

declare! {
    static REMAINING: Setting<Left> = Setting::choice(
        Section::Scheme,
        "remaining",
        &[("to-the-end", Left::ToTheEnd), ("unacknowledged", Left::Unacknowledged)],
        "QCluster: remaining bytes of a message at a packet: its own and those after it, or those not acknowledged",
    )
    .with_default(Left::ToTheEnd);
    static THRESHOLD_RULE: Setting<RuleName> = Setting::choice(
        Section::Scheme,
        "threshold_rule",
        &[
            ("adaptive", RuleName::Adaptive),
            ("geometric", RuleName::Geometric),
            ("harmonic", RuleName::Harmonic),
            ("arithmetic", RuleName::Arithmetic),
        ],
        "QCluster: where a threshold lies between two queue weights: by cluster sizes, or at a mean of the two",
    )
    .with_default(RuleName::Adaptive);
    static CLUSTER_SIZE: Setting<ClusterSize> = Setting::choice(
        Section::Scheme,
        "cluster_size",
        &[("same", ClusterSize::Same), ("proportional", ClusterSize::Proportional)],
        "QCluster: quantity that adaptive thresholds keep equal: packets, or packets over weight",
    )
    .computed("proportional; same under `order = \"inverse\"`");
    static ALPHA: Setting<f64> = Setting::number_above(
        Section::Scheme, "alpha", 0.0, 16.0, "QCluster: initial exponent of adaptive thresholds",
    )
    .with_default(1.0);
    static ALPHA_GAIN: Setting<f64> = Setting::number(
        Section::Scheme, "alpha_gain", 0.0, 4.0,
        "QCluster: how fast alpha follows the cluster sizes, in powers of two per update; 0: it does not change",
    )
    .with_default(0.02);
    static WEIGHT_PERIOD: Setting<u64> = Setting::time(
        Section::Scheme, "weight_period", 1, MAX_TIME_PS,
        "QCluster: time between two updates of queue weights and thresholds",
    )
    .with_default(Time::from_us(100).0)
    .stated_for(TEN_GBPS);
    static WEIGHT_HALF_LIFE: Setting<u64> = Setting::time(
        Section::Scheme, "weight_half_life", 1, MAX_TIME_PS,
        "QCluster: time in which counts lose half of their weight",
    )
    .with_default(Time::from_us(10_000).0)
    .stated_for(TEN_GBPS);
    static INITIAL_THRESHOLDS: Setting<Vec<u64>> = Setting::sizes(
        Section::Scheme, "initial_thresholds",
        "QCluster: initial thresholds, one less than the queues of flows without the special property; all \"0B\": \
         all flows begin in the last queue",
    );
}

/// Builds a group of queues with these initial thresholds.
pub(super) fn group(
    scope: &Scope<'_>,
    by: Property,
    initial: Vec<u32>,
    order: OrderName,
) -> Result<ClusterGroup, SettingsError> {
    let service = match order {
        OrderName::StrictPriority => Service::StrictPriority,
        OrderName::Inverse => Service::InverseWeights,
        // Aalo's own: a queue's weight falls linearly.
        OrderName::Shares => Service::Shares((1..=initial.len() as u32 + 1).rev().collect()),
    };
    // Fair queueing is the policy with clusters of one size (§3.4).
    let fair = service == Service::InverseWeights;
    let rule = match scope.read(&THRESHOLD_RULE)? {
        RuleName::Adaptive => ThresholdRule::Adaptive {
            size: scope.read_or(&CLUSTER_SIZE, if fair { ClusterSize::Same } else { ClusterSize::Proportional })?,
            alpha: scope.read(&ALPHA)?,
            gain: scope.read(&ALPHA_GAIN)?,
        },
        RuleName::Geometric => ThresholdRule::Geometric,
        RuleName::Harmonic => ThresholdRule::Harmonic,
        RuleName::Arithmetic => ThresholdRule::Arithmetic,
    };
    let weights = WeightParams {
        initial,
        rule,
        period: Time(scope.read(&WEIGHT_PERIOD)?),
        half_life: Time(scope.read(&WEIGHT_HALF_LIFE)?),
    };
    Ok(ClusterGroup { weight: by.weight(), weights, keep: if fair { Keep::Queue } else { Keep::NoRise }, service })
}

/// Returns thresholds from `first` on, each four times as high as the previous one, or less if that many queues need it.
pub(super) fn spread(first: u32, queues: usize) -> Vec<u32> {
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

/// Reads the initial thresholds of the queues for flows without the special property, in the unit of weights.
pub(super) fn initial(scope: &Scope<'_>, by: Property, queues: usize) -> Result<Vec<u32>, SettingsError> {
    let unit = match by.unit() {
        Some(Unit::Bytes) => 1,
        Some(Unit::Packets) => scope.read(&MTU)?,
        // Sizes do not determine times.
        None => return Ok(spread(by.first(), queues)),
    };
    let Some(given) = scope.optional(&INITIAL_THRESHOLDS)? else { return Ok(spread(by.first(), queues)) };
    let thresholds: Option<Vec<u32>> = given.iter().map(|&size| u32::try_from(size / unit).ok()).collect();
    match thresholds {
        Some(thresholds)
            if thresholds.len() + 1 == queues && thresholds.is_sorted_by(|a, b| a < b || *b == 0 && a == b) =>
        {
            Ok(thresholds)
        }
        _ => {
            let expected =
                format!("{} sizes, each below 4.29 GB, that rise after any \"0B\", for {queues} queues", queues - 1);
            Err(scope.invalid(&INITIAL_THRESHOLDS, expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread__rises_whatever_the_number_of_queues() {
        assert_eq!(spread(1, 8), [1, 4, 16, 64, 256, 1_024, 4_096]);
        for (first, queues) in [(1, 64), (1_500, 64), (1_000, 2), (1, 1)] {
            let thresholds = spread(first, queues);
            assert_eq!(thresholds.len(), queues - 1);
            assert!(thresholds.is_sorted_by(|a, b| a < b), "{thresholds:?}");
        }
    }
}
