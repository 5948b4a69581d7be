//! The load of a port over the updating window: the share of the line's time that packets asked for. Models that choose
//! thresholds need it in addition to sizes.

use crate::units::Time;

/// The share, as a mean over steps of any length. A step's weight is its length in windows.
#[derive(Clone, Debug)]
pub(crate) struct LoadMeter {
    window: Time,
    /// Line time of the packets since the last step.
    busy: Time,
    load: f64,
}

impl LoadMeter {
    pub(crate) fn new(window: Time) -> LoadMeter {
        LoadMeter { window, busy: Time::ZERO, load: 0.0 }
    }

    /// Counts a packet that occupies the line for `busy`.
    #[inline]
    pub(crate) fn note(&mut self, busy: Time) {
        self.busy += busy;
    }

    /// Accounts for the time from `from` to `to`, which is later. While the run is shorter than the window, all time has
    /// equal weight.
    pub(crate) fn step(&mut self, from: Time, to: Time) {
        let span = to - from;
        let weight = span.0 as f64 / span.max(self.window.min(to)).0 as f64;
        self.load += (self.busy.0 as f64 / span.0 as f64 - self.load) * weight;
        self.busy = Time::ZERO;
    }

    /// Returns the share, within 0.01 and 0.99: no queue is stable at 1.
    pub(crate) fn load(&self) -> f64 {
        self.load.clamp(0.01, 0.99)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load__of_the_window_and_before_that_of_the_run() {
        let mut meter = LoadMeter::new(Time(400));
        let mut after = |busy, from, to| {
            meter.note(Time(busy));
            meter.step(Time(from), Time(to));
            meter.load()
        };
        assert_eq!(after(50, 0, 100), 0.5);
        assert_eq!(after(100, 100, 200), 0.75, "all of the run counts");
        assert_eq!(after(0, 200, 400), 0.375);
        assert_eq!(after(0, 400, 600), 0.1875, "half a window");
        assert_eq!(after(0, 600, 1_600), 0.01, "nothing for longer than the window");
        assert_eq!(after(900, 1_600, 2_000), 0.99, "no queue is stable above");
    }
}
