//! Which connection a message takes, handshakes, restarts after idle times, the closing of connections; and how packets
//! find the two ends of a connection.

use crate::common::host::{Host, tcp};
use crate::common::rfc;
use flowsieve_core::Time;
use flowsieve_transport::tcp::params::{Restart, RtoRule};
use flowsieve_transport::tcp::{Connections, HEADER_BYTES, Handshake, TcpParams};

use Connections::{PerFlow, Persistent, Pool};

/// Initial window 10, a constant RTO of 2 ms.
fn params() -> TcpParams {
    TcpParams { rto: RtoRule::Constant(Time::from_us(2_000)), ..rfc() }
}

/// A host that never pauses, with connections that open without a handshake.
fn host(connections: Connections) -> Host {
    Host::new(&tcp(params(), connections, Handshake::Never), false)
}

#[test]
fn per_flow__each_message_has_a_connection() {
    let mut host = host(PerFlow);
    host.run(
        "0   begin 7 to 1 of 2
         0   > begins 7 first, 7/0-1.
         10  begin 8 to 1 of 1
         10  > begins 8 first, 8/0.
         100 < 7 ack 2
         100 > ends 7
         110 < 8 ack 1
         110 > ends 8
         110 begin 9 to 1 of 12
         110 > begins 9 first, 9/0-9
         210 < 9 ack 10
         210 > 9/10-11.",
    );
}

#[test]
fn per_flow__a_closed_connection_hears_nothing_and_its_place_is_taken_again() {
    let mut host = host(PerFlow);
    host.run(
        "0    begin 7 to 1 of 1
         0    > begins 7 first, 7/0.
         100  < 7 ack 1
         100  > ends 7
         101  < 7 ack 1 dup
         102  < 7 syn-ack
         200  begin 8 to 2 of 20
         200  > begins 8 first, 8/0-9
         210  < 7 ack 1 dup
         220  < 8 ack 2 at 1
         300  < 8 ack 10
         300  > 8/10-19.",
    );
    // The ACK for 7 at 210 names the place that is 8's now, that at 220 an empty place.
    assert_eq!([host.places(7)[0], host.places(8)[0]], [0, 0]);
    // 7's timer would have fired at 2,000, 8's first one at 2,200.
    host.run(
        "2300 timer
         2300 > timeout 8, 8/10r
         2400 < 8 ack 20
         2400 > ends 8 again 1 timeouts 1
         9000 = timer never",
    );
}

#[test]
fn per_flow__no_packet_closes_a_connection_twice() {
    // A closed connection belongs to no flow. A packet of the flow that stands for none must not find it, and close it
    // once more: two messages would take its place.
    let mut host = Host::new(&tcp(params(), PerFlow, Handshake::Never), true);
    host.run(
        "0   begin 7 to 1 of 1
         0   > begins 7 first
         0   turn
         0   > 7/0.
         0   turn unused
         100 < 7 ack 1
         100 > ends 7
         110 < 4294967295 ack 1 at 0
         110 = turns 0",
    );
}

#[test]
fn persistent__messages_of_a_host_pair_queue_on_one_connection() {
    let mut host = host(Persistent);
    host.run(
        "0   begin 7 to 1 of 12
         0   > begins 7 first, 7/0-9
         10  begin 8 to 1 of 2
         10  > begins 8 on 7 after 10
         20  begin 9 to 2 of 1
         20  > begins 9 first, 9/0.
         100 < 7 ack 10
         100 > 7/10-11., 7/12-13m8.
         200 < 7 ack 13
         200 > ends 7
         210 < 7 ack 14
         210 > ends 8 on 7
         500 begin 10 to 1 of 1
         500 > begins 10 on 7 after 400, 7/14m10.
         600 < 7 ack 15
         600 > ends 10 on 7",
    );
}

#[test]
fn persistent__one_ack_may_end_several_messages() {
    let mut host = host(Persistent);
    host.run(
        "0   begin 7 to 1 of 1
         0   > begins 7 first, 7/0.
         1   begin 8 to 1 of 1
         1   > begins 8 on 7 after 1, 7/1m8.
         2   begin 9 to 1 of 9
         2   > begins 9 on 7 after 1, 7/2-9m9
         100 < 7 ack 2
         100 > ends 7, ends 8 on 7, 7/10m9.
         200 < 7 ack 11
         200 > ends 9 on 7",
    );
}

#[test]
fn pool__takes_the_idle_connection_with_the_least_first_message() {
    let mut host = host(Pool);
    host.run(
        "0   begin 7 to 1 of 1
         0   > begins 7 first, 7/0.
         1   begin 8 to 1 of 1
         1   > begins 8 first, 8/0.
         2   begin 9 to 1 of 1
         2   > begins 9 first, 9/0.
         100 < 8 ack 1
         100 > ends 8
         101 < 9 ack 1
         101 > ends 9
         102 begin 10 to 1 of 1
         102 > begins 10 on 8 after 101, 8/1m10.
         103 < 7 ack 1
         103 > ends 7
         104 begin 11 to 2 of 1
         104 > begins 11 first, 11/0.
         105 begin 12 to 1 of 1
         105 > begins 12 on 7 after 105, 7/1m12.
         106 begin 13 to 1 of 1
         106 > begins 13 on 9 after 104, 9/1m13.
         107 begin 14 to 1 of 1
         107 > begins 14 first, 14/0.",
    );
}

#[test]
fn pool__a_message_waits_for_no_other() {
    // Persistent connections would hold message 8 back behind what the window does not let out of 7.
    let mut host = host(Pool);
    host.run(
        "0   begin 7 to 1 of 11
         0   > begins 7 first, 7/0-9
         10  begin 8 to 1 of 1
         10  > begins 8 first, 8/0.
         100 < 7 ack 10
         100 > 7/10.
         101 < 8 ack 1
         101 > ends 8
         200 < 7 ack 11
         200 > ends 7",
    );
}

#[test]
fn handshake__always_opens_with_a_syn() {
    let mut host = Host::new(&tcp(params(), Persistent, Handshake::Always), false);
    host.run(
        "0   begin 7 to 1 of 1
         0   > begins 7 first, 7 syn
         50  begin 8 to 1 of 1
         50  > begins 8 on 7 after 50
         60  < 7 ack 0
         100 < 7 syn-ack
         100 > 7/0., 7/1m8.
         110 < 7 syn-ack
         200 < 7 ack 2
         200 > ends 7, ends 8 on 7
         900 begin 9 to 1 of 1
         900 > begins 9 on 7 after 800, 7/2m9.",
    );
}

#[test]
fn handshake__cold_spares_the_first_connection_of_a_host_pair() {
    let mut host = Host::new(&tcp(params(), Pool, Handshake::Cold), false);
    host.run(
        "0   begin 7 to 1 of 1
         0   > begins 7 first, 7/0.
         1   begin 8 to 1 of 1
         1   > begins 8 first, 8 syn
         2   begin 9 to 2 of 1
         2   > begins 9 first, 9/0.
         100 < 7 ack 1
         100 > ends 7
         101 < 8 syn-ack
         101 > 8/0.
         102 begin 10 to 1 of 1
         102 > begins 10 on 7 after 102, 7/1m10.
         103 begin 11 to 1 of 1
         103 > begins 11 first, 11 syn",
    );
}

#[test]
fn handshake__cold_counts_a_connection_that_is_closed() {
    let mut host = Host::new(&tcp(params(), PerFlow, Handshake::Cold), false);
    host.run(
        "0   begin 7 to 1 of 1
         0   > begins 7 first, 7/0.
         100 < 7 ack 1
         100 > ends 7
         200 begin 8 to 1 of 1
         200 > begins 8 first, 8 syn",
    );
}

#[test]
fn handshake__a_lost_syn_is_sent_again() {
    // The SYN of 0 is lost; after it the first window is one segment (RFC 5681 §3.1).
    let mut host = Host::new(&tcp(params(), PerFlow, Handshake::Always), false);
    host.run(
        "0    begin 7 to 1 of 3
         0    > begins 7 first, 7 syn
         0    = timer 2000 sender 7
         2000 timer
         2000 > timeout 7, 7 syn
         2000 = timer 4000 sender 7
         2100 < 7 syn-ack
         2100 > 7/0
         2200 < 7 ack 1
         2200 > 7/1-2.
         2300 < 7 ack 3
         2300 > ends 7 again 0 timeouts 1",
    );
}

#[test]
fn handshake__every_syn_is_answered() {
    // The answer carries nothing, goes to the sender's place and tells the receiver's.
    let mut host = host(PerFlow);
    host.run(
        "0  < 7 syn from 4 at 5
         0  > 7 syn-ack
         20 < 7 syn from 4 at 5
         20 > 7 syn-ack
         40 < 8 syn from 4 at 6
         40 > 8 syn-ack
         60 < 7/0. from 4 at 5 told 0
         60 > arrives 7, 7 ack 1",
    );
    assert_eq!((host.places(7), host.places(8)), ([5, 0], [6, 1]));
    assert_eq!((host.last(8).len, host.last(8).peer), (HEADER_BYTES, 4));
}

/// Twice a window of 10 is acknowledged, the third time while the window is what limits: it is 40 then.
const OPEN_TO_40: &str = "0    begin 7 to 1 of 20
                          0    > begins 7 first, 7/0-9
                          100  < 7 ack 10
                          100  > 7/10-19.
                          200  < 7 ack 20
                          200  > ends 7
                          1000 begin 8 to 1 of 30
                          1000 > begins 8 on 7 after 900, 7/20-39m8
                          1100 < 7 ack 40
                          1100 > 7/40-49m8.
                          1200 < 7 ack 50
                          1200 > ends 8 on 7";

#[test]
fn restart__a_pooled_connection_begins_anew_when_it_was_idle_for_more_than_its_rto() {
    let mut host = host(Pool);
    host.run(OPEN_TO_40);
    // The last packet left at 1,100: 2,000 us later the window still is 40, and from then on no more.
    host.run(
        "3100 begin 9 to 1 of 30
         3100 > begins 9 on 7 after 2000, 7/50-79m9.
         3200 < 7 ack 80
         3200 > ends 9 on 7
         5100.000001 begin 10 to 1 of 30
         5100.000001 > begins 10 on 7 after 2000.000001, 7/80-89m10",
    );
}

#[test]
fn restart__off_leaves_the_window() {
    let params = TcpParams { restart: Restart::Off, ..params() };
    let mut host = Host::new(&tcp(params, Pool, Handshake::Never), false);
    host.run(OPEN_TO_40);
    host.run("9100 begin 9 to 1 of 50\n 9100 > begins 9 on 7 after 8000, 7/50-89m9");
}

#[test]
fn places__the_ack_tells_the_receivers_and_later_data_names_it() {
    let mut host = host(Pool);
    host.run(
        "0   begin 7 to 1 of 11
         0   > begins 7 first, 7/0-9
         100 < 7 ack 10 told 4
         100 > 7/10.@4
         200 < 7 ack 11 told 4
         200 > ends 7
         300 begin 8 to 1 of 1
         300 > begins 8 on 7 after 200, 7/11m8.@4",
    );
    let mut host = Host::new(&tcp(params(), PerFlow, Handshake::Always), false);
    host.run(
        "0   begin 7 to 1 of 1
         0   > begins 7 first, 7 syn
         100 < 7 syn-ack told 3
         100 > 7/0.@3",
    );
}

#[test]
fn places__a_packet_that_names_none_or_a_wrong_one_is_found_by_its_flow() {
    let mut host = host(PerFlow);
    host.run(
        "0 < 7/0 from 2 at 5
         0 > 7 ack 1
         1 < 8/0 from 3 at 5
         1 > 8 ack 1",
    );
    assert_eq!((host.places(7), host.places(8)), ([5, 0], [5, 1]));
    host.run(
        "2 < 7/1 told 0
         2 > 7 ack 2
         3 < 7/2 told 1
         3 > 7 ack 3
         4 < 7/3 told 2
         4 > 7 ack 4
         5 < 7/4 told 4000000000
         5 > 7 ack 5
         6 < 7/5
         6 > 7 ack 6
         7 < 9/0 told 0 from 2 at 4000000000
         7 > 9 ack 1
         8 < 7/6 told 0
         8 > 7 ack 7",
    );
    // An answer goes to the place that the first packet of the flow named.
    assert_eq!((host.places(7), host.places(9)), ([5, 0], [4_000_000_000, 2]));
}

#[test]
fn places__an_ack_for_a_place_that_is_not_its_flows_is_ignored() {
    let mut host = host(Pool);
    host.run(
        "0   begin 7 to 1 of 20
         0   > begins 7 first, 7/0-9
         0   begin 8 to 1 of 20
         0   > begins 8 first, 8/0-9
         100 < 7 ack 10 at 1
         101 < 7 ack 10 at 2
         102 < 7 ack 10 at 4294967295
         103 < 9 ack 10 at 0
         104 < 7 ack 10 at 0
         104 > 7/10-19.",
    );
}

const MINUTE: u64 = 60_000_000;

#[test]
fn forgetting__two_minutes_after_the_message_was_complete() {
    let mut host = host(PerFlow);
    host.run(
        "0  < 7/0
         0  > 7 ack 1
         10 < 7/1.
         10 > arrives 7, 7 ack 2
         20 < 8/0
         20 > 8 ack 1",
    );
    assert_eq!((host.places(7), host.places(8)), ([0, 0], [0, 1]));
    // A picosecond before, a first packet takes a new place.
    host.run("120000009.999999 < 9/0.\n 120000009.999999 > arrives 9, 9 ack 1");
    assert_eq!(host.places(9), [0, 2]);
    host.run("120000010 < 10/0.\n 120000010 > arrives 10, 10 ack 1");
    assert_eq!(host.places(10), [0, 0], "the place of 7, which is forgotten");
    host.run("120000011 < 7/0r told 0\n 120000011 > 7 ack 1");
    assert_eq!(host.places(7), [0, 3]);
    // What is not complete stays.
    host.run("150000000 < 8/1. told 1\n 150000000 > arrives 8, 8 ack 2");
    assert_eq!(host.places(8), [0, 1]);
}

#[test]
fn forgetting__begins_anew_with_what_comes_late() {
    // The ACK is lost, and the sender asks again a minute later: the two minutes count from then.
    let mut host = host(PerFlow);
    host.run(
        "10       < 7/0.
         10       > arrives 7, 7 ack 1
         60000010 < 7/0r
         60000010 > again 7, 7 ack 1 dup
         130000000 < 8/0.
         130000000 > arrives 8, 8 ack 1
         180000009 < 9/0.
         180000009 > arrives 9, 9 ack 1
         180000010 < 10/0.
         180000010 > arrives 10, 10 ack 1",
    );
    assert_eq!((host.places(8), host.places(9), host.places(10)), ([0, 1], [0, 2], [0, 0]));
}

#[test]
fn forgetting__not_where_connections_carry_several_messages() {
    for connections in [Persistent, Pool] {
        let mut host = host(connections);
        host.run("0 < 7/0.\n 0 > arrives 7, 7 ack 1");
        host.run(&format!("{0} < 8/0.\n {0} > arrives 8, 8 ack 1", 2 * MINUTE));
        host.run(&format!("{0} < 7/1m9. told 0\n {0} > arrives 9, 7 ack 2", 2 * MINUTE + 1));
        assert_eq!((host.places(7), host.places(8)), ([0, 0], [0, 1]));
    }
}

#[test]
fn forgetting__a_flow_that_ends_twice_is_forgotten_once() {
    // Only a faulty sender ends two messages on a connection of one; the places of others must not suffer.
    let mut host = host(PerFlow);
    host.run(
        "0        < 7/0.
         0        > arrives 7, 7 ack 1
         10000000 < 7/1m6.
         10000000 > arrives 6, 7 ack 2
         120000000 < 9/0
         120000000 > 9 ack 1
         130000000 < 10/0
         130000000 > 10 ack 1
         130000001 < 9/1. told 0
         130000001 > arrives 9, 9 ack 2",
    );
    assert_eq!((host.places(9), host.places(10)), ([0, 0], [0, 1]));
}
