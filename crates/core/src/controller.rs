//! Controllers: a controller decides apart from the packets, and hosts and ports follow. The built-in ones are in
//! [`crate::controllers`].
//!
//! A controller hears what happens to messages at hosts, one stated delay later ([`Hears`]). At instants that it chooses
//! ([`Controller::next`]) it may look at ports and taggers ([`Gauges`]) and decide; what it decides is a [`Table`], which
//! arrives one stated delay later at those that it is for ([`Audience`]), with a version. NOS2's thresholds, AWAFS's at
//! hosts and an order of coflows are of this kind.
//!
//! # The contract
//! - *At one instant* tables arrive first, then controllers hear, then they decide; all of that comes before departures,
//!   arrivals and all other events of the instant. Several controllers take their turns in the order of the scheme.
//! - *Tables are whole:* a later version replaces an earlier one and needs nothing of it. Tables are immutable.
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
    /// The host: of a message's sender or, for a delivery, of its receiver.
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
    /// Before it decides: all events that are at least this old. It hears events of the same instant the next time.
    WhenItDecides(Time),
    /// Each event as soon as it is this old, so that the controller can decide at that instant. Above zero.
    AsItHappens(Time),
}

/// The recipients of a table.
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
    /// What the values are, with their unit. Parts that follow several tables distinguish them by this name.
    pub name: &'static str,
    /// (key, value), keys ascending: for thresholds the queue below, for priorities the coflow.
    pub values: Vec<(u32, u64)>,
}

impl Table {
    /// Builds a table of thresholds, from the first queue's on.
    pub fn of_thresholds(name: &'static str, thresholds: &[u64]) -> Table {
        Table { name, values: (0..).zip(thresholds.iter().copied()).collect() }
    }

    /// Returns the value of a key.
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

/// The values in force of a controller's tables of one name.
#[derive(Clone, Debug, Default)]
pub struct Latest {
    version: u64,
    /// The values published last, or the initial ones.
    pub values: Vec<u64>,
}

impl Latest {
    /// Starts with initial values, before any table was published.
    pub fn new(values: Vec<u64>) -> Latest {
        Latest { version: 0, values }
    }

    /// Takes a table, unless it already has a later one.
    pub fn take(&mut self, published: &Published) {
        if published.version > self.version {
            self.version = published.version;
            self.values = published.table.values.iter().map(|&(_, value)| value).collect();
        }
    }
}

/// What a controller may look at when it decides. Every event before the instant is done, and none from it on. Asking for a
/// node or port that does not exist is a mistake of the controller, and panics.
pub trait Gauges {
    /// Reads what the scheduler of a node's port reports.
    fn port(&mut self, node: Node, port: u16, see: &mut dyn FnMut(Reading));

    /// Returns the bytes queued at a node's port.
    fn backlog_bytes(&mut self, node: Node, port: u16) -> u64;

    /// Reads the bytes that a host has sent of each message of a class under way, if its tagger counts them.
    fn sent(&mut self, host: u32, class: u8, see: &mut dyn FnMut(u32, u64));

    /// Reads what the tagger of a host and class of flow reports.
    fn tagger(&mut self, host: u32, class: u8, see: &mut dyn FnMut(Reading));
}

/// Takes what a controller has decided.
pub type Publish<'a> = &'a mut dyn FnMut(Audience, Table);

/// A controller. See the module for when each method is called.
pub trait Controller: Send {
    /// Hears of an event.
    fn on_event(&mut self, now: Time, event: &HostEvent);

    /// Returns when the controller wants to decide next; events that it has just heard may change that. [`Time::NEVER`]:
    /// not before it hears more.
    fn next(&self) -> Time;

    /// Decides at an instant that it chose. From then on it chooses later ones.
    fn decide(&mut self, now: Time, gauges: &mut dyn Gauges, publish: Publish<'_>);

    /// Reports what it decided last; seldom called.
    fn observe(&self, _see: &mut dyn FnMut(Reading)) {}
}

/// The settings of controllers of one kind.
pub trait ControllerRules {
    /// The controller.
    type Controller: Controller + 'static;

    /// Whether there is one at each host, which hears only of its host, or one for the whole fabric.
    const AT_HOSTS: bool;

    /// Builds a controller that has heard nothing: of this host, or of the whole fabric, for which `host` is 0.
    fn build(&self, fabric: &FabricSite, host: u32) -> Self::Controller;
}

/// The site of a controller of the whole fabric.
#[derive(Clone, Debug, Default)]
pub struct FabricSite {
    /// By number.
    pub hosts: Arc<[Site]>,
    /// By number.
    pub switches: Arc<[Site]>,
    /// The flows of the run's coflows, if they are known before they begin.
    pub announcements: Arc<Announcements>,
    /// For the controller's own random streams.
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
