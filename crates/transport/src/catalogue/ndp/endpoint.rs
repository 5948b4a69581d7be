//! A host's endpoint for NDP.

use flowsieve_core::readings::Reading;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Message, Tagger, Time};

use super::NdpRules;
use super::header::{Header, Piece};
use super::pulls::Pulls;
use super::receiver::{Answer, Came, Receivers};
use super::sender::{Senders, Silent};
use crate::catalogue::desk::Desk;
use crate::endpoint::{Effects, Endpoint, HostSite, Observed, Out, Timer, Turn};
use crate::packet::{Packet, Said};

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    pulls: u64,
    nacks: u64,
    returned: u64,
    overdue: u64,
    questions: u64,
}

/// The messages of a host and class.
#[derive(Debug)]
pub struct NdpEndpoint {
    rules: NdpRules,
    senders: Senders,
    receivers: Receivers,
    pulls: Pulls,
    desk: Desk,
    counts: Counts,
    /// What arrived.
    progress: u64,
}

impl NdpEndpoint {
    /// Builds the endpoint of a host.
    pub fn new(rules: NdpRules, site: &HostSite<'_>) -> NdpEndpoint {
        // A host has one port.
        let rate = site.site.ports[0].rate;
        let full = rules.segment.saturating_add(rules.header);
        let time = rate.serialise(u32::from(full) + u32::from(rules.overhead));
        NdpEndpoint {
            rules,
            senders: Senders::new(rules),
            receivers: Receivers::default(),
            pulls: Pulls::new(Time((time.0 as f64 / rules.pull_rate).round() as u64)),
            desk: Desk::new(rate, (full, rules.overhead), rules.nic_packets),
            counts: Counts::default(),
            progress: 0,
        }
    }

    /// Sends a packet without payload.
    fn say(&mut self, now: Time, out: &mut dyn Out, (peer, message): (u16, u32), header: Header) {
        self.desk.send(now, out, header.write((peer, message), None, self.rules.header));
    }

    fn effects(&mut self) -> Effects {
        self.desk.effects(&self.senders)
    }

    /// Answers a piece of a message at once, and queues a PULL.
    fn answer(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut dyn Out,
        of: (u16, u32),
        (piece, came): (Piece, Came),
    ) {
        let Some(Answer { has, pulls, unneeded, whole }) = self.receivers.takes(of, &piece, came) else { return };
        let ((peer, message), packet) = (of, piece.packet);
        self.progress += u64::from(came == Came::Whole && !unneeded);
        self.counts.nacks += u64::from(!has);
        self.say(now, out, of, if has { Header::Ack { packet } } else { Header::Nack { packet } });
        if unneeded {
            self.desk.report(now, tagger, FlowEvent::Unneeded { message });
        }
        if let Some(out_of_order) = whole {
            self.pulls.forget(peer, message);
            self.desk.report(now, tagger, FlowEvent::Delivered { message, out_of_order });
        }
        if pulls {
            self.pulls.add(peer, message);
            self.pull(now, out);
        }
    }

    /// Sends the next PULL, if it may leave.
    fn pull(&mut self, now: Time, out: &mut dyn Out) {
        let Some(message) = self.pulls.take(now) else { return };
        if let Some((peer, count)) = self.receivers.pulled(message) {
            self.counts.pulls += 1;
            self.say(now, out, (peer, message), Header::Pull { count });
        }
    }

    fn on_alarm(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) {
        match self.senders.on_alarm(now) {
            None => {}
            Some(Silent::Overdue { message }) => {
                self.counts.overdue += 1;
                self.desk.report(now, tagger, FlowEvent::Timeout { flow: message });
            }
            Some(Silent::Asks(packet)) => {
                self.counts.questions += 1;
                self.desk.send(now, out, packet);
            }
        }
    }
}

impl Endpoint for NdpEndpoint {
    fn begin(&mut self, now: Time, tagger: &mut Tagger, _: &mut dyn Out, message: &Message) -> Effects {
        let start = FlowEvent::MessageStart { flow: message.id, message: *message, idle: Time::NEVER };
        self.desk.report(now, tagger, start);
        self.senders.begin(now, message);
        self.effects()
    }

    fn receive(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, packet: &Packet) -> Effects {
        let (peer, message) = (packet.peer, packet.message);
        // An answer goes on with the trail of what it answers, so that of data alone says what was done to the packet.
        let [trimmed, returned] = out.trail().map_or([false; 2], |trail| [trail.trimmed.is_some(), trail.returned]);
        match Header::read(packet) {
            Some(Header::Data(piece)) if returned => {
                self.counts.returned += 1;
                self.senders.returned(now, message, piece.packet);
            }
            Some(Header::Data(piece)) => {
                let came = if trimmed { Came::Cut } else { Came::Whole };
                self.answer(now, tagger, out, (peer, message), (piece, came));
            }
            Some(Header::Ask(piece)) => self.answer(now, tagger, out, (peer, message), (piece, Came::Asked)),
            Some(Header::Ack { packet }) => {
                let (news, ended) = self.senders.acked(now, message, packet);
                self.progress += u64::from(news);
                if let Some((message, effort)) = ended {
                    let effort = Some(effort);
                    self.desk.report(now, tagger, FlowEvent::MessageEnd { flow: message.id, message, effort });
                }
            }
            Some(Header::Nack { packet }) => self.senders.nacked(now, message, packet),
            Some(Header::Pull { count }) => _ = self.senders.pulled(now, message, count),
            None => {}
        }
        self.effects()
    }

    fn on_timer(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) -> Effects {
        let first = self.next_timer();
        if first.at > now {
            return Effects::NONE;
        }
        if first == self.desk.room() {
            self.desk.has_room();
        } else if first == self.senders.alarm() {
            self.on_alarm(now, tagger, out);
        } else {
            self.pull(now, out);
        }
        self.effects()
    }

    fn next_timer(&mut self) -> Timer {
        self.desk.room().min(self.senders.alarm()).min(Timer::of_host(self.pulls.next_at(), 2))
    }

    fn turns(&self) -> u32 {
        self.desk.turns()
    }

    fn poll(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) -> Turn {
        self.desk.poll(now, tagger, out, &mut self.senders)
    }

    fn poll_event(&mut self) -> Option<FlowEvent> {
        self.desk.poll_event()
    }

    fn observe(&self, see: &mut dyn FnMut(u32, Observed<'_>)) {
        self.senders.observe(see);
    }

    fn readings(&self, see: &mut dyn FnMut(Reading)) {
        let Counts { pulls, nacks, returned, overdue, questions } = self.counts;
        let counts = [
            ("ndp_pulls", pulls),
            ("ndp_nacks", nacks),
            ("ndp_returned", returned),
            ("ndp_timeouts", overdue),
            ("ndp_questions", questions),
        ];
        counts.into_iter().for_each(|(name, count)| see(Reading::Count { name, count }));
    }

    fn acknowledged(&self) -> Option<u64> {
        Some(self.progress)
    }

    fn describe(&self, packet: &Packet) -> Said {
        match Header::read(packet) {
            // What is cut is a header of its own.
            Some(Header::Data(piece)) if packet.len > self.rules.header => {
                let Piece { packet, packets, again } = piece;
                Said::Data { segment: packet, last: packet + 1 == packets, retransmission: again }
            }
            Some(Header::Ask(_)) => Said::Probe,
            _ => Said::Own,
        }
    }
}
