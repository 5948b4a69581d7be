//! Quantities over the time of a run, and those that follow from its flows alone: `offered` and `finished`, in bit/s of payload,
//! and the number of flows `under way`, on average over a step.

use serde::{Deserialize, Serialize};

use crate::FlowRow;

/// Steps into which the time of a run is cut.
const STEPS: u64 = 100;

/// One figure over time, in equal steps; step 0 begins with the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name with its unit: "offered (bit/s)".
    pub name: String,
    /// The place or part; empty for the whole fabric.
    pub of: String,
    /// The step of the first value.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_step: u64,
    /// Length of a step.
    pub step_ps: u64,
    /// One value per step.
    pub values: Vec<f64>,
}

/// Separates the place and the queue of a series.
const QUEUE: &str = ", queue ";

/// Precedes the flow that opened the connection of a series.
const CONNECTION: &str = "connection of flow ";

impl Series {
    /// The place and the queue, if it is of a queue: "leaf0 to host3, queue 2".
    pub fn queue(&self) -> Option<(&str, usize)> {
        let (place, queue) = self.of.rsplit_once(QUEUE)?;
        Some((place, queue.parse().ok()?))
    }

    /// The inverse of [`Series::queue`].
    pub fn of_queue(place: &str, queue: usize) -> String {
        format!("{place}{QUEUE}{queue}")
    }

    /// Whether it is of a connection, and so pauses while that has no message under way.
    pub fn is_of_connection(&self) -> bool {
        self.of.starts_with(CONNECTION)
    }

    /// The text that [`Series::is_of_connection`] recognises.
    pub fn of_connection(flow: u32) -> String {
        format!("{CONNECTION}{flow}")
    }
}

fn is_zero(step: &u64) -> bool {
    *step == 0
}

/// The series of flows over a run of this length.
pub(crate) fn of_flows(flows: &[FlowRow], simulated_ps: u64) -> Vec<Series> {
    let step_ps = simulated_ps.div_ceil(STEPS).max(1);
    let steps = simulated_ps.div_ceil(step_ps) as usize;
    let (mut offered, mut finished) = (vec![0u64; steps], vec![0u64; steps]);
    let mut under_way = vec![0u128; steps];
    let at = |time_ps: u64| usize::try_from(time_ps / step_ps).ok().filter(|&step| step < steps);
    for flow in flows {
        let end = flow.fct_ps.map(|fct_ps| flow.start_ps.saturating_add(fct_ps));
        if let Some(step) = at(flow.start_ps) {
            offered[step] = offered[step].saturating_add(flow.bytes);
        }
        if let Some(step) = end.and_then(at) {
            finished[step] = finished[step].saturating_add(flow.bytes);
        }
        let end = end.unwrap_or(simulated_ps).min(simulated_ps);
        if end <= flow.start_ps {
            continue;
        }
        for step in flow.start_ps / step_ps..=(end - 1) / step_ps {
            let from = flow.start_ps.max(step * step_ps);
            let to = end.min((step + 1).saturating_mul(step_ps));
            under_way[step as usize] += u128::from(to.saturating_sub(from));
        }
    }
    let bps = |bytes: Vec<u64>| bytes.into_iter().map(|bytes| 8e12 * bytes as f64 / step_ps as f64).collect();
    let series = |name: &str, values| Series { name: name.into(), of: String::new(), first_step: 0, step_ps, values };
    vec![
        series("offered (bit/s)", bps(offered)),
        series("finished (bit/s)", bps(finished)),
        series("flows under way", under_way.into_iter().map(|ps| ps as f64 / step_ps as f64).collect()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_flows__by_hand() {
        // A run of 200 ps in a hundred steps of 2: one flow from 1 to 5, one from 4 that does not finish.
        let flow = |start_ps, fct_ps| FlowRow { bytes: 10, start_ps, fct_ps, ideal_ps: 1, ..FlowRow::default() };
        let series = of_flows(&[flow(1, Some(4)), flow(4, None)], 200);
        let values = |at: usize| &series[at].values[..4];
        let bps = 8e12 * 10.0 / 2.0;
        assert_eq!(series.iter().map(|series| series.values.len()).collect::<Vec<_>>(), [100; 3]);
        assert_eq!(values(0), [bps, 0.0, bps, 0.0]);
        assert_eq!(values(1), [0.0, 0.0, bps, 0.0]);
        assert_eq!(values(2), [0.5, 1.0, 1.5, 1.0]);
        assert_eq!(series[2].values[99], 1.0);
        assert!(of_flows(&[flow(1, Some(4))], 0).iter().all(|series| series.values.is_empty()));
        assert_eq!(of_flows(&[flow(1, Some(4))], 3)[2].values, [0.0, 1.0, 1.0]);
    }

    #[test]
    fn of_flows__all_that_is_offered_and_finishes_is_counted_once() {
        let flow = |n: u64| FlowRow {
            bytes: 1_000 + n,
            start_ps: n * n * 37 % 900_000,
            fct_ps: Some(1 + n * 7_919 % 100_000),
            ideal_ps: 1,
            ..FlowRow::default()
        };
        let flows: Vec<FlowRow> = (0..500).map(flow).collect();
        let series = of_flows(&flows, 1_000_001);
        let payload: u64 = flows.iter().map(|flow| flow.bytes).sum();
        let time: u64 = flows.iter().filter_map(|flow| flow.fct_ps).sum();
        let sum = |at: usize| series[at].values.iter().sum::<f64>() * series[at].step_ps as f64;
        assert!((sum(0) / 8e12 / payload as f64 - 1.0).abs() < 1e-9);
        assert!((sum(1) / 8e12 / payload as f64 - 1.0).abs() < 1e-9);
        assert!((sum(2) / time as f64 - 1.0).abs() < 1e-9);
    }
}
