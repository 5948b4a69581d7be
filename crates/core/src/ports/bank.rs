//! A bank of 1 to 64 FIFO queues, as in commodity switches.
//!
//! The classifier here is the DSCP map of a switch: the priority that the host wrote is the queue, and a priority beyond
//! the last queue maps to it.

use prefetch_index::prefetch_index;

use crate::admission::{Admission, Limits};
use crate::discipline::{Discipline, Group, Turn};
use crate::fifo::Fifo;
use crate::marker::{Marker, MarkerState, Waiting};
use crate::meta::Meta;
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict};

/// FIFO queues behind a DSCP map, with drop-tail admission, a marker and a service order.
///
/// The fields are in the order in which packets need them, so that a packet touches few cache lines.
#[repr(C)]
pub struct FifoBank {
    /// Bit i: queue i holds a packet.
    occupied: u64,
    bytes: u64,
    limits: Limits,
    queues: Box<[Fifo]>,
    marker: MarkerState,
    turn: Turn,
}

/// A bank's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankRules {
    /// Number of queues: 1 to [`MOST_QUEUES`].
    pub queues: usize,
    /// Service order.
    pub discipline: Discipline,
}

impl PortRules for BankRules {
    type Port = FifoBank;

    fn build(&self, site: &PortSite) -> FifoBank {
        FifoBank::new(self.queues, site.admission, site.marker, self.discipline.clone())
    }
}

/// The most queues that a bank may have.
pub const MOST_QUEUES: usize = 64;

impl FifoBank {
    /// Builds a bank of `queues` queues.
    ///
    /// # Panics
    /// If `queues` is not 1 to [`MOST_QUEUES`], or a discipline does not have one weight per queue; set-up checks both.
    pub fn new(queues: usize, admission: Admission, marker: Marker, discipline: Discipline) -> FifoBank {
        assert!((1..=MOST_QUEUES).contains(&queues), "a bank has 1 to 64 queues");
        let weights = match &discipline {
            Discipline::StrictPriority => queues,
            Discipline::Groups(groups) => {
                let fits = |group: &Group| match &group.weights {
                    Some(each) => each.len() == group.queues && each.iter().all(|&w| w > 0),
                    None => true,
                };
                assert!(groups.iter().all(|group| group.queues > 0 && fits(group)), "a group has queues and weights");
                groups.iter().map(|group| group.queues).sum()
            }
            Discipline::WeightedRoundRobin { weights: each } | Discipline::DeficitRoundRobin { quanta: each } => {
                assert!(each.iter().all(|&w| w > 0), "a weight of zero never sends");
                each.len()
            }
        };
        assert_eq!(weights, queues, "one weight a queue");
        FifoBank {
            queues: vec![Fifo::default(); queues].into(),
            occupied: 0,
            bytes: 0,
            limits: Limits::new(admission),
            marker: MarkerState::new(marker, queues),
            turn: Turn::new(discipline, queues),
        }
    }

    /// Enqueues an arriving packet, in no list, in a queue that the caller's classifier chose.
    #[inline(always)]
    pub fn enqueue_in(
        &mut self,
        index: usize,
        metas: &mut [Meta],
        packet: u32,
        context: &mut PortContext<'_>,
    ) -> Verdict {
        let waiting = self.queues[index].waiting();
        self.enqueue_marked_by(index, (index, waiting), metas, packet, context)
    }

    /// Does the same if a marker by queue looks at other packets than those of the queue that the packet joins: at `waiting`,
    /// whose bytes it averages, if it averages, as that of queue `of`.
    #[inline(always)]
    pub fn enqueue_marked_by(
        &mut self,
        index: usize,
        (of, waiting): (usize, Waiting),
        metas: &mut [Meta],
        packet: u32,
        context: &mut PortContext<'_>,
    ) -> Verdict {
        let meta = &mut metas[packet as usize];
        meta.queue = index as u8;
        let queued = self.queues[index].bytes();
        if !self.limits.admit(meta.len, queued, self.bytes, context.pool) {
            return Verdict::Dropped { queued_before: queued.into() };
        }
        let queues = &self.queues;
        let packets = || queues.iter().map(|queue| u64::from(queue.packets())).sum();
        if self.marker.marks(meta.len, of, waiting, self.bytes, packets, context.random) && meta.mark() {
            *context.marks += 1;
        }
        self.bytes += u64::from(meta.len);
        self.occupied |= 1 << index;
        self.queues[index].push(metas, packet);
        Verdict::Accepted { queued_before: queued.into() }
    }

    /// Changes the packets a turn of the queues from `first` on, if they share by weight; each at least 1.
    pub fn set_weights(&mut self, first: usize, weights: impl Iterator<Item = u32>) {
        self.turn.set_weights(first, weights);
    }

    /// Takes the oldest packet of a queue, for the caller's service order.
    #[inline(always)]
    pub fn dequeue_from(&mut self, index: usize, metas: &[Meta]) -> Option<u32> {
        let queue = &mut self.queues[index];
        let packet = queue.pop(metas)?;
        self.bytes -= u64::from(metas[packet as usize].len);
        if queue.is_empty() {
            self.occupied &= !(1 << index);
            self.turn.emptied(index);
        }
        Some(packet)
    }

    /// Moves all packets into the first queue, in the order of queues, which is the order of strict priority.
    /// [`Meta::queue`] still names the queue that each had entered.
    pub fn boost(&mut self, metas: &mut [Meta]) {
        if let Some((first, others)) = self.queues.split_first_mut() {
            others.iter_mut().for_each(|queue| first.append(metas, queue));
            self.occupied = u64::from(!first.is_empty());
        }
    }

    /// Appends a packet, in no list, that the port took earlier.
    pub(crate) fn append(&mut self, index: usize, metas: &mut [Meta], packet: u32) {
        let meta = &mut metas[packet as usize];
        meta.queue = index as u8;
        self.bytes += u64::from(meta.len);
        self.occupied |= 1 << index;
        self.queues[index].push(metas, packet);
    }

    /// Returns the packets of a queue.
    pub fn queue(&self, index: usize) -> &Fifo {
        &self.queues[index]
    }

    /// Prefetches the first eight queues: two cache lines.
    #[inline(always)]
    pub(crate) fn fetch_queues(&self) {
        prefetch_index(&self.queues, 0);
        prefetch_index(&self.queues, 4);
    }

    /// Prefetches the first packet of the first queue that holds one.
    #[inline(always)]
    pub(crate) fn fetch_front(&self, metas: &[Meta]) {
        if let Some(queue) = self.queues.get(self.occupied.trailing_zeros() as usize % MOST_QUEUES) {
            queue.fetch_front(metas);
        }
    }

    /// Returns the queue of the DSCP map.
    #[inline(always)]
    fn mapped(&self, meta: &Meta) -> usize {
        usize::from(meta.tag.priority()).min(self.queues.len() - 1)
    }
}

impl PortScheduler for FifoBank {
    #[inline(always)]
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let index = self.mapped(&metas[packet as usize]);
        self.enqueue_in(index, metas, packet, context)
    }

    #[inline(always)]
    fn dequeue(&mut self, metas: &mut [Meta], _around: &mut PortContext<'_>) -> Option<u32> {
        if self.occupied == 0 {
            return None;
        }
        let index = self.turn.next(self.occupied, &self.queues, metas);
        self.dequeue_from(index, metas)
    }

    fn dequeue_unheld(&mut self, metas: &mut [Meta], _: &mut PortContext<'_>, held: u64) -> Option<u32> {
        // A queue that is held and that it does not have stands for its last one.
        let last = self.queues.len().saturating_sub(1);
        let folded = u64::from(held.checked_shr(last as u32 + 1).unwrap_or(0) != 0) << last;
        let free = self.occupied & !(held | folded);
        if free == 0 {
            return None;
        }
        let index = self.turn.next(free, &self.queues, metas);
        self.dequeue_from(index, metas)
    }

    fn take_newest(&mut self, metas: &mut [Meta], queue: usize, longer_than: u16) -> Option<u32> {
        let of = self.queues.get_mut(queue)?;
        let packet = of.take_newest(metas, |meta| meta.len > longer_than)?;
        self.bytes -= u64::from(metas[packet as usize].len);
        if of.is_empty() {
            self.occupied &= !(1 << queue);
            self.turn.emptied(queue);
        }
        Some(packet)
    }

    fn limits(&self) -> Option<&Limits> {
        Some(&self.limits)
    }

    fn bypass_bytes(&self) -> u64 {
        match self.marker.of_empty_port() {
            Some(unmarked) if self.turn.is_memoryless() => unmarked.min(self.limits.of_empty_port()),
            _ => 0,
        }
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }

    fn waiting_in(&self, queue: usize) -> Option<Waiting> {
        self.queues.get(queue).map(Fifo::waiting)
    }

    fn queues(&self) -> usize {
        self.queues.len()
    }
}
