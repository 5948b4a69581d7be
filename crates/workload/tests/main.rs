//! What tests this crate from outside, as one program: each links all that is under it.

mod any_text;
mod exports;
mod samples;
mod traps;
