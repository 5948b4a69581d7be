//! NetBench's graphs, run files and logs.
//!
//! A `.topology` has a line for each *direction*: two lines are one cable. Rates are not in it but in the run file,
//! which may also put servers below each ToR.

use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

use crate::convert::error::{ConvertError, Kind, excerpt};
use crate::convert::flows::{Ids, Rows};
use crate::convert::options::Options;
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::source::{At, Source, decimal, whole};
use crate::convert::topology::{Cable, MAX_CABLES, MAX_NODES, Role, Topology};

pub(crate) const TOPOLOGY: &str = "netbench-topology";

/// The columns of a log's row.
const LOG: &str = "9 columns: id,src,dst,sent,total,start,end,duration,TRUE or FALSE";

pub(crate) fn fit_log(source: &Source<'_>) -> Fit {
    let is_row = |row: At<'_>| {
        let fields: Vec<&str> = row.text.split(',').collect();
        fields.len() == 9
            && fields[..8].iter().all(|field| decimal(field).is_some())
            && ["TRUE", "FALSE"].contains(&fields[8])
    };
    let mut rows = source.rows().take(100).map(is_row).peekable();
    if rows.peek().is_some() && rows.all(|is| is) { Fit::Sure } else { Fit::No }
}

pub(crate) fn read_log(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let mut rows = Rows::new(*source);
    let mut unfinished = 0;
    for row in source.rows() {
        let fields: Vec<&str> = row.text.split(',').map(str::trim).collect();
        let &[_, src, dst, _, total, start, _, _, finished] = fields.as_slice() else {
            return Err(source.wrong(row.line, format!("this row has {} columns", fields.len()), LOG));
        };
        unfinished += u64::from(finished == "FALSE");
        add(&mut rows, source, row.line, [start, src, dst, total])?;
    }
    notes.count(unfinished, "flows had not finished; they get their full sizes");
    rows.finish(Ids::Nodes, options, notes).map(What::Flows)
}

/// Adds a flow of a start in ns, hosts and bytes.
fn add(
    rows: &mut Rows<'_>,
    source: &Source<'_>,
    line: u64,
    [start, src, dst, bytes]: [&str; 4],
) -> Result<(), ConvertError> {
    let start_ps = source.whole(line, "the start", start, u64::MAX / 1_000)? * 1_000;
    rows.parse(line, start_ps, [src, dst, bytes])
}

/// The keys of a run file: their values and lines.
type Properties<'a> = BTreeMap<&'a str, At<'a>>;

fn properties<'a>(source: &Source<'a>) -> Result<Properties<'a>, ConvertError> {
    let mut found = Properties::new();
    for row in source.rows() {
        let Some((key, value)) = row.text.split_once('=') else {
            let problem = format!("`{}` is not `key=value`", excerpt(row.text));
            return Err(source.wrong(row.line, problem, "a run file of NetBench"));
        };
        found.insert(key.trim(), At { line: row.line, text: value.trim() });
    }
    Ok(found)
}

pub(crate) fn fit_properties(source: &Source<'_>) -> Fit {
    let has =
        |key: &str| source.rows().any(|row| row.text.split_once('=').is_some_and(|(found, _)| found.trim() == key));
    if has("scenario_topology_file") || has("traffic") && has("network_device") { Fit::Sure } else { Fit::No }
}

pub(crate) fn read_flows(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let keys = properties(source)?;
    let traffic = need(source, &keys, "traffic")?;
    let mut rows = Rows::new(*source);
    let used = match traffic.text {
        "traffic_arrivals_string" => {
            let list = need(source, &keys, "traffic_arrivals_list")?;
            for tuple in list.text.split(';') {
                let inner = tuple.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or_default();
                let fields: Vec<&str> = inner.split(',').map(str::trim).collect();
                let &[start, src, dst, bytes] = fields.as_slice() else {
                    return Err(source.wrong_field(list.line, "a flow", tuple, "(start_ns, src, dst, bytes)"));
                };
                add(&mut rows, source, list.line, [start, src, dst, bytes])?;
            }
            2
        }
        "traffic_pair" => {
            let (pairs, size) =
                (need(source, &keys, "traffic_pairs")?, need(source, &keys, "traffic_pair_flow_size_byte")?);
            for pair in pairs.text.split(',') {
                let Some((src, dst)) = pair.trim().split_once("->") else {
                    return Err(source.wrong_field(pairs.line, "a pair", pair, "src->dst"));
                };
                add(&mut rows, source, pairs.line, ["0", src, dst, size.text])?;
            }
            3
        }
        _ => {
            let problem =
                format!("traffic `{}` draws its flows, so the file does not list them", excerpt(traffic.text));
            let expected = "traffic_arrivals_string or traffic_pair; or the flow_completion.csv.log of a run";
            return Err(source.fault(Some(traffic.line), Kind::Lost, problem, expected));
        }
    };
    notes.count((keys.len() - used) as u64, "other keys of the run file are not carried over");
    rows.finish(Ids::Nodes, options, notes).map(What::Flows)
}

fn need<'a>(source: &Source<'_>, keys: &Properties<'a>, key: &str) -> Result<At<'a>, ConvertError> {
    let missing = || source.fault(None, Kind::Row, format!("no `{key}`"), "a run file of NetBench that has it");
    keys.get(key).copied().ok_or_else(missing)
}

pub(crate) fn fit_topology(source: &Source<'_>) -> Fit {
    if source.rows().take(20).any(|row| row.text.starts_with("|V|=")) { Fit::Sure } else { Fit::No }
}

/// A `.topology`, without rates.
pub(crate) struct Graph {
    nodes: u64,
    tors: BTreeSet<u64>,
    servers: BTreeSet<u64>,
    /// The cables, lower end first, with the line of the first direction.
    cables: Vec<([u64; 2], u64)>,
}

impl Graph {
    /// Returns only its nodes: enough to know its hosts.
    pub(crate) fn bare(&self) -> Topology {
        let role = |id| match self.servers.contains(&id) {
            true => (id, Role::Host),
            false => (id, Role::Switch(format!("switch{id}"))),
        };
        Topology { nodes: (0..self.nodes).map(role).collect(), cables: Vec::new() }
    }
}

pub(crate) fn graph(source: &Source<'_>) -> Result<Graph, ConvertError> {
    let mut graph = Graph { nodes: 0, tors: BTreeSet::new(), servers: BTreeSet::new(), cables: Vec::new() };
    let mut directions: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut promised = None;
    for row in source.rows() {
        if let Some((key, value)) = row.text.split_once('=') {
            let value = value.trim();
            match key.trim() {
                "|V|" => graph.nodes = source.whole(row.line, "|V|", value, MAX_NODES)?,
                "|E|" => promised = Some((row.line, source.whole(row.line, "|E|", value, 2 * MAX_CABLES)?)),
                "ToRs" => graph.tors = set(source, row.line, value, graph.nodes)?,
                "Servers" => graph.servers = set(source, row.line, value, graph.nodes)?,
                "Switches" => _ = set(source, row.line, value, graph.nodes)?,
                other => {
                    let expected = "|V|, |E|, ToRs, Servers or Switches";
                    return Err(source.wrong_field(row.line, "a key", other, expected));
                }
            }
            continue;
        }
        let mut ends = row.text.split_ascii_whitespace().map(|end| whole(end).filter(|end| *end < graph.nodes));
        let (Some(Some(from)), Some(Some(to)), None) = (ends.next(), ends.next(), ends.next()) else {
            let expected = format!("two nodes below |V|, which is {}", graph.nodes);
            return Err(source.wrong_field(row.line, "a direction", row.text, expected));
        };
        if from == to {
            return Err(source.wrong(row.line, format!("a link from {from} to itself"), "two different ends"));
        }
        if let Some(line) = directions.insert((from, to), row.line) {
            let problem = format!("the direction from {from} to {to} is already in line {line}");
            return Err(source.wrong(row.line, problem, "each direction once"));
        }
        if directions.len() as u64 > 2 * MAX_CABLES {
            return Err(source.wrong(row.line, "there are too many directions", format!("at most {}", 2 * MAX_CABLES)));
        }
        if !directions.contains_key(&(to, from)) {
            graph.cables.push(([from, to], row.line));
        }
    }
    if let Some(([from, to], line)) =
        graph.cables.iter().find(|([from, to], _)| !directions.contains_key(&(*to, *from)))
    {
        let problem = format!("{from} to {to} has no reverse direction");
        return Err(source.fault(Some(*line), Kind::Lost, problem, "both directions, as each link of Flowsieve has"));
    }
    match promised {
        Some((line, promised)) if promised != directions.len() as u64 => {
            let problem = format!("|E| is {promised}, but there are {} directions", directions.len());
            Err(source.wrong(line, problem, "the same number, since |E| counts directions"))
        }
        _ => Ok(graph),
    }
}

/// Parses `set(1,2)` or `incl_range(1, 5)`, with nodes below `nodes`.
fn set(source: &Source<'_>, line: u64, text: &str, nodes: u64) -> Result<BTreeSet<u64>, ConvertError> {
    let wrong =
        || source.wrong_field(line, "a set", text, format!("set(a,b) or incl_range(a, b) of nodes below {nodes}"));
    let inner = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let numbers = |inner: &str| -> Option<Vec<u64>> {
        inner.split(',').map(|id| whole(id.trim()).filter(|id| *id < nodes)).collect()
    };
    match (inner("set"), inner("incl_range")) {
        (Some(""), _) => Ok(BTreeSet::new()),
        (Some(ids), _) => Ok(numbers(ids).ok_or_else(wrong)?.into_iter().collect()),
        (_, Some(ends)) => match numbers(ends).ok_or_else(wrong)?[..] {
            [from, to] if from <= to => Ok((from..=to).collect()),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

pub(crate) fn read_topology(
    source: &Source<'_>,
    options: &Options<'_>,
    notes: &mut Notes,
) -> Result<What, ConvertError> {
    let graph = graph(source)?;
    let Some(run) = options.with else {
        let expected = "--with and the run file, for link_bandwidth_bit_per_ns and link_delay_ns";
        return Err(source.fault(None, Kind::Option("with"), "a .topology has no rates and delays", expected));
    };
    let keys = properties(&run)?;
    let gbps = need(&run, &keys, "link_bandwidth_bit_per_ns")?;
    let delay = need(&run, &keys, "link_delay_ns")?;
    let rate_bps = run.whole(gbps.line, "link_bandwidth_bit_per_ns", gbps.text, 1_000_000)? * 1_000_000_000;
    let delay_ps = run.whole(delay.line, "link_delay_ns", delay.text, 1_000_000_000_000)? * 1_000;
    let cable = |ends, line| Cable { ends, rate_bps, delay_ps, loss: Decimal::ZERO, count: 1, line };
    let mut topology = graph.bare();
    topology.cables = graph.cables.iter().map(|(ends, line)| cable(*ends, *line)).collect();
    match keys.get("scenario_topology_extend_with_servers").map(|how| (how.line, how.text)) {
        None => {}
        Some((_, "regular")) => {
            let each = need(&run, &keys, "scenario_topology_extend_servers_per_tl_node")
                .or_else(|_| need(&run, &keys, "scenario_topology_extend_with_servers_per_tl_node"))?;
            let each = (run.whole(each.line, "servers of a ToR", each.text, MAX_NODES)?, each.line);
            extend(source, &graph, each, &mut topology, cable)?;
        }
        Some((line, other)) => {
            return Err(run.wrong_field(line, "scenario_topology_extend_with_servers", other, "regular"));
        }
    }
    topology.check(source)?;
    notes.say(format!("rates and delays are those of {}", run.name));
    Ok(What::Topology(topology))
}

/// Puts servers below each ToR, with ids from |V| up.
fn extend(
    source: &Source<'_>,
    graph: &Graph,
    (each, line): (u64, u64),
    topology: &mut Topology,
    cable: impl Fn([u64; 2], u64) -> Cable,
) -> Result<(), ConvertError> {
    if graph.servers != graph.tors {
        let expected = "Servers equal to the ToRs, if the run file adds servers";
        return Err(source.fault(None, Kind::Row, "Servers are not the ToRs", expected));
    }
    if each.saturating_mul(graph.tors.len() as u64) > MAX_NODES {
        let problem = format!("{each} servers for each of {} ToRs", graph.tors.len());
        return Err(source.fault(None, Kind::Row, problem, format!("at most {MAX_NODES} in all")));
    }
    let mut next = graph.nodes;
    for tor in &graph.tors {
        topology.nodes.insert(*tor, Role::Switch(format!("tor{tor}")));
        for _ in 0..each {
            topology.nodes.insert(next, Role::Host);
            topology.cables.push(cable([next, *tor], line));
            next += 1;
        }
    }
    Ok(())
}
