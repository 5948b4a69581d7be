//! Whether a run of the lab is valid: the machine did what the model takes for granted, at its time.
//!
//! Three things have an instant: a flow's start, a frame's release by the fabric, and the reading of bytes that have arrived.
//! What stands still for some tenths of a second spoils the flows of that time, and is little of a whole run. So they are
//! judged by windows of 100 ms, and by all of the run.

use std::collections::BTreeSet;
use std::time::Duration;

use flowsieve_lab::lateness::{Lateness, WINDOW_NS};
use flowsieve_lab::linux::Outcome;

/// The share of a run's frames more than 1 ms late above which it is not valid, and that of its starts, or readings: of these a
/// flow has few, and a hundredth of flows is what a 99th percentile shows.
const MOST_LATE: [f64; 3] = [0.005, 0.01, 0.01];
/// The share of bad windows above which it is not, and their number that is no harm in any case.
const MOST_BAD: f64 = 0.02;
const HARMLESS: usize = 2;
/// What is later than this stood still: no run with it is valid.
const STOOD_STILL_NS: u64 = 50_000_000;

/// The kinds of lateness of a run, in words.
fn kinds(outcome: &Outcome) -> [(&Lateness, &'static str, &'static str); 3] {
    [
        (&outcome.frames, "frames", "left"),
        (&outcome.sent.starts, "flows", "were started"),
        (&outcome.sent.reads, "readings of bytes", "were"),
    ]
}

/// Returns the windows of a run in which much was late, by number.
pub(super) fn bad_windows(outcome: &Outcome) -> BTreeSet<u64> {
    kinds(outcome).iter().flat_map(|(lateness, ..)| lateness.bad()).map(|window| window.number).collect()
}

/// Returns how many windows a run has.
pub(super) fn windows(outcome: &Outcome) -> u64 {
    (outcome.length.as_nanos() as u64).div_ceil(WINDOW_NS).max(1)
}

/// Says why a run is not valid, if it is not.
pub(super) fn invalid(outcome: &Outcome) -> Option<String> {
    of_bursts(outcome).or_else(|| {
        let lost = outcome.carried.lost_before;
        let problem = of_lateness(outcome)
            .or_else(|| (lost > 0).then(|| format!("{lost} frames were lost before they were received")))?;
        Some(format!("{problem}; expected a machine with less other work, lower rates, or fewer hosts"))
    })
}

/// Says that too many flows start together: no quieter machine helps.
fn of_bursts(outcome: &Outcome) -> Option<String> {
    let [_, most, _] = MOST_LATE;
    let share = outcome.sent.starts_in_turn.late as f64 / outcome.sent.starts.all.events.max(1) as f64;
    (share > most).then(|| {
        format!(
            "{:.2} % of the flows were started more than 1 ms late, as the lab starts those of one instant one after \
             another; expected fewer that start together",
            100.0 * share
        )
    })
}

fn of_lateness(outcome: &Outcome) -> Option<String> {
    let stolen = stolen(outcome);
    let hint = if outcome.real_time { "" } else { " (without real-time priority, which needs root)" };
    for ((lateness, what, how), most) in kinds(outcome).into_iter().zip(MOST_LATE) {
        let share = lateness.all.late as f64 / lateness.all.events.max(1) as f64;
        if share > most && lateness.all.late > 1 {
            let percent = 100.0 * share;
            return Some(format!("{percent:.2} % of the {what} {how} more than 1 ms late{hint}{stolen}"));
        }
    }
    for (lateness, what, how) in kinds(outcome) {
        if lateness.worst_ns > STOOD_STILL_NS {
            let ms = lateness.worst_ns / 1_000_000;
            return Some(format!("{what} {how} more than 1 ms late{hint}, by up to {ms} ms{stolen}"));
        }
    }
    let (bad, all) = (bad_windows(outcome).len(), windows(outcome));
    let share = bad as f64 / all as f64;
    (share > MOST_BAD && bad > HARMLESS).then(|| {
        let what = "more than a twentieth of the frames, starts or readings";
        format!("in {bad} of {all} windows of 100 ms {what} were more than 1 ms late{hint}{stolen}")
    })
}

/// Says what other systems on the same hardware took, if that was much.
fn stolen(outcome: &Outcome) -> String {
    let all: Duration = outcome.stolen.values().sum();
    let most = outcome.stolen.values().max().copied().unwrap_or_default();
    if all.is_zero() {
        return String::new();
    }
    let (all, most) = (all.as_millis(), most.as_millis());
    format!("; other systems on this hardware took {all} ms of its processors, at most {most} in 100 ms")
}

#[cfg(test)]
mod tests {
    use flowsieve_lab::lateness::InTurn;

    use super::*;

    /// A run of 12 s with a frame each 100 us, a flow each 4 ms and a reading each millisecond, in which everything stood still
    /// at these times, in ms: from, and for how long.
    fn run(stalls: &[(u64, u64)]) -> Outcome {
        let mut outcome = Outcome { length: Duration::from_secs(12), real_time: true, ..Outcome::default() };
        let kinds = [(&mut outcome.frames, 100), (&mut outcome.sent.starts, 4_000), (&mut outcome.sent.reads, 1_000)];
        for (lateness, every_us) in kinds {
            for due_us in (0..12_000_000u64).step_by(every_us) {
                let late = stalls.iter().find_map(|(from, long)| {
                    let (from, end) = (1_000 * from, 1_000 * (from + long));
                    (from..end).contains(&due_us).then(|| end - due_us)
                });
                lateness.note(1_000 * due_us, 1_000 * late.unwrap_or(0));
            }
        }
        outcome
    }

    fn each_second(long: u64) -> Vec<(u64, u64)> {
        (0..12).map(|second| (1_000 * second + 500, long)).collect()
    }

    #[test]
    fn invalid__what_stood_still() {
        assert_eq!(invalid(&run(&[])), None);
        // Hiccups of 3 ms, as other programs cause them, at a time.
        assert_eq!(invalid(&run(&each_second(3))), None);
        let said = |stalls: &[(u64, u64)]| invalid(&run(stalls)).unwrap_or_default();
        assert!(
            said(&[(5_000, 400)]).starts_with("3.33 % of the frames left more than 1 ms late; expected"),
            "{}",
            said(&[(5_000, 400)])
        );
        assert!(
            said(&[(5_000, 55)]).starts_with("frames left more than 1 ms late, by up to 55 ms"),
            "{}",
            said(&[(5_000, 55)])
        );
        assert!(said(&each_second(100)).contains("% of the frames left more than 1 ms late"));
        let in_windows =
            "in 5 of 120 windows of 100 ms more than a twentieth of the frames, starts or readings were more";
        assert!(said(&each_second(9)[..5]).starts_with(in_windows), "{}", said(&each_second(9)[..5]));
    }

    /// The sending program alone may stand still, and nothing of it is to be seen in the fabric.
    #[test]
    fn invalid__flows_that_started_late() {
        let mut outcome = run(&[]);
        outcome.sent.starts = run(&[(5_000, 400)]).sent.starts;
        let hint = "; other systems on this hardware took 350 ms of its processors, at most 200 in 100 ms; expected";
        outcome.stolen =
            [(51, 200), (52, 150)].into_iter().map(|(window, ms)| (window, Duration::from_millis(ms))).collect();
        let said = invalid(&outcome).expect("a reason");
        assert!(
            said.starts_with("3.33 % of the flows were started more than 1 ms late") && said.contains(hint),
            "{said}"
        );
        // Bursts of 20 flows, a sixth of a millisecond each.
        outcome.sent.starts = run(&[]).sent.starts;
        (0..40).for_each(|burst| (0..20).for_each(|turn| outcome.sent.starts_in_turn.note(burst, 167_000 * turn)));
        let said = invalid(&outcome).expect("a reason");
        assert!(
            said.starts_with("18.67 % of the flows") && said.ends_with("expected fewer that start together"),
            "{said}"
        );
        outcome.sent.starts_in_turn = InTurn::default();
        outcome.carried.lost_before = 2;
        assert!(invalid(&outcome).is_some_and(|said| said.starts_with("2 frames were lost before they were received")));
    }
}
