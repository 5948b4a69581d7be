//! What the feature `papers` adds to files and to reports of results. Without it there is nothing of it.

use flowsieve_experiment::further::Tables;
#[cfg(feature = "papers")]
use flowsieve_papers::Beside;
use flowsieve_report::{self as report, Layout};
use flowsieve_results::timeline::Timeline;
use flowsieve_results::{ResultDir, ResultError};
use serde_json::Value;
use std::path::PathBuf;

/// The further tables of experiment files that this program reads.
#[cfg(feature = "papers")]
pub const TABLES: Option<Tables> = Some(flowsieve_papers::TABLES);
/// The further tables of experiment files that this program reads.
#[cfg(not(feature = "papers"))]
pub const TABLES: Option<Tables> = None;

/// Returns a result as text for a terminal, in colour or without.
///
/// # Errors
/// Fails if another version of the program wrote what this one cannot read.
pub fn table(result: &ResultDir, layout: &Layout, colour: bool) -> Result<String, ResultError> {
    let text = report::table(result, layout, colour);
    #[cfg(feature = "papers")]
    let text = text + &Beside::of(result)?.text(colour);
    Ok(text)
}

/// Returns the same as data.
///
/// # Errors
/// The same.
pub fn table_json(result: &ResultDir, layout: &Layout) -> Result<Value, ResultError> {
    #[cfg_attr(not(feature = "papers"), expect(unused_mut))]
    let mut table = report::table_json(result, layout);
    #[cfg(feature = "papers")]
    Beside::of(result)?.add_to(&mut table);
    Ok(table)
}

/// Writes the page of a result, and returns its path.
///
/// # Errors
/// The same, and if the files cannot be written.
pub fn write(result: &ResultDir, layout: &Layout) -> Result<PathBuf, ResultError> {
    write_with(result, layout, &[])
}

/// Writes the same with a flow that was followed through runs of the result.
///
/// # Errors
/// The same.
pub fn write_with(result: &ResultDir, layout: &Layout, followed: &[Timeline]) -> Result<PathBuf, ResultError> {
    #[cfg(feature = "papers")]
    let section = Beside::of(result)?.section();
    #[cfg(not(feature = "papers"))]
    let section = report::Section::default();
    report::write(result, layout, &section, followed)
}
