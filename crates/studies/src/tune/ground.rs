//! The fabric and the traffic for which something is recommended, as the text of an experiment.

use super::candidates::Candidate;
use super::folder::SIZES;
use crate::thresholds::paired::{BUFFER_PER_K, Links, sizes};
use crate::thresholds::{Asked, Wanted};
use flowsieve_engines::built_in;
use flowsieve_engines::workload::Hosts;
use flowsieve_experiment::bundle::failed;
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::source::Source;
use flowsieve_experiment::{Error, ExperimentText, Folder};
use flowsieve_fabric::topology::Fabric;
use flowsieve_settings::units::{format_rate, format_size};
use std::fmt::Write;
use std::path::Path;
use toml_edit::{DocumentMut, Item, TableLike};

/// What is taken of a fabric file's `[network]`: the memory of its switches. Queues and marks are what is looked for.
const OF_NETWORK: [&str; 4] = ["buffer", "admission", "shared_buffer", "dt_alpha"];

/// A run takes about this many packet-hops: some seconds.
const PACKET_HOPS: f64 = 20e6;

/// The limits of a run's number of flows, if it follows from [`PACKET_HOPS`].
const FLOWS: (f64, f64) = (1_000.0, 10_000.0);

/// Fabric and traffic.
pub(super) struct Ground {
    /// What is kept of the fabric's file.
    kept: DocumentMut,
    /// The lines of `[workload]` for the sizes.
    sizes: String,
    load: f64,
    pub(super) flows: u64,
    pub(super) links: Links,
    /// The fabric in words.
    pub(super) name: String,
    pub(super) hosts: u32,
    /// The class of links that is more loaded than the hosts' links, so that a sample of receivers ranks nothing.
    pub(super) narrower: Option<String>,
    /// The folder that the texts' paths are relative to.
    folder: Folder,
}

/// Which runs of which candidates.
pub(super) struct Runs<'a> {
    pub(super) title: &'a str,
    pub(super) candidates: &'a [Candidate],
    pub(super) first_seed: u64,
    pub(super) seeds: u64,
    /// A sample of receivers.
    pub(super) screen: Option<u32>,
}

impl Ground {
    /// Reads the fabric and the sizes. Sizes of a file go into `folder`, next to the experiments that name them.
    pub(super) fn open(
        path: &Path,
        (wanted, load): (&Wanted, f64),
        flows: Option<u64>,
        folder: &Path,
    ) -> Result<Ground, Error> {
        let (kept, fabric) = fabric(path)?;
        let asked = Asked::read(wanted, load, 2)?;
        let name = format!("the {} fabric of {} hosts of {}", fabric.kind, fabric.hosts, path.display());
        let mut ground = Ground {
            kept,
            sizes: relative(&sizes(wanted, &asked, folder)?, wanted, folder)?,
            load,
            flows: flows.unwrap_or(FLOWS.0 as u64),
            links: Links::of(&fabric),
            name,
            hosts: fabric.hosts,
            narrower: Hosts::of(&fabric).narrower,
            folder: Folder::at(folder),
        };
        if flows.is_none() {
            let one = [Candidate::today()];
            let runs = Runs { title: "flows", candidates: &one, first_seed: 1, seeds: 1, screen: None };
            let hops = ground.plan(&runs)?.runs.first().map_or(0.0, |run| run.packet_hops) / FLOWS.0;
            ground.flows = (PACKET_HOPS / hops).clamp(FLOWS.0, FLOWS.1) as u64;
        }
        Ok(ground)
    }

    /// Returns the text of an experiment with these runs.
    pub(super) fn text(&self, runs: &Runs<'_>) -> String {
        let k: Vec<(&str, u64)> = self
            .links
            .slowest
            .iter()
            .map(|&(place, bps)| (place.name(), self.links.ecn_threshold_bytes(bps)))
            .collect();
        let quoted = |text: &str| toml_edit::Value::from(text).to_string().trim().to_owned();
        let names: Vec<String> = runs.candidates.iter().map(|candidate| quoted(&candidate.name)).collect();
        let mut text = format!("title = {}\n", quoted(runs.title));
        let mut kept = self.kept.clone();
        let of_run = kept.remove("run").and_then(|run| Some(run.get("parameters")?.as_str()?.to_owned()));
        let has_memory = kept.contains_key("network");
        text += &kept.to_string();
        let _ = write!(text, "\n[workload]\n{}\nload = {:?}\nflows = {}\n", self.sizes, self.load, self.flows);
        if let Some(every) = runs.screen {
            let _ = writeln!(text, "screen = {every}");
        }
        if !has_memory {
            let buffer = |k: u64| format_size(k * BUFFER_PER_K.0 / BUFFER_PER_K.1);
            let of_hosts = self.links.ecn_threshold_bytes(self.links.host_bps);
            let _ = write!(text, "[network]\nnic = \"backpressure\"\nbuffer = \"{}\"\n", buffer(of_hosts));
            for (place, k) in &k {
                let _ = write!(text, "[network.{place}]\nbuffer = \"{}\"\n", buffer(*k));
            }
        }
        runs.candidates.iter().for_each(|candidate| text += &candidate.tables(&k));
        let _ = write!(
            text,
            "[sweep]\nscheme = [{}]\n[run]\nseed = {}\nseeds = {}\nparameters = {}\n",
            names.join(", "),
            runs.first_seed,
            runs.seeds,
            quoted(of_run.as_deref().unwrap_or("ns2"))
        );
        text
    }

    /// Plans these runs.
    pub(super) fn plan(&self, runs: &Runs<'_>) -> Result<Plan, Error> {
        let text = ExperimentText::new("tune", &self.text(runs));
        Source::new(text, self.folder.clone()).plan(&built_in())
    }

    /// Returns K by the rule and each speed, in per cent of it.
    pub(super) fn marks(&self, k_per_cent: u64) -> Vec<(u64, u64)> {
        let of = |&bps: &u64| (bps, self.links.ecn_threshold_bytes(bps) * k_per_cent / 100);
        self.links.rates_bps.iter().map(of).collect()
    }

    /// The traffic and the fabric in words.
    pub(super) fn in_words(&self) -> String {
        let (name, load, rate) = (&self.name, self.load, format_rate(self.links.host_bps));
        format!("{name}, whose hosts have {rate}, at load {load}, {} flows a run", self.flows)
    }
}

/// Reads a fabric's file: what is kept of it, and the fabric. It may be a whole experiment, or have a fabric alone.
pub(super) fn fabric(path: &Path) -> Result<(DocumentMut, Fabric), Error> {
    let source = Source::open(path)?;
    let refuse = |problem: &str| Error::File { path: path.display().to_string(), problem: problem.to_owned() };
    let mut document: DocumentMut =
        source.text.text.parse().map_err(|error: toml_edit::TomlError| refuse(error.message()))?;
    // Tables behind the text keep the lines of its errors.
    let mut text = source.text.text.to_string();
    for (table, lines) in
        [("workload", "sizes = \"web-search\"\nload = 0.5\nflows = 100"), ("sweep", "scheme = [\"dctcp\"]")]
    {
        if !document.contains_key(table) {
            let _ = write!(text, "\n[{table}]\n{lines}\n");
        }
    }
    let whole = Source { text: ExperimentText::new(&source.text.name, &text), ..source.clone() };
    let plan = whole.plan(&built_in())?;
    let Some(point) = plan.points.first() else { return Err(refuse("has no point")) };
    let fabric = Fabric::from_settings_in(&point.settings, point.folder.path())?;
    document.retain(|name, _| ["topology", "network", "transport", "run"].contains(&name));
    if let Some(network) = document.get_mut("network").and_then(Item::as_table_like_mut) {
        keep(network, &|name| OF_NETWORK.contains(&name));
        if !network.is_empty() {
            network.insert("nic", toml_edit::value("backpressure"));
        }
    }
    if document.get("network").and_then(Item::as_table_like).is_some_and(|network| network.is_empty()) {
        document.remove("network");
    }
    if let Some(run) = document.get_mut("run").and_then(Item::as_table_like_mut) {
        keep(run, &|name| name == "parameters");
    }
    let file = document.get("topology").and_then(|topology| topology.get("file")).and_then(Item::as_str);
    if let Some(file) = file {
        let absolute =
            std::path::absolute(source.folder.path().join(file)).map_err(|error| refuse(&error.to_string()))?;
        document["topology"]["file"] = toml_edit::value(absolute.to_string_lossy().as_ref());
    }
    Ok((document, fabric))
}

/// Leaves out the other keys of a table and of those in it.
fn keep(table: &mut dyn TableLike, is_kept: &dyn Fn(&str) -> bool) {
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        let empty = match table.get_mut(&name).and_then(Item::as_table_like_mut) {
            Some(inner) => {
                keep(inner, is_kept);
                inner.is_empty()
            }
            None => !is_kept(&name),
        };
        if empty {
            table.remove(&name);
        }
    }
}

/// Copies a distribution's file next to the experiments, and names files as these see them.
fn relative(lines: &str, wanted: &Wanted, folder: &Path) -> Result<String, Error> {
    let path = folder.join(SIZES);
    if let Some(cdf) = &wanted.cdf {
        std::fs::copy(cdf, &path).map_err(failed(Path::new(cdf)))?;
        return Ok(format!("cdf = \"{SIZES}\""));
    }
    if wanted.sizes.is_some() {
        return Ok(format!("cdf = \"{SIZES}\"\nreading = \"stepped\""));
    }
    Ok(lines.to_owned())
}
