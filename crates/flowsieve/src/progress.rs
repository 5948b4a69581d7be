//! Progress of an experiment: a bar with rate and time left on a terminal, a line for each finished run elsewhere.

use crate::interruption;
use crate::output::tell;
use flowsieve_experiment::execute::{Event, Show};
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::tracking::{Standing, Tracker};
use flowsieve_settings::files::for_terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Duration;

/// Number of steps of the bar.
pub(crate) const STEPS: u64 = 10_000;

/// Returns a bar, drawn only on a terminal, and whether it is drawn.
pub(crate) fn bar() -> (ProgressBar, bool) {
    let on_terminal = std::io::stderr().is_terminal();
    let target = if on_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(STEPS), target);
    // The template is part of the program; a test checks that it is valid.
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    (bar, on_terminal)
}

/// Shows [`Event`]s.
pub(crate) struct Progress<'a> {
    plan: &'a Plan,
    bar: ProgressBar,
    on_terminal: bool,
    tracker: Tracker,
}

/// Does work on a plan, and shows how it goes on.
pub(crate) fn shown<T>(plan: &Plan, work: impl FnOnce(Show<'_>) -> T) -> T {
    let progress = Progress::new(plan);
    let result = work(&|event| progress.hear(event));
    progress.end();
    result
}

impl<'a> Progress<'a> {
    /// Builds the display for a plan that is about to be carried out.
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let (bar, on_terminal) = bar();
        Progress { plan, bar, on_terminal, tracker: Tracker::new(plan) }
    }

    /// Takes an event, from any thread; never stops the runs.
    pub(crate) fn hear(&self, event: Event) -> ControlFlow<()> {
        self.show(event);
        ControlFlow::Continue(())
    }

    /// Takes an event, from any thread.
    pub(crate) fn show(&self, event: Event) {
        let standing = self.tracker.hear(event);
        match event {
            Event::Found(found, _) => {
                interruption::keeps(found, standing.runs);
                if found > 0 {
                    self.line(&format!("{found} of {} runs exist already", standing.runs));
                }
            }
            Event::Damaged(run) => {
                self.line(&format!("{}: the kept part is damaged and is made again", self.name(run)))
            }
            Event::Started(_) | Event::Going(..) => {}
            Event::Finished(run) => {
                interruption::keeps(standing.finished, standing.runs);
                if !self.on_terminal {
                    tell(format!("{}/{}: {}", standing.finished, standing.runs, self.name(run)));
                }
            }
        }
        self.draw(&standing);
    }

    /// Returns the name of a run, by its index in the plan.
    fn name(&self, run: usize) -> String {
        let run = &self.plan.runs[run];
        format!("{}, seed {}", self.plan.points[run.point].label(), run.seed)
    }

    /// Removes the bar.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        if self.on_terminal { self.bar.println(for_terminal(text, false)) } else { tell(text) }
    }

    fn draw(&self, standing: &Standing) {
        self.bar.set_position((standing.share * STEPS as f64) as u64);
        let mut message = format!("{}/{} runs", standing.finished, standing.runs);
        if let Some((rate, left)) = standing.rate {
            message += &format!("  {:.1} M packet-hops/s  {} left", rate / 1e6, in_words(left));
        }
        self.bar.set_message(message);
    }
}

/// Formats a number of seconds for reading.
pub(crate) fn in_words(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3_600, whole % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_words__times() {
        assert_eq!(in_words(59.4), "59 s");
        assert_eq!(in_words(61.0), "1 min 01 s");
        assert_eq!(in_words(7_260.0), "2 h 01 min");
        assert!(ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}").is_ok());
    }
}
