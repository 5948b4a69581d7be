//! What a part of a scheme says of itself, for whoever watches. A part names what it counts here, and nowhere else: results,
//! time series and warnings take names and values as they are.

/// One thing that a part says.
#[derive(Clone, Copy, Debug)]
pub enum Reading {
    /// A figure that it adapts: it makes a time series.
    Gauge(Gauge),
    /// Something that it has counted: all parts add up.
    Count {
        /// What, as results name it: `snake_case`.
        name: &'static str,
        /// How often.
        count: u64,
    },
    /// How often what it does periodically was done.
    Ticks {
        /// What acts.
        name: &'static str,
        /// How often it did.
        ticks: u64,
    },
    /// Something that should be so, or the reader is warned.
    Expectation(Expectation),
    /// A share that should not be small.
    Share(Share),
}

/// A figure that a part adapts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// What it is, with its unit where it has one.
    pub name: &'static str,
    /// The queue that it belongs to; a threshold belongs to the queue above it.
    pub queue: usize,
    /// Its value.
    pub value: f64,
}

/// A value that should not be below another at the end of a run.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// What it is of: parts that expect the same fall short together.
    pub name: &'static str,
    /// The value as it is.
    pub value: f64,
    /// The least value that is as it should be.
    pub at_least: f64,
    /// What to say where parts fall short.
    pub warning: fn(&Shortfall) -> String,
}

/// How much of what parts do is of one kind: all parts add up, and the reader is warned where that is too little.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// What it is of.
    pub name: &'static str,
    /// What is of this kind.
    pub part: u64,
    /// All of it.
    pub whole: u64,
    /// The least share of all parts together that is as it should be.
    pub at_least: f64,
    /// What to say of a smaller share.
    pub warning: fn(f64) -> String,
}

/// How many of the parts that expect the same fall short, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortfall {
    /// Parts that expect it.
    pub parts: u64,
    /// Parts that fall short.
    pub short: u64,
    /// The least value of a part that falls short.
    pub least: f64,
}

/// Says each threshold.
pub(crate) fn observe_thresholds(name: &'static str, thresholds: &[u64], see: &mut dyn FnMut(Reading)) {
    for (queue, &threshold) in thresholds.iter().enumerate() {
        see(Reading::Gauge(Gauge { name, queue, value: threshold as f64 }));
    }
}
