//! Runs without an end: at the end of simulated time, 2^64 ps, and where flows pile up. Each ends with an error, and never with
//! fewer flows than were asked for.

use crate::by_hand;
use crate::by_hand::{Trial, rack, scheme};
use flowsieve_core::Time;
use flowsieve_sim::{Flows, Partitioning, RunSpec, SimError, go_on, run};
use flowsieve_workload::{
    ClosedLoop, Collectives, Exchange, Flow, Offer, Pattern, Queries, Rounding, SizeDistribution, Think,
};

const DAY_PS: u64 = 86_400 * 1_000_000_000_000;
const LATE: &str = "it would begin after the end of simulated time, 2^64 picoseconds (213 days)";
const CUTS: [Partitioning; 2] = [Partitioning::Whole, Partitioning::Stages { groups: 2, threads: 2, worth: 0 }];

fn fixed(bytes: u64) -> SizeDistribution {
    SizeDistribution::fixed(bytes, Rounding::Bytes).expect("a size")
}

fn trial(hosts: i64) -> Trial {
    let settings = rack(hosts);
    let scheme = scheme("dctcp", &settings);
    Trial::new(&settings, scheme)
}

/// The number of flows that a run has, or why it has none, however it is cut.
fn flows_of<'a>(trial: &'a Trial, flows: Flows<'a>, max_time: Option<Time>) -> Result<usize, SimError> {
    let [whole, stages] = CUTS.map(|partitioning| {
        let run_spec = RunSpec { max_time, ..trial.run_spec(flows, partitioning) };
        run(&run_spec, &mut go_on).map(|result| result.flows.len())
    });
    assert_eq!(whole, stages);
    whole
}

/// Host h's n-th flow begins after n pauses of ten days: the 22nd after 220 days. Two hosts begin 21 each.
#[test]
fn closed_loops__pauses_up_to_the_end_of_time() {
    let of = |flows, think| {
        let offer = Offer { sizes: fixed(1_460), mix: None, rate_per_host: 0.0 };
        ClosedLoop::new((2, 1), &Pattern::AllToAll, offer, think, flows, 1).expect("loops")
    };
    let ten_days = Think::Fixed(10 * DAY_PS);
    let run_of =
        |closed: &ClosedLoop, until, max_time| flows_of(&trial(2), Flows::Closed { flows: closed, until }, max_time);
    assert_eq!(run_of(&of(42, ten_days), Time::NEVER, None), Ok(42));
    assert_eq!(run_of(&of(43, ten_days), Time::NEVER, None), Err(SimError::Flow { flow: 42, why: LATE }));
    // What nobody waits for is not missed.
    let end = Time(105 * DAY_PS);
    assert_eq!(run_of(&of(43, ten_days), end, None), Ok(20));
    assert_eq!(run_of(&of(43, ten_days), Time::NEVER, Some(end)), Ok(20));
    // A flow that begins with the last second does not end in time.
    let late = Think::Fixed(u64::MAX - 1_000_000_000_000);
    assert_eq!(run_of(&of(2, late), Time::NEVER, None), Err(SimError::BeyondTime));
}

#[test]
fn collectives__gaps_up_to_the_end_of_time() {
    let of = |repeats| {
        let hosts = [0, 1, 2].into();
        Collectives::new(Exchange::Ring, (hosts, 3), (repeats, 50 * DAY_PS), fixed(3_000), 1).expect("collectives")
    };
    // Four gaps are 200 days, five 250. A collective of three hosts has twelve messages.
    assert_eq!(flows_of(&trial(3), Flows::Collectives(&of(5)), None), Ok(60));
    let refused = flows_of(&trial(3), Flows::Collectives(&of(6)), None);
    assert!(matches!(refused, Err(SimError::Flow { flow: 60..72, why: LATE })), "{refused:?}");
}

#[test]
fn given_flows__up_to_the_end_of_time() {
    let of = |start_ps| {
        let flows =
            move || -> Box<dyn Iterator<Item = Flow>> { Box::new([by_hand::flow(start_ps, (0, 1), 1)].into_iter()) };
        flows_of(&trial(2), Flows::Given(&flows), None)
    };
    assert_eq!(of(200 * DAY_PS), Ok(1));
    assert_eq!(of(u64::MAX - 1), Err(SimError::BeyondTime));
    assert_eq!(of(u64::MAX), Err(SimError::Flow { flow: 0, why: LATE }));
}

/// A background of 1.5 times what the client's line carries: the query's answers wait behind ever more flows.
#[test]
fn queries__end_where_flows_pile_up() {
    let trial = trial(3);
    let queries = Queries::new((0, &[1]), 1_000, 60, fixed(1_000_000), 1).expect("queries");
    // 1,250 bytes take 1 us at 10 Gbit/s, and each flow more with its headers.
    let beside = || -> Box<dyn Iterator<Item = Flow>> {
        let first = queries.messages();
        let flow = move |n: u32| by_hand::flow(u64::from(n) * 650_000, (2, 0), 1);
        Box::new((0..).map(move |n| Flow { id: first + n, bytes: 1_250, ..flow(n) }))
    };
    let under_way = |most_under_way| {
        let flows = Flows::Queries { queries: &queries, beside: &beside };
        CUTS.map(|partitioning| {
            let max_time = Some(Time::from_us(50_000));
            let run_spec = RunSpec { most_under_way, max_time, ..trial.run_spec(flows, partitioning) };
            run(&run_spec, &mut go_on).map(drop)
        })
    };
    let [whole, stages] = under_way(Some(2_000));
    assert_eq!(whole, stages);
    let Err(SimError::Crowd { under_way: found, now, doing }) = whole else { panic!("{whole:?}") };
    // A third of 1,538 flows a millisecond piles up, so more than 2,000 after four of them.
    assert!((2_001..3_000).contains(&found) && now <= Time::from_us(7_000), "{found} at {now}");
    assert!(doing.contains("has not finished; the fullest port"), "{doing}");
    assert_eq!(under_way(None), [Ok(()), Ok(())], "until `max_time`");
}
