//! Two schemes beside each other, as text and as data.

use flowsieve_results::compare::{ClassComparison, Comparison, compare};
use flowsieve_results::{Claim, Expected, Figure, Metric, Only, Ratio, ResultDir, ResultError, SizeClass, Statistic};
use serde::Serialize;

use crate::cases::{Case, cases};
use crate::format::{count, flows_of, per_cent};
use crate::terminal::aligned;

/// The statistics that the text shows; the data has all.
const SHOWN: [Statistic; 3] = [Statistic::Mean, Statistic::P50, Statistic::P99];

const COFLOWS: Figure = Figure::Coflows(Statistic::Mean, Metric::Fct);

/// A scheme beside a baseline.
#[derive(Serialize)]
pub struct Compared {
    /// The scheme.
    pub scheme: String,
    /// What it is compared with.
    pub baseline: String,
    /// By case, then load.
    points: Vec<At>,
    /// The mean of the ratios of mean FCT at all loads of a case, where it has several.
    over_loads: Vec<OverLoads>,
}

#[derive(Serialize)]
struct At {
    case: String,
    load: Option<f64>,
    #[serde(flatten)]
    comparison: Comparison,
}

#[derive(Serialize)]
struct OverLoads {
    case: String,
    class: SizeClass,
    fct_mean: Ratio,
    /// Of CCT instead, where coflows are compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    coflows: bool,
}

/// Why two schemes cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A name that the result does not have.
    #[error("this result has no scheme `{name}`")]
    UnknownScheme {
        /// The name.
        name: String,
        /// The schemes that the result has.
        schemes: Vec<String>,
    },
    /// A scheme beside itself.
    #[error("`{0}` is both")]
    Itself(String),
    /// There is nothing to compare with.
    #[error("this result has one scheme")]
    OneScheme,
    /// The flows cannot be read.
    #[error(transparent)]
    Results(#[from] ResultError),
}

/// Compares the schemes that are named, or each scheme with the first.
pub fn compared(dir: &ResultDir, names: Option<(&str, &str)>) -> Result<Vec<Compared>, CompareError> {
    let schemes: Vec<&str> = dir.manifest().experiment.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    let pairs = match names {
        Some((scheme, baseline)) => {
            if let Some(unknown) = [scheme, baseline].into_iter().find(|name| !schemes.contains(name)) {
                let schemes = schemes.into_iter().map(String::from).collect();
                return Err(CompareError::UnknownScheme { name: unknown.to_owned(), schemes });
            }
            if scheme == baseline {
                return Err(CompareError::Itself(scheme.to_owned()));
            }
            vec![(scheme, baseline)]
        }
        None => {
            let (first, others) =
                schemes.split_first().filter(|(_, others)| !others.is_empty()).ok_or(CompareError::OneScheme)?;
            others.iter().map(|other| (*other, *first)).collect()
        }
    };
    let compared = pairs.into_iter().map(|(scheme, baseline)| of_pair(dir, scheme, baseline));
    compared.collect::<Result<_, ResultError>>().map_err(CompareError::from)
}

fn of_pair(dir: &ResultDir, scheme: &str, baseline: &str) -> Result<Compared, ResultError> {
    let cases = cases(&dir.manifest().experiment);
    let name_of = |case: &Case| if cases.len() > 1 { case.name() } else { String::new() };
    let mut points: Vec<At> = Vec::new();
    let comparisons = compare(dir, scheme, baseline)?;
    for case in &cases {
        for at in &case.loads {
            let here = comparisons.iter().filter(|comparison| at.points.contains(&comparison.point));
            points.extend(here.map(|comparison| At {
                case: name_of(case),
                load: at.load,
                comparison: comparison.clone(),
            }));
        }
    }
    let several = cases.iter().filter(|case| case.loads.len() > 1);
    let over_loads = several.flat_map(|case| {
        let of = |(figure, class): (Figure, &SizeClass)| {
            let fct_mean = over_loads(dir, scheme, baseline, case, figure, class)?;
            let coflows = figure == COFLOWS;
            Some(OverLoads { case: name_of(case), class: class.clone(), fct_mean, coflows })
        };
        let classes = dir.manifest().experiment.classes.as_slice();
        let of_flows = classes.iter().map(|class| (Figure::Flows(Statistic::Mean, Metric::Fct), class));
        of_flows.chain(classes.last().map(|all| (COFLOWS, all))).filter_map(of).collect::<Vec<_>>()
    });
    let over_loads = over_loads.collect();
    Ok(Compared { scheme: scheme.to_owned(), baseline: baseline.to_owned(), points, over_loads })
}

/// What a claim over all loads would be held against.
fn over_loads(
    dir: &ResultDir,
    scheme: &str,
    baseline: &str,
    case: &Case,
    figure: Figure,
    class: &SizeClass,
) -> Option<Ratio> {
    let claim = Claim {
        id: String::new(),
        place: String::new(),
        figure,
        series: None,
        class: class.clone(),
        only: Only::default(),
        coflow_class: None,
        baseline_class: None,
        scheme: scheme.to_owned(),
        baselines: vec![baseline.to_owned()],
        loads: Vec::new(),
        at: case.axes.clone(),
        expected: Expected::Lower,
        tolerance: 0.0,
        note: String::new(),
        stand_in: None,
        repeats: None,
        reading: None,
        contradicts: None,
    };
    claim.check(dir.manifest(), dir.summary()).ratio
}

impl Compared {
    /// As aligned text.
    pub fn text(&self) -> String {
        let Compared { scheme, baseline, .. } = self;
        let mut text = format!("{scheme} / {baseline}: FCT over the same flows, paired by seed, with 95 % intervals\n");
        let mut header: Vec<String> = ["load", "flows of", "flows"].map(String::from).into();
        header.extend(SHOWN.iter().map(|statistic| statistic.name().to_owned()));
        header.extend(["flow by flow", "faster", "slower", "mean FCT"].map(String::from));
        let mut case = String::new();
        let mut rows = vec![header.clone()];
        for at in &self.points {
            if at.case != case {
                if rows.len() > 1 {
                    text += &aligned(&rows, 2);
                    rows = vec![header.clone()];
                }
                case.clone_from(&at.case);
                text += &format!("\n{case}\n");
            }
            let classes = at.comparison.classes.iter().filter(|class| class.flows > 0);
            let classes = classes.map(|class| (class.class.name.clone(), class));
            let coflows = at.comparison.coflows.iter().map(|coflows| ("coflows (CCT)".into(), coflows));
            // One class is all of them.
            let by_class = at.comparison.coflow_classes.iter().filter(|_| at.comparison.coflow_classes.len() > 1);
            let by_class = by_class.map(|(class, coflows)| (format!("coflows {} (CCT)", class.name()), coflows));
            for (index, (name, class)) in classes.chain(coflows).chain(by_class).enumerate() {
                let load = at.load.filter(|_| index == 0).map_or(String::new(), |load| load.to_string());
                rows.push(row(load, &name, class));
            }
        }
        text += &aligned(&rows, 2);
        if !self.over_loads.is_empty() {
            text += "\nMean of the ratios of mean FCT at all loads\n";
            let row = |over: &OverLoads| {
                let verdict = judged(&over.fct_mean).to_owned();
                let name = if over.coflows { "coflows (CCT)".into() } else { flows_of(&over.class) };
                vec![over.case.clone(), name, ratio(Some(&over.fct_mean)), verdict]
            };
            text += &aligned(&self.over_loads.iter().map(row).collect::<Vec<_>>(), 2);
        }
        text
    }
}

fn row(load: String, name: &str, class: &ClassComparison) -> Vec<String> {
    let index_of = |statistic: Statistic| Statistic::ALL.iter().position(|other| *other == statistic).unwrap_or(0);
    let mut row = vec![load, name.to_owned(), count(class.flows)];
    row.extend(SHOWN.iter().map(|statistic| ratio(class.fct[index_of(*statistic)].as_ref())));
    let by_flow = class.by_flow.as_ref();
    row.push(ratio(by_flow.map(|by_flow| &by_flow.ratio)));
    row.extend([by_flow.map(|it| it.faster), by_flow.map(|it| it.slower)].map(|it| it.map_or("–".into(), per_cent)));
    row.push(match &class.fct[index_of(Statistic::Mean)] {
        _ if !class.is_fair() => {
            format!("not judged: {} and {} unfinished", count(class.unfinished), count(class.baseline_unfinished))
        }
        Some(mean) => judged(mean).to_owned(),
        None => "–".into(),
    });
    row
}

/// In words, what a ratio shows.
fn judged(ratio: &Ratio) -> &'static str {
    match ratio.is_resolved() {
        true if ratio.value < 1.0 => "less",
        true => "more",
        false => "not resolved",
    }
}

fn ratio(ratio: Option<&Ratio>) -> String {
    match ratio {
        None => "–".into(),
        Some(Ratio { value, interval: None }) => format!("{value:.3}"),
        Some(Ratio { value, interval: Some((low, high)) }) => format!("{value:.3} ({low:.3}–{high:.3})"),
    }
}
