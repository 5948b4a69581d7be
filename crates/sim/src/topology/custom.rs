//! A fabric from an edge list: CSV rows `from,to,rate,delay` and optionally `loss`.
//!
//! A row is a link in both directions: its ends' names, its rate (`10Gbps`), its propagation delay (`200ns`) and the
//! probability that it loses a packet (0 where it is left out). `host0`, `host1`, … are the hosts, each with one
//! link; every other name is a switch. In a list without such names the hosts are those that have a single link, whatever they
//! are called, numbered as they first appear: a switch with one link would carry nothing. The header is optional, `#` starts
//! a comment line, blank lines are skipped.
//! No field needs quotes, so a row is a line, and an error can name the line as an editor counts it.

use super::delays::MAX_DELAY_PS;
use super::plan::{Edge, Plan};
use super::{Fabric, MAX_HOSTS, MAX_LINKS, MAX_ROUTES, Node, delays};
use flowsieve_core::units::Rate;
use flowsieve_schemes::declare;
use flowsieve_schemes::settings::units::{parse_rate, parse_time};
use flowsieve_schemes::settings::{Origin, Section, Setting, Settings, SettingsError};
use flowsieve_workload::host_number;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Longest file that is read: a row of the largest fabric has 128 bytes.
const MAX_BYTES: u64 = 64 << 20;
/// Longest name of a switch.
const MAX_NAME: usize = 64;
const COLUMNS: &str = "`from,to,rate,delay` or `from,to,rate,delay,loss`";

declare! {
    pub(super) static FILE: Setting<String> = Setting::file(
        Section::Topology, "file", "edge list of a custom fabric: rows of from,to,rate,delay and optionally loss",
    );
}

/// Shown by [`super::FabricKind::example`].
const EXAMPLE: &str = "from,to,rate,delay,loss
host0,tor0,10Gbps,200ns
host1,tor0,10Gbps,200ns
host2,tor1,10Gbps,200ns
host3,tor1,10Gbps,200ns
tor0,agg0,40Gbps,1us
tor1,agg0,40Gbps,1us
tor0,agg1,10Gbps,1us,0.001
tor1,agg1,10Gbps,1us,0.001
";

/// The fabric of a small edge list.
pub(super) fn example(settings: &Settings) -> Result<Fabric, SettingsError> {
    let mut plan = parse("example.csv", EXAMPLE)?;
    let host_delay = delays::fit(settings, &mut plan)?;
    Fabric::assemble("custom", &plan, host_delay, false).map_err(|cut| super::overrides::explain(cut, &plan, settings))
}

/// The plan in the settings' `file`, whose path is relative to `folder`.
pub(super) fn plan(settings: &Settings, folder: &Path) -> Result<Plan, SettingsError> {
    let scope = settings.common();
    let Some(file) = scope.optional(&FILE)? else {
        return Err(scope.invalid(&FILE, "an edge list: the path of a CSV file of from,to,rate,delay"));
    };
    let path = folder.join(file);
    let name = path.display().to_string();
    let refuse = |problem: String| scope.error(&FILE, format!("{name} {problem}")).expected("an edge list");
    let file = flowsieve_builtin::open(&path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refuse(format!("is longer than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8 text".to_owned()))?;
    settings.note("topology.file.digest", blake3::hash(text.as_bytes()).to_hex());
    parse(&name, &text)
}

/// The plan that `text` describes; errors call it `name`.
pub(super) fn parse(name: &str, text: &str) -> Result<Plan, SettingsError> {
    let file: Arc<str> = name.into();
    let mut list = List::default();
    let mut last = Row { file: &file, line: 1, start: 0, text: "" };
    let rows = rows(&file, text);
    list.numbered = rows.clone().any(|row| row.fields().take(2).any(|name| host_number(name).is_some()));
    for row in rows {
        let header = row.fields().eq(["from", "to", "rate", "delay"])
            || row.fields().eq(["from", "to", "rate", "delay", "loss"]);
        if !(header && list.edges.is_empty()) {
            list.add(&row)?;
        }
        last = row;
    }
    list.finish(&last)
}

/// The lines that are neither blank nor a comment.
fn rows<'a>(file: &'a Arc<str>, text: &'a str) -> impl Iterator<Item = Row<'a>> + Clone {
    let mut start = 0;
    let lines = text.split_inclusive('\n').zip(1u32..).map(move |(raw, line)| {
        // Some spreadsheets start a file with a byte-order mark.
        let text = raw.trim_start_matches('\u{feff}').trim();
        let row = Row { file, line, start: start + raw.find(text).unwrap_or(0), text };
        start += raw.len();
        row
    });
    lines.filter(|row| !row.text.is_empty() && !row.text.starts_with('#'))
}

/// What a row holds; the loss may be left out.
const FIELDS: [&str; 5] = ["from", "to", "rate", "delay", "loss"];

/// A line that holds a link.
#[derive(Clone, Copy)]
struct Row<'a> {
    file: &'a Arc<str>,
    line: u32,
    /// Where its text starts in the file, in bytes.
    start: usize,
    /// The line without blanks around it.
    text: &'a str,
}

impl<'a> Row<'a> {
    fn fields(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.text.split(',').map(str::trim)
    }

    /// A problem of the n-th field.
    fn error(&self, nth: usize, problem: impl Into<String>) -> SettingsError {
        let before: usize = self.text.split(',').take(nth).map(|field| field.len() + 1).sum();
        let (left, rest) = self.text.split_at_checked(before).unwrap_or((self.text, ""));
        let field = rest.split(',').next().unwrap_or_default();
        let blanks = field.len() - field.trim_start().len();
        let from = self.start + left.len() + blanks;
        let column = (left.chars().count() + blanks) as u32 + 1;
        let span = from..from + field.trim().len();
        let origin = Origin::File { file: self.file.clone(), line: self.line, column, span };
        let error = SettingsError::new(origin, problem);
        match FIELDS.get(nth) {
            Some(name) => error.of_key(name),
            None => error,
        }
    }
}

/// What has been read so far.
#[derive(Default)]
struct List {
    /// Whether hosts are those called `host0`, `host1`, …
    numbered: bool,
    switches: Vec<String>,
    by_name: BTreeMap<String, u32>,
    edges: Vec<Edge>,
    /// The line of each link, to name the earlier one of two.
    lines: BTreeMap<(Node, Node), u32>,
    /// The line of each host's link.
    hosts: BTreeMap<u32, u32>,
}

impl List {
    fn add(&mut self, row: &Row<'_>) -> Result<(), SettingsError> {
        let fields: Vec<&str> = row.fields().take(6).collect();
        let (from, to, rate, delay, loss) = match fields[..] {
            [from, to, rate, delay] => (from, to, rate, delay, ""),
            [from, to, rate, delay, loss] => (from, to, rate, delay, loss),
            _ => {
                let found = row.fields().count();
                let columns = if found == 1 { "column" } else { "columns" };
                return Err(row.error(0, format!("this row has {found} {columns}")).expected(COLUMNS));
            }
        };
        let ends = [self.node(row, 0, from)?, self.node(row, 1, to)?];
        let [a, b] = ends;
        if a == b {
            return Err(row.error(1, format!("a link from {from} to itself")).expected("two different ends"));
        }
        if let Some(line) = self.lines.insert((a.min(b), a.max(b)), row.line) {
            let problem = format!("the link between {from} and {to} is already in line {line}");
            return Err(row.error(0, problem).expected("one row for each link: a row is both directions"));
        }
        for (field, end) in ends.into_iter().enumerate() {
            if let Node::Host(host) = end
                && let Some(line) = self.hosts.insert(host, row.line)
            {
                let problem = format!("host{host} already has a link, in line {line}");
                return Err(row.error(field, problem).expected("one link for each host"));
            }
        }
        let wrong = |field, what: &str, given, problem: &str, expected: &str| {
            row.error(field, format!("the {what} `{}` {problem}", excerpt(given))).expected(expected)
        };
        let rate = parse_bps(rate)
            .map_err(|problem| wrong(2, "rate", rate, &problem, "a rate such as 10Gbps, 1Mbps to 800Gbps"))?;
        let delay_ps = parse_delay(delay)
            .map_err(|problem| wrong(3, "delay", delay, &problem, "a time such as 200ns, at most 1s"))?;
        let loss =
            parse_loss(loss).ok_or_else(|| wrong(4, "loss", loss, "is no probability", "a number, 0 to 0.999"))?;
        // A host is the lower end, whichever column it is in.
        let (lower, upper) = if matches!(b, Node::Host(_)) { (b, a) } else { (a, b) };
        self.edges.push(Edge { delay_ps, loss, ..Edge::new(lower, upper, rate) });
        if 2 * self.edges.len() as u64 > MAX_LINKS {
            return Err(row
                .error(0, "one link more than a fabric may have")
                .expected(format!("at most {}", MAX_LINKS / 2)));
        }
        Ok(())
    }

    fn node(&mut self, row: &Row<'_>, field: usize, name: &str) -> Result<Node, SettingsError> {
        if let Some(host) = host_number(name) {
            if u64::from(host) >= MAX_HOSTS {
                let most = format!("hosts up to host{}", MAX_HOSTS - 1);
                return Err(row.error(field, format!("{name} is one host too many")).expected(most));
            }
            return Ok(Node::Host(host));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        // `host07` looks like one of those that are numbered.
        let number = name.strip_prefix("host").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let reserved = number || self.numbered && name.starts_with("host");
        if reserved || name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            let problem = format!("`{}` is no name of a host or a switch", excerpt(name));
            let expected = format!(
                "host0, host1, … for a host; another name of up to {MAX_NAME} ASCII letters, digits, `-`, `_`, `.` for a switch"
            );
            return Err(row.error(field, problem).expected(expected));
        }
        if let Some(switch) = self.by_name.get(name) {
            return Ok(Node::Switch(*switch));
        }
        let switch = self.switches.len() as u32;
        self.switches.push(name.to_owned());
        self.by_name.insert(name.to_owned(), switch);
        Ok(Node::Switch(switch))
    }

    /// The plan, once all rows have been read; `last` is the last of them.
    fn finish(mut self, last: &Row<'_>) -> Result<Plan, SettingsError> {
        let host_names = if self.numbered { Vec::new() } else { self.name_hosts(last)? };
        let hosts = if self.numbered { self.hosts.len() } else { host_names.len() } as u64;
        if hosts < 2 {
            let has = if hosts == 0 { "no host" } else { "a single host" };
            let expected = "at least host0 and host1, or two nodes with a single link each";
            return Err(last.error(0, format!("this edge list has {has}")).expected(expected));
        }
        // The keys ascend, so the first one beside its place follows a gap.
        if let Some(((host, line), missing)) = self.hosts.iter().zip(0u32..).find(|((host, _), place)| *host != place) {
            let problem = format!("there is a host{host} (line {line}), but no host{missing}");
            return Err(last.error(0, problem).expected("hosts numbered from 0 without a gap"));
        }
        let switches = self.switches.len() as u64;
        if hosts * switches > MAX_ROUTES {
            let problem = format!("this edge list has {hosts} hosts and {switches} switches");
            let most = format!("at most {} switches with so many hosts", MAX_ROUTES / hosts);
            return Err(last.error(0, problem).expected(most));
        }
        Ok(Plan { hosts: hosts as u32, host_names, switches: self.switches, edges: self.edges, hops: None })
    }

    /// Makes hosts of the nodes that have a single link, and gives their names.
    fn name_hosts(&mut self, last: &Row<'_>) -> Result<Vec<String>, SettingsError> {
        let mut links = vec![0u32; self.switches.len()];
        let of_node = |node: Node| match node {
            Node::Host(host) => host as usize,
            Node::Switch(switch) => switch as usize,
        };
        for edge in &self.edges {
            [edge.lower, edge.upper].into_iter().for_each(|node| links[of_node(node)] += 1);
        }
        let (mut hosts, mut switches) = (Vec::new(), Vec::new());
        let mut nodes = Vec::with_capacity(links.len());
        for (name, links) in self.switches.drain(..).zip(links) {
            let (names, node): (&mut Vec<String>, fn(u32) -> Node) =
                if links == 1 { (&mut hosts, Node::Host) } else { (&mut switches, Node::Switch) };
            nodes.push(node(names.len() as u32));
            names.push(name);
        }
        if hosts.len() as u64 > MAX_HOSTS {
            let problem = format!("this edge list has {} hosts: nodes with a single link", hosts.len());
            return Err(last.error(0, problem).expected(format!("at most {MAX_HOSTS}")));
        }
        if let Some(name) = hosts.iter().find(|name| name.bytes().all(|letter| letter.is_ascii_digit())) {
            let problem = format!("a host is called `{name}`, and flow lists take that for its number");
            return Err(last.error(0, problem).expected(format!("a name such as h{name}")));
        }
        for edge in &mut self.edges {
            let [lower, upper] = [edge.lower, edge.upper].map(|node| nodes[of_node(node)]);
            (edge.lower, edge.upper) = if matches!(upper, Node::Host(_)) { (upper, lower) } else { (lower, upper) };
        }
        self.switches = switches;
        Ok(hosts)
    }
}

fn parse_bps(text: &str) -> Result<Rate, String> {
    let bps = parse_rate(text).map_err(|error| error.to_string())?;
    Rate::new(bps).ok_or_else(|| "is out of range".to_owned())
}

fn parse_delay(text: &str) -> Result<u64, String> {
    let delay_ps = parse_time(text).map_err(|error| error.to_string())?;
    if delay_ps > MAX_DELAY_PS { Err("is too long".to_owned()) } else { Ok(delay_ps) }
}

/// The probability, 0 for an empty field.
fn parse_loss(text: &str) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    text.parse().ok().filter(|loss| (0.0..=0.999).contains(loss))
}

/// The start of a field, short and printable enough for a message.
fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() { shown + "…" } else { shown }
}
