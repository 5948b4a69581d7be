//! Shares of bytes by queue with super-packets, next to those that were counted at a device's egress (notes/linux.md).

use crate::bare::{self, Facts, none_given};
use flowsieve_core::Kind;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_settings::Settings;
use flowsieve_workload::builtin;

/// Payload of a packet with the timestamps of Linux.
const PAYLOAD: u64 = 1_448;

fn pias() -> Settings {
    none_given().with(None, "queues", 4).with(None, "thresholds", &["48.5KB", "486KB", "2433KB"][..])
}

/// Shares in percent, over 10,000 messages of a quarter of web search's sizes.
fn shares(settings: &Settings) -> [f64; 4] {
    let scheme = bare::scheme("pias", settings, &Facts::NONE).unwrap();
    let mut tagger = scheme.taggers(0, |_| unreachable!("a built-in tagger")).remove(0);
    let sizes = builtin("web-search-bytes").unwrap().distribution().unwrap();
    let mut bytes = [0; 4];
    for message in 0..10_000 {
        let size = sizes.quantile((f64::from(message) + 0.5) / 10_000.0) / 4;
        for offset in (0..size).step_by(PAYLOAD as usize) {
            let tag = tagger.tag(|| FlowFacts { kind: Kind::Data, offset, size, ..FlowFacts::default() });
            bytes[usize::from(tag.priority())] += PAYLOAD.min(size - offset);
        }
    }
    bytes.map(|of| 100.0 * of as f64 / bytes.iter().sum::<u64>() as f64)
}

#[test]
fn tag_batch__shares_of_bytes_are_as_counted_in_linux() {
    // The kernel cuts at whole packets: 45 below 64 KB, and 11 below 16 KB.
    let batch = |packets, by: &str| {
        pias().with(None, "tag_batch", format!("{}B", packets * PAYLOAD)).with(None, "tag_batch_by", by)
    };
    for (settings, modelled, counted) in [
        (pias(), [6.14, 30.41, 45.44, 18.02], [6.19, 30.84, 45.52, 17.44]),
        (batch(45, "first"), [7.61, 30.56, 44.13, 17.70], [7.70, 30.93, 44.26, 17.11]),
        (batch(45, "middle"), [7.61, 27.54, 46.65, 18.19], [7.64, 28.27, 46.61, 17.48]),
        (batch(11, "first"), [7.48, 29.41, 45.11, 18.00], [7.55, 29.83, 45.25, 17.37]),
        (batch(11, "middle"), [6.00, 30.89, 45.11, 18.00], [6.06, 30.69, 45.81, 17.45]),
        // A middle lies at 485,804 B, and the threshold was known to three digits.
        (
            batch(11, "middle").with(None, "thresholds", &["48.5KB", "485.8KB", "2433KB"][..]),
            [6.00, 30.13, 45.87, 18.00],
            [6.06, 30.69, 45.81, 17.45],
        ),
    ] {
        let shares = shares(&settings);
        for (share, (modelled, counted)) in shares.into_iter().zip(modelled.into_iter().zip(counted)) {
            assert!((share - modelled).abs() < 0.006 && (share - counted).abs() < 0.75, "{shares:.2?}, {counted:?}");
        }
    }
}

#[test]
fn tag_batch__is_refused_where_hosts_count_packets() {
    let refused = |settings: Settings| bare::scheme("pias", &settings, &Facts::NONE).unwrap_err();
    let batch = pias().with(None, "tag_batch", "64KB");
    for (key, value) in [("message_gap", "1ms"), ("controller", "survival")] {
        assert_eq!(refused(batch.clone().with(None, key, value)).key(), Some("tag_batch"), "{key}");
    }
}
