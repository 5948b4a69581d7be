//! What tests this crate from outside, as one program: each links all that is under it.

mod allocations;
mod carrier;
mod common;
mod controllers;
mod equal;
mod fabrics;
mod host_order;
mod hosts;
mod limited;
mod programs;
mod vectors;
