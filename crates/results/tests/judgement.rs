//! What follows from a result: comparisons, claims, findings, and the same from sketches.

use crate::made::{Made, made};
use flowsieve_record::{PointResult, QuantileSketch, Series};
use flowsieve_results::compare::compare;
use flowsieve_results::{
    Checked, Claim, ClassSummary, CoflowClass, Dimension, Expected, Figure, Metric, Only, PointSummary, Ratio, Record,
    ResultDir, SeriesAt, Severity, SizeClass, Statistic, Verdict,
};

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

fn claim(expected: Expected) -> Claim {
    Claim {
        id: "c".into(),
        place: "Fig 1".into(),
        figure: Figure::Flows(Statistic::Mean, Metric::Fct),
        series: None,
        class: SizeClass::between(0, Some(100_000)),
        only: Only::default(),
        scheme: "new".into(),
        baselines: vec!["base".into()],
        loads: Vec::new(),
        at: Vec::new(),
        expected,
        tolerance: 0.02,
        note: String::new(),
        stand_in: None,
        coflow_class: None,
        baseline_class: None,
        repeats: None,
        reading: None,
        acts: None,
        contradicts: None,
        why: None,
    }
}

fn verdicts(made_of: Made, claims: Vec<Claim>) -> Vec<(Verdict, String)> {
    let folder = tempfile::tempdir().unwrap();
    let dir = made(folder.path(), &Made { claims, ..made_of });
    let open = ResultDir::open(folder.path()).unwrap();
    assert_eq!(open.summary(), dir.summary());
    open.checked_claims().into_iter().map(|(_, checked)| (checked.verdict, checked.why)).collect()
}

#[test]
fn claims__verdicts_on_known_ratios() {
    use Verdict::{Agrees, Disagrees, NotResolved};
    let at = |load: f64, expected| Claim { loads: vec![load], ..claim(expected) };
    let table = [
        // The mean of 0.8 and 0.6.
        (claim(Expected::Change(-0.3)), Agrees),
        (claim(Expected::Change(-0.2)), Disagrees),
        (at(0.5, Expected::Change(-0.2)), Agrees),
        (at(0.8, Expected::Change(-0.2)), Disagrees),
        (claim(Expected::UpTo(-0.4)), Agrees),
        (claim(Expected::UpTo(-0.3)), Disagrees),
        (claim(Expected::Between(-0.4, -0.2)), Agrees),
        (claim(Expected::Between(-0.35, -0.15)), Disagrees),
        (claim(Expected::Lower), Agrees),
        (claim(Expected::Higher), Disagrees),
        (Claim { class: SizeClass::between(0, Some(50_000)), ..claim(Expected::Lower) }, Agrees),
        (Claim { class: SizeClass::between(1_000_000, None), tolerance: 0.02, ..claim(Expected::Change(0.0)) }, Agrees),
        (Claim { figure: serde_json::from_str("\"timeouts\"").unwrap(), ..claim(Expected::Lower) }, Agrees),
        // None were counted: there is no ratio.
        (Claim { figure: serde_json::from_str("\"drops\"").unwrap(), ..claim(Expected::Lower) }, NotResolved),
        (Claim { baselines: vec!["other".into()], ..claim(Expected::Lower) }, NotResolved),
        (at(0.7, Expected::Lower), NotResolved),
    ];
    let (claims, expected): (Vec<Claim>, Vec<Verdict>) = table.into_iter().unzip();
    let found = verdicts(Made::default(), claims.clone());
    for ((claim, expected), (verdict, why)) in claims.iter().zip(expected).zip(&found) {
        assert_eq!(*verdict, expected, "{claim:?}: {why}");
    }
    assert_eq!(found.last().unwrap().1, "not run");
}

/// "new" uses one queue in a run at load 0.8, and "base" in all of its runs.
fn one_queue(scheme: &str, load: f64, seed: u64, run: &mut PointResult) {
    if scheme == "base" || (load, seed) == (0.8, 2) {
        run.links[0].packets_by_queue = vec![1_000, 0];
    }
}

#[test]
fn claims__are_not_tested_by_runs_in_which_the_mechanism_did_not_act() {
    use Verdict::{Agrees, NotTested};
    let queues = || serde_json::from_str("\"queues used\"").ok();
    let of = |expected| Claim { acts: queues(), ..claim(expected) };
    let claims = vec![
        of(Expected::Change(-0.3)),
        Claim { stand_in: Some("another trace".into()), ..of(Expected::Change(-0.3)) },
        Claim { loads: vec![0.5], ..of(Expected::Change(-0.2)) },
        // The baseline may have one queue, and each scheme of an order needs several.
        Claim { loads: vec![0.5], ..of(Expected::Lower) },
        Claim { loads: vec![0.5], ..of(Expected::Rising) },
        Claim { acts: None, ..of(Expected::Change(-0.3)) },
    ];
    let found = verdicts(Made { run: one_queue, ..Made::default() }, claims);
    let expected = [NotTested, NotTested, Agrees, Agrees, NotTested, Agrees];
    assert_eq!(found.iter().map(|(verdict, _)| *verdict).collect::<Vec<_>>(), expected);
    assert_eq!(found[0].1, "queues used: no more than 1 in 1 of 6 runs");
    assert_eq!(found[4].1, "queues used: no more than 1 in 3 of 6 runs");
    let updates = Claim { acts: serde_json::from_str("\"threshold updates\"").ok(), ..claim(Expected::Lower) };
    let found = verdicts(Made::default(), vec![updates]);
    assert_eq!(found, [(NotTested, "threshold updates: none in 6 of 6 runs".into())]);
}

/// Flows take 4 to 52 times as long under "base" as alone, 28 times in the mean: nothing saves more than 96 %.
#[test]
fn claims__what_no_scheme_can_do() {
    let folder = tempfile::tempdir().unwrap();
    let of = |expected| Claim { tolerance: 0.005, ..claim(expected) };
    let p99 = Claim { figure: Figure::Flows(Statistic::P99, Metric::Fct), ..of(Expected::Change(-0.98)) };
    let all = [Expected::Change(-0.98), Expected::UpTo(-0.98), Expected::Between(-0.99, -0.98), Expected::Change(-0.9)];
    let claims =
        all.map(of).into_iter().chain([of(Expected::Between(-0.98, -0.9)), of(Expected::Lower), p99]).collect();
    let dir = made(folder.path(), &Made { claims, ..Made::default() });
    let checked = dir.checked_claims();
    let beyond: Vec<Option<bool>> =
        checked.iter().map(|(claim, checked)| checked.bound.map(|bound| claim.is_beyond(&bound))).collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(beyond, [yes, yes, yes, no, no, no, None]);
    let bound = checked[0].1.bound.unwrap();
    assert!((bound.value * 28.0 - 1.0).abs() < 0.1, "{bound:?}");
}

/// What "new" takes of what "base" does at load 0.5, seed by seed: 0.6 and 0.92 by turns; from the eleventh on eight times as much.
fn by_turns(scheme: &str, _: f64, seed: u64, run: &mut PointResult) {
    let factor = match seed {
        _ if scheme == "base" => 1.0,
        11.. => 10.0,
        odd if odd % 2 == 1 => 0.75,
        _ => 1.15,
    };
    for flow in &mut run.flows {
        flow.fct_ps = flow.fct_ps.map(|fct_ps| (fct_ps as f64 * factor) as u64);
    }
}

/// Whether "new" takes less at load 0.5, after this many seeds, and after how many it should be known.
fn looked_at(seeds: u64, looks: bool) -> (Checked, Option<usize>) {
    let folder = tempfile::tempdir().unwrap();
    let claims = vec![Claim { loads: vec![0.5], ..claim(Expected::Lower) }];
    let dir = made(folder.path(), &Made { seeds, run: by_turns, claims, looks, flows: 100, ..Made::default() });
    let (claim, checked) = dir.checked_claims().remove(0);
    (checked, claim.seeds_to_resolve(&dir.manifest().experiment, &dir.measured()))
}

/// Logarithms of 0.6 and 0.92 have the mean -0.297 over ten seeds and deviate by 0.226: with Student's 3.5 of such a look the
/// interval ends 0.05 below zero. Over five seeds it ends above.
#[test]
fn claims__are_judged_at_the_first_look_that_decides() {
    let verdict = |seeds| (looked_at(seeds, true).0.verdict, looked_at(seeds, true).0.seeds);
    assert_eq!(verdict(5), (Verdict::NotResolved, Some(5)));
    assert_eq!(verdict(9), (Verdict::NotResolved, Some(7)), "there is no look between two looks");
    assert_eq!(verdict(10), (Verdict::Agrees, Some(10)));
    assert_eq!(verdict(14), (Verdict::Agrees, Some(10)), "it stays decided");
    assert_eq!(verdict(4), (Verdict::NotResolved, None), "before the first look it is judged as without looks");
    let (ten, fourteen) = (looked_at(10, true).0, looked_at(14, true).0);
    assert_eq!(ten, fourteen, "with its interval");
    // A single look at the end sees what has come since.
    assert_eq!(looked_at(14, false).0.verdict, Verdict::NotResolved);
    assert_eq!(looked_at(7, false).0.verdict, Verdict::Agrees);
}

#[test]
fn seeds_to_resolve__by_how_those_at_hand_deviate() {
    assert_eq!(looked_at(7, true).1, Some(10));
    // -0.340 give or take 0.234 seed by seed: 0.361 at seven, where Student's t is 4.08, and 0.261 at ten.
    assert_eq!(looked_at(5, true).1, Some(10));
    assert_eq!(looked_at(14, true).1, None, "a third of the seeds says the opposite");
}

/// What is known of a claim after five seeds whose ratios have the logarithms 0.05 and -0.09 by turns. They are 0.997 in the
/// mean, and deviate by 0.077: the interval begins at 0.884 with five seeds and, as if there were ten, at 0.916.
fn after_five(change: f64) -> (Verdict, Option<usize>) {
    let folder = tempfile::tempdir().unwrap();
    let run: fn(&str, f64, u64, &mut PointResult) = |scheme, _, seed, run| {
        let log: f64 = if seed % 2 == 1 { 0.05 } else { -0.09 };
        for flow in run.flows.iter_mut().filter(|_| scheme == "new") {
            flow.fct_ps = flow.fct_ps.map(|fct_ps| (fct_ps as f64 / 0.8 * libm::exp(log)) as u64);
        }
    };
    let claims = vec![Claim { loads: vec![0.5], tolerance: 0.05, ..claim(Expected::Change(change)) }];
    let dir = made(folder.path(), &Made { seeds: 5, run, claims, looks: true, flows: 100, ..Made::default() });
    let (claim, checked) = dir.checked_claims().remove(0);
    (checked.verdict, claim.seeds_to_resolve(&dir.manifest().experiment, &dir.measured()))
}

#[test]
fn seeds_to_resolve__none_where_twice_the_seeds_still_cross_the_edge() {
    use Verdict::{Disagrees, NotResolved};
    // Their edges are at 0.85, 0.9 and 0.95.
    assert_eq!(after_five(-0.2).0, Disagrees);
    assert_eq!(after_five(-0.15), (NotResolved, Some(10)));
    assert_eq!(after_five(-0.1), (NotResolved, None));
}

/// The ratios are 0.8 at one load and 0.6 at the other.
#[test]
fn claims__of_a_stand_in_are_judged_by_their_direction() {
    use Verdict::{NotResolved, OtherDirection, SameDirection};
    let stand_in = |expected| Claim { stand_in: Some("like".into()), ..claim(expected) };
    let class = SizeClass::between(1_000_000, None);
    let table = [
        (stand_in(Expected::Change(-0.9)), SameDirection),
        (stand_in(Expected::Change(0.1)), OtherDirection),
        (stand_in(Expected::UpTo(-0.01)), SameDirection),
        (stand_in(Expected::UpTo(5.0)), OtherDirection),
        (stand_in(Expected::Between(-0.99, -0.98)), SameDirection),
        (stand_in(Expected::Between(-0.99, 0.0)), SameDirection),
        (stand_in(Expected::Between(0.1, 0.2)), OtherDirection),
        (stand_in(Expected::Lower), SameDirection),
        // On neither side of 1.
        (stand_in(Expected::Between(-0.4, 0.1)), NotResolved),
        (stand_in(Expected::Change(0.0)), NotResolved),
        // Flows above 1 MB are alike: the interval is on no side.
        (Claim { class: class.clone(), ..stand_in(Expected::Change(-0.5)) }, NotResolved),
        (Claim { class: class.clone(), ..stand_in(Expected::UpTo(-0.5)) }, NotResolved),
        (Claim { class: class.clone(), ..stand_in(Expected::UpTo(0.5)) }, NotResolved),
        (Claim { class, ..stand_in(Expected::Between(-0.5, 0.0)) }, NotResolved),
    ];
    let (claims, expected): (Vec<Claim>, Vec<Verdict>) = table.into_iter().unzip();
    let found = verdicts(Made::default(), claims.clone());
    for ((claim, expected), (verdict, why)) in claims.iter().zip(expected).zip(&found) {
        assert_eq!(*verdict, expected, "{claim:?}: {why}");
    }
    assert!(found[8].1.contains("no direction"), "{}", found[8].1);
}

#[test]
fn claims__one_seed_and_unfinished_flows_resolve_nothing() {
    let one_seed = verdicts(Made { seeds: 1, ..Made::default() }, vec![claim(Expected::Lower)]);
    assert_eq!(one_seed, [(Verdict::NotResolved, "one seed has no interval".to_string())]);
    let stops = |_: &str, _: f64, _: u64, run: &mut flowsieve_record::PointResult| run.flows[0].fct_ps = None;
    let unfinished = verdicts(Made { run: stops, ..Made::default() }, vec![claim(Expected::Lower)]);
    assert_eq!(unfinished, [(Verdict::NotResolved, "flows did not finish".to_string())]);
}

#[test]
fn claims__values_orders_and_closeness() {
    use Verdict::{Agrees, Disagrees, NotResolved};
    let figure = |name: &str| serde_json::from_str::<Figure>(&format!("\"{name}\"")).unwrap();
    let value = |name: &str, expected| Claim { figure: figure(name), baselines: Vec::new(), ..claim(expected) };
    let order = |scheme: &str, other: &str, expected| Claim {
        scheme: scheme.into(),
        baselines: vec![other.into()],
        ..claim(expected)
    };
    let large = SizeClass::between(1_000_000, None);
    let series = |at_ps| SeriesAt { name: "depth (bytes)".into(), of: "leaf0".into(), at_ps, until_ps: None };
    let of_series =
        |at_ps, expected| Claim { id: format!("{at_ps:?}"), series: Some(series(at_ps)), ..value("series", expected) };
    let ps = 1e12;
    let table = [
        // Timeouts are 11, 12 and 13: their interval is 12 ± 2.5.
        (Claim { tolerance: 0.25, ..value("timeouts", Expected::Value(12.0)) }, Agrees),
        (Claim { tolerance: 0.0, ..value("timeouts", Expected::Value(12.0)) }, NotResolved),
        (value("timeouts", Expected::Value(20.0)), Disagrees),
        (value("timeouts", Expected::Within(9.0, 15.0)), Agrees),
        (value("mean fct", Expected::Within(0.0, ps)), Agrees),
        (value("mean fct", Expected::Value(ps)), Disagrees),
        (value("drops", Expected::Value(0.0)), Agrees),
        (value("deadlines met", Expected::Value(0.75)), Agrees),
        (order("new", "base", Expected::Rising), Agrees),
        (order("base", "new", Expected::Rising), Disagrees),
        (order("base", "new", Expected::Close), Disagrees),
        (Claim { class: large.clone(), ..order("base", "new", Expected::Close) }, Agrees),
        (Claim { class: large, ..order("base", "new", Expected::Rising) }, NotResolved),
        (of_series(None, Expected::Value(30.0)), Agrees),
        (of_series(Some(15), Expected::Value(20.0)), Agrees),
        (of_series(Some(99), Expected::Value(30.0)), NotResolved),
        (Claim { only: Only { workload: Some(1), ..Only::default() }, ..claim(Expected::Change(-0.3)) }, Agrees),
        (Claim { only: Only { workload: Some(2), ..Only::default() }, ..claim(Expected::Lower) }, NotResolved),
        (Claim { figure: Figure::Variation, ..claim(Expected::Change(0.0)) }, Agrees),
        (Claim { figure: Figure::Fairness, ..claim(Expected::Change(0.0)) }, Agrees),
        (value("loss events", Expected::Within(109.0, 115.0)), Agrees),
        (value("held bytes", Expected::Value(1_000.0)), Agrees),
        (value("deadline bytes met", Expected::Value(0.75)), Agrees),
    ];
    let run = |_: &str, _: f64, _: u64, run: &mut flowsieve_record::PointResult| {
        for flow in &mut run.flows {
            flow.class = u8::from(flow.flow % 2 == 0);
            // 1,000 bytes from the first to the last instant of each.
            flow.held_byte_ns = flow.fct_ps.unwrap_or(0);
            // Of each four one is missed.
            flow.deadline_ps = Some(if flow.flow % 4 == 0 { 1 } else { u64::MAX });
        }
        run.found_lost = 100;
        let values = vec![10.0, 20.0, 30.0];
        let (name, of) = ("depth (bytes)".into(), "leaf0".into());
        run.series.push(Series { name, of, first_step: 0, step_ps: 10, values });
    };
    let (claims, expected): (Vec<Claim>, Vec<Verdict>) = table.into_iter().unzip();
    let made_of = |record| Made { run, record, ..Made::default() };
    let found = verdicts(made_of(Record::Full), claims.clone());
    for ((claim, expected), (verdict, why)) in claims.iter().zip(expected).zip(&found) {
        assert_eq!(*verdict, expected, "{claim:?}: {why}");
    }
    assert_eq!(found[9].1, "base and new at load 0.5, and 1 more");
    let sketched = verdicts(made_of(Record::None), claims);
    for told in [16, 17, 19] {
        assert_eq!(sketched[told], (NotResolved, "sketches of flows do not contain it".to_string()));
    }
    assert_eq!(sketched[13].0, Agrees);
}

fn groups(point: &PointSummary) -> impl Iterator<Item = &ClassSummary> {
    point.classes.iter().chain(point.claimed.iter().map(|(_, group)| group))
}

#[test]
fn record__sketches_give_what_the_flows_give() {
    let claims = vec![Claim { class: SizeClass::between(0, Some(33_000)), ..claim(Expected::Lower) }];
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [full, sample, none] = [Record::Full, Record::Sample, Record::None];
    let dirs: Vec<ResultDir> = [full, sample, none]
        .into_iter()
        .zip(&folders)
        .map(|(record, folder)| {
            let flows = 25_000;
            let written =
                made(folder.path(), &Made { record, flows, claims: claims.clone(), seeds: 2, ..Made::default() });
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
    assert_eq!(dirs[2].checked_claims()[0].1.verdict, Verdict::Agrees);
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
fn coflows__in_summaries_comparisons_and_claims() {
    // Each small flow is a coflow of its own, so that its CCT is its FCT.
    let run = |_: &str, _: f64, _: u64, run: &mut flowsieve_record::PointResult| {
        run.flows.iter_mut().filter(|flow| flow.bytes <= 100_000).for_each(|flow| flow.coflow = Some(flow.flow));
    };
    let of = |name: &str, expected| Claim {
        figure: serde_json::from_str(&format!("\"{name}\"")).unwrap(),
        class: SizeClass::between(0, None),
        ..claim(expected)
    };
    let small = |name: &str| Claim { class: SizeClass::between(0, Some(20_000)), ..of(name, Expected::Change(-0.3)) };
    let claims = vec![
        of("mean cct", Expected::Change(-0.3)),
        of("p99 cct", Expected::Higher),
        small("mean cct"),
        small("mean fct"),
        Claim { class: SizeClass::between(100_000, None), ..of("mean cct", Expected::Lower) },
        of("typical cct", Expected::Change(-0.3)),
        Claim { class: SizeClass::between(0, Some(100_000)), ..of("typical fct", Expected::Change(-0.3)) },
    ];
    for record in [Record::Full, Record::None] {
        let folder = tempfile::tempdir().unwrap();
        let written = made(folder.path(), &Made { run, record, claims: claims.clone(), ..Made::default() });
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
        let checked: Vec<_> = dir.checked_claims().into_iter().map(|(_, checked)| checked).collect();
        // Geometric means do not need the coflows themselves.
        let typical = &checked[checked.len() - 2..];
        assert!(typical.iter().all(|checked| checked.verdict == Verdict::Agrees), "{typical:?}");
        assert_eq!([0, 1].map(|claim| checked[claim].verdict), [Verdict::Agrees, Verdict::Disagrees]);
        // Those of a size class are the flows of that class, whose FCT sketches tell within 0.4 %.
        let [cct, fct] = [2, 3].map(|claim: usize| checked[claim].ratio.unwrap().value);
        assert!((cct / fct - 1.0).abs() < if record == Record::Full { 1e-12 } else { 8e-3 }, "{cct} {fct}");
        assert_eq!(checked[4].why, "nothing to compare at one of its points");
        let csv = std::fs::read_to_string(folder.path().join("summary.csv")).unwrap();
        let of_coflows: Vec<&str> = csv.lines().filter(|line| line.contains(",coflows,0,,3,")).collect();
        // A row a point, with the ratio to the first scheme behind the mean CCT and its interval, and without slowdown: ten
        // statistics and ratios of three cells each.
        assert_eq!(of_coflows.len(), 4, "{csv}");
        let cells: Vec<&str> = of_coflows[1].split(',').collect();
        assert!(cells[12].starts_with("0.8") && cells[39..69].iter().all(|cell| cell.is_empty()), "{}", of_coflows[1]);
    }
    let unfinished = |_: &str, _: f64, _: u64, run: &mut flowsieve_record::PointResult| {
        (run.flows[5].coflow, run.flows[5].fct_ps) = (Some(1), None);
    };
    let found = verdicts(Made { run: unfinished, ..Made::default() }, vec![of("mean cct", Expected::Lower)]);
    assert_eq!(found, [(Verdict::NotResolved, "coflows did not finish".to_string())]);
    let none = verdicts(Made::default(), vec![of("mean cct", Expected::Lower)]);
    assert_eq!(none, [(Verdict::NotResolved, "nothing to compare at one of its points".to_string())]);
}

#[test]
fn coflows__by_class_in_summaries_comparisons_and_claims() {
    // Each flow is a coflow of its own, narrow, and as slow as the flow. Small ones are short, the others more than 5 MB long.
    let run = |_: &str, _: f64, _: u64, run: &mut flowsieve_record::PointResult| {
        for flow in &mut run.flows {
            flow.coflow = Some(flow.flow);
            flow.bytes *= if flow.bytes > 100_000 { 50 } else { 1 };
        }
        run.ideal_ccts_ps = run.flows.iter().map(|flow| (flow.flow, flow.ideal_ps)).collect();
    };
    let of = |name: &str, class, baseline_class, expected| Claim {
        figure: serde_json::from_str(&format!("\"{name}\"")).unwrap(),
        class: SizeClass::between(0, None),
        coflow_class: CoflowClass::parse(class),
        baseline_class: CoflowClass::parse(baseline_class),
        baselines: if baseline_class.is_empty() { vec!["base".into()] } else { Vec::new() },
        ..claim(expected)
    };
    let claims = vec![
        of("mean cct", "LN", "SN", Expected::Higher),
        of("mean cct", "SN", "LN", Expected::Higher),
        of("mean cct", "SN", "", Expected::Change(-0.3)),
        of("p50 coflow slowdown", "LN", "", Expected::Change(-0.3)),
        of("mean cct", "SW", "SN", Expected::Higher),
    ];
    let folder = tempfile::tempdir().unwrap();
    let written = made(folder.path(), &Made { run, claims, ..Made::default() });
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
    let checked: Vec<_> = dir.checked_claims().into_iter().map(|(_, checked)| checked).collect();
    let verdicts: Vec<Verdict> = checked.iter().map(|checked| checked.verdict).collect();
    use Verdict::{Agrees, Disagrees, NotResolved};
    assert_eq!(verdicts, [Agrees, Disagrees, Agrees, Disagrees, NotResolved]);
    assert_eq!(checked[4].why, "nothing to compare at one of its points");
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
