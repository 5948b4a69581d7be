//! `[[event]]`: links that fail during a run, and come back.
//!
//! An event is of a cable: both directions at once. The fabric keeps all of its links, and what is computed from it
//! before the run (base round trips, ideal FCTs, loads) is that of the whole fabric. Each event changes the routes
//! `reconvergence` later, everywhere at once, to the shortest paths over the links that were up at the event. A switch
//! that has no path left to a rack keeps its last one, so that packets which come by are lost at the dead port.
//!
//! Not modelled: links that fail in one direction, switches and hosts that fail, and switches that learn of a failure at
//! different times.

use flowsieve_core::units::Time;
use flowsieve_settings::declare;
use flowsieve_settings::units::format_time;
use flowsieve_settings::{Key, MAX_TIME_PS, Scaled, Scope, Section, Setting, Settings, SettingsError};
use std::collections::BTreeSet;

use super::routes::{Ways, neighbours, racks};
use super::{Fabric, Node};

declare! {
    static AT: Setting<u64> = Setting::time(
        Section::Event, "at", 0, MAX_TIME_PS, "when it happens, from the beginning of the run",
    )
    .scaled(Scaled::Course);
    static LINK: Setting<String> = Setting::text(
        Section::Event, "link",
        "the link by its two ends, such as \"leaf0-spine1\"; both directions, and all links of a bundle",
    );
    static DOWN: Setting<bool> = Setting::flag(
        Section::Event, "down", "true: the link fails; false: it is back",
    );
    static RECONVERGENCE: Setting<u64> = Setting::time(
        Section::Topology, "reconvergence", 0, MAX_TIME_PS,
        "time from an event of a link until switches choose among the paths that are left, or again among all",
    )
    .needs("an [[event]], and a `load_balancing` whose paths do not follow from probes");
}

/// The most `[[event]]`s of an experiment.
const MOST_EVENTS: usize = 1_000;

/// A change of links during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When it happens. Whatever else happens at that instant comes later.
    pub at: Time,
    /// Both directions of each link, rising.
    pub links: Vec<u32>,
    /// Whether they fail or come back.
    pub down: bool,
}

/// New routes of switches, at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reroute {
    /// When they hold from.
    pub at: Time,
    /// The changes: the switch, the leaf of the destinations, and the links to choose from, rising.
    pub ways: Vec<(u32, u32, Vec<u32>)>,
}

/// Reads the events of links into the fabric, in the order of their times.
pub(super) fn read(fabric: &mut Fabric, settings: &Settings) -> Result<(), SettingsError> {
    let scopes = settings.events();
    if let Some(first) = scopes.first().filter(|_| scopes.len() > MOST_EVENTS) {
        let problem = format!("{} events", scopes.len());
        return Err(first.error(&LINK, problem).expected(format!("at most {MOST_EVENTS}")));
    }
    let mut events = Vec::with_capacity(scopes.len());
    for scope in &scopes {
        let at = scope.optional(&AT)?.map(Time);
        let at = at.ok_or_else(|| incomplete(scope, &AT, "when it happens, such as at = \"5ms\""))?;
        let down = scope.optional(&DOWN)?;
        let down = down.ok_or_else(|| incomplete(scope, &DOWN, "down = true, or down = false when it is back"))?;
        let link = scope.optional(&LINK)?;
        let link =
            link.ok_or_else(|| incomplete(scope, &LINK, "the link's two ends, such as link = \"leaf0-spine1\""))?;
        events.push((Event { at, links: find(fabric, scope, &link)?, down }, scope));
    }
    events.sort_by_key(|(event, _)| event.at);
    let mut is_down = vec![false; fabric.links.len()];
    for instant in events.chunk_by(|a, b| a.0.at == b.0.at) {
        let mut changed = BTreeSet::new();
        for (event, scope) in instant {
            let twice = event.links.iter().any(|link| !changed.insert(*link));
            // The links of a bundle are up and down together.
            if twice || is_down[event.links[0] as usize] == event.down {
                let state = if event.down { "down" } else { "up" };
                let problem = match twice {
                    true => format!("the link has two events at {}", format_time(event.at.0)),
                    false => format!("the link is {state} already at {}", format_time(event.at.0)),
                };
                return Err(scope
                    .error(&DOWN, problem)
                    .expected("events of a link by turns: down = true, down = false"));
            }
            event.links.iter().for_each(|link| is_down[*link as usize] = event.down);
        }
        let failing = instant.iter().find(|(event, _)| event.down);
        if let (Some((event, scope)), Some((from, to))) = (failing, fabric.cut_by(&is_down)) {
            let [from, to] = [from, to].map(|host| fabric.name(Node::Host(host)));
            let problem = format!("from {} on, {from} has no path to {to}", format_time(event.at.0));
            return Err(scope.error(&LINK, problem).expected("failures that leave a path between all hosts"));
        }
    }
    fabric.events = events.into_iter().map(|(event, _)| event).collect();
    Ok(())
}

/// Builds the error of an event that lacks a key; the table itself has no place in the file.
fn incomplete(scope: &Scope<'_>, missing: &Key, expected: &str) -> SettingsError {
    let keys: [&Key; 3] = [&AT, &LINK, &DOWN];
    let given = keys.into_iter().find(|key| scope.is_given(key)).unwrap_or(missing);
    scope.error(given, format!("this [[event]] has no `{}`", missing.name)).expected(expected)
}

/// Finds the links of a name: both directions, of every link of a bundle. Names of nodes may have a `-` themselves.
fn find(fabric: &Fabric, scope: &Scope<'_>, text: &str) -> Result<Vec<u32>, SettingsError> {
    let node = |name: &str| {
        let switches = (0..).zip(&fabric.switches).find(|(_, switch)| switch.name == name);
        let switch = switches.map(|(number, _)| Node::Switch(number));
        switch.or_else(|| (0..fabric.hosts).map(Node::Host).find(|host| fabric.name(*host) == name))
    };
    let splits =
        text.match_indices('-').filter_map(|(at, _)| Some((node(text[..at].trim())?, node(text[at + 1..].trim())?)));
    let joins = |(a, b): &(Node, Node), link: &super::Link| {
        (link.from, link.to) == (*a, *b) || (link.from, link.to) == (*b, *a)
    };
    let (linked, apart): (Vec<_>, Vec<_>) = splits.partition(|ends| fabric.links.iter().any(|link| joins(ends, link)));
    let wrong = |problem: String| {
        let names = fabric.links.iter().map(|link| format!("{}-{}", fabric.name(link.from), fabric.name(link.to)));
        scope.error(&LINK, problem).expected("two linked ends by name, such as \"leaf0-spine1\"").names(text, names)
    };
    let names = |(a, b): &(Node, Node)| format!("{} and {}", fabric.name(*a), fabric.name(*b));
    match (&linked[..], &apart[..]) {
        ([ends], _) => {
            Ok((0..).zip(&fabric.links).filter(|(_, link)| joins(ends, link)).map(|(number, _)| number).collect())
        }
        ([], []) => Err(wrong(format!("`link` = {text:?} does not name two ends of this fabric"))),
        ([], [ends, ..]) => Err(wrong(format!("there is no link between {}", names(ends)))),
        (several, _) => {
            let fits: Vec<String> = several.iter().map(names).collect();
            let problem = format!("`link` = {text:?} fits several links: {}", fits.join("; "));
            Err(scope.error(&LINK, problem).expected("a name that fits one: give these switches other names"))
        }
    }
}

/// Reads the time after which routes follow events.
///
/// # Errors
/// Fails if it is not given.
pub fn reconvergence(scope: &Scope<'_>) -> Result<Time, SettingsError> {
    let given = scope.common().optional(&RECONVERGENCE)?;
    given.map(Time).ok_or_else(|| {
        scope.common().invalid(&RECONVERGENCE, "the time until switches avoid a link that failed, such as \"1ms\"")
    })
}

/// Builds the error that refuses the first event, if there is one.
pub fn refuse(settings: &Settings, problem: &str, expected: &str) -> Result<(), SettingsError> {
    match settings.events().first() {
        Some(first) => Err(first.error(&LINK, problem).expected(expected)),
        None => Ok(()),
    }
}

impl Fabric {
    /// Returns two hosts that cannot reach each other without these links, if there are such.
    fn cut_by(&self, is_down: &[bool]) -> Option<(u32, u32)> {
        if let Some(cut) = (0..self.hosts).find(|host| is_down[self.host_uplink[*host as usize] as usize]) {
            return Some((cut, u32::from(cut == 0)));
        }
        let racks = racks(&self.links, self.ports.len(), &self.host_uplink).ok()?;
        let with_hosts = || racks.iter().enumerate().filter(|(_, rack)| !rack.hosts.is_empty());
        let (first, from) = with_hosts().next()?;
        // Both directions of a link fail, so that whoever reaches the first switch is reached from there.
        let ways = Ways::to(first as u32, &neighbours(&self.links, &self.ports, |link| !is_down[link as usize]));
        let (_, to) = with_hosts().find(|(switch, _)| *switch != first && ways.next[*switch].is_empty())?;
        Some((from.hosts[0], to.hosts[0]))
    }

    /// Returns the new routes that follow from the events of links, in the order of their times; none if switches do not
    /// follow them.
    pub fn reroutes(&self) -> Vec<Reroute> {
        let Some(reconvergence) = self.reconvergence else { return Vec::new() };
        let Ok(racks) = racks(&self.links, self.ports.len(), &self.host_uplink) else { return Vec::new() };
        let mut is_down = vec![false; self.links.len()];
        let mut before = neighbours(&self.links, &self.ports, |_| true);
        let mut reroutes = Vec::new();
        for instant in self.events.chunk_by(|a, b| a.at == b.at) {
            for event in instant {
                event.links.iter().for_each(|link| is_down[*link as usize] = event.down);
            }
            let after = neighbours(&self.links, &self.ports, |link| !is_down[link as usize]);
            let mut ways = Vec::new();
            for (leaf, _) in (0..).zip(&racks).filter(|(_, rack)| !rack.hosts.is_empty()) {
                let [old, new] = [&before, &after].map(|neighbours| Ways::to(leaf, neighbours).next);
                let changed = (0..).zip(old.into_iter().zip(new)).filter(|(_, (old, new))| old != new);
                ways.extend(
                    changed.filter(|(_, (_, new))| !new.is_empty()).map(|(switch, (_, new))| (switch, leaf, new)),
                );
            }
            before = after;
            reroutes.push(Reroute { at: Time(instant[0].at.0.saturating_add(reconvergence.0)), ways });
        }
        reroutes
    }
}
