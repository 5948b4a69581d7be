//! The ideal FCT: a flow alone in the fabric, sent at line rate by a host that needs no window.
//!
//! Packets cross a chain of links, each at its own rate, and each link sends them in order. The n-th packet's arrival
//! is the longest path through the grid of packets and links. All packets but the last are equally long. So the path
//! follows the first packet, then the slowest link for all others but the last, then the last packet.
//!
//! If a stage of the path has m equal links and packets are spread over them, it delays a packet only every m-th time.
//! The value is then a lower bound for any spreading. On a single path it is exact.

use flowsieve_core::{Rate, Time};

use crate::topology::Stage;

/// Bytes of a packet after which a cut-through switch forwards it: Ethernet, IPv4 and TCP headers.
pub const CUT_THROUGH_BYTES: u32 = 64;

/// One stage of the path between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Rate of each link of the stage.
    pub rate: Rate,
    /// Propagation delay, plus the host's delay if an end is a host.
    pub delay: Time,
    /// Equal links over which the packets of one flow may be spread.
    pub parallel: u32,
    /// The far end forwards a packet after this many bytes; `None`: after the whole packet.
    pub forwards_after: Option<u32>,
}

impl From<&Stage> for Hop {
    fn from(stage: &Stage) -> Hop {
        Hop {
            rate: stage.rate,
            delay: stage.delay,
            parallel: stage.links,
            forwards_after: stage.cut_through.then_some(CUT_THROUGH_BYTES),
        }
    }
}

/// Sizes of packets on the wire, in bytes with preamble and gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// Number of packets of the message.
    pub packets: u64,
    /// Bytes of each packet but the last.
    pub full: u32,
    /// Bytes of the last packet.
    pub last: u32,
}

impl Train {
    /// Builds the train of a message of `bytes` in packets of `segment` bytes, plus `beside` bytes of headers, preamble
    /// and gap each.
    pub fn new(bytes: u64, segment: u16, beside: u32) -> Train {
        let packets = bytes.div_ceil(u64::from(segment)).max(1);
        let last = bytes - (packets - 1) * u64::from(segment);
        Train { packets, full: u32::from(segment) + beside, last: last as u32 + beside }
    }

    /// Returns how long a link of this rate takes to send all of it.
    pub fn time_on(&self, rate: Rate) -> Time {
        Time((self.packets - 1).saturating_mul(rate.serialise(self.full).0).saturating_add(rate.serialise(self.last).0))
    }
}

/// Returns the time from the message's start to the arrival of its last byte.
pub fn arrival(hops: &[Hop], train: Train) -> Time {
    if train.packets == 1 || hops.iter().all(|hop| hop.parallel == 1) {
        return in_order(hops, train);
    }
    // On other paths a short last packet may overtake the others. It then delays them only by the last link's work,
    // from the first packet's arrival there. The others are equal, so they lose nothing by changing places.
    let full = Train { packets: train.packets - 1, last: train.full, ..train };
    let last = Train { packets: 1, ..train };
    let waits = |hop: Option<&Hop>| hop.map_or(0, |hop| full.packets * hop.rate.serialise(train.full).0);
    let (of_full, of_last) = (in_order(hops, Train { packets: 1, ..full }), in_order(hops, last));
    let last = Time(waits(hops.first()) + of_last.0);
    let work = match hops.last() {
        Some(end) => {
            let (full, short) = (end.rate.serialise(train.full), end.rate.serialise(train.last));
            Time((of_full - full).min(last - short).0 + waits(hops.last()) + short.0)
        }
        None => Time::ZERO,
    };
    in_order(hops, full).max(last).max(work)
}

/// Returns the same time if packets keep their order.
fn in_order(hops: &[Hop], train: Train) -> Time {
    let lag = |hop: &Hop, bytes: u32| hop.rate.serialise(hop.forwards_after.map_or(bytes, |head| head.min(bytes)));
    let delays: u64 = hops.iter().map(|hop| hop.delay.0).sum();
    let Some((end, _)) = hops.split_last() else { return Time::ZERO };
    if train.packets == 1 {
        let heads: u64 = hops[..hops.len() - 1].iter().map(|hop| lag(hop, train.last).0).sum();
        return Time(delays + heads + end.rate.serialise(train.last).0);
    }
    let mut longest = 0;
    let (mut first, mut slowest) = (0, 0);
    for (at, hop) in hops.iter().enumerate() {
        // The longest path leaves the last packet but one at this hop.
        let full = hop.rate.serialise(train.full).0;
        let m = u64::from(hop.parallel);
        // Until the last packet but one is due, over all hops so far; with m links, m packets pass a hop at a time.
        slowest = slowest.max((train.packets - 2) / m * full);
        let turn = if m == 1 { full } else { 0 };
        let heads: u64 = hops[at..hops.len() - 1].iter().map(|hop| lag(hop, train.last).0).sum();
        longest = longest.max(first + slowest + turn + heads + end.rate.serialise(train.last).0);
        first += lag(hop, train.full).0;
    }
    Time(delays + longest)
}

/// Returns the time from the arrival of the last byte to the arrival of its ACK of `bytes`, on the way back.
pub fn acknowledgement(hops: &[Hop], bytes: u32) -> Time {
    arrival(hops, Train { packets: 1, full: bytes, last: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hop(mbps: u64, forwards_after: Option<u32>) -> Hop {
        let rate = Rate::new(mbps * 1_000_000).unwrap();
        Hop { rate, delay: Time::from_ns(200), parallel: 1, forwards_after }
    }

    /// Computes the recursion that the closed form solves: packet by packet, hop by hop.
    fn by_recursion(hops: &[Hop], train: Train) -> Time {
        let mut free = vec![0; hops.len()];
        let mut arrived = 0;
        for packet in 1..=train.packets {
            let bytes = if packet == train.packets { train.last } else { train.full };
            let mut ready = 0;
            for (hop, free) in hops.iter().zip(&mut free) {
                let start = ready.max(*free);
                *free = start + hop.rate.serialise(bytes).0;
                arrived = *free + hop.delay.0;
                let head = hop.forwards_after.map_or(bytes, |head| head.min(bytes));
                ready = start + hop.rate.serialise(head).0 + hop.delay.0;
            }
        }
        Time(arrived)
    }

    #[test]
    fn arrival__one_packet_store_and_forward() {
        // 1.2 us at 10 Gbit/s, 0.3 us at 40, four propagations of 0.2 us.
        let hops = [hop(10_000, None), hop(40_000, None), hop(40_000, None), hop(10_000, None)];
        let train = Train::new(1460, 1460, 40);
        assert_eq!(arrival(&hops, train), Time::from_ns(1200 + 300 + 300 + 1200 + 800));
    }

    proptest! {
        #[test]
        fn arrival__is_the_recursion(
            rates in prop::collection::vec((1u64..100_000, any::<bool>()), 1..6),
            bytes in 1u64..40_000,
        ) {
            // A link cuts through only into slower ones.
            let mut slowest_after: Vec<u64> = rates.iter().map(|&(rate, _)| rate).collect();
            for i in (0..slowest_after.len() - 1).rev() {
                slowest_after[i] = slowest_after[i].max(slowest_after[i + 1]);
            }
            let hops: Vec<Hop> = rates.iter().zip(&slowest_after)
                .map(|(&(rate, cuts), &most)| hop(rate, (cuts && rate == most).then_some(64)))
                .collect();
            let train = Train::new(bytes, 1460, 40);
            prop_assert_eq!(arrival(&hops, train), by_recursion(&hops, train));
        }
    }
}
