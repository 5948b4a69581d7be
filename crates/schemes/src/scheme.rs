//! A scheme: which parts act where. See the registry for those that are built in.

use flowsieve_core::admission::Admission;
use flowsieve_core::marker::Marker;
use flowsieve_core::scheduler::{Line, PortSite};
use flowsieve_core::{BalancerSpec, ControllerSpec, Place, PortKind, Scheduler, Site, Tagger, TaggerSpec, Time};
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
