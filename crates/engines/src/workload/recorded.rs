//! Recorded flows at another load: their sizes in their order, with their recorded features and predictions, while
//! starts and host pairs are drawn. QCLIMB replays its traces in this way (NSDI 2024 §5.1: "keep the message arrival
//! order", "reset the inter-arrival time").

use super::files::{List, ReadPredictions};
use super::sizes::{Reader, Sizes};
use flowsieve_experiment::Error;
use flowsieve_settings::declare;
use flowsieve_settings::{Section, Setting};
use flowsieve_workload::{Calibration, Flow, HostNames, Predict, Prediction, SizeDistribution, stand_in};
use std::sync::Arc;

/// The most hosts of a list of recorded flows, which have their own hosts.
const RECORDED_HOSTS: u32 = 1 << 20;

declare! {
    pub(crate) static RECORDED: Setting<String> = Setting::file(
        Section::Workload, "recorded",
        "recorded flows whose sizes are sent in order, at the load: a flow list, without its starts and hosts, or the \
         name of a stand-in for a trace",
    );
    pub(super) static CALIBRATION: Setting<Calibration> = Setting::choice(
        Section::Workload,
        "calibration",
        &[
            ("calibrated", Calibration::Calibrated),
            ("tight", Calibration::Tight),
            ("loose", Calibration::Loose),
        ],
        "how well a stand-in's past flows predict its sizes: as published for the trace, better, or worse",
    )
    .with_default(Calibration::Calibrated);
    static RECORDED_SEED: Setting<u64> = Setting::count(
        Section::Workload, "recorded_seed", 1, 1 << 53, "seed of a stand-in's draw, which does not depend on the run's seed",
    )
    .with_default(1);
    static RECORDED_PART: Setting<Vec<f64>> = Setting::numbers(
        Section::Workload, "recorded_part", 0.0, 1.0,
        "which recorded flows are sent, in their order: from one share of them to another",
    );
}

/// Consecutive flows of a list.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    list: Arc<List>,
    from: usize,
    /// At least 1.
    pub(super) flows: usize,
}

impl Recorded {
    /// Reads the recorded flows that the settings name, if any.
    pub(super) fn read(reader: &Reader<'_>) -> Result<Option<Recorded>, Error> {
        let scope = reader.scope;
        let Some(name) = scope.optional(&RECORDED)? else { return Ok(None) };
        let list = match stand_in(&name) {
            Some(of) => reader.files.stand_in(of, scope.read(&CALIBRATION)?, scope.read(&RECORDED_SEED)?)?,
            None => {
                let hosts = HostNames::numbered(RECORDED_HOSTS);
                reader.files.list(scope, &RECORDED, &reader.folder.join(name), &hosts)?
            }
        };
        let all = list.flows().len();
        let part = scope.read_or(&RECORDED_PART, vec![0.0, 1.0])?;
        let at = |share: f64| (share * all as f64).round() as usize;
        match *part {
            [from, to] if at(from) < at(to) => {
                scope.note("workload.recorded.digest", &list.digest);
                Ok(Some(Recorded { from: at(from), flows: at(to) - at(from), list }))
            }
            _ => {
                let expected =
                    format!("two shares of the {all} flows with at least one flow between them, such as [0.8, 1]");
                Err(scope.invalid(&RECORDED_PART, expected).into())
            }
        }
    }

    /// Returns their sizes as if they were drawn.
    pub(super) fn sizes(&self) -> Sizes {
        let sizes: Vec<u64> = self.part().iter().map(|flow| flow.bytes).collect();
        Sizes { distribution: SizeDistribution::listed("recorded", &sizes), builtin: None, rate_mean: None }
    }

    /// Returns the recorded flows that are sent.
    pub(super) fn part(&self) -> &[Flow] {
        &self.list.flows()[self.from..self.from + self.flows]
    }

    /// Returns which of the recorded flows that are sent a flow of the run repeats; flows of a second workload repeat
    /// none. After the last recorded flow, the first one follows.
    fn nth(&self, flow: &Flow) -> Option<usize> {
        (flow.class == 0).then(|| flow.id as usize % self.flows)
    }

    fn repeated(&self, flow: &Flow) -> Option<&Flow> {
        self.nth(flow).map(|nth| &self.part()[nth])
    }

    /// Returns the flow with its recorded size.
    pub(super) fn put_on(&self, flow: Flow) -> Flow {
        self.repeated(&flow).map_or(flow, |recorded| Flow { bytes: recorded.bytes, ..flow })
    }

    /// Returns its recorded prediction and features.
    pub(super) fn beside(&self, flow: &Flow) -> (Prediction, &[u64]) {
        let row = self.repeated(flow).map(|recorded| self.list.list.row(*recorded));
        row.map_or_else(Default::default, |(_, prediction, features)| (prediction, features))
    }

    /// Returns what predicts these flows by the rows of a file, one for each recorded flow that is sent.
    pub(super) fn predicted(&self, by: Arc<ReadPredictions>) -> impl Predict + use<> {
        Predicted { of: self.clone(), by }
    }

    pub(super) fn list(&self) -> &List {
        &self.list
    }
}

impl Predict for Recorded {
    fn predict(&self, flow: &Flow) -> Prediction {
        self.beside(flow).0
    }
}

/// Predictions of recorded flows from another file than the list.
struct Predicted {
    of: Recorded,
    by: Arc<ReadPredictions>,
}

impl Predict for Predicted {
    fn predict(&self, flow: &Flow) -> Prediction {
        self.of.nth(flow).map_or_else(Prediction::default, |nth| self.by.rows[nth].1)
    }
}
