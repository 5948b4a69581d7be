//! Thresholds that follow the sizes of completed flows (AWAFS §4.2.2, the Actuator).
//!
//! At every multiple of the period, entries older than the window are pruned. Threshold i becomes a percentile of the
//! remaining sizes, by nearest rank, so it is a size that was seen. What the paper leaves open, and what is done here:
//! - *No flow ended in the window*: the thresholds stay.
//! - *Percentiles of one size*: each threshold is at least a byte above the previous one.
//! - *The instant of a tick*: it comes before everything that arrives in it.
//!
//! A percentile is of the flows, or of their distinct sizes ([`ActuatorParams::of_sizes`]), where flows of one size count once.
//!
//! The percentiles are given, or chosen at each tick by a model ([`ActuatorParams::model`]). The model computes thresholds
//! for the sizes in the list and the load of the window. They are taken as percentiles of that list, so each threshold is
//! the largest size seen that is not above the model's.
//!
//! There is no timer: the actuator's owner asks with each packet whether a tick is due ([`Actuator::is_due`]). Ticks that
//! were missed while no packet came cost no more than one, and have the same result as if each had run in turn.

use crate::awafs::completed::CompletedFlows;
use crate::awafs::load::LoadMeter;
use crate::readings::{Expectation, Gauge, Reading, Shortfall};
use crate::solver::Solver;
use crate::units::Time;

/// One (100 %), in the unit of percentiles.
pub const WHOLE: u32 = 1_000_000;

/// An actuator's parameters.
#[derive(Clone, Debug)]
pub struct ActuatorParams {
    /// The initial thresholds, in bytes, rising.
    pub initial: Vec<u32>,
    /// The percentile of each threshold, in 1 / [`WHOLE`], rising.
    pub percentiles: Vec<u32>,
    /// Whether percentiles are of the distinct sizes in the list, instead of its flows.
    pub of_sizes: bool,
    /// The model that chooses percentiles at each tick; `percentiles` then hold only at the start.
    pub model: Option<&'static dyn Solver>,
    /// Time from one tick to the next (T_schedule); above zero.
    pub period: Time,
    /// How long a completed flow counts (W_update); no shorter than the period.
    pub window: Time,
    /// The most completed flows that are remembered; at least 1.
    pub entries: usize,
}

/// Thresholds, and the flows that they follow.
#[derive(Clone, Debug)]
pub struct Actuator {
    list: CompletedFlows,
    percentiles: Vec<u32>,
    of_sizes: bool,
    /// The model and the load that it needs, if percentiles are chosen.
    model: Option<(&'static dyn Solver, LoadMeter)>,
    /// Bytes, rising.
    thresholds: Vec<u32>,
    period: Time,
    window: Time,
    /// The next tick.
    next: Time,
    ticks: u64,
    /// How far back the list reached at the last tick.
    reach: Time,
    /// The list's sizes, while a tick sorts them.
    sorted: Vec<u32>,
}

impl Actuator {
    /// Builds an actuator that has seen no flow.
    ///
    /// # Panics
    /// If the parameters violate their documentation; set-up checks them.
    pub fn new(params: &ActuatorParams) -> Actuator {
        let ActuatorParams { initial, percentiles, of_sizes, model, period, window, entries } = params;
        assert_eq!(initial.len(), percentiles.len(), "a percentile a threshold");
        assert!(initial.is_sorted_by(|a, b| a < b), "thresholds rise");
        assert!(*period > Time::ZERO && window >= period, "no flow that ends between two ticks is missed");
        Actuator {
            list: CompletedFlows::new(*entries),
            percentiles: percentiles.clone(),
            of_sizes: *of_sizes,
            model: model.map(|model| (model, LoadMeter::new(*window))),
            thresholds: initial.clone(),
            period: *period,
            window: *window,
            next: *period,
            ticks: 0,
            reach: *window,
            sorted: Vec::with_capacity(*entries),
        }
    }

    /// Returns whether a tick is due.
    #[inline(always)]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Returns the next tick.
    pub fn next_tick(&self) -> Time {
        self.next
    }

    /// Returns the last tick up to `now`, at which one is due.
    pub fn last_tick(&self, now: Time) -> Time {
        Time(now.0 - now.0 % self.period.0)
    }

    /// Runs every tick that is due. The flows that ended before it are listed.
    #[inline(never)]
    pub fn tick(&mut self, now: Time) {
        let (first, last) = (self.next, self.last_tick(now));
        self.ticks += (last - first).0 / self.period.0 + 1;
        self.next = last + self.period;
        let mut seen = first - self.period;
        if let Some(newest) = self.list.newest() {
            // The list is empty at later ticks, and nothing changes.
            let counts = last.min(self.last_tick(newest + self.window));
            if counts >= first {
                self.list.prune(counts.since(self.window));
                self.measure(seen, counts);
                self.adjust();
                seen = counts;
            }
        }
        self.measure(seen, last);
        self.list.prune(last.since(self.window));
        self.reach = self.list.reach(last, self.window);
    }

    /// Sets the thresholds by the list, which is not empty and stays unchanged.
    fn adjust(&mut self) {
        self.sorted.clear();
        self.sorted.extend(self.list.sizes());
        self.sorted.sort_unstable();
        let best = self.best_thresholds();
        if self.of_sizes {
            self.sorted.dedup();
        }
        self.choose_percentiles(best);
        let mut least = 0;
        for (threshold, &percentile) in self.thresholds.iter_mut().zip(&self.percentiles) {
            *threshold = self.sorted[nearest_rank(percentile, self.sorted.len())].max(least);
            least = *threshold + 1;
        }
    }

    fn measure(&mut self, from: Time, to: Time) {
        if let Some((_, meter)) = self.model.as_mut().filter(|_| to > from) {
            meter.step(from, to);
        }
    }

    /// Returns the model's thresholds for the flows that are sorted, if there is a model.
    fn best_thresholds(&self) -> Option<Vec<u64>> {
        let (model, meter) = self.model.as_ref()?;
        let mut sizes = self.sorted.iter().map(|&size| (u64::from(size), 1));
        model.thresholds(&mut sizes, meter.load(), self.thresholds.len() + 1)
    }

    /// Converts the model's thresholds into percentiles of what is sorted.
    fn choose_percentiles(&mut self, best: Option<Vec<u64>>) {
        for (percentile, threshold) in self.percentiles.iter_mut().zip(best.into_iter().flatten()) {
            let upto = self.sorted.partition_point(|&size| u64::from(size) <= threshold);
            *percentile = (upto as u64 * u64::from(WHOLE) / self.sorted.len() as u64) as u32;
        }
    }

    /// Returns whether the actuator needs to know the load of its line: [`Actuator::note`].
    #[inline]
    pub fn chooses(&self) -> bool {
        self.model.is_some()
    }

    /// Counts a packet that occupies the line for `busy`.
    #[inline]
    pub fn note(&mut self, busy: Time) {
        if let Some((_, meter)) = &mut self.model {
            meter.note(busy);
        }
    }

    /// Counts a flow of `size` bytes that ended, no earlier than those before.
    #[inline]
    pub fn complete(&mut self, end: Time, size: u32) {
        self.list.push(end, size);
    }

    /// Returns the queue of a packet whose flow sent `sent` bytes before it: the first whose threshold is above them.
    #[inline(always)]
    pub fn choose(&self, sent: u32) -> usize {
        self.thresholds.iter().take_while(|&&threshold| sent >= threshold).count()
    }

    /// Returns the thresholds in bytes, rising.
    pub fn thresholds(&self) -> &[u32] {
        &self.thresholds
    }

    /// Returns the completed flows.
    pub fn list(&self) -> &CompletedFlows {
        &self.list
    }

    /// Returns the number of ticks so far.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Reports what it has adapted and how often; see [`crate::PortScheduler::observe`].
    pub fn observe(&self, see: &mut dyn FnMut(Reading)) {
        let mut gauge = |name, queue, value| see(Reading::Gauge(Gauge { name, queue, value }));
        for (queue, &threshold) in self.thresholds.iter().enumerate() {
            gauge("threshold (bytes)", queue, f64::from(threshold));
        }
        if self.chooses() {
            for (queue, &percentile) in self.percentiles.iter().enumerate() {
                gauge("percentile", queue, f64::from(percentile) / f64::from(WHOLE));
            }
        }
        let (name, value) = ("effective window (s)", self.reach.as_secs());
        gauge("flows listed", 0, self.list.len() as f64);
        gauge(name, 0, value);
        see(Reading::Ticks { name: "thresholds of ports", ticks: self.ticks });
        see(Reading::Expectation(Expectation { name, value, at_least: self.window.as_secs(), warning: short_window }));
    }
}

/// Returns the warning that lists of completed flows were full, so that thresholds followed less than the window asked for.
fn short_window(Shortfall { short, parts, least }: &Shortfall) -> String {
    format!(
        "at {short} of {parts} ports the last thresholds follow less than update_window (shortest: {:.1} ms): more \
         flows complete than list_memory holds",
        1e3 * least
    )
}

/// Returns the place of a percentile among `count` sorted values, at least one.
fn nearest_rank(percentile: u32, count: usize) -> usize {
    (percentile as usize * count).div_ceil(WHOLE as usize).clamp(1, count) - 1
}

#[cfg(test)]
#[path = "actuator_tests.rs"]
mod tests;
