//! The fabric and the traffic for which something is recommended, as the text of an experiment.

use super::candidates::{Candidate, Kind};
use super::folder::SIZES;
use super::rollout::ask_for_groups;
use super::today::Today;
use super::{Mark, Request};
use crate::fabric_file::FabricFile;
use crate::thresholds::paired::{BUFFER_PER_K, Links, sizes};
use crate::thresholds::{Asked, Column, Wanted};
use flowsieve_engines::workload::Hosts;
use flowsieve_engines::{built_in, port_facts};
use flowsieve_experiment::bundle::failed;
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::source::Source;
use flowsieve_experiment::{Error, ExperimentText, Folder};
use flowsieve_settings::units::{format_rate, format_size};
use std::fmt::Write;
use std::path::Path;
use toml_edit::{DocumentMut, Item};

/// Flows arrive for this many times as long as the largest takes at a host's link, so that links carry the load that is asked
/// for: a flow of the last moments is still under way when arrivals end.
const LONGEST: f64 = 12.0;

/// The fewest flows of a run, and the most packet-hops: half a minute.
const FEWEST: f64 = 1_000.0;
const PACKET_HOPS: f64 = 400e6;

/// The share of what a queue may hold at which it marks at most: above, it would drop before senders slow down.
const ROOM: u64 = 2;

/// The scheme by which some hosts tag, and those of its two classes of traffic.
const PARTLY: &str = "partly";
const TAGS: &str = "partly-tag";
const OTHERS: &str = "partly-others";

/// Fabric and traffic.
pub(super) struct Ground {
    pub(super) today: Today,
    /// The lines of `[workload]` for the sizes.
    sizes: String,
    /// What was taken, joined and left out of an export of sizes.
    pub(super) of_sizes: Vec<String>,
    pub(super) load: f64,
    pub(super) flows: u64,
    pub(super) links: Links,
    /// The fabric in words.
    pub(super) name: String,
    pub(super) hosts: u32,
    host_names: Vec<String>,
    /// The class of links that is more loaded than the hosts' links, so that a sample of receivers ranks nothing.
    pub(super) narrower: Option<String>,
    /// Whether today's hosts all send by DCTCP and its ports mark.
    pub(super) is_dctcp: bool,
    /// The most that a queue may hold, by rate.
    room_bytes: Vec<(u64, Option<u64>)>,
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
    /// A further scheme: queues by which some hosts tag.
    pub(super) partly: Option<&'a Partly>,
}

/// Queues by which some hosts tag.
pub(super) struct Partly {
    /// The candidate whose queues they are.
    pub(super) of: Candidate,
    /// The queue of hosts that do not tag.
    pub(super) unmarked: usize,
    /// The hosts that tag, spread evenly.
    pub(super) hosts: u32,
}

impl Ground {
    /// Takes today's network of the file, and the sizes. Sizes of a file go into the request's folder, next to the experiments
    /// that name them.
    pub(super) fn open(file: &FabricFile, request: &Request, wanted: &Wanted, load: f64) -> Result<Ground, Error> {
        let FabricFile { fabric, .. } = file;
        let asked = Asked::read(wanted, load, 2)?;
        let given = &request.wanted;
        let are_given = given.workload.is_some() || given.cdf.is_some() || given.sizes.is_some();
        let name = format!("the {} fabric of {} hosts of {}", fabric.kind, fabric.hosts, request.fabric.display());
        let folder = &request.out;
        let mut ground = Ground {
            today: Today::of(file, are_given)?,
            sizes: relative(&sizes(wanted, &asked, folder)?, wanted, folder)?,
            of_sizes: wanted.sizes.as_ref().map(Column::notes).transpose()?.unwrap_or_default(),
            load,
            flows: request.flows.unwrap_or(FEWEST as u64),
            links: Links::of(fabric),
            name,
            hosts: fabric.hosts,
            host_names: Hosts::of(fabric).names.all().collect(),
            narrower: Hosts::of(fabric).narrower,
            is_dctcp: false,
            room_bytes: Vec::new(),
            folder: Folder::at(folder),
        };
        let today = [Candidate::today(ground.is_own())];
        let runs = Runs { title: "today", candidates: &today, first_seed: 1, seeds: 1, screen: None, partly: None };
        let plan = ground.plan(&runs)?;
        if let Some(point) = plan.points.first() {
            let facts = port_facts(point)?;
            (ground.is_dctcp, ground.room_bytes) = (facts.is_dctcp, facts.room_bytes);
        }
        if request.flows.is_none() {
            let hops = plan.runs.first().map_or(0.0, |run| run.packet_hops) / FEWEST;
            ground.flows = ground.flows_for(&asked).clamp(FEWEST, (PACKET_HOPS / hops).max(FEWEST)) as u64;
        }
        Ok(ground)
    }

    /// Returns whether the file says how today's hosts send, or its ports mark.
    pub(super) fn is_own(&self) -> bool {
        !self.today.is_assumed || self.today.says_marks
    }

    /// Returns how many flows arrive while the largest takes its time [`LONGEST`] times.
    fn flows_for(&self, asked: &Asked) -> f64 {
        let bytes_per_second = self.links.host_bps as f64 / 8.0;
        let seconds = LONGEST * asked.law().max() as f64 / bytes_per_second + LONGEST * self.links.rtt_ps as f64 / 1e12;
        seconds * f64::from(self.hosts) * self.load * bytes_per_second / asked.law().mean()
    }

    /// Returns the text of an experiment with these runs.
    pub(super) fn text(&self, runs: &Runs<'_>) -> String {
        let k = |per_cent: u64| -> Vec<(&str, Vec<Mark>)> {
            let at = |(place, rates): &(flowsieve_settings::Place, Vec<u64>)| {
                let marks = rates.iter().map(|&rate_bps| self.mark(rate_bps, per_cent)).collect();
                (place.name(), marks)
            };
            self.links.at.iter().map(at).collect()
        };
        let mut document = self.today.kept.clone();
        // Tables of a scheme that is not run are refused.
        if runs.candidates.iter().all(|candidate| candidate.kind != Kind::Today) {
            document.remove("schemes");
        }
        let quoted = |text: &str| toml_edit::Value::from(text).to_string().trim().to_owned();
        let mut names: Vec<&str> = runs.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        names.extend(runs.partly.map(|_| PARTLY));
        if let Ok(sizes) = self.sizes.parse::<DocumentMut>() {
            for (key, value) in sizes.iter() {
                set(&mut document, ("workload", key), value.clone());
            }
        }
        set(&mut document, ("workload", "load"), toml_edit::value(self.load));
        set(&mut document, ("workload", "flows"), toml_edit::value(self.flows as i64));
        if let Some(every) = runs.screen {
            set(&mut document, ("workload", "screen"), toml_edit::value(i64::from(every)));
        }
        if let Some(from) = runs.partly.and_then(|partly| self.tagging(partly.hosts)) {
            let same = document["workload"].get("sizes").or(document["workload"].get("cdf")).cloned();
            set(&mut document, ("workload", "mix_sizes"), same.unwrap_or_default());
            set(&mut document, ("workload", "mix_pairs"), toml_edit::value("from"));
            set(
                &mut document,
                ("workload", "mix_from"),
                toml_edit::value(from.into_iter().collect::<toml_edit::Array>()),
            );
        }
        let own = document.get("run").and_then(|run| run.get("parameters")).is_some();
        if !own {
            set(&mut document, ("run", "parameters"), toml_edit::value("ns2"));
        }
        set(&mut document, ("run", "seed"), toml_edit::value(runs.first_seed as i64));
        set(&mut document, ("run", "seeds"), toml_edit::value(runs.seeds as i64));
        set(&mut document, ("sweep", "scheme"), toml_edit::value(names.into_iter().collect::<toml_edit::Array>()));
        if self.today.is_assumed && !self.today.says_memory {
            let buffer = |k: u64| toml_edit::value(format_size(k * BUFFER_PER_K.0 / BUFFER_PER_K.1));
            set(&mut document, ("network", "nic"), toml_edit::value("backpressure"));
            set(&mut document, ("network", "buffer"), buffer(self.links.ecn_threshold_bytes(self.links.host_bps)));
            // A place has one buffer, and K of its fastest links has to fit.
            for (place, fastest) in self.links.at.iter().filter_map(|(place, rates)| Some((place, rates.last()?))) {
                document["network"][place.name()]["buffer"] = buffer(self.links.ecn_threshold_bytes(*fastest));
            }
        }
        let mut text = format!("title = {}\n{document}", quoted(runs.title));
        for candidate in runs.candidates {
            let _ = write!(text, "\n{}", candidate.tables(&k(candidate.k_per_cent), &self.today));
        }
        if let Some(partly) = runs.partly {
            let of = &partly.of;
            let k = k(of.k_per_cent);
            let named = |name: &str| of.clone().named(name);
            let all = self.tagging(partly.hosts).is_some();
            let tables = [
                (partly.hosts > 0).then(|| named(if all { TAGS } else { PARTLY }).tables(&k, &self.today)),
                (partly.hosts < self.hosts)
                    .then(|| named(if all { OTHERS } else { PARTLY }).without_tags(partly.unmarked, &k, &self.today)),
                all.then(|| named(PARTLY).of_classes(&[OTHERS, TAGS], &k, &self.today)),
            ];
            tables.into_iter().flatten().for_each(|table| text = format!("{text}\n{table}"));
        }
        text
    }

    /// Returns the hosts that tag, if that is some and not all.
    fn tagging(&self, hosts: u32) -> Option<Vec<&str>> {
        let (of, all) = (u64::from(hosts), u64::from(self.hosts));
        let tags = |at: &(u64, &str)| (at.0 + 1) * of / all > at.0 * of / all;
        let names = (0..).zip(self.host_names.iter().map(String::as_str));
        (0 < hosts && hosts < self.hosts).then(|| names.filter(tags).map(|(_, name)| name).collect())
    }

    /// Plans these runs.
    pub(super) fn plan(&self, runs: &Runs<'_>) -> Result<Plan, Error> {
        let text = ExperimentText::new("tune", &self.text(runs));
        let mut plan = Source::new(text, self.folder.clone()).plan(&built_in())?;
        if runs.partly.is_some_and(|partly| self.tagging(partly.hosts).is_some()) {
            plan.experiment.further = ask_for_groups(plan.experiment.classes.as_slice());
        }
        Ok(plan)
    }

    /// Returns K by the rule and each speed, in per cent of it.
    pub(super) fn marks(&self, k_per_cent: u64) -> Vec<Mark> {
        self.links.rates_bps.iter().map(|&rate_bps| self.mark(rate_bps, k_per_cent)).collect()
    }

    /// Returns K for a rate; at most half of what a queue may hold there.
    fn mark(&self, rate_bps: u64, k_per_cent: u64) -> Mark {
        let bytes = self.links.ecn_threshold_bytes(rate_bps) * k_per_cent / 100;
        let room = self.room_bytes.iter().find(|(bps, _)| *bps == rate_bps).and_then(|(_, room)| *room);
        Mark { rate_bps, bytes: room.map_or(bytes, |room| bytes.min(room / ROOM)) }
    }

    /// Returns the speeds at which a K of the rule, in per cent, is more than half of what a queue may hold, and so is less.
    pub(super) fn cut_marks(&self, k_per_cent: u64) -> Vec<Mark> {
        let is_cut = |mark: &Mark| mark.bytes < self.links.ecn_threshold_bytes(mark.rate_bps) * k_per_cent / 100;
        self.marks(k_per_cent).into_iter().filter(is_cut).collect()
    }

    /// The traffic and the fabric in words.
    pub(super) fn in_words(&self) -> String {
        let (name, load, rate) = (&self.name, self.load, format_rate(self.links.host_bps));
        let why = match self.today.schemes {
            0 => "The file says nothing of a scheme".to_owned(),
            schemes => format!("The file sweeps {schemes} schemes and calls none of them `today`"),
        };
        let today = match (self.today.is_assumed, self.today.says_marks) {
            (false, _) => "Today's hosts and ports are the file's".to_owned(),
            (true, true) => {
                format!("{why}: today's network is taken to be DCTCP over one queue, with the file's marks")
            }
            (true, false) => format!("{why}: today's network is taken to be DCTCP over one queue, with the rule's K"),
        };
        format!("{name}, whose hosts have {rate}, at load {load}, {} flows a run. {today}", self.flows)
    }
}

/// Puts a value into a table, which is made if it is not there.
fn set(document: &mut DocumentMut, (table, key): (&str, &str), value: Item) {
    if !document.contains_key(table) {
        document.insert(table, toml_edit::table());
    }
    document[table][key] = value;
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
