//! The command `flowsieve export`.

use crate::args::{Export, ExportFormat, Exported};
use crate::output::{print, to_output};
use flowsieve_experiment::Error;
use flowsieve_report::Layout;
use flowsieve_report::export::{self, ExportError, SafeCsv, Selection};
use flowsieve_results::ResultDir;
use std::io::{self, IsTerminal, Write};

fn refused(error: ExportError) -> Error {
    match error {
        ExportError::Key(error) => error.into(),
        ExportError::Result(error) => error.into(),
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
        return csv(args, |out| export::flows_csv(&result, out));
    }
    let columns = args.columns.unwrap_or(1);
    let (x, y, class) = (args.x.as_deref(), args.y.as_deref(), args.class.as_deref());
    if args.what == Exported::Figure {
        let figures = export::asked(&result, x, y, class, &args.at).map_err(refused)?;
        return match format {
            ExportFormat::Svg => print(&figures.svg(columns).map_err(refused)?),
            ExportFormat::Pdf => {
                let pdf = figures.pdf(columns).map_err(refused)?;
                to_output(|out| out.write_all(&pdf).map_err(Error::Output))
            }
            ExportFormat::Latex => print(&figures.latex(columns).map_err(refused)?),
            ExportFormat::Csv => csv(args, |out| figures.csv(out)),
        };
    }
    let mut layout = Layout::new(&result.manifest().experiment, x)?;
    export::keep(&result, &mut layout, &args.at).map_err(refused)?;
    let selection = Selection::new(&result, y, class).map_err(refused)?;
    match format {
        ExportFormat::Latex => print(&export::latex(&result, &layout, &selection, columns)),
        ExportFormat::Csv | ExportFormat::Svg | ExportFormat::Pdf => {
            csv(args, |out| export::csv(&result, &layout, &selection, out))
        }
    }
}

/// Prints CSV, made safe for a spreadsheet if asked.
fn csv(args: &Export, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    to_output(|out| {
        let done = if args.safe_csv {
            let mut safe = SafeCsv::new(out);
            write(&mut safe).and_then(|()| safe.flush())
        } else {
            write(out)
        };
        done.map_err(Error::Output)
    })
}

/// Finds an argument that nothing would read, and returns what to write instead.
fn senseless(args: &Export, format: ExportFormat) -> Option<&'static str> {
    let is_narrowed = args.x.is_some() || args.y.is_some() || args.class.is_some() || !args.at.is_empty();
    match (args.what, format) {
        (Exported::Flows, _) if format != ExportFormat::Csv || is_narrowed || args.columns.is_some() => Some(
            "--what flows is CSV of every flow; expected no --format latex, svg or pdf, --x, --y, --class, --at or --columns",
        ),
        (Exported::Table, ExportFormat::Svg | ExportFormat::Pdf) => {
            Some("a table cannot be an SVG or a PDF; expected --what figure, or --format csv or latex")
        }
        (Exported::Figure, ExportFormat::Pdf) if io::stdout().is_terminal() => {
            Some("a PDF is no text for a terminal; expected `> figure.pdf` after the command")
        }
        (_, ExportFormat::Latex | ExportFormat::Svg | ExportFormat::Pdf) if args.safe_csv => {
            Some("--safe-csv applies only to CSV; expected --format csv, or no --safe-csv")
        }
        (_, ExportFormat::Csv) if args.columns.is_some() => {
            Some("CSV has no width on a page; expected --columns with --format latex, svg or pdf")
        }
        _ => None,
    }
}
