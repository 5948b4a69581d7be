//! Random runs in which a link fails and comes back.

use flowsieve_core::Time;
use flowsieve_sim::topology::events::Event;
use flowsieve_sim::topology::{Fabric, Node};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common::{Case, case};

/// Which link, when it fails, how long it is down, and how much later routes follow; times in microseconds.
type Outage = (Index, u64, u64, u64);

/// Returns the links between switches, both directions of each, with which hosts have other paths left.
fn spare(fabric: &Fabric) -> Vec<Vec<u32>> {
    let tiers = ["leaf-spine", "fat-tree"].contains(&fabric.kind);
    let has_others = |link: &u32| match fabric.links[*link as usize].from {
        Node::Switch(switch) => fabric.routes[switch as usize].groups.iter().any(|group| group.len() > 1),
        Node::Host(_) => false,
    };
    let between = |link: &&u32| {
        let of = &fabric.links[**link as usize];
        matches!((of.from, of.to), (Node::Switch(from), Node::Switch(to)) if from < to)
    };
    let links: Vec<u32> = (0..fabric.links.len() as u32).filter(|_| tiers).collect();
    let back = |link: u32| {
        let of = fabric.links[link as usize];
        links.iter().copied().find(|other| {
            let other = fabric.links[*other as usize];
            (other.from, other.to) == (of.to, of.from)
        })
    };
    links
        .iter()
        .filter(between)
        .filter(|link| has_others(link))
        .filter_map(|&link| Some(vec![link, back(link)?]))
        .collect()
}

/// This case with an outage, if its fabric has a link to spare.
pub(crate) fn with_outage(mut case: Case, (which, down_us, for_us, later_us): Outage) -> Case {
    let spare = spare(&case.fabric);
    if let Some(links) = (!spare.is_empty()).then(|| which.get(&spare).clone()) {
        let (at, back) = (Time::from_us(down_us), Time::from_us(down_us + for_us));
        let event = |at, down| Event { at, links: links.clone(), down };
        case.fabric.events = vec![event(at, true), event(back, false)];
        case.fabric.reconvergence = Some(Time::from_us(later_us));
        case.call = format!("{} with {:?}, {later_us} us later", case.call, case.fabric.events);
    }
    case
}

/// Any run of `most_flows` flows at most, in which a link fails.
pub(crate) fn outage_case(most_flows: usize) -> impl Strategy<Value = Case> {
    (case(most_flows), (any::<Index>(), 0u64..400, 1u64..300, 0u64..200))
        .prop_map(|(case, outage)| with_outage(case, outage))
}
