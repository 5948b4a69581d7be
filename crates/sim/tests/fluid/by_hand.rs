//! Disciplines by hand. Times in us.

use flowsieve_core::coflow::{LevelRule, OrderRule};
use flowsieve_core::units::Time;
use flowsieve_sim::fluid::{Crossing, Discipline, Flow, Network, Order, Outcome, Path, Spec, run};
use std::ops::ControlFlow;

/// A switch with hosts at 10 Gbit/s, where a MB takes 0.8 ms; paths from each host to each, `from * hosts + to`.
fn switch(hosts: u32) -> Network {
    let whole = |link| Crossing { link, share: 1.0 };
    let path = |from, to| Path { from, to, links: vec![whole(from), whole(hosts + to)] };
    Network {
        rates: vec![1e10; 2 * hosts as usize],
        up: (0..hosts).collect(),
        down: (hosts..2 * hosts).collect(),
        paths: (0..hosts).flat_map(|from| (0..hosts).map(move |to| path(from, to))).collect(),
    }
}

/// A flow of this many KB, without headers.
fn flow(start_us: u64, path: u32, kilobytes: u64, coflow: u32) -> Flow {
    let bytes = kilobytes * 1_000;
    Flow { start: Time::from_us(start_us), payload: bytes, wire: bytes, path, coflow }
}

/// What comes of flows.
fn outcome(network: &Network, flows: &[Flow], discipline: &Discipline) -> Outcome {
    run(&Spec { network, flows, discipline, until: Time::NEVER }, &mut |_| ControlFlow::Continue(()))
}

/// When each flow ends, in us.
fn ends_us(network: &Network, flows: &[Flow], discipline: &Discipline) -> Vec<u64> {
    let us = |end: Option<Time>| {
        let end = end.expect("it ends").0;
        assert_eq!(end % 1_000_000, 0, "whole us");
        end / 1_000_000
    };
    outcome(network, flows, discipline).ends.into_iter().map(us).collect()
}

fn by(rule: OrderRule) -> Order {
    Order { rule, remaining: true, weights: Default::default() }
}

#[test]
fn max_min__one_link_is_processor_sharing() {
    // 0 to 800: alone, 1 of 2 MB done. 800 to 2400: two at half the rate, the second done. Then 0 alone: nothing is left.
    let network = switch(2);
    let flows = [flow(0, 1, 2_000, 0), flow(800, 1, 1_000, 1), flow(4_000, 1, 1_000, 2)];
    assert_eq!(ends_us(&network, &flows, &Discipline::MaxMin), [2_400, 2_400, 4_800]);
    // Three together: 1 MB each by 2400; two of them another MB by 4000; one a third by 4800.
    let flows = [flow(0, 1, 3_000, 0), flow(0, 1, 1_000, 1), flow(0, 1, 2_000, 2)];
    assert_eq!(ends_us(&network, &flows, &Discipline::MaxMin), [4_800, 2_400, 4_000]);
}

#[test]
fn max_min__what_a_bottleneck_leaves_goes_to_others() {
    // Hosts 0, 1 and 2 send to 3, a third each; host 2 sends to 4, too, and has two thirds for that.
    let network = switch(5);
    let to = |from: u32, to: u32| from * 5 + to;
    let flows = [
        flow(0, to(0, 3), 1_000, 0),
        flow(0, to(1, 3), 1_000, 1),
        flow(0, to(2, 3), 1_000, 2),
        flow(0, to(2, 4), 2_000, 3),
    ];
    assert_eq!(ends_us(&network, &flows, &Discipline::MaxMin), [2_400, 2_400, 2_400, 2_400]);
}

#[test]
fn max_min__a_flow_on_two_ways_takes_half_of_each() {
    // Two hosts with 10 Gbit/s, and two ways of 2.5 Gbit/s between them: 5 Gbit/s in all.
    let links = [(0, 1.0), (1, 0.5), (2, 0.5), (3, 1.0)].map(|(link, share)| Crossing { link, share });
    let network = Network {
        rates: vec![1e10, 2.5e9, 2.5e9, 1e10],
        up: vec![0, 3],
        down: vec![3, 3],
        paths: vec![Path { from: 0, to: 1, links: links.to_vec() }],
    };
    assert_eq!(ends_us(&network, &[flow(0, 0, 1_000, 0)], &Discipline::MaxMin), [1_600]);
    assert_eq!(network.alone(0, 1_000_000), Time::from_us(1_600));
    let greedy = Discipline::Greedy(by(OrderRule::Fifo));
    let two = [flow(0, 0, 1_000, 0), flow(0, 0, 1_000, 1)];
    assert_eq!(ends_us(&network, &two, &greedy), [1_600, 3_200]);
}

#[test]
fn strict__a_class_has_what_higher_ones_leave() {
    // Coflow 1 is the shorter: host 0 first sends its flow, while 1 sends to 3 all the same; host 0's larger flow follows.
    let network = switch(4);
    let flows = [flow(0, 3, 2_000, 0), flow(0, 7, 2_000, 0), flow(0, 2, 1_000, 1)];
    let strict = |levels| Discipline::Strict { order: by(OrderRule::Tcf), rule: LevelRule::Rank, levels };
    // Until 800 host 1 has the link to 3, and sends half of its flow. Then both have half of it: 1 is done at 2400, when 0
    // has a MB to go, alone.
    assert_eq!(ends_us(&network, &flows, &strict(8)), [3_200, 2_400, 800]);
    // In one class the three share: 0 halves its link, 3 has a half from each; 1 MB by 1600; then two halves as before.
    assert_eq!(ends_us(&network, &flows, &strict(1)), [3_200, 3_200, 1_600]);
}

#[test]
fn greedy__flow_by_flow_in_the_order_of_coflows() {
    // Coflow 1 is shorter and comes first: 0 to 2 at the full rate. Of coflow 0 the flow from 0 waits, that from 1 has 3.
    let network = switch(4);
    let flows = [flow(0, 3, 2_000, 0), flow(0, 7, 2_000, 0), flow(0, 2, 1_000, 1)];
    let greedy = Discipline::Greedy(by(OrderRule::Tcf));
    // At 800 sender 0 comes before sender 1, and takes the link to 3: until 2400. What 1 had left is done 800 later.
    assert_eq!(ends_us(&network, &flows, &greedy), [2_400, 3_200, 800]);
}

#[test]
fn greedy__a_flow_that_waits_takes_over_from_one_behind_it() {
    // By start: coflow 0 sends 0 to 1 until 800, coflow 1 waits for host 0, and coflow 2 sends 3 to 2 meanwhile. At 800
    // coflow 1 takes the link to 2, and coflow 2, with a MB to go, has it back at 1600.
    let network = switch(4);
    let flows = [flow(0, 1, 1_000, 0), flow(0, 2, 1_000, 1), flow(0, 14, 2_000, 2)];
    let greedy = Discipline::Greedy(by(OrderRule::Fifo));
    assert_eq!(ends_us(&network, &flows, &greedy), [800, 1_600, 2_400]);
}

#[test]
fn madd__flows_of_a_coflow_end_together() {
    // Host 0 has 3 MB to send and is the bottleneck: 2400. The flow of 1 MB from host 1 ends with them, at a third of its link.
    let network = switch(4);
    // So would it, if the coflow before it, which ends at 2400, too, did not leave its receiver nothing more.
    let flows = [flow(0, 2, 1_000, 0), flow(0, 3, 2_000, 0), flow(0, 6, 1_000, 0), flow(0, 14, 1_000, 1)];
    let madd = Discipline::Madd(by(OrderRule::Fifo));
    assert_eq!(ends_us(&network, &flows, &madd), [2_400, 2_400, 2_400, 2_400]);
}

#[test]
fn madd__what_is_left_goes_to_the_skipped_and_then_to_all() {
    // Coflow 0 (bottleneck 800) has host 0 to 2. Coflow 1 (1600, host 0) is skipped, and its flow from host 1 gets the whole
    // link: done at 400. Rates are not renewed then: coflow 1 goes on at 800, with 1 MB from host 0 to 3, until 1600.
    let network = switch(4);
    let flows = [flow(0, 2, 1_000, 0), flow(0, 3, 1_000, 1), flow(0, 7, 500, 1)];
    let madd = Discipline::Madd(by(OrderRule::Sebf));
    assert_eq!(ends_us(&network, &flows, &madd), [800, 1_600, 400]);
}

#[test]
fn madd__skipped_coflows_share_what_is_left() {
    // Coflow 0 takes host 0's link until 800, and a half of the links into 2 and 3. Coflow 1 is skipped, since it sends from
    // host 0, too. Its flows from host 1 to 2, 3 and 4 get a third of host 1's link each, 2/3 of their 0.5 MB until 800. In
    // turn, those to 2 and 3 would get a half each, and that to 4 nothing.
    let network = switch(6);
    let to = |from: u32, to: u32| from * 6 + to;
    let first = [2, 3].map(|host| flow(0, to(0, host), 500, 0));
    let second = [2, 3, 4].map(|host| flow(0, to(1, host), 500, 1));
    let flows = [&first[..], &second[..], &[flow(0, to(0, 5), 1_000, 1)]].concat();
    let madd = Discipline::Madd(by(OrderRule::Sebf));
    // At 800 coflow 1 gets what it needs to end in 800 more, with its MB from host 0: a sixth of host 1's link for each of three.
    // The other half goes to the first of them, which has a sixth of a MB to go: 200.
    assert_eq!(ends_us(&network, &flows, &madd), [800, 800, 1_000, 1_600, 1_600, 1_600]);
}

#[test]
fn madd__by_deadline_as_coflowsim_itself() {
    // CoflowSim itself, by FIFO, ends these coflows after 384, 480 and 480 ticks. A port sends 1/8 MB a tick, here in 100 us.
    // By start, coflow 0 would get the rest of the link into 1, and coflow 2 would end after 537.6 ticks.
    let network = switch(6);
    let coflow = |key: u32, flows: &[(u32, u32, u64)]| -> Vec<Flow> {
        flows.iter().map(|&(from, to, megabytes)| flow(0, from * 6 + to, megabytes * 1_000, key)).collect()
    };
    let flows = [
        coflow(0, &[(1, 1, 6), (2, 1, 6), (1, 4, 24), (2, 4, 24)]),
        coflow(1, &[(4, 3, 48), (4, 5, 12)]),
        coflow(2, &[(1, 1, 24), (5, 1, 24), (1, 2, 6), (5, 2, 6)]),
    ]
    .concat();
    let ends = |discipline| {
        let ends = outcome(&network, &flows, &discipline).ends;
        [0, 1, 2].map(|key| flows.iter().zip(&ends).filter(|(flow, _)| flow.coflow == key).map(|(_, end)| *end).max())
    };
    let us = |ends: [u64; 3]| ends.map(|end| Some(Some(Time::from_us(end))));
    assert_eq!(ends(Discipline::MaddByDeadline(by(OrderRule::Fifo))), us([38_400, 48_000, 48_000]));
    assert_eq!(ends(Discipline::Madd(by(OrderRule::Fifo))), us([38_400, 48_000, 53_760]));
}

#[test]
fn madd__a_deadline_counts_1000_of_the_1024_ticks_of_a_second() {
    // Either coflow alone keeps its bottleneck busy for 38.4 ms. Deadlines are 1.7323 and 1.6974 times as much after the start,
    // so coflow 1's is the first as long as it starts within 38.4 * 0.0349 * 1,000 / 1,024 = 1.31 ms; of whole seconds, 1.34 ms.
    let network = switch(6);
    let ends = |start_us: u64, discipline: Discipline| {
        let flows = [
            (0, 1, 1, 6),
            (0, 2, 1, 6),
            (0, 1, 4, 24),
            (0, 2, 4, 24),
            (1, 1, 1, 24),
            (1, 5, 1, 24),
            (1, 1, 2, 6),
            (1, 5, 2, 6),
        ];
        let flows = flows
            .map(|(key, from, to, megabytes)| flow(u64::from(key) * start_us, from * 6 + to, megabytes * 1_000, key));
        outcome(&network, &flows, &discipline).ends
    };
    let by_deadline = |start_us| ends(start_us, Discipline::MaddByDeadline(by(OrderRule::Fifo)));
    let by_start = |start_us| ends(start_us, Discipline::Madd(by(OrderRule::Fifo)));
    assert_ne!(by_deadline(1_305), by_start(1_305));
    assert_eq!(by_deadline(1_325), by_start(1_325));
}

#[test]
fn equal__what_a_flow_cannot_use_of_its_part_stays_idle() {
    // Hosts 0, 1 and 2 send to 3, a third each. Host 2 sends to 4, too: each of its two flows has a half of its link at most,
    // so the flow to 4 is done at 1600 with its MB, and not before, as it would be max-min fairly with two thirds.
    let network = switch(5);
    let to = |from: u32, to: u32| from * 5 + to;
    let flows = [
        flow(0, to(0, 3), 1_000, 0),
        flow(0, to(1, 3), 1_000, 1),
        flow(0, to(2, 3), 1_000, 2),
        flow(0, to(2, 4), 1_000, 3),
    ];
    assert_eq!(ends_us(&network, &flows, &Discipline::Equal), [2_400, 2_400, 2_400, 1_600]);
    assert_eq!(ends_us(&network, &flows, &Discipline::MaxMin), [2_400, 2_400, 2_400, 1_200]);
}

#[test]
fn equal__parts_grow_as_flows_end() {
    // A half each until 1600, when the MB is done; then the rest of 2 MB alone.
    let network = switch(3);
    let flows = [flow(0, 2, 2_000, 0), flow(0, 5, 1_000, 0)];
    assert_eq!(ends_us(&network, &flows, &Discipline::Equal), [2_400, 1_600]);
}

#[test]
fn smallest__one_flow_at_each_host() {
    // Receiver 2 takes its smallest, of sender 0, until 800, then that of sender 1. Receiver 3's only flow is of sender 0: it
    // waits until 800, although host 3's link is idle.
    let network = switch(4);
    let to = |from: u32, to: u32| from * 4 + to;
    let flows = [flow(0, to(1, 2), 2_000, 0), flow(0, to(0, 2), 1_000, 0), flow(0, to(0, 3), 1_000, 1)];
    assert_eq!(ends_us(&network, &flows, &Discipline::Smallest), [2_400, 800, 1_600]);
}

#[test]
fn smallest__receivers_choose_by_number() {
    // Sender 0 serves receiver 2's 3 MB before receiver 3's 1 MB: receiver 2 chooses first.
    let network = switch(4);
    let flows = [flow(0, 3, 1_000, 0), flow(0, 2, 3_000, 0)];
    assert_eq!(ends_us(&network, &flows, &Discipline::Smallest), [3_200, 2_400]);
}

#[test]
fn smallest__a_new_flow_goes_before_what_is_larger_by_now() {
    // At 800 a flow of 2 MB meets one of 3 MB that has 2 MB left: it waits. One of 1 MB goes first. After 1600 the first
    // continues until 3200, and the 2 MB follow.
    let network = switch(5);
    let to = |from: u32| from * 5 + 4;
    let flows = [flow(0, to(0), 3_000, 0), flow(800, to(1), 2_000, 1), flow(800, to(2), 1_000, 2)];
    assert_eq!(ends_us(&network, &flows, &Discipline::Smallest), [3_200, 4_800, 1_600]);
}

#[test]
fn smallest__queues_are_not_sorted_anew() {
    // Until 2400 sender 1 serves receiver 3. So receiver 4 passes over its first flow, the 2 MB of sender 1, and takes the
    // 4 MB of sender 2. At 2400 these have a MB left, but are still behind the 2 MB, which take over until 4000.
    let network = switch(5);
    let to = |from: u32, to: u32| from * 5 + to;
    let flows = [flow(0, to(1, 3), 3_000, 0), flow(0, to(1, 4), 2_000, 0), flow(0, to(2, 4), 4_000, 1)];
    assert_eq!(ends_us(&network, &flows, &Discipline::Smallest), [2_400, 4_000, 4_800]);
}

#[test]
fn shares__a_coflow_takes_equal_shares_and_leaves_the_rest() {
    // Coflow 0 sends from host 0 to 2 and 3, a half each, and from 1 to 2: host 2's link has two of its flows. So the flow
    // from 1 has a half, and leaves a half of its host's link to coflow 1. All of coflow 0 end at 1600.
    let network = switch(5);
    let to = |from: u32, to: u32| from * 5 + to;
    let first = [to(0, 2), to(0, 3), to(1, 2)].map(|path| flow(0, path, 1_000, 0));
    let flows = [&first[..], &[flow(0, to(1, 4), 1_000, 1), flow(0, to(1, 3), 1_000, 2)]].concat();
    // Coflow 1 has the other half of host 1's link until 1600, too. Coflow 2 has none, and follows.
    let shares = Discipline::Shares(by(OrderRule::Fifo));
    assert_eq!(ends_us(&network, &flows, &shares), [1_600, 1_600, 1_600, 1_600, 2_400]);
}

/// Aalo with 3 queues and limits of 1 and 4 MB.
const AALO: Discipline = Discipline::Attained { first: 1_000_000, factor: 4, queues: 3 };

#[test]
fn attained__a_coflow_falls_by_what_it_has_sent() {
    // Coflow 0 has sent 2 MB of 3 at 1600, when coflow 1 comes. It falls, and coflow 1 goes first: until 2400.
    let network = switch(3);
    let flows = [flow(0, 2, 3_000, 0), flow(1_600, 5, 1_000, 1)];
    assert_eq!(ends_us(&network, &flows, &AALO), [3_200, 2_400]);
    // At 400 it has sent half a MB and does not fall: coflow 1, which comes then, waits.
    let flows = [flow(0, 2, 3_000, 0), flow(400, 5, 1_000, 1)];
    assert_eq!(ends_us(&network, &flows, &AALO), [2_400, 3_200]);
}

#[test]
fn attained__coflows_fall_only_when_one_comes_or_ends() {
    // Coflow 0 is first, and passes the limit at 800. Coflow 1 waits all the same, until coflow 2 comes at 1200 elsewhere.
    let network = switch(4);
    let flows = [flow(0, 2, 2_500, 0), flow(0, 6, 500, 1), flow(1_200, 12, 1_000, 2)];
    assert_eq!(ends_us(&network, &flows, &AALO), [2_400, 1_600, 2_000]);
}

#[test]
fn attained__a_queue_is_served_as_coflows_entered_it() {
    // Coflows 2 and 3 use other links; as they come, rates are renewed. At 800 coflow 0 has sent a MB and falls. Coflow 1
    // has the link until 1600, has sent a MB, too, and enters the second queue behind coflow 0.
    let network = switch(6);
    let to = |from: u32, to: u32| from * 6 + to;
    let flows = [
        flow(0, to(0, 2), 2_000, 0),
        flow(0, to(1, 2), 2_000, 1),
        flow(800, to(3, 4), 800, 2),
        flow(1_600, to(3, 5), 800, 3),
    ];
    // Coflow 0: 0 to 800, and 1600 to 2400. Coflow 1: 800 to 1600, and 2400 to 3200.
    assert_eq!(ends_us(&network, &flows, &AALO), [2_400, 3_200, 1_440, 2_240]);
}

#[test]
fn attained__a_coflow_falls_as_far_as_it_has_sent() {
    // Coflow 1 sends 1.5 MB from host 2, and waits for host 0, which sends coflow 0's 6 MB. At 4000 coflow 2 comes elsewhere:
    // coflow 0 has sent 5 MB and falls by two queues, coflow 1 by one. So host 0 serves coflow 1 until 4800.
    let network = switch(5);
    let to = |from: u32, to: u32| from * 5 + to;
    let flows = [
        flow(0, to(0, 1), 6_000, 0),
        flow(0, to(2, 3), 1_500, 1),
        flow(0, to(0, 4), 1_000, 1),
        flow(4_000, to(3, 2), 1_000, 2),
    ];
    assert_eq!(ends_us(&network, &flows, &AALO), [5_600, 1_200, 4_800, 4_800]);
}

#[test]
fn run__stops_at_its_time() {
    let network = switch(2);
    let flows = [flow(0, 1, 1_000, 0), flow(0, 1, 2_000, 1), flow(9_000, 1, 1, 2)];
    let until = Time::from_us(2_000);
    let tcf = || by(OrderRule::Tcf);
    let halves = [Discipline::MaxMin, Discipline::Equal];
    let turns =
        [Discipline::Madd(tcf()), Discipline::Greedy(tcf()), Discipline::Shares(tcf()), Discipline::Smallest, AALO];
    for discipline in halves.iter().chain(&turns) {
        let spec = Spec { network: &network, flows: &flows, discipline, until };
        let outcome = run(&spec, &mut |_| ControlFlow::Continue(()));
        let first = if halves.contains(discipline) { 1_600 } else { 800 };
        assert_eq!((outcome.ends, outcome.now), (vec![Some(Time::from_us(first)), None, None], until));
    }
}

#[test]
fn crossed__is_counted_until_the_last_start() {
    // At 1600 the first has 1.5 MB behind it, half of 2 MB a link until 800 and a half of the rate from then on.
    let network = switch(2);
    let flows = [flow(0, 1, 3_000, 0), flow(800, 1, 3_000, 1), flow(1_600, 1, 3_000, 2)];
    let outcome = outcome(&network, &flows, &Discipline::MaxMin);
    assert_eq!(outcome.crossed, [2e6, 0.0, 0.0, 2e6]);
}
