//! Thresholds from samples of packets, next to those from all 20,000 flows of a mixture of RPCs, objects, replication
//! and backups: with `--sampled` they are near, and without it far off.

use flowsieve_core::thresholds::{SizeLaw, background_time};
use flowsieve_studies::thresholds::{Column, Method, Wanted, thresholds};
use flowsieve_workload::random::{Purpose, stream, uniform01};
use std::fmt::Write;
use std::path::Path;

const FLOWS: usize = 20_000;
const LOAD: f64 = 0.6;

/// Bytes of a full packet, and of its payload.
const PACKET: u64 = 1_488;
const PAYLOAD: u64 = 1_448;

/// Parts of a mixture: share, median in bytes and the deviation of the logarithm.
type Parts = &'static [(f64, f64, f64)];

/// RPCs, objects, replication and backups.
const MIXED: Parts = &[(0.7, 1.8e3, 1.0), (0.23, 45e3, 1.1), (0.065, 1.2e6, 0.9), (0.005, 40e6, 0.8)];

/// Nothing between messages of some hundred bytes and flows of megabytes: the former are seen as single packets, whose
/// flows samples cannot tell from longer ones.
const APART: Parts = &[(0.98, 300.0, 0.5), (0.02, 3e6, 1.0)];

/// Sizes of all flows.
fn sizes(parts: Parts) -> Vec<u64> {
    let mut rng = stream(7, Purpose::OwnPart, 0);
    let mut size = || {
        let mut part = uniform01(&mut rng);
        let of = parts.iter().find(|(share, ..)| {
            part -= share;
            part < 0.0
        });
        let (_, median, deviation) = of.unwrap_or(&parts[0]);
        let [radius, angle] = [(); 2].map(|()| uniform01(&mut rng));
        let normal = libm::sqrt(-2.0 * libm::log1p(-radius)) * libm::cos(std::f64::consts::TAU * angle);
        (median * libm::exp(deviation * normal)).max(64.0) as u64
    };
    (0..FLOWS).map(|_| size()).collect()
}

/// Packets of each flow that are counted if one in `one_in` is; flows without one are not seen.
fn counted(sizes: &[u64], one_in: u32, seed: u64) -> Vec<u64> {
    let mut rng = stream(seed, Purpose::OwnPart, 1);
    let missed = libm::log1p(-1.0 / f64::from(one_in));
    // The packets to the next one that is counted.
    let mut gap = || (libm::log1p(-uniform01(&mut rng)) / missed) as u64 + 1;
    let mut next = gap();
    let mut of_flow = |bytes: &u64| {
        let (packets, mut count) = (bytes / PAYLOAD + 3, 0);
        while next <= packets {
            (count, next) = (count + 1, next + gap());
        }
        next -= packets;
        count
    };
    sizes.iter().map(&mut of_flow).filter(|count| *count > 0).collect()
}

fn of(folder: &Path, text: &str, sampled: Option<u32>) -> Vec<u64> {
    let path = folder.join("flows.csv");
    std::fs::write(&path, text).unwrap();
    let sizes = Some(Column { path, name: None, sampled });
    let wanted =
        Wanted { workload: None, cdf: None, sizes, loads: vec![LOAD], queues: Some(4), method: Method::Background };
    thresholds(&wanted).unwrap_or_else(|error| panic!("{error}")).remove(0).thresholds_bytes
}

fn list(sizes: impl Iterator<Item = u64>) -> String {
    sizes.map(|bytes| format!("{bytes}\n")).collect()
}

/// Records as nfdump writes them, each of one direction.
fn records(counted: &[u64]) -> String {
    let mut text = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n".to_owned();
    for (nth, packets) in counted.iter().enumerate() {
        let (host, port, bytes) = (nth / 20_000, 30_000 + nth % 20_000, packets * PACKET);
        let _ = writeln!(text, "2026-01-31 12:00:00.000,1.0,6,10.0.0.{host},{port},10.0.1.1,80,{packets},{bytes},1");
    }
    text
}

#[test]
fn sampled__thresholds_are_near_those_of_all_flows_and_far_without_the_correction() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = sizes(MIXED);
    let all = of(folder.path(), &list(sizes.iter().copied()), None);
    let law = SizeLaw::from_counts(sizes.iter().map(|bytes| (*bytes, 1))).unwrap();
    let cost = |found: &[u64]| background_time(&law, LOAD, found) / background_time(&law, LOAD, &all);
    let ratios =
        |found: &[u64]| -> Vec<f64> { found.iter().zip(&all).map(|(found, of)| *found as f64 / *of as f64).collect() };
    println!("all flows: {all:?}");
    // One in so many packets; the largest factors of the lowest and of the other thresholds; the largest cost.
    for (one_in, lowest, others, dearest) in [(10u32, 1.3, 1.3, 1.02), (100, 1.5, 1.5, 1.05), (1_000, 4.0, 2.0, 1.1)] {
        for seed in 1..=10 {
            let counted = counted(&sizes, one_in, seed);
            let seen = counted.len() as f64 / FLOWS as f64;
            let corrected = of(folder.path(), &records(&counted), Some(one_in));
            let found = ratios(&corrected);
            let raw = of(folder.path(), &list(counted.iter().map(|packets| packets * PAYLOAD)), Some(1));
            let scaled =
                of(folder.path(), &list(counted.iter().map(|packets| packets * PAYLOAD * u64::from(one_in))), Some(1));
            println!(
                "1 in {one_in}, seed {seed}: {:.1} % seen; corrected {found:.2?}, cost {:.3}; scaled {:.2?}, cost {:.3}; raw {:.4?}, cost {:.3}",
                100.0 * seen,
                cost(&corrected),
                ratios(&scaled),
                cost(&scaled),
                ratios(&raw),
                cost(&raw)
            );
            let near = |ratio: f64, most: f64| (1.0 / most..=most).contains(&ratio);
            assert_eq!(corrected.len(), all.len());
            assert!(
                near(found[0], lowest) && found[1..].iter().all(|ratio| near(*ratio, others)),
                "{one_in}: {found:?}"
            );
            assert!(cost(&corrected) < dearest && cost(&corrected) < cost(&raw), "{one_in}: {}", cost(&corrected));
            // At one in ten, enough flows are seen for scaled samples to do.
            assert!(one_in == 10 || cost(&corrected) < cost(&scaled), "{one_in}: {}", cost(&scaled));
            if one_in == 1_000 {
                assert!(seen < 0.08 && ratios(&scaled)[0] > 5.0 && ratios(&raw)[0] < 0.05, "{seen}");
            }
        }
    }
}

#[test]
fn sampled__flows_that_cannot_be_told_cost_little_although_the_lowest_threshold_is_far_off() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = sizes(APART);
    let all = of(folder.path(), &list(sizes.iter().copied()), None);
    let law = SizeLaw::from_counts(sizes.iter().map(|bytes| (*bytes, 1))).unwrap();
    let cost = |found: &[u64]| background_time(&law, LOAD, found) / background_time(&law, LOAD, &all);
    for seed in 1..=10 {
        let counted = counted(&sizes, 1_000, seed);
        let corrected = of(folder.path(), &records(&counted), Some(1_000));
        let scaled = of(folder.path(), &list(counted.iter().map(|packets| packets * PAYLOAD * 1_000)), Some(1));
        println!(
            "seed {seed}: {all:?}; corrected {corrected:?}, cost {:.3}; scaled {scaled:?}, cost {:.3}",
            cost(&corrected),
            cost(&scaled)
        );
        assert!(corrected[0] > 10 * all[0], "{corrected:?}");
        assert!(cost(&corrected) < 1.15 && cost(&scaled) > 1.3, "{} {}", cost(&corrected), cost(&scaled));
    }
}

#[test]
fn sampled__what_cannot_be_told_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.csv");
    let refused = |text: &str, sampled| {
        std::fs::write(&path, text).unwrap();
        Column { path: path.clone(), name: None, sampled }.notes().unwrap_err().to_string()
    };
    let counted = counted(&sizes(MIXED), 1_000, 1);
    let undeclared = refused(&records(&counted), None);
    assert!(undeclared.contains("carry data in a single packet") && undeclared.contains("--sampled"), "{undeclared}");
    let scaled = refused(&list(counted.iter().map(|packets| packets * PACKET * 1_000)), None);
    assert!(scaled.contains("multiples of 1488000 B"), "{scaled}");
    // Each flow has one packet, so nothing tells how many there were.
    let alone = refused(&records(&[1; 5_000]), Some(100_000));
    assert!(alone.contains("5000 flows were seen; by two estimates that fit them there were"), "{alone}");
}
