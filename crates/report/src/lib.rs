//! Reports of results: one self-contained page, and tables for the terminal.
//!
//! A report is made from the result directory alone, without the experiment, its engine or its schemes. [`write()`] makes the
//! page, which holds its styles and its plots as drawings; it loads nothing from a network. The same result gives the same
//! bytes. Without scripts it still shows everything, if not only what one chooses.

mod agreement;
mod axes;
mod cases;
mod comparison;
mod conclusion;
mod configuration;
mod description;
mod doctor;
mod drawing;
pub mod export;
pub mod figure;
mod figures;
mod first_answers;
mod font;
pub mod format;
mod group;
mod json;
mod links;
pub mod looks;
mod naming;
mod over_time;
mod page;
mod pdf;
mod plots_csv;
mod results_table;
mod scale;
mod screening;
mod sheet;
mod svg;
mod terminal;
mod text_table;
mod ticks;

use std::path::PathBuf;

use flowsieve_results::timeline::Timeline;
use flowsieve_results::{ResultDir, ResultError};

pub use agreement::agreement_svg;
pub use cases::{Layout, UnknownKey};
pub use comparison::{CompareError, Compared, compared};
pub use doctor::{doctor, doctor_json};
pub use drawing::{MOST_PLOTS, figure_svg, flow_svg};
pub use flowsieve_settings::files::printable;
pub use format::size;
pub use json::table_json;
pub use naming::Naming;
pub use page::{Section, titled};
pub use terminal::table;
pub use text_table::{Tone, paragraph};
pub use ticks::ticks;

/// Writes `report.html`, and the numbers of its plots as `plots.csv`, into the result's folder; returns the page's path.
/// The page ends its answers with `section`, and with a flow that was followed through runs of the result, if any.
pub fn write(
    dir: &ResultDir,
    layout: &Layout,
    section: &Section,
    followed: &[Timeline],
) -> Result<PathBuf, ResultError> {
    let over_time = over_time::figures(dir, layout)?;
    page::write(dir, layout, over_time, section, followed)
}

#[cfg(test)]
mod tests;
