//! What a controller is: it decides apart from the packets, for hosts and ports to follow. The built-in ones are in
//! [`crate::controllers`].
//!
//! A controller hears what happens to messages at hosts, one stated delay later ([`Hears`]). At instants that it chooses
//! ([`Controller::next`]) it may look at ports and taggers ([`Gauges`]) and decide; what it decides is a [`Table`], which
//! arrives one stated delay later at those that it is for ([`Audience`]), with a version. NOS2's thresholds, AWAFS's at
//! hosts and an order of coflows are of this kind.
//!
//! # The contract
//! - *At one instant* tables arrive first, then controllers hear, then they decide; all of that comes before departures,
//!   arrivals and whatever else of the instant. Several controllers take their turns in the order of the scheme.
//! - *Tables are whole:* a later version takes the place of an earlier one and needs nothing of it. Nobody changes a table.
//! - *Nothing is lost* between hosts and controllers, and it takes no room on any link.

use std::sync::Arc;

use crate::coflow::Announcements;
use crate::message::FlowEvent;
use crate::readings::Reading;
use crate::site::{Node, Place, Site};
use crate::units::Time;

/// Something that happened at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostEvent {
    /// When.
    pub at: Time,
    /// The host: of a message's sender or, of a delivery, of its receiver.
    pub host: u32,
    /// The class of flow.
    pub class: u8,
    /// What.
    pub event: FlowEvent,
}

/// When a controller hears what happens at its hosts: events of one instant in the order of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hears {
    /// Never.
    Nothing,
    /// Before it decides, everything that is at least so old. What happens at the instant itself it hears the next time.
    WhenItDecides(Time),
    /// Each event as soon as it is so old, so that it can decide at that instant. Above zero.
    AsItHappens(Time),
}

/// Whom a table is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The tagger of a class of flow at one host.
    Host {
        /// The host.
        host: u32,
        /// The class.
        class: u8,
    },
    /// The taggers of a class of flow at all hosts.
    Hosts {
        /// The class.
        class: u8,
    },
    /// The schedulers of all ports of a place.
    Ports(Place),
}

/// What a controller has decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What the values are, with their unit. Whoever follows several tables tells them apart by it.
    pub name: &'static str,
    /// (key, value), keys ascending: for thresholds the queue below, for priorities the coflow.
    pub values: Vec<(u32, u64)>,
}

impl Table {
    /// Thresholds, from the first queue's on.
    pub fn of_thresholds(name: &'static str, thresholds: &[u64]) -> Table {
        Table { name, values: (0..).zip(thresholds.iter().copied()).collect() }
    }

    /// The value of a key.
    pub fn get(&self, key: u32) -> Option<u64> {
        let index = self.values.binary_search_by_key(&key, |&(key, _)| key).ok()?;
        Some(self.values[index].1)
    }
}

/// A table on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Counts what the controller has published, from 1.
    pub version: u64,
    /// What.
    pub table: Table,
}

/// What of a controller's tables of one name is in force.
#[derive(Clone, Debug, Default)]
pub struct Latest {
    version: u64,
    /// What was published last, or before that what there was at the start.
    pub values: Vec<u64>,
}

impl Latest {
    /// At the start, before anything was published.
    pub fn new(values: Vec<u64>) -> Latest {
        Latest { version: 0, values }
    }

    /// Takes a table, unless it has a later one.
    pub fn take(&mut self, published: &Published) {
        if published.version > self.version {
            self.version = published.version;
            self.values = published.table.values.iter().map(|&(_, value)| value).collect();
        }
    }
}

/// What a controller may look at when it decides: every event before the instant is done, and none from it on. To ask for a
/// node or port that is not there is a mistake of the controller's, and panics.
pub trait Gauges {
    /// What the scheduler of a node's port says of itself.
    fn port(&mut self, node: Node, port: u16, see: &mut dyn FnMut(Reading));

    /// Bytes queued at a node's port.
    fn backlog_bytes(&mut self, node: Node, port: u16) -> u64;

    /// Bytes that a host has sent of each message of a class that is under way, where its tagger counts them.
    fn sent(&mut self, host: u32, class: u8, see: &mut dyn FnMut(u32, u64));

    /// What the tagger of a host and class of flow says of itself.
    fn tagger(&mut self, host: u32, class: u8, see: &mut dyn FnMut(Reading));
}

/// Takes what a controller has decided.
pub type Publish<'a> = &'a mut dyn FnMut(Audience, Table);

/// A controller. The module says when it is called.
pub trait Controller: Send {
    /// It hears of something.
    fn on_event(&mut self, now: Time, event: &HostEvent);

    /// When it wants to decide next; what it has just heard may have changed that. [`Time::NEVER`]: not before it hears
    /// more.
    fn next(&self) -> Time;

    /// An instant that it chose has come. From here on it chooses later ones.
    fn decide(&mut self, now: Time, gauges: &mut dyn Gauges, publish: Publish<'_>);

    /// Says what it has decided last; seldom asked.
    fn observe(&self, _see: &mut dyn FnMut(Reading)) {}
}

/// What controllers of one kind are set to.
pub trait ControllerRules {
    /// The controller.
    type Controller: Controller + 'static;

    /// Whether there is one at each host, which hears of its host alone, or one for the whole fabric.
    const AT_HOSTS: bool;

    /// A controller that has heard nothing: of this host, or of the whole fabric, for which `host` is 0.
    fn build(&self, fabric: &FabricSite, host: u32) -> Self::Controller;
}

/// Where a controller of the whole fabric is: everywhere.
#[derive(Clone, Debug, Default)]
pub struct FabricSite {
    /// By number.
    pub hosts: Arc<[Site]>,
    /// By number.
    pub switches: Arc<[Site]>,
    /// The flows of the run's coflows, where anybody knows them before they begin.
    pub announcements: Arc<Announcements>,
    /// For random streams of the controller's own.
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table__values_by_key() {
        let table = Table { name: "priority", values: vec![(3, 0), (9, 4)] };
        assert_eq!([3, 4, 9].map(|coflow| table.get(coflow)), [Some(0), None, Some(4)]);
        assert_eq!(Table::of_thresholds("t", &[70, 80]).values, [(0, 70), (1, 80)]);
    }

    #[test]
    fn take__later_versions_alone() {
        let published = |version, threshold| Published { version, table: Table::of_thresholds("t", &[threshold]) };
        let mut latest = Latest::new(vec![5]);
        latest.take(&published(2, 70));
        latest.take(&published(1, 60));
        assert_eq!(latest.values, [70]);
    }
}
