//! Verdicts on claims about results that are made up, with known differences between two schemes.

use crate::made::{Made, made};
use flowsieve_papers::{Beside, Checked, Claim, Claims, Expected, Verdict};
use flowsieve_record::{PointResult, Series, Step, StepRow};
use flowsieve_results::measured::Quantity;
use flowsieve_results::{CoflowClass, Figure, Metric, Only, Record, ResultDir, SeriesAt, SizeClass, Statistic};
use std::path::Path;

/// A result of an experiment with these claims.
fn claimed(folder: &Path, claims: &[Claim], made_of: Made) -> ResultDir {
    let claims = Claims { measured: claims.to_vec(), unmeasured: Vec::new() };
    made(folder, &Made { further: claims.further(), ..made_of })
}

/// As many seeds as the first look has.
fn five() -> Made {
    Made { seeds: 5, ..Made::default() }
}

fn checked(dir: &ResultDir) -> Vec<Checked> {
    Beside::of(dir).unwrap().checked().into_iter().map(|(_, checked)| checked).collect()
}

/// The same, and after how many seeds the first of its claims would be resolved.
fn first_checked(dir: &ResultDir) -> (Checked, Option<usize>) {
    let claims = Claims::of(&dir.manifest().experiment).unwrap();
    let enough = claims.measured[0].seeds_to_resolve(&dir.manifest().experiment, &dir.measured(claims.needed()));
    (checked(dir).swap_remove(0), enough)
}

fn claim(expected: Expected) -> Claim {
    Claim {
        id: "c".into(),
        place: "Fig 1".into(),
        quantity: Quantity {
            class: SizeClass::between(0, Some(100_000)),
            ..Quantity::of_all_flows(Figure::Flows(Statistic::Mean, Metric::Fct))
        },
        scheme: "new".into(),
        baselines: vec!["base".into()],
        loads: Vec::new(),
        at: Vec::new(),
        expected,
        tolerance: 0.02,
        note: String::new(),
        stand_in: None,
        baseline_class: None,
        repeats: None,
        reading: None,
        acts: None,
        contradicts: None,
        why: None,
        ideal: None,
        why_test: None,
    }
}

fn of_class(class: SizeClass, claim: Claim) -> Claim {
    Claim { quantity: Quantity { class, ..claim.quantity }, ..claim }
}

fn of_figure(figure: Figure, claim: Claim) -> Claim {
    Claim { quantity: Quantity { figure, ..claim.quantity }, ..claim }
}

fn of_only(only: Only, claim: Claim) -> Claim {
    Claim { quantity: Quantity { only, ..claim.quantity }, ..claim }
}

fn verdicts(made_of: Made, claims: Vec<Claim>) -> Vec<(Verdict, String)> {
    let folder = tempfile::tempdir().unwrap();
    let dir = claimed(folder.path(), &claims, made_of);
    let open = ResultDir::open(folder.path()).unwrap();
    assert_eq!(open.summary(), dir.summary());
    checked(&open).into_iter().map(|checked| (checked.verdict, checked.why)).collect()
}

#[test]
fn claims__verdicts_on_known_ratios() {
    use Verdict::{Agrees, Disagrees, NotJudged, NotResolved};
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
        (of_class(SizeClass::between(0, Some(50_000)), claim(Expected::Lower)), Agrees),
        (of_class(SizeClass::between(1_000_000, None), claim(Expected::Change(0.0))), Agrees),
        (of_figure(serde_json::from_str("\"timeouts\"").unwrap(), claim(Expected::Lower)), Agrees),
        // None were counted: there is no ratio.
        (of_figure(serde_json::from_str("\"drops\"").unwrap(), claim(Expected::Lower)), NotResolved),
        (Claim { baselines: vec!["other".into()], ..claim(Expected::Lower) }, NotResolved),
        (at(0.7, Expected::Lower), NotJudged),
    ];
    let (claims, expected): (Vec<Claim>, Vec<Verdict>) = table.into_iter().unzip();
    let found = verdicts(five(), claims.clone());
    for ((claim, expected), (verdict, why)) in claims.iter().zip(expected).zip(&found) {
        assert_eq!(*verdict, expected, "{claim:?}: {why}");
    }
    assert_eq!(found.last().unwrap().1, "0 seeds of 5; not run");
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
    let found = verdicts(Made { run: one_queue, ..five() }, claims);
    let expected = [NotTested, NotTested, Agrees, Agrees, NotTested, Agrees];
    assert_eq!(found.iter().map(|(verdict, _)| *verdict).collect::<Vec<_>>(), expected);
    assert_eq!(found[0].1, "queues used: no more than 1 in 1 of 10 runs");
    assert_eq!(found[4].1, "queues used: no more than 1 in 5 of 10 runs");
    let updates = Claim { acts: serde_json::from_str("\"threshold updates\"").ok(), ..claim(Expected::Lower) };
    let found = verdicts(five(), vec![updates]);
    assert_eq!(found, [(NotTested, "threshold updates: none in 10 of 10 runs".into())]);
}

/// Flows take 4 to 52 times as long under "base" as alone, 28 times in the mean: nothing saves more than 96 %.
#[test]
fn claims__what_no_scheme_can_do() {
    let folder = tempfile::tempdir().unwrap();
    let of = |expected| Claim { tolerance: 0.005, ..claim(expected) };
    let p99 = of_figure(Figure::Flows(Statistic::P99, Metric::Fct), of(Expected::Change(-0.98)));
    let stand_in = Claim { stand_in: Some("like".into()), ..of(Expected::Change(-0.98)) };
    let all = [Expected::Change(-0.98), Expected::UpTo(-0.98), Expected::Between(-0.99, -0.98), Expected::Change(-0.9)];
    let claims: Vec<Claim> = all
        .map(of)
        .into_iter()
        .chain([of(Expected::Between(-0.98, -0.9)), of(Expected::Lower), p99, stand_in])
        .collect();
    let dir = claimed(folder.path(), &claims, five());
    let beside = Beside::of(&dir).unwrap();
    let checked = beside.checked();
    let beyond: Vec<Option<bool>> =
        checked.iter().map(|(claim, checked)| checked.bound.map(|bound| claim.is_beyond(&bound))).collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(beyond, [yes, yes, yes, no, no, no, None, no]);
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
    first_checked(&claimed(folder.path(), &claims, Made { seeds, run: by_turns, looks, flows: 100, ..five() }))
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
    assert_eq!(verdict(4), (Verdict::NotJudged, None), "before the first look");
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
    let made_of = Made { seeds: 5, run, looks: true, flows: 100, ..five() };
    let (checked, enough) = first_checked(&claimed(folder.path(), &claims, made_of));
    (checked.verdict, enough)
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
    use Verdict::{NotResolved, OtherDirection, SameDirection, Weaker};
    let stand_in = |expected| Claim { stand_in: Some("like".into()), ..claim(expected) };
    let class = SizeClass::between(1_000_000, None);
    let table = [
        // A third of the logarithm of 0.5 is that of 0.79, and of 0.1 that of 0.46: the mean ratio is 0.7.
        (stand_in(Expected::Change(-0.5)), SameDirection),
        (stand_in(Expected::Change(-0.9)), Weaker),
        (stand_in(Expected::UpTo(-0.75)), SameDirection),
        (stand_in(Expected::UpTo(-0.85)), Weaker),
        (stand_in(Expected::Between(-0.6, -0.4)), SameDirection),
        (stand_in(Expected::Between(-0.9, -0.6)), Weaker),
        (stand_in(Expected::Change(0.1)), OtherDirection),
        (stand_in(Expected::UpTo(-0.01)), SameDirection),
        (stand_in(Expected::UpTo(5.0)), OtherDirection),
        (stand_in(Expected::Between(-0.99, -0.98)), Weaker),
        (stand_in(Expected::Between(-0.99, 0.0)), SameDirection),
        (stand_in(Expected::Between(0.1, 0.2)), OtherDirection),
        (stand_in(Expected::Lower), SameDirection),
        // On neither side of 1.
        (stand_in(Expected::Between(-0.4, 0.1)), NotResolved),
        (stand_in(Expected::Change(0.0)), NotResolved),
        // Flows above 1 MB are alike: the interval is on no side.
        (of_class(class.clone(), stand_in(Expected::Change(-0.5))), NotResolved),
        (of_class(class.clone(), stand_in(Expected::UpTo(-0.5))), NotResolved),
        (of_class(class.clone(), stand_in(Expected::UpTo(0.5))), NotResolved),
        (of_class(class, stand_in(Expected::Between(-0.5, 0.0))), NotResolved),
    ];
    let (claims, expected): (Vec<Claim>, Vec<Verdict>) = table.into_iter().unzip();
    let found = verdicts(five(), claims.clone());
    for ((claim, expected), (verdict, why)) in claims.iter().zip(expected).zip(&found) {
        assert_eq!(*verdict, expected, "{claim:?}: {why}");
    }
    assert!(found[13].1.contains("no direction"), "{}", found[13].1);
}

#[test]
fn claims__few_seeds_and_unfinished_flows_resolve_nothing() {
    for (seeds, said) in [(1, "1 seed of 5"), (4, "4 seeds of 5")] {
        let few = verdicts(Made { seeds, ..five() }, vec![claim(Expected::Lower)]);
        assert_eq!(few, [(Verdict::NotJudged, said.to_string())]);
    }
    let stops = |_: &str, _: f64, _: u64, run: &mut flowsieve_record::PointResult| run.flows[0].fct_ps = None;
    let unfinished = verdicts(Made { run: stops, ..five() }, vec![claim(Expected::Lower)]);
    assert_eq!(unfinished, [(Verdict::NotResolved, "flows did not finish".to_string())]);
}

#[test]
fn claims__values_orders_and_closeness() {
    use Verdict::{Agrees, Disagrees, NotResolved};
    let figure = |name: &str| serde_json::from_str::<Figure>(&format!("\"{name}\"")).unwrap();
    let value = |name: &str, expected| Claim { baselines: Vec::new(), ..of_figure(figure(name), claim(expected)) };
    let order = |scheme: &str, other: &str, expected| Claim {
        scheme: scheme.into(),
        baselines: vec![other.into()],
        ..claim(expected)
    };
    let large = SizeClass::between(1_000_000, None);
    let series = |at_ps| SeriesAt { name: "depth (bytes)".into(), of: "leaf0".into(), at_ps, until_ps: None };
    let of_series = |at_ps, expected| {
        let of = value("series", expected);
        let quantity = Quantity { series: Some(series(at_ps)), ..of.quantity };
        Claim { id: format!("{at_ps:?}"), quantity, ..of }
    };
    let ps = 1e12;
    let table = [
        // Timeouts are 11 to 15: their interval is 13 ± 2.
        (Claim { tolerance: 0.25, ..value("timeouts", Expected::Value(13.0)) }, Agrees),
        (Claim { tolerance: 0.0, ..value("timeouts", Expected::Value(13.0)) }, NotResolved),
        (value("timeouts", Expected::Value(20.0)), Disagrees),
        (value("timeouts", Expected::Within(9.0, 15.0)), Agrees),
        (value("mean fct", Expected::Within(0.0, ps)), Agrees),
        (value("mean fct", Expected::Value(ps)), Disagrees),
        (value("drops", Expected::Value(0.0)), Agrees),
        (value("deadlines met", Expected::Value(0.75)), Agrees),
        (order("new", "base", Expected::Rising), Agrees),
        (order("base", "new", Expected::Rising), Disagrees),
        (order("base", "new", Expected::Close), Disagrees),
        (of_class(large.clone(), order("base", "new", Expected::Close)), Agrees),
        (of_class(large, order("base", "new", Expected::Rising)), NotResolved),
        (of_series(None, Expected::Value(30.0)), Agrees),
        (of_series(Some(15), Expected::Value(20.0)), Agrees),
        (of_series(Some(99), Expected::Value(30.0)), NotResolved),
        (of_only(Only { workload: Some(1), ..Only::default() }, claim(Expected::Change(-0.3))), Agrees),
        (of_only(Only { workload: Some(2), ..Only::default() }, claim(Expected::Lower)), NotResolved),
        (of_figure(Figure::Variation, claim(Expected::Change(0.0))), Agrees),
        (of_figure(Figure::Fairness, claim(Expected::Change(0.0))), Agrees),
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
    let made_of = |record| Made { run, record, ..five() };
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

#[test]
fn claims__of_coflows() {
    // Each small flow is a coflow of its own, so that its CCT is its FCT.
    let run = |_: &str, _: f64, _: u64, run: &mut PointResult| {
        run.flows.iter_mut().filter(|flow| flow.bytes <= 100_000).for_each(|flow| flow.coflow = Some(flow.flow));
    };
    let of = |name: &str, expected| Claim {
        quantity: Quantity::of_all_flows(serde_json::from_str(&format!("\"{name}\"")).unwrap()),
        ..claim(expected)
    };
    let small = |name: &str| of_class(SizeClass::between(0, Some(20_000)), of(name, Expected::Change(-0.3)));
    let claims = [
        of("mean cct", Expected::Change(-0.3)),
        of("p99 cct", Expected::Higher),
        small("mean cct"),
        small("mean fct"),
        of_class(SizeClass::between(100_000, None), of("mean cct", Expected::Lower)),
        of("typical cct", Expected::Change(-0.3)),
        of_class(SizeClass::between(0, Some(100_000)), of("typical fct", Expected::Change(-0.3))),
    ];
    for record in [Record::Full, Record::None] {
        let folder = tempfile::tempdir().unwrap();
        let checked = checked(&claimed(folder.path(), &claims, Made { run, record, ..five() }));
        // Geometric means do not need the coflows themselves.
        let typical = &checked[checked.len() - 2..];
        assert!(typical.iter().all(|checked| checked.verdict == Verdict::Agrees), "{typical:?}");
        assert_eq!([0, 1].map(|claim| checked[claim].verdict), [Verdict::Agrees, Verdict::Disagrees]);
        // Those of a size class are the flows of that class, whose FCT sketches tell within 0.4 %.
        let [cct, fct] = [2, 3].map(|claim: usize| checked[claim].ratio.unwrap().value);
        assert!((cct / fct - 1.0).abs() < if record == Record::Full { 1e-12 } else { 8e-3 }, "{cct} {fct}");
        assert_eq!(checked[4].why, "nothing to compare at one of its points");
    }
    let unfinished = |_: &str, _: f64, _: u64, run: &mut PointResult| {
        (run.flows[5].coflow, run.flows[5].fct_ps) = (Some(1), None);
    };
    let found = verdicts(Made { run: unfinished, ..five() }, vec![of("mean cct", Expected::Lower)]);
    assert_eq!(found, [(Verdict::NotResolved, "coflows did not finish".to_string())]);
    let none = verdicts(five(), vec![of("mean cct", Expected::Lower)]);
    assert_eq!(none, [(Verdict::NotResolved, "nothing to compare at one of its points".to_string())]);
}

#[test]
fn claims__of_classes_of_coflows() {
    // Each flow is a coflow of its own, narrow, and as slow as the flow. Small ones are short, the others more than 5 MB long.
    let run = |_: &str, _: f64, _: u64, run: &mut PointResult| {
        for flow in &mut run.flows {
            flow.coflow = Some(flow.flow);
            flow.bytes *= if flow.bytes > 100_000 { 50 } else { 1 };
        }
        run.ideal_ccts_ps = run.flows.iter().map(|flow| (flow.flow, flow.ideal_ps)).collect();
    };
    let of = |name: &str, class, baseline_class, expected| Claim {
        quantity: Quantity {
            coflow_class: CoflowClass::parse(class),
            ..Quantity::of_all_flows(serde_json::from_str(&format!("\"{name}\"")).unwrap())
        },
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
    use Verdict::{Agrees, Disagrees, NotResolved};
    let (found, why): (Vec<Verdict>, Vec<String>) = verdicts(Made { run, ..five() }, claims).into_iter().unzip();
    assert_eq!(found, [Agrees, Disagrees, Agrees, Disagrees, NotResolved]);
    assert_eq!(why[4], "nothing to compare at one of its points");
}

#[test]
fn claims__of_a_share_of_the_time() {
    // Of each small flow's FCT 500 ns are inference, and the rest is climb.
    let run = |scheme: &str, _: f64, _: u64, run: &mut PointResult| {
        for row in run.flows.iter_mut().filter(|_| scheme == "new") {
            row.steps = Some(StepRow::of_ns([500, row.fct_ps.unwrap() / 1_000 - 500, 0, 0, 0]));
        }
    };
    let expected = Expected::Within(0.9, 1.0);
    let share =
        Claim { baselines: Vec::new(), tolerance: 0.0, ..of_figure(Figure::Share(Step::Climb), claim(expected)) };
    let found = verdicts(Made { run, ..five() }, vec![share]);
    assert_eq!(found, [(Verdict::Agrees, String::new())]);
}
