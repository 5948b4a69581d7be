//! Queries that fan out: a client asks several servers at once, each answers, and the next query begins when all answers have
//! arrived (QCLIMB, NSDI 2024, §5.1: GET queries of a memcached client to seven servers).
//!
//! The messages of all queries are numbered before anything runs: with *n* servers query *q* has the *n* requests from 2*nq* on
//! and then the *n* answers to them. Every property of a message except its start is a function of its number and the seed. So
//! under every scheme the same servers answer the same query with the same sizes.
//!
//! The engine begins with [`Queries::first`] and calls [`Queries::after`] whenever a message has been delivered, at its
//! destination. All messages of a query are one coflow, whose number is the query's: its completion time is the query's.
//!
//! Left out: times to think, several queries under way, and the SETs with which QCLIMB's client stores a value before it asks
//! for it.

use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use crate::Flow;
use crate::distribution::SizeDistribution;
use crate::random::{Purpose, stream};

/// Queries of one client, one after the other.
#[derive(Clone, Debug)]
pub struct Queries {
    client: u32,
    servers: Arc<[u32]>,
    queries: u32,
    request_bytes: u64,
    answers: SizeDistribution,
    seed: u64,
}

/// Why such queries are impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum QueriesError {
    /// No server answers.
    #[error("a query to no server; expected at least one")]
    NoServers,
    /// A host answers itself, or twice.
    #[error("host {0} is client and server, or a server twice; expected hosts that differ")]
    Twice(u32),
    /// No queries, or empty requests.
    #[error("no queries, or requests of no bytes; expected at least one of each")]
    Nothing,
    /// Too many messages.
    #[error("the queries have {0} messages; expected at most {most}", most = Queries::MOST_MESSAGES)]
    Many(u64),
}

/// The client's knowledge of its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Answers that have arrived, of all queries.
    pub answers: u32,
}

impl Queries {
    /// The class of traffic of their messages; background flows have others.
    pub const CLASS: u8 = 1;

    /// The most messages, requests and answers together.
    pub const MOST_MESSAGES: u64 = 50_000_000;

    /// `queries` queries of `client`: requests of `request_bytes` to each of the `servers`, and answers whose sizes are drawn.
    pub fn new(
        (client, servers): (u32, &[u32]),
        queries: u32,
        request_bytes: u64,
        answers: SizeDistribution,
        seed: u64,
    ) -> Result<Queries, QueriesError> {
        if servers.is_empty() {
            return Err(QueriesError::NoServers);
        }
        if queries == 0 || request_bytes == 0 {
            return Err(QueriesError::Nothing);
        }
        let mut hosts = servers.to_vec();
        hosts.push(client);
        hosts.sort_unstable();
        if let Some(pair) = hosts.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(QueriesError::Twice(pair[0]));
        }
        let messages = u64::from(queries).saturating_mul(2 * servers.len() as u64);
        if messages > Queries::MOST_MESSAGES {
            return Err(QueriesError::Many(messages));
        }
        Ok(Queries { client, servers: servers.into(), queries, request_bytes, answers, seed })
    }

    /// The asking host.
    pub fn client(&self) -> u32 {
        self.client
    }

    /// The answering hosts.
    pub fn servers(&self) -> &[u32] {
        &self.servers
    }

    /// Number of queries.
    pub fn queries(&self) -> u32 {
        self.queries
    }

    /// Number of messages of all of them; theirs are the numbers below.
    pub fn messages(&self) -> u32 {
        self.queries * self.of_query()
    }

    /// The sizes from which those of answers are drawn.
    pub fn answers(&self) -> &SizeDistribution {
        &self.answers
    }

    /// Payload of a request.
    pub fn request_bytes(&self) -> u64 {
        self.request_bytes
    }

    /// The messages that begin first, all at the client.
    pub fn first(&self) -> Range<u32> {
        0..self.servers.len() as u32
    }

    /// The messages that begin at the host to which message `delivered` has just been delivered: an answer or, after the last
    /// answer of a query, the next query's requests. `answered` is the client's; servers leave it unchanged.
    pub fn after(&self, delivered: u32, answered: &mut Answered) -> Range<u32> {
        let servers = self.servers.len() as u32;
        if delivered >= self.messages() {
            return 0..0;
        }
        if !self.is_answer(delivered) {
            return delivered + servers..delivered + servers + 1;
        }
        answered.answers += 1;
        let asked = answered.answers / servers * self.of_query();
        if !answered.answers.is_multiple_of(servers) || asked == self.messages() {
            return 0..0;
        }
        asked..asked + servers
    }

    /// Whether that was the last answer to the last query.
    pub fn is_over(&self, answered: &Answered) -> bool {
        answered.answers / self.servers.len() as u32 == self.queries
    }

    /// A message that begins at `start_ps`.
    pub fn message(&self, id: u32, start_ps: u64) -> Flow {
        let server = self.servers[(id % self.servers.len() as u32) as usize];
        let (src, dst, bytes) = if self.is_answer(id) {
            (server, self.client, self.answers.sample(&mut stream(self.seed, Purpose::Answers, id.into())))
        } else {
            (self.client, server, self.request_bytes)
        };
        let coflow = Some(id / self.of_query());
        Flow { id, start_ps, src, dst, bytes, class: Queries::CLASS, deadline_ps: None, coflow }
    }

    /// Messages of a query.
    fn of_query(&self) -> u32 {
        2 * self.servers.len() as u32
    }

    fn is_answer(&self, id: u32) -> bool {
        id % self.of_query() >= self.servers.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rounding;
    use proptest::prelude::*;

    fn queries(servers: &[u32], queries: u32, seed: u64) -> Queries {
        let sizes = SizeDistribution::uniform(1, 1_000_000, Rounding::Bytes).unwrap();
        Queries::new((3, servers), queries, 50, sizes, seed).unwrap()
    }

    #[test]
    fn after__two_queries_to_two_servers() {
        let queries = queries(&[5, 0], 2, 1);
        let mut answered = Answered::default();
        assert_eq!((queries.messages(), queries.first()), (8, 0..2));
        let ends = |id| {
            let flow = queries.message(id, 7);
            (flow.src, flow.dst, flow.coflow)
        };
        assert_eq!([0, 1, 2, 3].map(ends), [(3, 5, Some(0)), (3, 0, Some(0)), (5, 3, Some(0)), (0, 3, Some(0))]);
        // The second server is asked and answers before the first has received anything.
        assert_eq!(queries.after(1, &mut answered), 3..4);
        assert_eq!(queries.after(3, &mut answered), 0..0);
        assert_eq!(queries.after(0, &mut answered), 2..3);
        assert_eq!(queries.after(2, &mut answered), 4..6);
        assert!(!queries.is_over(&answered));
        assert_eq!([4, 5, 6, 7].map(ends), [(3, 5, Some(1)), (3, 0, Some(1)), (5, 3, Some(1)), (0, 3, Some(1))]);
        assert_eq!([4, 5, 6, 7].map(|id| queries.after(id, &mut answered)), [6..7, 7..8, 0..0, 0..0]);
        assert!(queries.is_over(&answered));
        // Background flows belong to no query.
        assert_eq!((queries.after(8, &mut answered), answered), (0..0, Answered { answers: 4 }));
    }

    #[test]
    fn message__requests_have_their_size_and_answers_the_seeds() {
        let sizes = |seed| {
            let queries = queries(&[5, 0], 20, seed);
            (0..queries.messages()).map(|id| queries.message(id, 9).bytes).collect::<Vec<_>>()
        };
        let (first, other) = (sizes(1), sizes(2));
        assert!((0..80).all(|id| id % 4 >= 2 || first[id] == 50));
        assert!((0..80).filter(|id| id % 4 >= 2).all(|id| first[id] != other[id] && first[id] != 50));
        assert_eq!(first, sizes(1));
        let flow = queries(&[5, 0], 20, 1).message(79, 123);
        assert_eq!((flow.start_ps, flow.class, flow.coflow, flow.deadline_ps), (123, 1, Some(19), None));
    }

    #[test]
    fn new__says_what_cannot_be() {
        let of = |servers: &[u32], count, request| {
            let sizes = SizeDistribution::fixed(10, Rounding::Bytes).unwrap();
            Queries::new((1, servers), count, request, sizes, 0).map(|queries| queries.messages())
        };
        assert_eq!(of(&[0, 2], 3, 1), Ok(12));
        assert_eq!(of(&[], 3, 1), Err(QueriesError::NoServers));
        assert_eq!(of(&[0, 1], 3, 1), Err(QueriesError::Twice(1)));
        assert_eq!(of(&[2, 0, 2], 3, 1), Err(QueriesError::Twice(2)));
        assert_eq!([of(&[0], 0, 1), of(&[0], 1, 0)], [Err(QueriesError::Nothing); 2]);
        assert_eq!(of(&[0, 2], 12_500_001, 1), Err(QueriesError::Many(50_000_004)));
    }

    proptest! {
        #[test]
        fn after__every_message_begins_once_in_whichever_order_they_arrive(
            servers in 1u32..9, count in 1u32..9, order in prop::collection::vec(any::<prop::sample::Index>(), 144)
        ) {
            let servers: Vec<u32> = (4..4 + servers).collect();
            let queries = queries(&servers, count, 1);
            let (mut answered, mut begun) = (Answered::default(), Vec::new());
            let mut under_way: Vec<u32> = queries.first().collect();
            begun.extend(queries.first());
            for index in order {
                if under_way.is_empty() {
                    break;
                }
                let delivered = under_way.swap_remove(index.index(under_way.len()));
                let next = queries.after(delivered, &mut answered);
                // One query at a time.
                prop_assert!(next.clone().all(|id| id / queries.of_query() == answered.answers / servers.len() as u32));
                begun.extend(next.clone());
                under_way.extend(next);
            }
            begun.sort_unstable();
            prop_assert_eq!(begun, (0..queries.messages()).collect::<Vec<_>>());
            prop_assert!(queries.is_over(&answered));
        }
    }
}
