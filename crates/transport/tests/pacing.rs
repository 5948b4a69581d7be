//! Segments that leave at the rate that their congestion control states.

use std::num::NonZeroU64;

use crate::common::host::{Host, tcp};
use crate::common::{rfc, traces};
use flowsieve_transport::tcp::congestion::{Acked, CongestionControl, CongestionSpec, Lost};
use flowsieve_transport::tcp::{Connections, Handshake, TcpParams};

/// Four segments at most, and one each 10 us: 11,680 bits at 1.168 Gbit/s.
struct Four;

impl CongestionControl for Four {
    fn on_ack(&mut self, _: &Acked<'_>, _: &TcpParams) {}

    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {}

    fn on_timeout(&mut self, _: &Lost, _again: bool, _: &TcpParams) {}

    fn window(&self) -> u32 {
        4
    }

    fn pacing_rate(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(1_168_000_000)
    }
}

fn paced() -> TcpParams {
    TcpParams { congestion: CongestionSpec::custom(|_| Four), ..rfc() }
}

fn host(pauses: bool) -> Host {
    Host::new(&tcp(paced(), Connections::PerFlow, Handshake::Never), pauses)
}

traces! {
    pace__a_segment_each_ten_microseconds_within_the_window: paced(), "
        0   push 20     > 0
        10  timer pace  > 1
        20  timer pace  > 2
        30  timer pace  > 3
        100 < ack 1     > 4
        101 < ack 2
        110 timer pace  > 5
        150 < ack 3     > 6";

    pace__holds_retransmissions_back_too: paced(), "
        0   push 20     > 0
        10  timer pace  > 1
        20  timer pace  > 2
        30  timer pace  > 3
        100 < ack 1     > 4
        105 < ack 1 sack 2-4
        110 timer pace  > r1
        120 timer pace  > 5";

    pace__of_a_host_that_never_pauses: host(false), "
        0   begin 7 to 1 of 2  > begins 7 first, 7/0  = timer 10 sender 7
        10  timer              > 7/1.
        110 < 7 ack 2          > ends 7";

    pace__of_one_connection_leaves_the_turns_to_others: host(true), "
        0  begin 7 to 1 of 2  > begins 7 first
        0  turn               > 7/0
        0  turn unused        = turns 0
        4  begin 8 to 2 of 2  > begins 8 first
        4  turn               > 8/0
        4  turn unused
        10 timer              = turns 1
        10 turn               > 7/1.
        10 turn unused
        14 timer
        14 turn               > 8/1.
        14 turn unused        = turns 0";
}
