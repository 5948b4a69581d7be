//! `[[topology.link]]`: single links that differ from their class, lose packets at random, or have failed.
//!
//! A change applies to both directions of a link, and to all links of a bundle. A changed `delay` is the propagation
//! delay; a host's delay is added to it.

use flowsieve_core::units::Rate;
use flowsieve_settings::declare;
use flowsieve_settings::units::{format_rate, format_time};
use flowsieve_settings::{Key, MAX_TIME_PS, Scope, Section, Setting, Settings, SettingsError};
use flowsieve_workload::host_number;
use std::collections::BTreeSet;

use super::Node;
use super::custom::FILE;
use super::delays::{AT_MOST, MAX_DELAY_PS};
use super::plan::{Edge, Plan};
use super::routes::Cut;

declare! {
    static BETWEEN: Setting<Vec<String>> = Setting::texts(
        Section::Link, "between", "the two ends by name, such as [\"leaf0\", \"spine1\"]; both directions",
    );
    static RATE: Setting<u64> = Setting::rate(Section::Link, "rate", "its rate instead of its class's");
    static DELAY: Setting<u64> = Setting::time(
        Section::Link, "delay", 0, MAX_TIME_PS, "its propagation delay instead of its class's",
    );
    static LOSS: Setting<f64> = Setting::number(
        Section::Link, "loss", 0.0, 0.999, "probability that it loses a packet",
    );
    static FAILED: Setting<bool> = Setting::flag(Section::Link, "failed", "true removes it from the fabric")
        .with_default(false);
}

/// Changes the plan as the settings ask, and returns a sentence for each link.
pub(super) fn apply(plan: &mut Plan, settings: &Settings) -> Result<Vec<String>, SettingsError> {
    let mut changed = BTreeSet::new();
    let mut sentences = Vec::new();
    for scope in settings.links() {
        let (indices, names) = find(plan, &scope)?;
        if !changed.insert(indices[0]) {
            let problem = format!("the link between {names} is changed twice");
            return Err(scope.error(&BETWEEN, problem).expected("one [[topology.link]] for each link"));
        }
        let mut what = String::new();
        for index in &indices {
            what = change(&mut plan.edges[*index], &scope)?;
        }
        let each = if indices.len() > 1 { format!(" (each of {} links)", indices.len()) } else { String::new() };
        sentences.push(format!("{names}{each}: {what}"));
    }
    Ok(sentences)
}

/// Builds the error for two hosts that cannot reach each other: it names a failed link if there is one, and the edge
/// list otherwise.
pub(super) fn explain(cut: Cut, plan: &Plan, settings: &Settings) -> SettingsError {
    let [from, to] = [cut.from, cut.to].map(|host| plan.name(Node::Host(host)));
    let no_way = format!("{from} has no path to {to}");
    let failed = settings.links().into_iter().find(|link| link.read(&FAILED) == Ok(true));
    match failed {
        Some(link) => link
            .error(&FAILED, format!("{no_way} without the failed links"))
            .expected("failed links that leave a path between all hosts"),
        None => settings.common().error(&FILE, no_way).expected("links that connect all hosts"),
    }
}

/// Finds the links of a table: their indices in the plan (several for a bundle), and the names of their ends.
fn find(plan: &Plan, scope: &Scope<'_>) -> Result<(Vec<usize>, String), SettingsError> {
    let names = scope.optional(&BETWEEN)?.unwrap_or_default();
    let [a, b] = names.as_slice() else {
        // The table itself has no position in the file, but its other keys have.
        let keys: [&Key; 5] = [&BETWEEN, &RATE, &DELAY, &LOSS, &FAILED];
        let given = keys.into_iter().find(|key| scope.is_given(key));
        let problem = "`between` does not name the two ends of a link";
        return Err(scope
            .error(given.unwrap_or(&BETWEEN), problem)
            .expected("two names, such as [\"leaf0\", \"spine1\"]"));
    };
    let (near, far) = (node(plan, scope, a)?, node(plan, scope, b)?);
    let indices: Vec<usize> = (0..plan.edges.len()).filter(|index| plan.edges[*index].joins(near, far)).collect();
    if indices.is_empty() {
        let problem = format!("there is no link between {a} and {b}");
        return Err(scope.error(&BETWEEN, problem).expected(links_of(plan, near)));
    }
    Ok((indices, format!("{a} - {b}")))
}

fn node(plan: &Plan, scope: &Scope<'_>, name: &str) -> Result<Node, SettingsError> {
    plan.find(name).ok_or_else(|| {
        let problem = format!("the fabric has no `{name}`");
        match host_number(name).filter(|_| plan.host_names.is_empty()) {
            Some(_) => scope.error(&BETWEEN, problem).expected(format!("host0 to host{}", plan.hosts - 1)),
            None => scope
                .error(&BETWEEN, problem)
                .expected("a host or switch as `flowsieve list topologies` names them")
                .names(name, plan.switches.iter().chain(&plan.host_names).cloned()),
        }
    })
}

/// Lists the nodes that a node is linked to, in words.
fn links_of(plan: &Plan, node: Node) -> String {
    const SHOWN: usize = 6;
    let mut peers: Vec<String> = plan
        .edges
        .iter()
        .filter_map(|edge| match (edge.lower == node, edge.upper == node) {
            (true, _) => Some(plan.name(edge.upper)),
            (_, true) => Some(plan.name(edge.lower)),
            _ => None,
        })
        .collect();
    // Name a bundle once.
    peers.dedup();
    let shown = peers.iter().take(SHOWN).cloned().collect::<Vec<String>>().join(", ");
    let more = if peers.len() > SHOWN { format!(" and {} more", peers.len() - SHOWN) } else { String::new() };
    format!("one of the links of {}: to {shown}{more}", plan.name(node))
}

/// Changes one link, and describes the change.
fn change(edge: &mut Edge, scope: &Scope<'_>) -> Result<String, SettingsError> {
    if scope.read(&FAILED)? {
        edge.failed = true;
        return Ok("failed".to_owned());
    }
    let mut said = Vec::new();
    if let Some(bps) = scope.optional(&RATE)? {
        said.push(format!("{} instead of {}", format_rate(bps), format_rate(edge.rate.bps())));
        edge.rate = Rate::new(bps).ok_or_else(|| scope.invalid(&RATE, "1Mbps to 800Gbps"))?;
    }
    if let Some(delay_ps) = scope.optional(&DELAY)? {
        if delay_ps > MAX_DELAY_PS {
            return Err(scope.invalid(&DELAY, AT_MOST));
        }
        said.push(format!("{} instead of {}", format_time(delay_ps), format_time(edge.delay_ps)));
        edge.delay_ps = delay_ps;
    }
    if let Some(loss) = scope.optional(&LOSS)? {
        said.push(format!("loses packets with probability {loss}"));
        edge.loss = loss;
    }
    // Report `failed = false` too: a sweep over `failed` needs it.
    if said.is_empty() && !scope.is_given(&FAILED) {
        let problem = "this [[topology.link]] changes nothing";
        return Err(scope.error(&BETWEEN, problem).expected("a `rate`, `delay` or `loss`, or `failed = true`"));
    }
    Ok(if said.is_empty() { "as its class".to_owned() } else { said.join(", ") })
}
