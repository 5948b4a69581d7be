//! The command `flowsieve export`.

use crate::args::Export;
use crate::options::{ExportOptions, Format, What};
use crate::output::to_output;
use flowsieve_experiment::Error;
use flowsieve_files::for_terminal;
use flowsieve_report::Layout;
use flowsieve_report::export::{self, ExportError, SafeCsv, Selection};
use flowsieve_results::ResultDir;
use flowsieve_settings::{Origin, SettingsError};
use std::io::{self, IsTerminal, Write};

/// What cannot be exported, as an error with the names that there are.
pub fn refused(error: ExportError) -> Error {
    match error {
        ExportError::Class { name, valid } => {
            let origin = Origin::CommandLine(format!("--class {name}").into());
            let wrong = SettingsError::new(origin, format!("this result has no class `{name}`"));
            wrong.expected(valid.join(", ")).names(name, valid).into()
        }
        ExportError::Key(error) => error.into(),
        ExportError::Result(error) => error.into(),
        error => Error::Input(error.to_string()),
    }
}

pub(crate) fn write_export(args: &Export) -> Result<(), Error> {
    let result = ResultDir::open(&args.dir)?;
    if args.options.format == Some(Format::Pdf) && io::stdout().is_terminal() {
        let problem = "a PDF is no text for a terminal; expected `> figure.pdf` after the command";
        return Err(Error::Input(problem.to_owned()));
    }
    to_output(|out| export_to(&result, &args.options, out))
}

/// Writes a result, or a part of it, for a paper or for another program.
///
/// # Errors
/// Fails if the options contradict one another or the result does not have what they name, or if `out` fails.
pub fn export_to(result: &ResultDir, options: &ExportOptions, out: &mut dyn Write) -> Result<(), Error> {
    let format = options.format.unwrap_or(match options.what {
        What::Figure => Format::Svg,
        What::Table | What::Flows => Format::Csv,
    });
    if let Some(problem) = senseless(options, format) {
        return Err(Error::Input(problem.to_owned()));
    }
    if let Some(every) = result.manifest().experiment.screened() {
        return Err(Error::Input(format!(
            "a screened result has only the flows to one host in {every}: it ranks points and is not for a paper; expected a result \
             of whole runs"
        )));
    }
    if options.what == What::Flows {
        return csv(options, out, |out| export::flows_csv(result, out));
    }
    let columns = options.columns.unwrap_or(1);
    let (x, y, class) = (options.x.as_deref(), options.y.as_deref(), options.class.as_deref());
    if options.what == What::Figure {
        let figures = export::asked(result, x, y, class, &options.at).map_err(refused)?;
        return match format {
            Format::Svg => text(out, &figures.svg(columns).map_err(refused)?),
            Format::Pdf => out.write_all(&figures.pdf(columns).map_err(refused)?).map_err(Error::Output),
            Format::Latex => text(out, &figures.latex(columns).map_err(refused)?),
            Format::Csv => csv(options, out, |out| figures.csv(out)),
        };
    }
    let mut layout = Layout::new(&result.manifest().experiment, x)?;
    export::keep(result, &mut layout, &options.at).map_err(refused)?;
    let selection = Selection::new(result, y, class).map_err(refused)?;
    match format {
        Format::Latex => text(out, &export::latex(result, &layout, &selection, columns)),
        Format::Csv | Format::Svg | Format::Pdf => {
            csv(options, out, |out| export::csv(result, &layout, &selection, out))
        }
    }
}

/// Writes a text without control characters, which names in other people's results may have.
fn text(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    out.write_all(for_terminal(text, false).as_bytes()).map_err(Error::Output)
}

/// Writes CSV, made safe for a spreadsheet if asked.
fn csv(
    options: &ExportOptions,
    mut out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let done = if options.safe_csv {
        let mut safe = SafeCsv::new(&mut out);
        write(&mut safe).and_then(|()| safe.flush())
    } else {
        write(out)
    };
    done.map_err(Error::Output)
}

/// Finds an argument that nothing would read, and returns what to write instead.
fn senseless(options: &ExportOptions, format: Format) -> Option<&'static str> {
    let is_narrowed = options.x.is_some() || options.y.is_some() || options.class.is_some() || !options.at.is_empty();
    match (options.what, format) {
        (What::Flows, _) if format != Format::Csv || is_narrowed || options.columns.is_some() => Some(
            "--what flows is CSV of every flow; expected no --format latex, svg or pdf, --x, --y, --class, --at or --columns",
        ),
        (What::Table, Format::Svg | Format::Pdf) => {
            Some("a table cannot be an SVG or a PDF; expected --what figure, or --format csv or latex")
        }
        (_, Format::Latex | Format::Svg | Format::Pdf) if options.safe_csv => {
            Some("--safe-csv applies only to CSV; expected --format csv, or no --safe-csv")
        }
        (_, Format::Csv) if options.columns.is_some() => {
            Some("CSV has no width on a page; expected --columns with --format latex, svg or pdf")
        }
        _ => None,
    }
}
