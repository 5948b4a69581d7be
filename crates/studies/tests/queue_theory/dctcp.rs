//! DCTCP in its steady state, compared with its own analysis (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010,
//! §3.3): long flows share one link, their windows are in step, and the queue is marked above a threshold.
//!
//! Windows and queues are in full packets, times in seconds. As in the analysis, slow start, losses, delayed ACKs, and
//! flows out of step are left out. Windows are in step with few flows, not with many; with many, only the bound of the
//! queue holds.

/// Long flows over a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Link {
    /// Number of long flows.
    pub(super) flows: u32,
    /// Packets that the link carries per second.
    pub(super) packets_per_second: f64,
    /// Round trip of a full packet and its ACK when the queue is empty, serialisation included, in seconds.
    pub(super) round_trip: f64,
    /// Marking threshold K: a packet is marked if more are queued.
    pub(super) threshold: f64,
}

/// The result of the analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Steady {
    /// The window of each flow at which marking begins, W* = (C · RTT + K) / N.
    pub(super) critical_window: f64,
    /// Estimate of the marked share.
    pub(super) alpha: f64,
    /// Mean window: midway between the ends of its sawtooth, W* + 1 and (W* + 1)(1 − alpha/2).
    pub(super) window: f64,
    /// The largest queue, K + N.
    pub(super) queue_most: f64,
    /// Peak to peak, N times the sawtooth of a window.
    pub(super) queue_oscillation: f64,
    /// Period of the sawtooth, in seconds.
    pub(super) period: f64,
}

impl Link {
    /// Computes equations 3 to 11 of the analysis.
    pub(super) fn steady(&self) -> Steady {
        let flows = f64::from(self.flows);
        let pipe = self.packets_per_second * self.round_trip;
        let critical_window = (pipe + self.threshold) / flows;
        let most = critical_window + 1.0;
        let alpha = alpha(critical_window);
        let sawtooth = most * alpha / 2.0;
        Steady {
            critical_window,
            alpha,
            window: most - sawtooth / 2.0,
            queue_most: self.threshold + flows,
            queue_oscillation: flows * sawtooth,
            period: sawtooth * self.round_trip,
        }
    }
}

/// Returns the alpha that reproduces itself: in each period, the packets of the last round trip are marked, so that
/// alpha² (1 − alpha/4) = (2 W* + 1) / (W* + 1)². The left side rises from 0 to 3/4 as alpha rises from 0 to 1.
fn alpha(critical_window: f64) -> f64 {
    let most = critical_window + 1.0;
    let marked = (2.0 * critical_window + 1.0) / (most * most);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if middle * middle * (1.0 - middle / 4.0) < marked { low = middle } else { high = middle }
    }
    low
}

/// The steady state observed in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observed {
    /// Mean over time and flows, in packets.
    pub(super) window: f64,
    /// Mean over time and flows.
    pub(super) alpha: f64,
    /// Difference between the largest and the smallest queue, averaged over spans of two periods, in packets.
    pub(super) queue_oscillation: f64,
    /// The largest queue at any time, in packets.
    pub(super) queue_most: f64,
}

/// A sample; samples are equally spaced.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    /// Congestion window of each flow in packets.
    pub(super) windows: Vec<f64>,
    /// Alpha of each flow.
    pub(super) alphas: Vec<f64>,
    /// Fewest and most packets queued at the link since the last sample, without the one on the line.
    pub(super) queue: (f64, f64),
}

impl Observed {
    /// Summarises samples of the steady state; `in_period` of them make one period of the sawtooth. `None` if they do
    /// not fill two periods, or if a sample has no flow.
    pub(super) fn of(samples: &[Sample], in_period: usize) -> Option<Observed> {
        let stretches = samples.chunks_exact((2 * in_period).max(1));
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            (count > 0.0).then(|| sum / count)
        };
        let most = |of: &[Sample]| of.iter().map(|sample| sample.queue.1).fold(f64::NEG_INFINITY, f64::max);
        let least = |of: &[Sample]| of.iter().map(|sample| sample.queue.0).fold(f64::INFINITY, f64::min);
        Some(Observed {
            window: mean(&mut samples.iter().flat_map(|sample| sample.windows.iter().copied()))?,
            alpha: mean(&mut samples.iter().flat_map(|sample| sample.alphas.iter().copied()))?,
            queue_oscillation: mean(&mut stretches.map(|stretch| most(stretch) - least(stretch)))?,
            queue_most: most(samples),
        })
    }
}

/// One line of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// The quantity that is compared.
    pub(super) what: &'static str,
    /// Its value in the analysis.
    pub(super) analysis: f64,
    /// Its value in the run.
    pub(super) observed: f64,
    /// Whether they agree.
    pub(super) passes: bool,
}

/// The relative difference allowed between means.
const TOLERANCE: f64 = 0.1;
/// Up to this many flows, windows are in step, as in the analysis.
const IN_STEP: u32 = 2;

/// Compares means within a tenth if windows are in step, and the bound of the queue in any case. A burst of `burst`
/// packets may exceed the bound.
pub(super) fn compare(link: &Link, observed: &Observed, burst: f64) -> Vec<Line> {
    let steady = link.steady();
    let near = |what, analysis: f64, observed: f64| Line {
        what,
        analysis,
        observed,
        passes: (observed / analysis - 1.0).abs() <= TOLERANCE,
    };
    let mut lines = Vec::new();
    if link.flows <= IN_STEP {
        lines.push(near("window", steady.window, observed.window));
        lines.push(near("alpha", steady.alpha, observed.alpha));
        lines.push(near("queue oscillation", steady.queue_oscillation, observed.queue_oscillation));
    }
    let bound = steady.queue_most + burst;
    lines.push(Line {
        what: "largest queue, at most",
        analysis: bound,
        observed: observed.queue_most,
        passes: observed.queue_most <= bound,
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gbit/s of packets of 1,500 bytes, 100 us, K = 40.
    fn link(flows: u32) -> Link {
        Link { flows, packets_per_second: 10e9 / 12_000.0, round_trip: 100e-6, threshold: 40.0 }
    }

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected} ± {tolerance}");
    }

    #[test]
    fn steady__two_flows_by_hand() {
        // C · RTT = 83.33, so W* = 61.67 and alpha² (1 − alpha/4) = 124.33 / 3,927.1 = 0.031660: alpha = 0.18213.
        let steady = link(2).steady();
        near(steady.critical_window, 61.667, 1e-3);
        near(steady.alpha, 0.182_13, 1e-5);
        near(steady.alpha * steady.alpha * (1.0 - steady.alpha / 4.0), 0.031_660, 1e-6);
        near(steady.queue_oscillation, 62.667 * 0.182_13, 1e-2);
        near(steady.window, 62.667 * (1.0 - 0.182_13 / 4.0), 1e-2);
        near(steady.queue_most, 42.0, 1e-12);
        near(steady.period, 62.667 * 0.182_13 / 2.0 * 1e-4, 1e-6);
    }

    #[test]
    fn steady__approximations_of_the_paper() {
        // alpha is about √(2/W*) and the oscillation about √(2 N (C · RTT + K)) / 2, for large windows.
        let link = Link { flows: 2, packets_per_second: 10e9 / 12_000.0, round_trip: 0.1, threshold: 40.0 };
        let steady = link.steady();
        assert!((steady.alpha / (2.0 / steady.critical_window).sqrt() - 1.0).abs() < 0.005);
        let amplitude = (2.0 * 2.0 * (link.packets_per_second * 0.1 + 40.0)).sqrt() / 2.0;
        assert!((steady.queue_oscillation / amplitude - 1.0).abs() < 0.005);
    }

    #[test]
    fn steady__many_flows_mark_nearly_all() {
        let steady = link(40).steady();
        assert!(steady.critical_window < 4.0 && (0.6..1.0).contains(&steady.alpha), "{steady:?}");
        assert_eq!(steady.queue_most, 80.0);
    }

    /// Generates a sawtooth as in the analysis, with `in_period` samples per period.
    fn sawtooth(link: &Link, in_period: usize, periods: usize) -> Vec<Sample> {
        let steady = link.steady();
        let flows = link.flows as usize;
        let sample = |index: usize| {
            let share = (index % in_period) as f64 / (in_period - 1) as f64;
            let window = (steady.critical_window + 1.0) * (1.0 - steady.alpha / 2.0 * (1.0 - share));
            let queue = window * flows as f64 - link.packets_per_second * link.round_trip;
            Sample { windows: vec![window; flows], alphas: vec![steady.alpha; flows], queue: (queue, queue) }
        };
        (0..in_period * periods).map(sample).collect()
    }

    #[test]
    fn observed__of_the_drawn_sawtooth_is_the_analysis() {
        let link = link(2);
        let observed = Observed::of(&sawtooth(&link, 57, 20), 57).unwrap();
        let lines = compare(&link, &observed, 0.0);
        assert!(lines.iter().all(|line| line.passes), "{lines:?}");
        for line in &lines {
            assert!((line.observed / line.analysis - 1.0).abs() < 1e-9, "{line:?}");
        }
        assert_eq!(Observed::of(&[], 57), None);
    }

    #[test]
    fn compare__fails_what_differs_by_more() {
        let link = link(2);
        let observed = Observed::of(&sawtooth(&link, 57, 20), 57).unwrap();
        let swings = Observed { queue_oscillation: 1.11 * observed.queue_oscillation, ..observed };
        let passes = |observed| compare(&link, &observed, 0.0).iter().map(|line| line.passes).collect::<Vec<_>>();
        assert_eq!(passes(swings), [true, true, false, true]);
        assert_eq!(passes(Observed { queue_most: 42.5, alpha: 0.3, ..observed }), [true, false, true, false]);
        // Many flows: only the bound.
        let many = Link { flows: 40, ..link };
        assert_eq!(compare(&many, &Observed { queue_most: 80.0, ..observed }, 2.0).len(), 1);
    }
}
