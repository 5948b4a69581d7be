//! Reports of results: one self-contained page, tables for the terminal, Markdown for a reproduction.
//!
//! A report is made from the result directory alone, without the experiment, its engine or its schemes. [`write()`] makes the
//! page, which holds its styles and its plots as drawings; it loads nothing from a network. The same result gives the same
//! bytes. Without scripts it still shows everything, if not only what one chooses.

mod agreement;
mod axes;
mod cases;
mod claims;
mod comparison;
mod conclusion;
mod configuration;
mod description;
mod doctor;
mod drawing;
mod drawn;
pub mod export;
mod figure;
mod figures;
mod first_answers;
mod font;
mod format;
mod group;
mod json;
mod links;
pub mod looks;
mod naming;
mod outcome;
mod over_time;
mod page;
mod pdf;
mod plots_csv;
mod reproduction;
mod results_table;
mod scale;
mod screening;
mod sheet;
mod svg;
mod terminal;
mod text_table;
mod ticks;

use std::path::PathBuf;

use flowsieve_results::{ResultDir, ResultError};

pub use agreement::agreement_svg;
pub use cases::{Layout, UnknownKey};
pub use comparison::{CompareError, Compared, compared};
pub use doctor::{doctor, doctor_json};
pub use flowsieve_files::printable;
pub use format::size;
pub use json::table_json;
pub use reproduction::{LeftOut, PageFigure, Texts, other_models, reproduction, reproduction_text, totals};
pub use terminal::table;
pub use text_table::paragraph;
pub use ticks::ticks;

/// Writes `report.html`, and the numbers of its plots as `plots.csv`, into the result's folder; returns the page's path.
pub fn write(dir: &ResultDir, layout: &Layout) -> Result<PathBuf, ResultError> {
    let over_time = over_time::figures(dir, layout)?;
    page::write(dir, layout, over_time)
}

#[cfg(test)]
mod tests;
