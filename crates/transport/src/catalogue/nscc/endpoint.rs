//! A host's endpoint for NSCC.

use flowsieve_core::readings::Reading;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Message, Tagger, Time};

use flowsieve_core::meta::Ecn;

use super::NsccRules;
use super::header::Header;
use super::receiver::{Answer, Came, Receivers};
use super::sender::Senders;
use super::window::Law;
use crate::catalogue::desk::Desk;
use crate::endpoint::{Effects, Endpoint, HostSite, Observed, Out, Timer, Turn};
use crate::packet::{Packet, Said};

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    acks: u64,
    nacks: u64,
    overdue: u64,
}

/// The messages of a host and class.
#[derive(Debug)]
pub struct NsccEndpoint {
    rules: NsccRules,
    senders: Senders,
    receivers: Receivers,
    desk: Desk,
    counts: Counts,
    /// What arrived.
    progress: u64,
}

impl NsccEndpoint {
    /// Builds the endpoint of a host.
    pub fn new(rules: NsccRules, site: &HostSite<'_>) -> NsccEndpoint {
        // A host has one port.
        let rate = site.site.ports[0].rate;
        let law = Law::new(rate, (rules.segment, rules.header), rules.round_trip, rules.target);
        let full = rules.segment.saturating_add(rules.header);
        NsccEndpoint {
            rules,
            senders: Senders::new(rules, law, site.site.seed),
            receivers: Receivers::new(rules.ack_bytes),
            desk: Desk::new(rate, (full, rules.overhead), rules.nic_packets),
            counts: Counts::default(),
            progress: 0,
        }
    }

    fn effects(&mut self) -> Effects {
        self.desk.effects(&self.senders)
    }

    /// Answers a piece of a message, with its entropy.
    fn answer(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut dyn Out,
        (peer, message, entropy): (u16, u32, u16),
        came: &Came,
    ) {
        let Answer { header, unneeded, whole } = self.receivers.takes((peer, message), came);
        self.progress += u64::from(came.cut.is_none() && !unneeded);
        if let Some(header) = header {
            let is_nack = matches!(header, Header::Nack { .. });
            self.counts.nacks += u64::from(is_nack);
            self.counts.acks += u64::from(!is_nack);
            self.desk.send(now, out, header.write((peer, message), entropy, None, self.rules.header));
        }
        if unneeded {
            self.desk.report(now, tagger, FlowEvent::Unneeded { message });
        }
        if let Some(out_of_order) = whole {
            self.desk.report(now, tagger, FlowEvent::Delivered { message, out_of_order });
        }
    }
}

impl Endpoint for NsccEndpoint {
    fn begin(&mut self, now: Time, tagger: &mut Tagger, _: &mut dyn Out, message: &Message) -> Effects {
        let start = FlowEvent::MessageStart { flow: message.id, message: *message, idle: Time::NEVER };
        self.desk.report(now, tagger, start);
        self.senders.begin(now, message);
        self.effects()
    }

    fn receive(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, packet: &Packet) -> Effects {
        let (peer, message, marked) = (packet.peer, packet.message, packet.ecn == Ecn::Marked);
        let Some((header, entropy)) = Header::read(packet) else { return Effects::NONE };
        match header {
            Header::Data { packet: number, packets, again, asks } => {
                // An answer goes on with the trail of what it answers, so that of data alone says what was done to the packet.
                let cut = out.trail().and_then(|trail| trail.trimmed);
                let came = Came { packet: number, packets, len: packet.len, again, asks, marked, cut };
                self.answer(now, tagger, out, (peer, message, entropy), &came);
            }
            Header::Ack { .. } => {
                let (news, ended) = self.senders.acked(now, message, header, entropy);
                self.progress += u64::from(news);
                if let Some((message, effort)) = ended {
                    let effort = Some(effort);
                    self.desk.report(now, tagger, FlowEvent::MessageEnd { flow: message.id, message, effort });
                }
            }
            Header::Nack { .. } => self.senders.nacked(now, message, header, entropy),
        }
        self.effects()
    }

    fn on_timer(&mut self, now: Time, tagger: &mut Tagger, _: &mut dyn Out) -> Effects {
        let first = self.next_timer();
        if first.at > now {
            return Effects::NONE;
        }
        if first == self.desk.room() {
            self.desk.has_room();
        } else if let Some(flow) = self.senders.on_alarm(now) {
            self.counts.overdue += 1;
            self.desk.report(now, tagger, FlowEvent::Timeout { flow });
        }
        self.effects()
    }

    fn next_timer(&mut self) -> Timer {
        self.desk.room().min(self.senders.alarm())
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
        let Counts { acks, nacks, overdue } = self.counts;
        let counts = [("nscc_acks", acks), ("nscc_nacks", nacks), ("nscc_timeouts", overdue)];
        counts.into_iter().for_each(|(name, count)| see(Reading::Count { name, count }));
    }

    fn acknowledged(&self) -> Option<u64> {
        Some(self.progress)
    }

    fn connection(&self, packet: &Packet) -> u32 {
        packet.message
    }

    fn describe(&self, packet: &Packet) -> Said {
        match Header::read(packet) {
            // What is cut is a header of its own.
            Some((Header::Data { packet: segment, packets, again, .. }, _)) if packet.len > self.rules.header => {
                Said::Data { segment, last: segment + 1 == packets, retransmission: again }
            }
            _ => Said::Own,
        }
    }
}
