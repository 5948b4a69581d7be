//! Topologies of HPCC and its forks: counts, the ids of the switches, then one full-duplex cable per line.
//!
//! The tokens of the first line show the dialect: 3 HPCC's, 4 PowerTCP's, 6 Reverie's (two rates at its end) or SimAI's
//! (the type of a GPU at its end). Hosts are all ids that are not listed as switches.

use rust_decimal::Decimal;
use std::collections::BTreeMap;

use crate::convert::error::{ConvertError, Kind, excerpt};
use crate::convert::options::Options;
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::source::{At, Source, decimal, whole};
use crate::convert::topology::{Cable, MAX_CABLES, MAX_NODES, Role, Topology};
use crate::convert::units::{ns3_rate, ns3_time_ps};

/// The counts of a first line.
struct Header {
    nodes: u64,
    switches: u64,
    nvswitches: u64,
    links: u64,
}

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    let mut rows = source.rows();
    let Some(header) = rows.next().and_then(|row| header(source, row).ok()) else { return Fit::No };
    // The ids of the switches come first, on one line or several.
    let links = rows.skip_while(|row| row.text.split_ascii_whitespace().all(|token| whole(token).is_some()));
    let is_link = |row: At<'_>| match row.text.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [a, b, rate, delay, loss] => {
            whole(a).is_some()
                && whole(b).is_some()
                && ns3_rate(rate).is_some()
                && ns3_time_ps(delay).is_some()
                && decimal(loss).is_some()
        }
        _ => false,
    };
    let first: Vec<bool> = links.take(usize::try_from(header.links.min(3)).unwrap_or(3)).map(is_link).collect();
    if !first.is_empty() && first.iter().all(|is| *is) { Fit::Sure } else { Fit::No }
}

fn header(source: &Source<'_>, row: At<'_>) -> Result<Header, ConvertError> {
    let tokens: Vec<&str> = row.text.split_ascii_whitespace().collect();
    let count = |what: &str, found: &str, most| source.whole(row.line, what, found, most);
    let of = |nodes, switches, nvswitches, links| {
        Ok(Header {
            nodes: count("the number of nodes", nodes, MAX_NODES)?,
            switches: count("the number of switches", switches, MAX_NODES)?,
            nvswitches: count("the number of NVSwitches", nvswitches, MAX_NODES)?,
            links: count("the number of links", links, MAX_CABLES)?,
        })
    };
    match tokens[..] {
        [nodes, switches, links] => of(nodes, switches, "0", links),
        [nodes, switches, _, links] => of(nodes, switches, "0", links),
        // Reverie's two rates are numbers; SimAI's type of a GPU is not.
        [nodes, switches, _, links, _, last] if decimal(last).is_some() => of(nodes, switches, "0", links),
        [nodes, _, nvswitches, switches, links, _] => of(nodes, switches, nvswitches, links),
        _ => Err(source.wrong(
            row.line,
            format!("the first line has {} fields", tokens.len()),
            "3 (HPCC), 4 (PowerTCP) or 6 (Reverie, SimAI): nodes, switches, links and the fork's own fields",
        )),
    }
}

pub(crate) fn read(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let topology = parse(source, options, notes)?;
    let beside = topology.parallel(source)?;
    notes.count(
        beside,
        "links are parallel to another link: here they form a bundle, in HPCC the last one carries all traffic",
    );
    topology.check(source)?;
    Ok(What::Topology(topology))
}

/// Parses the topology as the file states it, even if an edge list cannot have it.
pub(crate) fn parse(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<Topology, ConvertError> {
    let Some(first) = source.rows().next() else {
        return Err(source.fault(None, Kind::Row, "the file is empty", "counts of nodes, switches and links first"));
    };
    let header = header(source, first)?;
    let mut tokens = source.tokens().skip_while(|token| token.line <= first.line);
    let mut nodes: BTreeMap<u64, Role> = (0..header.nodes).map(|id| (id, Role::Host)).collect();
    let mut nv = Vec::new();
    for nth in 0..header.nvswitches + header.switches {
        let Some(token) = tokens.next() else {
            return Err(ends(source, "the id of a switch"));
        };
        let id = node(source, token, header.nodes)?;
        if nodes.insert(id, Role::Switch(format!("switch{id}"))) != Some(Role::Host) {
            return Err(source.wrong_field(token.line, "the id of a switch", token.text, "each switch once"));
        }
        if nth < header.nvswitches {
            nv.push(id);
        }
    }
    let (mut cables, mut default_loss, mut left_out) = (Vec::new(), 0, 0);
    for _ in 0..header.links {
        let link: Vec<At<'_>> = tokens.by_ref().take(5).collect();
        let [from, to, rate, delay, loss] = link[..] else {
            let found = cables.len() as u64 + left_out;
            let problem = format!("the first line promises {} links, but there are {found}", header.links);
            return Err(source.fault(Some(first.line), Kind::Row, problem, "the promised number, five fields each"));
        };
        let ends = [node(source, from, header.nodes)?, node(source, to, header.nodes)?];
        if ends[0] == ends[1] {
            return Err(source.wrong(from.line, format!("a link from {} to itself", ends[0]), "two different ends"));
        }
        let wrong = |at: At<'_>, what, expected| source.wrong_field(at.line, what, at.text, expected);
        let cable = Cable {
            ends,
            rate_bps: ns3_rate(rate.text)
                .ok_or_else(|| wrong(rate, "the rate", "a rate such as 25Gbps; without a unit bit/s"))?,
            delay_ps: ns3_time_ps(delay.text)
                .ok_or_else(|| wrong(delay, "the delay", "a time in whole ps such as 1us; without a unit seconds"))?,
            loss: decimal(loss.text)
                .filter(|loss| *loss <= Decimal::new(999, 3))
                .ok_or_else(|| wrong(loss, "the error rate", "a probability from 0 to 0.999"))?,
            count: 1,
            line: from.line,
        };
        default_loss += u64::from(cable.loss.is_zero());
        if options.leave_out && ends.iter().any(|end| nv.contains(end)) {
            left_out += 1;
        } else {
            cables.push(cable);
        }
    }
    let rest = tokens.count();
    if rest > 0 {
        notes.say(format!("{rest} fields after the links are not read, as in HPCC"));
    }
    if options.leave_out {
        nv.iter().for_each(|id| _ = nodes.remove(id));
        notes.count(nv.len() as u64, "NVSwitches are left out");
        notes.count(left_out, "links of NVSwitches are left out");
    }
    notes
        .count(default_loss, "links have an error rate of 0: they lose nothing unless the run set ERROR_RATE_PER_LINK");
    Ok(Topology { nodes, cables })
}

fn node(source: &Source<'_>, token: At<'_>, nodes: u64) -> Result<u64, ConvertError> {
    whole(token.text).filter(|id| *id < nodes).ok_or_else(|| {
        let problem = format!("`{}` is not a node", excerpt(token.text));
        source.wrong(token.line, problem, format!("an id from 0 to {}", nodes.saturating_sub(1)))
    })
}

fn ends(source: &Source<'_>, what: &str) -> ConvertError {
    source.fault(None, Kind::Row, format!("the file ends where {what} should be"), "as many as the first line says")
}
