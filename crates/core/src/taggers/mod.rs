//! The built-in taggers: the one list of them. A new one is a file here and a line in the list.
//!
//! All of them but [`fixed`] give the highest priority to packets without payload: ACKs travel at priority 0 in the lineage of
//! PIAS.

pub mod aged_levels;
pub mod awafs;
pub mod batches;
pub mod bytes;
pub mod climb;
pub mod cluster;
pub mod coflow;
pub mod deadline_first;
pub mod demotion;
pub mod ends;
pub mod fixed;
pub mod kept_levels;
pub mod level_cap;
pub mod levels;
pub mod message_gap;
pub mod pieces;
pub mod plain;
pub mod predicted;

use std::num::NonZeroU64;
use std::sync::Arc;

use crate::catalogue::{Custom, catalogue};
use crate::controller::Published;
use crate::message::{FlowEvent, Message};
use crate::meta::Kind;
use crate::readings::Reading;
use crate::site::Site;
use crate::steps::Steps;
use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets, TaggerRules};
use crate::units::Time;
use ends::Ends;
use pieces::Pieces;
use plain::Plain;

catalogue! {
    $ each
    /// What a host writes into packets, with its settings.
    pub TaggerSpec =>
    /// Every tagger as one type, so that a host calls it without indirection.
    pub Tagger
    Custom(Custom<MakeTagger>) => Box<dyn TagPackets>;
    /// All packets are equal.
    Plain(plain::Plain) => plain::Plain;
    /// All packets have one priority.
    Fixed(fixed::Fixed) => fixed::Fixed;
    /// PIAS's demotion.
    Demotion(demotion::Demotion) => demotion::Demotion;
    /// The same, with messages of a connection distinguished only by time.
    DemotionByGap(message_gap::DemotionByGap) => Box<message_gap::GapTagger>;
    /// Up towards a lower bound of the size, and down again (QCLIMB).
    Climb(climb::ClimbParams) => Box<climb::Climb>;
    /// The levels of the network and of the host, both adaptive (NOS2).
    Levels(levels::LevelParams) => Box<levels::Levels>;
    /// PIAS's demotion by thresholds that change, which never move a message up.
    KeptLevels(kept_levels::KeptLevelParams) => Box<kept_levels::KeptLevels>;
    /// PIAS's levels as a rank, by age within each.
    AgedLevels(aged_levels::AgedLevels) => aged_levels::AgedLevels;
    /// One of these that tag by the bytes before a packet, with one tag for all packets of a super-packet.
    Batched(batches::Batches) => Box<batches::Batched>;
    /// A rank by bytes of the message.
    Bytes(bytes::Bytes) => bytes::Bytes;
    /// A rank by the remainder of the predicted size.
    Predicted(predicted::Outlived) => predicted::Outlived;
    /// A rank by the deadline, or else by the bytes that remain.
    DeadlineFirst(deadline_first::DeadlineFirst) => deadline_first::DeadlineFirst;
    /// What QCluster's switches need to know.
    Cluster(cluster::ClusterTagger) => cluster::ClusterTagger;
    /// What AWAFS's switches need to know.
    Ends(ends::Ends) => ends::Ends;
    /// AWAFS at end hosts.
    Adaptive(awafs::HostParams) => Box<awafs::HostThresholds>;
    /// The level of the coflow, from a coordinator.
    Coflow(coflow::HostRules) => Box<coflow::LevelTagger>;
}

/// Builds a custom tagger for a host.
pub type MakeTagger = dyn Fn(&Site) -> Box<dyn TagPackets> + Send + Sync;

impl TaggerSpec {
    /// Wraps a custom tagger, which is built from the host's site.
    pub fn custom<T: TagPackets + 'static>(make: impl Fn(&Site) -> T + Send + Sync + 'static) -> TaggerSpec {
        TaggerSpec::Custom(Custom(Arc::new(move |site| Box::new(make(site)))))
    }

    /// Builds a tagger for one host. `site` is called only for a custom tagger.
    pub fn build(&self, site: impl FnOnce() -> Site) -> Tagger {
        each!(make self, rules => rules.build(), own => (own.0)(&site()))
    }

    /// Returns whether [`TagPackets::urgency`] distinguishes packets. A custom tagger may.
    pub fn ranks_at_hosts(&self) -> bool {
        match self {
            TaggerSpec::Plain(_) | TaggerSpec::Fixed(_) | TaggerSpec::Ends(_) => false,
            TaggerSpec::Cluster(rules) => rules.ranks_at_hosts(),
            _ => true,
        }
    }

    /// Returns what a host writes that claims the highest priority for everything it sends: priority 0 and rank 0. The mark
    /// of a connection's end alone is not a claim, since it is the transport's own, a FIN. With `piece`: what a host writes
    /// that splits its messages into pieces of that size, in bytes.
    #[must_use]
    pub fn misused(&self, piece: Option<NonZeroU64>) -> TaggerSpec {
        match (piece, self) {
            (Some(piece), of) => {
                let of = of.clone();
                TaggerSpec::custom(move |site| Pieces::new(of.build(|| site.clone()), piece))
            }
            (None, TaggerSpec::Ends(Ends { sent: false })) => self.clone(),
            (None, _) => TaggerSpec::Plain(Plain),
        }
    }
}

impl Default for Tagger {
    /// Returns a tagger that writes nothing.
    fn default() -> Tagger {
        Tagger::Plain(Plain)
    }
}

/// The methods of [`TagPackets`].
impl Tagger {
    /// Returns the tag of a packet that is about to be emitted. Facts that the tagger does not use cost nothing.
    #[inline(always)]
    pub fn tag(&mut self, facts: impl FnOnce() -> FlowFacts) -> Tag {
        match self {
            Tagger::Plain(_) => Tag::default(),
            Tagger::Demotion(demotion) => {
                let facts = facts();
                if facts.kind == Kind::Data { demotion.tag(&facts) } else { Tag::default() }
            }
            Tagger::Climb(climb) => {
                let facts = facts();
                if facts.kind == Kind::Data { climb.tag(&facts) } else { Tag::default() }
            }
            other => other.tag_elsewhere(&facts()),
        }
    }

    /// Returns the tag of a packet without payload, to which built-in taggers give the highest priority.
    #[inline(always)]
    pub fn tag_control(&mut self, facts: impl FnOnce() -> FlowFacts) -> Tag {
        match self {
            Tagger::Custom(own) => own.tag(&facts()),
            Tagger::Fixed(fixed) => fixed.tag(&facts()),
            _ => Tag::default(),
        }
    }

    #[inline(never)]
    fn tag_elsewhere(&mut self, facts: &FlowFacts) -> Tag {
        match self {
            Tagger::Custom(own) => own.tag(facts),
            Tagger::Fixed(fixed) => fixed.tag(facts),
            _ if facts.kind != Kind::Data => Tag::default(),
            built_in => each!(part built_in, tagger => tagger.tag(facts)),
        }
    }

    /// As [`TagPackets::urgency`].
    pub fn urgency(&self, facts: &FlowFacts) -> u64 {
        each!(part self, tagger => tagger.urgency(facts))
    }

    /// As [`TagPackets::began`]. Only a custom tagger has another answer than its message's start.
    #[inline]
    pub fn began(&self, facts: &FlowFacts) -> Time {
        if let Tagger::Custom(own) = self { own.began(facts) } else { facts.start }
    }

    /// As [`TagPackets::steps`].
    #[inline(always)]
    pub fn steps(&self, message: &Message) -> Option<Steps> {
        each!(part self, tagger => tagger.steps(message))
    }

    /// As [`TagPackets::holds`].
    #[inline]
    pub fn holds(&self, message: &Message) -> bool {
        each!(part self, tagger => tagger.holds(message))
    }

    /// As [`TagPackets::reserve`].
    pub fn reserve(&mut self, messages: usize) {
        each!(part self, tagger => tagger.reserve(messages));
    }

    /// As [`TagPackets::on_event`].
    #[inline]
    pub fn on_event(&mut self, event: &FlowEvent, now: Time) {
        each!(part self, tagger => tagger.on_event(event, now));
    }

    /// As [`TagPackets::on_table`].
    pub fn on_table(&mut self, published: &Published) {
        each!(part self, tagger => tagger.on_table(published));
    }

    /// As [`TagPackets::sent`].
    pub fn sent(&self, see: &mut dyn FnMut(u32, u64)) {
        each!(part self, tagger => tagger.sent(see));
    }

    /// As [`TagPackets::observe`].
    pub fn observe(&self, see: &mut dyn FnMut(Reading)) {
        each!(part self, tagger => tagger.observe(see));
    }
}

#[cfg(test)]
mod tests {
    use super::bytes::Bytes;
    use super::climb::{ClimbParams, SizeKnowledge, Unseen};
    use super::demotion::Demotion;
    use super::kept_levels::KeptLevelParams;
    use super::levels::LevelParams;
    use super::message_gap::DemotionByGap;
    use super::*;
    use crate::site::{Node, Place, Racks};

    #[test]
    fn packets_without_payload__are_first_whatever_the_tagger() {
        let data = FlowFacts { kind: Kind::Data, size: 9_999_999, offset: 9_990_000, ..FlowFacts::default() };
        let ack = FlowFacts { kind: Kind::Ack, ..data };
        let (knows, unseen) = (SizeKnowledge::Bounds, Unseen::Lowest);
        let climbing = ClimbParams { thresholds: vec![0], slack: 0, knows, unseen, retransmissions_first: false };
        for spec in [
            TaggerSpec::Demotion(Demotion { thresholds: vec![0] }),
            TaggerSpec::Climb(climbing),
            TaggerSpec::Levels(LevelParams { network: vec![0], own: Some(vec![0]) }),
            TaggerSpec::KeptLevels(KeptLevelParams { thresholds: vec![0], levels: 8, by_age: false, cap: None }),
            TaggerSpec::Bytes(Bytes::ToTheEnd),
            TaggerSpec::Bytes(Bytes::Attained),
            TaggerSpec::Ends(Ends { sent: true }),
        ] {
            let mut tagger = spec.build(|| unreachable!("it is built in"));
            assert_eq!([tagger.tag(|| ack), tagger.tag_control(|| ack)], [Tag::default(); 2], "{spec:?}");
            assert_ne!(tagger.tag(|| data), Tag::default(), "{spec:?}");
        }
        // But a host that marks nothing marks no ACK either.
        let mut unmarked = TaggerSpec::Fixed(fixed::Fixed(2)).build(|| unreachable!("it is built in"));
        let all = [unmarked.tag(|| ack), unmarked.tag_control(|| ack), unmarked.tag(|| data)];
        assert_eq!(all.map(Tag::priority), [2; 3]);
    }

    #[test]
    fn demotion_by_gap__acks_end_no_pause() {
        let by_gap = DemotionByGap { thresholds: vec![1_000], gap: Time::from_us(10) };
        let mut pias = TaggerSpec::DemotionByGap(by_gap).build(|| unreachable!("it is built in"));
        let message = Message { bytes: 9_000, ..Message::default() };
        pias.on_event(&FlowEvent::MessageStart { flow: 0, message, idle: Time::NEVER }, Time::ZERO);
        let mut priority = |offset, at_us| {
            let (now, size) = (Time::from_us(at_us), 9_000);
            let ack = FlowFacts { kind: Kind::Ack, now, ..FlowFacts::default() };
            assert_eq!(pias.tag(|| ack), Tag::default());
            pias.tag(|| FlowFacts { kind: Kind::Data, now, offset, size, ..FlowFacts::default() }).priority()
        };
        assert_eq!([priority(0, 0), priority(1_460, 0), priority(2_920, 10), priority(4_380, 21)], [0, 1, 1, 0]);
    }

    #[test]
    fn custom__sees_every_packet_and_is_told_where_it_is() {
        struct Kinds(u8);
        impl TagPackets for Kinds {
            fn tag(&mut self, facts: &FlowFacts) -> Tag {
                Tag::with_priority(if facts.kind == Kind::Ack { self.0 } else { 1 })
            }
        }
        let spec = TaggerSpec::custom(|site| Kinds(site.seed as u8));
        let site = || Site {
            node: Node::Host(0),
            place: Place::Nic,
            ports: [].into(),
            port: None,
            groups: [].into(),
            next: [].into(),
            racks: Racks::new(vec![0]).into(),
            seed: 6,
        };
        let mut tagger = spec.build(site);
        let ack = || FlowFacts { kind: Kind::Ack, ..FlowFacts::default() };
        assert_eq!([tagger.tag(ack), tagger.tag_control(ack)].map(Tag::priority), [6, 6]);
        assert_eq!(tagger.tag(FlowFacts::default).priority(), 1);
    }
}
