//! The hosts of a partition: messages that begin, connections, timers, what is recorded of each message.
//!
//! A message's sending and receiving sides are two records, each with the host that it belongs to; they meet only in
//! the result. Sending is in [`crate::sending`], receiving in [`crate::receiving`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use flowsieve_core::tagger::Tagger;
use flowsieve_core::{NONE, Time};
use flowsieve_schemes::scheme::{Class, Connections, Handshake, Nic, Scheme, Transport};
use flowsieve_transport::TcpSender;
use flowsieve_transport::receiver::AckRule;
use flowsieve_workload::Flow;

use crate::event::Key;
use crate::following::Following;
use crate::network::Network;
use crate::receiving::ReceiverState;
use crate::trace::Begun;

/// The hosts of a partition.
pub(crate) struct Hosts {
    pub(crate) rules: Rules,
    pub(crate) hosts: Vec<Host>,
    /// Sending sides, by the index that travels in packets.
    pub(crate) connections: Vec<Connection>,
    pub(crate) closed: Vec<u32>,
    /// By the index that travels in packets: the place in `receivers`, or [`NONE`]. One for each message to these hosts;
    /// in closed loops, where nobody knows those beforehand, by the number of the message, as far as any arrived.
    pub(crate) receiver_places: Vec<u32>,
    /// Receiving sides, made when their first packet arrives.
    pub(crate) receivers: Vec<ReceiverState>,
    /// Messages that will begin, by start; those of closed loops are in `following`.
    coming: VecDeque<Coming>,
    pub(crate) following: Option<Following>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) received: Vec<Received>,
    /// Messages that began, where a trace has to know.
    pub(crate) begun: Option<Vec<Begun>>,
}

/// What the scheme says of hosts.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) classes: Vec<ClassRule>,
    pub(crate) connections: Connections,
    pub(crate) handshake: Handshake,
    /// Bytes at which a backpressured host pauses.
    pub(crate) backlog: Option<u64>,
    /// Bytes of headers.
    pub(crate) header: u16,
}

#[derive(Clone)]
pub(crate) struct ClassRule {
    pub(crate) transport: Transport,
    pub(crate) acks: AckRule,
}

impl Rules {
    pub(crate) fn new(scheme: &Scheme, header: u16) -> Rules {
        let rule = |class: &Class| ClassRule {
            transport: class.transport.clone(),
            acks: match &class.transport {
                Transport::Tcp(tcp) => AckRule { every: tcp.ack_every, delay: tcp.delayed_ack, span: tcp.span() },
                Transport::OpenLoop { .. } => AckRule { every: 1, delay: Time::ZERO, span: 0 },
            },
        };
        Rules {
            classes: scheme.classes.iter().map(rule).collect(),
            connections: scheme.connections,
            handshake: scheme.handshake,
            backlog: match scheme.nic {
                // A port that is empty takes a packet.
                Nic::Backpressure { backlog } => Some(backlog.max(1)),
                Nic::Scheme => None,
            },
            header,
        }
    }

    /// The class whose rules a flow of class `class` follows.
    pub(crate) fn class(&self, class: u8) -> u8 {
        class.min(self.classes.len() as u8 - 1)
    }
}

/// A message that will begin here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coming {
    pub(crate) flow: Flow,
    /// Its host's index in this partition.
    pub(crate) host: u32,
    /// Its receiving side's index in the partition of its destination.
    pub(crate) receiver: u32,
}

/// The sending side of a finished message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) message: u32,
    pub(crate) acknowledged: Time,
    pub(crate) retransmissions: u32,
    pub(crate) timeouts: u32,
}

/// The receiving side of a finished message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) message: u32,
    pub(crate) at: Time,
    pub(crate) out_of_order: u32,
}

/// One host.
pub(crate) struct Host {
    /// Its number in the fabric.
    pub(crate) number: u16,
    pub(crate) nic: u32,
    /// By class of flow.
    pub(crate) taggers: Vec<Tagger>,
    /// Ordered host pairs that this one sends to, by destination and class.
    pub(crate) pairs: BTreeMap<(u16, u8), Pair>,
    /// Connections that want to send, in turn, where the host is backpressured.
    pub(crate) ready: VecDeque<u32>,
    timers: BinaryHeap<Reverse<(Time, Alarm)>>,
    /// The instant for which the host's timer source is scheduled.
    scheduled: Time,
    /// Whether the port's alarm is set.
    pub(crate) port_alarm: bool,
}

/// Connections between two hosts.
#[derive(Default)]
pub(crate) struct Pair {
    /// Whether a connection was ever opened.
    pub(crate) opened: bool,
    /// (first message, connection) of those without a message.
    pub(crate) idle: BTreeSet<(u32, u32)>,
}

/// The sending side of a connection.
pub(crate) struct Connection {
    pub(crate) tcp: TcpSender,
    /// The message that opened it, and the flow that its packets belong to; [`NONE`] once closed.
    pub(crate) flow: u32,
    pub(crate) host: u32,
    /// Index of its receiving side.
    pub(crate) receiver: u32,
    pub(crate) dst: u16,
    pub(crate) class: u8,
    /// It stands in [`Host::ready`].
    pub(crate) ready: bool,
    /// The instant of its entry among the host's timers; [`Time::NEVER`]: it has none.
    pub(crate) alarm: Time,
}

/// Whom a timer calls. The order at one instant does not depend on places in memory: flows are compared first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// The host's port has room again.
    Port,
    /// A sending side.
    Sender { flow: u32, connection: u32 },
    /// A receiving side's delayed ACK.
    Receiver { flow: u32, place: u32 },
}

impl Host {
    pub(crate) fn new(number: u16, nic: u32, taggers: Vec<Tagger>) -> Host {
        Host {
            number,
            nic,
            taggers,
            pairs: BTreeMap::new(),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            scheduled: Time::NEVER,
            port_alarm: false,
        }
    }

    /// Sets an alarm. An alarm is never taken back: whoever it wakes too early sets another.
    pub(crate) fn set_alarm<K: Key>(&mut self, network: &mut Network<K>, source: u32, at: Time, alarm: Alarm) {
        self.timers.push(Reverse((at, alarm)));
        if at < self.scheduled {
            self.scheduled = at;
            network.schedule(source, at);
        }
    }

    fn next_alarm(&mut self, now: Time) -> Option<(Time, Alarm)> {
        let &Reverse((at, alarm)) = self.timers.peek()?;
        if at > now {
            return None;
        }
        self.timers.pop();
        Some((at, alarm))
    }
}

impl Hosts {
    pub(crate) fn new(rules: Rules, hosts: Vec<Host>) -> Hosts {
        Hosts {
            rules,
            hosts,
            connections: Vec::new(),
            closed: Vec::new(),
            receiver_places: Vec::new(),
            receivers: Vec::new(),
            coming: VecDeque::new(),
            following: None,
            sent: Vec::new(),
            received: Vec::new(),
            begun: None,
        }
    }

    /// A message will come to a host of this partition: the index of its receiving side.
    pub(crate) fn expect_message(&mut self) -> u32 {
        self.receiver_places.push(NONE);
        self.receiver_places.len() as u32 - 1
    }

    /// Hands over messages that will begin here; outside of closed loops later than those handed over before.
    pub(crate) fn hand_over<K: Key>(&mut self, network: &mut Network<K>, coming: Coming, source: u32) {
        if let Some(following) = &mut self.following {
            following.add(coming);
            return network.schedule(source, following.next_start());
        }
        if self.coming.is_empty() {
            network.schedule(source, Time(coming.flow.start_ps));
        }
        self.coming.push_back(coming);
    }

    /// Begins every message whose time has come.
    pub(crate) fn begin_messages<K: Key>(&mut self, network: &mut Network<K>, source: u32) {
        while let Some(coming) = self.next_due(network.now) {
            // The arrivals' source stands just before the hosts' timers.
            self.begin_message(network, &coming, source + 1 + coming.host);
        }
        let next = match &self.following {
            Some(following) => following.next_start(),
            None => self.coming.front().map_or(Time::NEVER, |coming| Time(coming.flow.start_ps)),
        };
        network.schedule(source, next);
    }

    fn next_due(&mut self, now: Time) -> Option<Coming> {
        if let Some(following) = &mut self.following {
            return following.next_due(now);
        }
        self.coming.front().filter(|coming| coming.flow.start_ps <= now.0)?;
        self.coming.pop_front()
    }

    /// A host's timer fires.
    pub(crate) fn on_timer<K: Key>(&mut self, network: &mut Network<K>, host: u32, source: u32) {
        self.hosts[host as usize].scheduled = Time::NEVER;
        while let Some((at, alarm)) = self.hosts[host as usize].next_alarm(network.now) {
            match alarm {
                Alarm::Port => {
                    self.hosts[host as usize].port_alarm = false;
                    self.pump(network, host, source);
                }
                Alarm::Sender { flow, connection } => {
                    let state = &mut self.connections[connection as usize];
                    if state.flow == flow && state.alarm == at {
                        state.alarm = Time::NEVER;
                        self.on_sender_alarm(network, connection, source);
                    }
                }
                Alarm::Receiver { place, .. } => {
                    if self.receivers[place as usize].alarm == at {
                        self.receivers[place as usize].alarm = Time::NEVER;
                        self.on_receiver_alarm(network, place, source);
                    }
                }
            }
        }
        let host = &mut self.hosts[host as usize];
        if let Some(&Reverse((at, _))) = host.timers.peek()
            && at < host.scheduled
        {
            host.scheduled = at;
        }
        network.schedule(source, host.scheduled);
    }
}
