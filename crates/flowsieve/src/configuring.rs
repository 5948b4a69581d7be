//! `flowsieve thresholds --write`: configuration of switches and hosts for the advice.

use crate::args::Configuration;
use crate::options::{self, NamedPort, ThresholdsOptions};
use crate::output::tell;
use flowsieve_configure::{Plan, Port, System, check_ports};
use flowsieve_experiment::Error;
use flowsieve_experiment::bundle::{failed, write_text};
use flowsieve_files::{Existing, check_new};
use flowsieve_schemes::marking_rule::ecn_threshold_bytes;
use flowsieve_settings::units::format_rate;
use flowsieve_studies::thresholds::Advice;
use std::fs;

/// Bytes of a full packet, for K.
const MTU: u64 = 1_500;

/// Checks that the files can be written, before the work that they take.
///
/// # Errors
/// Fails if one exists and stays, or if the options do not fit.
pub(crate) fn check(wanted: &Configuration, of: &ThresholdsOptions) -> Result<(), Error> {
    if wanted.write.is_none() {
        return Ok(());
    }
    let input = |problem: &str| Err(Error::Input(format!("--write: {problem}")));
    if of.load.len() != 1 {
        return input("expected one load");
    }
    if matches!(of.marking, options::Marking::Port) {
        return input("expected --marking queue, as these systems mark by the length of a queue");
    }
    if of.fabric.is_none() {
        let rates: Vec<u64> = of.rate.iter().map(|rate| rate.bps).collect();
        wanted.ports.iter().try_for_each(|port| has_threshold(port, &rates))?;
    }
    // The speeds of a fabric are not known yet, nor is any K of them.
    let k = |bps| if of.fabric.is_none() { ecn_threshold_bytes(bps, of.rtt.ps, MTU) } else { MTU };
    let port = |NamedPort { name, rate }: &NamedPort| Port {
        name: name.clone(),
        rate_bps: rate.bps,
        marks_from_bytes: k(rate.bps),
    };
    let ports: Vec<Port> = wanted.ports.iter().map(port).collect();
    let queues = (!wanted.queues_of_port.is_empty()).then_some(&*wanted.queues_of_port);
    if let Err(refused) = check_ports(&ports, queues) {
        return input(&refused.to_string());
    }
    let paths = wanted.write.iter().flat_map(|folder| System::ALL.map(|system| folder.join(system.file())));
    for path in paths {
        check_new(&path, Existing::replaced(wanted.replace)).map_err(failed(&path))?;
    }
    Ok(())
}

/// Writes a file for each system that can state the advice, and says which cannot, and why.
///
/// # Errors
/// Fails if the options do not fit the advice, or a file exists or cannot be written.
pub(crate) fn write(options: &Configuration, advice: &[Advice]) -> Result<(), Error> {
    let Some(folder) = &options.write else { return Ok(()) };
    let input = |problem: &str| Err(Error::Input(format!("--write: {problem}")));
    let [advice] = advice else { return input("expected one load") };
    if advice.queues.len() < 2 {
        tell("No configuration was written: one queue needs none.");
        return Ok(());
    }
    if advice.simulated.as_ref().is_some_and(|simulated| !simulated.helps) {
        tell(
            "No configuration was written: keep one queue, as the simulation shows no gain; --model-only would write it.",
        );
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
                write_text(path, Existing::replaced(options.replace), text)?;
                tell(format!("Configuration: {}", path.display()));
            }
            Err(refused) => tell(format!("not written: {}: {refused}", path.display())),
        }
    }
    Ok(())
}

/// Checks that the speed of a port is one that has a marking threshold.
fn has_threshold(port: &NamedPort, rates_bps: &[u64]) -> Result<(), Error> {
    if rates_bps.contains(&port.rate.bps) {
        return Ok(());
    }
    let rates: Vec<String> = rates_bps.iter().map(|bps| format_rate(*bps)).collect();
    let (name, rate, rates) = (&port.name, format_rate(port.rate.bps), rates.join(", "));
    Err(Error::Input(format!("--ports: {name}={rate}: expected one of the rates: {rates}")))
}

/// Gives a port the marking threshold of its speed.
fn of_port(port: &NamedPort, advice: &Advice) -> Result<Port, Error> {
    let marks = &advice.ecn_thresholds;
    has_threshold(port, &marks.iter().map(|mark| mark.rate_bps).collect::<Vec<_>>())?;
    let bytes = marks.iter().find(|mark| mark.rate_bps == port.rate.bps).map_or(0, |mark| mark.bytes);
    Ok(Port { name: port.name.clone(), rate_bps: port.rate.bps, marks_from_bytes: bytes })
}
