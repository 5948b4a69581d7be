//! What `flowsieve tune` recommends, as far as a host needs it.

use crate::AgentError;
use crate::maps::LEVELS;
use serde::Deserialize;
use std::path::Path;

/// The file in the folder of a recommendation.
const FILE: &str = "tune.json";
/// The most bytes of that file.
const MOST_BYTES: u64 = 16 << 20;

/// Thresholds and DSCPs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recommendation {
    /// Bytes, rising.
    pub thresholds: Vec<u64>,
    /// A DSCP for each level, the highest first: one more than thresholds.
    pub dscps: Vec<u8>,
    /// The model of the simulator that recommends them, if the file says it.
    pub model: Option<u32>,
}

#[derive(Deserialize)]
struct Tuned {
    recommended: Candidate,
    #[serde(default)]
    dscps: Vec<u8>,
    model: Option<u32>,
}

#[derive(Deserialize)]
struct Candidate {
    kind: Kind,
}

/// How packets find their queues.
#[derive(Deserialize)]
struct Kind {
    by: String,
    #[serde(default)]
    bytes: Vec<u64>,
}

impl Recommendation {
    /// Reads the folder of a recommendation, or its `tune.json`.
    ///
    /// # Errors
    /// Fails if it is not there, or recommends something other than thresholds for this many levels.
    pub fn read(path: &Path) -> Result<Recommendation, AgentError> {
        let path = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        let wrong = |problem: String| AgentError::File { path: path.display().to_string(), problem };
        let text = flowsieve_settings::files::read_text(&path, MOST_BYTES)
            .map_err(|error| wrong(format!("{error}; expected the folder that `flowsieve tune` writes")))?;
        Recommendation::parse(&text).map_err(wrong)
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// As [`Recommendation::read`], in words.
    pub fn parse(text: &str) -> Result<Recommendation, String> {
        let expected = "expected the tune.json of a recommendation of thresholds";
        let Tuned { recommended, dscps, model } =
            serde_json::from_str(text).map_err(|error| format!("{error}; {expected}"))?;
        let Kind { by, bytes: thresholds } = recommended.kind;
        if by != "thresholds" || thresholds.is_empty() {
            let by: String = by.chars().take(40).collect();
            return Err(format!("it recommends `{by}`, for which hosts tag nothing; {expected}"));
        }
        if thresholds.len() >= LEVELS || dscps.len() != thresholds.len() + 1 {
            let (dscps, queues) = (dscps.len(), thresholds.len() + 1);
            return Err(format!("{queues} queues and {dscps} DSCPs; expected at most {LEVELS}, and as many of both"));
        }
        if !thresholds.is_sorted_by(|one, next| one < next) {
            return Err(format!("thresholds {thresholds:?}; expected rising bytes"));
        }
        match dscps.iter().find(|&&dscp| !(1..64).contains(&dscp)) {
            Some(dscp) => Err(format!("DSCP {dscp}; expected 1 to 63")),
            None => Ok(Recommendation { thresholds, dscps, model }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuned(kind: &str, dscps: &str) -> String {
        format!(r#"{{"verdict": "use", "recommended": {{"queues": 3, "kind": {kind}}}, "dscps": {dscps}, "new": 1}}"#)
    }

    #[test]
    fn parse__takes_thresholds_and_dscps() {
        let text = tuned(r#"{"by": "thresholds", "rule": "pias", "bytes": [20000, 100000]}"#, "[35, 27, 19]");
        let found = Recommendation { thresholds: vec![20_000, 100_000], dscps: vec![35, 27, 19], model: None };
        assert_eq!(Recommendation::parse(&text), Ok(found));
    }

    #[test]
    fn parse__refuses_all_else_in_one_line() {
        let by = |bytes: &str| format!(r#"{{"by": "thresholds", "bytes": {bytes}}}"#);
        for (text, says) in [
            (String::new(), "EOF"),
            ("[1, 2]".to_owned(), "invalid type"),
            (tuned(r#"{"by": "one-queue"}"#, "[]"), "it recommends `one-queue`"),
            (tuned(r#"{"by": "clusters", "bytes": [1]}"#, "[3, 7]"), "it recommends `clusters`"),
            (tuned(&by("[]"), "[35]"), "it recommends `thresholds`, for which hosts tag nothing"),
            (tuned(&by("[-1]"), "[35, 27]"), "invalid value"),
            (tuned(&by("[9]"), "[35]"), "2 queues and 1 DSCPs"),
            (tuned(&by("[1,2,3,4,5,6,7,8]"), "[1,2,3,4,5,6,7,8,9]"), "9 queues"),
            (tuned(&by("[9, 9]"), "[1, 2, 3]"), "expected rising bytes"),
            (tuned(&by("[9]"), "[35, 0]"), "DSCP 0; expected 1 to 63"),
            (tuned(&by("[9]"), "[35, 64]"), "DSCP 64"),
        ] {
            let problem = Recommendation::parse(&text).unwrap_err();
            assert!(problem.contains(says) && problem.contains("expected") && !problem.contains('\n'), "{problem}");
        }
    }

    #[test]
    fn read__names_the_file_that_is_missing() {
        let problem = Recommendation::read(Path::new("no-such-folder")).unwrap_err().to_string();
        assert!(problem.starts_with("no-such-folder: ") && problem.contains("flowsieve tune"), "{problem}");
    }
}
