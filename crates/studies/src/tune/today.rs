//! Today's network: what the fabric's file says of hosts, ports, memory and traffic, whole.
//!
//! Its scheme is `[schemes.today]`, or the only one of the sweep. If the file names none or several, today's network is
//! assumed to be DCTCP over one queue, on the file's `[network]`; the answer says so.

use super::candidates::TODAY;
use crate::fabric_file::FabricFile;
use crate::thresholds::{Column, Wanted};
use flowsieve_experiment::Error;
use flowsieve_settings::{Key, Section};
use std::path::PathBuf;
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// Settings of `[network]` that say how ports mark.
const MARKS: [&str; 5] = ["marking", "ecn_threshold", "ecn_threshold_at", "ecn_packets", "red_min"];

/// Settings of `[network]` that say what ports hold.
const MEMORY: [&str; 4] = ["buffer", "admission", "shared_buffer", "dt_alpha"];

/// Workloads whose sizes no thresholds can be chosen for: each comes from a list, or ends with another.
const LISTED: [&str; 6] = ["list", "coflows", "recorded", "collectives", "group_size", "outstanding"];

/// How packets over today's hosts find their queues.
pub(super) enum Tags<'a> {
    /// By these thresholds, of bytes since such a pause if there is one, else of each message.
    Demote(&'a [String], Option<&'a str>),
    /// All into one, 0 being served first.
    Fixed(usize),
    /// By the schemes of these classes of traffic.
    Classes(&'a [&'a str]),
}

/// Today's network.
pub(super) struct Today {
    /// The file, without what the search says itself. Its scheme is [`TODAY`], unless it is assumed.
    pub(super) kept: DocumentMut,
    /// Whether the scheme is assumed.
    pub(super) is_assumed: bool,
    /// How many schemes the file's sweep has.
    pub(super) schemes: usize,
    /// Whether the file says how ports mark, or what they hold.
    pub(super) says_marks: bool,
    pub(super) says_memory: bool,
    /// The schemes of the classes of traffic, by class; empty: all traffic is one class.
    pub(super) classes: Vec<String>,
    /// Whether a share of hosts may be another class of traffic: none is, yet.
    pub(super) is_mixed: bool,
}

impl Today {
    /// Takes today's network out of a file. `are_given`: other sizes than the file's are.
    pub(super) fn of(file: &FabricFile, are_given: bool) -> Result<Today, Error> {
        let mut kept = file.document.clone();
        file.refuse_sweeps(&["load", "sizes", "cdf"])?;
        let workload = kept.get("workload");
        if workload.is_some_and(|workload| !workload.is_table_like()) {
            return Err(
                file.refuse("several workloads; expected one [workload], whose flows are searched for".to_owned())
            );
        }
        if let Some(key) = LISTED.into_iter().find(|key| workload.and_then(|of| of.get(key)).is_some()) {
            return Err(file.refuse(format!(
                "[workload] `{key}`: expected sizes that are drawn, as thresholds are chosen for them"
            )));
        }
        if let Some(workload) = kept.get_mut("workload").and_then(Item::as_table_like_mut) {
            let own = are_given.then_some("reading");
            for key in ["load", "flows", "duration", "screen", "sizes", "sizes_column", "cdf"].into_iter().chain(own) {
                workload.remove(key);
            }
        }
        if let Some(run) = kept.get_mut("run").and_then(Item::as_table_like_mut) {
            for key in ["seed", "seeds", "flow_records", "trace"] {
                run.remove(key);
            }
        }
        let has = |key: &str| kept.get("schemes").is_some_and(|schemes| schemes.get(key).is_some());
        let name = match &file.schemes()[..] {
            _ if has(TODAY) => Some(TODAY.to_owned()),
            [only] => Some(only.clone()),
            _ => None,
        };
        let (mut schemes, mut classes) = (Table::new(), Vec::new());
        schemes.set_implicit(true);
        if let Some(name) = &name {
            let mut own = table(&kept, name).unwrap_or_default();
            if !own.contains_key("base") {
                own.insert("base", toml_edit::value(name.as_str()));
            }
            let list = own.get("classes").and_then(Item::as_array);
            classes = list.into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned)).collect();
            for class in &classes {
                let mut of_class = table(&kept, class).unwrap_or_default();
                if !of_class.contains_key("base") {
                    of_class.insert("base", toml_edit::value(class.as_str()));
                }
                schemes.insert(class, Item::Table(of_class));
            }
            schemes.insert(TODAY, Item::Table(own));
        }
        kept.remove("schemes");
        if !schemes.is_empty() {
            kept.insert("schemes", Item::Table(schemes));
        }
        let network = kept.get("network").and_then(Item::as_table_like);
        let says = |keys: &[&str]| network.is_some_and(|network| has_any(network, keys));
        let (says_marks, says_memory) = (says(&MARKS), says(&MEMORY));
        let mixes = ["mix_sizes", "class_share", "mix_from"];
        let is_mixed = mixes.into_iter().any(|key| kept.get("workload").is_some_and(|of| of.get(key).is_some()));
        // A file that has a scheme says by it what hosts' own ports are.
        if name.is_none() && network.is_some_and(|network| !network.contains_key("nic")) {
            kept["network"]["nic"] = toml_edit::value("backpressure");
        }
        let schemes = file.schemes().len();
        Ok(Today { kept, is_assumed: name.is_none(), schemes, says_marks, says_memory, classes, is_mixed })
    }

    /// Returns the settings that make DCTCP of hosts, and FIFO or strict queues of ports, where the file has others.
    pub(super) fn dctcp(&self, queues: usize) -> String {
        let hosts = if self.has("transport", "ecn") { "ecn = true\n" } else { "" };
        hosts.to_owned() + &self.ports(queues)
    }

    /// Returns the settings of such queues alone.
    pub(super) fn ports(&self, queues: usize) -> String {
        match (self.has("network", "discipline"), queues) {
            (false, _) => String::new(),
            (true, 1) => "discipline = \"fifo\"\n".to_owned(),
            (true, _) => "discipline = \"sp\"\n".to_owned(),
        }
    }

    fn has(&self, section: &str, key: &str) -> bool {
        let table = self.kept.get(section).and_then(Item::as_table_like);
        table.is_some_and(|table| has_any(table, &[key]))
    }

    /// Returns the tables of today's hosts over other ports: priorities of `queues` queues. Marks stay.
    pub(super) fn over_queues(&self, name: &str, queues: usize, tags: Tags<'_>) -> String {
        let mut all = Table::new();
        all.set_implicit(true);
        let ports = |of: &mut Table| {
            of.insert("discipline", toml_edit::value("sp"));
            of.insert("queues", toml_edit::value(queues as i64));
        };
        let hosts = |of: &mut Table| {
            let listed = |names: &mut dyn Iterator<Item = &str>| toml_edit::value(names.collect::<toml_edit::Array>());
            match tags {
                Tags::Demote(thresholds, pause) => {
                    of.insert("tagger", toml_edit::value("demotion"));
                    of.insert("thresholds", listed(&mut thresholds.iter().map(String::as_str)));
                    pause.map(|pause| of.insert("message_gap", toml_edit::value(pause)));
                }
                Tags::Fixed(priority) => {
                    of.insert("tagger", toml_edit::value("fixed"));
                    of.insert("fixed_priority", toml_edit::value(priority as i64));
                }
                Tags::Classes(names) => {
                    // What hosts do is the classes' own.
                    let is_of_hosts = |key: &&Key| matches!(key.section, Section::Transport | Section::Scheme);
                    let of_hosts = flowsieve_schemes::SETTINGS.iter().copied().flatten().copied().filter(is_of_hosts);
                    of_hosts.for_each(|key| drop(of.remove(key.name)));
                    of.insert("classes", listed(&mut names.iter().copied()));
                }
            }
        };
        let mut own = table(&self.kept, TODAY).unwrap_or_default();
        ports(&mut own);
        if self.classes.is_empty() {
            hosts(&mut own);
        } else {
            let names: Vec<String> = (0..self.classes.len()).map(|class| format!("{name}-class-{class}")).collect();
            for (class, other) in self.classes.iter().zip(&names) {
                let mut of_class = table(&self.kept, class).unwrap_or_default();
                ports(&mut of_class);
                hosts(&mut of_class);
                all.insert(other, Item::Table(of_class));
            }
            own.insert("classes", toml_edit::value(names.iter().map(String::as_str).collect::<toml_edit::Array>()));
        }
        all.insert(name, Item::Table(own));
        let mut document = DocumentMut::new();
        document.insert("schemes", Item::Table(all));
        document.to_string()
    }
}

/// Returns the table of a scheme.
fn table(document: &DocumentMut, scheme: &str) -> Option<Table> {
    let found = document.get("schemes")?.get(scheme)?.clone().into_table().ok()?;
    // Where it stood does not matter any more.
    let mut table = Table::new();
    table.extend(found);
    Some(table)
}

/// Whether a table, or one of a place in it, has any of these keys.
fn has_any(table: &dyn TableLike, keys: &[&str]) -> bool {
    table.iter().any(|(name, item)| keys.contains(&name) || item.as_table_like().is_some_and(|of| has_any(of, keys)))
}

/// Returns the sizes that are wanted: those given, or the file's.
pub(super) fn wanted(given: &Wanted, file: &FabricFile) -> Result<Wanted, Error> {
    if given.workload.is_some() || given.cdf.is_some() || given.sizes.is_some() {
        return Ok(given.clone());
    }
    let text = |key: &str| file.of_workload(key).and_then(|value| value.as_str().map(str::to_owned));
    let mut found = given.clone();
    match (text("sizes"), text("cdf")) {
        (Some(sizes), _) if PathBuf::from(&sizes).is_file() => {
            found.sizes = Some(Column { path: sizes.into(), name: text("sizes_column"), sampled: None });
        }
        (Some(sizes), _) => found.workload = Some(sizes),
        (None, Some(cdf)) => found.cdf = Some(cdf),
        (None, None) => {
            return Err(file.refuse("has no sizes of flows; expected --sizes, --cdf or --workload".to_owned()));
        }
    }
    Ok(found)
}

/// Returns the load: that given, or the file's.
pub(super) fn load(given: Option<f64>, file: &FabricFile) -> Result<f64, Error> {
    let own = || file.of_workload("load").and_then(|value| value.as_float().or(value.as_integer().map(|it| it as f64)));
    given.or_else(own).ok_or_else(|| {
        file.refuse("has no load, or several; expected --load, the load of the host links, such as 0.6".to_owned())
    })
}
