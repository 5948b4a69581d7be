//! The built-in port schedulers: the one list of them.

pub mod afq;
pub mod awafs;
pub mod bank;
pub mod fair_queueing;
pub mod flow_queues;
pub mod host_queues;
pub mod pcoflow;
pub mod pcoflow_sp_pifo;
pub mod pfabric;
pub mod pifo;
mod presence;
pub mod qcluster;
pub mod sp_pifo;

use std::fmt;
use std::sync::Arc;

use crate::admission::Admission;
use crate::afq::{Afq, AfqRules};
use crate::awafs::{AwafsParams, AwafsPort};
use crate::bank::{BankRules, FifoBank};
use crate::controller::Published;
use crate::discipline::Discipline;
use crate::fair_queueing::{BitByBit, FairQueueing};
use crate::flow_queues::{FlowScheduler, Order};
use crate::host_queues::{HostQueueRules, HostQueues};
use crate::marker::Marker;
use crate::meta::Meta;
use crate::pcoflow::{PcoflowPort, PcoflowRules};
use crate::pcoflow_sp_pifo::{PcoflowSpPifo, PcoflowSpPifoRules};
use crate::pfabric::{PfabricPool, PoolRules};
use crate::pifo::{Pifo, PifoRules};
use crate::qcluster::{ClusterParams, ClusterPort};
use crate::readings::Reading;
use crate::scheduler::{MAX_QUEUES, PortContext, PortRules, PortScheduler, PortSite, Verdict};
use crate::site::Site;
use crate::sp_pifo::{SpPifo, SpPifoRules};

/// Makes both enums of lines `Variant(rules) => scheduler`, and adds those of the user's own. A large scheduler stands in a
/// box.
macro_rules! ports {
    ($($(#[$doc:meta])* $kind:ident($rules:ty) => $port:ty;)*) => {
        /// A discipline with what it is set to.
        #[derive(Clone, Debug)]
        pub enum PortKind {
            $($(#[$doc])* $kind($rules),)*
            /// One of the user's own.
            Custom(CustomPort),
        }

        impl PortKind {
            /// An empty scheduler for a port; where it is is asked for one of the user's own. Panics as
            /// [`PortRules::build`].
            pub fn build(&self, port: &PortSite, site: impl FnOnce() -> Site) -> Scheduler {
                match self {
                    $(PortKind::$kind(rules) => Scheduler::$kind(rules.build(port).into()),)*
                    PortKind::Custom(own) => Scheduler::Custom((own.0)(port, &site())),
                }
            }

            /// [`PortRules::sketch_bytes`].
            pub fn sketch_bytes(&self) -> u64 {
                match self {
                    $(PortKind::$kind(rules) => rules.sketch_bytes(),)*
                    PortKind::Custom(_) => 0,
                }
            }

            /// [`PortRules::without_limits`].
            pub fn without_limits(&mut self) {
                match self {
                    $(PortKind::$kind(rules) => rules.without_limits(),)*
                    PortKind::Custom(_) => {}
                }
            }
        }

        /// Every scheduler as one type, so that a port calls it without indirection.
        #[repr(u8)]
        pub enum Scheduler {
            $($(#[$doc])* $kind($port),)*
            /// One of the user's own.
            Custom(Box<dyn PortScheduler>),
        }

        /// Banks are called in place; to have the others there too would cost every packet of a bank registers.
        impl Scheduler {
            #[inline(never)]
            fn enqueue_elsewhere(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
                match self {
                    $(Scheduler::$kind(port) => port.enqueue(metas, packet, context),)*
                    Scheduler::Custom(port) => port.enqueue(metas, packet, context),
                }
            }

            #[inline(never)]
            fn dequeue_elsewhere(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
                match self {
                    $(Scheduler::$kind(port) => port.dequeue(metas, context),)*
                    Scheduler::Custom(port) => port.dequeue(metas, context),
                }
            }

            #[inline(never)]
            fn backlog_elsewhere(&self) -> u64 {
                match self {
                    $(Scheduler::$kind(port) => port.backlog_bytes(),)*
                    Scheduler::Custom(port) => port.backlog_bytes(),
                }
            }

            /// For what is seldom asked.
            fn port(&self) -> &dyn PortScheduler {
                match self {
                    $(Scheduler::$kind(port) => port,)*
                    Scheduler::Custom(port) => &**port,
                }
            }

            /// The same, to change it.
            fn port_mut(&mut self) -> &mut dyn PortScheduler {
                match self {
                    $(Scheduler::$kind(port) => port,)*
                    Scheduler::Custom(port) => &mut **port,
                }
            }
        }
    };
}

ports! {
    /// FIFO queues under strict priority, WRR or DRR.
    Bank(BankRules) => FifoBank;
    /// One queue sorted by rank.
    Pifo(PifoRules) => Pifo;
    /// pFabric's pool.
    Pfabric(PoolRules) => PfabricPool;
    /// The textbook disciplines over flows: PS, SRPT, LAS.
    Flows(Order) => FlowScheduler;
    /// A host's queues by its own levels.
    Host(HostQueueRules) => Box<HostQueues>;
    /// QCluster's queues.
    Cluster(ClusterParams) => Box<ClusterPort>;
    /// SP-PIFO's queues.
    SpPifo(SpPifoRules) => Box<SpPifo>;
    /// AFQ's calendar.
    Afq(AfqRules) => Box<Afq>;
    /// Bit-by-bit round robin over flows.
    Fair(BitByBit) => Box<FairQueueing>;
    /// pCoflow's bands.
    Pcoflow(PcoflowRules) => Box<PcoflowPort>;
    /// pCoflow's ranks in SP-PIFO's queues.
    PcoflowSpPifo(PcoflowSpPifoRules) => Box<PcoflowSpPifo>;
    /// AWAFS's queues.
    Awafs(AwafsParams) => Box<AwafsPort>;
}

/// How a scheduler of the user's own is made for each port.
#[derive(Clone)]
pub struct CustomPort(Arc<MakePort>);

type MakePort = dyn Fn(&PortSite, &Site) -> Box<dyn PortScheduler> + Send + Sync;

impl PortKind {
    /// A discipline of the user's own, made of what the port is and where it is. What the port may hold and what it marks is
    /// for the scheduler to keep.
    pub fn custom<P>(make: impl Fn(&PortSite, &Site) -> P + Send + Sync + 'static) -> PortKind
    where
        P: PortScheduler + 'static,
    {
        PortKind::Custom(CustomPort(Arc::new(move |port, site| Box::new(make(port, site)))))
    }
}

impl fmt::Debug for CustomPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("custom")
    }
}

impl Default for Scheduler {
    /// One FIFO queue without a limit or marks.
    fn default() -> Scheduler {
        Scheduler::Bank(FifoBank::new(1, Admission::Unlimited, Marker::Off, Discipline::StrictPriority))
    }
}

/// Fetching ahead, for owners with more ports than the caches hold; where it is not worth it, nothing happens.
impl Scheduler {
    /// Fetches the queues.
    #[inline(always)]
    pub fn fetch_queues(&self) {
        match self {
            Scheduler::Bank(bank) => bank.fetch_queues(),
            Scheduler::Pfabric(pool) => pool.fetch_queues(),
            _ => {}
        }
    }

    /// Fetches the packet that may leave next.
    #[inline(always)]
    pub fn fetch_front(&self, metas: &[Meta]) {
        match self {
            Scheduler::Bank(bank) => bank.fetch_front(metas),
            Scheduler::Pfabric(pool) => pool.fetch_front(metas),
            _ => {}
        }
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

    fn bypass_bytes(&self) -> u64 {
        self.port().bypass_bytes()
    }

    #[inline(always)]
    fn backlog_bytes(&self) -> u64 {
        match self {
            Scheduler::Bank(bank) => bank.backlog_bytes(),
            other => other.backlog_elsewhere(),
        }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        self.port().observe(see);
    }

    fn on_table(&mut self, published: &Published) {
        self.port_mut().on_table(published);
    }

    fn queues(&self) -> usize {
        self.port().queues().clamp(1, MAX_QUEUES)
    }
}
