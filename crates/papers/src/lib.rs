//! Papers: what they claim of their schemes, held against what is measured.
//!
//! In the order of use:
//! 1. [`TABLES`] reads the tables `[[claims]]` of an experiment file; a result carries them, and measures what they ask for;
//! 2. a [`Claim`] is [checked](Claim::check) with the values of each run, which gives a [`Verdict`];
//! 3. [`resolve`] says to which points seeds have to be added until claims are resolved;
//! 4. [`reproduce`] runs the experiments of a paper together, [keeps](Kept) what was measured, and writes its page;
//! 5. [`Beside`] adds the claims of a result to its reports.

mod beside;
mod check;
mod claim;
mod drawn;
mod given;
mod kept;
mod outcome;
mod page;
pub mod reproduce;
pub mod resolve;
mod rows;
mod totals;
mod why;

pub use beside::Beside;
pub use claim::{Checked, Claim, Claims, Expected, Unmeasured, Verdict};
pub use given::TABLES;
pub use kept::{Kept, Made};
