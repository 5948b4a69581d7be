//! Packet traces: by hand, whole, and without influence on anything else.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use crate::by_hand::{Trial, flow, rack, scheme};
use crate::common::plain::plain;
use crate::common::{Case, case, config};
use flowsieve_core::{BalancerSpec, Time};
use flowsieve_record::{LinkClass, PacketEvent, PacketKind, PacketRow, PointResult, TraceSink};
use flowsieve_settings::Place;
use flowsieve_sim::sample::Sampling;
use flowsieve_sim::topology::events::Event;
use flowsieve_sim::trace::Tracing;
use flowsieve_sim::{Flows, Partitioning, RunSpec, SimError, run, run_sampled, run_traced};
use flowsieve_workload::Flow;
use proptest::prelude::*;

/// Keeps the rows, and how often the run began.
#[derive(Default)]
struct Kept {
    rows: Vec<PacketRow>,
    begun: u32,
    /// Takes this many rows and no more.
    takes: Option<usize>,
}

impl TraceSink for Kept {
    fn begin(&mut self) {
        self.rows.clear();
        self.begun += 1;
    }

    fn packet(&mut self, row: &PacketRow) -> ControlFlow<()> {
        if self.takes == Some(self.rows.len()) {
            return ControlFlow::Break(());
        }
        self.rows.push(*row);
        ControlFlow::Continue(())
    }
}

const ALWAYS: Range<Time> = Time::ZERO..Time::NEVER;

fn all_links(run_spec: &RunSpec<'_>) -> Tracing {
    Tracing { links: (0..run_spec.fabric.links.len() as u32).collect(), span: ALWAYS, most: u64::MAX }
}

fn traced(run_spec: &RunSpec<'_>, tracing: &Tracing) -> (Result<PointResult, SimError>, Kept) {
    let mut kept = Kept::default();
    (run_traced(run_spec, None, tracing, &mut kept, &mut flowsieve_sim::go_on), kept)
}

/// Calls `body` with the run of these flows under DCTCP over one switch.
fn in_rack<R>(hosts: i64, flows: &[Flow], body: impl FnOnce(&RunSpec<'_>) -> R) -> R {
    let settings = rack(hosts);
    let trial = Trial::new(&settings, scheme("dctcp", &settings)).until_ack();
    let numbered = || -> Box<dyn Iterator<Item = Flow>> {
        Box::new((0..).zip(flows).map(|(id, flow)| Flow { id, ..*flow }).collect::<Vec<_>>().into_iter())
    };
    body(&trial.run_spec(Flows::Given(&numbered), Partitioning::Whole))
}

/// A row as a packet trace reads: nanoseconds, link, what is said, length.
fn line(run_spec: &RunSpec<'_>, row: &PacketRow) -> String {
    let link = run_spec.fabric.link_name(row.link);
    let (ends, kind) = row.what.expect("between hosts");
    let said = match kind {
        PacketKind::Data { flow, segment, byte, last, .. } => {
            format!("data {flow}/{segment} at {byte}+{}{}", row.payload, if last { " last" } else { "" })
        }
        PacketKind::Ack { segment, byte, .. } => format!("ack {segment} at {byte}"),
        other => format!("{other:?}"),
    };
    let event = if row.event == PacketEvent::Sent { String::new() } else { format!(" {:?}", row.event) };
    format!("{} {link}: {}>{} {said} of {} B{event}", row.at_ps / 1_000, ends.src, ends.dst, row.length)
}

#[test]
fn trace__three_packets_over_a_switch() {
    // A full packet takes 1.2 us on a line, the last one, of 141 bytes, 112.8 ns; each takes 0.2 us more. An ACK takes
    // 32 ns and 0.2 us. The host's line is busy from 0 to 2.5128 us; the switch has each packet 0.2 us after the host
    // has sent it and sends it at once, and so does the receiver its ACK.
    let mut message = flow(0, (0, 1), 2);
    message.bytes += 101;
    in_rack(2, &[message], |run_spec| {
        let (result, kept) = traced(run_spec, &all_links(run_spec));
        let lines: Vec<String> = kept.rows.iter().map(|row| line(run_spec, row)).collect();
        assert_eq!(
            lines,
            [
                "0 host0 to switch0: 0>1 data 0/0 at 0+1460 of 1500 B",
                "1200 host0 to switch0: 0>1 data 0/1 at 1460+1460 of 1500 B",
                "1400 switch0 to host1: 0>1 data 0/0 at 0+1460 of 1500 B",
                "2400 host0 to switch0: 0>1 data 0/2 at 2920+101 last of 141 B",
                "2600 switch0 to host1: 0>1 data 0/1 at 1460+1460 of 1500 B",
                "2800 host1 to switch0: 1>0 ack 1 at 1460 of 40 B",
                "3032 switch0 to host0: 1>0 ack 1 at 1460 of 40 B",
                // The last one came at 2.7128 us and waits for the line.
                "3800 switch0 to host1: 0>1 data 0/2 at 2920+101 last of 141 B",
                "4000 host1 to switch0: 1>0 ack 2 at 2920 of 40 B",
                "4112 host1 to switch0: 1>0 ack 3 at 3021 of 40 B",
                "4232 switch0 to host0: 1>0 ack 2 at 2920 of 40 B",
                "4344 switch0 to host0: 1>0 ack 3 at 3021 of 40 B",
            ]
        );
        assert_eq!(kept.rows[9].at_ps, 4_112_800);
        assert_eq!(result.unwrap().flows[0].fct_ps, Some(4_112_800 + 2 * 232_000));
    });
}

/// Flows between the first two racks of four, with even numbers, and between the last two, which share no port with them.
fn in_two_halves() -> Case {
    let given =
        [("kind", "leaf-spine"), ("leaves", "4"), ("spines", "2"), ("hosts_per_leaf", "2"), ("host_delay", "1us")];
    let flow = |id: u32| {
        let (first, nth) = (id % 2 * 4, id / 2);
        let (src, dst) = (first + nth % 2, first + 2 + nth / 2 % 2);
        Flow { src, dst, bytes: 30_000, ..flow(u64::from(nth) * 50_000_000 + 7_000, (src, dst), 1) }
    };
    let flows = (0..400).map(|id| Flow { id, ..flow(id) }).collect();
    plain("dctcp", &[&given[..], &[("buffer", "2MB")]].concat(), flows)
}

/// Both directions of a link.
fn between_leaf0_and_spine1(case: &Case) -> Vec<u32> {
    let names = ["leaf0 to spine1", "spine1 to leaf0"];
    (0..case.fabric.links.len() as u32).filter(|link| names.contains(&case.fabric.link_name(*link).as_str())).collect()
}

#[test]
fn outage__packets_are_lost_in_its_window_alone_and_other_flows_are_as_they_were() {
    let ms = |ms: u64| Time::from_us(1_000 * ms);
    let mut case = in_two_halves();
    let whole = case.with_run_spec(|run_spec| run(run_spec, &mut flowsieve_sim::go_on)).unwrap();
    let links = between_leaf0_and_spine1(&case);
    let event = |at, down| Event { at, links: links.clone(), down };
    case.fabric.events = vec![event(ms(2), true), event(ms(6), false)];
    case.fabric.reconvergence = Some(ms(1));
    let (result, kept) = case.with_run_spec(|run_spec| traced(run_spec, &all_links(run_spec)));
    let result = result.unwrap();

    let lost: Vec<&PacketRow> = kept.rows.iter().filter(|row| row.event != PacketEvent::Sent).collect();
    assert!(lost.len() > 10, "{}", lost.len());
    for row in &lost {
        assert!(row.event == PacketEvent::DroppedDown && links.contains(&row.link), "{row:?}");
        assert!((ms(2).0..ms(3).0).contains(&row.at_ps), "{row:?}");
    }
    // Each is counted once, by its cause, and none has another cause.
    let drops = result.links.iter().map(|link| link.drops);
    let (down, all) = drops.fold((0, 0), |(down, all), drops| (down + drops.down(), all + drops.total()));
    assert_eq!((down, all), (lost.len() as u64, lost.len() as u64));
    assert_eq!(result.counts["lost_at_links_that_were_down"], down);

    // The link carries packets until it fails, none until routes lead there again, and then some.
    let sent = |from: Time, to: Time| {
        let within = |row: &&PacketRow| row.event == PacketEvent::Sent && (from.0..to.0).contains(&row.at_ps);
        kept.rows.iter().filter(within).filter(|row| links.contains(&row.link)).count()
    };
    assert!(sent(Time::ZERO, ms(2)) > 100 && sent(ms(7), Time::NEVER) > 100);
    assert_eq!(sent(ms(2), ms(7)), 0);

    assert!(result.flows.iter().all(|row| row.fct_ps.is_some()));
    let others =
        |result: &PointResult| result.flows.iter().filter(|row| row.flow % 2 == 1).cloned().collect::<Vec<_>>();
    assert_eq!(others(&result), others(&whole));
    assert_eq!(others(&result).len(), 200);
    assert_ne!(result.flows, whole.flows);
}

#[test]
fn outage__of_a_moment_is_known_later() {
    // Down from 2 ms to 2.5 ms, and routes avoid it from 3 ms to 3.5 ms, when it has long been back.
    let mut case = in_two_halves();
    let links = between_leaf0_and_spine1(&case);
    let event = |us, down| Event { at: Time::from_us(us), links: links.clone(), down };
    case.fabric.events = vec![event(2_000, true), event(2_500, false)];
    case.fabric.reconvergence = Some(Time::from_us(1_000));
    let (_, kept) = case.with_run_spec(|run_spec| traced(run_spec, &all_links(run_spec)));
    let on_link = |from_us: u64, to_us: u64, event| {
        let span = Time::from_us(from_us).0..Time::from_us(to_us).0;
        let here = |row: &&PacketRow| row.event == event && links.contains(&row.link) && span.contains(&row.at_ps);
        kept.rows.iter().filter(here).count()
    };
    assert!(on_link(2_000, 2_500, PacketEvent::DroppedDown) > 0);
    assert_eq!(on_link(2_500, 100_000, PacketEvent::DroppedDown), 0);
    assert_eq!(on_link(2_000, 2_500, PacketEvent::Sent), 0);
    assert!(on_link(2_500, 3_000, PacketEvent::Sent) > 0);
    assert_eq!(on_link(3_000, 3_500, PacketEvent::Sent), 0);
    assert!(on_link(3_500, 4_500, PacketEvent::Sent) > 0);
}

#[test]
fn trace__numbers_the_bytes_of_a_connection_through_its_messages() {
    // The second message takes the connection of the first.
    let flows = [Flow { bytes: 2_000, ..flow(0, (0, 1), 1) }, Flow { bytes: 1_000, ..flow(50_000_000, (0, 1), 1) }];
    in_rack(2, &flows, |run_spec| {
        let (_, kept) = traced(run_spec, &Tracing { links: vec![0, 1], ..all_links(run_spec) });
        let lines: Vec<String> = kept.rows.iter().map(|row| line(run_spec, row)).collect();
        let said: Vec<&str> = lines.iter().map(|line| line.split(": ").nth(1).unwrap()).collect();
        assert_eq!(
            said,
            [
                "0>1 data 0/0 at 0+1460 of 1500 B",
                "0>1 data 0/1 at 1460+540 last of 580 B",
                "1>0 ack 1 at 1460 of 40 B",
                "1>0 ack 2 at 2000 of 40 B",
                "0>1 data 1/2 at 2000+1000 last of 1040 B",
                "1>0 ack 3 at 3000 of 40 B",
            ]
        );
    });
}

#[test]
fn trace__drops_and_marks() {
    // Five packets meet where three may wait, and more than one is marked: the fifth is dropped at 1.4 us.
    let settings = rack(6).with(None, "buffer", "3pkt").with(None, "ecn_threshold", "1pkt");
    let trial = Trial::new(&settings, scheme("dctcp", &settings));
    let flows: Vec<Flow> = (0..5).map(|host| Flow { id: host, ..flow(0, (host, 5), 1) }).collect();
    let given = || -> Box<dyn Iterator<Item = Flow>> { Box::new(flows.clone().into_iter()) };
    let run_spec = trial.run_spec(Flows::Given(&given), Partitioning::Whole);
    let to_last = (0..12).find(|&link| trial.fabric.link_name(link) == "switch0 to host5").unwrap();
    let tracing = Tracing { links: vec![to_last], span: Time::ZERO..Time::from_us(100), most: 100 };
    let (_, kept) = traced(&run_spec, &tracing);
    let rows: Vec<_> = kept.rows.iter().map(|row| (row.at_ps / 1_000, row.event, row.ecn, row.queue)).collect();
    use PacketEvent::{DroppedBuffer, Sent};
    assert_eq!(
        rows,
        [
            (1_400, Sent, 2, Some(0)),
            (1_400, DroppedBuffer, 2, None),
            (2_600, Sent, 2, Some(0)),
            (3_800, Sent, 3, Some(0)),
            (5_000, Sent, 3, Some(0)),
        ]
    );
}

#[test]
fn trace__ends_with_its_span_and_with_its_rows() {
    let flows = [flow(0, (0, 1), 200)];
    in_rack(2, &flows, |run_spec| {
        let (whole, all) = traced(run_spec, &all_links(run_spec));
        let span = Time::from_us(20)..Time::from_us(30);
        let (some, inside) = traced(run_spec, &Tracing { span: span.clone(), ..all_links(run_spec) });
        let expected: Vec<_> = all.rows.iter().filter(|row| span.contains(&Time(row.at_ps))).copied().collect();
        assert_eq!((expected.len() > 20, inside.rows), (true, expected));
        assert_eq!(some, whole);

        let (cut, first) = traced(run_spec, &Tracing { most: 25, ..all_links(run_spec) });
        assert_eq!(first.rows, all.rows[..25]);
        let at = Time(all.rows[25].at_ps);
        let warning = format!("the packet trace ended at {at}: it holds at most 25 packets of a run");
        assert_eq!(cut.unwrap().warnings, [warning]);
        let (exact, _) = traced(run_spec, &Tracing { most: all.rows.len() as u64, ..all_links(run_spec) });
        assert_eq!(exact, whole);
    });
}

#[test]
fn trace__abandons_the_run_with_its_sink() {
    in_rack(2, &[flow(0, (0, 1), 200)], |run_spec| {
        let mut kept = Kept { takes: Some(10), ..Kept::default() };
        let abandoned = run_traced(run_spec, None, &all_links(run_spec), &mut kept, &mut flowsieve_sim::go_on);
        assert_eq!((abandoned, kept.rows.len()), (Err(SimError::TraceAbandoned), 10));
    });
}

#[test]
fn trace__begins_anew_with_wide_keys() {
    // Narrow keys end at 3 · 2^46 ps; the first flow is traced before anybody knows.
    let flows = [flow(0, (0, 1), 3), flow(300_000_000_000_000, (0, 1), 3)];
    in_rack(2, &flows, |run_spec| {
        let run_spec = RunSpec { max_time: None, ..*run_spec };
        let (result, kept) = traced(&run_spec, &all_links(&run_spec));
        assert_eq!((kept.begun, kept.rows.len() as u64), (2, result.unwrap().packet_hops));
    });
}

/// Rows of a class of links that are of this event.
fn count(case: &Case, rows: &[PacketRow], class: usize, event: PacketEvent) -> u64 {
    let of_class = |row: &&PacketRow| usize::from(case.fabric.links[row.link as usize].class) == class;
    rows.iter().filter(of_class).filter(|row| row.event == event).count() as u64
}

/// Every packet that the links count has its row, and no other has.
fn check_counts(case: &Case, result: &PointResult, rows: &[PacketRow]) -> Result<(), TestCaseError> {
    for (class, link) in result.links.iter().enumerate() {
        let counted = |event| count(case, rows, class, event);
        let of_class = |row: &&PacketRow| usize::from(case.fabric.links[row.link as usize].class) == class;
        let sent = || rows.iter().filter(of_class).filter(|row| row.event == PacketEvent::Sent);
        let LinkClass { packets, bytes, drops, packets_by_queue, .. } = link;
        prop_assert_eq!(counted(PacketEvent::Sent), *packets);
        prop_assert_eq!(sent().map(|row| u64::from(row.length)).sum::<u64>(), *bytes);
        for (queue, packets) in packets_by_queue.iter().enumerate() {
            let from = sent().filter(|row| row.queue.map(usize::from) == Some(queue)).count() as u64;
            prop_assert_eq!(from, *packets, "from queue {}", queue);
        }
        prop_assert_eq!(counted(PacketEvent::DroppedBuffer), drops.buffer);
        prop_assert_eq!(counted(PacketEvent::DroppedEvicted), drops.evicted);
        prop_assert_eq!(counted(PacketEvent::DroppedLoss), drops.loss);
    }
    Ok(())
}

/// A segment begins where the one before it ends, and an ACK is of the bytes up to there; `whole`: every segment was seen.
fn check_bytes(case: &Case, rows: &[PacketRow], whole: bool) -> Result<(), TestCaseError> {
    let mut ends = BTreeMap::new();
    for row in rows {
        if let Some((of, PacketKind::Data { segment, byte, flow, last, .. })) = row.what {
            let (end, message) = (byte + u64::from(row.payload), &case.flows[flow as usize]);
            ends.insert((of.connection, segment + 1), end);
            prop_assert_eq!((of.src, of.dst), (message.src, message.dst));
            prop_assert!(!last || flow != of.connection || end == message.bytes, "{:?}", row);
        }
    }
    for row in rows {
        let (of, segment, byte) = match row.what {
            Some((of, PacketKind::Data { segment, byte, .. } | PacketKind::Ack { segment, byte, .. })) => {
                (of, segment, byte)
            }
            _ => continue,
        };
        let before = if segment == 0 { Some(&0) } else { ends.get(&(of.connection, segment)) };
        prop_assert!(before == Some(&byte) || !whole && before.is_none(), "{:?}: {:?}", before, row);
    }
    Ok(())
}

fn check(case: &Case, some: bool, interval: Time) -> Result<(), TestCaseError> {
    let links: Vec<u32> = (0..case.fabric.links.len() as u32).filter(|link| !some || link % 3 == 0).collect();
    let tracing = Tracing { links: links.clone(), span: ALWAYS, most: u64::MAX };
    let sampling = Sampling { interval, links, ..Sampling::default() };
    let of = |partitioning, sampling: Option<&Sampling>| {
        case.with_run_spec(|run_spec| {
            let (run_spec, mut kept) = (RunSpec { partitioning, ..*run_spec }, Kept::default());
            let plain = match sampling {
                Some(sampling) => run_sampled(&run_spec, sampling, &mut flowsieve_sim::go_on),
                None => run(&run_spec, &mut flowsieve_sim::go_on),
            };
            let traced = run_traced(&run_spec, sampling, &tracing, &mut kept, &mut flowsieve_sim::go_on);
            (plain, traced, kept.rows)
        })
    };
    let (plain, whole, rows) = of(Partitioning::Whole, None);
    prop_assert_eq!(&plain, &whole, "traced");
    let Ok(result) = plain else { return Ok(()) };
    prop_assert!(rows.is_sorted_by_key(|row| (row.at_ps, row.link)));
    if !some {
        check_counts(case, &result, &rows)?;
        if !matches!(case.scheme.balancers.at(Place::Leaf), BalancerSpec::Custom(_)) && case.scheme.classes.len() == 1 {
            check_bytes(case, &rows, case.max_time.is_none_or(|stop| stop.0 > 1_000_000_000_000))?;
        }
    }
    let (plain, sampled, with_samples) = of(Partitioning::Whole, Some(&sampling));
    prop_assert_eq!(plain, sampled, "traced and sampled");
    prop_assert!(with_samples == rows, "sampled");
    let (plain, cut, by_racks) = of(Partitioning::Racks, None);
    prop_assert_eq!(plain, cut, "traced and cut");
    prop_assert!(by_racks == rows, "cut");
    let (plain, cut, by_stages) = of(Partitioning::Stages { groups: 2, threads: 2, worth: 0 }, None);
    prop_assert_eq!(plain, cut, "traced and cut into stages");
    prop_assert!(by_stages == rows, "cut into stages");
    Ok(())
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn trace__is_whole_and_changes_nothing_however_the_fabric_is_cut(
        case in case(40), some: bool, interval_ns in 1_000u64..100_000
    ) {
        check(&case, some, Time::from_ns(interval_ns))?;
    }

    #[test]
    fn trace__is_whole_where_the_run_is_stopped(case in case(40), some: bool, stop_ps in 1u64..400_000_000) {
        check(&Case { max_time: Some(Time(stop_ps)), ..case }, some, Time::from_us(20))?;
    }
}
