//! The stages of links between any two hosts, for those who ask for many of them.

use std::collections::BTreeMap;

use crate::ideal::Hop;
use crate::topology::{Fabric, Node, Stage};

/// What [`Fabric::path_links`] returns. What lies behind a switch is found once for all hosts there.
pub struct Ways<'a> {
    fabric: &'a Fabric,
    /// By the sender's switch, and receiver.
    behind: BTreeMap<(u32, u32), Vec<Stage>>,
}

impl<'a> Ways<'a> {
    /// Builds it for a fabric.
    pub fn new(fabric: &'a Fabric) -> Ways<'a> {
        Ways { fabric, behind: BTreeMap::new() }
    }

    /// Returns the stages from one host to another.
    pub fn between(&mut self, src: u32, dst: u32) -> impl DoubleEndedIterator<Item = Stage> + '_ {
        let link = &self.fabric.links[self.fabric.host_uplink[src as usize] as usize];
        let first =
            Stage { rate: link.rate, delay: link.delay, links: 1, class: link.class, cut_through: link.cut_through };
        let behind = match link.to {
            Node::Switch(switch) => {
                let found = || self.fabric.links_behind(switch, dst);
                self.behind.entry((switch, dst)).or_insert_with(found).as_slice()
            }
            Node::Host(_) => &[],
        };
        std::iter::once(first).chain(behind.iter().copied())
    }

    /// Returns the same as hops of a packet.
    pub fn hops(&mut self, src: u32, dst: u32) -> Vec<Hop> {
        self.between(src, dst).map(|stage| Hop::from(&stage)).collect()
    }
}
