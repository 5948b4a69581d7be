//! The base round trip: the time of a full packet alone in the fabric and its answer, with serialisation.

use flowsieve_core::{Rate, Time};

use crate::ideal::{self, CUT_THROUGH_BYTES, Hop, Train};
use crate::topology::{Fabric, Link, Node};

/// The sizes of a packet and of its answer on the wire, in bytes with preamble and gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// A full packet of data.
    pub packet: u32,
    /// Its answer.
    pub answer: u32,
}

impl Exchange {
    /// Builds the exchange of a transport with these bytes of payload and headers in a full packet; `wire_overhead`:
    /// preamble, checksum and gap.
    pub fn new(segment: u16, header: u16, wire_overhead: u16) -> Exchange {
        let answer = u32::from(header) + u32::from(wire_overhead);
        Exchange { packet: u32::from(segment) + answer, answer }
    }
}

/// The slowest of the equal paths between two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTrip {
    /// From the first bit of the packet to the last bit of its answer.
    pub time: Time,
    /// Rate of the slowest link from the sender to the receiver.
    pub rate: Rate,
}

impl Fabric {
    /// Returns the base round trip from one host to another, over the slowest of their equal paths.
    pub fn round_trip(&self, from: u32, to: u32, exchange: Exchange) -> RoundTrip {
        let there: Vec<&Link> = self.longest_way(from, to).iter().map(|&link| &self.links[link as usize]).collect();
        // A link and its reverse differ only in whether their ends cut through.
        let back = |link: &&Link| Hop { forwards_after: self.back(link).and_then(forwards_after), ..hop(link) };
        let forth: Vec<Hop> = there.iter().map(|link| hop(link)).collect();
        let back: Vec<Hop> = there.iter().rev().map(back).collect();
        let single = Train { packets: 1, full: exchange.packet, last: exchange.packet };
        let time = ideal::arrival(&forth, single) + ideal::acknowledgement(&back, exchange.answer);
        let rate = there.iter().map(|link| link.rate).min_by_key(|rate| rate.bps());
        RoundTrip { time, rate: rate.unwrap_or(self.links[0].rate) }
    }

    /// Returns the link in the other direction.
    fn back(&self, link: &Link) -> Option<&Link> {
        match link.to {
            Node::Host(host) => Some(&self.links[self.host_uplink[host as usize] as usize]),
            Node::Switch(switch) => {
                let mut ports = self.ports[switch as usize].iter().map(|&port| &self.links[port as usize]);
                ports.find(|port| port.to == link.from)
            }
        }
    }
}

fn forwards_after(link: &Link) -> Option<u32> {
    link.cut_through.then_some(CUT_THROUGH_BYTES)
}

fn hop(link: &Link) -> Hop {
    Hop { rate: link.rate, delay: link.delay, parallel: 1, forwards_after: forwards_after(link) }
}
