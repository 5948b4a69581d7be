//! Common code of all flow-list formats: conversion of ids to hosts, checks of rows, and our list.

use std::io::{self, Write};

use crate::convert::error::{ConvertError, Kind};
use crate::convert::options::Options;
use crate::convert::source::Source;
use crate::convert::{Notes, topology_of};
use crate::flow_list::{self, Extras, FlowList, MAX_FLOWS};
use crate::{Flow, MAX_BYTES};

/// Flows between hosts numbered from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flows {
    /// By start; those with equal starts in the file's order.
    pub flows: Vec<Flow>,
    /// By host, its id in the file; empty if host numbers are the file's own.
    pub ids: Vec<u64>,
}

/// A row of a flow list, before ids become hosts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) start_ps: u64,
    pub(crate) src: u64,
    pub(crate) dst: u64,
    pub(crate) bytes: u64,
}

/// The meaning of a format's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// Hosts, numbered from 0.
    Hosts,
    /// Nodes, including switches: a topology says which are hosts.
    Nodes,
}

/// Rows that are checked one by one.
pub(crate) struct Rows<'a> {
    source: Source<'a>,
    rows: Vec<Row>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(source: Source<'a>) -> Rows<'a> {
        Rows { source, rows: Vec::new() }
    }

    /// Adds a row with these fields: its source, destination and bytes.
    pub(crate) fn parse(&mut self, line: u64, start_ps: u64, fields: [&str; 3]) -> Result<(), ConvertError> {
        let field = |nth: usize, what, most| self.source.whole(line, what, fields[nth], most);
        self.add(Row {
            line,
            start_ps,
            src: field(0, "the source", u32::MAX.into())?,
            dst: field(1, "the destination", u32::MAX.into())?,
            bytes: field(2, "the size", u64::MAX)?,
        })
    }

    pub(crate) fn add(&mut self, row: Row) -> Result<(), ConvertError> {
        let wrong = |problem: String, expected: &str| Err(self.source.wrong(row.line, problem, expected));
        if row.src == row.dst {
            return wrong(format!("a flow from {} to itself", row.src), "two different hosts");
        }
        if row.bytes == 0 || row.bytes > MAX_BYTES {
            return wrong(format!("a flow of {} bytes", row.bytes), &format!("1 to {MAX_BYTES} bytes"));
        }
        if self.rows.len() == MAX_FLOWS {
            return wrong("the list has too many flows".to_owned(), &format!("at most {MAX_FLOWS}"));
        }
        self.rows.push(row);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Builds our list from them.
    pub(crate) fn finish(self, ids: Ids, options: &Options<'_>, notes: &mut Notes) -> Result<Flows, ConvertError> {
        let source = self.source;
        if self.rows.is_empty() {
            return Err(source.fault(None, Kind::Row, "no flows", "at least one"));
        }
        let hosts = match (ids, options.with) {
            (Ids::Nodes, Some(topology)) => topology_of(topology)?.host_ids(),
            (Ids::Nodes, None) if !options.hosts_first => return Err(unknown_hosts(&source, &self.rows)),
            _ => Vec::new(),
        };
        let map = |row: &Row, field: &str, id: u64| -> Result<u32, ConvertError> {
            let host = match hosts.is_empty() {
                true => u32::try_from(id).ok().filter(|host| *host < MAX_HOSTS),
                false => hosts.binary_search(&id).ok().map(|host| host as u32),
            };
            host.ok_or_else(|| {
                let expected = match options.with.filter(|_| !hosts.is_empty()) {
                    Some(topology) => format!("one of the {} hosts of {}", hosts.len(), topology.name),
                    None => format!("a host from 0 to {}", MAX_HOSTS - 1),
                };
                source.wrong_field(row.line, field, &id.to_string(), expected)
            })
        };
        let mut flows = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let (src, dst) = (map(row, "the source", row.src)?, map(row, "the destination", row.dst)?);
            let (start_ps, bytes) = (row.start_ps, row.bytes);
            flows.push(Flow { id: 0, start_ps, src, dst, bytes, class: 0, deadline_ps: None, coflow: None });
        }
        if !flows.is_sorted_by_key(|flow| flow.start_ps) {
            notes.say("the rows are not sorted by start; the list is");
        }
        Ok(sorted(flows, hosts, options, notes))
    }
}

/// The most hosts in a flow list.
const MAX_HOSTS: u32 = 65_536;

/// Numbers the flows by their starts, which `--shift-start` counts from the first one.
pub(crate) fn sorted(mut flows: Vec<Flow>, ids: Vec<u64>, options: &Options<'_>, notes: &mut Notes) -> Flows {
    flows.sort_by_key(|flow| flow.start_ps);
    let first = flows.first().map_or(0, |flow| flow.start_ps);
    if options.shift_start {
        flows.iter_mut().for_each(|flow| flow.start_ps -= first);
        notes.say(format!("starts are counted from the first, at {} ps", first));
    }
    flows.iter_mut().zip(0..).for_each(|(flow, id)| flow.id = id);
    Flows { flows, ids }
}

fn unknown_hosts(source: &Source<'_>, rows: &[Row]) -> ConvertError {
    let ids = || rows.iter().flat_map(|row| [row.src, row.dst]);
    let (least, most) = (ids().min().unwrap_or(0), ids().max().unwrap_or(0));
    source.fault(
        None,
        Kind::Option("with"),
        format!("ids from {least} to {most} are nodes, and only the topology tells which nodes are hosts"),
        "--with and the topology's file, or --hosts-first if the hosts are nodes 0 to n−1",
    )
}

impl Flows {
    /// Returns the bytes of all flows.
    pub fn total_bytes(&self) -> u64 {
        self.flows.iter().fold(0, |sum, flow| sum.saturating_add(flow.bytes))
    }

    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write_ids(&self.ids, out)?;
        let list = FlowList { flows: self.flows.clone(), ..FlowList::default() };
        flow_list::write(out, &Extras::of(&list), list.flows.iter().map(|flow| list.row(*flow)))
    }
}

/// Writes which host has which id, as comments; in one line if each has its own number.
pub(crate) fn write_ids(ids: &[u64], out: &mut impl Write) -> io::Result<()> {
    let own = (0u64..).zip(ids).all(|(host, id)| host == *id);
    match ids {
        [] => Ok(()),
        [.., last] if own => writeln!(out, "# host0 to host{last} are the nodes 0 to {last}"),
        ids => ids.iter().enumerate().try_for_each(|(host, id)| writeln!(out, "# host{host} is node {id}")),
    }
}
