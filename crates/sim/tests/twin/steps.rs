//! How long messages were in the steps of QCLIMB, from what arrives at their senders: every ACK is kept, and looked through
//! anew when a message has ended.

use std::collections::BTreeMap;

use flowsieve_core::taggers::climb::{ClimbParams, SizeKnowledge};
use flowsieve_core::{Message, TaggerSpec};
use flowsieve_schemes::Scheme;

/// A connection as its sender's host sees it.
#[derive(Default)]
struct Connection {
    /// The number of its messages' segments.
    segments: u64,
    /// When which segments had arrived without a gap.
    acknowledged: Vec<(u64, u64)>,
}

struct Begun {
    connection: u32,
    first: u64,
    at: u64,
}

/// What the hosts saw of their connections.
#[derive(Default)]
pub(crate) struct Seen {
    connections: BTreeMap<u32, Connection>,
    begun: BTreeMap<u32, Begun>,
}

impl Seen {
    pub(crate) fn begin(&mut self, now: u64, connection: u32, message: &Message, segment: u16) {
        let of = self.connections.entry(connection).or_default();
        self.begun.insert(message.id, Begun { connection, first: of.segments, at: now });
        of.segments += message.bytes.div_ceil(segment.into());
    }

    pub(crate) fn acknowledge(&mut self, now: u64, connection: u32, segments: u32) {
        self.connections.entry(connection).or_default().acknowledged.push((now, segments.into()));
    }

    /// Nanoseconds of inference, climb, slack, demotion and beyond the upper bound, of a message that ends now.
    pub(crate) fn steps(&self, now: u64, scheme: &Scheme, host: usize, message: &Message) -> Option<[u64; 5]> {
        let class = &scheme.classes[usize::from(message.class)];
        let TaggerSpec::Climb(params) = &class.tagger else { return None };
        if params.knows == SizeKnowledge::PredictedSizeOnce || scheme.misuse.is_by(host as u32) {
            return None;
        }
        let begun = &self.begun[&message.id];
        let mut ps = [0; 5];
        ps[0] = begun.at - message.start.0;
        let (mut since, mut edge) = (begun.at, 0);
        for &(at, segments) in &self.connections[&begun.connection].acknowledged {
            if at > begun.at {
                let bytes = edge.max(begun.first) - begun.first;
                ps[step(params, message, bytes * u64::from(class.transport.facts().segment))] += at - since;
                since = at;
            }
            edge = edge.max(segments);
        }
        assert_eq!(since, now, "a message ends with an ACK");
        let ends = ps.iter().scan(0, |end, ps| {
            *end += ps;
            Some(*end / 1_000)
        });
        let ends: Vec<u64> = ends.collect();
        Some([ends[0], ends[1] - ends[0], ends[2] - ends[1], ends[3] - ends[2], ends[4] - ends[3]])
    }
}

fn step(params: &ClimbParams, message: &Message, bytes: u64) -> usize {
    let bounds = match params.knows {
        SizeKnowledge::Bounds => message.bounds.map(|bounds| (bounds.lower, bounds.upper.get())),
        SizeKnowledge::Size => Some((message.bytes, message.bytes)),
        _ => message.predicted.map(|size| (size.get(), size.get())),
    };
    match bounds {
        None => 3,
        Some((lower, _)) if bytes < lower => 1,
        Some((lower, _)) if bytes - lower < params.slack => 2,
        Some((_, upper)) if bytes < upper => 3,
        Some(_) => 4,
    }
}
