//!
pub mod settings;
