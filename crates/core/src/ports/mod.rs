//! The built-in port schedulers: the one list of them. A new one is a file here and a line in the list.

pub mod afq;
pub mod awafs;
pub mod bank;
pub mod fair_queueing;
mod flow_index;
pub mod flow_queues;
pub mod host_queues;
pub mod pcoflow;
pub mod pcoflow_sp_pifo;
pub mod pfabric;
pub mod pifo;
mod presence;
pub mod qcluster;
pub mod sp_pifo;

use std::sync::Arc;

use crate::admission::Admission;
use crate::admission::Limits;
use crate::bank::FifoBank;
use crate::catalogue::{Custom, catalogue};
use crate::controller::Published;
use crate::discipline::Discipline;
use crate::marker::{Marker, Waiting};
use crate::meta::Meta;
use crate::readings::Reading;
use crate::scheduler::{MAX_QUEUES, PortContext, PortRules, PortScheduler, PortSite, Verdict};
use crate::site::Site;

catalogue! {
    $ each
    /// A discipline with its settings.
    pub PortKind =>
    /// Every scheduler as one type, so that a port calls it without indirection.
    #[repr(u8)]
    pub Scheduler
    Custom(Custom<MakePort>) => Box<dyn PortScheduler>;
    /// FIFO queues under strict priority, WRR or DRR.
    Bank(bank::BankRules) => bank::FifoBank;
    /// One queue sorted by rank.
    Pifo(pifo::PifoRules) => pifo::Pifo;
    /// pFabric's pool.
    Pfabric(pfabric::PoolRules) => pfabric::PfabricPool;
    /// The textbook disciplines over flows: PS, SRPT, LAS.
    Flows(flow_queues::Order) => flow_queues::FlowScheduler;
    /// A host's queues, by the host's levels.
    Host(host_queues::HostQueueRules) => Box<host_queues::HostQueues>;
    /// QCluster's queues.
    Cluster(qcluster::ClusterParams) => Box<qcluster::ClusterPort>;
    /// SP-PIFO's queues.
    SpPifo(sp_pifo::SpPifoRules) => Box<sp_pifo::SpPifo>;
    /// AFQ's calendar.
    Afq(afq::AfqRules) => Box<afq::Afq>;
    /// Bit-by-bit round robin over flows.
    Fair(fair_queueing::BitByBit) => Box<fair_queueing::FairQueueing>;
    /// pCoflow's bands.
    Pcoflow(pcoflow::PcoflowRules) => Box<pcoflow::PcoflowPort>;
    /// pCoflow's ranks in SP-PIFO's queues.
    PcoflowSpPifo(pcoflow_sp_pifo::PcoflowSpPifoRules) => Box<pcoflow_sp_pifo::PcoflowSpPifo>;
    /// AWAFS's queues.
    Awafs(awafs::AwafsParams) => Box<awafs::AwafsPort>;
}

/// Builds a custom scheduler for a port.
pub type MakePort = dyn Fn(&PortSite, &Site) -> Box<dyn PortScheduler> + Send + Sync;

impl PortKind {
    /// Wraps a custom discipline, which is built from the port's properties and its site. The scheduler itself has to keep
    /// the port's limit and its marking.
    pub fn custom<P>(make: impl Fn(&PortSite, &Site) -> P + Send + Sync + 'static) -> PortKind
    where
        P: PortScheduler + 'static,
    {
        PortKind::Custom(Custom(Arc::new(move |port, site| Box::new(make(port, site)))))
    }

    /// Builds an empty scheduler for a port. `site` is called only for custom schedulers. Panics as [`PortRules::build`].
    pub fn build(&self, port: &PortSite, site: impl FnOnce() -> Site) -> Scheduler {
        each!(make self, rules => rules.build(port), own => (own.0)(port, &site()))
    }

    /// As [`PortRules::sketch_bytes`].
    pub fn sketch_bytes(&self) -> u64 {
        each!(rules self, rules => rules.sketch_bytes(), _ => 0)
    }

    /// As [`PortRules::without_limits`].
    pub fn without_limits(&mut self) {
        each!(rules self, rules => rules.without_limits(), _ => {});
    }
}

impl Default for Scheduler {
    /// Builds one FIFO queue without a limit or marks.
    fn default() -> Scheduler {
        Scheduler::Bank(FifoBank::new(1, Admission::Unlimited, Marker::Off, Discipline::StrictPriority))
    }
}

/// Prefetching, for owners with more ports than the caches hold. It does nothing where it would not pay.
impl Scheduler {
    /// Prefetches the queues.
    #[inline(always)]
    pub fn fetch_queues(&self) {
        match self {
            Scheduler::Bank(bank) => bank.fetch_queues(),
            Scheduler::Pfabric(pool) => pool.fetch_queues(),
            _ => {}
        }
    }

    /// Prefetches the packet that may leave next.
    #[inline(always)]
    pub fn fetch_front(&self, metas: &[Meta]) {
        match self {
            Scheduler::Bank(bank) => bank.fetch_front(metas),
            Scheduler::Pfabric(pool) => pool.fetch_front(metas),
            _ => {}
        }
    }
}

/// Banks are called in place. Doing the same for the others would cost every packet of a bank registers.
impl Scheduler {
    #[inline(never)]
    fn enqueue_elsewhere(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        each!(part self, port => port.enqueue(metas, packet, context))
    }

    #[inline(never)]
    fn dequeue_elsewhere(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        each!(part self, port => port.dequeue(metas, context))
    }

    #[inline(never)]
    fn backlog_elsewhere(&self) -> u64 {
        each!(part self, port => port.backlog_bytes())
    }
}

impl PortScheduler for Scheduler {
    #[inline(always)]
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        match self {
            Scheduler::Bank(bank) => bank.enqueue(metas, packet, context),
            other => other.enqueue_elsewhere(metas, packet, &mut context.lend()),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        match self {
            Scheduler::Bank(bank) => bank.dequeue(metas, context),
            other => other.dequeue_elsewhere(metas, &mut context.lend()),
        }
    }

    fn dequeue_unheld(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>, held: u64) -> Option<u32> {
        each!(part self, port => port.dequeue_unheld(metas, context, held))
    }

    fn take_newest(&mut self, metas: &mut [Meta], queue: usize, longer_than: u16) -> Option<u32> {
        each!(part self, port => port.take_newest(metas, queue, longer_than))
    }

    fn limits(&self) -> Option<&Limits> {
        each!(part self, port => port.limits())
    }

    fn reserve(&mut self, packets: usize) {
        each!(part self, port => port.reserve(packets));
    }

    fn bypass_bytes(&self) -> u64 {
        each!(part self, port => port.bypass_bytes())
    }

    #[inline(always)]
    fn backlog_bytes(&self) -> u64 {
        match self {
            Scheduler::Bank(bank) => bank.backlog_bytes(),
            other => other.backlog_elsewhere(),
        }
    }

    fn waiting_in(&self, queue: usize) -> Option<Waiting> {
        each!(part self, port => port.waiting_in(queue))
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        each!(part self, port => port.observe(see));
    }

    fn on_table(&mut self, published: &Published) {
        each!(part self, port => port.on_table(published));
    }

    fn queues(&self) -> usize {
        each!(part self, port => port.queues()).clamp(1, MAX_QUEUES)
    }
}
