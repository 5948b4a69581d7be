//! Homa's endpoints, packet by packet, where packets are lost.

use std::num::NonZeroU64;
use std::sync::Arc;

use flowsieve_core::message::Effort;
use flowsieve_core::site::{Node, Place, Racks, Site, SitePort};
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::taggers::predicted::Outlived;
use flowsieve_core::units::Rate;
use flowsieve_core::{Kind, Message, Tagger, Time};
use flowsieve_transport::homa::{HomaEndpoint, HomaRules, IncastRules, Levels, Sizes};
use flowsieve_transport::{Endpoint, HostSite, Out, Packet, Turn};
use proptest::prelude::*;

/// Packets that were sent.
#[derive(Default)]
struct Sent(Vec<Packet>);

impl Out for Sent {
    fn send(&mut self, packet: Packet) {
        self.0.push(packet);
    }
}

/// RTTbytes of two packets; grants to one message; levels 0 to 3, the last for scheduled packets.
fn rules() -> HomaRules {
    HomaRules {
        segment: 1_000,
        header: 40,
        overhead: 0,
        rtt_bytes: 2_000,
        by_pair: None,
        overcommitment: 1,
        levels: Levels::new(4, vec![1_000, 5_000]).unwrap(),
        seen: None,
        nic_packets: 2,
        silence: Time::from_us(5_000),
        attempts: 3,
        asks: true,
        replies: false,
        incast: None,
        sizes: Sizes::True,
    }
}

/// A host's endpoint with its clock.
struct Host {
    number: u16,
    endpoint: HomaEndpoint,
    tagger: Tagger,
    now: Time,
}

impl Host {
    fn new(number: u16, rules: &HomaRules) -> Host {
        let rate = Rate::new(10_000_000_000).unwrap();
        let site = Site {
            node: Node::Host(number.into()),
            place: Place::Nic,
            ports: [SitePort { behind: Node::Switch(0), place: Place::Leaf, rate, delay: Time::ZERO }].into(),
            port: None,
            groups: [].into(),
            next: [].into(),
            racks: Racks::new(vec![0; 4]).into(),
            seed: 1,
        };
        let host_site = HostSite { site: &site, class: 0, pauses: true };
        let endpoint = HomaEndpoint::new(&Arc::new(rules.clone()), &host_site);
        Host { number, endpoint, tagger: Tagger::default(), now: Time::ZERO }
    }

    fn begin(&mut self, id: u32, to: u16, bytes: u64) {
        self.begin_of(id, to, bytes, None);
    }

    fn begin_of(&mut self, id: u32, to: u16, bytes: u64, coflow: Option<u32>) {
        let message = Message { id, to, bytes, coflow, start: self.now, ..Message::default() };
        let _ = self.endpoint.begin(self.now, &mut self.tagger, &mut Sent::default(), &message);
    }

    /// What it sends in its turns, until its NIC is full.
    fn turns(&mut self) -> Vec<Packet> {
        let mut sent = Sent::default();
        while self.endpoint.turns() > 0 {
            if self.endpoint.poll(self.now, &mut self.tagger, &mut sent) != Turn::Sent {
                break;
            }
        }
        sent.0
    }

    /// What it sends as it hears these packets.
    fn hears(&mut self, from: u16, packets: &[Packet]) -> Vec<Packet> {
        let mut sent = Sent::default();
        for packet in packets.iter().filter(|packet| packet.peer == self.number) {
            let packet = Packet { peer: from, ..*packet };
            let _ = self.endpoint.receive(self.now, &mut self.tagger, &mut sent, &packet);
        }
        sent.0
    }

    /// What its timers send until this time, turns included.
    fn until(&mut self, end: Time) -> Vec<Packet> {
        let mut sent = self.turns();
        while self.endpoint.next_timer().at <= end {
            self.now = self.endpoint.next_timer().at;
            let mut more = Sent::default();
            let _ = self.endpoint.on_timer(self.now, &mut self.tagger, &mut more);
            sent.extend(more.0);
            sent.extend(self.turns());
        }
        self.now = end;
        sent
    }

    fn events(&mut self) -> Vec<FlowEvent> {
        std::iter::from_fn(|| self.endpoint.poll_event())
            .filter(|event| !matches!(event, FlowEvent::MessageStart { .. }))
            .collect()
    }
}

/// Number of the packet, its priority, and whether it has data.
fn in_short(packets: &[Packet]) -> Vec<(u32, u8, bool)> {
    packets.iter().map(|packet| (packet.words[0], packet.tag.priority(), packet.kind == Kind::Data)).collect()
}

fn pair() -> (Host, Host) {
    (Host::new(0, &rules()), Host::new(1, &rules()))
}

fn ms(ms: u64) -> Time {
    Time::from_us(1_000 * ms)
}

#[test]
fn lost_grant__a_resend_replaces_it() {
    let (mut sender, mut receiver) = pair();
    sender.begin(7, 1, 5_500);
    let first = sender.until(Time::from_us(10));
    // Without a grant, by what is left: 5,500 and 4,500 bytes.
    assert_eq!(in_short(&first), [(0, 2, true), (1, 1, true)]);
    receiver.now = Time::from_us(10);
    let lost = receiver.hears(0, &first);
    assert_eq!(in_short(&lost), [(3, 0, false), (4, 0, false)], "packets 2 and 3 may come");
    // After 5 ms it asks for them. To the sender, that is a grant.
    let resend = receiver.until(ms(6));
    assert_eq!(resend.iter().map(|packet| packet.words[..2].to_vec()).collect::<Vec<_>>(), [[2, 4]]);
    assert_eq!(receiver.events(), [FlowEvent::Timeout { flow: 7 }]);
    sender.now = ms(6);
    assert!(sender.hears(1, &resend).is_empty());
    let next = sender.turns();
    assert_eq!(in_short(&next), [(2, 3, true), (3, 3, true)], "as scheduled packets, and not again");
    receiver.now = ms(6) + Time::from_us(10);
    let grants = receiver.hears(0, &next);
    // The last RTTbytes, 1,500 and 500 bytes, have the levels of short messages.
    assert_eq!(grants.iter().map(|packet| packet.words[..2].to_vec()).collect::<Vec<_>>(), [[5, 1], [6, 0]]);
    sender.now = receiver.now;
    sender.hears(1, &grants);
    let last = sender.turns();
    assert_eq!(last.last().map(|packet| packet.len), Some(540));
    receiver.hears(0, &last);
    let awaited = FlowEvent::Awaited { message: 7, asked: 1, time: ms(5) };
    assert_eq!(receiver.events(), [awaited, FlowEvent::Delivered { message: 7, out_of_order: 0 }]);
}

#[test]
fn lost_data__comes_again_and_the_message_ends_at_its_sender() {
    let (mut sender, mut receiver) = pair();
    sender.begin(7, 1, 1_500);
    let first = sender.turns();
    receiver.hears(0, &first[1..]);
    let resend = receiver.until(ms(5));
    assert_eq!(resend[0].words[..2], [0, 1]);
    sender.now = ms(5);
    sender.hears(1, &resend);
    let again = sender.turns();
    assert_eq!(in_short(&again), [(0, 1, true)]);
    receiver.hears(0, &again);
    assert_eq!(receiver.events().last(), Some(&FlowEvent::Delivered { message: 7, out_of_order: 1 }));
    // Once more is not needed.
    receiver.hears(0, &again);
    assert_eq!(receiver.events(), [FlowEvent::Unneeded { message: 7 }]);
    // After 5 ms of silence the sender asks; BUSY says that all is there.
    let question = sender.until(ms(10));
    let answer = receiver.hears(0, &question);
    assert_eq!((question.len(), answer.len()), (1, 1));
    sender.hears(1, &answer);
    let [FlowEvent::MessageEnd { effort: Some(effort), .. }] = sender.events()[..] else { panic!("an end") };
    assert_eq!(effort, Effort { retransmissions: 1, ..Effort::default() });
    assert!(sender.until(ms(1_000)).is_empty(), "it has forgotten the message");
}

#[test]
fn lost_data__every_gap_is_asked_for_after_one_silence() {
    let rules = HomaRules { rtt_bytes: 8_000, ..rules() };
    let (mut sender, mut receiver) = (Host::new(0, &rules), Host::new(1, &rules));
    sender.begin(7, 1, 8_000);
    let first = sender.until(Time::from_us(50));
    assert_eq!(first.len(), 8);
    let arrived: Vec<Packet> = [0, 2, 5].map(|packet| first[packet]).into();
    receiver.hears(0, &arrived);
    let resends = receiver.until(ms(5));
    let words = |packets: &[Packet]| packets.iter().map(|packet| packet.words[..2].to_vec()).collect::<Vec<_>>();
    assert_eq!(words(&resends), [[1, 2], [3, 5], [6, 8]]);
    assert_eq!(receiver.events(), [FlowEvent::Timeout { flow: 7 }], "one silence");
    // A gap that is asked for twice before it is sent is sent once.
    sender.hears(1, &resends[1..]);
    sender.hears(1, &resends);
    let again: Vec<Packet> = sender.until(ms(6)).into_iter().filter(|packet| packet.kind == Kind::Data).collect();
    assert_eq!(again.iter().map(|packet| packet.words[0]).collect::<Vec<_>>(), [1, 3, 4, 6, 7]);
    receiver.hears(0, &again);
    let awaited = FlowEvent::Awaited { message: 7, asked: 1, time: ms(5) };
    assert_eq!(receiver.events(), [awaited, FlowEvent::Delivered { message: 7, out_of_order: 3 }]);
}

#[test]
fn silence__counts_from_the_grant_of_a_message_that_waited_for_one() {
    let (mut receiver, mut senders) = (Host::new(3, &rules()), [0, 1].map(|number| Host::new(number, &rules())));
    senders[0].begin(7, 3, 6_000);
    senders[1].begin(8, 3, 9_000);
    let [short, long] = senders.each_mut().map(|sender| sender.until(Time::from_us(10)));
    // Alone, the long message gets grants. Then the shorter one gets all of them.
    let grants = receiver.hears(1, &long);
    let mut of_short = receiver.hears(0, &short);
    senders[1].hears(3, &grants);
    let granted = senders[1].until(Time::from_us(20));
    assert_eq!((grants.len(), granted.len(), receiver.hears(1, &granted).len()), (2, 2, 0), "nothing of it is due");
    receiver.now = Time::from_us(4_900);
    while !of_short.is_empty() {
        senders[0].now = receiver.now;
        senders[0].hears(3, &of_short);
        let sent = senders[0].until(receiver.now + Time::from_us(10));
        of_short = receiver.hears(0, &sent).into_iter().filter(|packet| packet.message == 7).collect();
    }
    assert_eq!(receiver.events(), [FlowEvent::Delivered { message: 7, out_of_order: 0 }]);
    // Its grants left at 4.9 ms, a little before the alarm that was set when it last came.
    assert!(receiver.until(ms(9)).is_empty());
    assert_eq!(receiver.until(ms(10)).len(), 1);
}

#[test]
fn lost_altogether__the_receiver_asks_for_what_it_does_not_know() {
    let (mut sender, mut receiver) = pair();
    sender.begin(7, 1, 900);
    assert_eq!(sender.turns().len(), 1);
    let question = sender.until(ms(5));
    let resend = receiver.hears(0, &question);
    assert_eq!(resend[0].words[..2], [0, 2]);
    sender.hears(1, &resend);
    receiver.hears(0, &sender.turns());
    assert_eq!(receiver.events(), [FlowEvent::Delivered { message: 7, out_of_order: 0 }]);
}

#[test]
fn silence__each_end_gives_up_after_three_attempts() {
    let (mut sender, mut receiver) = pair();
    sender.begin(7, 1, 9_000);
    let first = sender.turns();
    receiver.hears(0, &first[..1]);
    let resends = receiver.until(ms(1_000));
    assert_eq!(resends.len(), 3);
    let timeout = FlowEvent::Timeout { flow: 7 };
    assert_eq!(receiver.events(), [timeout, timeout, timeout, FlowEvent::GivenUp { message: 7 }]);
    assert_eq!(sender.until(ms(1_000)).len(), 3);
    assert_eq!(sender.events(), [timeout, timeout, FlowEvent::GivenUp { message: 7 }]);
    // What comes later changes nothing.
    assert!(receiver.hears(0, &first).is_empty() && receiver.events().is_empty());
    assert!(receiver.until(ms(2_000)).is_empty() && sender.until(ms(2_000)).is_empty());
}

#[test]
fn lost_grants__resends_replace_all_of_them() {
    let (mut sender, mut receiver) = pair();
    sender.begin(7, 1, 9_000);
    let mut sent = sender.turns();
    let mut resends = Vec::new();
    while !sent.is_empty() {
        receiver.hears(0, &sent); // its grants are lost
        let more = receiver.until(receiver.now + ms(5));
        sender.now = receiver.now;
        sender.hears(1, &more);
        resends.extend(more.iter().map(|packet| packet.words[..2].to_vec()));
        sent = sender.turns();
    }
    // Two packets came without a grant, and seven are asked for, two at a time.
    assert_eq!(resends, [[2, 4], [4, 6], [6, 8], [8, 9]]);
    assert_eq!(receiver.events().last(), Some(&FlowEvent::Delivered { message: 7, out_of_order: 0 }));
}

/// Sends messages of these bytes from host 0 to host 1, until nothing is sent any more; returns the number of packets with data.
fn send_all(rules: &HomaRules, bytes: &[u64]) -> usize {
    let (mut sender, mut receiver) = (Host::new(0, rules), Host::new(1, rules));
    (0..).zip(bytes).for_each(|(id, &bytes)| sender.begin(id, 1, bytes));
    let (mut data, mut delivered) = (0, 0);
    while delivered < bytes.len() {
        let now = sender.now + Time::from_us(50);
        let sent = sender.until(now);
        assert!(now < ms(4_000), "{delivered} have ended");
        (data, receiver.now) = (data + sent.len(), now);
        sender.hears(1, &receiver.hears(0, &sent));
        delivered += receiver.events().iter().filter(|event| matches!(event, FlowEvent::Delivered { .. })).count();
    }
    data
}

#[test]
fn sizes__a_byte_and_a_gigabyte_and_rtt_bytes_below_a_packet() {
    let large = HomaRules { segment: 60_000, rtt_bytes: 120_000, silence: ms(10_000), ..rules() };
    assert_eq!(send_all(&large, &[1_000_000_000, 1]), 16_667 + 1);
    let small = HomaRules { rtt_bytes: 1, silence: ms(10_000), ..rules() };
    assert_eq!(send_all(&small, &[1, 3_001, 1_000]), 1 + 4 + 1);
}

#[test]
fn replies__a_message_ends_at_its_sender_when_the_packet_is_back() {
    let rules = HomaRules { replies: true, ..rules() };
    let (mut sender, mut receiver) = (Host::new(0, &rules), Host::new(1, &rules));
    sender.begin(7, 1, 900);
    let reply = receiver.hears(0, &sender.turns());
    assert_eq!((reply.len(), reply[0].len, reply[0].tag.priority()), (1, 40, 0));
    sender.hears(1, &reply);
    assert!(matches!(sender.events()[..], [FlowEvent::MessageEnd { effort: Some(_), .. }]));
    assert!(sender.until(ms(1_000)).is_empty(), "no question");
    // If the reply is lost, the sender asks.
    sender.begin(8, 1, 900);
    receiver.hears(0, &sender.turns());
    let question = sender.until(ms(1_005));
    sender.hears(1, &receiver.hears(0, &question));
    assert!(matches!(sender.events()[..], [FlowEvent::MessageEnd { effort: Some(_), .. }]));
}

/// Host 0 asks a hundred others at once for 20,000 bytes each; RTTbytes is seven packets. Returns the packets that come without a
/// grant.
fn fan_in(incast: Option<IncastRules>) -> usize {
    let rules = HomaRules { rtt_bytes: 7_000, incast, ..rules() };
    let mut client = Host::new(0, &rules);
    (1..=100).for_each(|server| client.begin_of(server.into(), server, 100, Some(3)));
    let requests = client.until(Time::from_us(50));
    assert_eq!(requests.len(), 100);
    let answer = |server: u16| {
        let mut host = Host::new(server, &rules);
        host.hears(0, &requests);
        assert!(matches!(host.events()[..], [FlowEvent::Delivered { .. }]));
        host.begin_of(100 + u32::from(server), 0, 20_000, Some(3));
        let unscheduled = host.until(Time::from_us(50));
        client.hears(server, &unscheduled[..1]);
        unscheduled.len()
    };
    (1..=100).map(answer).sum()
}

#[test]
fn incast__answers_to_marked_requests_send_one_packet_without_a_grant() {
    assert_eq!(fan_in(None), 100 * 7);
    let rules = IncastRules { requests: 16, bytes: 400 };
    assert_eq!(fan_in(Some(rules)), 16 * 7 + 84, "the first sixteen requests are not marked");
    assert_eq!(fan_in(Some(IncastRules { bytes: 2_500, ..rules })), 16 * 7 + 84 * 3, "in full packets");
    assert_eq!(fan_in(Some(IncastRules { requests: 100, ..rules })), 100 * 7);
}

#[test]
fn seen__cutoffs_travel_with_grants_and_answers() {
    let rules = HomaRules { seen: Some(2), ..rules() };
    let (mut sender, mut receiver) = (Host::new(0, &rules), Host::new(1, &rules));
    let levels = |packets: &[Packet]| packets.iter().map(|packet| packet.tag.priority()).collect::<Vec<_>>();
    // By the cutoffs of the start, 1,000 and 5,000 bytes.
    sender.begin(1, 1, 300);
    sender.begin(2, 1, 300);
    let first = sender.turns();
    assert_eq!(levels(&first), [0, 0]);
    receiver.hears(0, &first);
    // Host 1 has seen two messages of 300 bytes, in the bucket from 300 to 303. Host 0 has not heard of it.
    sender.now = ms(1);
    sender.begin(3, 1, 400);
    let third = sender.turns();
    assert_eq!(levels(&third), [0]);
    receiver.hears(0, &third);
    // It hears when it asks about the first ones.
    let questions = sender.until(ms(5));
    sender.hears(1, &receiver.hears(0, &questions));
    sender.begin(4, 1, 303);
    sender.begin(5, 1, 400);
    sender.begin(6, 2, 400);
    assert_eq!(levels(&sender.until(ms(5) + Time::from_us(10))), [0, 2, 0], "host 2 has said nothing");
}

#[test]
fn busy__if_a_shorter_message_goes_first() {
    let (mut sender, mut receiver) = pair();
    sender.begin(7, 1, 9_000);
    let first = sender.turns();
    sender.begin(8, 2, 800);
    sender.begin(9, 2, 700);
    assert!(sender.turns().is_empty(), "the NIC is full");
    receiver.hears(0, &first);
    let resend = receiver.until(ms(5));
    let busy = sender.hears(1, &resend);
    assert_eq!(in_short(&busy), [(0, 0, false)]);
    receiver.hears(0, &busy);
    assert!(receiver.until(ms(10) - Time(1)).is_empty(), "which counts as a sign of life");
    assert_eq!(receiver.until(ms(10)).len(), 1);
}

#[test]
fn asks__if_not_a_message_ends_when_it_was_sent() {
    let rules = HomaRules { asks: false, ..rules() };
    let mut sender = Host::new(0, &rules);
    sender.begin(7, 1, 900);
    let first = sender.turns();
    assert!(matches!(sender.events()[..], [FlowEvent::MessageEnd { effort: None, .. }]));
    // It can still be asked for.
    let resend = Packet { peer: 0, code: 2, message: 7, flow: 7, words: [0, 1, 0, 0, 0, 0], ..Packet::default() };
    sender.now = ms(3);
    assert!(sender.hears(1, &[resend]).is_empty());
    assert_eq!(sender.turns()[0].len, first[0].len);
    assert!(sender.until(ms(1_000)).is_empty() && sender.events().is_empty());
    sender.hears(1, &[resend]);
    assert!(sender.turns().is_empty(), "until it is forgotten");
}

#[test]
fn predicted__ranks_by_the_prediction_and_ends_with_the_true_size() {
    let rules = HomaRules { sizes: Sizes::Predicted(Outlived::Top), ..rules() };
    let mut sender = Host::new(0, &rules);
    for (id, bytes, predicted) in [(7, 900, 50_000), (8, 1_800, 100)] {
        let predicted = NonZeroU64::new(predicted);
        let message = Message { id, to: 1, bytes, predicted, ..Message::default() };
        let _ = sender.endpoint.begin(Time::ZERO, &mut sender.tagger, &mut Sent::default(), &message);
    }
    let packets = sender.until(ms(1));
    let sent: Vec<(u32, u16, u8)> =
        packets.iter().map(|packet| (packet.message, packet.len, packet.tag.priority())).collect();
    assert_eq!(sent, [(8, 1_040, 0), (8, 840, 0), (7, 940, 2)]);
}

#[test]
fn receive__ten_thousand_messages_get_their_grants() {
    let mut receiver = Host::new(1, &rules());
    let mut senders = [0, 2, 3].map(|number| Host::new(number, &rules()));
    for id in 0..10_000u32 {
        senders[id as usize % 3].begin(id, 1, 3_000 + u64::from(id % 100));
    }
    let mut ended = Vec::new();
    while ended.len() < 10_000 {
        let mut answers = Vec::new();
        for sender in &mut senders {
            let end = sender.now + Time::from_us(3);
            let data = sender.until(end);
            receiver.now = end;
            answers.extend(receiver.hears(sender.number, &data));
        }
        assert!(receiver.now < ms(1_000), "{} have ended", ended.len());
        senders.iter_mut().for_each(|sender| _ = sender.hears(1, &answers));
        ended.extend(receiver.events().into_iter().filter_map(|event| match event {
            FlowEvent::Delivered { message, .. } => Some(message),
            _ => None,
        }));
    }
    ended.sort_unstable();
    assert!(ended.into_iter().eq(0..10_000));
}

proptest! {
    /// Whatever is lost for a while, every message arrives; and whatever is lost for ever, nothing goes on.
    #[test]
    fn losses__every_message_ends_or_is_given_up(
        sizes in prop::collection::vec(prop_oneof![1u64..3_000, 1u64..8_000], 1..12),
        lost in prop::collection::vec(0u8..10, 1..60),
        share in 0u8..10,
        losses_end: bool,
        asks: bool,
    ) {
        let rules = HomaRules { asks: asks || !losses_end, attempts: 20, ..rules() };
        let mut hosts = [0, 1].map(|number| Host::new(number, &rules));
        let mut fates = lost.iter().cycle();
        for (id, &bytes) in (0..).zip(&sizes) {
            hosts[0].begin(id, 1, bytes);
        }
        let (mut delivered, mut given_up) = (Vec::new(), Vec::new());
        for step in 0..20_000 {
            let end = ms(step + 1);
            let lossy = !losses_end || step < 20;
            for (from, to) in [(0, 1), (1, 0)] {
                let mut sent = hosts[from].until(end);
                // A first packet that is lost without a question never comes again.
                let spared = |packet: &Packet| !rules.asks && packet.kind == Kind::Data && packet.words[0] == 0;
                sent.retain(|packet| !lossy || spared(packet) || *fates.next().unwrap() >= share);
                hosts[to].now = end;
                let answers = hosts[to].hears(from as u16, &sent);
                let answers: Vec<Packet> = answers.into_iter().filter(|_| !lossy || *fates.next().unwrap() >= share).collect();
                hosts[from].hears(to as u16, &answers);
            }
            for event in hosts.iter_mut().flat_map(|host| host.events()) {
                match event {
                    FlowEvent::Delivered { message, .. } => delivered.push(message),
                    FlowEvent::GivenUp { message } => given_up.push(message),
                    _ => {}
                }
            }
        }
        delivered.sort_unstable();
        prop_assert!(delivered.windows(2).all(|pair| pair[0] < pair[1]), "once each: {delivered:?}");
        if losses_end {
            prop_assert_eq!(delivered.len(), sizes.len());
            prop_assert!(given_up.is_empty());
        }
        for id in 0..sizes.len() as u32 {
            prop_assert!(delivered.contains(&id) || given_up.contains(&id), "{id} hangs");
        }
        // Nothing is sent any more.
        for host in &mut hosts {
            prop_assert!(host.until(ms(40_000)).is_empty());
        }
    }
}
