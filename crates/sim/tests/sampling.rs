//! Samples: by hand, and without influence on anything else.

use crate::by_hand::{fcts, flow, rack, scheme};
use crate::common::outage::outage_case;
use crate::common::{Case, case, config};
use flowsieve_core::Time;
use flowsieve_record::{PointResult, Series};
use flowsieve_sim::sample::{GOODPUT, LEAST_BACKLOG, MOST_BACKLOG, MOST_VALUES, Sampling, UTILISATION};
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::{Flows, Partitioning, RunSpec, run, run_sampled};
use flowsieve_transport::tcp::congestion::{ALPHA, WINDOW};
use flowsieve_workload::Flow;
use proptest::prelude::*;

/// Flows over one switch, with what `sampling` of its fabric asks for.
fn sampled_as(hosts: u32, flows: &[Flow], sampling: impl Fn(&Fabric) -> Sampling) -> PointResult {
    let settings = rack(i64::from(hosts));
    let fabric = Fabric::from_settings(&settings).unwrap();
    let numbered = || -> Box<dyn Iterator<Item = Flow>> {
        Box::new((0..).zip(flows).map(|(id, flow)| Flow { id, ..*flow }).collect::<Vec<_>>().into_iter())
    };
    let scheme = scheme("dctcp", &settings);
    let run_spec = RunSpec::new(&fabric, &scheme, Flows::Given(&numbered));
    run_sampled(&run_spec, &sampling(&fabric), &mut flowsieve_sim::go_on).unwrap()
}

/// The number of a link, by its name.
fn link(fabric: &Fabric, name: &str) -> u32 {
    (0..fabric.links.len() as u32).find(|&link| fabric.link_name(link) == name).unwrap()
}

/// The same, sampled at the link to the last host.
fn sampled(hosts: u32, flows: &[Flow], interval: Time, to_last: &str) -> PointResult {
    sampled_as(hosts, flows, |fabric| Sampling { interval, links: vec![link(fabric, to_last)], ..Sampling::default() })
}

fn series<'a>(result: &'a PointResult, name: &str, of: &str) -> Vec<&'a Series> {
    result.series.iter().filter(|series| series.name == name && series.of == of).collect()
}

#[test]
fn backlog__of_two_senders_that_meet() {
    // Two hosts' first packets are at the switch at 1.4 us: one passes, one waits. At 2.6 us that one leaves, and two
    // more come; they leave at 3.8 and 5.0 us.
    let result = sampled(3, &[flow(0, (0, 2), 2), flow(0, (1, 2), 2)], Time::from_us(1), "switch0 to host2");
    assert_eq!(fcts(&result), [5_200_000, 6_400_000]);
    let of = |name| &series(&result, name, "switch0 to host2")[0].values[..7];
    assert_eq!(of(LEAST_BACKLOG), [0.0, 0.0, 1_500.0, 1_500.0, 1_500.0, 0.0, 0.0]);
    assert_eq!(of(MOST_BACKLOG), [0.0, 1_500.0, 3_000.0, 3_000.0, 1_500.0, 0.0, 0.0]);
}

#[test]
fn window__from_the_first_packet_to_the_last_acknowledgement() {
    // A first message from 2.5 us: its ACK is back 2.8 + 0.464 us later, at 5.764 us. The next takes the idle connection
    // at 8 us. An ACK makes the first window of 70 packets larger by one.
    let flows = [flow(2_500_000, (0, 1), 1), flow(8_000_000, (0, 1), 1)];
    let result = sampled(2, &flows, Time::from_us(1), "switch0 to host1");
    let windows = series(&result, WINDOW, "connection of flow 0");
    let alphas = series(&result, ALPHA, "connection of flow 0");
    let shape = |series: &[&Series]| series.iter().map(|s| (s.first_step, s.values.len())).collect::<Vec<_>>();
    assert_eq!(shape(&windows), [(2, 3), (8, 3)]);
    assert_eq!(shape(&alphas), shape(&windows));
    assert_eq!(windows[0].values, [70.0; 3]);
    assert!(windows[1].values.iter().all(|&window| window == windows[1].values[0] && window >= 70.0));
    assert!(alphas.iter().all(|series| series.values.iter().all(|&alpha| alpha == 0.0)));
}

#[test]
fn values__are_limited_and_the_end_is_said() {
    let flows = [flow(0, (0, 1), 2_000)];
    let result = sampled(2, &flows, Time(10_000), "switch0 to host1");
    let values: usize = result.series.iter().map(|series| series.values.len()).sum();
    assert!((MOST_VALUES - 4..=MOST_VALUES).contains(&values), "{values}");
    assert!(result.warnings.iter().any(|warning| warning.starts_with("sampling ended at ")), "{:?}", result.warnings);
}

fn check(case: &Case, interval: Time) -> Result<(), TestCaseError> {
    let links = (0..case.fabric.links.len() as u32).collect();
    let sampling = Sampling { interval, links, ..Sampling::default() };
    let plain = case.with_run_spec(|run_spec| run(run_spec, &mut flowsieve_sim::go_on));
    let of = |partitioning| {
        case.with_run_spec(|run_spec| {
            run_sampled(&RunSpec { partitioning, ..*run_spec }, &sampling, &mut flowsieve_sim::go_on)
        })
    };
    let (whole, racks) = (of(Partitioning::Whole), of(Partitioning::Racks));
    let stages = of(Partitioning::Stages { groups: 3, threads: 2, worth: 0 });
    let (Ok(plain), Ok(whole), Ok(racks)) = (plain, whole, racks) else { return Ok(()) };
    prop_assert_eq!(Ok(&whole), stages.as_ref());
    prop_assert!(!whole.series.is_empty());
    let without_samples = |result: PointResult| PointResult {
        warnings: result.warnings.into_iter().filter(|warning| !warning.starts_with("sampling")).collect(),
        series: Vec::new(),
        events: 0,
        ..result
    };
    prop_assert_eq!(&whole.series, &racks.series, "cut");
    prop_assert_eq!(without_samples(plain), without_samples(whole), "sampled");
    Ok(())
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn samples__change_nothing_however_the_fabric_is_cut(case in case(40), interval_ns in 100u64..100_000) {
        check(&case, Time(interval_ns * 1_000))?;
    }
}

#[test]
fn rates__of_two_senders_that_meet() {
    // As in `backlog__of_two_senders_that_meet`: the line to host 2 is busy from 1.4 to 6.2 us. Packets of 1,460 bytes of
    // payload arrive 1.2 us after they leave and 0.2 us on the way: at 2.8, 4.0, 5.2 and 6.4 us.
    let flows = [flow(0, (0, 2), 2), flow(0, (1, 2), 2)];
    let result = sampled_as(3, &flows, |fabric| Sampling {
        interval: Time::from_us(2),
        utilised: vec![link(fabric, "switch0 to host2")],
        flows: [0, 1].into(),
        ..Sampling::default()
    });
    assert_eq!(fcts(&result), [5_200_000, 6_400_000]);
    let values = |name, of: &str| series(&result, name, of)[0].values.clone();
    let near = |values: Vec<f64>, expected: &[f64]| {
        let close = |(value, expected): (&f64, &f64)| (value - expected).abs() < 1e-9 * expected.max(1.0);
        assert!(values.len() >= expected.len(), "{values:?}");
        assert!(values.iter().zip(expected).all(close), "{values:?}, expected {expected:?}");
        assert!(values[expected.len()..].iter().all(|value| value.abs() < 1e-9), "{values:?}");
    };
    near(values(UTILISATION, "switch0 to host2"), &[0.3, 1.0, 1.0, 0.1]);
    let packet = 1_460.0 * 8.0 / 2e-6;
    let both: Vec<f64> = values(GOODPUT, "flow 0").iter().zip(&values(GOODPUT, "flow 1")).map(|(a, b)| a + b).collect();
    near(both, &[0.0, packet, 2.0 * packet, packet]);
    near(values(GOODPUT, "flow 0"), &[0.0, packet, packet, 0.0]);
}

proptest! {
    #![proptest_config(config(64))]

    /// Each byte of a flow that finished has arrived once, whatever was lost and sent again; and rates change nothing else.
    #[test]
    fn goodput__is_the_payload(case in prop_oneof![case(40), outage_case(40)], interval_ns in 100u64..100_000) {
        let links: Vec<u32> = (0..case.fabric.links.len() as u32).collect();
        let sampling = Sampling {
            interval: Time(interval_ns * 1_000), utilised: links, flows: (0..40).collect(), ..Sampling::default()
        };
        let plain = case.with_run_spec(|run_spec| run(run_spec, &mut flowsieve_sim::go_on));
        let rated = case.with_run_spec(|run_spec| run_sampled(run_spec, &sampling, &mut flowsieve_sim::go_on));
        let (Ok(plain), Ok(rated)) = (plain, rated) else { return Ok(()) };
        prop_assert_eq!(&plain.flows, &rated.flows);
        prop_assert_eq!(&plain.links, &rated.links);
        let cut = rated.warnings.iter().any(|warning| warning.starts_with("sampling"));
        for row in rated.flows.iter().filter(|row| row.fct_ps.is_some() && !cut) {
            let Some(goodput) = series(&rated, GOODPUT, &format!("flow {}", row.flow)).first().copied() else { continue };
            let seen = goodput.values.iter().sum::<f64>() * goodput.step_ps as f64 / 8e12;
            let sampled_to = goodput.values.len() as u64 * goodput.step_ps;
            if row.start_ps + row.fct_ps.unwrap_or(0) < sampled_to {
                prop_assert!((seen - row.bytes as f64).abs() < 0.5, "flow {}: {seen} of {}", row.flow, row.bytes);
            } else {
                prop_assert!(seen < row.bytes as f64 + 0.5);
            }
        }
        for link in rated.series.iter().filter(|series| series.name == UTILISATION) {
            prop_assert!(link.values.iter().all(|share| (-1e-9..=1.0 + 1e-9).contains(share)), "{}: {:?}", link.of, link.values);
            // While it is down, a link is not used.
            let [fails, returns] = &case.fabric.events[..] else { continue };
            if !fails.links.iter().any(|number| case.fabric.link_name(*number) == link.of) {
                continue;
            }
            let down = (fails.at.0.div_ceil(link.step_ps) as usize).min(link.values.len());
            let up = ((returns.at.0 / link.step_ps) as usize).clamp(down, link.values.len());
            prop_assert!(link.values[down..up].iter().all(|share| share.abs() < 1e-9), "{}: {:?}", link.of, link.values);
        }
        for class in &rated.links {
            prop_assert!((0.0..=1.0 + 1e-9).contains(&class.utilisation), "{}: {}", class.name, class.utilisation);
        }
    }
}
