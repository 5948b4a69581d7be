//! What a part of a scheme reports about itself, for observers. A part names its counts here, and nowhere else: results,
//! time series and warnings take names and values as they are.

/// One thing that a part reports.
#[derive(Clone, Copy, Debug)]
pub enum Reading {
    /// A figure that the part adapts; it makes a time series.
    Gauge(Gauge),
    /// Something that the part has counted; the counts of all parts add up.
    Count {
        /// Its name in results: `snake_case`.
        name: &'static str,
        /// Its count.
        count: u64,
    },
    /// The number of times that a periodic action was done.
    Ticks {
        /// The name of the part that acts.
        name: &'static str,
        /// Number of actions.
        ticks: u64,
    },
    /// A condition; if it fails, the reader is warned.
    Expectation(Expectation),
    /// A share that should not be small.
    Share(Share),
}

/// A figure that a part adapts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// Its name, with its unit if it has one.
    pub name: &'static str,
    /// The queue that it belongs to; a threshold belongs to the queue above it.
    pub queue: usize,
    /// Its value.
    pub value: f64,
}

/// A value that should not be below a limit at the end of a run.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// Its name: parts with the same name are counted together.
    pub name: &'static str,
    /// The actual value.
    pub value: f64,
    /// The least acceptable value.
    pub at_least: f64,
    /// The warning if parts fall short.
    pub warning: fn(&Shortfall) -> String,
}

/// What share of the parts' actions is of one kind. All parts add up, and the reader is warned if the share is too small.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Its name.
    pub name: &'static str,
    /// The number of this kind.
    pub part: u64,
    /// The number in all.
    pub whole: u64,
    /// The least acceptable share of all parts together.
    pub at_least: f64,
    /// The warning for a smaller share.
    pub warning: fn(f64) -> String,
}

/// How many of the parts that expect the same fall short, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortfall {
    /// Number of parts that expect it.
    pub parts: u64,
    /// Number of parts that fall short.
    pub short: u64,
    /// The least value of a part that falls short.
    pub least: f64,
}

/// Reports each threshold.
pub fn observe_thresholds(name: &'static str, thresholds: &[u64], see: &mut dyn FnMut(Reading)) {
    for (queue, &threshold) in thresholds.iter().enumerate() {
        see(Reading::Gauge(Gauge { name, queue, value: threshold as f64 }));
    }
}
