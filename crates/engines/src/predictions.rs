//! Predictions of flow sizes, for schemes that use bounds or a predicted size.
//!
//! Schemes may differ in them: the settings are in `[transport]` for all schemes, or in a scheme's own table.

use std::sync::Arc;

use flowsieve_schemes::Knows;
use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting, SettingsError};
use flowsieve_workload::{BoundsLaw, DrawnBounds, Exact, Predict, Prediction, Unknown};

use crate::workload::{Files, Workload};
use flowsieve_experiment::{Error, Folder};

/// Where bounds come from, by the names that settings use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoundsName {
    List,
    Exact,
    Nothing,
    Law,
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
        ],
        "source of size bounds and predicted sizes: columns of a list, the true sizes, none, or draws around the true \
         sizes",
    );
    static PREDICTIONS: Setting<String> = Setting::file(
        Section::Transport, "predictions",
        "bounds = \"list\": the columns bytes, lower, upper and predicted of the flows of `list`, or of those of \
         `recorded` that are sent, in their order, in a file of their own",
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
    let name = match (list.is_some() || scope.is_given_or_own(&PREDICTIONS), scope.is_given_or_own(&BOUNDS)) {
        (true, _) => scope.read_or(&BOUNDS, BoundsName::List)?,
        (false, true) => scope.read(&BOUNDS)?,
        (false, false) => {
            let problem = format!("`{}` schedules by predicted sizes, but there are no predictions", scope.variant());
            let expected = "a flow list with the columns lower, upper and predicted, or in [transport] or in the scheme's \
                            table `predictions`, or `bounds` = \"law\", \"exact\" or \"none\"";
            return Err(scope.error(&BOUNDS, problem).expected(expected).into());
        }
    };
    Ok(Some(match name {
        BoundsName::List => match scope.optional(&PREDICTIONS)? {
            Some(file) => of_file(scope, &file, workload, folder)?,
            None => list.ok_or_else(|| {
                let problem = "`bounds` = \"list\", but the workload is not a flow list with predictions";
                scope
                    .error(&BOUNDS, problem)
                    .expected("a list with the columns lower, upper or predicted, `predictions`, or other `bounds`")
            })?,
        },
        BoundsName::Exact => Arc::new(Exact),
        BoundsName::Nothing => Arc::new(Unknown),
        BoundsName::Law => Arc::new(DrawnBounds { law: law(scope)?, seed }),
    }))
}

/// Predicts by a file, which was made from what was recorded when the flows began, whatever the load and the scheme are
/// now. So all schemes have the same bounds.
fn of_file(scope: &Scope<'_>, file: &str, workload: &Workload, folder: &Folder) -> Result<Arc<dyn Predict>, Error> {
    let path = folder.path().join(file);
    let read = folder.of::<Files>().predictions(scope, &PREDICTIONS, &path)?;
    scope.note_digest(&PREDICTIONS, &read.digest);
    let unfit = |problem: String| {
        scope.error(&PREDICTIONS, format!("{}: {problem}", path.display())).expected(
            "a row for each flow of `list`, or for each of `recorded` that is sent, in their order and with their bytes",
        )
    };
    if read.rows.iter().all(|(_, prediction)| *prediction == Prediction::default()) {
        return Err(unfit("it predicts nothing".to_owned()).expected("columns lower and upper, or predicted").into());
    }
    Ok(workload.predicted(read).map_err(unfit)?)
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
