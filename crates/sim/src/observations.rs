//! What the ports, taggers and endpoints of a run report at its end: counters, periodic parts, and shortfalls from what
//! they expected. Each part chooses its own names.

use std::collections::BTreeMap;

use flowsieve_core::readings::{Expectation, Reading, Share, Shortfall};
use flowsieve_core::{PortScheduler, Time};
use flowsieve_record::PeriodicPart;

use crate::build::Built;

/// Observations, by name.
#[derive(Default)]
pub(crate) struct Observations {
    counts: BTreeMap<&'static str, u64>,
    /// By port that acted periodically: how often it did.
    ticks: BTreeMap<&'static str, Vec<u64>>,
    expectations: BTreeMap<&'static str, (Expectation, Shortfall)>,
    shares: BTreeMap<&'static str, Share>,
}

impl Observations {
    /// Collects the observations of all ports, taggers and endpoints.
    pub(crate) fn of_parts<K>(built: &Built<K>) -> Observations {
        let mut observed = Observations::default();
        for link in 0..built.placement.from.len() {
            built.port(link).scheduler.observe(&mut |reading| observed.take(reading));
        }
        for hops in built.partitions.iter().filter_map(|partition| partition.network.hops.as_ref()) {
            hops.own().for_each(|own| own.observe(&mut |reading| observed.take(reading)));
        }
        for side in built.partitions.iter().flat_map(|partition| &partition.hosts.sides) {
            side.tagger.observe(&mut |reading| observed.take(reading));
            side.endpoint.readings(&mut |reading| observed.take(reading));
        }
        observed
    }

    fn take(&mut self, reading: Reading) {
        match reading {
            Reading::Gauge(_) => {}
            Reading::Count { name, count } => *self.counts.entry(name).or_default() += count,
            Reading::Ticks { name, ticks } => self.ticks.entry(name).or_default().extend((ticks > 0).then_some(ticks)),
            Reading::Share(share) => {
                let all = self.shares.entry(share.name).or_insert(Share { part: 0, whole: 0, ..share });
                all.part += share.part;
                all.whole += share.whole;
            }
            Reading::Expectation(expectation) => {
                let Expectation { name, value, at_least, .. } = expectation;
                let none = Shortfall { parts: 0, short: 0, least: f64::INFINITY };
                let (_, shortfall) = self.expectations.entry(name).or_insert((expectation, none));
                shortfall.parts += 1;
                if value < at_least {
                    shortfall.short += 1;
                    shortfall.least = shortfall.least.min(value);
                }
            }
        }
    }

    /// Returns the counters that are not zero.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.iter().filter(|(_, count)| **count > 0).map(|(&name, &count)| (name.to_owned(), count)).collect()
    }

    /// Returns the periodic parts. Switch programs with a timer count by the one that ticked least. Ports act only when
    /// packets arrive, so they count by the mean of the ports that acted at all.
    pub(crate) fn periodic<K>(&self, built: &Built<K>, simulated: Time) -> Vec<PeriodicPart> {
        let programs = built.partitions.iter().flat_map(|partition| partition.programs.ticks());
        let programs = programs.filter(|&ticks| ticks > 0).min();
        let mean = |ticks: &Vec<u64>| ticks.iter().sum::<u64>().checked_div(ticks.len() as u64);
        let ports = self.ticks.iter().map(|(&name, ticks)| (name, mean(ticks)));
        let part = |(name, ticks): (&str, Option<u64>)| {
            let ticks = ticks?;
            Some(PeriodicPart { name: name.into(), period_ps: simulated.0 / ticks, ticks })
        };
        std::iter::once(("switch programs", programs)).chain(ports).filter_map(part).collect()
    }

    /// Returns a warning for each shortfall.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let short = self.expectations.values().filter(|(_, shortfall)| shortfall.short > 0);
        let short = short.map(|(expectation, shortfall)| (expectation.warning)(shortfall));
        let shares = self.shares.values().filter(|share| share.whole > 0);
        let shares = shares.map(|share| (share.part as f64 / share.whole as f64, share));
        short
            .chain(shares.filter(|(found, share)| *found < share.at_least).map(|(found, share)| (share.warning)(found)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts__of_all_parts_by_their_names_unless_there_was_none() {
        let mut observed = Observations::default();
        for (name, count) in [("stale", 3), ("lost", 0), ("stale", 4)] {
            observed.take(Reading::Count { name, count });
        }
        assert_eq!(observed.counts(), BTreeMap::from([("stale".to_owned(), 7)]));
    }

    #[test]
    fn warnings__how_many_fall_short_and_the_least_of_these() {
        let warning = |short: &Shortfall| format!("{} of {}, {}", short.short, short.parts, short.least);
        let mut observed = Observations::default();
        for (name, value, at_least) in [("a", 5.0, 9.0), ("a", 1.0, 1.0), ("a", 7.0, 9.0), ("b", 2.0, 2.0)] {
            observed.take(Reading::Expectation(Expectation { name, value, at_least, warning }));
        }
        assert_eq!(observed.warnings().collect::<Vec<_>>(), ["2 of 3, 5"]);
    }

    #[test]
    fn warnings__a_share_of_all_parts_together() {
        let warnings = |parts: &[(&'static str, u64, u64)]| {
            let mut observed = Observations::default();
            for &(name, part, whole) in parts {
                let warning = |share: f64| format!("only {share}");
                observed.take(Reading::Share(Share { name, part, whole, at_least: 0.5, warning }));
            }
            observed.warnings().collect::<Vec<_>>()
        };
        assert_eq!(warnings(&[("a", 0, 2), ("a", 2, 2), ("b", 0, 0)]), [""; 0]);
        assert_eq!(warnings(&[("a", 0, 2), ("a", 1, 2), ("b", 1, 2)]), ["only 0.25"]);
    }
}
