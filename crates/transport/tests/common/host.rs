//! A host's endpoint under a script of what happens at its host, and of what it must do.
//!
//! | event | meaning |
//! | --- | --- |
//! | `begin 7 to 1 of 20` | message 7 of 20 full segments, for host 1 |
//! | `< 7/0` | segment 0 of flow 7 arrives; `7/0.` ends its message, `7/0r` was sent before, `7/4m9` is message 9's |
//! | `< 7 ack 3 sack 5-7 marked dup` | an ACK arrives; or `syn`, `syn-ack`, `probe` |
//! | `turn` | the endpoint has a turn, and sends one packet in it; `turn unused`: it has none to send |
//! | `timer` | the next timer is for this instant, and fires |
//! | `table 8` | a table names message 8 |
//!
//! | expectation | meaning |
//! | --- | --- |
//! | `> ends 7, 7/0-9, 7 syn` | exactly this was told to the tagger and sent, in this order |
//! | `= turns 2` | two senders want a turn |
//! | `= timer 2000 sender 7` | the next timer; or `never` |
//! | `= places 7 5 0` | the sender's and the receiver's place that the last packet of flow 7 names; or `none` |
//! | `= packet 7 40 bytes to 4` | the last packet of flow 7 |
//!
//! After an arriving packet may stand, in this order, `from 2` (the host; 1 by default), `at 3` (the sender's place; that of
//! the flow's last packet by default), `told 4` (the receiver's; none by default), `sent 50` (its timestamp; 100 us ago
//! by default).
//!
//! | event | as it is written |
//! | --- | --- |
//! | [`FlowEvent::MessageStart`] | `begins 7 first`, or `begins 9 on 7 after 120` (us) where flow 7 had messages before |
//! | [`FlowEvent::MessageEnd`] | `ends 7`, `ends 9 on 7`, `ends 7 again 2 timeouts 1`, `ends 7 unanswered` |
//! | [`FlowEvent::Delivered`] | `arrives 7`, `arrives 7 late 1` |
//! | [`FlowEvent::Timeout`] | `timeout 7` |
//! | [`FlowEvent::Reordered`], the most bytes, bytes times ns | `held 3 2920 40000` |
//! | [`FlowEvent::Unneeded`] | `again 3` |
//! | [`FlowEvent::Awaited`] | `awaited 7 2 times for 10ms` |
//! | [`FlowEvent::Steps`], all of them in ns | `steps 3 0 2800 0 0 0` |
//!
//! Wake-ups in which nothing happens go unsaid. After every call the host's events must be those that the tagger was told, the call must have said whether there are any,
//! and timers and turns that are not due must do nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use flowsieve_core::controller::{Published, Table};
use flowsieve_core::message::Effort;
use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::{FlowEvent, FlowFacts, TagPackets};
use flowsieve_core::{Kind, Message, NONE, Tag, Tagger, Time};
use flowsieve_transport::endpoint::BaseRoundTrips;
use flowsieve_transport::tcp::{Connections, HEADER_BYTES, Handshake, NicOrder, TcpParams, TcpRules};
use flowsieve_transport::{Effects, Handled, HostEndpoint, Out, Packet, Said, Timer, TransportSpec, Turn};

use super::{SEGMENT, Subject, instant, number, range, us};

/// What a host sees of its endpoint, in the order in which it happens.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Told(FlowEvent),
    Tagged(FlowFacts, Tag),
    Sent(Packet),
}

type Log = Arc<Mutex<Vec<Seen>>>;

/// Gives each packet a tag of its own.
struct Recorder {
    log: Log,
    tags: u32,
    /// The message that the last table names.
    first: Option<u32>,
}

impl TagPackets for Recorder {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        self.tags += 1;
        let tag = Tag::new(3, self.tags);
        self.log.lock().unwrap().push(Seen::Tagged(*facts, tag));
        tag
    }

    /// The last four segments of a message are urgent, and so is all of the one that a table names.
    fn urgency(&self, facts: &FlowFacts) -> u64 {
        let is_end = facts.size - facts.offset <= 4 * u64::from(SEGMENT);
        u64::from(!is_end && self.first != Some(facts.message))
    }

    fn on_event(&mut self, event: &FlowEvent, _: Time) {
        self.log.lock().unwrap().push(Seen::Told(*event));
    }

    fn on_table(&mut self, published: &Published) {
        self.first = published.table.values.first().map(|&(message, _)| message);
    }
}

struct Wire(Log);

impl Out for Wire {
    fn send(&mut self, packet: Packet) {
        self.0.lock().unwrap().push(Seen::Sent(packet));
    }
}

/// A TCP whose connections take turns.
pub(crate) fn tcp(params: TcpParams, connections: Connections, handshake: Handshake) -> TransportSpec {
    ordered(params, (connections, handshake), NicOrder::Turns)
}

/// A TCP whose hosts serve connections in this order.
pub(crate) fn ordered(
    params: TcpParams,
    (connections, handshake): (Connections, Handshake),
    order: NicOrder,
) -> TransportSpec {
    TransportSpec::Tcp(Arc::new(TcpRules { params, connections, handshake, header: HEADER_BYTES, order }))
}

pub(crate) struct Host {
    pub(crate) endpoint: HostEndpoint,
    pauses: bool,
    tagger: Tagger,
    log: Log,
    /// What no line has expected yet.
    seen: Vec<Seen>,
    /// The last packet of each flow.
    last: BTreeMap<u32, Packet>,
    /// The facts of every packet, in the order of sending.
    pub(crate) facts: Vec<FlowFacts>,
    pub(crate) now: Time,
}

impl Subject for Host {
    fn happen(&mut self, at: Time, event: &[&str]) {
        self.sleep_until(at);
        match event {
            [] => {}
            ["begin", id, "to", to, "of", segments] => {
                let bytes = u64::from(SEGMENT) * number::<u64>(segments);
                let (id, to) = (number(id), number(to));
                let _ = self.begin(&Message { id, to, bytes, start: at, ..Message::default() });
            }
            ["<", packet @ ..] => {
                let (packet, says) = self.parse(packet);
                assert_eq!(self.endpoint.describe(&packet), says);
                let _ = self.receive(&packet);
            }
            ["table", message] => {
                let table = Table { name: "first", values: vec![(number(message), 0)] };
                self.tagger.on_table(&Published { version: 1, table });
                self.endpoint.on_table(self.now, &self.tagger);
            }
            ["turn"] => assert_eq!(self.poll(), Turn::Sent),
            ["turn", "unused"] => assert_eq!(self.poll(), Turn::Unused),
            ["timer"] => {
                let mut effects = Effects::NONE;
                while effects == Effects::NONE && self.seen.is_empty() {
                    assert_eq!(self.endpoint.next_timer().at, at, "the next timer");
                    effects = self.on_timer();
                }
            }
            other => panic!("no such event: {other:?}"),
        }
    }

    fn sent(&mut self) -> String {
        let shown = self.show();
        self.seen.clear();
        shown
    }

    fn reading(&mut self, words: &[&str]) -> String {
        match *words {
            ["turns", _] => self.endpoint.turns().to_string(),
            ["timer", ..] => match self.endpoint.next_timer() {
                Timer::NEVER => "never".to_owned(),
                Timer { at, order } if order < Timer::receiver(0) => format!("{} sender {order}", instant(at)),
                Timer { at, order } => format!("{} receiver {}", instant(at), order - Timer::receiver(0)),
            },
            ["places", flow, ..] => {
                let place = |place: u32| if place == NONE { "none".to_owned() } else { place.to_string() };
                let [sender, receiver] = self.places(number(flow)).map(place);
                format!("{flow} {sender} {receiver}")
            }
            ["packet", flow, ..] => {
                let packet = self.last(number(flow));
                format!("{flow} {} bytes to {}", packet.len, packet.peer)
            }
            _ => panic!("no such reading: {words:?}"),
        }
    }
}

impl Host {
    pub(crate) fn new(spec: &TransportSpec, pauses: bool) -> Host {
        Host::told(spec, pauses, None)
    }

    /// Builds a host that knows base round trips.
    pub(crate) fn told(spec: &TransportSpec, pauses: bool, round_trips: Option<Box<BaseRoundTrips>>) -> Host {
        let log = Log::default();
        let recorder = Recorder { log: Arc::clone(&log), tags: 0, first: None };
        Host {
            endpoint: spec.build(0, pauses, round_trips, || unreachable!("a built-in endpoint")),
            pauses,
            tagger: Tagger::Custom(Box::new(recorder)),
            log,
            seen: Vec::new(),
            last: BTreeMap::new(),
            facts: Vec::new(),
            now: Time::ZERO,
        }
    }

    pub(crate) fn begin(&mut self, message: &Message) -> Effects {
        self.call(|endpoint, tagger, out, now| endpoint.begin(now, tagger, out, message))
    }

    pub(crate) fn receive(&mut self, packet: &Packet) -> Effects {
        self.call(|endpoint, tagger, out, now| {
            let handled = endpoint.receive(now, tagger, out, |_| *packet);
            if let Handled::Nothing { timer } = handled {
                assert_eq!(timer, endpoint.next_timer().at);
            }
            handled.effects()
        })
    }

    pub(crate) fn on_timer(&mut self) -> Effects {
        self.call(|endpoint, tagger, out, now| endpoint.on_timer(now, tagger, out))
    }

    pub(crate) fn poll(&mut self) -> Turn {
        let wanted = self.endpoint.turns();
        let turn = self.endpoint.poll(self.now, &mut self.tagger, &mut Wire(Arc::clone(&self.log)));
        let news = self.news();
        match turn {
            Turn::Sent => assert!(matches!(news[..], [Seen::Tagged(..), Seen::Sent(_)]), "one packet a turn: {news:?}"),
            _ => assert!(
                news.is_empty() && self.endpoint.turns() == wanted.saturating_sub(1),
                "an unused turn is given up"
            ),
        }
        self.seen.extend(news);
        turn
    }

    /// Everything that happened since it was asked for last.
    pub(crate) fn take_seen(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }

    /// The last packet of a flow that was sent.
    pub(crate) fn last(&self, flow: u32) -> Packet {
        self.last[&flow]
    }

    /// The sender's and the receiver's place that the last packet of a flow names.
    pub(crate) fn places(&self, flow: u32) -> [u32; 2] {
        let [.., sender, receiver, _] = self.last(flow).words;
        [sender, receiver]
    }

    fn call(&mut self, call: impl FnOnce(&mut HostEndpoint, &mut Tagger, &mut Wire, Time) -> Effects) -> Effects {
        let wanted = self.endpoint.turns();
        let effects = call(&mut self.endpoint, &mut self.tagger, &mut Wire(Arc::clone(&self.log)), self.now);
        let news = self.news();
        let told: Vec<FlowEvent> =
            news.iter().filter_map(|seen| if let Seen::Told(event) = seen { Some(*event) } else { None }).collect();
        let heard: Vec<FlowEvent> = std::iter::from_fn(|| self.endpoint.poll_event()).collect();
        assert_eq!(heard, told, "the host hears what the tagger was told");
        assert_eq!(effects.events, !heard.is_empty(), "{effects:?}");
        assert!(effects.turns || self.endpoint.turns() <= wanted, "{effects:?}");
        assert!(self.pauses || self.endpoint.turns() == 0, "who never pauses gives no turns");
        self.seen.extend(news);
        self.do_nothing();
        effects
    }

    /// What is not due does nothing, as often as it is asked for.
    fn do_nothing(&mut self) {
        let timer = self.endpoint.next_timer();
        let mut out = Wire(Arc::clone(&self.log));
        if timer.at > self.now {
            assert_eq!(self.endpoint.on_timer(self.now, &mut self.tagger, &mut out), Effects::NONE);
        }
        if self.endpoint.turns() == 0 {
            assert_eq!(self.endpoint.poll(self.now, &mut self.tagger, &mut out), Turn::Unused);
        }
        assert_eq!(self.endpoint.next_timer(), timer);
        assert!(self.log.lock().unwrap().is_empty() && self.endpoint.poll_event().is_none());
    }

    /// What happened in a call: every packet is sent with the tag that it was given just before.
    fn news(&mut self) -> Vec<Seen> {
        let news = std::mem::take(&mut *self.log.lock().unwrap());
        let mut given = None;
        for seen in &news {
            match (seen, given.take()) {
                (Seen::Tagged(facts, tag), None) => given = Some((*facts, *tag)),
                (Seen::Told(_), None) => {}
                (Seen::Sent(packet), Some((facts, tag))) => {
                    assert_eq!((packet.flow, packet.kind, packet.tag), (facts.flow, facts.kind, tag));
                    self.last.insert(packet.flow, *packet);
                    self.facts.push(facts);
                }
                _ => panic!("a tag for each packet: {news:?}"),
            }
        }
        assert_eq!(given, None, "tagged and not sent");
        news
    }

    /// Runs a script, and goes on from there.
    pub(crate) fn run(&mut self, script: &str) {
        super::run(self, script);
    }

    fn sleep_until(&mut self, at: Time) {
        while self.endpoint.next_timer().at < at {
            self.now = self.now.max(self.endpoint.next_timer().at);
            let effects = self.on_timer();
            assert_eq!((effects, self.show().as_str()), (Effects::NONE, ""), "a timer at {} is missed", self.now);
        }
        self.now = at;
    }

    /// An arriving packet, and what it says.
    fn parse(&self, words: &[&str]) -> (Packet, Said) {
        let after = |word| words.iter().position(|&other| other == word).map(|at| words[at + 1]);
        let (flow, segment) = match words[0].split_once('/') {
            Some((flow, segment)) => (number(flow), Some(segment)),
            None => (number(words[0]), None),
        };
        let mut packet = Packet { peer: after("from").map_or(1, number), flow, ..Packet::default() };
        if words.contains(&"marked") && segment.is_some() {
            packet.ecn = Ecn::Marked;
        }
        let says = match (segment, words.get(1)) {
            (Some(segment), _) => {
                let (segment, last) = segment.strip_suffix('.').map_or((segment, false), |rest| (rest, true));
                let (segment, retransmission) = segment.strip_suffix('r').map_or((segment, false), |rest| (rest, true));
                let (segment, message) = segment.split_once('m').map_or((segment, flow), |(s, m)| (s, number(m)));
                packet.message = message;
                Said::Data { segment: number(segment), last, retransmission }
            }
            (None, Some(&"ack")) => Said::Ack {
                segment: number(words[2]),
                sack: after("sack").map_or((0, 0), range),
                echo: words.contains(&"marked"),
                duplicate: words.contains(&"dup"),
            },
            (None, Some(&"syn")) => Said::Syn,
            (None, Some(&"syn-ack")) => Said::SynAck,
            (None, Some(&"probe")) => Said::Probe,
            other => panic!("no such packet: {other:?}"),
        };
        let sender = after("at").map_or_else(|| self.last.get(&flow).map_or(0, |last| last.words[3]), number);
        let stamp = after("sent").map_or_else(|| Time(self.now.0.saturating_sub(100_000_000)), us);
        let [kind, a, b, c] = write(&says);
        packet.kind = match says {
            Said::Data { .. } => Kind::Data,
            Said::Ack { .. } => Kind::Ack,
            _ => Kind::Control,
        };
        packet.code = kind as u8;
        packet.words = [a, b, c, sender, after("told").map_or(NONE, number), (stamp.0 / 1_000) as u32];
        (packet, says)
    }

    /// What no line has expected yet, as lines have it: runs of segments joined.
    fn show(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut run: Option<(Packet, u32, u32)> = None;
        for seen in &self.seen {
            match seen {
                Seen::Tagged(..) => {}
                Seen::Told(event) => {
                    parts.extend(run.take().map(|run| self.show_run(run)));
                    parts.push(show_event(event));
                }
                Seen::Sent(packet) => {
                    let Said::Data { segment, retransmission, .. } = self.endpoint.describe(packet) else {
                        parts.extend(run.take().map(|run| self.show_run(run)));
                        parts.push(self.show_control(packet));
                        continue;
                    };
                    run = match run {
                        Some((before, first, end))
                            if end == segment
                                && (before.flow, before.message) == (packet.flow, packet.message)
                                && before.words[4] == packet.words[4]
                                && matches!(self.endpoint.describe(&before), Said::Data { retransmission: r, .. } if r == retransmission) =>
                        {
                            Some((*packet, first, segment + 1))
                        }
                        other => {
                            parts.extend(other.map(|run| self.show_run(run)));
                            Some((*packet, segment, segment + 1))
                        }
                    };
                }
            }
        }
        parts.extend(run.map(|run| self.show_run(run)));
        parts.join(", ")
    }

    /// A run of segments, of which this is the last packet.
    fn show_run(&self, (packet, first, end): (Packet, u32, u32)) -> String {
        let Said::Data { last, retransmission, .. } = self.endpoint.describe(&packet) else { unreachable!() };
        let run = if end - first == 1 { first.to_string() } else { format!("{first}-{}", end - 1) };
        let message = if packet.message == packet.flow { String::new() } else { format!("m{}", packet.message) };
        let flags = [(retransmission, "r"), (last, ".")].map(|(set, flag)| if set { flag } else { "" }).concat();
        let place = packet.words[4];
        let place = if unanswered(&packet) || place == NONE { String::new() } else { format!("@{place}") };
        format!("{}/{run}{message}{flags}{place}", packet.flow)
    }

    fn show_control(&self, packet: &Packet) -> String {
        let flow = packet.flow;
        match self.endpoint.describe(packet) {
            Said::Ack { segment, sack: (from, to), echo, duplicate } => {
                let sack = if from < to { format!(" sack {from}-{}", to - 1) } else { String::new() };
                let flags = [(echo, " marked"), (duplicate, " dup")].map(|(set, flag)| if set { flag } else { "" });
                format!("{flow} ack {segment}{sack}{}", flags.concat())
            }
            Said::Syn => format!("{flow} syn"),
            Said::SynAck => format!("{flow} syn-ack"),
            Said::Probe => format!("{flow} probe"),
            other => format!("{flow} {other:?}"),
        }
    }
}

fn show_event(event: &FlowEvent) -> String {
    let on = |message: &Message, flow: u32| if message.id == flow { String::new() } else { format!(" on {flow}") };
    match event {
        FlowEvent::MessageStart { flow, message, idle } => {
            let idle = if *idle == Time::NEVER { "first".to_owned() } else { format!("after {}", instant(*idle)) };
            format!("begins {}{} {idle}", message.id, on(message, *flow))
        }
        FlowEvent::MessageEnd { flow, message, effort } => {
            let effort = match effort {
                None => " unanswered".to_owned(),
                Some(Effort { retransmissions: 0, timeouts: 0, .. }) => String::new(),
                Some(Effort { retransmissions, timeouts, .. }) => {
                    format!(" again {retransmissions} timeouts {timeouts}")
                }
            };
            format!("ends {}{}{effort}", message.id, on(message, *flow))
        }
        FlowEvent::GivenUp { message } => format!("gives {message} up"),
        FlowEvent::Delivered { message, out_of_order: 0 } => format!("arrives {message}"),
        FlowEvent::Delivered { message, out_of_order } => format!("arrives {message} late {out_of_order}"),
        FlowEvent::Timeout { flow } => format!("timeout {flow}"),
        FlowEvent::HeldBack { message } => format!("waits {}", message.id),
        FlowEvent::Reordered { message, held } => format!("held {message} {} {}", held.most_bytes, held.byte_ns),
        FlowEvent::Unneeded { message } => format!("again {message}"),
        FlowEvent::Awaited { message, asked, time } => format!("awaited {message} {asked} times for {time}"),
        FlowEvent::Steps { message, times } => {
            let all = times.in_ns().map(|ns| format!(" {ns}"));
            format!("steps {message}{}", all.concat())
        }
    }
}

/// A TCP packet's code and first words, as its peer would write them.
fn write(says: &Said) -> [u32; 4] {
    let flags = |a, b| 8 * u32::from(a) + 16 * u32::from(b);
    match *says {
        Said::Data { segment, last, retransmission } => [flags(last, retransmission), segment, 0, 0],
        Said::Ack { segment, sack: (from, to), echo, duplicate } => [1 + flags(echo, duplicate), segment, from, to],
        Said::Syn => [2, 0, 0, 0],
        Said::SynAck => [3, 0, 0, 0],
        Said::Probe => [4, 0, 0, 0],
        Said::Own => unreachable!("TCP has no such packet"),
    }
}

/// Whether a packet gets no answer.
pub(crate) fn unanswered(packet: &Packet) -> bool {
    packet.code & Packet::UNANSWERED != 0
}
