//! Configuration of switches and hosts for what [`tune`](mod@crate::tune) or a model recommends, at the ports that are named.

use crate::configure::{Listed, Lossless, Marks, Others, Plan, Port, System, check};
use crate::thresholds::Marking;
use crate::thresholds::paired::Links;
use flowsieve_experiment::Error;
use flowsieve_settings::files::read_text;
use flowsieve_settings::units::format_rate;
use serde::Serialize;
use std::path::PathBuf;

/// The longest file of ports: far more than any switch writes.
const MOST_BYTES: u64 = 16_000_000;

/// Where ports are from.
#[derive(Debug, Clone)]
pub enum Given {
    /// Each with its speed in bit/s.
    List(Vec<(String, u64)>),
    /// What a system says of itself; with the speed, if that has none.
    File(PathBuf, Option<u64>),
}

/// The ports for which configuration is written, of one device or more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports {
    /// By system.
    lists: Vec<Listed>,
    /// The queues of a port that may be used, by the switch's numbers; `None`: what a system has free as it is shipped.
    queues_of_port: Option<Vec<u8>>,
    /// What shares the ports with the data.
    others: Others,
}

/// A file of configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Its name.
    pub file: String,
    /// Why it was not written.
    pub refused: Option<String>,
    /// What to know of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What is written and what is not; and by file what is.
pub type Configured = (Vec<Written>, Vec<(String, String)>);

impl Ports {
    /// Takes lists, and reads files.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or its system has no such ports.
    pub fn read(given: &[Given], queues_of_port: Option<Vec<u8>>, others: Others) -> Result<Ports, Error> {
        let listed = |given: &Given| match given {
            Given::List(ports) => Listed::of(ports.clone()).map_err(wrong),
            Given::File(path, rate) => {
                let failed = |problem: String| {
                    let expected = "expected such as Ethernet0=25Gbps, or a file";
                    wrong(format!("{}: {problem}; {expected}", path.display()))
                };
                let text = read_text(path, MOST_BYTES).map_err(|error| failed(error.to_string()))?;
                Listed::read(&text, *rate).map_err(|problem| wrong(format!("{}: {problem}", path.display())))
            }
        };
        let lists = given.iter().map(listed).collect::<Result<Vec<_>, _>>()?;
        Ok(Ports { lists: Listed::join(lists).map_err(wrong)?, queues_of_port, others })
    }

    /// Checks ports and queues before any run: marks, names, numbers, speeds, and K by the rule.
    pub(crate) fn check(&self, markings: &[Marking], links: &Links) -> Result<(), Error> {
        if markings.contains(&Marking::Port) {
            return Err(wrong("expected --marking queue, as these systems mark by the length of a queue".to_owned()));
        }
        let is_of_fabric = |(_, bps): &&(String, u64)| links.rates_bps.contains(bps);
        for list in &self.lists {
            let off: Vec<String> = list.ports.iter().filter(|port| !is_of_fabric(port)).map(in_words).collect();
            // A switch has ports that are not of the fabric, so these are left out of a file.
            if off.len() > if list.is_file { list.ports.len() - 1 } else { 0 } {
                let rates: Vec<String> = links.rates_bps.iter().map(|bps| format_rate(*bps)).collect();
                let (ports, rates) = (off.join(","), rates.join(", "));
                return Err(wrong(format!("{ports}: expected one of the links' rates: {rates}")));
            }
        }
        let k = |bps| if links.rates_bps.contains(&bps) { links.ecn_threshold_bytes(bps) } else { 0 };
        let plan = |system| (system, self.plan(system, (&[1], &[35, 11], 0), (&k, Marks::Step), false));
        let of_lists = self.lists.iter().flat_map(|list| list.systems.iter().copied());
        check(&of_lists.map(plan).collect::<Vec<_>>()).map_err(|refused| wrong(refused.to_string()))
    }

    /// Whether hosts' interfaces are named, at which nftables tags.
    pub(crate) fn has_hosts(&self) -> bool {
        self.of(System::Nftables).is_some()
    }

    /// Returns the list whose ports a system has. Hosts tag at the interfaces of a Linux list.
    fn of(&self, system: System) -> Option<&Listed> {
        let of = if system == System::Nftables { System::Tc } else { system };
        self.lists.iter().find(|list| list.systems.contains(&of))
    }

    fn plan(
        &self,
        system: System,
        (thresholds_bytes, dscps, unmarked): (&[u64], &[u8], usize),
        (k, marks): (&dyn Fn(u64) -> u64, Marks),
        hosts_are_dctcp: bool,
    ) -> Plan {
        let port = |(name, bps): &(String, u64)| Port { name: name.clone(), rate_bps: *bps, marks_from_bytes: k(*bps) };
        let of_fabric = |port: &Port| port.marks_from_bytes > 0;
        let listed = self.of(system).map_or(&[][..], |list| &list.ports);
        let mut ports: Vec<Port> = listed.iter().map(port).filter(of_fabric).collect();
        if let (System::Nftables, Some(list), Some(first)) = (system, self.of(system), ports.first().cloned()) {
            // Only names matter there.
            let leaving = list.leaving(ports.iter().map(|port| &port.name));
            ports = leaving.into_iter().map(|name| Port { name, ..first.clone() }).collect();
        }
        Plan {
            dscps: dscps.to_vec(),
            thresholds_bytes: thresholds_bytes.to_vec(),
            unmarked,
            ports,
            queues_of_port: self.queues_of_port.clone(),
            marks,
            hosts_are_dctcp,
            others: self.others.clone(),
        }
    }

    /// Writes the text of each system that can state thresholds, code points and K by speed, and what takes it back.
    /// Without thresholds ports keep their queues.
    pub(crate) fn configure(
        &self,
        of: (&[u64], &[u8], usize),
        (k, marks): (impl Fn(u64) -> u64, Marks),
        hosts_are_dctcp: bool,
    ) -> Configured {
        if !of.0.is_empty() && of.1.len() != of.0.len() + 1 {
            return none("local use has fewer DSCPs than there are queues");
        }
        let (mut written, mut texts) = (Vec::new(), Vec::new());
        for system in System::ALL {
            let plan = self.plan(system, of, (&k, marks), hosts_are_dctcp);
            let listed = self.of(system);
            let done = match (listed, missing(system)) {
                (None, Some(expected)) => Err(expected),
                _ => system.write(&plan).map_err(|refused| refused.to_string()),
            };
            let notes = if done.is_ok() { self.notes(system, &k) } else { Vec::new() };
            let back = done.as_ref().ok().map(|text| system.rollback(&plan, text, listed));
            let back =
                back.map(|back| (system.rollback_file(), back.map_err(|refused| refused.to_string()), Vec::new()));
            for (file, done, notes) in [(system.file().to_owned(), done, notes)].into_iter().chain(back) {
                let refused = done.map(|text| texts.push((file.clone(), text))).err();
                written.push(Written { file, refused, notes });
            }
        }
        (written, texts)
    }

    /// What is chosen, left out or not simulated.
    fn notes(&self, system: System, k: &dyn Fn(u64) -> u64) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(list) = self.of(system).filter(|_| system == System::Nftables) {
            let ports = || list.ports.iter().filter(|(_, bps)| k(*bps) > 0).map(|(name, _)| name);
            let leaving = list.leaving(ports());
            if !leaving.iter().eq(ports()) {
                notes.push(format!("packets of this host leave by {}, where they are tagged", leaving.join(", ")));
            }
        }
        if let Some(list) = self.of(system).filter(|_| system != System::Nftables) {
            let off = list.ports.iter().filter(|(_, bps)| k(*bps) == 0).map(in_words);
            let left_out: Vec<String> = list.left_out.iter().cloned().chain(off).collect();
            if !left_out.is_empty() {
                notes.push(format!("left out, as no port with a rate of the fabric: {}", left_out.join(", ")));
            }
        }
        if system == System::Sonic {
            notes.push(match self.others.without_wred {
                false => "packets without ECN are dropped at K, so all hosts need DCTCP, or --no-wred".to_owned(),
                true => "some chips mark nothing without wred_*_enable: see `show queue wredcounters`".to_owned(),
            });
            if self.others.lossless == Lossless::Behind {
                notes.push("lossless queues may stand behind the data: this is written, not simulated".to_owned());
            }
        }
        notes
    }
}

fn wrong(problem: String) -> Error {
    Error::Input(format!("--ports: {problem}"))
}

fn in_words((name, bps): &(String, u64)) -> String {
    format!("{name}={}", format_rate(*bps))
}

/// What `--ports` has to have for a system.
fn missing(system: System) -> Option<String> {
    let (of, file, list) = match system {
        System::Sonic => ("SONiC", "config_db.json", "Ethernet0=25Gbps"),
        System::Eos => ("EOS", "`show interfaces status`", "Ethernet1-48=25Gbps"),
        System::NxOs => ("NX-OS", "`show interface status`", "Ethernet1/1-48=25Gbps"),
        System::Tc | System::Nftables => ("Linux", "`ip -j link` as FILE=RATE", "eth0=25Gbps"),
        System::Hosts => return None,
    };
    Some(format!("no ports of {of}: expected its {file}, or a list such as {list}"))
}

/// Writes nothing for any system, for one reason.
pub(crate) fn none(why: &str) -> Configured {
    let refused =
        |system: &System| Written { file: system.file().to_owned(), refused: Some(why.to_owned()), notes: Vec::new() };
    (System::ALL.iter().map(refused).collect(), Vec::new())
}
