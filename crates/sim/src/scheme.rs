//! A scheme: which parts act where. The registry has the built-in ones.

use std::fmt;

use flowsieve_core::admission::Admission;
use flowsieve_core::hop::HopSpec;
use flowsieve_core::marker::Marker;
use flowsieve_core::scheduler::{Line, PortSite};
use flowsieve_core::{
    BalancerSpec, ByteTime, ControllerSpec, Misuse, Place, PortKind, Rate, Scheduler, Site, Tagger, TaggerSpec, Time,
};
use flowsieve_transport::TransportSpec;

use crate::topology::Fabric;

/// A scheme, ready to be placed in a fabric.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// The variant's name in the experiment.
    pub name: String,
    /// One for each class of flow, by the flow's class number; a flow of a higher class takes the last.
    pub classes: Vec<Class>,
    /// What some hosts do that misuse the scheme.
    pub misuse: Misuse,
    /// A host's own port.
    pub nic: Nic,
    /// By [`Place`]; [`Scheme::port`] says what is in force.
    pub ports: ByPlace<PortSpec>,
    /// By [`Place`]; the NIC's is not used.
    pub balancers: ByPlace<BalancerSpec>,
    /// Bytes of a switch's memory, if its ports share one.
    pub shared_buffer: u64,
    /// What switches do at their ports beyond queueing, in the order in which they do it. At most one of them pauses.
    pub on_hop: Vec<HopSpec>,
    /// The controllers, in the order in which they decide at one instant.
    pub controllers: Vec<ControllerSpec>,
}

impl Scheme {
    /// Returns the bytes of a packet's headers, as ports know them: those of the first class of flow.
    pub fn header(&self) -> u16 {
        self.classes.first().map_or(0, |class| class.transport.facts().header)
    }

    /// Returns how ports at a place are built. A host's port has neither limits nor marks under
    /// [`Nic::Backpressure`].
    pub fn port(&self, place: Place) -> PortSpec {
        let spec = self.ports.at(place);
        match (place, self.nic) {
            (Place::Nic, Nic::Backpressure { .. }) => spec.without_limits(),
            _ => spec.clone(),
        }
    }

    /// Builds the taggers of a host, by class of flow; `site` is called only for custom taggers and returns a class's site.
    pub fn taggers(&self, host: u32, site: impl Fn(u8) -> Site) -> Vec<Tagger> {
        let tagger = |(class, number): (&Class, u8)| {
            let site = || site(number);
            let misused = self.misuse.is_by(host).then(|| class.tagger.misused(self.misuse.piece));
            misused.as_ref().unwrap_or(&class.tagger).build(site)
        };
        self.classes.iter().zip(0..).map(tagger).collect()
    }
}

/// One value for each place. At a place that the fabric lacks it is that of a place before, and acts on nothing.
#[derive(Clone)]
pub struct ByPlace<T> {
    values: [T; 4],
    there: Places,
}

/// Which places a fabric has, in the order of [`Place::ALL`].
pub type Places = [bool; 4];

/// A fabric with every place.
pub const EVERY_PLACE: Places = [true; 4];

/// Returns the places of a fabric: its hosts' ports, and those of its switches.
pub fn places(fabric: &Fabric) -> Places {
    Place::ALL.map(|place| place == Place::Nic || fabric.switches.iter().any(|switch| switch.place == place))
}

impl<T: Clone> ByPlace<T> {
    /// Builds the values with `make`, one for each place.
    pub fn try_from_fn<E>(make: impl FnMut(Place) -> Result<T, E>) -> Result<ByPlace<T>, E> {
        ByPlace::at_places(EVERY_PLACE, make)
    }

    /// Builds the values with `make`, one for each place that is there. Hosts always are.
    pub fn at_places<E>(there: Places, mut make: impl FnMut(Place) -> Result<T, E>) -> Result<ByPlace<T>, E> {
        let nic = make(Place::Nic)?;
        let mut of = |place: Place, other: &T| if there[place as usize] { make(place) } else { Ok(other.clone()) };
        let leaf = of(Place::Leaf, &nic)?;
        let spine = of(Place::Spine, &leaf)?;
        let core = of(Place::Core, &leaf)?;
        Ok(ByPlace { values: [nic, leaf, spine, core], there })
    }

    /// Maps the value at each place that is there with `make`.
    pub fn try_map<E>(&self, mut make: impl FnMut(Place, &T) -> Result<T, E>) -> Result<ByPlace<T>, E> {
        ByPlace::at_places(self.there, |place| make(place, self.at(place)))
    }
}

impl<T: fmt::Debug> fmt::Debug for ByPlace<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ByPlace").field("values", &self.values).finish()
    }
}

impl<T> ByPlace<T> {
    /// Returns the value at a place.
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
    /// The time that a host needs to predict a message before it can begin to send it.
    pub inference: Time,
}

/// A host's own port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// The host gives its transports no turn while this many bytes are queued; nothing is lost or marked there.
    Backpressure {
        /// Bytes.
        backlog: u64,
    },
    /// A port like a switch's, with its buffer, drops and marks.
    Scheme,
}

/// How to build a port's scheduler.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// Its discipline.
    pub kind: PortKind,
    /// Drop-tail limit.
    pub admission: Admission,
    /// ECN.
    pub marker: Marker,
    /// ECN of ports whose links have one of these rates.
    pub marker_at: Vec<(Rate, Marker)>,
}

impl PortSpec {
    /// Builds a port without limits and marks.
    pub fn unlimited(kind: PortKind) -> PortSpec {
        PortSpec { kind, admission: Admission::Unlimited, marker: Marker::Off, marker_at: Vec::new() }
    }

    /// Builds a scheduler for a port in front of `line`; `header` is the bytes of a packet's headers. `site` is called only
    /// for custom schedulers.
    pub fn build(&self, line: Line, header: u16, site: impl FnOnce() -> Site) -> Scheduler {
        let marker = self.marker_of(line.byte_time);
        self.kind.build(&PortSite { line, header, admission: self.admission, marker }, site)
    }

    /// Returns how a port marks, by its link's time of a byte.
    pub fn marker_of(&self, byte_time: ByteTime) -> Marker {
        let of_rate = self.marker_at.iter().find(|(rate, _)| rate.byte_time() == byte_time);
        of_rate.map_or(self.marker, |(_, marker)| *marker)
    }

    /// Returns the same discipline without limits and marks: a host's port under backpressure.
    #[must_use]
    pub fn without_limits(&self) -> PortSpec {
        let mut kind = self.kind.clone();
        kind.without_limits();
        PortSpec::unlimited(kind)
    }

    /// Returns whether it takes from its switch's shared memory.
    pub fn shares_memory(&self) -> bool {
        matches!(self.admission, Admission::Shared { .. })
    }
}
