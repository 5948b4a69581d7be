//! Predictions of flow sizes, for schemes that use bounds or a predicted size.
//!
//! Schemes may differ in them: the settings are in `[transport]` for all schemes, or in a scheme's own table.

use std::sync::Arc;

use flowsieve_schemes::Knows;
use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting, SettingsError};
use flowsieve_workload::{BoundsLaw, DrawnBounds, Exact, Predict, Unknown};

use crate::workload::{Files, Workload};
use flowsieve_experiment::{Error, Folder};

/// Where bounds come from, by the names that settings use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoundsName {
    List,
    Exact,
    Nothing,
    Law,
    Forest,
}

declare! {
    static BOUNDS: Setting<BoundsName> = Setting::choice(
        Section::Transport,
        "bounds",
        &[
            ("list", BoundsName::List),
            ("exact", BoundsName::Exact),
            ("none", BoundsName::Nothing),
            ("law", BoundsName::Law),
            ("forest", BoundsName::Forest),
        ],
        "source of size bounds and predicted sizes: the flow list's columns, the true sizes, none, draws around the \
         true sizes, or a forest with the list's features",
    );
    static FOREST: Setting<String> = Setting::file(
        Section::Transport, "forest", "bounds = \"forest\": file of a forest, as trained by python/",
    );
    static BOUNDS_LOWER: Setting<Vec<f64>> = Setting::numbers(
        Section::Transport, "bounds_lower", 0.0, 1.0,
        "bounds = \"law\": lower bound as a multiple of a flow's size: one factor, or two between which it is drawn",
    );
    static BOUNDS_UPPER: Setting<Vec<f64>> = Setting::numbers(
        Section::Transport, "bounds_upper", 1.0, 1e6, "bounds = \"law\": upper bound as a multiple of a flow's size: \
            one factor, or two between which it is drawn",
    );
    static BOUNDS_OUTSIDE: Setting<f64> = Setting::number(
        Section::Transport, "bounds_outside", 0.0, 1.0,
        "bounds = \"law\": share of the flows whose size lies outside their bounds",
    )
    .with_default(0.0);
}

/// Reads the predictor of a scheme with this knowledge; `None`: it uses no predictions.
///
/// The only default is the list's own columns: a scheme without bounds is its baseline under another name.
pub(crate) fn read(
    scope: &Scope<'_>,
    knows: Knows,
    workload: &Workload,
    (seed, folder): (u64, &Folder),
) -> Result<Option<Arc<dyn Predict>>, Error> {
    if !matches!(knows, Knows::Bounds | Knows::PredictedSize) {
        return Ok(None);
    }
    let list = workload.predictions();
    let name = match (&list, scope.is_given_or_own(&BOUNDS)) {
        (Some(_), _) => scope.read_or(&BOUNDS, BoundsName::List)?,
        (None, true) => scope.read(&BOUNDS)?,
        (None, false) => {
            let problem = format!("`{}` schedules by predicted sizes, but there are no predictions", scope.variant());
            let expected = "a flow list with the columns lower, upper and predicted, or `bounds` in [transport] or in the \
                            scheme's table: \"forest\", \"law\", \"exact\" or \"none\"";
            return Err(scope.error(&BOUNDS, problem).expected(expected).into());
        }
    };
    Ok(Some(match name {
        BoundsName::List => list.ok_or_else(|| {
            let problem = "`bounds` = \"list\", but the workload is not a flow list with predictions";
            scope
                .error(&BOUNDS, problem)
                .expected("a list with the columns lower, upper or predicted, or other `bounds`")
        })?,
        BoundsName::Exact => Arc::new(Exact),
        BoundsName::Nothing => Arc::new(Unknown),
        BoundsName::Law => Arc::new(DrawnBounds { law: law(scope)?, seed }),
        BoundsName::Forest => by_forest(scope, workload, folder)?,
    }))
}

/// Predicts by a forest from the features that were recorded when the flows began, whatever the load and the scheme are
/// now. So all schemes have the same bounds.
fn by_forest(scope: &Scope<'_>, workload: &Workload, folder: &Folder) -> Result<Arc<dyn Predict>, Error> {
    let file = scope.needed(&FOREST, "a forest's file with bounds = \"forest\"")?;
    let path = folder.path().join(file);
    let unfit = |problem: String| {
        let expected =
            "a readable forest whose features the flows have; its path is relative to the experiment file's folder";
        scope.error(&FOREST, format!("{}: {problem}", path.display())).expected(expected)
    };
    let forest = folder.of::<Files>().forest(&path).map_err(&unfit)?;
    scope.note_digest(&FOREST, &forest.digest);
    let Some(features) = workload.features().filter(|features| !features.names().is_empty()) else {
        let problem = "`bounds` = \"forest\", but these flows have no recorded features";
        let expected = "`list` or `recorded` with columns feature:NAME";
        return Err(scope.error(&BOUNDS, problem).expected(expected).into());
    };
    Ok(workload.predicting(forest.predictions(features).map_err(unfit)?))
}

fn law(scope: &Scope<'_>) -> Result<BoundsLaw, SettingsError> {
    let ends = |setting: &Setting<Vec<f64>>, default: [f64; 2]| match *scope.read_or(setting, default.to_vec())? {
        [one] => Ok((one, one)),
        [from, to] if from <= to => Ok((from, to)),
        _ => Err(scope.invalid(setting, "one number, or two numbers that do not fall")),
    };
    Ok(BoundsLaw {
        lower: ends(&BOUNDS_LOWER, [0.5, 1.0])?,
        upper: ends(&BOUNDS_UPPER, [1.0, 2.0])?,
        outside: scope.read(&BOUNDS_OUTSIDE)?,
    })
}
