//! The cases: each is a discipline, sizes, a load and a number of packets per message.

use super::law::Law;
use super::theory::{self, Discipline};
use std::fmt;

/// Payload of a packet. There are no headers, so the wire length of a message is its size.
pub(super) const PACKET_BYTES: f64 = 1_500.0;
/// Time of a packet at 10 Gbit/s.
pub(super) const PACKET_PS: f64 = 1_200_000.0;

/// The shape of the distribution of message sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sizes {
    /// Exponential.
    Exponential,
    /// Uniform from 0 to twice the mean.
    Uniform,
    /// Bounded Pareto with shape 1.5, whose largest size is 100 times its smallest.
    BoundedPareto,
}

impl Sizes {
    /// All of them.
    pub(super) const ALL: [Sizes; 3] = [Sizes::Exponential, Sizes::Uniform, Sizes::BoundedPareto];

    fn law(self, packets: f64) -> Law {
        match self {
            Sizes::Exponential => Law::Exponential { mean: packets },
            Sizes::Uniform => Law::Uniform { most: 2.0 * packets },
            Sizes::BoundedPareto => Law::bounded_pareto(1.5, 100.0, packets),
        }
    }

    /// Returns the setting `sizes`. The smallest size of the bounded Pareto distribution is a whole number of bytes, so
    /// its mean differs slightly from the one asked for; see [`Case::law`].
    fn setting(self, packets: f64) -> String {
        let mean = packets * PACKET_BYTES;
        match (self, self.law(packets)) {
            (_, Law::BoundedPareto { shape, low, .. }) => {
                let low = (low * PACKET_BYTES).round();
                format!("bounded-pareto({shape}, {low}B, {}B)", 100.0 * low)
            }
            (Sizes::Uniform, _) => format!("uniform(1B, {}B)", 2.0 * mean),
            _ => format!("exponential({mean}B)"),
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Sizes::Exponential => "exponential",
            Sizes::Uniform => "uniform",
            Sizes::BoundedPareto => "bounded Pareto",
        })
    }
}

/// One comparison with a closed form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Case {
    /// The service discipline.
    pub(super) discipline: Discipline,
    /// The distribution of message sizes.
    pub(super) sizes: Sizes,
    /// Mean size of a message in packets.
    pub(super) packets: f64,
    /// Load of the link.
    pub(super) load: f64,
}

impl Case {
    pub(super) fn law(&self) -> Law {
        match self.sizes.law(self.packets) {
            Law::BoundedPareto { shape, low, .. } => {
                let low = (low * PACKET_BYTES).round() / PACKET_BYTES;
                Law::BoundedPareto { shape, low, high: 100.0 * low }
            }
            law => law,
        }
    }

    /// Returns the mean response time in theory, in packets' times.
    pub(super) fn theory(&self) -> f64 {
        theory::response(self.discipline, self.law(), self.load)
    }

    /// Returns how much undivided packets may change it, in packets' times.
    pub(super) fn packet_bias(&self) -> f64 {
        theory::packet_bias(self.discipline, self.law(), self.load)
    }

    /// Returns after how many messages the queue forgets its past: the relaxation time in heavy traffic (Whitt,
    /// "Planning queueing simulations", Management Science 1989).
    pub(super) fn memory(&self) -> f64 {
        let free = 1.0 - self.load;
        self.load * (1.0 + self.law().variation()) / (free * free)
    }

    /// Returns the size of a batch, which is long compared with the memory. At either end, as many messages do not
    /// count as the queue takes to fill, or as lack successors.
    pub(super) fn batch(&self) -> Batch {
        let ends = 200.0 + 6.0 * self.memory();
        Batch { counted: (10_000.0 + 200.0 * self.memory()).ceil() as usize, ends: ends.ceil() as usize }
    }

    /// Number of batches for the first estimate of the mean; there may be more.
    pub(super) const BATCHES: usize = 16;

    /// Returns the experiment file. Both hosts send, so that a run has two independent queues.
    pub(super) fn experiment(&self) -> String {
        let Case { discipline, sizes, packets, load } = self;
        let (name, scheme) = (discipline.name(), discipline.scheme());
        let of_run = match discipline {
            Discipline::Rates => "fidelity = \"flow\"",
            _ => "fct_end = \"arrival\"",
        };
        let batch = self.batch();
        let flows = 2 * (batch.counted + 2 * batch.ends);
        format!(
            "title = \"M/G/1: {name}, {sizes} messages of {packets} packets, load {load}\"\n\
             [topology]\n\
             kind = \"single-link\"\n\
             host_link = \"10Gbps\"\n\
             link_delay = \"0ns\"\n\
             host_delay = \"0ns\"\n\
             [workload]\n\
             sizes = \"{}\"\n\
             load = {load}\n\
             load_counts = \"payload\"\n\
             flows = {flows}\n\
             [network]\n\
             mtu = \"1500B\"\n\
             header = \"0B\"\n\
             wire_overhead = \"0B\"\n\
             [sweep]\n\
             scheme = [\"{scheme}\"]\n\
             [run]\n\
             {of_run}\n",
            sizes.setting(*packets)
        )
    }
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { discipline, sizes, packets, load } = self;
        write!(out, "{} {sizes} {packets} packets, load {load}", discipline.name())
    }
}

/// The length of a batch, in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) counted: usize,
    /// Left out at the beginning, and again at the end.
    pub(super) ends: usize,
}

/// Which of the cases to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Loads 0.3, 0.5, 0.7 and 0.9, with 64 and with 128 packets per message.
    All,
    /// Loads up to 0.7, with 64 packets: a minute on two cores.
    Quick,
}

/// Returns the cases in the order of the table.
pub(super) fn cases(extent: Extent) -> Vec<Case> {
    let (loads, packets): (&[f64], &[f64]) = match extent {
        Extent::All => (&[0.3, 0.5, 0.7, 0.9], &[64.0, 128.0]),
        Extent::Quick => (&[0.3, 0.5, 0.7], &[64.0]),
    };
    let mut cases = Vec::new();
    for discipline in Discipline::ALL {
        for sizes in Sizes::ALL {
            for &packets in packets {
                cases.extend(loads.iter().map(|&load| Case { discipline, sizes, packets, load }));
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases__are_all_combinations() {
        assert_eq!(cases(Extent::All).len(), 5 * 3 * 2 * 4);
        assert_eq!(cases(Extent::Quick).len(), 5 * 3 * 3);
        assert!(cases(Extent::Quick).iter().all(|case| cases(Extent::All).contains(case)));
    }

    #[test]
    fn law__has_the_mean_that_was_asked_for() {
        for case in cases(Extent::All) {
            assert!((case.law().mean() / case.packets - 1.0).abs() < 1e-4, "{case}");
        }
    }
}
