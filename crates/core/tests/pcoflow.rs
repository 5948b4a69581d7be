//! pCoflow's queue: the paper's example, its rule as bands and as ranks, and what it keeps in order for any traffic.

use std::collections::BTreeMap;

use crate::common::{Bench, data};
use flowsieve_core::admission::Admission;
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_core::meta::Ecn;
use flowsieve_core::pcoflow::{Keeps, Marks, PcoflowPort, PcoflowRules};
use flowsieve_core::pcoflow_sp_pifo::PcoflowSpPifoRules;
use flowsieve_core::readings::Reading;
use flowsieve_core::scheduler::{Line, PortRules, PortSite};
use flowsieve_core::{Kind, Meta, NONE, PortScheduler, Rate, Scheduler, Time};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const RULES: PcoflowRules =
    PcoflowRules { bands: 8, keeps: Keeps::Coflows, slots: None, marks: Marks::Tagged, moves: false };

fn site(admission: Admission, marker: Marker) -> PortSite {
    let rate = Rate::new(10_000_000_000).expect("a rate");
    let line = Line { byte_time: rate.byte_time(), overhead: 0 };
    PortSite { line, header: 40, admission, marker }
}

fn port(rules: PcoflowRules, admission: Admission, marker: Marker) -> Bench {
    Bench::new(Scheduler::Pcoflow(Box::new(PcoflowPort::new(&rules, &site(admission, marker)))))
}

fn unlimited(rules: PcoflowRules) -> Bench {
    port(rules, Admission::Unlimited, Marker::Off)
}

/// Marks what comes when more than two full packets, with it, are there.
fn above_two() -> Marker {
    Marker::Threshold { above: 2 * 1_500, scope: MarkScope::Queue, counts_arriving: true }
}

/// A full packet of a coflow, with a priority.
fn of(coflow: u32, priority: u8) -> Meta {
    Meta { coflow, ..data(coflow, priority, 0, 1_500) }
}

fn count(port: &Bench, wanted: &str) -> u64 {
    let mut found = None;
    port.port.observe(&mut |reading| match reading {
        Reading::Count { name, count } if name == wanted => found = Some(count),
        _ => {}
    });
    found.expect("a count of this name")
}

#[test]
fn example__of_the_paper() {
    // Fig. 5, with bands and thresholds counted from 1 there: bands end at 2 and 5, three packets of coflow 2 wait in band 2, and one
    // of it comes tagged for band 1. Its rank is max(2, 5) + 1 = 6: it leaves sixth, as the fourth of coflow 2 in band 2. Band 1
    // holds two, and the threshold is two: it is marked, though band 2 holds three.
    // Packets tagged for band 1 are those of band 1 and this one, so that a count of the tag marks it, too.
    for marks in [Marks::Tagged, Marks::Joined, Marks::WithTag] {
        let mut port = port(PcoflowRules { marks, ..RULES }, Admission::Unlimited, above_two());
        for (coflow, priority) in [(1, 0), (1, 0), (2, 1), (2, 1)] {
            port.send(of(coflow, priority));
        }
        port.metas[3].ecn = Ecn::Capable;
        port.send(Meta { ecn: Ecn::NotCapable, ..of(2, 1) });
        port.send(Meta { ecn: Ecn::Capable, ..of(2, 0) });
        let found = [0, 3, 5].map(|packet| port.metas[packet].ecn == Ecn::Marked);
        assert_eq!(found, [false, false, true], "{marks:?}");
        assert_eq!(port.metas[5].queue, 1);
        assert_eq!(port.drain(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(count(&port, "joined_below_tag"), 1);
    }
}

/// A port with pCoflow's ranks in SP-PIFO's queues.
fn ranked() -> Bench {
    let rules = PcoflowSpPifoRules { bands: 8 };
    Bench::new(Scheduler::PcoflowSpPifo(Box::new(rules.build(&site(Admission::Unlimited, Marker::Off)))))
}

/// Hands over a packet; the rank that it gets.
fn send_ranked(port: &mut Bench, meta: Meta) -> u32 {
    let Scheduler::PcoflowSpPifo(ranks) = &port.port else { unreachable!("such a port") };
    let rank = ranks.rank(&meta);
    assert!(port.send(meta));
    rank
}

#[test]
fn sp_pifo__ranks_are_places_in_one_queue() {
    // The paper's example, with one packet more: four of coflow 2 wait in band 1 behind two of coflow 1 when one comes for band 0.
    let mut port = ranked();
    let six = [(1, 0), (1, 0), (2, 1), (2, 1), (2, 1), (2, 0)];
    assert_eq!(six.map(|(coflow, priority)| send_ranked(&mut port, of(coflow, priority))), [1, 2, 3, 4, 5, 6]);
    // Places move up as packets leave: after four departures the next packet of coflow 3 has the first place of all.
    (0..4).for_each(|_| assert!(port.recv().is_some()));
    let two = [of(3, 0), of(2, 0)].map(|meta| send_ranked(&mut port, meta));
    assert_eq!(two, [1, 4], "behind two of coflow 2 and that one");
}

#[test]
fn sp_pifo__packets_of_a_coflow_overtake_each_other() {
    // Coflow 1 fills its band, and most of it leaves; what comes then has a place before what still waits.
    let mut port = ranked();
    (0..8).for_each(|_| assert!(port.send(of(1, 0))));
    let mut order: Vec<u32> = (0..6).filter_map(|_| port.recv()).collect();
    port.send(of(1, 0));
    order.extend(port.drain());
    assert!(!order.is_sorted(), "{order:?}");
}

#[test]
fn marks__by_the_band_of_the_tag__by_the_one_that_is_joined__or_by_all_with_the_tag() {
    // Coflow 2 waits in band 1 when it rises to band 0, so that all that comes joins band 1. With a threshold of two packets the
    // band that is joined marks from its third packet on, and the third and fourth with tag 0 are marked by their count. Band 0
    // stays empty: it marks none.
    let marked = |marks| {
        let mut port = port(PcoflowRules { marks, ..RULES }, Admission::Unlimited, above_two());
        for priority in [1, 0, 0, 0, 0] {
            port.send(of(2, priority));
        }
        assert!(port.metas.iter().all(|meta| meta.queue == 1));
        port.metas.iter().map(|meta| meta.ecn == Ecn::Marked).collect::<Vec<_>>()
    };
    assert_eq!(marked(Marks::Tagged), [false, false, false, false, false]);
    assert_eq!(marked(Marks::Joined), [false, false, true, true, true]);
    assert_eq!(marked(Marks::WithTag), [false, false, false, true, true]);
}

#[test]
fn marks__by_all_with_the_tag__of_those_that_still_wait() {
    // Three packets with tag 0 wait in band 1 and one is marked; two leave; the next with this tag is the second that waits.
    let mut port = port(PcoflowRules { marks: Marks::WithTag, ..RULES }, Admission::Unlimited, above_two());
    for priority in [1, 0, 0, 0] {
        port.send(of(2, priority));
    }
    assert_eq!([port.recv(), port.recv(), port.recv()], [Some(0), Some(1), Some(2)]);
    port.send(of(2, 0));
    port.send(of(2, 0));
    let marked: Vec<bool> = port.metas.iter().map(|meta| meta.ecn == Ecn::Marked).collect();
    assert_eq!(marked, [false, false, false, true, false, true]);
}

#[test]
fn starvation__one_packet_in_the_last_band_holds_back_its_coflow() {
    // A packet of coflow 1 waits in band 7 when the coflow rises to band 0. In addition 1,000 packets of a rival wait
    // in band 1. With plain queues the next packet of coflow 1 would leave first; here it is the last, 1,001 packet
    // times later.
    let mut port = unlimited(RULES);
    port.send(of(1, 7));
    for _ in 0..1_000 {
        port.send(of(2, 1));
    }
    port.send(of(1, 0));
    let mut order = Vec::new();
    while let Some(packet) = port.recv() {
        order.push(packet);
        port.now += Time::from_ns(1_200);
    }
    assert_eq!((order[0], &order[1_000..]), (1, &[0, 1_001][..]));
    assert_eq!((count(&port, "joined_below_tag"), count(&port, "joined_below_tag_wait_ns")), (1, 1_001 * 1_200));
}

#[test]
fn acks__are_nobodys_and_go_first() {
    let mut port = unlimited(RULES);
    port.send(of(1, 7));
    port.send(Meta { kind: Kind::Ack, coflow: NONE, ..data(1, 0, 0, 40) });
    port.send(Meta { coflow: NONE, ..data(5, 3, 0, 1_500) });
    port.send(Meta { coflow: NONE, ..data(5, 0, 0, 1_500) });
    port.send(of(5, 2));
    assert_eq!(port.drain(), [1, 4, 2, 3, 0], "coflow 5 and flow 5 are two");
}

#[test]
fn keeps__flows_apart() {
    let order = |keeps| {
        let mut port = unlimited(PcoflowRules { keeps, ..RULES });
        for (flow, priority) in [(10, 5), (11, 1), (10, 1)] {
            port.send(Meta { coflow: 3, ..data(flow, priority, 0, 1_500) });
        }
        port.drain()
    };
    assert_eq!(order(Keeps::Coflows), [0, 1, 2]);
    assert_eq!(order(Keeps::Flows), [1, 0, 2]);
}

#[test]
fn moves__what_waits_follows_its_coflow() {
    let mut port = unlimited(PcoflowRules { moves: true, ..RULES });
    for (coflow, priority) in [(1, 5), (2, 3), (1, 6), (1, 5), (2, 2), (1, 2)] {
        port.send(of(coflow, priority));
    }
    // Coflow 1 rises to band 2, behind the packets of coflow 2 there: with all that waits of it.
    assert_eq!(port.drain(), [1, 4, 0, 2, 3, 5]);
    assert_eq!(count(&port, "joined_below_tag"), 0);
}

#[test]
fn slots__whose_bytes_are_stated() {
    use flowsieve_core::scheduler::PortRules;
    assert_eq!([None, Some(100)].map(|slots| PcoflowRules { slots, ..RULES }.sketch_bytes()), [0, 100 * 8 * 4]);
    // With one slot all coflows are one.
    let mut port = unlimited(PcoflowRules { slots: Some(1), ..RULES });
    for (coflow, priority) in [(1, 5), (2, 0), (3, 0)] {
        port.send(of(coflow, priority));
    }
    assert_eq!(port.drain(), [0, 1, 2]);
}

/// The paper's queue as an array: where a packet is inserted is its rank.
#[derive(Default)]
struct Array {
    /// (packet, band), the first to leave first.
    packets: Vec<(u32, u8)>,
    coflows: BTreeMap<u32, Vec<u8>>,
}

impl Array {
    /// How many packets there are up to the end of a band.
    fn end(&self, band: u8) -> usize {
        self.packets.iter().filter(|&&(_, of)| of <= band).count()
    }

    fn insert(&mut self, packet: u32, coflow: u32, tag: u8) {
        let bands = self.coflows.entry(coflow).or_default();
        let lowest = bands.iter().max().copied().unwrap_or(tag);
        bands.push(tag.max(lowest));
        let rank = self.end(tag).max(self.end(lowest)) + 1;
        self.packets.insert(rank - 1, (packet, tag.max(lowest)));
    }

    fn leave(&mut self, coflow_of: impl Fn(u32) -> u32) -> Option<u32> {
        let (packet, band) = (!self.packets.is_empty()).then(|| self.packets.remove(0))?;
        let bands = self.coflows.get_mut(&coflow_of(packet))?;
        bands.iter().position(|&of| of == band).map(|at| bands.swap_remove(at));
        Some(packet)
    }
}

/// What happens at a port: a packet of a coflow with a tag comes, or one leaves.
fn steps() -> impl Strategy<Value = Vec<Option<(u32, u8)>>> {
    prop::collection::vec(prop_oneof![3 => (0u32..6, 0u8..8).prop_map(Some), 2 => Just(None)], 0..400)
}

proptest! {
    /// The count of a tag is that of the packets that wait with it, for any tags, drops, moves and packets without payload.
    #[test]
    fn marks__by_all_with_the_tag__equal_a_count_anew(
        steps in steps(), moves: bool,
        admission in prop_oneof![Just(Admission::Unlimited), Just(Admission::PerPort { limit: 9_000 })]
    ) {
        let rules = PcoflowRules { marks: Marks::WithTag, moves, ..RULES };
        let mut port = port(rules, admission, above_two());
        let mut waiting: Vec<u32> = Vec::new();
        for step in steps {
            let Some((coflow, tag)) = step else {
                let left = port.recv();
                waiting.retain(|&packet| Some(packet) != left);
                continue;
            };
            let new = if coflow == 5 { Meta { kind: Kind::Ack, coflow: NONE, ..data(1, tag, 0, 40) } } else { of(coflow, tag) };
            let bytes = u32::from(new.len) + waiting.iter().map(|&packet| &port.metas[packet as usize])
                .filter(|meta| meta.tag.priority() == tag).map(|meta| u32::from(meta.len)).sum::<u32>();
            if port.send(Meta { ecn: Ecn::Capable, ..new }) {
                let number = port.metas.len() as u32 - 1;
                prop_assert_eq!(port.metas[number as usize].ecn == Ecn::Marked, bytes > 3_000);
                waiting.push(number);
            }
        }
    }

    #[test]
    fn bands__leave_as_the_array_does(steps in steps()) {
        let (mut port, mut array) = (unlimited(RULES), Array::default());
        for step in steps.into_iter().chain(std::iter::repeat_n(None, 400)) {
            match step {
                Some((coflow, tag)) => {
                    port.send(of(coflow, tag));
                    array.insert(port.metas.len() as u32 - 1, coflow, tag);
                }
                None => prop_assert_eq!(port.recv(), array.leave(|packet| port.metas[packet as usize].coflow)),
            }
        }
    }

    /// For any tags, drops, and coflows that share a slot.
    #[test]
    fn coflows__are_never_out_of_order(
        steps in steps(), slots in prop::option::of(1usize..5), moves: bool,
        admission in prop_oneof![
            Just(Admission::Unlimited), Just(Admission::PerPort { limit: 30_000 }), Just(Admission::PerQueue { limit: 6_000 })
        ]
    ) {
        let rules = PcoflowRules { slots, moves: moves && slots.is_none(), ..RULES };
        let mut port = port(rules, admission, Marker::Off);
        let mut waiting: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for step in steps.into_iter().chain(std::iter::repeat_n(None, 400)) {
            match step {
                Some((coflow, tag)) => {
                    if port.send(of(coflow, tag)) {
                        waiting.entry(coflow).or_default().push(port.metas.len() as u32 - 1);
                    }
                }
                None => {
                    let Some(packet) = port.recv() else { continue };
                    let waits = waiting.entry(port.metas[packet as usize].coflow).or_default();
                    prop_assert_eq!(waits.first(), Some(&packet));
                    waits.remove(0);
                }
            }
        }
        prop_assert!(waiting.values().all(Vec::is_empty), "nothing stays");
        prop_assert_eq!(port.port.backlog_bytes(), 0);
    }
}

/// Equation 1 as the rank of a push-in first-out queue, which a packet keeps: 100,000 packets of 16 coflows whose tags change now
/// and then. Says how many leave before an earlier one of their coflow, and how many while a higher band waits.
fn as_static_rank(bounds_fall: bool) -> (usize, usize, usize) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut below = |n: u64| random.next_u64() % n;
    let mut tags = [0u8; 16];
    // (rank, number, coflow, band)
    let mut queue: Vec<(i64, usize, usize, u8)> = Vec::new();
    let mut ends = [0i64; 8];
    let (mut overtakes, mut passes, mut departures) = (0, 0, 0);
    for number in 0..100_000 {
        let coflow = below(16) as usize;
        if below(20) == 0 {
            tags[coflow] = below(8) as u8;
        }
        let tag = tags[coflow];
        let lowest = queue.iter().filter(|waits| waits.2 == coflow).map(|waits| waits.3).max();
        let band = tag.max(lowest.unwrap_or(tag));
        let rank = ends[usize::from(tag)].max(ends[usize::from(band)]) + 1;
        ends[usize::from(band)..].iter_mut().for_each(|end| *end += 1);
        let at = queue.partition_point(|waits| waits.0 <= rank);
        queue.insert(at, (rank, number, coflow, band));
        // About 40 packets wait.
        while below(40) < queue.len() as u64 / 2 {
            let (_, number, coflow, band) = queue.remove(0);
            departures += 1;
            overtakes += usize::from(queue.iter().any(|waits| waits.2 == coflow && waits.1 < number));
            passes += usize::from(queue.iter().any(|waits| waits.3 < band));
            if bounds_fall {
                ends[usize::from(band)..].iter_mut().for_each(|end| *end -= 1);
            }
        }
    }
    (departures, overtakes, passes)
}

#[test]
fn static_ranks__with_bounds_that_fall_put_coflows_out_of_order() {
    let (departures, overtakes, _) = as_static_rank(true);
    assert!(overtakes * 50 > departures, "{overtakes} of {departures}");
}

#[test]
fn static_ranks__with_bounds_that_stay_pass_over_higher_bands() {
    let (departures, overtakes, passes) = as_static_rank(false);
    assert_eq!(overtakes, 0);
    assert!(passes > 100, "{passes} of {departures}");
}
