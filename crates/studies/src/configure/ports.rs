//! Ports as systems name them, from a list or from what a system says of itself: SONiC's `config_db.json`, `show
//! interfaces status`, or `ip -j link`.

use super::System;
use super::rollback::TABLES;
use flowsieve_settings::files::printable;
use flowsieve_settings::units::parse_rate;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// More than any switch has.
const MOST: usize = 4_096;

/// What to write instead of a name that no system has.
const EXPECTED: &str = "SONiC's Ethernet0 (each port by name, also of a channel, or its config_db.json), EOS' Ethernet1-48, \
                        NX-OS' Ethernet1/1-48 or Linux' eth0, in full";

/// The systems that name ports of their own.
const NAMED: [System; 4] = [System::Sonic, System::Eos, System::NxOs, System::Tc];

/// The ports of one list or one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// The systems that have ports of these names.
    pub systems: Vec<System>,
    /// Whether it is a file of the system.
    pub is_file: bool,
    /// Each with its speed in bit/s.
    pub ports: Vec<(String, u64)>,
    /// What a file lists that is not taken.
    pub left_out: Vec<String>,
    /// SONiC's tables that configuration writes to, as they are.
    pub database: Option<Value>,
    /// By port the root's queueing discipline.
    pub qdiscs: BTreeMap<String, String>,
    /// By member the bond or bridge that has it.
    pub masters: BTreeMap<String, String>,
    /// By VLAN or the like the device below.
    pub below: BTreeMap<String, String>,
}

impl Listed {
    /// The devices by which a host's own packets leave through these ports, as nftables sees them: a bond instead of its
    /// members, and VLANs above both.
    pub fn leaving<'a>(&'a self, ports: impl Iterator<Item = &'a String>) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for port in ports {
            let mut top = port;
            // A list has no loops unless it is made up: there are no more steps than devices.
            for _ in 0..self.masters.len() {
                top = self.masters.get(top).unwrap_or(top);
            }
            if !found.contains(top) {
                found.push(top.clone());
            }
        }
        let mut at = 0;
        while at < found.len() {
            let above = self.below.iter().filter(|(_, below)| **below == found[at]).map(|(name, _)| name.clone());
            let above: Vec<String> = above.filter(|name| !found.contains(name)).collect();
            found.extend(above);
            at += 1;
        }
        found
    }

    /// Takes a list.
    ///
    /// # Errors
    /// Fails if no system has ports of all these names, or one is given twice.
    pub fn of(ports: Vec<(String, u64)>) -> Result<Listed, String> {
        for (name, _) in &ports {
            if !is_plain(name) {
                return Err(format!("port {name:?}: expected letters, digits and any of -_./"));
            }
            if !NAMED.iter().any(|system| is_port(*system, name)) {
                return Err(format!("port {name}: expected {EXPECTED}"));
            }
        }
        let fits = |system: &System| ports.iter().all(|(name, _)| is_port(*system, name));
        let systems: Vec<System> = NAMED.into_iter().filter(fits).collect();
        if systems.is_empty() {
            return Err("ports of different systems in one list: expected --ports once for each system".to_owned());
        }
        Listed { systems, ports, ..Listed::default() }.checked()
    }

    /// Reads what a system says of its ports. `rate` is for `ip -j link`, which has no speeds.
    ///
    /// # Errors
    /// Fails if the text is none of those, or lists no port with a speed, or one twice.
    pub fn read(text: &str, rate: Option<u64>) -> Result<Listed, String> {
        let text = text.trim_start_matches('\u{feff}').trim();
        let json = || serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
        let listed = match (text.bytes().next(), rate) {
            (None, _) => return Err("it is empty".to_owned()),
            (Some(b'['), Some(rate)) => of_linux(&json()?, rate)?,
            (Some(b'['), None) => return Err("`ip -j link` has no speeds: expected FILE=RATE".to_owned()),
            (_, Some(_)) => return Err("expected no rate: only `ip -j link` has no speeds".to_owned()),
            (Some(b'{'), None) => of_sonic(json()?)?,
            _ => of_status(text)?,
        };
        let listed = Listed { is_file: true, ..listed }.checked()?;
        if listed.ports.is_empty() {
            return Err("no port with a speed".to_owned());
        }
        Ok(listed)
    }

    fn checked(self) -> Result<Listed, String> {
        let mut seen = BTreeSet::new();
        match self.ports.iter().find(|(name, _)| !seen.insert(name)) {
            Some((name, _)) => Err(format!("port {name}: given twice")),
            None if self.ports.len() > MOST => Err(format!("{} ports: expected at most {MOST}", self.ports.len())),
            None => Ok(self),
        }
    }

    /// Joins lists that one system could share. A list that fits only a system with a file adds to that file. The order does
    /// not matter.
    ///
    /// # Errors
    /// Fails if a list could go to several, if a system has two files, or if a port is given twice.
    pub fn join(mut lists: Vec<Listed>) -> Result<Vec<Listed>, String> {
        let shares = |one: &Listed, other: &Listed| one.systems.iter().any(|system| other.systems.contains(system));
        for list in lists.iter().filter(|list| !list.is_file) {
            let near: Vec<&Listed> = lists.iter().filter(|other| shares(list, other)).collect();
            let is_of_two = near.iter().any(|one| near.iter().any(|other| !shares(one, other)));
            if is_of_two || list.systems.len() > 1 && near.iter().any(|other| other.is_file) {
                let ports: Vec<&str> = list.ports.iter().map(|(name, _)| name.as_str()).collect();
                let problem = format!("{} could be ports of several systems", ports.join(","));
                return Err(format!("{problem}: expected one list for each, with a name that no other has, or a file"));
            }
        }
        lists.sort_by_key(|list| !list.is_file);
        let mut joined: Vec<Listed> = Vec::new();
        for mut list in lists {
            match joined.iter_mut().find(|other| shares(other, &list)) {
                Some(_) if list.is_file => {
                    return Err(format!("two files for {}: expected one", list.systems[0].file()));
                }
                Some(other) => {
                    other.systems.retain(|system| list.systems.contains(system));
                    other.ports.append(&mut list.ports);
                }
                None => joined.push(list),
            }
        }
        joined.into_iter().map(Listed::checked).collect()
    }

    /// Takes a port of a file, if it has a speed and a name of the system.
    fn take(&mut self, name: &str, bps: Option<u64>) {
        let is_port = is_plain(name) && self.systems.first().is_some_and(|system| is_port(*system, name));
        match bps.filter(|_| is_port) {
            Some(bps) => self.ports.push((name.to_owned(), bps)),
            None => self.left_out.push(printable(name).into_owned()),
        }
    }
}

/// Whether a name can stand in every language.
pub(super) fn is_plain(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    (1..=64).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('-')
}

/// Whether the system could have a port of this name; EOS and NX-OS take ranges.
fn is_port(system: System, name: &str) -> bool {
    let number = |text: &str| (1..=4).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit());
    let counted = |text: &str| number(text) && !text.starts_with('0');
    let slots = |text: &str| {
        let (first, last) = text.rsplit_once('/').map_or((None, text), |(first, last)| (Some(first), last));
        let (from, to) = last.split_once('-').map_or((last, None), |(from, to)| (from, Some(to)));
        let rises = to.is_none_or(|to| counted(to) && (from.len(), from) < (to.len(), to));
        let all = first.is_none_or(|first| first.split('/').all(counted)) && counted(from) && rises;
        if all { text.split('/').count() } else { 0 }
    };
    let lower = name.to_ascii_lowercase();
    let channel = |of: &str| name.strip_prefix(of).is_some_and(counted);
    let ethernet = name.strip_prefix("Ethernet");
    match system {
        System::Sonic => ethernet.is_some_and(|rest| number(rest) && (rest == "0" || !rest.starts_with('0'))),
        System::Eos => channel("Port-Channel") || ethernet.is_some_and(|rest| (1..=4).contains(&slots(rest))),
        System::NxOs => channel("port-channel") || ethernet.is_some_and(|rest| (2..=3).contains(&slots(rest))),
        // A name of the kernel. Those that look like a switch's port are mistakes.
        System::Tc => {
            let short = ["Eth", "Et", "Po"].iter().find_map(|short| name.strip_prefix(short));
            let is_short = short.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
            let is_switchs =
                is_short || ["ethernet", "port-channel", "portchannel"].iter().any(|of| lower.starts_with(of));
            !is_switchs && !name.contains('/') && (1..=15).contains(&name.len()) && name != "." && name != ".."
        }
        System::Nftables | System::Hosts => false,
    }
}

/// `config_db.json`. Ports that are shut are taken, too: one that is left out would have the old map when it comes up.
fn of_sonic(root: Value) -> Result<Listed, String> {
    let table = |name: &str| root.get(name).map(|table| table.as_object().ok_or(format!("expected a table {name}")));
    let ports = table("PORT").ok_or("expected a table PORT, as config_db.json has")??;
    let mut listed = Listed { systems: vec![System::Sonic], ..Listed::default() };
    for (name, entry) in ports {
        listed.take(name, entry["speed"].as_str().and_then(speed));
    }
    let mut database = Map::new();
    for name in TABLES {
        let Some(entries) = table(name).transpose()? else { continue };
        if let Some((key, _)) = entries.iter().find(|(_, entry)| !entry.is_object()) {
            return Err(format!("{name} {key}: expected fields"));
        }
        database.insert(name.to_owned(), Value::Object(entries.clone()));
    }
    listed.database = Some(Value::Object(database));
    Ok(listed)
}

/// `ip -j link`. What has no queue, such as a bridge or a tunnel, is no port.
fn of_linux(root: &Value, rate: u64) -> Result<Listed, String> {
    let mut listed = Listed { systems: vec![System::Tc], ..Listed::default() };
    for link in root.as_array().into_iter().flatten() {
        let word = |key: &str| link.get(key).and_then(Value::as_str);
        let name = word("ifname").ok_or("expected an ifname in each entry, as `ip -j link` has")?;
        let qdisc = word("qdisc").unwrap_or("noop");
        // It is written into a rollback.
        if !is_plain(qdisc) {
            return Err(format!("qdisc {qdisc:?} of {name:?}: expected letters, digits and any of -_./"));
        }
        let is_port = word("link_type") != Some("loopback") && qdisc != "noqueue";
        listed.take(name, is_port.then_some(rate));
        listed.qdiscs.insert(name.to_owned(), qdisc.to_owned());
        for (key, into) in [("master", &mut listed.masters), ("link", &mut listed.below)] {
            if let Some(other) = word(key).filter(|other| is_plain(name) && is_plain(other)) {
                into.insert(name.to_owned(), other.to_owned());
            }
        }
    }
    Ok(listed)
}

/// `show interfaces status` of EOS or NX-OS.
fn of_status(text: &str) -> Result<Listed, String> {
    let mut listed = Listed::default();
    let is_head = |line: &&str| line.split_whitespace().take(3).eq(["Port", "Name", "Status"]);
    let rows = text.lines().skip_while(|line| !is_head(line)).skip(1);
    for words in rows.map(|line| line.split_whitespace().collect::<Vec<_>>()) {
        // Others are rules between lines, and prompts.
        let [name, _, _, _, _, ..] = words[..] else { continue };
        let (system, full) = match (name.strip_prefix("Eth"), name.strip_prefix("Et")) {
            (Some(rest), _) => (System::NxOs, format!("Ethernet{rest}")),
            (_, Some(rest)) => (System::Eos, format!("Ethernet{rest}")),
            _ => {
                listed.left_out.push(printable(name).into_owned());
                continue;
            }
        };
        if *listed.systems.first().unwrap_or(&system) != system {
            return Err(format!("port {}: expected ports of one system", printable(name)));
        }
        listed.systems = vec![system];
        // A description may have any words, so the last pair of duplex and speed counts.
        let is_duplex = |word: &str| ["full", "half", "auto", "a-full", "a-half"].contains(&word);
        let pairs = || words.windows(2).rev();
        let of_row = pairs().find_map(|pair| speed(pair[1]).filter(|_| is_duplex(pair[0])));
        // A member has the queues of its channel.
        let is_member = pairs().any(|pair| pair[0] == "in" && pair[1].starts_with("Po"));
        listed.take(&full, of_row.filter(|_| !is_member));
    }
    if listed.systems.is_empty() {
        return Err("expected SONiC's config_db.json, `show interfaces status` or `ip -j link`".to_owned());
    }
    Ok(listed)
}

/// Reads 25G, a-1G, 2.5G, 100M or 1000, which are Mbit/s.
fn speed(word: &str) -> Option<u64> {
    let word = word.strip_prefix("a-").unwrap_or(word);
    let unit = if word.ends_with(['G', 'M']) { "bps" } else { "Mbps" };
    parse_rate(&format!("{word}{unit}")).ok().filter(|bps| *bps > 0)
}
