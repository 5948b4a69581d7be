//! A paper's claims beside what was measured: rows for the terminal, the page and Markdown.

use flowsieve_results::claims::{Checked, Claim};
use flowsieve_results::{Expected, Figure, Ratio, ResultDir, Verdict};
use serde_json::{Value, json};

use super::format::flows_of;

/// A claim in words.
pub(crate) struct ClaimRow {
    pub(crate) id: String,
    pub(crate) place: String,
    /// Of what, of which flows, at which points.
    pub(crate) what: String,
    pub(crate) claimed: String,
    pub(crate) measured: String,
    pub(crate) verdict: Verdict,
    /// The verdict in words, with what stands in its way.
    pub(crate) judged: String,
    pub(crate) note: String,
}

/// The claims of a result, in the order of its experiment.
pub(crate) fn claim_rows(dir: &ResultDir) -> Vec<ClaimRow> {
    dir.checked_claims().into_iter().map(|(claim, checked)| row(claim, &checked)).collect()
}

/// The same as data.
pub fn claims_json(dir: &ResultDir) -> Vec<Value> {
    let of = |(claim, checked): (&Claim, Checked)| json!({ "claim": claim, "measured": checked });
    dir.checked_claims().into_iter().map(of).collect()
}

fn row(claim: &Claim, checked: &Checked) -> ClaimRow {
    let verdict = checked.verdict.in_words();
    ClaimRow {
        id: claim.id.clone(),
        place: claim.place.clone(),
        what: what(claim),
        claimed: claimed(claim),
        measured: measured(claim, checked),
        verdict: checked.verdict,
        judged: if checked.why.is_empty() { verdict.into() } else { format!("{verdict}: {}", checked.why) },
        note: claim.note.clone(),
    }
}

fn what(claim: &Claim) -> String {
    let mut text = match claim.figure {
        Figure::Flows(..) => format!("{} of {}", claim.figure.name().replace("fct", "FCT"), flows_of(&claim.class)),
        Figure::Count(_) => claim.figure.name(),
    };
    text += &format!(", {} / {}", claim.scheme, claim.baseline);
    if !claim.loads.is_empty() {
        let loads: Vec<String> = claim.loads.iter().map(f64::to_string).collect();
        text += &format!(", load {}", loads.join(", "));
    }
    for axis in &claim.at {
        text += &format!(", {} = {}", axis.key, axis.value);
    }
    text
}

fn claimed(claim: &Claim) -> String {
    let change = |share: f64| format!("{} %", signed(100.0 * share));
    let tolerance = || format!(" ± {}", number(100.0 * claim.tolerance));
    match claim.expected {
        Expected::Change(share) => format!("{}{}", change(share), tolerance()),
        Expected::UpTo(share) => format!("up to {}{}", change(share), tolerance()),
        Expected::Between(low, high) => format!("{} to {}{}", change(low), change(high), tolerance()),
        Expected::Lower => "lower".into(),
        Expected::Higher => "higher".into(),
    }
}

/// The measured change in per cent, with its interval; of a range the smallest and the largest of its loads.
fn measured(claim: &Claim, checked: &Checked) -> String {
    let Some(ratio) = &checked.ratio else { return "–".into() };
    if let Expected::Between(..) = claim.expected {
        let by_value = |a: &&(Option<f64>, Ratio), b: &&(Option<f64>, Ratio)| a.1.value.total_cmp(&b.1.value);
        let ends = (checked.by_load.iter().min_by(by_value), checked.by_load.iter().max_by(by_value));
        if let ((Some((_, least)), Some((_, most))), true) = (ends, checked.by_load.len() > 1) {
            return format!("{} to {}", change(least), change(most));
        }
    }
    let at = checked.load.map(|load| format!(" at load {load}")).unwrap_or_default();
    format!("{}{at}", change(ratio))
}

fn change(ratio: &Ratio) -> String {
    let per_cent = |ratio: f64| signed(100.0 * (ratio - 1.0));
    let interval = ratio.interval.map(|(low, high)| format!(" ({} to {})", per_cent(low), per_cent(high)));
    format!("{} %{}", per_cent(ratio.value), interval.unwrap_or_default())
}

/// With its sign and one decimal at most.
fn signed(value: f64) -> String {
    let text = number(value.abs());
    match value {
        _ if text == "0" => text,
        value if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
