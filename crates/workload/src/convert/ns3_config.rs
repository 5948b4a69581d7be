//! Configurations of HPCC's simulator and its forks (SimAI's `SimAI.conf`): a key and its values on each line.
//!
//! Their keys are those of `scratch/third.cc`. Rates of increase are absolute there and shares of the host's rate here, so the
//! topology has to be given, too.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::convert::error::{ConvertError, Kind, excerpt};
use crate::convert::ns3_topology;
use crate::convert::options::Options;
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::source::{At, Source, decimal};
use crate::convert::topology::Role;
use crate::convert::units::{format_rate, ns3_rate};

/// Bytes of headers of a data packet there, and of HPCC's telemetry.
const HEADER: u64 = 48;
const TELEMETRY: u64 = 42;

/// Keys that name files of results or say how much is written into them.
const BESIDE: [&str; 17] = [
    "TRACE_FILE",
    "TRACE_OUTPUT_FILE",
    "FCT_OUTPUT_FILE",
    "PFC_OUTPUT_FILE",
    "QLEN_MON_FILE",
    "QLEN_MON_START",
    "QLEN_MON_END",
    "ENABLE_TRACE",
    "SEND_OUTPUT_FILE",
    "MON_START",
    "MON_END",
    "QP_MON_INTERVAL",
    "BW_MON_INTERVAL",
    "BW_MON_FILE",
    "RATE_MON_FILE",
    "CNP_MON_FILE",
    "QLEN_MON_INTERVAL",
];

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    let has = |key: &str| source.rows().any(|row| row.text.split_ascii_whitespace().next() == Some(key));
    if ["CC_MODE", "TOPOLOGY_FILE", "BUFFER_SIZE"].into_iter().all(has) { Fit::Sure } else { Fit::No }
}

/// The keys with their values, which are taken one by one.
struct Config<'a> {
    source: Source<'a>,
    keys: BTreeMap<&'a str, At<'a>>,
}

impl<'a> Config<'a> {
    fn take(&mut self, key: &str) -> Option<At<'a>> {
        self.keys.remove(key)
    }

    fn number(&mut self, key: &str) -> Result<Option<f64>, ConvertError> {
        let Some(at) = self.take(key) else { return Ok(None) };
        let number = decimal(at.text).and_then(|number| f64::try_from(number).ok()).filter(|number| *number < 1e15);
        let wrong = || self.source.wrong_field(at.line, key, at.text, "a number of at least 0");
        number.map(Some).ok_or_else(wrong)
    }

    /// A rate, as a share of `of`.
    fn share(&mut self, key: &str, of: u64) -> Result<Option<f64>, ConvertError> {
        let Some(at) = self.take(key) else { return Ok(None) };
        let rate = ns3_rate(at.text).filter(|rate| (1..=of).contains(rate));
        let wrong = || self.source.wrong_field(at.line, key, at.text, "a rate such as 50Mb/s, up to that of hosts");
        rate.map(|rate| Some(rate as f64 / of as f64)).ok_or_else(wrong)
    }

    /// `COUNT RATE VALUE RATE VALUE …`, by rate in bit/s.
    fn map(&mut self, key: &str) -> Result<BTreeMap<u64, f64>, ConvertError> {
        let Some(at) = self.take(key) else { return Ok(BTreeMap::new()) };
        let numbers: Option<Vec<f64>> = at
            .text
            .split_ascii_whitespace()
            .skip(1)
            .map(|word| decimal(word).and_then(|n| f64::try_from(n).ok()))
            .collect();
        let pairs = numbers.filter(|numbers| numbers.len().is_multiple_of(2));
        let wrong =
            || self.source.wrong_field(at.line, key, at.text, "a count, then rates in bit/s, each with its value");
        Ok(pairs.ok_or_else(wrong)?.chunks(2).map(|pair| (pair[0] as u64, pair[1])).collect())
    }
}

/// The name of a converted file, and the original one for a comment.
fn named(at: At<'_>) -> (String, String) {
    let stem = at.text.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
    let plain = at.text.chars().filter(|c| !c.is_control()).collect();
    (stem.chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect(), plain)
}

pub(crate) fn read(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let Some(topology) = options.with else {
        let expected = "--with and the topology, for the rates of hosts and links";
        return Err(source.fault(None, Kind::Option("with"), "rates of increase are absolute here", expected));
    };
    let graph = ns3_topology::parse(&topology, options, &mut Notes::default())?;
    let is_host = |id: &u64| graph.nodes.get(id) == Some(&Role::Host);
    let at_hosts = graph.cables.iter().filter(|cable| cable.ends.iter().any(is_host)).map(|cable| cable.rate_bps);
    let host_bps = at_hosts.max().ok_or_else(|| topology.fault(None, Kind::Row, "no host has a link", "hosts"))?;
    let mut keys = BTreeMap::new();
    for row in source.rows() {
        let (key, text) = row.text.split_once(char::is_whitespace).unwrap_or((row.text, ""));
        keys.insert(key, At { line: row.line, text: text.trim() });
    }
    let mut config = Config { source: *source, keys };
    let mode = config.take("CC_MODE").unwrap_or(At { line: 1, text: "" });
    let scheme = match mode.text {
        "1" => "dcqcn",
        "3" => "hpcc",
        "8" => "dctcp",
        _ => {
            let expected = "1 (DCQCN), 3 (HPCC) or 8 (DCTCP): TIMELY (7) and HPCC-PINT (10) are not built in";
            return Err(source.wrong_field(mode.line, "CC_MODE", mode.text, expected));
        }
    };
    let missing = |key: &str| source.fault(None, Kind::Row, format!("no `{key}`"), "a configuration that has it");
    let ((topo, topo_from), (flows, flows_from)) = (
        named(config.take("TOPOLOGY_FILE").ok_or_else(|| missing("TOPOLOGY_FILE"))?),
        named(config.take("FLOW_FILE").unwrap_or(At { line: 1, text: "flow.txt" })),
    );
    let header = HEADER + if scheme == "hpcc" { TELEMETRY } else { 0 };
    let payload = config.number("PACKET_PAYLOAD_SIZE")?.unwrap_or(1_000.0) as u64;
    let mut text = format!(
        "title = \"A run of HPCC's simulator\"\n\n[topology]\nkind = \"custom\"\n\
         file = \"{topo}.csv\"  # flowsieve convert {topo_from} -o {topo}.csv\n\n[workload]\n\
         list = \"{flows}.csv\"  # flowsieve convert {flows_from} -o {flows}.csv\n\n[network]\n\
         load_balancing = \"ecmp\"\nheader = \"{header}B\"\nmtu = \"{}B\"\nwire_overhead = \"0B\"\npfc = true\n",
        payload.saturating_add(header)
    );
    if let Some(mib) = config.number("BUFFER_SIZE")?.filter(|mib| *mib > 0.0) {
        let _ = writeln!(text, "shared_buffer = \"{mib}MiB\"");
    }
    let (least, most, chance) = (config.map("KMIN_MAP")?, config.map("KMAX_MAP")?, config.map("PMAX_MAP")?);
    let at_hosts = [&least, &most, &chance].map(|map| map.get(&host_bps).copied());
    if scheme != "hpcc" {
        let [Some(kmin), Some(kmax), Some(pmax)] = at_hosts else {
            let problem = format!("no thresholds for hosts of {}", format_rate(host_bps));
            return Err(source.fault(None, Kind::Row, problem, "KMIN_MAP, KMAX_MAP and PMAX_MAP with that rate"));
        };
        let _ = write!(
            text,
            "marking = \"red\"\nred_min = \"{kmin}KB\"\nred_max = \"{kmax}KB\"\nred_probability = {pmax:?}\n"
        );
        let others = least.iter().filter(|(rate, _)| graph.cables.iter().any(|cable| cable.rate_bps == **rate));
        let other = |(rate, kmin): (&u64, &f64)| format!("\"{}: {kmin}KB\"", format_rate(*rate));
        let others: Vec<String> = others.filter(|(rate, _)| **rate != host_bps).map(other).collect();
        if !others.is_empty() {
            let _ = writeln!(text, "ecn_threshold_at = [{}]", others.join(", "));
        }
    }
    text += "\n[transport]\nhandshake = \"none\"\n";
    let plain = |value: f64| format!("{value:?}");
    let whole = |value: f64| (value as u64).to_string();
    let time = |us: f64| format!("\"{us}us\"");
    let said: Vec<(&str, Option<String>)> = match scheme {
        "hpcc" => {
            let target = config.number("U_TARGET")?;
            let flows = |step: f64| plain((1.0 - target.unwrap_or(0.95)) / step);
            vec![
                ("hpcc_target", target.map(plain)),
                ("hpcc_stages", config.number("MI_THRESH")?.map(whole)),
                ("hpcc_flows", config.share("RATE_AI", host_bps)?.map(flows)),
                ("hpcc_least", config.share("MIN_RATE", host_bps)?.map(plain)),
            ]
        }
        "dcqcn" => vec![
            ("dcqcn_gain", config.number("EWMA_GAIN")?.map(plain)),
            ("dcqcn_alpha_timer", config.number("ALPHA_RESUME_INTERVAL")?.map(time)),
            ("dcqcn_notify", config.number("RATE_DECREASE_INTERVAL")?.map(time)),
            ("dcqcn_timer", config.number("RP_TIMER")?.map(time)),
            ("dcqcn_recoveries", config.number("FAST_RECOVERY_TIMES")?.map(whole)),
            ("dcqcn_additive", config.share("RATE_AI", host_bps)?.map(plain)),
            ("dcqcn_hyper", config.share("RATE_HAI", host_bps)?.map(plain)),
            ("dcqcn_least", config.share("MIN_RATE", host_bps)?.map(plain)),
            ("dcqcn_bytes", Some("\"0B\"".to_owned())),
        ],
        _ => vec![("dctcp_g", config.number("EWMA_GAIN")?.map(plain))],
    };
    for (key, value) in said.iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
        let _ = writeln!(text, "{key} = {value}");
    }
    let _ = write!(text, "\n[sweep]\nscheme = [\"{scheme}\"]\n\n[run]\nfct_end = \"ack\"\n");
    if scheme == "dctcp" {
        notes.say("DCTCP has a rate there, and a window here");
    }
    notes.say("flows end there when the sender has the last ACK, as with fct_end = \"ack\"");
    config.keys.retain(|key, _| !BESIDE.contains(key));
    if !config.keys.is_empty() {
        let names: Vec<String> = config.keys.keys().take(30).map(|key| excerpt(key)).collect();
        notes.say(format!("{} keys are not carried over: {}", config.keys.len(), names.join(", ")));
    }
    Ok(What::Experiment(text))
}
