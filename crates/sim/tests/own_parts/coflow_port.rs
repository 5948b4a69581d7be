//! A port that keeps a coflow's packets in order, next to one that does not.

use flowsieve_core::tagger::{FlowEvent, FlowFacts, TagPackets};
use flowsieve_core::{Tag, TaggerSpec, Time};
use flowsieve_schemes::bare::Facts;
use flowsieve_schemes::scheme::{Nic, Scheme};
use flowsieve_schemes::{Context, Entry};
use flowsieve_settings::Settings;
use flowsieve_workload::Flow;

use super::NS;
use crate::by_hand::{Trial, fcts_in_ns, flow, in_order, marks_and_drops, rack};

#[path = "../../../flowsieve/examples/own_scheme/coflow_order.rs"]
mod coflow_order;

/// All coflows have priority 1, and coflow 7 rises to priority 0 at 1 us. What belongs to no coflow has priority 0.
struct Rising;

impl TagPackets for Rising {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        let low = match facts.coflow {
            Some(7) => facts.now < Time::from_us(1),
            Some(_) => true,
            None => false,
        };
        Tag::with_priority(u8::from(low))
    }

    fn on_event(&mut self, _: &FlowEvent, _: Time) {}
}

/// The ports of a scheme. A host tags a packet when no other waits there.
fn trial(ports: &Entry, settings: &Settings) -> Trial {
    let context = Context { scope: settings.scheme(ports.name), workload: &Facts::NONE };
    let mut scheme = ports.scheme(&context).expect("a scheme");
    scheme.classes[0].tagger = TaggerSpec::custom(|_| Rising);
    Trial::new(settings, Scheme { nic: Nic::Backpressure { backlog: 1 }, ..scheme })
}

fn of(coflow: u32, flow: Flow) -> Flow {
    Flow { coflow: Some(coflow), ..flow }
}

#[test]
fn coflow_port__packets_of_a_coflow_that_rises_do_not_overtake_its_older_ones() {
    // Hosts 0 and 1 send A and B of coflow 7, host 2 sends C of none: three packets each to host 3, which are at the switch
    // at 1.4, 2.6 and 3.8 us, A's before B's before C's. Each has 1.2 us on the line. A host tags its first two packets at
    // the start and the third at 1.2 us: A3 and B3 have priority 0, as C1, C2 and C3.
    let flows = [of(7, flow(0, (0, 3), 3)), of(7, flow(0, (1, 3), 3)), flow(0, (2, 3), 3)];
    let run = |ports| {
        let result = trial(ports, &rack(4)).run(&in_order(&flows));
        let out_of_order: Vec<_> = result.flows.iter().map(|row| row.out_of_order).collect();
        (fcts_in_ns(&result), out_of_order)
    };

    // us    on the line, and behind it     queue 0     queue 1
    // 1.4   A1                             C1          B1
    // 2.6   C1                             C2          B1 A2 B2
    // 3.8   C2                             C3          B1 A2 B2 A3 B3
    // 5.0   C3 and then                                B1 A2 B2 A3 B3
    // C3 is there at 6.2 + 0.2 us, A3 at 11.0 + 0.2 us and B3 at 12.2 + 0.2 us.
    assert_eq!(run(&coflow_order::ORDER), (vec![11_200 * NS, 12_400 * NS, 6_400 * NS], vec![0, 0, 0]));

    // 3.8   C2                             A3 B3 C3    B1 A2 B2
    // 5.0   A3, B3, C3 and then                        B1 A2 B2
    // Behind A3 comes A2, and behind B3 come B1 and B2. A and B are complete at the same instants as before, so that C has
    // waited for nothing.
    assert_eq!(run(&coflow_order::PRIORITY), (vec![11_200 * NS, 12_400 * NS, 8_800 * NS], vec![1, 2, 0]));
}

#[test]
fn coflow_port__remembers_no_packet_that_left_or_was_dropped() {
    // Hosts 0 to 4 send a packet each to host 5, all of coflow 7 with priority 1: at 1.4 us the first passes, three wait, and
    // the last is dropped at a full port. It comes again 2 ms after the start.
    //
    // At 20 us A and B of coflow 8 begin, two packets each with priority 1, and at 21.2 us C of coflow 7, with priority 0 now.
    // At 21.4 us A1 goes on the line; at 22.6 us B1 does, and A2, B2 and C1 come. No packet of coflow 7 waits any more, and so
    // C1 is the next, at 23.8 us. A2 follows at 25.0 us, and B2 at 26.2 us.
    let first = (0..5).map(|host| of(7, flow(0, (host, 5), 1)));
    let then =
        [of(8, flow(20_000 * NS, (0, 5), 2)), of(8, flow(20_000 * NS, (1, 5), 2)), of(7, flow(21_200 * NS, (2, 5), 1))];
    let flows: Vec<_> = first.chain(then).collect();
    let settings = rack(6).with(None, "buffer", "4500B");
    let result = trial(&coflow_order::ORDER, &settings).run(&in_order(&flows));
    assert_eq!(fcts_in_ns(&result)[..5], [2_800, 4_000, 5_200, 6_400, 2_002_800].map(|ns| ns * NS));
    assert_eq!(fcts_in_ns(&result)[5..], [6_400, 7_600, 4_000].map(|ns| ns * NS));
    assert_eq!(marks_and_drops(&result), (0, 1));
}
