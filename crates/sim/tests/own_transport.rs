//! A transport of a user's own, from end to end: the receiver says who sends, the shortest message first. Times are computed
//! by hand as in `traces.rs`.

#[path = "../../flowsieve/examples/own_scheme/credits.rs"]
mod credits;

use crate::by_hand::{Trial, fcts, flow, marks_and_drops, rack, scheme};
use credits::{ENTRY, with_credits};
use flowsieve_schemes::bare::Facts;
use flowsieve_schemes::scheme::{Nic, Scheme};
use flowsieve_schemes::{Context, registry};
use flowsieve_settings::Settings;

fn context(settings: &Settings) -> Context<'_> {
    Context { scope: settings.scheme(ENTRY.name), workload: &Facts::NONE }
}

#[test]
fn own_transport__the_receiver_lets_the_shortest_message_go_first() {
    // One credit at a time. Requests of hosts 0 (A, three packets) and 1 (B, one) are at the switch at 0.232 us and at host 2 at
    // 0.464 and 0.496. Host 2 knows A alone, and credits A1: at host 0 at 0.928, its data is back at 0.928 + 2.8 = 3.728 us. B
    // has the fewer packets left: its credit is at host 1 at 4.192, its data there at 6.992. Host 2 says so to host 1, at 7.456,
    // and 0.032 later credits A2: at 7.488 and 10.288. A3 follows, at 10.752 and 13.552; that all has arrived is known at 14.016.
    let settings = rack(3);
    let flows = [flow(0, (0, 2), 3), flow(0, (1, 2), 1)];
    for nic in [Nic::Scheme, Nic::Backpressure { backlog: 15_000 }] {
        let trial = || {
            let file = ENTRY.read(settings.declared(), &|name| registry::find(name).cloned()).expect("a file");
            let within = file.within(&context(&settings)).expect("settings that go together");
            Trial::new(&settings, Scheme { nic, ..with_credits(&within, 1).expect("a scheme") })
        };
        let arrived = trial().run(&flows);
        assert_eq!(fcts(&arrived), [13_552_000, 6_992_000], "{nic:?}");
        assert_eq!(marks_and_drops(&arrived), (0, 0));
        assert_eq!(arrived.counts["credits"], 4, "one for each packet, by all hosts together");
        let known = trial().until_ack().run(&flows);
        assert_eq!(fcts(&known), [14_016_000, 7_456_000], "{nic:?}");
    }
    // DCTCP sends all at once: A1 is at the switch at 1.4 us, B1 too and behind it, then A2 and A3. All leave it without a gap.
    let dctcp = Trial::new(&settings, scheme("dctcp", &settings)).run(&flows);
    assert_eq!(fcts(&dctcp), [6_400_000, 4_000_000], "A1 2.8, B1 4.0, A2 5.2, A3 6.4 us");
}

#[test]
fn own_transport__credits_for_all_keep_the_line_busy() {
    // Those for A1 to A3 leave host 2 from 0.464 us on, and that for B1 behind them, at 0.560 us. Host 0 has the first at 0.928
    // us, and host 1 its own at 1.024 us. A1 is at the switch at 0.928 + 1.4 us, B1 0.096 us later, A2 when A1 has left: without
    // a gap they are at host 2 from 0.928 + 2.8 us on.
    let settings = rack(3);
    let all = Trial::new(&settings, ENTRY.scheme(&context(&settings)).expect("a scheme"));
    let result = all.run(&[flow(0, (0, 2), 3), flow(0, (1, 2), 1)]);
    assert_eq!(fcts(&result), [7_328_000, 4_928_000], "A1 3.728, B1 4.928, A2 6.128, A3 7.328 us");
}
