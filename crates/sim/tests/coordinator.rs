//! A coordinator of coflows, told as packet traces.

use crate::by_hand::{Trial, fcts, flow, rack, scheme};
use flowsieve_schemes::Scheme;
use flowsieve_settings::Settings;
use flowsieve_workload::Flow;

const US: u64 = 1_000_000;

/// Sincronia's order, heard of 10 us later, and known at hosts 10 us after that.
fn ordered(name: &str, settings: &Settings) -> (Settings, Scheme) {
    let settings = settings.clone().with(Some(name), "coordinator_delay", "10us");
    let scheme = scheme(name, &settings);
    (settings, scheme)
}

fn of(coflow: u32, flow: Flow) -> Flow {
    Flow { coflow: Some(coflow), ..flow }
}

fn run(settings: &Settings, scheme: Scheme, flows: &[Flow]) -> flowsieve_record::PointResult {
    let mut trial = Trial::new(settings, scheme);
    let numbered = (0..).zip(flows).map(|(id, flow)| Flow { id, ..*flow });
    trial.announcements = Some(flowsieve_sim::announcements(numbered));
    trial.run(flows)
}

#[test]
fn order__holds_at_hosts_two_delays_after_a_coflow_begins() {
    // Coflow 1 has 100 packets from host 0 and coflow 2 has 40 from host 1, both to host 2; so coflow 2 goes first, at
    // the switch's port to host 2, as soon as there is an order. Its short flows from host 3 show when: three packets to
    // host 2, next to three of coflow 1 from host 4, which are at the switch 0.2 + 1.2 n us after their start.
    let (settings, scheme) = ordered("sincronia", &rack(5).with(Some("sincronia"), "until_placed", "last"));
    let short = |start| {
        let flows = [
            of(1, flow(0, (0, 2), 100)),
            of(2, flow(0, (1, 2), 40)),
            of(1, flow(start, (4, 2), 3)),
            of(2, flow(start, (3, 2), 3)),
        ];
        let fcts = fcts(&run(&settings, scheme.clone(), &flows));
        (fcts[2], fcts[3])
    };
    // Before 20 us all have the last level, and wait behind what is in the queue; from then on coflow 2 passes everything.
    let (first, second) = short(19 * US);
    assert!(first > 10 * US && second > 10 * US, "{first} {second}");
    let (first, second) = short(20 * US);
    assert!(second < 8 * US && first > 10 * US, "{first} {second}");
}

#[test]
fn hold__no_data_leaves_before_its_level_is_known() {
    // Coflow 1 has ten packets at 0 and three at 50 us; coflow 2 has three at 60 us, from another host. Levels of coflows that
    // begin at 0 and at 60 us are at hosts 20 us later. Hosts hold data until then, and nothing of a coflow that has a level.
    let flows = [of(1, flow(0, (0, 3), 10)), of(1, flow(50 * US, (1, 3), 3)), of(2, flow(60 * US, (2, 3), 3))];
    let of_rule = |name: &str, rule: Option<&str>| {
        let settings = rule.into_iter().fold(rack(4), |settings, rule| settings.with(Some(name), "until_placed", rule));
        let (settings, scheme) = ordered(name, &settings);
        fcts(&run(&settings, scheme, &flows))
    };
    for name in ["sincronia", "sebf", "pcoflow-ecn"] {
        let sent_at_once = of_rule(name, Some("last"));
        let held = [20, 0, 20].iter().zip(&sent_at_once).map(|(us, fct)| us * US + fct).collect::<Vec<_>>();
        assert_eq!(of_rule(name, Some("hold")), held, "{name}");
        assert_eq!(of_rule(name, Some("first")), sent_at_once, "{name}");
        assert_eq!(of_rule(name, None), held, "{name}");
    }
    // Under D-CLAS, all coflows begin on the first level.
    assert_eq!(of_rule("aalo", None), of_rule("aalo", Some("first")));
}

#[test]
fn announcement__whole_or_flow_by_flow() {
    // Nothing is put out of order here, which would hide what is looked for. Coflow 1 begins with 300 packets, and 2,000 follow at 2 ms. Coflow 2 has 400, to the same host. Known whole, coflow 1 is the
    // larger one from the beginning; known by its flows it is the smaller one until then.
    let level_of_first = |announce: &str| {
        let settings = rack(4).with(Some("pcoflow-move"), "announce", announce);
        let (settings, scheme) = ordered("pcoflow-move", &settings);
        let flows = [of(1, flow(0, (0, 3), 300)), of(2, flow(0, (1, 3), 400)), of(1, flow(2_000 * US, (2, 3), 2_000))];
        fcts(&run(&settings, scheme, &flows))[0]
    };
    let (whole, by_flow) = (level_of_first("coflow"), level_of_first("flow"));
    // 300 packets take 360 us, and 700 take 840. What was sent before there was an order is shared.
    assert!(by_flow < 600 * US && whole > 700 * US, "{by_flow} {whole}");
}

#[test]
fn lifts__each_end_of_a_coflow_lifts_those_behind_it() {
    // Coflows of 10, 40 and 100 packets have the first three levels. The end of the first lifts two, that of the second one.
    // Sparse levels need not change for either.
    let lifts = |levels: &str| {
        let settings = rack(4).with(Some("sincronia"), "levels", levels);
        let (settings, scheme) = ordered("sincronia", &settings);
        let flows = [of(1, flow(0, (0, 3), 10)), of(2, flow(0, (1, 3), 40)), of(3, flow(0, (2, 3), 100))];
        run(&settings, scheme, &flows).counts.get("coflow_lifts").copied()
    };
    assert_eq!([lifts("rank"), lifts("sparse")], [Some(3), None]);
}

#[test]
fn d_clas__a_coflow_falls_at_the_next_period_after_it_has_sent_so_much() {
    // Coflow 1 has 600 packets from each of two hosts to one, 1.2 us each. After 20 of them, 30 KB, it is of the second level: the
    // coordinator sees that at 100 us and hosts know it 10 us later. By then they have handed to their ports two windows of 70
    // packets, and two packets for each of some 90 ACKs: the last of these 320 leaves the switch's port before 390 us. So
    // three packets of coflow 2 pass all that waits there at 400 us.
    let fct = |first: &str, period: &str| {
        let settings = [("dclas_first", first), ("coordinator_period", period), ("dclas_between", "strict")]
            .into_iter()
            .fold(rack(4), |settings, (key, value)| settings.with(Some("aalo"), key, value));
        let (settings, scheme) = ordered("aalo", &settings);
        let flows = [of(1, flow(0, (0, 3), 600)), of(1, flow(0, (1, 3), 600)), of(2, flow(400 * US, (2, 3), 3))];
        fcts(&run(&settings, scheme, &flows))[2]
    };
    assert!(fct("30KB", "100us") < 8 * US, "{}", fct("30KB", "100us"));
    // Where it takes more bytes to fall, or the coordinator looks later, all wait in one queue.
    assert!(fct("10MB", "100us") > 30 * US && fct("30KB", "1ms") > 30 * US);
}
