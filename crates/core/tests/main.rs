//! What tests this crate from outside, as one program: each links all that is under it.

mod awafs;
mod common;
mod fairness;
mod pcoflow;
mod ports;
mod qcluster;
mod ranks;
