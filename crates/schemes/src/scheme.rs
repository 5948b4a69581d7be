//! A scheme: which parts act where. See the registry for those that are built in.

use std::sync::Arc;

use flowsieve_core::admission::Admission;
use flowsieve_core::awafs::HostThresholds;
use flowsieve_core::awafs::host::HostParams;
use flowsieve_core::balancer::{Balancer, FlowletTable};
use flowsieve_core::climb::{Climb, ClimbParams};
use flowsieve_core::coflow::tagger::{HostRules, LevelTagger};
use flowsieve_core::hula::{Hula, HulaParams};
use flowsieve_core::levels::{LevelParams, Levels};
use flowsieve_core::marker::Marker;
use flowsieve_core::message_gap::MessageGap;
use flowsieve_core::predicted::Outlived;
use flowsieve_core::program::{Asked, Watches};
use flowsieve_core::scheduler::{Line, PortSite};
use flowsieve_core::tagger::{ClusterTagger, TagPackets, Tagger};
use flowsieve_core::{Place, PortKind, Rate, Scheduler, Site, SwitchProgram, Time};
use flowsieve_transport::TransportSpec;

use crate::controller::ControllerSpec;

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
    pub ports: ByPlace<PortSpec>,
    /// By [`Place`]; the NIC's is not used.
    pub balancers: ByPlace<BalancerSpec>,
    /// Bytes of a switch's memory where its ports share one.
    pub shared_buffer: u64,
    /// What decides beside the packets, in the order in which it does at one instant. It neither hears of hosts that misuse
    /// nor is heard by them.
    pub controllers: Vec<ControllerSpec>,
}

impl Scheme {
    /// Bytes of a packet's headers, as ports are told: those of the first class of flow.
    pub fn header(&self) -> u16 {
        self.classes.first().map_or(0, |class| class.transport.facts().header)
    }

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
pub struct ByPlace<T> {
    values: [T; 4],
}

impl<T> ByPlace<T> {
    /// The value that `make` gives each place.
    pub fn try_from_fn<E>(mut make: impl FnMut(Place) -> Result<T, E>) -> Result<ByPlace<T>, E> {
        let [nic, leaf, spine, core] = Place::ALL;
        Ok(ByPlace { values: [make(nic)?, make(leaf)?, make(spine)?, make(core)?] })
    }

    /// What `make` makes of the value at each place.
    pub fn try_map<E>(&self, mut make: impl FnMut(Place, &T) -> Result<T, E>) -> Result<ByPlace<T>, E> {
        ByPlace::try_from_fn(|place| make(place, self.at(place)))
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
    /// How long a host needs for the prediction of a message before it can begin to send it.
    pub inference: Time,
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
    /// [`Tagger::Climb`].
    Climb(ClimbParams),
    /// [`Tagger::Levels`].
    Levels(LevelParams),
    /// [`Tagger::DeadlineFirst`].
    DeadlineFirst(Rate),
    /// [`Tagger::Remaining`].
    Remaining,
    /// [`Tagger::Predicted`].
    Predicted(Outlived),
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
    /// [`Tagger::Coflow`].
    Coflow(HostRules),
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
            TaggerSpec::Climb(params) => Tagger::Climb(Box::new(Climb::new(params))),
            TaggerSpec::Levels(params) => Tagger::Levels(Box::new(Levels::new(params))),
            TaggerSpec::DeadlineFirst(rate) => Tagger::DeadlineFirst { rate: *rate },
            TaggerSpec::Remaining => Tagger::Remaining,
            TaggerSpec::Predicted(outlived) => Tagger::Predicted(*outlived),
            TaggerSpec::ToTheEnd => Tagger::ToTheEnd,
            TaggerSpec::Attained => Tagger::Attained,
            TaggerSpec::Cluster(tagger) => Tagger::Cluster(*tagger),
            TaggerSpec::Ends(sent) => Tagger::Ends { sent: *sent },
            TaggerSpec::Adaptive(params) => Tagger::Adaptive(Box::new(HostThresholds::new(params))),
            TaggerSpec::Coflow(rules) => Tagger::Coflow(Box::new(LevelTagger::new(*rules))),
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
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// Its discipline.
    pub kind: PortKind,
    /// Drop-tail limit.
    pub admission: Admission,
    /// ECN.
    pub marker: Marker,
}

impl PortSpec {
    /// A port without limits and marks.
    pub fn unlimited(kind: PortKind) -> PortSpec {
        PortSpec { kind, admission: Admission::Unlimited, marker: Marker::Off }
    }

    /// A scheduler for a port in front of `line`, to which packets come with so many bytes of headers; where it is is asked
    /// for one of the user's own.
    pub fn build(&self, line: Line, header: u16, site: impl FnOnce() -> Site) -> Scheduler {
        self.kind.build(&PortSite { line, header, admission: self.admission, marker: self.marker }, site)
    }

    /// The same discipline with room for everything and without marks: a host's port under backpressure.
    #[must_use]
    pub fn without_limits(&self) -> PortSpec {
        let mut kind = self.kind.clone();
        kind.without_limits();
        PortSpec::unlimited(kind)
    }

    /// Whether it takes from its switch's shared memory.
    pub fn shares_memory(&self) -> bool {
        matches!(self.admission, Admission::Shared { .. })
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
    /// [`Hula`].
    Hula(HulaParams),
    /// One of the user's own.
    Custom(Custom<dyn SwitchProgram>),
}

impl BalancerSpec {
    /// Whether switches have a program.
    pub fn is_program(&self) -> bool {
        matches!(self, BalancerSpec::Hula(_) | BalancerSpec::Custom(_))
    }

    /// The program of a switch, if it has one; its site is asked for then.
    pub fn program(&self, site: impl FnOnce() -> Site) -> Option<Box<dyn SwitchProgram>> {
        match self {
            BalancerSpec::Hula(params) => Some(Box::new(Hula::new(&site(), *params))),
            BalancerSpec::Custom(make) => Some(make(&site())),
            _ => None,
        }
    }

    /// A balancer for a switch with `groups` groups of next hops; `salt` differs by switch. What its program watches says
    /// whether it is asked for flowlets.
    pub fn build(&self, groups: usize, salt: u64, watches: Watches) -> Balancer {
        match self {
            BalancerSpec::Ecmp => Balancer::Ecmp { salt },
            BalancerSpec::SprayRoundRobin => Balancer::SprayRoundRobin { next: vec![0; groups] },
            BalancerSpec::SprayRandom => Balancer::SprayRandom,
            BalancerSpec::Flowlet { gap } => Balancer::Flowlet(FlowletTable::new(*gap)),
            BalancerSpec::Hula(_) | BalancerSpec::Custom(_) => {
                let flowlets =
                    if let Asked::Flowlets(gap) = watches.packets { Some(FlowletTable::new(gap)) } else { None };
                Balancer::Program(flowlets)
            }
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
        TaggerSpec::Climb(params) => format!("{params:?}"),
        TaggerSpec::Levels(params) => format!("{params:?}"),
        TaggerSpec::DeadlineFirst(rate) => format!("deadline first, at {rate}"),
        TaggerSpec::Remaining => "remaining".into(),
        TaggerSpec::Predicted(outlived) => format!("left of the predicted size; outlived: {outlived:?}"),
        TaggerSpec::ToTheEnd => "to the end".into(),
        TaggerSpec::Attained => "attained".into(),
        TaggerSpec::Cluster(tagger) => format!("{tagger:?}"),
        TaggerSpec::Ends(sent) => format!("ends of flows, bytes sent: {sent}"),
        TaggerSpec::Adaptive(params) => format!("{params:?}"),
        TaggerSpec::Coflow(rules) => format!("{rules:?}"),
        TaggerSpec::Custom(_) => "custom".into();
    BalancerSpec:
        BalancerSpec::Ecmp => "ECMP".into(),
        BalancerSpec::SprayRoundRobin => "spray, round robin".into(),
        BalancerSpec::SprayRandom => "spray, random".into(),
        BalancerSpec::Flowlet { gap } => format!("flowlets, gap {gap}"),
        BalancerSpec::Hula(params) => format!("{params:?}"),
        BalancerSpec::Custom(_) => "custom".into();
}
