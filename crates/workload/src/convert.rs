//! Converts files of other simulators to Flowsieve's own: flow lists, topologies and distributions of flow sizes.
//!
//! 1. [`detect`] returns the formats that a text fits; [`format()`] returns one by its name;
//! 2. [`convert`] reads the text with the user's options ([`Options`]);
//! 3. the [`Outcome`] holds the result: our file, and what was left out, with counts.
//!
//! Three rules hold for all formats. Numbers are decimal and stay exact: times are kept to the picosecond. If the
//! contents leave something open (a unit, which nodes are hosts), the user has to state it; it is never guessed. What
//! Flowsieve does not have is refused, or reported with its count.
//!
//! A format is one entry of the registry and one reader; a file holds a family of formats. Nothing here opens files.

mod cdf;
mod coflow;
mod error;
mod flows;
mod homa;
mod htsim;
mod htsim_topo;
mod netbench;
mod ns3;
mod ns3_config;
mod ns3_topology;
mod options;
mod outcome;
mod parsimon;
mod registry;
mod sizes;
pub(crate) mod source;
mod topology;
mod units;
mod yaps;

use error::excerpt;
pub use error::{ConvertError, Kind};
pub use flows::Flows;
pub use options::{Opt, Options, SizeUnit, TimeUnit};
pub use outcome::{Notes, Outcome, What};
pub use registry::{Fit, Format, Gives, format, formats};
pub use sizes::{Drawn, Point, Sizes};
pub use source::Source;
pub use topology::{Cable, Role, Topology};

/// Returns the formats that the text fits. The certain ones come first; the contents cannot distinguish the others.
pub fn detect(source: &Source<'_>) -> Vec<(&'static Format, Fit)> {
    let fits = |format: &'static Format| Some((format, (format.fit)(source))).filter(|(_, fit)| *fit != Fit::No);
    let mut found: Vec<_> = formats().iter().filter_map(fits).collect();
    found.sort_by_key(|(_, fit)| *fit != Fit::Sure);
    found
}

/// Returns the one format that the text certainly has; otherwise an error that names those that fit.
pub fn detected(source: &Source<'_>) -> Result<&'static Format, ConvertError> {
    match detect(source)[..] {
        [(format, Fit::Sure)] | [(format, Fit::Sure), (_, Fit::Possible), ..] => Ok(format),
        ref found => {
            let names: Vec<&'static str> = found.iter().map(|(format, _)| format.name).collect();
            let (problem, expected) = match names.as_slice() {
                [] => return Err(no_format(source)),
                [name] => (
                    format!("this may be {name}, but the contents are ambiguous"),
                    format!("`{}`, if it is", command(source.name, found[0].0)),
                ),
                [first, ..] => (
                    format!("the contents match {}", names.join(" and ")),
                    format!("--from with one of them, such as `{}` for {first}", command(source.name, found[0].0)),
                ),
            };
            Err(source.fault(None, Kind::Format(names), problem, expected))
        }
    }
}

/// Builds the error about a text that fits no format: the line that breaks the nearest one, if all lines but the first or the
/// last ones, where other programs write words of their own, have a format.
fn no_format(source: &Source<'_>) -> ConvertError {
    let lines: Vec<_> = source.rows().collect();
    let without = |first: usize, last: usize| {
        let kept = lines.get(first..lines.len().checked_sub(last)?)?;
        let text = kept.iter().map(|row| row.text).collect::<Vec<_>>().join("\n");
        let nearest = detect(&Source { text: &text, ..*source }).first()?.0;
        let broken = lines.get(if first > 0 { 0 } else { lines.len() - last })?;
        Some((nearest, broken.line, broken.text))
    };
    let nearest = [(0, 1), (1, 0), (1, 1), (0, 2), (1, 2)].into_iter().find_map(|(first, last)| without(first, last));
    let (line, problem, expected) = match (nearest, lines.first()) {
        (Some((nearest, line, text)), _) => (
            Some(line),
            format!("the contents match {}, but not this line: `{}`", nearest.name, excerpt(text)),
            format!("a file without it, and `{}`", command(source.name, nearest)),
        ),
        (None, first) => {
            let begins = first.map_or(String::new(), |row| format!("; it begins `{}`", excerpt(row.text)));
            (
                first.map(|row| row.line),
                format!("the contents match no known format{begins}"),
                "--from with a format of `flowsieve list formats`".to_owned(),
            )
        }
    };
    source.fault(line, Kind::Format(Vec::new()), problem, expected)
}

/// Returns the command that converts a file of this format.
fn command(name: &str, format: &Format) -> String {
    let out = match format.gives {
        Gives::Flows => "flows.csv",
        Gives::Topology => "fabric.csv",
        Gives::Sizes => "sizes.csv",
        Gives::Experiment => "experiment.toml",
    };
    let needs = if format.needs.is_empty() { String::new() } else { format!(" {}", format.needs) };
    format!("flowsieve convert {} -o {out} --from {}{needs}", quoted(name), format.name)
}

/// Quotes a file's name for a shell.
fn quoted(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=:@".contains(c));
    if plain { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

/// Returns advice for a reader of our own files about a text that is none of them: the formats of this kind that fit,
/// and the command that converts it. `None` if no format fits.
pub fn advice(source: &Source<'_>, wanted: Gives) -> Option<String> {
    let mut found = detect(source);
    found.retain(|(format, _)| format.gives == wanted);
    let command = command(source.name, found.first()?.0);
    match found.as_slice() {
        [(format, Fit::Sure), ..] => {
            let summary = format.summary.split(';').next().unwrap_or_default();
            Some(format!("this is a file of {} ({summary}); convert it with `{command}`", format.name))
        }
        found => {
            let names: Vec<&str> = found.iter().map(|(format, _)| format.name).collect();
            Some(format!("it may be a file of {}; if so, convert it with `{command}`", names.join(" or ")))
        }
    }
}

/// Reads a text of this format.
///
/// # Errors
/// Fails on options that the format does not read, on violations of its grammar, on details that neither it nor an
/// option gives, and on anything that Flowsieve does not have.
pub fn convert(source: &Source<'_>, format: &Format, options: &Options<'_>) -> Result<Outcome, ConvertError> {
    if let Some(option) = options.given().find(|option| !format.options.contains(option)) {
        let read: Vec<String> = format.options.iter().map(|option| format!("--{}", option.name())).collect();
        let expected = if read.is_empty() { "no option".to_owned() } else { read.join(", ") };
        let problem = format!("--{} has no effect on {}", option.name(), format.name);
        return Err(source.fault(None, Kind::Unread(option.name()), problem, expected));
    }
    let mut notes = Notes::default();
    let what = (format.read)(source, options, &mut notes)?;
    Ok(Outcome { format: format.name, what, notes })
}

/// Reads the topology in a file that accompanies a flow list.
fn topology_of(source: Source<'_>) -> Result<Topology, ConvertError> {
    let format = detected(&source)?;
    // NVSwitches do not matter here: only the hosts' ids do.
    let options = Options { leave_out: format.options.contains(&Opt::LeaveOut), ..Options::default() };
    if format.name == netbench::TOPOLOGY {
        return netbench::graph(&source).map(|graph| graph.bare());
    }
    match (format.read)(&source, &options, &mut Notes::default())? {
        What::Topology(topology) => Ok(topology),
        _ => {
            let problem = format!("{} is not a topology", format.name);
            Err(source.fault(None, Kind::Format(vec![format.name]), problem, "the topology of the flows"))
        }
    }
}
