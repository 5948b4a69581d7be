//! What a warning before a run says of an effect is true: each case is run, with one flow or a few at once, and the effect
//! is there if and only if the warning is.

use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_record::PointResult;

/// Flows that begin at once, each from its own host to the one after the last of them.
struct Case {
    topology: String,
    scheme: &'static str,
    rest: String,
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
    let Case { topology, scheme, rest, senders, bytes } = case;
    // The edges of a custom fabric stand in a comment.
    if let Some((_, edges)) = topology.split_once("#edges ") {
        let lines: Vec<&str> = ["from,to,rate,delay"].into_iter().chain(edges.split(' ')).collect();
        std::fs::write(folder.path().join("edges.csv"), lines.join("\n")).unwrap();
    }
    let flow = |host| format!("0,{host},{senders},{bytes}\n");
    let flows: String = (0..*senders).map(flow).collect();
    std::fs::write(folder.path().join("flows.csv"), format!("start_s,src,dst,bytes\n{flows}")).unwrap();
    let text =
        format!("[topology]\n{topology}\n[workload]\nlist = \"flows.csv\"\n[sweep]\nscheme = [\"{scheme}\"]\n{rest}\n");
    let plan = plan(&ExperimentText::new("case.toml", &text), folder.path(), &Changes::default(), &built_in()).unwrap();
    let result: PointResult = built_in().run(&plan.points[0], 1, &mut go_on, None).unwrap();
    let row = |of: fn(&flowsieve_record::FlowRow) -> u64| result.flows.iter().map(of).max().unwrap();
    let last = row(|row| row.fct_ps.unwrap_or(u64::MAX));
    let count = |name: &str| result.counts.get(name).copied().unwrap_or(0);
    let seen = Seen {
        slowdown: last as f64 / (f64::from(*senders) * row(|row| row.ideal_ps) as f64),
        lost: result.links.iter().map(|link| link.drops.total()).sum(),
        marked: result.links.iter().map(|link| link.marks).sum(),
        sent_again: result.retransmissions + count("homa_packets_sent_again"),
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

/// Hosts of one switch; every link is alike.
fn rack(rate: &str, rtt: &str) -> String {
    format!("kind = \"single-switch\"\nhosts = 4\nhost_link = \"{rate}\"\nrtt = \"{rtt}\"")
}

/// Hosts of this rate with a slower link between them.
fn with_a_slower_link(hosts: &str, link: &str) -> String {
    format!("kind = \"custom\"\nfile = \"edges.csv\"\n#edges host0,s0,{hosts} s0,s1,{link} host1,s1,{hosts}")
}

fn case(topology: String, scheme: &'static str, bytes: u64, rest: &str) -> Case {
    Case { topology, scheme, rest: rest.to_owned(), senders: 1, bytes }
}

#[test]
fn timers__that_are_too_short_send_again_without_a_loss() {
    let constant = |rest| case(rack("10Gbps", "300us"), "pfabric", 1_000_000, rest);
    check(true, "`rto_min` = 250us ", &constant(""), Seen::again_in_vain);
    check(false, "`rto_min`", &constant("[transport]\nrto_min = \"910us\""), Seen::again_in_vain);

    let rfc = |first: u32, initial| {
        let rest =
            format!("[run]\nparameters = \"rfc\"\n[transport]\ninitial_window = {first}\ninitial_rto = \"{initial}\"");
        case(rack("10Gbps", "80us"), "dctcp", 1_000_000, &rest)
    };
    let first = "first windows are sent again without a loss";
    check(true, first, &rfc(10, "50us"), Seen::again_in_vain);
    check(false, first, &rfc(10, "250us"), Seen::again_in_vain);
    // A packet alone, whose ACK waits for a second one.
    let held = "packets whose ACK is held back are sent again";
    check(true, held, &rfc(1, "1ms"), Seen::again_in_vain);
    check(false, held, &rfc(1, "1.1ms"), Seen::again_in_vain);
    check(false, held, &rfc(2, "1ms"), Seen::again_in_vain);
}

#[test]
fn homas_timers__that_are_too_short_ask_in_vain_or_give_messages_up() {
    let of = |rest: &str| case(rack("1Gbps", "20ms"), "homa", 2_000_000, &format!("[transport]\n{rest}"));
    let asks = "senders ask more than once about messages that are under way";
    check(true, asks, &of("resend_after = \"5ms\""), |seen| seen.asked > 1);
    check(false, asks, &of("resend_after = \"61ms\""), |seen| seen.asked > 1);
    // Less is granted than a path carries, so that packets come one round trip after others.
    let again = "packets are asked for and sent again without a loss";
    check(true, again, &of("resend_after = \"5ms\"\nrtt_bytes = \"100KB\""), Seen::again_in_vain);
    check(false, again, &of("resend_after = \"61ms\"\nrtt_bytes = \"100KB\""), Seen::again_in_vain);
    let gives_up = "messages are given up although nothing is lost";
    let few = "resend_attempts = 2\nrtt_bytes = \"100KB\"\nresend_after = ";
    check(true, gives_up, &of(&format!("{few}\"5ms\"")), |seen| seen.given_up > 0 && seen.lost == 0);
    check(false, gives_up, &of(&format!("{few}\"61ms\"")), |seen| seen.given_up > 0);
    // A packet takes longer on its line than hosts wait.
    let slow =
        |after: &str| case(rack("1Mbps", "1ms"), "homa", 30_000, &format!("[transport]\nresend_after = \"{after}\""));
    check(true, "`resend_after` = 12.5ms ", &slow("12.5ms"), |seen| seen.asked > 1);
    check(false, "`resend_after`", &slow("60ms"), |seen| seen.asked > 1);
}

#[test]
fn ack_every__above_the_first_window_makes_flows_wait() {
    let of = |every: u32| {
        let rest = format!("[run]\nparameters = \"rfc\"\n[transport]\nack_every = {every}");
        case(rack("100Gbps", "4us"), "dctcp", 1_000_000, &rest)
    };
    let words = "a longer flow waits for `delayed_ack` = 1ms first; try ack_every = 10";
    check(true, words, &of(64), |seen| seen.slowdown > 4.0);
    check(false, "ack_every", &of(10), |seen| seen.slowdown > 4.0);
}

#[test]
fn window__below_rate_times_round_trip_leaves_the_path_idle() {
    let of = |scheme, rest: &str| case(rack("10Gbps", "1ms"), scheme, 20_000_000, &format!("[transport]\n{rest}"));
    let idle = |seen: &Seen| seen.slowdown > 1.5;
    let words = "a single flow does not fill its path";
    check(true, words, &of("pfabric", "rto_min = \"4ms\"\nmax_window = 300"), idle);
    check(false, words, &of("pfabric", "rto_min = \"4ms\"\nmax_window = 840"), idle);
    check(true, words, &of("homa", "rtt_bytes = \"300KB\""), idle);
    check(false, words, &of("homa", ""), idle);
}

/// Today's TCP over FIFO queues, without marks.
fn reno(topology: String, bytes: u64, buffer: &str) -> Case {
    let rest = format!(
        "[run]\nparameters = \"rfc\"\n[network]\nbuffer = \"{buffer}\"\nmarking = \"none\"\n[transport]\nmax_window = 20_000\n\
         [schemes.reno]\nbase = \"dctcp\"\ntransport = \"tcp\""
    );
    case(topology, "reno", bytes, &rest)
}

#[test]
fn buffer__loses_packets_of_one_flow_only_before_a_slower_link() {
    let words = "a single flow loses packets and its links idle";
    // On a fabric of one rate the flow's queue is in its host, however small the buffers are.
    check(false, words, &reno(rack("1Gbps", "30ms"), 50_000_000, "20pkt"), |seen| seen.lost > 0 || seen.slowdown > 1.5);
    // 200 Mbit/s times 10.09 ms are 252 KB, whatever the rate of hosts.
    let slower = |buffer| reno(with_a_slower_link("1Gbps,1us", "200Mbps,5ms"), 50_000_000, buffer);
    let idle = |seen: &Seen| seen.lost > 0 && seen.slowdown > 1.1;
    check(true, "(200Mbps times 10.0", &slower("25KB"), idle);
    check(true, "try 252.", &slower("25KB"), idle);
    check(false, words, &slower("250KB"), idle);
    // A window that both hold loses nothing.
    let narrow = |window| {
        let rest = format!(
            "[network]\nbuffer = \"40KB\"\n[transport]\nrto_min = \"400us\"\ninitial_window = 10\nmax_window = {window}"
        );
        case(with_a_slower_link("100Gbps,1us", "10Gbps,38us"), "pfabric", 20_000_000, &rest)
    };
    check(true, words, &narrow(200), |seen| seen.lost > 0);
    check(false, words, &narrow(50), |seen| seen.lost > 0);
}

#[test]
fn marks__that_come_early_leave_a_link_idle() {
    let of = |topology, threshold: &str| {
        let rest =
            format!("[network]\necn_threshold = \"{threshold}\"\nbuffer = \"1MB\"\n[transport]\nmax_window = 2_000");
        case(topology, "dctcp", 50_000_000, &rest)
    };
    let idle = |seen: &Seen| seen.marked > 0 && seen.slowdown > 1.01;
    let alone = "a flow leaves its link idle while it slows down";
    let slower = || with_a_slower_link("100Gbps,1us", "10Gbps,38us");
    check(true, alone, &of(slower(), "3KB"), idle);
    check(false, alone, &of(slower(), "97.5KB"), idle);
    // On a fabric of one rate a flow alone finds no mark. Two to one host do.
    check(false, alone, &of(rack("10Gbps", "80us"), "3KB"), idle);
    let two = |threshold| Case { senders: 2, ..of(rack("10Gbps", "80us"), threshold) };
    check(true, "flows that share a link leave it idle while they slow down", &two("3KB"), idle);
    check(false, "leave it idle", &two("97.5KB"), idle);
}

#[test]
fn marks__at_the_length_that_a_buffer_holds_come_after_losses() {
    let of = |threshold| {
        let rest = format!("[network]\necn_threshold = \"{threshold}\"\nbuffer = \"100pkt\"");
        Case { senders: 3, ..case(rack("10Gbps", "80us"), "dctcp", 2_000_000, &rest) }
    };
    let words = "a queue loses packets before it marks one";
    check(true, words, &of("100pkt"), |seen| seen.lost > 0 && seen.marked == 0);
    check(false, words, &of("97.5KB"), |seen| seen.lost > 0 && seen.marked == 0);
}

#[test]
fn marks__by_rate_are_those_of_the_links() {
    let of = |marks: &str| {
        let rest = format!("[network]\n{marks}\nbuffer = \"1MB\"\n[transport]\nmax_window = 2_000");
        let case = Case { senders: 2, ..case(rack("10Gbps", "80us"), "dctcp", 50_000_000, &rest) };
        let (warnings, seen) = planned_and_run(&case);
        (warnings, seen.marked, seen.slowdown)
    };
    let early = of("ecn_threshold = \"3KB\"");
    assert!(early.2 > 1.01 && of("ecn_threshold = \"97.5KB\"").2 < 1.01, "{early:?}");
    let by_rate = of("ecn_threshold_at = [\"10Gbps: 3KB\"]");
    assert_eq!((by_rate.1, by_rate.2), (early.1, early.2));
    let said = "`ecn_threshold_at` = 10Gbps: 3KB is less than a seventh";
    let advised = "try ecn_threshold_at = [\"10Gbps: 97.5KB\"]";
    assert!(by_rate.0[0].contains(said) && by_rate.0[0].contains(advised), "{:?}", by_rate.0);
    assert_eq!(of("ecn_threshold_at = [\"10Gbps: 97.5KB\"]").0, [""; 0]);
}

#[test]
fn unmarked__packets_alone_are_as_in_one_queue_whichever_theirs_is() {
    let of = |scheme, rest: &str| {
        let rest = format!("[network]\nmarking = \"per-queue\"\nbuffer = \"100pkt\"\n{rest}");
        let case = Case { senders: 3, ..case(rack("10Gbps", "80us"), scheme, 2_000_000, &rest) };
        let seen = planned_and_run(&case).1;
        (seen.slowdown, seen.marked, seen.lost)
    };
    let one = of("dctcp", "");
    assert!(one.1 > 0, "{one:?}");
    // ACKs have no mark either: they do not pass the data that waits at a sender that receives, too.
    for queue in 0..3 {
        let all = format!("queues = 3\n[schemes.all]\nbase = \"pias\"\ntagger = \"fixed\"\nfixed_priority = {queue}");
        assert_eq!(of("all", &all), one, "queue {queue}");
    }
}

#[test]
fn tag_batch__of_a_whole_message_has_the_tag_of_its_first_byte_or_of_its_middle() {
    let of = |rest: &str| {
        let rest = format!(
            "[network]\nmarking = \"per-queue\"\nbuffer = \"100pkt\"\nqueues = 2\n[schemes.all]\nbase = \"pias\"\n\
             {rest}"
        );
        let seen = planned_and_run(&Case { senders: 3, ..case(rack("10Gbps", "80us"), "all", 2_000_000, &rest) }).1;
        (seen.slowdown, seen.marked, seen.lost)
    };
    let batch =
        |threshold, by| of(&format!("thresholds = [\"{threshold}\"]\ntag_batch = \"1GB\"\ntag_batch_by = \"{by}\""));
    let first = of("tagger = \"fixed\"");
    assert_eq!([batch("100KB", "first"), batch("1.1MB", "middle")], [first; 2]);
    // Data is below ACKs then, which meet none at these hosts' ports.
    assert_eq!(batch("100KB", "middle"), of("tagger = \"fixed\"\nfixed_priority = 1"));
    assert_ne!(of("thresholds = [\"100KB\"]"), first);
}

#[test]
fn own_port__drops_what_neither_it_nor_the_path_holds() {
    let of = |window: u32| {
        let rest = format!("[network]\nnic = \"scheme\"\n[transport]\nmax_window = {window}");
        case(rack("10Gbps", "80us"), "pfabric", 5_000_000, &rest)
    };
    check(true, "nic = \"scheme\" drops packets there", &of(230), |seen| seen.lost > 0);
    check(false, "nic = \"scheme\" drops packets there", &of(200), |seen| seen.lost > 0);
}

#[test]
fn crowd__of_hosts_that_were_not_asked_needs_a_buffer() {
    let of = |buffer: &str| {
        let rest = format!("[network]\nbuffer = \"{buffer}\"");
        Case { senders: 2, ..case(rack("10Gbps", "2ms"), "homa", 2_000_000, &rest) }
    };
    let words = "packets are lost where 2 hosts send to one at once; try buffer = \"4.2MB\"";
    check(true, words, &of("360KB"), |seen| seen.lost > 0);
    check(false, "send to one at once", &of("4.2MB"), |seen| seen.lost > 0);
    // With the buffer that is advised, both take what the line takes.
    let (_, seen) = planned_and_run(&of("4.2MB"));
    assert!(seen.slowdown < 1.0, "{seen:?}: 4.29 ms for two");
}

/// Flowlets leave a path that has failed after one and a half of HULA's intervals at the earliest, whatever is given.
#[test]
fn hula_age__below_one_and_a_half_intervals_does_not_act() {
    let of = |age: &str| {
        let failure = "[[event]]\nat = \"1ms\"\nlink = \"leaf0-spine1\"\ndown = true\n";
        let rest = format!(
            "[network]\nload_balancing = \"hula\"\nhula_age = \"{age}\"\n{failure}[run]\nparameters = \"rfc\"\n"
        );
        let topology =
            "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nhost_delay = \"2us\"".to_owned();
        let (warnings, seen) = planned_and_run(&case(topology, "dctcp", 3_000_000, &rest));
        (warnings.iter().any(|warning| warning.ends_with("try hula_age = \"300us\"")), seen.lost)
    };
    let [(early, lost), (enough, as_many), (later, more)] = ["200us", "300us", "600us"].map(of);
    assert_eq!([early, enough, later], [true, false, false]);
    assert!(lost == as_many && lost < more, "{lost}, {as_many} and {more} packets lost");
}
