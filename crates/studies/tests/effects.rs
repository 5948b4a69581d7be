//! What a warning before a run says of an effect is true: each case is run, with one flow or a few at once, and the effect
//! is there if and only if the warning is.

use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_record::PointResult;

/// Flows that begin at once, each from its own host to the last one.
struct Case {
    topology: &'static str,
    scheme: &'static str,
    rest: &'static str,
    senders: u32,
    bytes: u64,
}

/// What a run shows.
#[derive(Debug)]
struct Seen {
    /// Of the last flow, over the time that all of them take on one line.
    slowdown: f64,
    lost: u64,
    marked: u64,
    sent_again: u64,
    timeouts: u64,
    given_up: u64,
    asked: u64,
}

impl Seen {
    fn again_in_vain(&self) -> bool {
        self.sent_again > 0 && self.lost == 0
    }
}

/// The warnings of the case, and its run.
fn planned_and_run(case: &Case) -> (Vec<String>, Seen) {
    let folder = tempfile::tempdir().unwrap();
    let Case { topology, scheme, rest, senders, bytes } = *case;
    for (name, lines) in [
        // Hosts of 1 Gbit/s and 200 Mbit/s between them, 10 ms there and back.
        ("slow.csv", "host0,s0,1Gbps,1us\ns0,s1,200Mbps,5ms\nhost1,s1,1Gbps,1us\n"),
        // Hosts of 100 Gbit/s and 10 Gbit/s between them, 80 us there and back.
        ("narrow.csv", "host0,s0,100Gbps,1us\ns0,s1,10Gbps,38us\nhost1,s1,100Gbps,1us\n"),
    ] {
        std::fs::write(folder.path().join(name), lines).unwrap();
    }
    let flow = |host| format!("0,{host},{senders},{bytes}\n");
    let flows: String = (0..senders).map(flow).collect();
    std::fs::write(folder.path().join("flows.csv"), format!("start_s,src,dst,bytes\n{flows}")).unwrap();
    let text = format!(
        "[topology]\n{topology}\n[workload]\nlist = \"flows.csv\"\n[sweep]\nscheme = [\"{scheme}\"]\n{rest}\n"
    );
    let plan = plan(&ExperimentText::new("case.toml", &text), folder.path(), &Changes::default(), &built_in()).unwrap();
    let result: PointResult = built_in().run(&plan.points[0], 1, &mut go_on, None).unwrap();
    let row = |of: fn(&flowsieve_record::FlowRow) -> u64| result.flows.iter().map(of).max().unwrap();
    let last = row(|row| row.fct_ps.unwrap_or(u64::MAX));
    let count = |name: &str| result.counts.get(name).copied().unwrap_or(0);
    let seen = Seen {
        slowdown: last as f64 / (f64::from(senders) * row(|row| row.ideal_ps) as f64),
        lost: result.links.iter().map(|link| link.drops.total()).sum(),
        marked: result.links.iter().map(|link| link.marks).sum(),
        sent_again: result.retransmissions + count("homa_packets_sent_again"),
        timeouts: result.timeouts,
        given_up: count("given_up"),
        asked: count("homa_questions"),
    };
    (plan.warnings, seen)
}

/// Checks that the case is warned of in these words if it is to be, and has the effect then and only then.
fn check(warned: bool, words: &str, case: &Case, effect: impl Fn(&Seen) -> bool) {
    let (warnings, seen) = planned_and_run(case);
    let of = format!("{} over {}\n{}: {seen:?}, {warnings:#?}", case.scheme, case.topology, case.rest);
    assert_eq!(warnings.iter().any(|text| text.contains(words)), warned, "{words:?} of {of}");
    assert_eq!(effect(&seen), warned, "the effect of {words:?} in {of}");
}

const RACK: &str = "kind = \"single-switch\"\nhosts = 4";
const SLOW: &str = "kind = \"custom\"\nfile = \"slow.csv\"";
const NARROW: &str = "kind = \"custom\"\nfile = \"narrow.csv\"";
/// Today's TCP over FIFO queues, without marks.
const RENO: &str = "[schemes.dctcp]\ntransport = \"tcp\"\nmarking = \"none\"\nload_balancing = \"ecmp\"\n";

const ONE: Case = Case { topology: RACK, scheme: "dctcp", rest: "", senders: 1, bytes: 1_000_000 };

#[test]
fn timers__that_are_too_short_send_again_without_a_loss() {
    let constant = |rest| Case { topology: "kind = \"single-switch\"\nhosts = 4\nrtt = \"300us\"", scheme: "pfabric", rest, ..ONE };
    check(true, "`rto_min` = 250us, ", &constant(""), Seen::again_in_vain);
    check(false, "`rto_min`", &constant("[transport]\nrto_min = \"910us\""), Seen::again_in_vain);

    let first = |rest| Case { topology: "kind = \"single-switch\"\nhosts = 4\nrtt = \"80us\"", rest, ..ONE };
    let rfc = "first windows are sent again without a loss";
    check(true, rfc, &first("[run]\nparameters = \"rfc\"\n[transport]\ninitial_rto = \"50us\""), Seen::again_in_vain);
    check(false, rfc, &first("[run]\nparameters = \"rfc\"\n[transport]\ninitial_rto = \"250us\""), Seen::again_in_vain);

    // A packet alone, whose ACK waits for a second one.
    let alone = |rest| Case { bytes: 1_000, ..first(rest) };
    let held = "a packet that is alone in flight is sent again";
    check(true, held, &alone("[run]\nparameters = \"rfc\"\n[transport]\ninitial_rto = \"1ms\""), Seen::again_in_vain);
    check(false, held, &alone("[run]\nparameters = \"rfc\"\n[transport]\ninitial_rto = \"1.1ms\""), Seen::again_in_vain);
}

#[test]
fn ack_every__above_the_first_window_makes_flows_wait() {
    let of = |rest| Case {
        topology: "kind = \"single-switch\"\nhosts = 2\nhost_link = \"100Gbps\"\nlink_delay = \"1us\"\nhost_delay = \"0us\"",
        rest,
        ..ONE
    };
    let words = "a longer flow waits for `delayed_ack` = 1ms first; try ack_every = 10";
    let waits = |seen: &Seen| seen.slowdown > 4.0;
    check(true, words, &of("[run]\nparameters = \"rfc\"\n[transport]\nack_every = 64"), waits);
    check(false, "ack_every", &of("[run]\nparameters = \"rfc\"\n[transport]\nack_every = 10"), waits);
}

#[test]
fn window__below_rate_times_round_trip_leaves_the_path_idle() {
    let of = |rest| Case { topology: "kind = \"single-switch\"\nhosts = 4\nrtt = \"1ms\"", bytes: 20_000_000, scheme: "pfabric", rest, ..ONE };
    let idle = |seen: &Seen| seen.slowdown > 1.5;
    let words = "a single flow does not fill its path";
    check(true, words, &of("[transport]\nmax_window = 300\nrto_min = \"3ms\""), idle);
    check(false, words, &of("[transport]\nmax_window = 837\nrto_min = \"3ms\""), idle);
    let homa = |rest| Case { scheme: "homa", ..of(rest) };
    check(true, words, &homa("[transport]\nrtt_bytes = \"300KB\""), idle);
    check(false, words, &homa(""), idle);
}

#[test]
fn buffer__loses_packets_of_one_flow_only_before_a_slower_link() {
    let words = "a single flow loses packets and its links idle";
    let loses = |seen: &Seen| seen.lost > 0;
    // On a fabric of one rate the flow's queue is in its host, however small the buffers are.
    let one_rate = |rest| Case { topology: "kind = \"single-switch\"\nhosts = 2\nhost_link = \"1Gbps\"\nrtt = \"30ms\"", bytes: 50_000_000, rest, ..ONE };
    let large = "[transport]\nmax_window = 20_000\n[run]\nparameters = \"rfc\"\n[network]\nbuffer = \"20pkt\"\n";
    check(false, words, &one_rate(&format!("{large}{RENO}").leak()), loses);
}
