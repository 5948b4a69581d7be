//! The report of a result: one page that needs nothing but itself, and a table for the terminal.
//!
//! The page holds its styles, its plots' data and plotly.js, once; it asks no network for anything. The same result
//! gives the same bytes. Without scripts it still shows all tables.

mod cases;
mod configuration;
mod figures;
mod format;
mod links;
mod page;
mod plot;
mod results_table;
mod terminal;

use std::path::PathBuf;

use flowsieve_results::{ResultDir, ResultError};

pub use terminal::table;

/// Writes `report.html` into the result's folder and gives its path.
pub fn write(dir: &ResultDir) -> Result<PathBuf, ResultError> {
    let page = page::html(dir).map_err(|error| ResultError::Invalid { why: error.to_string() })?;
    dir.write_beside("report.html", page.as_bytes())
}

#[cfg(test)]
mod tests;
