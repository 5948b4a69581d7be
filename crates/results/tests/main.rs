//! What tests this crate from outside, as one program: each links all that is under it.

mod directory;
mod hostile;
mod judgement;
mod made;
mod series;
mod steps;
mod trace;
