//! Progress of an experiment: a bar with rate and time left on a terminal, a line for each finished run elsewhere.

use crate::interruption;
use crate::output::tell;
use flowsieve_experiment::execute::Event;
use flowsieve_experiment::plan::Plan;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Steps of the bar.
pub(crate) const STEPS: u64 = 10_000;

/// A bar that is drawn on a terminal alone, and whether there is one.
pub(crate) fn bar() -> (ProgressBar, bool) {
    let on_terminal = std::io::stderr().is_terminal();
    let target = if on_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(STEPS), target);
    // The template is part of the program: a test makes one.
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    (bar, on_terminal)
}

/// Shows what [`Event`]s say.
pub(crate) struct Progress<'a> {
    plan: &'a Plan,
    bar: ProgressBar,
    on_terminal: bool,
    state: Mutex<State>,
}

struct State {
    /// Packet-hops that are done, by the estimate: what the bar shows.
    expected_hops: f64,
    /// Of these, what was there before.
    found_hops: f64,
    /// Packet-hops of finished runs, and of those that go on (by index).
    hops: u64,
    going: Vec<(usize, f64, u64)>,
    finished: usize,
    begun: Instant,
}

impl<'a> Progress<'a> {
    /// For a plan that is about to be carried out.
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let (bar, on_terminal) = bar();
        let state = State {
            expected_hops: 0.0,
            found_hops: 0.0,
            hops: 0,
            going: Vec::new(),
            finished: 0,
            begun: Instant::now(),
        };
        Progress { plan, bar, on_terminal, state: Mutex::new(state) }
    }

    /// Takes an event, from any thread; everything goes on.
    pub(crate) fn hear(&self, event: Event) -> ControlFlow<()> {
        self.show(event);
        ControlFlow::Continue(())
    }

    /// Takes an event, from any thread.
    pub(crate) fn show(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = |run: usize| self.plan.runs[run].packet_hops;
        match event {
            Event::Found(found, packet_hops) => {
                state.finished = found;
                (state.expected_hops, state.found_hops) = (packet_hops, packet_hops);
                interruption::keeps(found, self.plan.runs.len());
                if found > 0 {
                    self.line(&format!("{found} of {} runs are there already", self.plan.runs.len()));
                }
            }
            Event::Damaged(run) => {
                let (run, points) = (&self.plan.runs[run], &self.plan.points);
                self.line(&format!(
                    "{}, seed {}: what was kept is damaged, and is made again",
                    points[run.point].label(),
                    run.seed
                ));
            }
            Event::Started(run) => state.going.push((run, 0.0, 0)),
            Event::Going(run, progress) => {
                if let Some(entry) = state.going.iter_mut().find(|(index, ..)| *index == run) {
                    (entry.1, entry.2) = (progress.share, progress.packet_hops);
                }
            }
            Event::Finished(run) => {
                if let Some(at) = state.going.iter().position(|(index, ..)| *index == run) {
                    state.hops += state.going.remove(at).2;
                }
                state.expected_hops += expected(run);
                state.finished += 1;
                interruption::keeps(state.finished, self.plan.runs.len());
                let done = &self.plan.runs[run];
                let label = self.plan.points[done.point].label();
                if !self.on_terminal {
                    let of = self.plan.runs.len();
                    tell(format!("{}/{of}: {label}, seed {}", state.finished, done.seed));
                }
            }
        }
        self.draw(&state);
    }

    /// Takes the bar away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        if self.on_terminal { self.bar.println(text) } else { tell(text) }
    }

    fn draw(&self, state: &State) {
        let going: f64 = state.going.iter().map(|(run, share, _)| share * self.plan.runs[*run].packet_hops).sum();
        let done = state.expected_hops + going;
        let hops = state.hops + state.going.iter().map(|(.., hops)| hops).sum::<u64>();
        let seconds = state.begun.elapsed().as_secs_f64();
        let all = self.plan.packet_hops();
        let share = if all > 0.0 { done / all } else { 0.0 };
        self.bar.set_position((share * STEPS as f64) as u64);
        let mut message = format!("{}/{} runs", state.finished, self.plan.runs.len());
        let made = done - state.found_hops;
        if seconds > 1.0 && made > 0.0 {
            let rate = hops as f64 / seconds / 1e6;
            let left = (all - done).max(0.0) * seconds / made;
            message += &format!("  {rate:.1} M packet-hops/s  {} left", in_words(left));
        }
        self.bar.set_message(message);
    }
}

/// A number of seconds for reading.
pub(crate) fn in_words(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3_600, whole % 3_600 / 60),
    }
}

/// A number of packet-hops for reading.
pub(crate) fn hops_in_words(hops: f64) -> String {
    match hops {
        0.0..1e6 => format!("{hops:.0}"),
        1e6..1e9 => format!("{:.0} million", hops / 1e6),
        _ => format!("{:.1} billion", hops / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_words__times_and_hops() {
        assert_eq!(in_words(59.4), "59 s");
        assert_eq!(in_words(61.0), "1 min 01 s");
        assert_eq!(in_words(7_260.0), "2 h 01 min");
        assert_eq!(hops_in_words(18_200_000.0), "18 million");
        assert_eq!(hops_in_words(2.26e9), "2.3 billion");
        assert!(ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}").is_ok());
    }
}
