//! Which connection a message takes, handshakes, restarts after idle times, the closing of connections; and how packets
//! find the two ends of a connection.

use crate::common::host::{Host, tcp};
use crate::common::{rfc, traces};
use flowsieve_core::Time;
use flowsieve_transport::tcp::params::{Restart, RtoRule};
use flowsieve_transport::tcp::{Connections, Handshake, TcpParams};

use Connections::{PerFlow, Persistent, Pool};
use Handshake::{Always, Cold};

/// Initial window 10, a constant RTO of 2 ms.
fn params() -> TcpParams {
    TcpParams { rto: RtoRule::Constant(Time::from_us(2_000)), ..rfc() }
}

/// A host that never pauses, with connections that open without a handshake.
fn host(connections: Connections) -> Host {
    opening(connections, Handshake::Never)
}

fn opening(connections: Connections, handshake: Handshake) -> Host {
    Host::new(&tcp(params(), connections, handshake), false)
}

/// Twice a window of 10 is acknowledged, the third time while the window is what limits: it is 40 then.
const OPEN_TO_40: &str = "
        0    begin 7 to 1 of 20  > begins 7 first, 7/0-9
        100  < 7 ack 10          > 7/10-19.
        200  < 7 ack 20          > ends 7
        1000 begin 8 to 1 of 30  > begins 8 on 7 after 900, 7/20-39m8
        1100 < 7 ack 40          > 7/40-49m8.
        1200 < 7 ack 50          > ends 8 on 7";

/// Two messages on one connection, the second when the first is forgotten if it can be.
const TWO_MINUTES: &str = "
        0         < 7/0.            > arrives 7, 7 ack 1
        120000000 < 8/0.            > arrives 8, 8 ack 1
        120000001 < 7/1m9. told 0   > arrives 9, 7 ack 2  = places 7 0 0  = places 8 0 1";

traces! {
    per_flow__each_message_has_a_connection: host(PerFlow), "
        0   begin 7 to 1 of 2   > begins 7 first, 7/0-1.
        10  begin 8 to 1 of 1   > begins 8 first, 8/0.
        100 < 7 ack 2           > ends 7
        110 < 8 ack 1           > ends 8
        110 begin 9 to 1 of 12  > begins 9 first, 9/0-9
        210 < 9 ack 10          > 9/10-11.";

    // The ACK for 7 at 210 names the place that is 8's now, that at 220 an empty place. 7's timer would have fired at 2,000,
    // 8's first one at 2,200.
    per_flow__a_closed_connection_hears_nothing_and_its_place_is_taken_again: host(PerFlow), "
        0   begin 7 to 1 of 1   > begins 7 first, 7/0.
        100 < 7 ack 1           > ends 7
        101 < 7 ack 1 dup
        102 < 7 syn-ack
        200 begin 8 to 2 of 20  > begins 8 first, 8/0-9
        210 < 7 ack 1 dup
        220 < 8 ack 2 at 1
        300 < 8 ack 10          > 8/10-19.  = places 7 0 none  = places 8 0 none
        2300 timer       > timeout 8, 8/10r
        2400 < 8 ack 20  > ends 8 again 1 timeouts 1
        9000             = timer never";

    // A closed connection belongs to no flow. A packet of the flow that stands for none must not find it, and close it
    // once more: two messages would take its place.
    per_flow__no_packet_closes_a_connection_twice: Host::new(&tcp(params(), PerFlow, Handshake::Never), true), "
        0   begin 7 to 1 of 1        > begins 7 first
        0   turn                     > 7/0.
        0   turn unused
        100 < 7 ack 1                > ends 7
        110 < 4294967295 ack 1 at 0  = turns 0";

    persistent__messages_of_a_host_pair_queue_on_one_connection: host(Persistent), "
        0   begin 7 to 1 of 12  > begins 7 first, 7/0-9
        10  begin 8 to 1 of 2   > begins 8 on 7 after 10
        20  begin 9 to 2 of 1   > begins 9 first, 9/0.
        100 < 7 ack 10          > 7/10-11., 7/12-13m8.
        200 < 7 ack 13          > ends 7
        210 < 7 ack 14          > ends 8 on 7
        500 begin 10 to 1 of 1  > begins 10 on 7 after 400, 7/14m10.
        600 < 7 ack 15          > ends 10 on 7";

    persistent__one_ack_may_end_several_messages: host(Persistent), "
        0   begin 7 to 1 of 1  > begins 7 first, 7/0.
        1   begin 8 to 1 of 1  > begins 8 on 7 after 1, 7/1m8.
        2   begin 9 to 1 of 9  > begins 9 on 7 after 1, 7/2-9m9
        100 < 7 ack 2          > ends 7, ends 8 on 7, 7/10m9.
        200 < 7 ack 11         > ends 9 on 7";

    pool__takes_the_idle_connection_with_the_least_first_message: host(Pool), "
        0   begin 7 to 1 of 1   > begins 7 first, 7/0.
        1   begin 8 to 1 of 1   > begins 8 first, 8/0.
        2   begin 9 to 1 of 1   > begins 9 first, 9/0.
        100 < 8 ack 1           > ends 8
        101 < 9 ack 1           > ends 9
        102 begin 10 to 1 of 1  > begins 10 on 8 after 101, 8/1m10.
        103 < 7 ack 1           > ends 7
        104 begin 11 to 2 of 1  > begins 11 first, 11/0.
        105 begin 12 to 1 of 1  > begins 12 on 7 after 105, 7/1m12.
        106 begin 13 to 1 of 1  > begins 13 on 9 after 104, 9/1m13.
        107 begin 14 to 1 of 1  > begins 14 first, 14/0.";

    // Persistent connections would hold message 8 back behind what the window does not let out of 7.
    pool__a_message_waits_for_no_other: host(Pool), "
        0   begin 7 to 1 of 11  > begins 7 first, 7/0-9
        10  begin 8 to 1 of 1   > begins 8 first, 8/0.
        100 < 7 ack 10          > 7/10.
        101 < 8 ack 1           > ends 8
        200 < 7 ack 11          > ends 7";

    handshake__always_opens_with_a_syn: opening(Persistent, Always), "
        0   begin 7 to 1 of 1  > begins 7 first, 7 syn
        50  begin 8 to 1 of 1  > begins 8 on 7 after 50
        60  < 7 ack 0
        100 < 7 syn-ack        > 7/0., 7/1m8.
        110 < 7 syn-ack
        200 < 7 ack 2          > ends 7, ends 8 on 7
        900 begin 9 to 1 of 1  > begins 9 on 7 after 800, 7/2m9.";

    handshake__cold_spares_the_first_connection_of_a_host_pair: opening(Pool, Cold), "
        0   begin 7 to 1 of 1   > begins 7 first, 7/0.
        1   begin 8 to 1 of 1   > begins 8 first, 8 syn
        2   begin 9 to 2 of 1   > begins 9 first, 9/0.
        100 < 7 ack 1           > ends 7
        101 < 8 syn-ack         > 8/0.
        102 begin 10 to 1 of 1  > begins 10 on 7 after 102, 7/1m10.
        103 begin 11 to 1 of 1  > begins 11 first, 11 syn";

    handshake__cold_counts_a_connection_that_is_closed: opening(PerFlow, Cold), "
        0   begin 7 to 1 of 1  > begins 7 first, 7/0.
        100 < 7 ack 1          > ends 7
        200 begin 8 to 1 of 1  > begins 8 first, 8 syn";

    // The SYN of 0 is lost; after it the first window is one segment (RFC 5681 §3.1).
    handshake__a_lost_syn_is_sent_again: opening(PerFlow, Always), "
        0    begin 7 to 1 of 3  > begins 7 first, 7 syn  = timer 2000 sender 7
        2000 timer              > timeout 7, 7 syn       = timer 4000 sender 7
        2100 < 7 syn-ack        > 7/0
        2200 < 7 ack 1          > 7/1-2.
        2300 < 7 ack 3          > ends 7 again 0 timeouts 1";

    // The answer carries nothing, goes to the sender's place and tells the receiver's.
    handshake__every_syn_is_answered: host(PerFlow), "
        0  < 7 syn from 4 at 5        > 7 syn-ack
        20 < 7 syn from 4 at 5        > 7 syn-ack
        40 < 8 syn from 4 at 6        > 8 syn-ack
        60 < 7/0. from 4 at 5 told 0  > arrives 7, 7 ack 1
        60                            = places 7 5 0  = places 8 6 1  = packet 8 40 bytes to 4";

    // The last packet left at 1,100: 2,000 us later the window still is 40, and from then on no more.
    restart__a_pooled_connection_begins_anew_when_it_was_idle_for_more_than_its_rto: host(Pool), [OPEN_TO_40, "
        3100        begin 9 to 1 of 30   > begins 9 on 7 after 2000, 7/50-79m9.
        3200        < 7 ack 80           > ends 9 on 7
        5100.000001 begin 10 to 1 of 30  > begins 10 on 7 after 2000.000001, 7/80-89m10"];

    restart__off_leaves_the_window:
        Host::new(&tcp(TcpParams { restart: Restart::Off, ..params() }, Pool, Handshake::Never), false), [OPEN_TO_40, "
        9100 begin 9 to 1 of 50  > begins 9 on 7 after 8000, 7/50-89m9"];

    places__the_ack_tells_the_receivers_and_later_data_names_it: host(Pool), "
        0   begin 7 to 1 of 11  > begins 7 first, 7/0-9
        100 < 7 ack 10 told 4   > 7/10.@4
        200 < 7 ack 11 told 4   > ends 7
        300 begin 8 to 1 of 1   > begins 8 on 7 after 200, 7/11m8.@4";

    places__the_syn_ack_tells_the_receivers: opening(PerFlow, Always), "
        0   begin 7 to 1 of 1   > begins 7 first, 7 syn
        100 < 7 syn-ack told 3  > 7/0.@3";

    // An answer goes to the place that the first packet of the flow named.
    places__a_packet_that_names_none_or_a_wrong_one_is_found_by_its_flow: host(PerFlow), "
        0 < 7/0 from 2 at 5                  > 7 ack 1
        1 < 8/0 from 3 at 5                  > 8 ack 1  = places 7 5 0  = places 8 5 1
        2 < 7/1 told 0                       > 7 ack 2
        3 < 7/2 told 1                       > 7 ack 3
        4 < 7/3 told 2                       > 7 ack 4
        5 < 7/4 told 4000000000              > 7 ack 5
        6 < 7/5                              > 7 ack 6
        7 < 9/0 told 0 from 2 at 4000000000  > 9 ack 1
        8 < 7/6 told 0                       > 7 ack 7  = places 7 5 0  = places 9 4000000000 2";

    places__an_ack_for_a_place_that_is_not_its_flows_is_ignored: host(Pool), "
        0   begin 7 to 1 of 20  > begins 7 first, 7/0-9
        0   begin 8 to 1 of 20  > begins 8 first, 8/0-9
        100 < 7 ack 10 at 1
        101 < 7 ack 10 at 2
        102 < 7 ack 10 at 4294967295
        103 < 9 ack 10 at 0
        104 < 7 ack 10 at 0     > 7/10-19.";

    forgetting__two_minutes_after_the_message_was_complete: host(PerFlow), "
        0                < 7/0           > 7 ack 1
        10               < 7/1.          > arrives 7, 7 ack 2
        20               < 8/0           > 8 ack 1              = places 7 0 0  = places 8 0 1
        // A picosecond before, a first packet takes a new place.
        120000009.999999 < 9/0.          > arrives 9, 9 ack 1   = places 9 0 2
        // The place of 7, which is forgotten.
        120000010        < 10/0.         > arrives 10, 10 ack 1 = places 10 0 0
        120000011        < 7/0r told 0   > 7 ack 1              = places 7 0 3
        // What is not complete stays.
        150000000        < 8/1. told 1   > arrives 8, 8 ack 2   = places 8 0 1";

    // The ACK is lost, and the sender asks again a minute later: the two minutes count from then.
    forgetting__begins_anew_with_what_comes_late: host(PerFlow), "
        10        < 7/0.   > arrives 7, 7 ack 1
        60000010  < 7/0r   > again 7, 7 ack 1 dup
        130000000 < 8/0.   > arrives 8, 8 ack 1
        180000009 < 9/0.   > arrives 9, 9 ack 1
        180000010 < 10/0.  > arrives 10, 10 ack 1
        180000010          = places 8 0 1  = places 9 0 2  = places 10 0 0";

    forgetting__not_where_connections_carry_several_messages: host(Persistent), TWO_MINUTES;

    forgetting__not_where_messages_share_a_pool: host(Pool), TWO_MINUTES;

    // Only a faulty sender ends two messages on a connection of one; the places of others must not suffer.
    forgetting__a_flow_that_ends_twice_is_forgotten_once: host(PerFlow), "
        0         < 7/0.         > arrives 7, 7 ack 1
        10000000  < 7/1m6.       > arrives 6, 7 ack 2
        120000000 < 9/0          > 9 ack 1
        130000000 < 10/0         > 10 ack 1
        130000001 < 9/1. told 0  > arrives 9, 9 ack 2  = places 9 0 0  = places 10 0 1";
}
