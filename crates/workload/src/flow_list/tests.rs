use super::*;
use crate::generator::Generator;
use proptest::prelude::*;

fn refused(text: &str) -> String {
    parse("flows.csv", text, 4).unwrap_err().fields()
}

fn list(text: &str) -> FlowList {
    parse("f", text, 4).unwrap()
}

fn written(list: &FlowList) -> String {
    let mut out = Vec::new();
    write(&mut out, &Extras::of(list), list.flows.iter().map(|flow| list.row(*flow))).unwrap();
    String::from_utf8(out).unwrap()
}

/// A list of flows without further knowledge.
fn plain(flows: Vec<Flow>) -> FlowList {
    FlowList { flows, ..FlowList::default() }
}

#[test]
fn read__sorts_by_start_and_keeps_the_order_of_equal_starts() {
    let flows =
        parse("f", "start_s,src,dst,bytes\r\n2e-6,0,1,30\r\n0.000001,2,3,10\r\n0.000002,1,0,20\r\n", 4).unwrap().flows;
    let flow = |id, start_ps, src, dst, bytes| Flow {
        id,
        start_ps,
        src,
        dst,
        bytes,
        class: 0,
        deadline_ps: None,
        coflow: None,
    };
    let expected = [flow(0, 1_000_000, 2, 3, 10), flow(1, 2_000_000, 0, 1, 30), flow(2, 2_000_000, 1, 0, 20)];
    assert_eq!(flows, expected);
}

#[test]
fn read__keeps_the_order_of_many_equal_starts() {
    let text: String = (1..=1_000).map(|bytes| format!("{},0,1,{bytes}\n", bytes % 3)).collect();
    let flows = parse("f", &text, 2).unwrap().flows;
    let in_order = |pair: &[Flow]| (pair[0].start_ps, pair[0].bytes) < (pair[1].start_ps, pair[1].bytes);
    assert!(flows.windows(2).all(in_order));
}

#[test]
fn write__is_what_a_person_would_write() {
    assert_eq!(written(&list("0,0,1,1460\n1.5,3,2,1e6")), "start_s,src,dst,bytes\n0,0,1,1460\n1.5,3,2,1000000\n");
}

#[test]
fn read__takes_deadlines_and_coflows_where_there_are_some() {
    let facts = |text: &str| -> Vec<(Option<u64>, Option<u32>)> {
        list(text).flows.iter().map(|flow| (flow.deadline_ps.map(NonZeroU64::get), flow.coflow)).collect()
    };
    assert_eq!(facts("0,0,1,1\n"), [(None, None)]);
    assert_eq!(facts("0,0,1,1,2e-6\n0,0,1,1,\n"), [(Some(2_000_000), None), (None, None)]);
    assert_eq!(
        facts("0,0,1,1,,7\r\n0,0,1,1,1,4000000000\r\n"),
        [(None, Some(7)), (Some(1_000_000_000_000), Some(MAX_COFLOW))]
    );
    assert_eq!(facts("start_s,src,dst,bytes,coflow\n0,0,1,1,0\n"), [(None, Some(0))]);
    assert_eq!(facts("start_s,src,dst,bytes,coflow,deadline_s\n0,0,1,1,3,1e-12\n"), [(Some(1), Some(3))]);
}

#[test]
fn read__refuses_impossible_deadlines_and_coflows() {
    for field in ["0", "-1", "1ms", "1e-13"] {
        assert_eq!(refused(&format!("0,0,1,1,{field}")), "flows.csv:1 value deadline_s");
    }
    assert_eq!(refused("0,0,1,1,,-1"), "flows.csv:1 value coflow");
}

#[test]
fn write__leaves_out_columns_that_nobody_needs() {
    let text = "start_s,src,dst,bytes,deadline_s,coflow\n0,0,1,1460,0.002,\n1.5,3,2,9,,12\n";
    assert_eq!(written(&list(text)), text);
    let coflows = "start_s,src,dst,bytes,coflow\n0,0,1,1460,5\n";
    assert_eq!(written(&list(coflows)), coflows);
}

#[test]
fn quantile__of_a_list_is_one_of_its_sizes() {
    let sizes = ListedSizes::of(&list("0,0,1,30\n0,0,1,10\n0,0,1,20\n0,0,1,20\n").flows);
    let quantiles = [-1.0, 0.0, 0.25, 0.26, 0.75, 0.76, 1.0, 2.0].map(|p| sizes.quantile(p).unwrap());
    assert_eq!(quantiles, [10, 10, 10, 20, 20, 30, 30, 30]);
    assert_eq!(ListedSizes::of(&[]).quantile(0.5), None);
}

#[test]
fn read__refuses_unknown_hosts() {
    assert_eq!(refused("0,0,4,1"), "flows.csv:1 value dst");
    assert_eq!(refused("0,-1,1,1"), "flows.csv:1 value src");
    assert_eq!(refused("0,1,1,1"), "flows.csv:1 same-host");
    assert!(parse("f", "0,0,1,1", 0).is_err());
}

#[test]
fn read__takes_hosts_by_name_and_by_number() {
    let of = |text: &str, hosts: &HostNames| -> Result<Vec<(u32, u32)>, String> {
        let list = read("f", text.as_bytes(), hosts).map_err(|error| error.fields())?;
        Ok(list.flows.iter().map(|flow| (flow.src, flow.dst)).collect())
    };
    let (numbered, named) = (HostNames::numbered(3), HostNames::new(3, &["web", "2b", "1e0"].map(String::from)));
    assert_eq!(of("0,host2,0,9\n0,1,host0,9", &numbered), Ok(vec![(2, 0), (1, 0)]));
    assert_eq!(of("0, web , 2b,9\n0,2,0,9", &named), Ok(vec![(0, 1), (2, 0)]));
    let refused = |text: &str, hosts| of(text, hosts).unwrap_err();
    assert_eq!(refused("0,1,2,9\n0,host3,0,9", &numbered), "f:2 unknown-host src");
    assert_eq!(refused("0,0,nan,9", &numbered), "f:1 unknown-host dst");
    assert_eq!(refused("0,host0,1,9", &named), "f:1 unknown-host src");
}

#[test]
fn read__takes_columns_in_any_order_and_names_those_that_it_does_not_read() {
    let list = list(",bytes,note,dst,src,class,start_s\n0,10,web,1,0,2,1.5\n1,20.0,db,3.0,2,,0.5\n");
    assert_eq!(list.unread, ["(without a name)", "note"]);
    let flows: Vec<_> =
        list.flows.iter().map(|flow| (flow.start_ps, flow.src, flow.dst, flow.bytes, flow.class)).collect();
    assert_eq!(flows, [(500_000_000_000, 2, 3, 20, 0), (1_500_000_000_000, 0, 1, 10, 2)]);
    assert_eq!(refused("bytes,dst,src\n1,0,1\n"), "flows.csv:1 header");
}

#[test]
fn read__counts_starts_since_1970_from_the_first() {
    let list = list("1700000000.000002,0,1,30\n1700000000.0000005,1,2,10\n1.7000000005e9,2,3,20\n");
    assert_eq!(list.epoch_ps, Some(1_700_000_000_000_000_500_000));
    let flows: Vec<_> = list.flows.iter().map(|flow| (flow.start_ps, flow.bytes)).collect();
    assert_eq!(flows, [(0, 10), (1_500_000, 30), (499_999_500_000, 20)]);
    // Seconds of a run stay as they are, however late.
    assert_eq!(super::parse("f", "5000,0,1,9\n", 4).unwrap().flows[0].start_ps, 5_000_000_000_000_000);
    assert_eq!(super::parse("f", "5000,0,1,9\n", 4).unwrap().epoch_ps, None);
    // Other kinds of starts are neither.
    for (text, line) in [
        ("1700000000,0,1,9\n5,0,1,9\n", 2),
        ("5,0,1,9\n1700000000,0,1,9\n", 2),
        ("99999999,0,1,9\n", 1),
        ("1700000000,0,1,9\n1800000000,0,1,9\n", 2),
    ] {
        let refused = super::parse("f", text, 4).unwrap_err();
        assert!(refused.line == Some(line) && matches!(refused.problem, Problem::Number { .. }), "{text}: {refused}");
    }
}

#[test]
fn read__numbers_are_names_where_hosts_are_called_so_and_leading_zeros_are_none() {
    let pairs = |text: &str, hosts: &HostNames| -> Result<Vec<(u32, u32)>, Problem> {
        let list = read("f", text.as_bytes(), hosts).map_err(|error| error.problem)?;
        Ok(list.flows.iter().map(|flow| (flow.src, flow.dst)).collect())
    };
    assert_eq!(pairs("0,host01,host2,9\n", &HostNames::numbered(3)).unwrap(), [(1, 2)]);
    let named = HostNames::new(3, &["2", "5", "6"].map(String::from)).with_switches(["0".to_owned()]);
    assert_eq!(pairs("0,2,5,9\n0,6.0,2,9\n", &named).unwrap(), [(0, 1), (2, 0)]);
    let refused = pairs("0,0,2,9\n", &named).unwrap_err();
    assert!(
        matches!(&refused, Problem::NoHost { column: "src", found, expected } if found == "0" && expected.contains("switch")),
        "{refused}"
    );
    let list = read("f", &b"0,2,6,9\n"[..], &named).unwrap();
    let mut out = Vec::new();
    let rows = list.flows.iter().map(|flow| list.row(*flow));
    write_named(&mut out, &Extras::of(&list), &named.needed_in_lists(), rows).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "start_s,src,dst,bytes\n0,2,6,9\n");
}

#[test]
fn read__refuses_impossible_starts_and_sizes() {
    assert_eq!(refused("0,0,1,5\n0,0,1,0\n"), "flows.csv:2 value bytes");
    assert_eq!(refused("0,0,1,-7"), "flows.csv:1 value bytes");
    assert_eq!(refused("-1,0,1,1"), "flows.csv:1 value start_s");
    assert_eq!(refused("1us,0,1,1"), "flows.csv:1 value start_s");
}

#[test]
fn read__refuses_other_files() {
    assert_eq!(refused(""), "flows.csv empty");
    assert_eq!(refused("0,0,1"), "flows.csv:1 columns");
    assert_eq!(refused("0,0,1,1\n0,0,1,1,"), "flows.csv:2 columns");
    assert_eq!(refused("size_bytes,cdf\n1,1"), "flows.csv:1 header");
}

#[test]
fn write__tells_that_the_disk_is_full() {
    let mut full: &mut [u8] = &mut [0; 30];
    let list = list("0,0,1,1\n1,0,1,1");
    let rows = list.flows.iter().map(|flow| list.row(*flow));
    assert_eq!(write(&mut full, &Extras::default(), rows).unwrap_err().kind(), io::ErrorKind::WriteZero);
}

#[test]
fn read__gives_back_what_the_generator_made() {
    let sizes = crate::builtin("data-mining").unwrap().distribution().unwrap();
    let flows: Vec<Flow> = Generator::new(sizes, 50.0, 144, 3).unwrap().take(1_000).collect();
    assert_eq!(parse("f", &written(&plain(flows.clone())), 144).unwrap().flows, flows);
}

#[test]
fn read__takes_what_was_predicted() {
    let predicted = |text: &str| {
        let prediction = list(text).predictions[0];
        let bounds = prediction.bounds.map(|bounds| (bounds.lower, bounds.upper.get()));
        (bounds, prediction.size.map(NonZeroU64::get))
    };
    let row = |lower, upper, predicted| {
        format!("start_s,src,dst,bytes,predicted,upper,lower\n0,0,1,50,{predicted},{upper},{lower}\n")
    };
    assert_eq!(predicted(&row("10", "1e6", "77")), (Some((10, 1_000_000)), Some(77)));
    assert_eq!(predicted(&row("0", "1", "")), (Some((0, 1)), None));
    // An omitted bound is unknown.
    assert_eq!(predicted(&row("10", "", "")), (Some((10, u64::MAX)), None));
    assert_eq!(predicted(&row("", "60", "")), (Some((0, 60)), None));
    assert_eq!(predicted(&row("", "", "5")), (None, Some(5)));
    // Every whole number of 64 bits is exact, and the size may lie outside.
    assert_eq!(predicted(&row("9007199254740993", "18446744073709551615", "")).0, Some(((1 << 53) + 1, u64::MAX)));
}

#[test]
fn read__keeps_a_table_where_one_flow_is_predicted() {
    assert_eq!(list("0,0,1,1\n").predictions, []);
    let text = "start_s,src,dst,bytes,lower\n3,0,1,1,\n2,0,1,2,5\n1,0,1,3,\n";
    let lower = list(text).predictions.iter().map(|found| found.bounds.map(|bounds| bounds.lower)).collect::<Vec<_>>();
    assert_eq!(lower, [None, Some(5), None]);
}

#[test]
fn read__features_move_with_their_flows() {
    let text =
        "start_s,src,dst,bytes,feature:port,class,feature:gap_us\n2,0,1,7,80,1,3\n1,0,1,8,443,2,18446744073709551615\n";
    let list = list(text);
    assert_eq!(list.features.names(), ["port", "gap_us"]);
    assert_eq!([list.features.of(0), list.features.of(1), list.features.of(2)], [&[443, u64::MAX], &[80, 3], &[][..]]);
    assert_eq!(list.flows.iter().map(|flow| (flow.bytes, flow.class)).collect::<Vec<_>>(), [(8, 2), (7, 1)]);
    assert_eq!((list.highest_class, list.largest), ((2, 3), (8, 3)));
}

#[test]
fn write__a_list_goes_round_unchanged() {
    let text = "start_s,src,dst,bytes,deadline_s,coflow,class,lower,upper,predicted,feature:port,feature:gap us\n\
                0,0,1,1460,0.002,,0,10,2000,1000,80,3\n\
                1.5,3,2,9,,12,3,,,,443,0\n\
                1.5,3,2,9,,,0,7,,,443,0\n";
    assert_eq!(written(&list(text)), text);
}

#[test]
fn read__refuses_impossible_predictions() {
    let after = |row: &str| refused(&format!("start_s,src,dst,bytes,lower,upper,predicted\n0,0,1,5,{row}\n"));
    assert_eq!(after("6,5,"), "flows.csv:2 bounds");
    assert_eq!(after("x,9,"), "flows.csv:2 value lower");
    assert_eq!(after("-1,9,"), "flows.csv:2 value lower");
    assert_eq!(after("0,0,"), "flows.csv:2 value upper");
    assert_eq!(after(",,0"), "flows.csv:2 value predicted");
    let class = refused("start_s,src,dst,bytes,class\n0,0,1,5,256\n");
    assert_eq!(class, "flows.csv:2 value class");
}

#[test]
fn read__refuses_features_that_are_no_numbers() {
    let of = |field: &str| refused(&format!("start_s,src,dst,bytes,feature:port\n0,0,1,5,80\n0,0,1,5,{field}\n"));
    for field in ["", "tcp", "-1", "0.5"] {
        assert_eq!(of(field), "flows.csv:3 value feature:port");
    }
    for header in ["feature:", "feature:a,feature:a", "bytes"] {
        let text = format!("start_s,src,dst,bytes,{header}\n0,0,1,5,80\n");
        assert_eq!(refused(&text), "flows.csv:1 header", "{header}");
    }
}

fn any_prediction() -> impl Strategy<Value = Prediction> {
    let size = any::<Option<NonZeroU64>>();
    let bounds = any::<Option<(u64, NonZeroU64)>>();
    (size, bounds).prop_map(|(size, bounds)| Prediction {
        size,
        bounds: bounds.map(|(lower, upper)| SizeBounds { lower: lower.min(upper.get()), upper }),
    })
}

/// The columns of a list that may be empty.
type Facts = (Option<NonZeroU64>, Option<u32>, u8, Prediction);

proptest! {
    #[test]
    fn read__gives_back_what_was_written(
        mut rows in prop::collection::vec((any::<u64>(), 0u32..1_000, 1u32..1_000, 1..=MAX_BYTES), 1..50),
        facts in prop::collection::vec((any::<Option<NonZeroU64>>(), prop::option::of(0..=MAX_COFLOW), any::<u8>(), any_prediction()), 50),
        features in prop::collection::vec(any::<u64>(), 100),
        named in 0usize..=2,
    ) {
        rows.sort_by_key(|row| row.0);
        let flow = |((&(start_ps, src, step, bytes), &(deadline_ps, coflow, class, _)), id): ((_, &Facts), u32)| {
            Flow { id, start_ps, src, dst: (src + step) % 1_000, bytes, class, deadline_ps, coflow }
        };
        let flows: Vec<Flow> = rows.iter().zip(&facts).zip(0..).map(flow).collect();
        let predictions: Vec<Prediction> = facts.iter().take(flows.len()).map(|fact| fact.3).collect();
        let names = ["a", "b"].iter().take(named).map(|name| (*name).to_owned()).collect();
        let features = Features::new(names, features[..named * flows.len()].to_vec());
        let highest_class = (flows.iter().map(|flow| flow.class).max().unwrap_or(0), 0);
        let list = FlowList { flows, predictions, features, highest_class, ..FlowList::default() };
        let again = parse("f", &written(&list), 1_000).unwrap();
        prop_assert_eq!((&again.flows, &again.features), (&list.flows, &list.features));
        let rows = |of: &FlowList| of.flows.iter().map(|flow| of.row(*flow).1).collect::<Vec<_>>();
        prop_assert_eq!(rows(&again), rows(&list));
    }

    #[test]
    fn parse__never_panics(
        text in "\\PC*|([0-9.e-]{0,9},[0-9]{0,2},[0-9]{0,2},[0-9e-]{0,5}\r?\n){0,5}",
        hosts: u32
    ) {
        let _ = parse("any", &text, hosts);
    }

    #[test]
    fn read__never_panics_on_bytes(bytes: Vec<u8>) {
        let _ = read("any", bytes.as_slice(), &HostNames::numbered(10));
    }
}
