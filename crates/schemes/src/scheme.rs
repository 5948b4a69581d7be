//! A scheme: which parts act where. See the registry for those that are built in.

use std::sync::Arc;

use flowsieve_core::admission::Admission;
use flowsieve_core::afq::{Afq, AfqRules, Beyond, BidStore};
use flowsieve_core::awafs::host::HostParams;
use flowsieve_core::awafs::{AwafsParams, AwafsPort, HostThresholds};
use flowsieve_core::balancer::{Balancer, FlowletTable};
use flowsieve_core::bank::FifoBank;
use flowsieve_core::discipline::Discipline;
use flowsieve_core::fair_queueing::{FairQueueing, Line};
use flowsieve_core::flow_queues::{FlowScheduler, Order};
use flowsieve_core::host_queues::HostQueues;
use flowsieve_core::levels::{LevelParams, Levels};
use flowsieve_core::marker::Marker;
use flowsieve_core::message_gap::MessageGap;
use flowsieve_core::pfabric::PfabricPool;
use flowsieve_core::pifo::Pifo;
use flowsieve_core::qcluster::{ClusterParams, ClusterPort};
use flowsieve_core::sp_pifo::SpPifo;
use flowsieve_core::tagger::{ClusterTagger, TagPackets, Tagger};
use flowsieve_core::{Place, PortScheduler, Rate, Scheduler, Site, SwitchProgram, Time};
use flowsieve_transport::TransportSpec;

/// A scheme, ready to be placed in a fabric.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// The variant's name in the experiment.
    pub name: String,
    /// One for each class of flow, by the flow's class number; a flow of a higher class takes the last.
    pub classes: Vec<Class>,
    /// The first hosts, so many, write nothing into packets that would lower their priority.
    pub misusing_hosts: u32,
    /// A host's own port.
    pub nic: Nic,
    /// By [`Place`]; the NIC's is in force with [`Nic::Scheme`] and, without limits and marks, with
    /// [`Nic::Backpressure`].
    pub ports: Places<PortSpec>,
    /// By [`Place`]; the NIC's is not used.
    pub balancers: Places<BalancerSpec>,
    /// Bytes of a switch's memory where its ports share one.
    pub shared_buffer: u64,
}

impl Scheme {
    /// The taggers of a host, by class of flow; `site` gives that of a class where it is asked for.
    pub fn taggers(&self, host: u32, site: impl Fn(u8) -> Site) -> Vec<Tagger> {
        let misuses = host < self.misusing_hosts;
        let tagger = |(class, number): (&Class, u8)| {
            let site = || site(number);
            if misuses { class.tagger.misused().build(site) } else { class.tagger.build(site) }
        };
        self.classes.iter().zip(0..).map(tagger).collect()
    }
}

/// One value for each place.
#[derive(Clone, Debug)]
pub struct Places<T> {
    values: [T; 4],
}

impl<T> Places<T> {
    /// The value that `make` gives each place.
    pub fn try_from_fn<E>(mut make: impl FnMut(Place) -> Result<T, E>) -> Result<Places<T>, E> {
        let [nic, leaf, spine, core] = Place::ALL;
        Ok(Places { values: [make(nic)?, make(leaf)?, make(spine)?, make(core)?] })
    }

    /// What `make` makes of the value at each place.
    pub fn try_map<E>(&self, mut make: impl FnMut(Place, &T) -> Result<T, E>) -> Result<Places<T>, E> {
        Places::try_from_fn(|place| make(place, self.at(place)))
    }

    /// The value at a place.
    pub fn at(&self, place: Place) -> &T {
        &self.values[place as usize]
    }
}

/// What hosts do with a class of flow.
#[derive(Clone, Debug)]
pub struct Class {
    /// How its messages are sent.
    pub transport: TransportSpec,
    /// What is written into its packets.
    pub tagger: TaggerSpec,
}

/// A host's own port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// The host gives its transports no turn while so many bytes are queued; nothing is lost or marked there.
    Backpressure {
        /// Bytes.
        backlog: u64,
    },
    /// A port like a switch's, with its buffer, drops and marks.
    Scheme,
}

/// Makes a part of the user's own for its site.
pub type Custom<T> = Arc<dyn Fn(&Site) -> Box<T> + Send + Sync>;

/// How to make a tagger.
#[derive(Clone)]
pub enum TaggerSpec {
    /// [`Tagger::Plain`].
    Plain,
    /// [`Tagger::Demotion`].
    Demotion(Vec<u64>),
    /// [`Tagger::DemotionByGap`]: thresholds, and the gap.
    DemotionByGap(Vec<u64>, Time),
    /// [`Tagger::Levels`].
    Levels(Box<LevelParams>),
    /// [`Tagger::DeadlineFirst`].
    DeadlineFirst(Rate),
    /// [`Tagger::Remaining`].
    Remaining,
    /// [`Tagger::ToTheEnd`].
    ToTheEnd,
    /// [`Tagger::Attained`].
    Attained,
    /// [`Tagger::Cluster`].
    Cluster(ClusterTagger),
    /// [`Tagger::Ends`]: whether bytes sent are written, too.
    Ends(bool),
    /// [`Tagger::Adaptive`].
    Adaptive(Arc<HostParams>),
    /// One of the user's own.
    Custom(Custom<dyn TagPackets>),
}

impl TaggerSpec {
    /// A tagger for one host; its site is asked for where it is one of the user's own.
    pub fn build(&self, site: impl FnOnce() -> Site) -> Tagger {
        match self {
            TaggerSpec::Plain => Tagger::Plain,
            TaggerSpec::Demotion(thresholds) => Tagger::Demotion { thresholds: thresholds.clone() },
            TaggerSpec::DemotionByGap(thresholds, gap) => {
                Tagger::DemotionByGap { thresholds: thresholds.clone(), sent: Box::new(MessageGap::new(*gap)) }
            }
            TaggerSpec::Levels(params) => Tagger::Levels(Box::new(Levels::new(params))),
            TaggerSpec::DeadlineFirst(rate) => Tagger::DeadlineFirst { rate: *rate },
            TaggerSpec::Remaining => Tagger::Remaining,
            TaggerSpec::ToTheEnd => Tagger::ToTheEnd,
            TaggerSpec::Attained => Tagger::Attained,
            TaggerSpec::Cluster(tagger) => Tagger::Cluster(*tagger),
            TaggerSpec::Ends(sent) => Tagger::Ends { sent: *sent },
            TaggerSpec::Adaptive(params) => Tagger::Adaptive(Box::new(HostThresholds::new(params))),
            TaggerSpec::Custom(make) => Tagger::Boxed(make(&site())),
        }
    }

    /// What a host writes that claims the highest priority for all it sends: priority 0 and rank 0. The end of a
    /// connection alone is no claim but the transport's own, a FIN.
    #[must_use]
    pub fn misused(&self) -> TaggerSpec {
        if let TaggerSpec::Ends(false) = self { TaggerSpec::Ends(false) } else { TaggerSpec::Plain }
    }
}

/// How to make a port's scheduler.
#[derive(Clone)]
pub enum PortSpec {
    /// FIFO queues; see [`FifoBank`].
    Bank {
        /// How many.
        queues: usize,
        /// Drop-tail limit.
        admission: Admission,
        /// ECN.
        marker: Marker,
        /// Service order.
        discipline: Discipline,
    },
    /// A host's queues by its own levels; see [`HostQueues`].
    HostQueues {
        /// How many.
        queues: usize,
        /// Drop-tail limit.
        admission: Admission,
        /// ECN.
        marker: Marker,
    },
    /// One queue sorted by rank; see [`Pifo`].
    Pifo {
        /// The rank from which it is a FIFO, where it has one beside it.
        fifo_from: Option<u64>,
        /// Drop-tail limit.
        admission: Admission,
        /// ECN.
        marker: Marker,
    },
    /// See [`PfabricPool`].
    Pfabric {
        /// Bytes.
        limit: u64,
    },
    /// See [`FlowScheduler`].
    Flows {
        /// Which flow sends.
        order: Order,
        /// Drop-tail limit.
        admission: Admission,
        /// ECN.
        marker: Marker,
    },
    /// See [`FairQueueing`].
    Fair {
        /// Drop-tail limit.
        admission: Admission,
        /// ECN.
        marker: Marker,
    },
    /// See [`SpPifo`].
    SpPifo {
        /// How many queues.
        queues: usize,
        /// Drop-tail limit.
        admission: Admission,
        /// ECN.
        marker: Marker,
    },
    /// See [`Afq`].
    Afq {
        /// The calendar and the bids.
        rules: AfqRules,
        /// Drop-tail limit.
        admission: Admission,
        /// ECN.
        marker: Marker,
    },
    /// See [`ClusterPort`].
    Cluster {
        /// Groups of queues, sketch, disorder avoidance.
        params: Arc<ClusterParams>,
        /// Drop-tail limit.
        admission: Admission,
        /// ECN.
        marker: Marker,
    },
    /// See [`AwafsPort`].
    Awafs {
        /// Thresholds, ends of flows, boost.
        params: Arc<AwafsParams>,
        /// Drop-tail limit.
        admission: Admission,
        /// ECN.
        marker: Marker,
    },
    /// One of the user's own.
    Custom(Custom<dyn PortScheduler>),
}

impl PortSpec {
    /// A scheduler for a port in front of `line`; its site is asked for where it is one of the user's own.
    pub fn build(&self, line: Line, site: impl FnOnce() -> Site) -> Scheduler {
        match self {
            PortSpec::Bank { queues, admission, marker, discipline } => {
                Scheduler::Bank(FifoBank::new(*queues, *admission, *marker, discipline.clone()))
            }
            PortSpec::HostQueues { queues, admission, marker } => {
                Scheduler::Host(Box::new(HostQueues::new(*queues, *admission, *marker)))
            }
            PortSpec::Pifo { fifo_from, admission, marker } => {
                // No rank is above 32 bits.
                let from = fifo_from.and_then(|from| u32::try_from(from).ok());
                Scheduler::Pifo(Pifo::new(from, *admission, *marker))
            }
            PortSpec::Pfabric { limit } => Scheduler::Pfabric(PfabricPool::new(*limit)),
            PortSpec::Flows { order, admission, marker } => {
                Scheduler::Flows(FlowScheduler::new(*order, *admission, *marker))
            }
            PortSpec::Fair { admission, marker } => {
                Scheduler::Fair(Box::new(FairQueueing::new(line, *admission, *marker)))
            }
            PortSpec::SpPifo { queues, admission, marker } => {
                Scheduler::SpPifo(Box::new(SpPifo::new(*queues, *admission, *marker)))
            }
            PortSpec::Afq { rules, admission, marker } => {
                Scheduler::Afq(Box::new(Afq::new(*rules, *admission, *marker)))
            }
            PortSpec::Cluster { params, admission, marker } => {
                Scheduler::Cluster(Box::new(ClusterPort::new(params, *admission, *marker)))
            }
            PortSpec::Awafs { params, admission, marker } => {
                Scheduler::Awafs(Box::new(AwafsPort::new(params, line, *admission, *marker)))
            }
            PortSpec::Custom(make) => Scheduler::Boxed(make(&site())),
        }
    }

    /// The same discipline with room for everything and without marks: a host's port under backpressure. One of the
    /// user's own keeps its limits: what they are, only it knows.
    #[must_use]
    pub fn without_limits(&self) -> PortSpec {
        let mut free = self.clone();
        match &mut free {
            PortSpec::Bank { admission, marker, .. }
            | PortSpec::HostQueues { admission, marker, .. }
            | PortSpec::Pifo { admission, marker, .. }
            | PortSpec::Flows { admission, marker, .. }
            | PortSpec::Fair { admission, marker }
            | PortSpec::Cluster { admission, marker, .. }
            | PortSpec::Awafs { admission, marker, .. }
            | PortSpec::SpPifo { admission, marker, .. } => {
                *admission = Admission::Unlimited;
                *marker = Marker::Off;
            }
            PortSpec::Afq { rules, admission, marker } => {
                rules.beyond = Beyond::LastQueue;
                *admission = Admission::Unlimited;
                *marker = Marker::Off;
            }
            PortSpec::Pfabric { limit } => *limit = u64::MAX,
            PortSpec::Custom(_) => {}
        }
        free
    }

    /// Whether it takes from its switch's shared memory.
    pub fn shares_memory(&self) -> bool {
        match self {
            PortSpec::Bank { admission, .. }
            | PortSpec::HostQueues { admission, .. }
            | PortSpec::Pifo { admission, .. }
            | PortSpec::Flows { admission, .. }
            | PortSpec::Fair { admission, .. }
            | PortSpec::Cluster { admission, .. }
            | PortSpec::Awafs { admission, .. }
            | PortSpec::SpPifo { admission, .. }
            | PortSpec::Afq { admission, .. } => matches!(admission, Admission::Shared { .. }),
            PortSpec::Pfabric { .. } | PortSpec::Custom(_) => false,
        }
    }

    /// Bytes of its sketch, as a switch holds it; 0 where it has none.
    pub fn sketch_bytes(&self) -> u64 {
        match self {
            PortSpec::Cluster { params, .. } => params.sketch.bytes(),
            PortSpec::Afq { rules: AfqRules { bids: BidStore::Sketch { rows, columns }, .. }, .. } => {
                8 * *rows as u64 * *columns as u64
            }
            _ => 0,
        }
    }
}

/// How to make a switch's balancer.
#[derive(Clone)]
pub enum BalancerSpec {
    /// [`Balancer::Ecmp`].
    Ecmp,
    /// [`Balancer::SprayRoundRobin`].
    SprayRoundRobin,
    /// [`Balancer::SprayRandom`].
    SprayRandom,
    /// [`Balancer::Flowlet`].
    Flowlet {
        /// Idle time that ends a flowlet.
        gap: Time,
    },
    /// One of the user's own.
    Custom(Custom<dyn SwitchProgram>),
}

impl BalancerSpec {
    /// A balancer for a switch with `groups` groups of next hops; `salt` differs by switch. A program is made apart.
    pub fn build(&self, groups: usize, salt: u64) -> Balancer {
        match self {
            BalancerSpec::Ecmp => Balancer::Ecmp { salt },
            BalancerSpec::SprayRoundRobin => Balancer::SprayRoundRobin { next: vec![0; groups] },
            BalancerSpec::SprayRandom => Balancer::SprayRandom,
            BalancerSpec::Flowlet { gap } => Balancer::Flowlet(FlowletTable::new(*gap)),
            BalancerSpec::Custom(_) => Balancer::Program,
        }
    }

    /// Whether the packets of one flow may take several ways at once.
    pub fn splits_flows(&self) -> bool {
        !matches!(self, BalancerSpec::Ecmp)
    }
}

macro_rules! debug_by_shape {
    ($($spec:ident: $($pattern:pat => $shown:expr),*;)*) => {$(
        impl std::fmt::Debug for $spec {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let shown: String = match self { $($pattern => $shown),* };
                f.write_str(&shown)
            }
        }
    )*};
}

debug_by_shape! {
    TaggerSpec:
        TaggerSpec::Plain => "plain".into(),
        TaggerSpec::Demotion(t) => format!("demotion at {t:?}"),
        TaggerSpec::DemotionByGap(t, gap) => format!("demotion at {t:?}, messages apart by {gap}"),
        TaggerSpec::Levels(params) => format!("{params:?}"),
        TaggerSpec::DeadlineFirst(rate) => format!("deadline first, at {rate}"),
        TaggerSpec::Remaining => "remaining".into(),
        TaggerSpec::ToTheEnd => "to the end".into(),
        TaggerSpec::Attained => "attained".into(),
        TaggerSpec::Cluster(tagger) => format!("{tagger:?}"),
        TaggerSpec::Ends(sent) => format!("ends of flows, bytes sent: {sent}"),
        TaggerSpec::Adaptive(params) => format!("{params:?}"),
        TaggerSpec::Custom(_) => "custom".into();
    PortSpec:
        PortSpec::Bank { queues, admission, marker, discipline } =>
            format!("{queues} queues, {discipline:?}, {admission:?}, {marker:?}"),
        PortSpec::HostQueues { queues, admission, marker } => format!("{queues} queues of the host's, {admission:?}, {marker:?}"),
        PortSpec::Pifo { fifo_from, admission, marker } => format!("PIFO, FIFO from {fifo_from:?}, {admission:?}, {marker:?}"),
        PortSpec::Pfabric { limit } => format!("pFabric pool of {limit} bytes"),
        PortSpec::Flows { order, admission, marker } => format!("flows, {order:?}, {admission:?}, {marker:?}"),
        PortSpec::Fair { admission, marker } => format!("fair queueing, {admission:?}, {marker:?}"),
        PortSpec::SpPifo { queues, admission, marker } => format!("SP-PIFO of {queues} queues, {admission:?}, {marker:?}"),
        PortSpec::Afq { rules, admission, marker } => format!("{rules:?}, {admission:?}, {marker:?}"),
        PortSpec::Cluster { params, admission, marker } => format!("{params:?}, {admission:?}, {marker:?}"),
        PortSpec::Awafs { params, admission, marker } => format!("{params:?}, {admission:?}, {marker:?}"),
        PortSpec::Custom(_) => "custom".into();
    BalancerSpec:
        BalancerSpec::Ecmp => "ECMP".into(),
        BalancerSpec::SprayRoundRobin => "spray, round robin".into(),
        BalancerSpec::SprayRandom => "spray, random".into(),
        BalancerSpec::Flowlet { gap } => format!("flowlets, gap {gap}"),
        BalancerSpec::Custom(_) => "custom".into();
}
