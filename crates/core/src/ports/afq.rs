//! Approximate fair queueing (AFQ; Sharma et al., NSDI 2018): bit-by-bit round robin in rounds of some bytes, on a
//! calendar of FIFO queues.
//!
//! A flow's bid is the byte up to which it has bought service. A packet's bid is its length plus the flow's bid, or plus
//! the start of the current round if that is later. Its round is its bid over the bytes of a round. The queue of a round is
//! sent to the end, then comes the next. A packet whose round is not on the calendar is dropped, or joins the last round.
//! Only packets that are taken change bids.
//!
//! Bids are kept in a count-min sketch: cells that several flows share hold the largest of their bids, and a flow takes the
//! least of its cells. So it is never served earlier than its own bid says. Or bids are kept exactly.
//!
//! Rounds pass only as packets leave: while nothing is queued, the current round stays. Left out: the limited bits of a
//! switch's counters, and the time that it takes to rotate its queues.

use rustc_hash::FxHashMap;

use crate::admission::Admission;
use crate::bank::FifoBank;
use crate::discipline::Discipline;
use crate::hash::{mix, reduce};
use crate::marker::Marker;
use crate::meta::Meta;
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};

/// Where the bids of flows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BidStore {
    /// In a count-min sketch.
    Sketch {
        /// Hash functions, at least 1.
        rows: u32,
        /// Cells of each, at least 1.
        columns: u32,
    },
    /// One bid for each flow that has bought service beyond the current round.
    Exact,
}

/// What happens to a packet without a queue on the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// It is dropped (NSDI 2018).
    Drop,
    /// It joins the calendar's last queue.
    LastQueue,
}

/// AFQ's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfqRules {
    /// FIFO queues, the rounds on the calendar.
    pub queues: usize,
    /// Bytes of each flow that a round serves, at least 1.
    pub bytes_per_round: u64,
    /// Where bids are kept.
    pub bids: BidStore,
    /// What happens to a packet beyond the calendar.
    pub beyond: Beyond,
}

impl PortRules for AfqRules {
    type Port = Afq;

    fn build(&self, site: &PortSite) -> Afq {
        Afq::new(*self, site.admission, site.marker)
    }

    fn sketch_bytes(&self) -> u64 {
        match self.bids {
            BidStore::Sketch { rows, columns } => 8 * u64::from(rows) * u64::from(columns),
            BidStore::Exact => 0,
        }
    }

    fn without_limits(&mut self) {
        self.beyond = Beyond::LastQueue;
    }
}

/// Bids by flow, in bytes.
pub enum Bids {
    /// Rows of equally many cells, with the number of cells of a row.
    Sketch {
        /// Row after row.
        cells: Vec<u64>,
        /// Cells of a row.
        columns: u32,
    },
    /// By flow.
    Exact {
        /// The bids that still matter, by flow.
        bids: FxHashMap<u32, u64>,
        /// The number of bids at which those that no longer matter are removed.
        most: usize,
        /// The least that this number may be.
        least: usize,
    },
}

impl Bids {
    /// Builds an empty store of bids.
    pub fn new(store: BidStore) -> Bids {
        match store {
            BidStore::Sketch { rows, columns } => {
                let (rows, columns) = (rows.max(1), columns.max(1));
                Bids::Sketch { cells: vec![0; rows as usize * columns as usize], columns }
            }
            BidStore::Exact => Bids::Exact { bids: FxHashMap::default(), most: 64, least: 64 },
        }
    }

    /// Returns a flow's bid, or more if the sketch has mixed it up with others; 0 if there is none.
    pub fn get(&self, flow: u32) -> u64 {
        match self {
            Bids::Sketch { cells, columns } => {
                cells_of(cells.len(), *columns, flow).map(|cell| cells[cell]).min().unwrap_or(0)
            }
            Bids::Exact { bids, .. } => bids.get(&flow).copied().unwrap_or(0),
        }
    }

    /// Raises a flow's bid to `bid`, which is not less than before; bids up to `served` no longer matter.
    pub fn raise(&mut self, flow: u32, bid: u64, served: u64) {
        match self {
            Bids::Sketch { cells, columns } => {
                cells_of(cells.len(), *columns, flow).for_each(|cell| cells[cell] = cells[cell].max(bid));
            }
            Bids::Exact { bids, most, least } => {
                if bids.len() >= *most {
                    bids.retain(|_, bid| *bid > served);
                    *most = (*least).max(2 * bids.len());
                }
                bids.insert(flow, bid);
            }
        }
    }
}

impl Bids {
    /// Makes room for the bids of this many flows.
    fn reserve(&mut self, flows: usize) {
        if let Bids::Exact { bids, most, least } = self {
            *least = (2 * flows).max(*least);
            *most = (*most).max(*least);
            bids.reserve(*most);
        }
    }
}

/// Returns a flow's cell in each row.
fn cells_of(cells: usize, columns: u32, flow: u32) -> impl Iterator<Item = usize> {
    (0..cells / columns as usize).map(move |row| {
        let word = u64::from(flow) | (row as u64 + 1) << 32;
        row * columns as usize + reduce(mix(word.wrapping_mul(0x9e37_79b9_7f4a_7c15)), columns as usize)
    })
}

/// AFQ's calendar.
pub struct Afq {
    /// The bank's discipline is not used: the calendar says which queue sends.
    bank: FifoBank,
    bids: Bids,
    /// The current round. Its queue is the round modulo the number of queues.
    round: u64,
    bytes_per_round: u64,
    beyond: Beyond,
}

impl Afq {
    /// Builds an empty calendar with a limit and a marker. Panics as [`FifoBank::new`].
    pub fn new(rules: AfqRules, admission: Admission, marker: Marker) -> Afq {
        Afq {
            bank: FifoBank::new(rules.queues, admission, marker, Discipline::StrictPriority),
            bids: Bids::new(rules.bids),
            round: 0,
            bytes_per_round: rules.bytes_per_round.max(1),
            beyond: rules.beyond,
        }
    }

    /// Returns the bid of an arriving packet, and in how many rounds it is served.
    fn bid(&self, meta: &Meta) -> (u64, u64) {
        let served = self.round * self.bytes_per_round;
        let bid = self.bids.get(meta.flow).max(served) + u64::from(meta.len);
        (bid, bid / self.bytes_per_round - self.round)
    }

    /// Returns the queue that is served in `rounds` rounds; the last one beyond the calendar.
    fn queue_in(&self, rounds: u64) -> usize {
        let queues = self.bank.queues() as u64;
        ((self.round + rounds.min(queues - 1)) % queues) as usize
    }
}

impl PortScheduler for Afq {
    pass_on!(self, self.bank => limits, backlog_bytes, waiting_in, queues);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let meta = &mut metas[packet as usize];
        let (flow, (bid, rounds)) = (meta.flow, self.bid(meta));
        let queue = self.queue_in(rounds);
        meta.queue = queue as u8;
        if rounds >= self.bank.queues() as u64 && self.beyond == Beyond::Drop {
            return Verdict::Dropped { queued_before: self.bank.queue(queue).bytes().into() };
        }
        let verdict = self.bank.enqueue_in(queue, metas, packet, context);
        if verdict.is_accepted() {
            self.bids.raise(flow, bid, self.round * self.bytes_per_round);
        }
        verdict
    }

    fn dequeue(&mut self, metas: &mut [Meta], _around: &mut PortContext<'_>) -> Option<u32> {
        let queues = self.bank.queues() as u64;
        let rounds = (0..queues).find(|&rounds| !self.bank.queue(self.queue_in(rounds)).is_empty())?;
        self.round += rounds;
        self.bank.dequeue_from(self.queue_in(0), metas)
    }

    fn reserve(&mut self, packets: usize) {
        self.bids.reserve(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sketch__never_says_less_than_a_flow_bid(
            (rows, columns) in (1u32..5, 1u32..40),
            raises in prop::collection::vec((0u32..60, 1u64..2_000), 1..300),
        ) {
            let mut sketch = Bids::new(BidStore::Sketch { rows, columns });
            let mut exact = Bids::new(BidStore::Exact);
            for (flow, more) in raises {
                let bid = sketch.get(flow) + more;
                sketch.raise(flow, bid, 0);
                exact.raise(flow, bid, 0);
                for flow in 0..60 {
                    prop_assert!(sketch.get(flow) >= exact.get(flow));
                }
            }
        }
    }

    #[test]
    fn sketch__tells_flows_apart_where_there_is_room() {
        let mut sketch = Bids::new(BidStore::Sketch { rows: 3, columns: 4_096 });
        (0..100).for_each(|flow| sketch.raise(flow, 1_000 + u64::from(flow), 0));
        assert_eq!((0..100).filter(|&flow| sketch.get(flow) == 1_000 + u64::from(flow)).count(), 100);
        assert!((100..10_000).filter(|&flow| sketch.get(flow) > 0).count() < 10);
    }

    #[test]
    fn exact__forgets_what_is_served() {
        let mut exact = Bids::new(BidStore::Exact);
        (0..100_000u32).for_each(|flow| exact.raise(flow, u64::from(flow) + 1, u64::from(flow)));
        let Bids::Exact { bids, .. } = &exact else { panic!() };
        assert!(bids.len() <= 64, "{}", bids.len());
    }
}
