//! The command `flowsieve export`.

use crate::args::{Export, ExportFormat, Exported};
use crate::output::{print, to_output};
use flowsieve_experiment::report::export::{self, ExportError, Selection};
use flowsieve_experiment::report::{Layout, UnknownKey};
use flowsieve_experiment::{Error, ResultDir};

fn refused(error: ExportError) -> Error {
    match error {
        ExportError::Key(error) => error.into(),
        error => Error::Input(error.to_string()),
    }
}

pub(crate) fn write_export(args: &Export) -> Result<(), Error> {
    let result = ResultDir::open(&args.dir)?;
    let format = args.format.unwrap_or(match args.what {
        Exported::Figure => ExportFormat::Svg,
        Exported::Table | Exported::Flows => ExportFormat::Csv,
    });
    if let Some(problem) = senseless(args, format) {
        return Err(Error::Input(problem.to_owned()));
    }
    if args.what == Exported::Flows {
        return to_output(|out| export::flows_csv(&result, out).map_err(Error::Output));
    }
    let columns = args.columns.unwrap_or(1);
    let (mut layout, by_size) = layout(&result, args)?;
    export::keep(&result, &mut layout, &args.at).map_err(refused)?;
    let (y, class) = (args.y.as_deref(), args.class.as_deref());
    if args.what == Exported::Figure {
        let figures = export::figures(&result, &layout, by_size, y, class).map_err(refused)?;
        return match format {
            ExportFormat::Svg => print(&figures.svg(columns).map_err(refused)?),
            ExportFormat::Csv | ExportFormat::Latex => to_output(|out| figures.csv(out).map_err(Error::Output)),
        };
    }
    let selection = Selection::new(&result, y, class).map_err(refused)?;
    match format {
        ExportFormat::Latex => print(&export::latex(&result, &layout, &selection, columns)),
        ExportFormat::Csv | ExportFormat::Svg => {
            to_output(|out| export::csv(&result, &layout, &selection, out).map_err(Error::Output))
        }
    }
}

/// By a swept setting; or, of a figure, by flow size, if nothing that is swept has that name.
fn layout(result: &ResultDir, args: &Export) -> Result<(Layout, bool), UnknownKey> {
    let experiment = &result.manifest().experiment;
    match Layout::new(experiment, args.x.as_deref()) {
        Err(mut unknown) if args.what == Exported::Figure => {
            if unknown.name == "size" {
                return Ok((Layout::new(experiment, None)?, true));
            }
            unknown.swept.push("size".into());
            Err(unknown)
        }
        layout => Ok((layout?, false)),
    }
}

/// What of the command line nothing would read, and what to say instead.
fn senseless(args: &Export, format: ExportFormat) -> Option<&'static str> {
    let is_narrowed = args.x.is_some() || args.y.is_some() || args.class.is_some() || !args.at.is_empty();
    match (args.what, format) {
        (Exported::Flows, _) if format != ExportFormat::Csv || is_narrowed || args.columns.is_some() => Some(
            "--what flows is CSV of every flow; expected no --format latex or svg, --x, --y, --class, --at or --columns",
        ),
        (Exported::Table, ExportFormat::Svg) => {
            Some("a table is not drawn; expected --what figure, or --format csv or latex")
        }
        (Exported::Figure, ExportFormat::Latex) => Some(
            "a figure is no LaTeX; expected --format svg, which \\includesvg of the package svg shows, or --what table",
        ),
        (_, ExportFormat::Csv) if args.columns.is_some() => {
            Some("CSV has no width on a page; expected --columns with --format latex or svg")
        }
        _ => None,
    }
}
