//! Pictures of flows whose times are chosen by hand.

use super::*;
use flowsieve_results::timeline::Spent;

const US: u64 = 1_000_000;

/// From `a` over `s` to `b`: sent at this time, 10 µs on each line, and a wait for the second one.
fn sent(segment: u32, at_us: u64, waited_us: u64, ended: Option<Ended>) -> Sent {
    let crossing = |link: &str, to: &str, sent_us: u64, waited_ps| Crossing {
        link: link.to_owned(),
        sent_ps: sent_us * US,
        waited_ps,
        behind: Vec::new(),
        queue: None,
        marked: false,
        cause: Cause::Others,
        to: to.to_owned(),
        crossed_ps: (sent_us + 10) * US,
        number: 0,
        length: 1500,
    };
    let mut crossings = vec![crossing("a to s", "s", at_us, None)];
    let leaves_us = at_us + 10 + waited_us;
    let ended = ended.unwrap_or_else(|| {
        crossings.push(crossing("s to b", "b", leaves_us, Some(waited_us * US)));
        Ended::Arrived((leaves_us + 10) * US)
    });
    Sent { segment, again: false, crossings, ended }
}

fn timeline(packets: Vec<Sent>) -> Timeline {
    Timeline {
        run: "dctcp, load 0.5, seed 1".to_owned(),
        flow: 7,
        picked: None,
        own_transport: false,
        bytes: 1460,
        start_ps: 5 * US,
        fct_ps: Some(40 * US),
        ideal_ps: 20 * US,
        timeouts: 0,
        timers_ps: 0,
        ends: ("a".to_owned(), "b".to_owned()),
        packets,
        time: None,
        kept_until_ps: None,
    }
}

fn lost_at_switch(at_us: u64) -> Option<Ended> {
    Some(Ended::Lost("s to b".to_owned(), at_us * US))
}

#[test]
fn flow_svg__a_packet_goes_down_and_to_the_right_while_it_waits() {
    let svg = flow_svg(&[timeline(vec![sent(0, 0, 20, None)])]).unwrap();
    // The axis is 40 µs on 8070 units from 2000 on. Below a legend of 320 and a head of 1060 units the bands are 280, 520 and 120
    // high, with 300 between them.
    let ways = ["M2000 1520L2000 1660L4018 1960L4018 1960", "M8053 2480L10070 2780"];
    assert!(ways.iter().all(|way| svg.contains(&format!("d=\"{way}\" stroke=\"#666666\""))), "{svg}");
    assert!(svg.contains("d=\"M4018 1960L8053 2480\" stroke=\"#bb5566\""), "{svg}");
    assert!(svg.contains("<title>Packet 0: left at 0.0 µs; s to b 20.0; arrived at 40.0</title>"), "{svg}");
    assert!(svg.contains("FCT 40.0 µs, 2.00 times the ideal of 20.0 µs"), "{svg}");
    // Too short to be seen, a wait has no colour.
    let short = flow_svg(&[timeline(vec![sent(0, 0, 0, None)])]).unwrap();
    assert!(!short.contains("#bb5566") && !short.contains("waited behind"), "{short}");
}

#[test]
fn flow_svg__names_losses_and_timers_that_are_certain() {
    let again = Sent { again: true, ..sent(3, 2_000, 0, None) };
    // The next one is lost on the line.
    let on_line = Sent { ended: lost_at_switch(2_030).unwrap(), ..sent(4, 2_001, 0, None) };
    let packets = vec![sent(3, 0, 0, lost_at_switch(12)), again, on_line];
    let of = |timeouts| Timeline { timeouts, timers_ps: 1_990 * US, ..timeline(packets.clone()) };
    let svg = flow_svg(&[of(1)]).unwrap();
    for words in ["2 lost at s to b", "timer, 2000.0 µs", "sent again", "lost", "until a timer fired"] {
        assert!(svg.contains(&format!("aria-label=\"{words}\"")), "{words}: {svg}");
    }
    assert!(svg.contains("stroke-dasharray=\"60 40\"") && svg.contains("; lost at s to b at 12.0</title>"), "{svg}");
    // Which of two silences is a timer's is not known.
    assert!(!flow_svg(&[of(2)]).unwrap().contains("timer"));
}

#[test]
fn flow_svg__draws_so_many_packets_and_runs_and_says_so() {
    let mut packets: Vec<Sent> = (0..2_000).map(|n| sent(n, u64::from(n), u64::from(n % 100), None)).collect();
    packets[5] = sent(5, 5, 0, lost_at_switch(15));
    let svg = flow_svg(&[timeline(packets)]).unwrap();
    assert_eq!(svg.matches("<title>Packet ").count(), 400 + 1);
    assert!(svg.contains("The 400 packets that were lost, sent again or waited longest are drawn, of 2,000."), "{svg}");
    assert!(svg.contains("lost at s to b at 15.0") && svg.len() < 500_000, "{}", svg.len());
    let many = flow_svg(&vec![timeline(Vec::new()); 11]).unwrap();
    assert!(many.contains("aria-label=\"2 more runs are not drawn.\""), "{many}");
    assert!(flow_svg(&[]).is_ok());
}

#[test]
fn flow_svg__a_name_is_no_markup() {
    const NAME: &str = "</svg><script>\u{1b}";
    let hostile = |mut packet: Sent| {
        packet.crossings.iter_mut().for_each(|each| (each.link, each.to) = (NAME.to_owned(), NAME.to_owned()));
        packet
    };
    let packets = vec![hostile(sent(0, 0, 20, None)), sent(1, 0, 0, Some(Ended::Lost(NAME.to_owned(), 9)))];
    let time = Spent {
        segment: 0,
        own_ps: US,
        others_ps: 0,
        others: Vec::new(),
        idle_ps: 0,
        waited: vec![(NAME.to_owned(), 20 * US)],
        under_way_ps: 10 * US,
    };
    let timeline = Timeline { run: NAME.to_owned(), ends: (NAME.to_owned(), "b".to_owned()), ..timeline(packets) };
    let timeline = Timeline { time: Some(time), ..timeline };
    for drawn in [flow_svg(std::slice::from_ref(&timeline)), flow_inline(&[timeline])] {
        let drawn = drawn.unwrap();
        assert!(!drawn.contains("<script>") && drawn.contains("&#60;script&#62;"), "{drawn}");
        roxmltree::Document::parse(&drawn).unwrap();
    }
}
