//! `flowsieve thresholds --write`: configuration of switches and hosts for the advice.

use crate::args::{Configuration, NamedPort};
use crate::output::tell;
use flowsieve_configure::{Plan, Port, System};
use flowsieve_experiment::Error;
use flowsieve_files::{Existing, check_new, write_whole};
use flowsieve_settings::units::format_rate;
use flowsieve_studies::thresholds::{Advice, Marking};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Checks that the files can be written, before the work that they take.
///
/// # Errors
/// Fails if one exists and stays.
pub(crate) fn check(options: &Configuration) -> Result<(), Error> {
    let paths = options.write.iter().flat_map(|folder| System::ALL.map(|system| folder.join(system.file())));
    for path in paths {
        check_new(&path, existing(options)).map_err(failed(&path))?;
    }
    Ok(())
}

fn existing(options: &Configuration) -> Existing {
    if options.replace { Existing::Replace } else { Existing::Refuse }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error + use<> {
    let path = path.display().to_string();
    move |error| Error::File { path: path.clone(), problem: error.to_string() }
}

/// Writes a file for each system that can state the advice, and says which cannot, and why.
///
/// # Errors
/// Fails if the options do not fit the advice, or a file exists or cannot be written.
pub(crate) fn write(options: &Configuration, advice: &[Advice]) -> Result<(), Error> {
    let Some(folder) = &options.write else { return Ok(()) };
    let input = |problem: &str| Err(Error::Input(format!("--write: {problem}")));
    let [advice] = advice else { return input("expected one load") };
    if advice.marking != Marking::Queue {
        return input("expected --marking queue, as these systems mark by the length of a queue");
    }
    if advice.queues.len() < 2 || advice.simulated.as_ref().is_some_and(|simulated| !simulated.helps) {
        tell("No configuration was written: one queue needs none.");
        return Ok(());
    }
    let dscps: Option<Vec<u8>> = advice.queues.iter().map(|assigned| assigned.dscp).collect();
    let Some(dscps) = dscps else {
        return input("expected at most 11 queues, as there are no more DSCPs for local use");
    };
    let plan = Plan {
        dscps,
        thresholds_bytes: advice.recommended_bytes.clone(),
        ports: options.ports.iter().map(|port| of_port(port, advice)).collect::<Result<_, _>>()?,
        queues_of_port: (!options.queues_of_port.is_empty()).then(|| options.queues_of_port.clone()),
    };
    let written = System::ALL.map(|system| (folder.join(system.file()), system.write(&plan)));
    if let [(_, Err(first)), others @ ..] = &written
        && others.iter().all(|(_, text)| text.is_err())
    {
        return input(&first.to_string());
    }
    fs::create_dir_all(folder).map_err(failed(folder))?;
    for (path, text) in &written {
        match text {
            Ok(text) => {
                write_whole(path, existing(options), failed(path), |out| {
                    out.write_all(text.as_bytes()).map_err(failed(path))
                })?;
                tell(format!("Configuration: {}", path.display()));
            }
            Err(refused) => tell(format!("not written: {}: {refused}", path.display())),
        }
    }
    Ok(())
}

/// Gives a port the marking threshold of its speed.
fn of_port(port: &NamedPort, advice: &Advice) -> Result<Port, Error> {
    let rate_bps = port.rate.bps;
    let Some(mark) = advice.ecn_thresholds.iter().find(|mark| mark.rate_bps == rate_bps) else {
        let rates: Vec<String> = advice.ecn_thresholds.iter().map(|mark| format_rate(mark.rate_bps)).collect();
        let (name, rate, rates) = (&port.name, format_rate(rate_bps), rates.join(", "));
        return Err(Error::Input(format!("--ports: {name}={rate}: expected one of the rates: {rates}")));
    };
    Ok(Port { name: port.name.clone(), rate_bps, marks_from_bytes: mark.bytes })
}
