//! What switches do at their ports beyond queueing ([`flowsieve_core::hop`]): trails, pauses, trimming.
//!
//! Only links with [features](crate::link::Features) of this kind call this code. Where switches pause lines, each departure from
//! a line that may be paused, or from a port of a switch, is an event of its own: it may end a pause.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use arrayvec::ArrayVec;
use flowsieve_core::hop::{Fate, Hears, Hop, HopSpec, OnHop, Signal, Trail};
use flowsieve_core::scheduler::Line;
use flowsieve_core::{Kind, Meta, PortScheduler, Tag, Time};

use crate::build::{Built, Placement};
use crate::cut::Halves;
use crate::event::Key;
use crate::network::Network;
use crate::prefetch_queue::PrefetchQueue;
use crate::source::Source;
use crate::topology::{Fabric, Link, Node, Sites};

/// What the switches of a partition do at their ports.
#[derive(Default)]
pub(crate) struct Hops {
    /// By switch: its parts.
    own: Vec<Vec<Box<dyn OnHop>>>,
    /// By switch and port: the link out of it, and the link into the switch from the same far end.
    lines: Vec<Vec<(u32, u32)>>,
    /// By link: the number of its port at the switch that sends on it.
    numbers: Vec<u16>,
    /// By link: the number of the port at the far switch that is the other direction of it.
    pub(crate) ingress: Vec<u16>,
    /// Whether packets go back to their senders. Switches with programs choose ways by the port at which a packet came, and send none back.
    may_return: bool,
    /// Bytes of a pause on the line.
    pause_bytes: u32,
    /// Pauses under way: when each acts, its number, the link that holds, and the queues.
    pauses: BinaryHeap<Reverse<(Time, u64, u32, u64)>>,
    /// Pauses sent.
    sent: u64,
    /// By link: since when some queue is paused, and the time of pauses that have ended.
    paused: BTreeMap<u32, (Option<Time>, Time)>,
}

impl Hops {
    /// Returns what each switch does.
    pub(crate) fn own(&self) -> impl Iterator<Item = &dyn OnHop> {
        self.own.iter().flatten().map(|own| &**own)
    }

    /// Returns how long a link has been paused until now; `None`: never.
    pub(crate) fn paused(&self, link: u32, now: Time) -> Option<Time> {
        self.paused.get(&link).map(|&(since, before)| before + since.map_or(Time::ZERO, |since| now.since(since)))
    }

    fn note_pause(&mut self, now: Time, link: u32, held: u64) {
        let (since, before) = self.paused.entry(link).or_default();
        match (held, *since) {
            (0, Some(began)) => (*since, *before) = (None, *before + now.since(began)),
            (0, None) | (_, Some(_)) => {}
            (_, None) => *since = Some(now),
        }
    }
}

impl<K> Built<K> {
    /// Names a ring of lines that wait for each other: packets wait at each, it is paused, and the next begins where it ends.
    /// Nothing on such a ring moves any more.
    pub(crate) fn ring_of_pauses(&self, fabric: &Fabric) -> Option<String> {
        let waits = |&link: &u32| {
            let (partition, index) = self.placement.from[link as usize];
            let network = &self.partitions[partition as usize].network;
            network.ports[index as usize].held != 0 && network.links[index as usize].queued > 0
        };
        let mut held: Vec<u32> = (0..fabric.links.len() as u32).filter(waits).collect();
        // A line that leads to none of the others, or to which none of them leads, is in no ring.
        loop {
            let before = held.len();
            let [from, to] = [|link: &Link| link.from, |link: &Link| link.to]
                .map(|end| -> BTreeSet<Node> { held.iter().map(|&link| end(&fabric.links[link as usize])).collect() });
            held.retain(|&link| {
                let link = &fabric.links[link as usize];
                from.contains(&link.to) && to.contains(&link.from)
            });
            if held.len() == before {
                break;
            }
        }
        let names = |link: &u32| fabric.link_name(*link);
        (!held.is_empty()).then(|| {
            format!(
                "pauses hold each other in a ring (deadlock): {}",
                held.iter().map(names).collect::<Vec<_>>().join(", ")
            )
        })
    }
}

/// Returns whether switches pause lines.
pub(crate) fn pauses(specs: &[HopSpec]) -> bool {
    specs.iter().any(|spec| spec.pauses.is_some())
}

/// Returns whether switches send something against the order in which parts of a fabric run, so that it stays whole.
pub(crate) fn keep_whole(specs: &[HopSpec]) -> bool {
    pauses(specs) || specs.iter().any(|spec| spec.returns)
}

/// Has switches act at their ports, if they do.
pub(crate) fn add<K: Key>(
    networks: &mut [Network<K>],
    (specs, may_return): (&[HopSpec], bool),
    fabric: &Fabric,
    sites: &Sites<'_>,
    placement: &Placement,
) {
    if specs.is_empty() {
        return;
    }
    for network in networks.iter_mut() {
        network.prefetch_queue = PrefetchQueue::none();
        network.slab.trails = Some(Vec::new());
        network.hops = Some(Box::new(Hops {
            own: network.switches.iter().map(|_| Vec::new()).collect(),
            lines: vec![Vec::new(); network.switches.len()],
            numbers: vec![Trail::FROM_HERE; network.links.len()],
            ingress: vec![Trail::FROM_HERE; network.links.len()],
            may_return,
            pause_bytes: specs.iter().find_map(|spec| spec.pauses).unwrap_or(0),
            ..Hops::default()
        }));
    }
    let mut hears = Hears::NOTHING;
    let mut hops_of = |(partition, index): (u32, u32), change: &mut dyn FnMut(&mut Hops, usize)| {
        if let Some(hops) = &mut networks[partition as usize].hops {
            change(hops, index as usize);
        }
    };
    // Parallel links are told apart by their place in the bundle.
    let between: BTreeMap<(Node, Node, u32), u32> =
        (0..).zip(&fabric.links).map(|(at, link)| ((link.from, link.to, u32::from(link.nth)), at)).collect();
    for (number, &halves) in (0u32..).zip(&placement.switches) {
        let site = sites.program(number);
        for half in [Some(halves.up), halves.differ().then_some(halves.down)].into_iter().flatten() {
            let own: Vec<_> = specs.iter().map(|spec| (spec.make)(&site)).collect();
            hears = own.iter().fold(hears, |hears, own| hears.or(own.hears()));
            let mut own = Some(own);
            hops_of(half, &mut |hops, index| hops.own[index] = own.take().unwrap_or_default());
        }
        let Halves { up, .. } = halves;
        let lines = fabric.ports[number as usize].iter().map(|&out| {
            let link = &fabric.links[out as usize];
            let into = between.get(&(link.to, Node::Switch(number), u32::from(link.nth)));
            (placement.from[out as usize].1, into.map_or(u32::MAX, |&into| placement.from[into as usize].1))
        });
        let lines: Vec<_> = lines.collect();
        hops_of(up, &mut |hops, index| hops.lines[index].clone_from(&lines));
    }
    let pauses = pauses(specs);
    for (number, link) in (0u32..).zip(&fabric.links) {
        let (partition, index) = placement.from[number as usize];
        let network = &mut networks[partition as usize];
        let (state, port) = (&mut network.links[index as usize], &mut network.ports[index as usize]);
        if let (Node::Switch(switch), Some(hops)) = (link.from, &mut network.hops) {
            let own = fabric.ports[switch as usize].iter().position(|&out| out == number);
            hops.numbers[index as usize] = own.map_or(Trail::FROM_HERE, |own| own as u16);
            (port.features.hears, port.features.counts) = (hears, true);
            state.add_feature();
            if hears.arrivals || hears.queued {
                state.never_bypass();
            }
        }
        if let (Node::Switch(switch), Some(hops)) = (link.to, &mut network.hops) {
            let back = between.get(&(link.to, link.from, u32::from(link.nth)));
            let back = fabric.ports[switch as usize].iter().position(|out| Some(out) == back);
            hops.ingress[index as usize] = back.map_or(Trail::FROM_HERE, |back| back as u16);
        }
        port.features.holds = pauses && matches!(link.to, Node::Switch(_));
        port.features.eager = pauses && (port.features.holds || matches!(link.from, Node::Switch(_)));
        if port.features.holds {
            state.add_feature();
            state.never_bypass();
        }
    }
}

impl<K: Key> Network<K> {
    /// Has the parts of a port's switch look at a packet there, and sends the pauses that they ask for.
    pub(crate) fn at_hop(
        &mut self,
        egress: u32,
        packet: u32,
        now: Time,
        mut look: impl FnMut(&mut dyn OnHop, &mut Meta, &mut Hop<'_>),
    ) {
        let (port, state) = (&mut self.ports[egress as usize], &self.links[egress as usize]);
        let Some(hops) = &mut self.hops else { return };
        let Some(own) = hops.own.get_mut(port.owner as usize) else { return };
        let Some(trail) = self.slab.trails.as_mut().and_then(|trails| trails.get_mut(packet as usize)) else { return };
        let meta = &mut self.slab.metas[packet as usize];
        let mut signals = ArrayVec::new();
        let mut hop = Hop {
            now,
            egress: hops.numbers[egress as usize],
            line: Line { byte_time: state.byte_time, overhead: self.overhead },
            backlog: port.scheduler.backlog_bytes(),
            in_queue: port.scheduler.waiting_in(meta.queue.into()).map(|waiting| waiting.bytes),
            sent_bytes: port.sent_bytes,
            trail,
            signals: &mut signals,
            random: &mut port.random,
        };
        for own in own {
            look(&mut **own, meta, &mut hop);
        }
        if !signals.is_empty() {
            let owner = port.owner;
            self.send_pauses(owner, now, &signals);
        }
    }

    /// Sends pauses. Each waits for the packet on the line back, and takes no time from those behind it.
    fn send_pauses(&mut self, switch: u32, now: Time, signals: &[Signal]) {
        let Some(hops) = &mut self.hops else { return };
        for &Signal { port, held } in signals {
            let Some(&(out, into)) = hops.lines[switch as usize].get(usize::from(port)) else { continue };
            if into == u32::MAX {
                continue; // nothing sends from there
            }
            let line = &self.links[out as usize];
            let free = if line.busy_until == Time::NEVER { self.ports[out as usize].free_at } else { line.busy_until };
            let at = free.max(now) + line.byte_time.serialise(hops.pause_bytes) + line.delay();
            hops.sent += 1;
            hops.pauses.push(Reverse((at, hops.sent, into, held)));
        }
        self.schedule_pauses();
    }

    fn schedule_pauses(&mut self) {
        let next = self.hops.as_ref().and_then(|hops| hops.pauses.peek());
        let next = next.map_or(Time::NEVER, |&Reverse((at, ..))| at);
        self.schedule(Source::Pauses, next);
    }

    /// Has the pauses act that arrive now. Returns the next host whose port goes on, until there is none.
    pub(crate) fn on_pause(&mut self) -> Option<u32> {
        let now = self.now;
        while let Some(&Reverse((at, _, link, held))) = self.hops.as_ref().and_then(|hops| hops.pauses.peek())
            && at <= now
        {
            if let Some(hops) = &mut self.hops {
                hops.pauses.pop();
                hops.note_pause(now, link, held);
            }
            // What was due is on the line; the pause does not stop it.
            self.advance(link, now);
            self.ports[link as usize].held = held;
            self.try_again(link);
            self.advance(link, now);
            self.schedule_with_features(link);
            let port = &self.ports[link as usize];
            if port.features.from_host {
                return Some(port.owner);
            }
        }
        self.schedule_pauses();
        None
    }

    /// Lets a port look again for a packet to send that had only held ones.
    pub(crate) fn try_again(&mut self, link: u32) {
        let (port, state) = (&self.ports[link as usize], &mut self.links[link as usize]);
        if state.busy_until == Time::NEVER && !port.features.down {
            state.busy_until = port.free_at.max(self.now);
        }
    }

    /// Returns whether a packet that comes to a port with features may go on to the port's limits. One that may not is handled.
    #[cold]
    pub(crate) fn may_join(&mut self, link: u32, packet: u32) -> bool {
        let features = self.ports[link as usize].features;
        if features.down {
            self.lose_at_dead_port(link, packet, None);
            return false;
        }
        let mut admitted = true;
        if features.hears.arrivals {
            self.advance(link, self.now);
            self.at_hop(link, packet, self.now, |own, meta, hop| admitted &= own.admits(meta, hop));
            if !admitted {
                self.turn_away(link, packet);
            }
        }
        admitted
    }

    /// Returns whether a part of the switch has a packet live on that a port turned away.
    pub(crate) fn lives_on(&mut self, link: u32, packet: u32) -> bool {
        let mut fate = Fate::Gone;
        self.at_hop(link, packet, self.now, |own, meta, hop| {
            if fate == Fate::Gone {
                fate = own.on_turned_away(meta, hop);
            }
        });
        match fate {
            Fate::Gone => return false,
            Fate::Trim { len, priority } => return self.cut_and_enqueue(link, packet, len, priority),
            Fate::TrimNewest { len, priority } => {
                let Some(newest) = self.take_newest(link, packet, len) else {
                    return self.cut_and_enqueue(link, packet, len, priority);
                };
                self.enqueue(link, packet);
                self.cut_and_enqueue(link, newest, len, priority);
            }
            Fate::Return if !self.hops.as_ref().is_some_and(|hops| hops.may_return) => return false,
            Fate::Return => self.send_back(packet, self.ports[link as usize].owner),
        }
        true
    }

    /// Cuts a packet, which comes to the port once more. Returns whether it was longer.
    fn cut_and_enqueue(&mut self, link: u32, packet: u32, len: u16, priority: u8) -> bool {
        let meta = &mut self.slab.metas[packet as usize];
        if meta.len <= len {
            return false;
        }
        (meta.len, meta.tag) = (len, Tag::new(priority, meta.tag.rank()));
        if let Some(trail) = self.slab.trails.as_mut().and_then(|trails| trails.get_mut(packet as usize)) {
            trail.trimmed = Some(self.links[link as usize].to.get().is_err());
        }
        self.enqueue(link, packet);
        true
    }

    /// Takes the newest packet that waits in the queue for which a packet was turned away, and is longer than this.
    fn take_newest(&mut self, link: u32, packet: u32, longer_than: u16) -> Option<u32> {
        let queue = self.slab.metas[packet as usize].queue;
        let (port, metas) = (&mut self.ports[link as usize], self.slab.metas.as_mut_slice());
        let newest = port.scheduler.take_newest(metas, queue.into(), longer_than)?;
        self.links[link as usize].queued -= 1;
        if port.features.shares {
            self.pools[port.owner as usize].give(metas[newest as usize].len);
        }
        self.lost_at_hop(link, newest);
        Some(newest)
    }

    /// Sends a packet back from a switch to the host that it is from. Switches' own packets have none.
    fn send_back(&mut self, packet: u32, switch: u32) {
        let (meta, body) = (&mut self.slab.metas[packet as usize], &mut self.slab.bodies[packet as usize]);
        std::mem::swap(&mut meta.dst, &mut body.src);
        (meta.kind, meta.tag) = (Kind::Control, Tag::new(0, meta.tag.rank()));
        if let Some(trail) = self.slab.trails.as_mut().and_then(|trails| trails.get_mut(packet as usize)) {
            trail.returned = true;
        }
        match self.way_back(switch, packet) {
            Some(way) => self.enqueue(way, packet),
            None => self.discard(packet),
        }
    }

    /// Tells the switch of a port that a packet which waited there is lost.
    pub(crate) fn lost_at_hop(&mut self, link: u32, packet: u32) {
        if self.ports[link as usize].features.hears.lost {
            self.at_hop(link, packet, self.now, |own, meta, hop| own.on_lost(meta, hop));
        }
    }
}
