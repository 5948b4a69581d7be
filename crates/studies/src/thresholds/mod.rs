//! Demotion thresholds for a distribution of flow sizes: the content of each queue under them, and the completion times
//! by the models of [`flowsieve_core::thresholds`].

mod advice;
pub(crate) mod paired;
mod simulate;
mod sizes;
mod text;

pub(crate) use advice::dscp;
pub use advice::{Advice, Deployment, Link, Marking, advice, advice_text};
use flowsieve_core::thresholds::{
    Phases, SizeLaw, ThresholdError, background, background_time, equal_split_of, tandem, tandem_time, two_level,
    two_level_numeric,
};
use flowsieve_engines::built_in;
use flowsieve_engines::workload::{CDF, FLOWS, LOAD, SIZES};
use flowsieve_engines::workload::{Hosts, Workload};
use flowsieve_experiment::{Error, Folder};
use flowsieve_schemes::parts::QUEUES;
use flowsieve_schemes::{WorkloadFacts, pias};
use flowsieve_settings::{Key, Origin, Raw, SettingsError, Table, units};
use flowsieve_workload::HostNames;
pub use paired::{Network, Paired, Simulated, Trial};
use serde::Serialize;
pub use simulate::{Compared, Found, Search, simulate};
use sizes::Sizes;
pub use sizes::{Column, counted_load};
pub use text::{found_text, text};

/// The method of choosing thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The same number of flows ends in each queue.
    EqualSplit,
    /// Minimises the mean completion time of PIAS's model, a tandem of M/M/1 queues.
    Pias,
    /// Minimises that of an M/G/1 foreground-background queue with FIFO levels.
    Background,
    /// Minimises that of two-level processor sharing, with one threshold.
    TwoLevel,
    /// Published with PIAS, or for a comparison with it.
    Published,
}

/// A request for thresholds.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// A built-in distribution.
    pub workload: Option<String>,
    /// A file with a distribution.
    pub cdf: Option<String>,
    /// A file with a column of sizes.
    pub sizes: Option<Column>,
    /// Loads of the host links.
    pub loads: Vec<f64>,
    /// Number of queues; by default 8, and 2 for the method with one threshold.
    pub queues: Option<u64>,
    /// The method of choosing them.
    pub method: Method,
}

/// Thresholds for a load, and their effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Thresholds {
    /// Load of the host links.
    pub load: f64,
    /// Rising, one fewer than the queues.
    pub thresholds_bytes: Vec<u64>,
    /// By queue, the highest first.
    pub queues: Vec<Queue>,
    /// Number of queues asked for; any beyond those listed would carry nothing.
    pub asked_queues: usize,
    /// Expected completion times; `None` at loads at which no queue is stable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// The data that the single threshold was computed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub two_level: Option<TwoLevel>,
}

/// The content of a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queue {
    /// The queue carries the bytes of a flow after this many.
    pub above_bytes: u64,
    /// The queue carries the bytes of a flow up to this many; `None`: to its end.
    pub up_to_bytes: Option<u64>,
    /// Share of the flows that end in it.
    pub flows_ending: f64,
    /// Share of the bytes in it.
    pub bytes: f64,
    /// Load of this queue and all above.
    pub load: f64,
}

/// Mean completion times by the models, in units of a mean flow's time on an idle link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Expected {
    /// By the tandem of M/M/1 queues.
    pub tandem: f64,
    /// By the M/G/1 foreground-background queue with FIFO levels.
    pub background: f64,
}

/// Two-level processor sharing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TwoLevel {
    /// The threshold found by numerical search; `thresholds_bytes` has that of the closed form.
    pub numeric_bytes: u64,
    /// The two exponential phases fitted to the sizes; `None` if there are none: the threshold is then that of the
    /// tandem.
    pub phases: Option<TwoPhases>,
}

/// Two exponential phases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TwoPhases {
    /// The phases' shares of the flows.
    pub shares: [f64; 2],
    /// The phases' means.
    pub mean_bytes: [f64; 2],
    /// Mean completion time under the threshold, in units of a mean flow's time on an idle link.
    pub time: f64,
}

/// Computes thresholds for each load, in their order.
pub fn thresholds(wanted: &Wanted) -> Result<Vec<Thresholds>, Error> {
    let usual = if wanted.method == Method::TwoLevel { 2 } else { 8 };
    let queues = wanted.queues.unwrap_or(usual);
    wanted.loads.iter().map(|load| Asked::read(wanted, *load, queues)?.of_queues_that_help(wanted.method)).collect()
}

/// The source of sizes.
enum Source {
    Workload(Box<Workload>),
    Sizes(Sizes),
}

impl Source {
    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        match self {
            Source::Workload(workload) => workload.quantile_bytes(p),
            Source::Sizes(sizes) => sizes.quantile_bytes(p),
        }
    }
}

/// Sizes, load and queues of a request.
pub(crate) struct Asked {
    source: Source,
    law: SizeLaw,
    load: f64,
    queues: usize,
}

impl Asked {
    pub(crate) fn read(wanted: &Wanted, load: f64, queues: u64) -> Result<Asked, Error> {
        let mut settings = built_in().keys().none_given();
        let mut give = |key: &'static Key, option: &str, raw: Raw| -> Result<(), SettingsError> {
            let origin = Origin::CommandLine(format!("--{option} {raw}").into());
            settings.give(Table::Section(key.section), key, &raw, origin)
        };
        if let Some(workload) = &wanted.workload {
            give(&SIZES, "workload", Raw::from(workload.as_str()))?;
        }
        if let Some(cdf) = &wanted.cdf {
            give(&CDF, "cdf", Raw::from(cdf.as_str()))?;
        }
        give(&LOAD, "load", Raw::Float(load))?;
        give(&QUEUES, "queues", Raw::Integer(i64::try_from(queues).unwrap_or(i64::MAX)))?;
        give(&FLOWS, "flows", Raw::Integer(1))?;
        settings.common().read(&QUEUES)?;
        // Neither hosts nor rate affect the sizes; the workload only has to be valid.
        let hosts = Hosts {
            bps: units::MAX_RATE_BPS,
            racks: [0, 0].into(),
            names: HostNames::numbered(2),
            round_trip_ps: 0,
            narrower: None,
        };
        let source = match &wanted.sizes {
            Some(_) if !(load.is_finite() && load > 0.0) => {
                return Err(Error::Input(format!("--load {load}: expected a load above 0")));
            }
            Some(column) => Source::Sizes(column.read()?),
            None => Source::Workload(Box::new(Workload::read(&settings, &hosts, &Folder::default(), 1)?)),
        };
        let law = SizeLaw::from_quantiles(&|p| source.quantile_bytes(p)).map_err(refused)?;
        Ok(Asked { source, law, load, queues: queues as usize })
    }

    /// The law of the sizes.
    pub(crate) fn law(&self) -> &SizeLaw {
        &self.law
    }

    fn thresholds(&self, method: Method) -> Result<Thresholds, Error> {
        let Asked { source, law, load, queues } = self;
        let (load, queues) = (*load, *queues);
        let mut one = None;
        let thresholds_bytes = match method {
            Method::EqualSplit => equal_split_of(queues, |p| source.quantile_bytes(p)).map_err(refused)?,
            Method::Pias => tandem(law, load, queues).map_err(refused)?,
            Method::Background => background(law, load, queues).map_err(refused)?,
            Method::TwoLevel if queues == 2 => {
                let threshold = two_level(law, load).map_err(refused)?;
                let phases = Phases::fit(law).map(|phases| TwoPhases {
                    shares: phases.shares,
                    mean_bytes: phases.means,
                    time: phases.time(load, threshold as f64),
                });
                one = Some(TwoLevel { numeric_bytes: two_level_numeric(law, load).map_err(refused)?, phases });
                vec![threshold]
            }
            Method::TwoLevel => {
                return Err(Error::Input(format!("--queues {queues}: one threshold is for two queues")));
            }
            Method::Published => self.published().ok_or_else(|| {
                let (queues, names) = (pias::PUBLISHED_QUEUES, pias::published_workloads().collect::<Vec<_>>());
                Error::Input(format!(
                    "thresholds were published for {queues} queues, and for {} alone",
                    names.join(", ")
                ))
            })?,
        };
        let expected = self.expected(&thresholds_bytes);
        let carried = carried(law, load, &thresholds_bytes);
        Ok(Thresholds { load, thresholds_bytes, queues: carried, asked_queues: queues, expected, two_level: one })
    }

    /// Returns thresholds without those that no flow passes: the queues below them would carry nothing.
    pub(crate) fn of_queues_that_help(&self, method: Method) -> Result<Thresholds, Error> {
        let found = self.thresholds(method)?;
        let thresholds_bytes = passed(&self.law, found.thresholds_bytes);
        Ok(Thresholds { queues: carried(&self.law, self.load, &thresholds_bytes), thresholds_bytes, ..found })
    }

    /// Returns the thresholds published for the nearest load.
    fn published(&self) -> Option<Vec<u64>> {
        let Source::Workload(workload) = &self.source else { return None };
        (self.queues == pias::PUBLISHED_QUEUES).then(|| pias::published(&**workload)).flatten()
    }

    /// Returns the expected times; `None` if no queue is stable, or if nothing arrives.
    fn expected(&self, thresholds_bytes: &[u64]) -> Option<Expected> {
        let Asked { law, load, .. } = self;
        (*load > 0.0 && *load < 1.0).then(|| Expected {
            tandem: tandem_time(law, *load, thresholds_bytes),
            background: background_time(law, *load, thresholds_bytes),
        })
    }
}

fn refused(error: ThresholdError) -> Error {
    Error::Input(error.to_string())
}

/// Returns the share of all bytes that PIAS sends at each level, the highest first, for flows of these sizes. Each share has
/// its standard error next to the share of `seen` flows. Sizes of a list are a sample, too, which adds to it.
///
/// # Errors
/// Fails if the sizes are wrong, or cannot be read.
pub fn shares_of_bytes(wanted: &Wanted, thresholds_bytes: &[u64], seen: u64) -> Result<Vec<(f64, f64)>, Error> {
    /// Quantiles that stand for the law.
    const QUANTILES: usize = 10_000;
    // Neither decides on shares.
    let (any_load, queues) = (0.5, 2);
    let asked = Asked::read(wanted, any_load, queues)?;
    let law = &asked.law;
    let listed = match &asked.source {
        Source::Sizes(Sizes::List(sizes)) => 1.0 / sizes.len() as f64,
        _ => 0.0,
    };
    let at = |nth: usize| asked.source.quantile_bytes((nth as f64 + 0.5) / QUANTILES as f64).unwrap_or(0) as f64;
    let sizes: Vec<f64> = (0..QUANTILES).map(at).collect();
    let mut above = 0.0;
    let limits = thresholds_bytes.iter().map(|bytes| *bytes as f64).chain([f64::INFINITY]);
    let of_level = |(share, limit): (f64, f64)| {
        let above = std::mem::replace(&mut above, limit);
        // What a flow adds to the level beyond its share of the flow's own bytes.
        let beyond = |size: &f64| (size.min(limit) - size.min(above) - share * size) / law.mean();
        let variance = sizes.iter().map(|size| beyond(size) * beyond(size)).sum::<f64>() / QUANTILES as f64;
        (share, (variance * (1.0 / seen.max(1) as f64 + listed)).sqrt())
    };
    Ok(law.shares_of_bytes(thresholds_bytes).into_iter().zip(limits).map(of_level).collect())
}

/// Returns the thresholds that some flow passes, each once.
fn passed(law: &SizeLaw, mut thresholds_bytes: Vec<u64>) -> Vec<u64> {
    thresholds_bytes.retain(|threshold| law.share_beyond(*threshold) > 0.0);
    thresholds_bytes.dedup();
    thresholds_bytes
}

fn carried(law: &SizeLaw, load: f64, thresholds_bytes: &[u64]) -> Vec<Queue> {
    let mut above_bytes = 0;
    let queue = |up_to_bytes: Option<u64>| {
        let (above, limit) = (above_bytes, up_to_bytes.unwrap_or(u64::MAX));
        above_bytes = limit;
        let up_to = law.mean_up_to(limit) / law.mean();
        Queue {
            above_bytes: above,
            up_to_bytes,
            flows_ending: law.share_beyond(above) - law.share_beyond(limit),
            bytes: up_to - law.mean_up_to(above) / law.mean(),
            load: up_to * load,
        }
    };
    thresholds_bytes.iter().copied().map(Some).chain([None]).map(queue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            workload: Some("web-search".into()),
            cdf: None,
            sizes: None,
            loads: vec![0.8],
            queues: Some(8),
            method: Method::EqualSplit,
        }
    }

    #[test]
    fn thresholds__split_the_flows_equally() {
        let found = thresholds(&wanted()).unwrap();
        assert_eq!(found[0].thresholds_bytes.len(), 7);
        let text = text(&found);
        // Sizes are whole packets, so a threshold includes at most one size too many.
        let mut ended = 0.0;
        for (queue, line) in text.lines().skip(1).take(7).enumerate() {
            ended += line.split_whitespace().rev().nth(4).unwrap().parse::<f64>().unwrap();
            let equal = 12.5 * (queue + 1) as f64;
            assert!(ended > equal - 0.2 && ended < equal + 2.6, "{text}");
        }
        assert!(text.trim_end().ends_with(']') && text.contains("0.800\n"), "{text}");
    }

    #[test]
    fn thresholds__are_none_that_no_flow_passes() {
        let found = thresholds(&Wanted { method: Method::Background, ..wanted() }).unwrap();
        let all = &found[0];
        assert!(all.thresholds_bytes.len() < 7 && all.asked_queues == 8, "{all:?}");
        assert!(all.queues.iter().all(|queue| queue.flows_ending > 0.0));
        let said = format!("{} queues carry all flows: {} would carry nothing", all.queues.len(), 8 - all.queues.len());
        assert!(text(&found).contains(&said), "{}", text(&found));
        let one_size = Wanted { workload: Some("fixed(12000B)".into()), ..wanted() };
        assert_eq!(thresholds(&one_size).unwrap()[0].thresholds_bytes, [0u64; 0]);
    }

    #[test]
    fn thresholds__of_each_model_are_best_in_it() {
        for workload in ["web-search", "data-mining", "fb-web-server", "homa-w3"] {
            let expected = |method| {
                let wanted = Wanted { workload: Some(workload.into()), loads: vec![0.5, 0.9], method, ..wanted() };
                thresholds(&wanted).unwrap().iter().map(|found| found.expected.unwrap()).collect::<Vec<_>>()
            };
            let (equal, tandem, background) =
                (expected(Method::EqualSplit), expected(Method::Pias), expected(Method::Background));
            for load in 0..2 {
                let [equal, tandem, background] = [equal[load], tandem[load], background[load]];
                assert!(tandem.tandem < equal.tandem.min(background.tandem), "{workload} {load}");
                assert!(background.background < equal.background.min(tandem.background), "{workload} {load}");
            }
        }
    }

    #[test]
    fn thresholds__of_two_levels_have_their_phases() {
        let wanted = Wanted { queues: None, method: Method::TwoLevel, ..wanted() };
        let found = thresholds(&wanted).unwrap().remove(0);
        assert_eq!(found.queues.len(), 2);
        let one = found.two_level.unwrap();
        let phases = one.phases.unwrap();
        let near = found.thresholds_bytes[0] as f64 / one.numeric_bytes as f64;
        assert!((near - 1.0).abs() < 0.1 && phases.mean_bytes[0] < phases.mean_bytes[1], "{one:?}");
        // Constant sizes have none.
        let wanted = Wanted { workload: Some("fixed(12000B)".into()), ..wanted };
        assert_eq!(thresholds(&wanted).unwrap()[0].two_level.unwrap().phases, None);
    }

    #[test]
    fn thresholds__refuse_what_makes_no_sense() {
        let refused = |wanted: Wanted| thresholds(&wanted).unwrap_err().details();
        let unknown = refused(Wanted { workload: Some("web-serch".into()), ..wanted() });
        assert_eq!(unknown.nearest.as_deref(), Some("web-search"));
        let many = refused(Wanted { queues: Some(65), ..wanted() });
        assert_eq!(many.key.as_deref(), Some("queues"), "{many:?}");
        let none = refused(Wanted { loads: vec![0.5, -1.0], ..wanted() });
        assert!(none.expected.is_some(), "{none:?}");
        let file = refused(Wanted { workload: None, cdf: Some("none.csv".into()), ..wanted() });
        assert_eq!(file.key.as_deref(), Some("cdf"), "{file:?}");
        let overload = refused(Wanted { loads: vec![1.25], method: Method::Pias, ..wanted() });
        assert!(overload.expected.is_some(), "{overload:?}");
        let two = refused(Wanted { method: Method::TwoLevel, ..wanted() });
        assert_eq!(two.kind, "argument", "{two:?}");
        let unpublished = refused(Wanted { queues: Some(4), method: Method::Published, ..wanted() });
        assert_eq!(unpublished.kind, "argument", "{unpublished:?}");
        // An equal split has no load, and no expected times if no queue is stable.
        assert_eq!(thresholds(&Wanted { loads: vec![1.25], ..wanted() }).unwrap()[0].expected, None);
    }
}
