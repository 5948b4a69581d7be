//! Compares two schemes, or two values of another swept key, as text and as data.

use flowsieve_results::compare::{ByFlow, ClassComparison, Comparison, compare};
use flowsieve_results::measured::{Measured, Quantity};
use flowsieve_results::paired::mean_ratio;
use flowsieve_results::{
    Axis, Dimension, Experiment, Figure, Metric, Ratio, ResultDir, ResultError, SizeClass, Statistic, without_section,
};
use serde::Serialize;

use crate::cases::{Case, Layout, UnknownKey};
use crate::first_answers;
use crate::format::{count, flows_of, per_cent};
use crate::text_table::{Cell, Column, TextTable, Tone, paragraph};

/// The heading of the second table: its figures, and the kind of its intervals.
const BY_FLOW: &str = "The typical flow, paired flow by flow (coflow by coflow): the geometric mean of the ratios, \
    with an interval over seeds. ± is the standard error over the flows, as if they were independent.";

const COFLOWS: Figure = Figure::Coflows(Statistic::Mean, Metric::Fct);

/// A value of a swept key (of the scheme, or of the key that was asked for) compared with another.
#[derive(Serialize)]
pub struct Compared {
    /// The key.
    varied: String,
    /// The compared value; a scheme under this name, too.
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<String>,
    /// The value that it is compared with.
    baseline: String,
    /// The first column of the text.
    #[serde(skip)]
    x: String,
    /// By case, then value on the x axis.
    points: Vec<Pair>,
    /// The mean of the ratios of mean FCT at all loads of a case, if it has several.
    over_loads: Vec<OverLoads>,
    /// The share of the means that flows which waited for a first answer make, if it is large.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    first_answers: Vec<String>,
}

#[derive(Serialize)]
struct Pair {
    case: String,
    load: Option<f64>,
    #[serde(skip)]
    at: String,
    #[serde(flatten)]
    comparison: Comparison,
}

#[derive(Serialize)]
struct OverLoads {
    case: String,
    class: SizeClass,
    fct_mean: Ratio,
    /// Of CCT instead, if coflows are compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    coflows: bool,
}

/// Why two schemes or values cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A value that the result does not have.
    #[error("this result has no {key} `{name}`")]
    UnknownValue {
        /// The kind of value: "scheme", or another swept key.
        key: String,
        /// The value.
        name: String,
        /// The values that the result has.
        values: Vec<String>,
    },
    /// A key that is not swept.
    #[error(transparent)]
    UnknownKey(#[from] UnknownKey),
    /// A value compared with itself.
    #[error("`{0}` is named twice")]
    Itself(String),
    /// There is nothing to compare with.
    #[error("this result has one scheme, and no other swept setting to compare")]
    OnePoint,
    /// The two do not have the same flows.
    #[error("another {0} means other flows, so there is nothing to pair")]
    OtherFlows(String),
    /// The flows cannot be read.
    #[error(transparent)]
    Results(#[from] ResultError),
}

/// Compares two values of the named swept key, or each value with the first. Without a key it compares schemes, and with one
/// scheme the swept key that has the most values.
pub fn compared(
    dir: &ResultDir,
    varied: Option<&str>,
    names: Option<(&str, &str)>,
) -> Result<Vec<Compared>, CompareError> {
    let experiment = &dir.manifest().experiment;
    let (varied, values) = varied_values(experiment, varied)?;
    let pairs = match names {
        Some((value, baseline)) => {
            if let Some(unknown) = [value, baseline].into_iter().find(|name| !values.iter().any(|known| known == name))
            {
                let (key, name) = (varied.name().to_owned(), unknown.to_owned());
                return Err(CompareError::UnknownValue { key, name, values });
            }
            if value == baseline {
                return Err(CompareError::Itself(value.to_owned()));
            }
            vec![(value, baseline)]
        }
        None => {
            let (first, others) = values.split_first().ok_or(CompareError::OnePoint)?;
            others.iter().map(|other| (other.as_str(), first.as_str())).collect()
        }
    };
    pairs.into_iter().map(|(value, baseline)| of_pair(dir, &varied, value, baseline)).collect()
}

/// The compared key, with its values.
fn varied_values(experiment: &Experiment, name: Option<&str>) -> Result<(Dimension, Vec<String>), CompareError> {
    let swept = experiment.dimensions();
    let Some(name) = name else {
        let scheme = swept.iter().find(|(dimension, _)| *dimension == Dimension::Scheme);
        let keys = swept.iter().filter(|(dimension, _)| *dimension != Dimension::Load);
        // If several have as many values, the first.
        let most = || keys.rev().max_by_key(|(_, values)| values.len());
        return scheme.or_else(most).cloned().ok_or(CompareError::OnePoint);
    };
    let names = || swept.iter().map(|(dimension, _)| dimension.name().to_owned()).collect();
    let found = swept.iter().find(|(dimension, _)| dimension.is_called(name)).cloned();
    Ok(found.ok_or_else(|| UnknownKey { name: name.to_owned(), swept: names() })?)
}

fn of_pair(dir: &ResultDir, varied: &Dimension, value: &str, baseline: &str) -> Result<Compared, CompareError> {
    let experiment = &dir.manifest().experiment;
    // The x axis has the key with the most values, except the compared one.
    let x = experiment.dimensions().into_iter().filter(|(dimension, _)| dimension != varied);
    let x = x.rev().max_by_key(|(_, values)| values.len()).map_or(Dimension::Load, |(dimension, _)| dimension);
    let layout = Layout::by(experiment, &x, varied);
    let comparisons = compare(dir, varied, value, baseline)?;
    // Schemes may well have other flows: in closed loops they determine when the next begins.
    if *varied != Dimension::Scheme && comparisons.iter().any(|comparison| !comparison.same_flows) {
        return Err(CompareError::OtherFlows(varied.name().to_owned()));
    }
    let mut points: Vec<Pair> = Vec::new();
    for case in &layout.cases {
        for at in &case.at {
            let here = comparisons.iter().filter(|comparison| at.points.contains(&comparison.point));
            points.extend(here.map(|comparison| Pair {
                case: layout.case_name(case),
                load: experiment.points[comparison.point].load,
                at: at.name(),
                comparison: comparison.clone(),
            }));
        }
    }
    let over_loads = match (varied, &layout.x) {
        (Dimension::Scheme, Dimension::Load) => over_all_loads(dir, &layout, value, baseline),
        _ => Vec::new(),
    };
    let shown = points.iter().flat_map(|pair| [pair.comparison.point, pair.comparison.baseline]).collect();
    let first_answers = first_answers::sentences(dir, &shown);
    Ok(Compared {
        varied: varied.name().to_owned(),
        scheme: (*varied == Dimension::Scheme).then(|| value.to_owned()),
        value: value.to_owned(),
        baseline: baseline.to_owned(),
        x: layout.x.name().to_owned(),
        points,
        over_loads,
        first_answers,
    })
}

/// By case and class, if there are several loads.
fn over_all_loads(dir: &ResultDir, layout: &Layout, scheme: &str, baseline: &str) -> Vec<OverLoads> {
    let classes = dir.manifest().experiment.classes.as_slice();
    let of_flows = classes.iter().map(|class| (Figure::Flows(Statistic::Mean, Metric::Fct), class));
    let groups: Vec<(Figure, &SizeClass)> = of_flows.chain(classes.last().map(|all| (COFLOWS, all))).collect();
    let several = layout.cases.iter().filter(|case| case.at.len() > 1);
    let of = |case: &Case| {
        let of_group = |&(figure, class): &(Figure, &SizeClass)| {
            let fct_mean = over_loads(dir, scheme, baseline, case, figure, class)?;
            let case = layout.case_name(case);
            Some(OverLoads { case, class: class.clone(), fct_mean, coflows: figure == COFLOWS })
        };
        groups.iter().filter_map(of_group).collect::<Vec<_>>()
    };
    several.flat_map(of).collect()
}

/// The mean of the ratios at all points of a case.
fn over_loads(
    dir: &ResultDir,
    scheme: &str,
    baseline: &str,
    case: &Case,
    figure: Figure,
    class: &SizeClass,
) -> Option<Ratio> {
    let fixed = case.fixed.iter().filter(|(dimension, _)| *dimension != Dimension::Load);
    let axes: Vec<Axis> = fixed.map(|(key, value)| Axis { key: key.name().to_owned(), value: value.clone() }).collect();
    let experiment = &dir.manifest().experiment;
    let quantity = Quantity { class: class.clone(), ..Quantity::of_all_flows(figure) };
    let measured = Measured::of(vec![quantity.clone()], dir.manifest(), dir.summary());
    let is_meant = |point: usize| axes.iter().all(|axis| experiment.points[point].axes.contains(axis));
    mean_ratio(experiment, &measured, &quantity, (scheme, baseline), is_meant)
}

impl Compared {
    /// Keeps only the flows of this name: a size class, `coflows`, or a class of coflows, such as `coflows LW`.
    ///
    /// # Errors
    /// Fails if no compared flows have this name.
    pub fn keep(&mut self, name: &str) -> Result<(), CompareError> {
        let mut names: Vec<String> = Vec::new();
        let mut is_kept = |found: String| {
            let kept = found.eq_ignore_ascii_case(name);
            if !names.contains(&found) {
                names.push(found);
            }
            kept
        };
        for Pair { comparison, .. } in &mut self.points {
            comparison.classes.retain(|of| is_kept(of.class.name.clone()));
            comparison.coflows.take_if(|_| !is_kept("coflows".to_owned()));
            comparison.coflow_classes.retain(|(class, _)| is_kept(format!("coflows {}", class.name())));
        }
        let is_named = |found: &str| found.eq_ignore_ascii_case(name);
        self.over_loads.retain(|over| is_named(if over.coflows { "coflows" } else { &over.class.name }));
        if names.iter().any(|found| is_named(found)) {
            return Ok(());
        }
        Err(CompareError::UnknownValue { key: "class".to_owned(), name: name.to_owned(), values: names })
    }

    /// As text.
    pub fn text(&self, colour: bool) -> String {
        let Compared { varied, value, baseline, .. } = self;
        let of = if self.scheme.is_some() { String::new() } else { format!("{} = ", without_section(varied)) };
        let what = format!("{of}{value} / {baseline}: FCT over the same flows, paired by seed, with 95 % intervals");
        let mut text = format!("{}\n", Tone::Heading.paint(&paragraph(&what, "  "), colour));
        let mut cases: Vec<&str> = self.points.iter().map(|pair| pair.case.as_str()).collect();
        cases.dedup();
        for case in cases {
            if !case.is_empty() {
                text += &format!("\n{}\n", Tone::Heading.paint(case, colour));
            }
            let pairs: Vec<&Pair> = self.points.iter().filter(|pair| pair.case == case).collect();
            text += &self.by_seed(&pairs).text(colour);
            let by_flow = self.by_flow(&pairs);
            if !by_flow.rows.is_empty() {
                text += &format!("\n{}\n{}", paragraph(BY_FLOW, "  "), by_flow.text(colour));
            }
        }
        if !self.over_loads.is_empty() {
            text += "\nMean of the ratios of mean FCT at all loads\n";
            let row = |over: &OverLoads| {
                let name = if over.coflows { "coflows (CCT)".into() } else { flows_of(&over.class) };
                vec![over.case.clone().into(), name.into(), ratio(Some(&over.fct_mean)), judged(&over.fct_mean).into()]
            };
            let columns =
                vec![Column::words(""), Column::words("flows of"), Column::numbers("mean", 0), Column::words("")];
            text += &TextTable { columns, rows: self.over_loads.iter().map(row).collect() }.text(colour);
        }
        for sentence in &self.first_answers {
            text += &format!("\n{}\n", Tone::Worse.paint(&paragraph(sentence, "  "), colour));
        }
        text
    }

    /// Each class at each value on the x axis, with the cells that `cells` gives; those without any are left out.
    fn rows(&self, pairs: &[&Pair], cells: impl Fn(&ClassComparison) -> Option<Vec<Cell>>) -> Vec<Vec<Cell>> {
        let several = pairs.len() > 1;
        let mut rows = Vec::new();
        for pair in pairs {
            let classes = pair.comparison.classes.iter().filter(|class| class.flows > 0);
            let classes = classes.map(|class| (class.class.name.clone(), class));
            let coflows = pair.comparison.coflows.iter().map(|coflows| ("coflows (CCT)".into(), coflows));
            // If there is one class, it is all of them.
            let by_class = pair.comparison.coflow_classes.iter().filter(|_| pair.comparison.coflow_classes.len() > 1);
            let by_class = by_class.map(|(class, coflows)| (format!("coflows {} (CCT)", class.name()), coflows));
            for (index, (name, class)) in classes.chain(coflows).chain(by_class).enumerate() {
                let Some(cells) = cells(class) else { continue };
                let x = several.then(|| if index == 0 { pair.at.clone() } else { String::new() });
                rows.push(x.into_iter().chain([name]).map(Cell::from).chain(cells).collect());
            }
        }
        rows
    }

    fn columns(&self, pairs: &[&Pair], others: Vec<Column>) -> Vec<Column> {
        let x = (pairs.len() > 1).then(|| Column::words(without_section(&self.x)));
        x.into_iter().chain([Column::words("flows of")]).chain(others).collect()
    }

    fn by_seed(&self, pairs: &[&Pair]) -> TextTable {
        let at = |class: &ClassComparison, statistic: Statistic| ratio(class.fct[statistic as usize].as_ref());
        let cells = |class: &ClassComparison| {
            let verdict = match &class.fct[Statistic::Mean as usize] {
                _ if !class.is_fair() => {
                    format!(
                        "not judged: {} and {} unfinished",
                        count(class.unfinished),
                        count(class.baseline_unfinished)
                    )
                }
                Some(mean) => judged(mean).to_owned(),
                None => "–".into(),
            };
            let p50 = at(class, Statistic::P50);
            Some(vec![
                at(class, Statistic::Mean),
                verdict.into(),
                at(class, Statistic::P99),
                p50,
                count(class.flows).into(),
            ])
        };
        let others = vec![
            Column::numbers("mean", 0),
            Column::words("mean FCT"),
            Column::numbers("p99", 0),
            Column::numbers("p50", 1),
            Column::numbers("flows", 2),
        ];
        TextTable { columns: self.columns(pairs, others), rows: self.rows(pairs, cells) }
    }

    fn by_flow(&self, pairs: &[&Pair]) -> TextTable {
        let cells = |class: &ClassComparison| {
            let ByFlow { pairs, faster, slower, ratio: mean, error } = class.by_flow.as_ref()?;
            let error = error.map_or("–".to_owned(), |error| format!("{:.1} %", 100.0 * error));
            let shares = [per_cent(*faster), per_cent(*slower), count(*pairs)];
            Some([ratio(Some(mean)), error.into()].into_iter().chain(shares.map(Cell::from)).collect())
        };
        let others = [("ratio", 0), ("±", 0), ("faster", 0), ("slower", 0), ("flows", 1)];
        let others = others.map(|(name, importance)| Column::numbers(name, importance)).into();
        TextTable { columns: self.columns(pairs, others), rows: self.rows(pairs, cells) }
    }
}

/// In words, whether a ratio is resolved, and in which direction.
fn judged(ratio: &Ratio) -> &'static str {
    match ratio.is_resolved() {
        true if ratio.value < 1.0 => "less",
        true => "more",
        false => "not resolved",
    }
}

fn ratio(ratio: Option<&Ratio>) -> Cell {
    let Some(ratio) = ratio else { return "–".into() };
    let tone = match judged(ratio) {
        "less" => Tone::Better,
        "more" => Tone::Worse,
        _ => Tone::Faint,
    };
    let ends = ratio.interval.map_or(String::new(), |(low, high)| format!(" ({low:.3}–{high:.3})"));
    Cell { text: format!("{:.3}{ends}", ratio.value), tone }
}
