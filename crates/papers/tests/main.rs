//! What tests this crate from outside, as one program: each links all that is under it.

mod claims;
#[path = "../../studies/tests/fields/mod.rs"]
mod fields;
mod judgement;
mod kept;
#[path = "../../results/tests/made/mod.rs"]
mod made;
#[path = "../../experiment/tests/toy/mod.rs"]
mod toy;
mod why;
