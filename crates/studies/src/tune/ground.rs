//! The fabric and the traffic for which something is recommended, as the text of an experiment.

use super::candidates::Candidate;
use super::folder::SIZES;
use crate::fabric_file;
use crate::thresholds::paired::{BUFFER_PER_K, Links, sizes};
use crate::thresholds::{Asked, Wanted};
use flowsieve_engines::built_in;
use flowsieve_engines::workload::Hosts;
use flowsieve_experiment::bundle::failed;
use flowsieve_experiment::further::Tables;
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::source::Source;
use flowsieve_experiment::{Error, ExperimentText, Folder};
use flowsieve_settings::units::{format_rate, format_size};
use std::fmt::Write;
use std::path::Path;
use toml_edit::DocumentMut;

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
        (path, tables): (&Path, Option<Tables>),
        (wanted, load): (&Wanted, f64),
        flows: Option<u64>,
        folder: &Path,
    ) -> Result<Ground, Error> {
        let (kept, fabric) = fabric_file::read(path, tables)?;
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
