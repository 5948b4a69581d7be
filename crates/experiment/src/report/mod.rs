//! The report of a result: one page that needs nothing but itself, and a table for the terminal.
//!
//! The page holds its styles, its plots' data and plotly.js, once; it asks no network for anything. The same result
//! gives the same bytes. Without scripts it still shows all tables.

mod cases;
pub(crate) mod claims;
mod comparison;
mod configuration;
mod csv;
mod doctor;
mod figures;
pub(crate) mod format;
mod group;
mod json;
mod links;
mod over_time;
mod page;
mod plot;
mod results_table;
mod terminal;

use std::path::PathBuf;

use flowsieve_results::{ResultDir, ResultError};

pub use claims::claims_json;
pub use comparison::{Compared, compared};
pub use doctor::{doctor, doctor_json};
pub use format::size;
pub use json::table_json;
pub use terminal::table;

/// Writes `report.html`, and the numbers of its plots as `plots.csv`, into the result's folder; gives the page's path.
pub fn write(dir: &ResultDir) -> Result<PathBuf, ResultError> {
    let adapted = over_time::figures(dir)?;
    page::write(dir, adapted)
}

#[cfg(test)]
mod tests;
