//! What follows from a result: comparisons, findings, and the same from sketches.

use crate::made::{Made, made};
use flowsieve_record::{Paused, PointResult, QuantileSketch};
use flowsieve_results::compare::compare;
use flowsieve_results::measured::Quantity;
use flowsieve_results::{
    ClassSummary, CoflowClass, Dimension, Figure, Further, Metric, PointSummary, Ratio, Record, ResultDir, Severity,
    SizeClass, Statistic,
};

/// Rows of a further table that ask for figures of a class.
fn asking(quantities: &[(Figure, SizeClass)]) -> Further {
    let row = |(id, (figure, class)): (usize, &(Figure, SizeClass))| {
        let quantity = Quantity { class: class.clone(), ..Quantity::of_all_flows(*figure) };
        let mut row = serde_json::to_value(quantity).unwrap();
        row["id"] = id.to_string().into();
        row
    };
    Further::default().with("asked", &quantities.iter().enumerate().map(row).collect::<Vec<_>>())
}

const MEAN_FCT: Figure = Figure::Flows(Statistic::Mean, Metric::Fct);
const MEAN_CCT: Figure = Figure::Coflows(Statistic::Mean, Metric::Fct);

fn near(ratio: &Ratio, expected: f64) {
    assert!((ratio.value / expected - 1.0).abs() < 0.01, "{ratio:?} is not {expected}");
}

#[test]
fn compare__finds_the_known_ratios() {
    let folder = tempfile::tempdir().unwrap();
    let dir = made(folder.path(), &Made::default());
    let compared = compare(&dir, &Dimension::Scheme, "new", "base").unwrap();
    assert_eq!(compared.iter().map(|at| (at.point, at.baseline)).collect::<Vec<_>>(), [(1, 0), (3, 2)]);
    for (at, expected) in compared.iter().zip([0.8, 0.6]) {
        let small = &at.classes[0];
        assert_eq!(small.class.name, "0-100KB");
        for ratio in small.fct.iter().chain(&small.slowdown).map(|ratio| ratio.as_ref().unwrap()) {
            near(ratio, expected);
            assert!(ratio.is_resolved() && small.is_fair());
        }
        let by_flow = small.by_flow.as_ref().unwrap();
        near(&by_flow.ratio, expected);
        assert_eq!((by_flow.pairs, by_flow.faster, by_flow.slower), (small.flows, 1.0, 0.0));
        near(at.classes[1].fct[0].as_ref().unwrap(), 1.0);
    }
    assert!(compare(&dir, &Dimension::Scheme, "new", "other").unwrap().is_empty());
}

#[test]
fn compare__unfinished_flows_are_counted_on_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let stops = |scheme: &str, _: f64, seed: u64, run: &mut flowsieve_record::PointResult| {
        if scheme == "base" && seed == 1 {
            run.flows[0].fct_ps = None;
        }
    };
    let dir = made(folder.path(), &Made { run: stops, ..Made::default() });
    let small = &compare(&dir, &Dimension::Scheme, "new", "base").unwrap()[0].classes[0];
    assert_eq!((small.unfinished, small.baseline_unfinished, small.is_fair()), (0, 1, false));
    assert_eq!(small.by_flow.as_ref().unwrap().pairs, small.flows - 1);
}

fn groups(point: &PointSummary) -> impl Iterator<Item = &ClassSummary> {
    point.classes.iter().chain(point.asked.iter().map(|(_, group)| group))
}

#[test]
fn record__sketches_give_what_the_flows_give() {
    let further = asking(&[(MEAN_FCT, SizeClass::between(0, Some(33_000)))]);
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [full, sample, none] = [Record::Full, Record::Sample, Record::None];
    let dirs: Vec<ResultDir> = [full, sample, none]
        .into_iter()
        .zip(&folders)
        .map(|(record, folder)| {
            let flows = 25_000;
            let written =
                made(folder.path(), &Made { record, flows, further: further.clone(), seeds: 2, ..Made::default() });
            let read = ResultDir::open(folder.path()).unwrap();
            assert_eq!(read.summary(), written.summary());
            read
        })
        .collect();
    let rows: Vec<u64> = dirs.iter().map(|dir| dir.manifest().runs[0].flows).collect();
    // Every third is at most ten thousand.
    assert_eq!(rows, [25_000, 8_334, 0]);
    assert_eq!(dirs[1].summary(), dirs[2].summary());
    assert!(dirs[0].summary().points[0].exact && !dirs[2].summary().points[0].exact);
    for (exact, sketched) in dirs[0].summary().points.iter().zip(&dirs[2].summary().points) {
        for (exact, sketched) in groups(exact).zip(groups(sketched)) {
            assert_eq!((exact.flows(), &exact.class), (sketched.flows(), &sketched.class));
            for metric in Metric::ALL {
                for statistic in Statistic::ALL {
                    let value = |class: &ClassSummary| Some(class.estimate(metric, statistic)?.value);
                    let Some((exact, sketched)) = value(exact).zip(value(sketched)) else { continue };
                    let error = if statistic == Statistic::Mean { 1e-9 } else { QuantileSketch::RELATIVE_ERROR + 1e-4 };
                    assert!((sketched / exact - 1.0).abs() <= error, "{statistic:?}: {sketched} for {exact}");
                }
            }
        }
    }
    assert!(compare(&dirs[2], &Dimension::Scheme, "new", "base").unwrap()[0].classes[0].by_flow.is_none());
    assert_eq!(dirs[2].summary().points[0].asked.len(), 1);
}

/// The findings above notes, as severity and the beginning of the sentence.
fn findings(made_of: Made) -> Vec<(Severity, String, Vec<u32>)> {
    let folder = tempfile::tempdir().unwrap();
    let findings = made(folder.path(), &made_of).warnings();
    findings.into_iter().map(|found| (found.severity, found.text, found.points)).collect()
}

#[test]
fn doctor__finds_nothing_in_a_sound_result() {
    assert_eq!(findings(Made::default()), []);
}

#[test]
fn doctor__finds_what_was_made_wrong() {
    type Run = fn(&str, f64, u64, &mut flowsieve_record::PointResult);
    let at_load = |found: &[(Severity, String, Vec<u32>)], severity, text: &str, points: &[u32]| {
        let there = found.iter().any(|(its, words, at)| *its == severity && words.contains(text) && at == points);
        assert!(there, "{text} at {points:?} is not in {found:#?}");
    };
    let cases: [(Run, Severity, &str, &[u32]); 7] = [
        (
            |scheme, _, _, run| {
                if scheme == "new" {
                    run.links[0].packets_by_queue = vec![1_000, 0];
                }
            },
            Severity::Wrong,
            "larger than the first threshold, but all packets went through one queue",
            &[1, 3],
        ),
        (
            |scheme, _, _, run| {
                if scheme == "new" {
                    (run.links[0].packets_by_priority, run.links[0].packets_by_queue) = (vec![1_000, 0], vec![1_000]);
                }
            },
            Severity::Wrong,
            "but all packets had one priority",
            &[1, 3],
        ),
        (
            |_, load, _, run| {
                if load > 0.7 {
                    (run.links[0].utilisation, run.links[0].offered_load) = (0.995, 1.2);
                }
            },
            Severity::Careful,
            "host-up links were busy for more than 98 %",
            &[2, 3],
        ),
        (
            |_, load, seed, run| {
                if load > 0.7 && seed == 2 {
                    run.simulated_ps = 2 * run.arrivals_end_ps;
                }
            },
            Severity::Careful,
            "more than half of the arrival time to drain",
            &[2, 3],
        ),
        (
            |scheme, _, seed, run| {
                if scheme == "base" && seed == 1 {
                    run.flows[7].fct_ps = None;
                }
            },
            Severity::Careful,
            "flows had not finished",
            &[0, 2],
        ),
        (
            |scheme, load, _, run| {
                if scheme == "base" && load < 0.7 {
                    run.flows[9].ideal_ps = run.flows[9].fct_ps.unwrap() + 1;
                }
            },
            Severity::Wrong,
            "faster than alone",
            &[0],
        ),
        (
            |_, load, _, run| {
                if load < 0.7 {
                    run.flows.iter_mut().for_each(|flow| flow.fct_ps = Some(7 * flow.ideal_ps));
                }
            },
            Severity::Careful,
            "base and new gave the same figures in every class",
            &[0, 1],
        ),
    ];
    for (run, severity, text, points) in cases {
        let found = findings(Made { run, ..Made::default() });
        at_load(&found, severity, text, points);
    }
    let far = |point: &mut flowsieve_results::PointInfo| {
        point.thresholds_bytes.iter_mut().for_each(|bytes| *bytes = 1_000_000_000);
    };
    at_load(&findings(Made { point: far, ..Made::default() }), Severity::Careful, "no flow is larger than", &[1, 3]);
}

/// All findings as severity, sentence, remedy, and whether they name a cause.
fn all_findings(made_of: Made) -> Vec<(Severity, String, String, bool)> {
    let folder = tempfile::tempdir().unwrap();
    let findings = made(folder.path(), &made_of).findings();
    findings.into_iter().map(|found| (found.severity, found.text, found.remedy, found.is_cause)).collect()
}

fn lost(places: &[(&str, u64)], run: &mut PointResult) {
    let first = run.links[0].clone();
    let link = |&(name, buffer): &(&str, u64)| flowsieve_record::LinkClass {
        name: name.into(),
        drops: flowsieve_record::Drops { buffer, ..Default::default() },
        ..first.clone()
    };
    run.links = places.iter().map(link).collect();
}

#[test]
fn doctor__says_where_packets_were_lost_and_what_flows_waited_for_before_any_advice() {
    fn of(
        run: fn(&str, f64, u64, &mut PointResult),
        point: fn(&mut flowsieve_results::PointInfo),
    ) -> Vec<(Severity, String, String, bool)> {
        all_findings(Made { run, point, ..Made::default() })
    }
    let plain = |_: &mut flowsieve_results::PointInfo| {};
    let in_hosts = |_: &str, _: f64, _: u64, run: &mut PointResult| {
        lost(&[("host-up", 180), ("leaf-up", 0), ("host-down", 20)], run);
        run.timeouts = 1_000;
        run.delays = Some(flowsieve_record::Delays {
            flows: 4_000,
            beyond_ideal_ns: 1_000,
            timers_ns: 700,
            windows_ns: 200,
            ..Default::default()
        });
    };
    let found = of(in_hosts, plain);
    // Four points of three seeds have the same losses.
    let places = "600 packets were lost: 90 % at the senders' own ports (host-up), 10 % at host-down ports";
    let waits = "70 % was spent waiting for retransmission timers, 20 % for windows and handshakes, and 10 % in queues or with \
                 windows reduced by marks or losses";
    assert!(found[0].1 == places && found[0].3 && found[0].0 == Severity::Careful, "{found:#?}");
    assert!(found[1].1.ends_with(waits) && found[1].3 && found[1].2.is_empty(), "{found:#?}");
    assert!(found[2..].iter().all(|finding| !finding.3), "{found:#?}");
    let timeouts = found.iter().find(|finding| finding.1.contains("more than one timeout for ten flows")).unwrap();
    for remedy in [&found[0].2, &timeouts.2] {
        assert!(remedy.starts_with("nic = \"backpressure\" in [network]"), "{found:#?}");
    }
    // Hosts that hold packets back lose none; the advice is for the ports that do.
    let pauses = |info: &mut flowsieve_results::PointInfo| {
        info.settings.insert("scheme.nic".into(), "backpressure".into());
    };
    let elsewhere = |_: &str, _: f64, _: u64, run: &mut PointResult| {
        lost(&[("host-up", 0), ("leaf-up", 150), ("host-down", 50)], run);
        run.timeouts = 1_000;
    };
    let found = of(elsewhere, pauses);
    assert_eq!(found[0].1, "600 packets were lost: 75 % at leaf-up ports, 25 % at host-down ports");
    assert_eq!((found[0].0, found[0].2.as_str()), (Severity::Note, ""));
    let timeouts = found.iter().find(|finding| finding.1.contains("more than one timeout for ten flows")).unwrap();
    assert!(timeouts.2.starts_with("at the leaf-up ports a larger `buffer`"), "{found:#?}");
    // Timers that fire though nothing was lost are too short.
    let found = of(|_: &str, _: f64, _: u64, run: &mut PointResult| run.timeouts = 1_000, plain);
    let timeouts = found.iter().find(|finding| finding.1.contains("more than one timeout for ten flows")).unwrap();
    assert!(timeouts.2.contains("raise `rto_min`"), "{found:#?}");
}

#[test]
fn doctor__a_slow_drain_is_named_by_what_made_it() {
    fn of(run: fn(&str, f64, u64, &mut PointResult)) -> (String, String) {
        let found = all_findings(Made { run, ..Made::default() });
        let drain = found.into_iter().find(|finding| finding.1.starts_with("after the last arrival")).unwrap();
        (drain.1.split(": ").nth(1).unwrap_or_default().to_owned(), drain.2)
    }
    let (why, remedy) = of(|_: &str, _: f64, _: u64, run: &mut PointResult| {
        run.simulated_ps = 2 * run.arrivals_end_ps;
        run.links[0].offered_load = 1.2;
    });
    assert_eq!((why.as_str(), remedy.as_str()), ("queues grew while flows arrived", "lower the load"));
    let (why, remedy) = of(|_: &str, _: f64, _: u64, run: &mut PointResult| {
        run.simulated_ps = 2 * run.arrivals_end_ps;
        run.delays = Some(flowsieve_record::Delays {
            flows: 1,
            beyond_ideal_ns: 9,
            timers_ns: 1,
            windows_ns: 6,
            ..Default::default()
        });
    });
    assert!(why == "windows held flows back" && remedy.contains("`max_window`"), "{why}: {remedy}");
    let (why, remedy) = of(|_: &str, _: f64, _: u64, run: &mut PointResult| {
        run.simulated_ps = 2 * run.arrivals_end_ps;
        run.timeouts = 4_000;
    });
    assert!(why == "flows waited for retransmission timers" && !remedy.contains("load"), "{why}: {remedy}");
    // Results of before tell nothing of it: nothing is named.
    let (why, _) = of(|_: &str, _: f64, _: u64, run: &mut PointResult| run.simulated_ps = 2 * run.arrivals_end_ps);
    assert_eq!(why, "");
}

#[test]
fn doctor__names_a_flow_in_back_off_that_makes_the_mean() {
    fn delays(beyond_ideal_ns: u64) -> Option<flowsieve_record::Delays> {
        let flow =
            flowsieve_record::TimedOut { flow: 812, timeouts: 9, timers_ns: 14_000_000_000, fct_ns: 14_600_000_000 };
        Some(flowsieve_record::Delays { flows: 100, beyond_ideal_ns, most_timed_out: Some(flow), ..Default::default() })
    }
    let of = |run: fn(&str, f64, u64, &mut PointResult)| all_findings(Made { run, ..Made::default() });
    let found = of(|_: &str, _: f64, _: u64, run: &mut PointResult| run.delays = delays(140_000_000_000));
    let flow = found.iter().find(|finding| finding.1.starts_with("flow 812 ")).unwrap();
    let text = "flow 812 waited for 9 timeouts during 14.000 of its 14.600 s: 10 % of the time that all flows took beyond their \
                ideal FCTs";
    assert_eq!((flow.0, flow.1.as_str()), (Severity::Careful, text));
    assert!(flow.2.contains("`max_backoff`"), "{}", flow.2);
    let found = of(|_: &str, _: f64, _: u64, run: &mut PointResult| run.delays = delays(1_500_000_000_000));
    assert!(found.iter().all(|finding| !finding.1.contains("812")), "less than a hundredth changes no mean");
}

#[test]
fn doctor__a_list_gets_no_advice_on_a_load() {
    let listed = |info: &mut flowsieve_results::PointInfo| {
        info.settings.insert("workload.list".into(), "flows.csv".into());
        info.load = None;
    };
    let run = |_: &str, _: f64, _: u64, run: &mut PointResult| {
        run.simulated_ps = 2 * run.arrivals_end_ps;
        (run.links[0].utilisation, run.links[0].offered_load) = (0.995, 1.2);
        run.flows[7].fct_ps = None;
    };
    let found = all_findings(Made { run, point: listed, ..Made::default() });
    assert!(found.iter().any(|finding| finding.1.contains("saturated")), "{found:#?}");
    assert!(found.iter().all(|finding| !finding.2.contains("load") && !finding.2.contains("send more")), "{found:#?}");
    // One flow alone: nothing arrives over any time.
    let alone = |_: &str, _: f64, _: u64, run: &mut PointResult| {
        run.flows.truncate(1);
        (run.arrivals_end_ps, run.simulated_ps) = (0, 50_000_000);
        (run.links[0].utilisation, run.links[0].offered_load) = (0.0, 0.0);
    };
    let found = all_findings(Made { run: alone, ..Made::default() });
    assert!(found.iter().all(|finding| !finding.1.contains("queues grew")), "{found:#?}");
    assert!(found.iter().any(|finding| finding.1.starts_with("all flows began at once")), "{found:#?}");
}

#[test]
fn doctor__saturated_links_are_one_finding_that_names_the_worst() {
    let run = |_: &str, load: f64, seed: u64, run: &mut flowsieve_record::PointResult| {
        if load > 0.7 {
            let up = run.links[0].clone();
            run.links.push(flowsieve_record::LinkClass { name: "host-down".into(), ..up });
            for (link, busy) in run.links.iter_mut().zip([0.985, 0.99]) {
                // Host-down in two seeds, and host-up in one a little.
                (link.utilisation, link.offered_load) = (if seed == 3 { 1.97 - busy } else { busy }, 1.1);
            }
        }
    };
    let found = findings(Made { run, ..Made::default() });
    let busy: Vec<_> = found.iter().filter(|(_, text, _)| text.contains("saturated")).collect();
    assert_eq!(busy.len(), 1, "{found:#?}");
    assert!(busy[0].1.starts_with("the host-down links") && busy[0].2 == [2, 3], "{found:#?}");
}

/// Host-up links are paused, at one load for most of the time.
#[test]
fn doctor__pauses_are_a_note_and_most_of_the_time_a_storm() {
    let run = |_: &str, load: f64, _: u64, run: &mut PointResult| {
        let (simulated, storms) = (run.simulated_ps, load > 0.7);
        if let Some(link) = run.links.iter_mut().find(|link| link.name == "host-up") {
            let most_ps = if storms { simulated / 5 * 3 } else { simulated / 10 };
            link.paused = Some(Paused { links: 1, all_ps: most_ps, most_ps });
        }
    };
    let found = all_findings(Made { run, ..Made::default() });
    let has = |severity: Severity, begins: &str, most: &str| {
        found.iter().any(|(of, text, ..)| *of == severity && text.starts_with(begins) && text.contains(most))
    };
    assert!(has(Severity::Careful, "a storm of pauses: the host-up links", "one of them for 60.0 %"), "{found:#?}");
    assert!(has(Severity::Note, "the host-up links were paused for 5.00 %", "one of them for 10.0 %"), "{found:#?}");
}

#[test]
fn doctor__runs_that_differ_in_numbers_alone_are_one_finding() {
    let run = |scheme: &str, load: f64, seed: u64, run: &mut flowsieve_record::PointResult| {
        if scheme == "new" {
            run.warnings.push(format!("{} of 8 lists were full", if load > 0.7 { seed } else { 1 }));
        }
    };
    let full =
        |found: Vec<(Severity, String, Vec<u32>)>| found.into_iter().filter(|(_, text, _)| text.contains("full"));
    let found: Vec<_> = full(findings(Made { run, ..Made::default() })).collect();
    let text = "1 of 8 lists were full (in other runs with other numbers)".to_owned();
    assert_eq!(found, [(Severity::Careful, text, vec![1, 3])]);
}

#[test]
fn doctor__notes_what_is_good_to_know() {
    let folder = tempfile::tempdir().unwrap();
    let notes = made(folder.path(), &Made { seeds: 1, flows: 900, record: Record::None, ..Made::default() }).findings();
    let says = |text: &str| notes.iter().any(|note| note.severity == Severity::Note && note.text.contains(text));
    assert!(says("there is one seed") && says("beyond the p99.9 of") && says("within 0.4 %"), "{notes:#?}");
}

#[test]
fn join__deadlines_coflows_and_series_travel_with_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let run = |_: &str, _: f64, _: u64, run: &mut flowsieve_record::PointResult| {
        for flow in run.flows.iter_mut().take(100) {
            (flow.coflow, flow.deadline_ps) = (Some(flow.flow / 10), Some(if flow.flow < 30 { 1 } else { u64::MAX }));
        }
    };
    let dir = made(folder.path(), &Made { run, flows: 300, ..Made::default() });
    let deadlines = dir.manifest().runs[0].measured.deadlines;
    assert_eq!((deadlines.flows, deadlines.missed), (100, 30));
    let sizes = || (0..100).map(|flow: u64| 1_000 + flow * 37 % 4_000 * 1_000);
    assert_eq!((deadlines.bytes, deadlines.missed_bytes), (sizes().sum(), sizes().take(30).sum()));
    let mut coflows = 0;
    dir.for_each_run(|_, flows| coflows += flows.iter().filter(|flow| flow.coflow == Some(9)).count()).unwrap();
    assert_eq!(coflows, 10 * 12);
    // Twelve runs of ten coflows, and of three series in a hundred steps.
    assert_eq!(rows(&folder.path().join("coflows.parquet")), 12 * 10);
    assert_eq!(rows(&folder.path().join("series.parquet")), 12 * 3 * 100);
    // Parts alone hold them besides: the manifest stays small.
    assert!(dir.manifest().runs.iter().all(|run| run.measured.coflows.is_empty() && run.measured.series.is_empty()));
    made(folder.path(), &Made { point: |point| point.parts[0].key += "-other", flows: 300, ..Made::default() });
    assert!(folder.path().join("coflows.parquet").exists(), "some parts still have coflows");
}

#[test]
fn coflows__in_summaries_and_comparisons() {
    // Each small flow is a coflow of its own, so that its CCT is its FCT.
    let run = |_: &str, _: f64, _: u64, run: &mut flowsieve_record::PointResult| {
        run.flows.iter_mut().filter(|flow| flow.bytes <= 100_000).for_each(|flow| flow.coflow = Some(flow.flow));
    };
    let small = SizeClass::between(0, Some(20_000));
    let further = asking(&[(MEAN_CCT, small.clone()), (MEAN_FCT, small)]);
    for record in [Record::Full, Record::None] {
        let folder = tempfile::tempdir().unwrap();
        let written = made(folder.path(), &Made { run, record, further: further.clone(), ..Made::default() });
        let dir = ResultDir::open(folder.path()).unwrap();
        assert_eq!(dir.summary(), written.summary());
        for point in &dir.summary().points {
            let (coflows, flows) = (&point.coflows, &point.classes[0]);
            assert_eq!((coflows.flows(), coflows.unfinished()), (flows.flows(), 0));
            let mean = |of: &ClassSummary| of.estimate(Metric::Fct, Statistic::Mean).unwrap().value;
            assert!((mean(coflows) / mean(flows) - 1.0).abs() < 1e-12);
            assert_eq!(coflows.estimate(Metric::Slowdown, Statistic::Mean), None);
        }
        for (at, expected) in compare(&dir, &Dimension::Scheme, "new", "base").unwrap().iter().zip([0.8, 0.6]) {
            let coflows = at.coflows.as_ref().unwrap();
            coflows.fct.iter().for_each(|ratio| near(ratio.as_ref().unwrap(), expected));
            assert!(coflows.is_fair());
            // Coflow by coflow they are its flows, if these are kept.
            let by_coflow = coflows.by_flow.as_ref();
            assert_eq!(by_coflow.is_some(), record == Record::Full);
            assert_eq!(by_coflow, at.classes[0].by_flow.as_ref());
        }
        // Those of a size class are the flows of that class, whose FCT sketches tell within 0.4 %.
        let asked = |point: usize| {
            let point = &dir.summary().points[point];
            [&point.asked_coflows[0], &point.asked[0].1]
        };
        let [cct, fct] = [0, 1].map(|at| asked(1)[at].ratio(asked(0)[at], Metric::Fct, Statistic::Mean).unwrap().value);
        assert!((cct / fct - 1.0).abs() < if record == Record::Full { 1e-12 } else { 8e-3 }, "{cct} {fct}");
        let csv = std::fs::read_to_string(folder.path().join("summary.csv")).unwrap();
        let of_coflows: Vec<&str> = csv.lines().filter(|line| line.contains(",coflows,0,,3,")).collect();
        // A row a point, with the ratio to the first scheme behind the mean CCT and its interval, and without slowdown: ten
        // statistics and ratios of three cells each.
        assert_eq!(of_coflows.len(), 4, "{csv}");
        let cells: Vec<&str> = of_coflows[1].split(',').collect();
        assert!(cells[12].starts_with("0.8") && cells[39..69].iter().all(|cell| cell.is_empty()), "{}", of_coflows[1]);
    }
}

#[test]
fn coflows__by_class_in_summaries_and_comparisons() {
    // Each flow is a coflow of its own, narrow, and as slow as the flow. Small ones are short, the others more than 5 MB long.
    let run = |_: &str, _: f64, _: u64, run: &mut flowsieve_record::PointResult| {
        for flow in &mut run.flows {
            flow.coflow = Some(flow.flow);
            flow.bytes *= if flow.bytes > 100_000 { 50 } else { 1 };
        }
        run.ideal_ccts_ps = run.flows.iter().map(|flow| (flow.flow, flow.ideal_ps)).collect();
    };
    let folder = tempfile::tempdir().unwrap();
    let written = made(folder.path(), &Made { run, ..Made::default() });
    let dir = ResultDir::open(folder.path()).unwrap();
    assert_eq!(dir.summary(), written.summary());
    let point = &dir.summary().points[0];
    let counts = CoflowClass::ALL.map(|class| point.coflow_class(class).flows());
    let long = point.coflows.flows() - counts[0];
    assert!(long > 0 && counts == [counts[0], long, 0, 0], "{counts:?}");
    let all = point.classes.last().unwrap();
    for metric in Metric::ALL {
        let mean = |of: &ClassSummary| of.estimate(metric, Statistic::Mean).unwrap().value;
        assert!((mean(&point.coflows) / mean(all) - 1.0).abs() < 1e-12);
    }
    let compared = compare(&dir, &Dimension::Scheme, "new", "base").unwrap();
    let names: Vec<&str> = compared[0].coflow_classes.iter().map(|(class, _)| class.name()).collect();
    assert_eq!(names, ["SN", "LN"]);
    let csv = std::fs::read_to_string(folder.path().join("summary.csv")).unwrap();
    let classes = ["coflows", "coflows SN", "coflows LN", "coflows SW"]
        .map(|class| csv.lines().filter(|line| line.contains(&format!(",{class},0,,3,"))).count());
    assert_eq!(classes, [4, 4, 4, 0], "{csv}");
}

fn rows(path: &std::path::Path) -> i64 {
    let file = std::fs::File::open(path).unwrap();
    let reader = parquet::file::serialized_reader::SerializedFileReader::new(file).unwrap();
    parquet::file::reader::FileReader::metadata(&reader).file_metadata().num_rows()
}
