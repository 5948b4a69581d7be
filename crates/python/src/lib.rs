//! The extension module behind the Python package `flowsieve`: experiments and their results, one-to-one with the command.
//!
//! Whatever is decided or computed is decided in Rust; Python shows it. Tables are files, which Python reads by itself, or hands on
//! as a stream of Arrow. Every entry point releases the interpreter's lock while it works, and turns errors and panics into
//! the exceptions of `flowsieve.errors`: a panic never ends the interpreter.

mod calls;
mod errors;
mod experiment;
mod lists;
mod result;
mod running;
mod tables;
mod to_toml;

use pyo3::prelude::*;

/// What the package's Python modules are made of.
#[pymodule]
mod _flowsieve {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Nothing else in the process uses the allocator of this module, which has no thread yet.
        flowsieve_lab::calls::free_memory_soon();
        Ok(())
    }

    #[pymodule_export]
    use super::calls::FlowStart;
    #[pymodule_export]
    use super::experiment::{Experiment, Plan};
    #[pymodule_export]
    use super::lists::{digest, explain, list_of, look, main, program, thresholds, ticks, tune, write_sizes};
    #[pymodule_export]
    use super::result::Outcome;
    #[pymodule_export]
    use super::tables::arrow_stream;
}
