//! The outcomes as a text table.

use super::run::Outcome;
use std::fmt::Write;

/// Formats one row per case, and the number that pass.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "Mean response time in packet times. ± is half of the 95 % interval. The difference from theory may be half \
         of the 99.9 % interval, plus the effect of packets.\n\n",
    );
    let _ = writeln!(
        text,
        "{:<5} {:<14} {:>7} {:>4}  {:>9} {:>18}  {:>10} {:>8} {:>8}",
        "", "sizes", "packets", "load", "theory", "simulated", "difference", "packets", "allowed"
    );
    for outcome in outcomes {
        let case = &outcome.case;
        let simulated = format!(
            "{:.2} ± {:.1} %",
            outcome.simulated.mean,
            100.0 * outcome.simulated.half_width(0.95) / outcome.simulated.mean
        );
        let verdict = match (outcome.passes(), outcome.is_precise()) {
            (true, _) => "PASS",
            (false, true) => "FAIL",
            (false, false) => "FAIL: not precise",
        };
        let _ = writeln!(
            text,
            "{:<5} {:<14} {:>7} {:>4}  {:>9.2} {simulated:>18}  {:>+10.2} {:>8.3} {:>8.2}  {verdict}",
            case.discipline.name(),
            case.sizes.to_string(),
            case.packets,
            case.load,
            outcome.theory,
            outcome.simulated.mean - outcome.theory,
            outcome.packet_bias,
            outcome.allowed(),
        );
    }
    let passed = outcomes.iter().filter(|outcome| outcome.passes()).count();
    let hops = outcomes.iter().map(|outcome| outcome.packet_hops as f64).sum::<f64>();
    let _ = writeln!(text, "\n{passed} of {} pass; {:.2} billion packet-hops", outcomes.len(), hops / 1e9);
    text
}
