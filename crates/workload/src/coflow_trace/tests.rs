use proptest::prelude::*;

use super::generation::Shape;
use super::*;
use crate::error::InputError;

fn parse(text: &str) -> Result<CoflowTrace, InputError> {
    read("t.txt", text.as_bytes(), Like::Trace)
}

fn flow(src: u32, dst: u32, bytes: u64) -> TracedFlow {
    TracedFlow { src, dst, bytes }
}

const MB: u64 = 1 << 20;

#[test]
fn read__a_reducers_bytes_come_in_equal_parts() {
    // The reducer at port 2 has 2^20 bytes from three mappers, and one of them, port 2 itself, is the same port.
    let trace = parse("4 1\n7 10833 3 0 1 2 2 2:1.0 3:0.000003\n").unwrap();
    let third = MB / 3;
    let expected =
        [flow(0, 2, third + 1), flow(1, 2, third), flow(2, 2, third), flow(0, 3, 1), flow(1, 3, 1), flow(2, 3, 1)];
    assert_eq!(trace.coflows, [TracedCoflow { id: 7, arrival_ps: 10_833_000_000_000, flows: expected.to_vec() }]);
    let placed = trace.place(4, Placing::Same, OwnRack::Drop);
    assert_eq!((placed.flows.len(), placed.own_host, placed.own_host_bytes), (5, 1, third));
}

#[test]
fn read__pairs_may_stand_several_times() {
    let trace = parse("16 1\n1 8 4 2 1 1 12 50 1 12 26 11 12 50 11 12 26\n").unwrap();
    let flows = [flow(1, 12, 50 * MB), flow(1, 12, 26 * MB), flow(11, 12, 50 * MB), flow(11, 12, 26 * MB)];
    assert_eq!(trace.coflows[0].flows, flows);
    let numbered: Vec<_> =
        trace.place(16, Placing::Same, OwnRack::Drop).flows.iter().map(|flow| (flow.id, flow.coflow)).collect();
    assert_eq!(numbered, [(0, Some(1)), (1, Some(1)), (2, Some(1)), (3, Some(1))]);
}

#[test]
fn read__as_coflowsim_takes_it() {
    let text = "9 3\n1 10240 2 0 1 1 2:1\n2 10241 3 0 1 2 1 3:4.0\n3 0 1 0 1 1:1\n";
    let trace = read("t.txt", text.as_bytes(), Like::CoflowSim).unwrap();
    // 1 MB in two parts of 1 MB, 4 MB in three of 2 MB. 10,240 belongs to the first step, 10,241 to the one that begins with
    // it: 10 s.
    let of = |id, arrival_ps, flows: &[TracedFlow]| TracedCoflow { id, arrival_ps, flows: flows.to_vec() };
    let expected = [
        of(1, 0, &[flow(0, 2, MB), flow(1, 2, MB)]),
        of(3, 0, &[flow(0, 1, MB)]),
        of(2, 10_000_000_000_000, &[flow(0, 3, 2 * MB), flow(1, 3, 2 * MB), flow(2, 3, 2 * MB)]),
    ];
    assert_eq!(trace.coflows, expected);
}

#[test]
fn read__sorts_arrivals() {
    let trace = parse("4 2\n5 20 1 0 1 1:1\n4 10 1 0 1 1:1\n").unwrap();
    assert_eq!(trace.coflows.iter().map(|coflow| coflow.id).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(trace.span_ps(), 10_000_000_000);
}

#[test]
fn read__refused_with_the_line_and_what_was_expected() {
    for (text, expected) in [
        ("", "t.txt empty"),
        ("4\n", "t.txt:1 columns"),
        ("4 2\n1 0 1 0 1 1:1\n", "t.txt count"),
        ("4 1\n1 0 1 0 1 1:1\n2 0 1 0 1 1:1\n", "t.txt:3 count"),
        ("4 1\n1 0 1 0 1 1:-1\n", "t.txt:2 value MB"),
        ("4 1\n1 0 1 0 1 1:0\n", "t.txt:2 value MB"),
        ("4 1\n1 0 1 0 1 1:NaN\n", "t.txt:2 value MB"),
        ("4 1\n1 0 1 0 1 1:inf\n", "t.txt:2 value MB"),
        ("4 1\n1 0 1 0 1 4:1\n", "t.txt:2 value a reducer"),
        ("4 1\n1 0 1 9 1 1:1\n", "t.txt:2 value a mapper"),
        ("4 1\n1 0 2 0 0 1 1:1\n", "t.txt:2 twice"),
        ("4 1\n1 0 1 0 2 1:1 1:1\n", "t.txt:2 twice"),
        ("4 1\n1 0 0 1 1:1\n", "t.txt:2 no-flows"),
        ("4 1\n1 0 1 0 0 :\n", "t.txt:2 no-flows"),
        ("4 1\n1 0 0 0 0\n", "t.txt:2 no-flows"),
        ("4 2\n1 0 1 0 1 1:1\n1 0 1 0 1 1:1\n", "t.txt:3 twice"),
        ("4 1\n1 0 1 0 2 1:1\n", "t.txt:2 count"),
        ("4 1\n1 0 1 0 1 1:1 2:1\n", "t.txt:2 count"),
        ("4 1\n1 0 2 1 2 0 1 5 0 2\n", "t.txt:2 count"),
        ("4 1\n1 0 1 1 1 0 1 5 6\n", "t.txt:2 count"),
        ("4 1\n1 -5 1 0 1 1:1\n", "t.txt:2 value arrival_ms"),
        ("0 1\n", "t.txt:1 value ports"),
        // The numbers above are those of flows without a coflow.
        ("4 1\n4000000001 0 1 0 1 1:1\n", "t.txt:2 value id"),
    ] {
        let refused = parse(text).unwrap_err().fields();
        assert_eq!(refused, expected, "{text:?}");
    }
}

#[test]
fn read__more_flows_than_are_kept_take_no_memory() {
    // 10,000 mappers and 10,000 reducers are 10^8 flows, although the line is short.
    let mappers: String = (0..10_000).map(|port| format!("{port} ")).collect();
    let refused = parse(&format!("10000 1\n1 0 10000 {mappers}10000 0:1\n")).unwrap_err().fields();
    assert_eq!(refused, "t.txt:2 too-many");
}

#[test]
fn read__sizes_that_cannot_be_summed() {
    let lines: String = (0..20_000).map(|id| format!("{id} 0 1 0 1 1:900000000\n")).collect();
    let refused = parse(&format!("4 20000\n{lines}")).unwrap_err().fields();
    assert!(refused.ends_with(" too-many"), "{refused}");
}

#[test]
fn place__ports_onto_fewer_hosts() {
    let trace = parse("6 1\n1 0 6 0 1 2 3 4 5 1 0:6\n").unwrap();
    let modulo = trace.place(4, Placing::Modulo, OwnRack::Drop);
    assert_eq!(
        modulo.flows.iter().map(|flow| (flow.src, flow.dst)).collect::<Vec<_>>(),
        [(1, 0), (2, 0), (3, 0), (1, 0)]
    );
    assert_eq!((modulo.own_host, modulo.own_host_bytes), (2, 2 * MB));
    let random = |seed| trace.hosts_of_ports(4, Placing::Random { seed });
    for seed in 0..20 {
        let hosts = random(seed);
        let mut first = hosts[..4].to_vec();
        first.sort_unstable();
        assert_eq!((first, &hosts[4..]), (vec![0, 1, 2, 3], &hosts[..2]), "each host once, and then again");
    }
    assert!((0..20).any(|seed| random(seed) != random(0)));
}

#[test]
fn scale__sizes_and_gaps() {
    let mut trace = parse("4 3\n1 10 1 0 1 1:1\n2 20 1 0 1 1:2\n3 50 1 0 1 1:3\n").unwrap();
    trace.scale_sizes(0.5).unwrap();
    trace.scale_span(8_000);
    assert_eq!(trace.coflows.iter().map(|coflow| coflow.arrival_ps).collect::<Vec<_>>(), [0, 2_000, 8_000]);
    assert_eq!(trace.coflows.iter().map(|coflow| coflow.flows[0].bytes).collect::<Vec<_>>(), [MB / 2, MB, 3 * MB / 2]);
    trace.scale_sizes(1e-9).unwrap();
    assert!(trace.coflows.iter().all(|coflow| coflow.flows[0].bytes == 1));
    assert_eq!(trace.scale_sizes(1e15), Ok(()));
    assert_eq!(trace.scale_sizes(1.1), Err(TraceError::TooManyBytes), "a flow of 10^15 bytes is the largest");
    let flows = vec![flow(0, 1, 1); 20_000];
    let mut wide = CoflowTrace { ports: 2, coflows: vec![TracedCoflow { id: 0, arrival_ps: 0, flows }] };
    assert_eq!(wide.scale_sizes(1e15), Err(TraceError::TooManyBytes), "2 · 10^19 in all");
}

fn generation(hosts: u32) -> Generation {
    Generation { coflows: 400, hosts, flow_cap: None, most_flows: None, pods: None, shapes: Shapes::Drawn }
}

#[test]
fn generate__has_the_structure_of_what_it_is_made_of() {
    let trace = parse("8 2\n1 0 2 0 1 1 2:10\n2 5 1 0 3 1:1 2:2 3:3\n").unwrap();
    let made = generation(8).generate(&trace, 1).unwrap();
    assert_eq!((made.ports, made.coflows.len()), (8, 400));
    for coflow in &made.coflows {
        let sizes: Vec<u64> = coflow.flows.iter().map(|flow| flow.bytes / MB).collect();
        assert!(sizes == [5, 5] || sizes == [1, 2, 3], "{sizes:?}");
        let shape = Shape::of(coflow);
        assert_eq!(shape.flows(), coflow.flows.len() as u64, "ports differ");
    }
    // Gaps are of flows: two or three of 1 ms each, 2.5 on average; five standard deviations of 1,000 gaps are 160.
    assert!((840..1_160).contains(&(made.span_ps() / 1_000_000_000)), "{}", made.span_ps());
    let capped = Generation { flow_cap: Some(MB), most_flows: Some(2), ..generation(8) }.generate(&trace, 1).unwrap();
    assert!(
        capped.coflows.iter().all(|coflow| coflow.flows.len() == 2 && coflow.flows.iter().all(|flow| flow.bytes == MB))
    );
    assert_eq!(
        generation(2).generate(&trace, 1).map(|made| made.coflows[0].flows.len()),
        Ok(2),
        "three receivers do not fit"
    );
    assert_eq!(generation(1).generate(&trace, 1), Err(TraceError::NoneFits));
}

#[test]
fn generate__each_shape_once_before_any_again() {
    // Coflows of 1 to 5 MB, and one too wide for four hosts.
    let mut lines: Vec<String> = (1..=5).map(|mb| format!("{mb} 0 1 0 1 1:{mb}\n")).collect();
    lines.push("6 0 1 0 5 1:1 2:1 3:1 4:1 5:1\n".into());
    let trace = parse(&format!("8 6\n{}", lines.concat())).unwrap();
    let once = |seed| {
        let generation = Generation { coflows: 12, shapes: Shapes::EachOnce, ..generation(4) };
        assert_eq!(generation.once(&trace), 5);
        let made = generation.generate(&trace, seed).unwrap();
        made.coflows.iter().map(|coflow| coflow.flows[0].bytes / MB).collect::<Vec<u64>>()
    };
    let sizes = once(1);
    for five in sizes.chunks_exact(5) {
        let mut five = five.to_vec();
        five.sort_unstable();
        assert_eq!(five, [1, 2, 3, 4, 5]);
    }
    assert!(sizes[..5] != sizes[5..10] && sizes[..5] != once(2)[..5], "other orders: {sizes:?}");
}

#[test]
fn generate__no_more_than_can_be_kept() {
    let refused = |ports: u32, bytes: u64| {
        let flows = (0..ports).map(|port| flow(port, port, bytes)).collect();
        let trace = CoflowTrace { ports, coflows: vec![TracedCoflow { id: 0, arrival_ps: 0, flows }] };
        generation(ports).generate(&trace, 1).map(|made| made.coflows.len())
    };
    assert_eq!(refused(20, 1_000), Ok(400));
    // As many senders as receivers, each to each: 10^8 flows.
    assert_eq!(refused(10_000, 1_000), Err(TraceError::TooManyFlows));
    // 400 coflows of 10^17 bytes.
    assert_eq!(refused(100, 1_000_000_000_000_000), Err(TraceError::TooManyBytes));
}

#[test]
fn generate__keeps_a_share_inside_pods() {
    let trace = parse("8 3\n1 0 2 0 1 1 2:10\n2 5 1 0 3 1:1 2:2 3:3\n3 5 1 0 1 1:30\n").unwrap();
    for share in [0.3, 0.56, 0.9] {
        let pods = Some(PodLocal { hosts: 16, share });
        let made = Generation { pods, ..generation(64) }.generate(&trace, 3).unwrap();
        let flows = || made.coflows.iter().flat_map(|coflow| &coflow.flows);
        let inside: u64 = flows().filter(|flow| flow.src / 16 == flow.dst / 16).map(|flow| flow.bytes).sum();
        let all: u64 = flows().map(|flow| flow.bytes).sum();
        // One coflow of 30 MB of 4.6 GB.
        assert!((inside as f64 / all as f64 - share).abs() < 0.01, "{share}: {}", inside as f64 / all as f64);
    }
}

proptest! {
    #[test]
    fn read__never_panics(text in "[0-9 :.\\-\n]{0,200}") {
        let _ = parse(&text);
    }

    /// Every byte of a reducer comes from some mapper.
    #[test]
    fn read__keeps_all_bytes(mappers in 1u32..40, bytes in 1u64..5_000_000) {
        let ports: String = (0..mappers).map(|port| format!(" {port}")).collect();
        let text = format!("64 1\n1 0 {mappers}{ports} 1 50:{:.12}\n", bytes as f64 / MB as f64);
        let trace = parse(&text).unwrap();
        prop_assert_eq!(trace.coflows[0].flows.iter().map(|flow| flow.bytes).sum::<u64>(), bytes);
        let sizes: Vec<u64> = trace.coflows[0].flows.iter().map(|flow| flow.bytes).collect();
        prop_assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes[0] - sizes[sizes.len() - 1] <= 1);
    }
}
