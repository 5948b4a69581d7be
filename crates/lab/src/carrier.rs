//! Carries frames between hosts' devices and the fabric, in virtual time behind real time.
//!
//! A frame is at its host's port at the instant of its stamp. What happens in the fabric up to the present is worked off in
//! the model's order, and a frame leaves once its instant of arrival has come. Nothing can be due before its stamp and the
//! delays of its links, so nothing is late that is worked off within those, and the thread sleeps until the next release.
//!
//! The order in a turn: clock, frames, then messages and frames by their instants, then releases. The clock is first, since a
//! frame that is received after it and has an older stamp belongs before it. Messages are heard of after frames, since each
//! is told before its first packet is sent.

use std::io::ErrorKind;

use crate::calls::{FRAME, Frames, Outgoing, Received};
use flowsieve_core::controller::HostEvent;
use flowsieve_core::meta::Ecn;
use flowsieve_core::{Meta, Tagger, Time};

use crate::control::{Controllers, Followers};
use crate::hosts::{Begin, Hosts};
use crate::io::PacketIo;
use crate::lateness::Lateness;
use crate::wire::{self, Content};
use flowsieve_sim::in_memory::{Arrived, InMemory};

/// Frames that are received, and sent, at once.
const BATCH: usize = 64;
/// The longest sleep while packets are inside. A host may send at any time, and its frame has to be worked off within the
/// delays of its links, so a sleep is no longer than those either.
const LONGEST_SLEEP_NS: u64 = 150_000;
/// How long to wait for a frame while nothing is inside.
const IDLE_NS: u64 = 20_000_000;
/// Bytes of Ethernet's header, which ends with the kind of content.
const ETHERNET: usize = 14;

/// The last code point: that of all priorities beyond.
const LAST_DSCP: u8 = 63;

/// How late frames left: the upper bounds of the classes but the last, in ns.
pub const LATENESS_NS: [u64; 4] = [50_000, 100_000, 250_000, 1_000_000];

/// What was carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Frames received.
    pub received: u64,
    /// Frames that were too long for a link.
    pub too_long: u64,
    /// Frames for no host of the fabric, such as broadcasts, and those of unknown devices.
    pub elsewhere: u64,
    /// Frames whose instant had come, by how late they were then: at most [`LATENESS_NS`], and more.
    pub released: [u64; 5],
    /// Those of them that the kernel did not take.
    pub not_sent: u64,
    /// Frames that found no room in the kernel before they were received.
    pub lost_before: u64,
    /// The greatest lateness.
    pub latest_ns: u64,
    /// By how much a stamp was at most behind an earlier one.
    pub stamps_back_ns: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// Calls of the kernel that failed, other than for want of room.
    pub failures: u64,
}

impl Carried {
    /// Returns the number of frames sent.
    pub fn all_sent(&self) -> u64 {
        self.released.iter().sum::<u64>() - self.not_sent
    }

    /// Returns the share of frames that left more than 1 ms late.
    pub fn late_share(&self) -> f64 {
        let [.., late] = self.released;
        late as f64 / self.released.iter().sum::<u64>().max(1) as f64
    }

    /// Returns what was carried since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Carried) -> Carried {
        let mut released = self.released;
        released.iter_mut().zip(earlier.released).for_each(|(now, before)| *now -= before);
        Carried {
            received: self.received - earlier.received,
            too_long: self.too_long - earlier.too_long,
            elsewhere: self.elsewhere - earlier.elsewhere,
            released,
            not_sent: self.not_sent - earlier.not_sent,
            lost_before: self.lost_before - earlier.lost_before,
            turns: self.turns - earlier.turns,
            failures: self.failures - earlier.failures,
            ..*self
        }
    }
}

/// Fabric, hosts and frames of a lab, and the devices that they use.
pub struct Carrier<I> {
    io: I,
    fabric: InMemory,
    hosts: Hosts,
    controllers: Option<Controllers>,
    frames: Frames,
    /// By frame: its bytes.
    lengths: Vec<u16>,
    /// The most bytes of an IP packet.
    mtu: u16,
    longest_sleep_ns: u64,
    /// Virtual time 0, in the clock of `io`.
    base_ns: u64,
    /// Frames to receive into.
    room: Vec<u32>,
    received: Vec<Received>,
    /// The next message that begins, if that is after all that was received.
    upcoming: Option<Begin>,
    /// Frames that have arrived at their hosts: frame, host, when.
    due: Vec<(u32, u16, Time)>,
    /// Frames that their hosts keep back until the place of a message is known: frame, host. In the order of their stamps.
    held: Vec<(u32, u16)>,
    outgoing: Vec<Outgoing>,
    last_stamp_ns: u64,
    writes_dscp: bool,
    carried: Carried,
    lateness: Lateness,
    problem: Option<String>,
}

impl<I: PacketIo> Carrier<I> {
    /// Joins the parts. Device h is host h's. Virtual time begins now.
    pub fn new(mut io: I, mut fabric: InMemory, hosts: Hosts, mtu: u16) -> Carrier<I> {
        let (base_ns, frames) = (io.now_ns(), fabric.places());
        let room = (0..BATCH).filter_map(|_| fabric.claim()).collect();
        let longest_sleep_ns = LONGEST_SLEEP_NS.min(fabric.least_crossing().0 / 1_000);
        Carrier {
            io,
            fabric,
            hosts,
            controllers: None,
            frames: Frames::new(frames),
            lengths: vec![0; frames],
            mtu,
            longest_sleep_ns,
            base_ns,
            room,
            received: Vec::with_capacity(BATCH),
            upcoming: None,
            due: Vec::with_capacity(frames),
            held: Vec::with_capacity(frames),
            outgoing: Vec::with_capacity(BATCH),
            last_stamp_ns: 0,
            writes_dscp: false,
            carried: Carried::default(),
            lateness: Lateness::default(),
            problem: None,
        }
    }

    /// Begins anew with a new fabric of as many packets and new controllers: virtual time 0 is this much from now, and is
    /// returned in the clock of the devices. The frames of before are counted, and teach nothing. Nothing may be inside.
    pub fn restart(&mut self, mut fabric: InMemory, controllers: Option<Controllers>, lead_ns: u64) -> u64 {
        debug_assert!(self.is_empty() && self.due.is_empty() && self.held.is_empty(), "frames are inside");
        self.room.clear();
        self.room.extend((0..BATCH).filter_map(|_| fabric.claim()));
        (self.fabric, self.controllers) = (fabric, controllers);
        self.base_ns = self.io.now_ns() + lead_ns;
        self.lateness = Lateness::default();
        (self.carried.latest_ns, self.carried.stamps_back_ns) = (0, 0);
        self.base_ns
    }

    /// Has controllers hear the hosts, and their tables reach hosts and ports.
    #[must_use]
    pub fn with_controllers(self, controllers: Option<Controllers>) -> Carrier<I> {
        Carrier { controllers, ..self }
    }

    /// Has the priority of each packet written into the frame that leaves, as its DSCP, for captures at the receiving host and
    /// what is behind it.
    #[must_use]
    pub fn with_dscp(self, writes_dscp: bool) -> Carrier<I> {
        Carrier { writes_dscp, ..self }
    }

    /// Returns the controllers of the whole fabric, if there are any.
    pub fn controllers(&self) -> Option<&Controllers> {
        self.controllers.as_ref()
    }

    /// Returns what was carried.
    pub fn carried(&self) -> Carried {
        self.carried
    }

    /// Returns how late frames left, by windows of virtual time.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// Returns the fabric.
    pub fn fabric(&mut self) -> &mut InMemory {
        &mut self.fabric
    }

    /// Returns the hosts.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Returns the hosts, to be told.
    pub fn hosts_mut(&mut self) -> &mut Hosts {
        &mut self.hosts
    }

    /// Returns the devices.
    pub fn io(&mut self) -> &mut I {
        &mut self.io
    }

    /// Returns the first problem with a frame or a device that its user should know, in words.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns the number of frames that hosts keep back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.fabric.held() == 0
    }

    /// Makes one turn, and then sleeps until the next has something to do. Messages that begin come from `begins`, in the order of
    /// time.
    pub fn turn(&mut self, mut begins: impl FnMut() -> Option<Begin>) {
        self.carried.turns += 1;
        let now_ns = self.io.now_ns();
        self.receive();
        let any = !self.received.is_empty();
        self.take_in(&mut begins);
        self.begin(now_ns, &mut begins);
        self.work_off(self.virtual_time(now_ns));
        if self.fabric.without_place() > 0 {
            let problem = "packets of a switch's program were not sent: as many as have a place were under way";
            self.problem.get_or_insert_with(|| problem.to_owned());
        }
        if !self.due.is_empty() {
            self.release();
            // What they answer may be there already.
        } else if self.is_empty() && self.held.is_empty() && !any {
            self.io.wait_ns(IDLE_NS);
        } else {
            self.sleep();
        }
    }

    fn virtual_time(&self, ns: u64) -> Time {
        Time(ns.saturating_sub(self.base_ns).saturating_mul(1_000))
    }

    /// Receives what waits, and finds other room for the next ones.
    fn receive(&mut self) {
        self.received.clear();
        while self.room.len() < BATCH
            && let Some(frame) = self.fabric.claim()
        {
            self.room.push(frame);
        }
        if let Err(error) = self.io.receive(&mut self.frames, &self.room, &mut self.received) {
            self.fail("receive", &error);
        }
        self.carried.lost_before += self.io.lost();
        self.carried.received += self.received.len() as u64;
        let received = &self.received;
        self.room.retain(|frame| !received.iter().any(|one| one.frame == *frame));
        // Stamps of different devices may be out of order by microseconds.
        self.received.sort_by_key(|one| one.stamp_ns);
    }

    /// Hands each frame to its host's port at the instant of its stamp, after the messages that begin before it.
    fn take_in(&mut self, begins: &mut impl FnMut() -> Option<Begin>) {
        for index in 0..self.received.len() {
            let one = self.received[index];
            self.carried.stamps_back_ns =
                self.carried.stamps_back_ns.max(self.last_stamp_ns.saturating_sub(one.stamp_ns));
            self.last_stamp_ns = self.last_stamp_ns.max(one.stamp_ns);
            self.begin(one.stamp_ns, begins);
            self.work_off(self.virtual_time(one.stamp_ns));
            if !self.take(&one) {
                self.fabric.release(one.frame);
            }
        }
    }

    /// Has hosts hear of the messages that begin up to an instant.
    fn begin(&mut self, until_ns: u64, begins: &mut impl FnMut() -> Option<Begin>) {
        while let Some(begin) = self.upcoming.take().or_else(&mut *begins) {
            if begin.at_ns > until_ns {
                self.upcoming = Some(begin);
                return;
            }
            self.work_off(self.virtual_time(begin.at_ns));
            self.hosts.begin(self.fabric.now(), &begin);
        }
    }

    /// Hands a frame to its host's port, now; returns whether it did.
    fn take(&mut self, one: &Received) -> bool {
        let len = (one.len as usize).min(FRAME);
        let bytes = &self.frames.get(one.frame)[..len];
        let (Some(device), Some(to)) = (one.device, host_of(bytes, self.fabric.hosts())) else {
            self.carried.elsewhere += 1;
            return false;
        };
        let content = if one.len as usize > FRAME {
            Err(wire::TooLong { len: one.len as usize, most: wire::most_bytes(self.mtu) })
        } else {
            wire::read(bytes, self.mtu)
        };
        match content {
            Ok(content) => {
                self.lengths[one.frame as usize] = len as u16;
                let (mut following, _, fabric) = self.parts();
                following.hand_over(fabric, (one.frame, device, to), &content);
                true
            }
            Err(error) => {
                self.carried.too_long += 1;
                self.problem.get_or_insert_with(|| format!("host{device} sent {error}"));
                false
            }
        }
    }

    /// Returns the hosts that follow controllers, the controllers, and the fabric.
    fn parts(&mut self) -> (Following<'_>, Option<&mut Controllers>, &mut InMemory) {
        let Carrier { hosts, due, held, frames, lengths, mtu, controllers, fabric, .. } = self;
        (Following { hosts, due, held, frames, lengths, mtu: *mtu }, controllers.as_mut(), fabric)
    }

    fn work_off(&mut self, until: Time) {
        let (mut following, controllers, fabric) = self.parts();
        match controllers {
            Some(controllers) => {
                following.hosts.take_events().for_each(|event| controllers.hear(event));
                controllers.work_off(fabric, &mut following, until);
            }
            None => {
                drop(following.hosts.take_events());
                fabric.work_off(until, |arrived, _| following.arrive(arrived));
            }
        }
    }

    /// Sends what is due. A frame has left when the call that sends it is over.
    fn release(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        for batch in due.chunks(BATCH) {
            self.outgoing.clear();
            for &(frame, device, _) in batch {
                let (is_marked, priority) = {
                    let meta = self.fabric.meta(frame);
                    (meta.ecn == Ecn::Marked, meta.tag.priority())
                };
                let bytes = &mut self.frames.get_mut(frame)[..usize::from(self.lengths[frame as usize])];
                if is_marked {
                    wire::mark(bytes);
                }
                if self.writes_dscp {
                    wire::write_dscp(bytes, priority.min(LAST_DSCP));
                }
                self.outgoing.push(Outgoing { frame, len: self.lengths[frame as usize], device });
            }
            self.send();
            let now_ns = self.io.now_ns();
            for &(.., Time(at)) in batch {
                let late_ns = now_ns.saturating_sub(self.base_ns + at / 1_000);
                self.carried.latest_ns = self.carried.latest_ns.max(late_ns);
                self.carried.released[LATENESS_NS.partition_point(|&bound| late_ns > bound)] += 1;
                self.lateness.note(at / 1_000, late_ns);
            }
        }
        due.drain(..).for_each(|(frame, ..)| self.fabric.release(frame));
        self.due = due;
    }

    /// Sends [`Carrier::outgoing`]. A frame that cannot be sent is lost, as on a link that is down.
    fn send(&mut self) {
        let mut done = 0;
        while done < self.outgoing.len() {
            match self.io.send(&mut self.frames, &self.outgoing[done..]) {
                Ok(count) if count > 0 => done += count,
                Ok(_) => {
                    done += 1;
                    self.carried.not_sent += 1;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.fail("send", &error);
                    done += 1;
                    self.carried.not_sent += 1;
                }
            }
        }
    }

    fn fail(&mut self, what: &str, error: &std::io::Error) {
        self.carried.failures += 1;
        self.problem.get_or_insert_with(|| format!("the fabric cannot {what} frames: {error}"));
    }

    /// Sleeps until something is due at a host. What happens inside before that needs no turn of its own: it is worked off
    /// later, at its own instant. A table that frees frames is as far from a host as a frame that enters.
    fn sleep(&mut self) {
        let release = self.fabric.next_release().0.div_ceil(1_000);
        let until_ns = self.base_ns.saturating_add(release).saturating_sub(self.io.now_ns());
        self.io.sleep_ns(until_ns.min(self.longest_sleep_ns));
    }
}

/// Hosts that follow controllers, the packets that come to them, and those that they keep back.
struct Following<'a> {
    hosts: &'a mut Hosts,
    due: &'a mut Vec<(u32, u16, Time)>,
    held: &'a mut Vec<(u32, u16)>,
    frames: &'a Frames,
    lengths: &'a [u16],
    mtu: u16,
}

impl Following<'_> {
    fn arrive(&mut self, arrived: Arrived) {
        self.due.push((arrived.packet, arrived.host as u16, arrived.at));
    }

    /// Hands a frame of a host for another to its own port, now, unless the host keeps it back.
    fn hand_over(&mut self, fabric: &mut InMemory, (frame, from, to): (u32, u16, u16), content: &Content) {
        let now = fabric.now();
        let meta = match content {
            Content::Tcp(segment) if self.hosts.holds(segment) => {
                self.held.push((frame, from));
                return;
            }
            Content::Tcp(segment) => self.hosts.packet(now, (from, to), segment),
            Content::Udp(datagram) => self.hosts.datagram(now, (from, to), datagram),
            Content::Other => self.hosts.other(now, from, to, self.lengths[frame as usize] - ETHERNET as u16),
        };
        *fabric.meta(frame) = Meta { dst: to, ..meta };
        fabric.send(from.into(), frame);
    }
}

impl Followers for Following<'_> {
    fn tagger(&mut self, host: u32, class: u8) -> &mut Tagger {
        self.hosts.tagger(host as u16, class)
    }

    fn arrived(&mut self, packet: Arrived, _: &Meta, _: &mut Vec<HostEvent>) {
        self.arrive(packet);
    }

    fn release(&mut self, _: Time, fabric: &mut InMemory, events: &mut Vec<HostEvent>) {
        let kept = self.held.len();
        for place in 0..kept {
            let (frame, from) = self.held[place];
            let bytes = &self.frames.get(frame)[..usize::from(self.lengths[frame as usize])];
            // It was read before, so that it has both.
            if let (Some(to), Ok(content)) = (host_of(bytes, fabric.hosts()), wire::read(bytes, self.mtu)) {
                // What has no place yet joins the end: the order of those that stay is the same.
                self.hand_over(fabric, (frame, from, to), &content);
            }
        }
        self.held.drain(..kept);
        events.extend(self.hosts.take_events());
    }
}

/// The first bytes of hosts' addresses: locally administered.
const ADDRESS: [u8; 4] = [0x02, 0, 0, 0];

/// Returns the Ethernet address of a host.
pub fn address_of(host: u16) -> [u8; 6] {
    let [a, b, c, d] = ADDRESS;
    let [high, low] = (host + 1).to_be_bytes();
    [a, b, c, d, high, low]
}

/// Returns the host that a frame is for; `None` if there is none with its address.
fn host_of(frame: &[u8], hosts: u32) -> Option<u16> {
    let address = frame.get(..ETHERNET)?;
    let host = u16::from_be_bytes([address[4], address[5]]).checked_sub(1)?;
    (address[..4] == ADDRESS && u32::from(host) < hosts).then_some(host)
}
