//! The sites of a fabric: where each custom part is. A node's site is built when it is first asked for.

use std::cell::OnceCell;
use std::sync::Arc;

use flowsieve_core::Site;
use flowsieve_core::coflow::Announcements;
use flowsieve_core::controller::FabricSite;
use flowsieve_core::site::{Racks, SitePort};
use flowsieve_workload::random::{Purpose, stream};
use rand_core::Rng;

use super::{Fabric, Link, Node};

/// The sites of a fabric in a run.
pub struct Sites<'a> {
    fabric: &'a Fabric,
    seed: u64,
    racks: Arc<Racks>,
    /// By switch: its site.
    switches: Vec<OnceCell<Site>>,
    /// The first host's site; all others share its paths and racks.
    host: OnceCell<Site>,
}

/// Parts with separate random numbers.
#[derive(Clone, Copy)]
enum Part {
    Tagger = 0,
    Endpoint = 1,
    Port = 2,
    Program = 3,
    Controller = 4,
}

impl<'a> Sites<'a> {
    /// Builds the sites of a run with this seed.
    pub fn new(fabric: &'a Fabric, seed: u64) -> Sites<'a> {
        let switches = vec![OnceCell::new(); fabric.switches.len()];
        Sites { fabric, seed, racks: Arc::new(racks(fabric)), switches, host: OnceCell::new() }
    }

    /// Returns the racks of the fabric, in the order of their first hosts.
    pub fn racks(&self) -> &Arc<Racks> {
        &self.racks
    }

    /// Returns the site of a host's tagger for a class of flow.
    pub fn tagger(&self, host: u32, class: u8) -> Site {
        Site { seed: self.seed(Part::Tagger, host, class), ..self.node(Node::Host(host)) }
    }

    /// Returns the site of a host's endpoint for a class of flow.
    pub fn endpoint(&self, host: u32, class: u8) -> Site {
        Site { seed: self.seed(Part::Endpoint, host, class), ..self.node(Node::Host(host)) }
    }

    /// Returns the site of the port at a link's sending end.
    pub fn port(&self, link: u32) -> Site {
        let node = self.fabric.links[link as usize].from;
        let port = match node {
            Node::Host(_) => 0,
            Node::Switch(switch) => port_of(&self.fabric.ports[switch as usize], link),
        };
        Site { port: Some(port), seed: self.seed(Part::Port, link, 0), ..self.node(node) }
    }

    /// Returns the site of a switch's program.
    pub fn program(&self, switch: u32) -> Site {
        Site { seed: self.seed(Part::Program, switch, 0), ..self.node(Node::Switch(switch)) }
    }

    /// Returns the site of a host's controller, by its kind's index in the scheme's list.
    pub fn controller(&self, host: u32, kind: u8) -> Site {
        Site { seed: self.seed(Part::Controller, host, kind), ..self.node(Node::Host(host)) }
    }

    /// Returns the site of a controller of the whole fabric, by its kind's index.
    pub fn fabric(&self, kind: u8, announcements: &Arc<Announcements>) -> FabricSite {
        FabricSite {
            hosts: (0..self.fabric.hosts).map(|host| self.node(Node::Host(host))).collect(),
            switches: (0..self.fabric.switches.len() as u32).map(|switch| self.node(Node::Switch(switch))).collect(),
            announcements: Arc::clone(announcements),
            seed: self.seed(Part::Controller, u32::MAX, kind),
        }
    }

    fn seed(&self, part: Part, number: u32, class: u8) -> u64 {
        let entity = (part as u64) << 40 | u64::from(number) << 8 | u64::from(class);
        stream(self.seed, Purpose::OwnPart, entity).next_u64()
    }

    fn node(&self, node: Node) -> Site {
        match node {
            Node::Switch(switch) => self.switches[switch as usize].get_or_init(|| self.switch(switch)).clone(),
            Node::Host(host) => {
                let uplink = &self.fabric.host_uplink[host as usize];
                let first = self.host.get_or_init(|| {
                    let next = vec![0; self.fabric.hosts as usize];
                    self.site(node, std::slice::from_ref(uplink), [vec![0]].into(), next.into())
                });
                Site { node, ports: self.ports(std::slice::from_ref(uplink)), ..first.clone() }
            }
        }
    }

    fn switch(&self, switch: u32) -> Site {
        let (links, routes) = (&self.fabric.ports[switch as usize], &self.fabric.routes[switch as usize]);
        let ports = |group: &Vec<u32>| group.iter().map(|&link| port_of(links, link)).collect();
        self.site(Node::Switch(switch), links, routes.groups.iter().map(ports).collect(), routes.next.as_slice().into())
    }

    fn site(&self, node: Node, links: &[u32], groups: Arc<[Vec<u16>]>, next: Arc<[u16]>) -> Site {
        let (place, ports) = (self.fabric.place_of(node), self.ports(links));
        Site { node, place, ports, port: None, groups, next, racks: Arc::clone(&self.racks), seed: 0 }
    }

    fn ports(&self, links: &[u32]) -> Arc<[SitePort]> {
        let links = links.iter().map(|&link| &self.fabric.links[link as usize]);
        let port = |link: &Link| SitePort {
            behind: link.to,
            place: self.fabric.place_of(link.to),
            rate: link.rate,
            delay: link.delay,
        };
        links.map(port).collect()
    }
}

/// Returns the number of the port that feeds a link, among a switch's links, ascending.
fn port_of(links: &[u32], link: u32) -> u16 {
    links.partition_point(|&other| other < link) as u16
}

fn racks(fabric: &Fabric) -> Racks {
    let mut of_switch = vec![None; fabric.switches.len()];
    let mut count = 0;
    let rack = |&uplink: &u32| {
        let Node::Switch(switch) = fabric.links[uplink as usize].to else { return 0 };
        *of_switch[switch as usize].get_or_insert_with(|| {
            count += 1;
            count - 1
        })
    };
    Racks::new(fabric.host_uplink.iter().map(rack).collect())
}
