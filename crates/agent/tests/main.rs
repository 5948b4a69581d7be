//! What tests the agent from outside, as one program.
#![cfg(target_os = "linux")]

mod kernel;
mod object;
mod twin;
