//! Fabrics: hosts, switches, the links between them, and every shortest way.
//!
//! A fabric is made in four steps, one module each: a shape or an edge list gives a plan of two-way links
//! ([`shapes`](self::kinds), `custom`); the delays are fitted to the round trip (`delays`); `[[topology.link]]` changes
//! or fails single links (`overrides`); and the plan becomes directed links with routes (`assemble`, `routes`).
//!
//! Numbering, which is part of the model because events of one instant are taken in the order of links:
//! - links: first every host's link into the fabric, by host; then every switch's link to a host, by host; then, for
//!   each link between switches in the order of the shape or the file, the direction away from the hosts (in a file:
//!   as the row has it) and the one back. A failed link takes no number.
//! - switches: leaves (or edge switches), spines (or aggregation switches), cores; pod by pod; those of an edge list as
//!   they first appear. A switch's partition has its number, and its hosts are in it; without switches each host is a
//!   partition of its own.
//!
//! Units: rates in bit/s, delays in ps. Left out: links of different rates in their two directions, hosts with several
//! links, hosts that forward, routes that are not shortest in hops, and links that fail during a run.

mod assemble;
mod custom;
mod delays;
mod draw;
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

use flowsieve_core::units::{Rate, Time};
use flowsieve_settings::declare;
use flowsieve_settings::{Key, Place, Section, Setting, Settings, SettingsError};
use std::path::Path;

declare! {
    /// Whether a packet is sent on before all of it has come.
    static FORWARDING: Setting<bool> = Setting::choice(
        Section::Topology,
        "forwarding",
        &[("store-and-forward", false), ("cut-through", true)],
        "whether a switch waits for the whole of a packet",
    )
    .with_default(false);
}

/// Every setting of fabrics, by the part that declares it.
pub const FABRIC_SETTINGS: &[&[&Key]] =
    &[shapes::SETTINGS, custom::SETTINGS, delays::SETTINGS, SETTINGS, overrides::SETTINGS];

/// Hosts that a fabric may have.
pub const MAX_HOSTS: u64 = 65_535;
/// Directed links that a fabric may have.
pub const MAX_LINKS: u64 = 1 << 20;
/// Hosts times switches that a fabric may have: each pair takes two bytes of routes.
pub const MAX_ROUTES: u64 = 1 << 27;

/// A switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Its name in drawings and in `[[topology.link]]`.
    pub name: String,
    /// How far it is from the hosts: a leaf has hosts, a spine is linked to a leaf, all others are cores.
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
    /// Propagation, and the host's delay for each end that is a host.
    pub delay: Time,
    /// Probability that a packet is lost on it.
    pub loss: f64,
    /// Index into [`Fabric::classes`].
    pub class: u16,
    /// Which it is of the links between its ends, from 1; 0 where it is the only one.
    pub nth: u16,
    /// Whether its far end may send a packet on before it has all of it: forwarding is cut-through, the far end is a
    /// switch, and no link out of that switch is faster, so that a packet never runs dry on its way out. A switch
    /// with one faster link out stores and forwards whatever comes over this one.
    pub cut_through: bool,
}

/// A fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct Fabric {
    /// The kind's name.
    pub kind: &'static str,
    /// How many hosts it has.
    pub hosts: u32,
    /// Names of the hosts, where an edge list names them; none where they are `host0`, `host1`, …
    pub host_names: Vec<String>,
    /// The partition that simulates each host: that of its switch.
    pub host_partition: Vec<u32>,
    /// Its switches.
    pub switches: Vec<Switch>,
    /// Its links, each direction for itself; a failed link is absent.
    pub links: Vec<Link>,
    /// The link that leaves each host.
    pub host_uplink: Vec<u32>,
    /// The links that leave each switch, ascending.
    pub ports: Vec<Vec<u32>>,
    /// Names of the classes of links, such as `leaf-up`: from where, and whether to or from the hosts.
    pub classes: Vec<&'static str>,
    /// How many partitions there are.
    pub partitions: u32,
    /// The ways out of each switch.
    pub routes: Vec<SwitchRoutes>,
    /// The delay that a host adds at its end of a link.
    pub host_delay: Time,
    /// Whether switches cut through where they can.
    pub cut_through: bool,
    /// What `[[topology.link]]` changed, a sentence each.
    pub changes: Vec<String>,
    /// Columns of its edge list that are not read.
    pub unread: Vec<String>,
    base_rtt: Time,
    shares: Vec<ClassShare>,
    reaches: Vec<Reach>,
}

impl Fabric {
    /// The fabric that settings describe; the path of an edge list is relative to the working folder.
    pub fn from_settings(settings: &Settings) -> Result<Fabric, SettingsError> {
        Fabric::from_settings_in(settings, Path::new(""))
    }

    /// The fabric that settings describe; the path of an edge list is relative to `folder`.
    pub fn from_settings_in(settings: &Settings, folder: &Path) -> Result<Fabric, SettingsError> {
        let scope = settings.common();
        let kind = scope.read(&shapes::KIND)?;
        let cut_through = scope.read(&FORWARDING)?;
        let mut plan = kind.plan(settings, folder)?;
        let host_delay = delays::fit(settings, &mut plan)?;
        let changes = overrides::apply(&mut plan, settings)?;
        Fabric::assemble(kind.name(), &plan, host_delay, cut_through)
            .map(|fabric| Fabric { changes, ..fabric })
            .map_err(|cut| overrides::explain(cut, &plan, settings))
    }

    /// The place whose ports feed the links out of a node.
    pub fn place_of(&self, node: Node) -> Place {
        match node {
            Node::Host(_) => Place::Nic,
            Node::Switch(switch) => self.switches[switch as usize].place,
        }
    }

    /// Propagation and host delays of a packet and its answer between the hosts that are farthest from each other,
    /// without serialisation, over the quickest of their equal-cost ways.
    pub fn base_rtt(&self) -> Time {
        self.base_rtt
    }

    /// The kinds of path that there are, by rising number of links, each with the two hosts that are farthest from each other.
    pub fn reaches(&self) -> &[Reach] {
        &self.reaches
    }

    /// What each class of links carries when every host sends to every other alike; in the order of
    /// [`Fabric::classes`].
    pub fn class_shares(&self) -> &[ClassShare] {
        &self.shares
    }

    /// A link by its ends: "leaf0 to host3"; one of a bundle with its number: "leaf0 to spine1 #2".
    pub fn link_name(&self, link: u32) -> String {
        match self.links[link as usize].nth {
            0 => self.ends_name(link),
            nth => format!("{} #{nth}", self.ends_name(link)),
        }
    }

    /// A link by its ends alone, which those of a bundle share.
    pub fn ends_name(&self, link: u32) -> String {
        let Link { from, to, .. } = &self.links[link as usize];
        format!("{} to {}", self.name(*from), self.name(*to))
    }

    /// A node's name.
    pub fn name(&self, node: Node) -> String {
        match node {
            Node::Host(host) => plan::host_name(&self.host_names, host),
            Node::Switch(switch) => self.switches[switch as usize].name.clone(),
        }
    }
}
