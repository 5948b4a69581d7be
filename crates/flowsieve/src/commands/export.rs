//! `flowsieve export`: a result for a paper or for another program.

use clap::{Args, ValueEnum, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_report::Layout;
use flowsieve_report::export::{self, ExportError, SafeCsv, Selection};
use flowsieve_results::ResultDir;
use flowsieve_settings::files::for_terminal;
use flowsieve_settings::{Origin, SettingsError};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use crate::output::to_output;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve export results/quickstart
      every statistic of the result as CSV: each row names its statistic, its unit and the ends of its interval
  flowsieve export results/quickstart --format latex --y \"mean fct\" --class 0-100KB
      a table for a paper, with intervals and ratios to the first scheme (booktabs)
  flowsieve export results/first --format latex --y \"p99 fct\" --x ecn_threshold --columns 2
      a table for each class, across both columns of a page, by another swept setting
  flowsieve export results/quickstart --what figure --y \"p99 slowdown\" --class 0-100KB > p99.svg
      a figure for a paper, as wide as one column, with intervals
  flowsieve export results/quickstart --what figure --format pdf --class 0-100KB > fct.pdf
      mean FCT as a PDF, for \\includegraphics
  flowsieve export results/quickstart --what figure --format latex --class 0-100KB > fct.tex
      the same for mean FCT, in the paper's own font (pgfplots)
  flowsieve export results/quickstart --what figure --x size --columns 2 > by-size.svg
      slowdown against flow size at each load, across both columns
  flowsieve export results/quickstart --what figure --x size --at load=0.7 --format csv > plot.csv
      the numbers of such a figure at one load, with the sizes in bytes
  flowsieve export results/quickstart --what flows > flows-of-quickstart.csv
      every flow, with scheme, load and other swept settings")]
pub(crate) struct Export {
    /// The folder of a result
    #[arg(value_hint = ValueHint::DirPath)]
    dir: PathBuf,
    #[command(flatten)]
    options: ExportOptions,
}

/// What is exported of a result, and how.
#[derive(Debug, Clone, Args)]
pub struct ExportOptions {
    /// What to export
    #[arg(long, value_enum, default_value_t)]
    pub what: What,
    /// The format [default: svg for a figure, else csv]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// The swept setting of the rows or of the x axis; for a figure also `size` of flows, or `time` [default: the one
    /// with the most values]
    #[arg(long, value_name = "KEY")]
    pub x: Option<String>,
    /// One measure: mean, p50, p95, p99 or p99.9, then fct, cct (of coflows) or slowdown; for a figure also "mean fct
    /// ratio", utilisation or drops; over time the name of a sampled series, such as goodput [default: all; for a
    /// figure mean fct, by size p99 slowdown]
    #[arg(long, value_name = "MEASURE")]
    pub y: Option<String>,
    /// One size class, coflows, or a class of coflows [default: all]
    #[arg(long, value_name = "CLASS")]
    pub class: Option<String>,
    /// Only where a swept setting has this value, such as load=0.8; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub at: Vec<String>,
    /// Width of a LaTeX table or a figure, in columns of the page [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub columns: Option<u8>,
    /// CSV for a spreadsheet: put an apostrophe before texts that begin with =, +, - or @, so that they are not
    /// formulas
    #[arg(long)]
    pub safe_csv: bool,
}

/// What is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, ValueEnum)]
pub enum What {
    /// Statistics by point and class
    #[default]
    Table,
    /// Plots
    Figure,
    /// A row for each flow, as CSV
    Flows,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub enum Format {
    /// Comma-separated values
    Csv,
    /// A table of the package booktabs, or a figure of pgfplots
    Latex,
    /// A drawing with outlined letters that needs no font and no other file
    Svg,
    /// The same drawing, for `\includegraphics`
    Pdf,
}

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

pub(crate) fn export(args: &Export) -> Result<(), Error> {
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
