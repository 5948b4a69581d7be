//! A flow's timeline: by hand on one switch, and of any flow of a loaded fabric.

use flowsieve_engines::built_in;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_experiment::{Error, ExperimentText};
use flowsieve_results::timeline::{Cause, Ended, Sent, Timeline};
use std::path::Path;

fn followed(text: &str, folder: &Path, flow: u32) -> Result<Timeline, Error> {
    let plan = plan(&ExperimentText::new("test.toml", text), folder, &Changes::default(), &built_in())?;
    built_in().follower(&plan.points[0])?.unwrap().follow(&plan.points[0], 1, flow, &mut go_on)
}

/// Two hosts of one switch send two packets each to a third, at once.
const TWO_MEET: &str = "[topology]\nkind = \"single-switch\"\nhosts = 3\nhost_link = \"10Gbps\"\n\
                        [workload]\nlist = \"flows.csv\"\n[sweep]\nscheme = [\"dctcp\"]\n";

fn two_meet(flow: u32) -> Timeline {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flows.csv"), "start_s,src,dst,bytes\n0,0,2,2920\n0,1,2,2920\n").unwrap();
    followed(TWO_MEET, folder.path(), flow).unwrap()
}

#[test]
fn timeline__of_two_senders_that_meet() {
    // A packet takes 1.2 us on a line. The other flow's first packet has a smaller number and goes first; then they take turns.
    let timeline = two_meet(1);
    let waits: Vec<Option<u64>> = timeline.packets.iter().map(|sent| sent.crossings[1].waited_ps).collect();
    assert_eq!(waits, [Some(1_200_000), Some(2_400_000)]);
    let behind: Vec<Vec<(Option<u32>, u32)>> = timeline
        .packets
        .iter()
        .map(|sent| sent.crossings[1].behind.iter().map(|ahead| (ahead.flow, ahead.packets)).collect())
        .collect();
    assert_eq!(behind, [vec![(Some(0), 1)], vec![(Some(0), 1), (Some(1), 1)]]);
    // Of one packet of each, that of another flow is named.
    assert!(timeline.packets.iter().all(|sent| sent.crossings[1].cause == Cause::Others));
    // When they are at the switch, and whose end that is.
    let came = |sent: &Sent| sent.crossings[1].sent_ps - sent.crossings[1].waited_ps.unwrap();
    assert!(timeline.packets.iter().all(|sent| sent.crossings[0].crossed_ps == came(sent)));
    assert!(timeline.packets.iter().all(|sent| sent.crossings[0].to == "switch0" && sent.crossings[1].to == "host2"));
    let sent: Vec<u64> = timeline.packets.iter().map(|sent| sent.crossings[0].sent_ps).collect();
    assert_eq!(sent, [0, 1_200_000]);
    let time = timeline.time.as_ref().unwrap();
    assert_eq!((time.own_ps, time.others_ps, time.idle_ps), (1_200_000, 0, 0));
    assert_eq!(time.waited, [("switch0 to host2".to_owned(), 2_400_000)]);
    let Ended::Arrived(arrived) = timeline.packets[1].ended else { panic!("{:?}", timeline.packets[1]) };
    assert_eq!(time.own_ps + 2_400_000 + time.under_way_ps, arrived);

    let text = timeline.text();
    assert!(text.starts_with("Flow 1 under dctcp"), "{text}");
    assert!(text.contains("2.4 µs  the packet waited for switch0 to host2"), "{text}");
    assert!(text.contains("flow 0 (2), its own (1)"), "{text}");
}

#[test]
fn timeline__adds_up_to_the_completion_time() {
    let text = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[workload]\nsizes = \"web-search\"\nload = 0.8\nflows = 60\n\
                [run]\nfct_end = \"arrival\"\n[sweep]\nscheme = [\"pfabric\"]\n";
    let (mut waited, mut lost) = (0, 0);
    for flow in 0..60 {
        let timeline = followed(text, Path::new(""), flow).unwrap();
        let time = timeline.time.as_ref().unwrap();
        let at_switches: u64 = time.waited.iter().map(|(_, ps)| ps).sum();
        let sum = time.own_ps + time.others_ps + time.idle_ps + at_switches + time.under_way_ps;
        assert_eq!(Some(sum), timeline.fct_ps, "flow {flow}\n{}", timeline.text());
        for crossing in timeline.packets.iter().flat_map(|sent| &sent.crossings) {
            let behind: u32 = crossing.behind.iter().map(|ahead| ahead.packets).sum();
            assert_eq!(crossing.waited_ps.unwrap_or(0) > 0, behind > 0, "flow {flow}: {crossing:?}");
            waited += behind;
        }
        lost += timeline.packets.iter().filter(|sent| matches!(sent.ended, Ended::Lost(..))).count();
    }
    assert!(waited > 1_000 && lost > 0, "{waited} packets ahead, {lost} lost: the load says nothing");
}

#[test]
fn timeline__of_a_flow_that_is_not_there() {
    let text = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[workload]\nsizes = \"fixed(1KB)\"\nload = 0.2\nflows = 5\n\
                [sweep]\nscheme = [\"dctcp\"]\n";
    let error = followed(text, Path::new(""), 5).unwrap_err().to_string();
    assert!(error.contains("has no counted flow 5; expected a number from 0 to 4"), "{error}");
}
