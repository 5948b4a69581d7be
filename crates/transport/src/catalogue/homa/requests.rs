//! Requests and their answers, for incast (§3.6).
//!
//! A host makes most incasts itself: it asks many others at once, and all answer at once. It can count its requests. While more
//! than a stated number of them are out, its new requests carry a mark, and a host that answers one sends less without a grant.
//!
//! Messages are one-way, so a request is what an application makes it: the first of two messages of one coflow between two hosts. The
//! second, back to the host that asks, is its answer. A request is out from its beginning until all of its answer has arrived.

use std::collections::BTreeMap;

use flowsieve_core::{Message, NONE};

/// The rules of incast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncastRules {
    /// The most requests that a host has out without a mark on new ones.
    pub requests: u32,
    /// Payload of an answer to a marked request that needs no grant.
    pub bytes: u64,
}

/// The other host and the coflow.
type Exchange = (u16, u32);

/// What a message that begins is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Begins {
    /// A request of a host that has many out.
    pub(super) marked: bool,
    /// An answer to such a request.
    pub(super) limited: bool,
}

/// The requests of a host, and those that it was sent.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Its own that are out, by their message.
    out: BTreeMap<Exchange, u32>,
    /// Answers under way to it, by their message.
    answers: BTreeMap<u32, Exchange>,
    /// Those that it has not begun to answer, and whether they are marked.
    received: BTreeMap<Exchange, bool>,
}

impl Requests {
    /// Notes a message that begins here.
    pub(super) fn begins(&mut self, rules: IncastRules, message: &Message) -> Begins {
        let Some(coflow) = message.coflow else { return Begins::default() };
        let exchange = (message.to, coflow);
        if let Some(limited) = self.received.remove(&exchange) {
            return Begins { marked: false, limited };
        }
        self.out.insert(exchange, message.id);
        Begins { marked: self.out.len() > rules.requests as usize, limited: false }
    }

    /// Notes data of a message to this host that had not arrived before.
    pub(super) fn arrives(&mut self, peer: u16, (message, coflow): (u32, u32), marked: bool) {
        if coflow == NONE {
            return;
        }
        let exchange = (peer, coflow);
        if self.out.contains_key(&exchange) {
            self.answers.insert(message, exchange);
        } else {
            self.received.insert(exchange, marked);
        }
    }

    /// Notes that a message has arrived here, or that a host has given it up.
    pub(super) fn ends(&mut self, message: u32, given_up: bool) {
        if let Some(exchange) = self.answers.remove(&message) {
            self.out.remove(&exchange);
        } else if given_up {
            self.out.retain(|_, request| *request != message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: IncastRules = IncastRules { requests: 2, bytes: 400 };

    fn message(id: u32, to: u16, coflow: u32) -> Message {
        Message { id, to, coflow: Some(coflow), bytes: 100, ..Message::default() }
    }

    #[test]
    fn begins__the_third_request_is_marked_until_an_answer_has_arrived() {
        let mut client = Requests::default();
        let marked = |client: &mut Requests, id, to| client.begins(RULES, &message(id, to, 0)).marked;
        assert_eq!([(0, 5), (1, 6), (2, 7)].map(|(id, to)| marked(&mut client, id, to)), [false, false, true]);
        client.arrives(5, (10, 0), false);
        assert!(marked(&mut client, 3, 8), "a part of an answer");
        client.ends(10, false);
        client.ends(1, true);
        assert!(marked(&mut client, 4, 9), "two others are out");
        (2..4).for_each(|request| client.ends(request, true));
        assert!(!marked(&mut client, 5, 4));
        assert_eq!(client.begins(RULES, &Message::default()), Begins::default(), "without a coflow");
    }

    #[test]
    fn begins__an_answer_is_limited_as_its_request_said() {
        let mut server = Requests::default();
        for (coflow, marked) in [(0, true), (1, false)] {
            server.arrives(3, (coflow, coflow), marked);
            let answer = server.begins(RULES, &message(9, 3, coflow));
            assert_eq!(answer, Begins { marked: false, limited: marked });
        }
        assert!(server.out.is_empty() && server.received.is_empty());
        server.arrives(3, (7, NONE), true);
        assert!(server.received.is_empty());
    }
}
