//! What looks wrong in a result, as text and as data.

use flowsieve_results::{Finding, ResultDir, Severity};
use serde_json::{Value, json};

use crate::configuration::in_words;
use crate::naming::Naming;
use flowsieve_settings::files::printable;

/// The findings as text: causes, then the most important first.
pub fn doctor(dir: &ResultDir) -> String {
    let experiment = &dir.manifest().experiment;
    let findings = dir.findings();
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (wrong, careful) = (count(Severity::Wrong), count(Severity::Careful));
    let title = printable(&experiment.title);
    let mut text = match (wrong, careful) {
        (0, 0) => format!("{title}: nothing looks wrong\n"),
        _ => format!("{title}: {wrong} wrong, {careful} to be careful with\n"),
    };
    for finding in &findings {
        text += &format!("\n{:7}  {} ({})\n", name(finding.severity), finding.text, points(dir, finding));
        if !finding.remedy.is_empty() {
            text += &format!("         → {}\n", finding.remedy);
        }
    }
    text
}

/// The findings as data.
pub fn doctor_json(dir: &ResultDir) -> Value {
    let finding = |finding: Finding| {
        let at = points(dir, &finding);
        json!({
            "severity": finding.severity, "text": finding.text, "remedy": finding.remedy,
            "is_cause": finding.is_cause, "points": finding.points, "at": at,
        })
    };
    let findings: Vec<Value> = dir.findings().into_iter().map(finding).collect();
    json!({ "title": dir.manifest().experiment.title, "findings": findings })
}

fn points(dir: &ResultDir, finding: &Finding) -> String {
    in_words(&dir.manifest().experiment, &finding.points.iter().map(|&point| point as usize).collect(), Naming::Names)
}

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Wrong => "wrong",
        Severity::Careful => "careful",
        Severity::Note => "note",
    }
}
