//! Configuration of switches and hosts for a recommendation.

use super::candidates::{Candidate, Kind};
use super::{Mark, Request, Verdict};
use crate::thresholds::Marking;
use crate::thresholds::paired::Links;
use flowsieve_configure::{Plan, Port, System, check_ports};
use flowsieve_experiment::Error;
use flowsieve_fabric::topology::Fabric;
use flowsieve_settings::units::format_rate;
use serde::Serialize;

/// A switch's ports, for which configuration is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports {
    /// Each with its speed in bit/s.
    pub ports: Vec<(String, u64)>,
    /// The queues of a port that may be used, by the switch's numbers; `None`: what a system has free as it is shipped.
    pub queues_of_port: Option<Vec<u8>>,
}

/// A file of configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Its name.
    pub file: String,
    /// Why it was not written.
    pub refused: Option<String>,
}

/// Checks ports and queues before any run: marks, names, numbers, speeds, and K by the rule.
pub(super) fn check(request: &Request, fabric: &Fabric) -> Result<(), Error> {
    let Some(ports) = &request.ports else { return Ok(()) };
    if request.markings.contains(&Marking::Port) {
        let problem = "--ports: expected --marking queue, as these systems mark by the length of a queue";
        return Err(Error::Input(problem.to_owned()));
    }
    let links = Links::of(fabric);
    let of_port = |(name, bps): &(String, u64)| {
        if !links.rates_bps.contains(bps) {
            let rates: Vec<String> = links.rates_bps.iter().map(|bps| format_rate(*bps)).collect();
            let (rate, rates) = (format_rate(*bps), rates.join(", "));
            return Err(Error::Input(format!("--ports: {name}={rate}: expected one of the fabric's rates: {rates}")));
        }
        Ok(Port { name: name.clone(), rate_bps: *bps, marks_from_bytes: links.ecn_threshold_bytes(*bps) })
    };
    let of_ports = ports.ports.iter().map(of_port).collect::<Result<Vec<_>, _>>()?;
    check_ports(&of_ports, ports.queues_of_port.as_deref())
        .map_err(|refused| Error::Input(format!("--ports: {refused}")))
}

/// Writes the configuration of a recommendation, if ports were named: what was written and what not, and the texts.
pub(super) fn write(
    request: &Request,
    verdict: Verdict,
    recommended: &Candidate,
    marks: &[Mark],
    dscps: &[u8],
) -> (Vec<Written>, Vec<(String, String)>) {
    let Some(ports) = &request.ports else { return (Vec::new(), Vec::new()) };
    let none = |why: &str| {
        let refused = |system: &System| Written { file: system.file().to_owned(), refused: Some(why.to_owned()) };
        (System::ALL.iter().map(refused).collect(), Vec::new())
    };
    let Kind::Thresholds { bytes, .. } = &recommended.kind else {
        return match (verdict, &recommended.kind) {
            (_, Kind::Clusters) => none("clusters need a program of the switch"),
            (Verdict::OneQueueOtherK, _) => none("one queue needs only another marking threshold"),
            _ => none("one queue needs none"),
        };
    };
    if dscps.len() != recommended.queues {
        return none("there are no DSCPs for local use for so many queues");
    }
    let mark = |bps: u64| marks.iter().find(|mark| mark.rate_bps == bps).map_or(0, |mark| mark.bytes);
    let port = |(name, bps): &(String, u64)| Port { name: name.clone(), rate_bps: *bps, marks_from_bytes: mark(*bps) };
    let plan = Plan {
        dscps: dscps.to_vec(),
        thresholds_bytes: bytes.clone(),
        ports: ports.ports.iter().map(port).collect(),
        queues_of_port: ports.queues_of_port.clone(),
    };
    let (mut written, mut texts) = (Vec::new(), Vec::new());
    for system in System::ALL {
        let file = system.file().to_owned();
        match system.write(&plan) {
            Ok(text) => {
                texts.push((file.clone(), text));
                written.push(Written { file, refused: None });
            }
            Err(refused) => written.push(Written { file, refused: Some(refused.to_string()) }),
        }
    }
    (written, texts)
}
