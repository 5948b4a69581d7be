//! The machine and the duration of a run, for `run.json`.

use std::time::Instant;

/// Packet-hops per second of one core in estimates of time: somewhat less than the event loop makes.
pub const HOPS_PER_SECOND: f64 = 10e6;

/// A stopwatch for wall and processor time.
#[derive(Debug)]
pub struct Clock {
    date: String,
    wall: Instant,
    cpu_seconds: f64,
}

impl Clock {
    /// Starts it.
    pub fn start() -> Clock {
        Clock { date: chrono::Utc::now().to_rfc3339(), wall: Instant::now(), cpu_seconds: cpu_seconds() }
    }

    /// Returns when it was started, as RFC 3339.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// Returns the wall-clock seconds since the start.
    pub fn wall_seconds(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    /// Returns the processor seconds of all threads since the start.
    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds() - self.cpu_seconds
    }
}

#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A browser tells no processor's time.
#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    0.0
}

/// Describes processor, number of cores and operating system.
pub fn describe() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let cores = cores();
    format!("{model}, {cores} cores, {}", std::env::consts::OS)
}

/// Returns how many threads the machine runs at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns how many cores nothing else uses, at least one: all but the load of the last minute, where the system tells it.
pub fn free_cores() -> usize {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().and_then(|load| load.parse::<f64>().ok()).unwrap_or(0.0);
    cores().saturating_sub(load.round() as usize).max(1)
}
