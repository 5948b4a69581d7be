//! Thresholds that follow the sizes of completed flows (AWAFS §4.2.2, the Actuator).
//!
//! At every multiple of the period what is older than the window is pruned, and threshold i becomes a percentile of the
//! sizes that are left, of the nearest rank: a size that was seen. What the paper leaves open, and what is done here:
//! - *No flow ended in the window*: the thresholds stay.
//! - *Percentiles of one size*: each threshold is at least a byte above the one before.
//! - *The instant of a tick*: comes before all that arrives in it.
//!
//! A percentile is of the flows, or of their distinct sizes ([`ActuatorParams::of_sizes`]): then flows of one size count once.
//!
//! The percentiles are given, or chosen at each tick by a model ([`ActuatorParams::model`]): its thresholds for the sizes in
//! the list and the load of the window are taken as percentiles of that list, so that each threshold is the largest size seen
//! that is not above the model's.
//!
//! There is no timer: whoever owns the actuator asks with each packet whether a tick is due ([`Actuator::is_due`]). Ticks
//! that were missed while no packet came cost no more than one, and leave what each in turn would have left.

use crate::awafs::completed::CompletedFlows;
use crate::awafs::load::LoadMeter;
use crate::readings::{Expectation, Gauge, Reading, Shortfall};
use crate::solver::Solver;
use crate::units::Time;

/// One, in the unit of percentiles.
pub const WHOLE: u32 = 1_000_000;

/// An actuator's parameters.
#[derive(Clone, Debug)]
pub struct ActuatorParams {
    /// The thresholds at the start, in bytes, rising.
    pub initial: Vec<u32>,
    /// The percentile of each threshold, in 1 / [`WHOLE`], rising.
    pub percentiles: Vec<u32>,
    /// Whether percentiles are of the distinct sizes in the list, and not of its flows.
    pub of_sizes: bool,
    /// What chooses percentiles at each tick, so that these hold at the start alone.
    pub model: Option<&'static dyn Solver>,
    /// From one tick to the next (T_schedule); above zero.
    pub period: Time,
    /// How long a completed flow counts (W_update); no shorter than the period.
    pub window: Time,
    /// Completed flows that are remembered, at most; at least 1.
    pub entries: usize,
}

/// Thresholds and what they follow.
#[derive(Clone, Debug)]
pub struct Actuator {
    list: CompletedFlows,
    percentiles: Vec<u32>,
    of_sizes: bool,
    /// Where percentiles are chosen.
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
    /// An actuator that has seen no flow.
    ///
    /// # Panics
    /// Where the parameters are not as they say they are; set-up checks them.
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

    /// Whether a tick is due.
    #[inline(always)]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// The next tick.
    pub fn next_tick(&self) -> Time {
        self.next
    }

    /// The last tick up to `now`, which is at or after one that is due.
    pub fn last_tick(&self, now: Time) -> Time {
        Time(now.0 - now.0 % self.period.0)
    }

    /// Every tick that is due. The flows that ended before it are listed.
    #[inline(never)]
    pub fn tick(&mut self, now: Time) {
        let (first, last) = (self.next, self.last_tick(now));
        self.ticks += (last - first).0 / self.period.0 + 1;
        self.next = last + self.period;
        let mut seen = first - self.period;
        if let Some(newest) = self.list.newest() {
            // At later ticks the list is empty, and nothing changes.
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

    /// Sets the thresholds by the list, which is not empty and stays as it is.
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

    /// The model's thresholds for the flows that are sorted, where there is a model.
    fn best_thresholds(&self) -> Option<Vec<u64>> {
        let (model, meter) = self.model.as_ref()?;
        let mut sizes = self.sorted.iter().map(|&size| (u64::from(size), 1));
        model.thresholds(&mut sizes, meter.load(), self.thresholds.len() + 1)
    }

    /// Takes the model's thresholds for percentiles of what is sorted.
    fn choose_percentiles(&mut self, best: Option<Vec<u64>>) {
        for (percentile, threshold) in self.percentiles.iter_mut().zip(best.into_iter().flatten()) {
            let upto = self.sorted.partition_point(|&size| u64::from(size) <= threshold);
            *percentile = (upto as u64 * u64::from(WHOLE) / self.sorted.len() as u64) as u32;
        }
    }

    /// Whether it has to know what the line is asked for: [`Actuator::note`].
    #[inline]
    pub fn chooses(&self) -> bool {
        self.model.is_some()
    }

    /// A packet came that takes the line so long.
    #[inline]
    pub fn note(&mut self, busy: Time) {
        if let Some((_, meter)) = &mut self.model {
            meter.note(busy);
        }
    }

    /// A flow of so many bytes ended, no earlier than those before.
    #[inline]
    pub fn complete(&mut self, end: Time, size: u32) {
        self.list.push(end, size);
    }

    /// The queue of a packet before which its flow has sent so many bytes: the first whose threshold is above them.
    #[inline(always)]
    pub fn choose(&self, sent: u32) -> usize {
        self.thresholds.iter().take_while(|&&threshold| sent >= threshold).count()
    }

    /// The thresholds in bytes, rising.
    pub fn thresholds(&self) -> &[u32] {
        &self.thresholds
    }

    /// The completed flows.
    pub fn list(&self) -> &CompletedFlows {
        &self.list
    }

    /// Ticks so far.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// What it has adapted and how often; see [`crate::PortScheduler::observe`].
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

/// Lists of completed flows were full, so that thresholds followed less than the window that was asked for.
fn short_window(Shortfall { short, parts, least }: &Shortfall) -> String {
    format!(
        "thresholds of {short} of {parts} ports last followed less than update_window, the shortest {:.1} ms: more flows \
         complete than list_memory holds",
        1e3 * least
    )
}

/// The place of a percentile among so many sorted values, of which there is at least one.
fn nearest_rank(percentile: u32, count: usize) -> usize {
    (percentile as usize * count).div_ceil(WHOLE as usize).clamp(1, count) - 1
}

#[cfg(test)]
#[path = "actuator_tests.rs"]
mod tests;
