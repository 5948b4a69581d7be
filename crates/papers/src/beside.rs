//! What the claims of a result add to its reports: on the terminal, as data, and on the page.

use crate::claim::{Checked, Claim, Claims, Verdict};
use crate::drawn::figure;
use crate::rows::{ClaimRow, claim_lines, rows};
use askama::Template;
use flowsieve_report::{MOST_PLOTS, Naming, Section, Tone, titled};
use flowsieve_results::measured::Measured;
use flowsieve_results::{Experiment, ResultDir, ResultError};
use serde_json::{Value, json};

/// The claims of a result, with what was measured.
pub struct Beside<'a> {
    experiment: &'a Experiment,
    claims: Claims,
    measured: Measured,
}

#[derive(Template)]
#[template(path = "claims.html")]
struct Table {
    claims: Vec<ClaimRow>,
    /// The metrics of the claims: titles, and plots.
    drawn: Vec<(String, String)>,
}

impl Beside<'_> {
    /// Reads those of a result.
    ///
    /// # Errors
    /// If another version of the program wrote claims that this one cannot read.
    pub fn of(dir: &ResultDir) -> Result<Beside<'_>, ResultError> {
        let claims = Claims::of(&dir.manifest().experiment)?;
        let measured = dir.measured(claims.needed());
        Ok(Beside { experiment: &dir.manifest().experiment, claims, measured })
    }

    /// Returns them with their verdicts.
    pub fn checked(&self) -> Vec<(&Claim, Checked)> {
        let check = |claim: &Claim| claim.check(self.experiment, &self.measured);
        self.claims.measured.iter().map(|claim| (claim, check(claim))).collect()
    }

    fn rows(&self, naming: Naming) -> Vec<ClaimRow> {
        rows(self.experiment, &self.claims, &self.measured, naming)
    }

    /// Returns what follows the table on a terminal.
    pub fn text(&self, colour: bool) -> String {
        let rows = self.rows(Naming::Names);
        if rows.is_empty() {
            String::new()
        } else {
            format!("\n{}\n{}", Tone::Heading.paint("Claims", colour), claim_lines(&rows))
        }
    }

    /// Adds them to the table as data.
    pub fn add_to(&self, table: &mut Value) {
        let of = |(claim, checked): (&Claim, Checked)| json!({ "claim": claim, "measured": checked });
        table["claims"] = self.checked().into_iter().map(of).collect();
        table["unmeasured_claims"] = json!(self.claims.unmeasured);
    }

    /// Returns what stands on the page.
    pub fn section(&self) -> Section {
        let claims = self.rows(Naming::Labels);
        let plots = figure(self.experiment, &self.claims, &self.measured).map_or(Vec::new(), |figure| figure.plots);
        let drawn = plots.iter().take(MOST_PLOTS).filter_map(|plot| titled(plot, &[], 230)).collect();
        let is_empty = claims.is_empty();
        // The template writes into memory.
        let html = Table { claims, drawn }.render().ok().filter(|_| !is_empty).unwrap_or_default();
        Section { id: "claims", html, plots }
    }
}
