//! Taggers: what the sending host writes into a packet for the switches.
//!
//! The transport hands over the facts of every packet as it emits it; a tagger turns them into a [`Tag`]. There is one
//! tagger a host and class of flow. All the taggers here put packets that carry no payload first: ACKs travel at priority 0
//! in the lineage of PIAS.

use std::num::NonZeroU64;

use crate::awafs::HostThresholds;
use crate::climb::{self, Climb};
use crate::coflow::tagger::LevelTagger;
use crate::controller::Published;
use crate::deadline_first;
use crate::levels::{Levels, level};
pub use crate::message::FlowEvent;
use crate::message::{Bounds, Message};
use crate::message_gap::MessageGap;
use crate::meta::Kind;
use crate::predicted::{self, Outlived};
use crate::readings::Reading;
use crate::steps::Steps;
use crate::tag::Tag;
use crate::units::{Rate, Time};

/// What the transport knows of a packet as it emits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowFacts {
    /// The flow, as in [`crate::Meta::flow`].
    pub flow: u32,
    /// The message's number in the run.
    pub message: u32,
    /// The coflow of the message.
    pub coflow: Option<u32>,
    /// The instant.
    pub now: Time,
    /// When the message was handed to its sender.
    pub start: Time,
    /// What the packet is for.
    pub kind: Kind,
    /// Bytes of the message before this packet's payload.
    pub offset: u64,
    /// Bytes of this packet's payload.
    pub payload: u32,
    /// Bytes of the message.
    pub size: u64,
    /// Bytes of the message that are not acknowledged yet, selectively or not.
    pub remaining: u64,
    /// Whether the payload was sent before.
    pub retransmission: bool,
    /// Timeouts of the message so far.
    pub timeouts: u32,
    /// When the message should have finished.
    pub deadline: Option<Time>,
    /// The size of the message in bytes, as somebody predicted it.
    pub predicted: Option<NonZeroU64>,
    /// Bounds of that size, as somebody predicted them.
    pub bounds: Option<Bounds>,
    /// The priority that the receiver granted.
    pub granted: Option<u8>,
}

impl FlowFacts {
    /// What a packet of a message has from the message itself.
    #[inline(always)]
    pub fn of(message: &Message) -> FlowFacts {
        FlowFacts {
            message: message.id,
            coflow: message.coflow,
            start: message.start,
            size: message.bytes,
            deadline: message.deadline,
            predicted: message.predicted,
            bounds: message.bounds,
            ..FlowFacts::default()
        }
    }

    /// Those of a packet without payload.
    pub fn control(flow: u32, kind: Kind, now: Time) -> FlowFacts {
        FlowFacts { flow, kind, now, ..FlowFacts::default() }
    }
}

/// A tagger of the user's own.
pub trait TagPackets: Send {
    /// The tag of a packet that is about to be emitted.
    fn tag(&mut self, facts: &FlowFacts) -> Tag;

    /// Something happened to a flow.
    fn on_event(&mut self, event: &FlowEvent, now: Time);

    /// A controller's table arrives.
    fn on_table(&mut self, _published: &Published) {}

    /// Says what it has adapted; seldom asked.
    fn observe(&self, _see: &mut dyn FnMut(Reading)) {}
}

/// A host before QCluster's switches (Table 3): group 0 for flows with the special property and 1 for the others, where
/// there is such a property, and the number that the packet's weight is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterTagger {
    /// Which flows are special.
    pub special: FlowProperty,
    /// What is written into packets of special flows.
    pub special_rank: Rank,
    /// What is written into the others.
    pub rank: Rank,
}

/// A property for which flows get queues of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowProperty {
    /// There is none: all packets are of group 0.
    None,
    /// No flow of this class has it.
    Never,
    /// Every flow of this class has it: TSN flows.
    Always,
    /// A deadline that is not over.
    Deadline,
    /// Less was acknowledged than the minimum rate asks for since the message began.
    BelowRate {
        /// Bit/s.
        bps: u64,
    },
}

/// What a host writes as a packet's number, for QCluster's switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The message's number: it tells messages apart.
    Message,
    /// The coflow's number; the message's above all coflows where it has none.
    Coflow,
    /// Bytes that are left.
    Remaining(Left),
    /// Bytes of the message.
    Size,
    /// Time to the deadline for each packet of [`Rank::PACKET`] that is left, in ns: how urgent the authors' code takes a
    /// flow to be.
    TimePerPacket(Left),
    /// The deadline, in ns after the start of the run.
    Deadline,
}

/// Which bytes of its message are left at a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Its own and those after it: of one window "late-arriving packets have higher priority" (QCluster §6.3.1), and the
    /// authors' code has the end of the message less the packet's sequence number. A retransmission has its offset's.
    ToTheEnd,
    /// Those that are not acknowledged, selectively or not: the same for all packets that are sent at once.
    Unacknowledged,
}

impl Left {
    fn of(self, facts: &FlowFacts) -> u64 {
        match self {
            Left::ToTheEnd => facts.size - facts.offset,
            Left::Unacknowledged => facts.remaining,
        }
    }
}

impl Rank {
    /// Bytes of a packet by which [`Rank::TimePerPacket`] counts.
    pub const PACKET: u64 = 1_460;

    fn of(self, facts: &FlowFacts) -> u64 {
        let ns = |time: Time| time.0 / 1_000;
        match self {
            Rank::Message => facts.message.into(),
            Rank::Coflow => facts.coflow.map_or(u64::from(!facts.message), u64::from),
            Rank::Remaining(left) => left.of(facts),
            Rank::Size => facts.size,
            Rank::Deadline => facts.deadline.map_or(u64::MAX, ns),
            Rank::TimePerPacket(left) => match facts.deadline {
                Some(deadline) if deadline > facts.now => {
                    ns(deadline - facts.now) / left.of(facts).div_ceil(Rank::PACKET).max(1)
                }
                _ => u64::MAX,
            },
        }
    }
}

impl ClusterTagger {
    fn tag(&self, facts: &FlowFacts) -> Tag {
        let special = match self.special {
            FlowProperty::None | FlowProperty::Always => true,
            FlowProperty::Never => false,
            FlowProperty::Deadline => facts.deadline.is_some_and(|deadline| facts.now < deadline),
            FlowProperty::BelowRate { bps } => {
                let acknowledged = u128::from(facts.size - facts.remaining) * 8_000_000_000_000;
                let elapsed = facts.now.0.saturating_sub(facts.start.0);
                acknowledged <= u128::from(bps) * u128::from(elapsed)
            }
        };
        let rank = if special && self.special != FlowProperty::None { self.special_rank } else { self.rank };
        Tag::with_group(u8::from(!special), rank.of(facts))
    }
}

/// Every built-in tagger.
pub enum Tagger {
    /// All packets alike.
    Plain,
    /// Multi-level feedback (PIAS, NSDI 2015 §3): a packet's priority is the number of demotion thresholds that the
    /// bytes before it exceed. A retransmission keeps the priority of its offset.
    Demotion {
        /// Bytes, rising.
        thresholds: Vec<u64>,
    },
    /// The same where messages of a connection are told apart by time alone: what counts is what the connection sent since
    /// its last pause.
    DemotionByGap {
        /// Bytes, rising.
        thresholds: Vec<u64>,
        /// What counts as sent before a packet.
        sent: Box<MessageGap>,
    },
    /// Up towards a lower bound of the size, and down again (QCLIMB).
    Climb(Box<Climb>),
    /// The levels of the network and of the host, both of which adapt (NOS2).
    Levels(Box<Levels>),
    /// Rank is the bytes that remain, before acknowledgement, of the message (pFabric; SRPT in closed loop).
    Remaining,
    /// Rank is what is left of the predicted size: see [`predicted::rank`].
    Predicted(Outlived),
    /// Rank is the bytes from this packet to the end of the message: SRPT where nothing is acknowledged.
    ToTheEnd,
    /// Rank is the bytes before this packet: LAS.
    Attained,
    /// Rank is the deadline, or else the bytes that remain: [`deadline_first::rank`].
    DeadlineFirst {
        /// The rate of the host's link.
        rate: Rate,
    },
    /// What QCluster's switches need to know.
    Cluster(ClusterTagger),
    /// What AWAFS's switches need to know: see [`crate::awafs`].
    Ends {
        /// Rank is the bytes before this packet; or else nothing but the end is written.
        sent: bool,
    },
    /// AWAFS at end hosts.
    Adaptive(Box<HostThresholds>),
    /// The level of the coflow, from a coordinator.
    Coflow(Box<LevelTagger>),
    /// A tagger of the user's own.
    Boxed(Box<dyn TagPackets>),
}

impl Tagger {
    /// The tag of a packet that is about to be emitted. What is not asked for of its facts costs nothing.
    #[inline(always)]
    pub fn tag(&mut self, facts: impl FnOnce() -> FlowFacts) -> Tag {
        match self {
            Tagger::Plain => Tag::default(),
            Tagger::Demotion { thresholds } => {
                let facts = facts();
                let demotes = |&&threshold: &&u64| facts.kind == Kind::Data && facts.offset > threshold;
                Tag::with_priority(thresholds.iter().take_while(demotes).count() as u8)
            }
            Tagger::Climb(climb) => {
                let facts = facts();
                if facts.kind != Kind::Data {
                    return Tag::default();
                }
                let FlowFacts { offset, payload, retransmission, size, predicted, bounds, .. } = facts;
                climb.tag(&climb::Packet { offset, payload, retransmission, size, predicted, bounds })
            }
            other => other.tag_elsewhere(&facts()),
        }
    }

    /// The tag of a packet without payload, which built-in taggers give the highest priority.
    #[inline(always)]
    pub fn tag_control(&mut self, facts: impl FnOnce() -> FlowFacts) -> Tag {
        match self {
            Tagger::Boxed(own) => own.tag(&facts()),
            _ => Tag::default(),
        }
    }

    #[inline(never)]
    fn tag_elsewhere(&mut self, facts: &FlowFacts) -> Tag {
        if let Tagger::Boxed(own) = self {
            return own.tag(facts);
        }
        if facts.kind != Kind::Data {
            return Tag::default();
        }
        if let Tagger::DemotionByGap { thresholds, sent } = self {
            return Tag::with_priority(level(thresholds, sent.on_packet(facts)) as u8);
        }
        if let Tagger::Levels(levels) = self {
            return levels.tag(facts);
        }
        match self {
            Tagger::Cluster(tagger) => return tagger.tag(facts),
            Tagger::Adaptive(host) => return host.tag(facts),
            Tagger::Coflow(levels) => return levels.tag(facts),
            Tagger::Ends { sent } => {
                let last = facts.offset + u64::from(facts.payload) == facts.size;
                return Tag::with_sent(if *sent { facts.offset } else { 0 }, last);
            }
            _ => {}
        }
        let rank = match self {
            Tagger::DeadlineFirst { rate } => deadline_first::rank(facts, *rate).into(),
            Tagger::Remaining => facts.remaining,
            Tagger::Predicted(outlived) => predicted::rank(facts, *outlived),
            Tagger::ToTheEnd => facts.size - facts.offset,
            Tagger::Attained => facts.offset,
            Tagger::Plain
            | Tagger::Demotion { .. }
            | Tagger::DemotionByGap { .. }
            | Tagger::Climb(_)
            | Tagger::Levels(_)
            | Tagger::Cluster(_)
            | Tagger::Ends { .. }
            | Tagger::Adaptive(_)
            | Tagger::Coflow(_)
            | Tagger::Boxed(_) => 0,
        };
        Tag::with_rank(rank)
    }

    /// Where the steps of a message end, of which its sender is to measure the time. Only QCLIMB has any.
    #[inline(always)]
    pub fn steps(&self, message: &Message) -> Option<Steps> {
        match self {
            Tagger::Climb(climb) => climb.steps(message),
            _ => None,
        }
    }

    /// Tells the tagger of something between packets.
    #[inline]
    pub fn on_event(&mut self, event: &FlowEvent, now: Time) {
        match self {
            Tagger::Boxed(own) => own.on_event(event, now),
            Tagger::DemotionByGap { sent, .. } => sent.on_event(event, now),
            Tagger::Adaptive(host) => host.on_event(event),
            Tagger::Coflow(levels) => levels.on_event(event),
            _ => {}
        }
    }

    /// A controller's table arrives. Who follows none passes it over.
    pub fn on_table(&mut self, published: &Published) {
        match self {
            Tagger::Boxed(own) => own.on_table(published),
            Tagger::Levels(levels) => levels.on_table(published),
            Tagger::Adaptive(host) => host.on_table(published),
            Tagger::Coflow(levels) => levels.on_table(published),
            _ => {}
        }
    }

    /// Bytes sent of each message under way, where they are counted for a controller that asks.
    pub fn sent(&self, see: &mut dyn FnMut(u32, u64)) {
        if let Tagger::Coflow(levels) = self {
            levels.sent(see);
        }
    }

    /// Says what it has adapted.
    pub fn observe(&self, see: &mut dyn FnMut(Reading)) {
        match self {
            Tagger::Boxed(own) => own.observe(see),
            Tagger::Climb(climb) => climb.observe(see),
            Tagger::Levels(levels) => levels.observe(see),
            Tagger::Adaptive(host) => host.observe(see),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(offset: u64, size: u64, remaining: u64) -> FlowFacts {
        FlowFacts { kind: Kind::Data, offset, size, remaining, ..FlowFacts::default() }
    }

    #[test]
    fn demotion__when_the_bytes_before_exceed_a_threshold() {
        let mut pias = Tagger::Demotion { thresholds: vec![2_920, 7_300] };
        let priorities: Vec<u8> = (0..7).map(|i| pias.tag(|| data(i * 1_460, 10_220, 0)).priority()).collect();
        assert_eq!(priorities, [0, 0, 0, 1, 1, 1, 2]);
    }

    #[test]
    fn demotion_by_gap__begins_anew_after_a_pause() {
        let sent = Box::new(MessageGap::new(Time::from_us(10)));
        let mut pias = Tagger::DemotionByGap { thresholds: vec![1_000], sent };
        let message = Message { bytes: 9_000, ..Message::default() };
        pias.on_event(&FlowEvent::MessageStart { flow: 0, message, idle: Time::NEVER }, Time::ZERO);
        let mut priority = |offset, at_us| {
            let now = Time::from_us(at_us);
            let ack = FlowFacts { kind: Kind::Ack, now, ..FlowFacts::default() };
            assert_eq!(pias.tag(|| ack), Tag::default());
            pias.tag(|| FlowFacts { now, ..data(offset, 9_000, 9_000) }).priority()
        };
        // ACKs of the other direction end no pause.
        assert_eq!([priority(0, 0), priority(1_460, 0), priority(2_920, 10), priority(4_380, 21)], [0, 1, 1, 0]);
    }

    #[test]
    fn acks__are_first_whatever_the_tagger() {
        let ack = FlowFacts { kind: Kind::Ack, ..data(9_999_999, 9_999_999, 9_999_999) };
        let (knows, unseen) = (climb::SizeKnowledge::Bounds, climb::Unseen::Lowest);
        let params = climb::ClimbParams { thresholds: vec![0], slack: 0, knows, unseen, retransmissions_first: false };
        let climbing = Tagger::Climb(Box::new(Climb::new(&params)));
        for mut tagger in
            [Tagger::Demotion { thresholds: vec![0] }, climbing, Tagger::Remaining, Tagger::ToTheEnd, Tagger::Attained]
        {
            assert_eq!([tagger.tag(|| ack), tagger.tag_control(|| ack)], [Tag::default(); 2]);
        }
    }

    #[test]
    fn cluster__special_flows_are_first_while_they_have_the_property() {
        let of = |special, facts: FlowFacts| {
            let (special_rank, rank) = (Rank::TimePerPacket(Left::ToTheEnd), Rank::Remaining(Left::ToTheEnd));
            let tagger = ClusterTagger { special, special_rank, rank };
            let tag = Tagger::Cluster(tagger).tag(|| facts);
            (tag.group(), tag.number())
        };
        let us = Time::from_us;
        let ten_packets = FlowFacts { now: us(100), ..data(0, 14_600, 14_600) };
        assert_eq!(of(FlowProperty::None, ten_packets), (0, 14_600));
        assert_eq!(of(FlowProperty::Deadline, ten_packets), (1, 14_600));
        assert_eq!(of(FlowProperty::Deadline, FlowFacts { deadline: Some(us(300)), ..ten_packets }), (0, 20_000));
        assert_eq!(of(FlowProperty::Deadline, FlowFacts { deadline: Some(us(100)), ..ten_packets }), (1, 14_600));
        // 1,460 of 14,600 bytes in 100 us: 116.8 Mbit/s.
        let slow = FlowFacts { start: Time::ZERO, remaining: 13_140, ..ten_packets };
        assert_eq!(of(FlowProperty::BelowRate { bps: 116_800_000 }, slow).0, 0);
        assert_eq!(of(FlowProperty::BelowRate { bps: 116_700_000 }, slow).0, 1);
    }

    #[test]
    fn cluster__late_packets_of_a_window_have_less_left() {
        // Three packets that are sent at once when the first of five is acknowledged, and that first one once more.
        let window = [1_460, 2_920, 4_380, 0].map(|offset| FlowFacts {
            now: Time::from_us(10),
            deadline: Some(Time::from_us(30)),
            ..data(offset, 7_300, 5_840)
        });
        let numbers = |special, left| {
            let (special_rank, rank) = (Rank::TimePerPacket(left), Rank::Remaining(left));
            let mut tagger = Tagger::Cluster(ClusterTagger { special, special_rank, rank });
            window.map(|facts| tagger.tag(|| facts).number())
        };
        assert_eq!(numbers(FlowProperty::None, Left::ToTheEnd), [5_840, 4_380, 2_920, 7_300]);
        assert_eq!(numbers(FlowProperty::None, Left::Unacknowledged), [5_840; 4]);
        assert_eq!(numbers(FlowProperty::Deadline, Left::ToTheEnd), [5_000, 6_666, 10_000, 4_000]);
        assert_eq!(numbers(FlowProperty::Deadline, Left::Unacknowledged), [5_000; 4]);
    }

    #[test]
    fn cluster__flows_without_a_coflow_are_their_own() {
        let tagger = ClusterTagger { special: FlowProperty::None, special_rank: Rank::Message, rank: Rank::Coflow };
        let number =
            |message, coflow| Tagger::Cluster(tagger).tag(|| FlowFacts { message, coflow, ..data(0, 1, 1) }).number();
        assert_eq!([number(7, Some(3)), number(8, Some(3)), number(9, None)], [3, 3, u32::MAX - 9]);
    }

    #[test]
    fn ends__the_last_packet_is_marked_and_others_say_what_was_sent() {
        let packet = |offset, payload| FlowFacts { payload, ..data(offset, 3_000, 3_000) };
        let tags = |sent| {
            let mut tagger = Tagger::Ends { sent };
            [packet(0, 1_460), packet(1_460, 1_460), packet(2_920, 80)].map(|facts| tagger.tag(|| facts))
        };
        let read = |tag: Tag| (tag.sent(), tag.ends_flow());
        assert_eq!(tags(true).map(read), [(0, false), (1_460, false), (2_920, true)]);
        assert_eq!(tags(false).map(read), [(0, false), (0, false), (0, true)]);
        let ack = FlowFacts { kind: Kind::Ack, ..FlowFacts::default() };
        assert_eq!(Tagger::Ends { sent: true }.tag(|| ack), Tag::default());
    }

    #[test]
    fn ranks__saturate() {
        assert_eq!(Tagger::Remaining.tag(|| data(0, 1 << 40, 1 << 40)).rank(), u32::MAX);
        assert_eq!(Tagger::ToTheEnd.tag(|| data(1_460, 5_000, 5_000)).rank(), 3_540);
        assert_eq!(Tagger::Attained.tag(|| data(1_460, 5_000, 5_000)).rank(), 1_460);
    }
}
