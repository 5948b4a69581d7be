//! Configuration of switches and hosts for what [`tune`](mod@crate::tune) or a model recommends, at the ports that are named.

use crate::configure::{Plan, Port, System, check_ports};
use crate::thresholds::Marking;
use crate::thresholds::paired::Links;
use flowsieve_experiment::Error;
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

/// What is written and what is not; and by file what is.
pub type Configured = (Vec<Written>, Vec<(String, String)>);

impl Ports {
    /// Checks ports and queues before any run: marks, names, numbers, speeds, and K by the rule.
    pub(crate) fn check(&self, markings: &[Marking], links: &Links) -> Result<(), Error> {
        if markings.contains(&Marking::Port) {
            let problem = "--ports: expected --marking queue, as these systems mark by the length of a queue";
            return Err(Error::Input(problem.to_owned()));
        }
        let of_port = |(name, bps): &(String, u64)| {
            if !links.rates_bps.contains(bps) {
                let rates: Vec<String> = links.rates_bps.iter().map(|bps| format_rate(*bps)).collect();
                let (rate, rates) = (format_rate(*bps), rates.join(", "));
                return Err(Error::Input(format!("--ports: {name}={rate}: expected one of the links' rates: {rates}")));
            }
            Ok(Port { name: name.clone(), rate_bps: *bps, marks_from_bytes: links.ecn_threshold_bytes(*bps) })
        };
        let of_ports = self.ports.iter().map(of_port).collect::<Result<Vec<_>, _>>()?;
        check_ports(&of_ports, self.queues_of_port.as_deref())
            .map_err(|refused| Error::Input(format!("--ports: {refused}")))
    }

    /// Writes the text of each system that can state thresholds, code points and K by speed. Without thresholds ports keep their
    /// queues.
    pub(crate) fn configure(
        &self,
        (thresholds_bytes, dscps, unmarked): (&[u64], &[u8], usize),
        k: impl Fn(u64) -> u64,
        hosts_are_dctcp: bool,
    ) -> Configured {
        if !thresholds_bytes.is_empty() && dscps.len() != thresholds_bytes.len() + 1 {
            return none("there are no DSCPs for local use for so many queues");
        }
        let port = |(name, bps): &(String, u64)| Port { name: name.clone(), rate_bps: *bps, marks_from_bytes: k(*bps) };
        let plan = Plan {
            dscps: dscps.to_vec(),
            thresholds_bytes: thresholds_bytes.to_vec(),
            unmarked,
            ports: self.ports.iter().map(port).collect(),
            queues_of_port: self.queues_of_port.clone(),
            hosts_are_dctcp,
        };
        let (mut written, mut texts) = (Vec::new(), Vec::new());
        for system in System::ALL {
            let file = system.file().to_owned();
            let refused = match system.write(&plan) {
                Ok(text) => {
                    texts.push((file.clone(), text));
                    None
                }
                Err(refused) => Some(refused.to_string()),
            };
            written.push(Written { file, refused });
        }
        (written, texts)
    }
}

/// Writes nothing for any system, for one reason.
pub(crate) fn none(why: &str) -> Configured {
    let refused = |system: &System| Written { file: system.file().to_owned(), refused: Some(why.to_owned()) };
    (System::ALL.iter().map(refused).collect(), Vec::new())
}
