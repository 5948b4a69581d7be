//! Demotion thresholds for a distribution of flow sizes, and what each queue would carry with them.

use crate::error::Error;
use crate::workload::{Files, Hosts, Workload};
use flowsieve_schemes::WorkloadFacts;
use flowsieve_schemes::settings::{Origin, Raw, Settings, SettingsError, Table, find, units};
use flowsieve_schemes::thresholds::equal_split;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// Points at which shares of bytes are summed: enough for three digits.
const GRID: u32 = 100_000;

/// How thresholds are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// As many flows end in each queue.
    EqualSplit,
}

/// What thresholds are wanted for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// A built-in distribution.
    pub workload: Option<String>,
    /// A file of one.
    pub cdf: Option<String>,
    /// Load of the host links.
    pub load: f64,
    /// Number of queues.
    pub queues: u64,
    /// How they are chosen.
    pub method: Method,
}

/// Thresholds, and what each queue carries with them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Thresholds {
    /// Rising, one less than the queues.
    pub thresholds_bytes: Vec<u64>,
    /// By queue, the highest first.
    pub queues: Vec<Queue>,
}

/// What a queue carries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queue {
    /// It carries what a flow sends after this many bytes.
    pub above_bytes: u64,
    /// And up to this many; `None` for the last.
    pub up_to_bytes: Option<u64>,
    /// Share of the flows that end in it.
    pub flows_ending: f64,
    /// Share of the bytes.
    pub bytes: f64,
    /// Load of it and all queues above.
    pub load: f64,
}

/// Computes thresholds.
pub fn thresholds(wanted: &Wanted) -> Result<Thresholds, Error> {
    let mut settings = Settings::default();
    let mut give = |name: &'static str, option: &str, raw: Raw| -> Result<(), SettingsError> {
        let Some(key) = find(name) else { return Ok(()) };
        let origin = Origin::CommandLine(format!("--{option} {raw}").into());
        settings.give(Table::Section(key.section), key, &raw, origin)
    };
    if let Some(workload) = &wanted.workload {
        give("sizes", "workload", Raw::from(workload.as_str()))?;
    }
    if let Some(cdf) = &wanted.cdf {
        give("cdf", "cdf", Raw::from(cdf.as_str()))?;
    }
    give("load", "load", Raw::Float(wanted.load))?;
    give("queues", "queues", Raw::Integer(i64::try_from(wanted.queues).unwrap_or(i64::MAX)))?;
    give("flows", "flows", Raw::Integer(1))?;
    let queues = settings.common().count("queues", wanted.queues)?;
    // Neither hosts nor rate reach the sizes; the workload only has to be a valid one.
    let hosts = Hosts { bps: units::MAX_RATE_BPS, racks: [0, 0].into() };
    let workload = Workload::read(&settings, &hosts, &Files::default(), Path::new(""))?;
    let thresholds = match wanted.method {
        Method::EqualSplit => equal_split(queues as usize, |p| workload.quantile_bytes(p)),
    };
    Ok(carried(&workload, thresholds.unwrap_or_default(), wanted.load))
}

fn carried(workload: &Workload, thresholds_bytes: Vec<u64>, load: f64) -> Thresholds {
    let sizes: Vec<u64> =
        (0..GRID).filter_map(|i| workload.quantile_bytes((f64::from(i) + 0.5) / f64::from(GRID))).collect();
    let total: f64 = sizes.iter().map(|size| *size as f64).sum();
    let (mut upto, mut above_bytes) = (0.0, 0);
    let bounds = thresholds_bytes.iter().copied().map(Some).chain([None]);
    let queue = |up_to_bytes: Option<u64>| {
        let (above, limit) = (above_bytes, up_to_bytes.unwrap_or(u64::MAX));
        let ending = sizes.iter().filter(|size| **size > above && **size <= limit).count();
        let carried: f64 = sizes.iter().map(|size| (*size).min(limit).saturating_sub(above) as f64).sum();
        upto += carried / total * load;
        above_bytes = limit;
        let flows_ending = ending as f64 / f64::from(GRID);
        Queue { above_bytes: above, up_to_bytes, flows_ending, bytes: carried / total, load: upto }
    };
    let queues = bounds.map(queue).collect();
    Thresholds { thresholds_bytes, queues }
}

impl Thresholds {
    /// As a table, and as a line for an experiment file.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:>5}  {:>14}  {:>13}  {:>14}  {:>21}\n",
            "queue", "bytes sent", "flows ending", "bytes", "load of it and above"
        );
        for (number, queue) in self.queues.iter().enumerate() {
            let sent = queue.up_to_bytes.map_or_else(
                || format!("over {}", units::format_size(queue.above_bytes)),
                |upto| format!("to {}", units::format_size(upto)),
            );
            let _ = writeln!(
                text,
                "{number:>5}  {sent:>14}  {:>11.1} %  {:>12.1} %  {:>21.3}",
                queue.flows_ending * 100.0,
                queue.bytes * 100.0,
                queue.load
            );
        }
        let listed = self.thresholds_bytes.iter().map(|bytes| format!("\"{}\"", units::format_size(*bytes)));
        let _ = writeln!(text, "\nthresholds = [{}]", listed.collect::<Vec<_>>().join(", "));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted { workload: Some("web-search".into()), cdf: None, load: 0.8, queues: 8, method: Method::EqualSplit }
    }

    #[test]
    fn thresholds__split_the_flows_equally() {
        let found = thresholds(&wanted()).unwrap();
        assert_eq!(found.thresholds_bytes.len(), 7);
        let text = found.text();
        // Sizes are whole packets, so that a threshold takes at most one size too many.
        let mut ended = 0.0;
        for (queue, line) in text.lines().skip(1).take(7).enumerate() {
            ended += line.split_whitespace().rev().nth(4).unwrap().parse::<f64>().unwrap();
            let equal = 12.5 * (queue + 1) as f64;
            assert!(ended > equal - 0.2 && ended < equal + 2.6, "{text}");
        }
        assert!(text.trim_end().ends_with(']') && text.contains("0.800\n"), "{text}");
    }

    #[test]
    fn thresholds__refuse_what_makes_no_sense() {
        let refused = |wanted: Wanted| thresholds(&wanted).unwrap_err().render(false);
        let unknown = refused(Wanted { workload: Some("web-serch".into()), ..wanted() });
        assert!(unknown.contains("did you mean `web-search`?"), "{unknown}");
        let many = refused(Wanted { queues: 65, ..wanted() });
        assert!(many.contains("a whole number, 1 to 64"), "{many}");
        let none = refused(Wanted { load: -1.0, ..wanted() });
        assert!(none.contains("--load"), "{none}");
        let file = refused(Wanted { workload: None, cdf: Some("none.csv".into()), ..wanted() });
        assert!(file.contains("none.csv"), "{file}");
    }
}
