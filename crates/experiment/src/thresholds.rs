//! Demotion thresholds for a distribution of flow sizes, and what each queue would carry with them.

use crate::error::Error;
use crate::workload::{Files, Hosts, Workload};
use flowsieve_schemes::WorkloadFacts;
use flowsieve_schemes::settings::{Origin, Raw, Settings, SettingsError, Table, find, units};
use flowsieve_schemes::thresholds::equal_split;
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

/// The thresholds as a table, and as a line for an experiment file.
pub fn thresholds(wanted: &Wanted) -> Result<String, Error> {
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
    let thresholds = thresholds.unwrap_or_default();
    Ok(table(&workload, &thresholds, wanted.load))
}

fn table(workload: &Workload, thresholds: &[u64], load: f64) -> String {
    let sizes: Vec<u64> =
        (0..GRID).filter_map(|i| workload.quantile_bytes((f64::from(i) + 0.5) / f64::from(GRID))).collect();
    let total: f64 = sizes.iter().map(|size| *size as f64).sum();
    let mut text = format!(
        "{:>5}  {:>14}  {:>13}  {:>14}  {:>21}\n",
        "queue", "bytes sent", "flows ending", "bytes", "load of it and above"
    );
    let mut above = 0.0;
    let mut from = 0;
    let bounds = thresholds.iter().copied().map(Some).chain([None]);
    for (queue, upto) in bounds.enumerate() {
        let limit = upto.unwrap_or(u64::MAX);
        let ending = sizes.iter().filter(|size| **size > from && **size <= limit).count() as f64 / f64::from(GRID);
        let carried: f64 = sizes.iter().map(|size| (*size).min(limit).saturating_sub(from) as f64).sum();
        let share = carried / total;
        above += share * load;
        let sent = upto.map_or_else(
            || format!("over {}", units::format_size(from)),
            |upto| format!("to {}", units::format_size(upto)),
        );
        let _ = writeln!(
            text,
            "{queue:>5}  {sent:>14}  {:>11.1} %  {:>12.1} %  {above:>21.3}",
            ending * 100.0,
            share * 100.0
        );
        from = limit;
    }
    let listed: Vec<String> = thresholds.iter().map(|bytes| format!("\"{}\"", units::format_size(*bytes))).collect();
    let _ = writeln!(text, "\nthresholds = [{}]", listed.join(", "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted { workload: Some("web-search".into()), cdf: None, load: 0.8, queues: 8, method: Method::EqualSplit }
    }

    #[test]
    fn thresholds__split_the_flows_equally() {
        let text = thresholds(&wanted()).unwrap();
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
