//! pCoflow's queue (Hernandez Benet et al., ICIN 2021, §III-D and E): strict priorities in which no packet of a coflow
//! overtakes an earlier one, even when the coflow's priority rises.
//!
//! The paper has one push-in first-out queue with a band for each priority. A packet's rank is one behind the end of its
//! own band or of the lowest band that still holds a packet of its coflow, whichever is later (Equation 1). Bands end in
//! the order of their priorities, so the rule says: *join the lower of both bands, at its end*. That is a bank of FIFO
//! queues with one more look-up, which is what this module builds.
//!
//! **Never out of order.** An earlier packet of the coflow that still waits is in a band not below the lowest one that the
//! coflow occupies. A later one joins that band or a lower one, behind it. This holds for any tags, drops and mixes of
//! coflows. It also holds if two coflows share a slot of a bounded table, since sharing only lowers bands.
//!
//! **It starves more than strict priority.** A single packet in the last band holds all later packets of its coflow there,
//! from every sender, for as long as others keep a higher band busy. So a port counts the packets that join below their
//! tag, and how long they wait.
//!
//! Left out: Equation 1 as the static rank of a PIFO with bounds that fall at each departure, as in §III-E. With it,
//! packets of a coflow do overtake each other (a test shows it).

use crate::bank::FifoBank;
use crate::discipline::Discipline;
use crate::hash::{mix, reduce};
use crate::marker::Waiting;
use crate::meta::{Kind, Meta, NONE};
use crate::ports::presence::Presence;
use crate::readings::Reading;
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};
use crate::units::Time;

/// The settings of pCoflow's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcoflowRules {
    /// Bands, from 1 to 64.
    pub bands: usize,
    /// Whose packets keep their order.
    pub keeps: Keeps,
    /// Number of owners that it can distinguish, by a hash; `None`: all.
    pub slots: Option<usize>,
    /// Which length a marker by queue looks at.
    pub marks: Marks,
    /// Waiting packets follow a priority that rises, instead of holding back those behind them: the ideal without
    /// reordering of Fig. 1. Each move walks the bands that the coflow occupies. Needs a table without limit.
    pub moves: bool,
}

/// Whose packets keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// A coflow's; a flow without a coflow counts as a coflow of its own.
    Coflows,
    /// A flow's, which the paper considers too expensive in a switch's memory.
    Flows,
}

impl Keeps {
    /// Returns the owner of a packet. A packet without payload has none, so no history holds it back.
    #[inline]
    pub(crate) fn owner(self, meta: &Meta) -> Option<Owner> {
        (meta.kind == Kind::Data).then_some(match (self, meta.coflow) {
            (Keeps::Coflows, coflow) if coflow != NONE => Owner::Coflow(coflow),
            _ => Owner::Flow(meta.flow),
        })
    }
}

/// Which length is compared with the marking threshold. §III-E has one counter for each priority, and does not say what
/// it counts once a packet joins a band below that of its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// The band of the packet's tag, as in the example of §III-E.
    Tagged,
    /// The band that it joins, as in the text there.
    Joined,
    /// All packets with its tag, in whatever band they wait. They are the tag's band where no packet waits below its tag.
    WithTag,
}

/// The most slots of a bounded table.
pub const MOST_SLOTS: usize = 1 << 24;

/// Bytes that a slot takes in a switch for each band: a count of 32 bits.
const SLOT_BYTES: u64 = 4;

impl PortRules for PcoflowRules {
    type Port = PcoflowPort;

    fn build(&self, site: &PortSite) -> PcoflowPort {
        PcoflowPort::new(self, site)
    }

    fn sketch_bytes(&self) -> u64 {
        self.slots.map_or(0, |slots| slots as u64 * self.bands as u64 * SLOT_BYTES)
    }
}

/// A port with pCoflow's queue.
pub struct PcoflowPort {
    bank: FifoBank,
    rules: PcoflowRules,
    owners: Owners,
    below: Below,
    /// Bytes that wait with each tag, in whatever band.
    with_tag: Vec<Waiting>,
}

/// Packets that joined a band below that of their tag.
#[derive(Debug, Default)]
struct Below {
    packets: u64,
    queued: u64,
    /// Sums of instants in ps. The sum of departures minus that of arrivals is the total wait.
    arrived: u128,
    left: u128,
    last: Time,
}

impl Below {
    fn enter(&mut self, now: Time) {
        self.packets += 1;
        self.queued += 1;
        self.arrived += u128::from(now.0);
        self.last = now;
    }

    fn leave(&mut self, now: Time) {
        self.queued -= 1;
        self.left += u128::from(now.0);
        self.last = now;
    }

    /// Returns how long they waited in total, up to the last of their arrivals and departures, in ns.
    fn waited_ns(&self) -> u64 {
        let until = self.left + u128::from(self.queued) * u128::from(self.last.0);
        u64::try_from((until - self.arrived) / 1_000).unwrap_or(u64::MAX)
    }
}

/// For each owner, the bands that hold its packets.
pub(crate) enum Owners {
    /// All coflows, and the flows that have none.
    All { coflows: Box<Presence>, flows: Box<Presence> },
    /// As many owners as there are slots.
    Hashed(Slots),
}

/// The owner of a packet.
#[derive(Clone, Copy)]
pub(crate) enum Owner {
    Coflow(u32),
    Flow(u32),
}

/// A table in which owners share slots.
pub(crate) struct Slots {
    /// Slot after slot, by band.
    counts: Vec<u32>,
    bands: usize,
}

impl Slots {
    fn of(&self, owner: Owner) -> usize {
        let word = match owner {
            Owner::Coflow(number) => u64::from(number),
            Owner::Flow(key) => 1 << 32 | u64::from(key),
        };
        reduce(mix(word), self.counts.len() / self.bands) * self.bands
    }
}

impl Owners {
    /// Builds a table of all owners.
    pub(crate) fn exact(bands: usize) -> Owners {
        let presence = || Box::new(Presence::new(bands));
        Owners::All { coflows: presence(), flows: presence() }
    }

    /// Makes room for this many owners.
    pub(crate) fn reserve(&mut self, owners: usize) {
        if let Owners::All { coflows, flows } = self {
            coflows.reserve(owners);
            flows.reserve(owners);
        }
    }

    /// Returns the slot of an owner with packets; valid until a packet is added or removed.
    #[inline]
    pub(crate) fn find(&self, owner: Owner) -> Option<u32> {
        match (self, owner) {
            (Owners::All { coflows, .. }, Owner::Coflow(number)) => coflows.find(number),
            (Owners::All { flows, .. }, Owner::Flow(key)) => flows.find(key),
            (Owners::Hashed(slots), _) => Some(slots.of(owner) as u32),
        }
    }

    /// Returns the lowest band that holds a packet of the owner there.
    #[inline]
    pub(crate) fn lowest(&self, owner: Owner, at: Option<u32>) -> Option<u8> {
        let at = at?;
        match (self, owner) {
            (Owners::All { coflows, .. }, Owner::Coflow(_)) => coflows.lowest_at(at),
            (Owners::All { flows, .. }, Owner::Flow(_)) => flows.lowest_at(at),
            (Owners::Hashed(slots), _) => {
                let lowest = slots.counts[at as usize..][..slots.bands].iter().rposition(|&count| count > 0);
                lowest.map(|band| band as u8)
            }
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, owner: Owner, at: Option<u32>, band: u8) {
        match (self, owner) {
            (Owners::All { coflows, .. }, Owner::Coflow(number)) => coflows.add_at(at, number, band),
            (Owners::All { flows, .. }, Owner::Flow(key)) => flows.add_at(at, key, band),
            (Owners::Hashed(slots), _) => {
                let at = slots.of(owner) + usize::from(band);
                slots.counts[at] += 1;
            }
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, owner: Owner, band: u8) {
        match (self, owner) {
            (Owners::All { coflows, .. }, Owner::Coflow(number)) => coflows.remove(number, band),
            (Owners::All { flows, .. }, Owner::Flow(key)) => flows.remove(key, band),
            (Owners::Hashed(slots), _) => {
                let at = slots.of(owner) + usize::from(band);
                slots.counts[at] -= 1;
            }
        }
    }
}

impl PcoflowPort {
    /// # Panics
    /// If there are not 1 to 64 bands, no slots, or a bounded table that moves packets; set-up checks it.
    pub fn new(rules: &PcoflowRules, site: &PortSite) -> PcoflowPort {
        let bands = rules.bands;
        let owners = match rules.slots {
            None => Owners::exact(bands),
            Some(slots) => {
                assert!((1..=MOST_SLOTS).contains(&slots) && !rules.moves, "slots, and no moves with them");
                Owners::Hashed(Slots { counts: vec![0; slots * bands], bands })
            }
        };
        let bank = FifoBank::new(bands, site.admission, site.marker, Discipline::StrictPriority);
        PcoflowPort { bank, rules: *rules, owners, below: Below::default(), with_tag: vec![Waiting::default(); bands] }
    }

    /// Returns the band of a packet's tag.
    #[inline]
    fn tagged(&self, meta: &Meta) -> u8 {
        meta.tag.priority().min(self.rules.bands as u8 - 1)
    }

    /// Puts a packet with a tag into a band.
    #[inline]
    fn put(&mut self, band: u8, tagged: u8, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let (band, tagged) = (usize::from(band), usize::from(tagged));
        let marked_by = match self.rules.marks {
            Marks::Tagged => (tagged, self.bank.queue(tagged).waiting()),
            Marks::Joined => (band, self.bank.queue(band).waiting()),
            Marks::WithTag => (tagged, self.with_tag[tagged]),
        };
        let verdict = self.bank.enqueue_marked_by(band, marked_by, metas, packet, context);
        if verdict.is_accepted() {
            self.with_tag[tagged].bytes += u32::from(metas[packet as usize].len);
            self.with_tag[tagged].packets += 1;
        }
        verdict
    }

    /// Moves an owner's packets from lower bands to the end of this one, in the order in which they would leave.
    #[cold]
    fn raise(&mut self, metas: &mut [Meta], owner: Owner, to: u8) {
        for band in to + 1..self.rules.bands as u8 {
            // Each packet is taken once, and what stays comes to the end in the same order.
            for _ in 0..self.bank.queue(band.into()).packets() {
                let Some(packet) = self.bank.dequeue_from(band.into(), metas) else { break };
                if self.is_of(&metas[packet as usize], owner) {
                    self.bank.append(to.into(), metas, packet);
                    self.owners.remove(owner, band);
                    self.owners.add(owner, self.owners.find(owner), to);
                } else {
                    self.bank.append(band.into(), metas, packet);
                }
            }
        }
    }

    fn is_of(&self, meta: &Meta, owner: Owner) -> bool {
        match (self.rules.keeps.owner(meta), owner) {
            (Some(Owner::Coflow(a)), Owner::Coflow(b)) | (Some(Owner::Flow(a)), Owner::Flow(b)) => a == b,
            _ => false,
        }
    }
}

impl PortScheduler for PcoflowPort {
    pass_on!(self, self.bank => limits, bypass_bytes, backlog_bytes, waiting_in, queues);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let meta = &metas[packet as usize];
        let tagged = self.tagged(meta);
        let Some(owner) = self.rules.keeps.owner(meta) else {
            return self.put(tagged, tagged, metas, packet, context);
        };
        let mut at = self.owners.find(owner);
        let mut band = self.owners.lowest(owner, at).map_or(tagged, |lowest| lowest.max(tagged));
        if band > tagged && self.rules.moves {
            self.raise(metas, owner, tagged);
            at = self.owners.find(owner);
            band = tagged;
        }
        let verdict = self.put(band, tagged, metas, packet, context);
        if verdict.is_accepted() {
            self.owners.add(owner, at, band);
            if band > tagged {
                self.below.enter(context.now);
            }
        }
        verdict
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        let packet = self.bank.dequeue(metas, context)?;
        let meta = &metas[packet as usize];
        let tagged = self.tagged(meta);
        self.with_tag[usize::from(tagged)].bytes -= u32::from(meta.len);
        self.with_tag[usize::from(tagged)].packets -= 1;
        if let Some(owner) = self.rules.keeps.owner(meta) {
            self.owners.remove(owner, meta.queue);
            if meta.queue > tagged {
                self.below.leave(context.now);
            }
        }
        Some(packet)
    }

    fn reserve(&mut self, packets: usize) {
        self.owners.reserve(packets);
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: "joined_below_tag", count: self.below.packets });
        see(Reading::Count { name: "joined_below_tag_wait_ns", count: self.below.waited_ns() });
    }
}
