//! Which connection a host serves next whose port pushes back. The last four packets of a message are urgent, and all of the
//! message that a table names.

use crate::common::host::{Host, ordered};
use crate::common::{rfc, traces};
use flowsieve_transport::tcp::{Connections, Handshake, NicOrder, TcpParams};

fn host(order: NicOrder, initial_window: u32) -> Host {
    let params = TcpParams { initial_window, ..rfc() };
    Host::new(&ordered(params, (Connections::PerFlow, Handshake::Never), order), true)
}

/// Message 8 has sent a packet.
const TWO_IN_LINE: &str = "
        0 begin 8 to 1 of 9  > begins 8 first
        1 begin 7 to 2 of 9  > begins 7 first
        1 turn               > 8/0";

traces! {
    tag__a_more_urgent_message_goes_before_one_that_has_begun: host(NicOrder::Tag, 10), "
        0 begin 9 to 1 of 8  > begins 9 first
        0 turn               > 9/0
        1 begin 7 to 2 of 2  > begins 7 first
        1 turn               > 7/0
        1 turn               > 7/1.
        1 turn unused
        1 turn               > 9/1  = turns 1";

    // The third packet of 8 is the first of its last four.
    tag__a_message_becomes_urgent_as_it_sends: host(NicOrder::Tag, 10), "
        0 begin 8 to 2 of 6  > begins 8 first
        0 begin 7 to 1 of 9  > begins 7 first
        0 turn               > 8/0
        0 turn               > 7/0
        0 turn               > 8/1
        0 turn               > 8/2
        0 turn               > 8/3";

    tag__what_a_window_holds_back_lets_others_send: host(NicOrder::Tag, 1), "
        0   begin 7 to 1 of 2  > begins 7 first
        0   begin 8 to 2 of 9  > begins 8 first
        0   turn               > 7/0
        0   turn unused
        0   turn               > 8/0
        0   turn unused
        100 < 8 ack 1
        100 turn               > 8/1
        101 < 7 ack 1
        101 turn               > 7/1.
        101 turn unused
        101 turn               > 8/2";

    tag__a_table_ranks_those_in_line_anew: host(NicOrder::Tag, 10), "
        0 begin 7 to 1 of 9  > begins 7 first
        0 begin 8 to 2 of 9  > begins 8 first
        0 turn               > 7/0
        0 table 8
        0 turn               > 8/0
        0 turn               > 8/1
        0 table 7
        0 turn               > 7/1";

    order__of_two_that_are_equally_urgent: host(NicOrder::Tag, 10), [TWO_IN_LINE, "
        1 turn               > 7/0"];

    order__by_age_of_two_that_are_equally_urgent: host(NicOrder::TagThenAge, 10), [TWO_IN_LINE, "
        1 turn               > 8/1"];
}
