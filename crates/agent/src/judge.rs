//! Whether hosts tag what was predicted: the first gate of a roll-out.

use crate::maps::{Conf, Counts};
use serde::Serialize;

/// The longest super-packet whose middle is near enough to all of it, with the headers of its segments.
const SHORT: u64 = 16_384;
/// How far shares may be from the predicted ones, in points, where super-packets are that short and have the tag of their
/// middle. Their bytes that are seen to have the tag of another queue come on top.
const NEAR: f64 = 0.5;
/// How far at most.
const FAR: f64 = 2.0;
/// Standard errors that chance may add: with more, 19 of 20 that are right would not pass.
const ERRORS: f64 = 2.0;

/// Shares of bytes by queue, predicted and seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Predicted from sizes and thresholds, in per cent.
    pub predicted: Vec<f64>,
    /// Seen, in per cent.
    pub seen: Vec<f64>,
    /// The difference, in points, of the queue where it is the largest part of what is allowed.
    pub apart: f64,
    /// The largest that is allowed there: by super-packets, and by chance.
    pub allowed: f64,
    /// Whether it is not exceeded.
    pub passes: bool,
    /// What can make them differ, if anything was seen.
    pub reasons: Vec<String>,
}

impl Judgement {
    /// Compares the bytes that were counted with the shares that are predicted, each with its standard error (both of 1).
    /// `None`: nothing was tagged.
    pub fn of(conf: &Conf, counts: &Counts, predicted: &[(f64, f64)]) -> Option<Judgement> {
        let per_cent = |shares: &[f64]| shares.iter().map(|share| 100.0 * share).collect::<Vec<f64>>();
        let (shares, errors): (Vec<f64>, Vec<f64>) = predicted.iter().copied().unzip();
        let (predicted, seen) = (per_cent(&shares), per_cent(&counts.shares(conf.dscps.len())?));
        let bytes: u64 = counts.bytes.iter().sum();
        let of_bytes = |part: u64| 100.0 * part as f64 / bytes as f64;
        let is_near = conf.middle && counts.longest <= SHORT;
        let of_pieces = if is_near { FAR.min(NEAR + of_bytes(counts.moved)) } else { FAR };
        // The queue that comes nearest to what is allowed for it, or is furthest beyond.
        let queues = predicted.iter().zip(&seen).zip(&errors);
        let queues = queues.map(|((one, other), error)| ((one - other).abs(), of_pieces + 100.0 * ERRORS * error));
        let (apart, allowed) = queues.max_by(|(one, most), (other, least)| (one / most).total_cmp(&(other / least)))?;
        let packets: u64 = counts.packets.iter().sum();
        let mut reasons = Vec::new();
        let mut say = |applies: bool, reason: String| reasons.extend(applies.then_some(reason));
        say(
            allowed > of_pieces + NEAR / 2.0,
            format!("of {} messages, chance moves shares by up to {:.2} points", counts.begun, allowed - of_pieces),
        );
        say(
            of_bytes(counts.moved) > NEAR / 2.0,
            format!(
                "{:.2} % of the bytes are in super-packets of up to {} bytes that have the tag of another queue; with `ip link \
                 set DEV gso_max_size 16384` fewer",
                of_bytes(counts.moved),
                counts.longest
            ),
        );
        say(!conf.middle, "super-packets have the tag of their first byte".to_owned());
        say(
            counts.older > 0,
            format!("{} connections stood before: they count from their first byte until a message ends", counts.older),
        );
        say(
            counts.again * 100 > packets,
            format!("{:.1} % of the packets were sent again", 100.0 * counts.again as f64 / packets.max(1) as f64),
        );
        say(counts.marked > packets, format!("{} packets had a DSCP of their own", counts.marked));
        say(
            counts.no_storage > 0,
            format!("the kernel had no memory for the connection of {} packets", counts.no_storage),
        );
        if apart > allowed && reasons.is_empty() {
            reasons.push(
                "messages have other sizes, or end by another rule: compare with a new `agent record`".to_owned(),
            );
        }
        Some(Judgement { predicted, seen, apart, allowed, passes: apart <= allowed, reasons })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_core::packet_flow::MessageEnd;

    /// Of the prototype's 10,000 messages: what was predicted.
    const PREDICTED: [f64; 4] = [0.0613, 0.3087, 0.4556, 0.1744];

    fn judged(middle: bool, longest: u64, per_cent: [u64; 4]) -> Judgement {
        let conf = Conf {
            thresholds: vec![48_535, 485_763, 2_432_767],
            dscps: vec![35, 27, 19, 11],
            end: MessageEnd::Turn,
            percent: 100,
            dry: false,
            middle,
        };
        let mut counts = Counts { longest, ..Counts::default() };
        for (bytes, share) in counts.bytes.iter_mut().zip(per_cent) {
            *bytes = 400_000 * share;
        }
        counts.moved = if longest > 20_000 { 60_000_000 } else { 0 };
        Judgement::of(&conf, &counts, &PREDICTED.map(|share| (share, 0.0))).unwrap()
    }

    #[test]
    fn of__short_super_packets_by_their_middle_must_be_near() {
        let judged = judged(true, 16_000, [606, 3_069, 4_581, 1_744]);
        assert!(judged.passes && judged.allowed == 0.5 && judged.reasons.is_empty(), "{judged:?}");
        assert!((judged.apart - 0.25).abs() < 1e-9, "{judged:?}");
    }

    #[test]
    fn of__bytes_that_are_seen_to_have_another_tag_are_allowed_on_top() {
        let conf = Conf { thresholds: vec![20_000], ..Conf::from_words(&judged_conf()).unwrap() };
        let mut counts = Counts { longest: 15_928, moved: 7_000_000, ..Counts::default() };
        (counts.bytes[0], counts.bytes[1]) = (30_000_000, 970_000_000);
        let judged = Judgement::of(&conf, &counts, &[(0.02, 0.0), (0.98, 0.0)]).unwrap();
        assert!(judged.passes && (judged.allowed - 1.2).abs() < 1e-9, "{judged:?}");
        assert!(
            judged.reasons[0].starts_with("0.70 % of the bytes are in super-packets of up to 15928 bytes"),
            "{judged:?}"
        );
        let judged = Judgement::of(&conf, &Counts { moved: 0, ..counts }, &[(0.02, 0.0), (0.98, 0.0)]).unwrap();
        assert!(!judged.passes && judged.allowed == 0.5, "{judged:?}");
    }

    #[test]
    fn of__long_ones_may_be_two_points_off_and_it_says_why() {
        let judged = judged(false, 65_160, [770, 3_093, 4_426, 1_711]);
        assert!(judged.passes && judged.allowed == 2.0, "{judged:?}");
        assert!(judged.reasons[0].contains("1.50 % of the bytes"), "{judged:?}");
    }

    #[test]
    fn of__the_rule_of_50_ms_fails() {
        let judged = judged(true, 16_000, [469, 2_629, 4_712, 2_190]);
        assert!(!judged.passes && judged.reasons[0].contains("agent record"), "{judged:?}");
    }

    /// As it was between two hosts: 530 messages recorded, 660 tagged.
    #[test]
    fn of__few_messages_may_differ_by_chance() {
        let conf = Conf {
            thresholds: vec![19_138, 474_296],
            dscps: vec![35, 27, 11],
            ..Conf::from_words(&judged_conf()).unwrap()
        };
        let mut counts = Counts { begun: 660, longest: 1_500, ..Counts::default() };
        counts.bytes[..3].copy_from_slice(&[8_378_465, 30_623_193, 71_720_597]);
        let of = |error: f64| {
            Judgement::of(&conf, &counts, &[(0.0885, error / 4.0), (0.3197, error), (0.5918, error)]).unwrap()
        };
        let judged = of(0.03);
        assert!(
            judged.passes && judged.reasons == ["of 660 messages, chance moves shares by up to 6.00 points"],
            "{judged:?}"
        );
        assert!(!of(0.01).passes);
    }

    #[test]
    fn of__nothing_without_bytes() {
        let conf = Conf::from_words(&judged_conf()).unwrap();
        assert_eq!(Judgement::of(&conf, &Counts::default(), &[(1.0, 0.0), (0.0, 0.0)]), None);
    }

    fn judged_conf() -> [u64; 16] {
        Conf { thresholds: vec![9], dscps: vec![35, 27], end: MessageEnd::Turn, percent: 100, dry: false, middle: true }
            .words()
    }
}
