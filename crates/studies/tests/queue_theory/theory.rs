//! Mean response times of the M/G/1 queue: messages arrive one by one as a Poisson process at a single server.
//!
//! Times are in units of the service of one packet, sizes in packets, so that a message of size x is served for x. The
//! response time is the time from arrival to the end of service. Sources: Kleinrock, Queueing Systems, volume 2 (1976),
//! chapter 4; Harchol-Balter, Performance Modeling and Design of Computer Systems (2013), part VII.

use super::integrate::Rule;
use super::law::Law;
use super::packets;

/// The service discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discipline {
    /// First come, first served.
    Fcfs,
    /// Processor sharing: all messages at once, each at the same rate.
    Ps,
    /// The message with the least remaining work, preemptively.
    Srpt,
    /// The message with the least service so far, preemptively; equal ones share (foreground–background).
    Las,
    /// Processor sharing at flow level, with rates and without packets.
    Rates,
}

impl Discipline {
    /// All disciplines.
    pub(super) const ALL: [Discipline; 5] =
        [Discipline::Fcfs, Discipline::Ps, Discipline::Srpt, Discipline::Las, Discipline::Rates];

    /// Returns the scheme that implements the discipline, by packets or at flow level.
    pub(super) fn scheme(self) -> &'static str {
        match self {
            Discipline::Fcfs => "fcfs",
            Discipline::Ps | Discipline::Rates => "ps",
            Discipline::Srpt => "srpt",
            Discipline::Las => "las",
        }
    }

    /// Returns its name in tables.
    pub(super) fn name(self) -> &'static str {
        if self == Discipline::Rates { "rates" } else { self.scheme() }
    }
}

/// Returns the mean response time if service can be divided at will.
pub(super) fn response(discipline: Discipline, law: Law, load: f64) -> f64 {
    let rate = load / law.mean();
    let rule = Rule::new();
    let panels = law.panels();
    match discipline {
        // Pollaczek and Khinchine.
        Discipline::Fcfs => law.mean() + rate * law.moment(law.most()) / (1.0 - load),
        Discipline::Ps | Discipline::Rates => law.mean() / (1.0 - load),
        // Schrage and Miller (1966): the wait until service begins, then the residence.
        Discipline::Srpt => {
            let free = |x: f64| 1.0 - rate * law.brought_up_to(x);
            let waiting = |x: f64| law.density(x) * rate * law.moment(x) / (free(x) * free(x));
            rule.over(&panels, |x| waiting(x) + law.survival(x) / free(x))
        }
        // Schrage (1967): for a message of size x, all others are at most x long.
        Discipline::Las => {
            let free = |x: f64| 1.0 - rate * (law.mean() - law.beyond(x));
            let of_size = |x: f64| rate * law.moment(x) / (free(x) * free(x)) + x / free(x);
            rule.over(&panels, |x| law.density(x) * of_size(x))
        }
    }
}

/// Returns how much the mean response time may differ from [`response`] because packets are not divided;
/// notes/queue-theory.md derives it. In units of the service of one packet, like everything here.
pub(super) fn packet_bias(discipline: Discipline, law: Law, load: f64) -> f64 {
    let of_packets = match discipline {
        Discipline::Fcfs | Discipline::Rates => return 0.0,
        Discipline::Srpt => return 1.0,
        Discipline::Ps => packets::round_robin(law, load),
        Discipline::Las => packets::least_attained(law, load),
    };
    (of_packets - response(discipline, law, load)).abs()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) const LOADS: [f64; 4] = [0.3, 0.5, 0.7, 0.9];

    pub(in super::super) fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "{found} is not {expected}");
    }

    #[test]
    fn exponential__what_does_not_know_sizes_takes_as_long() {
        // Without knowledge of sizes, all have the mean of M/M/1, E X / (1 − load).
        let law = Law::Exponential { mean: 64.0 };
        for load in LOADS {
            for discipline in [Discipline::Fcfs, Discipline::Ps, Discipline::Las] {
                near(response(discipline, law, load), 64.0 / (1.0 - load), 1e-10);
            }
        }
    }

    #[test]
    fn fcfs__by_hand() {
        // Uniform to 2: E X² = 4/3; load 1/2 gives a wait of 1/2 · 4/3 / (2 · 1/2) = 2/3.
        near(response(Discipline::Fcfs, Law::Uniform { most: 2.0 }, 0.5), 1.0 + 2.0 / 3.0, 1e-12);
    }

    #[test]
    fn srpt__exponential_at_load_one_half() {
        // Both integrals again, as a sum over the quantiles of the sizes.
        let law = Law::Exponential { mean: 1.0 };
        let load = 0.5;
        let steps = 2_000_000;
        let (mut sum, mut residence) = (0.0, 0.0);
        let mut x_before = 0.0;
        for step in 0..steps {
            let p = (f64::from(step) + 0.5) / f64::from(steps);
            let x = -libm::log1p(-p);
            let below = 1.0 - (1.0 + x) * libm::exp(-x);
            let free = 1.0 - load * below;
            residence += (x - x_before) / free;
            x_before = x;
            sum += residence + load * (1.0 - (1.0 + x) * libm::exp(-x)) / (free * free);
        }
        near(response(Discipline::Srpt, law, load), sum / f64::from(steps), 1e-5);
    }

    #[test]
    fn srpt__beats_all_others_and_nobody_beats_the_service() {
        for law in
            [Law::Exponential { mean: 64.0 }, Law::Uniform { most: 128.0 }, Law::bounded_pareto(1.5, 100.0, 64.0)]
        {
            for load in LOADS {
                let [fcfs, ps, srpt, las, rates] = Discipline::ALL.map(|discipline| response(discipline, law, load));
                assert_eq!(ps, rates);
                assert!(srpt > law.mean() && srpt < ps.min(las).min(fcfs) + 1e-9, "{law:?} {load}");
                // LAS is better than PS if the hazard rate falls, and worse if it rises. PS compares with FCFS in the
                // same way by variation.
                match law {
                    Law::Uniform { .. } => assert!(fcfs < ps && ps < las, "{law:?} {load}"),
                    Law::BoundedPareto { .. } => assert!(las < ps && ps < fcfs, "{law:?} {load}"),
                    Law::Exponential { .. } => {}
                }
            }
        }
    }

    #[test]
    fn las__uniform_by_hand() {
        // Uniform to 1 with rate r: E min(X, x) = x − x²/2, half of E min² = x²/2 − x³/3. At a very small rate only its
        // first power counts: E T = E X + r ∫ (x²/2 − x³/3 + x² − x³/2) dx = 1/2 + r (1/2 − 5/24).
        let rate = 1e-4;
        let law = Law::Uniform { most: 1.0 };
        let excess = response(Discipline::Las, law, rate / 2.0) - 0.5;
        near(excess / rate, 1.0 / 2.0 - 5.0 / 24.0, 1e-3);
    }

    #[test]
    fn packet_bias__shrinks_when_messages_double() {
        for load in LOADS {
            for discipline in [Discipline::Ps, Discipline::Srpt, Discipline::Las] {
                let relative = |mean: f64| {
                    let law = Law::Uniform { most: 2.0 * mean };
                    packet_bias(discipline, law, load) / response(discipline, law, load)
                };
                let (once, twice) = (relative(16.0), relative(32.0));
                assert!(twice < 0.6 * once && once < 0.1, "{discipline:?} {load}: {once} {twice}");
            }
        }
    }
}
