use super::*;
use crate::Rounding;
use proptest::prelude::*;

fn collectives(exchange: Exchange, hosts: &[u32], size: u32, repeats: u32, gap_ps: u64) -> Collectives {
    let sizes = SizeDistribution::uniform(1, 1_000_000, Rounding::Bytes).unwrap();
    Collectives::new(exchange, (hosts.into(), size), (repeats, gap_ps), sizes, 7).unwrap()
}

/// The messages with their starts and ends, if each takes `time_ps(id)` and a host has one set of what it knows.
fn run(collectives: &Collectives, time_ps: impl Fn(u32) -> u64) -> BTreeMap<u32, (u64, u64)> {
    let mut ends: Vec<(u64, u32)> = collectives.first().into_iter().map(|id| (time_ps(id), id)).collect();
    let mut all: BTreeMap<u32, (u64, u64)> = ends.iter().map(|(end, id)| (*id, (0, *end))).collect();
    let mut known: BTreeMap<u32, Underway> = BTreeMap::new();
    while let Some(next) = ends.iter().copied().min() {
        ends.retain(|end| *end != next);
        let (now_ps, id) = next;
        let at = collectives.message(id, 0).dst;
        for (id, start_ps) in collectives.after(id, now_ps, known.entry(at).or_default()) {
            assert!(start_ps >= now_ps && collectives.message(id, 0).src == at);
            let end = start_ps + time_ps(id);
            assert_eq!(all.insert(id, (start_ps, end)), None, "{id} begins twice");
            ends.push((end, id));
        }
    }
    assert!(known.values().all(|underway| underway.parts.is_empty()), "all is finished: {known:?}");
    all
}

/// The end of the last message of each collective.
fn cct(collectives: &Collectives, all: &BTreeMap<u32, (u64, u64)>) -> Vec<u64> {
    let of = |coflow| all.iter().filter(move |(id, _)| collectives.message(**id, 0).coflow == Some(coflow));
    (0..collectives.collectives()).map(|coflow| of(coflow).map(|(_, (_, end))| *end).max().unwrap()).collect()
}

#[test]
fn ring__three_hosts_step_by_step() {
    let ring = collectives(Exchange::Ring, &[5, 0, 9], 3, 2, 100);
    assert_eq!((ring.messages(), ring.collectives(), ring.first()), (24, 2, vec![0, 1, 2]));
    let ends = |id| {
        let flow = ring.message(id, 3);
        (flow.src, flow.dst, flow.coflow)
    };
    assert_eq!([0, 1, 2].map(ends), [(5, 0, Some(0)), (0, 9, Some(0)), (9, 5, Some(0))]);
    assert_eq!([3, 11, 12].map(ends), [(5, 0, Some(0)), (9, 5, Some(0)), (5, 0, Some(1))]);
    // Each takes ten: four steps, a gap, and four steps.
    let all = run(&ring, |_| 10);
    let starts: Vec<u64> = all.values().map(|(start, _)| *start).collect();
    let steps = [0, 10, 20, 30, 140, 150, 160, 170].map(|at| [at; 3]);
    assert_eq!(starts, steps.concat());
}

#[test]
fn groups__each_is_a_class_if_that_is_said() {
    let two = collectives(Exchange::AllToAllV, &[0, 1, 2, 3], 2, 2, 0);
    let classes = |two: &Collectives| {
        (0..two.messages()).map(|id| two.message(id, 0)).map(|flow| (flow.src / 2, flow.class)).collect::<Vec<_>>()
    };
    assert!(classes(&two).iter().all(|(_, class)| *class == 0));
    assert!(classes(&two.with_classes()).iter().all(|(group, class)| *group == u32::from(*class)));
}

#[test]
fn ring__a_vector_in_chunks_each_as_often() {
    let ring = collectives(Exchange::Ring, &[0, 1, 2, 3, 4], 5, 1, 0);
    let vector: u64 = (0..5).map(|id| ring.message(id, 0).bytes).sum();
    for step in 0..8 {
        let sent: Vec<u64> = (0..5).map(|member| ring.message(step * 5 + member, 0).bytes).collect();
        assert_eq!(sent.iter().sum::<u64>(), vector);
        assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 1, "{sent:?}");
        // What a host has received it passes on.
        let next = |member: u32| ring.message((step + 1) % 8 * 5 + (member + 1) % 5, 0).bytes;
        assert!(step == 7 || (0..5).all(|member| next(member) == sent[member as usize]));
    }
    assert_eq!(ring.bytes_of_host(), 1.6);
}

#[test]
fn tree__up_when_all_have_come_and_down() {
    //       0
    //    1     2
    //   3 4   5
    let tree = collectives(Exchange::Tree, &[0, 1, 2, 3, 4, 5], 6, 2, 7);
    let ends = |id| (tree.message(id, 0).src, tree.message(id, 0).dst);
    assert_eq!((0..5).map(ends).collect::<Vec<_>>(), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)]);
    assert_eq!((5..10).map(ends).collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]);
    assert_eq!(tree.first(), [2, 3, 4]);
    // Host 4 is slow: host 1 waits for it, and host 0 for host 1.
    let all = run(&tree, |id| if id == 3 { 50 } else { 10 });
    let starts = |ids: std::ops::Range<u32>| ids.map(|id| all[&id].0).collect::<Vec<_>>();
    assert_eq!(starts(0..10), [50, 10, 0, 0, 0, 60, 60, 70, 70, 70]);
    // The leaves have all of it at 80, and go on at 87.
    assert_eq!(starts(12..15), [87, 87, 87]);
    let sizes: Vec<u64> = (0..10).map(|id| tree.message(id, 0).bytes).collect();
    assert!(sizes.iter().all(|bytes| *bytes == sizes[0]), "the whole vector on each edge: {sizes:?}");
}

#[test]
fn all_to_all__each_to_each_other_with_a_size_of_its_own() {
    let all = collectives(Exchange::AllToAllV, &[3, 1, 2, 0], 2, 3, 5);
    assert_eq!((all.groups(), all.collectives(), all.messages()), (2, 6, 12));
    let mut pairs = all.pairs();
    pairs.sort_unstable();
    assert_eq!(pairs, [(0, 2), (1, 3), (2, 0), (3, 1)]);
    let sizes: Vec<u64> = (0..12).map(|id| all.message(id, 0).bytes).collect();
    assert!((1..12).all(|id| sizes[..id].iter().all(|bytes| *bytes != sizes[id])), "{sizes:?}");
    // Host 0's messages are slow: it begins the second collective at 6, while host 1 waits for the first. Host 1 computes
    // until 105, and what came at 106 is all of the second.
    let slow = collectives(Exchange::AllToAllV, &[0, 1], 2, 3, 5);
    let times = run(&slow, |id| if slow.message(id, 0).src == 0 { 100 } else { 1 });
    let starts: Vec<u64> = times.values().map(|(start, _)| *start).collect();
    assert_eq!(starts, [0, 0, 6, 105, 111, 111]);
}

#[test]
fn new__refuses_what_is_no_collective() {
    let of = |hosts: u32, size, repeats| {
        let sizes = SizeDistribution::uniform(1, 9, Rounding::Bytes).unwrap();
        let hosts: Arc<[u32]> = (0..hosts).collect();
        Collectives::new(Exchange::Ring, (hosts, size), (repeats, 0), sizes, 1).map(|_| ()).unwrap_err()
    };
    assert_eq!(of(4, 1, 1), CollectiveError::OneHost);
    assert_eq!(of(4, 0, 1), CollectiveError::OneHost);
    assert_eq!(of(5, 2, 1), CollectiveError::Rest { hosts: 5, size: 2 });
    assert_eq!(of(0, 2, 1), CollectiveError::Rest { hosts: 0, size: 2 });
    assert_eq!(of(4, 2, 0), CollectiveError::None);
    assert_eq!(of(60_000, 60_000, 1), CollectiveError::Many(2 * 59_999 * 60_000));
}

proptest! {
    #[test]
    fn collectives__all_messages_begin_once_whatever_they_take(
        kind in 0usize..3, size in 2u32..7, groups in 1u32..3, repeats in 1u32..4, gap_ps in 0u64..40, salt: u64,
    ) {
        let exchange = [Exchange::Ring, Exchange::Tree, Exchange::AllToAllV][kind];
        let hosts: Vec<u32> = (0..size * groups).rev().collect();
        let of = collectives(exchange, &hosts, size, repeats, gap_ps);
        let all = run(&of, |id| (u64::from(id) ^ salt) % 97);
        prop_assert_eq!(all.len() as u32, of.messages());
        for (id, flow) in (0..of.messages()).map(|id| (id, of.message(id, 0))) {
            prop_assert!(flow.src != flow.dst && flow.bytes >= 1 && flow.id == id);
            let group = |host: u32| hosts.iter().position(|of| *of == host).unwrap() as u32 / size;
            prop_assert_eq!(group(flow.src), group(flow.dst));
        }
        // A group's collectives end one after the other, but for an exchange that some have all of before others.
        let ends = cct(&of, &all);
        let in_turn = ends.iter().zip(ends.iter().skip(groups as usize)).all(|(first, next)| first <= next);
        prop_assert!(in_turn, "{ends:?}");
    }
}
