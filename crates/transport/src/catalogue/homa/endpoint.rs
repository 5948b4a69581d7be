//! A host's endpoint for Homa.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use flowsieve_core::readings::Reading;
use flowsieve_core::site::Node;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Message, Tag, Tagger, Time};

use super::header::{DataHeader, Have, Header};
use super::line::Line;
use super::receiver::{self, Data, Grant, Receivers};
use super::requests::{Begins, Requests};
use super::rules::HomaRules;
use super::sender::{self, Senders, Sending};
use crate::endpoint::{Effects, Endpoint, HostSite, Observed, Out, Timer, Turn};
use crate::packet::{Packet, Said};

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    grants: u64,
    resends: u64,
    questions: u64,
    busy: u64,
    replies: u64,
}

/// The messages of a host and class.
#[derive(Debug)]
pub struct HomaEndpoint {
    rules: Arc<HomaRules>,
    host: u16,
    senders: Senders,
    receivers: Receivers,
    /// Requests, if something is done about incast.
    requests: Option<Requests>,
    line: Line,
    /// When the NIC has room for a packet; [`Time::NEVER`]: no message waits for that.
    room_at: Time,
    /// Whether a turn is wanted. It stays wanted until a turn finds nothing to send.
    wants_turn: bool,
    events: VecDeque<FlowEvent>,
    counts: Counts,
    /// What arrived, and what was granted.
    progress: u64,
}

impl HomaEndpoint {
    /// Builds the endpoint of a host.
    pub fn new(rules: &Arc<HomaRules>, site: &HostSite<'_>) -> HomaEndpoint {
        // A host has one port.
        let rate = site.site.ports[0].rate;
        let line = Line::new(rate, (rules.segment.saturating_add(rules.header), rules.overhead), rules.nic_packets);
        let host = match site.site.node {
            Node::Host(host) => host as u16,
            Node::Switch(_) => 0,
        };
        HomaEndpoint {
            rules: Arc::clone(rules),
            host,
            senders: Senders::new(Arc::clone(rules), host),
            receivers: Receivers::new(Arc::clone(rules), host),
            requests: rules.incast.map(|_| Requests::default()),
            line,
            room_at: Time::NEVER,
            wants_turn: false,
            events: VecDeque::new(),
            counts: Counts::default(),
            progress: 0,
        }
    }

    fn report(&mut self, now: Time, tagger: &mut Tagger, event: FlowEvent) {
        tagger.on_event(&event, now);
        self.events.push_back(event);
    }

    /// Sends a packet without payload.
    fn say(&mut self, now: Time, out: &mut dyn Out, (peer, message): (u16, u32), header: Header) {
        let packet = header.control((peer, message), self.rules.header, self.receivers.cutoffs());
        self.line.takes(now, packet.len);
        out.send(packet);
    }

    /// Asks for a turn if a message may send and the NIC may have room.
    fn effects(&mut self) -> Effects {
        let turns = self.room_at == Time::NEVER && self.senders.any_ready();
        self.wants_turn |= turns;
        Effects { events: !self.events.is_empty(), turns }
    }

    fn on_data(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, packet: &Packet, data: &DataHeader) {
        let message = packet.message;
        let event = match self.receivers.on_data(now, (packet.peer, message), data) {
            Data::Ignored => return,
            Data::Unneeded => return self.report(now, tagger, FlowEvent::Unneeded { message }),
            Data::Part => None,
            Data::Whole { out_of_order, asked } => {
                if asked > 0 {
                    let time = Time(self.rules.silence.0.saturating_mul(asked.into()));
                    self.report(now, tagger, FlowEvent::Awaited { message, asked, time });
                }
                Some(FlowEvent::Delivered { message, out_of_order })
            }
        };
        self.progress += 1;
        if let Some(requests) = &mut self.requests {
            requests.arrives(packet.peer, (message, packet.coflow), data.marked);
            if event.is_some() {
                requests.ends(message, false);
            }
        }
        if event.is_some() && self.rules.replies {
            self.counts.replies += 1;
            self.say(now, out, (packet.peer, message), Header::Busy(Have::All));
        }
        self.give_grants(now, out);
        event.into_iter().for_each(|event| self.report(now, tagger, event));
    }

    fn give_grants(&mut self, now: Time, out: &mut dyn Out) {
        let HomaEndpoint { rules, receivers, line, counts, .. } = self;
        let cutoffs = receivers.cutoffs();
        receivers.give_grants(now, |Grant { peer, message, before, level }| {
            let packet = Header::Grant { before, level }.control((peer, message), rules.header, cutoffs);
            line.takes(now, packet.len);
            counts.grants += 1;
            out.send(packet);
        });
    }

    fn on_resend(&mut self, now: Time, out: &mut dyn Out, (peer, message): (u16, u32), packets: Range<u32>) {
        if !packets.is_empty() && self.senders.asked_again(now, message, packets) {
            self.counts.busy += 1;
            self.say(now, out, (peer, message), Header::Busy(Have::Part));
        }
    }

    fn give_up(&mut self, now: Time, tagger: &mut Tagger, message: u32) {
        if let Some(requests) = &mut self.requests {
            requests.ends(message, true);
        }
        self.report(now, tagger, FlowEvent::GivenUp { message });
    }

    /// Answers a sender's question.
    fn answer(&mut self, now: Time, out: &mut dyn Out, (peer, message): (u16, u32)) {
        let header = match self.receivers.has(message) {
            Some(have) => {
                self.counts.busy += 1;
                Header::Busy(have)
            }
            None => {
                self.counts.resends += 1;
                Header::resend(0..self.rules.packets(self.rules.rtt_bytes_between(peer, self.host)))
            }
        };
        self.say(now, out, (peer, message), header);
    }

    fn on_senders_alarm(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) {
        match self.senders.on_alarm(now) {
            None => {}
            Some(sender::Silent::GivenUp { message }) => self.give_up(now, tagger, message),
            Some(sender::Silent::Asked { peer, message, again }) => {
                self.counts.questions += 1;
                self.say(now, out, (peer, message), Header::Ask);
                if again {
                    self.report(now, tagger, FlowEvent::Timeout { flow: message });
                }
            }
        }
    }

    fn on_receivers_alarm(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) {
        match self.receivers.on_alarm(now) {
            None => {}
            Some(receiver::Silent::GivenUp { message }) => {
                self.give_up(now, tagger, message);
                self.give_grants(now, out);
            }
            Some(receiver::Silent::Resend { peer, message, gaps }) => {
                for packets in gaps {
                    self.counts.resends += 1;
                    self.say(now, out, (peer, message), Header::resend(packets));
                }
                self.report(now, tagger, FlowEvent::Timeout { flow: message });
            }
        }
    }
}

impl Endpoint for HomaEndpoint {
    fn begin(&mut self, now: Time, tagger: &mut Tagger, _: &mut dyn Out, message: &Message) -> Effects {
        let start = FlowEvent::MessageStart { flow: message.id, message: *message, idle: Time::NEVER };
        self.report(now, tagger, start);
        let requests = self.requests.as_mut().zip(self.rules.incast);
        let begins = requests.map_or(Begins::default(), |(requests, rules)| requests.begins(rules, message));
        self.senders.begin(now, message, begins);
        self.effects()
    }

    fn receive(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, packet: &Packet) -> Effects {
        let (peer, message) = (packet.peer, packet.message);
        let header = Header::read(packet);
        if self.rules.seen.is_some() && !matches!(header, None | Some(Header::Data(_))) {
            self.senders.told(peer, Header::cutoffs(packet));
        }
        match header {
            Some(Header::Data(data)) => self.on_data(now, tagger, out, packet, &data),
            Some(Header::Grant { before, level }) => {
                self.progress += u64::from(self.senders.granted(now, message, before, level));
            }
            Some(Header::Resend { from, to }) => self.on_resend(now, out, (peer, message), from..to),
            Some(Header::Ask) => self.answer(now, out, (peer, message)),
            Some(Header::Busy(have)) => {
                // Of one message a host is the sender or the receiver.
                self.receivers.busy(now, message);
                if let Some((message, effort)) = self.senders.answered(now, message, have) {
                    self.progress += 1;
                    let effort = Some(effort);
                    self.report(now, tagger, FlowEvent::MessageEnd { flow: message.id, message, effort });
                }
            }
            None => {}
        }
        self.effects()
    }

    fn on_timer(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) -> Effects {
        let first = self.next_timer();
        if first.at > now {
            return Effects::NONE;
        }
        if first == Timer::of_host(self.room_at, 3) {
            self.room_at = Time::NEVER;
        } else if first == self.senders.alarm() {
            self.on_senders_alarm(now, tagger, out);
        } else {
            self.on_receivers_alarm(now, tagger, out);
        }
        self.effects()
    }

    fn next_timer(&mut self) -> Timer {
        Timer::of_host(self.room_at, 3).min(self.senders.alarm()).min(self.receivers.alarm())
    }

    fn turns(&self) -> u32 {
        u32::from(self.wants_turn)
    }

    fn poll(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) -> Turn {
        let room_at = self.line.has_room_at();
        if self.senders.any_ready() && room_at > now {
            (self.room_at, self.wants_turn) = (room_at, false);
            return Turn::Unused;
        }
        let Some(Sending { packet, facts, whole }) = self.senders.send(now) else {
            self.wants_turn = false;
            return Turn::Unused;
        };
        // The tagger writes the rank. The priority is the receiver's choice.
        let tag = Tag::new(packet.tag.priority(), tagger.tag(|| facts).rank());
        let packet = Packet { tag, ..packet };
        self.line.takes(now, packet.len);
        out.send(packet);
        if let Some(message) = whole.filter(|_| !self.rules.asks) {
            // The sender learns no more of it.
            self.report(now, tagger, FlowEvent::MessageEnd { flow: message.id, message, effort: None });
        }
        self.wants_turn = self.senders.any_ready();
        Turn::Sent
    }

    fn poll_event(&mut self) -> Option<FlowEvent> {
        self.events.pop_front()
    }

    fn observe(&self, see: &mut dyn FnMut(u32, Observed<'_>)) {
        self.senders.observe(see);
    }

    fn readings(&self, see: &mut dyn FnMut(Reading)) {
        let Counts { grants, resends, questions, busy, replies } = self.counts;
        let counts = [
            ("homa_grants", grants),
            ("homa_resends", resends),
            ("homa_packets_sent_again", self.senders.resent),
            ("homa_questions", questions),
            ("homa_busy", busy),
        ];
        let of_replies = self.rules.replies.then_some(("homa_replies", replies));
        counts.into_iter().chain(of_replies).for_each(|(name, count)| see(Reading::Count { name, count }));
    }

    fn acknowledged(&self) -> Option<u64> {
        Some(self.progress)
    }

    fn describe(&self, packet: &Packet) -> Said {
        match Header::read(packet) {
            Some(Header::Data(data)) => Said::Data {
                segment: data.packet,
                last: data.packet + 1 == self.rules.packets(data.size),
                retransmission: data.retransmission,
            },
            Some(Header::Ask) => Said::Probe,
            _ => Said::Own,
        }
    }
}
