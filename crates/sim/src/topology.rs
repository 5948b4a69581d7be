//! Fabrics: hosts, switches, the links between them, and all shortest paths.
//!
//! A fabric is made in four steps, one module each. A shape or an edge list gives a plan of two-way links
//! ([`shapes`](self::kinds), `custom`). The delays are fitted to the round trip (`delays`). `[[topology.link]]` changes
//! or fails single links (`overrides`). The plan becomes directed links with routes (`assemble`, `routes`).
//!
//! The numbering is part of the model, because events of one instant are handled in the order of links:
//! - links: first every host's link into the fabric, by host; then every switch's link to a host, by host; then the
//!   links between switches in the order of the shape or the file, each with the direction away from the hosts (in a
//!   file: as in the row) before its reverse. A failed link has no number.
//! - switches: leaves (or edge switches), spines (or aggregation switches), cores; pod by pod; those of an edge list in
//!   order of appearance. A switch's partition has its number and contains its hosts. Without switches, each host is a
//!   partition.
//!
//! Units: rates in bit/s, delays in ps. Not modelled: links with different rates in their two directions, hosts with
//! several links, hosts that forward, and routes that are not shortest in hops.

mod assemble;
mod custom;
mod delays;
mod draw;
pub mod events;
mod overrides;
mod plan;
mod reach;
mod routes;
mod shapes;
mod sites;
#[cfg(test)]
mod tests;

pub use flowsieve_core::Node;
pub use reach::Reach;
pub use routes::{ClassShare, Stage, SwitchRoutes};
pub use shapes::{FabricKind, host_rate, kinds, link_rate};
pub use sites::Sites;

use flowsieve_core::scheduler::Line;
use flowsieve_core::units::{Rate, Time};
use flowsieve_settings::declare;
use flowsieve_settings::{Key, Place, Section, Setting, Settings, SettingsError};
use std::path::Path;

declare! {
    /// Whether switches forward a packet before they have received all of it.
    static FORWARDING: Setting<bool> = Setting::choice(
        Section::Topology,
        "forwarding",
        &[("store-and-forward", false), ("cut-through", true)],
        "whether a switch forwards a packet after it has arrived, or while it arrives",
    )
    .with_default(false);
}

/// All settings of fabrics, by the part that declares them.
pub const FABRIC_SETTINGS: &[&[&Key]] =
    &[shapes::SETTINGS, custom::SETTINGS, delays::SETTINGS, SETTINGS, overrides::SETTINGS, events::SETTINGS];

/// The most hosts of a fabric.
pub const MAX_HOSTS: u64 = 65_535;
/// The most directed links of a fabric.
pub const MAX_LINKS: u64 = 1 << 20;
/// The largest product of hosts and switches: each pair takes two bytes of routes.
pub const MAX_ROUTES: u64 = 1 << 27;

/// A switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Its name in drawings and in `[[topology.link]]`.
    pub name: String,
    /// Its tier: a leaf has hosts, a spine is linked to a leaf, all others are cores.
    pub place: Place,
    /// The partition that simulates it.
    pub partition: u32,
}

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// The sending end.
    pub from: Node,
    /// The receiving end.
    pub to: Node,
    /// Its rate.
    pub rate: Rate,
    /// Propagation delay, plus the host's delay for each end that is a host.
    pub delay: Time,
    /// Probability that a packet is lost on it.
    pub loss: f64,
    /// Index into [`Fabric::classes`].
    pub class: u16,
    /// Its number among the links between its ends, from 1; 0 if it is the only one.
    pub nth: u16,
    /// Whether its far end may forward a packet before it has all of it. This holds if forwarding is cut-through, the
    /// far end is a switch, and no link out of that switch is faster, so that no packet is cut short on its way out. A
    /// switch with one faster outgoing link stores and forwards all packets from this link.
    pub cut_through: bool,
}

impl Link {
    /// Returns its line, on which a packet takes `overhead` bytes in addition to its length.
    pub fn line(&self, overhead: u16) -> Line {
        Line { byte_time: self.rate.byte_time(), overhead: overhead.into() }
    }

    /// Returns the number below which a random one of 32 bits means that a packet is lost; 0: no packet is.
    pub fn lost_below(&self) -> u32 {
        (self.loss * f64::from(u32::MAX)).round() as u32
    }
}

/// A fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct Fabric {
    /// The kind's name.
    pub kind: &'static str,
    /// Number of hosts.
    pub hosts: u32,
    /// Names of the hosts, if an edge list names them; empty if they are `host0`, `host1`, …
    pub host_names: Vec<String>,
    /// The partition that simulates each host: that of its switch.
    pub host_partition: Vec<u32>,
    /// Its switches.
    pub switches: Vec<Switch>,
    /// Its links, each direction separately; a failed link is absent.
    pub links: Vec<Link>,
    /// The link that leaves each host.
    pub host_uplink: Vec<u32>,
    /// The links that leave each switch, ascending.
    pub ports: Vec<Vec<u32>>,
    /// Names of the classes of links, such as `leaf-up`: the sending tier and the direction, to or from the hosts.
    pub classes: Vec<&'static str>,
    /// Number of partitions.
    pub partitions: u32,
    /// The next hops of each switch.
    pub routes: Vec<SwitchRoutes>,
    /// The delay that a host adds at its end of a link.
    pub host_delay: Time,
    /// Whether switches cut through where they can.
    pub cut_through: bool,
    /// A sentence for each change by `[[topology.link]]`.
    pub changes: Vec<String>,
    /// Columns of its edge list that are not read.
    pub unread: Vec<String>,
    /// What happens to its links during a run, in the order of the times.
    pub events: Vec<events::Event>,
    /// How long after an event of a link routes follow; `None`: switches find their paths by themselves, or nothing
    /// happens.
    pub reconvergence: Option<Time>,
    base_rtt: Time,
    shares: Vec<ClassShare>,
    reaches: Vec<Reach>,
}

impl Fabric {
    /// Builds the fabric that settings describe; the path of an edge list is relative to the working folder.
    pub fn from_settings(settings: &Settings) -> Result<Fabric, SettingsError> {
        Fabric::from_settings_in(settings, Path::new(""))
    }

    /// Builds the fabric that settings describe; the path of an edge list is relative to `folder`.
    pub fn from_settings_in(settings: &Settings, folder: &Path) -> Result<Fabric, SettingsError> {
        let scope = settings.common();
        let kind = scope.read(&shapes::KIND)?;
        let cut_through = scope.read(&FORWARDING)?;
        let mut plan = kind.plan(settings, folder)?;
        let host_delay = delays::fit(settings, &mut plan)?;
        let changes = overrides::apply(&mut plan, settings)?;
        let mut fabric = Fabric::assemble(kind.name(), &plan, host_delay, cut_through)
            .map(|fabric| Fabric { changes, ..fabric })
            .map_err(|cut| overrides::explain(cut, &plan, settings))?;
        events::read(&mut fabric, settings)?;
        Ok(fabric)
    }

    /// Returns the same fabric with hosts that add no delay, as for real hosts, which have their own.
    #[must_use]
    pub fn without_host_delay(&self) -> Fabric {
        let is_host = |end: Node| u64::from(matches!(end, Node::Host(_)));
        let mut fabric = self.clone();
        for link in &mut fabric.links {
            let hosts = is_host(link.from) + is_host(link.to);
            link.delay = Time(link.delay.0 - hosts * self.host_delay.0);
        }
        fabric.host_delay = Time::ZERO;
        fabric
    }

    /// Returns the place whose ports feed the links out of a node.
    pub fn place_of(&self, node: Node) -> Place {
        match node {
            Node::Host(_) => Place::Nic,
            Node::Switch(switch) => self.switches[switch as usize].place,
        }
    }

    /// Returns the rates of the links that ports at a place send to, rising.
    pub fn rates_at(&self, place: Place) -> Vec<Rate> {
        let there = self.links.iter().filter(|link| self.place_of(link.from) == place);
        let mut rates: Vec<Rate> = there.map(|link| link.rate).collect();
        rates.sort_unstable_by_key(|rate| rate.bps());
        rates.dedup();
        rates
    }

    /// Returns the propagation and host delays of a packet and its answer between the two hosts that are farthest
    /// apart, without serialisation, over the fastest of their equal-cost paths.
    pub fn base_rtt(&self) -> Time {
        self.base_rtt
    }

    /// Returns whether any switch of a place chooses among several equal next hops.
    pub fn has_choice(&self, place: Place) -> bool {
        let of_place = self.switches.iter().zip(&self.routes).filter(|(switch, _)| switch.place == place);
        of_place.flat_map(|(_, routes)| &routes.groups).any(|group| group.len() > 1)
    }

    /// Returns the kinds of path by number of links, each with the two hosts that are farthest apart on such a path.
    pub fn reaches(&self) -> &[Reach] {
        &self.reaches
    }

    /// Returns the load of each class of links when every host sends equally to every other one; in the order of
    /// [`Fabric::classes`].
    pub fn class_shares(&self) -> &[ClassShare] {
        &self.shares
    }

    /// Names a link by its ends: "leaf0 to host3"; one of a bundle with its number: "leaf0 to spine1 #2".
    pub fn link_name(&self, link: u32) -> String {
        match self.links[link as usize].nth {
            0 => self.ends_name(link),
            nth => format!("{} #{nth}", self.ends_name(link)),
        }
    }

    /// Names a link by its ends alone, so that links of a bundle share the name.
    pub fn ends_name(&self, link: u32) -> String {
        let Link { from, to, .. } = &self.links[link as usize];
        format!("{} to {}", self.name(*from), self.name(*to))
    }

    /// Returns a node's name.
    pub fn name(&self, node: Node) -> String {
        match node {
            Node::Host(host) => plan::host_name(&self.host_names, host),
            Node::Switch(switch) => self.switches[switch as usize].name.clone(),
        }
    }
}
