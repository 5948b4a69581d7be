//! Two hosts, a bottleneck between them, five messages: DCTCP, PIAS and pFabric computed by hand, packet by packet.
//!
//! Host 0 is on one leaf and host 1 on the other, with one spine between. Hosts' links run at 10 Gbit/s, so that a full
//! packet takes 1.2 us there; the links at the spine run at 1 Gbit/s, where it takes 12 us. Each link adds 200 ns, hosts
//! add nothing. All packets queue at two ports: host 0's, and the first leaf's to the spine, the bottleneck. What goes
//! on the wire there at s is at host 1 at s + 12.2 + 12.2 + 1.4 = s + 25.8 us, as the links beyond never hold it back.
//!
//! | message | starts at | packets |
//! | --- | --- | --- |
//! | A | 0 us | 4 |
//! | B | 0.1 us | 1 |
//! | C | 5 us | 3 |
//! | D | 30 us | 1 |
//! | E | 40 us | 2 |
//!
//! Every window lets a whole message go at once, and the first ACK comes back after 53 us, so that ACKs change nothing.

use flowsieve_settings::Settings;

use super::NS;
use crate::by_hand::{Trial, fcts, flow, marks_and_drops, scheme, settings};

fn two_hosts() -> Settings {
    settings("leaf-spine")
        .with(None, "leaves", 2)
        .with(None, "spines", 1)
        .with(None, "hosts_per_leaf", 1)
        .with(None, "fabric_link", "1Gbps")
        .with(None, "handshake", "none")
}

/// The FCTs in ns of A to E.
fn run(name: &str, settings: &Settings) -> Vec<u64> {
    let messages = [(0, 4), (100, 1), (5_000, 3), (30_000, 1), (40_000, 2)];
    let flows = messages.map(|(start_ns, packets)| flow(start_ns * NS, (0, 1), packets));
    let result = Trial::new(settings, scheme(name, settings)).run(&flows);
    assert_eq!(marks_and_drops(&result), (0, 0));
    assert_eq!(result.retransmissions, 0);
    fcts(&result).iter().map(|fct| fct / NS).collect()
}

#[test]
fn dctcp__in_the_order_of_arrival() {
    // Host 0 sends            A1 0    A2 1.2  A3 2.4  A4 3.6  B1 4.8  C1 6    C2 7.2  C3 8.4  D1 30   E1 40    E2 41.2
    // they are at the leaf at    1.4     2.6     3.8     5       6.2     7.4     8.6     9.8     31.4    41.4     42.6
    // and leave it from          1.4    13.4    25.4    37.4    49.4    61.4    73.4    85.4     97.4   109.4    121.4
    // A ends at 37.4 + 25.8 = 63.2, B at 75.2, C at 111.2, D at 123.2, E at 147.2.
    assert_eq!(run("dctcp", &two_hosts()), [63_200, 75_100, 106_200, 93_200, 107_200]);
}

#[test]
fn pias__first_packets_first() {
    // Two queues: a packet with more than 1,460 bytes before it, the third of a message and later, is in the low one.
    // Host 0 sends A1 0, A2 1.2, B1 2.4 (high, ahead of A3), A3 3.6, A4 4.8, C1 6, C2 7.2, C3 8.4, D1 30, E1 40, E2 41.2.
    // The leaf sends, high: A1 1.4, A2 13.4, B1 25.4, C1 37.4, C2 49.4, D1 61.4 (there since 31.4), E1 73.4, E2 85.4;
    // then low: A3 97.4, A4 109.4, C3 121.4.
    // A ends at 109.4 + 25.8 = 135.2, B at 51.2, C at 147.2, D at 87.2, E at 111.2.
    let settings = two_hosts().with(None, "queues", 2).with(None, "thresholds", &["1460B"][..]);
    assert_eq!(run("pias", &settings), [135_200, 51_100, 142_200, 57_200, 71_200]);
}

#[test]
fn pfabric__shortest_message_first() {
    // Every packet carries what its message had left when it was sent: its size, as nothing is acknowledged by then.
    // Host 0 sends A1 0, B1 1.2 (ahead of A2), A2 2.4, A3 3.6, A4 4.8, C1 6 (there since 5), C2 7.2, C3 8.4, D1 30, E1 40,
    // E2 41.2.
    // The leaf sends A1 1.4, B1 13.4, C1 25.4 (3 packets before A's 4), D1 37.4 (there since 31.4), E1 49.4, E2 61.4,
    // C2 73.4, C3 85.4, A2 97.4, A3 109.4, A4 121.4.
    // A ends at 121.4 + 25.8 = 147.2, B at 39.2, C at 111.2, D at 63.2, E at 87.2.
    assert_eq!(run("pfabric", &two_hosts()), [147_200, 39_100, 106_200, 33_200, 47_200]);
}
