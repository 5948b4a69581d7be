//! The same queues with packets that are served without interruption: the exact means of round robin and of
//! foreground–background with a quantum of one packet. Their distance from processor sharing and LAS is the bias that
//! [`super::theory::packet_bias`] allows; notes/queue-theory.md has the derivations.
//!
//! A message at level *i* has received *i* packets. Dᵢ = ∫ S from i to i+1 is the mean length of its next packet, zero
//! for messages that are too short to have it.

use super::law::Law;

/// Share of the messages that may be neglected.
const TAIL: f64 = 1e-10;

/// The moments of a law that both disciplines need, by packet of a message.
struct PacketMoments {
    /// S(i).
    survival: Vec<f64>,
    /// Dᵢ.
    lengths: Vec<f64>,
    /// Half of the mean square of the length of packet i, zero for messages without it.
    half_squares: Vec<f64>,
}

impl PacketMoments {
    fn new(law: Law) -> PacketMoments {
        let last = law.most().ceil() as u32;
        let levels = (0..last).map(f64::from).take_while(|&x| law.survival(x) > TAIL);
        let (mut survival, mut lengths, mut half_squares) = (Vec::new(), Vec::new(), Vec::new());
        for x in levels {
            let length = law.beyond(x) - law.beyond(x + 1.0);
            survival.push(law.survival(x));
            lengths.push(length);
            half_squares.push(law.moment(x + 1.0) - law.moment(x) - x * length);
        }
        PacketMoments { survival, lengths, half_squares }
    }
}

/// Returns the mean of round robin: a message joins the end of the ring, and the messages take turns, one packet each.
///
/// The waits before the packets of a message solve a linear system (Sakata, Noguchi and Oizumi 1971 have it for the
/// transforms).
pub(super) fn round_robin(law: Law, load: f64) -> f64 {
    let waits = waits(law, load);
    let moments = PacketMoments::new(law);
    law.mean() + waits.iter().zip(&moments.survival).map(|(wait, share)| wait * share).sum::<f64>()
}

/// Returns the mean wait before each packet of a message that has it.
fn waits(law: Law, load: f64) -> Vec<f64> {
    let rate = load / law.mean();
    let PacketMoments { lengths, half_squares, .. } = PacketMoments::new(law);
    let count = lengths.len();
    // Processor sharing has this wait per unit of service, so the iteration starts near its solution.
    let mut waits = vec![load / (1.0 - load); count];
    loop {
        let mut change = 0.0_f64;
        // Backward convolutions of the current waits, then forward ones with the new waits.
        let others: Vec<f64> =
            (0..count).map(|k| waits.iter().zip(&lengths[k..]).map(|(wait, length)| wait * length).sum()).collect();
        let mut cycles = vec![0.0; count];
        for k in 0..count {
            let since: f64 = cycles[..k].iter().rev().zip(&lengths).map(|(cycle, length)| cycle * length).sum();
            let residual = if k == 0 { half_squares.iter().sum() } else { 0.0 };
            let wait = rate * (residual + law.beyond(k as f64 + 1.0) + others[k] + since);
            change = change.max((wait - waits[k]).abs());
            waits[k] = wait;
            cycles[k] = wait + if k == 0 { 0.0 } else { 1.0 };
        }
        if change < 1e-9 * load / (1.0 - load) {
            return waits;
        }
    }
}

/// Returns the mean of foreground–background with a quantum (Schrage 1967): the message with the fewest packets is
/// next. Among equals, it is the one that has been there longest.
pub(super) fn least_attained(law: Law, load: f64) -> f64 {
    let rate = load / law.mean();
    let PacketMoments { survival, lengths, half_squares } = PacketMoments::new(law);
    let count = lengths.len();
    let mut later: f64 = half_squares.iter().sum();
    let (mut before, mut mean) = (0.0, 0.0);
    for k in 0..count {
        later -= half_squares[k];
        let x = k as f64;
        // Work on levels up to k, with the packet of a higher level on the line, as an arriving message sees it.
        let found = rate * (law.moment(x + 1.0) + later.max(0.0)) / (1.0 - rate * (before + lengths[k]));
        let begins = (found + x) / (1.0 - rate * before);
        let ends_here = survival[k] - survival.get(k + 1).copied().unwrap_or(0.0);
        // The length of the last packet of messages that end here: D minus the full packets of the others.
        mean += ends_here * begins + lengths[k] - (survival[k] - ends_here);
        before += lengths[k];
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::super::theory::tests::{LOADS, near};
    use super::*;

    #[test]
    fn exponential__packets_change_no_mean() {
        // The rest of a message is exponential at any interruption.
        for mean in [1.0, 5.0, 20.0] {
            for load in LOADS {
                let law = Law::Exponential { mean };
                near(round_robin(law, load), mean / (1.0 - load), 1e-7);
                near(least_attained(law, load), mean / (1.0 - load), 1e-7);
            }
        }
    }

    #[test]
    fn messages_of_one_packet__are_first_come_first_served() {
        for load in LOADS {
            let law = Law::Uniform { most: 1.0 };
            let fcfs = 0.5 + load / 0.5 * law.moment(1.0) / (1.0 - load);
            near(round_robin(law, load), fcfs, 1e-7);
            near(least_attained(law, load), fcfs, 1e-9);
        }
    }

    #[test]
    fn round_robin__keeps_the_work_in_the_queue() {
        // A message that waits at level i has all work beyond i left: rate · (Σ wᵢ ∫S beyond i + E X²/2) is the mean
        // work.
        for law in [Law::Uniform { most: 40.0 }, Law::bounded_pareto(1.5, 100.0, 20.0)] {
            for load in LOADS {
                let waiting: f64 =
                    waits(law, load).iter().enumerate().map(|(i, wait)| wait * law.beyond(i as f64)).sum();
                let half_square = law.moment(law.most());
                near(waiting + half_square, half_square / (1.0 - load), 1e-7);
            }
        }
    }

    #[test]
    fn both__come_near_to_their_fluids() {
        use super::super::theory::{Discipline, response};
        let law = Law::bounded_pareto(1.5, 100.0, 64.0);
        for load in LOADS {
            near(round_robin(law, load), response(Discipline::Ps, law, load), 0.02);
            near(least_attained(law, load), response(Discipline::Las, law, load), 0.02);
        }
    }
}
