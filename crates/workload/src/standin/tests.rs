use super::*;
use std::collections::BTreeMap;

fn list(name: &str, calibration: Calibration, seed: u64) -> FlowList {
    stand_in(name).unwrap().generate(calibration, seed)
}

fn column(list: &FlowList, name: &str) -> usize {
    list.features.names().iter().position(|known| known == name).unwrap()
}

#[test]
fn sizes__have_the_published_shares_and_least_sizes() {
    // QCLIMB, sections 5.3 and 2.3. Flows that are smaller than their stage add to the share, most under loose calibration.
    for (name, share, least) in [("kmeans-like", 0.95, 52), ("pagerank-like", 0.74, 1_002), ("sgd-like", 0.66, 45)] {
        for calibration in Calibration::ALL {
            let flows = list(name, calibration, 1).flows;
            let small = flows.iter().filter(|flow| flow.bytes < 100_000).count() as f64 / flows.len() as f64;
            let more = if calibration == Calibration::Loose { 0.06 } else { 0.025 };
            assert!((share - 0.01..share + more).contains(&small), "{name} {calibration:?}: {small}");
            let smallest = flows.iter().map(|flow| flow.bytes).min().unwrap();
            assert!((least..=least + least / 20).contains(&smallest), "{name} {calibration:?}: {smallest}");
        }
    }
}

#[test]
fn generate__has_as_many_flows_as_it_says_by_start_between_different_hosts() {
    for of in stand_ins() {
        let list = of.generate(Calibration::Calibrated, 1);
        assert_eq!(list.flows.len(), of.flows as usize, "{}", of.name);
        assert!(list.flows.is_sorted_by_key(|flow| flow.start_ps));
        assert!(list.flows.iter().zip(0..).all(|(flow, id)| flow.id == id));
        assert!(list.flows.iter().all(|flow| flow.src != flow.dst && flow.src.max(flow.dst) < of.hosts));
        assert!(list.flows.iter().all(|flow| !list.features.of(flow.id).is_empty()));
    }
}

#[test]
fn generate__makes_the_same_of_the_same_alone() {
    let of = |calibration, seed| list("pagerank-like", calibration, seed);
    let first = of(Calibration::Calibrated, 1);
    assert_eq!(first, of(Calibration::Calibrated, 1));
    assert_ne!(first.flows, of(Calibration::Calibrated, 2).flows);
    assert_ne!(first.flows, of(Calibration::Tight, 1).flows);
}

#[test]
fn features__are_what_the_host_saw_before_the_flow() {
    let list = list("sgd-like", Calibration::Calibrated, 1);
    let [start, gap, last1, last5] = ["start_us", "gap_us", "last1", "last5"].map(|name| column(&list, name));
    let mut hosts: BTreeMap<u32, (u64, Vec<u64>)> = BTreeMap::new();
    for (flow, features) in list.flows.iter().map(|flow| (flow, list.features.of(flow.id))) {
        let (end_ps, sizes) = hosts.entry(flow.src).or_default();
        assert_eq!(features[start], flow.start_ps / 1_000_000);
        assert_eq!(features[gap], flow.start_ps.saturating_sub(*end_ps) / 1_000_000);
        let ago = |nth: usize| sizes.len().checked_sub(nth).map_or(0, |index| sizes[index]);
        assert_eq!((features[last1], features[last5]), (ago(1), ago(5)));
        sizes.push(flow.bytes);
        // 10 Gbit/s.
        *end_ps = flow.start_ps.max(*end_ps) + flow.bytes * 800;
    }
}

/// Mean distance, in decades, of a flow from the one that its host sent to the same port before.
fn unlike_the_last(list: &FlowList) -> f64 {
    let port = column(list, "dst_port");
    let mut before = BTreeMap::new();
    let mut distances = Vec::new();
    for (flow, features) in list.flows.iter().map(|flow| (flow, list.features.of(flow.id))) {
        let decades = libm::log10(flow.bytes as f64);
        if let Some(last) = before.insert((flow.src, features[port]), decades) {
            distances.push(f64::abs(decades - last));
        }
    }
    distances.iter().sum::<f64>() / distances.len() as f64
}

#[test]
fn calibrations__differ_in_what_the_past_says_of_a_flow() {
    for of in stand_ins() {
        let [calibrated, tight, loose] =
            Calibration::ALL.map(|calibration| unlike_the_last(&of.generate(calibration, 1)));
        assert!(tight < calibrated && calibrated < loose, "{}: {tight} {calibrated} {loose}", of.name);
    }
}

#[test]
fn size__is_that_of_its_knots_and_the_logarithm_is_linear_between() {
    let of = StandIn { sizes: &[(0.0, 10.0), (0.5, 1_000.0), (1.0, 100_000.0)], ..STAND_INS[0] };
    assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|share| of.size(share)), [10, 100, 1_000, 10_000, 100_000]);
}
