//! Sends messages over connections that are open already, as the simulator's warm pools do: one message at a time on each, and of
//! the idle connections of two hosts the one that opened first. One thread enters each namespace to open its sockets.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use flowsieve_core::Time;
use flowsieve_core::message::Message;
use rtrb::Producer;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::counters::counters;
use super::devices::{now_ns, since_ns};
use super::enter;
use super::network::{HostSettings, Network, ip_of};
use super::sockets::{PORT, connected, listener};
use crate::error::{Doing, LabError};
use crate::hosts::{Begin, SET_UP};
use crate::lateness::{InTurn, LATE_NS, Lateness, OutOfOrder};
use crate::wire::{Connection, Protocol};

/// Bytes of one write and of one read.
const CHUNK: usize = 65_536;
/// Events of one look.
const EVENTS: usize = 128;
/// The longest wait without a look at whether the lab is to end.
const LONGEST_WAIT_NS: u64 = 20_000_000;
/// How long the network rests after connections were opened, before the first message.
const REST: Duration = Duration::from_millis(300);
/// How often the generator looks whether the fabric's thread has done something.
const PAUSE: Duration = Duration::from_micros(500);

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// The sending host.
    pub from: u16,
    /// The message; its start is from the beginning of all.
    pub message: Message,
}

/// The messages of a run.
pub trait Source {
    /// Returns the next message that starts whatever others do, in the order of starts; `None`: there are no further ones.
    fn next(&mut self) -> Option<Order>;

    /// Hears that a message has ended.
    fn ended(&mut self, _order: &Order) {}

    /// Returns the messages that follow the end of another, whose last byte has arrived now.
    fn after(&mut self, _finished: u32, _now: Time) -> Vec<Order> {
        Vec::new()
    }

    /// Returns whether the run is over, although messages are left.
    fn is_over(&self) -> bool {
        false
    }
}

/// How long a run waits for anything to finish.
const PATIENCE_NS: u64 = 60_000_000_000;

/// What became of a message.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    /// The message.
    pub order: Order,
    /// From its start to the receiver's last byte, the wait for a connection included; `None`: it has not finished.
    pub fct_ns: Option<u64>,
}

/// What the generator says to others while it works.
#[derive(Default)]
pub(super) struct Signals {
    /// It is to end.
    pub(super) stop: AtomicBool,
    /// Its connections are open and warm.
    pub(super) warm: AtomicBool,
    /// The time 0 of messages, in the lab's clock, once the fabric has begun anew; 0 before.
    pub(super) base_ns: AtomicU64,
    /// The last message has ended. Connections stay until the fabric has counted.
    pub(super) over: AtomicBool,
    pub(super) counted: AtomicBool,
    /// Messages that have finished.
    pub(super) finished: AtomicU64,
}

impl Signals {
    /// Waits until something is so, or all is to end.
    fn wait(&self, is_so: impl Fn() -> bool) {
        while !is_so() && !self.stop.load(Ordering::Acquire) {
            std::thread::sleep(PAUSE);
        }
    }
}

/// What was sent.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    /// The messages that began, by their starts.
    pub finished: Vec<Finished>,
    /// Messages that found no idle connection and waited for one.
    pub waited: u64,
    /// How late messages were started.
    pub starts: Lateness,
    /// Those that were late because others of the same instant came first.
    pub starts_in_turn: InTurn,
    /// How late their bytes were read after their arrival.
    pub reads: Lateness,
    /// Readings of bytes that had waited for earlier ones. How late these were is not known.
    pub reads_untold: u64,
    /// The time of one byte to the other host on idle connections: of each connection, in ns.
    pub one_way_ns: Vec<u64>,
    /// Counters of the hosts' TCP while the messages were sent, by name, summed over the hosts.
    pub counters: Vec<(&'static str, u64)>,
    /// The largest congestion window of a connection at the end, in segments.
    pub widest_window: u32,
}

/// The connections of all hosts, and who uses them.
struct Pools {
    hosts: u16,
    connections: Vec<Open>,
    /// By pair of hosts: connections without a message, by number, and messages that wait for one, by their place in
    /// [`Sent::finished`].
    idle: Vec<BTreeSet<usize>>,
    waiting: Vec<VecDeque<usize>>,
    /// Messages that follow others: when they start, and a number that tells them apart.
    upcoming: BTreeMap<(Time, usize), Order>,
    epoll: OwnedFd,
    begins: Producer<Begin>,
    /// The bytes of a connection's initial window. A message's first write has no more: the others of its instant wait for it.
    first_write: u64,
    zeros: Vec<u8>,
    sent: Sent,
}

/// A connection.
struct Open {
    sender: OwnedFd,
    receiver: OwnedFd,
    from: u16,
    connection: Connection,
    pair: usize,
    /// Bytes written or to be written so far.
    offset: u64,
    /// The message under way, by its place in [`Sent::finished`].
    order: Option<usize>,
    to_write: u64,
    to_read: u64,
    /// What its receiver got out of order.
    out_of_order: OutOfOrder,
    /// Whether the sender waits until there is room.
    blocked: bool,
}

/// Sends all messages of a source, and returns when all have finished, when it is told to stop, when the source or `max_time` says
/// so, or when nothing has finished for a minute.
pub(super) fn send_all(
    (network, hosts): (&Network, u16),
    source: &mut dyn Source,
    (congestion, each): (&str, usize),
    begins: Producer<Begin>,
    (signals, max_time): (&Signals, Option<Time>),
    host: &HostSettings,
) -> Result<Sent, LabError> {
    let mut pools = Pools::open((network, hosts), (congestion, each), begins, signals)?;
    pools.first_write = u64::from(host.initial_window) * u64::from(host.segment());
    pools.warm_up(signals)?;
    pools.check(host)?;
    std::thread::sleep(REST);
    let before = counters(network, hosts)?;
    signals.warm.store(true, Ordering::Release);
    signals.wait(|| signals.base_ns.load(Ordering::Acquire) > 0);
    let base_ns = signals.base_ns.load(Ordering::Acquire);
    pools.carry_out(base_ns, source, signals, max_time)?;
    let after = counters(network, hosts)?;
    signals.over.store(true, Ordering::Release);
    signals.wait(|| signals.counted.load(Ordering::Acquire));
    let mut sent = pools.end();
    sent.counters =
        after.into_iter().zip(before).map(|((name, now), (_, then))| (name, now.saturating_sub(then))).collect();
    Ok(sent)
}

impl Pools {
    /// Opens `each` connections from every host to every other one.
    fn open(
        (network, hosts): (&Network, u16),
        (congestion, each): (&str, usize),
        begins: Producer<Begin>,
        signals: &Signals,
    ) -> Result<Pools, LabError> {
        let mut listeners = Vec::new();
        for host in 0..hosts {
            enter(&network.host(host))?;
            listeners.push(listener(host, congestion).doing(|| format!("listen at host{host}"))?);
        }
        let pairs = usize::from(hosts) * usize::from(hosts);
        let mut pools = Pools {
            hosts,
            connections: Vec::new(),
            idle: vec![BTreeSet::new(); pairs],
            waiting: vec![VecDeque::new(); pairs],
            upcoming: BTreeMap::new(),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).doing(|| "watch sockets".to_owned())?,
            begins,
            first_write: u64::MAX,
            zeros: vec![0; CHUNK],
            sent: Sent::default(),
        };
        for from in 0..hosts {
            enter(&network.host(from))?;
            for to in (0..hosts).filter(|&to| to != from) {
                for _ in 0..each {
                    if signals.stop.load(Ordering::Acquire) {
                        return Err(LabError::Stopped);
                    }
                    let what = || format!("connect host{from} to host{to}");
                    let opened = connected(from, to, congestion, &listeners[usize::from(to)]).doing(what)?;
                    pools.add((from, to), opened).doing(what)?;
                }
            }
        }
        Ok(pools)
    }

    fn add(&mut self, (from, to): (u16, u16), (sender, receiver, port): (OwnedFd, OwnedFd, u16)) -> io::Result<()> {
        let number = self.connections.len();
        let [of_sender, of_receiver] = [2 * number as u64, 2 * number as u64 + 1].map(epoll::EventData::new_u64);
        epoll::add(&self.epoll, &sender, of_sender, epoll::EventFlags::empty())?;
        epoll::add(&self.epoll, &receiver, of_receiver, epoll::EventFlags::IN)?;
        let pair = self.pair(from, to);
        let (from_ip, to_ip) = (IpAddr::V4(ip_of(from)), IpAddr::V4(ip_of(to)));
        let connection = Connection { protocol: Protocol::Tcp, from: (from_ip, port), to: (to_ip, PORT) };
        self.idle[pair].insert(number);
        self.connections.push(Open {
            sender,
            receiver,
            from,
            connection,
            pair,
            offset: 0,
            order: None,
            to_write: 0,
            to_read: 0,
            out_of_order: OutOfOrder::default(),
            blocked: false,
        });
        Ok(())
    }

    fn pair(&self, from: u16, to: u16) -> usize {
        usize::from(from) * usize::from(self.hosts) + usize::from(to)
    }

    /// Has every connection carry one byte, one after the other, and notes how long each takes.
    fn warm_up(&mut self, signals: &Signals) -> Result<(), LabError> {
        /// The longest that a byte may take.
        const PATIENCE_NS: u64 = 5_000_000_000;
        let mut events = Vec::with_capacity(EVENTS);
        for number in 0..self.connections.len() {
            let from_ns = now_ns();
            let message = Message { id: SET_UP, bytes: 1, ..Message::default() };
            self.begin(number, message);
            self.write(number, u64::MAX).doing(|| "write to a connection".to_owned())?;
            while self.read(number, None).doing(|| "read from a connection".to_owned())? > 0 {
                if signals.stop.load(Ordering::Acquire) {
                    return Err(LabError::Stopped);
                }
                if now_ns() - from_ns > PATIENCE_NS {
                    return Err(LabError::failed("open connections", "a byte did not arrive within 5 s"));
                }
                self.look(1_000_000, &mut events)?;
            }
            self.sent.one_way_ns.push(now_ns() - from_ns);
        }
        Ok(())
    }

    /// Reads back from each connection what hosts were set to: both ends have agreed on it, or not.
    fn check(&self, host: &HostSettings) -> Result<(), LabError> {
        for open in &self.connections {
            let info = crate::calls::tcp_info(&open.sender).doing(|| "ask for the state of a connection".to_owned())?;
            let found = (info.ecn, info.timestamps, info.segment);
            let wanted = (host.ecn, false, host.segment());
            if found != wanted {
                let problem = format!("(ECN, timestamps, bytes of a segment) are {found:?}, and not {wanted:?}");
                return Err(LabError::failed(format!("set up a connection of host{}", open.from), problem));
            }
            // One byte has passed. A window of one segment has grown by it, and a timeout is no fault of the route's.
            let window = host.initial_window.max(1);
            if info.retransmitted == 0 && !(window..=window + 1).contains(&info.window) {
                let problem = format!("its initial window is {}, and not {window}", info.window);
                return Err(LabError::failed(format!("set up a connection of host{}", open.from), problem));
            }
        }
        Ok(())
    }

    /// Sends all messages.
    fn carry_out(
        &mut self,
        base_ns: u64,
        source: &mut dyn Source,
        signals: &Signals,
        max_time: Option<Time>,
    ) -> Result<(), LabError> {
        let at_ns = |at: Time| base_ns.saturating_add(at.0 / 1_000);
        let end_ns = max_time.map_or(u64::MAX, at_ns);
        let mut open = source.next();
        let (mut under_way, mut last_end_ns) = (0u64, base_ns);
        let mut events = Vec::with_capacity(EVENTS);
        while !(source.is_over() || signals.stop.load(Ordering::Acquire)) {
            let now = now_ns();
            let next = self.next_start(&open);
            let idle = under_way == 0 && next == Time::NEVER;
            // A source may rest for longer than patience before its next message.
            let patient_ns = if under_way == 0 { u64::MAX } else { last_end_ns.saturating_add(PATIENCE_NS) };
            if idle || now > end_ns.min(patient_ns) {
                break;
            }
            if at_ns(next) <= now {
                let order = match self.upcoming.first_entry().filter(|first| first.key().0 <= next) {
                    Some(first) => first.remove(),
                    None => match open.take() {
                        Some(order) => {
                            open = source.next();
                            order
                        }
                        None => continue,
                    },
                };
                if under_way == 0 {
                    last_end_ns = now;
                }
                under_way += 1;
                self.take(order, base_ns)?;
                continue;
            }
            let until_ns = at_ns(next).min(end_ns).saturating_sub(now_ns());
            self.look(until_ns.min(LONGEST_WAIT_NS), &mut events)?;
            for &event in &events {
                let number = (event / 2) as usize;
                if event % 2 == 0 {
                    self.write(number, u64::MAX).doing(|| "write to a connection".to_owned())?;
                    continue;
                }
                let left_of_it = self.read(number, Some(base_ns)).doing(|| "read from a connection".to_owned())?;
                if left_of_it == 0
                    && let Some(place) = self.connections[number].order.take()
                {
                    last_end_ns = now_ns();
                    under_way -= 1;
                    let start_ns = at_ns(self.sent.finished[place].order.message.start);
                    self.sent.finished[place].fct_ns = Some(last_end_ns.saturating_sub(start_ns));
                    signals.finished.fetch_add(1, Ordering::Relaxed);
                    let pair = self.connections[number].pair;
                    self.idle[pair].insert(number);
                    self.start_next(pair)?;
                    let at = Time(last_end_ns.saturating_sub(base_ns) * 1_000);
                    let ended = self.sent.finished[place].order;
                    source.ended(&ended);
                    for order in source.after(ended.message.id, at) {
                        self.upcoming.insert((order.message.start, order.message.id as usize), order);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns when the next message starts.
    fn next_start(&self, open: &Option<Order>) -> Time {
        let open = open.as_ref().map_or(Time::NEVER, |order| order.message.start);
        self.upcoming.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at).min(open)
    }

    /// Takes a message whose start has come.
    fn take(&mut self, order: Order, base_ns: u64) -> Result<(), LabError> {
        let (from, to) = (order.from, order.message.to);
        if from >= self.hosts || to >= self.hosts || from == to {
            return Err(LabError::failed("send a message", format!("it is from host{from} to host{to}")));
        }
        let pair = self.pair(from, to);
        self.sent.waited += u64::from(self.idle[pair].is_empty());
        self.waiting[pair].push_back(self.sent.finished.len());
        self.sent.finished.push(Finished { order, fct_ns: None });
        let start_ns = order.message.start.0 / 1_000;
        let late_ns = now_ns().saturating_sub(base_ns + start_ns);
        self.sent.starts.note(start_ns, late_ns);
        self.sent.starts_in_turn.note(start_ns, late_ns);
        self.start_next(pair)
    }

    /// Starts the next message of two hosts, if one waits and a connection is idle.
    fn start_next(&mut self, pair: usize) -> Result<(), LabError> {
        if self.idle[pair].is_empty() {
            return Ok(());
        }
        let Some(place) = self.waiting[pair].pop_front() else { return Ok(()) };
        let Some(number) = self.idle[pair].pop_first() else { return Ok(()) };
        let message = self.sent.finished[place].order.message;
        self.begin(number, message);
        self.connections[number].order = Some(place);
        self.write(number, self.first_write).doing(|| "write to a connection".to_owned())
    }

    /// Tells the fabric's thread of a message, before its first byte.
    fn begin(&mut self, number: usize, message: Message) {
        let open = &mut self.connections[number];
        let (host, connection, offset) = (open.from, open.connection, open.offset);
        let mut begin = Begin { at_ns: now_ns(), host, connection, offset, message };
        while let Err(rtrb::PushError::Full(back)) = self.begins.push(begin) {
            // The fabric's thread takes all that is there every turn.
            begin = back;
            std::thread::yield_now();
            if self.begins.is_abandoned() {
                break;
            }
        }
        open.offset += message.bytes;
        (open.to_write, open.to_read) = (message.bytes, message.bytes);
    }

    /// Writes what the socket takes, of `most` bytes; what is left is written as soon as there is room and nothing else is due.
    /// Only the last part of a message ends in a short segment.
    fn write(&mut self, number: usize, most: u64) -> io::Result<()> {
        let open = &mut self.connections[number];
        let left = open.to_write.saturating_sub(most);
        while open.to_write > left {
            let size = (open.to_write - left).min(CHUNK as u64) as usize;
            let more = if size as u64 == open.to_write { SendFlags::empty() } else { SendFlags::MORE };
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL | more;
            match send(&open.sender, &self.zeros[..size], flags) {
                Ok(taken) => open.to_write -= taken as u64,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let blocked = open.to_write > 0;
        if blocked != open.blocked {
            open.blocked = blocked;
            let wanted = if blocked { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
            epoll::modify(&self.epoll, &open.sender, epoll::EventData::new_u64(2 * number as u64), wanted)?;
        }
        Ok(())
    }

    /// Takes what has arrived, without a look at it; returns the bytes of the message that are missing. From `base_ns` on it counts
    /// how long bytes have waited for that, unless they waited for earlier ones.
    fn read(&mut self, number: usize, base_ns: Option<u64>) -> io::Result<u64> {
        let open = &mut self.connections[number];
        while open.to_read > 0 {
            match crate::calls::discard(&open.receiver, &mut self.zeros) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((taken, stamp_ns)) => {
                    open.to_read -= (taken as u64).min(open.to_read);
                    if let Some(base_ns) = base_ns.filter(|_| stamp_ns > 0) {
                        let (now_ns, late_ns) = (now_ns(), since_ns(stamp_ns));
                        let arrived_ns = now_ns.saturating_sub(late_ns);
                        // The kernel is asked about the late ones alone.
                        let has_waited = late_ns > LATE_NS
                            && crate::calls::out_of_order(&open.receiver)
                                .is_some_and(|segments| open.out_of_order.explains(arrived_ns, segments, now_ns));
                        if has_waited {
                            self.sent.reads_untold += 1;
                        } else {
                            self.sent.reads.note(arrived_ns.saturating_sub(base_ns), late_ns);
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(open.to_read)
    }

    /// Waits for something to happen at a socket, at most this long.
    fn look(&mut self, ns: u64, events: &mut Vec<u64>) -> Result<(), LabError> {
        let until = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
        let mut found: [std::mem::MaybeUninit<epoll::Event>; EVENTS] = [std::mem::MaybeUninit::uninit(); EVENTS];
        events.clear();
        match epoll::wait(&self.epoll, &mut found, Some(&until)) {
            Ok((found, _)) => events.extend(found.iter().map(|event| event.data.u64())),
            Err(Errno::INTR) => {}
            Err(error) => return Err(LabError::failed("wait for sockets", io::Error::from(error))),
        }
        Ok(())
    }

    /// Closes all connections.
    fn end(mut self) -> Sent {
        for open in &self.connections {
            let info = crate::calls::tcp_info(&open.sender).unwrap_or_default();
            self.sent.widest_window = self.sent.widest_window.max(info.window);
        }
        self.sent
    }
}
