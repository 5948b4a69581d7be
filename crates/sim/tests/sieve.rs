//! Sieve where its sketch has little to learn from: messages of one size, of one packet, of a gigabyte, none for a while;
//! two queues; a controller that does not reach its hosts.

use crate::by_hand::{Trial, fcts, flow, rack, scheme, sent, sizes};
use flowsieve_record::PointResult;
use flowsieve_settings::Settings;
use flowsieve_sim::Partitioning;
use flowsieve_workload::Flow;

const US: u64 = 1_000_000;

/// Three hosts on a switch whose ports share a megabyte. A table needs ten messages and comes every 100 us, 30 us later at
/// the hosts. The first thresholds demote a message after each of its first packets.
fn learning() -> Settings {
    rack(3)
        .with(None, "handshake", "none")
        .with(None, "nic", "backpressure")
        .with(None, "shared_buffer", "1MB")
        .with(None, "thresholds", sizes(&[1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]))
        .with(None, "controller_period", "100us")
        .with(None, "controller_delay", "30us")
        .with(None, "observe_least", 10)
}

fn sieve(settings: &Settings) -> Trial {
    Trial::new(settings, scheme("sieve", settings))
}

/// Ten messages of this many packets from host 0 to host 2, one after another from an instant on.
fn ten(at_us: u64, packets: u64) -> impl Iterator<Item = Flow> {
    (0..10).map(move |n| flow((at_us + 8 * n) * US, (0, 2), packets))
}

/// Returns the priorities of the packets of a message, in the order in which host 0 sends them.
fn priorities(settings: &Settings, flows: &[Flow], message: usize) -> Vec<u8> {
    let rows = sent(&sieve(settings), flows, "host0 to switch0");
    rows.iter().filter(|(flow, _)| *flow == message as u32).map(|(_, row)| row.priority).collect()
}

#[test]
fn tables__of_one_size_demote_nobody() {
    for packets in [1, 4] {
        let flows: Vec<Flow> = ten(0, packets).chain(ten(200, packets)).collect();
        let before: Vec<u8> = [0, 1, 2, 4][..packets as usize].to_vec();
        assert_eq!(priorities(&learning(), &flows, 9), before, "no table has come");
        assert_eq!(priorities(&learning(), &flows, 10), vec![0; packets as usize]);
        assert!(fcts(&sieve(&learning()).run(&flows)).iter().all(|fct| *fct > 0));
    }
}

#[test]
fn tables__stay_where_no_message_comes_for_a_second() {
    let second = 1_000_000;
    let flows: Vec<Flow> = ten(0, 1).chain(ten(100, 6)).chain(ten(second, 6)).collect();
    let at_once: Vec<Flow> = ten(0, 1).chain(ten(100, 6)).chain(ten(1_000, 6)).collect();
    let learned = priorities(&learning(), &at_once, 20);
    // Messages of one packet end in the bin up to 1,535 bytes, before which the second packet begins.
    assert_eq!(learned, [0, 0, 1, 1, 1, 1], "the rest of a message comes after messages of one packet");
    assert_eq!(priorities(&learning(), &flows, 20), learned);
    assert!(fcts(&sieve(&learning()).run(&flows)).iter().all(|fct| *fct > 0));
}

#[test]
fn tables__with_two_queues_have_one_threshold() {
    let settings = learning().with(None, "queues", 2).with(None, "thresholds", sizes(&[3_000]));
    let flows: Vec<Flow> = ten(0, 1).chain(ten(100, 6)).chain(ten(1_000, 6)).collect();
    assert_eq!(priorities(&settings, &flows, 10), [0, 0, 0, 1, 1, 1]);
    assert_eq!(priorities(&settings, &flows, 20), [0, 0, 1, 1, 1, 1]);
    assert!(fcts(&sieve(&settings).run(&flows)).iter().all(|fct| *fct > 0));
}

/// A gigabyte takes 0.82 s of a line, without ACKs' share. It has not ended while it sends, so there is no table.
#[test]
fn gigabyte__alone_takes_the_line() {
    let packets = 1_000_000_000 / 1_460;
    let gigabyte = [flow(0, (0, 2), packets)];
    let result = sieve(&learning()).run_as(&gigabyte, Partitioning::Whole);
    let least = packets * 1_200_000;
    let [fct] = fcts(&result)[..] else { panic!("one message") };
    assert!(fct >= least && fct < least + least / 1_000, "{fct}, not {least}");
}

/// Tables that arrive only after the run are as good as none.
#[test]
fn controller__that_is_gone_leaves_the_thresholds() {
    let flows: Vec<Flow> = ten(0, 3).chain(ten(300, 30)).chain([flow(420 * US, (1, 2), 5)]).collect();
    let gone = sieve(&learning().with(None, "controller_delay", "1s")).run(&flows);
    assert!(gone.periodic.iter().any(|part| part.ticks > 2), "{:?}", gone.periodic);
    let none = sieve(&learning().with(None, "controller", "none")).run(&flows);
    assert_eq!(PointResult { periodic: Vec::new(), ..gone }, none);
}

/// Host 0 sends a message of ten packets under thresholds after the first and the second. Split into pieces of two packets,
/// it never reaches the third level.
#[test]
fn split__each_piece_begins_in_the_first_level() {
    let settings = learning().with(None, "queues", 3).with(None, "controller", "none");
    let settings = settings.with(None, "thresholds", sizes(&[1_000, 2_000]));
    let flows = [flow(0, (0, 2), 10)];
    assert_eq!(priorities(&settings, &flows, 0), [0, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
    let split = settings.with(None, "misusing_hosts", 1).with(None, "misuse_piece", "2920B");
    // A piece's second packet waits at its host for the next piece's first, and some are sent again as they come late.
    let levels = priorities(&split, &flows, 0);
    assert!(
        levels.iter().all(|level| *level <= 1) && levels[..10].iter().filter(|level| **level == 0).count() >= 5,
        "{levels:?}"
    );
}

/// Messages of two packets and of a hundred, and thresholds that separate them. A host that splits has its pieces in the
/// first level. With a cap it has twice the share of that level there, however it splits.
#[test]
fn level_cap__bounds_what_a_host_that_splits_gains() {
    let settings = learning().with(None, "queues", 2).with(None, "thresholds", sizes(&[3_000]));
    let honest =
        |at_us: u64| (0..20).map(move |n| flow((at_us + 400 * n) * US, (1, 2), if n % 2 == 0 { 2 } else { 100 }));
    let flows: Vec<Flow> = honest(0).chain([flow(9_000 * US, (0, 2), 1_000)]).collect();
    let first = |settings: &Settings| priorities(settings, &flows, 20).iter().filter(|level| **level == 0).count();
    let split = settings.clone().with(None, "misusing_hosts", 1).with(None, "misuse_piece", "2920B");
    assert_eq!([first(&settings), first(&split)], [3, 1_000]);
    // Ten times 2 and ten times 100 packets: of 102 at least 4 are within the first threshold, and the cap is twice that.
    let split = split.with(None, "level_cap", 2);
    assert!(fcts(&sieve(&split).run(&flows)).iter().all(|fct| *fct > 0), "however the fabric is cut");
    let capped = first(&split);
    assert!((40..120).contains(&capped), "{capped} packets in the first level");
    assert_eq!(first(&settings.with(None, "level_cap", 2)), 3, "an honest host does not notice");
}
