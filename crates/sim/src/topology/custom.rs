//! A fabric from an edge list: CSV rows `from,to,rate,delay` and optionally `loss` and `bundle`.
//!
//! A row is a link in both directions: the names of its ends, its rate (`10Gbps`), its propagation delay (`200ns`), its
//! loss probability (default 0), and the number of such links in parallel (default 1).
//!
//! `host0`, `host1`, … are hosts, each with one link; every other name is a switch. If a list has no such names, or any
//! with leading zeros, the hosts are the nodes with a single link, whatever their names: a switch with one link would
//! carry nothing. They are numbered in order of appearance, or by name if all of their names are numbers.
//!
//! The header is optional and may name the columns in any order. Further columns are reported and not read. `#` starts
//! a comment line, and blank lines are skipped. No field needs quotes, so each row is one line, and an error can give
//! the line number that an editor shows.

use flowsieve_core::units::Rate;
use flowsieve_settings::declare;
use flowsieve_settings::units::{parse_rate, parse_time};
use flowsieve_settings::{Origin, Section, Setting, Settings, SettingsError};
use flowsieve_workload::host_number;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::delays::MAX_DELAY_PS;
use super::plan::{Edge, Plan};
use super::{Fabric, MAX_HOSTS, MAX_LINKS, MAX_ROUTES, Node, delays};

/// The longest file that is read: a row of the largest fabric has 128 bytes.
const MAX_BYTES: u64 = 64 << 20;
/// The longest name of a switch.
const MAX_NAME: usize = 64;
const COLUMNS: &str = "`from,to,rate,delay`, then `loss` and `bundle` where they are needed";
/// The columns in their order without a header.
const NAMES: [&str; 6] = ["from", "to", "rate", "delay", "loss", "bundle"];
/// Number of required columns.
const REQUIRED: usize = 4;
/// The most parallel links of a row.
const MAX_BUNDLE: u32 = 1_024;

declare! {
    pub(super) static FILE: Setting<String> = Setting::file(
        Section::Topology, "file", "edge list of a custom fabric: rows of from,to,rate,delay and optionally loss and bundle",
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

/// Builds the fabric of a small edge list.
pub(super) fn example(settings: &Settings) -> Result<Fabric, SettingsError> {
    let mut plan = parse("example.csv", EXAMPLE)?;
    let host_delay = delays::fit(settings, &mut plan)?;
    Fabric::assemble("custom", &plan, host_delay, false).map_err(|cut| super::overrides::explain(cut, &plan, settings))
}

/// Reads the plan from the settings' `file`, whose path is relative to `folder`.
pub(super) fn plan(settings: &Settings, folder: &Path) -> Result<Plan, SettingsError> {
    let scope = settings.common();
    let file = scope.needed(&FILE, "an edge list: the path of a CSV file of from,to,rate,delay")?;
    let path = folder.join(file);
    let name = path.display().to_string();
    let refuse = |problem: String| scope.error(&FILE, format!("{name} {problem}")).expected("an edge list");
    let file =
        flowsieve_settings::files::builtin::open(&path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refuse(format!("is longer than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8 text".to_owned()))?;
    settings.note("topology.file.digest", blake3::hash(text.as_bytes()).to_hex());
    parse(&name, &text)
}

/// Parses the plan in `text`; errors call it `name`.
pub(super) fn parse(name: &str, text: &str) -> Result<Plan, SettingsError> {
    let file: Arc<str> = name.into();
    let mut list = List::default();
    let mut last = Row { file: &file, line: 1, start: 0, text: "" };
    let mut rows = rows(&file, text).peekable();
    if let Some(header) = rows.next_if(is_header) {
        list.layout = Layout::of(&header)?;
        last = header;
    }
    let ends = || rows.clone().flat_map(|row| [list.layout.get(&row, 0), list.layout.get(&row, 1)]);
    // `host07` is a custom name; if a list has one, `host10` is a custom name, too.
    list.numbered = ends().any(|name| host_number(name).is_some()) && !ends().any(has_leading_zeros);
    for row in rows {
        list.add(&row)?;
        last = row;
    }
    list.finish(&last)
}

/// Returns whether it is the name of a numbered host, except for leading zeros.
fn has_leading_zeros(name: &str) -> bool {
    let digits = name.strip_prefix("host").filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    digits.is_some_and(|digits| digits.len() > 1 && digits.starts_with('0'))
}

/// Returns whether a first row names columns: all required ones, or both `rate` and `delay`.
fn is_header(row: &Row<'_>) -> bool {
    let named = |name: &&str| row.fields().any(|field| field == *name);
    NAMES[..REQUIRED].iter().all(named) || ["rate", "delay"].iter().all(named)
}

/// The positions of the columns in a row.
struct Layout {
    /// By column; `None` if the file does not have it.
    at: [Option<usize>; NAMES.len()],
    /// The least and the greatest number of fields in a row.
    fields: (usize, usize),
    /// Names of columns that are not read.
    unread: Vec<String>,
}

impl Default for Layout {
    /// Returns the layout without a header.
    fn default() -> Layout {
        Layout { at: std::array::from_fn(Some), fields: (REQUIRED, NAMES.len()), unread: Vec::new() }
    }
}

impl Layout {
    fn of(header: &Row<'_>) -> Result<Layout, SettingsError> {
        let names: Vec<&str> = header.fields().collect();
        let mut layout = Layout { at: [None; NAMES.len()], fields: (names.len(), names.len()), unread: Vec::new() };
        for (place, name) in names.iter().enumerate() {
            match NAMES.iter().position(|known| known == name) {
                Some(column) if layout.at[column].is_some() => {
                    return Err(header
                        .error(place, format!("a second column `{name}`"))
                        .of_key(name)
                        .expected("each column once"));
                }
                Some(column) => layout.at[column] = Some(place),
                // The index column of a pandas table has no name.
                None => layout.unread.push(if name.is_empty() { "(without a name)".to_owned() } else { excerpt(name) }),
            }
        }
        match layout.at[..REQUIRED].iter().position(Option::is_none) {
            Some(column) => {
                let name = NAMES[column];
                Err(header.error(0, format!("no column `{name}`")).of_key(name).expected(COLUMNS))
            }
            None => {
                // A row may leave out the fields after the last required one.
                layout.fields.0 = layout.at[..REQUIRED].iter().flatten().max().map_or(REQUIRED, |last| last + 1);
                Ok(layout)
            }
        }
    }

    /// Returns a field by its column; empty if it is left out.
    fn get<'a>(&self, row: &Row<'a>, column: usize) -> &'a str {
        self.at[column].and_then(|place| row.fields().nth(place)).unwrap_or_default()
    }

    /// Returns the position of a column, for an error.
    fn place(&self, column: usize) -> usize {
        self.at[column].unwrap_or_default()
    }
}

/// Returns the lines that are neither blank nor comments.
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

/// A line that holds a link.
#[derive(Clone, Copy)]
struct Row<'a> {
    file: &'a Arc<str>,
    line: u32,
    /// Where its text starts in the file, in bytes.
    start: usize,
    /// The line without surrounding blanks.
    text: &'a str,
}

impl<'a> Row<'a> {
    fn fields(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.text.split(',').map(str::trim)
    }

    /// Builds an error about the n-th field.
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
        match NAMES.get(nth) {
            Some(name) => error.of_key(name),
            None => error,
        }
    }
}

/// The rows read so far.
#[derive(Default)]
struct List {
    layout: Layout,
    /// Whether hosts are the nodes named `host0`, `host1`, …
    numbered: bool,
    switches: Vec<String>,
    by_name: BTreeMap<String, u32>,
    edges: Vec<Edge>,
    /// The line of each link, to report the earlier one of a duplicate.
    lines: BTreeMap<(Node, Node), u32>,
    /// The line of each host's link.
    hosts: BTreeMap<u32, u32>,
}

impl List {
    fn add(&mut self, row: &Row<'_>) -> Result<(), SettingsError> {
        let (least, most) = self.layout.fields;
        let found = row.fields().count();
        if !(least..=most).contains(&found) {
            let columns = if found == 1 { "column" } else { "columns" };
            return Err(row.error(0, format!("this row has {found} {columns}")).expected(COLUMNS));
        }
        let [from, to, rate, delay, loss, bundle] = std::array::from_fn(|column| self.layout.get(row, column));
        let place: [usize; NAMES.len()] = std::array::from_fn(|column| self.layout.place(column));
        let ends = [self.node(row, place[0], from)?, self.node(row, place[1], to)?];
        let [a, b] = ends;
        if a == b {
            return Err(row.error(place[1], format!("a link from {from} to itself")).expected("two different ends"));
        }
        if let Some(line) = self.lines.insert((a.min(b), a.max(b)), row.line) {
            let problem = format!("the link between {from} and {to} is already in line {line}");
            let expected = "one row for each link, for both directions; n parallel links are one row with `bundle` = n";
            return Err(row.error(place[0], problem).expected(expected));
        }
        for (column, end) in ends.into_iter().enumerate() {
            if let Node::Host(host) = end
                && let Some(line) = self.hosts.insert(host, row.line)
            {
                let problem = format!("host{host} already has a link, in line {line}");
                return Err(row.error(place[column], problem).expected(ONE_LINK));
            }
        }
        let wrong = |column: usize, what: &str, given, problem: &str, expected: &str| {
            row.error(place[column], format!("the {what} `{}` {problem}", excerpt(given))).expected(expected)
        };
        let rate = parse_bps(rate)
            .map_err(|problem| wrong(2, "rate", rate, &problem, "a rate such as 10Gbps, 1Mbps to 800Gbps"))?;
        let delay_ps = parse_delay(delay)
            .map_err(|problem| wrong(3, "delay", delay, &problem, "a time such as 200ns, at most 1s"))?;
        let loss =
            parse_loss(loss).ok_or_else(|| wrong(4, "loss", loss, "is not a probability", "a number, 0 to 0.999"))?;
        let links = parse_bundle(bundle)
            .ok_or_else(|| wrong(5, "bundle", bundle, "is not a number of links", "a whole number, 1 to 1024"))?;
        if links > 1 && ends.iter().any(|end| matches!(end, Node::Host(_))) {
            return Err(wrong(5, "bundle", bundle, "is of a host", ONE_LINK));
        }
        // A host is the lower end, in either column.
        let (lower, upper) = if matches!(b, Node::Host(_)) { (b, a) } else { (a, b) };
        let edge = Edge { delay_ps, loss, ..Edge::new(lower, upper, rate) };
        self.edges.extend(std::iter::repeat_n(edge, links as usize));
        if 2 * self.edges.len() as u64 > MAX_LINKS {
            return Err(row.error(0, "the fabric has too many links").expected(format!("at most {}", MAX_LINKS / 2)));
        }
        Ok(())
    }

    fn node(&mut self, row: &Row<'_>, field: usize, name: &str) -> Result<Node, SettingsError> {
        if let Some(host) = host_number(name).filter(|_| self.numbered) {
            if u64::from(host) >= MAX_HOSTS {
                let most = format!("hosts up to host{}", MAX_HOSTS - 1);
                return Err(row.error(field, format!("{name} is beyond the largest number of hosts")).expected(most));
            }
            return Ok(Node::Host(host));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let reserved = self.numbered && name.starts_with("host");
        if reserved || name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            let problem = format!("`{}` is not the name of a host or a switch", excerpt(name));
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

    /// Builds the plan, once all rows have been read; `last` is the last of them.
    fn finish(mut self, last: &Row<'_>) -> Result<Plan, SettingsError> {
        let host_names = if self.numbered { Vec::new() } else { self.name_hosts(last)? };
        let hosts = if self.numbered { self.hosts.len() } else { host_names.len() } as u64;
        if hosts < 2 {
            let has = if hosts == 0 { "no host" } else { "a single host" };
            let expected = "at least host0 and host1, or two nodes with a single link each";
            return Err(last.error(0, format!("this edge list has {has}")).expected(expected));
        }
        // The keys ascend, so the first one out of place follows a gap.
        if let Some(((host, line), missing)) = self.hosts.iter().zip(0u32..).find(|((host, _), place)| *host != place) {
            let problem = format!("there is a host{host} (line {line}), but no host{missing}");
            return Err(last.error(0, problem).expected("hosts numbered from 0 without a gap"));
        }
        let switches = self.switches.len() as u64;
        if hosts * switches > MAX_ROUTES {
            let problem = format!("this edge list has {hosts} hosts and {switches} switches");
            let most = format!("at most {} switches with this many hosts", MAX_ROUTES / hosts);
            return Err(last.error(0, problem).expected(most));
        }
        let unread = self.layout.unread;
        Ok(Plan { hosts: hosts as u32, host_names, switches: self.switches, edges: self.edges, hops: None, unread })
    }

    /// Turns the nodes with a single link into hosts, and returns their names.
    fn name_hosts(&mut self, last: &Row<'_>) -> Result<Vec<String>, SettingsError> {
        let mut links = vec![0u32; self.switches.len()];
        let of_node = |node: Node| match node {
            Node::Host(host) => host as usize,
            Node::Switch(switch) => switch as usize,
        };
        for edge in &self.edges {
            [edge.lower, edge.upper].into_iter().for_each(|node| links[of_node(node)] += 1);
        }
        let order = numeric_order(&self.switches, &links);
        let (mut hosts, mut switches) = (Vec::new(), Vec::new());
        let mut nodes = vec![Node::Host(0); links.len()];
        for place in order {
            let (names, node): (&mut Vec<String>, fn(u32) -> Node) =
                if links[place] == 1 { (&mut hosts, Node::Host) } else { (&mut switches, Node::Switch) };
            nodes[place] = node(names.len() as u32);
            names.push(std::mem::take(&mut self.switches[place]));
        }
        if hosts.len() as u64 > MAX_HOSTS {
            let problem = format!("this edge list has {} hosts: nodes with a single link", hosts.len());
            return Err(last.error(0, problem).expected(format!("at most {MAX_HOSTS}")));
        }
        for edge in &mut self.edges {
            let [lower, upper] = [edge.lower, edge.upper].map(|node| nodes[of_node(node)]);
            (edge.lower, edge.upper) = if matches!(upper, Node::Host(_)) { (upper, lower) } else { (lower, upper) };
        }
        self.switches = switches;
        Ok(hosts)
    }
}

/// Returns the order in which nodes are numbered: by appearance, but hosts by name if all of their names are numbers.
fn numeric_order(names: &[String], links: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    let numbers: Option<Vec<u64>> =
        names.iter().zip(links).map(|(name, links)| if *links == 1 { name.parse().ok() } else { Some(0) }).collect();
    if let Some(numbers) = numbers {
        // Switches keep their order among themselves.
        order.sort_by_key(|place| numbers[*place]);
    }
    order
}

fn parse_bps(text: &str) -> Result<Rate, String> {
    let bps = parse_rate(text).map_err(|error| error.to_string())?;
    Rate::new(bps).ok_or_else(|| "is out of range".to_owned())
}

fn parse_delay(text: &str) -> Result<u64, String> {
    let delay_ps = parse_time(text).map_err(|error| error.to_string())?;
    if delay_ps > MAX_DELAY_PS { Err("is too long".to_owned()) } else { Ok(delay_ps) }
}

/// Parses the probability; 0 for an empty field.
fn parse_loss(text: &str) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    text.parse().ok().filter(|loss| (0.0..=0.999).contains(loss))
}

/// Parses the number of parallel links; 1 for an empty field.
fn parse_bundle(text: &str) -> Option<u32> {
    if text.is_empty() {
        return Some(1);
    }
    // pandas writes `2.0` in a column with a gap.
    text.strip_suffix(".0").unwrap_or(text).parse().ok().filter(|links| (1..=MAX_BUNDLE).contains(links))
}

/// How to correct a host with several links.
const ONE_LINK: &str = "one link for each host: keep one of them, or give each port of a server a host of its own, with flows of \
                        its own; links between switches may be a bundle";

/// Returns the start of a field, short and printable enough for a message.
fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() { shown + "…" } else { shown }
}
