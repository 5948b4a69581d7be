//! How a run is cut for its threads.

use flowsieve_core::Time;
use flowsieve_experiment::engine::Threads;
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::{Partitioning, Rounds, WORTH_A_MEETING};
use flowsieve_workload::{Flow, Framing};

/// Packet-hops from which a run takes spare cores: a second or so of one.
const WORTH_THREADS: f64 = 1e7;
/// The least delay of hosts with which a round is worth its cost, where nobody asks for threads.
const WORTH_A_ROUND: Time = Time::from_us(1);
/// Hosts of a group: the state of more does not stay in a core's cache, and with 8,192 a run of eight groups takes half
/// the time of a whole one. A smaller group gains nothing.
const HOSTS_OF_GROUP: u32 = 1024;
/// The largest share of the packet-hops that the last flow may have for itself: no stage has two threads at work then,
/// and a hop takes a fifth longer than in a whole run.
const MOST_ALONE: f64 = 0.5;

/// What is known of a run beforehand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// Packet-hops, about.
    pub(super) packet_hops: f64,
    /// The simulated time that it takes at least.
    pub(super) span_ps: f64,
    /// The share of the packet-hops that the last flow makes when all others have ended.
    pub(super) alone: f64,
}

impl Course {
    /// Follows flows that each get the whole rate of their sender's link, and whose packets cross `links` links.
    pub(super) fn of(flows: impl Iterator<Item = Flow>, fabric: &Fabric, framing: &Framing, links: f64) -> Course {
        let (mut packets, mut ends, mut last) = (0.0, [0.0; 2], (0.0, 1.0));
        let payload = u64::from(framing.payload_bytes.get());
        for Flow { start_ps, bytes, src, .. } in flows {
            let rate = fabric.host_uplink.get(src as usize).map_or(1, |&link| fabric.links[link as usize].rate.bps());
            let (of_flow, takes) = (bytes.div_ceil(payload) as f64, 8e12 * bytes as f64 / rate as f64);
            packets += of_flow;
            let end = start_ps as f64 + takes;
            if end > ends[0] {
                (ends, last) = ([end, ends[0]], (of_flow, takes));
            } else {
                ends[1] = end.max(ends[1]);
            }
        }
        let (of_last, takes) = last;
        let alone = of_last * ((ends[0] - ends[1]) / takes).min(1.0) / packets.max(1.0);
        let acks = match framing.data_packets_per_ack {
            0 => 0.0,
            each => 1.0 / f64::from(each),
        };
        Course { packet_hops: packets * (1.0 + acks) * links, span_ps: ends[0], alone }
    }

    /// Returns whether threads gain by this course: otherwise they would wait for each other longer than they work.
    pub(super) fn is_worth(&self, threads: usize, rounds: Rounds) -> bool {
        let of_round = self.packet_hops * (1.0 - self.alone) * rounds.length.0 as f64 / self.span_ps.max(1.0);
        let saved = of_round * (1.0 - 1.0 / threads as f64) / rounds.stages as f64;
        saved >= WORTH_A_MEETING as f64 && self.alone <= MOST_ALONE
    }
}

/// Cuts a run of about this many packet-hops into stages for these threads, and a large fabric into several groups for
/// each. `gains` says whether a run gains by a number of threads.
pub(super) fn for_threads(
    threads: Threads,
    fabric: &Fabric,
    packet_hops: f64,
    gains: impl FnOnce(usize) -> bool,
) -> Partitioning {
    let delays = fabric.host_uplink.iter().map(|&link| fabric.links[link as usize].delay);
    let has_long_rounds = delays.min() >= Some(WORTH_A_ROUND);
    let threads = match threads {
        Threads::Spare(_) if !has_long_rounds || packet_hops < WORTH_THREADS => 1,
        Threads::Asked(threads) | Threads::Spare(threads) => threads,
    };
    let threads = if threads > 1 && gains(threads) { u32::try_from(threads).unwrap_or(1) } else { 1 };
    let groups = if has_long_rounds { fabric.hosts / HOSTS_OF_GROUP } else { 1 }.max(threads);
    if groups > 1 { Partitioning::Stages { groups, threads, worth: WORTH_A_MEETING } } else { Partitioning::Whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_settings::Settings;
    use flowsieve_sim::topology::FABRIC_SETTINGS;
    use std::num::NonZeroU32;

    fn fabric(leaves: i64, host_delay: &str) -> Fabric {
        let settings = Settings::of([&[flowsieve_settings::SETTINGS], FABRIC_SETTINGS].concat().concat());
        let settings = settings.with(None, "kind", "leaf-spine").with(None, "leaves", leaves);
        Fabric::from_settings(&settings.with(None, "hosts_per_leaf", 64).with(None, "host_delay", host_delay)).unwrap()
    }

    #[test]
    fn for_threads__large_fabrics_and_spare_cores() {
        let stages = |groups, threads| Partitioning::Stages { groups, threads, worth: WORTH_A_MEETING };
        let of = |threads, fabric, hops| for_threads(threads, fabric, hops, |_| true);
        let (small, large) = (fabric(4, "20us"), fabric(32, "20us"));
        assert_eq!(of(Threads::Asked(1), &small, 1e9), Partitioning::Whole);
        assert_eq!(of(Threads::Asked(2), &small, 1e3), stages(2, 2));
        assert_eq!(of(Threads::Spare(2), &small, 1e8), stages(2, 2));
        assert_eq!(of(Threads::Spare(2), &small, 1e6), Partitioning::Whole, "it is over in a moment");
        assert_eq!(of(Threads::Asked(1), &large, 1e6), stages(2, 1), "2,048 hosts");
        // Rounds would be as short as the links' delays.
        let hasty = fabric(32, "0ns");
        assert_eq!(of(Threads::Spare(2), &hasty, 1e8), Partitioning::Whole);
        assert_eq!(of(Threads::Asked(2), &hasty, 1e8), stages(2, 2), "as asked");
        // Where a run gains nothing by them.
        assert_eq!(for_threads(Threads::Asked(2), &small, 1e8, |_| false), Partitioning::Whole);
        assert_eq!(for_threads(Threads::Spare(2), &large, 1e8, |_| false), stages(2, 1));
    }

    /// A millisecond has 25 rounds of 40 us with four stages, so 100 meetings: together they must save 12,800
    /// packet-hops, which is what the other of two threads makes of 25,600.
    #[test]
    fn is_worth__where_a_meeting_saves_enough() {
        let rounds = Rounds { stages: 4, length: Time::from_us(40) };
        let course = |packet_hops| Course { packet_hops, span_ps: 1e9, alone: 0.0 };
        let worth = |threads, course: Course| course.is_worth(threads, rounds);
        assert_eq!([25_000.0, 26_000.0].map(|hops| worth(2, course(hops))), [false, true]);
        assert_eq!(
            [17_000.0, 18_000.0].map(|hops| worth(4, course(hops))),
            [false, true],
            "three of four threads save"
        );
        // Where the last flow is alone for most of the packet-hops, one stage at a time has work.
        assert_eq!([0.4, 0.6].map(|alone| worth(2, Course { alone, ..course(1e6) })), [true, false]);
    }

    /// Two flows of 1,000 and 9,000 packets begin at once at 10 Gbit/s: the larger one is alone for 8,000 of them.
    #[test]
    fn course__of_two_flows() {
        let payload: u64 = 1_460;
        let framing = Framing {
            payload_bytes: NonZeroU32::new(payload as u32).expect("a payload"),
            header_bytes: 40,
            overhead_bytes: 24,
            ack_bytes: 40,
            data_packets_per_ack: 1,
            ungranted_packets: 0,
        };
        let flow = |id, packets| Flow {
            id,
            start_ps: 0,
            src: id,
            dst: 9,
            bytes: packets * payload,
            class: 0,
            deadline_ps: None,
            coflow: None,
        };
        let course = Course::of([flow(0, 9_000), flow(1, 1_000)].into_iter(), &fabric(4, "20us"), &framing, 4.0);
        assert_eq!((course.packet_hops, course.span_ps), (80_000.0, 9_000.0 * payload as f64 * 800.0));
        assert!((course.alone - 0.8).abs() < 1e-9, "{course:?}");
    }
}
