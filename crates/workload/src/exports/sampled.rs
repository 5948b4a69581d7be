//! Sizes of flows from samples of packets.
//!
//! If one in N packets is counted, a flow of n packets is seen with the probability 1 − (1 − 1/N)ⁿ, and then by k of them
//! with the probability of a binomial law that excludes 0. The estimate is the law of n over bins of equal width in log n
//! that makes the observed k most likely; EM finds it (after Duffield, Lund and Thorup, SIGCOMM 2003). Each bin counts 1 over its
//! probability to be seen.
//!
//! Flows of fewer than some N/3 packets that are seen are seen by one packet, whatever their size. So the samples hardly tell how they
//! divide, and EM keeps what it starts with. It starts twice: with as many flows in each bin, and with as many *seen* flows in
//! each, which has many more short ones. Their mean is the answer. Their distance is what is known of its error: if their
//! numbers of flows differ by more than [`MOST_APART`], the samples are refused.

use super::distribution;
use crate::convert::{ConvertError, Kind, Notes, Sizes, Source};

/// Bins of a factor of ten.
const PER_DECADE: f64 = 12.0;

/// Steps of EM. More of them only sharpen what the samples cannot tell.
const STEPS: usize = 60;

/// Seen flows without which nothing can be said.
const LEAST_SEEN: usize = 100;

/// The largest ratio of two estimates of the number of flows.
const MOST_APART: f64 = 10.0;

/// Above this, counts are rounded to half a per cent.
const EXACT: f64 = 256.0;

/// Estimates sizes from the packets that were counted of each flow, at least 1 of each, with this mean payload.
pub(super) fn estimated(
    source: &Source<'_>,
    counted: &[u64],
    one_in: u32,
    payload: f64,
    notes: &mut Notes,
) -> Result<Sizes, ConvertError> {
    let refuse = |problem: String, expected: &str| Err(source.fault(None, Kind::Option("sampled"), problem, expected));
    if counted.len() < LEAST_SEEN {
        return refuse(
            format!("{} flows were seen in the samples", counted.len()),
            "at least 100, or sizes without samples",
        );
    }
    let one_in = f64::from(one_in);
    let counts = grouped(counted);
    let most = counts.last().map_or(1.0, |(k, _)| k * one_in * 2.0);
    let mut bins: Vec<f64> = Vec::new();
    for step in 0.. {
        let packets = libm::round(libm::pow(10.0, f64::from(step) / PER_DECADE));
        if packets > most {
            break;
        }
        if bins.last() != Some(&packets) {
            bins.push(packets);
        }
    }
    let missed = libm::log1p(-1.0 / one_in);
    let seen: Vec<f64> = bins.iter().map(|packets| -libm::expm1(packets * missed)).collect();
    let likely: Vec<Vec<f64>> = counts
        .iter()
        .map(|(k, _)| bins.iter().zip(&seen).map(|(n, seen)| binomial(*k, *n, one_in, missed) / seen).collect())
        .collect();
    let as_many = fitted(&counts, &likely, &seen);
    let as_many_seen = fitted(&counts, &likely, &vec![1.0; bins.len()]);
    let flows = |fit: &[f64]| -> Vec<f64> { fit.iter().zip(&seen).map(|(fit, seen)| fit / seen).collect() };
    let (few, many) = (flows(&as_many), flows(&as_many_seen));
    let total = |flows: &[f64]| flows.iter().sum::<f64>();
    let (least, most) = (total(&few).min(total(&many)), total(&few).max(total(&many)));
    let numbers =
        format!("{} flows were seen; by two estimates that fit them there were {least:.0} to {most:.0}", counted.len());
    if most > least * MOST_APART {
        return refuse(
            format!("{numbers}: flows of few packets cannot be told from samples of 1 in {one_in}"),
            "denser samples, or sizes without samples",
        );
    }
    notes.say(format!("corrected for samples of 1 in {one_in} packets: {numbers}"));
    notes.say(format!(
        "how sizes below {:.0} B ({one_in} packets) divide is hardly told by samples: the lowest threshold may be far off if it is below",
        one_in * payload
    ));
    let width = libm::pow(10.0, 0.5 / PER_DECADE);
    let weights = few.iter().zip(&many).map(|(few, many)| (few + many) / 2.0);
    let bins: Vec<(f64, f64, f64)> =
        bins.iter().zip(weights).map(|(n, weight)| (n / width * payload, n * width * payload, weight)).collect();
    Ok(distribution(&bins))
}

/// Returns the counts, rising, with the number of flows of each.
fn grouped(counted: &[u64]) -> Vec<(f64, f64)> {
    let rounded =
        |k: f64| if k <= EXACT { k } else { libm::round(libm::exp(libm::round(libm::log(k) * 200.0) / 200.0)) };
    let mut counted: Vec<f64> = counted.iter().map(|k| rounded(*k as f64)).collect();
    counted.sort_unstable_by(f64::total_cmp);
    let mut counts: Vec<(f64, f64)> = Vec::new();
    for k in counted {
        match counts.last_mut() {
            Some((last, flows)) if *last == k => *flows += 1.0,
            _ => counts.push((k, 1.0)),
        }
    }
    counts
}

/// Returns the probability that k of n packets are counted; `missed` is ln(1 − 1/N).
fn binomial(k: f64, n: f64, one_in: f64, missed: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    let ways = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    libm::exp(ways - k * libm::log(one_in) + (n - k) * missed)
}

/// Returns the number of seen flows in each bin by EM, from this start.
fn fitted(counts: &[(f64, f64)], likely: &[Vec<f64>], start: &[f64]) -> Vec<f64> {
    let total: f64 = counts.iter().map(|(_, flows)| flows).sum();
    let sum: f64 = start.iter().sum();
    let mut fit: Vec<f64> = start.iter().map(|start| start / sum * total).collect();
    for _ in 0..STEPS {
        let mut next = vec![0.0; fit.len()];
        for ((_, flows), likely) in counts.iter().zip(likely) {
            let all: f64 = fit.iter().zip(likely).map(|(fit, likely)| fit * likely).sum();
            if all > 0.0 {
                next.iter_mut()
                    .zip(&fit)
                    .zip(likely)
                    .for_each(|((next, fit), likely)| *next += flows * fit * likely / all);
            }
        }
        fit = next;
    }
    fit
}
